/* SPDX-License-Identifier: MIT */
/* verge_strerror: a sentence for every error of the library, and for every other number too. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "verge/base.h"

static const int known[] = {
    0,        -EINVAL, -ERANGE,     -ENOENT,    -EBADF,     -EPERM,      -EOVERFLOW, -ENOSPC,
    -ENOMEM,  -EBUSY,  -ECHILD,     -EAGAIN,    -EDEADLK,   -EALREADY,   -ESHUTDOWN, -EPIPE,
    -ENODATA, -ENOSYS, -EOPNOTSUPP, -ETIMEDOUT, -ECANCELED, -EOWNERDEAD,
};
static const size_t known_count = sizeof(known) / sizeof(known[0]);

static void each_error_has_a_sentence_of_its_own(void **state) {
    (void)state;
    const char *other = verge_strerror(INT_MIN);
    for (size_t i = 0; i < known_count; i++) {
        const char *sentence = verge_strerror(known[i]);
        assert_true(strlen(sentence) > 0);
        assert_string_not_equal(sentence, other);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(sentence, verge_strerror(known[k]));
        }
    }
}

static void zero_is_success(void **state) {
    (void)state;
    assert_string_equal(verge_strerror(0), "success");
}

static void a_positive_errno_is_understood(void **state) {
    (void)state;
    for (size_t i = 0; i < known_count; i++) {
        assert_true(known[i] == -VERGE_RUNNING || verge_strerror(-known[i]) == verge_strerror(known[i]));
    }
}

/* Calls check for each line of the public headers. Returns the sum of what it returns. */
static size_t for_each_line_of_the_headers(size_t (*check)(const char *line)) {
    glob_t headers;
    size_t sum = 0;
    assert_int_equal(glob(VERGE_HEADERS "/*.h", 0, NULL, &headers), 0);
    for (size_t i = 0; i < headers.gl_pathc; i++) {
        char line[256];
        FILE *file = fopen(headers.gl_pathv[i], "r");
        assert_non_null(file);
        while (fgets(line, sizeof(line), file) != NULL) {
            sum += check(line);
        }
        (void)fclose(file);
    }
    globfree(&headers);
    return sum;
}

/* If the line is an enumerator whose comment begins with "a verdict": checks its sentence, and returns 1. */
static size_t check_verdict(const char *line) {
    const char *sign = strchr(line, '=');
    if (strstr(line, "/* a verdict") == NULL || sign == NULL) {
        return 0;
    }
    const int value = (int)strtol(sign + 1, NULL, 10);
    const char *sentence = verge_strerror(value);
    assert_int_equal(strncmp(sentence, "not an error: ", strlen("not an error: ")), 0);
    assert_string_not_equal(sentence, verge_strerror(-value));
    return 1;
}

static void a_verdict_is_not_named_as_an_error(void **state) {
    (void)state;
    assert_true(for_each_line_of_the_headers(check_verdict) >= 1);
    assert_string_equal(verge_strerror(VERGE_RUNNING), "not an error: the callback or handler is running now");
}

static void what_is_the_systems_has_its_words(void **state) {
    (void)state;
    assert_string_equal(verge_strerror(-ECONNREFUSED), strerror(ECONNREFUSED));
    assert_ptr_equal(verge_strerror(ECONNREFUSED), verge_strerror(-ECONNREFUSED));
}

/* The calls of verge/io.h return the errors of system calls. So the sentences must speak of files, not only of
 * timers. */
static void errors_of_descriptors_and_files_are_named(void **state) {
    (void)state;
    assert_non_null(strstr(verge_strerror(-EBADF), "descriptor"));
    assert_non_null(strstr(verge_strerror(-ENOENT), "file, socket, host, table"));
    assert_non_null(strstr(verge_strerror(-ECHILD), "no such child process"));
    assert_non_null(strstr(verge_strerror(-EAGAIN), "thread"));
    assert_non_null(strstr(verge_strerror(-ENOSPC), "device"));
}

static size_t check_advice(const char *line) {
    char layer[32];
    const char *declared = strstr(line, "VERGE_API int verge_");
    if (declared == NULL || strstr(line, "_options_explain(") == NULL ||
        sscanf(declared, "VERGE_API int verge_%31[a-z]_", layer) != 1) {
        return 0;
    }
    assert_non_null(strstr(verge_strerror(-EINVAL), layer));
    return 1;
}

static void the_advice_names_each_function_that_explains_options(void **state) {
    (void)state;
    assert_true(for_each_line_of_the_headers(check_advice) >= 4);
}

static void any_number_has_a_sentence(void **state) {
    (void)state;
    assert_non_null(verge_strerror(INT_MIN));
    assert_non_null(verge_strerror(INT_MAX));
    for (int error = -5000; error <= 5000; error++) {
        assert_true(strlen(verge_strerror(error)) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_has_a_sentence_of_its_own),
        cmocka_unit_test(zero_is_success),
        cmocka_unit_test(a_positive_errno_is_understood),
        cmocka_unit_test(a_verdict_is_not_named_as_an_error),
        cmocka_unit_test(what_is_the_systems_has_its_words),
        cmocka_unit_test(errors_of_descriptors_and_files_are_named),
        cmocka_unit_test(the_advice_names_each_function_that_explains_options),
        cmocka_unit_test(any_number_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
