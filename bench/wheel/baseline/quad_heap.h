/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/quad_heap.h - timers in a 4-ary heap with position index, as a library for anybody.
 *
 * The heap's array holds deadline and node, so that sifting compares without touching the user's objects; each move
 * writes the timer's position into the node embedded there, so that cancel finds it.
 */
#ifndef BENCH_QUAD_HEAP_H
#define BENCH_QUAD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: not pending. */
struct quad_heap_node {
    uint32_t position; /* in the entries; 0: not pending */
};

struct quad_heap_entry {
    uint64_t deadline_ns;
    struct quad_heap_node *node;
};

struct quad_heap {
    struct quad_heap_entry *entries;
    uint32_t end; /* index after the last entry */
};

/* The timer is no longer pending; any timer may be scheduled, rescheduled or cancelled here. */
typedef void quad_heap_fired(void *context, struct quad_heap_node *node);

/* The size of the memory for so many pending timers. */
size_t quad_heap_memory_size(uint32_t capacity);

/* The memory is aligned to 64 bytes and belongs to the caller, who makes sure that there is room for all that is
 * pending. */
void quad_heap_init(struct quad_heap *heap, void *memory);

/* The node is not pending. 0: it cannot fail. */
int quad_heap_schedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns);

/* 0; negative if it was not pending. */
int quad_heap_cancel(struct quad_heap *heap, struct quad_heap_node *node);

/* Pending or not. 0. */
int quad_heap_reschedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns);

/* Calls back for each timer that fires, in the order of their deadlines. */
void quad_heap_advance(struct quad_heap *heap, uint64_t now_ns, quad_heap_fired *on_fired, void *context);

/* The first deadline. UINT64_MAX: nothing is pending. */
uint64_t quad_heap_next(const struct quad_heap *heap);

#endif
