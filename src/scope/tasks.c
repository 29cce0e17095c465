/* SPDX-License-Identifier: MIT */
#include "scope/tasks.h"

#include "task/task_internal.h"

verge_service *verge__runtime_service(const verge_runtime *runtime) {
    return runtime->service;
}

void verge__runtime_count(verge_runtime *runtime, verge__task_counts *ret_counts) {
    *ret_counts = (verge__task_counts){
        .tasks = verge__task_count(runtime),
        .spawned = atomic_load_explicit(&runtime->spawned_outside, memory_order_relaxed),
    };
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        const verge__runner *runner = atomic_load(&runtime->runners[i]);
        ret_counts->spawned += atomic_load_explicit(&runner->spawned, memory_order_relaxed);
        ret_counts->switches += atomic_load_explicit(&runner->switches, memory_order_relaxed);
        ret_counts->operations += atomic_load_explicit(&runner->operations, memory_order_relaxed);
        ret_counts->timeouts += atomic_load_explicit(&runner->timeouts, memory_order_relaxed);
    }
}
