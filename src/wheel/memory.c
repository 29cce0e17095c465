/* SPDX-License-Identifier: MIT */
/* Allocates memory for more timers, and releases it when there are fewer. */
#include <errno.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__idle_max = VERGE__IDLE_MAX, verge__narrow_max = VERGE__NARROW_MAX;
#endif

int verge__wheel_rebuild(verge_wheel *wheel, bool is_narrow) {
    if (wheel->visits > 0) {
        return -EBUSY;
    }
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, is_narrow);
    return setup.is_narrow == wheel->calendar.is_narrow ? 0 : verge__calendar_rebuild(&wheel->calendar, &setup);
}

void verge__wheel_widen(verge_wheel *wheel, size_t nodes) {
    if (wheel->calendar.is_narrow && nodes > wheel->narrow_max && verge__wheel_rebuild(wheel, false) != 0) {
        /* No memory: the calendar stays narrow, which is only slower. This is tried again with twice as many nodes. */
        wheel->narrow_max = 2 * nodes;
    }
}

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

/* Releases the highest slab without a timer. The caller knows that there is one besides slab 0. If the slab has idle
 * nodes, withdraws them. */
static VERGE__NOINLINE void release_highest(verge_wheel *wheel) {
    verge__nodes *nodes = &wheel->nodes;
    uint32_t slab = nodes->slab_count - 1;
    while (nodes->slabs[slab].nodes == NULL || nodes->slabs[slab].used > 0) {
        slab--;
    }
    uint32_t generation_floor = 0;
    for (uint32_t i = 0; i < VERGE__SLAB_NODES; i++) {
        verge__timer_node *timer = &verge__slab_node(nodes, &nodes->slabs[slab], i)->timer;
        uint32_t generation = (uint32_t)timer->tag;
        generation_floor = generation > generation_floor ? generation : generation_floor;
        if (verge__node_is_linked(&timer->node)) {
            wheel->dropped++;
            verge__calendar_withdraw(&wheel->calendar, &timer->node);
        }
    }
    verge__nodes_release_slab(nodes, slab, generation_floor);
}

bool verge__wheel_release_slab(verge_wheel *wheel, size_t keep) {
    if (wheel->nodes.empty_count == 0 || wheel->nodes.node_count < keep + VERGE__SLAB_NODES) {
        return false;
    }
    release_highest(wheel);
    return true;
}

void verge__wheel_give_back(verge_wheel *wheel) {
    const verge_wheel_compaction *compaction = &wheel->options.compaction;
    verge__nodes *nodes = &wheel->nodes;
    if (!nodes->is_shrinking && nodes->node_count > compaction->minimum) {
        nodes->is_shrinking = nodes->pending_count < nodes->node_count / compaction->ratio;
    }
    if (nodes->is_shrinking) {
        size_t keep = verge__larger(nodes->pending_count * compaction->multiplier, compaction->minimum);
        nodes->is_shrinking = verge__wheel_release_slab(wheel, verge__larger(keep, wheel->reserved_nodes));
    }
}
