/* SPDX-License-Identifier: MIT */
/*
 * The due entries of an ordered wheel: a binary heap, in the own list HEAP of the calendar.
 *
 * Entry i comes out before entries 2 i + 1 and 2 i + 2. The entries are in the chunks of the list: the depth of a chunk
 * says which entries it has, and `chunks` finds a chunk by its depth. So an entry is added, taken and withdrawn in
 * logarithmic time, and its node need not know more than its place.
 *
 * Invariants
 *   WH1  no entry comes out after one below it
 *   WH2  `chunks` has room for all entries of the calendar, and for those that room was reserved for
 */
#include <errno.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

/* ---- room ---- */

static int resize(verge_wheel *wheel, size_t room) {
    verge__heap *heap = &wheel->heap;
    VERGE__INVARIANT(room >= verge__list_chunks(wheel->calendar.own[VERGE__LIST_HEAP]),
                     "WH2: there is room for all entries");
    void *chunks = verge__resize(&wheel->allocator, heap->chunks, heap->room * sizeof(*heap->chunks),
                                 room * sizeof(*heap->chunks), _Alignof(verge__chunk *));
    if (chunks == NULL && room > 0) {
        return -ENOMEM;
    }
    heap->chunks = (verge__chunk **)chunks;
    heap->room = room;
    return 0;
}

static size_t chunks_for(size_t entries) {
    return entries == 0 ? 0 : entries / VERGE__CHUNK_ENTRIES + 1;
}

int verge__heap_secure(verge_wheel *wheel, size_t entries) {
    size_t needed = chunks_for(entries);
    return needed <= wheel->heap.room || !verge__wheel_is_ordered(wheel) ? 0 : resize(wheel, needed + needed / 2);
}

void verge__heap_shrink(verge_wheel *wheel, size_t entries) {
    size_t needed = chunks_for(verge__larger(entries, wheel->calendar.entry_count));
    if (2 * needed <= wheel->heap.room) {
        (void)resize(wheel, needed);
    }
}

/* ---- order ---- */

static size_t count_of(const verge_wheel *wheel) {
    return verge__list_count(wheel->calendar.own[VERGE__LIST_HEAP]);
}

static verge__entry *at(const verge_wheel *wheel, size_t i) {
    return &wheel->heap.chunks[i / VERGE__CHUNK_ENTRIES]->entries[i % VERGE__CHUNK_ENTRIES];
}

static bool comes_first(const verge_wheel *wheel, verge__entry a, verge__entry b) {
    uint64_t a_ns = verge__wheel_node(wheel, a)->node.deadline_ns;
    uint64_t b_ns = verge__wheel_node(wheel, b)->node.deadline_ns;
    uint64_t a_sequence = verge__wheel_sequence(wheel, a);
    uint64_t b_sequence = verge__wheel_sequence(wheel, b);
    bool is_by_deadline = wheel->options.order == VERGE_ORDER_DEADLINE && a_ns != b_ns &&
                          ((a_sequence ^ b_sequence) & VERGE__SEQUENCE_NOT_PAST) == 0;
    return is_by_deadline ? a_ns < b_ns : a_sequence < b_sequence;
}

static void put(verge_wheel *wheel, size_t i, verge__entry entry) {
    VERGE__INVARIANT(i < count_of(wheel), "WH1: entries are sifted within the heap");
    *at(wheel, i) = entry;
    verge__wheel_node(wheel, entry)->node.place = (uintptr_t)at(wheel, i);
}

/* An entry belongs at i, or above. */
static void sift_up(verge_wheel *wheel, size_t i, verge__entry entry) {
    for (; i > 0 && comes_first(wheel, entry, *at(wheel, (i - 1) / 2)); i = (i - 1) / 2) {
        put(wheel, i, *at(wheel, (i - 1) / 2));
    }
    put(wheel, i, entry);
}

/* An entry belongs at i, or below. */
static void sift_down(verge_wheel *wheel, size_t i, verge__entry entry) {
    size_t count = count_of(wheel);
    for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
        child += child + 1 < count && comes_first(wheel, *at(wheel, child + 1), *at(wheel, child));
        if (!comes_first(wheel, *at(wheel, child), entry)) {
            break;
        }
        put(wheel, i, *at(wheel, child));
        i = child;
    }
    put(wheel, i, entry);
}

void verge__heap_order(verge_wheel *wheel) {
    verge__list list = wheel->calendar.own[VERGE__LIST_HEAP];
    for (verge__chunk *chunk = list == NULL ? NULL : verge__list_chunk(list); chunk != NULL; chunk = chunk->below) {
        wheel->heap.chunks[chunk->depth] = chunk;
    }
    for (size_t i = count_of(wheel) / 2; i-- > 0;) {
        sift_down(wheel, i, *at(wheel, i));
    }
}

/* ---- entries come and go ---- */

void verge__heap_push(verge_wheel *wheel, verge__entry entry, verge__node *node) {
    verge__calendar_list_add(&wheel->calendar, VERGE__LIST_HEAP, entry, node);
    verge__chunk *chunk = verge__chunk_of(verge__node_place(node));
    VERGE__INVARIANT(chunk->depth < wheel->heap.room, "WH2: there is room for all entries");
    wheel->heap.chunks[chunk->depth] = chunk;
    sift_up(wheel, count_of(wheel) - 1, entry);
}

verge__entry verge__heap_pop(verge_wheel *wheel) {
    VERGE__INVARIANT(wheel->calendar.own[VERGE__LIST_HEAP] != NULL, "WH1: entries are taken while there are some");
    verge__entry first = *at(wheel, 0);
    verge__entry newest = verge__calendar_list_pop(&wheel->calendar, VERGE__LIST_HEAP);
    if (wheel->calendar.own[VERGE__LIST_HEAP] != NULL) {
        sift_down(wheel, 0, newest);
    }
    return first;
}

void verge__heap_withdraw(verge_wheel *wheel, verge__node *node) {
    const verge__chunk *chunk = verge__chunk_of(verge__node_place(node));
    size_t i = (size_t)chunk->depth * VERGE__CHUNK_ENTRIES + (size_t)(verge__node_place(node) - chunk->entries);
    verge__calendar_withdraw(&wheel->calendar, node);
    if (i < count_of(wheel) && !wheel->is_visiting) { /* the newest entry is there now */
        sift_up(wheel, i, *at(wheel, i));
        sift_down(wheel, i, *at(wheel, i));
    }
}

bool verge__heap_has_past(verge_wheel *wheel) {
    return wheel->calendar.own[VERGE__LIST_HEAP] != NULL &&
           (verge__wheel_sequence(wheel, *at(wheel, 0)) & VERGE__SEQUENCE_NOT_PAST) == 0;
}

const char *verge__heap_check(const verge_wheel *wheel) {
    for (size_t i = 1; i < count_of(wheel); i++) {
        if (comes_first(wheel, *at(wheel, i), *at(wheel, (i - 1) / 2))) {
            return "WH1: no entry of the heap comes out after one below it";
        }
    }
    return NULL;
}
