/* SPDX-License-Identifier: MIT */
/* Clocks: two of the system's, and one that moves only when told to. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "verge/base.h"

static const uint64_t time_last_ns = VERGE_NEVER - 1;

/* ---- the system's clocks ---- */

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

static uint64_t monotonic_now(void *context) {
    (void)context;
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return nanoseconds(&time);
}

verge_clock verge_clock_monotonic(void) {
    return (verge_clock){.now_ns = monotonic_now, .context = NULL};
}

#if defined(CLOCK_BOOTTIME)

static uint64_t boottime_now(void *context) {
    (void)context;
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &time);
    return nanoseconds(&time);
}

verge_clock verge_clock_boottime(void) {
    struct timespec time;
    /* The headers may know the clock where the running kernel does not. */
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) {
        return verge_clock_monotonic();
    }
    return (verge_clock){.now_ns = boottime_now, .context = NULL};
}

#else

verge_clock verge_clock_boottime(void) {
    return verge_clock_monotonic();
}

#endif

/* ---- the manual clock ---- */

/*
 * The field is a plain uint64_t because _Atomic does not exist in C++, which includes the header.
 * Every access goes through the three functions below. A store is a release and a load an
 * acquire: a thread that reads a time also sees what was written before that time was set.
 */

static uint64_t manual_now(void *context) {
    const verge_manual_clock *manual = context;
    return manual == NULL ? 0 : __atomic_load_n(&manual->now_ns, __ATOMIC_ACQUIRE);
}

void verge_manual_clock_set(verge_manual_clock *manual, uint64_t now_ns) {
    if (manual != NULL) {
        __atomic_store_n(&manual->now_ns, now_ns, __ATOMIC_RELEASE);
    }
}

void verge_manual_clock_advance(verge_manual_clock *manual, uint64_t duration_ns) {
    if (manual == NULL) {
        return;
    }
    uint64_t now_ns = __atomic_load_n(&manual->now_ns, __ATOMIC_RELAXED);
    uint64_t next_ns;
    do {
        if (now_ns >= time_last_ns) {
            return;
        }
        next_ns = duration_ns > time_last_ns - now_ns ? time_last_ns : now_ns + duration_ns;
    } while (!__atomic_compare_exchange_n(&manual->now_ns, &now_ns, next_ns, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

verge_clock verge_clock_manual(verge_manual_clock *manual) {
    return (verge_clock){.now_ns = manual_now, .context = manual};
}
