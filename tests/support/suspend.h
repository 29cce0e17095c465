/* SPDX-License-Identifier: MIT */
/*
 * support/suspend.h - simulates a machine that is suspended, in programs linked with --wrap=clock_gettime. suspend_for
 * moves CLOCK_BOOTTIME but not CLOCK_MONOTONIC, as a suspend does. After freeze_clocks, only two calls move the clocks:
 * suspend_for, and stay_awake_for, which moves both clocks. Every other clock shows the time of CLOCK_MONOTONIC.
 */
#ifndef VERGE_TESTS_SUPPORT_SUSPEND_H
#define VERGE_TESTS_SUPPORT_SUSPEND_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static _Atomic uint64_t suspend_awake_ns; /* 0: not frozen */
static _Atomic uint64_t suspend_slept_ns;
static atomic_bool suspend_is_unknown; /* an old kernel has no CLOCK_BOOTTIME */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
    const uint64_t second_ns = 1000000000;
    if (clock == CLOCK_BOOTTIME && atomic_load(&suspend_is_unknown)) {
        errno = EINVAL;
        return -1;
    }
    const int error = __real_clock_gettime(CLOCK_MONOTONIC, time);
    const uint64_t awake_ns = atomic_load(&suspend_awake_ns);
    uint64_t now_ns = awake_ns != 0 ? awake_ns : (uint64_t)time->tv_sec * second_ns + (uint64_t)time->tv_nsec;
    now_ns += clock == CLOCK_BOOTTIME ? atomic_load(&suspend_slept_ns) : 0;
    *time = (struct timespec){.tv_sec = (time_t)(now_ns / second_ns), .tv_nsec = (long)(now_ns % second_ns)};
    return error;
}

static inline void suspend_for(uint64_t duration_ns) {
    (void)atomic_fetch_add(&suspend_slept_ns, duration_ns);
}

static inline void freeze_clocks(uint64_t now_ns) {
    atomic_store(&suspend_awake_ns, now_ns);
    atomic_store(&suspend_slept_ns, 0);
}

static inline void stay_awake_for(uint64_t duration_ns) {
    (void)atomic_fetch_add(&suspend_awake_ns, duration_ns);
}

static inline void thaw_clocks(void) {
    atomic_store(&suspend_awake_ns, 0);
}

#endif
