/* SPDX-License-Identifier: MIT */
#include "spread.h"

#include <stdlib.h>

#include "../fail.h"
#include "../memory.h"
#include "../random.h"

enum {
    REPEATED_TIMER_COUNT = 100000, /* with repeat: at most so many timers in total, or N if that is more */
    REPEAT_COUNT_MAX = 32,
    LATE_ADVANCE_COUNT = 4,          /* for rivals that fire a little late */
    LIMITED_ADVANCE_COUNT = 2000000, /* by then all timers must have fired in spite of the work limit */
};

void bench_spread_plan(struct bench_plan *plan, uint64_t low_ns, uint64_t high_ns) {
    plan->id_count = plan->timer_count;
    plan->durations = bench_memory_allocate(plan->id_count * sizeof(*plan->durations), 64);
    uint32_t low = (uint32_t)(low_ns >> BENCH_DURATION_SHIFT);
    uint32_t range = (uint32_t)((high_ns - low_ns) >> BENCH_DURATION_SHIFT);
    struct bench_random random = {.state = plan->id_count};
    for (uint32_t id = 0; id < plan->id_count; id++) {
        plan->durations[id] = low + (range == 0 ? 0 : bench_random_below(&random, range)) + 1;
    }
}

void bench_spread_shuffle(struct bench_plan *plan) {
    plan->order = bench_memory_allocate(plan->id_count * sizeof(*plan->order), 64);
    struct bench_random random = {.state = plan->id_count};
    for (uint32_t i = 0; i < plan->id_count; i++) {
        uint32_t other = bench_random_below(&random, i + 1);
        plan->order[i] = plan->order[other];
        plan->order[other] = i;
    }
}

/* One pass: when it starts, and which advances belong to it. */
struct pass {
    uint64_t start_ns;
    size_t advance_begin;
    size_t advance_end;
};

struct passes {
    const struct bench_spread *spread;
    size_t advance_count; /* how many advances a pass has */
    size_t repeat_count;
    size_t count;
    struct pass passes[REPEAT_COUNT_MAX + 1];
};

static bool is_real_time(const struct bench_case *run) {
    return run->rival->flags & BENCH_RIVAL_REAL_TIME;
}

static size_t repeat_count_of(const struct bench_case *run, const struct bench_spread *spread) {
    if (spread->sample && !spread->repeat) {
        return 0;
    }
    size_t count = spread->repeat && !is_real_time(run) ? REPEATED_TIMER_COUNT / run->plan->timer_count : 1;
    return count < 1 ? 1 : count > REPEAT_COUNT_MAX ? REPEAT_COUNT_MAX : count;
}

static uint64_t pass_time_ns(const struct passes *passes, const struct pass *pass, size_t advance) {
    return pass->start_ns + (advance - pass->advance_begin + 1) * passes->spread->step_ns;
}

static struct pass *add_pass(struct bench_case *run, struct passes *passes) {
    struct pass *pass = &passes->passes[passes->count];
    pass->start_ns = BENCH_START_NS;
    if (passes->count > 0) {
        const struct pass *before = pass - 1;
        pass->start_ns = pass_time_ns(passes, before, before->advance_end - 1);
    }
    pass->advance_begin = run->advance_count;
    pass->advance_end = run->advance_count + passes->advance_count;
    passes->count++;
    return pass;
}

static void schedule_range(struct bench_case *run, const struct pass *pass, uint32_t begin, uint32_t end) {
    const struct bench_plan *plan = run->plan;
    const uint32_t *order = plan->order;
    const struct bench_rival *rival = run->rival;
    void *self = run->self;
    int failed = 0;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t id = order == NULL ? i : order[i];
        failed |= rival->schedule(self, id, bench_spread_deadline_ns(plan, pass->start_ns, id));
    }
    bench_expect_done(failed);
}

static void advance_range(struct bench_case *run, const struct passes *passes, const struct pass *pass, size_t begin,
                          size_t end) {
    uint64_t now_ns = pass_time_ns(passes, pass, begin);
    for (size_t advance = begin; advance < end; advance++, now_ns += passes->spread->step_ns) {
        bench_case_advance(run, now_ns);
    }
}

/* Waits in real time until all deadlines have passed. Only the part of the expiry that comes after that is timed. */
static void real_time_pass(struct bench_case *run, const struct passes *passes, struct pass *pass) {
    uint64_t last_ns = pass_time_ns(passes, pass, pass->advance_end - 1);
    run->rival->await(run->self, last_ns);
    pass->advance_end = pass->advance_begin + 1;
    pass->start_ns = last_ns - passes->spread->step_ns;
    uint64_t begin_ns = bench_cpu_ns();
    bench_case_advance(run, last_ns);
    run->result->sections[BENCH_SECTION_EXPIRE].slices_ns[0] += bench_cpu_ns() - begin_ns;
}

static void timed_pass(struct bench_case *run, struct passes *passes, size_t repeat) {
    struct pass *pass = add_pass(run, passes);
    uint32_t n = run->plan->timer_count;
    size_t part_count = passes->repeat_count >= BENCH_SLICE_COUNT ? 1 : BENCH_SLICE_COUNT / passes->repeat_count;
    for (size_t part = 0; part < part_count; part++) {
        size_t slice = (repeat * part_count + part) % BENCH_SLICE_COUNT;
        uint32_t begin = (uint32_t)((uint64_t)n * part / part_count);
        uint32_t end = (uint32_t)((uint64_t)n * (part + 1) / part_count);
        uint64_t begin_ns = bench_cpu_ns();
        schedule_range(run, pass, begin, end);
        run->result->sections[BENCH_SECTION_SCHEDULE].slices_ns[slice] += bench_cpu_ns() - begin_ns;
    }
    if (is_real_time(run)) {
        real_time_pass(run, passes, pass);
        return;
    }
    for (size_t part = 0; part < part_count; part++) {
        size_t slice = (repeat * part_count + part) % BENCH_SLICE_COUNT;
        size_t begin = pass->advance_begin + passes->advance_count * part / part_count;
        size_t end = pass->advance_begin + passes->advance_count * (part + 1) / part_count;
        uint64_t begin_ns = bench_cpu_ns();
        advance_range(run, passes, pass, begin, end);
        run->result->sections[BENCH_SECTION_EXPIRE].slices_ns[slice] += bench_cpu_ns() - begin_ns;
    }
}

static void sampled_pass(struct bench_case *run, struct passes *passes) {
    struct pass *pass = add_pass(run, passes);
    struct bench_result *result = run->result;
    if (passes->advance_count > BENCH_SAMPLE_COUNT_MAX) {
        bench_fail("too many samples");
    }
    schedule_range(run, pass, 0, run->plan->timer_count);
    uint64_t now_ns = pass->start_ns;
    for (size_t advance = 0; advance < passes->advance_count; advance++) {
        now_ns += passes->spread->step_ns;
        uint64_t begin_ns = bench_wall_ns();
        bench_case_advance(run, now_ns);
        uint64_t taken_ns = bench_wall_ns() - begin_ns;
        result->samples_ns[advance] = taken_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)taken_ns;
    }
    result->sample_count = (uint32_t)passes->advance_count;
}

static void limited_pass(struct bench_case *run, struct passes *passes) {
    struct pass *pass = add_pass(run, passes);
    schedule_range(run, pass, 0, run->plan->timer_count);
    pass->advance_end = pass->advance_begin;
    while (run->log.count < run->plan->timer_count && pass->advance_end < LIMITED_ADVANCE_COUNT) {
        bench_case_advance(run, pass_time_ns(passes, pass, pass->advance_end));
        pass->advance_end++;
        struct bench_footprint footprint;
        run->rival->footprint(run->self, &footprint);
        run->result->work_max = footprint.work > run->result->work_max ? footprint.work : run->result->work_max;
    }
    bench_case_weigh(run);
}

static void verify(struct bench_case *run, const struct passes *passes) {
    uint64_t lateness_ns = passes->spread->step_ns + run->rival->lateness_ns;
    bool any_lateness = passes->spread->work_limit != 0 || is_real_time(run);
    struct bench_model model;
    bench_model_start(&model, &run->log, run->plan->id_count, any_lateness ? UINT64_MAX : lateness_ns);
    for (const struct pass *pass = passes->passes; pass < passes->passes + passes->count; pass++) {
        uint64_t start_ns = is_real_time(run) ? BENCH_START_NS : pass->start_ns;
        for (uint32_t id = 0; id < run->plan->timer_count; id++) {
            bench_model_schedule(&model, id, bench_spread_deadline_ns(run->plan, start_ns, id));
        }
        for (size_t advance = pass->advance_begin; advance < pass->advance_end; advance++) {
            bench_model_advance(&model, pass_time_ns(passes, pass, advance), run->log_ends[advance]);
        }
        if (model.pending_count != 0) {
            bench_fail("%zu timers never fired", (size_t)model.pending_count);
        }
    }
    run->result->fired_count = model.fired_count;
    run->result->lateness_ns_max = model.lateness_ns_max;
    bench_model_end(&model);
}

void bench_spread_run(struct bench_case *run, const struct bench_spread *spread) {
    struct passes *passes = calloc(1, sizeof(*passes));
    if (passes == NULL) {
        bench_fail("no memory");
    }
    passes->spread = spread;
    passes->advance_count = (size_t)(spread->span_ns / spread->step_ns) + LATE_ADVANCE_COUNT;
    passes->repeat_count = spread->work_limit != 0 ? 0 : repeat_count_of(run, spread);
    bool sampled = spread->sample && !is_real_time(run);
    size_t pass_count = passes->repeat_count + (sampled || spread->work_limit != 0);
    size_t limited_count = spread->work_limit != 0 ? LIMITED_ADVANCE_COUNT : 0;
    bench_case_open(run, &(struct bench_case_needs){
                             .log_capacity = pass_count * run->plan->timer_count,
                             .advance_count = pass_count * passes->advance_count + limited_count,
                             .work_limit = spread->work_limit,
                         });
    if (passes->repeat_count > 0) {
        run->result->sections[BENCH_SECTION_SCHEDULE].unit_count = passes->repeat_count * run->plan->timer_count;
        run->result->sections[BENCH_SECTION_EXPIRE].unit_count = passes->repeat_count * run->plan->timer_count;
    }
    for (size_t repeat = 0; repeat < passes->repeat_count; repeat++) {
        timed_pass(run, passes, repeat);
    }
    if (sampled) {
        sampled_pass(run, passes);
    }
    if (spread->work_limit != 0) {
        limited_pass(run, passes);
    }
    verify(run, passes);
    bench_case_close(run);
    free(passes);
}
