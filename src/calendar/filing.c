/* SPDX-License-Identifier: MIT */
/* Filing and withdrawing entries, and the owner's lists. */
#include "calendar/level.h"

/* ---- chunks ---- */

static verge__list push_chunk(verge__calendar *calendar, verge__list end, size_t level, uint32_t slot) {
    verge__chunk *chunk = verge__chunk_pool_take(&calendar->pool);
    verge__chunk *below = end == NULL ? NULL : verge__list_chunk(end);
    chunk->below = below;
    chunk->depth = below == NULL ? 0 : (below->depth + 1) & ((1 << VERGE__DEPTH_BITS) - 1);
    chunk->level = level & 31;
    chunk->slot = slot & 0x7fff;
    return chunk->entries;
}

verge__list verge__calendar_add_chunk(verge__calendar *calendar, verge__level *level, uint64_t position) {
    uint32_t slot = (uint32_t)position & level->mask;
    uint64_t start = position << level->shift;
    size_t k = (size_t)(level - calendar->levels);
    bool is_first = level->slots[slot] == NULL;
    VERGE__INVARIANT(start >= calendar->cursor, "C3: every slot starts at or after the cursor");
    if (is_first) {
        level->occupied[slot >> 6] |= UINT64_C(1) << (slot & 63);
        calendar->levels_used = k + 1 > calendar->levels_used ? (uint8_t)(k + 1) : calendar->levels_used;
    }
    uint64_t quiet = start;
    if (k > 0) { /* shares of a slot with several chunks are due before it starts */
        quiet = is_first ? start : verge__level_drain_begin(level, position);
        calendar->upper_quiet = quiet < calendar->upper_quiet ? quiet : calendar->upper_quiet;
        if (verge__list_chunks(level->slots[slot]) == 1 && position == (calendar->cursor >> level->shift) + 1) {
            level->drained_to = calendar->cursor; /* its shares begin now: none was missed */
        }
    }
    calendar->quiet_until = quiet < calendar->quiet_until ? quiet : calendar->quiet_until;
    return push_chunk(calendar, level->slots[slot], k, slot);
}

/* ---- slots ---- */

void verge__calendar_file(verge__calendar *calendar, verge__entry entry, verge__node *node, uint64_t tick) {
    VERGE__INVARIANT(tick >= calendar->cursor, "C3: nothing is filed before the cursor");
    VERGE__INVARIANT(!verge__node_has_entry(node), "C2: a node has one entry at the most");
    VERGE__INVARIANT(calendar->entry_count < calendar->entry_capacity, "C6: entries are filed where room was made");
    verge__level *level = &calendar->levels[verge__calendar_level(calendar, tick)];
    calendar->entry_count++;
    verge__calendar_put(calendar, level, tick >> level->shift, entry, node);
}

void verge__calendar_withdraw(verge__calendar *calendar, verge__node *node) {
    VERGE__INVARIANT(verge__node_has_entry(node) && verge__calendar_node(calendar, *verge__node_place(node)) == node,
                     "C2: a node with an entry knows its place");
    verge__entry *place = verge__node_place(node);
    const verge__chunk *chunk = verge__chunk_of(place);
    size_t k = chunk->level;
    uint32_t slot = chunk->slot;
    verge__list *list = k == VERGE__OWN_LEVEL ? &calendar->own[slot] : &calendar->levels[k].slots[slot];
    verge__node *moved = verge__calendar_node(calendar, *(*list - 1));
    *place = *(*list - 1);
    moved->place = (uintptr_t)place | (moved->place & VERGE__PLACE_TAGS);
    node->place = VERGE__NO_PLACE;
    verge__calendar_drop_newest(calendar, list);
    if (*list == NULL && k != VERGE__OWN_LEVEL) {
        verge__calendar_slot_emptied(calendar, k, slot);
    }
}

bool verge__calendar_move(verge__calendar *calendar, verge__entry entry, verge__node *node, uint64_t tick) {
    if (VERGE__LIKELY(verge__node_has_entry(node))) {
        if (VERGE__UNLIKELY(!verge__calendar_try_withdraw(calendar, node))) {
            verge__calendar_withdraw(calendar, node);
        }
    } else if (VERGE__UNLIKELY(calendar->entry_count >= calendar->entry_capacity)) {
        return false;
    }
    verge__calendar_file(calendar, entry, node, tick);
    return true;
}

/* ---- the owner's lists ---- */

void verge__calendar_list_add(verge__calendar *calendar, size_t own, verge__entry entry, verge__node *node) {
    VERGE__INVARIANT(!verge__node_has_entry(node), "C2: a node has one entry at the most");
    VERGE__INVARIANT(calendar->entry_count < calendar->entry_capacity, "C6: entries are filed where room was made");
    VERGE__INVARIANT(own < VERGE__OWN_LISTS, "L2: each list of the owner's has a number");
    verge__list end = calendar->own[own];
    if (verge__list_needs_chunk(end)) {
        end = push_chunk(calendar, end, VERGE__OWN_LEVEL, (uint32_t)own);
    }
    *end = entry;
    calendar->own[own] = end + 1;
    calendar->entry_count++;
    node->place = (uintptr_t)end;
}

verge__entry verge__calendar_list_pop(verge__calendar *calendar, size_t own) {
    VERGE__INVARIANT(calendar->own[own] != NULL, "L1: entries are taken while there are some");
    verge__entry entry = *(calendar->own[own] - 1);
    verge__calendar_drop_newest(calendar, &calendar->own[own]);
    return entry;
}
