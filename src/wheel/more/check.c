/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a wheel by computing everything again, in the simplest way. */
#include "verge/wheel_more.h"
#include "wheel/wheel_internal.h"

/* ---- the table of nodes ---- */

static const char *check_slab(const verge__nodes *nodes, uint32_t slab, size_t *pending, size_t *retired) {
    const verge__slab *checked = &nodes->slabs[slab];
    uint32_t room = verge__nodes_room(nodes, slab);
    uint32_t used = 0;
    for (uint32_t i = 0; i < room; i++) {
        const verge__table_node *node = verge__slab_node(nodes, checked, i);
        bool is_pending = verge__timer_is_pending(&node->timer);
        bool is_retired = (uint32_t)node->timer.tag == 0;
        if (verge__handle_index(node->timer.tag) != (slab << VERGE__SLAB_BITS) + i) {
            return "WN2: a node's tag has its index";
        }
        *pending += is_pending;
        *retired += is_retired;
        used += is_pending || is_retired;
    }
    uint32_t free_count = 0;
    for (uint32_t i = checked->first_free; i != VERGE__NO_NODE && free_count <= room; free_count++) {
        const verge__table_node *node = verge__slab_node(nodes, checked, i);
        if (verge__timer_is_pending(&node->timer) || (uint32_t)node->timer.tag == 0) {
            return "WN1: a free node is no timer, and not retired";
        }
        i = (uint32_t)(uintptr_t)node->data;
    }
    bool has_bit = (nodes->with_free[slab / 64] >> (slab % 64) & 1) != 0;
    if (free_count > 0 && (!has_bit || slab / 64 < nodes->lowest_word)) {
        return "WN3: with_free has all slabs with free nodes";
    }
    return used != checked->used || used + free_count != room ? "WN2: a slab's nodes are used or free" : NULL;
}

static const char *check_nodes(const verge__nodes *nodes) {
    size_t pending = 0;
    size_t retired = 0;
    size_t node_count = 0;
    uint32_t empty_count = 0;
    for (uint32_t slab = 0; slab < nodes->slab_count; slab++) {
        if (nodes->slabs[slab].nodes != NULL) {
            node_count += verge__nodes_room(nodes, slab);
            empty_count += nodes->slabs[slab].used == 0 && slab > 0;
            const char *broken = check_slab(nodes, slab, &pending, &retired);
            if (broken != NULL) {
                return broken;
            }
        }
    }
    bool is_right = node_count == nodes->node_count && pending == nodes->pending_count &&
                    retired == nodes->retired_count && empty_count == nodes->empty_count;
    return is_right ? NULL : "WN3: the table's counts are those of its slabs";
}

/* ---- timers ---- */

typedef struct timer_counts {
    const verge_wheel *wheel;
    size_t pending;
    size_t idle;
    size_t markers;
    uint64_t earliest_ns;
} timer_counts;

static void count_one(timer_counts *counts, verge__timer_node *timer) {
    bool is_pending = verge__timer_is_pending(timer);
    counts->pending += is_pending;
    counts->markers += verge__timer_is_marker(timer);
    counts->idle += !is_pending && !verge__timer_is_marker(timer);
    if (is_pending && timer->node.deadline_ns < counts->earliest_ns) {
        counts->earliest_ns = timer->node.deadline_ns;
    }
}

/* Counts a node in a slot. Checks that it comes up in time: the slot starts no later than the timer comes out. In a
 * coarse wheel, the timer may come out up to `rounding` ticks after the tick of its deadline. */
static const char *look_at(void *context, verge__node *node, uint64_t start) {
    timer_counts *counts = (timer_counts *)context;
    const verge_wheel *wheel = counts->wheel;
    verge__timer_node *timer = verge__timer_of_node(node);
    count_one(counts, timer);
    uint64_t tick = verge__wheel_tick(wheel, node->deadline_ns);
    bool is_late = start > tick && start - tick > wheel->geometry.rounding;
    return verge__timer_is_pending(timer) && is_late ? "W1: each pending timer comes up in time" : NULL;
}

const char *verge_wheel_check(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return "there is no wheel";
    }
    const verge__calendar *calendar = &wheel->calendar;
    timer_counts counts = {.wheel = wheel, .earliest_ns = VERGE_NEVER};
    size_t own_count = 0;
    verge__node **list = NULL;
    for (size_t i = calendar->head_count; (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        for (verge__node *node = *list; node != NULL; node = node->next) {
            count_one(&counts, verge__timer_of_node(node));
            own_count++;
        }
    }
    const char *broken = verge__calendar_check(calendar, own_count, look_at, &counts);
    broken = broken != NULL ? broken : check_nodes(&wheel->nodes);
    if (broken != NULL) {
        return broken;
    }
    if (counts.pending != verge__wheel_pending(wheel)) {
        return "W2: every pending timer is linked, and counted";
    }
    if (counts.idle > verge__idle_max || (counts.markers > 0 && wheel->visits == 0)) {
        return "W3: idle nodes are bounded";
    }
    if (wheel->earliest_ns != 0 && wheel->earliest_ns != counts.earliest_ns) {
        return "W4: earliest_ns, if it is known, is the smallest deadline";
    }
    if (wheel->runs == 0 && calendar->quiet_until > 0 && verge__wheel_has_due(wheel)) {
        return "W5: while something is due, the calendar is not quiet";
    }
    return NULL;
}

/* Returns whether the list of this node may be one of this wheel. Walks back a few nodes. If the walk comes to the head
 * of the list, the head's address decides. If it ends before the head, the result is true. */
bool verge__wheel_may_have(const verge_wheel *wheel, const verge__node *node) {
    enum { STEPS = 8 };
    const verge__calendar *calendar = &wheel->calendar;
    for (int i = 0; i < STEPS; i++) {
        uintptr_t head = (uintptr_t)node->pprev;
        bool is_slot = head - (uintptr_t)calendar->heads < calendar->head_count * sizeof(verge__node *);
        bool is_own = head - (uintptr_t)wheel < sizeof(*wheel) ||
                      (wheel->order != NULL && head - (uintptr_t)wheel->order < sizeof(*wheel->order));
        if (is_slot || is_own) {
            return true;
        }
        const verge__node *before = (const verge__node *)(const void *)node->pprev; /* `next` is the first field */
        if (before->next != node || before->pprev == NULL || *before->pprev != before) {
            return false; /* not a list of this wheel */
        }
        node = before;
    }
    return true;
}
