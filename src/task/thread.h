/* SPDX-License-Identifier: MIT */
/* task/thread.h - threads of the library that are no workers. */
#ifndef VERGE_SRC_TASK_THREAD_H
#define VERGE_SRC_TASK_THREAD_H

#include <pthread.h>

/* Signals are blocked in it, so that the handlers of the program run on threads of the program; all but those that a
 * thread has itself to blame for. -EAGAIN: it cannot be had. */
int verge__thread_create(pthread_t *ret_thread, void *(*function)(void *argument), void *argument);

#endif
