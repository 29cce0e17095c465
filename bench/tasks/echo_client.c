/* SPDX-License-Identifier: MIT */
/* The client of the echo servers: a plain epoll loop, the same for every server. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo.h"
#include "tasks.h"

enum { latency_buckets = 200000 }; /* each of 100 ns */

struct connection {
    int fd;
    size_t received; /* how many bytes of the message under way have come back */
    double sent_ns;
};

static struct connection connections[ECHO_CONNECTIONS];
static uint32_t latencies[latency_buckets];
static const char message[ECHO_MESSAGE_SIZE] = "verge";

static void send_message(struct connection *connection) {
    connection->received = 0;
    connection->sent_ns = bench_now_ns();
    bench_check(send(connection->fd, message, sizeof(message), MSG_NOSIGNAL) == (ssize_t)sizeof(message),
                "the client sends");
}

static void open_connections(uint16_t port, int epoll) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < ECHO_CONNECTIONS; i++) {
        const int on = 1;
        struct connection *connection = &connections[i];
        connection->fd = socket(AF_INET, SOCK_STREAM, 0);
        bench_check(connect(connection->fd, (const struct sockaddr *)&address, sizeof(address)) == 0,
                    "the client connects");
        (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        bench_check(epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event) == 0, "the client waits for it");
    }
}

static double percentile_us(uint64_t count, double share) {
    uint64_t sum = 0;
    for (int i = 0; i < latency_buckets; i++) {
        sum += latencies[i];
        if ((double)sum >= share * (double)count) {
            return (i + 1) / 10.0;
        }
    }
    return latency_buckets / 10.0;
}

/* Returns true if the whole message is back. */
static bool receive(struct connection *connection) {
    char buffer[ECHO_MESSAGE_SIZE];
    const ssize_t size = recv(connection->fd, buffer, sizeof(buffer) - connection->received, MSG_DONTWAIT);
    bench_check(size > 0 || (size < 0 && errno == EAGAIN), "the server answers");
    connection->received += size > 0 ? (size_t)size : 0;
    if (connection->received < sizeof(message)) {
        return false;
    }
    const double bucket = (bench_now_ns() - connection->sent_ns) / 100;
    latencies[bucket < latency_buckets ? (int)bucket : latency_buckets - 1]++;
    return true;
}

struct echo_result echo_client(uint16_t port, double seconds) {
    const int epoll = epoll_create1(0);
    struct epoll_event events[ECHO_CONNECTIONS];
    memset(latencies, 0, sizeof(latencies));
    open_connections(port, epoll);
    uint64_t count = 0;
    const double begin_ns = bench_now_ns();
    for (int i = 0; i < ECHO_CONNECTIONS; i++) {
        send_message(&connections[i]);
    }
    while (bench_now_ns() - begin_ns < seconds * 1e9) {
        const int ready = epoll_wait(epoll, events, ECHO_CONNECTIONS, 1000);
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if (receive(connection)) {
                count++;
                send_message(connection);
            }
        }
    }
    const double duration_s = (bench_now_ns() - begin_ns) / 1e9;
    for (int i = 0; i < ECHO_CONNECTIONS; i++) {
        (void)close(connections[i].fd);
    }
    (void)close(epoll);
    bench_check(count > ECHO_CONNECTIONS, "messages were echoed");
    return (struct echo_result){
        .messages = count,
        .messages_per_second = (double)count / duration_s,
        .p50_us = percentile_us(count, 0.5),
        .p99_us = percentile_us(count, 0.99),
    };
}
