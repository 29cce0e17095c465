/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel_more.h - calls of the wheel that few programs need. verge/wheel.h has the wheel itself, its words and its
 * promises. The promises also hold for the calls here, unless a comment says otherwise.
 */
#ifndef VERGE_WHEEL_MORE_H
#define VERGE_WHEEL_MORE_H

#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options: levels of your own ---- */

/*
 * Four more presets, modelled on timers of other programs. Each line has the slot widths of the levels, the slots of a
 * level, other options (see verge/wheel.h), and how far the wheel reaches:
 *   VERGE_PRESET_THREE_LEVEL   2^20, 2^30, 2^36 ns x 1024, coarse, past since start: 19.5 hours
 *   VERGE_PRESET_TWO_LEVEL     2^20, 2^30 ns x 1024: 18.3 minutes
 *   VERGE_PRESET_ALARM         1 ns, 2^61 intervals, strict, FIFO, past rejected: 73 years
 *   VERGE_PRESET_RUNTIME       2^20 ns, 7 levels of 64: 146 years
 */

/* Sets the levels. A slot of the lowest level is precision_ns wide, which must be a power of two. Level k covers
 * 2^bits[k] slots, and a slot of the next level is as wide as all of these together. */
VERGE_API int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                                         size_t level_count);

/* Sets level_count levels of slot_count slots each, in the same way. The precision is tick_ns, rounded up to a power of
 * two. slot_count must be a power of two. */
VERGE_API int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                                size_t level_count);

/* ---- timers beyond the reach of a wheel ---- */

/*
 * Starts a timer for target_ns or, if that is too far ahead, for the largest deadline that the wheel accepts. A coarse
 * wheel may choose an earlier deadline than this: the latest one at which the timer is not late. If the timer comes out
 * before the target, start another one, until the target has come (verge_long_timer does this). The last timer comes
 * out as close to the target as a timer of the lowest level can. *ret_wheel_deadline_ns is the deadline that was taken.
 * ret_wheel_deadline_ns may be NULL.
 */
VERGE_API int verge_wheel_start_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                         uint64_t *ret_wheel_deadline_ns);

/*
 * A timer for a target that may lie beyond verge_wheel_largest_deadline. verge_wheel_start_best_fit starts it again and
 * again, until the target has come. -ERANGE: the target is VERGE_NEVER.
 *
 *     verge_long_timer_start(&lt, wheel, target_ns, data);
 *     n = verge_wheel_poll(...);
 *     for each expiry with data == mine:
 *         if (verge_long_timer_fired(&lt, wheel) == 0) continue;    -- not there yet, started again
 */
typedef struct verge_long_timer {
    verge_timer timer; /* the timer in the wheel; 0: none now */
    uint64_t target_ns;
    uint64_t wheel_deadline_ns;
    void *data;
} verge_long_timer;

VERGE_API VERGE_MUST_USE int verge_long_timer_start(verge_long_timer *long_timer, verge_wheel *wheel,
                                                    uint64_t target_ns, void *data);

/* Call it when a poll has returned the timer. Returns 1 if the target is reached, and 0 if the timer was started again.
 * A negative error means that the timer could not be started again: call this function again later. */
VERGE_API VERGE_MUST_USE int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel);

/* Cancels a long timer. -ENOENT: it is not in the wheel. It has reached its target, was cancelled before, or came out
 * of a poll and verge_long_timer_fired has not started it again. */
VERGE_API int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel);

/* ---- time ---- */

/*
 * As poll, but does not wait for the next tick: the timers of that tick whose deadline <= now are returned, too (also
 * in strict wheels). So they are not late at all. For this, each call looks at every timer of the next tick, and an
 * ordered wheel sorts all whose deadline has come. If the work limit does not allow that, these timers come out when
 * the tick comes, as in a poll. Timers in the upper levels of a coarse wheel also come out as in a poll. Timers of the
 * next tick that are not returned because of `limit` stay in their tick.
 */
VERGE_API size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll_exact, but if the earliest pending deadline is <= now_ns, it moves the time only to that deadline, and
 * returns the timers of that deadline. Otherwise it moves the time to now_ns. In a strict or coarse wheel, it is a poll
 * which moves the time only to the first tick at which timers come out. To find the deadline, it searches as
 * next_deadline does. With a backlog, the search looks at every timer, unless the wheel remembers the earliest
 * deadline. The work limit does not count the search.
 */
VERGE_API size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* The wheel's first now. */
VERGE_API uint64_t verge_wheel_start_time(const verge_wheel *wheel);

/* Sets the start time and the current time to start_ns, which may be before them. -EBUSY: timers are pending, or
 * verge_wheel_iterate visits a timeout. -EINVAL: no tick is left after the new start. */
VERGE_API int verge_wheel_set_start_time(verge_wheel *wheel, uint64_t start_ns);

/* ---- intervals ---- */

/* With p = verge_wheel_precision(wheel), interval i starts at i * p, and a time t is in interval t / p. The last
 * interval is that of VERGE_NEVER. */

/* Looks at the timers of the tick that comes out first, and stores the number of the interval that their smallest
 * deadline is in, that deadline itself, and their largest deadline. Any ret_ may be NULL. -ENOENT: no timer is pending.
 * Each call searches, as next_deadline does if the wheel does not remember the earliest deadline. With a backlog, the
 * search looks at every timer. */
VERGE_API VERGE_MUST_USE int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval,
                                                        uint64_t *ret_smallest_ns, uint64_t *ret_largest_ns);

/* ---- levels ---- */

typedef struct verge_wheel_level_stats {
    size_t struct_size;     /* set by the caller */
    uint64_t resolution_ns; /* of one slot */
    uint64_t coverage_ns;   /* how far levels 0 to this one reach together, from the next tick on. VERGE_NEVER: to the
                               end of time */
    /* Slots in memory: twice as many as the level covers, or fewer while there are few timers. The wheel may have
     * levels above those of its options. Their slots are counted for the last level of the options. */
    uint64_t slots;
    uint64_t slots_used;
    uint64_t capacity; /* active + idle. A slot has room for any number of nodes */
    uint64_t active;   /* nodes of pending timers */
    uint64_t idle;     /* nodes of no timer */
    uint64_t bytes;    /* of its slots */
} verge_wheel_level_stats;

/* Writes the statistics of one of the level_count levels (verge_wheel_stats) to *ret_stats. Looks at each node of the
 * level. While there is a backlog, the wheel may file far timers in levels above those of its options: these timers are
 * counted for the last level of the options. Due timers that have left their slot are not counted. -EINVAL: there is no
 * such level, or struct_size was not set. */
VERGE_API int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats);

/* ---- tests ---- */

/* For tests: checks all invariants, which takes time. NULL if all hold, otherwise the text of the broken one. Do not
 * call it while verge_wheel_iterate visits a timeout. */
VERGE_API const char *verge_wheel_check(const verge_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
