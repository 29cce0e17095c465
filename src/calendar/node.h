/* SPDX-License-Identifier: MIT */
/*
 * calendar/node.h - the node of a timer: its links in a list, and its deadline.
 *
 *     head -> | next  pprev  deadline_ns | -> | next  pprev  deadline_ns | -> NULL
 *        ^------------'            ^---------------'
 *
 * `pprev` is the address of the pointer that points to the node: of the list's head, or of `next` of the node before.
 * So a node is taken out of its list without knowing the list. A node whose pprev is NULL is in no list; zeroed memory
 * is such a node.
 */
#ifndef VERGE_SRC_CALENDAR_NODE_H
#define VERGE_SRC_CALENDAR_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/relaxed.h"
#include "verge/base.h"

/* May alias: the memory of a node may be declared as another type, such as a verge_timeout of the user. */
typedef struct verge__node verge__node;
struct VERGE__MAY_ALIAS verge__node {
    verge__node *next;
    verge__node **pprev;
    uint64_t deadline_ns;
};

/*
 * If a calendar has places (has_places in calendar.h), each node is followed by a tag in memory. If the tag's highest
 * bit is set, bits 1 to 62 are the node's place: the tick for which it was filed last. So when the node gets a new
 * deadline, the owner of the calendar knows whether the node can stay where it is. Bit 0 is for the owner's use. If the
 * highest bit is clear, the other bits are for the owner's use.
 */
typedef struct VERGE__MAY_ALIAS verge__placed_node {
    verge__node node;
    uint64_t tag;
} verge__placed_node;

#define VERGE__HAS_PLACE (UINT64_C(1) << 63)

static VERGE__ALWAYS_INLINE uint64_t verge__node_place(const verge__placed_node *placed) {
    return (placed->tag & ~VERGE__HAS_PLACE) >> 1;
}

static inline bool verge__node_is_linked(const verge__node *node) {
    return node->pprev != NULL;
}

/* The load is relaxed, as other threads of a service may write deadlines. */
static VERGE__ALWAYS_INLINE uint64_t verge__node_deadline(const verge__node *node) {
    return verge__load_relaxed_plain(&node->deadline_ns);
}

/* Puts a node at the front of a list. */
static VERGE__ALWAYS_INLINE void verge__node_push(verge__node **head, verge__node *node) {
    verge__node *first = *head;
    node->next = first;
    node->pprev = head;
    *head = node;
    if (first != NULL) {
        first->pprev = &node->next;
    }
}

/* Takes a node out of its list. */
static VERGE__ALWAYS_INLINE void verge__node_remove(verge__node *node) {
    verge__node *next = node->next;
    VERGE__INVARIANT(*node->pprev == node && (next == NULL || next->pprev == &node->next),
                     "C2: a node is where its list says; if not, the object of a timeout was freed, copied or zeroed "
                     "before verge_timeout_cancel");
    *node->pprev = next;
    if (next != NULL) {
        next->pprev = node->pprev;
    }
    node->pprev = NULL;
}

#endif
