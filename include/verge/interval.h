/* SPDX-License-Identifier: MIT */
/*
 * verge/interval.h - the arithmetic of periodic ticks. It reads no clock and waits for nothing:
 * ask deadline() how long to sleep, and next(now) whether a tick is there.
 *
 * Words
 *   deadline   when the next tick is due. VERGE_NEVER: the end of time is reached, no tick follows.
 *   due        a tick is due from its time on: deadline <= now.
 *   taken      a tick is taken when next() returns it, at the `now` of that call.
 *   missed     ticks that came due before the one that was taken, and will never be.
 *   late       a tick is taken late if now - deadline exceeds the tolerance.
 *
 * Promises, for each tick taken at now; d is the deadline before and d' the deadline after
 *   I1 never early   d <= scheduled <= now.
 *   I2 the count     scheduled == d + missed * period: nothing is missed that is not counted.
 *   I3 burst         missed == 0 and d' == scheduled + period: every tick is taken, the overdue
 *                    ones at once. With a cap of c, `missed` is the smallest number that leaves at
 *                    most c ticks due, this one included.
 *   I4 skip          scheduled > now - period and d' == scheduled + period: of the overdue ticks
 *                    only the last is taken. d' > now. Ticks stay on first + n * period.
 *   I5 delay         as skip, but after a tick that was taken late d' == now + period: ticks move
 *                    with their consumer. Two are taken at least period - tolerance apart; a
 *                    consumer that is never late gets exactly one a period, without drift.
 *   I6 constant work no call loops over what was missed, were it 2^64 ticks.
 *   I7 any time      nothing overflows; a deadline that would not fit is VERGE_NEVER.
 *
 * An interval is plain data: it can be anywhere, be copied, and needs no end. It is for one thread
 * at a time.
 */
#ifndef VERGE_INTERVAL_H
#define VERGE_INTERVAL_H

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of ticks that were not taken in time. */
typedef enum verge_interval_policy {
    VERGE_INTERVAL_BURST = 0, /* all are taken, as fast as the consumer can */
    VERGE_INTERVAL_DELAY,     /* one is taken, and the next is a period after that */
    VERGE_INTERVAL_SKIP,      /* one is taken, and the next is where it would have been anyway */
} verge_interval_policy;

/* How late a tick may be taken without delaying those after it, until set otherwise: more than a
 * wheel of the default precision and a busy scheduler need. */
#define VERGE_INTERVAL_TOLERANCE_NS UINT64_C(5000000)

/* Use the functions below. */
typedef struct verge_interval {
    uint64_t deadline_ns;
    uint64_t period_ns;
    uint64_t tolerance_ns;
    uint64_t burst_cap;
    uint32_t policy;
    uint32_t reserved_flags;
    uint64_t reserved[3];
} verge_interval;

typedef struct verge_tick {
    uint64_t scheduled_ns; /* when the tick was due */
    uint64_t missed;       /* ticks before it that were due too, and are given up */
} verge_tick;

/* The first tick is due at first_ns: now for one at once. -EINVAL: a period of 0, an unknown policy,
 * a first tick at VERGE_NEVER. */
VERGE_API int verge_interval_init(verge_interval *interval, uint64_t first_ns, uint64_t period_ns,
                                  verge_interval_policy policy);

/*
 * Takes a tick if one is due. 1: taken, and *ret_tick (which may be NULL) describes it; 0: none is
 * due at now_ns. Time that goes backwards takes nothing and changes nothing. -EINVAL: an interval
 * that was not initialised, or VERGE_NEVER as now.
 */
VERGE_API int verge_interval_next(verge_interval *interval, uint64_t now_ns, verge_tick *ret_tick);

/* When the next tick is due: now or before if one is; VERGE_NEVER if none will be. */
VERGE_API uint64_t verge_interval_deadline(const verge_interval *interval);

/* ---- starting anew: what was overdue is forgotten, period and policy stay ---- */

/* The next tick is due a period from now, now, a while from now, or at a given time. -EOVERFLOW if
 * that is at or beyond VERGE_NEVER. */
VERGE_API int verge_interval_reset(verge_interval *interval, uint64_t now_ns);
VERGE_API int verge_interval_reset_immediately(verge_interval *interval, uint64_t now_ns);
VERGE_API int verge_interval_reset_after(verge_interval *interval, uint64_t now_ns, uint64_t duration_ns);
VERGE_API int verge_interval_reset_at(verge_interval *interval, uint64_t deadline_ns);

/* ---- settings; each applies from the next tick that is taken, the deadline of which stays ---- */

/* -EINVAL: a period of 0. Ticks that are overdue are counted in the new period. */
VERGE_API int verge_interval_set_period(verge_interval *interval, uint64_t period_ns);
VERGE_API uint64_t verge_interval_period(const verge_interval *interval);

/* -EINVAL: an unknown policy. */
VERGE_API int verge_interval_set_policy(verge_interval *interval, verge_interval_policy policy);
VERGE_API verge_interval_policy verge_interval_policy_of(const verge_interval *interval);

/* At most this many ticks are due at once under burst; 0, as at first: any number. */
VERGE_API int verge_interval_set_burst_cap(verge_interval *interval, uint64_t tick_count_max);
VERGE_API uint64_t verge_interval_burst_cap(const verge_interval *interval);

/* For delay. Half a period is the most that counts, whatever is set. 0: any lateness delays. */
VERGE_API int verge_interval_set_tolerance(verge_interval *interval, uint64_t tolerance_ns);
VERGE_API uint64_t verge_interval_tolerance(const verge_interval *interval); /* the one that counts */

#ifdef __cplusplus
}
#endif

#endif
