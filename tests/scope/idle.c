/* SPDX-License-Identifier: MIT */
/*
 * A kept connection ends when it was idle for 15 seconds, and not before. Linked with --wrap=clock_gettime: the
 * monotonic clock moves only when the test moves it; while scope is created, also 1 ms with each look. Scope's thread
 * looks at it once a second of real time.
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "scope/peer.h"
#include "support/steps.h"

static _Atomic uint64_t now_ns = HOUR;
static _Atomic uint64_t step_ns = MS;
static _Atomic uint64_t waits; /* how often all tasks of scope's thread waited */

static void count_waits(const char *step) {
    (void)atomic_fetch_add(&waits, is_step(step, "runner: wait"));
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_MONOTONIC) {
        return __real_clock_gettime(clock, time);
    }
    const uint64_t ns = atomic_fetch_add(&now_ns, atomic_load(&step_ns));
    *time = (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    return 0;
}

/* Waits until scope's thread has nothing left to do. This takes two rounds, since a round that had begun before may not
 * have seen the event. */
static void settle(void) {
    const uint64_t before = atomic_load(&waits);
    while (atomic_load(&waits) < before + 2) {
        peer_pause(MS);
    }
}

static void pass(uint64_t ns) {
    (void)atomic_fetch_add(&now_ns, ns);
    settle();
}

static void ask(int fd) {
    peer_send(fd, "HEAD /" TOKEN "/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(peer_status(peer_receive(fd, "\r\n\r\n")), 200);
    settle(); /* the 15 seconds begin when the server has sent its answer */
}

static void v3_an_idle_connection_ends_after_15_seconds(void **state) {
    (void)state;
    char byte;
    steps_begin(count_waits);
    verge_scope *scope = peer_scope(NULL, NULL);
    atomic_store(&step_ns, 0);
    const int fd = peer_connect(peer_port(scope));
    assert_true(fd >= 0);
    ask(fd);
    pass(14 * SECOND);
    ask(fd);
    pass(16 * SECOND);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    (void)close(fd);
    assert_int_equal(verge_scope_destroy(scope), 0);
    steps_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v3_an_idle_connection_ends_after_15_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
