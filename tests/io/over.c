/* SPDX-License-Identifier: MIT */
/*
 * N3 and T3: a call that need not wait succeeds, even in a task that is cancelled or past its deadline, or in a runtime
 * that stops. This matters most for files: a task can save its state before it ends. Calls that would have to wait
 * fail.
 */
#define _GNU_SOURCE

#include <sys/stat.h>
#include <termios.h>

#include "io/support.h"

#if defined(VERGE_TEST_LIBURING)
#include <liburing.h>
#endif

enum { ROUNDS = 50 };

/* Why a call must not wait. */
enum reason { CANCELLED, DEADLINE, SCOPE, STOPPED, reason_count };

static enum reason reason;
static char folder[] = "/tmp/verge-io-XXXXXX";

static uint64_t deadline_ns(void) {
    return reason == DEADLINE ? 0 : VERGE_NEVER;
}

static int expected_error(void) {
    return reason == DEADLINE || reason == SCOPE ? -ETIMEDOUT : -ECANCELED;
}

/* ---- files: all calls, from nothing to a file that is saved ---- */

static void saves_a_file(int number) {
    char path[64], bytes[16] = {0};
    (void)snprintf(path, sizeof(path), "%s/%d", folder, number);
    struct iovec parts[2] = {{.iov_base = "state", .iov_len = 5}, {.iov_base = "!", .iov_len = 1}};
    const int fd = verge_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600, deadline_ns());
    CHECK(fd >= 0);
    CHECK_EQUAL(verge_write(fd, "my ", 3, deadline_ns()), 3);
    CHECK_EQUAL(verge_writev(fd, parts, 2, deadline_ns()), 6);
    CHECK_EQUAL(verge_pwrite(fd, "M", 1, 0, deadline_ns()), 1);
    CHECK_EQUAL(verge_write_all(fd, "!!", 2, NULL, deadline_ns()), 0);
    CHECK_EQUAL(verge_fdatasync(fd, deadline_ns()), 0);
    CHECK_EQUAL(verge_fsync(fd, deadline_ns()), 0);
    CHECK_EQUAL(verge_pread(fd, bytes, sizeof(bytes), 0, deadline_ns()), 11);
    CHECK(memcmp(bytes, "My state!!!", 11) == 0);
    CHECK_EQUAL(verge_read(fd, bytes, sizeof(bytes), deadline_ns()), 0);
    CHECK_EQUAL(verge_close(fd), 0);
    const int again = verge_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, deadline_ns());
    CHECK(again >= 0);
    parts[0] = (struct iovec){.iov_base = bytes, .iov_len = 4};
    CHECK_EQUAL(verge_readv(again, parts, 1, deadline_ns()), 4);
    CHECK_EQUAL(verge_read_all(again, bytes, 7, NULL, deadline_ns()), 0);
    CHECK_EQUAL(verge_close(again), 0);
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(verge_openat(AT_FDCWD, path, O_RDONLY, 0, deadline_ns()), -ENOENT);
}

/* ---- what io_uring alone has ---- */

static void splices(int number) {
    char path[64];
    int fds[2] = {-1, -1};
    (void)snprintf(path, sizeof(path), "%s/%d", folder, number);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_EQUAL(pipe2(fds, O_CLOEXEC), 0);
    CHECK_EQUAL(verge_splice(fds[0], NULL, file, NULL, 3, 0, deadline_ns()),
                is_uring() ? expected_error() : -EOPNOTSUPP);
    CHECK_EQUAL(write(fds[1], "abc", 3), 3);
    if (is_uring()) {
        int64_t offset = 0;
        CHECK_EQUAL(verge_splice(fds[0], NULL, file, NULL, 3, 0, deadline_ns()), 3);
        CHECK_EQUAL(verge_splice(file, &offset, fds[1], NULL, 3, 0, deadline_ns()), 3);
    }
    CHECK_EQUAL(close(file) + close(fds[0]) + close(fds[1]) + unlink(path), 0);
}

#if defined(VERGE_TEST_LIBURING)

static char from[64], to[64];

static void prepare_rename(struct io_uring_sqe *entry, void *context) {
    (void)context;
    io_uring_prep_renameat(entry, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void prepare_unlink(struct io_uring_sqe *entry, void *context) {
    (void)context;
    io_uring_prep_unlinkat(entry, AT_FDCWD, to, 0);
}

static void prepare_timeout(struct io_uring_sqe *entry, void *context) {
    io_uring_prep_timeout(entry, context, 0, 0);
}

static void renames(int number) {
    if (!is_uring()) {
        return;
    }
    (void)snprintf(from, sizeof(from), "%s/%d.new", folder, number);
    (void)snprintf(to, sizeof(to), "%s/%d", folder, number);
    CHECK_EQUAL(close(open(from, O_CREAT | O_RDWR | O_CLOEXEC, 0600)), 0);
    CHECK_EQUAL(verge_uring(prepare_rename, NULL, NULL, deadline_ns()), 0);
    CHECK_EQUAL(verge_uring(prepare_unlink, NULL, NULL, deadline_ns()), 0);
    struct __kernel_timespec hour = {.tv_sec = 3600};
    CHECK_EQUAL(verge_uring(prepare_timeout, &hour, NULL, deadline_ns()), expected_error());
}

#endif

/* ---- sockets, pipes, terminals: data that is there is taken, and no call waits for more ---- */

static void receives(int number) {
    (void)number;
    char bytes[4];
    const struct pair pair = open_pair();
    CHECK_EQUAL(verge_recv(pair.near, bytes, 4, 0, deadline_ns()), expected_error());
    CHECK_EQUAL(verge_read(pair.near, bytes, 4, deadline_ns()), expected_error());
    CHECK_EQUAL(verge_send(pair.far, "ab", 2, 0, deadline_ns()), 2);
    CHECK_EQUAL(verge_recv(pair.near, bytes, 4, 0, deadline_ns()), 2);
    CHECK_EQUAL(verge_write(pair.far, "ab", 2, deadline_ns()), 2);
    CHECK_EQUAL(verge_read(pair.near, bytes, 4, deadline_ns()), 2);
    close_pair(pair);
    int fds[2] = {-1, -1};
    CHECK_EQUAL(pipe2(fds, O_CLOEXEC), 0);
    CHECK_EQUAL(verge_read(fds[0], bytes, 4, deadline_ns()), expected_error());
    CHECK_EQUAL(verge_write(fds[1], "ab", 2, deadline_ns()), 2);
    CHECK_EQUAL(verge_read(fds[0], bytes, 4, deadline_ns()), 2);
    CHECK_EQUAL(close(fds[0]) + close(fds[1]), 0);
}

static void uses_a_terminal(int number) {
    (void)number;
    char name[64], bytes[4];
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) {
        return; /* no pseudo-terminals, for example in a bare chroot */
    }
    CHECK_EQUAL(grantpt(master) + unlockpt(master) + ptsname_r(master, name, sizeof(name)), 0);
    const int terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(terminal >= 0);
    struct termios settings;
    CHECK_EQUAL(tcgetattr(terminal, &settings), 0);
    cfmakeraw(&settings);
    CHECK_EQUAL(tcsetattr(terminal, TCSANOW, &settings), 0);
    CHECK_EQUAL(verge_read(master, bytes, 4, deadline_ns()), expected_error());
    CHECK_EQUAL(verge_write(terminal, "ab", 2, deadline_ns()), 2);
    while (poll(&(struct pollfd){.fd = master, .events = POLLIN}, 1, -1) != 1) { /* the kernel hands the bytes on */
    }
    CHECK_EQUAL(verge_read(master, bytes, 4, deadline_ns()), 2);
    CHECK_EQUAL(close(terminal) + close(master), 0);
}

/* ---- each call for each reason ---- */

static intptr_t does_all(void *argument) {
    (void)argument;
    verge_deadline scope;
    if (reason == CANCELLED) {
        CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    } else if (reason == STOPPED) {
        verge_runtime_stop(verge_task_runtime());
        while (!verge_task_is_cancelled()) {
            CHECK_EQUAL(verge_yield(), 0);
        }
    } else if (reason == SCOPE) {
        CHECK_EQUAL(verge_deadline_push(&scope, 0), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        saves_a_file(i);
        splices(i);
        receives(i);
        uses_a_terminal(i);
#if defined(VERGE_TEST_LIBURING)
        renames(i);
#endif
    }
    return 0;
}

static void n3_what_need_not_wait_is_done(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (reason = 0; reason < reason_count; reason++) {
        run_tasks(1, does_all, NULL);
        verge_manual_clock clock = {SECOND};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = &clock;
        options.io_grace_ns = 0;
        (void)run_with(options, does_all, NULL);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n3_what_need_not_wait_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
