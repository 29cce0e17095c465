/* SPDX-License-Identifier: MIT */
/* task/thread.h - threads of the library that are no workers; which threads there are. */
#ifndef VERGE_SRC_TASK_THREAD_H
#define VERGE_SRC_TASK_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Signals are blocked in it, so that the handlers of the program run on threads of the program; all but those that a
 * thread has itself to blame for. -EAGAIN: it cannot be had. */
int verge__thread_create(pthread_t *ret_thread, void *(*function)(void *argument), void *argument);

/* True: the process has that many threads, not counting those that the kernel has in it for io_uring. False: it has
 * others, or it had a moment ago, or /proc cannot be read. */
bool verge__thread_count_is(uint32_t count);

#endif
