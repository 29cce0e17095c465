/* SPDX-License-Identifier: MIT */
/*
 * task/runner.h - a runner: one worker of a runtime. It is a thread's loop over a worker of the service (timers), a
 * reactor (I/O) and the runner's tasks. In virtual time one thread steps all runners, and they share one reactor.
 */
#ifndef VERGE_SRC_TASK_RUNNER_H
#define VERGE_SRC_TASK_RUNNER_H

#include <pthread.h>
#include <stdatomic.h>

#include "reactor/reactor.h"
#include "task/context.h"
#include "task/ring.h"
#include "task/runtime.h"
#include "task/stack.h"
#include "task/task.h"

/* The alternate signal stack of a thread that runs tasks (overflow.c). */
typedef struct verge__overflow_stack {
    bool is_on;
    void *alternate; /* NULL: overflows are not reported, the thread had such a stack already, or there was no memory */
    size_t alternate_size;
} verge__overflow_stack;

/* A runner's search for tasks (search.c). */
typedef struct verge__searching {
    bool is_mine; /* this runner is the one that searches */
    bool has_napped;
    uint32_t patience;           /* how many times it looks again before it sleeps */
    uint64_t nap_ns;             /* how long it napped last; 0: it has not napped since it found many tasks */
    uint32_t heads;              /* the sum of the ring heads of the other runners, when it last looked */
    const verge__runner *few_of; /* the runner whose few tasks this one left alone before the nap */
    uint32_t few_head;           /* the head of the ring of few_of at that time */
} verge__searching;

typedef struct verge__runner {
    verge_runtime *runtime;
    uint32_t index;

    /* The runner's thread only. */
    verge__context context;
    verge_task *running;
    verge__task_queue ready;
    verge_task *handed_over;  /* a task that was woken by the end of another task: it runs next (share.c) */
    _Atomic int resumes_left; /* how many tasks it may still resume in this round; observe.c reads this */
    uint64_t round_ns;        /* when this round began, as its timers saw it */
    bool has_others;          /* a copy of `shares` that only the runner's thread uses */
    bool ring_is_next;
    bool offers_later; /* tasks that are pushed now are offered to other runners later (verge__offer_rest) */
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
    verge_task *_Atomic inbox; /* linked tasks, the last posted first; or verge__inbox_closed (queue.h) */
    _Atomic bool is_waiting;   /* in the reactor; a thread that has something for the runner wakes it */
    _Atomic bool attention;    /* something has changed that the loop must see (verge__runner_alert) */
    _Atomic bool is_retiring;
    _Atomic bool shares; /* its tasks may go to other runners. Set by its own thread, between tasks; it stays set */
    _Atomic uint32_t notifying; /* how many threads are about to wake the reactor, plus VERGE__RUNNER_CLOSES */
    uint32_t list_latch;
    _Atomic int reactor_error; /* why its reactor has failed; 0: it has not */
    void *listed;              /* links of all tasks of the runner, the last added first */
    _Atomic uint64_t credit;   /* how many tasks runtime->tasks counts that do not exist (spawn.c); 0 while it waits */
    _Atomic uint64_t switches, operations, timeouts, migrated, spawned; /* written by the runner's thread */
    /* Written by the runner's thread. unjoined: tasks that ended here, not detached and without a joiner. collected:
     * such tasks of any runner that were joined or detached here later. */
    _Atomic uint64_t unjoined, collected;

    pthread_t thread;
    bool has_thread; /* `thread` is to be joined; set under the runtime's lock */
    bool has_reported;
    int start_error;

    /* If the runner shares, its tasks that are ready and not pinned: the oldest in the ring, the rest in
     * overflow_queue. */
    char other_lines[64]; /* so that the fields below, which other runners read, share no cache line with those above */
    verge__task_ring ring;
    uint32_t overflow_latch;
    _Atomic uint32_t overflow_count; /* written under the latch */
    verge__task_queue overflow_queue;
} verge__runner;

/* A flag in `notifying`: the runner's thread sleeps until no thread is about to wake its reactor. */
#define VERGE__RUNNER_CLOSES (UINT32_C(1) << 31)

/* A count that one thread writes and any may read. */
static inline void verge__count_more(_Atomic uint64_t *count, uint64_t more) {
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline void verge__count(_Atomic uint64_t *count) {
    verge__count_more(count, 1);
}

/* ---- runner.c ---- */

/* Called by the thread that is about to run the runner. shared_reactor NULL: the runner gets a reactor of its own, and
 * the thread is bound to its worker. */
int verge__runner_open(verge__runner *runner, struct verge__reactor *shared_reactor);

/* Called by the same thread, after the runner's last round. */
void verge__runner_close(verge__runner *runner);

/* Switches to the next task that can run, or back to the loop. self is in a queue of ready tasks, or can be woken. */
void verge__suspend(verge_task *self);

/* One round of the loop: handles what has arrived, runs the timers that are due, and then tasks. A runner that retires
 * moves its tasks instead of running them. Returns whether there were timers that were due, or tasks to run or move. */
bool verge__runner_round(verge__runner *runner);

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

/* ---- move.c ---- */

/* For a runner that retires: gives its tasks, except those in I/O, to other runners. True: it has moved some. */
bool verge__runner_move_tasks(verge__runner *runner);

/* If no task of the runner is left, closes its inbox. Returns whether it did. */
bool verge__runner_has_left(verge__runner *runner);

/* ---- lost.c ---- */

/* Called by the thread of a worker that is ending in the middle of a task: that task is lost, and the runtime stops. */
void verge__lose_running_task(void);

/* ---- overflow.c ---- */

/* Begins to report overflows of stacks on the calling thread, which is about to run tasks. In virtual time, worker 0
 * stands for all workers. */
void verge__overflow_watch(verge__runner *runner);

/* Ends what verge__overflow_watch began: the calling thread runs no more tasks. */
void verge__overflow_unwatch(verge__runner *runner);

#endif
