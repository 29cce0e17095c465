/* SPDX-License-Identifier: MIT */
/* task/queue.h - how tasks get to a runner, from any thread: its inbox, its list of tasks, and how it is woken. */
#ifndef VERGE_SRC_TASK_QUEUE_H
#define VERGE_SRC_TASK_QUEUE_H

#include <stdbool.h>

#include "task/task.h"

/* What an inbox holds when its runner has left, or when its runner was added during a run and the runner's thread has
 * not begun. */
extern verge_task verge__inbox_closed;

/* Puts a task that is READY, or in IO_CANCEL, into the inbox of its runner, and wakes the runner if it waits. */
void verge__post(verge_task *task);

/* By the runner's own thread: takes all tasks of its inbox, the oldest first, linked by `next`. NULL: there is none. */
verge_task *verge__inbox_take(verge__runner *runner);

/* As verge__inbox_take, but by the thread of another runner. NULL: there were none, or another thread has changed the
 * inbox meanwhile. */
verge_task *verge__inbox_take_of_other(verge__runner *victim);

/* Whether there is a task in the inbox. */
bool verge__inbox_has_tasks(const verge__runner *runner);

/* Makes the loop of a runner look for work. From any thread. True: the runner waited, or was about to wait. */
bool verge__runner_notify(verge__runner *runner);

/* Call it after a change that the loop of the runner must see, such as a flag of the runner or of the runtime. Sets
 * `attention`, and makes the loop look. */
void verge__runner_alert(verge__runner *runner);

/* Adds a task to the list of a runner, which is the task's runner from then on. False: the inbox of the runner is
 * closed. */
bool verge__list_task(verge__runner *runner, verge_task *task);

/* Removes a task from the list of its runner, because the task has ended or goes to another runner. */
void verge__unlist_task(verge__runner *runner, verge_task *task);

#endif
