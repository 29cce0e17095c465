/* SPDX-License-Identifier: MIT */
#include "required.h"

#include <math.h>
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

#define NONE 0 /* nothing is required at this size */
#define ROWS_MAX 6

/*
 * A bound for each kind of timer in `kinds` and each size. A ratio compares with the best of all rivals in the same
 * run. If there are several rows, their geometric mean counts.
 */
struct requirement {
    const char *name;
    const char *rows[ROWS_MAX + 1]; /* names of rows of the report; ends with NULL */
    enum kinds kinds;
    bool is_ratio;              /* false: at_most is for verge's figure itself */
    double at_most[SIZE_COUNT]; /* index: as in sizes */
};

#define WORKLOADS \
    { "churn", "churn-rand", "reset", "connections", "mixed", "expire" }

static const struct requirement requirements[] = {
    {"all, mean", WORKLOADS, TIMEOUTS, true, {1.3, 1.2, 1.05, 0.7, 0.6}},
    {"all, mean", WORKLOADS, HANDLES, true, {1.8, 2.0, 2.7, 1.3, 1.1}},
    {"tail p99.9", {"tail p99.9"}, BOTH, true, {NONE, 3, 1.3, 0.25, 0.1}},
    {"idle", {"idle"}, BOTH, true, {1.8, 1.8, 1.8, 1.8, 1.8}},
    {"bytes", {"bytes"}, HANDLES, false, {NONE, NONE, NONE, 48, 48}},
    {"bytes, churned", {"bytes, churned"}, HANDLES, false, {NONE, NONE, NONE, 48, 48}},
};

static const size_t requirement_count = sizeof(requirements) / sizeof(requirements[0]);

static bool is_verge(const char *rival) {
    return strncmp(rival, "verge", strlen("verge")) == 0;
}

/* ---- what to measure ---- */

static bool is_for_rival(const struct requirement *requirement, const char *rival) {
    for (size_t k = 0; k < KIND_COUNT; k++) {
        if ((requirement->kinds & kinds[k].kind) && strcmp(kinds[k].rival, rival) == 0) {
            return true;
        }
    }
    return requirement->is_ratio && !is_verge(rival);
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
        for (const char *const *row = r->rows; *row != NULL; row++) {
            if (strcmp(bench_row_named(*row)->workload, workload) == 0 && is_for_rival(r, rival) &&
                is_for_size(r, timer_count)) {
                return true;
            }
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

/* Returns the smallest figure of the rivals; negative: none was measured. */
static double best_of_rivals(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count) {
    double best = -1;
    for (size_t r = 0; r < bench_rival_count; r++) {
        double figure =
            is_verge(bench_rivals[r]->name) ? -1 : figure_of(figures, row, timer_count, bench_rivals[r]->name);
        best = figure > 0 && (best < 0 || figure < best) ? figure : best;
    }
    return best;
}

/* Returns the figure to compare with the requirement; negative: it was not measured. */
static double measured(const struct bench_figures *figures, const struct requirement *requirement,
                       const struct kind *kind, uint32_t timer_count) {
    double sum_of_logs = 0;
    size_t count = 0;
    for (const char *const *name = requirement->rows; *name != NULL; name++) {
        const struct bench_row *row = bench_row_named(*name);
        double verge = figure_of(figures, row, timer_count, kind->rival);
        double best = requirement->is_ratio ? best_of_rivals(figures, row, timer_count) : 1;
        if (verge <= 0 || best <= 0) {
            return -1;
        }
        sum_of_logs += log(verge / best);
        count++;
    }
    return exp(sum_of_logs / (double)count);
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
    const char *unit = requirement->is_ratio ? "ratio" : bench_row_named(requirement->rows[0])->unit;
    printf("%-16s %9u %-15s %-8s %10.3f %10.3f  %s\n", requirement->name, sizes[size], kind->rival, unit, value,
           at_most,
           is_met      ? "ok"
           : value < 0 ? "NOT MEASURED"
                       : "MISSED");
}

bool bench_required_check(const struct bench_figures *figures, bool filtered) {
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
    return verdicts.count > 0 && verdicts.missed_count == 0;
}
