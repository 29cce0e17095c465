/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/ring.h - a list that is a ring: its head is one of its links. It is shared by the data
 * structures that were written anew from a description.
 */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_TICK_SHIFT = 20 }; /* a tick is 2^20 ns, known when the library is compiled */

struct ring {
    struct ring *next; /* NULL: a node that is in no ring */
    struct ring *prev;
};

/* A node, which the user's object embeds. A zeroed node is not pending. */
struct ring_node {
    struct ring ring;
    uint64_t tick;
};

/* Called when the timer is no longer pending. It may schedule, reschedule and cancel any timer. */
typedef void ring_fired(void *context, struct ring_node *node);

static inline void ring_init(struct ring *head) {
    head->next = head;
    head->prev = head;
}

static inline bool ring_is_empty(const struct ring *head) {
    return head->next == head;
}

static inline void ring_append(struct ring *head, struct ring *link) {
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void ring_remove(struct ring *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = NULL;
}

/* Moves all of `from` to the end of `to`. */
static inline void ring_move(struct ring *to, struct ring *from) {
    if (!ring_is_empty(from)) {
        from->next->prev = to->prev;
        to->prev->next = from->next;
        from->prev->next = to;
        to->prev = from->prev;
        ring_init(from);
    }
}

static inline struct ring_node *ring_first(struct ring *head) {
    return (struct ring_node *)(void *)head->next;
}

static inline uint64_t ring_tick_after(uint64_t deadline_ns) {
    return (deadline_ns + (UINT64_C(1) << RING_TICK_SHIFT) - 1) >> RING_TICK_SHIFT;
}

#endif
