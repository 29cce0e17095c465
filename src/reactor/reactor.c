/* SPDX-License-Identifier: MIT */
/* What the two kinds of reactor share, and the choice between them. */
#define _GNU_SOURCE

#include "reactor/reactor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"

#if !defined(VERGE_HAVE_LIBURING)
#define VERGE_HAVE_LIBURING 0
#endif

int verge__reactor_allocate(const struct verge__reactor_type *type, const verge_allocator *allocator, size_t size,
                            struct verge__reactor **ret_reactor) {
    struct verge__reactor *reactor = allocator->allocate(allocator->context, size, _Alignof(max_align_t));
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

void verge__reactor_release(struct verge__reactor *reactor, size_t size) {
    (void)close(reactor->wake_fd);
    reactor->allocator->release(reactor->allocator->context, reactor, size);
}

void verge__reactor_finish(struct verge__reactor *reactor, struct verge__operation *operation, int32_t result) {
    VERGE__INVARIANT(operation->state != VERGE__DONE && operation->state != VERGE__IDLE, "O1: done once");
    operation->state = VERGE__DONE;
    operation->result = result;
    reactor->pending_count--;
    verge__operations_append(&reactor->done, operation);
}

uint32_t verge__operation_readiness(const struct verge__operation *operation) {
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

void verge__reactor_wait(struct verge__reactor *reactor, uint64_t timeout_ns, struct verge__operation_list *ret_done) {
    reactor->type->wait(reactor, reactor->done.first != NULL ? 0 : timeout_ns);
    *ret_done = reactor->done;
    reactor->done = (struct verge__operation_list){0};
}

void verge__reactor_wake(struct verge__reactor *reactor) {
    const uint64_t one = 1;
    ssize_t written;
    do { /* EAGAIN: 2^64 - 2 wakes have not been seen yet; one more is no news */
        written = write(reactor->wake_fd, &one, sizeof(one));
    } while (written < 0 && errno == EINTR);
}

/* ---- the choice ---- */

static int open_uring(unsigned entry_count, const verge_allocator *allocator, struct verge__reactor **ret_reactor) {
#if VERGE_HAVE_LIBURING
    return verge__reactor_uring.open(allocator, entry_count, ret_reactor);
#else
    (void)entry_count;
    (void)allocator;
    (void)ret_reactor;
    return -ENOSYS;
#endif
}

static int kind_from_environment(enum verge__reactor_kind *kind) {
    const char *name = getenv("VERGE_BACKEND");
    if (name == NULL || *name == '\0') {
        return 0;
    }
    if (strcmp(name, "io_uring") == 0) {
        *kind = VERGE__REACTOR_URING;
    } else if (strcmp(name, "epoll") == 0) {
        *kind = VERGE__REACTOR_EPOLL;
    } else {
        return -EINVAL;
    }
    return 0;
}

int verge__reactor_open(enum verge__reactor_kind kind, unsigned entry_count, const verge_allocator *allocator,
                        struct verge__reactor **ret_reactor) {
    if (kind == VERGE__REACTOR_AUTO) {
        const int error = kind_from_environment(&kind);
        if (error != 0) {
            return error;
        }
    }
    if (kind == VERGE__REACTOR_URING) {
        return open_uring(entry_count, allocator, ret_reactor);
    }
    if (kind == VERGE__REACTOR_AUTO && open_uring(entry_count, allocator, ret_reactor) == 0) {
        return 0;
    }
    return verge__reactor_epoll.open(allocator, entry_count, ret_reactor);
}

void verge__reactor_close(struct verge__reactor *reactor) {
    VERGE__INVARIANT(reactor->pending_count == 0 && reactor->done.first == NULL, "O2: nothing is pending");
    reactor->type->close(reactor);
}
