/* SPDX-License-Identifier: MIT */
/* When the next timer comes out: a lower bound, from the bitmaps, and the exact deadline. */
#include <errno.h>

#include "calendar/level.h"
#include "wheel/wheel_internal.h"

bool verge_wheel_has_backlog(const verge_wheel *wheel) {
    VERGE__LOOK(wheel);
    return wheel != NULL && verge__wheel_has_due(wheel);
}

uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel) {
    VERGE__LOOK(wheel);
    if (wheel == NULL || verge__wheel_pending(wheel) == 0) {
        return VERGE_NEVER;
    }
    if (verge__wheel_has_due(wheel)) {
        return wheel->now_ns;
    }
    if (wheel->earliest_ns != 0 && !wheel->options.coarse) {
        return verge__wheel_tick(wheel, wheel->earliest_ns) << wheel->calendar.shift;
    }
    return verge__calendar_next(&wheel->calendar) << wheel->calendar.shift;
}

/* ---- the exact deadline ---- */

/* The smallest and, of those with the same tick, the largest deadline seen. */
typedef struct extent {
    uint64_t tick;
    uint64_t smallest_ns;
    uint64_t largest_ns;
} extent;

static void extent_add(const verge_wheel *wheel, extent *found, uint64_t deadline_ns) {
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (tick < found->tick) {
        *found = (extent){.tick = tick, .smallest_ns = deadline_ns, .largest_ns = deadline_ns};
    } else if (tick == found->tick) {
        found->smallest_ns = deadline_ns < found->smallest_ns ? deadline_ns : found->smallest_ns;
        found->largest_ns = deadline_ns > found->largest_ns ? deadline_ns : found->largest_ns;
    }
}

static bool add_any(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    (void)entry;
    if (verge__node_is_pending(node)) {
        extent_add(wheel, (extent *)context, node->deadline_ns);
    }
    return true;
}

/* Looks at a slot's timers. Idle entries are withdrawn, and those of timers that were moved out of the slot are filed
 * anew: so the next search does not meet them again. False: there were such. */
static bool look_at_slot(verge_wheel *wheel, size_t k, uint64_t position, extent *found) {
    verge__calendar *calendar = &wheel->calendar;
    const verge__level *level = &calendar->levels[k];
    verge__list list = level->slots[(uint32_t)position & level->mask];
    bool is_straight = true;
    for (verge__entry *at = list - 1; at != NULL;) {
        verge__entry entry = *at;
        verge__node *node = verge__calendar_node(calendar, entry);
        at = verge__entry_older(at); /* what takes the place of an entry was looked at before */
        uint64_t tick = verge__node_is_pending(node) ? verge__wheel_tick(wheel, node->deadline_ns) : VERGE__NO_TICK;
        if (tick != VERGE__NO_TICK && tick >> level->shift <= position) {
            extent_add(wheel, found, node->deadline_ns);
            continue;
        }
        is_straight = false;
        if (tick == VERGE__NO_TICK) {
            verge__wheel_drop(wheel, node);
        } else {
            verge__wheel_withdraw(wheel, node);
            verge__wheel_refile(wheel, entry, node);
        }
    }
    return is_straight;
}

/* The smallest tick a timer in a slot can have: a coarse wheel rounds up to the slot's start. */
static uint64_t smallest_tick(const verge_wheel *wheel, const verge__level *level, uint64_t position) {
    uint64_t start = position << level->shift;
    return start > wheel->geometry.rounding ? start - wheel->geometry.rounding : 0;
}

/*
 * The timers that come out first; nothing is due. Every timer has an entry in a slot that starts no later than it comes
 * out, so slots that start after the best one found so far need not be looked at. False if entries were filed anew:
 * they may be anywhere. What was found stays, and may be found again.
 */
static bool try_find_first(verge_wheel *wheel, extent *found) {
    const verge__calendar *calendar = &wheel->calendar;
    for (size_t k = 0; k < calendar->levels_used; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t first = calendar->cursor >> level->shift;
        uint64_t position = verge__level_next(level, first);
        while (position != VERGE__NO_TICK && position - first <= level->mask &&
               smallest_tick(wheel, level, position) <= found->tick) {
            if (!look_at_slot(wheel, k, position, found)) {
                return false;
            }
            position = verge__level_next(level, position + 1); /* from the start of the ring again: beyond its end */
        }
    }
    return true;
}

static extent find_first(verge_wheel *wheel) {
    extent found = {.tick = VERGE__NO_TICK, .smallest_ns = VERGE_NEVER};
    if (verge__wheel_has_due(wheel) || wheel->is_visiting) { /* among all timers, the slow way, which moves no entry */
        (void)verge__wheel_visit(wheel, add_any, &found);
        return found;
    }
    while (!try_find_first(wheel, &found)) {
    }
    return found;
}

uint64_t verge__wheel_earliest(verge_wheel *wheel) {
    if (wheel->earliest_ns == 0) {
        wheel->earliest_ns = find_first(wheel).smallest_ns;
        VERGE__INVARIANT((wheel->earliest_ns == VERGE_NEVER) == (verge__wheel_pending(wheel) == 0),
                         "W1: every pending timer has an entry");
    }
    return wheel->earliest_ns;
}

uint64_t verge_wheel_next_deadline(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || verge__wheel_pending(wheel) == 0) {
        return VERGE_NEVER;
    }
    return verge__wheel_has_due(wheel) ? wheel->now_ns : verge__wheel_earliest(wheel);
}

int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval, uint64_t *ret_smallest_ns,
                               uint64_t *ret_largest_ns) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) == 0) {
        return -ENOENT;
    }
    extent found = find_first(wheel);
    if (ret_interval != NULL) {
        *ret_interval = found.smallest_ns >> wheel->calendar.shift;
    }
    if (ret_smallest_ns != NULL) {
        *ret_smallest_ns = found.smallest_ns;
    }
    if (ret_largest_ns != NULL) {
        *ret_largest_ns = found.largest_ns;
    }
    return 0;
}
