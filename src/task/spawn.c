/* SPDX-License-Identifier: MIT */
/* Spawning, joining and ending tasks. */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sized.h"
#include "base/step.h"
#include "service/sources.h"
#include "task/current.h"
#include "task/latch.h"
#include "task/queue.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/wait.h"
#include "task/waiters.h"
#include "task/wake.h"

/* ---- memory: the task is in the head of its stack ---- */

/* The calling runner, if it belongs to this runtime; otherwise NULL. */
static verge__runner *runner_here(const verge_runtime *runtime) {
    verge__runner *runner = verge__current_runner();
    return runner != NULL && runner->runtime == runtime ? runner : NULL;
}

static int take_stack(verge_runtime *runtime, verge__runner *here, verge__stack **ret_stack) {
    if (here != NULL) {
        return verge__stack_take(&here->stacks, ret_stack);
    }
    (void)pthread_mutex_lock(&runtime->lock);
    const int error = verge__stack_take(&runtime->outside_stacks, ret_stack);
    (void)pthread_mutex_unlock(&runtime->lock);
    return error;
}

static void give_stack(verge_runtime *runtime, verge__stack *stack) {
    verge__runner *here = runner_here(runtime);
    if (here != NULL) {
        verge__stack_give(&here->stacks, stack);
        return;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    verge__stack_give(&runtime->outside_stacks, stack);
    (void)pthread_mutex_unlock(&runtime->lock);
}

/* Called when no pointer to the task is used any more. */
static void release_task(const verge_task *task) {
    if (!atomic_load(&task->is_lost)) { /* X2 (lost.c) */
        give_stack(task->runtime, task->stack);
    }
}

/* ---- the life of a task ---- */

static void task_main(void *argument) {
    verge_task *self = argument;
    atomic_store_explicit(&self->has_begun, true, memory_order_relaxed);
    self->result = self->function(self->argument);
    verge__end_io_timer(self);
    atomic_store(&self->state, VERGE__TASK_ENDED);
    verge__context_leave(&self->context, &verge__current_runner()->context);
}

/*
 * runtime->tasks counts the tasks that have not ended, and the credits: when it becomes 0, the run is over. If each
 * spawn and each end changed this word, runners would compete for it. So a runner has a credit: a number of tasks that
 * are counted but do not exist. A spawn by a task takes 1 from the credit, the end of a task adds 1 to it. A spawn from
 * outside adds 1 to the word. If task_count_max is set, every spawn adds 1 to the word, and each end gives the credit
 * back. The runner gives its credit back before it waits. So when the last task has ended, all credits go back, and the
 * runner that gives back the last one ends the run.
 */
static void add_credit(verge__runner *runner, uint64_t more) {
    atomic_store_explicit(&runner->credit, atomic_load_explicit(&runner->credit, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static int count_task(verge_runtime *runtime, verge__runner *here) {
    enum { CREDIT_AT_ONCE = 32 };
    const uint64_t max = runtime->options.task_count_max;
    if (max == 0 && here != NULL && here->running != NULL) {
        if (atomic_load_explicit(&here->credit, memory_order_relaxed) == 0) {
            (void)atomic_fetch_add(&runtime->tasks, CREDIT_AT_ONCE);
            add_credit(here, CREDIT_AT_ONCE);
        }
        add_credit(here, UINT64_MAX);
        return 0;
    }
    uint64_t tasks = atomic_load(&runtime->tasks);
    do {
        if (max != 0 && (tasks & ~VERGE__RUN_OVER) >= max) {
            return -ENOSPC;
        }
    } while (!atomic_compare_exchange_weak(&runtime->tasks, &tasks, tasks + 1));
    return 0;
}

void verge__give_credit_back(verge__runner *runner) {
    verge_runtime *runtime = runner->runtime;
    const uint64_t credit = atomic_load_explicit(&runner->credit, memory_order_relaxed);
    if (credit == 0) {
        return;
    }
    atomic_store_explicit(&runner->credit, 0, memory_order_relaxed);
    uint64_t tasks = atomic_load(&runtime->tasks);
    uint64_t left;
    do {
        left = tasks == credit ? VERGE__RUN_OVER : tasks - credit;
    } while (!atomic_compare_exchange_weak(&runtime->tasks, &tasks, left));
    if (left == VERGE__RUN_OVER) {
        verge__alert_all(runtime);
        VERGE__STEP("run: over");
    }
}

static int create_task(verge_runtime *runtime, verge__runner *here, const verge_spawn_options *options,
                       bool is_detached, verge_task **ret_task) {
    verge__stack *stack;
    int error = take_stack(runtime, here, &stack);
    if (error != 0) {
        return error;
    }
    error = count_task(runtime, here);
    if (error != 0) {
        give_stack(runtime, stack);
        return error;
    }
    verge_task *task = verge__stack_block(&runtime->stacks, stack);
    const size_t offset =
        offsetof(verge_task, state); /* not the context: a thief with an old index may read its is_live (ring.h, R3) */
    memset((char *)task + offset, 0, offsetof(verge_task, function) - offset);
    task->function = options->function;
    task->argument = options->argument;
    verge__set_name(task, options->name);
    task->label = options->label;
    task->source = VERGE__SOURCE_OTHERS;
    task->is_pinned = options->worker_id < VERGE_WORKER_HERE;
    task->is_detached = is_detached;
    task->stack = stack;
    task->runtime = runtime;
    task->io_deadline_ns = VERGE_NEVER;
    task->drained_fd = -1;
    verge__context_init(&task->context, stack->low, verge__stack_room(&runtime->stacks, stack), task_main, task);
    *ret_task = task;
    return 0;
}

void verge__task_ended(verge__runner *runner, verge_task *task) {
    verge_runtime *runtime = task->runtime;
    verge__context_deinit(&task->context);
    verge__unlist_task(runner, task);
    verge__lock(&task->latch);
    task->has_ended = true;
    const bool is_detached = task->is_detached;
    const bool is_member =
        task->group != NULL; /* a member is detached, so no joiner frees it before the end of this function */
    verge__waiter *joiner = task->joiner;
    const bool is_joined = joiner != NULL && verge__choose(joiner);
    verge_task *woken = is_joined ? verge__grant(joiner) : NULL;
    if (!is_joined && !is_detached) {
        task->is_unjoined = true;
        verge__count(&runner->unjoined);
    }
    verge__unlock(&task->latch); /* from here on, a join or detach may free the task, unless is_detached is set */
    verge__deliver_granted(woken);
    if (is_member) {
        verge__group_leave(task);
    }
    if (is_detached) {
        release_task(task);
    }
    add_credit(runner, 1);
    if (runtime->options.task_count_max != 0) {
        verge__give_credit_back(runner);
    }
    VERGE__STEP("task: ended");
}

/* ---- spawn ---- */

static void count_spawned(verge_runtime *runtime, verge__runner *here) {
    if (here != NULL) {
        verge__count(&here->spawned);
    } else {
        (void)atomic_fetch_add(&runtime->spawned_outside, 1);
    }
}

static void hand_over(verge__runner *here, verge__runner *runner, verge_task *task) {
    while (!verge__list_task(runner, task)) { /* the runner has left, or is not open yet */
        runner = verge__pick_runner(runner->runtime);
    }
    verge__deliver_home(here, task);
}

/* A member of a group inherits the deadline of the scopes of the task that spawned it. It is cancelled if the group has
 * failed (U2). */
static void make_member(const verge_task *self, struct verge_group *group, verge_task *task) {
    task->inherited = (verge_deadline){.deadline_ns = verge__effective_deadline(self, VERGE_NEVER)};
    task->scope = &task->inherited;
    task->group = group;
    verge__group_join(task);
}

/* here: as runner_here returns it. parent: the calling task, if it spawns a member of a group; otherwise NULL. */
static int spawn(verge_runtime *runtime, verge__runner *here, verge__runner *target, const verge_spawn_options *options,
                 const verge_task *parent, verge_task **ret_task) {
    if (options->function == NULL) {
        return -EINVAL;
    }
    if (atomic_load(&runtime->is_stopping)) {
        return -ESHUTDOWN;
    }
    verge_task *task = NULL;
    const int error = create_task(runtime, here, options, ret_task == NULL, &task);
    if (error != 0 || task == NULL) { /* task is NULL only after an error; analysers do not see that */
        return error;
    }
    count_spawned(runtime, here);
    if (ret_task != NULL) {
        *ret_task = task; /* before it can run, and end */
    }
    if (parent != NULL) {
        make_member(parent, options->group, task);
    }
    hand_over(here, target, task);
    return 0;
}

static verge__runner *runner_at(verge_runtime *runtime, verge__runner *here, uint32_t index) {
    if (index == VERGE_WORKER_HERE && here != NULL) {
        return here;
    }
    if (index == VERGE_WORKER_ANY || index == VERGE_WORKER_HERE) {
        return verge__pick_runner(runtime);
    }
    return index < atomic_load(&runtime->runner_count) ? runtime->runners[index] : NULL;
}

int verge_spawn(verge_task_function function, void *argument, verge_task **ret_task) {
    verge__runner *runner = verge__current_runner();
    if (runner == NULL || runner->running == NULL) {
        return -EPERM;
    }
    const verge_spawn_options options = {.function = function, .argument = argument, .worker_id = VERGE_WORKER_HERE};
    return spawn(runner->runtime, runner, runner, &options, NULL, ret_task);
}

int verge_spawn_options_init(verge_spawn_options *options, size_t struct_size) {
    const verge_spawn_options defaults = {.worker_id = VERGE_WORKER_HERE};
    return verge__sized_init(options, struct_size, &defaults, sizeof(defaults));
}

/* The calling task runs on `here`. -EPERM: it neither began the group nor is a member of it. */
static int spawn_member(verge__runner *here, verge__runner *target, const verge_spawn_options *options) {
    int error = verge__group_admit(options->group, here->running);
    if (error != 0) {
        return error;
    }
    error = spawn(here->runtime, here, target, options, here->running, NULL);
    if (error != 0) {
        verge__group_dismiss(options->group);
    }
    return error;
}

int verge_spawn_with(const verge_spawn_options *options, verge_task **ret_task) {
    verge_spawn_options all;
    if (verge__sized_read(options, &all, sizeof(all)) != 0) {
        return -EINVAL;
    }
    const verge_task *self = verge__current_task();
    if (self == NULL && (all.runtime == NULL || all.group != NULL)) {
        return -EPERM;
    }
    verge_runtime *runtime = all.runtime != NULL ? all.runtime : self->runtime;
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    verge__runner *here = runner_here(runtime);
    verge__runner *target = runner_at(runtime, here, all.worker_id);
    if (target == NULL || (all.group != NULL && (ret_task != NULL || here == NULL))) {
        return -EINVAL;
    }
    return all.group != NULL ? spawn_member(here, target, &all) : spawn(runtime, here, target, &all, NULL, ret_task);
}

/* ---- join and detach ---- */

/* Called when a task that has ended is joined or detached. */
static void count_collected(const verge_task *task) {
    if (!task->is_unjoined) {
        return;
    }
    verge__runner *here = runner_here(task->runtime);
    if (here != NULL) {
        verge__count(&here->collected);
    } else {
        (void)atomic_fetch_add(&task->runtime->collected_outside, 1);
    }
}

int verge__take_result(verge_task *task, intptr_t *ret_result) {
    count_collected(task);
    if (atomic_load(&task->is_lost)) {
        return -EOWNERDEAD;
    }
    if (ret_result != NULL) {
        *ret_result = task->result;
    }
    release_task(task);
    return 0;
}

int verge__join_state(const verge_task *self, const verge_task *task) {
    if (task == self || task->is_detached) {
        return task == self ? -EDEADLK : -EINVAL;
    }
    if (task->joiner != NULL) { /* even if the task has ended: its joiner has not seen that yet */
        return -EBUSY;
    }
    return task->has_ended ? 0 : -EAGAIN;
}

/* Called with the latch held, and returns with it held. Waits in a loop, because a cancellation wakes the calling task
 * even in VERGE__WAIT_REGARDLESS. */
static int wait_for_end(verge_task *self, verge_task *task, uint64_t deadline_ns) {
    const verge__wait_mode mode = deadline_ns == VERGE_REGARDLESS ? VERGE__WAIT_REGARDLESS : VERGE__WAIT;
    verge__waiter waiter = {.task = self};
    int reason;
    // cppcheck-suppress autoVariables
    task->joiner = &waiter; /* until the task has ended, or until `joiner` is set to NULL below */
    do {
        verge__wait_begin(self);
        verge__awaits(self, VERGE__AWAITS_TASK, (uintptr_t)task);
        verge__unlock(&task->latch);
        reason = verge__wait(self, deadline_ns, mode);
        verge__lock(&task->latch);
    } while (mode == VERGE__WAIT_REGARDLESS && !task->has_ended);
    if (task->has_ended) {
        return 0;
    }
    VERGE__INVARIANT(reason != 0, "J2: a joiner is woken by the end of its task");
    task->joiner = NULL;
    return verge__count_if_timeout(reason);
}

int verge_task_join(verge_task *task, intptr_t *ret_result, uint64_t deadline_ns) {
    verge_task *self = verge__begin_call(deadline_ns);
    if (self == NULL || task == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__lock(&task->latch);
    int result = verge__join_state(self, task);
    if (result == -EAGAIN) {
        result = deadline_ns == 0 ? verge__would_wait(self) : wait_for_end(self, task, deadline_ns);
    }
    verge__unlock(&task->latch);
    return result == 0 ? verge__take_result(task, ret_result) : result;
}

int verge_task_detach(verge_task *task) {
    if (task == NULL) {
        return -EINVAL;
    }
    verge__lock(&task->latch);
    const int error = task->is_detached ? -EINVAL : task->joiner != NULL ? -EBUSY : 0;
    const bool has_ended = task->has_ended;
    task->is_detached = error == 0 || task->is_detached;
    verge__unlock(&task->latch);
    if (error == 0 && has_ended) {
        count_collected(task);
        release_task(task);
    }
    return error;
}
