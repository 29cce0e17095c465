/* SPDX-License-Identifier: MIT */
/*
 * load PORT BUSY IDLE REQUESTS REQUEST: a client for servers on 127.0.0.1. It opens BUSY + IDLE connections and makes a
 * request on each. Then each busy connection makes a request as soon as it has the response to the last one, REQUESTS
 * in all. The idle ones stay open until the end. All responses must have the length of the first one.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, RESPONSE_MAX = 65536 };

static char response[RESPONSE_MAX];

static void require(int condition, const char *what) {
    if (!condition) {
        perror(what);
        exit(1);
    }
}

static int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(fd >= 0, "socket");
    require(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0, "setsockopt");
    require(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    return fd;
}

static void request_on(int fd, const char *request) {
    require(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request), "send");
}

/* The length of a response: nothing follows it for a second. */
static size_t length_of_response(int port, const char *request) {
    int fd = connect_to(port);
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    request_on(fd, request);
    while (poll(&entry, 1, length == 0 ? 60000 : 1000) == 1) {
        ssize_t count = recv(fd, response, sizeof(response), 0);
        require(count > 0, "recv");
        length += (size_t)count;
    }
    require(length > 0, "no response");
    close(fd);
    return length;
}

static void read_whole(int fd, size_t length) {
    while (length > 0) {
        ssize_t count = recv(fd, response, length < sizeof(response) ? length : sizeof(response), 0);
        require(count > 0, "recv");
        length -= (size_t)count;
    }
}

int main(int argc, char **argv) {
    require(argc == 6, "usage: load PORT BUSY IDLE REQUESTS REQUEST");
    const int port = atoi(argv[1]);
    const size_t busy = strtoul(argv[2], NULL, 10), idle = strtoul(argv[3], NULL, 10);
    size_t to_send = strtoul(argv[4], NULL, 10), to_receive = to_send;
    const char *request = argv[5];
    const struct rlimit files = {busy + idle + 64, busy + idle + 64};
    require(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
    const size_t length = length_of_response(port, request);
    size_t *missing = calloc(busy + idle + 64, sizeof(*missing)); /* bytes of its response, by descriptor */
    int epoll = epoll_create1(0);
    for (size_t i = 0; i < busy + idle; i++) {
        int fd = connect_to(port);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        request_on(fd, request);
        read_whole(fd, length);
        if (i >= idle && to_send > 0) {
            require(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
            missing[fd] = length;
        }
    }
    for (int fd = 0; fd < (int)(busy + idle + 64); fd++) {
        if (missing[fd] > 0 && to_send > 0) {
            to_send--;
            request_on(fd, request);
        }
    }
    while (to_receive > 0) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, 60000);
        require(count > 0, "epoll_wait");
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            ssize_t bytes = recv(fd, response, missing[fd], 0);
            require(bytes > 0, "recv");
            missing[fd] -= (size_t)bytes;
            if (missing[fd] == 0) {
                to_receive--;
                missing[fd] = length;
                if (to_send > 0) {
                    to_send--;
                    request_on(fd, request);
                }
            }
        }
    }
    free(missing);
    return 0;
}
