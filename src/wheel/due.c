/* SPDX-License-Identifier: MIT */
/*
 * Handing out due timers. poll fills an array, and run calls a function. Both use the same code, one timer at a time.
 * After each timer, the wheel is in the same state as a wheel with a backlog. So the function of a run may do anything
 * with the wheel, except destroy it.
 *
 * If the function of a run sets a timer for a time that has already come, that timer is deferred: it becomes past when
 * the run is over. So a run ends, even if each call sets another timer.
 */
#include "base/probes.h"
#include "wheel/wheel_internal.h"

typedef void on_expiry_function(void *context, const verge_expiry *expiry);

bool verge__wheel_has_due(const verge_wheel *wheel) {
    const verge__calendar *calendar = &wheel->calendar;
    const verge__order *order = wheel->order;
    uint64_t target = verge__wheel_target(wheel);
    return wheel->past != NULL || wheel->deferred != NULL || verge__calendar_has_due(calendar) ||
           (order != NULL && (!verge__sorting_is_empty(&order->past) || !verge__sorting_is_empty(&order->tick))) ||
           (calendar->cursor < target && verge__calendar_next(calendar) < target);
}

/* ---- one timer ---- */

static bool is_full(const verge__handout *to) {
    return to->count == to->limit || to->budget == 0;
}

/* A timer is due: it ends, and goes to who asked. Its node is in no list. */
static VERGE__ALWAYS_INLINE void hand_out(verge_wheel *wheel, verge__timer_node *timer, verge__handout *to) {
    VERGE__INVARIANT(to->count < to->limit, "G3: a limit defers timers");
    verge_expiry expiry = verge__wheel_expiry(timer);
    if (expiry.timer != 0) {
        (void)verge__nodes_put_free(&wheel->nodes, (verge__table_node *)(void *)timer, expiry.timer);
        if (VERGE__UNLIKELY(wheel->nodes.empty_count > 0)) {
            verge__wheel_give_back(wheel);
        }
    } else {
        timer->word &= ~VERGE__PENDING;
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
        to->count++; /* without a function and an array, the limit is 0 */
        VERGE__OUTSIDE(wheel, to->on_expiry(to->context, &expiry)); /* NOLINT(clang-analyzer-core.CallAndMessage) */
    }
}

/* Whether a node that has come up, and is in no list, is a timer that is due: before tick `end` or, if it was past, at
 * its deadline. One that was moved later is filed again, and an idle one is dropped. */
static VERGE__ALWAYS_INLINE bool is_due(verge_wheel *wheel, verge__timer_node *timer, uint64_t end, bool was_past) {
    if (VERGE__UNLIKELY(!verge__timer_is_pending(timer))) {
        wheel->dropped++;
        return false;
    }
    if (VERGE__UNLIKELY(verge__wheel_tick(wheel, timer->node.deadline_ns) >= end) &&
        !(was_past && timer->node.deadline_ns <= wheel->now_ns)) {
        verge__wheel_refile(wheel, timer);
        return false;
    }
    return true;
}

/* Takes the first node of what is past, which is not empty. */
static verge__timer_node *pop_past(verge_wheel *wheel) {
    verge__node *node = wheel->past;
    verge__calendar_withdraw(&wheel->calendar, node);
    return verge__timer_of_node(node);
}

/* The next step of a wheel without an order: one node comes up. False: none is left of what is past, and of the
 * tick. */
static VERGE__ALWAYS_INLINE bool hand_out_any(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    verge__timer_node *timer = NULL;
    uint64_t end = calendar->cursor;
    bool is_past = wheel->past != NULL;
    if (VERGE__UNLIKELY(is_past)) {
        timer = pop_past(wheel);
        end = verge__wheel_target(wheel);
    } else if (VERGE__LIKELY(verge__calendar_has_due(calendar))) {
        timer = verge__timer_of_node(verge__calendar_pop(calendar));
    } else {
        return false;
    }
    to->budget--;
    if (VERGE__LIKELY(is_due(wheel, timer, end, is_past))) {
        hand_out(wheel, timer, to);
    }
    return true;
}

/* ---- ordered: all of a tick is sorted, and then handed out ---- */

/* One step of sorting, or the first timer goes out. False: the sorting is empty, or waits for more. */
static bool hand_out_sorted(verge_wheel *wheel, verge__sorting *sorting, verge__handout *to) {
    if (verge__sorting_step(sorting, wheel->order->is_by_deadline)) {
        to->budget--;
        return true;
    }
    verge__node *first = verge__sorting_first(sorting);
    if (first == NULL) {
        return false;
    }
    to->budget--;
    verge__calendar_withdraw(&wheel->calendar, first);
    hand_out(wheel, verge__timer_of_node(first), to);
    return true;
}

/* A node that has come up is sorted if it is due. */
static void sort_in(verge_wheel *wheel, verge__sorting *sorting, verge__timer_node *timer, uint64_t end,
                    verge__handout *to) {
    to->budget--;
    if (is_due(wheel, timer, end, sorting == &wheel->order->past)) {
        wheel->calendar.linked++;
        verge__sorting_add(sorting, &timer->node);
    }
}

/* The next step: what is past comes before the tick. What becomes past while the past is handed out waits until that is
 * done. False: nothing is left. */
static bool hand_out_in_order(verge_wheel *wheel, verge__handout *to) {
    verge__order *order = wheel->order;
    verge__calendar *calendar = &wheel->calendar;
    if (hand_out_sorted(wheel, &order->past, to)) {
        return true;
    }
    if (wheel->past != NULL) {
        sort_in(wheel, &order->past, pop_past(wheel), verge__wheel_target(wheel), to);
        return true;
    }
    if (!verge__sorting_is_empty(&order->past)) {
        (void)verge__sorting_finish(&order->past);
        return true;
    }
    if (hand_out_sorted(wheel, &order->tick, to)) {
        return true;
    }
    if (verge__calendar_has_due(calendar)) {
        sort_in(wheel, &order->tick, verge__timer_of_node(verge__calendar_pop(calendar)), calendar->cursor, to);
        return true;
    }
    if (!verge__sorting_is_empty(&order->tick)) {
        (void)verge__sorting_finish(&order->tick);
        return true;
    }
    return false;
}

/* ---- all that is due ---- */

/* Timers that are past, then tick by tick. Nothing is remembered from one to the next: a function may have done
 * anything. */
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

/* ---- the tick under way, to the nanosecond ---- */

/* Goes through a list: the timers whose deadline has come are handed out, as far as the limit allows, or sorted. */
static void take_exact(verge_wheel *wheel, verge__node *first, verge__handout *to) {
    for (verge__node *node = first, *next = NULL; node != NULL && to->count < to->limit; node = next) {
        verge__timer_node *timer = verge__timer_of_node(node);
        next = node->next;
        to->budget--;
        if (!verge__timer_is_pending(timer) || node->deadline_ns > wheel->now_ns) {
            continue;
        }
        verge__calendar_withdraw(&wheel->calendar, node);
        if (wheel->order == NULL) {
            hand_out(wheel, timer, to);
        } else {
            wheel->calendar.linked++;
            verge__sorting_add(&wheel->order->tick, node);
            while (verge__sorting_step(&wheel->order->tick, wheel->order->is_by_deadline)) {
            }
        }
    }
}

/* The timers of the tick under way whose deadline has come, as far as the limit and the budget allow. In an ordered
 * wheel those that are not handed out go back to their tick, so that they come out in order with what is scheduled
 * later. */
static void hand_out_exact(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    const verge__level *lowest = &calendar->levels[0];
    if (is_full(to) || verge__wheel_has_due(wheel) || calendar->cursor == wheel->geometry.end_tick ||
        !verge__calendar_open_cursor(calendar, &to->budget)) {
        return;
    }
    VERGE__INVARIANT(calendar->cursor == verge__wheel_target(wheel), "C3: what has come was handed out before");
    verge__node **lanes = verge__level_slot(lowest, calendar->cursor);
    size_t count = 0;
    for (uint32_t lane = 0; lane < verge__level_lane_count(lowest); lane++) {
        for (const verge__node *node = lanes[lane]; node != NULL && count <= to->budget; node = node->next) {
            count++;
        }
    }
    if (count > to->budget) {
        return;
    }
    for (uint32_t lane = 0; lane < verge__level_lane_count(lowest); lane++) {
        take_exact(wheel, lanes[lane], to);
    }
    if (wheel->order == NULL) {
        return;
    }
    verge__sorting *sorting = &wheel->order->tick;
    while (verge__sorting_finish(sorting)) {
        while (verge__sorting_step(sorting, wheel->order->is_by_deadline)) {
        }
    }
    for (verge__node *node = NULL; (node = verge__sorting_first(sorting)) != NULL;) {
        verge__calendar_withdraw(calendar, node);
        if (to->count < to->limit) {
            hand_out(wheel, verge__timer_of_node(node), to);
        } else {
            verge__wheel_refile(wheel, verge__timer_of_node(node));
        }
    }
}

/* ---- a poll ---- */

/* After what is due was handed out, or as much as was asked for. */
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

static size_t work_limit(const verge_wheel *wheel) {
    return wheel->options.work_limit == 0 ? SIZE_MAX : wheel->options.work_limit;
}

/* What was deferred is past from now on. */
static void admit_deferred(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    for (verge__node *node = NULL; VERGE__UNLIKELY((node = wheel->deferred) != NULL);) {
        verge__list_remove(node);
        verge__list_push(&wheel->past, node);
        calendar->quiet_until = 0; /* W5 */
    }
}

/* All of a poll or a run. What was deferred in a run is past when the outermost run is over. */
static size_t advance(verge_wheel *wheel, uint64_t now_ns, verge__handout *to, bool is_exact) {
    size_t budget = to->budget;
    bool is_run = to->on_expiry != NULL;
    if (now_ns <= wheel->now_ns && wheel->now_ns >> wheel->calendar.shift < wheel->calendar.quiet_until && !is_exact) {
        wheel->last_poll_work = 0;
        return 0;
    }
    wheel->now_ns = now_ns > wheel->now_ns ? now_ns : wheel->now_ns;
    verge__wheel_end_short_reach(wheel); /* before the cursor has caught up */
    wheel->runs += is_run;
    hand_out_until_full(wheel, to);
    VERGE__INVARIANT(wheel->runs >= is_run, "W5: runs under way are counted");
    wheel->runs -= is_run;
    if (is_exact) {
        hand_out_exact(wheel, to);
    }
    if (wheel->runs == 0) {
        admit_deferred(wheel);
    }
    settle(wheel, &to->budget);
    wheel->last_poll_work = budget - to->budget;
    wheel->last_work_ns = wheel->now_ns;
    return to->count;
}

/* Moves time if that is all there is to do. If time stands still, `advance` sees that. That this poll had no work need
 * not be written, which takes a tenth of a poll's time: last_work_ns is in the past. */
static VERGE__ALWAYS_INLINE bool pass_quietly(verge_wheel *wheel, uint64_t now_ns) {
    uint64_t tick = now_ns >> wheel->calendar.shift;
    if (VERGE__UNLIKELY((tick >= wheel->calendar.quiet_until) | (now_ns <= wheel->now_ns))) {
        return false;
    }
    wheel->now_ns = now_ns;
    wheel->calendar.cursor = tick + 1;
    return true;
}

static VERGE__NOINLINE size_t poll_within(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit,
                                          bool is_exact, size_t budget) {
    verge__handout to = {.out = out, .limit = out == NULL ? 0 : limit, .budget = budget};
    return advance(wheel, now_ns, &to, is_exact);
}

size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return poll_within(wheel, now_ns, out, limit, false, work_limit(wheel));
}

size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    VERGE__ENTER(wheel);
    return wheel == NULL ? 0 : poll_within(wheel, now_ns, out, limit, true, work_limit(wheel));
}

static VERGE__NOINLINE size_t run_due(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context,
                                      size_t budget) {
    verge__handout to = {.limit = SIZE_MAX, .on_expiry = on_expiry, .context = context, .budget = budget};
    return advance(wheel, now_ns, &to, false);
}

size_t verge__wheel_run_all(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    VERGE__ENTER(wheel);
    if (pass_quietly(wheel, now_ns)) {
        return 0;
    }
    admit_deferred(wheel); /* what a callback of an outer run has set comes out in the next run, and that is this one */
    return run_due(wheel, now_ns, on_expiry, context, SIZE_MAX);
}

size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return on_expiry == NULL ? verge_wheel_poll(wheel, now_ns, NULL, 0)
                             : run_due(wheel, now_ns, on_expiry, context, work_limit(wheel));
}

/* ---- to the next timer ---- */

/* The time at which the next timer may come out: its deadline, or the tick at which it does, in a strict wheel, and
 * where a poll was there already and may not look at all of the tick under way. A coarse wheel knows no better than
 * next_wakeup. */
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
    size_t budget = work_limit(wheel);
    size_t work = 0;
    /* A slot of a coarse wheel may have nothing but idle entries and timers that were moved. The work limit is for all
     * of them together: when it is reached, what is left is a backlog. */
    for (bool was_there = false;; was_there = true) {
        uint64_t next_ns = next_stop(wheel, is_exact, was_there);
        next_ns = next_ns < now_ns ? next_ns : now_ns;
        size_t count = poll_within(wheel, next_ns, out, limit, is_exact, budget - work);
        work += (size_t)wheel->last_poll_work;
        if (count > 0 || limit == 0 || out == NULL || next_ns >= now_ns || verge__wheel_has_due(wheel)) {
            wheel->last_poll_work = work;
            return count;
        }
    }
}
