/* SPDX-License-Identifier: MIT */
/*
 * base/relaxed.h - relaxed 64-bit loads and stores for hot paths; atomic access to objects that are not declared
 * atomic.
 *
 * For an atomic access on aarch64, gcc computes the address in an extra instruction, although a load or store
 * instruction can add the offset itself. So with gcc on aarch64, VERGE__STORE_RELAXED and verge__load_relaxed are
 * assembly (but not under ThreadSanitizer). Starting and cancelling a timer takes a dozen such accesses.
 */
#ifndef VERGE_SRC_BASE_RELAXED_H
#define VERGE_SRC_BASE_RELAXED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#if !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && !defined(VERGE__THREADS_ARE_WATCHED)

#define VERGE__STORE_RELAXED(object, value) \
    do { \
        _Static_assert(sizeof(*(object)) == 8, "a store of 64 bits"); \
        __asm__ volatile("str %1, %0" : "=m"(*(object)) : "r"(value)); \
    } while (0)

static VERGE__ALWAYS_INLINE uint64_t verge__load_relaxed(const _Atomic uint64_t *object) {
    uint64_t value;
    __asm__ volatile("ldr %0, %1" : "=r"(value) : "m"(*object));
    return value;
}

#else

#define VERGE__STORE_RELAXED(object, value) atomic_store_explicit(object, value, memory_order_relaxed)

static VERGE__ALWAYS_INLINE uint64_t verge__load_relaxed(const _Atomic uint64_t *object) {
    return atomic_load_explicit(object, memory_order_relaxed);
}

#endif
#endif

/* The functions ..._plain access an object that is not declared atomic. With GNU C, other threads may access it at the
 * same time. With other compilers they may not: there the access is not atomic. */
static VERGE__ALWAYS_INLINE uint64_t verge__load_relaxed_plain(const uint64_t *object) {
#if VERGE__GNU_C
    return __atomic_load_n(object, __ATOMIC_RELAXED);
#else
    return *(const volatile uint64_t *)object;
#endif
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static VERGE__ALWAYS_INLINE void verge__store_relaxed_plain(uint64_t *object, uint64_t value) {
#if VERGE__GNU_C
    __atomic_store_n(object, value, __ATOMIC_RELAXED);
#else
    *(volatile uint64_t *)object = value;
#endif
}

/* A thread that loads a value also sees what was written before verge__store_release_plain stored it. */
static inline uint64_t verge__load_acquire_plain(const uint64_t *object) {
#if VERGE__GNU_C
    return __atomic_load_n(object, __ATOMIC_ACQUIRE);
#else
    return *(const volatile uint64_t *)object;
#endif
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline void verge__store_release_plain(uint64_t *object, uint64_t value) {
#if VERGE__GNU_C
    __atomic_store_n(object, value, __ATOMIC_RELEASE);
#else
    *(volatile uint64_t *)object = value;
#endif
}

/* A weak compare-and-swap. If *object equals *expected, stores `value` and returns true. Otherwise copies *object to
 * *expected and returns false. It may also return false although they are equal, so call it in a loop. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline bool verge__exchange_plain(uint64_t *object, uint64_t *expected, uint64_t value) {
#if VERGE__GNU_C
    return __atomic_compare_exchange_n(object, expected, value, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#else
    if (*object != *expected) {
        *expected = *object;
        return false;
    }
    *object = value;
    return true;
#endif
}

#endif
