/* SPDX-License-Identifier: MIT */
/* Creating and destroying a calendar, its slots, and what happens when a lane becomes empty. */
#include "calendar/calendar.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

enum {
    LOWEST_LEVEL_BITS = 9,
    SECOND_LEVEL_BITS = 8,
    LEVEL_BITS = 6,
    LOWEST_NARROW_BITS = 5,
    NARROW_BITS = 3,
    MANY_SLOTS_BITS = 9,
    FEW_LANE_BITS = 1, /* where slots have few nodes: those of one tick, and those of a level with many */
    LANE_BITS = 3,
};

_Static_assert(1 << LANE_BITS == VERGE__LANES_MAX, "the most lanes are those of upper levels");

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
static void add_level(verge__calendar *calendar, unsigned shift, unsigned bits, unsigned covered) {
    size_t k = calendar->level_count++;
    VERGE__INVARIANT(k < VERGE__LEVELS_MAX, "C7: there is room for the levels of all geometries");
    bool has_few_lanes = k == 0 || bits > MANY_SLOTS_BITS;
    unsigned lane_bits = calendar->is_narrow ? 0U : has_few_lanes ? (unsigned)FEW_LANE_BITS : (unsigned)LANE_BITS;
    calendar->levels[k] = (verge__level){
        .mask = (UINT32_C(2) << bits) - 1,
        .shift = (uint8_t)shift,
        .bits = (uint8_t)bits,
        .lane_bits = (uint8_t)lane_bits,
    };
    for (; covered < shift + bits && covered < 64; covered++) {
        calendar->level_of_zeros[63 - covered] = (uint8_t)k;
    }
}

/* The levels of the setup, unless they are to be narrow, and then more, up to the end of time. */
static void add_levels(verge__calendar *calendar, const verge__calendar_setup *setup) {
    unsigned covered = 0;
    unsigned end = 64U - setup->shift;
    for (size_t k = 0; k < setup->level_count && !setup->is_narrow; k++) {
        add_level(calendar, setup->levels[k].shift, setup->levels[k].bits, covered);
        covered = (unsigned)setup->levels[k].shift + setup->levels[k].bits;
    }
    while (covered < end) {
        unsigned narrow_bits = covered == 0 ? (unsigned)LOWEST_NARROW_BITS : (unsigned)NARROW_BITS;
        unsigned bits = setup->is_narrow ? narrow_bits : (unsigned)LEVEL_BITS;
        bits = bits < end - covered ? bits : end - covered;
        add_level(calendar, covered, bits, covered);
        covered += bits;
    }
}

static size_t words_of(const verge__level *level) {
    return (level->mask >> 6) + 1;
}

/* One piece of memory for all levels: the heads, then the bits, then the counts. */
static int allocate_levels(verge__calendar *calendar) {
    size_t words = 0;
    size_t counts = 0;
    calendar->head_count = 0;
    for (size_t k = 0; k < calendar->level_count; k++) {
        const verge__level *level = &calendar->levels[k];
        calendar->head_count += ((size_t)level->mask + 1) << level->lane_bits;
        words += words_of(level);
        counts += k == 0 || calendar->is_narrow ? 0 : (size_t)level->mask + 1;
    }
    calendar->bytes =
        calendar->head_count * sizeof(verge__node *) + words * sizeof(uint64_t) + counts * sizeof(uint32_t);
    calendar->bytes = (calendar->bytes + 63) & ~(size_t)63; /* the lanes of a slot are in one cache line */
    void *memory = verge__allocate(calendar->allocator, calendar->bytes, 64);
    if (memory == NULL) {
        return -ENOMEM;
    }
    memset(memory, 0, calendar->bytes);
    calendar->heads = (verge__node **)memory;
    calendar->head_bytes = calendar->head_count * sizeof(verge__node *);
    calendar->due_lanes = verge__level_lane_count(&calendar->levels[0]) - 1;
    verge__node **heads = calendar->heads;
    uint64_t *bits = (uint64_t *)(void *)(heads + calendar->head_count);
    uint32_t *count = (uint32_t *)(void *)(bits + words);
    for (size_t k = 0; k < calendar->level_count; k++) {
        verge__level *level = &calendar->levels[k];
        level->heads = heads;
        level->occupied = bits;
        heads += ((size_t)level->mask + 1) << level->lane_bits;
        bits += words_of(level);
        if (k > 0 && !calendar->is_narrow) {
            level->counts = count;
            count += level->mask + 1;
        }
    }
    return 0;
}

/* ---- life ---- */

void verge__calendar_restart(verge__calendar *calendar, uint64_t first_tick) {
    VERGE__INVARIANT(calendar->linked == 0 && calendar->due_slot == NULL, "C4: nodes are counted");
    calendar->cursor = first_tick;
    calendar->quiet_until = VERGE__NO_TICK;
    calendar->upper_quiet = VERGE__NO_TICK;
    calendar->levels_used = 0;
}

int verge__calendar_init(verge__calendar *calendar, const verge__calendar_setup *setup) {
    *calendar = (verge__calendar){.bias_ns = setup->bias_ns,
                                  .shift = setup->shift,
                                  .is_narrow = setup->is_narrow,
                                  .has_places = setup->has_places,
                                  .allocator = setup->allocator};
    add_levels(calendar, setup);
    verge__calendar_restart(calendar, setup->first_tick);
    return allocate_levels(calendar);
}

void verge__calendar_deinit(verge__calendar *calendar) {
    verge__release(calendar->allocator, (void *)calendar->heads, calendar->bytes);
}

void verge__calendar_choose_lanes(verge__calendar *calendar) {
    bool are_many = calendar->linked >= VERGE__LANES_FROM;
    for (size_t k = 0; k < calendar->level_count; k++) {
        verge__level *level = &calendar->levels[k];
        level->lanes_used = are_many ? (uint8_t)(verge__level_lane_count(level) - 1) : (uint8_t)0;
    }
}

/* There is something to do at a tick, in level k. */
static void note_tick(verge__calendar *calendar, size_t k, uint64_t tick) {
    if (tick < calendar->quiet_until) {
        calendar->quiet_until = tick;
    }
    if (k > 0 && tick < calendar->upper_quiet) {
        calendar->upper_quiet = tick;
    }
}

void verge__calendar_note_put(verge__calendar *calendar, size_t k, uint64_t tick, uint32_t count) {
    verge__level *level = &calendar->levels[k];
    uint64_t position = tick >> level->shift;
    uint32_t slot = (uint32_t)position & level->mask;
    uint64_t bit = UINT64_C(1) << (slot & 63);
    if ((level->occupied[slot >> 6] & bit) == 0) {
        level->occupied[slot >> 6] |= bit;
        note_tick(calendar, k, position << level->shift);
        calendar->levels_used = k < calendar->levels_used ? calendar->levels_used : (uint8_t)(k + 1);
    }
    if (count == VERGE__SHARE + 1) {
        uint64_t begin = (position - 1) << level->shift; /* of its shares: the start of the slot before */
        note_tick(calendar, k, begin > calendar->cursor ? begin : calendar->cursor);
    }
    if ((calendar->turn - 1) % 4096 == 0) {
        verge__calendar_choose_lanes(calendar);
    }
}

void verge__calendar_lane_emptied(verge__calendar *calendar, verge__node **head) {
    size_t k = 0;
    while (k + 1 < calendar->level_count && head >= calendar->levels[k + 1].heads) {
        k++;
    }
    verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)((size_t)(head - level->heads) >> level->lane_bits);
    verge__node **lanes = verge__level_slot(level, slot);
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        if (lanes[lane] != NULL) {
            return;
        }
    }
    level->occupied[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    if (level->counts != NULL) {
        level->counts[slot] = 0;
    }
    if (lanes == calendar->due_slot) {
        calendar->due_slot = NULL;
    }
}

/* ---- rebuilding ---- */

typedef struct move {
    verge__calendar *to;
    size_t count;
} move;

/* A node goes to the new slots by its deadline, but not before its slot starts; one that is being handed out, to the
 * same tick. */
static const char *move_node(void *context, verge__node *node, uint64_t start) {
    move *moving = (move *)context;
    verge__calendar *to = moving->to;
    uint64_t tick = verge__calendar_tick(to, verge__node_deadline(node));
    tick = tick > start ? tick : start;
    moving->count++;
    if (start >= to->cursor) {
        verge__calendar_put(to, verge__calendar_level(to, tick), tick, node);
        return NULL;
    }
    uint32_t slot = (uint32_t)start & to->levels[0].mask;
    to->due_slot = verge__level_slot(&to->levels[0], slot);
    to->levels[0].occupied[slot >> 6] |= UINT64_C(1) << (slot & 63);
    to->levels_used = to->levels_used == 0 ? 1 : to->levels_used;
    verge__list_push(to->due_slot, node);
    return NULL;
}

int verge__calendar_rebuild(verge__calendar *calendar, const verge__calendar_setup *setup) {
    verge__calendar next;
    int error = verge__calendar_init(&next, setup);
    if (error != 0) {
        return error;
    }
    next.cursor = calendar->cursor;
    next.linked = calendar->linked;
    next.nodes_moved = calendar->nodes_moved;
    next.short_reach = calendar->short_reach;
    verge__calendar_choose_lanes(&next);
    move moving = {.to = &next};
    (void)verge__calendar_each(calendar, move_node, &moving);
    VERGE__INVARIANT(moving.count <= calendar->linked, "C4: nodes are counted");
    next.quiet_until = calendar->quiet_until < next.quiet_until ? calendar->quiet_until : next.quiet_until;
    verge__calendar_deinit(calendar);
    *calendar = next;
    return 0;
}
