/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "limits.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(VERGE_HAVE_SQLITE)
#include <sqlite3.h>
#endif
#if defined(VERGE_HAVE_POSTGRESQL)
#include <libpq-fe.h>
#endif

#include "durable/sql.h"
#include "verge/base.h"

void check(bool holds, const char *what) {
    if (!holds) {
        (void)fprintf(stderr, "verge-bench-durable: %s\n", what);
        exit(1);
    }
}

double now_s(void) {
    const verge_clock clock = verge_clock_monotonic();
    return (double)clock.now_ns(clock.context) / 1e9;
}

void nap_ms(unsigned ms) {
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* ---- SQL ---- */

void *open_sql(void) {
    void *handle = sql_open(url);
    if (!durable_is_postgres()) {
        check(sql_run(handle, "PRAGMA synchronous = FULL") == 0, "PRAGMA");
    }
    return handle;
}

void sql(void *handle, const char *text) {
    check(sql_run(handle, text) == 0, text);
}

/* Makes a table like that of verge, with as many indexes. */
static void make_raw(void *handle, const char *due_index) {
    char text[128];
    sql(handle, "DROP TABLE IF EXISTS raw");
    sql(handle, durable_is_postgres()
                    ? "CREATE TABLE raw (id bigint PRIMARY KEY, shard bigint, due bigint, attempt bigint, picked "
                      "bigint, handler text, name bytea, payload bytea)"
                    : "CREATE TABLE raw (id INTEGER PRIMARY KEY, shard INTEGER, due INTEGER, attempt INTEGER, "
                      "picked INTEGER, handler TEXT, name BLOB, payload BLOB)");
    (void)snprintf(text, sizeof(text), "CREATE INDEX raw_due ON raw (%s)", due_index);
    sql(handle, text);
    sql(handle, "CREATE UNIQUE INDEX raw_name ON raw (handler, name) WHERE name IS NOT NULL");
}

/* The limit of the store: batched INSERT and DELETE by key, on one connection. */
double measure_raw(void) {
    void *handle = open_sql();
    char text[512];
    make_raw(handle, "shard, due, id");
    uint64_t id = 0;
    const double began_s = now_s();
    while (now_s() - began_s < seconds) {
        const unsigned long long first = id + 1;
        id += BATCH;
        if (durable_is_postgres()) {
            (void)snprintf(
                text, sizeof(text),
                "INSERT INTO raw SELECT n, n & 15, n, 0, 0, 'bench', NULL, '\\x' FROM generate_series(%llu, %llu) n",
                first, (unsigned long long)id);
            sql(handle, text);
            (void)snprintf(text, sizeof(text),
                           "DELETE FROM raw WHERE id = ANY (ARRAY(SELECT generate_series(%llu, %llu)::bigint)) "
                           "RETURNING id, payload",
                           first, (unsigned long long)id);
            sql(handle, text);
            continue;
        }
#if defined(VERGE_HAVE_SQLITE)
        for (int part = 0; part < 2; part++) {
            static const char *const texts[] = {"INSERT INTO raw VALUES (?1, ?1 & 15, ?1, 0, 0, 'bench', NULL, '')",
                                                "DELETE FROM raw WHERE id = ?1 RETURNING id, payload"};
            sqlite3_stmt *statement = NULL;
            sql(handle, "BEGIN IMMEDIATE");
            check(sqlite3_prepare_v2(handle, texts[part], -1, &statement, NULL) == SQLITE_OK, "prepare");
            for (uint64_t i = first; i <= id; i++) {
                (void)sqlite3_bind_int64(statement, 1, (int64_t)i);
                while (sqlite3_step(statement) == SQLITE_ROW) {
                }
                (void)sqlite3_reset(statement);
            }
            (void)sqlite3_finalize(statement);
            sql(handle, "COMMIT");
        }
#endif
    }
    const double rate = (double)id / (now_s() - began_s);
    check(sql_number(handle, "SELECT count(*) FROM raw") == 0, "raw rows are left");
    sql_close(handle);
    return rate;
}

#if defined(VERGE_HAVE_POSTGRESQL)

void copy_batch(void *handle, uint64_t first) {
    char row[128];
    PGresult *result = PQexec(handle, "COPY verge_timer (id, shard, due, attempt, running, revision, period, policy, "
                                      "handler, name, payload, rule) FROM STDIN");
    check(PQresultStatus(result) == PGRES_COPY_IN, "COPY");
    PQclear(result);
    for (uint64_t i = first; i < first + BATCH; i++) {
        const int size = snprintf(
            row, sizeof(row), "%" PRIu64 "\t7\t4000000000000000000\t0\t0\t0\t0\t0\tbench\t\\N\t\t\\N\n", i << 8 | 7);
        check(PQputCopyData(handle, row, size) == 1, "COPY");
    }
    check(PQputCopyEnd(handle, NULL) == 1, "COPY");
    while ((result = PQgetResult(handle)) != NULL) {
        check(PQresultStatus(result) == PGRES_COMMAND_OK, "COPY");
        PQclear(result);
    }
}

/* A scheduler that polls, as db-scheduler and River do. Each worker claims 100 due timers by an UPDATE with SKIP
 * LOCKED, and completes each by a DELETE of its own. The index is (due), statements are prepared, tables are analysed,
 * and no worker ever has to wait for the next poll. */
static _Atomic(uint64_t) completed;
static _Atomic(bool) claims_are_over;

static void *claim_and_complete(void *argument) {
    PGconn *handle = sql_open(url);
    (void)argument;
    PQclear(
        PQprepare(handle, "claim",
                  "UPDATE raw SET picked = 1, attempt = attempt + 1 WHERE id IN (SELECT id FROM raw WHERE picked = "
                  "0 AND due <= (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint ORDER BY due LIMIT 100 "
                  "FOR UPDATE SKIP LOCKED) RETURNING id, handler, payload",
                  0, NULL));
    PQclear(PQprepare(handle, "complete", "DELETE FROM raw WHERE id = $1", 0, NULL));
    while (!claims_are_over) {
        PGresult *result = PQexecPrepared(handle, "claim", 0, NULL, NULL, NULL, 0);
        check(PQresultStatus(result) == PGRES_TUPLES_OK, PQerrorMessage(handle));
        for (int i = 0; i < PQntuples(result) && !claims_are_over; i++) {
            const char *id = PQgetvalue(result, i, 0);
            PGresult *done = PQexecPrepared(handle, "complete", 1, &id, NULL, NULL, 0);
            check(PQresultStatus(done) == PGRES_COMMAND_OK, PQerrorMessage(handle));
            PQclear(done);
            completed++;
        }
        PQclear(result);
    }
    sql_close(handle);
    return NULL;
}

double measure_claims(int worker_count) {
    void *handle = open_sql();
    char text[512];
    pthread_t workers[CLAIMERS];
    uint64_t id = 0;
    make_raw(handle, "due");
    (void)snprintf(text, sizeof(text),
                   "INSERT INTO raw SELECT n, 0, n, 0, 0, 'bench', NULL, '\\x' FROM generate_series(1, %d) n", BATCH);
    sql(handle, text);
    id += BATCH;
    sql(handle, "VACUUM ANALYZE raw");
    completed = 0;
    claims_are_over = false;
    for (int i = 0; i < worker_count; i++) {
        check(pthread_create(&workers[i], NULL, claim_and_complete, NULL) == 0, "thread");
    }
    double began_s = now_s();
    uint64_t before = 0;
    bool is_warm = false;
    while (!is_warm || now_s() - began_s < seconds) { /* a second to warm up */
        while (id - completed < (uint64_t)5 * BATCH) {
            (void)snprintf(text, sizeof(text),
                           "INSERT INTO raw SELECT n, 0, n, 0, 0, 'bench', NULL, '\\x' FROM generate_series(%llu, "
                           "%llu) n",
                           (unsigned long long)id + 1, (unsigned long long)id + BATCH);
            sql(handle, text);
            id += BATCH;
        }
        nap_ms(1);
        if (!is_warm && now_s() - began_s > 1) {
            is_warm = true;
            before = completed;
            began_s = now_s();
        }
    }
    const double rate = (double)(completed - before) / (now_s() - began_s);
    claims_are_over = true;
    for (int i = 0; i < worker_count; i++) {
        (void)pthread_join(workers[i], NULL);
    }
    sql_close(handle);
    return rate;
}

#endif
