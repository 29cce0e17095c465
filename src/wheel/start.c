/* SPDX-License-Identifier: MIT */
/* Timers with handles: start, reset, cancel. */
#include <errno.h>

#include "base/probes.h"
#include "wheel/wheel_internal.h"

/* The end of a start: the node was armed, and now becomes a timer with a handle. */
static VERGE__ALWAYS_INLINE int started(verge_wheel *wheel, verge__table_node *node, void *data,
                                        verge_timer *ret_timer) {
    verge__nodes_take(&wheel->nodes, node);
    node->data = data;
    if (ret_timer != NULL) {
        *ret_timer = node->timer.tag;
    }
    VERGE__PROBE3(start, wheel, node->timer.tag, node->timer.node.deadline_ns);
    return 0;
}

/* The long way of a start. `node` is a free node. If it is NULL, a free node has to be found. */
static VERGE__NOINLINE int start_anew(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer,
                                      verge__table_node *node) {
    if (VERGE__UNLIKELY(node == NULL)) {
        if (wheel == NULL) {
            return -EINVAL;
        }
        int error = verge__wheel_judge(wheel, false, deadline_ns); /* before memory is asked for */
        error = error == 0 ? verge__wheel_find_node(wheel) : error;
        node = error != 0 ? NULL : verge__nodes_peek(&wheel->nodes);
        if (node == NULL) {
            VERGE__INVARIANT(error != 0, "WN3: a slab that has a free node was found");
            return error;
        }
    }
    uint64_t tick;
    if (VERGE__UNLIKELY(!verge__wheel_arm_anew(wheel, &node->timer, deadline_ns, &tick))) {
        int error = verge__wheel_arm(wheel, &node->timer, deadline_ns, false);
        if (VERGE__UNLIKELY(error != 0)) {
            return error;
        }
    }
    return started(wheel, node, data, ret_timer);
}

int verge_wheel_start(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer) {
    VERGE__ENTER(wheel);
    verge__table_node *node = VERGE__UNLIKELY(wheel == NULL) ? NULL : verge__nodes_peek(&wheel->nodes);
    return VERGE__LIKELY(node != NULL) && verge__wheel_arm_in_place(wheel, &node->timer, deadline_ns, false)
               ? started(wheel, node, data, ret_timer)
               : start_anew(wheel, deadline_ns, data, ret_timer, node);
}

static VERGE__NOINLINE int move(verge_wheel *wheel, verge__table_node *node, uint64_t deadline_ns) {
    int error = verge__wheel_arm(wheel, &node->timer, deadline_ns, false);
    if (VERGE__LIKELY(error == 0)) {
        VERGE__PROBE3(reset, wheel, node->timer.tag, deadline_ns);
    }
    return error;
}

static VERGE__ALWAYS_INLINE int reset(verge_wheel *wheel, verge__table_node *node, uint64_t deadline_ns) {
    if (VERGE__UNLIKELY(!verge__wheel_arm_in_place(wheel, &node->timer, deadline_ns, false))) {
        return move(wheel, node, deadline_ns);
    }
    VERGE__PROBE3(reset, wheel, node->timer.tag, deadline_ns);
    return 0;
}

static VERGE__NOINLINE int why_not(const verge_wheel *wheel, verge_timer timer) {
    return wheel == NULL ? -EINVAL : verge__nodes_why_not(&wheel->nodes, timer);
}

int verge_wheel_reset(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    verge__table_node *node = VERGE__UNLIKELY(wheel == NULL) ? NULL : verge__nodes_find(&wheel->nodes, timer);
    return VERGE__UNLIKELY(node == NULL) ? why_not(wheel, timer) : reset(wheel, node, deadline_ns);
}

int verge_wheel_start_or_reset(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL || timer == NULL)) {
        return -EINVAL;
    }
    verge__table_node *node = verge__nodes_find(&wheel->nodes, *timer);
    if (VERGE__UNLIKELY(node == NULL)) {
        return verge_wheel_start(wheel, deadline_ns, data, timer);
    }
    int error = reset(wheel, node, deadline_ns);
    if (VERGE__LIKELY(error == 0)) {
        node->data = data;
    }
    return error;
}

/* The long way of a cancel: withdraws the node, unless it may stay as an idle node. If few nodes are used, it also
 * gives back an empty slab. */
static VERGE__NOINLINE int tidy(verge_wheel *wheel, verge__table_node *node, bool is_idle) {
    if (!is_idle) {
        verge__calendar_withdraw(&wheel->calendar, &node->timer.node);
    }
    if (wheel->nodes.empty_count > 0) {
        verge__wheel_give_back(wheel);
    }
    return 0;
}

int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data) {
    VERGE__ENTER(wheel);
    verge__table_node *node = VERGE__UNLIKELY(wheel == NULL) ? NULL : verge__nodes_find(&wheel->nodes, timer);
    if (VERGE__UNLIKELY(node == NULL)) {
        return why_not(wheel, timer);
    }
    if (ret_data != NULL) {
        *ret_data = node->data;
    }
    VERGE__PROBE2(cancel, wheel, timer);
    bool is_retired = !verge__nodes_put_free(&wheel->nodes, node, timer); /* the node has no generations left */
    bool is_idle = verge__wheel_make_idle(wheel, &node->timer) && !is_retired;
    return VERGE__LIKELY(is_idle && wheel->nodes.empty_count == 0) ? 0 : tidy(wheel, node, is_idle);
}
