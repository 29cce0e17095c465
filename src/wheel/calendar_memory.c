/* SPDX-License-Identifier: MIT */
/* A calendar's memory: the slots of its levels, and chunks enough for all that may be filed. */
#include <errno.h>
#include <string.h>

#include "wheel/calendar_internal.h"

enum { CHUNKS_UNDER_WAY = 4 };

/* ---- life ---- */

/* The level's slots are others. */
static void renew_rings(verge__calendar *calendar, const verge__level *level) {
    for (size_t zeros = 0; zeros < 64; zeros++) {
        if (calendar->level_of_zeros[zeros] == level - calendar->levels) {
            calendar->ring_of_zeros[zeros] =
                (verge__ring){.slots = level->slots, .mask_and_shift = (uint64_t)level->mask << 32 | level->shift};
        }
    }
}

static void forget_level(verge__calendar *calendar, verge__level *level) {
    level->slots = &calendar->no_slot;
    level->mask = 0;
    level->occupied = &calendar->no_bits;
    level->summary = &calendar->no_bits;
    renew_rings(calendar, level);
}

void verge__calendar_init(verge__calendar *calendar, const verge_wheel_level *levels, size_t level_count, bool coarse,
                          uint64_t first_tick, size_t spare_lists, const verge_allocator *allocator,
                          verge__calendar_owner owner) {
    *calendar = (verge__calendar){
        .cursor = first_tick,
        .quiet_until = VERGE__NO_TICK,
        .next_start = VERGE__NO_TICK,
        .upper_start = VERGE__NO_TICK,
        .upper_quiet = VERGE__NO_TICK,
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
        for (unsigned end = (unsigned)level->shift + level->bits; bit < end && bit < 64; bit++) {
            calendar->level_of_zeros[63 - bit] = (uint8_t)k;
        }
    }
    calendar->reach = bit < 64 ? UINT64_C(1) << bit : UINT64_MAX;
    for (; bit < 64; bit++) {
        calendar->level_of_zeros[63 - bit] = (uint8_t)level_count;
    }
    for (size_t k = 0; k < level_count; k++) {
        forget_level(calendar, &calendar->levels[k]);
    }
}

static uint32_t ring_size(const verge__level *level) {
    return UINT32_C(2) << (level->bits < 5 ? 5 : level->bits);
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
size_t verge__calendar_chunks_for(const verge__calendar *calendar, size_t entries) {
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
    size_t needed = verge__calendar_chunks_for(calendar, entries);
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
    verge__chunk_pool_shrink(&calendar->pool, verge__calendar_chunks_for(calendar, entries));
    recount_capacity(calendar);
}

/* Room for one more entry; grows by an eighth, so that memory follows the load closely. */
int verge__calendar_secure_one(verge__calendar *calendar) {
    if (calendar->entry_count < calendar->entry_capacity) {
        return 0;
    }
    size_t have = calendar->pool.chunk_count;
    size_t needed = verge__calendar_chunks_for(calendar, calendar->entry_count + 1);
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
    level->summary = level->occupied + verge__level_words(level);
    renew_rings(calendar, level);
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

int verge__calendar_ready_for(verge__calendar *calendar, uint64_t tick) {
    size_t level = verge__calendar_level_within_reach(calendar, tick);
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
    size_t keep = last_tick < calendar->cursor ? 0 : verge__calendar_level_within_reach(calendar, last_tick) + 1;
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
