/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(VERGE_HAVE_SQLITE)
#include <sqlite3.h>
#endif
#if defined(VERGE_HAVE_POSTGRESQL)
#include <libpq-fe.h>
#endif

bool durable_is_postgres(void) {
    const char *store = getenv("VERGE_DURABLE_STORE");
    return store != NULL && strcmp(store, "postgresql") == 0;
}

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
            (void)fprintf(stderr, "%s\n", PQerrorMessage(pg));
            exit(1);
        }
        return pg;
    }
#endif
#if defined(VERGE_HAVE_SQLITE)
    sqlite3 *db = NULL;
    if (sqlite3_open(url + strlen("sqlite:"), &db) != SQLITE_OK) {
        (void)fprintf(stderr, "%s cannot be opened\n", url);
        exit(1);
    }
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
