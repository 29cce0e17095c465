/* SPDX-License-Identifier: MIT */
/*
 * Limits of the whole cluster. The timers of a handler with such limits fire in batches of their own. Before such a
 * batch begins, the firer asks the store for a permit. It asks in a short transaction of its own, which locks the
 * handler's row of verge_control.
 *
 *   concurrency   A batch that runs or waits to run has a row in verge_permit, with a ticket: 1, 2, 3 and so on. The
 *                 batch may run if fewer than `concurrency` tickets are before its own. So batches run in the order in
 *                 which they have asked. The row is deleted when the batch ends. A batch that asks also deletes the
 *                 rows of batches whose node has died, of batches that run for longer than the run_ns of their permit,
 *                 and of batches that wait but have not asked again for VERGE__PERMIT_WAIT_NS.
 *   rate          The column next_run of verge_control holds the time at which the rate allows the next timer. A batch
 *                 reserves one such time for each of its timers, and moves next_run behind the last of them. If the
 *                 first of these times is in the future, the batch is held until then, and needs no other permit for
 *                 the rate.
 */
#define _GNU_SOURCE

#include <stdio.h>

#include "durable/firing.h"

/* A batch has at most as many timers as the rate allows in 1 / RATE_PARTS of a second, but at least one. */
#define RATE_PARTS 20

bool verge__needs_permit(const verge__handler *handler) {
    return handler->control.concurrency != 0 || handler->control.rate != 0;
}

uint32_t verge__permit_size(const verge__handler *handler) {
    const uint32_t rate = handler->control.rate;
    if (rate == 0) {
        return UINT32_MAX;
    }
    return handler->granted_count > 0 ? handler->granted_count : rate < RATE_PARTS ? 1 : rate / RATE_PARTS;
}

/* Called under the lock. Prepares a request for a permit for the firer's batch. Returns false if it needs no permit. */
static bool prepare(verge__firer *firer) {
    verge_durable *durable = firer->durable;
    verge__handler *handler = &durable->handlers[firer->fired[0].handler];
    const uint32_t count = (uint32_t)firer->target_count;
    const bool is_reserved = handler->granted_count >= count || handler->control.rate == 0;
    if (!verge__needs_permit(handler) || (handler->control.concurrency == 0 && is_reserved)) {
        handler->granted_count -= is_reserved && handler->control.rate != 0 ? count : 0;
        return false;
    }
    /* A slot that still has the ticket of a batch that had to wait is taken first: that ticket's turn comes sooner. */
    const uint64_t with_ticket = handler->ticket_slots & ~handler->slots;
    const uint64_t choice = with_ticket != 0 ? with_ticket : ~handler->slots;
    uint32_t slot = 0;
    while ((choice >> slot & 1) == 0) {
        slot++;
    }
    handler->slots |= UINT64_C(1) << slot;
    firer->permit = (verge__permit){
        .node = durable->node,
        .slot = slot,
        .timer_count = is_reserved ? 0 : count,
        .run_ns = handler->options.outside ? handler->options.run_ns : durable->options.lease_ns,
    };
    (void)snprintf(firer->permit.handler, sizeof(firer->permit.handler), "%s", handler->name);
    return true;
}

/* Called under the lock. Notes the store's answer. Returns whether the batch may run now. */
static bool note_answer(verge__firer *firer, int error) {
    verge_durable *durable = firer->durable;
    const verge__permit *permit = &firer->permit;
    verge__handler *handler = &durable->handlers[firer->fired[0].handler];
    const uint64_t now_ns = verge__store_now(durable);
    const bool has_rate = handler->control.rate != 0;
    handler->ticket_slots &= ~(UINT64_C(1) << permit->slot);
    if (error == 0 && permit->is_granted) {
        handler->granted_count += has_rate ? permit->timer_count : 0;
        if (permit->at_ns < now_ns + durable->options.precision_ns) {
            const uint32_t used = (uint32_t)firer->target_count;
            handler->granted_count -= used < handler->granted_count ? used : handler->granted_count;
            return true;
        }
    }
    handler->slots &= ~(UINT64_C(1) << permit->slot);
    if (error == 0 || verge__is_lost(error)) { /* lost: the row may be there; the next batch takes it over */
        handler->ticket_slots |= UINT64_C(1) << permit->slot;
    }
    handler->next_allowed_ns = error == 0 ? permit->at_ns : handler->next_allowed_ns;
    return false;
}

int verge__get_permit(verge__firer *firer, bool *ret_may_run) {
    verge_durable *durable = firer->durable;
    verge__lock(durable);
    firer->has_permit = prepare(firer);
    verge__unlock(durable);
    *ret_may_run = true;
    if (!firer->has_permit) {
        return 0;
    }
    int error = verge__begin(durable, &firer->connection);
    if (error == 0) {
        error = verge__firer_end(firer, durable->store->permit(firer->connection, &firer->permit), false);
    }
    verge__lock(durable);
    firer->has_permit = *ret_may_run = note_answer(firer, error);
    verge__unlock(durable);
    return error;
}

void verge__end_permit(verge__firer *firer) {
    verge_durable *durable = firer->durable;
    if (!firer->has_permit) {
        return;
    }
    const uint64_t until_ns = verge__local_now(durable) + durable->options.lease_ns;
    int error;
    do {
        error = verge__begin(durable, &firer->connection);
        if (error == 0) {
            error = verge__firer_end(firer, durable->store->keep_permit(firer->connection, &firer->permit, 0), false);
        }
        if (verge__is_lost(error)) {
            verge__disconnect(durable, &firer->connection);
        }
    } while (error != 0 && verge__firer_may_try_again(firer, until_ns));
    firer->has_permit = false;
    verge__lock(durable);
    durable->handlers[firer->fired[0].handler].slots &= ~(UINT64_C(1) << firer->permit.slot);
    verge__unlock(durable);
}
