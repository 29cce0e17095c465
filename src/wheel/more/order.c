/* SPDX-License-Identifier: MIT */
/* Sorting, and wheels that are ordered. */
#include "wheel/more/order.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

static bool comes_first(verge__node *a, verge__node *b, bool is_by_deadline) {
    if (is_by_deadline && a->deadline_ns != b->deadline_ns) {
        return a->deadline_ns < b->deadline_ns;
    }
    return verge__timer_sequence(verge__timer_of_node(a)) < verge__timer_sequence(verge__timer_of_node(b));
}

/* Begins to merge the one or two lists of this size into one of the next size. */
static void begin_merge(verge__sorting *sorting, int size) {
    sorting->merging = size;
    sorting->out = sorting->lists[size + 1][0] == NULL ? 0 : 1;
    sorting->size_end = sorting->size_end > size + 2 ? sorting->size_end : size + 2;
    VERGE__INVARIANT(sorting->lists[size + 1][sorting->out] == NULL, "G5: there are at most two lists of a size");
}

void verge__sorting_add(verge__sorting *sorting, verge__node *node) {
    VERGE__INVARIANT(sorting->merging < 0 && !sorting->is_done, "G5: nodes are added between merges");
    int which = sorting->lists[0][0] == NULL ? 0 : 1;
    verge__node_push(&sorting->lists[0][which], node);
    sorting->size_end = sorting->size_end > 0 ? sorting->size_end : 1;
    if (which == 1) {
        begin_merge(sorting, 0);
    }
}

bool verge__sorting_step(verge__sorting *sorting, bool is_by_deadline) {
    if (sorting->merging < 0) {
        return false;
    }
    int size = sorting->merging;
    verge__node *a = sorting->lists[size][0];
    verge__node *b = sorting->lists[size][1];
    if (a == NULL && b == NULL) { /* the merge is done; there may be two lists of the next size now */
        sorting->merging = -1;
        if (sorting->lists[size + 1][1] != NULL) {
            begin_merge(sorting, size + 1);
        }
        return true;
    }
    bool is_ascending = size % 2 == 0;
    verge__node *next = b == NULL || (a != NULL && comes_first(a, b, is_by_deadline) == is_ascending) ? a : b;
    verge__node_remove(next);
    verge__node_push(&sorting->lists[size + 1][sorting->out], next);
    return true;
}

bool verge__sorting_finish(verge__sorting *sorting) {
    int lowest = -1;
    int list_count = 0;
    for (int size = 0; size < sorting->size_end; size++) {
        list_count += (sorting->lists[size][0] != NULL) + (sorting->lists[size][1] != NULL);
        lowest = lowest < 0 && list_count > 0 ? size : lowest;
    }
    sorting->is_done = list_count == 0 || (list_count == 1 && lowest % 2 == 0);
    if (!sorting->is_done) {
        begin_merge(sorting, lowest);
    }
    return !sorting->is_done;
}

bool verge__sorting_is_empty(const verge__sorting *sorting) {
    for (int size = 0; size < sorting->size_end; size++) {
        if (sorting->lists[size][0] != NULL || sorting->lists[size][1] != NULL) {
            return false;
        }
    }
    return true;
}

verge__node *verge__sorting_first(verge__sorting *sorting) {
    if (!sorting->is_done) {
        return NULL;
    }
    for (int size = 0; size < sorting->size_end; size++) {
        if (sorting->lists[size][0] != NULL || sorting->lists[size][1] != NULL) {
            return sorting->lists[size][sorting->lists[size][0] == NULL];
        }
    }
    sorting->is_done = false;
    sorting->size_end = 0;
    return NULL;
}

bool verge__order_is_empty(const verge__order *order) {
    return order == NULL || (verge__sorting_is_empty(&order->past) && verge__sorting_is_empty(&order->tick));
}

int verge__wheel_make_ordered(verge_wheel *wheel, verge_order by) {
    verge__order *order = (verge__order *)verge__allocate(&wheel->allocator, sizeof(*order), _Alignof(verge__order));
    if (order == NULL) {
        return -ENOMEM;
    }
    memset(order, 0, sizeof(*order));
    order->past.merging = -1;
    order->tick.merging = -1;
    order->is_by_deadline = by == VERGE_ORDER_DEADLINE;
    wheel->order = order;
    wheel->options.order = by;
    wheel->nodes.stride = sizeof(verge__table_node);
    wheel->calendar.has_places = false; /* the tag of a timeout has the sequence number instead of the place */
    return 0;
}

int verge__wheel_order_by_deadline(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    bool is_ordered = wheel->order != NULL;
    if (verge__wheel_pending(wheel) > 0 || (is_ordered && !wheel->order->is_by_deadline) ||
        (!is_ordered && wheel->nodes.node_count > 0)) { /* nodes without room for a sequence */
        return -EBUSY;
    }
    int error = is_ordered ? 0 : verge__wheel_make_ordered(wheel, VERGE_ORDER_DEADLINE);
    verge__wheel_set_short_reach(wheel); /* timeouts have no places any more */
    return error;
}
