/* SPDX-License-Identifier: MIT */
/*
 * Runners: P4. A batch is what is due, in one transaction:
 *
 *     BEGIN
 *     take    rows that are due, of shards whose epoch we have: deleted, and returned
 *     handlers, each with a savepoint if it uses the transaction, so that one that fails undoes only its own
 *     insert  what is to fire again: retries, next ticks
 *     COMMIT
 *
 * A process that dies in between has changed nothing. A handler that is outside runs between two transactions instead:
 * claim counts the attempt and moves the row ahead by run_ns; complete deletes it, if it is still the same claim.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "durable/durable_internal.h"

#define BUSY_NAP_NS UINT64_C(5000000)      /* a handler has reached its concurrency */
#define LOST_NAP_NS UINT64_C(100000000)    /* the store is gone */
#define FAILED_NAP_NS UINT64_C(1000000000) /* it refuses: the disk is full, say */
#define COMPLETE_NAP_MS 50
#define FAILED_STEP_NAP_MS 5

enum ending {
    ENDS_GONE = 0, /* vanished: the row is not there, or not ours */
    ENDS_EARLY,    /* the row is there, and not due yet */
    ENDS_DONE,
    ENDS_AGAIN, /* inserted again */
    ENDS_DEAD,
};

/* A target and what becomes of it. */
struct verge__fired {
    struct verge__row row;
    void *memory; /* of the row's key and payload */
    uint32_t handler;
    bool is_there;
    enum ending ending;
    uint64_t again_ns;
};

size_t verge__fired_size(void) {
    return sizeof(struct verge__fired);
}

/* ---- the handler that runs on this thread ---- */

static _Thread_local struct verge__current *running;

struct verge__current *verge__current_of(const verge_durable *durable) {
    return running != NULL && running->runner->durable == durable && running->has_transaction ? running : NULL;
}

int verge__current_begin(struct verge__current *current) {
    if (current->has_savepoint || current->is_broken) {
        return current->is_broken ? -EIO : 0;
    }
    struct verge__connection *connection = current->runner->connection;
    const int error = connection->store->savepoint(connection);
    current->has_savepoint = error == 0;
    current->is_broken = error != 0;
    return error;
}

void *verge_durable_transaction(const verge_durable_firing *firing) {
    struct verge__current *current = firing == NULL ? NULL : firing->internal;
    if (current == NULL || !current->has_transaction) {
        return NULL;
    }
    (void)verge__current_begin(current);
    return current->runner->connection->store->handle(current->runner->connection);
}

void verge_durable_retry_after(const verge_durable_firing *firing, uint64_t delay_ns) {
    if (firing != NULL && firing->internal != NULL) {
        struct verge__current *current = firing->internal;
        current->retry_after_ns = delay_ns > VERGE__TIME_MAX_NS / 4 ? VERGE__TIME_MAX_NS / 4 : delay_ns;
    }
}

/* ---- rows that are inserted with the batch, or were by a handler: for the window, after the commit ---- */

static int keep_back(struct verge__runner *runner, const struct verge__row *row) {
    if (runner->back_count == runner->back_capacity) {
        const size_t capacity = runner->back_capacity == 0 ? 64 : runner->back_capacity * 2;
        struct verge__row *larger = realloc(runner->back, capacity * sizeof(*larger));
        if (larger == NULL) {
            return -ENOMEM;
        }
        runner->back = larger;
        runner->back_capacity = capacity;
    }
    runner->back[runner->back_count++] = *row;
    return 0;
}

/* Of what a handler has scheduled only id and time are kept, and the name if it is that of a handler of ours: the rest
 * is the caller's memory. */
int verge__current_scheduled(struct verge__current *current, const struct verge__row *row) {
    verge_durable *durable = current->runner->durable;
    struct verge__row kept = {.id = row->id, .due_ns = row->due_ns, .handler = "", .outcome = row->outcome};
    (void)pthread_mutex_lock(&durable->lock);
    const uint32_t handler = verge__handler_index(durable, row->handler);
    if (handler != VERGE__NO_HANDLER) {
        kept.handler = durable->handlers[handler].name; /* handlers stay where they are */
    }
    (void)pthread_mutex_unlock(&durable->lock);
    return keep_back(current->runner, &kept);
}

/* ---- what is due ---- */

enum choice {
    TAKE,
    LATER,
    DROP,
};

struct selection {
    uint64_t now_ns;
    uint64_t later_ns; /* LATER: when */
    bool is_outside;
    bool has_handler[VERGE_DURABLE_HANDLERS_MAX]; /* in this batch */
};

/* rate: each run has a slot, an interval after the one before. */
static bool is_paced(verge_durable *durable, struct verge__handler *handler, struct verge__entry *entry,
                     struct selection *selection) {
    if (handler->options.rate == 0 || entry->is_paced) {
        return true;
    }
    const uint64_t slot_ns =
        handler->next_allowed_ns > selection->now_ns ? handler->next_allowed_ns : selection->now_ns;
    handler->next_allowed_ns = slot_ns + UINT64_C(1000000000) / handler->options.rate;
    entry->is_paced = true;
    selection->later_ns = slot_ns;
    return slot_ns < selection->now_ns + durable->options.precision_ns;
}

static enum choice choose(struct verge__runner *runner, struct verge__entry *entry, struct selection *selection) {
    verge_durable *durable = runner->durable;
    struct verge__handler *handler = &durable->handlers[entry->handler];
    const uint32_t outside_max = durable->options.runners > 1 ? durable->options.runners - 1 : 1;
    if (durable->epochs[verge__shard_of(entry->id)] == 0) {
        return DROP;
    }
    if (!is_paced(durable, handler, entry, selection)) {
        return LATER;
    }
    selection->later_ns = selection->now_ns;
    if (runner->target_count > 0 && (selection->is_outside || handler->options.outside)) {
        return LATER; /* what is outside is claimed one at a time, when it is about to run */
    }
    selection->later_ns = selection->now_ns + BUSY_NAP_NS;
    if (handler->options.outside && durable->outside_running >= outside_max) {
        return LATER;
    }
    if (handler->options.concurrency != 0 && handler->running >= handler->options.concurrency &&
        !selection->has_handler[entry->handler]) {
        return LATER;
    }
    return TAKE;
}

static void add_target(struct verge__runner *runner, uint32_t index, struct selection *selection) {
    verge_durable *durable = runner->durable;
    const struct verge__entry *entry = &durable->window.entries[index];
    struct verge__handler *handler = &durable->handlers[entry->handler];
    const size_t i = runner->target_count++;
    runner->batch[i] = index;
    runner->targets[i] = (struct verge__target){
        .id = entry->id,
        .epoch = durable->epochs[verge__shard_of(entry->id)],
    };
    runner->run_ns[i] = handler->options.run_ns;
    runner->fired[i] = (struct verge__fired){.ending = ENDS_GONE, .handler = entry->handler};
    selection->is_outside = handler->options.outside;
    if (!selection->has_handler[entry->handler]) {
        selection->has_handler[entry->handler] = true;
        handler->running++;
    }
}

/* Under the lock: is this runner to wait for another one? */
static bool is_held(const verge_durable *durable) {
    return (durable->is_careful && durable->is_careful_running) || durable->is_turn_taken;
}

/* Something is due, and this runner is to fire it. One at a time begins a transaction and selects: what it leaves is
 * for the next. Where one transaction writes at a time it keeps the turn until its end. */
static bool take_turn(struct verge__runner *runner) {
    verge_durable *durable = runner->durable;
    (void)pthread_mutex_lock(&durable->lock);
    const uint64_t now_ns = verge__store_now(durable);
    const bool is_due = !durable->is_stopping && now_ns != 0 && !is_held(durable) &&
                        verge_wheel_next_wakeup(durable->window.wheel) <= now_ns;
    runner->has_turn = is_due;
    durable->is_turn_taken |= is_due;
    (void)pthread_mutex_unlock(&durable->lock);
    return is_due;
}

static void give_turn(struct verge__runner *runner) {
    if (runner->has_turn) {
        (void)pthread_mutex_lock(&runner->durable->lock);
        runner->has_turn = runner->durable->is_turn_taken = false;
        (void)pthread_cond_broadcast(&runner->durable->due);
        (void)pthread_mutex_unlock(&runner->durable->lock);
    }
}

/* Under the lock, in the transaction: whoever had to wait for it takes what became due meanwhile, too. */
static void select_batch(struct verge__runner *runner, struct selection *selection) {
    verge_durable *durable = runner->durable;
    struct verge__window *window = &durable->window;
    runner->target_count = 0;
    selection->now_ns = verge__store_now(durable);
    if (durable->is_stopping || selection->now_ns == 0 || (durable->is_careful && durable->is_careful_running)) {
        return;
    }
    const size_t limit = durable->batch_limit < durable->options.batch ? durable->batch_limit : durable->options.batch;
    const size_t count = verge_wheel_poll(window->wheel, selection->now_ns, runner->due, limit);
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)(uintptr_t)runner->due[i].data;
        struct verge__entry *entry = &window->entries[index];
        VERGE__INVARIANT(entry->state == VERGE__ENTRY_WAITING, "V1: what comes out of the wheel has waited");
        entry->state = VERGE__ENTRY_FIRING;
        switch (choose(runner, entry, selection)) {
        case TAKE:
            add_target(runner, index, selection);
            break;
        case LATER:
            verge__window_file(durable, index, selection->later_ns);
            break;
        case DROP:
            verge__window_drop(window, index);
            break;
        }
    }
    durable->is_careful_running |= durable->is_careful && runner->target_count > 0;
    durable->outside_running += runner->target_count > 0 && selection->is_outside;
}

/* ---- one firing ---- */

static void visit_fired(void *context, const struct verge__row *row) {
    struct verge__runner *runner = context;
    size_t i = runner->fired_count; /* where it is, if they come in the order in which they were asked for */
    for (size_t tries = 0; tries < runner->target_count; tries++, i++) {
        i = i >= runner->target_count ? 0 : i;
        if (runner->targets[i].id == row->id && !runner->fired[i].is_there) {
            break;
        }
    }
    if (i >= runner->target_count || runner->targets[i].id != row->id) {
        return;
    }
    struct verge__fired *fired = &runner->fired[i];
    fired->row = *row;
    fired->row.handler = runner->durable->handlers[fired->handler].name;
    fired->memory = malloc(row->key_size + row->payload_size + 1);
    if (fired->memory == NULL) {
        return; /* as if it had vanished; the transaction is then given up: see have_memory */
    }
    memcpy(fired->memory, row->payload, row->payload_size);
    fired->row.payload = fired->memory;
    if (row->key != NULL) {
        memcpy((char *)fired->memory + row->payload_size, row->key, row->key_size);
        fired->row.key = (char *)fired->memory + row->payload_size;
    }
    fired->is_there = true;
    runner->fired_count = i + 1;
}

static uint64_t backoff(verge_durable *durable, const verge_durable_handler_options *options, uint32_t attempt) {
    uint64_t wait_ns = options->backoff_first_ns;
    for (uint32_t i = 1; i < attempt && wait_ns < options->backoff_max_ns; i++) {
        wait_ns = wait_ns > options->backoff_max_ns / 2 ? options->backoff_max_ns : wait_ns * 2;
    }
    (void)pthread_mutex_lock(&durable->lock);
    const uint64_t random = verge__random(durable);
    (void)pthread_mutex_unlock(&durable->lock);
    return wait_ns / 2 + random % (wait_ns / 2 + 1);
}

/* What is judged before the handler runs. NULL: it is to run; else why it is dead. */
static const char *verdict_before(const verge_durable_handler_options *options, const struct verge__fired *fired,
                                  uint32_t attempt, uint64_t now_ns) {
    if (options->attempts_max != 0 && attempt > options->attempts_max) {
        return "its process ended in each attempt";
    }
    if (options->age_max_ns != 0 && now_ns > fired->row.due_ns + options->age_max_ns) {
        return "too old";
    }
    return NULL;
}

/* The next tick of a periodic timer; VERGE_NEVER: there is none. */
static uint64_t next_tick(const struct verge__row *row, uint64_t now_ns, uint64_t *ret_missed) {
    verge_interval interval;
    verge_tick tick = {0};
    *ret_missed = 0;
    if (row->period_ns == 0 ||
        verge_interval_init(&interval, row->due_ns, row->period_ns, (verge_interval_policy)row->policy) != 0 ||
        verge_interval_next(&interval, now_ns, &tick) != 1) {
        return VERGE_NEVER;
    }
    *ret_missed = tick.missed;
    const uint64_t next_ns = verge_interval_deadline(&interval);
    return next_ns > VERGE__TIME_MAX_NS ? VERGE_NEVER : next_ns;
}

static int bury(struct verge__runner *runner, struct verge__fired *fired, const char *reason) {
    fired->ending = ENDS_DEAD;
    return runner->connection->store->bury(runner->connection, &fired->row, reason);
}

static void fire_again(struct verge__fired *fired, uint64_t due_ns, uint32_t attempt) {
    fired->ending = ENDS_AGAIN;
    fired->again_ns = due_ns;
    fired->row.due_ns = due_ns;
    fired->row.attempt = attempt;
}

/* What a handler was told, and what it said. */
struct run {
    verge_durable_verdict verdict;
    uint32_t attempt;
    uint64_t now_ns;
    uint64_t next_tick_ns;
    uint64_t retry_after_ns;
};

static void run_handler(struct verge__runner *runner, const struct verge__handler *handler, struct verge__fired *fired,
                        struct verge__current *current, struct run *run) {
    verge_durable *durable = runner->durable;
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
        .context = handler->options.context,
        .internal = current,
    };
    run->next_tick_ns = next_tick(&fired->row, run->now_ns, &firing.missed);
    (void)pthread_mutex_lock(&durable->lock);
    verge_histogram_record(&durable->lateness, run->now_ns - fired->row.due_ns);
    (void)pthread_mutex_unlock(&durable->lock);
    running = current;
    run->verdict = handler->options.handler(&firing);
    running = NULL;
    run->retry_after_ns = current->retry_after_ns;
}

/* Of a row that was deleted, or completed: what it says goes into the same transaction. */
static int settle(struct verge__runner *runner, const struct verge__handler *handler, struct verge__fired *fired,
                  const struct run *run) {
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
            run->retry_after_ns != VERGE_NEVER ? run->retry_after_ns : backoff(runner->durable, options, run->attempt);
        fire_again(fired, run->now_ns + wait_ns, run->attempt);
        return 0;
    }
    return bury(runner, fired,
                run->verdict == VERGE_DURABLE_RETRY ? "its attempts are used up" : "its handler said so");
}

static uint64_t fired_at(const struct verge__runner *runner, const struct verge__fired *fired) {
    const uint64_t now_ns = runner->connection->now_ns;
    return now_ns > fired->row.due_ns ? now_ns : fired->row.due_ns;
}

static int fire_inside(struct verge__runner *runner, const struct verge__handler *handler, struct verge__fired *fired,
                       bool is_counted) {
    struct verge__connection *connection = runner->connection;
    struct run run = {.attempt = fired->row.attempt + !is_counted, .now_ns = fired_at(runner, fired)};
    const char *reason = verdict_before(&handler->options, fired, run.attempt, run.now_ns);
    if (reason != NULL) {
        return bury(runner, fired, reason);
    }
    struct verge__current current = {
        .runner = runner,
        .has_transaction = true,
        .retry_after_ns = VERGE_NEVER,
        .back_mark = runner->back_count,
    };
    run_handler(runner, handler, fired, &current, &run);
    if (current.is_broken) {
        return -EIO;
    }
    if (current.has_savepoint) {
        int error = connection->store->end_savepoint(connection, run.verdict != VERGE_DURABLE_DONE);
        if (error == -EAGAIN) { /* a statement of the handler's has failed, and it did not say so */
            run.verdict = VERGE_DURABLE_RETRY;
            error = connection->store->end_savepoint(connection, true);
        }
        if (error != 0) {
            return error;
        }
    }
    if (run.verdict != VERGE_DURABLE_DONE) {
        runner->back_count = current.back_mark;
    }
    return settle(runner, handler, fired, &run);
}

/* ---- a batch in its transaction ---- */

/* A target without a row: is the row gone, or not due yet? The latter if the store's clock was set back. */
static int look_for_missing(struct verge__runner *runner) {
    struct verge__connection *connection = runner->connection;
    for (size_t i = 0; i < runner->target_count; i++) {
        struct verge__fired *fired = &runner->fired[i];
        if (fired->is_there) {
            continue;
        }
        if (fired->memory == NULL && fired->row.id != 0) {
            return -ENOMEM;
        }
        verge_durable_info info;
        const int error = connection->store->look(connection, runner->targets[i].id, &info, NULL, 0);
        if (error == 0 && info.died_ns == 0 && info.due_ns > connection->now_ns) {
            fired->ending = ENDS_EARLY;
            fired->again_ns = info.due_ns;
        } else if (error == 0 && info.died_ns == 0) {
            fired->again_ns = 1; /* due, and not given to us: another node's */
        } else if (error != 0 && error != -ENOENT) {
            return error;
        }
    }
    return 0;
}

static int insert_again(struct verge__runner *runner) {
    struct verge__connection *connection = runner->connection;
    const size_t first = runner->back_count;
    for (size_t i = 0; i < runner->target_count; i++) {
        struct verge__fired *fired = &runner->fired[i];
        if (fired->ending == ENDS_AGAIN) {
            const int error = keep_back(runner, &fired->row);
            if (error != 0) {
                return error;
            }
        }
    }
    return runner->back_count == first
               ? 0
               : connection->store->insert(connection, runner->back + first, runner->back_count - first);
}

static int fire_batch(struct verge__runner *runner, bool is_counted) {
    verge_durable *durable = runner->durable;
    const struct verge__store *store = durable->store;
    struct verge__connection *connection = runner->connection;
    verge__failpoint("fire.began");
    int error = store->take(connection, runner->targets, runner->target_count, visit_fired, runner);
    verge__failpoint("fire.taken");
    error = error != 0 ? error : look_for_missing(runner);
    for (size_t i = 0; i < runner->target_count && error == 0; i++) {
        struct verge__fired *fired = &runner->fired[i];
        if (fired->is_there) {
            error = fire_inside(runner, &durable->handlers[fired->handler], fired, is_counted);
        }
    }
    verge__failpoint("fire.handled");
    error = error != 0 ? error : insert_again(runner);
    verge__failpoint("fire.settled");
    return error;
}

/* A batch needs no mark: if its commit was not answered it is fired once more, and finds no rows, or rows that are due
 * later. An attempt that was counted without a run may have been the last one, so such a commit is found out. */
static int begin(struct verge__runner *runner) {
    verge_durable *durable = runner->durable;
    int error = verge__connect(durable, &runner->connection);
    error = error != 0 ? error : durable->store->begin(runner->connection);
    if (error == 0) {
        (void)pthread_mutex_lock(&durable->lock);
        verge__note_time(durable, runner->connection);
        (void)pthread_mutex_unlock(&durable->lock);
    }
    return error;
}

static int end(struct verge__runner *runner, int error, bool must_know) {
    verge_durable *durable = runner->durable;
    uint64_t mark = 0;
    if (error == 0 && must_know) {
        (void)pthread_mutex_lock(&durable->lock);
        mark = verge__new_id(durable, 0);
        (void)pthread_mutex_unlock(&durable->lock);
        error = mark == 0 ? -EAGAIN : 0;
    }
    if (error != 0) {
        durable->store->rollback(runner->connection);
        return error;
    }
    return durable->store->commit(runner->connection, mark);
}

/* Before a batch of one, after a crash: only who is alone is known to have ended the process. A commit of its own. */
static int count_attempt(struct verge__runner *runner) {
    const int error = end(runner, runner->durable->store->count_attempt(runner->connection, &runner->targets[0]), true);
    verge__failpoint("attempt.counted");
    return error != 0 ? error : begin(runner);
}

/* ---- outside of a transaction ---- */

static int complete(struct verge__runner *runner, const struct verge__handler *handler, const struct run *run) {
    const struct verge__store *store = runner->durable->store;
    struct verge__fired *fired = &runner->fired[0];
    struct verge__change change = {.id = fired->row.id, .revision = fired->row.revision};
    int error = begin(runner);
    if (error != 0) {
        return error;
    }
    error = store->complete(runner->connection, &change, 1);
    verge__failpoint("complete.deleted");
    if (error == 0 && change.outcome == 0) {
        struct verge__row row = fired->row; /* as it was claimed: this may be tried again */
        runner->back_count = 0;
        error = settle(runner, handler, fired, run);
        error = error != 0 ? error : insert_again(runner);
        fired->row = error != 0 ? row : fired->row;
    } else {
        fired->ending = ENDS_GONE; /* cancelled, moved, or another's by now */
    }
    error = end(runner, error, false);
    verge__failpoint("complete.committed");
    return error;
}

static bool may_try_again(struct verge__runner *runner, uint64_t until_ns) {
    const struct timespec nap = {.tv_nsec = COMPLETE_NAP_MS * 1000000L};
    if (!runner->is_started || verge__local_now(runner->durable) >= until_ns) {
        return false;
    }
    (void)nanosleep(&nap, NULL);
    return true;
}

static int fire_outside(struct verge__runner *runner, const struct verge__handler *handler) {
    verge_durable *durable = runner->durable;
    struct verge__fired *fired = &runner->fired[0];
    int error = durable->store->claim(runner->connection, runner->targets, 1, runner->run_ns, visit_fired, runner);
    error = error != 0 ? error : look_for_missing(runner);
    struct run run = {.attempt = fired->row.attempt + 1};
    const char *reason = NULL;
    if (error == 0 && fired->is_there) {
        run.now_ns = fired_at(runner, fired);
        reason = verdict_before(&handler->options, fired, run.attempt, run.now_ns);
    }
    if (reason != NULL) {
        struct verge__change change = {.id = fired->row.id, .revision = fired->row.revision};
        error = durable->store->complete(runner->connection, &change, 1);
        error = error != 0 ? error : bury(runner, fired, reason);
    }
    error = end(runner, error, true);
    verge__failpoint("claim.committed");
    give_turn(runner);
    if (error != 0 || reason != NULL || !fired->is_there) {
        return error;
    }
    const uint64_t until_ns = verge__local_now(durable) + handler->options.run_ns;
    struct verge__current current = {.runner = runner, .retry_after_ns = VERGE_NEVER};
    run_handler(runner, handler, fired, &current, &run);
    do {
        error = complete(runner, handler, &run);
        if (verge__is_lost(error)) {
            verge__disconnect(durable, &runner->connection);
        }
    } while (error != 0 && may_try_again(runner, until_ns));
    return error;
}

/* ---- after the batch ---- */

static void count_ending(verge_durable *durable, const struct verge__fired *fired) {
    verge_durable_stats *stats = &durable->stats;
    stats->early += fired->ending == ENDS_EARLY;
    stats->fenced += fired->ending == ENDS_GONE && fired->again_ns != 0;
    stats->vanished += fired->ending == ENDS_GONE && fired->again_ns == 0;
    stats->died += fired->ending == ENDS_DEAD;
    stats->done += fired->ending == ENDS_DONE || (fired->ending == ENDS_AGAIN && fired->row.attempt == 0);
    stats->retried += fired->ending == ENDS_AGAIN && fired->row.attempt != 0;
}

/* Under the lock. */
static void end_entry(verge_durable *durable, uint32_t index, const struct verge__fired *fired) {
    struct verge__entry *entry = &durable->window.entries[index];
    const bool comes_again = fired->ending == ENDS_AGAIN || fired->ending == ENDS_EARLY;
    if (comes_again && fired->again_ns <= durable->read_until_ns) {
        entry->due_ns = fired->again_ns;
        entry->is_paced = false;
        verge__window_file(durable, index, fired->again_ns);
    } else if (!comes_again && entry->is_moved) {
        verge__window_file(durable, index, entry->due_ns); /* somebody has set it again meanwhile, or it looked so */
    } else {
        verge__window_drop(&durable->window, index);
    }
}

/* Batches grow again, or begin anew with one, so that one that cannot be fired does not keep others. */
static void note_success(verge_durable *durable, int error) {
    const uint32_t batch = durable->options.batch;
    if (error == 0 && (durable->is_careful || durable->batch_limit < batch)) {
        durable->batch_limit = durable->batch_limit < batch / 2 ? durable->batch_limit * 2 : batch;
        durable->is_careful = durable->is_careful && durable->batch_limit < batch;
    } else if (error != 0 && !verge__is_lost(error) && error != -EAGAIN) {
        durable->batch_limit = 1;
    } else if (error == 0) {
        return;
    }
    (void)pthread_cond_broadcast(&durable->due); /* those that were held, if it was careful */
}

static void end_batch(struct verge__runner *runner, const struct selection *selection, int error) {
    verge_durable *durable = runner->durable;
    const uint64_t nap_ns = verge__is_lost(error) ? LOST_NAP_NS : error == -EAGAIN ? BUSY_NAP_NS : FAILED_NAP_NS;
    if (error == 0) {
        /* Retries and ticks that the window has are put there by their entries. */
        size_t scheduled = runner->back_count;
        for (size_t i = 0; i < runner->target_count; i++) {
            scheduled -= runner->fired[i].ending == ENDS_AGAIN;
        }
        verge__rows_committed(durable, runner->back, scheduled);
    }
    bool wake = false;
    bool is_early = false;
    (void)pthread_mutex_lock(&durable->lock);
    for (size_t i = 0; i < runner->target_count; i++) {
        struct verge__fired *fired = &runner->fired[i];
        if (error == 0) {
            count_ending(durable, fired);
            is_early |= fired->ending == ENDS_EARLY;
            end_entry(durable, runner->batch[i], fired);
        } else {
            verge__window_file(durable, runner->batch[i], selection->now_ns + nap_ns);
        }
        free(fired->memory);
        fired->memory = NULL;
    }
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        durable->handlers[i].running -= selection->has_handler[i];
    }
    if (is_early && runner->connection != NULL) {
        verge__doubt_time(durable, runner->connection);
    }
    durable->outside_running -= selection->is_outside;
    durable->is_careful_running = false;
    durable->stats.firings++;
    note_success(durable, error);
    durable->scan_now |= verge__is_lost(error); /* handlers may have scheduled, and been committed all the same */
    wake = durable->scan_now || (durable->window.is_cut && durable->window.count < durable->options.window_max / 2);
    (void)pthread_mutex_unlock(&durable->lock);
    if (wake) {
        verge__wake_keeper(durable);
    }
}

/* In the transaction that begin has begun. */
static int fire(struct verge__runner *runner, const struct selection *selection, bool is_counted) {
    runner->fired_count = 0;
    runner->back_count = 0;
    const int error = is_counted ? count_attempt(runner) : 0;
    if (error != 0) {
        return error;
    }
    if (selection->is_outside) {
        return fire_outside(runner, &runner->durable->handlers[runner->fired[0].handler]);
    }
    const int fired = end(runner, fire_batch(runner, is_counted), false);
    verge__failpoint("fire.committed");
    return fired;
}

enum verge__progress verge__runner_step(struct verge__runner *runner) {
    verge_durable *durable = runner->durable;
    struct selection selection = {0};
    if (!take_turn(runner)) {
        return VERGE__IDLE;
    }
    runner->target_count = 0;
    int error = begin(runner);
    if (error == 0) {
        (void)pthread_mutex_lock(&durable->lock);
        select_batch(runner, &selection);
        const bool is_counted = durable->is_careful && runner->target_count == 1 && !selection.is_outside;
        (void)pthread_mutex_unlock(&durable->lock);
        if (!durable->store->has_one_writer) {
            give_turn(runner);
        }
        if (runner->target_count == 0) {
            durable->store->rollback(runner->connection);
            give_turn(runner);
            return VERGE__IDLE;
        }
        error = fire(runner, &selection, is_counted);
        end_batch(runner, &selection, error);
    }
    give_turn(runner);
    if (verge__is_lost(error)) {
        verge__disconnect(durable, &runner->connection);
    }
    return error == 0 ? VERGE__WORKED : VERGE__FAILED;
}

/* Under the lock: until the next timer is due, or a call or a scan has put one before that. */
static void wait_for_due(verge_durable *durable) {
    const uint64_t store_ns = verge__store_now(durable);
    const uint64_t wakeup_ns = verge_wheel_next_wakeup(durable->window.wheel);
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

void *verge__runner_run(void *argument) {
    struct verge__runner *runner = argument;
    verge_durable *durable = runner->durable;
    bool is_over = false;
    while (!is_over) {
        const enum verge__progress progress = verge__runner_step(runner);
        if (progress == VERGE__FAILED) { /* there may be more that is due, and the store is not asked all the time */
            const bool is_lost = runner->connection == NULL;
            const struct timespec nap = {.tv_nsec = is_lost ? (long)LOST_NAP_NS : FAILED_STEP_NAP_MS * 1000000L};
            (void)nanosleep(&nap, NULL);
        }
        (void)pthread_mutex_lock(&durable->lock);
        if (!durable->is_stopping && progress == VERGE__IDLE) {
            wait_for_due(durable);
        }
        is_over = durable->is_stopping;
        (void)pthread_mutex_unlock(&durable->lock);
    }
    (void)pthread_mutex_lock(&durable->lock);
    durable->runners_alive--;
    (void)pthread_cond_broadcast(&durable->idle);
    (void)pthread_mutex_unlock(&durable->lock);
    return NULL;
}
