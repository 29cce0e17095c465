/* SPDX-License-Identifier: MIT */
/* When the next timer comes out: a lower bound, from the bitmaps, and the exact deadline. */
#include <errno.h>

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
    bool is_known = wheel->earliest_ns != 0 && !wheel->options.coarse;
    uint64_t tick = is_known ? verge__wheel_tick(wheel, wheel->earliest_ns) : verge__calendar_next(&wheel->calendar);
    return tick < wheel->geometry.end_tick ? tick << wheel->calendar.shift : VERGE_NEVER;
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

static void add_any(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    if (verge__timer_is_pending(timer)) {
        extent_add(wheel, (extent *)context, timer->node.deadline_ns);
    }
}

/* Looks at a slot's timers. Idle nodes are dropped, and those of timers that were moved out of the slot are filed anew:
 * so the next search does not meet them again. False: there were such. */
static bool look_at_slot(verge_wheel *wheel, const verge__level *level, uint64_t position, extent *found) {
    verge__node **lanes = verge__level_slot(level, position);
    bool is_straight = true;
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        for (verge__node *node = lanes[lane], *next = NULL; node != NULL; node = next) {
            verge__timer_node *timer = verge__timer_of_node(node);
            bool is_pending = verge__timer_is_pending(timer);
            next = node->next;
            if (is_pending && verge__wheel_tick(wheel, node->deadline_ns) >> level->shift <= position) {
                extent_add(wheel, found, node->deadline_ns);
                continue;
            }
            is_straight = false;
            verge__calendar_withdraw(&wheel->calendar, node);
            if (is_pending) {
                verge__wheel_refile(wheel, timer);
            } else {
                wheel->dropped++;
            }
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
 * The timers that come out first; nothing is due. Every timer is in a slot that starts no later than it comes
 * out, so slots that start after the best one found so far need not be looked at. False if nodes were filed anew:
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
            if (!look_at_slot(wheel, level, position, found)) {
                return false;
            }
            position = verge__level_next(level, position + 1); /* from the start of the ring again: beyond its end */
        }
    }
    return true;
}

static extent find_first(verge_wheel *wheel) {
    extent found = {.tick = VERGE__NO_TICK, .smallest_ns = VERGE_NEVER};
    if (verge__wheel_has_due(wheel) || wheel->visits > 0) { /* among all timers, the slow way, which moves no node */
        verge__wheel_visit(wheel, add_any, &found);
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
                         "W1: every pending timer is linked");
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
