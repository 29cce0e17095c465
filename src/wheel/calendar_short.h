/* SPDX-License-Identifier: MIT */
/* wheel/calendar_short.h - what a poll needs that finds a single tick with few entries; inline, because most do. */
#ifndef VERGE_SRC_WHEEL_CALENDAR_SHORT_H
#define VERGE_SRC_WHEEL_CALENDAR_SHORT_H

#include "wheel/calendar_internal.h"

/* Drains the upper slots that start at a tick, up to which it is quiet, and finds upper_quiet anew, for when the tick has been
 * taken. The cursor is at the tick then. Returns how many entries were moved. */
size_t verge__calendar_open_upper(verge__calendar *calendar, uint64_t tick);

/* Takes the entries of a tick, if that is a single chunk or none, and moves the cursor behind it; false, and nothing has changed:
 * there are more. It was quiet until the tick, and is in the upper levels. */
static VERGE__ALWAYS_INLINE bool verge__calendar_take_few(verge__calendar *calendar, uint64_t tick,
                                                          verge__list *ret_list) {
    verge__level *lowest = &calendar->levels[0];
    uint32_t slot = (uint32_t)tick & lowest->mask;
    verge__list list = lowest->slots[slot];
    if (VERGE__LIKELY(list != NULL)) {
        if (VERGE__UNLIKELY(verge__list_chunk(list)->below != NULL || &lowest->slots[slot] == calendar->scrubbed)) {
            return false;
        }
        lowest->slots[slot] = NULL;
        verge__level_clear_occupied(lowest, slot);
    }
    calendar->cursor = tick + 1;
    *ret_list = list;
    return true;
}

/* Finds quiet_until anew, where the upper levels are quiet at the cursor. */
static VERGE__ALWAYS_INLINE void verge__calendar_settle_lowest(verge__calendar *calendar) {
    uint64_t next = verge__level_next_inline(&calendar->levels[0], calendar->cursor);
    calendar->next_start = next < calendar->upper_start ? next : calendar->upper_start;
    calendar->quiet_until = next < calendar->upper_quiet ? next : calendar->upper_quiet;
}

#endif
