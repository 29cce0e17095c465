/* SPDX-License-Identifier: MIT */
/*
 * base/depend.h - an address dependency instead of an acquire load: load a count, and then an item below that count.
 *
 *     uint32_t count = verge__load_dependable(&shared->count);   pairs with a release store
 *     if (i < count) {
 *         item = verge__depend_on(&items[i], count);             loads through item come after the load of count
 *
 * An acquire delays all later loads, also unrelated ones. But a processor always executes a load after the load that
 * its address was computed from. So verge__depend_on adds count ^ count to the address: that is 0, but the processor
 * waits for the count. C11 calls this order "consume", but compilers turn consume into acquire. On processors other
 * than aarch64, and under ThreadSanitizer, this file uses an acquire.
 */
#ifndef VERGE_SRC_BASE_DEPEND_H
#define VERGE_SRC_BASE_DEPEND_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

#if defined(__aarch64__) && !defined(VERGE__THREADS_ARE_WATCHED)
#define VERGE__DEPEND_BY_ADDRESS 1
#else
#define VERGE__DEPEND_BY_ADDRESS 0
#endif

static VERGE__ALWAYS_INLINE uint32_t verge__load_dependable(const _Atomic uint32_t *number) {
    return atomic_load_explicit(number, VERGE__DEPEND_BY_ADDRESS ? memory_order_relaxed : memory_order_acquire);
}

static VERGE__ALWAYS_INLINE void *verge__depend_on(void *pointer, uint32_t number) {
#if VERGE__DEPEND_BY_ADDRESS
    uint64_t nothing = 0;
    __asm__("eor %w0, %w1, %w1" : "=r"(nothing) : "r"(number));
    return (char *)pointer + nothing;
#else
    (void)number;
    return pointer;
#endif
}

#endif
