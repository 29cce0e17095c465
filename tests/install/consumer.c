/* SPDX-License-Identifier: MIT */
/* consumer VERSION: a user's program. It uses a wheel, an interval, a service, tasks and I/O, and fails if the library
 * is not of this version. */
#include <stdio.h>
#include <string.h>
#include <verge/verge.h>

static int use_wheel(void) {
    verge_wheel *wheel;
    verge_timer timer;
    verge_expiry expiry;
    if (verge_wheel_create(NULL, &wheel) != 0) {
        return 1;
    }
    int failed = verge_wheel_start(wheel, UINT64_C(10000000), &failed, &timer) != 0;
    failed |= verge_wheel_poll(wheel, UINT64_C(20000000), &expiry, 1) != 1 || expiry.timer != timer;
    verge_wheel_destroy(wheel);
    return failed;
}

static int use_interval(void) {
    verge_interval interval;
    verge_tick tick;
    return verge_interval_init(&interval, 0, 10, VERGE_INTERVAL_SKIP) != 0 ||
           verge_interval_next(&interval, 35, &tick) != 1 || tick.missed != 3;
}

static void never(const verge_firing *firing) {
    (void)firing;
}

static int use_service(void) {
    static char text[65536];
    const verge_label name[] = {{"service", "consumer"}, {NULL, NULL}};
    const verge_label *labels[] = {name};
    verge_service *service;
    verge_timer timer;
    if (verge_service_create(NULL, &service) != 0) {
        return 1;
    }
    int failed = verge_service_start_after(service, UINT64_C(3600000000000), never, NULL, &timer) != 0;
    failed |= verge_service_metrics(&service, labels, 1, false, text, sizeof(text)) <= 0;
    failed |= verge_service_cancel(service, timer) != 0;
    return verge_service_destroy(service, NULL, NULL) != 0 || failed;
}

static intptr_t sleep_and_write(void *argument) {
    const int *fds = (const int *)argument;
    char byte = 0;
    return verge_sleep(1000) != 0 || verge_write(fds[1], "x", 1, verge_deadline_after(1000000000)) != 1 ||
           verge_read(fds[0], &byte, 1, verge_deadline_after(1000000000)) != 1 || byte != 'x';
}

static int use_tasks(void) {
    verge_runtime *runtime;
    intptr_t failed = 1;
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0 || verge_runtime_create(NULL, &runtime) != 0) {
        return 1;
    }
    const int error = verge_runtime_run(runtime, sleep_and_write, fds, &failed);
    return verge_runtime_destroy(runtime) != 0 || error != 0 || failed != 0;
}

int main(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], verge_version()) != 0) {
        (void)fprintf(stderr, "the library is of version %s\n", verge_version());
        return 1;
    }
    return use_wheel() || use_interval() || use_service() || use_tasks();
}
