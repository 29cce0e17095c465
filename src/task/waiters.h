/* SPDX-License-Identifier: MIT */
/* task/waiters.h - tasks that wait for the same thing, in the order in which they came. A waiter is in the frame of the
 * call that waits; the list and the waiters in it are under the guard of what is waited for. */
#ifndef VERGE_SRC_TASK_WAITERS_H
#define VERGE_SRC_TASK_WAITERS_H

#include "task/task_internal.h"

struct verge__waiter {
    struct verge__waiter *next, *previous;
    struct verge_task *task;
    void *item;      /* of a channel */
    bool is_granted; /* it has what it waits for */
    bool is_closed;  /* it will never have it */
};

/* ends[0] is the first, ends[1] the last. */

static inline void verge__waiters_append(void **ends, struct verge__waiter *waiter) {
    waiter->next = NULL;
    waiter->previous = ends[1];
    if (waiter->previous != NULL) {
        waiter->previous->next = waiter;
    } else {
        ends[0] = waiter;
    }
    ends[1] = waiter;
}

static inline void verge__waiters_remove(void **ends, struct verge__waiter *waiter) {
    if (waiter->previous != NULL) {
        waiter->previous->next = waiter->next;
    } else {
        ends[0] = waiter->next;
    }
    if (waiter->next != NULL) {
        waiter->next->previous = waiter->previous;
    } else {
        ends[1] = waiter->previous;
    }
}

static inline struct verge__waiter *verge__waiters_take_first(void **ends) {
    struct verge__waiter *waiter = ends[0];
    if (waiter != NULL) {
        verge__waiters_remove(ends, waiter);
    }
    return waiter;
}

/* Under the guard (J2). Not NULL: the task is to be delivered when the guard is released. */
static inline struct verge_task *verge__grant(struct verge__waiter *waiter) {
    waiter->is_granted = true;
    return verge__claim(waiter->task, 0) ? waiter->task : NULL;
}

static inline void verge__deliver_granted(struct verge_task *task) {
    if (task != NULL) {
        verge__deliver(task);
    }
}

static inline bool verge__waiters_have(void *const *ends, const struct verge__waiter *waiter) {
    return waiter->next != NULL || waiter->previous != NULL || ends[0] == waiter;
}

/* Waits with the guard held, and returns with it held. The waiter keeps its place in the list. */
static inline int verge__wait_once(void **ends, uint32_t *guard, struct verge__waiter *waiter, uint64_t deadline_ns,
                                   enum verge__wait_mode mode) {
    verge__wait_begin(waiter->task);
    if (!verge__waiters_have(ends, waiter)) {
        verge__waiters_append(ends, waiter);
    }
    verge__unlock(guard);
    const int reason = verge__wait(waiter->task, deadline_ns, mode);
    verge__lock(guard);
    return reason;
}

/* The same: 0 if granted, -EPIPE if closed, else why not; then the waiter is out of the list. */
static inline int verge__wait_in(void **ends, uint32_t *guard, struct verge__waiter *waiter, uint64_t deadline_ns) {
    const int reason = verge__wait_once(ends, guard, waiter, deadline_ns, VERGE__WAIT);
    if (waiter->is_granted || waiter->is_closed) {
        return waiter->is_granted ? 0 : -EPIPE;
    }
    verge__waiters_remove(ends, waiter);
    return verge__count_if_timeout(reason);
}

#endif
