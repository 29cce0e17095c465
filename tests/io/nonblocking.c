/* SPDX-License-Identifier: MIT */
/*
 * Calls wait, whether their descriptor is O_NONBLOCK or not. A call ends when the other side acts, at its deadline, or
 * when its task is cancelled. In the last two cases nothing was transferred (N2). In virtual time.
 */
#define _GNU_SOURCE

#include "io/support.h"

struct files {
    int fd;                  /* the descriptor of the call */
    int other;               /* its peer, or the other end of the pipe */
    int extra[2];            /* for splice: a second pipe */
    struct sockaddr_in peer; /* for accept: the address of fd, a listener */
};

/* ---- files: nothing to read, no room to write ---- */

static void fill(int fd) {
    char buffer[4096] = {0};
    const int flags = fcntl(fd, F_GETFL);
    CHECK_EQUAL(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    while (write(fd, buffer, sizeof(buffer)) > 0) {
    }
    CHECK_EQUAL(errno, EAGAIN);
    CHECK_EQUAL(fcntl(fd, F_SETFL, flags), 0);
}

static struct files empty_socket(void) {
    const struct pair pair = open_pair();
    return (struct files){.fd = pair.near, .other = pair.far, .extra = {-1, -1}};
}

static struct files full_socket(void) {
    const struct files files = empty_socket();
    fill(files.fd);
    return files;
}

static struct files empty_pipe(void) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(pipe(fds), 0);
    return (struct files){.fd = fds[0], .other = fds[1], .extra = {-1, -1}};
}

static struct files full_pipe(void) {
    const struct files reversed = empty_pipe();
    fill(reversed.other);
    return (struct files){.fd = reversed.other, .other = reversed.fd, .extra = {-1, -1}};
}

static struct files empty_pipe_and_another(void) {
    struct files files = empty_pipe();
    CHECK_EQUAL(pipe(files.extra), 0);
    return files;
}

static struct files full_pipe_and_another(void) {
    struct files files = full_pipe();
    CHECK_EQUAL(pipe(files.extra), 0);
    CHECK_EQUAL(write(files.extra[1], "x", 1), 1);
    return files;
}

static struct files listener(void) {
    struct files files = {.other = -1, .extra = {-1, -1}};
    files.fd = listen_on_loopback(&files.peer);
    return files;
}

static void close_files(const struct files *files) {
    const int fds[] = {files->fd, files->other, files->extra[0], files->extra[1]};
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        CHECK(fds[i] < 0 || close(fds[i]) == 0);
    }
}

/* ---- what the other side does ---- */

static void put(struct files *files) {
    CHECK_EQUAL(write(files->other, "x", 1), 1);
}

static void drain(struct files *files) {
    char buffer[4096];
    CHECK_EQUAL(fcntl(files->other, F_SETFL, O_NONBLOCK), 0);
    while (read(files->other, buffer, sizeof(buffer)) > 0) {
    }
}

static void connect_to(struct files *files) {
    files->other = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(connect(files->other, (struct sockaddr *)&files->peer, sizeof(files->peer)), 0);
}

/* ---- calls: each returns 1 if it succeeds ---- */

static char byte;
static struct iovec part = {.iov_base = &byte, .iov_len = 1};

static ptrdiff_t call_read(struct files *files, uint64_t deadline_ns) {
    return verge_read(files->fd, &byte, 1, deadline_ns);
}

static ptrdiff_t call_readv(struct files *files, uint64_t deadline_ns) {
    return verge_readv(files->fd, &part, 1, deadline_ns);
}

static ptrdiff_t call_read_all(struct files *files, uint64_t deadline_ns) {
    const int error = verge_read_all(files->fd, &byte, 1, NULL, deadline_ns);
    return error == 0 ? 1 : error;
}

static ptrdiff_t call_recv(struct files *files, uint64_t deadline_ns) {
    return verge_recv(files->fd, &byte, 1, 0, deadline_ns);
}

static ptrdiff_t call_recvmsg(struct files *files, uint64_t deadline_ns) {
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return verge_recvmsg(files->fd, &message, 0, deadline_ns);
}

static ptrdiff_t call_poll_in(struct files *files, uint64_t deadline_ns) {
    return verge_poll(files->fd, POLLIN, deadline_ns);
}

static ptrdiff_t call_accept(struct files *files, uint64_t deadline_ns) {
    const int fd = verge_accept(files->fd, NULL, NULL, 0, deadline_ns);
    return fd < 0 ? fd : close(fd) + 1;
}

static ptrdiff_t call_write(struct files *files, uint64_t deadline_ns) {
    return verge_write(files->fd, &byte, 1, deadline_ns);
}

static ptrdiff_t call_writev(struct files *files, uint64_t deadline_ns) {
    return verge_writev(files->fd, &part, 1, deadline_ns);
}

static ptrdiff_t call_write_all(struct files *files, uint64_t deadline_ns) {
    const int error = verge_write_all(files->fd, &byte, 1, NULL, deadline_ns);
    return error == 0 ? 1 : error;
}

static ptrdiff_t call_send_all(struct files *files, uint64_t deadline_ns) {
    const int error = verge_send_all(files->fd, &byte, 1, 0, NULL, deadline_ns);
    return error == 0 ? 1 : error;
}

static ptrdiff_t call_send(struct files *files, uint64_t deadline_ns) {
    return verge_send(files->fd, &byte, 1, 0, deadline_ns);
}

static ptrdiff_t call_sendmsg(struct files *files, uint64_t deadline_ns) {
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return verge_sendmsg(files->fd, &message, 0, deadline_ns);
}

static ptrdiff_t call_poll_out(struct files *files, uint64_t deadline_ns) {
    const int events = verge_poll(files->fd, POLLOUT, deadline_ns);
    return events == POLLOUT ? 1 : events;
}

static ptrdiff_t call_splice_from(struct files *files, uint64_t deadline_ns) {
    return verge_splice(files->fd, NULL, files->extra[1], NULL, 1, 0, deadline_ns);
}

static ptrdiff_t call_splice_to(struct files *files, uint64_t deadline_ns) {
    return verge_splice(files->extra[0], NULL, files->fd, NULL, 1, 0, deadline_ns);
}

struct subject {
    const char *name;
    struct files (*open)(void);
    ptrdiff_t (*call)(struct files *files, uint64_t deadline_ns);
    void (*let)(struct files *files);
    bool needs_uring;
};

static const struct subject subjects[] = {
    {"read, socket", empty_socket, call_read, put, false},
    {"read, pipe", empty_pipe, call_read, put, false},
    {"readv, socket", empty_socket, call_readv, put, false},
    {"readv, pipe", empty_pipe, call_readv, put, false},
    {"read_all, pipe", empty_pipe, call_read_all, put, false},
    {"recv", empty_socket, call_recv, put, false},
    {"recvmsg", empty_socket, call_recvmsg, put, false},
    {"poll in, socket", empty_socket, call_poll_in, put, false},
    {"poll in, pipe", empty_pipe, call_poll_in, put, false},
    {"accept", listener, call_accept, connect_to, false},
    {"write, socket", full_socket, call_write, drain, false},
    {"write, pipe", full_pipe, call_write, drain, false},
    {"writev, socket", full_socket, call_writev, drain, false},
    {"writev, pipe", full_pipe, call_writev, drain, false},
    {"write_all, pipe", full_pipe, call_write_all, drain, false},
    {"send", full_socket, call_send, drain, false},
    {"send_all", full_socket, call_send_all, drain, false},
    {"sendmsg", full_socket, call_sendmsg, drain, false},
    {"poll out, pipe", full_pipe, call_poll_out, drain, false},
    {"splice from an empty pipe", empty_pipe_and_another, call_splice_from, put, true},
    {"splice to a full pipe", full_pipe_and_another, call_splice_to, drain, true},
};

/* ---- each call, ended in each of the ways ---- */

enum ending { LET, TIMED_OUT, CANCELLED, ending_count };

struct wait {
    const struct subject *subject;
    struct files files;
    uint64_t deadline_ns;
    bool has_returned;
};

static intptr_t waits(void *argument) {
    struct wait *wait = argument;
    const ptrdiff_t result = wait->subject->call(&wait->files, wait->deadline_ns);
    wait->has_returned = true;
    return (intptr_t)result;
}

static void try(const struct subject *subject, bool is_nonblocking, enum ending ending) {
    const uint64_t start_ns = verge_now();
    struct wait wait = {.subject = subject, .files = subject->open(), .deadline_ns = VERGE_NEVER};
    if (is_nonblocking) {
        CHECK_EQUAL(fcntl(wait.files.fd, F_SETFL, fcntl(wait.files.fd, F_GETFL) | O_NONBLOCK), 0);
    }
    if (ending == TIMED_OUT) {
        wait.deadline_ns = start_ns + 2 * SECOND;
    }
    verge_task *task = spawn(waits, &wait);
    CHECK_EQUAL(verge_sleep(SECOND), 0);
    CHECK(!wait.has_returned);
    if (ending == LET) {
        subject->let(&wait.files);
    } else if (ending == CANCELLED) {
        CHECK_EQUAL(verge_task_cancel(task), 0);
    }
    const intptr_t expected[] = {[LET] = 1, [TIMED_OUT] = -ETIMEDOUT, [CANCELLED] = -ECANCELED};
    const intptr_t result = join(task);
    CHECK_EQUAL(result, expected[ending]);
    CHECK_EQUAL(verge_now() - start_ns, (ending == TIMED_OUT ? 2 : 1) * SECOND);
    if (ending != LET && subject->let == put) { /* N2: what comes now is the first byte */
        char found[2] = {0};
        put(&wait.files);
        CHECK_EQUAL(read(wait.files.fd, found, 2), 1);
    }
    close_files(&wait.files);
}

static intptr_t tries_all(void *argument) {
    (void)argument;
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        for (int j = 0; j < 2 * ending_count && (is_uring() || !subjects[i].needs_uring); j++) {
            const int before = atomic_load(&failed_check_count);
            try(&subjects[i], j % 2 != 0, (enum ending)(j / 2));
            if (atomic_load(&failed_check_count) != before) {
                (void)fprintf(stderr, "  in: %s, %s, ending %d\n", subjects[i].name,
                              j % 2 != 0 ? "O_NONBLOCK" : "blocking", j / 2);
            }
        }
    }
    return 0;
}

static void calls_wait_whether_o_nonblock_or_not(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    options.io_grace_ns = MS / 2; /* short: all that happens is done by tasks, so the clock need not wait for I/O */
    (void)run_with(options, tries_all, NULL);
}

/* ---- connect: it succeeds, and leaves O_NONBLOCK as it was ---- */

static intptr_t connects(void *argument) {
    (void)argument;
    struct sockaddr_in address;
    const int listening = listen_on_loopback(&address);
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        const int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
        CHECK_EQUAL(verge_connect(fd, (struct sockaddr *)&address, sizeof(address), VERGE_NEVER), 0);
        CHECK_EQUAL((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, flags != 0); /* unchanged */
        CHECK_EQUAL(close(fd), 0);
    }
    CHECK_EQUAL(close(listening), 0);
    return 0;
}

static void connect_waits_too(void **state) {
    (void)state;
    (void)run_tasks(1, connects, NULL);
}

/* ---- calls that ask not to wait do not wait ---- */

static intptr_t asks_not_to_wait(void *argument) {
    (void)argument;
    struct files files = empty_socket();
    CHECK_EQUAL(verge_recv(files.fd, &byte, 1, MSG_DONTWAIT, VERGE_NEVER), -EAGAIN);
    close_files(&files);
    files = full_socket();
    CHECK_EQUAL(verge_send(files.fd, &byte, 1, MSG_DONTWAIT, VERGE_NEVER), -EAGAIN);
    close_files(&files);
    files = empty_pipe_and_another();
    CHECK_EQUAL(verge_splice(files.fd, NULL, files.extra[1], NULL, 1, SPLICE_F_NONBLOCK, VERGE_NEVER),
                is_uring() ? -EAGAIN : -EOPNOTSUPP);
    close_files(&files);
    return 0;
}

static void who_asks_not_to_wait_does_not(void **state) {
    (void)state;
    (void)run_tasks(1, asks_not_to_wait, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_wait_whether_o_nonblock_or_not),
        cmocka_unit_test(connect_waits_too),
        cmocka_unit_test(who_asks_not_to_wait_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
