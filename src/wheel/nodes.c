/* SPDX-License-Identifier: MIT */
#include "wheel/nodes.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory.h"

enum {
    FIRST_ROOM_MIN = 12,
    SLAB_COUNT_MAX = 1 << (31 - VERGE__SLAB_BITS),
};

/* ---- memory ---- */

static size_t words_for(uint32_t bits) {
    return (bits + 63) / 64;
}

static size_t slab_bytes(const verge__nodes *nodes, uint32_t node_count) {
    size_t bytes = (size_t)node_count * (VERGE__TABLE_NODE_BYTES + (nodes->has_sequences ? sizeof(uint32_t) : 0));
    return (bytes + 63) & ~(size_t)63;
}

/* The arrays `slabs`, `info` and `with_free` are one piece of memory. */
static size_t array_bytes(uint32_t room) {
    return room * (sizeof(unsigned char *) + sizeof(verge__slab)) + words_for(room) * sizeof(uint64_t);
}

void verge__nodes_deinit(verge__nodes *nodes) {
    for (uint32_t i = 0; i < nodes->slab_count; i++) {
        verge__release(nodes->allocator, nodes->slabs[i], slab_bytes(nodes, verge__nodes_slab_nodes(nodes, i)));
    }
    verge__release(nodes->allocator, nodes->with_free, array_bytes(nodes->slab_room));
}

/* How many free nodes a slab has in its bitmap has changed. */
static void note_free(verge__nodes *nodes, uint32_t slab) {
    uint64_t bit = UINT64_C(1) << (slab % 64);
    uint64_t *word = &nodes->with_free[slab / 64];
    *word = nodes->info[slab].free_count > 0 ? *word | bit : *word & ~bit;
    nodes->lowest = slab < nodes->lowest ? slab : nodes->lowest;
}

/* Makes nodes free that were not there before. */
static void add_nodes(verge__nodes *nodes, uint32_t slab, uint32_t from, uint32_t to) {
    verge__slab *info = &nodes->info[slab];
    for (uint32_t i = from; i < to; i++) {
        verge__timer_node *node = verge__nodes_at(nodes, (slab << VERGE__SLAB_BITS) + i);
        *node = (verge__timer_node){
            .node = {.deadline_ns = VERGE_NEVER, .place = VERGE__NO_PLACE, .generation = info->generation_floor}};
        info->free[i / 64] |= UINT64_C(1) << (i % 64);
    }
    info->free_count += to - from;
    nodes->free_count += to - from;
    nodes->node_count += to - from;
    note_free(nodes, slab);
}

/* Room for one more slab in the arrays. */
static int grow_arrays(verge__nodes *nodes) {
    if (nodes->slab_count < nodes->slab_room) {
        return 0;
    }
    uint32_t room = nodes->slab_room == 0 ? 1 : nodes->slab_room * 2;
    void *memory = verge__allocate(nodes->allocator, array_bytes(room), _Alignof(uint64_t));
    if (memory == NULL) {
        return -ENOMEM;
    }
    verge__nodes before = *nodes;
    memset(memory, 0, array_bytes(room));
    nodes->with_free = (uint64_t *)memory;
    nodes->info = (verge__slab *)(void *)(nodes->with_free + words_for(room));
    nodes->slabs = (unsigned char **)(void *)(nodes->info + room);
    nodes->slab_room = room;
    if (before.slabs != NULL) {
        memcpy(nodes->with_free, before.with_free, words_for(before.slab_room) * sizeof(uint64_t));
        memcpy(nodes->slabs, before.slabs, before.slab_count * sizeof(*before.slabs));
        memcpy(nodes->info, before.info, before.slab_count * sizeof(*before.info));
        verge__release(nodes->allocator, before.with_free, array_bytes(before.slab_room));
    }
    return 0;
}

/* What grow does: a slab gets memory for so many nodes in all. */
typedef struct growth {
    uint32_t slab;
    uint32_t before; /* nodes it has memory for already */
    uint32_t after;
} growth;

/* Slab 0 becomes larger while it is alone; otherwise the lowest slab without memory gets some. */
static growth next_growth(const verge__nodes *nodes) {
    uint32_t first = nodes->first_room;
    uint32_t slab = nodes->vacant;
    while (slab < nodes->slab_count && nodes->slabs[slab] != NULL) {
        slab++;
    }
    if (slab == 1 && nodes->slab_count == 1 && first < VERGE__SLAB_NODES) {
        return (growth){.before = first,
                        .after = first < VERGE__SLAB_NODES / 2 ? 2 * first : (uint32_t)VERGE__SLAB_NODES};
    }
    uint32_t room = nodes->slab_count == 0 ? (uint32_t)FIRST_ROOM_MIN : verge__nodes_slab_nodes(nodes, slab);
    return (growth){.slab = slab, .after = room};
}

uint32_t verge__nodes_growth(const verge__nodes *nodes) {
    growth next = next_growth(nodes);
    return next.after - next.before;
}

int verge__nodes_grow(verge__nodes *nodes) {
    growth next = next_growth(nodes);
    if (next.slab == SLAB_COUNT_MAX) {
        return -ENOSPC;
    }
    int error = next.slab < nodes->slab_count ? 0 : grow_arrays(nodes);
    unsigned char *memory =
        error != 0 ? NULL : (unsigned char *)verge__allocate(nodes->allocator, slab_bytes(nodes, next.after), 64);
    if (memory == NULL) {
        return -ENOMEM;
    }
    unsigned char *old = nodes->slabs[next.slab];
    if (old != NULL) {
        size_t bytes = (size_t)next.before * VERGE__TABLE_NODE_BYTES;
        memcpy(memory, old, bytes);
        if (nodes->has_sequences) {
            memcpy(memory + (size_t)next.after * VERGE__TABLE_NODE_BYTES, old + bytes, next.before * sizeof(uint32_t));
        }
        verge__release(nodes->allocator, old, slab_bytes(nodes, next.before));
    }
    nodes->slabs[next.slab] = memory;
    nodes->vacant = next.slab + 1;
    nodes->first_room = next.slab == 0 ? next.after : nodes->first_room;
    if (next.slab == nodes->slab_count) {
        nodes->info[next.slab] = (verge__slab){.generation_floor = nodes->generation_base};
        nodes->slab_count++;
    }
    VERGE__INVARIANT(nodes->slab_count == 1 || nodes->first_room == VERGE__SLAB_NODES,
                     "WN3: slab 0 grows to its full size before there is another");
    nodes->index_limit = ((nodes->slab_count - 1) << VERGE__SLAB_BITS) + nodes->first_room;
    add_nodes(nodes, next.slab, next.before, next.after);
    return 0;
}

bool verge__nodes_is_slab_free(const verge__nodes *nodes, uint32_t slab) {
    const verge__slab *info = &nodes->info[slab];
    return nodes->slabs[slab] != NULL && info->free_count == verge__nodes_slab_nodes(nodes, slab);
}

void verge__nodes_release_slab(verge__nodes *nodes, uint32_t slab) {
    verge__slab *info = &nodes->info[slab];
    uint32_t node_count = verge__nodes_slab_nodes(nodes, slab);
    VERGE__INVARIANT(verge__nodes_is_slab_free(nodes, slab), "WN1: a slab that is given back has no timer");
    uint32_t floor = info->generation_floor;
    for (uint32_t i = 0; i < node_count; i++) {
        const verge__node *node = &verge__nodes_at(nodes, (slab << VERGE__SLAB_BITS) + i)->node;
        VERGE__INVARIANT(!verge__node_has_entry(node), "C2: an entry does not outlive its node");
        floor = node->generation > floor ? node->generation : floor;
    }
    verge__release(nodes->allocator, nodes->slabs[slab], slab_bytes(nodes, node_count));
    nodes->slabs[slab] = NULL;
    nodes->vacant = slab < nodes->vacant ? slab : nodes->vacant;
    nodes->node_count -= node_count;
    nodes->free_count -= info->free_count;
    *info = (verge__slab){.generation_floor = floor};
    note_free(nodes, slab);
}

/* ---- free nodes ---- */

void verge__nodes_put_free(verge__nodes *nodes, uint32_t index) {
    uint32_t slab = index >> VERGE__SLAB_BITS;
    uint32_t bit = index & (VERGE__SLAB_NODES - 1);
    verge__slab *info = &nodes->info[slab];
    VERGE__INVARIANT((verge__nodes_at(nodes, index)->node.generation & 1) == 0,
                     "WN2: a free node has an even generation");
    VERGE__INVARIANT((info->free[bit / 64] >> (bit % 64) & 1) == 0, "WN1: a node is free once");
    if (VERGE__UNLIKELY(verge__nodes_at(nodes, index)->node.generation == 0)) { /* its generations are used up */
        info->retired_count++;
        nodes->retired_count++;
        return;
    }
    info->free[bit / 64] |= UINT64_C(1) << (bit % 64);
    info->free_count++;
    nodes->free_count++;
    note_free(nodes, slab);
}

void verge__nodes_empty_stack(verge__nodes *nodes, size_t count) {
    if (nodes->spare != 0) {
        verge__nodes_put_free(nodes, (uint32_t)nodes->spare);
        nodes->spare = 0;
    }
    count = count < nodes->stack_count ? count : nodes->stack_count;
    for (size_t i = 0; i < count; i++) {
        verge__nodes_put_free(nodes, (uint32_t)nodes->stack[i]);
    }
    nodes->stack_count -= count;
    memmove(nodes->stack, nodes->stack + count, nodes->stack_count * sizeof(*nodes->stack));
}

/* Takes a node, of which there are some, from the bitmap of the lowest slab. */
static uint32_t take_lowest(verge__nodes *nodes) {
    uint32_t at = nodes->lowest / 64;
    while (nodes->with_free[at] == 0) {
        at++;
    }
    nodes->lowest = at * 64 + verge__bit_lowest_index(nodes->with_free[at]);
    verge__slab *info = &nodes->info[nodes->lowest];
    VERGE__INVARIANT(info->free_count > 0, "WN1: a slab's free nodes are counted");
    uint64_t *word = info->free;
    while (*word == 0) {
        word++;
    }
    uint32_t bit = (uint32_t)(word - info->free) * 64 + verge__bit_lowest_index(*word);
    *word &= *word - 1;
    info->free_count--;
    nodes->free_count--;
    if (info->free_count == 0) {
        note_free(nodes, nodes->lowest);
    }
    return (nodes->lowest << VERGE__SLAB_BITS) + bit;
}

/* The lowest is the first to be used. Generations are asked for when all nodes are on their way to the cache. */
void verge__nodes_refill(verge__nodes *nodes) {
    VERGE__INVARIANT(nodes->stack_count == 0 && nodes->free_count > 0, "WN1: free nodes are counted");
    nodes->stack_count = nodes->free_count < VERGE__REFILL_NODES ? nodes->free_count : (size_t)VERGE__REFILL_NODES;
    for (size_t i = nodes->stack_count; i-- > 0;) {
        uint32_t index = take_lowest(nodes);
        VERGE__PREFETCH_WRITE(verge__nodes_at(nodes, index));
        nodes->stack[i] = index;
    }
    for (size_t i = 0; i < nodes->stack_count; i++) {
        uint32_t index = (uint32_t)nodes->stack[i];
        nodes->stack[i] = verge__handle(index, verge__nodes_at(nodes, index)->node.generation - 1);
    }
}

/* ---- questions ---- */

uint32_t verge__nodes_next_live(const verge__nodes *nodes, uint32_t from) {
    for (uint32_t index = from; index < nodes->index_limit; index++) {
        uint32_t slab = index >> VERGE__SLAB_BITS;
        if (nodes->slabs[slab] == NULL) {
            index |= VERGE__SLAB_NODES - 1;
        } else if ((verge__nodes_at(nodes, index)->node.generation & 1) != 0) {
            return index;
        }
    }
    return VERGE__NO_INDEX;
}

int verge__nodes_why_not(const verge__nodes *nodes, verge_timer timer) {
    uint32_t index = (uint32_t)timer;
    uint32_t generation = (uint32_t)(timer >> 32);
    if (index >= nodes->index_limit || (generation & 1) == 0 || generation < nodes->generation_base) {
        return -EBADF;
    }
    uint32_t slab = index >> VERGE__SLAB_BITS;
    uint32_t reached = nodes->slabs[slab] == NULL ? nodes->info[slab].generation_floor
                                                  : verge__nodes_at(nodes, index)->node.generation;
    return reached == 0 || generation < reached ? -ENOENT : -EBADF;
}

static const char *check_slab(const verge__nodes *nodes, uint32_t slab, size_t *live) {
    const verge__slab *info = &nodes->info[slab];
    uint32_t free_count = 0;
    uint32_t retired = 0;
    for (uint32_t i = 0; i < verge__nodes_slab_nodes(nodes, slab); i++) {
        const verge__node *node = &verge__nodes_at(nodes, (slab << VERGE__SLAB_BITS) + i)->node;
        bool is_live = (node->generation & 1) != 0;
        bool is_free = (info->free[i / 64] >> (i % 64) & 1) != 0;
        *live += is_live;
        free_count += is_free;
        retired += node->generation == 0;
        if (is_live != verge__node_is_pending(node) || (is_live && is_free)) {
            return "WN2: a node is free and even, or live and odd";
        }
    }
    return free_count != info->free_count || retired != info->retired_count ? "WN1: a slab's free nodes are counted"
                                                                            : NULL;
}

const char *verge__nodes_check(const verge__nodes *nodes) {
    size_t live = 0;
    size_t node_count = 0;
    for (uint32_t slab = 0; slab < nodes->slab_count; slab++) {
        if (nodes->slabs[slab] != NULL) {
            node_count += verge__nodes_slab_nodes(nodes, slab);
            const char *broken = check_slab(nodes, slab, &live);
            if (broken != NULL) {
                return broken;
            }
        }
    }
    for (size_t i = 0; i < nodes->stack_count + (nodes->spare != 0); i++) {
        verge_timer last = i < nodes->stack_count ? nodes->stack[i] : nodes->spare;
        if (verge__nodes_at(nodes, (uint32_t)last)->node.generation != (uint32_t)(last >> 32) + 1) {
            return "WN1: the stack has the last handles of free nodes";
        }
    }
    if (node_count != nodes->node_count) {
        return "WN3: node_count is that of the slabs";
    }
    return live != verge__nodes_live(nodes) ? "WN1: each node is live, free or retired" : NULL;
}
