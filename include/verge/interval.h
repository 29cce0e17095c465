/* SPDX-License-Identifier: MIT */
/*
 * verge/interval.h - when periodic ticks are due, and what happens to missed ones. It only computes: it reads no clock
 * and does not wait. deadline() says until when to sleep, and next(now) takes a tick if one is due.
 *
 * Words
 *   deadline   when the next tick is due. VERGE_NEVER: there are no more ticks, as the end of time is reached.
 *   due        a tick is due if deadline <= now.
 *   taken      a tick is taken when next(now) returns it.
 *   missed     ticks that were due before the one that was taken, and will never be taken.
 *   late       a tick is taken late if now - deadline is greater than the tolerance.
 *
 * Promises, for each tick taken at now; d is the deadline before and d' the deadline after
 *   I1 never early   d <= scheduled <= now.
 *   I2 the count     scheduled == d + missed * period: every missed tick is counted.
 *   I3 burst         missed == 0 and d' == scheduled + period: every tick is taken, overdue ones without delay. With a
 *                    cap of c, `missed` is the smallest number that leaves at most c ticks due, this one included.
 *   I4 skip          scheduled > now - period and d' == scheduled + period: of the overdue ticks only the last is
 *                    taken. d' > now. Ticks stay on the grid first + n * period.
 *   I5 delay         as skip, but after a tick that was taken late, d' == now + period: the grid moves. Two ticks are
 *                    taken at least period - tolerance apart. If no tick is taken late, there is exactly one tick a
 *                    period, without drift.
 *   I6 constant work no call loops over missed ticks, even if there are 2^64.
 *   I7 any time      nothing overflows: a deadline that does not fit into 64 bits is VERGE_NEVER.
 *
 * An interval is plain data: you may put it anywhere and copy it, and there is nothing to destroy. It is for one thread
 * at a time.
 */
#ifndef VERGE_INTERVAL_H
#define VERGE_INTERVAL_H

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to ticks that were not taken in time. */
typedef enum verge_interval_policy {
    VERGE_INTERVAL_BURST = 0, /* all are taken, one after the other */
    VERGE_INTERVAL_DELAY,     /* one is taken, and the next is due a period after that moment */
    VERGE_INTERVAL_SKIP,      /* one is taken, and the next stays where it was planned */
} verge_interval_policy;

/* The default tolerance: a tick that is taken at most this late does not move the grid. It is more than the lateness of
 * a default wheel on a busy machine. */
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
    uint64_t missed;       /* how many ticks before it were due as well and will not be taken */
} verge_tick;

/* The first tick is due at first_ns. To get a tick at once, pass the current time. -EINVAL: a period of 0, an unknown
 * policy, or a first tick at VERGE_NEVER. */
VERGE_API int verge_interval_init(verge_interval *interval, uint64_t first_ns, uint64_t period_ns,
                                  verge_interval_policy policy);

/*
 * Takes a tick if one is due at now_ns. Returns 1 if it took one, and *ret_tick (which may be NULL) describes it.
 * Returns 0 if none is due, also when time has gone backwards. -EINVAL: the interval was not initialised, or now_ns is
 * VERGE_NEVER.
 */
VERGE_API int verge_interval_next(verge_interval *interval, uint64_t now_ns, verge_tick *ret_tick);

/* When the next tick is due. It is in the past if a tick is due already. VERGE_NEVER: there are no more ticks. */
VERGE_API uint64_t verge_interval_deadline(const verge_interval *interval);

/* ---- starting anew: overdue ticks are forgotten, period and policy stay ---- */

/* The next tick is due: a period from now; now; after a duration from now; at a given time. -EOVERFLOW if that is at or
 * beyond VERGE_NEVER. */
VERGE_API int verge_interval_reset(verge_interval *interval, uint64_t now_ns);
VERGE_API int verge_interval_reset_immediately(verge_interval *interval, uint64_t now_ns);
VERGE_API int verge_interval_reset_after(verge_interval *interval, uint64_t now_ns, uint64_t duration_ns);
VERGE_API int verge_interval_reset_at(verge_interval *interval, uint64_t deadline_ns);

/* ---- settings: the deadline of the next tick stays; a new setting applies when that tick is taken ---- */

/* -EINVAL: a period of 0. Overdue ticks are counted by the new period. */
VERGE_API int verge_interval_set_period(verge_interval *interval, uint64_t period_ns);
VERGE_API uint64_t verge_interval_period(const verge_interval *interval);

/* -EINVAL: an unknown policy. */
VERGE_API int verge_interval_set_policy(verge_interval *interval, verge_interval_policy policy);
VERGE_API verge_interval_policy verge_interval_policy_of(const verge_interval *interval);

/* For burst: at most this many ticks are due at once. 0, the default: any number. */
VERGE_API int verge_interval_set_burst_cap(verge_interval *interval, uint64_t tick_count_max);
VERGE_API uint64_t verge_interval_burst_cap(const verge_interval *interval);

/* For delay. At most half a period has an effect, even if more is set. 0: any lateness moves the grid. */
VERGE_API int verge_interval_set_tolerance(verge_interval *interval, uint64_t tolerance_ns);
VERGE_API uint64_t verge_interval_tolerance(const verge_interval *interval); /* the one in effect */

#ifdef __cplusplus
}
#endif

#endif
