/* SPDX-License-Identifier: MIT */
/* Controls of handlers in the whole cluster: pause and resume, and limits for all nodes together. Also priorities, and
 * handlers that are told to stop. */
#define _GNU_SOURCE

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/support.h"
#include "support/cmocka.h"

enum { NODES = 2, SOME = 20, RUNS_MAX = 1024 };

static char url[512];
static verge_durable *client;
static verge_durable *nodes[NODES];
static _Atomic(int) begun; /* how many runs have a place in `seen` */
static _Atomic(int) runs;  /* how many runs have noted there what they saw */
static _Atomic(int) other_runs;
static _Atomic(int) running;
static _Atomic(int) running_most;
static struct {
    uint64_t at_ns;
    char handler; /* the first letter of the handler's name */
} seen[RUNS_MAX];
static sem_t gate; /* handlers that run outside wait for it */

static verge_durable *open_one(bool is_client, uint32_t firing_threads) {
    verge_durable_options options = durable_options(url);
    verge_durable *durable = NULL;
    options.client = is_client;
    options.firing_threads = firing_threads;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    return durable;
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("controls"));
    begun = runs = other_runs = running = running_most = 0;
    (void)sem_init(&gate, 0, 0);
    client = open_one(true, 1);
    return 0;
}

static void close_nodes(void) {
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(verge_durable_close(nodes[i], VERGE_NEVER), 0);
        nodes[i] = NULL;
    }
}

static int tear_down(void **state) {
    (void)state;
    close_nodes();
    assert_int_equal(verge_durable_close(client, VERGE_NEVER), 0);
    (void)sem_destroy(&gate);
    durable_drop(url);
    return 0;
}

/* ---- handlers ---- */

static void note_run(const verge_durable_firing *firing) {
    const int place = atomic_fetch_add(&begun, 1) % RUNS_MAX;
    seen[place].at_ns = firing->now_ns;
    seen[place].handler = firing->handler[0];
    runs++; /* last, since threads that wait for it read `seen` */
}

static void begin_run(const verge_durable_firing *firing) {
    const int now_running = atomic_fetch_add(&running, 1) + 1;
    int most = running_most;
    while (now_running > most && !atomic_compare_exchange_weak(&running_most, &most, now_running)) {
    }
    note_run(firing);
}

static verge_durable_verdict run(const verge_durable_firing *firing) {
    begin_run(firing);
    running--;
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict run_gated(const verge_durable_firing *firing) {
    begin_run(firing);
    (void)sem_wait(&gate);
    running--;
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict run_other(const verge_durable_firing *firing) {
    (void)firing;
    other_runs++;
    return VERGE_DURABLE_DONE;
}

static void wait_for_shards(verge_durable *node, uint64_t count) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    WAIT_UNTIL(verge_durable_get_stats(node, &stats) == 0 && stats.shards == count);
}

static void open_nodes(verge_durable_handler handler, bool outside, uint32_t firing_threads) {
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = outside;
    options.run_ns = 3600 * S;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = open_one(false, firing_threads);
        assert_int_equal(verge_durable_register(nodes[i], "it", handler, NULL, &options), 0);
        assert_int_equal(verge_durable_register(nodes[i], "other", run_other, NULL, NULL), 0);
    }
    for (int i = 0; i < NODES; i++) { /* waits until each has its part of the shards */
        wait_for_shards(nodes[i], 16 / NODES);
    }
}

/* Opens one node, which owns all shards and keeps them. It makes no scans of its own: it reads its window again only
 * when there is room. */
static void open_alone(uint32_t window_max, uint32_t batch, const char *const *names, size_t count) {
    verge_durable_options options = durable_options(url);
    options.lease_ns = options.rescan_ns = options.horizon_ns = 3600 * S;
    options.window_max = window_max;
    options.batch = batch;
    assert_int_equal(verge_durable_open(&options, &nodes[0]), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(verge_durable_register(nodes[0], names[i], run, NULL, NULL), 0);
    }
    assert_int_equal(verge_durable_register(nodes[0], "other", run_other, NULL, NULL), 0);
    wait_for_shards(nodes[0], 16);
}

/* Schedules so many timers on each node, in the shards of that node. */
static void schedule_some(const char *handler, int count) {
    verge_durable_request requests[RUNS_MAX];
    for (int i = 0; i < count; i++) {
        requests[i] = (verge_durable_request){.handler = handler};
    }
    for (int i = 0; i < NODES && nodes[i] != NULL; i++) {
        assert_int_equal(verge_durable_start_many(nodes[i], requests, (size_t)count, NULL), count);
    }
}

/* ---- pause ---- */

/* Schedules a timer of "it" and one of "other" on each node. Returns whether all of "other" ran, and none of "it". */
static bool is_paused(void) {
    const int before = runs;
    const int others_before = other_runs;
    schedule_some("it", 1);
    schedule_some("other", 1);
    WAIT_UNTIL(other_runs == others_before + NODES);
    return runs == before;
}

static void test_pause_and_resume(void **state) {
    (void)state;
    assert_int_equal(verge_durable_pause(client, "it"), 0);
    open_nodes(run, false, 2);
    schedule_some("it", SOME); /* nodes that are opened later know of the pause from the beginning */
    schedule_some("other", SOME);
    WAIT_UNTIL(other_runs == NODES * SOME);
    assert_int_equal(runs, 0);
    assert_int_equal(verge_durable_resume(client, "it"), 0);
    WAIT_UNTIL(runs == NODES * SOME);

    assert_int_equal(verge_durable_pause(nodes[0], "it"), 0); /* while both nodes run */
    WAIT_UNTIL(is_paused());
    const int before = runs;
    const int others_before = other_runs;
    schedule_some("it", SOME);
    schedule_some("other", SOME);
    WAIT_UNTIL(other_runs == others_before + NODES * SOME);
    assert_int_equal(runs, before);
    assert_int_equal(verge_durable_resume(nodes[1], "it"), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_true(runs >= before + NODES * SOME);
}

/* There are many more timers than the window has room for, or a paused handler may have in it. */
static void test_a_pause_starves_nobody(void **state) {
    (void)state;
    enum { MANY = 600 };
    static const char *const names[] = {"it"};
    assert_int_equal(verge_durable_pause(client, "it"), 0);
    open_alone(64, 16, names, 1);
    schedule_some("it", MANY);
    schedule_some("other", MANY);
    WAIT_UNTIL(other_runs == MANY);
    assert_int_equal(runs, 0);
    assert_int_equal(verge_durable_resume(nodes[0], "it"), 0);
    WAIT_UNTIL(runs == MANY);
}

/* The window is so small that it has room for one timer of each handler. As many handlers are paused as there is room
 * for, and each has a backlog. */
static void test_a_small_window_starves_nobody(void **state) {
    (void)state;
    static const char *const names[] = {"it", "it.too", "it.as.well"};
    for (size_t count = 1; count <= 3; count++) {
        assert_int_equal(verge_durable_pause(client, names[count - 1]), 0);
        open_alone(2, 1, names, 3);
        schedule_some(names[count - 1], 3);
        other_runs = 0;
        schedule_some("other", SOME);
        WAIT_UNTIL(other_runs == SOME);
        assert_int_equal(runs, 0);
        close_nodes();
    }
}

/* ---- limits ---- */

static void run_all_gated(int limit, bool outside) {
    assert_int_equal(verge_durable_limit(client, "it", (uint32_t)limit, 0), 0);
    open_nodes(run_gated, outside, 4);
    schedule_some("it", SOME);
    schedule_some("other", SOME);
    WAIT_UNTIL(running == limit);
    for (int i = 0; i < NODES * SOME; i++) {
        (void)sem_post(&gate);
        WAIT_UNTIL(runs - running > i); /* one run ends, and another one may begin */
        assert_true(running <= limit);
    }
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(running_most, limit);
    assert_int_equal(runs, NODES * SOME);
    assert_int_equal(other_runs, NODES * SOME);
}

/* Without the limit of 3, the two nodes could run six timers at a time. */
static void test_concurrency_outside(void **state) {
    (void)state;
    run_all_gated(3, true);
}

/* Handlers in transactions, on a server. (SQLite has only one transaction at a time.) */
static void test_concurrency_inside(void **state) {
    (void)state;
    if (durable_is_postgres()) {
        run_all_gated(1, false);
    }
}

static sem_t gates[NODES];

static verge_durable_verdict run_gated_by_node(const verge_durable_firing *firing) {
    begin_run(firing);
    (void)sem_wait(firing->context);
    running--;
    return VERGE_DURABLE_DONE;
}

/* A batch that has asked in vain keeps its ticket, although a lower slot of its node has become free meanwhile. With
 * another ticket it would wait behind its own old one until that expires. */
static void test_a_ticket_is_kept(void **state) {
    (void)state;
    const verge_durable_request request = {.handler = "it"};
    verge_durable_handler_options options;
    assert_int_equal(verge_durable_limit(client, "it", 2, 0), 0);
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    options.run_ns = 3600 * S;
    for (int i = 0; i < NODES; i++) {
        (void)sem_init(&gates[i], 0, 0);
        nodes[i] = open_one(false, 3); /* one thread is left for handlers in transactions */
        assert_int_equal(verge_durable_register(nodes[i], "it", run_gated_by_node, &gates[i], &options), 0);
    }
    for (int i = 0; i < NODES; i++) {
        wait_for_shards(nodes[i], 16 / NODES);
    }
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(verge_durable_start(nodes[i], &request, NULL), 0);
        WAIT_UNTIL(running == i + 1);
    }
    assert_int_equal(verge_durable_start(nodes[0], &request, NULL), 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_permit WHERE slot = 1") == 1);
    (void)sem_post(&gates[0]);
    WAIT_UNTIL(runs == 3);
    const int64_t kept = sql_ask(url, "SELECT count(*) FROM verge_permit WHERE slot = 1");
    for (int i = 0; i < NODES; i++) {
        (void)sem_post(&gates[i]);
    }
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    assert_int_equal(kept, 1);
}

/* When the lease of a dead node is over, its runs do not count for the limit any more. The row that this test inserts
 * stands for a run of such a node. */
static void test_concurrency_after_a_death(void **state) {
    (void)state;
    assert_int_equal(verge_durable_limit(client, "it", 1, 0), 0);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "INSERT INTO verge_permit (handler, node, slot, ticket, until) VALUES ('it', 77, "
                                     "0, 1, 9000000000000000000)"),
                     0);
    sql_close(handle);
    open_nodes(run, true, 2);
    schedule_some("it", SOME);
    WAIT_UNTIL(runs == NODES * SOME);
    assert_int_equal(running_most, 1);
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The least time that is asserted holds under any load of the machine: runs can only be later than the rate allows.
 * After that, a few runs (BEHIND: one of each node) may follow each other at once. */
static void test_rate(void **state) {
    (void)state;
    enum { RATE = 25, BEHIND = NODES };
    assert_int_equal(verge_durable_limit(client, "it", 0, RATE), 0);
    open_nodes(run, false, 2);
    schedule_some("it", SOME);
    schedule_some("other", SOME);
    WAIT_UNTIL(other_runs == NODES * SOME);
    WAIT_UNTIL(runs == NODES * SOME);
    uint64_t at_ns[NODES * SOME];
    for (int i = 0; i < NODES * SOME; i++) {
        at_ns[i] = seen[i].at_ns;
    }
    qsort(at_ns, (size_t)NODES * SOME, sizeof(at_ns[0]), compare);
    const uint64_t took_ns = at_ns[NODES * SOME - 1] - at_ns[0];
    assert_true(took_ns >= (NODES * SOME - 1 - BEHIND) * (S / RATE));
    assert_int_equal(verge_durable_limit(client, "it", 0, 0), 0); /* without a limit: as fast as possible */
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    schedule_some("it", SOME);
    WAIT_UNTIL(runs == 2 * NODES * SOME);
}

static void test_both_limits(void **state) {
    (void)state;
    assert_int_equal(verge_durable_limit(client, "it", 1, 200), 0);
    open_nodes(run, true, 3);
    schedule_some("it", SOME);
    WAIT_UNTIL(runs == NODES * SOME);
    assert_int_equal(running_most, 1);
}

/* ---- priorities ---- */

static verge_durable_verdict note_order(const verge_durable_firing *firing) {
    note_run(firing);
    return VERGE_DURABLE_DONE;
}

/* One firer, which waits in a handler while timers of all priorities become due, the low ones first. */
static void test_priorities(void **state) {
    (void)state;
    static const verge_durable_priority priorities[] = {VERGE_DURABLE_LOW, VERGE_DURABLE_NORMAL, VERGE_DURABLE_HIGH};
    static const char *const names[] = {"low", "normal", "high"};
    verge_durable_handler_options options;
    nodes[0] = open_one(false, 1);
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = true;
    assert_int_equal(verge_durable_register(nodes[0], "gated", run_gated, NULL, &options), 0);
    options.outside = false;
    for (int i = 0; i < 3; i++) {
        options.priority = priorities[i];
        assert_int_equal(verge_durable_register(nodes[0], names[i], note_order, NULL, &options), 0);
    }
    options.priority = 2;
    assert_int_equal(verge_durable_register(nodes[0], "wrong", note_order, NULL, &options), -EINVAL);
    verge_durable_request request = {.handler = "gated"};
    assert_int_equal(verge_durable_start(nodes[0], &request, NULL), 0);
    WAIT_UNTIL(running == 1);
    begun = runs = 0;
    const uint64_t due_ns = verge_durable_now(nodes[0]);
    for (int i = 0; i < 3 * SOME; i++) {
        request = (verge_durable_request){.handler = names[i / SOME], .due_ns = due_ns - S + (uint64_t)i};
        assert_int_equal(verge_durable_start(nodes[0], &request, NULL), 0);
    }
    (void)sem_post(&gate);
    WAIT_UNTIL(runs == 3 * SOME);
    for (int i = 0; i < 3 * SOME; i++) {
        assert_int_equal(seen[i].handler, names[2 - i / SOME][0]);
    }
}

/* ---- handlers that are told to stop ---- */

static verge_durable_verdict run_until_told(const verge_durable_firing *firing) {
    running++;
    while (!verge_durable_should_stop(firing)) {
        durable_nap(1);
    }
    running--;
    return VERGE_DURABLE_RETRY;
}

static void test_close_tells_handlers_to_stop(void **state) {
    (void)state;
    open_nodes(run_until_told, true, 2);
    schedule_some("it", 1);
    WAIT_UNTIL(running == NODES);
    close_nodes(); /* returns, although no handler returns unless it is told to stop */
    assert_int_equal(running, 0);
    assert_false(verge_durable_should_stop(NULL));
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), NODES);
}

/* ---- calls ---- */

static void test_list(void **state) {
    (void)state;
    verge_durable_control controls[4];
    assert_int_equal(verge_durable_list_controls(client, controls, 4), 0);
    assert_int_equal(verge_durable_limit(client, "b", 3, 4), 0);
    assert_int_equal(verge_durable_pause(client, "b"), 0);
    assert_int_equal(verge_durable_pause(client, "a"), 0);
    assert_int_equal(verge_durable_pause(client, "c"), 0);
    assert_int_equal(verge_durable_resume(client, "c"), 0);
    assert_int_equal(verge_durable_list_controls(client, controls, 4), 2);
    assert_string_equal(controls[0].handler, "a");
    assert_true(controls[0].is_paused && controls[0].concurrency == 0 && controls[0].rate == 0);
    assert_string_equal(controls[1].handler, "b");
    assert_true(controls[1].is_paused && controls[1].concurrency == 3 && controls[1].rate == 4);
    assert_int_equal(verge_durable_resume(client, "b"), 0);
    assert_int_equal(verge_durable_list_controls(client, controls, 4), 2);
    assert_true(!controls[1].is_paused && controls[1].concurrency == 3 && controls[1].rate == 4);
    assert_int_equal(verge_durable_list_controls(client, controls, 1), 1);
}

static void test_wrong_arguments(void **state) {
    (void)state;
    verge_durable_control control;
    assert_int_equal(verge_durable_pause(NULL, "it"), -EINVAL);
    assert_int_equal(verge_durable_pause(client, NULL), -EINVAL);
    assert_int_equal(verge_durable_pause(client, "no such name"), -EINVAL);
    assert_int_equal(verge_durable_resume(client, ""), -EINVAL);
    assert_int_equal(verge_durable_limit(client, "it", 0, 1000000001), -EINVAL);
    assert_int_equal(verge_durable_list_controls(client, NULL, 1), -EINVAL);
    assert_int_equal(verge_durable_list_controls(NULL, &control, 1), -EINVAL);
    assert_int_equal(verge_durable_list_controls(client, &control, 1), 0);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_control"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pause_and_resume, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_pause_starves_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_small_window_starves_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrency_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrency_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_ticket_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrency_after_a_death, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_both_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_priorities, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_close_tells_handlers_to_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_arguments, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("durable_controls", tests, NULL, NULL);
}
