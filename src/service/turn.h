/* SPDX-License-Identifier: MIT */
/*
 * service/turn.h - the turn of a worker. Only the thread that holds the turn may touch the worker's own part: the wheel
 * and so on.
 *
 * If a service does not watch for stuck callbacks, the worker's thread always holds the turn. Otherwise the thread lays
 * the turn down while a callback runs, and takes it again for each call that the callback makes on this worker:
 *
 *     HELD, AWAITED -> LAID     verge__turn_lay_down    release: the next holder sees what this one did
 *     LAID -> HELD              verge__turn_try_take    acquire
 *     HELD -> AWAITED           verge__turn_await
 *
 * A rescuer is another worker, which takes the timers of a stuck one (rescue.c). It runs no callback while it holds the
 * turn. If the worker's thread finds that a rescuer holds the turn, it changes the turn to AWAITED, and sleeps. If a
 * rescuer finds that the worker's thread holds the turn, it tries again in its next pass.
 */
#ifndef VERGE_SRC_SERVICE_TURN_H
#define VERGE_SRC_SERVICE_TURN_H

#include "base/futex.h"
#include "service/service_internal.h"

enum { VERGE__TURN_HELD = 0, VERGE__TURN_LAID = 1, VERGE__TURN_AWAITED = 2 };

static inline bool verge__turn_try_take(verge_worker *worker) {
    uint32_t laid = VERGE__TURN_LAID;
    VERGE__STEP("turn: take");
    return atomic_compare_exchange_strong_explicit(&worker->turn, &laid, VERGE__TURN_HELD, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void verge__turn_lay_down(verge_worker *worker) {
    VERGE__STEP("turn: lay");
    if (atomic_exchange_explicit(&worker->turn, VERGE__TURN_LAID, memory_order_acq_rel) == VERGE__TURN_AWAITED) {
        VERGE__STEP("turn: wake");
        verge__futex_wake_all(&worker->turn);
    }
}

/* Sleeps until the turn is laid down. It may return early. At most one thread waits for a turn. */
static inline void verge__turn_await(verge_worker *worker) {
    uint32_t turn = VERGE__TURN_HELD;
    VERGE__STEP("turn: await");
    (void)atomic_compare_exchange_strong_explicit(&worker->turn, &turn, VERGE__TURN_AWAITED, memory_order_relaxed,
                                                  memory_order_relaxed);
    if (turn != VERGE__TURN_LAID) {
        verge__futex_sleep(&worker->turn, VERGE__TURN_AWAITED);
    }
}

static inline void verge__turn_take(verge_worker *worker) {
    while (!verge__turn_try_take(worker)) {
        verge__turn_await(worker);
    }
}

/* For the worker's thread: takes the turn if the thread is inside a watched callback. Otherwise it has the turn
 * already. */
static inline void verge__turn_begin(verge_worker *worker) {
    if (VERGE__UNLIKELY(worker->is_in_callback && verge__service_watches(worker->service))) {
        verge__turn_take(worker);
    }
}

static inline void verge__turn_end(verge_worker *worker) {
    if (VERGE__UNLIKELY(worker->is_in_callback && verge__service_watches(worker->service))) {
        verge__turn_lay_down(worker);
    }
}

#endif
