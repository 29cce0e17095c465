/* SPDX-License-Identifier: MIT */
/*
 * The loop of a worker. In each round it asks the reactor (and waits there, if no task is ready), takes what other
 * threads sent, runs the timers that are due, and then runs tasks. The reactor comes before the timers: if data and a
 * deadline have both come, the task gets the data.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "reactor/reactor.h"
#include "service/last_pass.h"
#include "task/current.h"
#include "task/latch.h"
#include "task/queue.h"
#include "task/search.h"
#include "task/share.h"
#include "task/spawn.h"
#include "task/wait.h"
#include "task/wake.h"

/* How many tasks may be resumed in a round. After that, the loop looks at timers and I/O, even if tasks are ready. */
enum { RESUMES_PER_ROUND = 64 };

/* ---- open and close ---- */

static void on_service_wake(void *context) {
    (void)verge__runner_notify(context);
}

verge__reactor_kind verge__reactor_kind_of(verge_backend backend) {
    switch (backend) {
    case VERGE_BACKEND_IO_URING:
        return VERGE__REACTOR_URING;
    case VERGE_BACKEND_EPOLL:
        return VERGE__REACTOR_EPOLL;
    default:
        return VERGE__REACTOR_AUTO;
    }
}

static int join_service(verge__runner *runner) {
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = !runner->owns_reactor;
    options.wake = on_service_wake;
    options.wake_context = runner;
    return verge_worker_join(runner->runtime->service, &options, &runner->worker);
}

int verge__runner_open(verge__runner *runner, verge__reactor *shared_reactor) {
    verge_runtime *runtime = runner->runtime;
    int error = 0;
    runner->reactor = shared_reactor;
    runner->owns_reactor = shared_reactor == NULL;
    if (runner->owns_reactor) {
        error = verge__reactor_open(verge__reactor_kind_of(runtime->options.backend), runtime->ring_entry_count,
                                    &runtime->allocator, &runner->reactor);
    }
    if (error == 0) {
        error = join_service(runner);
        if (error != 0 && runner->owns_reactor) {
            verge__reactor_close(runner->reactor);
        }
    }
    if (error == 0) {
        runner->stops_seen = atomic_load(&runtime->stop_count) - 1; /* so that a stop in progress counts as not seen */
        runner->search.is_mine = false;
        runner->offers_later = true;
        atomic_store(&runner->attention, true); /* so that its first round counts the runners */
        verge__context_adopt(&runner->context);
        verge__set_current_runner(runner);
    }
    return error;
}

/* Waits until no thread is about to wake the reactor. After that, no thread begins to wake it, because the runner is
 * not marked as waiting. */
static void await_notifiers(verge__runner *runner) {
    uint32_t notifying = atomic_fetch_or(&runner->notifying, VERGE__RUNNER_CLOSES) | VERGE__RUNNER_CLOSES;
    while (notifying != VERGE__RUNNER_CLOSES) {
        verge__futex_sleep(&runner->notifying, notifying);
        notifying = atomic_load(&runner->notifying);
    }
    atomic_fetch_and(&runner->notifying, ~VERGE__RUNNER_CLOSES);
}

void verge__runner_close(verge__runner *runner) {
    verge__set_current_runner(NULL);
    verge__stack_cache_flush(&runner->stacks);
    (void)verge_worker_leave(runner->worker);
    runner->worker = NULL;
    await_notifiers(runner);
    if (runner->owns_reactor) {
        verge__reactor_close(runner->reactor);
    }
}

/* ---- running tasks ---- */

/*
 * A task that waits or yields switches to the next task itself. It switches to the loop only when no task can run, or
 * after RESUMES_PER_ROUND tasks. When the loop continues, `running` is NULL or a task that has ended. This need not be
 * the task that the loop resumed.
 */

static int resumes_left(const verge__runner *runner) {
    return atomic_load_explicit(&runner->resumes_left, memory_order_relaxed);
}

static void set_resumes_left(verge__runner *runner, int count) {
    atomic_store_explicit(&runner->resumes_left, count, memory_order_relaxed);
}

static VERGE__ALWAYS_INLINE verge_task *begin_next(verge__runner *runner, const verge_task *self) {
    const int left = resumes_left(runner);
    verge_task *next = left > 0 ? verge__runner_pop(runner, self) : NULL;
    if (next != NULL) {
        atomic_store_explicit(&next->state, VERGE__TASK_RUNNING, memory_order_relaxed);
        set_resumes_left(runner, left - 1);
        runner->running = next;
    }
    return next;
}

static VERGE__ALWAYS_INLINE void switch_from(verge__runner *runner, verge_task *self) {
    VERGE__STEP("task: switch");
    verge_task *next = begin_next(runner, self);
    if (next == NULL) {
        runner->running = NULL; /* from the switch on, another runner may run self, and even end it */
    }
    if (next != self) {
        verge__context_switch(&self->context, next != NULL ? &next->context : &runner->context);
    }
}

void verge__suspend(verge_task *self) {
    verge__runner *runner = verge__current_runner();
    runner->at_once_count = 0;
    atomic_store_explicit(&self->stopped_ns, runner->round_ns, memory_order_relaxed);
    switch_from(runner, self);
}

/* Separate from verge_yield, so that verge_yield stays short for a runtime with one runner. */
static VERGE__NOINLINE int yield_shared(verge__runner *runner, verge_task *self) {
    verge__share(runner, self);
    switch_from(runner, self);
    return 0;
}

int verge_yield(void) {
    verge__runner *runner = verge__current_runner();
    if (runner == NULL || runner->running == NULL) {
        return -EPERM;
    }
    verge_task *self = runner->running;
    atomic_store_explicit(&self->state, VERGE__TASK_READY, memory_order_relaxed);
    if (VERGE__UNLIKELY(runner->has_others)) {
        return yield_shared(runner, self);
    }
    verge__queue_push(&runner->ready, self);
    switch_from(runner, self);
    return 0;
}

static bool run_tasks(verge__runner *runner) {
    set_resumes_left(runner, RESUMES_PER_ROUND);
    verge_task *task = begin_next(runner, NULL);
    if (runner->has_others) {
        verge__offer_rest(runner);
    }
    for (; task != NULL; task = begin_next(runner, NULL)) {
        verge__context_switch(&runner->context, &task->context);
        VERGE__STEP("runner: back");
        task = runner->running; /* NULL: the last task waits or has yielded, and may be another runner's by now */
        runner->running = NULL;
        if (task != NULL) {
            verge__task_ended(runner, task);
        }
    }
    runner->offers_later = true;
    const int resumed = RESUMES_PER_ROUND - resumes_left(runner);
    verge__count_more(&runner->switches, (uint64_t)resumed);
    return resumed != 0;
}

/* ---- a round ---- */

static void empty_inbox(verge__runner *runner) {
    verge_task *next;
    for (verge_task *task = verge__inbox_take(runner); task != NULL; task = next) {
        next = task->next;
        if (verge__has_stopped(runner)) { /* the task may have been in no list when the runner cancelled its tasks */
            atomic_store(&task->is_cancelled, true);
        }
        if (atomic_load(&task->state) == VERGE__TASK_IO_CANCEL) {
            verge__io_cancel(runner, task);
        } else {
            verge__runner_push(runner, task);
        }
    }
}

/* Cancels all tasks of the runner. Not inline: if the thread ends in a task (lost.c), the frames of the loop are
 * unwound, so these frames must have no local variable that AddressSanitizer guards. */
static VERGE__NOINLINE void cancel_all(verge__runner *runner) {
    verge__lock(&runner->list_latch);
    for (verge__link *link = runner->listed; link != NULL; link = link->next) {
        verge__cancel(verge__listed_task(link));
    }
    verge__unlock(&runner->list_latch);
}

bool verge__runner_has_work(verge__runner *runner) {
    return runner->ready.first != NULL || atomic_load(&runner->inbox) != NULL || atomic_load(&runner->attention) ||
           (runner->has_others && (runner->handed_over != NULL || verge__has_shared(runner)));
}

/* Begins to share if there are other runners. In virtual time each task stays where it was put (T7 in verge/task.h). */
static void begin_to_share(verge__runner *runner) {
    const verge_runtime *runtime = runner->runtime;
    if (runtime->options.virtual_clock == NULL && atomic_load(&runtime->runner_count) > 1) {
        runner->has_others = true;
        atomic_store_explicit(&runner->shares, true, memory_order_release);
    }
}

bool verge__runner_round(verge__runner *runner) {
    if (atomic_exchange(&runner->attention, false)) {
        begin_to_share(runner);
    }
    empty_inbox(runner);
    if (verge__run_is_over(runner->runtime)) {
        return false;
    }
    const uint32_t stop_count = atomic_load(&runner->runtime->stop_count);
    if (runner->stops_seen != stop_count && atomic_load(&runner->runtime->is_stopping)) {
        runner->stops_seen = stop_count;
        cancel_all(runner);
        VERGE__STEP("stop: cancelled");
    }
    const int fired = verge_worker_run_once(runner->worker, 0);
    VERGE__INVARIANT(fired >= 0, "a runner leaves its service last");
    runner->round_ns = verge__worker_last_pass_ns(runner->worker);
    if (runner->search.is_mine && (verge__runner_has_work(runner) || atomic_load(&runner->is_retiring))) {
        verge__search_end(runner);
    }
    if (atomic_load_explicit(&runner->is_retiring, memory_order_relaxed)) {
        return verge__runner_move_tasks(runner) || fired > 0;
    }
    return run_tasks(runner) || fired > 0;
}

static void ask_reactor(verge__runner *runner, uint64_t timeout_ns) {
    verge__list done;
    verge__reactor_wait(runner->reactor, timeout_ns, &done);
    while (done.first != NULL) {
        verge__operation_done(runner, verge__operations_take_first(&done));
    }
}

/* How long the kernel may wait. The kernel uses the monotonic clock. Any other clock may jump meanwhile, for example
 * when the machine wakes up: with such a clock, the wait is short, and the clock is read again. */
static uint64_t time_until(const verge_runtime *runtime, uint64_t until_ns) {
    const uint64_t foreign_clock_nap_ns = 20000000;
    const uint64_t now_ns = verge__clock_now(&runtime->clock);
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    const bool is_foreign = runtime->clock.now_ns != verge_clock_monotonic().now_ns;
    return is_foreign && left_ns > foreign_clock_nap_ns ? foreign_clock_nap_ns : left_ns;
}

static bool may_search(const verge__runner *runner) {
    return runner->has_others && !atomic_load_explicit(&runner->is_retiring, memory_order_relaxed);
}

/* Waits for longest_ns at most. If that is VERGE_NEVER, there is no limit, and a runner that may search is parked. */
static void wait_in_reactor(verge__runner *runner, uint64_t longest_ns) {
    const bool parks = longest_ns == VERGE_NEVER && may_search(runner);
    atomic_store(&runner->is_waiting, true);
    const uint64_t until_ns = verge_worker_begin_wait(runner->worker);
    uint64_t timeout_ns = longest_ns;
    if ((parks && !verge__park(runner)) || verge__runner_has_work(runner)) {
        timeout_ns = 0;
    } else if (until_ns != VERGE_NEVER) {
        const uint64_t left_ns = time_until(runner->runtime, until_ns);
        timeout_ns = left_ns < timeout_ns ? left_ns : timeout_ns;
    }
    if (timeout_ns != 0) {
        VERGE__STEP("runner: wait");
    }
    ask_reactor(runner, timeout_ns);
    verge_worker_end_wait(runner->worker);
    atomic_store(&runner->is_waiting, false);
    if (parks) {
        verge__unpark(runner);
    }
}

static void wait_for_work(verge__runner *runner) {
    const uint64_t longest_ns = may_search(runner) ? verge__search(runner) : VERGE_NEVER;
    if (longest_ns != 0) {
        wait_in_reactor(runner, longest_ns);
    } else {
        ask_reactor(runner, 0);
    }
}

void verge__runner_loop(verge__runner *runner) {
    bool has_left = false;
    while (!has_left && !verge__run_is_over(runner->runtime)) {
        if (verge__runner_has_work(runner)) {
            ask_reactor(runner, 0);
        } else {
            verge__give_credit_back(runner);
            wait_for_work(runner);
        }
        (void)verge__runner_round(runner);
        has_left = atomic_load(&runner->is_retiring) && verge__runner_has_left(runner);
    }
    verge__give_credit_back(runner);
    verge__search_end(runner);
}
