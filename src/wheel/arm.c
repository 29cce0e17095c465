/* SPDX-License-Identifier: MIT */
/* The long ways of arm.h, for every order and every mode, and what becomes of an entry. */
#include "wheel/arm.h"

#include <errno.h>

/* The tick at which a timer for a tick is to be filed: a coarse wheel rounds up, by the level that its distance from
 * now needs. */
static uint64_t rounded(const verge_wheel *wheel, uint64_t tick) {
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
    uint64_t tick = rounded(wheel, verge__wheel_tick(wheel, node->deadline_ns));
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
    uint64_t tick = rounded(wheel, verge__wheel_tick(wheel, deadline_ns));
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
