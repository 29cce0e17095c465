/* SPDX-License-Identifier: MIT */
/*
 * Buckets are log-linear. The exponent of a value chooses a group of eight buckets. The three bits below its leading
 * bit choose one of the eight. Values below 8 do not have these bits. For the exponent, bit 3 of each value is set, so
 * that the same formula fits all values without a branch.
 *
 * As there is only one writer, no read-modify-write needs to be atomic: the writer loads and stores, relaxed. It stores
 * the bucket last, with release, and readers load buckets with acquire. So a reader that sees a value in a bucket also
 * sees it in count, sum, min and max (H5).
 */
#include "histogram/histogram_internal.h"

#include <errno.h>

#include "base/bits.h"
#include "base/compiler.h"

enum {
    SUBBITS = 3,
    SUBBUCKETS = 1 << SUBBITS,
};

_Static_assert(VERGE_HISTOGRAM_BUCKET_COUNT == (64 - SUBBITS + 1) * SUBBUCKETS, "every value has a bucket");
_Static_assert(sizeof(verge_histogram) <= 4096, "a histogram fits into a page");

static size_t bucket_of(uint64_t value) {
    const unsigned shift = verge__bit_floor_index(value | SUBBUCKETS) - SUBBITS;
    return ((size_t)shift << SUBBITS) + (size_t)(value >> shift);
}

static uint64_t upper_of(size_t index) {
    if (index < SUBBUCKETS) {
        return index;
    }
    const unsigned shift = (unsigned)(index >> SUBBITS) - 1;
    const uint64_t leading = SUBBUCKETS + (index & (SUBBUCKETS - 1));
    return ((leading + 1) << shift) - 1; /* for the last bucket, the shift wraps to 0 */
}

static uint64_t load(const uint64_t *field) {
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* The linter does not see that the builtin writes. */
/* NOLINTBEGIN(readability-non-const-parameter) */

static void store(uint64_t *field, uint64_t value) {
    __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

/* Pairs with load_bucket. */
static void store_bucket(uint64_t *bucket, uint64_t value) {
    __atomic_store_n(bucket, value, __ATOMIC_RELEASE);
}

/* NOLINTEND(readability-non-const-parameter) */

/* Pairs with store_bucket. */
static uint64_t load_bucket(const uint64_t *bucket) {
    return __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
}

static uint64_t sum_saturated(uint64_t a, uint64_t b) {
    const uint64_t sum = a + b;
    return sum | (UINT64_C(0) - (sum < a)); /* without a branch */
}

static uint64_t product_saturated(uint64_t a, uint64_t b) {
    uint64_t product;
    const uint64_t overflows = __builtin_mul_overflow(a, b, &product);
    return product | (UINT64_C(0) - overflows); /* without a branch */
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Updates all fields but the buckets. */
static VERGE__ALWAYS_INLINE void note(verge_histogram *histogram, uint64_t count, uint64_t sum, uint64_t max,
                                      uint64_t min_inverted) {
    store(&histogram->count, sum_saturated(load(&histogram->count), count));
    store(&histogram->sum, sum_saturated(load(&histogram->sum), sum));
    store(&histogram->max, larger(load(&histogram->max), max));
    store(&histogram->min_inverted, larger(load(&histogram->min_inverted), min_inverted));
}

static void raise_bucket(uint64_t *bucket, uint64_t count) {
    store_bucket(bucket, sum_saturated(load(bucket), count));
}

static VERGE__ALWAYS_INLINE void record(verge_histogram *histogram, uint64_t value, uint64_t times) {
    note(histogram, times, product_saturated(value, times), value, ~value);
    raise_bucket(&histogram->buckets[bucket_of(value)], times);
}

void verge_histogram_record(verge_histogram *histogram, uint64_t value, uint64_t times) {
    if (times > 0) {
        record(histogram, value, times);
    }
}

void verge__histogram_record_once(verge_histogram *histogram, uint64_t value) {
    record(histogram, value, 1);
}

void verge_histogram_add(verge_histogram *into, const verge_histogram *from) {
    /* Read the buckets before the other fields: then the other fields include at least the values in the buckets. Write
     * the buckets last, so that no reader sees a value in a bucket before it is in the other fields. */
    uint64_t counts[VERGE_HISTOGRAM_BUCKET_COUNT];
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        counts[i] = load_bucket(&from->buckets[i]);
    }
    note(into, load(&from->count), load(&from->sum), load(&from->max), load(&from->min_inverted));
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        raise_bucket(&into->buckets[i], counts[i]);
    }
}

void verge_histogram_clear(verge_histogram *histogram) {
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        store_bucket(&histogram->buckets[i], 0);
    }
    store(&histogram->count, 0);
    store(&histogram->sum, 0);
    store(&histogram->max, 0);
    store(&histogram->min_inverted, 0);
}

uint64_t verge_histogram_count(const verge_histogram *histogram) {
    return load(&histogram->count);
}

uint64_t verge_histogram_sum(const verge_histogram *histogram) {
    return load(&histogram->sum);
}

/* ceil(q * count), from 1 to count; q is between 0 and 1, and count is not 0. */
static uint64_t rank_of(double q, uint64_t count) {
    const double exact = q * (double)count;
    if (exact >= 0x1p64) {
        return count; /* rounded up to 2^64, which would not fit into an integer */
    }
    const uint64_t rounded_down = (uint64_t)exact;
    const uint64_t rank = rounded_down + ((double)rounded_down < exact);
    return smaller(larger(rank, 1), count);
}

uint64_t verge_histogram_quantile(const verge_histogram *histogram, double q) {
    uint64_t count = 0; /* sum of the buckets; the field `count` may be larger */
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        count = sum_saturated(count, load_bucket(&histogram->buckets[i]));
    }
    if (count == 0) {
        return 0;
    }
    if (!(q > 0)) { /* also for a NaN */
        return smaller(~load(&histogram->min_inverted), load(&histogram->max));
    }
    if (q >= 1) {
        return load(&histogram->max);
    }
    const uint64_t rank = rank_of(q, count);
    uint64_t seen = 0;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        seen = sum_saturated(seen, load_bucket(&histogram->buckets[i]));
        if (seen >= rank) {
            return smaller(upper_of(i), load(&histogram->max));
        }
    }
    return load(&histogram->max); /* the histogram was cleared meanwhile */
}

int verge_histogram_bucket(const verge_histogram *histogram, size_t index, uint64_t *ret_upper, uint64_t *ret_count) {
    if (index >= VERGE_HISTOGRAM_BUCKET_COUNT) {
        return -EINVAL;
    }
    if (ret_upper != NULL) {
        *ret_upper = upper_of(index);
    }
    if (ret_count != NULL) {
        *ret_count = load_bucket(&histogram->buckets[index]);
    }
    return 0;
}
