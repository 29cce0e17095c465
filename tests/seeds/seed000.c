/* SPDX-License-Identifier: MIT */
/* Seed 000, a three-level wheel without cascading: its features, row by row (README.md). */
#include "wheel/support.h"

#define L0_COVERAGE (UINT64_C(1) << 30)
#define L1_COVERAGE (UINT64_C(1) << 40)
#define L2_COVERAGE (UINT64_C(1) << 46)

static verge_wheel *three_level(uint64_t start_ns) {
    return wheel_of(VERGE_PRESET_THREE_LEVEL, start_ns);
}

static void seed000_three_levels_of_1024_slots(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    static const unsigned shifts[] = {20, 30, 36};
    assert_int_equal(level_count_of(wheel), 3);
    for (size_t level = 0; level < 3; level++) {
        assert_int_equal(coverage_of(wheel, level), UINT64_C(1) << (shifts[level] + 10));
        assert_int_equal(level_stats_of(wheel, level).resolution_ns, UINT64_C(1) << shifts[level]);
    }
    wheel_end(wheel);
}

static void seed000_other_tick_sizes_and_slot_counts(void **state) {
    (void)state;
    static const uint8_t bits[] = {8, 5, 9};
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    assert_int_equal(verge_wheel_options_levels(&options, 4096, bits, 3), 0);
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(verge_wheel_precision(wheel), 4096);
    assert_int_equal(coverage_of(wheel, 0), UINT64_C(4096) << 8);
    assert_int_equal(coverage_of(wheel, 2), UINT64_C(4096) << 22);
    wheel_end(wheel);
    assert_int_equal(verge_wheel_options_levels(&options, 1000, bits, 3), -EINVAL);
}

static void seed000_levels_from_a_duration(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 256, 3), 0);
    verge_wheel *wheel = wheel_new(&options);
    for (size_t level = 1; level < 3; level++) { /* each level's tick is the coverage of the one below */
        assert_int_equal(level_stats_of(wheel, level).resolution_ns, coverage_of(wheel, level - 1));
    }
    wheel_end(wheel);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1000, 3), -EINVAL);
}

static void seed000_schedule_cancel_poll(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    const verge_timer fires = schedule(wheel, 100 * MS, 1);
    const verge_timer cancelled = schedule(wheel, 100 * MS, 2);
    void *data = NULL;
    assert_int_equal(verge_wheel_cancel(wheel, cancelled, &data), 0);
    assert_int_equal(number_of(data), 2);
    verge_expiry out[10];
    assert_int_equal(verge_wheel_poll(wheel, 200 * MS, out, 10), 1);
    assert_int_equal(out[0].timer, fires);
    assert_int_equal(out[0].deadline_ns, 100 * MS);
    assert_int_equal(number_of(out[0].data), 1);
    wheel_end(wheel);
}

static void seed000_best_fit_within_range_is_the_target(void **state) {
    (void)state;
    static const uint64_t targets_ns[] = {MS, 500 * MS, SECOND, 10 * MINUTE, 19 * HOUR};
    for (int coarse = 0; coarse < 2; coarse++) {
        verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
        options.coarse = coarse != 0;
        verge_wheel *wheel = wheel_new(&options);
        for (size_t i = 0; i < COUNT_OF(targets_ns); i++) {
            verge_timer timer = 0;
            uint64_t wheel_deadline_ns = 0;
            assert_int_equal(verge_wheel_start_best_fit(wheel, targets_ns[i], NULL, &timer, &wheel_deadline_ns), 0);
            if (coarse == 0 || targets_ns[i] <= SECOND) {
                assert_int_equal(wheel_deadline_ns, targets_ns[i]);
            } else { /* the start of a slot, from which the timer goes on to the target */
                assert_in_range(wheel_deadline_ns, targets_ns[i] - (UINT64_C(1) << 36), targets_ns[i]);
            }
        }
        wheel_end(wheel);
    }
}

static void seed000_best_fit_beyond_is_the_furthest(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(HOUR);
    verge_timer timer = 0;
    uint64_t wheel_deadline_ns = 0;
    assert_int_equal(verge_wheel_start_best_fit(wheel, 7 * DAY, NULL, &timer, &wheel_deadline_ns), 0);
    assert_in_range(wheel_deadline_ns, verge_wheel_largest_deadline(wheel) - (UINT64_C(1) << 36),
                    verge_wheel_largest_deadline(wheel));
    assert_true(wheel_deadline_ns >= HOUR + L2_COVERAGE - 2 * (UINT64_C(1) << 36));
    assert_quiet(wheel, wheel_deadline_ns - 1);
    assert_fires(wheel, wheel_deadline_ns + (UINT64_C(1) << 36), timer);
    wheel_end(wheel);
}

static void seed000_best_fit_in_the_past_fires_at_the_next_poll(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    assert_quiet(wheel, HOUR);
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start_best_fit(wheel, MINUTE, NULL, &timer, NULL), 0);
    assert_fires(wheel, HOUR, timer);
    wheel_end(wheel);
}

static void seed000_long_timer_of_a_week(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    verge_long_timer week;
    verge_expiry out[4];
    assert_int_equal(verge_long_timer_start(&week, wheel, 7 * DAY, data_of(7)), 0);
    size_t legs = 0;
    for (int arrived = 0; arrived == 0; legs++) {
        while (verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 4) == 0) {
        }
        assert_int_equal(number_of(out[0].data), 7);
        arrived = verge_long_timer_fired(&week, wheel);
        assert_true(arrived >= 0);
    }
    assert_in_range(legs, 8, 16); /* legs of 19.5 hours, and then shorter ones */
    assert_true(verge_wheel_now(wheel) >= 7 * DAY);
    assert_true(verge_wheel_now(wheel) <= 7 * DAY + TICK);
    wheel_end(wheel);
}

static void seed000_queries(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    options.worker_id = 5;
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(verge_wheel_set_start_time(wheel, 3 * SECOND), 0);
    assert_int_equal(verge_wheel_start_time(wheel), 3 * SECOND);
    assert_int_equal(stats_of(wheel).worker_id, 5);
    assert_int_equal(verge_wheel_count(wheel), 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    (void)schedule(wheel, 9 * SECOND, 1);
    assert_int_equal(verge_wheel_count(wheel), 1);
    assert_int_equal(verge_wheel_next_deadline(wheel), 9 * SECOND);
    assert_quiet(wheel, 4 * SECOND);
    assert_int_equal(verge_wheel_now(wheel), 4 * SECOND);
    assert_int_equal(coverage_of(wheel, 0), L0_COVERAGE);
    assert_int_equal(coverage_of(wheel, 1), L1_COVERAGE);
    assert_int_equal(coverage_of(wheel, 2), L2_COVERAGE);
    assert_no_level(wheel, 3);
    wheel_end(wheel);
}

static void seed000_clear_and_compact(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    verge_timer timers[1000];
    for (uintptr_t i = 0; i < 1000; i++) {
        timers[i] = schedule(wheel, MS + i * MINUTE, i);
    }
    verge_wheel_compact(wheel);
    assert_int_equal(verge_wheel_count(wheel), 1000);
    verge_expiry expiry;
    assert_int_equal(verge_wheel_get(wheel, timers[999], &expiry), 0);
    verge_wheel_cancel_all(wheel);
    assert_int_equal(verge_wheel_count(wheel), 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    assert_quiet(wheel, 19 * HOUR);
    wheel_end(wheel);
}

static void seed000_memory_statistics_per_level(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    static const uint64_t deadlines_ns[] = {500 * MS, 5 * MINUTE, 10 * HOUR};
    for (size_t level = 0; level < 3; level++) {
        for (uintptr_t i = 0; i < 10; i++) {
            (void)schedule(wheel, deadlines_ns[level] + i, i);
        }
        for (size_t other = 0; other < 3; other++) {
            const verge_wheel_level_stats stats = level_stats_of(wheel, other);
            assert_int_equal(stats.active, other <= level ? 10 : 0);
            assert_true(stats.capacity >= stats.active); /* utilisation is active / capacity */
            assert_true(stats.slots >= 1024 || other > level);
        }
    }
    wheel_end(wheel);
}

static void seed000_errors(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    options.start_ns = SECOND;
    options.timer_cap = 1;
    verge_wheel *wheel = wheel_new(&options);
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start(wheel, 0, NULL, &timer), -EINVAL);
    assert_int_equal(verge_wheel_start(wheel, SECOND - 1, NULL, &timer), -EINVAL);
    assert_int_equal(verge_wheel_start(wheel, 40 * HOUR, NULL, &timer), -ERANGE);
    assert_int_equal(verge_wheel_start(wheel, UINT64_MAX, NULL, &timer), -ERANGE);
    assert_int_equal(timer, 0);
    timer = schedule(wheel, 2 * SECOND, 1);
    assert_int_equal(verge_wheel_start(wheel, 2 * SECOND, NULL, &timer), -ENOSPC);
    assert_int_equal(verge_wheel_cancel(wheel, ~timer, NULL), -EBADF);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), -ENOENT);
    wheel_end(wheel);
}

static void seed000_compaction_settings(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    assert_int_equal(options.compaction.minimum, 64);
    assert_int_equal(options.compaction.ratio, 4);
    assert_int_equal(options.compaction.multiplier, 2);
    enum { TIMERS = 200000 };
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    for (uintptr_t i = 0; i < TIMERS; i++) {
        (void)schedule(wheel, MS + i * US, i);
    }
    const size_t bytes_full = memory.bytes_in_use;
    verge_expiry out[1000];
    for (uint64_t now_ns = 0; verge_wheel_count(wheel) > 0; now_ns += TICK) {
        (void)verge_wheel_poll(wheel, now_ns, out, 1000);
    }
    for (uint64_t i = 0; i < 10000; i++) { /* nobody calls compact */
        assert_quiet(wheel, HOUR + i * TICK);
    }
    assert_true(memory.bytes_in_use < bytes_full / 2);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

static void seed000_coarse_lateness_is_the_resolution_of_the_level(void **state) {
    (void)state;
    static const struct {
        uint64_t deadline_ns, resolution_ns;
    } cases[] = {
        {900 * MS + 1, UINT64_C(1) << 20},
        {10 * MINUTE + 1, UINT64_C(1) << 30},
        {15 * HOUR + 1, UINT64_C(1) << 36},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        verge_wheel *wheel = three_level(0);
        const verge_timer timer = schedule(wheel, cases[i].deadline_ns, 1);
        assert_quiet(wheel, cases[i].deadline_ns - 1);
        assert_fires(wheel, cases[i].deadline_ns + cases[i].resolution_ns, timer);
        wheel_end(wheel);
    }
}

static void seed000_ids_are_stable(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    const verge_timer timer = schedule(wheel, 10 * HOUR, 77);
    for (uint64_t now_ns = 0; now_ns < 9 * HOUR; now_ns += MINUTE) {
        assert_quiet(wheel, now_ns);
        verge_expiry expiry;
        assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
        assert_int_equal(expiry.deadline_ns, 10 * HOUR);
    }
    void *data = NULL;
    assert_int_equal(verge_wheel_cancel(wheel, timer, &data), 0);
    assert_int_equal(number_of(data), 77);
    wheel_end(wheel);
}

static void seed000_stale_ids_are_rejected(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    const verge_timer old = schedule(wheel, 100 * MS, 1);
    assert_fires(wheel, 200 * MS, old);
    const verge_timer new = schedule(wheel, 300 * MS, 2);
    assert_int_equal(verge_wheel_cancel(wheel, old, NULL), -ENOENT);
    assert_fires(wheel, 400 * MS, new);
    wheel_end(wheel);
}

static void seed000_nothing_lost_with_a_poller_an_hour_behind(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    static bool seen[3000];
    static verge_expiry out[3000];
    memset(seen, 0, sizeof(seen));
    for (uintptr_t i = 0; i < 3000; i++) {
        (void)schedule(wheel, 1 + i * SECOND, i);
    }
    const size_t count = verge_wheel_poll(wheel, 2 * HOUR, out, 3000);
    assert_int_equal(count, 3000);
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[number_of(out[i].data)]);
        seen[number_of(out[i].data)] = true;
    }
    wheel_end(wheel);
}

static void seed000_never_early(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(9));
    for (uintptr_t i = 0; i < 2000; i++) {
        (void)schedule(wheel, 1 + (verge_test_magnitude(&random) >> 19), i);
    }
    verge_expiry out[64];
    while (verge_wheel_count(wheel) > 0) {
        const uint64_t now_ns = verge_wheel_next_wakeup(wheel);
        const size_t count = verge_wheel_poll(wheel, now_ns, out, 64);
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i].deadline_ns <= now_ns);
        }
    }
    wheel_end(wheel);
}

static void seed000_usage_example(void **state) {
    (void)state;
    verge_wheel *wheel = three_level(0);
    char fast[] = "10ms timer";
    char slow[] = "5s timer";
    verge_timer fast_timer = 0;
    verge_timer slow_timer = 0;
    assert_int_equal(verge_wheel_start(wheel, 10000000, fast, &fast_timer), 0);
    assert_int_equal(verge_wheel_start(wheel, 5000000000, slow, &slow_timer), 0);
    verge_expiry out[100];
    assert_int_equal(verge_wheel_poll(wheel, 20000000, out, 100), 1);
    assert_int_equal(out[0].timer, fast_timer);
    assert_int_equal(out[0].deadline_ns, 10000000);
    assert_ptr_equal(out[0].data, fast);
    void *data = NULL;
    assert_int_equal(verge_wheel_cancel(wheel, slow_timer, &data), 0);
    assert_ptr_equal(data, slow);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed000_three_levels_of_1024_slots),
        cmocka_unit_test(seed000_other_tick_sizes_and_slot_counts),
        cmocka_unit_test(seed000_levels_from_a_duration),
        cmocka_unit_test(seed000_schedule_cancel_poll),
        cmocka_unit_test(seed000_best_fit_within_range_is_the_target),
        cmocka_unit_test(seed000_best_fit_beyond_is_the_furthest),
        cmocka_unit_test(seed000_best_fit_in_the_past_fires_at_the_next_poll),
        cmocka_unit_test(seed000_long_timer_of_a_week),
        cmocka_unit_test(seed000_queries),
        cmocka_unit_test(seed000_clear_and_compact),
        cmocka_unit_test(seed000_memory_statistics_per_level),
        cmocka_unit_test(seed000_errors),
        cmocka_unit_test(seed000_compaction_settings),
        cmocka_unit_test(seed000_coarse_lateness_is_the_resolution_of_the_level),
        cmocka_unit_test(seed000_ids_are_stable),
        cmocka_unit_test(seed000_stale_ids_are_rejected),
        cmocka_unit_test(seed000_nothing_lost_with_a_poller_an_hour_behind),
        cmocka_unit_test(seed000_never_early),
        cmocka_unit_test(seed000_usage_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
