/* SPDX-License-Identifier: MIT */
/* support/spawn.h - spawns a task on a worker, in one line. */
#ifndef VERGE_TESTS_SUPPORT_SPAWN_H
#define VERGE_TESTS_SUPPORT_SPAWN_H

#include "verge/task.h"

/* runtime NULL: the runtime of the calling task. */
static inline int spawn_at(verge_runtime *runtime, uint32_t worker_id, verge_task_function function, void *argument,
                           verge_task **ret_task) {
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.runtime = runtime;
    options.worker_id = worker_id;
    options.function = function;
    options.argument = argument;
    return verge_spawn_with(&options, ret_task);
}

#endif
