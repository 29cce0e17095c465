/* SPDX-License-Identifier: MIT */
/*
 * This wheel does what good implementations do. A slot head is one pointer: a node has the address of the pointer that
 * points to it, as in an hlist of Linux. The highest bit tells the level. To move a timer to its present tick does
 * nothing. An empty wheel jumps to the target.
 */
#include "textbook_wheel.h"

#include <string.h>

enum {
    LEVEL_COUNT = TEXTBOOK_WHEEL_LEVEL_COUNT,
    SLOT_BITS = TEXTBOOK_WHEEL_SLOT_BITS,
    SLOT_COUNT = TEXTBOOK_WHEEL_SLOT_COUNT,
    SLOT_MASK = SLOT_COUNT - 1,
    TICK_SHIFT = TEXTBOOK_WHEEL_TICK_SHIFT,
};

#define TICK_NS (UINT64_C(1) << TICK_SHIFT)
#define REACH_TICKS ((UINT64_C(1) << (LEVEL_COUNT * SLOT_BITS)) - 1)

/* The node's tick must be now_tick or later. */
static inline void insert(struct textbook_wheel *wheel, struct textbook_wheel_node *node) {
    uint64_t delta = node->tick - wheel->now_tick;
    uint64_t slot_tick = node->tick;
    if (delta > REACH_TICKS) {
        delta = REACH_TICKS;
        slot_tick = wheel->now_tick + REACH_TICKS;
    }
    unsigned level = (63u - (unsigned)__builtin_clzll(delta | 1)) / SLOT_BITS;
    struct textbook_wheel_node **head = &wheel->slots[level][(slot_tick >> (level * SLOT_BITS)) & SLOT_MASK];
    node->next = *head;
    if (node->next != NULL) {
        node->next->link = &node->next;
    }
    node->link = head;
    *head = node;
}

static inline void unlink_node(struct textbook_wheel_node *node) {
    *node->link = node->next;
    if (node->next != NULL) {
        node->next->link = node->link;
    }
}

static inline uint64_t future_tick(const struct textbook_wheel *wheel, uint64_t deadline_ns) {
    uint64_t tick = (deadline_ns + TICK_NS - 1) >> TICK_SHIFT;
    return tick > wheel->now_tick ? tick : wheel->now_tick + 1;
}

void textbook_wheel_init(struct textbook_wheel *wheel, uint64_t start_ns) {
    memset(wheel, 0, sizeof(*wheel));
    wheel->now_tick = start_ns >> TICK_SHIFT;
}

int textbook_wheel_schedule(struct textbook_wheel *wheel, struct textbook_wheel_node *node, uint64_t deadline_ns) {
    node->tick = future_tick(wheel, deadline_ns);
    insert(wheel, node);
    wheel->pending_count++;
    return 0;
}

int textbook_wheel_cancel(struct textbook_wheel *wheel, struct textbook_wheel_node *node) {
    if (node->link == NULL) {
        return -1;
    }
    unlink_node(node);
    node->link = NULL;
    wheel->pending_count--;
    return 0;
}

int textbook_wheel_reschedule(struct textbook_wheel *wheel, struct textbook_wheel_node *node, uint64_t deadline_ns) {
    uint64_t tick = future_tick(wheel, deadline_ns);
    if (node->link != NULL) {
        if (node->tick == tick) {
            return 0;
        }
        unlink_node(node);
    } else {
        wheel->pending_count++;
    }
    node->tick = tick;
    insert(wheel, node);
    return 0;
}

static void cascade(struct textbook_wheel *wheel, unsigned level) {
    struct textbook_wheel_node **head = &wheel->slots[level][(wheel->now_tick >> (level * SLOT_BITS)) & SLOT_MASK];
    struct textbook_wheel_node *node = *head;
    *head = NULL;
    while (node != NULL) {
        struct textbook_wheel_node *next = node->next;
        insert(wheel, node);
        node = next;
    }
}

/* A callback may cancel the timer that comes next, so each node leaves the list before it fires. */
static void fire_slot(struct textbook_wheel *wheel, struct textbook_wheel_node **head, textbook_wheel_fired *on_fired,
                      void *context) {
    struct textbook_wheel_node *node;
    while ((node = *head) != NULL) {
        unlink_node(node);
        node->link = NULL;
        wheel->pending_count--;
        on_fired(context, node);
    }
}

/* Advances from a tick that has just begun to the target. */
static __attribute__((noinline)) void go_through(struct textbook_wheel *wheel, uint64_t target_tick,
                                                 textbook_wheel_fired *on_fired, void *context) {
    for (;;) {
        uint64_t tick = wheel->now_tick;
        for (unsigned level = 1; level < LEVEL_COUNT; level++) {
            if ((tick & SLOT_MASK) != 0) {
                break;
            }
            cascade(wheel, level);
            tick >>= SLOT_BITS;
        }
        struct textbook_wheel_node **head = &wheel->slots[0][wheel->now_tick & SLOT_MASK];
        if (*head != NULL) {
            fire_slot(wheel, head, on_fired, context);
        }
        if (wheel->now_tick >= target_tick) {
            return;
        }
        if (wheel->pending_count == 0) {
            wheel->now_tick = target_tick;
            return;
        }
        wheel->now_tick++;
    }
}

/* Passes ticks without work in this short loop: so no registers need to be saved for them. */
void textbook_wheel_advance(struct textbook_wheel *wheel, uint64_t now_ns, textbook_wheel_fired *on_fired,
                            void *context) {
    uint64_t target_tick = now_ns >> TICK_SHIFT;
    while (wheel->now_tick < target_tick) {
        if (wheel->pending_count == 0) {
            wheel->now_tick = target_tick;
            return;
        }
        uint64_t slot = ++wheel->now_tick & SLOT_MASK;
        if (slot == 0 || wheel->slots[0][slot] != NULL) {
            go_through(wheel, target_tick, on_fired, context);
            return;
        }
    }
}

/* Returns the first used slot of begin..end-1, or end. Reads eight heads at a time. */
static unsigned used_slot(struct textbook_wheel_node *const *slots, unsigned begin, unsigned end) {
    unsigned slot = begin;
    for (; slot < end && slot % 8 != 0; slot++) {
        if (slots[slot] != NULL) {
            return slot;
        }
    }
    for (; slot + 8 <= end; slot += 8) {
        uintptr_t any = 0;
        for (unsigned i = 0; i < 8; i++) {
            any |= (uintptr_t)slots[slot + i];
        }
        if (any != 0) {
            break;
        }
    }
    while (slot < end && slots[slot] == NULL) {
        slot++;
    }
    return slot;
}

/* Returns the distance (1..SLOT_COUNT) from a slot to the next used one, or 0. */
static unsigned used_slot_distance(struct textbook_wheel_node *const *slots, unsigned from) {
    unsigned slot = used_slot(slots, from + 1, SLOT_COUNT);
    if (slot < SLOT_COUNT) {
        return slot - from;
    }
    slot = used_slot(slots, 0, from + 1);
    return slot <= from ? slot + SLOT_COUNT - from : 0;
}

/* Returns the earliest start of a used slot. This is exact in level 0, and never too late in the others. */
uint64_t textbook_wheel_next(const struct textbook_wheel *wheel) {
    if (wheel->pending_count == 0) {
        return UINT64_MAX;
    }
    uint64_t next_tick = UINT64_MAX;
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        uint64_t position = wheel->now_tick >> (level * SLOT_BITS);
        unsigned distance = used_slot_distance(wheel->slots[level], (unsigned)(position & SLOT_MASK));
        uint64_t slot_tick = (position + distance) << (level * SLOT_BITS);
        if (distance != 0 && slot_tick < next_tick) {
            next_tick = slot_tick;
        }
    }
    return next_tick << TICK_SHIFT;
}
