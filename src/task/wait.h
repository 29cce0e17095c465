/* SPDX-License-Identifier: MIT */
/* task/wait.h - how a task waits: for other tasks, for time, for operations. */
#ifndef VERGE_SRC_TASK_WAIT_H
#define VERGE_SRC_TASK_WAIT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "task/runtime.h"
#include "task/task.h"

struct verge__operation;

/*
 * Every call that may wait begins with this function. It counts calls in a row that need not wait. After a number of
 * them the task yields, so that other tasks run. A call with a deadline of 0 does not count, and does not yield. (Calls
 * of I/O do not begin with this function: wait.c counts them when they are done at once.) Returns the calling task;
 * NULL: a plain thread calls.
 */
verge_task *verge__begin_call(uint64_t deadline_ns);

/* What a call with a deadline of 0 returns if it would have to wait. The call has joined no list, and has started no
 * timer. self NULL: a plain thread calls. */
static inline int verge__would_wait(const verge_task *self) {
    return self != NULL && atomic_load(&self->is_cancelled) ? -ECANCELED : -ETIMEDOUT;
}

/* For a call that has to wait and does not accept VERGE_REGARDLESS. Returns 0 if its deadline allows it to wait,
 * otherwise the call's error: the deadline is 0 (a try), or VERGE_REGARDLESS. */
static inline int verge__why_not_wait(const verge_task *self, uint64_t deadline_ns) {
    return deadline_ns == 0 ? verge__would_wait(self) : deadline_ns == VERGE_REGARDLESS ? -EINVAL : 0;
}

/* From here on the calling task can be woken; verge__wait or verge__wait_end follows. */
void verge__wait_begin(verge_task *self);

typedef enum verge__wait_mode { VERGE__WAIT, VERGE__WAIT_REGARDLESS } verge__wait_mode;

/*
 * Waits until the task is woken. Returns 0, -ETIMEDOUT, -ECANCELED, or what kept it from waiting (-EINVAL, -ENOMEM).
 * Whatever it returns, the caller first checks whether it was given what it waited for. REGARDLESS: there is no
 * deadline, and an earlier cancellation does not count. A cancellation during the wait still wakes the task, so the
 * caller waits in a loop.
 */
int verge__wait(verge_task *self, uint64_t deadline_ns, verge__wait_mode mode);

/* Call it instead of verge__wait if the task need not wait any more. If the task was woken meanwhile, other tasks run
 * first. */
void verge__wait_end(verge_task *self);

/* Whether a time of the caller's is a duration by mistake. */
static inline bool verge__is_duration(const verge_task *self, uint64_t time_ns) {
    return time_ns - 1 < self->runtime->refused_ns;
}

/* Whether a deadline of the caller's is a duration by mistake, or one that this call does not accept. */
static inline bool verge__refuses(const verge_task *self, uint64_t deadline_ns) {
    return verge__is_duration(self, deadline_ns) || deadline_ns == VERGE_REGARDLESS;
}

/* Counts -ETIMEDOUT for the statistics, and returns `result`. Not for sleeps. */
int verge__count_if_timeout(int result);

/* The earliest of deadline_ns and the scopes of the task. */
uint64_t verge__effective_deadline(const verge_task *self, uint64_t deadline_ns);

/* Submits an operation and waits for it. Returns the operation's result or, if the operation was cancelled, why:
 * -ETIMEDOUT, -ECANCELED, -EINVAL, -ENOMEM. */
int verge__wait_for_operation(verge_task *self, struct verge__operation *operation, uint64_t deadline_ns);

/*
 * For select, which waits for one of several operations, or to be woken. Submits the operations. Then the task can be
 * woken, as after verge__wait_begin. If the task is woken, the operations are cancelled. If one of them is done first,
 * the others are cancelled. True: all are pending. False: one was done at once, and those after it are not submitted.
 */
bool verge__io_begin(verge_task *self, struct verge__operation *operations, size_t count);

/* Waits until all operations are done. Returns 0, -ETIMEDOUT, -ECANCELED or what kept it from waiting. */
int verge__io_wait(verge_task *self, uint64_t deadline_ns);

/* Cancels the operations, and waits until all are done. */
void verge__io_end(verge_task *self);

/* Cancels the timer that the task keeps for its operations (J6). */
void verge__end_io_timer(verge_task *task);

/* The loop of the runner calls this when an operation is done. */
void verge__operation_done(verge__runner *runner, struct verge__operation *operation);

/* Called on the task's runner, which has claimed the task (state IO_CANCEL) or got it through its inbox. Cancels the
 * task's operations, or makes the task READY if they are done. */
void verge__io_cancel(verge__runner *runner, verge_task *task);

/* Notes what the calling task is about to wait for. NULL: a plain thread calls. */
static inline void verge__awaits(verge_task *self, unsigned awaits, uintptr_t awaited) {
    if (self != NULL) {
        atomic_store_explicit(&self->awaits, (uint8_t)awaits, memory_order_relaxed);
        atomic_store_explicit(&self->awaited, awaited, memory_order_relaxed);
    }
}

#endif
