/* SPDX-License-Identifier: MIT */
/*
 * A client that does not wait for ever: connect, request and answer together must not take longer than one deadline. A
 * scope limits all of these calls; none has a timeout of its own.
 *
 * Three servers: one answers, one accepts and says nothing, one does not even accept.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <verge/verge.h>

#include "loopback.h"

#define MS UINT64_C(1000000)

static int ask(const struct sockaddr_in *address, char *answer, size_t size, uint64_t timeout_ns) {
    verge_deadline scope;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    int error = verge_deadline_push(&scope, verge_deadline_after(timeout_ns));
    if (error == 0) {
        error = verge_connect(fd, (const struct sockaddr *)address, sizeof(*address), VERGE_NEVER);
        if (error == 0) {
            error = verge_send_all(fd, "hello?", 6, 0, NULL, VERGE_NEVER);
        }
        if (error == 0) {
            error = verge_read_all(fd, answer, size, NULL, VERGE_NEVER);
        }
        (void)verge_deadline_pop(&scope);
    }
    (void)verge_close(fd);
    return error;
}

/* Accepts one connection, and answers one request. */
static intptr_t serve_one(void *argument) {
    const int listener = *(int *)argument;
    char request[6];
    const int fd = verge_accept(listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
    if (fd < 0) {
        return fd;
    }
    int error = verge_read_all(fd, request, sizeof(request), NULL, VERGE_NEVER);
    if (error == 0) {
        error = verge_send_all(fd, "here", 4, 0, NULL, VERGE_NEVER);
    }
    (void)verge_close(fd);
    return error;
}

static intptr_t run(void *argument) {
    struct sockaddr_in prompt, silent, full;
    char answer[5] = {0};
    verge_task *server;
    int failures = 0;
    (void)argument;
    int prompt_fd = loopback_listen(&prompt, 8);
    const int silent_fd = loopback_listen(&silent, 8); /* the kernel completes the connection; nobody reads */
    const int full_fd = loopback_listen(&full, 0);     /* nobody accepts, and the queue has room for one or two */
    if (prompt_fd < 0 || silent_fd < 0 || full_fd < 0 || verge_spawn(serve_one, &prompt_fd, &server) != 0) {
        return 1;
    }
    int error = ask(&prompt, answer, 4, 5000 * MS);
    printf("one that answers:          %s, \"%s\"\n", verge_strerror(error), answer);
    failures += error != 0 || strcmp(answer, "here") != 0 || verge_task_join(server, NULL, VERGE_NEVER) != 0;

    const uint64_t before_ns = verge_now();
    error = ask(&silent, answer, 4, 50 * MS);
    printf("one that says nothing:     %s\n", verge_strerror(error));
    failures += error != -ETIMEDOUT || verge_now() - before_ns < 50 * MS;

    for (int i = 0; i < 4; i++) {
        error = ask(&full, answer, 4, 20 * MS);
        failures += error != -ETIMEDOUT;
    }
    printf("one that does not accept:  %s\n", verge_strerror(error));
    (void)verge_close(prompt_fd);
    (void)verge_close(silent_fd);
    (void)verge_close(full_fd);
    return failures;
}

int main(void) {
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failures = 1;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true; /* names the task if a stack overflows */
    if (verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    const int error = verge_runtime_run(runtime, run, NULL, &failures);
    (void)verge_runtime_destroy(runtime);
    return error != 0 || failures != 0;
}
