/* SPDX-License-Identifier: MIT */
/* Histograms of the caller as text: cumulative buckets with fixed bounds, exact seconds. */
#include <errno.h>
#include <string.h>

#include "exposition.h"
#include "support/cmocka.h"
#include "verge/metrics.h"

static char text[65536];

static int write_one(const verge_histogram *histogram, verge_metrics_unit unit) {
    return verge_histogram_metrics("app_x", "What it is.", unit, &histogram, NULL, 1, text, sizeof(text));
}

static size_t bucket_lines(void) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "_bucket{")) != NULL; at++) {
        count++;
    }
    return count;
}

static void an_empty_histogram_has_all_its_bounds(void **state) {
    (void)state;
    const verge_histogram histogram = {0};
    exposition_expect_length(write_one(&histogram, VERGE_METRICS_PLAIN), text);
    assert_null(exposition_check(text));
    assert_int_equal(bucket_lines(), 65 + 1);
    exposition_expect_length(write_one(&histogram, VERGE_METRICS_SECONDS_FROM_NS), text);
    assert_null(exposition_check(text));
    assert_int_equal(bucket_lines(), 33 + 1);
}

static void buckets_add_up(void **state) {
    (void)state;
    verge_histogram histogram = {0};
    verge_histogram_record(&histogram, 0, 1);
    verge_histogram_record(&histogram, 3, 10);
    verge_histogram_record(&histogram, 4, 100);
    verge_histogram_record(&histogram, 1023, 1);
    verge_histogram_record(&histogram, 1024, 1);
    verge_histogram_record(&histogram, UINT64_C(1) << 63, 1);
    assert_true(write_one(&histogram, VERGE_METRICS_PLAIN) > 0);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"0\"}"), 1);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"1\"}"), 1);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"3\"}"), 11);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"7\"}"), 111);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"511\"}"), 111);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"1023\"}"), 112);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"2047\"}"), 113);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"9223372036854775807\"}"), 113);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"18446744073709551615\"}"), 114);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"+Inf\"}"), 114);
    assert_int_equal(exposition_number(text, "app_x_count"), 114);
    assert_int_equal(exposition_number(text, "app_x_sum"), 30 + 400 + 1023 + 1024 + (UINT64_C(1) << 63));
}

static void seconds_are_exact(void **state) {
    (void)state;
    verge_histogram histogram = {0};
    verge_histogram_record(&histogram, 5, 1);
    verge_histogram_record(&histogram, UINT64_C(61000000001), 1);
    verge_histogram_record(&histogram, UINT64_C(1) << 50, 1); /* beyond the last bound */
    assert_true(write_one(&histogram, VERGE_METRICS_SECONDS_FROM_NS) > 0);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"0.000001023\"}"), 1);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"34.359738367\"}"), 1);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"68.719476735\"}"), 2);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"4398.046511103\"}"), 2);
    assert_int_equal(exposition_number(text, "app_x_bucket{le=\"+Inf\"}"), 3);
    assert_string_equal(exposition_value(text, "app_x_sum"), "1125960.906842630");
}

static void several_share_a_family(void **state) {
    (void)state;
    verge_histogram first = {0};
    verge_histogram second = {0};
    verge_histogram_record(&second, 9, 1);
    const verge_histogram *const histograms[] = {&first, &second};
    const verge_label *const labels[] = {
        (const verge_label[]){{"route", "/a"}, {NULL, NULL}},
        (const verge_label[]){{"route", "/b"}, {NULL, NULL}},
    };
    assert_true(verge_histogram_metrics("app:size", "Bytes \\ of\n\"bodies\".", VERGE_METRICS_PLAIN, histograms, labels,
                                        2, text, sizeof(text)) > 0);
    assert_null(exposition_check(text));
    assert_non_null(strstr(text, "# HELP app:size Bytes \\\\ of\\n\"bodies\".\n"));
    assert_int_equal(exposition_number(text, "app:size_count{route=\"/a\"}"), 0);
    assert_int_equal(exposition_number(text, "app:size_bucket{route=\"/b\",le=\"7\"}"), 0);
    assert_int_equal(exposition_number(text, "app:size_bucket{route=\"/b\",le=\"15\"}"), 1);
    assert_int_equal(verge_histogram_metrics("x", "", VERGE_METRICS_PLAIN, NULL, NULL, 0, text, sizeof(text)), 0);
}

static int with_name(const char *name, const char *help) {
    const verge_histogram histogram = {0};
    const verge_histogram *histograms = &histogram;
    return verge_histogram_metrics(name, help, VERGE_METRICS_PLAIN, &histograms, NULL, 1, text, sizeof(text));
}

static void names_are_checked(void **state) {
    (void)state;
    assert_true(with_name("a", "") > 0);
    assert_true(with_name(":_A9", "x") > 0);
    assert_int_equal(with_name(NULL, "x"), -EINVAL);
    assert_int_equal(with_name("", "x"), -EINVAL);
    assert_int_equal(with_name("9a", "x"), -EINVAL);
    assert_int_equal(with_name("a b", "x"), -EINVAL);
    assert_int_equal(with_name("a-b", "x"), -EINVAL);
    assert_int_equal(with_name("a\xC3\xA9", "x"), -EINVAL);
    assert_int_equal(with_name("a", NULL), -EINVAL);
    assert_int_equal(with_name("a", "\xFF"), -EINVAL);
}

static void units_and_histograms_are_checked(void **state) {
    (void)state;
    const verge_histogram *none = NULL;
    const verge_histogram histogram = {0};
    assert_int_equal(write_one(&histogram, (verge_metrics_unit)2), -EINVAL);
    assert_int_equal(verge_histogram_metrics("a", "", VERGE_METRICS_PLAIN, &none, NULL, 1, text, 1), -EINVAL);
    assert_int_equal(verge_histogram_metrics("a", "", VERGE_METRICS_PLAIN, NULL, NULL, 1, text, 1), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_has_all_its_bounds),
        cmocka_unit_test(buckets_add_up),
        cmocka_unit_test(seconds_are_exact),
        cmocka_unit_test(several_share_a_family),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(units_and_histograms_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
