/* SPDX-License-Identifier: MIT */
/*
 * SQL functions that start, cancel and move timers, pause handlers and limit them. Any language can call them, in its
 * own transaction.
 *
 * They do the same as these calls of verge/durable.h: start (in a transaction of the caller's, without period, rule and
 * on_conflict), cancel, reset, pause, resume and limit. The ids of their timers are 2^62 | number << 8 | shard, where
 * the number comes from a sequence. Ids that nodes make are below 2^62. Each function has the search path with which it
 * was created, so that it finds its tables. It runs with the rights of its caller, who needs rights to the tables
 * (docs/DURABLE.md).
 */
#define _GNU_SOURCE

#include "durable/postgres_internal.h"
#include "durable/schema.h"

#define NAP_NS "50000000"    /* VERGE__PERMIT_NAP_NS, as text */
#define WAIT_NS "1000000000" /* VERGE__PERMIT_WAIT_NS, as text */

#define SETTINGS "LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $verge$\n#variable_conflict use_column\n"

/* If a row is locked, it is being fired, or changed in another transaction. The functions then try again for 60 ms; the
 * library does so for 50 ms. */
#define ANSWER(CHANGED, STATEMENT) \
    "BEGIN FOR tries IN 1 .. 6 LOOP " STATEMENT " IF FOUND THEN " \
    "RETURN CASE WHEN was_running <> 0 AND was_due > verge_now() THEN 'running' ELSE '" CHANGED "' END; END IF; " \
    "PERFORM 1 FROM verge_timer t WHERE t.id = $1; IF NOT FOUND THEN RETURN 'gone'; END IF; " \
    "PERFORM pg_sleep(0.01); END LOOP; RETURN 'running'; END $verge$;"

#define LOCKED \
    "SELECT t.running, t.due INTO was_running, was_due FROM verge_timer t WHERE t.id = $1 FOR UPDATE SKIP LOCKED; " \
    "IF FOUND THEN "

#define CHECK_HANDLER \
    "IF $1 IS NULL OR $1 !~ '^[A-Za-z0-9._-]{1,64}$' THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: " VERGE__HANDLER_WORDS "'; END IF; "

/* Converts a time to nanoseconds since 1970. */
#define NS_OF_DUE \
    "CREATE OR REPLACE FUNCTION verge_ns(due timestamptz) RETURNS bigint " SETTINGS \
    "BEGIN IF due IS NULL OR NOT isfinite(due) OR due < '1970-01-01 00:00+00' OR due > '2262-04-11 00:00+00' THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: the time is not between 1970 and 2262'; END IF; " \
    "RETURN (extract(epoch FROM date_trunc('second', due))::bigint * 1000000 + " \
    "extract(microseconds FROM due)::bigint % 1000000) * 1000; END $verge$;"

#define SCHEDULE \
    "CREATE OR REPLACE FUNCTION verge_schedule(handler text, due timestamptz, payload bytea DEFAULT '', " \
    "key bytea DEFAULT NULL) RETURNS bigint " SETTINGS "DECLARE new_due bigint := verge_ns($2); new_id bigint; " \
    "BEGIN " CHECK_HANDLER "IF length($4) > 255 THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: the key has more than 255 bytes'; END IF; " \
    "IF length($3) > 1048576 THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: the payload has more than 1 MiB'; END IF; " \
    "SELECT (1::bigint << 62) | (nextval('verge_sql_id') << 8) | ((new_due >> 24) % m.shards) INTO STRICT new_id " \
    "FROM verge_meta m; " \
    "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, payload) " \
    "VALUES (new_id, new_id & 255, new_due, 0, 0, 0, 0, 0, $1, $4, coalesce($3, '')) " \
    "ON CONFLICT (handler, name) WHERE name IS NOT NULL DO NOTHING; " \
    "IF NOT FOUND THEN RETURN NULL; END IF; " \
    "PERFORM pg_notify('verge_timer', new_id || ' ' || new_due || ' ' || $1); RETURN new_id; END $verge$;"

#define CANCEL_BY_ID \
    "CREATE OR REPLACE FUNCTION verge_cancel(id bigint) RETURNS text " SETTINGS \
    "DECLARE was_running bigint; was_due bigint; " ANSWER("cancelled", LOCKED \
                                                          "DELETE FROM verge_timer t WHERE t.id = $1; END IF; ")

#define CANCEL_BY_KEY \
    "CREATE OR REPLACE FUNCTION verge_cancel_key(handler text, key bytea) RETURNS text " SETTINGS \
    "DECLARE found_id bigint; BEGIN SELECT t.id INTO found_id FROM verge_timer t WHERE t.handler = $1 AND " \
    "t.name = $2; RETURN CASE WHEN found_id IS NULL THEN 'gone' ELSE verge_cancel(found_id) END; END $verge$;"

#define RESCHEDULE \
    "CREATE OR REPLACE FUNCTION verge_reschedule(id bigint, due timestamptz) RETURNS text " SETTINGS \
    "DECLARE new_due bigint := verge_ns($2); was_running bigint; was_due bigint; " ANSWER( \
        "moved", LOCKED "UPDATE verge_timer t SET due = new_due, running = 0, revision = t.revision + 1 " \
                        "WHERE t.id = $1; " \
                        "PERFORM pg_notify('verge_timer', t.id || ' ' || t.due || ' ' || t.handler) " \
                        "FROM verge_timer t WHERE t.id = $1; END IF; ")

#define CHECK_LIMITS \
    "IF least($2, $3) < 0 OR greatest($2, $3) > 1000000000 THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: a limit is 0 to 1000000000'; END IF; "

/* Libraries that are older than version 3 of the tables do not know verge_control. */
#define CHECK_CONTRACT \
    "IF (SELECT m.min_version FROM verge_meta m) < 3 THEN RAISE object_not_in_prerequisite_state USING MESSAGE = " \
    "'verge: " VERGE__CONTRACT_WORDS "'; END IF; "

/* Changes the settings of a handler. It also gets a new revision (VERGE__CONTROL): by that, nodes notice the
 * change. The notification, with id 0, tells them at once. */
#define CONTROL_HANDLER(NAME, ARGUMENTS, CHECK, PAUSED, CONCURRENCY, RATE) \
    "CREATE OR REPLACE FUNCTION " NAME "(handler text" ARGUMENTS ") RETURNS void " SETTINGS \
    "BEGIN " CHECK_HANDLER CHECK CHECK_CONTRACT VERGE__CONTROL( \
        "$1", PAUSED, CONCURRENCY, RATE, \
        "(random() * 1099511627775)::bigint") "; " \
                                              "PERFORM pg_notify('verge_timer', '0 0 ' || $1); END $verge$;"

/* See permits.c. The first statement locks the handler's row. So the next ones see what all earlier calls have
 * changed. */
#define ASK_PERMIT \
    "CREATE OR REPLACE FUNCTION verge_ask_permit(handler text, node bigint, slot bigint, timers bigint, " \
    "run bigint, OUT granted bigint, OUT at bigint) " SETTINGS \
    "DECLARE now bigint; told verge_control; BEGIN SELECT * INTO told FROM verge_control c WHERE c.handler = $1 FOR " \
    "UPDATE; now := verge_now(); granted := 1; at := now; IF told.handler IS NULL THEN RETURN; END IF; " \
    "IF told.paused <> 0 THEN granted := 0; ELSIF told.concurrency <> 0 THEN " \
    "DELETE FROM verge_permit p WHERE p.handler = $1 AND (p.until < now OR p.node NOT IN (SELECT n.node FROM " \
    "verge_node n WHERE n.lease_until >= now)); " \
    "INSERT INTO verge_permit (handler, node, slot, ticket, until) SELECT $1, $2, $3, coalesce(max(p.ticket), 0) + " \
    "1, " \
    "now + " WAIT_NS " FROM verge_permit p WHERE p.handler = $1 ON CONFLICT (handler, node, slot) DO UPDATE SET " \
    "until = excluded.until; " \
    "SELECT (count(*) < told.concurrency)::int INTO granted FROM verge_permit p WHERE p.handler = $1 AND p.ticket < " \
    "(SELECT q.ticket FROM verge_permit q WHERE q.handler = $1 AND q.node = $2 AND q.slot = $3); END IF; " \
    "IF granted = 0 THEN at := now + " NAP_NS "; RETURN; END IF; " \
    "IF told.rate <> 0 AND $4 <> 0 THEN at := greatest(told.next_run, now); " \
    "UPDATE verge_control c SET next_run = at + $4 * (1000000000 / told.rate) WHERE c.handler = $1; END IF; " \
    "UPDATE verge_permit p SET until = CASE WHEN at > now THEN at + " WAIT_NS " ELSE now + $5 END " \
    "WHERE p.handler = $1 AND p.node = $2 AND p.slot = $3; END $verge$;"

int verge__pg_make_functions(verge__postgres *c) {
    static const char *const texts[] = {
        "CREATE SEQUENCE IF NOT EXISTS verge_sql_id MAXVALUE 18014398509481983;" NS_OF_DUE,
        SCHEDULE CANCEL_BY_ID,
        CANCEL_BY_KEY RESCHEDULE,
        ASK_PERMIT,
        CONTROL_HANDLER("verge_pause", "", "", "1", "-1", "-1"),
        CONTROL_HANDLER("verge_resume", "", "", "0", "-1", "-1"),
        CONTROL_HANDLER("verge_limit", ", concurrency bigint, rate bigint", CHECK_LIMITS, "-1", "coalesce($2, 0)",
                        "coalesce($3, 0)"),
    };
    int error = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && error == 0; i++) {
        error = verge__pg_say(c, texts[i]);
    }
    return error;
}
