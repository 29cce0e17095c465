/* SPDX-License-Identifier: MIT */
/*
 * service/park.h - sleeping without missing anything.
 *
 * A worker that goes to sleep                        a thread that has something for it
 *   1 s = signal                                       1 push into the inbox
 *   2 wait_until_ns = when it wakes up by itself       2 look at wait_until_ns: if it is later than
 *   3 look into the inbox: if not empty, stay awake      what was pushed needs, wake it:
 *   4 sleep while signal == s, until then                change wait_until_ns to WAKING; who does it
 *   5 wait_until_ns = AWAKE                              adds 1 to signal, calls the wake function,
 *                                                        changes wait_until_ns to AWAKE, and tells the kernel
 *
 * 2 and 3 on the left, 1 and 2 on the right are sequentially consistent: one of the two sees the other's. Between 3
 * and 4, a wake changes the signal, and 4 does not sleep.
 *
 * While wait_until_ns is WAKING, another thread may be in the wake function of the worker's user (verge_worker_begin_wait).
 * verge__park_end waits until that function has returned: afterwards the user may free what the function uses. A worker
 * that has to wait there changes WAKING to WAKING_AWAITED and sleeps on the signal; the thread that wakes it sees that when it
 * changes wait_until_ns to AWAKE, and adds to the signal once more.
 *
 * The kernel is told last: a worker with a higher priority runs as soon as it is woken, in place of the thread that woke
 * it. So it finds AWAKE, and has nothing to wait for; unless it was woken by its wake function.
 */
#ifndef VERGE_SRC_SERVICE_PARK_H
#define VERGE_SRC_SERVICE_PARK_H

#include "base/futex.h"
#include "service/service_internal.h"

/* In place of a time. No worker sleeps until one of these times: they are long past. */
#define VERGE__AWAKE UINT64_C(0)
#define VERGE__WAKING_AWAITED UINT64_C(1)
#define VERGE__WAKING UINT64_C(2)

/* Says until when the worker is going to sleep (2); false if it must not (3). The rest is the caller's: */
bool verge__park_begin(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal);

/* to sleep (4), */
void verge__park_sleep(verge_worker *worker, uint32_t signal, uint64_t until_ns);

/* and to be awake again (5). */
void verge__park_end(verge_worker *worker);

/* Wakes a worker that sleeps beyond deadline_ns; 0: in any case. */
void verge__park_wake(verge_worker *worker, uint64_t deadline_ns);

/* ---- the kernel's part (base/futex.h) ---- */

/* Waits while *word == expected, until a time on the service's clock, or less. */
void verge__futex_wait(const verge_service *service, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/*
 * T14: the owner has claimed this timer or runs its callback, as *word says. Sleeps until the owner has gone on, or the word is
 * not *word any more; *word is what it is then. May return early: the caller looks again.
 */
void verge__wait_for_owner(verge_service *service, verge__timer *timer, uint64_t *word);

/* The claim of a timer that was WAITED for is settled (T4); its callback has returned (T5); or its thread has died. */
static inline void verge__worker_release_waiters(verge_worker *worker) {
    (void)atomic_fetch_add_explicit(&worker->returns, 1, memory_order_release);
    verge__futex_wake_all(&worker->returns);
}

#endif
