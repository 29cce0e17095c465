/* SPDX-License-Identifier: MIT */
/* bench/wheel/report.h - tables on the terminal, CSV, plots. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "figures.h"

/* Absolute figures with the ratio to the baseline, and the ratio of verge to each rival. */
void bench_report_print(const struct bench_figures *figures);

/* DIR/results.csv: one line a figure. */
void bench_report_csv(const struct bench_figures *figures, const char *directory);

/* DIR/<row>.svg, by gnuplot; says so if there is none. */
void bench_report_plot(const struct bench_figures *figures, const char *directory);

#endif
