/* SPDX-License-Identifier: MIT */
/*
 * Serves the statistics of a service over HTTP, for Prometheus. The server has a task for each connection. A request
 * and its answer must not take longer than a second.
 *
 * The program sends itself two requests, checks the answers, and ends. With any argument it prints the address and
 * serves instead: use curl, or let Prometheus scrape it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/verge.h>

#include "loopback.h"

#define MS UINT64_C(1000000)

enum { TEXT_SIZE = 64 << 10, REQUEST_SIZE = 4096 };

static struct sockaddr_in address;
static int listener;
static verge_service *service;

/* ---- the server ---- */

static int answer(int fd, const char *status, const char *body, size_t size) {
    char head[256];
    const int length = snprintf(head, sizeof(head),
                                "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                                status, size);
    const int error = verge_send_all(fd, head, (size_t)length, 0, NULL, VERGE_NEVER);
    return error != 0 ? error : verge_send_all(fd, body, size, 0, NULL, VERGE_NEVER);
}

/* Reads the head of a request, up to the empty line. Returns 0, or an error. */
static int read_request(int fd, char *request) {
    size_t size = 0;
    while (size + 1 < REQUEST_SIZE) {
        const ptrdiff_t more = verge_recv(fd, request + size, REQUEST_SIZE - 1 - size, 0, VERGE_NEVER);
        if (more <= 0) {
            return more == 0 ? -ECONNRESET : (int)more;
        }
        size += (size_t)more;
        request[size] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL) {
            return 0;
        }
    }
    return -EMSGSIZE;
}

static int answer_metrics(int fd) {
    const verge_label example[] = {{"service", "example"}, {NULL, NULL}};
    const verge_label *labels[] = {example};
    char *text = malloc(TEXT_SIZE); /* too large for the stack of a task */
    const int length = text == NULL ? -ENOMEM : verge_service_metrics(&service, labels, 1, false, text, TEXT_SIZE);
    const int error = length < 0 || length >= TEXT_SIZE ? answer(fd, "500 Internal Server Error", "", 0)
                                                        : answer(fd, "200 OK", text, (size_t)length);
    free(text);
    return error;
}

static intptr_t serve(void *argument) {
    const int fd = (int)(intptr_t)argument;
    char request[REQUEST_SIZE];
    verge_deadline second;
    (void)verge_deadline_push(&second, verge_deadline_after(1000 * MS));
    if (read_request(fd, request) == 0) {
        (void)(strncmp(request, "GET /metrics ", 13) == 0 ? answer_metrics(fd) : answer(fd, "404 Not Found", "", 0));
    }
    (void)verge_deadline_pop(&second);
    return verge_close(fd);
}

static intptr_t accept_connections(void *argument) {
    (void)argument;
    for (;;) {
        const int fd = verge_accept(listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
        if (fd < 0) { /* the client has gone already, or there is no descriptor left: go on with the next */
            if (fd == -ECANCELED || fd == -EBADF || fd == -EINVAL || verge_sleep(10 * MS) != 0) {
                return fd;
            }
            continue;
        }
        if (verge_spawn(serve, (void *)(intptr_t)fd, NULL) != 0) {
            (void)verge_close(fd);
        }
    }
}

/* ---- a client ---- */

/* Gets the whole answer of the server for a path, including the head. */
static int get(const char *path, char *text, size_t size) {
    char request[128];
    size_t length = 0;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    int error = verge_connect(fd, (struct sockaddr *)&address, sizeof(address), verge_deadline_after(1000 * MS));
    if (error == 0) {
        error = verge_send_all(fd, request, strlen(request), 0, NULL, verge_deadline_after(1000 * MS));
    }
    if (error == 0) { /* the server closes the connection at the end of its answer */
        error = verge_read_all(fd, text, size - 1, &length, verge_deadline_after(1000 * MS));
    }
    text[length] = '\0';
    (void)verge_close(fd);
    return error == -ENODATA ? 0 : error;
}

static intptr_t ask(void *argument) {
    static char text[TEXT_SIZE];
    verge_task *server;
    (void)argument;
    if (verge_spawn(accept_connections, NULL, &server) != 0) {
        return 1;
    }
    intptr_t failed = get("/nothing", text, sizeof(text)) != 0 || strncmp(text, "HTTP/1.1 404 ", 13) != 0;
    failed |= get("/metrics", text, sizeof(text)) != 0 || strncmp(text, "HTTP/1.1 200 ", 13) != 0;
    const char *line = strstr(text, "\nverge_service_pending{service=\"example\"}");
    failed |= line == NULL;
    if (line != NULL) {
        printf("%.*s\n", (int)strcspn(line + 1, "\n"), line + 1);
    }
    (void)verge_task_cancel(server);
    return verge_task_join(server, NULL, VERGE_NEVER) != 0 || failed;
}

static void never(const verge_firing *firing) {
    (void)firing;
}

int main(int argc, char **argv) {
    (void)argv;
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failed = 1;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true; /* names the task if a stack overflows */
    listener = loopback_listen(&address, 64);
    if (listener < 0 || verge_service_create(NULL, &service) != 0 || verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    for (unsigned i = 1; i <= 3; i++) {
        if (verge_service_start_after(service, MS * 1000 * 3600 * i, never, NULL, NULL) != 0) {
            return 1;
        }
    }
    if (argc > 1) {
        printf("http://127.0.0.1:%u/metrics\n", ntohs(address.sin_port));
        (void)fflush(stdout);
    }
    const int error = verge_runtime_run(runtime, argc > 1 ? accept_connections : ask, NULL, &failed);
    (void)verge_runtime_destroy(runtime);
    return verge_service_destroy(service, NULL, NULL) != 0 || error != 0 || failed != 0;
}
