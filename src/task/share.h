/* SPDX-License-Identifier: MIT */
/* task/share.h - the queues of ready tasks: the one that only its runner uses, and those from which other runners may
 * take tasks (J7 in task.h). A runner shares if other runners may take its tasks. */
#ifndef VERGE_SRC_TASK_SHARE_H
#define VERGE_SRC_TASK_SHARE_H

#include <stdatomic.h>

#include "base/compiler.h"
#include "task/runner.h"

/* For a runner that shares, by its own thread: puts a ready task into one of the runner's queues (share.c). */
void verge__share(verge__runner *runner, verge_task *task);

/* For a runner that shares, by its own thread: takes out the next task, for verge__runner_pop. */
verge_task *verge__take_shared(verge__runner *runner, const verge_task *self);

/* Whether the runner has tasks in its ring or its overflow. */
bool verge__has_shared(const verge__runner *runner);

/* By the runner's own thread, whether it shares or not: takes out a ready task, to give it to another runner. NULL:
 * there is none. */
verge_task *verge__take_ready(verge__runner *runner);

/* Call it when the runner begins to run tasks. Offers the tasks that others may take: now those that are there, and
 * then each task that the runner adds in this round. */
void verge__offer_rest(verge__runner *runner);

/* Takes over a task that the calling runner has claimed, if it may (J7). True: it did, and the caller pushes the
 * task. */
bool verge__take_over(verge__runner *runner, verge_task *task);

/* Takes ready tasks of another runner, and makes them tasks of the calling runner. False: it took none. */
bool verge__steal(verge__runner *runner, verge__runner *victim);

/* As verge__steal, for tasks in the inbox of the other runner. */
bool verge__steal_inbox(verge__runner *runner, verge__runner *victim);

/* Whether other runners may take this task of the runner as soon as it is not live. */
static inline bool verge__may_go_elsewhere(const verge__runner *runner, const verge_task *task) {
    return !task->is_pinned && atomic_load_explicit(&runner->shares, memory_order_acquire) &&
           atomic_load(&task->state) == VERGE__TASK_READY;
}

/* Whether other runners may take this task of the runner now. Only runners that share set is_live. So a task that ran
 * before its runner shared has no is_live, even while the runner is on its stack. But the runner sets `shares`
 * (release) between two tasks. So a thread that reads `shares` as true (acquire) knows that the runner has left the
 * stacks of all such tasks. */
static inline bool verge__may_be_taken(const verge__runner *runner, const verge_task *task) {
    return verge__may_go_elsewhere(runner, task) && !verge__context_is_live(&task->context);
}

/* Puts a task that is READY into the queue of the calling runner, which is the task's runner. */
static inline void verge__runner_push(verge__runner *runner, verge_task *task) {
    if (VERGE__LIKELY(!runner->has_others)) {
        verge__queue_push(&runner->ready, task);
    } else {
        verge__share(runner, task);
    }
}

/* Takes out the next task, which the caller resumes now. NULL: there is none. self: the task on whose stack the caller
 * runs; NULL: the loop calls. */
static inline verge_task *verge__runner_pop(verge__runner *runner, const verge_task *self) {
    if (VERGE__LIKELY(!runner->has_others)) {
        return verge__queue_pop(&runner->ready);
    }
    return verge__take_shared(runner, self);
}

#endif
