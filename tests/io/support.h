/* SPDX-License-Identifier: MIT */
/* io/support.h - sockets for the tests of I/O. */
#ifndef VERGE_TESTS_IO_SUPPORT_H
#define VERGE_TESTS_IO_SUPPORT_H

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

struct pair {
    int near, far;
};

static inline struct pair open_pair(void) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){.near = fds[0], .far = fds[1]};
}

static inline void close_pair(struct pair pair) {
    CHECK_EQUAL(close(pair.near), 0);
    CHECK_EQUAL(close(pair.far), 0);
}

static inline int listen_on_loopback(struct sockaddr_in *ret_address) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(*ret_address);
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQUAL(bind(fd, (struct sockaddr *)ret_address, size), 0);
    CHECK_EQUAL(listen(fd, 64), 0);
    CHECK_EQUAL(getsockname(fd, (struct sockaddr *)ret_address, &size), 0);
    return fd;
}

static inline bool is_uring(void) {
    const char *backend = stats_of(verge_task_runtime()).backend;
    return backend != NULL && strcmp(backend, "io_uring") == 0;
}

#endif
