/* SPDX-License-Identifier: MIT */
/* Creating and destroying a service, and its own threads. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/checks.h"
#include "base/explain.h"
#include "base/sized.h"
#include "service/park.h"

enum {
    DEFAULT_SHIFT = 20,
    DEFAULT_BATCH = 256,
    EXPONENT_MAX = 40, /* precision_ns and resolution_ns are 2^40 at most */
};

int verge_service_options_init(verge_service_options *options, size_t struct_size) {
    const verge_service_options defaults = {
        .thread_count = 1,
        .metronome = true,
        .precision_ns = UINT64_C(1) << DEFAULT_SHIFT,
        .resolution_ns = UINT64_C(1) << DEFAULT_SHIFT,
        .clock = verge_clock_monotonic(),
        .batch = DEFAULT_BATCH,
    };
    return verge__sized_init(options, struct_size, &defaults, sizeof(defaults));
}

static int read_options(const verge_service_options *given, verge_service_options *options, verge__explanation why) {
    const int error = verge__explain_sized(why, "verge_service_options_init", given, options, sizeof(*options));
    if (error != 0) {
        return error;
    }
    if (options->thread_count > VERGE_WORKER_COUNT_MAX) {
        return verge__explain(why, "thread_count is %" PRIu32 ": it may be %d at most (VERGE_WORKER_COUNT_MAX)",
                              options->thread_count, VERGE_WORKER_COUNT_MAX);
    }
    if (options->resolution_ns == 0 || options->resolution_ns > UINT64_C(1) << EXPONENT_MAX) {
        return verge__explain(why, "resolution_ns is %" PRIu64 ": it has to be from 1 to %" PRIu64 " (2^%d)",
                              options->resolution_ns, UINT64_C(1) << EXPONENT_MAX, EXPONENT_MAX);
    }
    if (options->batch == 0) {
        return verge__explain(why, "batch is 0: a pass has to run 1 callback at least");
    }
    return verge__explain_power_of_two(why, "precision_ns", options->precision_ns, EXPONENT_MAX);
}

int verge_service_options_explain(const verge_service_options *options, char *text, size_t size) {
    verge_service_options known;
    return read_options(options, &known, verge__explanation_to(text, size));
}

/* ---- memory, counted ---- */

static void *allocate_counted(void *context, size_t size, size_t alignment) {
    verge_service *service = context;
    const verge_allocator *inner = service->options.allocator;
    void *memory = inner->allocate(inner->context, size, alignment);
    if (memory != NULL) {
        (void)atomic_fetch_add_explicit(&service->bytes, size, memory_order_relaxed);
    }
    return memory;
}

static void release_counted(void *context, void *memory, size_t size) {
    verge_service *service = context;
    const verge_allocator *inner = service->options.allocator;
    inner->release(inner->context, memory, size);
    (void)atomic_fetch_sub_explicit(&service->bytes, size, memory_order_relaxed);
}

/* ---- threads ---- */

static void *run_worker(void *argument) {
    verge_worker *worker = argument;
    verge__bind_until_thread_ends(worker);
    while (!atomic_load_explicit(&worker->service->is_stopping, memory_order_acquire) &&
           verge_worker_run_once(worker, VERGE_NEVER) != -ESHUTDOWN) {
    }
    verge__unbind(worker);
    return NULL;
}

int verge_service_add_worker(verge_service *service, uint32_t *ret_worker_id) {
    if (service == NULL) {
        return -EINVAL;
    }
    verge_worker_options options = {.struct_size = sizeof(options)};
    verge_worker *worker = NULL;
    int error = verge__service_join(service, &options, true, &worker);
    if (error != 0) {
        return error;
    }
    uint32_t id = worker->id;
    VERGE__STEP("add thread: create");
    (void)pthread_mutex_lock(&service->lock);
    /* A callback may call this function while the service is being destroyed. verge_service_destroy would not join a
     * thread that is added then. */
    bool is_stopping = atomic_load_explicit(&service->is_stopping, memory_order_relaxed);
    error = is_stopping ? ESHUTDOWN : pthread_create(&worker->thread, NULL, run_worker, worker);
    worker->has_thread = error == 0;
    (void)pthread_mutex_unlock(&service->lock);
    if (error != 0) {
        (void)verge_worker_leave(worker);
        return -error;
    }
    if (ret_worker_id != NULL) {
        *ret_worker_id = id;
    }
    return 0;
}

int verge_service_retire_worker(verge_service *service, uint32_t worker_id) {
    if (service == NULL || worker_id == 0 ||
        worker_id > atomic_load_explicit(&service->seat_count, memory_order_acquire)) {
        return -EINVAL;
    }
    if (verge__service_is_forked(service)) {
        return -ECHILD;
    }
    verge_worker *worker = verge__service_seat(service, worker_id);
    (void)pthread_mutex_lock(&service->lock);
    bool is_there = worker->is_thread &&
                    atomic_load_explicit(&worker->seat_state, memory_order_acquire) == VERGE__SEAT_JOINED &&
                    !atomic_load_explicit(&worker->is_to_retire, memory_order_relaxed);
    if (is_there) {
        atomic_store_explicit(&worker->is_to_retire, true, memory_order_seq_cst);
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (!is_there) {
        return -EINVAL;
    }
    verge__park_wake(worker, 0);
    return 0;
}

/* ---- create ---- */

static int start_threads(verge_service *service) {
    int error = service->options.metronome ? verge__metronome_start(service) : 0;
    for (uint32_t i = 0; i < service->options.thread_count && error == 0; i++) {
        error = verge_service_add_worker(service, NULL);
    }
    return error;
}

/* Returns the largest deadline that is refused as a mistaken duration; 0 if none is refused. The short way of start
 * does not check this. But for ticks before the one in which the worker joined, start takes the long way. So every
 * refused deadline goes the long way, unless the clock went back before the worker joined. */
static uint64_t last_refused(const verge_service *service) {
    if (!verge__checks_deadlines(service->options.clock, service->options.check_deadlines)) {
        return 0;
    }
    const uint64_t tick = verge__service_clock(service) >> service->shift;
    return tick > 0 ? (tick - 1) << service->shift : 0;
}

int verge_service_create(const verge_service_options *given, verge_service **ret_service) {
    verge_service_options options;
    (void)verge_service_options_init(&options, sizeof(options));
    if (ret_service == NULL || (given != NULL && read_options(given, &options, (verge__explanation){NULL, 0}) != 0)) {
        return -EINVAL;
    }
    const verge_allocator *allocator = options.allocator == NULL ? verge_allocator_default() : options.allocator;
    verge_service *service = allocator->allocate(allocator->context, sizeof(*service), _Alignof(verge_service));
    if (service == NULL) {
        return -ENOMEM;
    }
    memset(service, 0, sizeof(*service));
    const verge_clock monotonic = verge_clock_monotonic();
    service->options = options;
    service->options.allocator = allocator;
    service->options.clock = options.clock.now_ns != NULL ? options.clock : monotonic;
    service->is_clock_monotonic = service->options.clock.now_ns == monotonic.now_ns;
    service->is_clock_realtime = service->options.clock.now_ns == verge_clock_realtime().now_ns;
    service->allocator =
        (verge_allocator){.allocate = allocate_counted, .release = release_counted, .context = service};
    service->shift = (uint8_t)verge__bit_floor_index(options.precision_ns);
    service->refused_ns = last_refused(service);
    verge__inbox_init(&service->orphans);
    atomic_init(&service->orphans_allowed, verge__orphans_min);
    atomic_init(&service->room, options.timer_cap);
    atomic_init(&service->bytes, sizeof(*service));
    service->forks = verge__forks();
    int error = -pthread_mutex_init(&service->lock, NULL);
    error = error == 0 ? verge__watch_forks() : error;
    error = error == 0 ? verge__forget_bound_in_child() : error;
    if (error == 0) {
        error = verge__table_init(&service->table, &service->allocator);
    }
    if (error == 0) {
        error = start_threads(service);
    }
    if (error != 0) {
        (void)verge_service_destroy(service, NULL, NULL);
        return error;
    }
    *ret_service = service;
    return 0;
}

/* ---- destroy ---- */

static void stop_threads(verge_service *service) {
    (void)pthread_mutex_lock(&service->lock); /* no thread is added from here on */
    atomic_store_explicit(&service->is_stopping, true, memory_order_seq_cst);
    (void)pthread_mutex_unlock(&service->lock);
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        verge__park_wake(verge__service_seat(service, id), 0);
    }
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        (void)pthread_mutex_lock(&service->lock); /* a callback may still be in verge_service_add_worker */
        bool has_thread = worker->has_thread;
        (void)pthread_mutex_unlock(&service->lock);
        if (has_thread) {
            (void)pthread_join(worker->thread, NULL);
        }
    }
    while (service->ending_threads != NULL) {
        verge__ending_thread *ending = service->ending_threads;
        (void)pthread_join(ending->thread, NULL);
        service->ending_threads = ending->next;
        release_counted(service, ending, sizeof(*ending));
    }
    verge__metronome_stop(service);
}

static void visit_pending(verge_service *service, void (*visit)(void *context, const verge_pending *pending),
                          void *context) {
    uint32_t end = atomic_load_explicit(&service->table.fresh, memory_order_acquire);
    for (uint32_t index = 0; index < end; index = verge__table_next_index(index)) {
        verge__timer *timer = verge__table_at(&service->table, index);
        uint64_t word = atomic_load_explicit(&timer->word, memory_order_acquire);
        if (verge__word_state(word) == VERGE__SCHEDULED) {
            const verge_pending pending = {
                .timer = verge__word_handle(word, index),
                .callback = atomic_load_explicit(&timer->callback, memory_order_relaxed),
                .argument = atomic_load_explicit(&timer->argument, memory_order_relaxed),
                .deadline_ns = verge__timer_deadline(timer),
            };
            visit(context, &pending);
        }
    }
}

static void release_samples(verge_service *service, _Atomic(verge__samples *) *pointer) {
    verge__samples *samples = atomic_load_explicit(pointer, memory_order_acquire);
    for (uint32_t i = 0; samples != NULL && i < VERGE__SOURCE_COUNT; i++) {
        verge__source_samples *of = atomic_load_explicit(&samples->of[i], memory_order_acquire);
        if (of != NULL) {
            release_counted(service, of, sizeof(*of));
        }
    }
    if (samples != NULL) {
        release_counted(service, samples, sizeof(*samples));
    }
}

static void free_all(verge_service *service) {
    uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        if (atomic_load_explicit(&worker->seat_state, memory_order_acquire) != VERGE__SEAT_VACANT) {
            verge__worker_deinit_wheel(worker);
        }
        release_samples(service, &worker->shown.samples);
        release_counted(service, worker, sizeof(*worker));
    }
    release_samples(service, &service->outside_samples);
    verge__table_deinit(&service->table);
    (void)pthread_mutex_destroy(&service->lock);
    const verge_allocator *allocator = service->options.allocator;
    allocator->release(allocator->context, service, sizeof(*service));
}

int verge_service_destroy(verge_service *service, void (*visit)(void *context, const verge_pending *pending),
                          void *context) {
    if (service == NULL) {
        return 0;
    }
    if (verge__service_is_forked(service)) {
        return -ECHILD; /* a thread of the parent may have left the service in any state */
    }
    /* True if the caller is a callback, or on_stuck, which runs on the thread of a worker or of the metronome. */
    const verge_worker *bound = verge__bound(service);
    if ((bound != NULL && bound->is_in_pass) || verge__is_metronome(service)) {
        return -EDEADLK;
    }
    if (atomic_load_explicit(&service->guest_count, memory_order_acquire) != 0 || verge__service_is_shown(service)) {
        return -EBUSY;
    }
    stop_threads(service);
    if (visit != NULL) {
        visit_pending(service, visit, context);
    }
    free_all(service);
    return 0;
}
