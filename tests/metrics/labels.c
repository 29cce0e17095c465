/* SPDX-License-Identifier: MIT */
/* Labels: which are valid, which are not, and how values are escaped. */
#include <errno.h>
#include <string.h>

#include "exposition.h"
#include "support/cmocka.h"
#include "verge/metrics.h"

static char text[65536];

static int make_wheel(void **state) {
    return verge_wheel_create(NULL, (verge_wheel **)state);
}

static int drop_wheel(void **state) {
    verge_wheel_destroy(*state);
    return 0;
}

static int with_label(verge_wheel *wheel, const char *name, const char *value) {
    const verge_label *const labels[] = {(const verge_label[]){{"first", "1"}, {name, value}, {NULL, NULL}}};
    return verge_wheel_metrics(&wheel, labels, 1, text, sizeof(text));
}

static void names(void **state) {
    static const char *const right[] = {"a", "Z", "_", "_a", "a_b", "a0", "lee", "l", "a__b"};
    static const char *const wrong[] = {
        "", "0", "9a", "a b", "a:b", "a-b", "a=", "a\"", "le", "quantile", "__", "__name__", "first"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        exposition_expect_length(with_label(*state, right[i], "x"), text);
        assert_null(exposition_check(text));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (with_label(*state, wrong[i], "x") != -EINVAL) {
            fail_msg("%s was taken for a name", wrong[i]);
        }
    }
    assert_true(with_label(*state, NULL, NULL) > 0); /* NULL ends the labels */
}

static void values_are_escaped(void **state) {
    assert_true(with_label(*state, "x", "a\\b\"c\nd\te{},= ") > 0);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_wheel_timers{first=\"1\",x=\"a\\\\b\\\"c\\nd\te{},= \"}"), 0);
    assert_true(with_label(*state, "x", "") > 0);
    assert_null(exposition_check(text));
    assert_int_equal(with_label(*state, "x", NULL), -EINVAL);
}

static void values_are_utf8(void **state) {
    static const char *const right[] = {
        "\x7F",         "\xC2\x80",     "\xDF\xBF",         "\xE0\xA0\x80",     "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "za\xC5\xBC\xC3\xB3\xC5\x82\xC4\x87"};
    static const char *const wrong[] = {"\x80",
                                        "\xBF",
                                        "\xC0\x80",
                                        "\xC1\xBF",
                                        "\xC2",
                                        "\xC2 ",
                                        "\xE0\x9F\xBF",
                                        "\xE1\x80",
                                        "\xE1\x80\x7F",
                                        "\xED\xA0\x80",
                                        "\xF0\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80",
                                        "a\xFF",
                                        "\xF1\x80\x80"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_true(with_label(*state, "x", right[i]) > 0);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (with_label(*state, "x", wrong[i]) != -EINVAL) {
            fail_msg("wrong[%zu] was taken for UTF-8", i);
        }
    }
}

static int of_two(verge_wheel *wheel, const verge_label *first, const verge_label *second) {
    verge_wheel *const wheels[] = {wheel, wheel};
    const verge_label *const labels[] = {first, second};
    return verge_wheel_metrics(wheels, labels, 2, text, sizeof(text));
}

static void labels_tell_sources_apart(void **state) {
    const verge_label a1[] = {{"a", "1"}, {NULL, NULL}};
    const verge_label a2[] = {{"a", "2"}, {NULL, NULL}};
    const verge_label a1b1[] = {{"a", "1"}, {"b", "1"}, {NULL, NULL}};
    const verge_label b1a1[] = {{"b", "1"}, {"a", "1"}, {NULL, NULL}};
    const verge_label a1b[] = {{"a", "1"}, {"b", ""}, {NULL, NULL}};
    const verge_label b[] = {{"b", ""}, {NULL, NULL}};
    const verge_label none[] = {{NULL, NULL}};
    assert_true(of_two(*state, a1, a2) > 0);
    assert_true(of_two(*state, a1, a1b1) > 0);
    assert_true(of_two(*state, a1b1, a1) > 0);
    assert_true(of_two(*state, a1, NULL) > 0);
    assert_null(exposition_check(text));
    assert_int_equal(of_two(*state, a1, a1), -EINVAL);
    assert_int_equal(of_two(*state, a1b1, b1a1), -EINVAL);
    assert_int_equal(of_two(*state, a1, a1b), -EINVAL); /* a label with an empty value does not count */
    assert_int_equal(of_two(*state, b, NULL), -EINVAL);
    assert_int_equal(of_two(*state, none, NULL), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(values_are_escaped),
        cmocka_unit_test(values_are_utf8),
        cmocka_unit_test(labels_tell_sources_apart),
    };
    return cmocka_run_group_tests(tests, make_wheel, drop_wheel);
}
