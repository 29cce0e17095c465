/* SPDX-License-Identifier: MIT */
/* The verdict of an audit, which `verge demo` prints as its last line: passed, or what failed. */
#define _POSIX_C_SOURCE 200809L /* fileno */
#include "output/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"

/* Prints the verdict of an audit into `text`. */
static void read_verdict(const struct audit *audit, char *text, size_t size) {
    const struct look look = {.good = "", .bad = "", .plain = "", .bold = "", .dim = ""};
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    audit_print_verdict(audit, &look);
    (void)fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    (void)fclose(file);
}

static void test_all_hold(void **state) {
    struct audit audit = {0};
    char text[512];
    (void)state;
    audit_expect(&audit, true, "no timer ran early");
    audit_expect(&audit, true, "all memory was freed");
    read_verdict(&audit, text, sizeof(text));
    assert_string_equal(text, "\npassed: all 2 checks\n");
}

static void test_one_fails(void **state) {
    struct audit audit = {0};
    char text[512];
    (void)state;
    audit_expect(&audit, true, "no timer ran early");
    audit_expect(&audit, false, "started %d = fired %d", 3, 2);
    audit_expect(&audit, true, "all memory was freed");
    read_verdict(&audit, text, sizeof(text));
    assert_string_equal(text, "\nfailed: 1 of 3 checks; not so: started 3 = fired 2\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hold),
        cmocka_unit_test(test_one_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
