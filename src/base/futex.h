/* SPDX-License-Identifier: MIT */
/*
 * base/futex.h - sleeping until another thread has changed a word.
 *
 * No thread of the library spins until another one is ready, not even with sched_yield. On one processor, a spinning
 * thread with a real-time priority would keep the other thread from running. So the waiting thread sleeps here, if need
 * be after a few tries, and the other one wakes it.
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

/* Sleeps while *word == expected, until woken, or until a time on the monotonic clock. Does not call the hook. */
void verge__futex_sleep_until(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Like verge__futex_sleep_until, but until_ns is a time of day. If somebody sets the clock during the sleep, the new
 * time counts: the sleep ends when the clock shows until_ns or later. */
void verge__futex_sleep_until_realtime(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Wakes all threads that sleep on the word. The word is not read, so its memory may already be freed. */
void verge__futex_wake_all(_Atomic uint32_t *word);

/* Wakes one thread that sleeps on the word. The word is not read. */
void verge__futex_wake_one(_Atomic uint32_t *word);

#endif
