/* SPDX-License-Identifier: MIT */
/* Keys: what a second start with a key does (refuse, replace, move), cancel and reset by key, and keys in other
 * transactions. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
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
    /* There is no timer to replace yet. */
    const verge_durable_id id = schedule("k", "a", 3600 * S, VERGE_DURABLE_REPLACE);
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
    assert_int_equal(verge_durable_start(durable, &without_key, NULL), -EINVAL);
    const verge_durable_request same = {.handler = "count", .key = "k", .delay_ns = 3600 * S};
    assert_int_equal(verge_durable_start(durable, &same, NULL), -EEXIST);
    /* the same key twice in one call: the second one replaces the first */
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
    assert_int_equal(verge_durable_start_many(durable, twice, 2, ids), 2);
    assert_int_equal(ids[0], ids[1]);
    look(ids[0], &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "y");
    /* a timer that was moved fires at its new time */
    assert_int_equal(verge_durable_register(durable, "count", count, NULL, NULL), 0);
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

/* Several threads start a timer with the same key, again and again: one timer is left. */
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
    assert_int_equal(verge_durable_register(durable, "count", count, NULL, NULL), 0);
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
    assert_int_equal(verge_durable_cancel_key(durable, "stay", "other", 0), -ENOENT); /* it is another handler's key */
    assert_int_equal(verge_durable_cancel_key(durable, "bad name", "k", 1), -EINVAL);
    assert_int_equal(verge_durable_cancel_key(durable, "count", NULL, 0), -EINVAL);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 1);
    /* after a reset by key to a past time, the timer fires */
    assert_int_equal(verge_durable_register(durable, "count", count, NULL, NULL), 0);
    assert_int_equal(verge_durable_reset_key(durable, "count", "other", 5, 1), 0);
    WAIT_UNTIL(runs == 1);
    /* after a reset by key while its handler runs outside, a timer is due again at the new time */
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    (void)sem_init(&gate, 0, 0);
    is_inside = false;
    assert_int_equal(verge_durable_register(durable, "stay", stay, NULL, &options), 0);
    const verge_durable_request request = {.handler = "stay", .key = "k"};
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    WAIT_UNTIL(is_inside);
    assert_int_equal(verge_durable_reset_key(durable, "stay", "k", 0, UINT64_C(4102444800) * S), VERGE_RUNNING);
    (void)sem_post(&gate);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE handler = 'stay' AND running = 0") == 1);
    look(id, &due_ns, payload, sizeof(payload));
    assert_int_equal(due_ns, UINT64_C(4102444800) * S);
    /* after a cancel by key while its handler runs, a timer does not run again */
    is_inside = false;
    assert_int_equal(verge_durable_reset_key(durable, "stay", "k", 0, 1), 0);
    WAIT_UNTIL(is_inside);
    assert_int_equal(verge_durable_cancel_key(durable, "stay", "k", 0), VERGE_RUNNING);
    (void)sem_post(&gate);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
}

/* ---- a periodic timer whose handler starts timers with the same key ---- */

static verge_durable_verdict schedule_itself(const verge_durable_firing *firing) {
    const verge_durable_request requests[] = {
        {.handler = "again", .key = "tick", .delay_ns = 3600 * S},
        {.handler = "again", .key = "another", .delay_ns = 3600 * S},
    };
    verge_durable_id ids[2];
    refused += verge_durable_start(firing->durable, &requests[0], NULL) == -EEXIST;
    (void)!verge_durable_start_many(firing->durable, requests, 2, ids);
    refused += ids[0] == 0;
    runs++;
    return VERGE_DURABLE_DONE;
}

/* Takes the key by SQL, which the library does not notice. */
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
    assert_int_equal(verge_durable_register(durable, "again", schedule_itself, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "again", .key = "tick", .period_ns = 20 * MS};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(runs >= 3); /* the periodic timer goes on */
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
    assert_int_equal(verge_durable_register(durable, "steal", steal_key, NULL, NULL), 0);
    assert_int_equal(verge_durable_start(durable, &stolen, NULL), 0);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM verge_dead WHERE reason = 'another timer has its key'") == 1);
    sql_close(handle);
}

/* The same for a timer with a rule. */
static void test_the_key_of_a_timer_with_a_rule(void **state) {
    (void)state;
    verge_durable_id id = 0;
    verge_durable_info info;
    assert_int_equal(verge_durable_register(durable, "again", schedule_itself, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "again", .key = "tick", .rule = "@daily", .delay_ns = 1};
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    WAIT_UNTIL(runs == 1 && sql_ask(url, "SELECT count(*) FROM verge_timer") == 2); /* the timer, and "another" */
    assert_int_equal(refused, 2);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_string_equal(info.rule, "@daily");
    assert_int_equal(info.died_ns, 0);
}

/* ---- a dead timer whose key is taken ---- */

static verge_durable_id dead_id;
static _Atomic(int) retried;
static _Atomic(int) started;

static verge_durable_verdict die(const verge_durable_firing *firing) {
    dead_id = firing->id;
    return VERGE_DURABLE_DEAD;
}

/* The refusal does not undo what else the handler does. */
static verge_durable_verdict retry_dead(const verge_durable_firing *firing) {
    const verge_durable_request request = {.handler = "later", .delay_ns = 3600 * S};
    retried = verge_durable_retry(firing->durable, dead_id);
    started = verge_durable_start(firing->durable, &request, NULL);
    runs++;
    return VERGE_DURABLE_DONE;
}

static void test_a_dead_timer_whose_key_is_taken(void **state) {
    (void)state;
    retried = started = 1;
    assert_int_equal(verge_durable_register(durable, "die", die, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "die", .key = "k"};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_dead") == 1);
    const verge_durable_request later = {.handler = "die", .key = "k", .delay_ns = 3600 * S};
    assert_int_equal(verge_durable_start(durable, &later, NULL), 0);
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.attempts_max = 1;
    assert_int_equal(verge_durable_register(durable, "retry", retry_dead, NULL, &options), 0);
    const verge_durable_request retry = {.handler = "retry"};
    assert_int_equal(verge_durable_start(durable, &retry, NULL), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE handler = 'retry'") == 0);
    assert_int_equal(retried, -EEXIST);
    assert_int_equal(started, 0);
    assert_int_equal(runs, 1);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE handler = 'later'"), 1);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_dead"), 1);
}

static void test_a_dead_timer_whose_key_is_held(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip(); /* nobody else writes while a handler runs */
    }
    retried = started = 1;
    assert_int_equal(verge_durable_register(durable, "die", die, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "die", .key = "k"};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_dead") == 1);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "BEGIN; INSERT INTO verge_timer VALUES (123392, 0, 9000000000000000000, 0, 0, 0, "
                                     "0, 0, 'die', 'k', '', NULL)"),
                     0);
    assert_int_equal(verge_durable_register(durable, "retry", retry_dead, NULL, NULL), 0);
    const verge_durable_request retry = {.handler = "retry"};
    assert_int_equal(verge_durable_start(durable, &retry, NULL), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE handler = 'retry'") == 0);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    sql_close(handle);
    assert_int_equal(retried, -EAGAIN); /* not VERGE_RUNNING: it is dead */
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_dead"), 1);
}

/* ---- ids that callers give ---- */

static int repeat(verge_durable_id id, const char *key, const char *payload, verge_durable_conflict what) {
    const verge_durable_request request = {.handler = "count",
                                           .key = key,
                                           .delay_ns = 3600 * S,
                                           .payload = payload,
                                           .payload_size = strlen(payload),
                                           .on_conflict = what,
                                           .id = id};
    verge_durable_id same = id;
    const int error = verge_durable_start(durable, &request, &same);
    assert_int_equal(same, id);
    return error;
}

static void test_ids_of_the_callers(void **state) {
    (void)state;
    char payload[16];
    uint64_t due_ns;
    const verge_durable_id id = schedule(NULL, "a", 3600 * S, VERGE_DURABLE_REFUSE);
    const verge_durable_id with_key = schedule("k", "b", 3600 * S, VERGE_DURABLE_REFUSE);
    assert_int_equal(repeat(id, NULL, "a", VERGE_DURABLE_REFUSE), 0);
    assert_int_equal(repeat(id, NULL, "b", VERGE_DURABLE_REFUSE), -EEXIST);
    for (int what = VERGE_DURABLE_REPLACE; what <= VERGE_DURABLE_MOVE; what++) {
        assert_int_equal(repeat(id, "free", "c", (verge_durable_conflict)what), -EEXIST); /* another timer's id */
        assert_int_equal(repeat(id, "k", "c", (verge_durable_conflict)what), -EEXIST);
        assert_int_equal(repeat(with_key, "k", "c", (verge_durable_conflict)what), 0);
    }
    look(with_key, &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "c");
    look(id, &due_ns, payload, sizeof(payload));
    assert_string_equal(payload, "a");
    assert_int_equal(repeat((id & ~UINT64_C(255)) | 200, NULL, "a", VERGE_DURABLE_REFUSE), -EINVAL); /* no such shard */
    /* the same id twice in a call is one timer */
    const verge_durable_id other = id + (UINT64_C(1) << 8) * 1000;
    const verge_durable_request twice[] = {
        {.handler = "count", .delay_ns = 3600 * S, .id = other},
        {.handler = "count", .delay_ns = 3600 * S, .id = other},
    };
    verge_durable_id ids[2];
    assert_int_equal(verge_durable_start_many(durable, twice, 2, ids), 2);
    assert_int_equal(ids[0], other);
    assert_int_equal(ids[1], other);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 3);
}

/* A start that is repeated with another time does not move the timer: it fires at its first time, without a scan. */
static void test_a_repeated_start_with_another_time(void **state) {
    (void)state;
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    verge_durable_options options = durable_options(url);
    options.rescan_ns = options.horizon_ns = 7200 * S;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.shards == options.shard_count);
    assert_int_equal(verge_durable_register(durable, "count", count, NULL, NULL), 0);
    const verge_durable_id id = schedule(NULL, "a", S, VERGE_DURABLE_REFUSE);
    assert_int_equal(repeat(id, NULL, "a", VERGE_DURABLE_REFUSE), 0); /* asks for a time in an hour */
    WAIT_UNTIL(runs == 1);
}

/* ---- the other timers of a batch ---- */

enum { BEFORE, ACTS, MATE, WITH_KEY, RECURS_BEFORE, RECURS, BATCH };

static verge_durable_id batch_ids[BATCH];
static _Atomic(int) ran[BATCH];
static _Atomic(int) answers[16];
static _Atomic(int) answer_count;

static void answer(int result) {
    answers[answer_count] = result;
    answer_count++;
}

static int start_key(verge_durable *node, const char *key, uint64_t period_ns, verge_durable_conflict what) {
    const verge_durable_request request = {
        .handler = "batch", .key = key, .delay_ns = 3600 * S, .period_ns = period_ns, .on_conflict = what};
    return verge_durable_start(node, &request, NULL);
}

static verge_durable_verdict act_on_batch(const verge_durable_firing *firing) {
    verge_durable *node = firing->durable;
    int which = BEFORE;
    while (which < BATCH - 1 && batch_ids[which] != firing->id) {
        which++;
    }
    ran[which]++;
    if (which != ACTS) {
        return VERGE_DURABLE_DONE;
    }
    answer(verge_durable_cancel(node, batch_ids[BEFORE]));
    answer(verge_durable_cancel(node, batch_ids[ACTS])); /* the timer that is running */
    answer(verge_durable_cancel(node, batch_ids[MATE]));
    answer(verge_durable_reset(node, batch_ids[MATE], firing->now_ns + 3600 * S));
    answer(verge_durable_cancel_key(node, "batch", "key", 0));
    answer(verge_durable_reset_key(node, "batch", "key", 0, firing->now_ns + 3600 * S));
    answer(verge_durable_cancel(node, batch_ids[RECURS_BEFORE]));
    answer(start_key(node, "key", 0, VERGE_DURABLE_REFUSE));
    answer(start_key(node, "key", 0, VERGE_DURABLE_REPLACE));
    answer(start_key(node, "recurs before", 3600 * S, VERGE_DURABLE_REFUSE));
    answer(start_key(node, "recurs", 3600 * S, VERGE_DURABLE_MOVE));
    answer(start_key(node, "before", 0, VERGE_DURABLE_REFUSE)); /* the timer before has ended */
    answer(start_key(node, "acts", 0, VERGE_DURABLE_REFUSE));   /* its own key: the next timer of a chain */
    answer(verge_durable_cancel_key(node, "batch", "acts", 0)); /* the next timer of the chain */
    return VERGE_DURABLE_DONE;
}

/* All timers are overdue when their handler is registered. So they are in one batch, in the order of their times. */
static void test_other_timers_of_the_batch(void **state) {
    (void)state;
    static const int expected[] = {
        -ENOENT,
        VERGE_RUNNING,
        VERGE_RUNNING,
        VERGE_RUNNING,
        VERGE_RUNNING,
        VERGE_RUNNING,
        VERGE_RUNNING,
        -EEXIST,
        -EEXIST,
        -EEXIST,
        -EEXIST,
        0,
        0,
        0,
    };
    const uint64_t hour = 3600 * S;
    const verge_durable_request requests[BATCH] = {
        [BEFORE] = {.handler = "batch", .due_ns = 1, .key = "before"},
        [RECURS_BEFORE] =
            {.handler = "batch", .due_ns = 2, .key = "recurs before", .period_ns = hour, .policy = VERGE_INTERVAL_SKIP},
        [ACTS] = {.handler = "batch", .due_ns = 3, .key = "acts"},
        [MATE] = {.handler = "batch", .due_ns = 4},
        [WITH_KEY] = {.handler = "batch", .due_ns = 5, .key = "key"},
        [RECURS] = {.handler = "batch", .due_ns = 6, .key = "recurs", .period_ns = hour, .policy = VERGE_INTERVAL_SKIP},
    };
    assert_int_equal(verge_durable_start_many(durable, requests, BATCH, batch_ids), BATCH);
    assert_int_equal(verge_durable_register(durable, "batch", act_on_batch, NULL, NULL), 0);
    WAIT_UNTIL(ran[RECURS] == 1);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE due < 10") == 0);
    assert_int_equal(answer_count, sizeof(expected) / sizeof(expected[0]));
    for (int i = 0; i < answer_count; i++) {
        print_message("%d: %d\n", i, answers[i]);
        assert_int_equal(answers[i], expected[i]);
    }
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(ran[i], 1);
    }
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_dead"), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 3); /* two recurring, and a new "before" */
}

/* ---- a key in somebody's open transaction ---- */

static _Atomic(int) blocked_result;

static void *schedule_blocked(void *argument) {
    const verge_durable_request request = {.handler = "count", .key = "k", .delay_ns = 3600 * S};
    blocked_result = verge_durable_start(argument, &request, NULL);
    return NULL;
}

static void *schedule_unrelated(void *argument) {
    for (int i = 0; i < 20; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "u%d", i);
        const verge_durable_request request = {
            .handler = "count", .key = i % 2 == 0 ? key : NULL, .delay_ns = 3600 * S};
        refused += verge_durable_start(argument, &request, NULL) != 0;
        runs++;
    }
    return NULL;
}

/* A call that wants the key waits until the transaction that holds it ends. All other calls go on. */
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
    /* a call with little patience fails */
    options.patience_ns = 200 * MS;
    assert_int_equal(verge_durable_open(&options, &patient), 0);
    assert_int_equal(sql_run(handle, "BEGIN; DELETE FROM verge_timer WHERE name = 'k'"), 0);
    (void)schedule_blocked(patient);
    assert_int_equal(blocked_result, -EAGAIN);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    assert_int_equal(verge_durable_close(patient, VERGE_NEVER), 0);
    sql_close(handle);
}

/* ---- a timer in somebody's open transaction ---- */

static verge_durable_verdict count_outside(const verge_durable_firing *firing) {
    return count(firing);
}

static void test_timers_that_somebody_has_locked(void **state) {
    (void)state;
    enum { MANY = 50, LOCKED = 7 };
    if (!durable_is_postgres()) {
        skip();
    }
    verge_durable_request requests[2 * MANY];
    verge_durable_id ids[2 * MANY];
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    verge_durable_handler_options options;
    char text[200];
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    verge_durable_options node = durable_options(url);
    node.rescan_ns = node.horizon_ns = 3600 * S; /* so no scan finds timers that the window has dropped */
    node.lease_ns = 60 * S;                      /* nobody waits so long for a lock */
    assert_int_equal(verge_durable_open(&node, &durable), 0);
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.shards == node.shard_count);
    for (int i = 0; i < 2 * MANY; i++) {
        requests[i] = (verge_durable_request){.handler = i < MANY ? "count" : "outside", .due_ns = (uint64_t)i + 1};
    }
    assert_int_equal(verge_durable_start_many(durable, requests, (size_t)2 * MANY, ids), 2 * MANY);
    void *handle = sql_open(url);
    (void)snprintf(text, sizeof(text), "BEGIN; SELECT verge_cancel(%lld); SELECT verge_cancel(%lld)",
                   (long long)ids[LOCKED], (long long)ids[MANY + LOCKED]);
    assert_int_equal(sql_run(handle, text), 0);
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    assert_int_equal(verge_durable_register(durable, "outside", count_outside, NULL, &options), 0);
    assert_int_equal(verge_durable_register(durable, "count", count, NULL, NULL), 0);
    WAIT_UNTIL(runs == 2 * MANY - 2);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    WAIT_UNTIL(runs == 2 * MANY);
    WAIT_UNTIL(verge_durable_get_stats(durable, &stats) == 0 && stats.done == UINT64_C(2) * MANY);
    assert_int_equal(stats.fenced, 0);
    assert_int_equal(stats.vanished, 0);
    assert_int_equal(stats.early, 0);
    sql_close(handle);
}

/* ---- keys in another order ---- */

/* Two transactions that insert the same keys do not wait for each other in a circle: keys are inserted in one order,
 * whatever order the call has. And each request gets its own answer. */
static void test_keys_are_inserted_in_one_order(void **state) {
    (void)state;
    enum { KEYS = 300 };
    static char keys[KEYS][8];
    static verge_durable_request requests[KEYS + 2];
    static verge_durable_id ids[KEYS + 2];
    char payload[16];
    uint64_t due_ns;
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%03d", KEYS - 1 - i);
        requests[i] = (verge_durable_request){.handler = i % 2 == 0 ? "a" : "b",
                                              .key = keys[i],
                                              .delay_ns = 3600 * S,
                                              .payload = keys[i],
                                              .payload_size = 3,
                                              .on_conflict = i % 3 == 0 ? VERGE_DURABLE_REPLACE : VERGE_DURABLE_REFUSE};
    }
    requests[KEYS] =
        (verge_durable_request){.handler = "a", .delay_ns = 3600 * S, .payload = "none", .payload_size = 4};
    requests[KEYS + 1] = requests[1]; /* the same key again: refused */
    requests[KEYS + 1].payload = "new";
    assert_int_equal(verge_durable_start_many(durable, requests, KEYS + 2, ids), KEYS + 1);
    assert_int_equal(ids[KEYS + 1], 0);
    for (int i = 0; i <= KEYS; i++) {
        look(ids[i], &due_ns, payload, sizeof(payload));
        assert_string_equal(payload, i == KEYS ? "none" : keys[i]);
    }
    if (durable_is_postgres()) {
        assert_int_equal(sql_ask(url,
                                 "SELECT count(*) FROM (SELECT handler, name, lag(handler) OVER (ORDER BY ctid) AS "
                                 "h, lag(name) OVER (ORDER BY ctid) AS n FROM verge_timer WHERE name IS NOT NULL) "
                                 "t WHERE (handler, name) < (h, n)"),
                         0);
    }
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_replace_and_move),
        ON_A_STORE(test_debounce),
        ON_A_STORE(test_cancel_and_reset_by_key),
        ON_A_STORE(test_the_key_of_a_periodic_timer),
        ON_A_STORE(test_the_key_of_a_timer_with_a_rule),
        ON_A_STORE(test_a_dead_timer_whose_key_is_taken),
        ON_A_STORE(test_a_dead_timer_whose_key_is_held),
        ON_A_STORE(test_ids_of_the_callers),
        ON_A_STORE(test_keys_are_inserted_in_one_order),
        ON_A_STORE(test_a_repeated_start_with_another_time),
        ON_A_STORE(test_other_timers_of_the_batch),
        ON_A_STORE(test_a_key_that_somebody_holds),
        ON_A_STORE(test_timers_that_somebody_has_locked),
    };
    return cmocka_run_group_tests_name("durable_keys", tests, NULL, NULL);
}
