/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel.h - a set of timers and a notion of now. Nothing happens unless the caller polls.
 *
 * Words
 *   precision  p, a power of two of nanoseconds. Time is cut into half-open intervals of p.
 *   tick       a multiple of p, numbered from time 0. A timer comes out at a tick: the first one at or after its
 *              deadline (strict: the first one after it). From then on it is due.
 *   level      a ring of slots. The slots of a higher level span more ticks; that span is the level's resolution.
 *   backlog    timers that are due and were not returned yet, because of a limit.
 *   timeout    a timer inside an object of the caller's. It has no handle.
 *
 * Promises
 *   G1 never early    poll(now) returns a timer only if deadline <= now (strict: deadline < now).
 *   G2 bounded late   when poll(now) returns without backlog, every pending timer has deadline > now - p. A window:
 *                     latest > now - p. A coarse wheel: deadline > now - r, where r is the resolution of the level
 *                     that the timer's distance needs when it is set.
 *                     The distance is from now, whatever is still due: also while there is a backlog, and for a timer
 *                     that is set inside a run.
 *                     A timer set for a tick that has come already is returned by the very next poll. If it is set
 *                     inside a run, it is returned by the first poll or run after that.
 *   G3 exactly once   every timer scheduled ends in exactly one of: returned by a poll, cancelled, cleared. A limit
 *                     defers a timer, it never skips one.
 *   G4 honest handles a handle is valid from schedule until its timer is returned, cancelled or cleared. For ever
 *                     after, it is -ENOENT. 0 is never a handle.
 *   G5 order          ticks come out in ascending order, within a poll and across polls. A timer scheduled for the
 *                     past comes out next, before any backlog. Inside one tick: see verge_order.
 *   G6 next           next_wakeup() is O(levels) and never later than the next expiry. next_deadline() is exact. With
 *                     a backlog both say now.
 *   G7 memory         at most 48 bytes a live timer at a million of them. The entries that cancelled and moved timers
 *                     leave behind never exceed the live ones plus a constant (4,096): at most 3,072 stay idle;
 *                     ordered wheels also have vacant ones, at most as many as timers are due.
 *                     After reserve(n) the next n schedules allocate nothing and cannot fail. poll and cancel never
 *                     allocate and never fail for memory.
 *   G8 bounded work   a poll with a work limit moves, inspects and returns at most that many entries.
 *   G9 any time       now may stand still, go backwards (it then counts as the last one), jump by years, and start
 *                     anywhere.
 *
 * Timers may be scheduled, cancelled and moved while a batch that poll returned is being handled. The timers of that
 * batch are gone already: their handles say -ENOENT.
 *
 * A wheel is for one thread at a time. It uses no lock, no clock, no system call and, once its memory is reserved, no
 * allocation.
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
typedef uint64_t verge_timer;                           /* a handle; below: what it is worth */

typedef struct verge_expiry {
    verge_timer timer; /* the handle that the timer had; 0: it is a timeout */
    uint64_t deadline_ns;
    void *data;
} verge_expiry;

/* NULL options: the defaults. Others: verge_wheel_options_init(&options), then change what you like. */
VERGE_API int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel);
VERGE_API void verge_wheel_destroy(verge_wheel *wheel); /* pending timers are gone without a word; NULL is allowed */

/* Start, move and end a timer. ret_timer and ret_data may be NULL. Errors: below, "timers with handles". */
VERGE_API int verge_wheel_schedule(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer);
VERGE_API int verge_wheel_reschedule(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);
VERGE_API int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data);

/* Moves now to now_ns. poll writes up to `limit` due timers to `out`; run calls a function for each. Both return how
 * many. */
VERGE_API size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);
VERGE_API size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns,
                                 void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/* How long to sleep: no poll before this time returns anything. VERGE_NEVER: nothing is pending. */
VERGE_API uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel);

/* A timer that is part of an object, such as the idle timeout of a connection. 32 bytes, not for the caller to read
 * or write. Zeroed, it is a timeout that is not attached. */
typedef struct verge_timeout {
    uint64_t opaque[4];
} verge_timeout;

/* attach when the object is made, set and clear as often as you like, detach before its memory is freed. */
VERGE_API int verge_timeout_attach(verge_wheel *wheel, verge_timeout *timeout, void *data);
VERGE_API int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);
VERGE_API int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout);
VERGE_API int verge_timeout_detach(verge_wheel *wheel, verge_timeout *timeout);

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

/*
 * When memory goes back to the allocator. After timers have ended, polls look at memory about every 256 ticks. If there
 * is room for more than `minimum` timers, and fewer than one in `ratio` is there, memory goes back, a bounded step at a
 * look, down to `multiplier` times what is used. verge_wheel_compact gives back at once all that can be given back.
 *
 * Memory goes back by the slab, as handles stay valid and timers do not move. The timers with handles are in slabs of
 * 512 (16 KiB). A slab goes back when none of its timers is left, so a few long-lived timers keep at most a slab
 * each. Entries, of 8 bytes each, are in slabs of up to 2 MiB; such a slab goes back when no entry is left in it.
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

/* Sets levels that follow each other: the lowest of precision_ns (a power of two), level k with 2^bits[k] slots. */
VERGE_API int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                                         size_t level_count);

/* The same from a duration: tick_ns is rounded up to a power of two, slot_count must be one; each level's tick is the
 * coverage of the level below. */
VERGE_API int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                                size_t level_count);

/*
 * What verge_wheel_create refuses with -EINVAL
 *   options of an unknown size; an unknown order or past
 *   a precision that is no power of two, or that is neither 0 nor that of the levels which are given
 *   levels whose shifts do not rise, leave gaps (a slot wider than the level below covers), add no range, or reach
 *   beyond 2^64; a shift beyond 63; bits of 0 or beyond VERGE_LEVEL_BITS_MAX
 *   a compaction ratio or multiplier of 0, or a multiplier that is not below the ratio
 *   a start after which no tick is left
 * It returns -ENOMEM if there is no memory.
 */

/* ---- timers with handles ---- */

/*
 * What a handle is worth
 *   A handle carries no address. A stale one is never taken for a live one (G4): it does no harm to keep it too long.
 *   A handle belongs to the wheel that issued it. Another wheel usually notices, but not certainly: a cancel or
 *   reschedule on the wrong wheel may cancel or move somebody else's timer.
 *
 * Errors
 *   schedule     -ERANGE: the deadline is beyond verge_wheel_largest_deadline. -EINVAL: it is past, and the wheel's
 *                options refuse that (verge_past); 0 is the past like any other. -ENOSPC: the cap is reached.
 *   -ENOMEM. cancel       -ENOENT: the timer is gone. -EBADF: it never was. Where memory was given back, a number
 *                that never was a handle may be taken for one whose timer is gone.
 *   reschedule   as schedule and cancel. The handle stays.
 *   An error changes nothing.
 */

/*
 * Schedules a timer for any time from earliest_ns to latest_ns. Of these, the roundest (the most trailing zero bits)
 * becomes its deadline, so that timers coalesce. A window that reaches beyond the largest deadline ends there. Where
 * the wheel refuses deadlines that are past, the part of the window that is past does not count.
 * -EINVAL if earliest_ns > latest_ns.
 */
VERGE_API int verge_wheel_schedule_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                                          verge_timer *ret_timer);

/*
 * Schedules for target_ns or, when that is too far, for the furthest deadline the wheel can hold. A coarse wheel that
 * would be late takes the last time before the target at which it is not. Schedule again when the timer comes out
 * before the target (verge_long_timer does), and it comes as close to the target as the lowest level can.
 * ret_wheel_deadline_ns gets the deadline that was taken, and may be NULL.
 */
VERGE_API int verge_wheel_schedule_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                            uint64_t *ret_wheel_deadline_ns);

/*
 * Moves the timer if it is pending, and schedules a new one if it is not. *timer is 0 or any handle of this wheel,
 * and afterwards that of a pending timer. That timer has this data, moved or not. Errors as of schedule.
 */
VERGE_API int verge_wheel_rearm(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data);

/* Deadline and data of a pending timer; errors as of cancel. */
VERGE_API int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry);

/* ---- timeouts: timers that live in the objects they are for ---- */

/*
 * For an object that has a timer of its own all its life, as a connection, a request or a lease has: started, pushed
 * back and stopped again and again. To push a timeout back or stop it touches the object and little else; a handle
 * costs a second cache line.
 *
 *     struct connection { verge_timeout idle; ... };
 *
 *     verge_timeout_attach(wheel, &connection->idle, connection);      when the object is made
 *     verge_timeout_set(wheel, &connection->idle, now_ns + 60 s);      whenever something was received
 *     n = verge_wheel_poll(...);                                       .data is the connection, .timer is 0
 *     verge_timeout_detach(wheel, &connection->idle);                  before its memory is freed
 *
 * What is promised of timers holds for timeouts that are set. The wheel cannot check the rest, so the caller keeps
 * these rules: from attach to detach the object stays where it is, is not copied, and is used with that wheel alone.
 * After verge_wheel_destroy nothing has to be detached.
 *
 *   attach   makes it a timeout of this wheel; it is not set. What was in it does not matter, but it must not be
 *            attached already. Allocates nothing: the wheel has no table of timeouts. -EINVAL: a NULL.
 *   set      starts it, or moves it if it is set. Errors as of schedule; -EINVAL also: it is zeroed, or was detached.
 *   clear    stops it. -ENOENT: it is not set: it was returned by a poll, cleared, or never set.
 *   detach   clears it. From then on the wheel does not touch its memory. -EINVAL: it is zeroed, or was detached.
 */

/*
 * Makes room for timeout_count more timeouts than are attached now. Until they are used up, no set allocates or fails
 * for memory. That holds as long as there are no more timers with handles than were pending at this call, or than
 * verge_wheel_reserve made room for. The room is kept until the next call; 0 gives it up. -ENOMEM, -ENOSPC.
 */
VERGE_API int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count);

/* Its deadline; VERGE_NEVER: it is not set. */
VERGE_API uint64_t verge_timeout_deadline(const verge_timeout *timeout);

/* ---- time ---- */

/*
 * More about poll and run
 *   What is due and not returned stays due (verge_wheel_has_backlog). With limit 0, without `out` or without a
 *   function, time moves and nothing comes out. Of a NULL wheel both return 0.
 *   run calls the function for one timer at a time, and returns how many calls it made. The function may do with the
 *   wheel what it likes but destroy it. A timer that it cancels, or moves away, does not come out, due or not.
 *   A timer that the function sets comes out in a later run even if its time has come, so that a run ends, unless the
 *   function moves time. If the function polls or runs itself, such a timer may not come out there either, but only
 *   when the outermost run is over. Until then there is a backlog.
 *
 * More about next_wakeup
 *   With a backlog it says now. It is never late. (poll_exact may return timers of the tick before it.)
 *   It is exact while the wheel knows which timer is due first: that timer was scheduled as the earliest of all, or
 *   found by verge_wheel_next_deadline. When that timer has been returned, cancelled or moved, the wheel does not
 *   know until next_deadline looks for it, or no timer is left.
 *   Otherwise, and in a coarse wheel, next_wakeup may be early: at most once a level for each timer, as a timer comes
 *   down at most once a level. A timer that was cancelled, or moved later, may cause one such wake-up.
 */

/*
 * As poll, and also returns the timers of the tick under way whose deadline <= now (strict wheels, too): no lateness
 * at all, for a look at each timer of that tick per call. With a work limit, a tick that holds more entries than the
 * limit has left is left to its end; so are the upper levels of a coarse wheel. What `limit` held back goes back to
 * its tick.
 */
VERGE_API size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll_exact, but stops at the earliest pending deadline if that is <= now_ns: now becomes that deadline and its
 * timers are returned. Strict or coarse: as poll, but stops at the first tick at which timers come out.
 * The search for that deadline does not count as work. It is that of next_deadline; with a backlog, a look at every
 * timer.
 */
VERGE_API size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* True if timers may be due that the last poll did not return. It may be true for nothing only while a limit holds
 * time back: if the timers that were due have been cancelled or moved since. */
VERGE_API bool verge_wheel_has_backlog(const verge_wheel *wheel);

/*
 * The earliest pending deadline; VERGE_NEVER when there is none, now with a backlog. The deadline is remembered: a
 * call looks for it anew only after that very timer has gone or moved. It then looks at the first slot of each level;
 * in a coarse wheel, at each slot that may hold it.
 */
VERGE_API uint64_t verge_wheel_next_deadline(verge_wheel *wheel);

/* The time of the tick at which a timer with this deadline comes out (in an exact wheel, or in the lowest level of a
 * coarse one); VERGE_NEVER if there is no such tick. */
VERGE_API uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns);

VERGE_API uint64_t verge_wheel_now(const verge_wheel *wheel);
VERGE_API uint64_t verge_wheel_start(const verge_wheel *wheel);

/* Moves start and now, also backwards. -EBUSY while timers are pending; -EINVAL if no tick is left after it. */
VERGE_API int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns);

/* ---- memory ---- */

/*
 * Makes room for timer_count more timers than are pending now. Until they are used up, no schedule or reschedule
 * allocates or fails for memory, whatever is cancelled in between. The room is kept until the next call; reserve(0)
 * gives it up. -ENOSPC beyond the cap, -ENOMEM.
 */
VERGE_API int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count);

/* Ends all pending timers. Their handles say -ENOENT, timeouts stay attached; now, memory and reservations stay. */
VERGE_API void verge_wheel_clear(verge_wheel *wheel);

/* Drops all idle entries and gives back what memory can be given back; keeps what is reserved. Takes time in
 * proportion to all timers. Handles stay valid. */
VERGE_API void verge_wheel_compact(verge_wheel *wheel);

/* ---- queries ---- */

VERGE_API size_t verge_wheel_count(const verge_wheel *wheel); /* pending timers */
VERGE_API uint64_t verge_wheel_precision(const verge_wheel *wheel);
VERGE_API uint32_t verge_wheel_worker_id(const verge_wheel *wheel);
VERGE_API size_t verge_wheel_level_count(const verge_wheel *wheel);

/* How far ahead of the first tick that has not come the levels up to this one reach, in ns (VERGE_NEVER: to the end
 * of time); 0 if there is no such level. */
VERGE_API uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level);

/* The largest deadline that can be scheduled now. It grows with now. */
VERGE_API uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel);

/* The number of the interval that holds a time, and the time at which an interval starts (VERGE_NEVER if it starts
 * beyond the end of time). */
VERGE_API uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns);
VERGE_API uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval);

/* The timers that come out first, at one tick: the interval number of the smallest deadline, the smallest and the
 * largest deadline. Any ret_ may be NULL. -ENOENT when nothing is pending. Each call searches as next_deadline does
 * when it looks anew; with a backlog it looks at every timer. */
VERGE_API int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval, uint64_t *ret_smallest_ns,
                                         uint64_t *ret_largest_ns);

/*
 * Calls visit for each pending timer (.timer is 0 for a timeout), in no order, until it returns non-zero; returns
 * that, or 0. Called for a timer with a handle, visit may do anything with the wheel but destroy it; timers it
 * schedules may or may not be visited. Called for a timeout, visit may clear, detach or move that timeout, but no
 * other timer, and must not poll. A timeout that was moved may be visited again.
 */
VERGE_API int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer),
                                  void *context);

/* ---- statistics ---- */

/* An entry is what a slot holds of a timer. One that belongs to no timer is idle (kept for the next timer that uses
 * its memory) or vacant (a gap among the sorted entries of an ordered wheel). */
typedef struct verge_wheel_stats {
    size_t struct_size; /* set by the caller */
    uint64_t timers;    /* pending */
    uint64_t scheduled; /* since creation, as all below up to entries_dropped */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t cleared;
    uint64_t entries_filed;   /* for timers that had none; one that is kept, moved or used again counts once */
    uint64_t entries_moved;   /* from a level to a lower one */
    uint64_t entries_refiled; /* came up before their timer's later deadline */
    uint64_t entries_dropped; /* belonged to no timer any more */
    uint64_t entries;         /* in the wheel now */
    uint64_t garbage;         /* of them, those that belong to no timer: idle and vacant ones */
    uint64_t records;         /* timers with handles there is room for without allocating, pending ones included */
    uint64_t records_retired; /* for ever, their handles being used up */
    uint64_t bytes;           /* held from the allocator */
    uint64_t last_poll_work;  /* entries moved, inspected and returned by the last poll */
} verge_wheel_stats;

/* O(1). -EINVAL if struct_size is unknown. */
VERGE_API int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats);

typedef struct verge_wheel_level_stats {
    size_t struct_size;     /* set by the caller */
    uint64_t resolution_ns; /* of one slot */
    uint64_t slots;         /* of the whole ring, which is two blocks; 0: the level has no memory yet */
    uint64_t slots_used;
    uint64_t capacity; /* entries its chunks have room for */
    uint64_t active;   /* entries that belong to a timer */
    uint64_t garbage;  /* entries that do not */
    uint64_t bytes;    /* of its slots and chunks */
} verge_wheel_level_stats;

/* Looks at each entry of the level. While a backlog holds time back, the wheel may use levels above its own: they
 * count as the last one. Due timers that have left their slot are in no level. -EINVAL if there is no such level or
 * struct_size is unknown. */
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

/* To be called when its wheel timer was returned by poll: 1 if the target is reached, 0 if it was scheduled again, a
 * negative error if that failed (call again later). */
VERGE_API int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel);

/* Ends it. -ENOENT: it has reached its target, or was cancelled before. */
VERGE_API int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
