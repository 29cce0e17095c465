/* SPDX-License-Identifier: MIT */
/* G3 for timeouts: an object is freed, and another one gets its memory. The timeout of the first object must not fire
 * for the second, or keep the second from firing. The last tests are about nodes that keep their place. */
#include "wheel/timeouts.h"
#include "wheel/wheel_internal.h"

/* ---- one after the other in the same memory ---- */

/* Ends the object of a timeout, and makes another one in its memory. */
static void replace(verge_wheel *wheel, verge_timeout *timeout, uintptr_t number) {
    (void)verge_timeout_cancel(wheel, timeout);
    memset(timeout, 0xa5, sizeof(*timeout));
    memset(timeout, 0, sizeof(*timeout));
    ((struct numbered *)timeout)->number = number;
}

static void another_in_the_same_memory(void **state) {
    (void)state;
    static const uint64_t second_ticks[] = {5, 10, 15, 10 + (UINT64_C(1) << 32), 5 + (UINT64_C(1) << 32)};
    for (size_t i = 0; i < COUNT_OF(second_ticks) * COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i % COUNT_OF(timeout_orders)]);
        const uint64_t second_tick = second_ticks[i / COUNT_OF(timeout_orders)];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *first = timeout_new(1);
        timeout_start(wheel, first, 10 * TICK);
        timeout_start(wheel, first, 5 * TICK); /* its node moves */
        replace(wheel, first, 2);
        verge_timeout *second = first;
        timeout_start(wheel, second, second_tick * TICK);
        assert_well(wheel);
        for (uint64_t tick = 1; tick < 20; tick++) {
            if (tick == second_tick) {
                assert_strikes(wheel, tick * TICK, second, 2);
            } else {
                assert_quiet(wheel, tick * TICK);
            }
            assert_well(wheel);
        }
        if (second_tick > 20) {
            assert_quiet(wheel, (second_tick - 1) * TICK);
            assert_strikes(wheel, second_tick * TICK, second, 2);
        }
        timeout_end(wheel, second);
        wheel_end(wheel);
    }
}

/* Many objects in one place, one after the other: the node of each is withdrawn when it ends. */
static void lives_leave_nothing_behind(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(1);
    const uint64_t far = 1000 + (UINT64_C(1) << 32);
    for (size_t i = 0; i < 100; i++) {
        timeout_start(wheel, timeout, (i % 2 == 0 ? 1000 : far) * TICK);
        assert_int_equal(stats_of(wheel).linked, 1);
        replace(wheel, timeout, 1);
        assert_int_equal(stats_of(wheel).linked, 0);
    }
    timeout_start(wheel, timeout, far * TICK);
    assert_int_equal(stats_of(wheel).linked, 1);
    assert_quiet(wheel, (far - 1) * TICK);
    assert_int_equal(stats_of(wheel).nodes_refiled, 0);
    assert_strikes(wheel, far * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* As above, but the first timeout is due already: it is in the backlog when it ends. */
static void another_in_the_memory_of_the_backlog(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        const verge_wheel_options options = options_with(timeout_orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[8];
        verge_timeout *timeouts[4];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(k);
            timeout_start(wheel, timeouts[k], 10 * TICK);
        }
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            replace(wheel, timeouts[k], 10 + k);
        }
        assert_false(verge_wheel_has_backlog(wheel));
        timeout_start(wheel, timeouts[0], (10 + (UINT64_C(1) << 32)) * TICK); /* the low 32 bits of this tick are 10 */
        timeout_start(wheel, timeouts[1], 3 * TICK);                          /* a past time */
        timeout_start(wheel, timeouts[2], 30 * TICK);
        assert_well(wheel);
        assert_strikes(wheel, 10 * TICK, timeouts[1], 11);
        assert_strikes(wheel, 40 * TICK, timeouts[2], 12);
        timeout_start(wheel, timeouts[1], 3 * TICK);
        replace(wheel, timeouts[1], 21);
        timeout_start(wheel, timeouts[1], 4 * TICK);
        assert_strikes(wheel, 40 * TICK, timeouts[1], 21);
        assert_quiet(wheel, 50 * TICK);
        assert_strikes(wheel, (11 + (UINT64_C(1) << 32)) * TICK, timeouts[0], 10);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* A backlog holds the cursor back. Timeouts beyond the reach of the cursor wait, are paused or cancelled, are started
 * again, and end. */
static void beyond_the_cursor(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(timeout_orders); i++) {
        static const uint8_t bits[] = {6, 6, 0};
        verge_wheel_options options = options_of_levels(TICK, bits);
        options.order = timeout_orders[i];
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[8];
        verge_timeout *first = timeout_new(1);
        verge_timeout *second = timeout_new(2);
        verge_timeout *third = timeout_new(3);
        (void)schedule(wheel, 10 * TICK, 8);
        (void)schedule(wheel, 10 * TICK, 9);
        assert_int_equal(verge_wheel_poll(wheel, 3000 * TICK, out, 1), 1);
        timeout_start(wheel, first, 6000 * TICK);
        timeout_start(wheel, second, 6000 * TICK);
        timeout_start(wheel, third, 6001 * TICK);
        timeout_pause(wheel, first);
        timeout_start(wheel, first, 5900 * TICK);
        timeout_end(wheel, second);
        second = timeout_new(20);
        timeout_start(wheel, second, 5950 * TICK);
        timeout_cancel(wheel, third);
        assert_well(wheel);
        assert_int_equal(verge_wheel_poll(wheel, 3000 * TICK, out, COUNT_OF(out)), 1);
        assert_well(wheel);
        timeout_start(wheel, third, 6001 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 5900 * TICK);
        assert_quiet(wheel, 5899 * TICK);
        assert_strikes(wheel, 5900 * TICK, first, 1);
        assert_strikes(wheel, 5950 * TICK, second, 20);
        assert_quiet(wheel, 6000 * TICK);
        assert_strikes(wheel, 6001 * TICK, third, 3);
        timeout_end(wheel, first);
        timeout_end(wheel, second);
        timeout_end(wheel, third);
        wheel_end(wheel);
    }
}

/* In a coarse wheel, a timeout that is paused and started again is late by less than the resolution of its level. */
static void in_a_coarse_wheel(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    const uint64_t resolution_ns = UINT64_C(1) << 30;
    verge_timeout *timeout = timeout_new(1);
    for (uint64_t round = 1; round < 50; round++) {
        const uint64_t now_ns = verge_wheel_now(wheel);
        const uint64_t deadline_ns = now_ns + 2 * resolution_ns + round * 12345;
        timeout_start(wheel, timeout, deadline_ns + 5 * resolution_ns);
        timeout_pause(wheel, timeout);
        timeout_start(wheel, timeout, deadline_ns);
        if (round % 3 == 0) {
            timeout_end(wheel, timeout);
            timeout = timeout_new(1);
            timeout_start(wheel, timeout, deadline_ns);
        }
        assert_well(wheel);
        assert_quiet(wheel, deadline_ns - 1);
        assert_strikes(wheel, deadline_ns + resolution_ns, timeout, 1);
    }
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* Objects are freed right after cancel. AddressSanitizer notices accesses to freed memory. */
static void clear_is_enough_before_free(void **state) {
    (void)state;
    enum { COUNT = 300 };
    for (size_t order = 0; order < COUNT_OF(timeout_orders); order++) {
        verge_wheel_options options = options_with(timeout_orders[order]);
        verge_wheel *wheel = wheel_new(&options);
        struct verge_test_random random = verge_test_random_from(verge_test_seed(17));
        verge_timeout *timeouts[COUNT] = {NULL};
        for (size_t n = 0; n < test_scaled(100000); n++) {
            verge_timeout **at = &timeouts[verge_test_below(&random, COUNT)];
            if (*at == NULL) {
                *at = timeout_new(n);
            } else if (verge_test_chance(&random, 4)) {
                const bool was_set = verge_timeout_deadline(*at) != VERGE_NEVER;
                assert_int_equal(verge_timeout_cancel(wheel, *at), was_set ? 0 : -ENOENT);
                free(*at);
                *at = NULL;
            } else {
                if (verge_timeout_deadline(*at) != VERGE_NEVER && verge_test_chance(&random, 2)) {
                    timeout_pause(wheel, *at);
                } else {
                    timeout_start(wheel, *at, verge_wheel_now(wheel) + verge_test_below(&random, 40) * 20 * TICK);
                }
            }
            if (n % 64 == 0) { /* NOLINT(clang-analyzer-unix.Malloc): it is in the array */
                verge_expiry out[64];
                (void)verge_wheel_poll(wheel, verge_wheel_now(wheel) + 10 * TICK, out, COUNT_OF(out));
            }
        }
        assert_well(wheel);
        for (size_t i = 0; i < COUNT; i++) {
            (void)(timeouts[i] != NULL && verge_timeout_cancel(wheel, timeouts[i]));
            free(timeouts[i]);
        }
        assert_int_equal(verge_wheel_count(wheel), 0);
        verge_wheel_compact(wheel);
        wheel_end(wheel);
    }
}

/* ---- nodes that stay ---- */

/* If a timeout is moved to a later time, or paused and started again, its node stays where it is. */
static void set_later_moves_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(1);
    const verge__node *node = (const verge__node *)(const void *)timeout;
    timeout_start(wheel, timeout, 1000 * TICK);
    for (uint64_t i = 0; i < 500; i++) {
        assert_quiet(wheel, i * TICK); /* the slot of an upper level may come down */
        verge__node *const *place = node->pprev;
        timeout_start(wheel, timeout, (1000 + i) * TICK);
        if (i % 3 == 0) {
            timeout_pause(wheel, timeout);
            assert_int_equal(stats_of(wheel).idle, 1);
            timeout_start(wheel, timeout, (1000 + i) * TICK);
        }
        assert_ptr_equal(node->pprev, place);
        assert_int_equal(stats_of(wheel).linked, 1);
        assert_int_equal(stats_of(wheel).nodes_refiled, 0);
    }
    timeout_start(wheel, timeout, 900 * TICK); /* an earlier deadline moves the node */
    assert_int_equal(stats_of(wheel).linked, 1);
    assert_strikes(wheel, 900 * TICK, timeout, 1);
    assert_int_equal(stats_of(wheel).linked, 0);
    timeout_start(wheel, timeout, 2000 * TICK);
    assert_quiet(wheel, 1999 * TICK);
    assert_strikes(wheel, 2000 * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* While a timeout is paused, its idle node may be dropped. A later start does not count on the node. */
static void a_dropped_node_is_not_adopted(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(1);
    timeout_start(wheel, timeout, 1000 * TICK);
    timeout_pause(wheel, timeout);
    assert_int_equal(stats_of(wheel).idle, 1);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).linked, 0);
    timeout_start(wheel, timeout, 1100 * TICK);
    assert_well(wheel);
    assert_strikes(wheel, 1100 * TICK, timeout, 1);
    timeout_start(wheel, timeout, 2000 * TICK);
    timeout_pause(wheel, timeout);
    assert_quiet(wheel, 2500 * TICK); /* the node came up, idle */
    assert_int_equal(stats_of(wheel).linked, 0);
    timeout_start(wheel, timeout, 3000 * TICK);
    assert_well(wheel);
    assert_strikes(wheel, 3000 * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_in_the_same_memory),
        cmocka_unit_test(lives_leave_nothing_behind),
        cmocka_unit_test(another_in_the_memory_of_the_backlog),
        cmocka_unit_test(beyond_the_cursor),
        cmocka_unit_test(in_a_coarse_wheel),
        cmocka_unit_test(clear_is_enough_before_free),
        cmocka_unit_test(set_later_moves_nothing),
        cmocka_unit_test(a_dropped_node_is_not_adopted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
