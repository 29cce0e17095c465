/* SPDX-License-Identifier: MIT */
/* Connections, transactions, the queue of connections that write, and checkpoints. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "durable/sqlite_internal.h"

enum {
    CHECKPOINT_PAGES = 1000,   /* a log of so many pages is copied to the file; the default of SQLite */
    RESTART_PAGES = 4000,      /* at so many pages, writers wait while the rest of the log is copied */
    ROLLBACK_TRIES_MAX = 1000, /* of one rollback, which fails while there is no memory */
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static verge__sqlite_file *files;

/* ---- the queue of writers ---- */

static verge__sqlite_file *file_of(const char *path) {
    (void)pthread_mutex_lock(&files_lock);
    verge__sqlite_file *file = files;
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
            pthread_condattr_t monotonic;
            (void)pthread_condattr_init(&monotonic);
            (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
            (void)pthread_cond_init(&file->queue_moved, &monotonic);
            (void)pthread_condattr_destroy(&monotonic);
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

static void file_leave(verge__sqlite_file *file) {
    (void)pthread_mutex_lock(&files_lock);
    if (--file->users == 0) {
        verge__sqlite_file **link = &files;
        while (*link != file) {
            link = &(*link)->next;
        }
        *link = file->next;
        (void)pthread_cond_destroy(&file->queue_moved);
        (void)pthread_mutex_destroy(&file->lock);
        free(file->path);
        free(file);
    }
    (void)pthread_mutex_unlock(&files_lock);
}

static void leave_queue(verge__sqlite *c) {
    verge__sqlite **link = &c->file->queue;
    while (*link != c) {
        link = &(*link)->queue_next;
    }
    *link = c->queue_next;
    (void)pthread_cond_broadcast(&c->file->queue_moved);
}

int verge__sq_queue_up(verge__sqlite *c) {
    if (c->file == NULL) {
        return 0;
    }
    const uint64_t until_ns = verge__monotonic_ns() + c->lock_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
    (void)pthread_mutex_lock(&c->file->lock);
    verge__sqlite **link = &c->file->queue;
    while (*link != NULL) {
        link = &(*link)->queue_next;
    }
    *link = c;
    c->queue_next = NULL;
    int timed_out = 0;
    while (c->file->queue != c && timed_out == 0) {
        timed_out = pthread_cond_timedwait(&c->file->queue_moved, &c->file->lock, &until);
    }
    c->is_writing = c->file->queue == c;
    if (!c->is_writing) {
        verge__set_words("%s: a transaction of this process takes long", c->file->path);
        leave_queue(c);
    }
    (void)pthread_mutex_unlock(&c->file->lock);
    return c->is_writing ? 0 : -EAGAIN;
}

void verge__sq_queue_leave(verge__sqlite *c) {
    if (c->is_writing) {
        c->is_writing = false;
        (void)pthread_mutex_lock(&c->file->lock);
        leave_queue(c);
        (void)pthread_mutex_unlock(&c->file->lock);
    }
}

/* ---- checkpoints ----
 *
 * Commits are written to the log, and must be copied into the file from time to time. By default, SQLite does this in
 * the commit that finds the log long. With a large file this takes some hundred milliseconds, in which no timer fires.
 * Here the keeper copies the log while transactions go on. This alone could let the log grow for ever: while writers go
 * on, the keeper never reaches the end of the log. So when the log is very long, the writers of this process wait while
 * the keeper copies the rest, which is short. If this process has no keeper for the file (it has only clients, say),
 * the commit copies the log after all.
 */

static int note_log(void *context, sqlite3 *db, const char *name, int pages) {
    verge__sqlite_file *file = context;
    const uint64_t one = 1;
    (void)pthread_mutex_lock(&file->lock);
    file->log_pages = pages;
    const bool has_keeper = file->keeper_fd >= 0;
    if (pages >= CHECKPOINT_PAGES && has_keeper) {
        (void)!write(file->keeper_fd, &one, sizeof(one)); /* under the lock, or the keeper could close the descriptor */
    }
    (void)pthread_mutex_unlock(&file->lock);
    if (pages >= CHECKPOINT_PAGES && !has_keeper) {
        (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    return SQLITE_OK;
}

void verge__sq_checkpoint(verge__sqlite *c) {
    int pages = 0;
    int copied = 0;
    (void)pthread_mutex_lock(&c->file->lock);
    const bool is_wanted = c->file->log_pages >= CHECKPOINT_PAGES;
    c->file->log_pages = 0;
    (void)pthread_mutex_unlock(&c->file->lock);
    if (is_wanted && sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied) == SQLITE_OK &&
        pages >= RESTART_PAGES) {
        if (verge__sq_queue_up(c) == 0) {
            (void)sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
            verge__sq_queue_leave(c);
        }
    }
}

/* ---- connections, transactions ---- */

static uint64_t realtime_ns(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* Sleeps for about the same short time in each try. SQLite's own busy handler sleeps for longer and longer, so a thread
 * that has waited for long would lose to a new one. */
static int wait_for_other_process(void *context, int tries) {
    verge__sqlite *c = context;
    const struct timespec nap = {.tv_nsec = 500000 + (tries * 7919) % 1000 * 1000L};
    if (tries == 0) {
        c->busy_until_ns = verge__monotonic_ns() + c->lock_ns;
    }
    (void)nanosleep(&nap, NULL);
    return verge__monotonic_ns() < c->busy_until_ns;
}

/* Reads store time, and the last incarnation. Store time is the clock of the machine. If this clock was set back by up
 * to a minute, store time stands still instead (docs/DURABLE.md). */
int verge__sq_read_time(verge__sqlite *c) {
    int64_t seen = 0;
    c->base.asked_ns = verge__monotonic_ns();
    sqlite3_stmt *statement = NULL;
    int error = verge__sq_bind(c, SEEN, NULL, 0, &statement);
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        seen = sqlite3_column_int64(statement, 0);
        c->base.incarnation = (uint64_t)sqlite3_column_int64(statement, 1);
        error = 0;
    }
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

/* Returns a number that tells files apart; 0: the file cannot be examined. If a file was replaced, the new one has
 * another number, even if the inode numbers are equal. */
static uint64_t file_id(const char *path) {
    struct statx file = {0};
    if (path == NULL || statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &file) != 0) {
        return 0;
    }
    uint64_t id = (uint64_t)file.stx_dev_major << 32 ^ file.stx_dev_minor ^ file.stx_ino << 8;
    id = id * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)file.stx_btime.tv_sec;
    return id * UINT64_C(0x9E3779B97F4A7C15) ^ file.stx_btime.tv_nsec;
}

static void note_undone(void *context) {
    verge__sqlite *c = context;
    c->was_undone = true;
}

void verge__sqlite_disconnect(verge__connection *connection) {
    verge__sqlite *c = own(connection);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(c->statements[i]);
    }
    for (int i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        (void)sqlite3_finalize(c->scans[i]);
    }
    verge__sq_queue_leave(c);
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

/* Finds out why a file cannot be made. errno does not say this: after the failure, SQLite has tried to open the file
 * for reading, which always gives ENOENT. */
static int explain_folder(const char *path) {
    char folder[4096];
    const char *end = strrchr(path, '/');
    (void)snprintf(folder, sizeof(folder), "%.*s", end == NULL ? 1 : (int)(end - path) + 1, end == NULL ? "." : path);
    if (access(folder, W_OK) == 0) {
        return -EACCES;
    }
    const int error = errno == ENOENT ? -ENOENT : -EACCES;
    verge__set_words("unable to make a file in %s: %s", folder, strerror(errno));
    return error;
}

int verge__sqlite_connect(const verge__access *access, verge__connection **ret_connection) {
    const char *path = access->url + strlen("sqlite:");
    if (*path == '\0' || *path == ':') {
        verge__set_words("a URL is sqlite:FILE. A database in memory is not durable");
        return -EINVAL;
    }
    struct stat file;
    if (!access->create && stat(path, &file) != 0 && errno == ENOENT) {
        verge__set_words("%s: there is no such file: run verge-durable init, or set the option create", path);
        return -ENOENT;
    }
    verge__sqlite *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__sqlite_store;
    c->file = file_of(path);
    if (c->file == NULL) {
        free(c);
        return -ENOMEM;
    }
    c->lock_ns = access->lock_ns;
    int code = sqlite3_open_v2(
        path, &c->db, SQLITE_OPEN_READWRITE | (access->create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_handler(c->db, wait_for_other_process, c);
        (void)sqlite3_wal_hook(c->db, note_log, c->file);
        (void)sqlite3_rollback_hook(c->db, note_undone, c);
    }
    int error = verge__sq_error_of(c->db, code);
    if (error == -EACCES && sqlite3_system_errno(c->db) == ENOENT) {
        error = explain_folder(path);
    }
    /* The journal mode is stored in the file. It is changed only if the file has tables of verge, or will get them. */
    bool is_ours = access->create;
    VERGE__THEN(error, is_ours ? 0 : verge__sq_has_tables(c, &is_ours));
    if (error == 0 && is_ours) {
        code = sqlite3_exec(c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL, NULL);
        error = verge__sq_error_of(c->db, code);
    }
    sqlite3_stmt *rollback; /* prepared now, because it is needed when there is no memory */
    VERGE__THEN(error, verge__sq_bind(c, ROLLBACK, NULL, 0, &rollback));
    if (error != 0) {
        verge__sqlite_disconnect(&c->base);
        return error;
    }
    c->base.server_id = file_id(path);
    *ret_connection = &c->base;
    return 0;
}

int verge__sqlite_borrow(void *transaction, verge__connection **ret_connection) {
    verge__sqlite *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__sqlite_store;
    c->db = transaction;
    if (sqlite3_get_autocommit(c->db)) {
        free(c);
        return -EINVAL; /* there is no transaction */
    }
    const int error = verge__sq_read_time(c);
    if (error != 0) {
        verge__sqlite_disconnect(&c->base);
        return error;
    }
    c->base.server_id = file_id(sqlite3_db_filename(c->db, "main"));
    *ret_connection = &c->base;
    return 0;
}

void *verge__sqlite_handle(verge__connection *connection) {
    return verge__sq_is_undone(own(connection)) ? NULL : own(connection)->db;
}

void verge__sqlite_rollback(verge__connection *connection) {
    verge__sqlite *c = own(connection);
    for (int tries = 0; !sqlite3_get_autocommit(c->db) && tries < ROLLBACK_TRIES_MAX; tries++) {
        (void)verge__sq_run(c, ROLLBACK, NULL, 0, NULL);
    }
    verge__sq_queue_leave(c);
}

int verge__sqlite_begin(verge__connection *connection) {
    verge__sqlite *c = own(connection);
    if (!sqlite3_get_autocommit(c->db)) {
        return -EHOSTUNREACH; /* the last transaction could not be rolled back. A disconnect rolls it back */
    }
    int is_moved = 0;
    (void)sqlite3_file_control(c->db, NULL, SQLITE_FCNTL_HAS_MOVED, &is_moved);
    if (is_moved != 0) {
        verge__set_words("%s: the file was deleted or replaced", sqlite3_db_filename(c->db, "main"));
        return -EHOSTUNREACH;
    }
    int error = verge__sq_queue_up(c);
    if (error != 0) {
        return error;
    }
    c->was_undone = false;
    error = verge__sq_run(c, BEGIN, NULL, 0, NULL);
    if (error == 0) {
        error = verge__sq_read_time(c);
    }
    if (error != 0) {
        verge__sqlite_rollback(connection);
    }
    return error;
}

int verge__sqlite_commit(verge__connection *connection, uint64_t mark) {
    (void)mark; /* not needed, since SQLite tells whether a commit has succeeded */
    verge__sqlite *c = own(connection);
    if (sqlite3_get_autocommit(c->db)) { /* SQLite has rolled back, perhaps before the last statement */
        verge__sq_queue_leave(c);
        return -EREMOTEIO;
    }
    const int error = verge__sq_run(c, COMMIT, NULL, 0, NULL);
    const bool is_committed = sqlite3_get_autocommit(c->db) && !c->was_undone; /* even if there is an error */
    if (error != 0 && !is_committed) {
        verge__sqlite_rollback(connection);
        return error;
    }
    verge__sq_queue_leave(c);
    return 0;
}

int verge__sqlite_savepoint(verge__connection *connection) {
    verge__sqlite *c = own(connection);
    if (sqlite3_get_autocommit(c->db)) {
        return -EIO; /* SQLite has rolled everything back: a savepoint would begin a transaction of its own */
    }
    return verge__sq_run(c, SAVEPOINT, NULL, 0, NULL);
}

int verge__sqlite_end_savepoint(verge__connection *connection, bool undo) {
    verge__sqlite *c = own(connection);
    if (sqlite3_get_autocommit(c->db)) {
        return -EIO; /* SQLite has rolled everything back: the disk is full, say */
    }
    const int error = undo ? verge__sq_run(c, SAVEPOINT_UNDO, NULL, 0, NULL) : 0;
    return error != 0 ? error : verge__sq_run(c, SAVEPOINT_RELEASE, NULL, 0, NULL);
}
