/* SPDX-License-Identifier: MIT */
/* All timers, one by one: for iterate, clear, compact, the first deadline of a backlog. */
#include <errno.h>

#include "wheel/wheel_internal.h"

static bool visit_list(verge_wheel *wheel, verge__list list, verge__visitor *visitor, void *context) {
    for (verge__entry *at = list == NULL ? NULL : list - 1; at != NULL;) {
        verge__entry entry = *at;
        at = verge__entry_older(at); /* if the entry is withdrawn, the newest takes its place: it was visited before */
        if (!visitor(context, wheel, entry, verge__calendar_node(&wheel->calendar, entry))) {
            return false;
        }
    }
    return true;
}

bool verge__wheel_visit(verge_wheel *wheel, verge__visitor *visitor, void *context) {
    verge__calendar *calendar = &wheel->calendar;
    bool goes_on = true;
    for (size_t k = 0; k < calendar->levels_used && goes_on; k++) {
        const verge__level *level = &calendar->levels[k];
        for (uint32_t slot = 0; slot <= level->mask && goes_on; slot++) {
            goes_on = visit_list(wheel, level->slots[slot], visitor, context);
        }
    }
    for (size_t own = 0; own < VERGE__OWN_LISTS && goes_on; own++) {
        goes_on = visit_list(wheel, calendar->own[own], visitor, context);
    }
    return goes_on;
}

typedef struct iteration {
    int (*visit)(void *context, const verge_expiry *timer);
    void *context;
    int result;
} iteration;

/* Timeouts; timers with handles are found in the table. */
static bool visit_timeout(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    iteration *iteration_ = (iteration *)context;
    if (!verge__entry_is_in_table(entry) && verge__node_is_pending(node)) {
        verge_expiry expiry = verge__wheel_expiry(wheel, entry);
        VERGE__OUTSIDE(wheel, iteration_->result = iteration_->visit(iteration_->context, &expiry));
    }
    return iteration_->result == 0;
}

int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer), void *context) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || visit == NULL) {
        return -EINVAL;
    }
    iteration iteration_ = {.visit = visit, .context = context};
    uint32_t end = wheel->nodes.index_limit; /* what a visitor schedules beyond is not visited: so it ends */
    for (uint32_t index = verge__nodes_next_live(&wheel->nodes, 0); index < end && iteration_.result == 0;
         index = verge__nodes_next_live(&wheel->nodes, index + 1)) {
        verge_expiry expiry = verge__wheel_expiry(wheel, verge__entry_for_index(index));
        VERGE__OUTSIDE(wheel, iteration_.result = visit(context, &expiry));
    }
    if (iteration_.result == 0) {
        bool is_nested = wheel->is_visiting;
        wheel->is_visiting = true;
        (void)verge__wheel_visit(wheel, visit_timeout, &iteration_);
        wheel->is_visiting = is_nested;
        if (!is_nested) {
            verge__heap_order(wheel);
        }
    }
    return iteration_.result;
}
