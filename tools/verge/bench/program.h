/* SPDX-License-Identifier: MIT */
/* The program verge-bench: where it is, and how it is run. */
#ifndef VERGE_TOOL_BENCH_PROGRAM_H
#define VERGE_TOOL_BENCH_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Looks for the program. If the environment variable VERGE_BENCH is set, looks only there; otherwise beside this
 * program, in the build tree, and in PATH. */
bool bench_program_find(char path[PATH_MAX]);

/* Replaces this process by the program (execv). Returns only if that fails: a negative errno. */
int bench_program_become(char **arguments);

/* Runs the program, with our stderr as its stdout. Returns its exit status, EXIT_FAILURE if a signal ended it, or a
 * negative errno. */
int bench_program_run(char **arguments);

#endif
