/* SPDX-License-Identifier: MIT */
#include "bucket_set.h"

enum { LAST = BUCKET_SET_COUNT - 1 }; /* the list of timers whose tick has come */

void bucket_set_init(struct bucket_set *set, uint64_t start_ns) {
    set->last_tick = start_ns >> RING_TICK_SHIFT;
    set->next_tick = UINT64_MAX;
    set->used = 0;
    for (unsigned i = 0; i < BUCKET_SET_COUNT; i++) {
        ring_init(&set->buckets[i]);
    }
}

/* Returns how many leading bits a tick has in common with last_tick; LAST if it has come. A tick with a lower index is
 * further away. */
static inline unsigned index_of(const struct bucket_set *set, uint64_t tick) {
    return tick <= set->last_tick ? (unsigned)LAST : (unsigned)__builtin_clzll(tick ^ set->last_tick);
}

static inline void insert(struct bucket_set *set, struct ring_node *node) {
    unsigned index = index_of(set, node->tick);
    ring_append(&set->buckets[index], &node->ring);
    set->used |= index == LAST ? 0 : UINT64_C(1) << index;
    set->next_tick = node->tick < set->next_tick ? node->tick : set->next_tick;
}

int bucket_set_schedule(struct bucket_set *set, struct ring_node *node, uint64_t deadline_ns) {
    node->tick = ring_tick_after(deadline_ns);
    insert(set, node);
    return 0;
}

int bucket_set_cancel(struct bucket_set *set, struct ring_node *node) {
    struct ring *next = node->ring.next;
    if (next == NULL) {
        return -1;
    }
    ring_remove(&node->ring);
    if (ring_is_empty(next) && next != &set->buckets[LAST]) { /* next is the head */
        set->used &= ~(UINT64_C(1) << (next - set->buckets));
    }
    return 0;
}

int bucket_set_reschedule(struct bucket_set *set, struct ring_node *node, uint64_t deadline_ns) {
    (void)bucket_set_cancel(set, node);
    return bucket_set_schedule(set, node, deadline_ns);
}

/* Finds the earliest timer. It is in the list of timers with the most bits in common, which is searched as a whole. */
static void find_next(struct bucket_set *set) {
    set->next_tick = UINT64_MAX;
    struct ring *head = &set->buckets[LAST];
    if (ring_is_empty(head)) {
        if (set->used == 0) {
            return;
        }
        head = &set->buckets[63 - __builtin_clzll(set->used)];
    }
    for (struct ring *link = head->next; link != head; link = link->next) {
        const struct ring_node *node = (const struct ring_node *)(const void *)link;
        set->next_tick = node->tick < set->next_tick ? node->tick : set->next_tick;
    }
}

void bucket_set_advance(struct bucket_set *set, uint64_t now_ns, ring_fired *on_fired, void *context) {
    uint64_t now_tick = now_ns >> RING_TICK_SHIFT;
    if (now_tick < set->next_tick) {
        return;
    }
    struct ring due;
    struct ring mixed;
    ring_init(&due);
    ring_init(&mixed);
    unsigned index = index_of(set, now_tick);
    ring_move(&due, &set->buckets[LAST]);
    for (uint64_t bits; index < 63 && (bits = set->used >> (index + 1)) != 0;) {
        unsigned closer = index + 1 + (unsigned)__builtin_ctzll(bits);
        ring_move(&due, &set->buckets[closer]);
        set->used &= ~(UINT64_C(1) << closer);
    }
    if (index < LAST) {
        ring_move(&mixed, &set->buckets[index]);
        set->used &= ~(UINT64_C(1) << index);
    }
    set->last_tick = now_tick;
    while (!ring_is_empty(&mixed)) {
        struct ring_node *node = ring_first(&mixed);
        ring_remove(&node->ring);
        if (node->tick <= now_tick) {
            ring_append(&due, &node->ring);
        } else {
            insert(set, node);
        }
    }
    while (!ring_is_empty(&due)) {
        struct ring_node *node = ring_first(&due);
        ring_remove(&node->ring);
        on_fired(context, node);
    }
    find_next(set);
}

uint64_t bucket_set_next(const struct bucket_set *set) {
    return set->next_tick == UINT64_MAX ? UINT64_MAX : set->next_tick << RING_TICK_SHIFT;
}
