/* SPDX-License-Identifier: MIT */
/*
 * I/O under deadlines, on workers that steal tasks from each other. The workers are actors of one thread
 * (service/simulation/scheduler.h): at every step of the protocols, a seed decides which worker goes on. Loops, timers
 * and reactors are those of the library, but a reactor never blocks: instead of waiting for the kernel, it lets the
 * other actors go on.
 *
 *   Readers read numbered bytes, wait for them (poll, select), sleep and yield. Nearly all of their waits have a
 *   deadline, and most deadlines are so near that some come and some do not.
 *   Writers write to several streams at once, so that several readers of one worker become ready together. These are
 *   what other workers steal.
 *   At the end no byte may be lost, each deadline must have come or been cancelled, and no timer may be left. Before
 *   that, nothing is written for a while, so that a read whose deadline is lost hangs.
 *
 * VERGE_TEST_SEED is the first seed, VERGE_TEST_SEEDS is how many are played.
 */
#define _GNU_SOURCE

#include "io/support.h"
#include "service/simulation/scheduler.h"
#include "support/crash.h"
#include "task/current.h"
#include "task/runner.h"
#include "verge/sync.h"

enum {
    SEEDS_DEFAULT = VERGE__TSAN ? 10 : 600,
    WORKERS_MAX = 4,
    READERS_MAX = 10,
    WRITERS_MAX = 2,
    ROUNDS_MAX = 40,
    SILENT_ROUNDS = 3, /* at the end, nobody writes until so many deadlines have come for each reader */
    STEPS_MAX = 20000000,
};

struct stream {
    struct pair pair;
    uint64_t written, read;
    bool is_shut;
    bool is_writing;
    unsigned silent_rounds;
    bool has_ended;
};

static struct {
    uint64_t seed;
    struct verge_test_random random;
    struct scheduler scheduler;
    verge_manual_clock clock;
    verge_runtime *runtime;
    uint32_t worker_count, reader_count, writers_left;
    uint64_t deadline_max_ns; /* the longest time from now to a deadline */
    bool is_silent;           /* nobody writes any more */
    struct stream streams[READERS_MAX];
    uint64_t migrated, timeouts;
} world;

static uint64_t below(uint64_t bound) {
    return verge_test_below(&world.random, bound);
}

static bool chance(uint64_t one_in) {
    return verge_test_chance(&world.random, one_in);
}

/* ---- reactors that do not block ---- */

static const verge__reactor_type *real_type;
static verge__reactor_type stepped_type;

static int wait_in_steps(verge__reactor *reactor, uint64_t timeout_ns) {
    const verge__runner *runner = verge__current_runner();
    const uint64_t now_ns = world.clock.now_ns;
    const uint64_t until_ns = timeout_ns < VERGE_NEVER - now_ns ? now_ns + timeout_ns : VERGE_NEVER;
    for (;;) {
        scheduler_step();
        const int error = real_type->wait(reactor, 0);
        if (error != 0 || reactor->done.first != NULL || !atomic_load(&runner->is_waiting) ||
            world.clock.now_ns >= until_ns) {
            return error;
        }
    }
}

static void make_stepped(verge__reactor *reactor) {
    real_type = reactor->type;
    stepped_type = *real_type;
    stepped_type.wait = wait_in_steps;
    reactor->type = &stepped_type;
}

/* ---- readers ---- */

static char byte_at(uint64_t offset) {
    return (char)(offset * 0x9E3779B1 >> 24);
}

static uint64_t random_deadline(void) {
    if (!world.is_silent && chance(12)) {
        return VERGE_NEVER;
    }
    return verge_deadline_after(below(world.deadline_max_ns));
}

static void note_timeout(struct stream *stream, uint64_t deadline_ns) {
    CHECK(verge_now() >= deadline_ns);
    world.timeouts++;
    stream->silent_rounds += world.is_silent ? 1 : 0;
}

static void read_some(struct stream *stream) {
    char buffer[16];
    const size_t size = 1 + below(sizeof(buffer));
    const uint64_t deadline_ns = random_deadline();
    const ptrdiff_t result = chance(2) ? verge_read(stream->pair.near, buffer, size, deadline_ns)
                                       : verge_recv(stream->pair.near, buffer, size, 0, deadline_ns);
    if (result == -ETIMEDOUT) {
        note_timeout(stream, deadline_ns);
        return;
    }
    CHECK(result >= 0);
    for (ptrdiff_t i = 0; i < result; i++) {
        CHECK_EQUAL(buffer[i], byte_at(stream->read + (uint64_t)i));
    }
    stream->read += result > 0 ? (uint64_t)result : 0;
    CHECK(stream->is_writing || stream->read <= stream->written);
    if (result == 0) {
        CHECK(stream->is_shut && stream->read == stream->written);
        stream->has_ended = true;
    }
}

static void wait_for_bytes(struct stream *stream) {
    const uint64_t deadline_ns = random_deadline();
    int result;
    if (chance(2)) {
        result = verge_poll(stream->pair.near, POLLIN, deadline_ns);
        CHECK(result == -ETIMEDOUT || (result > 0 && (result & POLLIN) != 0));
    } else {
        verge_case cases[2] = {verge_case_poll(stream->pair.near, POLLIN)};
        verge_interval once;
        if (deadline_ns != VERGE_NEVER) {
            CHECK(verge_interval_init(&once, deadline_ns, HOUR, VERGE_INTERVAL_SKIP) == 0);
            cases[1] = verge_case_tick(&once, NULL);
        }
        const uint64_t outer_ns = random_deadline();
        result = verge_select(cases, 2, outer_ns);
        CHECK(result == 0 || result == 1 || (result == -ETIMEDOUT && verge_now() >= outer_ns));
        result = result == 1 ? -ETIMEDOUT : 0;
    }
    if (result == -ETIMEDOUT) {
        note_timeout(stream, deadline_ns);
    }
}

/* Keeps the worker busy, so that it looks neither at I/O nor at timers. When it looks again, both may have come for
 * several readers. */
static void keep_the_worker(void) {
    for (uint64_t i = below(400); i > 0; i--) {
        scheduler_step();
    }
}

static intptr_t be_a_reader(void *argument) {
    struct stream *stream = argument;
    while (!stream->has_ended) {
        switch (below(10)) {
        case 3:
            keep_the_worker();
            break;
        case 0:
            wait_for_bytes(stream);
            break;
        case 1:
            CHECK_EQUAL(verge_yield(), 0);
            break;
        case 2:
            CHECK_EQUAL(verge_sleep(below(world.deadline_max_ns)), 0);
            break;
        default:
            read_some(stream);
            break;
        }
    }
    return 0;
}

/* ---- writers ---- */

static void write_some(struct stream *stream) {
    char bytes[8];
    if (stream->is_writing) {
        return;
    }
    const size_t size = 1 + below(sizeof(bytes));
    for (size_t i = 0; i < size; i++) {
        bytes[i] = byte_at(stream->written + i);
    }
    stream->is_writing = true;
    const ptrdiff_t result = verge_write(stream->pair.far, bytes, size, VERGE_NEVER);
    stream->is_writing = false;
    CHECK(result > 0);
    stream->written += result > 0 ? (uint64_t)result : 0;
}

static bool all_saw_silence(void) {
    for (uint32_t i = 0; i < world.reader_count; i++) {
        if (world.streams[i].silent_rounds < SILENT_ROUNDS) {
            return false;
        }
    }
    return true;
}

static void end_all_streams(void) {
    world.is_silent = true;
    for (uint32_t i = 0; i < world.reader_count; i++) {
        write_some(&world.streams[i]); /* wakes a reader that waits without a deadline */
    }
    while (!all_saw_silence()) {
        CHECK_EQUAL(verge_sleep(world.deadline_max_ns), 0);
    }
    for (uint32_t i = 0; i < world.reader_count; i++) {
        world.streams[i].is_shut = true;
        CHECK_EQUAL(shutdown(world.streams[i].pair.far, SHUT_WR), 0);
    }
}

static intptr_t be_a_writer(void *argument) {
    (void)argument;
    for (uint64_t round = 5 + below(ROUNDS_MAX); round > 0; round--) {
        const bool is_for_all = chance(2);
        for (uint32_t i = 0; i < world.reader_count; i++) {
            if (is_for_all || chance(3)) {
                write_some(&world.streams[i]);
            }
        }
        if (chance(3)) {
            CHECK_EQUAL(verge_yield(), 0);
        } else {
            CHECK_EQUAL(verge_sleep(below(world.deadline_max_ns)), 0);
        }
    }
    if (--world.writers_left == 0) {
        end_all_streams();
    }
    return 0;
}

/* ---- actors: the workers, and the time that passes ---- */

static void be_a_worker(uint32_t index) {
    verge__runner *runner = world.runtime->runners[index];
    CHECK_EQUAL(verge__runner_open(runner, NULL), 0);
    make_stepped(runner->reactor);
    verge__runner_loop(runner);
    verge__runner_close(runner);
}

static void be_time(void) {
    bool may_retire = world.worker_count > 2 && chance(2);
    while (!verge__run_is_over(world.runtime)) {
        scheduler_step();
        if (chance(4)) {
            verge_manual_clock_advance(&world.clock, below(10 * US));
        }
        if (may_retire && chance(2000)) {
            may_retire = false;
            CHECK_EQUAL(verge_runtime_retire_worker(world.runtime, 1 + (uint32_t)below(world.worker_count - 1)), 0);
        }
    }
}

static void act(void *context, unsigned actor) {
    (void)context;
    if (actor < world.worker_count) {
        be_a_worker(actor);
    } else {
        be_time();
    }
}

/* ---- a world ---- */

static void spawn_all(void) {
    world.reader_count = 3 + (uint32_t)below(READERS_MAX - 2);
    world.writers_left = 1 + (uint32_t)below(WRITERS_MAX);
    for (uint32_t i = 0; i < world.reader_count; i++) {
        world.streams[i].pair = open_pair();
        CHECK_EQUAL(fcntl(world.streams[i].pair.near, F_SETFL, O_NONBLOCK), 0);
        CHECK_EQUAL(fcntl(world.streams[i].pair.far, F_SETFL, O_NONBLOCK), 0);
        CHECK_EQUAL(spawn_at(world.runtime, VERGE_WORKER_ANY, be_a_reader, &world.streams[i], NULL), 0);
    }
    for (uint32_t i = 0; i < world.writers_left; i++) {
        CHECK_EQUAL(spawn_at(world.runtime, VERGE_WORKER_ANY, be_a_writer, NULL, NULL), 0);
    }
}

static void create_world(uint64_t seed) {
    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.random = verge_test_random_from(seed);
    world.worker_count = 2 + (uint32_t)below(WORKERS_MAX - 1);
    world.deadline_max_ns = (1 + below(20)) * 100 * US;
    verge_runtime_options options = runtime_options(world.worker_count);
    options.clock = verge_clock_manual(&world.clock);
    options.precision_ns = UINT64_C(1) << below(18);
    verge_manual_clock_set(&world.clock, HOUR);
    CHECK_EQUAL(verge_runtime_create(&options, &world.runtime), 0);
    world.scheduler = (struct scheduler){
        .random = &world.random,
        .clock = &world.clock,
        .stay_in = 1 + (unsigned)below(4),
        .held_one_in = chance(2) ? 20 : 0,
        .steps_max = STEPS_MAX,
    };
    spawn_all();
}

static void audit(void) {
    CHECK(!world.scheduler.is_hung);
    CHECK_EQUAL(verge__task_count(world.runtime), 0);
    CHECK_EQUAL(verge_service_count(world.runtime->service, 0), 0);
    for (uint32_t i = 0; i < world.reader_count; i++) {
        CHECK(world.streams[i].has_ended);
        CHECK_EQUAL(world.streams[i].read, world.streams[i].written);
        close_pair(world.streams[i].pair);
    }
    for (uint32_t i = 0; i < world.worker_count; i++) {
        world.migrated += atomic_load(&world.runtime->runners[i]->migrated);
    }
}

static void play_seed(uint64_t seed) {
    create_world(seed);
    scheduler_run(&world.scheduler, world.worker_count + 1, act, NULL);
    audit();
    if (!world.scheduler.is_hung) {
        CHECK_EQUAL(verge_runtime_destroy(world.runtime), 0);
    }
}

static void say_seed(void) {
    (void)fprintf(stderr, "again: VERGE_TEST_SEED=%llu\n", (unsigned long long)world.seed);
}

static void every_deadline_is_that_of_its_call(void **state) {
    (void)state;
    const uint64_t first_seed = verge_test_seed(1);
    const char *text = getenv("VERGE_TEST_SEEDS");
    const uint64_t seed_count = text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : SEEDS_DEFAULT;
    uint64_t step_count = 0, migrated = 0, timeouts = 0;
    verge_test_on_crash(say_seed);
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        atomic_store(&failed_check_count, 0);
        play_seed(seed);
        if (atomic_load(&failed_check_count) != 0) {
            say_seed();
            assert_int_equal(atomic_load(&failed_check_count), 0);
        }
        step_count += world.scheduler.steps;
        migrated += world.migrated;
        timeouts += world.timeouts;
    }
    assert_true(seed_count < 10 || (migrated > seed_count && timeouts > seed_count));
    (void)printf("%llu seeds, %llu steps, %llu tasks changed their worker, %llu deadlines came\n",
                 (unsigned long long)seed_count, (unsigned long long)step_count, (unsigned long long)migrated,
                 (unsigned long long)timeouts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_deadline_is_that_of_its_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
