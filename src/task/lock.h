/* SPDX-License-Identifier: MIT */
/* task/lock.h - a lock for a handful of instructions, among tasks of different workers and other threads. Whoever has
 * it does not switch. A plain word, as the structs that hold it are C++ too. */
#ifndef VERGE_SRC_TASK_LOCK_H
#define VERGE_SRC_TASK_LOCK_H

#include <sched.h>
#include <stdint.h>

#include "base/compiler.h"

// NOLINTNEXTLINE(readability-non-const-parameter)
static inline void verge__lock(uint32_t *guard) {
    unsigned spins = 0;
    while (VERGE__UNLIKELY(__atomic_exchange_n(guard, 1, __ATOMIC_ACQUIRE) != 0)) {
        while (__atomic_load_n(guard, __ATOMIC_RELAXED) != 0) {
            if (++spins % 64 == 0) { /* the holder may have lost its processor */
                (void)sched_yield();
            }
        }
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter)
static inline void verge__unlock(uint32_t *guard) {
    __atomic_store_n(guard, 0, __ATOMIC_RELEASE);
}

#endif
