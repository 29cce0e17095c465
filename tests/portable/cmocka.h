/* SPDX-License-Identifier: MIT */
/*
 * portable/cmocka.h - the part of cmocka that the tests of run.sh use, in ISO C, for machines without cmocka. A check
 * that fails ends the program.
 */
#ifndef VERGE_TESTS_PORTABLE_CMOCKA_H
#define VERGE_TESTS_PORTABLE_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    void (*unused)(void);
    void (*unused_too)(void);
    void *state;
};

#define cmocka_unit_test(function) \
    { #function, function, NULL, NULL, NULL }
#define cmocka_unit_test_prestate(function, state) \
    { #function, function, NULL, NULL, state }

#define skip() return
#define print_message(...) ((void)printf(__VA_ARGS__))
#define fail_msg(...) \
    ((void)fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), (void)fprintf(stderr, __VA_ARGS__), \
     (void)fputc('\n', stderr), exit(1))

#define VERGE_TEST_CHECK(condition) ((condition) ? (void)0 : fail_msg("%s", #condition))
#define assert_true(value) VERGE_TEST_CHECK(value)
#define assert_false(value) VERGE_TEST_CHECK(!(value))
#define assert_null(pointer) VERGE_TEST_CHECK((pointer) == NULL)
#define assert_non_null(pointer) VERGE_TEST_CHECK((pointer) != NULL)
#define assert_ptr_equal(a, b) VERGE_TEST_CHECK((a) == (b))
#define assert_int_equal(a, b) VERGE_TEST_CHECK((uintmax_t)(a) == (uintmax_t)(b))
#define assert_int_not_equal(a, b) VERGE_TEST_CHECK((uintmax_t)(a) != (uintmax_t)(b))
#define assert_in_range(value, first, last) \
    VERGE_TEST_CHECK((uintmax_t)(value) >= (uintmax_t)(first) && (uintmax_t)(value) <= (uintmax_t)(last))
#define assert_memory_equal(a, b, size) VERGE_TEST_CHECK(memcmp(a, b, size) == 0)
#define assert_string_equal(a, b) VERGE_TEST_CHECK(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b) VERGE_TEST_CHECK(strcmp(a, b) != 0)

static inline int verge_test_run(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].state;
        tests[i].test(&state);
    }
    (void)printf("%u tests\n", (unsigned)count);
    return count > 0 ? 0 : 1;
}

#define cmocka_run_group_tests(tests, set_up, tear_down) verge_test_run(tests, sizeof(tests) / sizeof(*(tests)))

#endif
