/* SPDX-License-Identifier: MIT */
/* Histograms: the promises H1, H3 and H4 of verge/histogram.h, and the shape of the buckets. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "support/cmocka.h"
#include "verge/histogram.h"

static verge_histogram histogram;

static int make_empty(void **state) {
    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    return 0;
}

static uint64_t upper(size_t index) {
    uint64_t bound = 0;
    assert_int_equal(verge_histogram_bucket(&histogram, index, &bound, NULL), 0);
    return bound;
}

static uint64_t in_bucket(size_t index) {
    uint64_t count = 0;
    assert_int_equal(verge_histogram_bucket(&histogram, index, NULL, &count), 0);
    return count;
}

static void assert_summary(uint64_t count, uint64_t sum, uint64_t min, uint64_t max) {
    assert_int_equal(verge_histogram_count(&histogram), count);
    assert_int_equal(verge_histogram_sum(&histogram), sum);
    assert_int_equal(verge_histogram_quantile(&histogram, 0), min);
    assert_int_equal(verge_histogram_quantile(&histogram, 1), max);
}

static void h4_all_bytes_zero_is_empty(void **state) {
    (void)state;
    assert_summary(0, 0, 0, 0);
    for (int i = -2; i <= 8; i++) {
        assert_int_equal(verge_histogram_quantile(&histogram, i / 4.0), 0);
    }
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        assert_int_equal(in_bucket(i), 0);
    }
}

static void buckets_cover_every_value_once(void **state) {
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(upper(i), i);
    }
    for (size_t i = 1; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        const uint64_t lower = upper(i - 1) + 1;
        assert_true(upper(i) >= lower);
        assert_true(upper(i) - lower <= lower / 8);
    }
    assert_int_equal(upper(VERGE_HISTOGRAM_BUCKET_COUNT - 1), UINT64_MAX);
}

static void the_edges_of_a_bucket_are_in_it(void **state) {
    (void)state;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        verge_histogram_record(&histogram, i == 0 ? 0 : upper(i - 1) + 1, 1);
        assert_int_equal(in_bucket(i), 1);
        verge_histogram_record(&histogram, upper(i), 1);
        assert_int_equal(in_bucket(i), 2);
    }
}

static void there_is_no_bucket_after_the_last(void **state) {
    (void)state;
    uint64_t bound = 7;
    uint64_t count = 8;
    assert_int_equal(verge_histogram_bucket(&histogram, VERGE_HISTOGRAM_BUCKET_COUNT, &bound, &count), -EINVAL);
    assert_int_equal(verge_histogram_bucket(&histogram, SIZE_MAX, &bound, &count), -EINVAL);
    assert_int_equal(bound, 7);
    assert_int_equal(count, 8);
    assert_int_equal(verge_histogram_bucket(&histogram, 0, NULL, NULL), 0);
}

static void h1_the_summary_is_exact(void **state) {
    (void)state;
    verge_histogram_record(&histogram, 1000003, 1);
    assert_summary(1, 1000003, 1000003, 1000003);
    verge_histogram_record(&histogram, 17, 1);
    assert_summary(2, 1000020, 17, 1000003);
    verge_histogram_record(&histogram, 0, 1);
    assert_summary(3, 1000020, 0, 1000003);
    verge_histogram_record(&histogram, 5, 4);
    assert_summary(7, 1000040, 0, 1000003);
    assert_int_equal(in_bucket(5), 4);
}

static void recording_a_value_no_times_changes_nothing(void **state) {
    (void)state;
    verge_histogram_record(&histogram, 99, 0);
    assert_summary(0, 0, 0, 0);
    verge_histogram_record(&histogram, 50, 1);
    verge_histogram_record(&histogram, 1, 0);
    verge_histogram_record(&histogram, 99, 0);
    assert_summary(1, 50, 50, 50);
}

static void h3_a_sum_that_does_not_fit_stays_at_the_end(void **state) {
    (void)state;
    verge_histogram_record(&histogram, UINT64_MAX, 1);
    assert_summary(1, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    verge_histogram_record(&histogram, 1, 1);
    assert_summary(2, UINT64_MAX, 1, UINT64_MAX);
    verge_histogram_clear(&histogram);
    verge_histogram_record(&histogram, UINT64_C(1) << 40, UINT64_C(1) << 30);
    assert_summary(UINT64_C(1) << 30, UINT64_MAX, UINT64_C(1) << 40, UINT64_C(1) << 40);
}

static void h3_a_count_that_does_not_fit_stays_at_the_end(void **state) {
    (void)state;
    verge_histogram_record(&histogram, 3, UINT64_MAX);
    verge_histogram_record(&histogram, 3, 2);
    verge_histogram_record(&histogram, 3, 1);
    verge_histogram_record(&histogram, 4, 1);
    assert_summary(UINT64_MAX, UINT64_MAX, 3, 4);
    assert_int_equal(in_bucket(3), UINT64_MAX);
    assert_int_equal(verge_histogram_quantile(&histogram, 0.5), 3);
    assert_int_equal(verge_histogram_quantile(&histogram, 0x1.fffffffffffffp-1), 3);
}

static void quantiles_outside_0_to_1_are_the_nearer_end(void **state) {
    (void)state;
    verge_histogram_record(&histogram, 2, 10);
    verge_histogram_record(&histogram, 1001, 1);
    assert_int_equal(verge_histogram_quantile(&histogram, -1), 2);
    assert_int_equal(verge_histogram_quantile(&histogram, NAN), 2);
    assert_int_equal(verge_histogram_quantile(&histogram, -INFINITY), 2);
    assert_int_equal(verge_histogram_quantile(&histogram, 1.5), 1001);
    assert_int_equal(verge_histogram_quantile(&histogram, INFINITY), 1001);
}

static void adding_is_recording_all_again(void **state) {
    (void)state;
    verge_histogram other = {0};
    verge_histogram both = {0};
    for (uint64_t value = 3; value < UINT64_C(1) << 40; value *= 3) {
        verge_histogram_record(&histogram, value, 1);
        verge_histogram_record(&both, value, 1);
        verge_histogram_record(&other, value + 1, 2);
        verge_histogram_record(&both, value + 1, 2);
    }
    verge_histogram_add(&histogram, &other);
    assert_memory_equal(&histogram, &both, sizeof(both));

    const verge_histogram empty = {0};
    verge_histogram_add(&histogram, &empty);
    assert_memory_equal(&histogram, &both, sizeof(both));

    verge_histogram sum = {0};
    verge_histogram_add(&sum, &histogram);
    assert_memory_equal(&sum, &both, sizeof(both));
}

static void reset_makes_it_empty(void **state) {
    verge_histogram_record(&histogram, 0, 1);
    verge_histogram_record(&histogram, UINT64_MAX, 1);
    verge_histogram_clear(&histogram);
    h4_all_bytes_zero_is_empty(state);
    const verge_histogram empty = {0};
    assert_memory_equal(&histogram, &empty, sizeof(empty));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(h4_all_bytes_zero_is_empty, make_empty),
        cmocka_unit_test_setup(buckets_cover_every_value_once, make_empty),
        cmocka_unit_test_setup(the_edges_of_a_bucket_are_in_it, make_empty),
        cmocka_unit_test_setup(there_is_no_bucket_after_the_last, make_empty),
        cmocka_unit_test_setup(h1_the_summary_is_exact, make_empty),
        cmocka_unit_test_setup(recording_a_value_no_times_changes_nothing, make_empty),
        cmocka_unit_test_setup(h3_a_sum_that_does_not_fit_stays_at_the_end, make_empty),
        cmocka_unit_test_setup(h3_a_count_that_does_not_fit_stays_at_the_end, make_empty),
        cmocka_unit_test_setup(quantiles_outside_0_to_1_are_the_nearer_end, make_empty),
        cmocka_unit_test_setup(adding_is_recording_all_again, make_empty),
        cmocka_unit_test_setup(reset_makes_it_empty, make_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
