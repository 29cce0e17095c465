/* SPDX-License-Identifier: MIT */
/* wheel/filing.h - what the short ways of schedule.c and timeout.c have in common. */
#ifndef VERGE_SRC_WHEEL_FILING_H
#define VERGE_SRC_WHEEL_FILING_H

#include "wheel/wheel_internal.h"

/*
 * Whether the entry at `entry_tick` is still to come and comes up no later than at `tick`. One at the cursor itself may have
 * come up: a tick can be taken in several parts.
 *
 * Who asks branches, though the answer is as good as random in some loads: filed without a branch, the entry would have
 * to wait for the record, and what comes after it would not get into the processor's window.
 */
static VERGE__ALWAYS_INLINE bool verge__comes_in_time(const verge_wheel *wheel, uint64_t entry_tick, uint64_t tick) {
    return entry_tick - wheel->calendar.cursor - 1 < tick - wheel->calendar.cursor;
}

/* Files an entry for a record whose own does not come in time. False, and nothing has changed: it takes the long way. */
static VERGE__ALWAYS_INLINE bool verge__file_shortly(verge_wheel *wheel, verge__record *record, uint32_t index,
                                                     uint64_t tick) {
    if (VERGE__UNLIKELY(!verge__calendar_try_file(&wheel->calendar, tick, index))) {
        return false;
    }
    record->u.entry_tick = tick;
    return true;
}

#endif
