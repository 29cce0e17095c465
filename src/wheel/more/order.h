/* SPDX-License-Identifier: MIT */
/*
 * wheel/more/order.h - the order of timers that come out at one tick, in ordered wheels: FIFO or by deadline.
 *
 * When a tick is opened, its timers are sorted, by a merge sort of lists that can stop after any step (G8). A
 * list of size i has up to 2^i nodes. There are at most two lists of a size, and two of the same size are merged into
 * one of the next. A step takes the first node of one of the two, and puts it in front of the result. So the order is
 * reversed each time: lists of even sizes are ascending, lists of odd sizes are descending. Nodes may be withdrawn from
 * any list at any time.
 *
 *     add, step, step, ... add, step, ...      the timers of a tick
 *     finish, step, ... until finish says that all are in one ascending list
 *     first                                    returns the first node of that list
 */
#ifndef VERGE_SRC_WHEEL_MORE_ORDER_H
#define VERGE_SRC_WHEEL_MORE_ORDER_H

#include "wheel/nodes.h"

enum { VERGE__LIST_SIZES = 36 }; /* for 2^31 nodes, and a few more: the last merge may have to reverse the list */

typedef struct verge__sorting {
    verge__node *lists[VERGE__LIST_SIZES][2];
    int merging;  /* the size of the lists that are being merged; -1: none */
    int out;      /* which list of the next size is the result */
    int size_end; /* lists of this size and larger are empty */
    bool is_done; /* all nodes are in one list, which is handed out */
} verge__sorting;

typedef struct verge__order {
    verge__sorting past; /* timers set for the past, which come out first */
    verge__sorting tick; /* those of the tick that is open */
    bool is_by_deadline;
} verge__order;

/* The number of the call that set the timer last. */
static inline uint64_t verge__timer_sequence(const verge__timer_node *timer) {
    return verge__timer_is_timeout(timer) ? verge__node_place(timer)
                                          : ((const verge__table_node *)(const void *)timer)->sequence;
}

/* Adds a node that is in no list. Call it between merges, and before the sorting is done. */
void verge__sorting_add(verge__sorting *sorting, verge__node *node);

/* One step of a merge. False: no merge is under way. */
bool verge__sorting_step(verge__sorting *sorting, bool is_by_deadline);

/* Call it when all nodes were added. True: the next merge has begun. False: all nodes are sorted. */
bool verge__sorting_finish(verge__sorting *sorting);

/* The first node of the sorted list. NULL: the list is empty, and nodes may be added again; or the sorting is not
 * done. */
verge__node *verge__sorting_first(verge__sorting *sorting);

bool verge__sorting_is_empty(const verge__sorting *sorting);

/* Whether no timer is being sorted, and no sorted timer waits to be handed out. Also true if order is NULL. */
bool verge__order_is_empty(const verge__order *order);

#endif
