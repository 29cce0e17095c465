/* SPDX-License-Identifier: MIT */
/* Tasks come, are waited for, and go. */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/step.h"
#include "task/task_internal.h"

/* ---- memory: the task is in the head of its stack ---- */

static int take_stack(struct verge_runtime *runtime, struct verge__stack **ret_stack) {
    struct verge__runner *runner = verge__current_runner();
    if (runner != NULL && runner->runtime == runtime) {
        return verge__stack_take(&runner->stacks, ret_stack);
    }
    (void)pthread_mutex_lock(&runtime->lock);
    const int error = verge__stack_take(&runtime->outside_stacks, ret_stack);
    (void)pthread_mutex_unlock(&runtime->lock);
    return error;
}

static void give_stack(struct verge_runtime *runtime, struct verge__stack *stack) {
    struct verge__runner *runner = verge__current_runner();
    if (runner != NULL && runner->runtime == runtime) {
        verge__stack_give(&runner->stacks, stack);
        return;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    verge__stack_give(&runtime->outside_stacks, stack);
    (void)pthread_mutex_unlock(&runtime->lock);
}

/* Nobody refers to it any more. */
static void release_task(const struct verge_task *task) {
    if (!atomic_load(&task->is_lost)) { /* X2 */
        give_stack(task->runtime, task->stack);
    }
}

/* ---- the life of a task ---- */

static void task_main(void *argument) {
    struct verge_task *self = argument;
    self->result = self->function(self->argument);
    verge__drop_io_timer(self);
    atomic_store(&self->state, VERGE__TASK_ENDED);
    verge__context_leave(&self->context, &verge__current_runner()->context);
}

/* Only tasks that will run are counted: whoever ends the last one ends the loops. */
static int count_task(struct verge_runtime *runtime) {
    const uint64_t max = runtime->options.task_count_max;
    uint64_t tasks = atomic_load(&runtime->tasks);
    do {
        if (max != 0 && (tasks & ~VERGE__RUN_OVER) >= max) {
            return -ENOSPC;
        }
    } while (!atomic_compare_exchange_weak(&runtime->tasks, &tasks, tasks + 1));
    return 0;
}

static void uncount_task(struct verge_runtime *runtime) {
    uint64_t tasks = atomic_load(&runtime->tasks);
    uint64_t left;
    do {
        left = tasks == 1 ? VERGE__RUN_OVER : tasks - 1;
    } while (!atomic_compare_exchange_weak(&runtime->tasks, &tasks, left));
    if (left == VERGE__RUN_OVER) {
        verge__alert_all(runtime);
    }
}

static int create_task(struct verge_runtime *runtime, const verge_spawn_options *options, bool is_detached,
                       struct verge_task **ret_task) {
    struct verge__stack *stack;
    int error = take_stack(runtime, &stack);
    if (error != 0) {
        return error;
    }
    error = count_task(runtime);
    if (error != 0) {
        give_stack(runtime, stack);
        return error;
    }
    struct verge_task *task = verge__stack_block(&runtime->stacks, stack);
    memset(task, 0, sizeof(*task));
    task->function = options->function;
    task->argument = options->argument;
    task->name = options->name;
    task->is_detached = is_detached;
    task->stack = stack;
    task->runtime = runtime;
    task->io_deadline_ns = VERGE_NEVER;
    task->drained_fd = -1;
    verge__context_init(&task->context, stack->low, verge__stack_room(&runtime->stacks, stack), task_main, task);
    *ret_task = task;
    return 0;
}

void verge__task_ended(struct verge__runner *runner, struct verge_task *task) {
    struct verge_runtime *runtime = task->runtime;
    verge__context_deinit(&task->context);
    verge__unlist_task(runner, task);
    verge__lock(&task->guard);
    task->has_ended = true;
    const bool is_detached = task->is_detached;
    struct verge_task *joiner = task->joiner;
    const bool is_claimed = joiner != NULL && verge__claim(joiner, 0);
    verge__unlock(&task->guard); /* from here on it is its joiner's */
    if (is_claimed) {
        verge__deliver(joiner);
    }
    if (is_detached) {
        release_task(task);
    }
    uncount_task(runtime);
    VERGE__STEP("task: ended");
}

/* ---- spawn ---- */

static void count_spawned(struct verge_runtime *runtime) {
    struct verge__runner *runner = verge__current_runner();
    if (runner != NULL && runner->runtime == runtime) {
        verge__count(&runner->spawned);
    } else {
        (void)atomic_fetch_add(&runtime->spawned_outside, 1);
    }
}

static void hand_over(struct verge__runner *runner, struct verge_task *task) {
    while (!verge__list_task(runner, task)) { /* it has left in this very moment */
        runner = verge__pick_runner(runner->runtime);
    }
    verge__deliver(task);
}

static int spawn(struct verge_runtime *runtime, struct verge__runner *target, const verge_spawn_options *options,
                 verge_task **ret_task) {
    if (options->function == NULL) {
        return -EINVAL;
    }
    if (atomic_load(&runtime->is_stopping)) {
        return -ESHUTDOWN;
    }
    struct verge_task *task;
    const int error = create_task(runtime, options, ret_task == NULL, &task);
    if (error != 0) {
        return error;
    }
    count_spawned(runtime);
    if (ret_task != NULL) {
        *ret_task = task; /* before it can run, and end */
    }
    hand_over(target, task);
    return 0;
}

static struct verge__runner *runner_at(struct verge_runtime *runtime, uint32_t index) {
    struct verge__runner *here = index == VERGE_WORKER_HERE ? verge__current_runner() : NULL;
    if (here != NULL && here->runtime == runtime) {
        return here;
    }
    if (index == VERGE_WORKER_ANY || index == VERGE_WORKER_HERE) {
        return verge__pick_runner(runtime);
    }
    return index < atomic_load(&runtime->runner_count) ? runtime->runners[index] : NULL;
}

int verge_spawn(verge_task_function function, void *argument, verge_task **ret_task) {
    struct verge__runner *runner = verge__current_runner();
    if (runner == NULL || runner->running == NULL) {
        return -EPERM;
    }
    const verge_spawn_options options = {.function = function, .argument = argument};
    return spawn(runner->runtime, runner, &options, ret_task);
}

int verge_spawn_on(uint32_t worker_index, verge_task_function function, void *argument, verge_task **ret_task) {
    const struct verge_task *self = verge__current_task();
    return self != NULL ? verge_runtime_spawn(self->runtime, worker_index, function, argument, ret_task) : -EPERM;
}

int verge_runtime_spawn(verge_runtime *runtime, uint32_t worker_index, verge_task_function function, void *argument,
                        verge_task **ret_task) {
    struct verge__runner *runner = runtime != NULL ? runner_at(runtime, worker_index) : NULL;
    const verge_spawn_options options = {.function = function, .argument = argument};
    return runner != NULL ? spawn(runtime, runner, &options, ret_task) : -EINVAL;
}

int verge_spawn_options_init_sized(verge_spawn_options *options, size_t struct_size) {
    if (options == NULL || struct_size < sizeof(size_t)) {
        return -EINVAL;
    }
    const verge_spawn_options all = {.struct_size = struct_size, .worker_index = VERGE_WORKER_HERE};
    memset(options, 0, struct_size);
    memcpy(options, &all, struct_size < sizeof(all) ? struct_size : sizeof(all));
    return 0;
}

int verge_spawn_with(const verge_spawn_options *options, verge_task **ret_task) {
    verge_spawn_options all;
    (void)verge_spawn_options_init(&all);
    if (options == NULL || options->struct_size < sizeof(size_t)) {
        return -EINVAL;
    }
    memcpy(&all, options, options->struct_size < sizeof(all) ? options->struct_size : sizeof(all));
    const struct verge_task *self = verge__current_task();
    if (all.runtime == NULL && self == NULL) {
        return -EPERM;
    }
    struct verge_runtime *runtime = all.runtime != NULL ? all.runtime : self->runtime;
    struct verge__runner *runner = runner_at(runtime, all.worker_index);
    return runner != NULL ? spawn(runtime, runner, &all, ret_task) : -EINVAL;
}

/* ---- join and detach ---- */

static int take_result(struct verge_task *task, intptr_t *ret_result) {
    if (atomic_load(&task->is_lost)) {
        return -EOWNERDEAD;
    }
    if (ret_result != NULL) {
        *ret_result = task->result;
    }
    release_task(task);
    return 0;
}

/* 1: it has ended. 0: the calling task is registered, and has begun to wait. */
static int begin_join(struct verge_task *self, struct verge_task *task) {
    int result = 0;
    verge__lock(&task->guard);
    if (task->is_detached) {
        result = -EINVAL;
    } else if (task->joiner != NULL) { /* also if it has ended: its joiner has yet to see that */
        result = -EBUSY;
    } else if (task->has_ended) {
        result = 1;
    } else {
        verge__wait_begin(self);
        task->joiner = self;
    }
    verge__unlock(&task->guard);
    return result;
}

static bool end_join(struct verge_task *task) {
    verge__lock(&task->guard);
    const bool has_ended = task->has_ended;
    if (!has_ended) {
        task->joiner = NULL;
    }
    verge__unlock(&task->guard);
    return has_ended;
}

/* Having begun to wait. It stays registered: who is woken for no good, as it is cancelled, begins again. */
static void wait_for_end(struct verge_task *self, struct verge_task *task) {
    bool has_ended = false;
    while (!has_ended) {
        (void)verge__wait(self, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
        verge__lock(&task->guard);
        has_ended = task->has_ended;
        if (!has_ended) {
            verge__wait_begin(self);
        }
        verge__unlock(&task->guard);
    }
}

static int join(verge_task *task, intptr_t *ret_result, uint64_t deadline_ns, enum verge__wait_mode mode) {
    struct verge_task *self = verge__current_task();
    if (self == NULL || task == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    if (task == self) {
        return -EDEADLK;
    }
    verge__begin_call();
    const int begun = begin_join(self, task);
    if (begun < 0) {
        return begun;
    }
    if (begun == 0 && mode == VERGE__WAIT_REGARDLESS) {
        wait_for_end(self, task);
    } else if (begun == 0) {
        const int reason = verge__wait(self, deadline_ns, mode);
        if (!end_join(task)) {
            VERGE__INVARIANT(reason != 0, "J2: whoever wakes a joiner has ended");
            return verge__count_if_timeout(reason);
        }
    }
    return take_result(task, ret_result);
}

int verge_join_until(verge_task *task, intptr_t *ret_result, uint64_t deadline_ns) {
    return join(task, ret_result, deadline_ns, VERGE__WAIT);
}

int verge_join_regardless(verge_task *task, intptr_t *ret_result) {
    return join(task, ret_result, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
}

int verge_join(verge_task *task, intptr_t *ret_result) {
    return verge_join_until(task, ret_result, VERGE_NEVER);
}

int verge_detach(verge_task *task) {
    if (task == NULL) {
        return -EINVAL;
    }
    verge__lock(&task->guard);
    const int error = task->is_detached ? -EINVAL : task->joiner != NULL ? -EBUSY : 0;
    const bool has_ended = task->has_ended;
    task->is_detached = error == 0 || task->is_detached;
    verge__unlock(&task->guard);
    if (error == 0 && has_ended) {
        release_task(task);
    }
    return error;
}
