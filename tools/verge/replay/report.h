/* SPDX-License-Identifier: MIT */
/* Prints the results of replays of one trace: as a table with a column for each replay, or as JSON. */
#ifndef VERGE_TOOL_REPLAY_REPORT_H
#define VERGE_TOOL_REPLAY_REPORT_H

#include "replay/replay.h"
#include "replay/sweep.h"

extern const char *const replay_preset_names[]; /* index: verge_wheel_preset; ends with NULL */
extern const char *const replay_order_names[];  /* index: verge_order; ends with NULL */

struct replay_report {
    const char *file;
    const struct trace *trace;
    const struct replay_options *options; /* as many options as results */
    const struct replay_result *results;
    size_t count;
    const struct sweep *sweep; /* NULL: none was asked for */
};

void replay_report_table(const struct replay_report *report);
void replay_report_json(const struct replay_report *report);

#endif
