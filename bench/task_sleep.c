/* SPDX-License-Identifier: MIT */
/* Very many tasks asleep: what they occupy, and how fast they are spawned and woken. The clock stands still until all
 * of them are asleep. */
#include <stdio.h>
#include <unistd.h>

#include <verge/task.h>

#include "tasks.h"

static double resident_bytes(void) {
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bench_check(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2, "/proc/self/statm can be read");
    (void)fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

struct crowd {
    uint64_t count;
    uint64_t asleep;
    uint64_t woken;
    verge_manual_clock clock;
    double bytes_before, bytes_asleep;
    double begin_ns, asleep_ns, wake_begin_ns, end_ns;
};

static struct crowd crowd;
static const uint64_t wake_ns = 1000000000;

static intptr_t sleeps(void *argument) {
    (void)argument;
    crowd.asleep++;
    const int error = verge_sleep_until(wake_ns);
    bench_check(error == 0 && verge_now() >= wake_ns, "a sleep is never early");
    crowd.woken++;
    return 0;
}

static intptr_t watches(void *argument) {
    (void)argument;
    crowd.bytes_before = resident_bytes();
    crowd.begin_ns = bench_cpu_ns();
    for (uint64_t i = 0; i < crowd.count; i++) {
        bench_check(verge_spawn(sleeps, NULL, NULL) == 0, "a task is spawned");
        if (i % 64 == 0) {
            (void)verge_yield();
        }
    }
    while (crowd.asleep < crowd.count) {
        (void)verge_yield();
    }
    crowd.asleep_ns = bench_cpu_ns();
    crowd.bytes_asleep = resident_bytes();
    bench_check(crowd.woken == 0, "they all sleep at once");
    crowd.wake_begin_ns = bench_cpu_ns();
    verge_manual_clock_set(&crowd.clock, 2 * wake_ns);
    return 0;
}

static void run_crowd(uint64_t count) {
    verge_runtime_options options;
    verge_runtime *runtime;
    crowd = (struct crowd){.count = count};
    (void)verge_runtime_options_init(&options);
    options.worker_count = 1;
    options.clock = verge_clock_manual(&crowd.clock);
    bench_check(verge_runtime_create(&options, &runtime) == 0, "a runtime is created");
    bench_check(verge_runtime_run(runtime, watches, NULL, NULL) == 0, "the runtime runs");
    crowd.end_ns = bench_cpu_ns();
    bench_check(crowd.woken == count, "all of them woke up");
    (void)verge_runtime_destroy(runtime);
    printf("    %8llu tasks: %.2f KiB resident each, %.0f ns to spawn and fall asleep, %.0f ns to wake and end\n",
           (unsigned long long)count, (crowd.bytes_asleep - crowd.bytes_before) / (double)count / 1024,
           (crowd.asleep_ns - crowd.begin_ns) / (double)count, (crowd.end_ns - crowd.wake_begin_ns) / (double)count);
}

int bench_task_sleep(bool quick) {
    printf("sleep: tasks that are all asleep at once\n");
    run_crowd(quick ? 10000 : 100000);
    const double kib_each = (crowd.bytes_asleep - crowd.bytes_before) / (double)crowd.count / 1024;
    if (!quick) {
        run_crowd(1000000);
    }
    return bench_require("KiB resident for each of 100,000 tasks", kib_each, "<=", 12);
}
