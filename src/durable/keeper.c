/* SPDX-License-Identifier: MIT */
/* The keeper: leases and shards (P1), the window (P2). */
#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "durable/durable_internal.h"

#define FAILED_NAP_NS UINT64_C(100000000)

/* ---- P1: shards ---- */

static void own_shard(verge_durable *durable, const verge__shard *shard) {
    if (shard->shard < durable->shard_count && durable->owned_count < VERGE_DURABLE_SHARDS_MAX) {
        durable->epochs[shard->shard] = shard->epoch;
        durable->owned[durable->owned_count++] = *shard;
    }
}

/* What the store says we own is what we own. */
static void note_cluster(verge_durable *durable, const verge__cluster *cluster) {
    bool has_lost = false;
    uint64_t before[VERGE_DURABLE_SHARDS_MAX];
    memcpy(before, durable->epochs, sizeof(before));
    memset(durable->epochs, 0, sizeof(durable->epochs));
    durable->owned_count = 0;
    durable->live_nodes = cluster->live_nodes == 0 ? 1 : cluster->live_nodes;
    for (uint32_t i = 0; i < cluster->owned_count; i++) {
        own_shard(durable, &cluster->owned[i]);
    }
    for (uint32_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        has_lost |= before[i] != 0 && durable->epochs[i] == 0;
        durable->scan_now |= before[i] == 0 && durable->epochs[i] != 0;
    }
    if (has_lost) {
        verge__window_drop_foreign(durable);
    }
}

static void note_acquired(verge_durable *durable, const verge__cluster *acquired) {
    for (uint32_t i = 0; i < acquired->owned_count; i++) {
        own_shard(durable, &acquired->owned[i]);
        durable->scan_now = true;
        if (!acquired->owned[i].was_clean) {
            durable->is_careful = true;
            durable->batch_limit = 1;
        }
    }
}

/* Other nodes have less than their share: gives back what is above ours. Nothing of it is fired from here on; what is
 * being fired is waited for by the store, whose row of the shard is locked. */
static int release_surplus(verge_durable *durable, uint32_t share) {
    verge__shard surplus[VERGE_DURABLE_SHARDS_MAX];
    uint32_t count = 0;
    (void)pthread_mutex_lock(&durable->lock);
    while (durable->owned_count > share) {
        surplus[count] = durable->owned[--durable->owned_count];
        durable->epochs[surplus[count].shard] = 0;
        count++;
    }
    if (count > 0) {
        verge__window_drop_foreign(durable);
    }
    (void)pthread_mutex_unlock(&durable->lock);
    return count == 0 ? 0 : durable->store->release(durable->keeper_connection, durable->node, surplus, count);
}

static int tend_shards(verge_durable *durable, uint64_t *ret_next_expiry_ns) {
    verge__cluster cluster;
    verge__connection *connection = durable->keeper_connection;
    int error = durable->store->renew(connection, durable->node, durable->options.lease_ns, &cluster);
    if (error != 0) {
        return error;
    }
    *ret_next_expiry_ns = cluster.next_expiry_ns;
    verge__failpoint("renew.done");
    (void)pthread_mutex_lock(&durable->lock);
    verge__note_time(durable, connection);
    note_cluster(durable, &cluster);
    const uint32_t share = (durable->shard_count + durable->live_nodes - 1) / durable->live_nodes;
    const uint32_t owned_count = durable->owned_count;
    (void)pthread_mutex_unlock(&durable->lock);
    if (owned_count < share) {
        error = durable->store->acquire(connection, durable->node, share - owned_count, &cluster);
        if (error != 0) {
            return error;
        }
        verge__failpoint("acquire.done");
        (void)pthread_mutex_lock(&durable->lock);
        note_acquired(durable, &cluster);
        (void)pthread_mutex_unlock(&durable->lock);
    } else {
        error = release_surplus(durable, share);
        verge__failpoint("release.done");
    }
    return error;
}

/* The next renewal is soon enough for the lease, and looks for the shards of a node at the moment its lease is over. */
static void plan_renewal(verge_durable *durable, uint64_t next_expiry_ns) {
    uint64_t wait_ns = durable->options.lease_ns / 3;
    if (durable->options.rescan_ns < wait_ns) {
        wait_ns = durable->options.rescan_ns;
    }
    const uint64_t store_ns = verge__store_now(durable);
    if (next_expiry_ns > store_ns && next_expiry_ns - store_ns < wait_ns) {
        wait_ns = next_expiry_ns - store_ns + durable->options.precision_ns;
    }
    durable->renew_at_ns = verge__local_now(durable) + wait_ns;
}

static int tend_shards_in_time(verge_durable *durable) {
    if (verge__local_now(durable) < durable->renew_at_ns) {
        return 0;
    }
    uint64_t next_expiry_ns = 0;
    int error = tend_shards(durable, &next_expiry_ns);
    error = error != 0 ? error : verge__refresh_incarnation(durable, durable->keeper_connection);
    error = error != 0 ? error : verge__read_owners(durable);
    if (error == 0) {
        (void)pthread_mutex_lock(&durable->lock);
        plan_renewal(durable, next_expiry_ns);
        (void)pthread_mutex_unlock(&durable->lock);
    }
    return error;
}

/* ---- P2: the window ---- */

enum { FOUND_MAX = 256 };

typedef struct verge__page {
    verge_durable *durable;
    uint32_t handler_count; /* when it began: those that come later ask for another scan */
    uint32_t rows;
    uint64_t last_due_ns;
    uint64_t last_id;
    uint32_t unknown; /* rows */
    uint32_t found_count;
    struct {
        uint64_t id;
        uint64_t due_ns;
        uint32_t handler;
    } found[FOUND_MAX]; /* for the window */
} verge__page;

static void add_found(verge__page *page) {
    verge_durable *durable = page->durable;
    (void)pthread_mutex_lock(&durable->lock);
    durable->stats.unknown += page->unknown;
    for (uint32_t i = 0; i < page->found_count; i++) {
        if (durable->epochs[verge__shard_of(page->found[i].id)] != 0) {
            verge__window_add(durable, page->found[i].id, page->found[i].due_ns, page->found[i].handler);
        }
    }
    (void)pthread_mutex_unlock(&durable->lock);
    page->found_count = page->unknown = 0;
}

static void visit_row(void *context, const verge__row *row) {
    verge__page *page = context;
    page->rows++;
    page->last_due_ns = row->due_ns;
    page->last_id = row->id;
    uint32_t handler = 0; /* handlers stay where they are */
    while (handler < page->handler_count && strcmp(page->durable->handlers[handler].name, row->handler) != 0) {
        handler++;
    }
    if (handler == page->handler_count) {
        page->unknown++;
        return;
    }
    page->found[page->found_count].id = row->id;
    page->found[page->found_count].due_ns = row->due_ns;
    page->found[page->found_count].handler = handler;
    if (++page->found_count == FOUND_MAX) {
        add_found(page);
    }
}

static void visit_notified(void *context, const verge__row *row) {
    verge__page *page = context;
    if (row->handler[0] == '\0') { /* it was moved, and only a scan knows its handler */
        (void)pthread_mutex_lock(&page->durable->lock);
        page->durable->scan_now |= page->durable->epochs[verge__shard_of(row->id)] != 0;
        (void)pthread_mutex_unlock(&page->durable->lock);
        return;
    }
    (void)pthread_mutex_lock(&page->durable->lock);
    page->handler_count = page->durable->handler_count;
    (void)pthread_mutex_unlock(&page->durable->lock);
    visit_row(context, row);
    add_found(page);
}

/* Notifications may be missed from now on. */
static void lose_connection(verge_durable *durable) {
    verge__disconnect(durable, &durable->keeper_connection);
    durable->scan_at_ns = durable->scan_all_at_ns = 0;
}

/* Waits, and hears of timers that other nodes have scheduled. */
static void wait(verge_durable *durable, uint64_t wait_ns) {
    verge__page page = {.durable = durable};
    verge__connection *connection = durable->keeper_connection;
    uint64_t ignored;
    if (connection == NULL) {
        struct pollfd fd = {.fd = durable->wake_fd, .events = POLLIN};
        (void)poll(&fd, 1, (int)(wait_ns / 1000000) + 1);
    } else if (durable->store->wait(connection, durable->wake_fd, wait_ns, visit_notified, &page) != 0) {
        lose_connection(durable);
    }
    (void)!read(durable->wake_fd, &ignored, sizeof(ignored));
}

/* While somebody holds a snapshot, the server keeps the rows that were fired, and a scan of all rows has to pass them:
 * a second for two or three million. If it takes long, such scans are made for one part in SCAN_SHARE of the time only.
 * Those in between begin a little before now: of what else is overdue, a notification tells. And it is made in pieces,
 * with a rest after each, in which the lease is renewed and notifications are heard. */
typedef enum verge__scan_from {
    FROM_THE_FIRST,
    FROM_RECENT,
    FROM_THE_CUT, /* the window was full */
} verge__scan_from;

#define SCAN_SHARE 100
#define SCAN_REST 4   /* times as long as the piece has taken */
#define PIECE_AGES 16 /* a piece is as wide as one part in so many of its age */
#define PIECE_MIN_NS UINT64_C(2000000000)
#define PIECE_AGE_MAX_NS UINT64_C(86400000000000)

/* Where the piece ends that begins after this time. */
static uint64_t piece_end(const verge_durable *durable, uint64_t after_ns, uint64_t now_ns, uint64_t until_ns) {
    const uint64_t age_ns = now_ns > after_ns ? now_ns - after_ns : 0;
    const uint64_t wide_ns = age_ns / PIECE_AGES > PIECE_MIN_NS ? age_ns / PIECE_AGES : PIECE_MIN_NS;
    if (!durable->is_scan_slow || age_ns <= wide_ns) {
        return until_ns;
    }
    return age_ns > PIECE_AGE_MAX_NS ? now_ns - PIECE_AGE_MAX_NS : after_ns + wide_ns;
}

/* Under the lock: the last row that is left out. */
static void begin_page(verge_durable *durable, verge__scan_from from, uint64_t now_ns, verge__page *page) {
    verge__window *window = &durable->window;
    const uint64_t back_ns = durable->options.rescan_ns / 2;
    if (from == FROM_RECENT && now_ns > back_ns) {
        page->last_due_ns = now_ns - back_ns;
    }
    const bool is_cut_before = from == FROM_RECENT && window->cut_due_ns <= page->last_due_ns;
    if (window->is_cut && (from == FROM_THE_CUT || is_cut_before)) {
        page->last_due_ns = window->cut_due_ns;
        page->last_id = window->cut_id - 1;
    }
    window->is_cut = false;
}

/* After a piece. */
static int rest(verge_durable *durable, uint64_t took_ns) {
    const int error = tend_shards_in_time(durable);
    if (error == 0 && durable->is_scan_slow) {
        wait(durable, took_ns * SCAN_REST);
    }
    return error != 0 ? error : durable->keeper_connection == NULL ? -EHOSTUNREACH : 0;
}

/* Reads the window. *ret_took_ns: how long the store was busy with it. */
static int scan(verge_durable *durable, verge__scan_from from, uint64_t *ret_took_ns) {
    verge__shard shards[VERGE_DURABLE_SHARDS_MAX];
    verge__window *window = &durable->window;
    verge__page page = {.durable = durable};
    (void)pthread_mutex_lock(&durable->lock);
    page.handler_count = durable->handler_count;
    const uint32_t shard_count = durable->owned_count;
    memcpy(shards, durable->owned, shard_count * sizeof(shards[0]));
    /* Set before the store is asked: timers that are committed from now on are put into the window by the thread that
     * commits them. */
    const uint64_t now_ns = verge__store_now(durable);
    const uint64_t until_ns = now_ns + durable->options.horizon_ns;
    durable->read_until_ns = until_ns;
    begin_page(durable, from, now_ns, &page);
    (void)pthread_mutex_unlock(&durable->lock);
    bool is_over = shard_count == 0;
    int error = 0;
    *ret_took_ns = 0;
    while (!is_over && error == 0) {
        const uint64_t asked_ns = verge__local_now(durable);
        const uint64_t end_ns = piece_end(durable, page.last_due_ns, now_ns, until_ns);
        page.rows = 0;
        error = durable->store->scan(durable->keeper_connection, shards, shard_count, page.last_due_ns, page.last_id,
                                     end_ns, durable->scan_rows, visit_row, &page);
        add_found(&page);
        if (page.rows < durable->scan_rows) {
            page.last_due_ns = end_ns;
            page.last_id = VERGE__TIME_MAX_NS;
        }
        (void)pthread_mutex_lock(&durable->lock);
        verge__note_time(durable, durable->keeper_connection);
        is_over = window->is_cut || durable->is_ending || (page.rows < durable->scan_rows && end_ns == until_ns);
        (void)pthread_mutex_unlock(&durable->lock);
        const uint64_t took_ns = verge__local_now(durable) - asked_ns;
        *ret_took_ns += took_ns;
        error = error != 0 || is_over ? error : rest(durable, took_ns);
    }
    if (error != 0) { /* what was not read is to be read again */
        (void)pthread_mutex_lock(&durable->lock);
        durable->scan_now = true;
        (void)pthread_mutex_unlock(&durable->lock);
    }
    verge__failpoint("scan.done");
    return error;
}

static void plan_scan_of_all(verge_durable *durable, uint64_t took_ns, int error) {
    if (took_ns > durable->options.lease_ns / 16) {
        durable->is_scan_slow = true;
    } else if (error == 0 && took_ns < durable->options.lease_ns / 64) {
        durable->is_scan_slow = false;
    }
    if (error == 0) {
        const bool is_dear = took_ns > durable->options.rescan_ns / 8;
        durable->scan_all_at_ns = is_dear ? verge__local_now(durable) + took_ns * SCAN_SHARE : 0;
    }
}

/* ---- the step ---- */

static int keep(verge_durable *durable) {
    int error = verge__connect(durable, &durable->keeper_connection);
    if (error != 0) {
        return error;
    }
    error = tend_shards_in_time(durable);
    if (error != 0) {
        return error;
    }
    (void)pthread_mutex_lock(&durable->lock);
    const uint64_t now_ns = verge__local_now(durable);
    const bool is_time = now_ns >= durable->scan_at_ns;
    const bool is_wanted = durable->scan_now;
    const bool has_room = durable->window.is_cut && durable->window.count < durable->options.window_max / 2;
    durable->scan_now = false;
    (void)pthread_mutex_unlock(&durable->lock);
    uint64_t took_ns;
    const bool may_be_recent = durable->store->has_notifications && now_ns < durable->scan_all_at_ns;
    if (is_wanted || (is_time && !may_be_recent)) {
        error = scan(durable, FROM_THE_FIRST, &took_ns);
        plan_scan_of_all(durable, took_ns, error);
    } else if (is_time) {
        error = scan(durable, FROM_RECENT, &took_ns);
    } else if (has_room) {
        error = scan(durable, FROM_THE_CUT, &took_ns);
    }
    if (error == 0 && (is_time || is_wanted)) {
        durable->scan_at_ns = now_ns + durable->options.rescan_ns;
    }
    return error;
}

uint64_t verge__keeper_step(verge_durable *durable, int *ret_error) {
    const int error = keep(durable);
    if (ret_error != NULL) {
        *ret_error = error;
    }
    if (verge__is_lost(error)) {
        lose_connection(durable);
    }
    if (error != 0) {
        return FAILED_NAP_NS;
    }
    (void)pthread_mutex_lock(&durable->lock);
    durable->stats.queries = durable->keeper_connection->query_count;
    const uint64_t now_ns = verge__local_now(durable);
    uint64_t next_ns = durable->renew_at_ns < durable->scan_at_ns ? durable->renew_at_ns : durable->scan_at_ns;
    next_ns = durable->scan_now ? 0 : next_ns;
    (void)pthread_mutex_unlock(&durable->lock);
    return next_ns > now_ns ? next_ns - now_ns : 0;
}

void verge__keeper_leave(verge_durable *durable) {
    if (verge__connect(durable, &durable->keeper_connection) == 0) {
        (void)durable->store->leave(durable->keeper_connection, durable->node);
    }
}

void *verge__keeper_run(void *argument) {
    verge_durable *durable = argument;
    for (;;) {
        (void)pthread_mutex_lock(&durable->lock);
        const bool is_over = durable->is_ending;
        (void)pthread_mutex_unlock(&durable->lock);
        if (is_over) {
            return NULL;
        }
        const uint64_t wait_ns = verge__keeper_step(durable, NULL);
        if (wait_ns > 0) {
            wait(durable, wait_ns);
        }
    }
}
