/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/workloads/spread.h - workloads that schedule N timers at one moment and then advance step by step until
 * all have fired.
 */
#ifndef BENCH_SPREAD_H
#define BENCH_SPREAD_H

#include "../workload.h"

struct bench_spread {
    uint64_t span_ns;  /* no duration is longer by 2^17 ns or more */
    uint64_t step_ns;  /* by how much each advance moves time */
    bool repeat;       /* a small N is repeated, so that there is enough to measure */
    bool sample;       /* one more pass, in which each advance is timed; not in real time */
    size_t work_limit; /* if it is not 0, advances go on until all timers have fired */
};

enum {
    BENCH_SECTION_SCHEDULE = 0,
    BENCH_SECTION_EXPIRE = 1,
};

void bench_spread_run(struct bench_case *run, const struct bench_spread *spread);

/* Makes a plan with durations that are uniform over low..high. */
void bench_spread_plan(struct bench_plan *plan, uint64_t low_ns, uint64_t high_ns);

/* Returns a deadline that, for almost every id, is not on the grid on which time advances: so a timer that fires a
 * nanosecond early would show. */
static inline uint64_t bench_spread_deadline_ns(const struct bench_plan *plan, uint64_t start_ns, uint32_t id) {
    return start_ns + bench_duration_ns(plan->durations[id]) + (id & ((1u << BENCH_DURATION_SHIFT) - 1));
}

/* Makes the plan schedule its ids in random order. */
void bench_spread_shuffle(struct bench_plan *plan);

#endif
