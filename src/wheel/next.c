/* SPDX-License-Identifier: MIT */
/* When the next timer comes out: a lower bound, from the bitmaps, and the exact deadline. */
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

static void add_deadline(const verge_wheel *wheel, verge__first *found, uint64_t deadline_ns) {
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (tick < found->tick) {
        *found = (verge__first){.tick = tick, .smallest_ns = deadline_ns, .largest_ns = deadline_ns};
    } else if (tick == found->tick) {
        found->smallest_ns = deadline_ns < found->smallest_ns ? deadline_ns : found->smallest_ns;
        found->largest_ns = deadline_ns > found->largest_ns ? deadline_ns : found->largest_ns;
    }
}

static void add_any(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    if (verge__timer_is_pending(timer)) {
        add_deadline(wheel, (verge__first *)context, timer->node.deadline_ns);
    }
}

/* Looks at a slot's timers. Idle nodes are dropped. Nodes of timers that were moved beyond the slot are refiled. So the
 * next search does not meet them here. */
static void look_at_slot(verge_wheel *wheel, const verge__level *level, uint64_t position, verge__first *found) {
    verge__node **lanes = verge__level_slot(level, position);
    for (uint32_t lane = 0; lane < verge__level_lane_count(level); lane++) {
        for (verge__node *node = lanes[lane], *next = NULL; node != NULL; node = next) {
            verge__timer_node *timer = verge__timer_of_node(node);
            bool is_pending = verge__timer_is_pending(timer);
            next = node->next;
            if (is_pending) {
                add_deadline(wheel, found, node->deadline_ns);
            }
            if (is_pending && verge__wheel_tick(wheel, node->deadline_ns) >> level->shift <= position) {
                continue;
            }
            verge__calendar_withdraw(&wheel->calendar, node);
            if (is_pending) {
                verge__wheel_refile(wheel, timer);
            } else {
                wheel->dropped++;
            }
        }
    }
}

/* The smallest tick of a timer in a slot. A coarse wheel rounds ticks up, so it may be before the slot's start. */
static uint64_t smallest_tick(const verge_wheel *wheel, const verge__level *level, uint64_t position) {
    uint64_t start = position << level->shift;
    return start > wheel->geometry.rounding ? start - wheel->geometry.rounding : 0;
}

/* No timer in a slot is due before the slot's smallest tick. So a slot whose smallest tick is after the first tick
 * found so far need not be looked at. */
verge__first verge__wheel_find_first(verge_wheel *wheel) {
    const verge__calendar *calendar = &wheel->calendar;
    verge__first found = {.tick = VERGE__NO_TICK, .smallest_ns = VERGE_NEVER};
    if (verge__wheel_has_due(wheel) || wheel->visits > 0) { /* looks at all timers: slow, but it moves no node */
        verge__wheel_visit(wheel, 0, add_any, &found);
        return found;
    }
    for (size_t k = 0; k < calendar->levels_used; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t first = calendar->cursor >> level->shift;
        uint64_t position = verge__level_next(level, first);
        while (position != VERGE__NO_TICK && position - first <= level->mask &&
               smallest_tick(wheel, level, position) <= found.tick) {
            look_at_slot(wheel, level, position, &found);
            /* After the last slot, the next position is first + mask + 1 or more. */
            position = verge__level_next(level, position + 1);
        }
    }
    return found;
}

uint64_t verge__wheel_earliest(verge_wheel *wheel) {
    if (wheel->earliest_ns == 0) {
        wheel->earliest_ns = verge__wheel_find_first(wheel).smallest_ns;
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
