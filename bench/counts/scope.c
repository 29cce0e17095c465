/* SPDX-License-Identifier: MIT */
/*
 * verge-bench-scope off|on COUNT: makes COUNT pairs of a start and a cancel on a worker's thread. off: without a scope.
 * on: with a scope that a client looks at. bench/scope counts the instructions of the function `pairs`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <verge/scope.h>

static void never(const verge_firing *firing) {
    (void)firing;
}

/* Not inlined: callgrind looks for its name. */
int pairs(verge_service *service, uint64_t deadline_ns, long count);

__attribute__((noinline)) int pairs(verge_service *service, uint64_t deadline_ns, long count) {
    int failures = 0;
    for (long i = 0; i < count; i++) {
        verge_timer timer = 0;
        failures += verge_service_start(service, deadline_ns, never, NULL, &timer) != 0;
        failures += verge_service_cancel(service, timer) != 0;
    }
    return failures;
}

enum {
    PIECES = 8, /* so many pieces are at least two events: then scope has looked twice */
    BATCH = 1000,
};

static _Atomic(int) pieces; /* how many pieces of the answer have come */

/* Reads events until the scope ends. */
static void *look_on(void *path) {
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char bytes[4096];
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", (const char *)path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) {
        abort();
    }
    while (read(fd, bytes, sizeof(bytes)) > 0) {
        atomic_fetch_add(&pieces, 1);
    }
    (void)close(fd);
    return NULL;
}

int main(int argc, char **argv) {
    const bool is_on = argc > 2 && strcmp(argv[1], "on") == 0;
    const long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    char path[64];
    verge_service_options options;
    verge_service *service = NULL;
    verge_worker *worker = NULL;
    verge_scope *scope = NULL;
    pthread_t reader;
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0;
    if (count <= 0 || verge_service_create(&options, &service) != 0 || verge_worker_join(service, NULL, &worker) != 0) {
        return 2;
    }
    if (is_on) {
        verge_scope_options scope_options = {.struct_size = sizeof(scope_options)};
        (void)snprintf(path, sizeof(path), "unix:/tmp/verge-bench-scope.%ld", (long)getpid());
        scope_options.address = path;
        if (verge_scope_create(service, NULL, &scope_options, &scope) != 0 ||
            pthread_create(&reader, NULL, look_on, path + 5) != 0) {
            return 2;
        }
        const struct timespec nap = {.tv_nsec = 10000000};
        while (atomic_load(&pieces) < PIECES) {
            (void)verge_worker_run_once(worker, 0);
            (void)nanosleep(&nap, NULL);
        } /* from here on, the client looks */
    }
    const uint64_t deadline_ns = verge_service_exact_now(service) + UINT64_C(3600000000000);
    int failures = pairs(service, deadline_ns, 1000); /* warm up */
    (void)verge_worker_run_once(worker, 0);
    for (long done = 0; done < count;
         done += BATCH) { /* in each pass, the worker may notice that the client has looked */
        failures += pairs(service, deadline_ns, BATCH);
        (void)verge_worker_run_once(worker, 0);
    }
    if (is_on) {
        (void)verge_scope_destroy(scope);
        (void)pthread_join(reader, NULL);
    }
    (void)verge_worker_leave(worker);
    return verge_service_destroy(service, NULL, NULL) != 0 || failures != 0;
}
