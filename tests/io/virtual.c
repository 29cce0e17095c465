/* SPDX-License-Identifier: MIT */
/* I/O in virtual time: what happens before the clock moves, and how long the clock waits for pending I/O. */
#define _GNU_SOURCE

#include <limits.h>
#include <pthread.h>

#include "io/support.h"
#include "reactor/reactor.h"
#include "support/steps.h"
#include "task/runner.h"

/* ---- a cancellation, which takes no time ---- */

static intptr_t is_cancelled_at_zero(void *argument) {
    const int *fd = argument;
    char byte;
    CHECK_EQUAL(verge_recv(*fd, &byte, 1, 0, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_now(), 0);
    return 0;
}

static intptr_t cancels_and_sleeps(void *argument) {
    CHECK_EQUAL(verge_task_cancel(argument), 0);
    return verge_sleep(HOUR);
}

static intptr_t cancels_on_a_worker_before(void *argument) {
    (void)argument;
    const struct pair pair = open_pair();
    int fd = pair.near;
    verge_task *task = spawn(is_cancelled_at_zero, &fd);
    verge_task *canceller = spawn_on(1, cancels_and_sleeps, task);
    join(task);
    CHECK_EQUAL(join(canceller), 0);
    close_pair(pair);
    return 0;
}

static void t7_a_cancelled_operation_ends_before_the_clock_moves(void **state) {
    (void)state;
    assert_int_equal(run_virtual(2, 0, cancels_on_a_worker_before, NULL), HOUR);
}

/* ---- the deadline comes between the cancellation and the end of the operation: the queue of io_uring is full ---- */

static intptr_t receives_until_noon(void *argument) {
    const int *fd = argument;
    char byte;
    return verge_recv(*fd, &byte, 1, 0, 12 * HOUR);
}

static intptr_t cancels_before_noon(void *argument) {
    (void)argument;
    const struct pair pair = open_pair();
    int fd = pair.near;
    verge__reactor *reactor = verge_task_runtime()->runners[0]->reactor;
    verge_task *task = spawn(receives_until_noon, &fd);
    CHECK_EQUAL(verge_sleep_until(11 * HOUR), 0);
    reactor->refusals = UINT_MAX;
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(verge_sleep_until(13 * HOUR), 0);
    reactor->refusals = 0;
    CHECK_EQUAL(join(task), -ECANCELED);
    close_pair(pair);
    return 0;
}

static void t4_who_was_cancelled_is_told_so_though_its_deadline_comes(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.io_grace_ns = 0;
    run_with(options, cancels_before_noon, NULL);
}

/* ---- the grace: how long the clock waits for I/O that is pending (io_grace_ns) ---- */

static struct {
    verge_runtime *runtime;
    int waits;
    _Atomic bool may_write;
} grace;

/* The first wait of the reactor returns although no operation is done. During the second wait, the bytes come. */
static void wait_twice(const char *step) {
    if (is_step(step, "virtual: wait")) {
        grace.waits++;
        if (grace.waits == 1) {
            verge__reactor_wake(grace.runtime->runners[0]->reactor);
        } else {
            atomic_store(&grace.may_write, true);
        }
    } else if (is_step(step, "virtual: clock")) {
        atomic_store(&grace.may_write, true);
    }
}

static void *writes_later(void *argument) {
    const int *fd = argument;
    await(&grace.may_write);
    CHECK_EQUAL(write(*fd, "x", 1), 1);
    return NULL;
}

static intptr_t receives_within_its_grace(void *argument) {
    struct pair *pair = argument;
    char byte;
    CHECK_EQUAL(verge_recv(pair->near, &byte, 1, 0, VERGE_NEVER), 1);
    CHECK_EQUAL(verge_now(), 0);
    return 0;
}

static intptr_t sleeps_while_another_receives(void *argument) {
    struct pair *pair = argument;
    pthread_t thread;
    grace.runtime = verge_task_runtime();
    CHECK_EQUAL(pthread_create(&thread, NULL, writes_later, &pair->far), 0);
    verge_task *task = spawn(receives_within_its_grace, pair);
    CHECK_EQUAL(verge_sleep(HOUR), 0);
    join(task);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    return 0;
}

/* The socket is O_NONBLOCK, so io_uring takes several steps to receive: none of them uses up the grace. */
static void t7_the_clock_waits_for_the_grace(void **state) {
    (void)state;
    struct pair pair = open_pair();
    assert_int_equal(fcntl(pair.near, F_SETFL, O_NONBLOCK), 0);
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.io_grace_ns = MINUTE;
    memset(&grace, 0, sizeof(grace));
    steps_begin(wait_twice);
    run_with(options, sleeps_while_another_receives, &pair);
    steps_end();
    assert_true(grace.waits >= 2);
    close_pair(pair);
}

enum { LONG_SLEEPS = 20 };

static void count_waits(const char *step) {
    grace.waits += is_step(step, "virtual: wait");
}

static intptr_t receives_for_ever(void *argument) {
    struct pair *pair = argument;
    char byte;
    return verge_recv(pair->near, &byte, 1, 0, VERGE_NEVER);
}

static intptr_t sleeps_often_while_another_receives(void *argument) {
    verge_task *task = spawn(receives_for_ever, argument);
    for (int i = 0; i < LONG_SLEEPS; i++) {
        CHECK_EQUAL(verge_sleep(MINUTE), 0);
    }
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(join(task), -ECANCELED);
    return 0;
}

/* With a precision of 1 ns, a wheel wakes up several times before a deadline in a minute. All these wake-ups share one
 * grace. */
static void t7_a_deadline_has_one_grace(void **state) {
    (void)state;
    struct pair pair = open_pair();
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    options.io_grace_ns = 0;
    memset(&grace, 0, sizeof(grace));
    steps_begin(count_waits);
    run_with(options, sleeps_often_while_another_receives, &pair);
    steps_end();
    assert_in_range(grace.waits, LONG_SLEEPS, LONG_SLEEPS + 2); /* 2: for the cancelled receive */
    close_pair(pair);
}

/* ---- nothing but I/O can come ---- */

static const struct pair *answered;

static void answer_when_all_wait(const char *step) {
    if (is_step(step, "virtual: wait for ever") && grace.waits++ == 0) {
        CHECK_EQUAL(write(answered->far, "x", 1), 1);
    }
}

static intptr_t receives_a_byte(void *argument) {
    const struct pair *pair = argument;
    char byte;
    return verge_recv(pair->near, &byte, 1, 0, VERGE_NEVER);
}

/* All tasks wait, but this is no deadlock: the other end of the socket may belong to another process. */
static void t7_io_without_a_deadline_is_waited_for(void **state) {
    (void)state;
    struct pair pair = open_pair();
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.io_grace_ns = 0;
    memset(&grace, 0, sizeof(grace));
    answered = &pair;
    steps_begin(answer_when_all_wait);
    assert_int_equal(run_with(options, receives_a_byte, &pair), 1);
    steps_end();
    assert_int_not_equal(grace.waits, 0);
    close_pair(pair);
}

static intptr_t syncs_and_waits(void *argument) {
    char path[] = "/tmp/verge-virtual-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(verge_write(fd, "x", 1, VERGE_NEVER), 1);
    CHECK_EQUAL(verge_fsync(fd, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_close(fd), 0);
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER), -ECANCELED);
    (void)argument;
    return 0;
}

/* io_uring syncs a file on a thread of the kernel, which stays. This thread cannot wake a task. */
static void t7_threads_of_io_uring_hide_no_deadlock(void **state) {
    (void)state;
    if (VERGE__TSAN) {
        skip(); /* ThreadSanitizer has a thread, which looks like a thread of the program */
    }
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    verge_runtime *runtime = runtime_with(options);
    assert_int_equal(verge_runtime_run(runtime, syncs_and_waits, NULL, NULL), -EDEADLK);
    end_runtime(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t7_a_cancelled_operation_ends_before_the_clock_moves),
        cmocka_unit_test(t4_who_was_cancelled_is_told_so_though_its_deadline_comes),
        cmocka_unit_test(t7_the_clock_waits_for_the_grace),
        cmocka_unit_test(t7_a_deadline_has_one_grace),
        cmocka_unit_test(t7_io_without_a_deadline_is_waited_for),
        cmocka_unit_test(t7_threads_of_io_uring_hide_no_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
