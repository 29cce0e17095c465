/* SPDX-License-Identifier: MIT */
/* What a scope shows of durable timers. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "durable/durable_internal.h"

#define SECOND_NS UINT64_C(1000000000)
#define PART_NS (5 * SECOND_NS)

/* Lateness is told of the last 5 to 10 seconds: since the part of 5 seconds before this one began. */
typedef struct verge__shown {
    verge_durable *durable;
    uint64_t part_began_ns;
    verge_histogram part_began;
    verge_histogram last_part_began;
} verge__shown;

/* Under the lock. The store answers if the next renewal of the lease is not overdue. How long the lease lasts follows
 * from when that is: at the latest wait_ns after the last one. */
static void get_lease(const verge_durable *durable, bool *ret_answers, uint64_t *ret_left_ns) {
    const uint64_t now_ns = verge__local_now(durable), lease_ns = durable->options.lease_ns;
    const uint64_t wait_ns = durable->options.rescan_ns < lease_ns / 3 ? durable->options.rescan_ns : lease_ns / 3;
    const uint64_t ends_ns = durable->renew_at_ns + lease_ns - wait_ns;
    *ret_answers = now_ns < durable->renew_at_ns + SECOND_NS;
    *ret_left_ns = durable->renew_at_ns == 0 || now_ns >= ends_ns ? 0 : ends_ns - now_ns;
}

/* After nobody has looked for a while, what is recent begins now. */
static void turn_part(verge__shown *shown, const verge_histogram *now) {
    const uint64_t now_ns = verge__local_now(shown->durable), passed_ns = now_ns - shown->part_began_ns;
    if (passed_ns >= PART_NS) {
        shown->last_part_began = passed_ns < 2 * PART_NS ? shown->part_began : *now;
        shown->part_began = *now;
        shown->part_began_ns = now_ns;
    }
}

static void get_recent_lateness(verge__shown *shown, uint64_t *ret_median_ns, uint64_t *ret_late99_ns) {
    verge_histogram now = {0}, recent = {0};
    (void)verge_durable_get_lateness(shown->durable, &now);
    turn_part(shown, &now);
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper_ns = 0, count = 0, before = 0;
        (void)verge_histogram_bucket(&now, i, &upper_ns, &count);
        (void)verge_histogram_bucket(&shown->last_part_began, i, NULL, &before);
        verge_histogram_record_many(&recent, upper_ns, count - before);
    }
    *ret_median_ns = verge_histogram_quantile(&recent, 0.5);
    *ret_late99_ns = verge_histogram_quantile(&recent, 0.99);
}

static size_t ask(void *context, verge_scope_figure *ret_figures, size_t count) {
    verge__shown *shown = context;
    verge_durable *durable = shown->durable;
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    bool answers = true;
    uint64_t left_ns = 0, median_ns = 0, late99_ns = 0;
    (void)verge_durable_get_stats(durable, &stats);
    get_recent_lateness(shown, &median_ns, &late99_ns);
    (void)pthread_mutex_lock(&durable->lock);
    get_lease(durable, &answers, &left_ns);
    (void)pthread_mutex_unlock(&durable->lock);
    const verge_scope_figure keeper[] = {
        {"Store answers", VERGE_SCOPE_YES_NO, answers, 0},
        {"Lease left", VERGE_SCOPE_NS, left_ns, durable->options.lease_ns},
        {"Shards owned", VERGE_SCOPE_COUNT, stats.shards, durable->shard_count},
        {"Nodes", VERGE_SCOPE_COUNT, stats.nodes, 0},
        {"In the window", VERGE_SCOPE_COUNT, stats.window, durable->options.window_max},
        {"Done", VERGE_SCOPE_TOTAL, stats.done, 0},
        {"Retried", VERGE_SCOPE_TOTAL, stats.retried, 0},
        {"Dead", VERGE_SCOPE_TOTAL, stats.died, 0},
        {"Late, median", VERGE_SCOPE_NS, median_ns, 0},
        {"Late, 99 %", VERGE_SCOPE_NS, late99_ns, 0},
        {"Firings", VERGE_SCOPE_TOTAL, stats.firings, 0},
        {"Queries", VERGE_SCOPE_TOTAL, stats.queries, 0},
    };
    const verge_scope_figure calls[] = {
        {"Scheduled", VERGE_SCOPE_TOTAL, stats.scheduled, 0},
        {"Cancelled", VERGE_SCOPE_TOTAL, stats.cancelled, 0},
        {"Commits", VERGE_SCOPE_TOTAL, stats.commits, 0},
        {"Connections made", VERGE_SCOPE_TOTAL, stats.connects, 0},
    };
    size_t written = 0;
    for (size_t i = 0; !durable->options.client && i < sizeof(keeper) / sizeof(*keeper) && written < count; i++) {
        ret_figures[written++] = keeper[i];
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && written < count; i++) {
        ret_figures[written++] = calls[i];
    }
    return written;
}

int verge_durable_show(verge_durable *durable, verge_scope *scope, verge_scope_panel **ret_panel) {
    char name[96];
    verge_scope_panel *panel = NULL;
    if (durable == NULL || scope == NULL) {
        return -EINVAL;
    }
    verge__shown *shown = calloc(1, sizeof(*shown));
    if (shown == NULL) {
        return -ENOMEM;
    }
    shown->durable = durable;
    shown->part_began_ns = verge__local_now(durable);
    (void)snprintf(name, sizeof(name), "Durable: %s", durable->name);
    const int error = verge_scope_add_panel(scope, name, ask, free, shown, &panel);
    if (error != 0) {
        free(shown);
        return error;
    }
    if (ret_panel != NULL) {
        *ret_panel = panel;
    }
    return 0;
}
