/* SPDX-License-Identifier: MIT */
#include "service/picture.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

const uint64_t verge__coming_bounds[VERGE__COMING_BUCKETS - 2] = {
    1 * MS, 10 * MS, 100 * MS, 1 * SECOND, 10 * SECOND, 60 * SECOND, 600 * SECOND, 3600 * SECOND, 86400 * SECOND,
};

/* Looks at all bounds: to stop at the right one would be a branch that the processor seldom predicts. */
uint32_t verge__coming_bucket(uint64_t ahead_ns) {
    uint32_t bucket = 1;
    for (size_t i = 0; i < VERGE__COMING_BUCKETS - 2; i++) {
        bucket += ahead_ns > verge__coming_bounds[i];
    }
    return bucket;
}

/* Returns how long after now_ns a slot starts. 0: the slot has started. */
static uint64_t ahead_of(const verge__calendar *calendar, const verge__level *level, uint32_t slot, uint64_t now_ns) {
    if (verge__level_slot(level, slot) == calendar->due_slot) {
        return 0; /* this slot is before the cursor */
    }
    const uint64_t here = calendar->cursor >> level->shift;
    const uint64_t position = here + ((slot - (uint32_t)here) & level->mask);
    const unsigned shift = level->shift + (unsigned)calendar->shift;
    const uint64_t start_ns = shift < 64 && position <= UINT64_MAX >> shift ? position << shift : UINT64_MAX;
    return start_ns > now_ns ? start_ns - now_ns : 0;
}

typedef struct verge__sketch {
    uint32_t cells[VERGE__PICTURE_CELLS];
    uint64_t coming[VERGE__COMING_BUCKETS];
} sketch;

/* Returns about how many nodes a slot has. If the level has counts, returns the count of the slot, which may be too
 * high (C6). Otherwise counts the nodes, up to a bound for each lane. */
static uint64_t nodes_of(const verge__level *level, uint32_t slot) {
    enum { COUNTED_MAX = 256 };
    if (level->counts != NULL) {
        return level->counts[slot];
    }
    uint64_t count = 0;
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        uint64_t end = count + COUNTED_MAX;
        for (const verge__node *node = verge__level_slot(level, slot)[lane]; node != NULL && count < end;
             node = node->next) {
            count++;
        }
    }
    return count;
}

static void draw_level(const verge__calendar *calendar, const verge__level *level, uint64_t now_ns, sketch *sketch_) {
    const uint32_t slots = level->mask + 1;
    const uint32_t a_cell = slots > VERGE__PICTURE_CELLS ? slots / VERGE__PICTURE_CELLS : 1;
    for (uint32_t word = 0; word <= level->mask >> 6; word++) {
        for (uint64_t bits = level->occupied[word]; bits != 0; bits &= bits - 1) {
            const uint32_t slot = word * 64 + verge__bit_lowest_index(bits);
            const uint64_t count = nodes_of(level, slot);
            sketch_->cells[slot / a_cell] += (uint32_t)count;
            sketch_->coming[verge__coming_bucket(ahead_of(calendar, level, slot, now_ns))] += count;
        }
    }
}

static void put(_Atomic uint32_t *to, uint32_t value) {
    atomic_store_explicit(to, value, memory_order_relaxed);
}

static void put_long(_Atomic uint64_t *to, uint64_t value) {
    atomic_store_explicit(to, value, memory_order_relaxed);
}

void verge__picture_take(verge__picture *picture, const verge__calendar *calendar, uint64_t now_ns) {
    const uint32_t take_count = atomic_load_explicit(&picture->take_count, memory_order_relaxed);
    const uint32_t used = calendar->levels_used;
    const uint32_t level_count = used < VERGE__PICTURE_LEVELS ? used : VERGE__PICTURE_LEVELS;
    uint64_t coming[VERGE__COMING_BUCKETS] = {0};
    put(&picture->take_count, take_count + 1);
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < level_count; i++) {
        const verge__level *level = &calendar->levels[i];
        sketch sketch_ = {.cells = {0}};
        draw_level(calendar, level, now_ns, &sketch_);
        put(&picture->level_shift[i], level->shift);
        put(&picture->level_slots[i], level->mask + 1);
        for (uint32_t cell = 0; cell < VERGE__PICTURE_CELLS; cell++) {
            put(&picture->cells[i][cell], sketch_.cells[cell]);
        }
        for (uint32_t bucket = 0; bucket < VERGE__COMING_BUCKETS; bucket++) {
            coming[bucket] += sketch_.coming[bucket];
        }
    }
    for (uint32_t bucket = 0; bucket < VERGE__COMING_BUCKETS; bucket++) {
        put_long(&picture->coming[bucket], coming[bucket]);
    }
    put(&picture->level_count, level_count);
    put(&picture->tick_shift, (uint32_t)calendar->shift);
    put_long(&picture->now_ns, now_ns);
    put_long(&picture->tick, calendar->cursor);
    put_long(&picture->node_count, calendar->linked);
    atomic_store_explicit(&picture->take_count, take_count + 2, memory_order_release);
}

static uint32_t get(const _Atomic uint32_t *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static uint64_t get_long(const _Atomic uint64_t *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void copy(const verge__picture *picture, verge__picture_copy *to) {
    to->level_count = get(&picture->level_count);
    to->tick_shift = get(&picture->tick_shift);
    to->now_ns = get_long(&picture->now_ns);
    to->tick = get_long(&picture->tick);
    to->node_count = get_long(&picture->node_count);
    to->level_count = to->level_count < VERGE__PICTURE_LEVELS ? to->level_count : VERGE__PICTURE_LEVELS;
    for (uint32_t i = 0; i < to->level_count; i++) {
        to->level_shift[i] = get(&picture->level_shift[i]);
        to->level_slots[i] = get(&picture->level_slots[i]);
        for (uint32_t cell = 0; cell < VERGE__PICTURE_CELLS; cell++) {
            to->cells[i][cell] = get(&picture->cells[i][cell]);
        }
    }
    for (uint32_t bucket = 0; bucket < VERGE__COMING_BUCKETS; bucket++) {
        to->coming[bucket] = get_long(&picture->coming[bucket]);
    }
}

bool verge__picture_read(const verge__picture *picture, verge__picture_copy *ret_copy) {
    enum { TRIES = 4 };
    for (int i = 0; i < TRIES; i++) {
        const uint32_t take_count = atomic_load_explicit(&picture->take_count, memory_order_acquire);
        if (take_count == 0) {
            return false;
        }
        memset(ret_copy, 0, sizeof(*ret_copy));
        copy(picture, ret_copy);
        ret_copy->take_count = take_count;
        atomic_thread_fence(memory_order_acquire);
        if (take_count % 2 == 0 && get(&picture->take_count) == take_count) {
            return true;
        }
    }
    return false;
}
