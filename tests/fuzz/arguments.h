/* SPDX-License-Identifier: MIT */
/* What the tool asked its jobs for. The jobs are not run. */
#ifndef VERGE_TESTS_FUZZ_ARGUMENTS_H
#define VERGE_TESTS_FUZZ_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULE_COUNT_MAX = 12,
    BENCH_WORD_COUNT_MAX = 32,
};

enum job { NO_JOB, DEMO, STRESS, REPLAY, BENCH, LOOK, LIST };

struct asked {
    enum job job;
    uint64_t values[RULE_COUNT_MAX]; /* in the order of the rules of arguments.c */
    const char *file;                /* the name of a trace */
    const char *words[BENCH_WORD_COUNT_MAX];
    size_t word_count;
    bool is_json;
    bool is_swept; /* the job recommends a precision and a window */
};

extern struct asked asked;

#endif
