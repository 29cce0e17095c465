/* SPDX-License-Identifier: MIT */
/* Broadcasts: see broadcast.h for the struct and its invariants. */
#include "task/broadcast.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "task/latch.h"
#include "task/wait.h"
#include "task/wake.h"

static size_t broadcast_size(size_t item_size, size_t capacity) {
    return sizeof(verge_broadcast) + item_size * capacity;
}

int verge_broadcast_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                           verge_broadcast **ret_broadcast) {
    if (capacity == 0 || ret_broadcast == NULL ||
        (item_size != 0 && capacity > (SIZE_MAX - sizeof(verge_broadcast)) / item_size)) {
        return -EINVAL;
    }
    if (allocator == NULL) {
        allocator = verge_allocator_default();
    }
    verge_broadcast *broadcast =
        allocator->allocate(allocator->context, broadcast_size(item_size, capacity), _Alignof(max_align_t));
    if (broadcast == NULL) {
        return -ENOMEM;
    }
    *broadcast = (verge_broadcast){.allocator = *allocator, .item_size = item_size, .capacity = capacity};
    *ret_broadcast = broadcast;
    return 0;
}

void verge_broadcast_destroy(verge_broadcast *broadcast) {
    if (broadcast != NULL) {
        VERGE__INVARIANT(broadcast->waiting[0] == NULL, "nobody waits in it");
        const verge_allocator allocator = broadcast->allocator;
        allocator.release(allocator.context, broadcast, broadcast_size(broadcast->item_size, broadcast->capacity));
    }
}

/* ---- items; the latch is held ---- */

static void copy(const verge_broadcast *broadcast, void *to, const void *from) {
    if (broadcast->item_size != 0 && from != NULL) { /* from is NULL only if the size is 0; analysers do not see that */
        memcpy(to, from, broadcast->item_size);
    }
}

static size_t index_of_item(const verge_broadcast *broadcast, uint64_t number) {
    return (size_t)(number % broadcast->capacity) * broadcast->item_size;
}

int verge__broadcast_get(const verge_broadcast *broadcast, uint64_t *position, void *ret_item, verge__read_mode mode) {
    const uint64_t sent = broadcast->sent;
    const uint64_t oldest = sent > broadcast->capacity ? sent - broadcast->capacity : 0;
    if (*position >= sent) {
        return *position > sent ? -EINVAL : broadcast->is_closed ? -EPIPE : -EAGAIN;
    }
    if (mode == VERGE__READ_LATEST) {
        *position = sent - 1;
    } else if (*position < oldest) {
        *position = oldest;
        return -EOVERFLOW;
    }
    copy(broadcast, ret_item, broadcast->items + index_of_item(broadcast, *position));
    ++*position;
    return 0;
}

/* ---- sending ---- */

int verge_broadcast_send(verge_broadcast *broadcast, const void *item) {
    if (broadcast == NULL || (item == NULL && broadcast->item_size != 0)) {
        return -EINVAL;
    }
    verge__task_queue granted = {0};
    verge__lock(&broadcast->latch);
    const bool is_closed = broadcast->is_closed;
    if (!is_closed) {
        copy(broadcast, broadcast->items + index_of_item(broadcast, broadcast->sent), item);
        broadcast->sent++;
    }
    verge__waiter *waiter;
    while (!is_closed && (waiter = verge__waiters_take_first(broadcast->waiting)) != NULL) { /* Y2 */
        copy(broadcast, waiter->item, item);
        *waiter->position = broadcast->sent;
        verge__grant_into(&granted, waiter);
    }
    verge__unlock(&broadcast->latch);
    verge__deliver_all(&granted);
    return is_closed ? -EPIPE : 0;
}

int verge_broadcast_close(verge_broadcast *broadcast) {
    if (broadcast == NULL) {
        return -EINVAL;
    }
    verge__task_queue claimed = {0};
    verge__lock(&broadcast->latch);
    broadcast->is_closed = true;
    verge__waiters_close(broadcast->waiting, &claimed);
    verge__unlock(&broadcast->latch);
    verge__deliver_all(&claimed);
    return 0;
}

uint64_t verge_broadcast_position(verge_broadcast *broadcast) {
    if (broadcast == NULL) {
        return 0;
    }
    verge__lock(&broadcast->latch);
    const uint64_t sent = broadcast->sent;
    verge__unlock(&broadcast->latch);
    return sent;
}

/* ---- receiving ---- */

static int get_until(verge_broadcast *broadcast, uint64_t *position, void *ret_item, uint64_t deadline_ns,
                     verge__read_mode mode) {
    if (verge__broadcast_is_wrong(broadcast, position, ret_item)) {
        return -EINVAL;
    }
    verge_task *self = verge__begin_call(deadline_ns);
    verge__lock(&broadcast->latch);
    int result = verge__broadcast_get(broadcast, position, ret_item, mode);
    if (result == -EAGAIN) {
        verge__waiter waiter = {.task = self, .item = ret_item, .position = position};
        verge__awaits(self, VERGE__AWAITS_BROADCAST, (uintptr_t)broadcast);
        result = verge__wait_in(broadcast->waiting, &broadcast->latch, &waiter, deadline_ns);
    }
    verge__unlock(&broadcast->latch);
    return result;
}

int verge_broadcast_receive(verge_broadcast *broadcast, uint64_t *position, void *ret_item, uint64_t deadline_ns) {
    return get_until(broadcast, position, ret_item, deadline_ns, VERGE__READ_NEXT);
}

int verge_broadcast_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item, uint64_t deadline_ns) {
    return get_until(broadcast, position, ret_item, deadline_ns, VERGE__READ_LATEST);
}
