/* SPDX-License-Identifier: MIT */
/*
 * Recommends a precision and a window. It replays the trace with the default of a wheel, and with several settings that
 * keep the lateness of timers within a limit. It recommends a setting within the limit that has the fewest wake-ups, or
 * about 1 % more.
 */
#ifndef VERGE_TOOL_REPLAY_SWEEP_H
#define VERGE_TOOL_REPLAY_SWEEP_H

#include "output/json.h"
#include "replay/replay.h"

enum { SWEEP_COUNT_MAX = 16 };

struct sweep {
    uint64_t late_ns;             /* the limit: no timer may be later */
    bool is_late_given;           /* false: late_ns follows from the durations of the timers */
    uint64_t short_ns, median_ns; /* a tenth of the durations is below short_ns, half below median_ns; 0: no timers */
    size_t count;                 /* how many settings there are; the first is the default of a wheel, for comparison */
    struct setting {
        uint64_t precision_ns, window_ns;
        struct replay_result result;
    } settings[SWEEP_COUNT_MAX];
    size_t best; /* 0, the default, if no other setting is better, or no setting keeps to the limit */
};

/* If late_ns is 0, the limit is 5 % of short_ns, but at least 100 us. Returns 0 or -ENOMEM. */
int sweep_run(const struct trace *trace, const struct replay_options *options, uint64_t late_ns,
              struct sweep *ret_sweep);

/* Returns a promise that was broken in one of the replays, or NULL. */
const char *sweep_broken(const struct sweep *sweep);

void sweep_print(const struct sweep *sweep);
void sweep_write_json(const struct sweep *sweep, struct json *json); /* writes a field into the open object */

#endif
