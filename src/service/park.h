/* SPDX-License-Identifier: MIT */
/*
 * service/park.h - sleeping without missing anything.
 *
 * A worker that goes to sleep                        a thread that has something for it
 *   1 s = signal                                       1 push into the inbox
 *   2 wait_until_ns = when it wakes up by itself       2 look at wait_until_ns: if it is later than
 *   3 look into the inbox: if not empty, stay awake      what was pushed needs, wake the worker:
 *   4 sleep while signal == s, until the time of 2       change wait_until_ns to WAKING; if that succeeds,
 *   5 wait_until_ns = AWAKE                              add 1 to signal, call the wake function,
 *                                                        change wait_until_ns to AWAKE, and tell the kernel
 *
 * Steps 2 and 3 on the left, and 1 and 2 on the right, are sequentially consistent: at least one side sees what the
 * other wrote. A wake between 3 and 4 changes the signal, so 4 does not sleep.
 *
 * In step 3 a worker may also take the records out of the inbox. Then a record keeps it awake only if the record is due
 * before the time of step 2, or if there were more records than the worker handles at once. A record that step 3 does
 * not see is pushed after step 2, so its sender sees the time of step 2.
 *
 * While wait_until_ns is WAKING, another thread may be in the user's wake function (verge_worker_begin_wait).
 * verge__park_end waits until that function has returned. After that, the user may free what the function uses. If a
 * worker has to wait there, it changes WAKING to WAKING_AWAITED, and sleeps on the signal. The waking thread sees this
 * when it changes wait_until_ns to AWAKE, and adds to the signal once more.
 *
 * The system call that wakes the worker comes last. A woken worker with a higher priority runs at once, instead of the
 * waking thread. It then finds AWAKE, and need not wait. Only a worker that its wake function woke may have to wait.
 */
#ifndef VERGE_SRC_SERVICE_PARK_H
#define VERGE_SRC_SERVICE_PARK_H

#include "base/futex.h"
#include "service/service_internal.h"

/* Special values of wait_until_ns. No worker sleeps until one of these times (pass.c). */
#define VERGE__AWAKE UINT64_C(0)
#define VERGE__WAKING_AWAITED UINT64_C(1)
#define VERGE__WAKING UINT64_C(2)

/* Steps 1 and 2: writes until when the worker sleeps. */
void verge__park_say(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal);

/* Call it after verge__park_say. Returns whether the worker may sleep: there are no orphans (timers without a worker),
 * and nobody has interrupted the worker, or told it to retire or stop. Does not look into the worker's inbox. */
bool verge__park_may_sleep(verge_worker *worker);

/* Steps 1 to 3. False: the worker must stay awake. In either case the caller ends with verge__park_end. */
bool verge__park_begin(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal);

/* Step 4: sleeps. */
void verge__park_sleep(verge_worker *worker, uint32_t signal, uint64_t until_ns);

/* Step 5: the worker is awake. */
void verge__park_end(verge_worker *worker);

/* Wakes a worker that sleeps beyond deadline_ns. 0: wakes it in any case. */
void verge__park_wake(verge_worker *worker, uint64_t deadline_ns);

/* ---- the kernel's part (base/futex.h) ---- */

/* Waits while *word == expected, at most until a time on the service's clock. It may return early. */
void verge__futex_wait(const verge_service *service, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/*
 * T14: *word says that the owner has claimed this timer or runs its callback. Sleeps until the owner has gone on. Does
 * not sleep if the word has changed since the caller read it. Stores the present word in *word. It may return early, so
 * the caller must check again.
 */
void verge__wait_for_owner(verge_service *service, verge__timer *timer, uint64_t *word);

/* Wakes all threads that wait for timers of this worker. Called when a claim is decided (T4), when a callback has
 * returned (T5), and when the worker's thread has died in a callback. */
static inline void verge__worker_release_waiters(verge_worker *worker) {
    (void)atomic_fetch_add_explicit(&worker->returns, 1, memory_order_release);
    verge__futex_wake_all(&worker->returns);
}

#endif
