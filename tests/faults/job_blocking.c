/* SPDX-License-Identifier: MIT */
/*
 * Tasks call functions that block, and write and read a file, which on epoll needs the same threads as these functions.
 * Whatever fails, also the start of a thread: each argument is released once, by its caller or by the pool, and what
 * was written to the file can be read.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults/job.h"
#include "verge/blocking.h"
#include "verge/io.h"

enum { ITEM_COUNT = 12, TASK_COUNT = 3 };

struct item {
    atomic_int calls, releases;
};

static struct item items[TASK_COUNT][ITEM_COUNT];
static int file;

static intptr_t use(void *argument) {
    struct item *item = argument;
    JOB_CHECK(atomic_fetch_add(&item->calls, 1) == 0);
    JOB_CHECK(atomic_load(&item->releases) == 0);
    return 1;
}

static void release(void *argument) {
    struct item *item = argument;
    JOB_CHECK(atomic_fetch_add(&item->releases, 1) == 0);
}

static void call_one(struct item *item, size_t number) {
    const uint64_t deadline_ns = number % 3 == 0 ? verge_deadline_after(50000) : VERGE_NEVER;
    intptr_t result = 0;
    int error;
    if (number % 2 == 0) {
        error = verge_blocking(use, item, NULL, &result, deadline_ns);
        release(item);
        JOB_CHECK(atomic_load(&item->calls) == (error == 0));
    } else {
        error = verge_blocking(use, item, release, &result, deadline_ns);
        if (error != -ETIMEDOUT) {
            release(item);
        }
    }
    JOB_CHECK(result == (error == 0));
    if (error != -ETIMEDOUT || deadline_ns == VERGE_NEVER) {
        (void)JOB_DONE_OR(error, EAGAIN, ENOMEM);
    }
}

static void resolve(void) {
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *addresses = NULL;
    const int error = verge_getaddrinfo("127.0.0.1", "80", &hints, &addresses, VERGE_NEVER);
    if (JOB_DONE_OR(error, EAGAIN, ENOMEM, EMFILE, ENFILE, EIO, EINTR, EACCES, ENOENT)) {
        freeaddrinfo(addresses);
    }
}

static bool write_word(uint64_t offset, uint64_t word) {
    const ptrdiff_t size = verge_pwrite(file, &word, sizeof(word), offset, VERGE_NEVER);
    return JOB_DONE_OR(size, EIO, EINTR, EAGAIN, ENOMEM, ENOSPC, JOB_FAILED_REACTOR) && size == sizeof(word);
}

static void read_word(uint64_t offset, uint64_t expected) {
    uint64_t word = 0;
    const ptrdiff_t size = verge_pread(file, &word, sizeof(word), offset, VERGE_NEVER);
    if (JOB_DONE_OR(size, EIO, EINTR, EAGAIN, ENOMEM, ENOSPC, JOB_FAILED_REACTOR)) {
        JOB_CHECK(size == sizeof(word) && word == expected);
    }
}

static intptr_t caller(void *argument) {
    struct item *own = argument;
    const uint64_t offset = (uint64_t)((size_t)(own - &items[0][0])) * sizeof(uint64_t);
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        call_one(&own[i], i);
        const uint64_t at = offset + i * sizeof(uint64_t);
        if (i % 4 == 1 && write_word(at, at + 1)) {
            read_word(at, at + 1);
        }
    }
    resolve();
    return 0;
}

static intptr_t first(void *argument) {
    verge_task *tasks[TASK_COUNT] = {NULL};
    (void)argument;
    for (size_t i = 0; i < TASK_COUNT; i++) {
        if (!JOB_DONE_OR(verge_spawn(caller, &items[i], &tasks[i]), ENOMEM)) {
            (void)caller(&items[i]);
        }
    }
    for (size_t i = 0; i < TASK_COUNT; i++) {
        JOB_CHECK(tasks[i] == NULL || verge_task_join(tasks[i], NULL, VERGE_NEVER) == 0);
    }
    return 1;
}

void job_blocking(const struct fault_plan *plan) {
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    options.blocking_thread_max = 2;
    options.blocking_idle_ns = 100000;
    file = memfd_create("faults", MFD_CLOEXEC);
    JOB_CHECK(file >= 0);
    const bool has_run = job_run(plan, &options, first) != 0;
    for (size_t i = 0; i < TASK_COUNT && has_run; i++) {
        for (size_t j = 0; j < ITEM_COUNT; j++) {
            JOB_CHECK(atomic_load(&items[i][j].releases) == 1);
        }
    }
    (void)close(file);
}
