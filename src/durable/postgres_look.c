/* SPDX-License-Identifier: MIT */
/* Calls for people and tools: find, get, list, retry, forget, count, owners, check. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>

#include "durable/postgres_internal.h"
#include "durable/schema.h"

#define INFO_COLUMNS "id, due, attempt, period, handler, name, payload, "

/* ---- for people ---- */

int verge__postgres_find(verge__connection *connection, const char *handler, const void *key, size_t key_size,
                         uint64_t *ret_id) {
    verge__parameters p = {0};
    PGresult *result;
    add_bytes(&p, handler, strlen(handler));
    add_bytes(&p, key, key_size);
    int error = verge__pg_ask_text(
        own(connection), "SELECT id FROM verge_timer WHERE handler = $1::text AND name = $2::bytea", &p, &result);
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
    (void)snprintf(info->rule, sizeof(info->rule), "%s", PQgetvalue(result, i, 10));
    const int key_size = PQgetlength(result, i, 5);
    info->key_size = (uint8_t)(key_size > VERGE_DURABLE_KEY_MAX ? VERGE_DURABLE_KEY_MAX : key_size);
    memcpy(info->key, PQgetvalue(result, i, 5), info->key_size);
}

static const char look_timers[] =
    "SELECT " INFO_COLUMNS
    "(running <> 0 AND due > (SELECT verge_now()))::int::bigint, '', 0::bigint, rule FROM verge_timer ";
static const char look_dead[] = "SELECT " INFO_COLUMNS "0::bigint, reason, died, rule FROM verge_dead ";

int verge__postgres_look(verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload,
                         size_t size) {
    char text[512];
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, id);
    (void)snprintf(text, sizeof(text), "%s WHERE id = $1::bigint UNION ALL %s WHERE id = $1::bigint", look_timers,
                   look_dead);
    int error = verge__pg_ask_text(own(connection), text, &p, &result);
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

int verge__postgres_list(verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos,
                         size_t count) {
    char text[512];
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, after);
    add_number(&p, count);
    (void)snprintf(text, sizeof(text), "%s WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint",
                   dead ? look_dead : look_timers);
    const int error = verge__pg_ask_text(own(connection), text, &p, &result);
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

static int change_dead(verge__postgres *c, const char *text, verge__change *change) {
    verge__parameters p = {0};
    PGresult *result;
    add_number(&p, change->id);
    int error = verge__pg_ask_text(c, text, &p, &result);
    if (error == 0) {
        error = PQntuples(result) == 0 ? -ENOENT : 0;
        if (error == 0) {
            change->due_ns = number(result, 0, 0);
            (void)snprintf(change->handler, sizeof(change->handler), "%s", PQgetvalue(result, 0, 1));
        }
        PQclear(result);
    }
    return error;
}

int verge__postgres_forget(verge__connection *connection, uint64_t id) {
    verge__change change = {.id = id};
    return change_dead(own(connection), "DELETE FROM verge_dead WHERE id = $1 RETURNING due, handler", &change);
}

int verge__postgres_revive(verge__connection *connection, verge__change *change) {
    return change_dead(
        own(connection),
        "WITH d AS (DELETE FROM verge_dead WHERE id = $1 RETURNING *) INSERT INTO verge_timer (id, shard, due, "
        "attempt, running, revision, period, policy, handler, name, payload, rule) SELECT id, id & 255, now, 0, "
        "0, now, period, policy, handler, name, payload, rule FROM d, (SELECT verge_now() AS now) n RETURNING due, "
        "handler",
        change);
}

int verge__postgres_count(verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue,
                          uint64_t *ret_dead) {
    const verge__parameters none = {0};
    PGresult *result;
    const int error =
        verge__pg_ask_text(own(connection),
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

int verge__postgres_owners(verge__connection *connection, verge_durable_owner *ret_owners, size_t count,
                           uint64_t *ret_dead) {
    verge__parameters p = {0};
    PGresult *result;
    int found = 0;
    add_number(&p, VERGE__DEAD_COUNT_MAX);
    const int error = verge__pg_ask_text(own(connection), VERGE__OWNERS("$1"), &p, &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        verge_durable_owner owner = {.node = number(result, i, 1), .lease_until_ns = number(result, i, 2)};
        (void)snprintf(owner.name, sizeof(owner.name), "%s", PQgetvalue(result, i, 3));
        found = verge__add_owned(ret_owners, found, count, &owner, number(result, i, 0));
        *ret_dead = number(result, i, 4);
    }
    PQclear(result);
    return found;
}

int verge__postgres_check(verge__connection *connection, uint32_t shard_count, char *text, size_t size) {
    char query[2048];
    const verge__parameters none = {0};
    PGresult *result;
    (void)snprintf(query, sizeof(query), VERGE__CHECK, shard_count, shard_count);
    const int error = verge__pg_ask_text(own(connection), query, &none, &result);
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
