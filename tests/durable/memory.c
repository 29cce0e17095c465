/* SPDX-License-Identifier: MIT */
/*
 * Allocations fail under a node on a real store, SQLite: first each allocation of the library, one after the other,
 * then random ones of the library and of SQLite. A call that fails has changed nothing, or returns -EREMOTEIO if the
 * outcome is unknown. Each promised timer runs once.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/store.h"
#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

/* ---- the allocator ---- */

/* Counts the library's allocations down until one fails; below 0: none fails. */
static _Atomic(int64_t) fails_at = -1;
static _Atomic(int64_t) sqlite_fails_at = -1; /* the same for SQLite */
static _Atomic(uint32_t) fails_one_in;        /* one in so many allocations fails, at random; 0: none */
static _Atomic(uint64_t) dice;
static _Atomic(uint64_t) failed;
static _Thread_local bool is_exempt; /* allocations of the test itself do not fail */

static bool fails_by_chance(void) {
    const uint32_t one_in = fails_one_in;
    if (one_in == 0 || is_exempt) {
        return false;
    }
    struct verge_test_random random = verge_test_random_from(atomic_fetch_add(&dice, 1));
    const bool fails = verge_test_chance(&random, one_in);
    failed += fails;
    return fails;
}

static bool fails_after(_Atomic(int64_t) *at) {
    if (!is_exempt && *at >= 0 && atomic_fetch_sub(at, 1) == 0) {
        failed++;
        return true;
    }
    return fails_by_chance();
}

static bool fails(void) {
    return fails_after(&fails_at);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_allocate(int size) {
    return fails_after(&sqlite_fails_at) ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_reallocate(void *memory, int size) {
    return fails_after(&sqlite_fails_at) ? NULL : sqlite_memory.xRealloc(memory, size);
}

static int set_up_sqlite(void **state) {
    (void)state;
    sqlite3_mem_methods failing;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory), SQLITE_OK);
    failing = sqlite_memory;
    failing.xMalloc = sqlite_allocate;
    failing.xRealloc = sqlite_reallocate;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK); /* lookaside memory needs no malloc */
    is_exempt = true;
    return 0;
}

/* ---- a life ---- */

enum { TIMERS_MAX = 60 };

static char url[512];
static verge_durable_id promised[TIMERS_MAX];
static uint32_t promised_count;
static verge_durable_id doubtful[TIMERS_MAX]; /* timers whose start returned -EREMOTEIO */
static uint32_t doubtful_count;

static verge_durable_verdict write_row(const verge_durable_firing *firing) {
    char text[100];
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger VALUES (%llu)", (unsigned long long)firing->id);
    verge_durable_retry_after(firing, MS);
    void *transaction = verge_durable_transaction(firing);
    return transaction == NULL || sql_run(transaction, text) != 0 ? VERGE_DURABLE_RETRY : VERGE_DURABLE_DONE;
}

/* Opens a node while allocations may fail. If that fails, opens one while none fails. The node that is returned
 * works. */
static verge_durable *open_it(bool *ret_has_failed) {
    const verge_durable_options options = durable_options(url);
    verge_durable_handler_options handler;
    verge_durable *durable = NULL;
    is_exempt = false;
    const int opened = verge_durable_open(&options, &durable);
    is_exempt = true;
    *ret_has_failed = opened != 0;
    if (opened != 0) {
        if (opened != -ENOMEM && opened != -EREMOTEIO) {
            fail_msg("open: %d", opened);
        }
        assert_null(durable);
        fails_at = -1;
        fails_one_in = 0;
        assert_int_equal(verge_durable_open(&options, &durable), 0);
    }
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.attempts_max = 0; /* the timer is retried for ever */
    assert_int_equal(verge_durable_register(durable, "write", write_row, NULL, &handler), 0);
    return durable;
}

static void schedule_some(verge_durable *durable, int count) {
    for (int i = 0; i < count; i++) {
        const verge_durable_request request = {
            .handler = "write", .delay_ns = (uint64_t)(i % 7) * MS, .payload = "some bytes", .payload_size = 10};
        verge_durable_id id = 0;
        is_exempt = false;
        const int error = verge_durable_start(durable, &request, &id);
        is_exempt = true;
        /* Without memory for its schema, SQLite says that there is no such table. */
        assert_true(error == 0 || error == -ENOMEM || error == -EREMOTEIO || (fails_one_in != 0 && error == -EPROTO));
        assert_true((error == 0 || error == -EREMOTEIO) == (id != 0));
        if (error == 0) {
            promised[promised_count++] = id;
        } else if (error == -EREMOTEIO) {
            doubtful[doubtful_count++] = id;
        }
    }
}

static int64_t runs_of(verge_durable_id id) {
    char text[128];
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM ledger WHERE id = %llu", (unsigned long long)id);
    return sql_ask(url, text);
}

/* Every promised timer has run once, a doubtful one at most once, and no other has. */
static void audit(verge_durable *durable) {
    fails_at = -1;
    fails_one_in = 0;
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    int64_t expected = promised_count;
    for (uint32_t i = 0; i < promised_count; i++) {
        assert_int_equal(runs_of(promised[i]), 1);
    }
    for (uint32_t i = 0; i < doubtful_count; i++) {
        assert_true(runs_of(doubtful[i]) <= 1);
        expected += runs_of(doubtful[i]);
    }
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM ledger"), expected);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_dead"), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_shard WHERE owner <> 0"), 0);
}

static void begin(void) {
    (void)snprintf(url, sizeof(url), "%s", durable_url("memory"));
    promised_count = doubtful_count = 0;
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TABLE ledger (id bigint)"), 0);
    sql_close(handle);
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    bool has_failed = true;
    uint64_t count = 0;
    for (int64_t n = 0; has_failed; n++) {
        bool open_failed;
        begin();
        failed = 0;
        fails_at = n;
        verge_durable *durable = open_it(&open_failed);
        schedule_some(durable, 4);
        WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
        has_failed = failed > 0;
        count += has_failed;
        audit(durable);
        durable_drop(url);
    }
    print_message("%llu allocations\n", (unsigned long long)count);
    assert_true(count > 20);
}

static void any_allocation_fails_by_chance(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(20260105);
    struct verge_test_random random = verge_test_random_from(seed);
    dice = seed;
    for (int round = 0; round < 8; round++) {
        bool open_failed;
        begin();
        failed = 0;
        verge_durable *durable = open_it(&open_failed);
        fails_one_in = 10 + (uint32_t)verge_test_below(&random, 200);
        schedule_some(durable, TIMERS_MAX);
        audit(durable);
        durable_drop(url);
        assert_true(failed > 0);
    }
}

/* ---- SQLite fails at one point of a transaction ---- */

static const verge__store *const store = &verge__sqlite_store;

/* Makes SQLite's allocation number `at` fail. Returns false if the one before, which was to fail, was never made: there
 * are not so many allocations. */
static bool arm(int64_t at) {
    const bool goes_on = at == 0 || failed > 0;
    failed = 0;
    sqlite_fails_at = at;
    is_exempt = false;
    return goes_on;
}

static void disarm(void) {
    is_exempt = true;
    sqlite_fails_at = -1;
}

static int connect_to(const verge__store *to, verge__connection **ret_connection) {
    const verge__access access = {.url = url, .lease_ns = 2 * S, .lock_ns = 2 * S, .create = true};
    return to->connect(&access, ret_connection);
}

static verge__connection *connect_to_tables(void) {
    verge__connection *connection;
    begin();
    assert_int_equal(verge_durable_migrate(url, 4), 0);
    assert_int_equal(connect_to(store, &connection), 0);
    return connection;
}

static void insert(verge__connection *connection, uint64_t id) {
    verge__row row = {.id = id << 8, .due_ns = 1, .handler = "x", .payload = ""};
    assert_int_equal(store->begin(connection), 0);
    assert_int_equal(store->insert(connection, &row, 1), 0);
}

/* Checks that the connection can make another transaction, which contains nothing of the last one. */
static void insert_another(verge__connection *connection, int64_t expected) {
    insert(connection, 2);
    assert_int_equal(store->commit(connection, 1), 0);
    store->disconnect(connection);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), expected + 1);
    durable_drop(url);
}

static void a_commit_tells_what_became_of_it(void **state) {
    (void)state;
    uint32_t refused = 0;
    bool goes_on = true;
    for (int64_t n = 0; goes_on; n++) {
        verge__connection *connection = connect_to_tables();
        insert(connection, 1);
        goes_on = arm(n);
        const int error = store->commit(connection, 1);
        disarm();
        const int64_t rows = sql_ask(url, "SELECT count(*) FROM verge_timer");
        assert_true(error == 0 ? rows == 1 : rows == 0 || error == -EREMOTEIO);
        refused += error != 0;
        insert_another(connection, rows);
    }
    assert_true(refused > 0);
}

static int refuse(void *context) {
    (void)context;
    return 1;
}

/* SQLite rolls back instead of committing, and then no transaction is open, as after a commit. */
static void a_commit_that_was_undone_is_no_commit(void **state) {
    (void)state;
    verge__connection *connection = connect_to_tables();
    insert(connection, 1);
    (void)sqlite3_commit_hook(store->handle(connection), refuse, NULL);
    assert_int_not_equal(store->commit(connection, 1), 0);
    (void)sqlite3_commit_hook(store->handle(connection), NULL, NULL);
    insert_another(connection, 0);
}

/* SQLite may roll back in any statement, if it has no memory. */
static void a_transaction_that_sqlite_has_ended_is_noticed(void **state) {
    (void)state;
    verge__connection *connection = connect_to_tables();
    insert(connection, 1);
    assert_int_equal(sql_run(store->handle(connection), "ROLLBACK"), 0);
    verge__row row = {.id = 3 << 8, .due_ns = 1, .handler = "x", .payload = ""};
    assert_int_equal(store->insert(connection, &row, 1), -EIO); /* it would be committed at once */
    assert_null(store->handle(connection));
    assert_int_equal(store->savepoint(connection), -EIO); /* it would begin a transaction */
    assert_int_equal(store->end_savepoint(connection, false), -EIO);
    assert_int_equal(store->commit(connection, 1), -EREMOTEIO);
    insert_another(connection, 0);
}

/* Begins a statement, and interrupts: all other statements fail until this one is over. */
static sqlite3_stmt *interrupt(sqlite3 *handle) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT shard FROM verge_shard", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_interrupt(handle);
    return statement;
}

static int end_other(unsigned kind, void *other, void *statement, void *time) {
    (void)kind, (void)statement, (void)time;
    (void)sqlite3_reset(other);
    return 0;
}

static void a_rollback_is_tried_again(void **state) {
    (void)state;
    verge__connection *connection = connect_to_tables();
    sqlite3 *handle = store->handle(connection);
    insert(connection, 1);
    sqlite3_stmt *statement = interrupt(handle);
    assert_int_equal(sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, end_other, statement), SQLITE_OK);
    store->rollback(connection); /* after the first try, the other statement is over */
    assert_int_equal(sqlite3_trace_v2(handle, 0, NULL, NULL), SQLITE_OK);
    (void)sqlite3_finalize(statement);
    insert_another(connection, 0);
}

static void a_transaction_that_cannot_be_ended_ends_its_connection(void **state) {
    (void)state;
    verge__connection *connection = connect_to_tables();
    insert(connection, 1);
    sqlite3_stmt *statement = interrupt(store->handle(connection));
    store->rollback(connection);
    (void)sqlite3_finalize(statement);
    assert_int_equal(store->begin(connection), -EHOSTUNREACH);
    store->disconnect(connection);
    assert_int_equal(connect_to(store, &connection), 0);
    insert_another(connection, 0);
}

static void tables_are_made_or_not(void **state) {
    (void)state;
    uint32_t refused = 0;
    bool goes_on = true;
    for (int64_t n = 0; goes_on; n += n < 60 ? 1 : n / 4) { /* the first allocations are for finding the tables */
        verge__connection *connection;
        verge__store_meta meta;
        begin();
        assert_int_equal(connect_to(store, &connection), 0);
        goes_on = arm(n);
        const int error = store->make_tables(connection, 4);
        disarm();
        const int found = store->read_meta(connection, &meta);
        assert_true(error == 0 ? found == 0 : found == -ENOENT || error == -EREMOTEIO);
        refused += error != 0;
        store->disconnect(connection);
        durable_drop(url);
    }
    assert_true(refused > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_tells_what_became_of_it),
        cmocka_unit_test(a_commit_that_was_undone_is_no_commit),
        cmocka_unit_test(a_transaction_that_sqlite_has_ended_is_noticed),
        cmocka_unit_test(a_rollback_is_tried_again),
        cmocka_unit_test(a_transaction_that_cannot_be_ended_ends_its_connection),
        cmocka_unit_test(tables_are_made_or_not),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(any_allocation_fails_by_chance),
    };
    return cmocka_run_group_tests_name("durable_memory", tests, set_up_sqlite, NULL);
}
