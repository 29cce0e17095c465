/* SPDX-License-Identifier: MIT */
/*
 * The store on a server: PostgreSQL by libpq. READ COMMITTED, as the server has it by default.
 *
 * Three things were found by trying (docs/DURABLE.md) and hold everything up:
 *  - The shard's row is locked FOR SHARE, with the epoch, in the statement that deletes. A takeover updates that row,
 *    so it waits or has happened. FOR KEY SHARE would let it pass.
 *  - The clock is asked once a statement, by a subquery: a bare clock_timestamp() is judged row by row.
 *  - Conditions that must not choose the plan are written so that no index serves them (shard + 0), and sequential
 *    scans are off in these sessions (and so is the compiler of expressions, which a forbidden scan would wake): a plan
 *    that was made when the table was empty is as good when it has a million rows.
 *
 * No answer is waited for longer than the lease: a server, or a network, that is silent for so long counts as lost.
 */
#define _GNU_SOURCE

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/schema.h"
#include "durable/store.h"

enum {
    PARAMETERS_MAX = 10,
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
    CONNECT_TIMEOUT_S = 5,
    ARRAY_MAX = 512, /* changes in one statement */
};

#define ROW_COLUMNS "id, due, attempt, revision, period, policy, handler, name, payload"
#define T_COLUMNS "t.id, t.due, t.attempt, t.revision, t.period, t.policy, t.handler, t.name, t.payload"
#define INFO_COLUMNS "id, due, attempt, period, handler, name, payload, "
#define OWN \
    "own AS MATERIALIZED (SELECT s.shard FROM verge_shard s JOIN unnest($1::bigint[], $2::bigint[]) AS o(shard, " \
    "epoch) " \
    "ON s.shard = o.shard AND s.epoch = o.epoch FOR SHARE OF s)"
#define IS_DUE_AND_OWN "t.due + 0 <= (SELECT verge_now()) AND t.shard + 0 = ANY (ARRAY(SELECT shard FROM own))"

enum statement {
    RENEW,
    ACQUIRE,
    RELEASE,
    LEAVE,
    FORGET_NODES,
    INSERT,
    EXISTING,
    TAKE,
    CLAIM,
    COMPLETE,
    ATTEMPT,
    BURY,
    CANCEL,
    RESET,
    NOTIFY,
    STATEMENT_COUNT,
};

static const char *const texts[STATEMENT_COUNT] = {
    [RENEW] =
        "WITH n AS MATERIALIZED (SELECT verge_now() AS now), "
        "u AS (INSERT INTO verge_node (node, name, lease_until, seen) SELECT $1, '', now + $2, now FROM n "
        "ON CONFLICT (node) DO UPDATE SET lease_until = excluded.lease_until, seen = excluded.seen) "
        "SELECT n.now, (SELECT count(*) FROM verge_node o WHERE o.lease_until >= n.now AND o.node <> $1) + 1, "
        "(SELECT min(lease_until) FROM verge_node o WHERE o.lease_until >= n.now AND o.node <> $1), s.shard, s.epoch "
        "FROM n LEFT JOIN verge_shard s ON s.owner = $1 ORDER BY s.shard",
    [ACQUIRE] =
        "WITH n AS MATERIALIZED (SELECT verge_now() AS now), f AS (SELECT s.shard, s.clean FROM verge_shard s, n "
        "WHERE NOT EXISTS (SELECT 1 FROM verge_node o WHERE o.node = s.owner AND o.lease_until >= n.now) "
        "ORDER BY s.shard LIMIT $2 FOR UPDATE OF s SKIP LOCKED) "
        "UPDATE verge_shard s SET owner = $1, epoch = s.epoch + 1, clean = 0 FROM f WHERE s.shard = f.shard "
        "RETURNING s.shard, s.epoch, f.clean",
    [RELEASE] = "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = 1 WHERE shard IN (SELECT shard FROM "
                "verge_shard WHERE owner = $1 AND shard = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED)",
    [LEAVE] = "WITH s AS (UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = 1 WHERE owner = $1) "
              "DELETE FROM verge_node WHERE node = $1",
    [FORGET_NODES] = "DELETE FROM verge_node WHERE lease_until + $1 < verge_now() AND seen < (SELECT max(seen) FROM "
                     "verge_node) AND node NOT IN (SELECT owner FROM verge_shard)",
    [INSERT] =
        "WITH n AS MATERIALIZED (SELECT verge_now() AS now) "
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, payload) "
        "SELECT r.id, r.id & 255, CASE WHEN r.due < 0 THEN n.now - r.due - 1 ELSE r.due END, r.attempt, 0, r.revision, "
        "r.period, r.policy, r.handler, r.name, r.payload FROM n, unnest($1::bigint[], $2::bigint[], $3::bigint[], "
        "$4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[]) "
        "AS r(id, due, attempt, revision, period, policy, handler, name, payload) "
        "ON CONFLICT DO NOTHING RETURNING id, due",
    [EXISTING] = "SELECT id, due FROM verge_timer WHERE id = ANY ($1::bigint[])",
    [TAKE] = "WITH " OWN " DELETE FROM verge_timer t WHERE t.id = ANY ($3::bigint[]) AND " IS_DUE_AND_OWN
             " RETURNING " T_COLUMNS,
    [CLAIM] = "WITH " OWN ", old AS MATERIALIZED (SELECT " T_COLUMNS
              " FROM verge_timer t WHERE t.id = ANY ($3::bigint[]) AND " IS_DUE_AND_OWN " FOR UPDATE), "
              "u AS (UPDATE verge_timer t SET attempt = t.attempt + 1, running = 1, revision = t.revision + 1, "
              "due = verge_now() + $4 FROM old WHERE t.id = old.id) "
              "SELECT id, due, attempt, revision + 1, period, policy, handler, name, payload FROM old",
    [COMPLETE] = "DELETE FROM verge_timer WHERE id = $1 AND revision = $2 RETURNING id",
    [ATTEMPT] = "UPDATE verge_timer SET attempt = attempt + 1 WHERE id = $1 AND "
                "(SELECT epoch FROM verge_shard WHERE shard = $2) = $3",
    [BURY] = "INSERT INTO verge_dead (id, due, attempt, period, policy, handler, name, payload, reason, died) VALUES "
             "($1, $2, $3, $4, $5, $6, $7, $8, $9, verge_now()) ON CONFLICT (id) DO UPDATE SET due = excluded.due, "
             "attempt = excluded.attempt, reason = excluded.reason, died = excluded.died",
    [CANCEL] = "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE id = ANY ($1::bigint[]) FOR "
               "UPDATE SKIP "
               "LOCKED) DELETE FROM verge_timer t USING l WHERE t.id = l.id "
               "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint",
    [RESET] = "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE id = ANY ($1::bigint[]) FOR "
              "UPDATE SKIP "
              "LOCKED) UPDATE verge_timer t SET due = r.due, running = 0, revision = t.revision + 1 "
              "FROM l JOIN unnest($1::bigint[], $2::bigint[]) AS r(id, due) ON l.id = r.id WHERE t.id = l.id "
              "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint",
    [NOTIFY] = "SELECT pg_notify('verge_timer', $1)",
};

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool is_broken; /* there was no memory */
};

struct connection {
    struct verge__connection base;
    PGconn *pg;
    char *url;
    uint64_t answer_ns; /* how long an answer may take */
    bool is_borrowed;
    bool is_listening;
    bool is_prepared[STATEMENT_COUNT];
    uint64_t scan_key;  /* of the shards that the prepared scan is for; 0: none */
    uint64_t last_mark; /* of a commit of this connection; 0: none */
    struct buffer buffers[PARAMETERS_MAX];
};

/* The parameters of a statement, all in binary. */
struct parameters {
    int count;
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX];
    uint64_t numbers[PARAMETERS_MAX]; /* as the server wants them */
};

static const int all_binary[PARAMETERS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static struct connection *own(struct verge__connection *connection) {
    return (struct connection *)connection;
}

/* ---- errors ---- */

static int error_of_state(const char *state) {
    static const struct {
        const char *state; /* its beginning */
        int error;
    } known[] = {
        {"08", -EHOSTUNREACH},    {"57P", -EHOSTUNREACH}, {"53300", -EHOSTUNREACH}, {"25P03", -EHOSTUNREACH},
        {"25006", -EHOSTUNREACH}, {"40", -EAGAIN},        {"55P03", -EAGAIN},       {"57014", -EAGAIN},
        {"25P02", -EAGAIN},       {"53100", -ENOSPC},     {"53200", -ENOMEM},       {"42501", -EACCES},
        {"28", -EACCES},          {"3D000", -EACCES},     {"42", -EPROTO},          {"3F", -EPROTO},
        {"23505", -EEXIST},
    };
    for (size_t i = 0; state != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(state, known[i].state, strlen(known[i].state)) == 0) {
            return known[i].error;
        }
    }
    return -EIO;
}

static int error_of(const struct connection *c, const PGresult *result) {
    const ExecStatusType status = PQresultStatus(result);
    if (result != NULL && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)) {
        return 0;
    }
    if (result == NULL || PQstatus(c->pg) != CONNECTION_OK) {
        return -EHOSTUNREACH;
    }
    return error_of_state(PQresultErrorField(result, PG_DIAG_SQLSTATE));
}

/* ---- parameters ---- */

static uint64_t to_server(uint64_t value) {
    return htobe64(value);
}

static void add_bytes(struct parameters *p, const void *bytes, size_t size) {
    p->values[p->count] = bytes;
    p->lengths[p->count] = (int)size;
    p->count++;
}

static void add_number(struct parameters *p, uint64_t value) {
    p->numbers[p->count] = to_server(value);
    add_bytes(p, &p->numbers[p->count], sizeof(value));
}

static void append(struct buffer *buffer, const void *bytes, size_t size) {
    if (buffer->size + size > buffer->capacity) {
        const size_t capacity = (buffer->size + size) * 2 + 256;
        char *larger = buffer->is_broken ? NULL : realloc(buffer->data, capacity);
        if (larger == NULL) {
            buffer->is_broken = true;
            return;
        }
        buffer->data = larger;
        buffer->capacity = capacity;
    }
    if (size > 0) {
        memcpy(buffer->data + buffer->size, bytes, size);
        buffer->size += size;
    }
}

static void append_u32(struct buffer *buffer, uint32_t value) {
    const uint32_t swapped = htobe32(value);
    append(buffer, &swapped, sizeof(swapped));
}

/* An array of one dimension, as the server reads it. */
static struct buffer *begin_array(struct connection *c, struct parameters *p, uint32_t type, size_t count) {
    struct buffer *buffer = &c->buffers[p->count];
    buffer->size = 0;
    append_u32(buffer, 1); /* dimensions */
    append_u32(buffer, 1); /* there may be NULLs */
    append_u32(buffer, type);
    append_u32(buffer, (uint32_t)count);
    append_u32(buffer, 1); /* the first index */
    return buffer;
}

static void append_item(struct buffer *buffer, const void *bytes, size_t size) {
    append_u32(buffer, bytes == NULL ? UINT32_MAX : (uint32_t)size); /* -1: NULL */
    append(buffer, bytes, bytes == NULL ? 0 : size);
}

static void append_number(struct buffer *buffer, uint64_t value) {
    const uint64_t swapped = to_server(value);
    append_item(buffer, &swapped, sizeof(swapped));
}

static void end_array(struct parameters *p, struct buffer *buffer) {
    add_bytes(p, buffer->data, buffer->size);
}

static bool is_broken(struct connection *c) {
    bool broken = false;
    for (int i = 0; i < PARAMETERS_MAX; i++) {
        broken |= c->buffers[i].is_broken;
        c->buffers[i].is_broken = false;
    }
    return broken;
}

/* ---- asking, with a limit on how long the answer may take ---- */

static bool wait_for_answer(struct connection *c) {
    const uint64_t until_ns = verge__monotonic_ns() + c->answer_ns;
    while (PQisBusy(c->pg)) {
        const int unsent = PQflush(c->pg);
        const uint64_t now_ns = verge__monotonic_ns();
        if (unsent < 0 || now_ns >= until_ns) {
            return false;
        }
        struct pollfd fd = {.fd = PQsocket(c->pg), .events = (short)(POLLIN | (unsent > 0 ? POLLOUT : 0))};
        const int ready = poll(&fd, 1, (int)((until_ns - now_ns) / 1000000) + 1);
        if (ready > 0 && !PQconsumeInput(c->pg)) {
            return false;
        }
    }
    return true;
}

/* The last result of what was sent, or the first that failed; NULL: the connection is lost. */
static PGresult *answer(struct connection *c, int sent) {
    PGresult *last = NULL;
    c->base.query_count++;
    if (!sent) {
        return NULL;
    }
    for (;;) {
        if (!wait_for_answer(c)) {
            PQclear(last);
            return NULL;
        }
        PGresult *result = PQgetResult(c->pg);
        if (result == NULL) {
            return last;
        }
        const bool is_better = last == NULL || error_of(c, last) == 0;
        PQclear(is_better ? last : result);
        last = is_better ? result : last;
    }
}

/* SQL without parameters; the answer is text. */
static int say(struct connection *c, const char *text) {
    PGresult *result = answer(c, PQsendQuery(c->pg, text));
    const int error = error_of(c, result);
    PQclear(result);
    return error;
}

static int ask_named(struct connection *c, const char *name, const struct parameters *p, PGresult **ret_result) {
    if (is_broken(c)) {
        return -ENOMEM;
    }
    PGresult *result = answer(c, PQsendQueryPrepared(c->pg, name, p->count, p->values, p->lengths, all_binary, 1));
    const int error = error_of(c, result);
    if (error != 0) {
        PQclear(result);
        result = NULL;
    }
    *ret_result = result;
    return error;
}

static int prepare(struct connection *c, const char *name, const char *text) {
    PGresult *result = answer(c, PQsendPrepare(c->pg, name, text, 0, NULL));
    const int error = error_of(c, result);
    PQclear(result);
    return error;
}

static int ask_text(struct connection *c, const char *text, const struct parameters *p, PGresult **ret_result) {
    if (is_broken(c)) {
        return -ENOMEM;
    }
    PGresult *result = answer(c, PQsendQueryParams(c->pg, text, p->count, NULL, p->values, p->lengths, all_binary, 1));
    const int error = error_of(c, result);
    if (error != 0) {
        PQclear(result);
        result = NULL;
    }
    *ret_result = result;
    return error;
}

static int ask(struct connection *c, enum statement which, const struct parameters *p, PGresult **ret_result) {
    char name[16];
    if (c->is_borrowed) { /* nothing of ours is left in it */
        return ask_text(c, texts[which], p, ret_result);
    }
    (void)snprintf(name, sizeof(name), "verge_%d", (int)which);
    if (!c->is_prepared[which]) {
        const int error = prepare(c, name, texts[which]);
        if (error != 0) {
            return error;
        }
        c->is_prepared[which] = true;
    }
    return ask_named(c, name, p, ret_result);
}

/* Asks, and is not interested in rows. */
static int tell(struct connection *c, enum statement which, const struct parameters *p) {
    PGresult *result;
    const int error = ask(c, which, p, &result);
    if (error == 0) {
        PQclear(result);
    }
    return error;
}

/* ---- answers ---- */

static uint64_t number(const PGresult *result, int row, int column) {
    uint64_t value = 0;
    if (!PQgetisnull(result, row, column) && PQgetlength(result, row, column) == (int)sizeof(value)) {
        memcpy(&value, PQgetvalue(result, row, column), sizeof(value));
    }
    return be64toh(value);
}

static void read_row(const PGresult *result, int i, struct verge__row *row) {
    *row = (struct verge__row){
        .id = number(result, i, 0),
        .due_ns = number(result, i, 1),
        .attempt = (uint32_t)number(result, i, 2),
        .revision = number(result, i, 3),
        .period_ns = number(result, i, 4),
        .policy = (uint32_t)number(result, i, 5),
        .handler = PQgetvalue(result, i, 6),
        .key = PQgetisnull(result, i, 7) ? NULL : PQgetvalue(result, i, 7),
        .key_size = (size_t)PQgetlength(result, i, 7),
        .payload = PQgetvalue(result, i, 8),
        .payload_size = (size_t)PQgetlength(result, i, 8),
    };
}

static void note_time(struct connection *c, uint64_t now_ns, uint64_t asked_ns) {
    c->base.now_ns = now_ns;
    c->base.asked_ns = asked_ns;
    c->base.answered_ns = verge__monotonic_ns();
}

/* ---- connections, transactions ---- */

static void postgres_disconnect(struct verge__connection *connection) {
    struct connection *c = own(connection);
    if (!c->is_borrowed) {
        PQfinish(c->pg);
    }
    for (int i = 0; i < PARAMETERS_MAX; i++) {
        free(c->buffers[i].data);
    }
    free(c->url);
    free(c);
}

static PGconn *dial(const char *url) {
    char timeout[16];
    (void)snprintf(timeout, sizeof(timeout), "%d", CONNECT_TIMEOUT_S);
    /* What comes later counts: the URL has the last word. */
    const char *const keywords[] = {
        "connect_timeout", "fallback_application_name", "keepalives_idle", "tcp_user_timeout", "dbname", NULL};
    const char *const values[] = {timeout, "verge-durable", "10", "10000", url, NULL};
    PGconn *pg = PQconnectdbParams(keywords, values, 1);
    if (pg != NULL) {
        (void)PQsetnonblocking(pg, 1);
    }
    return pg;
}

static void ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}

static int postgres_connect(const char *url, uint64_t lease_ns, struct verge__connection **ret_connection) {
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    char settings[300];
    const unsigned long lease_ms = (unsigned long)(lease_ns / 1000000);
    c->base.store = &verge__postgres_store;
    c->answer_ns = lease_ns + UINT64_C(2000000000);
    c->url = strdup(url);
    c->pg = c->url == NULL ? NULL : dial(url);
    int error = c->pg == NULL ? -ENOMEM : PQstatus(c->pg) == CONNECTION_OK ? 0 : -EHOSTUNREACH;
    if (c->pg != NULL && error != 0) {
        const char *message = PQerrorMessage(c->pg);
        /* No SQLSTATE is given here. What the server has refused for good is not tried again. */
        error = strstr(message, "authentication failed") != NULL || strstr(message, "does not exist") != NULL ||
                        strstr(message, "pg_hba.conf") != NULL
                    ? -EACCES
                : strstr(message, "invalid URI") != NULL || strstr(message, "invalid connection option") != NULL
                    ? -EINVAL
                    : error;
    }
    if (error == 0) {
        (void)PQsetNoticeReceiver(c->pg, ignore_notice, NULL);
        (void)snprintf(
            settings, sizeof(settings),
            "SET idle_in_transaction_session_timeout = %lu; SET statement_timeout = %lu; SET lock_timeout = %lu; "
            "SET enable_seqscan = off; SET jit = off; SET synchronous_commit = on",
            lease_ms, lease_ms, lease_ms);
        error = say(c, settings);
    }
    if (error != 0) {
        postgres_disconnect(&c->base);
        return error;
    }
    *ret_connection = &c->base;
    return 0;
}

static int postgres_borrow(void *transaction, struct verge__connection **ret_connection) {
    if (PQtransactionStatus(transaction) != PQTRANS_INTRANS || PQisnonblocking(transaction)) {
        return -EINVAL;
    }
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__postgres_store;
    c->pg = transaction;
    c->is_borrowed = true;
    c->answer_ns = UINT64_C(60000000000);
    const struct parameters none = {0};
    PGresult *result;
    const uint64_t asked_ns = verge__monotonic_ns();
    const int error = ask_text(c, "SELECT verge_now()", &none, &result);
    if (error != 0) {
        postgres_disconnect(&c->base);
        return error;
    }
    note_time(c, number(result, 0, 0), asked_ns);
    PQclear(result);
    *ret_connection = &c->base;
    return 0;
}

static void *postgres_handle(struct verge__connection *connection) {
    struct connection *c = own(connection);
    (void)PQsetnonblocking(c->pg, 0); /* for the handler */
    return c->pg;
}

/* One round trip: the time comes with the beginning. */
static int postgres_begin(struct verge__connection *connection) {
    struct connection *c = own(connection);
    const uint64_t asked_ns = verge__monotonic_ns();
    PGresult *result = answer(c, PQsendQuery(c->pg, "BEGIN; SELECT verge_now()"));
    const int error = error_of(c, result);
    if (error == 0) {
        note_time(c, strtoull(PQgetvalue(result, 0, 0), NULL, 10), asked_ns);
    } else if (error != -EHOSTUNREACH) {
        (void)say(c, "ROLLBACK");
    }
    PQclear(result);
    return error;
}

static void postgres_rollback(struct verge__connection *connection) {
    struct connection *c = own(connection);
    if (PQtransactionStatus(c->pg) != PQTRANS_IDLE) {
        (void)say(c, "ROLLBACK");
    }
}

/* ---- the end of a transaction ----
 *
 * A connection may be lost after COMMIT was sent, and then another one must find out what became of the transaction.
 * Its number does not tell: what the server had not written before a crash it gives out again. So the transaction
 * leaves a row of its own, a mark, just before it commits. Who asks inserts that row, too. Only one of them can: either
 * the mark is there, and was committed; or it is the asker's now, and the transaction cannot be committed any more.
 */

#define MARK_KEPT_NS UINT64_C(3600000000000) /* and removed some time after that, by whoever joins */

static int find_out(struct connection *c, uint64_t mark) {
    char query[256];
    int error = -EREMOTEIO;
    (void)snprintf(query, sizeof(query),
                   "INSERT INTO verge_mark (id, at, committed) VALUES (%" PRIu64 ", %" PRIu64
                   ", 0) ON CONFLICT (id) DO UPDATE SET at = verge_mark.at RETURNING committed, verge_now()",
                   mark, c->base.now_ns);
    const uint64_t until_ns = verge__monotonic_ns() + c->answer_ns;
    while (error == -EREMOTEIO && verge__monotonic_ns() < until_ns) {
        struct connection other = {.pg = dial(c->url), .answer_ns = c->answer_ns / 4}; /* it is worth another try */
        PGresult *result = PQstatus(other.pg) == CONNECTION_OK ? answer(&other, PQsendQuery(other.pg, query)) : NULL;
        if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
            const bool is_kept = strtoull(PQgetvalue(result, 0, 1), NULL, 10) < c->base.now_ns + MARK_KEPT_NS;
            const bool is_committed = strcmp(PQgetvalue(result, 0, 0), "1") == 0;
            error = is_committed ? 0 : is_kept ? -EHOSTUNREACH : error;
        }
        PQclear(result);
        PQfinish(other.pg);
        if (error == -EREMOTEIO) {
            (void)poll(NULL, 0, 50);
        }
    }
    return error;
}

static int postgres_commit(struct verge__connection *connection, uint64_t mark) {
    struct connection *c = own(connection);
    char text[256] = "COMMIT";
    if (mark != 0) {
        (void)snprintf(text, sizeof(text),
                       "WITH last AS (DELETE FROM verge_mark WHERE id = %" PRIu64
                       ") INSERT INTO verge_mark (id, at, committed) VALUES (%" PRIu64 ", %" PRIu64 ", 1); COMMIT",
                       c->last_mark, mark, c->base.now_ns);
    }
    PGresult *result = answer(c, PQsendQuery(c->pg, text));
    int error = error_of(c, result);
    if (error == 0 && strcmp(PQcmdStatus(result), "COMMIT") != 0) {
        error = -EAGAIN; /* the server has rolled back instead: a statement had failed */
    }
    PQclear(result);
    if (error == -EHOSTUNREACH) {
        return mark == 0 ? error : find_out(c, mark);
    }
    if (error != 0) {
        postgres_rollback(connection); /* if it was the mark that failed */
    } else if (mark != 0) {
        c->last_mark = mark;
    }
    return error;
}

static int postgres_savepoint(struct verge__connection *connection) {
    return say(own(connection), "SAVEPOINT verge_handler");
}

static int postgres_end_savepoint(struct verge__connection *connection, bool undo) {
    struct connection *c = own(connection);
    (void)PQsetnonblocking(c->pg, 1);
    switch (PQtransactionStatus(c->pg)) {
    case PQTRANS_INTRANS:
        break;
    case PQTRANS_INERROR:
        if (!undo) {
            return -EAGAIN;
        }
        break;
    case PQTRANS_UNKNOWN:
        return -EHOSTUNREACH;
    default:
        return -EIO; /* the handler has ended the transaction */
    }
    return say(c, undo ? "ROLLBACK TO verge_handler; RELEASE verge_handler" : "RELEASE verge_handler");
}

/* ---- the tables ---- */

static int postgres_read_meta(struct verge__connection *connection, struct verge__store_meta *ret_meta) {
    struct connection *c = own(connection);
    const struct parameters none = {0};
    PGresult *result;
    int error = ask_text(c, "SELECT count(*) FROM pg_class WHERE pg_table_is_visible(oid) AND relname LIKE 'verge\\_%'",
                         &none, &result);
    if (error != 0) {
        return error;
    }
    const bool is_there = number(result, 0, 0) > 0;
    PQclear(result);
    if (!is_there) {
        return -ENOENT;
    }
    error = ask_text(c, "SELECT version, min_version, shards FROM verge_meta", &none, &result);
    if (error != 0) {
        return error;
    }
    error = PQntuples(result) == 1 ? 0 : -EPROTO;
    if (error == 0) {
        *ret_meta = (struct verge__store_meta){
            .version = (uint32_t)number(result, 0, 0),
            .min_version = (uint32_t)number(result, 0, 1),
            .shard_count = (uint32_t)number(result, 0, 2),
        };
    }
    PQclear(result);
    return error;
}

static const char now_function[] =
    "CREATE FUNCTION verge_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ "
    "SELECT CASE WHEN s.seen > c.now AND s.seen - c.now <= 60000000000 THEN s.seen ELSE c.now END FROM "
    "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint AS now) c, "
    "(SELECT max(seen) AS seen FROM verge_node) s $$;";

static const char mark_table[] =
    "CREATE TABLE verge_mark (id bigint PRIMARY KEY, at bigint NOT NULL, committed bigint NOT NULL);";

static int postgres_make_tables(struct verge__connection *connection, uint32_t shard_count) {
    struct connection *c = own(connection);
    struct verge__store_meta meta;
    char text[6000];
    int error = say(c, "BEGIN; SELECT pg_advisory_xact_lock(6001247)"); /* two that make them at once */
    const int found = error == 0 ? postgres_read_meta(connection, &meta) : error;
    if (found == -ENOENT) {
        (void)snprintf(text, sizeof(text),
                       "%s %s %s INSERT INTO verge_meta VALUES (%d, %d, %u, 0);"
                       "INSERT INTO verge_shard SELECT n, 1, 0, 1 FROM generate_series(0, %u) n",
                       VERGE__SCHEMA("bigint", "text", "bytea"), now_function, mark_table, VERGE_DURABLE_SCHEMA_VERSION,
                       VERGE__MIN_VERSION, shard_count, shard_count - 1);
        error = say(c, text);
        /* Tables that fill and empty all day need more than the server does by itself. */
        error =
            error != 0
                ? error
                : say(c, "ALTER TABLE verge_timer SET (autovacuum_vacuum_scale_factor = 0.02, "
                         "autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0); "
                         "ALTER TABLE verge_shard SET (fillfactor = 20); ALTER TABLE verge_node SET (fillfactor = 20)");
    } else if (found == 0 && meta.version == 1) {
        (void)snprintf(text, sizeof(text), "%s UPDATE verge_meta SET version = 2", mark_table);
        error = say(c, text);
    }
    if (error != 0) {
        postgres_rollback(connection);
        return error;
    }
    return say(c, "COMMIT");
}

/* ---- P1 ---- */

static int postgres_new_incarnation(struct verge__connection *connection, uint64_t *ret_incarnation) {
    const struct parameters none = {0};
    PGresult *result;
    const int error = ask_text(
        own(connection), "UPDATE verge_meta SET incarnation = incarnation + 1 RETURNING incarnation", &none, &result);
    if (error == 0) {
        *ret_incarnation = number(result, 0, 0);
        PQclear(result);
    }
    return error;
}

static int forget_marks(struct connection *c) {
    char text[128];
    (void)snprintf(text, sizeof(text), "DELETE FROM verge_mark WHERE at + %" PRIu64 " < (SELECT verge_now())",
                   MARK_KEPT_NS);
    return say(c, text);
}

static int postgres_join(struct verge__connection *connection, const char *name, uint64_t lease_ns,
                         uint64_t *ret_node) {
    struct connection *c = own(connection);
    uint64_t node;
    int error = postgres_new_incarnation(connection, &node);
    error = error != 0 ? error : forget_marks(c);
    if (error != 0) {
        return error;
    }
    struct parameters p = {0};
    PGresult *result;
    const uint64_t asked_ns = verge__monotonic_ns();
    if (lease_ns > 0) {
        add_number(&p, node);
        add_bytes(&p, name, strlen(name));
        add_number(&p, lease_ns);
        error =
            ask_text(c,
                     "INSERT INTO verge_node (node, name, lease_until, seen) SELECT $1, $2::text, now + $3, now FROM "
                     "(SELECT verge_now() AS now) n RETURNING seen",
                     &p, &result);
    } else {
        error = ask_text(c, "SELECT verge_now()", &p, &result);
    }
    if (error == 0) {
        note_time(c, number(result, 0, 0), asked_ns);
        PQclear(result);
        *ret_node = node;
    }
    return error;
}

static void add_shard(struct verge__cluster *cluster, uint64_t shard, uint64_t epoch, bool was_clean) {
    if (shard < VERGE_DURABLE_SHARDS_MAX && cluster->owned_count < VERGE_DURABLE_SHARDS_MAX) {
        cluster->owned[cluster->owned_count++] =
            (struct verge__shard){.shard = (uint32_t)shard, .epoch = epoch, .was_clean = was_clean};
    }
}

static int postgres_renew(struct verge__connection *connection, uint64_t node, uint64_t lease_ns,
                          struct verge__cluster *ret_cluster) {
    struct connection *c = own(connection);
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, node);
    add_number(&p, lease_ns);
    const uint64_t asked_ns = verge__monotonic_ns();
    const int error = ask(c, RENEW, &p, &result);
    if (error != 0) {
        return error;
    }
    note_time(c, number(result, 0, 0), asked_ns);
    *ret_cluster = (struct verge__cluster){
        .live_nodes = (uint32_t)number(result, 0, 1),
        .next_expiry_ns = number(result, 0, 2),
    };
    for (int i = 0; i < PQntuples(result) && !PQgetisnull(result, i, 3); i++) {
        add_shard(ret_cluster, number(result, i, 3), number(result, i, 4), true);
    }
    PQclear(result);
    return 0;
}

static int postgres_acquire(struct verge__connection *connection, uint64_t node, uint32_t count,
                            struct verge__cluster *ret_new) {
    struct connection *c = own(connection);
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, node);
    add_number(&p, count);
    const int error = ask(c, ACQUIRE, &p, &result);
    if (error != 0) {
        return error;
    }
    ret_new->owned_count = 0;
    for (int i = 0; i < PQntuples(result); i++) {
        add_shard(ret_new, number(result, i, 0), number(result, i, 1), number(result, i, 2) != 0);
    }
    PQclear(result);
    p = (struct parameters){0};
    add_number(&p, c->answer_ns);
    return ret_new->owned_count == 0 ? 0 : tell(c, FORGET_NODES, &p);
}

static int postgres_release(struct verge__connection *connection, uint64_t node, const struct verge__shard *shards,
                            uint32_t count) {
    struct connection *c = own(connection);
    struct parameters p = {0};
    add_number(&p, node);
    struct buffer *array = begin_array(c, &p, TYPE_INT8, count);
    for (uint32_t i = 0; i < count; i++) {
        append_number(array, shards[i].shard);
    }
    end_array(&p, array);
    return tell(c, RELEASE, &p);
}

static int postgres_leave(struct verge__connection *connection, uint64_t node) {
    struct parameters p = {0};
    add_number(&p, node);
    return tell(own(connection), LEAVE, &p);
}

/* ---- P2 ---- */

/* A scan is a merge of one ordered scan a shard, which the server reads only as far as it needs: the shards are a part
 * of the text. It is prepared anew when they change. */
static int prepare_scan(struct connection *c, const struct verge__shard *shards, uint32_t count) {
    uint64_t key = 1469598103934665603U;
    for (uint32_t i = 0; i < count; i++) {
        key = (key ^ (shards[i].shard + 1)) * 1099511628211U;
    }
    if (c->scan_key == key) {
        return 0;
    }
    struct buffer *text = &c->buffers[0];
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
    int error = say(c, "SET plan_cache_mode = force_generic_plan; SET enable_sort = off; SET enable_bitmapscan = off");
    if (error == 0 && c->scan_key != 0) {
        c->scan_key = 0;
        error = say(c, "DEALLOCATE verge_scan");
    }
    error = error != 0 ? error : prepare(c, "verge_scan", text->data);
    c->scan_key = error == 0 ? key : 0;
    return error;
}

static int postgres_scan(struct verge__connection *connection, const struct verge__shard *shards, uint32_t count,
                         uint64_t after_due_ns, uint64_t after_id, uint64_t until_ns, uint32_t limit,
                         verge__visit_row visit, void *context) {
    struct connection *c = own(connection);
    int error = c->is_listening ? 0 : say(c, "LISTEN verge_timer"); /* before it looks, so that nothing is missed */
    c->is_listening = error == 0;
    error = error != 0 ? error : prepare_scan(c, shards, count);
    if (error != 0) {
        return error;
    }
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, after_due_ns);
    add_number(&p, after_id);
    add_number(&p, until_ns);
    add_number(&p, limit);
    const uint64_t asked_ns = verge__monotonic_ns();
    error = ask_named(c, "verge_scan", &p, &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        const struct verge__row row = {
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

/* "ID DUE HANDLER"; the handler may be missing. Anybody can send anything on a channel. */
static void visit_notification(const PGnotify *notification, verge__visit_row visit, void *context) {
    char *end;
    const uint64_t id = strtoull(notification->extra, &end, 10);
    const uint64_t due_ns = strtoull(end, &end, 10);
    if (id != 0 && id <= VERGE__TIME_MAX_NS && due_ns <= VERGE__TIME_MAX_NS && *end == ' ') {
        const struct verge__row row = {.id = id, .due_ns = due_ns, .handler = end + 1};
        visit(context, &row);
    }
}

static int postgres_wait(struct verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                         void *context) {
    struct connection *c = own(connection);
    const uint64_t until_ns = verge__monotonic_ns() + timeout_ns;
    for (;;) {
        const uint64_t now_ns = verge__monotonic_ns();
        struct pollfd fds[2] = {{.fd = PQsocket(c->pg), .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
        const int left_ms = now_ns >= until_ns ? 0 : (int)((until_ns - now_ns) / 1000000) + 1;
        const int ready = poll(fds, 2, left_ms);
        if (ready > 0 && fds[0].revents != 0 && !PQconsumeInput(c->pg)) {
            return -EHOSTUNREACH;
        }
        PGnotify *notification;
        while ((notification = PQnotifies(c->pg)) != NULL) {
            visit_notification(notification, visit, context);
            PQfreemem(notification);
        }
        if (ready == 0 || fds[1].revents != 0 || verge__monotonic_ns() >= until_ns) {
            return PQstatus(c->pg) == CONNECTION_OK ? 0 : -EHOSTUNREACH;
        }
    }
}

/* ---- P3 ---- */

static uint64_t due_of(const struct verge__row *row) {
    return row->due_is_delay ? (uint64_t)(-1 - (int64_t)row->due_ns) : row->due_ns;
}

static void add_numbers_of(struct connection *c, struct parameters *p, const struct verge__row *rows, size_t count,
                           uint64_t (*read)(const struct verge__row *row)) {
    struct buffer *array = begin_array(c, p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(array, read(&rows[i]));
    }
    end_array(p, array);
}

static uint64_t id_of(const struct verge__row *row) {
    return row->id;
}

static uint64_t attempt_of(const struct verge__row *row) {
    return row->attempt;
}

static uint64_t revision_of(const struct verge__row *row) {
    return row->revision;
}

static uint64_t period_of(const struct verge__row *row) {
    return row->period_ns;
}

static uint64_t policy_of(const struct verge__row *row) {
    return row->policy;
}

static void add_rows(struct connection *c, struct parameters *p, const struct verge__row *rows, size_t count) {
    add_numbers_of(c, p, rows, count, id_of);
    add_numbers_of(c, p, rows, count, due_of);
    add_numbers_of(c, p, rows, count, attempt_of);
    add_numbers_of(c, p, rows, count, revision_of);
    add_numbers_of(c, p, rows, count, period_of);
    add_numbers_of(c, p, rows, count, policy_of);
    struct buffer *handlers = begin_array(c, p, TYPE_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        append_item(handlers, rows[i].handler, strlen(rows[i].handler));
    }
    end_array(p, handlers);
    struct buffer *names = begin_array(c, p, TYPE_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        append_item(names, rows[i].key, rows[i].key_size);
    }
    end_array(p, names);
    struct buffer *payloads = begin_array(c, p, TYPE_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        append_item(payloads, rows[i].payload_size == 0 ? "" : rows[i].payload, rows[i].payload_size);
    }
    end_array(p, payloads);
}

/* Ids and times of the answer go to their rows, which are about in the same order. */
static size_t match(const PGresult *result, struct verge__row *rows, size_t count) {
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

static int postgres_insert(struct verge__connection *connection, struct verge__row *rows, size_t count) {
    struct connection *c = own(connection);
    struct parameters p = {0};
    PGresult *result;
    add_rows(c, &p, rows, count);
    int error = ask(c, INSERT, &p, &result);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].outcome = -EEXIST;
    }
    const size_t matched = match(result, rows, count);
    PQclear(result);
    if (matched == count) {
        return 0;
    }
    /* Those that were not inserted: by a key that is taken, or because they are there. */
    p = (struct parameters){0};
    add_numbers_of(c, &p, rows, count, id_of);
    error = ask(c, EXISTING, &p, &result);
    if (error == 0) {
        (void)match(result, rows, count);
        PQclear(result);
    }
    return error;
}

static int postgres_notify(struct verge__connection *connection, const struct verge__row *row) {
    char text[128];
    struct parameters p = {0};
    (void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %s", row->id, row->due_ns, row->handler);
    add_bytes(&p, text, strlen(text));
    return tell(own(connection), NOTIFY, &p);
}

/* ---- P4 ---- */

/* The shards of the targets with their epochs, each once; then the ids. */
static void add_targets(struct connection *c, struct parameters *p, const struct verge__target *targets, size_t count) {
    uint64_t epochs[VERGE_DURABLE_SHARDS_MAX] = {0};
    size_t shard_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t *epoch = &epochs[verge__shard_of(targets[i].id)];
        shard_count += *epoch == 0;
        *epoch = targets[i].epoch;
    }
    struct buffer *shards = begin_array(c, p, TYPE_INT8, shard_count);
    for (uint64_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        if (epochs[i] != 0) {
            append_number(shards, i);
        }
    }
    end_array(p, shards);
    struct buffer *numbers = begin_array(c, p, TYPE_INT8, shard_count);
    for (size_t i = 0; i < VERGE_DURABLE_SHARDS_MAX; i++) {
        if (epochs[i] != 0) {
            append_number(numbers, epochs[i]);
        }
    }
    end_array(p, numbers);
    struct buffer *ids = begin_array(c, p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(ids, targets[i].id);
    }
    end_array(p, ids);
}

static int visit_all(struct connection *c, enum statement which, const struct parameters *p, verge__visit_row visit,
                     void *context) {
    PGresult *result;
    const int error = ask(c, which, p, &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        struct verge__row row;
        read_row(result, i, &row);
        visit(context, &row);
    }
    PQclear(result);
    return 0;
}

static int postgres_take(struct verge__connection *connection, const struct verge__target *targets, size_t count,
                         verge__visit_row visit, void *context) {
    struct parameters p = {0};
    add_targets(own(connection), &p, targets, count);
    return visit_all(own(connection), TAKE, &p, visit, context);
}

static int postgres_claim(struct verge__connection *connection, const struct verge__target *targets, size_t count,
                          const uint64_t *run_ns, verge__visit_row visit, void *context) {
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        struct parameters p = {0};
        add_targets(own(connection), &p, &targets[i], 1);
        add_number(&p, run_ns[i]);
        error = visit_all(own(connection), CLAIM, &p, visit, context);
    }
    return error;
}

static int postgres_complete(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct parameters p = {0};
        PGresult *result;
        add_number(&p, changes[i].id);
        add_number(&p, changes[i].revision);
        const int error = ask(own(connection), COMPLETE, &p, &result);
        if (error != 0) {
            return error;
        }
        changes[i].outcome = PQntuples(result) == 0 ? -ENOENT : 0;
        PQclear(result);
    }
    return 0;
}

static int postgres_count_attempt(struct verge__connection *connection, const struct verge__target *target) {
    struct parameters p = {0};
    add_number(&p, target->id);
    add_number(&p, verge__shard_of(target->id));
    add_number(&p, target->epoch);
    return tell(own(connection), ATTEMPT, &p);
}

static int postgres_bury(struct verge__connection *connection, const struct verge__row *row, const char *reason) {
    struct parameters p = {0};
    add_number(&p, row->id);
    add_number(&p, row->due_ns);
    add_number(&p, row->attempt);
    add_number(&p, row->period_ns);
    add_number(&p, row->policy);
    add_bytes(&p, row->handler, strlen(row->handler));
    add_bytes(&p, row->key, row->key_size);
    add_bytes(&p, row->payload_size == 0 ? "" : row->payload, row->payload_size);
    add_bytes(&p, reason, strlen(reason));
    return tell(own(connection), BURY, &p);
}

/* ---- P5 ---- */

/* Ids of the answer: those that were changed, and whether they run. */
static void match_changes(const PGresult *result, struct verge__change *changes, size_t count, int outcome) {
    for (int row = 0; row < PQntuples(result); row++) {
        const uint64_t id = number(result, row, 0);
        for (size_t i = 0; i < count; i++) {
            if (changes[i].id == id && changes[i].outcome == -ENOENT) {
                changes[i].outcome = outcome != 0 ? outcome : number(result, row, 1) != 0 ? VERGE_RUNNING : 0;
                break; /* the same again, in one group: gone for the second */
            }
        }
    }
}

static int change_some(struct connection *c, enum statement which, struct verge__change *changes, size_t count) {
    struct parameters p = {0};
    PGresult *result;
    struct buffer *ids = begin_array(c, &p, TYPE_INT8, count);
    for (size_t i = 0; i < count; i++) {
        append_number(ids, changes[i].id);
        changes[i].outcome = -ENOENT;
    }
    end_array(&p, ids);
    struct parameters only_ids = p;
    if (which == RESET) {
        struct buffer *dues = begin_array(c, &p, TYPE_INT8, count);
        for (size_t i = 0; i < count; i++) {
            append_number(dues, changes[i].due_ns);
        }
        end_array(&p, dues);
    }
    int error = ask(c, which, &p, &result);
    if (error != 0) {
        return error;
    }
    match_changes(result, changes, count, 0);
    const bool has_all = PQntuples(result) == (int)count;
    PQclear(result);
    if (has_all) {
        return 0;
    }
    /* The rest is gone, or somebody has it: a firing, whose deletion is not committed yet. */
    error = ask(c, EXISTING, &only_ids, &result);
    if (error == 0) {
        match_changes(result, changes, count, -EAGAIN);
        PQclear(result);
    }
    return error;
}

static int change_all(struct verge__connection *connection, enum statement which, struct verge__change *changes,
                      size_t count) {
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i += ARRAY_MAX) {
        error = change_some(own(connection), which, changes + i, count - i < ARRAY_MAX ? count - i : ARRAY_MAX);
    }
    return error;
}

static int postgres_cancel(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    return change_all(connection, CANCEL, changes, count);
}

static int postgres_reset(struct verge__connection *connection, struct verge__change *changes, size_t count) {
    return change_all(connection, RESET, changes, count);
}

/* ---- for people ---- */

static int postgres_find(struct verge__connection *connection, const char *handler, const void *key, size_t key_size,
                         uint64_t *ret_id) {
    struct parameters p = {0};
    PGresult *result;
    add_bytes(&p, handler, strlen(handler));
    add_bytes(&p, key, key_size);
    int error = ask_text(own(connection), "SELECT id FROM verge_timer WHERE handler = $1::text AND name = $2::bytea",
                         &p, &result);
    if (error == 0) {
        error = PQntuples(result) == 0 ? -ENOENT : 0;
        if (error == 0) {
            *ret_id = number(result, 0, 0);
        }
        PQclear(result);
    }
    return error;
}

static void read_info(const PGresult *result, int i, verge_durable_info *info) {
    *info = (verge_durable_info){
        .id = number(result, i, 0),
        .due_ns = number(result, i, 1),
        .attempt = (uint32_t)number(result, i, 2),
        .period_ns = number(result, i, 3),
        .payload_size = (size_t)PQgetlength(result, i, 6),
        .is_running = number(result, i, 7) != 0,
        .died_ns = number(result, i, 9),
    };
    info->shard = verge__shard_of(info->id);
    (void)snprintf(info->handler, sizeof(info->handler), "%s", PQgetvalue(result, i, 4));
    (void)snprintf(info->reason, sizeof(info->reason), "%s", PQgetvalue(result, i, 8));
    const int key_size = PQgetlength(result, i, 5);
    info->key_size = (uint8_t)(key_size > VERGE_DURABLE_KEY_MAX ? VERGE_DURABLE_KEY_MAX : key_size);
    memcpy(info->key, PQgetvalue(result, i, 5), info->key_size);
}

static const char look_timers[] = "SELECT " INFO_COLUMNS "running, '', 0::bigint FROM verge_timer ";
static const char look_dead[] = "SELECT " INFO_COLUMNS "0::bigint, reason, died FROM verge_dead ";

static int postgres_look(struct verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload,
                         size_t size) {
    char text[512];
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, id);
    (void)snprintf(text, sizeof(text), "%s WHERE id = $1::bigint UNION ALL %s WHERE id = $1::bigint", look_timers,
                   look_dead);
    int error = ask_text(own(connection), text, &p, &result);
    if (error != 0) {
        return error;
    }
    error = PQntuples(result) == 0 ? -ENOENT : 0;
    if (error == 0) {
        read_info(result, 0, ret_info);
        if (payload != NULL) {
            memcpy(payload, PQgetvalue(result, 0, 6), ret_info->payload_size < size ? ret_info->payload_size : size);
        }
    }
    PQclear(result);
    return error;
}

static int postgres_list(struct verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos,
                         size_t count) {
    char text[512];
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, after);
    add_number(&p, count);
    (void)snprintf(text, sizeof(text), "%s WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint",
                   dead ? look_dead : look_timers);
    const int error = ask_text(own(connection), text, &p, &result);
    if (error != 0) {
        return error;
    }
    const int found = PQntuples(result);
    for (int i = 0; i < found; i++) {
        read_info(result, i, &ret_infos[i]);
    }
    PQclear(result);
    return found;
}

static int change_dead(struct connection *c, const char *text, uint64_t id) {
    struct parameters p = {0};
    PGresult *result;
    add_number(&p, id);
    int error = ask_text(c, text, &p, &result);
    if (error == 0) {
        error = PQntuples(result) == 0 ? -ENOENT : 0;
        PQclear(result);
    }
    return error;
}

static int postgres_forget(struct verge__connection *connection, uint64_t id) {
    return change_dead(own(connection), "DELETE FROM verge_dead WHERE id = $1 RETURNING id", id);
}

static int postgres_revive(struct verge__connection *connection, uint64_t id) {
    return change_dead(
        own(connection),
        "WITH d AS (DELETE FROM verge_dead WHERE id = $1 RETURNING *) INSERT INTO verge_timer (id, shard, due, "
        "attempt, running, revision, period, policy, handler, name, payload) SELECT id, id & 255, verge_now(), 0, "
        "0, 0, period, policy, handler, name, payload FROM d RETURNING id",
        id);
}

static int postgres_count(struct verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue,
                          uint64_t *ret_dead) {
    const struct parameters none = {0};
    PGresult *result;
    const int error =
        ask_text(own(connection),
                 "SELECT (SELECT count(*) FROM verge_timer), (SELECT count(*) FROM verge_timer WHERE due <= "
                 "(SELECT verge_now())), (SELECT count(*) FROM verge_dead)",
                 &none, &result);
    if (error == 0) {
        *ret_pending = number(result, 0, 0);
        *ret_overdue = number(result, 0, 1);
        *ret_dead = number(result, 0, 2);
        PQclear(result);
    }
    return error;
}

static int postgres_check(struct verge__connection *connection, uint32_t shard_count, char *text, size_t size) {
    char query[2048];
    const struct parameters none = {0};
    PGresult *result;
    (void)snprintf(query, sizeof(query), VERGE__CHECK, shard_count, shard_count);
    const int error = ask_text(own(connection), query, &none, &result);
    if (error != 0) {
        return error;
    }
    const int found = PQntuples(result);
    if (found > 0 && text != NULL && size > 0) {
        (void)snprintf(text, size, "%s", PQgetvalue(result, 0, 0));
    }
    PQclear(result);
    return found;
}

const struct verge__store verge__postgres_store = {
    .name = "postgresql",
    .connect = postgres_connect,
    .disconnect = postgres_disconnect,
    .borrow = postgres_borrow,
    .handle = postgres_handle,
    .read_meta = postgres_read_meta,
    .make_tables = postgres_make_tables,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .savepoint = postgres_savepoint,
    .end_savepoint = postgres_end_savepoint,
    .join = postgres_join,
    .renew = postgres_renew,
    .acquire = postgres_acquire,
    .release = postgres_release,
    .leave = postgres_leave,
    .new_incarnation = postgres_new_incarnation,
    .scan = postgres_scan,
    .wait = postgres_wait,
    .insert = postgres_insert,
    .notify = postgres_notify,
    .take = postgres_take,
    .claim = postgres_claim,
    .complete = postgres_complete,
    .count_attempt = postgres_count_attempt,
    .bury = postgres_bury,
    .cancel = postgres_cancel,
    .reset = postgres_reset,
    .find = postgres_find,
    .look = postgres_look,
    .list = postgres_list,
    .revive = postgres_revive,
    .forget = postgres_forget,
    .count = postgres_count,
    .check = postgres_check,
};
