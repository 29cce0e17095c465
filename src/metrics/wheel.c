/* SPDX-License-Identifier: MIT */
#include "metrics/writer.h"

#define COUNTER(field, field_help) \
    { "verge_wheel_" #field "_total", field_help, VERGE__METRICS_COUNTER, offsetof(verge_wheel_stats, field) }
#define GAUGE(field, field_help) \
    { "verge_wheel_" #field, field_help, VERGE__METRICS_GAUGE, offsetof(verge_wheel_stats, field) }

static const verge__metrics_field fields[] = {
    GAUGE(timers, "Timers that are pending."),
    COUNTER(started, "Timers that were started."),
    COUNTER(cancelled, "Timers that were cancelled."),
    COUNTER(expired, "Timers that a poll returned."),
    COUNTER(nodes_moved, "Nodes that went from a level to a lower one."),
    COUNTER(nodes_refiled, "Nodes that were filed again, mostly because their timer had been moved later."),
    COUNTER(nodes_dropped, "Idle nodes that came up or were removed."),
    GAUGE(linked, "Nodes in the slots."),
    GAUGE(idle, "Nodes in the slots that belong to no timer."),
    GAUGE(nodes, "Timers there is room for without allocating."),
    COUNTER(nodes_retired, "Nodes whose handles are used up."),
    GAUGE(bytes, "Bytes held from the allocator."),
    GAUGE(last_poll_work, "Nodes that the last poll or run moved, inspected, sorted and returned."),
};

typedef struct wheel_sources {
    verge_wheel *const *wheels;
    verge_wheel_stats stats;
} wheel_sources;

static const void *read_stats(void *context, size_t source) {
    wheel_sources *sources = context;
    sources->stats.struct_size = sizeof(sources->stats);
    (void)verge_wheel_get_stats(sources->wheels[source], &sources->stats);
    return &sources->stats;
}

int verge_wheel_metrics(verge_wheel *const *wheels, const verge_label *const *labels, size_t wheel_count, char *buffer,
                        size_t size) {
    wheel_sources context = {.wheels = wheels};
    const verge__metrics_sources sources = {wheel_count, labels, read_stats, &context};
    verge__metrics_writer writer;
    const int error = verge__metrics_start(&writer, wheels, labels, wheel_count, buffer, size);
    if (error != 0) {
        return error;
    }
    verge__metrics_fields(&writer, fields, sizeof(fields) / sizeof(fields[0]), &sources);
    return verge__metrics_finish(&writer);
}
