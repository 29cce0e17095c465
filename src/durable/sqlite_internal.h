/* SPDX-License-Identifier: MIT */
/*
 * durable/sqlite_internal.h - the store in a file: SQLite in WAL mode, synchronous FULL. SQLite has one writer at a
 * time. Threads of one process queue for the write lock, first come, first served (verge__sqlite_file): SQLite itself
 * would make them sleep and try again. Threads of different processes do sleep and try again.
 *
 * BEGIN IMMEDIATE takes the write lock. So all that a transaction reads stays true until it ends, and P4 needs no lock
 * on the shard's row.
 */
#ifndef VERGE_SRC_DURABLE_SQLITE_INTERNAL_H
#define VERGE_SRC_DURABLE_SQLITE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "durable/store.h"

typedef enum verge__sqlite_statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    SAVEPOINT,
    SAVEPOINT_RELEASE,
    SAVEPOINT_UNDO,
    SEEN,
    META,
    CONTRACT,
    NEXT_INCARNATION,
    NODE_INSERT,
    NODE_RENEW,
    NODE_FORGET_OTHERS,
    NODE_DELETE,
    NODES_ALIVE,
    NEXT_EXPIRY,
    SHARDS_OF,
    SHARDS_FREE,
    SHARD_TAKE,
    SHARD_RELEASE,
    SHARDS_RELEASE,
    SHARD_EPOCH,
    TIMER_INSERT,
    TIMER_EXISTS,
    TIMER_TAKE,
    TIMER_DUE,
    TIMER_CLAIM,
    TIMER_COMPLETE,
    TIMER_ATTEMPT,
    TIMER_CANCEL,
    TIMER_RESET,
    TIMER_FIND,
    DEAD_INSERT,
    DEAD_REVIVE,
    DEAD_DELETE,
    LOOK_TIMER,
    LOOK_DEAD,
    LIST_TIMERS,
    LIST_DEAD,
    COUNT,
    OWNERS,
    STATEMENT_COUNT,
} verge__sqlite_statement;

/* The queue of this process's writers of one file. */
typedef struct verge__sqlite_file {
    struct verge__sqlite_file *next;
    char *path;
    uint32_t users;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t taken; /* tickets */
    uint64_t served;
    int log_pages; /* since the last commit */
    int keeper_fd; /* who waits in sqlite_wait, and makes checkpoints; -1: nobody */
} verge__sqlite_file;

typedef struct verge__sqlite {
    verge__connection base;
    sqlite3 *db;
    verge__sqlite_file *file; /* NULL: borrowed */
    bool is_writing;
    bool is_keeper;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    sqlite3_stmt *scans[VERGE_DURABLE_SHARDS_MAX];
} verge__sqlite;

static inline verge__sqlite *own(verge__connection *connection) {
    return (verge__sqlite *)connection;
}

static inline int64_t number(uint64_t value) {
    return (int64_t)value;
}

/* ---- sqlite_ask.c ---- */

int verge__sq_error_of(sqlite3 *db, int code);
int verge__sq_prepare(verge__sqlite *c, const char *text, sqlite3_stmt **statement);
int verge__sq_with(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                   sqlite3_stmt **ret);
int verge__sq_step(verge__sqlite *c, sqlite3_stmt *statement);
int verge__sq_run(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                  int64_t *ret_first);

/* ---- sqlite_connection.c ---- */

void verge__sq_queue_up(verge__sqlite *c);
void verge__sq_queue_leave(verge__sqlite *c);
void verge__sq_checkpoint(verge__sqlite *c);
int verge__sq_tell_time(verge__sqlite *c);
void verge__sqlite_disconnect(verge__connection *connection);
int verge__sqlite_connect(const char *url, uint64_t lease_ns, verge__connection **ret_connection);
int verge__sqlite_borrow(void *transaction, verge__connection **ret_connection);
void *verge__sqlite_handle(verge__connection *connection);
void verge__sqlite_rollback(verge__connection *connection);
int verge__sqlite_begin(verge__connection *connection);
int verge__sqlite_commit(verge__connection *connection, uint64_t mark);
int verge__sqlite_savepoint(verge__connection *connection);
int verge__sqlite_end_savepoint(verge__connection *connection, bool undo);

/* ---- sqlite_shards.c ---- */

int verge__sqlite_read_meta(verge__connection *connection, verge__store_meta *ret_meta);
int verge__sqlite_make_tables(verge__connection *connection, uint32_t shard_count);
int verge__sq_ended(verge__connection *connection, int error);
int verge__sqlite_contract(verge__connection *connection);
int verge__sqlite_new_incarnation(verge__connection *connection, uint64_t *ret_incarnation);
int verge__sqlite_join(verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t *ret_node);
int verge__sqlite_renew(verge__connection *connection, uint64_t node, uint64_t lease_ns, verge__cluster *ret_cluster);
int verge__sqlite_acquire(verge__connection *connection, uint64_t node, uint32_t count, verge__cluster *ret_new);
int verge__sqlite_release(verge__connection *connection, uint64_t node, const verge__shard *shards, uint32_t count);
int verge__sqlite_leave(verge__connection *connection, uint64_t node);

/* ---- sqlite_timers.c ---- */

int verge__sqlite_scan(verge__connection *connection, const verge__shard *shards, uint32_t count, uint64_t after_due_ns,
                       uint64_t after_id, uint64_t until_ns, uint32_t limit, verge__visit_row visit, void *context);
int verge__sqlite_wait(verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                       void *context);
int verge__sqlite_insert(verge__connection *connection, verge__row *rows, size_t count);
int verge__sqlite_notify(verge__connection *connection, const verge__row *const *rows, size_t count);
int verge__sqlite_take(verge__connection *connection, const verge__target *targets, size_t count,
                       verge__visit_row visit, void *context);
int verge__sqlite_claim(verge__connection *connection, const verge__target *targets, size_t count,
                        const uint64_t *run_ns, verge__visit_row visit, void *context);
int verge__sqlite_complete(verge__connection *connection, verge__change *changes, size_t count);
int verge__sqlite_count_attempt(verge__connection *connection, const verge__target *target);
int verge__sqlite_bury(verge__connection *connection, const verge__row *row, const char *reason);
int verge__sqlite_cancel(verge__connection *connection, verge__change *changes, size_t count);
int verge__sqlite_reset(verge__connection *connection, verge__change *changes, size_t count);

/* ---- sqlite_look.c ---- */

int verge__sqlite_find(verge__connection *connection, const char *handler, const void *key, size_t key_size,
                       uint64_t *ret_id);
int verge__sqlite_look(verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload,
                       size_t size);
int verge__sqlite_list(verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos,
                       size_t count);
int verge__sqlite_forget(verge__connection *connection, uint64_t id);
int verge__sqlite_revive(verge__connection *connection, uint64_t id);
int verge__sqlite_count(verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue,
                        uint64_t *ret_dead);
int verge__sqlite_owners(verge__connection *connection, verge_durable_owner *ret_owners, size_t count,
                         uint64_t *ret_dead);
int verge__sqlite_check(verge__connection *connection, uint32_t shard_count, char *text, size_t size);

#define RUN(c, which, ret_first, ...) \
    verge__sq_run((c), (which), (const int64_t[]){__VA_ARGS__}, \
                  (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (ret_first))

static inline void read_row(sqlite3_stmt *statement, verge__row *row) {
    const void *key = sqlite3_column_blob(statement, 7);
    const size_t key_size = (size_t)sqlite3_column_bytes(statement, 7);
    const void *payload = sqlite3_column_blob(statement, 8);
    const char *handler = (const char *)sqlite3_column_text(statement, 6);
    *row = (verge__row){
        .id = (uint64_t)sqlite3_column_int64(statement, 0),
        .due_ns = (uint64_t)sqlite3_column_int64(statement, 1),
        .attempt = (uint32_t)sqlite3_column_int64(statement, 2),
        .revision = (uint64_t)sqlite3_column_int64(statement, 3),
        .period_ns = (uint64_t)sqlite3_column_int64(statement, 4),
        .policy = (uint32_t)sqlite3_column_int64(statement, 5),
        .handler = handler == NULL ? "" : handler,
        .key = sqlite3_column_type(statement, 7) == SQLITE_NULL ? NULL
               : key == NULL                                    ? ""
                                                                : key,
        .key_size = key_size,
        .payload = payload == NULL ? "" : payload,
        .payload_size = (size_t)sqlite3_column_bytes(statement, 8),
    };
}

#endif
