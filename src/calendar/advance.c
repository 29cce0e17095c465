/* SPDX-License-Identifier: MIT */
/* Moving the cursor forward: which tick is next, and which upper slots must be drained before it. */
#include "base/probes.h"
#include "calendar/level.h"

/* ---- which slot is next ---- */

uint64_t verge__level_next(const verge__level *level, uint64_t position) {
    uint32_t from = (uint32_t)position & level->mask;
    uint32_t words = verge__level_words(level);
    uint32_t word = from >> 6;
    uint64_t bits = level->occupied[word] & (UINT64_MAX << (from & 63));
    for (uint32_t i = 0; bits == 0; i++) { /* all the way round, to the first word again */
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

/* The level for an entry of a slot that is drained: below that slot's if its tick is in the slot, even if the slot is
 * still so far ahead that the entry would be filed there again. */
static verge__level *level_below(verge__calendar *calendar, size_t k, uint64_t position, uint64_t tick) {
    size_t to = verge__calendar_level(calendar, tick);
    bool is_here = tick >> calendar->levels[k].shift == position;
    return &calendar->levels[is_here && to >= k ? k - 1 : to];
}

/* Files the entries of one chunk anew, each by its deadline; drops idle ones. */
static void scatter(verge__calendar *calendar, size_t k, uint64_t position, const verge__entry *entries, size_t count) {
    unsigned shift = calendar->levels[k].shift;
    uint64_t start = position << shift;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        verge__node *node = verge__calendar_node(calendar, entry);
        uint64_t deadline_ns = verge__node_deadline(node);
        VERGE__INVARIANT(verge__node_has_entry(node), "C2: a node with an entry knows its place");
        if (deadline_ns == VERGE_NEVER) {
            verge__calendar_drop_idle(calendar, node);
            calendar->entry_count--;
            continue;
        }
        uint64_t tick = verge__calendar_tick(calendar, deadline_ns);
        tick = tick > start ? tick : start;
        if (VERGE__LIKELY(k == 1 && tick >> shift == position)) { /* as nearly all are */
            verge__calendar_put(calendar, &calendar->levels[0], tick, entry, node);
            continue;
        }
        VERGE__INVARIANT(tick >= calendar->cursor, "C3: nothing is filed before the cursor");
        verge__level *level = level_below(calendar, k, position, tick);
        verge__calendar_put(calendar, level, tick >> level->shift, entry, node);
    }
}

static void prefetch_nodes(const verge__calendar *calendar, const verge__chunk *chunk) {
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        VERGE__PREFETCH_WRITE(verge__calendar_node(calendar, chunk->entries[i]));
    }
}

/* Drains up to `chunks` chunks of a slot. False: the budget ran out first. */
static bool drain(verge__calendar *calendar, size_t k, uint64_t position, size_t chunks, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint32_t slot = (uint32_t)position & level->mask;
    for (; chunks > 0 && level->slots[slot] != NULL; chunks--) {
        verge__list list = level->slots[slot];
        verge__chunk *chunk = verge__list_chunk(list);
        VERGE__INVARIANT(chunk->level == k && chunk->slot == slot, "L2: each chunk names its list");
        size_t count = verge__list_chunk_count(list);
        size_t moved = count < *budget ? count : *budget;
        if (moved == 0) {
            return false;
        }
        VERGE__INVARIANT(calendar->entry_count >= moved, "C4: entries are counted");
        *budget -= moved;
        calendar->entries_moved += moved;
        VERGE__PROBE3(cascade, calendar, k, moved);
        if (chunk->below != NULL && calendar->entry_count > VERGE__PREFETCH_MIN) {
            prefetch_nodes(calendar, chunk->below);
        }
        /* Off the list first: what scatter moves must not be in it any more. */
        if (moved < count) {
            level->slots[slot] = list - moved;
        } else {
            level->slots[slot] = verge__list_from_full_chunk(chunk->below);
            if (chunk->below == NULL) {
                verge__calendar_slot_emptied(calendar, k, slot);
            }
        }
        scatter(calendar, k, position, list - moved, moved);
        if (moved < count) {
            return false;
        }
        verge__chunk_pool_give(&calendar->pool, chunk);
    }
    return true;
}

bool verge__calendar_open_cursor(verge__calendar *calendar, size_t *budget) {
    for (size_t k = calendar->levels_used; k-- > 1;) {
        unsigned shift = calendar->levels[k].shift;
        if ((calendar->cursor & verge__bit_mask(shift)) == 0 &&
            !drain(calendar, k, calendar->cursor >> shift, SIZE_MAX, budget)) {
            return false;
        }
    }
    return true;
}

bool verge__calendar_next_tick(verge__calendar *calendar, uint64_t last_tick, size_t *budget) {
    VERGE__INVARIANT(!verge__calendar_has_due(calendar), "C3: a tick is taken when all of the last one is gone");
    for (;;) {
        bool is_lowest = last_tick < calendar->upper_quiet; /* nothing above happens before */
        uint64_t next =
            is_lowest ? verge__level_next(&calendar->levels[0], calendar->cursor) : verge__calendar_next(calendar);
        VERGE__INVARIANT(next >= calendar->cursor, "C3: every slot starts at or after the cursor");
        if (next > last_tick) {
            calendar->cursor = last_tick < calendar->cursor ? calendar->cursor : last_tick + 1;
            calendar->quiet_until = next < calendar->upper_quiet ? next : calendar->upper_quiet;
            return false;
        }
        calendar->cursor = next;
        if (!is_lowest && !verge__calendar_open_cursor(calendar, budget)) {
            return false;
        }
        if (*verge__calendar_cursor_slot(calendar) != NULL) {
            VERGE__INVARIANT(calendar->cursor <= last_tick, "C3: no tick is taken before it comes");
            calendar->due_slot = verge__calendar_cursor_slot(calendar);
            calendar->cursor++;
            return true;
        }
    }
}

/* ---- shares ---- */

/*
 * The share of the next slot of level k that is due. Its m chunks are drained evenly from drain_begin to the slot's
 * start, rounded so that all are gone by then; a slot of a single chunk waits for its start. Returns the tick before
 * the next share: it is due when the cursor is behind that tick.
 */
static uint64_t drain_share(verge__calendar *calendar, size_t k, size_t *budget) {
    verge__level *level = &calendar->levels[k];
    uint64_t position = (calendar->cursor >> level->shift) + 1;
    size_t chunks = verge__list_chunks(level->slots[(uint32_t)position & level->mask]);
    if (chunks < 2) {
        return VERGE__NO_TICK;
    }
    uint64_t begin = verge__level_drain_begin(level, position);
    uint64_t from = level->drained_to > begin ? level->drained_to : begin;
    VERGE__INVARIANT(from <= calendar->cursor, "C5: shares were drained up to the cursor, not beyond");
    uint64_t left = (position << level->shift) - from;
    uint64_t elapsed = calendar->cursor - from;
    uint64_t interval = left > chunks ? left / chunks : 1; /* ticks from a share to the next */
    uint64_t at_once = (chunks - 1) / left + 1;
    if (elapsed < interval) {
        return from + interval - 1;
    }
    if (!drain(calendar, k, position, (size_t)(elapsed / interval * at_once), budget)) {
        return calendar->cursor;
    }
    level->drained_to = calendar->cursor - elapsed % interval;
    return level->drained_to + interval - 1;
}

void verge__calendar_settle(verge__calendar *calendar, size_t *budget) {
    if (calendar->cursor <= calendar->upper_quiet) {
        return;
    }
    calendar->upper_quiet = VERGE__NO_TICK;
    for (size_t k = calendar->levels_used; k-- > 1;) { /* what the upper levels drain, the lower ones may have to */
        const verge__level *level = &calendar->levels[k];
        uint64_t quiet = drain_share(calendar, k, budget);
        uint64_t position = verge__level_next(level, calendar->cursor >> level->shift);
        if (position != VERGE__NO_TICK) {
            uint64_t next = position << level->shift;
            if (verge__list_chunks(level->slots[(uint32_t)position & level->mask]) > 1) {
                uint64_t begin = verge__level_drain_begin(level, position);
                next = begin > calendar->cursor ? begin : next;
            }
            quiet = next < quiet ? next : quiet;
        } else if (calendar->levels_used == k + 1) {
            calendar->levels_used = (uint8_t)k;
        }
        calendar->upper_quiet = quiet < calendar->upper_quiet ? quiet : calendar->upper_quiet;
    }
    uint64_t next = verge__level_next(&calendar->levels[0], calendar->cursor);
    calendar->quiet_until = next < calendar->upper_quiet ? next : calendar->upper_quiet;
}
