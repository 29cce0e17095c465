/* SPDX-License-Identifier: MIT */
/* durable/recurring.h - when timers with a rule (verge/recurrence.h) are due. The time zone is read each time, so that
 * changed rules of a zone apply at the next tick. */
#ifndef VERGE_SRC_DURABLE_RECURRING_H
#define VERGE_SRC_DURABLE_RECURRING_H

#include <stdint.h>

enum { VERGE__MISSED_MAX = 10000 }; /* so many missed ticks of a rule are counted */

/* The first tick after a time. -EINVAL: it is no rule, there is no such zone, or no such tick. -ENOMEM, -EIO. */
int verge__rule_first(const char *text, uint64_t after_ns, uint64_t *ret_due_ns);

/* The tick after the one that was due at due_ns and is taken at now_ns; VERGE_NEVER: there is none. The policy is one
 * of verge_interval_policy: burst takes missed ticks, too; the others leave them out, and count them. Errors as
 * above. */
int verge__rule_next(const char *text, uint32_t policy, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_next_ns,
                     uint64_t *ret_missed);

#endif
