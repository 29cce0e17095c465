/* SPDX-License-Identifier: MIT */
/*
 * base/relaxed.h - relaxed loads and stores of 64 bits for the shortest ways.
 *
 * gcc puts the address of an atomic object into a register of its own, by an instruction of its own, though what it
 * then writes is the ordinary load or store of the machine, which could have added the offset itself. To start and cancel a
 * timer are a dozen such accesses.
 */
#ifndef VERGE_SRC_BASE_RELAXED_H
#define VERGE_SRC_BASE_RELAXED_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

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

/* The same for an object that is not declared atomic: one thread writes it, and others may while it is looked at. */
static VERGE__ALWAYS_INLINE uint64_t verge__load_relaxed_plain(const uint64_t *object) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(object, __ATOMIC_RELAXED);
#else
    return *(const volatile uint64_t *)object;
#endif
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static VERGE__ALWAYS_INLINE void verge__store_relaxed_plain(uint64_t *object, uint64_t value) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(object, value, __ATOMIC_RELAXED);
#else
    *(volatile uint64_t *)object = value;
#endif
}

#endif
