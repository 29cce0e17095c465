/* SPDX-License-Identifier: MIT */
/* One firing of a timer: calls the handler on this thread, and writes what its result means for the row. */
#define _GNU_SOURCE

#include "durable/firing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "durable/recurring.h"

size_t verge__fired_size(void) {
    return sizeof(verge__fired);
}

/* ---- the handler that runs on this thread ---- */

static _Thread_local verge__current *running;

verge__current *verge__current_of(const verge_durable *durable) {
    return running != NULL && running->firer->durable == durable && running->has_transaction ? running : NULL;
}

int verge__current_begin(verge__current *current) {
    if (current->has_savepoint || current->is_broken) {
        return current->is_broken ? -EIO : 0;
    }
    verge__connection *connection = current->firer->connection;
    const int error = connection->store->savepoint(connection);
    current->has_savepoint = error == 0;
    current->is_broken = error != 0;
    return error;
}

void *verge_durable_transaction(const verge_durable_firing *firing) {
    verge__current *current = firing == NULL ? NULL : firing->internal;
    if (current == NULL || !current->has_transaction) {
        return NULL;
    }
    if (verge__current_begin(current) != 0) {
        return NULL; /* the store has failed: writes of the handler would not be part of the transaction */
    }
    return current->firer->connection->store->handle(current->firer->connection);
}

void verge_durable_retry_after(const verge_durable_firing *firing, uint64_t delay_ns) {
    if (firing != NULL && firing->internal != NULL) {
        verge__current *current = firing->internal;
        current->retry_after_ns = delay_ns > VERGE__TIME_MAX_NS / 4 ? VERGE__TIME_MAX_NS / 4 : delay_ns;
    }
}

/* ---- firer->back: rows of timers that handlers have started or moved, and rows that the batch inserts ---- */

int verge__keep_back(verge__firer *firer, const verge__row *row) {
    if (firer->back_count == firer->back_capacity) {
        const size_t capacity = firer->back_capacity == 0 ? 64 : firer->back_capacity * 2;
        verge__row *larger = realloc(firer->back, capacity * sizeof(*larger));
        if (larger == NULL) {
            return -ENOMEM;
        }
        firer->back = larger;
        firer->back_capacity = capacity;
    }
    firer->back[firer->back_count++] = *row;
    return 0;
}

/* Keeps what the window (the timers that are due soon: window.c) needs of a row. The row's pointers lead to memory of
 * the caller. So the handler's name is kept only if the handler is registered on this node, which has a copy of it. */
int verge__current_scheduled(verge__current *current, const verge__row *row) {
    verge_durable *durable = current->firer->durable;
    verge__row kept = {
        .id = row->id,
        .due_ns = row->due_ns,
        .handler = "",
        .outcome = row->outcome,
        .is_moved = row->is_moved,
        .is_announced = row->is_announced,
    };
    verge__lock(durable);
    const uint32_t handler = verge__handler_index(durable, row->handler);
    if (handler != VERGE__NO_HANDLER) {
        kept.handler = durable->handlers[handler].name; /* handlers do not move in memory */
    }
    verge__unlock(durable);
    return verge__keep_back(current->firer, &kept);
}

static bool has_key(const verge__row *row, const char *handler, const void *key, size_t key_size) {
    return row->key != NULL && row->key_size == key_size && memcmp(row->key, key, key_size) == 0 &&
           strcmp(row->handler, handler) == 0;
}

const verge__row *verge__find_in_batch(const verge__current *current, uint64_t id, const char *handler, const void *key,
                                       size_t key_size) {
    const verge__firer *firer = current->firer;
    for (size_t i = 0; i < firer->target_count; i++) {
        const verge__fired *fired = &firer->fired[i];
        const bool has_ended = fired->ending == ENDS_DONE || fired->ending == ENDS_DEAD;
        if (fired->is_there && !has_ended &&
            (key == NULL ? fired->row.id == id : has_key(&fired->row, handler, key, key_size))) {
            return &fired->row;
        }
    }
    return NULL;
}

/* ---- one firing ---- */

void verge__visit_fired(void *context, const verge__row *row) {
    verge__firer *firer = context;
    size_t i = firer->fired_count; /* its index, if rows come in the order of the targets */
    for (size_t tries = 0; tries < firer->target_count; tries++, i++) {
        i = i >= firer->target_count ? 0 : i;
        if (firer->targets[i].id == row->id && !firer->fired[i].is_there) {
            break;
        }
    }
    if (i >= firer->target_count || firer->targets[i].id != row->id) {
        return;
    }
    verge__fired *fired = &firer->fired[i];
    fired->row = *row;
    fired->row.handler = firer->durable->handlers[fired->handler].name;
    const size_t rule_size = row->rule == NULL ? 0 : strlen(row->rule) + 1;
    char *memory = malloc(row->key_size + row->payload_size + rule_size + 1);
    if (memory == NULL) {
        return; /* there is no memory: the row counts as missing, and look_for_missing makes the batch fail */
    }
    memcpy(memory, row->payload, row->payload_size);
    fired->row.payload = memory;
    if (row->key != NULL) {
        memcpy(memory + row->payload_size, row->key, row->key_size);
        fired->row.key = memory + row->payload_size;
    }
    if (row->rule != NULL) {
        fired->row.rule = memcpy(memory + row->payload_size + row->key_size, row->rule, rule_size);
    }
    fired->memory = memory;
    fired->is_there = true;
    firer->fired_count = i + 1;
}

static uint64_t backoff(verge_durable *durable, const verge_durable_handler_options *options, uint32_t attempt) {
    uint64_t wait_ns = options->backoff_first_ns;
    for (uint32_t i = 1; i < attempt && wait_ns < options->backoff_max_ns; i++) {
        wait_ns = wait_ns > options->backoff_max_ns / 2 ? options->backoff_max_ns : wait_ns * 2;
    }
    return wait_ns / 2 + verge__random(durable) % (wait_ns / 2 + 1);
}

const char *verge__verdict_before(const verge_durable_handler_options *options, const verge__fired *fired,
                                  uint32_t attempt, uint64_t now_ns) {
    if (options->attempts_max != 0 && attempt > options->attempts_max) {
        return "its process ended in each attempt";
    }
    if (options->age_max_ns != 0 && now_ns > fired->row.due_ns + options->age_max_ns) {
        return "too old";
    }
    return NULL;
}

/* Computes the next tick of a recurring timer, or VERGE_NEVER if there is none. Returns 0, or what verge__rule_next
 * returned. */
static int next_tick(const verge__row *row, uint64_t now_ns, uint64_t *ret_next_ns, uint64_t *ret_missed) {
    verge_interval interval;
    verge_tick tick = {0};
    *ret_next_ns = VERGE_NEVER;
    *ret_missed = 0;
    if (row->rule != NULL) {
        return verge__rule_next(row->rule, row->policy, row->due_ns, now_ns, ret_next_ns, ret_missed);
    }
    if (row->period_ns == 0 ||
        verge_interval_init(&interval, row->due_ns, row->period_ns, (verge_interval_policy)row->policy) != 0 ||
        verge_interval_next(&interval, now_ns, &tick) != 1) {
        return 0;
    }
    *ret_missed = tick.missed;
    const uint64_t next_ns = interval.deadline_ns;
    *ret_next_ns = next_ns > VERGE__TIME_MAX_NS ? VERGE_NEVER : next_ns;
    return 0;
}

int verge__make_dead(verge__firer *firer, verge__fired *fired, const char *reason) {
    fired->ending = ENDS_DEAD;
    fired->reason = reason;
    return firer->connection->store->make_dead(firer->connection, &fired->row, reason);
}

static void fire_again(verge__fired *fired, uint64_t due_ns, uint32_t attempt) {
    fired->ending = ENDS_AGAIN;
    fired->again_ns = due_ns;
    fired->row.due_ns = due_ns;
    fired->row.attempt = attempt;
}

void verge__run_handler(verge__firer *firer, const verge__handler *handler, verge__fired *fired,
                        verge__current *current, verge__run *run) {
    verge_durable *durable = firer->durable;
    verge_durable_firing firing = {
        .durable = durable,
        .id = fired->row.id,
        .handler = handler->name,
        .key = fired->row.key,
        .key_size = fired->row.key_size,
        .payload = fired->row.payload,
        .payload_size = fired->row.payload_size,
        .due_ns = fired->row.due_ns,
        .now_ns = run->now_ns,
        .attempt = run->attempt,
        .context = handler->context,
        .internal = current,
    };
    run->retry_after_ns = VERGE_NEVER;
    run->has_no_zone = next_tick(&fired->row, run->now_ns, &run->next_tick_ns, &firing.missed) != 0;
    if (run->has_no_zone) {
        run->verdict = VERGE_DURABLE_RETRY;
        return;
    }
    fired->has_run = true;
    current->row = &fired->row;
    fired->late_ns = run->now_ns - fired->row.due_ns;
    running = current;
    const uint64_t began_ns = verge__local_now(durable);
    run->verdict = handler->function(&firing);
    const uint64_t took_ns = verge__local_now(durable) - began_ns;
    running = NULL;
    if (took_ns >= firer->slowest_ns && !handler->options.outside) {
        firer->slowest_ns = took_ns;
        firer->slowest_id = fired->row.id;
        firer->slowest_handler = fired->handler;
    }
    run->retry_after_ns = current->retry_after_ns;
}

int verge__apply_verdict(verge__firer *firer, const verge__handler *handler, verge__fired *fired,
                         const verge__run *run) {
    const verge_durable_handler_options *options = &handler->options;
    if (run->verdict == VERGE_DURABLE_DONE) {
        fired->ending = ENDS_DONE;
        if (run->next_tick_ns != VERGE_NEVER) {
            fire_again(fired, run->next_tick_ns, 0);
        }
        return 0;
    }
    fired->row.attempt = run->attempt;
    if (run->verdict == VERGE_DURABLE_RETRY && (options->attempts_max == 0 || run->attempt < options->attempts_max)) {
        const uint64_t wait_ns =
            run->retry_after_ns != VERGE_NEVER ? run->retry_after_ns : backoff(firer->durable, options, run->attempt);
        verge__lock(firer->durable);
        const uint64_t store_ns = verge__store_now(firer->durable); /* the handler may have taken long */
        verge__unlock(firer->durable);
        fire_again(fired, (store_ns > run->now_ns ? store_ns : run->now_ns) + wait_ns, run->attempt);
        return 0;
    }
    return verge__make_dead(firer, fired,
                            run->has_no_zone                      ? "its time zone cannot be read"
                            : run->verdict == VERGE_DURABLE_RETRY ? "its attempts are used up"
                                                                  : "its handler said so");
}

uint64_t verge__fired_at(const verge__firer *firer, const verge__fired *fired) {
    const uint64_t now_ns = firer->connection->now_ns;
    return now_ns > fired->row.due_ns ? now_ns : fired->row.due_ns;
}

int verge__fire_inside(verge__firer *firer, const verge__handler *handler, verge__fired *fired) {
    verge__connection *connection = firer->connection;
    const bool is_counted = fired->counted_attempt != 0 && fired->row.attempt == fired->counted_attempt;
    verge__run run = {.attempt = fired->row.attempt + !is_counted, .now_ns = verge__fired_at(firer, fired)};
    const char *reason = verge__verdict_before(&handler->options, fired, run.attempt, run.now_ns);
    if (reason != NULL) {
        fired->row.attempt = run.attempt - 1; /* this attempt does not begin, even if it was counted */
        return verge__make_dead(firer, fired, reason);
    }
    verge__current current = {
        .firer = firer,
        .has_transaction = true,
        .retry_after_ns = VERGE_NEVER,
        .back_mark = firer->back_count,
    };
    verge__run_handler(firer, handler, fired, &current, &run);
    if (current.is_broken) {
        return -EIO;
    }
    if (current.has_savepoint) {
        int error = connection->store->end_savepoint(connection, run.verdict != VERGE_DURABLE_DONE);
        if (error == -EAGAIN) { /* a statement of the handler has failed, but the handler returned DONE */
            run.verdict = VERGE_DURABLE_RETRY;
            error = connection->store->end_savepoint(connection, true);
        }
        if (error != 0) {
            return error;
        }
    }
    if (run.verdict != VERGE_DURABLE_DONE) {
        firer->back_count = current.back_mark;
    }
    return verge__apply_verdict(firer, handler, fired, &run);
}
