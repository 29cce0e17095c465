/* SPDX-License-Identifier: MIT */
/*
 * Two PostgreSQL servers: an asynchronous standby is promoted that lacks the last commits of the primary. Among these
 * commits are the ones that gave living clients and nodes their numbers. Timers that are started after that are kept.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable/support.h"
#include "support/cmocka.h"

enum { EACH = 200, HANDLED = 100 };

struct server {
    char file[40];
    char folder[128];
};

static struct server primary;
static struct server standby;
static char primary_url[512];
static char standby_url[512];
static char both_url[700]; /* names both servers: libpq takes the one that can be written to */

static void run_script(const char *action, const struct server *server, const char *rest) {
    char command[1200];
    (void)snprintf(command, sizeof(command), "sh '%s' %s '%s' '%s' %s", getenv("VERGE_DURABLE_SCRIPT"), action,
                   getenv("VERGE_DURABLE_BIN"), server->file, rest);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void start(struct server *server, const char *action, const char *rest) {
    *server = (struct server){.file = "/tmp/verge-server.XXXXXX"};
    (void)close(mkstemp(server->file));
    run_script(action, server, rest);
    FILE *stream = fopen(server->file, "r");
    assert_non_null(stream);
    assert_non_null(fgets(server->folder, sizeof(server->folder), stream));
    (void)fclose(stream);
}

/* Starts a primary with tables, and a standby that has copied them and is then cut off. */
static int set_up(void **state) {
    (void)state;
    char rest[64];
    start(&primary, "start", "");
    (void)setenv("VERGE_DURABLE_SERVER", primary.file, 1);
    (void)snprintf(primary_url, sizeof(primary_url), "%s", durable_url("failover"));
    assert_int_equal(verge_durable_migrate(primary_url, 16), 0);
    void *handle = sql_open(primary_url);
    assert_int_equal(sql_run(handle, "CREATE TABLE ledger (id bigint, payload text)"), 0);
    sql_close(handle);
    (void)snprintf(rest, sizeof(rest), "'%s'", primary.file);
    start(&standby, "standby", rest);
    const int before_host = (int)(strstr(primary_url, "host=") + 5 - primary_url);
    (void)snprintf(standby_url, sizeof(standby_url), "%.*s%s", before_host, primary_url, standby.folder);
    (void)snprintf(both_url, sizeof(both_url), "%s,%s&target_session_attrs=read-write", primary_url, standby.folder);
    handle = sql_open(standby_url);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM pg_class WHERE relname = 'ledger'") == 1);
    assert_int_equal(sql_run(handle, "ALTER SYSTEM SET primary_conninfo = ''"), 0);
    assert_int_equal(sql_run(handle, "SELECT pg_reload_conf()"), 0);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM pg_stat_wal_receiver") == 0);
    sql_close(handle);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    run_script("stop", &primary, "");
    run_script("stop", &standby, "");
    (void)unlink(primary.file);
    (void)unlink(standby.file);
    return 0;
}

static void fail_over(void) {
    run_script("halt", &primary, "");
    run_script("promote", &standby, "");
}

static verge_durable *open_node(const char *url, bool is_client) {
    verge_durable_options options = durable_options(url);
    verge_durable *durable = NULL;
    options.client = is_client;
    options.create = false;
    options.patience_ns = 60 * S;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    return durable;
}

/* Starts timers with and without keys, in turn. Each has its own payload. delay_ns 0: they are due far ahead. */
static void schedule_some(verge_durable *durable, const char *name, uint64_t delay_ns, int count) {
    const uint64_t far_ns = UINT64_C(4102444800) * S; /* the time decides on the shard: all are in the same one */
    for (int i = 0; i < count; i++) {
        char payload[32];
        const int size = snprintf(payload, sizeof(payload), "%s%d", name, i);
        const verge_durable_request request = {
            .handler = "ledger",
            .due_ns = delay_ns == 0 ? far_ns : 0,
            .delay_ns = delay_ns,
            .key = i % 2 == 0 ? payload : NULL,
            .payload = payload,
            .payload_size = (size_t)size,
        };
        assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    }
}

/* A client lives on after the failover, and another client is given the same number. */
static void test_clients(void **state) {
    (void)state;
    verge_durable *old = open_node(both_url, true);
    schedule_some(old, "lost", 0, 3); /* makes the client take its number */
    fail_over();
    verge_durable *new = open_node(both_url, true);
    schedule_some(new, "new", 0, EACH);
    schedule_some(old, "old", 0, EACH);
    assert_int_equal(sql_ask(standby_url, "SELECT count(DISTINCT payload) FROM verge_timer"), 2 * EACH);
    assert_int_equal(verge_durable_close(new, VERGE_NEVER), 0);
    assert_int_equal(verge_durable_close(old, VERGE_NEVER), 0);
}

static verge_durable_verdict write_ledger(const verge_durable_firing *firing) {
    char text[200];
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger VALUES (%llu, '%.*s')", (unsigned long long)firing->id,
                   (int)firing->payload_size, (const char *)firing->payload);
    return sql_run(verge_durable_transaction(firing), text) == 0 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

/* A node lives on after the failover, and others join: they share the shards, and each timer runs once. */
static void test_nodes(void **state) {
    (void)state;
    verge_durable *nodes[3];
    nodes[0] = open_node(both_url, false);
    assert_int_equal(verge_durable_register(nodes[0], "ledger", write_ledger, NULL, NULL), 0);
    WAIT_UNTIL(sql_ask(primary_url, "SELECT count(*) FROM verge_shard WHERE owner <> 0") == 16);
    fail_over();
    for (int i = 1; i < 3; i++) {
        nodes[i] = open_node(both_url, false);
        assert_int_equal(verge_durable_register(nodes[i], "ledger", write_ledger, NULL, NULL), 0);
    }
    WAIT_UNTIL(sql_ask(standby_url, "SELECT count(DISTINCT owner) FROM verge_shard WHERE owner <> 0") == 3);
    for (int i = 0; i < 3; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "n%d-", i);
        schedule_some(nodes[i], name, 10 * MS, HANDLED);
    }
    WAIT_UNTIL(sql_ask(standby_url, "SELECT count(*) FROM ledger") >= INT64_C(3) * HANDLED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(verge_durable_close(nodes[i], VERGE_NEVER), 0);
    }
    assert_int_equal(sql_ask(standby_url, "SELECT count(*) FROM ledger"), 3 * HANDLED);
    assert_int_equal(sql_ask(standby_url, "SELECT count(DISTINCT payload) FROM ledger"), 3 * HANDLED);
    assert_int_equal(sql_ask(standby_url, "SELECT count(DISTINCT id) FROM ledger"), 3 * HANDLED);
    assert_int_equal(sql_ask(standby_url, "SELECT count(*) FROM verge_timer"), 0);
}

/* As test_clients, without a failover: somebody restores an old state of the tables, and connections live on. */
static void test_restored_tables(void **state) {
    (void)state;
    verge_durable *old = open_node(primary_url, true);
    schedule_some(old, "lost", 0, 3);
    void *handle = sql_open(primary_url);
    assert_int_equal(sql_run(handle, "BEGIN; DELETE FROM verge_timer; DELETE FROM verge_mark; UPDATE verge_meta SET "
                                     "incarnation = 0; COMMIT"),
                     0);
    verge_durable *new = open_node(primary_url, true);
    schedule_some(new, "new", 0, EACH);
    schedule_some(old, "old", 0, EACH);
    assert_int_equal(sql_number(handle, "SELECT count(DISTINCT payload) FROM verge_timer"), 2 * EACH);
    sql_close(handle);
    assert_int_equal(verge_durable_close(new, VERGE_NEVER), 0);
    assert_int_equal(verge_durable_close(old, VERGE_NEVER), 0);
}

/* Somebody cancels timers that a failover has lost. The client that started them is dead, and another client has its
 * number: none of the other client's timers may be cancelled. */
static void test_lost_timers(void **state) {
    (void)state;
    enum { LOST = 20 };
    uint64_t lost[LOST];
    verge_durable_request request = {.handler = "ledger", .due_ns = UINT64_C(4102444800) * S, .payload = ""};
    verge_durable *old = open_node(both_url, true);
    for (int i = 0; i < LOST; i++) {
        assert_int_equal(verge_durable_start(old, &request, &lost[i]), 0);
    }
    fail_over();
    assert_int_equal(verge_durable_close(old, VERGE_NEVER), 0);
    verge_durable *new = open_node(both_url, true);
    schedule_some(new, "new", 0, EACH);
    for (int i = 0; i < LOST; i++) {
        assert_int_equal(verge_durable_cancel(new, lost[i]), -ENOENT);
    }
    assert_int_equal(sql_ask(standby_url, "SELECT count(*) FROM verge_timer"), EACH);
    assert_int_equal(verge_durable_close(new, VERGE_NEVER), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lost_timers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restored_tables, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("durable_failover", tests, NULL, NULL);
}
