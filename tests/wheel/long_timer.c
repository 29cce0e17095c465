/* SPDX-License-Identifier: MIT */
/* Timers beyond the reach of a wheel. */
#include "wheel/support.h"

static verge_wheel *wheel_short(void) {
    static const uint8_t bits[] = {6, 4, 0};
    verge_wheel_options options = options_of_levels(TICK, bits); /* the levels reach about a second */
    return wheel_new(&options);
}

/* Polls at each wake-up until verge_long_timer_fired returns 1. Returns how often the wheel's timer came out. */
static size_t arrive(verge_wheel *wheel, verge_long_timer *long_timer) {
    verge_expiry out[2];
    for (size_t count = 1; count < 100000; count++) {
        while (verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 2) == 0) {
        }
        assert_int_equal(out[0].timer, long_timer->timer);
        assert_ptr_equal(out[0].data, long_timer->data);
        const int arrived = verge_long_timer_fired(long_timer, wheel);
        assert_in_range(arrived, 0, 1);
        if (arrived == 1) {
            assert_int_equal(long_timer->timer, 0);
            return count;
        }
        assert_true(verge_wheel_now(wheel) < long_timer->target_ns);
        assert_int_equal(verge_wheel_count(wheel), 1);
    }
    fail_msg("it never arrived");
    return 0;
}

static void arrives_at_its_target(void **state) {
    (void)state;
    static const uint64_t targets_ns[] = {TICK, SECOND / 2, SECOND, 5 * SECOND + 7, MINUTE, HOUR + 1};
    for (size_t i = 0; i < COUNT_OF(targets_ns); i++) {
        verge_wheel *wheel = wheel_short();
        verge_long_timer long_timer;
        assert_int_equal(verge_long_timer_start(&long_timer, wheel, targets_ns[i], data_of(9)), 0);
        assert_int_equal(long_timer.target_ns, targets_ns[i]);
        assert_int_not_equal(long_timer.timer, 0);
        assert_true(long_timer.wheel_deadline_ns <= targets_ns[i]);
        (void)arrive(wheel, &long_timer);
        assert_int_equal(verge_wheel_now(wheel), verge_wheel_fires_at(wheel, targets_ns[i]));
        assert_int_equal(verge_wheel_count(wheel), 0);
        wheel_end(wheel);
    }
}

static void near_target_takes_one_step(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_short();
    verge_long_timer long_timer;
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, 100 * MS, NULL), 0);
    assert_int_equal(long_timer.wheel_deadline_ns, 100 * MS);
    assert_int_equal(arrive(wheel, &long_timer), 1);
    wheel_end(wheel);
}

static void past_target_arrives_at_once(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_short();
    verge_long_timer long_timer;
    assert_quiet(wheel, HOUR);
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, MINUTE, NULL), 0);
    assert_int_equal(arrive(wheel, &long_timer), 1);
    assert_int_equal(verge_wheel_now(wheel), HOUR);
    wheel_end(wheel);
}

static void a_late_poller_arrives_too(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_short();
    verge_long_timer long_timer;
    verge_expiry out[2];
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, MINUTE, NULL), 0);
    assert_int_equal(verge_wheel_poll(wheel, HOUR, out, 2), 1);
    assert_int_equal(verge_long_timer_fired(&long_timer, wheel), 1);
    wheel_end(wheel);
}

static void may_be_cancelled(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_short();
    verge_long_timer long_timer;
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, MINUTE, NULL), 0);
    assert_int_equal(verge_long_timer_cancel(&long_timer, wheel), 0);
    assert_int_equal(long_timer.timer, 0);
    assert_int_equal(verge_wheel_count(wheel), 0);
    assert_true(verge_long_timer_cancel(&long_timer, wheel) < 0);
    /* A long timer can also be cancelled after verge_long_timer_fired has started it again. */
    verge_expiry out[2];
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, MINUTE, NULL), 0);
    while (verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 2) == 0) {
    }
    assert_int_equal(verge_long_timer_fired(&long_timer, wheel), 0);
    assert_int_equal(verge_long_timer_cancel(&long_timer, wheel), 0);
    assert_int_equal(verge_wheel_count(wheel), 0);
    wheel_end(wheel);
}

static void a_failed_leg_may_be_tried_again(void **state) {
    (void)state;
    static const uint8_t bits[] = {6, 4, 0};
    verge_wheel_options options = options_of_levels(TICK, bits);
    options.timer_cap = 1;
    verge_wheel *wheel = wheel_new(&options);
    verge_long_timer long_timer;
    verge_expiry out[2];
    assert_int_equal(verge_long_timer_start(&long_timer, wheel, MINUTE, data_of(3)), 0);
    while (verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 2) == 0) {
    }
    const verge_timer in_the_way = schedule(wheel, verge_wheel_now(wheel) + TICK, 1);
    assert_int_equal(verge_long_timer_fired(&long_timer, wheel), -ENOSPC);
    assert_int_equal(verge_wheel_cancel(wheel, in_the_way, NULL), 0);
    assert_int_equal(verge_long_timer_fired(&long_timer, wheel), 0);
    (void)arrive(wheel, &long_timer);
    assert_int_equal(verge_wheel_now(wheel), verge_wheel_fires_at(wheel, MINUTE));
    wheel_end(wheel);
}

static void bad_arguments(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_short();
    verge_long_timer long_timer;
    memset(&long_timer, 0, sizeof(long_timer));
    assert_int_equal(verge_long_timer_start(NULL, wheel, SECOND, NULL), -EINVAL);
    assert_int_equal(verge_long_timer_start(&long_timer, NULL, SECOND, NULL), -EINVAL);
    assert_int_equal(verge_long_timer_fired(NULL, wheel), -EINVAL);
    assert_int_equal(verge_long_timer_fired(&long_timer, NULL), -EINVAL);
    assert_int_equal(verge_long_timer_cancel(NULL, wheel), -EINVAL);
    assert_int_equal(verge_long_timer_cancel(&long_timer, NULL), -EINVAL);
    assert_int_equal(verge_wheel_count(wheel), 0);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrives_at_its_target),
        cmocka_unit_test(near_target_takes_one_step),
        cmocka_unit_test(past_target_arrives_at_once),
        cmocka_unit_test(a_late_poller_arrives_too),
        cmocka_unit_test(may_be_cancelled),
        cmocka_unit_test(a_failed_leg_may_be_tried_again),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
