/* SPDX-License-Identifier: MIT */
/*
 * base/futex.h - sleeping until another thread has changed a word.
 *
 * No thread of the library waits for another one in a loop, not even with sched_yield: on one processor, a waiting thread with
 * a real-time priority would keep the thread that it waits for from running. Whoever waits sleeps here, and whoever is
 * waited for wakes it.
 */
#ifndef VERGE_SRC_BASE_FUTEX_H
#define VERGE_SRC_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(VERGE_STEPS) && VERGE_STEPS
/* For tests, in place of the kernel. True: the hook has waited, or does not want to. */
extern bool (*verge__wait_hook)(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

static inline bool verge__wait_is_hooked(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    return verge__wait_hook != NULL && verge__wait_hook(word, expected, until_ns);
}
#else
static inline bool verge__wait_is_hooked(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)word;
    (void)expected;
    (void)until_ns;
    return false;
}
#endif

/* Sleeps while *word == expected, until woken. May return early: look again. */
void verge__futex_sleep(_Atomic uint32_t *word, uint32_t expected);

/* The same, without the hook, until a time on the monotonic clock. */
void verge__futex_sleep_until(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Wakes all that sleep on the word. It is not read: its memory may have been freed meanwhile. */
void verge__futex_wake_all(_Atomic uint32_t *word);
void verge__futex_wake_one(_Atomic uint32_t *word);

#endif
