/* SPDX-License-Identifier: MIT */
/* Filing: which slot an entry belongs to, and which slot comes next. */
#include <string.h>

#include "wheel/calendar_internal.h"

/* ---- bits ---- */

/* The first set bit from `from` on, going round; UINT32_MAX if there is none. word_count: 2^n. */
static uint32_t next_bit(const uint64_t *words, uint32_t word_count_, uint32_t from) {
    uint32_t word = from >> 6;
    uint64_t bits = words[word] & (UINT64_MAX << (from & 63));
    for (uint32_t i = 0; bits == 0; i++) {
        if (i == word_count_) {
            return UINT32_MAX;
        }
        word = (word + 1) & (word_count_ - 1);
        bits = words[word];
    }
    return (word << 6) + verge__bit_lowest_index(bits);
}

uint64_t verge__level_next_far(const verge__level *level, uint64_t position) {
    uint32_t from = (uint32_t)position & level->mask;
    uint32_t words = verge__level_words(level);
    uint32_t found = UINT32_MAX;
    uint64_t bits = level->occupied[from >> 6] & (UINT64_MAX << (from & 63));
    if (bits != 0) {
        found = (from & ~UINT32_C(63)) + verge__bit_lowest_index(bits);
    } else {
        uint32_t word = next_bit(level->summary, (words + 63) / 64, ((from >> 6) + 1) & (words - 1));
        if (word != UINT32_MAX) {
            found = (word << 6) + verge__bit_lowest_index(level->occupied[word]);
        }
    }
    return found == UINT32_MAX ? VERGE__NO_TICK : position + ((found - from) & level->mask);
}

uint64_t verge__level_next(const verge__level *level, uint64_t position) {
    return verge__level_next_inline(level, position);
}

uint64_t verge__calendar_next(const verge__calendar *calendar) {
    uint64_t next = VERGE__NO_TICK;
    for (size_t k = 0; k < calendar->levels_used; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position != VERGE__NO_TICK && position << level->shift < next) {
            next = position << level->shift;
            if (k == 0 && calendar->level_count > 1 &&
                next >> calendar->levels[1].shift == calendar->cursor >> calendar->levels[1].shift &&
                (calendar->cursor & verge__bit_mask(calendar->levels[1].shift)) != 0) {
                return next; /* no upper slot starts in between */
            }
        }
    }
    return next;
}

/* ---- lists ---- */

void verge__calendar_list_add(verge__calendar *calendar, verge__list *list, verge__entry entry) {
    *list = verge__calendar_append(calendar, *list, entry);
    calendar->entry_count++;
}

void verge__calendar_list_drop_chunk(verge__calendar *calendar, verge__list *list) {
    verge__calendar_drop_newest_chunk(calendar, list);
}

/* ---- filing ---- */

/* An upper slot gets its first chunk, or a further one. Returns the tick from which on there is something to do. */
static uint64_t note_upper_chunk(verge__calendar *calendar, verge__level *level, uint64_t position, bool is_first) {
    uint64_t start = position << level->shift;
    uint64_t quiet = start;
    if (is_first) {
        calendar->upper_start = start < calendar->upper_start ? start : calendar->upper_start;
    } else if (!calendar->coarse) {
        level->is_deep = true;
        quiet = verge__calendar_drain_begin(calendar, level, position); /* from then on, shares of it are due */
    }
    calendar->upper_quiet = quiet < calendar->upper_quiet ? quiet : calendar->upper_quiet;
    return quiet;
}

/* The same for any; C5. */
static VERGE__ALWAYS_INLINE void note_chunk(verge__calendar *calendar, verge__level *level, uint64_t position) {
    uint32_t slot = (uint32_t)position & level->mask;
    uint64_t start = position << level->shift;
    bool is_first = level->slots[slot] == NULL;
    if (is_first) {
        verge__level_set_occupied(level, slot);
        uint8_t used = (uint8_t)(level - calendar->levels + 1);
        calendar->levels_used = used > calendar->levels_used ? used : calendar->levels_used;
        calendar->next_start = start < calendar->next_start ? start : calendar->next_start;
    }
    uint64_t quiet = level->shift == 0 ? start : note_upper_chunk(calendar, level, position, is_first);
    calendar->quiet_until = quiet < calendar->quiet_until ? quiet : calendar->quiet_until;
}

verge__list verge__calendar_add_slot_chunk(verge__calendar *calendar, verge__level *level, uint64_t position) {
    note_chunk(calendar, level, position);
    return verge__calendar_add_chunk(calendar, level->slots[(uint32_t)position & level->mask]);
}

/* Below the newest, which goes on to be the one where entries come and go. */
void verge__calendar_put_chunk_in(verge__calendar *calendar, verge__level *level, uint64_t tick, verge__chunk *chunk) {
    uint64_t position = tick >> level->shift;
    verge__list *slot = &level->slots[(uint32_t)position & level->mask];
    verge__chunk *newest = *slot == NULL ? NULL : verge__list_chunk(*slot);
    if (level->shift == 0) {
        verge__calendar_mark_bellwether(calendar, chunk, tick);
    }
    chunk->tick_low = tick & ((1 << VERGE__TICK_LOW_BITS) - 1);
    chunk->is_uniform = 1;
    chunk->is_ahead = 0;
    if (newest == NULL || newest->below == NULL) { /* else it is known that the slot has several */
        note_chunk(calendar, level, position);
    }
    if (newest == NULL) {
        chunk->below = NULL;
        chunk->depth = 0;
        *slot = verge__list_from_full_chunk(chunk);
        return;
    }
    chunk->below = newest->below;
    chunk->depth = newest->depth;
    newest->below = chunk;
    newest->depth++;
}

void verge__calendar_put_chunk(verge__calendar *calendar, uint64_t tick, verge__chunk *chunk) {
    verge__level *level = &calendar->levels[verge__calendar_level(calendar, tick)];
    verge__calendar_put_chunk_in(calendar, level, tick, chunk);
}

uint64_t verge__calendar_round(const verge__calendar *calendar, uint64_t tick) {
    tick = tick > calendar->cursor ? tick : calendar->cursor;
    if (tick - calendar->cursor >= calendar->reach) {
        tick = calendar->cursor + calendar->reach - 1;
        if (calendar->coarse) {
            return tick & ~verge__bit_mask(calendar->levels[calendar->level_count - 1].shift);
        }
    }
    if (calendar->coarse) {
        uint64_t mask = verge__bit_mask(calendar->levels[verge__calendar_level(calendar, tick)].shift);
        return (tick + mask) & ~mask;
    }
    return tick;
}

void verge__calendar_put(verge__calendar *calendar, uint64_t tick, verge__entry entry) {
    verge__level *level = &calendar->levels[verge__calendar_level_within_reach(calendar, tick)];
    calendar->entry_count++;
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: entries are filed where room was made");
    verge__calendar_put_in(calendar, level, verge__calendar_round(calendar, tick) >> level->shift, entry);
}

void verge__calendar_put_within_reach(verge__calendar *calendar, uint64_t tick, verge__entry entry) {
    verge__level *level = &calendar->levels[verge__calendar_level(calendar, tick)];
    calendar->entry_count++;
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: entries are filed where room was made");
    verge__calendar_put_in(calendar, level, tick >> level->shift, entry);
}

void verge__calendar_begin_chunk(verge__calendar *calendar, uint64_t tick) {
    verge__level *level = &calendar->levels[verge__calendar_level(calendar, tick)];
    uint64_t position = tick >> level->shift;
    level->slots[(uint32_t)position & level->mask] = verge__calendar_add_slot_chunk(calendar, level, position);
}

/* A timeout leaves its flock: it is no bellwether, and has not gone on any more. */
static void leave_flock(const verge__calendar *calendar, verge_timeout *timeout, unsigned shift, uint64_t position) {
    uint64_t tick = verge__calendar_timeout_tick(calendar, timeout);
    timeout->record.u.entry_tick = tick >> shift == position ? tick : position << shift;
}

void verge__calendar_put_slot(verge__calendar *calendar, size_t k, uint64_t position, verge__entry entry) {
    verge__level *level = &calendar->levels[k];
    if (verge__entry_is_timeout(entry) && !calendar->owner.marks_are_private) {
        leave_flock(calendar, verge__entry_timeout(entry), level->shift, position);
    }
    calendar->entry_count++;
    verge__calendar_put_in(calendar, level, position, entry);
}

/* ---- all of it ---- */

void verge__calendar_list_clear(verge__calendar *calendar, verge__list *list) {
    calendar->entry_count -= verge__list_count(*list);
    while (*list != NULL) {
        verge__calendar_list_drop_chunk(calendar, list);
    }
}

void verge__calendar_reset(verge__calendar *calendar, uint64_t first_tick) {
    verge__calendar_list_clear(calendar, &calendar->scrub_list);
    calendar->scrubbed = NULL;
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        verge__level *level = &calendar->levels[k];
        for (uint32_t slot = 0; slot <= level->mask; slot++) {
            verge__calendar_list_clear(calendar, &level->slots[slot]);
        }
        memset(level->occupied, 0, verge__level_words(level) * sizeof(uint64_t));
        memset(level->summary, 0, (verge__level_words(level) + 63) / 64 * sizeof(uint64_t));
    }
    memset(calendar->drained_to, 0, sizeof(calendar->drained_to)); /* also of levels that are not ready any more */
    calendar->cursor = first_tick;
    calendar->quiet_until = VERGE__NO_TICK;
    calendar->next_start = VERGE__NO_TICK;
    calendar->upper_start = VERGE__NO_TICK;
    calendar->upper_quiet = VERGE__NO_TICK;
}
