/* SPDX-License-Identifier: MIT */
/* Settings of handlers for the whole cluster, and permits (permits.c). */
#define _GNU_SOURCE

#include <stdio.h>

#include "durable/postgres_internal.h"

static void add_text(verge__parameters *p, const char *text) {
    add_bytes(p, text, strlen(text));
}

int verge__postgres_control(verge__connection *connection, const verge__control_change *change) {
    verge__postgres *c = own(connection);
    const verge__row told = {.id = VERGE__NO_TIMER, .handler = change->handler};
    const verge__row *const rows[] = {&told};
    verge__parameters p = {0};
    add_text(&p, change->handler);
    add_number(&p, (uint64_t)change->is_paused);
    add_number(&p, (uint64_t)change->concurrency);
    add_number(&p, (uint64_t)change->rate);
    add_number(&p, change->revision);
    const int error = verge__pg_tell(c, CONTROL, &p);
    return error != 0 ? error : verge__postgres_notify(connection, rows, 1);
}

int verge__postgres_controls(verge__connection *connection, verge_durable_control *ret_controls, size_t count) {
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, count);
    const int error = verge__pg_ask(own(connection), LIST_CONTROLS, &p, &result);
    if (error != 0) {
        return error;
    }
    const int found = PQntuples(result);
    for (int i = 0; i < found; i++) {
        ret_controls[i] = (verge_durable_control){
            .is_paused = number(result, i, 1) != 0,
            .concurrency = (uint32_t)number(result, i, 2),
            .rate = (uint32_t)number(result, i, 3),
        };
        (void)snprintf(ret_controls[i].handler, sizeof(ret_controls[i].handler), "%s", PQgetvalue(result, i, 0));
    }
    PQclear(result);
    return found;
}

/* Calls a function of the server (postgres_functions.c), in one round trip. */
int verge__postgres_permit(verge__connection *connection, verge__permit *permit) {
    verge__parameters p = {0};
    PGresult *result;
    add_text(&p, permit->handler);
    add_number(&p, permit->node);
    add_number(&p, permit->slot);
    add_number(&p, permit->timer_count);
    add_number(&p, permit->run_ns);
    const int error = verge__pg_ask(own(connection), PERMIT, &p, &result);
    if (error == 0) {
        permit->is_granted = number(result, 0, 0) != 0;
        permit->at_ns = number(result, 0, 1);
        PQclear(result);
    }
    return error;
}

int verge__postgres_keep_permit(verge__connection *connection, const verge__permit *permit, uint64_t run_ns) {
    verge__parameters p = {0};
    add_text(&p, permit->handler);
    add_number(&p, permit->node);
    add_number(&p, permit->slot);
    if (run_ns != 0) {
        add_number(&p, run_ns);
    }
    return verge__pg_tell(own(connection), run_ns == 0 ? PERMIT_END : PERMIT_KEEP, &p);
}
