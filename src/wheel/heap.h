/* SPDX-License-Identifier: MIT */
/*
 * wheel/heap.h - the due entries of an ordered wheel: a binary heap, in the own list HEAP of the calendar.
 *
 * Entry i comes out before entries 2 i + 1 and 2 i + 2. The entries are in the chunks of the list: the depth of a chunk
 * says which entries it has, and `chunks` finds a chunk by its depth. So an entry is added, taken and withdrawn in
 * logarithmic time, and its node need not know more than its place.
 *
 * Invariants
 *   WH1  no entry comes out after one below it
 *   WH2  `chunks` has room for all entries of the calendar, and for those that room was reserved for
 */
#ifndef VERGE_SRC_WHEEL_HEAP_H
#define VERGE_SRC_WHEEL_HEAP_H

#include "calendar/list.h"

typedef struct verge_wheel verge_wheel;

typedef struct verge__heap {
    verge__chunk **chunks; /* by depth */
    size_t room;
} verge__heap;

/* Makes room for so many entries, in an ordered wheel. -ENOMEM changes nothing. */
int verge__heap_secure(verge_wheel *wheel, size_t entries);

/* Gives back room if there is twice as much, and memory for a smaller array. */
void verge__heap_shrink(verge_wheel *wheel, size_t entries);

/* Finds the order and `chunks` anew: entries or chunks were moved. */
void verge__heap_order(verge_wheel *wheel);

/* Adds a node without an entry; takes the entry that comes out first, of a heap that is not empty. */
void verge__heap_push(verge_wheel *wheel, verge__entry entry, verge__node *node);
verge__entry verge__heap_pop(verge_wheel *wheel);

/* Takes the entry of a node out. While timeouts are visited, the others stay where they are, out of order. */
void verge__heap_withdraw(verge_wheel *wheel, verge__node *node);

/* Whether the first entry was set for the past. */
bool verge__heap_has_past(verge_wheel *wheel);

/* NULL, or the invariant that is broken. */
const char *verge__heap_check(const verge_wheel *wheel);

#endif
