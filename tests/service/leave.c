/* SPDX-License-Identifier: MIT */
/* Workers leave and others take over: no timer is lost, late or doubled, and handles stay (G11). */
#include "service/support.h"

/* The timers that a worker leaves behind: due soon, later or in a long time, and one in the inbox that it has not
 * seen. */
enum { KINDS = 6 };

static void start_all_kinds(struct stepped *stepped, verge_worker *worker, struct notes *notes, verge_timer *timers) {
    const uint64_t now_ns = now_of(stepped);
    const uint64_t deadlines_ns[KINDS] = {now_ns + TICK, now_ns + SECOND,      now_ns + 2 * SECOND,
                                          now_ns + HOUR, now_ns + 1000 * HOUR, now_ns + SECOND};
    for (size_t i = 0; i < KINDS; i++) {
        if (i == KINDS - 1) {
            (void)step(worker); /* the last one stays in the inbox */
        }
        verge_start_options options = noted(&notes[i], deadlines_ns[i]);
        options.worker_id = verge_worker_id(worker);
        timers[i] = start_with(stepped->service, &options);
    }
}

static void run_all_kinds(struct stepped *stepped, verge_worker *worker, struct notes *notes,
                          const verge_timer *timers) {
    advance(stepped, SECOND + TICK);
    assert_int_equal(step(worker), 3);
    advance(stepped, SECOND);
    assert_int_equal(step(worker), 1);
    advance(stepped, HOUR);
    assert_int_equal(step(worker), 1);
    advance(stepped, 1000 * HOUR);
    assert_int_equal(step(worker), 1);
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(notes[i].fired, 1);
        assert_int_equal(notes[i].last.timer, timers[i]);
        assert_true(notes[i].last.actual_ns >= notes[i].last.scheduled_ns);
    }
    assert_int_equal(verge_service_count(stepped->service, 0), 0);
}

static void its_timers_go_to_the_others(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes[KINDS] = {0};
    verge_timer timers[KINDS];
    stepped_begin(&stepped);
    verge_worker *going = join_unbound(stepped.service);
    verge_worker *staying = join_unbound(stepped.service);
    start_all_kinds(&stepped, going, notes, timers);
    leave(going);
    assert_int_equal(stats_of(stepped.service).workers, 1);
    assert_int_equal(step(staying), 0);
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(info_of(stepped.service, timers[i]).worker_id, verge_worker_id(staying));
    }
    assert_int_equal(count_in(stepped.service, staying), KINDS);
    assert_int_equal(stats_of(stepped.service).migrated, KINDS - 1); /* the timer in the inbox had no worker yet */
    run_all_kinds(&stepped, staying, notes, timers);
    leave(staying);
    stepped_end(&stepped);
}

/* The timers are sent in pieces. When a piece is sent, the pieces before it are still in the workers' inboxes. These
 * timers must count, too. */
static void its_timers_are_dealt_evenly(void **state) {
    (void)state;
    enum { TIMERS = 6000, SENT_AT_ONCE = 256 };
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *going = join_unbound(stepped.service);
    verge_worker *staying[2] = {join_unbound(stepped.service), join_unbound(stepped.service)};
    struct notes notes = {0};
    for (uint64_t i = 0; i < TIMERS; i++) {
        verge_start_options options = noted(&notes, now_of(&stepped) + HOUR + i * TICK);
        options.worker_id = verge_worker_id(going);
        (void)start_with(stepped.service, &options);
    }
    while (verge_worker_next_wakeup(going) == 0) {
        (void)step(going);
    }
    leave(going);
    for (int i = 0; i < 2; i++) {
        while (verge_worker_next_wakeup(staying[i]) == 0) {
            (void)step(staying[i]);
        }
        assert_in_range(count_in(stepped.service, staying[i]), TIMERS / 2 - SENT_AT_ONCE, TIMERS / 2 + SENT_AT_ONCE);
    }
    leave(staying[0]);
    leave(staying[1]);
    stepped_end(&stepped);
}

static void orphans_wait_for_the_next_to_join(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes[KINDS] = {0};
    verge_timer timers[KINDS];
    stepped_begin(&stepped);
    verge_worker *last = join_unbound(stepped.service);
    start_all_kinds(&stepped, last, notes, timers);
    leave(last);
    assert_int_equal(stats_of(stepped.service).workers, 0);
    assert_int_equal(stats_of(stepped.service).orphans, KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(info_of(stepped.service, timers[i]).worker_id, 0);
    }
    verge_worker *next = join_bound(stepped.service);
    assert_int_equal(verge_worker_next_wakeup(next), 0);
    run_all_kinds(&stepped, next, notes, timers);
    leave(next);
    stepped_end(&stepped);
}

static void orphans_are_cancelled_and_reset_like_any(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes[3] = {0};
    verge_timer timers[3];
    stepped_begin(&stepped);
    verge_worker *last = join_bound(stepped.service);
    for (size_t i = 0; i < 3; i++) {
        timers[i] = start_at(stepped.service, now_of(&stepped) + HOUR, take_note, &notes[i]);
    }
    leave(last);
    assert_int_equal(verge_service_cancel(stepped.service, timers[0]), 0);
    assert_int_equal(verge_service_cancel(stepped.service, timers[0]), -ENOENT);
    assert_int_equal(verge_service_reset(stepped.service, timers[1], now_of(&stepped) + SECOND), 0);
    assert_int_equal(verge_service_reset(stepped.service, timers[2], now_of(&stepped) + 2 * HOUR), 0);
    assert_int_equal(verge_service_count(stepped.service, 0), 2);
    verge_worker *next = join_bound(stepped.service);
    assert_int_equal(step(next), 0);
    advance(&stepped, SECOND + TICK);
    assert_int_equal(step(next), 1);
    assert_int_equal(notes[1].fired, 1);
    advance(&stepped, HOUR + TICK);
    assert_int_equal(step(next), 0);
    advance(&stepped, HOUR);
    assert_int_equal(step(next), 1);
    assert_int_equal(notes[0].fired, 0);
    leave(next);
    stepped_end(&stepped);
}

static uint64_t last_scheduled_ns;

static void expect_overdue_first(const verge_firing *firing) {
    assert_true(firing->scheduled_ns >= last_scheduled_ns);
    last_scheduled_ns = firing->scheduled_ns;
}

/* Timers that are overdue when the new worker takes over run before timers that are due now. */
static void overdue_orphans_run_first(void **state) {
    (void)state;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.batch = 1;
    stepped_create(&stepped, &options);
    verge_worker *last = join_bound(stepped.service);
    const uint64_t now_ns = now_of(&stepped) + HOUR;
    const uint64_t overdue_ns = now_of(&stepped) + HOUR / 2;
    for (int i = 0; i < 20; i++) {
        (void)start_at(stepped.service, i % 2 == 0 ? overdue_ns : now_ns / TICK * TICK, expect_overdue_first, NULL);
    }
    verge_manual_clock_set(&stepped.clock, now_ns);
    leave(last);
    last_scheduled_ns = 0;
    verge_worker *next = join_bound(stepped.service);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(step(next), 1);
    }
    leave(next);
    stepped_end(&stepped);
}

/* ---- in which order: G5 ---- */

/* How timers come to a worker too late for their ticks. */
enum way {
    LEFT,    /* another worker left, with some of them in a backlog */
    ORPHANS, /* they were started while there was no worker */
    SENT,    /* they were in its inbox while it made no pass */
    RESCUED, /* another worker, which had them, is stuck in a callback */
    WAYS
};

static struct {
    verge_worker *other;
    uint64_t last_tick;
    uint32_t fired;
} order;

static void expect_order_of_ticks(const verge_firing *firing) {
    const uint64_t tick = (firing->scheduled_ns + TICK - 1) / TICK;
    assert_true(tick >= order.last_tick);
    order.last_tick = tick;
    order.fired++;
}

static void count_firing(const verge_firing *firing) {
    (void)firing;
    order.fired++;
}

/* A callback that does not return before another worker has taken over. */
static void be_stuck(const verge_firing *firing) {
    struct stepped *stepped = firing->argument;
    advance(stepped, HOUR);
    assert_int_equal(step(order.other), 4); /* a batch of this worker's timers */
}

static void start_in_disorder(struct stepped *stepped, struct verge_test_random *random, uint32_t count,
                              uint32_t worker_id, verge_callback callback) {
    for (uint32_t i = 0; i < count; i++) {
        verge_start_options options = {.struct_size = sizeof(options)};
        options.callback = callback;
        options.deadline_ns = now_of(stepped) + 2 * TICK + verge_test_below(random, 1000 * TICK);
        options.worker_id = worker_id;
        (void)start_with(stepped->service, &options);
    }
}

static void run_in_order(verge_worker *worker, uint32_t count) {
    while (order.fired < count) {
        assert_true(step(worker) > 0);
    }
}

static void take_over(enum way way, uint32_t count, struct verge_test_random *random) {
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.batch = 4;
    options.stuck_after_ns = way == RESCUED ? SECOND : 0;
    stepped_create(&stepped, &options);
    memset(&order, 0, sizeof(order));
    verge_worker *worker = way == ORPHANS ? NULL : join_unbound(stepped.service);
    order.other = way == RESCUED ? join_unbound(stepped.service) : NULL;
    const uint32_t id = verge_worker_id(worker);
    if (way == RESCUED) {
        verge_start_options stuck = {.struct_size = sizeof(stuck)};
        stuck.callback = be_stuck;
        stuck.argument = &stepped;
        stuck.worker_id = id;
        (void)start_with(stepped.service, &stuck);
    }
    /* Some timers of a worker that leaves have been due for some passes. Those that a batch has left over are kept in
     * another place than the rest. */
    start_in_disorder(&stepped, random, count, id, expect_order_of_ticks);
    if (way == LEFT) {
        start_in_disorder(&stepped, random, 40, id, count_firing);
        while (verge_worker_next_wakeup(worker) == 0) {
            (void)step(worker); /* until all timers are filed */
        }
        order.fired = 0;
        advance(&stepped, verge_test_below(random, 500 * TICK));
        for (uint64_t passes = verge_test_below(random, 4); passes > 0; passes--) {
            (void)step(worker);
        }
        for (uint32_t i = 0; i < 10; i++) {
            verge_start_options late = {.struct_size = sizeof(late)};
            late.callback = count_firing;
            late.worker_id = id;
            (void)start_with(stepped.service, &late);
        }
        (void)step(worker);
    }
    advance(&stepped, HOUR);
    if (way == RESCUED) {
        assert_int_equal(step(worker), 1);
        run_in_order(order.other, count);
        leave(order.other);
    } else if (way == SENT) {
        run_in_order(worker, count);
    } else {
        if (worker != NULL) {
            leave(worker);
        }
        order.last_tick = 0;
        worker = join_unbound(stepped.service);
        run_in_order(worker, count + (way == LEFT ? 50 : 0));
    }
    leave(worker);
    stepped_end(&stepped);
}

static void overdue_timers_run_in_the_order_of_their_ticks(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(12));
    for (int round = 0; round < 40; round++) {
        for (enum way way = LEFT; way < WAYS; way++) {
            take_over(way, 5 + (uint32_t)verge_test_below(&random, 300), &random);
        }
    }
    take_over(LEFT, 5000, &random); /* more than a worker takes in one pass */
}

/* A small batch leaves timers over: some of the tick that is being run, and some that came too late for their tick. */
static void a_backlog_goes_to_the_others(void **state) {
    (void)state;
    enum { COUNT = 30 };
    for (int passes = 0; passes < 8; passes++) {
        struct stepped stepped;
        struct notes notes[COUNT] = {0};
        verge_service_options options = stepped_options(&stepped);
        options.batch = 4;
        stepped_create(&stepped, &options);
        verge_worker *going = join_bound(stepped.service);
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint64_t delay_ns = i < 10 ? 0 : i < 20 ? TICK : 2 * TICK;
            (void)start_at(stepped.service, now_of(&stepped) - SECOND * (i < 5) + delay_ns, take_note, &notes[i]);
        }
        advance(&stepped, 2 * TICK);
        for (int pass = 0; pass < passes; pass++) {
            assert_int_equal(step(going), pass < 7 ? 4 : 2);
        }
        leave(going);
        verge_worker *next = join_bound(stepped.service);
        for (int pass = 0; pass < 10; pass++) {
            (void)step(next);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(notes[i].fired, 1);
        }
        leave(next);
        stepped_end(&stepped);
    }
}

/* ---- in a callback ---- */

static void leave_worker(const verge_firing *firing) {
    take_note(firing);
    assert_int_equal(verge_worker_leave(firing->worker), 0);
    /* The worker exists until the callback has returned. */
    assert_ptr_equal(verge_worker_current(firing->service), firing->worker);
    (void)start_at(firing->service, firing->actual_ns, take_note, firing->argument);
    assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->actual_ns + SECOND), VERGE_RUNNING);
}

static void a_callback_that_leaves_is_the_last_of_its_worker(void **state) {
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct stepped stepped;
        struct notes leaver = {0};
        struct notes others = {0};
        stepped_begin(&stepped);
        verge_worker *worker = bound ? join_bound(stepped.service) : join_unbound(stepped.service);
        const verge_timer timer = start_at(stepped.service, now_of(&stepped) + TICK, leave_worker, &leaver);
        for (uint64_t i = 0; i < 10; i++) {
            (void)start_at(stepped.service, now_of(&stepped) + (2 + i % 2) * TICK, take_note, &others);
        }
        advance(&stepped, 3 * TICK);
        assert_int_equal(verge_worker_run_once(worker, VERGE_NEVER), -ESHUTDOWN);
        assert_null(verge_worker_current(stepped.service));
        assert_int_equal(leaver.fired, 1);
        assert_int_equal(others.fired, 0);
        assert_int_equal(verge_service_count(stepped.service, 0), 12);
        verge_worker *next = join_unbound(stepped.service);
        assert_int_equal(step(next), 11);
        /* Its callback has reset it, so it is pending, on the other worker. */
        assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        leave(next);
        stepped_end(&stepped);
    }
}

/* ---- threads that end without a call of verge_worker_leave ---- */

struct deserter {
    verge_service *service;
    verge_worker *worker;
    struct notes notes;
    bool exits_in_callback;
    _Atomic bool has_joined;
    _Atomic bool may_end;
};

static void exit_thread(const verge_firing *firing) {
    (void)firing;
    pthread_exit(NULL);
}

static void *join_and_desert(void *argument) {
    struct deserter *deserter = argument;
    deserter->worker = join_bound(deserter->service);
    (void)start_at(deserter->service, 2 * HOUR, take_note, &deserter->notes);
    if (deserter->exits_in_callback) {
        (void)start_at(deserter->service, 0, exit_thread, NULL);
        (void)verge_worker_run_once(deserter->worker, 0);
    }
    return NULL;
}

static void a_thread_that_ends_has_left(void **state) {
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        options.stuck_after_ns = variant % 2 == 0 ? 0 : SECOND;
        stepped_create(&stepped, &options);
        struct deserter deserter = {.service = stepped.service, .exits_in_callback = variant >= 2};
        join_thread(thread_of(join_and_desert, &deserter));
        assert_int_equal(stats_of(stepped.service).workers, 0);
        assert_int_equal(verge_service_count(stepped.service, 0), 1);
        verge_worker *next = join_bound(stepped.service);
        assert_int_equal(step_at(&stepped, next, 3 * HOUR), 1);
        assert_int_equal(deserter.notes.fired, 1);
        assert_int_equal(verge_service_tick(stepped.service), 0);
        assert_int_equal(stats_of(stepped.service).stuck, 0); /* a worker that has left is not stuck */
        leave(next);
        stepped_end(&stepped);
    }
}

static void *join_and_wait(void *argument) {
    struct deserter *deserter = argument;
    deserter->worker = join_bound(deserter->service);
    atomic_store(&deserter->has_joined, true);
    await(&deserter->may_end);
    return NULL; /* the thread leaves its worker, which must still exist */
}

static void a_worker_is_its_own_threads_alone(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    struct deserter deserter = {.service = stepped.service};
    const pthread_t thread = thread_of(join_and_wait, &deserter);
    await(&deserter.has_joined);
    assert_int_equal(verge_worker_leave(deserter.worker), -EPERM);
    assert_int_equal(verge_worker_run_once(deserter.worker, 0), -EPERM);
    assert_int_equal(stats_of(stepped.service).workers, 1);
    assert_int_equal(verge_service_destroy(stepped.service, NULL, NULL), -EBUSY);
    atomic_store(&deserter.may_end, true);
    join_thread(thread);
    assert_int_equal(stats_of(stepped.service).workers, 0);
    assert_int_equal(verge_worker_leave(deserter.worker), -EINVAL);
    stepped_end(&stepped);
}

/* An unbound worker belongs to no thread. Whoever knows that its thread has died tells the service. */
static void *step_and_die(void *argument) {
    struct deserter *deserter = argument;
    (void)verge_worker_run_once(deserter->worker, 0);
    return NULL;
}

static void count_stuck(void *context, const verge_stuck *stuck) {
    assert_int_not_equal(stuck->timer, 0);
    (*(uint32_t *)context)++;
}

static void another_thread_leaves_for_one_that_died(void **state) {
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        struct stepped stepped;
        uint32_t stuck = 0;
        verge_service_options options = stepped_options(&stepped);
        options.stuck_after_ns = variant == 0 ? 0 : SECOND;
        options.on_stuck = count_stuck;
        options.on_stuck_context = &stuck;
        stepped_create(&stepped, &options);
        struct deserter deserter = {.service = stepped.service};
        deserter.worker = join_unbound(stepped.service);
        const verge_timer killer = start_at(stepped.service, 0, exit_thread, NULL);
        (void)start_at(stepped.service, now_of(&stepped), take_note, &deserter.notes);
        (void)start_at(stepped.service, 2 * HOUR, take_note, &deserter.notes);
        join_thread(thread_of(step_and_die, &deserter));
        assert_int_equal(verge_service_cancel(stepped.service, killer), VERGE_RUNNING);
        advance(&stepped, 2 * SECOND);
        (void)verge_service_tick(stepped.service);
        assert_int_equal(stuck, variant);
        leave(deserter.worker);
        assert_int_equal(verge_service_cancel_wait(stepped.service, killer),
                         -ENOENT); /* nobody waits for the dead callback */
        advance(&stepped, 2 * SECOND);
        (void)verge_service_tick(stepped.service);
        verge_worker *next = join_unbound(stepped.service); /* gets the seat of the worker that has left */
        assert_int_equal(verge_worker_id(next), 1);
        advance(&stepped, 2 * SECOND);
        (void)verge_service_tick(stepped.service);
        assert_int_equal(stuck, variant); /* the dead callback is not reported again */
        (void)step(next);
        assert_int_equal(deserter.notes.fired, 1);
        (void)step_at(&stepped, next, 3 * HOUR);
        assert_int_equal(deserter.notes.fired, 2);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        leave(next);
        stepped_end(&stepped);
    }
}

/* ---- joining ---- */

static void a_thread_is_one_worker_of_a_service(void **state) {
    (void)state;
    struct stepped stepped;
    struct stepped other;
    stepped_begin(&stepped);
    stepped_begin(&other);
    verge_worker *worker = join_bound(stepped.service);
    verge_worker *second = NULL;
    assert_int_equal(verge_worker_join(stepped.service, NULL, &second), -EBUSY);
    assert_null(second);
    second = join_bound(other.service); /* the same thread may join another service */
    assert_ptr_equal(verge_worker_current(stepped.service), worker);
    assert_ptr_equal(verge_worker_current(other.service), second);
    leave(worker);
    assert_null(verge_worker_current(stepped.service));
    assert_ptr_equal(verge_worker_current(other.service), second);
    worker = join_bound(stepped.service);
    leave(second);
    leave(worker);
    stepped_end(&stepped);
    stepped_end(&other);
}

static void there_are_so_many_workers_and_no_more(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    static verge_worker *workers[VERGE_WORKER_COUNT_MAX];
    bool seen[VERGE_WORKER_COUNT_MAX + 1] = {false};
    for (size_t i = 0; i < VERGE_WORKER_COUNT_MAX; i++) {
        workers[i] = join_unbound(stepped.service);
        const uint32_t id = verge_worker_id(workers[i]);
        assert_true(id >= 1 && id <= VERGE_WORKER_COUNT_MAX && !seen[id]);
        seen[id] = true;
    }
    verge_worker *one_more = NULL;
    assert_int_equal(verge_worker_join(stepped.service, NULL, &one_more), -ENOSPC);
    leave(workers[100]);
    workers[100] = join_unbound(stepped.service);
    for (size_t i = 0; i < VERGE_WORKER_COUNT_MAX; i++) {
        leave(workers[i]);
    }
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_timers_go_to_the_others),
        cmocka_unit_test(its_timers_are_dealt_evenly),
        cmocka_unit_test(orphans_wait_for_the_next_to_join),
        cmocka_unit_test(orphans_are_cancelled_and_reset_like_any),
        cmocka_unit_test(overdue_orphans_run_first),
        cmocka_unit_test(overdue_timers_run_in_the_order_of_their_ticks),
        cmocka_unit_test(a_backlog_goes_to_the_others),
        cmocka_unit_test(a_callback_that_leaves_is_the_last_of_its_worker),
        cmocka_unit_test(a_thread_that_ends_has_left),
        cmocka_unit_test(a_worker_is_its_own_threads_alone),
        cmocka_unit_test(another_thread_leaves_for_one_that_died),
        cmocka_unit_test(a_thread_is_one_worker_of_a_service),
        cmocka_unit_test(there_are_so_many_workers_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
