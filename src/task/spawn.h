/* SPDX-License-Identifier: MIT */
/* task/spawn.h - tasks come and go, alone and in groups. */
#ifndef VERGE_SRC_TASK_SPAWN_H
#define VERGE_SRC_TASK_SPAWN_H

#include "task/task.h"

/* ---- spawn.c ---- */

/* Called when the function of the task has returned, or the thread has ended in the task (lost.c). */
void verge__task_ended(verge__runner *runner, verge_task *task);

/* Takes the runner's credit (spawn.c) out of the count of tasks. Called at the latest before the runner waits or ends.
 * If no task is left then, the run is over. */
void verge__give_credit_back(verge__runner *runner);

/* Called with the task's latch held. Returns whether `self` can join the task now. 0: the task has ended, and the
 * caller calls verge__take_result next. -EAGAIN: the join has to wait. All other values are errors of the join. */
int verge__join_state(const verge_task *self, const verge_task *task);

/* Takes the result of a task that has ended: 0, or -EOWNERDEAD if the task was lost. The caller is its joiner. After
 * that, the task's handle is invalid. */
int verge__take_result(verge_task *task, intptr_t *ret_result);

/* ---- group.c ---- */

/* Counts a task that `self` is about to spawn as a member. -EPERM: self neither began the group nor belongs to it.
 * -ECANCELED: self is cancelled, or the group has failed. */
int verge__group_admit(struct verge_group *group, const verge_task *self);

/* Undoes verge__group_admit, because the task could not be spawned. */
void verge__group_dismiss(struct verge_group *group);

/* Puts a new task, which was admitted, into the list of its group. */
void verge__group_join(verge_task *task);

/* A task that has ended leaves its group. */
void verge__group_leave(verge_task *task);

#endif
