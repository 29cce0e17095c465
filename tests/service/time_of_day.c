/* SPDX-License-Identifier: MIT */
/*
 * The clock of the time of day is set while a worker sleeps. The test plays the part of the kernel: a sleep until a
 * time of day (FUTEX_CLOCK_REALTIME) ends when the clock has reached that time, however the clock got there. If a
 * worker slept for a duration instead, setting the clock would not wake it: not in this test, and not with a real
 * kernel.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "service/support.h"

static _Atomic uint64_t clock_ns;   /* it moves only when it is set */
static _Atomic uint32_t look_count; /* how often sleeping threads have looked at the clock */

int __wrap_timespec_get(struct timespec *time, int base);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

int __wrap_timespec_get(struct timespec *time, int base) {
    const uint64_t now_ns = atomic_load(&clock_ns);
    *time = (struct timespec){.tv_sec = (time_t)(now_ns / SECOND), .tv_nsec = (long)(now_ns % SECOND)};
    return base;
}

/* The library calls this instead of syscall (--wrap). On x86-64 and aarch64, variadic
 * arguments are passed like named ones. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const struct timespec *until = (const struct timespec *)d;
    const struct timespec moment = {.tv_nsec = 100000};
    if (number != SYS_futex || (b & FUTEX_CLOCK_REALTIME) == 0 || until == NULL) {
        return __real_syscall(number, a, b, c, d, e, f);
    }
    while (atomic_load(&clock_ns) < (uint64_t)until->tv_sec * SECOND + (uint64_t)until->tv_nsec) {
        (void)atomic_fetch_add(&look_count, 1);
        if (__real_syscall(number, a, (long)FUTEX_WAIT_PRIVATE, c, &moment, NULL, 0) == 0 || errno != ETIMEDOUT) {
            return 0;
        }
    }
    errno = ETIMEDOUT;
    return -1;
}

/* Waits until sleeping threads have looked at the clock 20 times, and sleep on. */
static void let_it_sleep(void) {
    await_count(&look_count, atomic_load(&look_count) + 20);
}

static verge_service *begin(bool has_metronome) {
    verge_service_options options;
    verge_service *service;
    atomic_store(&clock_ns, 1000000 * HOUR);
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 1;
    options.metronome = has_metronome;
    options.clock = verge_clock_realtime();
    assert_int_equal(verge_service_create(&options, &service), 0);
    return service;
}

static void start_in(verge_service *service, uint64_t delay_ns, struct notes *notes) {
    const verge_start_options options = noted(notes, atomic_load(&clock_ns) + delay_ns);
    (void)start_with(service, &options);
}

static void set_ahead_it_runs_at_once(bool has_metronome) {
    struct notes notes = {0}, later = {0};
    verge_service *service = begin(has_metronome);
    start_in(service, HOUR, &notes);
    start_in(service, 3 * HOUR, &later);
    let_it_sleep();
    assert_int_equal(notes.fired, 0);
    (void)atomic_fetch_add(&clock_ns, 2 * HOUR);
    await_count(&notes.fired, 1); /* if it never runs, ctest's timeout ends the test */
    let_it_sleep();
    assert_int_equal(later.fired, 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void set_back_it_waits_for_its_time(bool has_metronome) {
    struct notes notes = {0}, seen = {0};
    verge_service *service = begin(has_metronome);
    const uint64_t begin_ns = atomic_load(&clock_ns);
    start_in(service, 10 * MS, &notes);
    let_it_sleep();
    atomic_store(&clock_ns, begin_ns - HOUR);
    let_it_sleep();
    assert_int_equal(notes.fired, 0);
    start_in(service, HOUR - SECOND, &seen); /* due at once: the time of the service does not go back */
    await_count(&seen.fired, 1);
    assert_int_equal(notes.fired, 0);
    atomic_store(&clock_ns, begin_ns + 20 * MS);
    await_count(&notes.fired, 1);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void a_clock_set_ahead(void **state) {
    (void)state;
    set_ahead_it_runs_at_once(false);
    set_ahead_it_runs_at_once(true);
}

static void a_clock_set_back(void **state) {
    (void)state;
    set_back_it_waits_for_its_time(false);
    set_back_it_waits_for_its_time(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_set_ahead),
        cmocka_unit_test(a_clock_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
