/* SPDX-License-Identifier: MIT */
/*
 * G7: idle nodes, which cancelled and moved timers leave behind, are never more than 3,072. This holds in a storm of
 * cancels, in a backlog, in ordered wheels, and when the pending timers have gone. Idle nodes do no harm: they are no
 * backlog, they hold up no poll, and each costs a poll no more work than any node.
 */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

enum { IDLE_MAX = 3072 };

static verge_expiry out[100000];

static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};

static void assert_bounded(const verge_wheel *wheel) {
    const verge_wheel_stats stats = stats_of(wheel);
    if (stats.idle > IDLE_MAX) {
        fail_msg("%zu timers, %zu idle nodes", (size_t)stats.timers, (size_t)stats.idle);
    }
}

static verge_wheel *wheel_with(verge_order order, size_t work_limit) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    options.work_limit = work_limit;
    return wheel_new(&options);
}

static verge_timer *schedule_many(verge_wheel *wheel, size_t count, uint64_t deadline_ns, uint64_t step_ns) {
    verge_timer *timers = calloc(count, sizeof(*timers));
    assert_non_null(timers);
    for (size_t i = 0; i < count; i++) {
        timers[i] = schedule(wheel, deadline_ns + i * step_ns, i);
    }
    return timers;
}

/* Cancels all timers that have not come out. Neighbours in the array are not cancelled one after the other. count must
 * not be a multiple of 7919. */
static void cancel_many(verge_wheel *wheel, verge_timer *timers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const int error = verge_wheel_cancel(wheel, timers[i * 7919 % count], NULL);
        assert_true(error == 0 || error == -ENOENT);
        assert_bounded(wheel);
    }
    free(timers);
}

/* Polls until `count` timers have come out. The work of each poll must be within work_limit, if that is not 0. */
static uint64_t poll_all(verge_wheel *wheel, uint64_t now_ns, size_t count, size_t limit, size_t work_limit) {
    uint64_t work = 0;
    while (count > 0) {
        const size_t returned = verge_wheel_poll(wheel, now_ns, out, limit);
        count -= returned < count ? returned : count;
        assert_bounded(wheel);
        const uint64_t work_now = stats_of(wheel).last_poll_work;
        assert_true(work_limit == 0 || work_now <= work_limit);
        work += work_now;
    }
    return work;
}

/* ---- how many idle nodes there are ---- */

/* All timers are cancelled, one by one, in all levels. */
static void a_storm_of_cancels(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        verge_wheel *wheel = wheel_with(orders[i], 0);
        const size_t count = test_scaled(200000);
        static const uint64_t steps_ns[] = {0, TICK / 100, TICK, SECOND, HOUR};
        for (size_t k = 0; k < COUNT_OF(steps_ns); k++) {
            cancel_many(wheel, schedule_many(wheel, count, 10 * TICK, steps_ns[k]), count);
            assert_int_equal(verge_wheel_count(wheel), 0);
            assert_well(wheel);
        }
        wheel_end(wheel);
    }
}

/* A few pending timers, and beside them timers that come and go: ever earlier, ever later, and at random times. */
static void a_storm_of_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        verge_wheel *wheel = wheel_with(orders[i], 0);
        struct verge_test_random random = verge_test_random_from(verge_test_seed(7));
        free(schedule_many(wheel, 100, DAY, TICK));
        const size_t count = test_scaled(300000);
        for (size_t n = 0; n < count; n++) {
            const uint64_t now_ns = verge_wheel_now(wheel);
            const uint64_t ticks = n % 3 == 0 ? n : n % 3 == 1 ? count - n : verge_test_below(&random, count);
            const verge_timer timer = schedule(wheel, now_ns + (10 + ticks) * TICK, n);
            if (n % 5 == 0) {
                assert_int_equal(verge_wheel_reset(wheel, timer, now_ns + (5 + ticks / 2) * TICK), 0);
            }
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
            assert_bounded(wheel);
            if (n % 64 == 0) {
                assert_quiet(wheel, now_ns + TICK);
            }
        }
        assert_int_equal(verge_wheel_count(wheel), 100);
        wheel_end(wheel);
    }
}

/* Of the due timers, one was handed out, or many; with a work limit, perhaps none. All others are cancelled: timers
 * that are sorted or will be, past timers, and timers in the slots of ticks that have come but were not taken. */
static void a_storm_of_cancels_in_a_backlog(void **state) {
    (void)state;
    static const size_t work_limits[] = {0, 1, 100, 5000};
    const size_t count = test_scaled(30000);
    for (size_t i = 0; i < COUNT_OF(orders) * COUNT_OF(work_limits); i++) {
        const size_t work_limit = work_limits[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_with(orders[i % COUNT_OF(orders)], work_limit);
        assert_quiet(wheel, 100 * TICK);
        verge_timer *one_tick = schedule_many(wheel, count, 110 * TICK, 0);
        verge_timer *some_ticks = schedule_many(wheel, count, 111 * TICK, TICK / 1000);
        verge_timer *past = schedule_many(wheel, count, 50 * TICK, 0);
        assert_true(verge_wheel_poll(wheel, 200 * TICK, out, i % 2 == 0 ? 1 : count / 2) > 0 || work_limit != 0);
        cancel_many(wheel, past, count);
        (void)verge_wheel_poll(wheel, 200 * TICK, out, 1);
        cancel_many(wheel, one_tick, count);
        (void)verge_wheel_poll(wheel, 200 * TICK, out, 1);
        cancel_many(wheel, some_ticks, count);
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_false(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        wheel_end(wheel);
    }
}

/* The pending timers expire, and the idle nodes are still bounded. */
static void when_the_pending_ones_have_gone(void **state) {
    (void)state;
    static const size_t work_limits[] = {0, 1, 1000, 50000, 1000000};
    const size_t count = test_scaled(100000);
    for (size_t i = 0; i < COUNT_OF(work_limits) * COUNT_OF(orders); i++) {
        const size_t work_limit = work_limits[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_with(orders[i % COUNT_OF(orders)], work_limit);
        free(schedule_many(wheel, count, 10 * TICK, TICK / 5000));
        cancel_many(wheel, schedule_many(wheel, count / 3, HOUR, TICK), count / 3);
        (void)poll_all(wheel, 60 * TICK, count, COUNT_OF(out), work_limit);
        assert_int_equal(verge_wheel_count(wheel), 0);
        wheel_end(wheel);
    }
}

/* Timers that are filed beyond the reach of the levels, because a backlog holds the cursor back, are cancelled when the
 * backlog has gone. */
static void beyond_the_reach(void **state) {
    (void)state;
    const size_t count = test_scaled(50000);
    static const uint8_t bits[] = {6, 6, 0};
    verge_wheel_options options = options_of_levels(TICK, bits);
    options.work_limit = count * 9 / 10;
    verge_wheel *wheel = wheel_new(&options);
    assert_quiet(wheel, 100 * TICK);
    free(schedule_many(wheel, 20, 150 * TICK, 0));
    assert_int_equal(verge_wheel_poll(wheel, 200 * TICK, out, 1), 1);
    (void)schedule(wheel, 4290 * TICK, 0);
    assert_int_equal(verge_wheel_poll(wheel, 8000 * TICK, out, 1), 1);
    verge_timer *timers = schedule_many(wheel, count, 12000 * TICK, 0);
    assert_true(verge_wheel_poll(wheel, 8000 * TICK, out, 20) > 0);
    cancel_many(wheel, timers, count);
    wheel_end(wheel);
}

/* compact leaves no idle node. */
static void compact_drops_all_of_it(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        verge_wheel *wheel = wheel_with(orders[i], 0);
        free(schedule_many(wheel, 1000, SECOND, TICK));
        cancel_many(wheel, schedule_many(wheel, 5000, SECOND, TICK), 5000);
        verge_wheel_compact(wheel);
        assert_int_equal(stats_of(wheel).idle, 0);
        assert_int_equal(stats_of(wheel).linked, 1000);
        wheel_end(wheel);
    }
}

/* ---- what idle nodes do ---- */

/* A due timer is cancelled before it was handed out: nothing is due then. The timer may be in its slot, in a slot whose
 * tick has come and was not taken, past, or sorted. It may be alone, or beside timers that were handed out. */
static void a_cancelled_due_timer_is_no_backlog(void **state) {
    (void)state;
    enum { TIMERS = 3 };
    static const uint64_t deadlines_ns[][TIMERS] = {
        {10 * TICK, 10 * TICK, 10 * TICK}, {10 * TICK, 11 * TICK, 12 * TICK},
        {5 * TICK, 4 * TICK, 3 * TICK},                                            /* past */
        {5 * TICK, 10 * TICK, 11 * TICK},  {10 * TICK, 600 * TICK, 140000 * TICK}, /* in several levels */
    };
    for (size_t i = 0; i < COUNT_OF(orders) * COUNT_OF(deadlines_ns) * 3; i++) {
        verge_wheel *wheel = wheel_with(orders[i % COUNT_OF(orders)], 0);
        const uint64_t *deadline_ns = deadlines_ns[i / COUNT_OF(orders) % COUNT_OF(deadlines_ns)];
        const size_t limit = i / COUNT_OF(orders) / COUNT_OF(deadlines_ns);
        verge_timer timers[TIMERS];
        assert_quiet(wheel, 8 * TICK);
        for (size_t k = 0; k < TIMERS; k++) {
            timers[k] = schedule(wheel, deadline_ns[k], k);
        }
        assert_int_equal(verge_wheel_poll(wheel, SECOND * 200, out, limit), limit);
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_wakeup(wheel), SECOND * 200);
        for (size_t k = 0; k < TIMERS; k++) {
            (void)verge_wheel_cancel(wheel, timers[k], NULL);
            assert_int_equal(verge_wheel_has_backlog(wheel), verge_wheel_count(wheel) > 0);
        }
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_quiet(wheel, SECOND * 200);
        assert_int_equal(stats_of(wheel).last_poll_work, 0);
        wheel_end(wheel);
    }
}

/* As above, but the due timer is moved to a later time. */
static void a_due_timer_that_is_moved_is_no_backlog(void **state) {
    (void)state;
    static const uint64_t later_ns[] = {21 * TICK, 30 * TICK, SECOND, DAY, 30 * DAY};
    for (size_t i = 0; i < COUNT_OF(orders) * COUNT_OF(later_ns); i++) {
        verge_wheel *wheel = wheel_with(orders[i % COUNT_OF(orders)], 0);
        const uint64_t moved_ns = later_ns[i / COUNT_OF(orders)];
        const verge_timer timers[] = {schedule(wheel, 20 * TICK, 0), schedule(wheel, 20 * TICK, 1)};
        assert_int_equal(verge_wheel_poll(wheel, 20 * TICK, out, 1), 1);
        const verge_timer left = timers[1 - number_of(out[0].data)];
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_reset(wheel, left, moved_ns), 0);
        assert_quiet(wheel, 20 * TICK); /* the timer does not come out at its old tick */
        assert_false(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_deadline(wheel), moved_ns);
        assert_quiet(wheel, moved_ns - 1);
        assert_fires(wheel, moved_ns + TICK, left);
        wheel_end(wheel);
    }
}

/* Sorted timers are not sorted again because of idle nodes elsewhere. */
static void idle_nodes_do_not_make_a_sorted_tick_dearer(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static const size_t limits[][2] = {{300, 0}, {50000, 1}, {50000, 100}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t work[2];
        for (size_t with_idle = 0; with_idle < 2; with_idle++) {
            verge_wheel *wheel = wheel_with(VERGE_ORDER_FIFO, limits[i][1]);
            const size_t cancelled = with_idle * (COUNT * 3 / 8);
            verge_timer *timers = schedule_many(wheel, cancelled + 1, HOUR, TICK);
            free(schedule_many(wheel, COUNT, 10 * TICK, 0));
            cancel_many(wheel, timers, cancelled + 1);
            work[with_idle] = poll_all(wheel, 20 * TICK, COUNT, limits[i][0], limits[i][1]);
            wheel_end(wheel);
        }
        assert_true(work[1] <= work[0] + work[0] / 2);
    }
}

/* An upper slot with many idle nodes is drained a little at each tick. */
static void a_slot_with_idle_nodes_comes_down_by_and_by(void **state) {
    (void)state;
    enum { COUNT = 60000, CANCELLED = COUNT / 2, SLOT = 1 << 17 };
    verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, 0);
    verge_timer *timers = schedule_many(wheel, CANCELLED, SLOT * TICK, TICK / 8);
    free(schedule_many(wheel, COUNT, SLOT * TICK, TICK / 16));
    cancel_many(wheel, timers, CANCELLED);
    for (uint64_t tick = 101; tick < SLOT + 10; tick++) {
        const size_t count = verge_wheel_poll(wheel, tick * TICK, out, COUNT_OF(out));
        assert_true(stats_of(wheel).last_poll_work - count < COUNT / 10);
    }
    wheel_end(wheel);
}

/* poll_to_next with a work limit returns timers that are due, although there are many idle nodes. */
static void poll_to_next_returns_what_is_due_beside_idle_nodes(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, 1000);
    assert_quiet(wheel, 100 * TICK);
    const size_t pending = test_scaled(100000);
    free(schedule_many(wheel, pending, 9000000 * TICK, 0));
    const size_t cancelled = pending * 37 / 100;
    verge_timer *timers = schedule_many(wheel, cancelled, 5000000 * TICK, TICK);
    free(schedule_many(wheel, 600, 110 * TICK - 500, 0));
    cancel_many(wheel, timers, cancelled);
    assert_true(verge_wheel_poll_to_next(wheel, 1000 * TICK, out, COUNT_OF(out)) > 0);
    wheel_end(wheel);
}

/* ---- what idle nodes are for ---- */

/* A new timer that takes an idle node leaves the node in its slot, if the node comes up early enough there. */
static void a_request_moves_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    (void)schedule(wheel, SECOND, 0); /* so that the timers below are not the earliest */
    verge_timer timer = schedule(wheel, 30 * SECOND, 1);
    const verge__node *node = &verge__nodes_at(&wheel->nodes, verge__handle_index(timer))->timer.node;
    verge__node *const *place = node->pprev;
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        assert_int_equal(stats_of(wheel).idle, 1);
        timer = schedule(wheel, 30 * SECOND + i * TICK, 1);
        assert_int_equal(stats_of(wheel).idle, 0);
        assert_ptr_equal(node->pprev, place);
        assert_int_equal(stats_of(wheel).linked, 2);
    }
    assert_well(wheel);
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 1), 1);
    assert_quiet(wheel, 30 * SECOND + 499 * TICK - 1);
    assert_fires(wheel, 30 * SECOND + 500 * TICK, timer);
    wheel_end(wheel);
}

/* Each timer comes out once, whether nodes are kept or withdrawn. */
static void none_is_lost_in_a_storm(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static verge_timer timers[COUNT];
    struct verge_test_random random = verge_test_random_from(verge_test_seed(3));
    static const size_t idle_max[] = {0, 8, 300, VERGE__IDLE_MAX};
    for (size_t i = 0; i < COUNT_OF(orders) * COUNT_OF(idle_max); i++) {
        verge__idle_max = idle_max[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_with(orders[i % COUNT_OF(orders)], 0);
        memset(timers, 0, sizeof(timers));
        for (size_t round = 0; round < test_scaled(300) / 10; round++) {
            const uint64_t now_ns = verge_wheel_now(wheel);
            for (size_t n = 0; n < COUNT; n++) {
                const size_t which = (size_t)verge_test_below(&random, COUNT);
                if (timers[which] != 0 && verge_test_chance(&random, 2)) {
                    assert_int_equal(verge_wheel_cancel(wheel, timers[which], NULL), 0);
                    timers[which] = 0;
                }
                const uint64_t deadline_ns =
                    now_ns + verge_test_below(&random, 6) * 40 * TICK; /* few different ticks, so that lists are long */
                assert_int_equal(verge_wheel_start_or_reset(wheel, &timers[which], deadline_ns, data_of(which)), 0);
            }
            assert_well(wheel);
            assert_bounded(wheel);
            const uint64_t then_ns = now_ns + verge_test_below(&random, 60) * TICK;
            const size_t limit = (size_t)verge_test_below(&random, COUNT);
            const size_t count = verge_wheel_poll(wheel, then_ns, out, limit);
            for (size_t k = 0; k < count; k++) {
                assert_int_equal(timers[number_of(out[k].data)], out[k].timer);
                assert_true(out[k].deadline_ns <= then_ns);
                timers[number_of(out[k].data)] = 0;
            }
            assert_well(wheel);
            for (size_t which = 0; which < COUNT && !verge_wheel_has_backlog(wheel); which++) {
                verge_expiry expiry = {.deadline_ns = then_ns};
                assert_int_equal(timers[which] == 0 ? 0 : verge_wheel_get(wheel, timers[which], &expiry), 0);
                assert_true(expiry.deadline_ns > then_ns || then_ns - expiry.deadline_ns < TICK);
            }
        }
        wheel_end(wheel);
    }
    verge__idle_max = VERGE__IDLE_MAX;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storm_of_cancels),
        cmocka_unit_test(a_storm_of_requests),
        cmocka_unit_test(a_storm_of_cancels_in_a_backlog),
        cmocka_unit_test(when_the_pending_ones_have_gone),
        cmocka_unit_test(beyond_the_reach),
        cmocka_unit_test(compact_drops_all_of_it),
        cmocka_unit_test(a_cancelled_due_timer_is_no_backlog),
        cmocka_unit_test(a_due_timer_that_is_moved_is_no_backlog),
        cmocka_unit_test(idle_nodes_do_not_make_a_sorted_tick_dearer),
        cmocka_unit_test(a_slot_with_idle_nodes_comes_down_by_and_by),
        cmocka_unit_test(poll_to_next_returns_what_is_due_beside_idle_nodes),
        cmocka_unit_test(a_request_moves_nothing),
        cmocka_unit_test(none_is_lost_in_a_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
