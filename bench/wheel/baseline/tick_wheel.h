/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/tick_wheel.h - the data structure of ratas, written anew from its description: 8 levels of 256
 * slots, without bitmaps. Each level has a time of its own, and goes on tick by tick. When it has gone round, the level
 * above goes on by one. A timer whose slot comes up before its time is scheduled again for the rest of its time.
 */
#ifndef BENCH_TICK_WHEEL_H
#define BENCH_TICK_WHEEL_H

#include "ring.h"

enum {
    TICK_WHEEL_LEVEL_COUNT = 8,
    TICK_WHEEL_SLOT_COUNT = 256,
};

struct tick_wheel {
    uint64_t now_ticks[TICK_WHEEL_LEVEL_COUNT];
    struct ring slots[TICK_WHEEL_LEVEL_COUNT][TICK_WHEEL_SLOT_COUNT];
};

void tick_wheel_init(struct tick_wheel *wheel, uint64_t start_ns);
int tick_wheel_schedule(struct tick_wheel *wheel, struct ring_node *node, uint64_t deadline_ns);
int tick_wheel_cancel(struct tick_wheel *wheel, struct ring_node *node);
int tick_wheel_reschedule(struct tick_wheel *wheel, struct ring_node *node, uint64_t deadline_ns);
void tick_wheel_advance(struct tick_wheel *wheel, uint64_t now_ns, ring_fired *on_fired, void *context);
uint64_t tick_wheel_next(const struct tick_wheel *wheel);

#endif
