/* SPDX-License-Identifier: MIT */
/* task/current.h - which runner, task or plain thread is calling. */
#ifndef VERGE_SRC_TASK_CURRENT_H
#define VERGE_SRC_TASK_CURRENT_H

#include <stdbool.h>

#include "task/task.h"

/* Returns the runner whose loop the calling thread is in; NULL: none. It is never inlined: it reads a thread-local
 * variable, and a task may wake up on another thread (current.c). */
verge__runner *verge__current_runner(void);

/* The calling task; NULL: the caller is not a task. */
verge_task *verge__current_task(void);

/* Notes that from now on the calling thread is in the loop of this runner; NULL: in no loop. */
void verge__set_current_runner(verge__runner *runner);

/* Makes verge__current_runner return NULL in the child of each later fork. Returns 0 or -ENOMEM. */
int verge__forget_runner_in_child(void);

/* What stands for the calling plain thread as the owner of a mutex. It is odd, so it equals the address of no task. */
void *verge__current_thread(void);

/* The calling task or thread, as the owner of a mutex. */
static inline void *verge__owner_of(verge_task *self) {
    return self != NULL ? (void *)self : verge__current_thread();
}

/* Whether the owner of a mutex is a plain thread. */
static inline bool verge__is_thread(const void *owner) {
    return ((uintptr_t)owner & 1) != 0;
}

#endif
