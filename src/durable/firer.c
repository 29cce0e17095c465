/* SPDX-License-Identifier: MIT */
/* Firers: P4 (docs/DURABLE.md). A batch of due timers fires in one transaction:
 *
 *     BEGIN
 *     take    deletes and returns the rows that are due, if their shard still has the epoch that this node knows
 *     handlers run, each with a savepoint if it uses the transaction, so that a handler that fails undoes only its own
 *             writes
 *     insert  the rows of timers that fire again: retries, next ticks
 *     COMMIT
 *
 * If the process dies before COMMIT, nothing has changed. A handler that is registered `outside` runs between two
 * transactions instead. The first one claims the timer: it counts the attempt and sets the due time to run_ns from now.
 * The second one completes the timer: it deletes the row, and inserts it again for a retry or the next tick. If the
 * timer was claimed again, moved or cancelled since, the second one changes nothing.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "durable/firing.h"

/* The _NAP_NS say how long timers wait before they are tried again, and the _NAP_MS how long a firer sleeps. After the
 * store was lost, a firer sleeps for LOST_NAP_NS, too. */
#define BUSY_NAP_NS UINT64_C(5000000)      /* after another transaction was in the way */
#define LOCKED_NAP_NS UINT64_C(50000000)   /* after another transaction had locked the row */
#define LOST_NAP_NS UINT64_C(100000000)    /* after the store was lost */
#define FAILED_NAP_NS UINT64_C(1000000000) /* after the store refused, for example because its disk is full */
#define COMPLETE_NAP_MS 50                 /* between two tries to complete a timer */
#define FAILED_STEP_NAP_MS 5               /* after a step that failed, if the store was not lost */

/* ---- what is due ---- */

/* The batch that a firer puts together. */
typedef struct verge__plan {
    uint64_t now_ns;
    bool is_outside;
    bool is_full;                                 /* no timer may be added later */
    bool has_handler[VERGE_DURABLE_HANDLERS_MAX]; /* whether the batch has a timer of the handler */
} verge__plan;

/* Returns whether a timer of the handler may fire in one batch with the timers that were added already. A timer whose
 * handler runs outside is claimed alone, just before it runs. A handler with limits in the cluster has batches of its
 * own. */
static bool may_share(const verge__firer *firer, const verge__handler *handler) {
    if (firer->target_count == 0) {
        return true;
    }
    const verge__handler *first = &firer->durable->handlers[firer->fired[0].handler];
    if (first->options.outside || handler->options.outside) {
        return false;
    }
    return !(verge__needs_permit(first) || verge__needs_permit(handler)) ||
           (first == handler && firer->target_count < verge__permit_size(handler));
}

/* Returns whether a timer of the handler may be added to the batch. */
static bool may_join(const verge__firer *firer, const verge__handler *handler, const verge__plan *plan) {
    const verge_durable *durable = firer->durable;
    return may_share(firer, handler) &&
           verge__may_run(durable, handler, plan->has_handler[handler - durable->handlers], plan->now_ns);
}

static void add_target(verge__firer *firer, uint32_t index, verge__plan *plan) {
    verge_durable *durable = firer->durable;
    const verge__hint *hint = &durable->window.hints[index];
    verge__handler *handler = &durable->handlers[hint->handler];
    const size_t i = firer->target_count++;
    firer->batch[i] = index;
    firer->targets[i] = (verge__target){
        .id = hint->id,
        .epoch = durable->epochs[verge__shard_of(hint->id)],
    };
    firer->run_ns[i] = handler->options.run_ns;
    firer->fired[i] =
        (verge__fired){.ending = ENDS_GONE, .handler = hint->handler, .counted_attempt = hint->counted_attempt};
    plan->is_outside = handler->options.outside;
    plan->is_full = handler->options.outside || verge__needs_permit(handler);
    verge__note_run(handler, plan->now_ns);
    if (!plan->has_handler[hint->handler]) {
        plan->has_handler[hint->handler] = true;
        handler->running++;
    }
}

/* Under the lock: returns whether this firer must wait for another one. */
static bool is_held(const verge_durable *durable) {
    return (durable->is_careful && durable->is_careful_running) || durable->is_baton_taken;
}

/* Under the lock: adds due timers to the batch. */
static void fill_batch(verge__firer *firer, verge__plan *plan) {
    verge_durable *durable = firer->durable;
    verge__window *window = &durable->window;
    plan->now_ns = verge__store_now(durable);
    if (durable->is_stopping || plan->now_ns == 0 || (durable->is_careful && durable->is_careful_running)) {
        return;
    }
    const size_t limit = durable->batch_limit < durable->options.batch ? durable->batch_limit : durable->options.batch;
    const size_t room = limit > firer->target_count ? limit - firer->target_count : 0;
    verge__release_held(durable, plan->now_ns);
    const size_t count = room == 0 ? 0 : verge__window_poll(window, plan->now_ns, firer->due, room);
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)(uintptr_t)firer->due[i].data;
        verge__hint *hint = &window->hints[index];
        VERGE__INVARIANT(hint->state == VERGE__HINT_WAITING, "V1: what comes out of the wheel has waited");
        hint->state = VERGE__HINT_FIRING;
        verge__handler *handler = &durable->handlers[hint->handler];
        handler->released_count -= hint->is_released;
        hint->is_released = false;
        if (durable->epochs[verge__shard_of(hint->id)] == 0) {
            verge__window_drop(durable, index);
        } else if (may_join(firer, handler, plan)) {
            add_target(firer, index, plan);
        } else if (verge__has_limits(handler)) {
            verge__window_hold(durable, index, false);
        } else { /* the batch is for another handler alone */
            verge__window_file(durable, index, plan->now_ns);
        }
    }
    firer->is_careful |= durable->is_careful && firer->target_count > 0;
    durable->is_careful_running |= firer->is_careful;
    durable->outside_running += firer->target_count > 0 && plan->is_outside;
}

/* Takes the baton if there are timers for a batch. Only one firer at a time begins the transaction of a batch. The next
 * firer gets the timers that do not fit into this batch. */
static bool take_baton(verge__firer *firer, verge__plan *plan) {
    verge_durable *durable = firer->durable;
    firer->target_count = 0;
    verge__lock(durable);
    if (!is_held(durable)) {
        fill_batch(firer, plan);
    }
    firer->has_baton = firer->target_count > 0;
    durable->is_baton_taken |= firer->has_baton;
    verge__unlock(durable);
    return firer->has_baton;
}

/* Under the lock: if other firers have to wait for this one (is_careful), lets them go on. */
static void end_careful(verge__firer *firer) {
    verge_durable *durable = firer->durable;
    if (firer->is_careful) {
        durable->is_careful_running = firer->is_careful = false;
        (void)pthread_cond_broadcast(&durable->due);
    }
}

static void pass_baton(verge__firer *firer) {
    if (firer->has_baton) {
        verge__lock(firer->durable);
        firer->has_baton = firer->durable->is_baton_taken = false;
        (void)pthread_cond_broadcast(&firer->durable->due);
        verge__unlock(firer->durable);
    }
}

/* ---- a batch in its transaction ---- */

/* Finds out why targets got no row. The row may be gone. It may not be due yet, if the timer was moved or the store's
 * clock was set back. Another transaction may have locked it, or its shard may belong to another node. (This
 * transaction has locked the shards that are still ours, so their epochs cannot change.) One call of the store asks for
 * all such targets. There may be thousands of them: a scan that overlaps with batches adds hints for rows that have
 * been fired meanwhile. */
static int look_for_missing(verge__firer *firer) {
    verge__connection *connection = firer->connection;
    size_t missing_count = 0;
    for (size_t i = 0; i < firer->target_count; i++) {
        const verge__fired *fired = &firer->fired[i];
        if (!fired->is_there && fired->row.id != 0) {
            return -ENOMEM; /* there was a row, but no memory for its copy */
        }
        if (!fired->is_there) {
            firer->missing[missing_count++] = (verge__change){.id = firer->targets[i].id};
        }
    }
    const int error = missing_count == 0 ? 0 : connection->store->probe(connection, firer->missing, missing_count);
    const verge__change *missing = firer->missing;
    for (size_t i = 0; i < firer->target_count && error == 0; i++) {
        verge__fired *fired = &firer->fired[i];
        if (fired->is_there) {
            continue;
        }
        if (missing->outcome == 0) {
            const bool is_early = missing->due_ns > connection->now_ns;
            const bool is_locked = !is_early && missing->epoch == firer->targets[i].epoch;
            fired->ending = is_early ? ENDS_EARLY : is_locked ? ENDS_LOCKED : ENDS_GONE;
            fired->again_ns = is_early    ? missing->due_ns
                              : is_locked ? connection->now_ns + LOCKED_NAP_NS
                                          : 1; /* the shard belongs to another node; 0: no row (count_ending) */
        }
        missing++;
    }
    return error;
}

/* After the insert: gives up timers that could not be inserted again, because another timer got their key meanwhile (by
 * SQL in the handler's transaction, say). */
static int bury_keyless(verge__firer *firer) {
    const verge__row *row = &firer->back[firer->scheduled_count];
    int error = 0;
    for (size_t i = 0; i < firer->target_count && error == 0; i++) {
        verge__fired *fired = &firer->fired[i];
        if (fired->ending == ENDS_AGAIN && (row++)->outcome != 0) {
            error = verge__make_dead(firer, fired, "another timer has its key");
        }
    }
    return error;
}

static int insert_again(verge__firer *firer) {
    verge__connection *connection = firer->connection;
    const size_t first = firer->scheduled_count = firer->back_count;
    for (size_t i = 0; i < firer->target_count; i++) {
        verge__fired *fired = &firer->fired[i];
        if (fired->ending == ENDS_AGAIN) {
            const int error = verge__keep_back(firer, &fired->row);
            if (error != 0) {
                return error;
            }
        }
    }
    const size_t count = firer->back_count - first;
    if (count == 0) {
        return 0;
    }
    int error = connection->store->insert(connection, firer->back + first, count);
    VERGE__THEN(error, bury_keyless(firer));
    return error != 0 ? error : verge__notify_near(firer->durable, connection, firer->back + first, count);
}

static int fire_batch(verge__firer *firer) {
    verge_durable *durable = firer->durable;
    const verge__store *store = durable->store;
    verge__connection *connection = firer->connection;
    verge__failpoint("fire.began");
    int error = store->take(connection, firer->targets, firer->target_count, verge__visit_fired, firer);
    verge__failpoint("fire.taken");
    VERGE__THEN(error, look_for_missing(firer));
    for (size_t i = 0; i < firer->target_count && error == 0; i++) {
        verge__fired *fired = &firer->fired[i];
        if (fired->is_there) {
            error = verge__fire_inside(firer, &durable->handlers[fired->handler], fired);
        }
    }
    verge__failpoint("fire.handled");
    VERGE__THEN(error, insert_again(firer));
    verge__failpoint("fire.inserted");
    return error;
}

/* If a commit gets no answer, its mark in the store tells whether it succeeded (store.h). The commit of a batch needs
 * no mark: the batch is fired once more; if the commit had succeeded, the repeated batch finds no rows, or rows that
 * are due later. The commit of a claim has a mark (must_know). Otherwise the last attempt of a timer could be counted
 * without a call of its handler. */
int verge__firer_end(verge__firer *firer, int error, bool must_know) {
    verge_durable *durable = firer->durable;
    if (error != 0) {
        durable->store->rollback(firer->connection);
        return error;
    }
    const uint64_t began_ns = verge__local_now(durable);
    error = durable->store->commit(firer->connection, must_know ? verge__new_mark(durable) : 0);
    if (error == 0) {
        verge__note_commit(durable, began_ns);
    }
    return error;
}

/* Counts the attempt in a commit of its own, for a batch of one timer after a crash: this timer may have killed the
 * process. If the batch then fails before the handler is called, or another transaction locks the row, the attempt is
 * kept in the hint, and the next batch of the timer does not count another one. */
static int count_attempt(verge__firer *firer) {
    const verge__store *store = firer->durable->store;
    uint32_t *counted = &firer->fired[0].counted_attempt;
    const int error =
        verge__firer_end(firer, store->count_attempt(firer->connection, &firer->targets[0], counted), false);
    verge__failpoint("attempt.counted");
    return error != 0 ? error : verge__begin(firer->durable, &firer->connection);
}

/* ---- outside of a transaction ---- */

static int complete(verge__firer *firer, const verge__handler *handler, const verge__run *run) {
    const verge__store *store = firer->durable->store;
    verge__fired *fired = &firer->fired[0];
    verge__change change = {.id = fired->row.id, .revision = fired->row.revision};
    int error = verge__begin(firer->durable, &firer->connection);
    if (error != 0) {
        return error;
    }
    error = store->complete(firer->connection, &change, 1);
    verge__failpoint("complete.deleted");
    if (error == 0 && change.outcome == 0) {
        verge__row row = fired->row; /* keep the row as it was claimed: the completion may be tried again */
        firer->back_count = 0;
        error = verge__apply_verdict(firer, handler, fired, run);
        VERGE__THEN(error, insert_again(firer));
        fired->row = error != 0 ? row : fired->row;
    } else {
        fired->ending = ENDS_GONE; /* the timer was cancelled or moved, or claimed again */
        fired->again_ns = 0;       /* a try before may have set it */
    }
    error = verge__firer_end(firer, error, false);
    verge__failpoint("complete.committed");
    if (error == 0 && fired->ending == ENDS_AGAIN) { /* the shard was not locked: it may be another node's now */
        (void)verge__notify_near(firer->durable, firer->connection, firer->back, firer->back_count);
    }
    return error;
}

bool verge__firer_may_try_again(verge__firer *firer, uint64_t until_ns) {
    const struct timespec nap = {.tv_nsec = COMPLETE_NAP_MS * 1000000L};
    if (!firer->is_started || verge__local_now(firer->durable) >= until_ns) {
        return false;
    }
    (void)nanosleep(&nap, NULL);
    return true;
}

int verge_durable_extend(const verge_durable_firing *firing, uint64_t run_ns) {
    verge__current *current = firing == NULL ? NULL : firing->internal;
    if (current == NULL || current->has_transaction || run_ns == 0 || run_ns > VERGE__TIME_MAX_NS / 4) {
        return -EINVAL;
    }
    verge__firer *firer = current->firer;
    verge_durable *durable = firer->durable;
    verge__change change = {.id = current->row->id, .revision = current->row->revision};
    int error = verge__begin(firer->durable, &firer->connection);
    if (error == 0) {
        error = durable->store->extend(firer->connection, &change, run_ns);
        if (error == 0 && change.outcome == 0 && firer->has_permit) {
            error = durable->store->keep_permit(firer->connection, &firer->permit, run_ns);
        }
        error = verge__firer_end(firer, error, false);
    }
    if (verge__is_lost(error)) {
        verge__disconnect(durable, &firer->connection);
    }
    if (error != 0) {
        verge__keep_words(durable, error);
        return error;
    }
    if (change.outcome != 0) {
        current->is_lost = true;
        return -ECANCELED;
    }
    current->until_ns = verge__local_now(durable) + run_ns;
    return verge_durable_should_stop(firing) ? -ESHUTDOWN : 0;
}

bool verge_durable_should_stop(const verge_durable_firing *firing) {
    const verge__current *current = firing == NULL ? NULL : firing->internal;
    if (current == NULL) {
        return false;
    }
    verge_durable *durable = current->firer->durable;
    verge__lock(durable);
    const bool is_stopping = durable->is_stopping;
    verge__unlock(durable);
    return is_stopping || current->is_lost;
}

static int fire_outside(verge__firer *firer, const verge__handler *handler) {
    verge_durable *durable = firer->durable;
    verge__fired *fired = &firer->fired[0];
    int error = durable->store->claim(firer->connection, firer->targets, 1, firer->run_ns, verge__visit_fired, firer);
    VERGE__THEN(error, look_for_missing(firer));
    verge__run run = {.attempt = fired->row.attempt + 1};
    const char *reason = NULL;
    if (error == 0 && fired->is_there) {
        run.now_ns = verge__fired_at(firer, fired);
        reason = verge__verdict_before(&handler->options, fired, run.attempt, run.now_ns);
    }
    if (reason != NULL) {
        verge__change change = {.id = fired->row.id, .revision = fired->row.revision};
        error = durable->store->complete(firer->connection, &change, 1);
        VERGE__THEN(error, verge__make_dead(firer, fired, reason));
    }
    error = verge__firer_end(firer, error, true);
    verge__failpoint("claim.committed");
    verge__lock(durable);
    end_careful(firer); /* the attempt is counted */
    verge__unlock(durable);
    pass_baton(firer);
    if (error != 0 || reason != NULL || !fired->is_there) {
        return error;
    }
    verge__current current = {.firer = firer, .retry_after_ns = VERGE_NEVER};
    current.until_ns = verge__local_now(durable) + handler->options.run_ns;
    verge__run_handler(firer, handler, fired, &current, &run);
    do {
        error = complete(firer, handler, &run);
        if (verge__is_lost(error)) {
            verge__disconnect(durable, &firer->connection);
        }
    } while (error != 0 && verge__firer_may_try_again(firer, current.until_ns));
    return error;
}

/* ---- after the batch ---- */

static void count_ending(verge_durable *durable, const verge__fired *fired) {
    verge_durable_stats *stats = &durable->stats;
    stats->early += fired->ending == ENDS_EARLY;
    stats->fenced += fired->ending == ENDS_GONE && fired->again_ns != 0;
    stats->vanished += fired->ending == ENDS_GONE && fired->again_ns == 0;
    stats->died += fired->ending == ENDS_DEAD;
    stats->done += fired->ending == ENDS_DONE || (fired->ending == ENDS_AGAIN && fired->row.attempt == 0);
    stats->retried += fired->ending == ENDS_AGAIN && fired->row.attempt != 0;
}

/* Under the lock: files or drops the hint of a timer after its batch. If the timer was moved meanwhile, or may have
 * been, its row has the new time or the one that the batch has set. The earlier of the two counts, as a hint that is
 * too early only costs a query. If the node has lost the shard and got it again meanwhile, the batch may have found no
 * row only because of its old epoch. The hint then stays, since the scan of the shard has added no other one. */
static void end_hint(verge_durable *durable, uint32_t index, const verge__fired *fired, const verge__target *target) {
    verge__hint *hint = &durable->window.hints[index];
    const bool comes_again = fired->ending == ENDS_AGAIN || fired->ending == ENDS_EARLY;
    const uint64_t epoch = durable->epochs[verge__shard_of(target->id)];
    const bool is_ours_again = fired->ending == ENDS_GONE && epoch != 0 && epoch != target->epoch;
    if (comes_again) {
        hint->due_ns = hint->is_moved && hint->due_ns < fired->again_ns ? hint->due_ns : fired->again_ns;
        verge__window_file(durable, index, hint->due_ns);
    } else if (hint->is_moved || is_ours_again) {
        verge__window_file(durable, index, hint->due_ns);
    } else if (fired->ending == ENDS_LOCKED) {
        verge__window_file(durable, index, fired->again_ns);
    } else {
        verge__window_drop(durable, index);
    }
}

/* After a success, batches grow again. If the store refuses a batch, the next one has one timer, so that a timer that
 * cannot be fired does not hold up others. If the connection was lost while handlers ran, one of them may be the
 * reason: a handler that is slower than the lease, say. Batches then have one timer, too, and attempts are counted, as
 * after a death (is_careful). */
static void note_success(verge_durable *durable, int error, bool has_run) {
    const uint32_t batch = durable->options.batch;
    if (verge__is_lost(error) && has_run) {
        verge__be_careful(durable);
    }
    if (error == 0 && (durable->is_careful || durable->batch_limit < batch)) {
        durable->batch_limit = durable->batch_limit < batch / 2 ? durable->batch_limit * 2 : batch;
        durable->is_careful = durable->is_careful && durable->batch_limit < batch;
    } else if (error != 0 && !verge__is_lost(error) && error != -EAGAIN) {
        durable->batch_limit = 1;
    } else if (error == 0) {
        return;
    }
    (void)pthread_cond_broadcast(&durable->due); /* wakes firers that had to wait (is_held) */
}

/* Returns whether the batch was lost because of a handler that is slower than the lease. If the same timer is then
 * tried again and again, this is true only the first time. */
static bool is_undone(verge__firer *firer, int error) {
    verge_durable *durable = firer->durable;
    if (!verge__is_lost(error) || firer->slowest_ns <= durable->options.lease_ns) {
        return false;
    }
    verge__lock(durable);
    const bool is_new = durable->said.undone_id != firer->slowest_id;
    durable->said.undone_id = firer->slowest_id;
    verge__unlock(durable);
    return is_new;
}

/* Tells the log which timers have died, and why a transaction may have been lost while handlers ran. */
static void tell_batch(verge__firer *firer, int error) {
    verge_durable *durable = firer->durable;
    for (size_t i = 0; i < firer->target_count && error == 0; i++) {
        const verge__fired *fired = &firer->fired[i];
        if (fired->ending == ENDS_DEAD) {
            const char *handler = durable->handlers[fired->handler].name;
            verge__log(
                durable,
                &(verge_durable_message){.event = VERGE_DURABLE_DIED, .id = firer->targets[i].id, .handler = handler},
                "timer %" PRIu64 " of handler %s was given up after %u attempts: %s", firer->targets[i].id, handler,
                fired->row.attempt, fired->reason);
        }
    }
    if (is_undone(firer, error)) {
        const char *handler = durable->handlers[firer->slowest_handler].name;
        verge__log(durable,
                   &(verge_durable_message){
                       .event = VERGE_DURABLE_UNDONE, .error = error, .id = firer->slowest_id, .handler = handler},
                   "handler %s ran for %llu ms, longer than the lease (%llu ms), so the server has ended its "
                   "transaction: register it outside, or raise lease_ns",
                   handler, (unsigned long long)(firer->slowest_ns / 1000000),
                   (unsigned long long)(durable->options.lease_ns / 1000000));
    }
}

/* Under the lock: files or drops the hints of the batch. Returns whether a timer was not due yet, which means that the
 * store's clock may have gone back. */
static bool end_hints(verge__firer *firer, uint64_t again_ns, int error) {
    verge_durable *durable = firer->durable;
    bool is_early = false;
    for (size_t i = 0; i < firer->target_count; i++) {
        verge__fired *fired = &firer->fired[i];
        if (fired->has_run) {
            verge_histogram_record(&durable->lateness, fired->late_ns, 1);
        }
        const bool has_begun = fired->has_run || (error == 0 && fired->is_there);
        durable->window.hints[firer->batch[i]].counted_attempt = has_begun ? 0 : fired->counted_attempt;
        if (error == 0) {
            count_ending(durable, fired);
            is_early |= fired->ending == ENDS_EARLY;
            end_hint(durable, firer->batch[i], fired, &firer->targets[i]);
        } else {
            verge__window_file(durable, firer->batch[i], again_ns);
        }
        free(fired->memory);
        fired->memory = NULL;
    }
    return is_early;
}

/* Under the lock: the batch does not count for the limits of its handlers any more, so held timers may run. */
static void end_limits(verge__firer *firer, const verge__plan *plan) {
    verge_durable *durable = firer->durable;
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        durable->handlers[i].running -= plan->has_handler[i];
    }
    durable->outside_running -= plan->is_outside;
    end_careful(firer);
    if (durable->held_count > 0) {
        (void)pthread_cond_broadcast(&durable->due);
    }
}

static void end_batch(verge__firer *firer, const verge__plan *plan, int error) {
    verge_durable *durable = firer->durable;
    const uint64_t nap_ns = verge__is_lost(error) ? LOST_NAP_NS : error == -EAGAIN ? BUSY_NAP_NS : FAILED_NAP_NS;
    bool has_run = false;
    for (size_t i = 0; i < firer->target_count; i++) {
        has_run |= firer->fired[i].has_run && !plan->is_outside;
    }
    if (error == 0) {
        /* Only rows that handlers have started or moved: end_hint files the hints of retries and next ticks. */
        verge__rows_committed(durable, firer->connection, firer->back, firer->scheduled_count);
    }
    verge__lock(durable);
    if (end_hints(firer, plan->now_ns + nap_ns, error) && firer->connection != NULL) {
        verge__forget_store_time(durable, firer->connection);
    }
    end_limits(firer, plan);
    durable->stats.firings++;
    note_success(durable, error, has_run);
    durable->keeper.scan_now |=
        verge__is_lost(error); /* if the commit has succeeded, a scan finds timers that handlers have started */
    verge__cut cut;
    const bool wake = durable->keeper.scan_now || verge__window_find_room(durable, &cut);
    verge__unlock(durable);
    if (wake) {
        verge__wake_keeper(durable);
    }
}

/* Called if a limit of the cluster does not allow the batch yet: holds the batch's timers, in front of those that are
 * held already. */
static void put_off(verge__firer *firer, const verge__plan *plan) {
    verge_durable *durable = firer->durable;
    verge__lock(durable);
    for (size_t i = firer->target_count; i-- > 0;) {
        verge__window_hold(durable, firer->batch[i], true);
    }
    end_limits(firer, plan);
    verge__unlock(durable);
}

/* Fires the batch, in the transaction that verge__begin has begun. */
static int fire(verge__firer *firer, const verge__plan *plan, bool counts_first) {
    firer->fired_count = 0;
    firer->back_count = 0;
    firer->scheduled_count = 0;
    const int error = counts_first ? count_attempt(firer) : 0;
    if (error != 0) {
        return error;
    }
    if (plan->is_outside) {
        return fire_outside(firer, &firer->durable->handlers[firer->fired[0].handler]);
    }
    const int fired = verge__firer_end(firer, fire_batch(firer), false);
    verge__failpoint("fire.committed");
    return fired;
}

verge__progress verge__firer_step(verge__firer *firer) {
    verge_durable *durable = firer->durable;
    verge__plan plan = {0};
    if (!take_baton(firer, &plan)) {
        return VERGE__IDLE;
    }
    verge__set_words("%s", "");
    firer->slowest_ns = 0;
    bool may_run;
    int error = verge__get_permit(firer, &may_run);
    if (error == 0 && !may_run) {
        verge__note_step(durable, &firer->is_failing, 0);
        put_off(firer, &plan);
        pass_baton(firer);
        return VERGE__IDLE;
    }
    VERGE__THEN(error, verge__begin(firer->durable, &firer->connection));
    if (error == 0) {
        verge__lock(durable);
        if (!plan.is_full) {
            fill_batch(firer, &plan); /* adds timers that became due while the transaction began */
        }
        const bool counts_first = durable->is_careful && firer->target_count == 1 && !plan.is_outside;
        verge__unlock(durable);
        if (!durable->store->has_one_writer) {
            pass_baton(firer);
        }
        error = fire(firer, &plan, counts_first);
    }
    verge__note_step(durable, &firer->is_failing, error);
    tell_batch(firer, error);
    verge__end_permit(firer);
    end_batch(firer, &plan, error);
    pass_baton(firer);
    if (verge__is_lost(error)) {
        verge__disconnect(durable, &firer->connection);
    }
    return error == 0 ? VERGE__WORKED : VERGE__FAILED;
}

/* Under the lock: waits until the next timer is due (at most a second at a time), or until this firer is woken (an
 * earlier timer was added, say). */
static void wait_for_due(verge_durable *durable) {
    const uint64_t store_ns = verge__store_now(durable);
    const uint64_t in_wheel_ns = verge__window_next_wakeup(&durable->window);
    const uint64_t release_ns = verge__next_release(durable, store_ns);
    const uint64_t wakeup_ns = in_wheel_ns < release_ns ? in_wheel_ns : release_ns;
    if (wakeup_ns == VERGE_NEVER || store_ns == 0 || is_held(durable)) {
        durable->waiting_until_ns = VERGE_NEVER;
        (void)pthread_cond_wait(&durable->due, &durable->lock);
        return;
    }
    if (wakeup_ns <= store_ns) {
        return;
    }
    const uint64_t left_ns = wakeup_ns - store_ns < UINT64_C(1000000000) ? wakeup_ns - store_ns : UINT64_C(1000000000);
    const uint64_t until_ns = verge__monotonic_ns() + left_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
    durable->waiting_until_ns = wakeup_ns;
    (void)pthread_cond_timedwait(&durable->due, &durable->lock, &until);
}

void *verge__firer_run(void *argument) {
    verge__firer *firer = argument;
    verge_durable *durable = firer->durable;
    bool is_over = false;
    while (!is_over) {
        verge__progress progress = verge__firer_step(firer);
        if (progress == VERGE__IDLE && firer->is_failing) { /* nothing is due: finds out whether the store is back */
            const int error = verge__connect(durable, &firer->connection);
            verge__note_step(durable, &firer->is_failing, error);
            progress = error == 0 ? VERGE__WORKED : VERGE__FAILED;
        }
        if (progress == VERGE__FAILED) { /* even if more timers are due, the store gets a pause first */
            const bool is_lost = firer->connection == NULL;
            const struct timespec nap = {.tv_nsec = is_lost ? (long)LOST_NAP_NS : FAILED_STEP_NAP_MS * 1000000L};
            (void)nanosleep(&nap, NULL);
        }
        verge__lock(durable);
        if (!durable->is_stopping && progress == VERGE__IDLE) {
            wait_for_due(durable);
        }
        is_over = durable->is_stopping;
        verge__unlock(durable);
    }
    verge__lock(durable);
    durable->firers_alive--;
    (void)pthread_cond_broadcast(&durable->idle);
    verge__unlock(durable);
    return NULL;
}
