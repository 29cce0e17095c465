/* SPDX-License-Identifier: MIT */
/* A trace, replayed on a wheel. */
#ifndef VERGE_TOOL_REPLAY_H
#define VERGE_TOOL_REPLAY_H

#include <stdbool.h>

#include <verge/wheel_more.h>

#include "replay/trace.h"

struct replay_options {
    uint64_t precision_ns; /* a power of two: the preset's levels are moved to it; 0: as they are */
    uint64_t window_ns;    /* a timer may be this late in order to coalesce; a line `window` has its own */
    uint64_t limit;        /* timers that one poll returns, unless the line says otherwise */
    uint64_t work_limit;   /* 0: none */
    verge_wheel_preset preset;
    verge_order order;   /* if has_order */
    bool has_order;      /* otherwise as the preset has it */
    bool coarse;         /* or if the preset is */
    bool exact;          /* sleep until next_deadline and poll_exact, not next_wakeup and poll */
    bool recorded_polls; /* poll where the trace does; otherwise whenever the wheel says so */
};

struct replay_result {
    /* scheduled == fired + cancelled + pending */
    uint64_t scheduled, rescheduled, cancelled, fired, pending;
    uint64_t refused;    /* schedules and reschedules that this wheel cannot take */
    uint64_t gone;       /* cancels and reschedules whose timer had fired, or was refused */
    uint64_t wakeups;    /* times at which the loop polled */
    uint64_t in_vain;    /* of them, those that returned nothing */
    uint64_t polls;      /* a wake-up polls until there is no backlog */
    uint64_t early;      /* must be 0 */
    uint64_t bytes_peak; /* held from the allocator, at most */
    uint64_t took_ns;    /* real time, for all of the trace */
    uint64_t precision_ns;
    /* Lateness is the time at which a poll returned a timer, less the deadline that the trace has. */
    uint64_t late_p50_ns, late_p90_ns, late_p99_ns, late_p999_ns, late_max_ns;
    verge_wheel_stats stats; /* at the end */
    const char *broken;      /* a promise that was not kept, or NULL */
    char refusal[160];       /* of -EINVAL: which option is refused, and why */
};

/* -EINVAL: options that make no wheel, and ret_result->refusal says why; -ENOMEM. */
int replay_run(const struct trace *trace, const struct replay_options *options, struct replay_result *ret_result);

/* Of the times from earliest to latest the one with the most trailing zero bits, as the wheel's windows have it. */
uint64_t replay_roundest(uint64_t earliest_ns, uint64_t latest_ns);

#endif
