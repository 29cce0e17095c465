/* SPDX-License-Identifier: MIT */
/* Waiting and waking: J1 to J4 in task.h, J6 below. */
#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "reactor/attempt.h"
#include "service/sources.h"
#include "task/current.h"
#include "task/pool.h"
#include "task/queue.h"
#include "task/share.h"
#include "task/wait.h"
#include "task/wake.h"

/* ---- waking ---- */

static uint8_t woken_while_moving(int reason) {
    return reason == -ETIMEDOUT   ? VERGE__TASK_MOVING_TIMED_OUT
           : reason == -ECANCELED ? VERGE__TASK_MOVING_CANCELLED
                                  : VERGE__TASK_MOVING_WOKEN;
}

bool verge__claim(verge_task *task, int reason) {
    uint8_t state = atomic_load(&task->state);
    VERGE__STEP("task: claim");
    for (;;) {
        if (state == VERGE__TASK_WAITING) {
            if (atomic_compare_exchange_weak(&task->state, &state, VERGE__TASK_READY)) {
                task->wake_reason = (uint8_t)-reason;
                return true;
            }
        } else if (state == VERGE__TASK_IN_IO) {
            if (atomic_compare_exchange_weak(&task->state, &state, VERGE__TASK_IO_CANCEL)) {
                return true;
            }
        } else if (state == VERGE__TASK_MOVING) {
            if (atomic_compare_exchange_weak(&task->state, &state, woken_while_moving(reason))) {
                return false;
            }
        } else {
            return false;
        }
    }
}

/* `here` is the task's runner. A task in I/O stays with it (J4). */
static void deliver_here(verge__runner *here, verge_task *task) {
    if (VERGE__UNLIKELY(atomic_load_explicit(&task->state, memory_order_relaxed) == VERGE__TASK_IO_CANCEL)) {
        verge__io_cancel(here, task);
    } else {
        verge__runner_push(here, task);
    }
}

static bool is_runner_of(const verge__runner *runner, const verge_task *task) {
    return runner == atomic_load_explicit(&task->runner, memory_order_relaxed);
}

void verge__deliver_home(verge__runner *here, verge_task *task) {
    if (is_runner_of(here, task)) {
        deliver_here(here, task);
    } else {
        verge__post(task);
    }
}

void verge__deliver(verge_task *task) {
    verge__runner *here = verge__current_runner();
    if (VERGE__LIKELY(is_runner_of(here, task))) {
        deliver_here(here, task);
    } else if (here != NULL && verge__take_over(here, task)) {
        verge__runner_push(here, task);
    } else {
        verge__post(task);
    }
}

void verge__wake(verge_task *task, int reason) {
    if (verge__claim(task, reason)) {
        verge__deliver(task);
    }
}

/* ---- timers ---- */

static bool is_virtual(const verge_task *task) {
    return task->runtime->options.virtual_clock != NULL;
}

static int start_timer(verge_task *self, uint64_t deadline_ns, verge_callback callback, verge_timer *ret_timer) {
    verge_service *service = self->runtime->service;
    if (!is_virtual(self)) {
        if (self->source == VERGE__SOURCE_OTHERS) { /* its first timer, or all sources are in use */
            const uint64_t key = self->label != NULL ? verge__key_of_label(self->label)
                                                     : verge__key_of_function((void (*)(void))self->function);
            self->source = verge__service_source(service, key);
        }
        return verge__service_start_from(service, deadline_ns, callback, self, self->source, ret_timer);
    }
    /* Virtual time: one thread steps all workers, and is bound to none. */
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = callback;
    options.argument = self;
    options.deadline_ns = deadline_ns;
    options.worker_id = verge_worker_id(atomic_load_explicit(&self->runner, memory_order_relaxed)->worker);
    const int error = verge_service_start_with(service, &options, ret_timer);
    self->runtime->timer_count += error == 0;
    return error;
}

/* Called when a timer has run, or will not run any more. */
static void uncount_timer(const verge_task *task) {
    if (is_virtual(task)) {
        task->runtime->timer_count--;
    }
}

/* Ends a timer. Afterwards its callback does not touch the task (J3). If the timer is on the calling thread's worker,
 * its callback cannot be running now. If the timer is on another worker, because the task has moved or is being taken,
 * the callback may be running. Then a cancel is not enough: the callback may be about to reset its timer
 * (on_operation_time), and the timer would be pending again. */
static void end_timer(verge_task *self, verge_timer timer) {
    int verdict = verge_service_cancel(self->runtime->service, timer);
    if (verdict == VERGE_RUNNING) {
        verdict = verge_service_shutdown(self->runtime->service, timer);
    }
    if (verdict == 0) {
        uncount_timer(self);
    }
}

uint64_t verge__effective_deadline(const verge_task *self, uint64_t deadline_ns) {
    return self->scope != NULL && self->scope->deadline_ns < deadline_ns ? self->scope->deadline_ns : deadline_ns;
}

int verge__count_if_timeout(int result) {
    verge__runner *runner = result == -ETIMEDOUT ? verge__current_runner() : NULL;
    if (runner != NULL) {
        verge__count(&runner->timeouts);
    }
    return result;
}

/* ---- waiting for other tasks and for time ---- */

enum { AT_ONCE_MAX = 64 };

verge_task *verge__begin_call(uint64_t deadline_ns) {
    verge__runner *runner = verge__current_runner();
    if (runner == NULL) {
        return NULL;
    }
    verge_task *self = runner->running; /* read now: the yield may move the task to another runner */
    if (deadline_ns != 0 && ++runner->at_once_count > AT_ONCE_MAX) {
        runner->at_once_count = 0;
        (void)verge_yield();
    }
    return self;
}

void verge__wait_begin(verge_task *self) {
    atomic_store(&self->state, VERGE__TASK_WAITING);
}

static void on_time(const verge_firing *firing) {
    uncount_timer(firing->argument);
    if (verge__claim(firing->argument, -ETIMEDOUT)) {
        verge__deliver_home(verge__current_runner(),
                            firing->argument); /* not verge__deliver: it may wait, which a callback must not */
    }
}

/* Ends a wait before the task is suspended. False: the task was claimed already, and is in a queue or soon will be. */
static bool take_back(verge_task *self) {
    uint8_t state = VERGE__TASK_WAITING;
    return atomic_compare_exchange_strong(&self->state, &state, VERGE__TASK_RUNNING);
}

void verge__wait_end(verge_task *self) {
    if (!take_back(self)) {
        verge__suspend(self);
    }
}

static void suspend_until(verge_task *self, uint64_t deadline_ns) {
    atomic_store_explicit(&self->awaited_deadline_ns, deadline_ns, memory_order_relaxed);
    verge__suspend(self);
    atomic_store_explicit(&self->awaited_deadline_ns, 0, memory_order_relaxed);
}

int verge__wait(verge_task *self, uint64_t deadline_ns, verge__wait_mode mode) {
    verge_timer timer = 0;
    int error = 0;
    if (mode == VERGE__WAIT) {
        const bool is_refused = verge__is_duration(self, deadline_ns);
        deadline_ns = verge__effective_deadline(self, deadline_ns);
        if (atomic_load(&self->is_cancelled)) {
            error = -ECANCELED;
        } else if (is_refused) {
            error = -EINVAL;
        } else if (deadline_ns != VERGE_NEVER) {
            error = start_timer(self, deadline_ns, on_time, &timer);
        }
    }
    if (error != 0 && take_back(self)) {
        return error;
    }
    VERGE__STEP("task: suspend");
    if (timer == 0) {
        verge__suspend(self);
        return -(int)self->wake_reason;
    }
    suspend_until(self, deadline_ns);
    const int reason = -(int)self->wake_reason;
    if (reason != -ETIMEDOUT) {
        end_timer(self, timer);
    }
    return reason;
}

/* ---- waiting for operations ---- */

/* Notes for the statistics that the reactor has failed. */
static void note_failure(verge__runner *runner) {
    if (VERGE__UNLIKELY(runner->reactor->error != 0)) {
        atomic_store_explicit(&runner->reactor_error, runner->reactor->error, memory_order_relaxed);
    }
}

static int done_at_once(verge__runner *runner, const struct verge__operation *operation) {
    note_failure(runner);
    if (++runner->at_once_count >= AT_ONCE_MAX) {
        runner->at_once_count = 0;
        (void)verge_yield();
    }
    return operation->result;
}

static intptr_t attempt(void *argument) {
    struct verge__operation *operation = argument;
    (void)verge__attempt(operation, VERGE__ALWAYS_READY, &operation->result);
    return 0;
}

static bool is_over(const verge_task *self, uint64_t deadline_ns) {
    return atomic_load(&self->is_cancelled) ||
           (deadline_ns != VERGE_NEVER && deadline_ns <= verge__clock_now(&self->runtime->clock));
}

/* If the deadline has passed or the task is cancelled when the call begins, the operation is done all the same (N3 in
 * verge/io.h), as soon as there is a thread. If no thread can be started, or there is no memory for a timer, the
 * calling worker makes the operation, and is blocked meanwhile. */
static int attempt_on_a_thread(verge_task *self, struct verge__operation *operation, uint64_t deadline_ns) {
    const unsigned awaits = VERGE__AWAITS_OPERATION + operation->kind;
    const uintptr_t awaited = (uintptr_t)(unsigned)operation->fd;
    const int error = is_over(self, deadline_ns)
                          ? verge__blocking_regardless(self, attempt, operation, awaits, awaited)
                          : verge__blocking_until(self, attempt, operation, awaits, awaited, deadline_ns);
    if (error == -ETIMEDOUT || error == -ECANCELED) { /* N2: a part may have been transferred before */
        return operation->progress != 0 ? (int)operation->progress : verge__count_if_timeout(error);
    }
    if (error != 0) {
        (void)attempt(operation);
    }
    return operation->result;
}

static bool can_be_cancelled(const struct verge__operation *operation) {
    return operation->kind != VERGE__CLOSE; /* a close that is cancelled might leave its descriptor open for good */
}

static void cancel_operation(verge__runner *runner, struct verge__operation *operation) {
    for (; operation != NULL; operation = operation->sibling) {
        if (operation->state != VERGE__DONE && can_be_cancelled(operation)) {
            verge__reactor_cancel(runner->reactor, operation);
        }
    }
}

/*
 * Many operations have a deadline, but few deadlines come. So a task keeps its timer from one operation to the next. A
 * later deadline is only stored. When the timer runs too early for that deadline, it is reset to that deadline.
 *   J6  While the task is in I/O with a deadline, io_timer is due at io_timer_ns <= io_deadline_ns, until the timer
 *       cancels the operation. The runner's thread starts the timer and runs it. A task that moves has no such timer:
 *       the thread that moves the task has ended the timer, and its callback has returned (end_timer). Only the thread
 *       that has the task (J1) writes io_timer. This thread touches io_timer_ns, io_deadline_ns and io_error only while
 *       the timer cannot run: on the thread that runs the timer, or after the timer has ended.
 */

static void on_operation_time(const verge_firing *firing) {
    verge_task *task = firing->argument;
    int error = -ETIMEDOUT;
    VERGE__INVARIANT(atomic_load(&task->runner) == verge__current_runner() && task->io_timer == firing->timer,
                     "J6: the timer of a task in I/O runs on the task's own runner");
    if (task->io_deadline_ns > firing->actual_ns && task->io_deadline_ns != VERGE_NEVER) {
        task->io_timer_ns = task->io_deadline_ns;
        VERGE__STEP("task: reset timer");
        error = verge_service_reset(firing->service, firing->timer, task->io_deadline_ns);
        if (error >= 0 || error == -ESHUTDOWN) { /* -ESHUTDOWN: a runner takes the task, and waits for this callback */
            return;
        }
    }
    task->io_timer_ns = VERGE_NEVER;
    uncount_timer(task);
    if (task->io_deadline_ns != VERGE_NEVER) {
        task->io_error = error;
        if (task->operation != NULL) { /* if NULL, the operation is done, and the task is about to be resumed */
            cancel_operation(atomic_load_explicit(&task->runner, memory_order_relaxed), task->operation);
        }
    }
}

void verge__end_io_timer(verge_task *task) {
    if (task->io_timer != 0) {
        end_timer(task, task->io_timer);
        task->io_timer = 0;
    }
}

static int arm(verge_task *self, uint64_t deadline_ns) {
    self->io_deadline_ns = deadline_ns;
    if (deadline_ns == VERGE_NEVER || (self->io_timer != 0 && self->io_timer_ns <= deadline_ns)) {
        return 0;
    }
    verge__end_io_timer(self);
    self->io_timer_ns = deadline_ns;
    return start_timer(self, deadline_ns, on_operation_time, &self->io_timer);
}

static void disarm(verge_task *self) {
    self->io_deadline_ns = VERGE_NEVER;
    if (is_virtual(self)) { /* the clock must not move to a time at which nothing happens */
        verge__end_io_timer(self);
    }
}

/* Whether an operation must be told that its task is cancelled or its deadline has passed. Operations on sockets, and
 * polls, need not be told: io_uring tries them before it looks at their cancellation. Of any other operation,
 * io_uring might not even begin, although N3 demands a try. */
static bool must_know_if_over(const struct verge__operation *operation) {
    switch ((enum verge__operation_kind)operation->kind) {
    case VERGE__ACCEPT:
    case VERGE__CONNECT:
    case VERGE__RECV:
    case VERGE__SEND:
    case VERGE__RECVMSG:
    case VERGE__SENDMSG:
    case VERGE__POLL:
        return false;
    default:
        return true;
    }
}

/* The task is IN_IO, and its operations are pending. (Another thread may have changed IN_IO to IO_CANCEL since.) */
static void wait_until_done(verge_task *self, verge__runner *runner, uint64_t deadline_ns, bool is_refused) {
    self->io_error = 0;
    if (atomic_load(&self->is_cancelled) && !self->operation->is_regardless) {
        self->io_error = -ECANCELED;
    } else if (is_refused) {
        self->io_error = -EINVAL;
    } else if (can_be_cancelled(self->operation)) {
        self->io_error = arm(self, deadline_ns);
    }
    if (self->io_error != 0) {
        cancel_operation(runner, self->operation);
    }
    suspend_until(self, deadline_ns != VERGE_NEVER ? deadline_ns : 0);
    disarm(self);
}

int verge__wait_for_operation(verge_task *self, struct verge__operation *operation, uint64_t deadline_ns) {
    verge__runner *runner = verge__current_runner();
    const bool is_refused = verge__refuses(self, deadline_ns);
    deadline_ns = operation->is_regardless ? deadline_ns : verge__effective_deadline(self, deadline_ns);
    operation->owner = self;
    operation->is_over = must_know_if_over(operation) && is_over(self, deadline_ns);
    operation->has_threads = !is_virtual(self);
    verge__count(&runner->operations);
    if (verge__reactor_submit(runner->reactor, operation)) {
        return operation->blocks ? attempt_on_a_thread(self, operation, deadline_ns) : done_at_once(runner, operation);
    }
    self->operation = operation;
    verge__awaits(self, VERGE__AWAITS_OPERATION + operation->kind, (uintptr_t)(unsigned)operation->fd);
    atomic_store(&self->state, VERGE__TASK_IN_IO);
    wait_until_done(self, runner, deadline_ns, is_refused);
    const bool gives_reason = operation->result == -ECANCELED && !atomic_load(&self->is_cancelled); /* T4 */
    const int result = gives_reason && self->io_error != 0 ? self->io_error : operation->result;
    return self->io_error == -ETIMEDOUT ? verge__count_if_timeout(result) : result;
}

bool verge__io_begin(verge_task *self, struct verge__operation *operations, size_t count) {
    verge__runner *runner = verge__current_runner();
    self->operation = NULL;
    for (size_t i = 0; i < count; i++) {
        verge__count(&runner->operations);
        operations[i].owner = self;
        if (verge__reactor_submit(runner->reactor, &operations[i])) {
            note_failure(runner);
            break;
        }
        operations[i].sibling = self->operation;
        self->operation = &operations[i];
    }
    if (self->operation != NULL) {
        atomic_store(&self->state, VERGE__TASK_IN_IO);
    }
    return self->operation == &operations[count - 1];
}

int verge__io_wait(verge_task *self, uint64_t deadline_ns) {
    wait_until_done(self, verge__current_runner(), deadline_ns, verge__is_duration(self, deadline_ns));
    return atomic_load(&self->is_cancelled) ? -ECANCELED : self->io_error;
}

void verge__io_end(verge_task *self) {
    if (self->operation != NULL) {
        cancel_operation(verge__current_runner(), self->operation);
        verge__suspend(self);
    }
}

/* Called when one of several operations is done. The first one cancels the others. Returns whether some are still
 * pending. The task goes on when all are done, since the kernel uses their memory until then. */
static bool others_are_pending(verge__runner *runner, struct verge__operation *done, struct verge__operation *all) {
    done->owner = NULL;
    for (const struct verge__operation *one = all; one != NULL; one = one->sibling) {
        if (one->owner != NULL) {
            cancel_operation(runner, all);
            return true;
        }
    }
    return false;
}

static void resume_after_io(verge__runner *runner, verge_task *task) {
    atomic_store(&task->state, VERGE__TASK_READY);
    verge__runner_push(runner, task);
}

void verge__operation_done(verge__runner *runner, struct verge__operation *operation) {
    verge_task *task = operation->owner;
    note_failure(runner);
    if (VERGE__UNLIKELY(task->operation->sibling != NULL) && others_are_pending(runner, operation, task->operation)) {
        return;
    }
    task->operation = NULL;
    uint8_t state = VERGE__TASK_IN_IO;
    if (atomic_compare_exchange_strong(&task->state, &state, VERGE__TASK_READY)) {
        verge__runner_push(runner, task);
    } else { /* another thread has claimed the task, and delivers it: then verge__io_cancel makes it READY */
        VERGE__INVARIANT(state == VERGE__TASK_IO_CANCEL, "J4: a task that has an operation waits for it");
    }
}

void verge__io_cancel(verge__runner *runner, verge_task *task) {
    if (task->operation == NULL) {
        resume_after_io(runner, task);
        return;
    }
    atomic_store(&task->state, VERGE__TASK_IN_IO);
    if (!task->operation->is_regardless) {
        cancel_operation(runner, task->operation);
    }
}

/* ---- cancellation ---- */

void verge__cancel(verge_task *task) {
    atomic_store(&task->is_cancelled, true);
    verge__wake(task, -ECANCELED); /* a task that runs, or is ready, sees is_cancelled before it waits */
}

int verge_task_cancel(verge_task *task) {
    if (task == NULL) {
        return -EINVAL;
    }
    verge__cancel(task);
    return 0;
}
