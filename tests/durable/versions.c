/* SPDX-License-Identifier: MIT */
/*
 * A program with the library of version 1 runs beside one with the present library, while the tables are expanded. The
 * old program is simulated by its SQL, which is written down here and must not change: it joins, renews, takes and
 * gives back shards, starts timers, and fires them under its epochs. Each timer runs once, whoever started it and
 * whoever fires it.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "durable/support.h"
#include "support/cmocka.h"

enum { SHARDS = 16 };

#define OLD_LEASE (3600 * S)

static char url[512];
static void *old; /* the connection of the old program */
static uint64_t old_node;
static uint64_t old_counter;
static int64_t old_epochs[SHARDS]; /* 0: as far as the old program knows, it does not own the shard */
static int64_t scheduled;

/* ---- the old program ---- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    assert_int_equal(sql_run(old, text), 0);
}

static int64_t store_now(void) {
    return durable_is_postgres()
               ? sql_number(old, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint")
               : sql_number(old, "SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000000");
}

/* Renews the lease of the old program. lease_ns 0: the lease is over. */
static void old_renew(uint64_t lease_ns) {
    const int64_t now_ns = store_now();
    say("UPDATE verge_node SET lease_until = %" PRId64 ", seen = %" PRId64 " WHERE node = %" PRIu64,
        now_ns + (int64_t)lease_ns, now_ns, old_node);
}

static void old_join(void) {
    const int64_t now_ns = store_now();
    say("UPDATE verge_meta SET incarnation = incarnation + 1");
    old_node = (uint64_t)sql_number(old, "SELECT incarnation FROM verge_meta");
    say("INSERT INTO verge_node (node, name, lease_until, seen) VALUES (%" PRIu64 ", 'old', %" PRId64 ", %" PRId64 ")",
        old_node, now_ns + (int64_t)OLD_LEASE, now_ns);
}

static void old_acquire(void) {
    char text[100];
    say("UPDATE verge_shard SET owner = %" PRIu64 ", epoch = epoch + 1, clean = 0 WHERE owner = 0", old_node);
    for (int i = 0; i < SHARDS; i++) {
        (void)snprintf(text, sizeof(text), "SELECT epoch FROM verge_shard WHERE shard = %d", i);
        old_epochs[i] = sql_number(old, text);
    }
}

static void old_release_half(void) {
    say("UPDATE verge_shard SET owner = 0, epoch = epoch + 1, clean = 1 WHERE owner = %" PRIu64 " AND shard >= %d",
        old_node, SHARDS / 2);
    memset(old_epochs + SHARDS / 2, 0, sizeof(old_epochs) / 2);
}

static void old_schedule(int shard, int64_t due_ns, const char *handler) {
    const uint64_t id = old_node << 35 | ++old_counter << 8 | (uint64_t)shard;
    say("INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, payload) "
        "VALUES (%" PRIu64 ", %d, %" PRId64 ", 0, 0, 0, 0, 0, '%s', NULL, '')",
        id, shard, due_ns, handler);
}

static void old_schedule_all(void) {
    for (int i = 0; i < SHARDS; i++) {
        old_schedule(i, store_now(), "write");
        scheduled++;
    }
}

/* Fires the due timers of shards whose epoch is still the one that the old program knows (P4). */
static void old_fire(void) {
    const int64_t now_ns = store_now();
    for (int i = 0; i < SHARDS; i++) {
        char due[300];
        (void)snprintf(due, sizeof(due),
                       "verge_timer WHERE shard = %d AND due <= %" PRId64
                       " AND (SELECT epoch FROM verge_shard WHERE shard = %d) = %" PRId64,
                       i, now_ns, i, old_epochs[i]);
        if (durable_is_postgres()) {
            say("BEGIN");
            say("SELECT 1 FROM verge_shard WHERE shard = %d FOR SHARE", i);
            say("WITH d AS (DELETE FROM %s RETURNING id) INSERT INTO ledger SELECT id FROM d", due);
        } else {
            say("BEGIN IMMEDIATE");
            say("INSERT INTO ledger SELECT id FROM %s", due);
            say("DELETE FROM %s", due);
        }
        say("COMMIT");
    }
}

/* ---- the new program ---- */

static verge_durable_verdict write_row(const verge_durable_firing *firing) {
    char text[100];
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger VALUES (%llu)", (unsigned long long)firing->id);
    return sql_run(verge_durable_transaction(firing), text) == 0 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

static verge_durable *new_open(bool is_client) {
    verge_durable_options options = durable_options(url);
    verge_durable *durable = NULL;
    options.create = false;
    options.client = is_client;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    if (!is_client) {
        assert_int_equal(verge_durable_register(durable, "write", write_row, NULL, NULL), 0);
    }
    return durable;
}

static void new_schedule(verge_durable *durable, int count) {
    const verge_durable_request request = {.handler = "write"};
    for (int i = 0; i < count; i++) {
        verge_durable_request spread = request;
        spread.delay_ns = (uint64_t)i * 17 * MS; /* the shard depends on the time */
        assert_int_equal(verge_durable_start(durable, &spread, NULL), 0);
        scheduled++;
    }
}

static int64_t ask(const char *text) {
    return sql_number(old, text);
}

static uint64_t shards_of(verge_durable *durable) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    return stats.shards;
}

/* The old program renews its lease, and fires. */
static bool old_step(void) {
    old_renew(OLD_LEASE);
    old_fire();
    return true;
}

static void make_version_1(void) {
    assert_int_equal(verge_durable_migrate(url, SHARDS), 0);
    old = sql_open(url);
    if (durable_is_postgres()) {
        say("DROP TABLE verge_mark");
    }
    say("ALTER TABLE verge_timer DROP COLUMN rule");
    say("ALTER TABLE verge_dead DROP COLUMN rule");
    say("DROP TABLE verge_control");
    say("DROP TABLE verge_permit");
    say("UPDATE verge_meta SET version = 1, min_version = 1");
    say("CREATE TABLE ledger (id bigint)");
}

static void test_old_beside_new(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("versions"));
    make_version_1();
    old_join();
    old_acquire();
    old_schedule_all();
    WAIT_UNTIL(old_step() && ask("SELECT count(*) FROM ledger") == SHARDS);

    /* expand the tables while the old program goes on */
    old_schedule_all();
    assert_int_equal(verge_durable_migrate(url, SHARDS), 0);
    assert_int_equal(ask("SELECT version FROM verge_meta"), VERGE_DURABLE_SCHEMA_VERSION);
    WAIT_UNTIL(old_step() && ask("SELECT count(*) FROM ledger") == (int64_t)2 * SHARDS);

    /* both programs at once: they share the shards, and each timer runs on the owner of its shard */
    verge_durable *node = new_open(false);
    verge_durable *client = new_open(true);
    WAIT_UNTIL(old_step() && ask("SELECT count(*) FROM verge_node") == 2);
    old_release_half();
    WAIT_UNTIL(old_step() && shards_of(node) == SHARDS / 2);
    old_schedule_all();
    new_schedule(node, 20);
    new_schedule(client, 40);
    WAIT_UNTIL(old_step() && ask("SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), scheduled);
    assert_int_equal(verge_durable_pause(client, "write"), -EPROTO); /* the old program would not obey */

    /* the lease of the old program is over: if it goes on, its epochs are too old to fire */
    old_renew(0);
    new_schedule(client, 40);
    WAIT_UNTIL(shards_of(node) == SHARDS);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 0);
    for (int i = 0; i < SHARDS / 2; i++) {
        old_schedule(i, store_now(), "nobody"); /* the new program does not run these */
    }
    old_fire();
    assert_int_equal(ask("SELECT count(*) FROM verge_timer"), SHARDS / 2);
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    assert_int_equal(verge_durable_close(node, VERGE_NEVER), 0);

    /* contract: the old program cannot come back */
    assert_int_equal(verge_durable_contract(url), 0);
    assert_int_equal(ask("SELECT min_version FROM verge_meta"), VERGE_DURABLE_SCHEMA_VERSION);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), scheduled);
    assert_int_equal(ask("SELECT count(DISTINCT id) FROM ledger"), scheduled);
    sql_close(old);
    durable_drop(url);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_old_beside_new)};
    return cmocka_run_group_tests_name("durable_versions", tests, NULL, NULL);
}
