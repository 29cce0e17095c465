/* SPDX-License-Identifier: MIT */
/*
 * More operations at one time than the ring has entries, on one socket; a quarter of them is cancelled. Each byte is
 * received once, or is still there.
 */
#define _GNU_SOURCE

#include <unistd.h>

#include "faults/job.h"
#include "verge/io.h"

enum { TASK_COUNT = 400, BYTE_COUNT = 100 }; /* so many bytes, each sent alone, fit into a socket */

static int fds[2];
static verge_task *tasks[TASK_COUNT];
static uint8_t is_received[BYTE_COUNT];

static void note(const uint8_t *bytes, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        is_received[bytes[i]]++;
    }
}

static intptr_t receiver(void *argument) {
    (void)argument;
    uint8_t byte = 0;
    const ptrdiff_t count = verge_recv(fds[1], &byte, 1, 0, VERGE_NEVER);
    if (count != -ECANCELED && JOB_DONE_OR(count, ENOMEM, ENOSPC, JOB_FAILED_REACTOR)) {
        note(&byte, count);
    }
    return 0;
}

static intptr_t first(void *argument) {
    (void)argument;
    for (size_t i = 0; i < TASK_COUNT; i++) {
        if (!JOB_DONE_OR(verge_spawn(receiver, NULL, &tasks[i]), ENOMEM)) {
            tasks[i] = NULL;
        }
    }
    for (int i = 0; i < 1000; i++) { /* rounds of the worker, until all tasks wait */
        JOB_CHECK(verge_yield() == 0);
    }
    for (size_t i = 0; i < BYTE_COUNT; i++) {
        uint8_t byte = (uint8_t)i;
        struct iovec part = {.iov_base = &byte, .iov_len = 1};
        const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        JOB_CHECK(sendmsg(fds[0], &message, MSG_DONTWAIT) == 1); /* sendmsg has no faults */
        JOB_CHECK(tasks[3 * i] == NULL || verge_task_cancel(tasks[3 * i]) == 0);
    }
    for (size_t i = 0; i < BYTE_COUNT; i++) { /* each of these tasks got a byte, or was cancelled */
        JOB_CHECK(tasks[3 * i] == NULL || verge_task_join(tasks[3 * i], NULL, VERGE_NEVER) == 0);
        tasks[3 * i] = NULL;
    }
    (void)shutdown(fds[0], SHUT_WR); /* a receive that gets no byte sees the end */
    for (size_t i = 0; i < TASK_COUNT; i++) {
        JOB_CHECK(tasks[i] == NULL || verge_task_join(tasks[i], NULL, VERGE_NEVER) == 0);
    }
    return 1;
}

void job_flood(const struct fault_plan *plan) {
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    options.stack_size = VERGE_STACK_SIZE_MIN * 4; /* room for the signal handler that makes calls fail */
    JOB_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    const bool has_run = job_run(plan, &options, first) != 0;
    uint8_t rest[BYTE_COUNT];
    note(rest, recv(fds[1], rest, sizeof(rest), MSG_DONTWAIT));
    for (size_t i = 0; has_run && i < BYTE_COUNT; i++) {
        JOB_CHECK(is_received[i] == 1);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
}
