/* SPDX-License-Identifier: MIT */
/*
 * Settings of handlers for the whole cluster: pauses and limits. The settings of a handler are a row of verge_control,
 * which anybody may change. When a node renews its lease, it reads these rows if they have changed. A notification
 * makes the node renew at once. A node reads the rows before it owns a shard, so it never runs a handler that was
 * paused before the node was opened.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "durable/durable_internal.h"

#define REVISION_BITS 40

/* ---- by the keeper ---- */

void verge__control_handler(verge_durable *durable, verge__handler *handler) {
    verge_durable_control control = {.is_paused = false};
    for (size_t i = 0; i < durable->control_count; i++) {
        if (strcmp(durable->controls[i].handler, handler->name) == 0) {
            control = durable->controls[i];
        }
    }
    if (control.rate != handler->control.rate || control.concurrency != handler->control.concurrency) {
        handler->granted_count = 0; /* the next batch asks for a new permit */
        handler->next_allowed_ns = 0;
    }
    handler->control = control;
}

int verge__read_controls(verge_durable *durable, uint64_t revision) {
    if (revision == durable->keeper.control_revision) {
        return 0;
    }
    verge_durable_control *controls = calloc(VERGE_DURABLE_HANDLERS_MAX, sizeof(*controls));
    const int found = controls == NULL
                          ? -ENOMEM
                          : durable->store->controls(durable->keeper.connection, controls, VERGE_DURABLE_HANDLERS_MAX);
    if (found < 0) {
        free(controls);
        return found;
    }
    verge__lock(durable);
    free(durable->controls);
    durable->controls = controls;
    durable->control_count = (size_t)found;
    durable->keeper.control_revision = revision;
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        verge__control_handler(durable, &durable->handlers[i]);
    }
    verge__count_limited(durable);
    (void)pthread_cond_broadcast(&durable->due); /* timers that were held may run now */
    verge__unlock(durable);
    return 0;
}

void verge__note_control(verge_durable *durable) {
    (void)verge__set_flag(durable, &durable->keeper.renew_now, true);
    verge__wake_keeper(durable);
}

/* ---- calls ---- */

static int control(verge_durable *durable, verge__control_change *change) {
    if (durable == NULL) {
        return -EINVAL;
    }
    if (!verge__is_handler_name(change->handler) || change->rate > 1000000000) {
        return verge__refuse(durable, -EINVAL, "%s",
                             change->rate > 1000000000 ? "a rate is 0 to 1000000000" : VERGE__HANDLER_WORDS);
    }
    if (!durable->has_rules) {
        return verge__refuse(durable, -EPROTO, VERGE__CONTRACT_WORDS);
    }
    change->revision = verge__random(durable) >> (64 - REVISION_BITS);
    verge__current *current = verge__current_of(durable);
    if (current != NULL) {
        const int error = verge__current_begin(current);
        return error != 0 ? error : durable->store->control(current->firer->connection, change);
    }
    verge__call call = {.kind = VERGE__CALL_CONTROL, .control = change};
    const int error = verge__perform(durable, &call);
    if (error == 0) {
        verge__note_control(durable);
    }
    return error;
}

int verge_durable_pause(verge_durable *durable, const char *handler) {
    return control(durable,
                   &(verge__control_change){.handler = handler, .is_paused = 1, .concurrency = -1, .rate = -1});
}

int verge_durable_resume(verge_durable *durable, const char *handler) {
    return control(durable,
                   &(verge__control_change){.handler = handler, .is_paused = 0, .concurrency = -1, .rate = -1});
}

int verge_durable_limit(verge_durable *durable, const char *handler, uint32_t concurrency, uint32_t rate) {
    return control(durable, &(verge__control_change){
                                .handler = handler, .is_paused = -1, .concurrency = concurrency, .rate = rate});
}

typedef struct verge__list_controls {
    verge_durable_control *ret_controls;
    size_t count;
} verge__list_controls;

static int read_list(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__list_controls *q = question;
    return durable->store->controls(connection, q->ret_controls, q->count);
}

int verge_durable_list_controls(verge_durable *durable, verge_durable_control *ret_controls, size_t count) {
    if (durable == NULL || (ret_controls == NULL && count > 0) || count > 100000) {
        return -EINVAL;
    }
    verge__list_controls question = {.ret_controls = ret_controls, .count = count};
    return verge__ask(durable, read_list, &question);
}
