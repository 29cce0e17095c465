/* SPDX-License-Identifier: MIT */
/*
 * connections: the life of a proxy. N connections have an idle timeout of 60 s. Each operation touches a random
 * connection: its timer is reset to now + 60 s. A timer that fires is started again for 60 s, for a new connection.
 *
 * A connection is touched at random, every N operations in the mean. So it stays idle for t with probability
 * exp(-t / (N x the time of an operation)), and one wait in a hundred lasts 60 s if N operations take 60 s / ln 100 =
 * 13 s. The clock moves accordingly: by 13 ms an operation at N = 1e3, by 1.3 us at 1e7. The loop polls every 1.3 ms,
 * but at 1e3 after each touch.
 */
#include <math.h>

#include "../random.h"
#include "../workload.h"
#include "stream.h"
#include "workloads.h"

#define IDLE_NS UINT64_C(60000000000)

enum {
    POLLS_PER_ROUND = 10000, /* a round has N operations */
};

static double mean_idle_ns(void) {
    return (double)IDLE_NS / log(100);
}

static uint64_t connections_block(struct bench_case *run, size_t block, uint64_t now_ns) {
    const struct bench_plan *plan = run->plan;
    const struct bench_step *step = &plan->steps[block * plan->block_operations];
    const struct bench_step *end = step + plan->block_operations;
    const struct bench_rival *rival = run->rival;
    void *self = run->self;
    int failed = 0;
    for (size_t i = run->advance_count < 2 ? 0 : run->log_ends[run->advance_count - 2]; i < run->log.count; i++) {
        failed |= rival->schedule(self, run->log.ids[i], now_ns + IDLE_NS);
    }
    for (; step < end; step++) {
        failed |= rival->reschedule(self, step->id, now_ns + bench_duration_ns(step->duration));
        now_ns += plan->operation_ns;
    }
    bench_expect_done(failed);
    return 0;
}

static void replay_connections_block(const struct bench_plan *plan, struct bench_model *model, size_t block,
                                     uint64_t now_ns) {
    const struct bench_step *step = &plan->steps[block * plan->block_operations];
    for (size_t i = model->log_begin; i < model->log_cursor; i++) {
        bench_model_schedule(model, model->log->ids[i], now_ns + IDLE_NS);
    }
    for (size_t i = 0; i < plan->block_operations; i++, now_ns += plan->operation_ns) {
        bench_model_schedule(model, step[i].id, now_ns + bench_duration_ns(step[i].duration));
    }
}

/* Returns how much of its 60 s a connection has left, after a long run of the load. */
static double random_rest_ns(struct bench_random *random) {
    double rest_ns;
    do {
        rest_ns = (double)IDLE_NS + mean_idle_ns() * log(1 - bench_random_unit(random));
    } while (rest_ns < 0);
    return rest_ns;
}

static uint32_t duration_of(double duration_ns) {
    return (uint32_t)(duration_ns / (1 << BENCH_DURATION_SHIFT)) + 1;
}

/* The fill leaves each connection with as much of its 60 s as after a long run. The warm-up brings the data structures
 * to the state of a long run: after 60 s, or 4.6 N operations, all timers that the fill had filed have come up. At
 * N = 1e7 the warm-up has only 3 N operations. For slow rivals, it is 8 times shorter. */
static void plan_connections(struct bench_plan *plan) {
    uint32_t n = plan->id_count = plan->timer_count;
    plan->operation_ns = (uint64_t)(mean_idle_ns() / n);
    plan->block_operations = n < POLLS_PER_ROUND ? 1 : n / POLLS_PER_ROUND;
    size_t warm_count = bench_clamp((size_t)n * 5, 2000000, 30000000);
    size_t count = bench_stream_plan(plan, n, warm_count, plan->quick ? 2000000 : 10000000);
    struct bench_random random = {.state = n};
    for (size_t i = 0; i < n; i++) {
        double until_filled_ns = (double)((n - i) * plan->operation_ns);
        plan->steps[i] =
            (struct bench_step){.id = (uint32_t)i, .duration = duration_of(until_filled_ns + random_rest_ns(&random))};
    }
    for (size_t i = n; i < count; i++) {
        plan->steps[i] =
            (struct bench_step){.id = bench_random_below(&random, n), .duration = duration_of((double)IDLE_NS)};
    }
}

static const struct bench_stream connections_stream = {
    .run_block = connections_block,
    .replay_block = replay_connections_block,
};

static void run_connections(struct bench_case *run) {
    bench_stream_run(run, &connections_stream);
}

const struct bench_workload bench_workload_connections = {
    .name = "connections",
    .section_names = {"touch"},
    .plan = plan_connections,
    .run = run_connections,
};
