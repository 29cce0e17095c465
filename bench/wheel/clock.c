/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>

#include "fail.h"

static bool simulated;
static uint64_t simulated_ns;

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static int (*real_epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);

/* Copies the result of dlsym into a function pointer, as ISO C has no cast for that. */
static void resolve(const char *name, void *function, size_t size) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL) {
        bench_fail("the C library has no %s", name);
    }
    memcpy(function, &symbol, size);
}

__attribute__((constructor)) static void resolve_all(void) {
    resolve("clock_gettime", &real_clock_gettime, sizeof(real_clock_gettime));
    resolve("gettimeofday", &real_gettimeofday, sizeof(real_gettimeofday));
    resolve("epoll_wait", &real_epoll_wait, sizeof(real_epoll_wait));
    resolve("epoll_pwait", &real_epoll_pwait, sizeof(real_epoll_pwait));
}

static uint64_t real_ns(clockid_t clock) {
    struct timespec time;
    real_clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

uint64_t bench_wall_ns(void) {
    return real_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void) {
    return real_ns(CLOCK_THREAD_CPUTIME_ID);
}

void bench_simulated_start(uint64_t now_ns) {
    simulated_ns = now_ns;
    simulated = true;
}

void bench_simulated_set(uint64_t now_ns) {
    simulated_ns = now_ns;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library spells them with underscores */

int clock_gettime(clockid_t clock, struct timespec *ret_time) {
    if (!simulated) {
        if (real_clock_gettime == NULL) {
            resolve_all();
        }
        return real_clock_gettime(clock, ret_time);
    }
    ret_time->tv_sec = (time_t)(simulated_ns / 1000000000);
    ret_time->tv_nsec = (long)(simulated_ns % 1000000000);
    return 0;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone) {
    if (!simulated) {
        if (real_gettimeofday == NULL) {
            resolve_all();
        }
        return real_gettimeofday(ret_time, zone);
    }
    ret_time->tv_sec = (time_t)(simulated_ns / 1000000000);
    ret_time->tv_usec = (suseconds_t)(simulated_ns % 1000000000 / 1000);
    return 0;
}

int epoll_wait(int epoll, struct epoll_event *events, int event_count_max, int timeout_ms) {
    return simulated ? 0 : real_epoll_wait(epoll, events, event_count_max, timeout_ms);
}

int epoll_pwait(int epoll, struct epoll_event *events, int event_count_max, int timeout_ms, const sigset_t *mask) {
    return simulated ? 0 : real_epoll_pwait(epoll, events, event_count_max, timeout_ms, mask);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
