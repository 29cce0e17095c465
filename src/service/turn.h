/* SPDX-License-Identifier: MIT */
/*
 * service/turn.h - whose turn it is to touch a worker's own part.
 *
 * In a service that does not watch for stuck callbacks, it is always the worker's thread's. In one that does, the thread
 * lays the turn down for as long as a callback runs, and takes it up for each thing the callback does with this worker:
 *
 *     HELD, AWAITED -> LAID     verge__turn_lay    release: what the holder did is seen by
 *     LAID -> HELD              verge__turn_take   acquire: whoever takes it next
 *     HELD -> AWAITED           verge__turn_await
 *
 * A rescuer holds the turn for a bounded batch of timers and runs no callback meanwhile. If the worker's thread finds it
 * taken by a rescuer, it says so (AWAITED) and sleeps; a rescuer that finds it taken comes back in its next pass.
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

static inline void verge__turn_lay(verge_worker *worker) {
    VERGE__STEP("turn: lay");
    if (atomic_exchange_explicit(&worker->turn, VERGE__TURN_LAID, memory_order_acq_rel) == VERGE__TURN_AWAITED) {
        VERGE__STEP("turn: wake");
        verge__futex_wake_all(&worker->turn);
    }
}

/* Sleeps until the turn is laid down, unless it is already. One thread at most waits for a turn. */
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

/* For the worker's thread, inside a callback. Outside of one it has the turn. */
static inline void verge__turn_begin(verge_worker *worker) {
    if (VERGE__UNLIKELY(worker->is_in_callback && verge__service_watches(worker->service))) {
        verge__turn_take(worker);
    }
}

static inline void verge__turn_end(verge_worker *worker) {
    if (VERGE__UNLIKELY(worker->is_in_callback && verge__service_watches(worker->service))) {
        verge__turn_lay(worker);
    }
}

#endif
