/* SPDX-License-Identifier: MIT */
/* A task whose calls never have to wait still lets the other tasks of its worker run. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

enum {
    AT_ONCE_MAX = 64, /* calls in a row, as docs/TASKS.md says */
    ROUND_MAX = 64,   /* the loop looks at I/O and timers each time it has resumed so many tasks */
    ROUNDS_MAX = 3 * AT_ONCE_MAX * ROUND_MAX,
    FOR_EVER = 1000000,
};

static verge_channel *channel;
static verge_mutex mutex;
static verge_condition condition;
static verge_interval interval;
static int fds[2];

/* ---- calls that succeed, or fail, at once ---- */

static int send_and_receive(void) {
    int item = 1;
    const int error = verge_channel_send(channel, &item, VERGE_NEVER);
    return error != 0 ? error : verge_channel_receive(channel, &item, VERGE_NEVER);
}

static int lock_and_unlock(void) {
    const int error = verge_mutex_lock(&mutex, VERGE_NEVER);
    return error != 0 ? error : verge_mutex_unlock(&mutex);
}

static int lock_regardless(void) {
    const int error = verge_mutex_lock(&mutex, VERGE_REGARDLESS);
    return error != 0 ? error : verge_mutex_unlock(&mutex);
}

static int signal_under_the_mutex(void) {
    int error = verge_mutex_lock(&mutex, VERGE_NEVER);
    error = error != 0 ? error : verge_condition_broadcast(&condition);
    return error != 0 ? error : verge_mutex_unlock(&mutex);
}

static int wait_for_a_condition_in_vain(void) {
    const int lock_error = verge_mutex_lock(&mutex, 0);
    if (lock_error != 0 && lock_error != -EDEADLK) { /* -EDEADLK: this task holds the mutex since the wait before */
        return lock_error;
    }
    const int error = verge_condition_wait(&condition, &mutex, VERGE_NEVER);
    return error == -ECANCELED ? 0 : -1; /* the task is cancelled */
}

static int sleep_for_nothing(void) {
    return verge_sleep(0);
}

static int sleep_until_the_past(void) {
    return verge_sleep_until(0);
}

static int take_a_missed_tick(void) {
    return verge_interval_wait(&interval, NULL, VERGE_NEVER);
}

static verge_task *sleeper; /* a task that does not end while others wait for it */

static int join_in_vain(void) {
    return verge_task_join(sleeper, NULL, VERGE_NEVER) == -ECANCELED ? 0 : -1; /* the task is cancelled */
}

static int write_and_read(void) {
    char byte = 0;
    const ptrdiff_t size = verge_send(fds[0], &byte, 1, 0, VERGE_NEVER);
    return size == 1 && verge_recv(fds[1], &byte, 1, 0, VERGE_NEVER) == 1 ? 0 : -1;
}

static const struct subject {
    const char *name;
    int (*call)(void);
    bool is_cancelled;
} subjects[] = {
    {"channel", send_and_receive, false},
    {"channel, cancelled", send_and_receive, true},
    {"mutex", lock_and_unlock, false},
    {"mutex, cancelled", lock_and_unlock, true},
    {"mutex, regardless", lock_regardless, false},
    {"condition, signal", signal_under_the_mutex, false},
    {"condition, wait in vain", wait_for_a_condition_in_vain, true},
    {"sleep of zero", sleep_for_nothing, false},
    {"sleep into the past", sleep_until_the_past, false},
    {"ticks that were missed", take_a_missed_tick, false},
    {"join in vain", join_in_vain, true},
    {"sockets", write_and_read, false},
};

/* ---- the other tasks, which must run, too ---- */

static bool has_run;

static intptr_t runs(void *argument) {
    (void)argument;
    has_run = true;
    return 0;
}

static intptr_t receives(void *argument) {
    const int *fd = argument;
    char byte;
    CHECK_EQUAL(verge_recv(*fd, &byte, 1, 0, VERGE_NEVER), 1);
    has_run = true;
    return 0;
}

static intptr_t sleeps(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(1), 0);
    has_run = true;
    return 0;
}

/* Returns how many calls it takes until the other task has run. */
static intptr_t calls(void *argument) {
    const struct subject *subject = argument;
    intptr_t count = 0;
    if (subject->is_cancelled) {
        CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    }
    while (!has_run && count < FOR_EVER) {
        CHECK_EQUAL(subject->call(), 0);
        count++;
    }
    CHECK(has_run);
    return count;
}

static intptr_t sleeps_until_cancelled(void *argument) {
    (void)argument;
    return verge_sleep_until(VERGE_NEVER);
}

static intptr_t tries_all(void *argument) {
    (void)argument;
    int pair[2];
    sleeper = spawn(sleeps_until_cancelled, NULL);
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        const int failed_before = atomic_load(&failed_check_count);
        mutex = (verge_mutex)VERGE_MUTEX_INIT;
        has_run = false;
        verge_task *task = spawn(calls, (void *)(uintptr_t)&subjects[i]), *other = spawn(runs, NULL);
        CHECK(join(task) <= AT_ONCE_MAX + 1);
        (void)join(other);

        has_run = false; /* now the other task waits for I/O */
        CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        mutex = (verge_mutex)VERGE_MUTEX_INIT;
        other = spawn(receives, &pair[0]);
        CHECK_EQUAL(verge_yield(), 0); /* lets the other task run until it waits */
        CHECK_EQUAL(write(pair[1], "x", 1), 1);
        CHECK(join(spawn(calls, (void *)(uintptr_t)&subjects[i])) <= ROUNDS_MAX);
        (void)join(other);
        CHECK_EQUAL(close(pair[0]) + close(pair[1]), 0);

        has_run = false; /* now the other task waits for a time */
        mutex = (verge_mutex)VERGE_MUTEX_INIT;
        other = spawn(sleeps, NULL);
        CHECK_EQUAL(verge_yield(), 0);
        CHECK(join(spawn(calls, (void *)(uintptr_t)&subjects[i])) <= ROUNDS_MAX);
        (void)join(other);
        if (atomic_load(&failed_check_count) != failed_before) {
            (void)fprintf(stderr, "  in: %s\n", subjects[i].name);
        }
    }
    CHECK_EQUAL(verge_task_cancel(sleeper), 0);
    CHECK_EQUAL(join(sleeper), -ECANCELED);
    return 0;
}

static void who_never_has_to_wait_lets_others_run(void **state) {
    (void)state;
    assert_int_equal(verge_channel_create(sizeof(int), 4, NULL, &channel), 0);
    assert_int_equal(verge_interval_init(&interval, 0, 1, VERGE_INTERVAL_BURST), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    verge_runtime_options options = runtime_options(1);
    options.precision_ns = 1; /* a sleep of a nanosecond is over when the loop looks at timers next */
    (void)run_with(options, tries_all, NULL);
    assert_int_equal(close(fds[0]) + close(fds[1]), 0);
    verge_channel_destroy(channel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_has_to_wait_lets_others_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
