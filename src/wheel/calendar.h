/* SPDX-License-Identifier: MIT */
/*
 * wheel/calendar.h - entries filed by tick. It knows nothing of timers: an owner files (tick, entry)
 * pairs, moves the cursor on, and gets back the entries of each tick in ascending order. Timeouts are told where their
 * entries are, and can have them taken out.
 *
 * Levels. A slot of level k spans 2^shift ticks, and the ring holds two blocks of 2^bits slots: the
 * block of the cursor and the next. An entry goes to the lowest level whose 2^bits slots reach it:
 *
 *     level 0   | . . . . c x x . x | x . x . . . . . |      slots of 1 tick, cursor at c
 *     level 1   | . x | . x . x x . . ...                    slots of 512 ticks
 *     level 2   | . . | x . ...                              slots of 2^17 ticks
 *
 * Cascading. When the cursor reaches the start of an upper slot, the slot's entries are filed again
 * below: chunks are read in sequence and written to at most 512 others; no record is touched, because
 * an entry carries the low 32 bits of its tick and the slot the rest. (Of timeouts, and in levels whose slots span
 * more than 2^32 ticks, the owner is asked.) As the lower ring has room for the next block too, a
 * slot may be drained at any time during the block before it is needed. So a slot of more than one
 * chunk is drained a share at a time, as the cursor comes close to it, and there is no storm.
 *
 * Coarse calendars do not cascade: a tick is rounded up to a multiple of its level's slot, and all
 * of a slot is due when the cursor reaches its start.
 *
 * Who may do what: one thread, the owner's.
 *
 * Invariants (verge__calendar_check)
 *   C1  a slot's bit is set if and only if its list is not empty
 *   C2  an entry of level k lies in the slot that spans its tick; that of a timeout which knows no slot, no later
 *   C3  every slot starts at or after the cursor
 *   C4  entry_count is the number of entries in all lists, of the owner's lists too
 *   C5  nothing happens before quiet_until: no slot starts, no share is due; nor, in the levels above the lowest,
 *       before upper_quiet
 *   C6  the pool has a chunk for every list that entry_capacity entries could ever form
 *   C7  levels below levels_ready have memory
 *   C8  levels from levels_used on are empty
 *   C9  a timeout knows where its entry is and, if that is in a slot, in which or that it is not known
 */
#ifndef VERGE_SRC_WHEEL_CALENDAR_H
#define VERGE_SRC_WHEEL_CALENDAR_H

#include "base/bits.h"
#include "base/compiler.h"
#include "verge/wheel.h"
#include "wheel/chunk_pool.h"

enum {
    /* Lists beside the slots: the owner's, and a chunk under way. */
    VERGE__SPARE_LISTS = 14,
    /* What so few entries are for is in the cache anyway. */
    VERGE__PREFETCH_ENTRIES_MIN = 1024,
};

#define VERGE__NO_TICK UINT64_MAX

typedef struct verge__level {
    verge__list *slots;
    uint32_t mask;      /* ring size - 1 */
    uint8_t shift;      /* a slot spans 2^shift ticks */
    uint8_t bits;       /* a block is 2^bits slots */
    bool is_deep;       /* since it was empty, one of its slots had several chunks: shares of it may be due */
    uint64_t *occupied; /* a bit a slot */
    uint64_t *summary;  /* a bit a word of occupied */
} verge__level;

/* What filing needs of a level. */
typedef struct verge__ring {
    verge__list *slots;
    uint64_t mask_and_shift; /* mask << 32 | shift: one load */
} verge__ring;

/* The ticks from first to last. */
typedef struct verge__span {
    uint64_t first;
    uint64_t last;
} verge__span;

/* What the calendar asks its owner about entries. */
typedef struct verge__calendar_owner {
    /* Moves the entries that still count to the front, in their order, and returns how many. Those of a slot
     * count only if their tick is within its span. */
    size_t (*sift)(void *owner, verge__entry *entries, size_t count, verge__span span);
    /* The tick at which an entry is to be filed again, and its mark; false if it does not count. */
    bool (*refile)(void *owner, verge__entry *entry, uint64_t *ret_tick);
    /* The same for timeouts: moves the entries that count to the front, and tells the tick of each. Returns how many. */
    size_t (*refile_timeouts)(void *owner, verge__entry *entries, size_t count, uint64_t *ret_ticks);
    /* These few entries come up soon. */
    void (*prefetch)(void *owner, const verge__entry *entries, size_t count);
    void *context;
    /* The bit of the ticks of timeouts that marks a bellwether; 0: ticks have all bits. */
    uint64_t bellwether;
    /* The marks are the owner's own, not ticks: then the owner is asked whenever an entry moves. */
    bool marks_are_private;
    /* The budgets may be small. */
    bool work_is_limited;
} verge__calendar_owner;

typedef struct verge__calendar {
    /* what filing an entry reads, together */
    uint64_t cursor;      /* the first tick that was not taken yet */
    uint64_t short_reach; /* the owner's: ticks from the cursor on for which its short ways apply */
    uint64_t quiet_until; /* while the cursor stays at or below, there is nothing to do */
    size_t entry_count;
    const verge__list *scrubbed;   /* the slot of which a scrub holds a part; NULL: none */
    size_t entry_limit;            /* how many there may be before filing takes the slow way; at most entry_capacity */
    uint64_t upper_quiet;          /* quiet_until without the lowest level */
    verge__ring ring_of_zeros[64]; /* by the leading zero bits of tick - cursor: those of the level it goes to */
    uint8_t level_of_zeros[64];    /* the same; level_count: too far */
    verge__level levels[VERGE_LEVEL_COUNT_MAX];

    uint64_t reach;       /* ticks from the cursor on that the levels cover; at most 2^64 - 1 */
    uint64_t next_start;  /* no slot that is not empty starts before */
    uint64_t upper_start; /* the same of the levels above the lowest */
    size_t entry_capacity;
    uint64_t drained_to[VERGE_LEVEL_COUNT_MAX]; /* the tick up to which a level's shares were drained */
    uint8_t level_count;
    uint8_t levels_ready;
    uint8_t levels_used;
    bool coarse;
    bool has_timeouts; /* there are, or were, entries of timeouts */
    size_t spare_lists;
    size_t list_count; /* slots of the levels that are ready, and spare_lists */
    size_t entries_moved;
    verge__list no_slot; /* the only slot of a level that is not ready: empty */
    uint64_t no_bits;    /* its bits: none */
    verge__chunk_pool pool;
    verge__calendar_owner owner;
    size_t level_bytes;

    /* the scrub under way: what is left to sift of one slot's list */
    verge__list scrub_list;
    uint8_t scrub_level;
    uint32_t scrub_slot;
    uint32_t scrub_slot_pass; /* of that list */
    uint32_t scrub_pass;      /* the pass under way: each is over one list, or a few; never 0 */
    uint32_t scrub_pass_count;
    uint32_t scrub_rounds; /* over all slots */
} verge__calendar;

/* levels: checked geometry, shifts in ns; first_tick: the cursor. */
void verge__calendar_init(verge__calendar *calendar, const verge_wheel_level *levels, size_t level_count, bool coarse,
                          uint64_t first_tick, size_t spare_lists, const verge_allocator *allocator,
                          verge__calendar_owner owner);
void verge__calendar_deinit(verge__calendar *calendar);

/* Drops all entries in the slots and moves the cursor. The owner's lists are the owner's. */
void verge__calendar_reset(verge__calendar *calendar, uint64_t first_tick);

/* Makes room for so many entries in all. */
int verge__calendar_secure(verge__calendar *calendar, size_t entries, bool prefault);

/* Gives back chunks beyond what `entries` entries need. */
void verge__calendar_shrink(verge__calendar *calendar, size_t entries);

/* Gives back the memory of upper levels without an entry, when nothing will be filed after last_tick. */
void verge__calendar_shed_levels(verge__calendar *calendar, uint64_t last_tick);

/* Ticks from the cursor on that the levels which are ready cover. */
static inline uint64_t verge__calendar_ready_reach(const verge__calendar *calendar) {
    if (calendar->levels_ready == 0) {
        return 0;
    }
    const verge__level *top = &calendar->levels[calendar->levels_ready - 1];
    unsigned bits = (unsigned)top->shift + top->bits;
    return bits < 64 ? UINT64_C(1) << bits : UINT64_MAX;
}

/* The level for a tick at or after the cursor; level_count if it is too far. */
static inline size_t verge__calendar_level(const verge__calendar *calendar, uint64_t tick) {
    return calendar->level_of_zeros[verge__leading_zeros((tick - calendar->cursor) | 1)];
}

/* The list in which an entry for a tick is to be filed; the tick is one that levels which are ready reach. */
static VERGE__ALWAYS_INLINE verge__list *verge__calendar_slot(const verge__calendar *calendar, uint64_t tick) {
    const verge__ring *ring = &calendar->ring_of_zeros[verge__leading_zeros((tick - calendar->cursor) | 1)];
    return &ring->slots[(tick >> (ring->mask_and_shift & 63)) & (ring->mask_and_shift >> 32)];
}

/* Files an entry for a tick from the cursor to reach. False, and nothing has changed: it takes a chunk, a level or more
 * room. */
static VERGE__ALWAYS_INLINE bool verge__calendar_try_file(verge__calendar *calendar, uint64_t tick, uint32_t index) {
    verge__list *slot = verge__calendar_slot(calendar, tick);
    verge__list end = *slot;
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end) || calendar->entry_count >= calendar->entry_limit)) {
        return false;
    }
    *end = verge__entry_for_record(index, (uint32_t)tick);
    *slot = end + 1;
    calendar->entry_count++;
    return true;
}

/* Takes the entry of a timeout out of the slot it is in: the newest of the list takes its place. Not while the slot is
 * scrubbed. */
void verge__calendar_withdraw(verge__calendar *calendar, const verge_timeout *timeout);

/* Begins a chunk in the slot of a tick that levels which are ready reach, which has none with room. An entry, for which there
 * is room, is to be filed there next. */
void verge__calendar_begin_chunk(verge__calendar *calendar, uint64_t tick);

/* Files an entry for which there is room, at a tick that levels which are ready reach. */
void verge__calendar_put_within_reach(verge__calendar *calendar, uint64_t tick, verge__entry entry);

/* Files an entry for which there is room, at verge__calendar_round(tick). */
void verge__calendar_put(verge__calendar *calendar, uint64_t tick, verge__entry entry);

/* The tick of a timeout's entry. */
static inline uint64_t verge__calendar_timeout_tick(const verge__calendar *calendar, const verge_timeout *timeout) {
    return timeout->record.u.entry_tick & ~calendar->owner.bellwether;
}

/* The tick of a uniform chunk's timeouts. False: the first entry, which is asked, is nobody's. */
static inline bool verge__calendar_first_tick(const verge__calendar *calendar, const verge__chunk *chunk,
                                              uint64_t *ret_tick) {
    const verge_timeout *first = verge__entry_timeout(chunk->entries[0]);
    *ret_tick = verge__calendar_timeout_tick(calendar, first);
    return first->number != 0;
}

/* Of the timeouts of a uniform chunk, which were set in the order of their entries or the other way round: the one that was set
 * last, and so will be the next time. */
static VERGE__ALWAYS_INLINE void verge__chunk_choose_bellwether(verge__chunk *chunk) {
    chunk->begins_last = verge__entry_timeout(chunk->entries[0])->record.deadline_ns >
                         verge__entry_timeout(chunk->entries[VERGE__CHUNK_ENTRIES - 1])->record.deadline_ns;
}

/* Marks it; all have this tick. */
static VERGE__ALWAYS_INLINE void verge__calendar_mark_bellwether(const verge__calendar *calendar,
                                                                 const verge__chunk *chunk, uint64_t tick) {
    verge_timeout *timeout = verge__entry_timeout(chunk->entries[chunk->begins_last ? 0 : VERGE__CHUNK_ENTRIES - 1]);
    timeout->record.u.entry_tick = tick | calendar->owner.bellwether;
}

/* Whether a chunk may go on as it is to a tick: one that levels which are ready reach. */
static inline bool verge__calendar_may_put_chunk(const verge__calendar *calendar, uint64_t tick,
                                                 const verge__chunk *chunk) {
    return tick - calendar->cursor < verge__calendar_ready_reach(calendar) &&
           verge__chunk_pool_may_keep(&calendar->pool, chunk);
}

/* Files a uniform chunk (entry.h), a full one that is in no list, at such a tick. */
void verge__calendar_put_chunk(verge__calendar *calendar, uint64_t tick, verge__chunk *chunk);

/*
 * Ticks that flock together: each is that of the first or a neighbour of it, or the same of the first one that is not. The
 * entries of timeouts that were set one after the other lie together, and when they come up, those that were set again since,
 * in the same order, are for ticks that flock; with those that were not yet. Then all of them go on together, to the least.
 */
typedef struct verge__flock {
    uint64_t one;
    uint64_t other;
    uint64_t least;
} verge__flock;

static inline verge__flock verge__flock_of(uint64_t tick) {
    return (verge__flock){.one = tick, .other = tick, .least = tick};
}

/* Adds a tick; false if it is another's. */
static VERGE__ALWAYS_INLINE bool verge__flock_add(verge__flock *flock, uint64_t tick) {
    flock->least = tick < flock->least ? tick : flock->least;
    if (tick - flock->one + 1 <= 2) {
        return true;
    }
    flock->other = flock->other == flock->one ? tick : flock->other;
    return tick - flock->other + 1 <= 2;
}

/* Makes room for one more entry: in any list; in the slot of a tick. -ENOMEM changes nothing. */
int verge__calendar_secure_one(verge__calendar *calendar);
int verge__calendar_prepare(verge__calendar *calendar, uint64_t tick);

/* Makes the level of a tick ready: an entry that serves for it will be filed there later. */
int verge__calendar_ready_for(verge__calendar *calendar, uint64_t tick);

/* Makes all levels ready, so that none has to be later. */
int verge__calendar_ready_all(verge__calendar *calendar);

/* The tick at which an entry for `tick` is to be filed: the tick itself, but not before the cursor; coarse,
 * rounded up by its level; the last one within reach, if it is beyond: to be filed again then. */
uint64_t verge__calendar_round(const verge__calendar *calendar, uint64_t tick);

/* Adds to and takes chunks from lists that are the owner's, not in slots. C4 counts them. */
void verge__calendar_list_add(verge__calendar *calendar, verge__list *list, verge__entry entry);
void verge__calendar_list_drop_chunk(verge__calendar *calendar, verge__list *list);
void verge__calendar_list_clear(verge__calendar *calendar, verge__list *list);

static VERGE__ALWAYS_INLINE void verge__calendar_drop_newest_chunk(verge__calendar *calendar, verge__list *list) {
    verge__chunk *chunk = verge__list_chunk(*list);
    *list = verge__list_from_full_chunk(chunk->below);
    verge__chunk_pool_give(&calendar->pool, chunk);
}

/* Takes the newest entry of a list, which is not empty. */
static VERGE__ALWAYS_INLINE verge__entry verge__calendar_list_pop(verge__calendar *calendar, verge__list *list) {
    verge__list newest = *list - 1;
    verge__entry entry = *newest;
    calendar->entry_count--;
    if (verge__list_is_first_of_chunk(newest)) {
        verge__calendar_drop_newest_chunk(calendar, list);
    } else {
        *list = newest;
    }
    return entry;
}

/*
 * Entries of the owner's, not in slots. While a scrub is at it they are in two lists: what its pass has still to see, and
 * what it has seen and kept. A timer that was seen gets the number of the pass, and of two entries with one mark the second
 * one seen is dropped. So no entry may be taken from those seen while the pass goes on: its timer could come back with
 * another, which would be taken for the second one, and the timer be lost. New entries are added to those not seen: if
 * the timer has the number of the pass, the one that was seen is still there, and bears the same mark. When the pass is over,
 * all of them are to be seen by the next.
 */
typedef struct verge__pile {
    verge__list list;
    verge__list sifted;
    uint32_t scrub_pass;
    uint32_t passes; /* that have come to their end */
} verge__pile;

static inline bool verge__pile_is_empty(const verge__pile *pile) {
    return pile->list == NULL && pile->sifted == NULL;
}

/* Whether there is an entry to be taken from the list. If it is used up, it goes on with those seen, and the pass is over. */
static inline bool verge__pile_open(verge__pile *pile) {
    if (pile->list == NULL) {
        pile->list = pile->sifted;
        pile->sifted = NULL;
    }
    return pile->list != NULL;
}

/* A slot's entries; with the scrub that is at it. */
typedef struct verge__taken {
    verge__pile pile;
    uint64_t tick;
} verge__taken;

/*
 * Moves the cursor towards `target` and takes the next entries before it: true. Those of a tick come
 * at once; coarse, slot by slot. False: there are none, and the cursor is at target; or the budget
 * (entries moved) has run out, and it is not.
 */
bool verge__calendar_take(verge__calendar *calendar, uint64_t target, size_t *budget, verge__taken *ret_taken);

/* Drains the upper slots that start at the cursor; false if the budget ran out. Then the entries of the tick
 * at the cursor are all in level 0. */
bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget);

/* Drains the shares that are due of the upper slots that come next, and finds quiet_until anew. */
void verge__calendar_settle(verge__calendar *calendar, size_t *budget);

/* The entries of level 0 at a tick, or at another that has the same slot; they stay where they are. */
static inline verge__list verge__calendar_peek(const verge__calendar *calendar, uint64_t tick) {
    const verge__level *lowest = &calendar->levels[0];
    return lowest->slots[(uint32_t)tick & lowest->mask];
}

/* The start of the first slot that is not empty; VERGE__NO_TICK if all are. */
uint64_t verge__calendar_next(const verge__calendar *calendar);

/* Position (tick >> shift) of the first slot of a level that is not empty, at or after a position. */
uint64_t verge__level_next(const verge__level *level, uint64_t position);

/* Takes the whole list of a slot, which is empty afterwards. */
verge__list verge__calendar_take_slot(verge__calendar *calendar, size_t level, uint32_t slot);

/* Puts an entry back into a slot it was taken from. */
void verge__calendar_put_slot(verge__calendar *calendar, size_t k, uint64_t position, verge__entry entry);

/* Sifts the next chunk of the next slot, round robin, but no more than `max` entries, which is not 0; returns how many it
 * looked at. What is kept may go to a lower level, as it would when its slot is drained. */
size_t verge__calendar_scrub(verge__calendar *calendar, size_t max);

/* The same for a pile of the owner's. */
size_t verge__calendar_scrub_pile(verge__calendar *calendar, verge__pile *pile, size_t max);

/* Entries were taken from those that the pass has seen: it goes on as another, which has seen none. */
void verge__calendar_renew_pass(verge__calendar *calendar, verge__pile *pile);

/* Whether a scrub holds a part of a slot. */
static inline bool verge__calendar_is_scrubbed(const verge__calendar *calendar, size_t level, uint32_t slot) {
    return calendar->scrub_list != NULL && calendar->scrub_level == level && calendar->scrub_slot == slot;
}

/* How many entries a slot holds, under scrub or not. */
size_t verge__calendar_slot_count(const verge__calendar *calendar, size_t level, uint32_t slot);

/* Sifts all of some lists of the owner's, in one pass; all slots, from the cursor on, in one pass. */
void verge__calendar_sift_lists(verge__calendar *calendar, verge__list *const *lists, size_t count);
void verge__calendar_sift_slots(verge__calendar *calendar);

/* NULL, or the invariant that is broken. owner_entries, owner_chunks: what is in the owner's lists. */
const char *verge__calendar_check(const verge__calendar *calendar, size_t owner_entries, size_t owner_chunks);

#endif
