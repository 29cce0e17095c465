/* SPDX-License-Identifier: MIT */
/*
 * calendar/calendar.h - entries filed by tick. The owner, a wheel or a worker of a service, files nodes, moves the
 * cursor forward, and gets back the entries of each tick, tick by tick. The calendar reads the deadline of a node and
 * writes its `place` and `filed` (node.h). It uses nothing else of a timer.
 *
 * Levels. A slot of level k spans 2^shift ticks, and the ring holds two blocks of 2^bits slots: the block of the cursor
 * and the next. An entry goes to the lowest level whose 2^bits slots reach it:
 *
 *     level 0   | . . . . c x x . x | x . x . . . . . |      slots of 1 tick, cursor at c
 *     level 1   | . x | . x . x x . . ...                    slots of 512 ticks
 *     level 2   | . . | x . ...                              slots of 2^17 ticks
 *
 * Above the levels that the owner asks for, there are more levels of 64 slots each, up to the end of time. The reason:
 * entries are filed by their distance from the cursor, and a backlog holds the cursor back. So a deadline within reach
 * of now may be out of reach of the cursor.
 *
 * A narrow calendar has more levels of fewer slots, which cover the same. It takes little memory, and is for few
 * entries. The owner rebuilds it when there are more.
 *
 * Cascading. When the cursor reaches the start of an upper slot, its entries are filed again below, each by its node's
 * deadline. So a timer that was moved later goes straight to its new slot, and an idle entry is dropped. The lower ring
 * also has room for the next block, so a slot may be drained before it starts. A slot of more than one chunk is drained
 * a share at a time while the cursor approaches. So there is no moment at which thousands of entries move at once.
 *
 * Usually an entry is filed at the tick of its deadline. It may be filed earlier: then it comes up early, and is filed
 * again. In a coarse wheel it may be filed later, since ticks are rounded up to the start of a slot. When such a slot
 * is drained, the tick of the deadline is before the slot's start, and the entry goes to the slot's start.
 *
 * Threads: only the owner's thread uses a calendar. But other threads may change the deadline of a node (threads of a
 * service do, relaxed).
 *
 * Invariants (verge__calendar_check)
 *   C1  a slot's bit is set if and only if its list is not empty
 *   C2  a node with an entry knows its place; if it is NEAR, its slot starts at `filed`
 *   C3  every slot that is not empty starts at or after the cursor, except due_slot, which is just before the cursor
 *       and not empty
 *   C4  entry_count is the number of entries, including those in the owner's lists
 *   C5  before quiet_until no slot starts and no share is due; before upper_quiet, none above level 0
 *   C6  the pool has a chunk for every list that entry_capacity entries could ever form
 *   C7  levels from levels_used on are empty
 */
#ifndef VERGE_SRC_CALENDAR_CALENDAR_H
#define VERGE_SRC_CALENDAR_CALENDAR_H

#include "base/bits.h"
#include "base/relaxed.h"
#include "calendar/chunk_pool.h"

enum {
    /* Of a narrow calendar: 16 levels and the rest of 64 bits are 17 parts, and w bits make w / 5 + 1 levels. Of
     * a wide one: 16 levels of a bit, and 48 / 6 + 1. */
    VERGE__LEVELS_MAX = 29,
    VERGE__OWN_LEVEL = 31, /* chunks of the owner's lists have this level, and the list's number as their slot */
    VERGE__OWN_LISTS = 3,
    VERGE__PREFETCH_MIN = 4096, /* the nodes of so few entries are in the cache anyway */
};

#define VERGE__NO_TICK UINT64_MAX

typedef struct verge__level_shape {
    uint8_t shift; /* slots of 2^shift ticks */
    uint8_t bits;  /* 2^bits of them in a block */
} verge__level_shape;

typedef struct verge__level {
    verge__list *slots;
    uint64_t *occupied;  /* a bit a slot */
    uint64_t drained_to; /* the tick up to which shares were drained */
    uint32_t mask;       /* ring size - 1 */
    uint8_t shift;
    uint8_t bits;
    uint8_t near_tag; /* the lowest bits of a place (node.h), if 32 bits tell the slots apart; else 0 */
} verge__level;

typedef struct verge__calendar {
    /* what every call reads */
    uint64_t cursor;      /* the first tick that was not taken */
    uint64_t short_reach; /* the owner's: ticks from the cursor on for which its short ways apply */
    uint64_t quiet_until; /* before this tick there is nothing to do */
    uint64_t bias_ns;     /* what makes (deadline + bias) >> shift the tick of a deadline */
    uint64_t shift;
    size_t entry_count;
    size_t entry_capacity;
    /* The owner's: how many entries became idle, as their node is not pending any more, and how many of these are not
     * so any more. Two counts, so that to clear and to set a timer again and again does not wait for one of them. */
    uint64_t idle_begun;
    uint64_t idle_ended;
    unsigned char *const *slabs; /* the owner's table of nodes, for entries that are in it */
    uint8_t level_of_zeros[64];  /* by the leading zero bits of tick - cursor */
    verge__level levels[VERGE__LEVELS_MAX];

    verge__list *due_slot; /* of level 0: its entries are being handed out, of tick cursor - 1; NULL: none are left */
    uint64_t upper_quiet;  /* quiet_until without level 0 */
    verge__list own[VERGE__OWN_LISTS];
    uint8_t level_count;
    uint8_t levels_used;
    bool leaves_filed;
    bool is_narrow;
    size_t list_count; /* slots of all levels, and the owner's lists */
    size_t level_bytes;
    uint64_t entries_moved;   /* from a level to a lower one */
    uint64_t entries_refiled; /* the owner's: came up before their timer's later deadline */
    uint64_t entries_dropped; /* withdrawn for good, or idle when they came up */
    verge__chunk_pool pool;
} verge__calendar;

typedef struct verge__calendar_setup {
    const verge__level_shape *levels; /* each reaches further than the one before, without a gap, from shift 0 on */
    size_t level_count;
    uint64_t bias_ns;
    uint8_t shift;       /* ticks of 2^shift ns */
    uint64_t first_tick; /* the cursor */
    bool leaves_filed;   /* the owner has `filed` for something else: no entry is near */
    bool is_narrow;
    const verge_allocator *allocator;
} verge__calendar_setup;

/* ---- calendar.c: life and memory ---- */

/* A level of 512 slots, one of 256, then of 64, from ticks of 2^shift ns to the end of time; returns how many. What
 * most timers need, and what comes up often, is wide: it takes more memory. */
size_t verge__calendar_default_levels(unsigned shift, verge__level_shape *ret_levels);

/* -ENOMEM: there is nothing to deinit. */
int verge__calendar_init(verge__calendar *calendar, const verge__calendar_setup *setup);
void verge__calendar_deinit(verge__calendar *calendar);

/* Moves the cursor of a calendar without entries to any tick. */
void verge__calendar_restart(verge__calendar *calendar, uint64_t first_tick);

/* Makes room for so many entries in all, and touches it. -ENOMEM changes nothing. */
int verge__calendar_secure(verge__calendar *calendar, size_t entries);

/* Gives back chunks beyond what `entries` entries need. */
void verge__calendar_shrink(verge__calendar *calendar, size_t entries);

/* Moves all entries to new memory, which is as large as so many entries need, with the levels of the setup. -ENOMEM
 * changes nothing. */
int verge__calendar_rebuild(verge__calendar *calendar, const verge__calendar_setup *setup, size_t entries);

/* ---- filing.c: entries come and go ---- */

/* Files a node without an entry, for which there is room, at a tick that is not before the cursor. */
void verge__calendar_file(verge__calendar *calendar, verge__entry entry, verge__node *node, uint64_t tick);

/* The same in a list of the owner's. */
void verge__calendar_list_add(verge__calendar *calendar, size_t own, verge__entry entry, verge__node *node);

/* Takes the entry of a node out of its list: the newest of that list takes its place. */
void verge__calendar_withdraw(verge__calendar *calendar, verge__node *node);

/* Files a node anew; false, and nothing has changed: it has no entry, and there is no room for one. */
bool verge__calendar_move(verge__calendar *calendar, verge__entry entry, verge__node *node, uint64_t tick);

/* Takes the newest entry of the owner's list, which is not empty. To tell the node is left to the caller. */
verge__entry verge__calendar_list_pop(verge__calendar *calendar, size_t own);

/* A slot gets another chunk, on top: its newest one is full, or it has none. */
verge__list verge__calendar_add_chunk(verge__calendar *calendar, verge__level *level, uint64_t position);

/* ---- advance.c: time passes ---- */

/*
 * Takes the next tick, up to last_tick, at which level 0 has entries: true, and they are in due_slot, from which the
 * owner takes them one by one; all of the last tick's are gone. False: there is none, the cursor is behind last_tick,
 * and quiet_until was found anew; or the budget, of entries moved, has run out, and the cursor is not behind last_tick.
 */
bool verge__calendar_next_tick(verge__calendar *calendar, uint64_t last_tick, size_t *budget);

/* Drains the upper slots that start at the cursor; false: the budget ran out. */
bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget);

/* Drains the shares that are due; then quiet_until is found anew. */
void verge__calendar_settle(verge__calendar *calendar, size_t *budget);

/* The start of the first slot that is not empty; VERGE__NO_TICK: all are empty. */
uint64_t verge__calendar_next(const verge__calendar *calendar);

/* Position (tick >> shift) of the first slot of a level that is not empty, at or after a position. */
uint64_t verge__level_next(const verge__level *level, uint64_t position);

/* ---- check.c ---- */

/* NULL, or the invariant that is broken. `look` (NULL: none) is called for each entry, with the tick at which its slot
 * starts, or NO_TICK in a list of the owner's, and returns what it finds broken. */
typedef const char *verge__calendar_look(void *context, verge__entry entry, const verge__node *node, uint64_t start);
const char *verge__calendar_check(const verge__calendar *calendar, verge__calendar_look *look, void *context);

/* ---- the short ways ---- */

static VERGE__ALWAYS_INLINE verge__node *verge__calendar_node(const verge__calendar *calendar, verge__entry entry) {
    return verge__entry_node(calendar->slabs, entry);
}

/* The tick of a deadline that is not beyond the end of time. */
static VERGE__ALWAYS_INLINE uint64_t verge__calendar_tick(const verge__calendar *calendar, uint64_t deadline_ns) {
    return (deadline_ns + calendar->bias_ns) >> calendar->shift;
}

static VERGE__ALWAYS_INLINE uint64_t verge__node_deadline(const verge__node *node) {
    return verge__load_relaxed_plain(&node->deadline_ns);
}

/* The level for a tick at or after the cursor. */
static inline size_t verge__calendar_level(const verge__calendar *calendar, uint64_t tick) {
    return calendar->level_of_zeros[verge__leading_zeros((tick - calendar->cursor) | 1)];
}

/* Whether the entry of a node comes up no later than at `tick`; there is no backlog. */
static VERGE__ALWAYS_INLINE bool verge__calendar_serves(const verge__calendar *calendar, const verge__node *node,
                                                        uint64_t tick) {
    uint32_t ahead = node->filed - (uint32_t)calendar->cursor;
    return ((node->place & VERGE__NEAR) != 0) & (ahead <= tick - calendar->cursor);
}

/* Withdraws the entry of a node that is near, if that empties no chunk. False, and nothing has changed: it would. Which
 * list it is in follows from the node, without a look at the chunk, which may not be in the cache. */
static VERGE__ALWAYS_INLINE bool verge__calendar_try_withdraw(verge__calendar *calendar, verge__node *node) {
    if (VERGE__UNLIKELY((node->place & VERGE__NEAR) == 0)) {
        return false;
    }
    verge__entry *place = verge__node_place(node);
    const verge__level *level = &calendar->levels[node->place >> 1 & (VERGE__NEAR_LEVELS - 1)];
    verge__list *list = &level->slots[node->filed >> level->shift & level->mask];
    verge__entry *newest = *list - 1;
    VERGE__INVARIANT(verge__calendar_node(calendar, *place) == node, "C2: a node with an entry knows its place");
    if (VERGE__UNLIKELY(verge__is_first_of_chunk(newest))) {
        return false;
    }
    verge__entry entry = *newest;
    verge__node *moved = verge__calendar_node(calendar, entry);
    *place = entry;
    moved->place = (uintptr_t)place | level->near_tag; /* it need not be here to be written to */
    *list = newest;
    calendar->entry_count--;
    node->place = VERGE__NO_PLACE;
    return true;
}

/* Entries whose node is not pending. When one comes up, it is dropped. */
static VERGE__ALWAYS_INLINE uint64_t verge__calendar_idle(const verge__calendar *calendar) {
    return calendar->idle_begun - calendar->idle_ended;
}

/* Whether the tick that was taken last has entries left. */
static inline bool verge__calendar_has_due(const verge__calendar *calendar) {
    return calendar->due_slot != NULL;
}

/* The entries at the cursor that are in level 0; those that upper slots have for it come with open_cursor. */
static inline verge__list *verge__calendar_cursor_slot(const verge__calendar *calendar) {
    const verge__level *lowest = &calendar->levels[0];
    return &lowest->slots[(uint32_t)calendar->cursor & lowest->mask];
}

#endif
