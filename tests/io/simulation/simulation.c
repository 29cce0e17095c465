/* SPDX-License-Identifier: MIT */
/*
 * The runtime and its I/O in virtual time, from a seed: see world.h. Each seed is played twice, and both times the same
 * must happen. On io_uring, this is checked only for seeds whose files are all O_NONBLOCK. VERGE_TEST_SEED is the
 * first seed, VERGE_TEST_SEEDS is how many are played.
 */
#define _GNU_SOURCE

#include <signal.h>

#include "io/simulation/world.h"
#include "support/crash.h"

enum { SEEDS_DEFAULT = 200, HUNG_AFTER_S = 600, FIRST_PLAYERS = 12 };

static struct world worlds[2];
struct world *world = &worlds[0];
atomic_int world_failed_check_count;

/* ---- judging ---- */

void log_event(const struct player *self, const char *what, int64_t result) {
    if (world->event_count < EVENTS_MAX) {
        world->events[world->event_count++] = (struct event){
            .what = what, .player = self != NULL ? self->id : UINT32_MAX, .result = result, .now_ns = verge_now()};
    }
}

uint64_t random_deadline(void) {
    switch (below(6)) {
    case 0:
        return VERGE_NEVER;
    case 1:
        return verge_now() - below(minimum(verge_now() + 1, SECOND));
    case 2:
        return verge_deadline_after(below(DAY));
    default:
        return verge_deadline_after(below(20 * MS));
    }
}

/* Notes the state before a call. A task learns of a stop only in the next round of its runner. A call that does not
 * wait may return before that. */
struct before before_call(const struct player *self, uint64_t deadline_ns) {
    return (struct before){
        .now_ns = verge_now(),
        .jumped_ns = world->jumped_ns,
        .failures = world->memory.failures,
        .deadline_ns = minimum(deadline_ns, self->scope_ns),
        .is_cancelled = deadline_ns == 0 ? verge_task_is_cancelled() : self->is_cancelled || world->is_stopped,
        .is_over = verge_task_is_cancelled() || minimum(deadline_ns, self->scope_ns) <= verge_now(),
    };
}

/* Checks that a call was in time. Virtual time does not pass while there is something to do, unless somebody moves the
 * clock. */
static void check_in_time(uint64_t since_ns, uint64_t jumped_ns, uint64_t tolerance_ns) {
    CHECK(verge_now() - since_ns <= tolerance_ns + (world->jumped_ns - jumped_ns));
}

static void check_cancelled_in_time(const struct player *self, const struct before *before) {
    if (before->is_cancelled) {
        CHECK(verge_now() - before->now_ns <= world->jumped_ns - before->jumped_ns);
    } else if (self->is_cancelled) {
        check_in_time(self->cancelled_ns, self->cancelled_jumped_ns, 0);
    } else {
        check_in_time(world->stopped_ns, world->stopped_jumped_ns, 0);
    }
}

void after_call(const struct player *self, const char *what, const struct before *before, int64_t result,
                enum waits_for waits_for) {
    const bool has_failed = world->memory.failures > before->failures;
    /* io_uring takes several rounds to end an operation. As io_grace_ns is 0, the clock goes on meanwhile. */
    const bool is_prompt = !has_failed && (waits_for == FOR_TASKS || (waits_for == FOR_IO && !is_uring()));
    const int failed_before = atomic_load(&failed_check_count);
    log_event(self, what, result);
    if (waits_for == FOR_FILES && before->is_over) {
        CHECK(result != -ETIMEDOUT && result != -ECANCELED); /* N3 */
    }
    if (result == -ETIMEDOUT) {
        CHECK(verge_now() >= before->deadline_ns); /* T1, N3 */
        CHECK(!before->is_cancelled);              /* T4 */
    } else if (result == -ECANCELED) {
        CHECK(self->is_cancelled || world->is_stopped);
        if (is_prompt) {
            check_cancelled_in_time(self, before);
        }
    } else {
        const bool is_lost = (waits_for == FOR_IO || waits_for == FOR_FILES) && world->io_error != 0 &&
                             result == world->io_error; /* N5 */
        CHECK(result >= 0 || (result == -ENOMEM && has_failed) || is_lost);
    }
    if (is_prompt && before->deadline_ns >= before->now_ns && verge_now() >= before->deadline_ns) { /* T1: not late */
        check_in_time(before->deadline_ns, before->jumped_ns, world->precision_ns - 1);
    }
    if (atomic_load(&failed_check_count) != failed_before) {
        (void)fprintf(stderr, "  in %s of player %u: %lld at %llu\n", what, self->id, (long long)result,
                      (unsigned long long)verge_now());
    }
}

/* ---- a world ---- */

static struct player saboteur = {.id = 1000, .scope_ns = VERGE_NEVER};

static intptr_t play_all(void *argument) {
    (void)argument;
    verge_task *fault = NULL;
    CHECK_EQUAL(verge_spawn(sabotage, &saboteur, &fault), 0);
    for (uint64_t i = 1 + below(FIRST_PLAYERS); i > 0; i--) {
        CHECK_EQUAL(spawn_player(), 0);
    }
    const uint64_t end_ns = verge_now() + below(chance(2) ? SECOND : DAY);
    while (verge_sleep_until(end_ns) == -ENOMEM) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    world->is_stopped = true;
    world->stopped_ns = verge_now();
    world->stopped_jumped_ns = world->jumped_ns;
    verge_runtime_stop(world->runtime);
    CHECK_EQUAL(verge_task_detach(fault), 0);
    return 0;
}

static int lowest_free_fd(void) {
    const int fd = dup(STDERR_FILENO);
    (void)close(fd);
    return fd;
}

static void create_runtime(void) {
    static const uint64_t starts[] = {0, 1, UINT64_C(1) << 36, UINT64_C(1) << 62, UINT64_C(1) << 63};
    world->clock.now_ns = starts[below(COUNT_OF(starts))];
    world->precision_ns = UINT64_C(1) << (chance(2) ? 0 : below(21));
    verge_runtime_options options = runtime_options(1 + (uint32_t)below(4));
    options.virtual_clock = &world->clock;
    options.precision_ns = world->precision_ns;
    options.io_grace_ns = 0; /* nothing outside of the simulation is waited for */
    options.allocator = &world->allocator;
    CHECK_EQUAL(verge_runtime_create(&options, &world->runtime), 0);
    world->runtime->ring_entry_count = chance(2) ? 2 : 0;
}

static void audit(void) {
    const verge_runtime_stats stats = stats_of(world->runtime);
    CHECK_EQUAL(stats.tasks, 0);
    CHECK_EQUAL(world->runtime->timer_count, 0);
    CHECK_EQUAL(verge_service_count(world->runtime->service, 0), 0);
    for (unsigned i = 0; i < world->player_count; i++) {
        CHECK_EQUAL(world->players[i].begun_count, 1);
        CHECK_EQUAL(world->players[i].ended_count, 1);
        CHECK(world->players[i].handle == NULL || verge_task_detach(world->players[i].handle) == 0);
    }
    audit_sharing();
    audit_streams();
    close_files();
}

static void play_seed(struct world *played, uint64_t seed) {
    const int fd_before = lowest_free_fd();
    struct event *events = played->events;
    memset(played, 0, sizeof(*played));
    played->events = events;
    played->seed = seed;
    played->random = verge_test_random_from(seed);
    world = played;
    open_faults();
    open_sharing();
    open_streams();
    open_files();
    create_runtime();
    CHECK_EQUAL(verge_runtime_run(world->runtime, play_all, NULL, NULL), 0);
    audit();
    CHECK_EQUAL(verge_runtime_destroy(world->runtime), 0);
    CHECK_EQUAL(world->memory.bytes_in_use, 0);
    CHECK(world->memory.complaint == NULL);
    CHECK_EQUAL(lowest_free_fd(), fd_before);
}

/* ---- all seeds ---- */

static struct event events[2][EVENTS_MAX];

static bool is_same(const struct event *a, const struct event *b) {
    return strcmp(a->what, b->what) == 0 && a->player == b->player && a->result == b->result && a->now_ns == b->now_ns;
}

static void print_event(const struct event *event) {
    (void)fprintf(stderr, "  %llu: player %u: %s %lld\n", (unsigned long long)event->now_ns, event->player, event->what,
                  (long long)event->result);
}

static void compare(void) {
    size_t i = 0;
    while (i < worlds[0].event_count && i < worlds[1].event_count && is_same(&events[0][i], &events[1][i])) {
        i++;
    }
    CHECK(i == worlds[0].event_count && i == worlds[1].event_count);
    if (i < worlds[0].event_count && i < worlds[1].event_count) {
        print_event(&events[0][i]);
        print_event(&events[1][i]);
    }
}

static void say_seed(void) {
    (void)fprintf(stderr, "again: VERGE_TEST_SEED=%llu\n", (unsigned long long)world->seed);
    for (size_t i = world->event_count > 20 ? world->event_count - 20 : 0; i < world->event_count; i++) {
        print_event(&world->events[i]);
    }
}

/* N4: players write to sockets that nobody reads, but never to pipes that nobody reads. So there must be no SIGPIPE. */
static atomic_int broken_pipes;

static void count_broken_pipe(int number) {
    (void)number;
    (void)atomic_fetch_add(&broken_pipes, 1);
}

static void hung(int number) {
    (void)number;
    abort();
}

static void every_seed_ends_as_promised_and_twice_the_same(void **state) {
    (void)state;
    const uint64_t first_seed = verge_test_seed(1);
    const char *text = getenv("VERGE_TEST_SEEDS");
    const uint64_t seed_count = text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : SEEDS_DEFAULT;
    uint64_t event_count = 0, player_count = 0;
    verge_test_on_crash(say_seed);
    (void)signal(SIGALRM, hung);
    (void)signal(SIGPIPE, count_broken_pipe);
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        atomic_store(&failed_check_count, 0);
        (void)alarm(HUNG_AFTER_S);
        for (size_t i = 0; i < 2; i++) {
            worlds[i].events = events[i];
            play_seed(&worlds[i], seed);
        }
        if (worlds[0].is_exact) {
            compare();
        }
        CHECK_EQUAL(atomic_exchange(&broken_pipes, 0), 0);
        if (atomic_load(&failed_check_count) != 0) {
            say_seed();
            assert_int_equal(atomic_load(&failed_check_count), 0);
        }
        event_count += worlds[0].event_count;
        player_count += worlds[0].player_count;
    }
    (void)alarm(0);
    (void)printf("%llu seeds, %llu tasks, %llu events\n", (unsigned long long)seed_count,
                 (unsigned long long)player_count, (unsigned long long)event_count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_ends_as_promised_and_twice_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
