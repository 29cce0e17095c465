/* SPDX-License-Identifier: MIT */
/* Settings of handlers for the whole cluster, and permits (permits.c). */
#define _GNU_SOURCE

#include <stdio.h>

#include "durable/sqlite_internal.h"

/* Binds a statement whose first parameter is the handler, and whose other parameters are numbers. */
static int bind(verge__sqlite *c, verge__sqlite_statement which, const char *handler, const int64_t *values, int count,
                sqlite3_stmt **ret) {
    int error = verge__sq_bind(c, which, NULL, 0, ret);
    VERGE__THEN(error, verge__sq_error_of(c->db, sqlite3_bind_text(*ret, 1, handler, -1, SQLITE_TRANSIENT)));
    for (int i = 0; i < count && error == 0; i++) {
        error = verge__sq_error_of(c->db, sqlite3_bind_int64(*ret, i + 2, values[i]));
    }
    return error;
}

/* Binds a statement as `bind` does, and runs it to its end. *ret_first gets the first column of the last row. Without a
 * row it is not set. */
static int run(verge__sqlite *c, verge__sqlite_statement which, const char *handler, const int64_t *values, int count,
               int64_t *ret_first) {
    sqlite3_stmt *statement = NULL;
    int error = bind(c, which, handler, values, count, &statement);
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        *ret_first = sqlite3_column_int64(statement, 0);
        error = 0;
    }
    return error;
}

#define RUN_OF(c, which, handler, ret_first, ...) \
    run((c), (which), (handler), (const int64_t[]){__VA_ARGS__}, \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (ret_first))

int verge__sqlite_control(verge__connection *connection, const verge__control_change *change) {
    int64_t ignored;
    return RUN_OF(own(connection), CONTROL, change->handler, &ignored, change->is_paused, change->concurrency,
                  change->rate, number(change->revision));
}

int verge__sqlite_controls(verge__connection *connection, verge_durable_control *ret_controls, size_t count) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int error = verge__sq_bind(c, LIST_CONTROLS, (const int64_t[]){number(count)}, 1, &statement);
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        verge_durable_control *control = &ret_controls[found++];
        const char *handler = (const char *)sqlite3_column_text(statement, 0);
        *control = (verge_durable_control){
            .is_paused = sqlite3_column_int64(statement, 1) != 0,
            .concurrency = (uint32_t)sqlite3_column_int64(statement, 2),
            .rate = (uint32_t)sqlite3_column_int64(statement, 3),
        };
        (void)snprintf(control->handler, sizeof(control->handler), "%s", handler == NULL ? "" : handler);
        error = 0;
    }
    return error != 0 ? error : found;
}

/* Gives the batch a ticket, if it has none. Sets is_granted. */
static int ask_for_ticket(verge__sqlite *c, verge__permit *permit, int64_t concurrency) {
    const int64_t now = number(c->base.now_ns);
    const int64_t until = now + number(VERGE__PERMIT_WAIT_NS);
    int64_t before = 0;
    int error = RUN_OF(c, PERMIT_EXPIRE, permit->handler, &before, now);
    VERGE__THEN(error, RUN_OF(c, PERMIT_QUEUE, permit->handler, &before, number(permit->node), permit->slot, until));
    VERGE__THEN(error, RUN_OF(c, PERMIT_BEFORE, permit->handler, &before, number(permit->node), permit->slot));
    permit->is_granted = before < concurrency;
    return error;
}

int verge__sqlite_permit(verge__connection *connection, verge__permit *permit) {
    verge__sqlite *c = own(connection);
    sqlite3_stmt *statement = NULL;
    const uint64_t now_ns = c->base.now_ns;
    int64_t is_paused = 0;
    int64_t concurrency = 0;
    int64_t rate = 0;
    uint64_t next_ns = 0;
    int error = bind(c, PERMIT_LIMITS, permit->handler, NULL, 0, &statement);
    while (error == 0 && (error = verge__sq_step(c, statement)) == 1) {
        is_paused = sqlite3_column_int64(statement, 0);
        concurrency = sqlite3_column_int64(statement, 1);
        rate = sqlite3_column_int64(statement, 2);
        next_ns = (uint64_t)sqlite3_column_int64(statement, 3);
        error = 0;
    }
    permit->is_granted = is_paused == 0;
    permit->at_ns = now_ns;
    if (error == 0 && permit->is_granted && concurrency != 0) {
        error = ask_for_ticket(c, permit, concurrency);
    }
    if (!permit->is_granted) {
        permit->at_ns = now_ns + VERGE__PERMIT_NAP_NS;
        return error;
    }
    if (error == 0 && rate != 0 && permit->timer_count != 0) {
        int64_t ignored;
        permit->at_ns = next_ns > now_ns ? next_ns : now_ns;
        error = RUN_OF(c, PERMIT_RATE, permit->handler, &ignored,
                       number(permit->at_ns) + permit->timer_count * (INT64_C(1000000000) / rate));
    }
    /* If the batch has to wait until at_ns, it asks again at that time, and keeps its ticket until then. */
    const uint64_t run_ns = permit->at_ns > now_ns ? permit->at_ns - now_ns + VERGE__PERMIT_WAIT_NS : permit->run_ns;
    return error != 0 || concurrency == 0 ? error : verge__sqlite_keep_permit(connection, permit, run_ns);
}

int verge__sqlite_keep_permit(verge__connection *connection, const verge__permit *permit, uint64_t run_ns) {
    verge__sqlite *c = own(connection);
    int64_t ignored;
    return RUN_OF(c, run_ns == 0 ? PERMIT_END : PERMIT_KEEP, permit->handler, &ignored, number(permit->node),
                  permit->slot, number(c->base.now_ns + run_ns));
}
