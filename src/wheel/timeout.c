/* SPDX-License-Identifier: MIT */
/* Timeouts: nodes in the caller's objects. verge/wheel.h says when the wheel may touch their memory. */
#include <errno.h>

#include "base/probes.h"
#include "wheel/arm.h"

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
    wheel->attached++;
    int error = verge__wheel_secure(wheel);
    if (error != 0) {
        wheel->attached--;
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
        VERGE__INVARIANT(wheel->attached > 0, "W6: timeouts that are attached are counted");
        wheel->attached--;
    }
    VERGE__INVARIANT(!verge__node_has_entry(node), "C2: an entry does not outlive its node");
    *timeout = (verge_timeout){0}; /* a node is smaller, where pointers are */
    return 0;
}

/* One that is not attached: its memory may be zeroed, and while it is set, it is counted. */
static int set_loose(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    verge__timer_node *node = node_of(timeout);
    bool was_zeroed = is_zeroed(node);
    if (was_zeroed) {
        *node = (verge__timer_node){.node = {.deadline_ns = VERGE_NEVER, .place = VERGE__NO_PLACE}, .data = timeout};
    }
    bool was_set = verge__node_is_pending(&node->node);
    wheel->loose += !was_set;
    int error = verge__wheel_judge(wheel, was_set, deadline_ns); /* before memory is asked for */
    error = error == 0 ? verge__wheel_secure(wheel) : error;
    if (error == 0) {
        error = verge__wheel_arm(wheel, verge__entry_for_node(&node->node), &node->node, deadline_ns);
    }
    if (error != 0) {
        wheel->loose -= !was_set;
        if (was_zeroed) {
            *node = (verge__timer_node){0};
        }
    }
    return error;
}

static VERGE__NOINLINE int set_slowly(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    verge__node *node = &node_of(timeout)->node;
    int error = VERGE__LIKELY(verge__timeout_is_attached(node))
                    ? verge__wheel_arm(wheel, verge__entry_for_node(node), node, deadline_ns)
                    : set_loose(wheel, timeout, deadline_ns);
    if (VERGE__LIKELY(error == 0)) {
        VERGE__PROBE3(schedule, wheel, timeout, deadline_ns);
    }
    return error;
}

int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    verge__node *node = &node_of(timeout)->node;
    if (!verge__wheel_try_arm(wheel, node, deadline_ns, !verge__node_is_pending(node))) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    VERGE__PROBE3(schedule, wheel, timeout, deadline_ns);
    return 0;
}

static VERGE__NOINLINE int clear_slowly(verge_wheel *wheel, verge_timeout *timeout) {
    verge__node *node = &node_of(timeout)->node;
    if (is_zeroed(node_of(timeout)) || !verge__node_is_pending(node)) {
        return -ENOENT;
    }
    VERGE__INVARIANT(verge__timeout_is_attached(node) || wheel->loose > 0,
                     "W6: timeouts that are set and not attached are counted");
    wheel->loose -= !verge__timeout_is_attached(node);
    verge__wheel_retract(wheel, node);
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    verge__node *node = &node_of(timeout)->node;
    if (VERGE__UNLIKELY(!verge__node_is_pending(node) || !verge__wheel_may_rest(wheel, node))) {
        return clear_slowly(wheel, timeout);
    }
    verge__wheel_rest(wheel, node);
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    const verge__timer_node *node = (const verge__timer_node *)(const void *)timeout;
    return timeout == NULL || is_zeroed(node) ? VERGE_NEVER : node->node.deadline_ns;
}
