/* SPDX-License-Identifier: MIT */
/* Running a runtime until no task is left; workers that come and go meanwhile. */
#define _GNU_SOURCE

#include <errno.h>

#include "base/step.h"
#include "reactor/reactor.h"
#include "task/current.h"
#include "task/dump.h"
#include "task/latch.h"
#include "task/queue.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/waiters.h"

/* ---- running ---- */

static void set_stage(verge_runtime *runtime, verge__runtime_stage stage) {
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->stage = stage;
    (void)pthread_cond_broadcast(&runtime->changed);
    (void)pthread_mutex_unlock(&runtime->lock);
}

/* Tells the thread that started this one whether the runner could be opened, and waits until all threads have reported.
 * True: the runner is to run. */
static bool report(verge__runner *runner, int error) {
    verge_runtime *runtime = runner->runtime;
    (void)pthread_mutex_lock(&runtime->lock);
    runner->start_error = error;
    runner->has_reported = true;
    if (error == 0 && atomic_load(&runner->inbox) == &verge__inbox_closed) {
        atomic_store(&runner->inbox, NULL);
    }
    (void)pthread_cond_broadcast(&runtime->changed);
    while (runtime->stage == VERGE__RUNTIME_STARTING) {
        (void)pthread_cond_wait(&runtime->changed, &runtime->lock);
    }
    const bool runs = error == 0 && runtime->stage == VERGE__RUNTIME_RUNNING;
    (void)pthread_mutex_unlock(&runtime->lock);
    return runs;
}

/* The cleanup handler of a thread that ends in a task (lost.c). The worker retires: it runs no more tasks. */
static void retire_lost(void *argument) {
    verge__runner *runner = argument;
    verge__lose_running_task();
    atomic_store(&runner->is_retiring, true);
    verge__runner_loop(runner);
    verge__overflow_unwatch(runner);
    verge__runner_close(runner);
}

static void *runner_main(void *argument) {
    verge__runner *runner = argument;
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    const int error = verge__runner_open(runner, NULL);
    if (report(runner, error)) {
        verge__overflow_watch(runner);
        pthread_cleanup_push(retire_lost, runner);
        verge__runner_loop(runner);
        pthread_cleanup_pop(0);
        verge__overflow_unwatch(runner);
    }
    if (error == 0) {
        verge__runner_close(runner);
    }
    return NULL;
}

/* Called with the lock held. The lock is released while the thread opens its runner. */
static int start_thread(verge__runner *runner) {
    runner->has_reported = false;
    if (pthread_create(&runner->thread, NULL, runner_main, runner) != 0) {
        return -EAGAIN;
    }
    runner->has_thread = true;
    while (!runner->has_reported) {
        (void)pthread_cond_wait(&runner->runtime->changed, &runner->runtime->lock);
    }
    return runner->start_error;
}

static int start_threads(verge_runtime *runtime) {
    int error = 0;
    (void)pthread_mutex_lock(&runtime->lock);
    for (uint32_t i = 1; error == 0 && i < atomic_load(&runtime->runner_count); i++) {
        verge__runner *runner = runtime->runners[i];
        if (atomic_load(&runner->inbox) != &verge__inbox_closed) {
            error = start_thread(runner);
        }
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    return error;
}

static void join_threads(verge_runtime *runtime) {
    for (uint32_t i = 1; i < atomic_load(&runtime->runner_count); i++) {
        verge__runner *runner = runtime->runners[i];
        if (runner->has_thread) {
            (void)pthread_join(runner->thread, NULL);
            runner->has_thread = false;
        }
    }
}

/* A run, and its first task, which the run joins. */
typedef struct verge__task_run {
    verge_runtime *runtime;
    verge_task *main; /* NULL: there is none */
    verge__waiter joiner;
    intptr_t result;
} verge__task_run;

/* Called before the loop of worker 0. No other worker can run the task. */
static int spawn_main(verge__task_run *run, verge_task_function function, void *argument) {
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.runtime = run->runtime;
    options.worker_id = 0;
    options.function = function;
    options.argument = argument;
    options.name = options.label = "main";
    const int error = verge_spawn_with(&options, &run->main);
    if (error == 0) {
        verge__lock(&run->main->latch);
        run->main->joiner = &run->joiner;
        verge__unlock(&run->main->latch);
    }
    return error;
}

/* Called after the loop of worker 0. If the first task has not ended (-EDEADLK), nobody joins it any more. */
static void join_main(verge__task_run *run) {
    verge_task *task = run->main;
    if (task == NULL) {
        return;
    }
    verge__lock(&task->latch);
    const bool has_ended = task->has_ended;
    task->joiner = NULL;
    task->is_detached = !has_ended;
    verge__unlock(&task->latch);
    if (has_ended) {
        (void)verge__take_result(task, &run->result);
    }
}

/* If there is a task, clears VERGE__RUN_OVER, which the last run has left; otherwise sets it. No loop runs yet. */
static void begin_run(verge_runtime *runtime) {
    uint64_t tasks = atomic_load(&runtime->tasks);
    uint64_t begun;
    do {
        begun = (tasks & ~VERGE__RUN_OVER) != 0 ? tasks & ~VERGE__RUN_OVER : VERGE__RUN_OVER;
    } while (!atomic_compare_exchange_weak(&runtime->tasks, &tasks, begun));
}

/* Called when runner 0 is open: spawns the first task, and lets the run begin. */
static int begin_tasks(verge__task_run *run, verge_task_function function, void *argument) {
    verge_runtime *runtime = run->runtime;
    const int error = function != NULL ? spawn_main(run, function, argument) : 0;
    if (error != 0) {
        return error;
    }
    begin_run(runtime);
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->backend = verge__reactor_name(runtime->runners[0]->reactor);
    (void)pthread_mutex_unlock(&runtime->lock);
    return 0;
}

static bool is_virtual(const verge_runtime *runtime) {
    return runtime->options.virtual_clock != NULL;
}

static int open_run(verge_runtime *runtime) {
    for (uint32_t i = 0; i < atomic_load(&runtime->runner_count); i++) {
        atomic_store(&runtime->runners[i]->reactor_error, 0); /* the run before may have left an error */
    }
    if (!is_virtual(runtime)) {
        return verge__runner_open(runtime->runners[0], NULL);
    }
    verge__reactor *reactor;
    int error = verge__reactor_open(verge__reactor_kind_of(runtime->options.backend), runtime->ring_entry_count,
                                    &runtime->allocator, &reactor);
    if (error == 0) {
        error = verge__runner_open(runtime->runners[0], reactor);
        if (error != 0) {
            verge__reactor_close(reactor);
        }
    }
    return error;
}

static int loop_run(verge_runtime *runtime) {
    if (is_virtual(runtime)) {
        return verge__virtual_loop(runtime, runtime->runners[0]->reactor);
    }
    verge__runner_loop(runtime->runners[0]);
    return 0;
}

static void close_run(verge_runtime *runtime) {
    verge__runner *first = runtime->runners[0];
    verge__observe_end(runtime);
    set_stage(runtime, VERGE__RUNTIME_ENDING);
    if (is_virtual(runtime)) {
        verge__virtual_close(runtime);
        verge__reactor_close(first->reactor);
    } else {
        join_threads(runtime);
        verge__runner_close(first);
    }
}

/* A stop ends with the run. But if tasks are left, the stop stays, for the next run: this run may have failed before it
 * ran the tasks. */
static void end_run(verge_runtime *runtime) {
    if (verge__task_count(runtime) == 0) {
        atomic_store(&runtime->is_stopping, false);
    }
    set_stage(runtime, VERGE__RUNTIME_IDLE);
}

/* As retire_lost, for the thread of worker 0: this handler runs the tasks that are left, and ends the run. If one of
 * these tasks ends the thread, too, the handler is called once more. */
static void end_lost(void *argument) {
    verge__task_run *run = argument;
    verge_runtime *runtime = run->runtime;
    verge__lose_running_task();
    (void)loop_run(runtime);
    join_main(run);
    verge__overflow_unwatch(runtime->runners[0]);
    close_run(runtime);
    end_run(runtime);
}

static int run_and_close(verge__task_run *run, verge_task_function function, void *argument) {
    verge_runtime *runtime = run->runtime;
    int error = open_run(runtime);
    if (error != 0) {
        return error;
    }
    if (!is_virtual(runtime)) {
        error = start_threads(runtime);
        VERGE__STEP("run: threads started");
    }
    if (error == 0) {
        error = verge__observe_begin(runtime);
    }
    if (error == 0) {
        error = begin_tasks(run, function, argument);
    }
    if (error == 0) {
        set_stage(runtime, VERGE__RUNTIME_RUNNING);
        verge__overflow_watch(runtime->runners[0]);
        pthread_cleanup_push(end_lost, run);
        error = loop_run(runtime);
        pthread_cleanup_pop(0);
        join_main(run);
        verge__overflow_unwatch(runtime->runners[0]);
        if (error == 0 && atomic_load(&runtime->has_lost_worker)) {
            error = -EOWNERDEAD;
        }
    }
    close_run(runtime);
    return error;
}

int verge_runtime_run(verge_runtime *runtime, verge_task_function function, void *argument, intptr_t *ret_result) {
    if (runtime == NULL || verge__current_runner() != NULL) {
        return runtime == NULL ? -EINVAL : -EBUSY;
    }
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    const bool is_idle = runtime->stage == VERGE__RUNTIME_IDLE;
    if (is_idle) {
        runtime->stage = VERGE__RUNTIME_STARTING;
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    if (!is_idle) {
        return -EBUSY;
    }
    verge__task_run run = {.runtime = runtime};
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    atomic_store(&runtime->has_lost_worker, false);
    const int error = run_and_close(&run, function, argument);
    end_run(runtime);
    (void)pthread_setcancelstate(cancel_state, &cancel_state);
    if (error == 0 && ret_result != NULL) {
        *ret_result = run.result;
    }
    return error;
}

void verge_runtime_stop(verge_runtime *runtime) {
    if (runtime != NULL && !verge__runtime_is_forked(runtime)) {
        atomic_store(&runtime->is_stopping, true);
        (void)atomic_fetch_add(&runtime->stop_count, 1);
        verge__alert_all(runtime);
    }
}

/* ---- workers ---- */

int verge_runtime_add_worker(verge_runtime *runtime, uint32_t *ret_worker_id) {
    if (runtime == NULL || verge__runtime_is_forked(runtime)) {
        return runtime == NULL ? -EINVAL : -ECHILD;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    VERGE__STEP("add: stage");
    while (runtime->stage == VERGE__RUNTIME_STARTING) { /* run is starting threads, and might not see the new runner */
        (void)pthread_cond_wait(&runtime->changed, &runtime->lock);
    }
    const uint32_t index = atomic_load(&runtime->runner_count);
    const bool needs_thread = runtime->options.virtual_clock == NULL && runtime->stage == VERGE__RUNTIME_RUNNING;
    int error = verge__add_runner(runtime, needs_thread);
    if (error == 0 && needs_thread) {
        error = start_thread(runtime->runners[index]);
        if (error != 0) { /* the index of the new runner stays unused */
            atomic_store(&runtime->runners[index]->is_retiring, true);
        }
    }
    if (error == 0) { /* in virtual time, the loop of all runners wakes up; otherwise, the others begin to share */
        verge__alert_all(runtime);
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    if (error == 0 && ret_worker_id != NULL) {
        *ret_worker_id = index;
    }
    return error;
}

int verge_runtime_retire_worker(verge_runtime *runtime, uint32_t worker_id) {
    if (runtime == NULL || worker_id == 0 || worker_id >= atomic_load(&runtime->runner_count)) {
        return -EINVAL;
    }
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    verge__runner *runner = runtime->runners[worker_id];
    if (atomic_exchange(&runner->is_retiring, true)) {
        return -EALREADY;
    }
    verge__runner_alert(runner);
    return 0;
}
