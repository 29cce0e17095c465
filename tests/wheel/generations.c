/* SPDX-License-Identifier: MIT */
/* G4 at the end of a node's generations. A test cannot use a node 2^31 times, so it begins with the last generation. */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

/* Starts a timer, and sets its node to the last generation. Returns the handle of that generation. */
static verge_timer last_of_its_node(verge_wheel *wheel, uint64_t deadline_ns) {
    const verge_timer timer = schedule(wheel, deadline_ns, 1);
    const verge_timer last = timer | UINT32_MAX;
    verge__nodes_at(&wheel->nodes, verge__handle_index(timer))->timer.tag = last;
    return last;
}

static void assert_retired(verge_wheel *wheel, verge_timer timer, uint64_t count) {
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), -ENOENT);
    assert_int_equal(stats_of(wheel).nodes_retired, count);
    assert_int_equal(stats_of(wheel).nodes, 12 - count); /* the wheel starts with 12 nodes */
    for (size_t i = 0; i < 200; i++) {
        const verge_timer other = schedule(wheel, verge_wheel_now(wheel) + SECOND, i);
        assert_int_not_equal(verge__handle_index(other), verge__handle_index(timer));
    }
    verge_wheel_cancel_all(wheel);
    assert_int_equal(verge_wheel_get(wheel, timer, &(verge_expiry){0}), -ENOENT);
    assert_null(verge_wheel_check(wheel));
}

static void a_cancelled_node_is_retired(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = last_of_its_node(wheel, SECOND);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    assert_retired(wheel, timer, 1);
    wheel_end(wheel);
}

static void an_expired_node_is_retired(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = last_of_its_node(wheel, SECOND);
    assert_fires(wheel, 2 * SECOND, timer);
    assert_retired(wheel, timer, 1);
    wheel_end(wheel);
}

static void a_cleared_node_is_retired(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = last_of_its_node(wheel, SECOND);
    verge_wheel_cancel_all(wheel);
    assert_retired(wheel, timer, 1);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).nodes_retired, 1);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), -ENOENT);
    wheel_end(wheel);
}

/* A slab with a retired node is not given back, because the node remembers that it is retired. */
static void a_slab_with_a_retired_node_stays(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    enum { COUNT = 5000 };
    static verge_timer timers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, HOUR, i);
    }
    timers[COUNT - 1] |= UINT32_MAX;
    verge__nodes_at(&wheel->nodes, verge__handle_index(timers[COUNT - 1]))->timer.tag = timers[COUNT - 1];
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    verge_wheel_compact(wheel);
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(stats_of(wheel).nodes_retired, 1);
    assert_int_equal(stats_of(wheel).nodes, 2 * VERGE__SLAB_NODES - 1); /* the other slabs went, except slab 0 */
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), -ENOENT);
        const verge_timer other = schedule(wheel, HOUR, i);
        assert_int_not_equal(verge__handle_index(other), verge__handle_index(timers[COUNT - 1]));
    }
    wheel_end(wheel);
}

/* G7: as many timers as were reserved can be started. Retired nodes do not count as reserved. */
static void a_retired_node_is_not_reserved(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_wheel *wheel = wheel_in(&memory, VERGE_PRESET_DEFAULT);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, last_of_its_node(wheel, SECOND), NULL), 0);
    }
    assert_int_equal(verge_wheel_reserve(wheel, 12, 0), 0); /* as many nodes as the wheel has at first */
    memory.fail_from = 1;
    for (size_t i = 0; i < 12; i++) {
        (void)schedule(wheel, SECOND, i);
    }
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_node_is_retired),    cmocka_unit_test(an_expired_node_is_retired),
        cmocka_unit_test(a_cleared_node_is_retired),      cmocka_unit_test(a_slab_with_a_retired_node_stays),
        cmocka_unit_test(a_retired_node_is_not_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
