/* SPDX-License-Identifier: MIT */
/* G1 to G3 of timeouts that are set one after the other, again and again: their entries go on together, chunk by chunk. */
#include "wheel/flock.h"

/* ---- together ---- */

/* Round after round, in the levels below and above. Those that fill no chunk go one by one. */
static void go_on_together(void **state) {
    (void)state;
    static const size_t counts[] = {WHOLE, WHOLE + 7, TWO_CHUNKS};
    for (size_t k = 0; k < COUNT_OF(geometries) * COUNT_OF(distances) * COUNT_OF(counts); k++) {
        const size_t count = counts[k / COUNT_OF(geometries) / COUNT_OF(distances)];
        const uint64_t distance = distances[k / COUNT_OF(geometries) % COUNT_OF(distances)];
        struct flock flock = flock_in(k % COUNT_OF(geometries), count);
        uint64_t tick = 10 + distance;
        gather(&flock, 0, count, tick);
        const size_t whole = count / CHUNK * CHUNK;
        assert_int_equal(uniform_chunks(flock.wheel), count / CHUNK - (count == whole));
        for (size_t round = 0; round < 3; round++) {
            pass(&flock, tick - 1);
            assert_true(are_together(&flock, 0, whole));
            set_from(&flock, 0, count, tick + distance);
            assert_int_equal(stats_of(flock.wheel).entries, count);
            poll_all(&flock, tick);
            assert_true(are_together(&flock, 0, whole));
            tick += distance;
        }
        assert_int_equal(stats_of(flock.wheel).entries_filed, count);
        assert_int_equal(stats_of(flock.wheel).entries_refiled, 4 * count);
        flock_end(&flock, tick);
    }
}

/* Each entry that comes down from the level above the lowest counts as moved. */
static void come_down_counted(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct flock flock = flock_in(k, WHOLE + 7);
        gather(&flock, 0, flock.count, 3000);
        pass(&flock, 2999);
        assert_int_equal(stats_of(flock.wheel).entries_moved, flock.count);
        flock_end(&flock, 3000);
    }
}

/* Over many blocks at once; set again in between, or not. */
static void over_many_blocks(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries) * 2; k++) {
        struct flock flock = flock_in(k / 2, WHOLE + 7);
        uint64_t tick = 3000;
        gather(&flock, 0, flock.count, tick);
        for (uint64_t jump = 50; jump < 200000; jump *= 3) {
            if (k % 2 == 1) {
                set_from(&flock, 0, flock.count, tick + 4 * jump);
            } else if (flock.ticks[0] == 0) {
                set_from(&flock, 0, WHOLE, tick + jump / 2);
            }
            tick += jump;
            poll_all(&flock, tick);
            assert_well(flock.wheel);
        }
        flock_end(&flock, tick + 800000);
    }
}

/* ---- ticks that flock, and some that do not ---- */

/* When the entries of a flock have come up: ticks of its timeouts, and whether they go on together. */
static void flock_or_not(void **state) {
    (void)state;
    static const struct {
        uint64_t ticks[4]; /* of a third of each chunk, and of the rest; of its first and its last one, unless 0 */
        bool is_together;
    } rows[] = {
        {{500, 501, 0, 0}, true},        {{501, 500, 0, 0}, true},        {{500, 9000, 0, 0}, true},
        {{9000, 500, 0, 0}, true},       {{500, 501, 9000, 9001}, true},  {{9001, 9000, 501, 500}, true},
        {{500, 9000, 501, 9001}, true},  {{6, 9000, 0, 0}, true},         {{500, 600, 700, 0}, false},
        {{500, 600, 0, 700}, false},     {{500, 502, 504, 0}, false},     {{500, 502, 0, 504}, false},
        {{500, 9000, 0, 9002}, false},   {{500, 9000, 0, 5}, false},      {{500, 9000, 5, 0}, false},
        {{500, 5, 0, 0}, false},         {{5, 500, 0, 0}, false},         {{500, 500, 5, 0}, false},
        {{500, 500, 0, 5}, false},       {{500, 500, 70000, 900}, false}, {{500, 70000, 70001, 499}, true},
        {{70000, 500, 501, 499}, false}, {{70000, 500, 499, 501}, false},
    };
    for (size_t k = 0; k < COUNT_OF(rows) * COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k % COUNT_OF(geometries), WHOLE + 7);
        const uint64_t *ticks = rows[k / COUNT_OF(geometries)].ticks;
        set_from(&flock, 0, flock.count, 5);
        for (size_t i = 0; i < flock.count; i++) {
            const size_t at = i % CHUNK;
            const uint64_t tick = at == 0 ? ticks[2] : at == CHUNK - 1 ? ticks[3] : 0;
            set_one(&flock, i, tick != 0 ? tick : ticks[at >= CHUNK / 3]);
        }
        pass(&flock, 4);
        poll_all(&flock, 5);
        assert_well(flock.wheel);
        assert_int_equal(uniform_chunks(flock.wheel) > 0, rows[k / COUNT_OF(geometries)].is_together);
        flock_end(&flock, 70001);
    }
}

/* They are in an upper level when they are set later, and found to flock when their slot is drained; one row does not. */
static void later_before_they_come_down(void **state) {
    (void)state;
    enum { ROWS = 4, ROW_APART = 2 };
    for (size_t k = 0; k < COUNT_OF(geometries) * ROWS; k++) {
        struct flock flock = flock_in(k / ROWS, WHOLE);
        set_from(&flock, 0, WHOLE, 3000);
        for (size_t i = 0; i < WHOLE; i++) {
            const uint64_t ticks[ROWS] = {100000, 3000 + i % 2, 3000 + i % CHUNK, 3000 + i % 2 * 97000};
            set_one(&flock, i, ticks[k % ROWS]);
        }
        note_places(&flock);
        pass(&flock, 2999);
        assert_int_equal(are_together(&flock, 0, WHOLE), k % ROWS != ROW_APART);
        flock_end(&flock, 100001);
    }
}

/* ---- those that leave ---- */

static void some_leave(void **state) {
    (void)state;
    for (size_t k = 0; k < (size_t)WAYS_TO_LEAVE * WHICH * COUNT_OF(geometries) * 4; k++) {
        const enum leaving how = (enum leaving)(k % WAYS_TO_LEAVE);
        const size_t which = k / WAYS_TO_LEAVE % WHICH;
        const size_t variant = k / WAYS_TO_LEAVE / WHICH % 4;
        struct flock flock = flock_in(k / WAYS_TO_LEAVE / WHICH / 4, WHOLE + CHUNK);
        const uint64_t tick = variant < 2 ? 3000 : 20000;
        if (variant % 2 == 1) {
            move_always(flock.wheel);
        }
        gather(&flock, 0, WHOLE, tick);
        assert_true(uniform_chunks(flock.wheel) > 0);
        leave_some(&flock, which, how, tick);
        set_from(&flock, WHOLE, CHUNK, tick); /* others come to the slot */
        pass(&flock, tick - 1);
        for (size_t i = 0; i < WHOLE; i++) {
            if (flock.timeouts[i] != NULL && i % 2 == 0) {
                set_one(&flock, i, tick + 5000);
            }
        }
        flock_end(&flock, tick + 5000);
    }
}

/* When the tick of a chunk has come, the entries of those that were cleared are dropped: only the others go on. One in the
 * middle is set last, so that none leads them. */
static void cleared_ones_stay_behind(void **state) {
    (void)state;
    for (size_t k = 0; k < WHICH * COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k / WHICH, WHOLE);
        gather(&flock, 0, WHOLE, 200);
        for (size_t i = 0; i < (size_t)2 * WHOLE; i++) {
            if ((i % CHUNK == 7) == (i >= WHOLE)) {
                set_one(&flock, i % WHOLE, 3000);
            }
        }
        leave_some(&flock, k % WHICH, CLEARED, 0);
        pass(&flock, 200);
        assert_int_equal(stats_of(flock.wheel).garbage, 0);
        flock_end(&flock, 3000);
    }
}

/* Of entries that were due and not returned yet, when the chunk they are in was found not to flock. */
static void leave_what_is_due(void **state) {
    (void)state;
    for (size_t k = 0; k < WAYS_TO_LEAVE; k++) {
        struct flock flock = flock_in(0, WHOLE);
        set_from(&flock, 0, WHOLE, 5);
        set_from(&flock, 0, WHOLE - 2, 500);
        set_from(&flock, WHOLE - 1, 1, 500); /* the newest: so the chunk is looked at, and does not go on */
        verge_expiry out[1];
        assert_int_equal(verge_wheel_poll(flock.wheel, 5 * TICK, out, 1), 1);
        strike(&flock, out);
        leave(&flock, WHOLE - CHUNK, (enum leaving)k, 600);
        leave(&flock, WHOLE - 3, (enum leaving)k, 600);
        leave(&flock, 0, (enum leaving)k, 600);
        assert_well(flock.wheel);
        poll_all(&flock, 5);
        flock_end(&flock, 600);
    }
}

/* The last slot of all time, where an entry that is nobody's must not be asked for its tick. */
static void at_the_end_of_time(void **state) {
    (void)state;
    static const uint8_t bits[] = {10, 10, 10, 10, 10, 14, 0};
    verge_wheel_options options = options_of_levels(1, bits);
    options.start_ns = VERGE_NEVER - (UINT64_C(3) << 20);
    struct flock flock = flock_of(&options, WHOLE);
    verge_wheel *wheel = flock.wheel;
    verge_expiry out[WHOLE];
    for (size_t i = 0; i < 2; i++) { /* one that is set anew when it is due leaves an entry that is nobody's */
        set(wheel, flock.timeouts[i], options.start_ns + 1);
    }
    assert_int_equal(verge_wheel_poll(wheel, options.start_ns + 1, out, 1), 1);
    const uint64_t deadline_ns = VERGE_NEVER - 500;
    for (size_t i = 0; i < WHOLE; i++) {
        set(wheel, flock.timeouts[i], deadline_ns);
    }
    note_places(&flock);
    assert_quiet(wheel, VERGE_NEVER - (UINT64_C(1) << 20) + 10);
    assert_true(are_together(&flock, 0, WHOLE));
    for (size_t i = 0; i < WHOLE; i += CHUNK) {
        set(wheel, flock.timeouts[i], deadline_ns - 100);
    }
    assert_quiet(wheel, VERGE_NEVER - 1000);
    assert_well(wheel);
    assert_quiet(wheel, deadline_ns - 101);
    assert_int_equal(verge_wheel_poll(wheel, deadline_ns - 100, out, WHOLE), WHOLE / CHUNK);
    assert_quiet(wheel, deadline_ns - 1);
    assert_int_equal(verge_wheel_poll(wheel, deadline_ns, out, WHOLE), WHOLE - WHOLE / CHUNK);
    for (size_t i = 0; i < WHOLE; i++) {
        timeout_end(wheel, flock.timeouts[i]);
    }
    wheel_end(wheel);
}

/* ---- what else is in the slot ---- */

/* The chunks of a second flock come below the newest, which is the last of a first one by then, and lost entries to the chunk
 * below. */
static void the_newest_chunk_changes(void **state) {
    (void)state;
    enum { FLOCK = 0, ANOTHER = WHOLE, OTHERS = TWICE, OTHER_COUNT = CHUNK + 5 };
    for (size_t k = 0; k < COUNT_OF(geometries) * 8; k++) {
        struct flock flock = flock_in(k / 8, OTHERS + OTHER_COUNT);
        const uint64_t tick = 3000;
        set_from(&flock, OTHERS, OTHER_COUNT, tick);
        gather(&flock, FLOCK, WHOLE, tick);
        for (size_t i = 0; i < (k % 8 < 4 ? 10 : 20); i++) { /* the newest chunk goes, and some of the next */
            leave(&flock, OTHERS + i, k % 2 == 0 ? EARLIER : DETACHED, tick);
        }
        if (k % 4 < 2) {
            attach(&flock, 3);
            set_from(&flock, flock.count - 3, 3, tick);
        }
        verge_timer timer = 0;
        assert_int_equal(verge_wheel_schedule(flock.wheel, tick * TICK, NULL, &timer), 0);
        gather(&flock, ANOTHER, WHOLE, tick);
        assert_true(uniform_chunks(flock.wheel) >= 4);
        leave_some(&flock, k % WHICH, EARLIER, tick);
        for (size_t i = 20; i < OTHER_COUNT; i++) {
            leave(&flock, OTHERS + i, k % 4 < 2 ? EARLIER : DETACHED, tick);
        }
        assert_int_equal(verge_wheel_cancel(flock.wheel, timer, NULL), 0);
        flock_end(&flock, tick);
    }
}

/* When the tick has come, chunks that are said to be uniform lie above one that is not: of timeouts that know their slot, or
 * of timers. */
static void above_others(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct flock flock = flock_in(k / 2, WHOLE + CHUNK + 1);
        for (size_t i = WHOLE; i < flock.count; i++) {
            if (k % 2 == 0) {
                set_one(&flock, i, 200);
            } else {
                (void)schedule(flock.wheel, 200 * TICK, i);
                flock.ticks[i] = 200;
            }
        }
        gather(&flock, 0, WHOLE, 200);
        set_from(&flock, 0, k % 2 == 0 ? flock.count : WHOLE, 500);
        pass(&flock, 200);
        for (size_t i = WHOLE; i < flock.count && k % 2 == 0; i++) {
            leave(&flock, i, EARLIER, 0);
        }
        flock_end(&flock, 500);
    }
}

/* An entry of a timer in the middle of each chunk, or in place of the first or last: none goes on as it is. */
static void with_handles_among_them(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries) * CHUNK; k++) {
        struct flock flock = flock_in(k / CHUNK, WHOLE);
        verge_timer timers[WHOLE / CHUNK];
        for (size_t i = 0; i < WHOLE; i++) {
            if (i % CHUNK == k % CHUNK) {
                timers[i / CHUNK] = schedule(flock.wheel, 5 * TICK, i);
                flock.ticks[i] = 5;
            } else {
                set_one(&flock, i, 5);
            }
        }
        for (size_t i = 0; i < WHOLE; i++) {
            if (i % CHUNK != k % CHUNK) {
                set_one(&flock, i, 3000);
            } else if (k % 2 == 0) {
                assert_int_equal(verge_wheel_reschedule(flock.wheel, timers[i / CHUNK], 3000 * TICK), 0);
                flock.ticks[i] = 3000;
            }
        }
        pass(&flock, 5);
        flock_end(&flock, 3000);
    }
}

/* ---- slots that are sifted ---- */

/* A scrub has seen a part of the slot. Others come, some leave; and it comes down, half seen. */
static void while_the_slot_is_scrubbed(void **state) {
    (void)state;
    for (size_t k = 0; k < (size_t)WAYS_TO_LEAVE * WHICH * 4; k++) {
        struct flock flock = flock_in(k / WAYS_TO_LEAVE % 2, TWICE);
        const uint64_t tick = k % 2 == 0 ? 3000 : 200;
        gather(&flock, 0, WHOLE, tick);
        begin_scrub(flock.wheel);
        assert_well(flock.wheel);
        gather(&flock, WHOLE, WHOLE, tick);
        leave_some(&flock, k / WAYS_TO_LEAVE % WHICH, (enum leaving)(k % WAYS_TO_LEAVE), tick);
        if (k / WAYS_TO_LEAVE / WHICH / 2 == 0) {
            end_scrub(flock.wheel);
        }
        flock_end(&flock, tick);
    }
}

/* After a compaction, a timeout that leaves takes its entry along. */
static void compacted(void **state) {
    (void)state;
    for (size_t k = 0; k < WHICH * COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k / WHICH, WHOLE);
        gather(&flock, 0, WHOLE, 3000);
        leave_some(&flock, k % WHICH, CLEARED, 0);
        verge_wheel_compact(flock.wheel);
        assert_int_equal(stats_of(flock.wheel).garbage, 0);
        for (size_t i = 0; i < WHOLE; i++) {
            set_one(&flock, i, 2000);
        }
        assert_in_range(stats_of(flock.wheel).entries, WHOLE, WHOLE + 1);
        flock_end(&flock, 2000);
    }
}

/* What is asked for the next deadline puts entries where they belong. */
static void asked_for_the_next(void **state) {
    (void)state;
    for (size_t k = 0; k < WHICH * COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k / WHICH, WHOLE);
        gather(&flock, 0, WHOLE, 3000);
        leave_some(&flock, k % WHICH, CLEARED_AND_SET, 8000);
        assert_int_equal(verge_wheel_next_deadline(flock.wheel), (k % WHICH == 4 ? 8000 : 3000) * TICK);
        assert_well(flock.wheel);
        flock_end(&flock, 8000);
    }
}

/* ---- ways to poll ---- */

/* A limit on what is returned, a limit on the work, runs. */
static void within_limits(void **state) {
    (void)state;
    static const size_t limits[] = {RUNS, 1, 7, LIMIT_MAX};
    static const size_t work_limits[] = {0, 1, 10, 29, 30, 31, 100, 1000};
    for (size_t k = 0; k < COUNT_OF(limits) * COUNT_OF(work_limits) * COUNT_OF(geometries); k++) {
        verge_wheel_options options = options_of_levels(TICK, geometries[k % COUNT_OF(geometries)]);
        options.work_limit = work_limits[k / COUNT_OF(geometries) % COUNT_OF(work_limits)];
        struct flock flock = flock_of(&options, TWICE);
        flock.limit = limits[k / COUNT_OF(geometries) / COUNT_OF(work_limits)];
        set_from(&flock, 0, TWICE, 5);
        for (uint64_t tick = 3000; tick < 20000; tick += 3000) {
            set_from(&flock, 0, WHOLE, tick);
            set_from(&flock, WHOLE, WHOLE, 18000);
            note_places(&flock);
            pass(&flock, tick - 1);
            assert_true(are_together(&flock, 0, WHOLE) || options.work_limit != 0);
        }
        flock_end(&flock, 18000);
    }
}

/* G8: chunks that go on are work, of polls and of runs. */
static void going_on_is_work(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct flock flock = flock_in(0, WHOLE);
        flock.limit = k == 0 ? RUNS : LIMIT_MAX;
        gather(&flock, 0, WHOLE, 3000);
        assert_int_equal(stats_of(flock.wheel).last_poll_work, WHOLE);
        flock_end(&flock, 3000);
    }
}

static void note_first(void *context, const verge_expiry *expiry) {
    uint64_t *first_ns = context;
    *first_ns = *first_ns == 0 ? expiry->deadline_ns : *first_ns;
}

/* G5: what is set for the past while there is a backlog comes out next, and does not go on to its tick. */
static void past_ones_come_next(void **state) {
    (void)state;
    struct flock flock = flock_in(0, TWICE);
    set_from(&flock, 0, WHOLE, 10);
    verge_expiry out[WHOLE];
    assert_int_equal(verge_wheel_poll(flock.wheel, 30 * TICK, out, 1), 1);
    strike(&flock, &out[0]);
    set_from(&flock, WHOLE, WHOLE, 25);
    assert_int_equal(verge_wheel_poll(flock.wheel, 30 * TICK, out, WHOLE), WHOLE);
    for (size_t i = 0; i < WHOLE; i++) {
        assert_int_equal(out[i].deadline_ns, 25 * TICK);
        strike(&flock, &out[i]);
    }
    set_from(&flock, WHOLE, WHOLE, 25);
    uint64_t first_ns = 0;
    assert_int_equal(verge_wheel_run(flock.wheel, 30 * TICK, note_first, &first_ns), TWICE - 1);
    assert_int_equal(first_ns, 25 * TICK);
    memset(flock.ticks, 0, sizeof(flock.ticks));
    flock_end(&flock, 31);
}

/* To the nanosecond: half of a tick is due, and most of that is not returned at once. */
static void exactly(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries); k++) {
        struct flock flock = flock_in(k, WHOLE);
        gather(&flock, 0, WHOLE, 3000);
        for (size_t i = 0; i < WHOLE; i++) {
            set(flock.wheel, flock.timeouts[i], 3000 * TICK + 1 + i % 2);
        }
        pass(&flock, 2999);
        memset(flock.ticks, 0, sizeof(flock.ticks));
        verge_expiry out[WHOLE];
        const uint64_t now_ns = 3000 * TICK + 1;
        assert_int_equal(verge_wheel_poll_exact(flock.wheel, now_ns, out, 7), 7);
        assert_well(flock.wheel);
        assert_int_equal(verge_wheel_poll_exact(flock.wheel, now_ns, out, WHOLE), WHOLE / 2 - 7);
        assert_well(flock.wheel);
        for (size_t i = 1; i < WHOLE; i += 2) {
            set_one(&flock, i, 4000);
        }
        flock_end(&flock, 4000);
    }
}

/* Where the order counts, and where nothing comes down, each entry is looked at. */
static void one_by_one(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(timeout_orders) * COUNT_OF(geometries) * 2; k++) {
        verge_wheel_options options = options_of_levels(TICK, geometries[k % COUNT_OF(geometries)]);
        options.order = timeout_orders[k / COUNT_OF(geometries) % COUNT_OF(timeout_orders)];
        options.coarse = k / COUNT_OF(geometries) >= COUNT_OF(timeout_orders);
        if (options.order == VERGE_ORDER_ANY && !options.coarse) {
            continue;
        }
        struct flock flock = flock_of(&options, WHOLE);
        for (uint64_t tick = 5; tick < 10000; tick += 3000) {
            set_from(&flock, 0, WHOLE, tick);
            set_from(&flock, 0, WHOLE, tick + 3000);
            pass(&flock, tick);
            assert_int_equal(uniform_chunks(flock.wheel), 0);
            pass(&flock, tick + 2990);
            assert_int_equal(uniform_chunks(flock.wheel), 0);
        }
        flock_end(&flock, 20000);
    }
}

/* ---- memory ---- */

/* A few of many go on in step: G7, their chunks do not keep the memory that all of them needed. */
static void chunks_do_not_stay_where_they_are(void **state) {
    (void)state;
    enum { TICKS = 200, CHUNKS_A_TICK = 20, A_TICK = CHUNKS_A_TICK * CHUNK, COUNT = TICKS * A_TICK };
    for (size_t k = 0; k < 4; k++) {
        const uint64_t ahead = k / 2 == 0 ? TICKS * 3 / 2 : TICKS * 20;
        const verge_wheel_options options = options_of_levels(TICK, geometries[2]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts = calloc(COUNT, sizeof(*timeouts));
        assert_non_null(timeouts);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(verge_timeout_attach(wheel, &timeouts[i], NULL), 0);
        }
        size_t most = 0;
        for (uint64_t now = 1; now < ahead * 5; now++) {
            for (size_t i = now % TICKS * A_TICK; i < (now % TICKS + 1) * A_TICK; i++) {
                const bool goes_on = k % 2 == 0 ? i / A_TICK % 20 == 0 : i / CHUNK % CHUNKS_A_TICK == 0;
                if (now / 2 < TICKS || goes_on) {
                    set(wheel, &timeouts[i], (now + ahead) * TICK);
                }
            }
            verge_expiry out[A_TICK];
            (void)verge_wheel_poll(wheel, now * TICK, out, COUNT_OF(out));
            const size_t chunk_count = wheel->calendar.pool.chunk_count;
            most = chunk_count > most ? chunk_count : most;
        }
        assert_in_range(wheel->calendar.pool.chunk_count, 0, most / 3);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(verge_timeout_detach(wheel, &timeouts[i]), 0);
        }
        free(timeouts);
        wheel_end(wheel);
    }
}

/* ---- the end of all ---- */

static void cleared_and_begun_anew(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(geometries) * 2; k++) {
        struct flock flock = flock_in(k / 2, WHOLE);
        gather(&flock, 0, WHOLE, 3000);
        if (k % 2 == 0) {
            verge_wheel_clear(flock.wheel);
        } else {
            leave_some(&flock, WHICH - 1, CLEARED, 0);
            assert_int_equal(verge_wheel_set_start(flock.wheel, 1000 * TICK), 0);
        }
        assert_int_equal(stats_of(flock.wheel).entries, 0);
        assert_well(flock.wheel);
        gather(&flock, 0, WHOLE, 4000);
        flock_end(&flock, 4000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(go_on_together),
        cmocka_unit_test(come_down_counted),
        cmocka_unit_test(over_many_blocks),
        cmocka_unit_test(flock_or_not),
        cmocka_unit_test(later_before_they_come_down),
        cmocka_unit_test(some_leave),
        cmocka_unit_test(cleared_ones_stay_behind),
        cmocka_unit_test(leave_what_is_due),
        cmocka_unit_test(at_the_end_of_time),
        cmocka_unit_test(the_newest_chunk_changes),
        cmocka_unit_test(above_others),
        cmocka_unit_test(with_handles_among_them),
        cmocka_unit_test(while_the_slot_is_scrubbed),
        cmocka_unit_test(compacted),
        cmocka_unit_test(asked_for_the_next),
        cmocka_unit_test(within_limits),
        cmocka_unit_test(going_on_is_work),
        cmocka_unit_test(past_ones_come_next),
        cmocka_unit_test(exactly),
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(chunks_do_not_stay_where_they_are),
        cmocka_unit_test(cleared_and_begun_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
