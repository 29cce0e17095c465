/* SPDX-License-Identifier: MIT */
/* scope/peer.h - starts a scope, and talks to it as clients do, through plain sockets. */
#ifndef VERGE_TESTS_SCOPE_PEER_H
#define VERGE_TESTS_SCOPE_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "verge/scope.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)
#define TOKEN "tests-0123456789-abcdef"

static inline uint64_t peer_now(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

static inline void peer_pause(uint64_t ns) {
    const struct timespec duration = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    (void)nanosleep(&duration, NULL);
}

/* Starts a scope on a free port of the loopback. */
static inline verge_scope *peer_scope(verge_service *service, const verge_allocator *allocator) {
    verge_scope_options options = {.struct_size = sizeof(options)};
    verge_scope *scope = NULL;
    options.address = "tcp:0";
    options.token = TOKEN;
    options.name = "peer \"<x>\"";
    options.allocator = allocator;
    assert_int_equal(verge_scope_create(service, NULL, &options, &scope), 0);
    assert_non_null(scope);
    return scope;
}

static inline uint16_t peer_port(const verge_scope *scope) {
    static const char before[] = "http://127.0.0.1:";
    const char *address = verge_scope_address(scope);
    assert_int_equal(strncmp(address, before, sizeof(before) - 1), 0);
    return (uint16_t)strtoul(address + sizeof(before) - 1, NULL, 10);
}

/* Returns a socket that is connected, or -1. Reads give up after ten minutes, so that a test ends. */
static inline int peer_connect(uint16_t port) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 600};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

static inline void peer_send(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Returns what the server sends until the connection ends, or until it has sent this text. */
static inline char *peer_receive(int fd, const char *until) {
    enum { ROOM = 1 << 20 };
    static char text[ROOM];
    size_t size = 0;
    text[0] = '\0';
    while (size < ROOM - 1 && (until == NULL || strstr(text, until) == NULL)) {
        const ssize_t more = recv(fd, text + size, ROOM - 1 - size, 0);
        if (more <= 0) {
            break;
        }
        size += (size_t)more;
        text[size] = '\0';
    }
    return text;
}

/* Makes a request on a new connection, and returns the whole answer. `fields`: more lines for the head. */
static inline char *peer_ask(uint16_t port, const char *method, const char *path, const char *fields) {
    char request[1024];
    const int fd = peer_connect(port);
    assert_true(fd >= 0);
    (void)snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n%s\r\n",
                   method, path, port, fields);
    peer_send(fd, request);
    char *answer = peer_receive(fd, NULL);
    (void)close(fd);
    return answer;
}

static inline int peer_status(const char *answer) {
    static const char before[] = "HTTP/1.1 ";
    const size_t size = sizeof(before) - 1;
    return strncmp(answer, before, size) == 0 ? (int)strtol(answer + size, NULL, 10) : -1;
}

#endif
