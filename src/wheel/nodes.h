/* SPDX-License-Identifier: MIT */
/*
 * wheel/nodes.h - the nodes of a wheel's timers. Those of timeouts are in the caller's objects. Those of timers with
 * handles are in a table.
 *
 * The tag of a node says what it is, and whether it is pending:
 *
 *     a timer with a handle   index << 32 | generation: while it is pending, the tag is its handle. The generation is
 *                             odd while the node is a timer and even while it is free. It only grows, until the node
 *                             is retired: then it is 0. So a timer is pending if and only if its handle is the tag of
 *                             its node
 *     a timeout               TIMEOUT | place << 1 | 1 if it is pending (calendar/node.h). In ordered wheels, the bits
 *                             of the place hold the number of the call that set the timeout last (more/order.h)
 *     a marker                0 (more/iterate.c)
 *
 * Nodes with handles are in slabs of 512. A slab without a timer may go back to the allocator, unless it is slab 0 or
 * has a retired node: a retired node counts as used. The highest generation that the slab reached is remembered, so
 * that no handle is ever issued twice. The free nodes of a slab are a list, threaded through `data`. New timers take
 * nodes from the slab in which a node was freed last: that node is in the cache, and may be idle, in its old place.
 * When that slab has no free node left, they take nodes from the lowest slab that has one, so that the higher ones
 * become empty. Slab 0 starts small, and its nodes move when it grows.
 *
 * Invariants (verge_wheel_check)
 *   WN1  a node is a timer, free in its slab's list, or retired, as all its generations were used
 *   WN2  `used` of a slab is how many of its nodes are not free; free nodes have even generations
 *   WN3  the table's counts are those of its slabs, and with_free has all slabs with free nodes
 */
#ifndef VERGE_SRC_WHEEL_NODES_H
#define VERGE_SRC_WHEEL_NODES_H

#include "calendar/calendar.h"
#include "verge/wheel.h"

#ifndef VERGE_SLAB_BITS
#define VERGE_SLAB_BITS 9 /* a test has smaller slabs, and more of them */
#endif

enum {
    VERGE__SLAB_BITS = VERGE_SLAB_BITS,
    VERGE__SLAB_NODES = 1 << VERGE__SLAB_BITS,
    VERGE__NO_NODE = 0xffff, /* the end of a slab's list of free nodes */
};

#define VERGE__PENDING UINT64_C(1)
#define VERGE__TIMEOUT VERGE__HAS_PLACE

typedef verge__placed_node verge__timer_node;

_Static_assert(sizeof(verge__timer_node) <= sizeof(verge_timeout), "a timeout is a node");

typedef struct VERGE__MAY_ALIAS verge__table_node {
    verge__timer_node timer;
    void *data;        /* of a free node: the next free one of its slab */
    uint64_t sequence; /* only in ordered wheels (`stride`): the number of the call that set the timer last */
} verge__table_node;

typedef struct verge__slab {
    unsigned char *nodes; /* NULL: given back, or not there yet */
    uint16_t used;
    uint16_t first_free;
    uint32_t generation_floor; /* the generation of nodes that are added to the slab */
} verge__slab;

/* At first, all is zero except the allocator, stride and generation_base. */
typedef struct verge__nodes {
    verge__slab *slabs;
    uint32_t index_limit; /* indexes below this may be in use */
    uint32_t stride;      /* bytes from a node to the next */
    uint32_t current;     /* the slab from which nodes are taken */
    uint32_t empty_count; /* slabs with memory and without a used node; slab 0 does not count */
    size_t pending_count; /* timers with handles */
    size_t node_count;    /* nodes that have memory */
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t first_room;  /* nodes that slab 0 has room for */
    uint32_t lowest_word; /* the words of with_free below this one are 0 */
    uint32_t vacant;      /* slabs below this one have memory */
    uint32_t retired_count;
    uint32_t generation_base;
    uint64_t *with_free; /* one bit for each slab: whether it may have free nodes */
    bool is_shrinking;   /* with each timer that ends, a slab goes back (verge__wheel_give_back) */
    const verge_allocator *allocator;
} verge__nodes;

void verge__nodes_deinit(verge__nodes *nodes);

/* The memory of the slabs and arrays. */
size_t verge__nodes_bytes(const verge__nodes *nodes);

/* Adds a slab, or makes slab 0 larger. -ENOMEM, -ENOSPC. */
int verge__nodes_grow(verge__nodes *nodes);

/* Makes the lowest slab with a free node the current one. False: no slab has a free node. */
bool verge__nodes_find_slab(verge__nodes *nodes);

/* Gives back a slab other than slab 0. All its nodes must be free, and none may be linked. If the slab gets memory
 * again, its nodes start with generation_floor. */
void verge__nodes_release_slab(verge__nodes *nodes, uint32_t slab, uint32_t generation_floor);

/* Tells why no pending timer has this handle. -ENOENT: its timer has ended. -EBADF: no timer has had it. */
int verge__nodes_why_not(const verge__nodes *nodes, verge_timer timer);

/* ---- tags ---- */

static inline verge__timer_node *verge__timer_of_node(verge__node *node) {
    return (verge__timer_node *)(void *)node;
}

static VERGE__ALWAYS_INLINE bool verge__timer_is_pending(const verge__timer_node *timer) {
    return (timer->tag & VERGE__PENDING) != 0;
}

static VERGE__ALWAYS_INLINE bool verge__timer_is_timeout(const verge__timer_node *timer) {
    return timer->tag >= VERGE__TIMEOUT;
}

static inline bool verge__timer_is_marker(const verge__timer_node *timer) {
    return timer->tag == 0;
}

static inline uint32_t verge__handle_index(verge_timer timer) {
    return (uint32_t)(timer >> 32);
}

/* ---- the table ---- */

static inline uint32_t verge__nodes_room(const verge__nodes *nodes, uint32_t slab) {
    return slab == 0 ? nodes->first_room : (uint32_t)VERGE__SLAB_NODES;
}

static VERGE__ALWAYS_INLINE verge__table_node *verge__slab_node(const verge__nodes *nodes, const verge__slab *slab,
                                                                uint32_t offset) {
    return (verge__table_node *)(void *)(slab->nodes + (size_t)offset * nodes->stride);
}

static VERGE__ALWAYS_INLINE verge__table_node *verge__nodes_at(const verge__nodes *nodes, uint32_t index) {
    return verge__slab_node(nodes, &nodes->slabs[index >> VERGE__SLAB_BITS], index & (VERGE__SLAB_NODES - 1));
}

/* The node of a handle, or NULL if no pending timer has this handle. */
static VERGE__ALWAYS_INLINE verge__table_node *verge__nodes_find(const verge__nodes *nodes, verge_timer timer) {
    uint32_t index = verge__handle_index(timer);
    if (VERGE__UNLIKELY(index >= nodes->index_limit || (timer & 1) == 0 ||
                        nodes->slabs[index >> VERGE__SLAB_BITS].nodes == NULL)) {
        return NULL;
    }
    verge__table_node *node = verge__nodes_at(nodes, index);
    return VERGE__LIKELY(node->timer.tag == timer) ? node : NULL;
}

/* The node that is taken next, from the current slab. NULL: that slab has no free node, or there is no slab. */
static VERGE__ALWAYS_INLINE verge__table_node *verge__nodes_peek(const verge__nodes *nodes) {
    if (VERGE__UNLIKELY(nodes->slab_count == 0)) {
        return NULL;
    }
    const verge__slab *slab = &nodes->slabs[nodes->current];
    return VERGE__UNLIKELY(slab->first_free == VERGE__NO_NODE) ? NULL : verge__slab_node(nodes, slab, slab->first_free);
}

/* Notes that a slab has a free node. */
static inline void verge__nodes_note_free(verge__nodes *nodes, uint32_t slab) {
    uint32_t word = slab / 64;
    nodes->with_free[word] |= UINT64_C(1) << (slab % 64);
    nodes->lowest_word = word < nodes->lowest_word ? word : nodes->lowest_word;
}

/* Takes the node of verge__nodes_peek: it becomes a timer. */
static VERGE__ALWAYS_INLINE void verge__nodes_take(verge__nodes *nodes, verge__table_node *node) {
    verge__slab *slab = &nodes->slabs[nodes->current];
    VERGE__INVARIANT(!verge__timer_is_pending(&node->timer), "WN2: a free node has an even generation");
    slab->first_free = (uint16_t)(uintptr_t)node->data;
    nodes->pending_count++;
    node->timer.tag++;
    if (VERGE__UNLIKELY(slab->used++ == 0)) {
        nodes->empty_count -= nodes->current > 0;
    }
}

/* The timer with this handle has ended: frees its node. False: the node is retired, as its generations are used up. */
static VERGE__ALWAYS_INLINE bool verge__nodes_put_free(verge__nodes *nodes, verge__table_node *node,
                                                       verge_timer timer) {
    uint64_t tag = timer + 1;
    uint32_t index = verge__handle_index(timer);
    uint32_t at = index >> VERGE__SLAB_BITS;
    verge__slab *slab = &nodes->slabs[at];
    VERGE__INVARIANT(verge__timer_is_pending(&node->timer) && node->timer.tag == timer && slab->used > 0,
                     "WN2: a timer has an odd generation");
    nodes->pending_count--;
    if (VERGE__UNLIKELY((uint32_t)tag == 0)) {
        node->timer.tag = (uint64_t)index << 32;
        nodes->retired_count++;
        return false;
    }
    node->timer.tag = tag;
    uint16_t first_free = slab->first_free;
    node->data = (void *)(uintptr_t)first_free;
    slab->first_free = (uint16_t)(index & (VERGE__SLAB_NODES - 1));
    nodes->current = at;
    if (VERGE__UNLIKELY(--slab->used == 0)) {
        nodes->empty_count += at > 0;
    }
    if (VERGE__UNLIKELY(first_free == VERGE__NO_NODE)) {
        verge__nodes_note_free(nodes, at);
    }
    return true;
}

#endif
