/* SPDX-License-Identifier: MIT */
/* Statistics of a runtime. */
#include <errno.h>
#include <string.h>

#include "base/sized.h"
#include "task/observe.h"
#include "task/queue.h"
#include "task/runner.h"

static void add_runner(const verge__runner *runner, verge_runtime_stats *stats) {
    stats->spawned += atomic_load_explicit(&runner->spawned, memory_order_relaxed);
    stats->switches += atomic_load_explicit(&runner->switches, memory_order_relaxed);
    stats->operations += atomic_load_explicit(&runner->operations, memory_order_relaxed);
    stats->timeouts += atomic_load_explicit(&runner->timeouts, memory_order_relaxed);
    stats->migrated += atomic_load_explicit(&runner->migrated, memory_order_relaxed);
    const int error = atomic_load_explicit(&runner->reactor_error, memory_order_relaxed);
    stats->failed_reactors += error != 0;
    stats->reactor_error = error != 0 ? error : stats->reactor_error;
    stats->workers += atomic_load(&runner->inbox) != &verge__inbox_closed;
}

/* If other threads spawn tasks meanwhile, the result is only about right. */
uint64_t verge__existing_tasks(const verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    uint64_t tasks = verge__task_count(runtime);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t credit = atomic_load_explicit(&runtime->runners[i]->credit, memory_order_relaxed);
        tasks -= credit < tasks ? credit : tasks;
    }
    return tasks;
}

/* If tasks end meanwhile, the result is only about right. */
uint64_t verge__unjoined_tasks(const verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    uint64_t collected = atomic_load(&runtime->collected_outside);
    uint64_t unjoined = 0;
    for (uint32_t i = 0; i < count; i++) {
        collected += atomic_load_explicit(&runtime->runners[i]->collected, memory_order_relaxed);
        unjoined += atomic_load_explicit(&runtime->runners[i]->unjoined, memory_order_relaxed);
    }
    return unjoined > collected ? unjoined - collected : 0;
}

verge_service *verge__runtime_service(const verge_runtime *runtime) {
    return runtime->service;
}

void verge__runtime_count(const verge_runtime *runtime, verge_runtime_stats *ret_stats) {
    *ret_stats = (verge_runtime_stats){
        .tasks = verge__existing_tasks(runtime),
        .spawned = atomic_load(&runtime->spawned_outside),
        .unjoined = verge__unjoined_tasks(runtime),
    };
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        add_runner(runtime->runners[i], ret_stats);
    }
}

int verge_runtime_get_stats(verge_runtime *runtime, verge_runtime_stats *ret_stats) {
    if (runtime == NULL) {
        return -EINVAL;
    }
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    verge__stack_stats stacks;
    verge_runtime_stats stats;
    verge__runtime_count(runtime, &stats);
    verge__stack_store_stats(&runtime->stacks, &stacks);
    stats.stacks = stacks.stack_count;
    stats.stack_resident_bytes = stacks.resident_bytes;
    stats.stack_high_water_bytes = stacks.high_water_bytes;
    stats.stack_size = stacks.usable_size;
    (void)pthread_mutex_lock(&runtime->lock);
    stats.backend = runtime->backend;
    (void)pthread_mutex_unlock(&runtime->lock);
    return verge__sized_write(ret_stats, &stats, sizeof(stats));
}
