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
#include "calendar/level.h"
#include "wheel/wheel_internal.h"

typedef void on_expiry_function(void *context, const verge_expiry *expiry);

bool verge__wheel_has_due(const verge_wheel *wheel) {
    const verge__calendar *calendar = &wheel->calendar;
    uint64_t target = verge__wheel_target(wheel);
    return calendar->own[VERGE__LIST_PAST] != NULL || calendar->own[VERGE__LIST_DEFERRED] != NULL ||
           calendar->own[VERGE__LIST_HEAP] != NULL || verge__calendar_has_due(calendar) ||
           (calendar->cursor < target && verge__calendar_next(calendar) < target);
}

/* ---- one timer ---- */

static bool is_full(const verge__handout *to) {
    return to->count == to->limit || to->budget == 0;
}

/* A timer is due: it ends, and goes to who asked. Its entry is gone. */
static VERGE__ALWAYS_INLINE void hand_out(verge_wheel *wheel, verge__entry entry, verge__timer_node *node,
                                          verge__handout *to) {
    VERGE__INVARIANT(verge__node_is_pending(&node->node), "W2: what is handed out is pending");
    VERGE__INVARIANT(to->count < to->limit, "G3: a limit defers timers");
    verge_expiry expiry = {.deadline_ns = node->node.deadline_ns, .data = node->data};
    node->node.place = VERGE__NO_PLACE;
    node->node.deadline_ns = VERGE_NEVER;
    wheel->expired++;
    if (expiry.deadline_ns == wheel->earliest_ns) {
        verge__wheel_forget_earliest(wheel);
    }
    if (verge__entry_is_in_table(entry)) {
        uint32_t index = verge__entry_index(entry);
        expiry.timer = verge__handle(index, node->node.generation++);
        verge__nodes_put_free(&wheel->nodes, index);
    } else if (VERGE__UNLIKELY(!verge__timeout_is_attached(&node->node))) {
        VERGE__INVARIANT(wheel->loose > 0, "W6: timeouts that are set and not attached are counted");
        wheel->loose--;
    }
    VERGE__PROBE4(fire, wheel, expiry.timer != 0 ? expiry.timer : (uintptr_t)node, expiry.deadline_ns, wheel->now_ns);
    if (to->out != NULL) {
        to->out[to->count++] = expiry;
    } else {
        to->count++; /* without a function and an array, the limit is 0 */
        VERGE__OUTSIDE(wheel, to->on_expiry(to->context, &expiry)); /* NOLINT(clang-analyzer-core.CallAndMessage) */
    }
}

/* Brings the node of an entry that is handed out soon towards the cache: of the one a chunk further on. */
static VERGE__ALWAYS_INLINE void prefetch_ahead(const verge_wheel *wheel, const verge__entry *newest) {
    const verge__chunk *chunk = verge__chunk_of(newest);
    if (chunk->below != NULL) {
        VERGE__PREFETCH_WRITE(verge__wheel_node(wheel, chunk->below->entries[newest - chunk->entries]));
    }
}

/* The next entry of the tick at hand: its timer is due, or was moved later, or has gone. */
static VERGE__ALWAYS_INLINE void hand_out_of_tick(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    const verge__entry *place = *calendar->due_slot - 1;
    if (calendar->entry_count > VERGE__PREFETCH_MIN) {
        prefetch_ahead(wheel, place);
    }
    verge__entry entry = verge__calendar_pop(calendar);
    verge__timer_node *node = verge__wheel_node(wheel, entry);
    VERGE__INVARIANT(verge__node_place(&node->node) == place,
                     "C2: a node knows its place; if it is a timeout, its object was freed or copied while it was set");
    (void)place;
    to->budget--;
    if (VERGE__UNLIKELY(!verge__node_is_pending(&node->node))) {
        verge__calendar_drop_idle(calendar, &node->node);
    } else if (VERGE__LIKELY(verge__wheel_tick(wheel, node->node.deadline_ns) < calendar->cursor)) {
        hand_out(wheel, entry, node, to);
    } else {
        verge__wheel_refile(wheel, entry, &node->node);
    }
}

static void hand_out_popped(verge_wheel *wheel, verge__entry entry, verge__handout *to) {
    to->budget--;
    hand_out(wheel, entry, verge__wheel_node(wheel, entry), to);
}

/* ---- ordered: all of a tick goes to the heap, and then out of it ---- */

/* An ordered wheel keeps no entry when a timer ends or moves: what comes up is due. */
static void add_to_heap(verge_wheel *wheel, verge__entry entry, verge__handout *to) {
    verge__node *node = verge__calendar_node(&wheel->calendar, entry);
    VERGE__INVARIANT(verge__node_is_pending(node), "W3: an ordered wheel has no idle entries");
    VERGE__INVARIANT(verge__wheel_tick(wheel, node->deadline_ns) < verge__wheel_target(wheel), "G1: it is due");
    to->budget--;
    node->place = VERGE__NO_PLACE;
    verge__heap_push(wheel, entry, node);
}

/* The next step; false: nothing is left of the tick, or of what is past. */
static bool hand_out_in_order(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    if (calendar->own[VERGE__LIST_PAST] != NULL) {
        add_to_heap(wheel, verge__calendar_list_pop(calendar, VERGE__LIST_PAST), to);
    } else if (verge__calendar_has_due(calendar) && !verge__heap_has_past(wheel)) {
        add_to_heap(wheel, verge__calendar_pop(calendar), to);
    } else if (calendar->own[VERGE__LIST_HEAP] != NULL) {
        hand_out_popped(wheel, verge__heap_pop(wheel), to);
    } else {
        return false;
    }
    return true;
}

/* ---- all that is due ---- */

/* Timers that are past, then tick by tick. Nothing is remembered from one to the next: a function may have done
 * anything. */
static void hand_out_until_full(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    while (!is_full(to)) {
        if (VERGE__UNLIKELY(verge__wheel_is_ordered(wheel))) {
            if (hand_out_in_order(wheel, to)) {
                continue;
            }
        } else if (VERGE__UNLIKELY(calendar->own[VERGE__LIST_PAST] != NULL)) {
            hand_out_popped(wheel, verge__calendar_list_pop(calendar, VERGE__LIST_PAST), to);
            continue;
        } else if (verge__calendar_has_due(calendar)) {
            hand_out_of_tick(wheel, to);
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

/* The timers of the tick under way whose deadline has come, as far as the limit and the budget allow. In an ordered
 * wheel all of them are looked at first; those that are not handed out go back to their tick, so that they come out in
 * order with what is scheduled later. */
static void hand_out_exact(verge_wheel *wheel, verge__handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    bool is_ordered = verge__wheel_is_ordered(wheel);
    if (is_full(to) || verge__wheel_has_due(wheel) || !verge__calendar_open_cursor(calendar, &to->budget)) {
        return;
    }
    VERGE__INVARIANT(calendar->cursor == verge__wheel_target(wheel), "C3: what has come was handed out before");
    verge__list slot = *verge__calendar_cursor_slot(calendar);
    if (verge__list_count(slot) > to->budget) {
        return;
    }
    for (verge__entry *at = slot == NULL ? NULL : slot - 1; at != NULL && to->count < to->limit;) {
        verge__entry entry = *at;
        verge__timer_node *node = verge__wheel_node(wheel, entry);
        at = verge__entry_older(at); /* what takes its place was looked at before */
        to->budget--;
        if (verge__node_is_pending(&node->node) && node->node.deadline_ns <= wheel->now_ns) {
            verge__calendar_withdraw(calendar, &node->node);
            if (is_ordered) {
                verge__heap_push(wheel, entry, &node->node);
            } else {
                hand_out(wheel, entry, node, to);
            }
        }
    }
    while (is_ordered && calendar->own[VERGE__LIST_HEAP] != NULL) {
        verge__entry entry = verge__heap_pop(wheel);
        if (to->count < to->limit) {
            hand_out(wheel, entry, verge__wheel_node(wheel, entry), to);
        } else {
            verge__wheel_refile(wheel, entry, verge__calendar_node(calendar, entry));
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
    verge__wheel_note_untidy(wheel);
    if (VERGE__UNLIKELY(calendar->cursor >= wheel->tidy_tick)) {
        wheel->tidy_tick = VERGE__SHORT_END;
        if (verge__wheel_give_back(wheel, budget)) {
            verge__wheel_note_untidy(wheel);
        }
    }
    verge__wheel_set_short_reach(wheel);
}

static size_t work_limit(const verge_wheel *wheel) {
    return wheel->options.work_limit == 0 ? SIZE_MAX : wheel->options.work_limit;
}

/* What was deferred is past from now on. */
static void admit_deferred(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    VERGE__INVARIANT(wheel->runs == 0, "W5: what is deferred waits for the end of the outermost run");
    while (VERGE__UNLIKELY(calendar->own[VERGE__LIST_DEFERRED] != NULL)) {
        verge__entry entry = verge__calendar_list_pop(calendar, VERGE__LIST_DEFERRED);
        verge__node *node = verge__calendar_node(calendar, entry);
        node->place = VERGE__NO_PLACE;
        verge__calendar_list_add(calendar, VERGE__LIST_PAST, entry, node);
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
    wheel->calendar.short_reach = 0; /* the short ways do not apply before the cursor has caught up */
    wheel->idle_limit = 0;
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

static VERGE__NOINLINE size_t run_due(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry,
                                      void *context) {
    verge__handout to = {.limit = SIZE_MAX, .on_expiry = on_expiry, .context = context, .budget = work_limit(wheel)};
    return advance(wheel, now_ns, &to, false);
}

size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    VERGE__ENTER(wheel);
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return on_expiry == NULL ? verge_wheel_poll(wheel, now_ns, NULL, 0) : run_due(wheel, now_ns, on_expiry, context);
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
    return !is_exact || (was_there && next_ns <= wheel->now_ns) ? verge_wheel_fires_at(wheel, next_ns) : next_ns;
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
