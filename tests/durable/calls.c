/* SPDX-License-Identifier: MIT */
/* What the calls promise, on a real store. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/support.h"
#include "support/cmocka.h"
#include "verge/task.h"

static char url[512];

/* What the handlers have seen. */
static _Atomic(int) runs;
static _Atomic(int) wrong;
static _Atomic(uint64_t) last_id;
static _Atomic(uint64_t) last_missed;
static _Atomic(uint32_t) last_attempt;
static _Atomic(int) gate; /* wait_at_gate waits while this is 0; 1: it returns DONE; 2: it returns RETRY */

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("calls"));
    runs = wrong = gate = 0;
    last_id = last_missed = 0;
    last_attempt = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    durable_drop(url);
    return 0;
}

static verge_durable_verdict note(const verge_durable_firing *firing) {
    wrong += firing->now_ns < firing->due_ns; /* D3 */
    last_id = firing->id;
    last_attempt = firing->attempt;
    last_missed = firing->missed;
    runs++;
    return VERGE_DURABLE_DONE;
}

static verge_durable_id schedule(verge_durable *durable, const char *handler, uint64_t delay_ns, const char *key) {
    verge_durable_id id = 0;
    const verge_durable_request request = {.handler = handler, .delay_ns = delay_ns, .key = key};
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_true(id != 0);
    return id;
}

static verge_durable_stats stats_of(verge_durable *durable) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    return stats;
}

/* ---- the life of a timer ---- */

static verge_durable_verdict compare_payload(const verge_durable_firing *firing) {
    wrong += firing->payload_size != 5 || memcmp(firing->payload, "a\0b\xFF", 5) != 0;
    wrong += firing->key_size != 3 || memcmp(firing->key, "\x01\0\xFE", 3) != 0;
    wrong += strcmp(firing->handler, "pay.load-1_") != 0 || firing->context != &wrong || firing->attempt != 1;
    return note(firing);
}

static void test_bytes_arrive(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "pay.load-1_", compare_payload, &wrong, NULL), 0);
    const verge_durable_request request = {
        .handler = "pay.load-1_",
        .delay_ns = 10 * MS,
        .key = "\x01\0\xFE",
        .key_size = 3,
        .payload = "a\0b\xFF",
        .payload_size = 5,
    };
    verge_durable_id id;
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    WAIT_UNTIL(runs == 1);
    assert_int_equal(wrong, 0);
    assert_int_equal(last_id, id);
    WAIT_UNTIL(stats_of(durable).done == 1);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_survives_close(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "later", 200 * MS, NULL);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1); /* D1 */
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_shard WHERE owner <> 0 OR clean = 0"), 0);
    durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "later", note, NULL, NULL), 0);
    WAIT_UNTIL(runs == 1);
    assert_int_equal(last_id, id);
    assert_int_equal(wrong, 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_many(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    static verge_durable_request requests[COUNT];
    static verge_durable_id ids[COUNT];
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "many", note, NULL, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        requests[i] = (verge_durable_request){.handler = "many", .delay_ns = (uint64_t)(i % 100) * MS};
    }
    requests[7].key = requests[1500].key = "twice";
    assert_int_equal(verge_durable_start_many(durable, requests, COUNT, ids), COUNT - 1);
    assert_true(ids[7] == 0 || ids[1500] == 0);
    WAIT_UNTIL(runs == COUNT - 1);
    WAIT_UNTIL(stats_of(durable).done == COUNT - 1);
    assert_int_equal(wrong, 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(runs, COUNT - 1);
}

/* ---- D5: cancel and reset ---- */

static void test_cancel_and_reset(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "x", note, NULL, NULL), 0);
    const verge_durable_id cancelled = schedule(durable, "x", 3600 * S, "k");
    const verge_durable_id moved = schedule(durable, "x", 3600 * S, NULL);
    verge_durable_id found = 0;
    assert_int_equal(verge_durable_find(durable, "x", "k", 0, &found), 0);
    assert_int_equal(found, cancelled);
    assert_int_equal(verge_durable_cancel(durable, cancelled), 0);
    assert_int_equal(verge_durable_cancel(durable, cancelled), -ENOENT);
    assert_int_equal(verge_durable_find(durable, "x", "k", 0, &found), -ENOENT);
    assert_int_equal(verge_durable_reset(durable, cancelled, 1), -ENOENT);
    assert_int_equal(verge_durable_cancel(durable, 0), -ENOENT);
    assert_int_equal(verge_durable_cancel(durable, UINT64_MAX), -ENOENT);
    assert_int_equal(verge_durable_reset(durable, moved, verge_durable_now(durable) + 50 * MS), 0);
    WAIT_UNTIL(runs == 1);
    assert_int_equal(last_id, moved);
    assert_int_equal(verge_durable_cancel(durable, moved), -ENOENT);
    /* The cancelled timer has left nothing, either. */
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(runs, 1);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_info(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_request request = {
        .handler = "info",
        .due_ns = 4000000000 * S,
        .key = "key",
        .payload = "payload",
        .payload_size = 7,
        .period_ns = S,
    };
    verge_durable_id id;
    verge_durable_info info;
    verge_durable_info list[10];
    char payload[16] = "";
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_int_equal(verge_durable_get(durable, id, &info, payload, sizeof(payload)), 0);
    assert_int_equal(info.id, id);
    assert_int_equal(info.due_ns, 4000000000 * S);
    assert_int_equal(info.period_ns, S);
    assert_int_equal(info.attempt, 0);
    assert_int_equal(info.died_ns, 0);
    assert_string_equal(info.handler, "info");
    assert_int_equal(info.key_size, 3);
    assert_memory_equal(info.key, "key", 3);
    assert_int_equal(info.payload_size, 7);
    assert_string_equal(payload, "payload");
    assert_int_equal(verge_durable_get(durable, id, &info, payload, 3), 0);
    assert_int_equal(verge_durable_get(durable, id + 256, &info, NULL, 0), -ENOENT);
    assert_int_equal(verge_durable_list(durable, false, 0, list, 10), 1);
    assert_int_equal(list[0].id, id);
    assert_int_equal(verge_durable_list(durable, false, id, list, 10), 0);
    assert_int_equal(verge_durable_list(durable, true, 0, list, 10), 0);
    uint64_t pending;
    uint64_t overdue;
    uint64_t dead;
    assert_int_equal(verge_durable_count(durable, &pending, &overdue, &dead), 0);
    assert_true(pending == 1 && overdue == 0 && dead == 0);
    /* a start with the same key fails; a start with the same id is the same start (D7) */
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EEXIST);
    verge_durable_request again = request;
    again.id = id;
    assert_int_equal(verge_durable_start(durable, &again, NULL), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1);
    char text[128];
    assert_int_equal(verge_durable_check(durable, text, sizeof(text)), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static verge_durable_verdict wait_at_gate(const verge_durable_firing *firing) {
    runs++;
    while (gate == 0) {
        durable_nap(1);
    }
    (void)firing;
    return gate == 1 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

static void register_outside(verge_durable *durable, const char *name, verge_durable_handler handler) {
    verge_durable_handler_options options;
    assert_int_equal(verge_durable_handler_options_init(&options, sizeof(options)), 0);
    options.outside = true;
    options.backoff_first_ns = options.backoff_max_ns = 20 * MS;
    assert_int_equal(verge_durable_register(durable, name, handler, NULL, &options), 0);
}

static void test_running_outside(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    register_outside(durable, "long", wait_at_gate);
    const verge_durable_id id = schedule(durable, "long", 0, NULL);
    WAIT_UNTIL(runs == 1);
    verge_durable_info info;
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_true(info.is_running);
    assert_int_equal(verge_durable_close(durable, 20 * MS), -ETIMEDOUT); /* so the node goes on */
    gate = 1;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 0);
}

/* A node has claimed a timer until a time, and died: the test writes this claim into the tables. */
static void test_a_claim_that_is_over_is_not_running(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "nobody", 3600 * S, NULL);
    void *handle = sql_open(url);
    verge_durable_info info;
    assert_int_equal(sql_run(handle, "UPDATE verge_timer SET running = 1"), 0);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_true(info.is_running);
    assert_int_equal(verge_durable_list(durable, false, 0, &info, 1), 1);
    assert_true(info.is_running);
    assert_int_equal(sql_run(handle, "UPDATE verge_timer SET due = 1"), 0);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_false(info.is_running);
    assert_int_equal(verge_durable_list(durable, false, 0, &info, 1), 1);
    assert_false(info.is_running);
    sql_close(handle);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_cancel_while_running_outside(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    register_outside(durable, "long", wait_at_gate);
    const verge_durable_id id = schedule(durable, "long", 0, NULL);
    WAIT_UNTIL(runs == 1);
    assert_int_equal(verge_durable_cancel(durable, id), VERGE_RUNNING);
    assert_int_equal(verge_durable_cancel(durable, id), -ENOENT);
    gate = 2;                                                       /* the handler returns RETRY, which has no effect */
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0); /* waits for the handler */
    assert_int_equal(runs, 1);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 0);
}

static void test_reset_while_running_outside(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    register_outside(durable, "long", wait_at_gate);
    const verge_durable_id id = schedule(durable, "long", 0, NULL);
    WAIT_UNTIL(runs == 1);
    assert_int_equal(verge_durable_reset(durable, id, verge_durable_now(durable)), VERGE_RUNNING);
    gate = 1;
    WAIT_UNTIL(runs == 2); /* it runs again at the new time */
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* ---- D6: lateness, without scans ---- */

/* Opens a node that has read its window, and does not read it again for half an hour. One timer has run. */
static verge_durable *open_without_scans(void) {
    verge_durable *durable;
    verge_durable_options options = durable_options(url);
    options.rescan_ns = 1800 * S;
    options.horizon_ns = 3600 * S;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    WAIT_UNTIL(stats_of(durable).shards == 16);
    (void)schedule(durable, "x", 0, NULL);
    assert_int_equal(verge_durable_register(durable, "x", note, NULL, NULL), 0); /* makes the node scan */
    WAIT_UNTIL(runs == 1);
    return durable;
}

static verge_durable *open_client(void) {
    verge_durable *client;
    verge_durable_options options = durable_options(url);
    options.client = true;
    options.rescan_ns = options.horizon_ns = 10 * MS; /* timers that are due later are not in the window */
    options.lease_ns = 60 * S;
    assert_int_equal(verge_durable_open(&options, &client), 0);
    return client;
}

/* A node knows the timers that it has started or moved itself. Notifications tell it what others do. */
static void test_no_scan_is_waited_for(void **state) {
    (void)state;
    verge_durable *durable = open_without_scans();
    (void)schedule(durable, "x", 20 * MS, NULL);
    WAIT_UNTIL(runs == 2);
    const verge_durable_id far = schedule(durable, "x", 7200 * S, NULL);
    assert_int_equal(verge_durable_reset(durable, far, verge_durable_now(durable)), 0);
    WAIT_UNTIL(runs == 3);
    if (durable_is_postgres()) {
        verge_durable *client = open_client();
        (void)schedule(client, "x", 20 * MS, NULL);
        WAIT_UNTIL(runs == 4);
        const verge_durable_id moved = schedule(client, "x", 7200 * S, NULL);
        assert_int_equal(verge_durable_reset(client, moved, verge_durable_now(client)), 0);
        WAIT_UNTIL(runs == 5);
        assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* A user's transaction may be committed long after its timer was due, even if the timer was beyond the window at
 * first. */
static void test_a_late_commit_is_told(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip(); /* SQLite has no notifications */
    }
    verge_durable *durable = open_without_scans();
    verge_durable *client = open_client();
    void *handle = sql_open(url);
    const uint64_t due_ns = verge_durable_now(client) + 100 * MS;
    const verge_durable_request request = {.handler = "x", .due_ns = due_ns, .transaction = handle};
    assert_int_equal(sql_run(handle, "BEGIN"), 0);
    assert_int_equal(verge_durable_start(client, &request, NULL), 0);
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0); /* this node tries to fire it, in vain */
    WAIT_UNTIL(stats_of(durable).vanished >= 1 && verge_durable_now(client) > due_ns);
    assert_int_equal(sql_run(handle, "COMMIT"), 0);
    WAIT_UNTIL(runs == 3);
    sql_close(handle);
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void *schedule_in_thread(void *client) {
    const verge_durable_request request = {.handler = "x", .due_ns = verge_durable_now(client) + 200 * MS};
    wrong += verge_durable_start(client, &request, NULL) != 0;
    return (void *)(uintptr_t)request.due_ns;
}

/* The same for a transaction of the library, which waits for a lock in its commit. */
static void test_a_late_commit_of_a_node_is_told(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip();
    }
    verge_durable *durable = open_without_scans();
    verge_durable *client = open_client();
    void *handle = sql_open(url);
    pthread_t thread;
    assert_int_equal(sql_run(handle, "BEGIN; LOCK TABLE verge_mark"), 0);
    const uint64_t due_ns = verge_durable_now(client) + 300 * MS; /* later than the timer is due */
    assert_int_equal(pthread_create(&thread, NULL, schedule_in_thread, client), 0);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
                                  "'verge_mark'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = "
                                  "current_database())") == 1);
    WAIT_UNTIL(verge_durable_now(client) > due_ns);
    assert_int_equal(sql_run(handle, "COMMIT"), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    WAIT_UNTIL(runs == 2);
    assert_int_equal(wrong, 0);
    sql_close(handle);
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static verge_durable_verdict die_before_gate(const verge_durable_firing *firing) {
    return gate == 0 ? VERGE_DURABLE_DEAD : note(firing);
}

/* The payload is the id of a timer. Moves this timer, or retries it if it is dead. */
static verge_durable_verdict wake_another(const verge_durable_firing *firing) {
    verge_durable_id id;
    memcpy(&id, firing->payload, sizeof(id));
    const int error = verge_durable_reset(firing->durable, id, firing->now_ns);
    wrong += error != 0 && (error != -ENOENT || verge_durable_retry(firing->durable, id) != 0);
    return VERGE_DURABLE_DONE;
}

static void wake_by_handler(verge_durable *durable, verge_durable_id id) {
    const verge_durable_request request = {.handler = "wake", .payload = &id, .payload_size = sizeof(id)};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
}

/* As test_no_scan_is_waited_for, for timers that are moved by a handler, or were dead. */
static void test_no_scan_finds_what_is_woken(void **state) {
    (void)state;
    verge_durable *durable = open_without_scans();
    assert_int_equal(verge_durable_register(durable, "wake", wake_another, NULL, NULL), 0);
    assert_int_equal(verge_durable_register(durable, "dies", die_before_gate, NULL, NULL), 0);
    wake_by_handler(durable, schedule(durable, "x", 7200 * S, NULL));
    WAIT_UNTIL(runs == 2);
    const verge_durable_id dead = schedule(durable, "dies", 0, NULL);
    WAIT_UNTIL(stats_of(durable).died == 1);
    gate = 1;
    wake_by_handler(durable, dead);
    WAIT_UNTIL(runs == 3);
    if (durable_is_postgres()) {
        verge_durable *client = open_client();
        gate = 0;
        const verge_durable_id another = schedule(client, "dies", 0, NULL);
        WAIT_UNTIL(stats_of(durable).died == 2);
        gate = 1;
        assert_int_equal(verge_durable_retry(client, another), 0);
        WAIT_UNTIL(runs == 4);
        assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* ---- policies ---- */

static verge_durable_verdict always_retry(const verge_durable_firing *firing) {
    runs++;
    last_attempt = firing->attempt;
    return VERGE_DURABLE_RETRY;
}

static void test_dead_letters(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.attempts_max = 4;
    options.backoff_first_ns = MS;
    options.backoff_max_ns = 5 * MS;
    assert_int_equal(verge_durable_register(durable, "doomed", always_retry, NULL, &options), 0);
    const verge_durable_id id = schedule(durable, "doomed", 0, "key");
    verge_durable_info info = {0};
    WAIT_UNTIL(verge_durable_get(durable, id, &info, NULL, 0) == 0 && info.died_ns != 0);
    assert_int_equal(runs, 4);
    assert_int_equal(last_attempt, 4);
    assert_int_equal(info.attempt, 4);
    assert_string_equal(info.reason, "its attempts are used up");
    assert_int_equal(verge_durable_cancel(durable, id), -ENOENT);
    /* the key was free, so another timer has taken it: meanwhile the dead one cannot come back */
    const verge_durable_id other = schedule(durable, "other", 3600 * S, "key");
    const verge_durable_id same_key = schedule(durable, "doomed", 3600 * S, "key");
    assert_int_equal(verge_durable_retry(durable, id), -EEXIST);
    assert_int_equal(verge_durable_cancel(durable, same_key), 0);
    assert_int_equal(verge_durable_retry(durable, id), 0);
    assert_int_equal(verge_durable_retry(durable, other), -ENOENT);
    WAIT_UNTIL(verge_durable_get(durable, id, &info, NULL, 0) == 0 && info.died_ns != 0);
    assert_int_equal(runs, 8);
    assert_int_equal(verge_durable_forget(durable, id), 0);
    assert_int_equal(verge_durable_forget(durable, id), -ENOENT);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), -ENOENT);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_too_old(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.age_max_ns = 3600 * S;
    const verge_durable_request old = {.handler = "aged", .due_ns = verge_durable_now(durable) - 7200 * S};
    const verge_durable_request recent = {.handler = "aged", .due_ns = verge_durable_now(durable) - S};
    verge_durable_id id;
    assert_int_equal(verge_durable_start(durable, &old, &id), 0);
    assert_int_equal(verge_durable_start(durable, &recent, NULL), 0);
    assert_int_equal(verge_durable_register(durable, "aged", note, NULL, &options), 0);
    verge_durable_info info = {0};
    WAIT_UNTIL(verge_durable_get(durable, id, &info, NULL, 0) == 0 && info.died_ns != 0);
    assert_string_equal(info.reason, "too old");
    WAIT_UNTIL(runs == 1);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_periodic(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const uint64_t now_ns = verge_durable_now(durable);
    const verge_durable_request burst = {.handler = "burst", .due_ns = now_ns - 10000 * S, .period_ns = 1000 * S};
    const verge_durable_request skip = {
        .handler = "skip", .due_ns = now_ns - 10000 * S, .period_ns = 1000 * S, .policy = VERGE_INTERVAL_SKIP};
    assert_int_equal(verge_durable_register(durable, "burst", note, NULL, NULL), 0);
    verge_durable_id id;
    assert_int_equal(verge_durable_start(durable, &burst, &id), 0);
    WAIT_UNTIL(runs == 11); /* all ticks that were missed, and the present one */
    assert_int_equal(verge_durable_cancel(durable, id), 0);
    assert_int_equal(verge_durable_register(durable, "skip", note, NULL, NULL), 0);
    assert_int_equal(verge_durable_start(durable, &skip, &id), 0);
    WAIT_UNTIL(runs == 12); /* only the last tick */
    assert_int_equal(last_missed, 10);
    verge_durable_info info;
    WAIT_UNTIL(verge_durable_get(durable, id, &info, NULL, 0) == 0 && info.due_ns > now_ns);
    assert_int_equal((info.due_ns - skip.due_ns) % (1000 * S), 0); /* whole periods after the first */
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(wrong, 0);
}

static _Atomic(int) at_once;
static _Atomic(int) at_once_max;

static verge_durable_verdict overlap(const verge_durable_firing *firing) {
    const int now = ++at_once;
    int most = at_once_max;
    while (now > most && !atomic_compare_exchange_weak(&at_once_max, &most, now)) {
    }
    durable_nap(2);
    at_once--;
    runs++;
    (void)firing;
    return VERGE_DURABLE_DONE;
}

static void test_concurrency(void **state) {
    (void)state;
    verge_durable_options node = durable_options(url);
    node.firing_threads = 5;
    verge_durable *durable;
    assert_int_equal(verge_durable_open(&node, &durable), 0);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    options.concurrency = 2;
    at_once_max = 0;
    assert_int_equal(verge_durable_register(durable, "narrow", overlap, NULL, &options), 0);
    for (int i = 0; i < 40; i++) {
        (void)schedule(durable, "narrow", 0, NULL);
    }
    WAIT_UNTIL(runs == 40);
    assert_true(at_once_max <= 2);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_rate(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.rate = 100;
    assert_int_equal(verge_durable_register(durable, "slow", note, NULL, &options), 0);
    const uint64_t began_ns = verge_durable_now(durable);
    for (int i = 0; i < 30; i++) {
        (void)schedule(durable, "slow", 0, NULL);
    }
    WAIT_UNTIL(runs == 30);
    assert_true(verge_durable_now(durable) - began_ns >= 280 * MS); /* 29 intervals, less the precision */
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* ---- tasks ---- */

#if defined(__SANITIZE_THREAD__) || defined(VERGE_FEW_TASKS)
enum { TASKS = 100 }; /* there is memory for few tasks only */
#else
enum { TASKS = 1000 };
#endif
static verge_durable *in_tasks;

static intptr_t schedule_in_task(void *argument) {
    const verge_durable_request request = {.handler = "x", .delay_ns = 3600 * S};
    verge_durable_id id;
    (void)argument;
    if (verge_durable_start(in_tasks, &request, &id) != 0) {
        return 1;
    }
    return verge_durable_cancel(in_tasks, id) != 0;
}

static intptr_t spawn_all(void *argument) {
    static verge_task *tasks[TASKS];
    intptr_t failed = 0;
    (void)argument;
    for (int i = 0; i < TASKS; i++) {
        failed += verge_spawn(schedule_in_task, NULL, &tasks[i]) != 0;
    }
    for (int i = 0; i < TASKS; i++) {
        intptr_t result = 1;
        failed += verge_task_join(tasks[i], &result, VERGE_NEVER) != 0 || result != 0;
    }
    return failed;
}

static intptr_t call_in_cancelled_task(void *argument) {
    const verge_durable_request request = {.handler = "x", .delay_ns = 3600 * S};
    verge_deadline scope;
    (void)argument;
    (void)verge_deadline_push(&scope, 0); /* has passed already */
    const int error = verge_durable_start(in_tasks, &request, NULL);
    (void)verge_deadline_pop(&scope);
    return error;
}

static void test_tasks_are_suspended(void **state) {
    (void)state;
    in_tasks = durable_open(url);
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    verge_runtime *runtime;
    intptr_t result = -1;
    assert_int_equal(verge_runtime_create(&options, &runtime), 0);
    assert_int_equal(verge_runtime_run(runtime, spawn_all, NULL, &result), 0);
    assert_int_equal(result, 0);
    const verge_durable_stats stats = stats_of(in_tasks);
    assert_int_equal(stats.started, TASKS);
    assert_int_equal(stats.cancelled, TASKS);
    assert_true(stats.commits < TASKS); /* the calls of several tasks shared a commit */
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 0);
    assert_int_equal(verge_runtime_run(runtime, call_in_cancelled_task, NULL, &result), 0);
    const int64_t rows = sql_ask(url, "SELECT count(*) FROM verge_timer");
    assert_true((result == -ETIMEDOUT && rows == 0) || (result == 0 && rows == 1));
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(verge_durable_close(in_tasks, VERGE_NEVER), 0);
}

/* ---- statistics ---- */

static void test_metrics(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "x", note, NULL, NULL), 0);
    (void)schedule(durable, "x", 0, NULL);
    WAIT_UNTIL(stats_of(durable).done == 1);
    static char text[16384];
    const int length = verge_durable_metrics(durable, text, sizeof(text));
    assert_true(length > 0 && (size_t)length == strlen(text));
    assert_non_null(strstr(text, "\nverge_durable_done_total 1\n"));
    assert_non_null(strstr(text, "\nverge_durable_lateness_seconds_count 1\n"));
    size_t families = 0;
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        families++;
    }
    assert_int_equal(families, sizeof(verge_durable_stats) / sizeof(uint64_t) - 1 + 2); /* each field; two histograms */
    assert_int_equal(verge_durable_metrics(durable, NULL, 0), length);
    char small[100];
    assert_int_equal(verge_durable_metrics(durable, small, sizeof(small)), length);
    assert_memory_equal(small, text, sizeof(small) - 1);
    assert_int_equal(verge_durable_metrics(NULL, text, 1), -EINVAL);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_bytes_arrive),
        ON_A_STORE(test_survives_close),
        ON_A_STORE(test_many),
        ON_A_STORE(test_cancel_and_reset),
        ON_A_STORE(test_info),
        ON_A_STORE(test_running_outside),
        ON_A_STORE(test_a_claim_that_is_over_is_not_running),
        ON_A_STORE(test_cancel_while_running_outside),
        ON_A_STORE(test_reset_while_running_outside),
        ON_A_STORE(test_no_scan_is_waited_for),
        ON_A_STORE(test_no_scan_finds_what_is_woken),
        ON_A_STORE(test_a_late_commit_is_told),
        ON_A_STORE(test_a_late_commit_of_a_node_is_told),
        ON_A_STORE(test_dead_letters),
        ON_A_STORE(test_too_old),
        ON_A_STORE(test_periodic),
        ON_A_STORE(test_concurrency),
        ON_A_STORE(test_rate),
        ON_A_STORE(test_tasks_are_suspended),
        ON_A_STORE(test_metrics),
    };
    return cmocka_run_group_tests_name("durable_calls", tests, NULL, NULL);
}
