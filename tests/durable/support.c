/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(VERGE_HAVE_SQLITE)
#include <sqlite3.h>
#endif
#if defined(VERGE_HAVE_POSTGRESQL)
#include <libpq-fe.h>
#endif

#include "support/cmocka.h"

bool durable_is_postgres(void) {
    const char *store = getenv("VERGE_DURABLE_STORE");
    return store != NULL && strcmp(store, "postgresql") == 0;
}

static const char *server_folder(void) {
    static char folder[256];
    const char *file = getenv("VERGE_DURABLE_SERVER");
    FILE *stream = file == NULL ? NULL : fopen(file, "r");
    if (stream == NULL || fgets(folder, sizeof(folder), stream) == NULL) {
        (void)fprintf(stderr, "VERGE_DURABLE_SERVER names no server\n");
        exit(1);
    }
    (void)fclose(stream);
    return folder;
}

const char *durable_url(const char *name) {
    static char url[512];
    if (!durable_is_postgres()) {
        (void)snprintf(url, sizeof(url), "sqlite:/tmp/verge-durable-%s-%ld.db", name, (long)getpid());
        durable_drop(url);
        return url;
    }
    char text[256];
    char server[300];
    (void)snprintf(server, sizeof(server), "postgresql:///postgres?user=verge&host=%s", server_folder());
    void *handle = sql_open(server);
    (void)snprintf(text, sizeof(text), "DROP DATABASE IF EXISTS %s_%ld WITH (FORCE)", name, (long)getpid());
    assert_int_equal(sql_run(handle, text), 0);
    (void)snprintf(text, sizeof(text), "CREATE DATABASE %s_%ld", name, (long)getpid());
    assert_int_equal(sql_run(handle, text), 0);
    sql_close(handle);
    (void)snprintf(url, sizeof(url), "postgresql:///%s_%ld?user=verge&host=%s", name, (long)getpid(), server_folder());
    return url;
}

void durable_drop(const char *url) {
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    if (durable_is_postgres()) {
        return; /* it goes with the server */
    }
    for (int i = 0; i < 4; i++) {
        char path[600];
        (void)snprintf(path, sizeof(path), "%s%s", url + strlen("sqlite:"), endings[i]);
        (void)unlink(path);
    }
}

verge_durable_options durable_options(const char *url) {
    verge_durable_options options;
    (void)verge_durable_options_init(&options);
    options.url = url;
    options.create = true;
    options.shard_count = 16;
    options.lease_ns = 2 * S;
    options.rescan_ns = 300 * MS;
    options.horizon_ns = 2 * S;
    return options;
}

verge_durable *durable_open(const char *url) {
    const verge_durable_options options = durable_options(url);
    verge_durable *durable = NULL;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    return durable;
}

void durable_nap(unsigned ms) {
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* ---- SQL ---- */

#if defined(VERGE_HAVE_SQLITE)

static int64_t sqlite_ask(sqlite3 *db, const char *text) {
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return value;
}

#endif

int sql_run(void *handle, const char *text) {
#if defined(VERGE_HAVE_POSTGRESQL)
    if (durable_is_postgres()) {
        PGresult *result = PQexec(handle, text);
        const ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : -1;
    }
#endif
#if defined(VERGE_HAVE_SQLITE)
    return sqlite3_exec(handle, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
#else
    return -1;
#endif
}

int64_t sql_number(void *handle, const char *text) {
#if defined(VERGE_HAVE_POSTGRESQL)
    if (durable_is_postgres()) {
        PGresult *result = PQexec(handle, text);
        const bool has_row = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0;
        const int64_t value = has_row ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
        PQclear(result);
        return value;
    }
#endif
#if defined(VERGE_HAVE_SQLITE)
    return sqlite_ask(handle, text);
#else
    return -1;
#endif
}

void *sql_open(const char *url) {
#if defined(VERGE_HAVE_POSTGRESQL)
    if (durable_is_postgres()) {
        PGconn *pg = PQconnectdb(url);
        if (PQstatus(pg) != CONNECTION_OK) {
            fail_msg("%s", PQerrorMessage(pg));
        }
        return pg;
    }
#endif
#if defined(VERGE_HAVE_SQLITE)
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(url + strlen("sqlite:"), &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 60000);
    return db;
#else
    return NULL;
#endif
}

void sql_close(void *handle) {
#if defined(VERGE_HAVE_POSTGRESQL)
    if (durable_is_postgres()) {
        PQfinish(handle);
        return;
    }
#endif
#if defined(VERGE_HAVE_SQLITE)
    (void)sqlite3_close(handle);
#endif
}

int64_t sql_ask(const char *url, const char *text) {
    void *handle = sql_open(url);
    const int64_t value = sql_number(handle, text);
    sql_close(handle);
    return value;
}
