/* SPDX-License-Identifier: MIT */
/*
 * Virtual time. The calling thread steps all runners, in the order of their indexes, until none has anything to do.
 * Then it moves the clock to the next deadline. All runners share one reactor, and this loop waits only there.
 *
 * Without a deadline to move to, and without I/O, only another thread could wake a task. If the process has no other
 * thread, the loop ends. If it has one, this thread may end later without having woken a task. So the loop looks again
 * from time to time.
 */
#include "base/step.h"
#include "base/thread.h"
#include "reactor/reactor.h"
#include "task/current.h"
#include "task/queue.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/wait.h"

/* The time between two counts of the threads of the process. A thread that was joined still exists for a moment. */
#define THREADS_NAP_NS UINT64_C(20000000)

/* A runner that is not open yet has no reactor in which it could be woken. It need not be woken either: any_has_work
 * finds it. */
static void set_waiting(verge_runtime *runtime, bool is_waiting) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        if (runtime->runners[i]->worker != NULL) {
            atomic_store(&runtime->runners[i]->is_waiting, is_waiting);
        }
    }
}

static bool any_has_work(verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        verge__runner *runner = runtime->runners[i];
        const bool is_open = runner->worker != NULL;
        if (is_open ? verge__runner_has_work(runner) : atomic_load(&runner->inbox) != &verge__inbox_closed) {
            return true; /* a runner that is not open yet must be opened */
        }
    }
    return false;
}

/* Handles operations that are done. Returns whether there were some. */
static bool ask_reactor(struct verge__reactor *reactor, uint64_t timeout_ns) {
    verge__list done;
    verge__reactor_wait(reactor, timeout_ns, &done);
    const bool any = done.first != NULL;
    while (done.first != NULL) {
        struct verge__operation *operation = verge__operations_take_first(&done);
        verge__operation_done(atomic_load(&((verge_task *)operation->owner)->runner), operation);
    }
    return any;
}

static bool wait_in_reactor(verge_runtime *runtime, struct verge__reactor *reactor, uint64_t timeout_ns) {
    const bool is_for_threads = timeout_ns == VERGE_NEVER && reactor->pending_count == 0;
    set_waiting(runtime, true);
    const bool has_work = any_has_work(runtime);
    VERGE__STEP(timeout_ns == VERGE_NEVER ? "virtual: wait for ever" : "virtual: wait");
    const bool any = ask_reactor(reactor, has_work ? 0 : is_for_threads ? THREADS_NAP_NS : timeout_ns);
    set_waiting(runtime, false);
    return any || any_has_work(runtime);
}

static void close_runner(verge__runner *runner) {
    verge__set_current_runner(runner);
    verge__runner_close(runner);
}

/* One round of a runner. A runner is opened in its first round. If that fails, it is tried again in the next. */
static void step(verge__runner *runner, struct verge__reactor *reactor, bool *any) {
    if (runner->worker == NULL &&
        (atomic_load(&runner->inbox) == &verge__inbox_closed || verge__runner_open(runner, reactor) != 0)) {
        return;
    }
    verge__set_current_runner(runner);
    *any |= verge__runner_round(runner);
    verge__give_credit_back(runner);
    if (atomic_load(&runner->is_retiring) && verge__runner_has_left(runner)) {
        close_runner(runner);
    }
}

static uint64_t next_deadline(verge_runtime *runtime) {
    if (runtime->timer_count == 0) { /* only nodes of cancelled timers are left: the clock must not move to those */
        return VERGE_NEVER;
    }
    const uint32_t count = atomic_load(&runtime->runner_count);
    uint64_t next_ns = VERGE_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        if (runtime->runners[i]->worker != NULL) {
            const uint64_t time_ns = verge_worker_next_wakeup(runtime->runners[i]->worker);
            next_ns = time_ns < next_ns ? time_ns : next_ns;
        }
    }
    return next_ns;
}

/* Waits for I/O in real time, for io_grace_ns (the grace) at most. It loops because the reactor may return early: for a
 * signal, or when an operation has taken a step but is not done. True: there is something to do. */
static bool io_comes_within_its_grace(verge_runtime *runtime, struct verge__reactor *reactor) {
    const uint64_t grace_ns = runtime->options.io_grace_ns;
    const verge_clock real = verge_clock_monotonic();
    const uint64_t start_ns = verge__clock_now(&real);
    uint64_t passed_ns = 0;
    while (reactor->pending_count != 0) {
        if (wait_in_reactor(runtime, reactor, grace_ns == VERGE_NEVER ? VERGE_NEVER : grace_ns - passed_ns)) {
            return true;
        }
        passed_ns = verge__clock_now(&real) - start_ns;
        if (passed_ns >= grace_ns) { /* with a grace of 0, the reactor is asked exactly once (T7 in verge/task.h) */
            return false;
        }
    }
    return false;
}

/* Counts the calling thread, and those threads of the library that run no code of the program. An observer that reports
 * stuck tasks calls a function of the program, so it is not counted. */
static uint32_t count_own_threads(verge_runtime *runtime) {
    const bool observer_is_own = runtime->observer.has_thread && runtime->options.stuck_after_ns == 0;
    (void)pthread_mutex_lock(&runtime->pool.lock);
    const uint32_t pool_count = runtime->pool.thread_count; /* all idle: this thread waits until each call is done */
    (void)pthread_mutex_unlock(&runtime->pool.lock);
    return 1 + pool_count + observer_is_own;
}

/* Called when there is no deadline to move to. Returns true if nothing can wake a task any more: no I/O is pending, and
 * no other thread is left. The threads are counted first, and then their work is looked for. So the work of a thread
 * that has ended is seen. The stores of set_waiting keep the two in this order. */
static bool nothing_can_come(verge_runtime *runtime, const struct verge__reactor *reactor) {
    if (reactor->pending_count != 0 || !verge__thread_count_is(count_own_threads(runtime))) {
        return false;
    }
    set_waiting(runtime, false);
    return !any_has_work(runtime);
}

/* Called when no task can run. First, pending I/O may complete within its grace. If it does not, the clock moves to the
 * next wake-up of a wheel. There may be several wake-ups before the next deadline: between them, there is no grace.
 * -EDEADLK: all tasks wait for each other. */
static int move_on(verge_runtime *runtime, struct verge__reactor *reactor, bool *grace_is_over) {
    VERGE__STEP("virtual: idle");
    if (!*grace_is_over && io_comes_within_its_grace(runtime, reactor)) {
        return 0;
    }
    *grace_is_over = true;
    const uint64_t next_ns = next_deadline(runtime);
    if (next_ns == VERGE_NEVER) {
        if (nothing_can_come(runtime, reactor)) {
            return -EDEADLK;
        }
        (void)wait_in_reactor(runtime, reactor, VERGE_NEVER);
    } else if (next_ns > verge__clock_now(&runtime->clock)) {
        VERGE__STEP("virtual: clock");
        verge_manual_clock_set(runtime->options.virtual_clock, next_ns);
    }
    return 0;
}

int verge__virtual_loop(verge_runtime *runtime, struct verge__reactor *reactor) {
    bool grace_is_over = false;
    int error = 0;
    while (error == 0 && !verge__run_is_over(runtime)) {
        bool any = ask_reactor(reactor, 0);
        const uint32_t count = atomic_load(&runtime->runner_count);
        for (uint32_t i = 0; i < count; i++) {
            step(runtime->runners[i], reactor, &any);
        }
        if (any || reactor->done.first != NULL || any_has_work(runtime)) {
            grace_is_over = false;
        } else {
            error = move_on(runtime, reactor, &grace_is_over);
        }
    }
    return error;
}

void verge__virtual_close(verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        if (runtime->runners[i]->worker != NULL) {
            close_runner(runtime->runners[i]);
        }
    }
}
