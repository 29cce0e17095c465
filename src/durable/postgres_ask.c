/* SPDX-License-Identifier: MIT */
/* Queries: prepared statements, answers that must come within a time limit, errors. */
#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "durable/postgres_internal.h"
#include "durable/schema.h"

#define ROW_COLUMNS "id, due, attempt, revision, period, policy, handler, name, payload, rule"
#define T_COLUMNS "t.id, t.due, t.attempt, t.revision, t.period, t.policy, t.handler, t.name, t.payload, t.rule"
#define OWN \
    "own AS MATERIALIZED (SELECT s.shard FROM verge_shard s JOIN unnest($1::bigint[], $2::bigint[]) AS o(shard, " \
    "epoch) " \
    "ON s.shard = o.shard AND s.epoch = o.epoch FOR SHARE OF s)"
#define IS_DUE_AND_OWN "t.due + 0 <= (SELECT verge_now()) AND t.shard + 0 = ANY (ARRAY(SELECT shard FROM own))"
#define NOW "WITH n AS MATERIALIZED (SELECT verge_now() AS now)"
/* unnest() is in the list of columns, which the server goes through row by row. In FROM, the server would first copy
 * each array to a temporary store, which takes a sixth of the time of an INSERT. */
#define INSERT_ROWS(ATTEMPT, REVISION, NAME, ARRAYS) \
    "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, payload, " \
    "rule) SELECT r.id, r.id & 255, CASE WHEN r.due < 0 THEN n.now - r.due - 1 ELSE r.due END, " ATTEMPT \
    ", 0, " REVISION ", r.period, r.policy, r.handler, " NAME ", r.payload, r.rule FROM n, (SELECT " \
    "unnest($1::bigint[]) AS id, unnest($2::bigint[]) AS due, unnest($3::bigint[]) AS period, " \
    "unnest($4::bigint[]) AS policy, unnest($5::text[]) AS handler, unnest($6::bytea[]) AS payload, " \
    "unnest($7::text[]) AS rule" ARRAYS ") r"

static const char *const texts[STATEMENT_COUNT] = {
    [RENEW] = NOW
    ", u AS (INSERT INTO verge_node (node, name, lease_until, seen) SELECT $1, '', now + $2, now FROM n "
    "ON CONFLICT (node) DO UPDATE SET lease_until = excluded.lease_until, seen = excluded.seen) "
    "SELECT n.now, (SELECT count(*) FROM verge_node o WHERE o.lease_until >= n.now AND o.node <> $1) + 1, "
    "(SELECT min(lease_until) FROM verge_node o WHERE o.lease_until >= n.now AND o.node <> $1), s.shard, s.epoch, "
    "(SELECT incarnation FROM verge_meta), (SELECT coalesce(sum(revision), 0)::bigint FROM verge_control) "
    "FROM n LEFT JOIN verge_shard s ON s.owner = $1 ORDER BY s.shard",
    [ACQUIRE] =
        NOW ", f AS (SELECT s.shard, s.clean FROM verge_shard s, n "
            "WHERE NOT EXISTS (SELECT 1 FROM verge_node o WHERE o.node = s.owner AND o.lease_until >= n.now) "
            "ORDER BY s.shard LIMIT $2 FOR UPDATE OF s SKIP LOCKED) "
            "UPDATE verge_shard s SET owner = $1, epoch = s.epoch + 1, clean = 0 FROM f WHERE s.shard = f.shard "
            "RETURNING s.shard, s.epoch, f.clean",
    [RELEASE] =
        "UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = $3::bigint WHERE shard IN (SELECT shard FROM "
        "verge_shard WHERE owner = $1 AND shard = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED)",
    [LEAVE] = "WITH s AS (UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = $2::bigint WHERE owner = $1) "
              "DELETE FROM verge_node WHERE node = $1",
    [FORGET_NODES] = "DELETE FROM verge_node WHERE lease_until + $1 < verge_now() AND seen < (SELECT max(seen) FROM "
                     "verge_node) AND node NOT IN (SELECT owner FROM verge_shard)",
    [INSERT] = NOW " " INSERT_ROWS("r.attempt", "r.revision", "r.name",
                                   ", unnest($8::bigint[]) AS attempt, unnest($9::bigint[]) AS revision, "
                                   "unnest($10::bytea[]) AS name") " ON CONFLICT DO NOTHING RETURNING id, due",
    [INSERT_NEW] = NOW ", i AS (" INSERT_ROWS("0", "0", "NULL", "") ") SELECT now FROM n",
    [EXISTING] = "SELECT id, due FROM verge_timer WHERE id = ANY ($1::bigint[])",
    [PROBE] = "SELECT t.id, t.due, coalesce(s.epoch, 0) FROM verge_timer t LEFT JOIN verge_shard s "
              "ON s.shard = t.shard WHERE t.id = ANY ($1::bigint[])",
    [EXISTING_ROWS] = "SELECT " ROW_COLUMNS " FROM verge_timer WHERE id = ANY ($1::bigint[])",
    /* Rows are deleted by ctid, since another lookup in the index would cost more. If a row was changed after the
     * statement had begun, its new version is locked but not deleted. It then counts as locked by another transaction,
     * and is tried again. */
    [TAKE] = "WITH " OWN " DELETE FROM verge_timer d WHERE d.ctid = ANY (ARRAY(SELECT t.ctid FROM verge_timer t WHERE "
             "t.id = ANY ($3::bigint[]) AND " IS_DUE_AND_OWN " FOR UPDATE SKIP LOCKED)) RETURNING " ROW_COLUMNS,
    [CLAIM] = "WITH " OWN ", old AS MATERIALIZED (SELECT " T_COLUMNS
              " FROM verge_timer t WHERE t.id = ANY ($3::bigint[]) AND " IS_DUE_AND_OWN " FOR UPDATE SKIP LOCKED), "
              "u AS (UPDATE verge_timer t SET attempt = t.attempt + 1, running = 1, revision = t.revision + 1, "
              "due = verge_now() + $4 FROM old WHERE t.id = old.id) "
              "SELECT id, due, attempt, revision + 1, period, policy, handler, name, payload, rule FROM old",
    [COMPLETE] = "DELETE FROM verge_timer WHERE id = $1 AND revision = $2 RETURNING id",
    [EXTEND] = "UPDATE verge_timer SET due = verge_now() + $3 WHERE id = $1 AND revision = $2 RETURNING id",
    [ATTEMPT] =
        "UPDATE verge_timer SET attempt = attempt + CASE WHEN $4::bigint <> 0 AND attempt = $4 THEN 0 ELSE 1 END "
        "WHERE id = ANY (ARRAY(SELECT id FROM verge_timer WHERE id = $1 AND due <= (SELECT verge_now()) FOR UPDATE "
        "SKIP LOCKED)) AND (SELECT epoch FROM verge_shard WHERE shard = $2) = $3 RETURNING attempt",
    [BURY] = "INSERT INTO verge_dead (id, due, attempt, period, policy, handler, name, payload, reason, rule, "
             "died) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, verge_now()) ON CONFLICT (id) DO UPDATE SET due = "
             "excluded.due, "
             "attempt = excluded.attempt, reason = excluded.reason, died = excluded.died",
    [CANCEL] = "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE id = ANY ($1::bigint[]) FOR "
               "UPDATE SKIP "
               "LOCKED) DELETE FROM verge_timer t USING l WHERE t.id = l.id "
               "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint",
    [RESET] = "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE id = ANY ($1::bigint[]) FOR "
              "UPDATE SKIP "
              "LOCKED) UPDATE verge_timer t SET due = r.due, running = 0, revision = t.revision + 1 "
              "FROM l JOIN unnest($1::bigint[], $2::bigint[]) AS r(id, due) ON l.id = r.id WHERE t.id = l.id "
              "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint, t.handler",
    [CANCEL_KEY] =
        "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE handler = $1::text AND name = "
        "$2::bytea FOR UPDATE SKIP LOCKED) DELETE FROM verge_timer t USING l WHERE t.id = l.id "
        "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint",
    [RESET_KEY] =
        "WITH l AS MATERIALIZED (SELECT id, running, due FROM verge_timer WHERE handler = $1::text AND name = "
        "$2::bytea FOR UPDATE SKIP LOCKED) UPDATE verge_timer t SET due = $3, running = 0, revision = "
        "t.revision + 1 FROM l WHERE t.id = l.id "
        "RETURNING t.id, (l.running <> 0 AND l.due > (SELECT verge_now()))::int::bigint",
    [REPLACE] =
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
        "payload, rule) VALUES ($1::bigint, $1::bigint & 255, CASE WHEN $2::bigint < 0 THEN verge_now() - $2::bigint - "
        "1 ELSE $2::bigint END, 0, 0, 0, $3::bigint, $4::bigint, $5::text, $6::bytea, $7::bytea, $9::text) ON CONFLICT "
        "(handler, name) WHERE name IS NOT NULL DO UPDATE SET due = excluded.due, attempt = 0, running = 0, "
        "revision = verge_timer.revision + 1, period = CASE WHEN $8::bigint = 1 THEN excluded.period ELSE "
        "verge_timer.period END, policy = CASE WHEN $8::bigint = 1 THEN excluded.policy ELSE verge_timer.policy "
        "END, payload = CASE WHEN $8::bigint = 1 THEN excluded.payload ELSE verge_timer.payload END, rule = CASE WHEN "
        "$8::bigint = 1 THEN excluded.rule ELSE verge_timer.rule END "
        "RETURNING id, due",
    [CONTROL] = VERGE__CONTROL("$1::text", "$2::bigint", "$3::bigint", "$4::bigint", "$5::bigint"),
    [LIST_CONTROLS] = VERGE__LIST_CONTROLS("$1::bigint"),
    [PERMIT] = "SELECT granted, at FROM verge_ask_permit($1::text, $2::bigint, $3::bigint, $4::bigint, $5::bigint)",
    [PERMIT_KEEP] = "UPDATE verge_permit SET until = verge_now() + $4::bigint WHERE handler = $1::text AND node = "
                    "$2::bigint AND slot = $3::bigint",
    [PERMIT_END] = "DELETE FROM verge_permit WHERE handler = $1::text AND node = $2::bigint AND slot = $3::bigint",
    [NOTIFY] = "SELECT pg_notify('verge_timer', t) FROM unnest($1::text[]) AS t",
};

static const int all_binary[PARAMETERS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* ---- errors ---- */

int verge__pg_error_of_state(const char *state, const char **ret_advice) {
    static const struct {
        const char *state; /* the SQLSTATE begins with this */
        int error;
        const char *advice;
    } known[] = {
        {"08", -EHOSTUNREACH, NULL},
        {"57P", -EHOSTUNREACH, NULL},
        {"53300", -EHOSTUNREACH, "a node has firing_threads + 2 connections"},
        {"25P03", -EHOSTUNREACH, NULL},
        {"25006", -EROFS,
         "this server is a replica, or read-only: use the primary, or target_session_attrs=read-write in the URL"},
        {"40", -EAGAIN, NULL},
        {"55P03", -EAGAIN, NULL},
        {"57014", -EAGAIN, NULL},
        {"25P02", -EAGAIN, NULL},
        {"53100", -ENOSPC, NULL},
        {"53200", -ENOMEM, NULL},
        {"42501", -EACCES,
         "a role needs SELECT, INSERT, UPDATE and DELETE on verge_* (to look, SELECT is enough), and for "
         "verge-durable init CREATE in the schema"},
        {"28", -EACCES, NULL},
        {"3D000", -ENOENT, NULL},
        {"42", -EPROTO, NULL},
        {"3F", -EPROTO, NULL},
        {"23505", -EEXIST, NULL},
    };
    *ret_advice = NULL;
    for (size_t i = 0; state != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(state, known[i].state, strlen(known[i].state)) == 0) {
            *ret_advice = known[i].advice;
            return known[i].error;
        }
    }
    return -EIO;
}

int verge__pg_error_of(const verge__postgres *c, const PGresult *result) {
    const ExecStatusType status = PQresultStatus(result);
    if (result != NULL && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)) {
        return 0;
    }
    if (result == NULL) {
        const char *message = PQerrorMessage(c->pg);
        verge__set_words("%s", message[0] == '\0' ? "the server did not answer in time" : message);
        return -EHOSTUNREACH;
    }
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    const char *advice;
    const int error = verge__pg_error_of_state(PQresultErrorField(result, PG_DIAG_SQLSTATE), &advice);
    verge__set_words("%s%s%s%s%s", message == NULL ? PQresultErrorMessage(result) : message, hint == NULL ? "" : ". ",
                     hint == NULL ? "" : hint, advice == NULL ? "" : ": ", advice == NULL ? "" : advice);
    return PQstatus(c->pg) != CONNECTION_OK ? -EHOSTUNREACH : error;
}

/* ---- queries, with a limit on how long the answer may take ---- */

static bool wait_for_answer(verge__postgres *c) {
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

PGresult *verge__pg_answer(verge__postgres *c, int sent) {
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
        const bool is_better = last == NULL || verge__pg_error_of(c, last) == 0;
        PQclear(is_better ? last : result);
        last = is_better ? result : last;
    }
}

static int take_answer(verge__postgres *c, int sent, PGresult **ret_result) {
    PGresult *result = verge__pg_answer(c, sent);
    const int error = verge__pg_error_of(c, result);
    if (error != 0) {
        PQclear(result);
        result = NULL;
    }
    *ret_result = result;
    return error;
}

static int drop_answer(verge__postgres *c, int sent) {
    PGresult *result;
    const int error = take_answer(c, sent, &result);
    PQclear(result);
    return error;
}

int verge__pg_say(verge__postgres *c, const char *text) {
    return drop_answer(c, PQsendQuery(c->pg, text));
}

int verge__pg_prepare(verge__postgres *c, const char *name, const char *text) {
    return drop_answer(c, PQsendPrepare(c->pg, name, text, 0, NULL));
}

int verge__pg_ask_named(verge__postgres *c, const char *name, const verge__parameters *p, PGresult **ret_result) {
    if (is_broken(c)) {
        return -ENOMEM;
    }
    return take_answer(c, PQsendQueryPrepared(c->pg, name, p->count, p->values, p->lengths, all_binary, 1), ret_result);
}

int verge__pg_ask_text(verge__postgres *c, const char *text, const verge__parameters *p, PGresult **ret_result) {
    if (is_broken(c)) {
        return -ENOMEM;
    }
    return take_answer(c, PQsendQueryParams(c->pg, text, p->count, NULL, p->values, p->lengths, all_binary, 1),
                       ret_result);
}

int verge__pg_ask(verge__postgres *c, verge__postgres_statement which, const verge__parameters *p,
                  PGresult **ret_result) {
    char name[16];
    if (c->is_borrowed) { /* a prepared statement would stay in the caller's session */
        return verge__pg_ask_text(c, texts[which], p, ret_result);
    }
    (void)snprintf(name, sizeof(name), "verge_%d", (int)which);
    if (!c->is_prepared[which]) {
        const int error = verge__pg_prepare(c, name, texts[which]);
        if (error != 0) {
            return error;
        }
        c->is_prepared[which] = true;
    }
    return verge__pg_ask_named(c, name, p, ret_result);
}

int verge__pg_tell(verge__postgres *c, verge__postgres_statement which, const verge__parameters *p) {
    PGresult *result;
    const int error = verge__pg_ask(c, which, p, &result);
    if (error == 0) {
        PQclear(result);
    }
    return error;
}
