/* SPDX-License-Identifier: MIT */
/*
 * A program and a library of different versions: the structs of one of them have one more field (sizes.sh). If NEWER is
 * defined, the structs of the program have it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verge/verge.h"

static int failed;

static void expect(int condition, const char *what) {
    if (!condition) {
        (void)printf("NOT OK: %s\n", what);
        failed = 1;
    }
}

#if defined(NEWER)
#define SET_ADDED(options) ((options).added_later = 1)
#define EXPECT_NO_ADDED(result) expect((result).added_later == 0, #result " has a field that the library does not know")
#else
#define SET_ADDED(options) ((void)0)
#define EXPECT_NO_ADDED(result) ((void)0)
#endif

static void nothing(const verge_firing *firing) {
    (void)firing;
}

int main(void) {
    verge_wheel_options wheel_options;
    verge_wheel *wheel = NULL;
    expect(verge_wheel_options_init(&wheel_options, sizeof(wheel_options), VERGE_PRESET_DEFAULT) == 0, "wheel options");
    expect(wheel_options.precision_ns == UINT64_C(1) << 20 && wheel_options.worker_id == 0, "the defaults of a wheel");
    wheel_options.worker_id = 17; /* the last field that both versions have */
    expect(verge_wheel_create(&wheel_options, &wheel) == 0, "a wheel");
    verge_wheel_stats wheel_stats;
    memset(&wheel_stats, 0xFF, sizeof(wheel_stats));
    wheel_stats.struct_size = sizeof(wheel_stats);
    expect(verge_wheel_get_stats(wheel, &wheel_stats) == 0 && wheel_stats.timers == 0 && wheel_stats.worker_id == 17,
           "the statistics of a wheel");
    EXPECT_NO_ADDED(wheel_stats);
    verge_wheel_destroy(wheel);

    verge_service_options service_options;
    verge_service *service = NULL;
    expect(verge_service_options_init(&service_options, sizeof(service_options)) == 0, "service options");
    service_options.thread_count = 0;
    service_options.metronome = false;
    expect(verge_service_create(&service_options, &service) == 0, "a service");
    verge_start_options start = {.struct_size = sizeof(start)};
    start.callback = nothing;
    start.label = "the last field";
    expect(verge_service_start_with(service, &start, NULL) == 0, "a timer");
    verge_worker_options worker_options = {.struct_size = sizeof(worker_options)};
    verge_worker *worker = NULL;
    expect(verge_worker_join(service, &worker_options, &worker) == 0, "a worker");
    expect(verge_worker_run_once(worker, 0) == 1, "it runs the timer");
    verge_service_stats stats;
    memset(&stats, 0xFF, sizeof(stats));
    stats.struct_size = sizeof(stats);
    expect(verge_service_get_stats(service, &stats) == 0 && stats.fired == 1 && stats.workers == 1,
           "the statistics of a service");
    EXPECT_NO_ADDED(stats);
#if defined(NEWER)
    SET_ADDED(start);
    SET_ADDED(wheel_options);
    SET_ADDED(service_options);
    verge_service *other = NULL;
    expect(verge_service_start_with(service, &start, NULL) == -EINVAL, "a field that the library does not know");
    expect(verge_wheel_create(&wheel_options, &wheel) == -EINVAL, "the same of a wheel");
    expect(verge_service_create(&service_options, &other) == -EINVAL, "the same of a service");
#endif
    expect(verge_worker_leave(worker) == 0 && verge_service_destroy(service, NULL, NULL) == 0, "the end");
    return failed;
}
