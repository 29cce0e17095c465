/* SPDX-License-Identifier: MIT */
/* Timeouts: start, pause, cancel; and the promises G1 to G6 and G8 for timeouts, in wheels that also have handles. */
#include "wheel/timeouts.h"

/* ---- life ---- */

static void a_life(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = timeout_new(7);
        assert_int_equal(verge_wheel_count(wheel), 0);
        timeout_start(wheel, timeout, 10 * TICK);
        assert_int_equal(verge_wheel_count(wheel), 1);
        assert_quiet(wheel, 10 * TICK - 1);
        assert_strikes(wheel, 10 * TICK, timeout, 7);
        assert_int_equal(verge_wheel_count(wheel), 0);
        timeout_start(wheel, timeout, 20 * TICK); /* a timeout that came out is started again */
        timeout_start(wheel, timeout, 30 * TICK); /* a later deadline */
        assert_quiet(wheel, 29 * TICK);
        assert_strikes(wheel, 30 * TICK, timeout, 7);
        timeout_start(wheel, timeout, 50 * TICK);
        timeout_start(wheel, timeout, 40 * TICK); /* an earlier deadline */
        assert_strikes(wheel, 49 * TICK, timeout, 7);
        assert_quiet(wheel, 60 * TICK);
        timeout_start(wheel, timeout, 70 * TICK);
        timeout_cancel(wheel, timeout);
        assert_quiet(wheel, 80 * TICK);
        timeout_start(wheel, timeout, 90 * TICK);
        assert_well(wheel);
        timeout_end(wheel, timeout); /* frees it while it is pending */
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_quiet(wheel, 100 * TICK);
        const verge_wheel_stats stats = stats_of(wheel);
        assert_int_equal(stats.started, 5);
        assert_int_equal(stats.expired, 3);
        assert_int_equal(stats.cancelled, 2);
        wheel_end(wheel);
    }
}

/* Zeroed memory is a timeout that is not started. */
static void zeroed_memory_is_not_set(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(timeout_orders); order++) {
        verge_wheel_options options = options_with(timeout_orders[order]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = timeout_new(5);
        assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
        assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT);
        for (uint64_t round = 1; round < 4; round++) {
            timeout_start(wheel, timeout, round * HOUR);
            assert_strikes(wheel, round * HOUR + TICK, timeout, 5);
            assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT);
        }
        free(timeout); /* it came out: the wheel does not access it any more */
        assert_quiet(wheel, DAY);
        wheel_end(wheel);
    }
}

/* A timeout that was cancelled, or returned by a poll, may be used with another wheel. */
static void from_wheel_to_wheel(void **state) {
    (void)state;
    verge_wheel *wheels[] = {wheel_new(NULL), wheel_new(NULL)};
    verge_timeout *timeout = timeout_new(1);
    for (size_t i = 0; i < 10; i++) {
        verge_wheel *wheel = wheels[i % 2];
        const uint64_t now_ns = verge_wheel_now(wheel);
        timeout_start(wheel, timeout, now_ns + 5 * TICK);
        assert_strikes(wheel, now_ns + 5 * TICK, timeout, 1);
        timeout_start(wheel, timeout, now_ns + 9 * TICK);
        if (i % 3 == 0) { /* pause may leave the node in the wheel; cancel withdraws it */
            timeout_pause(wheel, timeout);
            assert_int_equal(verge_timeout_cancel(wheel, timeout), -ENOENT);
        } else {
            timeout_cancel(wheel, timeout);
        }
        assert_quiet(wheel, now_ns + 20 * TICK);
        assert_int_equal(stats_of(wheel).linked, 0);
    }
    free(timeout);
    wheel_end(wheels[0]);
    wheel_end(wheels[1]);
}

static void a_wheel_may_end_before_them(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        struct verge_test_allocator memory;
        verge_test_allocator_init(&memory);
        verge_wheel_options options = options_with(timeout_orders[i]);
        options.allocator = &memory.allocator;
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *idle = timeout_new(1);
        verge_timeout *pending = timeout_new(2);
        timeout_start(wheel, pending, HOUR);
        timeout_start(wheel, idle, HOUR);
        timeout_cancel(wheel, idle); /* withdraws the node, so the memory may be freed */
        free(idle);
        assert_well(wheel);
        verge_wheel_destroy(wheel);
        free(pending);
        verge_test_allocator_assert_empty(&memory);
    }
}

/* ---- beside timers that have handles ---- */

/* Timers and timeouts of one tick are started in turn. Even numbers are timeouts, whose .timer is 0. */
static void order_beside_handles(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        enum { COUNT = 200, MOVED = 11 };
        verge_timeout *timeouts[COUNT] = {0};
        for (uintptr_t k = 0; k < COUNT; k++) {
            const uint64_t deadline_ns = 50 * TICK - k * 1000; /* all deadlines are of one tick */
            if (k % 2 == 0) {
                timeouts[k] = timeout_new(k);
                timeout_start(wheel, timeouts[k], deadline_ns + (k % 4 == 0 ? 10 * TICK : 0)); /* some are moved */
                timeout_start(wheel, timeouts[k], deadline_ns);
            } else {
                (void)schedule(wheel, deadline_ns, k);
            }
        }
        verge_expiry out[COUNT + 1];
        assert_int_equal(verge_wheel_poll(wheel, 50 * TICK, out, MOVED), MOVED);
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_deadline(wheel), 50 * TICK);
        assert_int_equal(verge_wheel_poll(wheel, 50 * TICK, out + MOVED, COUNT), COUNT - MOVED);
        bool seen[COUNT] = {false};
        for (size_t k = 0; k < COUNT; k++) {
            const uintptr_t number = number_of_expiry(&out[k]);
            assert_false(seen[number]);
            seen[number] = true;
            assert_int_equal(out[k].timer == 0, number % 2 == 0);
            if (timeout_orders[i] != VERGE_ORDER_ANY) {
                assert_int_equal(number, timeout_orders[i] == VERGE_ORDER_FIFO ? k : COUNT - 1 - k);
            }
        }
        for (size_t k = 0; k < COUNT; k += 2) {
            assert_int_equal(verge_timeout_deadline(timeouts[k]), VERGE_NEVER);
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* Timeouts that are sorted already are cancelled and started again, moved, or freed, and their memory is used again. */
static void changed_while_it_is_sorted(void **state) {
    (void)state;
    for (size_t i = 1; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts[10];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(k);
            timeout_start(wheel, timeouts[k], 10 * TICK - 100 + k);
        }
        verge_expiry out[COUNT_OF(timeouts)];
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1); /* the others are sorted */
        timeout_cancel(wheel, timeouts[2]);
        timeout_start(wheel, timeouts[2], 10 * TICK - 50); /* for a past time: it comes out first */
        timeout_start(wheel, timeouts[3], 20 * TICK);
        timeout_end(wheel, timeouts[4]);
        timeouts[4] = timeout_new(40); /* probably in the memory of the freed one */
        timeout_start(wheel, timeouts[4], 20 * TICK);
        timeout_cancel(wheel, timeouts[5]);
        timeout_end(wheel, timeouts[6]);
        assert_well(wheel);
        ASSERT_FIRES_IN_ORDER(wheel, 10 * TICK, 2, 1, 7, 8, 9);
        ASSERT_FIRES_IN_ORDER(wheel, 20 * TICK, 3, 40);
        assert_quiet(wheel, HOUR);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            if (k != 6) {
                timeout_end(wheel, timeouts[k]);
            }
        }
        wheel_end(wheel);
    }
}

/* ---- next ---- */

static void the_next_deadline(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *first = timeout_new(1);
        verge_timeout *second = timeout_new(2);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        timeout_start(wheel, first, 100 * TICK - 5);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        assert_true(verge_wheel_next_wakeup(wheel) <= 100 * TICK);
        const verge_timer timer = schedule(wheel, 100 * TICK - 3, 3);
        timeout_start(wheel, second, 100 * TICK - 4);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        timeout_cancel(wheel, first);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 4);
        timeout_end(wheel, second);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        second = timeout_new(2); /* probably in the memory of the earliest one */
        timeout_start(wheel, second, 200 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        timeout_start(wheel, first, 100 * TICK - 5);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        timeout_start(wheel, first, 300 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        uint64_t interval = 0;
        assert_int_equal(verge_wheel_first_interval(wheel, &interval, NULL, NULL), 0);
        assert_int_equal(interval, 200);
        assert_strikes(wheel, 250 * TICK, second, 2);
        assert_int_equal(verge_wheel_next_deadline(wheel), 300 * TICK);
        assert_strikes(wheel, 300 * TICK, first, 1);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_first_interval(wheel, NULL, NULL, NULL), -ENOENT);
        timeout_end(wheel, first);
        timeout_end(wheel, second);
        wheel_end(wheel);
    }
}

/* The wheel knows the earliest deadline. Its timeout may be freed, and another may be in its memory. */
static void the_earliest_is_freed(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *late = timeout_new(1);
    verge_timeout *early = timeout_new(2);
    timeout_start(wheel, late, 2 * HOUR);
    timeout_start(wheel, early, HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), HOUR);
    timeout_end(wheel, early);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    early = timeout_new(3);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    timeout_start(wheel, early, 3 * HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    timeout_cancel(wheel, late);
    assert_int_equal(verge_wheel_next_deadline(wheel), 3 * HOUR);
    verge_wheel_cancel_all(wheel);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    timeout_start(wheel, late, 4 * HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), 4 * HOUR);
    timeout_end(wheel, early);
    timeout_end(wheel, late);
    wheel_end(wheel);
}

static void poll_exact_and_to_next(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[4];
        verge_timeout *timeouts[3];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(k);
            timeout_start(wheel, timeouts[k], 10 * TICK + 100 * (k + 1));
        }
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 99, out, COUNT_OF(out)), 0);
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 100, out, COUNT_OF(out)), 1);
        assert_int_equal(number_of_expiry(&out[0]), 0);
        assert_int_equal(out[0].timer, 0);
        timeout_start(wheel, timeouts[0], 10 * TICK + 250); /* is started again, in the tick under way */
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 300, out, 1), 1);
        for (size_t k = 0; k < COUNT_OF(timeouts); k++) { /* two are due, and were not returned */
            const bool is_returned = k == number_of_expiry(&out[0]);
            assert_int_equal(verge_timeout_deadline(timeouts[k]) == VERGE_NEVER, is_returned);
        }
        assert_int_equal(verge_timeout_cancel(wheel, timeouts[0]), number_of_expiry(&out[0]) == 0 ? -ENOENT : 0);
        timeout_end(wheel, timeouts[2]);
        timeouts[2] = timeout_new(2);
        timeout_start(wheel, timeouts[2], 10 * TICK + 500);
        timeout_start(wheel, timeouts[1], 10 * TICK + 600);
        timeout_start(wheel, timeouts[0], 10 * TICK + 700);
        assert_well(wheel);
        for (size_t k = 0; k < 3; k++) {
            static const uintptr_t expected[] = {2, 1, 0};
            assert_int_equal(verge_wheel_poll_to_next(wheel, HOUR, out, COUNT_OF(out)), 1);
            assert_int_equal(verge_wheel_now(wheel), 10 * TICK + 500 + 100 * k);
            assert_int_equal(number_of_expiry(&out[0]), expected[k]);
            assert_int_equal(out[0].timer, 0);
        }
        assert_int_equal(verge_wheel_poll_to_next(wheel, HOUR, out, COUNT_OF(out)), 0);
        for (size_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* ---- cancel_all, the wheel's start, iterate ---- */

static void clear_of_the_wheel(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *idle = timeout_new(1);
        verge_timeout *pending = timeout_new(2);
        verge_timeout *cleared = timeout_new(3);
        (void)schedule(wheel, HOUR, 4);
        timeout_start(wheel, pending, 1000 * TICK);
        timeout_start(wheel, cleared, 1000 * TICK);
        timeout_pause(wheel, cleared);
        verge_wheel_cancel_all(wheel);
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_int_equal(stats_of(wheel).cancelled, 3);
        assert_int_equal(stats_of(wheel).linked, 0);
        assert_int_equal(verge_timeout_deadline(pending), VERGE_NEVER);
        assert_int_equal(verge_timeout_cancel(wheel, pending), -ENOENT);
        assert_well(wheel);
        timeout_start(wheel, idle, 1500 * TICK); /* the wheel has forgotten all three */
        timeout_start(wheel, pending, 1600 * TICK);
        timeout_start(wheel, cleared, 1700 * TICK);
        assert_well(wheel);
        assert_strikes(wheel, 1500 * TICK, idle, 1);
        assert_strikes(wheel, 1600 * TICK, pending, 2);
        assert_strikes(wheel, 1700 * TICK, cleared, 3);
        timeout_end(wheel, idle);
        timeout_end(wheel, pending);
        timeout_end(wheel, cleared);
        wheel_end(wheel);
    }
}

/* The wheel's start cannot be moved while a timeout is pending. Afterwards, the old deadlines come again, without
 * effect. */
static void another_start(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 10000 * TICK);
    verge_timeout *timeout = timeout_new(1);
    verge_timeout *other = timeout_new(2);
    timeout_start(wheel, timeout, 10000 * TICK + 1000 * TICK);
    timeout_start(wheel, other, 10000 * TICK + 2000 * TICK);
    assert_int_equal(verge_wheel_set_start_time(wheel, 0), -EBUSY);
    assert_strikes(wheel, 10000 * TICK + 1000 * TICK, timeout, 1);
    assert_int_equal(verge_wheel_set_start_time(wheel, 0), -EBUSY);
    timeout_pause(wheel, other);
    assert_int_equal(stats_of(wheel).idle, 1);
    assert_int_equal(verge_wheel_set_start_time(wheel, 10000 * TICK - 10 * TICK), 0);
    timeout_start(wheel, timeout, 10000 * TICK + 1100 * TICK);
    timeout_start(wheel, other, 10000 * TICK + 2100 * TICK);
    assert_well(wheel);
    assert_quiet(wheel, 10000 * TICK + 1000 * TICK);
    assert_strikes(wheel, 10000 * TICK + 1100 * TICK, timeout, 1);
    assert_quiet(wheel, 10000 * TICK + 2000 * TICK);
    assert_strikes(wheel, 10000 * TICK + 2100 * TICK, other, 2);
    timeout_end(wheel, timeout);
    timeout_end(wheel, other);
    wheel_end(wheel);
}

static int end_and_start_anew(void *context, const verge_expiry *timer) {
    verge_wheel *wheel = context;
    verge_timeout *timeout = timer->data;
    timeout_cancel(wheel, timeout);
    assert_int_equal(verge_wheel_set_start_time(wheel, 0), -EBUSY);
    assert_int_equal(verge_wheel_start_time(wheel), 1000 * TICK);
    timeout_start(wheel, timeout, 1005 * TICK);
    return 1;
}

static void another_start_inside_a_visit(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 1000 * TICK);
    verge_timeout *timeout = timeout_new(1);
    timeout_start(wheel, timeout, 2000 * TICK);
    assert_int_equal(verge_wheel_iterate(wheel, end_and_start_anew, wheel), 1);
    assert_well(wheel);
    assert_strikes(wheel, 1005 * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

struct visit {
    verge_wheel *wheel;
    verge_timeout *timeouts[100];
    unsigned seen[200];
    bool was_missed[100]; /* ended before it was visited */
    size_t count;
    bool changes;
};

/* Ends the visited timeout and those next to it, and starts another. */
static void change_on_the_way(struct visit *visit, size_t number) {
    for (size_t i = number < 2 ? 0 : number - 2; i <= number + 2 && i < COUNT_OF(visit->timeouts); i += 2) {
        if (visit->timeouts[i] != NULL) {
            timeout_end(visit->wheel, visit->timeouts[i]);
            visit->timeouts[i] = NULL;
            visit->was_missed[i] = visit->seen[i] == 0;
        }
    }
    verge_timeout *newcomer = timeout_new(number + 100);
    timeout_start(visit->wheel, newcomer, HOUR);
    visit->timeouts[number] = newcomer;
}

static int visit_one(void *context, const verge_expiry *timer) {
    struct visit *visit = context;
    const uintptr_t number = number_of_expiry(timer);
    visit->seen[number]++;
    visit->count++;
    assert_int_equal(timer->deadline_ns, HOUR);
    assert_int_equal(timer->timer == 0, number % 2 == 0 || number >= 100);
    if (visit->changes && timer->timer == 0 && number < 100) {
        change_on_the_way(visit, number);
    }
    return visit->count == 1000 ? 1 : 0;
}

static void iterate(void **state) {
    (void)state;
    for (int changes = 0; changes < 2; changes++) {
        struct visit visit = {.wheel = wheel_new(NULL), .changes = changes != 0};
        for (size_t i = 1; i < COUNT_OF(visit.timeouts); i += 2) {
            (void)schedule(visit.wheel, HOUR, i);
        }
        /* These timeouts lie next to each other in their list. */
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i += 2) {
            visit.timeouts[i] = timeout_new(i);
            if (i % 10 != 0) {
                timeout_start(visit.wheel, visit.timeouts[i], HOUR);
            }
        }
        assert_int_equal(verge_wheel_iterate(visit.wheel, visit_one, &visit), 0);
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i++) {
            assert_int_equal(visit.seen[i], i % 10 != 0 && !visit.was_missed[i]); /* pending ones, and once */
            assert_true(visit.seen[i + 100] <= 1);
        }
        assert_well(visit.wheel);
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i++) {
            if (visit.timeouts[i] != NULL) {
                timeout_end(visit.wheel, visit.timeouts[i]);
            }
        }
        assert_int_equal(verge_wheel_count(visit.wheel), 50);
        wheel_end(visit.wheel);
    }
}

/* ---- limits ---- */

/* Each poll keeps to a small work limit, and in the end each timer has come out once. */
static void within_a_work_limit(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders) * 2; i++) {
        enum { COUNT = 1000, WORK_LIMIT = 7 };
        verge_wheel_options options = options_with(timeout_orders[i % COUNT_OF(timeout_orders)]);
        options.work_limit = i < COUNT_OF(timeout_orders) ? WORK_LIMIT : 1;
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts[COUNT];
        for (uintptr_t k = 0; k < COUNT; k++) {
            timeouts[k] = timeout_new(k);
            timeout_start(wheel, timeouts[k], (50 + k % 3) * TICK);
        }
        size_t count = 0;
        while (verge_wheel_count(wheel) > 0) {
            verge_expiry out[4];
            const size_t returned = verge_wheel_poll(wheel, 60 * TICK, out, COUNT_OF(out));
            assert_true(stats_of(wheel).last_poll_work <= options.work_limit);
            for (size_t k = 0; k < returned; k++) {
                const uintptr_t number = number_of_expiry(&out[k]);
                assert_int_equal(out[k].timer, 0);
                assert_int_equal(verge_timeout_cancel(wheel, timeouts[number]), -ENOENT);
                timeout_end(wheel, timeouts[number]);
            }
            count += returned;
        }
        assert_int_equal(count, COUNT);
        assert_int_equal(stats_of(wheel).expired, COUNT);
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life),
        cmocka_unit_test(zeroed_memory_is_not_set),
        cmocka_unit_test(from_wheel_to_wheel),
        cmocka_unit_test(a_wheel_may_end_before_them),
        cmocka_unit_test(order_beside_handles),
        cmocka_unit_test(changed_while_it_is_sorted),
        cmocka_unit_test(the_next_deadline),
        cmocka_unit_test(the_earliest_is_freed),
        cmocka_unit_test(poll_exact_and_to_next),
        cmocka_unit_test(clear_of_the_wheel),
        cmocka_unit_test(another_start),
        cmocka_unit_test(another_start_inside_a_visit),
        cmocka_unit_test(iterate),
        cmocka_unit_test(within_a_work_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
