/* SPDX-License-Identifier: MIT */
/* Nodes that stand still, have wrong clocks, share and lose shards, and whose handlers kill them. */
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(VERGE_HAVE_SQLITE)
#include <sqlite3.h>
#endif

#include "durable/process.h"
#include "durable/store.h"
#include "durable/support.h"
#include "support/cmocka.h"

static char url[512];
static verge_durable *client;
static void *asker;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("nodes"));
    (void)nodes_begin(url);
    asker = sql_open(url);
    verge_durable_options options = durable_options(url);
    options.client = true;
    assert_int_equal(verge_durable_open(&options, &client), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    sql_close(asker);
    nodes_end();
    durable_drop(url);
    return 0;
}

static verge_durable_id schedule(const char *handler, uint64_t delay_ns) {
    const verge_durable_request request = {.handler = handler, .delay_ns = delay_ns};
    verge_durable_id id = 0;
    assert_int_equal(verge_durable_start(client, &request, &id), 0);
    return id;
}

static int64_t ask(const char *text) {
    return sql_number(asker, text);
}

/* Timers that a client starts are fired by nodes. */
static void test_a_client_schedules(void **state) {
    (void)state;
    const pid_t node = node_start(url, 0, NULL, 0);
    for (int i = 0; i < 50; i++) {
        (void)schedule("ledger", (uint64_t)i * 2 * MS);
    }
    WAIT_UNTIL(ask("SELECT count(*) FROM ledger") == 50);
    node_close(node);
    nodes_audit(url);
}

static void test_shards_are_shared(void **state) {
    (void)state;
    pid_t nodes[3];
    for (int i = 0; i < 3; i++) {
        nodes[i] = node_start(url, 20, NULL, 0);
    }
    /* of 16 shards, two nodes have 6 at most, and the third has the rest */
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_shard WHERE owner = 0") == 0 &&
               ask("SELECT count(DISTINCT owner) FROM verge_shard") == 3 &&
               ask("SELECT max(n) FROM (SELECT count(*) AS n FROM verge_shard GROUP BY owner) s") == 6);
    node_close(nodes[0]);
    WAIT_UNTIL(ask("SELECT count(DISTINCT owner) FROM verge_shard") == 2 &&
               ask("SELECT count(*) FROM verge_shard WHERE owner = 0") == 0);
    node_kill(nodes[1]);
    WAIT_UNTIL(ask("SELECT count(DISTINCT owner) FROM verge_shard") == 1);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 0);
    node_close(nodes[2]);
    nodes_audit(url);
}

/* The clocks of four nodes are ten minutes apart from each other. SQLite has no clock but that of the process, so a
 * node that is ten minutes behind would fire later: with SQLite, all four have the same clock. */
static void test_clocks_apart(void **state) {
    (void)state;
    static const char *const offsets[] = {"-600", "0", "600", "1200"};
    pid_t nodes[4];
    for (int i = 0; i < 4; i++) {
        struct node_setting setting = {.name = "VERGE_TEST_CLOCK_OFFSET_S"};
        (void)snprintf(setting.value, sizeof(setting.value), "%s", durable_is_postgres() ? offsets[i] : "0");
        nodes[i] = node_start(url, 40, &setting, 1);
    }
    WAIT_UNTIL(noted("promised") >= 4 * 35 && ask("SELECT count(*) FROM verge_timer") == 0);
    for (int i = 0; i < 4; i++) {
        node_close(nodes[i]);
    }
    nodes_audit(url);
}

/* Stops a process. With SQLite, not in the middle of a transaction: the stopped process would lock the file. */
static void stop(pid_t pid) {
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, durable_is_postgres() ? "SELECT 1" : "PRAGMA busy_timeout = 0"), 0);
    bool is_free = false;
    while (!is_free) {
        int status;
        (void)kill(pid, SIGSTOP);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        is_free = durable_is_postgres() || sql_run(handle, "BEGIN IMMEDIATE; ROLLBACK") == 0;
        if (!is_free) {
            (void)kill(pid, SIGCONT);
            durable_nap(3);
        }
    }
    sql_close(handle);
}

/* D4: a node stands still for longer than its lease, and then goes on as if nothing had happened. */
static void test_stopped_beyond_the_lease(void **state) {
    (void)state;
    const pid_t stopped = node_start(url, 30, NULL, 0);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_shard WHERE owner <> 0") == 16);
    WAIT_UNTIL(noted("promised") >= 25 && ask("SELECT count(*) FROM verge_timer") == 0);
    for (int i = 0; i < 40; i++) {
        (void)schedule("ledger", 300 * MS);
    }
    stop(stopped);
    const pid_t other = node_start(url, 10, NULL, 0);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 0);
    (void)kill(stopped, SIGCONT);
    for (int i = 0; i < 40; i++) {
        (void)schedule("ledger", (uint64_t)i * MS);
    }
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 0);
    node_close(stopped);
    node_close(other);
    nodes_audit(url);
}

/* PostgreSQL ends a transaction that stands still, and what it had written is undone: another node fires the timer. */
static void test_stopped_in_a_transaction(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip();
    }
    const pid_t stopped = node_start(url, 0, NULL, 0);
    const verge_durable_id id = schedule("stopper", 0);
    WAIT_UNTIL(noted("stopped") == 1);
    const pid_t other = node_start(url, 0, NULL, 0);
    /* The row of the other node: the stopped one has not committed its row. */
    WAIT_UNTIL(ask("SELECT count(*) FROM ledger") == 1);
    (void)kill(stopped, SIGCONT);
    for (int i = 0; i < 20; i++) {
        (void)schedule("ledger", (uint64_t)i * MS);
    }
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 0);
    node_close(stopped);
    node_close(other);
    nodes_audit(url);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), 21);
    assert_int_equal(verge_durable_cancel(client, id), -ENOENT);
}

/* A handler kills its process each time. Its timer is dead after its attempts, and the other timers are done. */
static void test_a_handler_kills_its_process(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) {
        (void)schedule("ledger", 0);
    }
    const verge_durable_id id = schedule("killer", 0);
    for (int i = 0; i < 40; i++) {
        (void)schedule("ledger", 0);
    }
    verge_durable_info info = {0};
    int deaths = 0;
    while (verge_durable_get(client, id, &info, NULL, 0) != 0 || info.died_ns == 0) {
        int status;
        const pid_t node = node_start(url, 0, NULL, 0);
        while (waitpid(node, &status, WNOHANG) == 0) {
            if (verge_durable_get(client, id, &info, NULL, 0) == 0 && info.died_ns != 0) {
                node_kill(node);
                break;
            }
            durable_nap(5);
        }
        /* The first death undoes the batches that were open. After that, batches have 1, 2, 4 and 8 timers. So before
         * each further death, at least half of the timers before the killer are done. At last its four attempts are
         * counted. */
        assert_true(++deaths <= 16);
    }
    (void)printf("%d deaths, %u attempts\n", deaths, (unsigned)info.attempt);
    assert_string_equal(info.reason, "its process ended in each attempt");
    assert_int_equal(info.attempt, 4); /* the fifth was counted, and not begun */
    nodes_drain(url);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), 80);
    assert_int_equal(ask("SELECT count(*) FROM verge_dead"), 1);
}

/* Takes free shards, and checks what the store says of them. */
static uint32_t acquire(verge__connection *connection, uint64_t node, uint32_t count, bool was_careful,
                        verge__cluster *ret_acquired) {
    assert_int_equal(connection->store->acquire(connection, node, count, ret_acquired), 0);
    for (uint32_t i = 0; i < ret_acquired->owned_count; i++) {
        assert_true(ret_acquired->owned[i].was_clean);
        assert_int_equal(ret_acquired->owned[i].was_careful, was_careful);
    }
    return ret_acquired->owned_count;
}

/* A node that is careful gives shards back, some of them or all. The next owner is told. */
static void test_care_goes_with_the_shards(void **state) {
    (void)state;
    bool is_missing;
    verge__cluster shards;
    const verge__store *store = verge__store_of(url, &is_missing);
    const verge__access access = {.url = url, .lease_ns = 60 * S, .lock_ns = 60 * S};
    verge__connection *connection;
    assert_int_equal(store->connect(&access, &connection), 0);
    for (uint64_t node = 1; node <= 3; node++) {
        assert_int_equal(store->join(connection, "", 600 * S, node), 0);
    }
    assert_int_equal(acquire(connection, 1, 99, false, &shards), 16);
    assert_int_equal(store->release(connection, 1, shards.owned, 4, true), 0);
    assert_int_equal(acquire(connection, 2, 99, true, &shards), 4);
    assert_int_equal(store->release(connection, 2, shards.owned, 2, false), 0);
    assert_int_equal(acquire(connection, 3, 99, false, &shards), 2);
    assert_int_equal(store->leave(connection, 1, true), 0);
    assert_int_equal(acquire(connection, 3, 99, true, &shards), 12);
    assert_int_equal(store->leave(connection, 2, false), 0);
    assert_int_equal(acquire(connection, 3, 99, false, &shards), 2);
    store->disconnect(connection);
}

/* ---- a full disk ---- */

static _Atomic(bool) is_full;

#if defined(VERGE_HAVE_SQLITE)
static ssize_t pwrite_or_full(int fd, const void *bytes, size_t size, off_t offset) {
    if (is_full) {
        errno = ENOSPC;
        return -1;
    }
    return pwrite(fd, bytes, size, offset);
}
#endif

/* With SQLite, writes of this process fail. With PostgreSQL, the server returns an error for each row that is new or
 * changed. */
static void set_full(bool full) {
    static const char *const tables[] = {"ledger", "verge_timer", "verge_mark", "verge_node", "verge_shard"};
    is_full = full;
    if (durable_is_postgres() && full) {
        assert_int_equal(sql_run(asker, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
                                        "EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"),
                         0);
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
            char text[200];
            (void)snprintf(text, sizeof(text),
                           "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION refuse()",
                           tables[i]);
            assert_int_equal(sql_run(asker, text), 0);
        }
    } else if (durable_is_postgres()) {
        /* The ledger accepts rows again first, so that no attempt is lost. */
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
            char text[200];
            (void)snprintf(text, sizeof(text), "DROP TRIGGER refuse ON %s", tables[i]);
            assert_int_equal(sql_run(asker, text), 0);
        }
    }
}

static void set_writes(bool may_fail) {
#if defined(VERGE_HAVE_SQLITE)
    static const char *const calls[] = {"pwrite", "pwrite64"};
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    for (int i = 0; i < 2; i++) {
        const sqlite3_syscall_ptr call = may_fail ? (sqlite3_syscall_ptr)pwrite_or_full : NULL;
        assert_int_equal(vfs->xSetSystemCall(vfs, calls[i], call), SQLITE_OK);
    }
#else
    (void)may_fail;
#endif
}

static _Atomic(int) tries;

static verge_durable_verdict write_row(const verge_durable_firing *firing) {
    char text[100];
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger VALUES (%llu, 1, 1)", (unsigned long long)firing->id);
    const bool is_written = sql_run(verge_durable_transaction(firing), text) == 0;
    tries++;
    verge_durable_retry_after(firing, MS);
    return is_written ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

/* Calls return an error, and nothing is lost. Timers that are due in the meantime run when there is room again. */
static void test_disk_full(void **state) {
    (void)state;
    set_writes(true);
    const verge_durable_id id = schedule("other", 3600 * S);
    const verge_durable_request request = {.handler = "other", .delay_ns = 3600 * S};
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.attempts_max = 2; /* an attempt that could not be written down does not count */
    verge_durable *node = durable_open(url);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_shard WHERE owner <> 0") == 16);
    (void)schedule("write", 0); /* the timer waits until its handler is registered */
    set_full(true);
    assert_int_equal(verge_durable_register(node, "write", write_row, NULL, &options), 0);
    assert_int_equal(verge_durable_start(client, &request, NULL), -ENOSPC);
    assert_int_equal(verge_durable_cancel(client, id), -ENOSPC);
    assert_int_equal(verge_durable_reset(client, id, verge_durable_now(client)), -ENOSPC);
    WAIT_UNTIL(tries >= 5);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), 0);
    assert_int_equal(ask("SELECT count(*) FROM verge_timer"), 2);
    set_full(false);
    WAIT_UNTIL(ask("SELECT count(*) FROM verge_timer") == 1);
    assert_int_equal(verge_durable_start(client, &request, NULL), 0);
    assert_int_equal(verge_durable_cancel(client, id), 0);
    assert_int_equal(ask("SELECT count(*) FROM verge_timer"), 1);
    assert_int_equal(ask("SELECT count(*) FROM ledger"), 1);
    assert_int_equal(ask("SELECT count(*) FROM verge_dead"), 0);
    assert_int_equal(verge_durable_close(node, VERGE_NEVER), 0);
    set_writes(false);
}

#define WITH_NODES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_NODES(test_a_client_schedules),
        WITH_NODES(test_shards_are_shared),
        WITH_NODES(test_clocks_apart),
        WITH_NODES(test_stopped_beyond_the_lease),
        WITH_NODES(test_stopped_in_a_transaction),
        WITH_NODES(test_a_handler_kills_its_process),
        WITH_NODES(test_care_goes_with_the_shards),
        WITH_NODES(test_disk_full),
    };
    return cmocka_run_group_tests_name("durable_nodes", tests, NULL, NULL);
}
