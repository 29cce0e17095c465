/* SPDX-License-Identifier: MIT */
/*
 * Groups of tasks. The members of a group are in a list, under its latch.
 *   U1  `count` is the number of members in the list, plus those that are about to join it. While `count` is not 0, the
 *       group exists: its owner waits regardless of cancellation. A member is counted out only after it has ended
 *       (verge__task_ended).
 *   U2  `error` is set once, with the latch held. The thread that sets it cancels the members in the list. A task that
 *       joins the list later is cancelled when it joins.
 */
#include <errno.h>
#include <limits.h>

#include "base/assert.h"
#include "base/step.h"
#include "task/current.h"
#include "task/latch.h"
#include "task/spawn.h"
#include "task/wait.h"
#include "task/waiters.h"
#include "task/wake.h"
#include "verge/sync.h"

/* Called with the latch held. If the group has no error yet, sets it and cancels the members (U2). */
static void fail(verge_group *group, int error) {
    if (group->error != 0) {
        return;
    }
    group->error = error;
    for (verge__link *link = group->members; link != NULL; link = link->next) {
        verge__cancel(VERGE__LISTED(link, verge_task, member));
    }
}

void verge__group_join(verge_task *task) {
    verge_group *group = task->group;
    VERGE__STEP("group: join");
    verge__lock(&group->latch);
    verge__list_push(&group->members, &task->member);
    if (group->error != 0) {
        atomic_store(&task->is_cancelled, true);
    }
    verge__unlock(&group->latch);
}

/* Called with the latch held. Counts one member out, and releases the latch. Then the group may not exist any more. */
static void uncount_and_unlock(verge_group *group) {
    verge__waiter *waiter = --group->count == 0 ? verge__waiters_take_first(group->waiting) : NULL;
    verge_task *owner = waiter != NULL ? verge__grant(waiter) : NULL;
    verge__unlock(&group->latch);
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
    verge__lock(&group->latch);
    (void)verge__list_unlink(&group->members, &task->member);
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

int verge__group_admit(verge_group *group, const verge_task *self) {
    if (group->owner != self && self->group != group) {
        return -EPERM;
    }
    int error = atomic_load(&self->is_cancelled) ? -ECANCELED : 0;
    verge__lock(&group->latch);
    if (group->error != 0) {
        error = -ECANCELED;
    }
    group->count += error == 0; /* U1: the caller is the owner or a member, so the group exists */
    verge__unlock(&group->latch);
    return error;
}

void verge__group_dismiss(verge_group *group) {
    verge__lock(&group->latch);
    uncount_and_unlock(group);
}

int verge_group_spawn(verge_group *group, verge_task_function function, void *argument) {
    if (group == NULL) {
        return verge__current_task() == NULL ? -EPERM : -EINVAL;
    }
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.function = function;
    options.argument = argument;
    options.group = group;
    return verge_spawn_with(&options, NULL);
}

int verge_group_cancel(verge_group *group) {
    if (group == NULL) {
        return -EINVAL;
    }
    verge__lock(&group->latch);
    fail(group, -ECANCELED);
    verge__unlock(&group->latch);
    return 0;
}

/* Called with the latch held. Waits until no member is left. If the owner's wait ends early (cancellation, deadline, no
 * memory for a timer), this function cancels the members, and continues to wait for their end. */
static void await_members(verge_task *self, verge_group *group, uint64_t deadline_ns) {
    verge__waiter waiter = {.task = self};
    verge__awaits(self, VERGE__AWAITS_GROUP, (uintptr_t)group);
    const int reason = deadline_ns == 0
                           ? verge__would_wait(self)
                           : verge__wait_once(group->waiting, &group->latch, &waiter, deadline_ns, VERGE__WAIT);
    if (!waiter.is_granted) {
        fail(group, verge__count_if_timeout(reason));
    }
    while (!waiter.is_granted) {
        verge__awaits(self, VERGE__AWAITS_GROUP, (uintptr_t)group);
        (void)verge__wait_once(group->waiting, &group->latch, &waiter, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
    }
}

int verge_group_wait(verge_group *group, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || group == NULL || group->owner != self) {
        return self != NULL && group == NULL ? -EINVAL : -EPERM;
    }
    (void)verge__begin_call(deadline_ns);
    verge__lock(&group->latch);
    const bool must_wait = group->count != 0;
    if (must_wait && verge__refuses(self, deadline_ns)) {
        verge__unlock(&group->latch);
        return -EINVAL;
    }
    if (must_wait) {
        await_members(self, group, deadline_ns);
    }
    VERGE__INVARIANT(group->count == 0 && group->members == NULL, "U1: no task outlives its group");
    const int error = group->error;
    verge__unlock(&group->latch);
    group->owner = NULL;
    return error;
}
