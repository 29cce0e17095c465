/* SPDX-License-Identifier: MIT */
/* Keys: what is pending under a key is refused, replaced, moved, cancelled and reset; and who holds a key elsewhere. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/store.h"
#include "durable/support.h"
#include "support/cmocka.h"

static char url[512];
static verge_durable *durable;
static _Atomic(int) runs;
static _Atomic(int) refused;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("keys"));
    durable = durable_open(url);
    runs = refused = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
    return 0;
}

static verge_durable_verdict count(const verge_durable_firing *firing) {
    (void)firing;
    runs++;
    return VERGE_DURABLE_DONE;
}

static verge_durable_id schedule(const char *key, const char *payload, uint64_t delay_ns, verge_durable_conflict what) {
    const verge_durable_request request = {
        .handler = "count",
        .key = key,
        .delay_ns = delay_ns,
        .payload = payload,
        .payload_size = strlen(payload),
        .on_conflict = what,
    };
    verge_durable_id id = 0;
    assert_int_equal(verge_durable_schedule(durable, &request, &id), 0);
    return id;
}

static void look(verge_durable_id id, uint64_t *ret_due_ns, char *payload, size_t size) {
    verge_durable_info info;
    memset(payload, 0, size);
    assert_int_equal(verge_durable_get(durable, id, &info, payload, size - 1), 0);
    *ret_due_ns = info.due_ns;
}

static void test_replace_and_move(void **state) {
    (void)state;
    char payload[16];
    uint64_t first_ns;
    uint64_t due_ns;
    const verge_durable_id id = schedule("k", "a", 3600 * S, VERGE_DURABLE_REPLACE); /* there is none yet */
    look(id, &first_ns, payload, sizeof(payload));
    assert_int_equal(schedule("k", "b", 7200 * S, VERGE_DURABLE_REPLACE), id);
    look(id, &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "b");
    assert_true(due_ns >= first_ns + 3600 * S);
    assert_int_equal(schedule("k", "c", 10 * S, VERGE_DURABLE_MOVE), id);
    look(id, &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "b");
    assert_true(due_ns < first_ns);
    const verge_durable_request without_key = {.handler = "count", .on_conflict = VERGE_DURABLE_MOVE};
    assert_int_equal(verge_durable_schedule(durable, &without_key, NULL), -EINVAL);
    const verge_durable_request same = {.handler = "count", .key = "k", .delay_ns = 3600 * S};
    assert_int_equal(verge_durable_schedule(durable, &same, NULL), -EEXIST);
    /* the same key twice in one call: the last one wins */
    const verge_durable_request twice[] = {
        {.handler = "count", .key = "two", .payload = "x", .payload_size = 1, .delay_ns = 3600 * S},
        {.handler = "count",
         .key = "two",
         .payload = "y",
         .payload_size = 1,
         .delay_ns = 3600 * S,
         .on_conflict = VERGE_DURABLE_REPLACE},
    };
    verge_durable_id ids[2];
    assert_int_equal(verge_durable_schedule_many(durable, twice, 2, ids), 2);
    assert_int_equal(ids[0], ids[1]);
    look(ids[0], &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "y");
    /* and it fires at its new time */
    assert_int_equal(verge_durable_register(durable, "count", count, NULL), 0);
    assert_int_equal(schedule("k", "d", 0, VERGE_DURABLE_MOVE), id);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 1);
    assert_int_equal(runs, 1);
}

static void *debounce(void *argument) {
    (void)argument;
    for (int i = 0; i < 50; i++) {
        (void)schedule("same", "", 3600 * S, i % 2 == 0 ? VERGE_DURABLE_MOVE : VERGE_DURABLE_REPLACE);
    }
    return NULL;
}

/* Many at a time share commits, and one timer is left. */
static void test_debounce(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, debounce, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1);
    assert_int_equal(verge_durable_register(durable, "count", count, NULL), 0);
    (void)schedule("same", "", 0, VERGE_DURABLE_MOVE);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(runs, 1);
}

static sem_t gate;
static _Atomic(bool) is_inside;

static verge_durable_verdict stay(const verge_durable_firing *firing) {
    (void)firing;
    is_inside = true;
    (void)sem_wait(&gate);
    return VERGE_DURABLE_DONE;
}

static void test_cancel_and_reset_by_key(void **state) {
    (void)state;
    char payload[16];
    uint64_t due_ns;
    verge_durable_id id = schedule("k", "a", 3600 * S, VERGE_DURABLE_REFUSE);
    (void)schedule("other", "a", 3600 * S, VERGE_DURABLE_REFUSE);
    assert_int_equal(verge_durable_reset_key(durable, "count", "k", 0, UINT64_C(4102444800) * S), 0);
    look(id, &due_ns, payload, sizeof(payload));
    assert_int_equal(due_ns, UINT64_C(4102444800) * S);
    assert_int_equal(verge_durable_reset_key(durable, "count", "none", 4, 5), -ENOENT);
    assert_int_equal(verge_durable_cancel_key(durable, "count", "k", 1), 0);
    assert_int_equal(verge_durable_cancel_key(durable, "count", "k", 1), -ENOENT);
    assert_int_equal(verge_durable_cancel_key(durable, "stay", "other", 0), -ENOENT); /* another handler's */
    assert_int_equal(verge_durable_cancel_key(durable, "bad name", "k", 1), -EINVAL);
    assert_int_equal(verge_durable_cancel_key(durable, "count", NULL, 0), -EINVAL);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1);
    /* by key into the window: it fires */
    assert_int_equal(verge_durable_register(durable, "count", count, NULL), 0);
    assert_int_equal(verge_durable_reset_key(durable, "count", "other", 5, 1), 0);
    WAIT_UNTIL(runs == 1);
    /* while its handler runs, outside */
    verge_durable_handler_options options;
    (void)verge_durable_handler_init(&options);
    options.handler = stay;
    options.outside = true;
    (void)sem_init(&gate, 0, 0);
    is_inside = false;
    assert_int_equal(verge_durable_register_with(durable, "stay", &options), 0);
    const verge_durable_request request = {.handler = "stay", .key = "k"};
    assert_int_equal(verge_durable_schedule(durable, &request, &id), 0);
    WAIT_UNTIL(is_inside);
    assert_int_equal(verge_durable_cancel_key(durable, "stay", "k", 0), VERGE_RUNNING);
    (void)sem_post(&gate);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
}

/* ---- a periodic timer whose handler wants its key ---- */

static verge_durable_verdict schedule_itself(const verge_durable_firing *firing) {
    const verge_durable_request requests[] = {
        {.handler = "again", .key = "tick", .delay_ns = 3600 * S},
        {.handler = "again", .key = "another", .delay_ns = 3600 * S},
    };
    verge_durable_id ids[2];
    refused += verge_durable_schedule(firing->durable, &requests[0], NULL) == -EEXIST;
    (void)!verge_durable_schedule_many(firing->durable, requests, 2, ids);
    refused += ids[0] == 0;
    runs++;
    return VERGE_DURABLE_DONE;
}

/* Behind the back of the library. */
static verge_durable_verdict steal_key(const verge_durable_firing *firing) {
    runs++;
    return sql_run(
               verge_durable_transaction(firing),
               "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, "
               "payload) SELECT 256, 0, 9000000000000000000, 0, 0, 0, 0, 0, handler, name, payload FROM stolen") == 0
               ? VERGE_DURABLE_DONE
               : VERGE_DURABLE_RETRY;
}

static void test_the_key_of_a_periodic_timer(void **state) {
    (void)state;
    assert_int_equal(verge_durable_register(durable, "again", schedule_itself, NULL), 0);
    const verge_durable_request request = {.handler = "again", .key = "tick", .period_ns = 20 * MS};
    assert_int_equal(verge_durable_schedule(durable, &request, NULL), 0);
    WAIT_UNTIL(runs >= 3); /* it goes on */
    assert_true(refused >= 6);
    assert_int_equal(verge_durable_cancel_key(durable, "again", "another", 0), 0);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TABLE stolen (handler text, name "
                                     "bytea, payload bytea)"),
                     0);
    assert_int_equal(sql_run(handle, durable_is_postgres() ? "INSERT INTO stolen VALUES ('steal', 'tick', '')"
                                                           : "INSERT INTO stolen VALUES ('steal', x'7469636b', x'')"),
                     0);
    const verge_durable_request stolen = {.handler = "steal", .key = "tick", .period_ns = 20 * MS};
    assert_int_equal(verge_durable_register(durable, "steal", steal_key, NULL), 0);
    assert_int_equal(verge_durable_schedule(durable, &stolen, NULL), 0);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM verge_dead WHERE reason = 'another timer has its key'") == 1);
    sql_close(handle);
}

/* ---- a key in somebody's open transaction ---- */

static _Atomic(int) blocked_result;

static void *schedule_blocked(void *argument) {
    const verge_durable_request request = {.handler = "count", .key = "k", .delay_ns = 3600 * S};
    blocked_result = verge_durable_schedule(argument, &request, NULL);
    return NULL;
}

static void *schedule_unrelated(void *argument) {
    for (int i = 0; i < 20; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "u%d", i);
        const verge_durable_request request = {
            .handler = "count", .key = i % 2 == 0 ? key : NULL, .delay_ns = 3600 * S};
        refused += verge_durable_schedule(argument, &request, NULL) != 0;
        runs++;
    }
    return NULL;
}

/* The call that wants the key waits for it; all others go on. */
static void test_a_key_that_somebody_holds(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip();
    }
    pthread_t threads[2];
    void *handle = sql_open(url);
    verge_durable_options options = durable_options(url);
    verge_durable *patient;
    options.client = true;
    options.patience_ns = 3600 * S;
    assert_int_equal(verge_durable_open(&options, &patient), 0);
    assert_int_equal(sql_run(handle,
                             "BEGIN; INSERT INTO verge_timer VALUES (256, 0, 9000000000000000000, 0, 0, 0, 0, 0, "
                             "'count', 'k', '', NULL)"),
                     0);
    blocked_result = 1;
    assert_int_equal(pthread_create(&threads[0], NULL, schedule_blocked, patient), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, schedule_unrelated, patient), 0);
    WAIT_UNTIL(runs == 20);
    (void)pthread_join(threads[1], NULL);
    assert_int_equal(refused, 0);
    assert_int_equal(blocked_result, 1);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    (void)pthread_join(threads[0], NULL);
    assert_int_equal(blocked_result, 0);
    assert_int_equal(verge_durable_close(patient, VERGE_NEVER), 0);
    /* one without much patience is told so */
    options.patience_ns = 200 * MS;
    assert_int_equal(verge_durable_open(&options, &patient), 0);
    assert_int_equal(sql_run(handle, "BEGIN; DELETE FROM verge_timer WHERE name = 'k'"), 0);
    (void)schedule_blocked(patient);
    assert_int_equal(blocked_result, -EAGAIN);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    assert_int_equal(verge_durable_close(patient, VERGE_NEVER), 0);
    sql_close(handle);
}

/* ---- many bytes ---- */

/* The server must answer a statement within the lease. So a statement has few bytes, whatever a call has. */
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
        assert_true(queries >= 8 + 4 && queries <= 8 + 4 + 2); /* and one prepares the statement */
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

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_replace_and_move),          ON_A_STORE(test_debounce),
        ON_A_STORE(test_cancel_and_reset_by_key),   ON_A_STORE(test_the_key_of_a_periodic_timer),
        ON_A_STORE(test_a_key_that_somebody_holds), ON_A_STORE(test_many_bytes_are_many_statements),
    };
    return cmocka_run_group_tests_name("durable_keys", tests, NULL, NULL);
}
