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
    level->occupied[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    if (level->occupied[slot >> 6] == 0) {
        level->summary[slot >> 12] &= ~(UINT64_C(1) << (slot >> 6 & 63));
    }
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

/* A chunk on top of a list that has no room in its newest one; of a slot, that has none or a full one. */
verge__list verge__calendar_add_chunk(verge__calendar *calendar, verge__list end);
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
static inline uint64_t verge__entry_tick(verge__entry entry, uint64_t start) {
    return verge__entry_is_timeout(entry) ? verge__entry_timeout(entry)->record.u.entry_tick
                                          : start + (uint32_t)(verge__entry_mark(entry) - (uint32_t)start);
}

/* A slot's list has become empty: what the scrub holds of it comes back. */
void verge__calendar_slot_emptied(verge__calendar *calendar, size_t k, uint32_t slot);

#endif
