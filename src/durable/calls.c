/* SPDX-License-Identifier: MIT */
/* The public calls on timers. Each checks its arguments, gives its work to the writer as a verge__call, and waits. In a
 * handler with a transaction, the thread of the handler makes the call itself, in that transaction. If a request has a
 * transaction of the caller, the timer is started in this transaction. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "durable/durable_internal.h"
#include "durable/recurring.h"

/* ---- arguments ---- */

bool verge__is_handler_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (name == NULL) {
        return false;
    }
    const size_t length = strnlen(name, VERGE_DURABLE_HANDLER_NAME_MAX + 1);
    return length >= 1 && length <= VERGE_DURABLE_HANDLER_NAME_MAX && strspn(name, allowed) == length;
}

static int check_key(verge_durable *durable, const void *key, size_t *key_size) {
    if (key == NULL) {
        return *key_size == 0 ? 0 : verge__refuse(durable, -EINVAL, "key is NULL, but key_size is not 0");
    }
    if (*key_size == 0) {
        *key_size = strnlen(key, VERGE_DURABLE_KEY_MAX + 1);
    }
    return *key_size <= VERGE_DURABLE_KEY_MAX
               ? 0
               : verge__refuse(durable, -ENAMETOOLONG, "a key has at most %d bytes", VERGE_DURABLE_KEY_MAX);
}

static int row_of(verge_durable *durable, const verge_durable_request *request, verge__row *row) {
    static const verge_durable_request none = {.handler = NULL};
    const verge_durable_request *r = request == NULL ? &none : request;
    const struct {
        bool is_wrong;
        int error;
        const char *why;
    } rules[] = {
        {request == NULL, -EINVAL, "the request is NULL"},
        {!verge__is_handler_name(r->handler), -EINVAL, VERGE__HANDLER_WORDS},
        {(unsigned)r->policy > VERGE_INTERVAL_SKIP, -EINVAL, "policy is no verge_interval_policy"},
        {r->payload == NULL && r->payload_size > 0, -EINVAL, "payload is NULL, but payload_size is not 0"},
        {r->due_ns != 0 && r->delay_ns != 0, -EINVAL, "due_ns and delay_ns are both set"},
        {memcmp(r->reserved, none.reserved, sizeof(none.reserved)) != 0 || r->reserved_32 != 0, -EINVAL,
         "a field is set that this version does not know"},
        {(unsigned)r->on_conflict > VERGE_DURABLE_MOVE, -EINVAL, "on_conflict is no verge_durable_conflict"},
        {r->on_conflict != VERGE_DURABLE_REFUSE && r->key == NULL, -EINVAL, "on_conflict is set, but there is no key"},
        {r->id > VERGE__TIME_MAX_NS, -EINVAL, "id is none that start has returned"},
        {r->id != 0 && verge__shard_of(r->id) >= durable->shard_count, -EINVAL,
         "the id is of a shard that does not exist"},
        {r->rule != NULL && r->period_ns != 0, -EINVAL, "rule and period_ns are both set"},
        {r->payload_size > VERGE_DURABLE_PAYLOAD_MAX, -EMSGSIZE, "a payload has at most 1 MiB"},
        {r->due_ns > VERGE__TIME_MAX_NS || r->delay_ns > VERGE__TIME_MAX_NS / 4 ||
             r->period_ns > VERGE__TIME_MAX_NS / 4,
         -EOVERFLOW, "a time is before April 2262; a delay or a period has at most 73 years"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].is_wrong) {
            return verge__refuse(durable, rules[i].error, "%s", rules[i].why);
        }
    }
    *row = (verge__row){
        .id = request->id,
        .due_ns = request->due_ns != 0 ? request->due_ns : request->delay_ns,
        .due_is_delay = request->due_ns == 0,
        .policy = (uint32_t)request->policy,
        .on_conflict = request->on_conflict,
        .period_ns = request->period_ns,
        .handler = request->handler,
        .key = request->key,
        .key_size = request->key_size,
        .payload = request->payload,
        .payload_size = request->payload_size,
        .rule = request->rule,
    };
    return check_key(durable, row->key, &row->key_size);
}

static int refuse_rule(verge_durable *durable, const char *text, int error) {
    char why[VERGE__WORDS_MAX];
    verge_recurrence rule;
    verge_zone *zone = NULL;
    if (verge_recurrence_parse(text, &rule, why, sizeof(why)) != 0) {
        return verge__refuse(durable, error, "%s", why);
    }
    const bool has_zone = verge_zone_open(rule.zone, NULL, &zone) == 0;
    verge_zone_close(zone);
    return has_zone ? verge__refuse(durable, error, "the rule does not come any more")
                    : verge__refuse(durable, error, "there is no time zone \"%s\" on this machine", rule.zone);
}

/* Checks the row's rule, if there is one. If the timer has a rule and no time, it is due at the next occurrence of the
 * rule. */
static int give_first_tick(verge_durable *durable, verge__row *row) {
    if (row->rule == NULL) {
        return 0;
    }
    if (!durable->has_rules) {
        return verge__refuse(durable, -EPROTO, VERGE__CONTRACT_WORDS);
    }
    uint64_t now_ns = verge_durable_now(durable);
    if (now_ns == 0) { /* store time is not known */
        const verge_clock clock = verge_clock_realtime();
        now_ns = clock.now_ns(clock.context);
    }
    uint64_t first_ns = 0;
    const int error = verge__rule_first(row->rule, now_ns, &first_ns);
    if (error == 0 && row->due_is_delay && row->due_ns == 0) {
        row->due_is_delay = false;
        row->due_ns = first_ns;
    }
    return error == -EINVAL ? refuse_rule(durable, row->rule, error) : error;
}

/* ---- waiting ---- */

void verge__call_submit(verge_durable *durable, verge__call *call) {
    call->next = NULL;
    *durable->writer.calls_end = call;
    durable->writer.calls_end = &call->next;
    (void)pthread_cond_signal(&durable->work);
}

static void withdraw(verge_durable *durable, verge__call *call) {
    verge__call **link = &durable->writer.calls;
    while (*link != call) {
        link = &(*link)->next;
    }
    *link = call->next;
    if (call->next == NULL) {
        durable->writer.calls_end = link;
    }
}

void verge__call_finish(verge__call *call, int result) {
    call->result = result;
    if (call->channel != NULL) {
        (void)!verge_channel_send(call->channel, "", 0);
    }
    (void)sem_post(&call->done);
}

static void wait_for(verge__call *call) {
    while (sem_wait(&call->done) != 0) { /* a signal handler has interrupted the wait */
    }
}

static intptr_t receive(void *channel) {
    char item;
    return verge_channel_receive((verge_channel *)channel, &item, VERGE_NEVER);
}

/* Suspends the task until the call is done. If the deadline of the task's scope comes, or the task is cancelled, the
 * call is withdrawn. But if the writer has begun with the call already, the task waits until this try has ended; after
 * that, the call is not tried again. A cancelled task can only wait by joining another task. If no task can be started
 * for this, or the runtime stops, the thread of the task is blocked. */
static int wait_in_task(verge_durable *durable, verge__call *call) {
    const int error = (int)receive(call->channel);
    if (error != 0) {
        verge__lock(durable);
        const bool is_withdrawn = !call->is_taken;
        if (is_withdrawn) {
            withdraw(durable, call);
        } else {
            call->give_up_ns = 0;
        }
        verge__unlock(durable);
        if (is_withdrawn) {
            return error;
        }
        verge_task *waiter;
        if (verge_spawn(receive, call->channel, &waiter) == 0) {
            (void)!verge_task_join(waiter, NULL, VERGE_REGARDLESS);
        }
    }
    wait_for(call);
    return call->result;
}

int verge__perform(verge_durable *durable, verge__call *call) {
    if (verge_task_current() != NULL) {
        const int error = verge_channel_create(1, 1, NULL, &call->channel);
        if (error != 0) {
            return error;
        }
    }
    (void)sem_init(&call->done, 0, 0);
    const uint64_t now_ns = verge__local_now(durable);
    const uint64_t patience_ns = durable->options.patience_ns;
    call->give_up_ns = patience_ns > VERGE_NEVER - now_ns ? VERGE_NEVER : now_ns + patience_ns;
    verge__lock(durable);
    int result = durable->is_stopping ? -ESHUTDOWN : 0;
    if (result == 0) {
        verge__call_submit(durable, call);
    }
    verge__unlock(durable);
    if (result == 0 && call->channel != NULL) {
        result = wait_in_task(durable, call);
    } else if (result == 0) {
        wait_for(call);
        result = call->result;
    }
    (void)sem_destroy(&call->done);
    verge_channel_destroy(call->channel);
    return result;
}

/* ---- rows that were committed ---- */

verge__row verge__moved_row(const verge__change *change) {
    return (verge__row){
        .id = change->id,
        .due_ns = change->due_ns,
        .handler = change->handler,
        .is_moved = true,
        .is_announced = change->is_announced,
    };
}

void verge__rows_committed(verge_durable *durable, verge__connection *connection, verge__row *rows, size_t count) {
    verge__lock(durable);
    for (size_t i = 0; i < count; i++) {
        const verge__row *row = &rows[i];
        if (row->outcome != 0) {
            continue;
        }
        durable->stats.started += !row->is_moved;
        const uint32_t handler = verge__handler_index(durable, row->handler);
        const bool is_near =
            durable->epochs[verge__shard_of(row->id)] != 0 && row->due_ns <= durable->keeper.read_until_ns;
        const bool is_there = row->is_moved && verge__window_find(&durable->window, row->id) != VERGE__NO_HINT;
        if (handler != VERGE__NO_HANDLER && (is_near || is_there)) {
            verge__window_add(durable, row->id, row->due_ns, handler, true);
        }
    }
    verge__unlock(durable);
    if (connection != NULL) { /* for rows whose shard was lost before the commit, or that came near meanwhile */
        (void)verge__notify_near(durable, connection, rows, count);
    }
}

/* A row is near if it is due within horizon_ns + lease_ns. lease_ns is added because this transaction may take as long
 * as a lease. Until it commits, the owner of the shard may read its window up to that time, and does not see the row
 * (keeper.c). */
int verge__notify_near(verge_durable *durable, verge__connection *connection, verge__row *rows, size_t count) {
    enum { NEAR_MAX = 256 };
    const uint64_t near_ns = durable->options.horizon_ns + durable->options.lease_ns;
    const verge__row *near[NEAR_MAX];
    size_t i = 0;
    int error = 0;
    while (i < count && error == 0) {
        size_t near_count = 0;
        verge__lock(durable);
        const uint64_t until_ns = verge__store_now(durable) + near_ns;
        for (; i < count && near_count < NEAR_MAX; i++) {
            if (rows[i].outcome == 0 && !rows[i].is_announced && rows[i].due_ns <= until_ns &&
                durable->epochs[verge__shard_of(rows[i].id)] == 0) {
                rows[i].is_announced = true;
                near[near_count++] = &rows[i];
            }
        }
        verge__unlock(durable);
        error = near_count == 0 ? 0 : durable->store->notify(connection, near, near_count);
    }
    return error;
}

/* ---- start ---- */

int verge__find_taken(verge__row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (rows[i].outcome == VERGE__ID_TAKEN && rows[i].is_new) {
            return VERGE__ID_TAKEN;
        }
        /* An id that is taken here was given by the caller. */
        rows[i].outcome = rows[i].outcome == VERGE__ID_TAKEN ? -EEXIST : rows[i].outcome;
    }
    return 0;
}

/* Inserts rows in a transaction that is not the writer's. -EAGAIN: the node needs a new incarnation first. */
static int insert_rows(verge_durable *durable, verge__connection *connection, verge__row *rows, size_t count) {
    int error = durable->store->insert(connection, rows, count);
    VERGE__THEN(error, verge__find_taken(rows, count));
    if (error == VERGE__ID_TAKEN) {
        verge__drop_incarnation(durable);
        error = -EAGAIN;
    }
    return error;
}

static int give_ids(verge_durable *durable, verge__row *rows, size_t count) {
    int error = 0;
    verge__lock(durable);
    for (size_t i = 0; i < count && error == 0; i++) {
        if (rows[i].id == 0) {
            const uint64_t due_ns = rows[i].due_ns + (rows[i].due_is_delay ? verge__store_now(durable) : 0);
            rows[i].id = verge__new_id(durable, due_ns);
            rows[i].is_new = true;
            error = rows[i].id == 0 ? -EAGAIN : 0;
        }
    }
    verge__unlock(durable);
    return error;
}

/* Returns whether a timer of the batch still needs the row's key. The batch has deleted that timer's row. If the
 * timer's handler returns RETRY, or the timer recurs, the batch inserts the row again, with its key. A handler may use
 * the key of its own timer if that timer does not recur. This is how a handler starts the next timer of a chain. */
static bool is_taken_in_batch(const verge__current *current, const verge__row *row) {
    const verge__row *found =
        row->key == NULL ? NULL : verge__find_in_batch(current, 0, row->handler, row->key, row->key_size);
    return found != NULL && (found != current->row || found->period_ns != 0 || found->rule != NULL);
}

static int insert_in_handler(verge__current *current, verge__row *rows, size_t count) {
    verge__firer *firer = current->firer;
    int error = 0;
    for (size_t i = 0, end; i < count && error == 0; i = end + 1) {
        for (end = i; end < count && !is_taken_in_batch(current, &rows[end]); end++) {
        }
        error = end == i ? 0 : insert_rows(firer->durable, firer->connection, rows + i, end - i);
        if (end < count) {
            rows[end].outcome = -EEXIST;
        }
    }
    return error;
}

/* Starts timers in the transaction of the handler that runs on this thread. */
static int schedule_in_handler(verge__current *current, verge__row *rows, size_t count) {
    verge_durable *durable = current->firer->durable;
    verge__connection *connection = current->firer->connection;
    int error = verge__current_begin(current);
    VERGE__THEN(error, give_ids(durable, rows, count));
    VERGE__THEN(error, insert_in_handler(current, rows, count));
    VERGE__THEN(error, verge__notify_near(durable, connection, rows, count));
    for (size_t i = 0; i < count && error == 0; i++) {
        error = verge__current_scheduled(current, &rows[i]);
    }
    return error;
}

static int schedule_rows(verge_durable *durable, verge__row *rows, size_t count) {
    verge__current *current = verge__current_of(durable);
    if (current != NULL) {
        return schedule_in_handler(current, rows, count);
    }
    verge__call call = {.kind = VERGE__CALL_SCHEDULE, .rows = rows, .row_count = count};
    for (size_t i = 0; i < count; i++) {
        call.size += rows[i].payload_size;
    }
    return verge__perform(durable, &call);
}

/* If the node needs a new incarnation, waits until the writer has taken one. -EAGAIN: this thread cannot wait, since
 * the writer would wait for the caller's transaction (SQLite); or that transaction is on another server than the
 * node's. */
static int prepare_ids(verge_durable *durable, verge__connection *connection) {
    verge__lock(durable);
    const bool is_same = durable->ids.server_id == connection->server_id;
    const bool is_ready = durable->ids.incarnation != 0;
    verge__unlock(durable);
    if (is_ready && is_same) {
        return 0;
    }
    if (!is_same || durable->store->has_one_writer) {
        return -EAGAIN;
    }
    verge__call call = {.kind = VERGE__CALL_NOTHING};
    return verge__perform(durable, &call);
}

/* Starts a timer in a transaction of the caller's. Returns an error, or the row's outcome. */
static int schedule_in_transaction(verge_durable *durable, void *transaction, verge__row *row) {
    verge__connection *connection;
    int error = durable->store->borrow(transaction, &connection);
    if (error != 0) {
        return error;
    }
    error = prepare_ids(durable, connection);
    VERGE__THEN(error, give_ids(durable, row, 1));
    VERGE__THEN(error, insert_rows(durable, connection, row, 1));
    VERGE__THEN(error, row->outcome);
    if (error == 0) { /* always notifies, since nobody knows when the caller commits. This node is notified, too */
        const verge__row *const rows[] = {row};
        row->is_announced = true;
        error = durable->store->notify(connection, rows, 1);
    }
    if (error == 0) {
        verge__rows_committed(durable, connection, row, 1); /* until the caller commits, the hint finds no row */
    }
    durable->store->disconnect(connection);
    if (error < 0 && error != -EEXIST) {
        verge__keep_words(durable, error);
    }
    return error;
}

int verge_durable_start(verge_durable *durable, const verge_durable_request *request, verge_durable_id *ret_id) {
    verge__row row = {.id = 0};
    int error = durable == NULL ? -EINVAL : row_of(durable, request, &row);
    VERGE__THEN(error, give_first_tick(durable, &row));
    if (error != 0) {
        return error;
    }
    const bool commits = request->transaction == NULL;
    error = commits ? schedule_rows(durable, &row, 1) : schedule_in_transaction(durable, request->transaction, &row);
    VERGE__THEN(error, row.outcome);
    if ((error == 0 || (error == -EREMOTEIO && commits)) && ret_id != NULL) {
        *ret_id = row.id;
    }
    return error;
}

int verge_durable_start_many(verge_durable *durable, const verge_durable_request *requests, size_t count,
                             verge_durable_id *ret_ids) {
    if (durable == NULL || (requests == NULL && count > 0) || count > INT32_MAX) {
        return -EINVAL;
    }
    if (count == 0) {
        return 0;
    }
    verge__row *rows = calloc(count, sizeof(*rows));
    int error = rows == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        error = requests[i].transaction == NULL
                    ? row_of(durable, &requests[i], &rows[i])
                    : verge__refuse(durable, -EINVAL, "verge_durable_start_many takes no transaction of the caller's");
        VERGE__THEN(error, give_first_tick(durable, &rows[i]));
    }
    if (error == 0) {
        error = schedule_rows(durable, rows, count);
    }
    int scheduled = 0;
    for (size_t i = 0; i < count && (error == 0 || error == -EREMOTEIO); i++) {
        const bool is_there = error != 0 || rows[i].outcome == 0;
        scheduled += is_there;
        if (ret_ids != NULL) {
            ret_ids[i] = is_there ? rows[i].id : 0;
        }
    }
    free(rows);
    return error != 0 ? error : scheduled;
}

/* ---- cancel, reset, retry, forget ---- */

static bool is_id(verge_durable_id id) {
    return id != 0 && id <= VERGE__TIME_MAX_NS;
}

static int change_in_handler(verge__current *current, verge__call *call) {
    verge__connection *connection = current->firer->connection;
    const verge__store *store = connection->store;
    verge__change *change = &call->change;
    int error = verge__current_begin(current);
    if (error != 0) {
        return error;
    }
    switch (call->kind) {
    case VERGE__CALL_CANCEL:
        error = store->cancel(connection, change, 1);
        break;
    case VERGE__CALL_RESET:
        error = store->reset(connection, change, 1);
        break;
    default:
        error = verge__change_dead(connection, call);
        /* The end of the call's savepoint has set the connection up for the library. `handle` sets it up for the
         * handler again. */
        (void)connection->store->handle(connection);
        current->is_broken = error != 0; /* the savepoint of this call may still be open, inside of the handler's */
        break;
    }
    const bool is_of_dead = call->kind == VERGE__CALL_REVIVE || call->kind == VERGE__CALL_FORGET;
    if (error == 0 && (call->kind == VERGE__CALL_RESET || call->kind == VERGE__CALL_REVIVE) && change->outcome >= 0) {
        verge__row moved = verge__moved_row(change);
        error = verge__notify_near(current->firer->durable, connection, &moved, 1);
        VERGE__THEN(error, verge__current_scheduled(current, &moved));
    }
    if (change->outcome == -ENOENT && !is_of_dead &&
        verge__find_in_batch(current, change->id, change->handler, change->key, change->key_size) != NULL) {
        change->outcome = VERGE_RUNNING; /* the batch has taken the timer's row */
    }
    /* -EAGAIN: another transaction has locked the row or the key. If the timer is pending, this is usually its firing.
     * A dead timer does not run. */
    return error != 0 ? error : change->outcome == -EAGAIN && !is_of_dead ? VERGE_RUNNING : change->outcome;
}

static int change(verge_durable *durable, verge__call_kind kind, verge_durable_id id, uint64_t due_ns) {
    if (durable == NULL || due_ns > VERGE__TIME_MAX_NS) {
        return -EINVAL;
    }
    if (!is_id(id)) {
        return -ENOENT;
    }
    verge__call call = {.kind = kind, .change = {.id = id, .due_ns = due_ns}};
    verge__current *current = verge__current_of(durable);
    return current != NULL ? change_in_handler(current, &call) : verge__perform(durable, &call);
}

static int change_key(verge_durable *durable, verge__call_kind kind, const char *handler, const void *key,
                      size_t key_size, uint64_t due_ns) {
    if (durable == NULL || key == NULL || due_ns > VERGE__TIME_MAX_NS) {
        return -EINVAL;
    }
    if (!verge__is_handler_name(handler)) {
        return verge__refuse(durable, -EINVAL, VERGE__HANDLER_WORDS);
    }
    const int error = check_key(durable, key, &key_size);
    if (error != 0) {
        return error;
    }
    verge__call call = {.kind = kind, .change = {.due_ns = due_ns, .key = key, .key_size = key_size}};
    memcpy(call.change.handler, handler, strlen(handler));
    verge__current *current = verge__current_of(durable);
    return current != NULL ? change_in_handler(current, &call) : verge__perform(durable, &call);
}

int verge_durable_cancel_key(verge_durable *durable, const char *handler, const void *key, size_t key_size) {
    return change_key(durable, VERGE__CALL_CANCEL, handler, key, key_size, 0);
}

int verge_durable_reset_key(verge_durable *durable, const char *handler, const void *key, size_t key_size,
                            uint64_t due_ns) {
    return change_key(durable, VERGE__CALL_RESET, handler, key, key_size, due_ns);
}

int verge_durable_cancel(verge_durable *durable, verge_durable_id id) {
    return change(durable, VERGE__CALL_CANCEL, id, 0);
}

int verge_durable_reset(verge_durable *durable, verge_durable_id id, uint64_t due_ns) {
    return change(durable, VERGE__CALL_RESET, id, due_ns);
}

int verge_durable_retry(verge_durable *durable, verge_durable_id id) {
    return change(durable, VERGE__CALL_REVIVE, id, 0);
}

int verge_durable_forget(verge_durable *durable, verge_durable_id id) {
    return change(durable, VERGE__CALL_FORGET, id, 0);
}

/* ---- calls that only read ---- */

int verge__ask(verge_durable *durable,
               int (*read)(verge_durable *durable, verge__connection *connection, void *question), void *question) {
    verge__current *current = verge__current_of(durable);
    if (current != NULL) { /* if the question fails, the savepoint keeps the batch */
        const int error = verge__current_begin(current);
        return error != 0 ? error : read(durable, current->firer->connection, question);
    }
    verge__call call = {.kind = VERGE__CALL_READ, .read = read, .question = question};
    return verge__perform(durable, &call);
}

typedef struct verge__find {
    const char *handler;
    const void *key;
    size_t key_size;
    uint64_t *ret_id;
} verge__find;

static int read_find(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__find *q = question;
    return durable->store->find(connection, q->handler, q->key, q->key_size, q->ret_id);
}

int verge_durable_find(verge_durable *durable, const char *handler, const void *key, size_t key_size,
                       verge_durable_id *ret_id) { /* NOLINT(readability-non-const-parameter) */
    if (durable == NULL || !verge__is_handler_name(handler) || key == NULL || ret_id == NULL) {
        return -EINVAL;
    }
    const int error = check_key(durable, key, &key_size);
    if (error != 0) {
        return error;
    }
    verge__find question = {.handler = handler, .key = key, .key_size = key_size, .ret_id = ret_id};
    return verge__ask(durable, read_find, &question);
}

typedef struct verge__look {
    uint64_t id;
    verge_durable_info *ret_info;
    void *payload;
    size_t size;
} verge__look;

static int read_look(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__look *q = question;
    return durable->store->look(connection, q->id, q->ret_info, q->payload, q->size);
}

int verge_durable_get(verge_durable *durable, verge_durable_id id, verge_durable_info *ret_info, void *payload,
                      size_t size) {
    if (durable == NULL || ret_info == NULL || (payload == NULL && size > 0)) {
        return -EINVAL;
    }
    if (!is_id(id)) {
        return -ENOENT;
    }
    verge__look question = {.id = id, .ret_info = ret_info, .payload = payload, .size = size};
    return verge__ask(durable, read_look, &question);
}

typedef struct verge__list {
    bool dead;
    uint64_t after;
    verge_durable_info *ret_infos;
    size_t count;
} verge__list;

static int read_list(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__list *q = question;
    return durable->store->list(connection, q->dead, q->after, q->ret_infos, q->count);
}

int verge_durable_list(verge_durable *durable, bool dead, verge_durable_id after, verge_durable_info *ret_infos,
                       size_t count) {
    if (durable == NULL || (ret_infos == NULL && count > 0) || count > 100000 || after > VERGE__TIME_MAX_NS) {
        return -EINVAL;
    }
    verge__list question = {.dead = dead, .after = after, .ret_infos = ret_infos, .count = count};
    return verge__ask(durable, read_list, &question);
}

typedef struct verge__counts {
    uint64_t pending;
    uint64_t overdue;
    uint64_t dead;
} verge__counts;

static int read_count(verge_durable *durable, verge__connection *connection, void *question) {
    verge__counts *q = question;
    return durable->store->count(connection, &q->pending, &q->overdue, &q->dead);
}

static void put(uint64_t *ret, uint64_t value) {
    if (ret != NULL) {
        *ret = value;
    }
}

int verge_durable_count(verge_durable *durable, uint64_t *ret_pending, uint64_t *ret_overdue, uint64_t *ret_dead) {
    verge__counts question;
    const int error = durable == NULL ? -EINVAL : verge__ask(durable, read_count, &question);
    if (error == 0) {
        put(ret_pending, question.pending);
        put(ret_overdue, question.overdue);
        put(ret_dead, question.dead);
    }
    return error;
}

typedef struct verge__owners {
    verge_durable_owner *ret_owners;
    size_t count;
} verge__owners;

static int read_owners(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__owners *q = question;
    uint64_t dead;
    return durable->store->owners(connection, q->ret_owners, q->count, &dead);
}

int verge_durable_list_owners(verge_durable *durable, verge_durable_owner *ret_owners, size_t count) {
    if (durable == NULL || ret_owners == NULL) {
        return -EINVAL;
    }
    verge__owners question = {.ret_owners = ret_owners, .count = count};
    const int found = verge__ask(durable, read_owners, &question);
    for (int i = 0; i < found; i++) {
        ret_owners[i].is_this = ret_owners[i].node == durable->node && !durable->options.client;
    }
    return found;
}

typedef struct verge__check {
    char *text;
    size_t size;
} verge__check;

static int read_check(verge_durable *durable, verge__connection *connection, void *question) {
    const verge__check *q = question;
    return durable->store->check(connection, durable->shard_count, q->text, q->size);
}

int verge_durable_check(verge_durable *durable, char *text, /* NOLINT(readability-non-const-parameter) */
                        size_t size) {
    if (durable == NULL || (text == NULL && size > 0)) {
        return -EINVAL;
    }
    verge__check question = {.text = text, .size = size};
    return verge__ask(durable, read_check, &question);
}
