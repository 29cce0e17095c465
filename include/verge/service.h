/* SPDX-License-Identifier: MIT */
/*
 * verge/service.h - timers for many threads. Any thread starts, cancels and resets timers. Callbacks run on workers.
 * Workers join and leave, and no timer is lost.
 *
 * Words
 *   worker     runs callbacks. It is a thread of the service, or a thread of yours that calls verge_worker_run_once.
 *              Each worker has its own wheel. A worker that starts or cancels its own timer seldom touches shared data.
 *   bound      a thread that joined as a worker is bound to it. Timers that a bound thread starts are filed in its
 *              worker's wheel. Timers that other threads start go through the inbox of a worker.
 *   orphan     a timer without a worker: none has joined yet, or the last one has left. The next that joins takes it.
 *   metronome  a thread that publishes the time while workers are busy, and watches for stuck workers.
 *
 * Promises, in addition to G1 to G9 (verge/wheel.h); deadlines are times on the service's clock
 *   G7  memory     differs from the wheel: a timer takes a record of 64 bytes. A worker also holds up to 256 free
 *                  records, up to 1,024 new ones, and the records of timers that other threads cancelled, until it
 *                  takes these from its inbox. Records keep their memory until the service ends. The wheel of a worker
 *                  keeps its memory until the worker leaves. A reset needs no memory.
 *   G10 verdicts   if cancel or reset returns 0, the old deadline will never fire.
 *   G11 no loss    every timer ends in exactly one of: run, cancelled, handed to the visitor of verge_service_destroy;
 *                  however workers join, leave and die, and threads cancel and reset.
 *   G12 lateness   while no worker is stuck in a callback, a timer runs no later than its deadline plus the precision
 *                  plus one scheduling delay.
 *
 * Verdicts: what cancel, reset and shutdown return
 *   0              done. After cancel, the timer will not run. After reset, it will not run before the new deadline.
 *   VERGE_RUNNING  the callback is running now. After cancel, the timer does not run again, unless a later call resets
 *                  it: a callback may reset its own timer (see shutdown). After reset, the timer runs again at the new
 *                  deadline, when the callback has returned.
 *   -ENOENT        the timer has ended: it has run, or was cancelled before.
 *   -EBADF         this number was never a handle.
 *
 * A callback may start, cancel and reset timers, also its own, and may leave its worker. It cannot destroy its service
 * (-EDEADLK). A timer that a callback starts for now or the past runs in a later pass, after all timers that were due
 * before it. So timers that start themselves again cannot starve others. Callbacks run outside every lock.
 *
 * fork. The child has none of the service's threads. In it, every call that starts, ends, moves or waits for a timer,
 * or changes workers, returns -ECHILD at once. verge_service_destroy does so, too: the service's memory goes when the
 * child ends or calls exec. The child can create a service of its own.
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
    VERGE_WORKER_COUNT_MAX = 255, /* workers of one service at one time */
};

/* What a callback is told. */
typedef struct verge_firing {
    verge_service *service;
    verge_worker *worker;
    verge_timer timer;
    void *argument;
    uint64_t scheduled_ns; /* the deadline of the timer */
    uint64_t actual_ns;    /* when the pass began or, if later, when the callback before this one had returned */
    uint64_t missed;       /* periodic timers: how many ticks were left out since the last callback */
} verge_firing;

typedef void (*verge_callback)(const verge_firing *firing);

/* ---- the service ---- */

/* A callback that has been running for stuck_after_ns or longer. */
typedef struct verge_stuck {
    uint32_t worker_id;
    verge_timer timer;
    verge_callback callback;
    uint64_t since_ns;
    bool is_rescued; /* another worker runs the due timers of this worker */
} verge_stuck;

typedef struct verge_service_options {
    size_t struct_size;    /* set by verge_service_options_init */
    uint32_t thread_count; /* worker threads that the service starts; 0: none, your own threads join */
    bool metronome;        /* a thread that publishes the time, so that the service's own threads read the clock less
                                often. A pass of your own thread always reads the clock */
    bool check_deadlines;  /* see below */
    uint64_t
        precision_ns; /* a power of two, at most 2^40; a timer runs at the first multiple at or after its deadline */
    uint64_t resolution_ns;  /* the metronome publishes the time at most once in this many ns; 1 to 2^40 */
    verge_clock clock;       /* now_ns NULL: monotonic */
    size_t timer_cap;        /* how many timers may exist at one time; further starts return -ENOSPC. 0: no cap */
    size_t batch;            /* how many callbacks one pass may run */
    uint64_t stuck_after_ns; /* a callback that runs so long is reported, and another worker runs the timers that wait
                                for it; 0: callbacks are not watched */
    void (*on_stuck)(void *context,
                     const verge_stuck *stuck); /* may be NULL; called on the metronome's or a worker's thread */
    void *on_stuck_context;
    const verge_allocator *allocator; /* NULL: verge_allocator_default(). It must be thread-safe */
} verge_service_options;

/*
 * A deadline is a time, not a duration. If the clock says two days and the deadline is 5 seconds, the timer is two days
 * overdue: it runs at once, without an error. With check_deadlines, start and reset return -EINVAL for a deadline that
 * lies before the creation of the service by twice the precision or more. 0 is allowed and means now. A library built
 * with VERGE_ASSERTS always makes this check if the clock is the monotonic or the boottime clock.
 */

VERGE_API int verge_service_options_init(verge_service_options *options, size_t struct_size);

/* Why options are refused. 0: verge_service_create accepts them, and text is empty. Otherwise -EINVAL, and text gets a
 * sentence that names the field and the reason, cut to size bytes. 128 bytes are enough. */
VERGE_API int verge_service_options_explain(const verge_service_options *options, char *text, size_t size);

/* The defaults, set by init and used for NULL options: one worker thread, a metronome, precision and resolution 2^20
 * ns, the monotonic clock, no cap, a batch of 256, stuck_after_ns 0. -EINVAL: see verge_service_options_explain.
 * -EAGAIN: a thread cannot be started. */
VERGE_API VERGE_MUST_USE int verge_service_create(const verge_service_options *options, verge_service **ret_service);

/* A timer that had not run when its service ended. */
typedef struct verge_pending {
    verge_timer timer;
    verge_callback callback;
    void *argument;
    uint64_t deadline_ns;
} verge_pending;

/*
 * Ends a service. No more callbacks begin. It waits for running callbacks, ends the service's threads, calls visit
 * (which may be NULL) for each timer that is still pending, and frees all memory. -EDEADLK: called in one of its
 * callbacks. -EBUSY: your own workers have not left, or a scope shows the service (verge/scope.h). service may be NULL.
 */
VERGE_API int verge_service_destroy(verge_service *service, void (*visit)(void *context, const verge_pending *pending),
                                    void *context);

/* add_worker starts one more worker thread. retire_worker ends one after its current callback, and its timers go to the
 * other workers. -EINVAL: there is no such worker, or it is your own thread. -ESHUTDOWN: a callback adds a thread while
 * the service is being destroyed. */
VERGE_API VERGE_MUST_USE int verge_service_add_worker(verge_service *service, uint32_t *ret_worker_id);
VERGE_API int verge_service_retire_worker(verge_service *service, uint32_t worker_id);

/* now returns a cached time, published by the metronome. While timers are due, this time is up to one resolution old.
 * Otherwise the metronome sleeps until the next timer is due, for up to 16 resolutions, and the time may be that old.
 * Without a metronome, or while the metronome rests because no worker needs it, now reads the clock. exact_now always
 * reads the clock. */
VERGE_API uint64_t verge_service_now(const verge_service *service);
VERGE_API uint64_t verge_service_exact_now(const verge_service *service);

/* If worker_id is 0: how many timers are pending or running. With a timer_cap, starts fail (-ENOSPC) while this number
 * is equal to the cap. For another worker_id: how many timers are in the wheel of that worker, without those in its
 * inbox; 0 if there is no such worker. Exact if no other thread uses the service at that moment. */
VERGE_API size_t verge_service_count(const verge_service *service, uint32_t worker_id);

/*
 * Waits until no timer is pending or running and all callbacks have returned. -ETIMEDOUT: timers were left at
 * deadline_ns, a time on the service's clock (VERGE_NEVER: no limit). It checks once a millisecond. A bound thread runs
 * its worker meanwhile; it does not run other workers of yours. -EDEADLK: called in one of the service's callbacks.
 */
VERGE_API VERGE_MUST_USE int verge_service_wait_empty(verge_service *service, uint64_t deadline_ns);

/* ---- timers: from any thread ---- */

/*
 * Both start a timer that runs once. start takes a time (not a duration). start_after takes a delay from now, as read
 * from the clock. ret_timer may be NULL. -ENOSPC: the cap is reached. -EOVERFLOW: now + delay_ns is VERGE_NEVER or
 * later. -ENOMEM, -EINVAL. After a start returned 0, nothing can fail: the timer will run.
 *
 * These functions and verge_service_start_with write *ret_timer before the timer can run, and not afterwards. So the
 * callback may read the handle there, and may free the object that contains *ret_timer, even if it runs on another
 * thread before the start has returned.
 */
VERGE_API VERGE_MUST_USE int verge_service_start(verge_service *service, uint64_t deadline_ns, verge_callback callback,
                                                 void *argument, verge_timer *ret_timer);
VERGE_API VERGE_MUST_USE int verge_service_start_after(verge_service *service, uint64_t delay_ns,
                                                       verge_callback callback, void *argument, verge_timer *ret_timer);

typedef struct verge_start_options {
    size_t struct_size;      /* set by the caller; all defaults are zero (verge/base.h) */
    verge_callback callback; /* not NULL */
    void *argument;
    uint64_t deadline_ns;         /* a time, not a duration: verge_service_now(service) + delay. The past means now
                                     (see check_deadlines). VERGE_NEVER: -EINVAL */
    uint64_t window_ns;           /* the timer may run up to this much later, together with others */
    uint64_t period_ns;           /* 0: the timer runs once */
    verge_interval_policy policy; /* periodic timers: what happens to missed ticks; by default BURST */
    uint32_t worker_id;           /* 0: the bound worker or, without one, the worker with the fewest timers. An id
                                     without a worker: the worker with the fewest timers */
    const char *label;            /* who started it, for people (verge/scope.h). Not copied: it must stay until the
                                     service ends, as a string literal does. NULL: the name of the callback */
} verge_start_options;

/* Starts a timer with options. The errors are those of verge_service_start. */
VERGE_API VERGE_MUST_USE int verge_service_start_with(verge_service *service, const verge_start_options *options,
                                                      verge_timer *ret_timer);

/* Returns a verdict (above). */
VERGE_API int verge_service_cancel(verge_service *service, verge_timer timer);

/* As cancel. If the callback is running, it also waits until the callback has returned, unless it is called from that
 * very callback. -EDEADLK: two callbacks would wait for each other, directly or through further callbacks, also of
 * other services. The timer is cancelled then, but not waited for. */
VERGE_API int verge_service_cancel_wait(verge_service *service, verge_timer timer);

/* As cancel_wait, and the callback cannot start the timer again: reset returns -ESHUTDOWN while the callback runs, and
 * -ENOENT when the timer has ended. Use this call to end a timer whose callback may reset it. cancel and cancel_wait do
 * not end it for sure: a reset in the callback, after the cancel, starts the timer again. */
VERGE_API int verge_service_shutdown(verge_service *service, verge_timer timer);

/* Moves a timer's deadline to another time (not a duration), earlier or later. A periodic timer continues from there.
 * If several threads reset a timer at the same time, the deadline of one of them holds. A reset needs no memory.
 * Returns a verdict. -EINVAL: the time is VERGE_NEVER. */
VERGE_API int verge_service_reset(verge_service *service, verge_timer timer, uint64_t deadline_ns);

typedef struct verge_timer_info {
    verge_callback callback;
    void *argument;
    uint64_t deadline_ns;
    uint64_t period_ns;
    uint32_t worker_id; /* 0: an orphan */
    bool is_running;
} verge_timer_info;

/* The state of a timer at this moment. -ENOENT, -EBADF: see the verdicts. */
VERGE_API VERGE_MUST_USE int verge_service_get(verge_service *service, verge_timer timer, verge_timer_info *ret_info);

/* ---- workers: your own threads ---- */

typedef struct verge_worker_options {
    size_t struct_size;          /* set by the caller; all defaults are zero (verge/base.h) */
    bool unbound;                /* the calling thread does not become bound. You must make sure that only one
                                    thread at a time runs the worker */
    void (*wake)(void *context); /* other threads call it to wake a worker that waits outside run_once
                                    (verge_worker_begin_wait). NULL: the worker waits only in run_once */
    void *wake_context;
} verge_worker_options;

/* Makes a worker. If a bound thread ends, its worker leaves. -EBUSY: the thread is already bound to a worker of this
 * service. -ENOSPC: there are VERGE_WORKER_COUNT_MAX workers. */
VERGE_API VERGE_MUST_USE int verge_worker_join(verge_service *service, const verge_worker_options *options,
                                               verge_worker **ret_worker);

/*
 * Ends a worker. Its timers go to the other workers: overdue timers first, in the order of their deadlines. If there is
 * no other worker, they wait until one joins. Handles and deadlines stay. In one of the worker's own callbacks, the
 * call takes effect when the callback has returned. If the thread of the worker has died, another thread may make this
 * call. -EPERM: the worker is bound to another thread that lives (run_once returns -EPERM then, too). To end such a
 * worker, set a flag that its loop checks, and call verge_worker_interrupt.
 */
VERGE_API int verge_worker_leave(verge_worker *worker);

/*
 * One pass: takes the timers from the inbox into the worker's wheel, and then runs the worker's timers that are due by
 * the clock, at most one batch. If none was due, it waits until one is, but no longer than wait_until_ns (0: it does
 * not wait; VERGE_NEVER: no limit), and makes another pass. Returns how many callbacks ran. -ESHUTDOWN: the worker has
 * left, in one of its callbacks or before. -EBUSY: called in one of the worker's callbacks.
 */
VERGE_API int verge_worker_run_once(verge_worker *worker, uint64_t wait_until_ns);

/* When run_once will have something to do. 0: now. VERGE_NEVER: nothing is pending. */
VERGE_API uint64_t verge_worker_next_wakeup(verge_worker *worker);

/*
 * For a loop that waits by other means, such as epoll_wait. begin_wait returns until when the loop may wait (0: do not
 * wait). From then on, the worker's wake function is called if there is something to do earlier. After waiting, always
 * call end_wait. If your clock may jump (boottime, after the machine slept), wait for short times only: the kernel
 * measures them on the monotonic clock.
 */
VERGE_API uint64_t verge_worker_begin_wait(verge_worker *worker);
VERGE_API void verge_worker_end_wait(verge_worker *worker);

/* Ends the wait of a worker, in run_once or after begin_wait. If the worker is not waiting, its next wait ends at once.
 * From any thread. */
VERGE_API void verge_worker_interrupt(verge_worker *worker);

VERGE_API uint32_t verge_worker_id(const verge_worker *worker);             /* never 0 */
VERGE_API verge_worker *verge_worker_current(const verge_service *service); /* of the calling thread; NULL: none */

/* ---- statistics: from any thread, at any time ---- */

typedef struct verge_service_stats {
    size_t struct_size; /* set by the caller */
    uint64_t pending;   /* timers that exist: pending and running */
    uint64_t started;
    uint64_t fired;              /* callbacks that ran; a periodic timer counts each time */
    uint64_t ended;              /* timers that ran for the last time */
    uint64_t cancelled_locally;  /* by the thread of their own worker */
    uint64_t cancelled_remotely; /* by other threads */
    uint64_t reset;
    uint64_t migrated;    /* timers that changed their worker */
    uint64_t rescued;     /* of the migrated timers, those of a worker that was stuck */
    uint64_t orphans;     /* timers without a worker, now */
    uint64_t stuck;       /* callbacks that ran too long */
    uint64_t linked;      /* nodes in the wheels of all workers, now: usually one for each timer */
    uint64_t idle;        /* about how many of the linked nodes belong to no timer */
    uint64_t nodes_moved; /* nodes that moved from one level of a wheel to a lower one */
    uint64_t wakeups;     /* of workers that slept */
    uint64_t metronome_ticks;
    uint64_t clock_reads; /* by workers, in passes */
    uint64_t bytes;
    uint32_t workers;
} verge_service_stats;

VERGE_API int verge_service_get_stats(const verge_service *service, verge_service_stats *ret_stats);

/* Adds to the histograms how late callbacks began and how long they took, in ns, on all workers. Either may be NULL. */
VERGE_API int verge_service_get_histograms(const verge_service *service, verge_histogram *lateness,
                                           verge_histogram *callback_time);

/* ---- stepping the metronome by hand: for tests on the manual clock ---- */

/* Does what the metronome does at each tick: publishes the time, and checks for stuck workers. Only for a service
 * without a metronome. */
VERGE_API int verge_service_tick(verge_service *service);

/*
 * Runs to the next event. It moves the service's manual clock to the next time at which a timer is due, but not beyond
 * limit_ns, and makes a pass of each worker, in the order of their ids. If timers are due already, it runs these, and
 * does not move the clock. Returns how many callbacks ran. 0: nothing was due up to limit_ns, and the clock now says
 * limit_ns (if that is VERGE_NEVER or has passed, the clock did not move).
 * -EINVAL: the clock is not manual. -EPERM: a worker belongs to another thread. -EBUSY: called in a callback.
 */
VERGE_API VERGE_MUST_USE int verge_service_run_to_next(verge_service *service, uint64_t limit_ns);

#ifdef __cplusplus
}
#endif

#endif
