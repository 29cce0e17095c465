/* SPDX-License-Identifier: MIT */
/*
 * task/task_internal.h - what a runtime, a runner and a task are made of.
 *
 *   runner   one worker of a runtime: a thread's loop over a worker of the service (timers), a reactor (I/O) and the
 *            tasks that belong to it. In virtual time one thread steps all runners, and they share a reactor.
 *
 * The states of a task, and what changes them:
 *
 *     READY ----loop----> RUNNING ----wait----> WAITING ----wake----> READY
 *                            |                     '--loop that retires--> MOVING --> WAITING, or READY if all stops
 *                            |                                               '--wake--> MOVING_WOKEN... --> READY
 *                            |----I/O----> IN_IO --------done-----> READY
 *                            |               '--cancel-> IO_CANCEL --loop--> IN_IO, or READY if it is done
 *                            '----return, or the thread ends (lost.c)--> ENDED
 *
 *   J1  Only the thread of its runner resumes a task. Only the thread that changed a task from WAITING to READY puts it
 *       into a queue. So a task is in at most one queue, once, and a second wake-up changes nothing. If a task is woken
 *       while it is MOVING, the loop that moves it puts it into a queue, and the waking thread does not wait for that.
 *       A thread that has made a task READY, or has taken it out of a queue, has the task for itself: it may give the
 *       task to another runner.
 *   J2  A mutex, a channel and so on give something to a waiting task under a lock. The giving thread wakes the task
 *       before it releases that lock. A task that was woken for another reason (time, cancellation) takes the lock
 *       before it decides what to return. There it sees whether it was given something, and from then on it is not
 *       woken for that any more.
 *   J3  Before a waiting call returns, its timer has run or is cancelled, and the timer's callback has returned.
 *   J4  A task in IN_IO or IO_CANCEL stays with its runner, since the reactor has its operation. A select with
 *       descriptors waits in these states, too: to wake it is to cancel its operations.
 *   J5  A runner that retires closes its inbox when no task is listed as its own. After that, none is listed there.
 *   J6  is about the timer of a task in I/O: see wait.c.
 *   J7  A pinned task was spawned with the index of a worker: it changes its runner only if that retires. Any other
 *       task may change its runner while it is READY: it goes to the runner whose task woke it, or to one that searches
 *       (share.c, search.h).
 */
#ifndef VERGE_SRC_TASK_TASK_INTERNAL_H
#define VERGE_SRC_TASK_TASK_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/fork.h"
#include "reactor/reactor.h"
#include "task/context.h"
#include "task/lock.h"
#include "task/ring.h"
#include "task/stack.h"
#include "verge/service.h"
#include "verge/task.h"

typedef enum verge__task_state {
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
} verge__task_state;

/* What a task waits for, as a dump tells it. OPERATION + kind: I/O of that kind (enum verge__operation_kind). */
typedef enum verge__awaited {
    VERGE__AWAITS_TIME,
    VERGE__AWAITS_TASK,
    VERGE__AWAITS_MUTEX,
    VERGE__AWAITS_CONDITION,
    VERGE__AWAITS_SEND,
    VERGE__AWAITS_RECEIVE,
    VERGE__AWAITS_SELECT,
    VERGE__AWAITS_GROUP,
    VERGE__AWAITS_SEMAPHORE,
    VERGE__AWAITS_RWLOCK,
    VERGE__AWAITS_BROADCAST,
    VERGE__AWAITS_BLOCKING,
    VERGE__AWAITS_OPERATION,
} verge__awaited;

typedef struct verge__runner verge__runner;
typedef struct verge__waiter verge__waiter;

struct verge_task {
    verge__context context;
    _Atomic uint8_t state;
    uint8_t wake_reason;  /* why its wait ended: 0, ETIMEDOUT or ECANCELED; written by the thread that made it READY */
    bool is_pinned;       /* J7 */
    bool is_detached;     /* under guard */
    bool has_ended;       /* under guard */
    bool is_unjoined;     /* it had no joiner when it ended, and is counted as unjoined; set under guard */
    _Atomic bool is_lost; /* its worker's thread has ended in it (lost.c); its stack is not used again */
    _Atomic bool is_cancelled; /* once set, it stays set */
    uint32_t guard;
    verge_task *next; /* in a queue or an inbox */
    verge__runner *_Atomic runner;
    struct verge__operation *operation; /* IN_IO; of several, the first of a list linked by `sibling` */
    verge_timer io_timer;               /* J6; 0: none */
    uint64_t io_timer_ns;               /* VERGE_NEVER: it has run */
    uint64_t io_deadline_ns;            /* of the operation; VERGE_NEVER: none, or not in I/O */
    int io_error;                       /* why the operation was cancelled, if not by verge__cancel; otherwise 0 */
    uint32_t source;                    /* of its timers (service/sources.h); found with the first of them */
    int drained_fd;                     /* the socket that its last receive has emptied; -1: none */
    verge_deadline *scope;
    verge__waiter *joiner; /* under guard */

    /* For dumps only. The task's own thread writes these, and any thread reads them. */
    _Atomic uint8_t awaits;               /* verge__awaited */
    _Atomic uintptr_t awaited;            /* the address of what it waits for, or a descriptor */
    _Atomic uint64_t awaited_deadline_ns; /* 0: none */
    _Atomic uint64_t stopped_ns;          /* the time of the turn in which it began to wait */
    _Atomic bool has_begun;

    void *local;
    struct verge_group *group; /* that it belongs to; NULL: none */

    /* What is above is zero when a task begins. */
    verge_task_function function;
    void *argument;
    const char *label;               /* of its timers; NULL: they are its function's */
    char name[VERGE_TASK_NAME_SIZE]; /* empty: none. Written by its own task, under guard; others read it under guard */
    intptr_t result;
    verge__stack *stack;
    verge_runtime *runtime;
    verge_task *listed_next, *listed_previous; /* in the runner's list, under its list_guard */
    verge_task *member_next, *member_previous; /* of a group; under its guard */
    verge_deadline inherited;                  /* the scope it was spawned in */
};

/* Copies as much of the name as fits. */
static inline void verge__set_name(verge_task *task, const char *name) {
    size_t size = 0;
    while (name != NULL && size < VERGE_TASK_NAME_SIZE - 1 && name[size] != '\0') {
        task->name[size] = name[size];
        size++;
    }
    task->name[size] = '\0';
}

typedef struct verge__task_queue {
    verge_task *first, *last;
} verge__task_queue;

static inline void verge__queue_push(verge__task_queue *queue, verge_task *task) {
    task->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = task;
    } else {
        queue->first = task;
    }
    queue->last = task;
}

static inline verge_task *verge__queue_pop(verge__task_queue *queue) {
    verge_task *task = queue->first;
    if (task != NULL) {
        queue->first = task->next;
        if (task->next == NULL) {
            queue->last = NULL;
        }
    }
    return task;
}

/* Threads for calls that block (blocking.c). All under lock. */
typedef struct verge__blocking_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* a call was queued, or the pool closes */
    pthread_cond_t changed; /* a call was done for a thread that waits, or a thread has ended */
    struct verge__blocking_call *first, *last;
    uint32_t queued_count;
    uint32_t thread_count;
    uint32_t idle_count; /* how many of them wait for work, or were woken for a queued call and have not taken it yet */
    bool is_closing;
    bool has_ended; /* the thread that ended last is to be joined */
    pthread_t ended;
} verge__blocking_pool;

/* The alternate signal stack of a thread that runs tasks (overflow.c). */
typedef struct verge__overflow_stack {
    bool is_on;
    void *alternate; /* the stack of the handler; NULL: the thread's own, or none */
    size_t alternate_size;
} verge__overflow_stack;

enum { VERGE__PARKED_WORDS = (VERGE_RUNTIME_WORKERS_MAX + 63) / 64 };

/* A runner's search for tasks (search.c). */
typedef struct verge__searching {
    bool is_mine; /* this runner is the one that searches */
    bool has_napped;
    uint32_t patience;           /* how many times it looks again before it sleeps */
    uint64_t nap_ns;             /* how long it napped last; 0: it has not napped since it found something */
    uint32_t heads;              /* the sum of the others' ring heads, when it last looked */
    const verge__runner *few_of; /* the runner whose few tasks it left alone before the nap, */
    uint32_t few_head;           /* and where its ring was */
} verge__searching;

typedef struct verge__runner {
    verge_runtime *runtime;
    uint32_t index;

    /* The runner's thread only. */
    verge__context context;
    verge_task *running;
    verge__task_queue ready;
    verge_task *handed_over;  /* share.c */
    _Atomic int resumes_left; /* in this turn; observe.c reads it */
    uint64_t turn_ns;         /* when this turn began, as its timers saw it */
    bool has_others;          /* a copy of `shares`, for its own thread */
    bool ring_is_next;
    bool offers_later; /* it does not offer to others what it pushes, but does so later (share.c) */
    struct verge__reactor *reactor;
    verge_worker *worker;
    verge__stack_cache stacks;
    uint32_t at_once_count; /* calls in a row that needed no wait */
    uint32_t stops_seen;    /* the stop_count at which it has cancelled its tasks */
    uint32_t random;        /* for select, which chooses among ready cases by chance */
    bool owns_reactor;
    verge__overflow_stack overflow;
    verge__searching search;

    /* From any thread. */
    verge_task *_Atomic inbox; /* linked, the last posted first; verge__inbox_closed: the runner has left */
    _Atomic bool is_waiting;   /* in the reactor; a thread that has something for it wakes it */
    _Atomic bool attention;    /* a flag of the runner or of the runtime has changed */
    _Atomic bool is_retiring;
    _Atomic bool shares; /* its tasks may go to other runners. Set by its own thread, between tasks; it stays set */
    _Atomic uint32_t notifying; /* how many threads are about to wake the reactor, plus VERGE__RUNNER_CLOSES */
    uint32_t list_guard;
    _Atomic int reactor_error; /* its reactor has failed; 0: it has not */
    verge_task *listed;        /* all tasks of the runner */
    _Atomic uint64_t credit;   /* tasks that runtime->tasks counts, but that do not exist; 0 while the runner waits */
    _Atomic uint64_t switches, operations, timeouts, migrated, spawned; /* written by the runner's thread */
    _Atomic uint64_t unjoined,
        collected; /* the same: tasks that ended unjoined; how many of these were joined or detached since */

    pthread_t thread;
    bool has_thread; /* under the runtime's lock */
    bool has_reported;
    int start_error;

    /* Tasks that are ready and not pinned, where the runner shares: the oldest in the ring, the rest in `overflow`. */
    char other_lines[64]; /* what other threads look at is not beside what only this one uses */
    verge__task_ring ring;
    uint32_t overflow_guard;
    _Atomic uint32_t overflow_count; /* written under the guard */
    verge__task_queue overflow_queue;
} verge__runner;

/* A flag in `notifying`: the runner's thread sleeps until no thread is about to wake its reactor. */
#define VERGE__RUNNER_CLOSES (UINT32_C(1) << 31)

typedef enum verge__runtime_stage {
    VERGE__RUNTIME_IDLE,
    VERGE__RUNTIME_STARTING,
    VERGE__RUNTIME_RUNNING,
    VERGE__RUNTIME_ENDING
} verge__runtime_stage;

struct verge_runtime {
    verge_runtime_options options;
    verge_allocator allocator;
    verge_clock clock;
    verge_service *service;
    uint32_t forks; /* as they were counted when it was created */
    verge__stack_store stacks;
    uint64_t refused_ns; /* deadlines from 1 to here are durations by mistake; 0: not checked */

    pthread_mutex_t lock; /* of stage, outside_stacks, workers that come and go */
    pthread_cond_t changed;
    verge__runtime_stage stage;
    verge__stack_cache outside_stacks;
    const char *backend;
    unsigned ring_entry_count; /* for tests: of io_uring's rings; 0: as usual */

    verge__runner *_Atomic runners[VERGE_RUNTIME_WORKERS_MAX];
    _Atomic uint32_t runner_count;
    uint64_t timer_count; /* virtual time: timers that were started and will run */
    _Atomic bool is_stopping;
    _Atomic uint32_t stop_count; /* how many stops have begun */
    _Atomic bool has_lost_worker;

    /* What changes often is in cache lines of its own: all runners read what is above. */
    char line_of_search[64];
    _Atomic bool is_searching;                    /* search.h: a runner searches, or is being called to */
    _Atomic uint64_t parked[VERGE__PARKED_WORDS]; /* a bit a runner */
    char line_of_counts[64];
    _Atomic uint64_t tasks;       /* how many there are, plus the credits of all runners, plus VERGE__RUN_OVER */
    _Atomic uint32_t next_runner; /* for tasks from outside */
    _Atomic uint64_t spawned_outside;
    _Atomic uint64_t collected_outside;
    char line_of_rest[64];

    verge__blocking_pool pool;

    struct {
        pthread_t thread;
        bool has_thread;
        bool handles_signal;
        uint32_t requests; /* of the signal, when it began */
        _Atomic bool ends;
        _Atomic uint32_t word; /* where its thread sleeps, unless it is for a signal */
    } observer;
};

/*
 * A flag in `tasks`. It is set in the step that counts the last task out. From then on the loops end, and run no more
 * tasks. A task that is spawned from outside after that belongs to the next run: otherwise its loop could end in the
 * middle of it.
 */
#define VERGE__RUN_OVER (UINT64_C(1) << 63)

static inline uint64_t verge__task_count(const verge_runtime *runtime) {
    return atomic_load(&runtime->tasks) & ~VERGE__RUN_OVER;
}

static inline bool verge__run_is_over(const verge_runtime *runtime) {
    return (atomic_load(&runtime->tasks) & VERGE__RUN_OVER) != 0;
}

/* Without the credits of runners (stats.c). */
uint64_t verge__existing_tasks(const verge_runtime *runtime);
uint64_t verge__unjoined_tasks(const verge_runtime *runtime);

extern verge_task verge__inbox_closed;

/* ---- current.c ---- */

/* The calling thread's runner, and its running task (below). NULL: none. Never inlined: a task may wake up on another
 * thread. */
verge__runner *verge__current_runner(void);

/* In the child of a fork no thread is a runner. -ENOMEM. */
int verge__forget_runner_in_child(void);

/* Whether the runtime is the parent's, and this process is the child of a fork. */
static inline bool verge__runtime_is_forked(const verge_runtime *runtime) {
    return runtime->forks != verge__forks();
}
void verge__set_current_runner(verge__runner *runner);
verge_task *verge__current_task(void);

/* Stands for a plain thread as the owner of a mutex. It is odd, so it equals the address of no task. */
void *verge__current_thread(void);

/* The calling task or thread, as the owner of a mutex. */
static inline void *verge__owner_of(verge_task *self) {
    return self != NULL ? (void *)self : verge__current_thread();
}

static inline bool verge__is_thread(const void *owner) {
    return ((uintptr_t)owner & 1) != 0;
}

/* ---- queue.c ---- */

/* Puts a task that is READY, or in IO_CANCEL, into the inbox of its runner. */
void verge__post(verge_task *task);

/* Takes all tasks of an inbox, the oldest first, linked by `next`. of_other is for the thread of another runner. NULL:
 * there were none, or another thread was faster. */
verge_task *verge__inbox_take(verge__runner *runner);
verge_task *verge__inbox_take_of_other(verge__runner *victim);
bool verge__inbox_has_tasks(const verge__runner *runner);

/* Makes the loop of a runner look for work. notify: true if the runner slept. alert: for a thread that has set a flag.
 * From any thread. */
bool verge__runner_notify(verge__runner *runner);
void verge__runner_alert(verge__runner *runner);
void verge__alert_all(verge_runtime *runtime);

/* Adds a task to the list of a runner, which is the task's runner from then on. False: the runner has left. */
bool verge__list_task(verge__runner *runner, verge_task *task);
void verge__unlist_task(verge__runner *runner, verge_task *task);

/* ---- share.c ---- */

/* For a runner that shares, by its own thread: puts a ready task where others may take it; takes the next task, which
 * is resumed now. */
void verge__share(verge__runner *runner, verge_task *task);
verge_task *verge__take_shared(verge__runner *runner, const verge_task *self);
bool verge__has_shared(const verge__runner *runner);

/* By the runner's own thread, whether it shares or not: takes out a ready task, to give it to another runner. NULL:
 * there is none. */
verge_task *verge__take_ready(verge__runner *runner);

/* The runner begins to run tasks. It offers its shared tasks to others: those that it has now, and each one that it
 * adds in this turn. */
void verge__offer_rest(verge__runner *runner);

/* Takes over a task that the calling runner has made READY, if it may (J7). True: it did. */
bool verge__take_over(verge__runner *runner, verge_task *task);

/* Takes tasks that another runner has ready, and makes them its own. False: there were none, or others were faster.
 * steal_inbox takes tasks from the other's inbox. */
bool verge__steal(verge__runner *runner, verge__runner *victim);
bool verge__steal_inbox(verge__runner *runner, verge__runner *victim);

/* may_go_elsewhere: whether other runners may take this task of the runner as soon as it is not live. may_be_taken:
 * whether they may take it now. Only runners that share set is_live, and a runner sets `shares` before it runs any of
 * the tasks whose is_live is read here. */
static inline bool verge__may_go_elsewhere(const verge__runner *runner, const verge_task *task) {
    return !task->is_pinned && atomic_load_explicit(&runner->shares, memory_order_acquire) &&
           atomic_load(&task->state) == VERGE__TASK_READY;
}

static inline bool verge__may_be_taken(const verge__runner *runner, const verge_task *task) {
    return verge__may_go_elsewhere(runner, task) && !verge__context_is_live(&task->context);
}

/* Puts a task that is READY into the queue of the calling runner, which is the task's. */
static inline void verge__runner_push(verge__runner *runner, verge_task *task) {
    if (VERGE__LIKELY(!runner->has_others)) {
        verge__queue_push(&runner->ready, task);
    } else {
        verge__share(runner, task);
    }
}

/* Takes out the next task, which the caller resumes now. NULL: there is none. self: the task on whose stack the caller
 * runs; NULL: the loop calls. */
static inline verge_task *verge__runner_pop(verge__runner *runner, const verge_task *self) {
    if (VERGE__LIKELY(!runner->has_others)) {
        return verge__queue_pop(&runner->ready);
    }
    return verge__take_shared(runner, self);
}

/* ---- wait.c ---- */

/* True: the task waited, and the caller must deliver it now. Its wait returns `reason`. If it is in I/O, the operation
 * decides what its call returns, and to deliver the task means to cancel the operation. False: the task did not wait,
 * or is being moved to another runner; then the thread that moves it delivers it. */
bool verge__claim(verge_task *task, int reason);

/* Puts a task that was claimed into a queue: that of the calling runner, if that may take the task over (J7), otherwise
 * that of the task's own runner. deliver_home always uses the task's own runner; `here` is the calling one, or NULL. */
void verge__deliver(verge_task *task);
void verge__deliver_home(verge__runner *here, verge_task *task);
void verge__wake(verge_task *task, int reason);
void verge__cancel(verge_task *task);

/* Tasks that were claimed, to be delivered later. */
void verge__deliver_all(verge__task_queue *queue);

/*
 * Every call that may wait begins with this. If none of a task's calls has to wait, the task yields after a number of
 * them in a row, so that others run. Returns the calling task; NULL: a plain thread calls.
 */
verge_task *verge__begin_call(void);

/* From here on the calling task can be woken; verge__wait follows. */
void verge__wait_begin(verge_task *self);

typedef enum verge__wait_mode { VERGE__WAIT, VERGE__WAIT_REGARDLESS } verge__wait_mode;

/*
 * Waits until woken: 0, -ETIMEDOUT, -ECANCELED, or what kept it from waiting (-ENOMEM). Whatever it returns, the caller
 * first checks whether it was given what it waited for. REGARDLESS: neither time nor cancellation ends it.
 */
int verge__wait(verge_task *self, uint64_t deadline_ns, verge__wait_mode mode);

/* Instead of verge__wait, if the task need not wait any more. It lets others run if it was woken meanwhile. */
void verge__wait_end(verge_task *self);

/* Whether a deadline of the caller's is a duration by mistake. */
static inline bool verge__refuses(const verge_task *self, uint64_t deadline_ns) {
    return deadline_ns - 1 < self->runtime->refused_ns;
}

/* Counts -ETIMEDOUT for the statistics, and returns `result`. Not for calls that wait for time. */
int verge__count_if_timeout(int result);

/* The earliest of deadline_ns and the scopes of the task. */
uint64_t verge__effective_deadline(const verge_task *self, uint64_t deadline_ns);

/* Submits an operation and waits for it. The result is the operation's, -ETIMEDOUT or -ECANCELED. */
int verge__wait_for_operation(verge_task *self, struct verge__operation *operation, uint64_t deadline_ns);

/*
 * For select, which waits for several operations, or to be woken. io_begin submits the operations. From then on the
 * task can be woken, as after verge__wait_begin. Waking it cancels the operations, and so does the first of them that
 * is done. True: all are pending. False: one was done at once, and those after it are not submitted. io_wait waits
 * until all are done: 0, -ETIMEDOUT, -ECANCELED or what kept it from waiting. io_end cancels them, and waits until all
 * are done.
 */
bool verge__io_begin(verge_task *self, struct verge__operation *operations, size_t count);
int verge__io_wait(verge_task *self, uint64_t deadline_ns);
void verge__io_end(verge_task *self);

/* Cancels the timer that the task keeps for its operations (J6). */
void verge__end_io_timer(verge_task *task);

/* The loop calls these: an operation is done; a task in IO_CANCEL has come through the inbox. */
void verge__operation_done(verge__runner *runner, struct verge__operation *operation);
void verge__io_cancel(verge__runner *runner, verge_task *task);

/* Notes what the calling task is about to wait for. NULL: a plain thread calls. */
static inline void verge__awaits(verge_task *self, unsigned awaits, uintptr_t awaited) {
    if (self != NULL) {
        atomic_store_explicit(&self->awaits, (uint8_t)awaits, memory_order_relaxed);
        atomic_store_explicit(&self->awaited, awaited, memory_order_relaxed);
    }
}

/* ---- spawn.c ---- */

void verge__task_ended(verge__runner *runner, verge_task *task);

/* Before the runner waits or ends. If no task is left, the run is over. */
void verge__give_credit_back(verge__runner *runner);
/* Spawns a task of a group. The group has counted it already. */
int verge__spawn_member(verge_task *self, struct verge_group *group, const verge_spawn_options *options);

/* Under the task's guard: what a join of it by `self` would return now, without its result; -EAGAIN: it would wait. */
int verge__join_state(const verge_task *self, const verge_task *task);

/* Takes the result of a task that has ended. The caller is its joiner. After that, the task's handle is invalid. */
int verge__take_result(verge_task *task, intptr_t *ret_result);

/* ---- mutex.c ---- */

bool verge__mutex_is_owner(verge_mutex *mutex, const void *owner);

/* ---- group.c ---- */

/* A new task joins its group, which has counted it already; a task that has ended leaves its group. */
void verge__group_join(verge_task *task);
void verge__group_leave(verge_task *task);

/* ---- runner.c ---- */

/* Both are called by the thread that runs the runner. shared_reactor NULL: the runner gets a reactor of its own, and
 * the thread is bound to its worker. */
int verge__runner_open(verge__runner *runner, struct verge__reactor *shared_reactor);
void verge__runner_close(verge__runner *runner);

/* Switches to the next task that can run, or back to the loop. self is in the ready queue, or in a state that another
 * thread will end. */
void verge__suspend(verge_task *self);

/* One turn: handles what has arrived, runs the timers that are due, and then tasks. True: there was something to do. */
bool verge__runner_turn(verge__runner *runner);

/* Whether the runtime stops, and this runner has cancelled its tasks. */
static inline bool verge__has_stopped(const verge__runner *runner) {
    return atomic_load(&runner->runtime->is_stopping) &&
           runner->stops_seen == atomic_load(&runner->runtime->stop_count);
}

/* Whether tasks can run, or something has arrived. */
bool verge__runner_has_work(verge__runner *runner);

/* Runs tasks until none is left in the runtime, or on this runner if it retires. */
void verge__runner_loop(verge__runner *runner);

verge__reactor_kind verge__reactor_kind_of(verge_backend backend);

/* ---- runtime.c ---- */

/* Adds a runner, at index runner_count. is_closed: it accepts no tasks until its thread runs. */
int verge__add_runner(verge_runtime *runtime, bool is_closed);

/* ---- blocking.c ---- */

void verge__blocking_init(verge__blocking_pool *pool);

/* Waits for the functions that still run. */
void verge__blocking_deinit(verge__blocking_pool *pool);

/*
 * Both call a function that blocks on a thread, and wait for its end. awaits and awaited are for verge__awaits. Not in
 * virtual time. -EAGAIN: no thread can be started, and it was not called.
 *   until        waits for a thread until the deadline, that of a scope, or a cancellation. -ETIMEDOUT, -ECANCELED: the
 *                function was not called, and will not be. -ENOMEM: the same. A function that has begun is waited for.
 *   regardless   waits for a thread, whatever happens.
 */
int verge__blocking_until(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                          uintptr_t awaited, uint64_t deadline_ns);
int verge__blocking_regardless(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                               uintptr_t awaited);

/* ---- dump.c ---- */

/* Copies the name of a task, which may be empty. The caller keeps the task from ending meanwhile. */
void verge__copy_name(verge_task *task, char name[VERGE_TASK_NAME_SIZE]);

/* ---- observe.c ---- */

/* Between these two calls, a thread watches the workers and dumps at the signal, if the options ask for either. */
int verge__observe_begin(verge_runtime *runtime);
void verge__observe_end(verge_runtime *runtime);

/* ---- overflow.c ---- */

/* The calling thread is about to run tasks; it runs no more tasks. In virtual time, worker 0 stands for all. */
void verge__overflow_watch(verge__runner *runner);
void verge__overflow_unwatch(verge__runner *runner);

/* ---- lost.c ---- */

/* The calling thread, a worker's, is ending in the middle of a task: that one is lost, and the runtime stops. */
void verge__lose_running_task(void);

/* ---- move.c ---- */

/* Gives the tasks of a runner that retires to others, except those in I/O. True: there were some. */
bool verge__runner_move_tasks(verge__runner *runner);

/* True: no task is left, and it has closed its inbox. */
bool verge__runner_has_left(verge__runner *runner);

/* Chooses a runner that accepts tasks. Never NULL, as worker 0 does not retire. */
verge__runner *verge__pick_runner(verge_runtime *runtime);

/* ---- virtual.c ---- */

/* Until no task is left: 0. -EDEADLK: nothing can wake those that are left. */
int verge__virtual_loop(verge_runtime *runtime, struct verge__reactor *reactor);
void verge__virtual_close(verge_runtime *runtime);

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
