/* SPDX-License-Identifier: MIT */
/* The statistics of runtimes as text. */
#include <errno.h>
#include <string.h>

#include "exposition.h"
#include "support/cmocka.h"
#include "verge/metrics.h"

static char text[16384];

static intptr_t nap(void *argument) {
    (void)argument;
    return verge_sleep(1000);
}

static intptr_t first_task(void *argument) {
    verge_runtime *runtime = argument;
    verge_task *task;
    if (verge_spawn(nap, NULL, &task) != 0 || verge_task_join(task, NULL, VERGE_NEVER) != 0) {
        return 1;
    }
    return verge_runtime_metrics(&runtime, NULL, 1, text, sizeof(text)) < 0;
}

static verge_runtime *make_runtime(verge_manual_clock *clock) {
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    assert_int_equal(verge_runtime_options_init(&options, sizeof(options)), 0);
    options.worker_count = 1;
    options.virtual_clock = clock;
    assert_int_equal(verge_runtime_create(&options, &runtime), 0);
    return runtime;
}

static void the_numbers_are_those_of_the_runtime(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime *runtime = make_runtime(&clock);
    intptr_t failed = 1;
    assert_int_equal(verge_runtime_run(runtime, first_task, runtime, &failed), 0);
    assert_int_equal(failed, 0);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_runtime_tasks"), 1);
    assert_int_equal(exposition_number(text, "verge_runtime_spawned_total"), 2);
    assert_int_equal(exposition_number(text, "verge_runtime_workers"), 1);
    assert_int_equal(exposition_number(text, "verge_runtime_unjoined"), 0);

    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_runtime_get_stats(runtime, &stats), 0);
    exposition_expect_length(verge_runtime_metrics(&runtime, NULL, 1, text, sizeof(text)), text);
    assert_int_equal(exposition_number(text, "verge_runtime_tasks"), 0);
    assert_int_equal(exposition_number(text, "verge_runtime_switches_total"), stats.switches);
    assert_int_equal(exposition_number(text, "verge_runtime_stack_size"), stats.stack_size);
    assert_int_equal(verge_runtime_destroy(runtime), 0);
}

static void several_runtimes_share_their_families(void **state) {
    (void)state;
    verge_manual_clock clocks[2] = {{0}, {0}};
    verge_runtime *const runtimes[] = {make_runtime(&clocks[0]), make_runtime(&clocks[1])};
    const verge_label *const labels[] = {
        (const verge_label[]){{"runtime", "a"}, {NULL, NULL}},
        (const verge_label[]){{"runtime", "b"}, {NULL, NULL}},
    };
    exposition_expect_length(verge_runtime_metrics(runtimes, labels, 2, text, sizeof(text)), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_runtime_tasks{runtime=\"a\"}"), 0);
    assert_int_equal(exposition_number(text, "verge_runtime_spawned_total{runtime=\"b\"}"), 0);
    assert_int_equal(verge_runtime_metrics(runtimes, NULL, 2, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_runtime_metrics(NULL, NULL, 1, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_runtime_destroy(runtimes[0]), 0);
    assert_int_equal(verge_runtime_destroy(runtimes[1]), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_are_those_of_the_runtime),
        cmocka_unit_test(several_runtimes_share_their_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
