/* SPDX-License-Identifier: MIT */
/* bench/wheel/result.h - the result of a case, which the child that runs it hands to the parent. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_SECTION_COUNT = 2,
    BENCH_SLICE_COUNT = 32,
    BENCH_SAMPLE_COUNT_MAX = 65536,
};

/*
 * A timed section consists of slices. The work of a slice is the same in each round. So the sum of the fastest times of
 * all slices is what the section takes if nothing disturbs it.
 */
struct bench_section {
    uint64_t unit_count; /* operations, timers or ticks; 0: the workload has no such section */
    uint64_t slices_ns[BENCH_SLICE_COUNT];
};

struct bench_result {
    bool done;
    char error[200];
    struct bench_section sections[BENCH_SECTION_COUNT];
    uint64_t fired_count;
    uint64_t cancelled_count;
    uint64_t lateness_ns_max;
    uint64_t pending_count; /* when the footprint was measured */
    uint64_t own_bytes;     /* see struct bench_footprint */
    uint64_t embedded_bytes;
    uint64_t work_max;
    uint32_t sample_count; /* how many durations of single advances follow */
    uint32_t samples_ns[BENCH_SAMPLE_COUNT_MAX];
};

#endif
