/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/figures.h - the figures of each case (workload, N, pages, rival) after all rounds.
 *
 * best: the fastest round, for each slice of a section and each single advance. Bytes and work are those of the last
 * round. median: the median of the rounds, each taken as a whole.
 */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include "options.h"
#include "result.h"
#include "rival.h"

enum {
    BENCH_WORKLOAD_COUNT_MAX = 16,
};

enum bench_metric {
    BENCH_METRIC_TOTAL_NS, /* both sections together, per operation, timer or tick */
    BENCH_METRIC_SCHEDULE_NS,
    BENCH_METRIC_EXPIRE_NS,
    BENCH_METRIC_P99_NS, /* the duration of single advances, as the three below */
    BENCH_METRIC_P999_NS,
    BENCH_METRIC_P9999_NS,
    BENCH_METRIC_LONGEST_NS,
    BENCH_METRIC_OWN_BYTES, /* per pending timer */
    BENCH_METRIC_ALL_BYTES, /* per pending timer, including the part that the user's object embeds */
    BENCH_METRIC_WORK,      /* how much work the busiest advance did */
    BENCH_METRIC_COUNT,
};

struct bench_figure {
    unsigned round_count;
    struct bench_section best[BENCH_SECTION_COUNT];
    uint32_t sample_count;
    uint32_t *samples_best_ns;
    double rounds[BENCH_METRIC_COUNT][BENCH_ROUND_COUNT_MAX];
    uint64_t fired_count;
    uint64_t lateness_ns_max;
    double own_bytes; /* per pending timer */
    double embedded_bytes;
    double work_max;
};

struct bench_figures {
    size_t size_count;
    uint32_t sizes[BENCH_SIZE_COUNT_MAX];
    struct bench_figure
        *cells[BENCH_WORKLOAD_COUNT_MAX][BENCH_SIZE_COUNT_MAX][BENCH_PAGES_COUNT][BENCH_RIVAL_COUNT_MAX];
    size_t failure_count;
};

/* Returns the figure of a case, or NULL if no run of the case has succeeded. */
const struct bench_figure *bench_figures_find(const struct bench_figures *figures, const char *workload,
                                              uint32_t timer_count, enum bench_pages pages, const char *rival);

void bench_figure_add(struct bench_figure *figure, const struct bench_result *result);

/* The result is negative if the figure has no such metric, or is NULL. */
double bench_figure_best(const struct bench_figure *figure, enum bench_metric metric);
double bench_figure_median(const struct bench_figure *figure, enum bench_metric metric);

/* ---- the rows of the report, in order ---- */

struct bench_row {
    const char *name;
    const char *workload;
    const char *unit;
    enum bench_metric metric;
    bool plotted;
};

extern const struct bench_row bench_rows[];
extern const size_t bench_row_count;

const struct bench_row *bench_row_named(const char *name);

#endif
