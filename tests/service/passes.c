/* SPDX-License-Identifier: MIT */
/* What a pass does, and what it leaves for the next: nothing starves, nothing is forgotten. */
#include "service/service_internal.h"
#include "service/support.h"

/* ---- timers that start themselves again ---- */

struct chain {
    struct stepped *stepped;
    uint64_t step_ns;
    bool is_past; /* the next timer gets the deadline of the one that fired; false: it is due now */
    uint32_t fired;
};

static void start_again(const verge_firing *firing) {
    struct chain *chain = firing->argument;
    chain->fired++;
    if (chain->is_past) {
        (void)start_at(firing->service, firing->scheduled_ns, start_again, chain);
    } else {
        verge_timer timer = 0;
        assert_int_equal(verge_service_start_after(firing->service, 0, start_again, chain, &timer), 0);
    }
}

/* Timers are started for now or for the past. The clock advances by one tick, or by so many that the pass has ticks to
 * catch up with. */
static void a_timer_started_for_now_runs_in_the_next_pass(void **state) {
    (void)state;
    for (unsigned variant = 0; variant < 4; variant++) {
        struct stepped stepped;
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        struct chain chain = {.stepped = &stepped, .is_past = variant % 2 == 0};
        (void)start_at(stepped.service, now_of(&stepped) + TICK, start_again, &chain);
        (void)step(worker);
        advance(&stepped, variant / 2 == 0 ? TICK : 100 * TICK);
        for (uint32_t pass = 1; pass < 20; pass++) {
            assert_int_equal(step(worker), 1);
            assert_int_equal(chain.fired, pass);
            assert_int_equal(verge_worker_next_wakeup(worker), 0);
        }
        leave(worker);
        stepped_end(&stepped);
    }
}

static void reset_self_to_the_past(const verge_firing *firing) {
    take_note(firing);
    assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->scheduled_ns), VERGE_RUNNING);
}

static void a_timer_reset_to_now_runs_in_the_next_pass(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped) + TICK, reset_self_to_the_past, &notes);
    (void)step(worker);
    advance(&stepped, 50 * TICK);
    for (uint32_t pass = 1; pass < 20; pass++) {
        assert_int_equal(step(worker), 1);
        assert_int_equal(notes.fired, pass);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* 32 timers, which are four batches, start themselves again and again. One other timer still runs: in the wave under
 * way or in the next. */
static void self_starters_cannot_starve_another(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    verge_service_options options = stepped_options(&stepped);
    options.batch = 8;
    stepped_create(&stepped, &options);
    verge_worker *worker = join_unbound(stepped.service);
    struct chain chain = {.stepped = &stepped, .is_past = true};
    for (int i = 0; i < 32; i++) {
        (void)start_at(stepped.service, now_of(&stepped), start_again, &chain);
    }
    for (int i = 0; i < 100; i++) {
        (void)step(worker);
    }
    for (int round = 0; round < 50; round++) {
        const uint32_t fired_before = notes.fired;
        (void)start_at(stepped.service, now_of(&stepped) + TICK, take_note, &notes);
        advance(&stepped, TICK);
        for (int pass = 0; pass < 2 * (32 / 8) + 2; pass++) { /* a wave that has begun, and the next */
            assert_true(step(worker) <= 8);
        }
        assert_int_equal(notes.fired, fired_before + 1);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* ---- a batch ---- */

static void a_pass_runs_a_batch_at_most_and_says_so(void **state) {
    (void)state;
    enum { BATCH = 7, COUNT = 100 };
    const uint64_t spreads_ns[] = {0, 1, TICK, 100 * TICK}; /* between two deadlines */
    for (size_t s = 0; s < 2 * COUNT_OF(spreads_ns); s++) {
        struct stepped stepped;
        struct notes notes = {0};
        verge_service_options options = stepped_options(&stepped);
        options.batch = BATCH;
        stepped_create(&stepped, &options);
        verge_worker *worker = s % 2 == 0 ? join_unbound(stepped.service) : join_bound(stepped.service);
        for (uint64_t i = 0; i < COUNT; i++) {
            (void)start_at(stepped.service, now_of(&stepped) + i * spreads_ns[s / 2], take_note, &notes);
        }
        advance(&stepped, 100 * TICK * COUNT);
        for (uint32_t left = COUNT; left > 0;) {
            assert_int_equal(verge_worker_next_wakeup(worker) <= now_of(&stepped), 1);
            const int fired = step(worker);
            assert_int_equal(fired, left < BATCH ? left : BATCH);
            left -= (uint32_t)fired;
            if (left > 0) {
                assert_int_equal(verge_worker_next_wakeup(worker), 0);
                assert_int_equal(verge_worker_begin_wait(worker), 0);
                verge_worker_end_wait(worker);
            }
        }
        assert_int_equal(verge_worker_next_wakeup(worker), VERGE_NEVER);
        assert_int_equal(notes.fired, COUNT);
        leave(worker);
        stepped_end(&stepped);
    }
}

/* G6: next_wakeup is never later than the next timer. It may be earlier a few times: a worker also wakes up to
 * move nodes to a lower level. */
static void next_is_never_later_than_the_next_timer(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(3));
    assert_int_equal(verge_worker_next_wakeup(worker), VERGE_NEVER);
    for (int round = 0; round < 500; round++) {
        const uint64_t deadline_ns = now_of(&stepped) + (verge_test_magnitude(&random) >> 20);
        (void)start_at(stepped.service, deadline_ns, take_note, &notes);
        const uint32_t fired_before = notes.fired;
        size_t wakeups = 0;
        while (notes.fired == fired_before) { /* a loop that sleeps until next, and does nothing else */
            const uint64_t next_ns = verge_worker_next_wakeup(worker);
            assert_true(next_ns <= (deadline_ns + TICK - 1) / TICK * TICK);
            verge_manual_clock_set(&stepped.clock, next_ns > now_of(&stepped) ? next_ns : now_of(&stepped));
            (void)step(worker);
            wakeups++;
        }
        assert_true(notes.last.actual_ns < deadline_ns + TICK);
        assert_true(wakeups < 64); /* it does not spin */
    }
    leave(worker);
    stepped_end(&stepped);
}

/* ---- order ---- */

struct order {
    uint64_t last_ns;
    uint32_t fired;
};

static void expect_later(const verge_firing *firing) {
    struct order *order = firing->argument;
    assert_true(firing->scheduled_ns / TICK >= order->last_ns / TICK);
    order->last_ns = firing->scheduled_ns;
    order->fired++;
}

/* G5. */
static void ticks_come_in_ascending_order_across_passes(void **state) {
    (void)state;
    struct stepped stepped;
    struct order order = {0};
    verge_service_options options = stepped_options(&stepped);
    options.batch = 10;
    stepped_create(&stepped, &options);
    verge_worker *worker = join_bound(stepped.service);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(9));
    enum { COUNT = 2000 };
    for (int i = 0; i < COUNT; i++) {
        const uint64_t delay_ns = verge_test_below(&random, HOUR) / TICK * TICK;
        (void)start_at(stepped.service, now_of(&stepped) + TICK + delay_ns, expect_later, &order);
    }
    while (order.fired < COUNT) {
        (void)step(worker);
        advance(&stepped, HOUR / 300);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* ---- what a callback may not do ---- */

static void run_own_worker(const verge_firing *firing) {
    take_note(firing);
    assert_int_equal(verge_worker_run_once(firing->worker, 0), -EBUSY);
    assert_int_equal(verge_worker_run_once(firing->worker, VERGE_NEVER), -EBUSY);
}

static void a_pass_inside_a_pass_is_refused(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped), run_own_worker, &notes);
    assert_int_equal(step(worker), 1);
    assert_int_equal(notes.fired, 1);
    leave(worker);
    stepped_end(&stepped);
}

/* G9. */
static void a_clock_that_goes_backwards_changes_nothing(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    (void)start_at(stepped.service, begin_ns + SECOND, take_note, &notes);
    assert_int_equal(step_at(&stepped, worker, begin_ns + SECOND / 2), 0);
    assert_int_equal(step_at(&stepped, worker, 5), 0);
    (void)start_at(stepped.service, 6, take_note, &notes); /* overdue: the service's time does not go back */
    assert_int_equal(step(worker), 1);
    assert_int_equal(step_at(&stepped, worker, begin_ns + SECOND + TICK), 1);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_started_for_now_runs_in_the_next_pass),
        cmocka_unit_test(a_timer_reset_to_now_runs_in_the_next_pass),
        cmocka_unit_test(self_starters_cannot_starve_another),
        cmocka_unit_test(a_pass_runs_a_batch_at_most_and_says_so),
        cmocka_unit_test(next_is_never_later_than_the_next_timer),
        cmocka_unit_test(ticks_come_in_ascending_order_across_passes),
        cmocka_unit_test(a_pass_inside_a_pass_is_refused),
        cmocka_unit_test(a_clock_that_goes_backwards_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
