/* SPDX-License-Identifier: MIT */
/*
 * task/task.h - what a task is made of.
 *
 * The states of a task, and what changes them:
 *
 *     READY ----loop----> RUNNING ----wait----> WAITING ----wake----> READY
 *                            |                     '--loop that retires--> MOVING --> WAITING, or READY if all stops
 *                            |                                               '--wake--> MOVING_WOKEN... --> READY
 *                            |----I/O----> IN_IO --------done-----> READY
 *                            |               '--cancel-> IO_CANCEL --loop--> IN_IO, or READY if it is done
 *                            |----yield---> READY
 *                            '----return, or the thread ends (lost.c)--> ENDED
 *
 *   J1  Only the thread of its runner resumes a task. Only the thread that claimed a task (changed it from WAITING to
 *       READY, or from IN_IO to IO_CANCEL) delivers it. So a task is in at most one queue, once, and a second wake-up
 *       changes nothing. If a task is woken while it is MOVING, the loop that moves it puts it into a queue, and the
 *       waking thread does not wait for that. A thread that has made a task READY, or has taken it out of a queue, has
 *       the task for itself: it may give the task to another runner, unless the task is live (ring.h, R3).
 *   J2  A mutex, a channel and so on give something to a waiting task under a lock. The giving thread claims the task
 *       before it releases that lock. A task that was woken for another reason (time, cancellation) takes the lock
 *       before it decides what to return. Under the lock it sees whether it was given something. From then on, this
 *       mutex or channel gives it nothing.
 *   J3  Before a waiting call returns, its timer has run or is cancelled, and the timer's callback does not touch the
 *       task any more. The timer of I/O is an exception (J6).
 *   J4  A task in IN_IO or IO_CANCEL stays with its runner, since the runner's reactor has its operation. A select
 *       with descriptors waits in these states, too: to wake it is to cancel its operations.
 *   J5  A runner that retires closes its inbox when no task is listed as its own. After that, no task is listed
 *       as its own.
 *   J6  is about the timer that a task keeps for its I/O: see wait.c.
 *   J7  A pinned task was spawned with the id of a worker: it changes its runner only if that runner retires. Any other
 *       task may also change its runner while it is READY: it goes to the runner whose task woke it, or to one that
 *       searches (share.c, search.h). In virtual time, only a runner that retires gives tasks away.
 */
#ifndef VERGE_SRC_TASK_TASK_H
#define VERGE_SRC_TASK_TASK_H

#include <stdatomic.h>

#include "base/list.h"
#include "task/context.h"
#include "task/stack.h"
#include "verge/service.h"
#include "verge/task.h"

typedef enum verge__task_state {
    VERGE__TASK_READY,
    VERGE__TASK_RUNNING,
    VERGE__TASK_WAITING,
    VERGE__TASK_MOVING,
    VERGE__TASK_MOVING_WOKEN,     /* woken while MOVING: READY when it has arrived. Its wait returns 0 */
    VERGE__TASK_MOVING_TIMED_OUT, /* as MOVING_WOKEN, but the wait returns -ETIMEDOUT */
    VERGE__TASK_MOVING_CANCELLED, /* as MOVING_WOKEN, but the wait returns -ECANCELED */
    VERGE__TASK_IN_IO,
    VERGE__TASK_IO_CANCEL,
    VERGE__TASK_ENDED,
} verge__task_state;

/* What a task waits for, as a dump tells it. OPERATION + kind: I/O of that kind (enum verge__operation_kind). */
typedef enum verge__awaited {
    VERGE__AWAITS_TIME,
    VERGE__AWAITS_TASK,
    VERGE__AWAITS_MUTEX,
    VERGE__AWAITS_CONDITION,
    VERGE__AWAITS_SEND,
    VERGE__AWAITS_RECEIVE,
    VERGE__AWAITS_SELECT,
    VERGE__AWAITS_GROUP,
    VERGE__AWAITS_SEMAPHORE,
    VERGE__AWAITS_RWLOCK,
    VERGE__AWAITS_BROADCAST,
    VERGE__AWAITS_BLOCKING,
    VERGE__AWAITS_OPERATION,
} verge__awaited;

typedef struct verge__runner verge__runner;
typedef struct verge__waiter verge__waiter;

struct verge_task {
    verge__context context;
    _Atomic uint8_t state;
    uint8_t wake_reason;  /* why its wait ended: 0, ETIMEDOUT or ECANCELED; written by the thread that made it READY */
    bool is_pinned;       /* J7 */
    bool is_detached;     /* under latch */
    bool has_ended;       /* under latch */
    bool is_unjoined;     /* it had no joiner when it ended, and is counted as unjoined; set under latch */
    _Atomic bool is_lost; /* its worker's thread has ended in it (lost.c); its stack is not used again */
    _Atomic bool is_cancelled; /* once set, it stays set */
    uint32_t latch;
    verge_task *next; /* in a queue or an inbox */
    verge__runner *_Atomic runner;
    struct verge__operation *operation; /* in I/O; of several, the first of a list linked by `sibling` */
    verge_timer io_timer;               /* the timer for its I/O (J6); 0: none */
    uint64_t io_timer_ns;               /* when io_timer runs; VERGE_NEVER: it has run */
    uint64_t io_deadline_ns;            /* of the operation; VERGE_NEVER: none, or not in I/O */
    int io_error;   /* why the task itself or its timer has cancelled the operation; 0: neither has */
    int drained_fd; /* the socket that its last receive has emptied; -1: none */
    verge_deadline *scope;
    verge__waiter *joiner; /* under latch */

    /* For dumps only. The task's own thread writes these, and any thread reads them. */
    _Atomic uint8_t awaits;               /* verge__awaited */
    _Atomic uintptr_t awaited;            /* the address of what it waits for, or a descriptor */
    _Atomic uint64_t awaited_deadline_ns; /* 0: none */
    _Atomic uint64_t stopped_ns;          /* the time of the round in which it began to wait */
    _Atomic bool has_begun;

    void *data;
    struct verge_group *group; /* the group that the task belongs to; NULL: none */

    /* create_task zeroes all fields above this line, except the context. */
    verge_task_function function;
    void *argument;
    char name[VERGE_TASK_NAME_SIZE]; /* empty: none. Written by its own task, under latch; others read it under latch */
    intptr_t result;
    verge__stack *stack;
    verge_runtime *runtime;

    /* For verge/scope.h only, which counts timers by who starts them (service/sources.h). These fields are beside
     * `runtime`, because the start of a timer reads all three. */
    uint32_t source;   /* of its timers; looked up when the task starts its first timer */
    const char *label; /* of its timers; NULL: they are listed under its function */

    verge__link listed;       /* in the runner's list, under its list_latch */
    verge__link member;       /* in the list of its group, under the group's latch */
    verge_deadline inherited; /* for a member of a group: the deadline of the scopes in which it was spawned */
};

/* The task of a link of a runner's list. NULL: the link is NULL. */
static inline verge_task *verge__listed_task(verge__link *link) {
    return VERGE__LISTED(link, verge_task, listed);
}

/* Copies as much of the name as fits. */
static inline void verge__set_name(verge_task *task, const char *name) {
    size_t size = 0;
    while (name != NULL && size < VERGE_TASK_NAME_SIZE - 1 && name[size] != '\0') {
        task->name[size] = name[size];
        size++;
    }
    task->name[size] = '\0';
}

typedef struct verge__task_queue {
    verge_task *first, *last;
} verge__task_queue;

static inline void verge__queue_push(verge__task_queue *queue, verge_task *task) {
    task->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = task;
    } else {
        queue->first = task;
    }
    queue->last = task;
}

static inline verge_task *verge__queue_pop(verge__task_queue *queue) {
    verge_task *task = queue->first;
    if (task != NULL) {
        queue->first = task->next;
        if (task->next == NULL) {
            queue->last = NULL;
        }
    }
    return task;
}

#endif
