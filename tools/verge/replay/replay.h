/* SPDX-License-Identifier: MIT */
/* Replays a trace on a wheel. */
#ifndef VERGE_TOOL_REPLAY_H
#define VERGE_TOOL_REPLAY_H

#include <stdbool.h>

#include <verge/wheel_more.h>

#include "replay/trace.h"

struct replay_options {
    uint64_t precision_ns; /* a power of two, to which the preset's levels are moved; 0: as in the preset */
    uint64_t window_ns;    /* by how much timers may fire later, to fire with others. A line `window` has its own */
    uint64_t limit;        /* timers that one poll returns at most */
    uint64_t work_limit;   /* 0: no limit */
    verge_wheel_preset preset;
    verge_order order; /* used if has_order is set; otherwise the order is that of the preset */
    bool has_order;
    bool coarse;         /* the wheel is coarse if this or the preset says so */
    bool exact;          /* sleep until next_deadline and poll_exact, not next_wakeup and poll */
    bool recorded_polls; /* poll when the trace does; otherwise when the wheel asks for it */
};

struct replay_result {
    /* started == fired + cancelled + pending */
    uint64_t started, reset, cancelled, fired, pending;
    uint64_t refused;    /* starts and resets that this wheel cannot take */
    uint64_t gone;       /* cancels and resets whose timer had ended already, or was refused */
    uint64_t wakeups;    /* times at which the loop polled */
    uint64_t in_vain;    /* wake-ups at which no timer came out */
    uint64_t polls;      /* at least one for each wake-up; more if there is a backlog */
    uint64_t early;      /* timers that fired early: must be 0 */
    uint64_t bytes_peak; /* the most that was allocated at one time */
    uint64_t took_ns;    /* real time, for all of the trace */
    uint64_t precision_ns;
    /* Lateness is the time at which a poll returned a timer, minus its deadline in the trace. */
    uint64_t late_p50_ns, late_p90_ns, late_p99_ns, late_p999_ns, late_max_ns;
    verge_wheel_stats stats; /* at the end */
    const char *broken;      /* a promise that was not kept, or NULL */
    char refusal[160];       /* after -EINVAL: which option is refused, and why */
};

/* Returns 0, -ENOMEM, or -EINVAL if the wheel's options are refused; then ret_result->refusal says why. */
int replay_run(const struct trace *trace, const struct replay_options *options, struct replay_result *ret_result);

/* Returns the time from earliest to latest that has the most trailing zero bits. A wheel also chooses this time as the
 * deadline of a timer with a window. */
uint64_t replay_roundest(uint64_t earliest_ns, uint64_t latest_ns);

#endif
