/* SPDX-License-Identifier: MIT */
/*
 * base/depend.h - to look at something only after a number that says it is there, without an acquire.
 *
 *     uint32_t count = verge__load_dependable(&shared->count);   pairs with a release store
 *     if (i < count) {
 *         item = verge__depend_on(&items[i], count);             what is loaded through it is loaded after the number
 *
 * An acquire holds up all loads that follow, whatever they look at. Processors keep a load behind the one that its address
 * comes from; so here the address is made to come from the number, which adds nothing to it. C11 has a name for that
 * order, consume, which compilers turn into an acquire. Where it does not matter, an acquire is what it is.
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
