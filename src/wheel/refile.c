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
 * Gives the entries of all timeouts of a chunk a tick, for which they were set, or the least of those that flock together;
 * false: there is none such, and they have the tick they had. Nearly always it is the same for all, and they are looked at once.
 */
static VERGE__ALWAYS_INLINE bool stamp(const verge_wheel *wheel, const verge__chunk *chunk, uint64_t had,
                                       uint64_t *tick) {
    const verge__record *oldest = &verge__entry_timeout(chunk->entries[0])->record;
    const verge__record *newest = &verge__entry_timeout(chunk->entries[VERGE__CHUNK_ENTRIES - 1])->record;
    bool is_tried = verge__wheel_tick(wheel, oldest->deadline_ns) == *tick &&
                    verge__wheel_tick(wheel, newest->deadline_ns) == *tick;
    if (VERGE__LIKELY(is_tried)) {
        uint64_t first_ns = (*tick << wheel->shift) - wheel->bias_ns; /* the tick's first deadline */
        uint64_t apart_ns = 0;
        uint32_t are_set = VERGE__GENERATION_SET;
        for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
            verge__record *record = &verge__entry_timeout(chunk->entries[i])->record;
            are_set &= record->generation;
            apart_ns |= record->deadline_ns - first_ns;
            record->u.entry_tick = *tick;
        }
        if (VERGE__LIKELY(are_set != 0 && apart_ns >> wheel->shift == 0)) {
            return true;
        }
    }
    bool is_flock = flock_tick(wheel, chunk, tick) && *tick > had;
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES && (is_flock || is_tried); i++) {
        verge__entry_timeout(chunk->entries[i])->record.u.entry_tick = is_flock ? *tick : had;
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
    verge__calendar *calendar = &wheel->calendar;
    uint64_t tick = 0;
    if (is_uniform && chunk->is_ahead && verge__calendar_first_tick(calendar, chunk, &tick) &&
        verge__calendar_may_put_chunk(calendar, tick, chunk)) {
        verge__calendar_put_chunk(calendar, tick, chunk);
        return true;
    }
    if (!is_uniform && !has_timeouts_alone(chunk)) {
        return false;
    }
    tick = verge__wheel_tick(wheel, verge__entry_timeout(chunk->entries[0])->record.deadline_ns);
    if (tick < calendar->cursor || !verge__calendar_may_put_chunk(calendar, tick, chunk) ||
        !stamp(wheel, chunk, wheel->batch_tick, &tick)) {
        return false;
    }
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES && !is_uniform; i++) {
        verge__entry_timeout(chunk->entries[i])->slot = NULL;
    }
    verge__chunk_choose_bellwether(chunk);
    verge__calendar_put_chunk(calendar, tick, chunk);
    return true;
}

size_t verge__wheel_refile_chunks(verge_wheel *wheel, verge__list *list, size_t budget) {
    if (!wheel->is_plain || wheel->batch_is_exact) {
        return 0;
    }
    size_t count = 0;
    verge__chunk *chunk = verge__list_chunk(*list);
    while (chunk != NULL && count + VERGE__CHUNK_ENTRIES <= budget) {
        verge__chunk *below = chunk->below;
        if (below != NULL && !chunk->is_ahead) {
            verge__prefetch_chunk(below->below);
        }
        if (!refile_chunk(wheel, chunk, count > 0 && chunk->is_uniform)) {
            break;
        }
        count += VERGE__CHUNK_ENTRIES;
        chunk = below;
    }
    *list = verge__list_from_full_chunk(chunk);
    wheel->entries_refiled += count;
    return count;
}

/* ---- a chunk, before it comes up ---- */

/* Whether a chunk with entries for a tick that is still to come, of the lowest level, is the newest of its list. */
static bool is_newest(const verge__calendar *calendar, const verge__chunk *chunk, uint64_t tick) {
    const verge__level *lowest = &calendar->levels[0];
    return verge__list_chunk(lowest->slots[(uint32_t)tick & lowest->mask]) == chunk ||
           verge__list_chunk(calendar->scrub_list) == chunk;
}

void verge__wheel_lead_flock(verge_wheel *wheel, verge_timeout *bellwether) {
    const verge__calendar *calendar = &wheel->calendar;
    uint64_t had = verge__calendar_timeout_tick(calendar, bellwether);
    uint64_t tick = verge__wheel_tick(wheel, bellwether->record.deadline_ns);
    verge__chunk *chunk = verge__list_chunk((verge__entry *)bellwether->entry + 1);
    bellwether->record.u.entry_tick = had; /* it leads no more */
    if (!chunk->is_uniform || is_newest(calendar, chunk, had) || tick <= had) {
        return;
    }
    if (stamp(wheel, chunk, had, &tick)) {
        chunk->is_ahead = 1;
    } else { /* they may be set the other way round */
        chunk->begins_last = !chunk->begins_last;
        verge__calendar_mark_bellwether(calendar, chunk, had);
    }
}
