/* SPDX-License-Identifier: MIT */
/* Seed 003, timers of tasks and I/O: the part that concerns the wheel. */
#include "wheel/support.h"

static verge_wheel *runtime(uint64_t start_ns) {
    return wheel_of(VERGE_PRESET_RUNTIME, start_ns);
}

static void seed003_64_slots_a_level_7_levels(void **state) {
    (void)state;
    verge_wheel *wheel = runtime(0);
    assert_int_equal(verge_wheel_precision(wheel), TICK);
    assert_int_equal(level_count_of(wheel), 7);
    for (size_t level = 0; level < 7; level++) {
        assert_int_equal(level_stats_of(wheel, level).resolution_ns, TICK << (6 * level));
        assert_int_equal(coverage_of(wheel, level), TICK << (6 * level + 6));
    }
    wheel_end(wheel);
}

/* A wheel with more timers gets more slots. When few timers are left, compact gives this memory back. */
static void seed003_levels_grow_and_shrink(void **state) {
    (void)state;
    enum { FAR = 200 };
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_of(VERGE_PRESET_RUNTIME);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer near = schedule(wheel, 10 * MS, 1);
    const size_t bytes_near = memory.bytes_in_use;
    const uint64_t slots_near = level_stats_of(wheel, 0).slots;
    static verge_timeout far[FAR];
    for (uintptr_t i = 0; i < FAR; i++) {
        assert_int_equal(verge_timeout_start(wheel, &far[i], TICK << (6 * (i % 6 + 1))), 0);
    }
    assert_int_equal(verge_wheel_reserve(wheel, 0, FAR), 0);
    assert_true(memory.bytes_in_use > bytes_near);
    assert_true(level_stats_of(wheel, 0).slots > slots_near);
    for (size_t i = 0; i < FAR; i++) {
        assert_int_equal(verge_timeout_cancel(wheel, &far[i]), 0);
    }
    verge_wheel_compact(wheel);
    assert_int_equal(level_stats_of(wheel, 0).slots, slots_near);
    assert_true(memory.bytes_in_use <= bytes_near);
    assert_fires(wheel, 20 * MS, near);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* The wait of an I/O loop is the time until next_wakeup. */
static void seed003_next_deadline_is_the_wait(void **state) {
    (void)state;
    verge_wheel *wheel = runtime(SECOND);
    assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
    static const uint64_t sleeps_ns[] = {MS, 50 * MS, SECOND, MINUTE, HOUR, DAY};
    for (uintptr_t i = 0; i < COUNT_OF(sleeps_ns); i++) {
        (void)schedule(wheel, SECOND + sleeps_ns[i], i);
    }
    size_t waits = 0;
    for (uintptr_t i = 0; i < COUNT_OF(sleeps_ns); waits++) {
        const uint64_t wakeup_ns = verge_wheel_next_wakeup(wheel);
        assert_true(wakeup_ns > verge_wheel_now(wheel)); /* the wait is never 0 or negative */
        assert_true(wakeup_ns <= verge_wheel_fires_at(wheel, SECOND + sleeps_ns[i]));
        i += poll_count(wheel, wakeup_ns);
    }
    assert_true(waits <= COUNT_OF(sleeps_ns) * 7);
    wheel_end(wheel);
}

/* A timer whose deadline is now or past does not wait. */
static void seed003_a_deadline_already_past_does_not_wait(void **state) {
    (void)state;
    verge_wheel *wheel = runtime(1000 * TICK + 5);
    const uint64_t now_ns = verge_wheel_now(wheel) & ~(TICK - 1);
    assert_fires(wheel, verge_wheel_now(wheel), schedule(wheel, now_ns, 1));
    assert_fires(wheel, verge_wheel_now(wheel), schedule(wheel, 0, 2));
    wheel_end(wheel);
}

/* ---- not to be repeated: each comment describes a fault ---- */

/* Times were offsets from a start that was not advanced while idle: a sleep of 50 ms returned 49 ms early. */
static void seed003_idle_time_counts(void **state) {
    (void)state;
    for (uint64_t idle_ns = MS; idle_ns < HOUR; idle_ns *= 3) {
        verge_wheel *wheel = runtime(0);
        assert_quiet(wheel, MS); /* then nobody polls, as no timer is pending */
        const verge_timer timer = schedule(wheel, idle_ns + 50 * MS, 1);
        assert_quiet(wheel, idle_ns + 50 * MS - 1);
        assert_fires(wheel, idle_ns + 50 * MS + TICK, timer);
        wheel_end(wheel);
    }
}

/* Each advance lost a remainder: a sleep of 100 ms, polled every 1 ms, never ended. */
static void seed003_no_remainder_is_lost(void **state) {
    (void)state;
    static const uint64_t steps_ns[] = {1000, MS / 3, MS - 1, MS, MS + 1, TICK - 1, TICK + 1, 7 * MS};
    for (size_t i = 0; i < COUNT_OF(steps_ns); i++) {
        verge_wheel *wheel = runtime(0);
        const verge_timer timer = schedule(wheel, 100 * MS, 1);
        const uint64_t fires_ns = verge_wheel_fires_at(wheel, 100 * MS);
        uint64_t now_ns = 0;
        for (; now_ns < fires_ns; now_ns += steps_ns[i]) {
            assert_quiet(wheel, now_ns);
        }
        assert_fires(wheel, now_ns, timer);
        wheel_end(wheel);
    }
}

/* A removal computed the slot again, missed the timer, and later wrote to a finished request. */
static void seed003_removal_never_misses(void **state) {
    (void)state;
    verge_wheel *wheel = runtime(0);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(6));
    for (uintptr_t i = 0; i < 20000; i++) {
        const uint64_t now_ns = verge_wheel_now(wheel);
        const verge_timer timer = schedule(wheel, now_ns + TICK + verge_test_below(&random, 10 * SECOND), i);
        const uint64_t wait_ns = verge_test_below(&random, 2 * SECOND);
        verge_expiry expiry;
        const bool fired = poll_count(wheel, now_ns + wait_ns) > 0;
        assert_int_equal(verge_wheel_get(wheel, timer, &expiry), fired ? -ENOENT : 0);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), fired ? -ENOENT : 0);
        assert_int_equal(verge_wheel_count(wheel), 0);
    }
    assert_quiet(wheel, YEAR);
    wheel_end(wheel);
}

/* An idle loop waited for minus one millisecond. Here the wait is VERGE_NEVER if no timer is pending. */
static void seed003_an_idle_wait_is_for_ever(void **state) {
    (void)state;
    verge_wheel *wheel = runtime(0);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_fires(wheel, i * SECOND + 4 * TICK, schedule(wheel, i * SECOND + TICK, 1));
    }
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed003_64_slots_a_level_7_levels),
        cmocka_unit_test(seed003_levels_grow_and_shrink),
        cmocka_unit_test(seed003_next_deadline_is_the_wait),
        cmocka_unit_test(seed003_a_deadline_already_past_does_not_wait),
        cmocka_unit_test(seed003_idle_time_counts),
        cmocka_unit_test(seed003_no_remainder_is_lost),
        cmocka_unit_test(seed003_removal_never_misses),
        cmocka_unit_test(seed003_an_idle_wait_is_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
