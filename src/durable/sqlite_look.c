/* SPDX-License-Identifier: MIT */
/* Calls for people and tools: find, get, list, retry, forget, count, owners, check. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "durable/schema.h"
#include "durable/sqlite_internal.h"

/* ---- for people ---- */

int verge__sqlite_find(verge__connection *connection, const char *handler, const void *key, size_t key_size,
                       uint64_t *ret_id) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    uint64_t id = 0;
    int error = verge__sq_bind(c, TIMER_FIND, NULL, 0, &statement);
    if (error == 0) {
        (void)sqlite3_bind_text(statement, 1, handler, -1, SQLITE_STATIC);
        (void)sqlite3_bind_blob(statement, 2, key, (int)key_size, SQLITE_STATIC);
    }
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        id = (uint64_t)sqlite3_column_int64(statement, 0);
        error = 0;
    }
    if (error == 0 && id != 0) {
        *ret_id = id;
    }
    return error != 0 ? error : id == 0 ? -ENOENT : 0;
}

/* A claim whose time is over does not count as running: its node has died, or its handler takes longer than run_ns. */
static void read_info(const verge__sqlite *c, sqlite3_stmt *statement, verge_durable_info *info) {
    *info = (verge_durable_info){
        .id = (uint64_t)sqlite3_column_int64(statement, 0),
        .due_ns = (uint64_t)sqlite3_column_int64(statement, 1),
        .attempt = (uint32_t)sqlite3_column_int64(statement, 2),
        .period_ns = (uint64_t)sqlite3_column_int64(statement, 3),
        .payload_size = (size_t)sqlite3_column_bytes(statement, 6),
        .died_ns = (uint64_t)sqlite3_column_int64(statement, 9),
    };
    info->is_running = sqlite3_column_int64(statement, 7) != 0 && info->due_ns > c->base.now_ns;
    info->shard = verge__shard_of(info->id);
    const char *handler = (const char *)sqlite3_column_text(statement, 4);
    const char *reason = (const char *)sqlite3_column_text(statement, 8);
    (void)snprintf(info->handler, sizeof(info->handler), "%s", handler == NULL ? "" : handler);
    (void)snprintf(info->reason, sizeof(info->reason), "%s", reason == NULL ? "" : reason);
    const char *rule = (const char *)sqlite3_column_text(statement, 10);
    (void)snprintf(info->rule, sizeof(info->rule), "%s", rule == NULL ? "" : rule);
    const void *key = sqlite3_column_blob(statement, 5);
    const int key_size = sqlite3_column_bytes(statement, 5);
    info->key_size = (uint8_t)(key_size > VERGE_DURABLE_KEY_MAX ? VERGE_DURABLE_KEY_MAX : key_size);
    if (key != NULL) {
        memcpy(info->key, key, info->key_size);
    }
}

int verge__sqlite_look(verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload,
                       size_t size) {
    verge__sqlite *c = own(connection);
    static const verge__sqlite_statement where[] = {LOOK_TIMER, LOOK_DEAD};
    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        sqlite3_stmt *statement = NULL;
        int error = verge__sq_read_time(c);
        VERGE__THEN(error, verge__sq_bind(c, where[i], (const int64_t[]){number(id)}, 1, &statement));
        VERGE__THEN(error, verge__sq_step(c, statement));
        if (error == 1) {
            read_info(c, statement, ret_info);
            const void *bytes = sqlite3_column_blob(statement, 6);
            if (bytes != NULL && payload != NULL) {
                memcpy(payload, bytes, ret_info->payload_size < size ? ret_info->payload_size : size);
            }
            (void)sqlite3_reset(statement);
            return 0;
        }
        if (error != 0) {
            return error;
        }
    }
    return -ENOENT;
}

int verge__sqlite_list(verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos,
                       size_t count) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int error = verge__sq_read_time(c);
    VERGE__THEN(error, verge__sq_bind(c, dead ? LIST_DEAD : LIST_TIMERS,
                                      (const int64_t[]){number(after), number(count)}, 2, &statement));
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        read_info(c, statement, &ret_infos[found++]);
        error = 0;
    }
    return error != 0 ? error : found;
}

int verge__sqlite_forget(verge__connection *connection, uint64_t id) {
    int64_t found = 0;
    const int error = RUN(own(connection), DEAD_DELETE, &found, number(id));
    return error != 0 ? error : found == 0 ? -ENOENT : 0;
}

int verge__sqlite_revive(verge__connection *connection, verge__change *change) {
    verge__sqlite *c = own(connection);
    verge_durable_info info;
    int error = RUN(c, DEAD_REVIVE, NULL, number(change->id), number(c->base.now_ns));
    VERGE__THEN(error, verge__sqlite_forget(connection, change->id));
    VERGE__THEN(error, verge__sqlite_look(connection, change->id, &info, NULL, 0));
    if (error == 0) {
        change->due_ns = info.due_ns;
        (void)snprintf(change->handler, sizeof(change->handler), "%s", info.handler);
    }
    return error;
}

int verge__sqlite_count(verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue,
                        uint64_t *ret_dead) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_read_time(c);
    VERGE__THEN(error, verge__sq_bind(c, COUNT, (const int64_t[]){number(c->base.now_ns)}, 1, &statement));
    VERGE__THEN(error, verge__sq_step(c, statement));
    if (error == 1) {
        *ret_pending = (uint64_t)sqlite3_column_int64(statement, 0);
        *ret_overdue = (uint64_t)sqlite3_column_int64(statement, 1);
        *ret_dead = (uint64_t)sqlite3_column_int64(statement, 2);
        (void)sqlite3_reset(statement);
        error = 0;
    }
    return error;
}

int verge__sqlite_owners(verge__connection *connection, verge_durable_owner *ret_owners, size_t count,
                         uint64_t *ret_dead) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int error = verge__sq_bind(c, OWNERS, (const int64_t[]){VERGE__DEAD_COUNT_MAX}, 1, &statement);
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        const char *name = (const char *)sqlite3_column_text(statement, 3);
        verge_durable_owner owner = {
            .node = (uint64_t)sqlite3_column_int64(statement, 1),
            .lease_until_ns = (uint64_t)sqlite3_column_int64(statement, 2),
        };
        (void)snprintf(owner.name, sizeof(owner.name), "%s", name == NULL ? "" : name);
        found = verge__add_owned(ret_owners, found, count, &owner, (uint64_t)sqlite3_column_int64(statement, 0));
        *ret_dead = (uint64_t)sqlite3_column_int64(statement, 4);
        error = 0;
    }
    return error != 0 ? error : found;
}

/* Returns how many rows of the query's result are not "ok", or a negative errno. `text` gets the first such row. */
static int count_wrong(verge__sqlite *c, const char *query, char *text, size_t size) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(c->db, query, -1, &statement, NULL);
    int found = 0;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        const char *row = code != SQLITE_ROW ? "ok" : (const char *)sqlite3_column_text(statement, 0);
        if (row != NULL && strcmp(row, "ok") != 0 && found++ == 0 && text != NULL && size > 0) {
            (void)snprintf(text, size, "%s", row);
            verge__one_line(text);
        }
    }
    const int error = verge__sq_error_of(c->db, code);
    (void)sqlite3_finalize(statement);
    return error != 0 ? error : found;
}

/* If the file is corrupt, its rows are not checked: they could be anything. */
int verge__sqlite_check(verge__connection *connection, uint32_t shard_count, char *text, size_t size) {
    char query[2048];
    (void)snprintf(query, sizeof(query), VERGE__CHECK, shard_count, shard_count);
    const int corrupt = count_wrong(own(connection), "PRAGMA quick_check(1)", text, size);
    return corrupt != 0 ? corrupt : count_wrong(own(connection), query, text, size);
}
