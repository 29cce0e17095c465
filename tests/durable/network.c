/* SPDX-License-Identifier: MIT */
/* PostgreSQL behind a bad network, and a server that is stopped under load. The node is in this process. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable/proxy.h"
#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

enum { PROMISED_MAX = 20000 };

static verge_durable *durable;
static verge_durable_id promised[PROMISED_MAX]; /* timers whose start returned 0 */
static _Atomic(int) promised_count;
/* Started again after -EREMOTEIO; those that had run by then run twice (D7). */
static verge_durable_id repeated[PROMISED_MAX];
static _Atomic(int) repeated_count;
static _Atomic(int) refused;
static _Atomic(int) is_over;

static verge_durable_verdict ledger(const verge_durable_firing *firing) {
    char text[200];
    (void)snprintf(
        text, sizeof(text),
        "INSERT INTO ledger VALUES (%llu, %llu, (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint)",
        (unsigned long long)firing->id, (unsigned long long)firing->due_ns);
    return sql_run(verge_durable_transaction(firing), text) == 0 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

static void *schedule_all_the_time(void *argument) {
    (void)argument;
    for (int i = 0; !is_over && promised_count < PROMISED_MAX - 8; i++) {
        const verge_durable_request request = {.handler = "ledger", .delay_ns = (uint64_t)(i % 7) * 10 * MS};
        verge_durable_id id = 0;
        int error = verge_durable_start(durable, &request, &id);
        while (error == -EREMOTEIO && repeated_count < PROMISED_MAX - 8) { /* D7: repeat with the same id */
            verge_durable_request again = request;
            again.id = id;
            repeated[repeated_count++] = id;
            error = verge_durable_start(durable, &again, &id);
        }
        if (error == 0) {
            promised[promised_count++] = id;
        } else {
            refused++;
        }
        durable_nap(1);
    }
    return NULL;
}

static void put_into(void *handle, const char *table, const verge_durable_id *ids, int count) {
    char text[96];
    (void)snprintf(text, sizeof(text), "CREATE TEMPORARY TABLE %s (id bigint)", table);
    assert_int_equal(sql_run(handle, text), 0);
    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "INSERT INTO %s VALUES (%llu)", table, (unsigned long long)ids[i]);
        assert_int_equal(sql_run(handle, text), 0);
    }
}

static void audit(const char *url) {
    void *handle = sql_open(url);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(sql_run(handle, "BEGIN"), 0);
    put_into(handle, "noted", promised, promised_count);
    put_into(handle, "repeated", repeated, repeated_count);
    assert_int_equal(sql_number(handle, "SELECT count(*) - count(DISTINCT id) FROM ledger WHERE id NOT IN (SELECT id "
                                        "FROM repeated)"),
                     0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM ledger WHERE at < due"), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM noted WHERE id NOT IN (SELECT id FROM ledger)"), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM verge_dead"), 0);
    assert_int_equal(sql_run(handle, "COMMIT"), 0);
    sql_close(handle);
}

static void begin(const char *url, uint64_t lease_ns) {
    verge_durable_options options = durable_options(url);
    verge_durable_handler_options handler;
    promised_count = repeated_count = refused = is_over = 0;
    options.lease_ns = lease_ns;
    options.patience_ns = 600 * S;
    options.rescan_ns = 200 * MS;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.attempts_max = 0;
    handler.backoff_first_ns = handler.backoff_max_ns = 10 * MS;
    assert_int_equal(verge_durable_register(durable, "ledger", ledger, NULL, &handler), 0);
}

static void make_ledger(const char *url) {
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TABLE ledger (id bigint, due bigint, at bigint)"), 0);
    sql_close(handle);
}

/* ---- a bad network ---- */

static void test_bad_network(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(20260102);
    char url[512];
    char server[256];
    char folder[] = "/tmp/verge-proxy.XXXXXX";
    (void)snprintf(url, sizeof(url), "%s", durable_url("network"));
    (void)snprintf(server, sizeof(server), "%s", strstr(url, "host=") + 5);
    make_ledger(url);
    assert_non_null(mkdtemp(folder));
    struct proxy *proxy = proxy_start(folder, server, seed);
    char through[512];
    (void)snprintf(through, sizeof(through), "%.*s%s", (int)(strstr(url, "host=") + 5 - url), url, folder);
    begin(through, S);
    proxy_set_bad(proxy, 1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, schedule_all_the_time, NULL), 0);
    }
    durable_nap((unsigned)(verge_test_seconds(6) * 1000));
    is_over = 1;
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    proxy_set_bad(proxy, 0);
    print_message("%d promised, %d repeated, %d refused, %llu cuts\n", promised_count, repeated_count, refused,
                  (unsigned long long)proxy_cuts(proxy));
    assert_true(promised_count > 0);
    assert_true(proxy_cuts(proxy) > 0);
    audit(url);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    proxy_stop(proxy);
    (void)rmdir(folder);
}

/* ---- a server that is stopped ---- */

struct server {
    char file[32];
    char url[512];
};

static void run_script(const char *action, const struct server *server, const char *rest) {
    char command[1200];
    (void)snprintf(command, sizeof(command), "sh '%s' %s '%s' '%s' %s", getenv("VERGE_DURABLE_SCRIPT"), action,
                   getenv("VERGE_DURABLE_BIN"), server->file, rest);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void start_server(struct server *server, const char *name, const char *options) {
    *server = (struct server){.file = "/tmp/verge-server.XXXXXX"};
    (void)close(mkstemp(server->file));
    run_script("start", server, options);
    (void)setenv("VERGE_DURABLE_SERVER", server->file, 1);
    (void)snprintf(server->url, sizeof(server->url), "%s", durable_url(name));
}

static void stop_server(const struct server *server) {
    run_script("stop", server, "");
    (void)unlink(server->file);
}

static void test_server_stops(void **state) {
    (void)state;
    struct server server;
    start_server(&server, "stops", "");
    make_ledger(server.url);
    begin(server.url, 60 * S); /* a server may take long to start again */
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, schedule_all_the_time, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        const int before = promised_count;
        WAIT_UNTIL(promised_count > before + 50);
        run_script("restart", &server, i % 2 == 0 ? "fast" : "immediate");
    }
    is_over = 1;
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    print_message("%d promised, %d repeated, %d refused\n", promised_count, repeated_count, refused);
    assert_int_equal(refused, 0); /* the patience was long enough */
    audit(server.url);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    stop_server(&server);
}

/* ---- a COMMIT whose answer does not come ---- */

static verge_durable_id lost_id;

static void *schedule_one(void *argument) {
    const verge_durable_request request = {.handler = "ledger", .delay_ns = 3600 * S};
    *(int *)argument = verge_durable_start(durable, &request, &lost_id);
    return NULL;
}

/* Uses up transaction numbers. A number that was not written before a crash is given to another transaction later. */
static void burn_transactions(const char *url) {
    void *handle = sql_open(url);
    for (int i = 0; i < 500; i++) {
        assert_true(sql_number(handle, "SELECT pg_current_xact_id()::text::bigint") > 0);
    }
    sql_close(handle);
}

static struct proxy *start_proxy(const struct server *server, char *folder, char *through, size_t size) {
    assert_non_null(mkdtemp(folder));
    const char *host = strstr(server->url, "host=") + 5;
    (void)snprintf(through, size, "%.*s%s", (int)(host - server->url), server->url, folder);
    return proxy_start(folder, host, 1);
}

/* The result of the start is true: its timer exists once. crashes: the server loses what it has not written, and other
 * clients use the server before the writer can connect again. */
static void lose_commit(bool arrives, bool crashes) {
    struct server server;
    start_server(&server, "lost",
                 "-c wal_writer_delay=10s -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off");
    char folder[] = "/tmp/verge-proxy.XXXXXX";
    char through[512];
    struct proxy *proxy = start_proxy(&server, folder, through, sizeof(through));
    verge_durable_options options = durable_options(through);
    options.client = true; /* no node commits meanwhile: that would write the lost commit, too */
    options.lease_ns = arrives || crashes ? 60 * S : 5 * S; /* after 5 s, the server gives up the hanging transaction */
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    proxy_lose_commit(proxy, arrives);
    pthread_t thread;
    int result = -1;
    assert_int_equal(pthread_create(&thread, NULL, schedule_one, &result), 0);
    WAIT_UNTIL(proxy_is_shut(proxy));
    if (crashes) {
        run_script("restart", &server, "immediate");
        burn_transactions(server.url);
    }
    proxy_let_through(proxy);
    (void)pthread_join(thread, NULL);
    assert_int_equal(result, 0);
    char text[96];
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM verge_timer WHERE id = %llu", (unsigned long long)lost_id);
    assert_int_equal(sql_ask(server.url, text), 1);
    assert_int_equal(sql_ask(server.url, "SELECT count(*) FROM verge_timer"), 1);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    proxy_stop(proxy);
    (void)rmdir(folder);
    stop_server(&server);
}

/* ---- a task that is cancelled while its commit hangs ---- */

static verge_task *hanging;
static bool has_returned;
static struct proxy *hanging_proxy;

static intptr_t hang(void *argument) {
    (void)argument;
    int result = -1;
    (void)schedule_one(&result);
    has_returned = true;
    return result;
}

/* This task and `hang` have the same worker. If `hang` blocked it, these sleeps would end after `hang` has returned. */
static intptr_t watch_it_hang(void *argument) {
    intptr_t result = -1;
    (void)argument;
    if (verge_spawn(hang, NULL, &hanging) != 0) {
        return -1;
    }
    while (!proxy_is_shut(hanging_proxy)) {
        (void)verge_sleep(MS);
    }
    (void)verge_task_cancel(hanging);
    for (int i = 0; i < 100; i++) {
        (void)verge_sleep(MS);
    }
    const bool was_blocked = has_returned;
    proxy_let_through(hanging_proxy);
    if (verge_task_join(hanging, &result, VERGE_NEVER) != 0) {
        return -3;
    }
    return was_blocked ? -2 : result;
}

static void test_cancelled_task_blocks_nobody(void **state) {
    (void)state;
    struct server server;
    start_server(&server, "cancelled", "-c autovacuum=off");
    char folder[] = "/tmp/verge-proxy.XXXXXX";
    char through[512];
    hanging_proxy = start_proxy(&server, folder, through, sizeof(through));
    verge_durable_options options = durable_options(through);
    options.client = true;
    options.lease_ns = 600 * S; /* the writer asks for so long whether its commit has arrived */
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    verge_runtime_options runtime_options;
    (void)verge_runtime_options_init(&runtime_options, sizeof(runtime_options));
    runtime_options.worker_count = 1;
    verge_runtime *runtime;
    assert_int_equal(verge_runtime_create(&runtime_options, &runtime), 0);
    proxy_lose_commit(hanging_proxy, true);
    intptr_t result = -1;
    assert_int_equal(verge_runtime_run(runtime, watch_it_hang, NULL, &result), 0);
    assert_int_equal(result, 0); /* the commit had arrived */
    assert_int_equal(sql_ask(server.url, "SELECT count(*) FROM verge_timer"), 1);
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    proxy_stop(hanging_proxy);
    (void)rmdir(folder);
    stop_server(&server);
}

static void test_commit_is_lost(void **state) {
    (void)state;
    lose_commit(false, false);
}

static void test_answer_is_lost(void **state) {
    (void)state;
    lose_commit(true, false);
}

static void test_commit_is_lost_in_a_crash(void **state) {
    (void)state;
    lose_commit(false, true);
}

static void test_answer_is_lost_in_a_crash(void **state) {
    (void)state;
    lose_commit(true, true);
}

static _Atomic(uint32_t) outside_attempt;

static verge_durable_verdict outside(const verge_durable_firing *firing) {
    outside_attempt = firing->attempt;
    return VERGE_DURABLE_DONE;
}

/* The claim of a handler that may run only once is committed, but not answered. The handler runs all the same. */
static void test_answer_to_claim_is_lost(void **state) {
    (void)state;
    struct server server;
    start_server(&server, "claim", "");
    char folder[] = "/tmp/verge-proxy.XXXXXX";
    char through[512];
    struct proxy *proxy = start_proxy(&server, folder, through, sizeof(through));
    const verge_durable_options options = durable_options(through);
    verge_durable_handler_options handler;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.outside = true;
    handler.attempts_max = 1;
    outside_attempt = 0;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_register(durable, "outside", outside, NULL, &handler), 0);
    const verge_durable_request request = {.handler = "outside", .delay_ns = S};
    verge_durable_id id;
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    proxy_lose_commit(proxy, true);
    WAIT_UNTIL(proxy_is_shut(proxy));
    proxy_let_through(proxy);
    WAIT_UNTIL(outside_attempt != 0);
    assert_int_equal(outside_attempt, 1);
    WAIT_UNTIL(sql_ask(server.url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(sql_ask(server.url, "SELECT count(*) FROM verge_dead"), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    proxy_stop(proxy);
    (void)rmdir(folder);
    stop_server(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_network),
        cmocka_unit_test(test_server_stops),
        cmocka_unit_test(test_cancelled_task_blocks_nobody),
        cmocka_unit_test(test_commit_is_lost),
        cmocka_unit_test(test_answer_is_lost),
        cmocka_unit_test(test_commit_is_lost_in_a_crash),
        cmocka_unit_test(test_answer_is_lost_in_a_crash),
        cmocka_unit_test(test_answer_to_claim_is_lost),
    };
    return cmocka_run_group_tests_name("durable_network", tests, NULL, NULL);
}
