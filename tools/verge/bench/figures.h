/* SPDX-License-Identifier: MIT */
/* What verge-bench leaves in a folder. */
#ifndef VERGE_TOOL_BENCH_FIGURES_H
#define VERGE_TOOL_BENCH_FIGURES_H

#include <stdio.h>

/* Its results.csv as a JSON array, an object a line, keyed by the names in the first line. A negative errno. */
int bench_figures_write_json(const char *file, FILE *out);

/* The folder and the files in it. */
void bench_figures_remove(const char *folder);

#endif
