/* SPDX-License-Identifier: MIT */
#include "required.h"

#include <stdio.h>
#include <string.h>

#include "rival.h"
#include "workload.h"

/*
 * verge divided by another, or, with no other, verge's own figure: at most so much. Handles are what is measured, and
 * timeouts where an object's one timer is started and stopped again and again, which is what they are for.
 */
struct requirement {
    const char *row;
    const char *verge;
    const char *other;
    uint32_t timer_count;
    double at_most;
};

#define HANDLES "verge"
#define TIMEOUTS "verge-timeouts"

static const struct requirement requirements[] = {
    {"churn", TIMEOUTS, "textbook", 1000, 1.0},
    {"churn", TIMEOUTS, "textbook", 100000, 1.0},
    {"churn", TIMEOUTS, "textbook", 1000000, 0.95},
    {"churn", TIMEOUTS, "textbook", 10000000, 0.95},
    {"churn-rand", TIMEOUTS, "textbook", 1000, 1.25},
    {"churn-rand", TIMEOUTS, "textbook", 100000, 1.35},
    {"churn-rand", TIMEOUTS, "textbook", 1000000, 1.35},
    {"churn-rand", TIMEOUTS, "textbook", 10000000, 1.1},
    {"reset", TIMEOUTS, "textbook", 1000, 0.7},
    {"reset", TIMEOUTS, "textbook", 100000, 1.0},
    {"reset", TIMEOUTS, "textbook", 1000000, 1.0},
    {"reset", TIMEOUTS, "textbook", 10000000, 0.9},
    {"expire", HANDLES, "textbook", 1000, 1.2},
    {"expire", HANDLES, "textbook", 100000, 1.0},
    {"expire", HANDLES, "textbook", 1000000, 0.3},
    {"expire", HANDLES, "textbook", 10000000, 0.2},
    {"expire-24h", HANDLES, "textbook", 100000, 0.2},
    {"expire-24h", HANDLES, "textbook", 1000000, 0.6},
    {"expire-24h", HANDLES, "textbook", 10000000, 0.45},
    {"mixed", TIMEOUTS, "textbook", 1000, 1.2},
    {"mixed", TIMEOUTS, "textbook", 100000, 1.3},
    {"mixed", TIMEOUTS, "textbook", 1000000, 0.95},
    {"mixed", TIMEOUTS, "textbook", 10000000, 0.9},
    {"idle", HANDLES, "textbook", 1000, 0.1},
    {"idle", HANDLES, "textbook", 100000, 0.1},
    {"idle", HANDLES, "textbook", 1000000, 0.1},
    {"idle", HANDLES, "textbook", 10000000, 0.1},
    {"tail p99.99", HANDLES, "textbook", 100000, 0.1},
    {"tail p99.99", HANDLES, "textbook", 1000000, 0.06},
    {"tail p99.99", HANDLES, "textbook", 10000000, 0.03},
    {"tail longest", HANDLES, NULL, 1000000, 100e3},
    {"tail longest", HANDLES, NULL, 10000000, 300e3},
    {"bytes", HANDLES, NULL, 1000000, 48},
    {"bytes, churned", HANDLES, NULL, 1000000, 48},
    {"limited work", HANDLES, NULL, 1000000, 256},
    {"churn", HANDLES, "libev", 1000000, 0.2},
    {"churn", HANDLES, "libuv", 1000000, 0.2},
    {"churn", HANDLES, "libevent", 1000000, 0.2},
    {"expire", HANDLES, "libev", 1000000, 0.2},
    {"expire", HANDLES, "libuv", 1000000, 0.2},
    {"expire", HANDLES, "libevent", 1000000, 0.2},
};

static const size_t requirement_count = sizeof(requirements) / sizeof(requirements[0]);

/* ---- what to measure ---- */

static bool needs(const char *workload, const char *rival, uint32_t timer_count) {
    for (const struct requirement *r = requirements; r < requirements + requirement_count; r++) {
        if (r->timer_count != timer_count || strcmp(bench_row_named(r->row)->workload, workload) != 0) {
            continue;
        }
        if (strcmp(rival, r->verge) == 0 || (r->other != NULL && strcmp(r->other, rival) == 0)) {
            return true;
        }
    }
    return false;
}

void bench_required_select(const struct bench_options *options, struct bench_selection *selection) {
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < options->size_count; s++) {
            for (size_t r = 0; r < bench_rival_count; r++) {
                if (!needs(bench_workloads[w]->name, bench_rivals[r]->name, options->sizes[s])) {
                    selection->rivals[w][s] &= ~(1u << r);
                }
            }
        }
    }
}

/* ---- the verdict ---- */

static double measured(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                       const char *rival) {
    const struct bench_figure *figure =
        bench_figures_find(figures, row->workload, timer_count, BENCH_PAGES_HUGE, rival);
    return bench_figure_best(figure, row->metric);
}

static double measured_for(const struct bench_figures *figures, const struct requirement *requirement) {
    const struct bench_row *row = bench_row_named(requirement->row);
    double verge = measured(figures, row, requirement->timer_count, requirement->verge);
    if (requirement->other == NULL) {
        return verge;
    }
    double other = measured(figures, row, requirement->timer_count, requirement->other);
    return verge < 0 || other <= 0 ? -1 : verge / other;
}

static bool is_rival_built(const char *name) {
    for (size_t r = 0; r < bench_rival_count; r++) {
        if (strcmp(bench_rivals[r]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

size_t bench_required_check(const struct bench_figures *figures, bool filtered) {
    size_t missed_count = 0;
    printf("\n%-16s %9s %-15s %-12s %12s %12s\n", "", "timers", "", "against", "measured", "at most");
    for (const struct requirement *r = requirements; r < requirements + requirement_count; r++) {
        double value = measured_for(figures, r);
        if (value < 0 && filtered) {
            continue;
        }
        const char *verdict = value < 0 ? "NOT MEASURED" : value <= r->at_most ? "ok" : "MISSED";
        if (value < 0 && r->other != NULL && !is_rival_built(r->other)) {
            verdict = "not installed";
        }
        missed_count += verdict[0] == 'N' || verdict[0] == 'M';
        printf("%-16s %9u %-15s %-12s %12.3f %12.3f  %s\n", r->row, r->timer_count, r->verge,
               r->other != NULL ? r->other : bench_row_named(r->row)->unit, value, r->at_most, verdict);
    }
    printf("%zu missed\n", missed_count);
    return missed_count;
}
