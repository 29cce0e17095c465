/* SPDX-License-Identifier: MIT */
/*
 * bench/service/figures.h - what a case of the service's benchmarks needs: a stop-watch, the median of rounds, a line
 * in the table, a bound to be kept.
 */
#ifndef BENCH_SERVICE_FIGURES_H
#define BENCH_SERVICE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROUNDS_MAX = 15 };

struct plan {
    bool is_quick;
    unsigned missed; /* bounds that were not kept */
};

/* Processor time of this thread, of the process; real time. In ns. */
uint64_t thread_cpu_ns(void);
uint64_t process_cpu_ns(void);
uint64_t wall_ns(void);

double median(double *values, size_t count);

/* Ends the program if something the measurement stands on did not happen. */
void must(bool holds, const char *what);

void heading(const char *text);
void figure(const char *name, double value, const char *unit);

/* A figure with a bound; "at most" or "at least". */
void bound_at_most(struct plan *plan, const char *name, double value, double limit);
void bound_at_least(struct plan *plan, const char *name, double value, double limit);

/* The cases. */
void measure_pairs(struct plan *plan);
void measure_idle(struct plan *plan);
void measure_lateness(struct plan *plan);
void measure_moves(struct plan *plan);

#endif
