/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/model.h - after the timed part of a case, replays the operations of the case, and checks the log of
 * firings against them.
 *
 * Each timer must fire exactly once or be cancelled, and fire neither early nor later than allowed. Any difference ends
 * the case with an error.
 */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rival.h"

struct bench_model {
    const struct bench_log *log;
    size_t log_cursor;
    size_t log_begin;       /* index in the log of the first firing of the latest advance */
    uint64_t *deadlines_ns; /* of each id; 0: not pending */
    uint32_t id_count;
    uint64_t now_ns;
    uint64_t lateness_ns_allowed; /* UINT64_MAX: any lateness */
    uint64_t lateness_ns_max;     /* the largest that was seen, unless any is allowed */
    uint64_t pending_count;
    uint64_t fired_count;
    uint64_t cancelled_count;
};

void bench_model_start(struct bench_model *model, const struct bench_log *log, uint32_t id_count,
                       uint64_t lateness_ns_allowed);
void bench_model_schedule(struct bench_model *model, uint32_t id, uint64_t deadline_ns);
void bench_model_cancel(struct bench_model *model, uint32_t id);
void bench_model_advance(struct bench_model *model, uint64_t now_ns, size_t log_end);

/* Checks, after the last advance, that nothing is pending, and that nothing is left in the log. */
void bench_model_end(struct bench_model *model);

#endif
