/* SPDX-License-Identifier: MIT */
/* bench/wheel/runner.h - runs cases, each in a child process. Rivals take turns, round after round. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include "figures.h"
#include "options.h"

struct bench_selection {
    uint32_t rivals[BENCH_WORKLOAD_COUNT_MAX][BENCH_SIZE_COUNT_MAX]; /* bit masks */
};

/* Selects all cases that the options ask for and that can be run. */
void bench_select_all(const struct bench_options *options, struct bench_selection *ret_selection);

/* Runs the selected cases. Failures are printed and counted. */
void bench_run(const struct bench_options *options, const struct bench_selection *selection,
               struct bench_figures *figures);

#endif
