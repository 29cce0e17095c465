/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel.h - a timing wheel: a set of timers and a current time, which the caller passes to each poll. Nothing
 * happens unless the caller polls. verge/wheel_more.h has calls that few programs need.
 *
 * Words
 *   precision  p, a power of two of nanoseconds. Time is cut into half-open intervals of p.
 *   tick       a multiple of p, numbered from time 0. A timer comes out at a tick: the first one at or after its
 *              deadline (option `strict`: the first one after the deadline). From that tick on the timer is due.
 *   level      a ring of slots. A slot of a higher level spans more ticks. The span of one slot is the level's
 *              resolution.
 *   backlog    timers that are due and were not returned yet, because of a limit.
 *   timeout    a timer inside the caller's own object. It has no handle.
 *
 * Promises
 *   G1 never early    poll(now) returns a timer only if deadline <= now (strict: deadline < now).
 *   G2 bounded late   when poll(now) returns without backlog, every pending timer has deadline > now - p. For a timer
 *                     with a window (verge_wheel_start_window): latest > now - p. In a coarse wheel (option `coarse`):
 *                     deadline > now - r, where r is the resolution of the timer's level. When a timer is started or
 *                     reset, the distance from now to its deadline decides the level, even while there is a backlog,
 *                     and inside a run.
 *                     If a timer is started for a tick that has come, the next poll returns it. If this start is inside
 *                     a run, the first poll or run after that run returns the timer.
 *   G3 exactly once   every timer ends in exactly one way: a poll returns it, or it is cancelled. A limit defers
 *                     timers, and never skips one.
 *   G4 safe handles   a handle is valid from start until its timer is returned or cancelled. After that,
 *                     cancel, reset and get return -ENOENT for it, for ever. 0 is never a handle.
 *   G5 order          ticks come out in ascending order, within a poll and across polls. A timer started for the
 *                     past comes out next, before any backlog. Inside one tick: see verge_order.
 *   G6 next           next_wakeup() is O(levels) and never later than the next expiry. next_deadline() is exact. With
 *                     a backlog, both return now.
 *   G7 memory         a million pending timers take at most 48 bytes each (49 in an ordered wheel, see verge_order).
 *                     Timeouts take nothing but their own memory. At most 3,072 cancelled timers keep their place in a
 *                     slot. After reserve(n, 0), the next n starts allocate nothing and cannot fail for memory. cancel
 *                     and poll never fail for memory, and neither do start, pause and cancel of timeouts. A poll
 *                     allocates only to make a small wheel large: when it finds more than 128 timers for which no room
 *                     was reserved.
 *   G8 bounded work   a poll with a work limit moves, inspects, sorts and returns at most that many nodes. In an
 *                     ordered wheel, the sort moves each of n timers that come out at one tick about log2(n) times.
 *   G9 any time       now may stand still, jump by years, and start anywhere. If it goes backwards, the
 *                     wheel keeps the latest time it has seen.
 *
 * A wheel uses no lock, no clock, no system call and, once its memory is reserved, no allocation. It is for one thread
 * at a time: threads that share a wheel need a lock around every call. A library built with VERGE_ASSERTS aborts, with
 * a message, when it finds two threads inside the calls of one wheel. After fork, parent and child each have a wheel
 * with the same timers. The child may go on with its copy, or destroy it.
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

/* Creates a wheel. If options is NULL, the wheel has the default options. For others, first call
 * verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), then change what you like. -EINVAL: the
 * options are refused (verge_wheel_options_explain says why). -ENOMEM. */
VERGE_API VERGE_MUST_USE int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel);

/* Destroys a wheel. Its pending timers end without being returned. If their data must be freed, call
 * verge_wheel_iterate first: it visits each pending timer. NULL is allowed. */
VERGE_API void verge_wheel_destroy(verge_wheel *wheel);

/* A timer begins. ret_timer gets its handle, and may be NULL. Errors: below, "timers with handles". Check the result.
 * After verge_wheel_reserve, a start does not fail for memory; the other errors remain. */
VERGE_API int verge_wheel_start(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer);

/* A pending timer gets another deadline. Errors: below. */
VERGE_API int verge_wheel_reset(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);

/* A pending timer ends, and does not fire. ret_data gets the timer's data, and may be NULL. Errors: below. */
VERGE_API int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data);

/* Moves the wheel's time to now_ns, writes up to `limit` due timers to `out`, and returns how many. These timers have
 * ended: calls with their handles return -ENOENT. While you handle them, you may start, reset and cancel timers. */
VERGE_API size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* As poll, but calls on_expiry for each due timer. on_expiry may start, reset and cancel timers. */
VERGE_API size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns,
                                 void (*on_expiry)(void *context, const verge_expiry *expiry), void *context);

/* Returns the time until which the caller may sleep: no poll before this time returns anything. VERGE_NEVER: no timer
 * is pending, or only timers that never come out. */
VERGE_API uint64_t verge_wheel_next_wakeup(const verge_wheel *wheel);

/* A timer that is part of an object, such as the idle timeout of a connection. Do not read or write its 32 bytes.
 * Zeroed memory is a timeout that is not started. One rule: cancel it before its memory is freed, moved or used for
 * something else. Polls return its address as `data`. */
typedef struct verge_timeout {
    uint64_t opaque[4];
} verge_timeout;

/* The timeout begins or, if it is pending, gets another deadline. A start needs no memory. */
VERGE_API int verge_timeout_start(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns);

/* The timeout ends, and does not fire. It may keep its place in the wheel, so that the next start is faster. */
VERGE_API int verge_timeout_pause(verge_wheel *wheel, verge_timeout *timeout);

/* The timeout ends, and its memory may be freed (errors: below, "timeouts"). */
VERGE_API int verge_timeout_cancel(verge_wheel *wheel, verge_timeout *timeout);

/* ==== everything else ==== */

/* ---- options ---- */

/* The order in which the timers of one tick come out. */
typedef enum verge_order {
    VERGE_ORDER_ANY = 0,  /* unspecified; the fastest */
    VERGE_ORDER_FIFO,     /* in the order in which they were last started or reset */
    VERGE_ORDER_DEADLINE, /* by deadline; timers with equal deadlines as in FIFO */
} verge_order;

/* What start and reset do with a deadline in the past. */
typedef enum verge_past {
    VERGE_PAST_FIRES = 0,   /* accept it: the next poll returns the timer */
    VERGE_PAST_SINCE_START, /* return -EINVAL if it is 0 or before the wheel's start; otherwise accept it */
    VERGE_PAST_REJECTED,    /* return -EINVAL if it is before the interval that contains now */
} verge_past;

enum {
    VERGE_LEVEL_COUNT_MAX = 16,
    VERGE_LEVEL_BITS_MAX = 14,
};

/* A level covers 2^bits slots of 2^shift nanoseconds each. */
typedef struct verge_wheel_level {
    uint8_t shift;
    uint8_t bits;
} verge_wheel_level;

/*
 * When memory goes back to the allocator. The memory of a timer is a node. Nodes of timers with handles are in slabs of
 * 512 (20 KiB; in ordered wheels 24 KiB). A timer stays in its slab, so that its handle stays valid. When less than one
 * in `ratio` of the nodes is used, slabs go back. From then on, each timer that ends (by cancel or in a poll) gives
 * back one slab without a timer, until there are `multiplier` times as many nodes as timers, or `minimum` nodes. A
 * long-lived timer keeps one slab at most: its own.
 *
 * The slots of a default wheel take less than 100 KB. A wheel begins small, with fewer slots, and stays so until it has
 * more than 128 timers: a small wheel takes less than 4 KiB without timers, and less than 5 KiB with 10 of them.
 */
typedef struct verge_wheel_compaction {
    uint32_t minimum;
    uint32_t ratio;
    uint32_t multiplier; /* from 1 on, and less than ratio */
} verge_wheel_compaction;

typedef struct verge_wheel_options {
    size_t struct_size;    /* set by verge_wheel_options_init */
    uint64_t start_ns;     /* the wheel's first now. At least one tick must be left after it */
    uint64_t precision_ns; /* a power of two. If levels are given: 0, or 2^shift of the lowest */
    size_t level_count;    /* 0: levels of 512, 256 and then 64 slots each, from precision_ns to the end of time */
    /* The shifts rise from level to level. A slot is not wider than the whole level below. Each level reaches further
     * than the level below, up to 2^64 ns. bits is from 1 to VERGE_LEVEL_BITS_MAX. */
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    bool coarse;       /* timers keep the resolution of their level: a timer is late by up to one slot of its level */
    bool strict;       /* a timer comes out only if deadline < now, not if deadline == now */
    verge_order order; /* of timers that come out at one tick */
    verge_past past;
    size_t work_limit; /* how many nodes a poll may move, inspect, sort and return; 0: no limit */
    size_t timer_cap;  /* how many timers may be pending; further starts return -ENOSPC. 0: no limit */
    verge_wheel_compaction compaction;
    const verge_allocator *allocator; /* NULL: verge_allocator_default(). It must outlive the wheel */
    uint32_t worker_id;               /* for the caller's own use: the statistics have it */
} verge_wheel_options;

typedef enum verge_wheel_preset {
    VERGE_PRESET_DEFAULT = 0, /* 2^20 ns, levels of 512, 256 and then 64 slots, all of time, exact */
    VERGE_PRESET_THREE_LEVEL, /* this and the next three: see verge/wheel_more.h */
    VERGE_PRESET_TWO_LEVEL,
    VERGE_PRESET_ALARM,
    VERGE_PRESET_RUNTIME,
    /* Precision 1, exact, all of time. For programs that count in milliseconds, microseconds, or any other unit: every
     * time that you pass is then in that unit, although the names end in _ns. */
    VERGE_PRESET_YOUR_UNIT,
} verge_wheel_preset;

/* Fills options, whose size is struct_size, with a preset. Change what you like, and pass them to verge_wheel_create.
 * -EINVAL: there is no such preset. */
VERGE_API int verge_wheel_options_init(verge_wheel_options *options, size_t struct_size, verge_wheel_preset preset);

/* Says why options are refused. 0: verge_wheel_create accepts them, and text is empty. Otherwise -EINVAL, and text gets
 * a sentence that names the field and the reason, cut to size bytes. 160 bytes are enough. */
VERGE_API int verge_wheel_options_explain(const verge_wheel_options *options, char *text, size_t size);

/* ---- timers with handles ---- */

/*
 * Handles
 *   A handle is not an address, and a stale handle is never taken for that of a pending timer (G4). So a stale handle
 *   is harmless. A handle belongs to the wheel that issued it. Another wheel usually notices a foreign handle, but
 *   not always: a cancel or reset on the wrong wheel may end or move another timer.
 *
 * Errors
 *   start        -ERANGE: the deadline is beyond verge_wheel_largest_deadline. Exception: a wheel that is not coarse
 *                and reaches to the end of time (as the default wheel) accepts such deadlines, VERGE_NEVER too. The
 *                timer is then pending, and never comes out. (verge_wheel_get returns another deadline that never
 *                comes.) -EINVAL: the deadline is in the past, and the wheel's options refuse that (verge_past).
 *                -ENOSPC: the cap is reached. -ENOMEM.
 *   cancel       -ENOENT: the timer has ended. -EBADF: the number was never a handle. (After the wheel has given memory
 *                back, it may return -ENOENT for such a number.)
 *   reset        those of cancel, and those of start except -ENOSPC and -ENOMEM. The handle stays valid.
 *   An error changes nothing.
 */

/*
 * Starts a timer for any time from earliest_ns to latest_ns. The wheel takes the roundest of these times (the one with
 * the most trailing zero bits) as the deadline, so that timers come out together. A window that reaches beyond the
 * largest deadline ends there. If the wheel refuses deadlines in the past, it does not choose from the part of the
 * window that is past. -EINVAL if earliest_ns > latest_ns.
 */
VERGE_API int verge_wheel_start_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                                       verge_timer *ret_timer);

/*
 * If the timer *timer is pending, moves it. Otherwise starts a new timer, and writes its handle to *timer. In both
 * cases the timer gets this data. Before the call, *timer is 0 or any handle of this wheel. Errors as of start.
 */
VERGE_API int verge_wheel_start_or_reset(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data);

/* Writes the deadline and data of a pending timer to *ret_expiry. Errors as of cancel. */
VERGE_API VERGE_MUST_USE int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry);

/* ---- timeouts: timers that live in the objects they are for ---- */

/*
 * Use a timeout for an object that has a timer all its life, such as a connection, a request or a lease, if this timer
 * is started, moved and ended again and again. Moving or pausing a timeout touches the object and little else. A timer
 * with a handle costs a second cache line.
 *
 *     struct connection { verge_timeout idle; ... };                   zeroed when the object is made
 *
 *     verge_timeout_start(wheel, &connection->idle, now_ns + 60 s);    whenever something was received
 *     n = verge_wheel_poll(...);                                       .timer is 0, .data is &connection->idle
 *     verge_timeout_cancel(wheel, &connection->idle);                  before its memory is freed
 *
 * All promises about timers hold for timeouts that are started.
 *
 *   start    starts the timeout, or resets it if it is pending. It never allocates and never fails for memory. Errors
 *            as of verge_wheel_start, except -ENOMEM.
 *   cancel   ends it, and the wheel forgets it. -ENOENT: it is not pending, because a poll returned it, or it was
 *            cancelled or paused, or never started. The wheel forgets it all the same.
 *   pause    ends it, too, but it may keep its place in the wheel, so that the next start is faster. Use it for
 *            timeouts that are started again soon. -ENOENT: it is not pending.
 *
 * The rule. From its start until cancel, or until a poll has returned it, do not move, copy, zero or free the timeout,
 * and use it only with that wheel. After that, the wheel does not touch it until it is started again. After
 * verge_wheel_destroy, zero it before it is used with another wheel. Builds with assertions (VERGE_ASSERTS) notice most
 * mistakes: an object that was freed, copied or zeroed too early, and a timeout that is used with two wheels.
 */

/* The deadline of a timeout. VERGE_NEVER: it is not pending. */
VERGE_API uint64_t verge_timeout_deadline(const verge_timeout *timeout);

/* ---- time ---- */

/*
 * More about poll and run
 *   Timers that are due and not returned stay due (verge_wheel_has_backlog). If limit is 0, or `out` or the function is
 *   NULL, time moves and nothing comes out. For a NULL wheel, both return 0.
 *   run calls the function for one timer at a time. The function may use the wheel in any way, but must not destroy it.
 *   If it cancels a timer, or moves it later, that timer does not come out, even if it was due. If it starts a timer
 *   for a time that has already come, that timer comes out in a later poll or run. So a run ends, unless the function
 *   itself moves time. If the function calls poll or run, that inner call does not return such a timer either: it comes
 *   out after the outermost run. Until then there is a backlog.
 *
 * More about next_wakeup
 *   With a backlog it returns now. It is never late. (But verge_wheel_poll_exact may return a timer before that time,
 *   as it does not wait for the timer's tick.) It is exact while the wheel knows which timer is due first: that timer
 *   was started as the earliest of all, or verge_wheel_next_deadline found it. After that timer has been returned,
 *   cancelled or moved, the wheel does not know the first timer until next_deadline searches for it, or no timer is
 *   left.
 *   In two cases next_wakeup may be early, at most once for each timer and level: while the wheel does not know the
 *   first timer, and in a coarse wheel. A timer that was cancelled, or moved later, may cause one such wake-up. A small
 *   wheel has more levels than its options say: twice as many in a default wheel, up to five times as many in others.
 */

/* True if timers are due and were not returned: a limit kept the last poll from returning them, or they were started
 * for a time that had already come. If a limit ended the last poll, the result may be true although no timer is due any
 * more: the timers that were left may have been cancelled or moved. */
VERGE_API bool verge_wheel_has_backlog(const verge_wheel *wheel);

/*
 * Returns the earliest pending deadline; VERGE_NEVER if no timer is pending, now if there is a backlog. The wheel
 * remembers this deadline, and searches again only after a timer with this deadline has ended or moved. The search
 * looks at the first slot of each level; in a coarse wheel, at each slot that may hold the timer.
 */
VERGE_API uint64_t verge_wheel_next_deadline(verge_wheel *wheel);

/* The time of the tick at which a timer with this deadline comes out. In a coarse wheel, this holds for timers of the
 * lowest level. VERGE_NEVER: there is no such tick. */
VERGE_API uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns);

/* ---- memory ---- */

/*
 * Makes room for timer_count more timers with handles than are pending now. Until this room is used up, start and reset
 * do not allocate, and do not fail for memory, whatever is cancelled in between. The room is kept until the next call;
 * a timer_count of 0 gives it up.
 *
 * A timeout_count above 0 makes a small wheel large enough for that many more timeouts. A wheel that is still small
 * becomes large in the first poll that has work to do and finds more than 128 timers. But if the work limit is below
 * the number of timers, the wheel stays small. To make the wheel large, the poll allocates once. If there is no memory,
 * the wheel stays small, and is slower.
 *
 * -ENOSPC: timer_count is beyond the cap, or beyond 2^31 timers. -EBUSY: timeout_count asks for a large wheel, and
 * verge_wheel_iterate visits a timeout. -ENOMEM: an earlier reservation stays. The slabs that this call has added are
 * released; the first slab keeps its new size.
 */
VERGE_API VERGE_MUST_USE int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count, size_t timeout_count);

/* Ends all pending timers, and forgets all timeouts. The current time, memory and reservations stay. */
VERGE_API void verge_wheel_cancel_all(verge_wheel *wheel);

/* Drops all idle nodes (see the statistics), and gives back at once all slabs without a timer. It keeps what
 * verge_wheel_reserve has reserved for timers with handles. The wheel becomes small again if there are few timers.
 * Takes time in proportion to all timers. Handles stay valid. */
VERGE_API void verge_wheel_compact(verge_wheel *wheel);

/* ---- queries ---- */

VERGE_API uint64_t verge_wheel_now(const verge_wheel *wheel);
VERGE_API size_t verge_wheel_count(const verge_wheel *wheel); /* pending timers */
VERGE_API uint64_t verge_wheel_precision(const verge_wheel *wheel);

/* The largest deadline that a timer can get now and still come out. This deadline grows with now. */
VERGE_API uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel);

/*
 * Calls visit for each pending timer (.timer is 0 for a timeout), in no particular order. Stops when visit returns
 * non-zero, and returns that value; otherwise returns 0. visit may use the wheel in any way, but must not destroy it
 * and, during the visit of a timeout, must not poll. A timer that visit starts or resets may be left out, or be visited
 * more than once.
 */
VERGE_API int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer),
                                  void *context);

/* A node is the memory of a timer. It is linked while it is in a slot. A linked node that belongs to no timer is idle:
 * kept for the next timer that uses its memory. */
typedef struct verge_wheel_stats {
    size_t struct_size; /* set by the caller */
    uint64_t timers;    /* pending */
    uint64_t started;   /* this and the next five: since creation */
    uint64_t cancelled;
    uint64_t expired;
    uint64_t nodes_moved;    /* from a level to a lower one */
    uint64_t nodes_refiled;  /* filed again, because the timer had been moved later */
    uint64_t nodes_dropped;  /* idle nodes that came up, or were removed: by a search, compact or cancel_all, or with
                                their slab */
    uint64_t linked;         /* nodes that are in a slot, or due, now */
    uint64_t idle;           /* how many of the linked nodes belong to no timer */
    uint64_t nodes;          /* room for timers with handles, pending ones included */
    uint64_t nodes_retired;  /* never used again, as all their handles were used */
    uint64_t bytes;          /* held from the allocator */
    uint64_t last_poll_work; /* nodes moved, inspected, sorted and returned by the last poll or run */
    uint32_t level_count;    /* levels that the wheel has by its options (verge_wheel_get_level_stats) */
    uint32_t worker_id;      /* of the options */
} verge_wheel_stats;

/* O(1). -EINVAL: struct_size was not set. */
VERGE_API int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
