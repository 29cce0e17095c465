/* SPDX-License-Identifier: MIT */
/* Mutex and condition. A mutex is handed to whoever waits longest: it is never free while somebody waits. */
#include <errno.h>

#include "task/waiters.h"

/* ---- mutex ---- */

/* Whoever has it has ended with its thread, and will not unlock it. */
static bool is_lost(const verge_mutex *mutex) {
    const struct verge_task *owner = mutex->owner;
    return owner != NULL && atomic_load(&owner->is_lost);
}

/* With the guard held. It is woken for no good when it is cancelled, or when a task is lost. */
static int wait_regardless(verge_mutex *mutex, struct verge__waiter *waiter) {
    while (!waiter->is_granted && !is_lost(mutex)) {
        (void)verge__wait_once(mutex->waiting, &mutex->guard, waiter, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    }
    if (!waiter->is_granted && verge__waiters_have(mutex->waiting, waiter)) {
        verge__waiters_remove(mutex->waiting, waiter);
    }
    return waiter->is_granted ? 0 : -EOWNERDEAD;
}

static int lock_until(struct verge_task *self, verge_mutex *mutex, uint64_t deadline_ns, enum verge__wait_mode mode) {
    int result = 0;
    struct verge__waiter waiter = {.task = self};
    verge__lock(&mutex->guard);
    if (mutex->owner == NULL) {
        mutex->owner = self;
    } else if (mutex->owner == self) {
        result = -EDEADLK;
    } else if (is_lost(mutex)) {
        result = -EOWNERDEAD;
    } else {
        result = mode == VERGE__WAIT ? verge__wait_in(mutex->waiting, &mutex->guard, &waiter, deadline_ns)
                                     : wait_regardless(mutex, &waiter);
    }
    verge__unlock(&mutex->guard);
    return result;
}

int verge_mutex_lock_until(verge_mutex *mutex, uint64_t deadline_ns) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || mutex == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__begin_call();
    return lock_until(self, mutex, deadline_ns, VERGE__WAIT);
}

int verge_mutex_lock_regardless(verge_mutex *mutex) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || mutex == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__begin_call();
    return lock_until(self, mutex, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
}

int verge_mutex_lock(verge_mutex *mutex) {
    return verge_mutex_lock_until(mutex, VERGE_NEVER);
}

int verge_mutex_try_lock(verge_mutex *mutex) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || mutex == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__lock(&mutex->guard);
    const int result = mutex->owner == NULL ? 0 : is_lost(mutex) ? -EOWNERDEAD : -EBUSY;
    if (result == 0) {
        mutex->owner = self;
    }
    verge__unlock(&mutex->guard);
    return result;
}

int verge_mutex_unlock(verge_mutex *mutex) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || mutex == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__lock(&mutex->guard);
    if (mutex->owner != self) {
        verge__unlock(&mutex->guard);
        return -EPERM;
    }
    struct verge__waiter *next = verge__waiters_take_first(mutex->waiting);
    mutex->owner = next != NULL ? next->task : NULL;
    struct verge_task *task = next != NULL ? verge__grant(next) : NULL;
    verge__unlock(&mutex->guard);
    verge__deliver_granted(task);
    return 0;
}

/* ---- condition ---- */

static bool is_owner(verge_mutex *mutex, const struct verge_task *task) {
    verge__lock(&mutex->guard);
    const bool result = mutex->owner == task;
    verge__unlock(&mutex->guard);
    return result;
}

int verge_condition_wait_until(verge_condition *condition, verge_mutex *mutex, uint64_t deadline_ns) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || condition == NULL || mutex == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    if (!is_owner(mutex, self)) {
        return -EPERM;
    }
    verge__begin_call();
    struct verge__waiter waiter = {.task = self};
    verge__lock(&condition->guard);
    verge__wait_begin(self);
    verge__waiters_append(condition->waiting, &waiter);
    verge__unlock(&condition->guard);
    (void)verge_mutex_unlock(mutex); /* whoever gets it now finds the waiter in the list */
    int result = verge__wait(self, deadline_ns, VERGE__WAIT);
    verge__lock(&condition->guard);
    if (waiter.is_granted) {
        result = 0;
    } else {
        verge__waiters_remove(condition->waiting, &waiter);
    }
    verge__unlock(&condition->guard);
    const int error = lock_until(self, mutex, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
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
    struct verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
    struct verge_task *task = waiter != NULL ? verge__grant(waiter) : NULL;
    verge__unlock(&condition->guard);
    verge__deliver_granted(task);
    return 0;
}

int verge_condition_broadcast(verge_condition *condition) {
    if (condition == NULL) {
        return -EINVAL;
    }
    struct verge__task_queue claimed = {0};
    verge__lock(&condition->guard);
    for (;;) {
        struct verge__waiter *waiter = verge__waiters_take_first(condition->waiting);
        if (waiter == NULL) {
            break;
        }
        struct verge_task *task = verge__grant(waiter);
        if (task != NULL) {
            verge__queue_push(&claimed, task);
        }
    }
    verge__unlock(&condition->guard);
    verge__deliver_all(&claimed);
    return 0;
}
