/* SPDX-License-Identifier: MIT */
/* G5: ticks ascend, within a poll and across polls. Inside a tick, timers come out in the order of the options. */
#include "wheel/support.h"

enum {
    TIMERS = 3000,
};

static verge_wheel *wheel_ordered(verge_order order, size_t work_limit) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    options.work_limit = work_limit;
    return wheel_new(&options);
}

/* Timers in more than a hundred ticks on several levels, with several timers for each tick. Their numbers are in the
 * order in which they were started. */
static void schedule_scattered(verge_wheel *wheel, struct verge_test_random *random) {
    for (uintptr_t i = 1; i <= TIMERS; i++) {
        const uint64_t ticks = UINT64_C(1) << verge_test_below(random, 30);
        const uint64_t offset_ns = verge_test_below(random, TICK);
        (void)schedule(wheel, verge_wheel_now(wheel) + (ticks + verge_test_below(random, 4)) * TICK + offset_ns, i);
    }
}

/* Whether `second` may come out after `first`: ticks ascend, and inside a tick the order of the options holds. */
static bool may_follow(verge_wheel *wheel, verge_order order, const verge_expiry *first, const verge_expiry *second) {
    const uint64_t first_tick_ns = verge_wheel_fires_at(wheel, first->deadline_ns);
    const uint64_t second_tick_ns = verge_wheel_fires_at(wheel, second->deadline_ns);
    if (first_tick_ns != second_tick_ns) {
        return first_tick_ns < second_tick_ns;
    }
    if (order == VERGE_ORDER_ANY) {
        return true;
    }
    if (order == VERGE_ORDER_DEADLINE && first->deadline_ns != second->deadline_ns) {
        return first->deadline_ns < second->deadline_ns;
    }
    return number_of(first->data) < number_of(second->data);
}

static void assert_drains_in_order(verge_wheel *wheel, verge_order order, size_t limit, uint64_t step_ns) {
    static verge_expiry out[TIMERS];
    verge_expiry last = {0};
    size_t total = 0;
    size_t polls = 0;
    for (uint64_t now_ns = verge_wheel_now(wheel); total < TIMERS; now_ns += step_ns) {
        const size_t count = verge_wheel_poll(wheel, now_ns, out, limit);
        for (size_t i = 0; i < count; i++) {
            assert_true(total == 0 || may_follow(wheel, order, &last, &out[i]));
            last = out[i];
            total++;
        }
        if (verge_wheel_has_backlog(wheel)) {
            now_ns -= step_ns;
        }
        assert_true(++polls < 1000000);
    }
    assert_int_equal(verge_wheel_count(wheel), 0);
}

static void ticks_ascend(void **state) {
    (void)state;
    static const size_t limits[] = {TIMERS, 100, 7, 1};
    static const size_t work_limits[] = {0, 1, 50};
    static const uint64_t steps_ns[] = {MINUTE + 17, 100 * YEAR};
    struct verge_test_random random = verge_test_random_from(verge_test_seed(1));
    for (int order = VERGE_ORDER_ANY; order <= VERGE_ORDER_DEADLINE; order++) {
        for (size_t l = 0; l < COUNT_OF(limits); l++) {
            for (size_t w = 0; w < COUNT_OF(work_limits); w++) {
                for (size_t s = 0; s < COUNT_OF(steps_ns); s++) {
                    verge_wheel *wheel = wheel_ordered((verge_order)order, work_limits[w]);
                    schedule_scattered(wheel, &random);
                    assert_drains_in_order(wheel, (verge_order)order, limits[l], steps_ns[s]);
                    wheel_end(wheel);
                }
            }
        }
    }
}

static void fifo_after_a_cascade(void **state) {
    (void)state;
    /* Two timers are started when the tick is nearer. So they may be in a lower level, to which the first timer comes
     * down. */
    for (uint64_t distance = 1; distance < 5000; distance = distance * 3 / 2 + 1) {
        verge_wheel *wheel = wheel_ordered(VERGE_ORDER_FIFO, 0);
        const uint64_t deadline_ns = 5000 * TICK;
        (void)schedule(wheel, deadline_ns, 1);
        assert_quiet(wheel, deadline_ns - distance * TICK);
        (void)schedule(wheel, deadline_ns - 1, 2);
        (void)schedule(wheel, deadline_ns, 3);
        ASSERT_FIRES_IN_ORDER(wheel, deadline_ns, 1, 2, 3);
        wheel_end(wheel);
    }
}

static void fifo_counts_the_last_reschedule(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_ordered(VERGE_ORDER_FIFO, 0);
    const verge_timer first = schedule(wheel, HOUR, 1);
    const verge_timer second = schedule(wheel, 2 * HOUR, 2);
    (void)schedule(wheel, HOUR, 3);
    const verge_timer fourth = schedule(wheel, SECOND, 4);
    assert_int_equal(verge_wheel_reset(wheel, fourth, HOUR), 0); /* to a later deadline */
    assert_int_equal(verge_wheel_reset(wheel, second, HOUR), 0); /* to an earlier deadline */
    assert_int_equal(verge_wheel_reset(wheel, first, HOUR), 0);  /* to the same deadline */
    ASSERT_FIRES_IN_ORDER(wheel, HOUR + TICK, 3, 4, 2, 1);
    wheel_end(wheel);
}

static void deadline_order_then_fifo(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_ordered(VERGE_ORDER_DEADLINE, 0);
    const uint64_t tick_ns = 1000 * TICK;
    (void)schedule(wheel, tick_ns + 9, 1);
    (void)schedule(wheel, tick_ns + 5, 2);
    (void)schedule(wheel, tick_ns + 9, 3);
    (void)schedule(wheel, tick_ns + TICK, 4);
    (void)schedule(wheel, tick_ns + 1, 5);
    (void)schedule(wheel, tick_ns + 5, 6);
    ASSERT_FIRES_IN_ORDER(wheel, HOUR, 5, 2, 6, 1, 3, 4);
    wheel_end(wheel);
}

/* compact must not change the order, however many timers a tick has. */
static void compact_keeps_the_order(void **state) {
    (void)state;
    static verge_expiry out[200];
    for (int order = VERGE_ORDER_FIFO; order <= VERGE_ORDER_DEADLINE; order++) {
        for (uintptr_t count = 1; count <= COUNT_OF(out); count++) {
            verge_wheel *wheel = wheel_ordered((verge_order)order, 0);
            const uint64_t tick_ns = 5000 * TICK;
            for (uintptr_t i = 1; i <= count; i++) {
                (void)schedule(wheel, tick_ns + 1 + (i * 7919) % (TICK - 1), i);
            }
            const verge_timer cancelled = schedule(wheel, tick_ns + 1, count + 1);
            assert_int_equal(verge_wheel_cancel(wheel, cancelled, NULL), 0);
            verge_wheel_compact(wheel);
            assert_int_equal(verge_wheel_poll(wheel, HOUR, out, COUNT_OF(out)), count);
            for (size_t i = 1; i < count; i++) {
                assert_true(may_follow(wheel, (verge_order)order, &out[i - 1], &out[i]));
            }
            wheel_end(wheel);
        }
    }
}

static void the_past_precedes_what_comes_due_later(void **state) {
    (void)state;
    for (int order = VERGE_ORDER_ANY; order <= VERGE_ORDER_DEADLINE; order++) {
        verge_wheel *wheel = wheel_ordered((verge_order)order, 0);
        (void)schedule(wheel, 101 * TICK, 1);
        (void)schedule(wheel, 200 * TICK, 2);
        assert_quiet(wheel, 100 * TICK);
        (void)schedule(wheel, 3 * TICK, 3);
        ASSERT_FIRES_IN_ORDER(wheel, 300 * TICK, 3, 1, 2);
        wheel_end(wheel);
    }
}

/* A part of the timers of a tick is cancelled after the first poll, which has sorted them all, or which the work limit
 * has ended before. */
static void cancelled_lists_leave_the_order_alone(void **state) {
    (void)state;
    enum { COUNT = 150, STRIDE = 30 };
    static const size_t work_limits[] = {0, 100, 200, 500, 900};
    for (size_t n = 0; n < COUNT_OF(work_limits) * (COUNT / STRIDE); n++) {
        const size_t work_limit = work_limits[n % COUNT_OF(work_limits)];
        const size_t first = n / COUNT_OF(work_limits) * STRIDE;
        for (size_t count = STRIDE; first + count <= COUNT; count += STRIDE) {
            verge_wheel *wheel = wheel_ordered(VERGE_ORDER_FIFO, work_limit);
            verge_timer timers[COUNT];
            for (size_t i = 0; i < COUNT; i++) {
                timers[i] = schedule(wheel, 100 * TICK, i);
            }
            verge_expiry out = {0};
            const size_t returned = verge_wheel_poll(wheel, 101 * TICK, &out, 1);
            assert_int_equal(returned, work_limit == 0 ? 1 : 0);
            assert_int_equal(number_of(out.data), 0);
            for (size_t i = first; i < first + count; i++) {
                assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), i < returned ? -ENOENT : 0);
            }
            for (size_t i = returned; i < COUNT; i++) {
                if (i < first || i >= first + count) {
                    while (verge_wheel_poll(wheel, 101 * TICK, &out, 1) == 0) {
                        assert_true(verge_wheel_has_backlog(wheel));
                    }
                    assert_int_equal(number_of(out.data), i);
                    assert_well(wheel);
                }
            }
            assert_quiet(wheel, 200 * TICK);
            wheel_end(wheel);
        }
    }
}

/* An upper slot of many nodes is drained in portions. Some of its timers were moved to later ticks before. */
static void timers_moved_out_of_a_slot_that_is_drained(void **state) {
    (void)state;
    enum { COUNT = 300, SLOT = 64, UPPER_SLOT = SLOT * SLOT, START = 3 * UPPER_SLOT, END = 20 * UPPER_SLOT };
    verge_wheel *wheel = wheel_ordered(VERGE_ORDER_DEADLINE, 0);
    verge_timer timers[COUNT];
    uint64_t ticks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        ticks[i] = START + i % SLOT;
        timers[i] = schedule(wheel, ticks[i] * TICK, i);
    }
    for (size_t i = 0; i < COUNT; i += 2) {
        ticks[i] += (1 + i % 7) * (i % 4 == 0 ? UPPER_SLOT : SLOT);
        assert_int_equal(verge_wheel_reset(wheel, timers[i], ticks[i] * TICK), 0);
    }
    size_t fired = 0;
    for (uint64_t tick = 1; fired < COUNT; tick++) {
        verge_expiry out[COUNT];
        const size_t count = verge_wheel_poll(wheel, tick * TICK, out, COUNT);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(ticks[number_of(out[i].data)], tick);
        }
        fired += count;
        assert_true(tick < END);
        if (tick % 61 == 0) {
            assert_well(wheel);
        }
    }
    wheel_end(wheel);
}

/* In a coarse wheel, two timers were rounded up to the tick under way, and their deadlines have come. A limit of 1 lets
 * one of them out, and the next poll returns the other. */
static void what_a_limit_leaves_of_the_tick_under_way_comes_next(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
    options.order = VERGE_ORDER_DEADLINE;
    verge_wheel *wheel = wheel_new(&options);
    (void)schedule(wheel, 1600 * MS, 2);
    (void)schedule(wheel, 1500 * MS, 1);
    const uint64_t slot_ns = UINT64_C(1) << 31; /* where a slot of level 1 starts */
    verge_expiry out[2];
    assert_quiet(wheel, slot_ns - 2 * TICK);
    for (uintptr_t number = 1; number <= 2; number++) {
        assert_int_equal(verge_wheel_poll_exact(wheel, slot_ns - 1, out, 1), 1);
        assert_int_equal(number_of(out[0].data), number);
        assert_well(wheel);
    }
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_ascend),
        cmocka_unit_test(fifo_after_a_cascade),
        cmocka_unit_test(fifo_counts_the_last_reschedule),
        cmocka_unit_test(deadline_order_then_fifo),
        cmocka_unit_test(compact_keeps_the_order),
        cmocka_unit_test(the_past_precedes_what_comes_due_later),
        cmocka_unit_test(cancelled_lists_leave_the_order_alone),
        cmocka_unit_test(timers_moved_out_of_a_slot_that_is_drained),
        cmocka_unit_test(what_a_limit_leaves_of_the_tick_under_way_comes_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
