/* SPDX-License-Identifier: MIT */
#include "service/observe.h"

#include <string.h>

#include "service/park.h"
#include "service/symbol.h"

/* ---- one scope at a time ---- */

bool verge__service_show(verge_service *service) {
    return !atomic_exchange_explicit(&service->is_in_scope, true, memory_order_acquire);
}

void verge__service_hide(verge_service *service) {
    atomic_store_explicit(&service->is_in_scope, false, memory_order_release);
}

/* The acquire pairs with the release of verge__service_hide, which a scope calls after its last access. */
bool verge__service_is_shown(const verge_service *service) {
    return atomic_load_explicit(&service->is_in_scope, memory_order_acquire);
}

/* ---- workers ---- */

uint32_t verge__service_seat_count(const verge_service *service) {
    return atomic_load_explicit(&service->seat_count, memory_order_acquire);
}

void verge__worker_look_at(const verge_service *service, uint32_t id, verge__worker_figures *ret_figures) {
    const verge_worker *worker = id == 0 ? NULL : verge__service_seat(service, id);
    const verge__tally *tally = id == 0 ? &service->outside : &worker->tally;
    *ret_figures = (verge__worker_figures){
        .started = verge__counted(&tally->started),
        .cancelled = verge__counted(&tally->cancelled_locally) + verge__counted(&tally->cancelled_remotely),
        .fired = verge__counted(&tally->fired),
    };
    if (worker != NULL) {
        ret_figures->rescued = verge__counted(&tally->rescued);
        ret_figures->migrated = verge__counted(&tally->migrated);
        ret_figures->callback_ns = verge_histogram_sum(&worker->callback_time);
        ret_figures->timers = verge__worker_timer_count(worker);
        ret_figures->running = atomic_load_explicit(&worker->running, memory_order_relaxed);
        ret_figures->is_there = verge__worker_is_there(worker);
        ret_figures->is_awake = atomic_load_explicit(&worker->wait_until_ns, memory_order_relaxed) == VERGE__AWAKE;
    }
}

bool verge__worker_picture(const verge_service *service, uint32_t id, verge__picture_copy *ret_copy) {
    const verge_worker *worker = verge__service_seat(service, id);
    const verge__samples *samples = atomic_load_explicit(&worker->shown.samples, memory_order_relaxed);
    return samples != NULL && verge__worker_is_there(worker) && verge__picture_read(&samples->picture, ret_copy);
}

uint64_t verge__service_stuck_after(const verge_service *service) {
    return service->options.stuck_after_ns;
}

/* ---- sources ---- */

uint64_t verge__service_source_key(const verge_service *service, uint32_t source) {
    return verge__source_key(&service->sources, source);
}

/* Copies a label. If it is too long, it is cut between two UTF-8 characters, not within one. */
static void copy_label(const char *label, char *name, size_t size) {
    size_t length = 0;
    while (length < size - 1 && label[length] != '\0') {
        length++;
    }
    while (label[length] != '\0' && length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80) {
        length--;
    }
    memcpy(name, label, length);
    name[length] = '\0';
}

bool verge__key_name(uint64_t key, char *name, size_t size) {
    const bool is_label = (key & VERGE__KEY_LABEL) != 0;
    if (is_label) {
        copy_label((const char *)(uintptr_t)(key & ~VERGE__KEY_LABEL), name, size);
    } else {
        verge__symbol_name(key, name, size);
    }
    return is_label;
}

uint32_t verge__service_source_of(verge_service *service, verge_timer timer) {
    verge__timer *record = NULL;
    const bool is_known = timer != 0 && verge__table_has(&service->table, (uint32_t)timer, &record);
    return is_known ? verge__timer_source(&service->sources, record) : VERGE__SOURCE_OTHERS;
}

bool verge__service_source_leave(verge_service *service, uint32_t source) {
    return verge__source_leave(&service->sources, source);
}

bool verge__service_source_free(verge_service *service, uint32_t source) {
    return verge__source_free(&service->sources, source);
}

/* ---- samples ---- */

/* Wakes all workers. Sleeping workers would not notice that somebody has begun to look. */
static void wake_workers(verge_service *service) {
    const uint32_t count = verge__service_seat_count(service);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        if (verge__worker_is_there(worker)) {
            verge__park_wake(worker, 0);
        }
    }
}

void verge__service_look(verge_service *service, uint64_t look) {
    const uint64_t before = atomic_exchange_explicit(&service->look, look, memory_order_relaxed);
    if (look == 0) {
        atomic_store_explicit(&service->outside_left, 0, memory_order_relaxed);
    } else if (before == 0) {
        wake_workers(service);
    }
}

static void *make_zeroed(verge_service *service, size_t size, size_t alignment) {
    void *memory = service->allocator.allocate(service->allocator.context, size, alignment);
    return memory == NULL ? NULL : memset(memory, 0, size);
}

static _Atomic(verge__samples *) *place_of(verge_service *service, uint32_t id) {
    return id == 0 ? &service->outside_samples : &verge__service_seat(service, id)->shown.samples;
}

/* Called by scope's thread. No other thread stores pointers to samples. */
bool verge__samples_make(verge_service *service, uint32_t id) {
    _Atomic(verge__samples *) *place = place_of(service, id);
    verge__samples *samples = atomic_load_explicit(place, memory_order_relaxed);
    if (samples == NULL) {
        samples = make_zeroed(service, sizeof(*samples), _Alignof(verge__samples));
        atomic_store_explicit(place, samples, memory_order_release);
    }
    return samples != NULL;
}

/* The samples of a source. Those of VERGE__SOURCE_OTHERS are in verge__samples itself; the memory for any other source
 * is allocated when this function is first called for it. NULL: there are no samples, or no memory. */
static const verge__source_samples *source_samples(verge_service *service, uint32_t id, uint32_t source) {
    verge__samples *samples = atomic_load_explicit(place_of(service, id), memory_order_relaxed);
    if (samples == NULL || source == VERGE__SOURCE_OTHERS) {
        return samples == NULL ? NULL : &samples->others;
    }
    verge__source_samples *of = atomic_load_explicit(&samples->of[source], memory_order_relaxed);
    if (of == NULL) {
        of = make_zeroed(service, sizeof(*of), _Alignof(verge__source_samples));
        atomic_store_explicit(&samples->of[source], of, memory_order_release);
    }
    return of;
}

void verge__samples_ask(verge_service *service, uint32_t id, uint32_t weight) {
    verge_worker *worker = id == 0 ? NULL : verge__service_seat(service, id);
    if (worker == NULL) {
        verge__service_poke(service, weight);
    } else if (atomic_load_explicit(&worker->shown.samples, memory_order_relaxed) != NULL &&
               verge__worker_is_there(worker)) {
        verge__worker_poke(worker, weight);
    }
}

bool verge__samples_count(verge_service *service, uint32_t id, uint32_t source, verge__source_counts *ret_counts) {
    const verge__source_samples *samples = source_samples(service, id, source);
    if (samples != NULL) {
        *ret_counts = (verge__source_counts){.started = verge__counted(&samples->started),
                                             .cancelled = verge__counted(&samples->cancelled),
                                             .fired = verge__counted(&samples->fired),
                                             .ended = verge__counted(&samples->ended),
                                             .time_ns = verge__counted(&samples->time_ns)};
    }
    return samples != NULL;
}

bool verge__samples_late(verge_service *service, uint32_t id, uint32_t source, uint32_t ret_late[]) {
    const verge__source_samples *samples = source_samples(service, id, source);
    for (uint32_t i = 0; samples != NULL && i < VERGE__LATE_BUCKET_COUNT; i++) {
        ret_late[i] = atomic_load_explicit(&samples->late[i], memory_order_relaxed);
    }
    return samples != NULL;
}

/* ---- timers ---- */

static bool is_pending(uint64_t word) {
    const uint64_t state = verge__word_state(word);
    return state == VERGE__RUNNING_STATE || (state == VERGE__SCHEDULED && (word & VERGE__QUIT) == 0);
}

/* The callback that was looked up last, with its source: the next timer often has the same callback. */
typedef struct verge__last_callback {
    uint64_t callback;
    uint32_t source;
} last_callback;

static inline uint32_t source_of(verge__sources *sources, const verge__timer *timer, last_callback *last) {
    if (atomic_load_explicit(&timer->period_ns, memory_order_relaxed) != 0) {
        return verge__timer_source(sources, timer);
    }
    const uint64_t callback = (uint64_t)(uintptr_t)atomic_load_explicit(&timer->callback, memory_order_relaxed);
    if (callback != last->callback) {
        *last = (last_callback){.callback = callback, .source = verge__source_find(sources, callback)};
    }
    return last->source;
}

/* Looks at records of one segment. The records lie side by side in memory. */
static size_t see_some(verge_service *service, uint32_t index, uint32_t count, verge__seen_timer ret_timers[]) {
    last_callback last = {0};
    size_t seen = 0;
    verge__timer *timer = NULL;
    /* Records that were never used are at the end of a segment. */
    while (count > 0 && !verge__table_has(&service->table, index + count - 1, &timer)) {
        count--;
    }
    timer = count > 0 ? timer - (count - 1) : NULL;
    for (; count > 0; count--, index++, timer++) {
        const uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
        if (is_pending(word)) {
            ret_timers[seen++] = (verge__seen_timer){.timer = verge__word_handle(word, index),
                                                     .deadline_ns = verge__timer_deadline(timer),
                                                     .period_ns = verge__timer_period(timer),
                                                     .source = source_of(&service->sources, timer, &last),
                                                     .worker = verge__word_owner(word),
                                                     .is_running = verge__word_state(word) == VERGE__RUNNING_STATE};
        }
    }
    return seen;
}

size_t verge__service_see(verge_service *service, uint32_t *next, verge__seen_timer ret_timers[VERGE__SEEN_AT_ONCE]) {
    const uint32_t index = *next;
    const uint32_t segment = index >> VERGE__TABLE_SEGMENT_BITS;
    const uint32_t left = verge__table_segment_room(segment) - (index & (VERGE__TABLE_SEGMENT_RECORDS - 1));
    *next = left > VERGE__SEEN_AT_ONCE ? index + VERGE__SEEN_AT_ONCE : (segment + 1) << VERGE__TABLE_SEGMENT_BITS;
    if (*next >= atomic_load_explicit(&service->table.fresh, memory_order_acquire)) {
        *next = 0;
    }
    return see_some(service, index, left > VERGE__SEEN_AT_ONCE ? VERGE__SEEN_AT_ONCE : left, ret_timers);
}
