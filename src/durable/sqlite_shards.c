/* SPDX-License-Identifier: MIT */
/* The tables, and P1 (docs/DURABLE.md): nodes and shards. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>

#include "durable/schema.h"
#include "durable/sqlite_internal.h"

/* ---- the tables ---- */

int verge__sq_has_tables(verge__sqlite *c, bool *ret_has_tables) {
    sqlite3_stmt *tables = NULL;
    int code =
        sqlite3_prepare_v2(c->db, "SELECT count(*) FROM sqlite_master WHERE name = 'verge_meta'", -1, &tables, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(tables);
    }
    *ret_has_tables = code == SQLITE_ROW && sqlite3_column_int(tables, 0) > 0;
    const int error = verge__sq_error_of(c->db, code);
    (void)sqlite3_finalize(tables);
    return error;
}

int verge__sqlite_read_meta(verge__connection *connection, verge__store_meta *ret_meta) {
    verge__sqlite *c = own(connection);
    bool is_there;
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_has_tables(c, &is_there);
    if (error != 0 || !is_there) {
        return error != 0 ? error : -ENOENT;
    }
    error = verge__sq_bind(c, META, NULL, 0, &statement);
    VERGE__THEN(error, verge__sq_step(c, statement));
    if (error != 1) {
        return error == 0 ? -EPROTO : error;
    }
    *ret_meta = (verge__store_meta){
        .version = (uint32_t)sqlite3_column_int64(statement, 0),
        .min_version = (uint32_t)sqlite3_column_int64(statement, 1),
        .shard_count = (uint32_t)sqlite3_column_int64(statement, 2),
    };
    (void)sqlite3_reset(statement);
    return 0;
}

int verge__sqlite_make_tables(verge__connection *connection, uint32_t shard_count) {
    verge__sqlite *c = own(connection);
    verge__store_meta meta = {0};
    char rows[1200];
    int error = verge__sq_queue_up(c);
    if (error != 0) {
        return error;
    }
    c->was_undone = false;
    error = verge__sq_run(c, BEGIN, NULL, 0, NULL);
    const int found = error == 0 ? verge__sqlite_read_meta(connection, &meta) : error;
    if (found == -ENOENT) { /* if found is 0, the tables are older, or another process has just made them */
        (void)snprintf(rows, sizeof(rows),
                       "INSERT INTO verge_meta VALUES (%d, %d, %u, 0);"
                       "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < %u) "
                       "INSERT INTO verge_shard SELECT n, 1, 0, 1 FROM s",
                       VERGE_DURABLE_SCHEMA_VERSION, VERGE__MIN_VERSION, shard_count, shard_count);
        error =
            verge__sq_error_of(c->db, sqlite3_exec(c->db, VERGE__SCHEMA("INTEGER", "TEXT", "BLOB"), NULL, NULL, NULL));
        VERGE__THEN(error, verge__sq_error_of(c->db, sqlite3_exec(c->db, rows, NULL, NULL, NULL)));
    } else if (found == 0 && meta.version < VERGE_DURABLE_SCHEMA_VERSION) { /* version 2 is only for PostgreSQL */
        (void)snprintf(rows, sizeof(rows), "%s UPDATE verge_meta SET version = %d", VERGE__SCHEMA_3("INTEGER", "TEXT"),
                       VERGE_DURABLE_SCHEMA_VERSION);
        error = verge__sq_error_of(c->db, sqlite3_exec(c->db, rows, NULL, NULL, NULL));
    } else {
        error = found;
    }
    if (error == 0) {
        return verge__sqlite_commit(connection, 0);
    }
    verge__sqlite_rollback(connection);
    return error;
}

/* ---- P1 ---- */

/* Ends a transaction: commits if error is 0, otherwise rolls back. */
int verge__sq_end_transaction(verge__connection *connection, int error) {
    if (error == 0) {
        return verge__sqlite_commit(connection, 0);
    }
    verge__sqlite_rollback(connection);
    return error;
}

int verge__sqlite_contract(verge__connection *connection) {
    const int error = verge__sqlite_begin(connection);
    return error != 0 ? error
                      : verge__sq_end_transaction(connection, verge__sq_run(own(connection), CONTRACT, NULL, 0, NULL));
}

int verge__sqlite_new_incarnation(verge__connection *connection, uint64_t *ret_incarnation) {
    int64_t incarnation = 0;
    int error = verge__sqlite_begin(connection);
    if (error == 0) {
        error = verge__sq_end_transaction(connection,
                                          verge__sq_run(own(connection), NEXT_INCARNATION, NULL, 0, &incarnation));
    }
    if (error == 0) {
        *ret_incarnation = (uint64_t)incarnation;
    }
    return error;
}

static int insert_node(verge__sqlite *c, uint64_t node, const char *name, uint64_t lease_ns) {
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, NODE_INSERT, (const int64_t[]){number(node)}, 1, &statement);
    if (error == 0) {
        (void)sqlite3_bind_text(statement, 2, name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_int64(statement, 3, number(c->base.now_ns + lease_ns));
        (void)sqlite3_bind_int64(statement, 4, number(c->base.now_ns));
        error = verge__sq_step(c, statement);
    }
    return error;
}

int verge__sqlite_join(verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t node) {
    verge__sqlite *c = own(connection);
    if (lease_ns == 0) {
        return verge__sq_read_time(c);
    }
    const int error = verge__sqlite_begin(connection);
    return error != 0 ? error : verge__sq_end_transaction(connection, insert_node(c, node, name, lease_ns));
}

static int read_shards(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                       verge__cluster *cluster) {
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, which, values, count, &statement);
    cluster->owned_count = 0;
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        const int64_t shard = sqlite3_column_int64(statement, 0);
        if (shard >= 0 && shard < VERGE_DURABLE_SHARDS_MAX && cluster->owned_count < VERGE_DURABLE_SHARDS_MAX) {
            cluster->owned[cluster->owned_count++] = (verge__shard){
                .shard = (uint32_t)shard,
                .epoch = (uint64_t)sqlite3_column_int64(statement, 1),
                .was_clean = sqlite3_column_count(statement) < 3 || sqlite3_column_int64(statement, 2) != 0,
                .was_careful =
                    sqlite3_column_count(statement) == 3 && sqlite3_column_int64(statement, 2) == VERGE__CLEAN_CAREFUL,
            };
        }
        error = 0;
    }
    return error;
}

int verge__sqlite_renew(verge__connection *connection, uint64_t node, uint64_t lease_ns, verge__cluster *ret_cluster) {
    verge__sqlite *c = own(connection);
    int64_t alive = 0;
    int64_t next_expiry = 0;
    int64_t control_revision = 0;
    int error = verge__sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    const int64_t now = number(c->base.now_ns);
    error = RUN(c, NODE_RENEW, NULL, number(node), now + number(lease_ns), now);
    VERGE__THEN(error, RUN(c, NODE_FORGET_OTHERS, NULL, number(node), now - number(lease_ns)));
    VERGE__THEN(error, RUN(c, NODES_ALIVE, &alive, now));
    VERGE__THEN(error, RUN(c, NEXT_EXPIRY, &next_expiry, now, number(node)));
    VERGE__THEN(error, read_shards(c, SHARDS_OF, (const int64_t[]){number(node)}, 1, ret_cluster));
    VERGE__THEN(error, verge__sq_run(c, CONTROL_REVISION, NULL, 0, &control_revision));
    ret_cluster->control_revision = (uint64_t)control_revision;
    ret_cluster->live_nodes = (uint32_t)alive;
    ret_cluster->next_expiry_ns = (uint64_t)next_expiry;
    return verge__sq_end_transaction(connection, error);
}

int verge__sqlite_acquire(verge__connection *connection, uint64_t node, uint32_t count, verge__cluster *ret_new) {
    verge__sqlite *c = own(connection);
    int error = verge__sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    error = read_shards(c, SHARDS_FREE, (const int64_t[]){number(c->base.now_ns), count}, 2, ret_new);
    for (uint32_t i = 0; i < ret_new->owned_count && error == 0; i++) {
        ret_new->owned[i].epoch++;
        error = RUN(c, SHARD_TAKE, NULL, ret_new->owned[i].shard, number(node));
    }
    return verge__sq_end_transaction(connection, error);
}

int verge__sqlite_release(verge__connection *connection, uint64_t node, const verge__shard *shards, uint32_t count,
                          bool is_careful) {
    int error = verge__sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = RUN(own(connection), SHARD_RELEASE, NULL, shards[i].shard, number(node), number(shards[i].epoch),
                    is_careful ? VERGE__CLEAN_CAREFUL : VERGE__CLEAN);
    }
    return verge__sq_end_transaction(connection, error);
}

int verge__sqlite_leave(verge__connection *connection, uint64_t node, bool is_careful) {
    int error = verge__sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    error = RUN(own(connection), SHARDS_RELEASE, NULL, number(node), is_careful ? VERGE__CLEAN_CAREFUL : VERGE__CLEAN);
    VERGE__THEN(error, RUN(own(connection), NODE_DELETE, NULL, number(node)));
    return verge__sq_end_transaction(connection, error);
}
