/* SPDX-License-Identifier: MIT */
/* The calendar's invariants, computed the dumb way. */
#include "wheel/calendar_internal.h"

/* One entry of a slot. */
static const char *check_entry(const verge__calendar *calendar, const verge__list *slot, uint8_t shift,
                               uint64_t position, const verge__entry *entry) {
    uint64_t start = position << shift;
    bool is_timeout = verge__entry_is_timeout(*entry);
    if (is_timeout) {
        const verge_timeout *timeout = verge__entry_timeout(*entry);
        if (timeout->number == 0) {
            return NULL; /* it stands for one that was withdrawn */
        }
        if (timeout->entry != entry || (timeout->slot != NULL && timeout->slot != slot)) {
            return "C9: a timeout knows where its entry is, and its slot if it knows one";
        }
        if ((timeout->record.u.entry_tick & calendar->owner.bellwether) != 0 && timeout->slot != NULL) {
            return "E3: a bellwether knows no slot";
        }
    }
    bool is_known = !calendar->owner.marks_are_private && (is_timeout || shift < 32);
    uint64_t after = verge__calendar_entry_tick(calendar, *entry, start) - start;
    bool may_be_ahead = is_timeout && verge__entry_timeout(*entry)->slot == NULL && after + start >= start;
    if (is_known && after >> shift != 0 && !may_be_ahead) {
        return "C2: an entry lies in the slot that spans its tick";
    }
    return NULL;
}

/* A uniform chunk of a slot. */
static const char *check_uniform(const verge__calendar *calendar, uint8_t shift, uint64_t position,
                                 const verge__chunk *chunk) {
    uint64_t tick = VERGE__NO_TICK;
    if (chunk->is_ahead && shift > 0) {
        return "E3: chunks of the lowest level alone are ahead";
    }
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        if (!verge__entry_is_timeout(chunk->entries[i])) {
            return "E2: a uniform chunk has timeouts alone";
        }
        const verge_timeout *timeout = verge__entry_timeout(chunk->entries[i]);
        if (timeout->number == 0) {
            continue; /* it stands for one that was withdrawn */
        }
        uint64_t its_tick = verge__calendar_timeout_tick(calendar, timeout);
        if (timeout->slot != NULL || (tick != VERGE__NO_TICK && tick != its_tick)) {
            return "E2: the timeouts of a uniform chunk have one tick, and know no slot";
        }
        tick = its_tick;
        if (chunk->is_ahead ? tick <= position : tick >> shift != position) {
            return "E3: the timeouts of a uniform chunk are for its slot or, if it is ahead, for a later one";
        }
    }
    return NULL;
}

/* Checks one slot; adds what it holds to the sums. */
static const char *check_slot(const verge__calendar *calendar, size_t k, uint32_t slot, size_t *entries,
                              size_t *chunks) {
    const verge__level *level = &calendar->levels[k];
    bool scrubbed = verge__calendar_is_scrubbed(calendar, k, slot);
    verge__list lists[2] = {level->slots[slot], scrubbed ? calendar->scrub_list : NULL};
    if (verge__level_is_occupied(level, slot) != (lists[0] != NULL) || (lists[0] == NULL && lists[1] != NULL)) {
        return "C1: a slot's bit is set if and only if its list is not empty";
    }
    for (int i = 0; i < 2; i++) {
        size_t count = verge__list_count(lists[i]);
        *entries += count;
        *chunks += verge__list_chunks(lists[i]);
        uint64_t position =
            (calendar->cursor >> level->shift) + ((slot - (uint32_t)(calendar->cursor >> level->shift)) & level->mask);
        if (count > 0 && position << level->shift < calendar->cursor) {
            return "C3: every slot starts at or after the cursor";
        }
        for (verge__list end = lists[i]; end != NULL;) {
            const verge__chunk *chunk = verge__list_chunk(end);
            size_t in_chunk = verge__list_chunk_count(end);
            if (in_chunk == 0 || (chunk->below != NULL) != (chunk->depth > 0)) {
                return "E1: no chunk of a list is empty, and its depth is the number of those below";
            }
            bool is_uniform = chunk->below != NULL && chunk->below->is_uniform;
            const char *broken = is_uniform ? check_uniform(calendar, level->shift, position, chunk->below) : NULL;
            for (size_t j = 0; j < in_chunk && broken == NULL; j++) {
                broken = check_entry(calendar, &level->slots[slot], level->shift, position, &chunk->entries[j]);
            }
            if (broken != NULL) {
                return broken;
            }
            end = verge__list_from_full_chunk(chunk->below);
        }
    }
    return NULL;
}

const char *verge__calendar_check(const verge__calendar *calendar, size_t owner_entries, size_t owner_chunks) {
    size_t entries = owner_entries;
    size_t chunks = owner_chunks;
    if (calendar->levels_ready > calendar->level_count) {
        return "C7: no level is ready that there is not";
    }
    for (size_t k = 0; k < calendar->level_count; k++) {
        const verge__level *level = &calendar->levels[k];
        if ((level->mask != 0) != (k < calendar->levels_ready)) {
            return "C7: levels below levels_ready have memory";
        }
        if (k < calendar->levels_ready && k >= calendar->levels_used && verge__level_next(level, 0) != VERGE__NO_TICK) {
            return "C8: levels from levels_used on are empty";
        }
        for (uint32_t slot = 0; k < calendar->levels_ready && slot <= level->mask; slot++) {
            const char *broken = check_slot(calendar, k, slot, &entries, &chunks);
            if (broken != NULL) {
                return broken;
            }
        }
    }
    if ((calendar->scrubbed != NULL) != (calendar->scrub_list != NULL)) {
        return "C9: a slot is scrubbed if and only if a scrub holds a part of it";
    }
    if (entries != calendar->entry_count) {
        return "C4: entry_count is the number of entries in all lists";
    }
    if (verge__calendar_next(calendar) < calendar->quiet_until ||
        verge__calendar_next(calendar) < calendar->next_start) {
        return "C5: no slot starts before quiet_until, nor before next_start";
    }
    for (size_t k = 1; k < calendar->levels_ready; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position != VERGE__NO_TICK &&
            (position << level->shift < calendar->upper_quiet || position << level->shift < calendar->upper_start)) {
            return "C5: no slot of an upper level starts before upper_quiet, nor before upper_start";
        }
    }
    if (calendar->entry_count > calendar->entry_capacity || chunks != verge__chunk_pool_used(&calendar->pool) ||
        verge__calendar_chunks_for(calendar, calendar->entry_count) > calendar->pool.chunk_count) {
        return "C6: there is a chunk for every list that the entries could ever form";
    }
    return NULL;
}
