/* SPDX-License-Identifier: MIT */
/* The timers: P2 to P5 (docs/DURABLE.md). */
#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "durable/sqlite_internal.h"

/* A scan needs no keys and payloads, so it does not read them. */
static const char scan_text[] = "SELECT id, due, attempt, 0, 0, 0, handler, NULL, NULL, NULL FROM verge_timer WHERE "
                                "shard = ?1 AND (due, id) > (?2, ?3) "
                                "AND due <= ?4 ORDER BY due, id";

/* ---- P2 ---- */

static int next_row(verge__sqlite *c, sqlite3_stmt *scan, verge__row *head, bool *ret_is_open) {
    const int error = verge__sq_step(c, scan);
    *ret_is_open = error == 1;
    if (*ret_is_open) {
        read_row(scan, head);
    }
    return *ret_is_open ? 0 : error;
}

/* The index begins with the shard. So there is one statement for each shard, and the rows of all are merged. */
int verge__sqlite_scan(verge__connection *connection, const verge__shard *shards, uint32_t count, uint64_t after_due_ns,
                       uint64_t after_id, uint64_t until_ns, uint32_t limit, verge__visit_row visit, void *context) {
    verge__sqlite *c = own(connection);
    verge__row heads[VERGE_DURABLE_SHARDS_MAX];
    bool is_open[VERGE_DURABLE_SHARDS_MAX] = {false};
    int error = verge__sq_read_time(c);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = verge__sq_prepare(c, scan_text, &c->scans[i]);
        if (error == 0) {
            (void)sqlite3_bind_int64(c->scans[i], 1, shards[i].shard);
            (void)sqlite3_bind_int64(c->scans[i], 2, number(after_due_ns));
            (void)sqlite3_bind_int64(c->scans[i], 3, number(after_id));
            (void)sqlite3_bind_int64(c->scans[i], 4, number(until_ns));
            error = next_row(c, c->scans[i], &heads[i], &is_open[i]);
        }
    }
    for (uint32_t rows = 0; rows < limit && error == 0; rows++) {
        uint32_t first = count;
        for (uint32_t i = 0; i < count; i++) {
            if (is_open[i] && (first == count || heads[i].due_ns < heads[first].due_ns ||
                               (heads[i].due_ns == heads[first].due_ns && heads[i].id < heads[first].id))) {
                first = i;
            }
        }
        if (first == count) {
            break;
        }
        visit(context, &heads[first]);
        error = next_row(c, c->scans[first], &heads[first], &is_open[first]);
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)sqlite3_reset(c->scans[i]);
    }
    return error;
}

int verge__sqlite_wait(verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                       void *context) {
    verge__sqlite *c = own(connection);
    (void)visit;
    (void)context;
    (void)pthread_mutex_lock(&c->file->lock);
    c->file->keeper_fd = wake_fd;
    (void)pthread_mutex_unlock(&c->file->lock);
    c->is_keeper = true;
    verge__sq_checkpoint(c);
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    (void)poll(&fd, 1, (int)(timeout_ns / 1000000) + 1);
    return 0;
}

/* ---- P3 ---- */

static int bind_tail(sqlite3_stmt *statement, int first, const verge__row *row) {
    (void)sqlite3_bind_text(statement, first, row->handler, -1, SQLITE_STATIC);
    if (row->key == NULL) {
        (void)sqlite3_bind_null(statement, first + 1);
    } else {
        (void)sqlite3_bind_blob(statement, first + 1, row->key, (int)row->key_size, SQLITE_STATIC);
    }
    const void *payload = row->payload_size == 0 ? "" : row->payload;
    const int code = sqlite3_bind_blob(statement, first + 2, payload, (int)row->payload_size, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, first + 3, row->rule, -1, SQLITE_STATIC); /* without a rule, this binds NULL */
    return code;
}

/* Finds out why a row could not be inserted: its id exists, or its key does. */
static int find_conflict(verge__sqlite *c, verge__row *row) {
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, TIMER_ROW, (const int64_t[]){number(row->id)}, 1, &statement);
    row->outcome = -EEXIST;
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        verge__row found;
        read_row(statement, &found);
        row->outcome = verge__is_same_timer(&found, row) ? 0 : VERGE__ID_TAKEN;
        row->due_ns = row->outcome == 0 ? found.due_ns : row->due_ns;
        error = 0;
    }
    return error;
}

/* For a row with on_conflict: finds out whether another timer has the id that the caller gave. */
static int find_other(verge__sqlite *c, const verge__row *row, bool *ret_is_taken) {
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, TIMER_ROW, (const int64_t[]){number(row->id)}, 1, &statement);
    *ret_is_taken = false;
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        verge__row found;
        read_row(statement, &found);
        *ret_is_taken = !verge__has_same_key(&found, row);
        error = 0;
    }
    return error;
}

static int step_replace(verge__sqlite *c, sqlite3_stmt *statement, verge__row *row) {
    const uint64_t given = row->id;
    int error = verge__sq_error_of(c->db, sqlite3_bind_int(statement, 12, row->on_conflict == VERGE_DURABLE_REPLACE));
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        row->id = (uint64_t)sqlite3_column_int64(statement, 0);
        error = 0;
    }
    row->is_moved = row->id != given;
    row->outcome = 0;
    return error == -EEXIST ? VERGE__ID_TAKEN : error;
}

int verge__sqlite_insert(verge__connection *connection, verge__row *rows, size_t count) {
    verge__sqlite *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        verge__row *row = &rows[i];
        if (row->due_is_delay) {
            row->due_ns += c->base.now_ns;
            row->due_is_delay = false;
        }
        sqlite3_stmt *statement = NULL;
        bool is_taken = false;
        int error = row->on_conflict && !row->is_new ? find_other(c, row, &is_taken) : 0;
        if (error == 0 && is_taken) {
            row->outcome = -EEXIST;
            continue;
        }
        VERGE__THEN(error, verge__sq_bind(c, row->on_conflict ? TIMER_REPLACE : TIMER_INSERT,
                                          (const int64_t[]){number(row->id), verge__shard_of(row->id),
                                                            number(row->due_ns), row->attempt, number(row->revision),
                                                            number(row->period_ns), row->policy},
                                          7, &statement));
        VERGE__THEN(error, verge__sq_error_of(c->db, bind_tail(statement, 8, row)));
        if (error == 0 && row->on_conflict) {
            error = step_replace(c, statement, row);
        } else {
            VERGE__THEN(error, verge__sq_step(c, statement));
            row->outcome = 0;
            if (error == 0 && sqlite3_changes(c->db) == 0) {
                error = find_conflict(c, row);
            }
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int verge__sqlite_notify(verge__connection *connection, const verge__row *const *rows, size_t count) {
    (void)connection;
    (void)rows;
    (void)count;
    return 0;
}

/* ---- P4 ---- */

/* The last shard whose epoch was read. The write lock keeps the epoch as it is. The answer is kept, since neighbouring
 * targets often have the same shard. */
typedef struct verge__fence {
    uint64_t shard;
    int64_t epoch;
} verge__fence;

static int check_fence(verge__sqlite *c, verge__fence *fence, const verge__target *target, bool *ret_holds) {
    if (fence->shard != verge__shard_of(target->id)) {
        fence->shard = verge__shard_of(target->id);
        fence->epoch = -1;
        const int error = RUN(c, SHARD_EPOCH, &fence->epoch, number(fence->shard));
        if (error != 0) {
            return error;
        }
    }
    *ret_holds = fence->epoch == number(target->epoch);
    return 0;
}

/* Visits each row that is due and whose shard still has the expected epoch. Then deletes it, or claims it for run_ns.
 * Two statements for a row are cheaper than one with RETURNING, for which SQLite makes a temporary table each time. */
static int take_or_claim(verge__sqlite *c, const verge__target *targets, size_t count, const uint64_t *run_ns,
                         verge__visit_row visit, void *context) {
    verge__fence fence = {.shard = UINT64_MAX};
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        bool holds = false;
        bool is_due = false;
        sqlite3_stmt *statement = NULL;
        error = check_fence(c, &fence, &targets[i], &holds);
        if (error == 0 && holds) {
            error = verge__sq_bind(c, TIMER_DUE, (const int64_t[]){number(targets[i].id), number(c->base.now_ns)}, 2,
                                   &statement);
            while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
                verge__row row;
                read_row(statement, &row);
                row.revision += run_ns != NULL;
                visit(context, &row);
                is_due = true;
                error = 0;
            }
        }
        if (error == 0 && is_due) {
            error = run_ns == NULL
                        ? RUN(c, TIMER_DELETE, NULL, number(targets[i].id))
                        : RUN(c, TIMER_CLAIM, NULL, number(targets[i].id), number(c->base.now_ns + run_ns[i]));
        }
    }
    return error;
}

int verge__sqlite_take(verge__connection *connection, const verge__target *targets, size_t count,
                       verge__visit_row visit, void *context) {
    return take_or_claim(own(connection), targets, count, NULL, visit, context);
}

int verge__sqlite_claim(verge__connection *connection, const verge__target *targets, size_t count,
                        const uint64_t *run_ns, verge__visit_row visit, void *context) {
    return take_or_claim(own(connection), targets, count, run_ns, visit, context);
}

int verge__sqlite_complete(verge__connection *connection, verge__change *changes, size_t count) {
    verge__sqlite *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        const int error = RUN(c, TIMER_COMPLETE, NULL, number(changes[i].id), number(changes[i].revision));
        if (error != 0) {
            return error;
        }
        changes[i].outcome = sqlite3_changes(c->db) == 0 ? -ENOENT : 0;
    }
    return 0;
}

int verge__sqlite_extend(verge__connection *connection, verge__change *change, uint64_t run_ns) {
    verge__sqlite *c = own(connection);
    const int error =
        RUN(c, TIMER_EXTEND, NULL, number(change->id), number(change->revision), number(c->base.now_ns + run_ns));
    change->outcome = sqlite3_changes(c->db) == 0 ? -ENOENT : 0;
    return error;
}

int verge__sqlite_count_attempt(verge__connection *connection, const verge__target *target, uint32_t *counted) {
    verge__sqlite *c = own(connection);
    verge__fence fence = {.shard = UINT64_MAX};
    int64_t attempt = *counted;
    bool holds = false;
    int error = check_fence(c, &fence, target, &holds);
    if (error == 0 && holds) {
        error = RUN(c, TIMER_ATTEMPT, &attempt, number(target->id), number(c->base.now_ns), *counted);
    }
    *counted = (uint32_t)attempt;
    return error;
}

int verge__sqlite_probe(verge__connection *connection, verge__change *changes, size_t count) {
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        int64_t due = -1;
        error = RUN(own(connection), TIMER_EXISTS, &due, number(changes[i].id));
        changes[i].outcome = due < 0 ? -ENOENT : 0;
        changes[i].due_ns = due < 0 ? 0 : (uint64_t)due;
    }
    return error;
}

int verge__sqlite_make_dead(verge__connection *connection, const verge__row *row, const char *reason) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(
        c, DEAD_INSERT,
        (const int64_t[]){number(row->id), number(row->due_ns), row->attempt, number(row->period_ns), row->policy}, 5,
        &statement);
    if (error == 0) {
        (void)bind_tail(statement, 6, row);
        (void)sqlite3_bind_text(statement, 10, reason, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 11, number(c->base.now_ns));
        error = verge__sq_step(c, statement);
    }
    return error;
}

/* ---- P5 ---- */

/* For a change by key: finds the id. If no timer has the key, the id stays 0, which no timer has. */
static int find_key(verge__connection *connection, verge__change *change) {
    if (change->key == NULL) {
        return 0;
    }
    const int error = verge__sqlite_find(connection, change->handler, change->key, change->key_size, &change->id);
    return error == -ENOENT ? 0 : error;
}

int verge__sqlite_cancel(verge__connection *connection, verge__change *changes, size_t count) {
    verge__sqlite *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = NULL;
        int error = find_key(connection, &changes[i]);
        VERGE__THEN(error, verge__sq_bind(c, TIMER_CANCEL, (const int64_t[]){number(changes[i].id)}, 1, &statement));
        changes[i].outcome = -ENOENT;
        while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
            const bool is_running =
                sqlite3_column_int64(statement, 0) != 0 && sqlite3_column_int64(statement, 1) > number(c->base.now_ns);
            changes[i].outcome = is_running ? VERGE_RUNNING : 0;
            error = 0;
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int verge__sqlite_reset(verge__connection *connection, verge__change *changes, size_t count) {
    verge__sqlite *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = NULL;
        bool is_there = false;
        bool is_running = false;
        int error = find_key(connection, &changes[i]);
        error =
            error != 0 ? error : verge__sq_bind(c, LOOK_TIMER, (const int64_t[]){number(changes[i].id)}, 1, &statement);
        while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
            is_there = true;
            is_running =
                sqlite3_column_int64(statement, 7) != 0 && sqlite3_column_int64(statement, 1) > number(c->base.now_ns);
            const char *handler = (const char *)sqlite3_column_text(statement, 4);
            error = 0;
            (void)snprintf(changes[i].handler, sizeof(changes[i].handler), "%s", handler == NULL ? "" : handler);
        }
        if (error == 0 && is_there) {
            error = RUN(c, TIMER_RESET, NULL, number(changes[i].id), number(changes[i].due_ns));
        }
        if (error != 0) {
            return error;
        }
        changes[i].outcome = !is_there ? -ENOENT : is_running ? VERGE_RUNNING : 0;
    }
    return 0;
}
