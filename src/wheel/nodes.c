/* SPDX-License-Identifier: MIT */
#include "wheel/nodes.h"

#include <errno.h>
#include <string.h>

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
    return (size_t)node_count * nodes->stride;
}

/* The arrays `with_free` and `slabs` are one piece of memory. */
static size_t array_bytes(uint32_t room) {
    return words_for(room) * sizeof(uint64_t) + room * sizeof(verge__slab);
}

size_t verge__nodes_bytes(const verge__nodes *nodes) {
    return array_bytes(nodes->slab_room) + nodes->node_count * nodes->stride;
}

void verge__nodes_deinit(verge__nodes *nodes) {
    for (uint32_t i = 0; i < nodes->slab_count; i++) {
        verge__release(nodes->allocator, nodes->slabs[i].nodes, slab_bytes(nodes, verge__nodes_room(nodes, i)));
    }
    verge__release(nodes->allocator, nodes->with_free, array_bytes(nodes->slab_room));
}

bool verge__nodes_find_slab(verge__nodes *nodes) {
    size_t words = words_for(nodes->slab_count);
    for (; nodes->lowest_word < words; nodes->lowest_word++) {
        uint64_t *word = &nodes->with_free[nodes->lowest_word];
        for (; *word != 0; *word &= *word - 1) { /* clears the bit of a slab without free nodes */
            nodes->current = nodes->lowest_word * 64 + verge__bit_lowest_index(*word);
            if (nodes->slabs[nodes->current].first_free != VERGE__NO_NODE) {
                return true;
            }
        }
    }
    return false;
}

/* Adds new nodes to the free ones of a slab. The lowest is the first to be used. */
static void add_nodes(verge__nodes *nodes, uint32_t slab, uint32_t from, uint32_t to) {
    verge__slab *grown = &nodes->slabs[slab];
    for (uint32_t i = to; i-- > from;) {
        uint64_t index = (slab << VERGE__SLAB_BITS) + i;
        verge__table_node *node = verge__slab_node(nodes, grown, i);
        node->timer = (verge__timer_node){.tag = index << 32 | grown->generation_floor};
        node->data = (void *)(uintptr_t)grown->first_free;
        grown->first_free = (uint16_t)i;
    }
    nodes->node_count += to - from;
    verge__nodes_note_free(nodes, slab);
}

/* Makes room for one more slab in the arrays. */
static int grow_arrays(verge__nodes *nodes) {
    if (nodes->slab_count < nodes->slab_room) {
        return 0;
    }
    uint32_t room = nodes->slab_room == 0 ? 1 : nodes->slab_room * 2;
    void *memory = verge__allocate(nodes->allocator, array_bytes(room), _Alignof(verge__slab));
    if (memory == NULL) {
        return -ENOMEM;
    }
    verge__nodes before = *nodes;
    memset(memory, 0, array_bytes(room));
    nodes->with_free = (uint64_t *)memory;
    nodes->slabs = (verge__slab *)(void *)(nodes->with_free + words_for(room));
    nodes->slab_room = room;
    if (before.slabs != NULL) {
        memcpy(nodes->with_free, before.with_free, words_for(before.slab_room) * sizeof(uint64_t));
        memcpy(nodes->slabs, before.slabs, before.slab_count * sizeof(*before.slabs));
        verge__release(nodes->allocator, before.with_free, array_bytes(before.slab_room));
    }
    return 0;
}

/* Moves nodes to other memory, one by one, and updates the neighbours of each in its list. A neighbour may be one of
 * these nodes, too. */
static void move_nodes(const verge__nodes *nodes, unsigned char *to, unsigned char *from, uint32_t count) {
    for (size_t at = 0; at < slab_bytes(nodes, count); at += nodes->stride) {
        memcpy(to + at, from + at, nodes->stride);
        verge__node *node = (verge__node *)(void *)(to + at);
        if (verge__node_is_linked(node)) {
            *node->pprev = node;
            if (node->next != NULL) {
                node->next->pprev = &node->next;
            }
        }
    }
}

/* Gives a slab memory for `after` nodes. So far, it has memory for `before` nodes. */
static int grow_slab(verge__nodes *nodes, uint32_t slab, uint32_t before, uint32_t after) {
    unsigned char *memory =
        (unsigned char *)verge__allocate(nodes->allocator, slab_bytes(nodes, after), _Alignof(verge__table_node));
    if (memory == NULL) {
        return -ENOMEM;
    }
    unsigned char *old = nodes->slabs[slab].nodes;
    if (old != NULL) {
        move_nodes(nodes, memory, old, before);
        verge__release(nodes->allocator, old, slab_bytes(nodes, before));
    } else {
        nodes->empty_count += slab > 0;
    }
    nodes->vacant = slab + 1 > nodes->vacant ? slab + 1 : nodes->vacant;
    nodes->slabs[slab].nodes = memory;
    nodes->first_room = slab == 0 ? after : nodes->first_room;
    nodes->index_limit =
        ((nodes->slab_count - 1) << VERGE__SLAB_BITS) + verge__nodes_room(nodes, nodes->slab_count - 1);
    add_nodes(nodes, slab, before, after);
    return 0;
}

/* If slab 0 is the only slab and is not full-sized yet, makes it larger. Otherwise gives memory to the lowest slab that
 * has none: a slab that was given back or, if there is none, a new one. */
int verge__nodes_grow(verge__nodes *nodes) {
    uint32_t first = nodes->first_room;
    if (nodes->slab_count == 1 && first > 0 && first < VERGE__SLAB_NODES) {
        return grow_slab(nodes, 0, first, first < VERGE__SLAB_NODES / 2 ? 2 * first : (uint32_t)VERGE__SLAB_NODES);
    }
    uint32_t slab = nodes->vacant;
    while (slab < nodes->slab_count && nodes->slabs[slab].nodes != NULL) {
        slab++;
    }
    if (slab == SLAB_COUNT_MAX) {
        return -ENOSPC;
    }
    if (slab == nodes->slab_count) {
        int error = grow_arrays(nodes);
        if (error != 0) {
            return error;
        }
        nodes->slabs[slab] = (verge__slab){.first_free = VERGE__NO_NODE, .generation_floor = nodes->generation_base};
        nodes->slab_count++;
    }
    uint32_t room = slab > 0 ? (uint32_t)VERGE__SLAB_NODES : (uint32_t)FIRST_ROOM_MIN;
    return grow_slab(nodes, slab, 0, room < VERGE__SLAB_NODES ? room : (uint32_t)VERGE__SLAB_NODES);
}

void verge__nodes_release_slab(verge__nodes *nodes, uint32_t slab, uint32_t generation_floor) {
    verge__slab *released = &nodes->slabs[slab];
    VERGE__INVARIANT(slab > 0 && released->used == 0, "WN1: a slab that is given back has no timer");
    verge__release(nodes->allocator, released->nodes, slab_bytes(nodes, VERGE__SLAB_NODES));
    *released = (verge__slab){.first_free = VERGE__NO_NODE, .generation_floor = generation_floor};
    nodes->vacant = slab < nodes->vacant ? slab : nodes->vacant;
    nodes->node_count -= VERGE__SLAB_NODES;
    nodes->empty_count--;
}

/* ---- questions ---- */

int verge__nodes_why_not(const verge__nodes *nodes, verge_timer timer) {
    uint32_t index = verge__handle_index(timer);
    uint32_t generation = (uint32_t)timer;
    if (index >= nodes->index_limit || (generation & 1) == 0 || generation < nodes->generation_base) {
        return -EBADF;
    }
    const verge__slab *slab = &nodes->slabs[index >> VERGE__SLAB_BITS];
    uint32_t reached =
        slab->nodes == NULL ? slab->generation_floor : (uint32_t)verge__nodes_at(nodes, index)->timer.tag;
    return reached == 0 || generation < reached ? -ENOENT : -EBADF;
}
