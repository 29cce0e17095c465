/* SPDX-License-Identifier: MIT */
/*
 * Waiting until a service has no timers left. Start and cancel do not report the last timer, as that would make their
 * hot paths slower. So the caller checks the counters, and naps in between.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <time.h>

#include "service/service_internal.h"

enum { NAP_NS = 1000000 };

static void nap(void) {
    const struct timespec duration = {.tv_nsec = NAP_NS};
    (void)nanosleep(&duration, NULL);
}

/* Runs the caller's own worker for a while: otherwise its timers would never end. True: the caller is still a
 * worker. */
static bool run_worker(const verge_service *service, verge_worker *worker, uint64_t deadline_ns) {
    const uint64_t nap_ns = verge__service_clock(service) + NAP_NS;
    return verge_worker_run_once(worker, nap_ns < deadline_ns ? nap_ns : deadline_ns) >= 0;
}

int verge_service_wait_empty(verge_service *service, uint64_t deadline_ns) {
    if (service == NULL) {
        return -EINVAL;
    }
    if (verge__service_is_forked(service)) {
        return -ECHILD;
    }
    verge_worker *worker = verge__bound(service);
    if ((worker != NULL && worker->is_in_pass) || verge__is_metronome(service)) {
        return -EDEADLK; /* called in a callback, whose timer would never end, or in on_stuck */
    }
    int result = 0;
    while (result == 0 && verge__service_pending(service) != 0) {
        if (verge__service_clock(service) >= deadline_ns) {
            result = -ETIMEDOUT;
        } else if (worker == NULL) {
            nap();
        } else if (!run_worker(service, worker, deadline_ns)) {
            worker = NULL;
        }
    }
    verge_worker_interrupt(worker); /* a wait in here may have used up an interrupt */
    return result;
}
