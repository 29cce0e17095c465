/* SPDX-License-Identifier: MIT */
/* Very many tasks sleep: how much memory do they take, and how fast are they spawned and woken? The clock stands still
 * until all of them are asleep. Also: what does a runtime cost that has nothing to do? */
#include <pthread.h>
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
    (void)verge_runtime_options_init(&options, sizeof(options));
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
    return bench_require("KiB resident for each task", kib_each, "<=", 12);
}

/* ---- what a runtime costs while all of its tasks wait ---- */

static intptr_t waits_for_item(void *argument) {
    char item;
    return verge_channel_receive(argument, &item, VERGE_NEVER);
}

static intptr_t waits_for_time(void *argument) {
    (void)argument;
    return verge_sleep(3600 * wake_ns);
}

struct idle {
    verge_runtime *runtime;
    verge_channel *channel;
    unsigned seconds;
    double cpu_ns;
};

static double process_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Measures from a plain thread, as a task that measures would keep its worker busy. */
static void *looks_on(void *argument) {
    struct idle *idle = argument;
    (void)sleep(1); /* after a second, all tasks wait, and no runner searches */
    const double begin_ns = process_ns();
    (void)sleep(idle->seconds);
    idle->cpu_ns = process_ns() - begin_ns;
    verge_runtime_stop(idle->runtime);
    return NULL;
}

static intptr_t spawns_who_wait(void *argument) {
    const struct idle *idle = argument;
    for (int i = 0; i < 1000; i++) {
        const verge_task_function function = i % 2 == 0 ? waits_for_time : waits_for_item;
        bench_check(bench_spawn_on(VERGE_WORKER_ANY, function, idle->channel) == 0, "a task is spawned");
    }
    return 0;
}

int bench_task_idle(bool quick) {
    struct idle idle = {.seconds = quick ? 1 : 10};
    verge_runtime_options options;
    pthread_t thread;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 2;
    bench_check(verge_runtime_create(&options, &idle.runtime) == 0, "a runtime is created");
    bench_check(verge_channel_create(1, 1, NULL, &idle.channel) == 0, "a channel is created");
    bench_check(pthread_create(&thread, NULL, looks_on, &idle) == 0, "a thread is created");
    bench_check(verge_runtime_run(idle.runtime, spawns_who_wait, &idle, NULL) == 0, "the runtime runs");
    (void)pthread_join(thread, NULL);
    (void)verge_runtime_destroy(idle.runtime);
    verge_channel_destroy(idle.channel);
    const double share = idle.cpu_ns / 1e9 / idle.seconds;
    printf("idle: two workers, 1,000 tasks that wait for time or for items\n");
    printf("    %.0f us of processor in %u s, %.4f %% of a core\n", idle.cpu_ns / 1000, idle.seconds, share * 100);
    return bench_require("millionths of a core", share * 1e6, "<=", quick ? 50 : 5);
}
