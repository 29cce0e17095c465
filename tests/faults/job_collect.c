/* SPDX-License-Identifier: MIT */
/*
 * A receive that waits for all (MSG_WAITALL) while the bytes come one after the other. If waiting fails in the middle,
 * the caller gets what was collected until then (N2).
 */
#define _GNU_SOURCE

#include <string.h>
#include <unistd.h>

#include "faults/job.h"
#include "verge/io.h"

enum { BYTE_COUNT = 8 };

static int fds[2];
static size_t sent, received;

static intptr_t sender(void *argument) {
    (void)argument;
    while (sent < BYTE_COUNT) {
        uint8_t byte = (uint8_t)sent;
        struct iovec part = {.iov_base = &byte, .iov_len = 1};
        const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        JOB_CHECK(sendmsg(fds[0], &message, 0) == 1); /* sendmsg has no faults */
        sent++;
        for (int i = 0; i < 200; i++) { /* some rounds: the receiver takes the byte, and waits again */
            JOB_CHECK(verge_yield() == 0);
        }
    }
    return 0;
}

static void check(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        JOB_CHECK(bytes[i] == received + i);
    }
    received += count;
}

static intptr_t receiver(void *argument) {
    verge_task *task = NULL;
    (void)argument;
    if (!JOB_DONE_OR(verge_spawn(sender, NULL, &task), ENOMEM)) {
        return 0;
    }
    ptrdiff_t count = 0;
    while (received < BYTE_COUNT && !job_has_failed_reactor(count)) {
        uint8_t bytes[BYTE_COUNT];
        count = verge_recv(fds[1], bytes, BYTE_COUNT - received, MSG_WAITALL, VERGE_NEVER);
        if (JOB_DONE_OR(count, ENOMEM, ENOSPC, JOB_FAILED_REACTOR)) {
            check(bytes, (size_t)count);
        }
    }
    JOB_CHECK(verge_task_join(task, NULL, VERGE_NEVER) == 0);
    return 0;
}

void job_collect(const struct fault_plan *plan) {
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    JOB_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    (void)job_run(plan, &options, receiver);
    if (!job_may_lose_results(plan)) {
        uint8_t rest[BYTE_COUNT];
        const ssize_t count = recv(fds[1], rest, sizeof(rest), MSG_DONTWAIT);
        check(rest, count > 0 ? (size_t)count : 0);
        JOB_CHECK(received == sent);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
}
