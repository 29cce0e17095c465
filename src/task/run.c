/* SPDX-License-Identifier: MIT */
/* Running a runtime until no task is left; workers that come and go meanwhile. */
#include <errno.h>

#include "task/task_internal.h"

/* ---- running ---- */

static void set_stage(struct verge_runtime *runtime, enum verge__runtime_stage stage) {
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->stage = stage;
    (void)pthread_cond_broadcast(&runtime->changed);
    (void)pthread_mutex_unlock(&runtime->lock);
}

/* Reports whether the runner could be opened; true: it is to run. */
static bool report(struct verge__runner *runner, int error) {
    struct verge_runtime *runtime = runner->runtime;
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

static void *runner_main(void *argument) {
    struct verge__runner *runner = argument;
    const int error = verge__runner_open(runner, NULL);
    if (report(runner, error)) {
        verge__runner_loop(runner);
    }
    if (error == 0) {
        verge__runner_close(runner);
    }
    return NULL;
}

/* The lock is held; it is released while the thread opens. */
static int start_thread(struct verge__runner *runner) {
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

static int start_threads(struct verge_runtime *runtime) {
    int error = 0;
    (void)pthread_mutex_lock(&runtime->lock);
    for (uint32_t i = 1; error == 0 && i < atomic_load(&runtime->runner_count); i++) {
        struct verge__runner *runner = runtime->runners[i];
        if (atomic_load(&runner->inbox) != &verge__inbox_closed) {
            error = start_thread(runner);
        }
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    return error;
}

static void join_threads(struct verge_runtime *runtime) {
    for (uint32_t i = 1; i < atomic_load(&runtime->runner_count); i++) {
        struct verge__runner *runner = runtime->runners[i];
        if (runner->has_thread) {
            (void)pthread_join(runner->thread, NULL);
            runner->has_thread = false;
        }
    }
}

struct main_call {
    verge_task_function function;
    void *argument;
    intptr_t result;
};

static intptr_t call_main(void *argument) {
    struct main_call *call = argument;
    call->result = call->function(call->argument);
    return 0;
}

/* With runner 0 open: the first task, and all the rest. */
static int run_main(struct verge_runtime *runtime, struct main_call *call) {
    if (call->function != NULL) {
        const int error = verge_runtime_spawn(runtime, 0, call_main, call, NULL);
        if (error != 0) {
            return error;
        }
    }
    atomic_store(&runtime->is_finished, atomic_load(&runtime->task_count) == 0);
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->backend = verge__reactor_name(runtime->runners[0]->reactor);
    (void)pthread_mutex_unlock(&runtime->lock);
    return 0;
}

static int run_threads(struct verge_runtime *runtime, struct main_call *call) {
    struct verge__runner *first = runtime->runners[0];
    int error = verge__runner_open(first, NULL);
    if (error != 0) {
        return error;
    }
    error = start_threads(runtime);
    if (error == 0) {
        error = run_main(runtime, call);
    }
    if (error == 0) {
        set_stage(runtime, VERGE__RUNTIME_RUNNING);
        verge__runner_loop(first);
    }
    set_stage(runtime, VERGE__RUNTIME_ENDING);
    join_threads(runtime);
    verge__runner_close(first);
    return error;
}

static int run_virtual(struct verge_runtime *runtime, struct main_call *call) {
    struct verge__reactor *reactor;
    int error = verge__reactor_open(verge__reactor_kind(runtime->options.backend), 0, &runtime->allocator, &reactor);
    if (error != 0) {
        return error;
    }
    error = verge__runner_open(runtime->runners[0], reactor);
    if (error == 0) {
        verge__set_current_runner(NULL);
        error = run_main(runtime, call);
        if (error == 0) {
            set_stage(runtime, VERGE__RUNTIME_RUNNING);
            verge__virtual_loop(runtime, reactor);
        }
        set_stage(runtime, VERGE__RUNTIME_ENDING);
        verge__virtual_close(runtime);
    }
    verge__reactor_close(reactor);
    return error;
}

int verge_runtime_run(verge_runtime *runtime, verge_task_function function, void *argument, intptr_t *ret_result) {
    if (runtime == NULL || verge__current_runner() != NULL) {
        return runtime == NULL ? -EINVAL : -EBUSY;
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
    struct main_call call = {.function = function, .argument = argument};
    const int error =
        runtime->options.virtual_clock != NULL ? run_virtual(runtime, &call) : run_threads(runtime, &call);
    atomic_store(&runtime->is_stopping, false);
    set_stage(runtime, VERGE__RUNTIME_IDLE);
    if (error == 0 && ret_result != NULL) {
        *ret_result = call.result;
    }
    return error;
}

void verge_runtime_stop(verge_runtime *runtime) {
    if (runtime != NULL) {
        atomic_store(&runtime->is_stopping, true);
        verge__alert_all(runtime);
    }
}

/* ---- workers ---- */

int verge_runtime_add_worker(verge_runtime *runtime, uint32_t *ret_index) {
    if (runtime == NULL) {
        return -EINVAL;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    while (runtime->stage == VERGE__RUNTIME_STARTING) { /* threads are being started, and this one might be left out */
        (void)pthread_cond_wait(&runtime->changed, &runtime->lock);
    }
    const uint32_t index = atomic_load(&runtime->runner_count);
    const bool needs_thread = runtime->options.virtual_clock == NULL && runtime->stage == VERGE__RUNTIME_RUNNING;
    int error = verge__add_runner(runtime, needs_thread);
    if (error == 0 && needs_thread) {
        error = start_thread(runtime->runners[index]);
        if (error != 0) { /* its place stays empty */
            atomic_store(&runtime->runners[index]->is_retiring, true);
        }
    }
    if (error == 0 && runtime->options.virtual_clock != NULL) { /* worker 0 may wait for all */
        verge__runner_alert(runtime->runners[0]);
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    if (error == 0 && ret_index != NULL) {
        *ret_index = index;
    }
    return error;
}

int verge_runtime_retire_worker(verge_runtime *runtime, uint32_t index) {
    if (runtime == NULL || index == 0 || index >= atomic_load(&runtime->runner_count)) {
        return -EINVAL;
    }
    struct verge__runner *runner = runtime->runners[index];
    if (atomic_exchange(&runner->is_retiring, true)) {
        return -EALREADY;
    }
    verge__runner_alert(runner);
    return 0;
}
