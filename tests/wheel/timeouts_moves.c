/* SPDX-License-Identifier: MIT */
/* G3 and G7 of timeouts that are set again and again: each has one entry at the most, and takes it along. */
#include "wheel/garbage.h"
#include "wheel/timeouts_inside.h"

/* What may be left behind: one for each chunk that lost its last entry and was kept. */
enum { LEFT_MAX = 256 };

static void assert_strikes_all(verge_wheel *wheel, uint64_t now_ns, size_t count) {
    verge_expiry out[64];
    size_t struck = 0;
    for (size_t n; (n = verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out))) > 0;) {
        struck += n;
    }
    assert_int_equal(struck, count);
    assert_well(wheel);
}

/* The timeouts there still are; NULL stands for one that has gone. */
static void end_all(verge_wheel *wheel, verge_timeout *const *timeouts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (timeouts[i] != NULL) {
            timeout_end(wheel, timeouts[i]);
        }
    }
}

/* Earlier each time, so that no entry serves twice. */
static void earlier_takes_the_entry_along(void **state) {
    (void)state;
    enum { COUNT = 1000, ROUNDS = 40 };
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeouts[COUNT];
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
    }
    struct verge_test_random random = verge_test_random_from(1);
    for (uint64_t round = ROUNDS; round > 0; round--) {
        for (size_t i = 0; i < COUNT; i++) {
            set(wheel, timeouts[i], (round * 10000 + verge_test_below(&random, 5000)) * TICK);
        }
        assert_in_range(stats_of(wheel).entries, COUNT, COUNT + LEFT_MAX);
        assert_well(wheel);
    }
    assert_strikes_all(wheel, 20000 * TICK, COUNT);
    assert_int_equal(stats_of(wheel).entries_refiled, 0);
    end_all(wheel, timeouts, COUNT);
    wheel_end(wheel);
}

/* Timers with handles in the same lists: one of them may take the place of a timeout's entry. */
static void timers_take_the_place(void **state) {
    (void)state;
    enum { COUNT = 500 };
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeouts[COUNT];
    verge_timer timers[COUNT];
    struct verge_test_random random = verge_test_random_from(2);
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
        set(wheel, timeouts[i], (5000 + i % 7) * TICK);
        assert_int_equal(verge_wheel_schedule(wheel, (5000 + i % 7) * TICK, data_of(COUNT + i), &timers[i]), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (verge_test_chance(&random, 2)) {
            set(wheel, timeouts[i], (100 + i) * TICK);
        } else {
            timeout_end(wheel, timeouts[i]);
            timeouts[i] = NULL;
        }
        assert_well(wheel);
    }
    size_t left = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (timeouts[i] != NULL) {
            assert_strikes(wheel, (100 + i) * TICK, timeouts[i], i);
            left++;
        } else {
            assert_quiet(wheel, (100 + i) * TICK);
        }
    }
    assert_in_range(left, 1, COUNT - 1);
    assert_quiet(wheel, 4999 * TICK);
    assert_strikes_all(wheel, 5010 * TICK, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), -ENOENT);
        if (timeouts[i] != NULL) {
            timeout_end(wheel, timeouts[i]);
        }
    }
    wheel_end(wheel);
}

/* Who has no entry gets one of a stock that was counted in advance: what is said of entries does not tell, the stock is never
 * more than there is room for, and goes back when all is given back. */
static void entries_counted_in_advance(void **state) {
    (void)state;
    enum { COUNT = 200, ROUNDS = 3 };
    verge_wheel *wheel = wheel_new(NULL);
    const verge__calendar *calendar = &wheel->calendar;
    verge_timeout *timeouts[COUNT];
    size_t most = 0;
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        move_always(wheel);
        for (size_t i = 0; i < COUNT; i++) {
            set(wheel, timeouts[i], (round * COUNT + i + 1) * TICK);
            assert_int_equal(stats_of(wheel).entries, i + 1);
            assert_int_equal(stats_of(wheel).garbage, 0);
            assert_in_range(calendar->entry_count, i + 1, i + 1 + VERGE__STOCK_MAX);
            assert_true(calendar->entry_count <= calendar->entry_capacity);
            most = calendar->entry_count - (i + 1) > most ? calendar->entry_count - (i + 1) : most;
            assert_well(wheel);
        }
        assert_strikes_all(wheel, (round + 1) * COUNT * TICK, COUNT);
        assert_int_equal(stats_of(wheel).entries, 0);
    }
    assert_int_equal(most, VERGE__STOCK_MAX - 1);
    set(wheel, timeouts[0], 10000 * TICK);
    verge_wheel_clear(wheel);
    assert_int_equal(calendar->entry_count, 0);
    assert_well(wheel);
    set(wheel, timeouts[0], 10000 * TICK);
    clear(wheel, timeouts[0]);
    verge_wheel_compact(wheel);
    assert_int_equal(calendar->entry_count, 0);
    assert_well(wheel);
    end_all(wheel, timeouts, COUNT);
    wheel_end(wheel);
}

/* The checker notices a stock that is not what was counted, and one that is somebody's. */
static void a_stock_that_is_broken(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, 10 * TICK);
    assert_well(wheel);
    wheel->nowhere++;
    assert_string_equal(verge_wheel_check(wheel), "C4: entry_count is the number of entries in all lists");
    wheel->nowhere--;
    wheel->nowhere_chunk.entries[VERGE__CHUNK_ENTRIES - 1] = verge__entry_for_timeout(timeout);
    assert_string_equal(verge_wheel_check(wheel), "W7: what is nowhere is nobody's");
    wheel->nowhere_chunk.entries[VERGE__CHUNK_ENTRIES - 1] = verge__entry_for_timeout(&wheel->vacated);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* The last entry of a chunk takes the place of one that leaves: the chunk stays, with an entry that is nobody's, and goes with
 * the next that leaves. So lists around a chunk's end do not leave more and more behind. */
static void chunks_that_would_come_and_go(void **state) {
    (void)state;
    enum { COUNT = VERGE__CHUNK_ENTRIES + 1, ROUNDS = 100 };
    verge_wheel *wheel = wheel_new(NULL);
    assert_int_equal(verge_timeout_reserve(wheel, COUNT), 0); /* where room is short, sets take the long way */
    verge_timeout *timeouts[COUNT];
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
        set(wheel, timeouts[i], 20000 * TICK);
    }
    assert_int_equal(verge__chunk_pool_used(&wheel->calendar.pool), 2);
    move_always(wheel);
    for (size_t round = 0; round < ROUNDS; round++) {
        set(wheel, timeouts[0], 5 * TICK);
        assert_int_equal(verge__chunk_pool_used(&wheel->calendar.pool), 3);
        assert_int_equal(stats_of(wheel).entries, COUNT + (round == 0 ? 1 : 2));
        assert_int_equal(verge_timeout_clear(wheel, timeouts[0]), 0);
        set(wheel, timeouts[0], 20000 * TICK);
        assert_int_equal(verge__chunk_pool_used(&wheel->calendar.pool), 3);
        assert_int_equal(stats_of(wheel).entries, COUNT + 2);
        assert_well(wheel);
    }
    set(wheel, timeouts[0], 5 * TICK);
    set(wheel, timeouts[1], 5 * TICK);
    assert_int_equal(verge__chunk_pool_used(&wheel->calendar.pool), 2);
    assert_int_equal(stats_of(wheel).entries, COUNT + 1);
    assert_strikes_all(wheel, 5 * TICK, 2);
    assert_strikes_all(wheel, 20000 * TICK, COUNT - 2);
    end_all(wheel, timeouts, COUNT);
    wheel_end(wheel);
}

/* What is due and was not returned yet: set anew, cleared, detached. */
static void out_of_the_backlog(void **state) {
    (void)state;
    enum { COUNT = 200 };
    for (size_t k = 0; k < COUNT_OF(timeout_orders); k++) {
        const verge_wheel_options options = options_with(timeout_orders[k]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts[COUNT];
        for (uintptr_t i = 0; i < COUNT; i++) {
            timeouts[i] = timeout_new(wheel, i);
            set(wheel, timeouts[i], 10 * TICK);
        }
        verge_expiry out[1];
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1);
        size_t moved = 0;
        size_t stayed = 0;
        for (size_t i = 0; i < COUNT; i++) {
            const bool is_set = verge_timeout_deadline(timeouts[i]) != VERGE_NEVER;
            if (i % 4 == 0) {
                set(wheel, timeouts[i], 50 * TICK);
                moved++;
            } else if (i % 4 == 1 && is_set) {
                clear(wheel, timeouts[i]);
                set(wheel, timeouts[i], 60 * TICK);
                moved++;
            } else if (i % 4 == 2) {
                timeout_end(wheel, timeouts[i]);
                timeouts[i] = NULL;
            } else {
                stayed += is_set;
            }
            assert_well(wheel);
        }
        assert_strikes_all(wheel, 20 * TICK, stayed);
        assert_quiet(wheel, 49 * TICK);
        assert_strikes_all(wheel, 60 * TICK, moved);
        end_all(wheel, timeouts, COUNT);
        wheel_end(wheel);
    }
}

/* While garbage is sifted all the time, a slot's entries are in two lists. */
static void while_slots_are_scrubbed(void **state) {
    (void)state;
    enum { COUNT = 300 };
    verge__garbage_allowed = 8;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeouts[COUNT];
    verge_timer timers[COUNT] = {0};
    uint64_t ticks[COUNT];
    struct verge_test_random random = verge_test_random_from(3);
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
        ticks[i] = 0;
    }
    uint64_t now = 0;
    size_t struck = 0;
    const size_t operations = test_scaled(100000);
    for (size_t i = 0; i < operations; i++) {
        const size_t which = (size_t)verge_test_below(&random, COUNT);
        const uint64_t tick = now + 100 + verge_test_below(&random, 100 + 4000 * verge_test_below(&random, 2));
        if (verge_test_chance(&random, 3)) { /* timers with handles make the garbage */
            (void)verge_wheel_cancel(wheel, timers[which], NULL);
            assert_int_equal(verge_wheel_schedule(wheel, tick * TICK, NULL, &timers[which]), 0);
        } else {
            set(wheel, timeouts[which], tick * TICK);
            ticks[which] = tick;
        }
        if (i % 2 == 0) {
            verge_expiry out[16];
            const size_t n = verge_wheel_poll(wheel, ++now * TICK, out, COUNT_OF(out));
            for (size_t k = 0; k < n; k++) {
                struck += out[k].timer == 0;
                assert_true(out[k].timer != 0 || ticks[number_of(out[k].data)] == now);
            }
            assert_false(verge_wheel_has_backlog(wheel));
            assert_well(wheel);
        }
    }
    assert_true(struck > 0);
    assert_true(stats_of(wheel).entries_dropped > operations / 50);
    end_all(wheel, timeouts, COUNT);
    wheel_end(wheel);
    verge__garbage_allowed = VERGE__GARBAGE_ALLOWED;
}

/* A pass drops the second entry of a timer that it sees. So what it has seen must not take the place of what it has not. */
static void out_of_a_slot_half_scrubbed(void **state) {
    (void)state;
    enum { COUNT = 60 };
    for (size_t detached = 0; detached < 2; detached++) {
        verge_wheel *wheel = wheel_new(NULL);
        assert_int_equal(verge_timeout_reserve(wheel, (size_t)4 * COUNT), 0);
        verge_wheel_compact(wheel); /* the short ways apply */
        verge_timeout *timeouts[COUNT];
        verge_timer timer = 0;
        for (uintptr_t i = 0; i < COUNT; i++) {
            timeouts[i] = timeout_new(wheel, i);
            set(wheel, timeouts[i], 1000 * TICK);
        }
        for (uintptr_t i = 0; i < COUNT; i++) {
            assert_int_equal(verge_wheel_schedule(wheel, 1000 * TICK, data_of(COUNT + i), &timer), 0);
        }
        verge_timeout *other = timeout_new(wheel, COUNT);
        set(wheel, other, 100 * TICK); /* where the first one goes, there is a chunk */
        begin_scrub(wheel);
        if (detached == 1) {
            timeout_end(wheel, timeouts[0]);
        } else {
            set(wheel, timeouts[0], 101 * TICK);
        }
        assert_well(wheel);
        end_scrub(wheel);
        assert_strikes_all(wheel, 101 * TICK, detached == 1 ? 1 : 2);
        assert_strikes_all(wheel, 1000 * TICK, 2 * COUNT - 1);
        end_all(wheel, timeouts + detached, COUNT - detached);
        timeout_end(wheel, other);
        wheel_end(wheel);
    }
}

/* The tick comes while a scrub holds all but a chunk of it: what is there is not all. */
static void a_tick_comes_half_scrubbed(void **state) {
    (void)state;
    enum { COUNT = 35 };
    verge_wheel *wheel = wheel_new(NULL);
    verge_timer timer = 0;
    for (uintptr_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_schedule(wheel, 10 * TICK, data_of(i), &timer), 0);
    }
    begin_scrub(wheel);
    assert_well(wheel);
    assert_strikes_all(wheel, 10 * TICK, COUNT);
    wheel_end(wheel);
}

/* After a compaction, and after a scrub, timeouts know their slots again: nothing is left behind. */
static void after_all_was_sifted(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    for (size_t scrubbed = 0; scrubbed < 2; scrubbed++) {
        verge_wheel *wheel = wheel_new(NULL);
        verge_timeout *timeouts[COUNT];
        for (uintptr_t i = 0; i < COUNT; i++) {
            timeouts[i] = timeout_new(wheel, i);
            set(wheel, timeouts[i], (20000 + i) * TICK);
        }
        if (scrubbed == 1) {
            begin_scrub(wheel);
            end_scrub(wheel);
        } else {
            verge_wheel_compact(wheel);
        }
        assert_int_equal(verge_timeout_reserve(wheel, COUNT), 0);
        for (size_t i = 0; i < COUNT; i++) {
            set(wheel, timeouts[i], (5000 + i) * TICK);
        }
        assert_in_range(stats_of(wheel).entries, COUNT, COUNT + LEFT_MAX);
        assert_strikes_all(wheel, 6000 * TICK, COUNT);
        end_all(wheel, timeouts, COUNT);
        wheel_end(wheel);
    }
}

/* ---- entries that are kept, and those that are moved without asking ---- */

/* Whether a timeout that is cleared and set later keeps its entry. */
static bool keeps_its_entry(verge_wheel *wheel, verge_timeout *timeout, uint64_t now) {
    set(wheel, timeout, (now + 1000) * TICK);
    const void *slot = timeout->slot;
    clear(wheel, timeout);
    set(wheel, timeout, (now + 90000) * TICK);
    const bool kept = timeout->slot == slot;
    clear(wheel, timeout);
    return kept;
}

/* Where timeouts strike, there is no entry to keep: after a round of that nobody asks any more; after some, it is tried again,
 * and where entries serve, it stays so. */
static void entries_that_seldom_serve(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    assert_int_equal(verge_timeout_reserve(wheel, 100), 0); /* without room, one that serves is kept in any case */
    verge_timeout *timeout = timeout_new(wheel, 1);
    verge_timeout *other = timeout_new(wheel, 2);
    assert_true(keeps_its_entry(wheel, timeout, 0));
    uint64_t now = 0;
    uint64_t moved_at = 0;
    uint64_t kept_again_at = 0;
    while (now < 160000 && kept_again_at == 0) {
        set(wheel, other, ++now * TICK);
        assert_strikes(wheel, now * TICK, other, 2);
        if (now % 16 == 0) {
            const bool kept = keeps_its_entry(wheel, timeout, now);
            moved_at = moved_at == 0 && !kept ? now : moved_at;
            kept_again_at = moved_at != 0 && kept ? now : kept_again_at;
        }
    }
    assert_in_range(moved_at, 500, 2500);
    assert_in_range(kept_again_at, 50 * moved_at, 80 * moved_at);
    assert_well(wheel);
    for (uint64_t i = 0; i < 160000; i++) { /* as requests do */
        set(wheel, other, (now + 2000 + i) * TICK);
        clear(wheel, other);
        assert_true(i % 256 != 0 || keeps_its_entry(wheel, timeout, now));
    }
    assert_well(wheel);
    timeout_end(wheel, timeout);
    timeout_end(wheel, other);
    wheel_end(wheel);
}

/* Pushed back while it is set, it keeps its entry, whatever the others do. */
static void moved_while_set_keeps_its_entry(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, 90000 * TICK);
    move_always(wheel);
    set(wheel, timeout, 1000 * TICK);
    const void *slot = timeout->slot;
    set(wheel, timeout, 90000 * TICK);
    assert_ptr_equal(timeout->slot, slot);
    assert_false(keeps_its_entry(wheel, timeout, 0));
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* A third of the entries does not serve, round after round: that is less than what it takes. */
static void most_entries_serve(void **state) {
    (void)state;
    enum { COUNT = 100 };
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeouts[COUNT];
    for (uintptr_t i = 0; i < COUNT; i++) {
        timeouts[i] = timeout_new(wheel, i);
        set(wheel, timeouts[i], 300000 * TICK);
    }
    for (uint64_t i = 0; i < 60000; i++) {
        verge_timeout *timeout = timeouts[i % COUNT];
        clear(wheel, timeout);
        set(wheel, timeout, (200000 - i / ((uint64_t)3 * COUNT)) * TICK); /* each time in three, earlier */
        assert_int_equal(wheel->keeping.rounds_without, 0);
    }
    end_all(wheel, timeouts, COUNT);
    wheel_end(wheel);
}

/* The first time a timeout is set it has no entry to keep, which says nothing of the load. */
static void first_times_do_not_count(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    for (uintptr_t i = 0; i < COUNT; i++) {
        verge_timeout *request = timeout_new(wheel, i);
        set(wheel, request, (1000 + i) * TICK);
        timeout_end(wheel, request);
    }
    assert_true(keeps_its_entry(wheel, timeout, 0));
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* Of a slot that is drained, those that were set later go to where they belong by now: beside the slots below, not into one that
 * comes round in between, where they would only have to be filed again. */
static void later_ones_do_not_come_down(void **state) {
    (void)state;
    enum { TIMEOUTS = 60 };
    for (uint64_t later = 600; later < 200000; later = later * 3 / 2) {
        verge_wheel *wheel = wheel_new(NULL);
        verge_timeout *timeouts[TIMEOUTS];
        for (size_t i = 0; i < TIMEOUTS; i++) {
            timeouts[i] = timeout_new(wheel, i);
            set(wheel, timeouts[i], (600 + i) * TICK);
            set(wheel, timeouts[i], (later + i) * TICK);
        }
        assert_int_equal(stats_of(wheel).entries_filed, TIMEOUTS);
        assert_quiet(wheel, 512 * TICK);
        assert_well(wheel);
        assert_quiet(wheel, (later - 1) * TICK);
        assert_int_equal(stats_of(wheel).entries_refiled, 0);
        assert_int_equal(poll_count(wheel, (later + TIMEOUTS) * TICK), TIMEOUTS);
        for (size_t i = 0; i < TIMEOUTS; i++) {
            timeout_end(wheel, timeouts[i]);
        }
        wheel_end(wheel);
    }
}

/* A slot of an upper level that lost its last entry is not waited for any more, once a poll had something to do. */
static void an_empty_slot_wakes_nobody(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, 1000 * TICK);
    (void)schedule(wheel, 5 * TICK, 2);
    const uint64_t slot_ns = verge_wheel_coverage(wheel, 1); /* where the first slot of level 2 starts */
    assert_true(slot_ns > 1000 * TICK);
    (void)schedule(wheel, slot_ns + TICK, 3);
    timeout_end(wheel, timeout);
    assert_int_equal(poll_count(wheel, 5 * TICK), 1);
    assert_int_equal(verge_wheel_next_wakeup(wheel), slot_ns);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_takes_the_entry_along),
        cmocka_unit_test(timers_take_the_place),
        cmocka_unit_test(entries_counted_in_advance),
        cmocka_unit_test(a_stock_that_is_broken),
        cmocka_unit_test(chunks_that_would_come_and_go),
        cmocka_unit_test(out_of_the_backlog),
        cmocka_unit_test(while_slots_are_scrubbed),
        cmocka_unit_test(out_of_a_slot_half_scrubbed),
        cmocka_unit_test(a_tick_comes_half_scrubbed),
        cmocka_unit_test(after_all_was_sifted),
        cmocka_unit_test(entries_that_seldom_serve),
        cmocka_unit_test(moved_while_set_keeps_its_entry),
        cmocka_unit_test(most_entries_serve),
        cmocka_unit_test(first_times_do_not_count),
        cmocka_unit_test(later_ones_do_not_come_down),
        cmocka_unit_test(an_empty_slot_wakes_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
