/* SPDX-License-Identifier: MIT */
/*
 * wheel/garbage.h - how much of it there may be: entries that belong to no timer, of a wheel or of a worker of a service.
 */
#ifndef VERGE_SRC_WHEEL_GARBAGE_H
#define VERGE_SRC_WHEEL_GARBAGE_H

#include <stddef.h>

enum { VERGE__GARBAGE_ALLOWED = 3072 }; /* beside 3/8 of the timers there are */

#if defined(VERGE_STEPS) && VERGE_STEPS
/* That, or what a test allows in its place, before there is a wheel: with less, few timers are enough for garbage to be
 * sifted all the time. */
extern size_t verge__garbage_allowed;
#else
static const size_t verge__garbage_allowed = VERGE__GARBAGE_ALLOWED;
#endif

/* How many entries there may be with so many timers. */
static inline size_t verge__entries_allowed(size_t timers) {
    return timers + timers / 4 + timers / 8 + verge__garbage_allowed;
}

#endif
