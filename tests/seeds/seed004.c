/* SPDX-License-Identifier: MIT */
/* Seed 004, timers in an executor: the part that concerns one worker's wheel. */
#include "wheel/support.h"

/* A timer fires only if its generation is current. */
static void seed004_only_the_current_generation_fires(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    size_t fired = 0;
    for (uintptr_t i = 1; i <= 100; i++) { /* the same node, again and again */
        const verge_timer timer = schedule(wheel, (i * 37) % 101 * TICK + 10 * TICK, i);
        if (i < 100) {
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        }
    }
    for (uint64_t now_ns = 0; now_ns < 200 * TICK; now_ns += TICK) {
        fired += poll_count(wheel, now_ns);
    }
    assert_int_equal(fired, 1);
    wheel_end(wheel);
}

static void seed004_the_same_handle_is_rescheduled(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, SECOND, 1);
    for (uint64_t i = 1; i < 1000; i++) {
        assert_quiet(wheel, i * SECOND - TICK);
        assert_int_equal(verge_wheel_reset(wheel, timer, (i + 1) * SECOND), 0);
    }
    assert_fires(wheel, 1001 * SECOND, timer);
    wheel_end(wheel);
}

/* Cancels leave few idle nodes behind. Polls drop them, and keep to the work limit. */
static void seed004_garbage_is_scrubbed_within_bounds(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.work_limit = 100;
    verge_wheel *wheel = wheel_new(&options);
    const size_t count = test_scaled(50000);
    verge_timer *timers = calloc(count, sizeof(*timers));
    assert_non_null(timers);
    for (uintptr_t i = 0; i < count; i++) {
        timers[i] = schedule(wheel, HOUR + i * MS, i);
    }
    for (size_t i = 0; i < count; i++) {
        if (i % 16 != 0) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
    }
    assert_in_range(stats_of(wheel).idle, 1, 3072);
    const size_t pending = verge_wheel_count(wheel);
    size_t fired = 0;
    for (uint64_t now_ns = HOUR; now_ns < HOUR + (count + 1) * MS || verge_wheel_has_backlog(wheel); now_ns += MS) {
        fired += poll_count(wheel, now_ns);
        assert_true(stats_of(wheel).last_poll_work <= 100);
    }
    assert_int_equal(fired, pending);
    assert_true(stats_of(wheel).nodes_dropped > 0);
    assert_int_equal(stats_of(wheel).linked, 0);
    free(timers);
    wheel_end(wheel);
}

/* A fault not to be repeated: an overdue timer, from a worker that leaves, waited for a whole rotation. */
static void seed004_an_overdue_timer_fires_next(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, HOUR);
    for (uint64_t overdue_ns = TICK; overdue_ns < HOUR; overdue_ns *= 2) {
        assert_fires(wheel, HOUR, schedule(wheel, HOUR - overdue_ns, 1));
    }
    wheel_end(wheel);
}

/* A fault not to be repeated: a poll that had used up its budget cleared the "needs poll" flag. */
static void seed004_a_budget_leaves_the_backlog_known(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[3];
    for (uintptr_t i = 0; i < 10; i++) {
        (void)schedule(wheel, SECOND, i);
    }
    for (size_t left = 10; left > 0; left -= left < 3 ? left : 3) {
        assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 3), left < 3 ? left : 3);
        assert_true(left <= 3 || verge_wheel_has_backlog(wheel));
        assert_true(left <= 3 || verge_wheel_next_wakeup(wheel) == 2 * SECOND);
    }
    assert_false(verge_wheel_has_backlog(wheel));
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed004_only_the_current_generation_fires),
        cmocka_unit_test(seed004_the_same_handle_is_rescheduled),
        cmocka_unit_test(seed004_garbage_is_scrubbed_within_bounds),
        cmocka_unit_test(seed004_an_overdue_timer_fires_next),
        cmocka_unit_test(seed004_a_budget_leaves_the_backlog_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
