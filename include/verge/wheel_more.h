/* SPDX-License-Identifier: MIT */
/*
 * verge/wheel_more.h - more of the wheel: what few programs need. verge/wheel.h has the wheel itself, its words and its
 * promises, which also hold for the calls here, unless a comment says otherwise.
 */
#ifndef VERGE_WHEEL_MORE_H
#define VERGE_WHEEL_MORE_H

#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options: levels of your own ---- */

/*
 * Four more presets, after timers of other designs:
 *   VERGE_PRESET_THREE_LEVEL   2^20, 2^30, 2^36 ns x 1024, coarse, past since start: 19.5 hours
 *   VERGE_PRESET_TWO_LEVEL     2^20, 2^30 ns x 1024: 18.3 minutes
 *   VERGE_PRESET_ALARM         1 ns, 2^61 intervals, strict, FIFO, past rejected: 73 years
 *   VERGE_PRESET_RUNTIME       2^20 ns, 7 levels of 64: 146 years
 */

/* Sets levels without gaps. The slots of the lowest level are precision_ns wide (a power of two), and level k has
 * 2^bits[k] slots. */
VERGE_API int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                                         size_t level_count);

/* The same from a duration: tick_ns is rounded up to a power of two, and slot_count must be a power of two. A slot is
 * as wide as the whole level below. */
VERGE_API int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                                size_t level_count);

/* ---- timers beyond the reach of a wheel ---- */

/*
 * Starts a timer for target_ns or, if that is too far ahead, for the furthest deadline that the wheel can hold. A
 * coarse wheel takes the last deadline up to there at which the timer is not late. If the timer comes out before the
 * target, start it again, until the target has come (verge_long_timer does). The last of these timers comes as close to
 * the target as the lowest level can. ret_wheel_deadline_ns gets the deadline that was taken, and may be NULL.
 */
VERGE_API int verge_wheel_start_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                         uint64_t *ret_wheel_deadline_ns);

/*
 * A timer for a target that may lie beyond verge_wheel_largest_deadline. It is started by best fit, again and again.
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

/* Call it when a poll has returned the timer. Returns 1 if the target is reached, 0 if the timer was started again. If
 * that start failed, it returns a negative error; call it again later. */
VERGE_API VERGE_MUST_USE int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel);

/* Cancels a long timer. -ENOENT: it has reached its target, or was cancelled before. */
VERGE_API int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel);

/* ---- time ---- */

/*
 * As poll, but also returns the timers of the current tick whose deadline <= now (also in strict wheels), so that they
 * are not late at all. For this, each call looks at every timer of that tick, and an ordered wheel sorts those that it
 * returns. If the work limit does not allow that, the timers come out at the end of the tick, as by poll. So do those
 * in the upper levels of a coarse wheel. Timers that `limit` kept from being returned stay in their tick.
 */
VERGE_API size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/*
 * As poll_exact, but moves the time only to the earliest pending deadline, if that is <= now_ns, and returns its
 * timers; else to now_ns. In a strict or coarse wheel: as poll, but only to the first tick at which timers come out. It
 * searches as next_deadline does; with a backlog, it looks at every timer. The work limit does not count the search.
 */
VERGE_API size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit);

/* The wheel's first now. */
VERGE_API uint64_t verge_wheel_start_time(const verge_wheel *wheel);

/* Moves the start and the current time, also backwards. -EBUSY: timers are pending, or verge_wheel_iterate visits a
 * timeout. -EINVAL: no tick is left after the new start. */
VERGE_API int verge_wheel_set_start_time(verge_wheel *wheel, uint64_t start_ns);

/* ---- intervals and levels ---- */

/* The number of the interval that holds a time, and the time at which an interval starts (VERGE_NEVER if it starts
 * beyond the end of time). */
VERGE_API uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns);
VERGE_API uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval);

/* The timers that come out first, at one tick: the interval number of the smallest deadline, the smallest and the
 * largest deadline. Any ret_ may be NULL. -ENOENT when nothing is pending. Each call searches as next_deadline does
 * when it looks anew; with a backlog it looks at every timer. */
VERGE_API VERGE_MUST_USE int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval,
                                                        uint64_t *ret_smallest_ns, uint64_t *ret_largest_ns);

/* How many levels the options gave the wheel. */
VERGE_API size_t verge_wheel_level_count(const verge_wheel *wheel);

/* How far levels 0 to `level` reach together, in ns, from the next tick on. VERGE_NEVER: to the end of time. 0: there
 * is no such level. */
VERGE_API uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level);

typedef struct verge_wheel_level_stats {
    size_t struct_size;     /* set by the caller */
    uint64_t resolution_ns; /* of one slot */
    /* Twice as many as the level covers; fewer while there are few timers. The slots of levels beyond those of the
     * options count as the last level's. */
    uint64_t slots;
    uint64_t slots_used;
    uint64_t capacity; /* nodes in its slots: there is room for any number */
    uint64_t active;   /* nodes of pending timers */
    uint64_t idle;     /* nodes of no timer */
    uint64_t bytes;    /* of its slots */
} verge_wheel_level_stats;

/* Looks at each node of the level. While there is a backlog, the wheel may file far timers in levels above those of
 * its options. Here they count as part of the highest one. Due timers that have left their slot are in no level.
 * -EINVAL if there is no such level, or struct_size was not set. */
VERGE_API int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats);

/* ---- others ---- */

/* The worker_id of the options. */
VERGE_API uint32_t verge_wheel_worker_id(const verge_wheel *wheel);

/* For tests: checks all invariants, which takes time. NULL if all hold, otherwise the text of the broken one. Do not
 * call it while verge_wheel_iterate visits a timeout. */
VERGE_API const char *verge_wheel_check(const verge_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
