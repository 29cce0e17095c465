/* SPDX-License-Identifier: MIT */
/*
 * calendar/calendar.h - nodes filed by tick. The owner, a wheel or a worker of a service, files nodes, moves the cursor
 * forward, and gets back the nodes of each tick, tick by tick. The calendar links nodes into lists, reads their
 * deadlines and, if it has places, writes the place into the tag of a node (node.h). It uses nothing else of a timer.
 * Its slots are allocated when it is made. Filing needs no other memory, so it cannot fail.
 *
 * Levels. A slot of level k spans 2^shift ticks, and the ring holds two blocks of 2^bits slots: the block of the cursor
 * and the next. A node goes to the lowest level that reaches its tick: tick - cursor < 2^(shift + bits).
 *
 *     level 0   | . . . . c x x . x | x . x . . . . . |      slots of 1 tick, cursor at c
 *     level 1   | . x | . x . x x . . ...                    slots of 512 ticks
 *     level 2   | . . | x . ...                              slots of 2^17 ticks
 *
 * If the levels of the owner end before the end of time, the calendar adds levels above them. These are for backlogs: a
 * backlog holds the cursor back, so a deadline within reach of now may be out of reach of the cursor. A narrow calendar
 * has more levels of fewer slots, and one lane in each slot. It takes little memory, and is for few nodes. The owner
 * rebuilds it when there are more nodes.
 *
 * Lanes. A slot is several lists, its lanes. A walk along a slot takes a node of each lane in turn, and prefetches the
 * next node of that lane. So as many cache misses are under way as there are lanes. While few nodes are linked, all go
 * to the first lane.
 *
 * Cascading. When the cursor reaches the start of an upper slot, its nodes are filed again, each by the deadline that
 * it has then: usually in a lower level. Exception: in a calendar that is not narrow, a slot of more than 16 nodes is
 * drained (its nodes are filed again) in portions, before the cursor reaches it. The ring of the level below has room
 * for these nodes: it also has the next block. The deadline of a linked node may become later. Then the node comes up
 * early, and its owner files it again. A wheel with the option `coarse` files a node at a later tick than that of its
 * deadline: at the start of a slot.
 *
 * Threads. Only one thread at a time uses a calendar. One exception: any thread may change the deadlines of a service's
 * timers, by relaxed stores, while their nodes are linked.
 *
 * Invariants (verge__calendar_check)
 *   C1  a slot's bit is set if and only if one of its lanes is not empty
 *   C2  next and pprev of linked nodes agree
 *   C3  every slot that is not empty starts at or after the cursor, except due_slot, which is just before the cursor
 *       and not empty
 *   C4  linked is the number of nodes in slots and in the owner's lists
 *   C5  no slot with nodes starts before quiet_until, and no portion is due before then. In levels above 0, nothing
 *       starts or is due before upper_quiet
 *   C6  an upper slot has at most as many nodes as `counts` says, if its level has counts
 *   C7  levels from levels_used on are empty
 *   C8  a node is in the slot of its place, if it has one
 */
#ifndef VERGE_SRC_CALENDAR_CALENDAR_H
#define VERGE_SRC_CALENDAR_CALENDAR_H

#include "base/bits.h"
#include "calendar/node.h"

enum {
    VERGE__LEVELS_MAX = 24, /* the worst case: 16 levels of the owner, of one bit each, then 8 of 6 bits for 48 bits */
    VERGE__LANES_MAX = 8,
    VERGE__LANES_FROM = 32768, /* with fewer nodes, all go to the first lane */
    VERGE__PORTION = 16,       /* about how many nodes are drained at a time; more if the slot starts soon */
};

#define VERGE__NO_TICK UINT64_MAX

typedef struct verge__level_shape {
    uint8_t shift; /* slots of 2^shift ticks */
    uint8_t bits;  /* 2^bits slots in a block */
} verge__level_shape;

typedef struct verge__level {
    verge__node **heads; /* the heads of the lanes of slot 0, then those of slot 1, ... */
    uint64_t *occupied;  /* one bit for each slot: it has nodes (C1) */
    uint32_t *counts;    /* at most so many nodes are in each slot (C6). NULL: slots are not drained in portions */
    uint32_t mask;       /* ring size - 1 */
    uint8_t shift;
    uint8_t bits;
    uint8_t lane_bits;
    uint8_t lanes_used; /* number of lanes to which nodes go, minus 1 */
} verge__level;

typedef struct verge__calendar {
    /* what every call reads */
    uint64_t cursor;      /* the first tick that was not taken */
    uint64_t quiet_until; /* before this tick there is nothing to do */
    uint64_t bias_ns;     /* the tick of a deadline is (deadline_ns + bias_ns) >> shift */
    uint64_t shift;
    size_t linked;      /* number of linked nodes (C4) */
    uint32_t put_count; /* how often a node was put into a slot; the low bits choose the next lane */
    uint8_t level_count;
    uint8_t levels_used;
    bool is_narrow;
    bool has_places;      /* a tag, which can have a place, follows each node (node.h) */
    uint64_t upper_quiet; /* quiet_until without level 0 */
    verge__node **heads;  /* of all lanes of all slots. The same block has `occupied` and `counts` of all levels */
    size_t head_count;
    verge__node **due_slot; /* the slot of tick cursor - 1, whose nodes are being handed out; NULL: none are left */
    uint32_t due_lane;      /* the lane of due_slot that is next */
    uint32_t due_lanes;     /* number of lanes of due_slot, minus 1 */
    uint64_t nodes_moved;   /* how many nodes were drained from a level to a lower one */
    size_t bytes;           /* size of the block of memory at heads */
    const verge_allocator *allocator;
    uint8_t level_of_zeros[64]; /* the level for a tick, by the leading zero bits of tick - cursor */
    verge__level levels[VERGE__LEVELS_MAX];
} verge__calendar;

typedef struct verge__calendar_setup {
    const verge__level_shape *levels; /* from shift 0 on, without a gap: each reaches further than the one before */
    size_t level_count;
    uint64_t bias_ns;
    uint8_t shift;       /* ticks of 2^shift ns */
    uint64_t first_tick; /* the cursor of the new calendar */
    bool is_narrow;
    bool has_places; /* a tag follows each node (node.h). The owner then keeps ticks below 2^62: a place has 62 bits */
    const verge_allocator *allocator;
} verge__calendar_setup;

/* ---- calendar.c: life and memory ---- */

/* Writes the default levels for ticks of 2^shift ns: one of 512 slots, one of 256, and then levels of 64 up to the end
 * of time. Returns how many levels it wrote. The two lowest have the most slots, because most timers go there. */
size_t verge__calendar_default_levels(unsigned shift, verge__level_shape *ret_levels);

/* Returns 0 or -ENOMEM. After -ENOMEM there is nothing to deinit. */
int verge__calendar_init(verge__calendar *calendar, const verge__calendar_setup *setup);
void verge__calendar_deinit(verge__calendar *calendar);

/* Moves the cursor of a calendar without nodes to any tick. */
void verge__calendar_restart(verge__calendar *calendar, uint64_t first_tick);

/* Gives a calendar the levels of another setup, narrow or wide, and files all nodes of its slots there. Returns 0 or
 * -ENOMEM. After -ENOMEM nothing has changed. */
int verge__calendar_rebuild(verge__calendar *calendar, const verge__calendar_setup *setup);

/* Call it when the lane at `head` has become empty. If all lanes of the slot are empty now, clears the slot's bit. */
void verge__calendar_lane_emptied(verge__calendar *calendar, verge__node **head);

/* Chooses how many lanes nodes go to, by how many nodes are linked. */
void verge__calendar_choose_lanes(verge__calendar *calendar);

/* The rare part of verge__calendar_put. It is called if the node is the first of its lane, if its slot has just
 * grown beyond one portion, or if it is time to choose the lanes anew. */
VERGE__NOINLINE void verge__calendar_note_put(verge__calendar *calendar, size_t k, uint64_t tick, uint32_t count);

/* ---- advance.c: time passes ---- */

/*
 * Takes the next tick, up to last_tick, at which level 0 has nodes. All nodes of the tick that was taken before must be
 * gone. Returns true if there is such a tick. The owner then takes its nodes from due_slot, one by one. Returns false
 * if there is no such tick: the cursor is after last_tick then. Also returns false if the budget of nodes to move has
 * run out: the cursor is not after last_tick then.
 */
bool verge__calendar_next_tick(verge__calendar *calendar, uint64_t last_tick, size_t *budget);

/* Drains the upper slots that start at the cursor. Returns false if the budget ran out before they were empty. */
bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget);

/* Drains what is due in the upper levels, and updates quiet_until. */
void verge__calendar_settle(verge__calendar *calendar, size_t *budget);

/* Returns the start of the first slot with nodes, or VERGE__NO_TICK if there is none. due_slot must be NULL. */
uint64_t verge__calendar_next(const verge__calendar *calendar);

/* Returns the position (tick >> shift) of the level's first slot with nodes, at or after a position. Returns
 * VERGE__NO_TICK if the level is empty. */
uint64_t verge__level_next(const verge__level *level, uint64_t position);

/* ---- check.c ---- */

/* Looks at a node of a slot that starts at a tick. Returns NULL, or the text of a broken invariant of the owner. */
typedef const char *verge__calendar_look(void *context, verge__node *node, uint64_t start);

/* Returns NULL if all invariants hold, or the text of a broken one: of the calendar or, from `look`, of its owner.
 * own_count: how many nodes are in lists of the owner. */
const char *verge__calendar_check(const verge__calendar *calendar, size_t own_count, verge__calendar_look *look,
                                  void *context);

/* ---- filing ---- */

/* Returns the tick of a deadline. For a deadline after the last tick the sum may wrap; the result is then tick 0. */
static VERGE__ALWAYS_INLINE uint64_t verge__calendar_tick(const verge__calendar *calendar, uint64_t deadline_ns) {
    return (deadline_ns + calendar->bias_ns) >> calendar->shift;
}

static inline uint32_t verge__level_lane_count(const verge__level *level) {
    return UINT32_C(1) << level->lane_bits;
}

/* Returns the heads of the lanes of the slot at a position. */
static VERGE__ALWAYS_INLINE verge__node **verge__level_slot(const verge__level *level, uint64_t position) {
    return &level->heads[(size_t)((uint32_t)position & level->mask) << level->lane_bits];
}

static inline bool verge__level_has(const verge__level *level, uint64_t position) {
    uint32_t slot = (uint32_t)position & level->mask;
    return (level->occupied[slot >> 6] >> (slot & 63) & 1) != 0;
}

/* Links a node into the slot of a tick in level k. Changes neither `linked` nor the node's place. */
static VERGE__ALWAYS_INLINE void verge__calendar_put(verge__calendar *calendar, size_t k, uint64_t tick,
                                                     verge__node *node) {
    const verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)(tick >> level->shift) & level->mask;
    uint32_t put_count = calendar->put_count++;
    verge__node **head = &level->heads[((size_t)slot << level->lane_bits) + (put_count & level->lanes_used)];
    bool is_first = *head == NULL;
    VERGE__INVARIANT(tick >> level->shift << level->shift >= calendar->cursor,
                     "C3: every slot starts at or after the cursor");
    verge__node_push(head, node);
    uint32_t count = 0;
    if (level->counts != NULL && level->counts[slot] != UINT32_MAX) { /* no overflow: withdrawals do not lower it */
        count = ++level->counts[slot];
    }
    if (VERGE__UNLIKELY(is_first || count == VERGE__PORTION + 1 || put_count % 4096 == 0)) {
        verge__calendar_note_put(calendar, k, tick, count);
    }
}

/* Returns the level for a tick at or after the cursor. */
static inline size_t verge__calendar_level(const verge__calendar *calendar, uint64_t tick) {
    return calendar->level_of_zeros[verge__leading_zeros((tick - calendar->cursor) | 1)];
}

/* Writes the tick for which a node is filed into the node's tag, if the tag has a place (node.h). */
static VERGE__ALWAYS_INLINE void verge__calendar_note_place(const verge__calendar *calendar, verge__node *node,
                                                            uint64_t tick) {
    verge__placed_node *placed = (verge__placed_node *)(void *)node;
    if (calendar->has_places && placed->tag >= VERGE__HAS_PLACE) {
        placed->tag = VERGE__HAS_PLACE | tick << 1 | (placed->tag & 1);
    }
}

/* Files a node that is in no list, at a tick that is not before the cursor. If the node has a place, the caller calls
 * verge__calendar_note_place. */
static VERGE__ALWAYS_INLINE void verge__calendar_file(verge__calendar *calendar, verge__node *node, uint64_t tick) {
    VERGE__INVARIANT(tick >= calendar->cursor, "C3: nothing is filed before the cursor");
    VERGE__INVARIANT(!verge__node_is_linked(node), "C2: a node is in one list at the most");
    calendar->linked++;
    verge__calendar_put(calendar, verge__calendar_level(calendar, tick), tick, node);
}

/* Puts a node that is in no list into a list of the owner. */
static inline void verge__calendar_file_in(verge__calendar *calendar, verge__node **list, verge__node *node) {
    VERGE__INVARIANT(!verge__node_is_linked(node), "C2: a node is in one list at the most");
    calendar->linked++;
    verge__node_push(list, node);
}

/* Takes a node out of its slot, or out of a list of the owner. */
static VERGE__ALWAYS_INLINE void verge__calendar_withdraw(verge__calendar *calendar, verge__node *node) {
    verge__node **head = node->pprev;
    bool was_last = node->next == NULL;
    VERGE__INVARIANT(calendar->linked > 0, "C4: nodes are counted");
    verge__node_remove(node);
    calendar->linked--;
    if (was_last && (uintptr_t)head - (uintptr_t)calendar->heads < calendar->head_count * sizeof(*head)) {
        verge__calendar_lane_emptied(calendar, head);
    }
}

/* Returns whether the tick that was taken last has nodes left. */
static inline bool verge__calendar_has_due(const verge__calendar *calendar) {
    return calendar->due_slot != NULL;
}

/* Takes the next node of due_slot, from its lanes in turn. due_slot must not be NULL. */
static VERGE__ALWAYS_INLINE verge__node *verge__calendar_pop(verge__calendar *calendar) {
    uint32_t last_lane = calendar->due_lanes;
    uint32_t lane = calendar->due_lane;
    VERGE__INVARIANT(calendar->due_slot != NULL, "C3: nodes are taken while there are some");
    while (calendar->due_slot[lane] == NULL) {
        lane = (lane + 1) & last_lane;
    }
    verge__node **head = &calendar->due_slot[lane];
    verge__node *node = *head;
    verge__node *next = node->next;
    calendar->due_lane = (lane + 1) & last_lane;
    VERGE__INVARIANT(node->pprev == head,
                     "C2: a node is where its list says; if not, the object of a timeout was freed, "
                     "copied or zeroed before verge_timeout_cancel");
    *head = next;
    calendar->linked--;
    node->pprev = NULL;
    if (VERGE__LIKELY(next != NULL)) {
        VERGE__PREFETCH_WRITE(next);
        next->pprev = head;
    } else if (calendar->due_slot[calendar->due_lane] == NULL) { /* the node may have been the last one of the slot */
        verge__calendar_lane_emptied(calendar, head);
    }
    return node;
}

#endif
