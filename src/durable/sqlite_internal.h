/* SPDX-License-Identifier: MIT */
/*
 * durable/sqlite_internal.h - the store in a file: SQLite in WAL mode, synchronous FULL. SQLite has one writer at a
 * time. Threads of one process queue for the write lock, first come, first served (verge__sqlite_file). While another
 * process has the lock, the first thread of the queue sleeps and tries again (wait_for_other_process).
 *
 * BEGIN IMMEDIATE takes the write lock. So all that a transaction reads stays true until it ends, and firing (P4 in
 * store.h) needs no lock on the shard's row.
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
    TIMER_REPLACE,
    TIMER_EXISTS,
    TIMER_ROW,
    TIMER_DELETE,
    TIMER_DUE,
    TIMER_CLAIM,
    TIMER_COMPLETE,
    TIMER_EXTEND,
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
    CONTROL,
    CONTROL_REVISION,
    LIST_CONTROLS,
    PERMIT_LIMITS,
    PERMIT_EXPIRE,
    PERMIT_QUEUE,
    PERMIT_BEFORE,
    PERMIT_RATE,
    PERMIT_KEEP,
    PERMIT_END,
    STATEMENT_COUNT,
} verge__sqlite_statement;

/* The queue of this process's connections that write to one file. */
typedef struct verge__sqlite_file {
    struct verge__sqlite_file *next;
    char *path;
    uint32_t users;
    pthread_mutex_t lock;
    pthread_cond_t queue_moved;
    struct verge__sqlite *queue; /* the connection that writes, then those that wait */
    int log_pages;               /* pages of the log after the last commit; 0: a checkpoint has begun since */
    int keeper_fd;               /* wakes the keeper, which makes checkpoints (verge__sqlite_wait); -1: there is none */
} verge__sqlite_file;

typedef struct verge__sqlite {
    verge__connection base;
    sqlite3 *db;
    verge__sqlite_file *file; /* NULL: the connection is borrowed */
    struct verge__sqlite *queue_next;
    uint64_t lock_ns;
    uint64_t busy_until_ns;
    bool is_writing;
    bool is_keeper;
    bool was_undone; /* the last transaction was rolled back: by the library, SQLite or a handler */
    sqlite3_stmt *statements[STATEMENT_COUNT];
    sqlite3_stmt *scans[VERGE_DURABLE_SHARDS_MAX];
} verge__sqlite;

static inline verge__sqlite *own(verge__connection *connection) {
    return (verge__sqlite *)connection;
}

/* Returns whether SQLite (if the disk is full, for example) or a handler has rolled back the transaction that this
 * connection is in. */
static inline bool verge__sq_is_undone(const verge__sqlite *c) {
    return c->is_writing && c->was_undone;
}

static inline int64_t number(uint64_t value) {
    return (int64_t)value;
}

/* ---- sqlite_ask.c ---- */

int verge__sq_error_of(sqlite3 *db, int code);
int verge__sq_prepare(verge__sqlite *c, const char *text, sqlite3_stmt **statement);
int verge__sq_bind(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                   sqlite3_stmt **ret);
int verge__sq_step(verge__sqlite *c, sqlite3_stmt *statement);
int verge__sq_run(verge__sqlite *c, verge__sqlite_statement which, const int64_t *values, int count,
                  int64_t *ret_first);

/* ---- sqlite_connection.c ---- */

int verge__sq_queue_up(verge__sqlite *c); /* -EAGAIN: other connections were writing for lock_ns */
void verge__sq_queue_leave(verge__sqlite *c);
void verge__sq_checkpoint(verge__sqlite *c);
int verge__sq_read_time(verge__sqlite *c);

/* ---- sqlite_shards.c ---- */

int verge__sq_end_transaction(verge__connection *connection, int error);
int verge__sq_has_tables(verge__sqlite *c, bool *ret_has_tables);

VERGE__STORE_FUNCTIONS(VERGE__STORE_PROTOTYPE, sqlite)

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
        .rule = (const char *)sqlite3_column_text(statement, 9),
    };
}

#endif
