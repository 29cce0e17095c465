/* SPDX-License-Identifier: MIT */
/* Leaving: T12 (record.h). All timers of a worker go to the other workers, overdue ones first. Handles and deadlines
 * stay. */
#include <errno.h>

#include "base/probes.h"
#include "service/park.h"
#include "service/turn.h"

enum { SENT_AT_ONCE = 256 };

/* The timers to send. They are collected first, so that overdue ones can be sent first. */
typedef struct verge__departure {
    verge_worker *from;
    verge__chain chain;
} departure;

/* Moves overdue timers to the front, sorted by deadline. All other timers stay in the order in which they were
 * added. */
static void sort(departure *departing) {
    const verge_worker *worker = departing->from;
    const verge__table *table = &worker->service->table;
    uint64_t now_ns = verge__service_clock(worker->service);
    verge__chain overdue = VERGE__CHAIN_EMPTY;
    verge__chain others = VERGE__CHAIN_EMPTY;
    while (departing->chain.count > 0) {
        uint32_t index = verge__chain_pop(&departing->chain, table);
        bool is_overdue = verge__timer_deadline(verge__table_at(table, index)) <= now_ns;
        verge__chain_append(is_overdue ? &overdue : &others, table, index);
    }
    verge__chain_sort(&overdue, table);
    verge__chain_join(&overdue, table, &others);
    departing->chain = overdue;
}

/* Sends the timers in pieces. Each piece goes to the worker that has the fewest timers at that moment. */
static void send_off(departure *departing) {
    verge_service *service = departing->from->service;
    const verge__table *table = &service->table;
    sort(departing);
    while (departing->chain.count > 0) {
        verge__chain piece = VERGE__CHAIN_EMPTY;
        while (departing->chain.count > 0 && piece.count < SENT_AT_ONCE) {
            /* The receiver begins with the record that was pushed first. */
            verge__chain_push(&piece, table, verge__chain_pop(&departing->chain, table));
        }
        verge__send(service, verge__service_pick(service), piece, 0);
    }
}

/* Appends a record whose LINKED flag is set already. */
static void add(departure *departing, uint32_t index) {
    verge__chain_append(&departing->chain, &departing->from->service->table, index);
}

bool verge__worker_unlink(verge_worker *worker, verge__timer *timer) {
    uint64_t word = verge__word_load(timer);
    bool is_scheduled = false;
    do {
        is_scheduled = verge__word_state(word) == VERGE__SCHEDULED && (word & VERGE__LINKED) == 0;
    } while (is_scheduled && !verge__word_change(timer, &word, word | VERGE__LINKED));
    verge__count(&worker->tally.migrated, is_scheduled ? 1 : 0);
    if (is_scheduled) {
        VERGE__PROBE3(migrate, worker->service, worker->id, verge__timer_deadline(timer));
    }
    return is_scheduled;
}

/* Adds a timer that was taken out of the wheel. Two kinds of records are not added: a record that was LINKED before (it
 * is in an inbox or a chain, or on its way there), and a free record, which goes to the pool afterwards. */
static void send_timer(departure *departing, verge__timer *timer) {
    if (verge__worker_unlink(departing->from, timer)) {
        add(departing, verge__table_index(&departing->from->service->table, timer));
    }
}

/* Empties the wheel: first the late timers, of this wave and the next; then those of the current tick, and of all later
 * ticks, in order. */
static void send_wheel(departure *departing) {
    verge_worker *worker = departing->from;
    verge__timer *timer = NULL;
    for (int wave = 0; wave < 2; wave++) {
        while ((timer = verge__worker_pop_late(worker)) != NULL) {
            send_timer(departing, timer);
        }
        worker->late_list = (uint8_t)(1 - worker->late_list);
    }
    size_t budget = SIZE_MAX;
    do {
        while ((timer = verge__worker_pop_due(worker)) != NULL) {
            send_timer(departing, timer);
        }
        budget = SIZE_MAX;
    } while (verge__calendar_next_tick(&worker->calendar, VERGE__NO_TICK - 1, &budget));
}

static void send_chain(departure *departing, verge__chain *chain) {
    const verge__table *table = &departing->from->service->table;
    while (chain->count > 0) {
        add(departing, verge__chain_pop(chain, table));
    }
}

/* If the worker's thread died in a callback, the timer of that callback is still RUNNING. Ends this timer. */
static void end_running(verge_worker *worker) {
    verge_timer handle = atomic_load_explicit(&worker->running, memory_order_relaxed);
    if (handle == 0) {
        return;
    }
    verge__timer *timer = verge__table_at(&worker->service->table, (uint32_t)handle);
    uint64_t word = verge__word_load(timer);
    uint64_t to = 0;
    do {
        /* If a thread is writing the timer's deadline, this function only cancels the timer. That thread ends it. */
        bool is_written = (word & VERGE__WRITING) != 0;
        to = is_written ? (word & ~(VERGE__STATE_MASK | VERGE__AGAIN | VERGE__WAITED)) | VERGE__SCHEDULED | VERGE__QUIT
                        : verge__word_ended(word);
    } while (!verge__word_change(timer, &word, to));
    atomic_store_explicit(&worker->running, 0, memory_order_relaxed);
    verge__count_ended(&worker->tally);
    verge__service_give_room(worker->service);
    verge__worker_release_waiters(worker);
    if ((to & (VERGE__LINKED | VERGE__WRITING)) == 0) {
        verge__worker_free(worker, timer, (uint32_t)handle);
    }
}

/*
 * A seat has three states. JOINED: the worker is chosen for new timers. LEAVING: the worker is not chosen any more.
 * Records that are sent to it stay in its inbox: they may still be in its wheel, so no other worker may take them.
 * VACANT: the wheel is empty, and a thread that sends a record to this seat takes it back and sends it on (inbox.c).
 */
static void leave_now(verge_worker *worker) {
    departure departing = {.from = worker, .chain = VERGE__CHAIN_EMPTY};
    VERGE__STEP("leave: begin");
    atomic_store_explicit(&worker->seat_state, VERGE__SEAT_LEAVING, memory_order_seq_cst);
    end_running(worker);
    send_wheel(&departing);
    send_chain(&departing, &worker->overdue);
    send_chain(&departing, &worker->incoming);
    send_off(&departing);
    VERGE__INVARIANT(verge__worker_timer_count(worker) == 0, "S2: a worker that has left has no timer");
    verge__worker_give_all_free(worker);
    atomic_store_explicit(&worker->tally.linked, 0, memory_order_relaxed);
    verge__worker_deinit_wheel(worker);
}

/* Makes the seat vacant: another worker can take it. */
static void vacate(verge_worker *worker) {
    verge_service *service = worker->service;
    bool is_guest = !worker->is_thread;
    VERGE__STEP("leave: vacate");
    (void)pthread_mutex_lock(&service->lock);
    atomic_store_explicit(&worker->seat_state, VERGE__SEAT_VACANT, memory_order_seq_cst);
    verge__chain inbox = verge__inbox_take_locked(&worker->inbox, &service->table);
    (void)pthread_mutex_unlock(&service->lock);
    /* Worker 0 stands for the orphans. Sending records to the orphans does not take the lock. */
    verge__send(service, 0, inbox, 0);
    verge__wake_for_orphans(service);
    if (is_guest) {
        /* This comes last: after it, verge_service_destroy may free the service. */
        (void)atomic_fetch_sub_explicit(&service->guest_count, 1, memory_order_release);
    }
}

int verge_worker_leave(verge_worker *worker) {
    if (worker == NULL || !verge__worker_is_there(worker)) {
        return -EINVAL;
    }
    if (verge__service_is_forked(worker->service)) {
        return -ECHILD;
    }
    if (verge__is_bound_to_another(worker)) {
        return -EPERM;
    }
    if (verge__is_bound(worker) && (worker->is_in_pass || worker->is_in_callback)) {
        worker->wants_to_leave = true;
        return 0;
    }
    verge__unbind(worker);
    if (worker->is_in_callback && verge__service_watches(worker->service)) {
        verge__turn_take(worker); /* its thread has died, but a rescuer may hold the turn */
        verge__worker_end_watch(worker);
    }
    worker->is_in_pass = worker->is_in_callback = false;
    verge__park_end(worker); /* its thread may have died in a wait; from here on, its wake function is not called */
    leave_now(worker);
    vacate(worker);
    return 0;
}
