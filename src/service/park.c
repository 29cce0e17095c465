/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "service/park.h"

#include <time.h>

enum { NS_PER_S = 1000000000 };

/* The longest sleep if the kernel cannot wait on the clock. A jump of the clock is noticed within this time. */
#define FOREIGN_CLOCK_NAP_NS UINT64_C(20000000)

void verge__park_say(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal) {
    VERGE__STEP("park: signal");
    *ret_signal = atomic_load_explicit(&worker->signal, memory_order_acquire);
    VERGE__STEP("park: say until when");
    /* The callers (pass.c) never pass a time up to WAKING, so until_ns is none of the special values. */
    atomic_store_explicit(&worker->wait_until_ns, until_ns, memory_order_seq_cst);
}

bool verge__park_may_sleep(verge_worker *worker) {
    verge_service *service = worker->service;
    bool has_orphans = !verge__inbox_is_empty(&service->orphans);
    VERGE__STEP("park: flags");
    return !has_orphans && !atomic_load_explicit(&worker->is_interrupted, memory_order_seq_cst) &&
           !atomic_load_explicit(&worker->is_to_retire, memory_order_seq_cst) &&
           !atomic_load_explicit(&service->is_stopping, memory_order_seq_cst);
}

bool verge__park_begin(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal) {
    verge__park_say(worker, until_ns, ret_signal);
    return verge__inbox_is_empty(&worker->inbox) && verge__park_may_sleep(worker);
}

void verge__park_sleep(verge_worker *worker, uint32_t signal, uint64_t until_ns) {
    verge__futex_wait(worker->service, &worker->signal, signal, until_ns);
}

/* If another thread is waking the worker, sleeps until the wake function has returned. The signal is read before
 * wait_until_ns is changed to WAKING_AWAITED. The waking thread sees that change, and then adds to the signal. So the
 * sleep cannot miss this. */
void verge__park_end(verge_worker *worker) {
    for (;;) {
        VERGE__STEP("park: end, signal");
        uint32_t signal = atomic_load_explicit(&worker->signal, memory_order_acquire);
        VERGE__STEP("park: end");
        uint64_t until_ns = atomic_load_explicit(&worker->wait_until_ns, memory_order_acquire);
        if (until_ns == VERGE__AWAKE) {
            return;
        }
        bool is_being_woken = until_ns <= VERGE__WAKING;
        VERGE__STEP("park: end, change");
        if (!atomic_compare_exchange_strong_explicit(&worker->wait_until_ns, &until_ns,
                                                     is_being_woken ? VERGE__WAKING_AWAITED : VERGE__AWAKE,
                                                     memory_order_acq_rel, memory_order_relaxed)) {
            continue;
        }
        if (!is_being_woken) {
            return;
        }
        verge__futex_sleep(&worker->signal, signal);
    }
}

void verge__park_wake(verge_worker *worker, uint64_t deadline_ns) {
    VERGE__STEP("wake: until when");
    uint64_t until_ns = atomic_load_explicit(&worker->wait_until_ns, memory_order_seq_cst);
    do {
        if (until_ns <= VERGE__WAKING || until_ns <= deadline_ns) {
            return;
        }
        VERGE__STEP("wake: take");
    } while (!atomic_compare_exchange_strong_explicit(&worker->wait_until_ns, &until_ns, VERGE__WAKING,
                                                      memory_order_seq_cst, memory_order_seq_cst));
    VERGE__STEP("wake: signal");
    (void)atomic_fetch_add_explicit(&worker->signal, 1, memory_order_release);
    if (worker->wake != NULL) {
        worker->wake(worker->wake_context);
    }
    /* Set AWAKE before the system call: the woken worker may take this thread's processor at once. */
    VERGE__STEP("wake: done");
    if (atomic_exchange_explicit(&worker->wait_until_ns, VERGE__AWAKE, memory_order_acq_rel) == VERGE__WAKING_AWAITED) {
        VERGE__STEP("wake: signal again");
        (void)atomic_fetch_add_explicit(&worker->signal, 1, memory_order_release);
    }
    VERGE__STEP("wake: tell the kernel");
    verge__futex_wake_all(&worker->signal);
}

/* ---- the kernel's part ---- */

static uint64_t monotonic_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void verge__futex_wait(const verge_service *service, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    if (verge__wait_is_hooked(word, expected, until_ns)) {
        return;
    }
    if (until_ns != VERGE_NEVER && service->is_clock_realtime) {
        verge__futex_sleep_until_realtime(word, expected, until_ns);
        return;
    }
    if (until_ns != VERGE_NEVER && !service->is_clock_monotonic) {
        uint64_t now_ns = verge__service_clock(service);
        uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        until_ns = monotonic_now() + (left_ns < FOREIGN_CLOCK_NAP_NS ? left_ns : FOREIGN_CLOCK_NAP_NS);
    }
    verge__futex_sleep_until(word, expected, until_ns);
}

/*
 * The thread sleeps on a number that only grows, and not on the word. A futex compares 32 bits, and the lower half of
 * the word may look the same again when the record belongs to another timer that a thread waits for. This thread reads
 * the number before it changes the word, and the owner adds to the number after it has changed the word. So if the
 * owner saw WAITED, either the number has changed before the sleep begins, or this thread is woken.
 */
void verge__wait_for_owner(verge_service *service, verge__timer *timer, uint64_t *word) {
    verge_worker *owner = verge__service_seat(service, verge__word_owner(*word));
    VERGE__STEP("wait: returns");
    uint32_t returns = atomic_load_explicit(&owner->returns, memory_order_acquire);
    if (verge__word_change(timer, word, *word | VERGE__WAITED)) {
        verge__futex_sleep(&owner->returns, returns);
        *word = verge__word_load(timer);
    }
}
