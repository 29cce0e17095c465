/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a wheel by computing everything again, in the simplest way. */
#include "wheel/wheel_internal.h"

typedef struct entry_counts {
    const verge_wheel *wheel;
    uint64_t pending;
    uint64_t idle;
    uint64_t earliest_ns;
} entry_counts;

/* An entry in a slot comes up in time: the slot starts no later than the timer comes out. */
static const char *count_one(void *context, verge__entry entry, const verge__node *node, uint64_t start) {
    entry_counts *counts = (entry_counts *)context;
    const verge_wheel *wheel = counts->wheel;
    if (!verge__node_is_pending(node)) {
        counts->idle++;
        return NULL;
    }
    counts->pending++;
    counts->earliest_ns = node->deadline_ns < counts->earliest_ns ? node->deadline_ns : counts->earliest_ns;
    if (verge__entry_is_in_table(entry) && (node->generation & 1) == 0) {
        return "WN2: a pending node has an odd generation";
    }
    uint64_t latest = verge__wheel_tick(wheel, node->deadline_ns) + wheel->geometry.rounding;
    bool is_late = start != VERGE__NO_TICK && start > latest;
    return is_late ? "W1: the entry of each pending timer comes up in time" : NULL;
}

const char *verge_wheel_check(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return "there is no wheel";
    }
    const verge__calendar *calendar = &wheel->calendar;
    entry_counts counts = {.wheel = wheel, .earliest_ns = VERGE_NEVER};
    const char *broken = verge__calendar_check(calendar, count_one, &counts);
    broken = broken != NULL ? broken : verge__nodes_check(&wheel->nodes);
    broken = broken != NULL ? broken : verge__heap_check(wheel);
    if (broken != NULL) {
        return broken;
    }
    if (counts.pending != verge__wheel_pending(wheel)) {
        return "W2: entries are those of pending timers, or idle";
    }
    if (counts.idle != verge__calendar_idle(calendar) || counts.idle > verge__idle_max) {
        return "W3: idle entries are counted, and bounded";
    }
    if (wheel->earliest_ns != 0 && wheel->earliest_ns != counts.earliest_ns) {
        return "W4: earliest_ns, if it is known, is the smallest deadline";
    }
    if (wheel->runs == 0 && calendar->quiet_until > 0 && verge__wheel_has_due(wheel)) {
        return "W5: while something is due, the calendar is not quiet";
    }
    size_t needed = verge__wheel_entries_needed(wheel);
    if (calendar->entry_capacity < needed) {
        return "W6: there is room for an entry of each node that may need one";
    }
    if (verge__wheel_is_ordered(wheel) && wheel->heap.room * VERGE__CHUNK_ENTRIES < needed) {
        return "WH2: the heap has room for all entries";
    }
    return NULL;
}
