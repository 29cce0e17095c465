/* SPDX-License-Identifier: MIT */
/*
 * service/sources.h - counts timers by what started them: their label or, without one, their callback. It is for
 * verge/scope.h, which asks for the counts through service/observe.h.
 *
 *   source    see service/observe.h. When a source has had no timer for a while, the scope's thread frees its number
 *             for another key.
 *   look      a number that the scope's thread adds 1 to, four times a second while a client is connected, and for 5 s
 *             after that. Then it becomes 0. A worker notices a change in its next pass.
 *   poke      a call of the scope's thread, 64 times a second, at random moments. It asks a worker for samples of the
 *             worker's next 256 starts, 256 cancels and 256 firings.
 *   sample    an event that was counted for its source. If there are few events, each one is a sample. If there are
 *             many, one event in `weight` is a sample, chosen at random. The weight is a power of two up to 32. The
 *             scope's thread knows how many events there were in all, and scales the samples to that number.
 *
 * Why a worker samples at random from 256 events, and does not take the next few: at a random moment a program usually
 * waits, so the next few events would always be the first ones of a burst. If a worker has fewer than 16,000 events a
 * second, each event has a chance to be sampled.
 *
 * Cost. While `look` is 0, no call counts anything by source, and the short ways of start and cancel contain no
 * test for it. A poke switches the short ways of a worker off (short_way_service). Then start and cancel go the long
 * way, which counts. After 256 events, the long way switches the short ways on again. So at most 16,384 starts a second
 * take longer, of the millions that a busy worker makes.
 *
 * Which thread may touch what
 *   keys      any thread changes 0 to a key, by compare-and-swap. Only the scope's thread makes it 0 again, in two
 *             steps: first it marks the key as leaving. A thread that looks for the key takes the mark off. If the mark
 *             is still there 5 seconds later, and a round of scope's walk over all timers finds no timer of the source,
 *             the scope's thread frees the number. Relaxed: nothing else depends on keys. A thread that has found a
 *             number and then stops for all that time may start a timer that is listed under the wrong name; nothing
 *             else happens.
 *   short_way_service, starts_left, weight and so on: the worker's thread and the thread that pokes both write them,
 *             relaxed. Each may overwrite what the other has stored. In the worst case no samples are taken until the
 *             next poke, or one more call goes the long way and finds that no samples are wanted.
 *   samples   a worker's thread writes the samples of the worker, in the same way as its tally. Threads that are no
 *             workers share one set of samples, which they write by atomic adds. Any thread reads samples.
 *   picture   a worker's thread writes, one thread reads (service/picture.h).
 *   The scope's thread allocates the memory of samples and picture, and stores a pointer to it (release). Workers read
 *   the pointer (acquire). The memory stays until the service ends. A source without memory for its samples is not
 *   counted.
 */
#ifndef VERGE_SRC_SERVICE_SOURCES_H
#define VERGE_SRC_SERVICE_SOURCES_H

#include "service/observe.h"
#include "service/record.h"

enum {
    VERGE__SOURCE_BITS = 14,
    VERGE__SOURCE_MASK = (1 << VERGE__SOURCE_BITS) - 1,
    VERGE__EVENTS_A_POKE = 256,
};

/* This bit of a key says that the key is the address of a label. No address has this bit. */
#define VERGE__KEY_LABEL (UINT64_C(1) << 63)

/* This bit of a key says that no thread has looked for the key for a while. No address has this bit either. */
#define VERGE__KEY_LEAVING (UINT64_C(1) << 62)

/* A record has this in place of a period if its timer runs once and the record stores its source. A period of 0: the
 * timer runs once, and its source is found by its callback. */
#define VERGE__ONCE UINT64_MAX

typedef struct verge__sources {
    _Atomic uint64_t keys[VERGE__SOURCE_COUNT];
} verge__sources;

/* The samples of one source. */
typedef struct verge__source_samples {
    _Atomic uint64_t started, cancelled, fired;
    _Atomic uint64_t ended;   /* how many of `fired` were the last firing of their timer */
    _Atomic uint64_t time_ns; /* spent in callbacks */
    _Atomic uint32_t late[VERGE__LATE_BUCKET_COUNT];
} verge__source_samples;

typedef struct verge__samples {
    _Atomic(verge__source_samples *) of[VERGE__SOURCE_COUNT]; /* NULL: the source is not counted */
    verge__source_samples others;                             /* the samples of source 0 */
    verge__picture picture;
} verge__samples;

/* The source of a key. If the key has no number, it gets one. VERGE__SOURCE_OTHERS: no number was free for it. */
uint32_t verge__source_find(verge__sources *sources, uint64_t key);

/* The first step to free the number of a source: marks its key as leaving. False: the key has that mark
 * already. Only for the scope's thread. */
bool verge__source_leave(verge__sources *sources, uint32_t source);

/* The second step: frees the number. False: a thread has looked for the key since the first step. Only for the scope's
 * thread. */
bool verge__source_free(verge__sources *sources, uint32_t source);

/* The key of a source; 0: it has none. */
static inline uint64_t verge__source_key(const verge__sources *sources, uint32_t source) {
    return atomic_load_explicit(&sources->keys[source], memory_order_relaxed) & ~VERGE__KEY_LEAVING;
}

static inline uint64_t verge__key_of_function(void (*function)(void)) {
    return (uint64_t)(uintptr_t)function;
}

static inline uint64_t verge__key_of_label(const char *label) {
    return (uint64_t)(uintptr_t)label | VERGE__KEY_LABEL;
}

/* The period of a timer; 0: it runs once. */
static inline uint64_t verge__timer_period(const verge__timer *timer) {
    const uint64_t period_ns = atomic_load_explicit(&timer->period_ns, memory_order_relaxed);
    return period_ns == VERGE__ONCE ? 0 : period_ns;
}

/* What to do about ticks that a periodic timer has missed. */
static inline verge_interval_policy verge__timer_policy(const verge__timer *timer) {
    return (verge_interval_policy)(atomic_load_explicit(&timer->source_and_policy, memory_order_relaxed) >>
                                   VERGE__SOURCE_BITS);
}

/* The source of a timer. If the calling thread is not the owner's, the result may be wrong: the record may be used for
 * another timer at this moment. */
static inline uint32_t verge__timer_source(verge__sources *sources, const verge__timer *timer) {
    const uint32_t source =
        atomic_load_explicit(&timer->period_ns, memory_order_relaxed) == 0
            ? 0
            : (uint32_t)(atomic_load_explicit(&timer->source_and_policy, memory_order_relaxed) & VERGE__SOURCE_MASK);
    return source != 0 ? source
                       : verge__source_find(sources, verge__key_of_function((void (*)(void))atomic_load_explicit(
                                                         &timer->callback, memory_order_relaxed)));
}

/* ---- for tasks: every timer of a task has the source of that task ---- */

/* The source of a key, in this service. */
uint32_t verge__service_source(verge_service *service, uint64_t key);

/* verge_service_start, for a source that was found before. */
VERGE_MUST_USE int verge__service_start_from(verge_service *service, uint64_t deadline_ns, verge_callback callback,
                                             void *argument, uint32_t source, verge_timer *ret_timer);

#endif
