/* SPDX-License-Identifier: MIT */
/* SIGPIPE: no call raises it on a socket, whatever the peer does. A write to a pipe that nobody reads raises it,
 * as write(2) does. */
#define _GNU_SOURCE

#include <pthread.h>
#include <signal.h>
#include <sys/un.h>

#include "io/support.h"

static atomic_int signal_count;

static void count_signal(int number) {
    (void)number;
    (void)atomic_fetch_add(&signal_count, 1);
}

static void handle(void (*handler)(int)) {
    const struct sigaction action = {.sa_handler = handler};
    assert_int_equal(sigaction(SIGPIPE, &action, NULL), 0);
    atomic_store(&signal_count, 0);
}

/* ---- sockets whose peer has gone ---- */

static struct pair open_tcp_pair(void) {
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    struct pair pair = {.near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CHECK_EQUAL(connect(pair.near, (struct sockaddr *)&address, sizeof(address)), 0);
    pair.far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK_EQUAL(close(listener), 0);
    return pair;
}

static struct pair open_local_pair(int type) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){.near = fds[0], .far = fds[1]};
}

enum { TCP, STREAM, SEQPACKET, kind_count };

static struct pair open_kind(int kind) {
    return kind == TCP ? open_tcp_pair() : open_local_pair(kind == STREAM ? SOCK_STREAM : SOCK_SEQPACKET);
}

/* Returns a socket whose peer does not receive any more. */
static int open_abandoned(int kind, int flags) {
    const struct pair pair = open_kind(kind);
    CHECK_EQUAL(fcntl(pair.near, F_SETFL, flags), 0);
    if (kind == TCP) { /* the peer sends a reset. Wait until the kernel reports it */
        const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        CHECK_EQUAL(setsockopt(pair.far, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
        CHECK_EQUAL(close(pair.far), 0);
        struct pollfd reset = {.fd = pair.near};
        CHECK_EQUAL(poll(&reset, 1, -1), 1);
        int error = 0;
        socklen_t size = sizeof(error);
        CHECK_EQUAL(getsockopt(pair.near, SOL_SOCKET, SO_ERROR, &error, &size), 0);
        CHECK_EQUAL(error, ECONNRESET);
    } else {
        CHECK_EQUAL(close(pair.far), 0);
    }
    return pair.near;
}

/* ---- all calls that write ---- */

static char bytes[2000];
static const struct iovec parts[2] = {{.iov_base = bytes, .iov_len = 1}, {.iov_base = bytes + 1, .iov_len = 2}};

static ptrdiff_t call_write(int fd) {
    return verge_write(fd, bytes, 3, VERGE_NEVER);
}

static ptrdiff_t call_writev(int fd) {
    return verge_writev(fd, parts, 2, VERGE_NEVER);
}

static ptrdiff_t call_write_all(int fd) {
    return verge_write_all(fd, bytes, 3, NULL, VERGE_NEVER);
}

static ptrdiff_t call_send_all(int fd) {
    return verge_send_all(fd, bytes, 3, 0, NULL, VERGE_NEVER);
}

static ptrdiff_t call_send(int fd) {
    return verge_send(fd, bytes, 3, 0, VERGE_NEVER);
}

static ptrdiff_t call_sendmsg(int fd) {
    const struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = 2};
    return verge_sendmsg(fd, &message, 0, VERGE_NEVER);
}

static ptrdiff_t call_splice(int fd) {
    int fds[2] = {-1, -1};
    CHECK_EQUAL(pipe2(fds, O_CLOEXEC), 0);
    CHECK_EQUAL(write(fds[1], bytes, 3), 3);
    const ptrdiff_t result = verge_splice(fds[0], NULL, fd, NULL, 3, 0, VERGE_NEVER);
    CHECK_EQUAL(close(fds[0]) + close(fds[1]), 0);
    return result;
}

static ptrdiff_t (*const calls[])(int fd) = {call_write,    call_writev,  call_write_all, call_send,
                                             call_send_all, call_sendmsg, call_splice};

static intptr_t writes_to_nobody(void *argument) {
    (void)argument;
    for (int kind = 0; kind < kind_count; kind++) {
        for (size_t i = 0; i < 2 * COUNT_OF(calls); i++) {
            if (calls[i / 2] == call_splice && !is_uring()) {
                continue;
            }
            const int fd = open_abandoned(kind, i % 2 == 0 ? 0 : O_NONBLOCK);
            CHECK_EQUAL(calls[i / 2](fd), -EPIPE);
            CHECK_EQUAL(atomic_exchange(&signal_count, 0), 0);
            CHECK_EQUAL(close(fd), 0);
        }
        const int fd = open_abandoned(kind, 0);
        CHECK_EQUAL(verge_pwrite(fd, bytes, 3, 0, VERGE_NEVER), -ESPIPE);
        CHECK_EQUAL(atomic_exchange(&signal_count, 0), 0);
        CHECK_EQUAL(close(fd), 0);
    }
    return 0;
}

static void no_call_raises_sigpipe_on_a_socket(void **state) {
    (void)state;
    handle(count_signal);
    run_tasks(1, writes_to_nobody, NULL);
}

/* ---- the peer closes its socket while a call waits for room ---- */

static void fill(int fd) {
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    CHECK_EQUAL(errno, EAGAIN);
}

struct wait {
    ptrdiff_t (*call)(int fd);
    int fd;
    bool has_begun;
};

static intptr_t waits_for_room(void *argument) {
    struct wait *wait = argument;
    wait->has_begun = true;
    return (intptr_t)wait->call(wait->fd);
}

static intptr_t hangs_up(void *argument) {
    (void)argument;
    for (size_t i = 0; i < 2 * COUNT_OF(calls); i++) {
        if (calls[i / 2] == call_splice && !is_uring()) {
            continue;
        }
        const struct pair pair = open_pair();
        fill(pair.near);
        CHECK_EQUAL(fcntl(pair.near, F_SETFL, i % 2 == 0 ? 0 : O_NONBLOCK), 0);
        struct wait wait = {.call = calls[i / 2], .fd = pair.near};
        verge_task *task = spawn(waits_for_room, &wait);
        while (!wait.has_begun) {
            CHECK_EQUAL(verge_yield(), 0);
        }
        CHECK_EQUAL(close(pair.far), 0);
        const intptr_t result = join(task);
        CHECK(result == -EPIPE || result == -ECONNRESET); /* ECONNRESET: the peer left bytes unread */
        CHECK_EQUAL(atomic_exchange(&signal_count, 0), 0);
        CHECK_EQUAL(close(pair.near), 0);
    }
    return 0;
}

static void nor_where_the_peer_goes_meanwhile(void **state) {
    (void)state;
    handle(count_signal);
    run_tasks(1, hangs_up, NULL);
}

/* ---- pipes ---- */

static intptr_t writes_to_a_pipe(void *argument) {
    const int *expected_signals = argument;
    ptrdiff_t (*const writes[])(int fd) = {call_write, call_writev, call_write_all};
    for (size_t i = 0; i < 2 * COUNT_OF(writes); i++) {
        int fds[2] = {-1, -1};
        CHECK_EQUAL(pipe2(fds, O_CLOEXEC | (i % 2 == 0 ? 0 : O_NONBLOCK)), 0);
        CHECK_EQUAL(close(fds[0]), 0);
        CHECK_EQUAL(writes[i / 2](fds[1]), -EPIPE);
        CHECK_EQUAL(atomic_exchange(&signal_count, 0), *expected_signals);
        CHECK_EQUAL(close(fds[1]), 0);
    }
    return 0;
}

static void a_pipe_raises_it_unless_it_is_ignored(void **state) {
    (void)state;
    int expected_signals = 1;
    handle(count_signal);
    run_tasks(1, writes_to_a_pipe, &expected_signals);
    expected_signals = 0;
    handle(SIG_IGN);
    run_tasks(1, writes_to_a_pipe, &expected_signals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_raises_sigpipe_on_a_socket),
        cmocka_unit_test(nor_where_the_peer_goes_meanwhile),
        cmocka_unit_test(a_pipe_raises_it_unless_it_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
