/* SPDX-License-Identifier: MIT */
/*
 * wheel/wheel_internal.h - what a wheel is made of: a calendar of nodes (calendar/calendar.h), a table of the nodes of
 * timers with handles (nodes.h), and what is due and was not handed out yet.
 *
 * docs/ARCHITECTURE.md has the words, and follows a timer from start to expiry.
 *
 * What is due
 *   past      timers set for a time that had come already. They come out first
 *   deferred  timers that the function of a run has set for such a time. They become past when the outermost run is
 *             over
 *   the tick  calendar.due_slot: its nodes are handed out in place
 *   order     only in an ordered wheel: timers that are past, and those of the tick, are sorted there (more/order.h)
 *
 * Invariants (verge_wheel_check)
 *   W1  every pending timer is linked: in a slot that starts no later than it comes out, or in a list of what is due
 *   W2  linked nodes are those of pending timers, idle ones and markers (nodes.h)
 *   W3  idle nodes are bounded
 *   W4  earliest_ns is the smallest deadline, or 0: not known
 *   W5  while something is due that was not handed out, the calendar is not quiet
 */
#ifndef VERGE_SRC_WHEEL_WHEEL_INTERNAL_H
#define VERGE_SRC_WHEEL_WHEEL_INTERNAL_H

#include "base/explain.h"
#include "base/one_thread.h"
#include "wheel/more/order.h"

enum {
    VERGE__IDLE_MAX = 3072,
    VERGE__NARROW_MAX = 128, /* with more nodes, a narrow calendar is rebuilt wide */
};

#if defined(VERGE_STEPS) && VERGE_STEPS
extern size_t verge__idle_max, verge__narrow_max; /* tests lower them, so that few timers reach them */
#else
static const size_t verge__idle_max = VERGE__IDLE_MAX, verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* The options of a wheel, in ticks. */
typedef struct verge__geometry {
    uint8_t shift; /* ticks of 2^shift ns */
    uint8_t level_count;
    bool reaches_end; /* the levels reach the end of time: no deadline is too far */
    verge__level_shape levels[VERGE_LEVEL_COUNT_MAX];
    uint64_t end_tick; /* never comes; timers that never come out are filed there */
    uint64_t reach;    /* ticks from now on for which timers are accepted */
    uint64_t rounding; /* the most ticks by which a coarse wheel rounds up; else 0 */
} verge__geometry;

struct verge_wheel {
    /* what every call reads or writes */
    _Alignas(64) verge__nodes nodes;
    size_t timeout_count; /* pending timeouts */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t short_reach; /* a tick less than this far after the cursor needs no checks; 0: each does */
    uint64_t keep_end_ns; /* for deadlines below this, a linked node may stay where it is */
    uint64_t idle_limit;  /* as many idle nodes as this may stay linked; one more is withdrawn at once */
    uint64_t earliest_ns; /* the smallest deadline (W4); 0: not known; VERGE_NEVER: nothing is pending */
    uint64_t now_ns;
    verge__order *order; /* NULL: the wheel is not ordered */
    verge__calendar calendar;

    verge__node *past;
    verge__node *deferred;
    uint64_t sequence; /* in ordered wheels: the number of the last call that set a timer */
    bool is_plain;     /* not coarse, and accepts each deadline in reach whose tick has not come */
    uint32_t visits;   /* visits of timeouts under way. They forbid rebuilds, and searches then move no node */
    size_t runs;       /* runs under way, one inside the other */
    size_t narrow_max; /* verge__narrow_max at first; larger after a rebuild has failed */
    uint64_t refiled;  /* nodes that were filed again: usually their timer had been moved later */
    uint64_t dropped;  /* idle nodes that were withdrawn: when they came up, by a search, or when memory went back */
    uint64_t start_ns;
    uint64_t last_poll_work; /* nodes that were moved, inspected, sorted or returned by the last poll that had work */
    uint64_t last_work_ns;   /* now_ns at that poll */
    size_t reserved_nodes;   /* slabs go back only if at least this many nodes stay */
    verge__geometry geometry;
    verge_wheel_options options;
    verge_allocator allocator;
    VERGE__ONE_THREAD
};

/* What one poll or run hands out, and to whom. */
typedef struct verge__handout {
    verge_expiry *out; /* NULL: on_expiry is called instead */
    size_t limit;
    void (*on_expiry)(void *context, const verge_expiry *expiry);
    void *context;
    size_t count;
    size_t budget; /* nodes that may still be moved, inspected, sorted or returned */
} verge__handout;

static inline size_t verge__wheel_work_limit(const verge_wheel *wheel) {
    return wheel->options.work_limit == 0 ? SIZE_MAX : wheel->options.work_limit;
}

/* The handout of a poll. */
static inline verge__handout verge__wheel_handout_to(const verge_wheel *wheel, verge_expiry *out, size_t limit) {
    return (verge__handout){.out = out, .limit = out == NULL ? 0 : limit, .budget = verge__wheel_work_limit(wheel)};
}

/* ---- more/: what the core needs of it ---- */

/* Changes default options to those of a preset of verge/wheel_more.h. Does nothing for other presets. */
void verge__wheel_other_preset(verge_wheel_options *options, verge_wheel_preset preset);

/* Reads the geometry of options that give levels. Returns 0; or -EINVAL, and why. */
int verge__wheel_read_levels(const verge_wheel_options *options, verge__explanation why, verge__geometry *ret_geometry);

/* In a coarse wheel: the tick at which a timer for this tick is filed. */
uint64_t verge__coarse_round_up(const verge_wheel *wheel, uint64_t tick);

/* In a coarse wheel: the last tick, up to this one, that is not rounded up beyond the end of time. */
uint64_t verge__coarse_last_tick(const verge_wheel *wheel, uint64_t tick);

/* For builds with assertions. Returns false if it finds that the list of this linked node is not of this wheel. */
bool verge__wheel_may_have(const verge_wheel *wheel, const verge__node *node);

/* ---- time and ticks ---- */

/* The first tick that has not come. At the end of time, it is end_tick. */
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

/* The tick at which a timer for a tick is to be filed: a coarse wheel rounds up, by the level that the tick's distance
 * from now needs. */
static inline uint64_t verge__wheel_rounded(const verge_wheel *wheel, uint64_t tick) {
    return wheel->options.coarse ? verge__coarse_round_up(wheel, tick) : tick;
}

static inline size_t verge__wheel_pending(const verge_wheel *wheel) {
    return wheel->nodes.pending_count + wheel->timeout_count;
}

/* What callers see of a pending timer. */
static inline verge_expiry verge__wheel_expiry(const verge__timer_node *timer) {
    bool is_timeout = verge__timer_is_timeout(timer);
    const verge__table_node *node = (const verge__table_node *)(const void *)timer;
    return (verge_expiry){.timer = is_timeout ? 0 : timer->tag,
                          .deadline_ns = timer->node.deadline_ns,
                          .data = is_timeout ? (void *)(uintptr_t)timer : node->data};
}

/* ---- arm.c: a timer gets a deadline, or loses it ---- */

/* Gives a timer a deadline, whether it is pending or not. The caller marks it as pending, and counts it. is_past: the
 * deadline has come, and the timer comes out next, although its tick may not have come. An error changes nothing. */
int verge__wheel_arm(verge_wheel *wheel, verge__timer_node *timer, uint64_t deadline_ns, bool is_past);

/* Decides whether a timer, pending or not, may get this deadline. Returns 0, -ERANGE, -EINVAL or -ENOSPC. */
int verge__wheel_judge(const verge_wheel *wheel, bool is_pending, uint64_t deadline_ns);

/* Files a pending timer, which is in no list, at its deadline's tick (a coarse wheel rounds up), but not before the
 * cursor. */
void verge__wheel_refile(verge_wheel *wheel, verge__timer_node *timer);

/* In an ordered wheel: gives the timer the next number, because it is the one that was set last (more/order.h). */
static inline void verge__wheel_set_sequence(verge_wheel *wheel, verge__timer_node *timer) {
    uint64_t sequence = ++wheel->sequence;
    if (verge__timer_is_timeout(timer)) {
        timer->tag = VERGE__TIMEOUT | sequence << 1 | (timer->tag & VERGE__PENDING);
    } else {
        ((verge__table_node *)(void *)timer)->sequence = sequence;
    }
}

/* Notes that the timer with the earliest deadline has ended. */
static inline void verge__wheel_forget_earliest(verge_wheel *wheel) {
    wheel->earliest_ns = verge__wheel_pending(wheel) == 0 ? VERGE_NEVER : 0;
}

/* Updates the earliest deadline, when the deadline of a node changes. */
static VERGE__ALWAYS_INLINE void verge__wheel_note_move(verge_wheel *wheel, uint64_t from_ns, uint64_t to_ns) {
    uint64_t earliest_ns = wheel->earliest_ns;
    if (VERGE__UNLIKELY(to_ns < earliest_ns)) {
        wheel->earliest_ns = to_ns;
    } else if (VERGE__UNLIKELY(from_ns == earliest_ns)) {
        wheel->earliest_ns = 0;
    }
}

/* Gives a timer another deadline if its node can stay where it is: if the node is linked, and comes up early enough.
 * False: the node cannot stay, and nothing has changed. The place of a timeout says when its node comes up. A node with
 * a handle has no room for a place, but never comes up after the deadline that it has. */
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

/* Files the node of a timer, which is in no list, at a tick. */
static VERGE__ALWAYS_INLINE void verge__wheel_file(verge_wheel *wheel, verge__timer_node *timer, uint64_t tick) {
    verge__calendar_file(&wheel->calendar, &timer->node, tick);
    verge__calendar_note_place(&wheel->calendar, &timer->node, tick);
}

/* Gives a new timer its deadline, if its node is in no list and the short ways apply. If the timer is a timeout, the
 * caller then stores *ret_tick as its place. False: nothing has changed. */
static VERGE__ALWAYS_INLINE bool verge__wheel_arm_anew(verge_wheel *wheel, verge__timer_node *timer,
                                                       uint64_t deadline_ns, uint64_t *ret_tick) {
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(tick - wheel->calendar.cursor >= wheel->short_reach || wheel->order != NULL ||
                        verge__node_is_linked(&timer->node))) {
        return false;
    }
    wheel->earliest_ns = deadline_ns < wheel->earliest_ns ? deadline_ns : wheel->earliest_ns;
    timer->node.deadline_ns = deadline_ns;
    verge__calendar_file(&wheel->calendar, &timer->node, tick);
    *ret_tick = tick;
    return true;
}

/* Counts a cancelled timer, which is not pending any more. True: its node may stay linked, as an idle node. False:
 * there are enough idle nodes, or the short ways do not apply, and the caller must withdraw the node. */
static VERGE__ALWAYS_INLINE bool verge__wheel_make_idle(verge_wheel *wheel, const verge__timer_node *timer) {
    wheel->cancelled++;
    if (VERGE__UNLIKELY(timer->node.deadline_ns == wheel->earliest_ns)) {
        verge__wheel_forget_earliest(wheel);
    }
    return VERGE__LIKELY(wheel->calendar.linked - verge__wheel_pending(wheel) <= wheel->idle_limit);
}

/* ---- for loops ---- */

/* Makes a wheel without timers ordered, and notes the order in its options. -ENOMEM changes nothing. */
int verge__wheel_make_ordered(verge_wheel *wheel, verge_order by);

/* Orders a wheel by deadline. -EBUSY: it has timers, another order, or nodes without a sequence number. -ENOMEM. */
int verge__wheel_order_by_deadline(verge_wheel *wheel);

/* As verge_timeout_start, for a deadline that has come. The next run hands the timeout out. */
int verge__timeout_set_past(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);

/* verge_wheel_run without a work limit. An inner run also hands out what the outer run has deferred. */
size_t verge__wheel_run_all(verge_wheel *wheel, uint64_t now_ns,
                            void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/* ---- due.c ---- */

/* Whether something is due that was not handed out. Also true if all that is left are idle nodes, or nodes of timers
 * that were moved later. */
bool verge__wheel_has_due(const verge_wheel *wheel);

/* Does all that a poll or a run does. When the outermost run is over, makes the deferred timers past. */
size_t verge__wheel_advance(verge_wheel *wheel, uint64_t now_ns, verge__handout *to);

/* Sets short_reach, keep_end_ns and idle_limit, by which calls know whether the short ways apply. They apply if the
 * wheel is plain, the cursor has caught up and is before the middle of time, and nothing is past, deferred or being
 * sorted. In an ordered wheel, also no run may be under way. Call it when one of these conditions has changed. */
void verge__wheel_set_short_reach(verge_wheel *wheel);

/* The short ways do not apply until verge__wheel_set_short_reach is called. */
static inline void verge__wheel_end_short_reach(verge_wheel *wheel) {
    wheel->short_reach = 0;
    wheel->keep_end_ns = 0;
    wheel->idle_limit = 0;
}

/* ---- next.c ---- */

/* The first tick at which a pending timer is due, and the smallest and largest deadline with this tick. tick is
 * VERGE__NO_TICK if no timer is pending. */
typedef struct verge__first {
    uint64_t tick;
    uint64_t smallest_ns;
    uint64_t largest_ns;
} verge__first;
verge__first verge__wheel_find_first(verge_wheel *wheel);

/* The earliest pending deadline; VERGE_NEVER if none is pending. */
uint64_t verge__wheel_earliest(verge_wheel *wheel);

/* ---- wheel.c ---- */

/* How to set up the wheel's calendar. The calendar of a coarse wheel is never narrow. */
verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow);

/* List number i: the lanes of all slots and, from calendar.head_count on, the lists of what is due. NULL: no more. */
verge__node **verge__wheel_list(const verge_wheel *wheel, size_t i);

/* Calls the visitor for each node and marker in the lists from first_list on. The visitor may withdraw that node. */
typedef void verge__visitor(void *context, verge_wheel *wheel, verge__timer_node *timer);
void verge__wheel_visit(verge_wheel *wheel, size_t first_list, verge__visitor *visitor, void *context);

/* ---- memory.c, options.c ---- */

/* Makes sure that there is a free node to take. -ENOMEM, -ENOSPC. */
int verge__wheel_find_node(verge_wheel *wheel);

/* Makes the calendar narrow, or wide. -EBUSY: a visit of timeouts is under way. -ENOMEM. */
int verge__wheel_rebuild(verge_wheel *wheel, bool is_narrow);

/* Releases a slab. False: none is empty, or fewer nodes than `keep` would be left. */
bool verge__wheel_release_slab(verge_wheel *wheel, size_t keep);

/* Gives back a slab without a timer, if few nodes are used. */
void verge__wheel_give_back(verge_wheel *wheel);

/* If the calendar is narrow, and this number of nodes is too large for it, makes it wide. If there is no memory or a
 * visit is under way, the calendar stays narrow. */
void verge__wheel_widen(verge_wheel *wheel, size_t nodes);

/* Returns 0, and what the options mean; or -EINVAL, and why. */
int verge__wheel_read_options(const verge_wheel_options *given, verge__explanation why, verge_wheel_options *options,
                              verge__geometry *ret_geometry);

#endif
