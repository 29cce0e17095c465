/* SPDX-License-Identifier: MIT */
/* task/dump.h - what looks at tasks while they run: dumps, and a thread that watches. */
#ifndef VERGE_SRC_TASK_DUMP_H
#define VERGE_SRC_TASK_DUMP_H

#include "task/task.h"

/* Copies the name of a task, which may be empty. The caller keeps the task from ending meanwhile. */
void verge__copy_name(verge_task *task, char name[VERGE_TASK_NAME_SIZE]);

/* Starts a thread if the options ask for it: it reports tasks that are stuck (stuck_after_ns), or dumps all tasks when
 * a signal comes (dump_signal), or both. */
int verge__observe_begin(verge_runtime *runtime);

/* Ends that thread, and the handling of the signal. */
void verge__observe_end(verge_runtime *runtime);

#endif
