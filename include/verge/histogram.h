/* SPDX-License-Identifier: MIT */
/*
 * verge/histogram.h - the distribution of values (durations, sizes, counts), in 4,000 bytes.
 *
 * Words
 *   bucket     a range of values. Each value from 0 to 15 has its own bucket. Above that, every range from 2^k to
 *              2^(k+1) - 1 is cut into 8 buckets of equal width, up to 2^64 - 1.
 *   upper      the greatest value of a bucket: at most 1/8 above its smallest.
 *   quantile   the quantile of q is the ceil(q * n)th smallest of n recorded values; for q <= 0, the smallest.
 *
 * Promises
 *   H1 exact        count and sum are exact. So are quantile(0), which is the smallest recorded value (min), and
 *                   quantile(1), which is the greatest (max).
 *   H2 quantiles    t <= quantile(q) <= t + t / 8 and quantile(q) <= max, where t is the true quantile.
 *   H3 saturation   a count or sum that does not fit into 64 bits stays at 2^64 - 1; nothing wraps.
 *   H4 empty        a histogram of zero bytes is empty. There is nothing to initialise or destroy.
 *   H5 one writer   one thread records, adds and clears. Any thread may read at the same time, without locks. If a
 *                   reader sees a value in a bucket, it also sees it in count, sum, min and max. (During a clear, a
 *                   reader may see a part of the histogram cleared.)
 *   H6 cost         recording has no branch that depends on the value, no division and no allocation.
 *
 * A histogram pointer must not be NULL.
 */
#ifndef VERGE_HISTOGRAM_H
#define VERGE_HISTOGRAM_H

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VERGE_HISTOGRAM_BUCKET_COUNT = 496,
};

/* Use the functions below. You may copy the struct while no thread records. */
typedef struct verge_histogram {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t min_inverted; /* the smallest value with all bits inverted, so that 0 means empty */
    uint64_t buckets[VERGE_HISTOGRAM_BUCKET_COUNT];
} verge_histogram;

/* ---- for the writer ---- */

/* Records a value `times` times. If `times` is 0, nothing changes. */
VERGE_API void verge_histogram_record(verge_histogram *histogram, uint64_t value, uint64_t times);

/* Adds all values of `from`. The caller must be the writer of `into`. `from` may have another writer. */
VERGE_API void verge_histogram_add(verge_histogram *into, const verge_histogram *from);

VERGE_API void verge_histogram_clear(verge_histogram *histogram);

/* ---- for any thread ---- */

VERGE_API uint64_t verge_histogram_count(const verge_histogram *histogram);
VERGE_API uint64_t verge_histogram_sum(const verge_histogram *histogram);

/* The quantile of q, from 0 to 1: 0 gives the smallest value, 0.5 the median, 1 the greatest value. A q below 0 or a
 * NaN counts as 0, a q above 1 as 1. Returns 0 if the histogram is empty. */
VERGE_API uint64_t verge_histogram_quantile(const verge_histogram *histogram, double q);

/*
 * The greatest value of a bucket, and how many values are in it. Either ret_ may be NULL. Buckets are numbered from 0
 * in ascending order. -EINVAL: index is VERGE_HISTOGRAM_BUCKET_COUNT or more.
 */
VERGE_API int verge_histogram_bucket(const verge_histogram *histogram, size_t index, uint64_t *ret_upper,
                                     uint64_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
