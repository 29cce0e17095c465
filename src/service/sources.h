/* SPDX-License-Identifier: MIT */
/*
 * service/sources.h - who starts timers: by callback or, where the caller gives one, by label. For verge/scope.h.
 *
 *   source    what timers are listed under: a number from 1 to 255 that stands for a key. The key is the address of a
 *             callback (of a task: of its function) or of a label. Source 0 stands for all keys without a number.
 *   look      counts up four times a second while somebody looks; 0: nobody does. A worker notices in its next pass.
 *   poke      asks a worker for samples of its next 256 starts, cancels and firings each. Whoever looks does so 64
 *             times a second, at random moments.
 *   sample    an event that was counted for its source: each of these or, where there are many, one in 2 to 32 of
 *             them, by chance. It counts as so many (its weight). Whoever looks knows how many events there were in
 *             all, and scales.
 *
 * Why not simply the next few. A random moment is mostly one at which a program waits, and then it would always be the
 * first timers of a burst that are seen. Of a worker with fewer than 16,000 events a second no event is left out of the
 * draw.
 *
 * Cost. While nobody looks, no call counts anything by source, and the short ways of start and cancel are what they
 * were. A poke says that the worker is not plain (plain_service), so that start and cancel go the long way, which
 * counts, and after 256 events says that it is plain again. That is 16,384 starts a second that take longer, of the
 * millions that a busy worker makes.
 *
 * Which thread may touch what
 *   keys      any thread: from 0 to a key, once, by compare-and-swap. Relaxed: nothing else depends on them.
 *   plain_service, starts_left, weight and so on: the worker's thread and the one that pokes, relaxed. Each may
 *             overwrite what the other has stored. Then samples are not taken until the next poke, or the next call
 *             goes the long way once more, and finds that none are wanted.
 *   samples   of a worker: its thread writes (as its tally), any thread reads. Of threads that are no workers: by
 *             atomic adds.
 *   picture   a worker's thread writes, one thread reads (service/picture.h).
 *   The memory of both comes from the thread that looks first (release), and stays until the service ends (acquire:
 *   verge__worker_show).
 */
#ifndef VERGE_SRC_SERVICE_SOURCES_H
#define VERGE_SRC_SERVICE_SOURCES_H

#include "service/picture.h"
#include "service/record.h"

enum {
    VERGE__SOURCE_COUNT = 256,
    VERGE__SOURCE_OTHERS = 0,
    VERGE__EVENTS_A_POKE = 256,
    VERGE__WEIGHT_MAX = 32,
    VERGE__LATE_FIRST_BIT = 10,   /* up to 1 us is one bucket */
    VERGE__LATE_BUCKET_COUNT = 98 /* then 4 a doubling, to 2^34 ns; what is later is in the last */
};

/* In a key: it is a label's. No address has this bit. */
#define VERGE__KEY_LABEL (UINT64_C(1) << 63)

/* In place of a period: the timer runs once, and has a source. */
#define VERGE__ONCE UINT64_MAX

typedef struct verge__sources {
    _Atomic uint64_t keys[VERGE__SOURCE_COUNT];
} verge__sources;

/* Of one source. */
typedef struct verge__source_samples {
    _Atomic uint64_t started, cancelled, fired;
    _Atomic uint64_t ended;   /* of those that fired, for the last time */
    _Atomic uint64_t time_ns; /* in the callback */
    _Atomic uint32_t late[VERGE__LATE_BUCKET_COUNT];
} verge__source_samples;

typedef struct verge__samples {
    verge__source_samples of[VERGE__SOURCE_COUNT];
    verge__picture picture;
} verge__samples;

/* The source of a key: it gets a number if it has none. */
uint32_t verge__source_find(verge__sources *sources, uint64_t key);

static inline uint64_t verge__key_of_function(void (*function)(void)) {
    return (uint64_t)(uintptr_t)function;
}

static inline uint64_t verge__key_of_label(const char *label) {
    return (uint64_t)(uintptr_t)label | VERGE__KEY_LABEL;
}

/* 0: it runs once. */
static inline uint64_t verge__timer_period(const verge__timer *timer) {
    const uint64_t period_ns = atomic_load_explicit(&timer->period_ns, memory_order_relaxed);
    return period_ns == VERGE__ONCE ? 0 : period_ns;
}

/* The source of a timer. For another thread than its owner's it is a guess, which is wrong if the record is used anew
 * at this moment. */
static inline uint32_t verge__timer_source(verge__sources *sources, const verge__timer *timer) {
    const uint32_t source = atomic_load_explicit(&timer->period_ns, memory_order_relaxed) == 0
                                ? 0
                                : atomic_load_explicit(&timer->source, memory_order_relaxed);
    return source != 0 ? source
                       : verge__source_find(sources, verge__key_of_function((void (*)(void))atomic_load_explicit(
                                                         &timer->callback, memory_order_relaxed)));
}

/* The bucket of a lateness, and the upper bound of a bucket. */
uint32_t verge__late_bucket(uint64_t late_ns);
uint64_t verge__late_bound(uint32_t bucket);

/* ---- for tasks: every timer of a task has the source of that task ---- */

uint32_t verge__service_source(verge_service *service, uint64_t key);

/* verge_service_start_at, for a source that was found before. */
VERGE_MUST_USE int verge__service_start_from(verge_service *service, uint64_t deadline_ns, verge_callback callback,
                                             void *argument, uint32_t source, verge_timer *ret_timer);

#endif
