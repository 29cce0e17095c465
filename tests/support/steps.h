/* SPDX-License-Identifier: MIT */
/*
 * support/steps.h - lets threads wait for each other at certain steps of the code (base/step.h), so that a race always
 * has the outcome that the test is about.
 *
 *     static void at_step(const char *step) {        -- called by every thread, at every step
 *         if (is_step(step, "move: under way")) { ... await(&flag); }
 *     }
 *     steps_begin(at_step);                          -- before there are threads
 *     ...
 *     steps_end();                                   -- after the threads have ended
 */
#ifndef VERGE_TESTS_SUPPORT_STEPS_H
#define VERGE_TESTS_SUPPORT_STEPS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/step.h"

static inline bool is_step(const char *step, const char *name) {
    return strcmp(step, name) == 0;
}

static inline void await(const _Atomic bool *flag) {
    while (!atomic_load(flag)) {
        (void)sched_yield();
    }
}

static inline void steps_begin(void (*at_step)(const char *step)) {
    verge__step_hook = at_step;
}

static inline void steps_end(void) {
    verge__step_hook = NULL;
}

#endif
