/* SPDX-License-Identifier: MIT */
/*
 * Semaphore and read-write lock. Both have a queue of waiting tasks and threads:
 *   D1  A caller that finds others waiting waits behind them. The first in the queue gets what it wants as soon as it
 *       is available. No caller overtakes another, so neither a large amount nor a writer starves. A caller that
 *       releases something, or leaves the queue, grants what is then available to the first in the queue.
 */
#include <errno.h>

#include "task/waiters.h"
#include "verge/sync.h"

/* A semaphore or a lock, with the queue of those that wait for it. */
typedef struct verge__fair_queue {
    void **waiting;
    uint32_t *guard;
    void *object;
    unsigned awaits;                                             /* verge__awaited, for dumps */
    bool (*try_take)(void *object, const verge__waiter *waiter); /* with the guard held: false if it has to wait */
} verge__fair_queue;

/* Grants what is available to the first waiters. With the guard held. */
static void grant_all_possible(const verge__fair_queue *queue, verge__task_queue *granted) {
    verge__waiter *first; /* never that of a select, so it can always be granted */
    while ((first = queue->waiting[0]) != NULL && queue->try_take(queue->object, first)) {
        verge__waiters_remove(queue->waiting, first);
        verge__grant_into(granted, first);
    }
}

/* Called with the guard held; releases it. */
static void grant_and_unlock(const verge__fair_queue *queue) {
    verge__task_queue granted = {0};
    grant_all_possible(queue, &granted);
    verge__unlock(queue->guard);
    verge__deliver_all(&granted);
}

typedef enum verge__take_mode { WAITS, TRIES } verge__take_mode;

/* Called with the guard held; releases it. */
static int take_in_order(const verge__fair_queue *queue, verge__waiter *waiter, uint64_t deadline_ns,
                         verge__take_mode mode) {
    int result = queue->waiting[0] == NULL && queue->try_take(queue->object, waiter) ? 0 : -EAGAIN;
    if (result == 0 || mode == TRIES) {
        verge__unlock(queue->guard);
        return result == 0 ? 0 : -EBUSY;
    }
    verge__awaits(waiter->task, queue->awaits, (uintptr_t)queue->object);
    result = verge__wait_in(queue->waiting, queue->guard, waiter, deadline_ns);
    if (result == 0) {
        verge__unlock(queue->guard);
    } else {
        grant_and_unlock(queue); /* the waiters behind it may need less */
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
    return (verge__fair_queue){semaphore->waiting, &semaphore->guard, semaphore, VERGE__AWAITS_SEMAPHORE, take};
}

static int acquire(verge_semaphore *semaphore, uint32_t amount, uint64_t deadline_ns, verge__take_mode mode) {
    if (semaphore == NULL || amount == 0) {
        return -EINVAL;
    }
    if (mode == WAITS) {
        verge__begin_call();
    }
    const verge__fair_queue queue = queue_of_semaphore(semaphore);
    verge__waiter waiter = {.task = verge__current_task(), .amount = amount};
    verge__lock(&semaphore->guard);
    return take_in_order(&queue, &waiter, deadline_ns, mode);
}

int verge_semaphore_acquire(verge_semaphore *semaphore, uint32_t amount) {
    return acquire(semaphore, amount, VERGE_NEVER, WAITS);
}

int verge_semaphore_acquire_until(verge_semaphore *semaphore, uint32_t amount, uint64_t deadline_ns) {
    return acquire(semaphore, amount, deadline_ns, WAITS);
}

int verge_semaphore_try_acquire(verge_semaphore *semaphore, uint32_t amount) {
    return acquire(semaphore, amount, 0, TRIES);
}

int verge_semaphore_release(verge_semaphore *semaphore, uint32_t amount) {
    if (semaphore == NULL || amount == 0) {
        return -EINVAL;
    }
    const verge__fair_queue queue = queue_of_semaphore(semaphore);
    verge__lock(&semaphore->guard);
    if (amount > UINT32_MAX - semaphore->available) {
        verge__unlock(&semaphore->guard);
        return -EOVERFLOW;
    }
    semaphore->available += amount;
    grant_and_unlock(&queue);
    return 0;
}

/* ---- read-write lock: `item` of a waiter is the future writer; NULL: it wants to read ---- */

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
    return (verge__fair_queue){lock->waiting, &lock->guard, lock, VERGE__AWAITS_RWLOCK, take_lock};
}

typedef enum verge__access { READS, WRITES } verge__access;

static int lock_for(verge_rwlock *lock, verge__access access, uint64_t deadline_ns, verge__take_mode mode) {
    if (lock == NULL) {
        return -EINVAL;
    }
    if (mode == WAITS) {
        verge__begin_call();
    }
    verge_task *self = verge__current_task();
    void *owner = verge__owner_of(self);
    const verge__fair_queue queue = queue_of_lock(lock);
    verge__waiter waiter = {.task = self, .item = access == WRITES ? owner : NULL};
    verge__lock(&lock->guard);
    if (lock->writer == owner && mode == WAITS) {
        verge__unlock(&lock->guard);
        return -EDEADLK;
    }
    return take_in_order(&queue, &waiter, deadline_ns, mode);
}

int verge_rwlock_read(verge_rwlock *lock) {
    return lock_for(lock, READS, VERGE_NEVER, WAITS);
}

int verge_rwlock_read_until(verge_rwlock *lock, uint64_t deadline_ns) {
    return lock_for(lock, READS, deadline_ns, WAITS);
}

int verge_rwlock_try_read(verge_rwlock *lock) {
    return lock_for(lock, READS, 0, TRIES);
}

int verge_rwlock_write(verge_rwlock *lock) {
    return lock_for(lock, WRITES, VERGE_NEVER, WAITS);
}

int verge_rwlock_write_until(verge_rwlock *lock, uint64_t deadline_ns) {
    return lock_for(lock, WRITES, deadline_ns, WAITS);
}

int verge_rwlock_try_write(verge_rwlock *lock) {
    return lock_for(lock, WRITES, 0, TRIES);
}

int verge_rwlock_unlock(verge_rwlock *lock) {
    if (lock == NULL) {
        return -EINVAL;
    }
    const verge__fair_queue queue = queue_of_lock(lock);
    const void *self = verge__owner_of(verge__current_task());
    verge__lock(&lock->guard);
    const bool is_wrong = lock->writer != NULL ? lock->writer != self : lock->reader_count == 0;
    if (is_wrong) {
        verge__unlock(&lock->guard);
        return -EPERM;
    }
    lock->reader_count -= lock->writer == NULL;
    lock->writer = NULL;
    grant_and_unlock(&queue);
    return 0;
}
