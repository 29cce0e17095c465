/* SPDX-License-Identifier: MIT */
#include "service/sources.h"

#include "base/bits.h"
#include "service/service_internal.h"

/* A source has a number, and is found by its key. PROBE_COUNT: how many numbers are tried for a key. PLACES: how many
 * numbers there are. */
enum { PROBE_COUNT = 32, PLACES = VERGE__SOURCE_COUNT - 1 };

static bool change_key(_Atomic uint64_t *place, uint64_t from, uint64_t to) {
    return atomic_compare_exchange_strong_explicit(place, &from, to, memory_order_relaxed, memory_order_relaxed);
}

static bool has_key(_Atomic uint64_t *place, uint64_t key) {
    const uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    return found == key ||
           (found == (key | VERGE__KEY_LEAVING) &&
            (change_key(place, found, key) || atomic_load_explicit(place, memory_order_relaxed) == key));
}

/* Two threads may give the same key two numbers. Both numbers have the same name, and scope shows them as one
 * source. */
uint32_t verge__source_find(verge__sources *sources, uint64_t key) {
    if (key == 0) {
        return VERGE__SOURCE_OTHERS;
    }
    const uint32_t hash = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 40);
    uint32_t vacant = VERGE__SOURCE_OTHERS;
    for (uint32_t i = 0; i < PROBE_COUNT; i++) {
        const uint32_t source = 1 + (hash + i) % PLACES;
        if (has_key(&sources->keys[source], key)) {
            return source;
        }
        if (vacant == VERGE__SOURCE_OTHERS && verge__source_key(sources, source) == 0) {
            vacant = source;
        }
    }
    const bool is_its = vacant != VERGE__SOURCE_OTHERS &&
                        (change_key(&sources->keys[vacant], 0, key) || has_key(&sources->keys[vacant], key));
    return is_its ? vacant : VERGE__SOURCE_OTHERS;
}

bool verge__source_leave(verge__sources *sources, uint32_t source) {
    const uint64_t key = verge__source_key(sources, source);
    return change_key(&sources->keys[source], key, key | VERGE__KEY_LEAVING);
}

bool verge__source_free(verge__sources *sources, uint32_t source) {
    return change_key(&sources->keys[source], verge__source_key(sources, source) | VERGE__KEY_LEAVING, 0);
}

uint32_t verge__service_source(verge_service *service, uint64_t key) {
    return verge__source_find(&service->sources, key);
}

uint32_t verge__late_bucket(uint64_t late_ns) {
    if (late_ns >> VERGE__LATE_FIRST_BIT == 0) {
        return 0;
    }
    const uint32_t bit = 63 - verge__leading_zeros(late_ns);
    const uint32_t quarter = (uint32_t)(late_ns >> (bit - 2)) & 3;
    const uint32_t bucket = 1 + (bit - VERGE__LATE_FIRST_BIT) * 4 + quarter;
    return bucket < VERGE__LATE_BUCKET_COUNT ? bucket : VERGE__LATE_BUCKET_COUNT - 1;
}

uint64_t verge__late_bound(uint32_t bucket) {
    if (bucket == 0) {
        return (UINT64_C(1) << VERGE__LATE_FIRST_BIT) - 1;
    }
    const uint32_t bit = VERGE__LATE_FIRST_BIT + (bucket - 1) / 4;
    return (UINT64_C(1) << bit) + (((bucket - 1) % 4 + 1) * (UINT64_C(1) << (bit - 2))) - 1;
}

/* ---- samples ---- */

static uint32_t left_of(const _Atomic uint32_t *left) {
    return atomic_load_explicit(left, memory_order_relaxed);
}

void verge__worker_set_short_ways(verge_worker *worker) {
    const uint64_t service = (uint64_t)(uintptr_t)worker->service;
    const uint64_t none = (uint64_t)(uintptr_t)worker;
    const bool is_on = worker->has_short_ways && left_of(&worker->shown.starts_left) == 0;
    const bool is_on_with_cas =
        worker->has_short_ways && worker->machine_has_cas && left_of(&worker->shown.cancels_left) == 0;
    atomic_store_explicit(&worker->short_way_service, is_on ? service : none, memory_order_relaxed);
    atomic_store_explicit(&worker->short_way_service_with_cas, is_on_with_cas ? service : none, memory_order_relaxed);
}

void verge__worker_note_look(verge_worker *worker, uint64_t look) {
    verge__samples *samples = atomic_load_explicit(&worker->shown.samples, memory_order_acquire);
    if (samples == NULL) {
        return; /* scope's thread is about to allocate samples, or has no memory; the next pass tries again */
    }
    worker->shown.look_seen = look;
    if (look != 0) {
        verge__picture_take(&samples->picture, &worker->calendar, worker->now_ns);
    }
}

void verge__worker_poke(verge_worker *worker, uint32_t weight) {
    atomic_store_explicit(&worker->shown.weight, weight, memory_order_relaxed);
    atomic_store_explicit(&worker->shown.starts_left, VERGE__EVENTS_A_POKE, memory_order_relaxed);
    atomic_store_explicit(&worker->shown.cancels_left, VERGE__EVENTS_A_POKE, memory_order_relaxed);
    atomic_store_explicit(&worker->shown.fires_left, VERGE__EVENTS_A_POKE, memory_order_relaxed);
    const uint64_t none = (uint64_t)(uintptr_t)worker;
    atomic_store_explicit(&worker->short_way_service, none, memory_order_relaxed);
    atomic_store_explicit(&worker->short_way_service_with_cas, none, memory_order_relaxed);
}

void verge__service_poke(verge_service *service, uint32_t weight) {
    atomic_store_explicit(&service->outside_weight, weight, memory_order_relaxed);
    atomic_store_explicit(&service->outside_left, 2 * VERGE__EVENTS_A_POKE, memory_order_relaxed);
}

/* Returns the samples of a source. NULL: `samples` is NULL, or scope's thread has not allocated those of this source.
 * Then the event is not counted. */
static verge__source_samples *samples_of(verge__samples *samples, uint32_t source) {
    return samples == NULL                  ? NULL
           : source == VERGE__SOURCE_OTHERS ? &samples->others
                                            : atomic_load_explicit(&samples->of[source], memory_order_acquire);
}

/* Whether an event is a sample: true for a random one in `weight` events. `count` is the number of the event, from
 * which the random number is made. */
static bool is_drawn(uint64_t count, uint32_t weight) {
    return ((count * UINT64_C(0x9E3779B97F4A7C15)) >> 40 & (weight - 1)) == 0;
}

/* Where to count an event of a thread that is no worker. NULL: the event is no sample. */
static verge__samples *sample_outside(verge_service *service, uint64_t count, uint32_t *ret_weight) {
    *ret_weight = atomic_load_explicit(&service->outside_weight, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&service->outside_left, 1, memory_order_relaxed) <= 0 ||
        !is_drawn(count, *ret_weight)) {
        return NULL;
    }
    return atomic_load_explicit(&service->outside_samples, memory_order_acquire);
}

/* Where to count an event of a worker. Called by its thread. NULL: the event is no sample. */
static verge__samples *sample_of(verge_worker *worker, _Atomic uint32_t *left, uint64_t count, uint32_t *ret_weight) {
    const uint32_t wanted = left_of(left);
    *ret_weight = atomic_load_explicit(&worker->shown.weight, memory_order_relaxed);
    if (wanted == 0) {
        return NULL;
    }
    atomic_store_explicit(left, wanted - 1, memory_order_relaxed);
    return is_drawn(count, *ret_weight) ? atomic_load_explicit(&worker->shown.samples, memory_order_acquire) : NULL;
}

/* If no more samples of this kind of event are wanted, switches the short ways on again. */
static void end_samples(verge_worker *worker, const _Atomic uint32_t *left) {
    if (left_of(left) == 0 && worker->has_short_ways) {
        verge__worker_set_short_ways(worker);
    }
}

void verge__sample_start(verge_service *service, verge_worker *bound, const verge__timer *timer) {
    uint32_t weight = 0;
    if (bound == NULL) {
        verge__samples *samples = sample_outside(service, verge__counted(&service->outside.started), &weight);
        verge__source_samples *of =
            samples == NULL ? NULL : samples_of(samples, verge__timer_source(&service->sources, timer));
        if (of != NULL) {
            (void)atomic_fetch_add_explicit(&of->started, weight, memory_order_relaxed);
        }
        return;
    }
    verge__samples *samples =
        sample_of(bound, &bound->shown.starts_left, verge__counted(&bound->tally.started), &weight);
    verge__source_samples *of =
        samples == NULL ? NULL : samples_of(samples, verge__timer_source(&service->sources, timer));
    if (of != NULL) {
        verge__count(&of->started, weight);
    }
    end_samples(bound, &bound->shown.starts_left);
}

void verge__sample_cancel(verge_service *service, verge_worker *bound, uint32_t source) {
    uint32_t weight = 0;
    if (bound == NULL) {
        verge__source_samples *of =
            samples_of(sample_outside(service, verge__counted(&service->outside.cancelled_remotely), &weight), source);
        if (of != NULL) {
            (void)atomic_fetch_add_explicit(&of->cancelled, weight, memory_order_relaxed);
        }
        return;
    }
    const uint64_t count =
        verge__counted(&bound->tally.cancelled_locally) + verge__counted(&bound->tally.cancelled_remotely);
    verge__source_samples *of = samples_of(sample_of(bound, &bound->shown.cancels_left, count, &weight), source);
    if (of != NULL) {
        verge__count(&of->cancelled, weight);
    }
    end_samples(bound, &bound->shown.cancels_left);
}

void verge__sample_firing(verge_worker *worker, uint32_t source, const verge_firing *firing, bool has_ended) {
    uint32_t weight = 0;
    verge__source_samples *of =
        samples_of(sample_of(worker, &worker->shown.fires_left, verge__counted(&worker->tally.fired), &weight), source);
    if (of == NULL) {
        return;
    }
    const uint64_t late_ns = firing->actual_ns > firing->scheduled_ns ? firing->actual_ns - firing->scheduled_ns : 0;
    const uint64_t time_ns = worker->now_ns > firing->actual_ns ? worker->now_ns - firing->actual_ns : 0;
    _Atomic uint32_t *bucket = &of->late[verge__late_bucket(late_ns)];
    verge__count(&of->fired, weight);
    verge__count(&of->ended, has_ended ? weight : 0);
    verge__count(&of->time_ns, time_ns * weight);
    atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1, memory_order_relaxed);
}
