/* SPDX-License-Identifier: MIT */
#include "metrics/writer.h"

#define COUNTER(field, field_help) \
    { "verge_wheel_" #field "_total", field_help, VERGE__METRICS_COUNTER, offsetof(verge_wheel_stats, field) }
#define GAUGE(field, field_help) \
    { "verge_wheel_" #field, field_help, VERGE__METRICS_GAUGE, offsetof(verge_wheel_stats, field) }

static const verge__metrics_field fields[] = {
    GAUGE(timers, "Timers that are pending."),
    COUNTER(scheduled, "Timers that were scheduled."),
    COUNTER(cancelled, "Timers that were cancelled."),
    COUNTER(expired, "Timers that a poll returned."),
    COUNTER(cleared, "Timers that were cleared."),
    COUNTER(entries_moved, "Entries that went from a level to a lower one."),
    COUNTER(entries_refiled, "Entries that came up before the later deadline of their timer."),
    COUNTER(entries_dropped, "Entries that belonged to no timer any more."),
    GAUGE(entries, "Entries in the slots."),
    GAUGE(garbage, "Entries in the slots that belong to no timer."),
    GAUGE(records, "Timers there is room for without allocating."),
    COUNTER(records_retired, "Records whose handles are used up."),
    GAUGE(bytes, "Bytes held from the allocator."),
    GAUGE(last_poll_work, "Entries that the last poll moved, inspected and returned."),
};

typedef struct wheel_sources {
    const verge_wheel *const *wheels;
    verge_wheel_stats stats;
} wheel_sources;

static const void *read_stats(void *context, size_t source) {
    wheel_sources *sources = context;
    sources->stats.struct_size = sizeof(sources->stats);
    (void)verge_wheel_get_stats(sources->wheels[source], &sources->stats);
    return &sources->stats;
}

int verge_wheels_metrics(const verge_wheel *const *wheels, const verge_label *const *labels, size_t wheel_count,
                         char *buffer, size_t size) {
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

int verge_wheel_metrics(const verge_wheel *wheel, const verge_label *labels, char *buffer, size_t size) {
    return verge_wheels_metrics(&wheel, &labels, 1, buffer, size);
}
