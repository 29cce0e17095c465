/* SPDX-License-Identifier: MIT */
/*
 * Periodic ticks by division. The promises I1 to I7 of the header follow from one identity. Of the ticks deadline,
 * deadline + period, ... exactly overdue + 1 are due at now, where
 *
 *     overdue = (now - deadline) / period                (integer division, now >= deadline)
 *
 * So deadline + k * period <= now for every k <= overdue, and no product below can overflow. Only sums that lead into
 * the future can overflow, and these become VERGE_NEVER.
 *
 * Skip is burst with a cap of 1. Delay is skip with a grid that moves.
 */
#include "verge/interval.h"

#include <errno.h>
#include <stdbool.h>

#include "base/assert.h"

_Static_assert(sizeof(verge_interval) == 64, "part of the ABI");
_Static_assert(sizeof(verge_tick) == 16, "part of the ABI");

static bool is_policy(verge_interval_policy policy) {
    return policy == VERGE_INTERVAL_BURST || policy == VERGE_INTERVAL_DELAY || policy == VERGE_INTERVAL_SKIP;
}

/* Zeroed memory is not an interval, and callers may change fields. This check also prevents a division by 0. */
static bool is_interval(const verge_interval *interval) {
    return interval != NULL && interval->period_ns != 0 && is_policy(interval->policy);
}

static uint64_t add_or_never(uint64_t time_ns, uint64_t duration_ns) {
    return duration_ns > VERGE_NEVER - time_ns ? VERGE_NEVER : time_ns + duration_ns;
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t effective_tolerance(const verge_interval *interval) {
    return min_u64(interval->tolerance_ns, interval->period_ns / 2);
}

/* Returns how many ticks the policy leaves out, of the overdue + 1 ticks that are due. */
static uint64_t missed_of(const verge_interval *interval, uint64_t overdue) {
    if (interval->policy != VERGE_INTERVAL_BURST) {
        return overdue;
    }
    const uint64_t cap = interval->burst_cap;
    return cap != 0 && overdue >= cap ? overdue - cap + 1 : 0;
}

int verge_interval_init(verge_interval *interval, uint64_t first_ns, uint64_t period_ns, verge_interval_policy policy) {
    if (interval == NULL || first_ns == VERGE_NEVER || period_ns == 0 || !is_policy(policy)) {
        return -EINVAL;
    }
    *interval = (verge_interval){
        .deadline_ns = first_ns,
        .period_ns = period_ns,
        .tolerance_ns = VERGE_INTERVAL_TOLERANCE_NS,
        .policy = policy,
    };
    return 0;
}

int verge_interval_next(verge_interval *interval, uint64_t now_ns, verge_tick *ret_tick) {
    if (!is_interval(interval) || now_ns == VERGE_NEVER) {
        return -EINVAL;
    }
    const uint64_t deadline_ns = interval->deadline_ns;
    if (now_ns < deadline_ns) {
        return 0;
    }
    const uint64_t late_ns = now_ns - deadline_ns;
    const uint64_t overdue = late_ns / interval->period_ns;
    const uint64_t missed = missed_of(interval, overdue);
    const uint64_t scheduled_ns = deadline_ns + missed * interval->period_ns;
    VERGE__INVARIANT(missed <= overdue, "I2: no tick is missed that was not due");
    VERGE__INVARIANT(deadline_ns <= scheduled_ns && scheduled_ns <= now_ns, "I1: never early");

    const bool moves = interval->policy == VERGE_INTERVAL_DELAY && late_ns > effective_tolerance(interval);
    interval->deadline_ns = add_or_never(moves ? now_ns : scheduled_ns, interval->period_ns);
    VERGE__INVARIANT(interval->policy == VERGE_INTERVAL_BURST || interval->deadline_ns > now_ns,
                     "I4, I5: the tick taken was the last one due");
    if (ret_tick != NULL) {
        *ret_tick = (verge_tick){.scheduled_ns = scheduled_ns, .missed = missed};
    }
    return 1;
}

int verge_interval_reset(verge_interval *interval, uint64_t deadline_ns) {
    if (!is_interval(interval) || deadline_ns == VERGE_NEVER) {
        return -EINVAL;
    }
    interval->deadline_ns = deadline_ns;
    return 0;
}
