/* SPDX-License-Identifier: MIT */
/*
 * The free records of a worker: a stack of at most VERGE__FREE_KEPT. The stack holds generations and indexes, so that a
 * start need not wait for a load from the record. Records move to the pool and from it by halves of the stack. So a
 * worker that starts and ends timers in turn takes the pool's lock once in 128 starts, at most. If the pool is empty,
 * the worker takes many new records in one go (table.h). New records that a leaving worker has not used stay with its
 * seat. A free record may still be in the worker's wheel, so that its next timer can use its place (record.h).
 */
#include <string.h>

#include "service/service_internal.h"

enum {
    AT_ONCE = VERGE__FREE_KEPT / 2,
};

#if defined(VERGE_STEPS) && VERGE_STEPS
uint32_t verge__fresh_at_once = VERGE__FRESH_AT_ONCE;
#endif

static void count_free(verge_worker *worker, int by) {
    atomic_store_explicit(&worker->free_count, verge__worker_free_count(worker) + (uint32_t)by, memory_order_relaxed);
    verge__count(&worker->held, (uint64_t)(int64_t)by);
}

/* Takes a free record out of the wheel, if it is there. free_count stays: it counts all free records. */
static void withdraw(verge_worker *worker, verge__timer *timer) {
    if (verge__timer_is_filed(timer)) {
        verge__calendar_withdraw(&worker->calendar, &timer->node);
    }
}

/* Takes the lowest `count` records of the stack, which were freed first. Withdraws them, and gives them to the pool. */
static void give(verge_worker *worker, uint32_t count) {
    verge__table *table = &worker->service->table;
    if (count == 0) {
        return;
    }
    verge__chain chain = VERGE__CHAIN_EMPTY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)worker->free[i];
        verge__timer *timer = verge__table_at(table, index);
        withdraw(worker, timer);
        uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
        atomic_store_explicit(&timer->word, verge__word_with_owner(word, 0), memory_order_relaxed);
        verge__chain_push(&chain, table, index);
    }
    verge__table_give(table, chain.first, chain.last, chain.count);
    memmove(worker->free, worker->free + count, (verge__worker_free_count(worker) - count) * sizeof(worker->free[0]));
    count_free(worker, -(int)count);
}

void verge__worker_give_all_free(verge_worker *worker) {
    give(worker, verge__worker_free_count(worker));
}

static void use_fresh(verge_worker *worker) {
    uint32_t count = worker->fresh_count < AT_ONCE ? worker->fresh_count : AT_ONCE;
    for (uint32_t i = 0; i < count; i++) {
        worker->free[i] = worker->fresh_next + count - 1 - i; /* generation 0; the lowest index is on top */
    }
    worker->fresh_next += count;
    worker->fresh_count -= count;
    count_free(worker, (int)count);
}

int verge__worker_refill(verge_worker *worker) {
    if (VERGE__LIKELY(verge__worker_free_count(worker) > 0)) {
        return 0;
    }
    verge__table *table = &worker->service->table;
    if (worker->fresh_count == 0 && verge__table_pooled(table) == 0) {
        int error = verge__table_take_fresh(table, verge__fresh_at_once, &worker->fresh_next, &worker->fresh_count);
        if (error != 0) {
            return error;
        }
    }
    if (worker->fresh_count > 0) {
        use_fresh(worker);
        return 0;
    }
    uint32_t index = 0;
    size_t count = 0;
    int error = verge__table_take(table, AT_ONCE, &index, &count);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        verge__timer *timer = verge__table_at(table, index);
        uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
        worker->free[i] = verge__word_handle(word, index);
        index = timer->link;
    }
    count_free(worker, (int)count);
    return 0;
}

void verge__worker_free(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    VERGE__INVARIANT(verge__word_state(word) == VERGE__FREE && (word & VERGE__LINKED) == 0,
                     "S1: a record on a free list is FREE and not LINKED");
    if (VERGE__UNLIKELY(verge__word_generation(word) == 0)) {
        /* The record has no generations left. From now on it is SPENT, so that its handles stay invalid. */
        withdraw(worker, timer);
        verge__word_publish(timer, word | VERGE__SPENT);
        return;
    }
    if (VERGE__UNLIKELY(verge__worker_free_count(worker) == VERGE__FREE_KEPT)) {
        give(worker, AT_ONCE);
    }
    worker->free[verge__worker_free_count(worker)] = verge__word_handle(word, index);
    count_free(worker, 1);
}

uint32_t verge__worker_pop_free(verge_worker *worker) {
    uint32_t free_count = verge__worker_free_count(worker) - 1;
    atomic_store_explicit(&worker->free_count, free_count, memory_order_relaxed);
    return (uint32_t)worker->free[free_count];
}
