/* SPDX-License-Identifier: MIT */
/* loopback.h - a listening socket of this machine, for the examples that need a server to talk to. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <netinet/in.h>
#include <sys/socket.h>

/* Returns a listening socket, or -1 on failure. *ret_address gets its address. */
static inline int loopback_listen(struct sockaddr_in *ret_address, int backlog) {
    socklen_t size = sizeof(*ret_address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int failed = fd < 0 || bind(fd, (struct sockaddr *)ret_address, size) != 0 || listen(fd, backlog) != 0 ||
                       getsockname(fd, (struct sockaddr *)ret_address, &size) != 0;
    return failed ? -1 : fd;
}

#endif
