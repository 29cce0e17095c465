/* SPDX-License-Identifier: MIT */
/* reactor/support.h - a reactor of the backend that VERGE_BACKEND names, and helpers for operations. */
#ifndef VERGE_TESTS_REACTOR_SUPPORT_H
#define VERGE_TESTS_REACTOR_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor/reactor.h"
#include "support/allocator.h"
#include "support/cmocka.h"

#define MS UINT64_C(1000000)

struct fixture {
    struct verge_test_allocator memory;
    verge__reactor *reactor;
};

static inline void open_reactor(struct fixture *fixture, unsigned entry_count) {
    verge_test_allocator_init(&fixture->memory);
    assert_int_equal(
        verge__reactor_open(VERGE__REACTOR_AUTO, entry_count, &fixture->memory.allocator, &fixture->reactor), 0);
}

static inline void close_reactor(struct fixture *fixture) {
    assert_int_equal(fixture->reactor->pending_count, 0);
    verge__reactor_close(fixture->reactor);
    verge_test_allocator_assert_empty(&fixture->memory);
}

static inline bool is_uring(const struct fixture *fixture) {
    return strcmp(verge__reactor_name(fixture->reactor), "io_uring") == 0;
}

/* Waits once. Returns how many operations are done, and counts each of them in its owner, an int. */
static inline size_t wait_once(struct fixture *fixture, uint64_t timeout_ns) {
    verge__list done;
    verge__reactor_wait(fixture->reactor, timeout_ns, &done);
    size_t count = 0;
    while (done.first != NULL) {
        verge__operation *operation = verge__operations_take_first(&done);
        assert_int_equal(operation->state, VERGE__DONE);
        if (operation->owner != NULL) {
            ++*(int *)operation->owner;
        }
        count++;
    }
    return count;
}

static inline void expect_done(struct fixture *fixture, const verge__operation *operation) {
    while (operation->state != VERGE__DONE || fixture->reactor->done.first != NULL) {
        (void)wait_once(fixture, VERGE_NEVER);
    }
}

/* Asserts that no other operation is done. */
static inline void expect_quiet(struct fixture *fixture) {
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wait_once(fixture, 0), 0);
    }
    assert_int_equal(wait_once(fixture, MS), 0);
}

/* Submits an operation, and waits for its result. */
static inline int32_t run(struct fixture *fixture, verge__operation *operation) {
    if (!verge__reactor_submit(fixture->reactor, operation)) {
        expect_done(fixture, operation);
    }
    return operation->result;
}

static inline verge__operation transfer_op(enum verge__operation_kind kind, int fd, void *buffer, size_t size) {
    return (verge__operation){
        .kind = (uint8_t)kind,
        .fd = fd,
        .transfer = {.buffer = buffer, .size = size},
        .offset = VERGE__FILE_POSITION,
    };
}

struct pair {
    int near, far;
};

static inline struct pair open_pair(void) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){.near = fds[0], .far = fds[1]};
}

static inline void close_pair(struct pair pair) {
    assert_int_equal(close(pair.near), 0);
    assert_int_equal(close(pair.far), 0);
}

#endif
