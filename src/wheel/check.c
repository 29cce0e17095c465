/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a wheel by computing everything again, in the simplest way. */
#include "wheel/wheel_internal.h"

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

/* A node in a slot comes up in time: the slot starts no later than the timer comes out. */
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
    const char *broken = verge__calendar_each(calendar, look_at, &counts);
    size_t own_count = 0;
    verge__node **list = NULL;
    for (size_t i = calendar->head_count; (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        for (verge__node *node = *list; node != NULL; node = node->next) {
            count_one(&counts, verge__timer_of_node(node));
            own_count++;
        }
    }
    broken = broken != NULL ? broken : verge__calendar_check(calendar, own_count);
    broken = broken != NULL ? broken : verge__nodes_check(&wheel->nodes);
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
