/* SPDX-License-Identifier: MIT */
/* Arguments that make no sense cause an error, or a result that the header states. They never cause a crash or a
 * change. */
#include "wheel/support.h"

static int visit_nothing(void *context, const verge_expiry *timer) {
    (void)context;
    (void)timer;
    return 1;
}

static void null_wheel(void **state) {
    (void)state;
    verge_timer timer = 0;
    verge_expiry expiry;
    void *data = NULL;
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    verge_wheel_level_stats level_stats = {.struct_size = sizeof(level_stats)};
    assert_int_equal(verge_wheel_create(NULL, NULL), -EINVAL);
    verge_wheel_destroy(NULL);
    verge_wheel_cancel_all(NULL);
    verge_wheel_compact(NULL);
    assert_int_equal(verge_wheel_reserve(NULL, 1, 0), -EINVAL);
    assert_int_equal(verge_wheel_reserve(NULL, 0, 1), -EINVAL);
    assert_int_equal(verge_wheel_start(NULL, 1, NULL, &timer), -EINVAL);
    assert_int_equal(verge_wheel_start_window(NULL, 1, 2, NULL, &timer), -EINVAL);
    assert_int_equal(verge_wheel_start_best_fit(NULL, 1, NULL, &timer, NULL), -EINVAL);
    assert_int_equal(verge_wheel_reset(NULL, 1, 1), -EINVAL);
    assert_int_equal(verge_wheel_start_or_reset(NULL, &timer, 1, NULL), -EINVAL);
    assert_int_equal(verge_wheel_cancel(NULL, 1, &data), -EINVAL);
    assert_int_equal(verge_wheel_get(NULL, 1, &expiry), -EINVAL);
    assert_int_equal(verge_wheel_poll(NULL, 1, &expiry, 1), 0);
    assert_int_equal(verge_wheel_poll_exact(NULL, 1, &expiry, 1), 0);
    assert_int_equal(verge_wheel_poll_to_next(NULL, 1, &expiry, 1), 0);
    assert_int_equal(verge_wheel_set_start_time(NULL, 1), -EINVAL);
    assert_int_equal(verge_wheel_first_interval(NULL, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(verge_wheel_iterate(NULL, visit_nothing, NULL), -EINVAL);
    assert_int_equal(verge_wheel_get_stats(NULL, &stats), -EINVAL);
    assert_int_equal(verge_wheel_get_level_stats(NULL, 0, &level_stats), -EINVAL);
    assert_int_equal(timer, 0);
}

/* The header states no result for queries of a NULL wheel, but they must not crash. */
static void null_wheel_queries(void **state) {
    (void)state;
    assert_false(verge_wheel_has_backlog(NULL));
    assert_int_equal(verge_wheel_next_wakeup(NULL), VERGE_NEVER);
    assert_int_equal(verge_wheel_next_deadline(NULL), VERGE_NEVER);
    assert_int_equal(verge_wheel_count(NULL), 0);
    (void)verge_wheel_fires_at(NULL, 1);
    (void)verge_wheel_now(NULL);
    (void)verge_wheel_start_time(NULL);
    (void)verge_wheel_precision(NULL);
    (void)verge_wheel_largest_deadline(NULL);
    (void)verge_wheel_check(NULL);
}

static void null_results(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, SECOND, 1);
    const struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_wheel_get(wheel, timer, NULL), -EINVAL);
    assert_int_equal(verge_wheel_get_stats(wheel, NULL), -EINVAL);
    assert_int_equal(verge_wheel_get_level_stats(wheel, 0, NULL), -EINVAL);
    assert_int_equal(verge_wheel_iterate(wheel, NULL, NULL), -EINVAL);
    assert_int_equal(verge_wheel_first_interval(wheel, NULL, NULL, NULL), 0);
    assert_unchanged(wheel, &before);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    wheel_end(wheel);
}

static void statistics_of_unknown_size(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    static const size_t sizes[] = {0, 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        verge_wheel_stats stats = {.struct_size = sizes[i], .timers = 77};
        assert_int_equal(verge_wheel_get_stats(wheel, &stats), -EINVAL);
        assert_int_equal(stats.timers, 77);
        verge_wheel_level_stats level_stats = {.struct_size = sizes[i], .slots = 77};
        assert_int_equal(verge_wheel_get_level_stats(wheel, 0, &level_stats), -EINVAL);
        assert_int_equal(level_stats.slots, 77);
    }
    verge_wheel_level_stats level_stats = {.struct_size = sizeof(level_stats), .slots = 77};
    const size_t level_count = level_count_of(wheel);
    assert_int_equal(verge_wheel_get_level_stats(wheel, level_count, &level_stats), -EINVAL);
    assert_int_equal(verge_wheel_get_level_stats(wheel, SIZE_MAX, &level_stats), -EINVAL);
    assert_int_equal(level_stats.slots, 77);
    wheel_end(wheel);
}

/* start, start_window and reset return the same error for a deadline, and change nothing. So does start_best_fit,
 * except for -ERANGE. */
static void assert_deadline_refused(verge_wheel *wheel, verge_timer pending, uint64_t deadline_ns, int expected) {
    const struct snapshot before = snapshot_of(wheel);
    verge_timer timer = 0;
    uint64_t wheel_deadline_ns = 77;
    verge_expiry expiry;
    verge_expiry expiry_after;
    assert_int_equal(verge_wheel_get(wheel, pending, &expiry), 0);
    assert_int_equal(verge_wheel_start(wheel, deadline_ns, NULL, &timer), expected);
    assert_int_equal(verge_wheel_start_window(wheel, deadline_ns, deadline_ns, NULL, &timer), expected);
    assert_int_equal(verge_wheel_reset(wheel, pending, deadline_ns), expected);
    if (expected == -EINVAL) {
        assert_int_equal(verge_wheel_start_best_fit(wheel, deadline_ns, NULL, &timer, &wheel_deadline_ns), expected);
    }
    assert_int_equal(timer, 0);
    assert_int_equal(wheel_deadline_ns, 77);
    assert_int_equal(verge_wheel_get(wheel, pending, &expiry_after), 0);
    assert_int_equal(expiry_after.timer, expiry.timer);
    assert_int_equal(expiry_after.deadline_ns, expiry.deadline_ns);
    assert_ptr_equal(expiry_after.data, expiry.data);
    assert_unchanged(wheel, &before);
}

static void deadline_zero_and_before_start(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.past = VERGE_PAST_SINCE_START;
    options.start_ns = 10 * SECOND;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer pending = schedule(wheel, 30 * SECOND, 1);
    assert_quiet(wheel, 20 * SECOND);
    assert_deadline_refused(wheel, pending, 0, -EINVAL);
    assert_deadline_refused(wheel, pending, 1, -EINVAL);
    assert_deadline_refused(wheel, pending, 10 * SECOND - 1, -EINVAL);
    assert_fires(wheel, 20 * SECOND, schedule(wheel, 10 * SECOND, 2));
    verge_wheel_destroy(wheel);

    options.start_ns = 0;
    wheel = wheel_new(&options);
    assert_deadline_refused(wheel, schedule(wheel, SECOND, 1), 0, -EINVAL);
    (void)schedule(wheel, 1, 1);
    assert_int_equal(verge_wheel_start_window(wheel, 0, 1, NULL, NULL), 0); /* only 1 is not in the past */
    wheel_end(wheel);
}

static void deadline_before_the_current_interval(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.past = VERGE_PAST_REJECTED;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer at_start = schedule(wheel, 0, 1); /* 0 is in the interval that holds now */
    const verge_timer pending = schedule(wheel, SECOND, 2);
    assert_fires(wheel, 10 * TICK + 5, at_start);
    assert_deadline_refused(wheel, pending, 0, -EINVAL);
    assert_deadline_refused(wheel, pending, 10 * TICK - 1, -EINVAL);
    assert_fires(wheel, 10 * TICK + 5, schedule(wheel, 10 * TICK, 3));
    assert_int_equal(verge_wheel_reset(wheel, pending, 10 * TICK), 0);
    assert_fires(wheel, 10 * TICK + 5, pending);
    wheel_end(wheel);
}

static void deadline_too_far(void **state) {
    (void)state;
    static const verge_wheel_preset presets[] = {VERGE_PRESET_THREE_LEVEL, VERGE_PRESET_TWO_LEVEL, VERGE_PRESET_ALARM,
                                                 VERGE_PRESET_RUNTIME}; /* those that do not reach the end of time */
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        verge_wheel *wheel = wheel_of(presets[i], 5 * SECOND);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        const verge_timer pending = schedule(wheel, largest_ns, 1);
        assert_deadline_refused(wheel, pending, largest_ns + 1, -ERANGE);
        assert_deadline_refused(wheel, pending, VERGE_NEVER, -ERANGE);
        wheel_end(wheel);
    }
}

/* The largest deadline is the last one of the last tick in reach, strict or not. */
static void the_reach_ends_with_a_tick(void **state) {
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        verge_wheel_options options = options_of_levels(TICK, (const uint8_t[]){4, 4, 0});
        options.strict = strict != 0;
        options.start_ns = 1000 * TICK;
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        assert_int_equal(verge_wheel_fires_at(wheel, largest_ns), (1000 + 256) * TICK);
        assert_int_equal(verge_wheel_fires_at(wheel, largest_ns + 1), (1000 + 257) * TICK);
        wheel_end(wheel);
    }
}

static void window_upside_down(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const struct snapshot before = snapshot_of(wheel);
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start_window(wheel, 2, 1, NULL, &timer), -EINVAL);
    assert_int_equal(verge_wheel_start_window(wheel, UINT64_MAX, 0, NULL, &timer), -EINVAL);
    assert_int_equal(timer, 0);
    assert_unchanged(wheel, &before);
    wheel_end(wheel);
}

/* cancel, get and reset all return the same error for a handle. */
static void assert_handle_refused(verge_wheel *wheel, verge_timer timer, int expected) {
    const struct snapshot before = snapshot_of(wheel);
    void *data = data_of(77);
    verge_expiry expiry = {.timer = 77};
    assert_int_equal(verge_wheel_cancel(wheel, timer, &data), expected);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), expected);
    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), expected);
    assert_int_equal(verge_wheel_reset(wheel, timer, verge_wheel_now(wheel) + SECOND), expected);
    assert_int_equal(number_of(data), 77);
    assert_int_equal(expiry.timer, 77);
    assert_unchanged(wheel, &before);
}

static void handles_that_never_were(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    assert_handle_refused(wheel, 0, -EBADF);
    assert_handle_refused(wheel, 1, -EBADF);
    assert_handle_refused(wheel, UINT64_MAX, -EBADF);
    (void)schedule(wheel, SECOND, 0);
    const verge_timer pending = schedule(wheel, SECOND, 1);
    assert_handle_refused(wheel, 0, -EBADF);
    assert_handle_refused(wheel, UINT64_MAX, -EBADF);
    assert_handle_refused(wheel, pending & UINT64_C(0xffffffff) << 32, -EBADF); /* generation 0, which no timer has */
    assert_handle_refused(wheel, pending | UINT32_MAX, -EBADF);                 /* the last generation */
    assert_handle_refused(wheel, pending + 1, -EBADF);                          /* the next generation, and so on */
    assert_handle_refused(wheel, pending + 2, -EBADF);
    assert_handle_refused(wheel, pending - 1, -EBADF);
    assert_handle_refused(wheel, pending + (UINT64_C(1) << 32), -EBADF); /* a handle of the next node */
    assert_handle_refused(wheel, pending | UINT64_C(0xffffffff) << 32, -EBADF);
    assert_int_equal(verge_wheel_cancel(wheel, pending, NULL), 0);
    wheel_end(wheel);
}

static void handles_that_are_gone(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer cancelled = schedule(wheel, SECOND, 1);
    assert_int_equal(verge_wheel_cancel(wheel, cancelled, NULL), 0);
    assert_handle_refused(wheel, cancelled, -ENOENT);
    const verge_timer fired = schedule(wheel, SECOND, 2);
    assert_handle_refused(wheel, cancelled, -ENOENT); /* its node may belong to another timer now */
    assert_fires(wheel, 2 * SECOND, fired);
    assert_handle_refused(wheel, fired, -ENOENT);
    const verge_timer cleared = schedule(wheel, 3 * SECOND, 3);
    verge_wheel_cancel_all(wheel);
    assert_handle_refused(wheel, cleared, -ENOENT);
    verge_wheel_compact(wheel);
    for (uintptr_t i = 0; i < 100; i++) {
        const verge_timer reused = schedule(wheel, 3 * SECOND, i);
        assert_handle_refused(wheel, cancelled, -ENOENT);
        assert_handle_refused(wheel, fired, -ENOENT);
        assert_handle_refused(wheel, cleared, -ENOENT);
        assert_int_equal(verge_wheel_cancel(wheel, reused, NULL), 0);
    }
    wheel_end(wheel);
}

static void handles_of_another_wheel(void **state) {
    (void)state;
    enum { WHEELS = 8, TIMERS = 20 };
    verge_wheel *wheels[WHEELS];
    verge_timer timers[WHEELS][TIMERS];
    for (size_t w = 0; w < WHEELS; w++) {
        wheels[w] = wheel_new(NULL);
        for (size_t t = 0; t < TIMERS; t++) {
            timers[w][t] = schedule(wheels[w], SECOND, t);
        }
    }
    for (size_t w = 0; w < WHEELS; w++) {
        for (size_t other = 0; other < WHEELS; other++) {
            for (size_t t = 0; t < TIMERS && other != w; t++) {
                assert_handle_refused(wheels[w], timers[other][t], -EBADF);
            }
        }
    }
    for (size_t w = 0; w < WHEELS; w++) {
        assert_int_equal(verge_wheel_count(wheels[w]), TIMERS);
        wheel_end(wheels[w]);
    }
}

static void limit_zero_and_no_output(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[4];
    const verge_timer first = schedule(wheel, SECOND, 1);
    const verge_timer second = schedule(wheel, 2 * SECOND, 2);
    assert_int_equal(verge_wheel_poll(wheel, SECOND + TICK, out, 0), 0);
    assert_int_equal(verge_wheel_now(wheel), SECOND + TICK);
    assert_true(verge_wheel_has_backlog(wheel));
    assert_int_equal(verge_wheel_next_wakeup(wheel), SECOND + TICK);
    assert_int_equal(verge_wheel_next_deadline(wheel), SECOND + TICK);
    assert_int_equal(verge_wheel_poll(wheel, SECOND + TICK, NULL, 4), 0);
    assert_int_equal(verge_wheel_poll_exact(wheel, SECOND + TICK, NULL, 4), 0);
    assert_int_equal(verge_wheel_poll_to_next(wheel, SECOND + TICK, out, 0), 0);
    assert_int_equal(verge_wheel_count(wheel), 2);
    assert_fires(wheel, SECOND + TICK, first);
    assert_false(verge_wheel_has_backlog(wheel));
    assert_int_equal(verge_wheel_poll(wheel, 3 * SECOND, NULL, 0), 0);
    assert_fires(wheel, 0, second); /* time does not go back from 3 s to 0 */
    assert_int_equal(verge_wheel_now(wheel), 3 * SECOND);
    wheel_end(wheel);
}

static void start_may_move_only_while_empty(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 100 * SECOND);
    assert_int_equal(verge_wheel_set_start_time(wheel, 50 * SECOND), 0);
    assert_int_equal(verge_wheel_start_time(wheel), 50 * SECOND);
    assert_int_equal(verge_wheel_now(wheel), 50 * SECOND);
    const verge_timer timer = schedule(wheel, 51 * SECOND, 1);
    const struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_wheel_set_start_time(wheel, 60 * SECOND), -EBUSY);
    assert_unchanged(wheel, &before);
    assert_fires(wheel, 52 * SECOND, timer);
    assert_in_range(stats_of(wheel).last_poll_work, 1, 3);
    assert_int_equal(verge_wheel_set_start_time(wheel, 52 * SECOND), 0);
    assert_int_equal(stats_of(wheel).last_poll_work, 0);
    assert_int_equal(verge_wheel_set_start_time(wheel, 0), 0);
    assert_int_equal(verge_wheel_now(wheel), 0);
    assert_fires(wheel, SECOND, schedule(wheel, SECOND / 2, 2));
    wheel_end(wheel);
}

static void a_timer_needs_no_handle(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[4];
    assert_int_equal(verge_wheel_start(wheel, SECOND, &out[0], NULL), 0);
    assert_int_equal(verge_wheel_start_window(wheel, SECOND, 2 * SECOND, &out[1], NULL), 0);
    assert_int_equal(verge_wheel_start_best_fit(wheel, 3 * SECOND, &out[2], NULL, NULL), 0);
    assert_int_equal(verge_wheel_start(NULL, SECOND, NULL, NULL), -EINVAL);
    assert_int_equal(verge_wheel_count(wheel), 3);
    assert_int_equal(verge_wheel_poll(wheel, 4 * SECOND, out, 4), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(out[i].data, &out[i]);
        assert_int_not_equal(out[i].timer, 0);
    }
    verge_wheel_destroy(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_wheel),
        cmocka_unit_test(null_wheel_queries),
        cmocka_unit_test(null_results),
        cmocka_unit_test(a_timer_needs_no_handle),
        cmocka_unit_test(statistics_of_unknown_size),
        cmocka_unit_test(deadline_zero_and_before_start),
        cmocka_unit_test(deadline_before_the_current_interval),
        cmocka_unit_test(deadline_too_far),
        cmocka_unit_test(the_reach_ends_with_a_tick),
        cmocka_unit_test(window_upside_down),
        cmocka_unit_test(handles_that_never_were),
        cmocka_unit_test(handles_that_are_gone),
        cmocka_unit_test(handles_of_another_wheel),
        cmocka_unit_test(limit_zero_and_no_output),
        cmocka_unit_test(start_may_move_only_while_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
