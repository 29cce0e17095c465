/* SPDX-License-Identifier: MIT */
/* Durable timers on the page of a scope: figures are those of get_stats, and a store that does not answer is told. */
#define _GNU_SOURCE

#include <inttypes.h>
#include <stdio.h>

#include "scope/peer.h"
#undef MS
#include "durable/support.h"

static verge_durable_verdict obey(const verge_durable_firing *firing) {
    const char *order = firing->payload;
    verge_durable_retry_after(firing, 0);
    return order[0] == 'd' ? VERGE_DURABLE_DEAD : order[0] == 'r' && firing->attempt == 1 ? VERGE_DURABLE_RETRY : 0;
}

static void schedule(verge_durable *durable, const char *order, uint64_t delay_ns) {
    const verge_durable_request request = {
        .handler = "obey", .delay_ns = delay_ns, .payload = order, .payload_size = strlen(order) + 1};
    assert_int_equal(verge_durable_schedule(durable, &request, NULL), 0);
}

static verge_durable_stats stats_of(verge_durable *durable) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_durable_get_stats(durable, &stats), 0);
    return stats;
}

static const char *snapshot(verge_scope *scope) {
    const char *answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    assert_int_equal(peer_status(answer), 200);
    return answer;
}

/* What a snapshot has of a figure. */
static uint64_t figure(const char *answer, const char *name, const char *field) {
    char text[128];
    (void)snprintf(text, sizeof(text), "{\"name\":\"%s\",", name);
    const char *found = strstr(answer, text);
    assert_non_null(found);
    (void)snprintf(text, sizeof(text), "\"%s\":", field);
    found = strstr(found, text);
    assert_non_null(found);
    return strtoull(found + strlen(text), NULL, 10);
}

static void a_scope_shows_what_get_stats_has(void **state) {
    (void)state;
    const char *url = durable_url("show");
    verge_durable *durable = durable_open(url);
    verge_scope *scope = peer_scope(NULL, NULL);
    verge_scope_panel *panel = NULL;
    assert_int_equal(verge_durable_register(durable, "obey", obey, NULL), 0);
    assert_int_equal(verge_durable_show(durable, scope, &panel), 0);
    for (int i = 0; i < 20; i++) {
        schedule(durable, "o", 0);
    }
    schedule(durable, "retry", 0);
    schedule(durable, "die", 0);
    schedule(durable, "o", 3600 * S); /* not in the window */
    WAIT_UNTIL(stats_of(durable).done == 21 && stats_of(durable).died == 1 && stats_of(durable).shards == 16);
    const char *answer = snapshot(scope);
    const verge_durable_stats stats = stats_of(durable);
    assert_non_null(strstr(answer, "\"panels\":[{\"name\":\"Durable: "));
    assert_int_equal(figure(answer, "Done", "value"), 21);
    assert_int_equal(figure(answer, "Retried", "value"), stats.retried);
    assert_int_equal(stats.retried, 1);
    assert_int_equal(figure(answer, "Dead", "value"), 1);
    assert_int_equal(figure(answer, "Scheduled", "value"), 23);
    assert_int_equal(figure(answer, "Commits", "value"), stats.commits);
    assert_int_equal(figure(answer, "Shards owned", "value"), 16);
    assert_int_equal(figure(answer, "Shards owned", "of"), 16);
    assert_int_equal(figure(answer, "Nodes", "value"), 1);
    assert_int_equal(figure(answer, "In the window", "value"), stats.window);
    assert_int_equal(figure(answer, "Lease left", "of"), 2 * S);
    assert_true(figure(answer, "Lease left", "value") <= 2 * S);
    assert_true(figure(answer, "Late, 99 %", "value") >= figure(answer, "Late, median", "value"));
    assert_int_equal(verge_scope_remove_panel(panel), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_null(strstr(snapshot(scope), "Durable"));
    assert_int_equal(verge_scope_stop(scope), 0);
    durable_drop(url);
}

/* How late the timers of the last seconds were; nothing is told if there were none. */
static void lateness_is_that_of_late(void **state) {
    (void)state;
    const char *url = durable_url("show_late");
    verge_durable *durable = durable_open(url);
    verge_scope *scope = peer_scope(NULL, NULL);
    assert_int_equal(verge_durable_register(durable, "obey", obey, NULL), 0);
    assert_int_equal(verge_durable_show(durable, scope, NULL), 0);
    schedule(durable, "o", 0);
    WAIT_UNTIL(stats_of(durable).done == 1);
    while (figure(snapshot(scope), "Late, median", "value") != 0) { /* 5 to 10 seconds on */
    }
    schedule(durable, "o", 0);
    while (figure(snapshot(scope), "Late, median", "value") == 0) {
    }
    assert_int_equal(verge_scope_stop(scope), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
}

static void a_store_that_does_not_answer_is_told(void **state) {
    (void)state;
    const char *url = durable_url("show_lock");
    verge_durable *durable = durable_open(url);
    verge_scope *scope = peer_scope(NULL, NULL);
    assert_int_equal(verge_durable_show(durable, scope, NULL), 0);
    while (figure(snapshot(scope), "Store answers", "value") != 1) {
    }
    void *other = sql_open(url);
    assert_int_equal(sql_run(other, durable_is_postgres() ? "BEGIN; LOCK TABLE verge_node IN ACCESS EXCLUSIVE MODE"
                                                          : "BEGIN IMMEDIATE"),
                     0);
    while (figure(snapshot(scope), "Store answers", "value") != 0 ||
           figure(snapshot(scope), "Lease left", "value") != 0) {
    }
    assert_int_equal(sql_run(other, "ROLLBACK"), 0);
    while (figure(snapshot(scope), "Store answers", "value") != 1 ||
           figure(snapshot(scope), "Lease left", "value") == 0) {
    }
    sql_close(other);
    assert_int_equal(verge_scope_stop(scope), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
}

static void a_client_shows_its_calls(void **state) {
    (void)state;
    const char *url = durable_url("show_client");
    verge_durable_options options = durable_options(url);
    verge_durable *client = NULL;
    verge_scope *scope = peer_scope(NULL, NULL);
    options.client = true;
    assert_int_equal(verge_durable_open(&options, &client), 0);
    assert_int_equal(verge_durable_show(NULL, scope, NULL), -EINVAL);
    assert_int_equal(verge_durable_show(client, NULL, NULL), -EINVAL);
    assert_int_equal(verge_durable_show(client, scope, NULL), 0);
    schedule(client, "o", 3600 * S);
    const char *answer = snapshot(scope);
    assert_int_equal(figure(answer, "Scheduled", "value"), 1);
    assert_null(strstr(answer, "Shards owned")); /* it has none, and no lease */
    assert_int_equal(verge_scope_stop(scope), 0);
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    durable_drop(url);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_shows_what_get_stats_has),
        cmocka_unit_test(lateness_is_that_of_late),
        cmocka_unit_test(a_store_that_does_not_answer_is_told),
        cmocka_unit_test(a_client_shows_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
