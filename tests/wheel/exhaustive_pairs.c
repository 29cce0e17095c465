/* SPDX-License-Identifier: MIT */
/*
 * Tiny wheels with two timers that come out at one tick. They are started at every pair of moments, and moved or
 * replaced at every moment. Their order must not depend on the levels that they came down.
 */
#include "wheel/tiny.h"

static verge_wheel *tiny_wheel(const struct tiny *tiny, verge_order order) {
    verge_wheel_options options = tiny_options(tiny);
    options.order = order;
    return wheel_new(&options);
}

/* The largest deadline of a timer that is started at start_ns. */
static uint64_t deadline_max(verge_wheel *wheel, uint64_t start_ns) {
    tiny_restart(wheel, start_ns);
    return verge_wheel_largest_deadline(wheel);
}

/* Both timers come out at the tick of this deadline, and not before, in this order. */
static void assert_both(verge_wheel *wheel, uint64_t deadline_ns, uintptr_t first, uintptr_t second) {
    const uint64_t fires_ns = verge_wheel_fires_at(wheel, deadline_ns);
    tiny_wait(wheel, fires_ns);
    ASSERT_FIRES_IN_ORDER(wheel, fires_ns, first, second);
}

static void at_each_pair_of_moments(verge_wheel *wheel, verge_order order, uint64_t start_ns, uint64_t deadline_ns) {
    const uint64_t tick_ns = verge_wheel_fires_at(wheel, deadline_ns);
    if (tick_ns <= start_ns) {
        return;
    }
    const uint64_t other_ns = tick_ns - (verge_wheel_precision(wheel) - 1); /* the first deadline of that tick */
    for (uint64_t first_ns = start_ns; first_ns < other_ns; first_ns++) {
        for (uint64_t second_ns = first_ns; second_ns < other_ns; second_ns++) {
            tiny_restart(wheel, start_ns);
            tiny_wait(wheel, first_ns + 1);
            (void)schedule(wheel, deadline_ns, 1);
            tiny_wait(wheel, second_ns + 1);
            (void)schedule(wheel, other_ns, 2);
            const bool swapped = order == VERGE_ORDER_DEADLINE && other_ns < deadline_ns;
            assert_both(wheel, deadline_ns, swapped ? 2 : 1, swapped ? 1 : 2);
        }
    }
}

static void scheduled_at_each_pair_of_moments(void **state) {
    const verge_order order = *(verge_order *)*state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        const uint64_t coverage_ns = tiny_coverage(tiny);
        if (coverage_ns > 32) {
            continue;
        }
        verge_wheel *wheel = tiny_wheel(tiny, order);
        for (uint64_t start_ns = 0; start_ns <= coverage_ns; start_ns++) {
            const uint64_t largest_ns = deadline_max(wheel, start_ns);
            for (uint64_t deadline_ns = start_ns; deadline_ns <= largest_ns; deadline_ns++) {
                at_each_pair_of_moments(wheel, order, start_ns, deadline_ns);
            }
        }
        wheel_end(wheel);
    }
}

/* As above, but the clock jumps to the moments and to the deadline. */
static void jumping_at_each_pair_of_moments(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        verge_wheel *wheel = tiny_wheel(&tiny_geometries[i], VERGE_ORDER_FIFO);
        const uint64_t precision_ns = verge_wheel_precision(wheel);
        const uint64_t start_max_ns = tiny_coverage(&tiny_geometries[i]);
        for (uint64_t start_ns = 0; start_ns <= start_max_ns; start_ns += precision_ns) {
            const uint64_t largest_ns = deadline_max(wheel, start_ns);
            for (uint64_t deadline_ns = start_ns + precision_ns; deadline_ns <= largest_ns;
                 deadline_ns += precision_ns) {
                for (uint64_t second_ns = start_ns; second_ns < deadline_ns; second_ns += precision_ns) {
                    tiny_restart(wheel, start_ns);
                    (void)schedule(wheel, deadline_ns, 1);
                    assert_quiet(wheel, second_ns);
                    (void)schedule(wheel, deadline_ns, 2);
                    ASSERT_FIRES_IN_ORDER(wheel, deadline_ns, 1, 2);
                }
            }
        }
        wheel_end(wheel);
    }
}

/* What is done to one of two timers of the same tick, at some moment. After that, this timer comes out second. */
enum change {
    MOVED,         /* reset to the deadline that it has already */
    MOVED_EARLIER, /* started for a later time, and then reset to the deadline */
    MOVED_LATER,   /* started for an earlier time, if there is one, and then reset to the deadline */
    REPLACED,      /* cancelled, and started again */
    CHANGE_COUNT,
};

static bool change_one(verge_wheel *wheel, enum change change, uint64_t start_ns, uint64_t deadline_ns,
                       uint64_t moment_ns, uint64_t largest_ns) {
    uint64_t at_first_ns = deadline_ns;
    if (change == MOVED_EARLIER) {
        at_first_ns = largest_ns;
    } else if (change == MOVED_LATER) {
        at_first_ns = moment_ns + verge_wheel_precision(wheel);
    }
    if (at_first_ns > largest_ns) {
        return false;
    }
    tiny_restart(wheel, start_ns);
    const verge_timer timer = schedule(wheel, at_first_ns, 1);
    (void)schedule(wheel, deadline_ns, 2);
    tiny_wait(wheel, moment_ns + 1);
    if (change == REPLACED) {
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        (void)schedule(wheel, deadline_ns, 1);
    } else {
        assert_int_equal(verge_wheel_reset(wheel, timer, deadline_ns), 0);
    }
    return true;
}

static void one_is_changed_at_each_moment(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        verge_wheel *wheel = tiny_wheel(tiny, VERGE_ORDER_FIFO);
        const uint64_t coverage_ns = tiny_coverage(tiny);
        const uint64_t precision_ns = verge_wheel_precision(wheel);
        for (uint64_t start_ns = 0; start_ns <= (coverage_ns < 32 ? coverage_ns : 3); start_ns++) {
            const uint64_t largest_ns = deadline_max(wheel, start_ns);
            for (uint64_t deadline_ns = start_ns + precision_ns; deadline_ns <= largest_ns; deadline_ns++) {
                for (uint64_t moment_ns = start_ns; moment_ns + precision_ns <= deadline_ns; moment_ns++) {
                    for (int change = 0; change < CHANGE_COUNT; change++) {
                        if (change_one(wheel, (enum change)change, start_ns, deadline_ns, moment_ns, largest_ns)) {
                            assert_both(wheel, deadline_ns, 2, 1);
                        }
                    }
                }
            }
        }
        wheel_end(wheel);
    }
}

/* One timer is moved at every moment from every deadline to every other. */
static void moved_at_each_moment(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tiny_geometries); i++) {
        const struct tiny *tiny = &tiny_geometries[i];
        if (tiny_coverage(tiny) > 32) {
            continue;
        }
        const verge_wheel_options options = tiny_options(tiny);
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t precision_ns = verge_wheel_precision(wheel);
        for (uint64_t start_ns = 0; start_ns < 8; start_ns++) {
            const uint64_t largest_ns = deadline_max(wheel, start_ns);
            for (uint64_t from_ns = start_ns + precision_ns; from_ns <= largest_ns; from_ns++) {
                for (uint64_t moment_ns = start_ns; moment_ns + precision_ns <= from_ns; moment_ns++) {
                    for (uint64_t to_ns = moment_ns; to_ns <= largest_ns; to_ns++) {
                        tiny_restart(wheel, start_ns);
                        const verge_timer timer = schedule(wheel, from_ns, 1);
                        tiny_wait(wheel, moment_ns + 1);
                        assert_int_equal(verge_wheel_reset(wheel, timer, to_ns), 0);
                        const uint64_t fires_ns = verge_wheel_fires_at(wheel, to_ns);
                        tiny_wait(wheel, fires_ns);
                        assert_fires(wheel, fires_ns, timer);
                    }
                }
            }
        }
        wheel_end(wheel);
    }
}

int main(void) {
    static verge_order fifo = VERGE_ORDER_FIFO;
    static verge_order by_deadline = VERGE_ORDER_DEADLINE;
    const struct CMUnitTest tests[] = {
        {"fifo_at_each_pair_of_moments", scheduled_at_each_pair_of_moments, NULL, NULL, &fifo},
        {"by_deadline_at_each_pair_of_moments", scheduled_at_each_pair_of_moments, NULL, NULL, &by_deadline},
        cmocka_unit_test(jumping_at_each_pair_of_moments),
        cmocka_unit_test(one_is_changed_at_each_moment),
        cmocka_unit_test(moved_at_each_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
