/* SPDX-License-Identifier: MIT */
/* G1 to G3 of a flock that is set again in step before it comes up: the last one leads it on. */
#include "wheel/flock.h"

enum {
    HERE = 10,                      /* near enough for the lowest level of each geometry, when the flock is gathered */
    LED_CHUNKS = WHOLE / CHUNK - 1, /* the newest chunk of a list is not led */
};

/* Of a flock that was gathered backwards, the first of each chunk leads. */
enum { FORWARDS, BACKWARDS, DIRECTIONS };

static void set_in_step(struct flock *flock, size_t direction, uint64_t tick) {
    for (size_t i = 0; i < flock->count; i++) {
        const size_t which = direction == BACKWARDS ? flock->count - 1 - i : i;
        set(flock->wheel, flock->timeouts[which], tick * TICK - flock->count + i);
        flock->ticks[which] = tick;
    }
}

/* A flock for HERE, one tick before it comes up. */
static struct flock flock_here(size_t geometry, size_t direction) {
    struct flock flock = flock_in(geometry, WHOLE);
    set_one(&flock, 0, 200000); /* so that there are levels for all that comes */
    set_from(&flock, 0, WHOLE, 5);
    set_in_step(&flock, direction, HERE);
    note_places(&flock);
    pass(&flock, HERE - 1);
    assert_true(are_together(&flock, 0, WHOLE));
    return flock;
}

static size_t led_chunks(const struct flock *flock) {
    return slot_chunks(flock->wheel, true);
}

/* ---- together ---- */

/* Their entries are for the new tick at once; their chunks follow, and are led again. */
static void lead(void **state) {
    (void)state;
    for (size_t k = 0; k < DIRECTIONS * COUNT_OF(geometries) * COUNT_OF(distances); k++) {
        const size_t direction = k % DIRECTIONS;
        const uint64_t distance = distances[k / DIRECTIONS % COUNT_OF(distances)];
        struct flock flock = flock_here(k / DIRECTIONS / COUNT_OF(distances), direction);
        uint64_t tick = HERE;
        for (size_t round = 0; round < 3; round++) {
            pass(&flock, tick - 1);
            set_in_step(&flock, direction, tick + distance);
            assert_int_equal(led_chunks(&flock), LED_CHUNKS);
            size_t gone = 0;
            for (size_t i = 0; i < WHOLE; i++) {
                gone += flock.timeouts[i]->record.u.entry_tick == tick + distance;
            }
            assert_int_equal(gone, LED_CHUNKS * CHUNK);
            assert_well(flock.wheel);
            poll_all(&flock, tick);
            assert_true(are_together(&flock, 0, WHOLE));
            assert_int_equal(led_chunks(&flock), 0);
            tick += distance;
        }
        assert_int_equal(stats_of(flock.wheel).entries_filed, WHOLE);
        flock_end(&flock, tick);
    }
}

/* Where all have the same deadline it is not known which was set last. */
static void lead_the_other_way_round(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries); k++) {
        struct flock flock = flock_here(k, FORWARDS);
        uint64_t tick = HERE;
        for (size_t round = 0; round < 4; round++) {
            pass(&flock, tick - 1);
            for (size_t i = 0; i < WHOLE; i++) {
                set_one(&flock, round % 2 == 0 ? WHOLE - 1 - i : i, tick + 7);
            }
            assert_int_equal(led_chunks(&flock), LED_CHUNKS);
            assert_well(flock.wheel);
            poll_all(&flock, tick);
            assert_true(are_together(&flock, 0, WHOLE));
            tick += 7;
        }
        flock_end(&flock, tick);
    }
}

/* The bellwether strikes in time, as any. */
static void strike_here(void **state) {
    (void)state;
    for (size_t k = 0; k < DIRECTIONS * COUNT_OF(geometries) * 2; k++) {
        struct flock flock = flock_here(k / DIRECTIONS / 2, k % DIRECTIONS);
        flock.limit = k / DIRECTIONS % 2 == 0 ? RUNS : LIMIT_MAX;
        flock_end(&flock, HERE);
    }
}

/* While it would be set again before it comes up, the bellwether leads nobody, and keeps its bell. */
static void not_before_it_is_time(void **state) {
    (void)state;
    struct flock flock = flock_in(0, WHOLE);
    gather(&flock, 0, WHOLE, 200);
    for (uint64_t tick = 201; tick < 210; tick++) {
        set_from(&flock, 0, WHOLE, tick);
        assert_int_equal(led_chunks(&flock), 0);
    }
    pass(&flock, 199);
    assert_int_equal(led_chunks(&flock), 0);
    set_from(&flock, 0, WHOLE, 400);
    assert_int_equal(led_chunks(&flock), LED_CHUNKS);
    flock_end(&flock, 400);
}

/* ---- not together ---- */

/* Only the bellwether was set; or not all others; or some of them were cleared; or for other ticks; or not later. */
static void lead_nobody(void **state) {
    (void)state;
    enum { ALONE, NOT_ALL, CLEARED_SOME, OTHER_TICKS, NO_LATER, ROWS };
    for (size_t k = 0; k < ROWS * COUNT_OF(geometries); k++) {
        struct flock flock = flock_here(k / ROWS, FORWARDS);
        for (size_t i = 0; i < WHOLE; i++) {
            const size_t at = i % CHUNK;
            const bool is_set[ROWS] = {at == CHUNK - 1, at != 7, true, true, true};
            const uint64_t ticks[ROWS] = {300, 300, 300, 300 + at / 10 * 5, HERE};
            if (is_set[k % ROWS]) {
                set_one(&flock, i, ticks[k % ROWS]);
            }
            if (k % ROWS == CLEARED_SOME && at == 7) {
                leave(&flock, i, CLEARED, 0);
            }
        }
        assert_int_equal(led_chunks(&flock), 0);
        assert_well(flock.wheel);
        flock_end(&flock, 320);
    }
}

/* Ticks that are neighbours: to the least of them, be it that of a single one, at the very end of it. */
static void lead_to_the_least(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries) * 2; k++) {
        struct flock flock = flock_here(k / 2, FORWARDS);
        for (size_t i = 0; i < WHOLE; i++) {
            const size_t at = i % CHUNK;
            flock.ticks[i] = 300 + (k % 2 == 0 ? at / 20 : at != 15);
            set(flock.wheel, flock.timeouts[i], flock.ticks[i] * TICK - (flock.ticks[i] == 300 ? 0 : 1));
        }
        assert_int_equal(led_chunks(&flock), LED_CHUNKS);
        poll_all(&flock, HERE);
        assert_true(are_together(&flock, 0, WHOLE));
        flock_end(&flock, 301);
    }
}

/* ---- after they were led, before they come up ---- */

/* Those that are set for a time before the new one strike then. */
static void some_leave(void **state) {
    (void)state;
    for (size_t k = 0; k < (size_t)WAYS_TO_LEAVE * WHICH * COUNT_OF(geometries) * 2; k++) {
        const enum leaving how = (enum leaving)(k % WAYS_TO_LEAVE);
        const size_t which = k / WAYS_TO_LEAVE % WHICH;
        struct flock flock = flock_here(k / WAYS_TO_LEAVE / WHICH / 2, FORWARDS);
        set_in_step(&flock, FORWARDS, 3000);
        assert_int_equal(led_chunks(&flock), LED_CHUNKS);
        if (k / WAYS_TO_LEAVE / WHICH % 2 == 1) {
            move_always(flock.wheel);
        }
        leave_some(&flock, which, how, 3000);
        flock_end(&flock, 3000);
    }
}

/* Those that were cleared go along once, and are dropped when the flock comes up again. */
static void cleared_ones_go_once(void **state) {
    (void)state;
    for (size_t k = 0; k < WHICH * COUNT_OF(geometries); k++) {
        struct flock flock = flock_here(k / WHICH, FORWARDS);
        set_in_step(&flock, FORWARDS, 300);
        leave_some(&flock, k % WHICH, CLEARED, 0);
        pass(&flock, 299);
        for (size_t i = 0; i < WHOLE; i++) {
            if (!is_one(i, k % WHICH)) {
                set_one(&flock, i, 3000);
            }
        }
        pass(&flock, 301);
        assert_int_equal(stats_of(flock.wheel).garbage, 0);
        flock_end(&flock, 3000);
    }
}

/* The slot is sifted, all of it or a part; asked for the next deadline; polled to the nanosecond; emptied. */
static void looked_at(void **state) {
    (void)state;
    enum { COMPACTED, SCRUBBED, HALF_SCRUBBED, ASKED, EXACTLY, WAYS };
    for (size_t k = 0; k < WAYS * (size_t)WAYS_TO_LEAVE * COUNT_OF(geometries); k++) {
        struct flock flock = flock_here(k / WAYS / WAYS_TO_LEAVE, FORWARDS);
        set_in_step(&flock, FORWARDS, 3000);
        set_one(&flock, 0, HERE);
        verge_expiry out[1];
        switch (k % WAYS) {
        case COMPACTED:
            verge_wheel_compact(flock.wheel);
            break;
        case SCRUBBED:
        case HALF_SCRUBBED:
            begin_scrub(flock.wheel);
            break;
        case ASKED:
            assert_int_equal(verge_wheel_next_deadline(flock.wheel), HERE * TICK);
            break;
        default:
            assert_int_equal(verge_wheel_poll_exact(flock.wheel, HERE * TICK - 1, out, 1), 0);
            break;
        }
        assert_well(flock.wheel);
        if (k % WAYS == SCRUBBED) {
            end_scrub(flock.wheel);
        }
        leave_some(&flock, 1, (enum leaving)(k / WAYS % WAYS_TO_LEAVE), 3000);
        flock_end(&flock, 3000);
    }
}

/* The bellwether's slot is half sifted when it is set. */
static void led_while_scrubbed(void **state) {
    (void)state;
    for (size_t k = 0; k < (size_t)DIRECTIONS * 2; k++) {
        struct flock flock = flock_here(0, k % DIRECTIONS);
        begin_scrub(flock.wheel);
        set_in_step(&flock, k % DIRECTIONS, 3000);
        assert_well(flock.wheel);
        assert_in_range(led_chunks(&flock), 1, LED_CHUNKS);
        if (k / DIRECTIONS == 1) {
            end_scrub(flock.wheel);
        }
        flock_end(&flock, 3000);
    }
}

/* The chunk has become the newest of its list, and lost some entries. */
static void led_from_the_top(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries); k++) {
        struct flock flock = flock_here(k, FORWARDS);
        const size_t newest = (size_t)LED_CHUNKS * CHUNK;
        for (size_t i = 0; i < newest; i++) {
            leave(&flock, i, DETACHED, 0);
        }
        for (size_t i = newest; i < WHOLE; i++) {
            set_one(&flock, i, 3000);
        }
        assert_well(flock.wheel);
        flock_end(&flock, 3000);
    }
}

/* A scrub has taken some entries of the bellwether's chunk, and those who had them go: nobody asks for them any more. */
static void led_by_one_half_scrubbed(void **state) {
    (void)state;
    enum { TAKEN = 7 };
    for (size_t k = 0; k < (size_t)DIRECTIONS * 2; k++) {
        struct flock flock = flock_here(0, k % DIRECTIONS);
        verge__calendar *calendar = &flock.wheel->calendar;
        while (calendar->scrub_list == NULL) {
            (void)verge__calendar_scrub(calendar, TAKEN);
        }
        for (size_t i = 0; i < WHOLE && k / DIRECTIONS == 1; i++) {
            if (flock.timeouts[i]->slot != NULL) {
                leave(&flock, i, DETACHED, 0);
            }
        }
        for (size_t i = 0; i < WHOLE; i++) {
            const size_t which = k % DIRECTIONS == BACKWARDS ? WHOLE - 1 - i : i;
            if (flock.timeouts[which] != NULL) {
                set_one(&flock, which, 3000);
            }
        }
        assert_well(flock.wheel);
        flock_end(&flock, 3000);
    }
}

/* The chunk was the newest of its list, lost entries, and got others, of timers or of timeouts that know their slot. */
static void led_by_one_among_others(void **state) {
    (void)state;
    enum { BELOW = WHOLE, BELOW_COUNT = CHUNK + 5, LOST = 10, ABOVE = BELOW + BELOW_COUNT, ABOVE_COUNT = LOST + 5 };
    for (size_t k = 0; k < COUNT_OF(geometries) * 2; k++) {
        struct flock flock = flock_in(k / 2, ABOVE + ABOVE_COUNT);
        set_one(&flock, 0, 200000);
        pass(&flock, 4);
        set_from(&flock, BELOW, BELOW_COUNT, HERE);
        set_from(&flock, 0, WHOLE, 5);
        for (size_t i = 0; i < WHOLE; i++) { /* the first of each chunk is to lead */
            set(flock.wheel, flock.timeouts[i], HERE * TICK - i);
            flock.ticks[i] = HERE;
        }
        pass(&flock, HERE - 1);
        for (size_t i = BELOW; i < BELOW + 5 + LOST; i++) {
            leave(&flock, i, DETACHED, 0);
        }
        for (size_t i = ABOVE; i < ABOVE + ABOVE_COUNT; i++) {
            if (k % 2 == 0) {
                set_one(&flock, i, HERE);
            } else {
                (void)schedule(flock.wheel, HERE * TICK, i);
                flock.ticks[i] = HERE;
            }
        }
        for (size_t i = WHOLE; i-- > 0;) {
            set_one(&flock, i, 3000);
        }
        assert_int_equal(led_chunks(&flock), LED_CHUNKS);
        assert_well(flock.wheel);
        flock_end(&flock, 3000);
    }
}

/* The first of a chunk has gone, and what has its place is nobody's: it tells nothing of when the others are due, though the
 * bellwether of another chunk, which is for later, is nobody's as well. */
static void the_first_and_another_bellwether_leave(void **state) {
    (void)state;
    enum { LATER = WHOLE, TICK_LATER = 180 };
    for (size_t k = 0; k < (size_t)WAYS_TO_LEAVE * 2; k++) {
        const enum leaving how = (enum leaving)(k % WAYS_TO_LEAVE);
        struct flock flock = flock_in(k / WAYS_TO_LEAVE, TWICE);
        set_one(&flock, 0, 200000);
        set_from(&flock, 0, TWICE, 5);
        set_from(&flock, 0, WHOLE, HERE + 1);
        set_from(&flock, LATER, WHOLE, HERE);
        pass(&flock, HERE - 1);
        set_from(&flock, 0, WHOLE, TICK_LATER - 50);
        set_from(&flock, LATER, WHOLE, TICK_LATER);
        assert_true(led_chunks(&flock) >= TWICE / CHUNK - 2);
        for (size_t i = 0; i < WHOLE; i += CHUNK) {
            leave(&flock, i, how, TICK_LATER);
            leave(&flock, LATER + i + CHUNK - 1, how, TICK_LATER);
        }
        assert_well(flock.wheel);
        flock_end(&flock, TICK_LATER);
    }
}

/* ---- the last ticks of time ---- */

/* They have all bits that what is put in place of a tick has, but for the bellwether's, and that one too where ticks are as
 * short as can be: a timeout without an entry, or with one among those that are past, gets one. */
static void at_the_end_of_time(void **state) {
    (void)state;
    enum { NEVER_SET, WAS_CLEARED, WAS_PAST, WAYS, LAST = 8 };
    for (size_t k = 0; k < (size_t)WAYS * LAST * 4; k++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.precision_ns = UINT64_C(1) << k / WAYS / LAST;
        options.start_ns = VERGE_NEVER - 100 * options.precision_ns;
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t deadline_ns = verge_wheel_largest_deadline(wheel) - k / WAYS % LAST * options.precision_ns;
        verge_timeout *other = timeout_new(wheel, 1);
        set(wheel, other, deadline_ns); /* there are levels for it */
        clear(wheel, other);
        verge_timeout *timeout = timeout_new(wheel, 2);
        if (k % WAYS == WAS_CLEARED) {
            set(wheel, timeout, deadline_ns);
            clear(wheel, timeout);
        } else if (k % WAYS == WAS_PAST) {
            set(wheel, timeout, options.start_ns - 1);
        }
        set(wheel, timeout, deadline_ns);
        assert_well(wheel);
        assert_quiet(wheel, deadline_ns - 1);
        assert_strikes(wheel, verge_wheel_fires_at(wheel, deadline_ns), timeout, 2);
        timeout_end(wheel, timeout);
        timeout_end(wheel, other);
        wheel_end(wheel);
    }
}

/* ---- memory ---- */

static uint32_t slab_of(const verge_timeout *timeout) {
    return verge__list_chunk((verge__entry *)timeout->entry + 1)->slab;
}

/* Many timers came before them, and are gone when they come up, after a chunk that may stay where it is: G7, theirs do not keep
 * the memory that all needed. */
static void led_ones_do_not_stay_where_they_are(void **state) {
    (void)state;
    enum { STAYS = WHOLE, OTHERS = 30000, GONE = HERE - 2 };
    for (size_t k = 0; k < COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k, WHOLE + CHUNK);
        set_from(&flock, STAYS, CHUNK, HERE);
        set_one(&flock, 0, 200000);
        for (size_t i = 0; i < OTHERS; i++) {
            (void)schedule(flock.wheel, GONE * TICK, i);
        }
        set_from(&flock, 0, WHOLE, 5);
        set_from(&flock, 0, WHOLE, HERE);
        pass(&flock, GONE - 1);
        static verge_expiry out[OTHERS];
        assert_int_equal(verge_wheel_poll(flock.wheel, GONE * TICK, out, OTHERS), OTHERS);
        pass(&flock, HERE - 1);
        const verge__chunk_pool *pool = &flock.wheel->calendar.pool;
        assert_true(pool->is_sparse);
        set_in_step(&flock, FORWARDS, 300);
        assert_int_equal(led_chunks(&flock), WHOLE / CHUNK);
        for (size_t i = 0; i < flock.count; i++) {
            assert_int_equal(slab_of(flock.timeouts[i]) <= pool->lowest, i >= STAYS);
        }
        note_places(&flock);
        poll_all(&flock, HERE);
        assert_true(are_together(&flock, STAYS, CHUNK));
        for (size_t i = 0; i < flock.count; i++) {
            assert_in_range(slab_of(flock.timeouts[i]), 0, pool->lowest);
        }
        flock_end(&flock, 300);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lead),
        cmocka_unit_test(lead_the_other_way_round),
        cmocka_unit_test(strike_here),
        cmocka_unit_test(not_before_it_is_time),
        cmocka_unit_test(lead_nobody),
        cmocka_unit_test(lead_to_the_least),
        cmocka_unit_test(some_leave),
        cmocka_unit_test(cleared_ones_go_once),
        cmocka_unit_test(looked_at),
        cmocka_unit_test(led_while_scrubbed),
        cmocka_unit_test(led_from_the_top),
        cmocka_unit_test(led_by_one_half_scrubbed),
        cmocka_unit_test(led_by_one_among_others),
        cmocka_unit_test(the_first_and_another_bellwether_leave),
        cmocka_unit_test(at_the_end_of_time),
        cmocka_unit_test(led_ones_do_not_stay_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
