/* SPDX-License-Identifier: MIT */
/*
 * SQL as an interface: functions that schedule, cancel and move timers in the caller's transaction, from any language.
 *
 * They do what verge_durable_schedule_in, cancel and reset do. An id is 2^62 | number << 8 | shard, where the number
 * comes from a sequence. Ids of programs are below 2^62. Each function runs with the search path of those tables that
 * it was made for. It has no rights of its own: who calls it needs rights to the tables (docs/DURABLE.md).
 */
#define _GNU_SOURCE

#include "durable/postgres_internal.h"

#define SETTINGS "LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $verge$\n#variable_conflict use_column\n"

/* A row that is locked is being fired, or changed in another transaction. As the library does, the functions try again
 * for 50 ms. The row may be gone then, or have another tick. */
#define ANSWER(CHANGED, STATEMENT) \
    "BEGIN FOR tries IN 1 .. 6 LOOP " STATEMENT " IF FOUND THEN " \
    "RETURN CASE WHEN was_running <> 0 AND was_due > verge_now() THEN 'running' ELSE '" CHANGED "' END; END IF; " \
    "PERFORM 1 FROM verge_timer t WHERE t.id = $1; IF NOT FOUND THEN RETURN 'gone'; END IF; " \
    "PERFORM pg_sleep(0.01); END LOOP; RETURN 'running'; END $verge$;"

#define LOCKED \
    "SELECT t.running, t.due INTO was_running, was_due FROM verge_timer t WHERE t.id = $1 FOR UPDATE SKIP LOCKED; " \
    "IF FOUND THEN "

/* Nanoseconds since 1970. */
#define NS_OF_DUE \
    "CREATE OR REPLACE FUNCTION verge_ns(due timestamptz) RETURNS bigint " SETTINGS \
    "BEGIN IF due IS NULL OR NOT isfinite(due) OR due < '1970-01-01 00:00+00' OR due > '2262-04-11 00:00+00' THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: the time is not between 1970 and 2262'; END IF; " \
    "RETURN (extract(epoch FROM date_trunc('second', due))::bigint * 1000000 + " \
    "extract(microseconds FROM due)::bigint % 1000000) * 1000; END $verge$;"

#define SCHEDULE \
    "CREATE OR REPLACE FUNCTION verge_schedule(handler text, due timestamptz, payload bytea DEFAULT '', " \
    "key bytea DEFAULT NULL) RETURNS bigint " SETTINGS "DECLARE new_due bigint := verge_ns($2); new_id bigint; " \
    "BEGIN IF $1 IS NULL OR $1 !~ '^[A-Za-z0-9._-]{1,64}$' THEN " \
    "RAISE invalid_parameter_value USING MESSAGE = 'verge: a handler has 1 to 64 letters, digits, dots, _ and -'; " \
    "END IF; IF length($4) > 255 THEN " \
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

int verge__pg_make_functions(verge__postgres *c) {
    return verge__pg_say(c, "CREATE SEQUENCE IF NOT EXISTS verge_sql_id MAXVALUE 18014398509481983;" NS_OF_DUE SCHEDULE
                                CANCEL_BY_ID CANCEL_BY_KEY RESCHEDULE);
}
