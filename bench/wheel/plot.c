/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "report.h"

/* Makes the name of a file of the name of a row: "tail p99.99" becomes "tail-p99-99". */
static void file_name_of(const struct bench_row *row, char *ret_name, size_t size) {
    size_t i = 0;
    for (; row->name[i] != '\0' && i + 1 < size; i++) {
        ret_name[i] = isalnum((unsigned char)row->name[i]) ? row->name[i] : '-';
    }
    ret_name[i] = '\0';
}

static unsigned write_data(FILE *gnuplot, const struct bench_figures *figures, const struct bench_row *row,
                           const char *rival) {
    unsigned count = 0;
    for (size_t s = 0; s < figures->size_count; s++) {
        const struct bench_figure *figure =
            bench_figures_find(figures, row->workload, figures->sizes[s], BENCH_PAGES_HUGE, rival);
        double value = bench_figure_best(figure, row->metric);
        if (value > 0 && gnuplot != NULL) {
            fprintf(gnuplot, "%u %.3f\n", figures->sizes[s], value);
        }
        count += value > 0;
    }
    return count;
}

static void plot_row(FILE *gnuplot, const struct bench_figures *figures, const struct bench_row *row,
                     const char *directory) {
    unsigned curve_count = 0;
    for (size_t r = 0; r < bench_rival_count; r++) {
        if (write_data(NULL, figures, row, bench_rivals[r]->name) == 0) {
            continue;
        }
        fprintf(gnuplot, "$data%zu << EOD\n", r);
        write_data(gnuplot, figures, row, bench_rivals[r]->name);
        fputs("EOD\n", gnuplot);
        curve_count++;
    }
    if (curve_count == 0) {
        return;
    }
    char name[64];
    file_name_of(row, name, sizeof(name));
    fprintf(gnuplot, "set output '%s/%s.svg'\nset title '%s'\nset ylabel '%s'\nplot ", directory, name, row->name,
            row->unit);
    for (size_t r = 0; r < bench_rival_count; r++) {
        if (write_data(NULL, figures, row, bench_rivals[r]->name) != 0) {
            fprintf(gnuplot, "$data%zu using 1:2 with linespoints lw 2 title '%s', ", r, bench_rivals[r]->name);
        }
    }
    fputs("\nset output\n", gnuplot);
}

static void write_script(FILE *gnuplot, const struct bench_figures *figures, const char *directory) {
    fputs("set terminal svg size 720,440 background rgb 'white'\nset logscale xy\nset format x '10^{%T}'\n"
          "set xlabel 'timers'\nset key outside right\nset grid\n",
          gnuplot);
    for (size_t i = 0; i < bench_row_count; i++) {
        if (bench_rows[i].plotted) {
            plot_row(gnuplot, figures, &bench_rows[i], directory);
        }
    }
}

static int run_gnuplot(char *script_path) {
    char *arguments[] = {"gnuplot", script_path, NULL};
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0) {
        return -1;
    }
    waitpid(child, &status, 0);
    return status;
}

void bench_report_plot(const struct bench_figures *figures, const char *directory) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/plots.gnuplot", directory);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bench_fail("cannot write %s", path);
    }
    write_script(file, figures, directory);
    if (fclose(file) != 0) {
        bench_fail("cannot write %s", path);
    }
    if (run_gnuplot(path) != 0) {
        fprintf(stderr, "verge-bench: no plots: gnuplot is missing or failed on %s\n", path);
    }
}
