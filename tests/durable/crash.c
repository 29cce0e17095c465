/* SPDX-License-Identifier: MIT */
/* Two processes at a time use one store. In each round, one of them kills itself at a certain step of the protocol, and
 * starts timers until then. It need not come to this step: the test kills it after some time, but not before it has
 * started TIMERS_MIN timers, so that a slow machine gets to as many steps. VERGE_DURABLE_ROUNDS=500 makes 500
 * rounds. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "durable/process.h"
#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

static const char *const failpoints[] = {
    "renew.done",         "acquire.done",       "scan.done",      "schedule.began",  "schedule.inserted",
    "schedule.committed", "cancel.deleted",     "reset.updated",  "fire.began",      "fire.taken",
    "fire.handled",       "fire.inserted",      "fire.committed", "attempt.counted", "claim.committed",
    "complete.deleted",   "complete.committed", "release.done",
};

enum { FAILPOINT_COUNT = sizeof(failpoints) / sizeof(failpoints[0]), TIMERS_MIN = 200, ENDLESS = 1000000 };

static int rounds(void) {
    const char *text = getenv("VERGE_DURABLE_ROUNDS");
    return text == NULL ? FAILPOINT_COUNT : (int)strtol(text, NULL, 10);
}

static void test_killed_at_each_step(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(20260101);
    struct verge_test_random random = verge_test_random_from(seed);
    char url[512];
    (void)snprintf(url, sizeof(url), "%s", durable_url("crash"));
    (void)nodes_begin(url);
    int reached = 0;
    pid_t bystander = node_start(url, 20, NULL, 0);
    for (int round = 0; round < rounds(); round++) {
        const char *failpoint = failpoints[round % FAILPOINT_COUNT];
        struct node_setting setting = {.name = "VERGE_DURABLE_FAILPOINT"};
        (void)snprintf(setting.value, sizeof(setting.value), "%s:%d", failpoint, 1 + (int)verge_test_below(&random, 4));
        const pid_t victim = node_start(url, ENDLESS, &setting, 1);
        const int before = noted("promised");
        bool is_over = false;
        for (int ms = 0; !is_over && (ms < 600 || noted("promised") < before + TIMERS_MIN); ms++) {
            int status;
            is_over = waitpid(victim, &status, WNOHANG) == victim;
            assert_true(!is_over || WIFSIGNALED(status));
            durable_nap(1);
        }
        reached += is_over;
        if (!is_over) {
            node_kill(victim);
        }
        if (verge_test_chance(&random, 6)) { /* kills the other process, too: then no node is left for a while */
            node_kill(bystander);
            bystander = node_start(url, 20, NULL, 0);
        }
    }
    print_message("%d of %d were killed where it was asked for; %d and %d timers promised\n", reached, rounds(),
                  noted("promised"), noted("promised_outside"));
    assert_true(reached >= rounds() / 2);
    node_kill(bystander);
    nodes_audit(url);
    nodes_end();
    durable_drop(url);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_each_step),
    };
    return cmocka_run_group_tests_name("durable_crash", tests, NULL, NULL);
}
