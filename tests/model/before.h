/* SPDX-License-Identifier: MIT */
/* model/before.h - the state of a wheel before a call, to check that a call which fails changes nothing. */
#ifndef VERGE_TESTS_MODEL_BEFORE_H
#define VERGE_TESTS_MODEL_BEFORE_H

#include "model/run.h"

struct before {
    verge_wheel_stats stats;
    uint64_t calls;
    uint64_t releases;
    uint64_t failures;
    bool was_narrow; /* its calendar was narrow: the first poll with many timers makes it wide */
    bool backlog;
};

struct before before_call(const struct run *run);

/* Checks that the statistics are those of `before`. If an allocation failed, there may be more nodes and bytes. */
void before_unchanged(struct run *run, const struct before *before);

void before_not_allocated(struct run *run, const struct before *before);

/* Notes whether the call gave memory back. After that, the wheel may take a number that was never a handle for an old
 * handle. */
void before_gave_back(struct run *run, const struct before *before);

/* Whether a call returned -ENOMEM, and an allocation has failed in it. */
bool before_ran_out(const struct run *run, const struct before *before, int error);

#endif
