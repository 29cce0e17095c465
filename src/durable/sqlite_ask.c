/* SPDX-License-Identifier: MIT */
/* Statements and errors. */
#define _GNU_SOURCE

#include <errno.h>
#include <string.h>

#include "durable/schema.h"
#include "durable/sqlite_internal.h"

#define ROW_COLUMNS "id, due, attempt, revision, period, policy, handler, name, payload, rule"
#define STORE_SEEN "(SELECT max(seen) FROM verge_node)"

#define INFO_COLUMNS "id, due, attempt, period, handler, name, payload, "

static const char *const texts[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [SAVEPOINT] = "SAVEPOINT verge_handler",
    [SAVEPOINT_RELEASE] = "RELEASE verge_handler",
    [SAVEPOINT_UNDO] = "ROLLBACK TO verge_handler",
    [SEEN] = "SELECT " STORE_SEEN ", incarnation FROM verge_meta",
    [META] = "SELECT version, min_version, shards FROM verge_meta",
    [CONTRACT] = "UPDATE verge_meta SET min_version = version",
    [NEXT_INCARNATION] = "UPDATE verge_meta SET incarnation = incarnation + 1 RETURNING incarnation",
    [NODE_INSERT] = "INSERT INTO verge_node (node, name, lease_until, seen) VALUES (?1, ?2, ?3, ?4)",
    [NODE_RENEW] = "INSERT INTO verge_node (node, name, lease_until, seen) VALUES (?1, '', ?2, ?3) "
                   "ON CONFLICT (node) DO UPDATE SET lease_until = excluded.lease_until, seen = excluded.seen",
    [NODE_FORGET_OTHERS] = "DELETE FROM verge_node WHERE lease_until < ?2 AND seen < " STORE_SEEN
                           " AND node <> ?1 AND node NOT IN (SELECT owner FROM verge_shard)",
    [NODE_DELETE] = "DELETE FROM verge_node WHERE node = ?1",
    [NODES_ALIVE] = "SELECT count(*) FROM verge_node WHERE lease_until >= ?1",
    [NEXT_EXPIRY] = "SELECT min(lease_until) FROM verge_node WHERE lease_until >= ?1 AND node <> ?2",
    [SHARDS_OF] = "SELECT shard, epoch FROM verge_shard WHERE owner = ?1 ORDER BY shard",
    [SHARDS_FREE] = "SELECT shard, epoch, clean FROM verge_shard WHERE owner NOT IN "
                    "(SELECT node FROM verge_node WHERE lease_until >= ?1) ORDER BY shard LIMIT ?2",
    [SHARD_TAKE] = "UPDATE verge_shard SET owner = ?2, epoch = epoch + 1, clean = 0 WHERE shard = ?1",
    [SHARD_RELEASE] = "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = ?4 "
                      "WHERE shard = ?1 AND owner = ?2 AND epoch = ?3",
    [SHARDS_RELEASE] = "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = ?2 WHERE owner = ?1",
    [SHARD_EPOCH] = "SELECT epoch FROM verge_shard WHERE shard = ?1",
    [TIMER_INSERT] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload, rule) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
    [TIMER_REPLACE] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload, rule) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (handler, name) WHERE "
        "name IS NOT NULL DO UPDATE SET due = excluded.due, attempt = 0, running = 0, revision = revision + 1, period "
        "= CASE WHEN ?12 THEN excluded.period ELSE period END, policy = CASE WHEN ?12 THEN excluded.policy ELSE policy "
        "END, payload = CASE WHEN ?12 THEN excluded.payload ELSE payload END, rule = CASE WHEN ?12 THEN excluded.rule "
        "ELSE rule END RETURNING id",
    [TIMER_EXISTS] = "SELECT due FROM verge_timer WHERE id = ?1",
    [TIMER_ROW] = "SELECT " ROW_COLUMNS " FROM verge_timer WHERE id = ?1",
    [TIMER_DELETE] = "DELETE FROM verge_timer WHERE id = ?1",
    [TIMER_DUE] = "SELECT " ROW_COLUMNS " FROM verge_timer WHERE id = ?1 AND due <= ?2",
    [TIMER_CLAIM] = "UPDATE verge_timer SET attempt = attempt + 1, running = 1, revision = revision + 1, due = ?2 "
                    "WHERE id = ?1",
    [TIMER_COMPLETE] = "DELETE FROM verge_timer WHERE id = ?1 AND revision = ?2",
    [TIMER_EXTEND] = "UPDATE verge_timer SET due = ?3 WHERE id = ?1 AND revision = ?2",
    [TIMER_ATTEMPT] =
        "UPDATE verge_timer SET attempt = attempt + (?3 = 0 OR attempt <> ?3) WHERE id = ?1 AND due <= ?2 "
        "RETURNING attempt",
    [TIMER_CANCEL] = "DELETE FROM verge_timer WHERE id = ?1 RETURNING running, due",
    [TIMER_RESET] = "UPDATE verge_timer SET due = ?2, running = 0, revision = revision + 1 WHERE id = ?1",
    [TIMER_FIND] = "SELECT id FROM verge_timer WHERE handler = ?1 AND name = ?2",
    [DEAD_INSERT] =
        "INSERT OR REPLACE INTO verge_dead (id, due, attempt, period, policy, handler, name, payload, rule, "
        "reason, died) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [DEAD_REVIVE] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload, rule) SELECT id, id & 255, ?2, 0, 0, ?2, period, policy, handler, name, payload, rule FROM "
        "verge_dead "
        "WHERE id = ?1",
    [DEAD_DELETE] = "DELETE FROM verge_dead WHERE id = ?1 RETURNING id",
    [LOOK_TIMER] = "SELECT " INFO_COLUMNS "running, '', 0, rule FROM verge_timer WHERE id = ?1",
    [LOOK_DEAD] = "SELECT " INFO_COLUMNS "0, reason, died, rule FROM verge_dead WHERE id = ?1",
    [LIST_TIMERS] = "SELECT " INFO_COLUMNS "running, '', 0, rule FROM verge_timer WHERE id > ?1 ORDER BY id LIMIT ?2",
    [LIST_DEAD] = "SELECT " INFO_COLUMNS "0, reason, died, rule FROM verge_dead WHERE id > ?1 ORDER BY id LIMIT ?2",
    [COUNT] = "SELECT (SELECT count(*) FROM verge_timer), (SELECT count(*) FROM verge_timer WHERE due <= ?1), "
              "(SELECT count(*) FROM verge_dead)",
    [OWNERS] = VERGE__OWNERS("?1"),
    [CONTROL] = VERGE__CONTROL("?1", "?2", "?3", "?4", "?5"),
    [CONTROL_REVISION] = "SELECT coalesce(sum(revision), 0) FROM verge_control",
    [LIST_CONTROLS] = VERGE__LIST_CONTROLS("?1"),
    [PERMIT_LIMITS] = "SELECT paused, concurrency, rate, next_run FROM verge_control WHERE handler = ?1",
    [PERMIT_EXPIRE] = "DELETE FROM verge_permit WHERE handler = ?1 AND (until < ?2 OR node NOT IN (SELECT node FROM "
                      "verge_node WHERE lease_until >= ?2))",
    [PERMIT_QUEUE] = "INSERT INTO verge_permit (handler, node, slot, ticket, until) VALUES (?1, ?2, ?3, (SELECT "
                     "coalesce(max(ticket), 0) + 1 FROM verge_permit WHERE handler = ?1), ?4) "
                     "ON CONFLICT (handler, node, slot) DO UPDATE SET until = excluded.until",
    [PERMIT_BEFORE] = "SELECT count(*) FROM verge_permit WHERE handler = ?1 AND ticket < (SELECT ticket FROM "
                      "verge_permit WHERE handler = ?1 AND node = ?2 AND slot = ?3)",
    [PERMIT_RATE] = "UPDATE verge_control SET next_run = ?2 WHERE handler = ?1",
    [PERMIT_KEEP] = "UPDATE verge_permit SET until = ?4 WHERE handler = ?1 AND node = ?2 AND slot = ?3",
    [PERMIT_END] = "DELETE FROM verge_permit WHERE handler = ?1 AND node = ?2 AND slot = ?3 AND ?4 > 0",
};

/* ---- errors, statements ---- */

/* Returns the reason that SQLite's message does not name, or "" if there is nothing to add. */
static const char *reason_of(sqlite3 *db, int code) {
    const int number = db == NULL ? 0 : sqlite3_system_errno(db);
    if (code == SQLITE_READONLY) {
        return "the file, or its directory, cannot be written: SQLite needs both, also to read (WAL)";
    }
    if ((code != SQLITE_CANTOPEN && code != SQLITE_IOERR) || number == 0) {
        return "";
    }
    return number == ENOSPC ? "the disk is full" : strerror(number);
}

int verge__sq_error_of(sqlite3 *db, int code) {
    if ((code & 0xFF) != SQLITE_OK && (code & 0xFF) < SQLITE_ROW) {
        const char *path = db == NULL ? NULL : sqlite3_db_filename(db, "main"); /* empty: the file did not open */
        const bool has_path = path != NULL && path[0] != '\0';
        const char *reason = reason_of(db, code & 0xFF);
        verge__set_words("%s%s%s%s%s", has_path ? path : "", has_path ? ": " : "",
                         db == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(db), reason[0] == '\0' ? "" : ": ", reason);
    }
    switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EAGAIN;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM || sqlite3_extended_errcode(db) == SQLITE_IOERR_NOMEM) {
            return -ENOMEM;
        }
        return sqlite3_system_errno(db) == ENOSPC || sqlite3_system_errno(db) == EFBIG ? -ENOSPC : -EIO;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* no such table or column: the tables are not verge's */
    case SQLITE_SCHEMA:
        return -EPROTO;
    default:
        return -EIO;
    }
}

int verge__sq_prepare(verge__sqlite *c, const char *text, sqlite3_stmt **statement) {
    if (*statement == NULL) {
        return verge__sq_error_of(c->db,
                                  sqlite3_prepare_v3(c->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
    }
    return 0;
}

/* Prepares a statement the first time, and binds its first parameters to numbers. */
int verge__sq_bind(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                   sqlite3_stmt **ret) {
    if (verge__sq_is_undone(c) && which != ROLLBACK) {
        verge__set_words("SQLite has rolled the transaction back");
        return -EIO; /* outside of a transaction, the statement would be committed by itself */
    }
    int error = verge__sq_prepare(c, texts[which], &c->statements[which]);
    for (int i = 0; i < count && error == 0; i++) {
        error = verge__sq_error_of(c->db, sqlite3_bind_int64(c->statements[which], i + 1, values[i]));
    }
    *ret = c->statements[which];
    return error;
}

/* Returns 1 if there is another row, 0 if there is none, or a negative errno. Without another row, the statement is
 * reset and can be used again. */
int verge__sq_step(verge__sqlite *c, sqlite3_stmt *statement) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        return 1;
    }
    const int error = verge__sq_error_of(c->db, code);
    (void)sqlite3_reset(statement);
    return error;
}

/* Runs a statement to its end. *ret_first gets the first column of the first row; without a row it stays as it is.
 * ret_first may be NULL. */
int verge__sq_run(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                  int64_t *ret_first) {
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, which, values, count, &statement);
    if (error != 0) {
        return error;
    }
    while ((error = verge__sq_step(c, statement)) == 1) {
        if (ret_first != NULL) {
            *ret_first = sqlite3_column_int64(statement, 0);
            ret_first = NULL;
        }
    }
    return error;
}
