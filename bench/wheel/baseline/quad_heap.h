/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/quad_heap.h - timers in a 4-ary heap with position index, as a general library would have it.
 *
 * An entry of the heap's array has deadline and node. So sifting compares without touching the user's objects. Each
 * move writes the timer's position into the node, which the user's object embeds, so that cancel finds it.
 */
#ifndef BENCH_QUAD_HEAP_H
#define BENCH_QUAD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed node is not pending. */
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

/* Called when the timer is no longer pending. It may schedule, reschedule and cancel any timer. */
typedef void quad_heap_fired(void *context, struct quad_heap_node *node);

/* Returns the size of the memory for so many pending timers. */
size_t quad_heap_memory_size(uint32_t capacity);

/* The memory must be aligned to 64 bytes. It belongs to the caller, and must have room for all pending timers. */
void quad_heap_init(struct quad_heap *heap, void *memory);

/* The node must not be pending. Returns 0: it cannot fail. */
int quad_heap_schedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns);

/* Returns 0, or a negative number if the timer was not pending. */
int quad_heap_cancel(struct quad_heap *heap, struct quad_heap_node *node);

/* The node may be pending or not. Returns 0. */
int quad_heap_reschedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns);

/* Calls on_fired for each due timer, in the order of their deadlines. */
void quad_heap_advance(struct quad_heap *heap, uint64_t now_ns, quad_heap_fired *on_fired, void *context);

/* Returns the first deadline, or UINT64_MAX if nothing is pending. */
uint64_t quad_heap_next(const struct quad_heap *heap);

#endif
