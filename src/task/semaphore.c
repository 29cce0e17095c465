/* SPDX-License-Identifier: MIT */
/*
 * Semaphore and read-write lock. Both have a queue of waiting tasks and threads:
 *   D1  A caller that finds others waiting waits behind them. The first in the queue gets what it wants as soon as it
 *       is available. No caller overtakes another, so neither a large amount nor a writer starves. A caller that
 *       releases something, or leaves the queue, grants what is then available to the first ones in the queue.
 */
#include <errno.h>

#include "task/current.h"
#include "task/latch.h"
#include "task/wait.h"
#include "task/waiters.h"
#include "task/wake.h"
#include "verge/sync.h"

/* A semaphore or a lock, with the queue of those that wait for it. */
typedef struct verge__fair_queue {
    void **waiting;
    uint32_t *latch;
    void *object;
    unsigned awaits; /* what waiting tasks await (verge__awaited), for dumps */
    bool (*try_take)(void *object, const verge__waiter *waiter); /* with the latch held; returns whether it took */
} verge__fair_queue;

/* Grants what is available to the first waiters. Called with the latch held. */
static void grant_all_possible(const verge__fair_queue *queue, verge__task_queue *granted) {
    verge__waiter *first; /* no select waits here, so no choice has to be made first (waiters.h) */
    while ((first = verge__waiters_first(queue->waiting)) != NULL && queue->try_take(queue->object, first)) {
        verge__waiters_remove(queue->waiting, first);
        verge__grant_into(granted, first);
    }
}

/* Grants what is available, and wakes those who got it. Called with the latch held; releases it. */
static void grant_and_unlock(const verge__fair_queue *queue) {
    verge__task_queue granted = {0};
    grant_all_possible(queue, &granted);
    verge__unlock(queue->latch);
    verge__deliver_all(&granted);
}

/* Takes what the waiter wants. If it is not available, or others wait already, waits in the queue. Called with the
 * latch held; releases it. */
static int take_in_order(const verge__fair_queue *queue, verge__waiter *waiter, uint64_t deadline_ns) {
    if (queue->waiting[0] == NULL && queue->try_take(queue->object, waiter)) {
        verge__unlock(queue->latch);
        return 0;
    }
    verge__awaits(waiter->task, queue->awaits, (uintptr_t)queue->object);
    const int result = verge__wait_in(queue->waiting, queue->latch, waiter, deadline_ns);
    if (result == 0 || deadline_ns == 0) {
        verge__unlock(queue->latch);
    } else {
        grant_and_unlock(queue); /* the waiters behind the one that left may need less */
    }
    return result;
}

/* ---- semaphore ---- */

static bool take(void *object, const verge__waiter *waiter) {
    verge_semaphore *semaphore = object;
    const bool has_room = waiter->amount <= semaphore->available;
    semaphore->available -= has_room ? waiter->amount : 0;
    return has_room;
}

static verge__fair_queue queue_of_semaphore(verge_semaphore *semaphore) {
    return (verge__fair_queue){semaphore->waiting, &semaphore->latch, semaphore, VERGE__AWAITS_SEMAPHORE, take};
}

int verge_semaphore_acquire(verge_semaphore *semaphore, uint32_t amount, uint64_t deadline_ns) {
    if (semaphore == NULL || amount == 0) {
        return -EINVAL;
    }
    const verge__fair_queue queue = queue_of_semaphore(semaphore);
    verge__waiter waiter = {.task = verge__begin_call(deadline_ns), .amount = amount};
    verge__lock(&semaphore->latch);
    return take_in_order(&queue, &waiter, deadline_ns);
}

int verge_semaphore_release(verge_semaphore *semaphore, uint32_t amount) {
    if (semaphore == NULL || amount == 0) {
        return -EINVAL;
    }
    const verge__fair_queue queue = queue_of_semaphore(semaphore);
    verge__lock(&semaphore->latch);
    if (amount > UINT32_MAX - semaphore->available) {
        verge__unlock(&semaphore->latch);
        return -EOVERFLOW;
    }
    semaphore->available += amount;
    grant_and_unlock(&queue);
    return 0;
}

/* ---- read-write lock: `item` of a waiter is the owner that wants to write, or NULL for one that reads ---- */

static bool take_lock(void *object, const verge__waiter *waiter) {
    verge_rwlock *lock = object;
    if (lock->writer != NULL || (waiter->item != NULL && lock->reader_count != 0)) {
        return false;
    }
    lock->writer = waiter->item;
    lock->reader_count += waiter->item == NULL;
    return true;
}

static verge__fair_queue queue_of_lock(verge_rwlock *lock) {
    return (verge__fair_queue){lock->waiting, &lock->latch, lock, VERGE__AWAITS_RWLOCK, take_lock};
}

typedef enum verge__access { READS, WRITES } verge__access;

static int lock_for(verge_rwlock *lock, verge__access access, uint64_t deadline_ns) {
    if (lock == NULL) {
        return -EINVAL;
    }
    verge_task *self = verge__begin_call(deadline_ns);
    void *owner = verge__owner_of(self);
    const verge__fair_queue queue = queue_of_lock(lock);
    verge__waiter waiter = {.task = self, .item = access == WRITES ? owner : NULL};
    verge__lock(&lock->latch);
    if (lock->writer == owner) {
        verge__unlock(&lock->latch);
        return -EDEADLK;
    }
    return take_in_order(&queue, &waiter, deadline_ns);
}

int verge_rwlock_read(verge_rwlock *lock, uint64_t deadline_ns) {
    return lock_for(lock, READS, deadline_ns);
}

int verge_rwlock_write(verge_rwlock *lock, uint64_t deadline_ns) {
    return lock_for(lock, WRITES, deadline_ns);
}

int verge_rwlock_unlock(verge_rwlock *lock) {
    if (lock == NULL) {
        return -EINVAL;
    }
    const verge__fair_queue queue = queue_of_lock(lock);
    const void *self = verge__owner_of(verge__current_task());
    verge__lock(&lock->latch);
    const bool is_wrong = lock->writer != NULL ? lock->writer != self : lock->reader_count == 0;
    if (is_wrong) {
        verge__unlock(&lock->latch);
        return -EPERM;
    }
    lock->reader_count -= lock->writer == NULL;
    lock->writer = NULL;
    grant_and_unlock(&queue);
    return 0;
}
