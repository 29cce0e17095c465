/* SPDX-License-Identifier: MIT */
/*
 * calendar/node.h - the node of a timer, and its entry.
 *
 * The node is the memory of a timer. An entry, 8 bytes in a slot of the calendar, names the node. A node has one entry
 * or none, and each knows the other: the entry says which node it is for, and `place` of the node says where the entry
 * is. So an entry can be withdrawn in constant time, and none is left behind when its timer moves or ends.
 *
 *     node   deadline_ns   when the timer is due; VERGE_NEVER: not pending
 *            place         where its entry is, and whether `filed` is valid (below)
 *            filed         the low 32 bits of the tick at which its slot starts
 *            generation    for the owner: the calendar does not use it. In nodes that may keep an idle entry it is
 *                          odd
 *
 * An entry may come up before its timer is due: a timer that is moved later keeps its entry, and is filed again when
 * the entry comes up. An entry may also be idle: its timer was cancelled, and the node can be used again.
 *
 *     place              the node
 *     0                  is zeroed memory: it belongs to no calendar
 *     VERGE__NO_PLACE    has no entry
 *     address            has an entry, in a slot too far away for `filed`, or in no slot
 *     address | NEAR     has an entry, in the slot that starts at tick `filed`, of level 0 to 3; the next two bits are
 *                        the level
 *
 * An entry is the address of its node or, for nodes in the wheel's table, index << 1 | 1.
 */
#ifndef VERGE_SRC_CALENDAR_NODE_H
#define VERGE_SRC_CALENDAR_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "verge/base.h"

#ifndef VERGE_SLAB_BITS
#define VERGE_SLAB_BITS 9 /* a test has smaller slabs, and more of them */
#endif

enum {
    VERGE__SLAB_BITS = VERGE_SLAB_BITS,
    VERGE__SLAB_NODES = 1 << VERGE__SLAB_BITS,
    VERGE__TABLE_NODE_BYTES = 32,
    VERGE__NEAR = 1,
    VERGE__NEAR_LEVELS = 4,
    VERGE__NO_PLACE = 2,
    VERGE__PLACE_TAGS = 7,
};

typedef uint64_t verge__entry;

/* The memory of a node may be declared as something else: as a verge_timeout of the user's. */
typedef struct VERGE__MAY_ALIAS verge__node {
    uint64_t deadline_ns;
    uintptr_t place;
    uint32_t filed;
    uint32_t generation;
} verge__node;

static inline bool verge__node_has_entry(const verge__node *node) {
    return node->place > VERGE__NO_PLACE;
}

static inline verge__entry *verge__node_place(const verge__node *node) {
    return (verge__entry *)(node->place & ~(uintptr_t)VERGE__PLACE_TAGS);
}

static inline bool verge__node_is_pending(const verge__node *node) {
    return node->deadline_ns != VERGE_NEVER;
}

static inline bool verge__entry_is_in_table(verge__entry entry) {
    return (entry & 1) != 0;
}

static inline verge__entry verge__entry_for_index(uint32_t index) {
    return (verge__entry)index << 1 | 1;
}

static inline verge__entry verge__entry_for_node(const verge__node *node) {
    return (verge__entry)(uintptr_t)node;
}

static inline uint32_t verge__entry_index(verge__entry entry) {
    return (uint32_t)(entry >> 1);
}

/* The node of an entry. `slabs`: the table's. */
static VERGE__ALWAYS_INLINE verge__node *verge__entry_node(unsigned char *const *slabs, verge__entry entry) {
    if (verge__entry_is_in_table(entry)) {
        uint32_t index = verge__entry_index(entry);
        size_t offset = (size_t)(index & (VERGE__SLAB_NODES - 1)) * VERGE__TABLE_NODE_BYTES;
        return (verge__node *)(void *)(slabs[index >> VERGE__SLAB_BITS] + offset);
    }
    return (verge__node *)(uintptr_t)entry;
}

#endif
