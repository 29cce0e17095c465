/* SPDX-License-Identifier: MIT */
/*
 * Schedule, reschedule, cancel.
 *
 * Each call touches the node, beside the wheel's own hot cache lines and the caller's handle. If the entry has to move,
 * it also touches the ends of two lists, and the node whose entry takes the vacated place.
 */
#include <errno.h>

#include "base/probes.h"
#include "wheel/arm.h"

static const verge_timer next_generation = UINT64_C(2) << 32; /* from the last handle of a node to its next */

/* The spare node has become a timer. */
static VERGE__ALWAYS_INLINE int begin_timer(verge_wheel *wheel, verge__timer_node *node, void *data,
                                            verge_timer *ret_timer) {
    verge_timer timer = wheel->nodes.spare + next_generation;
    VERGE__INVARIANT((node->node.generation & 1) == 0, "WN2: a free node has an even generation");
    wheel->nodes.spare = 0;
    node->node.generation = (uint32_t)(timer >> 32);
    node->data = data;
    if (ret_timer != NULL) {
        *ret_timer = timer;
    }
    VERGE__PROBE3(schedule, wheel, timer, node->node.deadline_ns);
    return 0;
}

static VERGE__NOINLINE int schedule_slowly(verge_wheel *wheel, uint64_t deadline_ns, void *data,
                                           verge_timer *ret_timer) {
    int error = wheel == NULL ? -EINVAL : 0;
    if (error == 0 && wheel->nodes.spare == 0) {
        error = verge__wheel_judge(wheel, false, deadline_ns); /* before memory is asked for */
        error = error == 0 ? verge__wheel_find_spare(wheel) : error;
    }
    if (error != 0) {
        return error;
    }
    uint32_t index = (uint32_t)wheel->nodes.spare;
    verge__timer_node *node = verge__nodes_at(&wheel->nodes, index);
    error = verge__wheel_arm(wheel, verge__entry_for_index(index), &node->node, deadline_ns);
    return error != 0 ? error : begin_timer(wheel, node, data, ret_timer);
}

int verge_wheel_schedule(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer) {
    VERGE__ENTER(wheel);
    if (VERGE__LIKELY(wheel != NULL && (wheel->nodes.spare != 0 || verge__nodes_pop(&wheel->nodes)))) {
        verge__timer_node *node = verge__nodes_at(&wheel->nodes, (uint32_t)wheel->nodes.spare);
        if (verge__wheel_try_arm(wheel, &node->node, deadline_ns, true)) {
            return begin_timer(wheel, node, data, ret_timer);
        }
    }
    return schedule_slowly(wheel, deadline_ns, data, ret_timer);
}

static VERGE__NOINLINE int reschedule_slowly(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    verge__timer_node *node = wheel == NULL ? NULL : verge__nodes_find(&wheel->nodes, timer);
    if (node == NULL) {
        return wheel == NULL ? -EINVAL : verge__nodes_why_not(&wheel->nodes, timer);
    }
    VERGE__INVARIANT(verge__node_is_pending(&node->node), "WN2: a live node is pending");
    int error = verge__wheel_arm(wheel, verge__entry_for_index((uint32_t)timer), &node->node, deadline_ns);
    if (error == 0) {
        VERGE__PROBE3(reschedule, wheel, timer, deadline_ns);
    }
    return error;
}

int verge_wheel_reschedule(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    verge__timer_node *node = VERGE__UNLIKELY(wheel == NULL) ? NULL : verge__nodes_find(&wheel->nodes, timer);
    if (VERGE__UNLIKELY(node == NULL || !verge__wheel_try_arm(wheel, &node->node, deadline_ns, false))) {
        return reschedule_slowly(wheel, timer, deadline_ns);
    }
    VERGE__PROBE3(reschedule, wheel, timer, deadline_ns);
    return 0;
}

static VERGE__NOINLINE int rearm_slowly(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data) {
    verge__timer_node *node = verge__nodes_find(&wheel->nodes, *timer);
    if (node == NULL) {
        return verge_wheel_schedule(wheel, deadline_ns, data, timer);
    }
    int error = reschedule_slowly(wheel, *timer, deadline_ns);
    node->data = error == 0 ? data : node->data;
    return error;
}

int verge_wheel_rearm(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timer == NULL)) {
        return -EINVAL;
    }
    verge__timer_node *node = verge__nodes_find(&wheel->nodes, *timer);
    if (VERGE__UNLIKELY(node == NULL || !verge__wheel_try_arm(wheel, &node->node, deadline_ns, false))) {
        return rearm_slowly(wheel, timer, deadline_ns, data);
    }
    node->data = data;
    VERGE__PROBE3(reschedule, wheel, *timer, deadline_ns);
    return 0;
}

static VERGE__NOINLINE int cancel_slowly(verge_wheel *wheel, verge_timer timer, void **ret_data) {
    verge__timer_node *node = wheel == NULL ? NULL : verge__nodes_find(&wheel->nodes, timer);
    if (node == NULL) {
        return wheel == NULL ? -EINVAL : verge__nodes_why_not(&wheel->nodes, timer);
    }
    VERGE__INVARIANT(wheel->nodes.spare != timer, "WN1: the spare node is free");
    if (ret_data != NULL) {
        *ret_data = node->data;
    }
    verge__wheel_retract(wheel, &node->node);
    if (++node->node.generation == 0) { /* its generations are used up: it is not used again */
        if (verge__node_has_entry(&node->node)) {
            verge__wheel_drop(wheel, &node->node);
        }
        verge__nodes_put_free(&wheel->nodes, (uint32_t)timer);
    } else if (!verge__nodes_push(&wheel->nodes, timer)) {
        verge__nodes_empty_stack(&wheel->nodes, VERGE__STACK_MAX / 2);
        (void)verge__nodes_push(&wheel->nodes, timer);
    }
    VERGE__PROBE2(cancel, wheel, timer);
    return 0;
}

int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data) {
    VERGE__ENTER(wheel);
    verge__timer_node *node = VERGE__UNLIKELY(wheel == NULL) ? NULL : verge__nodes_find(&wheel->nodes, timer);
    uint32_t generation = (uint32_t)(timer >> 32) + 1;
    if (VERGE__UNLIKELY(node == NULL || generation == 0 || !verge__wheel_may_rest(wheel, &node->node) ||
                        !verge__nodes_push(&wheel->nodes, timer))) {
        return cancel_slowly(wheel, timer, ret_data);
    }
    if (ret_data != NULL) {
        *ret_data = node->data;
    }
    verge__wheel_rest(wheel, &node->node);
    node->node.generation = generation;
    VERGE__PROBE2(cancel, wheel, timer);
    return 0;
}

int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry) {
    VERGE__LOOK(wheel);
    if (wheel == NULL || ret_expiry == NULL) {
        return -EINVAL;
    }
    if (verge__nodes_find(&wheel->nodes, timer) == NULL) {
        return verge__nodes_why_not(&wheel->nodes, timer);
    }
    *ret_expiry = verge__wheel_expiry(wheel, verge__entry_for_index((uint32_t)timer));
    return 0;
}
