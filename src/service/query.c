/* SPDX-License-Identifier: MIT */
/* The state of a timer, and the statistics of a service. */
#include <errno.h>
#include <string.h>

#include "base/sized.h"
#include "service/service_internal.h"

/* Returns the id of the worker that owns a timer. 0: none. A timer that a leaving worker has sent on has no owner until
 * another worker takes it. */
static uint32_t worker_of(const verge_service *service, uint64_t word) {
    const verge_worker *worker = verge__service_seat(service, verge__word_owner(word));
    bool is_there =
        worker != NULL && atomic_load_explicit(&worker->seat_state, memory_order_relaxed) != VERGE__SEAT_VACANT;
    return is_there ? worker->id : 0;
}

int verge_service_get(verge_service *service, verge_timer timer, verge_timer_info *ret_info) {
    if (service == NULL || ret_info == NULL) {
        return -EINVAL;
    }
    verge__timer *record = verge__table_find(&service->table, timer);
    if (record == NULL) {
        return -EBADF;
    }
    uint64_t word = verge__word_load(record);
    for (;;) {
        if (verge__word_generation(word) != (uint32_t)(timer >> 32)) {
            return verge__table_why_not(word, timer);
        }
        if (verge__word_state(word) == VERGE__SCHEDULED && (word & VERGE__QUIT) != 0) {
            return -ENOENT;
        }
        const verge_timer_info info = {
            .callback = atomic_load_explicit(&record->callback, memory_order_relaxed),
            .argument = atomic_load_explicit(&record->argument, memory_order_relaxed),
            .deadline_ns = verge__timer_deadline(record),
            .period_ns = verge__timer_period(record),
            .worker_id = worker_of(service, word),
            .is_running = verge__word_state(word) == VERGE__RUNNING_STATE,
        };
        /* The fields belong together if the word has not changed. This is an exchange with the same value, and not a
         * load: it releases the reads above to the next thread that changes the word (acquire) and then writes the
         * fields. */
        if (verge__word_change(record, &word, word)) {
            *ret_info = info;
            return 0;
        }
    }
}

/* ---- statistics ---- */

static void add_tally(verge_service_stats *stats, const verge__tally *tally) {
    stats->fired += verge__counted(&tally->fired);
    /* acquire: the caller sees what the callbacks of the ended timers wrote */
    stats->ended += atomic_load_explicit(&tally->ended, memory_order_acquire);
    stats->cancelled_locally += verge__counted(&tally->cancelled_locally);
    stats->cancelled_remotely += verge__counted(&tally->cancelled_remotely);
    stats->reset += verge__counted(&tally->reset);
    stats->migrated += verge__counted(&tally->migrated);
    stats->rescued += verge__counted(&tally->rescued);
    stats->linked += verge__counted(&tally->linked);
    stats->nodes_moved += verge__counted(&tally->nodes_moved);
    stats->wakeups += verge__counted(&tally->wakeups);
    stats->clock_reads += verge__counted(&tally->clock_reads);
}

/* Reads the ended timers first: a timer that starts and ends meanwhile must not make the difference negative. Then
 * reads what all workers have started, also those that have joined meanwhile. */
static void collect(const verge_service *service, verge_service_stats *stats) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    uint64_t in_wheels = 0;
    VERGE__STEP("statistics: ended");
    add_tally(stats, &service->outside);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        add_tally(stats, &worker->tally);
        in_wheels += verge__worker_timer_count(worker);
        stats->workers += atomic_load_explicit(&worker->seat_state, memory_order_relaxed) == VERGE__SEAT_JOINED;
    }
    atomic_thread_fence(memory_order_acquire);
    stats->started = verge__counted(&service->outside.started);
    count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        stats->started += verge__counted(&verge__service_seat(service, id)->tally.started);
    }
    uint64_t gone = stats->ended + stats->cancelled_locally + stats->cancelled_remotely;
    stats->pending = stats->started > gone ? stats->started - gone : 0;
    stats->idle = stats->linked > in_wheels ? stats->linked - in_wheels : 0;
    stats->orphans = atomic_load_explicit(&service->orphans.head, memory_order_relaxed) >> 32;
    stats->stuck = atomic_load_explicit(&service->stuck, memory_order_relaxed);
    stats->metronome_ticks = atomic_load_explicit(&service->metronome_ticks, memory_order_relaxed);
    stats->bytes = atomic_load_explicit(&service->bytes, memory_order_relaxed);
}

int verge_service_get_stats(const verge_service *service, verge_service_stats *ret_stats) {
    if (service == NULL) {
        return -EINVAL;
    }
    verge_service_stats stats = {0};
    collect(service, &stats);
    return verge__sized_write(ret_stats, &stats, sizeof(stats));
}

uint64_t verge__service_pending(const verge_service *service) {
    verge_service_stats stats = {0};
    collect(service, &stats);
    return stats.pending;
}

size_t verge_service_count(const verge_service *service, uint32_t worker_id) {
    if (service == NULL) {
        return 0;
    }
    if (worker_id != 0) {
        bool is_known = worker_id <= atomic_load_explicit(&service->seat_count, memory_order_acquire);
        return is_known ? verge__worker_timer_count(verge__service_seat(service, worker_id)) : 0;
    }
    if (service->options.timer_cap != 0) {
        return service->options.timer_cap - (size_t)atomic_load_explicit(&service->room, memory_order_relaxed);
    }
    return (size_t)verge__service_pending(service);
}

int verge_service_get_histograms(const verge_service *service, verge_histogram *lateness,
                                 verge_histogram *callback_time) {
    if (service == NULL) {
        return -EINVAL;
    }
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (lateness != NULL) {
            verge_histogram_add(lateness, &worker->lateness);
        }
        if (callback_time != NULL) {
            verge_histogram_add(callback_time, &worker->callback_time);
        }
    }
    return 0;
}
