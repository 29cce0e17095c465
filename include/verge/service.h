/* SPDX-License-Identifier: MIT */
/*
 * verge/service.h - timers across workers. Any thread starts, cancels and resets timers; callbacks run on workers;
 * workers join and leave, and no timer is lost.
 *
 * Words
 *   worker     what runs callbacks: a thread of the service's, or a thread of yours that calls verge_worker_run_once.
 *              Each has a wheel of its own; what a worker starts and cancels itself touches nothing shared.
 *   bound      a thread is bound to a worker if it joined as one. What a bound thread starts is filed in its worker's
 *              wheel; what another thread starts goes through a worker's inbox.
 *   orphan     a timer without a worker: the last one has left. The next to join takes it.
 *   metronome  a thread that publishes the time while workers are busy, and looks after those that are stuck.
 *
 * Promises, beside G1 to G9 (verge/wheel.h), where deadlines are on the service's clock
 *   G7  memory     is another here: a timer takes a record of 64 bytes beside its entry. A worker also has the entries of
 *                  its free records, at most 256, and of cancelled timers that are on their way back to it. What the
 *                  records and the wheels of workers that stay have taken is kept for the timers that come.
 *   G10 verdicts   a cancel or reset that says 0 has succeeded: the old deadline never fires.
 *   G11 no loss    every timer ends in exactly one of: run, cancelled, handed to the visitor of verge_service_destroy;
 *                  however workers join, leave and die, and threads cancel and reset.
 *   G12 lateness   with no worker stuck in a callback, a timer runs within the precision plus one scheduling delay of
 *                  its deadline.
 *
 * Verdicts, of cancel, reset and shutdown
 *   0              done: it will not run, or not before the new deadline
 *   VERGE_RUNNING  its callback is executing now. Cancelled, it does not run again; reset, it runs again at the new
 *                  deadline, when the callback has returned
 *   -ENOENT        gone: it has run or was cancelled before
 *   -EBADF         a handle that never was
 *
 * A callback may do anything: start, cancel and reset timers, itself too; leave its worker. It cannot destroy the
 * service it runs on (-EDEADLK). A timer that it starts for now or the past runs in the next pass, so that
 * timers which start themselves again cannot starve others. Callbacks run outside every lock.
 */
#ifndef VERGE_SERVICE_H
#define VERGE_SERVICE_H

#include "verge/histogram.h"
#include "verge/interval.h"
#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_service verge_service;
typedef struct verge_worker verge_worker;

enum {
    VERGE_RUNNING = 1,            /* a verdict */
    VERGE_WORKER_COUNT_MAX = 255, /* of one service, at one time */
};

/* What a callback is told. */
typedef struct verge_firing {
    verge_service *service;
    verge_worker *worker;
    verge_timer timer;
    void *argument;
    uint64_t scheduled_ns; /* its deadline */
    uint64_t actual_ns;    /* the pass's now; the clock was there before the callback began */
    uint64_t missed;       /* periodic: ticks that will not be made up for, since the last one */
} verge_firing;

typedef void (*verge_callback)(const verge_firing *firing);

/* ---- the service ---- */

/* A callback that has been running for longer than stuck_after_ns. */
typedef struct verge_stuck {
    uint32_t worker_id;
    verge_timer timer;
    verge_callback callback;
    uint64_t since_ns;
    bool is_rescued; /* another worker runs what is due on this one */
} verge_stuck;

typedef struct verge_service_options {
    size_t struct_size;    /* set by verge_service_options_init */
    uint32_t thread_count; /* workers that are threads of the service's; 0: none, you bring your own */
    bool metronome;        /* a thread that publishes the time, so that the service's own threads read the clock less
                                often. A pass of a thread of yours always reads the clock */
    bool check_deadlines;  /* see below */
    uint64_t
        precision_ns; /* a power of two, at most 2^40; a timer runs at the first multiple at or after its deadline */
    uint64_t
        resolution_ns; /* how often the metronome publishes, at most; 1 to 2^40, else -EINVAL, as for the precision */
    verge_clock clock; /* now_ns NULL: monotonic */
    size_t timer_cap;  /* timers that may exist at one time, then -ENOSPC; 0: no cap */
    size_t batch;      /* callbacks a pass runs, at most */
    uint64_t stuck_after_ns; /* a callback that runs longer is reported, and what it keeps waiting is rescued by
                                another worker; 0: not watched */
    void (*on_stuck)(void *context,
                     const verge_stuck *stuck); /* may be NULL; on the metronome's or a worker's thread */
    void *on_stuck_context;
    const verge_allocator *allocator; /* NULL: verge_allocator_default(); any thread may call it */
} verge_service_options;

/*
 * A deadline is a time, not a duration. Given 5 seconds where now is two days, a timer is two days overdue and runs at
 * once, without an error. With check_deadlines, start and reset return -EINVAL for such a deadline: one that lies before
 * the service was created, by more than its precision. 0 is allowed; it means now. A library built with VERGE_ASSERTS
 * always checks where the clock is the monotonic or the boottime one.
 */

VERGE_API int verge_service_options_init_sized(verge_service_options *options, size_t struct_size);

static inline int verge_service_options_init(verge_service_options *options) {
    return verge_service_options_init_sized(options, sizeof(*options));
}

/* Why the options are refused: 0 if create takes them; else -EINVAL, and text gets a sentence that names the field and the
 * reason, as much of it as fits into size bytes. 128 are enough. */
VERGE_API int verge_service_options_explain(const verge_service_options *options, char *text, size_t size);

/* NULL options, and what init sets: one worker thread, a metronome, precision and resolution 2^20 ns, the monotonic
 * clock, no cap, a batch of 256, stuck_after_ns 0. -EINVAL: see verge_service_options_explain. -EAGAIN if threads cannot
 * be had. */
VERGE_API VERGE_MUST_USE int verge_service_create(const verge_service_options *options, verge_service **ret_service);

/* A timer that had not run when its service ended. */
typedef struct verge_pending {
    verge_timer timer;
    verge_callback callback;
    void *argument;
    uint64_t deadline_ns;
} verge_pending;

/*
 * Ends a service: no callback begins any more, those that run are waited for, the service's threads end, every timer
 * that is still pending is shown to visit (which may be NULL), all memory is freed. -EDEADLK in one of its callbacks,
 * -EBUSY while workers of yours have not left. NULL is allowed.
 */
VERGE_API int verge_service_destroy(verge_service *service, void (*visit)(void *context, const verge_pending *pending),
                                    void *context);

/* Starts one more worker thread; ends one, after the callback it runs: its timers go to the others. -EINVAL: there is
 * no such worker, or it is one of yours. -ESHUTDOWN: the service is being destroyed, and a callback adds a thread. */
VERGE_API VERGE_MUST_USE int verge_service_add_thread(verge_service *service, uint32_t *ret_worker_id);
VERGE_API int verge_service_retire_thread(verge_service *service, uint32_t worker_id);

/* Now, as published by the metronome: a cached time, up to one resolution old while timers are due, up to 16 while none
 * was when the metronome last looked. Without a metronome, and while it rests: as exact_now, which reads the clock. */
VERGE_API uint64_t verge_service_now(const verge_service *service);
VERGE_API uint64_t verge_service_exact_now(const verge_service *service);

/* Timers that are pending or running. Exact when nothing else is going on; never less than what a cap allows. */
VERGE_API size_t verge_service_count(const verge_service *service);

/*
 * Waits until no timer is pending or running: 0, and all callbacks have returned. -ETIMEDOUT: there were still timers
 * at deadline_ns, a time on the service's clock (VERGE_NEVER: no limit). It looks once a millisecond. A thread that is
 * bound to a worker runs that worker meanwhile; workers of other kinds somebody else has to run. -EDEADLK in one of the
 * service's callbacks.
 */
VERGE_API VERGE_MUST_USE int verge_service_wait_empty(verge_service *service, uint64_t deadline_ns);

/* ---- timers: from any thread ---- */

typedef struct verge_start_options {
    size_t struct_size;      /* set by verge_start_options_init */
    verge_callback callback; /* not NULL */
    void *argument;
    uint64_t deadline_ns;         /* a time, not a duration: verge_service_now(service) + delay. The past is as good
                                     as now (see check_deadlines). VERGE_NEVER: -EINVAL */
    uint64_t window_ns;           /* it may run so much later, to run together with others */
    uint64_t period_ns;           /* 0: runs once */
    verge_interval_policy policy; /* periodic: what becomes of ticks that were missed; by default BURST */
    uint32_t worker_id;           /* 0: the bound worker, else the one with the fewest timers. A worker that is not
                                 there (any more): as 0 */
} verge_start_options;

VERGE_API int verge_start_options_init_sized(verge_start_options *options, size_t struct_size);

static inline int verge_start_options_init(verge_start_options *options) {
    return verge_start_options_init_sized(options, sizeof(*options));
}

/*
 * ret_timer may be NULL. -ENOSPC at the cap, -ENOMEM, -EINVAL; after 0 nothing can fail any more.
 *
 * The handle is stored in *ret_timer before the timer can run, and *ret_timer is not touched after that, by any of the three
 * functions. So the callback may read the handle there, and may free the object that *ret_timer is a part of, even if it
 * runs on another thread before the start has returned.
 */
VERGE_API VERGE_MUST_USE int verge_service_start(verge_service *service, const verge_start_options *options,
                                                 verge_timer *ret_timer);

/* Once, at a time (not a duration), or after a delay from now, which is read from the clock. -EOVERFLOW: that is
 * VERGE_NEVER or later. */
VERGE_API VERGE_MUST_USE int verge_service_start_at(verge_service *service, uint64_t deadline_ns,
                                                    verge_callback callback, void *argument, verge_timer *ret_timer);
VERGE_API VERGE_MUST_USE int verge_service_start_after(verge_service *service, uint64_t delay_ns,
                                                       verge_callback callback, void *argument, verge_timer *ret_timer);

/* See the verdicts above. */
VERGE_API int verge_service_cancel(verge_service *service, verge_timer timer);

/* As cancel and, on VERGE_RUNNING, waits until the callback has returned; not if called from inside that very
 * callback. -EDEADLK: that callback waits, itself or through others, for the one this is called from, be they of one service
 * or of several; it was cancelled all the same, as by cancel, but not waited for. */
VERGE_API int verge_service_cancel_wait(verge_service *service, verge_timer timer);

/* As cancel_wait, and from now on a reset says -ESHUTDOWN: a callback cannot set itself up again. */
VERGE_API int verge_service_shutdown(verge_service *service, verge_timer timer);

/* Moves a timer's deadline to a time (not a duration), earlier or later. A periodic one goes on from there. -ENOMEM, and nothing has changed: on the
 * thread of a worker that has no room to file it. */
VERGE_API int verge_service_reset(verge_service *service, verge_timer timer, uint64_t deadline_ns);

typedef struct verge_timer_info {
    verge_callback callback;
    void *argument;
    uint64_t deadline_ns;
    uint64_t period_ns;
    uint32_t worker_id; /* 0: an orphan */
    bool is_running;
} verge_timer_info;

/* What a timer is at this moment; -ENOENT, -EBADF. */
VERGE_API VERGE_MUST_USE int verge_service_query(verge_service *service, verge_timer timer, verge_timer_info *ret_info);

/* ---- workers: your own threads ---- */

typedef struct verge_worker_options {
    size_t struct_size;          /* set by verge_worker_options_init */
    bool unbound;                /* the calling thread does not become bound; whoever steps the worker sees to it
                                    that only one thread at a time does */
    void (*wake)(void *context); /* called by other threads when a worker that waits outside of run_once
                                    (verge_worker_begin_wait) has to come back; NULL: waits in run_once only */
    void *wake_context;
} verge_worker_options;

VERGE_API int verge_worker_options_init_sized(verge_worker_options *options, size_t struct_size);

static inline int verge_worker_options_init(verge_worker_options *options) {
    return verge_worker_options_init_sized(options, sizeof(*options));
}

/* Makes a worker. A bound thread that ends without leaving leaves then. -EBUSY: this thread is bound to a worker of this
 * service already; -ENOSPC: VERGE_WORKER_COUNT_MAX. */
VERGE_API VERGE_MUST_USE int verge_worker_join(verge_service *service, const verge_worker_options *options,
                                               verge_worker **ret_worker);

/*
 * Ends a worker: its timers go to the others, the overdue first and in the order of their deadlines, or wait for the next
 * to join; handles and deadlines stay. In a callback of its own, this happens when the callback has returned. For a worker whose thread has
 * died, another thread may call it. -EPERM: it is bound to another thread, which lives; the same goes for run_once. To
 * stop that one, set a flag which its loop looks at, and then verge_worker_interrupt it.
 */
VERGE_API int verge_worker_leave(verge_worker *worker);

/*
 * One pass: takes what came through the inbox, runs what is due by the clock, a batch of it at most. If nothing was, waits until
 * wait_until_ns (0: does not wait; VERGE_NEVER) or until something is, and makes another pass. Returns how many callbacks ran.
 * -ESHUTDOWN: the worker has left in one of them, or is to be retired, and is gone. -EBUSY: in a callback of its own.
 */
VERGE_API int verge_worker_run_once(verge_worker *worker, uint64_t wait_until_ns);

/* When run_once has something to do: 0 for now, VERGE_NEVER. */
VERGE_API uint64_t verge_worker_next(verge_worker *worker);

/*
 * For a loop that waits by other means, a poll of file descriptors say: begin_wait tells until when to wait (0: do not), and
 * from then on the worker's wake function is called when there is something to do earlier; end_wait, always, after that.
 * On a clock that may jump (boottime, when the machine wakes up) wait in naps: the kernel counts on the monotonic one.
 */
VERGE_API uint64_t verge_worker_begin_wait(verge_worker *worker);
VERGE_API void verge_worker_end_wait(verge_worker *worker);

/* Makes another thread's run_once return, or its wait end. From any thread. */
VERGE_API void verge_worker_interrupt(verge_worker *worker);

VERGE_API uint32_t verge_worker_id(const verge_worker *worker); /* never 0 */
VERGE_API verge_service *verge_worker_service(const verge_worker *worker);
VERGE_API size_t verge_worker_count(const verge_worker *worker);            /* timers it has */
VERGE_API verge_worker *verge_worker_current(const verge_service *service); /* the calling thread's; NULL: none */

/* ---- statistics: from any thread, at any time ---- */

typedef struct verge_service_stats {
    size_t struct_size; /* set by the caller */
    uint64_t pending;   /* timers that exist: pending and running */
    uint64_t started;
    uint64_t fired; /* callbacks that ran; a periodic timer counts each time */
    uint64_t ended; /* timers that ran for the last time */
    uint64_t cancelled_locally;
    uint64_t cancelled_remotely;
    uint64_t reset;
    uint64_t migrated; /* timers that changed their worker */
    uint64_t rescued;  /* of them, those of a worker that was stuck */
    uint64_t orphans;
    uint64_t stuck; /* callbacks that ran too long */
    uint64_t entries;
    uint64_t garbage; /* entries that belong to no timer, about */
    uint64_t entries_moved;
    uint64_t wakeups; /* of workers that slept */
    uint64_t metronome_ticks;
    uint64_t clock_reads; /* by workers, in passes */
    uint64_t bytes;
    uint32_t workers;
} verge_service_stats;

VERGE_API int verge_service_get_stats(const verge_service *service, verge_service_stats *ret_stats);

/* How late callbacks began, and how long they took, in ns: adds what all workers have seen to the histograms, either of
 * which may be NULL. */
VERGE_API int verge_service_get_histograms(const verge_service *service, verge_histogram *lateness,
                                           verge_histogram *callback_time);

/* ---- stepping the metronome by hand: for tests on the manual clock ---- */

/* What the metronome's thread does at each tick: publishes the time and looks after stuck workers. Only if the service
 * was created without that thread. */
VERGE_API int verge_service_tick(verge_service *service);

/*
 * Runs to the next event: moves the service's manual clock to the next time at which a timer is due, no further than
 * limit_ns, and makes a pass of each worker, in the order of their ids. Returns how many callbacks ran. 0: nothing was due
 * up to limit_ns, which is now the time (VERGE_NEVER: the clock stays where it is). Timers that are due already run
 * first, without moving the clock.
 * -EINVAL: the clock is not a manual one; -EPERM: a worker belongs to another thread; -EBUSY: in a callback.
 */
VERGE_API VERGE_MUST_USE int verge_service_run_to_next(verge_service *service, uint64_t limit_ns);

#ifdef __cplusplus
}
#endif

#endif
