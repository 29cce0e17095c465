/* SPDX-License-Identifier: MIT */
/* The common part of both reactors, and the choice between them. */
#define _GNU_SOURCE

#include "reactor/reactor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

#if !defined(VERGE_HAVE_LIBURING)
#define VERGE_HAVE_LIBURING 0
#endif

int verge__reactor_allocate(const verge__reactor_type *type, const verge_allocator *allocator, size_t size,
                            verge__reactor **ret_reactor) {
    verge__reactor *reactor = allocator->allocate(allocator->context, size, _Alignof(max_align_t));
    if (reactor == NULL) {
        return -ENOMEM;
    }
    memset(reactor, 0, size);
    reactor->type = type;
    reactor->allocator = allocator;
    reactor->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (reactor->wake_fd < 0) {
        const int error = -errno;
        allocator->release(allocator->context, reactor, size);
        return error;
    }
    *ret_reactor = reactor;
    return 0;
}

void verge__reactor_release(verge__reactor *reactor, size_t size) {
    (void)close(reactor->wake_fd);
    reactor->allocator->release(reactor->allocator->context, reactor, size);
}

void verge__reactor_finish(verge__reactor *reactor, verge__operation *operation, int32_t result) {
    VERGE__INVARIANT(operation->state != VERGE__DONE && operation->state != VERGE__IDLE, "O1: done once");
    operation->state = VERGE__DONE;
    operation->result = result;
    reactor->pending_count--;
    verge__list_append(&reactor->done, &operation->link);
}

uint32_t verge__operation_readiness(const verge__operation *operation) {
    switch (operation->kind) {
    case VERGE__ACCEPT:
    case VERGE__READ:
    case VERGE__READV:
    case VERGE__RECV:
    case VERGE__RECVMSG:
        return POLLIN;
    case VERGE__CONNECT:
    case VERGE__WRITE:
    case VERGE__WRITEV:
    case VERGE__SEND:
    case VERGE__SENDMSG:
        return POLLOUT;
    case VERGE__POLL:
        return operation->flags;
    default:
        return 0;
    }
}

/* ---- a reactor that has failed ---- */

bool verge__reactor_refuse(const verge__reactor *reactor, verge__operation *operation) {
    operation->result = reactor->error;
    if (operation->kind == VERGE__CLOSE) {
        operation->result = close(operation->fd) == 0 ? 0 : -errno;
    }
    operation->state = VERGE__DONE;
    return true;
}

/* Waits for the eventfd alone. If somebody has closed the eventfd as well, returns after a nap. */
static void wait_for_wake(verge__reactor *reactor, uint64_t timeout_ns) {
    const uint64_t nap_ns = 1000000;
    const uint64_t never_s = 1000000000;
    struct pollfd wake = {.fd = reactor->wake_fd, .events = POLLIN};
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns != VERGE_NEVER ? timeout_ns / 1000000000 : never_s),
        .tv_nsec = (long)(timeout_ns % 1000000000),
    };
    const int count = ppoll(&wake, 1, &timeout, NULL);
    if (count > 0 && (wake.revents & POLLIN) != 0) {
        (void)!read(reactor->wake_fd, &reactor->wake_count, sizeof(reactor->wake_count));
    } else if (count > 0 || (count < 0 && errno != EINTR)) {
        const struct timespec nap = {.tv_nsec = (long)(timeout_ns < nap_ns ? timeout_ns : nap_ns)};
        (void)nanosleep(&nap, NULL);
    }
}

static void fail(verge__reactor *reactor, int error) {
    reactor->error = error;
    reactor->type->abandon(reactor, error);
    VERGE__INVARIANT(reactor->pending_count == 0, "O1: each is done once");
}

/* ---- waiting ---- */

void verge__reactor_wait(verge__reactor *reactor, uint64_t timeout_ns, verge__list *ret_done) {
    timeout_ns = reactor->done.first != NULL ? 0 : timeout_ns;
    if (VERGE__UNLIKELY(reactor->error != 0)) {
        wait_for_wake(reactor, timeout_ns);
    } else {
        const int error = reactor->type->wait(reactor, timeout_ns);
        if (VERGE__UNLIKELY(error != 0)) {
            fail(reactor, error);
        }
    }
    *ret_done = reactor->done;
    reactor->done = (verge__list){0};
}

void verge__reactor_wake(verge__reactor *reactor) {
    const uint64_t one = 1;
    ssize_t written;
    do { /* does not block: the counter never gets full */
        written = write(reactor->wake_fd, &one, sizeof(one));
    } while (written < 0 && errno == EINTR);
}

/* ---- the choice ---- */

static int open_uring(unsigned entry_count, const verge_allocator *allocator, verge__reactor **ret_reactor) {
#if VERGE_HAVE_LIBURING
    return verge__reactor_uring.open(allocator, entry_count, ret_reactor);
#else
    (void)entry_count;
    (void)allocator;
    (void)ret_reactor;
    return -ENOSYS;
#endif
}

/* Finds the kind of reactor that the environment names, or AUTO if it names none. Returns false if it names an unknown
 * one. */
static bool kind_from_environment(const char *name, verge__reactor_kind *ret_kind) {
    if (name == NULL || *name == '\0') {
        *ret_kind = VERGE__REACTOR_AUTO;
    } else if (strcmp(name, "io_uring") == 0) {
        *ret_kind = VERGE__REACTOR_URING;
    } else if (strcmp(name, "epoll") == 0) {
        *ret_kind = VERGE__REACTOR_EPOLL;
    } else {
        return false;
    }
    return true;
}

const char *verge__reactor_unknown_backend(void) {
    const char *name = getenv("VERGE_BACKEND");
    verge__reactor_kind kind;
    return kind_from_environment(name, &kind) ? NULL : name;
}

int verge__reactor_open(verge__reactor_kind kind, unsigned entry_count, const verge_allocator *allocator,
                        verge__reactor **ret_reactor) {
    if (kind == VERGE__REACTOR_AUTO && !kind_from_environment(getenv("VERGE_BACKEND"), &kind)) {
        return -EINVAL;
    }
    if (kind == VERGE__REACTOR_URING) {
        return open_uring(entry_count, allocator, ret_reactor);
    }
    if (kind == VERGE__REACTOR_AUTO && open_uring(entry_count, allocator, ret_reactor) == 0) {
        return 0;
    }
    return verge__reactor_epoll.open(allocator, entry_count, ret_reactor);
}

void verge__reactor_close(verge__reactor *reactor) {
    VERGE__INVARIANT(reactor->pending_count == 0 && reactor->done.first == NULL, "O2: nothing is pending");
    reactor->type->close(reactor);
}
