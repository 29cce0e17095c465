/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel.h - a set of timers and a notion of now. Nothing happens unless the caller polls.
 *
 * Words
 *   precision  p, a power of two of nanoseconds. Time is cut into half-open intervals of p.
 *   tick       a multiple of p, numbered from time 0. A timer comes out at a tick: the first one
 *              at or after its deadline (strict: the first one after it).
 *   level      a ring of slots; the slots of a higher level span more ticks.
 *   backlog    what is due but was not returned yet, because of a limit.
 *
 * Promises
 *   G1 never early    poll(now) returns a timer only if deadline <= now (strict: deadline < now).
 *   G2 bounded late   when poll(now) returns without backlog, every pending timer has
 *                     deadline > now - p (coarse: > now - r, r the resolution of its level; a
 *                     window: latest > now - p). A timer scheduled with a deadline that has already
 *                     passed by a tick is returned by the very next poll.
 *   G3 exactly once   every timer scheduled ends in exactly one of: returned by a poll, cancelled,
 *                     cleared. A limit defers, it never skips.
 *   G4 honest handles a handle is valid from schedule until its timer is returned, cancelled or
 *                     cleared, and for ever after it is -ENOENT. 0 is never a handle.
 *   G5 order          ticks come out in ascending order, within a poll and across polls; a timer
 *                     scheduled for the past comes out next, before any backlog. Inside one tick: see
 *                     verge_order.
 *   G6 next           next_wakeup() is O(levels) and never later than the next expiry;
 *                     next_deadline() is exact. With a backlog both say now.
 *   G7 memory         at most 48 bytes a live timer at a million of them; the entries left behind
 *                     by cancelled and moved timers never exceed the live ones plus a constant (4096).
 *                     After reserve(n) the next n schedules allocate nothing and cannot fail.
 *                     poll and cancel never allocate and never fail for memory.
 *   G8 bounded work   a poll with a work limit moves, inspects and returns at most that many entries.
 *   G9 any time       now may stand still, go backwards (it then counts as the last one), jump by
 *                     years, and start anywhere.
 *
 * Timers may be scheduled, cancelled and moved while a batch that poll returned is being handled.
 * The timers of that batch are gone already: their handles say -ENOENT.
 *
 * A wheel is for one thread at a time. It uses no lock, no clock, no system call and, once its
 * memory is reserved, no allocation.
 */
#ifndef VERGE_WHEEL_H
#define VERGE_WHEEL_H

#include <stdbool.h>

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_wheel verge_wheel;

/*
 * A timer's handle. It carries no address: a stale or made-up one is told from a live one, and one
 * of another wheel is too, as long as neither wheel has used up 2^31 handles of one record.
 */
typedef uint64_t verge_timer;

typedef struct verge_expiry {
    verge_timer timer;
    uint64_t deadline_ns;
    void *data;
} verge_expiry;

/* ---- options ---- */

/* The order in which the timers of one tick come out. */
typedef enum verge_order {
    VERGE_ORDER_ANY = 0,  /* unspecified; the fastest */
    VERGE_ORDER_FIFO,     /* in the order in which they were last scheduled or rescheduled */
    VERGE_ORDER_DEADLINE, /* by deadline; equal ones as in FIFO */
} verge_order;

/* What schedule does with a deadline in the past. */
typedef enum verge_past {
    VERGE_PAST_FIRES = 0,   /* accept it: the next poll returns it */
    VERGE_PAST_SINCE_START, /* -EINVAL if it is 0 or before the wheel's start; else as above */
    VERGE_PAST_REJECTED,    /* -EINVAL if it is before the interval that holds now */
} verge_past;

enum {
    VERGE_LEVEL_COUNT_MAX = 16,
    VERGE_LEVEL_BITS_MAX = 14,
};

/* A level has 2^bits slots (and as many again for the block after) of 2^shift nanoseconds each. */
typedef struct verge_wheel_level {
    uint8_t shift;
    uint8_t bits;
} verge_wheel_level;

/* When memory goes back to the allocator: seen from `minimum` timers up, when fewer than one in
 * `ratio` of the records is used, down to `multiplier` times what is used. */
typedef struct verge_wheel_compaction {
    uint32_t minimum;
    uint32_t ratio;
    uint32_t multiplier;
} verge_wheel_compaction;

typedef struct verge_wheel_options {
    size_t struct_size;    /* set by the functions below */
    uint64_t start_ns;     /* the wheel's first now */
    uint64_t precision_ns; /* a power of two; used when level_count is 0 */
    size_t level_count;    /* 0: a level of 512 slots, one of 256, then of 64, from precision_ns to the end of time */
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    bool coarse;       /* never cascade: a timer comes out with the resolution of its level */
    bool strict;       /* only if deadline < now */
    verge_order order; /* inside one tick */
    verge_past past;
    size_t work_limit; /* entries a poll may move, inspect and return; 0: no limit */
    size_t timer_cap;  /* pending timers, then -ENOSPC; 0: as many as memory and handles allow */
    verge_wheel_compaction compaction;
    const verge_allocator *allocator; /* NULL: verge_allocator_default(); must outlive the wheel */
    uint32_t worker_id;               /* the caller's, returned by verge_wheel_worker_id */
} verge_wheel_options;

typedef enum verge_wheel_preset {
    VERGE_PRESET_DEFAULT = 0, /* 2^20 ns, levels of 512, 256 and then 64 slots, all of time, exact */
    VERGE_PRESET_THREE_LEVEL, /* 2^20, 2^30, 2^36 ns x 1024, coarse: 19.5 hours */
    VERGE_PRESET_TWO_LEVEL,   /* 2^20, 2^30 ns x 1024: 18.3 minutes */
    VERGE_PRESET_ALARM,       /* 1 ns, 2^61 intervals, strict, FIFO, past rejected: 73 years */
    VERGE_PRESET_RUNTIME,     /* 2^20 ns, 7 levels of 64: 146 years */
} verge_wheel_preset;

/* Fills options with a preset; change what you like and pass it to verge_wheel_create. */
VERGE_API int verge_wheel_options_preset_sized(verge_wheel_options *options, size_t struct_size,
                                               verge_wheel_preset preset);

static inline int verge_wheel_options_preset(verge_wheel_options *options, verge_wheel_preset preset) {
    return verge_wheel_options_preset_sized(options, sizeof(*options), preset);
}

static inline int verge_wheel_options_init(verge_wheel_options *options) {
    return verge_wheel_options_preset(options, VERGE_PRESET_DEFAULT);
}

/* Sets levels that follow each other: the lowest of precision_ns (a power of two), level k with
 * 2^bits[k] slots. */
VERGE_API int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                                         size_t level_count);

/* The same from a duration: tick_ns is rounded up to a power of two, slot_count must be one; each
 * level's tick is the coverage of the level below. */
VERGE_API int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                                size_t level_count);

/* ---- life ---- */

/*
 * NULL options: the defaults. -EINVAL: options of an unknown size; a precision that is no power of
 * two; levels whose shifts do not rise, leave gaps (a slot wider than the level below covers), add
 * no range, or reach beyond 2^64; a shift beyond 63; bits of 0 or beyond VERGE_LEVEL_BITS_MAX; a
 * compaction ratio or multiplier of 0, or a multiplier that is not below the ratio; an unknown
 * order or past; a start that leaves no time.
 */
VERGE_API int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel);

/* NULL is allowed. Pending timers are gone without a word. */
VERGE_API void verge_wheel_destroy(verge_wheel *wheel);

/*
 * Makes room for timer_count more timers than are pending now: until they are used up, no schedule
 * or reschedule allocates or fails for memory, whatever is cancelled in between. The room is kept
 * until the next call; reserve(0) gives it up. -ENOSPC beyond the cap.
 */
VERGE_API int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count);

/* Ends all pending timers. Their handles say -ENOENT, timeouts stay attached; now, memory and reservations stay. */
VERGE_API void verge_wheel_clear(verge_wheel *wheel);

/* Drops garbage (but for what cannot be told from a pending timer's own entry) and gives back what memory
 * can be given back; keeps what is reserved. Takes time in proportion to all timers. Handles stay
 * valid. */
VERGE_API void verge_wheel_compact(verge_wheel *wheel);

/* ---- timers ---- */

/*
 * Schedules a timer. A deadline in the past is for verge_past to judge; 0 is the past like any
 * other. -ERANGE beyond verge_wheel_largest_deadline, -ENOSPC at the cap, -ENOMEM. ret_timer may be NULL, for one that
 * nobody will move or cancel; here and below.
 */
VERGE_API int verge_wheel_schedule(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer);

/*
 * Schedules a timer for any time from earliest_ns to latest_ns: of these, the roundest (the most trailing
 * zero bits) becomes its deadline, so that timers coalesce. A window that reaches beyond the largest
 * deadline ends there. -EINVAL if earliest > latest.
 */
VERGE_API int verge_wheel_schedule_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                                          verge_timer *ret_timer);

/*
 * Schedules for target_ns or, when that is too far, for the furthest deadline the wheel can hold; of a
 * coarse wheel, when it would come out late, for the last time before at which it does not. Who gets
 * it back before the target schedules it again (verge_long_timer does), and so comes as close to it
 * as the lowest level can. ret_wheel_deadline_ns says which it is, and may be NULL.
 */
VERGE_API int verge_wheel_schedule_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                            uint64_t *ret_wheel_deadline_ns);

/* Moves a pending timer, earlier or later. The handle stays. Errors as of schedule and of cancel. */
VERGE_API int verge_wheel_reschedule(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);

/*
 * Moves the timer if it is pending, and schedules a new one if it is not: *timer is 0 or any handle, and
 * that of a pending timer then. It has this data, moved or not. Errors as of schedule.
 */
VERGE_API int verge_wheel_rearm(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data);

/* Ends a pending timer. -ENOENT: it is gone already; -EBADF: it never was, as far as that is known: where memory was given
 * back, a number that never was a handle may be taken for one that is gone. ret_data may be NULL. */
VERGE_API int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data);

/* Deadline and data of a pending timer; errors as of cancel. */
VERGE_API int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry);

/* ---- timeouts: timers that live in the objects they are for ---- */

/*
 * For an object that has a timer of its own all its life, as a connection, a request or a lease has: started, pushed back
 * and stopped again and again. The timer is a part of the object, and to push it back or stop it touches nothing else that is
 * not in the cache anyway; a handle costs a second cache line.
 *
 *     struct connection { verge_timeout idle; ... };
 *
 *     verge_timeout_attach(wheel, &connection->idle, connection);      when the object is made
 *     verge_timeout_set(wheel, &connection->idle, now_ns + 60 s);      whenever something was received
 *     n = verge_wheel_poll(...);                                       .data is the connection, .timer is 0
 *     verge_timeout_detach(wheel, &connection->idle);                  before its memory is freed
 *
 * What is promised of timers holds for timeouts that are set. Handles are safe in any hands; here the caller keeps
 * the rules: from attach to detach the object stays where it is, is not copied, and is used with that wheel alone. After
 * verge_wheel_destroy nothing has to be detached.
 */

/* What the wheel knows of a timer; not for the caller to read or write. */
typedef struct verge_timer_state {
    void *data;
    uint64_t deadline_ns; /* free: perhaps the index of a record that is some places down the list */
    union {
        uint64_t entry_tick; /* kept while free: the entry can be adopted */
        uint64_t sequence;   /* ordered wheels */
    } u;
    uint32_t generation;
    uint32_t link; /* free: the next free record; in use: the last scrub pass that saw its entry,
                      or, in ordered wheels, the entry's mark */
} verge_timer_state;

typedef struct verge_timeout {
    verge_timer_state record;
    void *entry;     /* where in the wheel's lists it is */
    void *slot;      /* the list of the slot it is in; NULL: in another list, or not known */
    uint32_t number; /* by which the wheel finds it; 0: not attached */
} verge_timeout;

/*
 * Makes room for timeout_count more timeouts than are attached now: until they are used up, no attach allocates or fails for
 * memory, nor does any set, unless more timers with handles are pending than there were, or verge_wheel_reserve made room
 * for. The room is kept until the next call; 0 gives it up. -ENOMEM, -ENOSPC.
 */
VERGE_API int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count);

/* Makes a timeout known to the wheel; it is not set. What was in it does not matter: it must not be attached already. -ENOMEM,
 * -ENOSPC. */
VERGE_API int verge_timeout_attach(verge_wheel *wheel, verge_timeout *timeout, void *data);

/* Clears it, and takes it from the wheel. -EINVAL: it is zeroed, or was detached. */
VERGE_API int verge_timeout_detach(verge_wheel *wheel, verge_timeout *timeout);

/* Starts it, or moves it if it is set. Errors as of schedule; -EINVAL: it is zeroed, or was detached. */
VERGE_API int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);

/* Stops it. -ENOENT: it is not set: it was returned by a poll, cleared, or never set. */
VERGE_API int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout);

/* Its deadline; VERGE_NEVER: it is not set. */
VERGE_API uint64_t verge_timeout_deadline(const verge_timeout *timeout);

/* ---- time ---- */

/*
 * Moves now to now_ns and returns up to `limit` timers that are due, and their number. What is due
 * and not returned stays due (verge_wheel_has_backlog). With limit 0 (or out NULL) time moves and nothing
 * is returned. A NULL wheel returns 0.
 */
VERGE_API size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll, but calls a function for each timer that is due, one at a time; returns how many.
 *
 * The function may do with the wheel what it likes but destroy it. A timer that it cancels, or moves away, does not come
 * out, due or not. A timer that it sets comes out in a later run even if its time has come, so that a run ends, unless the
 * function moves time. If it polls or runs itself, such a timer may not come out there either, but only when the outermost
 * run is over; until then there is a backlog.
 * Without a function time moves, and nothing comes out. A NULL wheel returns 0.
 */
VERGE_API size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns,
                                 void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/*
 * As poll, and also returns the timers of the tick under way whose deadline <= now (strict wheels,
 * too): no lateness at all, for a look at each timer of that tick per call. With a work limit, a tick
 * that holds more entries than the limit has left is left to its end; so are the upper levels of a
 * coarse wheel. What `limit` held back goes back to its tick.
 */
VERGE_API size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll_exact, but stops at the earliest pending deadline if that is <= now_ns: now becomes that
 * deadline and its timers are returned. Strict or coarse: as poll, but stops at the first tick at which
 * timers come out. Where to stop is looked for as by next_deadline: the work limit does not count that.
 */
VERGE_API size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* True if timers may be due that the last poll did not return. */
VERGE_API bool verge_wheel_has_backlog(const verge_wheel *wheel);

/* A time before which no poll returns anything more (poll_exact may, in the tick before), for sleeping:
 * VERGE_NEVER when nothing is pending, now with a backlog. May be early when what it saw was cancelled
 * or moved. */
VERGE_API uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel);

/*
 * The earliest pending deadline; VERGE_NEVER when there is none, now with a backlog. Cached: a call
 * looks for it anew only after that very timer has gone or moved, in one slot.
 */
VERGE_API uint64_t verge_wheel_next_deadline(verge_wheel *wheel);

/* The time of the tick at which a timer with this deadline comes out (in an exact wheel, or in the lowest
 * level of a coarse one); VERGE_NEVER if there is no such tick. */
VERGE_API uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns);

VERGE_API uint64_t verge_wheel_now(const verge_wheel *wheel);
VERGE_API uint64_t verge_wheel_start(const verge_wheel *wheel);

/* Moves start and now, also backwards. -EBUSY while timers are pending. */
VERGE_API int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns);

/* ---- queries ---- */

VERGE_API size_t verge_wheel_count(const verge_wheel *wheel); /* pending timers */
VERGE_API uint64_t verge_wheel_precision(const verge_wheel *wheel);
VERGE_API uint32_t verge_wheel_worker_id(const verge_wheel *wheel);
VERGE_API size_t verge_wheel_level_count(const verge_wheel *wheel);

/* How far ahead of now the levels up to this one reach, in ns (VERGE_NEVER: to the end of time);
 * 0 if there is no such level. */
VERGE_API uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level);

/* The largest deadline that can be scheduled now. It grows with now. */
VERGE_API uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel);

/* The number of the interval that holds a time, and the time at which an interval starts
 * (VERGE_NEVER if it starts beyond the end of time). */
VERGE_API uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns);
VERGE_API uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval);

/* The timers that come out first, at one tick: the interval number of the smallest deadline, the smallest
 * and the largest deadline. Any ret_ may be NULL. -ENOENT when nothing is pending. Looks at every timer of the
 * slot that holds them. */
VERGE_API int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval, uint64_t *ret_smallest_ns,
                                         uint64_t *ret_largest_ns);

/* Calls visit for each pending timer (.timer is 0 for a timeout), in no order, until it returns non-zero; returns that, or 0.
 * visit may do anything with the wheel but destroy it; timers it schedules may or may not be visited. */
VERGE_API int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer),
                                  void *context);

/* ---- statistics ---- */

typedef struct verge_wheel_stats {
    size_t struct_size; /* set by the caller */
    uint64_t timers;    /* pending */
    uint64_t scheduled; /* since creation, as all below up to bytes */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t cleared;
    uint64_t
        entries_filed; /* by schedule and reschedule; fewer than these: entries were adopted, or moved (timeouts) */
    uint64_t entries_moved;   /* from a level to a lower one */
    uint64_t entries_refiled; /* came up before their timer's later deadline */
    uint64_t entries_dropped; /* belonged to no timer any more */
    uint64_t entries;         /* in the slots now */
    uint64_t garbage;         /* of them, those that belong to no timer */
    uint64_t records;         /* timers with handles there is room for without allocating */
    uint64_t records_retired; /* for ever, their handles being used up */
    uint64_t bytes;           /* held from the allocator */
    uint64_t last_poll_work;  /* entries moved, inspected and returned by the last poll */
} verge_wheel_stats;

/* O(1). -EINVAL if struct_size is unknown. */
VERGE_API int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats);

typedef struct verge_wheel_level_stats {
    size_t struct_size;     /* set by the caller */
    uint64_t resolution_ns; /* of one slot */
    uint64_t slots;
    uint64_t slots_used;
    uint64_t capacity; /* entries its chunks have room for */
    uint64_t active;   /* entries that belong to a timer */
    uint64_t garbage;  /* entries that do not */
    uint64_t bytes;    /* of its slots and chunks */
} verge_wheel_level_stats;

/* Looks at each entry of the level. -EINVAL if there is no such level or struct_size is unknown. */
VERGE_API int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats);

/* Recomputes everything the slow way. NULL if all is well, else the invariant that is broken. */
VERGE_API const char *verge_wheel_check(const verge_wheel *wheel);

/* ---- timers beyond the reach of a wheel ---- */

/*
 * A timer for a target that may lie beyond verge_wheel_largest_deadline: best fit, again and again.
 *
 *     verge_long_timer_start(&lt, wheel, target_ns, data);
 *     n = verge_wheel_poll(...);
 *     for each expiry with data == mine:
 *         if (verge_long_timer_fired(&lt, wheel) == 0) continue;    -- not there yet, scheduled again
 */
typedef struct verge_long_timer {
    verge_timer timer; /* the wheel timer that stands for it now; 0 when none does */
    uint64_t target_ns;
    uint64_t wheel_deadline_ns;
    void *data;
} verge_long_timer;

VERGE_API int verge_long_timer_start(verge_long_timer *long_timer, verge_wheel *wheel, uint64_t target_ns, void *data);

/* To be called when its wheel timer was returned by poll: 1 if the target is reached, 0 if it was
 * scheduled again, a negative error if that failed (call again later). */
VERGE_API int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel);

VERGE_API int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
