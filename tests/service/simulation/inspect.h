/* SPDX-License-Identifier: MIT */
/*
 * simulation/inspect.h - looks into a service at a moment at which nothing is under way: every actor sleeps, or has
 * ended. Then the invariants of service_internal.h hold, and everybody who sleeps wakes up in time.
 */
#ifndef VERGE_TESTS_SERVICE_SIMULATION_INSPECT_H
#define VERGE_TESTS_SERVICE_SIMULATION_INSPECT_H

#include "verge/service.h"

/* NULL, or what is wrong. */
const char *inspect_service(const verge_service *service);

/* Whether the callback of that timer runs; at any moment. */
bool inspect_is_running(const verge_service *service, verge_timer timer);

/* The worker that is stuck in a callback, has a timer that is due, and could be helped, as another one sleeps; 0:
 * none. */
uint32_t inspect_who_needs_help(const verge_service *service, uint64_t now_ns);

/* Whether a worker has a timer in its wheel that was due by then; at any moment. */
bool inspect_has_due(const verge_service *service, const verge_worker *worker, uint64_t now_ns);

#endif
