/* SPDX-License-Identifier: MIT */
/* bench/wheel/required.h - the figures that verge must reach. They are written only in required.c. */
#ifndef BENCH_REQUIRED_H
#define BENCH_REQUIRED_H

#include "figures.h"
#include "options.h"
#include "runner.h"

/* Removes from the selection the cases that the table of requirements does not need. */
void bench_required_select(const struct bench_options *options, struct bench_selection *selection);

/* Prints measured and required figures. Returns whether all are reached. A figure that was not measured is missed,
 * unless `filtered` is set; but at least one must have been measured. */
bool bench_required_check(const struct bench_figures *figures, bool filtered);

#endif
