/* SPDX-License-Identifier: MIT */
/* Statistics of a service: exact while nothing else happens, and always plausible while much does. */
#include "base/exchange.h"
#include "base/step.h"
#include "service/service_internal.h"
#include "service/support.h"

static struct stepped world; /* a static variable, for callbacks that move the clock */

static void take_a_second(const verge_firing *firing) {
    (void)firing;
    advance(&world, SECOND);
}

static void *cancel_it(void *argument) {
    assert_int_equal(verge_service_cancel(world.service, *(verge_timer *)argument), 0);
    return NULL;
}

static void everything_is_counted(void **state) {
    (void)state;
    struct notes notes = {0};
    stepped_begin(&world);
    verge_worker *worker = join_bound(world.service);
    verge_worker *other = join_unbound(world.service);
    verge_timer timers[10];
    for (uint64_t i = 0; i < 10; i++) {
        timers[i] = start_at(world.service, now_of(&world) + (i + 1) * SECOND, take_note, &notes);
    }
    verge_start_options periodic = noted(&notes, now_of(&world) + SECOND / 2);
    periodic.period_ns = SECOND;
    const verge_timer ticking = start_with(world.service, &periodic);
    assert_int_equal(verge_service_reset(world.service, timers[9], now_of(&world) + HOUR), 0);
    assert_int_equal(verge_service_reset(world.service, timers[9], now_of(&world) + HOUR / 2), 0);
    assert_int_equal(verge_service_cancel(world.service, timers[8]), 0);
    join_thread(thread_of(cancel_it, &timers[7]));
    assert_int_equal(verge_service_cancel(world.service, timers[7]), -ENOENT); /* a cancel that fails does not count */
    advance(&world, SECOND + TICK);
    assert_int_equal(step(worker), 2);
    verge_service_stats stats = stats_of(world.service);
    assert_int_equal(stats.started, 11);
    assert_int_equal(stats.fired, 2);
    assert_int_equal(stats.ended, 1); /* the periodic timer has fired, too, but not ended */
    assert_int_equal(stats.cancelled_locally, 1);
    assert_int_equal(stats.cancelled_remotely, 1);
    assert_int_equal(stats.reset, 2);
    assert_int_equal(stats.pending, 8);
    assert_int_equal(stats.pending, verge_service_count(world.service, 0));
    assert_int_equal(stats.workers, 2);
    assert_int_equal(stats.migrated, 0);
    assert_int_equal(stats.orphans, 0);
    assert_int_equal(stats.bytes, world.memory.bytes_in_use);
    assert_true(stats.linked >= 8);
    assert_true(stats.clock_reads >= 1);
    leave(worker);
    assert_int_equal(step(other), 0);
    stats = stats_of(world.service);
    assert_int_equal(stats.migrated, 8);
    assert_int_equal(stats.pending, 8);
    assert_int_equal(stats.workers, 1);
    assert_int_equal(verge_service_cancel(world.service, ticking), 0);
    assert_int_equal(stats_of(world.service).cancelled_remotely, 2);
    (void)step(other);
    leave(other);
    assert_int_equal(stats_of(world.service).orphans, 7);
    stepped_end(&world);
}

/* ---- a worker that joins while timers are counted ---- */

static verge_timer old_timer;
static verge_timer new_timer;

static void *join_and_start(void *argument) {
    verge_worker *worker = join_bound(world.service);
    new_timer = start_at(world.service, HOUR, do_nothing, argument);
    leave(worker);
    return NULL;
}

static void start_the_new_one_and_cancel_the_old_one(const char *step_name) {
    if (strcmp(step_name, "statistics: ended") == 0) {
        verge__step_hook = NULL;
        join_thread(thread_of(join_and_start, NULL));
        assert_int_equal(verge_service_cancel(world.service, old_timer), 0);
    }
}

/* There is a timer all the time, so the service never counts none (verge_service_wait_empty relies on it). */
static void what_a_new_worker_has_started_counts(void **state) {
    (void)state;
    stepped_begin(&world);
    old_timer = start_at(world.service, HOUR, do_nothing, NULL);
    verge__step_hook = start_the_new_one_and_cancel_the_old_one;
    assert_int_equal(verge_service_count(world.service, 0), 1);
    assert_int_equal(verge_service_cancel(world.service, new_timer), 0);
    assert_int_equal(verge_service_count(world.service, 0), 0);
    stepped_end(&world);
}

/* Nobody looks, so no call counts by source, whatever instructions the machine has. */
static void nothing_is_sampled_unless_somebody_looks(void **state) {
    (void)state;
    stepped_begin(&world);
    verge_worker *worker = join_bound(world.service);
    for (int has_cas = 0; has_cas < 2; has_cas++) {
        worker->machine_has_cas = has_cas != 0;
        verge__worker_set_short_ways(worker);
        assert_false(verge__samples_starts(world.service, worker));
        assert_false(verge__samples_cancels(world.service, worker));
    }
    worker->machine_has_cas = verge__machine_has_cas();
    leave(worker);
    stepped_end(&world);
}

/* A picture of a worker that has run one of several timers of a tick. */
static void what_is_left_of_a_tick_is_coming_at_once(void **state) {
    (void)state;
    static verge__picture picture;
    static verge__picture_copy copy;
    verge_service_options options = stepped_options(&world);
    options.batch = 1;
    stepped_create(&world, &options);
    verge_worker *worker = join_bound(world.service);
    for (int i = 0; i < 3; i++) {
        (void)start_at(world.service, now_of(&world) + TICK, do_nothing, NULL);
    }
    advance(&world, TICK);
    assert_int_equal(step(worker), 1);
    verge__picture_take(&picture, &worker->calendar, now_of(&world));
    assert_true(verge__picture_read(&picture, &copy));
    assert_int_equal(copy.coming[1], 2);
    assert_int_equal(step(worker) + step(worker), 2);
    leave(worker);
    stepped_end(&world);
}

static void idle_is_what_belongs_to_no_timer(void **state) {
    (void)state;
    stepped_begin(&world);
    verge_worker *worker = join_bound(world.service);
    verge_timer timers[500];
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = start_at(world.service, now_of(&world) + HOUR + i * SECOND, do_nothing, NULL);
    }
    (void)step(worker);
    assert_int_equal(stats_of(world.service).idle, 0);
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        assert_int_equal(verge_service_cancel(world.service, timers[i]), 0);
    }
    (void)step(worker);
    const verge_service_stats stats = stats_of(world.service);
    assert_int_equal(stats.idle, stats.linked);
    assert_in_range(stats.idle, 1, 256); /* nodes of the free records that a worker keeps */
    advance(&world, 100 * HOUR);
    while (verge_worker_next_wakeup(worker) != VERGE_NEVER) {
        (void)step(worker);
    }
    assert_int_equal(stats_of(world.service).idle, 0);
    leave(worker);
    stepped_end(&world);
}

/* ---- histograms ---- */

static void lateness_and_duration_are_recorded(void **state) {
    (void)state;
    stepped_begin(&world);
    verge_worker *first = join_unbound(world.service);
    verge_worker *second = join_unbound(world.service);
    verge_worker *const workers[] = {first, second};
    const uint64_t begin_ns = now_of(&world);
    for (uint32_t i = 0; i < 2; i++) {
        verge_start_options options = {.struct_size = sizeof(options)};
        options.callback = i == 0 ? do_nothing : take_a_second;
        options.deadline_ns = begin_ns;
        options.worker_id = verge_worker_id(workers[i]);
        (void)start_with(world.service, &options);
    }
    assert_int_equal(step(first), 1); /* its callback runs on time, and takes no time */
    advance(&world, 5 * SECOND);
    assert_int_equal(step(second), 1); /* its callback runs 5 s late, and takes a second */
    verge_histogram lateness = {0};
    verge_histogram callback_time = {0};
    assert_int_equal(verge_service_get_histograms(world.service, &lateness, NULL), 0);
    assert_int_equal(verge_service_get_histograms(world.service, NULL, &callback_time), 0);
    assert_int_equal(verge_histogram_count(&lateness), 2);
    assert_int_equal(verge_histogram_quantile(&lateness, 0), 0);
    assert_int_equal(verge_histogram_quantile(&lateness, 1), 5 * SECOND);
    assert_int_equal(verge_histogram_count(&callback_time), 2);
    assert_int_equal(verge_histogram_quantile(&callback_time, 0), 0);
    assert_int_equal(verge_histogram_quantile(&callback_time, 1), SECOND);
    assert_int_equal(verge_histogram_sum(&callback_time), SECOND);
    assert_int_equal(verge_service_get_histograms(world.service, &lateness, &callback_time), 0);
    assert_int_equal(verge_histogram_count(&lateness), 4); /* 2 more, added to the 2 that were there */
    leave(first);
    leave(second);
    stepped_end(&world);
}

/* What ran on a worker stays counted when it has left and another works in its place. */
static void nothing_counted_is_lost_with_a_worker(void **state) {
    (void)state;
    struct notes notes = {0};
    stepped_begin(&world);
    for (uint64_t i = 1; i <= 5; i++) {
        verge_worker *worker = join_bound(world.service);
        (void)start_at(world.service, 0, take_note, &notes);
        assert_int_equal(step(worker), 1);
        leave(worker);
        verge_histogram lateness = {0};
        assert_int_equal(verge_service_get_histograms(world.service, &lateness, NULL), 0);
        assert_int_equal(verge_histogram_count(&lateness), i);
        assert_int_equal(stats_of(world.service).fired, i);
        assert_int_equal(stats_of(world.service).started, i);
    }
    stepped_end(&world);
}

/* ---- read while threads are at work ---- */

struct traffic {
    verge_service *service;
    _Atomic bool is_over;
};

static void *start_and_cancel(void *argument) {
    struct traffic *traffic = argument;
    const size_t rounds = test_scaled(200000);
    for (size_t i = 0; i < rounds; i++) {
        verge_timer timer = 0;
        assert_int_equal(verge_service_start_after(traffic->service, i % 3 * TICK, do_nothing, NULL, &timer), 0);
        (void)verge_service_cancel(traffic->service, timer);
    }
    atomic_store(&traffic->is_over, true);
    return NULL;
}

static void they_can_be_read_at_any_time(void **state) {
    (void)state;
    struct traffic traffic = {0};
    assert_int_equal(verge_service_create(NULL, &traffic.service), 0);
    const pthread_t thread = thread_of(start_and_cancel, &traffic);
    verge_service_stats last = {0};
    while (!atomic_load(&traffic.is_over)) {
        const verge_service_stats stats = stats_of(traffic.service);
        verge_histogram lateness = {0};
        assert_true(stats.started >= last.started && stats.fired >= last.fired && stats.ended >= last.ended);
        assert_true(stats.cancelled_remotely >= last.cancelled_remotely);
        assert_int_equal(verge_service_get_histograms(traffic.service, &lateness, NULL), 0);
        assert_true(verge_histogram_count(&lateness) <= stats_of(traffic.service).started);
        last = stats;
    }
    join_thread(thread);
    while (verge_service_count(traffic.service, 0) != 0) {
        (void)sched_yield();
    }
    const verge_service_stats stats = stats_of(traffic.service);
    assert_int_equal(stats.started, stats.ended + stats.cancelled_remotely + stats.cancelled_locally);
    assert_int_equal(stats.started, test_scaled(200000));
    assert_int_equal(verge_service_destroy(traffic.service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_counted),
        cmocka_unit_test(what_a_new_worker_has_started_counts),
        cmocka_unit_test(nothing_is_sampled_unless_somebody_looks),
        cmocka_unit_test(what_is_left_of_a_tick_is_coming_at_once),
        cmocka_unit_test(idle_is_what_belongs_to_no_timer),
        cmocka_unit_test(lateness_and_duration_are_recorded),
        cmocka_unit_test(nothing_counted_is_lost_with_a_worker),
        cmocka_unit_test(they_can_be_read_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
