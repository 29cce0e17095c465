/* SPDX-License-Identifier: MIT */
/*
 * verge/task.h - tasks: like small threads, each with its own stack. They sleep, wait for each other and do I/O
 * (verge/io.h) without occupying a thread. A runtime has workers. Each runs its tasks one at a time, until they wait.
 *
 * Words
 *   worker    a thread with a reactor, a wheel of timers and tasks, which it runs one at a time. A task that is placed
 *             by name (verge_spawn_on with an index) stays with its worker, unless that retires. Any other task may go
 *             on with another worker after each call that waits or yields: with the one whose task has woken it, or
 *             with one that has nothing to do. In virtual time all tasks stay.
 *   to wait   to be suspended until something happens. Only the calls that say so wait; between them a task keeps its
 *             worker.
 *   deadline  a time on the runtime's clock, in ns; VERGE_NEVER: none. A waiting call takes one as its last argument,
 *             or has a form ending in _until that does. If there are deadline scopes, the earliest deadline counts.
 *   scope     what happens between verge_deadline_push and verge_deadline_pop, in the task that calls them: tasks that
 *             it spawns there do not inherit it, unless into a group (verge/sync.h).
 *
 * Promises
 *   T1 never early    a sleep returns 0 only when its time has come; a call returns -ETIMEDOUT only when its deadline
 *                     or that of a scope has (I/O: see N3). Late by less than the precision plus the time that other
 *                     tasks take.
 *   T2 one answer     a waiting call that took something (a lock, an item, bytes) returns 0 or more, even if its
 *                     deadline came or its task was cancelled at the same moment. -ETIMEDOUT and -ECANCELED mean that
 *                     nothing was taken.
 *   T3 no wait        a call that need not wait does not: a sleep of 0 or until a time in the past, a free mutex, an
 *                     item that is there. This also holds for cancelled tasks and past deadlines. Such a call may still
 *                     let other tasks run first, as verge_yield does; one in 64 in a row does.
 *   T4 cancellation   after verge_task_cancel, every call of that task that would wait returns -ECANCELED, also the
 *                     call that it waits in now, except those named _regardless. It is a request: the task ends when
 *                     its function returns.
 *   T5 shutdown       verge_runtime_stop cancels all tasks; verge_runtime_run returns when they have ended. None is
 *                     dropped half way, nothing leaks.
 *   T6 overflow       a task that uses more stack than there is ends the process with SIGSEGV: it corrupts nothing.
 *                     Functions with more than 16 KiB of local variables are to be compiled with
 *                     -fstack-clash-protection for that. With report_overflow, "verge: stack overflow in task NAME" is
 *                     written to stderr first. While tasks run, that option sets the action of SIGSEGV, and gives the
 *                     threads of workers an alternate signal stack; faults of other kinds go to the action that was set
 *                     before. A library built with VERGE_ASSERTS does so without the option, unless the program has a
 *                     handler for SIGSEGV.
 *   T7 virtual time   on a manual clock the runtime steps its workers in a fixed order, and moves the clock to the next
 *                     deadline when no task can run: the same program does the same every time, however many workers.
 *   T8 lost worker    a task that ends the thread of its worker (pthread_exit) is lost. Joining it, or locking a mutex
 *                     that it held, returns -EOWNERDEAD. What else it left behind is unknown, so the runtime stops
 *                     (T5): all other tasks end, those of that worker on another one, and run returns -EOWNERDEAD.
 *
 * Waiting calls return -EPERM outside of tasks, but for those of mutex, condition and channel: they are for plain
 * threads, too, which they block. There a deadline is a time on the monotonic clock, as verge_deadline_after gives it.
 * -EINVAL: an argument makes no sense. -ENOMEM: there was no memory for the timer of a deadline or sleep that had to be
 * waited for; nothing was taken. A task must unlock what it has locked before it ends; scopes that it did not pop go
 * with it.
 *
 * fork. The child has none of the runtime's threads: there, calls with the runtime return -ECHILD,
 * verge_runtime_destroy too. The child of a task that forks is in no task: its waiting calls return -EPERM. It is to
 * call exec or _exit, and not to return from the task's function. The child can create a runtime of its own.
 */
#ifndef VERGE_TASK_H
#define VERGE_TASK_H

#include <stdbool.h>

#include "verge/interval.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_runtime verge_runtime;
typedef struct verge_task verge_task;

/* The function of a task. verge_join gives its result to the caller. */
typedef intptr_t (*verge_task_function)(void *argument);

/* ---- the runtime ---- */

typedef enum verge_backend {
    VERGE_BACKEND_AUTO = 0, /* the environment variable VERGE_BACKEND (io_uring, epoll), else io_uring if it can be had,
                               else epoll */
    VERGE_BACKEND_IO_URING,
    VERGE_BACKEND_EPOLL,
} verge_backend;

enum {
    VERGE_RUNTIME_WORKERS_MAX = 250, /* all that a runtime ever had, counting those that retired */
};

#define VERGE_STACK_SIZE_DEFAULT ((size_t)(64 << 10))
#define VERGE_STACK_SIZE_MIN ((size_t)(8 << 10))

/* Of the name of a task, its ending 0 included. */
#define VERGE_TASK_NAME_SIZE 32

/* A task that has been running for longer than stuck_after_ns, and keeps all others of its worker waiting. */
typedef struct verge_stuck_task {
    const char *name;             /* NULL: it has none */
    verge_task_function function; /* what it was spawned with */
    uint32_t worker_index;
    uint64_t running_ns; /* for at least so long, in real time */
} verge_stuck_task;

typedef struct verge_runtime_options {
    size_t struct_size;    /* set by verge_runtime_options_init */
    uint32_t worker_count; /* 0: one for each processor */
    verge_backend backend;
    verge_clock clock;                 /* now_ns NULL: monotonic */
    verge_manual_clock *virtual_clock; /* not NULL: virtual time on this clock (T7); clock is not used */
    uint64_t io_grace_ns;              /* virtual time, while operations are pending: how long none of them has to
                                          complete, in real time, before the clock may move on. VERGE_NEVER: never */
    uint64_t precision_ns;             /* of sleeps and deadlines; a power of two */
    size_t stack_size;                 /* that a task can use at least */
    size_t task_count_max;             /* more at one time: -ENOSPC. 0: any number */
    const verge_allocator *allocator;  /* NULL: verge_allocator_default(); any thread may call it. Stacks are mapped */
    bool check_deadlines;              /* see below */
    bool report_overflow;    /* a task that overflows its stack is named on stderr, before the process ends (T6) */
    int dump_signal;         /* while tasks run, this signal has verge_runtime_dump_to write to dump_fd; 0: none does */
    int dump_fd;             /* stderr, unless set otherwise */
    uint64_t stuck_after_ns; /* a task that runs longer without waiting or yielding is reported, once; 0: not watched */
    void (*on_stuck)(void *context, const verge_stuck_task *stuck); /* on a thread of its own */
    void *on_stuck_context;
    uint32_t blocking_thread_max; /* threads for verge_blocking (verge/blocking.h), at least 1; they come as needed */
    uint64_t blocking_idle_ns;    /* and go when they had nothing to do for so long, in real time */
} verge_runtime_options;

/*
 * A deadline is a time, not a duration: verge_deadline_after(300 * MS), not 300 * MS, which was over 300 ms after the
 * machine started. A call with such a deadline does not wait, and says so by 0 or -ETIMEDOUT. With check_deadlines,
 * verge_sleep_until, verge_deadline_push and any call that has to wait return -EINVAL for a deadline before the runtime
 * was created. 0 is allowed: it means "do not wait". A library built with VERGE_ASSERTS always checks where the clock
 * is the monotonic or the boottime one.
 */

VERGE_API int verge_runtime_options_init_sized(verge_runtime_options *options, size_t struct_size);

static inline int verge_runtime_options_init(verge_runtime_options *options) {
    return verge_runtime_options_init_sized(options, sizeof(*options));
}

/* Why options are refused. 0: verge_runtime_create accepts them. Otherwise -EINVAL, and text gets a sentence that names
 * the field and the reason, cut to size bytes. 128 bytes are enough. */
VERGE_API int verge_runtime_options_explain(const verge_runtime_options *options, char *text, size_t size);

/* NULL options: a worker a processor, the monotonic clock, 2^20 ns, 64 KiB. It starts nothing yet. */
VERGE_API VERGE_MUST_USE int verge_runtime_create(const verge_runtime_options *options, verge_runtime **ret_runtime);

/*
 * Runs tasks until none is left: function first (which may be NULL, if tasks were spawned before), on worker 0, which
 * is the calling thread; the other workers are threads. *ret_result gets what function returned; ret_result may be
 * NULL. Afterwards it may be called again; a task that comes from outside when none is left is that run's. -EBUSY: it
 * is running; -EAGAIN: no threads; -EMFILE and others: no reactor; -ESHUTDOWN: it was stopped before; then nothing ran,
 * and the tasks that are there are still to run (function NULL does that). -EOWNERDEAD: all tasks have ended, and
 * a worker was lost (T8), for good; if that was the calling thread, it does not return but ends when all tasks have.
 * Until it returns, the calling thread cannot be cancelled (pthread_cancel); no thread of a worker can.
 */
VERGE_API VERGE_MUST_USE int verge_runtime_run(verge_runtime *runtime, verge_task_function function, void *argument,
                                               intptr_t *ret_result);

/* Cancels all tasks, also those that are spawned later, so that run returns. From any thread. */
VERGE_API void verge_runtime_stop(verge_runtime *runtime);

/* Tasks that have not ended are cancelled, and run to their end first. -EBUSY: run has not returned. NULL is
 * allowed. */
VERGE_API int verge_runtime_destroy(verge_runtime *runtime);

/* One more worker, of a runtime that runs or is about to; *ret_index, which may be NULL, gets its index. A worker that
 * retires runs no more tasks: what waits on it for anything but I/O, or could run, goes on elsewhere; it ends when no
 * task is left on it. -EINVAL: worker 0 or none at all; -EALREADY: it is retiring, or has; -ENOSPC:
 * VERGE_RUNTIME_WORKERS_MAX; where the worker cannot begin, as run. From anywhere. */
VERGE_API VERGE_MUST_USE int verge_runtime_add_worker(verge_runtime *runtime, uint32_t *ret_index);
VERGE_API int verge_runtime_retire_worker(verge_runtime *runtime, uint32_t index);

VERGE_API uint64_t verge_runtime_now(const verge_runtime *runtime);

typedef struct verge_runtime_stats {
    size_t struct_size; /* set by the caller */
    uint64_t tasks;     /* that exist */
    uint64_t spawned;
    uint64_t switches;   /* times that a task was resumed */
    uint64_t operations; /* of I/O */
    uint64_t timeouts;   /* of waiting calls of all kinds, sleeps not included */
    uint64_t migrated;   /* tasks that changed their worker */
    uint32_t workers;
    uint64_t stacks;               /* that were ever in use at one time, about */
    uint64_t stack_resident_bytes; /* of all stacks */
    uint64_t
        stack_high_water_bytes; /* the deepest that any task has been, to the page, 1 KiB of the runtime's included */
    uint64_t stack_size;        /* what a stack has, counted in the same way */
    const char *backend;        /* "io_uring", "epoll"; NULL: nothing has run yet */
    uint32_t failed_reactors;   /* workers for which the system does no I/O any more (verge/io.h, N5) */
    int reactor_error;          /* what it says to one of them; 0: there is none */
} verge_runtime_stats;

/* From any thread. Looks at every page of every stack. */
VERGE_API int verge_runtime_get_stats(verge_runtime *runtime, verge_runtime_stats *ret_stats);

/* ---- looking inside ---- */

/* Is given a piece of the text. What it returns other than 0 ends the dump, which returns that. */
typedef int (*verge_dump_writer)(void *context, const char *text, size_t size);

/*
 * Writes, as text for people, what every task does: its name and function, its worker, whether it runs, can run or
 * waits, for what (a descriptor, a mutex by its address, ...), for how long, and until which deadline. The return
 * addresses on the stack of a task that waits follow, for addr2line. They are found by frame pointers. In a program
 * that was compiled without these (-fno-omit-frame-pointer) they end early. A task that runs has none, unless it is
 * the caller.
 *
 * From any thread, not from a signal handler: dump_signal of the options is for that. Tasks go on meanwhile, so each
 * line is right about some moment; a task that changes its worker may be missing, or be there twice. While the tasks
 * of a worker are looked at, that worker spawns and ends none; the writer is called afterwards.
 * In a task it takes about 8 KiB of the stack.
 * -ENOMEM: there is no memory for what is found out, some 300 bytes for each task of a worker.
 */
VERGE_API int verge_runtime_dump(verge_runtime *runtime, verge_dump_writer write, void *context);

/* The same to a descriptor, by write(2): a pipe that nobody reads blocks the calling thread. */
VERGE_API int verge_runtime_dump_to(verge_runtime *runtime, int fd);

/* ---- tasks ---- */

#define VERGE_WORKER_ANY UINT32_MAX        /* the workers take turns */
#define VERGE_WORKER_HERE (UINT32_MAX - 1) /* the worker of the calling task; outside of tasks: as VERGE_WORKER_ANY */

/*
 * A new task. verge_spawn puts it on the worker of the calling task; a worker that has nothing to do takes it from
 * there. verge_spawn_on(VERGE_WORKER_ANY, ...) puts each task on another worker in turn; an index from 0 on names a
 * worker, and the task stays there. verge_runtime_spawn does the same from outside of tasks. The first task of a run
 * stays on worker 0. Each task is joined once or detached once; ret_task NULL: it is detached from the start. It begins
 * when its worker comes to it. -ENOMEM; -ENOSPC; -ESHUTDOWN: the runtime is stopping; -EINVAL: no such worker.
 */
VERGE_API VERGE_MUST_USE int verge_spawn(verge_task_function function, void *argument, verge_task **ret_task);
VERGE_API VERGE_MUST_USE int verge_spawn_on(uint32_t worker_index, verge_task_function function, void *argument,
                                            verge_task **ret_task);
VERGE_API VERGE_MUST_USE int verge_runtime_spawn(verge_runtime *runtime, uint32_t worker_index,
                                                 verge_task_function function, void *argument, verge_task **ret_task);

typedef struct verge_spawn_options {
    size_t struct_size;           /* set by verge_spawn_options_init */
    verge_task_function function; /* not NULL */
    void *argument;
    const char *name;       /* for people, as in "stack overflow in task NAME". As much of it as fits into
                               VERGE_TASK_NAME_SIZE is copied. NULL or empty: none */
    verge_runtime *runtime; /* NULL: that of the calling task, and -EPERM outside of tasks */
    uint32_t worker_index;  /* VERGE_WORKER_HERE, unless set otherwise */
    const char
        *label; /* what the timers of the task are listed under (verge/scope.h): sleeps and deadlines. Not copied:
                               it has to stay until the runtime ends. NULL: the name of the function */
} verge_spawn_options;

VERGE_API int verge_spawn_options_init_sized(verge_spawn_options *options, size_t struct_size);

static inline int verge_spawn_options_init(verge_spawn_options *options) {
    return verge_spawn_options_init_sized(options, sizeof(*options));
}

/* The same with everything that can be said of a new task. From anywhere. */
VERGE_API VERGE_MUST_USE int verge_spawn_with(const verge_spawn_options *options, verge_task **ret_task);

/* Waits for a task to end. After that, its handle is invalid. After -ETIMEDOUT and -ECANCELED it is still valid, and
 * may be joined again. -EDEADLK: a task joins itself. -EBUSY: another task is joining it. -EOWNERDEAD: the task was
 * lost (T8), and its handle is invalid. ret_result may be NULL. */
VERGE_API VERGE_MUST_USE int verge_join(verge_task *task, intptr_t *ret_result);
VERGE_API VERGE_MUST_USE int verge_join_until(verge_task *task, intptr_t *ret_result, uint64_t deadline_ns);

/* The same, but neither cancellation nor a scope ends the wait. Use it in cleanup code, when a child task still uses
 * your memory. Cancel the child first, or it may take long. */
VERGE_API int verge_join_regardless(verge_task *task, intptr_t *ret_result);

/* The task will not be joined, and is freed when it ends. Its handle is invalid now. From any thread. */
VERGE_API int verge_detach(verge_task *task);

/* See T4. From any thread, while the handle is valid. */
VERGE_API int verge_task_cancel(verge_task *task);

/* Lets others run, and I/O and timers have their turn. Does not wait. */
VERGE_API int verge_yield(void);

/* About the calling task. Outside of tasks: NULL, UINT32_MAX, false. */
VERGE_API verge_task *verge_task_current(void);
VERGE_API verge_runtime *verge_task_runtime(void);
VERGE_API void *verge_task_argument(void);
VERGE_API uint32_t verge_task_worker(void);
VERGE_API bool verge_task_is_cancelled(void);

/* The name of the calling task; NULL: it has none. The first task of a run is called "main". set copies as much as fits
 * into VERGE_TASK_NAME_SIZE; NULL or empty: none. set: -EPERM outside of tasks. */
VERGE_API const char *verge_task_name(void);
VERGE_API int verge_task_set_name(const char *name);

/* A pointer of the task's own, at first NULL. set: -EPERM outside of tasks. */
VERGE_API void *verge_task_local(void);
VERGE_API int verge_task_set_local(void *local);

/* ---- time ---- */

/* The clock of the calling task's runtime; outside of tasks the monotonic one. */
VERGE_API uint64_t verge_now(void);

/* now + duration_ns: a deadline for waiting calls. VERGE_NEVER if that does not fit into 64 bits. */
VERGE_API uint64_t verge_deadline_after(uint64_t duration_ns);

/* 0: the time has come. -ETIMEDOUT: a scope's deadline came first. -ECANCELED.
 * verge_sleep takes a duration. A duration of 2^63 ns or more is what a negative difference of two times looks like:
 * then verge_sleep returns 0 at once, as for 0. */
VERGE_API int verge_sleep(uint64_t duration_ns);

/* Takes a time, not a duration. For a time that has passed it does not wait (see check_deadlines). */
VERGE_API int verge_sleep_until(uint64_t time_ns);

/* Waits for the interval's next tick and takes it. -ERANGE: there are no more ticks. ret_tick may be NULL. */
VERGE_API VERGE_MUST_USE int verge_interval_wait(verge_interval *interval, verge_tick *ret_tick);

/* In the caller's frame, from push to pop; use the functions below. */
typedef struct verge_deadline {
    struct verge_deadline *outer;
    uint64_t deadline_ns; /* the earliest of this scope and those around it */
    void *task;
} verge_deadline;

/* A scope limits every waiting call of the calling task, from push to pop. push: -EINVAL if the scope is pushed
 * already. pop: -EINVAL if it is not the innermost scope. */
VERGE_API int verge_deadline_push(verge_deadline *scope, uint64_t deadline_ns);
VERGE_API int verge_deadline_pop(verge_deadline *scope);

/* ---- mutex: for the tasks of any worker, and plain threads. Zeroed memory is a free one ---- */

typedef struct verge_mutex {
    void *waiting[2];
    void *owner;
    uint32_t guard;
    uint32_t reserved;
} verge_mutex;

#define VERGE_MUTEX_INIT \
    { {0, 0}, 0, 0, 0 }

/* In the order in which they asked. -EDEADLK: the caller has it already. -EOWNERDEAD: a task that was lost (T8) has it;
 * a plain thread that waits by then does not learn of it. */
VERGE_API VERGE_MUST_USE int verge_mutex_lock(verge_mutex *mutex);
VERGE_API VERGE_MUST_USE int verge_mutex_lock_until(verge_mutex *mutex, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int
verge_mutex_lock_regardless(verge_mutex *mutex);                       /* of cancellation and scopes, to clean up */
VERGE_API VERGE_MUST_USE int verge_mutex_try_lock(verge_mutex *mutex); /* -EBUSY */
VERGE_API int verge_mutex_unlock(verge_mutex *mutex);                  /* -EPERM: it is not the caller's */

/* ---- condition. Zeroed memory is one that nobody waits for ---- */

typedef struct verge_condition {
    void *waiting[2];
    uint32_t guard;
    uint32_t reserved;
} verge_condition;

#define VERGE_CONDITION_INIT \
    { {0, 0}, 0, 0 }

/* Unlocks the mutex while it waits, and locks it again before it returns, also after errors, except -EOWNERDEAD. */
VERGE_API VERGE_MUST_USE int verge_condition_wait(verge_condition *condition, verge_mutex *mutex);
VERGE_API VERGE_MUST_USE int verge_condition_wait_until(verge_condition *condition, verge_mutex *mutex,
                                                        uint64_t deadline_ns);

/* From any thread. signal wakes the one that has waited longest, broadcast wakes all. */
VERGE_API int verge_condition_signal(verge_condition *condition);
VERGE_API int verge_condition_broadcast(verge_condition *condition);

/* ---- channel: a queue of items of one size, with a limit ---- */

typedef struct verge_channel verge_channel;

/* capacity is the number of items that it can hold, at least 1. allocator may be NULL. */
VERGE_API VERGE_MUST_USE int verge_channel_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                                                  verge_channel **ret_channel);

/* No call on the channel may be in progress, not even one that close has woken. NULL is allowed. */
VERGE_API void verge_channel_destroy(verge_channel *channel);

/* Items are copied, and come out in the order in which they went in. -EPIPE: the channel is closed (receive: and
 * empty). */
VERGE_API VERGE_MUST_USE int verge_channel_send(verge_channel *channel, const void *item);
VERGE_API VERGE_MUST_USE int verge_channel_send_until(verge_channel *channel, const void *item, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_channel_receive(verge_channel *channel, void *ret_item);
VERGE_API VERGE_MUST_USE int verge_channel_receive_until(verge_channel *channel, void *ret_item, uint64_t deadline_ns);

/* These do not wait. -EAGAIN: it is full, or empty. */
VERGE_API VERGE_MUST_USE int verge_channel_try_send(verge_channel *channel, const void *item);
VERGE_API VERGE_MUST_USE int verge_channel_try_receive(verge_channel *channel, void *ret_item);

/* The channel takes no more items: senders get -EPIPE, and so do receivers when it is empty. From any thread. */
VERGE_API int verge_channel_close(verge_channel *channel);

VERGE_API size_t verge_channel_count(verge_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
