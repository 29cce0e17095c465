/* SPDX-License-Identifier: MIT */
/*
 * The baseline: the hierarchical timing wheel of the textbooks. 4 levels of 256 slots; a slot is a doubly linked list
 * through nodes in the user's objects; each time a level has gone round, one slot of the level above is distributed
 * over the levels below.
 *
 * As good implementations do: slot heads are one pointer (the list is hlist-like, a node points at the pointer that
 * points at it), the level comes from the position of the highest bit, moving a timer to the tick it already has is
 * nothing, an empty wheel jumps.
 */
#include "../clock.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

enum {
    LEVEL_COUNT = 4,
    SLOT_BITS = 8,
    SLOT_COUNT = 1 << SLOT_BITS,
    SLOT_MASK = SLOT_COUNT - 1,
};

#define REACH_TICKS ((UINT64_C(1) << (LEVEL_COUNT * SLOT_BITS)) - 1)

struct node {
    struct node *next;
    struct node **link; /* what points at this node; NULL: not pending */
    uint64_t tick;
};

struct textbook {
    uint64_t now_tick;
    size_t pending_count;
    struct bench_object *objects;
    struct bench_log *log;
    uint32_t id_count;
    alignas(64) struct node *slots[LEVEL_COUNT][SLOT_COUNT];
};

static inline struct node *node_of(struct textbook *wheel, uint32_t id) {
    return (struct node *)(void *)&wheel->objects[id];
}

static inline uint32_t id_of(const struct textbook *wheel, const struct node *node) {
    return (uint32_t)((const struct bench_object *)(const void *)node - wheel->objects);
}

static inline uint64_t tick_at_or_after(uint64_t deadline_ns) {
    return (deadline_ns + BENCH_TICK_NS - 1) >> BENCH_TICK_SHIFT;
}

/* node->tick >= now_tick */
static inline void insert(struct textbook *wheel, struct node *node) {
    uint64_t delta = node->tick - wheel->now_tick;
    uint64_t slot_tick = node->tick;
    if (delta > REACH_TICKS) {
        delta = REACH_TICKS;
        slot_tick = wheel->now_tick + REACH_TICKS;
    }
    unsigned level = (63u - (unsigned)__builtin_clzll(delta | 1)) / SLOT_BITS;
    struct node **head = &wheel->slots[level][(slot_tick >> (level * SLOT_BITS)) & SLOT_MASK];
    node->next = *head;
    if (node->next != NULL) {
        node->next->link = &node->next;
    }
    node->link = head;
    *head = node;
}

static inline void unlink_node(struct node *node) {
    *node->link = node->next;
    if (node->next != NULL) {
        node->next->link = node->link;
    }
}

static inline uint64_t future_tick(const struct textbook *wheel, uint64_t deadline_ns) {
    uint64_t tick = tick_at_or_after(deadline_ns);
    return tick > wheel->now_tick ? tick : wheel->now_tick + 1;
}

static void *textbook_create(const struct bench_setup *setup) {
    struct textbook *wheel = bench_memory_allocate(sizeof(*wheel), alignof(struct textbook));
    wheel->now_tick = setup->start_ns >> BENCH_TICK_SHIFT;
    wheel->objects = setup->objects;
    wheel->log = setup->log;
    wheel->id_count = setup->id_count;
    return wheel;
}

static void textbook_destroy(void *self) {
    bench_memory_release(self, sizeof(struct textbook));
}

static void textbook_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct textbook *wheel = self;
    struct node *node = node_of(wheel, id);
    node->tick = future_tick(wheel, deadline_ns);
    insert(wheel, node);
    wheel->pending_count++;
}

static bool textbook_cancel(void *self, uint32_t id) {
    struct textbook *wheel = self;
    struct node *node = node_of(wheel, id);
    if (node->link == NULL) {
        return false;
    }
    unlink_node(node);
    node->link = NULL;
    wheel->pending_count--;
    return true;
}

static void textbook_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct textbook *wheel = self;
    struct node *node = node_of(wheel, id);
    uint64_t tick = future_tick(wheel, deadline_ns);
    if (node->link != NULL) {
        if (node->tick == tick) {
            return;
        }
        unlink_node(node);
    } else {
        wheel->pending_count++;
    }
    node->tick = tick;
    insert(wheel, node);
}

static void cascade(struct textbook *wheel, unsigned level) {
    struct node **head = &wheel->slots[level][(wheel->now_tick >> (level * SLOT_BITS)) & SLOT_MASK];
    struct node *node = *head;
    *head = NULL;
    while (node != NULL) {
        struct node *next = node->next;
        insert(wheel, node);
        node = next;
    }
}

/* A callback may cancel the timer that comes next, so each node leaves the list before it fires. */
static void fire_slot(struct textbook *wheel, struct node **head) {
    struct node *node;
    while ((node = *head) != NULL) {
        unlink_node(node);
        node->link = NULL;
        wheel->pending_count--;
        bench_log_fired(wheel->log, id_of(wheel, node));
    }
}

static void textbook_advance(void *self, uint64_t now_ns) {
    struct textbook *wheel = self;
    uint64_t target_tick = now_ns >> BENCH_TICK_SHIFT;
    while (wheel->now_tick < target_tick) {
        if (wheel->pending_count == 0) {
            wheel->now_tick = target_tick;
            return;
        }
        uint64_t tick = ++wheel->now_tick;
        for (unsigned level = 1; level < LEVEL_COUNT; level++) {
            if ((tick & SLOT_MASK) != 0) {
                break;
            }
            cascade(wheel, level);
            tick >>= SLOT_BITS;
        }
        struct node **head = &wheel->slots[0][wheel->now_tick & SLOT_MASK];
        if (*head != NULL) {
            fire_slot(wheel, head);
        }
    }
}

/* The first slot in use of begin..end-1, or end. Looks at eight heads at a time. */
static unsigned used_slot(struct node *const *slots, unsigned begin, unsigned end) {
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

/* The distance (1..SLOT_COUNT) from a slot to the next one in use, or 0. */
static unsigned used_slot_distance(struct node *const *slots, unsigned from) {
    unsigned slot = used_slot(slots, from + 1, SLOT_COUNT);
    if (slot < SLOT_COUNT) {
        return slot - from;
    }
    slot = used_slot(slots, 0, from + 1);
    return slot <= from ? slot + SLOT_COUNT - from : 0;
}

/* The earliest start of a slot in use: exact in level 0, never late in the others. */
static uint64_t textbook_next(void *self) {
    struct textbook *wheel = self;
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
    return next_tick << BENCH_TICK_SHIFT;
}

static void textbook_footprint(void *self, struct bench_footprint *ret_footprint) {
    (void)self;
    *ret_footprint =
        (struct bench_footprint){.own_bytes = sizeof(struct textbook), .embedded_bytes = sizeof(struct node)};
}

const struct bench_rival bench_rival_textbook = {
    .name = "textbook",
    .lateness_ns = BENCH_TICK_NS,
    .create = textbook_create,
    .destroy = textbook_destroy,
    .schedule = textbook_schedule,
    .cancel = textbook_cancel,
    .reschedule = textbook_reschedule,
    .advance = textbook_advance,
    .next = textbook_next,
    .footprint = textbook_footprint,
};
