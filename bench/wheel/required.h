/* SPDX-License-Identifier: MIT */
/* bench/wheel/required.h - the figures that verge must reach; the one place where they are written is required.c. */
#ifndef BENCH_REQUIRED_H
#define BENCH_REQUIRED_H

#include "figures.h"
#include "options.h"
#include "runner.h"

/* Leaves in the selection only what the table needs. */
void bench_required_select(const struct bench_options *options, struct bench_selection *selection);

/* Prints measured against required; returns how many are missed. What was not measured is missed unless filtered. */
size_t bench_required_check(const struct bench_figures *figures, bool filtered);

#endif
