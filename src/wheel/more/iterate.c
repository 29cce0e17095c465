/* SPDX-License-Identifier: MIT */
/* Visits all pending timers of a wheel. */
#include <errno.h>

#include "wheel/wheel_internal.h"

/* Puts a marker behind a node. The marker counts as linked. */
static void put_behind(verge__calendar *calendar, verge__node *marker, verge__node *node) {
    calendar->linked++;
    marker->next = node->next;
    marker->pprev = &node->next;
    node->next = marker;
    if (marker->next != NULL) {
        marker->next->pprev = &marker->next;
    }
}

/* Visits the timeouts of a list. A marker behind the visited timeout shows where to go on: the visitor may end that
 * timeout, and all others. */
static int visit_list(verge_wheel *wheel, verge__node *first, int (*visit)(void *context, const verge_expiry *timer),
                      void *context) {
    verge__timer_node marker = {.tag = 0};
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
    uint32_t end = wheel->nodes.index_limit; /* timers that get a higher index are not visited, so the loop ends */
    for (uint32_t index = 0; index < end && result == 0; index++) {
        if (wheel->nodes.slabs[index >> VERGE__SLAB_BITS].nodes == NULL) {
            index |= VERGE__SLAB_NODES - 1;
        } else if (verge__timer_is_pending(&verge__nodes_at(&wheel->nodes, index)->timer)) {
            verge_expiry expiry = verge__wheel_expiry(&verge__nodes_at(&wheel->nodes, index)->timer);
            VERGE__OUTSIDE(wheel, result = visit(context, &expiry));
        }
    }
    wheel->visits++;
    verge__node **list = NULL;
    for (size_t i = 0; result == 0 && (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        result = visit_list(wheel, *list, visit, context);
    }
    wheel->visits--;
    return result;
}
