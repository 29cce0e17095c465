/* SPDX-License-Identifier: MIT */
/*
 * What a runner does when it retires. Its tasks that are ready, or wait for anything but I/O, go to another runner. A
 * task in I/O stays, and moves when its operation is done. The timer of a task that moved may still run on the worker
 * of this runner, or on the one to which the service gives the timer when this worker leaves. The timer wakes its task,
 * wherever the task is.
 */
#include <errno.h>

#include "base/step.h"
#include "task/latch.h"
#include "task/queue.h"
#include "task/share.h"
#include "task/wait.h"

verge__runner *verge__pick_runner(verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t tries = 0; tries < count; tries++) {
        const uint32_t index = atomic_fetch_add(&runtime->next_runner, 1) % count;
        if (!atomic_load(&runtime->runners[index]->is_retiring)) {
            return runtime->runners[index];
        }
    }
    return runtime->runners[0];
}

/* Moves a task to another runner, and returns that runner. No other thread may resume or move the task meanwhile: the
 * caller has taken it out of a queue, or has made it MOVING. */
static verge__runner *move(verge__runner *runner, verge_task *task) {
    verge__end_io_timer(task);
    verge__unlist_task(runner, task);
    VERGE__STEP("move: under way");
    verge__runner *target;
    do {
        target = verge__pick_runner(runner->runtime);
    } while (!verge__list_task(target, task));
    VERGE__STEP("move: arrived");
    verge__count(&runner->migrated);
    return target;
}

static verge_task *first_waiting(verge__runner *runner) {
    verge__lock(&runner->list_latch);
    verge_task *task = verge__listed_task(runner->listed);
    for (; task != NULL; task = verge__listed_task(task->listed.next)) {
        uint8_t state = VERGE__TASK_WAITING;
        if (atomic_compare_exchange_strong(&task->state, &state, VERGE__TASK_MOVING)) {
            break;
        }
    }
    verge__unlock(&runner->list_latch);
    return task;
}

/* Returns why a task was woken while it was moved. If the state is MOVING, the task was not woken, but is cancelled
 * now. */
static uint8_t reason_of(uint8_t state) {
    switch (state) {
    case VERGE__TASK_MOVING_WOKEN:
        return 0;
    case VERGE__TASK_MOVING_TIMED_OUT:
        return ETIMEDOUT;
    default:
        return ECANCELED;
    }
}

/* A task that waits has arrived at its new runner, `target`. If the runtime stops, target may have cancelled its tasks
 * before this task came, so the task is cancelled here. If target retires, it may have looked for waiting tasks before
 * this task was WAITING, so target must look again. */
static void go_on_waiting(verge__runner *target, verge_task *task) {
    const bool is_stopping = atomic_load(&task->runtime->is_stopping);
    uint8_t state = VERGE__TASK_MOVING;
    if (is_stopping) {
        atomic_store(&task->is_cancelled, true);
    } else if (atomic_compare_exchange_strong(&task->state, &state, VERGE__TASK_WAITING)) {
        if (atomic_load(&target->is_retiring)) {
            verge__runner_alert(target);
        }
        return;
    }
    state = atomic_exchange(&task->state, VERGE__TASK_READY); /* from here on nobody else wakes it */
    task->wake_reason = reason_of(state);
    verge__post(task);
}

bool verge__runner_move_tasks(verge__runner *runner) {
    bool has_moved = false;
    for (;;) {
        verge_task *task = verge__take_ready(runner);
        const bool is_ready = task != NULL;
        if (!is_ready) {
            task = first_waiting(runner);
        }
        if (task == NULL) {
            return has_moved;
        }
        verge__runner *target = move(runner, task);
        if (is_ready) {
            verge__post(task);
        } else {
            go_on_waiting(target, task);
        }
        has_moved = true;
    }
}

bool verge__runner_has_left(verge__runner *runner) {
    verge__lock(&runner->list_latch);
    verge_task *none = NULL;
    const bool has_left =
        runner->listed == NULL && atomic_compare_exchange_strong(&runner->inbox, &none, &verge__inbox_closed);
    verge__unlock(&runner->list_latch);
    return has_left;
}
