/* SPDX-License-Identifier: MIT */
/*
 * service/park.h - sleeping without missing anything.
 *
 * A worker that goes to sleep                        a thread that has something for it
 *   1 s = signal                                       1 push into the inbox
 *   2 wait_until_ns = when it wakes up by itself       2 look at wait_until_ns: if it is later than
 *   3 look into the inbox: if not empty, stay awake      what was pushed needs, wake it:
 *   4 sleep while signal == s, until then                change wait_until_ns to AWAKE; who does it
 *   5 wait_until_ns = AWAKE                              also adds 1 to signal and wakes
 *
 * 2 and 3 on the left, 1 and 2 on the right are sequentially consistent: one of the two sees the other's. Between 3
 * and 4, a wake changes the signal, and 4 does not sleep.
 *
 * A worker with a wake function of its user's (verge_worker_begin_wait) is in wait_until_ns == WAKING while another thread is
 * in that function, and verge__park_end waits for it to return: afterwards the user may free what it uses.
 */
#ifndef VERGE_SRC_SERVICE_PARK_H
#define VERGE_SRC_SERVICE_PARK_H

#include "service/service_internal.h"

#define VERGE__AWAKE UINT64_C(0)
#define VERGE__WAKING UINT64_C(1)

/* Says until when the worker is going to sleep (2); false if it must not (3). The rest is the caller's: */
bool verge__park_begin(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal);

/* to sleep (4), */
void verge__park_sleep(verge_worker *worker, uint32_t signal, uint64_t until_ns);

/* and to be awake again (5). */
void verge__park_end(verge_worker *worker);

/* Wakes a worker that sleeps beyond deadline_ns; 0: in any case. */
void verge__park_wake(verge_worker *worker, uint64_t deadline_ns);

/* ---- the kernel's part; a test may put another in its place ---- */

/* Waits while *word == expected, until a time on the service's clock, or less. */
void verge__futex_wait(const verge_service *service, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);
void verge__futex_wake_all(_Atomic uint32_t *word);

/* A callback that was WAITED for has returned (T5), or its thread has died. */
static inline void verge__worker_release_waiters(verge_worker *worker) {
    (void)atomic_fetch_add_explicit(&worker->returns, 1, memory_order_release);
    verge__futex_wake_all(&worker->returns);
}

#if defined(VERGE_STEPS) && VERGE_STEPS
/* True: the hook has waited, or does not want to. */
extern bool (*verge__wait_hook)(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);
#endif

#endif
