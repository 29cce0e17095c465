/* SPDX-License-Identifier: MIT */
/*
 * A runtime with two workers: tasks that sleep, wait for each other, and do I/O under deadlines; a worker that comes
 * and goes; a stop while tasks wait. Whatever fails: no sleep and no timeout is early, every byte that was sent is
 * received or still there, and all tasks end.
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults/job.h"
#include "support/spawn.h"
#include "verge/io.h"
#include "verge/sync.h"

/* The errors that a waiting call may return if there is no memory, or a system call fails. */
#define REFUSALS ENOMEM, ENOSPC, EMFILE, ENOBUFS, ECONNABORTED, ECONNRESET, EPIPE, EIO, EAGAIN, JOB_FAILED_REACTOR

enum { STREAM_COUNT = 2, SLEEPER_COUNT = 6, CHUNK_COUNT = 12, CHUNK_SIZE_MAX = 96 };

struct stream {
    int near, far;
    size_t sent, received;
};

static struct {
    struct stream streams[STREAM_COUNT];
    int quiet[2]; /* sockets between which nothing is ever sent */
    int listener;
    struct sockaddr_in address;
    int file;
    verge_channel *channel;
    uint64_t items_sent, items_received;
    _Atomic int begun, ended; /* how many tasks have begun, and how many have ended */
} world;

static uint8_t byte_at(size_t place) {
    return (uint8_t)(place * 7 + place / 251);
}

/* ---- tasks ---- */

static intptr_t count_end(intptr_t result) {
    (void)atomic_fetch_add(&world.ended, 1);
    return result;
}

static verge_task *begin(uint32_t worker, verge_task_function function, void *argument) {
    verge_task *task = NULL;
    if (!JOB_DONE_OR(spawn_at(NULL, worker, function, argument, &task), ENOMEM, ESHUTDOWN)) {
        return NULL;
    }
    (void)atomic_fetch_add(&world.begun, 1);
    return task;
}

static void finish(verge_task *task) {
    JOB_CHECK(task == NULL || verge_task_join(task, NULL, VERGE_NEVER) == 0);
}

/* Checks T1: some thread, perhaps not the caller's, has seen the clock at this time or later. */
static void check_time(uint64_t until_ns) {
    JOB_CHECK(verge_now() >= until_ns || faulty_clock_latest() >= until_ns);
}

/* Checks the result of I/O with a deadline, and returns whether it succeeded. -ETIMEDOUT is always allowed: on a slow
 * machine, the deadline may come although nothing has failed. */
static bool is_io_done(ptrdiff_t result) {
    return result == -ETIMEDOUT ? false : JOB_DONE_OR(result, REFUSALS);
}

static intptr_t sleeper(void *argument) {
    const uint64_t duration_ns = *(const uint64_t *)argument;
    const uint64_t until_ns = verge_now() + duration_ns;
    if (JOB_DONE_OR(verge_sleep_until(until_ns), ENOMEM)) {
        check_time(until_ns);
    }
    return count_end(0);
}

static intptr_t sleeps_a_little(void *argument) {
    (void)argument;
    const int error = verge_sleep(MS);
    JOB_CHECK(error == 0 || error == -ECANCELED || (error == -ENOMEM && fault_was_injected()));
    return count_end(error);
}

/* Begins a group of tasks. When one of them cannot begin or sleep, the group ends. */
static intptr_t leads_a_group(void *argument) {
    (void)argument;
    verge_group group;
    JOB_CHECK(verge_group_begin(&group) == 0);
    for (int i = 0; i < 3; i++) {
        const int error = verge_group_spawn(&group, sleeps_a_little, NULL);
        if (error == 0) {
            (void)atomic_fetch_add(&world.begun, 1);
        } else if (error != -ECANCELED) {
            (void)JOB_DONE_OR(error, ENOMEM, ESHUTDOWN);
            JOB_CHECK(verge_group_cancel(&group) == 0);
        }
    }
    const int error = verge_group_wait(&group, verge_deadline_after(HOUR));
    JOB_CHECK(error == 0 || error == -ECANCELED || (error == -ENOMEM && fault_was_injected()));
    JOB_CHECK(error == 0 || fault_was_injected());
    return count_end(0);
}

/* Reads values from a broadcast, and waits for a value and for a semaphore until their deadlines. */
static intptr_t watches(void *argument) {
    (void)argument;
    verge_semaphore semaphore = VERGE_SEMAPHORE_INIT(1);
    verge_broadcast *broadcast = NULL;
    uint64_t position = 0, item = 0;
    if (JOB_DONE_OR(verge_broadcast_create(sizeof(item), 1, NULL, &broadcast), ENOMEM)) {
        for (uint64_t i = 1; i <= 3; i++) {
            JOB_CHECK(verge_broadcast_send(broadcast, &i) == 0);
            JOB_CHECK(verge_broadcast_latest(broadcast, &position, &item, VERGE_NEVER) == 0 && item == i);
        }
        const uint64_t deadline_ns = verge_deadline_after(MS);
        const int error = verge_broadcast_receive(broadcast, &position, &item, deadline_ns);
        JOB_CHECK(error == -ETIMEDOUT || (error == -ENOMEM && fault_was_injected()));
        JOB_CHECK(position == 3);
        verge_broadcast_destroy(broadcast);
    }
    const int error = verge_semaphore_acquire(&semaphore, 2, verge_deadline_after(MS));
    JOB_CHECK(error == -ETIMEDOUT || (error == -ENOMEM && fault_was_injected()));
    JOB_CHECK(semaphore.available == 1);
    return count_end(0);
}

static intptr_t sleeps_for_ever(void *argument) {
    (void)argument;
    const int error = verge_sleep(HOUR);
    JOB_CHECK(error == -ECANCELED || (error == -ENOMEM && fault_was_injected()));
    return count_end(0);
}

static intptr_t sender(void *argument) {
    struct stream *stream = argument;
    for (size_t i = 0; i < CHUNK_COUNT; i++) {
        uint8_t bytes[CHUNK_SIZE_MAX];
        const size_t size = 1 + i * 17 % CHUNK_SIZE_MAX;
        for (size_t k = 0; k < size; k++) {
            bytes[k] = byte_at(stream->sent + k);
        }
        const ptrdiff_t count = i % 2 == 0 ? verge_send(stream->near, bytes, size, 0, verge_deadline_after(20 * MS))
                                           : verge_write(stream->near, bytes, size, verge_deadline_after(20 * MS));
        if (is_io_done(count)) {
            stream->sent += (size_t)count;
        }
        if (i % 2 == 1) { /* lets the receiver begin to wait again */
            (void)JOB_DONE_OR(verge_sleep(MS), ENOMEM);
        }
    }
    (void)shutdown(stream->near, SHUT_WR);
    return count_end(0);
}

static ptrdiff_t receive_some(int fd, size_t round, uint8_t *bytes, size_t size, uint64_t deadline_ns) {
    struct iovec parts[2] = {{bytes, size / 2}, {bytes + size / 2, size - size / 2}};
    switch (round % 4) {
    case 0:
        return verge_recv(fd, bytes, size, 0, deadline_ns);
    case 1:
        return verge_recv(fd, bytes, size, MSG_WAITALL, deadline_ns);
    case 2:
        return verge_read(fd, bytes, size, deadline_ns);
    default:
        return verge_readv(fd, parts, 2, deadline_ns);
    }
}

static void check_bytes(struct stream *stream, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        JOB_CHECK(bytes[i] == byte_at(stream->received + i));
    }
    stream->received += count;
}

static intptr_t receiver(void *argument) {
    struct stream *stream = argument;
    uint8_t bytes[CHUNK_SIZE_MAX];
    ptrdiff_t count = -1;
    for (size_t round = 0; count != 0 && round < 1000; round++) { /* 0: the sender has ended */
        const uint64_t deadline_ns = verge_deadline_after((1 + round % 3) * MS);
        count = receive_some(stream->far, round, bytes, 40, deadline_ns);
        if (count > 0) {
            check_bytes(stream, bytes, (size_t)count);
        } else if (count == -ETIMEDOUT) { /* nothing was taken, and the deadline has come */
            check_time(deadline_ns);
        } else if (count < 0) {
            (void)is_io_done(count);
        }
    }
    return count_end(0);
}

static intptr_t server(void *argument) {
    (void)argument;
    const int fd = verge_accept(world.listener, NULL, NULL, SOCK_CLOEXEC, verge_deadline_after(30 * MS));
    if (is_io_done(fd)) {
        uint8_t byte = 0;
        const ptrdiff_t count = verge_recv(fd, &byte, 1, 0, verge_deadline_after(30 * MS));
        JOB_CHECK(count < 1 || byte == 42);
        (void)is_io_done(count);
        (void)JOB_DONE_OR(verge_close(fd), EINTR);
    }
    return count_end(0);
}

static intptr_t client(void *argument) {
    (void)argument;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr *address = (const struct sockaddr *)&world.address;
    if (is_io_done(verge_connect(fd, address, sizeof(world.address), verge_deadline_after(30 * MS)))) {
        const uint8_t byte = 42;
        (void)is_io_done(verge_send(fd, &byte, 1, 0, verge_deadline_after(30 * MS)));
    }
    (void)JOB_DONE_OR(verge_close(fd), EINTR);
    return count_end(0);
}

static intptr_t uses_files(void *argument) {
    (void)argument;
    char bytes[8] = "";
    const int fd = verge_openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0, VERGE_NEVER);
    if (is_io_done(fd)) {
        (void)JOB_DONE_OR(verge_close(fd), EINTR);
    }
    if (is_io_done(verge_pwrite(world.file, "escape", 6, 3, VERGE_NEVER))) {
        (void)is_io_done(verge_fsync(world.file, VERGE_NEVER));
        if (is_io_done(verge_pread(world.file, bytes, 6, 3, VERGE_NEVER))) {
            JOB_CHECK(memcmp(bytes, "escape", 6) == 0);
        }
    }
    return count_end(0);
}

static intptr_t waits_in_vain(void *argument) {
    (void)argument;
    char byte;
    const uint64_t deadline_ns = verge_now() + 2 * MS;
    const ptrdiff_t count = verge_recv(world.quiet[0], &byte, 1, 0, deadline_ns);
    JOB_CHECK(count < 0);
    if (count == -ETIMEDOUT) {
        check_time(deadline_ns);
    } else {
        (void)is_io_done(count);
    }
    return count_end(0);
}

static intptr_t receives_for_ever(void *argument) {
    (void)argument;
    char byte;
    const ptrdiff_t count = verge_recv(world.quiet[1], &byte, 1, 0, verge_deadline_after(HOUR));
    JOB_CHECK(count == -ECANCELED || (count < 0 && fault_was_injected()));
    return count_end(0);
}

static intptr_t producer(void *argument) {
    (void)argument;
    for (uint64_t i = 0; i < 20; i++) {
        world.items_sent += JOB_DONE_OR(verge_channel_send(world.channel, &i, VERGE_NEVER), ENOMEM);
    }
    JOB_CHECK(verge_channel_close(world.channel) == 0);
    return count_end(0);
}

/* Like verge_channel_receive, but calls select, which also waits for a descriptor. */
static int select_item(uint64_t *item, uint64_t deadline_ns) {
    verge_case cases[] = {verge_case_receive(world.channel, item), verge_case_poll(world.quiet[0], POLLIN)};
    const int index = verge_select(cases, 2, deadline_ns);
    if (index == 1) { /* an error: nothing is ever sent to this socket */
        JOB_CHECK(cases[1].result < 0);
        (void)is_io_done(cases[1].result);
        return -ETIMEDOUT;
    }
    return index == 0 ? cases[0].result : index;
}

static intptr_t consumer(void *argument) {
    (void)argument;
    uint64_t item = 0;
    int error = 0;
    for (size_t round = 0; error != -EPIPE; round++) {
        const uint64_t deadline_ns = verge_deadline_after(MS);
        error =
            round % 2 == 0 ? select_item(&item, deadline_ns) : verge_channel_receive(world.channel, &item, deadline_ns);
        world.items_received += error == 0;
        JOB_CHECK(error == 0 || error == -EPIPE || error == -ETIMEDOUT || (error == -ENOMEM && fault_was_injected()));
    }
    return count_end(0);
}

static void bring_and_retire_a_worker(void) {
    uint32_t index = 0;
    if (JOB_DONE_OR(verge_runtime_add_worker(verge_task_runtime(), &index), ENOMEM, EAGAIN, EMFILE, ENOSPC, EPERM,
                    ENOSYS)) {
        static const uint64_t duration_ns = 2 * MS;
        verge_task *task = begin(index, sleeper, (void *)&duration_ns);
        JOB_CHECK(verge_runtime_retire_worker(verge_task_runtime(), index) == 0);
        finish(task); /* the task wakes up on another worker */
    }
}

static intptr_t first(void *argument) {
    (void)argument;
    static const uint64_t durations_ns[SLEEPER_COUNT] = {0, MS / 2, MS, MS, 3 * MS, 4 * MS};
    verge_task *tasks[SLEEPER_COUNT + 2 * STREAM_COUNT + 10];
    size_t count = 0;
    for (uint32_t i = 0; i < SLEEPER_COUNT; i++) {
        tasks[count++] = begin(i % 2, sleeper, (void *)&durations_ns[i]);
    }
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        tasks[count++] = begin(0, sender, &world.streams[i]);
        if (tasks[count - 1] == NULL) {
            (void)shutdown(world.streams[i].near, SHUT_WR);
        }
        tasks[count++] = begin(i % 2, receiver, &world.streams[i]);
    }
    tasks[count++] = begin(1, server, NULL);
    tasks[count++] = begin(0, client, NULL);
    tasks[count++] = begin(1, uses_files, NULL);
    tasks[count++] = begin(0, waits_in_vain, NULL);
    tasks[count++] = begin(1, leads_a_group, NULL);
    tasks[count++] = begin(0, watches, NULL);
    tasks[count++] = begin(1, sleeps_for_ever, NULL);
    verge_task *cancelled = tasks[count - 1];
    if (JOB_DONE_OR(verge_channel_create(sizeof(uint64_t), 3, NULL, &world.channel), ENOMEM)) {
        tasks[count++] = begin(1, producer, NULL);
        if (tasks[count - 1] == NULL) {
            (void)verge_channel_close(world.channel);
        }
        tasks[count++] = begin(0, consumer, NULL);
        if (tasks[count - 1] == NULL) {
            (void)verge_channel_close(world.channel);
        }
    }
    bring_and_retire_a_worker();
    JOB_CHECK(cancelled == NULL || verge_task_cancel(cancelled) == 0);
    for (size_t i = 0; i < count; i++) {
        finish(tasks[i]);
    }
    verge_task *left = begin(1, sleeps_for_ever, NULL);
    JOB_CHECK(left == NULL || verge_task_detach(left) == 0);
    left = begin(0, receives_for_ever, NULL);
    JOB_CHECK(left == NULL || verge_task_detach(left) == 0);
    verge_runtime_stop(verge_task_runtime());
    return 0;
}

/* ---- before and after ---- */

static void open_world(void) {
    int fds[2];
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        JOB_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        world.streams[i].near = fds[0];
        world.streams[i].far = fds[1];
    }
    JOB_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, world.quiet) == 0);
    socklen_t size = sizeof(world.address);
    world.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    world.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    JOB_CHECK(bind(world.listener, (struct sockaddr *)&world.address, size) == 0 && listen(world.listener, 8) == 0);
    JOB_CHECK(getsockname(world.listener, (struct sockaddr *)&world.address, &size) == 0);
    world.file = memfd_create("faults", MFD_CLOEXEC);
    JOB_CHECK(world.file >= 0);
}

static void audit(const struct fault_plan *plan) {
    for (size_t i = 0; i < STREAM_COUNT && !job_may_lose_results(plan); i++) {
        struct stream *stream = &world.streams[i];
        uint8_t bytes[CHUNK_SIZE_MAX];
        ssize_t count;
        while ((count = recv(stream->far, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
            check_bytes(stream, bytes, (size_t)count);
        }
        JOB_CHECK(stream->received == stream->sent);
    }
    const uint64_t left = world.channel == NULL ? 0 : verge_channel_count(world.channel);
    JOB_CHECK(world.items_received + left == world.items_sent);
    JOB_CHECK(atomic_load(&world.ended) == atomic_load(&world.begun));
}

static void close_world(void) {
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        (void)close(world.streams[i].near);
        (void)close(world.streams[i].far);
    }
    (void)close(world.quiet[0]);
    (void)close(world.quiet[1]);
    (void)close(world.listener);
    (void)close(world.file);
    verge_channel_destroy(world.channel);
}

static void ignore(void *context, const verge_stuck_task *stuck) {
    (void)context;
    (void)stuck;
}

void job_runtime(const struct fault_plan *plan) {
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 2;
    options.clock = job_clock(plan);
    options.dump_signal = SIGUSR1;
    options.stuck_after_ns = UINT64_C(1000000000);
    options.on_stuck = ignore;
    open_world();
    faults_begin(plan);
    if (JOB_DONE_OR(verge_runtime_create(&options, &runtime), ENOMEM)) {
        (void)JOB_DONE_OR(verge_runtime_run(runtime, first, NULL, NULL), ENOMEM, EAGAIN, EMFILE, ENOSPC, EPERM, ENOSYS);
        int error = verge_runtime_destroy(runtime);
        if (error != 0) { /* tasks are left, and the runtime cannot run while faults last */
            JOB_CHECK(fault_was_injected());
            faults_end();
            error = verge_runtime_destroy(runtime);
        }
        JOB_CHECK(error == 0);
    }
    faults_end();
    audit(plan);
    close_world();
}
