/* SPDX-License-Identifier: MIT */
/*
 * task/broadcast.h - a broadcast: a ring with the last items, and a list of readers that wait for the next one. Every
 * reader sees every item. How far it has read is a number that the reader keeps, so a broadcast knows only those
 * readers that wait.
 *   Y1  item number n is at n % capacity, for n from sent - capacity to sent - 1.
 *   Y2  every waiting reader has seen item number sent - 1. So the next item is both its next one and its latest one.
 */
#ifndef VERGE_SRC_TASK_BROADCAST_H
#define VERGE_SRC_TASK_BROADCAST_H

#include "task/waiters.h"
#include "verge/sync.h"

struct verge_broadcast {
    verge_allocator allocator;
    size_t item_size;
    size_t capacity;
    uint32_t latch; /* of all fields below */
    bool is_closed;
    uint64_t sent; /* the number of items that were ever sent */
    void *waiting[2];
    char items[];
};

typedef enum verge__read_mode { VERGE__READ_NEXT, VERGE__READ_LATEST } verge__read_mode;

static inline bool verge__broadcast_is_wrong(const verge_broadcast *broadcast, const uint64_t *position,
                                             const void *item) {
    return broadcast == NULL || position == NULL || (item == NULL && broadcast->item_size != 0);
}

/* Called with the latch held. Copies the item at *position (READ_NEXT) or the last item (READ_LATEST), and moves
 * *position behind it. Returns 0, -EPIPE, -EINVAL (*position is greater than sent), -EOVERFLOW (*position has moved to
 * the oldest item), or -EAGAIN. */
int verge__broadcast_get(const verge_broadcast *broadcast, uint64_t *position, void *ret_item, verge__read_mode mode);

/* Called with the latch held: whether verge__broadcast_get would return -EAGAIN. */
static inline bool verge__broadcast_is_seen(const verge_broadcast *broadcast, const uint64_t *position) {
    return *position == broadcast->sent && !broadcast->is_closed;
}

#endif
