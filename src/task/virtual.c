/* SPDX-License-Identifier: MIT */
/*
 * Virtual time: the calling thread steps all runners, in their order, until none has anything to do; then the clock
 * moves to the next deadline. All runners share one reactor, and one place to wait in.
 */
#include "task/task_internal.h"

static void set_waiting(struct verge_runtime *runtime, bool is_waiting) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        atomic_store(&runtime->runners[i]->is_waiting, is_waiting);
    }
}

static bool any_has_work(struct verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        struct verge__runner *runner = runtime->runners[i];
        if (runner->worker != NULL && verge__runner_has_work(runner)) {
            return true;
        }
    }
    return false;
}

/* True: operations were done. */
static bool ask_reactor(struct verge__reactor *reactor, uint64_t timeout_ns) {
    struct verge__operation_list done;
    verge__reactor_wait(reactor, timeout_ns, &done);
    const bool any = done.first != NULL;
    while (done.first != NULL) {
        struct verge__operation *operation = verge__operations_take_first(&done);
        verge__operation_done(atomic_load(&((struct verge_task *)operation->owner)->runner), operation);
    }
    return any;
}

static bool wait_in_reactor(struct verge_runtime *runtime, struct verge__reactor *reactor, uint64_t timeout_ns) {
    set_waiting(runtime, true);
    const bool any = ask_reactor(reactor, any_has_work(runtime) ? 0 : timeout_ns);
    set_waiting(runtime, false);
    return any || any_has_work(runtime);
}

static void close_runner(struct verge__runner *runner) {
    verge__set_current_runner(runner);
    verge__runner_close(runner);
}

/* Workers are opened when their turn first comes; one that cannot be is tried again at the next. */
static void step(struct verge__runner *runner, struct verge__reactor *reactor, bool *any) {
    if (runner->worker == NULL &&
        (atomic_load(&runner->inbox) == &verge__inbox_closed || verge__runner_open(runner, reactor) != 0)) {
        return;
    }
    verge__set_current_runner(runner);
    *any |= verge__runner_turn(runner);
    if (atomic_load(&runner->is_retiring) && verge__runner_has_left(runner)) {
        close_runner(runner);
    }
}

static uint64_t next_deadline(struct verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    uint64_t next_ns = VERGE_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        if (runtime->runners[i]->worker != NULL) {
            const uint64_t time_ns = verge_worker_next(runtime->runners[i]->worker);
            next_ns = time_ns < next_ns ? time_ns : next_ns;
        }
    }
    return next_ns;
}

/* Nothing can run. I/O that is pending may still complete for its grace; then it is the clock's turn. */
static void move_on(struct verge_runtime *runtime, struct verge__reactor *reactor) {
    if (reactor->pending_count != 0 && wait_in_reactor(runtime, reactor, runtime->options.io_grace_ns)) {
        return;
    }
    const uint64_t next_ns = next_deadline(runtime);
    if (next_ns == VERGE_NEVER) {
        (void)wait_in_reactor(runtime, reactor, VERGE_NEVER);
    } else if (next_ns > verge__clock_now(&runtime->clock)) {
        verge_manual_clock_set(runtime->options.virtual_clock, next_ns);
    }
}

void verge__virtual_loop(struct verge_runtime *runtime, struct verge__reactor *reactor) {
    while (!atomic_load(&runtime->is_finished)) {
        bool any = ask_reactor(reactor, 0);
        const uint32_t count = atomic_load(&runtime->runner_count);
        for (uint32_t i = 0; i < count; i++) {
            step(runtime->runners[i], reactor, &any);
        }
        if (!any && !any_has_work(runtime)) {
            move_on(runtime, reactor);
        }
    }
}

void verge__virtual_close(struct verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        if (runtime->runners[i]->worker != NULL) {
            close_runner(runtime->runners[i]);
        }
    }
}
