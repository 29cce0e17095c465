/* SPDX-License-Identifier: MIT */
/* Tiny wheels with one timer. The tests try every start, every deadline within reach, and every step of the clock. */
#include "wheel/tiny.h"

/* Polls in steps of step_ns until the timer comes out. Returns the time of the poll that returned the timer. */
static uint64_t step_until_fired(verge_wheel *wheel, verge_timer timer, uint64_t step_ns) {
    const uint64_t end_ns = verge_wheel_now(wheel) + 4096;
    verge_expiry out[2];
    for (uint64_t now_ns = verge_wheel_now(wheel); now_ns <= end_ns; now_ns += step_ns) {
        const size_t count = verge_wheel_poll(wheel, now_ns, out, 2);
        if (count > 0) {
            assert_int_equal(count, 1);
            assert_int_equal(out[0].timer, timer);
            return now_ns;
        }
        assert_true(verge_wheel_next_wakeup(wheel) > now_ns);
    }
    fail_msg("the timer never came out");
    return 0;
}

/* Returns the time of the first poll at or after time_ns, if the polls are at now_ns, now_ns + step_ns, and so on. */
static uint64_t first_step_at(uint64_t now_ns, uint64_t step_ns, uint64_t time_ns) {
    return time_ns <= now_ns ? now_ns : now_ns + (time_ns - now_ns + step_ns - 1) / step_ns * step_ns;
}

/* Returns the first tick at or after the deadline; if strict, the first tick after the deadline. */
static uint64_t tick_of(uint64_t precision_ns, bool strict, uint64_t deadline_ns) {
    return (deadline_ns + (strict ? precision_ns : precision_ns - 1)) / precision_ns * precision_ns;
}

static void each_delta_and_step(verge_wheel *wheel, bool strict, uint64_t start_ns, uint64_t step_max_ns) {
    tiny_restart(wheel, start_ns);
    const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    for (uint64_t deadline_ns = start_ns < 3 ? 0 : start_ns - 3; deadline_ns <= largest_ns; deadline_ns++) {
        for (uint64_t step_ns = 1; step_ns <= step_max_ns; step_ns++) {
            tiny_restart(wheel, start_ns);
            const verge_timer timer = schedule(wheel, deadline_ns, 1);
            const uint64_t fires_ns = tick_of(verge_wheel_precision(wheel), strict, deadline_ns);
            assert_int_equal(verge_wheel_fires_at(wheel, deadline_ns), fires_ns);
            assert_true(verge_wheel_next_wakeup(wheel) <= (fires_ns < start_ns ? start_ns : fires_ns));
            assert_int_equal(step_until_fired(wheel, timer, step_ns), first_step_at(start_ns, step_ns, fires_ns));
        }
        assert_well(wheel);
    }
}

static void one_timer(void **state) {
    const bool strict = *(bool *)*state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        verge_wheel_options options = tiny_options(&tiny_geometries[i]);
        options.strict = strict;
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t coverage_ns = tiny_coverage(&tiny_geometries[i]);
        for (uint64_t start_ns = 0; start_ns <= 2 * coverage_ns; start_ns++) {
            each_delta_and_step(wheel, strict, start_ns, coverage_ns + 3);
        }
        wheel_end(wheel);
    }
}

static void one_timer_in_a_coarse_wheel(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        verge_wheel_options options = tiny_options(tiny);
        options.coarse = true;
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t resolution_max_ns = UINT64_C(1) << tiny->levels[tiny->level_count - 1].shift;
        for (uint64_t start_ns = 0; start_ns <= 2 * tiny_coverage(tiny); start_ns++) {
            tiny_restart(wheel, start_ns);
            const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
            for (uint64_t deadline_ns = start_ns; deadline_ns <= largest_ns; deadline_ns++) {
                tiny_restart(wheel, start_ns);
                const verge_timer timer = schedule(wheel, deadline_ns, 1);
                const uint64_t fired_ns = step_until_fired(wheel, timer, 1);
                assert_true(fired_ns >= deadline_ns);
                assert_true(fired_ns < deadline_ns + resolution_max_ns);
            }
        }
        wheel_end(wheel);
    }
}

/* The largest deadline never goes back. It is at most one slot of the highest level short of what the levels cover. */
static void reach(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        const verge_wheel_options options = tiny_options(tiny);
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t resolution_max_ns = UINT64_C(1) << tiny->levels[tiny->level_count - 1].shift;
        uint64_t last_ns = 0;
        for (uint64_t now_ns = 0; now_ns <= 4 * tiny_coverage(tiny); now_ns++) {
            assert_quiet(wheel, now_ns);
            const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
            assert_true(largest_ns >= last_ns);
            assert_true(largest_ns >= now_ns + tiny_coverage(tiny) - resolution_max_ns - 1);
            last_ns = largest_ns;
        }
        wheel_end(wheel);
    }
}

/* A loop that sleeps until next_wakeup again and again reaches the deadline after few wake-ups. */
static void sleeping_until_the_wakeup(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        const verge_wheel_options options = tiny_options(tiny);
        verge_wheel *wheel = wheel_new(&options);
        for (uint64_t start_ns = 0; start_ns <= 2 * tiny_coverage(tiny); start_ns++) {
            tiny_restart(wheel, start_ns);
            const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
            for (uint64_t deadline_ns = start_ns; deadline_ns <= largest_ns; deadline_ns++) {
                tiny_restart(wheel, start_ns);
                (void)schedule(wheel, deadline_ns, 1);
                size_t rounds = 0;
                while (poll_count(wheel, verge_wheel_next_wakeup(wheel)) == 0) {
                    assert_true(++rounds <= tiny->level_count);
                }
                assert_int_equal(verge_wheel_now(wheel), verge_wheel_fires_at(wheel, deadline_ns));
            }
        }
        wheel_end(wheel);
    }
}

int main(void) {
    static bool strict = true;
    static bool lenient = false;
    const struct CMUnitTest tests[] = {
        {"one_timer", one_timer, NULL, NULL, &lenient}, {"one_timer_strict", one_timer, NULL, NULL, &strict},
        cmocka_unit_test(one_timer_in_a_coarse_wheel),  cmocka_unit_test(reach),
        cmocka_unit_test(sleeping_until_the_wakeup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
