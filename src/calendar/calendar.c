/* SPDX-License-Identifier: MIT */
/* Creating and destroying a calendar, and its memory: the slots of levels, and chunks for all entries. */
#include <errno.h>
#include <string.h>

#include "calendar/level.h"

enum {
    CHUNKS_UNDER_WAY = 1, /* of which the entries are being moved: it is in no list */
    LOWEST_LEVEL_BITS = 9,
    SECOND_LEVEL_BITS = 8,
    LEVEL_BITS = 6,
    RING_BITS_MIN = 5,
    NEAR_BITS = 32, /* of `filed`; a ring is two blocks */
};

/* ---- life ---- */

size_t verge__calendar_default_levels(unsigned shift, verge__level_shape ret_levels[VERGE__LEVELS_MAX]) {
    size_t count = 0;
    unsigned end = 64 - shift;
    for (unsigned covered = 0, bits = 0; covered < end; covered += bits) {
        bits = count == 0 ? LOWEST_LEVEL_BITS : count == 1 ? SECOND_LEVEL_BITS : LEVEL_BITS;
        bits = bits < end - covered ? bits : end - covered;
        ret_levels[count++] = (verge__level_shape){.shift = (uint8_t)covered, .bits = (uint8_t)bits};
    }
    return count;
}

/* Another level is ready, or one less. */
static void set_levels_ready(verge__calendar *calendar, size_t count) {
    calendar->levels_ready = (uint8_t)count;
    const verge__level *top = &calendar->levels[calendar->levels_ready == 0 ? 0 : calendar->levels_ready - 1];
    unsigned bits = (unsigned)top->shift + top->bits;
    calendar->ready_reach = calendar->levels_ready == 0 ? 0 : bits < 64 ? UINT64_C(1) << bits : UINT64_MAX;
}

static void forget_level(verge__calendar *calendar, verge__level *level) {
    level->slots = &calendar->no_slot;
    level->mask = 0;
    level->occupied = calendar->no_bits;
    level->drained_to = 0;
}

/* Describes a level, and says which distances are its own; returns how many bits of distance are covered then. */
static unsigned add_level(verge__calendar *calendar, verge__level_shape shape, unsigned covered) {
    size_t k = calendar->level_count++;
    unsigned end = (unsigned)shape.shift + shape.bits;
    unsigned ring_end = (unsigned)shape.shift + (shape.bits < RING_BITS_MIN ? RING_BITS_MIN : shape.bits) + 1;
    calendar->levels[k] = (verge__level){
        .shift = shape.shift,
        .bits = shape.bits,
        .near_tag = ring_end <= NEAR_BITS && k < VERGE__NEAR_LEVELS ? (uint8_t)(k << 1 | VERGE__NEAR) : (uint8_t)0,
    };
    for (; covered < end && covered < 64; covered++) {
        calendar->level_of_zeros[63 - covered] = (uint8_t)k;
    }
    return covered;
}

static void set_nothing_filed(verge__calendar *calendar, uint64_t first_tick) {
    calendar->cursor = first_tick;
    calendar->due_slot = NULL;
    calendar->quiet_until = VERGE__NO_TICK;
    calendar->upper_quiet = VERGE__NO_TICK;
    calendar->levels_used = 0;
    calendar->entry_count = 0;
    calendar->idle_ended = calendar->idle_begun;
}

void verge__calendar_init(verge__calendar *calendar, const verge__calendar_setup *setup) {
    *calendar = (verge__calendar){
        .bias_ns = setup->bias_ns,
        .shift = setup->shift,
        .list_count = VERGE__OWN_LISTS,
    };
    verge__chunk_pool_init(&calendar->pool, setup->allocator);
    unsigned covered = 0;
    for (size_t k = 0; k < setup->level_count; k++) {
        covered = add_level(calendar, setup->levels[k], covered);
    }
    for (unsigned end = 64U - setup->shift; covered < end;) {
        uint8_t bits = (uint8_t)(end - covered < LEVEL_BITS ? end - covered : LEVEL_BITS);
        covered = add_level(calendar, (verge__level_shape){.shift = (uint8_t)covered, .bits = bits}, covered);
    }
    VERGE__INVARIANT(calendar->level_count <= VERGE__LEVELS_MAX, "C7: there is room for the levels of all geometries");
    for (; covered < 64; covered++) { /* no two ticks of time are so far apart */
        calendar->level_of_zeros[63 - covered] = (uint8_t)(calendar->level_count - 1);
    }
    for (size_t k = 0; k < calendar->level_count; k++) {
        calendar->levels[k].near_tag = setup->leaves_filed ? 0 : calendar->levels[k].near_tag;
        forget_level(calendar, &calendar->levels[k]);
    }
    set_nothing_filed(calendar, setup->first_tick);
}

static size_t bit_words(uint32_t slots) {
    size_t words = slots / 64;
    return words + (words + 63) / 64;
}

static uint32_t ring_size(const verge__level *level) {
    return UINT32_C(2) << (level->bits < RING_BITS_MIN ? RING_BITS_MIN : level->bits);
}

static size_t level_bytes(uint32_t slots) {
    return slots * sizeof(verge__list) + bit_words(slots) * sizeof(uint64_t);
}

static void release_level(verge__calendar *calendar, verge__level *level) {
    VERGE__INVARIANT(level == &calendar->levels[calendar->levels_ready - 1], "C7: levels go from the top");
    size_t bytes = level_bytes(level->mask + 1);
    calendar->pool.allocator->release(calendar->pool.allocator->context, level->slots, bytes);
    calendar->level_bytes -= bytes;
    calendar->list_count -= level->mask + 1;
    forget_level(calendar, level);
    set_levels_ready(calendar, (size_t)calendar->levels_ready - 1);
}

void verge__calendar_deinit(verge__calendar *calendar) {
    while (calendar->levels_ready > 0) {
        release_level(calendar, &calendar->levels[calendar->levels_ready - 1]);
    }
    verge__chunk_pool_deinit(&calendar->pool);
}

static void forget_list(verge__calendar *calendar, verge__list *list) {
    while (*list != NULL) {
        verge__chunk *chunk = verge__list_chunk(*list);
        *list = verge__list_from_full_chunk(chunk->below);
        verge__chunk_pool_give(&calendar->pool, chunk);
    }
}

void verge__calendar_reset(verge__calendar *calendar, uint64_t first_tick) {
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        verge__level *level = &calendar->levels[k];
        for (uint32_t slot = 0; slot <= level->mask; slot++) {
            forget_list(calendar, &level->slots[slot]);
        }
        memset(level->occupied, 0, bit_words(level->mask + 1) * sizeof(uint64_t));
        level->drained_to = 0;
    }
    for (size_t own = 0; own < VERGE__OWN_LISTS; own++) {
        forget_list(calendar, &calendar->own[own]);
    }
    VERGE__INVARIANT(calendar->pool.used_count == 0, "C6: each chunk in use belongs to a list");
    set_nothing_filed(calendar, first_tick);
}

/* ---- room: chunks and levels (C6, C7) ---- */

/* n entries in at most L lists of which none is empty form at most n chunks, and at most (n + 13 L) / 14. */
static size_t chunks_for(const verge__calendar *calendar, size_t entries) {
    size_t lists = calendar->list_count;
    size_t chunks = entries;
    if (entries > lists) {
        chunks = (entries + (VERGE__CHUNK_ENTRIES - 1) * (lists + 1)) / VERGE__CHUNK_ENTRIES;
    }
    return chunks == 0 ? 0 : chunks + CHUNKS_UNDER_WAY;
}

/* The same the other way round. */
static void recount_capacity(verge__calendar *calendar) {
    size_t lists = calendar->list_count;
    size_t chunks = calendar->pool.chunk_count;
    chunks -= chunks < CHUNKS_UNDER_WAY ? chunks : CHUNKS_UNDER_WAY;
    calendar->entry_capacity =
        chunks <= lists ? chunks : VERGE__CHUNK_ENTRIES * chunks - (VERGE__CHUNK_ENTRIES - 1) * lists;
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
    VERGE__INVARIANT(calendar->entry_capacity >= entries, "C6: there is room for what was asked for");
    return 0;
}

/* Grows by an eighth, so that memory follows the load closely. */
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

void verge__calendar_shrink(verge__calendar *calendar, size_t entries) {
    entries = entries > calendar->entry_count ? entries : calendar->entry_count;
    entries = entries > calendar->promised ? entries : calendar->promised;
    verge__chunk_pool_shrink(&calendar->pool, chunks_for(calendar, entries));
    recount_capacity(calendar);
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: entries are filed where room was made");
}

/* Chunk by chunk, from the newest on. */
static void pack_list(verge__calendar *calendar, verge__list *list) {
    verge__chunk *above = NULL;
    size_t count = *list == NULL ? 0 : verge__list_chunk_count(*list);
    for (verge__chunk *chunk = *list == NULL ? NULL : verge__list_chunk(*list); chunk != NULL; chunk = chunk->below) {
        verge__chunk *lower = verge__chunk_pool_take_lower(&calendar->pool, chunk);
        if (lower != NULL) {
            lower->below = chunk->below;
            lower->depth = chunk->depth;
            lower->level = chunk->level;
            lower->slot = chunk->slot;
            for (size_t i = 0; i < count; i++) {
                verge__node *node = verge__calendar_node(calendar, chunk->entries[i]);
                VERGE__INVARIANT(verge__node_place(node) == &chunk->entries[i],
                                 "C2: a node with an entry knows its place");
                lower->entries[i] = chunk->entries[i];
                node->place = (uintptr_t)&lower->entries[i] | (node->place & VERGE__PLACE_TAGS);
            }
            if (above == NULL) {
                *list = lower->entries + count;
            } else {
                above->below = lower;
            }
            verge__chunk_pool_give(&calendar->pool, chunk);
            chunk = lower;
        }
        above = chunk;
        count = VERGE__CHUNK_ENTRIES;
    }
}

void verge__calendar_pack(verge__calendar *calendar) {
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        for (uint32_t slot = 0; slot <= calendar->levels[k].mask; slot++) {
            pack_list(calendar, &calendar->levels[k].slots[slot]);
        }
    }
    for (size_t own = 0; own < VERGE__OWN_LISTS; own++) {
        pack_list(calendar, &calendar->own[own]);
    }
}

static int ready_level(verge__calendar *calendar, verge__level *level) {
    uint32_t slots = ring_size(level);
    size_t bytes = level_bytes(slots);
    const verge_allocator *allocator = calendar->pool.allocator;
    void *memory = allocator->allocate(allocator->context, bytes, _Alignof(uint64_t));
    if (memory == NULL) {
        return -ENOMEM;
    }
    VERGE__INVARIANT(level == &calendar->levels[calendar->levels_ready], "C7: levels become ready from the lowest on");
    memset(memory, 0, bytes);
    level->slots = (verge__list *)memory;
    level->mask = slots - 1;
    level->occupied = (uint64_t *)(void *)(level->slots + slots);
    calendar->level_bytes += bytes;
    calendar->list_count += slots;
    set_levels_ready(calendar, (size_t)calendar->levels_ready + 1);
    return 0;
}

/* Draining files entries in every level below, so a level becomes ready after all those below. */
static int ready_levels(verge__calendar *calendar, size_t level) {
    size_t ready_before = calendar->levels_ready;
    int error = 0;
    while (error == 0 && calendar->levels_ready <= level) {
        error = ready_level(calendar, &calendar->levels[calendar->levels_ready]);
    }
    if (error == 0) {
        size_t entries = calendar->entry_count + 1;
        error = verge__calendar_secure(calendar, entries > calendar->promised ? entries : calendar->promised, false);
    }
    if (error != 0) {
        while (calendar->levels_ready > ready_before) {
            release_level(calendar, &calendar->levels[calendar->levels_ready - 1]);
        }
    }
    recount_capacity(calendar);
    return error;
}

int verge__calendar_ready_for(verge__calendar *calendar, uint64_t tick) {
    size_t level = verge__calendar_level(calendar, tick);
    return level < calendar->levels_ready ? 0 : ready_levels(calendar, level);
}

int verge__calendar_ready_all(verge__calendar *calendar) {
    return calendar->levels_ready == calendar->level_count ? 0
                                                           : ready_levels(calendar, (size_t)calendar->level_count - 1);
}

void verge__calendar_shed_levels(verge__calendar *calendar, uint64_t last_tick) {
    size_t keep = last_tick < calendar->cursor ? 0 : verge__calendar_level(calendar, last_tick) + 1;
    while (calendar->levels_ready > keep) {
        verge__level *level = &calendar->levels[calendar->levels_ready - 1];
        if (verge__level_next(level, 0) != VERGE__NO_TICK) {
            break;
        }
        release_level(calendar, level);
    }
    if (calendar->levels_used > calendar->levels_ready) {
        calendar->levels_used = calendar->levels_ready;
    }
    recount_capacity(calendar);
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: there is room for all entries");
}
