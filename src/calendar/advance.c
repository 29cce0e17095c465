/* SPDX-License-Identifier: MIT */
/* What happens when slots get nodes or become empty, and when the cursor moves forward: which tick is next, and which
 * upper slots must be drained before it. */
#include "base/probes.h"
#include "calendar/calendar.h"

/* ---- slots that get nodes, or become empty ---- */

void verge__calendar_choose_lanes(verge__calendar *calendar) {
    bool are_many = calendar->linked >= VERGE__LANES_FROM;
    for (size_t k = 0; k < calendar->level_count; k++) {
        verge__level *level = &calendar->levels[k];
        level->lanes_used = are_many ? (uint8_t)(verge__level_lane_count(level) - 1) : (uint8_t)0;
    }
}

/* Notes that there is something to do at a tick, in level k. */
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
    if (count == VERGE__PORTION + 1) {
        uint64_t begin = (position - 1) << level->shift; /* portions begin when the slot before this one starts */
        note_tick(calendar, k, begin > calendar->cursor ? begin : calendar->cursor);
    }
    if ((calendar->put_count - 1) % 4096 == 0) {
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

/* ---- which slot is next ---- */

uint64_t verge__level_next(const verge__level *level, uint64_t position) {
    uint32_t from = (uint32_t)position & level->mask;
    uint32_t words = (level->mask >> 6) + 1;
    uint32_t word = from >> 6;
    uint64_t bits = level->occupied[word] & (UINT64_MAX << (from & 63));
    for (uint32_t i = 0; bits == 0; i++) { /* looks at all words, and at the first one again */
        if (i == words) {
            return VERGE__NO_TICK;
        }
        word = (word + 1) & (words - 1);
        bits = level->occupied[word];
    }
    uint32_t found = (word << 6) + verge__bit_lowest_index(bits);
    return position + ((found - from) & level->mask);
}

uint64_t verge__calendar_next(const verge__calendar *calendar) {
    uint64_t next = VERGE__NO_TICK;
    for (size_t k = 0; k < calendar->levels_used; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position != VERGE__NO_TICK && position << level->shift < next) {
            next = position << level->shift;
        }
    }
    return next;
}

/* ---- draining ---- */

/* Files a node of a slot of level k again, by its present deadline. If the tick of this deadline is still in the slot,
 * the node goes to a lower level, even if the tick's distance from the cursor asks for level k: the node must not go to
 * the same slot again. */
static VERGE__ALWAYS_INLINE void move_down(verge__calendar *calendar, size_t k, uint64_t position, verge__node *node) {
    unsigned shift = calendar->levels[k].shift;
    uint64_t start = position << shift;
    uint64_t tick = verge__calendar_tick(calendar, verge__node_deadline(node));
    tick = tick > start ? tick : start;
    size_t to = k - 1;
    if (VERGE__UNLIKELY(k > 1 || tick >> shift != position)) {
        size_t level = verge__calendar_level(calendar, tick);
        to = tick >> shift == position && level >= k ? k - 1 : level;
    }
    verge__calendar_put(calendar, to, tick, node);
    verge__calendar_note_place(calendar, node, tick);
}

/* Drains up to `max` nodes of a slot, from its lanes in turn. Returns false if the budget ran out first. */
static bool drain(verge__calendar *calendar, size_t k, uint64_t position, size_t max, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    verge__node **lanes = verge__level_slot(level, position);
    uint32_t slot = (uint32_t)position & level->mask;
    verge__node **heads[VERGE__LANES_MAX]; /* the heads of the lanes that have nodes left */
    verge__node *nodes[VERGE__LANES_MAX];  /* the next node of each of these lanes; the heads are written at the end */
    uint32_t lane_count = 0;
    size_t moved = 0;
    size_t limit = max < *budget ? max : *budget;
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        if (lanes[lane] != NULL) {
            VERGE__PREFETCH_WRITE(lanes[lane]);
            heads[lane_count] = &lanes[lane];
            nodes[lane_count++] = lanes[lane];
        }
    }
    for (uint32_t lane = 0; moved < limit && lane_count > 0; moved++) {
        verge__node *node = nodes[lane];
        verge__node *next = node->next;
        move_down(calendar, k, position, node);
        if (VERGE__LIKELY(next != NULL)) {
            VERGE__PREFETCH_WRITE(next);
            nodes[lane++] = next;
        } else { /* this lane is empty: the last lane takes its place in the arrays */
            *heads[lane] = NULL;
            lane_count--;
            heads[lane] = heads[lane_count];
            nodes[lane] = nodes[lane_count];
        }
        lane = lane < lane_count ? lane : 0;
    }
    for (uint32_t lane = 0; lane < lane_count; lane++) {
        *heads[lane] = nodes[lane];
        nodes[lane]->pprev = heads[lane];
    }
    bool is_empty = lane_count == 0;
    if (is_empty) {
        level->occupied[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
    }
    if (level->counts != NULL) {
        VERGE__INVARIANT(level->counts[slot] >= moved, "C6: a slot has no more nodes than were counted");
        level->counts[slot] = is_empty ? 0 : level->counts[slot] - (uint32_t)moved;
    }
    *budget -= moved;
    calendar->nodes_moved += moved;
    VERGE__PROBE3(cascade, calendar, k, moved);
    return is_empty || moved == max;
}

bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget) {
    for (size_t k = calendar->levels_used; k-- > 1;) {
        const verge__level *level = &calendar->levels[k];
        uint64_t position = calendar->cursor >> level->shift;
        if (position << level->shift == calendar->cursor && verge__level_has(level, position) &&
            !drain(calendar, k, position, SIZE_MAX, budget)) {
            return false;
        }
    }
    return true;
}

/*
 * Portions. If the next slot of a level has more than VERGE__PORTION nodes, it is drained evenly while the cursor
 * approaches its start: `nodes` nodes at a time, every `interval` ticks.
 */
typedef struct portion {
    size_t nodes; /* 0: the slot has too few nodes for portions */
    uint64_t interval;
} portion;

static portion next_portion(const verge__calendar *calendar, const verge__level *level) {
    uint64_t next = (calendar->cursor >> level->shift) + 1;
    uint64_t left = (next << level->shift) - calendar->cursor;
    uint32_t count = level->counts == NULL ? 0 : level->counts[(uint32_t)next & level->mask];
    if (count <= VERGE__PORTION) {
        return (portion){0};
    }
    uint64_t portions = (count - 1) / VERGE__PORTION + 1;
    uint64_t interval = left > portions ? left / portions : 1;
    uint64_t visits = (left - 1) / interval + 1; /* how many portions, this one included, until the slot starts */
    return (portion){.nodes = (size_t)((count - 1) / visits + 1), .interval = interval < left ? interval : left};
}

/* Returns the tick at which a level has to be looked at again, or NO_TICK if it is empty. */
static uint64_t next_look(const verge__calendar *calendar, const verge__level *level) {
    portion due = next_portion(calendar, level);
    if (due.nodes > 0) {
        return calendar->cursor + due.interval;
    }
    uint64_t here = calendar->cursor >> level->shift;
    uint64_t position = verge__level_next(level, here);
    if (position == VERGE__NO_TICK) {
        return VERGE__NO_TICK;
    }
    bool has_portions = level->counts != NULL && level->counts[(uint32_t)position & level->mask] > VERGE__PORTION;
    return (position - (has_portions && position > here ? 1 : 0)) << level->shift;
}

/* Drains what is due in the upper levels, and updates upper_quiet. Returns false if the budget ran out first. */
static bool work_above(verge__calendar *calendar, size_t *budget) {
    bool is_done = verge__calendar_open_cursor(calendar, budget);
    for (size_t k = calendar->levels_used; k-- > 1 && is_done;) { /* from the top, as the levels below get nodes */
        portion due = next_portion(calendar, &calendar->levels[k]);
        is_done = due.nodes == 0 ||
                  drain(calendar, k, (calendar->cursor >> calendar->levels[k].shift) + 1, due.nodes, budget);
    }
    calendar->upper_quiet = is_done ? VERGE__NO_TICK : calendar->cursor;
    for (size_t k = calendar->levels_used; k-- > 1 && is_done;) {
        uint64_t look = next_look(calendar, &calendar->levels[k]);
        calendar->upper_quiet = look < calendar->upper_quiet ? look : calendar->upper_quiet;
        if (look == VERGE__NO_TICK && calendar->levels_used == k + 1) {
            calendar->levels_used = (uint8_t)k;
        }
    }
    return is_done;
}

/* ---- ticks ---- */

/* Brings the first nodes of a slot towards the cache. */
static void prefetch(const verge__level *level, verge__node **lanes) {
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        VERGE__PREFETCH_WRITE(lanes[lane]);
    }
}

bool verge__calendar_next_tick(verge__calendar *calendar, uint64_t last_tick, size_t *budget) {
    VERGE__INVARIANT(!verge__calendar_has_due(calendar), "C3: a tick is taken when all of the last one is gone");
    const verge__level *lowest = &calendar->levels[0];
    while (calendar->cursor <= last_tick) {
        if (calendar->cursor >= calendar->upper_quiet && !work_above(calendar, budget)) {
            return false;
        }
        uint64_t end = last_tick < calendar->upper_quiet ? last_tick : calendar->upper_quiet - 1;
        uint64_t next = verge__level_next(lowest, calendar->cursor);
        VERGE__INVARIANT(next >= calendar->cursor, "C3: every slot starts at or after the cursor");
        if (next <= end) {
            calendar->due_slot = verge__level_slot(lowest, next);
            calendar->due_lane = 0;
            calendar->cursor = next + 1;
            prefetch(lowest, calendar->due_slot);
            prefetch(lowest, verge__level_slot(lowest, next + 1));
            return true;
        }
        calendar->cursor = end + 1;
        calendar->quiet_until = next < calendar->upper_quiet ? next : calendar->upper_quiet;
    }
    return false;
}

void verge__calendar_settle(verge__calendar *calendar, size_t *budget) {
    if (calendar->cursor >= calendar->upper_quiet) {
        (void)work_above(calendar, budget);
    }
    uint64_t next = verge__level_next(&calendar->levels[0], calendar->cursor);
    calendar->quiet_until = next < calendar->upper_quiet ? next : calendar->upper_quiet;
}
