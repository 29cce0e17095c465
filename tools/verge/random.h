/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same from the same seed: splitmix64. */
#ifndef VERGE_TOOL_RANDOM_H
#define VERGE_TOOL_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Returns a number from 0 to below - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t below) {
    return random_next(state) % below;
}

#endif
