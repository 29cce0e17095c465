/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "model/run.h"
#include "support/crash.h"

static const struct run *current;

static void print_seed(void) {
    if (current != NULL) {
        (void)fprintf(stderr, "replay with VERGE_TEST_SEED=%" PRIu64 " (profile %d, operation %" PRIu64 ", %s)\n",
                      current->seed, (int)current->profile, current->operation_count, current->operation);
    }
}

void run_print_seed_on_crash(const struct run *run) {
    current = run;
    verge_test_on_crash(print_seed);
}
