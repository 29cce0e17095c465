/* SPDX-License-Identifier: MIT */
/*
 * Measures recv over 64 socket pairs. Each rival has one ring of io_uring. In each round, all 64 calls wait, then each
 * gets 64 bytes, then all return. Bare: liburing, no timeouts. Linked: liburing, each recv with a linked timeout.
 * verge: 64 tasks, with and without a deadline for each recv.
 */
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <verge/io.h>

#include "tasks.h"

enum { pair_count = 64, message_size = 64 };

static int near_fds[pair_count], far_fds[pair_count];
static char message[message_size];

static void send_to_all(void) {
    for (int i = 0; i < pair_count; i++) {
        bench_check(write(far_fds[i], message, message_size) == message_size, "a message is sent");
    }
}

/* ---- liburing ---- */

static struct io_uring ring;
static char buffers[pair_count][message_size];

static void submit_recvs(bool with_timeouts) {
    static struct __kernel_timespec timeout = {.tv_sec = 30};
    for (int i = 0; i < pair_count; i++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        io_uring_prep_recv(entry, near_fds[i], buffers[i], message_size, 0);
        io_uring_sqe_set_data64(entry, 1);
        if (with_timeouts) {
            io_uring_sqe_set_flags(entry, IOSQE_IO_LINK);
            entry = io_uring_get_sqe(&ring);
            io_uring_prep_link_timeout(entry, &timeout, 0);
            io_uring_sqe_set_data64(entry, 0);
        }
    }
    bench_check(io_uring_submit(&ring) == pair_count * (with_timeouts ? 2 : 1), "all are submitted");
}

/* Takes all completions. Those of the timeouts are only counted. */
static void collect(unsigned expected) {
    unsigned received = 0, total = 0;
    while (total < expected) {
        struct io_uring_cqe *entry;
        unsigned head, count = 0;
        bench_check(io_uring_submit_and_wait(&ring, 1) >= 0, "the ring waits");
        io_uring_for_each_cqe(&ring, head, entry) {
            if (io_uring_cqe_get_data64(entry) == 1) {
                bench_check(entry->res == message_size, "a message is received");
                received++;
            }
            count++;
        }
        io_uring_cq_advance(&ring, count);
        total += count;
    }
    bench_check(received == pair_count, "each message was received");
}

static double run_liburing(bool with_timeouts, int rounds) {
    const double begin_ns = bench_cpu_ns();
    for (int round = 0; round < rounds; round++) {
        submit_recvs(with_timeouts);
        send_to_all();
        collect(pair_count * (with_timeouts ? 2 : 1));
    }
    return (bench_cpu_ns() - begin_ns) / rounds / pair_count;
}

/* ---- verge ---- */

struct verge_run {
    int rounds;
    bool with_deadlines;
    unsigned received; /* how many messages of this round were received */
    verge_channel *round_done;
    double ns_each;
};

static struct verge_run verge_run;

static intptr_t receives(void *argument) {
    const int fd = *(int *)argument;
    char buffer[message_size];
    for (int round = 0; round < verge_run.rounds; round++) {
        const uint64_t deadline_ns =
            verge_run.with_deadlines ? verge_deadline_after(UINT64_C(30000000000)) : VERGE_NEVER;
        bench_check(verge_recv(fd, buffer, message_size, 0, deadline_ns) == message_size, "a message is received");
        if (++verge_run.received == pair_count) {
            verge_run.received = 0;
            bench_check(verge_channel_send(verge_run.round_done, NULL, VERGE_NEVER) == 0, "the end of a round is told");
        }
    }
    return 0;
}

static intptr_t sends(void *argument) {
    (void)argument;
    for (int i = 0; i < pair_count; i++) {
        bench_check(verge_spawn(receives, &near_fds[i], NULL) == 0, "a task is spawned");
    }
    (void)verge_yield();
    const double begin_ns = bench_cpu_ns();
    for (int round = 0; round < verge_run.rounds; round++) {
        (void)verge_yield(); /* lets the loop submit the calls of the other tasks */
        send_to_all();
        bench_check(verge_channel_receive(verge_run.round_done, NULL, VERGE_NEVER) == 0, "a round is done");
    }
    verge_run.ns_each = (bench_cpu_ns() - begin_ns) / verge_run.rounds / pair_count;
    return 0;
}

static double run_verge(verge_runtime *runtime, bool with_deadlines, int rounds) {
    verge_run = (struct verge_run){.rounds = rounds, .with_deadlines = with_deadlines};
    bench_check(verge_channel_create(0, 1, NULL, &verge_run.round_done) == 0, "a channel is created");
    bench_check(verge_runtime_run(runtime, sends, NULL, NULL) == 0, "the runtime runs");
    verge_channel_destroy(verge_run.round_done);
    return verge_run.ns_each;
}

/* ---- */

static bool open_ring(void) {
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    return io_uring_queue_init_params(256, &ring, &params) == 0;
}

int bench_io_recv(bool quick) {
    printf("recv: 64 socket pairs on one ring, ns an operation\n");
    verge_runtime_options options;
    verge_runtime *runtime;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    options.backend = VERGE_BACKEND_IO_URING;
    if (!open_ring()) {
        printf("    no io_uring here\n");
        return 0;
    }
    bench_check(verge_runtime_create(&options, &runtime) == 0, "a runtime is created");
    for (int i = 0; i < pair_count; i++) {
        int fds[2];
        bench_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "a pair is opened");
        near_fds[i] = fds[0];
        far_fds[i] = fds[1];
    }
    struct bench_series bare = {.name = "bare"}, linked = {.name = "linked"}, none = {.name = "none"},
                        deadline = {.name = "deadline"}, cost = {.name = "cost"};
    const int rounds = quick ? 3 : 25, repeats = quick ? 200 : 1000;
    for (int i = 0; i < rounds; i++) {
        bench_add(&bare, run_liburing(false, repeats));
        bench_add(&linked, run_liburing(true, repeats));
        bench_add(&none, run_verge(runtime, false, repeats));
        bench_add(&deadline, run_verge(runtime, true, repeats));
        bench_add(&cost, deadline.values[i] - none.values[i]);
    }
    for (int i = 0; i < pair_count; i++) {
        (void)close(near_fds[i]);
        (void)close(far_fds[i]);
    }
    io_uring_queue_exit(&ring);
    (void)verge_runtime_destroy(runtime);
    printf("    liburing: bare %.0f, with linked timeouts %.0f; verge: without deadline %.0f, with %.0f\n",
           bench_median(&bare), bench_median(&linked), bench_median(&none), bench_median(&deadline));
    return bench_require("rate, with deadlines, of that with linked timeouts", bench_ratio(&linked, &deadline),
                         ">=", 1.3) +
           bench_require("ns that a deadline costs", bench_median(&cost), "<=", 50);
}
