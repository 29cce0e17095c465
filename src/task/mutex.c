/* SPDX-License-Identifier: MIT */
/* Mutex and condition. Unlocking a mutex gives it to the waiter that has waited longest. So a mutex is never free while
 * a task or thread waits for it. */
#include <errno.h>

#include "task/waiters.h"

/* ---- mutex ---- */

/* The task that holds the mutex was lost with its thread, and will not unlock it. If a plain thread ends while it holds
 * the mutex, this is not noticed. */
static bool is_lost(const verge_mutex *mutex) {
    const void *owner = mutex->owner;
    return owner != NULL && !verge__is_thread(owner) && atomic_load(&((const verge_task *)owner)->is_lost);
}

/* With the guard held. It waits in a loop because a cancellation, or a lost task, wakes it as well. */
static int wait_regardless(verge_mutex *mutex, verge__waiter *waiter) {
    while (!waiter->is_granted && !is_lost(mutex)) {
        verge__awaits(waiter->task, VERGE__AWAITS_MUTEX, (uintptr_t)mutex);
        (void)verge__wait_once(mutex->waiting, &mutex->guard, waiter, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    }
    if (!waiter->is_granted && waiter->is_listed) {
        verge__waiters_remove(mutex->waiting, waiter);
    }
    return waiter->is_granted ? 0 : -EOWNERDEAD;
}

static int lock_until(verge_mutex *mutex, uint64_t deadline_ns, verge__wait_mode mode) {
    if (mutex == NULL) {
        return -EINVAL;
    }
    verge__begin_call();
    int result = 0;
    verge_task *self = verge__current_task();
    verge__waiter waiter = {.task = self, .item = verge__owner_of(self)};
    verge__lock(&mutex->guard);
    if (mutex->owner == NULL) {
        mutex->owner = waiter.item;
    } else if (mutex->owner == waiter.item) {
        result = -EDEADLK;
    } else if (is_lost(mutex)) {
        result = -EOWNERDEAD;
    } else {
        verge__awaits(self, VERGE__AWAITS_MUTEX, (uintptr_t)mutex);
        result = mode == VERGE__WAIT ? verge__wait_in(mutex->waiting, &mutex->guard, &waiter, deadline_ns)
                                     : wait_regardless(mutex, &waiter);
    }
    verge__unlock(&mutex->guard);
    return result;
}

int verge_mutex_lock_until(verge_mutex *mutex, uint64_t deadline_ns) {
    return lock_until(mutex, deadline_ns, VERGE__WAIT);
}

int verge_mutex_lock_regardless(verge_mutex *mutex) {
    return lock_until(mutex, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
}

int verge_mutex_lock(verge_mutex *mutex) {
    return lock_until(mutex, VERGE_NEVER, VERGE__WAIT);
}

int verge_mutex_try_lock(verge_mutex *mutex) {
    if (mutex == NULL) {
        return -EINVAL;
    }
    void *self = verge__owner_of(verge__current_task());
    verge__lock(&mutex->guard);
    const int result = mutex->owner == NULL ? 0 : is_lost(mutex) ? -EOWNERDEAD : -EBUSY;
    if (result == 0) {
        mutex->owner = self;
    }
    verge__unlock(&mutex->guard);
    return result;
}

int verge_mutex_unlock(verge_mutex *mutex) {
    if (mutex == NULL) {
        return -EINVAL;
    }
    const void *self = verge__owner_of(verge__current_task());
    verge__lock(&mutex->guard);
    if (mutex->owner != self) {
        verge__unlock(&mutex->guard);
        return -EPERM;
    }
    verge__waiter *next = verge__waiters_take_first(mutex->waiting);
    mutex->owner = next != NULL ? next->item : NULL;
    verge_task *task = next != NULL ? verge__grant(next) : NULL;
    verge__unlock(&mutex->guard);
    verge__deliver_granted(task);
    return 0;
}

bool verge__mutex_is_owner(verge_mutex *mutex, const void *owner) {
    verge__lock(&mutex->guard);
    const bool result = mutex->owner == owner;
    verge__unlock(&mutex->guard);
    return result;
}

/* ---- condition ---- */

int verge_condition_wait_until(verge_condition *condition, verge_mutex *mutex, uint64_t deadline_ns) {
    if (condition == NULL || mutex == NULL) {
        return -EINVAL;
    }
    verge_task *self = verge__current_task();
    if (!verge__mutex_is_owner(mutex, verge__owner_of(self))) {
        return -EPERM;
    }
    verge__begin_call();
    verge__waiter waiter = {.task = self};
    verge__lock(&condition->guard);
    verge__wait_begin_in(condition->waiting, &waiter);
    verge__awaits(self, VERGE__AWAITS_CONDITION, (uintptr_t)condition);
    verge__unlock(&condition->guard);
    (void)verge_mutex_unlock(mutex); /* the next holder finds the waiter in the list */
    int result = verge__wait_for(&waiter, deadline_ns, VERGE__WAIT);
    verge__lock(&condition->guard);
    if (waiter.is_granted) {
        result = 0;
    } else {
        verge__waiters_remove(condition->waiting, &waiter);
    }
    verge__unlock(&condition->guard);
    const int error = lock_until(mutex, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    return error != 0 ? error : verge__count_if_timeout(result);
}

int verge_condition_wait(verge_condition *condition, verge_mutex *mutex) {
    return verge_condition_wait_until(condition, mutex, VERGE_NEVER);
}

int verge_condition_signal(verge_condition *condition) {
    if (condition == NULL) {
        return -EINVAL;
    }
    verge__lock(&condition->guard);
    verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
    verge_task *task = waiter != NULL ? verge__grant(waiter) : NULL;
    verge__unlock(&condition->guard);
    verge__deliver_granted(task);
    return 0;
}

int verge_condition_broadcast(verge_condition *condition) {
    if (condition == NULL) {
        return -EINVAL;
    }
    verge__task_queue claimed = {0};
    verge__lock(&condition->guard);
    for (;;) {
        verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
        if (waiter == NULL) {
            break;
        }
        verge__grant_into(&claimed, waiter);
    }
    verge__unlock(&condition->guard);
    verge__deliver_all(&claimed);
    return 0;
}
