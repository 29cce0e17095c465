/* SPDX-License-Identifier: MIT */
/* The statistics of services as text, on a clock that moves by hand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exposition.h"
#include "support/cmocka.h"
#include "verge/metrics.h"

#define MS UINT64_C(1000000)

static char text[65536];
static verge_manual_clock manual;

static void on_timer(const verge_firing *firing) {
    verge_manual_clock_advance(&manual, 3 * MS); /* the callback takes 3 ms */
    (void)firing;
}

static verge_service *make_service(verge_worker **ret_worker) {
    verge_service_options options;
    verge_worker_options unbound = {.struct_size = sizeof(unbound)};
    verge_service *service = NULL;
    verge_manual_clock_set(&manual, 0);
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    options.clock = verge_clock_manual(&manual);
    assert_int_equal(verge_service_create(&options, &service), 0);
    unbound.unbound = true;
    assert_int_equal(verge_worker_join(service, &unbound, ret_worker), 0);
    return service;
}

static int write_one(verge_service *service) {
    return verge_service_metrics(&service, NULL, 1, false, text, sizeof(text));
}

static void the_numbers_are_those_of_the_service(void **state) {
    (void)state;
    verge_worker *worker = NULL;
    verge_service *service = make_service(&worker);
    verge_timer timer;
    assert_int_equal(verge_service_start(service, 10 * MS, on_timer, NULL, NULL), 0);
    assert_int_equal(verge_service_start(service, 500 * MS, on_timer, NULL, NULL), 0);
    assert_int_equal(verge_service_start(service, 500 * MS, on_timer, NULL, &timer), 0);
    assert_int_equal(verge_service_reset(service, timer, 600 * MS), 0);
    assert_int_equal(verge_service_cancel(service, timer), 0);
    verge_manual_clock_set(&manual, 60 * MS);
    assert_int_equal(verge_worker_run_once(worker, 0), 1);

    exposition_expect_length(write_one(service), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_service_pending"), 1);
    assert_int_equal(exposition_number(text, "verge_service_started_total"), 3);
    assert_int_equal(exposition_number(text, "verge_service_fired_total"), 1);
    assert_int_equal(exposition_number(text, "verge_service_ended_total"), 1);
    assert_int_equal(exposition_number(text, "verge_service_cancelled_locally_total") +
                         exposition_number(text, "verge_service_cancelled_remotely_total"),
                     1);
    assert_int_equal(exposition_number(text, "verge_service_reset_total"), 1);
    assert_int_equal(exposition_number(text, "verge_service_workers"), 1);
    assert_true(exposition_number(text, "verge_service_bytes") > 0);
    assert_string_equal(exposition_value(text, "verge_service_lateness_seconds_sum"), "0.050000000");
    assert_int_equal(exposition_number(text, "verge_service_lateness_seconds_count"), 1);
    assert_string_equal(exposition_value(text, "verge_service_callback_seconds_sum"), "0.003000000");

    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void every_statistic_is_there(void **state) {
    (void)state;
    verge_worker *worker = NULL;
    verge_service *service = make_service(&worker);
    assert_true(write_one(service) > 0);
    size_t families = 0;
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        families++;
    }
    /* One family for each 64-bit number of the struct except its size. Also the workers, the workers that are stuck
     * now, and two histograms. */
    assert_int_equal(families, offsetof(verge_service_stats, workers) / sizeof(uint64_t) - 1 + 2 + 2);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void several_services_share_their_families(void **state) {
    (void)state;
    verge_worker *workers[2] = {NULL, NULL};
    verge_service *first = make_service(&workers[0]);
    verge_service *second = make_service(&workers[1]);
    verge_service *const services[] = {first, second, NULL};
    const verge_label *const labels[] = {
        (const verge_label[]){{"service", "requests"}, {NULL, NULL}},
        (const verge_label[]){{"service", "leases"}, {NULL, NULL}},
        NULL,
    };
    assert_int_equal(verge_service_start(second, 10 * MS, on_timer, NULL, NULL), 0);
    exposition_expect_length(verge_service_metrics(services, labels, 2, false, text, sizeof(text)), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_service_pending{service=\"requests\"}"), 0);
    assert_int_equal(exposition_number(text, "verge_service_pending{service=\"leases\"}"), 1);
    assert_int_equal(exposition_number(text, "verge_service_lateness_seconds_count{service=\"leases\"}"), 0);

    assert_int_equal(verge_service_metrics(services, labels, 3, false, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_service_metrics(services, NULL, 2, false, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_service_metrics(NULL, NULL, 0, false, text, sizeof(text)), 0);
    assert_int_equal(write_one(NULL), -EINVAL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(verge_worker_leave(workers[i]), 0);
    }
    assert_int_equal(verge_service_destroy(first, NULL, NULL), 0);
    assert_int_equal(verge_service_destroy(second, NULL, NULL), 0);
}

static verge_service *watched;

static void get_stuck(const verge_firing *firing) {
    (void)firing;
    assert_true(write_one(watched) > 0);
    assert_int_equal(exposition_number(text, "verge_service_stuck_now"), 0);
    verge_manual_clock_advance(&manual, 50 * MS - 1);
    assert_true(write_one(watched) > 0);
    assert_int_equal(exposition_number(text, "verge_service_stuck_now"), 0);
    verge_manual_clock_advance(&manual, 1);
    assert_true(write_one(watched) > 0);
    assert_int_equal(exposition_number(text, "verge_service_stuck_now"), 1);
}

static void who_is_stuck_now(void **state) {
    (void)state;
    verge_service_options options;
    verge_worker *worker = NULL;
    verge_manual_clock_set(&manual, 0);
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    options.stuck_after_ns = 50 * MS;
    options.clock = verge_clock_manual(&manual);
    assert_int_equal(verge_service_create(&options, &watched), 0);
    assert_int_equal(verge_worker_join(watched, NULL, &worker), 0);
    assert_int_equal(verge_service_start(watched, 10 * MS, get_stuck, NULL, NULL), 0);
    verge_manual_clock_set(&manual, 20 * MS);
    assert_int_equal(verge_worker_run_once(worker, 0), 1);
    assert_true(write_one(watched) > 0);
    assert_int_equal(exposition_number(text, "verge_service_stuck_now"), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(watched, NULL, NULL), 0);
}

static void start_labelled(verge_service *service, const char *label, uint64_t deadline_ns) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = on_timer;
    options.label = label;
    options.deadline_ns = deadline_ns;
    assert_int_equal(verge_service_start_with(service, &options, NULL), 0);
}

static void timers_by_what_started_them(void **state) {
    (void)state;
    static const char once[] = "a \"label\"", again[] = "a \"label\""; /* one text at two addresses */
    verge_worker *worker = NULL;
    verge_service *service = make_service(&worker);
    verge_manual_clock_set(&manual, 10000 * MS);
    for (int i = 0; i < 5; i++) {
        start_labelled(service, i < 2 ? once : again, 20000 * MS);
    }
    start_labelled(service, "late\xff", 8000 * MS);
    start_labelled(service, "late\xff", 9500 * MS);
    static char cut[200]; /* a label that is cut within a character of 2 bytes */
    (void)snprintf(cut, sizeof(cut), "\xc3\xa4%0124d\xc3\xa4\xc3\xa4", 0);
    start_labelled(service, cut, 20000 * MS);
    assert_int_equal(verge_service_start(service, 20000 * MS, on_timer, NULL, NULL), 0);
    exposition_expect_length(verge_service_metrics(&service, NULL, 1, true, text, sizeof(text)), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_source_pending{source=\"a \\\"label\\\"\"}"), 5);
    assert_int_equal(exposition_number(text, "verge_source_overdue{source=\"a \\\"label\\\"\"}"), 0);
    assert_int_equal(exposition_number(text, "verge_source_pending{source=\"late?\"}"), 2);
    assert_int_equal(exposition_number(text, "verge_source_overdue{source=\"late?\"}"), 1);
    assert_int_equal(exposition_number(text, "verge_source_pending{source=\"on_timer\"}"), 1);
    assert_non_null(strstr(text, "000\"} 1\n")); /* nothing is left of the last character */
    assert_null(strstr(text, "000?"));
    assert_non_null(strstr(text, "verge_service_pending 9\n")); /* the statistics of the service are there, too */
    const verge_label *const wrong[] = {(const verge_label[]){{"source", "mine"}, {NULL, NULL}}};
    assert_int_equal(verge_service_metrics(&service, wrong, 1, true, text, sizeof(text)), -EINVAL);
    exposition_expect_length(verge_service_metrics(&service, wrong, 1, false, text, sizeof(text)), text);
    assert_null(strstr(text, "verge_source_"));
    assert_int_equal(verge_service_metrics(NULL, NULL, 1, true, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_service_metrics(NULL, NULL, 0, true, text, sizeof(text)), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_are_those_of_the_service),  cmocka_unit_test(every_statistic_is_there),
        cmocka_unit_test(several_services_share_their_families), cmocka_unit_test(who_is_stuck_now),
        cmocka_unit_test(timers_by_what_started_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
