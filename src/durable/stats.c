/* SPDX-License-Identifier: MIT */
/* Statistics, also as text for Prometheus. */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "durable/durable_internal.h"

int verge_durable_get_stats(verge_durable *durable, verge_durable_stats *ret_stats) {
    if (durable == NULL) {
        return -EINVAL;
    }
    verge__lock(durable);
    verge_durable_stats stats = durable->stats;
    stats.window = durable->window.count;
    stats.shards = durable->owned_count;
    stats.nodes = durable->live_nodes;
    verge__unlock(durable);
    return verge__sized_write(ret_stats, &stats, sizeof(stats));
}

int verge_durable_get_histograms(verge_durable *durable, verge_histogram *lateness, verge_histogram *commit_time) {
    if (durable == NULL) {
        return -EINVAL;
    }
    verge__lock(durable);
    if (lateness != NULL) {
        verge_histogram_add(lateness, &durable->lateness);
    }
    if (commit_time != NULL) {
        verge_histogram_add(commit_time, &durable->commit_time);
    }
    verge__unlock(durable);
    return 0;
}

void verge__note_commit(verge_durable *durable, uint64_t began_ns) {
    const uint64_t now_ns = verge__local_now(durable);
    verge__lock(durable);
    verge_histogram_record(&durable->commit_time, now_ns - began_ns, 1);
    verge__unlock(durable);
}

typedef struct verge__family {
    const char *name;
    const char *type;
    const char *help;
    size_t offset;
} verge__family;

#define COUNTER(field, help) \
    { "verge_durable_" #field "_total", "counter", help, offsetof(verge_durable_stats, field) }
#define GAUGE(field, help) \
    { "verge_durable_" #field, "gauge", help, offsetof(verge_durable_stats, field) }

static const verge__family families[] = {
    COUNTER(started, "Timers scheduled by this node."),
    COUNTER(cancelled, "Timers cancelled by this node."),
    COUNTER(reset, "Timers moved by this node."),
    COUNTER(done, "Firings that succeeded."),
    COUNTER(retried, "Firings that are to be tried again."),
    COUNTER(died, "Timers given up."),
    COUNTER(vanished, "Timers in memory that were gone when they were to be fired."),
    COUNTER(early, "Timers that the clock of the store found not to be due yet."),
    COUNTER(fenced, "Firings refused because the shard had changed hands."),
    COUNTER(unknown, "Timers seen whose handler is not registered here."),
    COUNTER(commits, "Transactions of calls."),
    COUNTER(firings, "Transactions that fire."),
    COUNTER(queries, "Queries for leases and the window."),
    COUNTER(connects, "Connections made."),
    GAUGE(window, "Timers in memory."),
    GAUGE(shards, "Shards that this node owns."),
    GAUGE(nodes, "Nodes that are alive."),
};

static size_t write_families(const verge_durable_stats *stats, char *buffer, size_t size) {
    size_t length = 0;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const verge__family *family = &families[i];
        uint64_t value;
        memcpy(&value, (const char *)stats + family->offset, sizeof(value));
        const size_t left = length < size ? size - length : 0;
        length +=
            (size_t)snprintf(left == 0 ? NULL : buffer + length, left, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n",
                             family->name, family->help, family->name, family->type, family->name, value);
    }
    return length;
}

int verge_durable_metrics(verge_durable *durable, char *buffer, size_t size) {
    static const char *const names[][2] = {
        {"verge_durable_lateness_seconds", "How late handlers began, by store time."},
        {"verge_durable_commit_seconds", "How long the store took for a commit."},
    };
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    verge_histogram histograms[] = {{0}, {0}};
    if (buffer == NULL && size > 0) {
        return -EINVAL;
    }
    int error = verge_durable_get_stats(durable, &stats);
    if (error != 0) {
        return error;
    }
    (void)verge_durable_get_histograms(durable, &histograms[0], &histograms[1]);
    size_t length = write_families(&stats, buffer, size);
    for (size_t i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) {
        const verge_histogram *histogram = &histograms[i];
        const size_t left = length < size ? size - length : 0;
        error = verge_histogram_metrics(names[i][0], names[i][1], VERGE_METRICS_SECONDS_FROM_NS, &histogram, NULL, 1,
                                        left == 0 ? NULL : buffer + length, left);
        if (error < 0) {
            return error;
        }
        length += (size_t)error;
    }
    return (int)length;
}
