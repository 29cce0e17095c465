/* SPDX-License-Identifier: MIT */
/* Destroying a service: it waits for running callbacks, hands pending timers back, and neither hangs nor leaks. */
#include "service/service_internal.h"
#include "service/support.h"

static void destroy_here(const verge_firing *firing) {
    take_note(firing);
    assert_int_equal(verge_service_destroy(firing->service, NULL, NULL), -EDEADLK);
}

static void in_a_callback_it_is_refused(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    (void)start_at(stepped.service, 0, destroy_here, &notes);
    (void)start_at(stepped.service, 0, take_note, &notes);
    assert_int_equal(step(worker), 2); /* destroy has failed, so the other timer runs, too */
    leave(worker);
    stepped_end(&stepped);
}

static void while_workers_have_not_left_it_is_refused(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *bound = join_bound(stepped.service);
    verge_worker *unbound = join_unbound(stepped.service);
    assert_int_equal(verge_service_destroy(stepped.service, NULL, NULL), -EBUSY);
    leave(bound);
    assert_int_equal(verge_service_destroy(stepped.service, NULL, NULL), -EBUSY);
    assert_int_equal(step(unbound), 0);
    leave(unbound);
    stepped_end(&stepped);
}

/* ---- what is handed back ---- */

enum { TIMERS = 64 };

struct hand_back {
    verge_timer timers[TIMERS];
    uint64_t deadlines_ns[TIMERS];
    uint32_t visited[TIMERS];
    uint32_t numbers[TIMERS]; /* each timer's argument points to its number */
};

static void expect_pending(void *context, const verge_pending *pending) {
    struct hand_back *back = context;
    const size_t i = *(uint32_t *)pending->argument;
    assert_true(i < TIMERS);
    assert_ptr_equal(pending->callback, do_nothing);
    assert_int_equal(pending->timer, back->timers[i]);
    assert_int_equal(pending->deadline_ns, back->deadlines_ns[i]);
    back->visited[i]++;
}

static void start_for(struct stepped *stepped, struct hand_back *back, size_t i, uint64_t period_ns) {
    verge_start_options options = {.struct_size = sizeof(options)};
    back->numbers[i] = (uint32_t)i;
    back->deadlines_ns[i] = now_of(stepped) + i * SECOND;
    options.callback = do_nothing;
    options.argument = &back->numbers[i];
    options.deadline_ns = back->deadlines_ns[i];
    options.period_ns = period_ns;
    back->timers[i] = start_with(stepped->service, &options);
}

/* In the end all pending timers are orphans. Before, they were filed or in an inbox; some were reset, one is periodic.
 * Timers that were cancelled or have run are not visited. */
static void every_timer_that_is_pending_is_visited_once(void **state) {
    (void)state;
    struct stepped stepped;
    static struct hand_back back;
    memset(&back, 0, sizeof(back));
    stepped_begin(&stepped);
    verge_worker *first = join_bound(stepped.service);
    for (size_t i = 0; i < TIMERS / 2; i++) {
        start_for(&stepped, &back, i, i == 10 ? SECOND : 0);
    }
    assert_int_equal(step(first), 1); /* the timer that is due now */
    leave(first);
    verge_worker *second = join_unbound(stepped.service);
    assert_int_equal(step(second), 0);
    for (size_t i = TIMERS / 2; i < TIMERS; i++) {
        start_for(&stepped, &back, i, 0);
    }
    leave(second);
    assert_int_equal(verge_service_cancel(stepped.service, back.timers[5]), 0);
    assert_int_equal(verge_service_cancel(stepped.service, back.timers[TIMERS - 1]), 0);
    back.deadlines_ns[7] = 99;
    back.deadlines_ns[TIMERS - 2] = VERGE_NEVER - 1;
    assert_int_equal(verge_service_reset(stepped.service, back.timers[7], back.deadlines_ns[7]), 0);
    assert_int_equal(verge_service_reset(stepped.service, back.timers[TIMERS - 2], back.deadlines_ns[TIMERS - 2]), 0);
    assert_int_equal(verge_service_destroy(stepped.service, expect_pending, &back), 0);
    for (size_t i = 0; i < TIMERS; i++) {
        assert_int_equal(back.visited[i], i == 0 || i == 5 || i == TIMERS - 1 ? 0 : 1);
    }
    verge_test_allocator_assert_empty(&stepped.memory);
}

/* ---- with threads ---- */

struct slow {
    _Atomic uint32_t begun;
    _Atomic uint32_t ended;
    _Atomic bool may_return;
};

static void be_slow(const verge_firing *firing) {
    struct slow *slow = firing->argument;
    (void)atomic_fetch_add(&slow->begun, 1);
    await(&slow->may_return);
    (void)atomic_fetch_add(&slow->ended, 1);
}

struct release {
    verge_service *service;
    struct slow *slow;
};

/* Lets the callback return when the service is ending. */
static void *release_when_stopping(void *argument) {
    const struct release *release = argument;
    await(&release->service->is_stopping);
    atomic_store(&release->slow->may_return, true);
    return NULL;
}

/* Ten timers are due in the same pass. Destroy waits for the callback that runs, and the others do not begin. */
static void what_runs_is_waited_for_and_nothing_begins(void **state) {
    (void)state;
    struct slow slow = {0};
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    const uint64_t soon_ns = verge_service_exact_now(service) + 20 * MS;
    for (int i = 0; i < 10; i++) {
        (void)start_at(service, soon_ns / TICK * TICK, be_slow, &slow);
    }
    await_count(&slow.begun, 1);
    struct release release = {.service = service, .slow = &slow};
    const pthread_t releaser = thread_of(release_when_stopping, &release);
    size_t pending = 0;
    /* The releaser may look at the service, which exists until the callback has returned. */
    assert_int_equal(verge_service_destroy(service, count_pending, &pending), 0);
    join_thread(releaser);
    assert_int_equal(slow.begun, 1);
    assert_int_equal(slow.ended, 1);
    assert_int_equal(pending, 9);
}

/* Destroys services while the metronome rests, ticks or has just been called, and workers sleep or have not begun. */
static void it_hangs_on_no_sleeping_thread(void **state) {
    (void)state;
    for (uint32_t round = 0; round < test_scaled(1000) / 5; round++) {
        verge_service_options options;
        assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
        options.thread_count = round % 3;
        options.resolution_ns = round % 2 == 0 ? 1000 : UINT64_C(1) << 40; /* a tick of 18 minutes */
        options.stuck_after_ns = round % 5 == 0 ? HOUR : 0;
        verge_service *service = NULL;
        assert_int_equal(verge_service_create(&options, &service), 0);
        if (round % 7 < 4) {
            verge_worker *worker = join_bound(service);
            (void)start_at(service, VERGE_NEVER - 1, do_nothing, NULL);
            for (int i = 0; i < 100; i++) { /* a busy worker wants the metronome */
                (void)start_at(service, 0, do_nothing, NULL);
                (void)verge_worker_run_once(worker, 0);
            }
            leave(worker);
        }
        assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    }
}

static void memory_is_given_back_whatever_was_in_use(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    for (uint64_t i = 0; i < 20000; i++) {
        const verge_timer timer = start_at(stepped.service, now_of(&stepped) + (i * i << 12), do_nothing, NULL);
        if (i % 3 == 0) {
            assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        }
    }
    assert_int_equal(stats_of(stepped.service).bytes, stepped.memory.bytes_in_use);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_callback_it_is_refused),
        cmocka_unit_test(while_workers_have_not_left_it_is_refused),
        cmocka_unit_test(every_timer_that_is_pending_is_visited_once),
        cmocka_unit_test(what_runs_is_waited_for_and_nothing_begins),
        cmocka_unit_test(it_hangs_on_no_sleeping_thread),
        cmocka_unit_test(memory_is_given_back_whatever_was_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
