/* SPDX-License-Identifier: MIT */
/* G3, G8: a limit on what a poll returns or does defers timers, and never skips one. */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

static verge_wheel *wheel_limited(verge_order order, size_t work_limit) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    options.work_limit = work_limit;
    return wheel_new(&options);
}

/* 100,000 timers of one tick, and polls that return one timer each. All come out, in order, while time stands still. */
static void limit_of_one_with_many_due_in_one_tick(void **state) {
    (void)state;
    const size_t count = test_scaled(100000);
    verge_wheel *wheel = wheel_limited(VERGE_ORDER_FIFO, 0);
    for (uintptr_t i = 0; i < count; i++) {
        (void)schedule(wheel, SECOND, i);
    }
    for (uintptr_t i = 0; i < count; i++) {
        verge_expiry out;
        assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, &out, 1), 1);
        assert_int_equal(number_of(out.data), i);
    }
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, NULL, 0), 0);
    assert_false(verge_wheel_has_backlog(wheel));
    wheel_end(wheel);
}

/* As above, but time goes on, so that slots are passed while the backlog waits. */
static void limit_of_one_while_time_goes_on(void **state) {
    (void)state;
    const size_t count = test_scaled(100000);
    verge_wheel *wheel = wheel_limited(VERGE_ORDER_FIFO, 0);
    for (uintptr_t i = 0; i < count; i++) {
        (void)schedule(wheel, SECOND, i);
        (void)schedule(wheel, 2 * SECOND, count + i);
    }
    uint64_t now_ns = SECOND + TICK;
    for (uintptr_t i = 0; i < 2 * count; i++) {
        verge_expiry out;
        assert_int_equal(verge_wheel_poll(wheel, now_ns, &out, 1), 1);
        assert_int_equal(number_of(out.data), i);
        now_ns += SECOND;
    }
    assert_int_equal(verge_wheel_count(wheel), 0);
    wheel_end(wheel);
}

static void a_limit_never_makes_a_timer_wait_a_rotation(void **state) {
    (void)state;
    for (size_t limit = 1; limit < 20; limit++) {
        verge_wheel *wheel = wheel_of(VERGE_PRESET_TWO_LEVEL, 0);
        verge_expiry out[20];
        for (uintptr_t i = 0; i < 100; i++) {
            (void)schedule(wheel, (100 + i) * TICK, i);
        }
        uintptr_t next = 0;
        while (next < 100) {
            const size_t count = verge_wheel_poll(wheel, 250 * TICK, out, limit);
            assert_int_equal(count, limit < 100 - next ? limit : 100 - next);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(number_of(out[i].data), next++);
            }
        }
        wheel_end(wheel);
    }
}

/* The largest deadline depends on now, not on the cursor, which a backlog holds back. */
static void a_backlog_does_not_shorten_the_reach(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_TWO_LEVEL, 0);
    verge_wheel *idle = wheel_of(VERGE_PRESET_TWO_LEVEL, 0);
    const verge_timer due = schedule(wheel, SECOND, 1);
    assert_int_equal(verge_wheel_poll(wheel, HOUR, NULL, 0), 0);
    assert_int_equal(verge_wheel_poll(idle, HOUR, NULL, 0), 0);
    assert_true(verge_wheel_has_backlog(wheel));
    assert_int_equal(verge_wheel_largest_deadline(wheel), verge_wheel_largest_deadline(idle));
    const verge_timer soon = schedule(wheel, HOUR + 10 * MS, 2);
    const verge_timer later = schedule(wheel, HOUR + 17 * MINUTE, 3);
    assert_fires(wheel, HOUR, due);
    assert_fires(wheel, HOUR + 10 * MS + TICK, soon);
    assert_fires(wheel, HOUR + 17 * MINUTE + TICK, later);
    wheel_end(wheel);
    wheel_end(idle);
}

/* compact works while there is a backlog, even if the backlog is years old. */
static void a_backlog_may_be_compacted(void **state) {
    (void)state;
    static const uint64_t jumps_ns[] = {HOUR, YEAR, UINT64_C(1) << 62};
    for (size_t i = 0; i < COUNT_OF(jumps_ns); i++) {
        for (int coarse = 0; coarse < 2; coarse++) {
            verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
            options.work_limit = 7;
            options.coarse = coarse != 0;
            verge_wheel *wheel = wheel_new(&options);
            const verge_timer far = schedule(wheel, 30 * DAY, 1);
            assert_int_equal(verge_wheel_cancel(wheel, far, NULL), 0);
            (void)schedule(wheel, SECOND, 2);
            assert_int_equal(verge_wheel_poll(wheel, jumps_ns[i], NULL, 0), 0);
            (void)schedule(wheel, jumps_ns[i], 3);
            verge_wheel_compact(wheel);
            assert_well(wheel);
            size_t polls = 0;
            while (verge_wheel_count(wheel) > 0) {
                (void)poll_count(wheel, jumps_ns[i] * 2);
                assert_true(++polls < 100);
            }
            wheel_end(wheel);
        }
    }
}

/* No poll does more work than its limit. In the end, a wheel full of due timers is empty. */
static void a_work_limit_is_kept(void **state) {
    (void)state;
    static const size_t work_limits[] = {1, 2, 7, 64, 100, 1000};
    static verge_expiry out[2000];
    for (size_t w = 0; w < COUNT_OF(work_limits); w++) {
        verge_wheel *wheel = wheel_limited(VERGE_ORDER_ANY, work_limits[w]);
        struct verge_test_random random = verge_test_random_from(w);
        for (uintptr_t i = 0; i < 5000; i++) {
            const verge_timer timer = schedule(wheel, TICK + (verge_test_magnitude(&random) >> 8), i);
            if (i % 4 == 0) {
                assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
            } else if (i % 4 == 1) {
                assert_int_equal(verge_wheel_reset(wheel, timer, TICK + (verge_test_magnitude(&random) >> 8)), 0);
            }
        }
        size_t polls_left = 80000;
        while (verge_wheel_count(wheel) > 0) {
            const size_t count = verge_wheel_poll(wheel, 1000 * YEAR, out, COUNT_OF(out));
            const uint64_t work = stats_of(wheel).last_poll_work;
            assert_true(work >= count && work <= work_limits[w]);
            assert_int_equal(verge_wheel_now(wheel), UINT64_C(1000) * YEAR);
            assert_true(polls_left-- > 0);
        }
        wheel_end(wheel);
    }
}

/* If the work limit is more than the polls need, it makes no timer late. */
static void work_is_spread_over_the_time_before(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_limited(VERGE_ORDER_ANY, 64);
    verge_expiry out[64];
    struct verge_test_random random = verge_test_random_from(3);
    const size_t count = 10000;
    for (uintptr_t i = 0; i < count; i++) {
        (void)schedule(wheel, 100 * TICK + verge_test_below(&random, 10000 * TICK), i); /* about one for each tick */
    }
    size_t total = 0;
    for (uint64_t now_ns = 0; now_ns <= 10102 * TICK; now_ns += TICK) {
        total += verge_wheel_poll(wheel, now_ns, out, 64);
        assert_false(verge_wheel_has_backlog(wheel));
        assert_true(stats_of(wheel).last_poll_work <= 64);
    }
    assert_int_equal(total, count);
    wheel_end(wheel);
}

static void poll_exact_and_to_next_keep_the_work_limit(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_limited(VERGE_ORDER_DEADLINE, 7);
    verge_expiry out[16];
    for (uintptr_t i = 0; i < 100; i++) {
        (void)schedule(wheel, 10 * TICK + 1 + i, i);
    }
    size_t total = 0;
    for (uint64_t now_ns = 10 * TICK + 50; total < 100; now_ns += now_ns < 11 * TICK ? TICK : 0) {
        const size_t count = verge_wheel_poll_exact(wheel, now_ns, out, COUNT_OF(out));
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i].deadline_ns <= now_ns);
        }
        total += count;
        assert_true(stats_of(wheel).last_poll_work <= 7);
    }
    for (uintptr_t i = 0; i < 10; i++) {
        (void)schedule(wheel, 20 * TICK + i, i);
    }
    for (size_t polls = 0; verge_wheel_count(wheel) > 0; polls++) {
        (void)verge_wheel_poll_to_next(wheel, 30 * TICK, out, COUNT_OF(out));
        assert_true(stats_of(wheel).last_poll_work <= 7);
        assert_true(polls < 200);
    }
    wheel_end(wheel);
}

static const uint8_t levels_of_64[] = {6, 6, 6, 6, 0};

/* G8: the nodes of an upper slot move down a few at a time, at every tick of the block before, and not all at once. */
static void a_slot_is_drained_over_the_time_before_it(void **state) {
    enum { COUNT = 6400, SLOT = 64, START = 5 * SLOT };
    verge_wheel_options options = options_of_levels(TICK, levels_of_64);
    options.order = *(verge_order *)*state;
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT; i++) {
        (void)schedule(wheel, (START + i % SLOT) * TICK, i);
    }
    uint64_t most = 0;
    uint64_t moved_before = 0; /* how many nodes were moved before the slot begins */
    for (uint64_t tick = 1; tick < START; tick++) {
        assert_quiet(wheel, tick * TICK);
        const verge_wheel_stats stats = stats_of(wheel);
        most = stats.last_poll_work > most ? stats.last_poll_work : most;
        moved_before = stats.nodes_moved;
    }
    assert_true(most <= COUNT / 8);
    assert_true(moved_before >= COUNT - COUNT / 16);
    assert_true(level_stats_of(wheel, 0).active >= COUNT - COUNT / 16);
    wheel_end(wheel);
}

/* A long slot is also drained evenly over the whole block before it, with a work limit and without. */
static void a_long_slot_is_drained_evenly(void **state) {
    (void)state;
    enum { COUNT = 6400, SLOT = 4096, START = 3 * SLOT };
    static verge_timeout timeouts[COUNT];
    static const struct {
        bool has_timeouts;
        size_t work_limit;
    } kinds[] = {{true, 0}, {true, 256}, {false, 0}, {false, 256}};
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        verge_wheel_options options = options_of_levels(TICK, levels_of_64);
        options.work_limit = kinds[kind].work_limit;
        verge_wheel *wheel = wheel_new(&options);
        memset(timeouts, 0, sizeof(timeouts));
        assert_int_equal(verge_wheel_reserve(wheel, 0, COUNT), 0);
        for (size_t i = 0; i < COUNT; i++) {
            const uint64_t deadline_ns = (START + i % SLOT) * TICK;
            if (kinds[kind].has_timeouts) {
                assert_int_equal(verge_timeout_start(wheel, &timeouts[i], deadline_ns), 0);
            } else {
                (void)schedule(wheel, deadline_ns, i);
            }
        }
        uint64_t most = 0;
        uint64_t moved[START];
        for (uint64_t tick = 1; tick < START; tick++) {
            assert_quiet(wheel, tick * TICK);
            const verge_wheel_stats stats = stats_of(wheel);
            most = stats.last_poll_work > most ? stats.last_poll_work : most;
            moved[tick] = stats.nodes_moved;
        }
        assert_int_equal(moved[START - SLOT - 1], 0);
        assert_in_range(moved[START - SLOT / 2], COUNT / 4, COUNT);
        assert_in_range(moved[START - 1], COUNT - COUNT / 16, COUNT + COUNT / 16); /* a few nodes were moved twice */
        assert_in_range(most, 1, COUNT / 64);
        wheel_end(wheel);
    }
}

/* As above, in a wheel that was used at later times before, and that compact has made narrow. */
static void a_slot_is_drained_over_time_after_a_new_start(void **state) {
    (void)state;
    enum { COUNT = 6400, SLOT = 4096 };
    static verge_expiry out[COUNT];
    verge_wheel_options options = options_of_levels(TICK, levels_of_64);
    verge_wheel *wheel = wheel_new(&options);
    for (uint64_t start = UINT64_C(8) * SLOT; start > SLOT; start /= 2) {
        uint64_t most = 0;
        for (size_t i = 0; i < COUNT; i++) {
            (void)schedule(wheel, (start + i % SLOT) * TICK, i);
        }
        for (uint64_t tick = 1; tick < start; tick++) {
            assert_quiet(wheel, tick * TICK);
            most = stats_of(wheel).last_poll_work > most ? stats_of(wheel).last_poll_work : most;
        }
        assert_in_range(most, 1, COUNT / 64);
        assert_int_equal(verge_wheel_poll(wheel, (start + SLOT) * TICK, out, COUNT_OF(out)), COUNT);
        verge_wheel_compact(wheel);
        assert_int_equal(verge_wheel_set_start_time(wheel, 0), 0);
    }
    wheel_end(wheel);
}

/* As above, with slots of two ticks: about half of the nodes move before the slot begins. */
static void a_short_slot_is_drained_before_it(void **state) {
    (void)state;
    enum { COUNT = 6400, START = 10 };
    static const uint8_t bits[] = {1, 6, 0};
    const verge_wheel_options options = options_of_levels(TICK, bits);
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT; i++) {
        (void)schedule(wheel, START * TICK, i);
    }
    for (uint64_t tick = 1; tick < START; tick++) {
        assert_quiet(wheel, tick * TICK);
    }
    assert_true(stats_of(wheel).nodes_moved >= COUNT / 2 - VERGE__PORTION);
    wheel_end(wheel);
}

enum { SLOT_OF_512 = 512 }; /* ticks of a slot of the default level 1 */

/* Polls at each tick from from_tick to before to_tick. Returns the work of the poll with the most work. */
static uint64_t busiest_poll(verge_wheel *wheel, uint64_t from_tick, uint64_t to_tick) {
    uint64_t most = 0;
    for (uint64_t tick = from_tick; tick < to_tick; tick++) {
        assert_quiet(wheel, tick * TICK);
        most = stats_of(wheel).last_poll_work > most ? stats_of(wheel).last_poll_work : most;
    }
    return most;
}

/* However many nodes a slot has for each tick, no poll drains more than two portions. This also holds if compact is
 * called meanwhile. */
static void a_dense_slot_is_drained_evenly(void **state) {
    (void)state;
    enum { START = 5 * SLOT_OF_512 };
    static const size_t counts[] = {100000, 8192, 8208, 3000}; /* 8192: 16 for each tick */
    for (size_t i = 0; i < COUNT_OF(counts) * 2; i++) {
        const size_t count = counts[i / 2];
        verge_wheel *wheel = wheel_new(NULL);
        for (size_t k = 0; k < count; k++) {
            (void)schedule(wheel, (START + k % SLOT_OF_512) * TICK, k);
        }
        const uint64_t portion = (count + SLOT_OF_512 - 1) / SLOT_OF_512 + VERGE__PORTION;
        assert_in_range(busiest_poll(wheel, 1, START - SLOT_OF_512 / 2), 1, 2 * portion);
        if (i % 2 != 0) {
            verge_wheel_compact(wheel);
        }
        assert_in_range(busiest_poll(wheel, START - SLOT_OF_512 / 2, START), 1, 2 * portion);
        wheel_end(wheel);
    }
}

/* A slot gets its nodes only shortly before it begins, so there is less time to drain it. */
static void a_slot_that_fills_late_is_drained_evenly(void **state) {
    (void)state;
    enum { COUNT = 100000, START = 5 * SLOT_OF_512, LEFT = 50 };
    verge_wheel *wheel = wheel_new(NULL);
    assert_quiet(wheel, (START - LEFT) * TICK);
    for (size_t k = 0; k < COUNT; k++) { /* all timers are far enough ahead for level 1 */
        (void)schedule(wheel, (START - LEFT + SLOT_OF_512 + 8 + k % 400) * TICK, k);
    }
    assert_in_range(busiest_poll(wheel, START - LEFT + 1, START), 1, COUNT / LEFT + 2 * VERGE__PORTION);
    wheel_end(wheel);
}

/* In an ordered wheel, all timers of a tick are sorted first, and each step of the sort counts as work. */
static void an_ordered_tick_keeps_the_work_limit(void **state) {
    (void)state;
    enum { COUNT = 3000, LIMIT = 100 };
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = VERGE_ORDER_FIFO;
    options.work_limit = LIMIT;
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT; i++) {
        (void)schedule(wheel, TICK, i);
    }
    verge_expiry out[COUNT];
    size_t fired = 0;
    for (size_t polls = 1; fired < COUNT; polls++) {
        const size_t count = verge_wheel_poll(wheel, 2 * TICK, out, COUNT);
        assert_in_range(stats_of(wheel).last_poll_work, count, LIMIT);
        assert_true(polls > COUNT / LIMIT || count == 0); /* before the first timer comes out, all were looked at */
        fired += count;
    }
    wheel_end(wheel);
}

int main(void) {
    static verge_order any = VERGE_ORDER_ANY;
    static verge_order fifo = VERGE_ORDER_FIFO;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_one_with_many_due_in_one_tick),
        cmocka_unit_test(limit_of_one_while_time_goes_on),
        cmocka_unit_test(a_limit_never_makes_a_timer_wait_a_rotation),
        cmocka_unit_test(a_backlog_does_not_shorten_the_reach),
        cmocka_unit_test(a_backlog_may_be_compacted),
        cmocka_unit_test(a_work_limit_is_kept),
        cmocka_unit_test(work_is_spread_over_the_time_before),
        cmocka_unit_test(poll_exact_and_to_next_keep_the_work_limit),
        cmocka_unit_test(a_long_slot_is_drained_evenly),
        cmocka_unit_test(a_slot_is_drained_over_time_after_a_new_start),
        cmocka_unit_test(a_short_slot_is_drained_before_it),
        cmocka_unit_test(a_dense_slot_is_drained_evenly),
        cmocka_unit_test(a_slot_that_fills_late_is_drained_evenly),
        cmocka_unit_test(an_ordered_tick_keeps_the_work_limit),
        {"a_slot_is_drained_over_the_time_before_it", a_slot_is_drained_over_the_time_before_it, NULL, NULL, &any},
        {"a_slot_is_drained_over_the_time_before_it_fifo", a_slot_is_drained_over_the_time_before_it, NULL, NULL,
         &fifo},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
