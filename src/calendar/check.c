/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a calendar, by computing everything again in the simplest way. */
#include "calendar/calendar.h"

/* Returns the tick at which a slot starts. The slot that is being handed out is just before the cursor. */
static uint64_t start_of(const verge__calendar *calendar, const verge__level *level, uint32_t slot) {
    uint64_t first = calendar->cursor >> level->shift;
    uint64_t position = first + ((slot - (uint32_t)first) & level->mask);
    return verge__level_slot(level, slot) == calendar->due_slot ? calendar->cursor - 1 : position << level->shift;
}

static bool is_at_place(const verge__placed_node *placed, const verge__level *level, uint64_t start) {
    return placed->tag < VERGE__HAS_PLACE || verge__node_place(placed) >> level->shift == start >> level->shift;
}

static const char *check_slot(const verge__calendar *calendar, size_t k, uint32_t slot, verge__calendar_look *look,
                              void *context, size_t *count) {
    const verge__level *level = &calendar->levels[k];
    verge__node **lanes = verge__level_slot(level, slot);
    uint64_t start = start_of(calendar, level, slot);
    size_t in_slot = 0;
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        for (verge__node *const *at = &lanes[lane]; *at != NULL; at = &(*at)->next) {
            in_slot++;
            if ((*at)->pprev != at) {
                return "C2: next and pprev agree";
            }
            if (calendar->has_places && !is_at_place((const verge__placed_node *)(const void *)*at, level, start)) {
                return "C8: a node is in the slot of its place";
            }
            const char *found = look(context, *at, start);
            if (found != NULL) {
                return found;
            }
        }
    }
    *count += in_slot;
    if ((in_slot > 0) != verge__level_has(level, slot)) {
        return "C1: a slot's bit is set if and only if one of its lanes is not empty";
    }
    if (in_slot == 0) {
        return NULL;
    }
    bool is_due = lanes == calendar->due_slot;
    if (!is_due && start < calendar->cursor) {
        return "C3: every slot starts at or after the cursor";
    }
    if (start < calendar->quiet_until || (k > 0 && start < calendar->upper_quiet)) {
        return is_due ? NULL : "C5: nothing happens before quiet_until";
    }
    if (level->counts != NULL && level->counts[slot] < in_slot) {
        return "C6: a slot has no more nodes than were counted";
    }
    return k >= calendar->levels_used ? "C7: levels from levels_used on are empty" : NULL;
}

const char *verge__calendar_check(const verge__calendar *calendar, size_t own_count, verge__calendar_look *look,
                                  void *context) {
    size_t count = own_count;
    for (size_t k = 0; k < calendar->level_count; k++) {
        for (uint32_t slot = 0; slot <= calendar->levels[k].mask; slot++) {
            const char *broken = check_slot(calendar, k, slot, look, context, &count);
            if (broken != NULL) {
                return broken;
            }
        }
    }
    return count != calendar->linked ? "C4: linked is the number of nodes" : NULL;
}
