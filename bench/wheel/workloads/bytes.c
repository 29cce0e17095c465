/* SPDX-License-Identifier: MIT */
/* bytes: how much memory N pending timers take, uniform over 60 s, if nothing was reserved beforehand. */
#include "../workload.h"
#include "spread.h"
#include "workloads.h"

#define SPAN_NS (UINT64_C(60) * 1000000000)

static void plan_bytes(struct bench_plan *plan) {
    bench_spread_plan(plan, 0, SPAN_NS);
}

static void run_bytes(struct bench_case *run) {
    bench_case_open(run, &(struct bench_case_needs){
                             .log_capacity = run->plan->timer_count,
                             .advance_count = 1,
                             .no_reserve = true,
                         });
    struct bench_model model;
    bench_model_start(&model, &run->log, run->plan->id_count, UINT64_MAX);
    for (uint32_t id = 0; id < run->plan->id_count; id++) {
        uint64_t deadline_ns = bench_spread_deadline_ns(run->plan, BENCH_START_NS, id);
        bench_expect_done(run->rival->schedule(run->self, id, deadline_ns));
        bench_model_schedule(&model, id, deadline_ns);
    }
    bench_case_weigh(run);
    run->result->pending_count = model.pending_count;
    bench_case_advance(run, BENCH_START_NS + 2 * SPAN_NS);
    bench_model_advance(&model, BENCH_START_NS + 2 * SPAN_NS, run->log_ends[0]);
    run->result->fired_count = model.fired_count;
    bench_model_end(&model);
    bench_case_close(run);
}

const struct bench_workload bench_workload_bytes = {
    .name = "bytes",
    .untimed = true,
    .plan = plan_bytes,
    .run = run_bytes,
};
