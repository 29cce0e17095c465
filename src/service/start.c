/* SPDX-License-Identifier: MIT */
/* Starting a timer: T1 (record.h) on the bound worker, T2 through an inbox. */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/sized.h"
#include "service/turn.h"

int verge__service_take_room(verge_service *service) {
    if (VERGE__LIKELY(service->options.timer_cap == 0)) {
        return 0;
    }
    uint64_t room = atomic_load_explicit(&service->room, memory_order_relaxed);
    do {
        if (room == 0) {
            return -ENOSPC;
        }
    } while (!atomic_compare_exchange_weak_explicit(&service->room, &room, room - 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

/* Returns the period that a record stores. A period of UINT64_MAX, which would be VERGE__ONCE, is stored as 1 less:
 * neither period has a second tick. */
static uint64_t kept_period(uint64_t period_ns, uint32_t source) {
    return period_ns == 0 ? (source == 0 ? 0 : VERGE__ONCE) : period_ns - (period_ns == VERGE__ONCE ? 1 : 0);
}

static VERGE__ALWAYS_INLINE void fill(verge__timer *timer, uint64_t deadline_ns, verge_callback callback,
                                      void *argument, uint64_t period_ns, uint32_t source,
                                      verge_interval_policy policy) {
    verge__timer_set_deadline(timer, deadline_ns);
    VERGE__STORE_RELAXED(&timer->callback, callback);
    VERGE__STORE_RELAXED(&timer->argument, argument);
    VERGE__STORE_RELAXED(&timer->period_ns, period_ns);
    if (period_ns != 0) {
        atomic_store_explicit(&timer->source_and_policy, (uint16_t)(source | (uint32_t)policy << VERGE__SOURCE_BITS),
                              memory_order_relaxed);
    }
}

/*
 * Gives the caller its handle, before the timer is published. A published timer may run on another thread, and its
 * callback may free the object that contains *ret_timer. When this is called, nothing can fail any more.
 */
static VERGE__ALWAYS_INLINE void give_handle(verge_timer *ret_timer, verge_timer handle) {
    if (ret_timer != NULL) {
        *ret_timer = handle;
    }
}

/* The short way of the bound worker, for a timer that runs once: no lock, no loop, and usually no call. False: it does
 * not apply, and nothing has changed. */
static VERGE__ALWAYS_INLINE bool start_by_short_way(const verge_service *service, verge_worker *worker,
                                                    uint64_t deadline_ns, verge_callback callback, void *argument,
                                                    uint32_t source, verge_timer *ret_timer) {
    verge__calendar *calendar = &worker->calendar;
    uint64_t tick = (deadline_ns + worker->part_mask) >> worker->shift; /* 0 if the sum is beyond the end of time */
    uint32_t free_count = verge__worker_free_count(worker);
    VERGE__INVARIANT(worker->wave_end >= calendar->cursor, "S6: a wave ends at the cursor or later");
    if (VERGE__UNLIKELY(free_count == 0 || tick < worker->wave_end)) {
        return false;
    }
    verge_timer handle = worker->free[--free_count] + VERGE__GENERATION_ONE;
    uint32_t index = (uint32_t)handle;
    verge__timer *timer = verge__table_at(&service->table, index);
    if (!verge__timer_is_filed(timer)) {
        verge__calendar_file(calendar, &timer->node, tick);
    } else if (deadline_ns < verge__timer_deadline(timer)) { /* otherwise its place comes up in time (record.h) */
        verge__calendar_withdraw(calendar, &timer->node);
        verge__calendar_file(calendar, &timer->node, tick);
    }
    atomic_store_explicit(&worker->free_count, free_count, memory_order_relaxed);
    fill(timer, deadline_ns, callback, argument, source == 0 ? 0 : VERGE__ONCE, source, VERGE_INTERVAL_BURST);
    verge__count(&worker->tally.started, 1);
    give_handle(ret_timer, handle);
    verge__word_publish(timer, (handle & VERGE__GENERATION_MASK) + worker->scheduled_here);
    return true;
}

static int start_here(verge_worker *worker, const verge_start_options *options, uint32_t source,
                      verge_timer *ret_timer) {
    int error = verge__worker_refill(worker);
    if (VERGE__UNLIKELY(error != 0)) {
        return error;
    }
    uint32_t index = verge__worker_pop_free(worker);
    verge__timer *timer = verge__table_at(&worker->service->table, index);
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    word = verge__word_with_owner(word, worker->id) + VERGE__GENERATION_ONE + VERGE__SCHEDULED;
    fill(timer, options->deadline_ns, options->callback, options->argument, kept_period(options->period_ns, source),
         source, options->policy);
    if (verge__samples_starts(worker->service, worker)) {
        verge__sample_start(worker->service, worker, timer);
    }
    verge__worker_file(worker, timer);
    verge__count(&worker->tally.started, 1);
    give_handle(ret_timer, verge__word_handle(word, index));
    verge__word_publish(timer, word);
    return 0;
}

static int start_there(verge_service *service, verge_worker *bound, const verge_start_options *options, uint32_t source,
                       verge_timer *ret_timer) {
    uint32_t index = 0;
    size_t count = 0;
    int error = verge__table_take(&service->table, 1, &index, &count);
    if (error != 0) {
        return error;
    }
    uint32_t target = options->worker_id;
    if (target == 0 || target > atomic_load_explicit(&service->seat_count, memory_order_acquire)) {
        target = verge__service_pick(service);
    }
    verge__timer *timer = verge__table_at(&service->table, index);
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    word = verge__word_with_owner(word, target) + VERGE__GENERATION_ONE + VERGE__SCHEDULED + VERGE__LINKED;
    fill(timer, options->deadline_ns, options->callback, options->argument, kept_period(options->period_ns, source),
         source, options->policy);
    if (verge__samples_starts(service, bound)) {
        verge__sample_start(service, bound, timer);
    }
    verge__count_for(bound == NULL ? NULL : &bound->tally.started, &service->outside.started);
    give_handle(ret_timer, verge__word_handle(word, index));
    verge__word_publish_to(timer, word);
    verge__send_one(service, target, index, options->deadline_ns);
    return 0;
}

/* Returns the time that has the most trailing zero bits of all times in the window, so that timers with similar windows
 * run together. */
static uint64_t choose_in_window(const verge_start_options *options) {
    uint64_t room_ns = VERGE_NEVER - 1 - options->deadline_ns;
    uint64_t window_ns = options->window_ns < room_ns ? options->window_ns : room_ns;
    return window_ns == 0 ? options->deadline_ns
                          : verge__roundest(options->deadline_ns, options->deadline_ns + window_ns);
}

static bool is_valid(const verge_start_options *options) {
    return options->callback != NULL && options->deadline_ns != VERGE_NEVER &&
           (options->period_ns == 0 || (unsigned)options->policy <= VERGE_INTERVAL_SKIP);
}

static int start(verge_service *service, const verge_start_options *options, uint32_t source, verge_timer *ret_timer) {
    if (verge__service_is_forked(service)) {
        return -ECHILD;
    }
    int error = verge__service_take_room(service);
    if (error != 0) {
        return error;
    }
    verge_worker *bound = verge__bound(service);
    if (VERGE__LIKELY(bound != NULL && (options->worker_id == 0 || options->worker_id == bound->id))) {
        verge__turn_begin(bound);
        error = start_here(bound, options, source, ret_timer);
        verge__turn_end(bound);
    } else {
        error = start_there(service, bound, options, source, ret_timer);
    }
    if (error != 0) {
        verge__service_give_room(service);
    }
    return error;
}

int verge_service_start_with(verge_service *service, const verge_start_options *given, verge_timer *ret_timer) {
    verge_start_options options;
    if (service == NULL || verge__sized_read(given, &options, sizeof(options)) != 0 || !is_valid(&options) ||
        verge__service_refuses(service, options.deadline_ns)) {
        return -EINVAL;
    }
    options.deadline_ns = choose_in_window(&options);
    uint32_t source =
        options.label == NULL ? 0 : verge__source_find(&service->sources, verge__key_of_label(options.label));
    return start(service, &options, source, ret_timer);
}

static VERGE__NOINLINE int start_timer_slowly(verge_service *service, uint64_t deadline_ns, verge_callback callback,
                                              void *argument, uint32_t source, verge_timer *ret_timer) {
    const verge_start_options options = {.callback = callback, .argument = argument, .deadline_ns = deadline_ns};
    const bool is_wrong = service == NULL || !is_valid(&options) || verge__service_refuses(service, deadline_ns);
    return is_wrong ? -EINVAL : start(service, &options, source, ret_timer);
}

int verge_service_start(verge_service *service, uint64_t deadline_ns, verge_callback callback, void *argument,
                        verge_timer *ret_timer) {
    verge_worker *bound = verge__bound_for_short_way(service);
    if (VERGE__UNLIKELY(bound == NULL || callback == NULL || deadline_ns == VERGE_NEVER ||
                        !start_by_short_way(service, bound, deadline_ns, callback, argument, 0, ret_timer))) {
        return start_timer_slowly(service, deadline_ns, callback, argument, 0, ret_timer);
    }
    return 0;
}

int verge__service_start_from(verge_service *service, uint64_t deadline_ns, verge_callback callback, void *argument,
                              uint32_t source, verge_timer *ret_timer) {
    verge_worker *bound = verge__bound_for_short_way(service);
    if (VERGE__UNLIKELY(bound == NULL || callback == NULL || deadline_ns == VERGE_NEVER ||
                        !start_by_short_way(service, bound, deadline_ns, callback, argument, source, ret_timer))) {
        return start_timer_slowly(service, deadline_ns, callback, argument, source, ret_timer);
    }
    return 0;
}

int verge_service_start_after(verge_service *service, uint64_t delay_ns, verge_callback callback, void *argument,
                              verge_timer *ret_timer) {
    if (service == NULL) {
        return -EINVAL;
    }
    uint64_t now_ns = verge__service_clock(service);
    if (delay_ns >= VERGE_NEVER - now_ns) {
        return -EOVERFLOW;
    }
    return verge_service_start(service, now_ns + delay_ns, callback, argument, ret_timer);
}
