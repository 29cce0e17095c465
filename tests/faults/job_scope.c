/* SPDX-License-Identifier: MIT */
/*
 * A scope beside a service is created, a client looks at it once, and it is destroyed. Whatever fails: the scope is
 * created, or there is an error; timers run; destroy returns, and nothing is left behind. The client may get no answer.
 * Unless something was made to fail, the scope is created, and the client gets its answer.
 */
#define _GNU_SOURCE

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "faults/job.h"
#include "verge/scope.h"

static atomic_int runs;

static void on_timer(const verge_firing *firing) {
    (void)firing;
    (void)atomic_fetch_add(&runs, 1);
}

static size_t tell(void *context, verge_scope_figure *ret_figures, size_t count) {
    (void)context;
    (void)count;
    ret_figures[0] = (verge_scope_figure){"figure", VERGE_SCOPE_COUNT, 1, 0, NULL};
    return 1;
}

/* Returns whether a snapshot came. If something was made to fail, it may not come: gives up after a while. */
static bool ask(const char *path) {
    static const char request[] = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const struct timeval patience = {.tv_sec = 1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static char bytes[1 << 20];
    size_t size = 0;
    bool has_come = false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0) {
        ssize_t more = 0;
        do { /* until the first snapshot: earlier events have only the past */
            more = recv(fd, bytes + size, sizeof(bytes) - 1 - size, 0);
            size += more > 0 ? (size_t)more : 0;
            bytes[size] = '\0';
            has_come = strstr(bytes, "\"subjects\"") != NULL;
        } while (!has_come && (more > 0 || (more < 0 && errno == EAGAIN && !fault_was_injected())));
    }
    (void)close(fd);
    return has_come;
}

void job_scope(const struct fault_plan *plan) {
    enum { TIMERS = 8 };
    verge_service_options options;
    verge_scope_options scope_options = {.struct_size = sizeof(scope_options)};
    verge_service *service = NULL;
    verge_scope *scope = NULL;
    verge_scope_panel *panel = NULL;
    char address[64];
    (void)snprintf(address, sizeof(address), "unix:/tmp/verge-faults-%ld.scope", (long)getpid());
    (void)verge_service_options_init(&options, sizeof(options));
    JOB_CHECK(verge_service_create(&options, &service) == 0);
    scope_options.address = address;
    faults_begin(plan);
    /* May fail with any error of sockets, threads, rings or memory. */
    const bool is_there = verge_scope_create(service, NULL, &scope_options, &scope) == 0;
    JOB_CHECK(is_there || fault_was_injected());
    int started = 0;
    for (int i = 0; i < TIMERS; i++) {
        started += JOB_DONE_OR(verge_service_start_after(service, MS, on_timer, NULL, NULL), ENOMEM);
    }
    if (is_there) {
        const verge_scope_panel_options panel_options = {
            .struct_size = sizeof(panel_options), .name = "panel", .ask = tell};
        (void)JOB_DONE_OR(verge_scope_add_panel(scope, &panel_options, &panel), ENOMEM);
        JOB_CHECK(ask(address + 5) || fault_was_injected());
    }
    JOB_CHECK(verge_scope_destroy(scope) == 0);
    faults_end();
    JOB_CHECK(verge_service_wait_empty(service, VERGE_NEVER) == 0);
    JOB_CHECK(atomic_load(&runs) == started);
    JOB_CHECK(access(address + 5, F_OK) != 0);
    JOB_CHECK(verge_service_destroy(service, NULL, NULL) == 0);
}
