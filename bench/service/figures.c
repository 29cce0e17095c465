/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t id) {
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t thread_cpu_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t process_cpu_ns(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t wall_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

void must(bool holds, const char *what) {
    if (!holds) {
        (void)fprintf(stderr, "verge-bench-service: %s\n", what);
        exit(1);
    }
}

void heading(const char *text) {
    (void)printf("\n%s\n", text);
    (void)fflush(stdout);
}

void figure(const char *name, double value, const char *unit) {
    (void)printf("  %-58s %12.*f %s\n", name, value < 100 ? 2 : 0, value, unit);
    (void)fflush(stdout);
}

static void bound(struct plan *plan, const char *name, double value, const char *relation, double limit, bool is_kept) {
    (void)printf("  %-58s %12.3f    %s %g: %s\n", name, value, relation, limit, is_kept ? "kept" : "MISSED");
    (void)fflush(stdout);
    plan->missed += !is_kept;
}

void bound_at_most(struct plan *plan, const char *name, double value, double limit) {
    bound(plan, name, value, "at most", limit, value <= limit);
}

void bound_at_least(struct plan *plan, const char *name, double value, double limit) {
    bound(plan, name, value, "at least", limit, value >= limit);
}
