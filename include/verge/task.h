/* SPDX-License-Identifier: MIT */
/*
 * verge/task.h - tasks: like small threads, each with its own stack. They sleep, wait for each other and do I/O
 * (verge/io.h) without occupying a thread. A runtime has workers. Each runs its tasks one at a time, until they wait.
 *
 * Words
 *   worker    a thread that runs tasks, one at a time. It has timers of its own, and a reactor, which waits for I/O.
 *   pinned    A task that was spawned on a worker by its id stays there, unless the worker retires. Any other task
 *             may change its worker in each call that waits or yields: it continues on the worker of the task that
 *             woke it, or an idle worker takes it. In virtual time all tasks stay.
 *   to wait   to be suspended until something happens. Only calls that say so wait. Between such calls a task stays on
 *             its worker.
 *   deadline  a time on the runtime's clock, in ns: the last argument of every call that may wait. VERGE_NEVER: the
 *             call waits for as long as it takes. 0: the call only tries. If there are deadline scopes, the earliest
 *             deadline counts. VERGE_REGARDLESS: for cleanup code (see below).
 *   to try    to call with a deadline of 0. If the call would have to wait, it returns -ETIMEDOUT at once, or
 *             -ECANCELED in a cancelled task. A try starts no timer, and lets no other task run. A try of I/O
 *             (verge/io.h) may do both.
 *   scope     all that a task does between verge_deadline_push and verge_deadline_pop. Tasks that it spawns there do
 *             not inherit the scope, except those of a group (verge/sync.h).
 *
 * Promises
 *   T1 never early    a sleep returns 0 only when its time has come. A call returns -ETIMEDOUT only when its deadline
 *                     or that of a scope has come (for I/O see N3 in verge/io.h). Each is late by less than the
 *                     precision plus the time for which other tasks run.
 *   T2 one answer     a waiting call that took something (a lock, an item, bytes) returns 0 or more, even if its
 *                     deadline came or its task was cancelled at the same moment. -ETIMEDOUT and -ECANCELED mean that
 *                     nothing was taken.
 *   T3 no wait        a call that need not wait does not: a sleep of 0 or until a time in the past, a free mutex, an
 *                     item that is there. This also holds for cancelled tasks and past deadlines. But after 64 calls in
 *                     a row that did not wait, the next one may let other tasks run first, as verge_yield does.
 *   T4 cancellation   after verge_task_cancel, every call of that task that waits or would wait returns -ECANCELED,
 *                     unless its deadline is VERGE_REGARDLESS. A cancellation is a request: the task ends when its
 *                     function returns.
 *   T5 shutdown       verge_runtime_stop cancels all tasks; verge_runtime_run returns when they have ended. None is
 *                     dropped half way, nothing leaks.
 *   T6 overflow       a task that overflows its stack ends the process with SIGSEGV, and corrupts nothing. (Functions
 *                     with more than 16 KiB of local variables need -fstack-clash-protection for that.) With the option
 *                     report_overflow, "verge: stack overflow in task NAME" is written to stderr first. For that, the
 *                     runtime has a handler for SIGSEGV while tasks run, and gives its workers an alternate signal
 *                     stack. The handler passes other faults on to the handler that was there before. A library built
 *                     with VERGE_ASSERTS does this without the option, unless the program has a handler for SIGSEGV.
 *   T7 virtual time   on a manual clock, one thread runs all workers in a fixed order. When no task can run, it moves
 *                     the clock to the next deadline. So a program does the same in every run, with any number of
 *                     workers. If all tasks wait for each other, run returns -EDEADLK: there is no deadline to move to,
 *                     no I/O is pending, and the process has no other thread that could wake a task. While I/O without
 *                     a deadline is pending, or another thread exists, run waits for them.
 *   T8 lost worker    a task that ends the thread of its worker (pthread_exit) is lost. Joining it, or locking a mutex
 *                     that it held, returns -EOWNERDEAD. The state of its other data is unknown, so the runtime stops
 *                     (T5): all other tasks are cancelled, and run returns -EOWNERDEAD when they have ended. Until
 *                     then, the tasks of the lost worker continue on other workers. If worker 0 is lost, its tasks
 *                     continue on its own thread, which ends after them. A mutex that a lost task held must not be used
 *                     after the runtime was destroyed.
 *
 * Outside of tasks, waiting calls return -EPERM. The exceptions are those of mutex, condition and channel, and most of
 * verge/sync.h. They also work in plain threads: there they block the thread, and a deadline is a time on the monotonic
 * clock, as verge_deadline_after returns it.
 *
 * All calls return -EINVAL if an argument makes no sense. A waiting call with a deadline, or a sleep, returns -ENOMEM
 * if it has to wait and there is no memory for a timer; nothing was taken then. A try never returns -ENOMEM, unless it
 * is a try of I/O. A task must unlock its mutexes before it ends. It need not pop its scopes.
 *
 * fork. The child process has no thread of the runtime. So calls with the runtime return -ECHILD there, and so does
 * verge_runtime_destroy. A child that was forked inside a task is not in a task: its waiting calls return -EPERM, and
 * it must not return from the task's function but call exec or _exit. The child can create a runtime of its own.
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

/* The function of a task. verge_task_join gives its result to the caller. */
typedef intptr_t (*verge_task_function)(void *argument);

/* ---- the runtime ---- */

typedef enum verge_backend {
    VERGE_BACKEND_AUTO = 0, /* the one that the environment variable VERGE_BACKEND names (io_uring, epoll), or else
                               io_uring if it is available, or else epoll. Create returns -EINVAL for other names */
    VERGE_BACKEND_IO_URING,
    VERGE_BACKEND_EPOLL,
} verge_backend;

enum {
    VERGE_RUNTIME_WORKERS_MAX = 250, /* workers that a runtime ever had, counting those that retired */
};

#define VERGE_STACK_SIZE_DEFAULT ((size_t)(64 << 10))
#define VERGE_STACK_SIZE_MIN ((size_t)(8 << 10))

/* Bytes for the name of a task, including the terminating 0. */
#define VERGE_TASK_NAME_SIZE 32

/* A task that has been running for stuck_after_ns or longer, and keeps all others of its worker waiting. */
typedef struct verge_stuck_task {
    const char *name;             /* NULL: it has none */
    verge_task_function function; /* the function of the task */
    uint32_t worker_id;
    uint64_t running_ns; /* it has been running for at least so long, in real time */
} verge_stuck_task;

typedef struct verge_runtime_options {
    size_t struct_size;    /* set by verge_runtime_options_init */
    uint32_t worker_count; /* 0: one for each processor */
    verge_backend backend;
    verge_clock clock;                 /* now_ns NULL: monotonic. A manual clock belongs into virtual_clock */
    verge_manual_clock *virtual_clock; /* not NULL: virtual time on this clock (T7); clock is not used */
    uint64_t io_grace_ns;              /* virtual time, while I/O is pending: the clock moves on only after so much real
                                          time without a completion. VERGE_NEVER: it never moves before one */
    uint64_t precision_ns;             /* of sleeps and deadlines; a power of two */
    size_t stack_size;                 /* at least so many bytes are usable by a task */
    size_t task_count_max;             /* tasks at one time; spawning more returns -ENOSPC. 0: no limit */
    const verge_allocator *allocator;  /* not for stacks; any thread may call it. NULL: verge_allocator_default() */
    bool check_deadlines;              /* see below */
    bool report_overflow;    /* a task that overflows its stack is named on stderr, before the process ends (T6) */
    int dump_signal;         /* while tasks run, this signal causes a verge_runtime_dump to dump_fd; 0: none */
    int dump_fd;             /* stderr, unless set otherwise */
    uint64_t stuck_after_ns; /* a task that runs longer without waiting or yielding is reported, once; 0: not watched */
    void (*on_stuck)(void *context, const verge_stuck_task *stuck); /* called on a thread of the library */
    void *on_stuck_context;
    uint32_t blocking_thread_max; /* threads for verge_blocking (verge/blocking.h), at least 1; started when needed */
    uint64_t blocking_idle_ns;    /* a thread for verge_blocking ends when it was idle for so long, in real time */
} verge_runtime_options;

/*
 * check_deadlines. A deadline is a time, not a duration: verge_deadline_after(300 * MS), not 300 * MS. The latter is a
 * time 300 ms after the machine started: long past, so that a call does not wait, and a sleep returns 0 at once. With
 * check_deadlines, verge_sleep_until, verge_deadline_push and any call that has to wait return -EINVAL for a deadline
 * before the runtime was created. 0 is allowed: it tries. A library built with VERGE_ASSERTS always checks, if the
 * clock is the monotonic or the boottime one.
 */

VERGE_API int verge_runtime_options_init(verge_runtime_options *options, size_t struct_size);

/* Tells why options are refused. Returns 0 if verge_runtime_create accepts them; then text is empty. Otherwise returns
 * -EINVAL, and text gets a sentence that names the field and the reason, cut to size bytes. 128 bytes are enough. */
VERGE_API int verge_runtime_options_explain(const verge_runtime_options *options, char *text, size_t size);

/* Starts no thread yet. NULL options: one worker for each processor, the monotonic clock, a precision of 2^20 ns,
 * stacks of 64 KiB. */
VERGE_API VERGE_MUST_USE int verge_runtime_create(const verge_runtime_options *options, verge_runtime **ret_runtime);

/*
 * Runs tasks until none is left. The first task calls function. It is pinned to worker 0, which is the calling thread.
 * Other workers are threads that the runtime starts. *ret_result gets what function returned; ret_result may be NULL.
 * function may be NULL if tasks were spawned before.
 *
 * It may be called again when it has returned. A task that is spawned from outside between two runs belongs to the next
 * run.
 *
 * -EBUSY: the runtime is running. -EAGAIN: a thread could not be started. -EMFILE and others: there is no reactor.
 * -ESHUTDOWN: verge_runtime_stop was called before, and nothing has run. If tasks were spawned before the stop, call
 * run again with function NULL: they are cancelled, and run to their end. -EOWNERDEAD: a worker was lost (T8), for
 * good, and all tasks have ended. If the calling thread is the lost worker, the call does not return: the thread ends
 * when all tasks have ended.
 *
 * -EDEADLK: in virtual time (T7), all tasks that are left wait for each other. They still wait. verge_runtime_dump
 * shows what for. verge_runtime_destroy cancels them and runs them to their end; until then, keep the memory that they
 * use. If you wake one of them, call run again, with function NULL.
 *
 * pthread_cancel has no effect on the calling thread until this call returns, and none on the threads of workers.
 */
VERGE_API VERGE_MUST_USE int verge_runtime_run(verge_runtime *runtime, verge_task_function function, void *argument,
                                               intptr_t *ret_result);

/* Cancels all tasks, so that run returns. Until run has returned, spawning a task returns -ESHUTDOWN. From any
 * thread. */
VERGE_API void verge_runtime_stop(verge_runtime *runtime);

/* If tasks are left, it first cancels them and runs them to their end. -EBUSY: run has not returned, or a scope shows
 * the runtime (verge/scope.h). -EDEADLK: as for run; the tasks that are left wait in calls that cannot be cancelled.
 * After this and the other errors of run (-EAGAIN, ...), nothing was freed. NULL is allowed. */
VERGE_API int verge_runtime_destroy(verge_runtime *runtime);

/*
 * add starts one more worker, before the runtime runs or while it does. *ret_worker_id, which may be NULL, gets its id.
 * retire makes a worker give its tasks to the others. A task in I/O stays until its operation is done. The worker ends
 * when it has no task left. Both calls may be made from any thread.
 * Errors of add: -ENOSPC: VERGE_RUNTIME_WORKERS_MAX is reached. If the worker cannot begin: those of run. Errors of
 * retire: -EINVAL: it is worker 0, or there is no such worker. -EALREADY: the worker retires already, or has retired.
 */
VERGE_API VERGE_MUST_USE int verge_runtime_add_worker(verge_runtime *runtime, uint32_t *ret_worker_id);
VERGE_API int verge_runtime_retire_worker(verge_runtime *runtime, uint32_t worker_id);

typedef struct verge_runtime_stats {
    size_t struct_size; /* set by the caller */
    uint64_t tasks;     /* that have not ended */
    uint64_t spawned;
    uint64_t switches;   /* times that a task was resumed */
    uint64_t operations; /* of I/O */
    uint64_t timeouts;   /* of waiting calls, except sleeps. Of tries, only those of I/O and verge_blocking count */
    uint64_t migrated;   /* tasks that changed their worker */
    uint32_t workers;
    uint64_t stacks;               /* the most that were in use at one time, about */
    uint64_t stack_resident_bytes; /* how many bytes of all stacks are in memory */
    uint64_t
        stack_high_water_bytes; /* the largest use by any task, in whole pages, with what the runtime itself uses */
    uint64_t stack_size;        /* the size of a stack, in whole pages, with what the runtime itself uses */
    const char *backend;        /* "io_uring", "epoll"; NULL: nothing has run yet */
    uint32_t failed_reactors;   /* workers whose I/O fails for good (verge/io.h, N5) */
    int reactor_error;          /* why the I/O of one such worker fails; 0: there is none */
    uint64_t unjoined;          /* tasks that have ended, but were neither joined nor detached: each keeps its stack */
} verge_runtime_stats;

/* From any thread. It looks at every page of every stack, so it takes time. */
VERGE_API int verge_runtime_get_stats(verge_runtime *runtime, verge_runtime_stats *ret_stats);

/* ---- looking inside ---- */

/*
 * Writes to a descriptor, as text for people, what every task does: its name and function, its worker, and whether it
 * runs, is ready or waits. For a task that waits: what for (a descriptor, a mutex by its address, ...), for how long,
 * its deadline, and the return addresses on its stack, for addr2line. These are found by frame pointers: without
 * -fno-omit-frame-pointer the list ends early. A running task has no return addresses, unless it is the caller.
 *
 * runtime NULL: that of the calling task. Call it from any thread, but not in a signal handler; the option dump_signal
 * is for that. Tasks continue to run meanwhile, so each line is a snapshot of a moment of its own. A task that changes
 * its worker may be missing, or appear twice. While the tasks of a worker are read, that worker can neither spawn nor
 * end tasks. The text is written afterwards, with write(2): a full pipe that nobody reads blocks the calling thread. In
 * a task, the call needs about 8 KiB of stack. To get the text into memory, give the descriptor of memfd_create(2).
 *
 * -EPERM: runtime is NULL, and the caller is no task. -EBADF: fd is negative. -ENOMEM: no memory for the list of tasks,
 * about 300 bytes for each task of a worker. Other errors: those of write(2), which end the dump.
 */
VERGE_API int verge_runtime_dump(verge_runtime *runtime, int fd);

/* ---- tasks ---- */

#define VERGE_WORKER_ANY UINT32_MAX        /* each task goes to the next worker in turn */
#define VERGE_WORKER_HERE (UINT32_MAX - 1) /* the worker of the calling task; outside of tasks: as VERGE_WORKER_ANY */

/*
 * Spawns a task on the worker of the calling task. An idle worker may take it from there. verge_spawn_with has further
 * options, and can be called from outside of tasks.
 *
 * Each task must be joined once or detached once. ret_task NULL: it is detached from the start. The task begins when
 * its worker has time for it. -ENOMEM: no memory, or no stack. -ENOSPC: task_count_max is reached. -ESHUTDOWN: the
 * runtime is stopping. -EINVAL: there is no such worker.
 */
VERGE_API VERGE_MUST_USE int verge_spawn(verge_task_function function, void *argument, verge_task **ret_task);

typedef struct verge_spawn_options {
    size_t struct_size;           /* set by verge_spawn_options_init */
    verge_task_function function; /* not NULL */
    void *argument;
    const char *name;       /* for people, as in "stack overflow in task NAME". As much of it as fits into
                               VERGE_TASK_NAME_SIZE is copied. NULL or empty: none */
    verge_runtime *runtime; /* NULL: that of the calling task; outside of tasks, NULL is -EPERM */
    uint32_t worker_id;     /* VERGE_WORKER_HERE, unless set otherwise. The id of a worker pins the task to it */
    const char *label;      /* a scope (verge/scope.h) lists the sleeps and deadlines of the task under this label. Not
                               copied: it must stay valid until the runtime ends. NULL: under the task's function */
    struct verge_group *group; /* the task belongs to this group (verge/sync.h); ret_task must be NULL. NULL: to none */
} verge_spawn_options;

VERGE_API int verge_spawn_options_init(verge_spawn_options *options, size_t struct_size);

/* As verge_spawn, with options, and from any thread. -EPERM: outside of tasks, options->runtime is NULL. There are more
 * errors if the options have a group. -EPERM: the calling task neither began the group nor belongs to it, or the caller
 * is no task. -ECANCELED: the calling task is cancelled, or the group has failed. -EINVAL: ret_task is not NULL, or the
 * runtime is not that of the calling task. */
VERGE_API VERGE_MUST_USE int verge_spawn_with(const verge_spawn_options *options, verge_task **ret_task);

/* A deadline for verge_task_join, verge_mutex_lock and verge_once_do: the call waits for as long as it takes, and
 * neither cancellation nor a scope ends the wait. Use it in cleanup code, when a child task still uses your memory.
 * Cancel the child first, or the wait may take long. Any other call that has to wait returns -EINVAL for this deadline,
 * and so does verge_deadline_push. */
#define VERGE_REGARDLESS (UINT64_MAX - 1)

/* Waits for a task to end. After that, its handle is invalid. After -ETIMEDOUT and -ECANCELED it is still valid, and
 * may be joined again. -EDEADLK: a task joins itself. -EBUSY: another task is joining it. -EOWNERDEAD: the task was
 * lost (T8), and its handle is invalid. ret_result may be NULL. */
VERGE_API VERGE_MUST_USE int verge_task_join(verge_task *task, intptr_t *ret_result, uint64_t deadline_ns);

/* The task will not be joined, and is freed when it ends. Its handle is invalid now. -EBUSY: a task is joining it. From
 * any thread. */
VERGE_API int verge_task_detach(verge_task *task);

/* Cancels a task (T4). From any thread, while the handle is valid. */
VERGE_API int verge_task_cancel(verge_task *task);

/* Lets other tasks of this worker run. After 64 switches at most, the worker looks at I/O and timers. Does not wait. */
VERGE_API int verge_yield(void);

/* About the calling task. Outside of tasks, they return NULL, UINT32_MAX or false. */
VERGE_API verge_task *verge_task_current(void);
VERGE_API verge_runtime *verge_task_runtime(void);
VERGE_API uint32_t verge_task_worker_id(void);
VERGE_API bool verge_task_is_cancelled(void);

/* The name of the calling task; NULL: it has none. The first task of a run is called "main". set copies as much as fits
 * into VERGE_TASK_NAME_SIZE; NULL or an empty name removes the name. set: -EPERM outside of tasks. */
VERGE_API const char *verge_task_name(void);
VERGE_API int verge_task_set_name(const char *name);

/* Returns the address of a pointer that belongs to the calling task, for your own use. The pointer is NULL at first.
 * The address is valid until the task ends. Outside of tasks, the call returns NULL. */
VERGE_API void **verge_task_data(void);

/* ---- time ---- */

/* The time on the clock of the calling task's runtime; outside of tasks, on the monotonic clock. */
VERGE_API uint64_t verge_now(void);

/* now + duration_ns: a deadline for waiting calls. VERGE_NEVER if that is too large. */
VERGE_API uint64_t verge_deadline_after(uint64_t duration_ns);

/* Sleeps for a duration. Returns 0 after that time. -ETIMEDOUT: the deadline of a scope came first. -ECANCELED. A
 * duration of 2^63 ns or more is taken for a negative one (the difference of two times in the wrong order): then
 * verge_sleep returns 0 at once, as for a duration of 0. */
VERGE_API int verge_sleep(uint64_t duration_ns);

/* Takes a time, not a duration. If that time has passed, the call does not wait (see check_deadlines). */
VERGE_API int verge_sleep_until(uint64_t time_ns);

/* Waits for the interval's next tick and takes it. -ERANGE: there are no more ticks. -ETIMEDOUT: the deadline comes
 * before the tick, which was not taken. ret_tick may be NULL. */
VERGE_API VERGE_MUST_USE int verge_interval_wait(verge_interval *interval, verge_tick *ret_tick, uint64_t deadline_ns);

/* A local variable of the caller, which must exist from push to pop. Use the functions below. */
typedef struct verge_deadline {
    struct verge_deadline *outer;
    uint64_t deadline_ns; /* the earliest of this scope and those around it */
    void *task;
} verge_deadline;

/* A scope limits every waiting call of the calling task, from push to pop. push: -EINVAL if the scope is pushed
 * already. pop: -EINVAL if it is not the innermost scope. */
VERGE_API int verge_deadline_push(verge_deadline *scope, uint64_t deadline_ns);
VERGE_API int verge_deadline_pop(verge_deadline *scope);

/* ---- mutex: for tasks of any worker, and for plain threads. Zeroed memory is an unlocked mutex ---- */

typedef struct verge_mutex {
    void *waiting[2];
    void *owner;
    uint32_t latch;
    uint32_t reserved;
} verge_mutex;

#define VERGE_MUTEX_INIT \
    { {0, 0}, 0, 0, 0 }

/* First come, first served. -EDEADLK: the caller has it already. -EOWNERDEAD: a lost task (T8) holds it. (A caller that
 * waited already when the task was lost does not get this error: a task gets -ECANCELED, as the runtime stops, and a
 * plain thread goes on waiting. A task with the deadline VERGE_REGARDLESS does get -EOWNERDEAD.) */
VERGE_API VERGE_MUST_USE int verge_mutex_lock(verge_mutex *mutex, uint64_t deadline_ns);

/* -EPERM: the caller does not hold it. */
VERGE_API int verge_mutex_unlock(verge_mutex *mutex);

/* ---- condition: waiting, with a mutex, until another task has changed something. Zeroed memory is a condition ---- */

typedef struct verge_condition {
    void *waiting[2];
    uint32_t latch;
    uint32_t reserved;
} verge_condition;

#define VERGE_CONDITION_INIT \
    { {0, 0}, 0, 0 }

/* Unlocks the mutex while it waits. Locks the mutex again before it returns, also after errors, except -EOWNERDEAD.
 * -EPERM: the caller does not hold the mutex. A condition does not remember earlier signals, so a try never succeeds.
 * A try does not even unlock the mutex, so nobody else can change anything meanwhile. */
VERGE_API VERGE_MUST_USE int verge_condition_wait(verge_condition *condition, verge_mutex *mutex, uint64_t deadline_ns);

/* From any thread. signal wakes the task or thread that has waited longest, broadcast wakes all. */
VERGE_API int verge_condition_signal(verge_condition *condition);
VERGE_API int verge_condition_broadcast(verge_condition *condition);

/* ---- channel: a queue of items of one size, with a limit ---- */

typedef struct verge_channel verge_channel;

/* capacity: the number of items that the channel can hold, at least 1. allocator may be NULL. */
VERGE_API VERGE_MUST_USE int verge_channel_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                                                  verge_channel **ret_channel);

/* No call on the channel may be in progress, not even one that close has woken. NULL is allowed. */
VERGE_API void verge_channel_destroy(verge_channel *channel);

/* Items are copied, and come out in the order in which they went in. send waits while the channel is full, receive
 * while it is empty. -EPIPE: the channel is closed (receive: and empty). */
VERGE_API VERGE_MUST_USE int verge_channel_send(verge_channel *channel, const void *item, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_channel_receive(verge_channel *channel, void *ret_item, uint64_t deadline_ns);

/* The channel takes no more items: senders get -EPIPE, and so do receivers when it is empty. From any thread. */
VERGE_API int verge_channel_close(verge_channel *channel);

VERGE_API size_t verge_channel_count(verge_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
