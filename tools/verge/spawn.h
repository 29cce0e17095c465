/* SPDX-License-Identifier: MIT */
/* spawn.h - spawns a task of the calling task's runtime on the next worker, in turn. */
#ifndef VERGE_TOOL_SPAWN_H
#define VERGE_TOOL_SPAWN_H

#include <verge/task.h>

static inline int spawn_anywhere(verge_task_function function, void *argument, verge_task **ret_task) {
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.worker_id = VERGE_WORKER_ANY;
    options.function = function;
    options.argument = argument;
    return verge_spawn_with(&options, ret_task);
}

#endif
