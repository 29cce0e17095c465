/* SPDX-License-Identifier: MIT */
/*
 * churn: each operation cancels the oldest timer and schedules it for now + 10 s, as request timeouts do.
 * churn-rand: the timer is random and the duration uniform over 1..30 s. A timer that has fired is just scheduled.
 * reset: a random timer is moved to now + 60 s, as idle timeouts of connections are.
 */
#include "../random.h"
#include "../workload.h"
#include "stream.h"
#include "workloads.h"

/* Rounds up: at N = 1e7, the oldest timer of churn is 10 s old, and must not have fired yet. */
static uint32_t units_of_seconds(uint32_t seconds) {
    uint64_t unit_ns = UINT64_C(1) << BENCH_DURATION_SHIFT;
    return (uint32_t)((seconds * UINT64_C(1000000000) + unit_ns - 1) / unit_ns);
}

static uint64_t replace_block(struct bench_case *run, size_t block, uint64_t now_ns) {
    const struct bench_step *step = &run->plan->steps[block * BENCH_BLOCK_OPERATIONS];
    const struct bench_step *end = step + BENCH_BLOCK_OPERATIONS;
    const struct bench_rival *rival = run->rival;
    void *self = run->self;
    uint64_t cancelled_count = 0;
    int failed = 0;
    for (; step < end; step++) {
        cancelled_count += rival->cancel(self, step->id) == 0;
        failed |= rival->schedule(self, step->id, now_ns + bench_duration_ns(step->duration));
        now_ns += BENCH_OPERATION_NS;
    }
    bench_expect_done(failed);
    return cancelled_count;
}

static void replay_replace_block(const struct bench_plan *plan, struct bench_model *model, size_t block,
                                 uint64_t now_ns) {
    const struct bench_step *step = &plan->steps[block * BENCH_BLOCK_OPERATIONS];
    for (size_t i = 0; i < BENCH_BLOCK_OPERATIONS; i++, now_ns += BENCH_OPERATION_NS) {
        bench_model_cancel(model, step[i].id);
        bench_model_schedule(model, step[i].id, now_ns + bench_duration_ns(step[i].duration));
    }
}

static uint64_t reset_block(struct bench_case *run, size_t block, uint64_t now_ns) {
    const struct bench_step *step = &run->plan->steps[block * BENCH_BLOCK_OPERATIONS];
    const struct bench_step *end = step + BENCH_BLOCK_OPERATIONS;
    const struct bench_rival *rival = run->rival;
    void *self = run->self;
    int failed = 0;
    for (; step < end; step++) {
        failed |= rival->reschedule(self, step->id, now_ns + bench_duration_ns(step->duration));
        now_ns += BENCH_OPERATION_NS;
    }
    bench_expect_done(failed);
    return 0;
}

static void replay_reset_block(const struct bench_plan *plan, struct bench_model *model, size_t block,
                               uint64_t now_ns) {
    const struct bench_step *step = &plan->steps[block * BENCH_BLOCK_OPERATIONS];
    for (size_t i = 0; i < BENCH_BLOCK_OPERATIONS; i++, now_ns += BENCH_OPERATION_NS) {
        bench_model_schedule(model, step[i].id, now_ns + bench_duration_ns(step[i].duration));
    }
}

static const struct bench_stream replace_stream = {.run_block = replace_block, .replay_block = replay_replace_block};
static const struct bench_stream reset_stream = {.run_block = reset_block, .replay_block = replay_reset_block};

static void run_replace(struct bench_case *run) {
    bench_stream_run(run, &replace_stream);
}

static void run_reset(struct bench_case *run) {
    bench_stream_run(run, &reset_stream);
}

/* The warm-up lasts 11 s: until the slots that were filled first have come up. The measurement lasts 10 or 20 s, as
 * slots do not come up evenly. For slow rivals, both are 8 times shorter. */
static void plan_churn(struct bench_plan *plan) {
    uint32_t n = plan->id_count = plan->timer_count;
    size_t measured_count = plan->quick || n >= 10000000 ? 10000000 : 20000000;
    size_t count = bench_stream_plan(plan, n, 11000000, measured_count);
    for (size_t i = 0; i < count; i++) {
        plan->steps[i] = (struct bench_step){.id = (uint32_t)(i % n), .duration = units_of_seconds(10)};
    }
}

static uint32_t random_duration(struct bench_random *random, uint32_t low_s, uint32_t high_s) {
    return units_of_seconds(low_s) + bench_random_below(random, units_of_seconds(high_s - low_s));
}

static void plan_churn_rand(struct bench_plan *plan) {
    uint32_t n = plan->id_count = plan->timer_count;
    size_t warm_count = bench_clamp((size_t)n * 3, 3000000, 20000000);
    size_t count = bench_stream_plan(plan, n, warm_count, plan->quick ? 2000000 : 10000000);
    struct bench_random random = {.state = n};
    for (size_t i = 0; i < count; i++) {
        uint32_t id = i < n ? (uint32_t)i : bench_random_below(&random, n);
        plan->steps[i] = (struct bench_step){.id = id, .duration = random_duration(&random, 1, 30)};
    }
}

/* The deadlines of the fill are spread over the 60 s. So timers that were moved since come up at their old places all
 * the time, as after a long run of such a load. */
static void plan_reset(struct bench_plan *plan) {
    uint32_t n = plan->id_count = plan->timer_count;
    size_t warm_count = bench_clamp((size_t)n * 2, 2000000, 20000000);
    size_t count = bench_stream_plan(plan, n, warm_count, plan->quick ? 2000000 : 10000000);
    struct bench_random random = {.state = n};
    for (size_t i = 0; i < count; i++) {
        if (i < n) {
            plan->steps[i] = (struct bench_step){.id = (uint32_t)i, .duration = random_duration(&random, 1, 60)};
        } else {
            plan->steps[i] =
                (struct bench_step){.id = bench_random_below(&random, n), .duration = units_of_seconds(60)};
        }
    }
}

const struct bench_workload bench_workload_churn = {
    .name = "churn",
    .section_names = {"cancel + schedule"},
    .real_time = true,
    .plan = plan_churn,
    .run = run_replace,
};

const struct bench_workload bench_workload_churn_rand = {
    .name = "churn-rand",
    .section_names = {"cancel + schedule"},
    .real_time = true,
    .plan = plan_churn_rand,
    .run = run_replace,
};

const struct bench_workload bench_workload_reset = {
    .name = "reset",
    .section_names = {"reschedule"},
    .real_time = true,
    .plan = plan_reset,
    .run = run_reset,
};
