/* SPDX-License-Identifier: MIT */
#include "required.h"

#include <stdio.h>
#include <string.h>

#include "rival.h"
#include "workload.h"

/* The kinds of timers that a requirement is for. */
enum kinds {
    HANDLES = 1,
    TIMEOUTS = 2,
    BOTH = HANDLES | TIMEOUTS,
};

static const struct kind {
    enum kinds kind;
    const char *rival;
} kinds[] = {
    {HANDLES, "verge"},
    {TIMEOUTS, "verge-timeouts"},
};

enum {
    KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]),
    SIZE_COUNT = 5,
};

static const uint32_t sizes[SIZE_COUNT] = {1000, 10000, 100000, 1000000, 10000000};

#define BASELINE "textbook"
#define NONE 0 /* nothing is required at this size */

/* A bound on a row of the report, for each kind of timer in `kinds` and each size: verge's figure divided by the
 * baseline's is at most at_most. Without a baseline, verge's figure itself is. */
struct requirement {
    const char *row;
    enum kinds kinds;
    const char *baseline;       /* NULL: none */
    double at_most[SIZE_COUNT]; /* by the index in sizes */
};

static const struct requirement requirements[] = {
    {"connections", TIMEOUTS, BASELINE, {1.0, 1.0, 1.0, 0.35, 0.35}},
    {"reset", TIMEOUTS, BASELINE, {0.75, 0.75, 0.75, 0.4, 0.4}},
    {"churn-rand", TIMEOUTS, BASELINE, {1.1, 1.1, 1.1, 0.6, 0.6}},
    {"churn", TIMEOUTS, BASELINE, {1.1, 1.1, 1.1, 1.1, 1.0}},
    {"mixed", TIMEOUTS, BASELINE, {1.2, 1.2, 1.2, 0.7, 0.7}},
    {"expire", BOTH, BASELINE, {1.3, 1.3, 1.3, 0.6, 0.45}},
    {"churn", HANDLES, BASELINE, {2.0, 2.0, 2.0, 1.3, 1.2}},
    {"churn-rand", HANDLES, BASELINE, {2.0, 2.0, 2.0, 1.3, 1.2}},
    {"reset", HANDLES, BASELINE, {2.0, 2.0, 2.0, 1.3, 1.2}},
    {"mixed", HANDLES, BASELINE, {2.0, 2.0, 2.0, 1.3, 1.2}},
    {"tail p99.99", BOTH, BASELINE, {NONE, NONE, 0.15, 0.06, 0.02}},
    {"idle", BOTH, BASELINE, {0.05, 0.05, 0.05, 0.05, 0.05}},
    {"bytes", HANDLES, NULL, {NONE, NONE, NONE, 48, 48}},
    {"bytes, churned", HANDLES, NULL, {NONE, NONE, NONE, 48, 48}},
};

static const size_t requirement_count = sizeof(requirements) / sizeof(requirements[0]);

/* ---- what to measure ---- */

static bool is_for_rival(const struct requirement *requirement, const char *rival) {
    if (requirement->baseline != NULL && strcmp(requirement->baseline, rival) == 0) {
        return true;
    }
    for (size_t k = 0; k < KIND_COUNT; k++) {
        if ((requirement->kinds & kinds[k].kind) && strcmp(kinds[k].rival, rival) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_for_size(const struct requirement *requirement, uint32_t timer_count) {
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        if (sizes[s] == timer_count) {
            return requirement->at_most[s] != NONE;
        }
    }
    return false;
}

static bool is_needed(const char *workload, const char *rival, uint32_t timer_count) {
    for (const struct requirement *r = requirements; r < requirements + requirement_count; r++) {
        if (strcmp(bench_row_named(r->row)->workload, workload) == 0 && is_for_rival(r, rival) &&
            is_for_size(r, timer_count)) {
            return true;
        }
    }
    return false;
}

void bench_required_select(const struct bench_options *options, struct bench_selection *selection) {
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < options->size_count; s++) {
            for (size_t r = 0; r < bench_rival_count; r++) {
                if (!is_needed(bench_workloads[w]->name, bench_rivals[r]->name, options->sizes[s])) {
                    selection->rivals[w][s] &= ~(1u << r);
                }
            }
        }
    }
}

/* ---- the verdict ---- */

static double figure_of(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                        const char *rival) {
    const struct bench_figure *figure =
        bench_figures_find(figures, row->workload, timer_count, BENCH_PAGES_HUGE, rival);
    return bench_figure_best(figure, row->metric);
}

/* What is to be compared with the requirement; negative: it was not measured. */
static double measured(const struct bench_figures *figures, const struct requirement *requirement,
                       const struct kind *kind, uint32_t timer_count) {
    const struct bench_row *row = bench_row_named(requirement->row);
    double verge = figure_of(figures, row, timer_count, kind->rival);
    if (requirement->baseline == NULL) {
        return verge;
    }
    double baseline = figure_of(figures, row, timer_count, requirement->baseline);
    return verge < 0 || baseline <= 0 ? -1 : verge / baseline;
}

struct verdicts {
    const struct bench_figures *figures;
    bool filtered;
    size_t count;
    size_t missed_count;
};

static void judge(struct verdicts *verdicts, const struct requirement *requirement, const struct kind *kind,
                  size_t size) {
    double at_most = requirement->at_most[size];
    double value = measured(verdicts->figures, requirement, kind, sizes[size]);
    if (value < 0 && verdicts->filtered) {
        return;
    }
    bool is_met = value >= 0 && value <= at_most;
    verdicts->count++;
    verdicts->missed_count += !is_met;
    const char *unit = requirement->baseline != NULL ? "ratio" : bench_row_named(requirement->row)->unit;
    printf("%-16s %9u %-15s %-8s %10.3f %10.3f  %s\n", requirement->row, sizes[size], kind->rival, unit, value, at_most,
           is_met      ? "ok"
           : value < 0 ? "NOT MEASURED"
                       : "MISSED");
}

size_t bench_required_check(const struct bench_figures *figures, bool filtered) {
    struct verdicts verdicts = {.figures = figures, .filtered = filtered};
    printf("\n%-16s %9s %-15s %-8s %10s %10s\n", "", "timers", "", "", "measured", "at most");
    for (const struct requirement *r = requirements; r < requirements + requirement_count; r++) {
        for (size_t k = 0; k < KIND_COUNT; k++) {
            for (size_t s = 0; s < SIZE_COUNT; s++) {
                if ((r->kinds & kinds[k].kind) && r->at_most[s] != NONE) {
                    judge(&verdicts, r, &kinds[k], s);
                }
            }
        }
    }
    printf("%zu of %zu missed\n", verdicts.missed_count, verdicts.count);
    return verdicts.missed_count;
}
