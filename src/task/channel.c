/* SPDX-License-Identifier: MIT */
/* Channels: see channel.h for the struct and its invariant. */
#include "task/channel.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "task/latch.h"
#include "task/wait.h"
#include "task/wake.h"

static size_t channel_size(size_t item_size, size_t capacity) {
    return sizeof(verge_channel) + item_size * capacity;
}

int verge_channel_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                         verge_channel **ret_channel) {
    if (capacity == 0 || ret_channel == NULL ||
        (item_size != 0 && capacity > (SIZE_MAX - sizeof(verge_channel)) / item_size)) {
        return -EINVAL;
    }
    if (allocator == NULL) {
        allocator = verge_allocator_default();
    }
    verge_channel *channel =
        allocator->allocate(allocator->context, channel_size(item_size, capacity), _Alignof(max_align_t));
    if (channel == NULL) {
        return -ENOMEM;
    }
    *channel = (verge_channel){.allocator = *allocator, .item_size = item_size, .capacity = capacity};
    *ret_channel = channel;
    return 0;
}

void verge_channel_destroy(verge_channel *channel) {
    if (channel != NULL) {
        VERGE__INVARIANT(channel->senders[0] == NULL && channel->receivers[0] == NULL, "nobody waits in it");
        const verge_allocator allocator = channel->allocator;
        allocator.release(allocator.context, channel, channel_size(channel->item_size, channel->capacity));
    }
}

/* ---- the ring; the latch is held ---- */

static void copy(const verge_channel *channel, void *to, const void *from) {
    if (channel->item_size != 0) {
        memcpy(to, from, channel->item_size);
    }
}

static void append(verge_channel *channel, const void *item) {
    const size_t index = (channel->first + channel->count) % channel->capacity;
    copy(channel, channel->items + index * channel->item_size, item);
    channel->count++;
}

static void take_first(verge_channel *channel, void *ret_item) {
    copy(channel, ret_item, channel->items + channel->first * channel->item_size);
    channel->first = (channel->first + 1) % channel->capacity;
    channel->count--;
}

static inline int put(verge_channel *channel, const void *item, verge_task **ret_woken) {
    if (channel->is_closed) {
        return -EPIPE;
    }
    verge__waiter *receiver = verge__waiters_take_first(channel->receivers);
    if (receiver != NULL) {
        copy(channel, receiver->item, item);
        *ret_woken = verge__grant(receiver);
        return 0;
    }
    if (channel->count == channel->capacity) {
        return -EAGAIN;
    }
    append(channel, item);
    return 0;
}

static inline int get(verge_channel *channel, void *ret_item, verge_task **ret_woken) {
    if (channel->count == 0) {
        return channel->is_closed ? -EPIPE : -EAGAIN;
    }
    take_first(channel, ret_item);
    verge__waiter *sender = verge__waiters_take_first(channel->senders);
    if (sender != NULL) {
        append(channel, sender->item);
        *ret_woken = verge__grant(sender);
    }
    return 0;
}

int verge__channel_put(verge_channel *channel, const void *item, verge_task **ret_woken) {
    return put(channel, item, ret_woken);
}

int verge__channel_get(verge_channel *channel, void *ret_item, verge_task **ret_woken) {
    return get(channel, ret_item, ret_woken);
}

/* ---- sending and receiving ---- */

int verge_channel_send(verge_channel *channel, const void *item, uint64_t deadline_ns) {
    if (verge__channel_is_wrong(channel, item)) {
        return -EINVAL;
    }
    verge_task *self = verge__begin_call(deadline_ns);
    verge_task *woken = NULL;
    verge__lock(&channel->latch);
    int result = put(channel, item, &woken);
    if (result == -EAGAIN) {
        verge__waiter waiter = {.task = self, .item = (void *)(uintptr_t)item};
        verge__awaits(self, VERGE__AWAITS_SEND, (uintptr_t)channel);
        result = verge__wait_in(channel->senders, &channel->latch, &waiter, deadline_ns);
    }
    verge__unlock(&channel->latch);
    verge__deliver_granted(woken);
    return result;
}

int verge_channel_receive(verge_channel *channel, void *ret_item, uint64_t deadline_ns) {
    if (verge__channel_is_wrong(channel, ret_item)) {
        return -EINVAL;
    }
    verge_task *self = verge__begin_call(deadline_ns);
    verge_task *woken = NULL;
    verge__lock(&channel->latch);
    int result = get(channel, ret_item, &woken);
    if (result == -EAGAIN) {
        verge__waiter waiter = {.task = self, .item = ret_item};
        verge__awaits(self, VERGE__AWAITS_RECEIVE, (uintptr_t)channel);
        result = verge__wait_in(channel->receivers, &channel->latch, &waiter, deadline_ns);
    }
    verge__unlock(&channel->latch);
    verge__deliver_granted(woken);
    return result;
}

/* ---- closing ---- */

int verge_channel_close(verge_channel *channel) {
    if (channel == NULL) {
        return -EINVAL;
    }
    verge__task_queue claimed = {0};
    verge__lock(&channel->latch);
    channel->is_closed = true;
    verge__waiters_close(channel->senders, &claimed);
    verge__waiters_close(channel->receivers, &claimed);
    verge__unlock(&channel->latch);
    verge__deliver_all(&claimed);
    return 0;
}

size_t verge_channel_count(verge_channel *channel) {
    if (channel == NULL) {
        return 0;
    }
    verge__lock(&channel->latch);
    const size_t count = channel->count;
    verge__unlock(&channel->latch);
    return count;
}
