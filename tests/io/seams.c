/* SPDX-License-Identifier: MIT */
/* Rare combinations in I/O, such as two readers of a file, messages and MSG_WAITALL, reused descriptor numbers. */
#define _GNU_SOURCE

#include <limits.h>
#include <pthread.h>
#include <sys/un.h>
#include <termios.h>

#include "io/support.h"
#include "support/steps.h"

#if defined(VERGE_TEST_LIBURING)
#include <liburing.h>
#endif

/* ---- two tasks read a terminal, which has data for one; only readiness tells whether a read would block ---- */

static int reads_done;

static intptr_t reads_a_byte(void *argument) {
    const int *fd = argument;
    char byte;
    const ptrdiff_t result = verge_read(*fd, &byte, 1, VERGE_NEVER);
    reads_done++;
    return result;
}

static intptr_t two_read_from_a_terminal(void *argument) {
    int master = *(const int *)argument;
    CHECK_EQUAL(grantpt(master), 0);
    CHECK_EQUAL(unlockpt(master), 0);
    char name[64];
    CHECK_EQUAL(ptsname_r(master, name, sizeof(name)), 0);
    const int terminal = open(name, O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0);
    struct termios settings;
    CHECK_EQUAL(tcgetattr(terminal, &settings), 0);
    cfmakeraw(&settings);
    CHECK_EQUAL(tcsetattr(terminal, TCSANOW, &settings), 0);
    verge_task *one = spawn(reads_a_byte, &master), *other = spawn(reads_a_byte, &master);
    CHECK_EQUAL(verge_sleep(MS), 0);
    CHECK_EQUAL(write(terminal, "x", 1), 1);
    while (reads_done == 0) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    CHECK_EQUAL(verge_task_cancel(one) + verge_task_cancel(other), 0);
    const intptr_t first = join(one), second = join(other);
    CHECK_EQUAL(first + second, 1 - ECANCELED);
    CHECK_EQUAL(close(terminal), 0);
    CHECK_EQUAL(close(master), 0);
    return 0;
}

static void two_readers_of_one_terminal_do_not_block_the_worker(void **state) {
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) {
        skip(); /* a machine without pseudo-terminals: a bare chroot */
    }
    reads_done = 0;
    run_tasks(1, two_read_from_a_terminal, &master);
}

/* ---- MSG_WAITALL ---- */

static intptr_t waits_for_all(void *argument) {
    (void)argument;
    int fds[2];
    char buffer[16] = {0};
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
    CHECK_EQUAL(write(fds[1], "one", 3), 3);
    CHECK_EQUAL(write(fds[1], "two", 3), 3);
    CHECK_EQUAL(verge_recv(fds[0], buffer, sizeof(buffer), MSG_WAITALL, verge_deadline_after(20 * MS)), 3);
    CHECK_EQUAL(verge_recv(fds[0], buffer, sizeof(buffer), MSG_WAITALL, verge_deadline_after(20 * MS)), 3);
    CHECK(memcmp(buffer, "two", 3) == 0);
    CHECK_EQUAL(close(fds[0]) + close(fds[1]), 0);
    const struct pair pair = open_pair();
    CHECK_EQUAL(write(pair.far, "abc", 3), 3);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 6, MSG_WAITALL | MSG_PEEK, verge_deadline_after(20 * MS)), 3);
    struct iovec part = {.iov_base = buffer, .iov_len = 6};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    CHECK_EQUAL(verge_recvmsg(pair.near, &message, MSG_WAITALL | MSG_PEEK, verge_deadline_after(20 * MS)), 3);
    /* The calls with MSG_PEEK took nothing. */
    CHECK_EQUAL(verge_recv(pair.near, buffer, 6, MSG_WAITALL, verge_deadline_after(20 * MS)), 3);
    CHECK(memcmp(buffer, "abc", 3) == 0);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 6, MSG_WAITALL | MSG_DONTWAIT, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(write(pair.far, "def", 3), 3);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 6, MSG_WAITALL | MSG_DONTWAIT, VERGE_NEVER), 3); /* what there is of 6 */
    CHECK(memcmp(buffer, "def", 3) == 0);
    CHECK_EQUAL(write(pair.far, "ghi", 3), 3);
    CHECK_EQUAL(verge_recvmsg(pair.near, &message, MSG_WAITALL | MSG_DONTWAIT, VERGE_NEVER), 3);
    close_pair(pair);
    return 0;
}

static void to_wait_for_all_keeps_messages_apart(void **state) {
    (void)state;
    run_tasks(1, waits_for_all, NULL);
}

/* ---- a local socket whose queue is full ---- */

static intptr_t connects_in_vain(void *argument) {
    (void)argument;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0); /* the kernel finds a name */
    CHECK_EQUAL(listen(listener, 0), 0);
    socklen_t size = sizeof(address);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    int clients[2];
    for (int i = 0; i < 2; i++) {
        clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK_EQUAL(verge_connect(clients[i], (struct sockaddr *)&address, size, verge_deadline_after(MINUTE)),
                    i == 0 ? 0 : -ECONNREFUSED);
    }
    CHECK_EQUAL(close(clients[0]) + close(clients[1]) + close(listener), 0);
    return 0;
}

static void a_full_queue_refuses(void **state) {
    (void)state;
    run_tasks(1, connects_in_vain, NULL);
}

/* ---- a receive that was expected to wait, although there is data ---- */

static struct pair open_tcp_pair(void) {
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    struct pair pair = {.far = socket(AF_INET, SOCK_STREAM, 0)};
    CHECK_EQUAL(connect(pair.far, (struct sockaddr *)&address, sizeof(address)), 0);
    pair.near = accept(listener, NULL, NULL);
    CHECK_EQUAL(close(listener), 0);
    return pair;
}

static intptr_t says_later(void *argument) {
    const int *fd = argument;
    CHECK_EQUAL(verge_sleep(MS), 0);
    return write(*fd, "later", 5);
}

static intptr_t receives_what_it_did_not_expect(void *argument) {
    (void)argument;
    struct pair pair = open_tcp_pair();
    char buffer[16];
    CHECK_EQUAL(write(pair.far, "one", 3), 3);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, VERGE_NEVER), 3);
    verge_task *task = spawn(says_later, &pair.far);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, VERGE_NEVER), 5);
    CHECK_EQUAL(join(task), 5);
    for (int i = 0; i < 3; i++) { /* the reactor knows the descriptor now. N3: a deadline of 1 has passed */
        CHECK_EQUAL(write(pair.far, "three", 5), 5);
        CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, i == 2 ? 1 : VERGE_NEVER), 5);
        CHECK_EQUAL(write(pair.far, "four", 4), 4);
        CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), MSG_PEEK, VERGE_NEVER), 4);
        CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, i == 1 ? 1 : VERGE_NEVER), 4);
    }
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), MSG_DONTWAIT, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(close(pair.far), 0);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, VERGE_NEVER), 0);
    CHECK_EQUAL(close(pair.near), 0);
    return 0;
}

static void what_was_not_expected_is_received(void **state) {
    (void)state;
    run_tasks(1, receives_what_it_did_not_expect, NULL);
}

/* ---- out-of-band bytes and queued errors: as with recv(2), no call waits for these, with or without other data
 * ---- */

static intptr_t receives_out_of_band(void *argument) {
    (void)argument;
    const struct pair pair = open_tcp_pair();
    char buffer[16];
    struct iovec part = {.iov_base = buffer, .iov_len = sizeof(buffer)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, 1), -ETIMEDOUT); /* the reactor knows the socket now */
    CHECK_EQUAL(verge_recv(pair.near, buffer, 1, MSG_ERRQUEUE, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(verge_recvmsg(pair.near, &message, MSG_ERRQUEUE, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(write(pair.far, "one", 3), 3);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 1, MSG_ERRQUEUE, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(verge_recvmsg(pair.near, &message, MSG_ERRQUEUE, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 1, MSG_OOB, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, VERGE_NEVER), 3);
    CHECK_EQUAL(send(pair.far, "!", 1, MSG_OOB), 1);
    CHECK_EQUAL(verge_poll(pair.near, POLLPRI, VERGE_NEVER), POLLPRI);
    const uint64_t deadline_ns = verge_deadline_after(SECOND);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 1, MSG_OOB, deadline_ns), 1);
    CHECK(verge_now() < deadline_ns); /* in virtual time, which moves only if all tasks wait */
    close_pair(pair);
    return 0;
}

static void what_is_not_waited_for(void **state) {
    (void)state;
    (void)run_virtual(1, 0, receives_out_of_band, NULL);
}

/* ---- a descriptor number that was a socket, and is a file now ---- */

static intptr_t receives_from_a_file(void *argument) {
    (void)argument;
    struct pair pair = open_tcp_pair();
    char buffer[16];
    verge_task *task = spawn(says_later, &pair.far);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, VERGE_NEVER), 5);
    /* The socket is empty. So the next receive is expected to wait. */
    CHECK_EQUAL(join(task), 5);
    FILE *file = tmpfile();
    CHECK(file != NULL && dup2(fileno(file), pair.near) == pair.near);
    CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, verge_deadline_after(MINUTE)), -ENOTSOCK);
    CHECK_EQUAL(fclose(file), 0);
    close_pair(pair);
    return 0;
}

static void who_expects_to_wait_for_no_socket_is_told(void **state) {
    (void)state;
    run_tasks(1, receives_from_a_file, NULL);
}

/* ---- a descriptor number that was one connection, and is another one now; the worker is busy with others ---- */

static intptr_t echoes(void *argument) {
    const int *fd = argument;
    char bytes[2]; /* room for more than there is, so that each receive takes all */
    while (verge_recv(*fd, bytes, sizeof(bytes), 0, VERGE_NEVER) == 1 &&
           verge_send(*fd, bytes, 1, 0, VERGE_NEVER) == 1) {
    }
    return 0;
}

static intptr_t receives_from_another_connection(void *argument) {
    (void)argument;
    enum { BUSY = 8, ROUNDS = 30 };
    struct pair pair = open_tcp_pair(), busy[BUSY];
    verge_task *servers[BUSY], *clients[BUSY];
    char buffer[16];
    for (int i = 0; i < BUSY; i++) { /* a byte goes to and fro for ever */
        busy[i] = open_tcp_pair();
        servers[i] = spawn(echoes, &busy[i].near);
        clients[i] = spawn(echoes, &busy[i].far);
        CHECK_EQUAL(write(busy[i].far, "x", 1), 1);
    }
    for (int i = 0; i < ROUNDS; i++) {
        verge_task *task = spawn(says_later, &pair.far);
        CHECK_EQUAL(verge_recv(pair.near, buffer, sizeof(buffer), 0, verge_deadline_after(MINUTE)), 5);
        CHECK_EQUAL(join(task), 5);
        if (i % 5 == 4) {
            const struct pair other = open_tcp_pair();
            CHECK_EQUAL(close(pair.far), 0);
            CHECK_EQUAL(dup2(other.near, pair.near), pair.near);
            CHECK_EQUAL(close(other.near), 0);
            pair.far = other.far;
        }
    }
    for (int i = 0; i < BUSY; i++) {
        CHECK_EQUAL(shutdown(busy[i].far, SHUT_RDWR), 0);
        CHECK_EQUAL(join(servers[i]), 0);
        CHECK_EQUAL(join(clients[i]), 0);
        close_pair(busy[i]);
    }
    close_pair(pair);
    return 0;
}

static void another_connection_of_the_same_number_is_heard(void **state) {
    (void)state;
    run_tasks(1, receives_from_another_connection, NULL);
}

/* ---- a cancellation that comes when io_uring cannot find what is to be cancelled ---- */

static intptr_t connects_after_cancellation(void *argument) {
    const struct sockaddr_un *address = argument;
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    /* The connect and its cancellation go to the kernel together. There the connect is moving between two queues. */
    CHECK_EQUAL(verge_connect(fd, (const struct sockaddr *)address, sizeof(sa_family_t) + 6, VERGE_NEVER),
                is_uring() ? -ECANCELED : -ECONNREFUSED);
    return close(fd);
}

static intptr_t has_a_full_queue(void *argument) {
    (void)argument;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    CHECK_EQUAL(listen(listener, 0), 0);
    socklen_t size = sizeof(address);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    CHECK_EQUAL(size, sizeof(sa_family_t) + 6);
    CHECK_EQUAL(connect(client, (struct sockaddr *)&address, size), 0);
    CHECK_EQUAL(join(spawn(connects_after_cancellation, &address)), 0);
    CHECK_EQUAL(close(listener) + close(client), 0);
    return 0;
}

static void n1_a_cancellation_that_missed_is_repeated(void **state) {
    (void)state;
    run_tasks(1, has_a_full_queue, NULL);
}

/* ---- a peer that will send no more: this must not wake a task that waits for room to write ---- */

static int look_count;

static void count_looks(const char *step) {
    look_count += is_step(step, "virtual: wait");
}

static intptr_t waits_to_write(void *argument) {
    const int flags = *(const int *)argument;
    const struct pair pair = open_pair();
    char bytes[4096] = {0};
    while (send(pair.near, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
    CHECK_EQUAL(shutdown(pair.far, SHUT_WR), 0);
    CHECK_EQUAL(fcntl(pair.near, F_SETFL, flags), 0);
    CHECK_EQUAL(verge_send(pair.near, bytes, 1, 0, verge_deadline_after(SECOND)), -ETIMEDOUT);
    CHECK_EQUAL(verge_write(pair.near, bytes, 1, verge_deadline_after(SECOND)), -ETIMEDOUT);
    CHECK_EQUAL(verge_poll(pair.near, POLLOUT, verge_deadline_after(SECOND)), -ETIMEDOUT);
    CHECK_EQUAL(verge_poll(pair.near, POLLIN, VERGE_NEVER), POLLIN);
    CHECK_EQUAL(verge_poll(pair.near, POLLIN | POLLRDHUP, VERGE_NEVER), POLLIN | POLLRDHUP);
    CHECK_EQUAL(verge_now(), 3 * SECOND);
    close_pair(pair);
    return 0;
}

static void who_waits_to_write_does_not_spin(void **state) {
    (void)state;
    int flags = O_NONBLOCK;
    look_count = 0;
    steps_begin(count_looks);
    (void)run_virtual(1, 0, waits_to_write, &flags);
    steps_end();
    assert_true(look_count < 1000); /* in 3 waits of 20 ms: 60 looks with naps of 1 ms, 10,000 in a spin */
    flags = 0;
    (void)run_virtual(1, 0, waits_to_write, &flags);
}

/* ---- a socket has room, but the peer to which it sends, without being connected, has none: poll reports the socket as
 * ready all the time ---- */

static intptr_t sends_to_a_full_queue(void *argument) {
    (void)argument;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address);
    const int receiver = socket(AF_UNIX, SOCK_DGRAM, 0), sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    CHECK_EQUAL(bind(receiver, (struct sockaddr *)&address, sizeof(sa_family_t)), 0); /* the kernel finds a name */
    CHECK_EQUAL(getsockname(receiver, (struct sockaddr *)&address, &size), 0);
    while (sendto(sender, "x", 1, 0, (struct sockaddr *)&address, size) == 1) {
    }
    CHECK_EQUAL(errno, EAGAIN);
    struct iovec part = {.iov_base = "y", .iov_len = 1};
    const struct msghdr message = {.msg_name = &address, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
    CHECK_EQUAL(verge_sendmsg(sender, &message, 0, verge_deadline_after(SECOND)), -ETIMEDOUT);
    char byte;
    CHECK_EQUAL(recv(receiver, &byte, 1, 0), 1);
    CHECK_EQUAL(verge_sendmsg(sender, &message, 0, VERGE_NEVER), 1);
    CHECK_EQUAL(close(receiver) + close(sender), 0);
    return 0;
}

static void who_sends_to_a_full_queue_does_not_spin(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    look_count = 0;
    steps_begin(count_looks);
    (void)run_with(options, sends_to_a_full_queue, NULL);
    steps_end();
    assert_true(look_count < 200); /* in a wait of 20 ms, with naps of 1 ms */
}

/* ---- an operation has its result, and the kernel still needs the buffer: there is nothing to cancel, and nothing to
 * do but wait ---- */

#if defined(VERGE_TEST_LIBURING)

struct lender {
    int fd;
    char *bytes;
    size_t size;
};

static void prepare_to_lend(struct io_uring_sqe *entry, void *context) {
    const struct lender *lender = context;
    io_uring_prep_send_zc(entry, lender->fd, lender->bytes, lender->size, 0, 0);
}

static intptr_t lends_its_bytes(void *argument) {
    /* A deadline that comes while the call waits changes nothing. */
    return verge_uring(prepare_to_lend, argument, NULL, SECOND);
}

static intptr_t lends_to_who_does_not_read(void *argument) {
    (void)argument;
    const struct pair pair = open_tcp_pair();
    const int room = 1 << 20;
    CHECK_EQUAL(setsockopt(pair.near, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    struct lender lender = {.fd = pair.near, .size = 16 << 20}; /* more than the peer's buffer has room for */
    lender.bytes = calloc(1, lender.size);
    verge_task *task = spawn(lends_its_bytes, &lender);
    CHECK_EQUAL(verge_sleep(2 * SECOND), 0);
    const int looked = look_count;
    char *bytes = malloc(lender.size);
    size_t received = 0;
    ptrdiff_t size;
    while ((size = verge_recv(pair.far, bytes, lender.size, 0, verge_deadline_after(SECOND))) > 0) {
        received += (size_t)size;
    }
    const intptr_t sent = join(task);
    if (is_uring() && sent != -EINVAL) { /* -EINVAL: a kernel before 6.0 */
        CHECK(sent > 0);
        CHECK_EQUAL(received, sent);
        CHECK(looked < 1000); /* in two waits of 20 ms */
    }
    free(bytes);
    free(lender.bytes);
    close_pair(pair);
    return 0;
}

static void who_waits_for_its_buffer_does_not_spin(void **state) {
    (void)state;
    look_count = 0;
    steps_begin(count_looks);
    (void)run_virtual(1, 0, lends_to_who_does_not_read, NULL);
    steps_end();
}

#endif

/* ---- a task that is spawned from outside just after the last one has ended belongs to the next run ---- */

static struct {
    verge_runtime *runtime;
    pthread_t thread;        /* of worker 0 */
    int fd;                  /* what the task reads */
    _Atomic bool is_held;    /* the other worker is about to wait */
    _Atomic bool is_over;    /* no task is left */
    _Atomic bool is_spawned; /* a task has come for the other worker */
    _Atomic bool has_begun;  /* this task runs */
} late;

/* Until the task has come, holds worker 0 at the end of its run, and the other worker before it sees this end. In
 * virtual time, one thread is all workers, and is held at the end. */
static void come_late(const char *step) {
    const bool is_other = pthread_equal(pthread_self(), late.thread) == 0;
    if ((is_step(step, "runner: wait") && is_other && !atomic_exchange(&late.is_held, true)) ||
        (is_step(step, "run: over") && !atomic_exchange(&late.is_over, true))) {
        await(&late.is_spawned);
    }
}

static intptr_t reads_late(void *argument) {
    (void)argument;
    char byte;
    atomic_store(&late.has_begun, true);
    CHECK_EQUAL(verge_recv(late.fd, &byte, 1, 0, VERGE_NEVER), 1);
    return 0;
}

static void *spawns_late(void *argument) {
    (void)argument;
    await(&late.is_over);
    CHECK_EQUAL(spawn_at(late.runtime, 1, reads_late, NULL, NULL), 0);
    atomic_store(&late.is_spawned, true);
    return NULL;
}

static intptr_t ends_when_the_other_is_held(void *argument) {
    const bool *is_virtual = argument;
    if (!*is_virtual) {
        await(&late.is_held);
    }
    return 0;
}

static void a_task_that_comes_after_the_last_is_the_next_run_s(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(2);
        bool is_virtual = i != 0;
        options.virtual_clock = is_virtual ? &clock : NULL;
        const struct pair pair = open_pair();
        memset(&late, 0, sizeof(late));
        late.runtime = runtime_with(options);
        late.thread = pthread_self();
        late.fd = pair.near;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, spawns_late, NULL), 0);
        steps_begin(come_late);
        assert_int_equal(verge_runtime_run(late.runtime, ends_when_the_other_is_held, &is_virtual, NULL), 0);
        steps_end();
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_false(late.has_begun);
        assert_int_equal(stats_of(late.runtime).tasks, 1);
        assert_int_equal(write(pair.far, "x", 1), 1);
        assert_int_equal(verge_runtime_run(late.runtime, NULL, NULL, NULL), 0);
        assert_true(late.has_begun);
        assert_int_equal(stats_of(late.runtime).tasks, 0);
        end_runtime(late.runtime);
        close_pair(pair);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_readers_of_one_terminal_do_not_block_the_worker),
        cmocka_unit_test(to_wait_for_all_keeps_messages_apart),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(who_waits_to_write_does_not_spin),
        cmocka_unit_test(who_sends_to_a_full_queue_does_not_spin),
        cmocka_unit_test(what_was_not_expected_is_received),
        cmocka_unit_test(who_expects_to_wait_for_no_socket_is_told),
        cmocka_unit_test(another_connection_of_the_same_number_is_heard),
        cmocka_unit_test(what_is_not_waited_for),
#if defined(VERGE_TEST_LIBURING)
        cmocka_unit_test(who_waits_for_its_buffer_does_not_spin),
#endif
        cmocka_unit_test(n1_a_cancellation_that_missed_is_repeated),
        cmocka_unit_test(a_task_that_comes_after_the_last_is_the_next_run_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
