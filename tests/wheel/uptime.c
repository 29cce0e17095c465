/* SPDX-License-Identifier: MIT */
/* G9: a wheel may start at any time, and time may jump, stand still or go back. */
#include "wheel/support.h"

static const uint64_t starts_ns[] = {
    0,
    1,
    TICK - 1,
    TICK,
    UINT64_C(1) << 30,
    (UINT64_C(1) << 30) - 1,
    UINT64_C(1) << 36,
    (UINT64_C(1) << 36) + 12345,
    20 * HOUR,
    UINT64_C(1785542400) * SECOND, /* the time of a wall clock, in 2026 */
    (UINT64_C(1) << 52) - 1,       /* the last ns of interval 2^32 - 1 */
    UINT64_C(1) << 52,
    (UINT64_C(1) << 63) - 1,
    UINT64_C(1) << 63,
    UINT64_MAX - YEAR,
};

static const uint64_t deltas_ns[] = {
    1, TICK - 1, TICK, TICK + 1, 10 * MS, 63 * TICK, 64 * TICK, 65 * TICK, SECOND, MINUTE, 17 * MINUTE,
};

/* Starts one timer at each distance. Each fires at its tick and not before; in a coarse wheel, within 2^36 ns. */
static void assert_ticks_along(verge_wheel *wheel, bool coarse) {
    const uint64_t start_ns = verge_wheel_now(wheel);
    for (size_t i = 0; i < COUNT_OF(deltas_ns); i++) {
        const uint64_t now_ns = verge_wheel_now(wheel);
        const uint64_t deadline_ns = now_ns + deltas_ns[i];
        const verge_timer timer = schedule(wheel, deadline_ns, i);
        const uint64_t fires_ns = verge_wheel_fires_at(wheel, deadline_ns);
        assert_int_equal(verge_wheel_next_deadline(wheel), deadline_ns);
        assert_quiet(wheel, fires_ns - 1);
        if (!coarse) {
            assert_fires(wheel, fires_ns, timer);
        } else {
            assert_int_equal(poll_count(wheel, deadline_ns + (UINT64_C(1) << 36)), 1);
        }
    }
    assert_true(verge_wheel_now(wheel) > start_ns);
    assert_well(wheel);
}

static void each_preset_from_each_start(void **state) {
    (void)state;
    for (int preset = VERGE_PRESET_DEFAULT; preset <= VERGE_PRESET_YOUR_UNIT; preset++) {
        for (size_t i = 0; i < COUNT_OF(starts_ns); i++) {
            verge_wheel *wheel = wheel_of((verge_wheel_preset)preset, starts_ns[i]);
            assert_int_equal(verge_wheel_start_time(wheel), starts_ns[i]);
            assert_ticks_along(wheel, preset == VERGE_PRESET_THREE_LEVEL);
            wheel_end(wheel);
        }
    }
}

/* As above, but the start of an existing wheel is set. */
static void each_start_set_later(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    for (size_t i = COUNT_OF(starts_ns); i-- > 0;) {
        assert_int_equal(verge_wheel_set_start_time(wheel, starts_ns[i]), 0);
        assert_ticks_along(wheel, false);
    }
    wheel_end(wheel);
}

static void idle_for_years_then_a_short_timer(void **state) {
    (void)state;
    static const uint64_t idles_ns[] = {HOUR, 20 * HOUR, 30 * DAY, 50 * YEAR, 400 * YEAR};
    for (int preset = VERGE_PRESET_DEFAULT; preset <= VERGE_PRESET_YOUR_UNIT; preset++) {
        verge_wheel *wheel = wheel_of((verge_wheel_preset)preset, 0);
        for (size_t i = 0; i < COUNT_OF(idles_ns); i++) {
            assert_quiet(wheel, idles_ns[i]);
            assert_ticks_along(wheel, preset == VERGE_PRESET_THREE_LEVEL);
        }
        wheel_end(wheel);
    }
}

static void a_jump_of_years_returns_all(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 12345);
    verge_expiry out[64];
    for (uintptr_t i = 0; i < 60; i++) {
        (void)schedule(wheel, 12345 + (UINT64_C(1) << i), i);
    }
    assert_int_equal(verge_wheel_poll(wheel, 500 * YEAR, out, COUNT_OF(out)), 60);
    for (size_t i = 0; i < 60; i++) {
        assert_true(number_of(out[i].data) <= 20 || number_of(out[i].data) == i);
    }
    wheel_end(wheel);
}

static void back_in_time_counts_as_the_last_now(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, HOUR);
    const verge_timer timer = schedule(wheel, HOUR + SECOND, 1);
    assert_quiet(wheel, 0);
    assert_int_equal(verge_wheel_now(wheel), HOUR);
    assert_quiet(wheel, HOUR + SECOND - TICK);
    assert_quiet(wheel, HOUR);
    assert_int_equal(verge_wheel_now(wheel), HOUR + SECOND - TICK);
    const verge_timer past = schedule(wheel, HOUR, 2);
    assert_fires(wheel, 5, past);
    assert_fires(wheel, HOUR + SECOND + TICK, timer);
    wheel_end(wheel);
}

static void standing_still(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 7 * TICK + 3);
    for (uintptr_t i = 0; i < 1000; i++) {
        const verge_timer at_once = schedule(wheel, 7 * TICK - 1, i);
        const verge_timer cancelled = schedule(wheel, 8 * TICK, i);
        assert_fires(wheel, 7 * TICK + 3, at_once);
        assert_int_equal(verge_wheel_cancel(wheel, cancelled, NULL), 0);
    }
    wheel_end(wheel);
}

/* The last tick of time is a tick like any other. */
static void the_end_of_time(void **state) {
    (void)state;
    static const uint64_t before_end_ns[] = {4 * TICK, 4 * TICK + 1, 64 * TICK, 5000 * TICK, HOUR, 300 * YEAR};
    for (size_t i = 0; i < COUNT_OF(before_end_ns); i++) {
        const uint64_t start_ns = UINT64_MAX - before_end_ns[i];
        verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, start_ns);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        assert_true(largest_ns > UINT64_MAX - 2 * TICK && largest_ns != VERGE_NEVER);
        const uint64_t fires_ns = verge_wheel_fires_at(wheel, largest_ns);
        assert_true(fires_ns >= largest_ns && fires_ns != VERGE_NEVER);
        verge_timer timer = 0;
        assert_int_equal(verge_wheel_start(wheel, largest_ns + 1, NULL, &timer), 0); /* never comes out */
        assert_int_equal(verge_wheel_start(wheel, VERGE_NEVER, NULL, NULL), 0);
        const verge_timer last = schedule(wheel, largest_ns, 1);
        const verge_timer middle = schedule(wheel, start_ns + TICK, 2);
        assert_fires(wheel, start_ns + 2 * TICK - 1, middle);
        if (fires_ns > start_ns + 2 * TICK - 1) {
            assert_quiet(wheel, fires_ns - 1);
        }
        assert_int_equal(verge_wheel_next_deadline(wheel), largest_ns);
        assert_fires(wheel, fires_ns, last);
        assert_quiet(wheel, UINT64_MAX);
        assert_int_equal(verge_wheel_count(wheel), 2);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        /* After the last tick, a timer for the past still comes out. */
        assert_fires(wheel, UINT64_MAX, schedule(wheel, start_ns, 3));
        assert_well(wheel);
        verge_wheel_destroy(wheel);
    }
}

/* If a wheel started in the last tick, no tick would be left after the start. */
static void a_start_in_the_last_tick_is_refused(void **state) {
    (void)state;
    static const uint64_t late_ns[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - TICK / 2, UINT64_MAX - TICK + 1};
    for (size_t i = 0; i < COUNT_OF(late_ns); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.start_ns = late_ns[i];
        verge_wheel *wheel = NULL;
        assert_int_equal(verge_wheel_create(&options, &wheel), -EINVAL);
        assert_null(wheel);
        verge_wheel *moved = wheel_new(NULL);
        assert_int_equal(verge_wheel_set_start_time(moved, late_ns[i]), -EINVAL);
        assert_int_equal(verge_wheel_now(moved), 0);
        wheel_end(moved);
    }
}

/* Timers with deadlines beyond the last tick are accepted, in wheels of every order, and stay pending for ever. */
static void for_ever(void **state) {
    (void)state;
    static const uint64_t late_starts_ns[] = {0, HOUR, UINT64_MAX / 2, UINT64_MAX - HOUR};
    static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};
    for (size_t i = 0; i < COUNT_OF(late_starts_ns) * COUNT_OF(orders); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = orders[i % COUNT_OF(orders)];
        options.start_ns = late_starts_ns[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout timeouts[2] = {{{0}}};
        verge_timer timers[2];
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(verge_timeout_start(wheel, &timeouts[k], VERGE_NEVER - k), 0);
            assert_true(verge_timeout_deadline(&timeouts[k]) != VERGE_NEVER); /* it is pending */
            timers[k] = schedule(wheel, VERGE_NEVER - k, k);
        }
        assert_int_equal(verge_wheel_count(wheel), 4);
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        assert_quiet(wheel, options.start_ns + MINUTE);
        const verge_timer moved = schedule(wheel, options.start_ns + 2 * MINUTE, 5);
        const verge_timer back = schedule(wheel, VERGE_NEVER, 6);
        assert_int_equal(verge_wheel_reset(wheel, moved, VERGE_NEVER), 0);
        assert_int_equal(verge_wheel_reset(wheel, back, options.start_ns + 3 * MINUTE), 0);
        assert_fires(wheel, options.start_ns + 4 * MINUTE, back);
        assert_true(verge_wheel_next_deadline(wheel) > UINT64_MAX - 2 * TICK); /* it remembers the first deadline */
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        assert_well(wheel);
        assert_quiet(wheel, VERGE_NEVER - 1);
        assert_quiet(wheel, VERGE_NEVER);
        assert_int_equal(verge_wheel_count(wheel), 5);
        assert_int_equal(verge_timeout_cancel(wheel, &timeouts[0]), 0);
        assert_int_equal(verge_timeout_pause(wheel, &timeouts[1]), 0);
        assert_int_equal(verge_wheel_cancel(wheel, timers[0], NULL), 0);
        assert_int_equal(verge_wheel_cancel(wheel, timers[1], NULL), 0);
        assert_int_equal(verge_wheel_cancel(wheel, moved, NULL), 0);
        assert_int_equal(verge_wheel_count(wheel), 0);
        wheel_end(wheel);
    }
}

/* A coarse wheel uses its lower levels up to the last ticks of time, if a slot of an upper level would end beyond the
 * end of time. */
static void coarse_up_to_the_end(void **state) {
    (void)state;
    const uint64_t last_ns = UINT64_MAX - 2 * TICK + 1;
    static const uint64_t before_ns[] = {5 * TICK, 100 * TICK, 1023 * TICK, 1500 * TICK, HOUR, DAY};
    for (size_t i = 0; i < COUNT_OF(before_ns); i++) {
        const uint64_t start_ns = last_ns - before_ns[i];
        for (uint64_t ahead = 1; ahead < 1024 && ahead * TICK <= before_ns[i]; ahead += 1 + ahead / 4) {
            verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, start_ns);
            const uint64_t deadline_ns = start_ns + ahead * TICK;
            const verge_timer timer = schedule(wheel, deadline_ns, 1);
            assert_true(verge_wheel_largest_deadline(wheel) >= deadline_ns);
            assert_quiet(wheel, deadline_ns - 1);
            assert_fires(wheel, verge_wheel_fires_at(wheel, deadline_ns), timer); /* as in the lowest level */
            wheel_end(wheel);
        }
        verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, start_ns);
        assert_int_equal(verge_wheel_start(wheel, VERGE_NEVER, NULL, NULL), -ERANGE);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        const verge_timer largest = schedule(wheel, largest_ns, 1);
        assert_quiet(wheel, largest_ns - 1);
        assert_fires(wheel, UINT64_MAX, largest); /* a timer that was accepted comes out */
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_ever),
        cmocka_unit_test(coarse_up_to_the_end),
        cmocka_unit_test(each_preset_from_each_start),
        cmocka_unit_test(each_start_set_later),
        cmocka_unit_test(idle_for_years_then_a_short_timer),
        cmocka_unit_test(a_jump_of_years_returns_all),
        cmocka_unit_test(back_in_time_counts_as_the_last_now),
        cmocka_unit_test(standing_still),
        cmocka_unit_test(the_end_of_time),
        cmocka_unit_test(a_start_in_the_last_tick_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
