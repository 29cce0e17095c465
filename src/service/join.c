/* SPDX-License-Identifier: MIT */
/* Joining: a worker takes a seat, either a new one or a vacant one. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include <errno.h>
#include <string.h>

#include "base/exchange.h"
#include "base/sized.h"
#include "service/last_pass.h"
#include "service/park.h"
#include "service/turn.h"

/* ---- seats; under the service's lock ---- */

static int make_seat(verge_service *service, verge_worker **ret_worker) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_relaxed);
    if (count == VERGE_WORKER_COUNT_MAX) {
        return -ENOSPC;
    }
    verge_worker *worker =
        service->allocator.allocate(service->allocator.context, sizeof(*worker), _Alignof(verge_worker));
    if (worker == NULL) {
        return -ENOMEM;
    }
    memset(worker, 0, sizeof(*worker));
    verge__inbox_init(&worker->inbox);
    worker->service = service;
    worker->id = count + 1;
    worker->shift = service->shift;
    worker->part_mask = (UINT64_C(1) << service->shift) - 1;
    atomic_store_explicit(&service->seats[worker->id], worker, memory_order_release);
    atomic_store_explicit(&service->seat_count, worker->id, memory_order_seq_cst);
    *ret_worker = worker;
    return 0;
}

/*
 * A service thread that has left its seat is about to end, but may still run, for example destructors of
 * thread-specific data. These may start timers, and so need the lock, which the caller holds. So the caller must not
 * wait for the thread. If the thread has ended, it is joined now, otherwise later.
 */
static int set_thread_aside(verge_service *service, verge_worker *worker) {
    if (worker->has_thread && pthread_tryjoin_np(worker->thread, NULL) != 0) {
        verge__ending_thread *ending =
            service->allocator.allocate(service->allocator.context, sizeof(*ending), _Alignof(verge__ending_thread));
        if (ending == NULL) {
            return -ENOMEM;
        }
        *ending = (verge__ending_thread){.thread = worker->thread, .next = service->ending_threads};
        service->ending_threads = ending;
    }
    worker->has_thread = false;
    return 0;
}

/* Joins the threads that were set aside and have ended meanwhile. */
static void join_ended_threads(verge_service *service) {
    for (verge__ending_thread **link = &service->ending_threads; *link != NULL;) {
        verge__ending_thread *ending = *link;
        if (pthread_tryjoin_np(ending->thread, NULL) == 0) {
            *link = ending->next;
            service->allocator.release(service->allocator.context, ending, sizeof(*ending));
        } else {
            link = &ending->next;
        }
    }
}

/* Finds a vacant seat, or makes a new one. */
static int find_seat(verge_service *service, verge_worker **ret_worker) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_relaxed);
    join_ended_threads(service);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        if (atomic_load_explicit(&worker->seat_state, memory_order_acquire) == VERGE__SEAT_VACANT) {
            *ret_worker = worker;
            return set_thread_aside(service, worker);
        }
    }
    return make_seat(service, ret_worker);
}

static int take_seat(verge_service *service, const verge_worker_options *options, bool is_thread,
                     verge_worker **ret_worker) {
    verge_worker *worker = NULL;
    int error = find_seat(service, &worker);
    if (error != 0) {
        return error;
    }
    uint64_t now_ns = verge__service_clock(service);
    error = verge__worker_init_wheel(worker, now_ns);
    if (error != 0) {
        return error;
    }
    worker->now_ns = now_ns;
    worker->rescued_ns = 0;
    worker->is_thread = is_thread;
    worker->naps = is_thread;
    bool has_short_ways = service->options.timer_cap == 0 && !verge__service_watches(service);
    worker->has_short_ways = has_short_ways;
    worker->machine_has_cas = verge__machine_has_cas();
    worker->shown.look_seen = 0;
    atomic_store_explicit(&worker->shown.starts_left, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->shown.cancels_left, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->shown.fires_left, 0, memory_order_relaxed);
    verge__worker_set_short_ways(worker);
    worker->scheduled_here = verge__word_with_owner(VERGE__SCHEDULED, worker->id);
    worker->is_in_pass = worker->is_in_callback = worker->wants_to_leave = false;
    worker->incoming = worker->overdue = VERGE__CHAIN_EMPTY;
    worker->overdue_left = 0;
    worker->wake = options->wake;
    worker->wake_context = options->wake_context;
    atomic_store_explicit(&worker->free_count, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->held, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->next_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->is_to_retire, false, memory_order_relaxed);
    atomic_store_explicit(&worker->is_interrupted, false, memory_order_relaxed);
    atomic_store_explicit(&worker->has_made_a_pass, false, memory_order_relaxed);
    atomic_store_explicit(&worker->turn, VERGE__TURN_HELD, memory_order_relaxed);
    /* From here on, other threads send timers to this worker. Its first pass takes the orphans. */
    atomic_store_explicit(&worker->seat_state, VERGE__SEAT_JOINED, memory_order_seq_cst);
    (void)atomic_fetch_add_explicit(&service->guest_count, is_thread ? 0 : 1, memory_order_relaxed);
    *ret_worker = worker;
    return 0;
}

int verge__service_join(verge_service *service, const verge_worker_options *options, bool is_thread,
                        verge_worker **ret_worker) {
    VERGE__STEP("join");
    if (verge__service_is_forked(service)) {
        return -ECHILD;
    }
    (void)pthread_mutex_lock(&service->lock);
    bool is_stopping = atomic_load_explicit(&service->is_stopping, memory_order_relaxed);
    int error = is_stopping ? -ESHUTDOWN : take_seat(service, options, is_thread, ret_worker);
    (void)pthread_mutex_unlock(&service->lock);
    return error;
}

int verge_worker_join(verge_service *service, const verge_worker_options *given, verge_worker **ret_worker) {
    verge_worker_options options = {0};
    if (service == NULL || ret_worker == NULL ||
        (given != NULL && verge__sized_read(given, &options, sizeof(options)) != 0)) {
        return -EINVAL;
    }
    if (!options.unbound && verge__bound(service) != NULL) {
        return -EBUSY;
    }
    verge_worker *worker = NULL;
    int error = verge__service_join(service, &options, false, &worker);
    if (error != 0) {
        return error;
    }
    if (!options.unbound) {
        verge__bind_until_thread_ends(worker);
    }
    *ret_worker = worker;
    return 0;
}

uint32_t verge_worker_id(const verge_worker *worker) {
    return worker == NULL ? 0 : worker->id;
}

uint64_t verge__worker_last_pass_ns(const verge_worker *worker) {
    return worker->now_ns;
}
