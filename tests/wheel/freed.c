/* SPDX-License-Identifier: MIT */
/* Builds with assertions notice if the object of a timeout is freed or overwritten while the timeout is set. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wheel/timeouts.h"

static void overwritten_while_set(void **state) {
    (void)state;
#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        verge_wheel *wheel = wheel_new(NULL);
        verge_timeout timeout = {{0}};
        (void)verge_timeout_set(wheel, &timeout, 5 * TICK);
        memset(&timeout, 0, sizeof(timeout)); /* as the next owner of the memory may do */
        verge_expiry out[1];
        (void)verge_wheel_poll(wheel, 10 * TICK, out, COUNT_OF(out));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overwritten_while_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
