/* SPDX-License-Identifier: MIT */
/*
 * The writer: group commit. If the writer is idle, a call is committed at once. Calls that come during a transaction
 * share the next one. So a commit has one call if calls are rare, and hundreds if there are many.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "durable/durable_internal.h"

enum {
    GROUP_ROWS_MAX = 4096,    /* the most rows of a transaction, unless a single call has more */
    GROUP_SIZE_MAX = 8 << 20, /* the most bytes of its payloads, unless a single call has more */
    FAILED_NAP_MS = 20,
    LOCKED_NAP_MS = 2,
};

/* How long a cancel or reset waits for a row that another transaction (a firing, say) has locked. After that, it
 * returns VERGE_RUNNING. */
#define LOCK_PATIENCE_NS UINT64_C(50000000)

/* Calls that the writer has taken together. Those that write share a transaction. */
typedef struct verge__group {
    verge__call *calls;
    size_t row_count;
    size_t cancel_count;
    size_t reset_count;
    bool has_changes; /* there is something to commit */
} verge__group;

static void take_calls(verge_durable *durable, verge__group *group) {
    verge__call **end = &group->calls;
    size_t size = 0;
    verge__lock(durable);
    while (durable->writer.calls != NULL) {
        verge__call *call = durable->writer.calls;
        size += call->size;
        if (group->calls != NULL && (group->row_count + call->row_count > GROUP_ROWS_MAX || size > GROUP_SIZE_MAX ||
                                     call->is_alone || group->calls->is_alone)) {
            break;
        }
        durable->writer.calls = call->next;
        call->is_taken = true;
        *end = call;
        end = &call->next;
        group->row_count += call->row_count;
        group->cancel_count += call->kind == VERGE__CALL_CANCEL;
        group->reset_count += call->kind == VERGE__CALL_RESET;
        group->has_changes |= call->kind != VERGE__CALL_READ;
    }
    *end = NULL;
    if (durable->writer.calls == NULL) {
        durable->writer.calls_end = &durable->writer.calls;
    }
    verge__unlock(durable);
}

/* Puts calls back to the front of the queue, in their order. */
static void put_back(verge_durable *durable, verge__call *calls, verge__call **end) {
    if (calls == NULL) {
        return;
    }
    verge__lock(durable);
    for (verge__call *call = calls; call != NULL; call = call->next) {
        call->is_taken = false;
    }
    *end = durable->writer.calls;
    if (durable->writer.calls == NULL) {
        durable->writer.calls_end = end;
    }
    durable->writer.calls = calls;
    verge__unlock(durable);
}

static void append_calls(verge_durable *durable, verge__call *calls, verge__call **end) {
    if (calls == NULL) {
        return;
    }
    verge__lock(durable);
    for (verge__call *call = calls; call != NULL; call = call->next) {
        call->is_taken = false;
    }
    *durable->writer.calls_end = calls;
    durable->writer.calls_end = end;
    verge__unlock(durable);
}

/* Call it after a transaction met a lock. A call that inserts a key, or revives a timer with a key, may be the reason:
 * another open transaction may have inserted the same key. From now on, each such call gets a transaction of its
 * own. */
static void set_apart(const verge__group *group) {
    for (verge__call *call = group->calls; call != NULL; call = call->next) {
        call->is_alone |= call->kind == VERGE__CALL_REVIVE;
        for (size_t i = 0; i < call->row_count; i++) {
            call->is_alone |= call->rows[i].key != NULL;
        }
    }
}

static bool make_room(void **array, size_t *capacity, size_t count, size_t size) {
    if (count > *capacity) {
        void *larger = realloc(*array, count * size);
        if (larger == NULL) {
            return false;
        }
        *array = larger;
        *capacity = count;
    }
    return true;
}

/* Collects the rows of all calls, in their order. Also collects the changes: first the cancels, then the resets. */
static int collect(verge_durable *durable, verge__group *group) {
    if (!make_room((void **)&durable->writer.rows, &durable->writer.row_capacity, group->row_count,
                   sizeof(*durable->writer.rows)) ||
        !make_room((void **)&durable->writer.changes, &durable->writer.change_capacity,
                   group->cancel_count + group->reset_count, sizeof(*durable->writer.changes))) {
        return -ENOMEM;
    }
    size_t row = 0;
    size_t cancel = 0;
    size_t reset = group->cancel_count;
    verge__lock(durable);
    const uint64_t now_ns = verge__store_now(durable);
    int error = 0;
    for (const verge__call *call = group->calls; call != NULL; call = call->next) {
        for (size_t i = 0; i < call->row_count; i++) {
            verge__row *from = &call->rows[i];
            if (from->id == 0 || from->is_new) { /* is_new: an earlier try made the id, and committed nothing */
                from->id = verge__new_id(durable, from->due_ns + (from->due_is_delay ? now_ns : 0));
                from->is_new = true;
                error = from->id == 0 ? -EAGAIN : error;
            }
            durable->writer.rows[row++] = *from;
        }
        if (call->kind == VERGE__CALL_CANCEL) {
            durable->writer.changes[cancel++] = call->change;
        } else if (call->kind == VERGE__CALL_RESET) {
            durable->writer.changes[reset++] = call->change;
        }
    }
    verge__unlock(durable);
    return error;
}

static int announce(verge_durable *durable, verge__change *change) {
    verge__row moved = verge__moved_row(change);
    const int error = verge__notify_near(durable, durable->writer.connection, &moved, 1);
    change->is_announced = moved.is_announced;
    return error;
}

int verge__change_dead(verge__connection *connection, verge__call *call) {
    const verge__store *store = connection->store;
    const int error = store->savepoint(connection);
    if (error != 0) {
        return error;
    }
    call->change.outcome = call->kind == VERGE__CALL_REVIVE ? store->revive(connection, &call->change)
                                                            : store->forget(connection, call->change.id);
    return store->end_savepoint(connection, call->change.outcome != 0);
}

static int change_dead(verge_durable *durable, verge__call *call) {
    const int error = verge__change_dead(durable->writer.connection, call);
    const int outcome = call->change.outcome;
    if (error != 0 || (outcome != 0 && outcome != -ENOENT && outcome != -EEXIST)) {
        return outcome != 0 ? outcome : error;
    }
    return outcome == 0 && call->kind == VERGE__CALL_REVIVE ? announce(durable, &call->change) : 0;
}

static int write_group(verge_durable *durable, const verge__group *group) {
    const verge__store *store = durable->store;
    verge__connection *connection = durable->writer.connection;
    verge__row *rows = durable->writer.rows;
    verge__change *changes = durable->writer.changes;
    int error = 0;
    if (group->row_count > 0) {
        error = store->insert(connection, rows, group->row_count);
        VERGE__THEN(error, verge__find_taken(rows, group->row_count));
        VERGE__THEN(error, verge__notify_near(durable, connection, rows, group->row_count));
        verge__failpoint("schedule.inserted");
    }
    if (error == 0 && group->cancel_count > 0) {
        error = store->cancel(connection, changes, group->cancel_count);
        verge__failpoint("cancel.deleted");
    }
    if (error == 0 && group->reset_count > 0) {
        error = store->reset(connection, changes + group->cancel_count, group->reset_count);
        for (size_t i = 0; i < group->reset_count && error == 0; i++) {
            verge__change *reset = &changes[group->cancel_count + i];
            error = reset->outcome < 0 ? 0 : announce(durable, reset);
        }
        verge__failpoint("reset.updated");
    }
    for (verge__call *call = group->calls; call != NULL && error == 0; call = call->next) {
        if (call->kind == VERGE__CALL_REVIVE || call->kind == VERGE__CALL_FORGET) {
            error = change_dead(durable, call);
        } else if (call->kind == VERGE__CALL_CONTROL) {
            error = store->control(connection, call->control);
        }
    }
    return error;
}

static int begin(verge_durable *durable) {
    const int error = verge__begin(durable, &durable->writer.connection);
    if (error == 0) {
        verge__failpoint("schedule.began");
    }
    return error;
}

static int transact(verge_durable *durable, verge__group *group) {
    const verge__store *store = durable->store;
    int error = collect(durable, group);
    const bool has_collected = error == 0;
    VERGE__THEN(error, write_group(durable, group));
    if (error != 0) {
        store->rollback(durable->writer.connection);
    } else {
        const uint64_t began_ns = verge__local_now(durable);
        error = store->commit(durable->writer.connection, verge__new_mark(durable));
        verge__failpoint("schedule.committed");
        if (error == 0) {
            verge__note_commit(durable, began_ns);
        }
    }
    if (error == -EAGAIN && has_collected) {
        set_apart(group);
    } else if (error == -EACCES && group->calls->next != NULL) { /* one of the calls lacks a right: which one? */
        for (verge__call *call = group->calls; call != NULL; call = call->next) {
            call->is_alone = true;
        }
        error = -EAGAIN;
    }
    return error;
}

static void note_moved(verge_durable *durable, const verge__change *change) {
    verge__row moved = verge__moved_row(change);
    verge__rows_committed(durable, durable->writer.connection, &moved, 1);
}

static void note_reset(verge_durable *durable, const verge__change *reset) {
    verge__lock(durable);
    durable->stats.reset++;
    verge__unlock(durable);
    note_moved(durable, reset);
}

static void note_cancel(verge_durable *durable, uint64_t id) {
    verge__lock(durable);
    durable->stats.cancelled++;
    const uint32_t index = verge__window_find(&durable->window, id);
    if (index != VERGE__NO_HINT && durable->window.hints[index].state != VERGE__HINT_FIRING) {
        verge__window_drop(durable, index);
    }
    verge__unlock(durable);
}

/* Returns whether the call is to be tried again, because another transaction has locked the row. After LOCK_PATIENCE_NS
 * it is not tried again, and its result is VERGE_RUNNING. */
static bool is_to_be_tried_again(verge_durable *durable, verge__call *call, verge__change *change) {
    if (change->outcome != -EAGAIN) {
        return false;
    }
    const uint64_t now_ns = verge__local_now(durable);
    if (call->lock_until_ns == 0) {
        call->lock_until_ns = now_ns + LOCK_PATIENCE_NS;
    }
    change->outcome = VERGE_RUNNING;
    return now_ns < call->lock_until_ns;
}

/* Makes a call that reads. If the connection is lost, this call and later reads of the group are tried again, while
 * their patience lasts. */
static int read_for(verge_durable *durable, verge__call *call) {
    int error = durable->writer.connection == NULL ? -EHOSTUNREACH
                                                   : call->read(durable, durable->writer.connection, call->question);
    if (verge__is_lost(error)) {
        verge__disconnect(durable, &durable->writer.connection);
        error = -EHOSTUNREACH;
    }
    if (error < 0 && error != -ENOENT) {
        verge__keep_words(durable, error);
    }
    return error;
}

/* Indexes in writer.rows and writer.changes, for a walk over the calls of a group: where the rows of the next start
 * are, the change of the next cancel, and that of the next reset. */
typedef struct verge__places {
    size_t row;
    size_t cancel;
    size_t reset;
} verge__places;

/* After the commit: gives a cancel or reset its result. Returns false if the call is to be tried again. */
static bool finish_change(verge_durable *durable, verge__call *call, verge__change *change) {
    if (is_to_be_tried_again(durable, call, change)) {
        return false;
    }
    if (change->outcome >= 0 && call->kind == VERGE__CALL_CANCEL) {
        note_cancel(durable, change->id);
    } else if (change->outcome >= 0) {
        note_reset(durable, change);
    }
    verge__call_finish(call, change->outcome);
    return true;
}

/* Returns whether a call that failed may be tried again: its patience has not run out, and the node does not end. */
static bool has_patience(verge_durable *durable, const verge__call *call) {
    verge__lock(durable);
    const bool has = verge__local_now(durable) < call->give_up_ns && !durable->is_ending;
    verge__unlock(durable);
    return has;
}

static bool finish_read(verge_durable *durable, verge__call *call) {
    const int result = read_for(durable, call);
    if (result == -EHOSTUNREACH && has_patience(durable, call)) {
        return false;
    }
    verge__call_finish(call, result);
    return true;
}

/* After the commit: gives any call its result. Returns false if the call is to be tried again. If true, the call
 * belongs to its caller again. */
static bool finish_call(verge_durable *durable, verge__call *call, verge__places *places) {
    switch (call->kind) {
    case VERGE__CALL_SCHEDULE:
        for (size_t i = 0; i < call->row_count; i++) {
            call->rows[i] = durable->writer.rows[places->row++];
        }
        verge__call_finish(call, 0);
        return true;
    case VERGE__CALL_CANCEL:
        return finish_change(durable, call, &durable->writer.changes[places->cancel++]);
    case VERGE__CALL_RESET:
        return finish_change(durable, call, &durable->writer.changes[places->reset++]);
    case VERGE__CALL_READ:
        return finish_read(durable, call);
    default:
        if (call->change.outcome == 0 && call->kind == VERGE__CALL_REVIVE) {
            note_moved(durable, &call->change);
        }
        verge__call_finish(call, call->change.outcome);
        return true;
    }
}

/* After the commit: gives the results to the callers. Returns true if some calls are to be tried again. */
static bool finish_group(verge_durable *durable, const verge__group *group) {
    verge__call *again = NULL;
    verge__call **again_end = &again;
    verge__places places = {.reset = group->cancel_count};
    verge__rows_committed(durable, durable->writer.connection, durable->writer.rows, group->row_count);
    verge__call *next;
    for (verge__call *call = group->calls; call != NULL; call = next) {
        next = call->next;
        if (!finish_call(durable, call, &places)) {
            *again_end = call;
            again_end = &call->next;
        }
    }
    *again_end = NULL;
    const bool waits = again != NULL;
    put_back(durable, again, again_end);
    return waits;
}

/* After an error: nothing was committed, or it is not known whether anything was. If another try may succeed, calls
 * whose patience has not run out are tried again. All others fail. */
static void refuse_group(verge_durable *durable, const verge__group *group, int error) {
    const bool may_pass = error == -EHOSTUNREACH || error == -EROFS || error == -EAGAIN;
    verge__call *again = NULL;
    verge__call **again_end = &again;
    verge__call *apart = NULL; /* calls that go to the end of the queue */
    verge__call **apart_end = &apart;
    verge__call *next;
    for (verge__call *call = group->calls; call != NULL; call = next) {
        next = call->next;
        const bool has_hope = may_pass && has_patience(durable, call);
        if (has_hope && call->is_alone) {
            *apart_end = call;
            apart_end = &call->next;
        } else if (has_hope) {
            *again_end = call;
            again_end = &call->next;
        } else {
            const bool is_read = call->kind == VERGE__CALL_READ && error == -EREMOTEIO;
            verge__call_finish(call, is_read ? -EHOSTUNREACH : error);
        }
    }
    *again_end = NULL;
    *apart_end = NULL;
    put_back(durable, again, again_end);
    append_calls(durable, apart, apart_end);
}

static bool has_calls(verge_durable *durable, bool *ret_has_changes) {
    *ret_has_changes = false;
    verge__lock(durable);
    const bool has_some = durable->writer.calls != NULL;
    for (const verge__call *call = durable->writer.calls; call != NULL && !*ret_has_changes; call = call->next) {
        *ret_has_changes = call->kind != VERGE__CALL_READ;
    }
    verge__unlock(durable);
    return has_some;
}

/* If a queued call writes, the transaction is begun before the calls are taken. So calls that come while it begins are
 * part of it. */
verge__progress verge__writer_step(verge_durable *durable) {
    verge__group group = {.calls = NULL};
    bool begins;
    if (!has_calls(durable, &begins)) {
        return VERGE__IDLE;
    }
    verge__set_words("%s", "");
    int error = verge__connect(durable, &durable->writer.connection);
    error = error == 0 && begins ? begin(durable) : error;
    take_calls(durable, &group);
    if (error == 0 && begins && !group.has_changes) { /* the calls that write were withdrawn, or come later */
        durable->store->rollback(durable->writer.connection);
    }
    if (group.calls == NULL) {
        return error == 0 ? VERGE__WORKED : VERGE__FAILED;
    }
    if (error == 0 && !begins && group.has_changes) {
        error = begin(durable);
    }
    if (error == 0 && group.has_changes) {
        error = transact(durable, &group);
    }
    if (error == 0) {
        verge__lock(durable);
        durable->stats.commits += group.has_changes;
        verge__unlock(durable);
        verge__note_step(durable, &durable->writer.is_failing, 0);
        return finish_group(durable, &group) ? VERGE__FAILED : VERGE__WORKED;
    }
    if (verge__is_lost(error)) {
        verge__disconnect(durable, &durable->writer.connection);
        if (error == -EREMOTEIO) { /* the commit may have succeeded, with timers that the window lacks */
            (void)verge__set_flag(durable, &durable->keeper.scan_now, true);
            verge__wake_keeper(durable);
        }
    } else if (error == VERGE__ID_TAKEN) { /* the next try has other ids */
        verge__drop_incarnation(durable);
        error = -EAGAIN;
    }
    verge__keep_words(durable, error);
    verge__note_step(durable, &durable->writer.is_failing, error);
    refuse_group(durable, &group, error);
    return VERGE__FAILED;
}

void *verge__writer_run(void *argument) {
    verge_durable *durable = argument;
    for (;;) {
        const verge__progress progress = verge__writer_step(durable);
        if (progress == VERGE__FAILED) {
            const bool is_lost = durable->writer.connection == NULL;
            const long nap_ns = (is_lost ? FAILED_NAP_MS : LOCKED_NAP_MS) * 1000000L;
            /* a random time from half of nap_ns to all of it, so that two nodes do not collide again and again */
            const struct timespec nap = {.tv_nsec =
                                             nap_ns / 2 + (long)(verge__random(durable) % (uint64_t)(nap_ns / 2))};
            (void)nanosleep(&nap, NULL);
            continue;
        }
        verge__lock(durable);
        while (durable->writer.calls == NULL && !durable->is_ending) {
            (void)pthread_cond_wait(&durable->work, &durable->lock);
        }
        const bool is_over = durable->writer.calls == NULL;
        verge__unlock(durable);
        if (is_over) {
            return NULL;
        }
    }
}
