/* SPDX-License-Identifier: MIT */
/* Decides which deadlines a wheel accepts. Gives a timer its deadline, and files its node anew where that is needed. */
#include <errno.h>

#include "wheel/wheel_internal.h"

uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return 0;
    }
    /* The reach counts from now, and not from the cursor, which is behind if there is a backlog. */
    uint64_t target = verge__wheel_target(wheel);
    uint64_t ahead = wheel->geometry.reach - 1;
    uint64_t last = wheel->geometry.end_tick - 1;
    uint64_t tick = target > last || ahead > last - target ? last : target + ahead;
    tick = wheel->options.coarse ? verge__coarse_last_tick(wheel, tick) : tick;
    return (tick << wheel->calendar.shift) - (wheel->options.strict ? 1 : 0);
}

int verge__wheel_judge(const verge_wheel *wheel, bool is_pending, uint64_t deadline_ns) {
    if (deadline_ns > verge_wheel_largest_deadline(wheel) && !wheel->geometry.reaches_end) {
        return -ERANGE;
    }
    unsigned shift = (unsigned)wheel->calendar.shift;
    bool is_rejected =
        (wheel->options.past == VERGE_PAST_SINCE_START && (deadline_ns == 0 || deadline_ns < wheel->start_ns)) ||
        (wheel->options.past == VERGE_PAST_REJECTED && deadline_ns >> shift < wheel->now_ns >> shift);
    if (is_rejected) {
        return -EINVAL;
    }
    size_t cap = wheel->options.timer_cap;
    return cap != 0 && !is_pending && verge__wheel_pending(wheel) >= cap ? -ENOSPC : 0;
}

void verge__wheel_refile(verge_wheel *wheel, verge__timer_node *timer) {
    uint64_t tick = verge__wheel_rounded(wheel, verge__wheel_tick(wheel, timer->node.deadline_ns));
    VERGE__INVARIANT(verge__timer_is_pending(timer), "W2: nodes are filed for timers that are pending");
    tick = tick > wheel->calendar.cursor ? tick : wheel->calendar.cursor;
    wheel->refiled++;
    verge__wheel_file(wheel, timer, tick);
}

/* Finds the tick of a deadline if the short way does not apply. Changes *deadline_ns if the timer gets another deadline
 * than it was to have. Sets *ret_tick to 0 if the tick has come. Returns what verge__wheel_judge returns. */
static VERGE__NOINLINE int find_tick(const verge_wheel *wheel, const verge__timer_node *timer, uint64_t *deadline_ns,
                                     uint64_t *ret_tick) {
    int error = verge__wheel_judge(wheel, verge__timer_is_pending(timer), *deadline_ns);
    if (*deadline_ns > verge__wheel_last_deadline(wheel)) { /* the tick of this deadline never comes */
        *deadline_ns = UINT64_MAX - 1 - wheel->calendar.bias_ns;
    }
    uint64_t tick = verge__wheel_rounded(wheel, verge__wheel_tick(wheel, *deadline_ns));
    *ret_tick = tick < verge__wheel_target(wheel) ? 0 : tick;
    return error;
}

int verge__wheel_arm(verge_wheel *wheel, verge__timer_node *timer, uint64_t deadline_ns, bool is_past) {
    verge__calendar *calendar = &wheel->calendar;
    verge__node *node = &timer->node;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    /* For a deadline at the end of time, the tick may wrap to 0. That is before the cursor, and so not short. */
    bool is_short = !is_past && tick - calendar->cursor < wheel->short_reach;
    if (VERGE__UNLIKELY(!is_short)) {
        uint64_t given_ns = deadline_ns;
        int error = find_tick(wheel, timer, &given_ns, &tick);
        if (error != 0) {
            return error;
        }
        deadline_ns = given_ns;
        is_past = is_past || tick == 0;
    }
    verge__wheel_note_move(wheel, node->deadline_ns, deadline_ns);
    bool is_later = deadline_ns >= node->deadline_ns;
    node->deadline_ns = deadline_ns;
    if (VERGE__UNLIKELY(wheel->order != NULL)) {
        verge__wheel_set_sequence(wheel, timer);
    }
    if (verge__node_is_linked(node)) {
        if (is_short && is_later) {
            return 0;
        }
        verge__calendar_withdraw(calendar, node);
    }
    if (VERGE__LIKELY(!is_past)) {
        verge__wheel_file(wheel, timer, tick);
        return 0;
    }
    /* The timer comes out at the next poll or run. But if a run is under way, it comes out after that run, or in an
     * inner verge_loop_run. */
    verge__calendar_file_in(calendar, wheel->runs == 0 ? &wheel->past : &wheel->deferred, node);
    calendar->quiet_until = 0; /* W5 */
    verge__wheel_end_short_reach(wheel);
    return 0;
}
