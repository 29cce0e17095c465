/* SPDX-License-Identifier: MIT */
/*
 * service/service_internal.h - what a service and its workers are made of.
 *
 * The way of a timer
 *   start       a bound thread takes a free record of its worker's and files an entry in the worker's wheel (start.c,
 *               filing.c); any other takes one from the pool and pushes it into a worker's inbox
 *   pass        a worker takes what is in its inbox, then the entries of each tick that has come, and runs the
 *               callbacks of the timers that are due (pass.c)
 *   cancel      changes the record's word. Its owner frees the record at once; another thread sends it to the owner
 *               through the inbox (cancel.c). The entry stays with the free record, for the next start
 *   reset       writes the deadline; if it is earlier than before, the owner files an entry for it, told so through its
 *               inbox (reset.c)
 *   leave       all that a worker has goes through the inboxes of the others (leave.c)
 *
 * The wheel of a worker is a calendar (calendar/calendar.h), the part of the single-threaded wheel that files entries by
 * tick. The record table is shared, and a record says by its word whose wheel it is in (record.h).
 *
 * Who may touch a worker's own part: who holds its turn. That is its thread, except while a callback runs on it in a
 * service that watches for stuck callbacks: then the turn lies there, and who wants it - a rescuer, or the callback that
 * starts a timer - takes it by a compare-and-swap (turn.h).
 *
 * Invariants
 *   S1  a record has at most one link in use (record.h, LINKED)
 *   S2  a SCHEDULED record that is not LINKED has an entry in its owner's wheel, at a tick no later than its deadline's;
 *       unless it is WRITING and AGAIN: then a thread is about to send it to its owner
 *   S3  a record's owner field changes only in the hands of who took it from an inbox
 *   S4  started = pending + ended + cancelled
 *   S5  an entry is of a timer, of a record that was cancelled and is on its way back, or of one of the worker's free records,
 *       which are at most VERGE__FREE_KEPT
 *   S6  a round ends at the cursor or later, unless another worker has taken ticks (rescue.c)
 */
#ifndef VERGE_SRC_SERVICE_SERVICE_INTERNAL_H
#define VERGE_SRC_SERVICE_SERVICE_INTERNAL_H

#include <pthread.h>

#include "calendar/calendar.h"
#include "service/inbox.h"

enum {
    VERGE__CACHE_LINE = 128,       /* pairs of lines are fetched together */
    VERGE__DEAD_BEFORE_WAKE = 256, /* cancelled timers that may wait for a sleeping owner to take them back */
    VERGE__ORPHANS_MIN = 3072,     /* orphans that nobody looks through for dead ones */
    VERGE__RUN_LENGTH = 1024,      /* new records that a worker takes at once */
    VERGE__FREE_KEPT = 256, /* free records that a worker keeps; half of them go to and come from the pool at once */
};

#if defined(VERGE_STEPS) && VERGE_STEPS
extern uint32_t verge__orphans_min; /* a test has fewer */
#else
static const uint32_t verge__orphans_min = VERGE__ORPHANS_MIN;
#endif

/* Counted by one thread at a time, read by any. */
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
    verge__counter entries;
    verge__counter entries_moved;
    verge__counter wheel_bytes;
} verge__tally;

/* A worker's place; it is there until the service ends, whoever works in it. */
typedef enum verge__place_state {
    VERGE__PLACE_VACANT = 0,
    VERGE__PLACE_JOINED,
    VERGE__PLACE_LEAVING,
} verge__place_state;

/* The padding keeps what different threads write apart. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct verge_worker {
    /* ---- its own: for who holds the turn ---- */
    verge_service *service;
    /* The service, if it has no cap and is not watched: then the short ways apply. Else what is no service: this worker. */
    const void *plain_service;
    const void *plain_service_with_cas; /* the same, if the machine has the instruction (base/exchange.h) */
    verge_worker *bound_next;           /* of the workers this thread is bound to */
    uint64_t part_mask;                 /* the bits of a time that are a part of a tick */
    uint64_t scheduled_here;            /* the lower half of a word: SCHEDULED, with this owner and no flag */
    uint8_t shift;
    bool is_thread; /* of the service's */
    bool is_in_pass;
    bool is_in_callback;
    bool wants_to_leave;
    uint32_t id;
    _Atomic uint32_t free_count;
    verge__counter
        held; /* free records, and timers with an entry in its wheel (those that are dead and not back, too) */
    uint8_t
        late_list; /* of the calendar's own lists, the one for timers filed too late for their tick: for the next round. The
                              other, 1 - late_list, has those for this round. Those of the tick taken last are in its due_slot */
    uint64_t round_end;    /* ticks from here on are for the next round (pass.c) */
    verge__chain incoming; /* taken from the inbox, not looked at yet */
    verge__chain shelf;    /* there was no memory to file them */
    verge__chain overdue;  /* came too late for their tick, through the inbox: in the order in which they are to run */
    uint32_t overdue_left; /* of these, those for this round */
    uint64_t now_ns;       /* of the last pass */
    uint64_t rescued_ns;   /* of the last pass of another that has taken ticks here (rescue.c) */
    uint64_t published_ns; /* what the metronome had said then */
    uint32_t same_count;   /* passes since that has changed */
    uint32_t busy_count;   /* passes without a wait */
    void (*wake)(void *context);
    void *wake_context;
    uint32_t run_next; /* records that were never used, from this one on (free.c) */
    uint32_t run_count;
    uint64_t free[VERGE__FREE_KEPT]; /* records, the last freed at the end: generation, as in the word, and index */

    _Alignas(VERGE__CACHE_LINE) verge__tally tally;
    verge__calendar calendar; /* large: behind what each call uses, which has the short addresses */
    verge_histogram lateness;
    verge_histogram callback_time;

    /* ---- for any thread ---- */
    _Alignas(VERGE__CACHE_LINE) verge__inbox inbox;
    _Atomic bool is_kept;           /* by the thread it is bound to, which leaves when it ends: others keep off */
    _Atomic uint64_t wait_until_ns; /* park.h */
    _Atomic uint32_t signal;        /* park.h */
    _Atomic uint32_t place_state;   /* verge__place_state */
    _Atomic uint32_t turn;          /* turn.h */
    _Atomic bool is_to_retire;      /* a thread of the service's is to leave */
    _Atomic bool is_interrupted;
    _Atomic bool has_made_a_pass;
    _Atomic uint64_t next_ns;           /* when it has something to do, as of its last pass */
    _Atomic uint64_t callback_since_ns; /* when the callback that runs began, 0 if none does; watched services only */
    _Atomic uint64_t running;           /* the timer whose callback runs; 0 if none does */
    _Atomic uint32_t returns;           /* of callbacks that were waited for (cancel.c) */
    _Atomic(verge_callback) running_callback;
    _Atomic uint64_t reported_since_ns; /* the callback_since_ns that was reported last */
    pthread_t thread;
    bool has_thread; /* `thread` is to be joined; under the service's lock */
};

/* A thread of the service's that has left its place to another, and is to be joined when it has ended. */
typedef struct verge__ending_thread {
    pthread_t thread;
    struct verge__ending_thread *next;
} verge__ending_thread;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as above */
struct verge_service {
    verge__table table;
    verge_service_options options;
    verge_allocator allocator; /* the user's, counted in `bytes` */
    uint8_t shift;
    bool is_clock_monotonic; /* the kernel can wait for it */
    uint64_t refused_ns;     /* deadlines from 1 to here are durations by mistake; 0: not checked */
    _Atomic uint32_t place_count;
    _Atomic(verge_worker *) places[VERGE_WORKER_COUNT_MAX + 1]; /* by id; 0 is nobody's */

    _Alignas(VERGE__CACHE_LINE) _Atomic uint64_t published_ns;
    _Atomic bool metronome_is_on; /* published_ns is fresh */
    _Atomic bool is_stopping;
    _Atomic uint32_t guest_count; /* workers of the user's that have not left */

    _Alignas(VERGE__CACHE_LINE) verge__inbox orphans;
    _Atomic uint32_t orphans_allowed; /* with more, those that are dead are taken back */
    _Atomic uint64_t room;            /* capped: timers that may still be started */
    verge__tally outside;             /* counted by threads that are no workers, by atomic adds */
    _Atomic uint64_t stuck;           /* callbacks that ran too long */
    _Atomic uint64_t bytes;

    _Alignas(VERGE__CACHE_LINE) _Atomic uint32_t metronome_signal;
    _Atomic bool metronome_is_wanted;
    _Atomic uint64_t metronome_ticks;
    bool has_metronome_thread;
    pthread_t metronome_thread;
    pthread_mutex_t lock; /* joining, leaving, threads. Nobody is waited for under it */
    verge__ending_thread *ending_threads;
};

static inline verge_worker *verge__service_place(const verge_service *service, uint32_t id) {
    return atomic_load_explicit(&service->places[id], memory_order_acquire);
}

/* Before VERGE_NEVER, which is no time. */
static inline uint64_t verge__service_clock(const verge_service *service) {
    uint64_t now_ns = service->options.clock.now_ns(service->options.clock.context);
    return now_ns - (now_ns == VERGE_NEVER ? 1 : 0);
}

static inline bool verge__service_refuses(const verge_service *service, uint64_t deadline_ns) {
    return deadline_ns - 1 < service->refused_ns;
}

/* The tick of a deadline: the first at or after it. The end of time has a tick too. */
static inline uint64_t verge__worker_tick(const verge_worker *worker, uint64_t deadline_ns) {
    return (deadline_ns >> worker->shift) + ((deadline_ns & worker->part_mask) != 0 ? 1 : 0);
}

static inline bool verge__service_watches(const verge_service *service) {
    return service->options.stuck_after_ns != 0;
}

static inline bool verge__worker_has_backlog(const verge_worker *worker) {
    const verge__calendar *calendar = &worker->calendar;
    return calendar->own[0] != NULL || calendar->own[1] != NULL || verge__calendar_has_due(calendar) ||
           worker->overdue.count > 0;
}

/* Not if it has left: then its place has no wheel. */
static inline bool verge__worker_is_there(const verge_worker *worker) {
    return atomic_load_explicit(&worker->place_state, memory_order_relaxed) == VERGE__PLACE_JOINED;
}

static inline uint32_t verge__worker_free_count(const verge_worker *worker) {
    return atomic_load_explicit(&worker->free_count, memory_order_relaxed);
}

/* Timers with an entry in its wheel. Any thread may ask. */
static inline size_t verge__worker_live(const verge_worker *worker) {
    uint64_t free_count = verge__worker_free_count(worker);
    uint64_t held = verge__counted(&worker->held);
    return held > free_count ? (size_t)(held - free_count) : 0; /* another thread may see one of them only */
}

/* Its timers have become one more or one less, and its free records not. */
static inline void verge__worker_count_live(verge_worker *worker, int by) {
    verge__count(&worker->held, (uint64_t)(int64_t)by);
}

/* ---- bound.c: which worker a thread is ---- */

/* The workers this thread is bound to. A thread-local variable of a library that is loaded with its program. */
extern _Thread_local verge_worker *verge__bound_workers
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The worker of this service that the calling thread is bound to, or whose pass it makes; NULL. */
static inline verge_worker *verge__bound(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && worker->service != service)) {
        worker = worker->bound_next;
    }
    return worker;
}

/* The same for the short ways: NULL if they do not apply. */
static VERGE__ALWAYS_INLINE verge_worker *verge__bound_plainly(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && worker->plain_service != service)) {
        worker = worker->bound_next;
    }
    return worker;
}

static VERGE__ALWAYS_INLINE verge_worker *verge__bound_plainly_with_cas(const verge_service *service) {
    verge_worker *worker = verge__bound_workers;
    while (VERGE__UNLIKELY(worker != NULL && worker->plain_service_with_cas != service)) {
        worker = worker->bound_next;
    }
    return worker;
}

void verge__bind(verge_worker *worker);
void verge__bind_until_thread_ends(verge_worker *worker);
void verge__unbind(verge_worker *worker);
bool verge__is_bound(const verge_worker *worker);

/* Whether it is bound to another thread, which has not ended. That thread has its address, and comes back to it. */
bool verge__is_anothers(const verge_worker *worker);

#if defined(VERGE_STEPS) && VERGE_STEPS
/* For who plays several threads in one: what the thread is bound to, exchanged. */
verge_worker *verge__exchange_bound(verge_worker *workers);
#endif

/* ---- filing.c: the wheel of a worker ---- */

int verge__worker_init_wheel(verge_worker *worker, uint64_t now_ns);
void verge__worker_deinit_wheel(verge_worker *worker);

/* Makes room for an entry. -ENOMEM. */
int verge__worker_prepare(verge_worker *worker);

/* Files a timer at its deadline's tick, unless the entry it has serves. There is room, or it has an entry. */
void verge__worker_file(verge_worker *worker, verge__timer *timer, uint64_t tick);

/* The same, whether there is room or not: without memory it waits on the shelf. The timer is SCHEDULED and not LINKED; if it is
 * cancelled meanwhile, no harm is done. */
void verge__worker_file_or_shelve(verge_worker *worker, verge__timer *timer);

/* Files what is on the shelf, and runs what is due there. */
void verge__worker_clear_shelf(verge_worker *worker);

/* Takes the entry of a timer of this worker's out of the wheel, if it has one. */
static inline void verge__worker_withdraw(verge_worker *worker, verge__timer *timer) {
    if (verge__timer_has_entry(timer)) {
        verge__calendar_withdraw(&worker->calendar, &timer->node);
        verge__worker_count_live(worker, -1);
    }
}

/* The next entry of this round, out of the wheel: of those that were late, or of the tick at hand. NULL: there is none. */
verge__timer *verge__worker_pop_late(verge_worker *worker);
verge__timer *verge__worker_pop_due(verge_worker *worker);

/* Whether it is too late for a tick: it has been taken, or is for a round that has begun without this. */
static inline bool verge__worker_is_late(const verge_worker *worker, uint64_t tick) {
    return tick < worker->calendar.cursor || tick < worker->round_end;
}

/* ---- free.c: free records of a worker ---- */

#if defined(VERGE_STEPS) && VERGE_STEPS
extern uint32_t verge__run_length; /* a test may have shorter ones */
#else
static const uint32_t verge__run_length = VERGE__RUN_LENGTH;
#endif

/* Makes sure that there is one. -ENOMEM, -ENOSPC. */
int verge__worker_refill(verge_worker *worker);

/* Takes one, for a timer: what the worker holds stays the same. */
uint32_t verge__worker_pop_free(verge_worker *worker);
void verge__worker_free(verge_worker *worker, verge__timer *timer, uint32_t index);
void verge__worker_give_all_free(verge_worker *worker);

/* ---- inbox.c ---- */

/* Pushes a chain to a worker, or to another if that one has left, or to the orphans; wakes who sleeps beyond deadline_ns, and
 * whoever has much to take back. Who sends a timer to another than its owner wakes in any case (0): a reset, too, looks
 * after the owner only. */
void verge__send(verge_service *service, uint32_t worker_id, verge__chain chain, uint64_t deadline_ns);
void verge__send_one(verge_service *service, uint32_t worker_id, uint32_t index, uint64_t deadline_ns);

/* Wakes a worker to take the orphans, if there are any. Who pushes some does so, and who leaves: it may be the one that
 * was to take them. */
void verge__wake_for_orphans(verge_service *service);

/* The worker with the fewest timers; 0 if there is none. */
uint32_t verge__service_pick(const verge_service *service);

/* Wakes a worker to do what any of them can do: the one with the fewest timers of those that sleep. One that is awake would
 * do it in its next pass, but nobody knows when that is: it may be in a callback, or have no processor. */
void verge__wake_one(verge_service *service);

/* Takes a record out of its link (T3); true if it is a timer of this worker's now, to be filed. */
bool verge__worker_take(verge_worker *worker, verge__timer *timer, uint32_t index);

/* Takes what has come, some of it. */
void verge__worker_receive(verge_worker *worker);

/* ---- ending a timer ---- */

/* A SCHEDULED timer was ended by a change of its word from `word`, not by its owner's thread in a pass: it is freed, or
 * sent to its owner. */
void verge__give_up(verge_service *service, verge_worker *bound, verge__timer *timer, uint32_t index, uint64_t word);

/* ---- leave.c, rescue.c, metronome.c ---- */

/* T12: a timer's entry was taken out of the wheel. True: it was SCHEDULED, and the caller links it. */
bool verge__worker_unlink(verge_worker *worker, verge__timer *timer);

/* Joins, for a thread of the service's or for one of the user's. */
int verge__service_join(verge_service *service, const verge_worker_options *options, bool is_thread,
                        verge_worker **ret_worker);

/* The callback that was watched has returned, or its thread has died. */
void verge__worker_end_watch(verge_worker *worker);

/* Reports who is stuck, and wakes a worker to rescue what is due there. */
void verge__service_watch(verge_service *service, uint64_t now_ns);
void verge__worker_rescue_others(verge_worker *worker);

int verge__metronome_start(verge_service *service);
void verge__metronome_stop(verge_service *service);
bool verge__is_metronome(const verge_service *service); /* the calling thread */
void verge__metronome_want(verge_service *service);
uint64_t verge__worker_read_now(verge_worker *worker);

/* ---- counting ---- */

/* Counts for the bound worker, or for the threads outside. */
static inline void verge__count_for(verge__counter *of_worker, verge__counter *outside) {
    if (of_worker != NULL) {
        verge__count(of_worker, 1);
    } else {
        (void)atomic_fetch_add_explicit(outside, 1, memory_order_relaxed);
    }
}

/* Room under the cap for one more timer: -ENOSPC. */
int verge__service_take_room(verge_service *service);

static inline void verge__service_give_room(verge_service *service) {
    if (service->options.timer_cap != 0) {
        (void)atomic_fetch_add_explicit(&service->room, 1, memory_order_relaxed);
    }
}

/* A callback has returned for the last time. Release: who has seen this count sees what the callback did. */
static inline void verge__count_ended(verge__tally *tally) {
    atomic_store_explicit(&tally->ended, verge__counted(&tally->ended) + 1, memory_order_release);
}

/* ---- query.c ---- */

/* Timers that are pending or running: never fewer than there are. */
uint64_t verge__service_pending(const verge_service *service);

/* ---- pass.c ---- */

/* One pass; how many callbacks ran. */
size_t verge__worker_pass(verge_worker *worker);

/* Takes the newest entry of a list that is not empty; takes the entries of the next tick before `target`. */
bool verge__worker_take_tick(verge_worker *worker, uint64_t target, size_t *budget);

#endif
