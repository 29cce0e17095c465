/* SPDX-License-Identifier: MIT */
/* Running to the next event on a manual clock, for tests. */
#include <errno.h>

#include "service/service_internal.h"

static verge_manual_clock *manual_clock(const verge_service *service) {
    const verge_clock *clock = &service->options.clock;
    return clock->now_ns == verge_clock_manual(NULL).now_ns ? clock->context : NULL;
}

/* Returns 0 if the calling thread may run all workers. -EPERM: a worker belongs to another thread. -EBUSY: a worker is
 * in a pass. */
static int check_workers(const verge_service *service) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (verge__worker_is_there(worker)) {
            if (worker->is_thread || verge__is_bound_to_another(worker)) {
                return -EPERM;
            }
            if (worker->is_in_pass) {
                return -EBUSY;
            }
        }
    }
    return 0;
}

/* Makes a pass of each worker, in the order of their ids. Returns how many callbacks ran. */
static int run_all(const verge_service *service) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    int64_t all = 0;
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        const int fired = verge__worker_is_there(worker) ? verge_worker_run_once(worker, 0) : 0;
        all += fired > 0 ? fired : 0; /* below 0: the worker has left */
    }
    return all > INT32_MAX ? INT32_MAX : (int)all;
}

static uint64_t next_of_all(const verge_service *service) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    uint64_t first_ns = VERGE_NEVER;
    if (verge__service_pending(service) == 0) { /* nodes of cancelled timers do not count */
        return VERGE_NEVER;
    }
    for (uint32_t id = 1; id <= count; id++) {
        const uint64_t next_ns = verge_worker_next_wakeup(verge__service_seat(service, id));
        first_ns = next_ns < first_ns ? next_ns : first_ns;
    }
    return first_ns;
}

int verge_service_run_to_next(verge_service *service, uint64_t limit_ns) {
    verge_manual_clock *clock = service == NULL ? NULL : manual_clock(service);
    if (clock == NULL) {
        return -EINVAL;
    }
    int result = verge__service_is_forked(service) ? -ECHILD : check_workers(service);
    while (result == 0) {
        result = run_all(service);
        const uint64_t next_ns = result == 0 ? next_of_all(service) : 0;
        const uint64_t now_ns = verge__service_clock(service);
        if (next_ns > limit_ns || next_ns == VERGE_NEVER) {
            if (limit_ns > now_ns && limit_ns != VERGE_NEVER) {
                verge_manual_clock_set(clock, limit_ns);
            }
            return 0;
        }
        if (next_ns > now_ns) { /* a wheel may wake up before its next timer is due; then the loop goes on */
            verge_manual_clock_set(clock, next_ns);
        }
    }
    return result;
}
