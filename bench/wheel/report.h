/* SPDX-License-Identifier: MIT */
/* bench/wheel/report.h - tables on the terminal, CSV, plots. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "figures.h"

/* Prints absolute figures with the ratio to the baseline, and the ratio of verge to each rival. */
void bench_report_print(const struct bench_figures *figures);

/* Writes DIR/results.csv, with one line for each figure. */
void bench_report_csv(const struct bench_figures *figures, const char *directory);

/* Writes DIR/<row>.svg with gnuplot for each row that is plotted: its figures on huge pages. If gnuplot is missing or
 * fails, says so. */
void bench_report_plot(const struct bench_figures *figures, const char *directory);

#endif
