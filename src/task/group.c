/* SPDX-License-Identifier: MIT */
/*
 * Groups of tasks. The members of a group are in a list, under its guard.
 *   U1  `count` is the number of members in the list, plus those that are about to join it. While it is not 0, the
 *       group exists: its owner waits regardless of cancellation, and a member leaves the group as the last thing that
 *       it does (verge__task_ended).
 *   U2  `error` is set once, with the guard held. The thread that sets it cancels the members in the list. A task that
 *       joins the list later is cancelled when it joins.
 */
#include <errno.h>
#include <limits.h>

#include "base/assert.h"
#include "base/step.h"
#include "task/waiters.h"
#include "verge/sync.h"

/* With the guard held. */
static void fail(verge_group *group, int error) {
    if (group->error != 0) {
        return;
    }
    group->error = error;
    for (verge_task *task = group->members; task != NULL; task = task->member_next) {
        verge__cancel(task);
    }
}

void verge__group_join(verge_task *task) {
    verge_group *group = task->group;
    VERGE__STEP("group: join");
    verge__lock(&group->guard);
    verge_task *first = group->members;
    task->member_next = first;
    task->member_previous = NULL;
    if (first != NULL) {
        first->member_previous = task;
    }
    group->members = task;
    if (group->error != 0) {
        atomic_store(&task->is_cancelled, true);
    }
    verge__unlock(&group->guard);
}

/* One member fewer. Called with the guard held, and releases it; after that the group may not exist any more. */
static void uncount_and_unlock(verge_group *group) {
    verge__waiter *waiter = --group->count == 0 ? verge__waiters_take_first(group->waiting) : NULL;
    verge_task *owner = waiter != NULL ? verge__grant(waiter) : NULL;
    verge__unlock(&group->guard);
    verge__deliver_granted(owner);
}

static int error_of(const verge_task *task) {
    if (atomic_load(&task->is_lost)) {
        return -EOWNERDEAD;
    }
    return task->result >= 0 ? 0 : task->result > INT_MIN ? (int)task->result : INT_MIN;
}

void verge__group_leave(verge_task *task) {
    verge_group *group = task->group;
    const int error = error_of(task);
    VERGE__STEP("group: leave");
    verge__lock(&group->guard);
    if (task->member_previous != NULL) {
        task->member_previous->member_next = task->member_next;
    } else {
        group->members = task->member_next;
    }
    if (task->member_next != NULL) {
        task->member_next->member_previous = task->member_previous;
    }
    if (error != 0) {
        fail(group, error);
    }
    uncount_and_unlock(group);
}

/* ---- calls ---- */

int verge_group_begin(verge_group *group) {
    verge_task *self = verge__current_task();
    if (self == NULL || group == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    *group = (verge_group){.owner = self};
    return 0;
}

int verge_group_spawn_with(verge_group *group, const verge_spawn_options *options) {
    verge_task *self = verge__current_task();
    if (self == NULL || group == NULL || (group->owner != self && self->group != group)) {
        return self != NULL && group == NULL ? -EINVAL : -EPERM;
    }
    int error = atomic_load(&self->is_cancelled) ? -ECANCELED : 0;
    verge__lock(&group->guard);
    if (group->error != 0) {
        error = -ECANCELED;
    }
    group->count += error == 0; /* U1: the caller is the owner or a member, so the group exists */
    verge__unlock(&group->guard);
    if (error != 0) {
        return error;
    }
    error = verge__spawn_member(self, group, options);
    if (error != 0) {
        verge__lock(&group->guard);
        uncount_and_unlock(group);
    }
    return error;
}

int verge_group_spawn(verge_group *group, verge_task_function function, void *argument) {
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options);
    options.function = function;
    options.argument = argument;
    return verge_group_spawn_with(group, &options);
}

int verge_group_cancel(verge_group *group) {
    if (group == NULL) {
        return -EINVAL;
    }
    verge__lock(&group->guard);
    fail(group, -ECANCELED);
    verge__unlock(&group->guard);
    return 0;
}

/* Waits, with the guard held, until no member is left. If the owner is cancelled or its deadline comes, the members are
 * cancelled, and it goes on waiting for their end. */
static void await_members(verge_task *self, verge_group *group, uint64_t deadline_ns) {
    verge__waiter waiter = {.task = self};
    verge__awaits(self, VERGE__AWAITS_GROUP, (uintptr_t)group);
    const int reason = verge__wait_once(group->waiting, &group->guard, &waiter, deadline_ns, VERGE__WAIT);
    if (!waiter.is_granted) {
        fail(group, verge__count_if_timeout(reason));
    }
    while (!waiter.is_granted) {
        verge__awaits(self, VERGE__AWAITS_GROUP, (uintptr_t)group);
        (void)verge__wait_once(group->waiting, &group->guard, &waiter, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    }
}

int verge_group_wait_until(verge_group *group, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || group == NULL || group->owner != self) {
        return self != NULL && group == NULL ? -EINVAL : -EPERM;
    }
    verge__begin_call();
    verge__lock(&group->guard);
    const bool must_wait = group->count != 0;
    if (must_wait && verge__refuses(self, deadline_ns)) {
        verge__unlock(&group->guard);
        return -EINVAL;
    }
    if (must_wait) {
        await_members(self, group, deadline_ns);
    }
    VERGE__INVARIANT(group->count == 0 && group->members == NULL, "U1: no task outlives its group");
    const int error = group->error;
    verge__unlock(&group->guard);
    group->owner = NULL;
    return error;
}

int verge_group_wait(verge_group *group) {
    return verge_group_wait_until(group, VERGE_NEVER);
}
