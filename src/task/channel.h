/* SPDX-License-Identifier: MIT */
/*
 * task/channel.h - a channel: a ring of items, and the tasks that wait at either end.
 *   H1  a task waits to receive only while the ring is empty, and to send only while it is full.
 * So if a task waits to receive, a sent item goes straight to it. If tasks wait to send, and an item is taken from the
 * ring, the item of the first of these tasks goes there.
 */
#ifndef VERGE_SRC_TASK_CHANNEL_H
#define VERGE_SRC_TASK_CHANNEL_H

#include "task/waiters.h"

struct verge_channel {
    verge_allocator allocator;
    size_t item_size;
    size_t capacity;
    uint32_t latch; /* protects all fields below */
    bool is_closed;
    size_t first; /* the index of the oldest item */
    size_t count;
    void *senders[2];
    void *receivers[2];
    char items[];
};

static inline bool verge__channel_is_wrong(const verge_channel *channel, const void *item) {
    return channel == NULL || (item == NULL && channel->item_size != 0);
}

/* Called with the latch held: whether verge__channel_put would return -EAGAIN. */
static inline bool verge__channel_is_full(const verge_channel *channel) {
    return channel->count == channel->capacity && !channel->is_closed;
}

/* Called with the latch held: whether verge__channel_get would return -EAGAIN. */
static inline bool verge__channel_is_empty(const verge_channel *channel) {
    return channel->count == 0 && !channel->is_closed;
}

/* Called with the latch held. Sends an item: 0, -EPIPE or -EAGAIN. If this woke a task that waited to receive, the task
 * is stored in *ret_woken, and the caller must deliver it. */
int verge__channel_put(verge_channel *channel, const void *item, verge_task **ret_woken);

/* Called with the latch held. Receives an item: 0, -EPIPE or -EAGAIN. If this woke a task that waited to send, the task
 * is stored in *ret_woken, and the caller must deliver it. */
int verge__channel_get(verge_channel *channel, void *ret_item, verge_task **ret_woken);

#endif
