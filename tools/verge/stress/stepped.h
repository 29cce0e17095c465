/* SPDX-License-Identifier: MIT */
/*
 * A soak of the service that is the same every time: workers of ours on the manual clock, stepped by one thread. Timers
 * are started, reset and cancelled from outside and from callbacks; workers join and leave, also the last one, also in
 * a callback; the clock jumps, also backwards; memory runs out now and then. As nothing races, every verdict
 * is known beforehand, and a dumb copy of all timers says what has to happen.
 *
 * What happens depends on the options alone: the digest of two equal runs is equal.
 */
#ifndef VERGE_TOOL_STEPPED_H
#define VERGE_TOOL_STEPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "output/audit.h"
#include "output/status.h"

struct stepped_options {
    uint64_t seed;
    uint64_t worker_count_max;
    uint64_t step_count; /* 0: until the time is over */
    uint64_t duration_ns;
};

struct stepped_result {
    uint64_t steps;
    uint64_t digest; /* of all that happened */
    uint64_t started, fired, cancelled, handed_back;
    uint64_t reset, ended; /* ended: ran for the last time */
    uint64_t joined, left, jumps, refused;
    struct audit audit;
};

/* A negative errno: it could not begin. Otherwise the audit says how it went. */
int stepped_run(const struct stepped_options *options, struct status *status, struct stepped_result *ret_result);

#endif
