/* SPDX-License-Identifier: MIT */
/* scope/tasks.h - the figures that scope needs of a runtime. verge_runtime_get_stats would look at every page of every
 * stack, which is too much for four times a second. */
#ifndef VERGE_SRC_SCOPE_TASKS_H
#define VERGE_SRC_SCOPE_TASKS_H

#include "verge/service.h"
#include "verge/task.h"

typedef struct verge__task_counts {
    uint64_t tasks, spawned, switches, operations, timeouts;
} verge__task_counts;

/* The service that has the timers of its tasks. */
verge_service *verge__runtime_service(const verge_runtime *runtime);

void verge__runtime_count(verge_runtime *runtime, verge__task_counts *ret_counts);

#endif
