/* SPDX-License-Identifier: MIT */
/*
 * wheel/flock.h - timeouts that are set one after the other, again and again, and when each has to strike.
 */
#ifndef VERGE_TESTS_WHEEL_FLOCK_H
#define VERGE_TESTS_WHEEL_FLOCK_H

#include "wheel/timeouts_inside.h"

enum {
    CHUNK = VERGE__CHUNK_ENTRIES,
    TWO_CHUNKS = 2 * CHUNK,
    WHOLE = 4 * CHUNK, /* fill some chunks */
    TWICE = 2 * WHOLE,
    COUNT_MAX = 3 * WHOLE,
    RUNS = 0, /* in place of a limit: a run */
    LIMIT_MAX = 64,
};

/* Timeouts, and when each has to strike. */
struct flock {
    verge_wheel *wheel;
    size_t count;
    size_t limit;                       /* of a poll */
    bool is_coarse;                     /* they strike late */
    uint64_t before;                    /* the tick of the last poll but one */
    verge_timeout *timeouts[COUNT_MAX]; /* NULL: it has gone */
    uint64_t ticks[COUNT_MAX];          /* 0: it is not set */
    const void *places[COUNT_MAX];
};

/* Slots of 512 ticks and less know the tick of a chunk, wider ones have to ask. */
static const uint8_t geometries[][6] = {{8, 8, 8, 0}, {10, 10, 10, 0}, {4, 4, 4, 4, 4, 0}, {3, 6, 12, 0}};
static const uint64_t distances[] = {7, 200, 3000, 100000};

static inline uint64_t now_of(const struct flock *flock) {
    return verge_wheel_now(flock->wheel) / TICK;
}

static inline void strike(void *context, const verge_expiry *expiry) {
    struct flock *flock = context;
    uint64_t *tick = &flock->ticks[number_of(expiry->data)];
    assert_int_equal((expiry->deadline_ns + TICK - 1) / TICK, *tick);
    assert_in_range(*tick, flock->is_coarse ? 1 : flock->before + 1, now_of(flock));
    *tick = 0;
}

/* All that a tick has: those strike which have to. */
static inline void poll_all(struct flock *flock, uint64_t tick) {
    verge_expiry out[LIMIT_MAX];
    flock->before = tick > now_of(flock) ? now_of(flock) : flock->before;
    do {
        const uint64_t refiled = stats_of(flock->wheel).entries_refiled;
        size_t count = 0;
        if (flock->limit == RUNS) {
            (void)verge_wheel_run(flock->wheel, tick * TICK, strike, flock);
        } else {
            count = verge_wheel_poll(flock->wheel, tick * TICK, out, flock->limit);
        }
        for (size_t i = 0; i < count; i++) {
            strike(flock, &out[i]);
        }
        const uint64_t work_limit = flock->wheel->options.work_limit;
        const verge_wheel_stats stats = stats_of(flock->wheel);
        assert_true(work_limit == 0 || stats.last_poll_work <= work_limit);
        assert_true(work_limit == 0 || stats.entries_refiled - refiled <= work_limit);
    } while (verge_wheel_has_backlog(flock->wheel));
    for (size_t i = 0; i < flock->count && !flock->is_coarse; i++) {
        assert_true(flock->ticks[i] == 0 || flock->ticks[i] > tick);
    }
}

/* Polls now and then, and each of the last ticks. */
static inline void pass(struct flock *flock, uint64_t tick) {
    enum { STRIDE = 61, LAST = 70 };
    for (uint64_t now = now_of(flock); now < tick;) {
        now = now + STRIDE + LAST < tick ? now + STRIDE : now + 1;
        poll_all(flock, now);
        if (now % 64 == 0) {
            assert_well(flock->wheel);
        }
    }
    assert_well(flock->wheel);
}

static inline void set_one(struct flock *flock, size_t i, uint64_t tick) {
    set(flock->wheel, flock->timeouts[i], tick * TICK);
    flock->ticks[i] = tick;
}

static inline void set_from(struct flock *flock, size_t first, size_t count, uint64_t tick) {
    for (size_t i = first; i < first + count; i++) {
        set_one(flock, i, tick);
    }
}

static inline void attach(struct flock *flock, size_t count) {
    for (; count > 0; count--, flock->count++) {
        flock->timeouts[flock->count] = timeout_new(flock->wheel, flock->count);
        flock->ticks[flock->count] = 0;
    }
}

static inline struct flock flock_of(const verge_wheel_options *options, size_t count) {
    struct flock flock = {.wheel = wheel_new(options), .limit = LIMIT_MAX, .is_coarse = options->coarse};
    attach(&flock, count);
    return flock;
}

static inline struct flock flock_in(size_t geometry, size_t count) {
    const verge_wheel_options options = options_of_levels(TICK, geometries[geometry]);
    return flock_of(&options, count);
}

static inline void detach(struct flock *flock, size_t i) {
    timeout_end(flock->wheel, flock->timeouts[i]);
    flock->timeouts[i] = NULL;
    flock->ticks[i] = 0;
}

/* By then, all have to have struck. */
static inline void flock_end(struct flock *flock, uint64_t tick) {
    pass(flock, tick);
    for (size_t i = 0; i < flock->count; i++) {
        assert_int_equal(flock->ticks[i], 0);
        if (flock->timeouts[i] != NULL) {
            timeout_end(flock->wheel, flock->timeouts[i]);
        }
    }
    wheel_end(flock->wheel);
}

static inline void note_places(struct flock *flock) {
    for (size_t i = 0; i < flock->count; i++) {
        flock->places[i] = flock->timeouts[i] == NULL ? NULL : flock->timeouts[i]->entry;
    }
}

/* Whether the entries are where they were, in their chunks, wherever these are. */
static inline bool are_together(const struct flock *flock, size_t first, size_t count) {
    size_t there = 0;
    for (size_t i = first; i < first + count; i++) {
        there += flock->timeouts[i]->entry == flock->places[i] && flock->timeouts[i]->slot == NULL;
    }
    return there == count;
}

/* Of a list, the chunks that say that they are uniform; or of these, that they are ahead. */
static inline size_t list_chunks(verge__list list, bool are_ahead) {
    const verge__chunk *chunk = list == NULL ? NULL : verge__list_chunk(list)->below;
    size_t count = 0;
    for (; chunk != NULL; chunk = chunk->below) {
        count += chunk->is_uniform && (chunk->is_ahead || !are_ahead);
    }
    return count;
}

/* The same of all slots. */
static inline size_t slot_chunks(const verge_wheel *wheel, bool are_ahead) {
    const verge__calendar *calendar = &wheel->calendar;
    size_t count = list_chunks(calendar->scrub_list, are_ahead);
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        for (uint32_t slot = 0; slot <= calendar->levels[k].mask; slot++) {
            count += list_chunks(calendar->levels[k].slots[slot], are_ahead);
        }
    }
    return count;
}

static inline size_t uniform_chunks(const verge_wheel *wheel) {
    return slot_chunks(wheel, false);
}

/* Sets them so that their entries come up soon, and then to a tick; when the entries have come up, they go there together. */
static inline void gather(struct flock *flock, size_t first, size_t count, uint64_t tick) {
    const uint64_t soon = now_of(flock) + 5;
    set_from(flock, first, count, soon);
    set_from(flock, first, count, tick);
    note_places(flock);
    pass(flock, soon);
    assert_true(are_together(flock, first, count / CHUNK * CHUNK));
}

/* ---- those that leave ---- */

enum leaving { EARLIER, EARLIER_AND_BACK, CLEARED, CLEARED_AND_SET, DETACHED, WAYS_TO_LEAVE };

static inline void leave(struct flock *flock, size_t i, enum leaving how, uint64_t tick) {
    if (how == EARLIER || how == EARLIER_AND_BACK) {
        set_one(flock, i, now_of(flock) + 2 + i % 3);
    }
    if (how == CLEARED || how == CLEARED_AND_SET) {
        clear(flock->wheel, flock->timeouts[i]);
        flock->ticks[i] = 0;
    }
    if (how == EARLIER_AND_BACK || how == CLEARED_AND_SET) {
        set_one(flock, i, tick);
    }
    if (how == DETACHED) {
        detach(flock, i);
    }
}

/* The first of each chunk, the last, all of one, all but one, all. */
enum { WHICH = 5 };
static inline bool is_one(size_t i, size_t which) {
    const bool is_one_of[WHICH] = {i % CHUNK == 0, i % CHUNK == CHUNK - 1, i / CHUNK == 1, i % CHUNK != 3, true};
    return is_one_of[which];
}

static inline void leave_some(struct flock *flock, size_t which, enum leaving how, uint64_t tick) {
    for (size_t i = 0; i < WHOLE; i++) {
        if (is_one(i, which)) {
            leave(flock, i, how, tick);
        }
    }
    assert_well(flock->wheel);
}

#endif
