/* SPDX-License-Identifier: MIT */
/* Measures the processor time of a process with a million timers, due in an hour and later, while all workers sleep. */
#include <stdio.h>
#include <unistd.h>

#include <verge/service.h>

#include "figures.h"

enum { TIMERS = 1000000 };

#define HOUR_NS UINT64_C(3600000000000)

static void never(const verge_firing *firing) {
    (void)firing;
    must(false, "a timer of an hour ran");
}

void measure_idle(struct plan *plan) {
    unsigned seconds = plan->is_quick ? 3 : 20;
    verge_service_options options;
    must(verge_service_options_init(&options, sizeof(options)) == 0, "options");
    options.thread_count = 2;
    verge_service *service = NULL;
    must(verge_service_create(&options, &service) == 0, "create");
    uint64_t now_ns = verge_service_exact_now(service);
    for (uint64_t i = 0; i < TIMERS; i++) {
        must(verge_service_start(service, now_ns + HOUR_NS + i * 7919, never, NULL, NULL) == 0, "start");
    }
    (void)sleep(2); /* the workers take the timers, and go to sleep */
    verge_service_stats before = {.struct_size = sizeof(before)};
    verge_service_stats after = {.struct_size = sizeof(after)};
    must(verge_service_get_stats(service, &before) == 0, "stats");
    uint64_t begin = process_cpu_ns();
    (void)sleep(seconds);
    uint64_t used = process_cpu_ns() - begin;
    must(verge_service_get_stats(service, &after) == 0 && after.pending == TIMERS, "all are pending");
    heading("idle: a million timers beyond an hour");
    figure("wake-ups of workers, a second", (double)(after.wakeups - before.wakeups) / seconds, "");
    figure("ticks of the metronome, a second", (double)(after.metronome_ticks - before.metronome_ticks) / seconds, "");
    figure("bytes a timer", (double)after.bytes / TIMERS, "");
    bound_at_most(plan, "percent of a core", 100.0 * (double)used / ((double)seconds * 1e9), 0.1);
    must(verge_service_destroy(service, NULL, NULL) == 0, "destroy");
}
