/* SPDX-License-Identifier: MIT */
/* task/observe.h - what verge/scope.h sees of a runtime. Scope includes no other header of this folder. */
#ifndef VERGE_SRC_TASK_OBSERVE_H
#define VERGE_SRC_TASK_OBSERVE_H

#include "verge/service.h"
#include "verge/task.h"

/* ---- dump.c ---- */

/* A function that gets the text of a dump in pieces. If it does not return 0, verge__dump ends and returns the same. */
typedef int (*verge__dump_writer)(void *context, const char *text, size_t size);

/* Passes the text of verge_runtime_dump to the writer. Returns -ECHILD, -ENOMEM, or what the writer has returned. */
int verge__dump(verge_runtime *runtime, verge__dump_writer write, void *context);

/* ---- stats.c ---- */

/* The service that has the timers of the runtime's tasks. */
verge_service *verge__runtime_service(const verge_runtime *runtime);

/* As verge_runtime_get_stats, but without stacks and backend. Scope calls this function four times a second. That is
 * too often to look at every page of every stack. */
void verge__runtime_count(const verge_runtime *runtime, verge_runtime_stats *ret_stats);

#endif
