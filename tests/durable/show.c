/* SPDX-License-Identifier: MIT */
/* Durable timers on the page of a scope: the figures are those of get_stats, and the page says if the store does not
 * answer. */
#define _GNU_SOURCE

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "scope/peer.h"
#undef MS
#include "durable/support.h"

static char url[512];
static verge_durable *durable;
static verge_scope *scope;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("show"));
    scope = peer_scope(NULL, NULL);
    durable = NULL;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
    return 0;
}

static void open_and_show(const verge_durable_options *options) {
    assert_int_equal(verge_durable_open(options, &durable), 0);
    assert_int_equal(verge_durable_show(durable, scope, NULL), 0);
}

static verge_durable_verdict obey(const verge_durable_firing *firing) {
    const char *order = firing->payload;
    verge_durable_retry_after(firing, 0);
    return order[0] == 'd' ? VERGE_DURABLE_DEAD : order[0] == 'r' && firing->attempt == 1 ? VERGE_DURABLE_RETRY : 0;
}

static void schedule(const char *order, uint64_t delay_ns) {
    const verge_durable_request request = {
        .handler = "obey", .delay_ns = delay_ns, .payload = order, .payload_size = strlen(order) + 1};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
}

static verge_durable_stats stats(void) {
    verge_durable_stats now = {.struct_size = sizeof(now)};
    assert_int_equal(verge_durable_get_stats(durable, &now), 0);
    return now;
}

static const char *snapshot(void) {
    const char *answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    assert_int_equal(peer_status(answer), 200);
    return answer;
}

/* Returns a field of a figure in the answer, which is a snapshot. */
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

/* Whether the answer has a line of a node whose name ends in `name`, with its shards and the time left of its lease. */
static bool owns(const char *answer, const char *name, unsigned count, const char *shards) {
    char text[128];
    (void)snprintf(text, sizeof(text), "%s\",\"unit\":\"part\",\"value\":%u,\"of\":16,\"text\":\"lease left ", name,
                   count);
    const char *found = strstr(answer, text);
    const char *end = found == NULL ? NULL : strchr(found, '}');
    const char *told = found == NULL ? NULL : strstr(found, shards);
    return told != NULL && told < end;
}

/* Looks until the condition holds; fails after ten minutes. */
#define LOOK_UNTIL(condition) \
    do { \
        const uint64_t verge_until_ns = peer_now() + 600 * SECOND; \
        while (!(condition)) { \
            assert_true(peer_now() < verge_until_ns); \
        } \
    } while (0)

/* The page shows the commit times of the last seconds. So each look starts a timer, even if a look takes long. */
static void shows_commit_time(void) {
    const char *answer = NULL;
    verge_histogram commit_time = {0};
    LOOK_UNTIL((schedule("o", 3600 * S), answer = snapshot(), figure(answer, "Commit time, median", "value") != 0));
    assert_true(figure(answer, "Commit time, 99 %", "value") >= figure(answer, "Commit time, median", "value"));
    assert_int_equal(verge_durable_get_histograms(durable, NULL, &commit_time), 0);
    assert_true(figure(answer, "Commit time, 99 %", "value") / 2 <= verge_histogram_quantile(&commit_time, 1));
}

static void a_scope_shows_what_get_stats_has(void **state) {
    (void)state;
    verge_scope_panel *panel = NULL;
    durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "obey", obey, NULL, NULL), 0);
    assert_int_equal(verge_durable_show(durable, scope, &panel), 0);
    for (int i = 0; i < 20; i++) {
        schedule("o", 0);
    }
    schedule("retry", 0);
    schedule("die", 0);
    schedule("o", 3600 * S); /* due too late to be in the window */
    WAIT_UNTIL(stats().done == 21 && stats().died == 1 && stats().shards == 16);
    const char *answer = snapshot();
    const verge_durable_stats now = stats();
    assert_non_null(strstr(answer, "\"panels\":[{\"name\":\"Durable: "));
    assert_int_equal(figure(answer, "Done", "value"), 21);
    assert_int_equal(figure(answer, "Retried", "value"), now.retried);
    assert_int_equal(now.retried, 1);
    assert_int_equal(figure(answer, "Given up", "value"), 1);
    assert_int_equal(figure(answer, "Scheduled", "value"), 23);
    assert_int_equal(figure(answer, "Commits", "value"), now.commits);
    assert_int_equal(figure(answer, "Shards owned", "value"), 16);
    assert_int_equal(figure(answer, "Shards owned", "of"), 16);
    assert_int_equal(figure(answer, "Nodes", "value"), 1);
    assert_int_equal(figure(answer, "In the window", "value"), now.window);
    assert_int_equal(figure(answer, "Lease left", "of"), 2 * S);
    assert_true(figure(answer, "Lease left", "value") <= 2 * S);
    assert_true(figure(answer, "Late, 99 %", "value") >= figure(answer, "Late, median", "value"));
    verge_histogram commit_time = {0};
    assert_int_equal(verge_durable_get_histograms(durable, NULL, &commit_time), 0);
    assert_true(verge_histogram_count(&commit_time) > now.commits); /* commits of calls and of firings */
    assert_true(verge_histogram_count(&commit_time) <= stats().commits + stats().firings);
    shows_commit_time();
    LOOK_UNTIL(figure(snapshot(), "Dead letters", "value") == 1);
    LOOK_UNTIL(owns(snapshot(), " (this node)", 16, "shards 0-15\"}"));
    assert_int_equal(verge_scope_remove_panel(panel), 0);
    assert_null(strstr(snapshot(), "Durable"));
}

/* The page shows how late the timers of the last seconds were, and 0 if there were none. */
static void lateness_is_that_of_late(void **state) {
    (void)state;
    const verge_durable_options options = durable_options(url);
    open_and_show(&options);
    assert_int_equal(verge_durable_register(durable, "obey", obey, NULL, NULL), 0);
    schedule("o", 0);
    WAIT_UNTIL(stats().done == 1);
    LOOK_UNTIL(figure(snapshot(), "Late, median", "value") == 0); /* 0 again after half a lease or a whole one */
    LOOK_UNTIL(figure(snapshot(), "Commit time, 99 %", "value") == 0);
    LOOK_UNTIL((schedule("o", 0), figure(snapshot(), "Late, median", "value") != 0));
    shows_commit_time();
}

static void a_store_that_does_not_answer_is_told(void **state) {
    (void)state;
    const verge_durable_options options = durable_options(url);
    open_and_show(&options);
    LOOK_UNTIL(figure(snapshot(), "Store answers", "value") == 1);
    void *other = sql_open(url);
    assert_int_equal(sql_run(other, durable_is_postgres() ? "BEGIN; LOCK TABLE verge_node IN ACCESS EXCLUSIVE MODE"
                                                          : "BEGIN IMMEDIATE"),
                     0);
    LOOK_UNTIL(figure(snapshot(), "Store answers", "value") == 0);
    LOOK_UNTIL(figure(snapshot(), "Lease left", "value") == 0);
    assert_int_equal(sql_run(other, "ROLLBACK"), 0);
    LOOK_UNTIL(figure(snapshot(), "Store answers", "value") == 1);
    LOOK_UNTIL(figure(snapshot(), "Lease left", "value") != 0);
    sql_close(other);
}

/* ---- who owns what ---- */

static void owners_of_shards_are_told(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    verge_durable_owner owners[3];
    verge_durable *other = NULL;
    options.lease_ns = 600 * S; /* no lease ends, however busy the machine is */
    options.name = "here";
    open_and_show(&options);
    LOOK_UNTIL(owns(snapshot(), "\"here (this node)", 16, "shards 0-15\"}"));
    options.name = "there \"<b>\"";
    assert_int_equal(verge_durable_open(&options, &other), 0);
    LOOK_UNTIL(owns(snapshot(), "\"here (this node)", 8, "shards 0-7\"}"));
    LOOK_UNTIL(owns(snapshot(), "\"there \\u0022\\u003cb\\u003e\\u0022", 8, "shards 8-15\"}"));
    assert_int_equal(verge_durable_list_owners(NULL, owners, 3), -EINVAL);
    assert_int_equal(verge_durable_list_owners(durable, NULL, 3), -EINVAL);
    assert_int_equal(verge_durable_list_owners(durable, owners, 1), 1); /* there are more, but no room */
    assert_int_equal(verge_durable_list_owners(other, owners, 3), 2);
    assert_string_equal(owners[0].name, "here");
    assert_string_equal(owners[1].name, "there \"<b>\"");
    assert_true(!owners[0].is_this && owners[1].is_this);
    assert_true(owners[0].node < owners[1].node);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(owners[i].shard_count, 8);
        assert_int_equal(owners[i].shards[i], 0xFF);
        assert_int_equal(owners[i].shards[1 - i], 0);
        assert_true(owners[i].lease_until_ns > 0);
    }
    assert_int_equal(verge_durable_close(other, VERGE_NEVER), 0);
    LOOK_UNTIL(owns(snapshot(), "\"here (this node)", 16, "shards 0-15\"}"));
    assert_null(strstr(snapshot(), "there"));
}

/* There are shards of a node whose lease is over, and shards of nobody: two more nodes have not taken their part
 * yet. */
static void shards_without_a_lease_are_told(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    options.lease_ns = 600 * S;
    options.rescan_ns = S / 10;
    options.name = "here";
    open_and_show(&options);
    LOOK_UNTIL(owns(snapshot(), "\"here (this node)", 16, "shards 0-15\"}"));
    void *other = sql_open(url);
    /* The node sees all changes at one moment. */
    assert_int_equal(sql_run(other, durable_is_postgres() ? "BEGIN" : "BEGIN IMMEDIATE"), 0);
    assert_int_equal(sql_run(other, "INSERT INTO verge_node VALUES (1000001, 'x', 9000000000000000000, 0)"), 0);
    assert_int_equal(sql_run(other, "INSERT INTO verge_node VALUES (1000002, 'y', 9000000000000000000, 0)"), 0);
    assert_int_equal(sql_run(other, "INSERT INTO verge_node SELECT 1000000, 'late', lease_until - 601000000000, 0 "
                                    "FROM verge_node WHERE name = 'here'"),
                     0);
    assert_int_equal(sql_run(other, "UPDATE verge_shard SET owner = 1000000 WHERE shard IN (1, 2, 3, 5)"), 0);
    assert_int_equal(sql_run(other, "COMMIT"), 0);
    LOOK_UNTIL(owns(snapshot(), "\"here (this node)", 6, "shards 0, 4, 6-9\"}"));
    const char *answer = snapshot();
    assert_non_null(strstr(answer, "{\"name\":\"late\",\"unit\":\"part\",\"value\":4,\"of\":16,"
                                   "\"text\":\"no lease; shards 1-3, 5\"}"));
    assert_non_null(strstr(answer, "{\"name\":\"nobody\",\"unit\":\"part\",\"value\":6,\"of\":16,"
                                   "\"text\":\"shards 10-15\"}"));
    sql_close(other);
}

/* Returns when a connection of verge sent its last query to the server. */
static int64_t last_question(void) {
    return !durable_is_postgres()
               ? 0
               : sql_ask(url, "SELECT (extract(epoch FROM max(query_start)) * 1000000)::bigint FROM pg_stat_activity "
                              "WHERE application_name = 'verge-durable' AND datname = current_database()");
}

/* Looks cost the store nothing but a few queries at each renewal of the lease. In this test the lease is never
 * renewed. */
static void looks_ask_the_store_nothing(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    options.lease_ns = options.rescan_ns = options.horizon_ns = 3600 * S;
    open_and_show(&options);
    WAIT_UNTIL(stats().shards == 16 && stats().queries > 0);
    (void)snapshot();
    uint64_t before = 0;
    int64_t last = -1;
    for (int i = 0; i < 5 || before != stats().queries || last != last_question(); i++) {
        assert_true(i < 100); /* the first window may still be read */
        before = stats().queries;
        last = last_question();
        (void)snapshot();
        durable_nap(10); /* time for the keeper, if a look had asked it for something */
    }
}

/* ---- the backlog ---- */

static atomic_bool may_go_on;

static verge_durable_verdict wait(const verge_durable_firing *firing) {
    (void)firing;
    while (!atomic_load(&may_go_on)) {
        durable_nap(1);
    }
    return VERGE_DURABLE_DONE;
}

static void timers_that_are_overdue_are_told(void **state) {
    (void)state;
    const verge_durable_options options = durable_options(url);
    const verge_durable_request requests[] = {
        {.handler = "wait"}, {.handler = "wait"}, {.handler = "wait"}, {.handler = "wait", .delay_ns = 3600 * S}};
    open_and_show(&options);
    assert_int_equal(verge_durable_register(durable, "wait", wait, NULL, NULL), 0);
    assert_int_equal(verge_durable_start_many(durable, requests, 4, NULL), 4);
    LOOK_UNTIL(figure(snapshot(), "Overdue", "value") == 3);
    atomic_store(&may_go_on, true);
    LOOK_UNTIL(figure(snapshot(), "Overdue", "value") == 0);
}

/* ---- what can be done ---- */

static char acted[64]; /* the body of the last answer to act_with */

/* Sends a POST as the page does; `fields` replaces the page's header fields. Returns the status of the answer. */
static int act_with(const char *fields, const char *path) {
    char origin[64];
    char whole[256];
    (void)snprintf(origin, sizeof(origin), "Origin: http://127.0.0.1:%u\r\nContent-Length: 0\r\n", peer_port(scope));
    (void)snprintf(whole, sizeof(whole), "/" TOKEN "%s", path);
    const char *answer = peer_ask(peer_port(scope), "POST", whole, fields == NULL ? origin : fields);
    const char *body = strstr(answer, "\r\n\r\n");
    (void)snprintf(acted, sizeof(acted), "%s", body == NULL ? "" : body + 4);
    return peer_status(answer);
}

/* Returns /act/PANEL/ID/ACTION, with the number that the panel has in a snapshot. */
static const char *path_of(verge_durable_id id, const char *action) {
    static char path[128];
    const uint64_t number = figure(snapshot(), "Durable: here", "id");
    (void)snprintf(path, sizeof(path), "/act/%" PRIu64 "/%" PRIu64 "/%s", number, id, action);
    return path;
}

static bool lists(verge_durable_id id, const char *group) {
    char text[128];
    (void)snprintf(text, sizeof(text), "{\"id\":\"%" PRIu64 "\",\"group\":\"%s", id, group);
    return strstr(snapshot(), text) != NULL;
}

static int64_t count_of(const char *table, verge_durable_id id) {
    char text[100];
    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s WHERE id = %" PRIu64, table, id);
    return sql_ask(url, text);
}

static verge_durable_id dead_id(int index) {
    verge_durable_info infos[3];
    WAIT_UNTIL(verge_durable_list(durable, true, 0, infos, 3) > index);
    return infos[index].id;
}

static void open_with_dead(int count) {
    verge_durable_options options = durable_options(url);
    options.name = "here";
    open_and_show(&options);
    assert_int_equal(verge_durable_register(durable, "obey", obey, NULL, NULL), 0);
    for (int i = 0; i < count; i++) {
        schedule("die", 0);
    }
    WAIT_UNTIL(stats().died == (uint64_t)count);
}

/* One timer is overdue, since nobody has registered its handler. */
static void timers_are_listed_and_acted_on(void **state) {
    (void)state;
    verge_durable_id overdue;
    const verge_durable_request request = {.handler = "nobody", .due_ns = 1, .key = "the <key>"};
    open_with_dead(2);
    assert_int_equal(verge_durable_start(durable, &request, &overdue), 0);
    const verge_durable_id first = dead_id(0);
    const verge_durable_id second = dead_id(1);
    LOOK_UNTIL(lists(overdue, "Overdue") && lists(first, "Dead") && lists(second, "Dead"));
    assert_non_null(strstr(snapshot(), "after 1 attempts: its handler said so\",\"actions\":[\"retry\",\"forget\"]}"));
    assert_int_equal(act_with(NULL, path_of(first, "forget")), 200);
    assert_string_equal(acted, "done\n");
    assert_int_equal(count_of("verge_dead", first), 0);
    assert_int_equal(act_with(NULL, path_of(first, "forget")), 404);
    assert_int_equal(act_with(NULL, path_of(overdue, "cancel")), 200);
    assert_int_equal(count_of("verge_timer", overdue), 0);
    LOOK_UNTIL(!lists(first, "Dead") && !lists(overdue, "Overdue") && lists(second, "Dead"));
    assert_int_equal(act_with(NULL, path_of(second, "retry")), 200);
    WAIT_UNTIL(stats().died == 3); /* it has died once more */
}

static void strangers_cannot_act(void **state) {
    (void)state;
    char path[256];
    open_with_dead(1);
    const verge_durable_id id = dead_id(0);
    assert_int_equal(act_with("Content-Length: 0\r\n", path_of(id, "forget")), 403); /* no Origin */
    assert_int_equal(act_with("Origin: http://evil.example\r\nContent-Length: 0\r\n", path_of(id, "forget")), 403);
    assert_int_equal(act_with("Origin: null\r\nContent-Length: 0\r\n", path_of(id, "forget")), 403);
    (void)snprintf(path, sizeof(path), "Origin: http://127.0.0.1:%u\r\nContent-Length: 0\r\n", peer_port(scope));
    assert_int_equal(peer_status(peer_ask(peer_port(scope), "POST", path_of(id, "forget"), path)), 404); /* no token */
    (void)snprintf(path, sizeof(path), "/" TOKEN "%s", path_of(id, "forget"));
    const char *answer = peer_ask(peer_port(scope), "GET", path, "");
    assert_int_equal(peer_status(answer), 405);
    assert_non_null(strstr(answer, "\r\nAllow: POST\r\n"));
    assert_int_equal(act_with(NULL, path_of(id, "explode")), 409);
    assert_int_equal(act_with(NULL, path_of(id, "Forget")), 404);
    assert_int_equal(act_with(NULL, path_of(id, "forget/")), 404);
    assert_int_equal(act_with(NULL, "/act/99999/1/forget"), 404); /* no such panel */
    assert_int_equal(act_with(NULL, "/act/1/1"), 404);
    assert_int_equal(act_with(NULL, "/act/1/99999999999999999999999/forget"), 404);
    assert_int_equal(count_of("verge_dead", id), 1);
    assert_int_equal(act_with(NULL, path_of(id, "forget")), 200);
    assert_int_equal(count_of("verge_dead", id), 0);
}

static void a_client_shows_its_calls(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    options.client = true;
    open_and_show(&options);
    assert_int_equal(verge_durable_show(NULL, scope, NULL), -EINVAL);
    assert_int_equal(verge_durable_show(durable, NULL, NULL), -EINVAL);
    schedule("o", 3600 * S);
    const char *answer = snapshot();
    assert_int_equal(figure(answer, "Scheduled", "value"), 1);
    assert_null(strstr(answer, "Shards owned")); /* a client has no shards, and no lease */
    char text[16384];
    const int size = verge_durable_metrics(durable, text, sizeof(text));
    assert_true(size > 0 && (size_t)size < sizeof(text));
    assert_non_null(strstr(text, "\n# TYPE verge_durable_commit_seconds histogram\n"));
    assert_non_null(strstr(text, "\nverge_durable_commit_seconds_count 1\n"));
    shows_commit_time();
}

#define ON_A_SCOPE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_SCOPE(a_scope_shows_what_get_stats_has),     ON_A_SCOPE(lateness_is_that_of_late),
        ON_A_SCOPE(a_store_that_does_not_answer_is_told), ON_A_SCOPE(owners_of_shards_are_told),
        ON_A_SCOPE(shards_without_a_lease_are_told),      ON_A_SCOPE(looks_ask_the_store_nothing),
        ON_A_SCOPE(timers_that_are_overdue_are_told),     ON_A_SCOPE(a_client_shows_its_calls),
        ON_A_SCOPE(timers_are_listed_and_acted_on),       ON_A_SCOPE(strangers_cannot_act),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
