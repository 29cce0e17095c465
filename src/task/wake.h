/* SPDX-License-Identifier: MIT */
/* task/wake.h - how a task that waits is woken, by any thread: first it is claimed, and then delivered (J1). */
#ifndef VERGE_SRC_TASK_WAKE_H
#define VERGE_SRC_TASK_WAKE_H

#include <stdbool.h>

#include "task/task.h"

/* Claims a task, if it waits. True: the caller must deliver the task now, and the task's wait returns `reason`. But if
 * the task is in I/O, to deliver it means to cancel the operation, and the operation decides what the task's call
 * returns. False: the task did not wait; or it is being moved to another runner, and the thread that moves the task
 * delivers it. */
bool verge__claim(verge_task *task, int reason);

/* Puts a task that was claimed into a queue of the calling runner, if this runner may take the task over (J7),
 * otherwise of the task's own runner. */
void verge__deliver(verge_task *task);

/* Puts a task that was claimed, or is new, into a queue of its own runner. `here` is the calling runner, or NULL. */
void verge__deliver_home(verge__runner *here, verge_task *task);

/* Delivers all tasks of a queue. They were claimed. */
void verge__deliver_all(verge__task_queue *queue);

/* Claims and delivers a task, if it waits. */
void verge__wake(verge_task *task, int reason);

/* Cancels a task (T4 in verge/task.h), and wakes it. */
void verge__cancel(verge_task *task);

#endif
