/* SPDX-License-Identifier: MIT */
/* Single statements of a real store, on a connection of the test's own: claims, inserts, attempts, scans. A node is
 * open, because it makes the tables and owns the shards. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "durable/store.h"
#include "durable/support.h"
#include "support/cmocka.h"

static char url[512];
static verge_durable *durable;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("statements"));
    durable = durable_open(url);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
    return 0;
}

/* ---- claims ---- */

static void note_revision(void *context, const verge__row *row) {
    *(uint64_t *)context = row->revision;
}

/* Returns the revision of the claim. */
static uint64_t claim(verge__connection *connection, uint64_t id) {
    const verge__target target = {.id = id,
                                  .epoch = (uint64_t)sql_ask(url, "SELECT epoch FROM verge_shard WHERE shard = 0")};
    const uint64_t run_ns = 60 * S;
    uint64_t revision = 0;
    assert_int_equal(connection->store->begin(connection), 0);
    assert_int_equal(connection->store->claim(connection, &target, 1, &run_ns, note_revision, &revision), 0);
    assert_int_equal(connection->store->commit(connection, 0), 0);
    assert_true(revision != 0);
    return revision;
}

/* The completion of a claim from before the retry does not end a claim that came after it. */
static void test_an_old_claim_ends_no_new_one(void **state) {
    (void)state;
    enum { ID = 1 << 8 };
    bool is_missing;
    const verge__store *store = verge__store_of(url, &is_missing);
    const verge__access access = {.url = url, .lease_ns = 60 * S, .lock_ns = 60 * S};
    verge__connection *connection;
    verge__row row = {.id = ID, .due_ns = 5, .handler = "x", .payload = ""};
    verge__change revived = {.id = ID};
    verge__change change = {.id = ID};
    char text[200] = "";
    assert_int_equal(store->connect(&access, &connection), 0);
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->insert(connection, &row, 1), 0);
    assert_int_equal(store->commit(connection, 0), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_shard WHERE owner = 0") == 0);
    change.revision = claim(connection, ID);
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->cancel(connection, &revived, 1), 0);
    assert_int_equal(store->make_dead(connection, &row, "why"), 0);
    assert_int_equal(store->revive(connection, &revived), 0);
    assert_int_equal(store->commit(connection, 0), 0);
    (void)claim(connection, ID);
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->complete(connection, &change, 1), 0);
    assert_int_equal(store->commit(connection, 0), 0);
    store->disconnect(connection);
    assert_int_equal(change.outcome, -ENOENT);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1);
    assert_int_equal(verge_durable_check(durable, text, sizeof(text)), 0);
}

/* ---- many bytes ---- */

/* The server must answer a statement within the lease. So a statement has few bytes, even if a call has many. */
static void test_many_bytes_are_many_statements(void **state) {
    (void)state;
#if defined(VERGE_HAVE_POSTGRESQL)
    if (durable_is_postgres()) {
        enum { ROWS = 24 };
        static char payload[VERGE_DURABLE_PAYLOAD_MAX];
        const verge__store *store = &verge__postgres_store;
        const verge__access access = {.url = url, .lease_ns = 60 * S, .lock_ns = 60 * S};
        verge__connection *connection;
        verge__row rows[ROWS];
        for (uint64_t i = 0; i < ROWS; i++) {
            rows[i] = (verge__row){.id = (i + 1) << 8,
                                   .due_ns = 5,
                                   .handler = "many",
                                   .payload = payload,
                                   .payload_size = i < 8 ? sizeof(payload) : sizeof(payload) / 4};
        }
        assert_int_equal(store->connect(&access, &connection), 0);
        assert_int_equal(store->begin(connection), 0);
        const uint64_t before = connection->query_count;
        assert_int_equal(store->insert(connection, rows, ROWS), 0);
        const uint64_t queries = connection->query_count - before;
        assert_true(queries >= 8 + 4 && queries <= 8 + 4 + 2); /* up to 2 more prepare statements */
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal(rows[i].outcome, 0);
        }
        assert_int_equal(store->commit(connection, 0), 0);
        store->disconnect(connection);
        assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), ROWS);
        return;
    }
#endif
    skip();
}

/* ---- attempts that are counted before the handler runs ---- */

/* Returns the attempt that is counted now. before: the one that was counted already; 0: none. */
static uint32_t counted(verge__connection *connection, uint64_t id, uint64_t epoch, uint32_t before) {
    const verge__target target = {.id = id, .epoch = epoch};
    uint32_t attempt = before;
    assert_int_equal(connection->store->begin(connection), 0);
    assert_int_equal(connection->store->count_attempt(connection, &target, &attempt), 0);
    assert_int_equal(connection->store->commit(connection, 0), 0);
    return attempt;
}

static void test_an_attempt_is_counted_if_the_timer_is_due(void **state) {
    (void)state;
    enum { DUE = 1 << 8, FAR = 2 << 8, GONE = 3 << 8 };
    bool is_missing;
    const verge__store *store = verge__store_of(url, &is_missing);
    const verge__access access = {.url = url, .lease_ns = 60 * S, .lock_ns = 60 * S};
    verge__connection *connection;
    verge__row rows[] = {{.id = DUE, .due_ns = 5, .handler = "x", .payload = ""},
                         {.id = FAR, .due_ns = VERGE__TIME_MAX_NS, .handler = "x", .payload = ""}};
    assert_int_equal(store->connect(&access, &connection), 0);
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->insert(connection, rows, 2), 0);
    assert_int_equal(store->commit(connection, 0), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_shard WHERE owner = 0") == 0);
    const uint64_t epoch = (uint64_t)sql_ask(url, "SELECT epoch FROM verge_shard WHERE shard = 0");
    assert_int_equal(counted(connection, DUE, epoch, 0), 1);
    assert_int_equal(counted(connection, DUE, epoch, 1), 1);
    assert_int_equal(counted(connection, DUE, epoch + 1, 0), 0);
    assert_int_equal(counted(connection, FAR, epoch, 0), 0);
    assert_int_equal(counted(connection, FAR, epoch, 1), 1);
    assert_int_equal(counted(connection, GONE, epoch, 0), 0);
    if (durable_is_postgres()) {
        void *handle = sql_open(url);
        assert_int_equal(sql_run(handle, "BEGIN; SELECT * FROM verge_timer FOR UPDATE"), 0);
        assert_int_equal(counted(connection, DUE, epoch, 0), 0);
        assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
        sql_close(handle);
    }
    assert_int_equal(counted(connection, DUE, epoch, 3), 2);
    store->disconnect(connection);
    assert_int_equal(sql_ask(url, "SELECT sum(attempt * id) FROM verge_timer"), 2 * DUE);
}

/* ---- a scan whose statement cannot be prepared ---- */

static void count_visit(void *context, const verge__row *row) {
    (void)row;
    ++*(int *)context;
}

/* The shards have changed, and the server refuses what comes before the new statement. The next scan succeeds. */
static void test_a_scan_is_prepared_again(void **state) {
    (void)state;
    bool is_missing;
    const verge__store *store = verge__store_of(url, &is_missing);
    const verge__access access = {.url = url, .lease_ns = 60 * S, .lock_ns = 60 * S};
    const verge__shard shards[] = {{.shard = 0}, {.shard = 1}};
    verge__connection *connection;
    verge__row rows[] = {{.id = 1 << 8, .due_ns = 5, .handler = "x", .payload = ""},
                         {.id = 1 << 8 | 1, .due_ns = 5, .handler = "x", .payload = ""}};
    int visited = 0;
    assert_int_equal(store->connect(&access, &connection), 0);
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->insert(connection, rows, 2), 0);
    assert_int_equal(store->commit(connection, 0), 0);
    assert_int_equal(store->scan(connection, shards, 1, 0, 0, 9, 9, count_visit, &visited), 0);
    assert_int_equal(visited, 1);
    if (durable_is_postgres()) {
        assert_int_equal(sql_run(store->handle(connection), "BEGIN"), 0);
        assert_int_equal(sql_run(store->handle(connection), "SELECT 1 / 0"), -1);
        assert_int_equal(store->scan(connection, shards, 2, 0, 0, 9, 9, count_visit, &visited), -EAGAIN);
        assert_int_equal(sql_run(store->handle(connection), "ROLLBACK"), 0);
    }
    assert_int_equal(store->scan(connection, shards, 2, 0, 0, 9, 9, count_visit, &visited), 0);
    assert_int_equal(visited, 3);
    store->disconnect(connection);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_an_old_claim_ends_no_new_one),
        ON_A_STORE(test_many_bytes_are_many_statements),
        ON_A_STORE(test_an_attempt_is_counted_if_the_timer_is_due),
        ON_A_STORE(test_a_scan_is_prepared_again),
    };
    return cmocka_run_group_tests_name("durable_statements", tests, NULL, NULL);
}
