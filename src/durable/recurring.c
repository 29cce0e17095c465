/* SPDX-License-Identifier: MIT */
#include "durable/recurring.h"

#include <errno.h>

#include "verge/interval.h"
#include "verge/recurrence.h"

static int read_rule(const char *text, verge_recurrence *rule, verge_zone **ret_zone) {
    int error = verge_recurrence_parse(text, rule, NULL, 0);
    if (error == 0) {
        error = verge_zone_open(rule->zone, NULL, ret_zone);
    }
    return error == -ENOENT || error == -EPROTO || error == -EACCES ? -EINVAL : error;
}

int verge__rule_first(const char *text, uint64_t after_ns, uint64_t *ret_due_ns) {
    verge_recurrence rule;
    verge_zone *zone = NULL;
    const int error = read_rule(text, &rule, &zone);
    if (error != 0) {
        return error;
    }
    const uint64_t due_ns = verge_recurrence_next(&rule, zone, after_ns);
    verge_zone_close(zone);
    if (due_ns == VERGE_NEVER) {
        return -EINVAL;
    }
    *ret_due_ns = due_ns;
    return 0;
}

int verge__rule_next(const char *text, uint32_t policy, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_next_ns,
                     uint64_t *ret_missed) {
    verge_recurrence rule;
    verge_zone *zone = NULL;
    const int error = read_rule(text, &rule, &zone);
    if (error != 0) {
        return error;
    }
    uint64_t next_ns = verge_recurrence_next(&rule, zone, due_ns);
    uint64_t missed = 0;
    if (policy != VERGE_INTERVAL_BURST) {
        while (next_ns <= now_ns && missed < VERGE__MISSED_MAX) {
            next_ns = verge_recurrence_next(&rule, zone, next_ns);
            missed++;
        }
        next_ns = next_ns <= now_ns ? verge_recurrence_next(&rule, zone, now_ns) : next_ns;
    }
    verge_zone_close(zone);
    *ret_next_ns = next_ns;
    *ret_missed = missed;
    return 0;
}
