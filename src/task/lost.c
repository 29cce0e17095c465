/* SPDX-License-Identifier: MIT */
#include "task/current.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/wait.h"
/*
 * The thread of a worker may end in the middle of a task: by pthread_exit, or by pthread_cancel if the task has enabled
 * that. The C library unwinds the task's stack, and then runs the cleanup handler that run.c has pushed on the thread's
 * own stack. In this handler the worker continues until its tasks have gone. All tasks are cancelled, as by a stop, so
 * they clean up and end. For that, the tasks of the worker move to other workers. But the tasks of worker 0 stay: its
 * thread is still in the cleanup handler of verge_runtime_run, and runs these tasks to their end. Only the task that
 * ended the thread is lost:
 *   X1  the lost task has ended without a result. A task that joins it gets -EOWNERDEAD.
 *   X2  its stack, which contains the verge_task, stays until the runtime is destroyed: a mutex that the task has
 *       locked still points to the task.
 *   X3  is_lost is set before stop_count is raised. Each runner cancels its tasks after it has seen the new count. So a
 *       task that waits for such a mutex wakes up, and sees is_lost.
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
        runner->offers_later = true; /* as at the end of a round */
    }
    verge_runtime_stop(runtime);
}
