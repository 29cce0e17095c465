/* SPDX-License-Identifier: MIT */
/*
 * support/random.h - random numbers that can be repeated from a seed.
 *
 * A randomised test takes its seed from verge_test_seed, which prints it. To replay a failure, run
 * the test with VERGE_TEST_SEED set to what it printed. VERGE_TEST_SECONDS makes such tests run
 * longer (or shorter) than they do by default.
 *
 * In a fuzz target, verge_test_random_from_bytes takes the numbers from the fuzzer's input, as few bytes as each choice
 * needs. When the input is used up, it goes on with pseudo-random numbers, which are the same every time.
 */
#ifndef VERGE_TESTS_SUPPORT_RANDOM_H
#define VERGE_TESTS_SUPPORT_RANDOM_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64: 64 bits of state, any seed is a good seed. */
struct verge_test_random {
    uint64_t state;
    const uint8_t *bytes; /* input of a fuzzer, from which choices are read */
    size_t byte_count;    /* bytes that are left */
};

static inline struct verge_test_random verge_test_random_from(uint64_t seed) {
    return (struct verge_test_random){.state = seed};
}

static inline struct verge_test_random verge_test_random_from_bytes(const uint8_t *bytes, size_t byte_count) {
    return (struct verge_test_random){.bytes = bytes, .byte_count = byte_count};
}

/* Reads up to `count` of the bytes that are left, as a number. */
static inline uint64_t verge_test_bytes(struct verge_test_random *random, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count && random->byte_count > 0; i++, random->byte_count--) {
        value |= (uint64_t)*random->bytes++ << (8 * i);
    }
    return value;
}

static inline uint64_t verge_test_next(struct verge_test_random *random) {
    if (random->byte_count > 0) {
        return verge_test_bytes(random, sizeof(uint64_t));
    }
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Returns a number from 0 to bound - 1, or 0 if bound is 0. The bias of the modulus does not matter here. */
static inline uint64_t verge_test_below(struct verge_test_random *random, uint64_t bound) {
    if (random->byte_count == 0) {
        return bound == 0 ? 0 : verge_test_next(random) % bound;
    }
    size_t bytes_needed = 0;
    for (uint64_t rest = bound == 0 ? 0 : bound - 1; rest != 0; rest >>= 8) {
        bytes_needed++;
    }
    return bound == 0 ? 0 : verge_test_bytes(random, bytes_needed) % bound;
}

/* Returns a number of a random magnitude: about as often below 2^8 as between 2^40 and 2^48. */
static inline uint64_t verge_test_magnitude(struct verge_test_random *random) {
    const unsigned shift = (unsigned)verge_test_below(random, 64);
    return verge_test_next(random) >> shift;
}

static inline bool verge_test_chance(struct verge_test_random *random, uint64_t one_in) {
    return verge_test_below(random, one_in) == 0;
}

/* Returns VERGE_TEST_SEED or the fallback, and prints it, so that it is in the log of a failure. */
static inline uint64_t verge_test_seed(uint64_t fallback) {
    const char *text = getenv("VERGE_TEST_SEED");
    const uint64_t seed = text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : fallback;
    (void)printf("VERGE_TEST_SEED=%" PRIu64 "\n", seed);
    (void)fflush(stdout);
    return seed;
}

/* Returns VERGE_TEST_SECONDS or the fallback. */
static inline double verge_test_seconds(double fallback) {
    const char *text = getenv("VERGE_TEST_SECONDS");
    return text != NULL && *text != '\0' ? strtod(text, NULL) : fallback;
}

#endif
