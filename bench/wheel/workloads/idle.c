/* SPDX-License-Identifier: MIT */
/* idle: N timers pending, uniform over 1 h .. 2 h ahead; nothing is due. At each tick: advance, and ask when to advance
 * next, if the rival can say. */
#include <inttypes.h>

#include "../fail.h"
#include "../workload.h"
#include "spread.h"
#include "workloads.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)

enum {
    TICK_COUNT_FULL = 200000,
    TICK_COUNT_QUICK = 50000,
};

static void plan_idle(struct bench_plan *plan) {
    bench_spread_plan(plan, HOUR_NS, 2 * HOUR_NS);
}

static size_t tick_count_of(const struct bench_case *run) {
    size_t count = run->plan->quick ? TICK_COUNT_QUICK : TICK_COUNT_FULL;
    return (run->rival->flags & BENCH_RIVAL_SLOW) ? count / BENCH_SLOW_DIVISOR : count;
}

static uint64_t tick_time_ns(size_t tick) {
    return BENCH_START_NS + (tick + 1) * BENCH_TICK_NS;
}

/* Returns the last answer of next(). */
static uint64_t run_ticks(struct bench_case *run, size_t begin, size_t end) {
    uint64_t next_ns = 0;
    for (size_t tick = begin; tick < end; tick++) {
        bench_case_advance(run, tick_time_ns(tick));
        if (run->rival->next != NULL) {
            next_ns = run->rival->next(run->self);
        }
    }
    return next_ns;
}

static void check_next(const struct bench_case *run, uint64_t now_ns, uint64_t next_ns) {
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t id = 0; id < run->plan->id_count; id++) {
        uint64_t deadline_ns = bench_spread_deadline_ns(run->plan, BENCH_START_NS, id);
        first_ns = deadline_ns < first_ns ? deadline_ns : first_ns;
    }
    uint64_t latest_ns = first_ns + run->rival->lateness_ns;
    if (run->rival->next != NULL && (next_ns <= now_ns || next_ns > latest_ns)) {
        bench_fail("next is %" PRIu64 ", should be after %" PRIu64 " and until %" PRIu64, next_ns, now_ns, latest_ns);
    }
}

static void verify(struct bench_case *run, size_t tick_count) {
    uint64_t end_ns = BENCH_START_NS + 3 * HOUR_NS;
    bench_case_advance(run, end_ns);
    struct bench_model model;
    bench_model_start(&model, &run->log, run->plan->id_count, UINT64_MAX);
    for (uint32_t id = 0; id < run->plan->id_count; id++) {
        bench_model_schedule(&model, id, bench_spread_deadline_ns(run->plan, BENCH_START_NS, id));
    }
    for (size_t tick = 0; tick < tick_count; tick++) {
        bench_model_advance(&model, tick_time_ns(tick), run->log_ends[tick]);
    }
    if (model.fired_count != 0) {
        bench_fail("%zu timers fired where none is due", (size_t)model.fired_count);
    }
    bench_model_advance(&model, end_ns, run->log_ends[tick_count]);
    run->result->fired_count = model.fired_count;
    bench_model_end(&model);
}

static void run_idle(struct bench_case *run) {
    size_t tick_count = tick_count_of(run);
    bench_case_open(run, &(struct bench_case_needs){
                             .log_capacity = run->plan->timer_count,
                             .advance_count = tick_count + 1,
                         });
    int failed = 0;
    for (uint32_t id = 0; id < run->plan->id_count; id++) {
        failed |= run->rival->schedule(run->self, id, bench_spread_deadline_ns(run->plan, BENCH_START_NS, id));
    }
    bench_expect_done(failed);
    struct bench_section *section = &run->result->sections[0];
    section->unit_count = tick_count;
    uint64_t next_ns = 0;
    for (size_t slice = 0; slice < BENCH_SLICE_COUNT; slice++) {
        uint64_t begin_ns = bench_cpu_ns();
        next_ns = run_ticks(run, tick_count * slice / BENCH_SLICE_COUNT, tick_count * (slice + 1) / BENCH_SLICE_COUNT);
        section->slices_ns[slice] = bench_cpu_ns() - begin_ns;
    }
    check_next(run, tick_time_ns(tick_count - 1), next_ns);
    verify(run, tick_count);
    bench_case_close(run);
}

const struct bench_workload bench_workload_idle = {
    .name = "idle",
    .section_names = {"advance + next"},
    .plan = plan_idle,
    .run = run_idle,
};
