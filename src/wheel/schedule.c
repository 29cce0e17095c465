/* SPDX-License-Identifier: MIT */
/*
 * Schedule, reschedule, cancel.
 *
 * Each call touches the node, beside the wheel's own hot cache lines and the caller's handle. If the entry has to move,
 * it also touches the ends of two lists, and the node whose entry takes the vacated place. Two nodes share a cache
 * line.
 */
#include <errno.h>

#include "base/probes.h"
#include "wheel/arm.h"

static const verge_timer next_generation = UINT64_C(2) << 32; /* from the last handle of a node to its next */

void verge__wheel_forget_earliest(verge_wheel *wheel) {
    wheel->earliest_ns = verge__wheel_pending(wheel) == 0 ? VERGE_NEVER : 0;
}

/* ---- the long ways: every order, every mode ---- */

uint64_t verge__wheel_rounded(const verge_wheel *wheel, uint64_t tick) {
    uint64_t target = verge__wheel_target(wheel);
    if (!wheel->options.coarse || tick < target) {
        return tick;
    }
    size_t k = 0;
    while (k + 1 < wheel->geometry.level_count &&
           (tick - target) >> (wheel->geometry.levels[k].shift + wheel->geometry.levels[k].bits) != 0) {
        k++;
    }
    uint64_t mask = verge__bit_mask(wheel->geometry.levels[k].shift);
    return (tick + mask) & ~mask;
}

int verge__wheel_judge(const verge_wheel *wheel, bool is_pending, uint64_t deadline_ns) {
    if (deadline_ns > verge_wheel_largest_deadline(wheel)) {
        return -ERANGE;
    }
    unsigned shift = (unsigned)wheel->calendar.shift;
    bool is_rejected =
        (wheel->options.past == VERGE_PAST_SINCE_START && (deadline_ns == 0 || deadline_ns < wheel->start_ns)) ||
        (wheel->options.past == VERGE_PAST_REJECTED && deadline_ns >> shift < wheel->now_ns >> shift);
    if (is_rejected) {
        return -EINVAL;
    }
    uint64_t cap = wheel->options.timer_cap;
    return cap != 0 && !is_pending && verge__wheel_pending(wheel) >= cap ? -ENOSPC : 0;
}

void verge__wheel_withdraw(verge_wheel *wheel, verge__node *node) {
    VERGE__INVARIANT(verge__node_is_pending(node) || verge__calendar_idle(&wheel->calendar) > 0,
                     "W3: idle entries are counted");
    wheel->calendar.idle_ended += !verge__node_is_pending(node);
    if (VERGE__LIKELY(verge__calendar_try_withdraw(&wheel->calendar, node))) {
        return;
    }
    const verge__chunk *chunk = verge__chunk_of(verge__node_place(node));
    if (chunk->level == VERGE__OWN_LEVEL && chunk->slot == VERGE__LIST_HEAP) {
        verge__heap_withdraw(wheel, node);
    } else {
        verge__calendar_withdraw(&wheel->calendar, node);
    }
}

void verge__wheel_drop(verge_wheel *wheel, verge__node *node) {
    wheel->calendar.entries_dropped++;
    verge__wheel_withdraw(wheel, node);
    verge__wheel_note_untidy(wheel);
}

void verge__wheel_refile(verge_wheel *wheel, verge__entry entry, verge__node *node) {
    uint64_t tick = verge__wheel_rounded(wheel, verge__wheel_tick(wheel, node->deadline_ns));
    VERGE__INVARIANT(verge__node_is_pending(node), "W2: entries are filed for timers that are pending");
    tick = tick > wheel->calendar.cursor ? tick : wheel->calendar.cursor;
    node->place = VERGE__NO_PLACE;
    wheel->calendar.entries_refiled++;
    verge__calendar_file(&wheel->calendar, entry, node, tick);
}

static void set_sequence(verge_wheel *wheel, verge__entry entry, verge__node *node, bool is_past) {
    uint64_t sequence = ++wheel->sequence | (is_past ? 0 : VERGE__SEQUENCE_NOT_PAST);
    node->filed = (uint32_t)sequence;
    if (verge__entry_is_in_table(entry)) {
        *verge__nodes_sequence(&wheel->nodes, verge__entry_index(entry)) = (uint32_t)(sequence >> 32);
    } else {
        node->generation = (uint32_t)(sequence >> 32) << 1 | (node->generation & 1);
    }
}

int verge__wheel_arm_slowly(verge_wheel *wheel, verge__entry entry, verge__node *node, uint64_t deadline_ns) {
    verge__calendar *calendar = &wheel->calendar;
    int error = verge__wheel_judge(wheel, verge__node_is_pending(node), deadline_ns);
    if (error != 0) {
        return error;
    }
    uint64_t tick = verge__wheel_rounded(wheel, verge__wheel_tick(wheel, deadline_ns));
    uint64_t target = verge__wheel_target(wheel);
    /* While the cursor lags behind, or in an ordered wheel, an entry is not kept: where it comes up is not known. */
    bool is_kept = tick >= target && calendar->cursor == target && verge__calendar_serves(calendar, node, tick);
    bool has_entry = verge__node_has_entry(node);
    bool is_alone = verge__wheel_pending(wheel) == verge__node_is_pending(node);
    if (has_entry && is_kept) {
        wheel->calendar.idle_ended += !verge__node_is_pending(node);
    } else if (has_entry) {
        verge__wheel_withdraw(wheel, node);
        has_entry = false;
    }
    if (node->deadline_ns == wheel->earliest_ns) {
        wheel->earliest_ns = is_alone ? VERGE_NEVER : 0;
    }
    node->deadline_ns = deadline_ns;
    if (verge__wheel_is_ordered(wheel)) {
        set_sequence(wheel, entry, node, tick < target);
    }
    if (!has_entry && tick < target) { /* it waits for the next poll; while a run is under way, for the end of that */
        verge__calendar_list_add(calendar, wheel->runs == 0 ? VERGE__LIST_PAST : VERGE__LIST_DEFERRED, entry, node);
        calendar->quiet_until = 0; /* W5 */
    } else if (!has_entry) {
        verge__calendar_file(calendar, entry, node, tick);
    }
    VERGE__INVARIANT(verge__node_has_entry(node), "W1: every pending timer has an entry");
    verge__wheel_note_deadline(wheel, deadline_ns);
    return 0;
}

void verge__wheel_retract(verge_wheel *wheel, verge__node *node) {
    uint64_t deadline_ns = node->deadline_ns;
    VERGE__INVARIANT(verge__node_is_pending(node) && verge__node_has_entry(node),
                     "W1: every pending timer has an entry");
    if (verge__wheel_may_keep_idle(wheel, node)) {
        wheel->calendar.idle_begun++;
    } else {
        verge__wheel_drop(wheel, node);
        wheel->cancelled++;
    }
    node->deadline_ns = VERGE_NEVER;
    if (deadline_ns == wheel->earliest_ns) {
        verge__wheel_forget_earliest(wheel);
    }
}

/* ---- the calls ---- */

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
