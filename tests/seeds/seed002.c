/* SPDX-License-Identifier: MIT */
/* Seed 002, alarms with a clock: its features, and faults of other implementations (README.md). */
#include "wheel/support.h"

#define PRECISION UINT64_C(1024)

/* Returns a wheel with the levels of the seed. Its ticks, which the seed calls intervals, are 1,024 ns. */
static verge_wheel *alarms(uint64_t start_ns) {
    static const uint8_t bits[] = {6, 6, 6, 6, 0};
    verge_wheel_options options = options_of(VERGE_PRESET_ALARM);
    options.start_ns = start_ns;
    assert_int_equal(verge_wheel_options_levels(&options, PRECISION, bits, 4), 0);
    return wheel_new(&options);
}

/* The number of the interval that holds a time. */
static uint64_t interval_of(const verge_wheel *wheel, uint64_t time_ns) {
    return time_ns / verge_wheel_precision(wheel);
}

static void seed002_create_with_start_precision_and_level_bits(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(5000);
    assert_int_equal(verge_wheel_start_time(wheel), 5000);
    assert_int_equal(verge_wheel_now(wheel), 5000);
    assert_int_equal(verge_wheel_precision(wheel), PRECISION);
    assert_int_equal(level_count_of(wheel), 4);
    assert_int_equal(interval_of(wheel, 5000), 4);
    assert_int_equal(interval_of(wheel, 4 * verge_wheel_precision(wheel)), 4);
    assert_int_equal(interval_of(wheel, 4 * verge_wheel_precision(wheel) - 1), 3);
    uint64_t interval = 0;
    (void)schedule(wheel, 5000, 1);
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, NULL, NULL), 0);
    assert_int_equal(interval, 4);
    wheel_end(wheel);
    verge_wheel_options options = options_of(VERGE_PRESET_ALARM);
    static const uint8_t bits[] = {6};
    assert_int_equal(verge_wheel_options_levels(&options, 1000, bits, 1), -EINVAL);
}

/* at < now for all alarms that fire. interval(at) >= interval(now) for all alarms that remain. Alarms of one interval
 * fire in one call. */
static void seed002_never_early_never_late(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(3));
    static verge_expiry out[2000];
    for (uintptr_t i = 0; i < 2000; i++) {
        (void)schedule(wheel, verge_test_below(&random, 300 * PRECISION), i);
    }
    uint64_t last_interval = 0;
    while (verge_wheel_count(wheel) > 0) {
        const uint64_t now_ns = verge_wheel_now(wheel) + verge_test_below(&random, 3 * PRECISION);
        const size_t count = verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out));
        for (size_t i = 0; i < count; i++) {
            const uint64_t interval = interval_of(wheel, out[i].deadline_ns);
            assert_true(out[i].deadline_ns < now_ns);
            assert_true(i == 0 ? interval > last_interval || last_interval == 0 : interval >= last_interval);
            last_interval = interval;
        }
        const uint64_t next_ns = verge_wheel_next_deadline(wheel);
        assert_true(interval_of(wheel, next_ns) >= interval_of(wheel, now_ns));
    }
    wheel_end(wheel);
}

static void seed002_one_interval_fires_in_one_call(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    for (uintptr_t i = 1; i <= 50; i++) {
        (void)schedule(wheel, 7 * PRECISION + (i * 37) % PRECISION, i);
    }
    assert_quiet(wheel, 8 * PRECISION - 1);
    assert_int_equal(poll_count(wheel, 8 * PRECISION), 50);
    wheel_end(wheel);
}

static void seed002_one_interval_fires_in_insertion_order(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    (void)schedule(wheel, 7 * PRECISION + 900, 1);
    (void)schedule(wheel, 7 * PRECISION + 100, 2);
    (void)schedule(wheel, 7 * PRECISION + 500, 3);
    (void)schedule(wheel, 7 * PRECISION, 4);
    ASSERT_FIRES_IN_ORDER(wheel, 8 * PRECISION, 1, 2, 3, 4);
    wheel_end(wheel);
}

static void seed002_add_at_a_time_or_an_interval(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const verge_timer at_time = schedule(wheel, 3 * PRECISION + 17, 1);
    const verge_timer at_interval = schedule(wheel, 5 * verge_wheel_precision(wheel), 2);
    assert_fires(wheel, 4 * PRECISION, at_time);
    assert_quiet(wheel, 6 * PRECISION - 1);
    assert_fires(wheel, 6 * PRECISION, at_interval);
    wheel_end(wheel);
}

static void seed002_reschedule_at_a_time_or_an_interval(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const verge_timer alarm = schedule(wheel, 3 * PRECISION, 1);
    assert_int_equal(verge_wheel_reset(wheel, alarm, 300 * PRECISION + 3), 0);
    assert_quiet(wheel, 200 * PRECISION);
    assert_int_equal(verge_wheel_reset(wheel, alarm, 210 * verge_wheel_precision(wheel)), 0);
    assert_quiet(wheel, 211 * PRECISION - 1);
    assert_fires(wheel, 211 * PRECISION, alarm);
    wheel_end(wheel);
}

static void seed002_remove_and_membership(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const verge_timer alarm = schedule(wheel, 3 * PRECISION, 1);
    verge_expiry expiry;
    assert_int_equal(verge_wheel_get(wheel, alarm, &expiry), 0);
    assert_int_equal(verge_wheel_cancel(wheel, alarm, NULL), 0);
    assert_int_equal(verge_wheel_get(wheel, alarm, &expiry), -ENOENT);
    assert_quiet(wheel, 10 * PRECISION);
    wheel_end(wheel);
}

static void seed002_time_interval_and_value_of_an_alarm(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const verge_timer alarm = schedule(wheel, 3 * PRECISION + 5, 42);
    verge_expiry expiry;
    assert_int_equal(verge_wheel_get(wheel, alarm, &expiry), 0);
    assert_int_equal(expiry.deadline_ns, 3 * PRECISION + 5);
    assert_int_equal(interval_of(wheel, expiry.deadline_ns), 3);
    assert_int_equal(number_of(expiry.data), 42);
    wheel_end(wheel);
}

static int count_visits(void *context, const verge_expiry *timer) {
    *(size_t *)context += number_of(timer->data);
    return 0;
}

static void seed002_length_empty_iterate(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    assert_int_equal(verge_wheel_count(wheel), 0);
    for (uintptr_t i = 1; i <= 10; i++) {
        (void)schedule(wheel, i * i * i * PRECISION, i);
        assert_int_equal(verge_wheel_count(wheel), i);
    }
    size_t sum = 0;
    assert_int_equal(verge_wheel_iterate(wheel, count_visits, &sum), 0);
    assert_int_equal(sum, 55);
    wheel_end(wheel);
}

static void seed002_next_alarm_fires_at(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    (void)schedule(wheel, 3 * PRECISION + 5, 1);
    assert_int_equal(verge_wheel_fires_at(wheel, verge_wheel_next_deadline(wheel)), 4 * PRECISION);
    assert_true(verge_wheel_next_wakeup(wheel) <= 4 * PRECISION);
    wheel_end(wheel);
}

static void seed002_first_interval(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    uint64_t interval = 0;
    uint64_t smallest_ns = 0;
    uint64_t largest_ns = 0;
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, &smallest_ns, &largest_ns), -ENOENT);
    (void)schedule(wheel, 500 * PRECISION + 90, 1);
    (void)schedule(wheel, 500 * PRECISION + 10, 2);
    (void)schedule(wheel, 501 * PRECISION, 3);
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, &smallest_ns, &largest_ns), 0);
    assert_int_equal(interval, 500);
    assert_int_equal(smallest_ns, 500 * PRECISION + 10);
    assert_int_equal(largest_ns, 500 * PRECISION + 90);
    wheel_end(wheel);
}

/* "Fire past alarms" fires those of the current interval with at <= now. */
static void seed002_fire_past_alarms(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    verge_expiry out[4];
    (void)schedule(wheel, 7 * PRECISION + 100, 1);
    (void)schedule(wheel, 7 * PRECISION + 200, 2);
    (void)schedule(wheel, 7 * PRECISION + 201, 3);
    assert_quiet(wheel, 7 * PRECISION + 200);
    assert_int_equal(verge_wheel_poll_exact(wheel, 7 * PRECISION + 200, out, 4), 2);
    assert_int_equal(number_of(out[0].data), 1);
    assert_int_equal(number_of(out[1].data), 2);
    ASSERT_FIRES_IN_ORDER(wheel, 8 * PRECISION, 3);
    wheel_end(wheel);
}

static void seed002_advance_but_stop_at_the_next_alarm(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    verge_expiry out[4];
    static const uint64_t intervals[] = {3, 70, 71, 5000};
    for (uintptr_t i = 0; i < COUNT_OF(intervals); i++) {
        (void)schedule(wheel, intervals[i] * PRECISION + 9, i);
    }
    for (uintptr_t i = 0; i < COUNT_OF(intervals); i++) {
        assert_int_equal(verge_wheel_poll_to_next(wheel, 10000 * PRECISION, out, 4), 1);
        assert_int_equal(number_of(out[0].data), i);
        assert_int_equal(verge_wheel_now(wheel), (intervals[i] + 1) * PRECISION);
    }
    assert_int_equal(verge_wheel_poll_to_next(wheel, 10000 * PRECISION, out, 4), 0);
    assert_int_equal(verge_wheel_now(wheel), 10000 * PRECISION);
    wheel_end(wheel);
}

static void seed002_largest_alarm_time_grows_with_now(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const uint64_t at_start_ns = verge_wheel_largest_deadline(wheel);
    verge_timer alarm = 0;
    assert_int_equal(verge_wheel_start(wheel, at_start_ns + 1, NULL, &alarm), -ERANGE);
    assert_quiet(wheel, at_start_ns / 2);
    assert_true(verge_wheel_largest_deadline(wheel) > at_start_ns);
    alarm = schedule(wheel, at_start_ns + 1, 1);
    assert_fires(wheel, verge_wheel_fires_at(wheel, at_start_ns + 1), alarm);
    wheel_end(wheel);
}

static void seed002_adding_out_of_range_changes_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    assert_quiet(wheel, 100 * PRECISION + 50);
    const verge_timer alarm = schedule(wheel, 100 * PRECISION, 1); /* in the current interval */
    const struct snapshot before = snapshot_of(wheel);
    verge_timer other = 0;
    const uint64_t too_far_ns = verge_wheel_largest_deadline(wheel) + 1;
    assert_int_equal(verge_wheel_start(wheel, 100 * PRECISION - 1, NULL, &other), -EINVAL);
    assert_int_equal(verge_wheel_reset(wheel, alarm, 100 * PRECISION - 1), -EINVAL);
    assert_int_equal(verge_wheel_start(wheel, too_far_ns, NULL, &other), -ERANGE);
    assert_int_equal(verge_wheel_reset(wheel, alarm, too_far_ns), -ERANGE);
    assert_int_equal(other, 0);
    assert_unchanged(wheel, &before);
    assert_fires(wheel, 101 * PRECISION, alarm);
    wheel_end(wheel);
}

static void seed002_clear(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    const verge_timer alarm = schedule(wheel, 10, 1);
    (void)schedule(wheel, 1000 * PRECISION, 2);
    verge_wheel_cancel_all(wheel);
    assert_int_equal(verge_wheel_count(wheel), 0);
    assert_int_equal(verge_wheel_cancel(wheel, alarm, NULL), -ENOENT);
    assert_quiet(wheel, 2000 * PRECISION);
    wheel_end(wheel);
}

static void seed002_73_years_of_nanoseconds(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_ALARM, 0);
    assert_int_equal(verge_wheel_precision(wheel), 1);
    assert_true(verge_wheel_largest_deadline(wheel) >= 73 * YEAR);
    const verge_timer alarm = schedule(wheel, 73 * YEAR, 1);
    assert_quiet(wheel, 73 * YEAR);
    assert_fires(wheel, 73 * YEAR + 1, alarm);
    wheel_end(wheel);
}

/* ---- not to be repeated: each comment describes a fault ---- */

/* Two alarms fired in the wrong order if one of them had come down a level. */
static void seed002_insertion_order_through_the_levels(void **state) {
    (void)state;
    for (uint64_t interval = 1; interval < 10000; interval = interval * 3 + 1) {
        for (uint64_t before = 1; before <= interval; before = before * 2 + 1) {
            verge_wheel *wheel = alarms(0);
            (void)schedule(wheel, interval * PRECISION + 9, 1);
            assert_quiet(wheel, (interval - before) * PRECISION);
            (void)schedule(wheel, interval * PRECISION + 3, 2);
            ASSERT_FIRES_IN_ORDER(wheel, (interval + 1) * PRECISION, 1, 2);
            wheel_end(wheel);
        }
    }
}

/* One advance fired alarms out of time order. */
static void seed002_one_advance_fires_in_time_order(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(8));
    static verge_expiry out[1000];
    for (uintptr_t i = 0; i < 1000; i++) {
        (void)schedule(wheel, verge_test_below(&random, 100000) * PRECISION, i);
    }
    assert_int_equal(verge_wheel_poll(wheel, 100001 * PRECISION, out, 1000), 1000);
    for (size_t i = 1; i < 1000; i++) {
        assert_true(out[i - 1].deadline_ns <= out[i].deadline_ns);
    }
    wheel_end(wheel);
}

static void seed002_clear_leaves_no_stale_minimum(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    (void)schedule(wheel, 10 * PRECISION, 1);
    assert_int_equal(verge_wheel_next_deadline(wheel), 10 * PRECISION);
    verge_wheel_cancel_all(wheel);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
    assert_int_equal(verge_wheel_first_interval(wheel, NULL, NULL, NULL), -ENOENT);
    (void)schedule(wheel, 500 * PRECISION, 2);
    assert_int_equal(verge_wheel_next_deadline(wheel), 500 * PRECISION);
    wheel_end(wheel);
}

/* A callback that failed took the rest of its slot with it. Here the caller may stop after any alarm. */
static void seed002_a_handler_that_stops_loses_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = alarms(0);
    verge_expiry out[1];
    for (uintptr_t i = 1; i <= 5; i++) {
        (void)schedule(wheel, 10 * PRECISION + i, i);
    }
    assert_int_equal(verge_wheel_poll(wheel, 11 * PRECISION, out, 1), 1);
    assert_int_equal(number_of(out[0].data), 1); /* its handler fails, so the caller stops here */
    assert_int_equal(verge_wheel_count(wheel), 4);
    ASSERT_FIRES_IN_ORDER(wheel, 500 * PRECISION, 2, 3, 4, 5);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed002_create_with_start_precision_and_level_bits),
        cmocka_unit_test(seed002_never_early_never_late),
        cmocka_unit_test(seed002_one_interval_fires_in_one_call),
        cmocka_unit_test(seed002_one_interval_fires_in_insertion_order),
        cmocka_unit_test(seed002_add_at_a_time_or_an_interval),
        cmocka_unit_test(seed002_reschedule_at_a_time_or_an_interval),
        cmocka_unit_test(seed002_remove_and_membership),
        cmocka_unit_test(seed002_time_interval_and_value_of_an_alarm),
        cmocka_unit_test(seed002_length_empty_iterate),
        cmocka_unit_test(seed002_next_alarm_fires_at),
        cmocka_unit_test(seed002_first_interval),
        cmocka_unit_test(seed002_fire_past_alarms),
        cmocka_unit_test(seed002_advance_but_stop_at_the_next_alarm),
        cmocka_unit_test(seed002_largest_alarm_time_grows_with_now),
        cmocka_unit_test(seed002_adding_out_of_range_changes_nothing),
        cmocka_unit_test(seed002_clear),
        cmocka_unit_test(seed002_73_years_of_nanoseconds),
        cmocka_unit_test(seed002_insertion_order_through_the_levels),
        cmocka_unit_test(seed002_one_advance_fires_in_time_order),
        cmocka_unit_test(seed002_clear_leaves_no_stale_minimum),
        cmocka_unit_test(seed002_a_handler_that_stops_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
