/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/workloads/spread.h - workloads that schedule N timers at one moment and then advance step by step until
 * all have fired.
 */
#ifndef BENCH_SPREAD_H
#define BENCH_SPREAD_H

#include "../workload.h"

struct bench_spread {
    uint64_t span_ns;  /* no duration is longer */
    uint64_t step_ns;  /* of an advance */
    bool repeat;       /* small N: again and again, so that there is something to measure */
    bool sample;       /* one time (more), with the duration of each advance taken */
    size_t work_limit; /* then advances go on until all have fired */
};

enum {
    BENCH_SECTION_SCHEDULE = 0,
    BENCH_SECTION_EXPIRE = 1,
};

void bench_spread_run(struct bench_case *run, const struct bench_spread *spread);

/* Durations uniform over low..high. */
void bench_spread_plan(struct bench_plan *plan, uint64_t low_ns, uint64_t high_ns);

/* Not on the grid on which time is advanced: firing a nanosecond early would show. */
static inline uint64_t bench_spread_deadline_ns(const struct bench_plan *plan, uint64_t start_ns, uint32_t id) {
    return start_ns + bench_duration_ns(plan->durations[id]) + (id & ((1u << BENCH_DURATION_SHIFT) - 1));
}

/* Ids are scheduled in random order. */
void bench_spread_shuffle(struct bench_plan *plan);

#endif
