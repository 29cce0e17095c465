/* SPDX-License-Identifier: MIT */
/*
 * verge/sync.h - more ways for tasks (verge/task.h) to wait for each other: select, groups, semaphore,
 * read-write lock, once, broadcast.
 *
 * The promises of verge/task.h hold for these calls, too: T1 to T4 and T7. Waiting calls have a
 * form ending in _until with a deadline. select and groups are for tasks, and return -EPERM elsewhere. All else is
 * for plain threads, too: these are blocked, and their deadlines are on the monotonic clock.
 */
#ifndef VERGE_SYNC_H
#define VERGE_SYNC_H

#include "verge/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_broadcast verge_broadcast;

/*
 * ---- select: waits for the first of several calls that need not wait ----
 *
 * A case is a call that was not made: receive from a channel, join a task. verge_select makes exactly one of them,
 * one that does not have to wait, and returns its index; `result` of that case is what the call returned, also if
 * that is an error (-EPIPE of a channel that is closed). It waits while there is none.
 *
 *   K1 one        exactly one case has happened when an index is returned, and none otherwise: an item that was not
 *                 chosen is still in its channel, or still the sender's; a task that was not chosen can still be
 *                 joined.
 *   K2 fair       of several that need not wait any may be chosen, each with the same probability, wherever it stands.
 *   K3 no memory  nothing is allocated, but for the timer of a deadline that had to be waited for (as in all calls).
 *                 A case is the caller's, usually in the caller's frame, and must stay as it is until the call
 *                 returns.
 */

typedef enum verge_case_kind {
    VERGE_CASE_NONE = 0,  /* is never chosen */
    VERGE_CASE_RECEIVE,   /* verge_channel_receive(object, item) */
    VERGE_CASE_SEND,      /* verge_channel_send(object, item) */
    VERGE_CASE_JOIN,      /* verge_join(object, item) */
    VERGE_CASE_TIME,      /* verge_sleep_until(time_ns) */
    VERGE_CASE_TICK,      /* verge_interval_wait(object, item) */
    VERGE_CASE_POLL,      /* verge_poll(fd, events): `result` is the events */
    VERGE_CASE_CONDITION, /* verge_condition_wait(object, item): see below */
    VERGE_CASE_NEXT,      /* verge_broadcast_receive(object, position, item) */
    VERGE_CASE_LATEST,    /* verge_broadcast_latest(object, position, item) */
} verge_case_kind;

/* Use the functions below. */
typedef struct verge_case {
    verge_case_kind kind;
    int result;
    void *object;
    void *item;
    uint64_t *position;
    uint64_t time_ns;
    int fd;
    short events;
    short reserved;
    void *state[8];
} verge_case;

#define VERGE_SELECT_DESCRIPTORS_MAX 8

/*
 * The index of the case that has happened; *_until: -ETIMEDOUT; try: -EAGAIN. -EINVAL: a case makes no sense, has no
 * object, or is one of more than VERGE_SELECT_DESCRIPTORS_MAX for descriptors; or see conditions. -ECANCELED;
 * -ENOMEM. After an error nothing has happened. No cases: that waits for the deadline.
 *
 * Conditions: all that are in a select go with one mutex, which the calling task has (-EPERM: it has not); it is
 * given up while the select waits, and locked again before it returns (-EOWNERDEAD: it could not be, as a task that
 * was lost has it). A condition is never there at once: a signal that came before is not kept.
 */
VERGE_API VERGE_MUST_USE int verge_select(verge_case *cases, size_t count);
VERGE_API VERGE_MUST_USE int verge_select_until(verge_case *cases, size_t count, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_try_select(verge_case *cases, size_t count);

static inline verge_case verge_case_of(verge_case_kind kind, void *object, void *item) {
    const verge_case one = {kind, 0, object, item, 0, 0, -1, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
    return one;
}

static inline verge_case verge_case_none(void) {
    return verge_case_of(VERGE_CASE_NONE, 0, 0);
}

static inline verge_case verge_case_receive(verge_channel *channel, void *ret_item) {
    return verge_case_of(VERGE_CASE_RECEIVE, channel, ret_item);
}

static inline verge_case verge_case_send(verge_channel *channel, const void *item) {
    return verge_case_of(VERGE_CASE_SEND, channel, (void *)(uintptr_t)item);
}

/* ret_result may be NULL. */
static inline verge_case verge_case_join(verge_task *task, intptr_t *ret_result) {
    return verge_case_of(VERGE_CASE_JOIN, task, ret_result);
}

/* A time, as of verge_deadline_after: not a duration. */
static inline verge_case verge_case_time(uint64_t time_ns) {
    verge_case one = verge_case_of(VERGE_CASE_TIME, 0, 0);
    one.time_ns = time_ns;
    return one;
}

/* The next tick of an interval, which is taken; ret_tick may be NULL. verge_interval_reset and the like begin anew. */
static inline verge_case verge_case_tick(verge_interval *interval, verge_tick *ret_tick) {
    return verge_case_of(VERGE_CASE_TICK, interval, ret_tick);
}

/* Events of poll(2): POLLIN, POLLOUT. Nothing is read or written: call verge_read next, say. */
static inline verge_case verge_case_poll(int fd, short events) {
    verge_case one = verge_case_of(VERGE_CASE_POLL, 0, 0);
    one.fd = fd;
    one.events = events;
    return one;
}

static inline verge_case verge_case_condition(verge_condition *condition, verge_mutex *mutex) {
    return verge_case_of(VERGE_CASE_CONDITION, condition, mutex);
}

/* The next item of a broadcast, or its latest: see below. */
static inline verge_case verge_case_next(verge_broadcast *broadcast, uint64_t *position, void *ret_item) {
    verge_case one = verge_case_of(VERGE_CASE_NEXT, broadcast, ret_item);
    one.position = position;
    return one;
}

static inline verge_case verge_case_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item) {
    verge_case one = verge_case_of(VERGE_CASE_LATEST, broadcast, ret_item);
    one.position = position;
    return one;
}

/*
 * ---- groups: tasks that end together ----
 *
 *   verge_group group;
 *   verge_group_begin(&group);
 *   ... verge_group_spawn(&group, fetch, &requests[i]) ...
 *   error = verge_group_wait(&group);
 *
 *   P1 none outlives it   when verge_group_wait has returned, unless with -EPERM or -EINVAL, all tasks of the group
 *                         have ended: they may use what is in the frame of the task that waits.
 *   P2 first error        a task that returns a negative value fails the group: the other tasks are cancelled, and
 *                         verge_group_wait returns that value. Of several, the first counts.
 *   P3 inheritance        a task of a group has the deadline of the scope in which it was spawned; it cannot pop it.
 *                         When the task that waits is cancelled, or its deadline comes, the tasks of the group are
 *                         cancelled. (So they are if it is cancelled elsewhere: when it comes to verge_group_wait.)
 *
 * Each group that was begun must be waited for, by the task that began it, before its frame is left. A task of a
 * group has no handle: it is freed when it has ended, so that a group may be as long-lived as a server.
 */

/* In the caller's frame; use the functions below. */
typedef struct verge_group {
    void *waiting[2];
    void *members;
    void *owner;
    size_t count;
    int error;
    uint32_t guard;
} verge_group;

VERGE_API int verge_group_begin(verge_group *group);

/* As verge_spawn and verge_spawn_with. By the task that began the group, or by one of the group; else -EPERM.
 * -ECANCELED: the calling task is cancelled, or the group has failed. */
VERGE_API VERGE_MUST_USE int verge_group_spawn(verge_group *group, verge_task_function function, void *argument);
VERGE_API VERGE_MUST_USE int verge_group_spawn_with(verge_group *group, const verge_spawn_options *options);

/* Waits until all tasks have ended, however long they take: 0, or the first error; -ECANCELED if the group was
 * cancelled first, -ETIMEDOUT if its deadline came first, -ENOMEM if there was no memory for its timer. Then the
 * group is over, and may begin anew. -EPERM: it is not the calling task's. */
VERGE_API VERGE_MUST_USE int verge_group_wait(verge_group *group);
VERGE_API VERGE_MUST_USE int verge_group_wait_until(verge_group *group, uint64_t deadline_ns);

/* Cancels all tasks, and those to come. From any thread, while the group is there. */
VERGE_API int verge_group_cancel(verge_group *group);

/* ---- semaphore: an amount of something, of which callers take a part. Zeroed memory is one of 0 ---- */

typedef struct verge_semaphore {
    void *waiting[2];
    uint32_t available;
    uint32_t guard;
} verge_semaphore;

#define VERGE_SEMAPHORE_INIT(amount) \
    { {0, 0}, amount, 0 }

/* In the order in which they asked: who wants little waits behind who wants much. An amount of 0 is -EINVAL.
 * -ETIMEDOUT and -ECANCELED: nothing was taken. */
VERGE_API VERGE_MUST_USE int verge_semaphore_acquire(verge_semaphore *semaphore, uint32_t amount);
VERGE_API VERGE_MUST_USE int verge_semaphore_acquire_until(verge_semaphore *semaphore, uint32_t amount,
                                                           uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_semaphore_try_acquire(verge_semaphore *semaphore, uint32_t amount); /* -EBUSY */

/* By whoever likes, also more than was taken. -EOVERFLOW: that would be more than 2^32 - 1. */
VERGE_API int verge_semaphore_release(verge_semaphore *semaphore, uint32_t amount);

/* ---- read-write lock: many readers, or one writer. Zeroed memory is a free one ---- */

typedef struct verge_rwlock {
    void *waiting[2];
    void *writer;
    uint32_t reader_count;
    uint32_t guard;
} verge_rwlock;

#define VERGE_RWLOCK_INIT \
    { {0, 0}, 0, 0, 0 }

/* In the order in which they asked: a reader that comes when a writer waits waits behind it. So who reads must not
 * ask to read again, or both may wait for ever. -EDEADLK: the caller writes. */
VERGE_API VERGE_MUST_USE int verge_rwlock_read(verge_rwlock *lock);
VERGE_API VERGE_MUST_USE int verge_rwlock_read_until(verge_rwlock *lock, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_rwlock_try_read(verge_rwlock *lock); /* -EBUSY */
VERGE_API VERGE_MUST_USE int verge_rwlock_write(verge_rwlock *lock);
VERGE_API VERGE_MUST_USE int verge_rwlock_write_until(verge_rwlock *lock, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_rwlock_try_write(verge_rwlock *lock); /* -EBUSY */

/* Ends what the caller does, read or write. -EPERM: nobody has it, or another one writes. */
VERGE_API int verge_rwlock_unlock(verge_rwlock *lock);

/* ---- once: what is to be done once, by whoever comes first. Zeroed memory is one that is not done ---- */

typedef struct verge_once {
    verge_mutex mutex;
    uint32_t is_done;
    uint32_t reserved;
} verge_once;

#define VERGE_ONCE_INIT \
    { VERGE_MUTEX_INIT, 0, 0 }

/* Calls function, unless it was called and returned 0 before: then that is the result. If somebody is at it, waits
 * for that. A result other than 0 is given to who called, and the next one tries again. The function may wait.
 * -EDEADLK: by itself. */
VERGE_API VERGE_MUST_USE int verge_once_do(verge_once *once, int (*function)(void *argument), void *argument);
VERGE_API VERGE_MUST_USE int verge_once_until(verge_once *once, int (*function)(void *argument), void *argument,
                                              uint64_t deadline_ns);

/*
 * ---- broadcast: every reader sees every item; watch: every reader sees the latest one ----
 *
 * A broadcast keeps the last `capacity` items. Each reader has a position of its own, a number: 0 begins with what is
 * there, verge_broadcast_position with what comes next. So readers need not be registered, and a sender waits for
 * none of them: a reader that is too slow loses items, and is told so. A watch, for a value that changes and of which
 * only the latest matters, is a broadcast with a capacity of 1 whose readers call verge_broadcast_latest.
 */

/* capacity: items that are kept, at least 1. allocator may be NULL. */
VERGE_API VERGE_MUST_USE int verge_broadcast_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                                                    verge_broadcast **ret_broadcast);

/* Nobody may be in a call for it, not even whom close has woken. NULL is allowed. */
VERGE_API void verge_broadcast_destroy(verge_broadcast *broadcast);

/* Does not wait. -EPIPE: it is closed. */
VERGE_API int verge_broadcast_send(verge_broadcast *broadcast, const void *item);

/* The number of items that were sent so far. */
VERGE_API uint64_t verge_broadcast_position(verge_broadcast *broadcast);

/* The item at *position, which moves on by one. -EOVERFLOW: it is not there any more; *position has moved on to the
 * oldest that is, by as many as were lost, and nothing was taken. -EPIPE: it is closed, and all is read. -EINVAL:
 * also a position that was never reached. try: -EAGAIN. */
VERGE_API VERGE_MUST_USE int verge_broadcast_receive(verge_broadcast *broadcast, uint64_t *position, void *ret_item);
VERGE_API VERGE_MUST_USE int verge_broadcast_receive_until(verge_broadcast *broadcast, uint64_t *position,
                                                           void *ret_item, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_broadcast_try_receive(verge_broadcast *broadcast, uint64_t *position,
                                                         void *ret_item);

/* The latest item, if it is at *position or after; *position moves on behind it. The errors are the same, without
 * -EOVERFLOW. */
VERGE_API VERGE_MUST_USE int verge_broadcast_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item);
VERGE_API VERGE_MUST_USE int verge_broadcast_latest_until(verge_broadcast *broadcast, uint64_t *position,
                                                          void *ret_item, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_broadcast_try_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item);

/* Takes no more items; readers get what is there, and then -EPIPE. */
VERGE_API int verge_broadcast_close(verge_broadcast *broadcast);

#ifdef __cplusplus
}
#endif

#endif
