/* SPDX-License-Identifier: MIT */
#include "base/step.h"

#include <stddef.h>

#if defined(VERGE_STEPS) && VERGE_STEPS
void (*verge__step_hook)(const char *step) = NULL;
#else
typedef int verge__no_steps; /* ISO C forbids an empty file */
#endif
