/* SPDX-License-Identifier: MIT */
/*
 * task/broadcast.h - a broadcast: a ring with the last items, and a list of readers that wait for the next one. Every
 * reader gets every item, unless it falls behind by more than the ring holds. Each reader keeps its own position, the
 * number of the item that it reads next. So a broadcast knows only those readers that wait.
 *   Y1  item number n is at index n % capacity. The items that are kept have the numbers from sent - capacity (from 0,
 *       while fewer were sent) to sent - 1.
 *   Y2  the position of every waiting reader is `sent`. So the next item that is sent is both the reader's next item
 *       and the latest one.
 */
#ifndef VERGE_SRC_TASK_BROADCAST_H
#define VERGE_SRC_TASK_BROADCAST_H

#include "task/waiters.h"
#include "verge/sync.h"

struct verge_broadcast {
    verge_allocator allocator;
    size_t item_size;
    size_t capacity;
    uint32_t latch; /* protects all fields below */
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

/* Called with the latch held. Copies item number *position (READ_NEXT) or the last item (READ_LATEST), and sets
 * *position to the number after that item. Returns 0. -EAGAIN: there is no new item yet. -EPIPE: there is none, and the
 * broadcast is closed. -EINVAL: *position is greater than sent. -EOVERFLOW (READ_NEXT only): the item is lost, and
 * *position is set to the number of the oldest item that is kept. */
int verge__broadcast_get(const verge_broadcast *broadcast, uint64_t *position, void *ret_item, verge__read_mode mode);

/* Returns whether verge__broadcast_get would return -EAGAIN. Called with the latch held. */
static inline bool verge__broadcast_is_seen(const verge_broadcast *broadcast, const uint64_t *position) {
    return *position == broadcast->sent && !broadcast->is_closed;
}

#endif
