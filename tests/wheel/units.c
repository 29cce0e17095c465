/* SPDX-License-Identifier: MIT */
/* Wheels with a precision of 1, whose times are in a unit of the caller: milliseconds, or anything else. */
#include "wheel/timeouts.h"

static verge_wheel *milliseconds_from(uint64_t start) {
    verge_wheel_options options = options_of(VERGE_PRESET_YOUR_UNIT);
    options.start_ns = start;
    return wheel_new(&options);
}

static void a_tick_is_a_unit(void **state) {
    (void)state;
    verge_wheel *wheel = milliseconds_from(1000);
    assert_int_equal(verge_wheel_precision(wheel), 1);
    for (uint64_t deadline = 1001; deadline < 5000; deadline += 7) {
        (void)schedule(wheel, deadline, deadline);
    }
    for (uint64_t now = 1000; now < 5000; now++) {
        const size_t expected = now > 1000 && (now - 1001) % 7 == 0;
        if (expected == 1) {
            assert_int_equal(verge_wheel_next_deadline(wheel), now);
        }
        assert_int_equal(poll_count(wheel, now), expected);
    }
    wheel_end(wheel);
}

/* A wheel begins at each of some times; or its time jumps there while nothing is pending; or its start is moved there.
 * Deadlines beyond the largest one never come out, and all others do. */
static void the_end_of_time(void **state) {
    (void)state;
    static const uint64_t half = UINT64_C(1) << 63;
    const uint64_t times[] = {0,
                              1,
                              1000,
                              half / 2,
                              half - 2,
                              half - 1,
                              half,
                              half + 1,
                              half * 2 - 5000,
                              half / 2 * 3,
                              UINT64_MAX - 600,
                              UINT64_MAX - 5};
    enum { BEGINS, JUMPS, IS_MOVED, WAYS, CASES = 2 * WAYS };
    for (size_t i = 0; i < COUNT_OF(times) * CASES; i++) {
        const uint64_t now = times[i / CASES];
        const size_t way = i % WAYS;
        verge_wheel *wheel = milliseconds_from(way == BEGINS ? now : 0);
        if (i / WAYS % 2 != 0) {
            assert_int_equal(verge_wheel_reserve(wheel, 100, 0), 0);
        }
        verge_timeout *timeout = timeout_new(3);
        verge_timer timer = schedule(wheel, 0, 1);
        assert_int_equal(poll_count(wheel, 0), 1);
        if (way == IS_MOVED) {
            assert_int_equal(verge_wheel_set_start_time(wheel, now), 0);
        } else {
            assert_quiet(wheel, now);
        }
        const uint64_t largest = verge_wheel_largest_deadline(wheel);
        assert_true(largest < VERGE_NEVER - 1);
        const verge_timer first = schedule(wheel, now, 1); /* the earliest, so that the others take the short way */
        for (uint64_t beyond = VERGE_NEVER; beyond > largest; beyond--) {
            timer = schedule(wheel, largest, 1);
            assert_int_equal(verge_wheel_reset(wheel, timer, beyond), 0);
            assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, beyond, NULL), 0);
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
            assert_int_equal(verge_timeout_start(wheel, timeout, beyond), 0);
            (void)schedule(wheel, beyond, 1); /* this timer stays, and never comes out */
            assert_well(wheel);
        }
        assert_int_equal(verge_wheel_cancel(wheel, first, NULL), 0);
        timeout_start(wheel, timeout, largest);
        (void)schedule(wheel, now + (now < largest ? 1 : 0), 2);
        assert_well(wheel);
        assert_int_equal(poll_count(wheel, now + 1), 1 + (now + 1 >= largest));
        if (now + 1 < largest) {
            assert_quiet(wheel, largest - 1);
            assert_strikes(wheel, largest, timeout, 3);
        }
        assert_quiet(wheel, VERGE_NEVER);
        assert_int_equal(verge_wheel_count(wheel), VERGE_NEVER - largest);
        timeout_end(wheel, timeout);
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_is_a_unit),
        cmocka_unit_test(the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
