/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a calendar by computing everything again, in the simplest way. */
#include "calendar/level.h"

typedef struct entry_counts {
    const verge__calendar *calendar;
    verge__calendar_look *look;
    void *context;
    size_t entries;
    size_t chunks;
} entry_counts;

/* One entry, which lies in a slot that starts at `start`; NO_TICK: in a list of the owner's. */
static const char *check_entry(entry_counts *counts, const verge__entry *entry, uint64_t start, unsigned near_tag) {
    const verge__node *node = verge__calendar_node(counts->calendar, *entry);
    counts->entries++;
    if (node->place != ((uintptr_t)entry | near_tag)) {
        return "C2: a node with an entry knows its place";
    }
    if (near_tag != 0 && node->filed != (uint32_t)start) {
        return "C2: the slot of a near entry starts at `filed`";
    }
    const verge__level *level = &counts->calendar->levels[near_tag >> 1];
    if (near_tag != 0 && (node->filed >> level->shift & level->mask) != verge__chunk_of(entry)->slot) {
        return "C2: the list of a near entry follows from its node";
    }
    return counts->look == NULL ? NULL : counts->look(counts->context, *entry, node, start);
}

static const char *check_list(entry_counts *counts, verge__list list, size_t level, uint32_t slot, uint64_t start,
                              unsigned near_tag) {
    const verge__chunk *above = NULL;
    for (verge__list end = list; end != NULL;) {
        verge__chunk *chunk = verge__list_chunk(end);
        counts->chunks++;
        if (above != NULL && (above->depth != chunk->depth + 1)) {
            return "L1: a chunk's depth is the number of chunks below";
        }
        if (chunk->level != level || chunk->slot != slot) {
            return "L2: each chunk names its list";
        }
        for (const verge__entry *entry = chunk->entries; entry < end; entry++) {
            const char *broken = check_entry(counts, entry, start, near_tag);
            if (broken != NULL) {
                return broken;
            }
        }
        above = chunk;
        end = verge__list_from_full_chunk(chunk->below);
    }
    return above != NULL && above->depth != 0 ? "L1: the oldest chunk of a list has none below" : NULL;
}

/* Every tick of an entry lies at or after the slot's start, but for those that were rounded up. So what matters is that
 * the slot starts no later than the entry's timer is due; the owner knows by how much it rounds. */
static const char *check_level(entry_counts *counts, size_t k) {
    const verge__calendar *calendar = counts->calendar;
    const verge__level *level = &calendar->levels[k];
    uint64_t first = calendar->cursor >> level->shift;
    for (uint32_t i = 0; i <= level->mask; i++) {
        uint64_t position = first + i;
        uint32_t slot = (uint32_t)position & level->mask;
        uint64_t start = position << level->shift;
        verge__list list = level->slots[slot];
        if ((list != NULL) != (level->occupied[slot >> 6] >> (slot & 63) & 1)) {
            return "C1: a slot's bit is set if and only if its list is not empty";
        }
        if (list == NULL) {
            continue;
        }
        bool is_due = &level->slots[slot] == calendar->due_slot;
        if (is_due) {
            start = calendar->cursor - 1;
        } else if (start < calendar->cursor) {
            return "C3: every slot starts at or after the cursor";
        }
        if (start < calendar->quiet_until || (k > 0 && start < calendar->upper_quiet)) {
            return "C5: nothing happens before quiet_until";
        }
        if (k >= calendar->levels_used) {
            return "C7: levels from levels_used on are empty";
        }
        const char *broken = check_list(counts, list, k, slot, start, level->near_tag);
        if (broken != NULL) {
            return broken;
        }
    }
    return NULL;
}

const char *verge__calendar_check(const verge__calendar *calendar, verge__calendar_look *look, void *context) {
    entry_counts counts = {.calendar = calendar, .look = look, .context = context};
    const char *broken = NULL;
    for (size_t k = 0; k < calendar->level_count && broken == NULL; k++) {
        broken = check_level(&counts, k);
    }
    for (uint32_t own = 0; own < VERGE__OWN_LISTS && broken == NULL; own++) {
        broken = check_list(&counts, calendar->own[own], VERGE__OWN_LEVEL, own, VERGE__NO_TICK, 0);
    }
    if (broken != NULL) {
        return broken;
    }
    if (counts.entries != calendar->entry_count) {
        return "C4: entry_count is the number of entries";
    }
    if (counts.chunks != calendar->pool.used_count) {
        return "C6: each chunk in use belongs to a list";
    }
    return calendar->entry_count > calendar->entry_capacity ? "C6: entries are filed where room was made" : NULL;
}
