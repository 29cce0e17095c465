/* SPDX-License-Identifier: MIT */
/*
 * bench/service/figures.h - what the cases of the service's benchmarks share: a stop-watch, the median of rounds, lines
 * of the table, bounds.
 */
#ifndef BENCH_SERVICE_FIGURES_H
#define BENCH_SERVICE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROUNDS_MAX = 15 };

struct plan {
    bool is_quick;
    unsigned missed; /* how many bounds were not kept */
};

uint64_t thread_cpu_ns(void);  /* processor time of this thread */
uint64_t process_cpu_ns(void); /* processor time of the process */
uint64_t wall_ns(void);        /* real time */

double median(double *values, size_t count);

/* Ends the program if the condition does not hold: then the measurement makes no sense. */
void must(bool holds, const char *what);

void heading(const char *text);
void figure(const char *name, double value, const char *unit);

/* Prints a figure with a bound, and counts bounds that are not kept. */
void bound_at_most(struct plan *plan, const char *name, double value, double limit);
void bound_at_least(struct plan *plan, const char *name, double value, double limit);

/* The cases. */
void measure_pairs(struct plan *plan);
void measure_idle(struct plan *plan);
void measure_lateness(struct plan *plan);
void measure_moves(struct plan *plan);

#endif
