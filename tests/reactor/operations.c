/* SPDX-License-Identifier: MIT */
/* Every kind of operation waits, is done once, and loses no data when it is cancelled. */
#define _GNU_SOURCE

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "reactor/support.h"

#if defined(VERGE_TEST_LIBURING)
#include <liburing.h>
#endif

static void what_is_there_is_received(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    char buffer[16] = {0};
    assert_int_equal(write(pair.far, "hello", 5), 5);
    verge__operation op = transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer));
    assert_int_equal(run(&fixture, &op), 5);
    assert_string_equal(buffer, "hello");
    expect_quiet(&fixture);
    close_pair(pair);
    close_reactor(&fixture);
}

static void each_kind_waits_for(verge__operation op, int far, struct fixture *fixture) {
    int count = 0;
    op.owner = &count;
    assert_false(verge__reactor_submit(fixture->reactor, &op));
    expect_quiet(fixture);
    assert_int_equal(count, 0);
    assert_int_equal(write(far, "x", 1), 1);
    expect_done(fixture, &op);
    assert_int_equal(op.result, 1);
    expect_quiet(fixture);
    assert_int_equal(count, 1);
}

static void what_comes_later_is_waited_for(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    char buffer[16];
    struct iovec part = {.iov_base = buffer, .iov_len = sizeof(buffer)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        assert_int_equal(fcntl(pair.near, F_SETFL, nonblocking ? O_NONBLOCK : 0), 0);
        each_kind_waits_for(transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer)), pair.far, &fixture);
        each_kind_waits_for(transfer_op(VERGE__READ, pair.near, buffer, sizeof(buffer)), pair.far, &fixture);
        each_kind_waits_for((verge__operation){.kind = VERGE__READV,
                                               .fd = pair.near,
                                               .vector = {.parts = &part, .count = 1},
                                               .offset = VERGE__FILE_POSITION},
                            pair.far, &fixture);
        each_kind_waits_for((verge__operation){.kind = VERGE__RECVMSG, .fd = pair.near, .message = &message}, pair.far,
                            &fixture);
        each_kind_waits_for((verge__operation){.kind = VERGE__POLL, .fd = pair.near, .flags = POLLIN}, pair.far,
                            &fixture);
        assert_int_equal(read(pair.near, buffer, 1), 1);
    }
    close_pair(pair);
    close_reactor(&fixture);
}

static void pipes_are_waited_for(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    int fds[2];
    char buffer[16];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    each_kind_waits_for(transfer_op(VERGE__READ, fds[0], buffer, sizeof(buffer)), fds[1], &fixture);
    verge__operation op = transfer_op(VERGE__WRITE, fds[1], "ab", 2);
    assert_int_equal(run(&fixture, &op), 2);
    assert_int_equal(read(fds[0], buffer, sizeof(buffer)), 2);
    close_pair((struct pair){fds[0], fds[1]});
    close_reactor(&fixture);
}

/* If the kernel returns EAGAIN instead of waiting, the reactor waits for readiness, and the operation can be cancelled
 * meanwhile. The kernel does so for some files that are O_NONBLOCK. Here RWF_NOWAIT tells it to. */
static void a_kernel_that_does_not_wait_is_waited_for(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    int fds[2];
    char buffer[16];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    for (int i = 0; i < 3; i++) {
        verge__operation op = transfer_op(VERGE__READ, fds[0], buffer, sizeof(buffer));
        op.flags = RWF_NOWAIT;
        each_kind_waits_for(op, fds[1], &fixture);
        op = transfer_op(VERGE__READ, fds[0], buffer, sizeof(buffer));
        op.flags = RWF_NOWAIT;
        assert_false(verge__reactor_submit(fixture.reactor, &op));
        for (int round = 0; round < i; round++) {
            assert_int_equal(wait_once(&fixture, 0), 0);
        }
        verge__reactor_cancel(fixture.reactor, &op);
        expect_done(&fixture, &op);
        assert_int_equal(op.result, -ECANCELED);
    }
    close_pair((struct pair){fds[0], fds[1]});
    close_reactor(&fixture);
}

/* If a file such as an inotify descriptor is O_NONBLOCK, the kernel may return EAGAIN. Then the reactor waits for
 * readiness. */
static void unusual_files_are_waited_for(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    char path[] = "/tmp/verge-reactor-XXXXXX", buffer[4096];
    const int file = mkstemp(path);
    for (int flags = 0; flags <= IN_NONBLOCK; flags += IN_NONBLOCK) {
        const int watcher = inotify_init1(flags);
        assert_true(file >= 0 && watcher >= 0 && inotify_add_watch(watcher, path, IN_MODIFY) >= 0);
        verge__operation op = transfer_op(VERGE__READ, watcher, buffer, sizeof(buffer));
        assert_false(verge__reactor_submit(fixture.reactor, &op));
        expect_quiet(&fixture);
        assert_int_equal(write(file, "x", 1), 1);
        expect_done(&fixture, &op);
        assert_true(op.result >= (int32_t)sizeof(struct inotify_event));
        op = transfer_op(VERGE__READ, watcher, buffer, sizeof(buffer));
        assert_false(verge__reactor_submit(fixture.reactor, &op));
        expect_quiet(&fixture);
        verge__reactor_cancel(fixture.reactor, &op);
        expect_done(&fixture, &op);
        assert_int_equal(op.result, -ECANCELED);
        assert_int_equal(close(watcher), 0);
    }
    assert_int_equal(close(file) + unlink(path), 0);
    close_reactor(&fixture);
}

/* A writer waits until there is room. */
static void a_full_socket_is_waited_for(void **state) {
    (void)state;
    static char block[1 << 16];
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    while (send(pair.near, block, sizeof(block), MSG_DONTWAIT) > 0) {
    }
    verge__operation op = transfer_op(VERGE__SEND, pair.near, block, 1);
    op.flags = MSG_NOSIGNAL;
    assert_false(verge__reactor_submit(fixture.reactor, &op));
    expect_quiet(&fixture);
    while (recv(pair.far, block, sizeof(block), MSG_DONTWAIT) > 0) {
    }
    expect_done(&fixture, &op);
    assert_int_equal(op.result, 1);
    close_pair(pair);
    close_reactor(&fixture);
}

static void a_cancelled_operation_is_done_once_and_takes_nothing(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    char buffer[16] = {0};
    int count = 0;
    verge__operation op = transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer));
    op.owner = &count;
    assert_false(verge__reactor_submit(fixture.reactor, &op));
    expect_quiet(&fixture);
    verge__reactor_cancel(fixture.reactor, &op);
    verge__reactor_cancel(fixture.reactor, &op);
    expect_done(&fixture, &op);
    assert_int_equal(op.result, -ECANCELED);
    assert_int_equal(count, 1);
    assert_int_equal(write(pair.far, "later", 5), 5);
    expect_quiet(&fixture);
    assert_int_equal(buffer[0], 0);
    assert_int_equal(read(pair.near, buffer, sizeof(buffer)), 5);
    close_pair(pair);
    close_reactor(&fixture);
}

/* An operation is cancelled at any moment after its data has come. The data is in the buffer, or still in the
 * socket. */
static void a_cancel_that_comes_too_late_loses_nothing(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    for (int rounds = 0; rounds < 8; rounds++) {
        char buffer[16] = {0};
        verge__operation op = transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer));
        assert_false(verge__reactor_submit(fixture.reactor, &op));
        if ((rounds & 1) != 0) {
            assert_int_equal(wait_once(&fixture, 0), 0);
        }
        assert_int_equal(write(pair.far, "late", 4), 4);
        if ((rounds & 2) != 0) {
            (void)wait_once(&fixture, 0);
        }
        if (op.state != VERGE__DONE) {
            verge__reactor_cancel(fixture.reactor, &op);
            expect_done(&fixture, &op);
        }
        if (op.result == -ECANCELED) {
            op.result = (int32_t)recv(pair.near, buffer, sizeof(buffer), MSG_DONTWAIT);
        }
        assert_int_equal(op.result, 4);
        assert_string_equal(buffer, "late");
        expect_quiet(&fixture);
    }
    close_pair(pair);
    close_reactor(&fixture);
}

static void flags_of_recv_are_honoured(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    char buffer[4];
    verge__operation op = transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer));
    op.flags = MSG_DONTWAIT;
    assert_int_equal(run(&fixture, &op), -EAGAIN);
    op = transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer));
    op.flags = MSG_WAITALL;
    assert_false(verge__reactor_submit(fixture.reactor, &op));
    for (int i = 0; i < 4; i++) {
        expect_quiet(&fixture);
        assert_int_equal(write(pair.far, &"abcd"[i], 1), 1);
    }
    expect_done(&fixture, &op);
    assert_int_equal(op.result, 4);
    assert_memory_equal(buffer, "abcd", 4);
    close_pair(pair);
    close_reactor(&fixture);
}

/* ---- connections ---- */

static int listen_on_loopback(struct sockaddr_in *ret_address) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(*ret_address);
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)ret_address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret_address, &size), 0);
    return fd;
}

static verge__operation connect_op(int fd, const struct sockaddr_in *address) {
    return (verge__operation){
        .kind = VERGE__CONNECT,
        .fd = fd,
        .target = {.address = (const struct sockaddr *)address, .size = sizeof(*address)},
    };
}

static void connections_are_accepted_and_made(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        struct sockaddr_in peer;
        socklen_t peer_size = sizeof(peer);
        verge__operation accepting = {
            .kind = VERGE__ACCEPT,
            .fd = listener,
            .flags = SOCK_CLOEXEC,
            .peer = {.address = (struct sockaddr *)&peer, .size = &peer_size},
        };
        assert_int_equal(fcntl(listener, F_SETFL, nonblocking ? O_NONBLOCK : 0), 0);
        assert_false(verge__reactor_submit(fixture.reactor, &accepting));
        expect_quiet(&fixture);
        const int client = socket(AF_INET, SOCK_STREAM | (nonblocking ? SOCK_NONBLOCK : 0), 0);
        verge__operation connecting = connect_op(client, &address);
        assert_int_equal(run(&fixture, &connecting), 0);
        expect_done(&fixture, &accepting);
        assert_true(accepting.result >= 0);
        assert_int_equal(peer_size, sizeof(peer));
        assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, nonblocking ? O_NONBLOCK : 0);
        close_pair((struct pair){client, accepting.result});
    }
    assert_int_equal(close(listener), 0);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    verge__operation connecting = connect_op(client, &address);
    assert_int_equal(run(&fixture, &connecting), -ECONNREFUSED);
    assert_int_equal(close(client), 0);
    close_reactor(&fixture);
}

/* ---- files ---- */

static void files_are_opened_written_synced_read_and_closed(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    char path[] = "/tmp/verge-reactor-XXXXXX";
    assert_int_equal(close(mkstemp(path)), 0);
    verge__operation op = {.kind = VERGE__OPENAT, .fd = AT_FDCWD, .flags = O_RDWR | O_CLOEXEC, .file = {.path = path}};
    const int fd = run(&fixture, &op);
    assert_true(fd >= 0);
    static char data[100000], copy[100000];
    memset(data, 'd', sizeof(data));
    op = transfer_op(VERGE__WRITE, fd, data, sizeof(data));
    assert_int_equal(run(&fixture, &op), sizeof(data));
    for (uint32_t only_data = 0; only_data < 2; only_data++) {
        op = (verge__operation){.kind = VERGE__FSYNC, .fd = fd, .flags = only_data};
        assert_int_equal(run(&fixture, &op), 0);
    }
    op = transfer_op(VERGE__READ, fd, copy, sizeof(copy));
    assert_int_equal(run(&fixture, &op), 0); /* the position is at the end */
    op = transfer_op(VERGE__READ, fd, copy, sizeof(copy));
    op.offset = 0;
    assert_int_equal(run(&fixture, &op), sizeof(copy));
    assert_memory_equal(data, copy, sizeof(data));
    op = (verge__operation){.kind = VERGE__POLL, .fd = fd, .flags = POLLIN};
    assert_int_equal(run(&fixture, &op) & POLLIN, POLLIN);
    op = (verge__operation){.kind = VERGE__CLOSE, .fd = fd};
    assert_int_equal(run(&fixture, &op), 0);
    op = (verge__operation){.kind = VERGE__CLOSE, .fd = fd};
    assert_int_equal(run(&fixture, &op), -EBADF);
    op = transfer_op(VERGE__READ, fd, copy, sizeof(copy));
    assert_int_equal(run(&fixture, &op), -EBADF);
    op = (verge__operation){.kind = VERGE__OPENAT, .fd = AT_FDCWD, .file = {.path = "/nowhere/at/all"}};
    assert_int_equal(run(&fixture, &op), -ENOENT);
    assert_int_equal(unlink(path), 0);
    close_reactor(&fixture);
}

static void splice_moves_between_a_pipe_and_a_socket(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    int fds[2];
    char buffer[8];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "spliced", 7), 7);
    verge__operation op = {
        .kind = VERGE__SPLICE,
        .fd = fds[0],
        .splice = {.fd_out = pair.near, .size = 7, .offset_in = -1, .offset_out = -1},
    };
    if (is_uring(&fixture)) {
        assert_int_equal(run(&fixture, &op), 7);
        assert_int_equal(read(pair.far, buffer, sizeof(buffer)), 7);
    } else {
        assert_int_equal(run(&fixture, &op), -EOPNOTSUPP);
    }
    close_pair((struct pair){fds[0], fds[1]});
    close_pair(pair);
    close_reactor(&fixture);
}

#if defined(VERGE_TEST_LIBURING)

static void prepare_nop(struct io_uring_sqe *entry, void *context) {
    io_uring_prep_nop(entry);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK; /* neither must have an effect */
    *(int *)context = 1;
}

static void prepare_multishot_poll(struct io_uring_sqe *entry, void *context) {
    io_uring_prep_poll_multishot(entry, *(int *)context, POLLIN);
}

static void a_custom_operation_has_one_result(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    int called = 0;
    verge__operation op = {.kind = VERGE__CUSTOM, .custom = {.prepare = prepare_nop, .context = &called}};
    assert_int_equal(run(&fixture, &op), is_uring(&fixture) ? 0 : -EOPNOTSUPP);
    assert_int_equal(called, is_uring(&fixture));
    if (is_uring(&fixture)) {
        struct pair pair = open_pair();
        op = (verge__operation){.kind = VERGE__CUSTOM,
                                .custom = {.prepare = prepare_multishot_poll, .context = &pair.near}};
        assert_false(verge__reactor_submit(fixture.reactor, &op));
        expect_quiet(&fixture);
        assert_int_equal(write(pair.far, "x", 1), 1);
        expect_done(&fixture, &op);
        assert_int_equal(op.result, POLLIN);
        assert_int_equal(write(pair.far, "x", 1), 1);
        expect_quiet(&fixture);
        close_pair(pair);
    }
    close_reactor(&fixture);
}

#endif

/* ---- waking ---- */

static void *wake_from_outside(void *reactor) {
    verge__reactor_wake(reactor);
    return NULL;
}

static void a_wake_from_any_thread_ends_the_wait(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, wake_from_outside, fixture.reactor), 0);
        assert_int_equal(wait_once(&fixture, VERGE_NEVER), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (i % 2 == 0) { /* a wake before the wait counts as well */
            verge__reactor_wake(fixture.reactor);
            assert_int_equal(wait_once(&fixture, VERGE_NEVER), 0);
        }
    }
    close_reactor(&fixture);
}

/* A descriptor is closed, and its number is used for another file. The reactor waits for the new file. */
static void a_reused_descriptor_is_a_new_one(void **state) {
    (void)state;
    struct fixture fixture;
    open_reactor(&fixture, 0);
    int near = -1;
    for (int i = 0; i < 4; i++) {
        const struct pair pair = open_pair();
        assert_true(near < 0 || pair.near == near);
        near = pair.near;
        char buffer[4];
        each_kind_waits_for(transfer_op(VERGE__RECV, pair.near, buffer, sizeof(buffer)), pair.far, &fixture);
        close_pair(pair);
    }
    close_reactor(&fixture);
}

/* Readers and a writer wait for one descriptor, and each gets what it waits for. */
static void several_wait_for_one_descriptor(void **state) {
    (void)state;
    static char block[1 << 16];
    struct fixture fixture;
    open_reactor(&fixture, 0);
    const struct pair pair = open_pair();
    char buffers[3] = {0};
    int count = 0;
    verge__operation readers[3], writer;
    while (send(pair.near, block, sizeof(block), MSG_DONTWAIT) > 0) {
    }
    for (size_t i = 0; i < 3; i++) {
        readers[i] = transfer_op(VERGE__RECV, pair.near, &buffers[i], 1);
        readers[i].owner = &count;
        assert_false(verge__reactor_submit(fixture.reactor, &readers[i]));
    }
    writer = transfer_op(VERGE__SEND, pair.near, block, 1);
    writer.owner = &count;
    assert_false(verge__reactor_submit(fixture.reactor, &writer));
    expect_quiet(&fixture);
    verge__reactor_cancel(fixture.reactor, &readers[1]);
    expect_done(&fixture, &readers[1]);
    assert_int_equal(write(pair.far, "ab", 2), 2);
    expect_done(&fixture, &readers[0]);
    expect_done(&fixture, &readers[2]);
    assert_int_equal(count, 3);
    while (recv(pair.far, block, sizeof(block), MSG_DONTWAIT) > 0) {
    }
    expect_done(&fixture, &writer);
    assert_int_equal(readers[0].result + readers[2].result + writer.result, 3);
    assert_int_equal(buffers[0] + buffers[2], 'a' + 'b');
    expect_quiet(&fixture);
    close_pair(pair);
    close_reactor(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_received),
        cmocka_unit_test(what_comes_later_is_waited_for),
        cmocka_unit_test(pipes_are_waited_for),
        cmocka_unit_test(a_kernel_that_does_not_wait_is_waited_for),
        cmocka_unit_test(unusual_files_are_waited_for),
        cmocka_unit_test(a_full_socket_is_waited_for),
        cmocka_unit_test(a_cancelled_operation_is_done_once_and_takes_nothing),
        cmocka_unit_test(a_cancel_that_comes_too_late_loses_nothing),
        cmocka_unit_test(flags_of_recv_are_honoured),
        cmocka_unit_test(connections_are_accepted_and_made),
        cmocka_unit_test(files_are_opened_written_synced_read_and_closed),
        cmocka_unit_test(splice_moves_between_a_pipe_and_a_socket),
#if defined(VERGE_TEST_LIBURING)
        cmocka_unit_test(a_custom_operation_has_one_result),
#endif
        cmocka_unit_test(a_wake_from_any_thread_ends_the_wait),
        cmocka_unit_test(a_reused_descriptor_is_a_new_one),
        cmocka_unit_test(several_wait_for_one_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
