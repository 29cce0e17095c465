/* SPDX-License-Identifier: MIT */
/* Creating, destroying and rebuilding a calendar. */
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
    FEW_LANE_BITS = 1, /* for slots with few nodes: those of level 0, and of a level that has many slots */
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

/* Adds a level. It is for distances from 2^covered on: the levels below cover shorter ones. */
static void add_level(verge__calendar *calendar, verge__level_shape shape, unsigned covered) {
    size_t k = calendar->level_count++;
    VERGE__INVARIANT(k < VERGE__LEVELS_MAX, "C7: there is room for the levels of all geometries");
    int lane_bits = k == 0 || shape.bits > MANY_SLOTS_BITS ? FEW_LANE_BITS : LANE_BITS;
    lane_bits = calendar->is_narrow ? 0 : lane_bits;
    calendar->levels[k] = (verge__level){
        .mask = (UINT32_C(2) << shape.bits) - 1,
        .shift = shape.shift,
        .bits = shape.bits,
        .lane_bits = (uint8_t)lane_bits,
    };
    for (; covered < (unsigned)shape.shift + shape.bits; covered++) {
        calendar->level_of_zeros[63 - covered] = (uint8_t)k;
    }
}

/* Adds levels up to the end of time: those of the setup and, if the setup's levels end earlier, more above them. A
 * narrow calendar has levels of its own instead. */
static void add_levels(verge__calendar *calendar, const verge__calendar_setup *setup) {
    size_t given = setup->is_narrow ? 0 : setup->level_count;
    unsigned end = 64U - setup->shift;
    for (unsigned covered = 0; covered < end;) {
        unsigned bits = !setup->is_narrow ? LEVEL_BITS : covered == 0 ? LOWEST_NARROW_BITS : NARROW_BITS;
        bits = bits < end - covered ? bits : end - covered;
        verge__level_shape shape = {.shift = (uint8_t)covered, .bits = (uint8_t)bits};
        shape = calendar->level_count < given ? setup->levels[calendar->level_count] : shape;
        add_level(calendar, shape, covered);
        covered = (unsigned)shape.shift + shape.bits;
    }
}

/* Allocates one block of memory for all levels: the heads, then the bits, then the counts. */
static int allocate_levels(verge__calendar *calendar) {
    size_t words = 0;
    size_t counts = 0;
    for (size_t k = 0; k < calendar->level_count; k++) {
        size_t slots = (size_t)calendar->levels[k].mask + 1;
        calendar->head_count += slots << calendar->levels[k].lane_bits;
        words += (slots + 63) / 64;
        counts += k == 0 || calendar->is_narrow ? 0 : slots;
    }
    size_t bytes = calendar->head_count * sizeof(verge__node *) + words * sizeof(uint64_t) + counts * sizeof(uint32_t);
    calendar->bytes = (bytes + 63) & ~(size_t)63; /* aligned to 64: the lanes of a slot are in one cache line */
    void *memory = verge__allocate(calendar->allocator, calendar->bytes, 64);
    if (memory == NULL) {
        return -ENOMEM;
    }
    memset(memory, 0, calendar->bytes);
    calendar->heads = (verge__node **)memory;
    verge__node **heads = calendar->heads;
    uint64_t *bits = (uint64_t *)(void *)(heads + calendar->head_count);
    uint32_t *count = (uint32_t *)(void *)(bits + words);
    for (size_t k = 0; k < calendar->level_count; k++) {
        verge__level *level = &calendar->levels[k];
        size_t slots = (size_t)level->mask + 1;
        level->heads = heads;
        level->occupied = bits;
        level->counts = k == 0 || calendar->is_narrow ? NULL : count;
        heads += slots << level->lane_bits;
        bits += (slots + 63) / 64;
        count += level->counts == NULL ? 0 : slots;
    }
    calendar->due_lanes = verge__level_lane_count(&calendar->levels[0]) - 1;
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

int verge__calendar_rebuild(verge__calendar *calendar, const verge__calendar_setup *setup) {
    verge__calendar next;
    int error = verge__calendar_init(&next, setup);
    if (error != 0) {
        return error;
    }
    /* If a tick is being handed out, the new cursor first goes back to it, for its nodes. It is taken again below. */
    verge__node **due_slot = calendar->due_slot;
    next.cursor = calendar->cursor - (due_slot != NULL);
    next.linked = calendar->linked;
    next.nodes_moved = calendar->nodes_moved;
    verge__calendar_choose_lanes(&next);
    for (verge__node **head = calendar->heads; head < calendar->heads + calendar->head_count; head++) {
        bool is_due = due_slot != NULL && head >= due_slot && head <= due_slot + calendar->due_lanes;
        for (verge__node *node = *head, *after = NULL; node != NULL; node = after) {
            uint64_t tick = verge__calendar_tick(calendar, verge__node_deadline(node));
            tick = is_due ? next.cursor : tick > calendar->cursor ? tick : calendar->cursor;
            after = node->next;
            verge__calendar_put(&next, verge__calendar_level(&next, tick), tick, node);
            verge__calendar_note_place(&next, node, tick);
        }
    }
    if (due_slot != NULL) {
        next.due_slot = verge__level_slot(&next.levels[0], next.cursor++);
    }
    next.quiet_until = calendar->quiet_until < next.quiet_until ? calendar->quiet_until : next.quiet_until;
    verge__calendar_deinit(calendar);
    *calendar = next;
    return 0;
}
