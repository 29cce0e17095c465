/* SPDX-License-Identifier: MIT */
/* Corner cases of the service: the end of time, the last generation of a record, workers that have left, and waits in
 * odd situations. */

#include "service/service_internal.h"
#include "service/support.h"

static void count_one(const verge_firing *firing) {
    unsigned *count = firing->argument;
    (*count)++;
}

/* ---- time ---- */

/* Seen from tick 0, the last tick is one tick beyond what the levels can hold. */
static void the_end_of_time_can_be_had_at_its_beginning(void **state) {
    (void)state;
    for (unsigned shift = 0; shift <= 40; shift++) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        verge_manual_clock_set(&stepped.clock, 0);
        options.precision_ns = UINT64_C(1) << shift;
        stepped_create(&stepped, &options);
        verge_worker *worker = join_bound(stepped.service);
        unsigned first = 0;
        unsigned last = 0;
        verge_timer timer = 0;
        assert_int_equal(verge_service_start(stepped.service, VERGE_NEVER - 1, count_one, &last, &timer), 0);
        assert_int_equal(verge_service_start(stepped.service, 0, count_one, &first, NULL), 0);
        assert_int_equal(step(worker), 1);
        assert_int_equal(first, 1);
        assert_int_equal(verge_service_reset(stepped.service, timer, VERGE_NEVER - 2), 0);
        assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        assert_int_equal(last, 0);
        assert_int_equal(verge_worker_leave(worker), 0);
        stepped_end(&stepped);
    }
}

/* ---- idle nodes ---- */

static void resets_from_elsewhere_leave_few_idle_nodes(void **state) {
    (void)state;
    enum { TIMERS = 4000, ROUNDS = 60 };
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    static verge_timer timers[TIMERS];
    uint64_t far_ns = now_of(&stepped) + HOUR;
    for (size_t i = 0; i < TIMERS; i++) {
        assert_int_equal(verge_service_start(stepped.service, far_ns, count_one, NULL, &timers[i]), 0);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < TIMERS; i++) {
            assert_int_equal(verge_service_reset(stepped.service, timers[i], far_ns - (round + 1) * TICK), 0);
        }
        while (verge_worker_next_wakeup(worker) == 0) {
            assert_int_equal(step(worker), 0);
        }
        assert_true(stats_of(stepped.service).linked < 2 * TIMERS + 4096);
    }
    assert_int_equal(verge_worker_leave(worker), 0);
    stepped_end(&stepped);
}

/* Without a worker, the threads that start timers free the records of cancelled ones. */
static void timers_cancelled_without_a_worker_leave_nothing(void **state) {
    (void)state;
    enum { KEPT = 5000, CANCELLED = 200000 };
    struct stepped stepped;
    stepped_begin(&stepped);
    unsigned fired = 0;
    uint64_t deadline_ns = now_of(&stepped) + TICK;
    for (size_t i = 0; i < KEPT + CANCELLED; i++) {
        verge_timer timer = 0;
        assert_int_equal(verge_service_start(stepped.service, deadline_ns, count_one, &fired, &timer), 0);
        if (i >= KEPT) {
            assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        }
    }
    assert_true(stats_of(stepped.service).bytes < (size_t)3 * KEPT * sizeof(verge__timer) + (UINT64_C(2) << 21));
    verge_worker *worker = join_unbound(stepped.service);
    advance(&stepped, TICK);
    do {
        (void)step(worker);
    } while (verge_worker_next_wakeup(worker) == 0);
    assert_int_equal(fired, KEPT);
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    stepped_end(&stepped);
}

static void run_for_ever(const verge_firing *firing) {
    assert_true(firing->actual_ns < VERGE_NEVER);
    count_one(firing);
}

/* The clock is set to the end of time. */
static void the_clock_may_run_out(void **state) {
    (void)state;
    for (unsigned shift = 0; shift <= 40; shift += 20) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        options.precision_ns = UINT64_C(1) << shift;
        stepped_create(&stepped, &options);
        verge_worker *worker = join_bound(stepped.service);
        unsigned fired = 0;
        verge_start_options start = {.struct_size = sizeof(start)};
        start.callback = run_for_ever;
        start.argument = &fired;
        start.deadline_ns = now_of(&stepped);
        start.period_ns = HOUR;
        start.policy = VERGE_INTERVAL_SKIP;
        assert_int_equal(verge_service_start_with(stepped.service, &start, NULL), 0);
        verge_manual_clock_set(&stepped.clock, VERGE_NEVER);
        for (int i = 0; i < 4; i++) {
            (void)step(worker);
        }
        assert_int_equal(fired, 1);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        assert_int_equal(verge_worker_leave(worker), 0);
        stepped_end(&stepped);
    }
}

/* ---- marks and generations ---- */

enum { MANY = 2500 };

static void start_and_cancel_many(const verge_firing *firing) {
    static verge_timer timers[MANY];
    uint64_t deadline_ns = *(uint64_t *)firing->argument;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(verge_service_start(firing->service, deadline_ns, count_one, NULL, &timers[i]), 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(verge_service_cancel(firing->service, timers[i]), 0);
    }
}

/* Records that were cancelled, and are used again from outside, do not fire at the tick for which they were filed
 * before. Both ticks are near 2^32. */
static void a_record_that_is_used_again_does_not_fire_at_its_old_tick(void **state) {
    (void)state;
    struct stepped stepped;
    const verge_service_options options = stepped_options(&stepped);
    verge_manual_clock_set(&stepped.clock, UINT64_C(0xfffffff0) * TICK);
    stepped_create(&stepped, &options);
    verge_worker *worker = join_unbound(stepped.service);
    uint64_t marked_ns = UINT64_C(0xffffffff) * TICK;
    assert_int_equal(verge_service_start(stepped.service, 0, start_and_cancel_many, &marked_ns, NULL), 0);
    assert_int_equal(step(worker), 1);
    /* The records are used again from outside; the worker does not take all of them at once. */
    verge_manual_clock_set(&stepped.clock, marked_ns);
    unsigned fired = 0;
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(verge_service_start(stepped.service, marked_ns + TICK, count_one, &fired, NULL), 0);
    }
    assert_int_equal(step(worker), 0);
    while (verge_worker_next_wakeup(worker) == 0) {
        assert_int_equal(step(worker), 0);
    }
    assert_int_equal(count_in(stepped.service, worker), MANY);
    advance(&stepped, TICK);
    do {
        (void)step(worker);
    } while (verge_worker_next_wakeup(worker) == 0);
    assert_int_equal(fired, MANY);
    assert_int_equal(count_in(stepped.service, worker), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    stepped_end(&stepped);
}

/* On a processor without compare-and-swap instructions, the short way uses the compiler's compare-and-swap. */
static void timers_are_cancelled_without_the_instruction_too(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    worker->short_way_service_with_cas = (uintptr_t)worker;
    worker->machine_has_cas = false;
    unsigned fired = 0;
    uint64_t deadline_ns = now_of(&stepped) + TICK;
    enum { OTHERS = 100 }; /* they stay pending */
    for (int i = 0; i < OTHERS; i++) {
        (void)start_at(stepped.service, deadline_ns, count_one, &fired);
    }
    for (int i = 0; i < 1000; i++) {
        const verge_timer timer = start_at(stepped.service, deadline_ns, count_one, &fired);
        assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    }
    assert_int_equal(verge_service_count(stepped.service, 0), OTHERS);
    advance(&stepped, 2 * TICK);
    assert_int_equal(step(worker), OTHERS);
    assert_int_equal(fired, OTHERS);
    assert_int_equal(verge_worker_leave(worker), 0);
    stepped_end(&stepped);
}

static void a_record_whose_generations_are_used_up_is_no_timer(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    verge_timer timer = 0;
    unsigned fired = 0;
    uint64_t deadline_ns = now_of(&stepped) + TICK;
    assert_int_equal(verge_service_start(stepped.service, deadline_ns, count_one, &fired, &timer), 0);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    verge__timer *record = verge__table_at(&stepped.service->table, (uint32_t)timer);
    uint64_t word = atomic_load(&record->word) & ~VERGE__GENERATION_MASK;
    atomic_store(&record->word, word | UINT64_C(0xfffffffe) << 32);
    worker->free[verge__worker_free_count(worker) - 1] = UINT64_C(0xfffffffe) << 32 | (uint32_t)timer;
    verge_timer last = 0;
    assert_int_equal(verge_service_start(stepped.service, deadline_ns, count_one, &fired, &last), 0);
    assert_int_equal(last >> 32, UINT32_MAX);
    assert_int_equal((uint32_t)last, (uint32_t)timer);
    assert_int_equal(verge_service_cancel(stepped.service, last), 0);
    assert_int_equal(verge_service_cancel(stepped.service, last), -ENOENT);
    assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    advance(&stepped, TICK);
    assert_int_equal(step(worker), 0);
    assert_int_equal(count_in(stepped.service, worker), 0);
    verge_timer next = 0;
    assert_int_equal(verge_service_start(stepped.service, deadline_ns, count_one, &fired, &next), 0);
    assert_int_not_equal((uint32_t)next, (uint32_t)timer);
    assert_int_equal(step(worker), 1);
    assert_int_equal(verge_worker_leave(worker), 0);
    stepped_end(&stepped);
}

/* ---- workers that have left ---- */

static void a_worker_that_has_left_answers(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_worker_leave(worker), -EINVAL);
    assert_int_equal(verge_worker_run_once(worker, 0), -ESHUTDOWN);
    assert_int_equal(verge_worker_begin_wait(worker), 0);
    assert_true(verge_worker_next_wakeup(worker) == VERGE_NEVER);
    verge_worker_end_wait(worker);
    verge_worker_interrupt(worker);
    stepped_end(&stepped);
}

static void count_wake(void *context) {
    unsigned *wakes = context;
    (*wakes)++;
}

/* When a worker leaves, its wait has ended: memory that the wake function uses may be freed. */
static void who_leaves_in_a_wait_is_not_woken(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    unsigned wakes = 0;
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = true;
    options.wake = count_wake;
    options.wake_context = &wakes;
    verge_worker *worker = NULL;
    assert_int_equal(verge_worker_join(stepped.service, &options, &worker), 0);
    assert_true(verge_worker_begin_wait(worker) == VERGE_NEVER);
    assert_int_equal(verge_worker_leave(worker), 0);
    verge_worker_interrupt(worker);
    assert_int_equal(wakes, 0);
    stepped_end(&stepped);
}

/* ---- waiting in a callback in a callback ---- */

struct nest {
    verge_worker *inner;
    verge_timer outer_timer;
    int verdict;
};

static void wait_for_outer(const verge_firing *firing) {
    struct nest *nest = firing->argument;
    nest->verdict = verge_service_cancel_wait(firing->service, nest->outer_timer);
}

static void step_inner(const verge_firing *firing) {
    struct nest *nest = firing->argument;
    nest->outer_timer = firing->timer;
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = wait_for_outer;
    options.argument = nest;
    options.worker_id = verge_worker_id(nest->inner);
    assert_int_equal(verge_service_start_with(firing->service, &options, NULL), 0);
    assert_int_equal(verge_worker_run_once(nest->inner, 0), 1);
}

static void a_callback_around_this_one_is_not_waited_for(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *outer = join_bound(stepped.service);
    struct nest nest = {.inner = join_unbound(stepped.service)};
    assert_int_equal(verge_service_start(stepped.service, 0, step_inner, &nest, NULL), 0);
    assert_int_equal(step(outer), 1);
    assert_int_equal(nest.verdict, VERGE_RUNNING);
    assert_int_equal(verge_worker_leave(nest.inner), 0);
    assert_int_equal(verge_worker_leave(outer), 0);
    stepped_end(&stepped);
}

/* ---- on_stuck ---- */

struct watch {
    verge_service *service;
    _Atomic bool may_return;
    _Atomic int wait_verdict;
    _Atomic int destroy_verdict;
};

static void be_stuck(const verge_firing *firing) {
    const struct watch *watch = firing->argument;
    await(&watch->may_return);
}

static void cancel_what_is_stuck(void *context, const verge_stuck *stuck) {
    struct watch *watch = context;
    atomic_store(&watch->destroy_verdict, verge_service_destroy(watch->service, NULL, NULL));
    atomic_store(&watch->may_return, true);
    atomic_store(&watch->wait_verdict, verge_service_cancel_wait(watch->service, stuck->timer));
}

/* on_stuck is called on the thread of the metronome, or of the worker that is about to rescue. */
static void who_is_told_of_a_stuck_callback_may_wait_for_it(void **state) {
    (void)state;
    for (unsigned metronome = 0; metronome < 2; metronome++) {
        static struct watch watch;
        memset(&watch, 0, sizeof(watch));
        atomic_store(&watch.wait_verdict, -1);
        verge_service_options options;
        assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
        options.thread_count = metronome;
        options.metronome = metronome == 1;
        options.stuck_after_ns = MS;
        options.on_stuck = cancel_what_is_stuck;
        options.on_stuck_context = &watch;
        assert_int_equal(verge_service_create(&options, &watch.service), 0);
        verge_worker *worker = NULL;
        uint32_t id = 1;
        if (metronome == 0) {
            worker = join_bound(watch.service); /* this thread finds the callback stuck */
            assert_int_equal(verge_service_add_worker(watch.service, &id), 0);
        }
        verge_start_options start = {.struct_size = sizeof(start)};
        start.callback = be_stuck;
        start.argument = &watch;
        start.worker_id = id;
        assert_int_equal(verge_service_start_with(watch.service, &start, NULL), 0);
        while (atomic_load(&watch.wait_verdict) == -1) {
            if (worker != NULL) {
                assert_true(verge_worker_run_once(worker, 0) >= 0);
            }
            (void)sched_yield();
        }
        assert_int_equal(atomic_load(&watch.destroy_verdict), -EDEADLK);
        assert_true(atomic_load(&watch.wait_verdict) == VERGE_RUNNING || atomic_load(&watch.wait_verdict) == -ENOENT);
        if (worker != NULL) {
            assert_int_equal(verge_worker_leave(worker), 0);
        }
        assert_int_equal(verge_service_destroy(watch.service, NULL, NULL), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_time_can_be_had_at_its_beginning),
        cmocka_unit_test(resets_from_elsewhere_leave_few_idle_nodes),
        cmocka_unit_test(timers_cancelled_without_a_worker_leave_nothing),
        cmocka_unit_test(the_clock_may_run_out),
        cmocka_unit_test(a_record_that_is_used_again_does_not_fire_at_its_old_tick),
        cmocka_unit_test(timers_are_cancelled_without_the_instruction_too),
        cmocka_unit_test(a_record_whose_generations_are_used_up_is_no_timer),
        cmocka_unit_test(a_worker_that_has_left_answers),
        cmocka_unit_test(who_leaves_in_a_wait_is_not_woken),
        cmocka_unit_test(a_callback_around_this_one_is_not_waited_for),
        cmocka_unit_test(who_is_told_of_a_stuck_callback_may_wait_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
