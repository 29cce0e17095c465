/* SPDX-License-Identifier: MIT */
/* echo.h - servers that echo 64-byte messages over loopback, and the client that they have in common. */
#ifndef VERGE_BENCH_ECHO_H
#define VERGE_BENCH_ECHO_H

#include <stdbool.h>
#include <stdint.h>

enum { ECHO_CONNECTIONS = 64, ECHO_MESSAGE_SIZE = 64 };

/* Serve a listener until ECHO_CONNECTIONS connections have come and gone, on the calling thread and one more for each
 * further worker. */
void echo_serve_verge(int listener, bool with_deadlines);
void echo_serve_verge_on(int listener, uint32_t worker_count, uint32_t placed_on);
void echo_serve_libuv(int listener);

struct echo_result {
    uint64_t messages;
    double messages_per_second;
    double p50_us, p99_us;
};

/* Connects, keeps one message under way on each connection for so many seconds, and disconnects. */
struct echo_result echo_client(uint16_t port, double seconds);

#endif
