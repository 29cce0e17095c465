/* SPDX-License-Identifier: MIT */
/*
 * service/support.h - what the tests of the service share: a service on the manual clock, whose workers the test steps,
 * and helpers for tests with threads.
 */
#ifndef VERGE_TESTS_SERVICE_SUPPORT_H
#define VERGE_TESTS_SERVICE_SUPPORT_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "verge/service.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)

/* The precision of services in these tests, unless a test sets another one. */
#define TICK (UINT64_C(1) << 20)

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLOW_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TEST_SLOW_BUILD 1
#endif
#endif
#ifndef TEST_SLOW_BUILD
#define TEST_SLOW_BUILD 0
#endif

/* Returns how often to repeat something: `count` times a factor, but at least 100. The factor is VERGE_TEST_SCALE if
 * that is set, otherwise a tenth under a sanitizer, and 1 without. */
static inline size_t test_scaled(size_t count) {
    const char *text = getenv("VERGE_TEST_SCALE");
    const double factor = text != NULL && *text != '\0' ? strtod(text, NULL) : TEST_SLOW_BUILD ? 0.1 : 1.0;
    const size_t scaled = (size_t)((double)count * factor);
    return scaled < 100 ? 100 : scaled;
}

/* ---- a service that is stepped ---- */

struct stepped {
    verge_manual_clock clock;
    struct verge_test_allocator memory;
    verge_service *service;
};

/* Returns options of a service without threads of its own: no workers, and no metronome. Its manual clock shows about
 * an hour: a multiple of TICK, so that ticks are easy to compute. */
static inline verge_service_options stepped_options(struct stepped *stepped) {
    memset(stepped, 0, sizeof(*stepped));
    verge_test_allocator_init(&stepped->memory);
    verge_manual_clock_set(&stepped->clock, HOUR / TICK * TICK);
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    options.clock = verge_clock_manual(&stepped->clock);
    options.allocator = &stepped->memory.allocator;
    return options;
}

static inline void stepped_create(struct stepped *stepped, const verge_service_options *options) {
    assert_int_equal(verge_service_create(options, &stepped->service), 0);
    assert_non_null(stepped->service);
}

static inline void stepped_begin(struct stepped *stepped) {
    const verge_service_options options = stepped_options(stepped);
    stepped_create(stepped, &options);
}

/* Call it when all workers have left. Asserts that all memory was released. */
static inline void stepped_end(struct stepped *stepped) {
    assert_int_equal(verge_service_destroy(stepped->service, NULL, NULL), 0);
    verge_test_allocator_assert_empty(&stepped->memory);
}

static inline uint64_t now_of(const struct stepped *stepped) {
    return verge_service_exact_now(stepped->service);
}

static inline void advance(struct stepped *stepped, uint64_t duration_ns) {
    verge_manual_clock_advance(&stepped->clock, duration_ns);
}

/* A worker that any thread may step: the test's thread is not bound to it. */
static inline verge_worker *join_unbound(verge_service *service) {
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = true;
    verge_worker *worker = NULL;
    assert_int_equal(verge_worker_join(service, &options, &worker), 0);
    assert_non_null(worker);
    return worker;
}

static inline verge_worker *join_bound(verge_service *service) {
    verge_worker *worker = NULL;
    assert_int_equal(verge_worker_join(service, NULL, &worker), 0);
    assert_non_null(worker);
    return worker;
}

/* Makes one pass. Returns how many callbacks ran. */
static inline int step(verge_worker *worker) {
    const int fired = verge_worker_run_once(worker, 0);
    assert_true(fired >= 0);
    return fired;
}

static inline int step_at(struct stepped *stepped, verge_worker *worker, uint64_t now_ns) {
    verge_manual_clock_set(&stepped->clock, now_ns);
    return step(worker);
}

static inline void leave(verge_worker *worker) {
    assert_int_equal(verge_worker_leave(worker), 0);
}

/* ---- timers ---- */

/* What a timer has done. take_note gets it as its argument. */
struct notes {
    verge_firing last;
    uint32_t worker_id; /* the worker that ran the last callback */
    _Atomic uint32_t fired;
};

static inline void take_note(const verge_firing *firing) {
    struct notes *notes = firing->argument;
    notes->last = *firing;
    notes->worker_id = verge_worker_id(firing->worker);
    (void)atomic_fetch_add(&notes->fired, 1);
}

static inline void do_nothing(const verge_firing *firing) {
    (void)firing;
}

static inline verge_timer start_at(verge_service *service, uint64_t deadline_ns, verge_callback callback,
                                   void *argument) {
    verge_timer timer = 0;
    assert_int_equal(verge_service_start(service, deadline_ns, callback, argument, &timer), 0);
    assert_int_not_equal(timer, 0);
    return timer;
}

/* Options of a timer whose callback is take_note. */
static inline verge_start_options noted(struct notes *notes, uint64_t deadline_ns) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = take_note;
    options.argument = notes;
    options.deadline_ns = deadline_ns;
    return options;
}

static inline verge_timer start_with(verge_service *service, const verge_start_options *options) {
    verge_timer timer = 0;
    assert_int_equal(verge_service_start_with(service, options, &timer), 0);
    assert_int_not_equal(timer, 0);
    return timer;
}

static inline verge_service_stats stats_of(const verge_service *service) {
    verge_service_stats stats;
    memset(&stats, 0, sizeof(stats));
    stats.struct_size = sizeof(stats);
    assert_int_equal(verge_service_get_stats(service, &stats), 0);
    return stats;
}

/* Returns how many timers are in the wheel of a worker. */
static inline size_t count_in(const verge_service *service, const verge_worker *worker) {
    return verge_service_count(service, verge_worker_id(worker));
}

static inline verge_timer_info info_of(verge_service *service, verge_timer timer) {
    verge_timer_info info;
    memset(&info, 0, sizeof(info));
    assert_int_equal(verge_service_get(service, timer, &info), 0);
    return info;
}

/* Counts what verge_service_destroy hands back. */
static inline void count_pending(void *context, const verge_pending *pending) {
    assert_non_null(pending->callback);
    (*(size_t *)context)++;
}

/* ---- real threads ---- */

/* Waits until another thread sets the flag. If it never does, ctest's timeout ends the test. */
static inline void await(const _Atomic bool *flag) {
    while (!atomic_load(flag)) {
        (void)sched_yield();
    }
}

static inline void await_count(const _Atomic uint32_t *counter, uint32_t count) {
    while (atomic_load(counter) < count) {
        (void)sched_yield();
    }
}

static inline pthread_t thread_of(void *(*body)(void *argument), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
    return thread;
}

static inline void join_thread(pthread_t thread) {
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#endif
