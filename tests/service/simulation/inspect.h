/* SPDX-License-Identifier: MIT */
/*
 * simulation/inspect.h - looks into a service at a moment at which nothing is under way: every actor sleeps or has
 * ended. At such a moment, the invariants of service_internal.h must hold, and every sleeping worker must wake up in
 * time.
 */
#ifndef VERGE_TESTS_SERVICE_SIMULATION_INSPECT_H
#define VERGE_TESTS_SERVICE_SIMULATION_INSPECT_H

#include "verge/service.h"

/* Returns NULL, or what is wrong. */
const char *inspect_service(const verge_service *service);

/* Whether the callback of a timer is running. It can be called at any moment. */
bool inspect_is_running(const verge_service *service, verge_timer timer);

/* Returns a worker that is stuck in a callback and has a due timer, while another worker sleeps and could help. 0:
 * there is none. */
uint32_t inspect_who_needs_help(const verge_service *service, uint64_t now_ns);

/* Whether a worker has a timer in its wheel that was due by now_ns. It can be called at any moment. */
bool inspect_has_due(const verge_service *service, const verge_worker *worker, uint64_t now_ns);

#endif
