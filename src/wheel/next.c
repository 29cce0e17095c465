/* SPDX-License-Identifier: MIT */
/* When something comes out next: a bound from the bitmaps, and the exact deadline. */
#include <errno.h>

#include "wheel/wheel_internal.h"

bool verge_wheel_has_backlog(const verge_wheel *wheel) {
    return wheel != NULL && (verge__wheel_has_due(wheel) || wheel->calendar.cursor < verge__wheel_target(wheel));
}

uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel) {
    if (wheel == NULL || verge__wheel_pending(wheel) == 0) {
        return VERGE_NEVER;
    }
    const verge__calendar *calendar = &wheel->calendar;
    if (calendar->cursor <= calendar->quiet_until && calendar->quiet_until > 0) {
        return calendar->next_start << wheel->shift; /* quiet: there is no backlog (W5) */
    }
    return verge_wheel_has_backlog(wheel) ? wheel->now_ns : verge__calendar_next(calendar) << wheel->shift;
}

/* ---- the exact deadline ---- */

/* Takes what is not due from the end of a list of due entries: drops what does not count, files again
 * what was moved. Whether anything is left. */
static bool list_has_live(verge_wheel *wheel, verge__list *list) {
    while (*list != NULL) {
        verge__chunk *chunk = verge__list_chunk(*list);
        verge__entry entry = *(*list - 1);
        verge__record *record = verge__wheel_record(wheel, entry);
        bool counts = verge__wheel_counts(wheel, record, entry);
        if (counts && record->deadline_ns <= wheel->now_ns) {
            return true;
        }
        if (*list - 1 == chunk->entries) {
            verge__calendar_list_drop_chunk(&wheel->calendar, list);
        } else {
            --*list;
        }
        wheel->calendar.entry_count--;
        if (counts) {
            verge__wheel_refile(wheel, record, entry);
        } else {
            verge__wheel_drop(wheel, record, entry);
        }
    }
    return false;
}

static bool pile_has_live(verge_wheel *wheel, verge__pile *pile) {
    while (verge__pile_open(pile)) {
        if (list_has_live(wheel, &pile->list)) {
            return true;
        }
    }
    return false;
}

static bool due_has_live(verge_wheel *wheel, verge__due *due) {
    return pile_has_live(wheel, &due->pile) || list_has_live(wheel, &due->picked) ||
           (due->sorter != NULL && verge__sorter_has_live(wheel, due->sorter));
}

bool verge__wheel_has_live_due(verge_wheel *wheel) {
    return due_has_live(wheel, &wheel->past) || due_has_live(wheel, &wheel->batch) ||
           pile_has_live(wheel, &wheel->deferred);
}

/* The smallest and, of those with the same tick, the largest deadline seen. */
typedef struct extent {
    uint64_t tick;
    uint64_t smallest_ns;
    uint64_t largest_ns;
    uint32_t index;
} extent;

static void extent_add(const verge_wheel *wheel, extent *found, uint32_t index, uint64_t deadline_ns) {
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (tick < found->tick) {
        *found = (extent){.tick = tick, .smallest_ns = deadline_ns, .largest_ns = deadline_ns, .index = index};
    } else if (tick == found->tick) {
        if (deadline_ns < found->smallest_ns) {
            found->smallest_ns = deadline_ns;
            found->index = index;
        }
        found->largest_ns = deadline_ns > found->largest_ns ? deadline_ns : found->largest_ns;
    }
}

/* Whether an entry is out of place in its slot: it belongs to no timer, or to one that was moved out
 * of the slot's span. */
static bool is_misplaced(const verge_wheel *wheel, verge__entry entry, const verge__level *level, uint64_t position) {
    const verge__record *record = verge__wheel_record(wheel, entry);
    return !verge__wheel_counts(wheel, record, entry) ||
           verge__calendar_round(&wheel->calendar, verge__wheel_tick(wheel, record->deadline_ns)) >> level->shift >
               position;
}

/* Files again or drops the entries of a slot that are out of place. */
static void straighten_slot(verge_wheel *wheel, size_t k, uint64_t position) {
    verge__calendar *calendar = &wheel->calendar;
    verge__level *level = &calendar->levels[k];
    verge__list list = verge__calendar_take_slot(calendar, k, (uint32_t)position & level->mask);
    while (list != NULL) {
        const verge__chunk *chunk = verge__list_chunk(list);
        size_t count = verge__list_chunk_count(list);
        for (size_t i = 0; i < count; i++) {
            verge__entry entry = chunk->entries[i];
            uint64_t tick = 0;
            if (!is_misplaced(wheel, entry, level, position)) {
                verge__calendar_put_slot(calendar, k, position, entry);
            } else if (verge__wheel_refile_tick(wheel, &entry, &tick)) {
                verge__wheel_refile(wheel, verge__wheel_record(wheel, entry), entry);
            }
        }
        verge__calendar_list_drop_chunk(calendar, &list);
    }
}

/* Looks at a slot's timers; false if an entry is out of place. */
static bool look_at_slot(const verge_wheel *wheel, size_t k, uint64_t position, extent *found) {
    const verge__calendar *calendar = &wheel->calendar;
    const verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)position & level->mask;
    if (verge__calendar_is_scrubbed(calendar, k, slot)) {
        return false; /* straightening puts its two parts together */
    }
    for (verge__list end = level->slots[slot]; end != NULL;) {
        const verge__chunk *chunk = verge__list_chunk(end);
        for (const verge__entry *entry = chunk->entries; entry < end; entry++) {
            if (is_misplaced(wheel, *entry, level, position)) {
                return false;
            }
            extent_add(wheel, found, verge__entry_name(*entry), verge__wheel_record(wheel, *entry)->deadline_ns);
        }
        end = verge__list_from_full_chunk(chunk->below);
    }
    return true;
}

/* The smallest tick a timer in a slot can have: coarse slots hold what was rounded up to their start. */
static uint64_t slot_smallest_tick(const verge__calendar *calendar, const verge__level *level, uint64_t position) {
    uint64_t start = position << level->shift;
    uint64_t rounding = calendar->coarse ? verge__bit_mask(level->shift) : 0;
    return start > rounding ? start - rounding : 0;
}

static void look_at_list(const verge_wheel *wheel, verge__list end, extent *found) {
    while (end != NULL) {
        const verge__chunk *chunk = verge__list_chunk(end);
        for (const verge__entry *entry = chunk->entries; entry < end; entry++) {
            const verge__record *record = verge__wheel_record(wheel, *entry);
            if (verge__wheel_counts(wheel, record, *entry)) {
                extent_add(wheel, found, verge__entry_name(*entry), record->deadline_ns);
            }
        }
        end = verge__list_from_full_chunk(chunk->below);
    }
}

/* The timers that come out first. Every timer has an entry in a slot that starts no later than it
 * comes out, so slots that start after the best found so far need not be looked at. False if a slot
 * had to be straightened: then its entries may be anywhere. */
static bool try_find_first(verge_wheel *wheel, extent *found) {
    *found = (extent){.tick = VERGE__NO_TICK, .smallest_ns = VERGE_NEVER};
    for (size_t k = 0; k < wheel->calendar.levels_ready; k++) {
        const verge__level *level = &wheel->calendar.levels[k];
        uint64_t first = wheel->calendar.cursor >> level->shift;
        uint64_t position = verge__level_next(level, first);
        while (position != VERGE__NO_TICK && position - first <= level->mask &&
               slot_smallest_tick(&wheel->calendar, level, position) <= found->tick) {
            if (!look_at_slot(wheel, k, position, found)) {
                straighten_slot(wheel, k, position);
                return false;
            }
            position = verge__level_next(level, position + 1);
        }
    }
    return true;
}

static extent find_first(verge_wheel *wheel) {
    extent found;
    while (!try_find_first(wheel, &found)) {
    }
    look_at_list(wheel, wheel->beyond.list, &found);
    look_at_list(wheel, wheel->beyond.sifted, &found);
    look_at_list(wheel, wheel->beyond_kept.list, &found);
    look_at_list(wheel, wheel->beyond_kept.sifted, &found);
    return found;
}

/* With a backlog: among all timers, the slow way. */
static extent find_first_of_all(const verge_wheel *wheel) {
    extent found = {.tick = VERGE__NO_TICK, .smallest_ns = VERGE_NEVER};
    for (uint32_t index = verge__wheel_next_pending(wheel, 0); index != VERGE__NO_RECORD;
         index = verge__wheel_next_pending(wheel, index + 1)) {
        extent_add(wheel, &found, index, verge__wheel_named(wheel, index)->deadline_ns);
    }
    return found;
}

const verge__record *verge__wheel_earliest_record(const verge_wheel *wheel) {
    verge_timer timer = wheel->earliest_timer;
    if (timer >> 32 != VERGE__GENERATION_SET) {
        return verge__records_find(&wheel->records, timer);
    }
    const verge__record *record = verge__wheel_named(wheel, (uint32_t)timer);
    return record->generation == VERGE__GENERATION_SET ? record : NULL;
}

uint64_t verge__wheel_earliest(verge_wheel *wheel) {
    if (verge__wheel_pending(wheel) == 0) {
        return VERGE_NEVER;
    }
    if (verge__wheel_has_live_due(wheel)) {
        return wheel->now_ns;
    }
    if (wheel->earliest_ns != 0) {
        const verge__record *record = verge__wheel_earliest_record(wheel);
        if (record != NULL && record->deadline_ns == wheel->earliest_ns) {
            return wheel->earliest_ns;
        }
    }
    extent found = find_first(wheel);
    VERGE__INVARIANT(found.tick != VERGE__NO_TICK, "W1: every timer has an entry that counts");
    wheel->earliest_ns = found.smallest_ns;
    wheel->earliest_timer = verge__records_handle(found.index, verge__wheel_named(wheel, found.index)->generation);
    return found.smallest_ns;
}

uint64_t verge_wheel_next_deadline(verge_wheel *wheel) {
    if (wheel == NULL) {
        return VERGE_NEVER;
    }
    uint64_t earliest_ns = verge__wheel_earliest(wheel);
    return earliest_ns != VERGE_NEVER && verge_wheel_has_backlog(wheel) ? wheel->now_ns : earliest_ns;
}

int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval, uint64_t *ret_smallest_ns,
                               uint64_t *ret_largest_ns) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) == 0) {
        return -ENOENT;
    }
    extent found = verge__wheel_has_live_due(wheel) ? find_first_of_all(wheel) : find_first(wheel);
    if (ret_interval != NULL) {
        *ret_interval = found.smallest_ns >> wheel->shift;
    }
    if (ret_smallest_ns != NULL) {
        *ret_smallest_ns = found.smallest_ns;
    }
    if (ret_largest_ns != NULL) {
        *ret_largest_ns = found.largest_ns;
    }
    return 0;
}
