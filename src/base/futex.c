/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "verge/base.h"

enum { NS_PER_S = 1000000000 };

#if defined(VERGE_STEPS) && VERGE_STEPS
bool (*verge__wait_hook)(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) = NULL;
#endif

static void sleep_until(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns, int clock) {
    /* The kernel's times end at 2^63 ns: a later time means no timeout. */
    const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};
    const struct timespec *timeout = until_ns > INT64_MAX ? NULL : &until;
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE | clock, expected, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

void verge__futex_sleep_until(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    sleep_until(word, expected, until_ns, 0);
}

void verge__futex_sleep_until_realtime(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    sleep_until(word, expected, until_ns, FUTEX_CLOCK_REALTIME);
}

void verge__futex_sleep(_Atomic uint32_t *word, uint32_t expected) {
    if (!verge__wait_is_hooked(word, expected, VERGE_NEVER)) {
        verge__futex_sleep_until(word, expected, VERGE_NEVER);
    }
}

void verge__futex_wake_all(_Atomic uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void verge__futex_wake_one(_Atomic uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
