/* SPDX-License-Identifier: MIT */
/* What a stepped run is made of. */
#ifndef VERGE_TOOL_STEPPED_INTERNAL_H
#define VERGE_TOOL_STEPPED_INTERNAL_H

#include <verge/service.h>

#include "soak/faulty_allocator.h"
#include "stress/stepped.h"

enum {
    SUBJECT_COUNT = 16384,
    WORKER_COUNT_MAX = 32,
    PROBLEM_SIZE = 160,
};

enum subject_state { SUBJECT_FREE, SUBJECT_PENDING, SUBJECT_RUNNING };

/* A simple copy of a timer, from which the results of calls are known (stepped.h). */
struct subject {
    verge_timer timer;
    uint64_t earliest_ns, latest_ns; /* the deadline is in this range; the two differ only if the timer has a window */
    enum subject_state state;
    bool will_run_again; /* it is running, and was reset meanwhile */
    bool was_cancelled;  /* it is running, and was cancelled meanwhile */
};

struct stepped {
    const struct stepped_options *options;
    struct stepped_result *result;
    verge_service *service;
    verge_manual_clock clock;
    struct faulty_allocator memory;
    verge_worker *workers[WORKER_COUNT_MAX];
    size_t worker_count;
    struct subject subjects[SUBJECT_COUNT];
    uint64_t random;
    uint64_t precision_ns;
    uint64_t pace_ns;           /* the clock moves by less than this at a time, unless it jumps */
    uint64_t churn_one_in;      /* of so many chances to join or leave, about one is used */
    uint64_t cancels_in_16;     /* of 16 operations on timers, about so many are cancels */
    bool is_quiet;              /* callbacks do nothing but note that they ran */
    char problem[PROBLEM_SIZE]; /* the first problem that was found */
};

/* stepped_timers.c: operations on timers, from outside and in callbacks, and what their results must be. */
void stepped_start(struct stepped *stepped);
void stepped_act_on(struct stepped *stepped, struct subject *subject);
struct subject *stepped_any_subject(struct stepped *stepped);
void stepped_visit_pending(void *context, const verge_pending *pending);

/* stepped.c */
void stepped_note(struct stepped *stepped, uint64_t value); /* adds a value to the digest */
void stepped_fail(struct stepped *stepped, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t stepped_now(struct stepped *stepped);

#endif
