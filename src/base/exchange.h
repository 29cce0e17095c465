/* SPDX-License-Identifier: MIT */
/*
 * base/exchange.h - a relaxed compare-and-swap for hot paths.
 *
 * On aarch64, compilers turn each compare-and-swap into a call of a function, which checks whether the machine has the
 * instruction CAS. This call, and the registers spilled around it, take a tenth of the time to start and cancel a
 * timer. So the user of this file checks once (verge__machine_has_cas), and passes the answer.
 */
#ifndef VERGE_SRC_BASE_EXCHANGE_H
#define VERGE_SRC_BASE_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS) && !defined(VERGE__THREADS_ARE_WATCHED)
#define VERGE__CAS_IS_OPTIONAL 1
#include <sys/auxv.h>
#else
#define VERGE__CAS_IS_OPTIONAL 0
#endif

static inline bool verge__machine_has_cas(void) {
#if VERGE__CAS_IS_OPTIONAL
    return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
#else
    return true;
#endif
}

/* A strong compare-and-swap. The compiler moves nothing across it. `machine_has_cas` should be a constant: a function
 * that contains both variants spills registers for both. */
static VERGE__ALWAYS_INLINE bool verge__exchange_relaxed(_Atomic uint64_t *object, uint64_t from, uint64_t to,
                                                         bool machine_has_cas) {
#if VERGE__CAS_IS_OPTIONAL
    if (machine_has_cas) {
        uint64_t found = from;
        __asm__ volatile(".arch_extension lse\n\tcas %0, %2, %1" : "+r"(found), "+Q"(*object) : "r"(to) : "memory");
        return found == from;
    }
#else
    (void)machine_has_cas;
#endif
    atomic_signal_fence(memory_order_seq_cst);
    bool is_exchanged =
        atomic_compare_exchange_strong_explicit(object, &from, to, memory_order_relaxed, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return is_exchanged;
}

#endif
