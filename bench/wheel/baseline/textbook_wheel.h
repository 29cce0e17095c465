/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/textbook_wheel.h - the hierarchical timing wheel of the textbooks, as a general library
 * would have it.
 *
 * 4 levels of 256 slots. A slot is a doubly linked list of nodes, which the user's objects embed. Each time a level has
 * gone round, one slot of the level above is distributed over the levels below.
 */
#ifndef BENCH_TEXTBOOK_WHEEL_H
#define BENCH_TEXTBOOK_WHEEL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXTBOOK_WHEEL_TICK_SHIFT = 20, /* a tick is 2^20 ns, known when the library is compiled */
    TEXTBOOK_WHEEL_LEVEL_COUNT = 4,
    TEXTBOOK_WHEEL_SLOT_BITS = 8,
    TEXTBOOK_WHEEL_SLOT_COUNT = 1 << TEXTBOOK_WHEEL_SLOT_BITS,
};

/* A zeroed node is not pending. */
struct textbook_wheel_node {
    struct textbook_wheel_node *next;
    struct textbook_wheel_node **link; /* the pointer that points to this node; NULL: not pending */
    uint64_t tick;
};

struct textbook_wheel {
    uint64_t now_tick;
    size_t pending_count;
    alignas(64) struct textbook_wheel_node *slots[TEXTBOOK_WHEEL_LEVEL_COUNT][TEXTBOOK_WHEEL_SLOT_COUNT];
};

/* Called when the timer is no longer pending. It may schedule, reschedule and cancel any timer. */
typedef void textbook_wheel_fired(void *context, struct textbook_wheel_node *node);

void textbook_wheel_init(struct textbook_wheel *wheel, uint64_t start_ns);

/* The node must not be pending. Returns 0: it cannot fail. */
int textbook_wheel_schedule(struct textbook_wheel *wheel, struct textbook_wheel_node *node, uint64_t deadline_ns);

/* Returns 0, or a negative number if the timer was not pending. */
int textbook_wheel_cancel(struct textbook_wheel *wheel, struct textbook_wheel_node *node);

/* The node may be pending or not. Returns 0. */
int textbook_wheel_reschedule(struct textbook_wheel *wheel, struct textbook_wheel_node *node, uint64_t deadline_ns);

/* Calls on_fired for each due timer. */
void textbook_wheel_advance(struct textbook_wheel *wheel, uint64_t now_ns, textbook_wheel_fired *on_fired,
                            void *context);

/* Returns when to advance next, never after the first deadline's tick, or UINT64_MAX if nothing is pending. */
uint64_t textbook_wheel_next(const struct textbook_wheel *wheel);

#endif
