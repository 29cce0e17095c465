/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "workload.h"

const struct bench_row bench_rows[] = {
    {"connections", "connections", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"churn", "churn", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"churn-rand", "churn-rand", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"reset", "reset", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"expire", "expire", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"  schedule", "expire", "ns", BENCH_METRIC_SCHEDULE_NS, false},
    {"  expire", "expire", "ns", BENCH_METRIC_EXPIRE_NS, false},
    {"expire-24h", "expire-24h", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"mixed", "mixed", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"idle", "idle", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"tail p99", "tail", "ns", BENCH_METRIC_P99_NS, false},
    {"tail p99.9", "tail", "ns", BENCH_METRIC_P999_NS, false},
    {"tail p99.99", "tail", "ns", BENCH_METRIC_P9999_NS, true},
    {"tail longest", "tail", "ns", BENCH_METRIC_LONGEST_NS, true},
    {"burst", "burst", "ns", BENCH_METRIC_TOTAL_NS, true},
    {"burst longest", "burst", "ns", BENCH_METRIC_LONGEST_NS, false},
    {"bytes", "bytes", "bytes", BENCH_METRIC_OWN_BYTES, false},
    {"bytes + embedded", "bytes", "bytes", BENCH_METRIC_ALL_BYTES, false},
    {"bytes, churned", "churn-rand", "bytes", BENCH_METRIC_OWN_BYTES, false},
    {"bytes, mixed", "mixed", "bytes", BENCH_METRIC_OWN_BYTES, false},
    {"limited work", "limit", "entries", BENCH_METRIC_WORK, false},
};

const size_t bench_row_count = sizeof(bench_rows) / sizeof(bench_rows[0]);

const struct bench_row *bench_row_named(const char *name) {
    for (size_t i = 0; i < bench_row_count; i++) {
        if (strcmp(bench_rows[i].name, name) == 0) {
            return &bench_rows[i];
        }
    }
    return NULL;
}

static int compare_samples(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double per_unit(const struct bench_section *section) {
    if (section->unit_count == 0) {
        return -1;
    }
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < BENCH_SLICE_COUNT; i++) {
        sum_ns += section->slices_ns[i];
    }
    return (double)sum_ns / (double)section->unit_count;
}

static double section_metric(const struct bench_section *sections, enum bench_metric metric) {
    double first = per_unit(&sections[0]);
    double second = per_unit(&sections[1]);
    if (metric == BENCH_METRIC_SCHEDULE_NS) {
        return second < 0 ? -1 : first;
    }
    if (metric == BENCH_METRIC_EXPIRE_NS) {
        return second;
    }
    return second < 0 ? first : first + second;
}

/* Returns a quantile or the maximum of the samples, as the metric says. Sorts a copy. */
static double sample_metric(const uint32_t *samples_ns, uint32_t count, enum bench_metric metric) {
    if (count == 0) {
        return -1;
    }
    uint32_t *sorted = malloc(count * sizeof(*sorted));
    if (sorted == NULL) {
        bench_fail("no memory");
    }
    memcpy(sorted, samples_ns, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_samples);
    double share = metric == BENCH_METRIC_P99_NS     ? 0.99
                   : metric == BENCH_METRIC_P999_NS  ? 0.999
                   : metric == BENCH_METRIC_P9999_NS ? 0.9999
                                                     : 1;
    uint32_t index = (uint32_t)(share * count);
    double value = sorted[index < count ? index : count - 1];
    free(sorted);
    return value;
}

static bool is_section_metric(enum bench_metric metric) {
    return metric <= BENCH_METRIC_EXPIRE_NS;
}

static bool is_sample_metric(enum bench_metric metric) {
    return metric >= BENCH_METRIC_P99_NS && metric <= BENCH_METRIC_LONGEST_NS;
}

static double footprint_metric(const struct bench_figure *figure, enum bench_metric metric) {
    switch (metric) {
    case BENCH_METRIC_OWN_BYTES:
        return figure->own_bytes;
    case BENCH_METRIC_ALL_BYTES:
        return figure->own_bytes + figure->embedded_bytes;
    default:
        return figure->work_max > 0 ? figure->work_max : -1;
    }
}

static void keep_best_section(struct bench_section *best, const struct bench_section *section, bool first) {
    best->unit_count = section->unit_count;
    for (size_t i = 0; i < BENCH_SLICE_COUNT; i++) {
        if (first || section->slices_ns[i] < best->slices_ns[i]) {
            best->slices_ns[i] = section->slices_ns[i];
        }
    }
}

static void keep_best_samples(struct bench_figure *figure, const struct bench_result *result) {
    if (result->sample_count == 0) {
        return;
    }
    if (figure->samples_best_ns == NULL) {
        figure->samples_best_ns = malloc(result->sample_count * sizeof(uint32_t));
        if (figure->samples_best_ns == NULL) {
            bench_fail("no memory");
        }
        memset(figure->samples_best_ns, 0xff, result->sample_count * sizeof(uint32_t));
    }
    figure->sample_count = result->sample_count;
    for (uint32_t i = 0; i < result->sample_count; i++) {
        if (result->samples_ns[i] < figure->samples_best_ns[i]) {
            figure->samples_best_ns[i] = result->samples_ns[i];
        }
    }
}

void bench_figure_add(struct bench_figure *figure, const struct bench_result *result) {
    for (size_t i = 0; i < BENCH_SECTION_COUNT; i++) {
        keep_best_section(&figure->best[i], &result->sections[i], figure->round_count == 0);
    }
    keep_best_samples(figure, result);
    figure->fired_count = result->fired_count;
    if (result->lateness_ns_max > figure->lateness_ns_max) {
        figure->lateness_ns_max = result->lateness_ns_max;
    }
    figure->own_bytes = -1;
    if (result->pending_count > 0) {
        figure->own_bytes = (double)result->own_bytes / (double)result->pending_count;
    }
    figure->embedded_bytes = (double)result->embedded_bytes;
    figure->work_max = (double)result->work_max;
    for (enum bench_metric metric = 0; metric < BENCH_METRIC_COUNT; metric++) {
        double value = is_section_metric(metric)  ? section_metric(result->sections, metric)
                       : is_sample_metric(metric) ? sample_metric(result->samples_ns, result->sample_count, metric)
                                                  : footprint_metric(figure, metric);
        figure->rounds[metric][figure->round_count] = value;
    }
    figure->round_count++;
}

double bench_figure_best(const struct bench_figure *figure, enum bench_metric metric) {
    if (figure == NULL || figure->round_count == 0) {
        return -1;
    }
    if (is_section_metric(metric)) {
        return section_metric(figure->best, metric);
    }
    if (is_sample_metric(metric)) {
        return sample_metric(figure->samples_best_ns, figure->sample_count, metric);
    }
    return footprint_metric(figure, metric);
}

double bench_figure_median(const struct bench_figure *figure, enum bench_metric metric) {
    if (figure == NULL || figure->round_count == 0) {
        return -1;
    }
    double sorted[BENCH_ROUND_COUNT_MAX];
    memcpy(sorted, figure->rounds[metric], figure->round_count * sizeof(double));
    qsort(sorted, figure->round_count, sizeof(double), compare_doubles);
    return sorted[figure->round_count / 2];
}

static size_t size_index(const struct bench_figures *figures, uint32_t timer_count) {
    size_t i = 0;
    while (i < figures->size_count && figures->sizes[i] != timer_count) {
        i++;
    }
    return i;
}

const struct bench_figure *bench_figures_find(const struct bench_figures *figures, const char *workload,
                                              uint32_t timer_count, enum bench_pages pages, const char *rival) {
    size_t size = size_index(figures, timer_count);
    if (size == figures->size_count) {
        return NULL;
    }
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t r = 0; r < bench_rival_count; r++) {
            if (strcmp(bench_workloads[w]->name, workload) == 0 && strcmp(bench_rivals[r]->name, rival) == 0) {
                return figures->cells[w][size][pages][r];
            }
        }
    }
    return NULL;
}
