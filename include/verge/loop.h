/* SPDX-License-Identifier: MIT */
/*
 * verge/loop.h - a wheel in an event loop: how long to sleep, and timers that call back.
 *
 *     for (;;) {
 *         n = epoll_wait(epoll, events, 64, verge_loop_timeout_ms(wheel, now_ns));
 *         now_ns = ...;                                    once a turn
 *         ... handle the events: they start and stop timers ...
 *         verge_loop_run(&loop, now_ns);
 *     }
 *
 * Units. A wheel does not know what its times are. Loops that count milliseconds create it with
 * VERGE_PRESET_MILLISECONDS, where a tick is 1: all times given to it and returned by it are milliseconds then,
 * whatever the names of the parameters say, and a timer comes out at its very millisecond. Any other unit will do as
 * well.
 *
 * Promises
 *   E1 order        a run calls back timers in the order of their deadlines, and those with equal deadlines in the
 *                   order in which they were started. Only timers that are due are sorted: to start and stop them costs
 *                   what it costs in a wheel without order.
 *   E2 one turn     a run calls back each timer at most once, and none that was started during the run: with a deadline
 *                   that has come already (a timeout of zero) it is called back in the next run, and until then the
 *                   loop is not to sleep.
 *   E3 stopped      a timer that is stopped, also by the callback of another that is due at the same time, is not
 *                   called back.
 *   E4 repeat       a timer with a period is started anew, a period after the `now` of the run, before it is called
 *                   back. That cannot fail.
 *   E5 memory       zeroed memory is a timer that is not started. When it is called back without a period, or was
 *                   stopped, the loop does not touch it any more: the callback may free it.
 *
 * A loop and its wheel are for one thread at a time. The wheel has no timers but the loop's.
 */
#ifndef VERGE_LOOP_H
#define VERGE_LOOP_H

#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How long a loop may sleep, as poll and epoll_wait want it: 0 if something is due, -1 if nothing is pending. Rounded
 * up, as to wake up early would be for nothing; at most INT_MAX. For a wheel of nanoseconds.
 */
VERGE_API int verge_loop_timeout_ms(const verge_wheel *wheel, uint64_t now_ns);

/* The same for a wheel of milliseconds, or of another unit: the result is in that unit. */
VERGE_API int verge_loop_timeout(const verge_wheel *wheel, uint64_t now);

typedef struct verge_loop_timer verge_loop_timer;
typedef void verge_loop_function(verge_loop_timer *timer);

/* A timer that calls back; part of an object of the caller's. Zeroed, it is not started. Read callback and repeat if
 * you like, and leave the rest alone. */
struct verge_loop_timer {
    verge_timeout timeout;
    verge_loop_function *callback;
    uint64_t repeat; /* the period; 0: it is called back once */
    uint64_t deadline;
    uint64_t start;
    verge_loop_timer *next, *previous;
    bool is_due, is_attached;
};

/* A wheel with timers that call back. Not for the caller to read or write. */
typedef struct verge_loop {
    verge_wheel *wheel;
    uint64_t starts;
    verge_loop_timer *first, *last; /* due, in order, while a run is under way */
} verge_loop;

/* The wheel is the caller's, and is destroyed after the last use of the loop. Nothing else is to be freed. -EINVAL: a
 * NULL. */
VERGE_API int verge_loop_init(verge_loop *loop, verge_wheel *wheel);

/*
 * Starts a timer, or starts it anew if it is started: the first call back is due at `deadline`, those after it every
 * `repeat`, if that is not 0. -EINVAL: a NULL, or a deadline that the wheel refuses. -ERANGE: the deadline is too far.
 * -ENOMEM: unless verge_timeout_reserve has made room for as many as are started at a time. An error changes nothing.
 */
VERGE_API int verge_loop_start(verge_loop *loop, verge_loop_timer *timer, verge_loop_function *callback,
                               uint64_t deadline, uint64_t repeat);

/* Stops a timer. -ENOENT: it is not started. -EINVAL: a NULL. */
VERGE_API int verge_loop_stop(verge_loop *loop, verge_loop_timer *timer);

/* Whether it is started: it will be called back, unless it is stopped. */
VERGE_API bool verge_loop_is_active(const verge_loop_timer *timer);

/* Calls back all timers that are due, and returns how many. A callback may do everything with the loop, also run it. */
VERGE_API size_t verge_loop_run(verge_loop *loop, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
