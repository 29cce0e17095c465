/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions that block, on threads of a pool.
 *
 *     QUEUED ---a thread takes it---> RUNNING ---the function has returned, or ended the thread---> DONE
 *        |                               '---its task gives up: task is NULL, and the thread calls abandon at the end
 *        |---its task gives up: the call is taken out of the queue
 *        '---the last thread ends, and no other can be started---> DONE, error is -EAGAIN
 *
 *   B1  The link, task and stage of a call are under the lock of the pool. result and error are written before the call
 *       is DONE, and read after that. The other fields do not change once the call is queued. The thread that makes a
 *       call DONE claims its task before it releases the lock (J2). A task that was woken for another reason looks at
 *       the stage under the lock.
 *   B2  A call that cannot be abandoned is a local variable of its task, which waits until the call is DONE or out of
 *       the queue. A call that can be abandoned is on the heap. It is freed by its task or, if the task gave up while
 *       the function was running, by the thread.
 *   B3  When a call is put into the queue, an idle thread is woken or a new thread is started. If neither can be
 *       done, but there are threads, all of them are busy. Each looks into the queue again before it waits or ends, so
 *       one of them finds the call.
 *   B4  A thread that ends stores its handle in `ended`, and joins the thread whose handle was there before. So each
 *       thread ends after the one before it, and verge__blocking_deinit joins the last: then all have ended.
 */
#define _GNU_SOURCE

#include "verge/blocking.h"

#include <errno.h>
#include <time.h>

#include "base/assert.h"
#include "base/thread.h"
#include "task/current.h"
#include "task/pool.h"
#include "task/runtime.h"
#include "task/wait.h"
#include "task/wake.h"

typedef enum verge__blocking_stage { QUEUED, RUNNING, DONE } verge__blocking_stage;

typedef struct verge__blocking_call {
    verge__link link; /* QUEUED: in the queue of the pool */
    verge_blocking_function function;
    void *argument;
    void (*abandon)(void *argument); /* NULL: the call cannot be abandoned */
    verge_task *task;                /* the task that waits; NULL: the task has given up */
    verge__blocking_stage stage;
    bool stops_all;  /* virtual time: the thread that runs all tasks waits for this call */
    unsigned awaits; /* what the task awaits, for dumps */
    uintptr_t awaited;
    int error; /* -EOWNERDEAD: the function has ended the thread. -EAGAIN: no thread could call the function */
    intptr_t result;
} verge__blocking_call;

/* ---- the pool ---- */

void verge__blocking_init(verge__blocking_pool *pool) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->work, &attributes);
    (void)pthread_cond_init(&pool->changed, NULL);
    (void)pthread_condattr_destroy(&attributes);
}

void verge__blocking_deinit(verge__blocking_pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    (void)pthread_cond_broadcast(&pool->work);
    while (pool->thread_count != 0) {
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (pool->has_ended) {
        (void)pthread_join(pool->ended, NULL);
    }
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_mutex_destroy(&pool->lock);
}

static void enqueue(verge__blocking_pool *pool, verge__blocking_call *call) {
    verge__list_append(&pool->queue, &call->link);
    pool->queued_count++;
}

static void dequeue(verge__blocking_pool *pool, verge__blocking_call *call) {
    verge__list_remove(&pool->queue, &call->link);
    pool->queued_count--;
}

/* Returns NULL if the queue is empty. */
static verge__blocking_call *first_call(const verge__blocking_pool *pool) {
    return VERGE__LISTED(pool->queue.first, verge__blocking_call, link);
}

/* ---- the threads ---- */

static void *pool_main(void *argument);

static void release(verge_runtime *runtime, verge__blocking_call *call) {
    runtime->allocator.release(runtime->allocator.context, call, sizeof(*call));
}

/* Under the lock: makes a call DONE. Returns NULL, or a task that the caller delivers after it has released the
 * lock. */
static verge_task *set_done(verge__blocking_pool *pool, verge__blocking_call *call) {
    call->stage = DONE;
    if (call->stops_all) {
        (void)pthread_cond_broadcast(&pool->changed);
        return NULL;
    }
    return call->task != NULL && verge__claim(call->task, 0) ? call->task : NULL;
}

static void finish(verge_runtime *runtime, verge__blocking_call *call) {
    (void)pthread_mutex_lock(&runtime->pool.lock);
    const bool is_abandoned = call->task == NULL;
    verge_task *woken = set_done(&runtime->pool, call);
    (void)pthread_mutex_unlock(&runtime->pool.lock); /* B2: if not abandoned, the call may be gone now */
    if (woken != NULL) {
        verge__deliver(woken);
    } else if (is_abandoned) {
        call->abandon(call->argument);
        release(runtime, call);
    }
}

/* Starts or wakes a thread. Called under the lock, while calls are queued. Returns false if there is no thread, and
 * none can be started. */
static bool find_thread(verge_runtime *runtime) {
    verge__blocking_pool *pool = &runtime->pool;
    if (pool->queued_count > pool->idle_count && pool->thread_count < runtime->options.blocking_thread_max) {
        pthread_t thread;
        pool->thread_count++;
        if (verge__thread_create(&thread, pool_main, runtime) == 0) {
            return true;
        }
        pool->thread_count--;
    }
    (void)pthread_cond_signal(&pool->work);
    return pool->thread_count != 0;
}

/* B3. Called by a thread that ends. Calls may be queued, if a function has ended the thread (pthread_exit). Finds
 * another thread for these calls. If there is none, they end with -EAGAIN. */
static void leave_queue_to_another(verge_runtime *runtime, verge__task_queue *woken) {
    verge__blocking_pool *pool = &runtime->pool;
    while (pool->queued_count != 0 && !find_thread(runtime)) {
        verge__blocking_call *call = first_call(pool);
        dequeue(pool, call);
        call->error = -EAGAIN;
        verge_task *task = set_done(pool, call);
        if (task != NULL) {
            verge__queue_push(woken, task);
        }
    }
}

/* Called with the lock held; releases it. */
static void leave(verge_runtime *runtime) {
    verge__blocking_pool *pool = &runtime->pool;
    verge__task_queue woken = {NULL, NULL};
    const pthread_t before = pool->ended;
    const bool has_before = pool->has_ended;
    pool->ended = pthread_self();
    pool->has_ended = true;
    pool->thread_count--;
    leave_queue_to_another(runtime, &woken);
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock); /* the runtime exists until this thread has ended (B4) */
    verge__deliver_all(&woken);
    if (has_before) {
        (void)pthread_join(before, NULL);
    }
}

typedef struct verge__working {
    verge_runtime *runtime;
    verge__blocking_call *call;
} verge__working;

/* Runs if the function has called pthread_exit. */
static void on_exit_of_thread(void *argument) {
    const verge__working *working = argument;
    verge_runtime *runtime = working->runtime;
    working->call->error = -EOWNERDEAD;
    finish(runtime, working->call);
    (void)pthread_mutex_lock(&runtime->pool.lock);
    leave(runtime);
}

static void work_on(verge_runtime *runtime, verge__blocking_call *call) {
    verge__working working = {.runtime = runtime, .call = call};
    pthread_cleanup_push(on_exit_of_thread, &working);
    call->result = call->function(call->argument);
    pthread_cleanup_pop(0);
    finish(runtime, call);
}

static struct timespec time_after(uint64_t duration_ns) {
    const uint64_t second_ns = 1000000000;
    const uint64_t century_s = UINT64_C(100) * 365 * 86400;
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    const uint64_t seconds = duration_ns / second_ns;
    const uint64_t ns = (uint64_t)time.tv_nsec + duration_ns % second_ns;
    time.tv_sec += (time_t)((seconds < century_s ? seconds : century_s) + ns / second_ns);
    time.tv_nsec = (long)(ns % second_ns);
    return time;
}

/* Takes the next call, and makes it RUNNING. NULL: there is none, the lock is still held, and the thread must leave. */
static verge__blocking_call *next_call(verge_runtime *runtime) {
    verge__blocking_pool *pool = &runtime->pool;
    (void)pthread_mutex_lock(&pool->lock);
    const struct timespec end = time_after(runtime->options.blocking_idle_ns);
    int error = 0;
    while (pool->queued_count == 0 && !pool->is_closing && error == 0) {
        pool->idle_count++;
        error = pthread_cond_timedwait(&pool->work, &pool->lock, &end);
        pool->idle_count--;
    }
    verge__blocking_call *call = first_call(pool);
    if (call != NULL) {
        dequeue(pool, call);
        call->stage = RUNNING;
        (void)pthread_mutex_unlock(&pool->lock);
    }
    return call;
}

static void *pool_main(void *argument) {
    verge_runtime *runtime = argument;
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (verge__blocking_call *call = next_call(runtime); call != NULL; call = next_call(runtime)) {
        work_on(runtime, call);
    }
    leave(runtime);
    return NULL;
}

/* ---- a call ---- */

/* Returns 0 if the call may begin, otherwise the error that the call returns. */
static int why_not(const verge_task *self, uint64_t deadline_ns) {
    const uint64_t end_ns = verge__effective_deadline(self, deadline_ns);
    if (atomic_load(&self->is_cancelled)) {
        return -ECANCELED;
    }
    if (verge__refuses(self, deadline_ns)) {
        return -EINVAL;
    }
    return end_ns != VERGE_NEVER && end_ns <= verge__clock_now(&self->runtime->clock) ? -ETIMEDOUT : 0;
}

/* Returns 0 if the call is queued, or -EAGAIN if there is no thread. After 0, the calling task has begun to wait. In
 * virtual time it has not: it calls stop_all_until_done. */
static int submit(verge_task *self, verge__blocking_call *call) {
    verge__blocking_pool *pool = &self->runtime->pool;
    (void)pthread_mutex_lock(&pool->lock);
    enqueue(pool, call);
    const bool has_thread = find_thread(self->runtime);
    if (!has_thread) {
        dequeue(pool, call);
    } else if (!call->stops_all) {
        verge__wait_begin(self); /* no thread sees the call before the lock is released */
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return has_thread ? 0 : -EAGAIN;
}

/* In virtual time: blocks the thread that runs all tasks. */
static void stop_all_until_done(verge__blocking_pool *pool, const verge__blocking_call *call) {
    (void)pthread_mutex_lock(&pool->lock);
    while (call->stage != DONE) {
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Continues the wait that has begun, until the call is DONE. */
static void wait_until_done(verge_task *self, const verge__blocking_call *call) {
    verge__blocking_pool *pool = &self->runtime->pool;
    bool is_done = false;
    while (!is_done) {
        verge__awaits(self, call->awaits, call->awaited);
        (void)verge__wait(self, VERGE_NEVER, VERGE__WAIT_REGARDLESS);
        (void)pthread_mutex_lock(&pool->lock);
        is_done = call->stage == DONE;
        if (!is_done) { /* woken by a cancellation */
            verge__wait_begin(self);
        }
        (void)pthread_mutex_unlock(&pool->lock);
    }
}

static bool is_giving_up(int reason) {
    return reason == -ETIMEDOUT || reason == -ECANCELED;
}

/* Called after a wait that ended for `reason`. Returns 0 if the call is DONE. Otherwise the call was taken out of the
 * queue or abandoned, and `reason` is returned. If the call can be abandoned, and -ETIMEDOUT or -ECANCELED is returned,
 * the caller must not use the call any more. */
static int end_wait(verge_task *self, verge__blocking_call *call, int reason) {
    verge__blocking_pool *pool = &self->runtime->pool;
    const bool abandons = call->abandon != NULL && is_giving_up(reason);
    (void)pthread_mutex_lock(&pool->lock);
    const verge__blocking_stage stage = call->stage;
    if (stage == QUEUED) {
        dequeue(pool, call);
    } else if (stage == RUNNING && abandons) {
        call->task = NULL; /* the thread will see this, and release the call */
    } else if (stage == RUNNING) {
        verge__wait_begin(self);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    VERGE__INVARIANT(stage == DONE || reason != 0, "J2: the task of a call is woken when the call is done");
    if (stage == RUNNING && !abandons) {
        wait_until_done(self, call);
    }
    if (stage == DONE || (stage == RUNNING && !abandons)) {
        return 0;
    }
    if (stage == QUEUED && abandons) {
        call->abandon(call->argument);
        release(self->runtime, call);
    }
    return reason;
}

/* Queues the call, and waits for its end. Returns 0 if the call is DONE. */
static int run_call(verge_task *self, verge__blocking_call *call, uint64_t deadline_ns) {
    call->task = self;
    call->stops_all = self->runtime->options.virtual_clock != NULL;
    const int error = submit(self, call);
    if (error != 0) {
        return error;
    }
    if (call->stops_all) {
        stop_all_until_done(&self->runtime->pool, call);
        return 0;
    }
    verge__awaits(self, call->awaits, call->awaited);
    return end_wait(self, call, verge__wait(self, deadline_ns, VERGE__WAIT));
}

static int take_result(const verge__blocking_call *call, intptr_t *ret_result) {
    if (call->error == 0 && ret_result != NULL) {
        *ret_result = call->result;
    }
    return call->error;
}

/* Copies a call to the heap. Returns NULL if there is no memory. */
static verge__blocking_call *on_heap(verge_runtime *runtime, const verge__blocking_call *call) {
    const verge_allocator *allocator = &runtime->allocator;
    verge__blocking_call *copy = allocator->allocate(allocator->context, sizeof(*copy), _Alignof(max_align_t));
    if (copy != NULL) {
        *copy = *call;
    }
    return copy;
}

/* ---- the calls ---- */

int verge_blocking(verge_blocking_function function, void *argument, void (*abandon)(void *argument),
                   intptr_t *ret_result, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || function == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    (void)verge__begin_call(deadline_ns);
    int error = why_not(self, deadline_ns);
    if (error != 0) {
        if (abandon != NULL && is_giving_up(error)) {
            abandon(argument);
        }
        return verge__count_if_timeout(error);
    }
    verge__blocking_call in_frame = {.function = function,
                                     .argument = argument,
                                     .abandon = abandon,
                                     .awaits = VERGE__AWAITS_BLOCKING,
                                     .awaited = (uintptr_t)function};
    verge__blocking_call *call = abandon == NULL ? &in_frame : on_heap(self->runtime, &in_frame); /* B2 */
    if (call == NULL) {
        return -ENOMEM;
    }
    error = verge__count_if_timeout(run_call(self, call, deadline_ns));
    if (abandon != NULL && is_giving_up(error)) {
        return error; /* the call is gone */
    }
    error = error != 0 ? error : take_result(call, ret_result);
    if (abandon != NULL) {
        release(self->runtime, call);
    }
    return error;
}

int verge__blocking_until(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                          uintptr_t awaited, uint64_t deadline_ns) {
    verge__blocking_call call = {.function = function, .argument = argument, .awaits = awaits, .awaited = awaited};
    const int error = run_call(self, &call, deadline_ns);
    return error != 0 ? error : call.error;
}

int verge__blocking_regardless(verge_task *self, intptr_t (*function)(void *argument), void *argument, unsigned awaits,
                               uintptr_t awaited) {
    verge__blocking_call call = {
        .function = function, .argument = argument, .task = self, .awaits = awaits, .awaited = awaited};
    int error = submit(self, &call);
    if (error == 0) {
        wait_until_done(self, &call);
        error = call.error;
    }
    return error;
}
