/* SPDX-License-Identifier: MIT */
/* Polls that are exact to the nanosecond, and polls that stop at the next timer. */
#include "verge/wheel_more.h"
#include "wheel/wheel_internal.h"

/* Looks at the timers of the tick under way. Those whose deadline has come go to the list `past`: in an ordered wheel
 * all of them, in other wheels as many as the limit allows. Returns false if there are no such timers, or if the
 * budget is too small to look at all timers of the tick. */
static bool hurry(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    const verge__level *lowest = &calendar->levels[0];
    verge__node **lanes = verge__level_slot(lowest, calendar->cursor);
    size_t count = 0;
    for (uint32_t lane = 0; lane < verge__level_lane_count(lowest); lane++) {
        for (const verge__node *node = lanes[lane]; node != NULL && count <= to->budget; node = node->next) {
            count++;
        }
    }
    /* Timers that are moved count against the budget when they are handed out. An ordered wheel needs all of them, to
     * sort. */
    size_t wanted = count > to->budget ? 0 : wheel->order != NULL ? SIZE_MAX : to->limit - to->count;
    size_t found = 0;
    for (uint32_t lane = 0; lane < verge__level_lane_count(lowest) && found < wanted; lane++) {
        for (verge__node *node = lanes[lane], *next = NULL; node != NULL && found < wanted; node = next) {
            next = node->next;
            if (!verge__timer_is_pending(verge__timer_of_node(node)) || node->deadline_ns > wheel->now_ns) {
                to->budget--;
                continue;
            }
            verge__calendar_withdraw(calendar, node);
            verge__calendar_file_in(calendar, &wheel->past, node);
            found++;
        }
    }
    return found > 0;
}

/* Refiles a timer that `hurry` has moved to `past`, and that was not handed out. It goes back to the tick under way. */
static void put_back(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    (void)context;
    verge__calendar_withdraw(&wheel->calendar, &timer->node);
    verge__wheel_refile(wheel, timer);
}

/* Polls. If is_exact, also hands out the timers of the tick under way whose deadline has come. */
static void poll_to(verge_wheel *wheel, uint64_t now_ns, verge__handout *to, bool is_exact) {
    verge__calendar *calendar = &wheel->calendar;
    (void)verge__wheel_advance(wheel, now_ns, to);
    if (!is_exact || to->count == to->limit || to->budget == 0 || verge__wheel_has_due(wheel) ||
        calendar->cursor == wheel->geometry.end_tick || !verge__calendar_open_cursor(calendar, &to->budget)) {
        return;
    }
    VERGE__INVARIANT(calendar->cursor == verge__wheel_target(wheel), "C3: what has come was handed out before");
    if (hurry(wheel, to)) {
        calendar->quiet_until = 0; /* W5 */
        (void)verge__wheel_advance(wheel, wheel->now_ns, to);
        verge__wheel_visit(wheel, calendar->head_count, put_back, NULL);
    }
}

size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return 0;
    }
    verge__handout to = verge__wheel_handout_to(wheel, out, limit);
    poll_to(wheel, now_ns, &to, true);
    wheel->last_poll_work = verge__wheel_work_limit(wheel) - to.budget;
    wheel->last_work_ns = wheel->now_ns;
    return to.count;
}

/* Returns the time at which the next timer may come out: usually its deadline. In a strict wheel, this is the timer's
 * tick. It is also the tick if a poll for the deadline was made already, but had too small a budget to look at all of
 * the tick under way. In a coarse wheel, it is next_wakeup. */
static uint64_t next_stop(verge_wheel *wheel, bool is_exact, bool was_there) {
    if (wheel->options.coarse) {
        return verge_wheel_next_wakeup(wheel);
    }
    uint64_t next_ns = verge__wheel_earliest(wheel);
    uint64_t tick_ns = verge_wheel_fires_at(wheel, next_ns); /* at the end of time, VERGE_NEVER */
    bool is_at_tick = !is_exact || tick_ns == VERGE_NEVER || (was_there && next_ns <= wheel->now_ns);
    return is_at_tick ? tick_ns : next_ns;
}

size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return 0;
    }
    bool is_exact = !wheel->options.coarse && !wheel->options.strict;
    verge__handout to = verge__wheel_handout_to(wheel, out, limit);
    /* There may be several polls: a slot of a coarse wheel may have nothing but idle nodes and timers that were moved,
     * and an exact poll may have too small a budget (next_stop). The work limit is for all polls together: when it is
     * reached, what is left is a backlog. */
    for (bool was_there = false;; was_there = true) {
        uint64_t next_ns = next_stop(wheel, is_exact, was_there);
        next_ns = next_ns < now_ns ? next_ns : now_ns;
        poll_to(wheel, next_ns, &to, is_exact);
        if (to.count > 0 || to.limit == 0 || next_ns >= now_ns || verge__wheel_has_due(wheel)) {
            wheel->last_poll_work = verge__wheel_work_limit(wheel) - to.budget;
            wheel->last_work_ns = wheel->now_ns;
            return to.count;
        }
    }
}
