/* SPDX-License-Identifier: MIT */
#include "wheel/order.h"

static bool comes_first(verge__node *a, verge__node *b, bool is_by_deadline) {
    if (is_by_deadline && a->deadline_ns != b->deadline_ns) {
        return a->deadline_ns < b->deadline_ns;
    }
    return verge__timer_sequence(verge__timer_of_node(a)) < verge__timer_sequence(verge__timer_of_node(b));
}

/* Merges the runs of a size, of which there is one at least. */
static void begin_merge(verge__sorting *sorting, int size) {
    sorting->merging = size;
    sorting->out = sorting->runs[size + 1][0] == NULL ? 0 : 1;
    sorting->size_end = sorting->size_end > size + 2 ? sorting->size_end : size + 2;
    VERGE__INVARIANT(sorting->runs[size + 1][sorting->out] == NULL, "G5: there are at most two runs of a size");
}

void verge__sorting_add(verge__sorting *sorting, verge__node *node) {
    VERGE__INVARIANT(sorting->merging < 0 && !sorting->is_done, "G5: nodes are added between merges");
    int which = sorting->runs[0][0] == NULL ? 0 : 1;
    verge__list_push(&sorting->runs[0][which], node);
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
    verge__node *a = sorting->runs[size][0];
    verge__node *b = sorting->runs[size][1];
    if (a == NULL && b == NULL) { /* merged; perhaps there are two of the next size now */
        sorting->merging = -1;
        if (sorting->runs[size + 1][0] != NULL && sorting->runs[size + 1][1] != NULL) {
            begin_merge(sorting, size + 1);
        }
        return true;
    }
    bool is_ascending = size % 2 == 0;
    verge__node *next = b == NULL || (a != NULL && comes_first(a, b, is_by_deadline) == is_ascending) ? a : b;
    verge__list_remove(next);
    verge__list_push(&sorting->runs[size + 1][sorting->out], next);
    return true;
}

bool verge__sorting_finish(verge__sorting *sorting) {
    int lowest = -1;
    int run_count = 0;
    for (int size = 0; size < sorting->size_end; size++) {
        run_count += (sorting->runs[size][0] != NULL) + (sorting->runs[size][1] != NULL);
        lowest = lowest < 0 && run_count > 0 ? size : lowest;
    }
    sorting->is_done = run_count == 0 || (run_count == 1 && lowest % 2 == 0);
    if (!sorting->is_done) {
        begin_merge(sorting, lowest);
    }
    return !sorting->is_done;
}

bool verge__sorting_is_empty(const verge__sorting *sorting) {
    for (int size = 0; size < sorting->size_end; size++) {
        if (sorting->runs[size][0] != NULL || sorting->runs[size][1] != NULL) {
            return false;
        }
    }
    return true;
}

verge__node *verge__sorting_first(verge__sorting *sorting) {
    for (int size = 0; sorting->is_done && size < sorting->size_end; size++) {
        for (int which = 0; which < 2; which++) {
            if (sorting->runs[size][which] != NULL) {
                return sorting->runs[size][which];
            }
        }
    }
    if (sorting->is_done) {
        sorting->is_done = false;
        sorting->size_end = 0;
    }
    return NULL;
}
