/* SPDX-License-Identifier: MIT */
/* Mutex and condition. Unlocking a mutex gives it to the waiter that has waited longest. So a mutex is never free while
 * a task or thread waits for it. */
#include <errno.h>

#include "task/current.h"
#include "task/latch.h"
#include "task/wait.h"
#include "task/waiters.h"
#include "task/wake.h"

/* ---- mutex ---- */

/* Whether the task that holds the mutex was lost with its thread, and so will not unlock it. If a plain thread ends
 * while it holds the mutex, this is not noticed. */
static bool is_lost(const verge_mutex *mutex) {
    const void *owner = mutex->owner;
    return owner != NULL && !verge__is_thread(owner) && atomic_load(&((const verge_task *)owner)->is_lost);
}

/* Called with the latch held. Waits in a loop, because a cancellation wakes the calling task, too. The loss of a
 * task (lost.c) cancels all tasks. */
static int wait_regardless(verge_mutex *mutex, verge__waiter *waiter) {
    while (!waiter->is_granted && !is_lost(mutex)) {
        verge__awaits(waiter->task, VERGE__AWAITS_MUTEX, (uintptr_t)mutex);
        (void)verge__wait_once(mutex->waiting, &mutex->latch, waiter, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    }
    if (!waiter->is_granted && waiter->is_listed) {
        verge__waiters_remove(mutex->waiting, waiter);
    }
    return waiter->is_granted ? 0 : -EOWNERDEAD;
}

int verge_mutex_lock(verge_mutex *mutex, uint64_t deadline_ns) {
    if (mutex == NULL) {
        return -EINVAL;
    }
    verge_task *self = verge__begin_call(deadline_ns);
    int result = 0;
    verge__waiter waiter = {.task = self, .item = verge__owner_of(self)};
    verge__lock(&mutex->latch);
    if (mutex->owner == NULL) {
        mutex->owner = waiter.item;
    } else if (mutex->owner == waiter.item) {
        result = -EDEADLK;
    } else if (is_lost(mutex)) {
        result = -EOWNERDEAD;
    } else {
        verge__awaits(self, VERGE__AWAITS_MUTEX, (uintptr_t)mutex);
        result = deadline_ns == VERGE_REGARDLESS ? wait_regardless(mutex, &waiter)
                                                 : verge__wait_in(mutex->waiting, &mutex->latch, &waiter, deadline_ns);
    }
    verge__unlock(&mutex->latch);
    return result;
}

int verge_mutex_unlock(verge_mutex *mutex) {
    if (mutex == NULL) {
        return -EINVAL;
    }
    const void *self = verge__owner_of(verge__current_task());
    verge__lock(&mutex->latch);
    if (mutex->owner != self) {
        verge__unlock(&mutex->latch);
        return -EPERM;
    }
    verge__waiter *next = verge__waiters_take_first(mutex->waiting);
    mutex->owner = next != NULL ? next->item : NULL;
    verge_task *task = next != NULL ? verge__grant(next) : NULL;
    verge__unlock(&mutex->latch);
    verge__deliver_granted(task);
    return 0;
}

bool verge__mutex_is_owner(verge_mutex *mutex, const void *owner) {
    verge__lock(&mutex->latch);
    const bool result = mutex->owner == owner;
    verge__unlock(&mutex->latch);
    return result;
}

/* ---- condition ---- */

int verge_condition_wait(verge_condition *condition, verge_mutex *mutex, uint64_t deadline_ns) {
    if (condition == NULL || mutex == NULL) {
        return -EINVAL;
    }
    verge_task *self = verge__current_task();
    if (!verge__mutex_is_owner(mutex, verge__owner_of(self))) {
        return -EPERM;
    }
    /* A condition does not remember earlier signals, so the call has to wait. */
    int error = verge__why_not_wait(self, deadline_ns);
    if (error != 0) {
        return error;
    }
    (void)verge__begin_call(deadline_ns);
    verge__waiter waiter = {.task = self};
    verge__lock(&condition->latch);
    verge__wait_begin_in(condition->waiting, &waiter);
    verge__awaits(self, VERGE__AWAITS_CONDITION, (uintptr_t)condition);
    verge__unlock(&condition->latch);
    (void)verge_mutex_unlock(mutex); /* the next holder finds the waiter in the list */
    int result = verge__wait_for(&waiter, deadline_ns, VERGE__WAIT);
    verge__lock(&condition->latch);
    if (waiter.is_granted) {
        result = 0;
    } else {
        verge__waiters_remove(condition->waiting, &waiter);
    }
    verge__unlock(&condition->latch);
    error = verge_mutex_lock(mutex, VERGE_REGARDLESS);
    return error != 0 ? error : verge__count_if_timeout(result);
}

int verge_condition_signal(verge_condition *condition) {
    if (condition == NULL) {
        return -EINVAL;
    }
    verge__lock(&condition->latch);
    verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
    verge_task *task = waiter != NULL ? verge__grant(waiter) : NULL;
    verge__unlock(&condition->latch);
    verge__deliver_granted(task);
    return 0;
}

int verge_condition_broadcast(verge_condition *condition) {
    if (condition == NULL) {
        return -EINVAL;
    }
    verge__task_queue claimed = {0};
    verge__lock(&condition->latch);
    for (;;) {
        verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
        if (waiter == NULL) {
            break;
        }
        verge__grant_into(&claimed, waiter);
    }
    verge__unlock(&condition->latch);
    verge__deliver_all(&claimed);
    return 0;
}
