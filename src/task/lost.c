/* SPDX-License-Identifier: MIT */
#include "task/current.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/wait.h"
/*
 * The thread of a worker may end in the middle of a task: by pthread_exit, or by pthread_cancel if the task has enabled
 * that. The C library unwinds the task's stack, and then runs the cleanup handler that run.c has pushed on the thread's
 * own stack. In this handler the worker continues until its tasks have gone. They are cancelled, as by a stop, so they
 * clean up and end. For that they move to other workers, unless the lost worker is worker 0: the frames of its caller
 * still exist, so its tasks end on worker 0. Only the task that ended the thread is lost:
 *   X1  it has ended without a result. A task that joins it gets -EOWNERDEAD.
 *   X2  its stack stays until the runtime is destroyed, since a mutex that it has locked still points to it.
 *   X3  is_lost is set before the stop that follows is counted. Each runner cancels its tasks after that. So a task
 *       that waits for such a mutex wakes up, and sees is_lost.
 */

void verge__lose_running_task(void) {
    verge__runner *runner = verge__current_runner();
    verge_runtime *runtime = runner->runtime;
    verge_task *task = runner->running;
    atomic_store(&runtime->has_lost_worker, true);
    if (task != NULL) {
        verge__context_unwound(&task->context, &runner->context);
        runner->running = NULL;
        verge__end_io_timer(task);
        atomic_store(&task->state, VERGE__TASK_ENDED);
        atomic_store(&task->is_lost, true);
        verge__task_ended(runner, task);
    }
    verge_runtime_stop(runtime);
}
