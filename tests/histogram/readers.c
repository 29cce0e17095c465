/* SPDX-License-Identifier: MIT */
/* H5 of verge/histogram.h: while one thread records, other threads never see a value in a bucket before they see it in
 * count, sum, min and max. */
#include <pthread.h>
#include <stdbool.h>

#include "support/cmocka.h"
#include "verge/histogram.h"

enum { READER_COUNT = 2, VALUE_COUNT = 50000 };

struct shared {
    verge_histogram histogram;
    bool done;
    unsigned broken[READER_COUNT];
};

struct reader {
    struct shared *shared;
    unsigned index;
};

/* The values rise, so a bucket that holds something says how large max must be at least, and how many
 * values there must be. */
static bool buckets_are_not_ahead(const verge_histogram *histogram) {
    uint64_t in_buckets = 0;
    uint64_t sum_at_least = 0;
    uint64_t lower = 0;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper;
        uint64_t count;
        if (verge_histogram_bucket(histogram, i, &upper, &count) != 0) {
            return false;
        }
        in_buckets += count;
        sum_at_least += count * lower;
        if (count > 0 && verge_histogram_quantile(histogram, 1) < lower) {
            return false;
        }
        lower = upper + 1;
    }
    return verge_histogram_count(histogram) >= in_buckets && verge_histogram_sum(histogram) >= sum_at_least &&
           (in_buckets == 0 || verge_histogram_quantile(histogram, 0) == 1);
}

static bool quantiles_rise(const verge_histogram *histogram) {
    const uint64_t median = verge_histogram_quantile(histogram, 0.5);
    const uint64_t all = verge_histogram_quantile(histogram, 1);
    return median <= all && all <= verge_histogram_quantile(histogram, 1);
}

static void *read_all_the_time(void *argument) {
    const struct reader *reader = argument;
    struct shared *shared = reader->shared;
    bool done;
    do {
        done = __atomic_load_n(&shared->done, __ATOMIC_ACQUIRE);
        shared->broken[reader->index] += !buckets_are_not_ahead(&shared->histogram);
        shared->broken[reader->index] += !quantiles_rise(&shared->histogram);
        verge_histogram copy = {0};
        verge_histogram_add(&copy, &shared->histogram);
        shared->broken[reader->index] += !buckets_are_not_ahead(&copy);
    } while (!done);
    return NULL;
}

static void h5_readers_see_nothing_ahead(void **state) {
    (void)state;
    static struct shared shared;
    struct reader readers[READER_COUNT];
    pthread_t threads[READER_COUNT];
    for (unsigned i = 0; i < READER_COUNT; i++) {
        readers[i] = (struct reader){.shared = &shared, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all_the_time, &readers[i]), 0);
    }
    for (uint64_t value = 1; value <= VALUE_COUNT; value++) {
        verge_histogram_record(&shared.histogram, value, value % 2 == 0 ? 1 : 3);
    }
    __atomic_store_n(&shared.done, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < READER_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(shared.broken[i], 0);
    }
    assert_int_equal(verge_histogram_count(&shared.histogram), VALUE_COUNT * 2);
    assert_int_equal(verge_histogram_quantile(&shared.histogram, 1), VALUE_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h5_readers_see_nothing_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
