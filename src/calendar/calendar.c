/* SPDX-License-Identifier: MIT */
/* Creating and destroying a calendar, and its memory: the slots of levels, and chunks for all entries. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "calendar/level.h"

enum {
    CHUNKS_UNDER_WAY = 1, /* of which the entries are being moved: it is in no list */
    GROWTH_MIN = 4,       /* chunks added at a time */
    GROWTH_MAX = 1024,
    LOWEST_LEVEL_BITS = 9,
    SECOND_LEVEL_BITS = 8,
    LEVEL_BITS = 6,
    NARROW_BITS = 5,
    NEAR_BITS = 32, /* of `filed`; a ring is two blocks */
};

/* ---- levels ---- */

size_t verge__calendar_default_levels(unsigned shift, verge__level_shape *ret_levels) {
    size_t count = 0;
    unsigned end = 64 - shift;
    for (unsigned covered = 0, bits = 0; covered < end; covered += bits) {
        bits = count == 0 ? LOWEST_LEVEL_BITS : count == 1 ? SECOND_LEVEL_BITS : LEVEL_BITS;
        bits = bits < end - covered ? bits : end - covered;
        ret_levels[count++] = (verge__level_shape){.shift = (uint8_t)covered, .bits = (uint8_t)bits};
    }
    return count;
}

/* Describes a level, and says which distances are its own: those that the levels below do not cover. */
static void add_level(verge__calendar *calendar, verge__level_shape shape, unsigned covered) {
    size_t k = calendar->level_count++;
    VERGE__INVARIANT(k < VERGE__LEVELS_MAX, "C7: there is room for the levels of all geometries");
    unsigned end = (unsigned)shape.shift + shape.bits;
    bool is_near = end + 1 <= NEAR_BITS && k < VERGE__NEAR_LEVELS && !calendar->leaves_filed;
    calendar->levels[k] = (verge__level){
        .mask = (UINT32_C(2) << shape.bits) - 1,
        .shift = shape.shift,
        .bits = shape.bits,
        .near_tag = is_near ? (uint8_t)(k << 1 | VERGE__NEAR) : (uint8_t)0,
    };
    calendar->list_count += calendar->levels[k].mask + 1;
    for (; covered < end && covered < 64; covered++) {
        calendar->level_of_zeros[63 - covered] = (uint8_t)k;
    }
}

/* The same for a range of distances, in levels of about equal bits: on average fewer than bits_max. */
static void split(verge__calendar *calendar, unsigned covered, unsigned end, unsigned bits_max) {
    for (unsigned pieces = covered < end ? (end - covered) / bits_max + 1 : 0; pieces > 0; pieces--) {
        unsigned bits = (end - covered + pieces - 1) / pieces;
        add_level(calendar, (verge__level_shape){.shift = (uint8_t)covered, .bits = (uint8_t)bits}, covered);
        covered += bits;
    }
}

static void add_levels(verge__calendar *calendar, const verge__calendar_setup *setup) {
    unsigned covered = 0;
    for (size_t k = 0; k < setup->level_count; k++) {
        unsigned level_end = (unsigned)setup->levels[k].shift + setup->levels[k].bits;
        if (setup->is_narrow) {
            split(calendar, covered, level_end, NARROW_BITS);
        } else {
            add_level(calendar, setup->levels[k], covered);
        }
        covered = level_end;
    }
    split(calendar, covered, 64U - setup->shift, setup->is_narrow ? NARROW_BITS : LEVEL_BITS);
}

/* One piece of memory for all levels: the lists, then the bits. */
static int allocate_levels(verge__calendar *calendar) {
    size_t slots = calendar->list_count - VERGE__OWN_LISTS;
    size_t words = 0;
    for (size_t k = 0; k < calendar->level_count; k++) {
        words += verge__level_words(&calendar->levels[k]);
    }
    calendar->level_bytes = slots * sizeof(verge__list) + words * sizeof(uint64_t);
    void *memory = verge__allocate(calendar->pool.allocator, calendar->level_bytes, _Alignof(uint64_t));
    if (memory == NULL) {
        return -ENOMEM;
    }
    memset(memory, 0, calendar->level_bytes);
    verge__list *lists = (verge__list *)memory;
    uint64_t *bits = (uint64_t *)(void *)(lists + slots);
    for (size_t k = 0; k < calendar->level_count; k++) {
        calendar->levels[k].slots = lists;
        calendar->levels[k].occupied = bits;
        lists += calendar->levels[k].mask + 1;
        bits += verge__level_words(&calendar->levels[k]);
    }
    return 0;
}

/* ---- life ---- */

void verge__calendar_restart(verge__calendar *calendar, uint64_t first_tick) {
    VERGE__INVARIANT(calendar->entry_count == 0 && calendar->pool.used_count == 0, "C4: entries are counted");
    calendar->cursor = first_tick;
    calendar->quiet_until = VERGE__NO_TICK;
    calendar->upper_quiet = VERGE__NO_TICK;
    calendar->levels_used = 0;
    for (size_t k = 0; k < calendar->level_count; k++) {
        calendar->levels[k].drained_to = 0;
    }
}

/* The levels of a setup, without entries. */
static int build(verge__calendar *calendar, const verge__calendar_setup *setup) {
    calendar->is_narrow = setup->is_narrow;
    calendar->level_count = 0;
    calendar->list_count = VERGE__OWN_LISTS;
    calendar->entry_count = 0;
    calendar->entry_capacity = 0;
    calendar->due_slot = NULL;
    memset(calendar->own, 0, sizeof(calendar->own));
    calendar->pool = (verge__chunk_pool){.allocator = setup->allocator};
    add_levels(calendar, setup);
    verge__calendar_restart(calendar, setup->first_tick);
    return allocate_levels(calendar);
}

int verge__calendar_init(verge__calendar *calendar, const verge__calendar_setup *setup) {
    *calendar =
        (verge__calendar){.bias_ns = setup->bias_ns, .shift = setup->shift, .leaves_filed = setup->leaves_filed};
    return build(calendar, setup);
}

void verge__calendar_deinit(verge__calendar *calendar) {
    verge__release(calendar->pool.allocator, calendar->levels[0].slots, calendar->level_bytes);
    verge__chunk_pool_deinit(&calendar->pool);
}

/* ---- room (C6) ---- */

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
    chunks -= chunks < CHUNKS_UNDER_WAY ? chunks : (size_t)CHUNKS_UNDER_WAY;
    calendar->entry_capacity =
        chunks <= lists ? chunks : VERGE__CHUNK_ENTRIES * chunks - (VERGE__CHUNK_ENTRIES - 1) * lists;
}

/* Grows by an eighth at least, so that few calls have to, and memory follows the load closely. */
int verge__calendar_secure(verge__calendar *calendar, size_t entries) {
    if (entries <= calendar->entry_capacity) {
        return 0;
    }
    if (entries > (size_t)VERGE__CHUNK_ENTRIES << VERGE__DEPTH_BITS) { /* they may all be in one list */
        return -ENOMEM;
    }
    size_t missing = chunks_for(calendar, entries) - calendar->pool.chunk_count;
    size_t growth = verge__larger(GROWTH_MIN, calendar->pool.chunk_count / 8);
    growth = verge__larger(missing, growth < GROWTH_MAX ? growth : (size_t)GROWTH_MAX);
    int error = verge__chunk_pool_grow(&calendar->pool, growth);
    if (error != 0 && growth > missing) {
        error = verge__chunk_pool_grow(&calendar->pool, missing);
    }
    recount_capacity(calendar);
    VERGE__INVARIANT(error != 0 || calendar->entry_capacity >= entries, "C6: there is room for what was asked for");
    return error;
}

void verge__calendar_shrink(verge__calendar *calendar, size_t entries) {
    entries = verge__larger(entries, calendar->entry_count);
    verge__chunk_pool_shrink(&calendar->pool, chunks_for(calendar, entries));
    recount_capacity(calendar);
    VERGE__INVARIANT(calendar->entry_count <= calendar->entry_capacity, "C6: entries are filed where room was made");
}

/* ---- rebuilding ---- */

/* Moves the entries of a list to another calendar: to its list `own`, or to its slots, each by its deadline, but not
 * before `start`. */
static void move_list(verge__calendar *to, verge__list list, size_t own, uint64_t start) {
    for (verge__entry *at = list == NULL ? NULL : list - 1; at != NULL; at = verge__entry_older(at)) {
        verge__node *node = verge__calendar_node(to, *at);
        uint64_t deadline_ns = verge__node_deadline(node);
        uint64_t tick = deadline_ns == VERGE_NEVER ? start : verge__calendar_tick(to, deadline_ns);
        node->place = VERGE__NO_PLACE;
        if (own < VERGE__OWN_LISTS) {
            verge__calendar_list_add(to, own, *at, node);
        } else {
            verge__calendar_file(to, *at, node, tick > start ? tick : start);
        }
    }
}

int verge__calendar_rebuild(verge__calendar *calendar, const verge__calendar_setup *setup, size_t entries) {
    verge__calendar next = *calendar;
    entries = verge__larger(entries, calendar->entry_count);
    if (setup->is_narrow == calendar->is_narrow && calendar->pool.chunk_count <= chunks_for(calendar, entries)) {
        return 0; /* there is nothing to gain */
    }
    int error = build(&next, setup);
    error = error == 0 ? verge__calendar_secure(&next, entries) : error;
    if (error != 0) {
        verge__calendar_deinit(&next);
        return error;
    }
    next.cursor = calendar->cursor - verge__calendar_has_due(calendar);
    for (size_t k = 0; k < calendar->level_count; k++) {
        const verge__level *level = &calendar->levels[k];
        for (uint32_t i = 0; i <= level->mask; i++) {
            uint64_t position = (calendar->cursor >> level->shift) + i;
            const verge__list *slot = &level->slots[(uint32_t)position & level->mask];
            verge__list list = *slot;
            bool is_due = slot == calendar->due_slot;
            move_list(&next, list, VERGE__OWN_LISTS, is_due ? calendar->cursor - 1 : position << level->shift);
        }
    }
    for (size_t own = 0; own < VERGE__OWN_LISTS; own++) {
        move_list(&next, calendar->own[own], own, 0);
    }
    VERGE__INVARIANT(next.entry_count == calendar->entry_count, "C4: entries are counted");
    verge__list *due = verge__calendar_cursor_slot(&next);
    next.due_slot = verge__calendar_has_due(calendar) && *due != NULL ? due : NULL;
    next.cursor = calendar->cursor;
    next.quiet_until = calendar->quiet_until < next.quiet_until ? calendar->quiet_until : next.quiet_until;
    verge__calendar_deinit(calendar);
    *calendar = next;
    return 0;
}
