/* SPDX-License-Identifier: MIT */
/* The keeper: leases and shards (P1 in docs/DURABLE.md), the window (P2). */
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
        durable->epochs[shard->shard] = durable->last_epochs[shard->shard] = shard->epoch;
        durable->owned[durable->owned_count++] = *shard;
    }
}

/* Applies the store's answer about the shards of this node. Returns whether the node has lost a shard. The answer may
 * have shards that the node took earlier, in a call whose answer was lost. Such shards may have been a dead node's, so
 * the node becomes careful. */
static bool note_cluster(verge_durable *durable, const verge__cluster *cluster) {
    bool has_lost = false;
    uint64_t before[VERGE_DURABLE_SHARDS_MAX];
    memcpy(before, durable->epochs, sizeof(before));
    memset(durable->epochs, 0, sizeof(durable->epochs));
    durable->owned_count = 0;
    durable->live_nodes = cluster->live_nodes == 0 ? 1 : cluster->live_nodes;
    for (uint32_t i = 0; i < cluster->owned_count; i++) {
        const verge__shard *shard = &cluster->owned[i];
        if (shard->shard < durable->shard_count && shard->epoch != durable->last_epochs[shard->shard]) {
            verge__be_careful(durable);
        }
        own_shard(durable, shard);
    }
    for (uint32_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        has_lost |= before[i] != 0 && durable->epochs[i] == 0;
        durable->keeper.scan_now |= before[i] == 0 && durable->epochs[i] != 0;
    }
    if (has_lost) {
        verge__window_drop_foreign(durable);
    }
    return has_lost;
}

/* Adds the acquired shards. Returns how many of them were owned by nodes that have died. */
static uint32_t note_acquired(verge_durable *durable, const verge__cluster *acquired) {
    uint32_t of_dead = 0;
    for (uint32_t i = 0; i < acquired->owned_count; i++) {
        own_shard(durable, &acquired->owned[i]);
        durable->keeper.scan_now = true;
        if (!acquired->owned[i].was_clean || acquired->owned[i].was_careful) {
            verge__be_careful(durable);
        }
        of_dead += !acquired->owned[i].was_clean;
    }
    return of_dead;
}

/* Gives back the shards above this node's share, for nodes that have fewer. From now on, this node begins no firing of
 * timers of these shards. A transaction that is firing such timers has locked the row of their shard. On PostgreSQL, a
 * shard whose row is locked is released at a later renewal. */
static int release_surplus(verge_durable *durable, uint32_t share) {
    verge__shard surplus[VERGE_DURABLE_SHARDS_MAX];
    uint32_t count = 0;
    verge__lock(durable);
    while (durable->owned_count > share) {
        surplus[count] = durable->owned[--durable->owned_count];
        durable->epochs[surplus[count].shard] = 0;
        count++;
    }
    if (count > 0) {
        verge__window_drop_foreign(durable);
    }
    const bool is_careful = durable->is_careful;
    verge__unlock(durable);
    return count == 0 ? 0
                      : durable->store->release(durable->keeper.connection, durable->node, surplus, count, is_careful);
}

/* Takes up to count shards that have no owner, or whose owner has died. */
static int acquire_missing(verge_durable *durable, uint32_t count) {
    verge__cluster acquired;
    const int error = durable->store->acquire(durable->keeper.connection, durable->node, count, &acquired);
    if (error != 0) {
        return error;
    }
    verge__failpoint("acquire.done");
    verge__lock(durable);
    const uint32_t of_dead = note_acquired(durable, &acquired);
    verge__unlock(durable);
    if (of_dead > 0) {
        verge__log(durable, &(verge_durable_message){.event = VERGE_DURABLE_TAKEOVER},
                   "this node has taken %u shards of a node that had died. A handler may have killed it, so timers "
                   "fire one by one for a while",
                   of_dead);
    }
    return 0;
}

static int renew_and_balance(verge_durable *durable, uint64_t *ret_next_expiry_ns) {
    verge__cluster cluster;
    verge__connection *connection = durable->keeper.connection;
    const uint64_t highest = verge__highest_incarnation(durable);
    int error = durable->store->renew(connection, durable->node, durable->options.lease_ns, &cluster);
    VERGE__THEN(error, verge__read_controls(durable, cluster.control_revision)); /* before the node gets a shard */
    if (error != 0) {
        return error;
    }
    *ret_next_expiry_ns = cluster.next_expiry_ns;
    verge__failpoint("renew.done");
    verge__lock(durable);
    verge__note_time(durable, connection);
    verge__check_incarnation(durable, connection, highest);
    const bool has_lost = note_cluster(durable, &cluster);
    const uint32_t share = (durable->shard_count + durable->live_nodes - 1) / durable->live_nodes;
    const uint32_t owned_count = durable->owned_count;
    verge__unlock(durable);
    if (has_lost) {
        verge__log(durable, &(verge_durable_message){.event = VERGE_DURABLE_FENCED},
                   "other nodes have taken shards of this node: it was silent for longer than its lease (%llu ms). Its "
                   "process stood still, or the store did not answer",
                   (unsigned long long)(durable->options.lease_ns / 1000000));
    }
    if (owned_count < share) {
        return acquire_missing(durable, share - owned_count);
    }
    error = release_surplus(durable, share);
    verge__failpoint("release.done");
    return error;
}

/* Decides when to renew next: in time for the node's lease and after rescan_ns at most, or earlier if the lease of
 * another node ends before that. */
static void plan_renewal(verge_durable *durable, uint64_t next_expiry_ns) {
    uint64_t wait_ns = durable->options.lease_ns / 3;
    if (durable->options.rescan_ns < wait_ns) {
        wait_ns = durable->options.rescan_ns;
    }
    const uint64_t store_ns = verge__store_now(durable);
    if (next_expiry_ns > store_ns && next_expiry_ns - store_ns < wait_ns) {
        wait_ns = next_expiry_ns - store_ns + durable->options.precision_ns;
    }
    durable->keeper.renew_at_ns = verge__local_now(durable) + wait_ns;
}

static int tend_shards_in_time(verge_durable *durable) {
    const bool is_wanted = verge__set_flag(durable, &durable->keeper.renew_now, false);
    if (!is_wanted && verge__local_now(durable) < durable->keeper.renew_at_ns) {
        return verge__refresh_incarnation(durable, durable->keeper.connection);
    }
    uint64_t next_expiry_ns = 0;
    int error = renew_and_balance(durable, &next_expiry_ns);
    VERGE__THEN(error, verge__refresh_incarnation(durable, durable->keeper.connection));
    VERGE__THEN(error, verge__read_shown(durable));
    if (error == 0) {
        verge__lock(durable);
        plan_renewal(durable, next_expiry_ns);
        verge__unlock(durable);
    }
    return error;
}

/* ---- P2: the window ---- */

enum { FOUND_MAX = 256 };

typedef struct verge__page {
    verge_durable *durable;
    uint32_t handler_count; /* how many handlers there were when the scan began; a later one asks for another scan */
    uint32_t rows;
    uint64_t last_due_ns;
    uint64_t last_id;
    uint32_t unknown; /* rows whose handler is not registered */
    bool is_told;     /* the rows come from notifications, so they were committed just now */
    uint32_t found_count;
    struct {
        uint64_t id;
        uint64_t due_ns;
        uint32_t handler;
    } found[FOUND_MAX]; /* rows that will be put into the window */
} verge__page;

static void add_found(verge__page *page) {
    verge_durable *durable = page->durable;
    verge__lock(durable);
    durable->stats.unknown += page->unknown;
    for (uint32_t i = 0; i < page->found_count; i++) {
        if (durable->epochs[verge__shard_of(page->found[i].id)] != 0) {
            verge__window_add(durable, page->found[i].id, page->found[i].due_ns, page->found[i].handler, page->is_told);
        }
    }
    verge__unlock(durable);
    page->found_count = page->unknown = 0;
}

static void visit_row(void *context, const verge__row *row) {
    verge__page *page = context;
    page->rows++;
    page->last_due_ns = row->due_ns;
    page->last_id = row->id;
    uint32_t handler = 0; /* handlers do not move in memory */
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
    verge_durable *durable = page->durable;
    if (row->id == VERGE__NO_TIMER) {
        verge__note_control(durable);
        return;
    }
    verge__lock(durable);
    page->handler_count = durable->handler_count;
    const bool is_near = durable->epochs[verge__shard_of(row->id)] != 0 && row->due_ns <= durable->keeper.read_until_ns;
    durable->keeper.scan_now |=
        is_near && row->handler[0] == '\0'; /* the sender did not know the handler: a scan reads the row */
    verge__unlock(durable);
    if (is_near && row->handler[0] != '\0') { /* a later scan finds the rows beyond read_until_ns */
        visit_row(context, row);
        add_found(page);
    }
}

/* Disconnects. From now on notifications may be missed, so the next scan reads all rows. */
static void lose_connection(verge_durable *durable) {
    verge__disconnect(durable, &durable->keeper.connection);
    durable->keeper.scan_at_ns = durable->keeper.scan_all_at_ns = 0;
}

/* Waits, and meanwhile hears notifications about timers that others have started or moved. */
static void wait(verge_durable *durable, uint64_t wait_ns) {
    verge__page page = {.durable = durable, .is_told = true};
    verge__connection *connection = durable->keeper.connection;
    uint64_t ignored;
    if (connection == NULL) {
        struct pollfd fd = {.fd = durable->wake_fd, .events = POLLIN};
        (void)poll(&fd, 1, (int)(wait_ns / 1000000) + 1);
    } else if (durable->store->wait(connection, durable->wake_fd, wait_ns, visit_notified, &page) != 0) {
        lose_connection(durable);
    }
    (void)!read(durable->wake_fd, &ignored, sizeof(ignored));
}

/* Which rows a scan reads, and why the window misses none (D6)
 *
 * Let a row be due at d, inserted (or moved) at i, and committed at c. Scan k takes place at s(k). It reads rows that
 * are due up to R(k) = s(k) + horizon_ns; R is read_until_ns. Its first row is due at R(k - 1) or earlier.
 * Let k be the first scan with d <= R(k).
 *
 * If c <= s(k), scan k finds the row. Otherwise the window was read beyond d before the row could be seen. Then the
 * owner is told of the row:
 *   - If the thread that commits belongs to the owner of the shard, it puts the row into the window.
 *   - If another node commits, the transaction notifies the owner if d <= i + horizon_ns + lease_ns. From c > s(k)
 *     follows d <= s(k) + horizon_ns < c + horizon_ns. So this condition holds if c <= i + lease_ns. If the transaction
 *     took longer than the lease, the node that commits notifies after the commit. It also does so if the shard was its
 *     own at i, and is another's at c.
 *   - If the caller commits (`transaction` of a request), c is not known: such a transaction always notifies.
 * If d is beyond read_until_ns when the notification comes, the owner ignores it. Then scan k has not begun yet. So
 * c <= s(k), and scan k finds the row. The node hears notifications between scans and between the pieces of a scan. If
 * it has lost its connection, it may have missed some, so it scans all rows. It also scans all rows after it has got a
 * shard. All nodes of a store must have the same horizon_ns and lease_ns.
 *
 * So a scan could always begin at R(k - 1). Usually it reads all rows, from the first on. This costs little, and finds
 * rows of which nobody was told because a process died. But while somebody holds a snapshot, the server keeps the rows
 * that were fired, and a scan of all rows has to pass them. This takes a second for two or three million rows. If such
 * scans take long, they are made in pieces, with a rest after each. In the rests, the lease is renewed, notifications
 * are heard, and other scans go on. If scans of all rows take long and the store has notifications, the keeper limits
 * them: those that nobody has asked for take at most 1 / SCAN_SHARE of the time. */
typedef enum verge__scan_from {
    FROM_THE_FIRST,
    FROM_RECENT,
    FROM_LEASES_AGO, /* begins two leases ago: finds timers of which nobody was told, because a node died */
    FROM_THE_CUT,    /* after the window was full */
} verge__scan_from;

typedef struct verge__scan {
    verge__page page;
    verge__shard shards[VERGE_DURABLE_SHARDS_MAX];
    uint32_t shard_count;
    uint64_t now_ns;
    uint64_t until_ns;
    uint64_t took_ns; /* how long the store was busy with the scan */
    bool is_over;
    bool is_wanted_again; /* during a scan in pieces, another scan of all rows was asked for */
} verge__scan;

#define SCAN_SHARE 100
#define SCAN_REST 4   /* a rest takes this many times as long as the piece before it */
#define PIECE_AGES 16 /* if the rows of a piece were due t ago, the piece spans t / PIECE_AGES */
#define PIECE_MIN_NS UINT64_C(2000000000)
#define PIECE_AGE_MAX_NS UINT64_C(86400000000000) /* if the rows were due longer ago, a piece is a full page */

/* Under the lock: sets the row after which the scan begins, and removes the cuts (durable_internal.h) after that
 * row. */
static void begin_page(verge_durable *durable, verge__scan_from from, verge__scan *scan) {
    verge__page *page = &scan->page;
    if (from == FROM_RECENT || from == FROM_LEASES_AGO) {
        const uint64_t back_ns = from == FROM_RECENT ? durable->options.rescan_ns / 2 : durable->options.lease_ns * 2;
        const uint64_t recent_ns = scan->now_ns > back_ns ? scan->now_ns - back_ns : 0;
        page->last_due_ns = durable->keeper.read_until_ns < recent_ns ? durable->keeper.read_until_ns : recent_ns;
    } else if (from == FROM_THE_CUT) {
        verge__cut cut;
        (void)verge__window_find_room(durable, &cut);
        page->last_due_ns = cut.due_ns;
        page->last_id = cut.is_set ? cut.id - 1 : 0;
    }
    verge__window_uncut(durable, page->last_due_ns, page->last_id);
}

static void begin_scan(verge_durable *durable, verge__scan_from from, bool is_in_pieces, verge__scan *scan) {
    *scan = (verge__scan){.page = {.durable = durable}};
    verge__lock(durable);
    scan->page.handler_count = durable->handler_count;
    scan->shard_count = durable->owned_count;
    memcpy(scan->shards, durable->owned, scan->shard_count * sizeof(scan->shards[0]));
    scan->now_ns = verge__store_now(durable);
    begin_page(durable, from, scan);
    /* read_until_ns is set before the store is asked: from now on, a thread that commits timers puts them into the
     * window. A scan in pieces takes long, and rows after the old read_until_ns might become due meanwhile. So it ends
     * at the old read_until_ns. Scans during its rests read the later rows. */
    scan->until_ns = is_in_pieces ? durable->keeper.read_until_ns : scan->now_ns + durable->options.horizon_ns;
    durable->keeper.read_until_ns = scan->until_ns;
    scan->is_over = scan->shard_count == 0;
    verge__unlock(durable);
    if (from != FROM_THE_CUT && !is_in_pieces) {
        durable->keeper.scan_at_ns = verge__local_now(durable) + durable->options.rescan_ns;
    }
}

/* Reads one page of rows that are due by end_ns. */
static int read_page(verge_durable *durable, verge__scan *scan, uint64_t end_ns) {
    verge__page *page = &scan->page;
    const uint64_t asked_ns = verge__local_now(durable);
    page->rows = 0;
    const int error =
        durable->store->scan(durable->keeper.connection, scan->shards, scan->shard_count, page->last_due_ns,
                             page->last_id, end_ns, durable->keeper.scan_rows, visit_row, page);
    add_found(page);
    if (error == 0 && page->rows < durable->keeper.scan_rows) {
        page->last_due_ns = end_ns;
        page->last_id = VERGE__TIME_MAX_NS;
    }
    verge__lock(durable);
    verge__note_time(durable, durable->keeper.connection);
    const verge__window *window = &durable->window;
    scan->is_over = (window->cut.is_set && window->cut.due_ns <= page->last_due_ns) || durable->is_ending ||
                    (page->rows < durable->keeper.scan_rows && end_ns >= scan->until_ns);
    verge__unlock(durable);
    scan->took_ns += verge__local_now(durable) - asked_ns;
    return error;
}

static int end_scan(verge_durable *durable, const verge__scan *scan, int error, uint64_t *ret_took_ns) {
    if (error != 0 || scan->is_wanted_again) { /* the rows that were not read need another scan */
        (void)verge__set_flag(durable, &durable->keeper.scan_now, true);
    }
    *ret_took_ns = scan->took_ns;
    verge__failpoint("scan.done");
    return error;
}

static int scan_whole(verge_durable *durable, verge__scan_from from, uint64_t *ret_took_ns) {
    verge__scan scan;
    int error = 0;
    begin_scan(durable, from, false, &scan);
    while (!scan.is_over && error == 0) {
        error = read_page(durable, &scan, scan.until_ns);
        error = error != 0 || scan.is_over ? error : tend_shards_in_time(durable);
    }
    return end_scan(durable, &scan, error, ret_took_ns);
}

/* Returns up to which due time the next piece reads. */
static uint64_t piece_end(const verge__scan *scan) {
    const uint64_t after_ns = scan->page.last_due_ns;
    const uint64_t age_ns = scan->now_ns > after_ns ? scan->now_ns - after_ns : 0;
    const uint64_t wide_ns = age_ns / PIECE_AGES > PIECE_MIN_NS ? age_ns / PIECE_AGES : PIECE_MIN_NS;
    const uint64_t end_ns = age_ns > PIECE_AGE_MAX_NS ? scan->now_ns - PIECE_AGE_MAX_NS : after_ns + wide_ns;
    return age_ns <= wide_ns || end_ns > scan->until_ns ? scan->until_ns : end_ns;
}

static bool is_ending(verge_durable *durable) {
    verge__lock(durable);
    const bool is = durable->is_ending;
    verge__unlock(durable);
    return is;
}

/* If a scan of all rows is asked for during a scan in pieces (the node has got shards, say), recent rows are read now.
 * The scan of all rows comes after the pieces. */
static int tend_and_scan(verge_durable *durable, verge__scan *pieces) {
    uint64_t ignored_ns;
    int error = tend_shards_in_time(durable);
    const bool is_wanted = verge__set_flag(durable, &durable->keeper.scan_now, false);
    pieces->is_wanted_again |= is_wanted;
    if (error == 0 && (is_wanted || verge__local_now(durable) >= durable->keeper.scan_at_ns)) {
        error = scan_whole(durable, is_wanted ? FROM_LEASES_AGO : FROM_RECENT, &ignored_ns);
    }
    return error;
}

static int rest(verge_durable *durable, verge__scan *pieces, uint64_t rest_ns) {
    const uint64_t until_ns = verge__local_now(durable) + rest_ns;
    uint64_t now_ns;
    int error = tend_and_scan(durable, pieces);
    while (error == 0 && (now_ns = verge__local_now(durable)) < until_ns && !is_ending(durable)) {
        uint64_t next_ns = durable->keeper.renew_at_ns < durable->keeper.scan_at_ns ? durable->keeper.renew_at_ns
                                                                                    : durable->keeper.scan_at_ns;
        next_ns = next_ns < until_ns ? next_ns : until_ns;
        wait(durable, next_ns > now_ns ? next_ns - now_ns : 0);
        error = durable->keeper.connection == NULL ? -EHOSTUNREACH : tend_and_scan(durable, pieces);
    }
    return error;
}

static int scan_in_pieces(verge_durable *durable, verge__scan_from from, uint64_t *ret_took_ns) {
    verge__scan scan;
    int error = 0;
    begin_scan(durable, from, true, &scan);
    while (!scan.is_over && error == 0) {
        const uint64_t took_ns = scan.took_ns;
        error = read_page(durable, &scan, piece_end(&scan));
        error = error != 0 || scan.is_over ? error : rest(durable, &scan, (scan.took_ns - took_ns) * SCAN_REST);
    }
    return end_scan(durable, &scan, error, ret_took_ns);
}

static int scan_all(verge_durable *durable) {
    uint64_t took_ns = 0;
    int error;
    if (durable->keeper.is_scan_slow) {
        error = scan_whole(durable, FROM_LEASES_AGO, &took_ns);
        VERGE__THEN(error, scan_in_pieces(durable, FROM_THE_FIRST, &took_ns));
    } else {
        error = scan_whole(durable, FROM_THE_FIRST, &took_ns);
    }
    if (took_ns > durable->options.lease_ns / 16) {
        durable->keeper.is_scan_slow = true;
    } else if (error == 0 && took_ns < durable->options.lease_ns / 64) {
        durable->keeper.is_scan_slow = false;
    }
    if (error == 0) {
        const bool is_dear = took_ns > durable->options.rescan_ns / 8;
        durable->keeper.scan_all_at_ns = is_dear ? verge__local_now(durable) + took_ns * SCAN_SHARE : 0;
    }
    return error;
}

/* ---- the step ---- */

static int renew_and_scan(verge_durable *durable) {
    int error = verge__connect(durable, &durable->keeper.connection);
    if (error != 0) {
        return error;
    }
    error = tend_shards_in_time(durable);
    if (error != 0) {
        return error;
    }
    const uint64_t now_ns = verge__local_now(durable);
    const bool is_time = now_ns >= durable->keeper.scan_at_ns;
    const bool is_wanted = verge__set_flag(durable, &durable->keeper.scan_now, false);
    uint64_t ignored_ns;
    const bool may_be_recent = durable->store->has_notifications && now_ns < durable->keeper.scan_all_at_ns;
    if (is_wanted || (is_time && !may_be_recent)) {
        error = scan_all(durable);
    } else if (is_time) {
        error = scan_whole(durable, FROM_RECENT, &ignored_ns);
    }
    verge__lock(durable);
    verge__cut cut;
    const bool has_room = verge__window_find_room(durable, &cut);
    verge__unlock(durable);
    if (error == 0 && has_room) {
        error = durable->keeper.is_scan_slow ? scan_in_pieces(durable, FROM_THE_CUT, &ignored_ns)
                                             : scan_whole(durable, FROM_THE_CUT, &ignored_ns);
    }
    return error;
}

uint64_t verge__keeper_step(verge_durable *durable, int *ret_error) {
    verge__set_words("%s", "");
    const int error = renew_and_scan(durable);
    verge__note_step(durable, &durable->keeper.is_failing, error);
    if (ret_error != NULL) {
        *ret_error = error;
    }
    if (verge__is_lost(error)) {
        lose_connection(durable);
    }
    if (error != 0) {
        return FAILED_NAP_NS;
    }
    verge__lock(durable);
    durable->stats.queries += durable->keeper.connection->query_count;
    durable->keeper.connection->query_count = 0;
    const uint64_t now_ns = verge__local_now(durable);
    uint64_t next_ns = durable->keeper.renew_at_ns < durable->keeper.scan_at_ns ? durable->keeper.renew_at_ns
                                                                                : durable->keeper.scan_at_ns;
    next_ns = durable->keeper.scan_now ? 0 : next_ns;
    verge__unlock(durable);
    return next_ns > now_ns ? next_ns - now_ns : 0;
}

void verge__keeper_leave(verge_durable *durable) {
    if (verge__connect(durable, &durable->keeper.connection) == 0) {
        (void)durable->store->leave(durable->keeper.connection, durable->node, durable->is_careful);
    }
}

void *verge__keeper_run(void *argument) {
    verge_durable *durable = argument;
    while (!is_ending(durable)) {
        wait(durable, verge__keeper_step(durable, NULL)); /* hears notifications, even if it does not wait */
    }
    return NULL;
}
