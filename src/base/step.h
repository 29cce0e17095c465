/* SPDX-License-Identifier: MIT */
/*
 * base/step.h - the points at which threads may interleave. Every access to a word that threads share is preceded by
 * VERGE__STEP. In a build with VERGE_STEPS a test can take over there, and so drive all threads of a protocol from one, in
 * any order it likes; any other build has nothing there.
 */
#ifndef VERGE_SRC_BASE_STEP_H
#define VERGE_SRC_BASE_STEP_H

#if defined(VERGE_STEPS) && VERGE_STEPS

/* NULL, or what is called with the name of the step that comes next. */
extern void (*verge__step_hook)(const char *step);

#define VERGE__STEP(name) \
    do { \
        if (verge__step_hook != NULL) { \
            verge__step_hook(name); \
        } \
    } while (0)

#else

#define VERGE__STEP(name) ((void)sizeof(name))

#endif

#endif
