/* SPDX-License-Identifier: MIT */
/* The clock of the store is set ahead and back while a node runs. SQLite uses the machine's clock, which the test
 * replaces. */
#define _GNU_SOURCE

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "durable/support.h"
#include "support/cmocka.h"

static _Atomic(int64_t) offset_s;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = __real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME) {
        time->tv_sec += offset_s;
    }
    return result;
}

static uint64_t clock_now(void) {
    struct timespec time;
    (void)__wrap_clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

static char url[512];
static verge_durable *durable;
static _Atomic(int) runs;
static _Atomic(int) early;

static verge_durable_verdict note(const verge_durable_firing *firing) {
    early += firing->now_ns < firing->due_ns;
    runs++;
    return VERGE_DURABLE_DONE;
}

static int set_up(void **state) {
    (void)state;
    offset_s = 0;
    runs = early = 0;
    (void)snprintf(url, sizeof(url), "%s", durable_url("jumps"));
    durable = durable_open(url);
    assert_int_equal(verge_durable_register(durable, "note", note, NULL, NULL), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    durable_drop(url);
    return 0;
}

static void schedule(uint64_t delay_ns) {
    const verge_durable_request request = {.handler = "note", .delay_ns = delay_ns};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
}

/* The clock is set ahead: the timer that is due now fires at once, although the node meant to sleep for longer. */
static void test_ahead(void **state) {
    (void)state;
    schedule(3600 * S);
    schedule(7200 * S);
    offset_s = 3601;
    WAIT_UNTIL(runs == 1);
    assert_int_equal(early, 0);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 1); /* its end is committed; the other timer waits */
    assert_int_equal(runs, 1);
}

/* If the clock goes back by up to a minute, store time stands still: timers that are due now fire. */
static void test_back_a_little(void **state) {
    (void)state;
    schedule(0);
    WAIT_UNTIL(runs == 1);
    const uint64_t before_ns = (uint64_t)sql_ask(url, "SELECT max(seen) FROM verge_node");
    offset_s = -50;
    assert_true(clock_now() < before_ns);
    schedule(0);
    WAIT_UNTIL(runs == 2);
    assert_int_equal(early, 0);
    assert_true((uint64_t)sql_ask(url, "SELECT max(seen) FROM verge_node") >= before_ns);
}

/* If the clock goes back by more than a minute, so does store time. At first, the node still believes in the later
 * time. It must neither fire early, nor wait until that time comes again. */
static void test_back_a_lot(void **state) {
    (void)state;
    schedule(0);
    WAIT_UNTIL(runs == 1);
    offset_s = -600;
    const uint64_t began_ns = clock_now();
    schedule(S);
    WAIT_UNTIL(runs == 2);
    assert_int_equal(early, 0);
    assert_true(clock_now() - began_ns >= S);
}

#define WITH_A_NODE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_A_NODE(test_ahead),
        WITH_A_NODE(test_back_a_little),
        WITH_A_NODE(test_back_a_lot),
    };
    return cmocka_run_group_tests_name("durable_jumps", tests, NULL, NULL);
}
