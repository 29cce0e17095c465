/* SPDX-License-Identifier: MIT */
/* The version of the library agrees with the header that it was built from. */
#include <stdio.h>

#include "support/cmocka.h"
#include "verge/verge.h"

static void the_text_is_that_of_the_header(void **state) {
    (void)state;
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "%d.%d.%d", VERGE_VERSION_MAJOR, VERGE_VERSION_MINOR,
                   VERGE_VERSION_PATCH);
    assert_string_equal(verge_version(), expected);
}

static void the_number_is_that_of_the_header(void **state) {
    (void)state;
    assert_int_equal(verge_version_number(),
                     VERGE_VERSION_MAJOR * 1000000 + VERGE_VERSION_MINOR * 1000 + VERGE_VERSION_PATCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_that_of_the_header),
        cmocka_unit_test(the_number_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
