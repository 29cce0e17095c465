/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/bitmap_wheel.h - the data structure of William Ahern's timeout.c, written anew from its
 * description: 4 levels of 64 slots, one bit for each slot, one word for each level. An advance finds all slots that
 * time has passed by their bits, and files their timers again. Due timers go to the list of expired ones.
 */
#ifndef BENCH_BITMAP_WHEEL_H
#define BENCH_BITMAP_WHEEL_H

#include "ring.h"

enum {
    BITMAP_WHEEL_LEVEL_COUNT = 4,
    BITMAP_WHEEL_SLOT_COUNT = 64,
};

struct bitmap_wheel {
    uint64_t now_tick;
    uint64_t used[BITMAP_WHEEL_LEVEL_COUNT];
    struct ring expired;
    struct ring slots[BITMAP_WHEEL_LEVEL_COUNT][BITMAP_WHEEL_SLOT_COUNT];
};

void bitmap_wheel_init(struct bitmap_wheel *wheel, uint64_t start_ns);
int bitmap_wheel_schedule(struct bitmap_wheel *wheel, struct ring_node *node, uint64_t deadline_ns);
int bitmap_wheel_cancel(struct bitmap_wheel *wheel, struct ring_node *node);
int bitmap_wheel_reschedule(struct bitmap_wheel *wheel, struct ring_node *node, uint64_t deadline_ns);
void bitmap_wheel_advance(struct bitmap_wheel *wheel, uint64_t now_ns, ring_fired *on_fired, void *context);
uint64_t bitmap_wheel_next(const struct bitmap_wheel *wheel);

#endif
