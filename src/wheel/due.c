/* SPDX-License-Identifier: MIT */
/*
 * Handing out due timers. poll fills an array, and run calls a function. Both use the same code, one timer at a time.
 * After each timer, the wheel is as after a poll with a limit: it may have a backlog, and any call is allowed. So the
 * function of a run may do anything with the wheel, except destroy it. Timers that the function sets for the past are
 * deferred to the end of the run. Otherwise a run might never end.
 */
#include "base/probes.h"
#include "wheel/wheel_internal.h"

typedef void on_expiry_function(void *context, const verge_expiry *expiry);

bool verge__wheel_has_due(const verge_wheel *wheel) {
    const verge__calendar *calendar = &wheel->calendar;
    uint64_t target = verge__wheel_target(wheel);
    return wheel->past != NULL || wheel->deferred != NULL || verge__calendar_has_due(calendar) ||
           !verge__order_is_empty(wheel->order) ||
           (calendar->cursor < target && verge__calendar_next(calendar) < target);
}

void verge__wheel_set_short_reach(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    uint64_t middle = wheel->geometry.end_tick / 2;
    bool has_cap = wheel->options.timer_cap != 0; /* then timers may be moved the short way, but not started */
    bool is_short = wheel->is_plain && calendar->cursor == verge__wheel_target(wheel) && calendar->cursor < middle &&
                    wheel->past == NULL && wheel->deferred == NULL && verge__order_is_empty(wheel->order) &&
                    (wheel->order == NULL || wheel->runs == 0);
    /* Quiet polls move the cursor, and leave short_reach as it is. They stop at the middle of time: up to there, cursor
     * + short_reach is not beyond the end of time. If the short ways do not apply, quiet polls stop at that end. */
    uint64_t quiet_end = is_short ? middle : wheel->geometry.end_tick;
    calendar->quiet_until = quiet_end < calendar->quiet_until ? quiet_end : calendar->quiet_until;
    uint64_t reach = wheel->geometry.reach < middle ? wheel->geometry.reach : middle;
    wheel->short_reach = is_short && !has_cap ? reach : 0;
    uint64_t end =
        calendar->cursor + reach < wheel->geometry.end_tick ? calendar->cursor + reach : wheel->geometry.end_tick - 1;
    /* While a tick is handed out, no node keeps its place. Otherwise an idle node in the slot of the tick, or the node
     * of a timer that was moved later, would look like a backlog. */
    bool is_between = is_short && !verge__calendar_has_due(calendar);
    wheel->keep_end_ns = is_between && calendar->has_places ? (end << calendar->shift) - calendar->bias_ns : 0;
    wheel->idle_limit = is_between && !has_cap ? verge__idle_max : 0;
}

/* ---- one timer ---- */

static bool is_full(const verge__handout *to) {
    return to->count == to->limit || to->budget == 0;
}

/* Ends a timer that is due, and gives it to the caller of the poll or run. Its node is in no list. */
static VERGE__ALWAYS_INLINE void hand_out(verge_wheel *wheel, verge__timer_node *timer, verge__handout *to) {
    VERGE__INVARIANT(to->count < to->limit, "G3: a limit defers timers");
    verge_expiry expiry = verge__wheel_expiry(timer);
    if (expiry.timer != 0) {
        (void)verge__nodes_put_free(&wheel->nodes, (verge__table_node *)(void *)timer, expiry.timer);
        if (VERGE__UNLIKELY(wheel->nodes.empty_count > 0)) {
            verge__wheel_give_back(wheel);
        }
    } else {
        timer->tag &= ~VERGE__PENDING;
        wheel->timeout_count--;
    }
    wheel->expired++;
    if (expiry.deadline_ns == wheel->earliest_ns) {
        verge__wheel_forget_earliest(wheel);
    }
    VERGE__PROBE4(fire, wheel, expiry.timer != 0 ? expiry.timer : (uintptr_t)expiry.data, expiry.deadline_ns,
                  wheel->now_ns);
    if (to->out != NULL) {
        to->out[to->count++] = expiry;
    } else {
        to->count++; /* if there is neither a function nor an array, the limit is 0 */
        VERGE__OUTSIDE(wheel, to->on_expiry(to->context, &expiry)); /* NOLINT(clang-analyzer-core.CallAndMessage) */
    }
}

/* Takes the next node of the past timers, or of the tick; NULL: none is left. */
static VERGE__ALWAYS_INLINE verge__timer_node *come_up(verge_wheel *wheel, bool is_past) {
    verge__calendar *calendar = &wheel->calendar;
    verge__node *node = NULL;
    if (VERGE__UNLIKELY(is_past)) {
        node = wheel->past;
        verge__calendar_withdraw(calendar, node);
    } else if (VERGE__LIKELY(verge__calendar_has_due(calendar))) {
        node = verge__calendar_pop(calendar);
    }
    return verge__timer_of_node(node);
}

/* Whether the timer of a node that has come up is due: its tick has come or, if it is past, its deadline has come. If
 * the timer was moved later, this refiles its node. If the node is idle, this drops it. */
static VERGE__ALWAYS_INLINE bool is_due(verge_wheel *wheel, verge__timer_node *timer, bool is_past) {
    uint64_t end = VERGE__UNLIKELY(is_past) ? verge__wheel_target(wheel) : wheel->calendar.cursor;
    if (VERGE__UNLIKELY(!verge__timer_is_pending(timer))) {
        wheel->dropped++;
        return false;
    }
    if (VERGE__UNLIKELY(verge__wheel_tick(wheel, timer->node.deadline_ns) >= end) &&
        !(is_past && timer->node.deadline_ns <= wheel->now_ns)) {
        verge__wheel_refile(wheel, timer);
        return false;
    }
    return true;
}

/* The next step of a wheel without an order: one node comes up. False: neither past timers nor timers of the tick are
 * left. */
static VERGE__ALWAYS_INLINE bool hand_out_any(verge_wheel *wheel, verge__handout *to) {
    bool is_past = wheel->past != NULL;
    verge__timer_node *timer = come_up(wheel, is_past);
    if (VERGE__UNLIKELY(timer == NULL)) {
        return false;
    }
    to->budget--;
    if (VERGE__LIKELY(is_due(wheel, timer, is_past))) {
        hand_out(wheel, timer, to);
    }
    return true;
}

/* The next step of an ordered wheel, for what is past or for the tick. If a merge is under way, makes one step of it.
 * Otherwise, hands out the first sorted timer. If there is none, lets one more node come up, which joins the sort if it
 * is due. After the last node, begins the next merge. False: nothing is left. */
static VERGE__ALWAYS_INLINE bool hand_out_sorted(verge_wheel *wheel, verge__sorting *sorting, verge__handout *to) {
    bool is_past = sorting == &wheel->order->past;
    if (verge__sorting_step(sorting, wheel->order->is_by_deadline)) {
        to->budget--;
        return true;
    }
    verge__node *first = verge__sorting_first(sorting);
    if (first != NULL) {
        to->budget--;
        verge__calendar_withdraw(&wheel->calendar, first);
        hand_out(wheel, verge__timer_of_node(first), to);
        return true;
    }
    verge__timer_node *timer = is_past && wheel->past == NULL ? NULL : come_up(wheel, is_past);
    if (timer != NULL) {
        to->budget--;
        if (is_due(wheel, timer, is_past)) {
            wheel->calendar.linked++;
            verge__sorting_add(sorting, &timer->node);
        }
        return true;
    }
    bool is_empty = verge__sorting_is_empty(sorting);
    if (!is_empty) {
        (void)verge__sorting_finish(sorting);
    }
    return !is_empty;
}

/* What is past comes before the tick. While sorted past timers are handed out, timers that become past wait until all
 * sorted ones are out. */
static bool hand_out_in_order(verge_wheel *wheel, verge__handout *to) {
    return hand_out_sorted(wheel, &wheel->order->past, to) || hand_out_sorted(wheel, &wheel->order->tick, to);
}

/* ---- all that is due ---- */

/* Hands out timers that are past, then those of each tick. Nothing is remembered from one timer to the next: the
 * function of a run may have done anything. */
static void hand_out_until_full(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    while (!is_full(to)) {
        if (VERGE__UNLIKELY(wheel->order != NULL) ? hand_out_in_order(wheel, to) : hand_out_any(wheel, to)) {
            continue;
        }
        if (!verge__calendar_next_tick(calendar, verge__wheel_target(wheel) - 1, &to->budget)) {
            return;
        }
        if (to->on_expiry != NULL) {
            verge__wheel_set_short_reach(wheel);
        }
    }
}

/* ---- a poll ---- */

/* Updates the wheel at the end of a poll or run, when all due timers were handed out, or as many as the limits
 * allow. */
static void settle(verge_wheel *wheel, size_t *budget) {
    verge__calendar *calendar = &wheel->calendar;
    if (VERGE__UNLIKELY(verge__wheel_has_due(wheel))) {
        calendar->quiet_until = 0; /* W5 */
    } else {
        VERGE__INVARIANT(calendar->cursor <= verge__wheel_target(wheel), "C3: no tick is taken before it comes");
        calendar->cursor = verge__wheel_target(wheel);
        verge__calendar_settle(calendar, budget);
    }
    if (verge__wheel_pending(wheel) == 0) {
        wheel->earliest_ns = VERGE_NEVER;
    }
    if (calendar->is_narrow && calendar->linked <= *budget) {
        verge__wheel_widen(wheel, calendar->linked);
    }
    verge__wheel_set_short_reach(wheel);
}

/* Makes the deferred timers past. */
static void admit_deferred(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    for (verge__node *node = NULL; VERGE__UNLIKELY((node = wheel->deferred) != NULL);) {
        verge__node_remove(node);
        verge__node_push(&wheel->past, node);
        calendar->quiet_until = 0; /* W5 */
    }
}

size_t verge__wheel_advance(verge_wheel *wheel, uint64_t now_ns, verge__handout *to) {
    size_t budget = to->budget;
    bool is_run = to->on_expiry != NULL;
    if (now_ns <= wheel->now_ns && wheel->now_ns >> wheel->calendar.shift < wheel->calendar.quiet_until) {
        wheel->last_poll_work = 0;
        return 0;
    }
    wheel->now_ns = now_ns > wheel->now_ns ? now_ns : wheel->now_ns;
    verge__wheel_end_short_reach(wheel); /* no short ways until the cursor has caught up */
    wheel->runs += is_run;
    hand_out_until_full(wheel, to);
    VERGE__INVARIANT(wheel->runs >= is_run, "W5: runs under way are counted");
    wheel->runs -= is_run;
    if (wheel->runs == 0) {
        admit_deferred(wheel);
    }
    settle(wheel, &to->budget);
    wheel->last_poll_work = budget - to->budget;
    wheel->last_work_ns = wheel->now_ns;
    return to->count;
}

/* If moving time is all that a poll has to do, moves time and returns true. Leaves last_poll_work as it is: a store of
 * 0 would take a tenth of a poll's time. last_poll_work counts only while now is last_work_ns. */
static VERGE__ALWAYS_INLINE bool pass_quietly(verge_wheel *wheel, uint64_t now_ns) {
    uint64_t tick = now_ns >> wheel->calendar.shift;
    if (VERGE__UNLIKELY((tick >= wheel->calendar.quiet_until) | (now_ns <= wheel->now_ns))) {
        return false;
    }
    wheel->now_ns = now_ns;
    wheel->calendar.cursor = tick + 1;
    return true;
}

static VERGE__NOINLINE size_t poll_due(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    verge__handout to = verge__wheel_handout_to(wheel, out, limit);
    return verge__wheel_advance(wheel, now_ns, &to);
}

size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return poll_due(wheel, now_ns, out, limit);
}

static VERGE__NOINLINE size_t run_due(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context,
                                      size_t budget) {
    verge__handout to = {.limit = SIZE_MAX, .on_expiry = on_expiry, .context = context, .budget = budget};
    return verge__wheel_advance(wheel, now_ns, &to);
}

size_t verge__wheel_run_all(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    VERGE__ENTER(wheel);
    if (pass_quietly(wheel, now_ns)) {
        return 0;
    }
    admit_deferred(wheel); /* timers that an outer run has deferred come out in the next run: this one */
    return run_due(wheel, now_ns, on_expiry, context, SIZE_MAX);
}

size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return on_expiry == NULL ? poll_due(wheel, now_ns, NULL, 0)
                             : run_due(wheel, now_ns, on_expiry, context, verge__wheel_work_limit(wheel));
}
