/* SPDX-License-Identifier: MIT */
/*
 * wheel/wheel_internal.h - what a wheel is made of: a calendar of entries (calendar/calendar.h), a table of nodes for
 * timers with handles (nodes.h), and what is due and was not handed out yet.
 *
 * docs/ARCHITECTURE.md follows a timer from schedule to expiry.
 *
 * What is due
 *   past        own lists PAST and DEFERRED: timers set for a time that had come already. They come out first
 *   the tick    calendar.due_slot: its entries are handed out in place
 *   heap        of an ordered wheel: due entries go there before they are handed out (heap.c)
 *
 * Invariants (verge_wheel_check, but for W7); the others, from C1 to WH2, are stated where their structures are
 *   W1  every pending timer has an entry: in a slot that starts no later than the timer must come out, or in one of the
 *       lists of what is due
 *   W2  the entries are those of pending timers, and idle ones
 *   W3  idle entries are bounded
 *   W4  earliest_ns is the smallest deadline, or 0: not known
 *   W5  while something is due that was not handed out, the calendar is not quiet
 *   W6  there is room for an entry of each timer with a handle, of each node on the stack, of each timeout that is
 *       attached or set, and for as many idle ones as there may be
 *   W7  bytes is what the wheel has allocated, itself included
 */
#ifndef VERGE_SRC_WHEEL_WHEEL_INTERNAL_H
#define VERGE_SRC_WHEEL_WHEEL_INTERNAL_H

#include "base/assert.h"
#include "base/explain.h"
#include "base/one_thread.h"
#include "calendar/calendar.h"
#include "wheel/nodes.h"

enum {
    /* The owner's lists of the calendar. */
    VERGE__LIST_PAST = 0,
    VERGE__LIST_DEFERRED = 1,
    VERGE__LIST_HEAP = 2,

    VERGE__IDLE_MAX = 3072,
    VERGE__NARROW_MAX = 128,   /* entries of a narrow calendar */
    VERGE__TICKS_UNTIDY = 256, /* from the first timer that ends to a look at memory */
};

#define VERGE__SEQUENCE_NOT_PAST (UINT64_C(1) << 62) /* what is set for the past comes out first */

/*
 * How far the short ways reach, and the tick at which they and quiet polls end. The short ways know a deadline beyond
 * the end of time by its tick, which wraps to 0. In a wheel with ticks of 1 it does not wrap; but so far from the end
 * of time, it is out of their reach. With ticks of 4 or more, time ends before.
 */
#define VERGE__SHORT_END (UINT64_C(1) << 62)

#if defined(VERGE_STEPS) && VERGE_STEPS
extern size_t verge__idle_max; /* a test has less, so that few timers are enough to reach it */
extern size_t verge__narrow_max;
#else
static const size_t verge__idle_max = VERGE__IDLE_MAX;
static const size_t verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* Of an ordered wheel: what is due, in order (heap.c). */
typedef struct verge__heap {
    verge__chunk **chunks; /* by depth */
    size_t room;
} verge__heap;

/* What options mean. */
typedef struct verge__geometry {
    uint8_t shift; /* ticks of 2^shift ns */
    size_t level_count;
    verge__level_shape levels[VERGE_LEVEL_COUNT_MAX];
    /* The last tick of time; in a coarse wheel, that every level can name. There is always a tick number left after it,
     * so that "the tick after the last" is not taken for VERGE__NO_TICK. */
    uint64_t last_tick;
    uint64_t reach;    /* ticks from now on for which timers are accepted */
    uint64_t rounding; /* ticks by which a coarse wheel may round up; else 0 */
} verge__geometry;

struct verge_wheel {
    /* what every call reads or writes */
    _Alignas(64) verge__nodes nodes;
    uint64_t cancelled; /* those whose entry did not become idle: the calendar counts the others */
    uint64_t expired;
    uint64_t idle_limit;  /* with so many idle entries, another is withdrawn at once; 0: the short ways do not apply */
    uint64_t earliest_ns; /* W4; VERGE_NEVER: nothing is pending */
    uint64_t now_ns;
    verge__calendar calendar;

    bool is_plain;    /* unordered, exact, past fires, no cap: the short ways apply */
    bool is_visiting; /* timeouts are: nothing but the visitor's own entry moves, and the heap is not sifted */
    size_t runs;      /* under way, one in the other */
    uint64_t cleared;
    uint64_t start_ns;
    uint64_t sequence;       /* of the last schedule or reschedule, in ordered wheels */
    uint64_t last_poll_work; /* entries that it moved, inspected or returned */
    uint64_t last_work_ns;   /* when that was; polls of a later time have had no work */
    uint64_t tidy_tick; /* the first poll from here on looks at memory, quiet or not; VERGE__SHORT_END: none has to */
    size_t attached;    /* timeouts; there is room for an entry of each (W6) */
    size_t loose;       /* timeouts that are set and not attached */
    size_t reserved_nodes;    /* timers with handles there must be room for */
    size_t reserved_timeouts; /* timeouts there must be room for */
    verge__geometry geometry;
    verge__heap heap;
    verge_wheel_options options;
    verge_allocator allocator; /* the user's; counts `bytes` */
    verge_allocator users_allocator;
    size_t bytes;                        /* W7 */
    verge_timer stack[VERGE__STACK_MAX]; /* of the table */
    VERGE__ONE_THREAD
};

_Static_assert(sizeof(void *) != 8 || offsetof(verge_wheel, idle_limit) / 64 ==
                                          (offsetof(verge_wheel, calendar) + offsetof(verge__calendar, shift)) / 64,
               "what every call reads is in one cache line");

/* What one poll or run hands out, and to whom. */
typedef struct verge__handout {
    verge_expiry *out; /* NULL: on_expiry is called instead */
    size_t limit;
    void (*on_expiry)(void *context, const verge_expiry *expiry);
    void *context;
    size_t count;
    size_t budget; /* entries that may still be moved, inspected or returned */
} verge__handout;

/* ---- time and ticks ---- */

/* The first tick that has not come; after the last one of time it stands still. */
static inline uint64_t verge__wheel_target(const verge_wheel *wheel) {
    uint64_t tick = wheel->now_ns >> wheel->calendar.shift;
    return tick < VERGE__NO_TICK - 1 ? tick + 1 : VERGE__NO_TICK - 1;
}

static inline uint64_t verge__wheel_tick(const verge_wheel *wheel, uint64_t deadline_ns) {
    return verge__calendar_tick(&wheel->calendar, deadline_ns);
}

/* The last deadline before the end of time. */
static inline uint64_t verge__wheel_last_deadline(const verge_wheel *wheel) {
    return (wheel->geometry.last_tick << wheel->calendar.shift) - (wheel->options.strict ? 1 : 0);
}

/* ---- what there is ---- */

static inline bool verge__wheel_is_ordered(const verge_wheel *wheel) {
    return wheel->options.order != VERGE_ORDER_ANY;
}

/* Each timer has one entry, and idle ones are counted (W2). */
static inline uint64_t verge__wheel_pending(const verge_wheel *wheel) {
    return wheel->calendar.entry_count - verge__calendar_idle(&wheel->calendar);
}

static inline verge__timer_node *verge__wheel_node(const verge_wheel *wheel, verge__entry entry) {
    return (verge__timer_node *)(void *)verge__calendar_node(&wheel->calendar, entry);
}

/* Ordered wheels: the number of the call that scheduled the timer last. It lies where others have what they need to
 * keep entries: the lower half in `filed`, the upper half in the generation of a timeout, or in the table. */
static inline uint64_t verge__wheel_sequence(const verge_wheel *wheel, verge__entry entry) {
    const verge__node *node = verge__calendar_node(&wheel->calendar, entry);
    uint32_t high = verge__entry_is_in_table(entry) ? *verge__nodes_sequence(&wheel->nodes, verge__entry_index(entry))
                                                    : node->generation >> 1;
    return (uint64_t)high << 32 | node->filed;
}

/* What callers see of a timer. */
static inline verge_expiry verge__wheel_expiry(const verge_wheel *wheel, verge__entry entry) {
    const verge__timer_node *node = verge__wheel_node(wheel, entry);
    bool has_handle = verge__entry_is_in_table(entry);
    return (verge_expiry){.timer = has_handle ? verge__handle(verge__entry_index(entry), node->node.generation) : 0,
                          .deadline_ns = node->node.deadline_ns,
                          .data = node->data};
}

/* ---- wheel.c ---- */

verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow);

/* ---- arm.c ---- */

/* Files the entry of a pending node, which was taken out, at its deadline's tick, but not before the cursor. */
void verge__wheel_refile(verge_wheel *wheel, verge__entry entry, verge__node *node);

/* Takes the entry of a node out, wherever it is. The second: for good. */
void verge__wheel_withdraw(verge_wheel *wheel, verge__node *node);
void verge__wheel_drop(verge_wheel *wheel, verge__node *node);

/* The timer with the earliest deadline may have gone. */
static inline void verge__wheel_forget_earliest(verge_wheel *wheel) {
    wheel->earliest_ns = verge__wheel_pending(wheel) == 0 ? VERGE_NEVER : 0;
}

static VERGE__ALWAYS_INLINE void verge__wheel_note_deadline(verge_wheel *wheel, uint64_t deadline_ns) {
    if (VERGE__UNLIKELY(deadline_ns < wheel->earliest_ns)) {
        wheel->earliest_ns = deadline_ns;
    }
}

/* Of a node that is a timeout: attached, not just set. Bit 0 of its generation says so, as it does of a node in the
 * table that it is a timer: either has memory that stays, so that an idle entry may name it. */
static inline bool verge__timeout_is_attached(const verge__node *node) {
    return (node->generation & 1) != 0;
}

/* Whether the entry of a timer that ends stays for the next use of its node: if it is still to come, and there are
 * few. */
static VERGE__ALWAYS_INLINE bool verge__wheel_may_keep_idle(const verge_wheel *wheel, const verge__node *node) {
    return (node->place & node->generation & VERGE__NEAR) != 0 &&
           verge__calendar_idle(&wheel->calendar) < wheel->idle_limit;
}

/* Timers may have ended, so there may be memory to give back. Polls that find nothing to do do not look, but one of
 * them does, in a while. */
static inline void verge__wheel_note_untidy(verge_wheel *wheel) {
    uint64_t tick = wheel->calendar.cursor + VERGE__TICKS_UNTIDY;
    if (wheel->tidy_tick == VERGE__SHORT_END && tick < VERGE__SHORT_END) {
        wheel->tidy_tick = tick;
        wheel->calendar.quiet_until = tick < wheel->calendar.quiet_until ? tick : wheel->calendar.quiet_until;
    }
}

/* ---- due.c ---- */

/* Whether something is due, or may be, that was not handed out. */
bool verge__wheel_has_due(const verge_wheel *wheel);

/* The short ways apply if the wheel is plain and the cursor has caught up; quiet polls, up to the next look at memory.
 * To be called when one of these has changed. */
static inline void verge__wheel_set_short_reach(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    bool is_short =
        wheel->is_plain && calendar->cursor == verge__wheel_target(wheel) && calendar->cursor < VERGE__SHORT_END;
    uint64_t reach = wheel->geometry.reach < VERGE__SHORT_END ? wheel->geometry.reach : VERGE__SHORT_END;
    calendar->short_reach = is_short ? reach : 0;
    /* An idle entry in the tick that is being handed out would look like a backlog. */
    wheel->idle_limit = is_short && !verge__calendar_has_due(calendar) ? verge__idle_max : 0;
    calendar->quiet_until = wheel->tidy_tick < calendar->quiet_until ? wheel->tidy_tick : calendar->quiet_until;
}

/* ---- heap.c ---- */

/* Makes room for so many entries, in an ordered wheel. -ENOMEM changes nothing. */
int verge__heap_secure(verge_wheel *wheel, size_t entries);

/* Gives back room if there is twice as much, and memory for a smaller array. */
void verge__heap_shrink(verge_wheel *wheel, size_t entries);

/* Finds the order and `chunks` anew: entries or chunks were moved. */
void verge__heap_order(verge_wheel *wheel);

/* Adds a node without an entry; takes the entry that comes out first, of a heap that is not empty. */
void verge__heap_push(verge_wheel *wheel, verge__entry entry, verge__node *node);
verge__entry verge__heap_pop(verge_wheel *wheel);

/* Takes the entry of a node out. While timeouts are visited, the others stay where they are, out of order. */
void verge__heap_withdraw(verge_wheel *wheel, verge__node *node);

/* Whether the first entry was set for the past. */
bool verge__heap_has_past(verge_wheel *wheel);

/* NULL, or the invariant that is broken. */
const char *verge__heap_check(const verge_wheel *wheel);

/* ---- next.c ---- */

/* The earliest pending deadline; VERGE_NEVER if none is pending. */
uint64_t verge__wheel_earliest(verge_wheel *wheel);

/* ---- visit.c ---- */

/* Calls a function for each entry, from the newest of each list on; idle ones too. The function may withdraw the entry
 * it is called for. Stops when it returns false. */
typedef bool verge__visitor(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node);
bool verge__wheel_visit(verge_wheel *wheel, verge__visitor *visitor, void *context);

/* ---- memory.c ---- */

/* The entries of W6; makes room for them; makes sure that there is a spare node. -ENOMEM changes nothing. */
size_t verge__wheel_entries_needed(const verge_wheel *wheel);
int verge__wheel_secure(verge_wheel *wheel);
int verge__wheel_find_spare(verge_wheel *wheel);

/* Gives back memory: a bounded step, at the end of a poll. True: there may be more. Budget: of entries dropped. */
bool verge__wheel_give_back(verge_wheel *wheel, size_t *budget);

/* ---- options.c ---- */

/* 0, and what the options mean; -EINVAL, and why. */
int verge__wheel_read_options(const verge_wheel_options *options, verge__explanation why,
                              verge__geometry *ret_geometry);

#endif
