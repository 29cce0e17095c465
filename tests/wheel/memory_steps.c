/* SPDX-License-Identifier: MIT */
/* G7: memory grows and goes back in steps. The tests check how large the steps are, and that no memory is forgotten. */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

enum {
    SLAB = VERGE__SLAB_NODES,
};

/* Each timer that ends gives back at most one slab. In the end, only the first slab is left. */
static void one_slab_at_a_time(void **state) {
    (void)state;
    enum { SLABS = 200 };
    static verge_timer timers[SLABS * SLAB];
    verge_wheel *wheel = wheel_new(NULL);
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = schedule(wheel, DAY, i);
    }
    uint64_t records = stats_of(wheel).nodes;
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        const uint64_t left = stats_of(wheel).nodes;
        assert_true(left == records || left == records - SLAB);
        records = left;
    }
    assert_int_equal(records, SLAB);
    wheel_end(wheel);
}

/* compact gives back all empty slabs, although timers stay in others. */
static void compact_gives_back_all_slabs_at_once(void **state) {
    (void)state;
    enum { SLABS = 200, STAY = 7 };
    static verge_timer timers[SLABS * SLAB];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.compaction = (verge_wheel_compaction){.minimum = UINT32_MAX, .ratio = 4, .multiplier = 2};
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = schedule(wheel, DAY, i);
    }
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        if (i % SLAB != 5 || i / SLAB % STAY != 3) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
    }
    assert_int_equal(stats_of(wheel).nodes, SLABS * SLAB);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).nodes, (verge_wheel_count(wheel) + 1) * SLAB); /* the first slab stays */
    wheel_end(wheel);
}

/* The first slab doubles in size, up to 512 nodes. When it is full, one slab is added each time. */
static void the_first_slab_doubles(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    uint64_t records = 12;
    for (size_t timers = 1; timers <= (size_t)2 * SLAB; timers++) {
        (void)schedule(wheel, DAY, timers);
        while (records < timers) {
            records = records < SLAB / 2 ? 2 * records : records < SLAB ? SLAB : records + SLAB;
        }
        assert_int_equal(stats_of(wheel).nodes, records);
    }
    wheel_end(wheel);
}

/* From the second time on, the same load takes the same memory. In the end, as much is left as after the first time. */
static void a_load_that_comes_back_takes_no_more(void **state) {
    (void)state;
    static verge_timer timers[64 * SLAB];
    verge_wheel *wheel = wheel_new(NULL);
    uint64_t full = 0;
    uint64_t empty = 0;
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < COUNT_OF(timers); i++) {
            timers[i] = schedule(wheel, DAY, i);
        }
        assert_true(round < 2 || stats_of(wheel).bytes == full);
        full = stats_of(wheel).bytes;
        for (size_t i = 0; i < COUNT_OF(timers); i++) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
        verge_wheel_compact(wheel);
        assert_true(round < 1 || stats_of(wheel).bytes == empty);
        empty = stats_of(wheel).bytes;
    }
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slab_at_a_time),
        cmocka_unit_test(compact_gives_back_all_slabs_at_once),
        cmocka_unit_test(the_first_slab_doubles),
        cmocka_unit_test(a_load_that_comes_back_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
