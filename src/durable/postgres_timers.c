/* SPDX-License-Identifier: MIT */
/* The timers: P2 to P5 (docs/DURABLE.md). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak" /* gcc 12 loses sight of memory that a struct holds */
#endif

#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/postgres_internal.h"

/* ---- P2 ---- */

/* A scan merges ordered scans, one for each shard. The server reads each of them only as far as it needs. For this, the
 * shards are part of the statement's text. So the statement is prepared anew when the shards change. */
static int prepare_scan(verge__postgres *c, const verge__shard *shards, uint32_t count) {
    uint64_t key = 1469598103934665603U;
    for (uint32_t i = 0; i < count; i++) {
        key = (key ^ (shards[i].shard + 1)) * 1099511628211U;
    }
    if (c->scan_key == key) {
        return 0;
    }
    verge__buffer *text = &c->buffers[0];
    char part[256];
    text->size = 0;
    append(text, "SELECT id, due, handler, (SELECT verge_now()) FROM (", 52);
    for (uint32_t i = 0; i < count; i++) {
        const int length =
            snprintf(part, sizeof(part),
                     "%s(SELECT id, due, handler FROM verge_timer WHERE shard = %u AND (due, id) > ($1::bigint, "
                     "$2::bigint) AND due <= $3::bigint ORDER BY due, id)",
                     i == 0 ? "" : " UNION ALL ", shards[i].shard);
        append(text, part, (size_t)length);
    }
    append(text, ") t ORDER BY due, id LIMIT $4::bigint", sizeof(") t ORDER BY due, id LIMIT $4::bigint"));
    if (is_broken(c)) {
        return -ENOMEM;
    }
    int error = verge__pg_say(
        c, "SET plan_cache_mode = force_generic_plan; SET enable_sort = off; SET enable_bitmapscan = off");
    if (error == 0 && c->scan_key != 0) {
        error = verge__pg_say(c, "DEALLOCATE verge_scan");
        c->scan_key = error == 0 ? 0 : c->scan_key; /* after a failure, the old statement is still there */
    }
    VERGE__THEN(error, verge__pg_prepare(c, "verge_scan", text->data));
    c->scan_key = error == 0 ? key : c->scan_key;
    return error;
}

int verge__postgres_scan(verge__connection *connection, const verge__shard *shards, uint32_t count,
                         uint64_t after_due_ns, uint64_t after_id, uint64_t until_ns, uint32_t limit,
                         verge__visit_row visit, void *context) {
    verge__postgres *c = own(connection);
    int error =
        c->is_listening ? 0 : verge__pg_say(c, "LISTEN verge_timer"); /* before the scan, so that no timer is missed */
    c->is_listening = error == 0;
    VERGE__THEN(error, prepare_scan(c, shards, count));
    if (error != 0) {
        return error;
    }
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, after_due_ns);
    add_number(&p, after_id);
    add_number(&p, until_ns);
    add_number(&p, limit);
    const uint64_t asked_ns = verge__monotonic_ns();
    error = verge__pg_ask_named(c, "verge_scan", &p, &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        const verge__row row = {
            .id = number(result, i, 0),
            .due_ns = number(result, i, 1),
            .handler = PQgetvalue(result, i, 2),
        };
        if (i == 0) {
            note_time(c, number(result, i, 3), asked_ns);
        }
        visit(context, &row);
    }
    PQclear(result);
    return 0;
}

/* Reads a number of up to VERGE__TIME_MAX_NS and the space behind it. */
static bool read_number(char **at, uint64_t *ret_number) {
    const bool is_digit = **at >= '0' && **at <= '9';
    *ret_number = strtoull(*at, at, 10);
    return is_digit && *ret_number <= VERGE__TIME_MAX_NS && *(*at)++ == ' ';
}

/* A notification is "ID DUE HANDLER". The handler is empty if the sender did not know it: for example, the sender is an
 * older version of the library, and has moved the timer. Other texts are ignored, since anybody can send anything on a
 * channel. */
static void visit_notification(const PGnotify *notification, verge__visit_row visit, void *context) {
    char *at = notification->extra;
    verge__row row = {0};
    if (read_number(&at, &row.id) && read_number(&at, &row.due_ns)) {
        row.handler = at;
        visit(context, &row);
    }
}

int verge__postgres_wait(verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                         void *context) {
    verge__postgres *c = own(connection);
    const uint64_t until_ns = verge__monotonic_ns() + timeout_ns;
    bool is_over = false;
    for (;;) {
        PGnotify *notification;
        while ((notification = PQnotifies(c->pg)) != NULL) { /* some may have come with the last answer */
            visit_notification(notification, visit, context);
            PQfreemem(notification);
        }
        if (is_over) {
            return PQstatus(c->pg) == CONNECTION_OK ? 0 : -EHOSTUNREACH;
        }
        const uint64_t now_ns = verge__monotonic_ns();
        struct pollfd fds[2] = {{.fd = PQsocket(c->pg), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
        const int left_ms = now_ns >= until_ns ? 0 : (int)((until_ns - now_ns) / 1000000) + 1;
        const int ready = poll(fds, 2, left_ms);
        if (ready > 0 && fds[0].revents != 0 && !PQconsumeInput(c->pg)) {
            return -EHOSTUNREACH;
        }
        is_over = ready == 0 || fds[1].revents != 0 || verge__monotonic_ns() >= until_ns;
    }
}

/* ---- P3 ---- */

static uint64_t due_of(const verge__row *row) {
    return row->due_is_delay ? (uint64_t)(-1 - (int64_t)row->due_ns) : row->due_ns;
}

static void add_numbers_of(verge__postgres *c, verge__parameters *p, const verge__row *rows, size_t count,
                           uint64_t (*read)(const verge__row *row)) {
    verge__buffer *array = begin_array(c, p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(array, read(&rows[i]));
    }
    end_array(p, array);
}

static uint64_t id_of(const verge__row *row) {
    return row->id;
}

static uint64_t attempt_of(const verge__row *row) {
    return row->attempt;
}

static uint64_t revision_of(const verge__row *row) {
    return row->revision;
}

static uint64_t period_of(const verge__row *row) {
    return row->period_ns;
}

static uint64_t policy_of(const verge__row *row) {
    return row->policy;
}

static void add_new_rows(verge__postgres *c, verge__parameters *p, const verge__row *rows, size_t count) {
    add_numbers_of(c, p, rows, count, id_of);
    add_numbers_of(c, p, rows, count, due_of);
    add_numbers_of(c, p, rows, count, period_of);
    add_numbers_of(c, p, rows, count, policy_of);
    verge__buffer *handlers = begin_array(c, p, TYPE_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        append_item(handlers, rows[i].handler, strlen(rows[i].handler));
    }
    end_array(p, handlers);
    verge__buffer *payloads = begin_array(c, p, TYPE_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        append_item(payloads, rows[i].payload_size == 0 ? "" : rows[i].payload, rows[i].payload_size);
    }
    end_array(p, payloads);
    verge__buffer *rules = begin_array(c, p, TYPE_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        append_item(rules, rows[i].rule, rows[i].rule == NULL ? 0 : strlen(rows[i].rule));
    }
    end_array(p, rules);
}

static void add_rows(verge__postgres *c, verge__parameters *p, const verge__row *rows, size_t count) {
    add_new_rows(c, p, rows, count);
    add_numbers_of(c, p, rows, count, attempt_of);
    add_numbers_of(c, p, rows, count, revision_of);
    verge__buffer *names = begin_array(c, p, TYPE_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        append_item(names, rows[i].key, rows[i].key_size);
    }
    end_array(p, names);
}

/* Finds the rows that were inserted, by the ids of the answer, and copies their times. The answer is in about the same
 * order as the rows. */
static size_t match(const PGresult *result, verge__row *rows, size_t count) {
    size_t at = 0;
    size_t matched = 0;
    for (int i = 0; i < PQntuples(result); i++) {
        const uint64_t id = number(result, i, 0);
        for (size_t tries = 0; tries < count; tries++, at++) {
            at = at >= count ? 0 : at;
            if (rows[at].id == id) {
                rows[at].outcome = 0;
                rows[at].due_ns = number(result, i, 1);
                rows[at].due_is_delay = false;
                matched++;
                at++;
                break;
            }
        }
    }
    return matched;
}

/* Sets the outcomes of the rows whose ids are in the table now. Such an id was in the table before, or this insert has
 * added it. It may belong to another timer. A call may have an id twice. */
static void match_found(const PGresult *result, verge__row *rows, size_t count) {
    for (int i = 0; i < PQntuples(result); i++) {
        verge__row found;
        read_row(result, i, &found);
        for (size_t at = 0; at < count; at++) {
            if (rows[at].id == found.id && verge__is_same_timer(&found, &rows[at])) {
                rows[at].outcome = 0;
                rows[at].due_ns = found.due_ns;
                rows[at].due_is_delay = false;
            } else if (rows[at].id == found.id) {
                rows[at].outcome = VERGE__ID_TAKEN;
            }
        }
    }
}

static int insert_new(verge__postgres *c, verge__row *rows, size_t count) {
    verge__parameters p = {0};
    PGresult *result;
    add_new_rows(c, &p, rows, count);
    const int error = verge__pg_ask(c, INSERT_NEW, &p, &result);
    if (error != 0) {
        return error == -EEXIST ? VERGE__ID_TAKEN : error;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].outcome = 0;
        rows[i].due_ns += rows[i].due_is_delay ? number(result, 0, 0) : 0;
        rows[i].due_is_delay = false;
    }
    PQclear(result);
    return 0;
}

static int insert_piece(verge__postgres *c, verge__row *rows, size_t count) {
    verge__parameters p = {0};
    PGresult *result;
    bool are_new = true;
    for (size_t i = 0; i < count; i++) {
        are_new &= rows[i].is_new && rows[i].key == NULL;
        rows[i].outcome = -EEXIST;
    }
    if (are_new) {
        return insert_new(c, rows, count);
    }
    add_rows(c, &p, rows, count);
    int error = verge__pg_ask(c, INSERT, &p, &result);
    if (error != 0) {
        return error;
    }
    const size_t matched = match(result, rows, count);
    PQclear(result);
    if (matched == count) {
        return 0;
    }
    /* Rows that were not inserted: their key is taken, or they exist already. */
    p = (verge__parameters){0};
    add_numbers_of(c, &p, rows, count, id_of);
    error = verge__pg_ask(c, EXISTING_ROWS, &p, &result);
    if (error == 0) {
        match_found(result, rows, count);
        PQclear(result);
    }
    return error;
}

/* For a row with on_conflict: finds out whether another timer has the id that the caller gave. If so, an insert would
 * fail, and with it the transaction. */
static int find_other(verge__postgres *c, const verge__row *row, bool *ret_is_taken) {
    verge__parameters p = {0};
    PGresult *result;
    add_numbers_of(c, &p, row, 1, id_of);
    const int error = verge__pg_ask(c, EXISTING_ROWS, &p, &result);
    if (error == 0) {
        verge__row found;
        *ret_is_taken = false;
        if (PQntuples(result) == 1) {
            read_row(result, 0, &found);
            *ret_is_taken = !verge__has_same_key(&found, row);
        }
        PQclear(result);
    }
    return error;
}

/* Inserts the row. If a pending row has the same key, changes that row instead. */
static int replace(verge__postgres *c, verge__row *row) {
    verge__parameters p = {0};
    PGresult *result;
    bool is_taken = false;
    int error = row->is_new ? 0 : find_other(c, row, &is_taken);
    if (error != 0 || is_taken) {
        row->outcome = -EEXIST;
        return error;
    }
    add_number(&p, row->id);
    add_number(&p, due_of(row));
    add_number(&p, row->period_ns);
    add_number(&p, row->policy);
    add_bytes(&p, row->handler, strlen(row->handler));
    add_bytes(&p, row->key, row->key_size);
    add_bytes(&p, row->payload_size == 0 ? "" : row->payload, row->payload_size);
    add_number(&p, row->on_conflict == VERGE_DURABLE_REPLACE);
    add_bytes(&p, row->rule, row->rule == NULL ? 0 : strlen(row->rule));
    error = verge__pg_ask(c, REPLACE, &p, &result);
    if (error != 0) { /* -EEXIST: another transaction has just taken the id, and the next try finds its row */
        return error != -EEXIST ? error : row->is_new ? VERGE__ID_TAKEN : -EAGAIN;
    }
    row->outcome = 0;
    row->is_moved = number(result, 0, 0) != row->id;
    row->id = number(result, 0, 0);
    row->due_ns = number(result, 0, 1);
    row->due_is_delay = false;
    PQclear(result);
    return 0;
}

/* A statement has one row, or at most PIECE_ROWS_MAX rows with PIECE_SIZE_MAX bytes of payloads: the server must answer
 * within the lease. */
static int insert_pieces(verge__postgres *c, verge__row *rows, size_t count) {
    int error = 0;
    for (size_t i = 0, end; i < count && error == 0; i = end) {
        size_t size = 0;
        end = i;
        while (end < count && end - i < PIECE_ROWS_MAX && !rows[end].on_conflict &&
               (end == i || size + rows[end].payload_size <= PIECE_SIZE_MAX)) {
            size += rows[end++].payload_size;
        }
        if (end == i) {
            error = replace(c, &rows[end++]);
        } else {
            error = insert_piece(c, rows + i, end - i);
        }
    }
    return error;
}

/* Compares rows of the same array: rows without a key come first, then the others in the order of (handler, key). Equal
 * rows keep their order. */
static int compare_keys(const void *a, const void *b) {
    const verge__row *first = *(const verge__row *const *)a;
    const verge__row *second = *(const verge__row *const *)b;
    int order = (first->key != NULL) - (second->key != NULL);
    if (order == 0 && first->key != NULL) {
        const size_t size = first->key_size < second->key_size ? first->key_size : second->key_size;
        order = strcmp(first->handler, second->handler);
        order = order != 0 ? order : memcmp(first->key, second->key, size);
        order = order != 0 ? order : (first->key_size > second->key_size) - (first->key_size < second->key_size);
    }
    return order != 0 ? order : (first > second) - (first < second);
}

/* Two transactions that insert the same keys in opposite orders would wait for each other. The server would undo one of
 * them, and its next try could meet the other again. So each call inserts its keys in the same order. */
int verge__postgres_insert(verge__connection *connection, verge__row *rows, size_t count) {
    verge__postgres *c = own(connection);
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++) {
        is_sorted = compare_keys(&(const verge__row *){&rows[i - 1]}, &(const verge__row *){&rows[i]}) < 0;
    }
    if (is_sorted) {
        return insert_pieces(c, rows, count);
    }
    const verge__row **order = malloc(count * sizeof(const verge__row *));
    verge__row *sorted = malloc(count * sizeof(*sorted));
    int error = order == NULL || sorted == NULL ? -ENOMEM : 0;
    if (error == 0) {
        for (size_t i = 0; i < count; i++) {
            order[i] = &rows[i];
        }
        qsort(order, count, sizeof(const verge__row *), compare_keys);
        for (size_t i = 0; i < count; i++) {
            sorted[i] = *order[i];
        }
        error = insert_pieces(c, sorted, count);
        for (size_t i = 0; i < count; i++) {
            rows[order[i] - rows] = sorted[i];
        }
    }
    free(order);
    free(sorted);
    return error;
}

int verge__postgres_notify(verge__connection *connection, const verge__row *const *rows, size_t count) {
    verge__postgres *c = own(connection);
    char text[128];
    verge__parameters p = {0};
    verge__buffer *texts = begin_array(c, &p, TYPE_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %s", rows[i]->id, rows[i]->due_ns,
                       rows[i]->handler);
        append_item(texts, text, strlen(text));
    }
    end_array(&p, texts);
    return verge__pg_tell(c, NOTIFY, &p);
}

/* ---- P4 ---- */

/* Adds the ids of the changes. The outcome of each is -ENOENT until the answer says otherwise. */
static void add_ids(verge__postgres *c, verge__parameters *p, verge__change *changes, size_t count) {
    verge__buffer *ids = begin_array(c, p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(ids, changes[i].id);
        changes[i].outcome = -ENOENT;
    }
    end_array(p, ids);
}

/* Adds each shard of the targets once, then the epochs of these shards, then the ids. */
static void add_targets(verge__postgres *c, verge__parameters *p, const verge__target *targets, size_t count) {
    uint64_t epochs[VERGE_DURABLE_SHARDS_MAX] = {0};
    size_t shard_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t *epoch = &epochs[verge__shard_of(targets[i].id)];
        shard_count += *epoch == 0;
        *epoch = targets[i].epoch;
    }
    verge__buffer *shards = begin_array(c, p, TYPE_INT8, shard_count);
    for (uint64_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        if (epochs[i] != 0) {
            append_number(shards, i);
        }
    }
    end_array(p, shards);
    verge__buffer *numbers = begin_array(c, p, TYPE_INT8, shard_count);
    for (size_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        if (epochs[i] != 0) {
            append_number(numbers, epochs[i]);
        }
    }
    end_array(p, numbers);
    verge__buffer *ids = begin_array(c, p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(ids, targets[i].id);
    }
    end_array(p, ids);
}

static int visit_all(verge__postgres *c, verge__postgres_statement which, const verge__parameters *p,
                     verge__visit_row visit, void *context) {
    PGresult *result;
    const int error = verge__pg_ask(c, which, p, &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        verge__row row;
        read_row(result, i, &row);
        visit(context, &row);
    }
    PQclear(result);
    return 0;
}

int verge__postgres_take(verge__connection *connection, const verge__target *targets, size_t count,
                         verge__visit_row visit, void *context) {
    verge__parameters p = {0};
    add_targets(own(connection), &p, targets, count);
    return visit_all(own(connection), TAKE, &p, visit, context);
}

int verge__postgres_claim(verge__connection *connection, const verge__target *targets, size_t count,
                          const uint64_t *run_ns, verge__visit_row visit, void *context) {
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        verge__parameters p = {0};
        add_targets(own(connection), &p, &targets[i], 1);
        add_number(&p, run_ns[i]);
        error = visit_all(own(connection), CLAIM, &p, visit, context);
    }
    return error;
}

int verge__postgres_complete(verge__connection *connection, verge__change *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        verge__parameters p = {0};
        PGresult *result;
        add_number(&p, changes[i].id);
        add_number(&p, changes[i].revision);
        const int error = verge__pg_ask(own(connection), COMPLETE, &p, &result);
        if (error != 0) {
            return error;
        }
        changes[i].outcome = PQntuples(result) == 0 ? -ENOENT : 0;
        PQclear(result);
    }
    return 0;
}

int verge__postgres_extend(verge__connection *connection, verge__change *change, uint64_t run_ns) {
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, change->id);
    add_number(&p, change->revision);
    add_number(&p, run_ns);
    const int error = verge__pg_ask(own(connection), EXTEND, &p, &result);
    if (error == 0) {
        change->outcome = PQntuples(result) == 0 ? -ENOENT : 0;
        PQclear(result);
    }
    return error;
}

int verge__postgres_count_attempt(verge__connection *connection, const verge__target *target, uint32_t *counted) {
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, target->id);
    add_number(&p, verge__shard_of(target->id));
    add_number(&p, target->epoch);
    add_number(&p, *counted);
    const int error = verge__pg_ask(own(connection), ATTEMPT, &p, &result);
    if (error == 0) {
        *counted = PQntuples(result) > 0 ? (uint32_t)number(result, 0, 0) : *counted;
        PQclear(result);
    }
    return error;
}

/* Returns a change with this id whose outcome is still -ENOENT; NULL: there is none. Rows come in about the order of
 * the changes. So the search begins at *at, behind the change that was found last. */
static verge__change *find_change(verge__change *changes, size_t count, size_t *at, uint64_t id) {
    for (size_t tries = 0; tries < count; tries++) {
        verge__change *change = &changes[(*at + tries) % count];
        if (change->id == id && change->outcome == -ENOENT) {
            *at = (*at + tries + 1) % count;
            return change;
        }
    }
    return NULL;
}

int verge__postgres_probe(verge__connection *connection, verge__change *changes, size_t count) {
    verge__postgres *c = own(connection);
    verge__parameters p = {0};
    PGresult *result;
    add_ids(c, &p, changes, count);
    const int error = verge__pg_ask(c, PROBE, &p, &result);
    if (error != 0) {
        return error;
    }
    size_t at = 0;
    for (int row = 0; row < PQntuples(result); row++) {
        verge__change *change = find_change(changes, count, &at, number(result, row, 0));
        if (change != NULL) {
            change->outcome = 0;
            change->due_ns = number(result, row, 1);
            change->epoch = number(result, row, 2);
        }
    }
    PQclear(result);
    return 0;
}

int verge__postgres_make_dead(verge__connection *connection, const verge__row *row, const char *reason) {
    verge__parameters p = {0};
    add_number(&p, row->id);
    add_number(&p, row->due_ns);
    add_number(&p, row->attempt);
    add_number(&p, row->period_ns);
    add_number(&p, row->policy);
    add_bytes(&p, row->handler, strlen(row->handler));
    add_bytes(&p, row->key, row->key_size);
    add_bytes(&p, row->payload_size == 0 ? "" : row->payload, row->payload_size);
    add_bytes(&p, reason, strlen(reason));
    add_bytes(&p, row->rule, row->rule == NULL ? 0 : strlen(row->rule));
    return verge__pg_tell(own(connection), BURY, &p);
}

/* ---- P5 ---- */

/* Sets the outcomes of the changes whose rows are in the answer. If `outcome` is 0, the answer says for each change
 * whether the handler runs. */
static void match_changes(const PGresult *result, verge__change *changes, size_t count, int outcome) {
    size_t at = 0;
    for (int row = 0; row < PQntuples(result); row++) {
        verge__change *change = find_change(changes, count, &at, number(result, row, 0));
        if (change == NULL) {
            continue; /* EXISTING also finds the rows that were changed: their changes have an outcome already */
        }
        change->outcome = outcome != 0 ? outcome : number(result, row, 1) != 0 ? VERGE_RUNNING : 0;
        if (PQnfields(result) > 2) {
            (void)snprintf(change->handler, sizeof(change->handler), "%s", PQgetvalue(result, row, 2));
        }
    }
}

static int change_some(verge__postgres *c, verge__postgres_statement which, verge__change *changes, size_t count) {
    verge__parameters p = {0};
    PGresult *result;
    add_ids(c, &p, changes, count);
    verge__parameters only_ids = p;
    if (which == RESET) {
        verge__buffer *dues = begin_array(c, &p, TYPE_INT8, count);
        for (size_t i = 0; i < count; i++) {
            append_number(dues, changes[i].due_ns);
        }
        end_array(&p, dues);
    }
    int error = verge__pg_ask(c, which, &p, &result);
    if (error != 0) {
        return error;
    }
    match_changes(result, changes, count, 0);
    const bool has_all = PQntuples(result) == (int)count;
    PQclear(result);
    if (has_all) {
        return 0;
    }
    /* The other rows are gone, or locked, for example by a firing that has deleted them and is not committed yet. */
    error = verge__pg_ask(c, EXISTING, &only_ids, &result);
    if (error == 0) {
        match_changes(result, changes, count, -EAGAIN);
        PQclear(result);
    }
    return error;
}

/* Changes the timer that has the key. */
static int change_by_key(verge__postgres *c, verge__postgres_statement which, verge__change *change) {
    verge__parameters p = {0};
    PGresult *result;
    add_bytes(&p, change->handler, strlen(change->handler));
    add_bytes(&p, change->key, change->key_size);
    if (which == RESET_KEY) {
        add_number(&p, change->due_ns);
    }
    int error = verge__pg_ask(c, which, &p, &result);
    if (error != 0) {
        return error;
    }
    const bool is_found = PQntuples(result) == 1;
    if (is_found) {
        change->id = number(result, 0, 0);
        change->outcome = number(result, 0, 1) != 0 ? VERGE_RUNNING : 0;
    }
    PQclear(result);
    if (is_found) {
        return 0;
    }
    error = verge__postgres_find(&c->base, change->handler, change->key, change->key_size, &change->id);
    change->outcome = error == 0 ? -EAGAIN : -ENOENT; /* the row is locked, or gone */
    return error == -ENOENT ? 0 : error;
}

static int change_all(verge__connection *connection, verge__postgres_statement which, verge__change *changes,
                      size_t count) {
    int error = 0;
    for (size_t i = 0, end; i < count && error == 0; i = end) {
        for (end = i; end < count && end - i < ARRAY_MAX && changes[end].key == NULL; end++) {
        }
        if (end == i) {
            error = change_by_key(own(connection), which == RESET ? RESET_KEY : CANCEL_KEY, &changes[end++]);
        } else {
            error = change_some(own(connection), which, changes + i, end - i);
        }
    }
    return error;
}

int verge__postgres_cancel(verge__connection *connection, verge__change *changes, size_t count) {
    return change_all(connection, CANCEL, changes, count);
}

int verge__postgres_reset(verge__connection *connection, verge__change *changes, size_t count) {
    return change_all(connection, RESET, changes, count);
}
