/* SPDX-License-Identifier: MIT */
/*
 * wheel/wheel_internal.h - what a wheel is made of: a calendar of nodes (calendar/calendar.h), a table of the nodes of
 * timers with handles (nodes.h), and what is due and was not handed out yet.
 *
 * docs/ARCHITECTURE.md follows a timer from schedule to expiry.
 *
 * A node that is linked need not be pending. When a timer is cancelled, its node may stay where it is: it is idle. The
 * next timer of this node uses the link, if it is due no earlier: then both calls touch the node alone. An idle node
 * that comes up is dropped.
 *
 * What is due
 *   past      timers set for a time that had come already. They come out first
 *   deferred  those that a function of a run has set for such a time: they are past when the run is over
 *   the tick  calendar.due_slot: its nodes are handed out in place
 *   order     of an ordered wheel: timers that are past, and those of the tick, are sorted there (order.h)
 *
 * Invariants (verge_wheel_check, but for W6); the others, from C1 to WN3, are stated where their structures are
 *   W1  every pending timer is linked: in a slot that starts no later than the timer must come out, or in one of the
 *       lists of what is due
 *   W2  linked nodes are those of pending timers, and idle ones
 *   W3  idle nodes are bounded
 *   W4  earliest_ns is the smallest deadline, or 0: not known
 *   W5  while something is due that was not handed out, the calendar is not quiet
 *   W6  bytes is what the wheel has allocated, itself included
 */
#ifndef VERGE_SRC_WHEEL_WHEEL_INTERNAL_H
#define VERGE_SRC_WHEEL_WHEEL_INTERNAL_H

#include "base/explain.h"
#include "base/one_thread.h"
#include "wheel/order.h"

enum {
    VERGE__IDLE_MAX = 3072,
    VERGE__NARROW_MAX = 128, /* with more nodes, a narrow calendar is rebuilt wide */
};

#if defined(VERGE_STEPS) && VERGE_STEPS
extern size_t verge__idle_max; /* a test has less, so that few timers are enough to reach it */
extern size_t verge__narrow_max;
#else
static const size_t verge__idle_max = VERGE__IDLE_MAX;
static const size_t verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* What options mean. */
typedef struct verge__geometry {
    uint8_t shift; /* ticks of 2^shift ns */
    uint8_t level_count;
    bool reaches_end; /* of time: every deadline is accepted */
    verge__level_shape levels[VERGE_LEVEL_COUNT_MAX];
    uint64_t end_tick; /* never comes; timers for ever are filed there */
    uint64_t reach;    /* ticks from now on for which timers are accepted */
    uint64_t rounding; /* ticks by which a coarse wheel may round up; else 0 */
} verge__geometry;

struct verge_wheel {
    /* what every call reads or writes */
    _Alignas(64) verge__nodes nodes;
    size_t timeout_count; /* that are pending */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t keep_end_ns; /* for deadlines below this, a linked node may stay where it is */
    uint64_t idle_limit;  /* with so many idle nodes, another is withdrawn at once; 0: none may stay */
    uint64_t earliest_ns; /* W4; VERGE_NEVER: nothing is pending */
    uint64_t now_ns;
    verge__order *order; /* NULL: the wheel is not ordered */
    verge__calendar calendar;

    verge__node *past;
    verge__node *deferred;
    uint64_t sequence; /* of the last call that set a timer, in ordered wheels */
    bool is_plain;     /* exact, past fires, no cap: the short ways apply */
    uint32_t visits; /* of timeouts, under way: the calendar is not rebuilt, and nodes are not moved to look at them */
    size_t runs;     /* under way, one in the other */
    size_t narrow_max; /* verge__narrow_max, or more if there was no memory */
    uint64_t cleared;
    uint64_t refiled; /* nodes that came up before their timer's later deadline */
    uint64_t dropped; /* idle nodes that came up, or were in the way */
    uint64_t start_ns;
    uint64_t last_poll_work; /* nodes that it moved, inspected or returned */
    uint64_t last_work_ns;   /* when that was; polls of a later time have had no work */
    size_t reserved_nodes;   /* timers with handles there must be room for */
    verge__geometry geometry;
    verge_wheel_options options;
    verge_allocator allocator; /* the user's; counts `bytes` */
    verge_allocator users_allocator;
    size_t bytes; /* W6 */
    VERGE__ONE_THREAD
};

/* What one poll or run hands out, and to whom. */
typedef struct verge__handout {
    verge_expiry *out; /* NULL: on_expiry is called instead */
    size_t limit;
    void (*on_expiry)(void *context, const verge_expiry *expiry);
    void *context;
    size_t count;
    size_t budget; /* nodes that may still be moved, inspected or returned */
} verge__handout;

/* ---- time and ticks ---- */

/* The first tick that has not come; at the end of time it stands still. */
static inline uint64_t verge__wheel_target(const verge_wheel *wheel) {
    uint64_t tick = wheel->now_ns >> wheel->calendar.shift;
    return tick < wheel->geometry.end_tick ? tick + 1 : wheel->geometry.end_tick;
}

static inline uint64_t verge__wheel_tick(const verge_wheel *wheel, uint64_t deadline_ns) {
    return verge__calendar_tick(&wheel->calendar, deadline_ns);
}

/* The largest deadline whose tick comes. */
static inline uint64_t verge__wheel_last_deadline(const verge_wheel *wheel) {
    return ((wheel->geometry.end_tick - 1) << wheel->calendar.shift) - (wheel->options.strict ? 1 : 0);
}

/* The tick at which a timer for a tick is to be filed: a coarse wheel rounds up, by the level that its distance from
 * now needs. */
uint64_t verge__wheel_rounded(const verge_wheel *wheel, uint64_t tick);

/* ---- what there is ---- */

static inline bool verge__wheel_is_ordered(const verge_wheel *wheel) {
    return wheel->order != NULL;
}

static inline size_t verge__wheel_pending(const verge_wheel *wheel) {
    return wheel->nodes.live + wheel->timeout_count;
}

static inline size_t verge__wheel_idle(const verge_wheel *wheel) {
    return wheel->calendar.linked - verge__wheel_pending(wheel);
}

/* What callers see of a pending timer. */
static inline verge_expiry verge__wheel_expiry(const verge__timer_node *timer) {
    bool is_timeout = verge__timer_is_timeout(timer);
    const verge__table_node *node = (const verge__table_node *)(const void *)timer;
    return (verge_expiry){.timer = is_timeout ? 0 : timer->word,
                          .deadline_ns = timer->node.deadline_ns,
                          .data = is_timeout ? (void *)(uintptr_t)timer : node->data};
}

/* ---- wheel.c ---- */

verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow);

/* ---- arm.c: a timer gets a deadline, or loses it ---- */

/* Gives a timer a deadline, whether it is pending or not; to mark it as pending and to count it is left to the caller.
 * An error changes nothing. */
int verge__wheel_arm(verge_wheel *wheel, verge__timer_node *timer, uint64_t deadline_ns);

/* The same, for every order and every mode. is_past: the deadline has come, and the timer comes out next, although its
 * tick may not be over. */
VERGE__NOINLINE int verge__wheel_arm_slowly(verge_wheel *wheel, verge__timer_node *timer, uint64_t deadline_ns,
                                            bool is_past);

/* Whether a timer, pending or not, may have a deadline: 0, -ERANGE, -EINVAL or -ENOSPC. */
int verge__wheel_judge(const verge_wheel *wheel, bool is_pending, uint64_t deadline_ns);

/* Files a pending timer, which is in no list, at its deadline's tick, but not before the cursor. */
void verge__wheel_refile(verge_wheel *wheel, verge__timer_node *timer);

/* In an ordered wheel: the timer comes after all that were set before. */
static inline void verge__wheel_set_sequence(verge_wheel *wheel, verge__timer_node *timer) {
    uint64_t sequence = ++wheel->sequence;
    if (verge__timer_is_timeout(timer)) {
        timer->word = VERGE__TIMEOUT | sequence << 1 | (timer->word & VERGE__PENDING);
    } else {
        ((verge__table_node *)(void *)timer)->sequence = sequence;
    }
}

/* The timer with the earliest deadline has ended. */
static inline void verge__wheel_forget_earliest(verge_wheel *wheel) {
    wheel->earliest_ns = verge__wheel_pending(wheel) == 0 ? VERGE_NEVER : 0;
}

/* A timer gets a deadline: the earliest one may be another now. */
static VERGE__ALWAYS_INLINE void verge__wheel_note_move(verge_wheel *wheel, uint64_t from_ns, uint64_t to_ns) {
    uint64_t earliest_ns = wheel->earliest_ns;
    if (VERGE__UNLIKELY(to_ns < earliest_ns)) {
        wheel->earliest_ns = to_ns;
    } else if (VERGE__UNLIKELY(from_ns == earliest_ns)) {
        wheel->earliest_ns = 0;
    }
}

/* Gives a timer another deadline if its node can stay where it is, because it is linked, and comes up early enough:
 * then it is filed again. False: it cannot, and nothing has changed. How early it comes up, the place of a timeout
 * says; in a node with a handle there is no room for a place, but the deadline is never before that. */
static VERGE__ALWAYS_INLINE bool verge__wheel_arm_in_place(verge_wheel *wheel, verge__timer_node *timer,
                                                           uint64_t deadline_ns, bool is_timeout) {
    if (VERGE__UNLIKELY(!verge__node_is_linked(&timer->node) || deadline_ns >= wheel->keep_end_ns ||
                        (is_timeout ? verge__wheel_tick(wheel, deadline_ns) < verge__node_place(timer)
                                    : deadline_ns < timer->node.deadline_ns))) {
        return false;
    }
    verge__wheel_note_move(wheel, timer->node.deadline_ns, deadline_ns);
    timer->node.deadline_ns = deadline_ns;
    return true;
}

/* A timer has ended before its time, and is not pending any more. Its node becomes idle; false: there are idle ones
 * enough, and it must be withdrawn. */
static VERGE__ALWAYS_INLINE bool verge__wheel_make_idle(verge_wheel *wheel, const verge__timer_node *timer) {
    wheel->cancelled++;
    if (VERGE__UNLIKELY(timer->node.deadline_ns == wheel->earliest_ns)) {
        verge__wheel_forget_earliest(wheel);
    }
    return VERGE__LIKELY(verge__wheel_idle(wheel) <= wheel->idle_limit);
}

/* ---- for loops ---- */

/* Makes a wheel without timers hand them out by deadline. -EBUSY: it has timers, or another order. -ENOMEM. */
int verge__wheel_order_by_deadline(verge_wheel *wheel);

/* verge_timeout_set for a deadline that has come: the next run calls back. */
int verge__timeout_set_past(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);

/* verge_wheel_run without a work limit. */
size_t verge__wheel_run_all(verge_wheel *wheel, uint64_t now_ns,
                            void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/* ---- due.c ---- */

/* Whether something is due, or may be, that was not handed out. */
bool verge__wheel_has_due(const verge_wheel *wheel);

/* The short ways apply if the wheel is plain, the cursor has caught up, and nothing is past or being sorted: so what is
 * linked comes up at its time. To be called when one of these has changed. */
static inline void verge__wheel_set_short_reach(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    uint64_t middle = wheel->geometry.end_tick / 2;
    bool is_short = wheel->is_plain && calendar->cursor == verge__wheel_target(wheel) && calendar->cursor < middle &&
                    wheel->past == NULL && wheel->deferred == NULL &&
                    (wheel->order == NULL || (wheel->runs == 0 && verge__sorting_is_empty(&wheel->order->past) &&
                                              verge__sorting_is_empty(&wheel->order->tick)));
    /* Quiet polls move the cursor, but not beyond the middle of time: from there the end is out of their reach. Where
     * the short ways do not apply, not beyond the end of time. */
    uint64_t quiet_end = is_short ? middle : wheel->geometry.end_tick;
    calendar->short_reach = !is_short ? 0 : wheel->geometry.reach < middle ? wheel->geometry.reach : middle;
    uint64_t reach_end = calendar->cursor + calendar->short_reach;
    reach_end = reach_end < wheel->geometry.end_tick ? reach_end : wheel->geometry.end_tick - 1;
    /* While a tick is handed out, its nodes are where they must not stay; and idle ones would look like a backlog. */
    bool is_between = is_short && !verge__calendar_has_due(calendar);
    wheel->keep_end_ns = is_between && calendar->has_places ? (reach_end << calendar->shift) - calendar->bias_ns : 0;
    calendar->quiet_until = quiet_end < calendar->quiet_until ? quiet_end : calendar->quiet_until;
    wheel->idle_limit = is_between ? verge__idle_max : 0;
}

/* The short ways do not apply until then. */
static inline void verge__wheel_end_short_reach(verge_wheel *wheel) {
    wheel->calendar.short_reach = 0;
    wheel->keep_end_ns = 0;
    wheel->idle_limit = 0;
}

/* ---- next.c ---- */

/* The earliest pending deadline; VERGE_NEVER if none is pending. */
uint64_t verge__wheel_earliest(verge_wheel *wheel);

/* ---- visit.c ---- */

/* List number i of a wheel: of slots, and of what is due; NULL: there are no more. */
verge__node **verge__wheel_list(const verge_wheel *wheel, size_t i);

/* Calls a function for each linked node, markers too. It may take out the node it is called for. */
typedef void verge__visitor(void *context, verge_wheel *wheel, verge__timer_node *timer);
void verge__wheel_visit(verge_wheel *wheel, verge__visitor *visitor, void *context);

/* ---- memory.c ---- */

/* Makes sure that there is a free node to take. -ENOMEM, -ENOSPC. */
int verge__wheel_find_node(verge_wheel *wheel);

/* Gives back a slab without a timer, if few nodes are used. */
void verge__wheel_give_back(verge_wheel *wheel);

/* Rebuilds a narrow calendar that has many nodes, or will have, if that is possible now. */
void verge__wheel_widen(verge_wheel *wheel, size_t nodes);

/* ---- options.c ---- */

/* 0, and what the options mean; -EINVAL, and why. */
int verge__wheel_read_options(const verge_wheel_options *options, verge__explanation why,
                              verge__geometry *ret_geometry);

#endif
