/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/workload.h - a workload. The parent makes a plan once for each N. Each rival runs the plan in a child,
 * which inherits it.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "model.h"
#include "result.h"
#include "rival.h"

enum {
    BENCH_DURATION_SHIFT = 16,     /* durations in plans are in units of 2^16 ns */
    BENCH_OPERATION_NS = 1000,     /* operation_ns of most plans */
    BENCH_BLOCK_OPERATIONS = 1000, /* block_operations of most plans */
    BENCH_SLOW_DIVISOR = 8,        /* in streams and in idle, slow rivals get this many times fewer operations */
};

#define BENCH_START_NS (UINT64_C(1) << 42) /* 73 minutes after zero, a multiple of the tick */

struct bench_step {
    uint32_t id;
    uint32_t duration;
};

struct bench_plan {
    uint32_t timer_count;
    uint32_t id_count;
    bool quick;
    size_t step_count;
    /* churn, churn-rand, reset, connections, mixed: operations that fill, then some that warm up, then measured ones */
    struct bench_step *steps;
    uint64_t operation_ns;   /* the clock moves by this much with each operation */
    size_t block_operations; /* operations between two advances */
    size_t fill_count;
    size_t warm_count;
    size_t measured_count;
    uint32_t *cancels;     /* mixed: ids to be cancelled, batch after batch */
    uint32_t *cancel_ends; /* mixed: of each batch, where its ids begin in `cancels` */
    size_t cancel_end_count;
    uint32_t *durations; /* all other workloads: the duration of each id */
    uint32_t *order;     /* burst: ids in the order in which they are scheduled; NULL: ascending */
};

struct bench_case {
    const struct bench_plan *plan;
    const struct bench_rival *rival;
    void *self; /* the rival's instance */
    struct bench_object *objects;
    struct bench_log log;
    size_t *log_ends; /* log.count after each advance */
    size_t advance_count;
    size_t advance_count_max;
    bool touch; /* write to the user's object of each timer that fired */
    struct bench_result *result;
};

struct bench_workload {
    const char *name;
    const char *section_names[BENCH_SECTION_COUNT];
    uint32_t timer_count_min;
    bool real_time;  /* rivals that need real time can take part */
    bool untimed;    /* nothing is timed: one round is enough */
    bool work_limit; /* only rivals with a work limit take part */
    void (*plan)(struct bench_plan *plan);
    void (*run)(struct bench_case *run);
};

extern const struct bench_workload *const bench_workloads[];
extern const size_t bench_workload_count;

const struct bench_workload *bench_workload_named(const char *name);
bool bench_workload_suits(const struct bench_workload *workload, const struct bench_rival *rival, uint32_t timer_count);

void bench_plan_release(struct bench_plan *plan);

/* ---- for the workloads ---- */

struct bench_case_needs {
    size_t log_capacity;
    size_t advance_count;
    bool no_reserve;
    size_t work_limit;
};

/* Allocates memory, and creates the rival's instance. */
void bench_case_open(struct bench_case *run, const struct bench_case_needs *needs);
void bench_case_close(struct bench_case *run);

/* Measures the present footprint. */
void bench_case_weigh(struct bench_case *run);

/* `results` is the bitwise or of the results of operations. Ends the case if one of them is negative. */
void bench_expect_done(int results);

void bench_touch_fired(struct bench_case *run, size_t log_begin);

static inline void bench_case_advance(struct bench_case *run, uint64_t now_ns) {
    size_t log_begin = run->log.count;
    run->rival->advance(run->self, now_ns);
    if (run->touch) {
        bench_touch_fired(run, log_begin);
    }
    run->log_ends[run->advance_count++] = run->log.count;
}

static inline uint64_t bench_duration_ns(uint32_t duration) {
    return (uint64_t)duration << BENCH_DURATION_SHIFT;
}

#endif
