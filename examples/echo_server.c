/* SPDX-License-Identifier: MIT */
/*
 * An echo server with idle timeouts. It has a task for each connection, which reads with a deadline and closes the
 * connection if the client was silent for too long. The clients are tasks of the same runtime; every third of them
 * falls silent.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <verge/verge.h>

#include "loopback.h"

#define MS UINT64_C(1000000)
#define IDLE_TIMEOUT (300 * MS)

enum { CLIENTS = 30, MESSAGES = 20 };

struct server {
    int listener;
    struct sockaddr_in address;
    atomic_uint echoed, closed_idle, closed_by_peer, errors;
};

static struct server server;

/* ---- the server ---- */

static intptr_t serve(void *argument) {
    const int fd = (int)(intptr_t)argument;
    char buffer[256];
    for (;;) {
        const ptrdiff_t size = verge_recv(fd, buffer, sizeof(buffer), 0, verge_deadline_after(IDLE_TIMEOUT));
        if (size == -ETIMEDOUT) {
            atomic_fetch_add(&server.closed_idle, 1);
            break;
        }
        if (size <= 0) {
            atomic_fetch_add(size == 0 ? &server.closed_by_peer : &server.errors, 1);
            break;
        }
        if (verge_send_all(fd, buffer, (size_t)size, 0, NULL, verge_deadline_after(IDLE_TIMEOUT)) != 0) {
            atomic_fetch_add(&server.errors, 1);
            break;
        }
        atomic_fetch_add(&server.echoed, 1);
    }
    return verge_close(fd);
}

static intptr_t accept_connections(void *argument) {
    (void)argument;
    for (;;) { /* until it is cancelled */
        const int fd = verge_accept(server.listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
        if (fd < 0) { /* the client has gone already, or there is no descriptor left: go on with the next */
            if (fd == -ECANCELED || fd == -EBADF || fd == -EINVAL || verge_sleep(10 * MS) != 0) {
                return fd;
            }
            continue;
        }
        if (verge_spawn(serve, (void *)(intptr_t)fd, NULL) != 0) {
            atomic_fetch_add(&server.errors, 1);
            (void)verge_close(fd);
        }
    }
}

/* ---- its clients ---- */

static intptr_t talk(void *argument) {
    const int number = (int)(intptr_t)argument;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = verge_connect(fd, (struct sockaddr *)&server.address, sizeof(server.address),
                               verge_deadline_after(5000 * MS)) != 0;
    for (int i = 0; i < MESSAGES && !failed; i++) {
        char message[32] = {0}, answer[32];
        (void)snprintf(message, sizeof(message), "client %d, message %d", number, i);
        failed = verge_send_all(fd, message, sizeof(message), 0, NULL, VERGE_NEVER) != 0 ||
                 verge_read_all(fd, answer, sizeof(answer), NULL, verge_deadline_after(5000 * MS)) != 0 ||
                 memcmp(message, answer, sizeof(message)) != 0;
    }
    if (number % 3 == 0 && !failed) { /* silent from now on: the server hangs up */
        char byte;
        failed = verge_recv(fd, &byte, 1, 0, verge_deadline_after(5000 * MS)) != 0;
    }
    (void)verge_close(fd);
    return failed;
}

static intptr_t run(void *argument) {
    verge_task *acceptor, *clients[CLIENTS];
    intptr_t failures = 0, failed = 0;
    (void)argument;
    if (verge_spawn(accept_connections, NULL, &acceptor) != 0) {
        return 1;
    }
    verge_spawn_options options;
    (void)verge_spawn_options_init(&options, sizeof(options));
    options.function = talk;
    options.worker_id = 1; /* the clients stay on the other worker */
    for (int i = 0; i < CLIENTS; i++) {
        options.argument = (void *)(intptr_t)i;
        if (verge_spawn_with(&options, &clients[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        failures += verge_task_join(clients[i], &failed, VERGE_NEVER) != 0 || failed != 0;
    }
    (void)verge_task_cancel(acceptor);
    failures += verge_task_join(acceptor, &failed, VERGE_NEVER) != 0 || failed != -ECANCELED;
    return failures;
}

int main(int argc, char **argv) {
    verge_runtime_options options;
    verge_runtime *runtime;
    verge_scope *scope = NULL; /* with --scope, a page in the browser shows its timers (verge_scope_create) */
    intptr_t failures = 1;
    server.listener = loopback_listen(&server.address, 64);
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true; /* names the task if a stack overflows */
    options.worker_count = 2;
    if (server.listener < 0 || verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--scope") == 0) {
        if (verge_scope_create(NULL, runtime, NULL, &scope) != 0) {
            return 1;
        }
        printf("to look at its timers: verge scope --connect %s\n", verge_scope_address(scope));
    }
    const int error = verge_runtime_run(runtime, run, NULL, &failures);
    (void)verge_scope_destroy(scope);
    (void)verge_runtime_destroy(runtime);
    printf("%u messages echoed, %u connections closed after %u ms of silence, %u by their clients\n", server.echoed,
           server.closed_idle, (unsigned)(IDLE_TIMEOUT / MS), server.closed_by_peer);
    return error != 0 || failures != 0 || server.errors != 0 || server.echoed < CLIENTS * MESSAGES / 2 ||
           server.closed_idle + server.closed_by_peer != CLIENTS;
}
