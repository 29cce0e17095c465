/* SPDX-License-Identifier: MIT */
/* The files that verge-bench writes to a folder. */
#ifndef VERGE_TOOL_BENCH_FIGURES_H
#define VERGE_TOOL_BENCH_FIGURES_H

#include <stdio.h>

/* Writes a CSV file (results.csv) as a JSON array: an object for each line, with the names of the first line as keys.
 * Returns 0 or a negative errno. */
int bench_figures_write_json(const char *file, FILE *out);

/* Removes the folder and the files in it. */
void bench_figures_remove(const char *folder);

#endif
