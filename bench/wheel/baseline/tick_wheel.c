/* SPDX-License-Identifier: MIT */
#include "tick_wheel.h"

enum {
    LEVEL_COUNT = TICK_WHEEL_LEVEL_COUNT,
    SLOT_COUNT = TICK_WHEEL_SLOT_COUNT,
    SLOT_BITS = 8,
    SLOT_MASK = SLOT_COUNT - 1,
};

void tick_wheel_init(struct tick_wheel *wheel, uint64_t start_ns) {
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        wheel->now_ticks[level] = start_ns >> RING_TICK_SHIFT >> (level * SLOT_BITS);
        for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
            ring_init(&wheel->slots[level][slot]);
        }
    }
}

/* delta: ticks from now, at least 1 */
static inline void insert(struct tick_wheel *wheel, struct ring_node *node, uint64_t delta) {
    unsigned level = 0;
    while (delta >= SLOT_COUNT && level + 1 < LEVEL_COUNT) {
        delta = (delta + (wheel->now_ticks[level] & SLOT_MASK)) >> SLOT_BITS;
        level++;
    }
    ring_append(&wheel->slots[level][(wheel->now_ticks[level] + delta) & SLOT_MASK], &node->ring);
}

int tick_wheel_schedule(struct tick_wheel *wheel, struct ring_node *node, uint64_t deadline_ns) {
    uint64_t now_tick = wheel->now_ticks[0];
    node->tick = ring_tick_after(deadline_ns);
    node->tick = node->tick > now_tick ? node->tick : now_tick + 1;
    insert(wheel, node, node->tick - now_tick);
    return 0;
}

int tick_wheel_cancel(struct tick_wheel *wheel, struct ring_node *node) {
    (void)wheel;
    if (node->ring.next == NULL) {
        return -1;
    }
    ring_remove(&node->ring);
    return 0;
}

int tick_wheel_reschedule(struct tick_wheel *wheel, struct ring_node *node, uint64_t deadline_ns) {
    (void)tick_wheel_cancel(wheel, node);
    return tick_wheel_schedule(wheel, node, deadline_ns);
}

/* Advances a level by one tick. If the level has gone round with that, the level above advances first. */
static void go_on(struct tick_wheel *wheel, unsigned level, ring_fired *on_fired, void *context) {
    uint64_t position = ++wheel->now_ticks[level];
    if ((position & SLOT_MASK) == 0 && level + 1 < LEVEL_COUNT) {
        go_on(wheel, level + 1, on_fired, context);
    }
    struct ring *head = &wheel->slots[level][position & SLOT_MASK];
    if (ring_is_empty(head)) {
        return;
    }
    struct ring here; /* not in the slot: timers that callbacks schedule for it wait until its next turn */
    ring_init(&here);
    ring_move(&here, head);
    uint64_t now_tick = wheel->now_ticks[0];
    while (!ring_is_empty(&here)) {
        struct ring_node *node = ring_first(&here);
        ring_remove(&node->ring);
        if (node->tick <= now_tick) {
            on_fired(context, node);
        } else {
            insert(wheel, node, node->tick - now_tick);
        }
    }
}

void tick_wheel_advance(struct tick_wheel *wheel, uint64_t now_ns, ring_fired *on_fired, void *context) {
    uint64_t target_tick = now_ns >> RING_TICK_SHIFT;
    while (wheel->now_ticks[0] < target_tick) {
        go_on(wheel, 0, on_fired, context);
    }
}

/* Looks at the slots of each level, up to the first one that is used. */
uint64_t tick_wheel_next(const struct tick_wheel *wheel) {
    uint64_t next_tick = UINT64_MAX;
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        for (uint64_t i = 1; i <= SLOT_COUNT; i++) {
            uint64_t position = wheel->now_ticks[level] + i;
            if (!ring_is_empty(&wheel->slots[level][position & SLOT_MASK])) {
                uint64_t tick = position << (level * SLOT_BITS);
                next_tick = tick < next_tick ? tick : next_tick;
                break;
            }
        }
    }
    return next_tick == UINT64_MAX ? UINT64_MAX : next_tick << RING_TICK_SHIFT;
}
