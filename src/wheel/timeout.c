/* SPDX-License-Identifier: MIT */
/* Timeouts: nodes in the caller's objects. verge/wheel.h says when the wheel may touch their memory. */
#include <errno.h>

#include "base/probes.h"
#include "wheel/wheel_internal.h"

static verge__timer_node *node_of(verge_timeout *timeout) {
    return (verge__timer_node *)(void *)timeout;
}

/* Zeroed memory is a timeout that is not set; so is one that was detached. */
static bool is_zeroed(const verge__timer_node *node) {
    return node->node.place == 0;
}

int verge_timeout_attach(verge_wheel *wheel, verge_timeout *timeout, void *data) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || timeout == NULL) {
        return -EINVAL;
    }
    int error = verge__wheel_attach_one(wheel);
    if (error != 0) {
        return error;
    }
    *node_of(timeout) = (verge__timer_node){
        .node = {.deadline_ns = VERGE_NEVER, .place = VERGE__NO_PLACE, .generation = 1}, .data = data};
    return 0;
}

int verge_timeout_detach(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || timeout == NULL || is_zeroed(node_of(timeout))) {
        return -EINVAL;
    }
    verge__node *node = &node_of(timeout)->node;
    (void)verge_timeout_clear(wheel, timeout);
    if (verge__node_has_entry(node)) {
        verge__wheel_drop(wheel, node);
    }
    if (verge__timeout_is_attached(node)) {
        verge__wheel_detach_one(wheel);
    }
    VERGE__INVARIANT(!verge__node_has_entry(node), "C2: an entry does not outlive its node");
    *timeout = (verge_timeout){0}; /* a node is smaller, where pointers are */
    return 0;
}

static VERGE__NOINLINE int set_slowly(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    verge__timer_node *node = node_of(timeout);
    bool was_zeroed = is_zeroed(node);
    bool was_set = !was_zeroed && verge__node_is_pending(&node->node);
    if (!was_set && wheel->options.timer_cap != 0 && verge__wheel_pending(wheel) >= wheel->options.timer_cap) {
        return -ENOSPC;
    }
    if (was_zeroed) {
        *node = (verge__timer_node){.node = {.deadline_ns = VERGE_NEVER, .place = VERGE__NO_PLACE}, .data = timeout};
    }
    int error = verge__wheel_arm(wheel, verge__entry_for_node(&node->node), &node->node, deadline_ns);
    if (error == 0) {
        wheel->loose += !was_set && !verge__timeout_is_attached(&node->node);
        VERGE__PROBE3(schedule, wheel, timeout, deadline_ns);
    } else if (was_zeroed) {
        *node = (verge__timer_node){0};
    }
    return error;
}

/* The entry has to move. */
static VERGE__NOINLINE int set_anew(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    verge__node *node = &node_of(timeout)->node;
    bool was_set = verge__node_is_pending(node);
    bool was_idle = !was_set && verge__node_has_entry(node);
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    /* One that is not attached and not set has no room of its own: the long way looks for some. */
    bool has_room = verge__timeout_is_attached(node) || (was_set && !is_zeroed(node_of(timeout)));
    if (VERGE__UNLIKELY(!has_room ||
                        !verge__calendar_move(&wheel->calendar, verge__entry_for_node(node), node, tick))) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    VERGE__INVARIANT(verge__node_has_entry(node), "W1: every pending timer has an entry");
    wheel->calendar.idle_ended += was_idle;
    node->deadline_ns = deadline_ns;
    verge__wheel_note_deadline(wheel, deadline_ns);
    VERGE__PROBE3(schedule, wheel, timeout, deadline_ns);
    return 0;
}

int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    verge__calendar *calendar = &wheel->calendar;
    verge__node *node = &node_of(timeout)->node;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    uint64_t before_ns = node->deadline_ns;
    if (VERGE__UNLIKELY(tick - calendar->cursor >= calendar->short_reach || before_ns == wheel->earliest_ns)) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    if (!verge__calendar_serves(calendar, node, tick)) {
        return set_anew(wheel, timeout, deadline_ns);
    }
    VERGE__INVARIANT(verge__node_has_entry(node), "W1: every pending timer has an entry");
    node->deadline_ns = deadline_ns;
    calendar->idle_ended += before_ns == VERGE_NEVER;
    verge__wheel_note_deadline(wheel, deadline_ns);
    VERGE__PROBE3(schedule, wheel, timeout, deadline_ns);
    return 0;
}

static VERGE__NOINLINE int clear_slowly(verge_wheel *wheel, verge_timeout *timeout) {
    if (is_zeroed(node_of(timeout))) {
        return -ENOENT;
    }
    VERGE__INVARIANT(verge__timeout_is_attached(&node_of(timeout)->node) || wheel->loose > 0,
                     "W6: timeouts that are set and not attached are counted");
    wheel->loose -= !verge__timeout_is_attached(&node_of(timeout)->node);
    verge__wheel_retract(wheel, &node_of(timeout)->node);
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    verge__node *node = &node_of(timeout)->node;
    uint64_t deadline_ns = node->deadline_ns;
    if (deadline_ns == VERGE_NEVER) {
        return -ENOENT;
    }
    if (VERGE__UNLIKELY(!verge__wheel_may_keep_idle(wheel, node) || deadline_ns == wheel->earliest_ns)) {
        return clear_slowly(wheel, timeout);
    }
    VERGE__INVARIANT(verge__node_has_entry(node), "W1: every pending timer has an entry");
    node->deadline_ns = VERGE_NEVER;
    wheel->calendar.idle_begun++;
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    const verge__timer_node *node = (const verge__timer_node *)(const void *)timeout;
    return timeout == NULL || is_zeroed(node) ? VERGE_NEVER : node->node.deadline_ns;
}
