/* SPDX-License-Identifier: MIT */
/*
 * The thread of a worker ends in the middle of a task: by pthread_exit, or by pthread_cancel where the task has allowed
 * that. The C library unwinds the task's stack and runs the handler that run.c has left on the thread's own. There the
 * worker lives on until its tasks have gone: they are cancelled, as by a stop, so that they clean up and end; on other
 * workers, unless it is worker 0, whose caller's frames are still there then. Only the task itself is lost:
 *   X1  it has ended without a result, and counts as ended; who joins it gets -EOWNERDEAD.
 *   X2  its stack stays as it is until the runtime is destroyed: a mutex that it has locked still names it.
 *   X3  is_lost is set before the stop that follows is counted. Each runner cancels its tasks after that, so that
 *       whoever waits for such a mutex wakes up, and sees it.
 */
#include "task/task_internal.h"

void verge__lose_running_task(void) {
    verge__runner *runner = verge__current_runner();
    verge_runtime *runtime = runner->runtime;
    verge_task *task = runner->running;
    atomic_store(&runtime->has_lost_worker, true);
    if (task != NULL) {
        verge__context_unwound(&task->context, &runner->context);
        runner->running = NULL;
        verge__drop_io_timer(task);
        atomic_store(&task->state, VERGE__TASK_ENDED);
        atomic_store(&task->is_lost, true);
        verge__task_ended(runner, task);
    }
    verge_runtime_stop(runtime);
}
