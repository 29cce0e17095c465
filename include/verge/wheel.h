/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel.h - a timing wheel: a set of timers and the current time, as the caller told it last. Nothing happens
 * unless the caller polls.
 *
 * Words
 *   precision  p, a power of two of nanoseconds. Time is cut into half-open intervals of p.
 *   tick       a multiple of p, numbered from time 0. A timer comes out at a tick: the first one at or after its
 *              deadline (strict: the first one after it). From then on it is due.
 *   level      a ring of slots. The slots of a higher level span more ticks; that span is the level's resolution.
 *   backlog    timers that are due and were not returned yet, because of a limit.
 *   timeout    a timer inside the caller's own object. It has no handle.
 *
 * Promises
 *   G1 never early    poll(now) returns a timer only if deadline <= now (strict: deadline < now).
 *   G2 bounded late   when poll(now) returns without backlog, every pending timer has deadline > now - p. For a timer
 *                     with a window: latest > now - p. In a coarse wheel (option `coarse`): deadline > now - r, where r
 *                     is the resolution of the timer's level. The distance from now to the deadline, when the timer is
 *                     set, decides the level, even while there is a backlog, and inside a run.
 *                     A timer set for a tick that has already come is returned by the next poll. If it is set inside a
 *                     run, it is returned by the first poll or run after that run.
 *   G3 exactly once   every timer ends in exactly one of: returned by a poll, cancelled, cleared. A limit defers
 *                     timers, and never skips one.
 *   G4 safe handles   a handle is valid from schedule until its timer is returned, cancelled or cleared. After that,
 *                     every call with it returns -ENOENT, for ever. 0 is never a handle.
 *   G5 order          ticks come out in ascending order, within a poll and across polls. A timer scheduled for the
 *                     past comes out next, before any backlog. Inside one tick: see verge_order.
 *   G6 next           next_wakeup() is O(levels) and never later than the next expiry. next_deadline() is exact. With
 *                     a backlog, both return now.
 *   G7 memory         a million live timers take at most 48 bytes each (in an ordered wheel 49), and timeouts nothing
 *                     but their own memory. At most 3,072 cancelled timers keep their place in a slot.
 *                     After reserve(n), the next n schedules allocate nothing and cannot fail for memory. cancel, poll
 *                     and the calls of timeouts never fail for memory. A poll allocates once, when it first finds more
 *                     than 128 timers that no reserve was for.
 *   G8 bounded work   a poll with a work limit moves, inspects, sorts and returns at most that many nodes. In an
 *                     ordered wheel, each of n timers that come out at one tick is sorted log2(n) times.
 *   G9 any time       now may stand still, jump by years, and start anywhere. If it goes backwards, the
 *                     wheel keeps the latest time it has seen.
 *
 * While you handle the timers that a poll returned, you may schedule, cancel and move timers. The returned timers have
 * already ended: their handles give -ENOENT.
 *
 * A wheel uses no lock, no clock, no system call and, once its memory is reserved, no allocation. It is for one thread
 * at a time: threads that share a wheel need a lock around every call. A library built with VERGE_ASSERTS aborts, with
 * a message, when it finds two threads inside the calls of one wheel.
 *
 * After fork, parent and child each have a wheel with the same timers. The child may go on with its copy, or destroy
 * it.
 */
#ifndef VERGE_WHEEL_H
#define VERGE_WHEEL_H

#include <stdbool.h>

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== what most programs need ==== */

typedef struct verge_wheel verge_wheel;
typedef struct verge_wheel_options verge_wheel_options; /* below */
typedef uint64_t verge_timer;                           /* a handle; see "Handles" below */

typedef struct verge_expiry {
    verge_timer timer; /* the handle of the timer; 0: it is a timeout */
    uint64_t deadline_ns;
    void *data;
} verge_expiry;

/* NULL options: the defaults. Others: verge_wheel_options_init(&options), then change what you like. */
VERGE_API VERGE_MUST_USE int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel);
VERGE_API void verge_wheel_destroy(verge_wheel *wheel); /* pending timers end without being returned; NULL is allowed */

/* Start, move and end a timer. ret_timer and ret_data may be NULL. Errors: below, "timers with handles". Check the
 * result. After verge_wheel_reserve, these calls cannot fail for memory; the other errors remain. */
VERGE_API int verge_wheel_schedule(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer);
VERGE_API int verge_wheel_reschedule(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);
VERGE_API int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data);

/* Move the wheel's time to now_ns. poll writes up to `limit` due timers to `out`; run calls a function for each due
 * timer. Both return how many. */
VERGE_API size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);
VERGE_API size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns,
                                 void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/* How long to sleep: no poll before this time returns anything. VERGE_NEVER: nothing is pending. */
VERGE_API uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel);

/* A timer that is part of an object, such as the idle timeout of a connection. Do not read or write its 32 bytes.
 * Zeroed memory is a timeout that is not set. One rule: clear it before its memory is freed, moved or used for
 * something else. Polls return its address as `data`. */
typedef struct verge_timeout {
    uint64_t opaque[4];
} verge_timeout;

/* Start or move a timeout; end it; end it for good (below). A set needs no memory. */
VERGE_API int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);
VERGE_API int verge_timeout_stop(verge_wheel *wheel, verge_timeout *timeout);
VERGE_API int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout);

/* ==== everything else ==== */

/* ---- options ---- */

/* The order in which the timers of one tick come out. */
typedef enum verge_order {
    VERGE_ORDER_ANY = 0,  /* unspecified; the fastest */
    VERGE_ORDER_FIFO,     /* in the order in which they were last scheduled or rescheduled */
    VERGE_ORDER_DEADLINE, /* by deadline; equal ones as in FIFO */
} verge_order;

/* What schedule does with a deadline in the past. */
typedef enum verge_past {
    VERGE_PAST_FIRES = 0,   /* accept it: the next poll returns the timer */
    VERGE_PAST_SINCE_START, /* -EINVAL if it is 0 or before the wheel's start; otherwise as above */
    VERGE_PAST_REJECTED,    /* -EINVAL if it is before the interval that contains now */
} verge_past;

enum {
    VERGE_LEVEL_COUNT_MAX = 16,
    VERGE_LEVEL_BITS_MAX = 14,
};

/* A level covers 2^bits slots of 2^shift nanoseconds each. (In memory it has twice as many slots; the functions below
 * count 2^bits, unless they say otherwise.) */
typedef struct verge_wheel_level {
    uint8_t shift;
    uint8_t bits;
} verge_wheel_level;

/*
 * When memory goes back to the allocator. When a timer ends, by cancel or in a poll, and less than one in `ratio` of
 * the nodes is used, one slab without a timer goes back, and so on with each timer that ends, until there are
 * `multiplier` times as many nodes as timers, or `minimum`. verge_wheel_compact gives back at once all that can be
 * given back.
 *
 * Timers with handles are in slabs of 512 (20 KiB; in ordered wheels 24 KiB), because handles stay valid and timers do
 * not move in memory. A slab goes back when none of its timers is left, so each long-lived timer keeps at most one
 * slab. The slots of a default wheel take less than 100 KB. While it has no more than 128 timers, it has fewer slots:
 * such a wheel takes less than 4 KiB without timers, and less than 5 KiB with 10 of them.
 */
typedef struct verge_wheel_compaction {
    uint32_t minimum;
    uint32_t ratio;
    uint32_t multiplier;
} verge_wheel_compaction;

typedef struct verge_wheel_options {
    size_t struct_size;    /* set by the functions below */
    uint64_t start_ns;     /* the wheel's first now. At least one tick must be left after it */
    uint64_t precision_ns; /* a power of two. With levels given: 0, or 2^shift of the lowest one */
    size_t level_count;    /* 0: a level of 512 slots, one of 256, then of 64, from precision_ns to the end of time */
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    bool coarse;       /* timers never move to lower levels: a timer is late by up to the slot width of its level */
    bool strict;       /* a timer comes out only if deadline < now, not if deadline == now */
    verge_order order; /* of timers that come out at one tick */
    verge_past past;
    size_t work_limit; /* how many nodes a poll may move, inspect, sort and return; 0: no limit */
    size_t timer_cap;  /* how many timers may be pending, then -ENOSPC; 0: as many as memory allows */
    verge_wheel_compaction compaction;
    const verge_allocator *allocator; /* NULL: verge_allocator_default(). It must outlive the wheel */
    uint32_t worker_id;               /* for the caller's own use; see verge_wheel_worker_id */
} verge_wheel_options;

typedef enum verge_wheel_preset {
    VERGE_PRESET_DEFAULT = 0, /* 2^20 ns, levels of 512, 256 and then 64 slots, all of time, exact */
    VERGE_PRESET_THREE_LEVEL, /* 2^20, 2^30, 2^36 ns x 1024, coarse: 19.5 hours */
    VERGE_PRESET_TWO_LEVEL,   /* 2^20, 2^30 ns x 1024: 18.3 minutes */
    VERGE_PRESET_ALARM,       /* 1 ns, 2^61 intervals, strict, FIFO, past rejected: 73 years */
    VERGE_PRESET_RUNTIME,     /* 2^20 ns, 7 levels of 64: 146 years */
    /* Precision 1, exact, all of time. For programs that count in milliseconds, microseconds, or any other unit: every
     * time that you pass is then in that unit, although the names end in _ns. */
    VERGE_PRESET_YOUR_UNIT,
    VERGE_PRESET_MILLISECONDS = VERGE_PRESET_YOUR_UNIT, /* its former name */
} verge_wheel_preset;

/* Fills options with a preset. Change what you like, and pass them to verge_wheel_create. */
VERGE_API int verge_wheel_options_preset_sized(verge_wheel_options *options, size_t struct_size,
                                               verge_wheel_preset preset);

static inline int verge_wheel_options_preset(verge_wheel_options *options, verge_wheel_preset preset) {
    return verge_wheel_options_preset_sized(options, sizeof(*options), preset);
}

static inline int verge_wheel_options_init(verge_wheel_options *options) {
    return verge_wheel_options_preset(options, VERGE_PRESET_DEFAULT);
}

/* Sets levels without gaps. The slots of the lowest level are precision_ns wide (a power of two), and level k has
 * 2^bits[k] slots. */
VERGE_API int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                                         size_t level_count);

/* The same from a duration: tick_ns is rounded up to a power of two, and slot_count must be a power of two. A slot is
 * as wide as the whole level below. */
VERGE_API int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                                size_t level_count);

/* Why options are refused. 0: verge_wheel_create accepts them, and text is empty. Otherwise -EINVAL, and text gets a
 * sentence that names the field and the reason, cut to size bytes. 160 bytes are enough. */
VERGE_API int verge_wheel_options_explain(const verge_wheel_options *options, char *text, size_t size);

/*
 * What verge_wheel_create refuses with -EINVAL
 *   options of an unknown size; an unknown order or past
 *   a precision that is not a power of two, or not that of the given levels (0 is allowed with levels)
 *   levels whose shifts do not rise, that leave gaps (a slot is wider than the whole level below), add no range, or
 *   reach beyond 2^64; a shift beyond 63; bits of 0 or beyond VERGE_LEVEL_BITS_MAX
 *   a compaction ratio or multiplier of 0, or a multiplier that is not less than the ratio
 *   a start after which no tick is left
 * It returns -ENOMEM if there is no memory.
 */

/* ---- timers with handles ---- */

/*
 * Handles
 *   A handle is not an address, and a stale handle is never taken for a live one (G4). So keeping it too long is
 *   harmless. A handle belongs to the wheel that issued it. Another wheel usually notices a foreign handle, but not
 *   always: a cancel or reschedule on the wrong wheel may end or move another timer.
 *
 * Errors
 *   schedule     -ERANGE: the deadline is beyond verge_wheel_largest_deadline. A wheel that reaches to the end of time,
 *                as the default does, accepts such deadlines, VERGE_NEVER too: the timer is pending, and never comes
 *                out. (verge_wheel_get then returns another deadline that never comes.) -EINVAL: it is in the past, and
 *                the wheel's options refuse that (verge_past); a deadline of 0 is like any other, except with
 *                VERGE_PAST_SINCE_START, which refuses it. -ENOSPC: the cap is reached. -ENOMEM.
 *   cancel       -ENOENT: the timer has ended. -EBADF: the number was never a handle. (After the wheel has given memory
 *                back, it may return -ENOENT for such a number.)
 *   reschedule   as schedule and cancel. The handle stays.
 *   An error changes nothing.
 */

/*
 * Schedules a timer for any time from earliest_ns to latest_ns. The wheel takes the roundest of these (the most
 * trailing zero bits) as its deadline, so that timers come out together. A window that reaches beyond the largest
 * deadline ends there. If the wheel refuses deadlines in the past, it does not choose from the part of the window that
 * is past. -EINVAL if earliest_ns > latest_ns.
 */
VERGE_API int verge_wheel_schedule_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                                          verge_timer *ret_timer);

/*
 * Schedules a timer for target_ns or, if that is too far ahead, for the furthest deadline that the wheel can hold. In a
 * coarse wheel, where a timer for the target would be late, it takes the last time before the target that would not be
 * late. If the timer comes out before the target, schedule it again (verge_long_timer does). It then comes as close to
 * the target as the lowest level can. ret_wheel_deadline_ns gets the deadline that was taken, and may be NULL.
 */
VERGE_API int verge_wheel_schedule_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                            uint64_t *ret_wheel_deadline_ns);

/*
 * Moves the timer *timer if it is pending, and otherwise schedules a new one and writes its handle to *timer. Before
 * the call, *timer is 0 or any handle of this wheel. In both cases the timer then has this data. Errors as of schedule.
 */
VERGE_API int verge_wheel_rearm(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data);

/* Deadline and data of a pending timer; errors as of cancel. */
VERGE_API VERGE_MUST_USE int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry);

/* ---- timeouts: timers that live in the objects they are for ---- */

/*
 * For an object that has a timer all its life, such as a connection, a request or a lease, and whose timer is started,
 * moved and stopped again and again. Moving or stopping a timeout touches the object and little else. A timer with a
 * handle costs a second cache line.
 *
 *     struct connection { verge_timeout idle; ... };                   zeroed when the object is made
 *
 *     verge_timeout_set(wheel, &connection->idle, now_ns + 60 s);      whenever something was received
 *     n = verge_wheel_poll(...);                                       .timer is 0, .data is &connection->idle
 *     verge_timeout_clear(wheel, &connection->idle);                   before its memory is freed
 *
 * All promises about timers hold for timeouts that are set.
 *
 *   set      starts the timeout, or moves it if it is set. It never allocates and never fails for memory. Errors as of
 *            schedule, except -ENOMEM.
 *   stop     ends it. The wheel may still know where it is, and the next set is faster. -ENOENT: it is not set, because
 *            a poll returned it, or it was stopped or cleared, or never set.
 *   clear    ends it, if it is set, and the wheel forgets it. -ENOENT: it was not set.
 *
 * The rule. After clear, and after a poll has returned it, the wheel does not touch the timeout until it is set again.
 * Until then, do not move, copy, zero or free it, and use it only with that wheel. After verge_wheel_destroy, zero it
 * before it is used with another wheel. Builds with assertions (VERGE_ASSERTS) notice most mistakes: an object that was
 * freed, copied or zeroed too early, and a timeout that is used with two wheels.
 */

/*
 * Makes a wheel large enough for many more timeouts than are set now. Without this call, the first poll that has work
 * to do and finds more than 128 timers does so, unless the work limit is below the number of timers. It allocates,
 * once, and if there is no memory, it goes on with the smaller wheel, which is slower. -ENOMEM: there is no memory.
 * -EBUSY: verge_wheel_iterate visits a timeout.
 */
VERGE_API VERGE_MUST_USE int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count);

/* The deadline of a timeout. VERGE_NEVER: it is not set. */
VERGE_API uint64_t verge_timeout_deadline(const verge_timeout *timeout);

/* ---- time ---- */

/*
 * More about poll and run
 *   Timers that are due and not returned stay due (verge_wheel_has_backlog). If limit is 0, or `out` or the function is
 *   NULL, time moves and nothing comes out. For a NULL wheel, both return 0.
 *   run calls the function for one timer at a time, and returns how many calls it made. The function may use the wheel
 *   in any way, but must not destroy it. If it cancels a timer, or moves it later, that timer does not come out, even
 *   if it was due. If it sets a timer for a time that has already come, that timer comes out in a later run. So a run
 *   ends, unless the function itself moves time. If the function calls poll or run, that inner call does not
 *   return such a timer either: it comes out after the outermost run. Until then there is a backlog.
 *
 * More about next_wakeup
 *   With a backlog it returns now. It is never late. (poll_exact may return timers of the tick before it.)
 *   It is exact while the wheel knows which timer is due first: that timer was scheduled as the earliest of all, or
 *   verge_wheel_next_deadline found it. After that timer has been returned, cancelled or moved, the wheel does not know
 *   the first timer until next_deadline searches for it, or no timer is left.
 *   In that case, and in a coarse wheel, next_wakeup may be early: at most once for each timer and level. A timer that
 *   was cancelled, or moved later, may cause one such wake-up. While there are few timers, a wheel has up to three
 *   times as many levels as its options say.
 */

/*
 * As poll, but also returns the timers of the current tick whose deadline <= now (also in strict wheels), so that they
 * are not late at all. For this, each call looks at every timer of that tick. If the tick holds more timers than the
 * work limit has left, its timers come out at its end, as by poll. So do those in the upper levels of a coarse wheel.
 * Timers that `limit` kept from being returned stay in their tick.
 */
VERGE_API size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll_exact, but moves the time only to the earliest pending deadline, if that is <= now_ns, and returns its
 * timers; else to now_ns. In a strict or coarse wheel: as poll, but only to the first tick at which timers come out. It
 * searches as next_deadline does; with a backlog, it looks at every timer. The work limit does not count the search.
 */
VERGE_API size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* True if a limit kept the last poll from returning all due timers. It may also be true if those timers have been
 * cancelled or moved since. */
VERGE_API bool verge_wheel_has_backlog(const verge_wheel *wheel);

/*
 * The earliest pending deadline; VERGE_NEVER if there is none, now if there is a backlog. The wheel remembers it, and
 * searches again only after that timer has ended or moved. The search looks at the first slot of each level; in a
 * coarse wheel, at each slot that may hold the timer.
 */
VERGE_API uint64_t verge_wheel_next_deadline(verge_wheel *wheel);

/* The time of the tick at which a timer with this deadline comes out. In a coarse wheel, this holds for the lowest
 * level. VERGE_NEVER: there is no such tick. */
VERGE_API uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns);

VERGE_API uint64_t verge_wheel_now(const verge_wheel *wheel);
VERGE_API uint64_t verge_wheel_start(const verge_wheel *wheel);

/* Moves the start and the current time, also backwards. -EBUSY: timers are pending. -EINVAL: no tick is left after
 * it. */
VERGE_API int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns);

/* ---- memory ---- */

/*
 * Makes room for timer_count more timers than are pending now. Until they are used up, schedule and reschedule do not
 * allocate, and do not fail for memory, whatever is cancelled in between. The room is kept until the next call;
 * reserve(0) gives it up. -ENOSPC: it is beyond the cap. -ENOMEM: no room is promised, and what could be had is
 * released.
 */
VERGE_API VERGE_MUST_USE int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count);

/* Ends all pending timers, and forgets all timeouts. The current time, memory and reservations stay. */
VERGE_API void verge_wheel_clear(verge_wheel *wheel);

/* Drops all idle entries (see the statistics), and gives back what memory can be given back; keeps what is reserved.
 * Takes time in proportion to all timers. Handles stay valid. */
VERGE_API void verge_wheel_compact(verge_wheel *wheel);

/* ---- queries ---- */

VERGE_API size_t verge_wheel_count(const verge_wheel *wheel); /* pending timers */
VERGE_API uint64_t verge_wheel_precision(const verge_wheel *wheel);
VERGE_API uint32_t verge_wheel_worker_id(const verge_wheel *wheel);
VERGE_API size_t verge_wheel_level_count(const verge_wheel *wheel);

/* How far levels 0 to `level` reach together, in ns, from the next tick on. VERGE_NEVER: to the end of time. 0: there
 * is no such level. */
VERGE_API uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level);

/* The largest deadline at which a timer that is scheduled now comes out. It grows with now. */
VERGE_API uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel);

/* The number of the interval that holds a time, and the time at which an interval starts (VERGE_NEVER if it starts
 * beyond the end of time). */
VERGE_API uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns);
VERGE_API uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval);

/* The timers that come out first, at one tick: the interval number of the smallest deadline, the smallest and the
 * largest deadline. Any ret_ may be NULL. -ENOENT when nothing is pending. Each call searches as next_deadline does
 * when it looks anew; with a backlog it looks at every timer. */
VERGE_API VERGE_MUST_USE int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval,
                                                        uint64_t *ret_smallest_ns, uint64_t *ret_largest_ns);

/*
 * Calls visit for each pending timer (.timer is 0 for a timeout), in no particular order. Stops when visit returns
 * non-zero, and returns that value; otherwise returns 0. During the visit of a timer with a handle, visit may use the
 * wheel in any way, but must not destroy it. Timers that it schedules may or may not be visited. During the visit of a
 * timeout, visit may use the wheel in any way, but must not poll. Timeouts that it sets or moves may or may not be
 * visited again.
 */
VERGE_API int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer),
                                  void *context);

/* ---- statistics ---- */

/* An entry is a node in a slot. One that belongs to no timer is idle: kept for the next timer that uses its memory. */
typedef struct verge_wheel_stats {
    size_t struct_size; /* set by the caller */
    uint64_t timers;    /* pending */
    uint64_t scheduled; /* since creation, as all below up to entries_dropped */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t cleared;
    uint64_t entries_moved;   /* from a level to a lower one */
    uint64_t entries_refiled; /* filed again, because the timer had been moved later */
    uint64_t entries_dropped; /* idle ones that came up, or were in the way */
    uint64_t entries;         /* in the wheel now */
    uint64_t garbage;         /* of them, those that belong to no timer: idle ones */
    uint64_t records;         /* room for timers with handles, pending ones included */
    uint64_t records_retired; /* never used again, as all their handles were used */
    uint64_t bytes;           /* held from the allocator */
    uint64_t last_poll_work;  /* entries moved, inspected and returned by the last poll */
} verge_wheel_stats;

/* O(1). -EINVAL if struct_size is unknown. */
VERGE_API int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats);

typedef struct verge_wheel_level_stats {
    size_t struct_size;     /* set by the caller */
    uint64_t resolution_ns; /* of one slot */
    uint64_t slots; /* twice as many as it covers, and the last level those beyond; fewer while there are few timers */
    uint64_t slots_used;
    uint64_t capacity; /* entries in its slots: there is room for any number */
    uint64_t active;   /* entries that belong to a timer */
    uint64_t garbage;  /* entries that do not */
    uint64_t bytes;    /* of its slots */
} verge_wheel_level_stats;

/* Looks at each entry of the level. While there is a backlog, the wheel may file far timers in levels above those of
 * its options. Here they count as part of the highest one. Due timers that have left their slot are in no level.
 * -EINVAL if there is no such level or struct_size is unknown. */
VERGE_API int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats);

/* For tests: checks all invariants, which takes time. NULL if all hold, otherwise the text of the broken one. */
VERGE_API const char *verge_wheel_check(const verge_wheel *wheel);

/* ---- timers beyond the reach of a wheel ---- */

/*
 * A timer for a target that may lie beyond verge_wheel_largest_deadline. It schedules by best fit, again and again.
 *
 *     verge_long_timer_start(&lt, wheel, target_ns, data);
 *     n = verge_wheel_poll(...);
 *     for each expiry with data == mine:
 *         if (verge_long_timer_fired(&lt, wheel) == 0) continue;    -- not there yet, scheduled again
 */
typedef struct verge_long_timer {
    verge_timer timer; /* the timer in the wheel; 0: none now */
    uint64_t target_ns;
    uint64_t wheel_deadline_ns;
    void *data;
} verge_long_timer;

VERGE_API VERGE_MUST_USE int verge_long_timer_start(verge_long_timer *long_timer, verge_wheel *wheel,
                                                    uint64_t target_ns, void *data);

/* Call it when a poll has returned its timer. Returns 1 if the target is reached, 0 if the timer was scheduled again.
 * If that failed, it returns a negative error; call it again later. */
VERGE_API VERGE_MUST_USE int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel);

/* Cancels it. -ENOENT: it has reached its target, or was cancelled before. */
VERGE_API int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
