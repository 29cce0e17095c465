/* SPDX-License-Identifier: MIT */
/*
 * A reactor on io_uring. The user_data of an entry is the address of its operation, so a completion finds its operation
 * without a table. Two small numbers, which are not addresses, mark entries without an operation.
 *
 * The submission queue may be full when an operation or a cancellation comes. Neither is dropped:
 *   U1  an operation that found no room is in `queued`, in state QUEUED, and the kernel does not know it.
 *   U2  an operation whose cancellation found no room is in `cancels`, in state STARTED. It leaves that list when its
 *       cancellation is submitted, or when it is done. So no operation that is done is in that list. A cancellation
 *       names its operation by the operation's address. In the submission queue, it comes before everything submitted
 *       later. So it cannot cancel a later operation that uses the same memory.
 *   U3  an operation whose cancellation was submitted is in `cancelling` until it is done. The kernel may fail to find
 *       an operation (-ENOENT) that is not done, for example on its way from a poll to a thread of the kernel. Then all
 *       operations of this list are cancelled again. An operation may have its result while the kernel still holds its
 *       buffers: such an operation is cancelled again after a short time.
 *   U4  an operation in state STARTED that is not to be cancelled is in `started`.
 * If the completion queue overflows, the kernel keeps the completions (IORING_FEAT_NODROP, which is required), and
 * liburing fetches them when it sees that the kernel has set IORING_SQ_CQ_OVERFLOW.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "reactor/attempt.h"
#include "reactor/examine.h"
#include "reactor/reactor.h"
#include "reactor/uring_prepare.h"

enum { ENTRY_COUNT_DEFAULT = 256, COMPLETIONS_PER_ENTRY = 8, COLLECT_BATCH = 64, TRIES_MAX = 100 };

enum { USER_DATA_WAKE = 1, USER_DATA_CANCEL = 2 };

/* After this time the reactor submits again, if the kernel took no submissions, and cancels again (U3). */
static const uint64_t retry_after_ns = 1000000;

typedef struct uring_reactor {
    verge__reactor reactor;
    struct io_uring ring;
    verge__list queued;
    verge__list started;
    verge__list cancels;
    verge__list cancelling;
    uint64_t cancel_again_at_ns; /* when all of `cancelling` is cancelled again (U3); 0: no need */
    int error;                   /* a lasting error of io_uring_enter, or 0 */
    bool wake_armed;
    bool can_expect_wait; /* the kernel can be told to wait before its first attempt (Linux 5.19) */
} uring_reactor;

static uring_reactor *uring_of(verge__reactor *reactor) {
    return (uring_reactor *)reactor;
}

/* ---- errors of io_uring_enter ---- */

/*
 * Some errors pass: a time limit, a signal, a full queue, no memory. All others last, and every call would return them:
 * EPERM and ENOSYS come from a filter, EBADF and EOPNOTSUPP from a descriptor that somebody has closed or replaced,
 * EBADR means that the kernel dropped completions.
 */
static int lasting_error(int result) {
    switch (result) {
    case -ETIME:
    case -EINTR:
    case -EAGAIN:
    case -EBUSY:
    case -ENOMEM:
        return 0;
    default:
        return result < 0 ? result : 0;
    }
}

/* ---- open and close ---- */

/*
 * For ThreadSanitizer. A ring may be mapped at an address where a ring of another thread was before. The sanitizer does
 * not see how liburing maps and unmaps, and would report a race. The counter shows the sanitizer that one ring ends
 * before the next one begins. The value of the counter means nothing.
 */
static _Atomic unsigned ring_count;

static void note_mapped(void) {
    (void)atomic_fetch_add(&ring_count, 1);
}

static void unmap(struct io_uring *ring) {
    (void)atomic_fetch_sub(&ring_count, 1);
    io_uring_queue_exit(ring);
}

/* A filter may allow io_uring_setup and forbid io_uring_enter. Returns 0 if the ring works, that is, if an entry came
 * back as a completion. */
static int try_out(struct io_uring *ring) {
    struct io_uring_cqe *completion = NULL;
    struct __kernel_timespec timeout = {.tv_sec = 1};
    int result = 0;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    for (int i = 0; i < TRIES_MAX && completion == NULL && lasting_error(result) == 0; i++) {
        result = io_uring_submit_and_wait_timeout(ring, &completion, 1, &timeout, NULL);
    }
    if (completion == NULL) {
        return result < 0 ? result : -ETIME;
    }
    io_uring_cqe_seen(ring, completion);
    return 0;
}

/* Takes the best flags that the kernel has. With the first two choices, the kernel does not interrupt the worker: it
 * waits with its work until the worker enters the kernel. */
static int set_up(uring_reactor *uring, unsigned entry_count) {
    static const unsigned choices[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        0,
    };
    int error = -ENOSYS;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct io_uring_params params = {
            .flags = choices[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
            .cq_entries = entry_count * COMPLETIONS_PER_ENTRY,
        };
        error = io_uring_queue_init_params(entry_count, &uring->ring, &params);
        if (error == 0) {
            note_mapped();
            const unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
            error = (params.features & needed) == needed ? try_out(&uring->ring) : -ENOSYS;
            uring->can_expect_wait = i == 0; /* kernels that know the first choice of flags can do that */
            if (error != 0) {
                unmap(&uring->ring);
            }
            return error;
        }
        if (error != -EINVAL) {
            return error;
        }
    }
    return error;
}

static int uring_open(const verge_allocator *allocator, unsigned entry_count, verge__reactor **ret_reactor) {
    verge__reactor *reactor;
    int error = verge__reactor_allocate(&verge__reactor_uring, allocator, sizeof(uring_reactor), &reactor);
    if (error != 0) {
        return error;
    }
    error = set_up(uring_of(reactor), entry_count != 0 ? entry_count : ENTRY_COUNT_DEFAULT);
    if (error != 0) {
        verge__reactor_release(reactor, sizeof(uring_reactor));
        return error;
    }
    *ret_reactor = reactor;
    return 0;
}

static void uring_close(verge__reactor *reactor) {
    if (reactor->error == 0) {
        unmap(&uring_of(reactor)->ring); /* this also ends the read of the eventfd */
    }
    verge__reactor_release(reactor, sizeof(uring_reactor));
}

/* ---- submission ---- */

static struct io_uring_sqe *entry(uring_reactor *uring) {
    if (VERGE__UNLIKELY(uring->reactor.refusals != 0)) {
        uring->reactor.refusals--;
        return NULL;
    }
    struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
    if (sqe == NULL) {
        uring->error = lasting_error(io_uring_submit(&uring->ring));
        sqe = io_uring_get_sqe(&uring->ring);
    }
    return sqe;
}

static bool start(uring_reactor *uring, verge__operation *operation) {
    struct io_uring_sqe *sqe = entry(uring);
    if (sqe == NULL) {
        return false;
    }
    verge__uring_prepare(sqe, operation);
    if (operation->expects_wait && uring->can_expect_wait && !operation->polls && !operation->naps) {
        sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
    }
    io_uring_sqe_set_data(sqe, operation);
    return true;
}

static void note_start(uring_reactor *uring, verge__operation *operation) {
    operation->state = VERGE__STARTED;
    verge__list_append(&uring->started, &operation->link);
}

static void start_or_queue(uring_reactor *uring, verge__operation *operation) {
    if (start(uring, operation)) {
        note_start(uring, operation);
    } else {
        operation->state = VERGE__QUEUED;
        verge__list_append(&uring->queued, &operation->link);
    }
}

static bool uring_submit(verge__reactor *reactor, verge__operation *operation) {
    VERGE__INVARIANT(operation->state == VERGE__IDLE, "O1: submitted once");
    if (verge__examine(operation, &operation->result)) {
        operation->state = VERGE__DONE;
        return true;
    }
    if (operation->is_over && operation->kind == VERGE__CUSTOM) {
        operation->never_waits = verge__uring_never_waits(operation);
    }
    reactor->pending_count++;
    start_or_queue(uring_of(reactor), operation);
    return false;
}

static bool start_cancel(uring_reactor *uring, verge__operation *operation) {
    struct io_uring_sqe *sqe = entry(uring);
    if (sqe == NULL) {
        return false;
    }
    io_uring_prep_cancel(sqe, operation, 0);
    io_uring_sqe_set_data64(sqe, USER_DATA_CANCEL);
    operation->cancel_sent = true;
    verge__list_append(&uring->cancelling, &operation->link);
    return true;
}

static void cancel_started(uring_reactor *uring, verge__operation *operation) {
    verge__list_remove(&uring->started, &operation->link);
    operation->cancel_requested = true;
    if (!start_cancel(uring, operation)) {
        verge__list_append(&uring->cancels, &operation->link);
    }
}

/* The kernel is done with the operation. Its cancellation, if there is one, is no longer needed. */
static void note_end(uring_reactor *uring, verge__operation *operation) {
    verge__list *list = !operation->cancel_requested ? &uring->started
                        : operation->cancel_sent     ? &uring->cancelling
                                                     : &uring->cancels;
    verge__list_remove(list, &operation->link);
}

static void cancel_again(uring_reactor *uring, bool those_with_a_result) {
    verge__link *next;
    for (verge__link *link = uring->cancelling.first; link != NULL; link = next) {
        verge__operation *operation = verge__operation_of(link);
        next = link->next;
        if (operation->has_result && !those_with_a_result) {
            uring->cancel_again_at_ns = verge__reactor_real_now_ns() + retry_after_ns;
            continue;
        }
        verge__list_remove(&uring->cancelling, &operation->link);
        operation->cancel_sent = false;
        verge__list_append(&uring->cancels, &operation->link);
    }
}

/* Returns how long a wait may last, so that operations with a result are cancelled again in time (U3). If that time has
 * come, cancels them. */
static uint64_t time_to_cancel_again(uring_reactor *uring) {
    if (uring->cancel_again_at_ns == 0) {
        return VERGE_NEVER;
    }
    const uint64_t now = verge__reactor_real_now_ns();
    if (now < uring->cancel_again_at_ns) {
        return uring->cancel_again_at_ns - now;
    }
    uring->cancel_again_at_ns = 0;
    cancel_again(uring, true);
    return VERGE_NEVER;
}

/* For an operation that found no room and is cancelled. A send, a receive or a poll is attempted by a system call (N3).
 * All other operations end with -ECANCELED without an attempt, since a system call might wait. To prevent that for an
 * accept, the caller's socket would have to be set to O_NONBLOCK. */
static int32_t attempt_at_last(verge__operation *operation) {
    int32_t result = -ECANCELED;
    const bool can_be_attempted = operation->kind == VERGE__RECV || operation->kind == VERGE__SEND ||
                                  operation->kind == VERGE__RECVMSG || operation->kind == VERGE__SENDMSG ||
                                  operation->kind == VERGE__POLL || operation->is_send;
    if (can_be_attempted && !verge__attempt(operation, VERGE__READY, &result)) {
        result = operation->progress != 0 ? (int32_t)operation->progress : -ECANCELED;
    }
    return result;
}

static void uring_cancel(verge__reactor *reactor, verge__operation *operation) {
    uring_reactor *uring = uring_of(reactor);
    if (operation->never_waits) {
        return;
    }
    if (operation->state == VERGE__QUEUED) {
        verge__list_remove(&uring->queued, &operation->link);
        verge__reactor_finish(reactor, operation, attempt_at_last(operation));
    } else if (operation->state == VERGE__STARTED && !operation->cancel_requested) {
        cancel_started(uring, operation);
    }
}

/* Submits the cancellations and operations that found no room before. Returns whether the submission queue has all of
 * them now. */
static bool start_queued(uring_reactor *uring) {
    verge__operation *operation;
    while ((operation = verge__operations_take_first(&uring->cancels)) != NULL) {
        if (!start_cancel(uring, operation)) {
            verge__list_append(&uring->cancels, &operation->link);
            return false;
        }
    }
    while ((operation = verge__operation_of(uring->queued.first)) != NULL) {
        if (!start(uring, operation)) {
            return false;
        }
        verge__list_remove(&uring->queued, &operation->link);
        note_start(uring, operation);
    }
    return true;
}

static bool arm_wake(uring_reactor *uring) {
    if (!uring->wake_armed) {
        struct io_uring_sqe *sqe = entry(uring);
        if (sqe == NULL) {
            return false;
        }
        io_uring_prep_read(sqe, uring->reactor.wake_fd, &uring->reactor.wake_count, sizeof(uring->reactor.wake_count),
                           0);
        io_uring_sqe_set_data64(sqe, USER_DATA_WAKE);
        uring->wake_armed = true;
    }
    return true;
}

/* ---- completion ---- */

static bool is_asked_not_to_wait(const verge__operation *operation) {
    switch (operation->kind) {
    case VERGE__RECV:
    case VERGE__SEND:
    case VERGE__RECVMSG:
    case VERGE__SENDMSG:
        return (operation->flags & MSG_DONTWAIT) != 0;
    default:
        return operation->kind == VERGE__POLL || verge__operation_readiness(operation) == 0;
    }
}

/* EAGAIN means that the file is O_NONBLOCK. The calls of verge/io.h wait all the same. */
static bool is_to_be_waited_for(const verge__operation *operation, int32_t result) {
    return (result == -EAGAIN && !is_asked_not_to_wait(operation)) ||
           (result == -EINPROGRESS && operation->kind == VERGE__CONNECT);
}

/* If an operation is cancelled in a thread of the kernel, its result may be an error that is internal to the kernel:
 * ERESTARTSYS and its like, which no header has. */
static bool is_interruption(int32_t result) {
    return result == -EINTR || (result <= -512 && result >= -516 && result != -515);
}

typedef enum next_step { FINISH, TRY, POLL_FIRST, NAP_FIRST } next_step;

/*
 * A poll of io_uring also ends if the peer has shut down its side (POLLRDHUP), even if nobody asked for that event. The
 * event does not mean that an operation can write, and each further poll would end at once. So the operation naps
 * before it is tried again. The same goes for verge_poll.
 */
static next_step what_next(const verge__operation *operation, int32_t *result) {
    if (operation->naps) {
        return *result == -ETIME ? TRY : FINISH;
    }
    if ((operation->polls || operation->kind == VERGE__POLL) && *result > 0) {
        *result &= (int32_t)(verge__operation_readiness(operation) | POLLERR | POLLHUP | POLLNVAL);
        if (*result == 0) {
            return NAP_FIRST;
        }
    }
    if (operation->polls && *result > 0) {
        return TRY;
    }
    if (is_to_be_waited_for(operation, *result)) {
        return POLL_FIRST;
    }
    /* A close that was interrupted has closed its descriptor, and is not tried again. */
    return is_interruption(*result) && operation->kind != VERGE__CLOSE ? TRY : FINISH;
}

/* The poll reported room, but the write found none: for example a datagram for a local socket whose queue is full. To
 * poll again would spin. This is only for writes: for reads, another thread may have been faster. */
static bool was_ready_in_vain(const verge__operation *operation) {
    return operation->was_ready && verge__operation_readiness(operation) == POLLOUT &&
           operation->kind != VERGE__CONNECT;
}

static void complete(uring_reactor *uring, verge__operation *operation, int32_t result, uint32_t bits) {
    if (!operation->has_result) {
        operation->result = result;
        operation->result_bits = bits;
        operation->has_result = true;
    }
    if ((bits & IORING_CQE_F_MORE) != 0) { /* a custom operation with several results: take the first */
        if (!operation->cancel_requested) {
            cancel_started(uring, operation);
        }
        return;
    }
    note_end(uring, operation);
    result = operation->result;
    if (result == -EAGAIN && operation->kind == VERGE__CONNECT && operation->was_started) {
        result = -ECONNREFUSED; /* a local socket whose queue is full: it is always ready, so waiting would spin */
    }
    next_step next = what_next(operation, &result);
    next = next == POLL_FIRST && was_ready_in_vain(operation) ? NAP_FIRST : next;
    if (next != FINISH && !operation->cancel_requested) {
        operation->has_result = false;
        operation->was_started = (operation->polls && next == TRY) || operation->was_started;
        operation->was_ready = operation->polls && next == TRY;
        operation->polls = next == POLL_FIRST;
        operation->naps = next == NAP_FIRST;
        operation->expects_wait = false; /* files without readiness would answer EAGAIN for ever */
        start_or_queue(uring, operation);
        return;
    }
    result = next == FINISH ? result : -ECANCELED; /* nothing was transferred */
    if (result == -ECANCELED && !operation->cancel_requested && uring->error != 0) {
        result = uring->error; /* uring_abandon has cancelled it */
    }
    operation->has_drained = (bits & IORING_CQE_F_SOCK_NONEMPTY) == 0;
    const bool is_connected = result == -EISCONN && operation->kind == VERGE__CONNECT && operation->was_started;
    verge__reactor_finish(&uring->reactor, operation, is_connected ? 0 : result);
}

static void collect(uring_reactor *uring) {
    struct io_uring_cqe *completions[COLLECT_BATCH];
    unsigned count;
    bool has_missed = false;
    do {
        count = io_uring_peek_batch_cqe(&uring->ring, completions, COLLECT_BATCH);
        for (unsigned i = 0; i < count; i++) {
            const uint64_t user_data = io_uring_cqe_get_data64(completions[i]);
            if (user_data == USER_DATA_WAKE) {
                uring->wake_armed = false;
            } else if (user_data == USER_DATA_CANCEL) {
                has_missed |= completions[i]->res == -ENOENT;
            } else {
                complete(uring, (verge__operation *)(uintptr_t)user_data, completions[i]->res, completions[i]->flags);
            }
        }
        io_uring_cq_advance(&uring->ring, count);
    } while (count == COLLECT_BATCH);
    if (has_missed) {
        cancel_again(uring, false);
    }
}

/* ---- waiting ---- */

static int wait_for_kernel(uring_reactor *uring, uint64_t timeout_ns) {
    struct __kernel_timespec timeout = {
        .tv_sec = (int64_t)(timeout_ns / 1000000000),
        .tv_nsec = (int64_t)(timeout_ns % 1000000000),
    };
    struct io_uring_cqe *completion;
    return io_uring_submit_and_wait_timeout(&uring->ring, &completion, 1, timeout_ns == VERGE_NEVER ? NULL : &timeout,
                                            NULL);
}

/* Whether the completion queue is empty, but a system call would fill it: the kernel has work that waits for this
 * thread to enter it, or completions that overflowed. */
static bool must_fetch(const uring_reactor *uring) {
    const unsigned flags = __atomic_load_n(uring->ring.sq.kflags, __ATOMIC_RELAXED);
    return (flags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0 && io_uring_cq_ready(&uring->ring) == 0;
}

static int enter(uring_reactor *uring, uint64_t timeout_ns) {
    if (VERGE__UNLIKELY(uring->reactor.injected_error != 0)) {
        return uring->reactor.injected_error;
    }
    if (timeout_ns != 0) {
        return wait_for_kernel(uring, timeout_ns);
    }
    if (io_uring_sq_ready(&uring->ring) != 0) {
        return io_uring_submit(&uring->ring);
    }
    return must_fetch(uring) ? io_uring_get_events(&uring->ring) : 0;
}

static int uring_wait(verge__reactor *reactor, uint64_t timeout_ns) {
    uring_reactor *uring = uring_of(reactor);
    const uint64_t time_ns = time_to_cancel_again(uring);
    bool has_room = arm_wake(uring);
    has_room = start_queued(uring) && has_room;
    timeout_ns = time_ns < timeout_ns ? time_ns : timeout_ns;
    if (uring->error == 0) { /* after an error that passes, the caller tries again */
        uring->error =
            lasting_error(enter(uring, has_room || timeout_ns < retry_after_ns ? timeout_ns : retry_after_ns));
    }
    collect(uring);
    return uring->error;
}

/* ---- a ring that has failed ---- */

static bool has_kernel_seen(const uring_reactor *uring, const verge__operation *operation) {
    const struct io_uring_sq *queue = &uring->ring.sq;
    for (unsigned i = __atomic_load_n(queue->khead, __ATOMIC_ACQUIRE); i != queue->sqe_tail; i++) {
        if (queue->sqes[i & *queue->kring_mask].user_data == (uint64_t)(uintptr_t)operation) {
            return false;
        }
    }
    return operation->state == VERGE__STARTED;
}

static void end_all(uring_reactor *uring, verge__list *list, int error) {
    while (list->first != NULL) {
        verge__operation *operation = verge__operation_of(list->first);
        int32_t result = operation->has_result ? operation->result : error;
        if (operation->kind == VERGE__CLOSE && !has_kernel_seen(uring, operation)) {
            result = close(operation->fd) == 0 ? 0 : -errno;
        }
        verge__list_remove(list, &operation->link);
        verge__reactor_finish(&uring->reactor, operation, result);
    }
}

static void exit_ring(uring_reactor *uring, int error) {
    if (error == -EBADF || error == -EOPNOTSUPP) {
        uring->ring.ring_fd = -1; /* this descriptor may be another file by now */
    }
    unmap(&uring->ring);
}

/*
 * Operations that the kernel has are cancelled by another system call, if that is not forbidden as well. In any case,
 * they end with the ring. After the cancellation, the kernel touches no buffer of a waiting operation. But operations
 * in threads of the kernel (regular files) may go on, and there is no way to know when they are done.
 */
static void uring_abandon(verge__reactor *reactor, int error) {
    uring_reactor *uring = uring_of(reactor);
    struct io_uring_sync_cancel_reg all = {
        .fd = -1,
        .flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
        .timeout = {.tv_sec = 1},
    };
    (void)io_uring_register_sync_cancel(&uring->ring, &all);
    collect(uring);
    end_all(uring, &uring->queued, error);
    end_all(uring, &uring->started, error);
    end_all(uring, &uring->cancels, error);
    end_all(uring, &uring->cancelling, error);
    exit_ring(uring, error);
}

const verge__reactor_type verge__reactor_uring = {
    .name = "io_uring",
    .open = uring_open,
    .close = uring_close,
    .submit = uring_submit,
    .cancel = uring_cancel,
    .wait = uring_wait,
    .abandon = uring_abandon,
};
