/* SPDX-License-Identifier: MIT */
/*
 * service/service_internal.h - the structs of a service and its workers.
 *
 * The way of a timer
 *   start       a bound thread takes a free record of its worker, and files its node in the worker's wheel (start.c,
 *               filing.c). Any other thread takes a record from the pool, and pushes it into a worker's inbox
 *   pass        a worker takes the records of its inbox, then the nodes of each tick that has come, and runs the
 *               callbacks of the timers that are due (pass.c)
 *   cancel      changes the record's word (cancel.c). If the owner cancels, it frees the record at once. The node may
 *               keep its place in the wheel: the next timer of this record may use it (record.h). Any other thread
 *               sends the record to the owner through the inbox
 *   reset       writes the deadline (reset.c). If the deadline is earlier than before, the node must be filed anew. The
 *               owner does so at once. Any other thread sends the record to the owner through the inbox for that
 *   leave       all timers of a worker go to the inboxes of the other workers. If there are no others, they go to the
 *               orphans (leave.c)
 *
 * The wheel of a worker is a calendar (calendar/calendar.h), the part of the single-threaded wheel that files nodes
 * by tick. All workers share the table of records. The word of a record says in whose wheel it is (record.h).
 *
 * Only the thread that holds a worker's turn may touch the worker's own part. Usually this is the worker's thread. But
 * in a service that watches for stuck callbacks, the turn is laid down while a callback runs. Then a rescuer may take
 * the turn, by a compare-and-swap (turn.h). So may the callback itself: it needs the turn to start, cancel or reset a
 * timer.
 *
 * Invariants
 *   S1  by its link, a record is in at most one list; in an inbox only while it is LINKED (record.h)
 *   S2  a SCHEDULED record that is neither LINKED nor WRITING is in its owner's wheel: at a tick no later than its
 *       deadline's, or among the late timers. Exception: the thread that holds the owner's turn is just handling it
 *   S3  only a thread that took a timer's record from a list (T3), or rescues it (T12), changes its owner field
 *   S4  started = pending + ended + cancelled
 *   S5  a node in a wheel belongs to a timer, to a cancelled record on its way back, or to one of the worker's free
 *       records, which are at most VERGE__FREE_KEPT
 *   S6  wave_end is no earlier than the calendar's cursor, unless another worker has taken ticks (rescue.c)
 */
#ifndef VERGE_SRC_SERVICE_SERVICE_INTERNAL_H
#define VERGE_SRC_SERVICE_SERVICE_INTERNAL_H

#include <pthread.h>

#include "base/fork.h"
#include "calendar/calendar.h"
#include "service/inbox.h"
#include "service/sources.h"

enum {
    VERGE__CACHE_LINE = 128,         /* processors fetch pairs of lines */
    VERGE__SPENT_BEFORE_WAKE = 1024, /* so many records in the inbox, usually spent ones, wake a sleeping worker */
    VERGE__ORPHANS_MIN = 3072,       /* with so many orphans (timers without a worker) or fewer, cancelled ones stay */
    VERGE__FRESH_AT_ONCE = 1024,     /* so many new records a worker takes together */
    VERGE__FREE_KEPT = 256,          /* free records of a worker; half of them move to or from the pool together */
};

#if defined(VERGE_STEPS) && VERGE_STEPS
extern uint32_t verge__orphans_min; /* a test lowers it */
#else
static const uint32_t verge__orphans_min = VERGE__ORPHANS_MIN;
#endif

/* Counters. One thread at a time counts, any thread reads. */
typedef _Atomic uint64_t verge__counter;

static inline void verge__count(verge__counter *counter, uint64_t by) {
    VERGE__STORE_RELAXED(counter, verge__load_relaxed(counter) + by);
}

static inline uint64_t verge__counted(const verge__counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

typedef struct verge__tally {
    verge__counter started;
    verge__counter fired;
    verge__counter ended;
    verge__counter cancelled_locally;
    verge__counter cancelled_remotely;
    verge__counter reset;
    verge__counter migrated;
    verge__counter rescued;
    verge__counter wakeups;
    verge__counter clock_reads;
    verge__counter linked;
    verge__counter nodes_moved;
    verge__counter wheel_bytes;
} verge__tally;

/* The state of a worker's seat. A seat exists until the service ends, and workers come and go in it. */
typedef enum verge__seat_state {
    VERGE__SEAT_VACANT = 0,
    VERGE__SEAT_JOINED,
    VERGE__SEAT_LEAVING,
} verge__seat_state;

/* What a worker has for a scope only (sources.h). */
typedef struct verge__shown {
    uint64_t look_seen;                /* the service's `look`, as of the worker's last pass; only its thread uses it */
    _Atomic(verge__samples *) samples; /* NULL: nobody has looked yet */
    _Atomic uint32_t weight;           /* of a sample: a power of two */
    _Atomic uint32_t starts_left;      /* samples are drawn from so many more starts */
    _Atomic uint32_t cancels_left;     /* the same for cancels */
    _Atomic uint32_t fires_left;       /* the same for firings */
} verge__shown;

/* The padding puts fields that different threads write into different cache lines.
 * NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct verge_worker {
    /* ---- the worker's own part: for the thread with the turn; others use only atomic and constant fields ---- */
    verge_service *service;
    /* A short way is fast code for the usual start or cancel (start.c, cancel.c). It applies if the service has no cap
     * and does not watch callbacks, and no samples of starts are taken now. Then this field holds the address of the
     * service, otherwise the address of this worker, which equals no service. */
    _Atomic uint64_t short_way_service;
    /* As short_way_service, but for cancel: it depends on samples of cancels, not of starts. It also holds the worker's
     * address if the machine has no instruction for a compare-and-swap (base/exchange.h). */
    _Atomic uint64_t short_way_service_with_cas;
    verge_worker *bound_next; /* in the list of workers that this thread is bound to */
    uint64_t part_mask;       /* the bits of a time below one tick */
    bool has_short_ways;      /* whether the short ways apply while no samples are taken (sources.h) */
    bool machine_has_cas;
    uint64_t scheduled_here; /* the lower half of a word: SCHEDULED, with this owner and no flag */
    uint8_t shift;
    bool is_thread; /* the worker runs on a thread of the service */
    bool naps;      /* the worker may nap (pass.c, begin_sleep); false for the user's workers, except in simulations */
    bool is_in_pass;
    bool is_in_callback;
    bool wants_to_leave;
    uint32_t id;
    _Atomic uint32_t free_count;
    /* How many free records the worker has, plus the timers in its wheel. A timer that another thread has cancelled
     * counts until its node comes up, or its record comes back through the inbox. */
    verge__counter held;
    /* Timers that were filed too late for their tick: late[late_list] for the next wave, the other list for this
     * wave. The timers of the tick that was taken last are in the calendar's due_slot. */
    verge__node *late[2];
    uint8_t late_list;
    uint64_t wave_end;       /* ticks from this one on belong to the next wave (pass.c) */
    verge__chain incoming;   /* taken from the inbox, but not handled yet */
    uint32_t received_count; /* records that the worker took from its inbox since it last went to sleep */
    verge__chain overdue;  /* timers from the inbox that came too late for their tick, in the order in which they run */
    uint32_t overdue_left; /* how many records of `overdue` belong to this wave */
    uint64_t now_ns;       /* when the last pass began or, if later, its last callback returned */
    uint64_t rescued_ns;   /* the latest now_ns of other workers when they took ticks of this one (rescue.c) */
    uint64_t published_ns; /* the metronome's time, as of the worker's last pass */
    uint32_t same_count;   /* reads of this same published_ns, since the worker last read the clock */
    uint32_t busy_count;   /* reads of the time since the worker last waited, or asked for the metronome */
    void (*wake)(void *context);
    void *wake_context;
    uint32_t fresh_next; /* the worker has fresh_count records that were never used, from this index on (free.c) */
    uint32_t fresh_count;
    /* The free records: generation (as in the word) and index of each. The record that was freed last is at the end. */
    uint64_t free[VERGE__FREE_KEPT];

    _Alignas(VERGE__CACHE_LINE) verge__tally tally;
    verge__calendar calendar; /* large, so it comes after the fields that each call uses */
    verge_histogram lateness;
    verge_histogram callback_time;

    /* ---- for any thread ---- */
    _Alignas(VERGE__CACHE_LINE) verge__inbox inbox;
    _Atomic bool has_living_thread; /* the worker is bound to a living thread: no other thread may make it leave */
    _Atomic uint64_t wait_until_ns; /* until when the worker sleeps, or VERGE__AWAKE and the like (park.h) */
    _Atomic uint32_t signal;        /* the word on which the worker sleeps (park.h) */
    _Atomic uint32_t seat_state;    /* verge__seat_state */
    _Atomic uint32_t turn;          /* whether a thread holds the turn: VERGE__TURN_HELD and so on (turn.h) */
    _Atomic bool is_to_retire;      /* the service wants this thread to leave */
    _Atomic bool is_interrupted;
    _Atomic bool has_made_a_pass;
    _Atomic uint64_t next_ns;           /* when the worker will have something to do, as of its last pass */
    _Atomic uint64_t callback_since_ns; /* when the current callback began; 0: none runs, or it is not watched */
    _Atomic uint64_t running;           /* the timer whose callback runs; 0: none */
    _Atomic uint32_t returns;           /* grows when threads that wait for a timer are released (park.h) */
    _Atomic(verge_callback) running_callback;
    _Atomic uint64_t reported_since_ns; /* the callback_since_ns that was reported last */
    pthread_t thread;
    bool has_thread; /* `thread` must be joined; under the service's lock */

    /* This field is last, in cache lines of its own. No thread writes them while no scope looks. */
    _Alignas(VERGE__CACHE_LINE) verge__shown shown;
};

/* A service thread whose seat another worker has taken. It is joined when it has ended. */
typedef struct verge__ending_thread {
    pthread_t thread;
    struct verge__ending_thread *next;
} verge__ending_thread;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as above */
struct verge_service {
    verge__table table;
    verge_service_options options;
    verge_allocator allocator; /* calls the user's allocator, and counts `bytes` */
    uint8_t shift;
    bool is_clock_monotonic; /* the clock is the monotonic one: the kernel can wait on it */
    bool is_clock_realtime;  /* the clock is the time of day: the kernel can wait on it, but somebody may set it */
    uint32_t forks;          /* verge__forks() when the service was created */
    /* Deadlines from 1 to this value are refused: they can only be durations, passed by mistake. 0: no check. */
    uint64_t refused_ns;
    _Atomic uint32_t seat_count;
    _Atomic(verge_worker *) seats[VERGE_WORKER_COUNT_MAX + 1]; /* by id, from 1 */

    _Alignas(VERGE__CACHE_LINE) _Atomic uint64_t published_ns;
    _Atomic bool metronome_is_on; /* published_ns is fresh */
    _Atomic bool is_stopping;
    _Atomic uint32_t guest_count; /* the user's own workers that have not left */

    _Alignas(VERGE__CACHE_LINE) verge__inbox orphans;
    _Atomic uint32_t orphans_allowed; /* if there are more orphans, cancelled ones are freed */
    _Atomic uint64_t room;            /* with a cap: how many timers may still be started */
    verge__tally outside;             /* counts for threads that are no workers, which write by atomic adds */
    _Atomic uint64_t stuck;           /* how many callbacks ran too long */
    _Atomic uint64_t bytes;

    _Alignas(VERGE__CACHE_LINE) _Atomic uint32_t metronome_signal;
    _Atomic bool metronome_is_wanted;
    _Atomic uint64_t metronome_ticks;
    bool has_metronome_thread;
    pthread_t metronome_thread;
    pthread_mutex_t lock; /* for joining, leaving and threads. No thread waits for another while it holds the lock */
    verge__ending_thread *ending_threads;

    /* sources.h */
    _Alignas(VERGE__CACHE_LINE) _Atomic uint64_t look;
    _Atomic bool is_in_scope;     /* a scope shows the service */
    _Atomic int32_t outside_left; /* samples are drawn from so many more events of threads that are no workers */
    _Atomic uint32_t outside_weight;
    _Atomic(verge__samples *) outside_samples;
    verge__sources sources;
};

/* Whether the short ways apply. The thread that asks for samples (sources.h) may switch them off at any time. */
static VERGE__ALWAYS_INLINE bool verge__short_way_applies(const _Atomic uint64_t *short_way_service,
                                                          const void *service) {
    return verge__load_relaxed(short_way_service) == (uint64_t)(uintptr_t)service;
}

static inline verge_worker *verge__service_seat(const verge_service *service, uint32_t id) {
    return atomic_load_explicit(&service->seats[id], memory_order_acquire);
}

/* The time on the service's clock. If the clock shows VERGE_NEVER, which is not a time, returns the time just before
 * that. */
static inline uint64_t verge__service_clock(const verge_service *service) {
    uint64_t now_ns = service->options.clock.now_ns(service->options.clock.context);
    return now_ns - (now_ns == VERGE_NEVER ? 1 : 0);
}

static inline bool verge__service_refuses(const verge_service *service, uint64_t deadline_ns) {
    return deadline_ns - 1 < service->refused_ns;
}

/* The first tick at or after a deadline. Any deadline has one: the sum does not overflow. */
static inline uint64_t verge__worker_tick(const verge_worker *worker, uint64_t deadline_ns) {
    return (deadline_ns >> worker->shift) + ((deadline_ns & worker->part_mask) != 0 ? 1 : 0);
}

static inline bool verge__service_watches(const verge_service *service) {
    return service->options.stuck_after_ns != 0;
}

static inline bool verge__worker_has_backlog(const verge_worker *worker) {
    const verge__calendar *calendar = &worker->calendar;
    return worker->late[0] != NULL || worker->late[1] != NULL || verge__calendar_has_due(calendar) ||
           worker->overdue.count > 0;
}

/* Whether the seat has a worker that has not begun to leave. A vacant seat has no wheel. */
static inline bool verge__worker_is_there(const verge_worker *worker) {
    return atomic_load_explicit(&worker->seat_state, memory_order_relaxed) == VERGE__SEAT_JOINED;
}

static inline uint32_t verge__worker_free_count(const verge_worker *worker) {
    return atomic_load_explicit(&worker->free_count, memory_order_relaxed);
}

/* How many timers are in the worker's wheel. For any thread. */
static inline size_t verge__worker_timer_count(const verge_worker *worker) {
    uint64_t free_count = verge__worker_free_count(worker);
    uint64_t held = verge__counted(&worker->held);
    return held > free_count ? (size_t)(held - free_count) : 0; /* others may see one of two changes, not yet both */
}

/* The number of timers in the worker's wheel has changed by `by`; the number of its free records has not. */
static inline void verge__worker_count_timer(verge_worker *worker, int by) {
    verge__count(&worker->held, (uint64_t)(int64_t)by);
}

/* ---- bound.c: which worker a thread is bound to ---- */

/* The workers that this thread is bound to. The TLS model is that of libraries that are loaded with the program. */
extern _Thread_local verge_worker *verge__bound_workers
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The worker of this service that the calling thread is bound to, or whose pass it makes. NULL: none. */
static inline verge_worker *verge__bound(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && worker->service != service)) {
        worker = worker->bound_next;
    }
    return worker;
}

/* As verge__bound, but NULL if the short ways do not apply. */
static VERGE__ALWAYS_INLINE verge_worker *verge__bound_for_short_way(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && !verge__short_way_applies(&worker->short_way_service, service))) {
        worker = worker->bound_next;
    }
    return worker;
}

static VERGE__ALWAYS_INLINE verge_worker *verge__bound_for_short_way_with_cas(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && !verge__short_way_applies(&worker->short_way_service_with_cas, service))) {
        worker = worker->bound_next;
    }
    return worker;
}

/* From now on, if the process forks, no thread is bound to a worker in the child. So the short ways do not apply there.
 * -ENOMEM. */
int verge__forget_bound_in_child(void);

/* Called in the child of a fork: forgets the threads that wait in cancel_wait, as they do not exist there. */
void verge__forget_waiting(void);

/* Whether this process is the child of a fork, and the service belongs to the parent. The child has none of the
 * service's threads. */
static inline bool verge__service_is_forked(const verge_service *service) {
    return service->forks != verge__forks();
}

void verge__bind(verge_worker *worker);
void verge__bind_until_thread_ends(verge_worker *worker);
void verge__unbind(verge_worker *worker);
bool verge__is_bound(const verge_worker *worker);

/* Whether the worker is bound to another thread, which has not ended. That thread still uses the worker. */
bool verge__is_bound_to_another(const verge_worker *worker);

#if defined(VERGE_STEPS) && VERGE_STEPS
/* For simulations, which run several threads in one: exchanges the list of bound workers. */
verge_worker *verge__exchange_bound(verge_worker *workers);
#endif

/* ---- sources.c ---- */

/* Stores in short_way_service and short_way_service_with_cas whether the short ways apply now. */
void verge__worker_set_short_ways(verge_worker *worker);

/* Called in a pass when the service's `look` has changed. Takes a picture of the wheel, unless `look` is 0 (nobody
 * looks any more). */
void verge__worker_note_look(verge_worker *worker, uint64_t look);

/* For scope's thread. verge__worker_poke asks for samples of a worker, verge__service_poke for samples of threads that
 * are no workers. */
void verge__worker_poke(verge_worker *worker, uint32_t weight);
void verge__service_poke(verge_service *service, uint32_t weight);

/* If samples are still wanted, and a random choice makes this event a sample, count it for its source. Call
 * verge__sample_start before other threads can see the timer. */
void verge__sample_start(verge_service *service, verge_worker *bound, const verge__timer *timer);
void verge__sample_cancel(verge_service *service, verge_worker *bound, uint32_t source);
void verge__sample_firing(verge_worker *worker, uint32_t source, const verge_firing *firing, bool has_ended);

/* Whether samples are wanted. Also true if none are wanted any more, but the short ways are still off:
 * verge__sample_start or verge__sample_cancel then switches them on. */
static inline bool verge__samples_here(const verge_worker *worker, const _Atomic uint32_t *left,
                                       const _Atomic uint64_t *short_way_service) {
    return VERGE__UNLIKELY(atomic_load_explicit(left, memory_order_relaxed) != 0) ||
           (worker->has_short_ways && VERGE__UNLIKELY(verge__short_way_applies(short_way_service, worker)));
}

static inline bool verge__samples_outside(const verge_service *service) {
    return VERGE__UNLIKELY(atomic_load_explicit(&service->outside_left, memory_order_relaxed) > 0);
}

static inline bool verge__samples_starts(const verge_service *service, const verge_worker *bound) {
    return bound != NULL ? verge__samples_here(bound, &bound->shown.starts_left, &bound->short_way_service)
                         : verge__samples_outside(service);
}

static inline bool verge__samples_cancels(const verge_service *service, const verge_worker *bound) {
    if (bound == NULL) {
        return verge__samples_outside(service);
    }
    return verge__samples_here(bound, &bound->shown.cancels_left,
                               bound->machine_has_cas ? &bound->short_way_service_with_cas : &bound->short_way_service);
}

/* ---- filing.c: the wheel of a worker ---- */

int verge__worker_init_wheel(verge_worker *worker, uint64_t now_ns);
void verge__worker_deinit_wheel(verge_worker *worker);

/* Files a timer at its deadline's tick or, if it is too late for that tick, for the next wave. If the timer is filed
 * already, takes it out first. */
void verge__worker_file(verge_worker *worker, verge__timer *timer);

/* Takes one of this worker's timers out of the wheel, if it is there. */
static inline void verge__worker_withdraw(verge_worker *worker, verge__timer *timer) {
    if (verge__timer_is_filed(timer)) {
        verge__calendar_withdraw(&worker->calendar, &timer->node);
        verge__worker_count_timer(worker, -1);
    }
}

/* Take the next timer out of the wheel: a late timer of this wave, or a timer of the current tick. NULL: there is
 * none. */
verge__timer *verge__worker_pop_late(verge_worker *worker);
verge__timer *verge__worker_pop_due(verge_worker *worker);

/* Whether it is too late to file for a tick: the tick has been taken, or belongs to the wave in progress. */
static inline bool verge__worker_is_late(const verge_worker *worker, uint64_t tick) {
    return tick < worker->calendar.cursor || tick < worker->wave_end;
}

/* ---- free.c: free records of a worker ---- */

#if defined(VERGE_STEPS) && VERGE_STEPS
extern uint32_t verge__fresh_at_once; /* tests may take fewer */
#else
static const uint32_t verge__fresh_at_once = VERGE__FRESH_AT_ONCE;
#endif

/* Makes sure that there is a free record. -ENOMEM, -ENOSPC. */
int verge__worker_refill(verge_worker *worker);

/* Takes a free record for a timer. `held` stays the same. */
uint32_t verge__worker_pop_free(verge_worker *worker);
void verge__worker_free(verge_worker *worker, verge__timer *timer, uint32_t index);
void verge__worker_give_all_free(verge_worker *worker);

/* ---- inbox.c ---- */

/* Pushes a chain to a worker. If that worker has left, the chain goes to another one, or to the orphans. Wakes the
 * receiver if it sleeps beyond deadline_ns, or if its inbox has many records. If the receiver is not the owner of the
 * records, pass 0 as deadline_ns, to wake the receiver in any case. Otherwise it could sleep too long: a thread that
 * resets a timer to an earlier deadline at the same time wakes only the owner. */
void verge__send(verge_service *service, uint32_t worker_id, verge__chain chain, uint64_t deadline_ns);
void verge__send_one(verge_service *service, uint32_t worker_id, uint32_t index, uint64_t deadline_ns);

/* Wakes a worker to take the orphans, if there are any. A thread calls this after it has pushed orphans. A leaving
 * worker calls it, too, because it may be the one that was woken for them. */
void verge__wake_for_orphans(verge_service *service);

/* The worker with the fewest timers; 0: there is none. */
uint32_t verge__service_pick(const verge_service *service);

/* Wakes the sleeping worker with the fewest timers, for work that any worker can do. A worker that is awake would do
 * the work in its next pass. But that may be late: it may be in a callback, or have no processor. */
void verge__wake_one(verge_service *service);

/* T3: takes a record that came through a list. True: it is now a timer of this worker, and must be filed or run. */
bool verge__worker_take(verge_worker *worker, verge__timer *timer, uint32_t index);

/* Takes the inbox and the orphans, and handles a bounded number of the records that have come. */
void verge__worker_receive(verge_worker *worker);

/* ---- ending a timer ---- */

/* T6, T7: the caller has ended a SCHEDULED timer. `word` is its word before that. Frees the record, or sends it to its
 * owner. If it was LINKED, does nothing: the thread that takes it from its list frees it. */
void verge__free_or_send(verge_service *service, verge_worker *bound, verge__timer *timer, uint32_t index,
                         uint64_t word);

/* ---- leave.c, rescue.c, metronome.c ---- */

/* T12, after a timer was taken out of the wheel. True: it was SCHEDULED and not LINKED, and the caller must send it
 * on. */
bool verge__worker_unlink(verge_worker *worker, verge__timer *timer);

/* Makes a new worker join, for a thread of the service or of the user. */
int verge__service_join(verge_service *service, const verge_worker_options *options, bool is_thread,
                        verge_worker **ret_worker);

/* Called when a watched callback has returned, or its thread has died in it. */
void verge__worker_end_watch(verge_worker *worker);

/* Reports stuck workers, and wakes a worker to rescue their due timers. */
void verge__service_watch(verge_service *service, uint64_t now_ns);
void verge__worker_rescue_others(verge_worker *worker);

int verge__metronome_start(verge_service *service);
void verge__metronome_stop(verge_service *service);
bool verge__is_metronome(const verge_service *service); /* whether the calling thread is the metronome */
void verge__metronome_want(verge_service *service);
uint64_t verge__worker_read_now(verge_worker *worker);

/* ---- counting ---- */

/* Counts for the bound worker, or for threads that are not workers. */
static inline void verge__count_for(verge__counter *of_worker, verge__counter *outside) {
    if (of_worker != NULL) {
        verge__count(of_worker, 1);
    } else {
        (void)atomic_fetch_add_explicit(outside, 1, memory_order_relaxed);
    }
}

/* Takes room for one timer under the cap. -ENOSPC: there is none. */
int verge__service_take_room(verge_service *service);

static inline void verge__service_give_room(verge_service *service) {
    if (service->options.timer_cap != 0) {
        (void)atomic_fetch_add_explicit(&service->room, 1, memory_order_relaxed);
    }
}

/* The callback of a timer has returned for the last time. Release: a thread that sees this count sees what the callback
 * wrote. */
static inline void verge__count_ended(verge__tally *tally) {
    atomic_store_explicit(&tally->ended, verge__counted(&tally->ended) + 1, memory_order_release);
}

/* ---- query.c ---- */

/* How many timers are pending or running. The result may be too large, but not too small. */
uint64_t verge__service_pending(const verge_service *service);

/* ---- pass.c ---- */

/* One pass. Returns how many callbacks ran. */
size_t verge__worker_pass(verge_worker *worker);

#endif
