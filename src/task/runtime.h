/* SPDX-License-Identifier: MIT */
/*
 * task/runtime.h - a runtime: its runners (task/runner.h), what all of them share, and the number of tasks.
 */
#ifndef VERGE_SRC_TASK_RUNTIME_H
#define VERGE_SRC_TASK_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fork.h"
#include "task/pool.h"
#include "task/stack.h"
#include "task/task.h"

struct verge__reactor;

enum { VERGE__PARKED_WORDS = (VERGE_RUNTIME_WORKERS_MAX + 63) / 64 };

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
    uint32_t forks; /* verge__forks() when the runtime was created */
    verge__stack_store stacks;
    /* Deadlines from 1 to this value are refused: they can only be durations, passed by mistake. 0: no check. */
    uint64_t refused_ns;

    pthread_mutex_t lock; /* protects stage, outside_stacks and backend; held while a worker is added */
    pthread_cond_t changed;
    verge__runtime_stage stage;
    verge__stack_cache outside_stacks;
    const char *backend;
    unsigned ring_entry_count; /* how many entries rings of io_uring get, for tests; 0: the usual number */

    verge__runner *_Atomic runners[VERGE_RUNTIME_WORKERS_MAX];
    _Atomic uint32_t runner_count;
    uint64_t timer_count; /* virtual time: timers that were started and will run */
    _Atomic bool is_stopping;
    _Atomic uint32_t stop_count; /* how many stops have begun */
    _Atomic bool has_lost_worker;

    /* The fields that change often are in cache lines of their own, because all runners read the fields above. */
    char line_of_search[64];
    _Atomic bool is_searching;                    /* search.h: a runner searches, or is called to search */
    _Atomic uint64_t parked[VERGE__PARKED_WORDS]; /* one bit for each runner */
    char line_of_counts[64];
    _Atomic uint64_t tasks; /* number of tasks, plus the credits of all runners (spawn.c); flag: VERGE__RUN_OVER */
    _Atomic uint32_t next_runner; /* for verge__pick_runner, which takes runners in turn */
    _Atomic uint64_t spawned_outside;
    _Atomic uint64_t collected_outside;
    char line_of_rest[64];

    verge__blocking_pool pool;

    struct {
        pthread_t thread;
        bool has_thread;
        bool handles_signal;
        uint32_t requests; /* how many signals had come when the observer began */
        _Atomic bool ends;
        _Atomic uint32_t word; /* the observer's thread sleeps on it, if it does not wait for a signal */
    } observer;
};

/*
 * A flag in `tasks`. It is set in the same step that takes the last task out of the count, or when a run begins without
 * a task. From then on the loops end, and run no more tasks. If a task is spawned from outside after that, it belongs
 * to the next run, because the loop of its runner may already have ended.
 */
#define VERGE__RUN_OVER (UINT64_C(1) << 63)

static inline uint64_t verge__task_count(const verge_runtime *runtime) {
    return atomic_load(&runtime->tasks) & ~VERGE__RUN_OVER;
}

static inline bool verge__run_is_over(const verge_runtime *runtime) {
    return (atomic_load(&runtime->tasks) & VERGE__RUN_OVER) != 0;
}

/* How many tasks there are, without the credits of runners (stats.c). */
uint64_t verge__existing_tasks(const verge_runtime *runtime);

/* How many tasks have ended, and were neither joined nor detached (stats.c). */
uint64_t verge__unjoined_tasks(const verge_runtime *runtime);

/* Whether this process is the child of a fork that came after the runtime was created. */
static inline bool verge__runtime_is_forked(const verge_runtime *runtime) {
    return runtime->forks != verge__forks();
}

static inline uint64_t verge__clock_now(const verge_clock *clock) {
    return clock->now_ns(clock->context);
}

/* ---- runtime.c ---- */

/* Adds a runner, at index runner_count. is_closed: the runner accepts no tasks until its thread runs. */
int verge__add_runner(verge_runtime *runtime, bool is_closed);

/* ---- queue.c, move.c ---- */

/* Makes all runners look for work. From any thread. */
void verge__alert_all(verge_runtime *runtime);

/* Chooses the next runner in turn that does not retire. The inbox of this runner may be closed, because the runner has
 * not begun yet, or has just left. Then verge__list_task returns false. Never NULL, as worker 0 does not retire. */
verge__runner *verge__pick_runner(verge_runtime *runtime);

/* ---- virtual.c ---- */

/* Runs tasks until none is left, and returns 0. -EDEADLK: nothing can wake the tasks that are left. */
int verge__virtual_loop(verge_runtime *runtime, struct verge__reactor *reactor);

/* Closes all runners that are open. */
void verge__virtual_close(verge_runtime *runtime);

#endif
