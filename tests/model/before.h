/* SPDX-License-Identifier: MIT */
/* model/before.h - what a wheel was like before a call: a call that fails changes nothing. */
#ifndef VERGE_TESTS_MODEL_BEFORE_H
#define VERGE_TESTS_MODEL_BEFORE_H

#include "model/run.h"

struct before {
    verge_wheel_stats stats;
    uint64_t calls;
    uint64_t releases;
    uint64_t failures;
    bool was_narrow; /* the first poll with many timers makes the wheel wide */
    bool backlog;
};

struct before before_call(const struct run *run);

/* Nothing has changed since. */
void before_unchanged(struct run *run, const struct before *before);

void before_not_allocated(struct run *run, const struct before *before);

/* The call may have given back nodes, and what their generations were. */
void before_gave_back(struct run *run, const struct before *before);

/* Whether a call had reason to say -ENOMEM. */
bool before_ran_out(const struct run *run, const struct before *before, int error);

#endif
