/* SPDX-License-Identifier: MIT */
/* The reader that the other tests use (exposition.h) finds mistakes. */
#include "exposition.h"
#include "support/cmocka.h"

#define HEAD(name, type) "# HELP " name " What it is.\n# TYPE " name " " type "\n"
#define BUCKETS "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\n"

static void what_is_right_is_taken(void **state) {
    (void)state;
    assert_null(exposition_check(""));
    assert_null(exposition_check(HEAD("a", "gauge") "a 1\n" HEAD("b_total", "counter") "b_total{x=\"\"} 2.50\n"));
    assert_null(exposition_check(HEAD("a", "gauge") "a{x=\"\\\\ \\\" \\n {},=\",y=\"1\"} 1\na{x=\"2\",y=\"1\"} 7\n"));
    assert_null(exposition_check(HEAD("h", "histogram") BUCKETS "h_sum 5\nh_count 3\n"));
}

static void what_is_wrong_is_not(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "a 1\n",
        HEAD("a", "gauge"),
        HEAD("a", "gauge") "a 1",
        HEAD("a", "gauge") "a\n",
        HEAD("a", "gauge") "a 1\n\n",
        HEAD("a", "gauge") "a x\n",
        HEAD("a", "gauge") "a 1.\n",
        HEAD("a", "gauge") "a 1\na 2\n",
        HEAD("a", "gauge") "b 1\n",
        HEAD("a", "gauge") "a{} 1\n",
        HEAD("a", "gauge") "a{x=1} 1\n",
        HEAD("a", "gauge") "a{x=\"1\"\n",
        HEAD("a", "gauge") "a{x=\"\\t\"} 1\n",
        HEAD("a", "gauge") "a{x=\"\n\"} 1\n",
        HEAD("a", "gauge") "a{1x=\"\"} 1\n",
        HEAD("a", "gauge") "a{x=\"1\",} 1\n",
        HEAD("a", "gauge") "a 1\n" HEAD("b", "gauge") "b 1\n" HEAD("a", "gauge") "a{x=\"1\"} 1\n",
        HEAD("a", "counter") "a 1\n",
        HEAD("a_total", "gauge") "a_total 1\n",
        HEAD("a", "summary") "a 1\n",
        HEAD("1a", "gauge") "1a 1\n",
        "# HELP a A\n# TYPE b gauge\na 1\n",
        "# HELP a A\na 1\n",
        "# HELP a \\t\n# TYPE a gauge\na 1\n",
        HEAD("h", "histogram") BUCKETS,
        HEAD("h", "histogram") BUCKETS "h_sum 5\n",
        HEAD("h", "histogram") BUCKETS "h_count 3\n",
        HEAD("h", "histogram") BUCKETS "h_sum 5\nh_count 4\n",
        HEAD("h", "histogram") BUCKETS "h_sum 5\nh 3\n",
        HEAD("h", "histogram") "h_bucket{le=\"1\"} 2\nh_sum 5\nh_count 2\n",
        HEAD("h", "histogram") "h_bucket 2\nh_sum 5\nh_count 2\n",
        HEAD("h", "histogram") "h_bucket{le=\"1\"} 4\nh_bucket{le=\"+Inf\"} 3\nh_sum 5\nh_count 3\n",
        HEAD("h", "histogram") "h_bucket{le=\"1\"} 1\nh_bucket{le=\"0.5\"} 2\n" BUCKETS "h_sum 5\nh_count 3\n",
        HEAD("h", "histogram") "h_bucket{le=\"1\",x=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_sum 5\nh_count 3\n",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (exposition_check(wrong[i]) == NULL) {
            fail_msg("this was taken:\n%s", wrong[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_taken),
        cmocka_unit_test(what_is_wrong_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
