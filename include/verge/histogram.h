/* SPDX-License-Identifier: MIT */
/*
 * verge/histogram.h - how values (durations, sizes, counts) are distributed, in 4,000 bytes.
 *
 * Words
 *   bucket     the values from one bound to the next. 0 to 15 have a bucket each; from there on every
 *              doubling is cut into 8 buckets of equal width, up to 2^64 - 1.
 *   upper      the max value of a bucket: at most 1/8 above its smallest.
 *   quantile   of q: with n values recorded, the ceil(q * n)th smallest of them, the first for q <= 0.
 *
 * Promises
 *   H1 exact        count, sum, min and max are those of the values recorded.
 *   H2 quantiles    t <= quantile(q) <= t + t / 8 and quantile(q) <= max, t the true quantile.
 *   H3 saturation   what does not fit into 64 bits stays at 2^64 - 1; nothing wraps.
 *   H4 empty        all bytes 0 is an empty histogram; there is no other state to set up, and no end.
 *   H5 one writer   one thread records, adds and resets. Any threads read meanwhile, without locks:
 *                   what they see in a bucket, they see in count, sum, min and max, too.
 *                   (A reader that meets a reset may see a part of it.)
 *   H6 cost         recording takes no branch that depends on the value, no division, no memory.
 *
 * No function takes NULL for a histogram.
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

/* Use the functions below; a copy may be taken while nobody records. */
typedef struct verge_histogram {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t min_inverted; /* so that 0 is right for an empty one */
    uint64_t buckets[VERGE_HISTOGRAM_BUCKET_COUNT];
} verge_histogram;

/* ---- for the writer ---- */

VERGE_API void verge_histogram_record(verge_histogram *histogram, uint64_t value);
VERGE_API void verge_histogram_record_many(verge_histogram *histogram, uint64_t value, uint64_t times);

/* Adds all that `from` holds. The caller is the writer of `into`; `from` may have another. */
VERGE_API void verge_histogram_add(verge_histogram *into, const verge_histogram *from);

VERGE_API void verge_histogram_reset(verge_histogram *histogram);

/* ---- for anybody ---- */

VERGE_API uint64_t verge_histogram_count(const verge_histogram *histogram);
VERGE_API uint64_t verge_histogram_sum(const verge_histogram *histogram);
VERGE_API uint64_t verge_histogram_min(const verge_histogram *histogram); /* 0 if empty */
VERGE_API uint64_t verge_histogram_max(const verge_histogram *histogram); /* 0 if empty */

/* The quantile of q, from 0 to 1 (0.5 is the median); what is outside counts as the nearer of them, a
 * NaN as 0. 0 if the histogram is empty. */
VERGE_API uint64_t verge_histogram_quantile(const verge_histogram *histogram, double q);

/*
 * The upper bound of a bucket and how many values are in it; either ret_ may be NULL. Buckets are
 * numbered from 0 in ascending order. -EINVAL from VERGE_HISTOGRAM_BUCKET_COUNT on.
 */
VERGE_API int verge_histogram_bucket(const verge_histogram *histogram, size_t index, uint64_t *ret_upper,
                                     uint64_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
