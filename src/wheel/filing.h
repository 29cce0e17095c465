/* SPDX-License-Identifier: MIT */
/* wheel/filing.h - what the short ways of schedule.c and timeout.c have in common. */
#ifndef VERGE_SRC_WHEEL_FILING_H
#define VERGE_SRC_WHEEL_FILING_H

#include "wheel/wheel_internal.h"

static VERGE__ALWAYS_INLINE void verge__note_deadline(verge_wheel *wheel, uint64_t deadline_ns, verge_timer timer) {
    if (VERGE__UNLIKELY(deadline_ns < wheel->earliest_ns)) {
        wheel->earliest_ns = deadline_ns;
        wheel->earliest_timer = timer;
    }
}

/* Whether the entry at `entry_tick` is still to come and comes up no later than at `tick`. One at the
 * cursor itself may have come up: a tick can be taken in several parts. */
static VERGE__ALWAYS_INLINE bool verge__comes_in_time(const verge_wheel *wheel, uint64_t entry_tick, uint64_t tick) {
    return entry_tick - wheel->calendar.cursor - 1 < tick - wheel->calendar.cursor;
}

/*
 * Whether to skip the filing of an entry. `keep` is data, not a branch, as it is hard to predict in a
 * mixed load (verge__calendar_try_file_unless). But where every timer keeps its entry, as timeouts that are
 * pushed back or taken again and again do, a branch is predicted well and saves half of the work. So
 * branch after a streak of these, which a mixed load seldom sees.
 */
static VERGE__ALWAYS_INLINE bool verge__keeps_as_usual(verge_wheel *wheel, bool keep) {
    enum { STREAK = 8 };
    if (VERGE__LIKELY(keep & (wheel->kept_streak >= STREAK))) {
        return true;
    }
    wheel->kept_streak = keep ? wheel->kept_streak + 1 : 0;
    return false;
}

#endif
