/* SPDX-License-Identifier: MIT */
/*
 * The free records of a worker: two chains of at most VERGE__FREE_KEPT. Records go to the pool, and come from there, a
 * chain at a time, so that a worker which starts and ends timers in turn takes the pool's lock once in 256 times at
 * most.
 */
#include "service/service_internal.h"

/* Gives a chain to the pool: its records' entries, left behind in this wheel, cannot be adopted any more, and when they
 * come up they find that the record is not this worker's. */
static void give(verge_worker *worker, verge__chain *chain) {
    verge__table *table = &worker->service->table;
    if (chain->count == 0) {
        return;
    }
    for (uint32_t index = chain->first, i = 0; i < chain->count; i++) {
        verge__timer *timer = verge__table_at(table, index);
        verge__timer_forget_entry(timer);
        uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
        atomic_store_explicit(&timer->word, verge__word_with_owner(word, 0), memory_order_relaxed);
        index = timer->link;
    }
    verge__table_give(table, chain->first, chain->last, chain->count);
    *chain = VERGE__CHAIN_EMPTY;
}

void verge__worker_give_all_free(verge_worker *worker) {
    give(worker, &worker->free);
    give(worker, &worker->free_spare);
}

int verge__worker_refill(verge_worker *worker) {
    if (VERGE__LIKELY(worker->free.count > 0)) {
        return 0;
    }
    if (worker->free_spare.count > 0) {
        worker->free = worker->free_spare;
        worker->free_spare = VERGE__CHAIN_EMPTY;
        return 0;
    }
    uint32_t first = 0;
    size_t count = 0;
    int error = verge__table_take(&worker->service->table, VERGE__FREE_KEPT, &first, &count);
    if (error != 0) {
        return error;
    }
    /* The last one is needed only when the chain is given away, and found then. */
    worker->free = (verge__chain){.first = first, .count = (uint32_t)count};
    uint32_t last = first;
    for (size_t i = 1; i < count; i++) {
        last = verge__table_at(&worker->service->table, last)->link;
    }
    worker->free.last = last;
    return 0;
}

void verge__worker_free(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    VERGE__INVARIANT(verge__word_state(word) == VERGE__FREE && (word & VERGE__LINKED) == 0,
                     "S1: a record on a free list is FREE and not LINKED");
    if (VERGE__UNLIKELY(verge__word_generation(word) == 0)) {
        /* Its generations are used up: it stays DEAD, so that its handles stay gone. */
        verge__timer_forget_entry(timer);
        verge__word_publish(timer, word | VERGE__DEAD);
        return;
    }
    if (VERGE__UNLIKELY(worker->free.count == VERGE__FREE_KEPT)) {
        give(worker, &worker->free_spare);
        worker->free_spare = worker->free;
        worker->free = VERGE__CHAIN_EMPTY;
    }
    verge__chain_push(&worker->free, &worker->service->table, index);
}
