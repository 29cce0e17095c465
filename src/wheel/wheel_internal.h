/* SPDX-License-Identifier: MIT */
/*
 * wheel/wheel_internal.h - what a wheel is made of: a calendar of entries (calendar.h), a table of
 * records (records.h), and the due entries that were not handed out yet.
 *
 * The way of a timer
 *   schedule    takes a free record, writes deadline and data, files an entry at the tick at which
 *               the timer is to come out - unless the record still has an entry from its last use
 *               that comes up no later: then it adopts that one, and nothing but the record is touched
 *   reschedule  writes the deadline; files an entry only if the one there comes up too late
 *   cancel      frees the record. The entry stays behind
 *   timeouts    are timers whose records are in the caller's objects. Whoever comes from an entry asks
 *               verge__wheel_record for its record, and need not know. A timeout has one entry at the most and knows
 *               where it is: it takes it along when it is set earlier, and out when it is detached (timeout.c)
 *   poll        takes the entries of each tick that has come and looks at their records: hands out
 *               the timer, or files the entry again if the deadline has moved on, or drops it
 *
 * Which entry counts. An unordered wheel's record knows its entry's tick, and an entry counts if its
 * mark is the low half of that. Two entries of a record may bear the same mark (a timer moved
 * earlier, then back); both count, the first to come up is used and the others are dropped, as the
 * record is free or has another entry by then. An ordered wheel's marks are unique.
 *
 * Invariants (verge_wheel_check)
 *   W1  every timer has an entry that counts, at a tick no later than it has to come out
 *   W2  what is pending is the live records and the timeouts that are set: scheduled = pending + cancelled +
 *       expired + cleared
 *   W3  entries that do not count are bounded (tidy.c)
 *   W4  earliest_ns, when it is known and its timer stands, is the smallest deadline
 *   W5  with due entries not handed out, the calendar is not quiet
 *   W6  verge__wheel_timeouts is the number of timeouts that are set
 *   W7  a timeout has one entry or none, and they know each other; what is nowhere is nobody's
 */
#ifndef VERGE_SRC_WHEEL_WHEEL_INTERNAL_H
#define VERGE_SRC_WHEEL_WHEEL_INTERNAL_H

#include "base/assert.h"
#include "wheel/calendar.h"
#include "wheel/places.h"
#include "wheel/records.h"
#include "wheel/sorter.h"

/* In place of its tick: that an entry is out of reach, that it was scheduled for the past, that it was
 * picked by poll_exact, that it was scheduled for the past in a run. No real tick is as late. */
#define VERGE__TICK_BEYOND (VERGE__NO_TICK - 1)
#define VERGE__TICK_PAST (VERGE__NO_TICK - 2)
#define VERGE__TICK_EXACT (VERGE__NO_TICK - 3)
#define VERGE__TICK_DEFERRED (VERGE__NO_TICK - 4)

/* The generation of a timeout that is set; of one that is not it is 0. No handle has it. */
#define VERGE__GENERATION_SET 1U

/* A bit beside those of a shift. */
#define VERGE__MOVES_ENTRIES (UINT64_C(1) << 6)

/* Timers whose records are in the cache anyway. */
enum { VERGE__TIMERS_CACHED = 32768 };

/* Timers and polls between two times that a poll tidies. */
enum { VERGE__EXPIRED_BETWEEN = 256 };

/* Due entries. */
typedef struct verge__due {
    verge__pile pile;
    verge__list picked;    /* ordered wheels: a chunk that is being filled, to be sorted */
    verge__sorter *sorter; /* ordered wheels: sorted */
} verge__due;

/*
 * Whether a timeout that is set again keeps the entry it has, if that comes up in time. It is the least work, but to ask is
 * a branch on the timeout; and where the answer is as good as random, and the timeout not in the cache, the processor guesses
 * wrong and finds out late. So where too many entries did not serve, for some rounds they are moved without asking. (One that
 * is moved while it is set keeps its entry in any case: there the answer is nearly always yes.)
 */
typedef struct verge__keeping {
    uint8_t rounds_without; /* how many more there are */
    int64_t failed;       /* in this round: sets that found no entry worth keeping, but for the first of each timeout */
    uint64_t round_begin; /* timeouts that had ended when the round began */
} verge__keeping;

enum {
    /* So that which fields share a cache line is the same everywhere; and for the chunk. */
    VERGE__WHEEL_ALIGNMENT = VERGE__CHUNK_BYTES,
    /* Entries that are counted in advance, at most. */
    VERGE__STOCK_MAX = VERGE__CHUNK_ENTRIES - 1,
};

struct verge_wheel {
    /* read or written by every schedule and cancel */
    verge__records records;
    uint64_t cancels_left;   /* before a cancel has to tidy */
    uint64_t clears_left;    /* the same for timeouts */
    uint64_t last_poll_work; /* as it was noted last (verge__wheel_note_work) */
    uint64_t last_work_ns;   /* when that was; polls of a later time have had no work */
    verge_timer earliest_timer;
    uint64_t earliest_ns;    /* 0: not known; VERGE_NEVER: nothing is pending */
    uint64_t timeouts_begun; /* timeouts set that were not, less those that verge_wheel_clear dropped */
    uint64_t timeout_shift;  /* shift, and VERGE__MOVES_ENTRIES where timeouts do (verge__keeping) */
    uint64_t bias_ns;        /* what makes (deadline + bias) >> shift the tick of a deadline */
    uint64_t shift;
    size_t expired_untidied; /* since tidy_after_poll; a poll counts as one more */
    uint64_t now_ns;         /* with the cursor, which is next: what a poll that finds nothing writes, by one store.
                                shift is not beside it: to load both at once would have to wait for that store. */
    verge__calendar calendar;

    verge__places places;  /* of timeouts */
    verge_timeout vacated; /* stands for one that was withdrawn where no other could take its place: never set */
    verge__list nowhere;   /* the list of timeouts without an entry: to move one from there needs no branch */
    uint64_t start_ns;
    uint64_t last_tick;                                      /* of time */
    size_t runs;                                             /* under way, one in the other */
    uint64_t sequence;                                       /* of the last schedule or reschedule, in ordered wheels */
    uint64_t batch_tick;                                     /* of the batch */
    uint64_t prefetched_tick;                                /* up to here, records were brought towards the cache */
    verge__due past;                                         /* scheduled for the past; come out first */
    verge__pile deferred;                                    /* scheduled for the past in a run: to come out after it */
    _Alignas(VERGE__CHUNK_BYTES) verge__chunk nowhere_chunk; /* the entries of nowhere */
    verge__due batch;                                        /* of the tick taken last */
    verge__pile beyond;                                      /* out of the cursor's reach (beyond.c) */
    verge__pile beyond_kept;                                 /* those that were looked at, while that is under way */
    uint64_t beyond_tick;                                    /* no later than the first of them */
    uint64_t beyond_kept_tick;                               /* the same of those that were looked at */
    uint64_t cancels_due;    /* cancels_left counts down from here: the cancelled timers when it gets to 0 */
    uint64_t clears_due;     /* the same for timeouts */
    uint64_t timers_expired; /* with handles */
    uint64_t cleared;
    uint64_t entries_refiled;
    uint64_t entries_dropped;
    uint64_t timeouts_expired;
    verge__keeping keeping;
    uint8_t scrub_turn;      /* which kind of lists is sifted next (tidy.c) */
    uint8_t scrub_done;      /* of which kinds all was sifted in this round: a bit each */
    uint8_t garbage_turn;    /* of three polls with a work limit that is not divisible: which this is */
    bool batch_is_exact;     /* picked by poll_exact, and marked so */
    bool is_untidy;          /* there is memory to give back */
    bool is_large;           /* its records are more than are in the cache: those that come up are fetched ahead */
    bool is_plain;           /* unordered, exact, past fires, no cap, precision above 1 ns */
    size_t reserved_total;   /* timers there must be room for: entries */
    size_t reserved_records; /* the same: records */
    size_t reserved_beside;  /* timers with handles there were when places were reserved */
    verge_wheel_options options;
    verge_allocator allocator;
    verge_timer recent[VERGE__RECENT_MAX]; /* of the records */
};

_Static_assert(_Alignof(verge_wheel) <= VERGE__WHEEL_ALIGNMENT, "a wheel is aligned");
_Static_assert(sizeof(void *) != 8 || (offsetof(verge_wheel, now_ns) % 16 == 0 &&
                                       offsetof(verge_wheel, calendar.cursor) == offsetof(verge_wheel, now_ns) + 8),
               "now and the cursor can be stored at once");
_Static_assert(sizeof(void *) != 8 || offsetof(verge_wheel, calendar.ring_of_zeros) % sizeof(verge__ring) == 0,
               "no ring is in two cache lines");

static inline bool verge__wheel_is_ordered(const verge_wheel *wheel) {
    return wheel->options.order != VERGE_ORDER_ANY;
}

/* As it is allocated, with its sorters: a multiple of the alignment. */
static inline size_t verge__wheel_bytes(bool ordered) {
    size_t bytes = sizeof(verge_wheel) + (ordered ? 2 * sizeof(verge__sorter) : 0);
    return (bytes + VERGE__WHEEL_ALIGNMENT - 1) & ~(size_t)(VERGE__WHEEL_ALIGNMENT - 1);
}

/* Of a poll. */
static inline size_t verge__wheel_work_limit(const verge_wheel *wheel) {
    return wheel->options.work_limit == 0 ? SIZE_MAX : wheel->options.work_limit;
}

/* What the last poll has done. One that finds nothing and moves time need not say so. */
static inline void verge__wheel_note_work(verge_wheel *wheel, uint64_t work) {
    wheel->last_poll_work = work;
    wheel->last_work_ns = wheel->now_ns;
}

/* Entries that the last poll has moved, inspected and returned. */
static inline uint64_t verge__wheel_work(const verge_wheel *wheel) {
    return wheel->last_work_ns == wheel->now_ns ? wheel->last_poll_work : 0;
}

static inline uint64_t verge__wheel_timeouts_cleared(const verge_wheel *wheel) {
    return wheel->clears_due - wheel->clears_left;
}

/* Those that are set. */
static inline uint64_t verge__wheel_timeouts(const verge_wheel *wheel) {
    return wheel->timeouts_begun - verge__wheel_timeouts_cleared(wheel) - wheel->timeouts_expired;
}

static inline uint64_t verge__wheel_pending(const verge_wheel *wheel) {
    return verge__records_live(&wheel->records) + verge__wheel_timeouts(wheel);
}

static inline uint64_t verge__wheel_cancelled(const verge_wheel *wheel) {
    return wheel->cancels_due - wheel->cancels_left + verge__wheel_timeouts_cleared(wheel);
}

static inline uint64_t verge__wheel_expired(const verge_wheel *wheel) {
    return wheel->timers_expired + wheel->timeouts_expired;
}

/* The tick of a deadline that is not beyond the end of time. */
static inline uint64_t verge__wheel_tick(const verge_wheel *wheel, uint64_t deadline_ns) {
    return (deadline_ns + wheel->bias_ns) >> wheel->shift;
}

/* Where the cursor belongs: behind the tick of now. */
static inline uint64_t verge__wheel_target(const verge_wheel *wheel) {
    uint64_t tick = wheel->now_ns >> wheel->shift;
    return tick < VERGE__NO_TICK ? tick + 1 : tick;
}

/* The last deadline before the end of time. */
static inline uint64_t verge__wheel_last_deadline(const verge_wheel *wheel) {
    return (wheel->last_tick << wheel->shift) - (wheel->options.strict ? 1 : 0);
}

static inline bool verge__due_is_empty(const verge__due *due) {
    return verge__pile_is_empty(&due->pile) && due->picked == NULL &&
           (due->sorter == NULL || verge__sorter_is_empty(due->sorter));
}

static inline bool verge__wheel_beyond_is_empty(const verge_wheel *wheel) {
    return verge__pile_is_empty(&wheel->beyond) && verge__pile_is_empty(&wheel->beyond_kept);
}

static inline bool verge__wheel_has_due(const verge_wheel *wheel) {
    return !verge__due_is_empty(&wheel->past) || !verge__due_is_empty(&wheel->batch) ||
           !verge__pile_is_empty(&wheel->deferred) || !verge__wheel_beyond_is_empty(wheel);
}

static inline bool verge__is_timeout(uint32_t index) {
    return (index & VERGE__PLACE) != 0;
}

/* The record of a timer by its index, or of a timeout by its number; nobody's, if there is none any more. */
static VERGE__ALWAYS_INLINE verge__record *verge__wheel_named(const verge_wheel *wheel, uint32_t index) {
    if (VERGE__LIKELY(!verge__is_timeout(index))) {
        return verge__records_named(&wheel->records, index);
    }
    verge__record *record = verge__places_named(&wheel->places, index);
    return VERGE__LIKELY(record != NULL) ? record : (verge__record *)(uintptr_t)&wheel->records.nobody;
}

/* The record that an entry is for. */
static VERGE__ALWAYS_INLINE verge__record *verge__wheel_record(const verge_wheel *wheel, verge__entry entry) {
    return VERGE__LIKELY(!verge__entry_is_timeout(entry))
               ? verge__records_named(&wheel->records, verge__entry_index(entry))
               : &verge__entry_timeout(entry)->record;
}

/* The index of the record that an entry is for, or the number of the timeout. */
static inline uint32_t verge__entry_name(verge__entry entry) {
    return verge__entry_is_timeout(entry) ? verge__entry_timeout(entry)->number : verge__entry_index(entry);
}

/* An entry that is to be filed for a timer, at that tick, or with that mark. */
static inline verge__entry verge__entry_marked(verge__entry entry, uint32_t mark) {
    return verge__entry_is_timeout(entry) ? entry : verge__entry_for_record(verge__entry_index(entry), mark);
}

/* The first pending timer or timeout from an index on; VERGE__NO_RECORD if there is none. For walks over all of them, which
 * may change them on the way. */
uint32_t verge__wheel_next_pending(const verge_wheel *wheel, uint32_t from);

/* Whether an entry counts: in a wheel that is not ordered, in any. */
static inline bool verge__unordered_counts(const verge__record *record, verge__entry entry) {
    return (record->generation & 1) != 0 &&
           (verge__entry_is_timeout(entry) || (uint32_t)record->u.entry_tick == verge__entry_mark(entry));
}

static inline bool verge__wheel_counts(const verge_wheel *wheel, const verge__record *record, verge__entry entry) {
    uint32_t mark = verge__wheel_is_ordered(wheel) ? record->link : (uint32_t)record->u.entry_tick;
    return (record->generation & 1) != 0 && (verge__entry_is_timeout(entry) || mark == verge__entry_mark(entry));
}

/*
 * An entry that counts is to be filed at a tick. Not if its timer is past or deferred: then it only bears the same bits, as
 * that of a tick may once in 2^32. It joins the true one, for which a scrub may have taken it: true.
 */
static inline bool verge__wheel_keep_past(verge_wheel *wheel, const verge__record *record, verge__entry entry) {
    bool is_deferred = record->u.entry_tick == VERGE__TICK_DEFERRED;
    if (VERGE__LIKELY(!is_deferred && record->u.entry_tick != VERGE__TICK_PAST) || verge__wheel_is_ordered(wheel)) {
        return false;
    }
    verge__calendar_list_add(&wheel->calendar, is_deferred ? &wheel->deferred.list : &wheel->past.pile.list, entry);
    return true;
}

/*
 * The stock: entries that entry_count has in advance. They are nobody's, and in a list that is called nowhere. A timeout without
 * an entry is told that it has one there; when it is set, that moves to a slot as any other would, the list has one less, and
 * nothing is to be counted. The last one stays: then the list is filled up, and what is new in it counted.
 */
static inline size_t verge__wheel_stock(const verge_wheel *wheel) {
    return verge__list_chunk_count(wheel->nowhere) - 1;
}

static inline void verge__wheel_set_stock(verge_wheel *wheel, size_t stock) {
    wheel->calendar.entry_count += stock - verge__wheel_stock(wheel);
    wheel->nowhere = wheel->nowhere_chunk.entries + stock + 1;
}

/* Those in all other lists. */
static inline size_t verge__wheel_entry_count(const verge_wheel *wheel) {
    return wheel->calendar.entry_count - verge__wheel_stock(wheel);
}

static inline void verge__timeout_has_no_entry(verge_wheel *wheel, verge_timeout *timeout) {
    timeout->entry = wheel->nowhere_chunk.entries;
    timeout->slot = &wheel->nowhere;
    timeout->record.u.entry_tick = VERGE__NO_TICK;
}

static inline bool verge__timeout_has_entry(const verge_wheel *wheel, const verge_timeout *timeout) {
    return timeout->slot != &wheel->nowhere;
}

/* An entry that does not count is dropped. If its record is free and bears its mark, it must not be
 * adopted any more. */
static inline void verge__wheel_drop(verge_wheel *wheel, verge__record *record, verge__entry entry) {
    if (verge__entry_is_timeout(entry)) {
        verge__timeout_has_no_entry(wheel, verge__entry_timeout(entry));
    } else if (!verge__wheel_is_ordered(wheel) && (uint32_t)record->u.entry_tick == verge__entry_mark(entry)) {
        record->u.entry_tick = VERGE__NO_TICK;
    }
    wheel->entries_dropped++;
}

/* Gives a record a deadline and an entry, the long way: every order, every mode. Fails before anything has changed. */
int verge__wheel_arm(verge_wheel *wheel, verge__record *record, verge__entry entry, uint64_t deadline_ns,
                     bool is_pending);

/* Files an entry for a record, for which there is room: among those that come out next if it is past,
 * else at its deadline's tick. */
void verge__wheel_file(verge_wheel *wheel, verge__record *record, verge__entry entry, bool is_past);

/* At the end of a round: whether timeouts go on to keep their entries. */
void verge__wheel_judge_keeping(verge_wheel *wheel);

/* A bellwether was set: so was its flock, most likely, before. Then all their entries are for the new tick from now on, and their
 * chunk is to follow when it comes up. */
void verge__wheel_lead_flock(verge_wheel *wheel, verge_timeout *bellwether);

/* Takes the entry of a timeout out of the lists; it has one. */
void verge__wheel_withdraw(verge_wheel *wheel, verge_timeout *timeout);

/* Adds an entry to those out of reach. Files those that no longer are; false: the budget ran out. */
void verge__wheel_put_beyond(verge_wheel *wheel, verge__record *record, verge__entry entry);
bool verge__wheel_file_beyond(verge_wheel *wheel, size_t *budget);

/* One of those out of reach has to come out at this tick. */
void verge__wheel_note_beyond(verge_wheel *wheel, uint64_t tick);

/* Files the entry of a live record again, at its deadline's tick, not before the cursor. */
void verge__wheel_refile(verge_wheel *wheel, verge__record *record, verge__entry entry);

/* The earliest pending deadline, or now if a timer is among the due entries; VERGE_NEVER if none is
 * pending. Drops due entries that do not count on the way. */
uint64_t verge__wheel_earliest(verge_wheel *wheel);

/* The timer that had the earliest deadline when that was last known, if it still stands; else NULL. */
const verge__record *verge__wheel_earliest_record(const verge_wheel *wheel);
bool verge__wheel_has_live_due(verge_wheel *wheel);

/* The short ways apply as far as levels which are ready cover, if the wheel is plain and without a backlog. To be called when the
 * cursor or now has moved, or what waits beyond has changed. */
static inline void verge__wheel_set_short_reach(verge_wheel *wheel) {
    bool is_short = wheel->is_plain && wheel->calendar.cursor == verge__wheel_target(wheel);
    wheel->calendar.short_reach = is_short ? verge__calendar_ready_reach(&wheel->calendar) : 0;
}

/* Keeps garbage within bounds and gives back memory: a bounded step, for every so many calls. 0. */
int verge__wheel_tidy(verge_wheel *wheel);

bool verge__wheel_has_much_garbage(const verge_wheel *wheel);

/* Sifts up to so many entries while there is much garbage; returns how many. */
size_t verge__wheel_sift_some(verge_wheel *wheel, size_t max);

/* The same at the end of a poll, within its budget; not after each one. */
void verge__wheel_tidy_after_poll(verge_wheel *wheel, size_t *budget);

static inline bool verge__wheel_wants_tidying(verge_wheel *wheel, size_t expired) {
    wheel->expired_untidied += expired + 1;
    return wheel->expired_untidied >= VERGE__EXPIRED_BETWEEN || wheel->is_untidy || verge__wheel_pending(wheel) == 0 ||
           verge__records_is_closing(&wheel->records);
}

/* What the calendar asks (calendar.h, verge__calendar_owner). */
size_t verge__wheel_sift(void *owner, verge__entry *entries, size_t count, verge__span span);
bool verge__wheel_refile_tick(void *owner, verge__entry *entry, uint64_t *ret_tick);
size_t verge__wheel_refile_timeouts(void *owner, verge__entry *entries, size_t count, uint64_t *ret_ticks);
void verge__wheel_prefetch(void *owner, const verge__entry *entries, size_t count);

/* Timers and timeouts whose entries there must be room for. */
static inline size_t verge__wheel_reserved(const verge_wheel *wheel) {
    size_t timers = wheel->reserved_total > wheel->reserved_beside ? wheel->reserved_total : wheel->reserved_beside;
    return timers + wheel->places.reserved;
}

/* Entries to make room for, so that so many timers never need more. */
size_t verge__wheel_entries_for(size_t timers);

/* Makes all levels ready, and room for so many entries. */
int verge__wheel_reserve_entries(verge_wheel *wheel, size_t entries);

int verge__wheel_check_options(const verge_wheel_options *options, size_t *ret_level_count,
                               verge_wheel_level ret_levels[VERGE_LEVEL_COUNT_MAX]);

#endif
