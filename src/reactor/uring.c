/* SPDX-License-Identifier: MIT */
/*
 * A reactor on io_uring. The address of an operation is its user_data, so a completion finds it
 * without a table; two small numbers are not addresses and mark what has no operation.
 *
 * The submission queue may be full when an operation or a cancellation comes. Neither is dropped:
 *   U1  an operation that found no room is in `queued`, in state QUEUED, unknown to the kernel.
 *   U2  an operation that is to be cancelled and found no room is in `cancels`, in state STARTED. It
 *       leaves that list when its cancellation is submitted, or when it is done, so that a cancellation
 *       never outlives its operation. In the submission queue it stands before anything submitted
 *       later, also before a later operation at the same address.
 *   U3  an operation whose cancellation was submitted is in `cancelling` until it is done. The kernel may not find it
 *       (-ENOENT) though it is not done, on its way from a poll to a thread of the kernel's, say: all that are in
 *       there then are cancelled again; those that have their result, and of which the kernel may have but the buffers
 *       left, after a while.
 *   U4  an operation in state STARTED that is not to be cancelled is in `started`.
 * The completion queue may overflow: the kernel then keeps the completions (IORING_FEAT_NODROP, which
 * is required) and liburing fetches them when it sees the flag.
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

enum { entry_count_default = 256, completions_per_entry = 8, collect_batch = 64, tries_max = 100 };

enum { user_data_wake = 1, user_data_cancel = 2 };

static const uint64_t retry_after_ns = 1000000; /* where the kernel, for now, takes no more submissions; and U3 */

struct uring {
    struct verge__reactor reactor;
    struct io_uring ring;
    struct verge__operation_list queued;
    struct verge__operation_list started;
    struct verge__operation_list cancels;
    struct verge__operation_list cancelling;
    uint64_t cancel_again_at_ns; /* 0: there is no need */
    int error;                   /* of a submission, if it is one that will not pass */
    bool wake_armed;
    bool can_expect_wait; /* the kernel can be told to wait before it looks (Linux 5.19) */
};

static struct uring *uring_of(struct verge__reactor *reactor) {
    return (struct uring *)reactor;
}

/* ---- errors of io_uring_enter ---- */

/*
 * What passes: a time limit, a signal, a queue that is full, no memory. Anything else does not, and would be said again and
 * again: EPERM and ENOSYS of a filter, EBADF and EOPNOTSUPP of a descriptor that somebody has closed or replaced, EBADR
 * of completions that the kernel had to drop.
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
 * A ring may be mapped where that of another thread was before. A sanitizer does not see what liburing maps and unmaps, and
 * takes the two threads for racing there. So each says here, too, that a ring ends before the next one begins: the
 * count itself means nothing.
 */
static _Atomic unsigned ring_count;

static void note_mapped(void) {
    (void)atomic_fetch_add(&ring_count, 1);
}

static void unmap(struct io_uring *ring) {
    (void)atomic_fetch_sub(&ring_count, 1);
    io_uring_queue_exit(ring);
}

/* A filter may allow to set up a ring, and forbid its use. 0: an entry comes back as a completion. */
static int try_out(struct io_uring *ring) {
    struct io_uring_cqe *completion = NULL;
    struct __kernel_timespec timeout = {.tv_sec = 1};
    int result = 0;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    for (int i = 0; i < tries_max && completion == NULL && lasting_error(result) == 0; i++) {
        result = io_uring_submit_and_wait_timeout(ring, &completion, 1, &timeout, NULL);
    }
    if (completion == NULL) {
        return result < 0 ? result : -ETIME;
    }
    io_uring_cqe_seen(ring, completion);
    return 0;
}

/* The best that the kernel knows: work is done when the worker asks for it, not in the middle of a task. */
static int set_up(struct uring *uring, unsigned entry_count) {
    static const unsigned choices[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        0,
    };
    int error = -ENOSYS;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct io_uring_params params = {
            .flags = choices[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
            .cq_entries = entry_count * completions_per_entry,
        };
        error = io_uring_queue_init_params(entry_count, &uring->ring, &params);
        if (error == 0) {
            note_mapped();
            const unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
            error = (params.features & needed) == needed ? try_out(&uring->ring) : -ENOSYS;
            uring->can_expect_wait = i == 0; /* those flags are younger */
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

static int uring_open(const verge_allocator *allocator, unsigned entry_count, struct verge__reactor **ret_reactor) {
    struct verge__reactor *reactor;
    int error = verge__reactor_allocate(&verge__reactor_uring, allocator, sizeof(struct uring), &reactor);
    if (error != 0) {
        return error;
    }
    error = set_up(uring_of(reactor), entry_count != 0 ? entry_count : entry_count_default);
    if (error != 0) {
        verge__reactor_release(reactor, sizeof(struct uring));
        return error;
    }
    *ret_reactor = reactor;
    return 0;
}

static void uring_close(struct verge__reactor *reactor) {
    if (reactor->error == 0) {
        unmap(&uring_of(reactor)->ring); /* the read of the eventfd ends with it */
    }
    verge__reactor_release(reactor, sizeof(struct uring));
}

/* ---- submission ---- */

static struct io_uring_sqe *entry(struct uring *uring) {
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

static bool start(struct uring *uring, struct verge__operation *operation) {
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

static void note_start(struct uring *uring, struct verge__operation *operation) {
    operation->state = VERGE__STARTED;
    verge__operations_append(&uring->started, operation);
}

static void start_or_queue(struct uring *uring, struct verge__operation *operation) {
    if (start(uring, operation)) {
        note_start(uring, operation);
    } else {
        operation->state = VERGE__QUEUED;
        verge__operations_append(&uring->queued, operation);
    }
}

static bool uring_submit(struct verge__reactor *reactor, struct verge__operation *operation) {
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

static bool start_cancel(struct uring *uring, struct verge__operation *operation) {
    struct io_uring_sqe *sqe = entry(uring);
    if (sqe == NULL) {
        return false;
    }
    io_uring_prep_cancel(sqe, operation, 0);
    io_uring_sqe_set_data64(sqe, user_data_cancel);
    operation->cancel_sent = true;
    verge__operations_append(&uring->cancelling, operation);
    return true;
}

static void cancel_started(struct uring *uring, struct verge__operation *operation) {
    verge__operations_remove(&uring->started, operation);
    operation->cancel_requested = true;
    if (!start_cancel(uring, operation)) {
        verge__operations_append(&uring->cancels, operation);
    }
}

/* The kernel is done with it: its cancellation, if there is one, is of no use any more. */
static void note_end(struct uring *uring, struct verge__operation *operation) {
    struct verge__operation_list *list = !operation->cancel_requested ? &uring->started
                                         : operation->cancel_sent     ? &uring->cancelling
                                                                      : &uring->cancels;
    verge__operations_remove(list, operation);
}

static void cancel_again(struct uring *uring, bool those_with_a_result) {
    struct verge__operation *next;
    for (struct verge__operation *operation = uring->cancelling.first; operation != NULL; operation = next) {
        next = operation->next;
        if (operation->has_result && !those_with_a_result) {
            uring->cancel_again_at_ns = verge__reactor_real_now_ns() + retry_after_ns;
            continue;
        }
        verge__operations_remove(&uring->cancelling, operation);
        operation->cancel_sent = false;
        verge__operations_append(&uring->cancels, operation);
    }
}

/* How long a wait may last so that those with a result are cancelled again in time. */
static uint64_t time_to_cancel_again(struct uring *uring) {
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

/* Of what found no room, by a system call that does not block: what can be done at once is done (N3). */
static int32_t attempt_at_last(struct verge__operation *operation) {
    int32_t result = -ECANCELED;
    const bool can_be_attempted = operation->kind == VERGE__RECV || operation->kind == VERGE__SEND ||
                                  operation->kind == VERGE__RECVMSG || operation->kind == VERGE__SENDMSG ||
                                  operation->kind == VERGE__POLL || operation->is_send;
    if (can_be_attempted && !verge__attempt(operation, VERGE__READY, &result)) {
        result = operation->progress != 0 ? (int32_t)operation->progress : -ECANCELED;
    }
    return result;
}

static void uring_cancel(struct verge__reactor *reactor, struct verge__operation *operation) {
    struct uring *uring = uring_of(reactor);
    if (operation->never_waits) {
        return;
    }
    if (operation->state == VERGE__QUEUED) {
        verge__operations_remove(&uring->queued, operation);
        verge__reactor_finish(reactor, operation, attempt_at_last(operation));
    } else if (operation->state == VERGE__STARTED && !operation->cancel_requested) {
        cancel_started(uring, operation);
    }
}

/* True: nothing is left that found no room. */
static bool start_queued(struct uring *uring) {
    while (uring->cancels.first != NULL) {
        struct verge__operation *operation = verge__operations_take_first(&uring->cancels);
        if (!start_cancel(uring, operation)) {
            verge__operations_append(&uring->cancels, operation);
            return false;
        }
    }
    while (uring->queued.first != NULL) {
        struct verge__operation *operation = uring->queued.first;
        if (!start(uring, operation)) {
            return false;
        }
        verge__operations_remove(&uring->queued, operation);
        note_start(uring, operation);
    }
    return true;
}

static bool arm_wake(struct uring *uring) {
    if (!uring->wake_armed) {
        struct io_uring_sqe *sqe = entry(uring);
        if (sqe == NULL) {
            return false;
        }
        io_uring_prep_read(sqe, uring->reactor.wake_fd, &uring->reactor.wake_count, sizeof(uring->reactor.wake_count),
                           0);
        io_uring_sqe_set_data64(sqe, user_data_wake);
        uring->wake_armed = true;
    }
    return true;
}

/* ---- completion ---- */

static bool is_asked_not_to_wait(const struct verge__operation *operation) {
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

/* A file that says EAGAIN instead of waiting is O_NONBLOCK: it is waited for, as any other is. */
static bool is_to_be_waited_for(const struct verge__operation *operation, int32_t result) {
    return (result == -EAGAIN && !is_asked_not_to_wait(operation)) ||
           (result == -EINPROGRESS && operation->kind == VERGE__CONNECT);
}

/* What the kernel does in a thread of its own ends, when it is cancelled, with a number meant for the kernel itself:
 * ERESTARTSYS and its like, which no header has. */
static bool is_interruption(int32_t result) {
    return result == -EINTR || (result <= -512 && result >= -516 && result != -515);
}

enum next { FINISH, TRY, POLL_FIRST, NAP_FIRST };

/*
 * A poll of io_uring's also ends when the peer has shut down its side (POLLRDHUP), asked or not. For who waits to write
 * that is no news, and a poll would say it again and again: he looks again after a nap. The same for verge_poll.
 */
static enum next what_next(const struct verge__operation *operation, int32_t *result) {
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
    return is_interruption(*result) && operation->kind != VERGE__CLOSE /* which has closed it */ ? TRY : FINISH;
}

/* A poll says that there is room, and the file that there is none: of a datagram, say, for a local socket whose queue is full.
 * To poll again would be to spin. Who reads is not meant: somebody else may have come first. */
static bool was_ready_in_vain(const struct verge__operation *operation) {
    return operation->was_ready && verge__operation_readiness(operation) == POLLOUT &&
           operation->kind != VERGE__CONNECT;
}

static void complete(struct uring *uring, struct verge__operation *operation, int32_t result, uint32_t bits) {
    if (!operation->has_result) {
        operation->result = result;
        operation->result_bits = bits;
        operation->has_result = true;
    }
    if ((bits & IORING_CQE_F_MORE) != 0) { /* of a custom operation: one result is all that there is room for */
        if (!operation->cancel_requested) {
            cancel_started(uring, operation);
        }
        return;
    }
    note_end(uring, operation);
    result = operation->result;
    if (result == -EAGAIN && operation->kind == VERGE__CONNECT && operation->was_started) {
        result =
            -ECONNREFUSED; /* a local socket whose queue is full: it is always ready, and waiting would be spinning */
    }
    enum next next = what_next(operation, &result);
    next = next == POLL_FIRST && was_ready_in_vain(operation) ? NAP_FIRST : next;
    if (next != FINISH && !operation->cancel_requested) {
        operation->has_result = false;
        operation->was_started = (operation->polls && next == TRY) || operation->was_started;
        operation->was_ready = operation->polls && next == TRY;
        operation->polls = next == POLL_FIRST;
        operation->naps = next == NAP_FIRST;
        operation->expects_wait = false; /* who cannot be waited for, a regular file say, is EAGAIN to that for ever */
        start_or_queue(uring, operation);
        return;
    }
    result = next == FINISH ? result : -ECANCELED; /* it has read and written nothing */
    if (result == -ECANCELED && !operation->cancel_requested && uring->error != 0) {
        result = uring->error; /* by uring_abandon */
    }
    operation->has_drained = (bits & IORING_CQE_F_SOCK_NONEMPTY) == 0;
    const bool is_connected = result == -EISCONN && operation->kind == VERGE__CONNECT && operation->was_started;
    verge__reactor_finish(&uring->reactor, operation, is_connected ? 0 : result);
}

static void collect(struct uring *uring) {
    struct io_uring_cqe *completions[collect_batch];
    unsigned count;
    bool has_missed = false;
    do {
        count = io_uring_peek_batch_cqe(&uring->ring, completions, collect_batch);
        for (unsigned i = 0; i < count; i++) {
            const uint64_t user_data = io_uring_cqe_get_data64(completions[i]);
            if (user_data == user_data_wake) {
                uring->wake_armed = false;
            } else if (user_data == user_data_cancel) {
                has_missed |= completions[i]->res == -ENOENT;
            } else {
                complete(uring, (struct verge__operation *)(uintptr_t)user_data, completions[i]->res,
                         completions[i]->flags);
            }
        }
        io_uring_cq_advance(&uring->ring, count);
    } while (count == collect_batch);
    if (has_missed) {
        cancel_again(uring, false);
    }
}

/* ---- waiting ---- */

static int wait_for_kernel(struct uring *uring, uint64_t timeout_ns) {
    struct __kernel_timespec timeout = {
        .tv_sec = (int64_t)(timeout_ns / 1000000000),
        .tv_nsec = (int64_t)(timeout_ns % 1000000000),
    };
    struct io_uring_cqe *completion;
    return io_uring_submit_and_wait_timeout(&uring->ring, &completion, 1, timeout_ns == VERGE_NEVER ? NULL : &timeout,
                                            NULL);
}

/* The queue is empty, and the kernel has completions: of work that waits for the thread, or that found no room. */
static bool must_fetch(const struct uring *uring) {
    const unsigned flags = __atomic_load_n(uring->ring.sq.kflags, __ATOMIC_RELAXED);
    return (flags & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0 && io_uring_cq_ready(&uring->ring) == 0;
}

static int enter(struct uring *uring, uint64_t timeout_ns) {
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

static int uring_wait(struct verge__reactor *reactor, uint64_t timeout_ns) {
    struct uring *uring = uring_of(reactor);
    const uint64_t time_ns = time_to_cancel_again(uring);
    bool has_room = arm_wake(uring);
    has_room = start_queued(uring) && has_room;
    timeout_ns = time_ns < timeout_ns ? time_ns : timeout_ns;
    if (uring->error == 0) { /* whatever passes does so: the caller looks around and comes again */
        uring->error =
            lasting_error(enter(uring, has_room || timeout_ns < retry_after_ns ? timeout_ns : retry_after_ns));
    }
    collect(uring);
    return uring->error;
}

/* ---- a ring that has failed ---- */

static bool has_kernel_seen(const struct uring *uring, const struct verge__operation *operation) {
    const struct io_uring_sq *queue = &uring->ring.sq;
    for (unsigned i = __atomic_load_n(queue->khead, __ATOMIC_ACQUIRE); i != queue->sqe_tail; i++) {
        if (queue->sqes[i & *queue->kring_mask].user_data == (uint64_t)(uintptr_t)operation) {
            return false;
        }
    }
    return operation->state == VERGE__STARTED;
}

static void end_all(struct uring *uring, struct verge__operation_list *list, int error) {
    while (list->first != NULL) {
        struct verge__operation *operation = list->first;
        int32_t result = operation->has_result ? operation->result : error;
        if (operation->kind == VERGE__CLOSE && !has_kernel_seen(uring, operation)) {
            result = close(operation->fd) == 0 ? 0 : -errno;
        }
        verge__operations_remove(list, operation);
        verge__reactor_finish(&uring->reactor, operation, result);
    }
}

static void exit_ring(struct uring *uring, int error) {
    if (error == -EBADF || error == -EOPNOTSUPP) {
        uring->ring.ring_fd = -1; /* it may be somebody else's by now */
    }
    unmap(&uring->ring);
}

/*
 * What the kernel has taken is cancelled by another system call, if that is not forbidden, too; in any case it ends with the
 * ring. From the cancellation on the kernel touches no buffer of an operation that waits. Of what it does in threads of
 * its own (regular files) nobody can tell when it is done.
 */
static void uring_abandon(struct verge__reactor *reactor, int error) {
    struct uring *uring = uring_of(reactor);
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

const struct verge__reactor_type verge__reactor_uring = {
    .name = "io_uring",
    .open = uring_open,
    .close = uring_close,
    .submit = uring_submit,
    .cancel = uring_cancel,
    .wait = uring_wait,
    .abandon = uring_abandon,
};
