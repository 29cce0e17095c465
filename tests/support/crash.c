/* SPDX-License-Identifier: MIT */
#include "support/crash.h"

#include <signal.h>
#include <stddef.h>

/* This function exists only under a sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void (*say_what)(void);

static void crashed(int number) {
    say_what(); /* signal handlers should not print, but the program is lost anyway */
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void verge_test_on_crash(void (*say)(void)) {
    say_what = say;
    (void)signal(SIGABRT, crashed);
    (void)signal(SIGSEGV, crashed);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(say);
    }
}
