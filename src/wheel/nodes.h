/* SPDX-License-Identifier: MIT */
/*
 * wheel/nodes.h - the nodes of timers with handles.
 *
 * A handle is generation << 32 | index. The generation of a node is odd while it is a timer and even while it is free,
 * and only grows: a handle is live if and only if its generation is the node's.
 *
 * Nodes are in slabs of 512 (16 KiB). A slab without a timer can be given back. The highest generation that it reached
 * is remembered, so that no handle is ever issued twice. Slab 0 starts small and is copied when it grows. Entries name
 * nodes by their index, so they stay valid.
 *
 * A free node is either on the stack or in the bitmap of its slab. The stack has the nodes that were freed last, at
 * most 64, and a spare one on top. They are in the cache, and their idle entries can be used again. New timers take
 * nodes from the stack, and then from the lowest slab that has free ones, so that the higher slabs become empty.
 *
 * Invariants (verge__nodes_check)
 *   WN1  a node is live, free in its slab's bitmap, on the stack, or retired
 *   WN2  a free node has an even generation and is not pending; a live one has an odd generation and is pending
 *   WN3  the table's counts are those of its slabs
 */
#ifndef VERGE_SRC_WHEEL_NODES_H
#define VERGE_SRC_WHEEL_NODES_H

#include "base/assert.h"
#include "calendar/node.h"
#include "verge/wheel.h"

enum {
    VERGE__STACK_MAX = 64,
    VERGE__REFILL_NODES = VERGE__STACK_MAX / 2,
    VERGE__SLAB_WORDS = (VERGE__SLAB_NODES + 63) / 64,
};

#define VERGE__NO_INDEX UINT32_MAX

typedef struct VERGE__MAY_ALIAS verge__timer_node {
    verge__node node;
    void *data;
} verge__timer_node;

_Static_assert(sizeof(void *) != 8 || sizeof(verge__timer_node) == VERGE__TABLE_NODE_BYTES, "two nodes a cache line");
_Static_assert(sizeof(verge__timer_node) <= VERGE__TABLE_NODE_BYTES, "a node of the table has room for a timer");
_Static_assert(sizeof(verge__timer_node) <= sizeof(verge_timeout), "a timeout is a node");

typedef struct verge__slab {
    uint64_t free[VERGE__SLAB_WORDS];
    uint32_t free_count;
    uint32_t retired_count;
    uint32_t generation_floor; /* what its nodes start with, if it has no memory */
} verge__slab;

/* Begins zeroed, but for the allocator, the stack, has_sequences and generation_base. */
typedef struct verge__nodes {
    unsigned char **slabs; /* NULL: given back, or not there yet */
    /* The last timer of the node to be used next; 0: none. Where each cancel is followed by a schedule, neither waits
     * for the stack. */
    verge_timer spare;
    size_t stack_count;
    verge_timer *stack;   /* handles of the last timers of free nodes; the wheel's memory */
    uint32_t index_limit; /* indexes below this may be in use */
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t first_room; /* nodes slab 0 has room for */
    uint32_t lowest;     /* no slab below this one has a free node in its bitmap */
    uint32_t vacant;     /* no slab below this one is without memory */
    uint32_t release_at; /* where giving back goes on */
    uint32_t retired_count;
    uint32_t generation_base;
    bool has_sequences; /* of an ordered wheel: 4 bytes a node, behind the nodes of a slab */
    size_t free_count;  /* in bitmaps */
    size_t node_count;  /* with memory */
    verge__slab *info;
    uint64_t *with_free; /* a bit a slab: it has free nodes in its bitmap */
    const verge_allocator *allocator;
} verge__nodes;

void verge__nodes_deinit(verge__nodes *nodes);

/* How many nodes grow adds; adds them. -ENOMEM, -ENOSPC. */
uint32_t verge__nodes_growth(const verge__nodes *nodes);
int verge__nodes_grow(verge__nodes *nodes);

/* Moves free nodes, of which there are some, to the stack, which is empty. */
void verge__nodes_refill(verge__nodes *nodes);

/* Puts a free node into its slab's bitmap; moves so many of the stack there, from the bottom, and the spare one. */
void verge__nodes_put_free(verge__nodes *nodes, uint32_t index);
void verge__nodes_empty_stack(verge__nodes *nodes, size_t count);

/* Whether a slab has memory, and all of its nodes are free: they may have idle entries, which are to be withdrawn
 * first. One with a retired node stays, to remember which one it is. */
bool verge__nodes_is_slab_free(const verge__nodes *nodes, uint32_t slab);
void verge__nodes_release_slab(verge__nodes *nodes, uint32_t slab);

/* The first timer from an index on; VERGE__NO_INDEX: there is none. */
uint32_t verge__nodes_next_live(const verge__nodes *nodes, uint32_t from);

/* Why a handle is not live: -ENOENT or -EBADF. */
int verge__nodes_why_not(const verge__nodes *nodes, verge_timer timer);

/* NULL, or the invariant that is broken. */
const char *verge__nodes_check(const verge__nodes *nodes);

static inline verge__timer_node *verge__nodes_at(const verge__nodes *nodes, uint32_t index) {
    return (verge__timer_node *)(void *)verge__entry_node(nodes->slabs, verge__entry_for_index(index));
}

static inline uint32_t verge__nodes_slab_nodes(const verge__nodes *nodes, uint32_t slab) {
    return slab == 0 ? nodes->first_room : (uint32_t)VERGE__SLAB_NODES;
}

/* The upper half of a timer's sequence number, in an ordered wheel. */
static inline uint32_t *verge__nodes_sequence(const verge__nodes *nodes, uint32_t index) {
    uint32_t slab = index >> VERGE__SLAB_BITS;
    size_t node_count = verge__nodes_slab_nodes(nodes, slab);
    return (uint32_t *)(void *)(nodes->slabs[slab] + node_count * VERGE__TABLE_NODE_BYTES) +
           (index & (VERGE__SLAB_NODES - 1));
}

/* The node of a handle, or NULL if the handle is not live. */
static VERGE__ALWAYS_INLINE verge__timer_node *verge__nodes_find(const verge__nodes *nodes, verge_timer timer) {
    uint32_t index = (uint32_t)timer;
    uint32_t generation = (uint32_t)(timer >> 32);
    if (VERGE__UNLIKELY(index >= nodes->index_limit || (generation & 1) == 0 ||
                        nodes->slabs[index >> VERGE__SLAB_BITS] == NULL)) {
        return NULL;
    }
    verge__timer_node *node = verge__nodes_at(nodes, index);
    return VERGE__LIKELY(node->node.generation == generation) ? node : NULL;
}

static inline verge_timer verge__handle(uint32_t index, uint32_t generation) {
    return (uint64_t)generation << 32 | index;
}

static inline size_t verge__nodes_live(const verge__nodes *nodes) {
    return nodes->node_count - nodes->free_count - nodes->stack_count - (nodes->spare != 0) - nodes->retired_count;
}

/* Takes the spare node from the stack; false: it is empty. */
static VERGE__ALWAYS_INLINE bool verge__nodes_pop(verge__nodes *nodes) {
    if (VERGE__UNLIKELY(nodes->stack_count == 0)) {
        return false;
    }
    nodes->spare = nodes->stack[--nodes->stack_count];
    return true;
}

/* The node of a timer that has ended becomes the spare one; false, and nothing has changed: the stack is full. */
static VERGE__ALWAYS_INLINE bool verge__nodes_push(verge__nodes *nodes, verge_timer timer) {
    VERGE__INVARIANT((timer >> 32 & 1) != 0, "WN1: the stack has handles of timers that were live");
    if (nodes->spare != 0) {
        if (VERGE__UNLIKELY(nodes->stack_count == VERGE__STACK_MAX)) {
            return false;
        }
        nodes->stack[nodes->stack_count++] = nodes->spare;
    }
    nodes->spare = timer;
    return true;
}

#endif
