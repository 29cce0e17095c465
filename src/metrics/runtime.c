/* SPDX-License-Identifier: MIT */
#include "verge/task.h"

#include "metrics/writer.h"

/* All that is a number, as wide as the others. */
struct statistics {
    verge_runtime_stats stats;
    uint64_t workers;
    uint64_t failed_reactors;
};

#define COUNTER(field, field_help) \
    { "verge_runtime_" #field "_total", field_help, VERGE__METRICS_COUNTER, offsetof(struct statistics, stats.field) }
#define GAUGE(field, field_help) \
    { "verge_runtime_" #field, field_help, VERGE__METRICS_GAUGE, offsetof(struct statistics, stats.field) }

static const struct verge__metrics_field fields[] = {
    GAUGE(tasks, "Tasks that exist."),
    COUNTER(spawned, "Tasks that were spawned."),
    COUNTER(switches, "Times that a task was resumed."),
    COUNTER(operations, "Operations of I/O."),
    COUNTER(timeouts, "Waiting calls that ran into a deadline, sleeps not counted."),
    COUNTER(migrated, "Tasks that changed their worker."),
    GAUGE(stacks, "Stacks that were ever in use at one time, about."),
    GAUGE(stack_resident_bytes, "Bytes of all stacks that are in memory."),
    GAUGE(stack_high_water_bytes, "Bytes of stack that the deepest task has used."),
    GAUGE(stack_size, "Bytes that a stack has."),
    {"verge_runtime_workers", "Workers that run tasks.", VERGE__METRICS_GAUGE, offsetof(struct statistics, workers)},
    {"verge_runtime_failed_reactors", "Workers for which the system does no I/O any more.", VERGE__METRICS_GAUGE,
     offsetof(struct statistics, failed_reactors)},
};

struct runtimes {
    verge_runtime *const *runtimes;
    struct statistics statistics;
};

static const void *read_stats(void *context, size_t source) {
    struct runtimes *runtimes = context;
    runtimes->statistics.stats.struct_size = sizeof(runtimes->statistics.stats);
    (void)verge_runtime_get_stats(runtimes->runtimes[source], &runtimes->statistics.stats);
    runtimes->statistics.workers = runtimes->statistics.stats.workers;
    runtimes->statistics.failed_reactors = runtimes->statistics.stats.failed_reactors;
    return &runtimes->statistics;
}

int verge_runtimes_metrics(verge_runtime *const *runtimes, const verge_label *const *labels, size_t runtime_count,
                           char *buffer, size_t size) {
    struct runtimes context = {.runtimes = runtimes};
    const struct verge__metrics_sources sources = {runtime_count, labels, read_stats, &context};
    struct verge__metrics_writer writer;
    const int error = verge__metrics_start(&writer, runtimes, labels, runtime_count, buffer, size);
    if (error != 0) {
        return error;
    }
    verge__metrics_fields(&writer, fields, sizeof(fields) / sizeof(fields[0]), &sources);
    return verge__metrics_finish(&writer);
}

int verge_runtime_metrics(verge_runtime *runtime, const verge_label *labels, char *buffer, size_t size) {
    return verge_runtimes_metrics(&runtime, &labels, 1, buffer, size);
}
