/* SPDX-License-Identifier: MIT */
/*
 * reactor/reactor.h - where a worker waits: for operations, for a time, or for a wake-up by another thread.
 *
 * There are two kinds of reactors, which do the same for their caller. io_uring hands operations to the kernel in
 * batches: in each round of the worker's loop, one system call submits, waits and collects. epoll tries an operation
 * without blocking, waits for readiness if necessary, and tries again. Some operations have no readiness, and with
 * epoll they need threads. Regular files are read and written at once, as far as the page cache has the data, or room
 * for it. The runtime makes the rest of such a call on a thread (task/blocking.c), and also readv and writev of regular
 * files, fsync and openat. In virtual time there is no thread: these calls are made at once, and may block.
 *
 * A reactor belongs to the thread that opens it. Other threads may only call verge__reactor_wake.
 *
 * A reactor fails if waiting returns a lasting error: for example, a filter forbids io_uring_enter, or somebody has
 * closed the descriptor of the reactor. All pending operations without a result, and all that are submitted later, end
 * with the error. Only close is still done. A failed reactor still waits for times and wake-ups.
 *
 * Cancel is a request. An operation that already has its result keeps it, so no data is lost. Only a result of
 * -ECANCELED means that the operation was cancelled.
 */
#ifndef VERGE_SRC_REACTOR_REACTOR_H
#define VERGE_SRC_REACTOR_REACTOR_H

#include "base/compiler.h"
#include "reactor/operation.h"
#include "verge/base.h"

typedef enum verge__reactor_kind {
    VERGE__REACTOR_AUTO, /* the kind that VERGE_BACKEND names; without it io_uring, or epoll if that cannot be set up */
    VERGE__REACTOR_URING,
    VERGE__REACTOR_EPOLL,
} verge__reactor_kind;

typedef struct verge__reactor_type verge__reactor_type;

typedef struct verge__reactor {
    const verge__reactor_type *type;
    const verge_allocator *allocator;
    verge__list done;     /* operations that the next wait returns */
    size_t pending_count; /* operations that were submitted and are not in `done` yet */
    int wake_fd;          /* an eventfd */
    uint64_t wake_count;  /* the buffer for reading wake_fd */
    int error;            /* why the reactor has failed; 0: it has not */
    unsigned refusals;    /* for tests: how many more times io_uring finds its queue full */
    int injected_error;   /* for tests: the error of the next system call that waits; 0: none */
} verge__reactor;

/* See the functions below. */
struct verge__reactor_type {
    const char *name;
    int (*open)(const verge_allocator *allocator, unsigned entry_count, verge__reactor **ret_reactor);
    void (*close)(verge__reactor *reactor);
    bool (*submit)(verge__reactor *reactor, verge__operation *operation);
    void (*cancel)(verge__reactor *reactor, verge__operation *operation);
    int (*wait)(verge__reactor *reactor, uint64_t timeout_ns); /* not 0: why the reactor has failed */
    void (*abandon)(verge__reactor *reactor, int error);       /* ends all pending operations */
};

/* entry_count is the size of io_uring's submission queue; 0: the default. -EINVAL: an unknown VERGE_BACKEND. -ENOSYS:
 * this build has no io_uring, or the kernel lacks a feature of it. Otherwise -ENOMEM, or the error of the kernel. */
int verge__reactor_open(verge__reactor_kind kind, unsigned entry_count, const verge_allocator *allocator,
                        verge__reactor **ret_reactor);

/* The value of VERGE_BACKEND in the environment, if it is no known name; otherwise NULL. */
const char *verge__reactor_unknown_backend(void);

/* Closes a reactor. No operation may be pending. */
void verge__reactor_close(verge__reactor *reactor);

/* The real time, for delays of the backend itself. The clock of the runtime may be another. */
static inline uint64_t verge__reactor_real_now_ns(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

/* "io_uring" or "epoll". */
static inline const char *verge__reactor_name(const verge__reactor *reactor) {
    return reactor->type->name;
}

/* Ends an operation that is submitted to a failed reactor: at once, with the reactor's error. Exception: a CLOSE still
 * closes the file. Returns true. */
bool verge__reactor_refuse(const verge__reactor *reactor, verge__operation *operation);

/* Submits an operation. True: it is done already. False: a later wait will return it. */
static inline bool verge__reactor_submit(verge__reactor *reactor, verge__operation *operation) {
    if (VERGE__UNLIKELY(reactor->error != 0)) {
        return verge__reactor_refuse(reactor, operation);
    }
    return reactor->type->submit(reactor, operation);
}

/* Asks for the end of an operation that was submitted and is not done. May be called several times. A wait returns the
 * operation soon. */
static inline void verge__reactor_cancel(verge__reactor *reactor, verge__operation *operation) {
    reactor->type->cancel(reactor, operation);
}

/*
 * Submits queued operations, and waits until an operation is done, another thread wakes the reactor, or timeout_ns have
 * passed (0: does not wait; VERGE_NEVER: no limit). It may return early. *ret_done gets the operations that are done,
 * in the order in which they became DONE.
 */
void verge__reactor_wait(verge__reactor *reactor, uint64_t timeout_ns, verge__list *ret_done);

/* From any thread: the current wait returns at once or, if there is none, the next one does. */
void verge__reactor_wake(verge__reactor *reactor);

/* ---- for the two kinds ---- */

extern const verge__reactor_type verge__reactor_epoll;
extern const verge__reactor_type verge__reactor_uring; /* only in builds with liburing */

/* Allocates zeroed memory for a reactor of this size, and opens its eventfd. */
int verge__reactor_allocate(const verge__reactor_type *type, const verge_allocator *allocator, size_t size,
                            verge__reactor **ret_reactor);
void verge__reactor_release(verge__reactor *reactor, size_t size);

void verge__reactor_finish(verge__reactor *reactor, verge__operation *operation, int32_t result);

/* The readiness that an operation needs, as events of poll; 0: it has none. */
uint32_t verge__operation_readiness(const verge__operation *operation);

#endif
