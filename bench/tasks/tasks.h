/* SPDX-License-Identifier: MIT */
/* tasks.h - the parts of verge-bench-tasks. Each prints its figures, and returns how many required ones were missed. If
 * it compares several things, they take turns, and medians over all rounds are printed. */
#ifndef VERGE_BENCH_TASKS_H
#define VERGE_BENCH_TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <verge/task.h>

enum { BENCH_ROUNDS_MAX = 64 };

/* quick: less of everything, only to test that it works. */
int bench_task_switch(bool quick);
int bench_task_pingpong(bool quick);
int bench_task_tree(bool quick);
int bench_task_sleep(bool quick);
int bench_task_idle(bool quick);
int bench_io_recv(bool quick);
int bench_io_echo(bool quick);
int bench_io_balance(bool quick);

/* Spawns a task that nobody joins, on a worker of the calling task's runtime. */
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

/* Returns the processor time of this thread, which does not count other programs. */
static inline double bench_cpu_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* One figure of one rival: a value for each round. */
struct bench_series {
    const char *name;
    double values[BENCH_ROUNDS_MAX];
    int count;
};

void bench_add(struct bench_series *series, double value);
double bench_median(const struct bench_series *series);

/* Returns the median of a.values[i] / b.values[i]: each round is compared with the round next to it in time. */
double bench_ratio(const struct bench_series *a, const struct bench_series *b);

/* Prints whether a figure is as required. Returns 1 if not. */
int bench_require(const char *what, double actual, const char *relation, double required);

/* Ends the program if the condition is false: then the work was not done. */
void bench_check(bool condition, const char *what);

#endif
