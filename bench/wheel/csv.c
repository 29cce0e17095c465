/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "clock.h"
#include "fail.h"
#include "report.h"

static const char *name_without_indent(const char *name) {
    while (*name == ' ') {
        name++;
    }
    return name;
}

static void write_figure(FILE *file, const struct bench_row *row, uint32_t timer_count, enum bench_pages pages,
                         const char *rival, const struct bench_figure *figure, double baseline) {
    double best = bench_figure_best(figure, row->metric);
    if (best < 0) {
        return;
    }
    bool part = name_without_indent(row->name) != row->name;
    fprintf(file, "%s,%s%s,%u,%s,%s,%.3f,%.3f,%s,", row->workload, part ? "part: " : "", name_without_indent(row->name),
            timer_count, bench_pages_name(pages), rival, best, bench_figure_median(figure, row->metric), row->unit);
    if (baseline > 0) {
        fprintf(file, "%.4f", best / baseline);
    }
    fprintf(file, ",%u,%llu,%.2f\n", figure->round_count, (unsigned long long)figure->fired_count,
            (double)figure->lateness_ns_max / (double)BENCH_TICK_NS);
}

static void write_row(FILE *file, const struct bench_figures *figures, const struct bench_row *row,
                      uint32_t timer_count, enum bench_pages pages) {
    const struct bench_figure *baseline =
        bench_figures_find(figures, row->workload, timer_count, pages, bench_rivals[0]->name);
    for (size_t r = 0; r < bench_rival_count; r++) {
        const char *rival = bench_rivals[r]->name;
        const struct bench_figure *figure = bench_figures_find(figures, row->workload, timer_count, pages, rival);
        write_figure(file, row, timer_count, pages, rival, figure, bench_figure_best(baseline, row->metric));
    }
}

void bench_report_csv(const struct bench_figures *figures, const char *directory) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/results.csv", directory);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bench_fail("cannot write %s", path);
    }
    fputs("workload,figure,timers,pages,rival,best,median,unit,ratio_to_baseline,rounds,fired,lateness_ticks_max\n",
          file);
    for (size_t i = 0; i < bench_row_count; i++) {
        for (size_t s = 0; s < figures->size_count; s++) {
            for (enum bench_pages pages = 0; pages < BENCH_PAGES_COUNT; pages++) {
                write_row(file, figures, &bench_rows[i], figures->sizes[s], pages);
            }
        }
    }
    if (fclose(file) != 0) {
        bench_fail("cannot write %s", path);
    }
}
