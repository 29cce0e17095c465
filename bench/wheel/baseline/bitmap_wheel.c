/* SPDX-License-Identifier: MIT */
#include "bitmap_wheel.h"

enum {
    LEVEL_COUNT = BITMAP_WHEEL_LEVEL_COUNT,
    SLOT_COUNT = BITMAP_WHEEL_SLOT_COUNT,
    SLOT_BITS = 6,
    SLOT_MASK = SLOT_COUNT - 1,
};

#define REACH_TICKS ((UINT64_C(1) << (LEVEL_COUNT * SLOT_BITS)) - 1)

static uint64_t rotated_right(uint64_t bits, unsigned by) {
    return bits >> (by & SLOT_MASK) | bits << (-by & SLOT_MASK);
}

void bitmap_wheel_init(struct bitmap_wheel *wheel, uint64_t start_ns) {
    *wheel = (struct bitmap_wheel){.now_tick = start_ns >> RING_TICK_SHIFT};
    ring_init(&wheel->expired);
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
            ring_init(&wheel->slots[level][slot]);
        }
    }
}

/* Above level 0, a timer is filed in the slot before that of its tick. So it comes down in time. */
static inline void insert(struct bitmap_wheel *wheel, struct ring_node *node) {
    if (node->tick <= wheel->now_tick) {
        ring_append(&wheel->expired, &node->ring);
        return;
    }
    uint64_t left = node->tick - wheel->now_tick;
    uint64_t tick = left <= REACH_TICKS ? node->tick : wheel->now_tick + REACH_TICKS;
    left = left <= REACH_TICKS ? left : REACH_TICKS;
    unsigned level = (63u - (unsigned)__builtin_clzll(left)) / SLOT_BITS;
    unsigned slot = (unsigned)((tick >> (level * SLOT_BITS)) - (level > 0)) & SLOT_MASK;
    ring_append(&wheel->slots[level][slot], &node->ring);
    wheel->used[level] |= UINT64_C(1) << slot;
}

/* Takes a timer out of its list. If it was the last of a slot, clears the slot's bit. */
static inline void take_out(struct bitmap_wheel *wheel, struct ring_node *node) {
    struct ring *next = node->ring.next;
    ring_remove(&node->ring);
    if (ring_is_empty(next) && next != &wheel->expired) { /* next is the head */
        size_t index = (size_t)(next - &wheel->slots[0][0]);
        wheel->used[index / SLOT_COUNT] &= ~(UINT64_C(1) << (index % SLOT_COUNT));
    }
}

int bitmap_wheel_schedule(struct bitmap_wheel *wheel, struct ring_node *node, uint64_t deadline_ns) {
    node->tick = ring_tick_after(deadline_ns);
    insert(wheel, node);
    return 0;
}

int bitmap_wheel_cancel(struct bitmap_wheel *wheel, struct ring_node *node) {
    if (node->ring.next == NULL) {
        return -1;
    }
    take_out(wheel, node);
    return 0;
}

int bitmap_wheel_reschedule(struct bitmap_wheel *wheel, struct ring_node *node, uint64_t deadline_ns) {
    (void)bitmap_wheel_cancel(wheel, node);
    return bitmap_wheel_schedule(wheel, node, deadline_ns);
}

/* Returns the slots of a level from one position to another, including both, as bits. */
static uint64_t passed_slots(uint64_t from, uint64_t to) {
    uint64_t count = to - from;
    if (count >= SLOT_COUNT) {
        return UINT64_MAX;
    }
    uint64_t bits = ((UINT64_C(1) << count) - 1) << 1 | 1;
    return rotated_right(bits, -(unsigned)from);
}

void bitmap_wheel_advance(struct bitmap_wheel *wheel, uint64_t now_ns, ring_fired *on_fired, void *context) {
    uint64_t now_tick = now_ns >> RING_TICK_SHIFT;
    if (now_tick > wheel->now_tick) {
        struct ring passed;
        ring_init(&passed);
        for (unsigned level = 0; level < LEVEL_COUNT; level++) {
            uint64_t from = wheel->now_tick >> (level * SLOT_BITS);
            uint64_t to = now_tick >> (level * SLOT_BITS);
            if (level > 0 && from == to) {
                break; /* the levels above have not moved either */
            }
            /* above level 0, timers of the present slot are due in the next one, and come down when that begins */
            uint64_t due = level == 0 ? passed_slots(from, to) : passed_slots(from, to - 1);
            for (uint64_t bits; (bits = due & wheel->used[level]) != 0;) {
                unsigned slot = (unsigned)__builtin_ctzll(bits);
                ring_move(&passed, &wheel->slots[level][slot]);
                wheel->used[level] &= ~(UINT64_C(1) << slot);
            }
        }
        wheel->now_tick = now_tick;
        while (!ring_is_empty(&passed)) {
            struct ring_node *node = ring_first(&passed);
            ring_remove(&node->ring);
            insert(wheel, node);
        }
    }
    while (!ring_is_empty(&wheel->expired)) {
        struct ring_node *node = ring_first(&wheel->expired);
        ring_remove(&node->ring);
        on_fired(context, node);
    }
}

uint64_t bitmap_wheel_next(const struct bitmap_wheel *wheel) {
    uint64_t next_tick = UINT64_MAX;
    if (!ring_is_empty(&wheel->expired)) {
        return wheel->now_tick << RING_TICK_SHIFT;
    }
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        if (wheel->used[level] != 0) {
            uint64_t here = wheel->now_tick >> (level * SLOT_BITS);
            uint64_t distance = (uint64_t)__builtin_ctzll(rotated_right(wheel->used[level], (unsigned)here));
            uint64_t tick = (here + distance + (level > 0)) << (level * SLOT_BITS);
            next_tick = tick < next_tick ? tick : next_tick;
        }
    }
    return next_tick == UINT64_MAX ? UINT64_MAX : next_tick << RING_TICK_SHIFT;
}
