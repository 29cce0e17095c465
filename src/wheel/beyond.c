/* SPDX-License-Identifier: MIT */
/*
 * Entries beyond the reach of the cursor. While a backlog holds the cursor back, a deadline that is
 * within reach of now may be out of reach of the cursor. Such entries wait in a list, and are filed
 * when the cursor has come close enough: at the latest when it has caught up with now, and not after
 * the first of them has to come out.
 */
#include "wheel/wheel_internal.h"

void verge__wheel_put_beyond(verge_wheel *wheel, verge__record *record, verge__entry entry) {
    uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = VERGE__TICK_BEYOND;
        entry = verge__entry_marked(entry, (uint32_t)VERGE__TICK_BEYOND);
    }
    verge__calendar_list_add(&wheel->calendar, &wheel->beyond.list, entry);
    verge__wheel_note_beyond(wheel, tick);
    wheel->calendar.quiet_until = 0; /* W5 */
}

void verge__wheel_note_beyond(verge_wheel *wheel, uint64_t tick) {
    wheel->beyond_tick = tick < wheel->beyond_tick ? tick : wheel->beyond_tick;
    /* If a pass is under way it may have been seen. */
    wheel->beyond_kept_tick = tick < wheel->beyond_kept_tick ? tick : wheel->beyond_kept_tick;
}

/* Files an entry that the cursor can reach by now; keeps it waiting otherwise. */
static void file_or_keep(verge_wheel *wheel, verge__entry entry) {
    verge__record *record = verge__wheel_record(wheel, entry);
    wheel->calendar.entry_count--;
    if (!verge__wheel_counts(wheel, record, entry)) {
        verge__wheel_drop(wheel, record, entry);
    } else if (verge__wheel_tick(wheel, record->deadline_ns) < wheel->calendar.cursor ||
               verge__wheel_tick(wheel, record->deadline_ns) - wheel->calendar.cursor < wheel->calendar.reach) {
        verge__wheel_refile(wheel, record, entry);
    } else {
        uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
        wheel->beyond_kept_tick = tick < wheel->beyond_kept_tick ? tick : wheel->beyond_kept_tick;
        verge__calendar_list_add(&wheel->calendar, &wheel->beyond_kept.list, entry);
    }
}

bool verge__wheel_file_beyond(verge_wheel *wheel, size_t *budget) {
    verge__pile *beyond = &wheel->beyond;
    if (verge__pile_is_empty(&wheel->beyond_kept)) {
        wheel->beyond_kept_tick = VERGE__NO_TICK;
    }
    while (verge__pile_open(beyond)) {
        verge__list *list = &beyond->list;
        verge__chunk *chunk = verge__list_chunk(*list);
        size_t left = verge__list_chunk_count(*list);
        for (; left > 0 && *budget > 0; --*budget) {
            file_or_keep(wheel, chunk->entries[--left]);
        }
        if (left > 0) {
            *list = chunk->entries + left;
            return false;
        }
        verge__calendar_list_drop_chunk(&wheel->calendar, list);
    }
    *beyond = wheel->beyond_kept;
    wheel->beyond_kept = (verge__pile){0};
    wheel->beyond_tick = wheel->beyond_kept_tick;
    return true;
}
