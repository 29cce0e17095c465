/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <inttypes.h>

#include "../fail.h"
#include "../memory.h"

#define DRAIN_NS (UINT64_C(25) * 3600 * 1000000000) /* later than any deadline */

static size_t block_count_of(const struct bench_plan *plan, size_t operation_count) {
    return (operation_count + plan->block_operations - 1) / plan->block_operations;
}

static uint64_t block_ns(const struct bench_plan *plan) {
    return plan->block_operations * plan->operation_ns;
}

static uint64_t block_start_ns(const struct bench_plan *plan, size_t block) {
    return BENCH_START_NS + block * block_ns(plan);
}

size_t bench_stream_plan(struct bench_plan *plan, size_t fill_count, size_t warm_count, size_t measured_count) {
    if (plan->operation_ns == 0) {
        plan->operation_ns = BENCH_OPERATION_NS;
        plan->block_operations = BENCH_BLOCK_OPERATIONS;
    }
    plan->fill_count = block_count_of(plan, fill_count) * plan->block_operations;
    plan->warm_count = block_count_of(plan, warm_count) * plan->block_operations;
    plan->measured_count = block_count_of(plan, measured_count) * plan->block_operations;
    plan->step_count = plan->fill_count + plan->warm_count + plan->measured_count;
    plan->steps = bench_memory_allocate(plan->step_count * sizeof(*plan->steps), 64);
    return plan->step_count;
}

struct block_range {
    size_t measured_begin;
    size_t end;
};

static struct block_range blocks_of(const struct bench_case *run) {
    const struct bench_plan *plan = run->plan;
    size_t divisor = (run->rival->flags & BENCH_RIVAL_SLOW) ? BENCH_SLOW_DIVISOR : 1;
    size_t begin = block_count_of(plan, plan->fill_count + plan->warm_count / divisor);
    return (struct block_range){.measured_begin = begin,
                                .end = begin + block_count_of(plan, plan->measured_count / divisor)};
}

static uint64_t run_blocks(struct bench_case *run, const struct bench_stream *stream, size_t begin, size_t end) {
    uint64_t now_ns = block_start_ns(run->plan, begin);
    uint64_t cancelled_count = 0;
    for (size_t block = begin; block < end; block++) {
        cancelled_count += stream->run_block(run, block, now_ns);
        now_ns += block_ns(run->plan);
        bench_case_advance(run, now_ns);
    }
    return cancelled_count;
}

static void verify(struct bench_case *run, const struct bench_stream *stream, size_t block_count,
                   uint64_t cancelled_count) {
    const struct bench_plan *plan = run->plan;
    bool real_time = run->rival->flags & BENCH_RIVAL_REAL_TIME;
    struct bench_model model;
    bench_model_start(&model, &run->log, plan->id_count, block_ns(plan) + run->rival->lateness_ns);
    for (size_t block = 0; block < block_count; block++) {
        stream->replay_block(plan, &model, block, block_start_ns(plan, block));
        bench_model_advance(&model, block_start_ns(plan, block + 1), run->log_ends[block]);
    }
    run->result->pending_count = model.pending_count;
    run->result->fired_count = model.fired_count;
    run->result->cancelled_count = cancelled_count;
    run->result->lateness_ns_max = model.lateness_ns_max;
    if (cancelled_count != model.cancelled_count) {
        bench_fail("%" PRIu64 " cancelled, should be %" PRIu64, cancelled_count, model.cancelled_count);
    }
    if (real_time) {
        uint32_t pending_count = run->rival->pending(run->self);
        if (pending_count != model.pending_count) {
            bench_fail("%" PRIu32 " pending, should be %" PRIu64, pending_count, model.pending_count);
        }
        return;
    }
    uint64_t end_ns = block_start_ns(plan, block_count) + DRAIN_NS;
    bench_case_advance(run, end_ns);
    model.lateness_ns_allowed = UINT64_MAX;
    bench_model_advance(&model, end_ns, run->log_ends[block_count]);
    bench_model_end(&model);
}

void bench_stream_run(struct bench_case *run, const struct bench_stream *stream) {
    struct block_range blocks = blocks_of(run);
    bench_case_open(run, &(struct bench_case_needs){
                             .log_capacity = blocks.end * run->plan->block_operations + run->plan->id_count,
                             .advance_count = blocks.end + 1,
                         });
    struct bench_section *section = &run->result->sections[0];
    size_t measured_count = blocks.end - blocks.measured_begin;
    section->unit_count = measured_count * run->plan->block_operations;
    uint64_t cancelled_count = run_blocks(run, stream, 0, blocks.measured_begin);
    for (size_t slice = 0; slice < BENCH_SLICE_COUNT; slice++) {
        size_t begin = blocks.measured_begin + measured_count * slice / BENCH_SLICE_COUNT;
        size_t end = blocks.measured_begin + measured_count * (slice + 1) / BENCH_SLICE_COUNT;
        uint64_t start_ns = bench_cpu_ns();
        cancelled_count += run_blocks(run, stream, begin, end);
        section->slices_ns[slice] = bench_cpu_ns() - start_ns;
    }
    bench_case_weigh(run);
    verify(run, stream, blocks.end, cancelled_count);
    bench_case_close(run);
}
