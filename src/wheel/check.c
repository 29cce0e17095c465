/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a wheel by computing everything again, in the simplest way. */
#include "wheel/wheel_internal.h"

typedef struct entry_counts {
    const verge_wheel *wheel;
    uint64_t pending;
    uint64_t idle;
    uint64_t earliest_ns;
    const char *broken;
} entry_counts;

static void count_one(entry_counts *counts, verge__entry entry, const verge__node *node) {
    if (!verge__node_is_pending(node)) {
        counts->idle++;
        return;
    }
    counts->pending++;
    counts->earliest_ns = node->deadline_ns < counts->earliest_ns ? node->deadline_ns : counts->earliest_ns;
    if (verge__entry_is_in_table(entry) && (node->generation & 1) == 0) {
        counts->broken = "WN2: a pending node has an odd generation";
    }
}

/* An entry in a slot comes up in time: the slot starts no later than the timer comes out. */
static void count_slot(entry_counts *counts, verge__list list, uint64_t start) {
    const verge_wheel *wheel = counts->wheel;
    for (verge__entry *at = list == NULL ? NULL : list - 1; at != NULL; at = verge__entry_older(at)) {
        const verge__node *node = verge__calendar_node(&wheel->calendar, *at);
        uint64_t rounding = wheel->options.coarse ? verge__bit_mask(wheel->levels[wheel->level_count - 1].shift) : 0;
        if (verge__node_is_pending(node) && start > verge__wheel_tick(wheel, node->deadline_ns) + rounding) {
            counts->broken = "W1: the entry of each pending timer comes up in time";
        }
        count_one(counts, *at, node);
    }
}

static void count_all(entry_counts *counts) {
    const verge_wheel *wheel = counts->wheel;
    const verge__calendar *calendar = &wheel->calendar;
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t first = calendar->cursor >> level->shift;
        for (uint32_t i = 0; i <= level->mask; i++) {
            const verge__list *slot = &level->slots[(uint32_t)(first + i) & level->mask];
            count_slot(counts, *slot, slot == calendar->due_slot ? 0 : (first + i) << level->shift);
        }
    }
    for (size_t own = 0; own < VERGE__OWN_LISTS; own++) {
        count_slot(counts, calendar->own[own], 0);
    }
}

const char *verge_wheel_check(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return "there is no wheel";
    }
    const verge__calendar *calendar = &wheel->calendar;
    entry_counts counts = {.wheel = wheel, .earliest_ns = VERGE_NEVER};
    count_all(&counts);
    const char *broken = counts.broken;
    broken = broken != NULL ? broken : verge__calendar_check(calendar);
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
    if (wheel->attached > 0 && calendar->entry_capacity < calendar->promised) {
        return "W6: there is room for an entry of each timeout that is attached";
    }
    if (wheel->attached + wheel->loose > 0 && calendar->levels_ready < calendar->level_count) {
        return "W6: all levels are ready for timeouts";
    }
    return NULL;
}
