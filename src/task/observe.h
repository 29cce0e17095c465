/* SPDX-License-Identifier: MIT */
/* task/observe.h - what verge/scope.h sees of a runtime. Scope includes no other header of this folder. */
#ifndef VERGE_SRC_TASK_OBSERVE_H
#define VERGE_SRC_TASK_OBSERVE_H

#include "verge/service.h"
#include "verge/task.h"

/* ---- stats.c ---- */

/* The service that has the timers of its tasks. */
verge_service *verge__runtime_service(const verge_runtime *runtime);

/* How many tasks there are, were spawned, switched and so on: what verge_runtime_get_stats tells, but nothing of
 * stacks. To look at every page of every stack is too much for four times a second. */
void verge__runtime_count(const verge_runtime *runtime, verge_runtime_stats *ret_stats);

#endif
