/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "base/step.h"

#include <stddef.h>

#if defined(VERGE_STEPS) && VERGE_STEPS

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void (*verge__step_hook)(const char *step) = NULL;

static const char *delayed_step;
static size_t delayed_length;
static uint32_t delay_max_us;

static void delay(const char *step) {
    static _Thread_local uint32_t random = 1;
    if (strncmp(step, delayed_step, delayed_length) == 0 && step[delayed_length] == '\0') {
        random = random * 1664525 + 1013904223;
        const struct timespec nap = {.tv_nsec = (long)(((uint64_t)random * delay_max_us) >> 32) * 1000};
        (void)nanosleep(&nap, NULL);
    }
}

__attribute__((constructor)) static void delay_if_asked(void) {
    const char *text = getenv("VERGE_STEP_DELAY");
    const char *colon = text != NULL ? strrchr(text, ':') : NULL;
    if (colon != NULL) {
        delayed_step = text;
        delayed_length = (size_t)(colon - text);
        delay_max_us = (uint32_t)strtoul(colon + 1, NULL, 10);
        verge__step_hook = delay;
    }
}

#else
typedef int verge__no_steps; /* ISO C forbids an empty file */
#endif
