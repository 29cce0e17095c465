/* SPDX-License-Identifier: MIT */
/* Transactions: what a handler writes and asks in the one in which its timer ends, and starts in one of the caller. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "durable/support.h"
#include "support/cmocka.h"

static char url[512];

/* What the handlers have seen. */
static _Atomic(int) runs;
static _Atomic(int) wrong;
static _Atomic(uint64_t) last_id;
static _Atomic(uint32_t) last_attempt;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("transactions"));
    runs = wrong = 0;
    last_id = 0;
    last_attempt = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    durable_drop(url);
    return 0;
}

static verge_durable_id start(verge_durable *durable, const char *handler) {
    verge_durable_id id = 0;
    const verge_durable_request request = {.handler = handler};
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    return id;
}

static verge_durable_verdict note(const verge_durable_firing *firing) {
    last_id = firing->id;
    runs++;
    return VERGE_DURABLE_DONE;
}

static void make_ledger(void) {
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TABLE ledger (id bigint)"), 0);
    sql_close(handle);
}

/* ---- effects ---- */

static verge_durable_verdict write_twice(const verge_durable_firing *firing) {
    char text[128];
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger VALUES (%llu)", (unsigned long long)firing->id);
    wrong += sql_run(verge_durable_transaction(firing), text) != 0;
    runs++;
    last_attempt = firing->attempt;
    verge_durable_retry_after(firing, 10 * MS);
    if (firing->attempt == 2) { /* a statement fails, and the handler ignores it */
        (void)sql_run(verge_durable_transaction(firing), "INSERT INTO no_such_table VALUES (1)");
        return durable_is_postgres() ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
    }
    return firing->attempt < 3 ? VERGE_DURABLE_RETRY : VERGE_DURABLE_DONE;
}

static void test_effects_are_undone_with_a_retry(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    make_ledger();
    assert_int_equal(verge_durable_register(durable, "write", write_twice, NULL, NULL), 0);
    for (int i = 0; i < 5; i++) {
        (void)start(durable, "write");
    }
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(runs, 15);
    assert_int_equal(last_attempt, 3);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM ledger"), 5);
    assert_int_equal(sql_ask(url, "SELECT count(DISTINCT id) FROM ledger"), 5);
}

/* In the first attempt, a question fails, since a table is missing. Without a savepoint, PostgreSQL would undo the
 * whole batch again and again, and no attempt would be counted. */
static verge_durable_verdict ask_in_vain(const verge_durable_firing *firing) {
    const bool asks = ++runs <= 5 && firing->attempt == 1;
    wrong += runs > 5;
    verge_durable_retry_after(firing, 0);
    return asks && verge_durable_count(firing->durable, NULL, NULL, NULL) != 0 ? VERGE_DURABLE_RETRY
                                                                               : VERGE_DURABLE_DONE;
}

static void test_a_question_fails_in_a_handler(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "ALTER TABLE verge_dead RENAME TO hidden"), 0);
    assert_int_equal(verge_durable_register(durable, "ask", ask_in_vain, NULL, NULL), 0);
    (void)start(durable, "ask");
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(sql_run(handle, "ALTER TABLE hidden RENAME TO verge_dead"), 0);
    sql_close(handle);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(runs, 2);
}

/* ---- calls in handlers ---- */

static verge_durable_verdict chain(const verge_durable_firing *firing) {
    int left;
    memcpy(&left, firing->payload, sizeof(left));
    runs++;
    if (left-- > 0) {
        const verge_durable_request next = {.handler = "chain", .payload = &left, .payload_size = sizeof(left)};
        verge_durable_id id;
        verge_durable_info info;
        wrong += verge_durable_start(firing->durable, &next, &id) != 0;
        wrong += verge_durable_get(firing->durable, id, &info, NULL, 0) != 0;
        const verge_durable_request other = {
            .handler = "chain", .delay_ns = 3600 * S, .payload = "", .payload_size = 1};
        wrong += verge_durable_start(firing->durable, &other, &id) != 0;
        wrong += verge_durable_cancel(firing->durable, id) != 0;
        wrong += verge_durable_close(firing->durable, 0) != -EDEADLK;
    }
    verge_durable_retry_after(firing, 0);
    return firing->attempt == 1 ? VERGE_DURABLE_RETRY
                                : VERGE_DURABLE_DONE; /* the first attempt's successor is undone */
}

static void test_a_handler_starts_timers_in_its_transaction(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "chain", chain, NULL, NULL), 0);
    const int length = 5;
    const verge_durable_request first = {.handler = "chain", .payload = &length, .payload_size = sizeof(length)};
    assert_int_equal(verge_durable_start(durable, &first, NULL), 0);
    WAIT_UNTIL(runs == 12 && sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(runs, 12);
}

static verge_durable_id dead_ids[2];

static verge_durable_verdict die(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DEAD;
}

/* Calls of the library use the connection that the handler has. They leave it as it was: it still blocks, which a start
 * with `transaction` asks for. */
static verge_durable_verdict use_after_calls(const verge_durable_firing *firing) {
    void *transaction = verge_durable_transaction(firing);
    const verge_durable_request later = {.handler = "later", .delay_ns = 3600 * S, .transaction = transaction};
    wrong += verge_durable_retry(firing->durable, dead_ids[0]) != 0;
    wrong += verge_durable_start(firing->durable, &later, NULL) != 0;
    wrong += verge_durable_forget(firing->durable, dead_ids[1]) != 0;
    wrong += verge_durable_start(firing->durable, &later, NULL) != 0;
    wrong += sql_run(transaction, "INSERT INTO ledger VALUES (1)") != 0;
    runs++;
    return VERGE_DURABLE_DONE;
}

static void test_a_handler_keeps_its_connection(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    make_ledger();
    assert_int_equal(verge_durable_register(durable, "die", die, NULL, NULL), 0);
    dead_ids[0] = start(durable, "die");
    dead_ids[1] = start(durable, "die");
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_dead") == 2);
    assert_int_equal(verge_durable_register(durable, "use", use_after_calls, NULL, NULL), 0);
    (void)start(durable, "use");
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM ledger") == 1);
    assert_int_equal(runs, 1);
    assert_int_equal(wrong, 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE handler = 'later'"), 2);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* ---- a transaction of the caller ---- */

static void test_a_start_in_the_transaction_of_the_caller(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "in", note, NULL, NULL), 0);
    make_ledger();
    void *handle = sql_open(url);
    const verge_durable_request request = {.handler = "in", .delay_ns = 20 * MS, .transaction = handle};
    verge_durable_id id = 7;
    assert_int_equal(verge_durable_start(durable, &request, &id), -EINVAL); /* not in a transaction */
    assert_int_equal(id, 7);
    assert_int_equal(sql_run(handle, "BEGIN"), 0);
    assert_int_equal(sql_run(handle, "INSERT INTO ledger VALUES (1)"), 0);
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_int_equal(verge_durable_start_many(durable, &request, 1, NULL), -EINVAL);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM verge_timer"), 0);
    assert_int_equal(sql_run(handle, "BEGIN"), 0);
    assert_int_equal(sql_run(handle, "INSERT INTO ledger VALUES (1)"), 0);
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_int_equal(sql_run(handle, "COMMIT"), 0);
    WAIT_UNTIL(runs == 1);
    sql_close(handle);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(runs, 1);
    assert_int_equal(last_id, id);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_effects_are_undone_with_a_retry),
        ON_A_STORE(test_a_question_fails_in_a_handler),
        ON_A_STORE(test_a_handler_starts_timers_in_its_transaction),
        ON_A_STORE(test_a_handler_keeps_its_connection),
        ON_A_STORE(test_a_start_in_the_transaction_of_the_caller),
    };
    return cmocka_run_group_tests_name("durable_transactions", tests, NULL, NULL);
}
