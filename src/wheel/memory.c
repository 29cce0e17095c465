/* SPDX-License-Identifier: MIT */
/* Reserving memory, and giving it back when there are fewer timers. */
#include <errno.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__idle_max = VERGE__IDLE_MAX;
size_t verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* ---- the calendar ---- */

/* Not while a visit stands at a node. */
static int rebuild(verge_wheel *wheel, bool is_narrow) {
    if (wheel->visits > 0) {
        return -EBUSY;
    }
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, is_narrow);
    return setup.is_narrow == wheel->calendar.is_narrow ? 0 : verge__calendar_rebuild(&wheel->calendar, &setup);
}

void verge__wheel_widen(verge_wheel *wheel, size_t nodes) {
    if (!wheel->calendar.is_narrow || nodes <= wheel->narrow_max) {
        return;
    }
    int error = rebuild(wheel, false);
    if (error == -ENOMEM) { /* a narrow calendar will do: it is only slower */
        wheel->narrow_max = 2 * nodes;
    }
}

/* ---- nodes ---- */

int verge__wheel_find_node(verge_wheel *wheel) {
    verge__nodes *nodes = &wheel->nodes;
    if (verge__nodes_find_slab(nodes)) {
        return 0;
    }
    int error = verge__nodes_grow(nodes);
    if (error == 0) {
        (void)verge__nodes_find_slab(nodes);
        verge__wheel_widen(wheel, nodes->node_count / 2 + 1);
    }
    return error;
}

/* A slab goes back; its nodes may be idle. */
static void release_slab(verge_wheel *wheel, uint32_t slab) {
    for (uint32_t i = 0; i < verge__nodes_room(&wheel->nodes, slab); i++) {
        verge__node *node = &verge__slab_node(&wheel->nodes, &wheel->nodes.slabs[slab], i)->timer.node;
        if (verge__node_is_linked(node)) {
            wheel->dropped++;
            verge__calendar_withdraw(&wheel->calendar, node);
        }
    }
    verge__nodes_release_slab(&wheel->nodes, slab);
}

/* Releases the highest slab without a timer; false: there is none, but for slab 0, or fewer nodes than `keep` would be
 * left. */
static bool release_highest(verge_wheel *wheel, size_t keep) {
    const verge__nodes *nodes = &wheel->nodes;
    if (nodes->empty_count == 0 || nodes->node_count < keep + VERGE__SLAB_NODES) {
        return false;
    }
    uint32_t slab = nodes->slab_count - 1;
    while (nodes->slabs[slab].nodes == NULL || nodes->slabs[slab].used > 0) {
        slab--;
    }
    VERGE__INVARIANT(slab > 0, "WN3: slabs without a timer are counted");
    release_slab(wheel, slab);
    return true;
}

void verge__wheel_give_back(verge_wheel *wheel) {
    const verge_wheel_compaction *compaction = &wheel->options.compaction;
    verge__nodes *nodes = &wheel->nodes;
    if (!nodes->is_shrinking && nodes->node_count > compaction->minimum) {
        nodes->is_shrinking = nodes->live < nodes->node_count / compaction->ratio;
    }
    if (nodes->is_shrinking) {
        size_t keep = verge__larger(nodes->live * compaction->multiplier, compaction->minimum);
        nodes->is_shrinking = release_highest(wheel, verge__larger(keep, wheel->reserved_nodes));
    }
}

int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    verge__nodes *nodes = &wheel->nodes;
    size_t pending = verge__wheel_pending(wheel);
    if (timer_count > (UINT32_C(1) << 31) - nodes->live || timer_count > SIZE_MAX / sizeof(verge__table_node) ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    if (timer_count == 0) {
        wheel->reserved_nodes = 0;
        return 0;
    }
    size_t before = nodes->node_count;
    size_t wanted = nodes->live + nodes->retired_count + timer_count;
    int error = 0;
    while (error == 0 && nodes->node_count < wanted) {
        error = verge__nodes_grow(nodes);
    }
    if (error != 0) { /* what could be had of it is not to be missing elsewhere */
        while (release_highest(wheel, before)) {
        }
        return error;
    }
    wheel->reserved_nodes = wanted;
    verge__wheel_widen(wheel, wanted);
    return 0;
}

int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    bool is_enough = !wheel->calendar.is_narrow ||
                     verge__larger(timeout_count, verge__wheel_pending(wheel)) <= verge__narrow_max / 2;
    return is_enough ? 0 : rebuild(wheel, false);
}

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
    verge__wheel_visit(wheel, drop_idle, NULL);
    while (release_highest(wheel, verge__larger(wheel->nodes.live, wheel->reserved_nodes))) {
    }
    if (verge__larger(wheel->calendar.linked, wheel->reserved_nodes) <= verge__narrow_max) {
        (void)rebuild(wheel, true);
    }
}
