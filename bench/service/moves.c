/* SPDX-License-Identifier: MIT */
/* A worker with 300,000 timers leaves, and two others take them. Measures the cost for each timer, and how evenly the
 * timers are dealt. */
#include <verge/service.h>

#include "figures.h"
#include "random.h"

enum { TIMERS = 300000 };

static void never(const verge_firing *firing) {
    (void)firing;
    must(false, "a timer beyond the measurement ran");
}

static void take_all(verge_worker *worker) {
    while (verge_worker_next_wakeup(worker) == 0) {
        must(verge_worker_run_once(worker, 0) == 0, "pass");
    }
}

void measure_moves(struct plan *plan) {
    (void)plan;
    verge_service_options options;
    verge_worker_options unbound = {.struct_size = sizeof(unbound), .unbound = true};
    must(verge_service_options_init(&options, sizeof(options)) == 0, "options");
    options.thread_count = 0;
    verge_service *service = NULL;
    verge_worker *workers[3];
    must(verge_service_create(&options, &service) == 0, "create");
    for (int i = 0; i < 3; i++) {
        must(verge_worker_join(service, &unbound, &workers[i]) == 0, "join");
    }
    struct bench_random random = {.state = 7};
    verge_start_options start = {.struct_size = sizeof(start)};
    start.callback = never;
    start.worker_id = verge_worker_id(workers[0]);
    for (int i = 0; i < TIMERS; i++) {
        start.deadline_ns = verge_service_exact_now(service) + UINT64_C(100000000000) +
                            bench_random_next(&random) % UINT64_C(3600000000000);
        must(verge_service_start_with(service, &start, NULL) == 0, "start");
    }
    take_all(workers[0]);
    must(verge_service_count(service, verge_worker_id(workers[0])) == TIMERS, "one worker has them all");
    uint64_t begin = thread_cpu_ns();
    must(verge_worker_leave(workers[0]) == 0, "leave");
    uint64_t left = thread_cpu_ns();
    take_all(workers[1]);
    take_all(workers[2]);
    uint64_t taken = thread_cpu_ns();
    double more = (double)verge_service_count(service, verge_worker_id(workers[1]));
    must(verge_service_count(service, 0) == TIMERS &&
             more + (double)verge_service_count(service, verge_worker_id(workers[2])) == TIMERS,
         "the others have them all");
    heading("a worker leaves 300,000 timers to two others");
    figure("to send a timer", (double)(left - begin) / TIMERS, "ns");
    figure("to take it", (double)(taken - left) / TIMERS, "ns");
    figure("share of the one with more", 100 * (more > TIMERS / 2.0 ? more : TIMERS - more) / TIMERS, "percent");
    must(verge_worker_leave(workers[1]) == 0 && verge_worker_leave(workers[2]) == 0, "leave");
    must(verge_service_destroy(service, NULL, NULL) == 0, "destroy");
}
