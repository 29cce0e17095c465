/* SPDX-License-Identifier: MIT */
/* What a scope shows of durable timers. */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/durable_internal.h"

#define SECOND_NS UINT64_C(1000000000)
#define OVERDUE_NS SECOND_NS        /* a timer that is overdue by this is listed */
#define LOOKS_ON_NS (5 * SECOND_NS) /* for so long after a look of scope, the keeper reads what the panel shows */

enum {
    TROUBLED_MAX = 32, /* how many overdue timers are listed, and how many dead ones */
    NODES_MAX = 32,    /* nodes that are shown, each with a line of its own */
    RANGES_SIZE = 800  /* enough for the ranges of any set of shards */
};

/* For the figures of the last seconds, time is cut into parts. The histogram is copied when a part begins. The
 * copies of the present part and of the part before are kept. The recent values are those since the earlier copy. */
typedef struct verge__recent {
    verge_histogram part_began;
    verge_histogram last_part_began;
} verge__recent;

typedef struct verge__shown {
    verge_durable *durable;
    uint64_t part_ns; /* how long a part is */
    uint64_t part_began_ns;
    verge__recent lateness;
    verge__recent commit_time;
    uint64_t counted_ns; /* local time when `overdue` was counted */
    uint64_t overdue;
    char names[NODES_MAX][96];
    char texts[NODES_MAX][RANGES_SIZE + 64];
    struct {
        char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
        char text[VERGE_DURABLE_KEY_MAX + 256];
    } timers[2 * TROUBLED_MAX];
} verge__shown;

/* Under the lock. The store counts as answering if the next renewal of the lease is not late by a second. The last
 * renewal was at most about wait_ns before renew_at_ns (plan_renewal in keeper.c). So the lease lasts until at least
 * about lease_ns - wait_ns after renew_at_ns. */
static void get_lease(const verge_durable *durable, bool *ret_answers, uint64_t *ret_left_ns) {
    const uint64_t now_ns = verge__local_now(durable), lease_ns = durable->options.lease_ns;
    const uint64_t wait_ns = durable->options.rescan_ns < lease_ns / 3 ? durable->options.rescan_ns : lease_ns / 3;
    const uint64_t ends_ns = durable->keeper.renew_at_ns + lease_ns - wait_ns;
    *ret_answers = now_ns < durable->keeper.renew_at_ns + SECOND_NS;
    *ret_left_ns = durable->keeper.renew_at_ns == 0 || now_ns >= ends_ns ? 0 : ends_ns - now_ns;
}

/* ---- figures of the last seconds ---- */

/* Begins a new part. If is_on_time is false, nobody has looked for a while: recent values are those from now on. */
static void begin_part(verge__recent *recent, const verge_histogram *now, bool is_on_time) {
    recent->last_part_began = is_on_time ? recent->part_began : *now;
    recent->part_began = *now;
}

static void get_recent(const verge__recent *recent, const verge_histogram *now, uint64_t *ret_median_ns,
                       uint64_t *ret_99_ns) {
    verge_histogram difference = {0};
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper_ns = 0, count = 0, before = 0;
        (void)verge_histogram_bucket(now, i, &upper_ns, &count);
        (void)verge_histogram_bucket(&recent->last_part_began, i, NULL, &before);
        verge_histogram_record(&difference, upper_ns, count - before);
    }
    *ret_median_ns = verge_histogram_quantile(&difference, 0.5);
    *ret_99_ns = verge_histogram_quantile(&difference, 0.99);
}

typedef struct verge__times {
    uint64_t late_median_ns, late_99_ns, commit_median_ns, commit_99_ns;
} verge__times;

static void get_times(verge__shown *shown, verge__times *times) {
    const uint64_t now_ns = verge__local_now(shown->durable), passed_ns = now_ns - shown->part_began_ns;
    verge_histogram lateness = {0}, commit_time = {0};
    (void)verge_durable_get_histograms(shown->durable, &lateness, &commit_time);
    if (passed_ns >= shown->part_ns) {
        begin_part(&shown->lateness, &lateness, passed_ns < 2 * shown->part_ns);
        begin_part(&shown->commit_time, &commit_time, passed_ns < 2 * shown->part_ns);
        shown->part_began_ns = now_ns;
    }
    get_recent(&shown->lateness, &lateness, &times->late_median_ns, &times->late_99_ns);
    get_recent(&shown->commit_time, &commit_time, &times->commit_median_ns, &times->commit_99_ns);
}

/* ---- the backlog ---- */

/* Under the lock. Counts overdue timers in memory, at most once a second, since a hundred thousand of them take most of
 * a millisecond. */
static void count_overdue(verge__shown *shown) {
    const verge__window *window = &shown->durable->window;
    const uint64_t now_ns = verge__local_now(shown->durable), store_ns = verge__store_now(shown->durable);
    if (shown->counted_ns != 0 && now_ns - shown->counted_ns < SECOND_NS) {
        return;
    }
    shown->counted_ns = now_ns;
    shown->overdue = 0;
    for (uint32_t i = 0; i < window->hint_count; i++) {
        const verge__hint *hint = &window->hints[i];
        shown->overdue += hint->state != VERGE__HINT_FREE && hint->due_ns <= store_ns;
    }
}

/* ---- owners of shards ---- */

static int read_owners(verge_durable *durable) {
    uint64_t dead_count = 0;
    verge_durable_owner *owners = calloc(VERGE_DURABLE_SHARDS_MAX, sizeof(*owners));
    const int found = owners == NULL ? -ENOMEM
                                     : durable->store->owners(durable->keeper.connection, owners,
                                                              VERGE_DURABLE_SHARDS_MAX, &dead_count);
    if (found >= 0) {
        verge__lock(durable);
        verge_durable_owner *before = durable->shown.owners;
        durable->shown.owners = owners;
        durable->shown.owner_count = (size_t)found;
        durable->shown.dead_count = dead_count;
        verge__unlock(durable);
        owners = before;
    }
    free(owners);
    return found < 0 ? found : 0;
}

/* ---- timers that are overdue or dead ---- */

typedef struct verge__overdue {
    verge_durable_info *infos;
    size_t count;
} verge__overdue;

static void visit_overdue(void *context, const verge__row *row) {
    verge__overdue *overdue = context;
    verge_durable_info *info = &overdue->infos[overdue->count++];
    *info = (verge_durable_info){.id = row->id, .due_ns = row->due_ns};
    (void)snprintf(info->handler, sizeof(info->handler), "%s", row->handler);
}

/* Reads overdue timers of this node's shards, even if their handlers are not registered here, and dead timers of all
 * shards. */
static int read_troubled(verge_durable *durable) {
    verge__shard shards[VERGE_DURABLE_SHARDS_MAX];
    verge__overdue overdue = {.infos = calloc((size_t)2 * TROUBLED_MAX, sizeof(verge_durable_info))};
    if (overdue.infos == NULL) {
        return -ENOMEM;
    }
    verge__lock(durable);
    const uint32_t shard_count = durable->owned_count;
    const uint64_t now_ns = verge__store_now(durable);
    memcpy(shards, durable->owned, shard_count * sizeof(*shards));
    verge__unlock(durable);
    const uint64_t until_ns = now_ns > OVERDUE_NS ? now_ns - OVERDUE_NS : 0;
    const int error = shard_count == 0 ? 0
                                       : durable->store->scan(durable->keeper.connection, shards, shard_count, 0, 0,
                                                              until_ns, TROUBLED_MAX, visit_overdue, &overdue);
    const int found = error != 0 ? error
                                 : durable->store->list(durable->keeper.connection, true, 0,
                                                        overdue.infos + overdue.count, TROUBLED_MAX);
    if (found >= 0) {
        verge__lock(durable);
        verge_durable_info *before = durable->shown.troubled;
        durable->shown.troubled = overdue.infos;
        durable->shown.troubled_count = overdue.count + (size_t)found;
        verge__unlock(durable);
        overdue.infos = before;
    }
    free(overdue.infos);
    return found < 0 ? found : 0;
}

int verge__read_shown(verge_durable *durable) {
    verge__lock(durable);
    const bool is_wanted =
        durable->shown.looked_ns != 0 && verge__local_now(durable) - durable->shown.looked_ns < LOOKS_ON_NS;
    verge__unlock(durable);
    int error = is_wanted ? read_owners(durable) : 0;
    if (is_wanted && error == 0) {
        error = read_troubled(durable);
    }
    return verge__is_lost(error) ? error
                                 : 0; /* other errors are ignored: the lease is more important than this panel */
}

/* Writes, for example: "timer 4711, key customer 7, died 12 s ago, after 3 attempts: its handler said so" */
static void describe_timer(const verge_durable_info *info, uint64_t store_ns, char *text, size_t size) {
    char key[VERGE_DURABLE_KEY_MAX + 8] = "";
    if (info->key_size > 0) {
        (void)snprintf(key, sizeof(key), ", key ");
        memcpy(key + strlen(", key "), info->key, info->key_size);
        for (size_t i = strlen(", key "); i < info->key_size + strlen(", key "); i++) {
            if (key[i] == '\0') {
                key[i] = '?';
            }
        }
    }
    const bool is_dead = info->died_ns != 0;
    const uint64_t since_ns = is_dead ? info->died_ns : info->due_ns;
    (void)snprintf(text, size, "timer %" PRIu64 "%s, %s %" PRIu64 " s ago", info->id, key, is_dead ? "died" : "due",
                   store_ns > since_ns ? (store_ns - since_ns) / SECOND_NS : 0);
    if (is_dead) {
        const size_t length = strlen(text);
        (void)snprintf(text + length, size - length, ", after %u attempts: %s", info->attempt, info->reason);
    }
}

static size_t list(void *context, verge_scope_item *ret_items, size_t count) {
    verge__shown *shown = context;
    verge_durable *durable = shown->durable;
    verge__lock(durable);
    const uint64_t store_ns = verge__store_now(durable);
    const size_t listed = durable->shown.troubled_count < count ? durable->shown.troubled_count : count;
    for (size_t i = 0; i < listed; i++) {
        const verge_durable_info *info = &durable->shown.troubled[i];
        const bool is_dead = info->died_ns != 0;
        describe_timer(info, store_ns, shown->timers[i].text, sizeof(shown->timers[i].text));
        memcpy(shown->timers[i].handler, info->handler, sizeof(info->handler));
        ret_items[i] = (verge_scope_item){
            .id = info->id,
            .group = is_dead ? "Dead timers" : "Overdue timers of this node",
            .name = shown->timers[i].handler,
            .text = shown->timers[i].text,
            .actions = {is_dead ? "retry" : "cancel", is_dead ? "forget" : NULL},
        };
    }
    verge__unlock(durable);
    return listed;
}

static int act(void *context, uint64_t id, const char *action) {
    const verge__shown *shown = context;
    const int error = strcmp(action, "retry") == 0    ? verge_durable_retry(shown->durable, id)
                      : strcmp(action, "forget") == 0 ? verge_durable_forget(shown->durable, id)
                      : strcmp(action, "cancel") == 0 ? verge_durable_cancel(shown->durable, id)
                                                      : -EINVAL;
    verge__note_control(shown->durable); /* makes the keeper read the list again now */
    return error;
}

static bool has_shard(const verge_durable_owner *owner, uint32_t shard) {
    return shard < VERGE_DURABLE_SHARDS_MAX && (owner->shards[shard / 8] >> shard % 8 & 1) != 0;
}

/* Writes the shards of an owner as text, such as "0-3, 7, 9-11". */
static void write_ranges(const verge_durable_owner *owner, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t first = 0; first < VERGE_DURABLE_SHARDS_MAX && length + 12 < size; first++) {
        uint32_t last = first;
        if (!has_shard(owner, first)) {
            continue;
        }
        while (has_shard(owner, last + 1)) {
            last++;
        }
        const char *comma = length == 0 ? "" : ", ";
        length += (size_t)(last > first ? snprintf(text + length, size - length, "%s%u-%u", comma, first, last)
                                        : snprintf(text + length, size - length, "%s%u", comma, first));
        first = last;
    }
}

static void describe(verge__shown *shown, size_t line, const verge_durable_owner *owner) {
    const uint64_t store_ns = verge__store_now(shown->durable);
    const bool is_this = owner->node == shown->durable->node;
    char ranges[RANGES_SIZE];
    write_ranges(owner, ranges, sizeof(ranges));
    if (owner->node == 0) {
        (void)snprintf(shown->names[line], sizeof(shown->names[line]), "nobody");
    } else if (owner->name[0] == '\0') {
        (void)snprintf(shown->names[line], sizeof(shown->names[line]), "node %" PRIu64 "%s", owner->node,
                       is_this ? " (this node)" : "");
    } else {
        (void)snprintf(shown->names[line], sizeof(shown->names[line]), "%s%s", owner->name,
                       is_this ? " (this node)" : "");
    }
    if (owner->lease_until_ns > store_ns) {
        (void)snprintf(shown->texts[line], sizeof(shown->texts[line]), "lease left %.1f s; shards %s",
                       (double)(owner->lease_until_ns - store_ns) / (double)SECOND_NS, ranges);
    } else {
        (void)snprintf(shown->texts[line], sizeof(shown->texts[line]), "%sshards %s",
                       owner->node == 0 ? "" : "no lease; ", ranges);
    }
}

/* Under the lock. Writes a line for each owner: this node first, shards without an owner last. */
static size_t tell_owners(verge__shown *shown, verge_scope_figure *ret_figures, size_t count) {
    const verge_durable *durable = shown->durable;
    size_t written = 0;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < durable->shown.owner_count && written < count && written < NODES_MAX; i++) {
            const verge_durable_owner *owner = &durable->shown.owners[i];
            const int when = owner->node == durable->node ? 0 : owner->node != 0 ? 1 : 2;
            if (when == round) {
                describe(shown, written, owner);
                ret_figures[written] = (verge_scope_figure){shown->names[written], VERGE_SCOPE_PART, owner->shard_count,
                                                            durable->shard_count, shown->texts[written]};
                written++;
            }
        }
    }
    return written;
}

/* ---- all ---- */

/* Copies as many figures as there is room for, and returns how many. */
static size_t copy_figures(verge_scope_figure *to, size_t room, const verge_scope_figure *from, size_t length) {
    const size_t copied = length < room ? length : room;
    memcpy(to, from, copied * sizeof(*to));
    return copied;
}

static size_t ask(void *context, verge_scope_figure *ret_figures, size_t count) {
    verge__shown *shown = context;
    verge_durable *durable = shown->durable;
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    verge__times times = {0};
    bool answers = true;
    uint64_t left_ns = 0;
    (void)verge_durable_get_stats(durable, &stats);
    get_times(shown, &times);
    verge__lock(durable);
    durable->shown.looked_ns = verge__local_now(durable);
    get_lease(durable, &answers, &left_ns);
    count_overdue(shown);
    const uint64_t dead_count = durable->shown.dead_count;
    verge__unlock(durable);
    const verge_scope_figure keeper[] = {
        {"Store answers", VERGE_SCOPE_YES_NO, answers, 0, NULL},
        {"Lease left", VERGE_SCOPE_NS, left_ns, durable->options.lease_ns, NULL},
        {"Shards owned", VERGE_SCOPE_COUNT, stats.shards, durable->shard_count, NULL},
        {"Nodes", VERGE_SCOPE_COUNT, stats.nodes, 0, NULL},
        {"In the window", VERGE_SCOPE_COUNT, stats.window, durable->options.window_max, NULL},
        {"Overdue", VERGE_SCOPE_COUNT, shown->overdue, 0, NULL},
        {"Dead letters", VERGE_SCOPE_COUNT, dead_count, 0, NULL},
        {"Done", VERGE_SCOPE_TOTAL, stats.done, 0, NULL},
        {"Retried", VERGE_SCOPE_TOTAL, stats.retried, 0, NULL},
        {"Given up", VERGE_SCOPE_TOTAL, stats.died, 0, NULL},
        {"Late, median", VERGE_SCOPE_NS, times.late_median_ns, 0, NULL},
        {"Late, 99 %", VERGE_SCOPE_NS, times.late_99_ns, 0, NULL},
        {"Firings", VERGE_SCOPE_TOTAL, stats.firings, 0, NULL},
        {"Queries", VERGE_SCOPE_TOTAL, stats.queries, 0, NULL},
    };
    const verge_scope_figure calls[] = {
        {"Scheduled", VERGE_SCOPE_TOTAL, stats.started, 0, NULL},
        {"Cancelled", VERGE_SCOPE_TOTAL, stats.cancelled, 0, NULL},
        {"Commits", VERGE_SCOPE_TOTAL, stats.commits, 0, NULL},
        {"Commit time, median", VERGE_SCOPE_NS, times.commit_median_ns, 0, NULL},
        {"Commit time, 99 %", VERGE_SCOPE_NS, times.commit_99_ns, 0, NULL},
        {"Connections made", VERGE_SCOPE_TOTAL, stats.connects, 0, NULL},
    };
    const size_t keeper_count = durable->options.client ? 0 : sizeof(keeper) / sizeof(*keeper);
    size_t written = copy_figures(ret_figures, count, keeper, keeper_count);
    written += copy_figures(ret_figures + written, count - written, calls, sizeof(calls) / sizeof(*calls));
    verge__lock(durable);
    written += tell_owners(shown, ret_figures + written, count - written);
    verge__unlock(durable);
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
    shown->part_ns = durable->options.lease_ns < 10 * SECOND_NS ? durable->options.lease_ns / 2 : 5 * SECOND_NS;
    (void)snprintf(name, sizeof(name), "Durable: %s", durable->name);
    const verge_scope_panel_options options = {
        .struct_size = sizeof(options),
        .name = name,
        .ask = ask,
        .context = shown,
        .release = free,
        .list = list,
        .act = act,
    };
    const int error = verge_scope_add_panel(scope, &options, &panel);
    if (error != 0) {
        free(shown);
        return error;
    }
    if (ret_panel != NULL) {
        *ret_panel = panel;
    }
    return 0;
}
