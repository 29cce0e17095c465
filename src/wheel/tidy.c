/* SPDX-License-Identifier: MIT */
/*
 * Tidying: garbage is bounded, and memory goes back when the load has gone.
 *
 * An entry that belongs to no timer is garbage. With n timers pending there may be n * 3/8 + 3,072 of
 * them; whoever makes more - a cancel, a reschedule to an earlier time, a poll - also sifts some
 * chunks, the next in a round robin over all lists: 120 entries, or 64 chunks where they are nearly
 * empty. As a round over all entries takes at most n / 40 such calls, the garbage never exceeds
 * n * 7/16 + 3,200 while n does not fall. Where timers expire, what is allowed falls with them: a poll sifts two entries
 * more for each, so that a round is over before half of them are gone, and the garbage never exceeds n + 3,200. A poll
 * with a work limit keeps two thirds of that for it, if there is much garbage; then it is n + 4,096. (What is sorted already,
 * in ordered wheels, polls leave alone: its garbage is gone when the tick has come out.)
 *
 * Sifting begins a little earlier, at n * 5/16 + 2,560: a load that makes garbage all the time settles where it is
 * called for now and then, not at every call. Calls need not compute this: cancels_left and entry_limit tell how many
 * more can be afforded.
 */
#include "wheel/garbage.h"
#include "wheel/wheel_internal.h"

enum {
    SCRUB_ENTRIES_AT_ONCE = 120,
    SCRUB_STEPS_AT_ONCE = 64,
    KINDS = 6,                                             /* of lists */
    SCAN_RECORDS_AT_ONCE = 4 << (VERGE__SEGMENT_BITS / 2), /* 1,024; less where a test has small segments */
};

size_t verge__wheel_entries_for(size_t timers) {
    return timers + timers / 2 + verge__garbage_allowed + 256;
}

/* ---- garbage ---- */

/* What a chunk's entries name is brought to the cache all at once. */
static void prefetch_chunk(const verge_wheel *wheel, const verge__entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) {
        VERGE__PREFETCH_WRITE(verge__wheel_record(wheel, entries[i]));
    }
}

/* Ordered wheels: marks are unique. */
static size_t sift_ordered(verge_wheel *wheel, verge__entry *entries, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        bool counts = verge__wheel_counts(wheel, verge__wheel_record(wheel, entry), entry);
        if (!counts && verge__entry_is_timeout(entry)) {
            verge__timeout_has_no_entry(wheel, verge__entry_timeout(entry));
        }
        entries[kept] = entry;
        kept += counts;
    }
    return kept;
}

/* What is sifted is no longer in its chunk. */
static void leave_flock(const verge_wheel *wheel, verge_timeout *timeout) {
    if (timeout->record.u.entry_tick < VERGE__TICK_DEFERRED) {
        timeout->record.u.entry_tick = verge__calendar_timeout_tick(&wheel->calendar, timeout);
    }
}

/*
 * An entry that bears its timer's mark and is not within the span is an old one, 2^32 ticks away. Of several with the same
 * mark in one list, the first one seen is enough. A timer that gets another entry after that has it filed anew,
 * outside of what is still unseen. Whether an entry is kept is as good as random, and no branch.
 */
static size_t sift_unordered(verge_wheel *wheel, verge__entry *entries, size_t count, verge__span span) {
    uint32_t pass = wheel->calendar.scrub_pass;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        if (verge__entry_is_timeout(entry)) {
            verge_timeout *timeout = verge__entry_timeout(entry);
            bool is_set = timeout->record.generation != 0;
            if (is_set) {
                leave_flock(wheel, timeout);
            } else {
                verge__timeout_has_no_entry(wheel, timeout);
            }
            entries[kept] = entry;
            kept += is_set;
            continue;
        }
        verge__record *record = verge__wheel_record(wheel, entry);
        bool is_marked = (uint32_t)record->u.entry_tick == verge__entry_mark(entry);
        bool is_live = (record->generation & 1) != 0;
        bool is_here = record->u.entry_tick - span.first <= span.last - span.first;
        bool keep = is_marked & is_live & is_here & (record->link != pass);
        if (VERGE__UNLIKELY(is_marked & !is_live)) {
            record->u.entry_tick = VERGE__NO_TICK; /* not to be adopted any more */
        }
        record->link = keep ? pass : record->link;
        entries[kept] = entry;
        kept += keep;
    }
    return kept;
}

size_t verge__wheel_sift(void *owner, verge__entry *entries, size_t count, verge__span span) {
    verge_wheel *wheel = owner;
    prefetch_chunk(wheel, entries, count);
    size_t kept = verge__wheel_is_ordered(wheel) ? sift_ordered(wheel, entries, count)
                                                 : sift_unordered(wheel, entries, count, span);
    wheel->entries_dropped += count - kept;
    return kept;
}

/* A chunk of what is picked for sorting, and of what is sorted. */
static size_t purge(verge_wheel *wheel, verge__due *due) {
    verge__pile picked = {.list = due->picked}; /* a single chunk */
    size_t seen = verge__calendar_scrub_pile(&wheel->calendar, &picked, VERGE__CHUNK_ENTRIES);
    due->picked = picked.list;
    size_t budget = VERGE__CHUNK_ENTRIES;
    verge__sorter_purge(wheel, due->sorter, &budget);
    return seen + VERGE__CHUNK_ENTRIES - budget;
}

/* A chunk of one kind of lists; if that was the last of it in this round, its bit in scrub_done is set. */
static size_t scrub_kind(verge_wheel *wheel, uint8_t kind, size_t max) {
    verge__pile *const piles[KINDS] = {NULL,           &wheel->past.pile,   &wheel->batch.pile,
                                       &wheel->beyond, &wheel->beyond_kept, &wheel->deferred};
    verge__pile *pile = piles[kind];
    const uint32_t *rounds = pile == NULL ? &wheel->calendar.scrub_rounds : &pile->passes;
    uint32_t before = *rounds;
    size_t seen = pile == NULL ? verge__calendar_scrub(&wheel->calendar, max)
                               : verge__calendar_scrub_pile(&wheel->calendar, pile, max);
    bool is_done = seen == 0 || *rounds != before;
    wheel->scrub_done |= (uint8_t)(is_done ? 1U << kind : 0);
    return seen;
}

/*
 * Sifts a chunk of each kind of list, as far as `max` entries go; the next time it goes on with the next kind. No list is
 * begun anew before all were sifted. Only who makes garbage, and has no `max`, purges what is sorted: a poll that did
 * would have to merge it all again before it can go on.
 */
static size_t scrub(verge_wheel *wheel, size_t max, bool is_poll) {
    size_t seen = 0;
    for (size_t i = 0; i < KINDS && seen < max; i++) {
        uint8_t kind = wheel->scrub_turn;
        wheel->scrub_turn = (uint8_t)((kind + 1) % KINDS);
        seen += (wheel->scrub_done >> kind & 1) == 0 ? scrub_kind(wheel, kind, max - seen) : 0;
    }
    if (wheel->scrub_done == (1U << KINDS) - 1) {
        wheel->scrub_done = 0;
    }
    if (!is_poll && verge__wheel_is_ordered(wheel)) {
        seen += purge(wheel, &wheel->past) + purge(wheel, &wheel->batch);
    }
    return seen;
}

bool verge__wheel_has_much_garbage(const verge_wheel *wheel) {
    size_t timers = (size_t)verge__wheel_pending(wheel);
    size_t tolerated = verge__garbage_allowed - verge__garbage_allowed / 6;
    return wheel->calendar.entry_count > timers + timers / 4 + timers / 16 + tolerated;
}

/* Sifts some chunks if there is much garbage. */
static void scrub_some(verge_wheel *wheel) {
    size_t seen = 0;
    for (int step = 0;
         step < SCRUB_STEPS_AT_ONCE && seen < SCRUB_ENTRIES_AT_ONCE && verge__wheel_has_much_garbage(wheel); step++) {
        seen += scrub(wheel, SIZE_MAX, false);
    }
}

size_t verge__wheel_sift_some(verge_wheel *wheel, size_t max) {
    size_t seen = 0;
    for (int idle = 0; idle < 2 && seen < max && verge__wheel_has_much_garbage(wheel);) {
        size_t seen_now = scrub(wheel, max - seen, true);
        idle = seen_now == 0 ? idle + 1 : 0; /* a round may just have ended; twice: there is nothing to sift */
        seen += seen_now;
    }
    return seen;
}

/* ---- memory ---- */

/* Timers to keep room for, when so many are pending and so many reserved. */
static size_t timers_to_keep(const verge_wheel *wheel, size_t pending, size_t reserved) {
    size_t keep = pending * wheel->options.compaction.multiplier;
    keep = keep > wheel->options.compaction.minimum ? keep : wheel->options.compaction.minimum;
    return keep > reserved ? keep : reserved;
}

static bool is_sparse(const verge_wheel *wheel, size_t used, size_t reserved, size_t room) {
    return room > wheel->options.compaction.minimum && used < room / wheel->options.compaction.ratio && reserved < room;
}

static bool records_are_sparse(const verge_wheel *wheel) {
    return wheel->records.segment_count > 1 &&
           is_sparse(wheel, verge__records_live(&wheel->records), wheel->reserved_records, wheel->records.room);
}

static bool chunks_are_sparse(const verge_wheel *wheel) {
    return is_sparse(wheel, wheel->calendar.entry_count, verge__wheel_reserved(wheel),
                     wheel->calendar.entry_capacity) &&
           verge__chunk_pool_used(&wheel->calendar.pool) < wheel->calendar.pool.chunk_count / 2;
}

/* Gives back what can be given back; true if there is more to do. */
static bool give_back(verge_wheel *wheel, size_t records_at_once) {
    /* timeouts take no record */
    size_t keep = timers_to_keep(wheel, verge__records_live(&wheel->records), wheel->reserved_records);
    if (records_are_sparse(wheel)) {
        verge__records_close(&wheel->records, keep);
    }
    bool scanning = false;
    if (verge__records_is_closing(&wheel->records)) {
        scanning = verge__records_scan(&wheel->records, records_at_once) == records_at_once;
        verge__records_release(&wheel->records);
    }
    if (chunks_are_sparse(wheel)) {
        size_t timers = timers_to_keep(wheel, (size_t)verge__wheel_pending(wheel), verge__wheel_reserved(wheel));
        verge__calendar_shrink(&wheel->calendar, verge__wheel_entries_for(timers));
    }
    return scanning || (records_are_sparse(wheel) && verge__records_can_close(&wheel->records, keep));
}

/* ---- when ---- */

/* Half of what is allowed beyond what there is may be used up by cancels, which cost 1 3/8 each or 1 5/8, and half by
 * entries filed. */
static void set_checkpoints(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    size_t allowed = verge__entries_allowed((size_t)verge__wheel_pending(wheel));
    size_t room = calendar->entry_count < allowed ? allowed - calendar->entry_count : 0;
    bool is_closing = verge__records_is_closing(&wheel->records);
    uint64_t cancelled = wheel->cancels_due - wheel->cancels_left;
    uint64_t cleared = verge__wheel_timeouts_cleared(wheel);
    size_t share = wheel->places.count == 0 ? 0 : room / 8;
    wheel->cancels_left = is_closing ? 0 : room / 4 - share;
    wheel->cancels_due = cancelled + wheel->cancels_left;
    wheel->clears_left = share;
    wheel->clears_due = cleared + wheel->clears_left;
    verge__wheel_judge_keeping(wheel);
    wheel->is_large = wheel->records.fresh + wheel->places.count > VERGE__TIMERS_CACHED;
    verge__chunk_pool_set_sparse(&calendar->pool, chunks_are_sparse(wheel));
    size_t limit = calendar->entry_count + room / 2;
    calendar->entry_limit = limit < calendar->entry_capacity ? limit : calendar->entry_capacity;
}

int verge__wheel_tidy(verge_wheel *wheel) {
    if (verge__records_is_closing(&wheel->records)) {
        verge__records_settle(&wheel->records);
    }
    scrub_some(wheel);
    if (records_are_sparse(wheel) || chunks_are_sparse(wheel)) {
        wheel->calendar.quiet_until = 0; /* the next poll gives back */
        wheel->is_untidy = true;
    }
    set_checkpoints(wheel);
    return 0;
}

void verge__wheel_tidy_after_poll(verge_wheel *wheel, size_t *budget) {
    size_t enough = SCRUB_ENTRIES_AT_ONCE + 2 * wheel->expired_untidied;
    *budget -= verge__wheel_sift_some(wheel, enough < *budget ? enough : *budget);
    if (give_back(wheel, SCAN_RECORDS_AT_ONCE)) {
        wheel->calendar.quiet_until = 0;
    }
    wheel->expired_untidied = 0;
    wheel->is_untidy = false;
    set_checkpoints(wheel);
}

static void purge_sorter(verge_wheel *wheel, verge__sorter *sorter) {
    for (size_t runs = 2 * sorter->run_count + 2; runs > 0; runs--) {
        size_t budget = SIZE_MAX;
        verge__sorter_purge(wheel, sorter, &budget);
    }
}

/* Drops all garbage. Of several entries of a record with the same mark the first that is seen stays:
 * the one that comes up first. (Entries of different kinds may bear the same mark by chance.) */
static void scrub_all(verge_wheel *wheel) {
    verge__list *const due[] = {&wheel->past.pile.list,  &wheel->past.pile.sifted,  &wheel->past.picked,
                                &wheel->batch.pile.list, &wheel->batch.pile.sifted, &wheel->batch.picked,
                                &wheel->deferred.list,   &wheel->deferred.sifted};
    verge__list *const beyond[] = {&wheel->beyond.list, &wheel->beyond.sifted, &wheel->beyond_kept.list,
                                   &wheel->beyond_kept.sifted};
    verge__calendar_sift_lists(&wheel->calendar, due, sizeof(due) / sizeof(*due));
    verge__calendar_sift_lists(&wheel->calendar, beyond, sizeof(beyond) / sizeof(*beyond));
    verge__calendar_renew_pass(&wheel->calendar, &wheel->past.pile);
    verge__calendar_renew_pass(&wheel->calendar, &wheel->batch.pile);
    verge__calendar_renew_pass(&wheel->calendar, &wheel->deferred);
    verge__calendar_renew_pass(&wheel->calendar, &wheel->beyond);
    verge__calendar_renew_pass(&wheel->calendar, &wheel->beyond_kept);
    verge__calendar_sift_slots(&wheel->calendar);
    if (verge__wheel_is_ordered(wheel)) {
        purge_sorter(wheel, wheel->past.sorter);
        purge_sorter(wheel, wheel->batch.sorter);
    }
}

/* The last tick at which a timer comes out; 0 if there is none. */
static uint64_t last_pending_tick(const verge_wheel *wheel) {
    uint64_t last = 0;
    for (uint32_t index = verge__wheel_next_pending(wheel, 0); index != VERGE__NO_RECORD;
         index = verge__wheel_next_pending(wheel, index + 1)) {
        uint64_t tick = verge__wheel_tick(wheel, verge__wheel_named(wheel, index)->deadline_ns);
        last = tick > last ? tick : last;
    }
    return last;
}

void verge_wheel_compact(verge_wheel *wheel) {
    if (wheel == NULL) {
        return;
    }
    scrub_all(wheel);
    verge__wheel_set_stock(wheel, 0);
    while (give_back(wheel, SIZE_MAX)) {
    }
    size_t reserved = verge__wheel_reserved(wheel);
    if (reserved == 0) {
        verge__calendar_shed_levels(&wheel->calendar, last_pending_tick(wheel));
    }
    size_t keep = reserved > verge__wheel_pending(wheel) ? reserved : (size_t)verge__wheel_pending(wheel);
    verge__calendar_shrink(&wheel->calendar, reserved == 0 ? 0 : verge__wheel_entries_for(keep));
    set_checkpoints(wheel);
    verge__wheel_set_short_reach(wheel); /* levels may have gone */
}
