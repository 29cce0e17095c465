/* SPDX-License-Identifier: MIT */
/*
 * A million timers of one wheel: scheduled (durations log-uniform from 1 ms to 1 hour), a part reset, a part cancelled,
 * the rest expired against simulated time: the loop sleeps until verge_wheel_next_wakeup by setting its clock to it.
 * What the wheel is given and what it returns is kept beside it and compared afterwards.
 *
 * Only the calls of the wheel are timed. Random numbers are drawn beforehand, everything is compared afterwards.
 */
#ifndef VERGE_TOOL_DEMO_H
#define VERGE_TOOL_DEMO_H

#include <verge/histogram.h>
#include <verge/wheel.h>

#include "output/audit.h"
#include "output/status.h"

enum { DEMO_TIMERS_DEFAULT = 1000000, DEMO_TIMERS_MAX = 50000000 };

/* One kind of operation: how many, and how long they took together. */
struct demo_rate {
    size_t count;
    uint64_t took_ns;
};

/* What happened to the timers, timer by timer. */
struct demo {
    size_t timers;
    uint64_t *deadline_ns; /* by timer: what it was scheduled for, or was moved to */
    verge_timer *handle;
    uint8_t *cancelled;
    uint8_t *expired;
    uint32_t *order; /* the timers, shuffled: order[reset_from .. reset_to) are reset, and so on */
    size_t reset_from, reset_to;
    size_t cancel_from, cancel_to;
    uint64_t *moved_ns; /* by place in `order`: where resets move to */
    verge_expiry *returned;
    uint64_t *returned_at_ns;
    size_t returned_count;
    size_t wakeups;
    struct demo_rate schedule, reset, cancel, expire;
    uint64_t bytes_full, bytes_end;
    uint64_t precision_ns;
    const char *broken;       /* what verge_wheel_check found first, or a call that failed */
    verge_histogram lateness; /* of those that were not early */
    struct audit audit;
};

/* A negative errno: it could not be run at all. Otherwise the audit says how it went. */
int demo_run(struct demo *demo, size_t timers, uint64_t seed, struct status *status);

void demo_free(struct demo *demo);

#endif
