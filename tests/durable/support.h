/* SPDX-License-Identifier: MIT */
/*
 * tests/durable/support.h - stores for tests. VERGE_DURABLE_STORE chooses: sqlite (the default) or postgresql, whose
 * server is described by the file VERGE_DURABLE_SERVER (tests/durable/server.sh).
 */
#ifndef VERGE_TESTS_DURABLE_SUPPORT_H
#define VERGE_TESTS_DURABLE_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "durable/sql.h"
#include "verge/durable.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

/* The URL of an empty database of that name. durable_drop removes the files of SQLite; databases of PostgreSQL go with
 * their server. */
const char *durable_url(const char *name);
void durable_drop(const char *url);

/* The options of a node that makes its tables, and has short leases and frequent scans. */
verge_durable_options durable_options(const char *url);
verge_durable *durable_open(const char *url);

/* Waits until the condition holds, and looks every millisecond. The limit of ten minutes only ends a hang. */
#define WAIT_UNTIL(condition) \
    do { \
        for (int verge_ms = 0; !(condition); verge_ms++) { \
            assert_true(verge_ms < 600000); \
            durable_nap(1); \
        } \
    } while (0)

void durable_nap(unsigned ms);

#endif
