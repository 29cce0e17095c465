/* SPDX-License-Identifier: MIT */
#include "verge/service.h"

#include "metrics/sources.h"
#include "metrics/writer.h"
#include "service/service_internal.h"

/* The statistics; a copy of their number of workers as uint64_t, because it has another type there; and how many
 * workers are stuck now. */
typedef struct figures {
    verge_service_stats stats;
    uint64_t workers;
    uint64_t stuck_now;
} figures;

#define COUNTER(field, field_help) \
    { "verge_service_" #field "_total", field_help, VERGE__METRICS_COUNTER, offsetof(figures, stats.field) }
#define GAUGE(field, field_help) \
    { "verge_service_" #field, field_help, VERGE__METRICS_GAUGE, offsetof(figures, stats.field) }

static const verge__metrics_field fields[] = {
    GAUGE(pending, "Timers that are pending or running."),
    COUNTER(started, "Timers that were started."),
    COUNTER(fired, "Callbacks that ran."),
    COUNTER(ended, "Timers that ran for the last time."),
    COUNTER(cancelled_locally, "Timers that their own worker cancelled."),
    COUNTER(cancelled_remotely, "Timers that another thread cancelled."),
    COUNTER(reset, "Timers that were given another deadline."),
    COUNTER(migrated, "Timers that changed their worker."),
    COUNTER(rescued, "Timers that were taken from a worker that was stuck."),
    GAUGE(orphans, "Timers without a worker."),
    COUNTER(stuck, "Callbacks that ran too long."),
    GAUGE(linked, "Nodes in the slots of all wheels."),
    GAUGE(idle, "Nodes in the slots that belong to no timer."),
    COUNTER(nodes_moved, "Nodes that went from a level to a lower one."),
    COUNTER(wakeups, "Times that a sleeping worker was woken."),
    COUNTER(metronome_ticks, "Times that the metronome published the time."),
    COUNTER(clock_reads, "Times that a worker read the clock itself."),
    GAUGE(bytes, "Bytes held from the allocator."),
    {"verge_service_workers", "Workers that have joined.", VERGE__METRICS_GAUGE, offsetof(figures, workers)},
    {"verge_service_stuck_now", "Workers whose callback has been running for stuck_after_ns or longer.",
     VERGE__METRICS_GAUGE, offsetof(figures, stuck_now)},
};

typedef struct service_sources {
    verge_service *const *services;
    figures figures;
} service_sources;

static uint64_t count_stuck(const verge_service *service) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    const uint64_t now_ns = verge__service_clock(service);
    uint64_t stuck = 0;
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        const uint64_t since_ns = atomic_load_explicit(&worker->callback_since_ns, memory_order_relaxed);
        stuck += since_ns != 0 && now_ns > since_ns && now_ns - since_ns >= service->options.stuck_after_ns ? 1 : 0;
    }
    return stuck;
}

static const void *read_stats(void *context, size_t source) {
    service_sources *sources = context;
    sources->figures.stats.struct_size = sizeof(sources->figures.stats);
    (void)verge_service_get_stats(sources->services[source], &sources->figures.stats);
    sources->figures.workers = sources->figures.stats.workers;
    sources->figures.stuck_now = count_stuck(sources->services[source]);
    return &sources->figures;
}

static void write_histograms(verge__metrics_writer *writer, verge_service *const *services,
                             const verge_label *const *labels, size_t service_count, bool is_lateness) {
    const char *name = is_lateness ? "verge_service_lateness_seconds" : "verge_service_callback_seconds";
    const char *help = is_lateness ? "How late callbacks began." : "How long callbacks took.";
    if (service_count > 0) {
        verge__metrics_family(writer, name, help, VERGE__METRICS_HISTOGRAM);
    }
    for (size_t i = 0; i < service_count; i++) {
        verge_histogram histogram = {0};
        (void)verge_service_get_histograms(services[i], is_lateness ? &histogram : NULL,
                                           is_lateness ? NULL : &histogram);
        verge__metrics_histogram(writer, name, labels == NULL ? NULL : labels[i], &histogram,
                                 VERGE_METRICS_SECONDS_FROM_NS);
    }
}

int verge_service_metrics(verge_service *const *services, const verge_label *const *labels, size_t service_count,
                          bool with_sources, char *buffer, size_t size) {
    service_sources context = {.services = services};
    const verge__metrics_sources sources = {service_count, labels, read_stats, &context};
    verge__metrics_writer writer;
    int error = with_sources ? verge__metrics_check_for_sources(labels, service_count) : 0;
    if (error == 0) {
        error = verge__metrics_start(&writer, services, labels, service_count, buffer, size);
    }
    if (error != 0) {
        return error;
    }
    verge__metrics_fields(&writer, fields, sizeof(fields) / sizeof(fields[0]), &sources);
    write_histograms(&writer, services, labels, service_count, true);
    write_histograms(&writer, services, labels, service_count, false);
    if (with_sources) {
        verge__metrics_by_source(&writer, services, labels, service_count);
    }
    return verge__metrics_finish(&writer);
}
