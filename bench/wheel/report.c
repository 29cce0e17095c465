/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "rival.h"
#include "workload.h"

static void print_size(uint32_t timer_count) {
    unsigned exponent = 0;
    while (timer_count >= 10 && timer_count % 10 == 0) {
        timer_count /= 10;
        exponent++;
    }
    printf(" %4ue%u", timer_count, exponent);
}

static void print_value(double value) {
    if (value >= 1e6) {
        printf("%8.2fM", value / 1e6);
    } else if (value >= 1e4) {
        printf("%8.1fk", value / 1e3);
    } else {
        printf("%9.*f", value < 10 ? 2 : 1, value);
    }
}

static double best_of(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                      enum bench_pages pages, size_t rival) {
    const struct bench_figure *figure =
        bench_figures_find(figures, row->workload, timer_count, pages, bench_rivals[rival]->name);
    return bench_figure_best(figure, row->metric);
}

static bool has_any(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                    enum bench_pages pages) {
    for (size_t r = 0; r < bench_rival_count; r++) {
        if (best_of(figures, row, timer_count, pages, r) >= 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether a rival gets a column: only if it was run. */
static bool is_shown(const struct bench_figures *figures, enum bench_pages pages, size_t rival) {
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < figures->size_count; s++) {
            if (figures->cells[w][s][pages][rival] != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void print_head(const struct bench_figures *figures, enum bench_pages pages, const char *title) {
    printf("\n%s\n%-17s %6s", title, "", "timers");
    for (size_t r = 0; r < bench_rival_count; r++) {
        if (is_shown(figures, pages, r)) {
            printf(" %17s", bench_rivals[r]->name);
        }
    }
    putchar('\n');
}

/* Returns whether a ratio makes sense. A ratio of own bytes does not: some rivals hold next to nothing outside the
 * user's objects. */
static bool is_comparable(const struct bench_row *row) {
    return row->metric != BENCH_METRIC_OWN_BYTES && row->metric != BENCH_METRIC_WORK;
}

static void print_row(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                      enum bench_pages pages) {
    printf("%-17s", row->name);
    print_size(timer_count);
    double baseline = best_of(figures, row, timer_count, pages, 0);
    for (size_t r = 0; r < bench_rival_count; r++) {
        double value = best_of(figures, row, timer_count, pages, r);
        if (!is_shown(figures, pages, r)) {
            continue;
        }
        if (value < 0) {
            printf(" %17s", "-");
            continue;
        }
        putchar(' ');
        print_value(value);
        if (r > 0 && baseline > 0 && is_comparable(row)) {
            printf(" %6.*fx", value / baseline < 10 ? 2 : 1, value / baseline);
        } else {
            printf(" %7s", "");
        }
    }
    printf("  %s\n", row->unit);
}

static size_t verge_index(void) {
    size_t r = 0;
    while (r < bench_rival_count && strcmp(bench_rivals[r]->name, "verge") != 0) {
        r++;
    }
    return r;
}

static void print_verge_row(const struct bench_figures *figures, const struct bench_row *row, uint32_t timer_count,
                            enum bench_pages pages, double verge) {
    printf("%-17s", row->name);
    print_size(timer_count);
    for (size_t r = 0; r < bench_rival_count; r++) {
        double value = best_of(figures, row, timer_count, pages, r);
        if (!is_shown(figures, pages, r)) {
            continue;
        }
        if (value > 0) {
            printf(" %17.3f", verge / value);
        } else {
            printf(" %17s", "-");
        }
    }
    putchar('\n');
}

static void print_tables(const struct bench_figures *figures, enum bench_pages pages) {
    char title[120];
    snprintf(title, sizeof(title), "%s pages: best of the rounds, and its ratio to %s (lower is better)",
             bench_pages_name(pages), bench_rivals[0]->name);
    print_head(figures, pages, title);
    for (const struct bench_row *row = bench_rows; row < bench_rows + bench_row_count; row++) {
        for (size_t s = 0; s < figures->size_count; s++) {
            if (has_any(figures, row, figures->sizes[s], pages)) {
                print_row(figures, row, figures->sizes[s], pages);
            }
        }
    }
    if (verge_index() == bench_rival_count) {
        return;
    }
    snprintf(title, sizeof(title), "%s pages: verge divided by each of the others (lower is better)",
             bench_pages_name(pages));
    print_head(figures, pages, title);
    for (const struct bench_row *row = bench_rows; row < bench_rows + bench_row_count; row++) {
        for (size_t s = 0; s < figures->size_count; s++) {
            double verge = best_of(figures, row, figures->sizes[s], pages, verge_index());
            if (verge >= 0 && is_comparable(row)) {
                print_verge_row(figures, row, figures->sizes[s], pages, verge);
            }
        }
    }
}

void bench_report_print(const struct bench_figures *figures) {
    for (enum bench_pages pages = 0; pages < BENCH_PAGES_COUNT; pages++) {
        bool any = false;
        for (size_t i = 0; i < bench_row_count; i++) {
            for (size_t s = 0; s < figures->size_count; s++) {
                any = any || has_any(figures, &bench_rows[i], figures->sizes[s], pages);
            }
        }
        if (any) {
            print_tables(figures, pages);
        }
    }
}
