/* SPDX-License-Identifier: MIT */
/* The tables, and P1 (docs/DURABLE.md): nodes and shards. */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "durable/postgres_internal.h"
#include "durable/schema.h"

/* ---- the tables ---- */

int verge__postgres_read_meta(verge__connection *connection, verge__store_meta *ret_meta) {
    verge__postgres *c = own(connection);
    const verge__parameters none = {0};
    PGresult *result;
    int error = verge__pg_ask_text(
        c, "SELECT count(*) FROM pg_class WHERE pg_table_is_visible(oid) AND relname = 'verge_meta'", &none, &result);
    if (error != 0) {
        return error;
    }
    const bool is_there = number(result, 0, 0) > 0;
    PQclear(result);
    if (!is_there) {
        return -ENOENT;
    }
    error = verge__pg_ask_text(c, "SELECT version, min_version, shards FROM verge_meta", &none, &result);
    if (error != 0) {
        return error;
    }
    error = PQntuples(result) == 1 ? 0 : -EPROTO;
    if (error == 0) {
        *ret_meta = (verge__store_meta){
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

int verge__postgres_make_tables(verge__connection *connection, uint32_t shard_count) {
    verge__postgres *c = own(connection);
    verge__store_meta meta;
    char text[6000];
    int error = verge__pg_say(
        c, "BEGIN; SELECT pg_advisory_xact_lock(6001247)"); /* several processes may make the tables at the same time */
    const int found = error == 0 ? verge__postgres_read_meta(connection, &meta) : error;
    if (found == -ENOENT) {
        (void)snprintf(text, sizeof(text),
                       "%s %s %s INSERT INTO verge_meta VALUES (%d, %d, %u, 0);"
                       "INSERT INTO verge_shard SELECT n, 1, 0, 1 FROM generate_series(0, %u) n",
                       VERGE__SCHEMA("bigint", "text", "bytea"), now_function, mark_table, VERGE_DURABLE_SCHEMA_VERSION,
                       VERGE__MIN_VERSION, shard_count, shard_count - 1);
        error = verge__pg_say(c, text);
        /* verge_timer fills and empties all day, and needs vacuum more often than by default. verge_shard and
         * verge_node are small, and their rows are updated all the time: fillfactor leaves room for that. */
        error =
            error != 0
                ? error
                : verge__pg_say(
                      c, "ALTER TABLE verge_timer SET (autovacuum_vacuum_scale_factor = 0.02, "
                         "autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0); "
                         "ALTER TABLE verge_shard SET (fillfactor = 20); ALTER TABLE verge_node SET (fillfactor = 20)");
    } else if (found == 0 && meta.version < VERGE_DURABLE_SCHEMA_VERSION) {
        (void)snprintf(text, sizeof(text), "%s %s UPDATE verge_meta SET version = %d",
                       meta.version < 2 ? mark_table : "", VERGE__SCHEMA_3("bigint", "text"),
                       VERGE_DURABLE_SCHEMA_VERSION);
        error = verge__pg_say(c, text);
    } else {
        error = found;
    }
    if (error == 0 && (found != 0 || meta.version < VERGE_DURABLE_SCHEMA_VERSION)) {
        error = verge__pg_make_functions(c);
    }
    if (error != 0) {
        verge__postgres_rollback(connection);
        return error;
    }
    return verge__pg_say(c, "COMMIT");
}

int verge__postgres_contract(verge__connection *connection) {
    return verge__pg_say(own(connection), "UPDATE verge_meta SET min_version = version");
}

/* ---- P1 ---- */

int verge__postgres_new_incarnation(verge__connection *connection, uint64_t *ret_incarnation) {
    const verge__parameters none = {0};
    PGresult *result;
    const int error = verge__pg_ask_text(
        own(connection), "UPDATE verge_meta SET incarnation = incarnation + 1 RETURNING incarnation", &none, &result);
    if (error == 0) {
        *ret_incarnation = number(result, 0, 0);
        PQclear(result);
    }
    return error;
}

static int forget_marks(verge__postgres *c) {
    char text[128];
    (void)snprintf(text, sizeof(text), "DELETE FROM verge_mark WHERE at + %" PRIu64 " < (SELECT verge_now())",
                   MARK_KEPT_NS);
    return verge__pg_say(c, text);
}

int verge__postgres_join(verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t node) {
    verge__postgres *c = own(connection);
    int error = lease_ns > 0 ? forget_marks(c) : 0;
    if (error != 0) {
        return error;
    }
    verge__parameters p = {0};
    PGresult *result;
    const uint64_t asked_ns = verge__monotonic_ns();
    if (lease_ns > 0) {
        add_number(&p, node);
        add_bytes(&p, name, strlen(name));
        add_number(&p, lease_ns);
        error = verge__pg_ask_text(
            c,
            "INSERT INTO verge_node (node, name, lease_until, seen) SELECT $1, $2::text, now + $3, now FROM "
            "(SELECT verge_now() AS now) n RETURNING seen",
            &p, &result);
    } else {
        error = verge__pg_ask_text(c, "SELECT verge_now()", &p, &result);
    }
    if (error == 0) {
        note_time(c, number(result, 0, 0), asked_ns);
        PQclear(result);
    }
    return error;
}

static void add_shard(verge__cluster *cluster, uint64_t shard, uint64_t epoch, uint64_t clean) {
    if (shard < VERGE_DURABLE_SHARDS_MAX && cluster->owned_count < VERGE_DURABLE_SHARDS_MAX) {
        cluster->owned[cluster->owned_count++] = (verge__shard){
            .shard = (uint32_t)shard,
            .epoch = epoch,
            .was_clean = clean != 0,
            .was_careful = clean == VERGE__CLEAN_CAREFUL,
        };
    }
}

int verge__postgres_renew(verge__connection *connection, uint64_t node, uint64_t lease_ns,
                          verge__cluster *ret_cluster) {
    verge__postgres *c = own(connection);
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, node);
    add_number(&p, lease_ns);
    const uint64_t asked_ns = verge__monotonic_ns();
    const int error = verge__pg_ask(c, RENEW, &p, &result);
    if (error != 0) {
        return error;
    }
    note_time(c, number(result, 0, 0), asked_ns);
    c->base.incarnation = number(result, 0, 5);
    *ret_cluster = (verge__cluster){
        .live_nodes = (uint32_t)number(result, 0, 1),
        .next_expiry_ns = number(result, 0, 2),
        .control_revision = number(result, 0, 6),
    };
    for (int i = 0; i < PQntuples(result) && !PQgetisnull(result, i, 3); i++) {
        add_shard(ret_cluster, number(result, i, 3), number(result, i, 4), VERGE__CLEAN);
    }
    PQclear(result);
    return 0;
}

int verge__postgres_acquire(verge__connection *connection, uint64_t node, uint32_t count, verge__cluster *ret_new) {
    verge__postgres *c = own(connection);
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, node);
    add_number(&p, count);
    const int error = verge__pg_ask(c, ACQUIRE, &p, &result);
    if (error != 0) {
        return error;
    }
    ret_new->owned_count = 0;
    for (int i = 0; i < PQntuples(result); i++) {
        add_shard(ret_new, number(result, i, 0), number(result, i, 1), number(result, i, 2));
    }
    PQclear(result);
    p = (verge__parameters){0};
    add_number(&p, c->answer_ns);
    return ret_new->owned_count == 0 ? 0 : verge__pg_tell(c, FORGET_NODES, &p);
}

int verge__postgres_release(verge__connection *connection, uint64_t node, const verge__shard *shards, uint32_t count,
                            bool is_careful) {
    verge__postgres *c = own(connection);
    verge__parameters p = {0};
    add_number(&p, node);
    verge__buffer *array = begin_array(c, &p, TYPE_INT8, count);
    for (uint32_t i = 0; i < count; i++) {
        append_number(array, shards[i].shard);
    }
    end_array(&p, array);
    add_number(&p, is_careful ? VERGE__CLEAN_CAREFUL : VERGE__CLEAN);
    return verge__pg_tell(c, RELEASE, &p);
}

int verge__postgres_leave(verge__connection *connection, uint64_t node, bool is_careful) {
    verge__parameters p = {0};
    add_number(&p, node);
    add_number(&p, is_careful ? VERGE__CLEAN_CAREFUL : VERGE__CLEAN);
    return verge__pg_tell(own(connection), LEAVE, &p);
}
