/* SPDX-License-Identifier: MIT */
/*
 * base/futex.h - sleeping until another thread has changed a word.
 *
 * No thread of the library waits for another one in a loop, not even with sched_yield. On one processor, a waiting
 * thread with a real-time priority would keep the other thread from running. So the waiting thread sleeps here, and the
 * other one wakes it.
 */
#ifndef VERGE_SRC_BASE_FUTEX_H
#define VERGE_SRC_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(VERGE_STEPS) && VERGE_STEPS
/* In tests, this hook may wait in place of the kernel. True: it has handled the wait. */
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

/* Sleeps while *word == expected, until woken. It may return early, so the caller must check again. */
void verge__futex_sleep(_Atomic uint32_t *word, uint32_t expected);

/* The same, without the hook, until a time on the monotonic clock. */
void verge__futex_sleep_until(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* The same until a time of day. The kernel follows the clock when it is set: the sleep ends when the clock, as it is by
 * then, has reached the time. */
void verge__futex_sleep_until_realtime(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Wake all threads, or one, that sleep on the word. The word is not read, so its memory may already be freed. */
void verge__futex_wake_all(_Atomic uint32_t *word);
void verge__futex_wake_one(_Atomic uint32_t *word);

#endif
