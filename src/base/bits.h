/* SPDX-License-Identifier: MIT */
/* base/bits.h - which bits of a 64-bit word are set. The index of bit 2^i is i. */
#ifndef VERGE_SRC_BASE_BITS_H
#define VERGE_SRC_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* The portable forms are always compiled, so that the tests can compare them with the builtin ones. */

static inline unsigned verge__bit_floor_index_portable(uint64_t nonzero) {
    unsigned index = 0;
    for (unsigned step = 32; step != 0; step >>= 1) {
        if (nonzero >> step != 0) {
            nonzero >>= step;
            index += step;
        }
    }
    return index;
}

static inline unsigned verge__bit_lowest_index_portable(uint64_t nonzero) {
    return verge__bit_floor_index_portable(nonzero & (~nonzero + 1));
}

/* The index of the highest set bit: the binary logarithm, rounded down. Undefined for 0. */
static inline unsigned verge__bit_floor_index(uint64_t nonzero) {
#if VERGE__GNU_C
    return 63U - (unsigned)__builtin_clzll(nonzero);
#else
    return verge__bit_floor_index_portable(nonzero);
#endif
}

/* The index of the lowest set bit: the number of trailing zeros. Undefined for 0. */
static inline unsigned verge__bit_lowest_index(uint64_t nonzero) {
#if VERGE__GNU_C
    return (unsigned)__builtin_ctzll(nonzero);
#else
    return verge__bit_lowest_index_portable(nonzero);
#endif
}

/* The number of zero bits above the highest set bit. Undefined for 0. */
static inline unsigned verge__leading_zeros(uint64_t nonzero) {
#if VERGE__GNU_C
    return (unsigned)__builtin_clzll(nonzero);
#else
    return 63U - verge__bit_floor_index_portable(nonzero);
#endif
}

static inline bool verge__is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* The bits 0 to count - 1; count from 0 to 64. */
static inline uint64_t verge__bit_mask(unsigned count) {
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* The number from first to last with the most trailing zero bits. */
static inline uint64_t verge__roundest(uint64_t first, uint64_t last) {
    /* first - 1 and last agree above the highest bit in which they differ. That bit is set in last. */
    return first == 0 ? 0 : last & ~verge__bit_mask(verge__bit_floor_index((first - 1) ^ last));
}

#endif
