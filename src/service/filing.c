/* SPDX-License-Identifier: MIT */
/* The wheel of a worker: filing entries and taking them out. Only for the thread that holds the worker's turn. */
#include <errno.h>
#include <string.h>

#include "calendar/level.h"
#include "service/service_internal.h"

enum { PREFETCH_AHEAD = 8 };

/* ---- life ---- */

int verge__worker_init_wheel(verge_worker *worker, uint64_t now_ns) {
    verge__level_shape levels[VERGE__LEVELS_MAX];
    /* Tick 0 is past for every worker, so the first tick is at least 1. From there, the levels reach to the end of
     * time. */
    uint64_t first_tick = now_ns >> worker->shift;
    int error = verge__calendar_init(&worker->calendar,
                                     &(verge__calendar_setup){
                                         .levels = levels,
                                         .level_count = verge__calendar_default_levels(worker->shift, levels),
                                         .shift = worker->shift,
                                         .bias_ns = worker->part_mask,
                                         .first_tick = first_tick > 1 ? first_tick : 1,
                                         .allocator = &worker->service->allocator,
                                     });
    if (error != 0) {
        return error;
    }
    worker->late_list = 0;
    worker->round_end = worker->calendar.cursor;
    return 0;
}

void verge__worker_deinit_wheel(verge_worker *worker) {
    verge__calendar_deinit(&worker->calendar);
}

/* ---- filing ---- */

int verge__worker_prepare(verge_worker *worker) {
    return verge__calendar_secure(&worker->calendar, worker->calendar.entry_count + 1);
}

static bool serves(const verge_worker *worker, const verge__timer *timer, uint64_t tick) {
    return !verge__worker_is_late(worker, tick) && verge__calendar_serves(&worker->calendar, &timer->node, tick);
}

void verge__worker_file(verge_worker *worker, verge__timer *timer, uint64_t tick) {
    verge__entry entry = verge__entry_for_node(&timer->node);
    if (serves(worker, timer, tick)) {
        return;
    }
    if (verge__timer_has_entry(timer)) {
        verge__calendar_withdraw(&worker->calendar, &timer->node);
    }
    if (verge__worker_is_late(worker, tick)) {
        verge__calendar_list_add(&worker->calendar, worker->late_list, entry, &timer->node);
    } else {
        verge__calendar_file(&worker->calendar, entry, &timer->node, tick);
    }
}

/* Keeps a timer that cannot be filed for lack of memory. A record on the shelf is LINKED. */
static void shelve(verge_worker *worker, verge__timer *timer) {
    uint64_t word = verge__word_load(timer);
    while (verge__word_state(word) == VERGE__SCHEDULED && (word & VERGE__LINKED) == 0) {
        if (verge__word_change(timer, &word, word | VERGE__LINKED)) {
            verge__chain_append(&worker->shelf, &worker->service->table, verge__timer_index(timer));
            return;
        }
    }
}

void verge__worker_file_or_shelve(verge_worker *worker, verge__timer *timer) {
    uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
    if (serves(worker, timer, tick)) {
        return;
    }
    if (verge__timer_has_entry(timer) || verge__worker_prepare(worker) == 0) {
        verge__worker_count_live(worker, verge__timer_has_entry(timer) ? 0 : 1);
        verge__worker_file(worker, timer, tick);
    } else {
        shelve(worker, timer);
    }
}

void verge__worker_clear_shelf(verge_worker *worker) {
    if (VERGE__LIKELY(worker->shelf.count == 0) || verge__worker_prepare(worker) != 0) {
        return;
    }
    /* Treat them like records from the inbox. */
    verge__chain_join(&worker->incoming, &worker->service->table, &worker->shelf);
}

/* ---- out of the wheel ---- */

/* A record without an entry is counted only if it is free. */
static void lose_entry(verge_worker *worker, verge__timer *timer) {
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    timer->node.place = VERGE__NO_PLACE;
    verge__worker_count_live(worker, verge__word_state(word) == VERGE__FREE ? 0 : -1);
}

static void prefetch_ahead(verge__list list) {
    if (verge__list_chunk_count(list) > PREFETCH_AHEAD + 1) {
        VERGE__PREFETCH_WRITE(verge__timer_of(*(list - 1 - PREFETCH_AHEAD)));
    }
}

verge__timer *verge__worker_pop_late(verge_worker *worker) {
    size_t first = (size_t)(1 - worker->late_list);
    if (worker->calendar.own[first] == NULL) {
        return NULL;
    }
    prefetch_ahead(worker->calendar.own[first]);
    verge__timer *timer = verge__timer_of(verge__calendar_list_pop(&worker->calendar, first));
    lose_entry(worker, timer);
    return timer;
}

verge__timer *verge__worker_pop_due(verge_worker *worker) {
    if (!verge__calendar_has_due(&worker->calendar)) {
        return NULL;
    }
    prefetch_ahead(*worker->calendar.due_slot);
    verge__timer *timer = verge__timer_of(verge__calendar_pop(&worker->calendar));
    lose_entry(worker, timer);
    return timer;
}
