/* SPDX-License-Identifier: MIT */
#include "model/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* There is one only under a sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static const struct run *current;

static void print_seed(void) {
    if (current != NULL) {
        /* Not for signal handlers, but all is lost anyway. NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
        (void)fprintf(stderr, "replay with VERGE_TEST_SEED=%" PRIu64 " (profile %d, operation %" PRIu64 ", %s)\n",
                      current->seed, (int)current->profile, current->operation_count, current->operation);
    }
}

static void crashed(int number) {
    print_seed();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void run_print_seed_on_crash(const struct run *run) {
    current = run;
    (void)signal(SIGABRT, crashed);
    (void)signal(SIGSEGV, crashed);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(print_seed);
    }
}
