/* SPDX-License-Identifier: MIT */
/*
 * task/task_internal.h - what a runtime, a runner and a task are made of.
 *
 *   runner   one worker of a runtime: a thread's loop over a worker of the service (timers), a reactor (I/O) and the
 *            tasks that belong to it. In virtual time one thread steps all runners, and they share a reactor.
 *
 * The states of a task, and who changes them:
 *
 *     READY ----loop----> RUNNING ----wait----> WAITING ----wake----> READY
 *                            |                     '--loop that retires--> MOVING --> WAITING, or READY if all stops
 *                            |                                               '--wake--> MOVING_WOKEN... --> READY
 *                            |----I/O----> IN_IO --------done-----> READY
 *                            |               '--cancel-> IO_CANCEL --loop--> IN_IO, or READY if it is done
 *                            '----return, or the thread ends (lost.c)--> ENDED
 *
 *   J1  Only the runner's thread resumes a task, and only the one that moved a task from WAITING to READY puts it into
 *       a queue: so it is in at most one queue, once, and a wake that comes second changes nothing. A task that is woken
 *       while it is MOVING is put into a queue by the loop that moves it: who wakes it does not wait for that.
 *   J2  Who wakes a task for a reason that a lock guards (a mutex handed over, an item, an end that is joined) does so
 *       before it releases that lock. Whoever was woken for another reason (time, cancellation) takes the lock
 *       before it decides: it then sees what it was given, and nobody wakes it for that any more.
 *   J3  The timer of a waiting task has run or is cancelled, and its callback has returned, before the call returns.
 *   J4  A task in IN_IO or IO_CANCEL stays with its runner: the reactor has its operation.
 *   J5  A runner closes its inbox when it retires and no task is listed as its own; none is listed there afterwards.
 */
#ifndef VERGE_SRC_TASK_TASK_INTERNAL_H
#define VERGE_SRC_TASK_TASK_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "reactor/reactor.h"
#include "task/context.h"
#include "task/lock.h"
#include "task/stack.h"
#include "verge/service.h"
#include "verge/task.h"

enum verge__task_state {
    VERGE__TASK_READY,
    VERGE__TASK_RUNNING,
    VERGE__TASK_WAITING,
    VERGE__TASK_MOVING,
    VERGE__TASK_MOVING_WOKEN,     /* MOVING, and READY when it has arrived: woken for a reason of 0, */
    VERGE__TASK_MOVING_TIMED_OUT, /* of -ETIMEDOUT, */
    VERGE__TASK_MOVING_CANCELLED, /* of -ECANCELED */
    VERGE__TASK_IN_IO,
    VERGE__TASK_IO_CANCEL,
    VERGE__TASK_ENDED,
};

struct verge__runner;

struct verge_task {
    struct verge__context context;
    _Atomic uint8_t state;
    uint8_t wake_reason;       /* 0, -ETIMEDOUT or -ECANCELED, negated; by whoever made it READY */
    bool is_detached;          /* under guard */
    bool has_ended;            /* under guard */
    _Atomic bool is_lost;      /* its worker's thread has ended in it (lost.c); its stack is not used again */
    _Atomic bool is_cancelled; /* never taken back */
    uint32_t guard;
    struct verge_task *next; /* in a queue or an inbox */
    struct verge__runner *_Atomic runner;
    struct verge__operation *operation; /* IN_IO */
    verge_timer io_timer;               /* 0: none */
    uint64_t io_timer_ns;
    uint64_t io_deadline_ns; /* of the operation; VERGE_NEVER: none, or not in I/O */
    int io_error;            /* why the operation was cancelled, other than by verge__cancel; 0 */
    int drained_fd;          /* a socket from which it has received all there was; -1 */
    verge_deadline *scope;
    struct verge_task *joiner; /* under guard */

    verge_task_function function;
    void *argument;
    const char *name; /* the caller's; NULL: none */
    intptr_t result;
    void *local;
    struct verge__stack *stack;
    struct verge_runtime *runtime;
    struct verge_task *listed_next, *listed_previous; /* in the runner's list, under its list_guard */
};

struct verge__task_queue {
    struct verge_task *first, *last;
};

static inline void verge__queue_push(struct verge__task_queue *queue, struct verge_task *task) {
    task->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = task;
    } else {
        queue->first = task;
    }
    queue->last = task;
}

static inline struct verge_task *verge__queue_pop(struct verge__task_queue *queue) {
    struct verge_task *task = queue->first;
    if (task != NULL) {
        queue->first = task->next;
        if (task->next == NULL) {
            queue->last = NULL;
        }
    }
    return task;
}

/* What a thread that runs tasks has for the handler of overflow.c. */
struct verge__overflow_watch {
    bool is_on;
    void *alternate; /* the stack of the handler; NULL: the thread's own, or none */
    size_t alternate_size;
};

struct verge__runner {
    struct verge_runtime *runtime;
    uint32_t index;

    /* The runner's thread only. */
    struct verge__context context;
    struct verge_task *running;
    struct verge__task_queue ready;
    int resumes_left; /* in this turn */
    struct verge__reactor *reactor;
    verge_worker *worker;
    struct verge__stack_cache stacks;
    uint32_t at_once_count; /* calls in a row that needed no wait */
    uint32_t stops_seen;    /* has cancelled its tasks since */
    bool owns_reactor;
    struct verge__overflow_watch overflow;

    /* From any thread. */
    struct verge_task *_Atomic inbox; /* the last one first; verge__inbox_closed: the runner has left */
    _Atomic bool is_waiting;          /* in the reactor: who has something for it wakes it */
    _Atomic bool attention;           /* a flag of the runner or of the runtime has changed */
    _Atomic bool is_retiring;
    _Atomic uint32_t notifying; /* threads that are about to wake the reactor, and VERGE__RUNNER_CLOSES */
    uint32_t list_guard;
    _Atomic int reactor_error;                                          /* its reactor has failed; 0: it has not */
    struct verge_task *listed;                                          /* all tasks of the runner */
    _Atomic uint64_t switches, operations, timeouts, migrated, spawned; /* written by the runner's thread */

    pthread_t thread;
    bool has_thread; /* under the runtime's lock */
    bool has_reported;
    int start_error;
};

/* In `notifying`: the runner's thread sleeps until there are none of those threads. */
#define VERGE__RUNNER_CLOSES (UINT32_C(1) << 31)

enum verge__runtime_stage {
    VERGE__RUNTIME_IDLE,
    VERGE__RUNTIME_STARTING,
    VERGE__RUNTIME_RUNNING,
    VERGE__RUNTIME_ENDING
};

struct verge_runtime {
    verge_runtime_options options;
    verge_allocator allocator;
    verge_clock clock;
    verge_service *service;
    struct verge__stack_store stacks;
    uint64_t refused_ns; /* deadlines from 1 to here are durations by mistake; 0: not checked */

    pthread_mutex_t lock; /* of stage, outside_stacks, workers that come and go */
    pthread_cond_t changed;
    enum verge__runtime_stage stage;
    struct verge__stack_cache outside_stacks;
    const char *backend;
    unsigned ring_entry_count; /* for tests: of io_uring's rings; 0: as usual */

    struct verge__runner *_Atomic runners[VERGE_RUNTIME_WORKERS_MAX];
    _Atomic uint32_t runner_count;
    _Atomic uint32_t next_runner; /* for tasks from outside */
    _Atomic uint64_t tasks;       /* how many there are, and VERGE__RUN_OVER */
    uint64_t timer_count;         /* in virtual time: that are to run */
    _Atomic uint64_t spawned_outside;
    _Atomic bool is_stopping;
    _Atomic uint32_t stop_count; /* a stop begins */
    _Atomic bool has_lost_worker;
};

/*
 * Set with the end of the last task, in one step: the loops end, and run no more tasks. One that comes from outside after
 * that is the next run's, or it might be in the middle of something when its loop ends.
 */
#define VERGE__RUN_OVER (UINT64_C(1) << 63)

static inline uint64_t verge__task_count(const struct verge_runtime *runtime) {
    return atomic_load(&runtime->tasks) & ~VERGE__RUN_OVER;
}

static inline bool verge__run_is_over(const struct verge_runtime *runtime) {
    return (atomic_load(&runtime->tasks) & VERGE__RUN_OVER) != 0;
}

extern struct verge_task verge__inbox_closed;

/* ---- current.c ---- */

/* The calling thread's runner and its running task; NULL. Never inlined: a task may wake up on another thread. */
struct verge__runner *verge__current_runner(void);
void verge__set_current_runner(struct verge__runner *runner);
struct verge_task *verge__current_task(void);

/* ---- queue.c ---- */

/* Hands a task that is READY, or in IO_CANCEL, to its runner by way of its inbox. */
void verge__post(struct verge_task *task);

/* What is in the inbox, the oldest first, linked by `next`. */
struct verge_task *verge__inbox_take(struct verge__runner *runner);

/* Makes the loop of a runner look around; alert: after a flag was set. From any thread. */
void verge__runner_notify(struct verge__runner *runner);
void verge__runner_alert(struct verge__runner *runner);
void verge__alert_all(struct verge_runtime *runtime);

/* The runner becomes the task's. False: it has left. */
bool verge__list_task(struct verge__runner *runner, struct verge_task *task);
void verge__unlist_task(struct verge__runner *runner, struct verge_task *task);

/* ---- wait.c ---- */

/* True: the task waited, and it is now the caller's part to deliver it. The reason is what its wait returns. False: it did not
 * wait, or is being moved to another runner, and whoever moves it delivers it. */
bool verge__claim(struct verge_task *task, int reason);
void verge__deliver(struct verge_task *task);
void verge__wake(struct verge_task *task, int reason);
void verge__cancel(struct verge_task *task);

/* Tasks that were claimed, to be delivered later. */
void verge__deliver_all(struct verge__task_queue *queue);

/*
 * At the beginning of a call that may wait. However long what a task wants is always there, it lets the others run: after so
 * many calls in a row, none of which had to wait, it yields.
 */
void verge__begin_call(void);

/* From here on the calling task can be woken; verge__wait follows. */
void verge__wait_begin(struct verge_task *self);

enum verge__wait_mode { VERGE__WAIT, VERGE__WAIT_REGARDLESS };

/*
 * Waits until woken: 0, -ETIMEDOUT, -ECANCELED, or what kept it from waiting (-ENOMEM). The caller looks first whether
 * it was given what it waited for. REGARDLESS: neither time nor cancellation ends it.
 */
int verge__wait(struct verge_task *self, uint64_t deadline_ns, enum verge__wait_mode mode);

/* Whether a deadline of the caller's is a duration by mistake. */
static inline bool verge__refuses(const struct verge_task *self, uint64_t deadline_ns) {
    return deadline_ns - 1 < self->runtime->refused_ns;
}

/* What a call that waited for something, and not for time, returns: for the statistics. */
int verge__count_if_timeout(int result);

/* The earliest of deadline_ns and the scopes of the task. */
uint64_t verge__effective_deadline(const struct verge_task *self, uint64_t deadline_ns);

/* Submits an operation and waits for it. The result is the operation's, -ETIMEDOUT or -ECANCELED. */
int verge__wait_for_operation(struct verge_task *self, struct verge__operation *operation, uint64_t deadline_ns);

void verge__drop_io_timer(struct verge_task *task);

/* The callbacks of the loop: an operation is done; an IO_CANCEL has arrived. */
void verge__operation_done(struct verge__runner *runner, struct verge__operation *operation);
void verge__io_cancel(struct verge__runner *runner, struct verge_task *task);

/* ---- spawn.c ---- */

void verge__task_ended(struct verge__runner *runner, struct verge_task *task);

/* ---- runner.c ---- */

/* Opened and closed by the thread that runs it. shared_reactor NULL: it has one of its own, and the thread is bound. */
int verge__runner_open(struct verge__runner *runner, struct verge__reactor *shared_reactor);
void verge__runner_close(struct verge__runner *runner);

/* To the next task that can run, or back to the loop. self is in a state that somebody ends, or in the ready queue. */
void verge__suspend(struct verge_task *self);

/* What arrived, what is due, what can run. True: something did. */
bool verge__runner_turn(struct verge__runner *runner);

/* Tasks can run, or something has arrived. */
bool verge__runner_has_work(struct verge__runner *runner);

/* Until no task is left in the runtime, or on this runner if it retires. */
void verge__runner_loop(struct verge__runner *runner);

enum verge__reactor_kind verge__reactor_kind(verge_backend backend);

/* ---- runtime.c ---- */

/* One more, at index runner_count. Closed: it takes no tasks until its thread runs. */
int verge__add_runner(struct verge_runtime *runtime, bool is_closed);

/* ---- overflow.c ---- */

/* The calling thread is about to run tasks; has done so. In virtual time: with worker 0, for all. */
void verge__overflow_watch(struct verge__runner *runner);
void verge__overflow_unwatch(struct verge__runner *runner);

/* ---- lost.c ---- */

/* The calling thread, a worker's, is ending in the middle of a task: that one is lost, and the runtime stops. */
void verge__lose_running_task(void);

/* ---- move.c ---- */

/* Gives what a runner that retires can give to others. True: there was something. */
bool verge__runner_move_tasks(struct verge__runner *runner);

/* True: no task is left, and it has closed its inbox. */
bool verge__runner_has_left(struct verge__runner *runner);

/* A runner that takes tasks; never NULL, as worker 0 does not retire. */
struct verge__runner *verge__pick_runner(struct verge_runtime *runtime);

/* ---- virtual.c ---- */

void verge__virtual_loop(struct verge_runtime *runtime, struct verge__reactor *reactor);
void verge__virtual_close(struct verge_runtime *runtime);

/* A count that one thread writes and any may read. */
static inline void verge__count_more(_Atomic uint64_t *count, uint64_t more) {
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline void verge__count(_Atomic uint64_t *count) {
    verge__count_more(count, 1);
}

static inline uint64_t verge__clock_now(const verge_clock *clock) {
    return clock->now_ns(clock->context);
}

#endif
