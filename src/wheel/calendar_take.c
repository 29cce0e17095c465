/* SPDX-License-Identifier: MIT */
/* Taking what has come, and draining upper slots before they are needed. */
#include "base/probes.h"
#include "wheel/calendar_short.h"

/* ---- taking ---- */

/* A slot's list has become empty: what the scrub holds of it comes back. */
void verge__calendar_slot_emptied(verge__calendar *calendar, size_t k, uint32_t slot) {
    verge__level *level = &calendar->levels[k];
    if (verge__calendar_is_scrubbed(calendar, k, slot)) {
        level->slots[slot] = calendar->scrub_list;
        calendar->scrub_list = NULL;
        calendar->scrubbed = NULL;
    } else {
        level->slots[slot] = NULL;
        verge__level_clear_occupied(level, slot);
        if (k > 0) {
            calendar->upper_quiet = 0; /* to be found anew: upper_start may have been this slot's */
        }
    }
}

/* Takes a part of a slot: usually all of it, but first what was sifted of a slot under scrub. */
static verge__list take_list(verge__calendar *calendar, size_t k, uint32_t slot) {
    verge__list list = calendar->levels[k].slots[slot];
    verge__calendar_slot_emptied(calendar, k, slot);
    return list;
}

verge__list verge__calendar_take_slot(verge__calendar *calendar, size_t level, uint32_t slot) {
    verge__list list = take_list(calendar, level, slot);
    if (calendar->levels[level].slots[slot] != NULL) {
        verge__list rest = take_list(calendar, level, slot);
        while (rest != NULL) {
            const verge__chunk *chunk = verge__list_chunk(rest);
            for (size_t i = verge__list_chunk_count(rest); i-- > 0;) {
                list = verge__calendar_append(calendar, list, chunk->entries[i]);
            }
            verge__calendar_list_drop_chunk(calendar, &rest);
        }
    }
    calendar->entry_count -= verge__list_count(list);
    return list;
}

void verge__calendar_withdraw(verge__calendar *calendar, const verge_timeout *timeout) {
    verge__list *slot = timeout->slot;
    verge__entry *place = timeout->entry;
    verge__entry *newest = *slot - 1;
    *place = *newest;
    if (verge__entry_is_timeout(*place)) {
        verge__entry_timeout(*place)->entry = place;
    }
    calendar->entry_count--;
    if (!verge__list_is_first_of_chunk(newest)) {
        *slot = newest;
        return;
    }
    verge__calendar_list_drop_chunk(calendar, slot);
    for (size_t k = 0; k < calendar->levels_ready && *slot == NULL; k++) {
        size_t offset = (size_t)((uintptr_t)slot - (uintptr_t)calendar->levels[k].slots) / sizeof(*slot);
        if (offset <= calendar->levels[k].mask) {
            verge__calendar_slot_emptied(calendar, k, (uint32_t)offset);
        }
    }
}

/* Files entries, all of them in one level. The low bits of their ticks, which are their marks, tell the slot. */
static void scatter_to(verge__calendar *calendar, verge__level *level, uint64_t start, const verge__entry *entries,
                       size_t count) {
    verge__list *slots = level->slots;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        uint32_t mark = verge__entry_mark(entry);
        verge__list *slot = &slots[mark >> level->shift & level->mask];
        verge__list end = *slot;
        if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
            end = verge__calendar_add_slot_chunk(calendar, level,
                                                 (start + (uint32_t)(mark - (uint32_t)start)) >> level->shift);
        }
        *end = entry;
        *slot = end + 1;
    }
}

/* The same for the lowest, most of whose slots are empty when there are few timers. Nothing has to be noted of a first chunk
 * (C5): the slot that is drained starts no later, and the level is used if one above is. */
static void scatter_to_lowest(verge__calendar *calendar, const verge__entry *entries, size_t count) {
    verge__level *level = &calendar->levels[0];
    verge__list *slots = level->slots;
    uint32_t mask = level->mask;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        uint32_t slot = verge__entry_mark(entry) & mask;
        verge__list end = slots[slot];
        if (verge__list_needs_chunk(end)) {
            if (end == NULL) {
                verge__level_set_occupied(level, slot);
            }
            end = verge__calendar_add_chunk(calendar, end);
        }
        *end = entry;
        slots[slot] = end + 1;
    }
}

static void scatter_one(verge__calendar *calendar, size_t k, uint64_t start, verge__entry entry) {
    uint64_t tick = verge__calendar_entry_tick(calendar, entry, start);
    size_t to = verge__calendar_level(calendar, tick);
    verge__level *level = &calendar->levels[to < k ? to : k - 1];
    verge__calendar_put_in(calendar, level, tick >> level->shift, entry);
}

/* Files the entries of one chunk of level k, whose slot starts at `start`, in the levels below: all in the
 * level right below, unless the slot comes so soon that some of them can go deeper. */
static void scatter(verge__calendar *calendar, size_t k, uint64_t start, const verge__entry *entries, size_t count) {
    verge__level *below = &calendar->levels[k - 1];
    if (k == 1) {
        scatter_to_lowest(calendar, entries, count);
        return;
    }
    bool is_soon = verge__calendar_level(calendar, start) < k - 1;
    if (!is_soon && below->shift < 32 && below->mask <= UINT32_MAX >> below->shift) {
        scatter_to(calendar, below, start, entries, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        scatter_one(calendar, k, start, entries[i]);
    }
}

/* The level for a tick of a slot of level k that is drained, or for a later one. */
static size_t level_to_drain_to(const verge__calendar *calendar, size_t k, uint64_t position, uint64_t tick) {
    size_t to = verge__calendar_level(calendar, tick);
    return to >= k && tick >> calendar->levels[k].shift == position ? k - 1 : to;
}

/* The same for one of which only its owner knows the tick, which may lie in a later slot by now. */
static void scatter_at(verge__calendar *calendar, size_t k, uint64_t position, uint64_t tick, verge__entry entry) {
    verge__level *level = &calendar->levels[level_to_drain_to(calendar, k, position, tick)];
    verge__calendar_put_in(calendar, level, tick >> level->shift, entry);
}

static void scatter_far_one(verge__calendar *calendar, size_t k, uint64_t position, verge__entry entry) {
    uint64_t tick = 0;
    if (calendar->owner.refile(calendar->owner.context, &entry, &tick)) {
        scatter_at(calendar, k, position, tick, entry);
    } else {
        calendar->entry_count--;
    }
}

/* The same for any entries. */
static void scatter_any(verge__calendar *calendar, size_t k, uint64_t position, const verge__entry *entries,
                        size_t count) {
    uint64_t start = position << calendar->levels[k].shift;
    bool marks_tell = calendar->levels[k].shift <= 32 && !calendar->owner.marks_are_private;
    for (size_t i = 0; i < count; i++) {
        if (marks_tell && !verge__entry_is_timeout(entries[i])) {
            scatter_one(calendar, k, start, entries[i]);
        } else {
            scatter_far_one(calendar, k, position, entries[i]);
        }
    }
}

/* Files a chunk as it is, if its ticks flock together. */
static bool move_chunk(verge__calendar *calendar, size_t k, uint64_t position, verge__chunk *chunk,
                       const uint64_t ticks[VERGE__CHUNK_ENTRIES]) {
    verge__flock flock = verge__flock_of(ticks[0]);
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        if (!verge__flock_add(&flock, ticks[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        verge_timeout *timeout = verge__entry_timeout(chunk->entries[i]);
        timeout->record.u.entry_tick = flock.least;
        timeout->slot = NULL;
    }
    verge__chunk_choose_bellwether(chunk);
    verge__level *level = &calendar->levels[level_to_drain_to(calendar, k, position, flock.least)];
    verge__calendar_put_chunk_in(calendar, level, flock.least, chunk);
    return true;
}

/* The same for timeouts. Each is looked at, and told where its entry is: so one that was moved on does not come down, but goes
 * to where it belongs. False: they went on together, with their chunk. */
static bool scatter_timeouts(verge__calendar *calendar, size_t k, uint64_t position, verge__entry *entries,
                             size_t count) {
    uint64_t ticks[VERGE__CHUNK_ENTRIES];
    size_t kept = calendar->owner.refile_timeouts(calendar->owner.context, entries, count, ticks);
    calendar->entry_count -= count - kept;
    verge__chunk *chunk = verge__list_chunk(entries + count);
    if (kept == VERGE__CHUNK_ENTRIES && !calendar->owner.marks_are_private &&
        verge__chunk_pool_may_keep(&calendar->pool, chunk) && move_chunk(calendar, k, position, chunk, ticks)) {
        return false;
    }
    const verge__level below = calendar->levels[k - 1];
    uint64_t below_reach = UINT64_C(1) << (below.shift + below.bits);
    unsigned shift = calendar->levels[k].shift;
    for (size_t i = 0; i < kept; i++) {
        uint64_t tick = ticks[i];
        bool is_below = tick >> shift == position && tick - calendar->cursor >= below_reach; /* as scatter_at has it */
        verge__list *slot = is_below ? &below.slots[(uint32_t)(tick >> below.shift) & below.mask]
                                     : verge__calendar_slot(calendar, tick);
        verge__list end = *slot;
        if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
            scatter_at(calendar, k, position, tick, entries[i]);
        } else {
            *end = entries[i];
            verge__entry_seat(end, slot);
            *slot = end + 1;
        }
    }
    return true;
}

/* Of which kinds entries are. */
typedef struct verge__kinds {
    bool has_timeouts;
    bool has_records;
} kinds;

static kinds kinds_of(const verge__entry *entries, size_t count) {
    uint64_t all = 1;
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        all &= entries[i].word;
        any |= entries[i].word;
    }
    return (kinds){.has_timeouts = (all & 1) == 0, .has_records = (any & 1) != 0};
}

static VERGE__ALWAYS_INLINE void prefetch_timeouts(const verge__chunk *chunk) {
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        if (verge__entry_is_timeout(chunk->entries[i])) {
            VERGE__PREFETCH_WRITE(verge__entry_timeout(chunk->entries[i]));
        }
    }
}

/* The tick of a uniform chunk of a slot. False: its first entry, which has to be asked, is nobody's. */
static VERGE__ALWAYS_INLINE bool uniform_tick(const verge__calendar *calendar, const verge__chunk *chunk,
                                              unsigned shift, uint64_t position, uint64_t *ret_tick) {
    if (VERGE__LIKELY(shift <= VERGE__TICK_LOW_BITS)) {
        *ret_tick = (position << shift) + (chunk->tick_low & verge__bit_mask(shift));
        return true;
    }
    return verge__calendar_first_tick(calendar, chunk, ret_tick);
}

/* Files the chunk below the newest one of a slot in the levels below, as it is. False: its tick is not known, it has to be
 * looked at as any. */
static bool lower_uniform(verge__calendar *calendar, size_t k, uint64_t position, verge__chunk *newest) {
    verge__chunk *chunk = newest->below;
    uint64_t tick = 0;
    if (!uniform_tick(calendar, chunk, calendar->levels[k].shift, position, &tick)) {
        return false;
    }
    newest->below = chunk->below;
    newest->depth--;
    if (chunk->below != NULL) {
        VERGE__PREFETCH(chunk->below->below);
    }
    verge__level *level = &calendar->levels[level_to_drain_to(calendar, k, position, tick)];
    verge__calendar_put_chunk_in(calendar, level, tick, chunk);
    VERGE__PROBE3(cascade, calendar->owner.context, k, VERGE__CHUNK_ENTRIES);
    return true;
}

/* Of a slot, so many chunks' records are brought towards the cache when they are drained: those of slots with more come up
 * later. */
enum { PREFETCH_CHUNKS = 4 };

/* Drains up to `chunks` chunks of a slot. False: the budget ran out first. */
static bool drain(verge__calendar *calendar, size_t k, uint64_t position, size_t chunks, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)position & level->mask;
    for (; chunks > 0 && verge__level_is_occupied(level, slot); chunks--) {
        verge__list list = level->slots[slot];
        verge__chunk *chunk = verge__list_chunk(list);
        size_t count = verge__list_chunk_count(list);
        size_t moved = count < *budget ? count : *budget;
        if (moved == 0) {
            return false;
        }
        if (calendar->has_timeouts && chunk->below != NULL && chunk->below->is_uniform &&
            *budget >= VERGE__CHUNK_ENTRIES && lower_uniform(calendar, k, position, chunk)) {
            *budget -= VERGE__CHUNK_ENTRIES;
            calendar->entries_moved += VERGE__CHUNK_ENTRIES;
            continue;
        }
        *budget -= moved;
        calendar->entries_moved += moved;
        VERGE__PROBE3(cascade, calendar->owner.context, k, moved);
        /* Off the list first: refiling may put an entry back into this very slot. */
        if (moved < count) {
            level->slots[slot] = list - moved;
        } else if (chunk->below == NULL) {
            verge__calendar_slot_emptied(calendar, k, slot);
        } else {
            level->slots[slot] = verge__list_from_full_chunk(chunk->below);
        }
        kinds kinds_ = calendar->has_timeouts ? kinds_of(list - moved, moved) : (kinds){.has_records = true};
        if (chunk->depth < PREFETCH_CHUNKS && (k <= 2 || kinds_.has_timeouts) &&
            calendar->entry_count > VERGE__PREFETCH_ENTRIES_MIN) {
            calendar->owner.prefetch(calendar->owner.context, list - moved, moved);
        }
        if (kinds_.has_timeouts && chunk->below != NULL) {
            prefetch_timeouts(chunk->below);
        }
        if (!kinds_.has_records) {
            if (!scatter_timeouts(calendar, k, position, list - moved, moved)) {
                continue;
            }
        } else if (level->shift <= 32 && !calendar->owner.marks_are_private && !kinds_.has_timeouts) {
            scatter(calendar, k, position << level->shift, list - moved, moved);
        } else {
            scatter_any(calendar, k, position, list - moved, moved);
        }
        if (moved < count) {
            return false;
        }
        verge__chunk_pool_give(&calendar->pool, chunk);
    }
    return true;
}

static bool slot_starts_at(const verge__level *level, uint64_t tick) {
    return (tick & verge__bit_mask(level->shift)) == 0 &&
           verge__level_is_occupied(level, (uint32_t)(tick >> level->shift) & level->mask);
}

bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget) {
    for (size_t k = calendar->levels_used; k-- > 1;) {
        if (slot_starts_at(&calendar->levels[k], calendar->cursor) &&
            !drain(calendar, k, calendar->cursor >> calendar->levels[k].shift, SIZE_MAX, budget)) {
            return false;
        }
    }
    return true;
}

/* Takes the slot of a level that starts at the cursor; false if it is empty. */
static bool take_start(verge__calendar *calendar, size_t k, verge__taken *ret_taken) {
    const verge__level *level = &calendar->levels[k];
    if (!slot_starts_at(level, calendar->cursor)) {
        return false;
    }
    uint32_t slot = (uint32_t)(calendar->cursor >> level->shift) & level->mask;
    *ret_taken = (verge__taken){.pile.list = take_list(calendar, k, slot), .tick = calendar->cursor};
    if (level->slots[slot] != NULL) { /* what is left to sift */
        ret_taken->pile.sifted = ret_taken->pile.list;
        ret_taken->pile.list = take_list(calendar, k, slot);
        ret_taken->pile.scrub_pass = calendar->scrub_slot_pass;
    }
    calendar->cursor += k == 0; /* level 0 is the last to be taken */
    return true;
}

/* Takes the next tick before target where the upper levels are quiet until then. */
static bool take_lowest(verge__calendar *calendar, uint64_t target, verge__taken *ret_taken) {
    bool is_known = calendar->next_start >= calendar->cursor;
    uint64_t next =
        is_known && calendar->next_start >= target ? target : verge__level_next(&calendar->levels[0], calendar->cursor);
    calendar->cursor = next < target ? next : target;
    return next < target && take_start(calendar, 0, ret_taken);
}

static bool take_any(verge__calendar *calendar, uint64_t target, size_t *budget, verge__taken *ret_taken) {
    /* Where next_start lies ahead, it need not be searched for. There may be nothing any more. */
    bool is_known = calendar->next_start >= calendar->cursor;
    for (; calendar->cursor < target; is_known = false) {
        uint64_t next = is_known ? calendar->next_start : verge__calendar_next(calendar);
        if (next >= target) {
            calendar->cursor = target;
            return false;
        }
        VERGE__INVARIANT(next >= calendar->cursor, "C3: every slot starts at or after the cursor");
        calendar->cursor = next;
        if (!calendar->coarse && !verge__calendar_open_cursor(calendar, budget)) {
            return false;
        }
        for (size_t k = calendar->coarse ? calendar->levels_used : 1; k-- > 0;) {
            if (take_start(calendar, k, ret_taken)) {
                return true;
            }
        }
        calendar->cursor = next + 1; /* it has nothing, or no longer: what started there was drained */
    }
    return false;
}

bool verge__calendar_take(verge__calendar *calendar, uint64_t target, size_t *budget, verge__taken *ret_taken) {
    return target <= calendar->upper_quiet && calendar->cursor < target ? take_lowest(calendar, target, ret_taken)
                                                                        : take_any(calendar, target, budget, ret_taken);
}

/* ---- shares ---- */

/* With those that a scrub holds. */
static size_t slot_chunks(const verge__calendar *calendar, size_t k, uint32_t slot) {
    bool scrubbed = verge__calendar_is_scrubbed(calendar, k, slot);
    return verge__list_chunks(calendar->levels[k].slots[slot]) +
           (scrubbed ? verge__list_chunks(calendar->scrub_list) : 0);
}

/*
 * The share of the next slot of level k that is due: of m chunks, drained from verge__calendar_drain_begin
 * to its start, those for the ticks since the last share. Powers of two in place of a
 * division: at most twice too early, never too late. A slot of a single chunk waits for its start.
 * Returns the tick of the next share.
 */
static uint64_t drain_share(verge__calendar *calendar, size_t k, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint64_t position = (calendar->cursor >> level->shift) + 1;
    uint32_t slot = (uint32_t)position & level->mask;
    if (!verge__level_is_occupied(level, slot)) {
        return VERGE__NO_TICK;
    }
    uint64_t begin = verge__calendar_drain_begin(calendar, level, position);
    size_t chunks = slot_chunks(calendar, k, slot);
    if (chunks < 2) {
        return VERGE__NO_TICK;
    }
    if (calendar->cursor < begin) {
        return begin;
    }
    uint64_t from = calendar->drained_to[k] > begin ? calendar->drained_to[k] : begin;
    uint64_t left = (position << level->shift) - from;
    unsigned left_log = verge__bit_floor_index(left);
    unsigned chunks_log = verge__bit_floor_index(chunks) + 1;
    uint64_t interval = left_log > chunks_log ? UINT64_C(1) << (left_log - chunks_log) : 1;
    uint64_t elapsed = calendar->cursor - from;
    if (elapsed >= interval) {
        unsigned scale = left_log > 32 ? left_log - 32 : 0;
        uint64_t share = ((chunks * (elapsed >> scale)) >> (left_log - scale)) + 1;
        if (!drain(calendar, k, position, (size_t)share, budget)) {
            return calendar->cursor;
        }
        calendar->drained_to[k] = calendar->cursor;
        return calendar->cursor + interval;
    }
    return from + interval;
}

/* The same of all upper levels, and when the next is due. */
static void settle_upper(verge__calendar *calendar, size_t *budget) {
    uint64_t quiet = VERGE__NO_TICK;
    for (size_t k = calendar->levels_used; k-- > 1;) {
        if (calendar->levels[k].is_deep) {
            uint64_t share = drain_share(calendar, k, budget);
            quiet = share < quiet ? share : quiet;
        }
    }
    size_t used = 1;
    uint64_t upper_start = VERGE__NO_TICK;
    for (size_t k = 1; k < calendar->levels_used; k++) {
        verge__level *level = &calendar->levels[k];
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position == VERGE__NO_TICK) {
            level->is_deep = false;
            continue;
        }
        used = k + 1;
        VERGE__PREFETCH(level->slots[(uint32_t)position & level->mask] - 1); /* to be drained next */
        uint64_t start = position << level->shift;
        upper_start = start < upper_start ? start : upper_start;
        /* The shares of a slot of several chunks become due some time before. */
        if (level->is_deep && slot_chunks(calendar, k, (uint32_t)position & level->mask) > 1) {
            uint64_t begin = verge__calendar_drain_begin(calendar, level, position);
            start = begin > calendar->cursor ? begin : start;
        }
        quiet = start < quiet ? start : quiet;
    }
    calendar->levels_used = (uint8_t)used;
    calendar->upper_start = upper_start;
    calendar->upper_quiet = quiet;
}

size_t verge__calendar_open_upper(verge__calendar *calendar, uint64_t tick) {
    size_t budget = SIZE_MAX;
    calendar->cursor = tick;
    (void)verge__calendar_open_cursor(calendar, &budget);
    calendar->cursor = tick + 1;
    settle_upper(calendar, &budget);
    calendar->cursor = tick;
    return SIZE_MAX - budget;
}

void verge__calendar_settle(verge__calendar *calendar, size_t *budget) {
    if (calendar->cursor > calendar->upper_quiet) {
        settle_upper(calendar, budget);
    }
    verge__calendar_settle_lowest(calendar);
}
