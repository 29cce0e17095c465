/* SPDX-License-Identifier: MIT */
/* The calls of verge/io.h, in tasks: what they do, and which errors they return. */
#define _GNU_SOURCE

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "io/support.h"

#if defined(VERGE_TEST_LIBURING)
#include <liburing.h>
#endif

/* ---- sockets ---- */

struct server {
    int listener;
    struct sockaddr_in address;
};

static intptr_t accepts_and_echoes(void *argument) {
    const struct server *server = argument;
    struct sockaddr_in peer;
    socklen_t peer_size = sizeof(peer);
    const int fd = verge_accept(server->listener, (struct sockaddr *)&peer, &peer_size, SOCK_CLOEXEC,
                                verge_deadline_after(MINUTE));
    CHECK(fd >= 0);
    CHECK_EQUAL(peer_size, sizeof(peer));
    char buffer[64];
    ptrdiff_t size;
    while ((size = verge_recv(fd, buffer, sizeof(buffer), 0, verge_deadline_after(MINUTE))) > 0) {
        CHECK_EQUAL(verge_send(fd, buffer, (size_t)size, 0, verge_deadline_after(MINUTE)), size);
    }
    CHECK_EQUAL(size, 0);
    return verge_close(fd);
}

static intptr_t connects(void *argument) {
    (void)argument;
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct server server;
        server.listener = listen_on_loopback(&server.address);
        verge_task *task = spawn_on(worker, accepts_and_echoes, &server);
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQUAL(
            verge_connect(fd, (struct sockaddr *)&server.address, sizeof(server.address), verge_deadline_after(MINUTE)),
            0);
        for (int i = 0; i < 100; i++) {
            char out[16] = {0}, in[16] = {0};
            (void)snprintf(out, sizeof(out), "message %d", i);
            CHECK_EQUAL(verge_write_all(fd, out, sizeof(out), NULL, VERGE_NEVER), 0);
            size_t size = 0;
            CHECK_EQUAL(verge_read_all(fd, in, sizeof(in), &size, verge_deadline_after(MINUTE)), 0);
            CHECK_EQUAL(size, sizeof(in));
            CHECK(strcmp(in, out) == 0);
        }
        CHECK_EQUAL(verge_close(fd), 0);
        CHECK_EQUAL(join(task), 0);
        CHECK_EQUAL(verge_close(server.listener), 0);
    }
    return 0;
}

static void connections_echo(void **state) {
    (void)state;
    run_tasks(2, connects, NULL);
}

static intptr_t sends_messages(void *argument) {
    const struct pair *pair = argument;
    struct iovec parts[2] = {{.iov_base = "ab", .iov_len = 2}, {.iov_base = "cd", .iov_len = 2}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CHECK_EQUAL(verge_sendmsg(pair->far, &message, 0, VERGE_NEVER), 4);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_writev(pair->far, parts, 2, VERGE_NEVER), 4);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_write(pair->far, "efgh", 4, VERGE_NEVER), 4);
    return 0;
}

static intptr_t receives_messages(void *argument) {
    (void)argument;
    struct pair pair = open_pair();
    verge_task *task = spawn(sends_messages, &pair);
    char first[3], second[3];
    struct iovec parts[2] = {{.iov_base = first, .iov_len = 3}, {.iov_base = second, .iov_len = 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CHECK_EQUAL(verge_recvmsg(pair.near, &message, 0, VERGE_NEVER), 4);
    CHECK(memcmp(first, "abc", 3) == 0 && second[0] == 'd');
    CHECK_EQUAL(verge_readv(pair.near, parts, 2, VERGE_NEVER), 4);
    CHECK_EQUAL(verge_poll(pair.near, POLLIN, VERGE_NEVER), POLLIN);
    CHECK_EQUAL(verge_read(pair.near, first, 3, VERGE_NEVER), 3);
    CHECK_EQUAL(verge_read(pair.near, first, 3, VERGE_NEVER), 1);
    join(task);
    CHECK_EQUAL(verge_poll(pair.near, POLLIN, verge_now() + MS), -ETIMEDOUT);
    CHECK_EQUAL(shutdown(pair.far, SHUT_WR), 0);
    size_t size = 9;
    CHECK_EQUAL(verge_read_all(pair.near, first, 3, &size, VERGE_NEVER), -ENODATA);
    CHECK_EQUAL(size, 0);
    close_pair(pair);
    return 0;
}

static void messages_and_vectors(void **state) {
    (void)state;
    run_tasks(1, receives_messages, NULL);
}

/* ---- files ---- */

static intptr_t uses_files(void *argument) {
    char *path = argument;
    char buffer[8] = {0};
    const int fd = verge_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_TRUNC, 0, VERGE_NEVER);
    CHECK(fd >= 0);
    CHECK_EQUAL(verge_write(fd, "0123456789", 10, VERGE_NEVER), 10);
    CHECK_EQUAL(verge_fsync(fd, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_fdatasync(fd, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_pread(fd, buffer, 4, 3, VERGE_NEVER), 4);
    CHECK(memcmp(buffer, "3456", 4) == 0);
    CHECK_EQUAL(verge_pwrite(fd, "xx", 2, 0, VERGE_NEVER), 2);
    CHECK_EQUAL(verge_pread(fd, buffer, 4, 0, VERGE_NEVER), 4);
    CHECK(memcmp(buffer, "xx23", 4) == 0);
    CHECK_EQUAL(verge_read(fd, buffer, 4, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_pread(fd, buffer, 4, UINT64_MAX, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY, 0, VERGE_NEVER), -ENOENT);
    int pipe_fds[2];
    int64_t offset = 2;
    CHECK_EQUAL(pipe2(pipe_fds, O_CLOEXEC), 0);
    if (is_uring()) {
        CHECK_EQUAL(verge_splice(fd, &offset, pipe_fds[1], NULL, 5, 0, VERGE_NEVER), 5);
        CHECK_EQUAL(offset, 7);
        CHECK_EQUAL(verge_read(pipe_fds[0], buffer, 8, VERGE_NEVER), 5);
        CHECK(memcmp(buffer, "23456", 5) == 0);
    } else {
        CHECK_EQUAL(verge_splice(fd, &offset, pipe_fds[1], NULL, 5, 0, VERGE_NEVER), -EOPNOTSUPP);
    }
    CHECK_EQUAL(verge_close(pipe_fds[0]) + verge_close(pipe_fds[1]), 0);
    CHECK_EQUAL(verge_close(fd), 0);
    CHECK_EQUAL(verge_close(fd), -EBADF);
    return 0;
}

static void files(void **state) {
    (void)state;
    char path[] = "/tmp/verge-io-XXXXXX";
    assert_int_equal(close(mkstemp(path)), 0);
    run_tasks(1, uses_files, path);
    assert_int_equal(unlink(path), 0);
}

/* ---- what makes no sense ---- */

static intptr_t is_wrong(void *argument) {
    (void)argument;
    char byte;
    CHECK_EQUAL(verge_recv(-1, &byte, 1, 0, VERGE_NEVER), -EBADF);
    CHECK_EQUAL(verge_read(-1, &byte, 1, verge_deadline_after(SECOND)), -EBADF);
    CHECK_EQUAL(verge_poll(-1, POLLIN, VERGE_NEVER), -EBADF);
    CHECK_EQUAL(verge_accept(-1, NULL, NULL, 0, VERGE_NEVER), -EBADF);
    CHECK_EQUAL(verge_recv(0, NULL, 1, 0, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_send(0, NULL, 1, 0, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_read(0, NULL, 1, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_recvmsg(0, NULL, 0, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_connect(0, NULL, 0, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_openat(0, NULL, 0, 0, VERGE_NEVER), -EFAULT);
    CHECK_EQUAL(verge_readv(0, NULL, 1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_writev(0, NULL, -1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_uring(NULL, NULL, NULL, VERGE_NEVER), -EINVAL);
    return 0;
}

/* An error that the system call would return at once is returned at once, even if the file is not ready. */
static intptr_t is_wrong_for_its_file(void *argument) {
    (void)argument;
    char bytes[8] = {0};
    const struct pair pair = open_pair();
    const int counter = eventfd(0, EFD_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct iovec too_large = {.iov_base = bytes, .iov_len = SIZE_MAX};
    CHECK_EQUAL(verge_readv(pair.near, &too_large, 1, verge_deadline_after(SECOND)), -EINVAL);
    CHECK_EQUAL(verge_writev(pair.near, &too_large, 1, verge_deadline_after(SECOND)), -EINVAL);
    CHECK_EQUAL(verge_read(counter, bytes, 4, verge_deadline_after(SECOND)), -EINVAL);
    CHECK_EQUAL(verge_read(timer, bytes, 4, verge_deadline_after(SECOND)), -EINVAL);
    CHECK_EQUAL(verge_write(timer, bytes, 8, verge_deadline_after(SECOND)), -EINVAL);
    CHECK_EQUAL(close(counter) + close(timer), 0);
    close_pair(pair);
    return 0;
}

static intptr_t splices_what_makes_no_sense(void *argument) {
    const char *path = argument;
    int pipe_fds[2];
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK_EQUAL(pipe2(pipe_fds, O_CLOEXEC), 0);
    CHECK_EQUAL(write(fd, "0123456789", 10), 10);
    CHECK_EQUAL(lseek(fd, 0, SEEK_SET), 0);
    for (int64_t wrong = INT64_MIN; wrong < 0; wrong = wrong < -1 ? -1 : 0) {
        int64_t offset = wrong;
        CHECK_EQUAL(verge_splice(fd, &offset, pipe_fds[1], NULL, 4, 0, VERGE_NEVER), -EINVAL);
        CHECK_EQUAL(verge_splice(pipe_fds[0], NULL, fd, &offset, 4, SPLICE_F_NONBLOCK, VERGE_NEVER), -EINVAL);
        CHECK_EQUAL(offset, wrong);
    }
    /* A flag that only io_uring has. */
    CHECK_EQUAL(verge_splice(fd, NULL, pipe_fds[1], NULL, 4, 1U << 31, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), 0);
    CHECK_EQUAL(close(fd) + close(pipe_fds[0]) + close(pipe_fds[1]), 0);
    return 0;
}

static void what_a_system_call_refuses_is_refused(void **state) {
    (void)state;
    char path[] = "/tmp/verge-io-XXXXXX";
    assert_int_equal(close(mkstemp(path)), 0);
    run_tasks(1, is_wrong_for_its_file, NULL);
    run_tasks(1, splices_what_makes_no_sense, path);
    assert_int_equal(unlink(path), 0);
}

static void wrong_arguments_are_errors(void **state) {
    (void)state;
    char byte;
    run_tasks(1, is_wrong, NULL);
    assert_int_equal(verge_recv(0, &byte, 1, 0, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_close(-1), -EPERM);
}

#if defined(VERGE_TEST_LIBURING)

struct timeout_entry {
    struct __kernel_timespec duration;
};

static void prepare_timeout(struct io_uring_sqe *entry, void *context) {
    struct timeout_entry *timeout = context;
    io_uring_prep_timeout(entry, &timeout->duration, 0, 0);
}

static void prepare_nop(struct io_uring_sqe *entry, void *context) {
    (void)context;
    io_uring_prep_nop(entry);
}

static intptr_t uses_uring(void *argument) {
    (void)argument;
    uint32_t flags = 77;
    struct timeout_entry soon = {.duration = {.tv_nsec = 1000000}}, late = {.duration = {.tv_sec = 3600}};
    if (!is_uring()) {
        CHECK_EQUAL(verge_uring(prepare_nop, NULL, &flags, VERGE_NEVER), -EOPNOTSUPP);
        return 0;
    }
    CHECK_EQUAL(verge_uring(prepare_nop, NULL, &flags, VERGE_NEVER), 0);
    CHECK_EQUAL(flags, 0);
    CHECK_EQUAL(verge_uring(prepare_timeout, &soon, NULL, VERGE_NEVER), -ETIME);
    CHECK_EQUAL(verge_uring(prepare_timeout, &late, NULL, verge_deadline_after(3 * MS)), -ETIMEDOUT);
    return 0;
}

static void any_operation_of_io_uring(void **state) {
    (void)state;
    run_tasks(1, uses_uring, NULL);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_echo),
        cmocka_unit_test(messages_and_vectors),
        cmocka_unit_test(files),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(what_a_system_call_refuses_is_refused),
#if defined(VERGE_TEST_LIBURING)
        cmocka_unit_test(any_operation_of_io_uring),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
