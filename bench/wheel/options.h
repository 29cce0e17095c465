/* SPDX-License-Identifier: MIT */
/* bench/wheel/options.h - what to run. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum {
    BENCH_SIZE_COUNT_MAX = 8,
    BENCH_ROUND_COUNT_MAX = 16,
};

struct bench_options {
    bool quick;
    bool touch;
    bool filtered; /* the user asked for less than everything */
    bool pages[BENCH_PAGES_COUNT];
    unsigned round_count;
    size_t size_count;
    uint32_t sizes[BENCH_SIZE_COUNT_MAX]; /* the values of N */
    uint32_t workloads;                   /* bit mask by index in bench_workloads */
    uint32_t rivals;                      /* bit mask by index in bench_rivals */
    const char *out;                      /* directory for CSV and plots; NULL: none */
};

/* Ends the process if an option makes no sense. If `check` is set, the defaults are those of the check. */
void bench_options_parse(struct bench_options *options, int argument_count, char **arguments, bool check);

void bench_options_usage(void);

#endif
