/* SPDX-License-Identifier: MIT */
/*
 * Servers echo 64-byte messages over loopback. There are 64 connections, each with one message under way. Each server
 * is a process of its own. The servers take turns.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verge/task.h>

#include "echo.h"
#include "tasks.h"

enum server_kind { with_deadlines, without_deadlines, libuv, kind_count, spread, in_one_place };

static int open_listener(uint16_t *ret_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    bench_check(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 256) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &size) == 0,
                "a server listens");
    *ret_port = address.sin_port;
    return fd;
}

static void serve(enum server_kind kind, int listener) {
    if (kind == libuv) {
#if BENCH_HAVE_LIBUV
        echo_serve_libuv(listener);
#endif
    } else if (kind == spread || kind == in_one_place) {
        echo_serve_verge_on(listener, 2, kind == spread ? VERGE_WORKER_ANY : VERGE_WORKER_HERE);
    } else {
        echo_serve_verge(listener, kind == with_deadlines);
    }
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* *ret_cpu_ns: processor time of the server for one message. */
static struct echo_result measure(enum server_kind kind, double seconds, double *ret_cpu_ns) {
    uint16_t port;
    const int listener = open_listener(&port);
    (void)fflush(stdout);
    const pid_t child = fork();
    bench_check(child >= 0, "a process is started");
    if (child == 0) {
        serve(kind, listener);
        _exit(0);
    }
    (void)close(listener);
    const struct echo_result result = echo_client(port, seconds);
    int status;
    struct rusage usage;
    bench_check(wait4(child, &status, 0, &usage) == child && status == 0, "the server ends well");
    *ret_cpu_ns = (seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)) * 1e9 / (double)result.messages;
    return result;
}

int bench_io_echo(bool quick) {
    static const char *const names[kind_count] = {"verge, deadlines", "verge, none", "libuv"};
    struct bench_series rates[kind_count] = {0}, p50[kind_count] = {0}, p99[kind_count] = {0}, cpu[kind_count] = {0};
    const int rounds = quick ? 2 : 15;
    const int kinds = BENCH_HAVE_LIBUV ? kind_count : libuv;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < kinds; i++) {
            const int kind = round % 2 == 0 ? i : kinds - 1 - i; /* the order alternates */
            double cpu_ns;
            const struct echo_result result = measure((enum server_kind)kind, quick ? 0.3 : 1.0, &cpu_ns);
            bench_add(&cpu[kind], cpu_ns);
            bench_add(&rates[kind], result.messages_per_second);
            bench_add(&p50[kind], result.p50_us);
            bench_add(&p99[kind], result.p99_us);
        }
    }
    printf("echo: %d connections, 64-byte messages, one server thread\n", (int)ECHO_CONNECTIONS);
    for (int kind = 0; kind < kinds; kind++) {
        printf("    %-18s %8.0f messages/s, p50 %6.1f us, p99 %6.1f us, %6.0f ns of the server's processor each\n",
               names[kind], bench_median(&rates[kind]), bench_median(&p50[kind]), bench_median(&p99[kind]),
               bench_median(&cpu[kind]));
    }
    int missed = bench_require("rate of deadlines to none",
                               bench_ratio(&rates[with_deadlines], &rates[without_deadlines]), ">=", 0.97);
    if (kinds == kind_count) {
        const char *backend = getenv("VERGE_BACKEND");
        const bool is_epoll = backend != NULL && strcmp(backend, "epoll") == 0;
        missed +=
            bench_require("rate of deadlines to libuv", bench_ratio(&rates[with_deadlines], &rates[libuv]), ">=", 1.0);
        missed += bench_require("processor time of deadlines to libuv", bench_ratio(&cpu[with_deadlines], &cpu[libuv]),
                                "<=", is_epoll ? 1.05 : 1.0);
    }
    return missed;
}

/* A server has two workers: each gets every second connection, or one accepts all and spawns their tasks on itself. */
int bench_io_balance(bool quick) {
    struct bench_series rates[2] = {0}, cpu[2] = {0};
    for (int round = 0; round < (quick ? 2 : 15); round++) {
        for (int i = 0; i < 2; i++) {
            const int k = round % 2 == 0 ? i : 1 - i;
            double cpu_ns;
            const struct echo_result result = measure(k == 0 ? spread : in_one_place, quick ? 0.3 : 1.0, &cpu_ns);
            bench_add(&rates[k], result.messages_per_second);
            bench_add(&cpu[k], cpu_ns);
        }
    }
    printf("balance: %d connections, 64-byte messages, a server of two workers\n", (int)ECHO_CONNECTIONS);
    printf("    spread by turns %.0f messages/s, %.0f ns of processor each; accepted and spawned by one worker %.0f, "
           "%.0f\n",
           bench_median(&rates[0]), bench_median(&cpu[0]), bench_median(&rates[1]), bench_median(&cpu[1]));
    return bench_require("rate of one worker's to spread", bench_ratio(&rates[1], &rates[0]), ">=", 0.9);
}
