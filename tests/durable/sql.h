/* SPDX-License-Identifier: MIT */
/* tests/durable/sql.h - SQL without verge, on the store that VERGE_DURABLE_STORE names; for tests and
 * bench/durable/main.c. */
#ifndef VERGE_TESTS_DURABLE_SQL_H
#define VERGE_TESTS_DURABLE_SQL_H

#include <stdbool.h>
#include <stdint.h>

bool durable_is_postgres(void);

/* Ends the process if the store cannot be opened. */
void *sql_open(const char *url);
void sql_close(void *handle);

/* Run SQL through a handle (sqlite3 *, PGconn *). sql_run returns 0 or -1, sql_number the first number of the first
 * row. */
int sql_run(void *handle, const char *text);
int64_t sql_number(void *handle, const char *text);

/* As sql_number, with a connection of its own. */
int64_t sql_ask(const char *url, const char *text);

#endif
