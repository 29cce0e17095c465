/* SPDX-License-Identifier: MIT */
/* All timers, one by one: for iterate, clear, compact, the first deadline of a backlog. */
#include <errno.h>

#include "wheel/wheel_internal.h"

verge__node **verge__wheel_list(const verge_wheel *wheel, size_t i) {
    const verge__calendar *calendar = &wheel->calendar;
    if (i < calendar->head_count) {
        return &calendar->heads[i];
    }
    i -= calendar->head_count;
    if (i < 2) {
        return (verge__node **)(uintptr_t)(i == 0 ? &wheel->past : &wheel->deferred);
    }
    i -= 2;
    if (wheel->order == NULL || i >= 4 * (size_t)VERGE__RUN_SIZES) {
        return NULL;
    }
    verge__sorting *sorting = i % 2 == 0 ? &wheel->order->past : &wheel->order->tick;
    return &sorting->runs[i / 4][i / 2 % 2];
}

void verge__wheel_visit(verge_wheel *wheel, verge__visitor *visitor, void *context) {
    verge__node **list = NULL;
    for (size_t i = 0; (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        for (verge__node *node = *list, *next = NULL; node != NULL; node = next) {
            next = node->next;
            visitor(context, wheel, verge__timer_of_node(node));
        }
    }
}

/* Puts a marker behind a node. It counts as linked. */
static void put_behind(verge__calendar *calendar, verge__node *marker, verge__node *node) {
    calendar->linked++;
    marker->next = node->next;
    marker->pprev = &node->next;
    node->next = marker;
    if (marker->next != NULL) {
        marker->next->pprev = &marker->next;
    }
}

/* Visits the timeouts of a list. A marker behind the timeout that is visited keeps the place: the visitor may end that
 * timeout, and all others. */
static int visit_list(verge_wheel *wheel, verge__node *first, int (*visit)(void *context, const verge_expiry *timer),
                      void *context) {
    verge__timer_node marker = {.word = 0};
    int result = 0;
    for (verge__node *node = first; node != NULL && result == 0;) {
        verge__timer_node *timer = verge__timer_of_node(node);
        if (!verge__timer_is_timeout(timer) || !verge__timer_is_pending(timer)) {
            node = node->next;
            continue;
        }
        verge_expiry expiry = verge__wheel_expiry(timer);
        put_behind(&wheel->calendar, &marker.node, node);
        VERGE__OUTSIDE(wheel, result = visit(context, &expiry));
        node = marker.node.next;
        verge__calendar_withdraw(&wheel->calendar, &marker.node);
    }
    return result;
}

int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer), void *context) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || visit == NULL) {
        return -EINVAL;
    }
    int result = 0;
    uint32_t end = wheel->nodes.index_limit; /* what a visitor schedules beyond is not visited: so it ends */
    for (uint32_t index = verge__nodes_next_live(&wheel->nodes, 0); index < end && result == 0;
         index = verge__nodes_next_live(&wheel->nodes, index + 1)) {
        verge_expiry expiry = verge__wheel_expiry(&verge__nodes_at(&wheel->nodes, index)->timer);
        VERGE__OUTSIDE(wheel, result = visit(context, &expiry));
    }
    wheel->visits++;
    verge__node **list = NULL;
    for (size_t i = 0; result == 0 && (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        result = visit_list(wheel, *list, visit, context);
    }
    wheel->visits--;
    return result;
}
