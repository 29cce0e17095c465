/* SPDX-License-Identifier: MIT */
/*
 * Asks ten servers at once, and uses the answers that arrive before one common deadline. The requests that were not
 * answered in time are cancelled and joined, so nothing is left behind.
 *
 * Server number i answers after i * 30 ms, the last four after ten seconds. The deadline is after 200 ms.
 */
#include <errno.h>
#include <stdio.h>

#include <verge/verge.h>

#include "loopback.h"

#define MS UINT64_C(1000000)

enum { SERVERS = 10, SLOW = 4 };

static const uint64_t overall_ns = 200 * MS;

struct server {
    int number;
    int listener;
    struct sockaddr_in address;
};

static struct server servers[SERVERS];

static intptr_t serve(void *argument) {
    const struct server *server = argument;
    const int fd = verge_accept(server->listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
    bool has_answered = false;
    if (fd >= 0) {
        const unsigned char answer = (unsigned char)(server->number * server->number);
        const uint64_t thinks_ms = server->number < SERVERS - SLOW ? (uint64_t)server->number * 30 : 10000;
        has_answered = verge_sleep(thinks_ms * MS) == 0 && verge_send(fd, &answer, 1, 0, VERGE_NEVER) == 1;
        (void)verge_close(fd);
    }
    return has_answered ? 0 : 1;
}

/* Asks a server. Returns its answer, or a negative error. */
static intptr_t fetch(void *argument) {
    const struct server *server = argument;
    unsigned char answer = 0;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    intptr_t result =
        verge_connect(fd, (const struct sockaddr *)&server->address, sizeof(server->address), VERGE_NEVER);
    if (result == 0) {
        result = verge_recv(fd, &answer, 1, 0, VERGE_NEVER);
    }
    (void)verge_close(fd);
    return result == 1 ? answer : result == 0 ? -ENODATA : result;
}

static intptr_t run(void *argument) {
    verge_task *fetches[SERVERS];
    int answered = 0, cancelled = 0, wrong = 0;
    (void)argument;
    for (int i = 0; i < SERVERS; i++) {
        servers[i].number = i;
        servers[i].listener = loopback_listen(&servers[i].address, 4);
        if (servers[i].listener < 0 || verge_spawn(serve, &servers[i], NULL) != 0 ||
            verge_spawn(fetch, &servers[i], &fetches[i]) != 0) {
            return 1;
        }
    }
    const uint64_t deadline_ns = verge_deadline_after(overall_ns);
    for (int i = 0; i < SERVERS; i++) {
        intptr_t result = 0;
        if (verge_task_join(fetches[i], &result, deadline_ns) == -ETIMEDOUT) {
            (void)verge_task_cancel(fetches[i]);
            wrong += verge_task_join(fetches[i], &result, VERGE_NEVER) != 0;
        }
        answered += result >= 0;
        cancelled += result == -ECANCELED;
        wrong += result >= 0 ? result != (intptr_t)i * i : result != -ECANCELED;
    }
    printf("%d of %d answered within %u ms, %d were cancelled\n", answered, SERVERS, (unsigned)(overall_ns / MS),
           cancelled);
    verge_runtime_stop(verge_task_runtime()); /* ends the servers that have not answered yet */
    for (int i = 0; i < SERVERS; i++) {
        (void)verge_close(servers[i].listener);
    }
    return wrong != 0 || answered + cancelled != SERVERS || cancelled < SLOW;
}

int main(void) {
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failed = 1;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true; /* names the task if a stack overflows */
    options.worker_count = 2;
    if (verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    const int error = verge_runtime_run(runtime, run, NULL, &failed);
    (void)verge_runtime_destroy(runtime);
    return error != 0 || failed != 0;
}
