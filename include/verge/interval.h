/* SPDX-License-Identifier: MIT */
/*
 * verge/interval.h - when periodic ticks are due, and what happens to missed ones. It only computes: it reads no clock
 * and does not wait. deadline_ns says until when to sleep, and next(now) takes a tick if one is due.
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
 *                    cap of c, `missed` is the smallest number that leaves at most c ticks due, the taken one included.
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
    VERGE_INTERVAL_DELAY,     /* one is taken. If it is taken late, the next is due a period after that moment */
    VERGE_INTERVAL_SKIP,      /* one is taken, and the next stays where it was planned */
} verge_interval_policy;

/* The default tolerance: a tick that is taken at most this late does not move the grid. It is more than the lateness of
 * a default wheel on a busy machine. */
#define VERGE_INTERVAL_TOLERANCE_NS UINT64_C(5000000)

/*
 * You may read all fields. Between two ticks you may change these, which does not move the next tick:
 *   period_ns      not 0. Overdue ticks are counted by the new period.
 *   policy
 *   burst_cap      for burst: at most this many ticks are due at once. 0, the default: any number.
 *   tolerance_ns   for delay. At most half a period has an effect, even if more is set. 0: any lateness moves the grid.
 */
typedef struct verge_interval {
    uint64_t deadline_ns; /* when the next tick is due; VERGE_NEVER: no more ticks. Change it by verge_interval_reset */
    uint64_t period_ns;
    uint64_t tolerance_ns;
    uint64_t burst_cap;
    verge_interval_policy policy;
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
 * Returns 0 if none is due, also when time has gone backwards. -EINVAL: the interval was not initialised, its period or
 * policy makes no sense, or now_ns is VERGE_NEVER.
 */
VERGE_API int verge_interval_next(verge_interval *interval, uint64_t now_ns, verge_tick *ret_tick);

/* Starts anew: overdue ticks are forgotten, and the next tick is due at deadline_ns. Pass now_ns + period_ns for a tick
 * one period from now, and now_ns for one at once. -EINVAL: the interval was not initialised, or deadline_ns is
 * VERGE_NEVER. */
VERGE_API int verge_interval_reset(verge_interval *interval, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
