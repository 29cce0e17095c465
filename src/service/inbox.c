/* SPDX-License-Identifier: MIT */
/*
 * Sending records to workers, and receiving them.
 *
 * A worker may leave while a record is on its way to it. The leaving worker first makes its seat VACANT, and then takes
 * its inbox. The sender first pushes, and then reads whether the seat is VACANT. All four steps are sequentially
 * consistent, so at least one of the two threads sees what the other wrote. If the sender finds the seat VACANT, it
 * takes the inbox, and sends the records on. It takes the inbox under the service's lock, so that no worker joins at
 * this seat meanwhile. Otherwise the inbox could have records that are also in the new worker's wheel, and only the new
 * worker may take those. Orphans (timers without a worker) are in no wheel, so any worker may take them.
 */
#include "service/inbox.h"

#include "service/park.h"

enum { RECEIVED_AT_ONCE = 1024 };

/* ---- sorting ---- */

/* Merges two sorted chains. Among equal deadlines, records of `older` come first. If another thread resets a deadline
 * meanwhile, the result may be out of order, but no record is lost. */
static verge__chain merge(const verge__table *table, verge__chain older, verge__chain newer) {
    verge__chain merged = VERGE__CHAIN_EMPTY;
    while (older.count > 0 && newer.count > 0) {
        uint64_t older_ns = verge__timer_deadline(verge__table_at(table, older.first));
        uint64_t newer_ns = verge__timer_deadline(verge__table_at(table, newer.first));
        verge__chain_append(&merged, table, verge__chain_pop(older_ns <= newer_ns ? &older : &newer, table));
    }
    verge__chain_join(&merged, table, &older);
    verge__chain_join(&merged, table, &newer);
    return merged;
}

/* parts[i] is empty or has 2^i records, sorted. Records with a higher i came earlier. */
void verge__chain_sort(verge__chain *chain, const verge__table *table) {
    enum { PARTS = 33 };
    verge__chain parts[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = VERGE__CHAIN_EMPTY;
    }
    while (chain->count > 0) {
        verge__chain carried = VERGE__CHAIN_EMPTY;
        verge__chain_append(&carried, table, verge__chain_pop(chain, table));
        size_t i = 0;
        for (; parts[i].count > 0; i++) {
            carried = merge(table, parts[i], carried);
            parts[i] = VERGE__CHAIN_EMPTY;
        }
        parts[i] = carried;
    }
    verge__chain sorted = VERGE__CHAIN_EMPTY;
    for (size_t i = 0; i < PARTS; i++) {
        sorted = merge(table, parts[i], sorted);
    }
    *chain = sorted;
}

#if defined(VERGE_STEPS) && VERGE_STEPS
uint32_t verge__orphans_min = VERGE__ORPHANS_MIN;
#endif

/* ---- sending ---- */

static uint32_t seat_state(const verge_worker *worker) {
    VERGE__STEP("seat: state");
    return atomic_load_explicit(&worker->seat_state, memory_order_seq_cst);
}

/* How many timers a worker has, including those on their way to it. A worker that is stuck, or has not made its first
 * pass and may not run yet, counts as more loaded than all other workers. */
static uint64_t load_of(const verge_worker *worker) {
    bool is_stuck = atomic_load_explicit(&worker->reported_since_ns, memory_order_relaxed) != 0;
    bool is_new = !atomic_load_explicit(&worker->has_made_a_pass, memory_order_relaxed);
    uint64_t on_the_way = atomic_load_explicit(&worker->inbox.head, memory_order_relaxed) >> 32;
    return (verge__worker_timer_count(worker) + on_the_way) | (uint64_t)is_stuck << 63 | (uint64_t)is_new << 62;
}

/* Whether a worker sleeps. A worker that is awake looks at the orphans before it goes to sleep. */
static bool is_asleep(const verge_worker *worker) {
    VERGE__STEP("pick: is asleep");
    return atomic_load_explicit(&worker->wait_until_ns, memory_order_seq_cst) > VERGE__WAKING;
}

static uint32_t pick(const verge_service *service, bool only_asleep) {
    uint32_t picked = 0;
    uint64_t least = UINT64_MAX;
    /* This load is sequentially consistent, like that of the state. So if a joining worker saw no orphans, a thread
     * that pushes some later sees the worker. */
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_seq_cst);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (seat_state(worker) != VERGE__SEAT_JOINED || (only_asleep && !is_asleep(worker))) {
            continue;
        }
        uint64_t load = count > 1 ? load_of(worker) : 0; /* load_of is slow: it reads what other threads write */
        if (load < least) {
            least = load;
            picked = id;
        }
    }
    return picked;
}

uint32_t verge__service_pick(const verge_service *service) {
    return pick(service, false);
}

void verge__wake_one(verge_service *service) {
    uint32_t worker_id = pick(service, true);
    if (worker_id != 0) {
        verge__park_wake(verge__service_seat(service, worker_id), 0);
    }
}

/* Takes the inbox of a vacant seat. The lock keeps workers from joining there meanwhile. */
static verge__chain take_back(verge_service *service, verge_worker *worker) {
    verge__chain chain = VERGE__CHAIN_EMPTY;
    (void)pthread_mutex_lock(&service->lock);
    if (atomic_load_explicit(&worker->seat_state, memory_order_relaxed) == VERGE__SEAT_VACANT) {
        chain = verge__inbox_take_locked(&worker->inbox, &service->table);
    }
    (void)pthread_mutex_unlock(&service->lock);
    return chain;
}

void verge__wake_for_orphans(verge_service *service) {
    if (!verge__inbox_is_empty(&service->orphans)) {
        verge__wake_one(service);
    }
}

/*
 * While there is no worker, cancelled timers stay among the orphans. So a thread that adds orphans frees the cancelled
 * ones, whenever the number of orphans has more than doubled since the last time. Pending timers go back to the
 * orphans, and the caller wakes a worker that has joined meanwhile.
 */
static void sweep_orphans(verge_service *service, uint32_t count) {
    verge__table *table = &service->table;
    if (VERGE__LIKELY(count <= atomic_load_explicit(&service->orphans_allowed, memory_order_relaxed))) {
        return;
    }
    verge__chain kept = VERGE__CHAIN_EMPTY;
    verge__chain spent = VERGE__CHAIN_EMPTY;
    for (verge__chain all = verge__inbox_take(&service->orphans, table); all.count > 0;) {
        uint32_t index = verge__chain_pop(&all, table);
        verge__timer *timer = verge__table_at(table, index);
        uint64_t word = verge__word_load(timer);
        /* T3. A SPENT record stays SPENT, and no other thread changes it. If it has no generations left, a worker
         * handles it (free.c). */
        bool is_free = verge__word_state(word) == VERGE__SPENT && verge__word_generation(word) != 0;
        if (is_free) {
            VERGE__INVARIANT(!verge__timer_is_filed(timer), "S2: an orphan is in no wheel");
            verge__word_publish(timer, verge__word_with_owner(word & ~(VERGE__LINKED | VERGE__STATE_MASK), 0));
        }
        verge__chain_push(is_free ? &spent : &kept, table, index);
    }
    atomic_store_explicit(&service->orphans_allowed, 2 * kept.count + verge__orphans_min, memory_order_relaxed);
    if (spent.count > 0) {
        verge__table_give(table, spent.first, spent.last, spent.count);
    }
    if (kept.count > 0) {
        (void)verge__inbox_push(&service->orphans, table, kept);
    }
}

void verge__send(verge_service *service, uint32_t worker_id, verge__chain chain, uint64_t deadline_ns) {
    const verge__table *table = &service->table;
    while (chain.count > 0) {
        verge_worker *worker = worker_id == 0 ? NULL : verge__service_seat(service, worker_id);
        if (worker == NULL) {
            sweep_orphans(service, verge__inbox_push(&service->orphans, table, chain));
            verge__wake_for_orphans(service);
            return;
        }
        uint32_t count = verge__inbox_push(&worker->inbox, table, chain);
        if (VERGE__LIKELY(seat_state(worker) != VERGE__SEAT_VACANT)) {
            verge__park_wake(worker, count >= VERGE__SPENT_BEFORE_WAKE ? 0 : deadline_ns);
            return;
        }
        /* The chain may also have records that other threads have pushed. The owner field of all these records is out
         * of date. */
        chain = take_back(service, worker);
        worker_id = verge__service_pick(service);
        deadline_ns = 0;
    }
}

void verge__send_one(verge_service *service, uint32_t worker_id, uint32_t index, uint64_t deadline_ns) {
    verge__send(service, worker_id, (verge__chain){.first = index, .last = index, .count = 1}, deadline_ns);
}

/* ---- receiving ---- */

/* Returns the new word of a record that this worker takes. A RUNNING record keeps its owner, which handles it when the
 * callback has returned. */
static uint64_t taken_by(const verge_worker *worker, uint64_t word) {
    switch (verge__word_state(word)) {
    case VERGE__RUNNING_STATE:
        return word & ~VERGE__LINKED;
    case VERGE__SPENT:
        return verge__word_with_owner(word & ~(VERGE__LINKED | VERGE__STATE_MASK), worker->id);
    default: /* AGAIN is cleared: this worker files it, or runs it */
        return verge__word_with_owner(word & ~(VERGE__LINKED | VERGE__AGAIN), worker->id);
    }
}

/* T3: takes a record from the inbox. This worker becomes its owner (exception: taken_by), or frees it. Returns whether
 * the record is SCHEDULED: a pending timer. */
bool verge__worker_take(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t word = verge__word_load(timer);
    do {
        VERGE__INVARIANT((word & VERGE__LINKED) != 0, "S1: what is in an inbox is LINKED");
        VERGE__INVARIANT(verge__word_state(word) != VERGE__FREE, "S1: what is in an inbox is not free");
        if (verge__word_owner(word) != worker->id && verge__word_state(word) != VERGE__RUNNING_STATE) {
            VERGE__INVARIANT(!verge__timer_is_filed(timer), "S3: a record that changes its owner is in no wheel");
        }
    } while (!verge__word_change(timer, &word, taken_by(worker, word)));
    if (verge__word_state(word) == VERGE__SPENT) {
        verge__worker_withdraw(worker, timer); /* it may be filed for a tick after its last deadline */
        verge__worker_free(worker, timer, index);
    }
    return verge__word_state(word) == VERGE__SCHEDULED;
}

static void receive_orphans(verge_worker *worker) {
    verge__table *table = &worker->service->table;
    if (VERGE__LIKELY(verge__inbox_is_empty(&worker->service->orphans))) {
        return;
    }
    verge__chain chain = verge__inbox_take(&worker->service->orphans, table);
    verge__chain_join(&worker->incoming, table, &chain);
}

/* Returns whether a received record is a timer that is too late for its tick: this worker has taken the tick, or the
 * tick belongs to the wave in progress (pass.c). Such timers are not filed anew, but stay LINKED, in a chain. Those
 * that are received together run in the order of their deadlines (G5). */
static bool is_overdue(const verge_worker *worker, verge__timer *timer) {
    return verge__word_state(verge__word_load(timer)) == VERGE__SCHEDULED &&
           verge__worker_is_late(worker, verge__worker_tick(worker, verge__timer_deadline(timer)));
}

void verge__worker_receive(verge_worker *worker) {
    verge__table *table = &worker->service->table;
    receive_orphans(worker);
    if (!verge__inbox_is_empty(&worker->inbox)) {
        verge__chain chain = verge__inbox_take(&worker->inbox, table);
        worker->received_count += chain.count;
        verge__chain_join(&worker->incoming, table, &chain);
    }
    verge__chain overdue = VERGE__CHAIN_EMPTY;
    for (size_t i = 0; i < RECEIVED_AT_ONCE && worker->incoming.count > 0; i++) {
        uint32_t index = verge__chain_pop(&worker->incoming, table);
        verge__timer *timer = verge__table_at(table, index);
        if (is_overdue(worker, timer)) {
            verge__chain_append(&overdue, table, index);
            continue;
        }
        if (verge__worker_take(worker, timer, index)) {
            verge__worker_count_timer(worker, verge__timer_is_filed(timer) ? 0 : 1);
            verge__worker_file(worker, timer);
        }
    }
    verge__chain_sort(&overdue, table);
    verge__chain_join(&worker->overdue, table, &overdue);
}
