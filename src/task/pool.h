/* SPDX-License-Identifier: MIT */
/* task/pool.h - the threads of a runtime that call functions which block (blocking.c). */
#ifndef VERGE_SRC_TASK_POOL_H
#define VERGE_SRC_TASK_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "verge/task.h"

/* All fields are protected by `lock`. */
typedef struct verge__blocking_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* calls are queued, or the pool closes */
    pthread_cond_t changed; /* a call with `stops_all` (blocking.c) is done, or a thread has ended */
    verge__list queue;      /* calls, the oldest first */
    uint32_t queued_count;
    uint32_t thread_count;
    uint32_t idle_count; /* how many threads wait for `work`, or were woken and do not have the lock yet */
    bool is_closing;
    bool has_ended;  /* `ended` is set, and was not joined */
    pthread_t ended; /* the thread that ended last */
} verge__blocking_pool;

void verge__blocking_init(verge__blocking_pool *pool);

/* Waits for the functions that still run. */
void verge__blocking_deinit(verge__blocking_pool *pool);

/* Calls a function that may block, on a thread of the pool, and waits for its end. Returns 0 if the function has
 * returned. awaits and awaited are for verge__awaits. Must not be called in virtual time. If all threads are busy, the
 * call waits for one until deadline_ns, until an earlier deadline that the task has pushed (-ETIMEDOUT), or until the
 * task is cancelled (-ECANCELED). After one of these errors, -ENOMEM, -EINVAL (verge__refuses) or -EAGAIN (no thread
 * can be started), the function was not called, and will not be. After -EOWNERDEAD it was called, and has ended its
 * thread. Once the function has begun, the call waits for its end. The caller counts -ETIMEDOUT
 * (verge__count_if_timeout). */
int verge__blocking_until(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                          uintptr_t awaited, uint64_t deadline_ns);

/* As verge__blocking_until, but neither a deadline nor a cancellation ends the wait for a thread. */
int verge__blocking_regardless(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                               uintptr_t awaited);

#endif
