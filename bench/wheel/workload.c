/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <string.h>

#include "fail.h"
#include "memory.h"
#include "workloads/workloads.h"

const struct bench_workload *const bench_workloads[] = {
    &bench_workload_connections, &bench_workload_churn,      &bench_workload_churn_rand, &bench_workload_reset,
    &bench_workload_expire,      &bench_workload_expire_24h, &bench_workload_mixed,      &bench_workload_idle,
    &bench_workload_tail,        &bench_workload_burst,      &bench_workload_bytes,      &bench_workload_limit,
};

const size_t bench_workload_count = sizeof(bench_workloads) / sizeof(bench_workloads[0]);

const struct bench_workload *bench_workload_named(const char *name) {
    for (size_t i = 0; i < bench_workload_count; i++) {
        if (strcmp(bench_workloads[i]->name, name) == 0) {
            return bench_workloads[i];
        }
    }
    return NULL;
}

bool bench_workload_suits(const struct bench_workload *workload, const struct bench_rival *rival,
                          uint32_t timer_count) {
    if (timer_count < workload->timer_count_min) {
        return false;
    }
    if (workload->work_limit && !(rival->flags & BENCH_RIVAL_WORK_LIMIT)) {
        return false;
    }
    if ((rival->flags & BENCH_RIVAL_REAL_TIME) && !workload->real_time) {
        return false;
    }
    return rival->id_count_max == 0 || timer_count <= rival->id_count_max;
}

void bench_plan_release(struct bench_plan *plan) {
    bench_memory_release(plan->steps, plan->step_count * sizeof(*plan->steps));
    bench_memory_release(plan->cancels, plan->step_count * sizeof(*plan->cancels));
    bench_memory_release(plan->cancel_ends, plan->cancel_end_count * sizeof(*plan->cancel_ends));
    bench_memory_release(plan->durations, plan->id_count * sizeof(*plan->durations));
    bench_memory_release(plan->order, plan->id_count * sizeof(*plan->order));
}

void bench_case_open(struct bench_case *run, const struct bench_case_needs *needs) {
    const struct bench_plan *plan = run->plan;
    run->objects = bench_memory_allocate(plan->id_count * sizeof(*run->objects), BENCH_OBJECT_SIZE);
    run->log.capacity = needs->log_capacity;
    run->log.ids = bench_memory_allocate(needs->log_capacity * sizeof(*run->log.ids), 64);
    run->advance_count_max = needs->advance_count;
    run->log_ends = bench_memory_allocate(needs->advance_count * sizeof(*run->log_ends), 64);
    struct bench_setup setup = {
        .objects = run->objects,
        .log = &run->log,
        .id_count = plan->id_count,
        .start_ns = BENCH_START_NS,
        .reserve = !needs->no_reserve,
        .work_limit = needs->work_limit,
    };
    run->self = run->rival->create(&setup);
}

void bench_case_close(struct bench_case *run) {
    if (run->advance_count > run->advance_count_max) {
        bench_fail("the plan has too few advances");
    }
    run->rival->destroy(run->self);
}

void bench_case_weigh(struct bench_case *run) {
    struct bench_footprint footprint = {0};
    run->rival->footprint(run->self, &footprint);
    run->result->own_bytes = footprint.own_bytes;
    run->result->embedded_bytes = footprint.embedded_bytes;
}

void bench_expect_done(int results) {
    if (results < 0) {
        bench_fail("an operation failed: %d", results);
    }
}

void bench_touch_fired(struct bench_case *run, size_t log_begin) {
    for (size_t i = log_begin; i < run->log.count; i++) {
        run->objects[run->log.ids[i]].bytes[BENCH_OBJECT_SIZE - 1]++;
    }
}
