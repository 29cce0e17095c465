/* SPDX-License-Identifier: MIT */
/* The store on PostgreSQL: the table of its functions. */
#define _GNU_SOURCE

#include "durable/postgres_internal.h"

const verge__store verge__postgres_store = {
    .name = "postgresql", .has_notifications = true, VERGE__STORE_FUNCTIONS(VERGE__STORE_FIELD, postgres)};
