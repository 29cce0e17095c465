/* SPDX-License-Identifier: MIT */
/*
 * A long test of the service that can be repeated exactly: one thread steps all workers, on a manual clock. Timers are
 * started, reset and cancelled, from outside and in callbacks. Workers join and leave, even the last one, and even in a
 * callback. The clock jumps, also backwards. Memory runs out now and then. As nothing races, the result of every call
 * is known beforehand, from a simple copy of all timers.
 *
 * All events depend on the options alone: two runs with the same options and the same number of steps have the same
 * digest.
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
    uint64_t step_count; /* 0: until duration_ns is over */
    uint64_t duration_ns;
};

struct stepped_result {
    uint64_t steps;
    uint64_t digest; /* a hash of all events */
    uint64_t started, fired, cancelled, handed_back;
    uint64_t reset, ended; /* ended: how many timers ran for the last time */
    uint64_t joined, left, jumps, refused;
    struct audit audit;
};

/* Returns a negative errno if the run could not begin. Otherwise returns 0, and the audit has the result. */
int stepped_run(const struct stepped_options *options, struct status *status, struct stepped_result *ret_result);

#endif
