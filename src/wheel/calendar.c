/* SPDX-License-Identifier: MIT */
#include "wheel/calendar.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

enum { CHUNKS_UNDER_WAY = 4 };

/* ---- life ---- */

static void forget_level(verge__calendar *calendar, verge__level *level) {
    level->slots = &calendar->no_slot;
    level->mask = 0;
    level->occupied = &calendar->no_bits;
    level->summary = &calendar->no_bits;
}

void verge__calendar_init(verge__calendar *calendar, const verge_wheel_level *levels, size_t level_count, bool coarse,
                          uint64_t first_tick, size_t spare_lists, const verge_allocator *allocator,
                          verge__calendar_owner owner) {
    *calendar = (verge__calendar){
        .cursor = first_tick,
        .quiet_until = VERGE__NO_TICK,
        .next_start = VERGE__NO_TICK,
        .level_count = (uint8_t)level_count,
        .coarse = coarse,
        .spare_lists = spare_lists,
        .list_count = spare_lists,
        .owner = owner,
    };
    verge__chunk_pool_init(&calendar->pool, allocator);
    unsigned bit = 0;
    for (size_t k = 0; k < level_count; k++) {
        verge__level *level = &calendar->levels[k];
        level->shift = (uint8_t)(levels[k].shift - levels[0].shift);
        level->bits = levels[k].bits;
        forget_level(calendar, level);
        for (unsigned end = (unsigned)level->shift + level->bits; bit < end && bit < 64; bit++) {
            calendar->level_of_zeros[63 - bit] = (uint8_t)k;
        }
    }
    calendar->reach = bit < 64 ? UINT64_C(1) << bit : UINT64_MAX;
    for (; bit < 64; bit++) {
        calendar->level_of_zeros[63 - bit] = (uint8_t)level_count;
    }
}

static uint32_t ring_size(const verge__level *level) {
    return UINT32_C(2) << (level->bits < 5 ? 5 : level->bits);
}

static uint32_t word_count(const verge__level *level) {
    return (level->mask >> 6) + 1;
}

static size_t level_bytes(uint32_t slots) {
    size_t words = slots / 64;
    return slots * sizeof(verge__list) + (words + (words + 63) / 64) * sizeof(uint64_t);
}

static void release_level(verge__calendar *calendar, verge__level *level) {
    size_t bytes = level_bytes(level->mask + 1);
    calendar->pool.allocator->release(calendar->pool.allocator->context, level->slots, bytes);
    calendar->level_bytes -= bytes;
    calendar->list_count -= level->mask + 1;
    forget_level(calendar, level);
}

void verge__calendar_deinit(verge__calendar *calendar) {
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        release_level(calendar, &calendar->levels[k]);
    }
    verge__chunk_pool_deinit(&calendar->pool);
}

/* ---- room: chunks and levels (C6, C7) ---- */

/* n entries in at most L lists of which none is empty form at most n chunks, and at most
 * (n + 29 L) / 30. A chunk whose entries are being moved may be empty: those come on top. */
static size_t chunks_for(const verge__calendar *calendar, size_t entries) {
    size_t lists = calendar->list_count;
    size_t chunks = entries;
    if (entries > lists) {
        chunks = (entries + (VERGE__CHUNK_ENTRIES - 1) * (lists + 1)) / VERGE__CHUNK_ENTRIES;
    }
    return chunks == 0 ? 0 : chunks + CHUNKS_UNDER_WAY;
}

/* The same the other way round. */
static size_t capacity_of_chunks(const verge__calendar *calendar, size_t chunks) {
    size_t lists = calendar->list_count;
    chunks -= chunks < CHUNKS_UNDER_WAY ? chunks : CHUNKS_UNDER_WAY;
    return chunks <= lists ? chunks : VERGE__CHUNK_ENTRIES * chunks - (VERGE__CHUNK_ENTRIES - 1) * lists;
}

static void recount_capacity(verge__calendar *calendar) {
    calendar->entry_capacity = capacity_of_chunks(calendar, calendar->pool.chunk_count);
    if (calendar->entry_limit > calendar->entry_capacity) {
        calendar->entry_limit = calendar->entry_capacity;
    }
}

int verge__calendar_secure(verge__calendar *calendar, size_t entries, bool prefault) {
    if (entries > (SIZE_MAX >> 8)) {
        return -ENOMEM;
    }
    size_t needed = chunks_for(calendar, entries);
    if (needed > calendar->pool.chunk_count) {
        int error = verge__chunk_pool_grow(&calendar->pool, needed - calendar->pool.chunk_count, prefault);
        if (error != 0) {
            return error;
        }
    }
    recount_capacity(calendar);
    return 0;
}

void verge__calendar_shrink(verge__calendar *calendar, size_t entries) {
    if (entries < calendar->entry_count) {
        entries = calendar->entry_count;
    }
    verge__chunk_pool_shrink(&calendar->pool, chunks_for(calendar, entries));
    recount_capacity(calendar);
}

/* Room for one more entry; grows by an eighth, so that memory follows the load closely. */
int verge__calendar_secure_one(verge__calendar *calendar) {
    if (calendar->entry_count < calendar->entry_capacity) {
        return 0;
    }
    size_t have = calendar->pool.chunk_count;
    size_t needed = chunks_for(calendar, calendar->entry_count + 1);
    size_t wanted = needed + (have < 64 ? 8 : have / 8 < 8192 ? have / 8 : 8192);
    int error = verge__chunk_pool_grow(&calendar->pool, wanted - have, false);
    if (error != 0) {
        error = verge__chunk_pool_grow(&calendar->pool, needed - have, false);
    }
    recount_capacity(calendar);
    return error;
}

static int ready_level(verge__calendar *calendar, verge__level *level) {
    uint32_t slots = ring_size(level);
    size_t bytes = level_bytes(slots);
    const verge_allocator *allocator = calendar->pool.allocator;
    void *memory = allocator->allocate(allocator->context, bytes, _Alignof(uint64_t));
    if (memory == NULL) {
        return -ENOMEM;
    }
    memset(memory, 0, bytes);
    level->slots = memory;
    level->mask = slots - 1;
    level->occupied = (uint64_t *)(void *)(level->slots + slots);
    level->summary = level->occupied + word_count(level);
    calendar->level_bytes += bytes;
    calendar->list_count += slots;
    return 0;
}

/* Draining files entries in every level below, so a level becomes ready after all those below. */
static int ready_levels(verge__calendar *calendar, size_t level) {
    size_t ready_before = calendar->levels_ready;
    int error = 0;
    while (error == 0 && calendar->levels_ready <= level) {
        error = ready_level(calendar, &calendar->levels[calendar->levels_ready]);
        if (error == 0) {
            calendar->levels_ready++;
        }
    }
    if (error == 0) {
        error = verge__calendar_secure(calendar, calendar->entry_count + 1, false);
    }
    if (error != 0) {
        while (calendar->levels_ready > ready_before) {
            release_level(calendar, &calendar->levels[--calendar->levels_ready]);
        }
    }
    recount_capacity(calendar);
    return error;
}

/* The level for a tick at or after the cursor; the highest, if it is too far. */
static size_t level_within_reach(const verge__calendar *calendar, uint64_t tick) {
    tick = tick > calendar->cursor ? tick : calendar->cursor;
    size_t level = verge__calendar_level(calendar, tick);
    return level < calendar->level_count ? level : (size_t)calendar->level_count - 1;
}

int verge__calendar_ready_for(verge__calendar *calendar, uint64_t tick) {
    size_t level = level_within_reach(calendar, tick);
    return level < calendar->levels_ready ? 0 : ready_levels(calendar, level);
}

int verge__calendar_prepare(verge__calendar *calendar, uint64_t tick) {
    int error = verge__calendar_ready_for(calendar, tick);
    return error != 0 ? error : verge__calendar_secure_one(calendar);
}

int verge__calendar_ready_all(verge__calendar *calendar) {
    return ready_levels(calendar, (size_t)calendar->level_count - 1);
}

void verge__calendar_shed_levels(verge__calendar *calendar, uint64_t last_tick) {
    size_t keep = last_tick < calendar->cursor ? 0 : level_within_reach(calendar, last_tick) + 1;
    while (calendar->levels_ready > keep) {
        verge__level *level = &calendar->levels[calendar->levels_ready - 1];
        if (verge__level_next(level, 0) != VERGE__NO_TICK) {
            break;
        }
        release_level(calendar, level);
        calendar->levels_ready--;
    }
    if (calendar->levels_used > calendar->levels_ready) {
        calendar->levels_used = calendar->levels_ready;
    }
    recount_capacity(calendar);
}

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

uint64_t verge__level_next(const verge__level *level, uint64_t position) {
    uint32_t from = (uint32_t)position & level->mask;
    uint32_t words = word_count(level);
    uint32_t found = UINT32_MAX;
    if (words <= 4) {
        found = next_bit(level->occupied, words, from);
    } else {
        uint64_t bits = level->occupied[from >> 6] & (UINT64_MAX << (from & 63));
        if (bits != 0) {
            found = (from & ~UINT32_C(63)) + verge__bit_lowest_index(bits);
        } else {
            uint32_t word = next_bit(level->summary, (words + 63) / 64, ((from >> 6) + 1) & (words - 1));
            if (word != UINT32_MAX) {
                found = (word << 6) + verge__bit_lowest_index(level->occupied[word]);
            }
        }
    }
    return found == UINT32_MAX ? VERGE__NO_TICK : position + ((found - from) & level->mask);
}

static bool is_occupied(const verge__level *level, uint32_t slot) {
    return (level->occupied[slot >> 6] >> (slot & 63) & 1) != 0;
}

static void set_occupied(verge__level *level, uint32_t slot) {
    level->occupied[slot >> 6] |= UINT64_C(1) << (slot & 63);
    level->summary[slot >> 12] |= UINT64_C(1) << (slot >> 6 & 63);
}

static void clear_occupied(verge__level *level, uint32_t slot) {
    level->occupied[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    if (level->occupied[slot >> 6] == 0) {
        level->summary[slot >> 12] &= ~(UINT64_C(1) << (slot >> 6 & 63));
    }
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

/* A chunk on top of a list that has no room in its newest one. */
static verge__list add_chunk(verge__calendar *calendar, verge__list end) {
    verge__chunk *chunk = verge__chunk_pool_take(&calendar->pool);
    chunk->below = end == NULL ? NULL : verge__list_chunk(end);
    chunk->depth = end == NULL ? 0 : chunk->below->depth + 1;
    return chunk->entries;
}

static VERGE__ALWAYS_INLINE verge__list append(verge__calendar *calendar, verge__list end, verge__entry entry) {
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
        end = add_chunk(calendar, end);
    }
    *end = entry;
    return end + 1;
}

void verge__calendar_list_add(verge__calendar *calendar, verge__list *list, verge__entry entry) {
    *list = append(calendar, *list, entry);
    calendar->entry_count++;
}

void verge__calendar_list_drop_chunk(verge__calendar *calendar, verge__list *list) {
    verge__chunk *chunk = verge__list_chunk(*list);
    *list = verge__list_from_full_chunk(chunk->below);
    verge__chunk_pool_give(&calendar->pool, chunk);
}

/* ---- filing ---- */

/* A slot gets its first chunk, or a further one; C5. */
static VERGE__NOINLINE verge__list add_slot_chunk(verge__calendar *calendar, verge__level *level, uint64_t position) {
    verge__list *slot = &level->slots[(uint32_t)position & level->mask];
    uint64_t start = position << level->shift;
    uint64_t quiet = start;
    if (*slot == NULL) {
        set_occupied(level, (uint32_t)position & level->mask);
        uint8_t used = (uint8_t)(level - calendar->levels + 1);
        calendar->levels_used = used > calendar->levels_used ? used : calendar->levels_used;
        calendar->next_start = start < calendar->next_start ? start : calendar->next_start;
    } else if (level->shift > 0 && !calendar->coarse) {
        quiet = (position - 1) << level->shift; /* from then on, shares of it are due */
    }
    calendar->quiet_until = quiet < calendar->quiet_until ? quiet : calendar->quiet_until;
    return add_chunk(calendar, *slot);
}

static VERGE__ALWAYS_INLINE void put(verge__calendar *calendar, verge__level *level, uint64_t position,
                                     verge__entry entry) {
    verge__list *slot = &level->slots[(uint32_t)position & level->mask];
    verge__list end = *slot;
    if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
        end = add_slot_chunk(calendar, level, position);
    }
    *end = entry;
    *slot = end + 1;
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
    verge__level *level = &calendar->levels[level_within_reach(calendar, tick)];
    calendar->entry_count++;
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: entries are filed where room was made");
    put(calendar, level, verge__calendar_round(calendar, tick) >> level->shift, entry);
}

void verge__calendar_put_slot(verge__calendar *calendar, size_t level, uint64_t position, verge__entry entry) {
    calendar->entry_count++;
    put(calendar, &calendar->levels[level], position, entry);
}

/* ---- taking ---- */

/* A slot's list has become empty: what the scrub holds of it comes back. */
static void slot_emptied(verge__calendar *calendar, size_t k, uint32_t slot) {
    verge__level *level = &calendar->levels[k];
    if (calendar->scrub_list != NULL && calendar->scrub_level == k && calendar->scrub_slot == slot) {
        level->slots[slot] = calendar->scrub_list;
        calendar->scrub_list = NULL;
    } else {
        level->slots[slot] = NULL;
        clear_occupied(level, slot);
    }
}

/* Takes a part of a slot: usually all of it, but first what was sifted of a slot under scrub. */
static verge__list take_list(verge__calendar *calendar, size_t k, uint32_t slot) {
    verge__list list = calendar->levels[k].slots[slot];
    slot_emptied(calendar, k, slot);
    return list;
}

verge__list verge__calendar_take_slot(verge__calendar *calendar, size_t level, uint32_t slot) {
    verge__list list = take_list(calendar, level, slot);
    if (calendar->levels[level].slots[slot] != NULL) {
        verge__list rest = take_list(calendar, level, slot);
        while (rest != NULL) {
            const verge__chunk *chunk = verge__list_chunk(rest);
            for (size_t i = verge__list_chunk_count(rest); i-- > 0;) {
                list = append(calendar, list, chunk->entries[i]);
            }
            verge__calendar_list_drop_chunk(calendar, &rest);
        }
    }
    calendar->entry_count -= verge__list_count(list);
    return list;
}

/* Files entries, all of them in one level. The low bits of their ticks, which are their marks, tell the slot. */
static void scatter_to(verge__calendar *calendar, verge__level *level, uint64_t start, const verge__entry *entries,
                       size_t count) {
    verge__list *slots = level->slots;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        verge__list *slot = &slots[entry.mark >> level->shift & level->mask];
        verge__list end = *slot;
        if (VERGE__UNLIKELY(verge__list_needs_chunk(end))) {
            end = add_slot_chunk(calendar, level, (start + (uint32_t)(entry.mark - (uint32_t)start)) >> level->shift);
        }
        *end = entry;
        *slot = end + 1;
    }
}

/* Files the entries of one chunk of level k, whose slot starts at `start`, in the levels below: all in the
 * level right below, unless the slot comes so soon that some of them can go deeper. */
static void scatter(verge__calendar *calendar, size_t k, uint64_t start, const verge__entry *entries, size_t count) {
    verge__level *below = &calendar->levels[k - 1];
    bool is_soon = k > 1 && verge__calendar_level(calendar, start) < k - 1;
    if (!is_soon && below->shift < 32 && below->mask <= UINT32_MAX >> below->shift) {
        scatter_to(calendar, below, start, entries, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t tick = start + (uint32_t)(entries[i].mark - (uint32_t)start);
        size_t to = verge__calendar_level(calendar, tick);
        verge__level *level = &calendar->levels[to < k ? to : k - 1];
        put(calendar, level, tick >> level->shift, entries[i]);
    }
}

/* The same where only the owner knows the ticks; some of them may lie in later slots by now. */
static void scatter_far(verge__calendar *calendar, size_t k, uint64_t position, const verge__entry *entries,
                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t tick = 0;
        verge__entry entry = entries[i];
        if (!calendar->owner.refile(calendar->owner.context, &entry, &tick)) {
            calendar->entry_count--;
            continue;
        }
        size_t to = verge__calendar_level(calendar, tick);
        if (to >= k && tick >> calendar->levels[k].shift == position) {
            to = k - 1;
        }
        verge__level *level = &calendar->levels[to];
        put(calendar, level, tick >> level->shift, entry);
    }
}

/* Drains up to `chunks` chunks of a slot. False: the budget ran out first. */
static bool drain(verge__calendar *calendar, size_t k, uint64_t position, size_t chunks, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)position & level->mask;
    for (; chunks > 0 && is_occupied(level, slot); chunks--) {
        verge__list list = level->slots[slot];
        verge__chunk *chunk = verge__list_chunk(list);
        size_t count = verge__list_chunk_count(list);
        size_t moved = count < *budget ? count : *budget;
        if (moved == 0) {
            return false;
        }
        *budget -= moved;
        calendar->entries_moved += moved;
        /* Off the list first: refiling may put an entry back into this very slot. */
        if (moved < count) {
            level->slots[slot] = list - moved;
        } else if (chunk->below == NULL) {
            slot_emptied(calendar, k, slot);
        } else {
            level->slots[slot] = verge__list_from_full_chunk(chunk->below);
        }
        if (chunk->depth == 0 && k <= 2) {
            calendar->owner.prefetch(calendar->owner.context, list - moved, moved);
        }
        if (level->shift <= 32 && !calendar->owner.marks_are_private) {
            scatter(calendar, k, position << level->shift, list - moved, moved);
        } else {
            scatter_far(calendar, k, position, list - moved, moved);
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
           is_occupied(level, (uint32_t)(tick >> level->shift) & level->mask);
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

bool verge__calendar_take(verge__calendar *calendar, uint64_t target, size_t *budget, verge__taken *ret_taken) {
    while (calendar->cursor < target) {
        uint64_t next = verge__calendar_next(calendar);
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
            verge__level *level = &calendar->levels[k];
            if (slot_starts_at(level, next)) {
                uint32_t slot = (uint32_t)(next >> level->shift) & level->mask;
                *ret_taken = (verge__taken){.list = take_list(calendar, k, slot), .tick = next};
                if (level->slots[slot] != NULL) {
                    ret_taken->rest = take_list(calendar, k, slot);
                }
                calendar->cursor += k == 0; /* level 0 is the last to be taken */
                return true;
            }
        }
    }
    return false;
}

/* ---- shares ---- */

/*
 * The share of the next slot of level k that is due: of m chunks, drained from the moment its block
 * begins to its start, those for the ticks since the last share. Powers of two in place of a
 * division: at most twice too early, never too late. A slot of a single chunk waits for its start.
 * Returns the tick of the next share.
 */
static uint64_t drain_share(verge__calendar *calendar, size_t k, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint64_t position = (calendar->cursor >> level->shift) + 1;
    uint32_t slot = (uint32_t)position & level->mask;
    if (!is_occupied(level, slot)) {
        return VERGE__NO_TICK;
    }
    uint64_t begin = (position - 1) << level->shift;
    uint64_t from = calendar->drained_to[k] > begin ? calendar->drained_to[k] : begin;
    uint64_t left = begin + (UINT64_C(1) << level->shift) - from;
    size_t chunks = verge__list_chunks(level->slots[slot]);
    if (chunks < 2) {
        return VERGE__NO_TICK;
    }
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

void verge__calendar_settle(verge__calendar *calendar, size_t *budget) {
    uint64_t next_share = VERGE__NO_TICK;
    if (!calendar->coarse) {
        for (size_t k = calendar->levels_used; k-- > 1;) {
            uint64_t share = drain_share(calendar, k, budget);
            next_share = share < next_share ? share : next_share;
        }
    }
    uint64_t quiet = next_share;
    size_t used = 0;
    calendar->next_start = VERGE__NO_TICK;
    for (size_t k = 0; k < calendar->levels_used; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position == VERGE__NO_TICK) {
            continue;
        }
        used = k + 1;
        uint64_t start = position << level->shift;
        calendar->next_start = start < calendar->next_start ? start : calendar->next_start;
        /* The shares of a slot of several chunks become due from the beginning of the block before. */
        if (k > 0 && !calendar->coarse && verge__list_chunks(level->slots[position & level->mask]) > 1) {
            uint64_t begin = (position - 1) << level->shift;
            start = begin > calendar->cursor ? begin : start;
        }
        quiet = start < quiet ? start : quiet;
    }
    calendar->levels_used = (uint8_t)used;
    calendar->quiet_until = quiet;
}

/* ---- scrubbing ---- */

static void begin_pass(verge__calendar *calendar) {
    calendar->scrub_pass += calendar->scrub_pass == UINT32_MAX ? 2 : 1;
}

/* Sifts the newest chunk of one list to another; returns how many entries that were. The chunk is given
 * back first, so that its place can be taken by the next, in a lower slab perhaps. */
static size_t sift_chunk(verge__calendar *calendar, verge__list *unsifted, verge__list *sifted) {
    verge__entry entries[VERGE__CHUNK_ENTRIES];
    size_t count = verge__list_chunk_count(*unsifted);
    memcpy(entries, verge__list_chunk(*unsifted)->entries, count * sizeof(*entries));
    verge__calendar_list_drop_chunk(calendar, unsifted);
    size_t kept = calendar->owner.sift(calendar->owner.context, entries, count);
    calendar->entry_count -= count - kept;
    for (size_t i = 0; i < kept; i++) {
        *sifted = append(calendar, *sifted, entries[i]);
    }
    return count;
}

size_t verge__calendar_scrub_list(verge__calendar *calendar, verge__list *unsifted, verge__list *sifted) {
    if (*unsifted == NULL) {
        *unsifted = *sifted;
        *sifted = NULL;
    }
    if (*sifted == NULL) {
        begin_pass(calendar);
    }
    return *unsifted == NULL ? 0 : sift_chunk(calendar, unsifted, sifted);
}

static void sift_list(verge__calendar *calendar, verge__list *list) {
    verge__list sifted = NULL;
    while (*list != NULL) {
        (void)sift_chunk(calendar, list, &sifted);
    }
    *list = sifted;
}

void verge__calendar_sift_lists(verge__calendar *calendar, verge__list *const *lists, size_t count) {
    begin_pass(calendar);
    for (size_t i = 0; i < count; i++) {
        sift_list(calendar, lists[i]);
    }
}

void verge__calendar_sift_slots(verge__calendar *calendar) {
    begin_pass(calendar);
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        verge__level *level = &calendar->levels[k];
        for (uint32_t i = 0; i <= level->mask; i++) {
            uint32_t slot = (uint32_t)((calendar->cursor >> level->shift) + i) & level->mask;
            if (is_occupied(level, slot)) {
                verge__list list = verge__calendar_take_slot(calendar, k, slot);
                calendar->entry_count += verge__list_count(list);
                sift_list(calendar, &list);
                if (list != NULL) { /* levels_used stands: it was not empty before */
                    level->slots[slot] = list;
                    set_occupied(level, slot);
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
                level->slots[slot] = NULL;
                begin_pass(calendar);
                return true;
            }
        }
        calendar->scrub_level = calendar->scrub_level + 1 < calendar->levels_ready ? calendar->scrub_level + 1 : 0;
        calendar->scrub_slot = 0;
    }
    return false;
}

size_t verge__calendar_scrub(verge__calendar *calendar) {
    if (calendar->scrub_list == NULL && !scrub_next_slot(calendar)) {
        return 0;
    }
    verge__level *level = &calendar->levels[calendar->scrub_level];
    uint32_t slot = calendar->scrub_slot;
    size_t count = sift_chunk(calendar, &calendar->scrub_list, &level->slots[slot]);
    bool is_done = calendar->scrub_list == NULL;
    if (level->slots[slot] == NULL) {
        slot_emptied(calendar, calendar->scrub_level, slot); /* what was not sifted yet is the slot's list again */
    }
    if (is_done) {
        calendar->scrub_slot++;
    }
    return count;
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
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        verge__level *level = &calendar->levels[k];
        for (uint32_t slot = 0; slot <= level->mask; slot++) {
            verge__calendar_list_clear(calendar, &level->slots[slot]);
        }
        memset(level->occupied, 0, word_count(level) * sizeof(uint64_t));
        memset(level->summary, 0, (word_count(level) + 63) / 64 * sizeof(uint64_t));
        calendar->drained_to[k] = 0;
    }
    calendar->cursor = first_tick;
    calendar->quiet_until = VERGE__NO_TICK;
    calendar->next_start = VERGE__NO_TICK;
}

/* Checks one slot; adds what it holds to the sums. */
static const char *check_slot(const verge__calendar *calendar, size_t k, uint32_t slot, size_t *entries,
                              size_t *chunks) {
    const verge__level *level = &calendar->levels[k];
    bool scrubbed = calendar->scrub_list != NULL && calendar->scrub_level == k && calendar->scrub_slot == slot;
    verge__list lists[2] = {level->slots[slot], scrubbed ? calendar->scrub_list : NULL};
    if (is_occupied(level, slot) != (lists[0] != NULL) || (lists[0] == NULL && lists[1] != NULL)) {
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
            for (size_t j = 0; j < in_chunk && level->shift < 32 && !calendar->owner.marks_are_private; j++) {
                uint32_t offset = chunk->entries[j].mark - (uint32_t)(position << level->shift);
                if (offset >> level->shift != 0) {
                    return "C2: an entry lies in the slot that spans its tick";
                }
            }
            end = verge__list_from_full_chunk(chunk->below);
        }
    }
    return NULL;
}

const char *verge__calendar_check(const verge__calendar *calendar, size_t owner_entries, size_t owner_chunks) {
    size_t entries = owner_entries;
    size_t chunks = owner_chunks;
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
    if (entries != calendar->entry_count) {
        return "C4: entry_count is the number of entries in all lists";
    }
    if (verge__calendar_next(calendar) < calendar->quiet_until ||
        verge__calendar_next(calendar) < calendar->next_start) {
        return "C5: no slot starts before quiet_until, nor before next_start";
    }
    if (calendar->entry_count > calendar->entry_capacity || chunks != calendar->pool.used_count ||
        chunks_for(calendar, calendar->entry_count) > calendar->pool.chunk_count) {
        return "C6: there is a chunk for every list that the entries could ever form";
    }
    return NULL;
}
