/* SPDX-License-Identifier: MIT */
/*
 * base/step.h - the points at which a simulation may switch threads. In a protocol between threads, VERGE__STEP stands
 * before the accesses to words that the threads share. In a build with VERGE_STEPS, a hook of the test is called there.
 * So the test can run all threads of a protocol in one thread, in any order. In other builds VERGE__STEP does nothing.
 *
 * A test can provoke a race at a certain step: in a build with VERGE_STEPS, VERGE_STEP_DELAY=name:us in the environment
 * makes each thread sleep for up to that many microseconds whenever it comes to the step of that name.
 */
#ifndef VERGE_SRC_BASE_STEP_H
#define VERGE_SRC_BASE_STEP_H

#if defined(VERGE_STEPS) && VERGE_STEPS

/* If it is not NULL, VERGE__STEP calls this hook with the name of the step. */
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
