/* SPDX-License-Identifier: MIT */
#include "base/list.h"
#include "task/latch.h"
#include "task/wait.h"
#include "task/wake.h"
/*
 * task/waiters.h - a list of tasks that wait for the same thing, such as a mutex, in the order in which they came. A
 * waiter is a local variable of the call that waits or, for a select, a part of a case. The latch of the mutex (or
 * channel and so on) protects the list and the waiters in it. Plain threads wait in the same lists: they sleep until
 * `is_woken` is set or their deadline comes, and are never cancelled.
 *
 * A select is one task with a waiter in each of several lists. Its waiters share a `choice`:
 *   V1  The choice is made once, by a compare-and-swap from NULL: for the waiter that gets what it waits for, or for
 *       none if the select gives up. A thread that has something to give makes the choice before it gives, with the
 *       latch of the list held. It skips waiters whose choice is already made. So a select is never given two things,
 *       and nothing after it gave up.
 *   V2  Before a select returns, it takes the latch of every list that it has joined, and leaves the list. There it
 *       also sees what its chosen waiter was given under that latch (J2).
 * A waiter that waits for one thing only has no choice. If it is given something just when its call gives up, the call
 * succeeds after all: it looks at the waiter, under the latch, before it returns.
 */
#ifndef VERGE_SRC_TASK_WAITERS_H
#define VERGE_SRC_TASK_WAITERS_H

typedef struct verge__choice {
    void *_Atomic made_for; /* the waiter that was chosen, or the choice itself if none was; NULL: it is not made yet */
} verge__choice;

typedef struct verge__waiter {
    verge__link link;
    verge_task *task;      /* NULL: a plain thread waits */
    verge__choice *choice; /* of a select; NULL: the waiter waits for one thing only */
    /* Channel, broadcast: the item that is sent, or the memory for the received one. Mutex: the future owner.
     * Read-write lock: the future writer; NULL: the waiter wants to read. */
    void *item;
    union {
        uint32_t amount;    /* semaphore: how much it wants */
        uint64_t *position; /* broadcast: the reader's position */
    };
    _Atomic uint32_t is_woken; /* set to wake a plain thread */
    bool is_listed;
    bool is_granted; /* it has got what it waits for */
    bool is_closed;  /* it will never get what it waits for */
} verge__waiter;

/* Lets the calling plain thread sleep until its waiter is woken. Returns 0 or -ETIMEDOUT. The deadline is on the
 * monotonic clock (plain.c). */
int verge__plain_wait(verge__waiter *waiter, uint64_t deadline_ns);
void verge__plain_wake(verge__waiter *waiter);

/* `ends` is a list of waiters, such as mutex->waiting: ends[0] is the link of the first waiter, ends[1] that of the
 * last, as in a verge__list. */

static inline void verge__waiters_append(void **ends, verge__waiter *waiter) {
    verge__list_append((verge__list *)(void *)ends, &waiter->link);
    waiter->is_listed = true;
}

static inline void verge__waiters_remove(void **ends, verge__waiter *waiter) {
    verge__list_remove((verge__list *)(void *)ends, &waiter->link);
    waiter->is_listed = false;
}

/* The first waiter; NULL: there is none. */
static inline verge__waiter *verge__waiters_first(void **ends) {
    return VERGE__LISTED(ends[0], verge__waiter, link);
}

/* Makes the choice for this waiter (V1). False: it was made for another waiter, or for none. */
static inline bool verge__choose(verge__waiter *waiter) {
    void *none = NULL;
    return waiter->choice == NULL || atomic_compare_exchange_strong(&waiter->choice->made_for, &none, waiter);
}

/* Takes out the first waiter that may still be given something, and all waiters before it. NULL: there is none. */
static inline verge__waiter *verge__waiters_take_first(void **ends) {
    verge__waiter *waiter;
    do {
        waiter = verge__waiters_first(ends);
        if (waiter == NULL) {
            return NULL;
        }
        verge__waiters_remove(ends, waiter);
    } while (!verge__choose(waiter));
    return waiter;
}

/* Wakes a waiter. Called with the latch held (J2): a plain thread, too, takes the latch before its waiter goes away.
 * Returns a task that the caller must deliver when it has released the latch, or NULL. */
static inline verge_task *verge__wake_waiter(verge__waiter *waiter) {
    if (waiter->task == NULL) {
        verge__plain_wake(waiter);
        return NULL;
    }
    return verge__claim(waiter->task, 0) ? waiter->task : NULL;
}

/* Gives a waiter what it waits for, and wakes it. The rules and the result are those of verge__wake_waiter. */
static inline verge_task *verge__grant(verge__waiter *waiter) {
    waiter->is_granted = true;
    return verge__wake_waiter(waiter);
}

/* As verge__grant, but adds the task to a queue. With it, a caller grants several waiters, and then calls
 * verge__deliver_all. */
static inline void verge__grant_into(verge__task_queue *granted, verge__waiter *waiter) {
    verge_task *task = verge__grant(waiter);
    if (task != NULL) {
        verge__queue_push(granted, task);
    }
}

/* Called with the latch held. Closes all waiters of a list: none will get what it waits for. The caller delivers the
 * tasks of the queue. */
static inline void verge__waiters_close(void **ends, verge__task_queue *claimed) {
    for (;;) {
        verge__waiter *waiter = verge__waiters_take_first(ends);
        if (waiter == NULL) {
            return;
        }
        waiter->is_closed = true;
        verge_task *task = verge__wake_waiter(waiter);
        if (task != NULL) {
            verge__queue_push(claimed, task);
        }
    }
}

static inline void verge__deliver_granted(verge_task *task) {
    if (task != NULL) {
        verge__deliver(task);
    }
}

/* Called with the latch held. Puts a waiter into a list. Then the caller releases the latch, and calls
 * verge__wait_for. */
static inline void verge__wait_begin_in(void **ends, verge__waiter *waiter) {
    if (waiter->task != NULL) {
        verge__wait_begin(waiter->task);
    }
    if (!waiter->is_listed) {
        verge__waiters_append(ends, waiter);
    }
}

static inline int verge__wait_for(verge__waiter *waiter, uint64_t deadline_ns, verge__wait_mode mode) {
    return waiter->task != NULL ? verge__wait(waiter->task, deadline_ns, mode) : verge__plain_wait(waiter, deadline_ns);
}

/* Waits once. Called with the latch held, and returns with it held; the latch is released during the wait. A waiter
 * that nobody took from the list stays there. */
static inline int verge__wait_once(void **ends, uint32_t *latch, verge__waiter *waiter, uint64_t deadline_ns,
                                   verge__wait_mode mode) {
    verge__wait_begin_in(ends, waiter);
    verge__unlock(latch);
    const int reason = verge__wait_for(waiter, deadline_ns, mode);
    verge__lock(latch);
    return reason;
}

/* As verge__wait_once, but the waiter is in no list afterwards. With a deadline of 0 or VERGE_REGARDLESS it does not
 * wait. Returns 0 if the waiter was granted, -EPIPE if it was closed, and otherwise why the wait ended or was
 * refused. */
static inline int verge__wait_in(void **ends, uint32_t *latch, verge__waiter *waiter, uint64_t deadline_ns) {
    const int error = verge__why_not_wait(waiter->task, deadline_ns);
    if (error != 0) {
        return error;
    }
    const int reason = verge__wait_once(ends, latch, waiter, deadline_ns, VERGE__WAIT);
    if (waiter->is_granted || waiter->is_closed) {
        return waiter->is_granted ? 0 : -EPIPE;
    }
    verge__waiters_remove(ends, waiter);
    return verge__count_if_timeout(reason);
}

/* mutex.c: whether this task or plain thread holds the mutex. */
bool verge__mutex_is_owner(verge_mutex *mutex, const void *owner);

#endif
