/* SPDX-License-Identifier: MIT */
/*
 * wheel/due.h - what polls and runs share: entries that have come up, and how a poll begins and ends.
 */
#ifndef VERGE_SRC_WHEEL_DUE_H
#define VERGE_SRC_WHEEL_DUE_H

#include "base/probes.h"
#include "wheel/calendar_short.h"
#include "wheel/wheel_internal.h"

/* How far ahead records are brought towards the cache: entries of the list at hand, and ticks after the next one. Where a tick
 * has few timers, polling the next takes less than a miss. */
enum {
    VERGE__PREFETCH_AHEAD = 24,
    VERGE__PREFETCH_TICKS = 3,
};

/* quiet_until in a short poll: it is not quiet, as the rest of a tick is to be handed out (W5), but nothing else has happened. No
 * tick that is still to come is as early. */
#define VERGE__IN_SHORT_POLL 1

/* ---- poll.c ---- */

/* Takes the entries of the next tick that has come; false if there are none, or the budget ran out. */
bool verge__wheel_take_batch(verge_wheel *wheel, uint64_t target, size_t *budget);

/* What poll_exact picked and did not return goes back into its tick, so that it comes out in order with
 * what was scheduled since. Not with a work limit: there it stays first. */
void verge__wheel_put_back_exact(verge_wheel *wheel);

/* Any poll. exact: also returns what is due in the tick under way. work_limit: SIZE_MAX if there is none. */
size_t verge__wheel_poll_within(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit, bool exact,
                                size_t work_limit);

/* Brings the records of a tick towards the cache, as the last for now. */
void verge__wheel_prefetch_tick(verge_wheel *wheel, uint64_t tick);

/* ---- refile.c ---- */

/* From the newest, a full one, on: files the chunks of a batch again whose timeouts were all moved on, and together. Returns how
 * many entries that were; at most `budget`. */
size_t verge__wheel_refile_chunks(verge_wheel *wheel, verge__list *list, size_t budget);

/* ---- one entry ---- */

/* Whether the timer of an entry that came up is due at `tick`. */
static VERGE__ALWAYS_INLINE bool verge__is_due(const verge_wheel *wheel, const verge__record *record, uint64_t tick) {
    return verge__wheel_tick(wheel, record->deadline_ns) <= tick;
}

/* Whether an entry is for a tick; be it the bellwether's. Where ticks have all bits there is none. */
static VERGE__ALWAYS_INLINE bool verge__is_of_tick(const verge_wheel *wheel, const verge__record *record,
                                                   uint64_t tick) {
    uint64_t entry_tick = record->u.entry_tick;
    return VERGE__LIKELY(entry_tick == tick) || (entry_tick ^ tick) == wheel->calendar.owner.bellwether;
}

/* Fills in what is returned, and ends the timer; whether it was a timeout. */
static VERGE__ALWAYS_INLINE bool verge__wheel_end_timer(verge_wheel *wheel, verge__record *record, verge__entry entry,
                                                        verge_expiry *ret_expiry) {
    if (VERGE__UNLIKELY(verge__entry_is_timeout(entry))) {
        *ret_expiry = (verge_expiry){.deadline_ns = record->deadline_ns, .data = record->data};
        record->generation = 0;
        verge__timeout_has_no_entry(wheel, verge__entry_timeout(entry));
        VERGE__PROBE4(fire, wheel, record, ret_expiry->deadline_ns, wheel->now_ns);
        return true;
    }
    uint32_t index = verge__entry_index(entry);
    *ret_expiry = (verge_expiry){.timer = verge__records_handle(index, record->generation),
                                 .deadline_ns = record->deadline_ns,
                                 .data = record->data};
    verge__records_free(&wheel->records, record, index);
    VERGE__PROBE4(fire, wheel, ret_expiry->timer, ret_expiry->deadline_ns, wheel->now_ns);
    return false;
}

/* ---- towards the cache ---- */

/* Inline, because gcc thinks that a function which does nothing but prefetch need not be called. */
static VERGE__ALWAYS_INLINE void verge__wheel_prefetch_records(const verge_wheel *wheel, const verge__entry *entries,
                                                               size_t count) {
    for (size_t i = 0; i < count; i++) {
        VERGE__PREFETCH_WRITE(verge__wheel_record(wheel, entries[i]));
    }
}

/* Brings the records of a list's newest entries, of one chunk and at most `most`, towards the cache. */
static VERGE__ALWAYS_INLINE void verge__wheel_prefetch_list(const verge_wheel *wheel, verge__list list, size_t most) {
    if (list != NULL) {
        size_t count = verge__list_chunk_count(list);
        count = count < most ? count : most;
        verge__wheel_prefetch_records(wheel, list - count, count);
    }
}

/* The entry that is handed out so many after the one at `at`, if it is in this chunk or the next. */
static VERGE__ALWAYS_INLINE const verge__entry *verge__entry_ahead(const verge__chunk *chunk, size_t at, size_t ahead) {
    if (at >= ahead) {
        return &chunk->entries[at - ahead];
    }
    return chunk->below != NULL ? &chunk->below->entries[VERGE__CHUNK_ENTRIES + at - ahead] : NULL;
}

/* ---- a chunk ---- */

/* Whether it may be one to refile as a whole: it is full, and its newest entry is of a timeout that was moved on. */
static VERGE__ALWAYS_INLINE bool verge__may_refile_chunk(const verge_wheel *wheel, verge__list list) {
    if (!verge__list_needs_chunk(list) || !verge__entry_is_timeout(*(list - 1))) {
        return false;
    }
    const verge__record *newest = &verge__entry_timeout(*(list - 1))->record;
    return newest->generation != 0 && verge__wheel_tick(wheel, newest->deadline_ns) >= wheel->calendar.cursor;
}

/* ---- a poll ---- */

/* Moves time if that is all that there is to do. (That this was no work need not be written: last_work_ns is in the past.) */
static VERGE__ALWAYS_INLINE bool verge__wheel_pass_quietly(verge_wheel *wheel, uint64_t now_ns) {
    uint64_t before_ns = wheel->now_ns;
    uint64_t tick = now_ns >> wheel->shift;
    bool is_quiet = tick < wheel->calendar.quiet_until;
    if (VERGE__LIKELY(is_quiet & (now_ns > before_ns))) {
        wheel->now_ns = now_ns;
        wheel->calendar.cursor = tick + 1;
        return true;
    }
    return false;
}

/* The same where time stands still, as it does for who looks at a coarse clock. */
static VERGE__ALWAYS_INLINE bool verge__wheel_stays_quiet(verge_wheel *wheel, uint64_t now_ns) {
    bool is_quiet = now_ns == wheel->now_ns && now_ns >> wheel->shift < wheel->calendar.quiet_until;
    if (is_quiet) {
        verge__wheel_note_work(wheel, 0);
    }
    return is_quiet;
}

/*
 * Whether it is the common poll that finds something: a single tick has come since the last in which there is something to do.
 * A wheel whose reach is short is plain and, if it was quiet, without a backlog (W5).
 */
static VERGE__ALWAYS_INLINE bool verge__wheel_is_short_poll(const verge_wheel *wheel, uint64_t now_ns) {
    uint64_t tick = wheel->calendar.quiet_until;
    return tick == now_ns >> wheel->shift && tick >= wheel->calendar.cursor && tick > VERGE__IN_SHORT_POLL &&
           wheel->calendar.short_reach != 0 && wheel->options.work_limit == 0 && now_ns >= wheel->now_ns;
}

/* Takes its entries, if they are few; false: they are not. The upper levels are quiet. */
static VERGE__ALWAYS_INLINE bool verge__wheel_take_few(verge_wheel *wheel, uint64_t now_ns, verge__list *ret_list) {
    if (VERGE__UNLIKELY(!verge__calendar_take_few(&wheel->calendar, now_ns >> wheel->shift, ret_list))) {
        return false;
    }
    wheel->now_ns = now_ns;
    wheel->calendar.quiet_until = VERGE__IN_SHORT_POLL; /* W5 */
    return true;
}

/* Whether something is to be done in the upper levels first. */
static VERGE__ALWAYS_INLINE bool verge__wheel_has_upper(const verge_wheel *wheel) {
    return wheel->calendar.quiet_until >= wheel->calendar.upper_quiet;
}

/* What a short poll took is the batch. */
static VERGE__ALWAYS_INLINE void verge__wheel_begin_batch(verge_wheel *wheel, verge__list list) {
    wheel->batch.pile.list = list;
    wheel->batch_tick = wheel->calendar.cursor - 1;
    wheel->batch_is_exact = false;
}

/* Brings the records of a tick that comes soon towards the cache; and of those before it that were passed over. Nearly always the
 * first of them is the one after the last that was brought: that is known, and begun with, before the next tick is found. */
static VERGE__ALWAYS_INLINE void verge__wheel_prefetch_soon(verge_wheel *wheel) {
    uint64_t last = wheel->calendar.next_start + VERGE__PREFETCH_TICKS;
    uint64_t tick = wheel->prefetched_tick + 1;
    if (VERGE__UNLIKELY(last - tick > VERGE__PREFETCH_TICKS)) {
        verge__wheel_prefetch_tick(wheel, last); /* they are too many, or were brought before */
        return;
    }
    wheel->prefetched_tick = last;
    do {
        verge__wheel_prefetch_list(wheel, verge__calendar_peek(&wheel->calendar, tick), VERGE__CHUNK_ENTRIES);
    } while (tick++ != last);
}

/*
 * At the end of a short poll, which handed out so many, and all of its tick. False, and nothing has changed: it is not as it was
 * left, or more is to be done; so it is when the last timer has gone, and chunks are to be given back. (What is past, and a poll
 * within the poll, set quiet_until; nothing else moves the cursor.)
 */
static VERGE__ALWAYS_INLINE bool verge__wheel_settle_shortly(verge_wheel *wheel, size_t count) {
    verge__calendar *calendar = &wheel->calendar;
    size_t untidied = wheel->expired_untidied + count + 1;
    if (VERGE__UNLIKELY(calendar->quiet_until != VERGE__IN_SHORT_POLL || calendar->cursor > calendar->upper_quiet ||
                        untidied >= VERGE__EXPIRED_BETWEEN || wheel->records.aside_from != VERGE__NO_RECORD ||
                        (calendar->pool.is_sparse && verge__wheel_pending(wheel) == 0))) {
        return false;
    }
    wheel->expired_untidied = untidied;
    verge__calendar_settle_lowest(calendar);
    if (wheel->is_large) {
        verge__wheel_prefetch_soon(wheel);
    } else if (VERGE__UNLIKELY(calendar->quiet_until == VERGE__NO_TICK) && verge__wheel_pending(wheel) == 0) {
        size_t budget = SIZE_MAX;
        verge__wheel_tidy_after_poll(wheel, &budget);
    }
    return true;
}

/* At the end of a poll, which handed out so many. */
static VERGE__ALWAYS_INLINE void verge__wheel_settle(verge_wheel *wheel, size_t *budget, size_t count) {
    bool has_caught_up = wheel->calendar.cursor == verge__wheel_target(wheel);
    if (VERGE__UNLIKELY(!has_caught_up || verge__wheel_has_due(wheel))) {
        wheel->calendar.quiet_until = 0; /* W5 */
    } else {
        verge__calendar_settle(&wheel->calendar, budget);
        if (wheel->batch.sorter == NULL) {
            verge__wheel_prefetch_soon(wheel);
        }
    }
    if (has_caught_up != (wheel->calendar.short_reach != 0)) {
        verge__wheel_set_short_reach(wheel);
    }
    if (VERGE__UNLIKELY(verge__wheel_wants_tidying(wheel, count))) {
        verge__wheel_tidy_after_poll(wheel, budget);
    }
}

#endif
