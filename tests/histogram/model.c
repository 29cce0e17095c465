/* SPDX-License-Identifier: MIT */
/* A histogram beside a sorted array that keeps every value: H1 and H2 of verge/histogram.h. */
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/random.h"
#include "verge/histogram.h"

enum { VALUE_COUNT_MAX = 3000, ROUNDS = 100 };

struct model {
    uint64_t values[VALUE_COUNT_MAX];
    size_t count;
};

static int compare_values(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void model_record(struct model *model, uint64_t value, size_t times) {
    for (size_t i = 0; i < times; i++) {
        model->values[model->count++] = value;
    }
}

static void fill(struct verge_test_random *random, verge_histogram *histogram, struct model *model) {
    const size_t count = 1 + (size_t)verge_test_below(random, VALUE_COUNT_MAX);
    const unsigned shift = (unsigned)verge_test_below(random, 64); /* a round of large values, or of small ones */
    const uint64_t base = verge_test_chance(random, 2) ? verge_test_magnitude(random) : 0;
    verge_histogram part = {0};
    while (model->count < count) {
        const uint64_t value =
            verge_test_chance(random, 2) ? verge_test_magnitude(random) : base + (verge_test_next(random) >> shift);
        const size_t room = count - model->count;
        const size_t times = verge_test_chance(random, 4) ? 1 + (size_t)verge_test_below(random, room) : 1;
        verge_histogram_record(verge_test_chance(random, 2) ? histogram : &part, value, times);
        model_record(model, value, times);
    }
    verge_histogram_add(histogram, &part);
    qsort(model->values, model->count, sizeof(model->values[0]), compare_values);
}

static void h1_summary(const verge_histogram *histogram, const struct model *model) {
    uint64_t sum = 0;
    for (size_t i = 0; i < model->count; i++) {
        sum = sum > UINT64_MAX - model->values[i] ? UINT64_MAX : sum + model->values[i];
    }
    assert_int_equal(verge_histogram_count(histogram), model->count);
    assert_int_equal(verge_histogram_sum(histogram), sum);
    assert_int_equal(verge_histogram_quantile(histogram, 0), model->values[0]);
    assert_int_equal(verge_histogram_quantile(histogram, 1), model->values[model->count - 1]);
}

static void buckets_hold_what_was_recorded(const verge_histogram *histogram, const struct model *model) {
    size_t position = 0;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper;
        uint64_t count;
        assert_int_equal(verge_histogram_bucket(histogram, i, &upper, &count), 0);
        const size_t first = position;
        while (position < model->count && model->values[position] <= upper) {
            position++;
        }
        assert_int_equal(count, position - first);
    }
    assert_int_equal(position, model->count);
}

static void h2_quantile(const verge_histogram *histogram, const struct model *model, double q) {
    const double exact_rank = q * (double)model->count;
    size_t rank = (size_t)exact_rank;
    rank += (double)rank < exact_rank;
    const uint64_t truth = model->values[rank == 0 ? 0 : rank - 1];
    const uint64_t got = verge_histogram_quantile(histogram, q);
    if (got < truth || got - truth > truth / 8 || got > model->values[model->count - 1]) {
        fail_msg("the quantile of %.17g is %" PRIu64 ", the histogram says %" PRIu64, q, truth, got);
    }
}

static void a_histogram_is_as_good_as_the_values(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20260301));
    static struct model model;
    for (unsigned round = 0; round < ROUNDS; round++) {
        verge_histogram histogram = {0};
        model.count = 0;
        fill(&random, &histogram, &model);
        h1_summary(&histogram, &model);
        buckets_hold_what_was_recorded(&histogram, &model);
        for (unsigned i = 0; i <= 100; i++) {
            h2_quantile(&histogram, &model, i / 100.0);
            h2_quantile(&histogram, &model, (double)(verge_test_next(&random) >> 11) * 0x1p-53);
        }
        h2_quantile(&histogram, &model, 0.999);
        h2_quantile(&histogram, &model, 0.9999);
        assert_int_equal(verge_histogram_quantile(&histogram, 1), model.values[model.count - 1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_histogram_is_as_good_as_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
