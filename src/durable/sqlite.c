/* SPDX-License-Identifier: MIT */
/*
 * The store in a file: SQLite in WAL mode, synchronous FULL. One writer at a time is SQLite's nature. Threads of one
 * process queue for that in the order in which they come (struct file), because SQLite itself would have them sleep and
 * try again; several processes do that.
 *
 * BEGIN IMMEDIATE takes the one write lock, so whatever a transaction reads stays true until it ends: that is the lock
 * on the shard's row of P4.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "durable/schema.h"
#include "durable/store.h"

enum {
    BUSY_TRIES_MAX = 5000,   /* for another process to end its transaction, a millisecond each; then -EAGAIN */
    CHECKPOINT_PAGES = 1000, /* of the log; SQLite's own number */
    RESTART_PAGES = 4000,
};

#define ROW_COLUMNS "id, due, attempt, revision, period, policy, handler, name, payload"
#define STORE_SEEN "(SELECT max(seen) FROM verge_node)"

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    SAVEPOINT,
    SAVEPOINT_RELEASE,
    SAVEPOINT_UNDO,
    SEEN,
    META,
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
    STATEMENT_COUNT,
};

#define INFO_COLUMNS "id, due, attempt, period, handler, name, payload, "

static const char *const texts[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [SAVEPOINT] = "SAVEPOINT verge_handler",
    [SAVEPOINT_RELEASE] = "RELEASE verge_handler",
    [SAVEPOINT_UNDO] = "ROLLBACK TO verge_handler",
    [SEEN] = "SELECT " STORE_SEEN,
    [META] = "SELECT version, min_version, shards FROM verge_meta",
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
    [SHARD_RELEASE] = "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = 1 "
                      "WHERE shard = ?1 AND owner = ?2 AND epoch = ?3",
    [SHARDS_RELEASE] = "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = 1 WHERE owner = ?1",
    [SHARD_EPOCH] = "SELECT epoch FROM verge_shard WHERE shard = ?1",
    [TIMER_INSERT] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
    [TIMER_EXISTS] = "SELECT due FROM verge_timer WHERE id = ?1",
    [TIMER_TAKE] = "DELETE FROM verge_timer WHERE id = ?1 AND due <= ?2 RETURNING " ROW_COLUMNS,
    [TIMER_DUE] = "SELECT " ROW_COLUMNS " FROM verge_timer WHERE id = ?1 AND due <= ?2",
    [TIMER_CLAIM] = "UPDATE verge_timer SET attempt = attempt + 1, running = 1, revision = revision + 1, due = ?2 "
                    "WHERE id = ?1",
    [TIMER_COMPLETE] = "DELETE FROM verge_timer WHERE id = ?1 AND revision = ?2",
    [TIMER_ATTEMPT] = "UPDATE verge_timer SET attempt = attempt + 1 WHERE id = ?1",
    [TIMER_CANCEL] = "DELETE FROM verge_timer WHERE id = ?1 RETURNING running, due",
    [TIMER_RESET] = "UPDATE verge_timer SET due = ?2, running = 0, revision = revision + 1 WHERE id = ?1",
    [TIMER_FIND] = "SELECT id FROM verge_timer WHERE handler = ?1 AND name = ?2",
    [DEAD_INSERT] =
        "INSERT OR REPLACE INTO verge_dead (id, due, attempt, period, policy, handler, name, payload, reason, "
        "died) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [DEAD_REVIVE] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload) SELECT id, id & 255, ?2, 0, 0, 0, period, policy, handler, name, payload FROM verge_dead "
        "WHERE id = ?1",
    [DEAD_DELETE] = "DELETE FROM verge_dead WHERE id = ?1 RETURNING id",
    [LOOK_TIMER] = "SELECT " INFO_COLUMNS "running, '', 0 FROM verge_timer WHERE id = ?1",
    [LOOK_DEAD] = "SELECT " INFO_COLUMNS "0, reason, died FROM verge_dead WHERE id = ?1",
    [LIST_TIMERS] = "SELECT " INFO_COLUMNS "running, '', 0 FROM verge_timer WHERE id > ?1 ORDER BY id LIMIT ?2",
    [LIST_DEAD] = "SELECT " INFO_COLUMNS "0, reason, died FROM verge_dead WHERE id > ?1 ORDER BY id LIMIT ?2",
    [COUNT] = "SELECT (SELECT count(*) FROM verge_timer), (SELECT count(*) FROM verge_timer WHERE due <= ?1), "
              "(SELECT count(*) FROM verge_dead)",
};

/* Keys and payloads are not looked at. */
static const char scan_text[] =
    "SELECT id, due, attempt, 0, 0, 0, handler, NULL, NULL FROM verge_timer WHERE shard = ?1 AND (due, id) > (?2, ?3) "
    "AND due <= ?4 ORDER BY due, id";

/* The queue of this process's writers of one file. */
struct file {
    struct file *next;
    char *path;
    uint32_t users;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t taken; /* tickets */
    uint64_t served;
    int log_pages; /* since the last commit */
    int keeper_fd; /* who waits in sqlite_wait, and makes checkpoints; -1: nobody */
};

struct connection {
    struct verge__connection base;
    sqlite3 *db;
    struct file *file; /* NULL: borrowed */
    bool is_writing;
    bool is_keeper;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    sqlite3_stmt *scans[VERGE_DURABLE_SHARDS_MAX];
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files;

static struct connection *own(struct verge__connection *connection) {
    return (struct connection *)connection;
}

static int64_t number(uint64_t value) {
    return (int64_t)value;
}

/* ---- errors, statements ---- */

static int error_of(sqlite3 *db, int code) {
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
        return sqlite3_system_errno(db) == ENOSPC || sqlite3_system_errno(db) == EFBIG ? -ENOSPC : -EIO;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* no such table or column: somebody else's */
    case SQLITE_SCHEMA:
        return -EPROTO;
    default:
        return -EIO;
    }
}

static int prepare(struct connection *c, const char *text, sqlite3_stmt **statement) {
    if (*statement == NULL) {
        return error_of(c->db, sqlite3_prepare_v3(c->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
    }
    return 0;
}

/* A statement with its first parameters bound to numbers. */
static int with(struct connection *c, enum statement which, const int64_t *values, int count, sqlite3_stmt **ret) {
    int error = prepare(c, texts[which], &c->statements[which]);
    for (int i = 0; i < count && error == 0; i++) {
        error = error_of(c->db, sqlite3_bind_int64(c->statements[which], i + 1, values[i]));
    }
    *ret = c->statements[which];
    return error;
}

/* 1: a row is there; 0: none any more. After anything but a row the statement can be used again. */
static int step(struct connection *c, sqlite3_stmt *statement) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        return 1;
    }
    const int error = error_of(c->db, code);
    (void)sqlite3_reset(statement);
    return error;
}

/* Runs a statement to its end; *ret_first, which may be NULL, gets the first column of its first row, or stays as it
 * is. */
static int run(struct connection *c, enum statement which, const int64_t *values, int count, int64_t *ret_first) {
    sqlite3_stmt *statement = NULL;
    int error = with(c, which, values, count, &statement);
    if (error != 0) {
        return error;
    }
    while ((error = step(c, statement)) == 1) {
        if (ret_first != NULL) {
            *ret_first = sqlite3_column_int64(statement, 0);
            ret_first = NULL;
        }
    }
    return error;
}

#define RUN(c, which, ret_first, ...) \
    run((c), (which), (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (ret_first))

static void read_row(sqlite3_stmt *statement, struct verge__row *row) {
    const void *key = sqlite3_column_blob(statement, 7);
    const size_t key_size = (size_t)sqlite3_column_bytes(statement, 7);
    const void *payload = sqlite3_column_blob(statement, 8);
    const char *handler = (const char *)sqlite3_column_text(statement, 6);
    *row = (struct verge__row){
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

/* ---- the queue of writers ---- */

static struct file *file_of(const char *path) {
    (void)pthread_mutex_lock(&files_lock);
    struct file *file = files;
    while (file != NULL && strcmp(file->path, path) != 0) {
        file = file->next;
    }
    if (file == NULL && (file = calloc(1, sizeof(*file))) != NULL) {
        file->path = strdup(path);
        if (file->path == NULL) {
            free(file);
            file = NULL;
        } else {
            (void)pthread_mutex_init(&file->lock, NULL);
            (void)pthread_cond_init(&file->turn, NULL);
            file->keeper_fd = -1;
            file->next = files;
            files = file;
        }
    }
    if (file != NULL) {
        file->users++;
    }
    (void)pthread_mutex_unlock(&files_lock);
    return file;
}

static void file_leave(struct file *file) {
    (void)pthread_mutex_lock(&files_lock);
    if (--file->users == 0) {
        struct file **link = &files;
        while (*link != file) {
            link = &(*link)->next;
        }
        *link = file->next;
        (void)pthread_cond_destroy(&file->turn);
        (void)pthread_mutex_destroy(&file->lock);
        free(file->path);
        free(file);
    }
    (void)pthread_mutex_unlock(&files_lock);
}

static void queue_up(struct connection *c) {
    if (c->file != NULL) {
        (void)pthread_mutex_lock(&c->file->lock);
        const uint64_t ticket = c->file->taken++;
        while (c->file->served != ticket) {
            (void)pthread_cond_wait(&c->file->turn, &c->file->lock);
        }
        (void)pthread_mutex_unlock(&c->file->lock);
    }
    c->is_writing = true;
}

static void queue_leave(struct connection *c) {
    if (!c->is_writing) {
        return;
    }
    c->is_writing = false;
    if (c->file != NULL) {
        (void)pthread_mutex_lock(&c->file->lock);
        c->file->served++;
        (void)pthread_cond_broadcast(&c->file->turn);
        (void)pthread_mutex_unlock(&c->file->lock);
    }
}

/* ---- checkpoints ----
 *
 * What is committed is in the log, and has to be copied into the file from time to time. SQLite lets the commit that
 * finds the log long do that: some hundred milliseconds, with a large file, in which nothing is fired. Here the keeper
 * does it, beside the transactions. It never catches up with writers that go on, so that the log would grow without
 * end: when it is long, the rest, which is short, is copied while they wait.
 */

static int note_log(void *context, sqlite3 *db, const char *name, int pages) {
    struct file *file = context;
    const uint64_t one = 1;
    (void)pthread_mutex_lock(&file->lock);
    file->log_pages = pages;
    const int fd = file->keeper_fd;
    (void)pthread_mutex_unlock(&file->lock);
    if (pages >= CHECKPOINT_PAGES && fd >= 0) {
        (void)!write(fd, &one, sizeof(one));
    } else if (pages >= CHECKPOINT_PAGES) {
        (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    return SQLITE_OK;
}

static void checkpoint(struct connection *c) {
    int pages = 0;
    int copied = 0;
    (void)pthread_mutex_lock(&c->file->lock);
    const bool is_wanted = c->file->log_pages >= CHECKPOINT_PAGES;
    c->file->log_pages = 0;
    (void)pthread_mutex_unlock(&c->file->lock);
    if (is_wanted && sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied) == SQLITE_OK &&
        pages >= RESTART_PAGES) {
        queue_up(c);
        (void)sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        queue_leave(c);
    }
}

/* ---- connections, transactions ---- */

static uint64_t realtime_ns(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* SQLite's own way of waiting sleeps for longer and longer, so that who has waited long loses against who comes. */
static int wait_for_other_process(void *context, int tries) {
    (void)context;
    const struct timespec nap = {.tv_nsec = 500000 + (tries * 7919) % 1000 * 1000L};
    (void)nanosleep(&nap, NULL);
    return tries < BUSY_TRIES_MAX;
}

/* Reads the store's time: the machine's, held back from going back. */
static int tell_time(struct connection *c) {
    int64_t seen = 0;
    c->base.asked_ns = verge__monotonic_ns();
    const int error = run(c, SEEN, NULL, 0, &seen);
    if (error != 0) {
        return error;
    }
    uint64_t now_ns = realtime_ns();
    if ((uint64_t)seen > now_ns && (uint64_t)seen - now_ns <= VERGE__STORE_SETBACK_MAX_NS) {
        now_ns = (uint64_t)seen;
    }
    c->base.now_ns = now_ns;
    c->base.answered_ns = verge__monotonic_ns();
    c->base.query_count++;
    return 0;
}

static void sqlite_disconnect(struct verge__connection *connection) {
    struct connection *c = own(connection);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(c->statements[i]);
    }
    for (int i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        (void)sqlite3_finalize(c->scans[i]);
    }
    queue_leave(c);
    if (c->is_keeper) {
        (void)pthread_mutex_lock(&c->file->lock);
        c->file->keeper_fd = -1;
        (void)pthread_mutex_unlock(&c->file->lock);
    }
    if (c->file != NULL) {
        (void)sqlite3_close(c->db);
        file_leave(c->file);
    }
    free(c);
}

static int sqlite_connect(const char *url, uint64_t lease_ns, struct verge__connection **ret_connection) {
    (void)lease_ns;
    const char *path = url + strlen("sqlite:");
    if (*path == '\0' || *path == ':') {
        return -EINVAL; /* a database in memory is not durable, and each connection would have its own */
    }
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__sqlite_store;
    c->file = file_of(path);
    if (c->file == NULL) {
        free(c);
        return -ENOMEM;
    }
    int code = sqlite3_open_v2(path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_handler(c->db, wait_for_other_process, NULL);
        (void)sqlite3_wal_hook(c->db, note_log, c->file);
        code = sqlite3_exec(c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL, NULL);
    }
    const int error = error_of(c->db, code);
    if (error != 0) {
        sqlite_disconnect(&c->base);
        return error;
    }
    *ret_connection = &c->base;
    return 0;
}

static int sqlite_borrow(void *transaction, struct verge__connection **ret_connection) {
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__sqlite_store;
    c->db = transaction;
    if (sqlite3_get_autocommit(c->db)) {
        free(c);
        return -EINVAL; /* there is no transaction */
    }
    const int error = tell_time(c);
    if (error != 0) {
        sqlite_disconnect(&c->base);
        return error;
    }
    *ret_connection = &c->base;
    return 0;
}

static void *sqlite_handle(struct verge__connection *connection) {
    return own(connection)->db;
}

static void sqlite_rollback(struct verge__connection *connection) {
    struct connection *c = own(connection);
    if (!sqlite3_get_autocommit(c->db)) {
        (void)run(c, ROLLBACK, NULL, 0, NULL);
    }
    queue_leave(c);
}

static int sqlite_begin(struct verge__connection *connection) {
    struct connection *c = own(connection);
    queue_up(c);
    int error = run(c, BEGIN, NULL, 0, NULL);
    if (error == 0) {
        error = tell_time(c);
    }
    if (error != 0) {
        sqlite_rollback(connection);
    }
    return error;
}

static int sqlite_commit(struct verge__connection *connection, uint64_t mark) {
    (void)mark; /* what becomes of a commit is known here */
    struct connection *c = own(connection);
    const int error = run(c, COMMIT, NULL, 0, NULL);
    if (error != 0) {
        sqlite_rollback(connection);
        return error;
    }
    queue_leave(c);
    return 0;
}

static int sqlite_savepoint(struct verge__connection *connection) {
    return run(own(connection), SAVEPOINT, NULL, 0, NULL);
}

static int sqlite_end_savepoint(struct verge__connection *connection, bool undo) {
    struct connection *c = own(connection);
    if (sqlite3_get_autocommit(c->db)) {
        return -EIO; /* SQLite has rolled everything back: the disk is full, say */
    }
    const int error = undo ? run(c, SAVEPOINT_UNDO, NULL, 0, NULL) : 0;
    return error != 0 ? error : run(c, SAVEPOINT_RELEASE, NULL, 0, NULL);
}

/* ---- the tables ---- */

static int sqlite_read_meta(struct verge__connection *connection, struct verge__store_meta *ret_meta) {
    struct connection *c = own(connection);
    sqlite3_stmt *tables = NULL;
    int code = sqlite3_prepare_v2(c->db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'verge\\_%' ESCAPE '\\'",
                                  -1, &tables, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(tables);
    }
    const bool is_there = code == SQLITE_ROW && sqlite3_column_int(tables, 0) > 0;
    (void)sqlite3_finalize(tables);
    if (code != SQLITE_ROW) {
        return error_of(c->db, code);
    }
    if (!is_there) {
        return -ENOENT;
    }
    sqlite3_stmt *statement = NULL;
    int error = with(c, META, NULL, 0, &statement);
    if (error == 0) {
        error = step(c, statement);
    }
    if (error != 1) {
        return error == 0 ? -EPROTO : error;
    }
    *ret_meta = (struct verge__store_meta){
        .version = (uint32_t)sqlite3_column_int64(statement, 0),
        .min_version = (uint32_t)sqlite3_column_int64(statement, 1),
        .shard_count = (uint32_t)sqlite3_column_int64(statement, 2),
    };
    (void)sqlite3_reset(statement);
    return 0;
}

static int sqlite_make_tables(struct verge__connection *connection, uint32_t shard_count) {
    struct connection *c = own(connection);
    struct verge__store_meta meta;
    char rows[256];
    queue_up(c);
    int error = run(c, BEGIN, NULL, 0, NULL);
    const int found = error == 0 ? sqlite_read_meta(connection, &meta) : error;
    if (found == -ENOENT) { /* else another process was faster */
        (void)snprintf(rows, sizeof(rows),
                       "INSERT INTO verge_meta VALUES (%d, %d, %u, 0);"
                       "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < %u) "
                       "INSERT INTO verge_shard SELECT n, 1, 0, 1 FROM s",
                       VERGE_DURABLE_SCHEMA_VERSION, VERGE__MIN_VERSION, shard_count, shard_count);
        error = error_of(c->db, sqlite3_exec(c->db, VERGE__SCHEMA("INTEGER", "TEXT", "BLOB"), NULL, NULL, NULL));
        error = error != 0 ? error : error_of(c->db, sqlite3_exec(c->db, rows, NULL, NULL, NULL));
    } else if (found == 0 && meta.version == 1) { /* what version 2 has more is for servers */
        error = error_of(c->db, sqlite3_exec(c->db, "UPDATE verge_meta SET version = 2", NULL, NULL, NULL));
    }
    if (error == 0) {
        return sqlite_commit(connection, 0);
    }
    sqlite_rollback(connection);
    return error;
}

/* ---- P1 ---- */

/* A transaction of its own around a few statements. */
static int ended(struct verge__connection *connection, int error) {
    if (error == 0) {
        return sqlite_commit(connection, 0);
    }
    sqlite_rollback(connection);
    return error;
}

static int sqlite_new_incarnation(struct verge__connection *connection, uint64_t *ret_incarnation) {
    int64_t incarnation = 0;
    int error = sqlite_begin(connection);
    if (error == 0) {
        error = ended(connection, run(own(connection), NEXT_INCARNATION, NULL, 0, &incarnation));
    }
    if (error == 0) {
        *ret_incarnation = (uint64_t)incarnation;
    }
    return error;
}

static int insert_node(struct connection *c, uint64_t node, const char *name, uint64_t lease_ns) {
    sqlite3_stmt *statement = NULL;
    int error = with(c, NODE_INSERT, (const int64_t[]){number(node)}, 1, &statement);
    if (error == 0) {
        (void)sqlite3_bind_text(statement, 2, name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_int64(statement, 3, number(c->base.now_ns + lease_ns));
        (void)sqlite3_bind_int64(statement, 4, number(c->base.now_ns));
        error = step(c, statement);
    }
    return error;
}

static int sqlite_join(struct verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t *ret_node) {
    struct connection *c = own(connection);
    int64_t incarnation = 0;
    int error = sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    error = run(c, NEXT_INCARNATION, NULL, 0, &incarnation);
    if (error == 0 && lease_ns > 0) {
        error = insert_node(c, (uint64_t)incarnation, name, lease_ns);
    }
    error = ended(connection, error);
    if (error == 0) {
        *ret_node = (uint64_t)incarnation;
    }
    return error;
}

static int read_shards(struct connection *c, enum statement which, const int64_t *values, int count,
                       struct verge__cluster *cluster) {
    sqlite3_stmt *statement = NULL;
    int error = with(c, which, values, count, &statement);
    cluster->owned_count = 0;
    while (error == 0 && (error = step(c, statement)) == 1) {
        const int64_t shard = sqlite3_column_int64(statement, 0);
        if (shard >= 0 && shard < VERGE_DURABLE_SHARDS_MAX && cluster->owned_count < VERGE_DURABLE_SHARDS_MAX) {
            cluster->owned[cluster->owned_count++] = (struct verge__shard){
                .shard = (uint32_t)shard,
                .epoch = (uint64_t)sqlite3_column_int64(statement, 1),
                .was_clean = sqlite3_column_count(statement) < 3 || sqlite3_column_int64(statement, 2) != 0,
            };
        }
        error = 0;
    }
    return error;
}

static int sqlite_renew(struct verge__connection *connection, uint64_t node, uint64_t lease_ns,
                        struct verge__cluster *ret_cluster) {
    struct connection *c = own(connection);
    int64_t alive = 0;
    int64_t next_expiry = 0;
    int error = sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    const int64_t now = number(c->base.now_ns);
    error = RUN(c, NODE_RENEW, NULL, number(node), now + number(lease_ns), now);
    error = error != 0 ? error : RUN(c, NODE_FORGET_OTHERS, NULL, number(node), now - number(lease_ns));
    error = error != 0 ? error : RUN(c, NODES_ALIVE, &alive, now);
    error = error != 0 ? error : RUN(c, NEXT_EXPIRY, &next_expiry, now, number(node));
    error = error != 0 ? error : read_shards(c, SHARDS_OF, (const int64_t[]){number(node)}, 1, ret_cluster);
    ret_cluster->live_nodes = (uint32_t)alive;
    ret_cluster->next_expiry_ns = (uint64_t)next_expiry;
    return ended(connection, error);
}

static int sqlite_acquire(struct verge__connection *connection, uint64_t node, uint32_t count,
                          struct verge__cluster *ret_new) {
    struct connection *c = own(connection);
    int error = sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    error = read_shards(c, SHARDS_FREE, (const int64_t[]){number(c->base.now_ns), count}, 2, ret_new);
    for (uint32_t i = 0; i < ret_new->owned_count && error == 0; i++) {
        ret_new->owned[i].epoch++;
        error = RUN(c, SHARD_TAKE, NULL, ret_new->owned[i].shard, number(node));
    }
    return ended(connection, error);
}

static int sqlite_release(struct verge__connection *connection, uint64_t node, const struct verge__shard *shards,
                          uint32_t count) {
    int error = sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = RUN(own(connection), SHARD_RELEASE, NULL, shards[i].shard, number(node), number(shards[i].epoch));
    }
    return ended(connection, error);
}

static int sqlite_leave(struct verge__connection *connection, uint64_t node) {
    int error = sqlite_begin(connection);
    if (error != 0) {
        return error;
    }
    error = RUN(own(connection), SHARDS_RELEASE, NULL, number(node));
    error = error != 0 ? error : RUN(own(connection), NODE_DELETE, NULL, number(node));
    return ended(connection, error);
}

/* ---- P2 ---- */

/* One statement a shard, merged: the index has them by shard. */
static int sqlite_scan(struct verge__connection *connection, const struct verge__shard *shards, uint32_t count,
                       uint64_t after_due_ns, uint64_t after_id, uint64_t until_ns, uint32_t limit,
                       verge__visit_row visit, void *context) {
    struct connection *c = own(connection);
    struct verge__row heads[VERGE_DURABLE_SHARDS_MAX];
    bool is_open[VERGE_DURABLE_SHARDS_MAX] = {false};
    int error = tell_time(c);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = prepare(c, scan_text, &c->scans[i]);
        if (error == 0) {
            (void)sqlite3_bind_int64(c->scans[i], 1, shards[i].shard);
            (void)sqlite3_bind_int64(c->scans[i], 2, number(after_due_ns));
            (void)sqlite3_bind_int64(c->scans[i], 3, number(after_id));
            (void)sqlite3_bind_int64(c->scans[i], 4, number(until_ns));
            error = step(c, c->scans[i]);
            is_open[i] = error == 1;
        }
        if (is_open[i]) {
            read_row(c->scans[i], &heads[i]);
            error = 0;
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
        error = step(c, c->scans[first]);
        is_open[first] = error == 1;
        if (is_open[first]) {
            read_row(c->scans[first], &heads[first]);
            error = 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)sqlite3_reset(c->scans[i]);
    }
    return error;
}

static int sqlite_wait(struct verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                       void *context) {
    struct connection *c = own(connection);
    (void)visit;
    (void)context;
    (void)pthread_mutex_lock(&c->file->lock);
    c->file->keeper_fd = wake_fd;
    (void)pthread_mutex_unlock(&c->file->lock);
    c->is_keeper = true;
    checkpoint(c);
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    (void)poll(&fd, 1, (int)(timeout_ns / 1000000) + 1);
    return 0;
}

/* ---- P3 ---- */

static int bind_tail(sqlite3_stmt *statement, int first, const struct verge__row *row) {
    (void)sqlite3_bind_text(statement, first, row->handler, -1, SQLITE_STATIC);
    if (row->key == NULL) {
        (void)sqlite3_bind_null(statement, first + 1);
    } else {
        (void)sqlite3_bind_blob(statement, first + 1, row->key, (int)row->key_size, SQLITE_STATIC);
    }
    const void *payload = row->payload_size == 0 ? "" : row->payload;
    return sqlite3_bind_blob(statement, first + 2, payload, (int)row->payload_size, SQLITE_STATIC);
}

static int sqlite_insert(struct verge__connection *connection, struct verge__row *rows, size_t count) {
    struct connection *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        struct verge__row *row = &rows[i];
        if (row->due_is_delay) {
            row->due_ns += c->base.now_ns;
            row->due_is_delay = false;
        }
        sqlite3_stmt *statement = NULL;
        int error = with(c, TIMER_INSERT,
                         (const int64_t[]){number(row->id), verge__shard_of(row->id), number(row->due_ns), row->attempt,
                                           number(row->revision), number(row->period_ns), row->policy},
                         7, &statement);
        error = error != 0 ? error : error_of(c->db, bind_tail(statement, 8, row));
        error = error != 0 ? error : step(c, statement);
        if (error != 0) {
            return error;
        }
        row->outcome = 0;
        if (sqlite3_changes(c->db) == 0) {
            int64_t due = -1;
            error = RUN(c, TIMER_EXISTS, &due, number(row->id));
            if (error != 0) {
                return error;
            }
            row->outcome = due < 0 ? -EEXIST : 0;
        }
    }
    return 0;
}

static int sqlite_notify(struct verge__connection *connection, const struct verge__row *row) {
    (void)connection;
    (void)row;
    return 0;
}

/* ---- P4 ---- */

/* Does the shard of this target still have the epoch? The write lock keeps it so. The last answer is remembered. */
struct fence {
    uint64_t shard;
    int64_t epoch;
};

static int check_fence(struct connection *c, struct fence *fence, const struct verge__target *target, bool *ret_holds) {
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

static int sqlite_take(struct verge__connection *connection, const struct verge__target *targets, size_t count,
                       verge__visit_row visit, void *context) {
    struct connection *c = own(connection);
    struct fence fence = {.shard = UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        bool holds = false;
        int error = check_fence(c, &fence, &targets[i], &holds);
        sqlite3_stmt *statement = NULL;
        if (error == 0 && holds) {
            error =
                with(c, TIMER_TAKE, (const int64_t[]){number(targets[i].id), number(c->base.now_ns)}, 2, &statement);
            while (error == 0 && (error = step(c, statement)) == 1) {
                struct verge__row row;
                read_row(statement, &row);
                visit(context, &row);
                error = 0;
            }
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int sqlite_claim(struct verge__connection *connection, const struct verge__target *targets, size_t count,
                        const uint64_t *run_ns, verge__visit_row visit, void *context) {
    struct connection *c = own(connection);
    struct fence fence = {.shard = UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        bool holds = false;
        bool is_due = false;
        int error = check_fence(c, &fence, &targets[i], &holds);
        sqlite3_stmt *statement = NULL;
        if (error == 0 && holds) {
            error = with(c, TIMER_DUE, (const int64_t[]){number(targets[i].id), number(c->base.now_ns)}, 2, &statement);
            while (error == 0 && (error = step(c, statement)) == 1) {
                struct verge__row row;
                read_row(statement, &row);
                row.revision++;
                visit(context, &row);
                is_due = true;
                error = 0;
            }
        }
        if (error == 0 && is_due) {
            error = RUN(c, TIMER_CLAIM, NULL, number(targets[i].id), number(c->base.now_ns + run_ns[i]));
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int sqlite_complete(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    struct connection *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        const int error = RUN(c, TIMER_COMPLETE, NULL, number(changes[i].id), number(changes[i].revision));
        if (error != 0) {
            return error;
        }
        changes[i].outcome = sqlite3_changes(c->db) == 0 ? -ENOENT : 0;
    }
    return 0;
}

static int sqlite_count_attempt(struct verge__connection *connection, const struct verge__target *target) {
    struct connection *c = own(connection);
    struct fence fence = {.shard = UINT64_MAX};
    bool holds = false;
    const int error = check_fence(c, &fence, target, &holds);
    return error != 0 || !holds ? error : RUN(c, TIMER_ATTEMPT, NULL, number(target->id));
}

static int sqlite_bury(struct verge__connection *connection, const struct verge__row *row, const char *reason) {
    struct connection *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int error =
        with(c, DEAD_INSERT,
             (const int64_t[]){number(row->id), number(row->due_ns), row->attempt, number(row->period_ns), row->policy},
             5, &statement);
    if (error == 0) {
        (void)bind_tail(statement, 6, row);
        (void)sqlite3_bind_text(statement, 9, reason, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 10, number(c->base.now_ns));
        error = step(c, statement);
    }
    return error;
}

/* ---- P5 ---- */

static int sqlite_cancel(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    struct connection *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = NULL;
        int error = with(c, TIMER_CANCEL, (const int64_t[]){number(changes[i].id)}, 1, &statement);
        changes[i].outcome = -ENOENT;
        while (error == 0 && (error = step(c, statement)) == 1) {
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

static int sqlite_reset(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    struct connection *c = own(connection);
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = NULL;
        bool is_there = false;
        bool is_running = false;
        int error = with(c, LOOK_TIMER, (const int64_t[]){number(changes[i].id)}, 1, &statement);
        while (error == 0 && (error = step(c, statement)) == 1) {
            is_there = true;
            is_running =
                sqlite3_column_int64(statement, 7) != 0 && sqlite3_column_int64(statement, 1) > number(c->base.now_ns);
            error = 0;
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

/* ---- for people ---- */

static int sqlite_find(struct verge__connection *connection, const char *handler, const void *key, size_t key_size,
                       uint64_t *ret_id) {
    struct connection *c = own(connection);
    sqlite3_stmt *statement = NULL;
    uint64_t id = 0;
    int error = with(c, TIMER_FIND, NULL, 0, &statement);
    if (error == 0) {
        (void)sqlite3_bind_text(statement, 1, handler, -1, SQLITE_STATIC);
        (void)sqlite3_bind_blob(statement, 2, key, (int)key_size, SQLITE_STATIC);
    }
    while (error == 0 && (error = step(c, statement)) == 1) {
        id = (uint64_t)sqlite3_column_int64(statement, 0);
        error = 0;
    }
    if (error == 0 && id != 0) {
        *ret_id = id;
    }
    return error != 0 ? error : id == 0 ? -ENOENT : 0;
}

static void read_info(sqlite3_stmt *statement, verge_durable_info *info) {
    *info = (verge_durable_info){
        .id = (uint64_t)sqlite3_column_int64(statement, 0),
        .due_ns = (uint64_t)sqlite3_column_int64(statement, 1),
        .attempt = (uint32_t)sqlite3_column_int64(statement, 2),
        .period_ns = (uint64_t)sqlite3_column_int64(statement, 3),
        .payload_size = (size_t)sqlite3_column_bytes(statement, 6),
        .is_running = sqlite3_column_int64(statement, 7) != 0,
        .died_ns = (uint64_t)sqlite3_column_int64(statement, 9),
    };
    info->shard = verge__shard_of(info->id);
    const char *handler = (const char *)sqlite3_column_text(statement, 4);
    const char *reason = (const char *)sqlite3_column_text(statement, 8);
    (void)snprintf(info->handler, sizeof(info->handler), "%s", handler == NULL ? "" : handler);
    (void)snprintf(info->reason, sizeof(info->reason), "%s", reason == NULL ? "" : reason);
    const void *key = sqlite3_column_blob(statement, 5);
    const int key_size = sqlite3_column_bytes(statement, 5);
    info->key_size = (uint8_t)(key_size > VERGE_DURABLE_KEY_MAX ? VERGE_DURABLE_KEY_MAX : key_size);
    if (key != NULL) {
        memcpy(info->key, key, info->key_size);
    }
}

static int sqlite_look(struct verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload,
                       size_t size) {
    struct connection *c = own(connection);
    static const enum statement where[] = {LOOK_TIMER, LOOK_DEAD};
    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        sqlite3_stmt *statement = NULL;
        int error = with(c, where[i], (const int64_t[]){number(id)}, 1, &statement);
        error = error != 0 ? error : step(c, statement);
        if (error == 1) {
            read_info(statement, ret_info);
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

static int sqlite_list(struct verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos,
                       size_t count) {
    struct connection *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int error = with(c, dead ? LIST_DEAD : LIST_TIMERS, (const int64_t[]){number(after), number(count)}, 2, &statement);
    while (error == 0 && (error = step(c, statement)) == 1) {
        read_info(statement, &ret_infos[found++]);
        error = 0;
    }
    return error != 0 ? error : found;
}

static int sqlite_forget(struct verge__connection *connection, uint64_t id) {
    int64_t found = 0;
    const int error = RUN(own(connection), DEAD_DELETE, &found, number(id));
    return error != 0 ? error : found == 0 ? -ENOENT : 0;
}

static int sqlite_revive(struct verge__connection *connection, uint64_t id) {
    struct connection *c = own(connection);
    const int error = RUN(c, DEAD_REVIVE, NULL, number(id), number(c->base.now_ns));
    return error != 0 ? error : sqlite_forget(connection, id);
}

static int sqlite_count(struct verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue,
                        uint64_t *ret_dead) {
    struct connection *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int error = tell_time(c);
    error = error != 0 ? error : with(c, COUNT, (const int64_t[]){number(c->base.now_ns)}, 1, &statement);
    error = error != 0 ? error : step(c, statement);
    if (error == 1) {
        *ret_pending = (uint64_t)sqlite3_column_int64(statement, 0);
        *ret_overdue = (uint64_t)sqlite3_column_int64(statement, 1);
        *ret_dead = (uint64_t)sqlite3_column_int64(statement, 2);
        (void)sqlite3_reset(statement);
        error = 0;
    }
    return error;
}

static int sqlite_check(struct verge__connection *connection, uint32_t shard_count, char *text, size_t size) {
    struct connection *c = own(connection);
    char query[2048];
    (void)snprintf(query, sizeof(query), VERGE__CHECK, shard_count, shard_count);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(c->db, query, -1, &statement, NULL);
    int found = 0;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && found++ == 0 && text != NULL && size > 0) {
            (void)snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
        }
    }
    const int error = error_of(c->db, code);
    (void)sqlite3_finalize(statement);
    return error != 0 ? error : found;
}

const struct verge__store verge__sqlite_store = {
    .name = "sqlite",
    .has_one_writer = true,
    .connect = sqlite_connect,
    .disconnect = sqlite_disconnect,
    .borrow = sqlite_borrow,
    .handle = sqlite_handle,
    .read_meta = sqlite_read_meta,
    .make_tables = sqlite_make_tables,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .savepoint = sqlite_savepoint,
    .end_savepoint = sqlite_end_savepoint,
    .join = sqlite_join,
    .renew = sqlite_renew,
    .acquire = sqlite_acquire,
    .release = sqlite_release,
    .leave = sqlite_leave,
    .new_incarnation = sqlite_new_incarnation,
    .scan = sqlite_scan,
    .wait = sqlite_wait,
    .insert = sqlite_insert,
    .notify = sqlite_notify,
    .take = sqlite_take,
    .claim = sqlite_claim,
    .complete = sqlite_complete,
    .count_attempt = sqlite_count_attempt,
    .bury = sqlite_bury,
    .cancel = sqlite_cancel,
    .reset = sqlite_reset,
    .find = sqlite_find,
    .look = sqlite_look,
    .list = sqlite_list,
    .revive = sqlite_revive,
    .forget = sqlite_forget,
    .count = sqlite_count,
    .check = sqlite_check,
};
