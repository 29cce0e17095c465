/* SPDX-License-Identifier: MIT */
/* bench/wheel/random.h - random numbers by splitmix64, which is small, fast, and the same on every machine. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

struct bench_random {
    uint64_t state;
};

static inline uint64_t bench_random_next(struct bench_random *random) {
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 <= result < bound. */
static inline uint32_t bench_random_below(struct bench_random *random, uint32_t bound) {
    return (uint32_t)(((bench_random_next(random) >> 32) * bound) >> 32);
}

/* 0 <= result < 1. */
static inline double bench_random_unit(struct bench_random *random) {
    return (double)(bench_random_next(random) >> 11) * 0x1p-53;
}

#endif
