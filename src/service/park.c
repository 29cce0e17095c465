/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "service/park.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

/* How long to sleep at most where the kernel cannot wait for the clock: then a jump of the clock is seen late by so much. */
#define FOREIGN_CLOCK_NAP_NS UINT64_C(20000000)

bool verge__park_begin(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal) {
    VERGE__STEP("park: signal");
    *ret_signal = atomic_load_explicit(&worker->signal, memory_order_acquire);
    VERGE__STEP("park: say until when");
    /* Times up to WAKING are long past, and never slept for. */
    atomic_store_explicit(&worker->wait_until_ns, until_ns, memory_order_seq_cst);
    verge_service *service = worker->service;
    bool stays_awake = !verge__inbox_is_empty(&worker->inbox) || !verge__inbox_is_empty(&service->orphans);
    VERGE__STEP("park: flags");
    return !stays_awake && !atomic_load_explicit(&worker->is_interrupted, memory_order_seq_cst) &&
           !atomic_load_explicit(&worker->is_to_retire, memory_order_seq_cst) &&
           !atomic_load_explicit(&service->is_stopping, memory_order_seq_cst);
}

void verge__park_sleep(verge_worker *worker, uint32_t signal, uint64_t until_ns) {
    verge__futex_wait(worker->service, &worker->signal, signal, until_ns);
}

void verge__park_end(verge_worker *worker) {
    VERGE__STEP("park: end");
    uint64_t until_ns = atomic_load_explicit(&worker->wait_until_ns, memory_order_acquire);
    while (until_ns != VERGE__AWAKE) {
        if (until_ns == VERGE__WAKING) {
            verge__give_way();
            VERGE__STEP("park: end");
            until_ns = atomic_load_explicit(&worker->wait_until_ns, memory_order_acquire);
        } else if (atomic_compare_exchange_strong_explicit(&worker->wait_until_ns, &until_ns, VERGE__AWAKE,
                                                           memory_order_acq_rel, memory_order_acquire)) {
            return;
        }
    }
}

void verge__park_wake(verge_worker *worker, uint64_t deadline_ns) {
    VERGE__STEP("wake: until when");
    uint64_t until_ns = atomic_load_explicit(&worker->wait_until_ns, memory_order_seq_cst);
    do {
        if (until_ns <= VERGE__WAKING || until_ns <= deadline_ns) {
            return;
        }
        VERGE__STEP("wake: claim");
    } while (!atomic_compare_exchange_strong_explicit(&worker->wait_until_ns, &until_ns, VERGE__WAKING,
                                                      memory_order_seq_cst, memory_order_seq_cst));
    VERGE__STEP("wake: signal");
    (void)atomic_fetch_add_explicit(&worker->signal, 1, memory_order_release);
    if (worker->wake != NULL) {
        worker->wake(worker->wake_context);
    }
    verge__futex_wake_all(&worker->signal);
    VERGE__STEP("wake: done");
    atomic_store_explicit(&worker->wait_until_ns, VERGE__AWAKE, memory_order_release);
}

/* ---- the kernel's part ---- */

#if defined(VERGE_STEPS) && VERGE_STEPS
bool (*verge__wait_hook)(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) = NULL;
#endif

static struct timespec to_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static uint64_t monotonic_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void verge__futex_wait(const verge_service *service, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
#if defined(VERGE_STEPS) && VERGE_STEPS
    if (verge__wait_hook != NULL && verge__wait_hook(word, expected, until_ns)) {
        return;
    }
#endif
    if (until_ns != VERGE_NEVER && !service->is_clock_monotonic) {
        uint64_t now_ns = verge__service_clock(service);
        uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        until_ns = monotonic_now() + (left_ns < FOREIGN_CLOCK_NAP_NS ? left_ns : FOREIGN_CLOCK_NAP_NS);
    }
    /* A time the kernel cannot hold is as good as never. */
    struct timespec until = to_timespec(until_ns);
    const struct timespec *timeout = until_ns > INT64_MAX ? NULL : &until;
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

void verge__futex_wake_all(_Atomic uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
