/* SPDX-License-Identifier: MIT */
/* task/pool.h - the threads of a runtime that call functions which block (blocking.c). */
#ifndef VERGE_SRC_TASK_POOL_H
#define VERGE_SRC_TASK_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "verge/task.h"

/* All under lock. */
typedef struct verge__blocking_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* a call was queued, or the pool closes */
    pthread_cond_t changed; /* a call was done for a thread that waits, or a thread has ended */
    verge__list queue;      /* calls, the oldest first */
    uint32_t queued_count;
    uint32_t thread_count;
    uint32_t idle_count; /* how many of them wait for work, or were woken for a queued call and have not taken it yet */
    bool is_closing;
    bool has_ended; /* the thread that ended last is to be joined */
    pthread_t ended;
} verge__blocking_pool;

void verge__blocking_init(verge__blocking_pool *pool);

/* Waits for the functions that still run. */
void verge__blocking_deinit(verge__blocking_pool *pool);

/* Calls a function that may block, on a thread of the pool, and waits for its end. awaits and awaited are for
 * verge__awaits. Not in virtual time. It waits for a thread until the deadline, that of a scope, or a cancellation:
 * -ETIMEDOUT, -ECANCELED. After these, after -ENOMEM, and after -EAGAIN (no thread can be started), the function was
 * not called, and will not be. A function that has begun is waited for. */
int verge__blocking_until(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                          uintptr_t awaited, uint64_t deadline_ns);

/* The same, but it waits for a thread whatever happens. */
int verge__blocking_regardless(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                               uintptr_t awaited);

#endif
