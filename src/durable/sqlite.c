/* SPDX-License-Identifier: MIT */
/* The store on SQLite: the table of its functions. */
#define _GNU_SOURCE

#include "durable/sqlite_internal.h"

const verge__store verge__sqlite_store = {
    .name = "sqlite", .has_one_writer = true, VERGE__STORE_FUNCTIONS(VERGE__STORE_FIELD, sqlite)};
