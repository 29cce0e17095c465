/* SPDX-License-Identifier: MIT */
/* Durable timers with a rule: when they are due, what happens to missed ticks, to changed time zones, and to machines
 * that lack a zone. Ticks are made overdue by a reset, so that no test waits for a minute to pass. The handler is
 * registered after the reset: if it were registered before, the rule's own next tick could fire first. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable/support.h"
#include "support/cmocka.h"

#define MINUTE (60 * S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static char url[512];
static char folder[64];
static _Atomic(int) runs;
static _Atomic(int) wrong;
static _Atomic(uint64_t) first_due;
static _Atomic(uint64_t) last_due;
static _Atomic(uint64_t) first_missed;
static _Atomic(uint64_t) last_missed;

/* Writes the file of the zone Test/Zone, so many hours ahead of UTC. */
static void make_zone(int hours) {
    static const char block[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1";
    char path[100];
    (void)snprintf(path, sizeof(path), "%s/Test", folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/Test/Zone", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const int seconds = hours * 3600;
    for (int i = 0; i < 2; i++) { /* a block is a header, one type of local time, and the name of that */
        assert_int_equal(fwrite(block, 1, 44, file), 44);
        (void)fprintf(file, "%c%c%c%c%c%c%c", seconds >> 24, seconds >> 16 & 0xFF, seconds >> 8 & 0xFF, seconds & 0xFF,
                      0, 0, 0);
    }
    (void)fprintf(file, "\n<+%02d>-%d\n", hours, hours);
    assert_int_equal(fclose(file), 0);
}

static void remove_zone(void) {
    char path[100];
    (void)snprintf(path, sizeof(path), "%s/Test/Zone", folder);
    assert_int_equal(unlink(path), 0);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("recurring"));
    (void)snprintf(folder, sizeof(folder), "/tmp/verge-recurring-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
    make_zone(1);
    runs = wrong = 0;
    first_due = last_due = first_missed = last_missed = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char path[100];
    durable_drop(url);
    (void)snprintf(path, sizeof(path), "%s/Test/Zone", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/Test", folder);
    (void)rmdir(path);
    (void)rmdir(folder);
    return 0;
}

static verge_durable_verdict note(const verge_durable_firing *firing) {
    wrong += firing->now_ns < firing->due_ns;
    wrong += firing->payload_size != 3 || memcmp(firing->payload, "pay", 3) != 0;
    if (runs == 0) {
        first_due = firing->due_ns;
        first_missed = firing->missed;
    }
    last_due = firing->due_ns;
    last_missed = firing->missed;
    runs++;
    return VERGE_DURABLE_DONE;
}

static verge_durable_request request_of(const char *rule) {
    return (verge_durable_request){.handler = "tick",
                                   .payload = "pay",
                                   .payload_size = 3,
                                   .key = "key",
                                   .policy = VERGE_INTERVAL_SKIP,
                                   .rule = rule};
}

static verge_durable_id schedule(verge_durable *durable, const char *rule, verge_interval_policy policy) {
    verge_durable_request request = request_of(rule);
    verge_durable_id id = 0;
    request.policy = policy;
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    return id;
}

static verge_durable_info info_of(verge_durable *durable, verge_durable_id id) {
    verge_durable_info info;
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    return info;
}

static uint64_t done_of(verge_durable *durable) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    return stats.done;
}

static void add_handler(verge_durable *durable, const char *name, bool is_outside) {
    verge_durable_handler_options options;
    assert_int_equal(verge_durable_handler_options_init(&options, sizeof(options)), 0);
    options.outside = is_outside;
    options.attempts_max = 1;
    assert_int_equal(verge_durable_register(durable, name, note, NULL, &options), 0);
}

static verge_durable *open_with(const char *handler) {
    verge_durable *durable = durable_open(url);
    add_handler(durable, handler, false);
    return durable;
}

/* A timer with a rule is due at the rule's next tick, unless a request has a time, too. The rule can be read back. */
static void test_first_tick(void **state) {
    (void)state;
    verge_durable *durable = open_with("other");
    const uint64_t now_ns = verge_durable_now(durable);
    const verge_durable_id id = schedule(durable, "30 9 * * * Test/Zone", VERGE_INTERVAL_SKIP);
    verge_durable_info info = info_of(durable, id);
    assert_string_equal(info.rule, "30 9 * * * Test/Zone");
    assert_true(info.due_ns > now_ns && info.due_ns <= now_ns + DAY + MINUTE);
    assert_int_equal(info.due_ns % DAY, 8 * HOUR + 30 * MINUTE);
    /* A request may have a time and a rule: then the first tick is at that time. */
    verge_durable_request request = request_of("@hourly");
    request.key = NULL;
    request.due_ns = now_ns + 77 * S;
    verge_durable_id at = 0;
    verge_durable_id many = 0;
    assert_int_equal(verge_durable_start(durable, &request, &at), 0);
    assert_int_equal(verge_durable_start_many(durable, &request, 1, &many), 1);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer WHERE rule = '@hourly'"), 2);
    assert_int_equal(info_of(durable, at).due_ns, request.due_ns);
    assert_int_equal(info_of(durable, many).due_ns, request.due_ns);
    request.due_ns = 0;
    verge_durable_id in = 0;
    void *transaction = sql_open(url);
    assert_int_equal(sql_run(transaction, durable_is_postgres() ? "BEGIN" : "BEGIN IMMEDIATE"), 0);
    request.transaction = transaction;
    assert_int_equal(verge_durable_start(durable, &request, &in), 0);
    assert_int_equal(sql_run(transaction, "COMMIT"), 0);
    sql_close(transaction);
    assert_int_equal(info_of(durable, in).due_ns % HOUR, 0);
    assert_int_equal(verge_durable_check(durable, NULL, 0), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* Skip: of the ticks that were missed in an hour, only one fires. The next one is in the future. */
static void missed_ticks(bool is_outside) {
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "* * * * *", VERGE_INTERVAL_SKIP);
    const uint64_t hour_ago_ns = verge_durable_now(durable) / MINUTE * MINUTE - HOUR;
    assert_int_equal(verge_durable_reset(durable, id, hour_ago_ns), 0);
    add_handler(durable, "tick", is_outside);
    WAIT_UNTIL(done_of(durable) >= 1); /* if the next minute begins meanwhile, its tick fires, too */
    assert_int_equal(wrong, 0);
    assert_int_equal(first_due, hour_ago_ns);
    assert_true(first_missed >= 60);
    const verge_durable_info info = info_of(durable, id);
    assert_string_equal(info.rule, "* * * * *");
    assert_int_equal(info.due_ns % MINUTE, 0);
    assert_true(info.due_ns > hour_ago_ns + HOUR);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_skip(void **state) {
    (void)state;
    missed_ticks(false);
}

static void test_skip_outside(void **state) {
    (void)state;
    missed_ticks(true);
}

/* Burst: each missed tick fires. */
static void test_burst(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "@hourly", VERGE_INTERVAL_BURST);
    const uint64_t first_ns = verge_durable_now(durable) / HOUR * HOUR - 5 * HOUR;
    assert_int_equal(verge_durable_reset(durable, id, first_ns), 0);
    add_handler(durable, "tick", false);
    WAIT_UNTIL(done_of(durable) >= 6);
    assert_int_equal(wrong, 0);
    assert_int_equal(first_due, first_ns);
    assert_true(last_due >= first_ns + 5 * HOUR);
    assert_int_equal(last_missed, 0);
    WAIT_UNTIL(info_of(durable, id).due_ns > first_ns + 5 * HOUR);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* The zone is changed while the timer waits. Its next tick is as it was; the one after it follows the new zone. */
static void test_changed_zone(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "0 9 * * * Test/Zone", VERGE_INTERVAL_SKIP);
    assert_int_equal(info_of(durable, id).due_ns % DAY, 8 * HOUR);
    make_zone(4);
    assert_int_equal(info_of(durable, id).due_ns % DAY, 8 * HOUR);
    assert_int_equal(verge_durable_reset(durable, id, 1), 0);
    add_handler(durable, "tick", false);
    WAIT_UNTIL(done_of(durable) >= 1);
    assert_int_equal(info_of(durable, id).due_ns % DAY, 5 * HOUR);
    assert_int_equal(first_missed, 10000);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* A machine without the zone does not run the handler, and counts the attempt. If the timer is retried on a machine
 * that has the zone, it goes on by its rule. */
static void test_missing_zone(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    const verge_durable_id id = schedule(durable, "0 9 * * * Test/Zone", VERGE_INTERVAL_SKIP);
    remove_zone();
    assert_int_equal(verge_durable_reset(durable, id, 1), 0);
    add_handler(durable, "tick", false);
    WAIT_UNTIL(info_of(durable, id).died_ns != 0);
    assert_int_equal(runs, 0);
    assert_string_equal(info_of(durable, id).reason, "its time zone cannot be read");
    assert_string_equal(info_of(durable, id).rule, "0 9 * * * Test/Zone");
    make_zone(1);
    assert_int_equal(verge_durable_retry(durable, id), 0);
    WAIT_UNTIL(done_of(durable) >= 1);
    assert_int_equal(info_of(durable, id).died_ns, 0);
    assert_int_equal(info_of(durable, id).due_ns % DAY, 8 * HOUR);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* A request that replaces also replaces the rule; one that moves leaves it. */
static void test_replaced_rule(void **state) {
    (void)state;
    verge_durable *durable = open_with("other");
    const verge_durable_id id = schedule(durable, "@daily", VERGE_INTERVAL_SKIP);
    verge_durable_request request = request_of("@hourly");
    verge_durable_id replaced = 0;
    request.on_conflict = VERGE_DURABLE_REPLACE;
    assert_int_equal(verge_durable_start(durable, &request, &replaced), 0);
    assert_int_equal(replaced, id);
    assert_string_equal(info_of(durable, id).rule, "@hourly");
    assert_int_equal(info_of(durable, id).due_ns % HOUR, 0);
    request.rule = NULL;
    request.due_ns = verge_durable_now(durable) + 77 * DAY;
    request.on_conflict = VERGE_DURABLE_MOVE;
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    assert_string_equal(info_of(durable, id).rule, "@hourly");
    assert_int_equal(info_of(durable, id).due_ns, request.due_ns);
    request.on_conflict = VERGE_DURABLE_REPLACE;
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    assert_string_equal(info_of(durable, id).rule, "");
    /* The same id with another rule is another timer. */
    request = request_of("@weekly");
    request.id = id;
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EEXIST);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void test_refused(void **state) {
    (void)state;
    verge_durable *durable = open_with("tick");
    verge_durable_request request = request_of("0 9 * *");
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EINVAL);
    request.rule = "0 9 * * * Test/Nowhere";
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EINVAL);
    request.rule = "";
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EINVAL);
    request = request_of("@daily");
    request.period_ns = S;
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EINVAL);
    const verge_durable_request two[2] = {request_of("@daily"), request_of("@never")};
    assert_int_equal(verge_durable_start_many(durable, two, 2, NULL), -EINVAL);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    /* Older programs may use these tables, and would lose the rule. */
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "UPDATE verge_meta SET min_version = 2"), 0);
    durable = open_with("tick");
    request = request_of("@daily");
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EPROTO);
    request.rule = NULL;
    request.due_ns = verge_durable_now(durable) + HOUR;
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM verge_timer"), 1);
    sql_close(handle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_tick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skip_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_zone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_zone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaced_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("durable_recurring", tests, NULL, NULL);
}
