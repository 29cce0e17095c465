/* SPDX-License-Identifier: MIT */
/* Builds with assertions notice mistakes with the object of a timeout, and their message names the mistake. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wheel/timeouts.h"

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS

/* Reads all that a child writes. */
static void read_all(int from, char *text, size_t size) {
    size_t length = 0;
    ssize_t count = 0;
    while ((count = read(from, text + length, size - 1 - length)) > 0) {
        length += (size_t)count;
    }
    text[length] = '\0';
}

/* The mistake aborts the process, with a message that contains `part`. */
static void assert_aborts(void (*mistake)(void), const char *part) {
    int messages[2];
    assert_int_equal(pipe(messages), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(messages[1], STDERR_FILENO);
        mistake();
        _exit(0);
    }
    char text[1000];
    int status = 0;
    assert_int_equal(close(messages[1]), 0);
    read_all(messages[0], text, sizeof(text));
    assert_int_equal(close(messages[0]), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

/* A wheel in which the timeout is started, between `others` other timeouts of the same slot. */
static verge_wheel *wheel_with(verge_timeout *timeout, size_t others) {
    static verge_timeout other_timeouts[4];
    verge_wheel *wheel = wheel_new(NULL);
    for (size_t i = 0; i < others; i++) {
        timeout_start(wheel, &other_timeouts[i], 5 * TICK);
        if (i == others / 2) {
            timeout_start(wheel, timeout, 5 * TICK);
        }
    }
    if (others == 0) {
        timeout_start(wheel, timeout, 5 * TICK);
    }
    return wheel;
}

static verge_timeout the_timeout;

static void zeroed_then_polled(void) {
    verge_wheel *wheel = wheel_with(&the_timeout, 0);
    memset(&the_timeout, 0, sizeof(the_timeout)); /* as the next owner of the memory may do */
    verge_expiry out[1];
    (void)verge_wheel_poll(wheel, 10 * TICK, out, COUNT_OF(out));
}

static void zeroed_then_neighbour_cleared(void) {
    static verge_timeout neighbour;
    verge_wheel *wheel = wheel_with(&the_timeout, 0);
    timeout_start(wheel, &neighbour, 5 * TICK);
    memset(&the_timeout, 0, sizeof(the_timeout));
    (void)verge_timeout_cancel(wheel, &neighbour);
}

static void overwritten_then_polled(void) {
    verge_wheel *wheel = wheel_with(&the_timeout, 0);
    memset(&the_timeout, 0xa5, sizeof(the_timeout));
    verge_expiry out[1];
    (void)verge_wheel_poll(wheel, 10 * TICK, out, COUNT_OF(out));
}

static void set_on_another_wheel(void) {
    (void)wheel_with(&the_timeout, 0);
    (void)verge_timeout_start(wheel_new(NULL), &the_timeout, HOUR);
}

static void set_on_another_wheel_from_between(void) {
    (void)wheel_with(&the_timeout, 4);
    (void)verge_timeout_start(wheel_new(NULL), &the_timeout, HOUR);
}

static void cleared_on_another_wheel(void) {
    (void)wheel_with(&the_timeout, 0);
    (void)verge_timeout_cancel(wheel_new(NULL), &the_timeout);
}

static void cleared_on_another_wheel_from_between(void) {
    (void)wheel_with(&the_timeout, 4);
    (void)verge_timeout_cancel(wheel_new(NULL), &the_timeout);
}

static void zeroed_or_overwritten_while_set(void **state) {
    (void)state;
    assert_aborts(zeroed_then_polled, "freed, copied or zeroed before verge_timeout_cancel");
    assert_aborts(zeroed_then_neighbour_cleared, "freed, copied or zeroed before verge_timeout_cancel");
    assert_aborts(overwritten_then_polled, "freed, copied or zeroed before verge_timeout_cancel");
}

static void used_with_two_wheels(void **state) {
    (void)state;
    assert_aborts(set_on_another_wheel, "a timeout of another wheel");
    assert_aborts(set_on_another_wheel_from_between, "a timeout of another wheel");
    assert_aborts(cleared_on_another_wheel, "a timeout of another wheel");
    assert_aborts(cleared_on_another_wheel_from_between, "a timeout of another wheel");
}

#else

static void zeroed_or_overwritten_while_set(void **state) {
    (void)state;
    skip();
}

static void used_with_two_wheels(void **state) {
    (void)state;
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_or_overwritten_while_set),
        cmocka_unit_test(used_with_two_wheels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
