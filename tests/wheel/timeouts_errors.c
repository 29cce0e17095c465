/* SPDX-License-Identifier: MIT */
/* What cannot be done with a timeout is an error, and changes nothing. */
#include "wheel/timeouts.h"

static void no_wheel_and_no_timeout(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(1);
    timeout_start(wheel, timeout, HOUR);
    const struct snapshot before = snapshot_of(wheel);
    const verge_timeout copy = *timeout;
    assert_int_equal(verge_timeout_start(NULL, timeout, 1), -EINVAL);
    assert_int_equal(verge_timeout_start(wheel, NULL, HOUR), -EINVAL);
    assert_int_equal(verge_timeout_pause(NULL, timeout), -EINVAL);
    assert_int_equal(verge_timeout_pause(wheel, NULL), -EINVAL);
    assert_int_equal(verge_timeout_cancel(NULL, timeout), -EINVAL);
    assert_int_equal(verge_timeout_cancel(wheel, NULL), -EINVAL);
    assert_int_equal(verge_timeout_deadline(NULL), VERGE_NEVER);
    assert_memory_equal(timeout, &copy, sizeof(copy));
    assert_unchanged(wheel, &before);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* If a start of a zeroed timeout is refused, the timeout stays zeroed. */
static void assert_stranger(verge_wheel *wheel, verge_timeout *stranger, uint64_t refused_ns) {
    static const verge_timeout zeroed;
    const struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_start(wheel, stranger, refused_ns), -ERANGE);
    assert_memory_equal(stranger, &zeroed, sizeof(zeroed));
    assert_int_equal(verge_timeout_cancel(wheel, stranger), -ENOENT);
    assert_int_equal(verge_timeout_pause(wheel, stranger), -ENOENT);
    assert_int_equal(verge_timeout_deadline(stranger), VERGE_NEVER);
    assert_unchanged(wheel, &before);
}

/* Zeroed memory is no pending timeout, at every start time of a wheel, and beside another timeout. */
static void zeroed_memory(void **state) {
    (void)state;
    static const uint64_t starts_ns[] = {0, 1, HOUR, UINT64_C(1) << 36, UINT64_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(starts_ns) * COUNT_OF(timeout_orders); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_TWO_LEVEL);
        options.order = timeout_orders[i % COUNT_OF(timeout_orders)];
        options.start_ns = starts_ns[i / COUNT_OF(timeout_orders)];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout zeroed = {{0}};
        const uint64_t deadline_ns = options.start_ns + MINUTE;
        const uint64_t refused_ns = options.start_ns + DAY;
        assert_stranger(wheel, &zeroed, refused_ns);
        verge_timeout *timeout = timeout_new(1);
        for (uint64_t times = 0; times < 20; times++) {
            timeout_start(wheel, timeout, deadline_ns + times);
            (void)schedule(wheel, deadline_ns, 2);
        }
        assert_stranger(wheel, &zeroed, refused_ns);
        timeout_end(wheel, timeout);
        wheel_end(wheel);
    }
}

static void clear_of_what_is_not_set(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(1);
    struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT); /* never started */
    assert_unchanged(wheel, &before);
    timeout_start(wheel, timeout, HOUR);
    timeout_cancel(wheel, timeout);
    before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT); /* cancelled */
    assert_unchanged(wheel, &before);
    timeout_start(wheel, timeout, 2 * HOUR);
    assert_strikes(wheel, 3 * HOUR, timeout, 1);
    before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT); /* returned by a poll */
    assert_unchanged(wheel, &before);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

static void assert_refused(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns, int error) {
    (void)verge_wheel_next_deadline(wheel); /* may drop idle nodes */
    const struct snapshot before = snapshot_of(wheel);
    const verge_timeout copy = *timeout;
    assert_int_equal(verge_timeout_start(wheel, timeout, deadline_ns), error);
    assert_memory_equal(timeout, &copy, sizeof(copy));
    assert_unchanged(wheel, &before);
}

/* A deadline beyond the range is refused, whether the timeout is pending or not. */
static void beyond_the_range(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        static const uint8_t bits[] = {6, 6, 0};
        verge_wheel_options options = options_of_levels(TICK, bits);
        options.order = timeout_orders[i];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = timeout_new(1);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        for (int round = 0; round < 2; round++) {
            assert_refused(wheel, timeout, largest_ns + 1, -ERANGE);
            assert_refused(wheel, timeout, VERGE_NEVER, -ERANGE);
            timeout_start(wheel, timeout, largest_ns);
        }
        assert_quiet(wheel, largest_ns - 1);
        assert_strikes(wheel, largest_ns, timeout, 1);
        timeout_end(wheel, timeout);
        wheel_end(wheel);
    }
}

static void the_past_as_the_wheel_judges_it(void **state) {
    (void)state;
    static const struct {
        verge_past past;
        int of_zero;
        int before_start;
        int before_now;
    } rules[] = {{VERGE_PAST_FIRES, 0, 0, 0},
                 {VERGE_PAST_SINCE_START, -EINVAL, -EINVAL, 0},
                 {VERGE_PAST_REJECTED, -EINVAL, -EINVAL, -EINVAL}};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.past = rules[i].past;
        options.start_ns = 100 * TICK;
        verge_wheel *wheel = wheel_new(&options);
        assert_quiet(wheel, 200 * TICK);
        const uint64_t deadlines_ns[] = {0, 50 * TICK, 150 * TICK};
        const int errors[] = {rules[i].of_zero, rules[i].before_start, rules[i].before_now};
        for (size_t k = 0; k < COUNT_OF(errors); k++) {
            verge_timeout *timeout = timeout_new(k);
            if (errors[k] != 0) {
                assert_refused(wheel, timeout, deadlines_ns[k], errors[k]);
                timeout_start(wheel, timeout, 300 * TICK);
                assert_refused(wheel, timeout, deadlines_ns[k], errors[k]); /* the pending timeout stays as it was */
            } else {
                timeout_start(wheel, timeout, deadlines_ns[k]);
                assert_int_equal(verge_wheel_next_wakeup(wheel), 200 * TICK);
                assert_strikes(wheel, 200 * TICK, timeout, k);
                timeout_start(wheel, timeout, 300 * TICK);
                timeout_start(wheel, timeout, deadlines_ns[k]); /* moves the pending timeout there */
                assert_strikes(wheel, 200 * TICK, timeout, k);
            }
            timeout_end(wheel, timeout);
        }
        wheel_end(wheel);
    }
}

/* Pending timeouts count towards the cap, as timers with handles do. */
static void the_cap(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.timer_cap = 3;
    verge_wheel *wheel = wheel_new(&options);
    verge_timeout *timeouts[5];
    for (size_t i = 0; i < COUNT_OF(timeouts); i++) {
        timeouts[i] = timeout_new(i);
    }
    const verge_timer timer = schedule(wheel, HOUR, 9);
    timeout_start(wheel, timeouts[0], HOUR);
    timeout_start(wheel, timeouts[1], HOUR);
    assert_refused(wheel, timeouts[2], HOUR, -ENOSPC);
    assert_int_equal(verge_wheel_start(wheel, HOUR, NULL, NULL), -ENOSPC);
    assert_int_equal(verge_wheel_reserve(wheel, 1, 0), -ENOSPC);
    timeout_start(wheel, timeouts[0], 2 * HOUR); /* moves take no room */
    timeout_start(wheel, timeouts[0], MINUTE);
    timeout_cancel(wheel, timeouts[1]);
    timeout_start(wheel, timeouts[2], HOUR);
    assert_refused(wheel, timeouts[1], HOUR, -ENOSPC);
    assert_strikes(wheel, 2 * MINUTE, timeouts[0], 0);
    timeout_start(wheel, timeouts[1], HOUR);
    timeout_end(wheel, timeouts[2]);
    timeout_start(wheel, timeouts[3], HOUR);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    timeout_start(wheel, timeouts[4], HOUR);
    assert_refused(wheel, timeouts[0], HOUR, -ENOSPC);
    verge_wheel_cancel_all(wheel);
    timeout_start(wheel, timeouts[0], HOUR);
    timeout_end(wheel, timeouts[0]);
    timeout_end(wheel, timeouts[1]);
    timeout_end(wheel, timeouts[3]);
    timeout_end(wheel, timeouts[4]);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wheel_and_no_timeout),         cmocka_unit_test(zeroed_memory),
        cmocka_unit_test(clear_of_what_is_not_set),        cmocka_unit_test(beyond_the_range),
        cmocka_unit_test(the_past_as_the_wheel_judges_it), cmocka_unit_test(the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
