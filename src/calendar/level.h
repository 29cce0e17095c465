/* SPDX-License-Identifier: MIT */
/* calendar/level.h - what the files of the calendar share: the bits of a level, when a slot is drained, filing in a
 * slot. */
#ifndef VERGE_SRC_CALENDAR_LEVEL_H
#define VERGE_SRC_CALENDAR_LEVEL_H

#include "calendar/calendar.h"

static inline uint32_t verge__level_words(const verge__level *level) {
    return (level->mask >> 6) + 1;
}

/* The tick from which on a slot of several chunks is drained: the start of the slot before. */
static inline uint64_t verge__level_drain_begin(const verge__level *level, uint64_t position) {
    return (position - 1) << level->shift;
}

/* Takes the newest entry off a list, which is not empty; a chunk that has become empty goes back to the pool. */
static VERGE__ALWAYS_INLINE void verge__calendar_drop_newest(verge__calendar *calendar, verge__list *list) {
    verge__entry *newest = *list - 1;
    VERGE__INVARIANT(calendar->entry_count > 0, "C4: entries are counted");
    calendar->entry_count--;
    if (!verge__is_first_of_chunk(newest)) {
        *list = newest;
        return;
    }
    verge__chunk *chunk = verge__chunk_of(newest);
    *list = verge__list_from_full_chunk(chunk->below);
    verge__chunk_pool_give(&calendar->pool, chunk);
}

static inline void verge__calendar_slot_emptied(verge__calendar *calendar, size_t k, uint32_t slot) {
    verge__level *level = &calendar->levels[k];
    VERGE__INVARIANT(level->slots[slot] == NULL, "C1: a bit is cleared when its list is empty");
    level->occupied[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    if (&level->slots[slot] == calendar->due_slot) {
        calendar->due_slot = NULL;
    }
}

/* Takes the newest entry of due_slot, which is not empty. To tell the node is left to the caller. */
static VERGE__ALWAYS_INLINE verge__entry verge__calendar_pop(verge__calendar *calendar) {
    verge__list *slot = calendar->due_slot;
    VERGE__INVARIANT(slot != NULL && *slot != NULL, "C3: entries are taken while there are some");
    verge__entry entry = *(*slot - 1);
    verge__calendar_drop_newest(calendar, slot);
    if (*slot == NULL) {
        verge__calendar_slot_emptied(calendar, 0, (uint32_t)(slot - calendar->levels[0].slots));
    }
    return entry;
}

/* An idle entry has come up, and is not filed again. */
static inline void verge__calendar_drop_idle(verge__calendar *calendar, verge__node *node) {
    VERGE__INVARIANT(verge__calendar_idle(calendar) > 0, "W3: idle entries are counted");
    node->place = VERGE__NO_PLACE;
    calendar->idle_ended++;
    calendar->entries_dropped++;
}

/* Puts an entry at the end of a slot's list, and tells its node. */
static VERGE__ALWAYS_INLINE void verge__calendar_put(verge__calendar *calendar, verge__level *level, uint64_t position,
                                                     verge__entry entry, verge__node *node) {
    verge__list *slot = &level->slots[(uint32_t)position & level->mask];
    verge__list end = *slot;
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
        end = verge__calendar_add_chunk(calendar, level, position);
    }
    VERGE__INVARIANT(verge__chunk_of(end)->slot == ((uint32_t)position & level->mask), "L2: a chunk names its list");
    *end = entry;
    *slot = end + 1;
    node->place = (uintptr_t)end | level->near_tag;
    if (VERGE__LIKELY(level->near_tag != 0)) {
        node->filed = (uint32_t)(position << level->shift);
    }
}

#endif
