/* SPDX-License-Identifier: MIT */
/* G7: memory grows and goes back in steps. How large they are, and that none is forgotten. */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

enum {
    SLAB = VERGE__SLAB_NODES,
    AT_ONCE = 64, /* slabs that a poll looks at */
    SLABS = 3 * AT_ONCE + 8,
    LOOK = 300, /* ticks after which a poll looks again, and more */
};

static void poll_looks(verge_wheel *wheel, size_t looks) {
    for (size_t i = 0; i < looks; i++) {
        assert_quiet(wheel, verge_wheel_now(wheel) + LOOK * TICK);
    }
}

/* A wheel with a timer in each of the highest slabs, as many as a poll looks at; the other slabs are free. */
static verge_wheel *wheel_with_high_timers(verge_timer *ret_timers) {
    static verge_timer timers[SLABS * SLAB];
    verge_wheel *wheel = wheel_new(NULL);
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = schedule(wheel, DAY, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        const uint32_t index = (uint32_t)timers[i];
        if (index % SLAB == 7 && index / SLAB >= SLABS - AT_ONCE) {
            ret_timers[kept++] = timers[i];
        } else {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
    }
    assert_int_equal(kept, AT_ONCE);
    assert_int_equal(stats_of(wheel).records, SLABS * SLAB);
    return wheel;
}

static void polls_look_at_all_slabs_step_by_step(void **state) {
    (void)state;
    verge_timer kept[AT_ONCE];
    verge_wheel *wheel = wheel_with_high_timers(kept);
    poll_looks(wheel, 1); /* at those that have timers */
    assert_int_equal(stats_of(wheel).records, SLABS * SLAB);
    poll_looks(wheel, 1);
    assert_int_equal(stats_of(wheel).records, (SLABS - AT_ONCE) * SLAB);
    poll_looks(wheel, 3);
    assert_int_equal(stats_of(wheel).records, AT_ONCE * SLAB);
    wheel_end(wheel);
}

/* Though the last poll has come as far as the middle. */
static void compact_looks_at_all_slabs_at_once(void **state) {
    (void)state;
    verge_timer kept[AT_ONCE];
    verge_wheel *wheel = wheel_with_high_timers(kept);
    poll_looks(wheel, 1);
    for (size_t i = 0; i < AT_ONCE; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, kept[i], NULL), 0);
    }
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).records, 0);
    wheel_end(wheel);
}

/* When time begins anew, so does the waiting for the next look. */
static void memory_goes_back_after_an_earlier_start(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    assert_quiet(wheel, HOUR);
    for (size_t i = 0; i < (size_t)4 * SLAB; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, schedule(wheel, 2 * HOUR, i), NULL), 0);
        (void)schedule(wheel, HOUR + TICK, i);
    }
    verge_expiry out[4 * SLAB];
    assert_int_equal(verge_wheel_poll(wheel, HOUR + 2 * TICK, out, COUNT_OF(out)), COUNT_OF(out));
    assert_in_range(stats_of(wheel).records, 4 * SLAB, 8 * SLAB);
    assert_int_equal(verge_wheel_set_start(wheel, 0), 0);
    poll_looks(wheel, 2);
    assert_int_equal(stats_of(wheel).records, SLAB); /* compaction.minimum is less */
    wheel_end(wheel);
}

/* The first slab grows while it is alone, twice as large each time. */
static void the_first_slab_doubles(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    uint64_t records = 12;
    for (size_t timers = 1; timers <= (size_t)2 * SLAB; timers++) {
        (void)schedule(wheel, DAY, timers);
        while (records < timers) {
            records = records < SLAB / 2 ? 2 * records : records < SLAB ? SLAB : 2 * records;
        }
        assert_int_equal(stats_of(wheel).records, records);
    }
    wheel_end(wheel);
}

/* Each time the same load takes the same, and leaves the same. */
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

/* Room for entries grows by an eighth, and by four chunks at least. */
static void room_for_entries_follows_the_load(void **state) {
    (void)state;
    static verge_timeout timeouts[20000];
    verge_wheel *wheel = wheel_new(NULL);
    const verge__calendar *calendar = &wheel->calendar;
    for (size_t i = 0; i < COUNT_OF(timeouts); i++) {
        assert_int_equal(verge_timeout_attach(wheel, &timeouts[i], NULL), 0);
        size_t lists = VERGE__OWN_LISTS;
        for (size_t k = 0; k < calendar->level_count; k++) {
            lists += calendar->levels[k].mask + 1;
        }
        const size_t entries = i + 1;
        const size_t needed = 1 + (entries > lists ? (entries + 13 * (lists + 1)) / 14 : entries);
        const size_t growth = calendar->pool.chunk_count / 8 > 4 ? calendar->pool.chunk_count / 8 : 4;
        assert_in_range(calendar->pool.chunk_count, needed, needed + growth - 1);
    }
    wheel_end(wheel);
}

/* What the heap of an ordered wheel had room for goes back with the rest. */
static void the_heap_shrinks(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static verge_expiry out[COUNT];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = VERGE_ORDER_FIFO;
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT; i++) {
        (void)schedule(wheel, TICK, i);
    }
    assert_in_range(wheel->heap.room, COUNT / VERGE__CHUNK_ENTRIES, 2 * COUNT / VERGE__CHUNK_ENTRIES);
    assert_int_equal(verge_wheel_poll(wheel, 2 * TICK, out, COUNT), COUNT);
    verge_wheel_compact(wheel);
    assert_int_equal(wheel->heap.room, 0);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polls_look_at_all_slabs_step_by_step),
        cmocka_unit_test(compact_looks_at_all_slabs_at_once),
        cmocka_unit_test(memory_goes_back_after_an_earlier_start),
        cmocka_unit_test(the_first_slab_doubles),
        cmocka_unit_test(a_load_that_comes_back_takes_no_more),
        cmocka_unit_test(room_for_entries_follows_the_load),
        cmocka_unit_test(the_heap_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
