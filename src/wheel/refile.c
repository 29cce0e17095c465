/* SPDX-License-Identifier: MIT */
/* Refiling: of entries that came up, or are about to, before their timer is due. */
#include "wheel/due.h"

/* ---- one entry ---- */

void verge__wheel_refile(verge_wheel *wheel, verge__record *record, verge__entry entry) {
    uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
    tick = tick > wheel->calendar.cursor ? tick : wheel->calendar.cursor;
    if (verge__wheel_keep_past(wheel, record, entry)) {
        return;
    }
    wheel->entries_refiled++;
    if (tick - wheel->calendar.cursor >= wheel->calendar.reach) {
        verge__wheel_put_beyond(wheel, record, entry);
        return;
    }
    if (wheel->is_plain && !verge__entry_is_timeout(entry) &&
        verge__calendar_try_file(&wheel->calendar, tick, verge__entry_index(entry))) {
        record->u.entry_tick = tick;
        return;
    }
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = verge__calendar_round(&wheel->calendar, tick);
        entry = verge__entry_marked(entry, (uint32_t)record->u.entry_tick);
    }
    verge__calendar_put(&wheel->calendar, tick, entry);
}

bool verge__wheel_refile_tick(void *owner, verge__entry *entry, uint64_t *ret_tick) {
    verge_wheel *wheel = owner;
    verge__record *record = verge__wheel_record(wheel, *entry);
    if (!verge__wheel_counts(wheel, record, *entry)) {
        verge__wheel_drop(wheel, record, *entry);
        return false;
    }
    if (verge__wheel_keep_past(wheel, record, *entry)) {
        return false;
    }
    uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
    bool is_simple = wheel->is_plain && tick - wheel->calendar.cursor < wheel->calendar.reach;
    *ret_tick = VERGE__LIKELY(is_simple) ? tick : verge__calendar_round(&wheel->calendar, tick);
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = *ret_tick;
        *entry = verge__entry_marked(*entry, (uint32_t)*ret_tick);
    }
    return true;
}

/* ---- a chunk ---- */

/* Where the wheel is plain and none is out of reach, a timeout that is set needs no more than this. */
size_t verge__wheel_refile_timeouts(void *owner, verge__entry *entries, size_t count, uint64_t *ret_ticks) {
    verge_wheel *wheel = owner;
    uint64_t cursor = wheel->calendar.cursor;
    uint64_t simple_reach = wheel->is_plain ? wheel->calendar.reach : 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        verge__record *record = &verge__entry_timeout(entry)->record;
        uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
        bool counts = true;
        if (VERGE__LIKELY((record->generation != 0) & (tick - cursor < simple_reach))) {
            record->u.entry_tick = tick;
        } else {
            counts = verge__wheel_refile_tick(wheel, &entry, &tick);
        }
        entries[kept] = entry;
        ret_ticks[kept] = tick;
        kept += counts;
    }
    return kept;
}

/* Of timeouts that are set: the least of their ticks, if these flock together. */
static bool flock_tick(const verge_wheel *wheel, const verge__chunk *chunk, uint64_t *ret_tick) {
    verge__flock flock = verge__flock_of(
        verge__wheel_tick(wheel, verge__entry_timeout(chunk->entries[VERGE__CHUNK_ENTRIES - 1])->record.deadline_ns));
    for (size_t i = VERGE__CHUNK_ENTRIES; i-- > 0;) {
        const verge__record *record = &verge__entry_timeout(chunk->entries[i])->record;
        if (record->generation == 0 || !verge__flock_add(&flock, verge__wheel_tick(wheel, record->deadline_ns))) {
            return false;
        }
    }
    *ret_tick = flock.least;
    return flock.least >= wheel->calendar.cursor;
}

/*
 * Gives all timeouts of a chunk the tick of the first as that of their entries, or the least of those that flock together;
 * false: there is none such, and nothing has changed. Nearly always it is the same for all, and they are looked at once.
 */
static VERGE__ALWAYS_INLINE bool stamp(const verge_wheel *wheel, const verge__chunk *chunk, uint64_t *tick) {
    size_t count = 0;
    for (; count < VERGE__CHUNK_ENTRIES; count++) {
        verge__record *record = &verge__entry_timeout(chunk->entries[count])->record;
        if (VERGE__UNLIKELY(record->generation == 0 || verge__wheel_tick(wheel, record->deadline_ns) != *tick)) {
            break;
        }
        record->u.entry_tick = *tick;
    }
    if (VERGE__LIKELY(count == VERGE__CHUNK_ENTRIES)) {
        return true;
    }
    bool is_flock = flock_tick(wheel, chunk, tick);
    for (size_t i = 0; i < (is_flock ? VERGE__CHUNK_ENTRIES : count); i++) {
        verge__entry_timeout(chunk->entries[i])->record.u.entry_tick = is_flock ? *tick : wheel->batch_tick;
    }
    return is_flock;
}

static bool has_timeouts_alone(const verge__chunk *chunk) {
    uint64_t any = 0;
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        any |= chunk->entries[i].word;
    }
    return (any & 1) == 0;
}

/* A full chunk of what has come up. Files it as it is, if all its timeouts were moved on, and together. */
static VERGE__ALWAYS_INLINE bool refile_chunk(verge_wheel *wheel, verge__chunk *chunk, bool is_uniform) {
    const verge__calendar *calendar = &wheel->calendar;
    if (!verge__chunk_pool_may_keep(&calendar->pool, chunk) || (!is_uniform && !has_timeouts_alone(chunk))) {
        return false;
    }
    uint64_t tick = verge__wheel_tick(wheel, verge__entry_timeout(chunk->entries[0])->record.deadline_ns);
    if (tick < calendar->cursor || tick - calendar->cursor >= verge__calendar_ready_reach(calendar) ||
        !stamp(wheel, chunk, &tick)) {
        return false;
    }
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES && !is_uniform; i++) {
        verge__entry_timeout(chunk->entries[i])->slot = NULL;
    }
    verge__calendar_put_chunk(&wheel->calendar, tick, chunk);
    return true;
}

size_t verge__wheel_refile_chunks(verge_wheel *wheel, verge__list *list, size_t budget) {
    if (!wheel->is_plain || wheel->batch_is_exact) {
        return 0;
    }
    size_t count = 0;
    bool is_uniform = false;
    verge__chunk *chunk = verge__list_chunk(*list);
    while (chunk != NULL && count + VERGE__CHUNK_ENTRIES <= budget) {
        verge__chunk *below = chunk->below;
        bool is_below_uniform = chunk->below_is_uniform;
        if (is_below_uniform) {
            verge__prefetch_chunk(below->below);
        }
        if (!refile_chunk(wheel, chunk, is_uniform)) {
            break;
        }
        count += VERGE__CHUNK_ENTRIES;
        chunk = below;
        is_uniform = is_below_uniform;
    }
    *list = verge__list_from_full_chunk(chunk);
    wheel->entries_refiled += count;
    return count;
}
