/* SPDX-License-Identifier: MIT */
/* Calls that get memory in advance, or give back at once all that can be given back. */
#include <errno.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

/* ---- in advance ---- */

/* Whether a narrow calendar may be too small for these timers and the pending ones. */
static bool are_too_many(const verge_wheel *wheel, size_t timer_count, size_t timeout_count) {
    size_t half = verge__narrow_max / 2;
    return timeout_count > half || timer_count > half - timeout_count || verge__wheel_pending(wheel) > half;
}

int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count, size_t timeout_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    verge__nodes *nodes = &wheel->nodes;
    size_t pending = verge__wheel_pending(wheel);
    if (timer_count > (UINT32_C(1) << 31) - nodes->pending_count ||
        timer_count > SIZE_MAX / sizeof(verge__table_node) ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    bool is_wide = timeout_count > 0 && wheel->calendar.is_narrow && are_too_many(wheel, timer_count, timeout_count);
    if (is_wide && wheel->visits > 0) {
        return -EBUSY;
    }
    size_t before = nodes->node_count;
    size_t wanted = timer_count == 0 ? 0 : nodes->pending_count + nodes->retired_count + timer_count;
    int error = 0;
    while (error == 0 && nodes->node_count < wanted) {
        error = verge__nodes_grow(nodes);
    }
    if (error == 0 && is_wide) {
        error = verge__wheel_rebuild(wheel, false);
    }
    if (error != 0) { /* give back as many slabs as were added */
        while (verge__wheel_release_slab(wheel, before)) {
        }
        return error;
    }
    wheel->reserved_nodes = wanted;
    verge__wheel_widen(wheel, wanted);
    return 0;
}

/* ---- giving back ---- */

static void drop_idle(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    (void)context;
    if (!verge__timer_is_pending(timer) && !verge__timer_is_marker(timer)) {
        wheel->dropped++;
        verge__calendar_withdraw(&wheel->calendar, &timer->node);
    }
}

void verge_wheel_compact(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return;
    }
    verge__wheel_visit(wheel, 0, drop_idle, NULL);
    while (verge__wheel_release_slab(wheel, verge__larger(wheel->nodes.pending_count, wheel->reserved_nodes))) {
    }
    if (verge__larger(wheel->calendar.linked, wheel->reserved_nodes) <= verge__narrow_max) {
        (void)verge__wheel_rebuild(wheel, true);
    }
}
