/* SPDX-License-Identifier: MIT */
/* tasks.h - the parts of verge-bench-tasks. Each runs its rivals alternately in one process, prints medians and a
 * ratio, and returns how many required figures were missed. */
#ifndef VERGE_BENCH_TASKS_H
#define VERGE_BENCH_TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <verge/task.h>

enum { BENCH_ROUNDS_MAX = 64 };

/* quick: less of everything, to see that it works. */
int bench_task_switch(bool quick);
int bench_task_pingpong(bool quick);
int bench_task_tree(bool quick);
int bench_task_sleep(bool quick);
int bench_task_idle(bool quick);
int bench_io_recv(bool quick);
int bench_io_echo(bool quick);
int bench_io_balance(bool quick);

/* A task that nobody joins, on a worker of the calling task's runtime. */
static inline int bench_spawn_on(uint32_t worker_id, verge_task_function function, void *argument) {
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.worker_id = worker_id;
    options.function = function;
    options.argument = argument;
    return verge_spawn_with(&options, NULL);
}

static inline double bench_now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The time of the processor that this thread took: does not count what other programs took meanwhile. */
static inline double bench_cpu_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* One figure of one rival, a value a round. */
struct bench_series {
    const char *name;
    double values[BENCH_ROUNDS_MAX];
    int count;
};

void bench_add(struct bench_series *series, double value);
double bench_median(const struct bench_series *series);

/* The median of a.values[i] / b.values[i]: rounds are compared with their neighbours, not with other times of day. */
double bench_ratio(const struct bench_series *a, const struct bench_series *b);

/* Prints whether what was required is there; 1 if not. */
int bench_require(const char *what, double actual, const char *relation, double required);

/* Ends the program if it is not so: the work was not done. */
void bench_check(bool condition, const char *what);

#endif
