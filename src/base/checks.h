/* SPDX-License-Identifier: MIT */
/*
 * base/checks.h - mistakes of callers that might also be correct use, such as a duration given as a deadline. They are
 * checked if an option says so. A build with VERGE_ASSERTS also checks them without the option, if the clock never goes
 * back.
 */
#ifndef VERGE_SRC_BASE_CHECKS_H
#define VERGE_SRC_BASE_CHECKS_H

#include <stdbool.h>

#include "verge/base.h"

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
#define VERGE__CHECKS_CALLERS 1
#else
#define VERGE__CHECKS_CALLERS 0
#endif

/* True for the monotonic and the boottime clock. Any other clock may go back, and then a time before the object's
 * creation may be correct. */
static inline bool verge__never_goes_back(verge_clock clock) {
    return clock.now_ns == verge_clock_monotonic().now_ns || clock.now_ns == verge_clock_boottime().now_ns;
}

/* Whether deadlines on this clock are checked. */
static inline bool verge__checks_deadlines(verge_clock clock, bool is_wanted) {
    return is_wanted || (VERGE__CHECKS_CALLERS && verge__never_goes_back(clock));
}

#endif
