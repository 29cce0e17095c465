/* SPDX-License-Identifier: MIT */
/* The echo server on verge: a task for each connection. Reads are with or without deadlines. */
#include <verge/io.h>

#include "echo.h"
#include "tasks.h"

struct server {
    int listener;
    bool with_deadlines;
    uint32_t worker_count;
    uint32_t placed_on; /* where the task of a connection runs: VERGE_WORKER_HERE or VERGE_WORKER_ANY */
};

static struct server server;

static uint64_t idle_deadline(void) {
    return server.with_deadlines ? verge_deadline_after(UINT64_C(30000000000)) : VERGE_NEVER;
}

static intptr_t serve(void *argument) {
    const int fd = (int)(intptr_t)argument;
    char buffer[4096];
    ptrdiff_t size;
    while ((size = verge_recv(fd, buffer, sizeof(buffer), 0, idle_deadline())) > 0) {
        if (verge_send(fd, buffer, (size_t)size, 0, VERGE_NEVER) != size) {
            break;
        }
    }
    return verge_close(fd);
}

static intptr_t accept_all(void *argument) {
    (void)argument;
    for (int i = 0; i < ECHO_CONNECTIONS; i++) {
        const int fd = verge_accept(server.listener, NULL, NULL, 0, VERGE_NEVER);
        bench_check(fd >= 0 && bench_spawn_on(server.placed_on, serve, (void *)(intptr_t)fd) == 0,
                    "a connection is served");
    }
    return 0;
}

static void run(void) {
    verge_runtime_options options;
    verge_runtime *runtime;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = server.worker_count;
    bench_check(verge_runtime_create(&options, &runtime) == 0, "a runtime is created");
    bench_check(verge_runtime_run(runtime, accept_all, NULL, NULL) == 0, "the runtime runs");
    (void)verge_runtime_destroy(runtime);
}

void echo_serve_verge(int listener, bool with_deadlines) {
    server = (struct server){
        .listener = listener, .with_deadlines = with_deadlines, .worker_count = 1, .placed_on = VERGE_WORKER_HERE};
    run();
}

void echo_serve_verge_on(int listener, uint32_t worker_count, uint32_t placed_on) {
    server = (struct server){
        .listener = listener, .with_deadlines = true, .worker_count = worker_count, .placed_on = placed_on};
    run();
}
