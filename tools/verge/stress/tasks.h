/* SPDX-License-Identifier: MIT */
/*
 * Tasks that read and write under deadlines, on workers that steal them from each other, come and go. The test consists
 * of rounds. Each round has a runtime of its own, and ends with an audit: so a long test has as many workers as it
 * likes, and memory that is lost in a round shows.
 */
#ifndef VERGE_TOOL_STRESS_TASKS_H
#define VERGE_TOOL_STRESS_TASKS_H

#include <stdint.h>

#include "output/audit.h"
#include "output/status.h"

struct tasks_options {
    uint64_t seed;
    uint64_t duration_ns;
    uint32_t worker_count_max; /* at a time */
};

struct tasks_result {
    const char *backend;
    uint64_t rounds, tasks;
    uint64_t reads, writes, bytes; /* bytes: that were read */
    uint64_t timeouts;
    uint64_t migrated; /* tasks that changed their worker */
    uint64_t joined, left;
    uint64_t resident_early, resident_late; /* bytes of the process, after the first quarter and at the end */
    struct audit audit;
};

/* A negative errno: it could not begin. Otherwise the audit says how it went. If a task hangs, the process ends: the
 * tasks are printed before that. */
int tasks_run(const struct tasks_options *options, struct status *status, struct tasks_result *ret_result);

#endif
