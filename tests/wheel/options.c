/* SPDX-License-Identifier: MIT */
/* Options: the presets, levels given or computed, and every way to get them wrong. */
#include "wheel/support.h"

/* Create refuses the options, and explain names the field. */
static void assert_refused_for(const verge_wheel_options *options, const char *field) {
    verge_wheel *untouched = (verge_wheel *)(uintptr_t)8;
    verge_wheel *wheel = untouched;
    char text[160] = "";
    assert_int_equal(verge_wheel_create(options, &wheel), -EINVAL);
    assert_ptr_equal(wheel, untouched);
    assert_int_equal(verge_wheel_options_explain(options, text, sizeof(text)), -EINVAL);
    if (strncmp(text, field, strlen(field)) != 0) {
        fail_msg("expected a sentence about %s: %s", field, text);
    }
    assert_true(strlen(text) < sizeof(text) - 1);
}

static void assert_accepted(const verge_wheel_options *options) {
    char text[160] = "as it was";
    assert_int_equal(verge_wheel_options_explain(options, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    verge_wheel *wheel = wheel_new(options);
    verge_timer timer = 0;
    const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    assert_int_equal(verge_wheel_start(wheel, largest_ns, NULL, &timer), 0);
    assert_int_equal(verge_wheel_start(wheel, verge_wheel_now(wheel) + 1, NULL, &timer), 0);
    assert_int_equal(poll_count(wheel, UINT64_MAX), 2);
    wheel_end(wheel);
}

static void defaults_are_the_default_preset(void **state) {
    (void)state;
    verge_wheel_options options;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), 0);
    assert_int_equal(options.struct_size, sizeof(options));
    verge_wheel *wheel = wheel_new(&options);
    verge_wheel *other = wheel_new(NULL);
    assert_int_equal(verge_wheel_precision(wheel), TICK);
    assert_int_equal(verge_wheel_precision(other), TICK);
    assert_int_equal(level_count_of(wheel), level_count_of(other));
    assert_int_equal(verge_wheel_largest_deadline(wheel), verge_wheel_largest_deadline(other));
    assert_int_equal(verge_wheel_now(other), 0);
    assert_int_equal(verge_wheel_start_time(other), 0);
    wheel_end(wheel);
    wheel_end(other);
}

static void default_covers_all_of_time(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const size_t level_count = level_count_of(wheel);
    assert_true(coverage_of(wheel, level_count - 1) >= UINT64_C(1) << 63);
    assert_no_level(wheel, level_count);
    assert_no_level(wheel, SIZE_MAX);
    assert_true(verge_wheel_largest_deadline(wheel) > UINT64_MAX - 2 * TICK);
    for (size_t i = 1; i < level_count; i++) {
        assert_true(coverage_of(wheel, i) > coverage_of(wheel, i - 1));
    }
    wheel_end(wheel);
}

static void each_preset_makes_a_wheel(void **state) {
    (void)state;
    for (int preset = VERGE_PRESET_DEFAULT; preset <= VERGE_PRESET_YOUR_UNIT; preset++) {
        verge_wheel_options options = options_of((verge_wheel_preset)preset);
        options.worker_id = 17;
        assert_accepted(&options);
        verge_wheel *wheel = wheel_new(&options);
        assert_int_equal(stats_of(wheel).worker_id, 17);
        wheel_end(wheel);
    }
}

static void preset_of_unknown_kind_or_size_is_refused(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_TWO_LEVEL);
    const verge_wheel_options before = options;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), (verge_wheel_preset)99), -EINVAL);
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), (verge_wheel_preset)-1), -EINVAL);
    assert_int_equal(verge_wheel_options_init(&options, 0, VERGE_PRESET_DEFAULT), -EINVAL);
    assert_int_equal(verge_wheel_options_init(&options, 3, VERGE_PRESET_DEFAULT), -EINVAL);
    assert_int_equal(verge_wheel_options_init(&options, SIZE_MAX, VERGE_PRESET_DEFAULT), -EINVAL);
    assert_memory_equal(&options, &before, sizeof(options));
    assert_int_equal(verge_wheel_options_init(NULL, sizeof(verge_wheel_options), VERGE_PRESET_DEFAULT), -EINVAL);
}

static void unknown_size_is_refused(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 2 * sizeof(verge_wheel_options), SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        verge_wheel_options options[2] = {options_of(VERGE_PRESET_DEFAULT), options_of(VERGE_PRESET_DEFAULT)};
        options[0].struct_size = sizes[i];
        assert_refused_for(options, "struct_size"); /* of a larger size: options[1] stands for unknown fields */
    }
    verge_wheel_options newer[2] = {options_of(VERGE_PRESET_DEFAULT)};
    newer[0].struct_size = sizeof(newer);
    assert_accepted(newer);
}

static void precision_is_a_power_of_two(void **state) {
    (void)state;
    static const uint64_t wrong[] = {0, 3, 1000, TICK + 1, TICK - 1, UINT64_MAX, (UINT64_C(1) << 63) + 1};
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        options.precision_ns = wrong[i];
        assert_refused_for(&options, "precision_ns");
    }
    for (unsigned shift = 0; shift < 62; shift++) {
        options.precision_ns = UINT64_C(1) << shift;
        assert_accepted(&options);
    }
}

struct level_case {
    size_t level_count;
    verge_wheel_level levels[4];
};

static verge_wheel_options options_of_case(const struct level_case *one) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 0; /* 0: the slot width of the lowest level */
    options.level_count = one->level_count;
    memcpy(options.levels, one->levels, sizeof(one->levels));
    return options;
}

static void levels_that_do_not_fit_together_are_refused(void **state) {
    (void)state;
    static const struct level_case wrong[] = {
        {2, {{10, 4}, {10, 6}}},        /* the shift does not rise */
        {2, {{10, 4}, {9, 8}}},         /* it falls */
        {2, {{10, 4}, {15, 4}}},        /* a gap */
        {3, {{0, 6}, {6, 6}, {13, 6}}}, /* a gap higher up */
        {2, {{10, 6}, {12, 4}}},        /* no range added */
        {2, {{10, 6}, {12, 3}}},        /* less range than below */
        {1, {{10, 0}}},                 /* no slots */
        {2, {{10, 4}, {14, 0}}},        /* no slots higher up */
        {1, {{10, 15}}},                /* too many slots */
        {1, {{10, 255}}},               /* far too many */
        {1, {{64, 1}}},                 /* a shift beyond 63 */
        {1, {{255, 6}}},                /* far beyond */
        {1, {{60, 6}}},                 /* a reach beyond 2^64 */
        {2, {{52, 10}, {62, 3}}},       /* a reach beyond 2^64 higher up */
        {VERGE_LEVEL_COUNT_MAX + 1, {{0, 1}}},
        {SIZE_MAX, {{0, 1}}},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const verge_wheel_options options = options_of_case(&wrong[i]);
        assert_refused_for(&options, "level");
    }
}

static void levels_that_fit_together_are_accepted(void **state) {
    (void)state;
    static const struct level_case right[] = {
        {1, {{0, 1}}},
        {1, {{0, 14}}},
        {1, {{20, 10}}},
        {2, {{0, 1}, {1, 1}}},
        {2, {{10, 4}, {14, 1}}},
        {2, {{10, 4}, {11, 4}}}, /* the levels overlap, and the upper one reaches one bit further */
        {3, {{20, 10}, {30, 10}, {36, 10}}},
        {4, {{0, 6}, {6, 6}, {12, 6}, {18, 6}}},
    };
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        verge_wheel_options options = options_of_case(&right[i]);
        assert_accepted(&options);
        options.coarse = true;
        options.strict = true;
        options.order = VERGE_ORDER_DEADLINE;
        assert_accepted(&options);
    }
}

static void sixteen_levels_reach_the_end_of_time(void **state) {
    (void)state;
    static const uint8_t bits[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0};
    const verge_wheel_options options = options_of_levels(1, bits);
    assert_accepted(&options);
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(coverage_of(wheel, 0), 16);
    assert_int_equal(coverage_of(wheel, 14), UINT64_C(1) << 60);
    assert_int_equal(coverage_of(wheel, 15), VERGE_NEVER);
    wheel_end(wheel);
}

/* At first, the calendar is narrow. After a reserve, it has the levels of the options. */
static void levels_of_one_width_reach_the_end_of_time(void **state) {
    (void)state;
    for (uint8_t width = 1; width <= 14; width++) {
        for (size_t count = 1; count <= VERGE_LEVEL_COUNT_MAX && count * width <= 64; count++) {
            uint8_t bits[VERGE_LEVEL_COUNT_MAX + 1] = {0};
            memset(bits, width, count);
            const verge_wheel_options options = options_of_levels(1, bits);
            verge_wheel *wheel = wheel_new(&options);
            for (size_t timers = 0; timers < 2; timers++) {
                const uint64_t last_ns = verge_wheel_largest_deadline(wheel);
                const verge_timer timer = schedule(wheel, last_ns, 1);
                assert_well(wheel);
                assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
                assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0);
            }
            wheel_end(wheel);
        }
    }
}

static void compaction_settings_make_sense(void **state) {
    (void)state;
    static const verge_wheel_compaction wrong[] = {{64, 0, 2}, {64, 4, 0}, {64, 4, 4}, {64, 2, 3}, {0, 0, 0}};
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        options.compaction = wrong[i];
        assert_refused_for(&options, "compaction");
    }
    options.compaction = (verge_wheel_compaction){0, 2, 1};
    assert_accepted(&options);
}

static void unknown_order_and_past_are_refused(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = (verge_order)3;
    assert_refused_for(&options, "order");
    options = options_of(VERGE_PRESET_DEFAULT);
    options.past = (verge_past)7;
    assert_refused_for(&options, "past");
}

/* Where the levels of each preset end: bit numbers of a time in nanoseconds. */
static void levels_of_the_presets(void **state) {
    (void)state;
    static const struct {
        verge_wheel_preset preset;
        size_t level_count;
        uint8_t ends[8];
    } presets[] = {
        {VERGE_PRESET_DEFAULT, 7, {29, 37, 43, 49, 55, 61, 64}},
        {VERGE_PRESET_THREE_LEVEL, 3, {30, 40, 46}},
        {VERGE_PRESET_TWO_LEVEL, 2, {30, 40}},
        {VERGE_PRESET_ALARM, 6, {11, 21, 31, 41, 51, 61}},
        {VERGE_PRESET_RUNTIME, 7, {26, 32, 38, 44, 50, 56, 62}},
    };
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
        verge_wheel *wheel = wheel_of(presets[i].preset, 0);
        assert_int_equal(level_count_of(wheel), presets[i].level_count);
        for (size_t k = 0; k < presets[i].level_count; k++) {
            const uint64_t reach = presets[i].ends[k] < 64 ? UINT64_C(1) << presets[i].ends[k] : UINT64_MAX;
            assert_int_equal(coverage_of(wheel, k), reach);
        }
        wheel_end(wheel);
    }
}

static void levels_from_bits(void **state) {
    (void)state;
    static const uint8_t bits[] = {3, 5, 2};
    static const uint8_t no_bits[] = {3, 0, 2};
    static const uint8_t many_bits[] = {15};
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.levels[3] = (verge_wheel_level){.shift = 77, .bits = 78};
    assert_int_equal(verge_wheel_options_levels(&options, 1024, bits, 3), 0);
    assert_int_equal(options.levels[3].shift, 77); /* entries beyond level_count stay as they were */
    assert_int_equal(options.levels[3].bits, 78);
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(level_count_of(wheel), 3);
    assert_int_equal(verge_wheel_precision(wheel), 1024);
    assert_int_equal(coverage_of(wheel, 0), 1024U << 3);
    assert_int_equal(coverage_of(wheel, 1), 1024U << 8);
    assert_int_equal(coverage_of(wheel, 2), 1024U << 10);
    wheel_end(wheel);

    const verge_wheel_options before = options;
    assert_int_equal(verge_wheel_options_levels(NULL, 1024, bits, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1024, NULL, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1000, bits, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 0, bits, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1024, no_bits, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1024, many_bits, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1024, bits, VERGE_LEVEL_COUNT_MAX + 1), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, UINT64_C(1) << 60, bits, 3), -EINVAL);
    assert_memory_equal(&options, &before, sizeof(options));
}

static void levels_from_a_duration(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    /* The precision is rounded up to 2^20 ns. */
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1024, 3), 0);
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(verge_wheel_precision(wheel), TICK);
    assert_int_equal(coverage_of(wheel, 0), TICK << 10);
    assert_int_equal(coverage_of(wheel, 1), TICK << 20);
    assert_int_equal(coverage_of(wheel, 2), TICK << 30);
    wheel_end(wheel);
    /* A precision that is a power of two stays. */
    assert_int_equal(verge_wheel_options_from_duration(&options, 1024, 2, 1), 0);
    wheel = wheel_new(&options);
    assert_int_equal(verge_wheel_precision(wheel), 1024);
    wheel_end(wheel);

    const verge_wheel_options before = options;
    assert_int_equal(verge_wheel_options_from_duration(NULL, MS, 64, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, 0, 64, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 0, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1000, 3), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1U << 15, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 1024, 5), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, MS, 2, VERGE_LEVEL_COUNT_MAX + 1), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, UINT64_MAX, 2, 1), -EINVAL);
    assert_memory_equal(&options, &before, sizeof(options));
}

static void timers_may_be_capped(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.timer_cap = 3;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer first = schedule(wheel, SECOND, 1);
    (void)schedule(wheel, 2 * SECOND, 2);
    (void)schedule(wheel, 0, 3);
    const struct snapshot before = snapshot_of(wheel);
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start(wheel, SECOND, NULL, &timer), -ENOSPC);
    assert_int_equal(verge_wheel_start_window(wheel, SECOND, 2 * SECOND, NULL, &timer), -ENOSPC);
    assert_int_equal(verge_wheel_start_best_fit(wheel, SECOND, NULL, &timer, NULL), -ENOSPC);
    assert_int_equal(verge_wheel_reserve(wheel, 1, 0), -ENOSPC);
    assert_int_equal(timer, 0);
    assert_unchanged(wheel, &before);
    assert_int_equal(verge_wheel_reset(wheel, first, 3 * SECOND), 0);
    assert_int_equal(poll_count(wheel, TICK), 1);
    (void)schedule(wheel, SECOND, 4);
    assert_int_equal(verge_wheel_cancel(wheel, first, NULL), 0);
    assert_int_equal(verge_wheel_reserve(wheel, 1, 0), 0);
    assert_int_equal(verge_wheel_reserve(wheel, SIZE_MAX, 0), -ENOSPC);
    (void)schedule(wheel, SECOND, 5);
    assert_int_equal(verge_wheel_start(wheel, SECOND, NULL, &timer), -ENOSPC);
    wheel_end(wheel);
}

/* A timer that is moved later keeps its place, also in these wheels: its node comes up at the old time. */
static void a_cap_and_a_refused_past_keep_places(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.timer_cap = kind == 1 ? 0 : 2;
        options.past = kind == 0 ? VERGE_PAST_FIRES : VERGE_PAST_REJECTED;
        verge_wheel *wheel = wheel_new(&options);
        const verge_timer timer = schedule(wheel, 10 * TICK, 1);
        verge_timeout timeout = {{0}};
        assert_int_equal(verge_timeout_start(wheel, &timeout, 10 * TICK), 0);
        assert_int_equal(verge_wheel_reset(wheel, timer, 20 * TICK), 0);
        assert_int_equal(verge_timeout_start(wheel, &timeout, 30 * TICK), 0);
        assert_int_equal(stats_of(wheel).nodes_refiled, 0);
        assert_int_equal(poll_count(wheel, 10 * TICK), 0);
        assert_int_equal(stats_of(wheel).nodes_refiled, 2);
        verge_timeout more = {{0}};
        assert_int_equal(verge_timeout_start(wheel, &more, 40 * TICK), options.timer_cap == 0 ? 0 : -ENOSPC);
        assert_int_equal(verge_wheel_reset(wheel, timer, 9 * TICK), kind == 0 ? 0 : -EINVAL);
        assert_int_equal(poll_count(wheel, 20 * TICK), 1);
        assert_int_equal(poll_count(wheel, 30 * TICK), 1);
        verge_wheel_cancel_all(wheel);
        wheel_end(wheel);
    }
}

static void what_makes_no_levels_is_refused(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    uint8_t bits[VERGE_LEVEL_COUNT_MAX + 1];
    memset(bits, 1, sizeof(bits));
    assert_int_equal(verge_wheel_options_levels(&options, 1, bits, 0), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1, bits, VERGE_LEVEL_COUNT_MAX + 1), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1, bits, VERGE_LEVEL_COUNT_MAX), 0);
    assert_int_equal(verge_wheel_options_levels(&options, 3, bits, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(&options, 1, NULL, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_levels(NULL, 1, bits, 1), -EINVAL);
    const uint64_t half_of_time = UINT64_C(1) << 63;
    assert_int_equal(verge_wheel_options_from_duration(&options, 0, 64, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, half_of_time + 1, 2, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, half_of_time, 2, 1), 0);
    assert_int_equal(verge_wheel_options_from_duration(&options, 1, 3, 1), -EINVAL);
    assert_int_equal(verge_wheel_options_from_duration(&options, 1, 2, VERGE_LEVEL_COUNT_MAX + 1), -EINVAL);
}

static void half_an_allocator_is_refused(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    verge_allocator allocator = *verge_allocator_default();
    options.allocator = &allocator;
    allocator.allocate = NULL;
    assert_refused_for(&options, "allocator has no function to allocate");
    allocator = *verge_allocator_default();
    allocator.release = NULL;
    assert_refused_for(&options, "allocator has no function to release");
}

static void what_explain_says(void **state) {
    (void)state;
    static const struct {
        struct level_case levels;
        const char *text;
    } cases[] = {
        {{2, {{10, 4}, {10, 6}}}, "levels[1].shift is 10: it has to be greater than the 10 of the level below"},
        {{2, {{10, 4}, {15, 4}}}, "levels[1].shift is 15: a slot is wider than the level below, which covers 2^14 ns"},
        {{2, {{10, 6}, {12, 4}}}, "levels[1] covers 2^16 ns, which is no more than the level below"},
        {{1, {{10, 15}}}, "levels[0].bits is 15: it has to be from 1 to 14 (VERGE_LEVEL_BITS_MAX)"},
        {{1, {{60, 6}}}, "levels[0]: shift 60 and bits 6 add up to 66, but time has 64 bits"},
    };
    char text[160];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const verge_wheel_options options = options_of_case(&cases[i].levels);
        assert_int_equal(verge_wheel_options_explain(&options, text, sizeof(text)), -EINVAL);
        assert_string_equal(text, cases[i].text);
    }
    verge_wheel_options options = options_of(VERGE_PRESET_TWO_LEVEL);
    options.precision_ns = 1 << 21;
    assert_refused_for(&options, "precision_ns is 2097152: with levels it has to be 0, or 2^20");
    options = options_of(VERGE_PRESET_DEFAULT);
    options.start_ns = VERGE_NEVER;
    assert_refused_for(&options, "start_ns");
    options.precision_ns = 1000000;
    assert_int_equal(verge_wheel_options_explain(&options, text, 13), -EINVAL);
    assert_string_equal(text, "precision_ns");
    assert_int_equal(verge_wheel_options_explain(&options, NULL, 0), -EINVAL);
    assert_int_equal(verge_wheel_options_explain(NULL, text, sizeof(text)), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_default_preset),
        cmocka_unit_test(default_covers_all_of_time),
        cmocka_unit_test(each_preset_makes_a_wheel),
        cmocka_unit_test(preset_of_unknown_kind_or_size_is_refused),
        cmocka_unit_test(unknown_size_is_refused),
        cmocka_unit_test(precision_is_a_power_of_two),
        cmocka_unit_test(levels_that_do_not_fit_together_are_refused),
        cmocka_unit_test(levels_that_fit_together_are_accepted),
        cmocka_unit_test(sixteen_levels_reach_the_end_of_time),
        cmocka_unit_test(levels_of_one_width_reach_the_end_of_time),
        cmocka_unit_test(compaction_settings_make_sense),
        cmocka_unit_test(unknown_order_and_past_are_refused),
        cmocka_unit_test(levels_of_the_presets),
        cmocka_unit_test(levels_from_bits),
        cmocka_unit_test(levels_from_a_duration),
        cmocka_unit_test(timers_may_be_capped),
        cmocka_unit_test(a_cap_and_a_refused_past_keep_places),
        cmocka_unit_test(what_makes_no_levels_is_refused),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(what_explain_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
