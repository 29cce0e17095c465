/* SPDX-License-Identifier: MIT */
/* In builds with assertions, VERGE__INVARIANT aborts if its condition is false. In other builds, it does not evaluate
 * the condition. */
#define _POSIX_C_SOURCE 200809L

#undef VERGE_ASSERTS
#include "base/assert.h"

static int evaluations;

static int evaluate(int result) {
    evaluations++;
    return result;
}

static void state_unchecked(void) {
    VERGE__INVARIANT(evaluate(0), "T1: not looked at");
}

#undef VERGE_SRC_BASE_ASSERT_H
#undef VERGE__INVARIANT
#define VERGE_ASSERTS 1
#include "base/assert.h" /* NOLINT(readability-duplicate-include): the other half of it */

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"

static void state_checked(int holds) {
    VERGE__INVARIANT(evaluate(holds), "T2: looked at");
}

static void without_asserts_nothing_is_evaluated(void **state) {
    (void)state;
    evaluations = 0;
    state_unchecked();
    assert_int_equal(evaluations, 0);
}

static void an_invariant_that_holds_is_silent(void **state) {
    (void)state;
    evaluations = 0;
    state_checked(1);
    assert_int_equal(evaluations, 1);
}

static void a_broken_invariant_says_which_and_aborts(void **state) {
    (void)state;
    int channel[2];
    assert_int_equal(pipe(channel), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(channel[1], STDERR_FILENO);
        state_checked(0);
        _exit(0);
    }
    (void)close(channel[1]);
    char output[512] = {0};
    size_t length = 0;
    ssize_t got;
    while ((got = read(channel[0], output + length, sizeof(output) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    (void)close(channel[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(output, "T2: looked at"));
    assert_non_null(strstr(output, "assert.c:"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_asserts_nothing_is_evaluated),
        cmocka_unit_test(an_invariant_that_holds_is_silent),
        cmocka_unit_test(a_broken_invariant_says_which_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
