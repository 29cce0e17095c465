/* SPDX-License-Identifier: MIT */
/* Handlers with limits: their timers do not keep others from running, and all of them run in the end. */
#define _GNU_SOURCE

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "durable/support.h"
#include "support/cmocka.h"

enum { SLOW = 600, QUICK = 300, WINDOW = 128 };

static char url[512];
static verge_durable *durable;
static _Atomic(int) slow_runs;
static _Atomic(int) quick_runs;
static sem_t gate; /* slow handlers wait for it */

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("limits"));
    verge_durable_options options = durable_options(url);
    options.window_max = WINDOW;
    options.batch = 16;
    slow_runs = quick_runs = 0;
    (void)sem_init(&gate, 0, 0);
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    (void)sem_destroy(&gate);
    durable_drop(url);
    return 0;
}

static verge_durable_verdict slow(const verge_durable_firing *firing) {
    (void)firing;
    slow_runs++;
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict slow_outside(const verge_durable_firing *firing) {
    (void)sem_wait(&gate);
    return slow(firing);
}

static verge_durable_verdict quick(const verge_durable_firing *firing) {
    (void)firing;
    quick_runs++;
    return VERGE_DURABLE_DONE;
}

static void schedule_some(const char *handler, int count, verge_durable_id *ret_ids) {
    static verge_durable_request requests[SLOW];
    for (int i = 0; i < count; i++) {
        requests[i] = (verge_durable_request){.handler = handler};
    }
    assert_int_equal(verge_durable_start_many(durable, requests, (size_t)count, ret_ids), count);
}

/* Many more timers are overdue than the window has room for, and their handler runs once a second. */
static void test_a_rate_starves_nobody(void **state) {
    (void)state;
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.rate = 1;
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, NULL), 0);
    schedule_some("slow", SLOW, NULL);
    assert_int_equal(verge_durable_register(durable, "slow", slow, NULL, &options), 0);
    WAIT_UNTIL(slow_runs > 0);
    schedule_some("quick", QUICK, NULL);
    WAIT_UNTIL(quick_runs == QUICK);
    const int before = slow_runs;
    WAIT_UNTIL(slow_runs > before);
    assert_true(slow_runs < SLOW);
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    assert_true(stats.window <= WINDOW / 2 + 1); /* the share of the slow handler */
}

/* Handlers outside do not return until the test lets them. Of the timers that wait for these handlers, some are
 * cancelled. The others run in the end. */
static void test_handlers_outside_starve_nobody(void **state) {
    (void)state;
    enum { CANCELLED = 50 };
    static verge_durable_id ids[SLOW];
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    options.run_ns = 3600 * S;
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, NULL), 0);
    assert_int_equal(verge_durable_register(durable, "slow", slow_outside, NULL, &options), 0);
    schedule_some("slow", SLOW, ids);
    schedule_some("quick", QUICK, NULL);
    WAIT_UNTIL(quick_runs == QUICK);
    int cancelled = 0;
    for (int i = 0; i < CANCELLED; i++) {
        const int verdict = verge_durable_cancel(durable, ids[(size_t)i * 3]);
        assert_true(verdict == 0 || verdict == VERGE_RUNNING);
        cancelled += verdict == 0;
    }
    assert_true(cancelled >= CANCELLED - 1); /* one of them may be running */
    for (int i = 0; i < SLOW; i++) {
        (void)sem_post(&gate);
    }
    WAIT_UNTIL(slow_runs == SLOW - cancelled);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
}

/* One batch runs at a time. When it has ended, the handler is free again, and in the end all timers run. */
static void test_a_concurrency_holds_and_lets_go(void **state) {
    (void)state;
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.concurrency = 1;
    assert_int_equal(verge_durable_register(durable, "slow", slow, NULL, &options), 0);
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, NULL), 0);
    for (int i = 0; i < 3; i++) {
        schedule_some("slow", SLOW, NULL);
        schedule_some("quick", QUICK, NULL);
    }
    WAIT_UNTIL(slow_runs == 3 * SLOW && quick_runs == 3 * QUICK);
}

/* Timers that were due soon, and fill the window, are moved to a time beyond it. No scan comes that could drop them. */
static void test_moved_timers_keep_no_places(void **state) {
    (void)state;
    enum { MOVED = 32 };
    verge_durable_id ids[MOVED];
    verge_durable_request requests[MOVED];
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    verge_durable_options options = durable_options(url);
    options.rescan_ns = options.horizon_ns = 3600 * S;
    options.window_max = MOVED;
    options.batch = MOVED / 2;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, NULL), 0);
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.shards == options.shard_count);
    for (int i = 0; i < MOVED; i++) {
        requests[i] = (verge_durable_request){.handler = "quick", .delay_ns = 600 * S};
    }
    assert_int_equal(verge_durable_start_many(durable, requests, MOVED, ids), MOVED);
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.window == MOVED);
    for (int tries = 0; stats.window != 0; tries++) {
        assert_true(tries < 100); /* by then, the first scans are over: see V5 in window.c */
        for (int i = 0; i < MOVED; i++) {
            assert_int_equal(
                verge_durable_reset(durable, ids[i], verge_durable_now(durable) + UINT64_C(30) * 86400 * S), 0);
        }
        assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    }
    schedule_some("quick", 1, NULL);
    WAIT_UNTIL(quick_runs == 1);
}

/* ---- a sign of life ---- */

static sem_t begun;
static _Atomic(int) extended;
static _Atomic(int) extended_again;
static _Atomic(uint64_t) extended_id;

static verge_durable_verdict extend(const verge_durable_firing *firing) {
    extended_id = firing->id;
    extended = verge_durable_extend(firing, 7200 * S);
    (void)sem_post(&begun);
    (void)sem_wait(&gate);
    extended_again = verge_durable_extend(firing, 7200 * S);
    slow_runs++;
    return VERGE_DURABLE_RETRY;
}

static verge_durable_verdict extend_inside(const verge_durable_firing *firing) {
    extended = verge_durable_extend(firing, S);
    return VERGE_DURABLE_DONE;
}

/* verge_durable_extend moves the end of the claim. A handler whose timer was cancelled gets an error from it. */
static void test_a_handler_outside_extends_its_time(void **state) {
    (void)state;
    verge_durable_handler_options options;
    verge_durable_info info;
    (void)sem_init(&begun, 0, 0);
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    options.run_ns = 3600 * S;
    extended = extended_again = 1;
    assert_int_equal(verge_durable_register(durable, "extend", extend, NULL, &options), 0);
    assert_int_equal(verge_durable_register(durable, "inside", extend_inside, NULL, NULL), 0);
    const uint64_t now_ns = verge_durable_now(durable);
    schedule_some("extend", 1, NULL);
    (void)sem_wait(&begun);
    assert_int_equal(extended, 0);
    assert_int_equal(verge_durable_get(durable, extended_id, &info, NULL, 0), 0);
    assert_true(info.is_running && info.due_ns >= now_ns + 7200 * S);
    assert_int_equal(verge_durable_cancel(durable, extended_id), VERGE_RUNNING);
    (void)sem_post(&gate);
    WAIT_UNTIL(slow_runs == 1);
    assert_int_equal(extended_again, -ECANCELED);
    schedule_some("inside", 1, NULL);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(extended, -EINVAL);
    assert_int_equal(verge_durable_extend(NULL, S), -EINVAL);
    (void)sem_destroy(&begun);
}

/* ---- after a death ---- */

/* The shards belonged to a node that has died, so this node is careful (firer.c). A handler outside that does not
 * return stops no other timers: its attempt is counted. */
static void test_a_handler_outside_stops_nobody_after_a_death(void **state) {
    (void)state;
    verge_durable_handler_options options;
    verge_durable_info info;
    verge_durable_id id;
    (void)sem_init(&begun, 0, 0);
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    options.run_ns = 3600 * S;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "UPDATE verge_shard SET clean = 0"), 0);
    sql_close(handle);
    durable = durable_open(url);
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.shards > 0);
    assert_int_equal(verge_durable_register(durable, "extend", extend, NULL, &options), 0);
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, NULL), 0);
    schedule_some("extend", 1, &id);
    (void)sem_wait(&begun);
    schedule_some("quick", QUICK, NULL);
    WAIT_UNTIL(quick_runs == QUICK);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_int_equal(info.attempt, 1);
    assert_int_equal(verge_durable_cancel(durable, id), VERGE_RUNNING);
    (void)sem_post(&gate);
    WAIT_UNTIL(slow_runs == 1);
    (void)sem_destroy(&begun);
}

/* ---- a handler that is slower than the lease ---- */

/* Waits until the server has ended the transaction, which stood still for as long as the lease. */
static verge_durable_verdict slower_than_the_lease(const verge_durable_firing *firing) {
    char text[100];
    const int64_t pid = sql_number(verge_durable_transaction(firing), "SELECT pg_backend_pid()");
    void *other = sql_open(url);
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld", (long long)pid);
    while (sql_number(other, text) != 0) {
        durable_nap(5);
    }
    sql_close(other);
    return slow(firing);
}

/* The attempts of the slow timer are counted, and then it is dead. The other timers of its batch run. */
static void test_slower_than_the_lease(void **state) {
    (void)state;
    enum { BEFORE = 9 };
    if (!durable_is_postgres()) {
        skip();
    }
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    verge_durable_options node = durable_options(url);
    node.lease_ns = S;
    node.batch = 16;
    assert_int_equal(verge_durable_open(&node, &durable), 0);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.attempts_max = 0;
    const uint64_t due_ns = verge_durable_now(durable);
    verge_durable_request requests[2 * BEFORE + 1];
    for (int i = 0; i <= 2 * BEFORE; i++) {
        requests[i] = (verge_durable_request){.handler = i == BEFORE ? "slow" : "quick", .due_ns = due_ns};
    }
    assert_int_equal(verge_durable_start_many(durable, requests, 2 * BEFORE + 1, NULL), 2 * BEFORE + 1);
    assert_int_equal(verge_durable_register(durable, "quick", quick, NULL, &options), 0);
    options.attempts_max = 2;
    assert_int_equal(verge_durable_register(durable, "slow", slower_than_the_lease, NULL, &options), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_dead") == 1);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    verge_durable_info info;
    assert_int_equal(verge_durable_list(durable, true, 0, &info, 1), 1);
    assert_string_equal(info.handler, "slow");
    assert_true(info.attempt >= 2);
    print_message("%d runs of %d timers beside it, %d of its own\n", quick_runs, 2 * BEFORE, slow_runs);
    assert_true(slow_runs >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_rate_starves_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_handlers_outside_starve_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_concurrency_holds_and_lets_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_timers_keep_no_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_handler_outside_extends_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_handler_outside_stops_nobody_after_a_death, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slower_than_the_lease, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("durable_limits", tests, NULL, NULL);
}
