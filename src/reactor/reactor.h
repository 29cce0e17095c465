/* SPDX-License-Identifier: MIT */
/*
 * reactor/reactor.h - where a worker waits: for operations to be done, for a time, for a wake.
 *
 * Two kinds with the same meaning. io_uring hands operations to the kernel, and batches them: one
 * system call a turn submits, waits and collects. epoll tries them at once without blocking, waits
 * for readiness if need be and tries again; what knows no readiness (regular files, fsync, openat,
 * close) is done directly, and blocks the worker for as long as it takes.
 *
 * A reactor belongs to the thread that opens it. Only verge__reactor_wake is for any thread.
 *
 * A reactor fails when the kernel will not wait for it any more: a filter forbids io_uring_enter, or somebody has closed its
 * descriptor. All operations that are pending end with the error, and so do all that are submitted later; but for close, which
 * is done. A failed reactor still waits for time and wakes.
 *
 * Cancel is a wish: an operation that has its result by then keeps it. Nothing that was read is
 * lost, and the caller learns which it was by the result: -ECANCELED, or anything else.
 */
#ifndef VERGE_SRC_REACTOR_REACTOR_H
#define VERGE_SRC_REACTOR_REACTOR_H

#include "base/compiler.h"
#include "reactor/operation.h"
#include "verge/base.h"

enum verge__reactor_kind {
    VERGE__REACTOR_AUTO, /* what VERGE_BACKEND says; else io_uring if it can be set up; else epoll */
    VERGE__REACTOR_URING,
    VERGE__REACTOR_EPOLL,
};

struct verge__reactor {
    const struct verge__reactor_type *type;
    const verge_allocator *allocator;
    struct verge__operation_list done; /* what the next wait returns first */
    size_t pending_count;              /* submitted and not yet in done */
    int wake_fd;                       /* an eventfd */
    uint64_t wake_count;               /* what was read from it */
    int error;                         /* why it has failed; 0: it has not */
    unsigned refusals;                 /* for tests: io_uring finds its queue full so many times, and cannot empty it */
    int injected_error;                /* for tests: what the next system call that waits is to fail with; 0: nothing */
};

/* See the functions below. */
struct verge__reactor_type {
    const char *name;
    int (*open)(const verge_allocator *allocator, unsigned entry_count, struct verge__reactor **ret_reactor);
    void (*close)(struct verge__reactor *reactor);
    bool (*submit)(struct verge__reactor *reactor, struct verge__operation *operation);
    void (*cancel)(struct verge__reactor *reactor, struct verge__operation *operation);
    int (*wait)(struct verge__reactor *reactor, uint64_t timeout_ns); /* not 0: it has failed */
    void (*abandon)(struct verge__reactor *reactor, int error);       /* ends all that is pending */
};

/* entry_count: of the rings of io_uring; 0 for the default. -EINVAL: an unknown VERGE_BACKEND; -ENOSYS: one that is not
 * in this build; else what the kernel says. */
int verge__reactor_open(enum verge__reactor_kind kind, unsigned entry_count, const verge_allocator *allocator,
                        struct verge__reactor **ret_reactor);

/* Nothing must be pending. */
void verge__reactor_close(struct verge__reactor *reactor);

/* For what a backend itself has to do after a while, whatever the clock of its user. */
static inline uint64_t verge__reactor_real_now_ns(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

/* "io_uring" or "epoll". */
static inline const char *verge__reactor_name(const struct verge__reactor *reactor) {
    return reactor->type->name;
}

/* For a reactor that has failed: done at once, with its error. */
bool verge__reactor_refuse(const struct verge__reactor *reactor, struct verge__operation *operation);

/* True: done at once. False: it will be among what a wait returns. */
static inline bool verge__reactor_submit(struct verge__reactor *reactor, struct verge__operation *operation) {
    if (VERGE__UNLIKELY(reactor->error != 0)) {
        return verge__reactor_refuse(reactor, operation);
    }
    return reactor->type->submit(reactor, operation);
}

/* For an operation that was submitted and is not done; any number of times. It is done soon, by a wait. */
static inline void verge__reactor_cancel(struct verge__reactor *reactor, struct verge__operation *operation) {
    reactor->type->cancel(reactor, operation);
}

/*
 * Submits what is queued, and waits until an operation is done, somebody wakes it, or timeout_ns have
 * passed (0: does not wait; VERGE_NEVER: no time limits it). It may return early. *ret_done gets
 * what is done, in order.
 */
void verge__reactor_wait(struct verge__reactor *reactor, uint64_t timeout_ns, struct verge__operation_list *ret_done);

/* From any thread: the wait that is going on, or else the next one, returns at once. */
void verge__reactor_wake(struct verge__reactor *reactor);

/* ---- for the two kinds ---- */

extern const struct verge__reactor_type verge__reactor_epoll;
extern const struct verge__reactor_type verge__reactor_uring; /* only where liburing was found */

/* Zeroed memory for a reactor of this size, with its eventfd. */
int verge__reactor_allocate(const struct verge__reactor_type *type, const verge_allocator *allocator, size_t size,
                            struct verge__reactor **ret_reactor);
void verge__reactor_release(struct verge__reactor *reactor, size_t size);

void verge__reactor_finish(struct verge__reactor *reactor, struct verge__operation *operation, int32_t result);

/* What readiness an operation needs, as the events of poll; 0 if it knows none. */
uint32_t verge__operation_readiness(const struct verge__operation *operation);

#endif
