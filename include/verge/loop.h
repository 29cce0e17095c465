/* SPDX-License-Identifier: MIT */
/*
 * verge/loop.h - a wheel in an event loop: how long to sleep, and timers that call back.
 *
 *     for (;;) {
 *         n = epoll_wait(epoll, events, 64, verge_loop_timeout(wheel, now_ns, 1000000));
 *         now_ns = ...;                                    once a round
 *         ... handle the events: they start and cancel timers ...
 *         verge_loop_run(&loop, now_ns);
 *     }
 *
 * Units. A wheel does not know the unit of its times. If your loop counts milliseconds, create the wheel with
 * VERGE_PRESET_YOUR_UNIT. A tick is 1 then, so all times that the wheel takes and returns are milliseconds, although
 * some parameters are named ..._ns, and each timer is exact to the millisecond. Any other unit works in the same way.
 *
 * Promises
 *   E1 order        a run calls back timers in the order of their deadlines, and those with equal deadlines in the
 *                   order in which they were started. This costs little: a run sorts only timers that are due.
 *                   Exception: if the deadline of a timer had come already when the timer was started, it is called
 *                   back first. A timer whose deadline is earlier, by less than the wheel's precision, may come later.
 *                   In a coarse wheel, a timer may be late by up to one slot of its level. So it may also be called
 *                   back after a timer whose deadline is later.
 *                   A callback may call verge_loop_run. This inner run first calls back the timers that were started
 *                   during the outer run for a time that had already come.
 *   E2 one round    a run calls back each timer at most once, and none that was started during the run. If such a timer
 *                   is due already (a timeout of zero), the next run calls it back, and verge_loop_timeout returns 0
 *                   until then.
 *   E3 cancelled    a cancelled timer is not called back, even if the callback of another timer of the same run cancels
 *                   it.
 *   E4 repeat       before a timer with a period is called back, it is started again, with a deadline one period after
 *                   the `now` of the run, but no later than verge_wheel_largest_deadline. This cannot fail. Only
 *                   at the end of time, when now has reached that deadline, the timer ends instead.
 *   E5 memory       zeroed memory is a timer that is not started. A start needs no memory. The loop does not touch a
 *                   timer after it was cancelled. If a timer has no period, the loop does not touch it once the
 *                   callback begins, so the callback may free it.
 *
 * A loop and its wheel are for one thread at a time. A wheel that has a loop must have no other timers.
 */
#ifndef VERGE_LOOP_H
#define VERGE_LOOP_H

#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How long a loop may sleep, as an argument for poll and epoll_wait: 0 if a timer is due, -1 if none is pending, or
 * all pending ones are for a time after the last tick; otherwise milliseconds, at most INT_MAX. The time until the next
 * timer is due is rounded up to a whole millisecond, so the loop does not wake up before a timer is due. In a coarse
 * wheel, it sleeps as verge_wheel_next_wakeup says, and may wake up once for each level before a timer comes out.
 *
 * units_per_ms says how many units of the wheel's time a millisecond has: 1000000 if the wheel counts nanoseconds, 1000
 * for microseconds, 1 for milliseconds. With 1, the result is in the unit of the wheel, whatever that is. -EINVAL:
 * units_per_ms is 0.
 */
VERGE_API int verge_loop_timeout(verge_wheel *wheel, uint64_t now, uint64_t units_per_ms);

typedef struct verge_loop_timer verge_loop_timer;
typedef void verge_loop_function(void *data, verge_loop_timer *timer);

/* A timer that calls back, usually a member of an object of yours. Zeroed memory is a timer that is not started. You
 * may read callback and data. You may change data and repeat at any time: verge_loop_run reads them just before it
 * calls the callback. */
struct verge_loop_timer {
    verge_timeout timeout;
    verge_loop_function *callback;
    void *data;      /* the callback gets it */
    uint64_t repeat; /* the period; 0: called back once */
};

/* A wheel with timers that call back. All fields are internal. */
typedef struct verge_loop {
    verge_wheel *wheel;
} verge_loop;

/* Makes a loop of a wheel, which still belongs to the caller. From now on the wheel's timers come out by deadline
 * (VERGE_ORDER_DEADLINE). Destroy the wheel after the last use of the loop; the loop itself has nothing to free.
 * -EINVAL: an argument is NULL. -EBUSY: the wheel has timers; or its options ask for VERGE_ORDER_FIFO; or they ask for
 * no order, and the wheel has memory for timers with handles, which were started or reserved before. -ENOMEM. */
VERGE_API int verge_loop_init(verge_loop *loop, verge_wheel *wheel);

/*
 * Starts a timer, or moves it if it is started already. It is due at `deadline` and, if `repeat` is not 0, then again
 * after each period of `repeat`. When it is due, `callback` gets `data` and the timer. A start needs no memory.
 * -EINVAL: loop, timer or callback is NULL, or the wheel refuses the deadline. -ERANGE: the deadline is too far (not in
 * a default wheel). -ENOSPC: the cap of the wheel is reached. An error changes nothing.
 */
VERGE_API int verge_loop_start(verge_loop *loop, verge_loop_timer *timer, verge_loop_function *callback, void *data,
                               uint64_t deadline, uint64_t repeat);

/* Cancels a timer. -ENOENT: it is not started. -EINVAL: an argument is NULL. */
VERGE_API int verge_loop_cancel(verge_loop *loop, verge_loop_timer *timer);

/* Whether the timer is pending. If so, it will be called back, unless it is cancelled. */
VERGE_API bool verge_loop_is_pending(const verge_loop_timer *timer);

/* Calls back all due timers, whatever the wheel's work limit is, and returns how many. A callback may make any call on
 * the loop, even verge_loop_run. */
VERGE_API size_t verge_loop_run(verge_loop *loop, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
