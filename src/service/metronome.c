/* SPDX-License-Identifier: MIT */
/*
 * The metronome is a thread that publishes the time, so that busy workers need not read the clock in every pass. It
 * also checks for stuck workers. It publishes the time of the clock, and not a count of its own ticks.
 *
 * The metronome rests until a worker needs it. A worker needs it after many passes without a wait or, in a service that
 * watches for stuck callbacks, while it runs a callback. If no worker has needed it for a while, it rests again. While
 * it rests, workers read the clock themselves. They also do so if the published time has not changed for a few passes.
 * So a metronome that falls behind, stalls or dies costs only clock reads.
 *
 * In their passes, only the service's own threads use the published time. For these threads it is never old: each
 * callback ends with a read of the clock, after a pass without a callback they wait, and the pass after a wait reads
 * the clock. A thread of the user may do anything between two passes, so each of its passes reads the clock.
 *
 * If no pending timer is due soon, the metronome ticks more slowly: it sleeps for up to 16 times resolution_ns.
 */
#include <errno.h>

#include "service/park.h"

enum {
    BUSY_READS = 64, /* reads of the time without a wait, after which a worker needs the metronome */
    SAME_READS = 4,  /* reads of the same published time, after which a worker reads the clock itself */
    IDLE_TICKS = 32, /* ticks in a row at which no worker has needed the metronome; then it rests */
    SLOWEST = 16,    /* the metronome's longest sleep between two ticks, in units of resolution_ns */
};

/* ---- the workers' side ---- */

uint64_t verge__worker_read_now(verge_worker *worker) {
    verge_service *service = worker->service;
    if (++worker->busy_count >= BUSY_READS) {
        worker->busy_count = 0;
        verge__metronome_want(service);
    }
    uint64_t published_ns = atomic_load_explicit(&service->published_ns, memory_order_relaxed);
    bool is_on = atomic_load_explicit(&service->metronome_is_on, memory_order_acquire);
    bool is_same = published_ns == worker->published_ns;
    worker->same_count = is_same ? worker->same_count + 1 : 0;
    worker->published_ns = published_ns;
    uint64_t now_ns = published_ns;
    if (!is_on || !worker->is_thread || worker->same_count >= SAME_READS || worker->busy_count <= 1) {
        worker->same_count = 0;
        now_ns = verge__service_clock(service);
        verge__count(&worker->tally.clock_reads, 1);
    }
    return now_ns > worker->now_ns ? now_ns : worker->now_ns;
}

void verge__metronome_want(verge_service *service) {
    if (!service->has_metronome_thread) {
        return;
    }
    VERGE__STEP("metronome: want");
    if (!atomic_load_explicit(&service->metronome_is_wanted, memory_order_relaxed)) {
        atomic_store_explicit(&service->metronome_is_wanted, true, memory_order_seq_cst);
    }
    if (!atomic_load_explicit(&service->metronome_is_on, memory_order_seq_cst)) {
        (void)atomic_fetch_add_explicit(&service->metronome_signal, 1, memory_order_release);
        verge__futex_wake_all(&service->metronome_signal);
    }
}

uint64_t verge_service_exact_now(const verge_service *service) {
    return service == NULL ? 0 : verge__service_clock(service);
}

uint64_t verge_service_now(const verge_service *service) {
    if (service == NULL) {
        return 0;
    }
    return atomic_load_explicit(&service->metronome_is_on, memory_order_acquire)
               ? atomic_load_explicit(&service->published_ns, memory_order_relaxed)
               : verge__service_clock(service);
}

/* ---- the metronome's side ---- */

static uint64_t tick(verge_service *service) {
    uint64_t now_ns = verge__service_clock(service);
    atomic_store_explicit(&service->published_ns, now_ns, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&service->metronome_ticks, 1, memory_order_relaxed);
    if (verge__service_watches(service)) {
        verge__service_watch(service, now_ns);
    }
    return now_ns;
}

int verge_service_tick(verge_service *service) {
    if (service == NULL || service->has_metronome_thread) {
        return -EINVAL;
    }
    if (verge__service_is_forked(service)) {
        return -ECHILD;
    }
    (void)tick(service);
    return 0;
}

/* Returns how long to sleep before the next tick: until the first timer of any worker is due, but at most 16 times
 * resolution_ns and, if callbacks are watched, at most stuck_after_ns. The sleep is never shorter than
 * resolution_ns. */
static uint64_t pause_ns(const verge_service *service, uint64_t now_ns) {
    uint64_t first_ns = VERGE_NEVER;
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (atomic_load_explicit(&worker->seat_state, memory_order_relaxed) == VERGE__SEAT_JOINED) {
            uint64_t next_ns = atomic_load_explicit(&worker->next_ns, memory_order_relaxed);
            first_ns = next_ns < first_ns ? next_ns : first_ns;
        }
    }
    uint64_t left_ns = first_ns > now_ns ? first_ns - now_ns : 0;
    uint64_t slowest_ns = service->options.resolution_ns * SLOWEST;
    if (verge__service_watches(service) && slowest_ns > service->options.stuck_after_ns) {
        slowest_ns = service->options.stuck_after_ns;
    }
    left_ns = left_ns < slowest_ns ? left_ns : slowest_ns;
    return left_ns > service->options.resolution_ns ? left_ns : service->options.resolution_ns;
}

static bool is_any_worker_awake(const verge_service *service) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (atomic_load_explicit(&worker->seat_state, memory_order_relaxed) == VERGE__SEAT_JOINED &&
            atomic_load_explicit(&worker->wait_until_ns, memory_order_relaxed) == VERGE__AWAKE) {
            return true;
        }
    }
    return false;
}

/* Sleeps until a worker needs the metronome, or the service ends. */
static void rest(verge_service *service) {
    atomic_store_explicit(&service->metronome_is_on, false, memory_order_seq_cst);
    uint32_t signal = atomic_load_explicit(&service->metronome_signal, memory_order_acquire);
    while (!atomic_load_explicit(&service->metronome_is_wanted, memory_order_seq_cst) &&
           !atomic_load_explicit(&service->is_stopping, memory_order_seq_cst)) {
        verge__futex_wait(service, &service->metronome_signal, signal, VERGE_NEVER);
        signal = atomic_load_explicit(&service->metronome_signal, memory_order_acquire);
    }
}

static void *run(void *argument) {
    verge_service *service = argument;
    uint32_t idle_ticks = IDLE_TICKS;
    while (!atomic_load_explicit(&service->is_stopping, memory_order_acquire)) {
        if (idle_ticks >= IDLE_TICKS) {
            rest(service);
            idle_ticks = 0;
        }
        uint32_t signal = atomic_load_explicit(&service->metronome_signal, memory_order_acquire);
        uint64_t now_ns = tick(service);
        atomic_store_explicit(&service->metronome_is_on, true, memory_order_release);
        bool wanted = atomic_exchange_explicit(&service->metronome_is_wanted, false, memory_order_seq_cst) ||
                      (verge__service_watches(service) && is_any_worker_awake(service));
        idle_ticks = wanted ? 0 : idle_ticks + 1;
        if (!atomic_load_explicit(&service->is_stopping, memory_order_acquire)) {
            verge__futex_wait(service, &service->metronome_signal, signal, now_ns + pause_ns(service, now_ns));
        }
    }
    return NULL;
}

bool verge__is_metronome(const verge_service *service) {
    return service->has_metronome_thread && pthread_equal(service->metronome_thread, pthread_self());
}

int verge__metronome_start(verge_service *service) {
    service->has_metronome_thread = true;
    int error = pthread_create(&service->metronome_thread, NULL, run, service);
    service->has_metronome_thread = error == 0;
    return -error;
}

void verge__metronome_stop(verge_service *service) {
    if (service->has_metronome_thread) {
        (void)atomic_fetch_add_explicit(&service->metronome_signal, 1, memory_order_release);
        verge__futex_wake_all(&service->metronome_signal);
        (void)pthread_join(service->metronome_thread, NULL);
        service->has_metronome_thread = false;
    }
}
