/* SPDX-License-Identifier: MIT */
/*
 * Workers that are stuck in a callback are reported, and another worker (the rescuer) runs their due timers. While a
 * callback runs, its worker has laid down the turn: the right to touch that worker's wheel (turn.h). The rescuer takes
 * the turn, and takes over the due timers and all records of the stuck worker's inbox, as if they had come through the
 * rescuer's own inbox. Then it lays the turn down again. If the stuck worker holds the turn at that moment, for a call
 * that the callback makes, the rescuer tries again in its next pass.
 */
#include "service/park.h"
#include "service/turn.h"

enum { RESCUED_AT_ONCE = 1024 };

/* If the worker is stuck in a callback, returns the time at which the callback began; otherwise 0. */
static uint64_t stuck_since(const verge_service *service, const verge_worker *worker, uint64_t now_ns) {
    uint64_t since_ns = atomic_load_explicit(&worker->callback_since_ns, memory_order_acquire);
    return since_ns != 0 && now_ns > since_ns && now_ns - since_ns >= service->options.stuck_after_ns ? since_ns : 0;
}

/* Reports each callback once. If the callback returns, or another begins, at this moment, nothing is reported. If a
 * later callback was reported already, the load of reported_since_ns (acquire) sees the report of that later callback.
 * Then the load of callback_since_ns, which follows, sees that the later callback has begun, and nothing is
 * reported. */
static void report(verge_service *service, verge_worker *worker, uint64_t since_ns) {
    uint64_t reported_ns = atomic_load_explicit(&worker->reported_since_ns, memory_order_acquire);
    if (reported_ns == since_ns || atomic_load_explicit(&worker->callback_since_ns, memory_order_acquire) != since_ns ||
        !atomic_compare_exchange_strong_explicit(&worker->reported_since_ns, &reported_ns, since_ns,
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        return;
    }
    uint32_t rescuer = verge__service_pick(service);
    const verge_stuck stuck = {
        .worker_id = worker->id,
        .timer = atomic_load_explicit(&worker->running, memory_order_relaxed),
        .callback = atomic_load_explicit(&worker->running_callback, memory_order_relaxed),
        .since_ns = since_ns,
        .is_rescued = rescuer != 0 && rescuer != worker->id,
    };
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&worker->callback_since_ns, memory_order_acquire) != since_ns) {
        (void)atomic_compare_exchange_strong_explicit(&worker->reported_since_ns, &since_ns, 0, memory_order_acq_rel,
                                                      memory_order_relaxed);
        return;
    }
    (void)atomic_fetch_add_explicit(&service->stuck, 1, memory_order_relaxed);
    if (service->options.on_stuck != NULL) {
        service->options.on_stuck(service->options.on_stuck_context, &stuck);
    }
}

void verge__worker_end_watch(verge_worker *worker) {
    atomic_store_explicit(&worker->callback_since_ns, 0, memory_order_release);
    atomic_store_explicit(&worker->reported_since_ns, 0, memory_order_release);
}

void verge__service_watch(verge_service *service, uint64_t now_ns) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        uint64_t since_ns = stuck_since(service, worker, now_ns);
        if (since_ns != 0) {
            report(service, worker, since_ns);
            verge__wake_one(service);
        }
    }
}

/*
 * A LINKED record that goes to the rescuer gets its new owner at once, while the rescuer holds the turn. The stuck
 * worker's thread may go on at any moment, and must not find itself named as the owner of a record that is in the
 * rescuer's wheel. A RUNNING record keeps its owner, as in T3.
 */
static void hand_over(verge_worker *rescuer, verge__timer *timer, uint32_t index) {
    uint64_t word = verge__word_load(timer);
    bool is_running = false;
    do {
        is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
    } while (!verge__word_change(timer, &word,
                                 is_running ? word & ~VERGE__LINKED : verge__word_with_owner(word, rescuer->id)));
    if (!is_running) {
        verge__chain_append(&rescuer->incoming, &rescuer->service->table, index);
    }
}

/* Moves a timer from a stuck worker's wheel to the rescuer. */
static void rescue_timer(verge_worker *rescuer, verge_worker *stuck, verge__timer *timer) {
    if (verge__worker_unlink(stuck, timer)) {
        hand_over(rescuer, timer, verge__table_index(&rescuer->service->table, timer));
        verge__count(&rescuer->tally.rescued, 1);
    }
}

/* Moves a bounded number of timers: first those that came too late for their tick, of this wave and the next (pass.c);
 * then those of ticks that have come. */
static void rescue_due(verge_worker *rescuer, verge_worker *stuck, uint64_t last_tick) {
    size_t budget = RESCUED_AT_ONCE;
    for (size_t moved = 0;; moved++) {
        verge__timer *timer = verge__worker_pop_late(stuck);
        if (timer == NULL && stuck->late[stuck->late_list] != NULL) {
            stuck->late_list = (uint8_t)(1 - stuck->late_list);
            timer = verge__worker_pop_late(stuck);
        }
        timer = timer == NULL ? verge__worker_pop_due(stuck) : timer;
        if (timer != NULL) {
            rescue_timer(rescuer, stuck, timer);
        }
        if (moved == RESCUED_AT_ONCE ||
            (timer == NULL && !verge__calendar_next_tick(&stuck->calendar, last_tick, &budget))) {
            return;
        }
    }
}

/* Moves the records that were sent to a stuck worker. If a record is also in that worker's wheel, takes it out
 * first. */
static void rescue_chain(verge_worker *rescuer, verge_worker *stuck, verge__chain *chain) {
    const verge__table *table = &rescuer->service->table;
    while (chain->count > 0) {
        uint32_t index = verge__chain_pop(chain, table);
        verge__timer *timer = verge__table_at(table, index);
        uint64_t word = verge__word_load(timer);
        if (verge__word_owner(word) == stuck->id) {
            verge__worker_withdraw(stuck, timer);
        }
        hand_over(rescuer, timer, index);
    }
}

static void rescue(verge_worker *rescuer, verge_worker *stuck) {
    const verge__table *table = &rescuer->service->table;
    uint64_t target = (rescuer->now_ns >> stuck->shift) + 1;
    rescue_due(rescuer, stuck, target - 1);
    stuck->calendar.quiet_until = 0;
    stuck->rescued_ns = rescuer->now_ns > stuck->rescued_ns ? rescuer->now_ns : stuck->rescued_ns;
    verge__chain inbox = verge__inbox_take(&stuck->inbox, table);
    stuck->overdue_left = 0;
    rescue_chain(rescuer, stuck, &stuck->overdue);
    rescue_chain(rescuer, stuck, &inbox);
    rescue_chain(rescuer, stuck, &stuck->incoming);
}

void verge__worker_rescue_others(verge_worker *worker) {
    verge_service *service = worker->service;
    uint64_t now_ns = worker->now_ns;
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *other = verge__service_seat(service, id);
        uint64_t since_ns = other == worker ? 0 : stuck_since(service, other, now_ns);
        if (since_ns == 0) {
            continue;
        }
        report(service, other, since_ns); /* calls the user's function, so the turn must not be held */
        if (verge__turn_try_take(other)) {
            /* The callback may have returned, and another begun, just before the turn was taken. */
            if (stuck_since(service, other, now_ns) != 0) {
                rescue(worker, other);
            }
            verge__turn_lay_down(other);
        }
    }
}
