/* SPDX-License-Identifier: MIT */
/*
 * Tasks that read and write under deadlines, on workers that steal tasks from each other, join and leave. The test
 * consists of rounds. Each round has a runtime of its own, and at the end of the round all memory of the runtime must
 * be freed. So a long test may have any number of workers, and memory that a round leaks is found.
 */
#ifndef VERGE_TOOL_STRESS_TASKS_H
#define VERGE_TOOL_STRESS_TASKS_H

#include <stdint.h>

#include "output/audit.h"
#include "output/status.h"

struct tasks_options {
    uint64_t seed;
    uint64_t duration_ns;
    uint32_t worker_count_max; /* how many workers there are at most at one time */
};

struct tasks_result {
    const char *backend;
    uint64_t rounds, tasks;
    uint64_t reads, writes, bytes; /* bytes: how many bytes were read */
    uint64_t timeouts;
    uint64_t migrated; /* tasks that changed their worker */
    uint64_t joined, left;
    uint64_t resident_early, resident_late; /* bytes of the process, after the first quarter and at the end */
    struct audit audit;
};

/* Returns a negative errno if a round could not be run. Otherwise returns 0, and the audit has the result. If a task
 * that reads hangs, all tasks are printed, and the process ends. */
int tasks_run(const struct tasks_options *options, struct status *status, struct tasks_result *ret_result);

#endif
