/* SPDX-License-Identifier: MIT */
/* Seed 001, two levels with cascading: its features, and faults of other implementations (README.md). */
#include "wheel/support.h"

static verge_wheel *two_level(uint64_t start_ns) {
    return wheel_of(VERGE_PRESET_TWO_LEVEL, start_ns);
}

static void seed001_two_levels_of_1024_slots(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    assert_int_equal(level_count_of(wheel), 2);
    assert_int_equal(level_stats_of(wheel, 0).resolution_ns, UINT64_C(1) << 20);
    assert_int_equal(level_stats_of(wheel, 1).resolution_ns, UINT64_C(1) << 30);
    assert_int_equal(coverage_of(wheel, 0), UINT64_C(1) << 30);
    assert_int_equal(coverage_of(wheel, 1), UINT64_C(1) << 40);
    wheel_end(wheel);
}

static void seed001_timers_of_10_ms_to_18_minutes(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(123 * SECOND + 456);
    for (uint64_t delta_ns = 10 * MS; delta_ns <= 18 * MINUTE; delta_ns += delta_ns / 3) {
        const uint64_t deadline_ns = verge_wheel_now(wheel) + delta_ns;
        const verge_timer timer = schedule(wheel, deadline_ns, 1);
        assert_quiet(wheel, deadline_ns - 1);
        assert_fires(wheel, deadline_ns + TICK - 1, timer);
    }
    wheel_end(wheel);
}

/* The seed has a single-wheel type. Here it is a wheel of one level. */
static void seed001_a_wheel_of_one_level(void **state) {
    (void)state;
    static const uint8_t bits[] = {10, 0};
    const verge_wheel_options options = options_of_levels(TICK, bits);
    verge_wheel *wheel = wheel_new(&options);
    for (int round = 0; round < 5; round++) {
        const uint64_t now_ns = verge_wheel_now(wheel);
        for (uintptr_t i = 1; i < 1000; i++) {
            (void)schedule(wheel, now_ns + i * TICK, i);
        }
        verge_timer timer = 0;
        assert_int_equal(verge_wheel_start(wheel, now_ns + 3000 * TICK, NULL, &timer), -ERANGE);
        for (uintptr_t i = 1; i < 1000; i++) {
            ASSERT_FIRES_IN_ORDER(wheel, now_ns + i * TICK, i);
        }
    }
    wheel_end(wheel);
}

static void seed001_cascade_comes_before_poll_with_the_limit(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    verge_expiry out[4];
    for (uintptr_t i = 0; i < 10; i++) {
        (void)schedule(wheel, 5 * SECOND + i * TICK, i);
    }
    /* One poll moves them down and returns the first of them. The others follow in order. */
    uintptr_t next = 0;
    while (next < 10) {
        const size_t count = verge_wheel_poll(wheel, 6 * SECOND, out, 4);
        assert_int_equal(count, 10 - next < 4 ? 10 - next : 4);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(number_of(out[i].data), next++);
        }
    }
    wheel_end(wheel);
}

static void seed001_next_deadline_is_the_minimum_over_both(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    const verge_timer far = schedule(wheel, 5 * MINUTE, 1);
    assert_int_equal(verge_wheel_next_deadline(wheel), 5 * MINUTE);
    const verge_timer near = schedule(wheel, 100 * MS, 2);
    assert_int_equal(verge_wheel_next_deadline(wheel), 100 * MS);
    assert_int_equal(verge_wheel_cancel(wheel, near, NULL), 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), 5 * MINUTE);
    assert_int_equal(verge_wheel_cancel(wheel, far, NULL), 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    wheel_end(wheel);
}

static void seed001_cancel_finds_the_timer_in_either(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    static const uint64_t deadlines_ns[] = {500 * MS, 10 * MINUTE};
    for (uintptr_t i = 0; i < 2; i++) {
        const verge_timer timer = schedule(wheel, deadlines_ns[i], i);
        void *data = NULL;
        assert_int_equal(verge_wheel_cancel(wheel, timer, &data), 0);
        assert_int_equal(number_of(data), i);
    }
    assert_quiet(wheel, HOUR);
    wheel_end(wheel);
}

static void seed001_memory_when_empty_or_lightly_used(void **state) {
    (void)state;
    enum { WORKERS = 8, WHEEL_BYTES_MAX = 770000, ALL_BYTES_MAX = 6200000 };
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_of(VERGE_PRESET_TWO_LEVEL);
    options.allocator = &memory.allocator;
    verge_wheel *wheels[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        wheels[i] = wheel_new(&options);
        assert_true(stats_of(wheels[i]).bytes <= WHEEL_BYTES_MAX);
        for (uintptr_t j = 0; j < 1000; j++) {
            (void)schedule(wheels[i], j * SECOND, j);
        }
        assert_true(stats_of(wheels[i]).bytes <= WHEEL_BYTES_MAX);
    }
    assert_true(memory.bytes_in_use <= ALL_BYTES_MAX);
    for (size_t i = 0; i < WORKERS; i++) {
        wheel_end(wheels[i]);
    }
    verge_test_allocator_assert_empty(&memory);
}

/* ---- the tests that came with the seed (its seventh is the whole suite) ---- */

static void seed001_below_one_second_goes_to_level_0(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0); /* for fewer timers, a level has fewer slots */
    (void)schedule(wheel, 999 * MS, 1);
    assert_int_equal(level_stats_of(wheel, 0).active, 1);
    assert_int_equal(level_stats_of(wheel, 1).active, 0);
    wheel_end(wheel);
}

static void seed001_above_one_second_goes_to_level_1(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    (void)schedule(wheel, 3 * SECOND, 1);
    assert_int_equal(level_stats_of(wheel, 0).active, 0);
    assert_int_equal(level_stats_of(wheel, 1).active, 1);
    wheel_end(wheel);
}

static void seed001_cascade_happens_at_the_right_time(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    (void)schedule(wheel, 100 * SECOND, 1);
    assert_quiet(wheel, 98 * SECOND - 2 * (UINT64_C(1) << 30));
    assert_int_equal(level_stats_of(wheel, 1).active, 1); /* too early for the timer to move down */
    for (uint64_t now_ns = 97 * SECOND; now_ns < 100 * SECOND; now_ns += TICK) {
        assert_quiet(wheel, now_ns);
    }
    assert_int_equal(level_stats_of(wheel, 1).active, 0);
    assert_int_equal(level_stats_of(wheel, 0).active, 1);
    assert_true(stats_of(wheel).nodes_moved > 0);
    wheel_end(wheel);
}

static void seed001_a_cascaded_timer_fires_at_its_deadline(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    const verge_timer timer = schedule(wheel, 100 * SECOND + 1, 1);
    const uint64_t fires_ns = verge_wheel_fires_at(wheel, 100 * SECOND + 1);
    for (uint64_t now_ns = 0; now_ns < fires_ns; now_ns += TICK) {
        assert_quiet(wheel, now_ns);
    }
    assert_fires(wheel, fires_ns, timer);
    wheel_end(wheel);
}

static void seed001_a_mix_of_both_levels(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    verge_expiry out[64];
    struct verge_test_random random = verge_test_random_from(verge_test_seed(2));
    for (uintptr_t i = 0; i < 2000; i++) {
        (void)schedule(wheel, 10 * MS + verge_test_below(&random, i % 2 == 0 ? SECOND : 17 * MINUTE), i);
    }
    size_t total = 0;
    for (uint64_t now_ns = 0; now_ns < 18 * MINUTE; now_ns += 4 * TICK) {
        const size_t count = verge_wheel_poll(wheel, now_ns, out, 64);
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i].deadline_ns <= now_ns && out[i].deadline_ns + 5 * TICK > now_ns);
        }
        total += count;
    }
    assert_int_equal(total, 2000);
    wheel_end(wheel);
}

static void seed001_the_ticking_example_keeps_working(void **state) {
    (void)state;
    verge_wheel *wheel = two_level(0);
    const uint64_t period_ns = 100 * MS;
    uint64_t next_ns = period_ns;
    (void)schedule(wheel, next_ns, 1);
    uint64_t ticks = 0;
    for (uint64_t now_ns = 0; now_ns <= 60 * SECOND; now_ns += MS) {
        if (poll_count(wheel, now_ns) == 1) {
            ticks++;
            assert_true(now_ns - next_ns <= 2 * TICK);
            next_ns += period_ns;
            (void)schedule(wheel, next_ns, 1);
        }
    }
    assert_in_range(ticks, 599, 600);
    wheel_end(wheel);
}

/* ---- not to be repeated: each comment describes a fault ---- */

/* Ids changed on a cascade: cancel failed, and the timer still fired. */
static void seed001_ids_survive_a_cascade(void **state) {
    (void)state;
    for (uint64_t ticks_before = 0; ticks_before < 3000; ticks_before += 7) {
        verge_wheel *wheel = two_level(0);
        const verge_timer timer = schedule(wheel, 100 * SECOND, 9);
        assert_quiet(wheel, 100 * SECOND - (ticks_before + 1) * TICK);
        void *data = NULL;
        assert_int_equal(verge_wheel_cancel(wheel, timer, &data), 0);
        assert_int_equal(number_of(data), 9);
        assert_quiet(wheel, 200 * SECOND);
        wheel_end(wheel);
    }
}

/* A timer whose deadline was later inside the polled tick waited for a whole rotation. */
static void seed001_a_deadline_later_inside_the_polled_tick(void **state) {
    (void)state;
    for (uint64_t later_ns = 1; later_ns < TICK; later_ns = later_ns * 3 + 1) {
        verge_wheel *wheel = two_level(0);
        const uint64_t now_ns = 50 * TICK + 5;
        assert_quiet(wheel, now_ns);
        const verge_timer timer = schedule(wheel, 50 * TICK + (5 + later_ns) % TICK, 1);
        assert_quiet(wheel, now_ns);
        assert_fires(wheel, 51 * TICK, timer);
        wheel_end(wheel);
    }
}

/* A cascade dropped timers when the target slot was full. */
static void seed001_a_cascade_drops_nothing(void **state) {
    (void)state;
    const size_t count = test_scaled(100000);
    verge_expiry *out = calloc(count, sizeof(*out));
    assert_non_null(out);
    verge_wheel *wheel = two_level(0);
    for (uintptr_t i = 0; i < count; i++) { /* all of them into one slot of the lowest level */
        (void)schedule(wheel, 60 * SECOND, i);
    }
    assert_quiet(wheel, 60 * SECOND - TICK);
    assert_int_equal(verge_wheel_poll(wheel, 60 * SECOND + TICK, out, count), count);
    free(out);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed001_two_levels_of_1024_slots),
        cmocka_unit_test(seed001_timers_of_10_ms_to_18_minutes),
        cmocka_unit_test(seed001_a_wheel_of_one_level),
        cmocka_unit_test(seed001_cascade_comes_before_poll_with_the_limit),
        cmocka_unit_test(seed001_next_deadline_is_the_minimum_over_both),
        cmocka_unit_test(seed001_cancel_finds_the_timer_in_either),
        cmocka_unit_test(seed001_memory_when_empty_or_lightly_used),
        cmocka_unit_test(seed001_below_one_second_goes_to_level_0),
        cmocka_unit_test(seed001_above_one_second_goes_to_level_1),
        cmocka_unit_test(seed001_cascade_happens_at_the_right_time),
        cmocka_unit_test(seed001_a_cascaded_timer_fires_at_its_deadline),
        cmocka_unit_test(seed001_a_mix_of_both_levels),
        cmocka_unit_test(seed001_the_ticking_example_keeps_working),
        cmocka_unit_test(seed001_ids_survive_a_cascade),
        cmocka_unit_test(seed001_a_deadline_later_inside_the_polled_tick),
        cmocka_unit_test(seed001_a_cascade_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
