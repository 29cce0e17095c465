/* SPDX-License-Identifier: MIT */
/*
 * wheel/arm.h - a timer gets a deadline, or loses it: the same for timers with handles and for timeouts.
 *
 * The short ways are here: no call and no loop, and only the node is touched. Where they do not apply, they change
 * nothing, and the caller goes the long way (arm.c), by a call that is its last step: so the short way saves no
 * registers.
 */
#ifndef VERGE_SRC_WHEEL_ARM_H
#define VERGE_SRC_WHEEL_ARM_H

#include "wheel/wheel_internal.h"

/* Gives a node a deadline if its entry serves for it. `was_idle`: the node is not pending; who knows that need not wait
 * for the node. A deadline beyond the end of time wraps to tick 0, which is the past (VERGE__SHORT_END). */
static VERGE__ALWAYS_INLINE bool verge__wheel_try_arm(verge_wheel *wheel, verge__node *node, uint64_t deadline_ns,
                                                      bool was_idle) {
    verge__calendar *calendar = &wheel->calendar;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(tick - calendar->cursor >= calendar->short_reach || node->deadline_ns == wheel->earliest_ns ||
                        !verge__calendar_serves(calendar, node, tick))) {
        return false;
    }
    VERGE__INVARIANT(verge__node_has_entry(node), "W1: every pending timer has an entry");
    VERGE__INVARIANT(was_idle == !verge__node_is_pending(node), "W3: idle entries are counted");
    node->deadline_ns = deadline_ns;
    calendar->idle_ended += was_idle;
    verge__wheel_note_deadline(wheel, deadline_ns);
    return true;
}

VERGE__NOINLINE int verge__wheel_arm_slowly(verge_wheel *wheel, verge__entry entry, verge__node *node,
                                            uint64_t deadline_ns);

/* The same, whatever has to be done. There is room for an entry (W6). An error changes nothing. Within the reach of the
 * short ways the entry is moved. */
static VERGE__ALWAYS_INLINE int verge__wheel_arm(verge_wheel *wheel, verge__entry entry, verge__node *node,
                                                 uint64_t deadline_ns) {
    verge__calendar *calendar = &wheel->calendar;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(tick - calendar->cursor >= calendar->short_reach || node->deadline_ns == wheel->earliest_ns)) {
        return verge__wheel_arm_slowly(wheel, entry, node, deadline_ns);
    }
    calendar->idle_ended += verge__node_has_entry(node) && !verge__node_is_pending(node);
    bool is_moved = verge__calendar_move(calendar, entry, node, tick);
    VERGE__INVARIANT(is_moved, "W6: there is room for an entry of each node that may need one");
    (void)is_moved;
    node->deadline_ns = deadline_ns;
    verge__wheel_note_deadline(wheel, deadline_ns);
    return 0;
}

/* Whether a timer, pending or not, may have a deadline: 0, -ERANGE, -EINVAL or -ENOSPC. */
int verge__wheel_judge(const verge_wheel *wheel, bool is_pending, uint64_t deadline_ns);

/* A timer ends before its time: whether its entry may become idle; that it does; or whatever has to be done. */
static VERGE__ALWAYS_INLINE bool verge__wheel_may_rest(const verge_wheel *wheel, const verge__node *node) {
    return verge__wheel_may_keep_idle(wheel, node) && node->deadline_ns != wheel->earliest_ns;
}

static VERGE__ALWAYS_INLINE void verge__wheel_rest(verge_wheel *wheel, verge__node *node) {
    VERGE__INVARIANT(verge__node_is_pending(node) && verge__node_has_entry(node),
                     "W1: every pending timer has an entry");
    node->deadline_ns = VERGE_NEVER;
    wheel->calendar.idle_begun++;
}

void verge__wheel_retract(verge_wheel *wheel, verge__node *node);

#endif
