/* SPDX-License-Identifier: MIT */
/* The program verge-bench: where it is, and how it is run. */
#ifndef VERGE_TOOL_BENCH_PROGRAM_H
#define VERGE_TOOL_BENCH_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Named by VERGE_BENCH, beside this program, in the build tree, or in PATH. */
bool bench_program_find(char path[PATH_MAX]);

/* Becomes that program. Returns only if it cannot: a negative errno. */
int bench_program_become(char **arguments);

/* Its exit status, EXIT_FAILURE if it was ended otherwise, or a negative errno. Its stdout is our stderr. */
int bench_program_run(char **arguments);

#endif
