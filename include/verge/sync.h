/* SPDX-License-Identifier: MIT */
/*
 * verge/sync.h - more ways for tasks (verge/task.h) to wait for each other: select, groups, semaphore,
 * read-write lock, once, broadcast.
 *
 * The promises T1 to T4 and T7 of verge/task.h hold for these calls as well. Each waiting call takes a deadline as its
 * last argument: VERGE_NEVER waits, 0 tries. select and groups are for tasks only, and return -EPERM elsewhere
 * (exception: verge_group_cancel). The others also work in plain threads: there they block the thread, and deadlines
 * are on the monotonic clock.
 */
#ifndef VERGE_SYNC_H
#define VERGE_SYNC_H

#include "verge/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_broadcast verge_broadcast;

/*
 * ---- select: waits until one of several calls need not wait, and makes this call ----
 *
 * A case describes a call: receive from a channel, join a task, and so on. verge_select waits until one of these calls
 * need not wait, makes that one call, and returns the index of its case. `result` of that case is what the call
 * returned. This may be an error, such as -EPIPE if a channel is closed.
 *
 *   K1 one        if an index is returned, exactly that call was made; otherwise none was (except after -EOWNERDEAD,
 *                 see below). If a case was not chosen, its item is still in the channel, or still the sender's, and
 *                 its task can still be joined.
 *   K2 fair       if several calls need not wait, each is chosen with the same probability, whatever its index.
 *   K3 no memory  nothing is allocated, except the timer of a deadline, as in all calls that wait. The cases belong to
 *                 the caller, usually as a local array. They must not change until the call returns.
 */

typedef enum verge_case_kind {
    VERGE_CASE_NONE = 0,  /* is never chosen; zeroed memory is such a case */
    VERGE_CASE_RECEIVE,   /* verge_channel_receive(object, item, ...) */
    VERGE_CASE_SEND,      /* verge_channel_send(object, item, ...) */
    VERGE_CASE_JOIN,      /* verge_task_join(object, item, ...) */
    VERGE_CASE_TICK,      /* verge_interval_wait(object, item, ...) */
    VERGE_CASE_POLL,      /* verge_poll(fd, events, ...): `result` has the events */
    VERGE_CASE_CONDITION, /* verge_condition_wait(object, item, ...): see below */
    VERGE_CASE_NEXT,      /* verge_broadcast_receive(object, position, item, ...) */
    VERGE_CASE_LATEST,    /* verge_broadcast_latest(object, position, item, ...) */
} verge_case_kind;

/* Use the functions below. */
typedef struct verge_case {
    verge_case_kind kind;
    int result;
    void *object;
    void *item;
    uint64_t *position;
    int fd;
    short events;
    short reserved;
    void *state[8];
} verge_case;

/* Each descriptor of a select is an operation of its own in the kernel. The memory of the operation is on the stack of
 * the task. To wait for more descriptors, put them into an epoll descriptor, which is one case, or let a task wait for
 * each. */
#define VERGE_SELECT_DESCRIPTORS_MAX 8

/*
 * Returns the index of the chosen case. -ETIMEDOUT: the deadline came first. -EINVAL: a case makes no sense or has no
 * object, there are more than VERGE_SELECT_DESCRIPTORS_MAX cases for descriptors, or the cases for conditions have
 * different mutexes. -ECANCELED; -ENOMEM. After these errors, no call was made. With 0 cases, it waits for the
 * deadline.
 *
 * Conditions: all conditions in a select must have the same mutex, and the calling task must hold it (otherwise
 * -EPERM). The select unlocks it while it waits, and locks it again before it returns. (-EOWNERDEAD: the select could
 * not lock it, because a lost task holds the mutex. The call of a case may have been made.) A condition always has to
 * wait: it does not remember earlier signals.
 */
VERGE_API VERGE_MUST_USE int verge_select(verge_case *cases, size_t count, uint64_t deadline_ns);

VERGE_API verge_case verge_case_receive(verge_channel *channel, void *ret_item);
VERGE_API verge_case verge_case_send(verge_channel *channel, const void *item);

/* ret_result may be NULL. A second case of a select for the same task gets -EBUSY, as a second join does. */
VERGE_API verge_case verge_case_join(verge_task *task, intptr_t *ret_result);

/* Takes the next tick of an interval; ret_tick may be NULL. (For a single time, use the deadline of the select.) */
VERGE_API verge_case verge_case_tick(verge_interval *interval, verge_tick *ret_tick);

/* events as in poll(2): POLLIN, POLLOUT. Nothing is read or written; that is up to the caller, afterwards. */
VERGE_API verge_case verge_case_poll(int fd, short events);

VERGE_API verge_case verge_case_condition(verge_condition *condition, verge_mutex *mutex);

/* Receives the next item of a broadcast (see below). */
VERGE_API verge_case verge_case_next(verge_broadcast *broadcast, uint64_t *position, void *ret_item);

/* Receives the latest item of a broadcast (see below). */
VERGE_API verge_case verge_case_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item);

/*
 * ---- groups: tasks that one task waits for ----
 *
 *   verge_group group;
 *   verge_group_begin(&group);
 *   ... verge_group_spawn(&group, fetch, &requests[i]) ...
 *   error = verge_group_wait(&group, VERGE_NEVER);
 *
 *   P1 none outlives it   when verge_group_wait returns, all tasks of the group have ended (except after -EPERM and
 *                         -EINVAL). So they may use local variables of the task that waits.
 *   P2 first error        if a task of the group returns a negative value, the group has failed: the other tasks are
 *                         cancelled, and verge_group_wait returns that value. If several do, the first value counts.
 *   P3 inheritance        a task of a group has the deadline of the scope (verge_deadline_push) in which it was
 *                         spawned, and cannot pop this deadline. If the task in verge_group_wait is cancelled, or its
 *                         deadline comes, the tasks of the group are cancelled. If that task is cancelled earlier, the
 *                         tasks of the group are cancelled when it calls verge_group_wait.
 *
 * The task that began a group must wait for it before it returns from the function that has the group as a local
 * variable. A task of a group has no handle, and is freed when it has ended. So a group can live as long as a server.
 */

/* A local variable of the caller. Use the functions below. */
typedef struct verge_group {
    void *waiting[2];
    void *members;
    void *owner;
    size_t count;
    int error;
    uint32_t latch;
} verge_group;

VERGE_API int verge_group_begin(verge_group *group);

/* Spawns a task of the group, on the worker of the calling task. verge_spawn_with has further options, and the same
 * errors. -EPERM: the calling task neither began the group nor belongs to it. -ECANCELED: the calling task is
 * cancelled, or the group has failed. */
VERGE_API VERGE_MUST_USE int verge_group_spawn(verge_group *group, verge_task_function function, void *argument);

/* Waits until all tasks of the group have ended, however long they take. Returns 0, or what made the group fail first:
 * a task's negative value, -ECANCELED, -ETIMEDOUT, -EOWNERDEAD if a task was lost (T8), or -ENOMEM if there was no
 * memory for the timer of the deadline. The group is over then, and may begin anew. -EPERM: another task began the
 * group. With a deadline of 0, the call at once cancels the tasks that are left, and still waits for their end (P1). */
VERGE_API VERGE_MUST_USE int verge_group_wait(verge_group *group, uint64_t deadline_ns);

/* Cancels all tasks of the group. Spawning one more then returns -ECANCELED. Any thread may call this, until the group
 * is over. */
VERGE_API int verge_group_cancel(verge_group *group);

/* ---- semaphore: an amount, of which callers acquire a part. Zeroed memory is a semaphore with an amount of 0 ---- */

typedef struct verge_semaphore {
    void *waiting[2];
    uint32_t available;
    uint32_t latch;
} verge_semaphore;

#define VERGE_SEMAPHORE_INIT(amount) \
    { {0, 0}, amount, 0 }

/* First come, first served: a caller that wants little waits behind one that wants much. -EINVAL: an amount of 0.
 * -ETIMEDOUT and -ECANCELED: nothing was acquired. */
VERGE_API VERGE_MUST_USE int verge_semaphore_acquire(verge_semaphore *semaphore, uint32_t amount, uint64_t deadline_ns);

/* Anyone may release, even more than was acquired. -EOVERFLOW: there would be more than 2^32 - 1. */
VERGE_API int verge_semaphore_release(verge_semaphore *semaphore, uint32_t amount);

/* ---- read-write lock: many readers, or one writer. Zeroed memory is an unlocked one ---- */

typedef struct verge_rwlock {
    void *waiting[2];
    void *writer;
    uint32_t reader_count;
    uint32_t latch;
} verge_rwlock;

#define VERGE_RWLOCK_INIT \
    { {0, 0}, 0, 0, 0 }

/* First come, first served: a reader that arrives while a writer waits has to wait behind that writer. So a reader must
 * not lock a second time: it and the writer would wait for each other. -EDEADLK: the caller is the writer. */
VERGE_API VERGE_MUST_USE int verge_rwlock_read(verge_rwlock *lock, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_rwlock_write(verge_rwlock *lock, uint64_t deadline_ns);

/* Ends the caller's read or write. -EPERM: nobody holds the lock, or somebody else is the writer. */
VERGE_API int verge_rwlock_unlock(verge_rwlock *lock);

/* ---- once: calls a function until a call has succeeded, and then never again. Zeroed memory: not done yet ---- */

typedef struct verge_once {
    verge_mutex mutex;
    uint32_t is_done;
    uint32_t reserved;
} verge_once;

#define VERGE_ONCE_INIT \
    { VERGE_MUTEX_INIT, 0, 0 }

/* Returns 0 if function has succeeded (returned 0) before. Otherwise it calls function, and returns what function
 * returned. If another caller is in function, verge_once_do first waits for the end of that call, with this deadline
 * (VERGE_REGARDLESS is allowed). After a failure, the next caller tries again. The function may wait. -EDEADLK: called
 * by the function itself. */
VERGE_API VERGE_MUST_USE int verge_once_do(verge_once *once, int (*function)(void *argument), void *argument,
                                           uint64_t deadline_ns);

/*
 * ---- broadcast: every reader sees every item; watch: every reader sees the latest one ----
 *
 * A broadcast keeps the last `capacity` items. Each reader has a position of its own: the number of the item that it
 * reads next. Start with 0 to read the items that are there, or with verge_broadcast_position to read only those that
 * are sent later. Readers are not registered, and a sender does not wait for them: a reader that is too slow loses
 * items, and learns how many. A watch is for a value that changes, such as a configuration, if only the latest one
 * matters. It is a broadcast with a capacity of 1, whose readers call verge_broadcast_latest.
 */

/* capacity: the number of items that are kept, at least 1. allocator may be NULL. */
VERGE_API VERGE_MUST_USE int verge_broadcast_create(size_t item_size, size_t capacity, const verge_allocator *allocator,
                                                    verge_broadcast **ret_broadcast);

/* No call on the broadcast may be in progress, not even one that close has woken. NULL is allowed. */
VERGE_API void verge_broadcast_destroy(verge_broadcast *broadcast);

/* Does not wait. -EPIPE: the broadcast is closed. */
VERGE_API int verge_broadcast_send(verge_broadcast *broadcast, const void *item);

/* Returns how many items were sent so far. */
VERGE_API uint64_t verge_broadcast_position(verge_broadcast *broadcast);

/* Reads the item at *position, and adds 1 to *position. Waits if that item was not sent yet. -EOVERFLOW: that item is
 * lost. No item was read, and *position is now that of the oldest item that is left: it has grown by the number of lost
 * items. -EPIPE: the broadcast is closed, and all items were read. -EINVAL: *position is greater than
 * verge_broadcast_position. */
VERGE_API VERGE_MUST_USE int verge_broadcast_receive(verge_broadcast *broadcast, uint64_t *position, void *ret_item,
                                                     uint64_t deadline_ns);

/* Reads the latest item, if its number is *position or more; otherwise waits for the next item. *position is then the
 * number after that item. The errors are those of verge_broadcast_receive, without -EOVERFLOW. */
VERGE_API VERGE_MUST_USE int verge_broadcast_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item,
                                                    uint64_t deadline_ns);

/* The broadcast accepts no more items. Readers get the items that are left, and then -EPIPE. */
VERGE_API int verge_broadcast_close(verge_broadcast *broadcast);

#ifdef __cplusplus
}
#endif

#endif
