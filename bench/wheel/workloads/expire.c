/* SPDX-License-Identifier: MIT */
/*
 * expire: N timers uniform over 60 s, advanced tick by tick until all have fired.
 * expire-24h: uniform over 24 h, advanced by 1 s.
 * tail: as expire, but measures how long each single advance takes.
 * burst: N timers due in one tick, 1000 ticks ahead, scheduled in random order.
 * limit: as expire, with a limit on the work of an advance.
 */
#include "../fail.h"
#include "../workload.h"
#include "spread.h"
#include "workloads.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    WORK_LIMIT = 256,
};

static const struct bench_spread expire_spread = {
    .span_ns = 60 * SECOND_NS,
    .step_ns = BENCH_TICK_NS,
    .repeat = true,
};

static const struct bench_spread expire_24h_spread = {
    .span_ns = 24 * UINT64_C(3600) * SECOND_NS,
    .step_ns = SECOND_NS,
};

static const struct bench_spread tail_spread = {
    .span_ns = 60 * SECOND_NS,
    .step_ns = BENCH_TICK_NS,
    .sample = true,
};

static const struct bench_spread burst_spread = {
    .span_ns = 1000 * BENCH_TICK_NS,
    .step_ns = BENCH_TICK_NS,
    .repeat = true,
    .sample = true,
};

static const struct bench_spread limit_spread = {
    .span_ns = 60 * SECOND_NS,
    .step_ns = BENCH_TICK_NS,
    .work_limit = WORK_LIMIT,
};

static void plan_expire(struct bench_plan *plan) {
    bench_spread_plan(plan, 0, expire_spread.span_ns);
}

static void plan_expire_24h(struct bench_plan *plan) {
    bench_spread_plan(plan, 0, expire_24h_spread.span_ns);
}

static void plan_burst(struct bench_plan *plan) {
    bench_spread_plan(plan, burst_spread.span_ns, burst_spread.span_ns);
    bench_spread_shuffle(plan);
}

static void run_expire(struct bench_case *run) {
    bench_spread_run(run, &expire_spread);
}

static void run_expire_24h(struct bench_case *run) {
    bench_spread_run(run, &expire_24h_spread);
}

static void run_tail(struct bench_case *run) {
    bench_spread_run(run, &tail_spread);
}

static void run_burst(struct bench_case *run) {
    bench_spread_run(run, &burst_spread);
}

static void run_limit(struct bench_case *run) {
    bench_spread_run(run, &limit_spread);
    if (run->result->work_max > WORK_LIMIT) {
        bench_fail("an advance did %zu entries of work, its limit is %d", (size_t)run->result->work_max, WORK_LIMIT);
    }
}

const struct bench_workload bench_workload_expire = {
    .name = "expire",
    .section_names = {"schedule", "expire"},
    .plan = plan_expire,
    .run = run_expire,
};

const struct bench_workload bench_workload_expire_24h = {
    .name = "expire-24h",
    .section_names = {"schedule", "expire"},
    .timer_count_min = 10000,
    .plan = plan_expire_24h,
    .run = run_expire_24h,
};

const struct bench_workload bench_workload_tail = {
    .name = "tail",
    .timer_count_min = 10000,
    .plan = plan_expire,
    .run = run_tail,
};

const struct bench_workload bench_workload_burst = {
    .name = "burst",
    .section_names = {"schedule", "expire"},
    .real_time = true,
    .plan = plan_burst,
    .run = run_burst,
};

const struct bench_workload bench_workload_limit = {
    .name = "limit",
    .timer_count_min = 10000,
    .work_limit = true,
    .plan = plan_expire,
    .run = run_limit,
};
