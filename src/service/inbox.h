/* SPDX-License-Identifier: MIT */
/*
 * service/inbox.h - a list of records. Any thread adds records, and a take removes all of them at once.
 *
 * A thread pushes only LINKED records: it has set that flag itself, or has taken the record from another list. So a
 * record is in at most one list, and a push needs no memory and cannot fail. The head is count << 32 | index of the
 * newest record.
 *
 * Push (release) pairs with take (acquire): the thread that takes a record sees what its pusher wrote. There is no ABA
 * problem, because a take removes all records. Push and take are also sequentially consistent: a thread pushes, then
 * reads whether the owner sleeps or has left; the owner writes that it sleeps or has left, then reads the inbox. So at
 * least one of the two sees what the other wrote (park.h, inbox.c).
 */
#ifndef VERGE_SRC_SERVICE_INBOX_H
#define VERGE_SRC_SERVICE_INBOX_H

#include "service/table.h"

#define VERGE__INBOX_EMPTY ((uint64_t)VERGE__NO_INDEX)

typedef struct verge__inbox {
    _Atomic uint64_t head;
} verge__inbox;

/* A list of linked records, from first to last. */
typedef struct verge__chain {
    uint32_t first;
    uint32_t last;
    uint32_t count;
} verge__chain;

#define VERGE__CHAIN_EMPTY ((verge__chain){.first = VERGE__NO_INDEX, .last = VERGE__NO_INDEX})

static inline void verge__chain_push(verge__chain *chain, const verge__table *table, uint32_t index) {
    verge__table_at(table, index)->link = chain->first;
    chain->last = chain->count == 0 ? index : chain->last;
    chain->first = index;
    chain->count++;
}

static inline void verge__chain_append(verge__chain *chain, const verge__table *table, uint32_t index) {
    verge__table_at(table, index)->link = VERGE__NO_INDEX;
    if (chain->count == 0) {
        chain->first = index;
    } else {
        verge__table_at(table, chain->last)->link = index;
    }
    chain->last = index;
    chain->count++;
}

/* Moves all records of `more` to the end of the chain. */
static inline void verge__chain_join(verge__chain *chain, const verge__table *table, verge__chain *more) {
    if (more->count == 0) {
        return;
    }
    if (chain->count == 0) {
        *chain = *more;
    } else {
        verge__table_at(table, chain->last)->link = more->first;
        chain->last = more->last;
        chain->count += more->count;
    }
    *more = VERGE__CHAIN_EMPTY;
}

static inline uint32_t verge__chain_pop(verge__chain *chain, const verge__table *table) {
    uint32_t index = chain->first;
    chain->first = verge__table_at(table, index)->link;
    chain->count--;
    return index;
}

/* Sorts by deadline. Records with equal deadlines keep their order. All records must be LINKED: sorting writes their
 * links. */
void verge__chain_sort(verge__chain *chain, const verge__table *table);

static inline void verge__inbox_init(verge__inbox *inbox) {
    atomic_init(&inbox->head, VERGE__INBOX_EMPTY);
}

static inline bool verge__inbox_is_empty(const verge__inbox *inbox) {
    VERGE__STEP("inbox: is empty");
    return atomic_load_explicit(&inbox->head, memory_order_seq_cst) == VERGE__INBOX_EMPTY;
}

/* Adds a chain, whose first record is the newest. Returns how many records the inbox has now. */
static inline uint32_t verge__inbox_push(verge__inbox *inbox, const verge__table *table, verge__chain chain) {
    verge__timer *last = verge__table_at(table, chain.last);
    uint64_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
    uint64_t count = 0;
    do {
        last->link = (uint32_t)head;
        count = (head >> 32) + chain.count;
        VERGE__STEP("inbox: push");
    } while (!atomic_compare_exchange_strong_explicit(&inbox->head, &head, count << 32 | chain.first,
                                                      memory_order_seq_cst, memory_order_relaxed));
    return (uint32_t)count;
}

/* Takes all records, the oldest first. It has no VERGE__STEP, for callers that hold a lock. */
static inline verge__chain verge__inbox_take_locked(verge__inbox *inbox, const verge__table *table) {
    uint64_t head = atomic_exchange_explicit(&inbox->head, VERGE__INBOX_EMPTY, memory_order_seq_cst);
    verge__chain chain = VERGE__CHAIN_EMPTY;
    for (uint32_t index = (uint32_t)head; index != VERGE__NO_INDEX;) {
        uint32_t next = verge__table_at(table, index)->link;
        verge__chain_push(&chain, table, index);
        index = next;
    }
    return chain;
}

static inline verge__chain verge__inbox_take(verge__inbox *inbox, const verge__table *table) {
    VERGE__STEP("inbox: take");
    return verge__inbox_take_locked(inbox, table);
}

#endif
