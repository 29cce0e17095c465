/* SPDX-License-Identifier: MIT */
#include "verge/task.h"

#include "metrics/writer.h"

/* The statistics, and a copy of two of their numbers as uint64_t, because they have another type there. */
typedef struct figures {
    verge_runtime_stats stats;
    uint64_t workers;
    uint64_t failed_reactors;
} figures;

#define COUNTER(field, field_help) \
    { "verge_runtime_" #field "_total", field_help, VERGE__METRICS_COUNTER, offsetof(figures, stats.field) }
#define GAUGE(field, field_help) \
    { "verge_runtime_" #field, field_help, VERGE__METRICS_GAUGE, offsetof(figures, stats.field) }

static const verge__metrics_field fields[] = {
    GAUGE(tasks, "Tasks that exist."),
    GAUGE(unjoined, "Tasks that have ended, but were neither joined nor detached."),
    COUNTER(spawned, "Tasks that were spawned."),
    COUNTER(switches, "Times that a task was resumed."),
    COUNTER(operations, "Operations of I/O."),
    COUNTER(timeouts, "Waiting calls that ran into a deadline, sleeps not counted."),
    COUNTER(migrated, "Tasks that changed their worker."),
    GAUGE(stacks, "Stacks that were ever in use at one time, about."),
    GAUGE(stack_resident_bytes, "Bytes of all stacks that are in memory."),
    GAUGE(stack_high_water_bytes, "Bytes of stack that the deepest task has used."),
    GAUGE(stack_size, "Bytes that a stack has."),
    {"verge_runtime_workers", "Workers that run tasks.", VERGE__METRICS_GAUGE, offsetof(figures, workers)},
    {"verge_runtime_failed_reactors", "Workers for which the system does no I/O any more.", VERGE__METRICS_GAUGE,
     offsetof(figures, failed_reactors)},
};

typedef struct runtime_sources {
    verge_runtime *const *runtimes;
    figures figures;
} runtime_sources;

static const void *read_stats(void *context, size_t source) {
    runtime_sources *sources = context;
    sources->figures.stats.struct_size = sizeof(sources->figures.stats);
    (void)verge_runtime_get_stats(sources->runtimes[source], &sources->figures.stats);
    sources->figures.workers = sources->figures.stats.workers;
    sources->figures.failed_reactors = sources->figures.stats.failed_reactors;
    return &sources->figures;
}

int verge_runtime_metrics(verge_runtime *const *runtimes, const verge_label *const *labels, size_t runtime_count,
                          char *buffer, size_t size) {
    runtime_sources context = {.runtimes = runtimes};
    const verge__metrics_sources sources = {runtime_count, labels, read_stats, &context};
    verge__metrics_writer writer;
    const int error = verge__metrics_start(&writer, runtimes, labels, runtime_count, buffer, size);
    if (error != 0) {
        return error;
    }
    verge__metrics_fields(&writer, fields, sizeof(fields) / sizeof(fields[0]), &sources);
    return verge__metrics_finish(&writer);
}
