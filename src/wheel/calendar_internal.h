/* SPDX-License-Identifier: MIT */
/* wheel/calendar_internal.h - what the files of the calendar share: the bits of a level, filing in a slot. */
#ifndef VERGE_SRC_WHEEL_CALENDAR_INTERNAL_H
#define VERGE_SRC_WHEEL_CALENDAR_INTERNAL_H

#include "base/assert.h"
#include "wheel/calendar.h"

/* ---- bits ---- */

static inline uint32_t verge__level_words(const verge__level *level) {
    return (level->mask >> 6) + 1;
}

static inline bool verge__level_is_occupied(const verge__level *level, uint32_t slot) {
    return (level->occupied[slot >> 6] >> (slot & 63) & 1) != 0;
}

static inline void verge__level_set_occupied(verge__level *level, uint32_t slot) {
    level->occupied[slot >> 6] |= UINT64_C(1) << (slot & 63);
    level->summary[slot >> 12] |= UINT64_C(1) << (slot >> 6 & 63);
}

static inline void verge__level_clear_occupied(verge__level *level, uint32_t slot) {
    uint64_t left = level->occupied[slot >> 6] & ~(UINT64_C(1) << (slot & 63));
    uint64_t is_word_empty = left == 0; /* either way as likely: no branch */
    level->occupied[slot >> 6] = left;
    level->summary[slot >> 12] &= ~(is_word_empty << (slot >> 6 & 63));
}

/* The same where there is none, or the summary has several words. */
uint64_t verge__level_next_far(const verge__level *level, uint64_t position);

/* verge__level_next: within the word of bits of the position or, if there is no further one in it, by the summary. Either is as
 * likely where there are few timers, so there is no branch if the summary has a single word. */
static VERGE__ALWAYS_INLINE uint64_t verge__level_next_inline(const verge__level *level, uint64_t position) {
    uint64_t words = *level->summary;
    if (VERGE__UNLIKELY(level->mask >> 12 != 0 || words == 0)) {
        return verge__level_next_far(level, position);
    }
    uint32_t from = (uint32_t)position & level->mask;
    uint32_t word = from >> 6;
    uint64_t bits = level->occupied[word] & (UINT64_MAX << (from & 63));
    uint64_t after = words & (~UINT64_C(1) << word);
    uint32_t other = verge__bit_lowest_index(after != 0 ? after : words);
    uint64_t other_bits = level->occupied[other];
    VERGE__IS_NEEDED(other_bits);
    word = bits != 0 ? word : other;
    bits = bits != 0 ? bits : other_bits;
    return position + (((word << 6) + verge__bit_lowest_index(bits) - from) & level->mask);
}

/* ---- levels and room ---- */

/* The level for a tick at or after the cursor; the highest, if it is too far. */
static inline size_t verge__calendar_level_within_reach(const verge__calendar *calendar, uint64_t tick) {
    tick = tick > calendar->cursor ? tick : calendar->cursor;
    size_t level = verge__calendar_level(calendar, tick);
    return level < calendar->level_count ? level : (size_t)calendar->level_count - 1;
}

/* How many chunks so many entries need at the most. */
size_t verge__calendar_chunks_for(const verge__calendar *calendar, size_t entries);

/*
 * The tick from which on a slot of several chunks is drained: that in which the block before it begins; where there are
 * timeouts, and the owner can drain as much as it likes, an eighth of the slot's width before it, but at least 32 ticks, so
 * that shares stay small. The later that is, the more timeouts were cleared or set later by then and need not come down.
 * Entries of records come down without a look.
 */
static inline uint64_t verge__calendar_drain_begin(const verge__calendar *calendar, const verge__level *level,
                                                   uint64_t position) {
    enum { PART_SHIFT = 3, TICKS_SHIFT = 5 };
    unsigned shift = level->shift;
    if (calendar->has_timeouts && !calendar->owner.work_is_limited && shift > TICKS_SHIFT) {
        shift = shift > PART_SHIFT + TICKS_SHIFT ? shift - PART_SHIFT : TICKS_SHIFT;
    }
    return (position << level->shift) - (UINT64_C(1) << shift);
}

/* ---- lists ---- */

/* A chunk on top of a list that has no room in its newest one. */
static inline verge__list verge__calendar_add_chunk(verge__calendar *calendar, verge__list end) {
    verge__chunk *chunk = verge__chunk_pool_take(&calendar->pool);
    verge__chunk *below = end == NULL ? NULL : verge__list_chunk(end);
    chunk->below = below;
    chunk->depth = 0;
    if (below != NULL) {
        chunk->depth = below->depth + 1;
        below->is_uniform = 0; /* entries have come and gone there */
    }
    return chunk->entries;
}

/* The same for a slot, that has none or a full one. */
verge__list verge__calendar_add_slot_chunk(verge__calendar *calendar, verge__level *level, uint64_t position);

/* Files a uniform chunk, a full one, in the slot of a level that spans its tick. */
void verge__calendar_put_chunk_in(verge__calendar *calendar, verge__level *level, uint64_t tick, verge__chunk *chunk);

static VERGE__ALWAYS_INLINE verge__list verge__calendar_append(verge__calendar *calendar, verge__list end,
                                                               verge__entry entry) {
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
        end = verge__calendar_add_chunk(calendar, end);
    }
    *end = entry;
    verge__entry_seat(end, NULL);
    return end + 1;
}

static VERGE__ALWAYS_INLINE void verge__calendar_put_in(verge__calendar *calendar, verge__level *level,
                                                        uint64_t position, verge__entry entry) {
    verge__list *slot = &level->slots[(uint32_t)position & level->mask];
    verge__list end = *slot;
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
        end = verge__calendar_add_slot_chunk(calendar, level, position);
    }
    *end = entry;
    verge__entry_seat(end, slot);
    *slot = end + 1;
}

/* The tick of an entry whose slot starts at `start`. */
static inline uint64_t verge__calendar_entry_tick(const verge__calendar *calendar, verge__entry entry, uint64_t start) {
    return verge__entry_is_timeout(entry) ? verge__calendar_timeout_tick(calendar, verge__entry_timeout(entry))
                                          : start + (uint32_t)(verge__entry_mark(entry) - (uint32_t)start);
}

/* A slot's list has become empty: what the scrub holds of it comes back. */
void verge__calendar_slot_emptied(verge__calendar *calendar, size_t k, uint32_t slot);

#endif
