/* SPDX-License-Identifier: MIT */
/*
 * task/latch.h - a latch: a lock that is held for a short time, usually a handful of instructions, by tasks of
 * different workers and by other threads. Its holder does not switch to another task. It is a plain word, since it is
 * in public structs, which C++ must be able to read.
 *
 *     0   free
 *     1   locked
 *     2   locked, and a thread may sleep until it is free
 *
 * A thread that finds the latch locked tries again a number of times, and then sleeps: the holder may have lost its
 * processor to this very thread. After unlocking, a thread does not read the word again: the latch may be freed.
 */
#ifndef VERGE_SRC_TASK_LATCH_H
#define VERGE_SRC_TASK_LATCH_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/futex.h"

// NOLINTNEXTLINE(readability-non-const-parameter)
static inline bool verge__try_lock(uint32_t *latch) {
    uint32_t free_value = 0;
    return __atomic_compare_exchange_n(latch, &free_value, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static VERGE__NOINLINE void verge__lock_slowly(uint32_t *latch) {
    enum { LOOKS = 64 };
    for (int looks = 0; looks < LOOKS; looks++) {
        if (__atomic_load_n(latch, __ATOMIC_RELAXED) == 0 && verge__try_lock(latch)) {
            return;
        }
    }
    while (__atomic_exchange_n(latch, 2, __ATOMIC_ACQUIRE) != 0) {
        verge__futex_sleep((_Atomic uint32_t *)latch, 2);
    }
}

static inline void verge__lock(uint32_t *latch) {
    if (VERGE__UNLIKELY(!verge__try_lock(latch))) {
        verge__lock_slowly(latch);
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter)
static inline void verge__unlock(uint32_t *latch) {
    if (VERGE__UNLIKELY(__atomic_exchange_n(latch, 0, __ATOMIC_RELEASE) == 2)) {
        verge__futex_wake_one((_Atomic uint32_t *)latch);
    }
}

#endif
