/* SPDX-License-Identifier: MIT */
/* Periodic timers, compared with an interval of the same policy whose ticks are taken in the same passes. */
#include "service/support.h"

static const verge_interval_policy policies[] = {VERGE_INTERVAL_BURST, VERGE_INTERVAL_DELAY, VERGE_INTERVAL_SKIP};

static verge_timer start_periodic(struct stepped *stepped, struct notes *notes, uint64_t first_ns, uint64_t period_ns,
                                  verge_interval_policy policy) {
    verge_start_options options = noted(notes, first_ns);
    options.period_ns = period_ns;
    options.policy = policy;
    return start_with(stepped->service, &options);
}

static void a_prompt_worker_runs_it_once_a_period(void **state) {
    (void)state;
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        const uint64_t begin_ns = now_of(&stepped);
        const verge_timer timer = start_periodic(&stepped, &notes, begin_ns + SECOND, SECOND, policies[p]);
        assert_int_equal(info_of(stepped.service, timer).period_ns, SECOND);
        for (uint64_t i = 1; i <= 1000; i++) {
            assert_int_equal(step_at(&stepped, worker, begin_ns + i * SECOND - 1), 0);
            assert_int_equal(step_at(&stepped, worker, begin_ns + i * SECOND + TICK), 1);
            assert_int_equal(notes.last.scheduled_ns, begin_ns + i * SECOND);
            assert_int_equal(notes.last.missed, 0);
            assert_int_equal(notes.last.timer, timer);
            assert_int_equal(verge_service_count(stepped.service, 0), 1);
        }
        leave(worker);
        stepped_end(&stepped);
    }
}

/* Checks that the timer did in a pass at `now_ns` what the interval says. */
static void expect_as_interval(verge_interval *interval, const struct notes *notes, uint32_t fired_before,
                               uint64_t now_ns) {
    verge_tick tick = {0};
    if (notes->fired == fired_before) {
        /* The interval may be due, if the timer's tick in the wheel has not come. */
        assert_true(interval->deadline_ns > now_ns / TICK * TICK);
        return;
    }
    assert_int_equal(notes->fired, fired_before + 1);
    assert_int_equal(verge_interval_next(interval, now_ns, &tick), 1);
    assert_int_equal(notes->last.scheduled_ns, tick.scheduled_ns);
    assert_int_equal(notes->last.missed, tick.missed);
    assert_int_equal(notes->last.actual_ns, now_ns);
}

/* With a batch of one, each pass takes one tick at most, as a call of verge_interval_next does. */
static void a_late_worker_runs_what_the_policy_says(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(5));
    for (size_t round = 0; round < 300; round++) {
        struct stepped stepped;
        struct notes notes = {0};
        verge_service_options options = stepped_options(&stepped);
        options.batch = 1;
        stepped_create(&stepped, &options);
        verge_worker *worker = join_unbound(stepped.service);
        const uint64_t period_ns = 1 + verge_test_below(&random, 100 * TICK);
        const uint64_t first_ns = now_of(&stepped) + verge_test_below(&random, 100 * TICK);
        const verge_interval_policy policy = policies[round % COUNT_OF(policies)];
        const verge_timer timer = start_periodic(&stepped, &notes, first_ns, period_ns, policy);
        verge_interval interval;
        assert_int_equal(verge_interval_init(&interval, first_ns, period_ns, policy), 0);
        for (int i = 0; i < 50; i++) {
            advance(&stepped, verge_test_chance(&random, 5) ? verge_test_below(&random, 1000 * TICK)
                                                            : verge_test_below(&random, 2 * period_ns));
            const uint32_t fired_before = notes.fired;
            (void)step(worker);
            expect_as_interval(&interval, &notes, fired_before, now_of(&stepped));
            assert_int_equal(info_of(stepped.service, timer).deadline_ns, interval.deadline_ns);
        }
        leave(worker);
        stepped_end(&stepped);
    }
}

static void burst_makes_up_for_every_tick(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    (void)start_periodic(&stepped, &notes, begin_ns, SECOND, VERGE_INTERVAL_BURST);
    advance(&stepped, 100 * SECOND + TICK);
    while (step(worker) > 0 || verge_worker_next_wakeup(worker) == 0) {
    }
    assert_int_equal(notes.fired, 101);
    assert_int_equal(notes.last.missed, 0);
    assert_int_equal(notes.last.scheduled_ns, begin_ns + 100 * SECOND);
    leave(worker);
    stepped_end(&stepped);
}

static void skip_and_delay_count_what_they_miss(void **state) {
    (void)state;
    for (size_t p = 1; p < COUNT_OF(policies); p++) {
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        const uint64_t begin_ns = now_of(&stepped);
        const verge_timer timer = start_periodic(&stepped, &notes, begin_ns, SECOND, policies[p]);
        advance(&stepped, 100 * SECOND + SECOND / 2);
        while (step(worker) > 0 || verge_worker_next_wakeup(worker) == 0) {
        }
        assert_int_equal(notes.fired, 1);
        assert_int_equal(notes.last.missed, 100);
        assert_int_equal(notes.last.scheduled_ns, begin_ns + 100 * SECOND);
        const uint64_t next_ns =
            policies[p] == VERGE_INTERVAL_SKIP ? begin_ns + 101 * SECOND : now_of(&stepped) + SECOND;
        assert_int_equal(info_of(stepped.service, timer).deadline_ns, next_ns);
        leave(worker);
        stepped_end(&stepped);
    }
}

static void a_reset_goes_on_from_there(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    const verge_timer timer = start_periodic(&stepped, &notes, begin_ns + SECOND, SECOND, VERGE_INTERVAL_BURST);
    assert_int_equal(step_at(&stepped, worker, begin_ns + SECOND + TICK), 1);
    const uint64_t moved_ns = begin_ns + 10 * SECOND + 77;
    assert_int_equal(verge_service_reset(stepped.service, timer, moved_ns), 0);
    assert_int_equal(step_at(&stepped, worker, begin_ns + 9 * SECOND), 0);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(step_at(&stepped, worker, moved_ns + i * SECOND + TICK), 1);
        assert_int_equal(notes.last.scheduled_ns, moved_ns + i * SECOND);
    }
    leave(worker);
    stepped_end(&stepped);
}

static void cancel_self(const verge_firing *firing) {
    take_note(firing);
    struct notes *notes = firing->argument;
    if (notes->fired == 3) {
        assert_int_equal(verge_service_cancel(firing->service, firing->timer), VERGE_RUNNING);
    }
}

static void cancelled_it_ends(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    verge_start_options options = noted(&notes, now_of(&stepped));
    options.callback = cancel_self;
    options.period_ns = SECOND;
    const verge_timer timer = start_with(stepped.service, &options);
    for (int i = 0; i < 10; i++) {
        (void)step(worker);
        advance(&stepped, SECOND);
    }
    assert_int_equal(notes.fired, 3);
    assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    leave(worker);
    stepped_end(&stepped);
}

/* I7: the tick that would be beyond the end of time does not come, and the timer ends. */
static void it_ends_with_time(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const verge_timer timer =
        start_periodic(&stepped, &notes, now_of(&stepped), VERGE_NEVER - now_of(&stepped), VERGE_INTERVAL_SKIP);
    assert_int_equal(step(worker), 1);
    assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prompt_worker_runs_it_once_a_period),
        cmocka_unit_test(a_late_worker_runs_what_the_policy_says),
        cmocka_unit_test(burst_makes_up_for_every_tick),
        cmocka_unit_test(skip_and_delay_count_what_they_miss),
        cmocka_unit_test(a_reset_goes_on_from_there),
        cmocka_unit_test(cancelled_it_ends),
        cmocka_unit_test(it_ends_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
