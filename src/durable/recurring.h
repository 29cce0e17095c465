/* SPDX-License-Identifier: MIT */
/* durable/recurring.h - when timers with a rule (verge/recurrence.h) are due. The time zone is read each time, so that
 * a change of the zone's data applies at the next tick. */
#ifndef VERGE_SRC_DURABLE_RECURRING_H
#define VERGE_SRC_DURABLE_RECURRING_H

#include <stdint.h>

enum { VERGE__MISSED_MAX = 10000 }; /* at most this many missed ticks of a rule are counted */

/* Computes the first tick after a time. Returns -EINVAL if the text is not a rule, the zone cannot be read, or no tick
 * comes. Also returns -ENOMEM and -EIO. */
int verge__rule_first(const char *text, uint64_t after_ns, uint64_t *ret_due_ns);

/* Computes the next tick of a timer that was due at due_ns and fires at now_ns. It is VERGE_NEVER if no tick comes. The
 * policy is a verge_interval_policy. With BURST, the next tick may be overdue already. The other policies leave out
 * ticks that are overdue, and count them. The errors are those of verge__rule_first. */
int verge__rule_next(const char *text, uint32_t policy, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_next_ns,
                     uint64_t *ret_missed);

#endif
