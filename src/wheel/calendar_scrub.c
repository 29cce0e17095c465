/* SPDX-License-Identifier: MIT */
/* Scrubbing: dropping entries that do not count, a chunk at a time or all at once. */
#include <string.h>

#include "wheel/calendar_internal.h"
#include "wheel/garbage.h"

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__garbage_allowed = VERGE__GARBAGE_ALLOWED;
#endif

static uint32_t begin_pass(verge__calendar *calendar) {
    calendar->scrub_pass_count += calendar->scrub_pass_count == UINT32_MAX ? 2 : 1;
    calendar->scrub_pass = calendar->scrub_pass_count;
    return calendar->scrub_pass;
}

/* The ticks whose entries lie in a slot: of a ring, the slot at or after the cursor. */
static verge__span slot_span(const verge__calendar *calendar, size_t k, uint32_t slot) {
    const verge__level *level = &calendar->levels[k];
    uint64_t first = calendar->cursor >> level->shift;
    uint64_t start = (first + ((slot - (uint32_t)first) & level->mask)) << level->shift;
    return (verge__span){.first = start, .last = start + verge__bit_mask(level->shift)};
}

static const verge__span everything = {.first = 0, .last = UINT64_MAX};

/* Takes the newest chunk off a list, or `max` entries of it, and sifts them; returns how many that were. The chunk is given
 * back first, so that its place can be taken by the next, in a lower slab perhaps. */
static size_t take_and_sift(verge__calendar *calendar, verge__list *unsifted, verge__span span, size_t max,
                            verge__entry entries[VERGE__CHUNK_ENTRIES], size_t *ret_kept) {
    size_t in_chunk = verge__list_chunk_count(*unsifted);
    size_t count = in_chunk < max ? in_chunk : max;
    memcpy(entries, *unsifted - count, count * sizeof(*entries));
    if (count == in_chunk) {
        verge__calendar_list_drop_chunk(calendar, unsifted);
    } else {
        *unsifted -= count;
    }
    *ret_kept = calendar->owner.sift(calendar->owner.context, entries, count, span);
    calendar->entry_count -= count - *ret_kept;
    return count;
}

/* An entry was put into the list of a slot. One that has gone on with its flock is not for it, and knows no slot. */
static void seat_in_slot(const verge__calendar *calendar, verge__entry *entry, verge__list *slot, verge__span span) {
    bool is_ahead =
        !calendar->owner.marks_are_private && verge__calendar_entry_tick(calendar, *entry, span.first) > span.last;
    verge__entry_seat(entry, is_ahead ? NULL : slot);
}

/* The same, from one list to another, which is that of a slot, or will be, or has none. */
static size_t sift_chunk(verge__calendar *calendar, verge__list *unsifted, verge__list *sifted, verge__list *slot,
                         verge__span span, size_t max) {
    verge__entry entries[VERGE__CHUNK_ENTRIES];
    size_t kept = 0;
    size_t count = take_and_sift(calendar, unsifted, span, max, entries, &kept);
    for (size_t i = 0; i < kept; i++) {
        *sifted = verge__calendar_append(calendar, *sifted, entries[i]);
        seat_in_slot(calendar, *sifted - 1, slot, span);
    }
    return count;
}

size_t verge__calendar_scrub_pile(verge__calendar *calendar, verge__pile *pile, size_t max) {
    if (!verge__pile_open(pile)) {
        return 0;
    }
    if (pile->sifted == NULL) {
        pile->scrub_pass = begin_pass(calendar);
    }
    calendar->scrub_pass = pile->scrub_pass;
    size_t count = sift_chunk(calendar, &pile->list, &pile->sifted, NULL, everything, max);
    pile->passes += pile->list == NULL;
    (void)verge__pile_open(pile); /* the next pass is over all of it, not over what is added until then */
    return count;
}

void verge__calendar_renew_pass(verge__calendar *calendar, verge__pile *pile) {
    pile->scrub_pass = begin_pass(calendar);
}

static void sift_list(verge__calendar *calendar, verge__list *list, verge__list *slot, verge__span span) {
    verge__list sifted = NULL;
    while (*list != NULL) {
        (void)sift_chunk(calendar, list, &sifted, slot, span, VERGE__CHUNK_ENTRIES);
    }
    *list = sifted;
}

void verge__calendar_sift_lists(verge__calendar *calendar, verge__list *const *lists, size_t count) {
    (void)begin_pass(calendar);
    for (size_t i = 0; i < count; i++) {
        sift_list(calendar, lists[i], NULL, everything);
    }
}

void verge__calendar_sift_slots(verge__calendar *calendar) {
    (void)begin_pass(calendar);
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        verge__level *level = &calendar->levels[k];
        for (uint32_t i = 0; i <= level->mask; i++) {
            uint32_t slot = (uint32_t)((calendar->cursor >> level->shift) + i) & level->mask;
            if (verge__level_is_occupied(level, slot)) {
                verge__list list = verge__calendar_take_slot(calendar, k, slot);
                calendar->entry_count += verge__list_count(list);
                sift_list(calendar, &list, &level->slots[slot], slot_span(calendar, k, slot));
                if (list != NULL) { /* levels_used stands: it was not empty before */
                    level->slots[slot] = list;
                    verge__level_set_occupied(level, slot);
                }
            }
        }
    }
}

/* Begins with the next slot, round robin over all slots of all levels. */
static bool scrub_next_slot(verge__calendar *calendar) {
    for (size_t tried = 0; tried <= calendar->levels_ready; tried++) {
        if (calendar->scrub_level < calendar->levels_ready) {
            verge__level *level = &calendar->levels[calendar->scrub_level];
            uint64_t slot =
                calendar->scrub_slot > level->mask ? VERGE__NO_TICK : verge__level_next(level, calendar->scrub_slot);
            if (slot <= level->mask) {
                calendar->scrub_slot = (uint32_t)slot;
                calendar->scrub_list = level->slots[slot];
                calendar->scrubbed = &level->slots[slot];
                level->slots[slot] = NULL;
                calendar->scrub_slot_pass = begin_pass(calendar);
                return true;
            }
        }
        calendar->scrub_level = calendar->scrub_level + 1 < calendar->levels_ready ? calendar->scrub_level + 1 : 0;
        calendar->scrub_slot = 0;
        calendar->scrub_rounds += calendar->scrub_level == 0;
    }
    return false;
}

/*
 * Puts back what was kept of a slot, to the level where it would be filed by now. A timer can have entries for one tick in
 * slots of several levels, filed as the cursor came closer, and each of them seems to count: so they come together in one
 * slot, where the first one seen is enough. (Only where the marks tell the ticks.)
 */
static void put_kept(verge__calendar *calendar, verge__span span, const verge__entry *entries, size_t count) {
    size_t k = calendar->scrub_level;
    verge__list *slot = &calendar->levels[k].slots[calendar->scrub_slot];
    bool can_go_down = !calendar->coarse && !calendar->owner.marks_are_private && calendar->levels[k].shift <= 32;
    for (size_t i = 0; i < count; i++) {
        uint64_t tick = can_go_down ? verge__calendar_entry_tick(calendar, entries[i], span.first) : 0;
        size_t to = can_go_down ? verge__calendar_level(calendar, tick) : k;
        if (to < k) {
            verge__calendar_put_in(calendar, &calendar->levels[to], tick >> calendar->levels[to].shift, entries[i]);
            calendar->entries_moved++;
        } else {
            *slot = verge__calendar_append(calendar, *slot, entries[i]);
            seat_in_slot(calendar, *slot - 1, slot, span);
        }
    }
}

size_t verge__calendar_scrub(verge__calendar *calendar, size_t max) {
    if (calendar->scrub_list == NULL && !scrub_next_slot(calendar)) {
        return 0;
    }
    verge__level *level = &calendar->levels[calendar->scrub_level];
    uint32_t slot = calendar->scrub_slot;
    calendar->scrub_pass = calendar->scrub_slot_pass;
    verge__span span = slot_span(calendar, calendar->scrub_level, slot);
    verge__entry entries[VERGE__CHUNK_ENTRIES];
    size_t kept = 0;
    size_t count = take_and_sift(calendar, &calendar->scrub_list, span, max, entries, &kept);
    put_kept(calendar, span, entries, kept);
    bool is_done = calendar->scrub_list == NULL;
    if (level->slots[slot] == NULL) {
        verge__calendar_slot_emptied(calendar, calendar->scrub_level,
                                     slot); /* what was not sifted yet is the slot's list again */
    }
    if (is_done) {
        calendar->scrub_slot++;
        calendar->scrubbed = NULL;
    }
    return count;
}

size_t verge__calendar_slot_count(const verge__calendar *calendar, size_t level, uint32_t slot) {
    bool scrubbed = verge__calendar_is_scrubbed(calendar, level, slot);
    return verge__list_count(calendar->levels[level].slots[slot]) +
           (scrubbed ? verge__list_count(calendar->scrub_list) : 0);
}
