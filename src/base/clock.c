/* SPDX-License-Identifier: MIT */
/* Clocks: three of the system, and a manual one for tests. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "base/relaxed.h"
#include "verge/base.h"

static const uint64_t time_last_ns = VERGE_NEVER - 1;

/* ---- the system's clocks ---- */

#if defined(_WIN32)

/* Declared as in <windows.h>, which is not included, as it is large and defines many names. */
__declspec(dllimport) int __stdcall QueryPerformanceCounter(int64_t *ret_count);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(int64_t *ret_per_second);
__declspec(dllimport) void __stdcall GetSystemTimeAsFileTime(uint64_t *ret_time); /* in units of 100 ns, since 1601 */

static uint64_t monotonic_now(void *context) {
    (void)context;
    int64_t count = 0;
    int64_t per_second = 1;
    (void)QueryPerformanceCounter(&count);
    (void)QueryPerformanceFrequency(&per_second);
    uint64_t whole = (uint64_t)count / (uint64_t)per_second;
    uint64_t rest = (uint64_t)count % (uint64_t)per_second;
    return whole * UINT64_C(1000000000) + rest * UINT64_C(1000000000) / (uint64_t)per_second;
}

static uint64_t realtime_now(void *context) {
    const uint64_t from_1601_to_1970 = UINT64_C(116444736000000000);
    uint64_t time = 0;
    (void)context;
    GetSystemTimeAsFileTime(&time);
    return (time - from_1601_to_1970) * 100;
}

#else

static uint64_t nanoseconds(const struct timespec *time) {
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

static uint64_t monotonic_now(void *context) {
    (void)context;
    struct timespec time = {0};
#if defined(CLOCK_MONOTONIC)
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
#else
    (void)timespec_get(&time, TIME_UTC); /* the only clock of ISO C. It may go back, which does a wheel no harm (G9) */
#endif
    return nanoseconds(&time);
}

static uint64_t realtime_now(void *context) {
    (void)context;
    struct timespec time = {0};
    (void)timespec_get(&time, TIME_UTC);
    return nanoseconds(&time);
}

#endif

verge_clock verge_clock_monotonic(void) {
    return (verge_clock){.now_ns = monotonic_now, .context = NULL};
}

verge_clock verge_clock_realtime(void) {
    return (verge_clock){.now_ns = realtime_now, .context = NULL};
}

#if defined(CLOCK_BOOTTIME) && !defined(_WIN32)

static uint64_t boottime_now(void *context) {
    (void)context;
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &time);
    return nanoseconds(&time);
}

verge_clock verge_clock_boottime(void) {
    struct timespec time;
    /* The headers have this clock, but the running kernel may not. */
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
 * now_ns of verge_manual_clock is a plain uint64_t, because C++ programs include verge/base.h, and C++ has _Atomic only
 * from C++23 on. Every access goes through the three functions below. The functions that set the time store it with
 * release, and manual_now loads it with acquire: a thread that reads a time also sees what was written before that time
 * was set.
 */

static uint64_t manual_now(void *context) {
    const verge_manual_clock *manual = (const verge_manual_clock *)context;
    return manual == NULL ? 0 : verge__load_acquire_plain(&manual->now_ns);
}

void verge_manual_clock_set(verge_manual_clock *manual, uint64_t now_ns) {
    if (manual != NULL) {
        verge__store_release_plain(&manual->now_ns, now_ns);
    }
}

void verge_manual_clock_advance(verge_manual_clock *manual, uint64_t duration_ns) {
    if (manual == NULL) {
        return;
    }
    uint64_t now_ns = verge__load_relaxed_plain(&manual->now_ns);
    uint64_t next_ns;
    do {
        if (now_ns >= time_last_ns) {
            return;
        }
        next_ns = duration_ns > time_last_ns - now_ns ? time_last_ns : now_ns + duration_ns;
    } while (!verge__exchange_plain(&manual->now_ns, &now_ns, next_ns));
}

verge_clock verge_clock_manual(verge_manual_clock *manual) {
    return (verge_clock){.now_ns = manual_now, .context = manual};
}
