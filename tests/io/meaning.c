/* SPDX-License-Identifier: MIT */
/*
 * verge's calls do the same on both backends, and the same as the system calls. For every kind of file, verge_read,
 * verge_write and the like are compared with the system calls on a file of the same kind with O_NONBLOCK. Where a
 * system call returns EAGAIN, verge's call must wait until its deadline.
 */
#define _GNU_SOURCE

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "io/support.h"

/* ---- every kind of file ---- */

struct kind {
    const char *name;
    int fd, other; /* other: a second descriptor that belongs to fd, or -1 */
};

static struct kind of_one(const char *name, int fd) {
    return (struct kind){.name = name, .fd = fd, .other = -1};
}

static struct kind socket_of(const char *name, int type) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
    return (struct kind){.name = name, .fd = fds[0], .other = fds[1]};
}

static struct kind pipe_end(const char *name, int end) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(pipe2(fds, O_CLOEXEC), 0);
    return (struct kind){.name = name, .fd = fds[end], .other = fds[1 - end]};
}

static int regular_file(void) {
    const int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("verge", MFD_CLOEXEC);
}

static struct kind open_kind(int number) {
    sigset_t none;
    (void)sigemptyset(&none);
    switch (number) {
    case 0:
        return socket_of("stream socket", SOCK_STREAM);
    case 1:
        return socket_of("datagram socket", SOCK_DGRAM);
    case 2:
        return pipe_end("pipe, to read", 0);
    case 3:
        return pipe_end("pipe, to write", 1);
    case 4:
        return of_one("eventfd", eventfd(0, EFD_CLOEXEC));
    case 5:
        return of_one("timerfd", timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    case 6:
        return of_one("signalfd", signalfd(-1, &none, SFD_CLOEXEC));
    case 7:
        return of_one("epoll", epoll_create1(EPOLL_CLOEXEC));
    case 8:
        return of_one("process", (int)syscall(SYS_pidfd_open, getpid(), 0));
    case 9:
        return of_one("inotify", inotify_init1(IN_CLOEXEC));
    case 10:
        return of_one("terminal", posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    case 11:
        return of_one("null", open("/dev/null", O_RDWR | O_CLOEXEC));
    case 12:
        return of_one("zero", open("/dev/zero", O_RDWR | O_CLOEXEC));
    case 13:
        return of_one("regular file", regular_file());
    case 14:
        return of_one("folder", open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    case 15:
        return of_one("path", open("/tmp", O_PATH | O_CLOEXEC));
    case 16:
        return of_one("closed", -1);
    default:
        return of_one(NULL, -1);
    }
}

static void close_kind(const struct kind *kind) {
    (void)close(kind->fd);
    (void)close(kind->other);
}

/* ---- calls ---- */

enum { READ, READV, PREAD, WRITE, WRITEV, PWRITE, call_count };

static const char *const call_names[call_count] = {"read", "readv", "pread", "write", "writev", "pwrite"};

static char bytes[64];

static ptrdiff_t verge_call(int call, int fd, size_t size, uint64_t deadline_ns) {
    const struct iovec part = {.iov_base = bytes, .iov_len = size};
    switch (call) {
    case READ:
        return verge_read(fd, bytes, size, deadline_ns);
    case READV:
        return verge_readv(fd, &part, size != 0, deadline_ns);
    case PREAD:
        return verge_pread(fd, bytes, size, 0, deadline_ns);
    case WRITE:
        return verge_write(fd, bytes, size, deadline_ns);
    case WRITEV:
        return verge_writev(fd, &part, size != 0, deadline_ns);
    default:
        return verge_pwrite(fd, bytes, size, 0, deadline_ns);
    }
}

/* Returns the result that verge's call must have. It comes from readv, writev, preadv or pwritev, also for plain read
 * and write: for 0 bytes, POSIX leaves open whether read and write look for errors. But a write of 0 bytes is done with
 * write, and only if that fails with writev. */
static ptrdiff_t system_call(int call, int fd, size_t size) {
    const struct iovec part = {.iov_base = bytes, .iov_len = size};
    const bool is_write = call >= WRITE;
    const bool is_message = size == 0 && call == WRITE; /* on a socket of messages, this sends an empty one */
    ssize_t result;
    if (call == PREAD || call == PWRITE) {
        result = is_write ? pwritev(fd, &part, 1, 0) : preadv(fd, &part, 1, 0);
    } else if (is_message && write(fd, bytes, 0) == 0) {
        result = 0;
    } else {
        result = is_write ? writev(fd, &part, 1) : readv(fd, &part, 1);
    }
    return result < 0 ? -errno : result;
}

struct answer {
    ptrdiff_t expected, result;
    ptrdiff_t late; /* the result of a second call, after its deadline, made if the system call returned EAGAIN */
    bool is_right;
};

/* Calls change the state of their files. So the system call has a file of its own, and each question new files. */
static struct answer ask(int number, int call, size_t size, bool is_nonblocking) {
    const struct kind expected_of = open_kind(number), kind = open_kind(number);
    (void)fcntl(expected_of.fd, F_SETFL, fcntl(expected_of.fd, F_GETFL) | O_NONBLOCK);
    if (is_nonblocking) {
        (void)fcntl(kind.fd, F_SETFL, fcntl(kind.fd, F_GETFL) | O_NONBLOCK);
    }
    const uint64_t deadline_ns = verge_deadline_after(HOUR);
    struct answer answer = {.expected = system_call(call, expected_of.fd, size), .late = -ETIMEDOUT};
    answer.result = verge_call(call, kind.fd, size, deadline_ns);
    if (answer.expected == -EAGAIN) {
        const bool has_waited = verge_now() == deadline_ns; /* virtual time */
        answer.late = verge_call(call, kind.fd, size, 0);
        answer.is_right = answer.result == -ETIMEDOUT && answer.late == -ETIMEDOUT && has_waited;
    } else {
        answer.is_right = answer.result == answer.expected;
    }
    close_kind(&expected_of);
    close_kind(&kind);
    return answer;
}

/* io_uring may do work on a thread of the kernel. If that takes longer than io_grace_ns, virtual time moves on, and the
 * call reaches its deadline an hour later. Then all calls are made again with a longer io_grace_ns. */
static bool has_more_grace, was_too_slow;

static void compare(int number, int call, size_t size, bool is_nonblocking) {
    struct answer answer = ask(number, call, size, is_nonblocking);
    for (int i = 0; i < 20 && !answer.is_right && answer.result == -ETIMEDOUT; i++) {
        answer = ask(number, call, size, is_nonblocking);
    }
    if (!answer.is_right && answer.result == -ETIMEDOUT && has_more_grace) {
        was_too_slow = true;
    } else if (!answer.is_right) {
        const struct kind kind = open_kind(number);
        CHECK(false);
        (void)fprintf(stderr, "  %s, %s of %zu bytes%s: %td, and late %td; the system call says %td\n", kind.name,
                      call_names[call], size, is_nonblocking ? ", O_NONBLOCK" : "", answer.result, answer.late,
                      answer.expected);
        close_kind(&kind);
    }
}

static intptr_t compares_all(void *argument) {
    (void)argument;
    for (int number = 0;; number++) {
        const struct kind kind = open_kind(number);
        close_kind(&kind);
        if (kind.name == NULL) {
            return 0;
        }
        for (int i = 0; i < 4 * call_count && !was_too_slow; i++) {
            compare(number, i / 4, i % 2 == 0 ? 0 : sizeof(bytes), i / 2 % 2 != 0);
        }
    }
}

static void reads_and_writes_mean_what_the_system_calls_mean(void **state) {
    (void)state;
    static const uint64_t graces_ns[] = {MS / 2, 5 * MS, 50 * MS, 500 * MS};
    const size_t grace_count = sizeof(graces_ns) / sizeof(graces_ns[0]);
    was_too_slow = true;
    for (size_t i = 0; i < grace_count && was_too_slow; i++) {
        verge_manual_clock clock = {SECOND};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = &clock;
        options.precision_ns = 1;
        options.io_grace_ns = graces_ns[i];
        has_more_grace = i + 1 < grace_count;
        was_too_slow = false;
        (void)run_with(options, compares_all, NULL);
    }
}

/* ---- opening a FIFO waits for its other end ---- */

static char fifo[] = "/tmp/verge-fifo-XXXXXX";

static intptr_t opens_to_read(void *argument) {
    const uint64_t *deadline_ns = argument;
    return verge_openat(AT_FDCWD, fifo, O_RDONLY | O_CLOEXEC, 0, *deadline_ns);
}

static intptr_t opens_to_write(void *argument) {
    const uint64_t *deadline_ns = argument;
    return verge_openat(AT_FDCWD, fifo, O_WRONLY | O_CLOEXEC, 0, *deadline_ns);
}

static intptr_t opens_both_ends(void *argument) {
    (void)argument;
    const verge_task_function ends[2] = {opens_to_read, opens_to_write};
    uint64_t deadline_ns = VERGE_NEVER;
    if (!is_uring()) { /* with epoll, no deadline ends an open that waits: try one that need not wait */
        const int both = verge_openat(AT_FDCWD, fifo, O_RDWR | O_CLOEXEC, 0, VERGE_NEVER);
        const int fd = (int)opens_to_read(&deadline_ns);
        CHECK(both >= 0 && fd >= 0);
        CHECK_EQUAL(close(both) + close(fd), 0);
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        verge_task *first = spawn(ends[i], &deadline_ns);
        /* Nobody has opened the other end. */
        CHECK_EQUAL(verge_task_join(first, NULL, verge_deadline_after(2 * MS)), -ETIMEDOUT);
        const int second = (int)ends[1 - i](&deadline_ns);
        const int fd = (int)join(first);
        CHECK(fd >= 0 && second >= 0);
        CHECK_EQUAL(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
        CHECK_EQUAL(close(fd) + close(second), 0);

        uint64_t soon_ns = verge_deadline_after(2 * MS), past_ns = 0;
        CHECK_EQUAL(ends[i](&soon_ns), -ETIMEDOUT);
        CHECK_EQUAL(ends[i](&past_ns), -ETIMEDOUT);
        verge_task *cancelled = spawn(ends[i], &deadline_ns);
        CHECK_EQUAL(verge_task_join(cancelled, NULL, verge_deadline_after(2 * MS)), -ETIMEDOUT);
        CHECK_EQUAL(verge_task_cancel(cancelled), 0);
        CHECK_EQUAL(join(cancelled), -ECANCELED);
    }
    CHECK_EQUAL(verge_openat(AT_FDCWD, fifo, O_WRONLY | O_NONBLOCK, 0, VERGE_NEVER), -ENXIO);
    const int fd = verge_openat(AT_FDCWD, fifo, O_RDONLY | O_NONBLOCK, 0, VERGE_NEVER);
    CHECK(fd >= 0);
    CHECK_EQUAL(close(fd), 0);
    return 0;
}

static void to_open_a_fifo_waits_for_its_other_end(void **state) {
    (void)state;
    assert_int_equal(close(mkstemp(fifo)) + unlink(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    run_tasks(1, opens_both_ends, NULL);
    assert_int_equal(unlink(fifo), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_mean_what_the_system_calls_mean),
        cmocka_unit_test(to_open_a_fifo_waits_for_its_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
