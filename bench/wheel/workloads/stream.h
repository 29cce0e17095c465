/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/workloads/stream.h - workloads that are a stream of operations. The clock moves by a fixed time with each
 * operation, and the rival advances after each block of a fixed number of operations. The plan has both numbers; most
 * plans have 1 us and 1000.
 *
 * A stream fills, warms up and is then timed, in slices of whole blocks. Afterwards the whole stream is replayed in the
 * model, and time advances until all timers have fired. In real time it does not: there, pending timers are counted.
 */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include "../workload.h"

struct bench_stream {
    /* Does the operations of a block; returns how many timers it cancelled. */
    uint64_t (*run_block)(struct bench_case *run, size_t block, uint64_t now_ns);
    /* Does the same operations on the model. */
    void (*replay_block)(const struct bench_plan *plan, struct bench_model *model, size_t block, uint64_t now_ns);
};

void bench_stream_run(struct bench_case *run, const struct bench_stream *stream);

/* Rounds the counts of a plan up to whole blocks, and allocates its steps. Returns their number. If the plan has no
 * operation_ns or block_operations yet, it gets the usual ones. */
size_t bench_stream_plan(struct bench_plan *plan, size_t fill_count, size_t warm_count, size_t measured_count);

static inline size_t bench_clamp(size_t value, size_t low, size_t high) {
    return value < low ? low : value > high ? high : value;
}

#endif
