/* SPDX-License-Identifier: MIT */
/* base/thread.h - threads of the library that are no workers; how many threads the process has. */
#ifndef VERGE_SRC_BASE_THREAD_H
#define VERGE_SRC_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread in which signals are blocked, so that the program's handlers run on the program's own threads.
 * Signals for faults of the thread itself, such as SIGSEGV, are not blocked. -EAGAIN: the thread could not be
 * started. */
int verge__thread_create(pthread_t *ret_thread, void *(*function)(void *argument), void *argument);

/* Whether the process has exactly `count` threads. Threads of the kernel, for io_uring, do not count. May also return
 * false if a thread has just begun or ended. Returns false if /proc cannot be read. */
bool verge__thread_count_is(uint32_t count);

#endif
