/* SPDX-License-Identifier: MIT */
/* verge/interval.h, promise by promise, on examples that can be followed by hand. */
#include <errno.h>
#include <string.h>

#include "support/cmocka.h"
#include "verge/interval.h"

static verge_interval make(uint64_t first_ns, uint64_t period_ns, verge_interval_policy policy) {
    verge_interval interval;
    assert_int_equal(verge_interval_init(&interval, first_ns, period_ns, policy), 0);
    return interval;
}

static void expect_tick(verge_interval *interval, uint64_t now_ns, uint64_t scheduled_ns, uint64_t missed) {
    verge_tick tick = {0};
    assert_int_equal(verge_interval_next(interval, now_ns, &tick), 1);
    assert_true(tick.scheduled_ns == scheduled_ns);
    assert_true(tick.missed == missed);
}

static void expect_none(verge_interval *interval, uint64_t now_ns) {
    verge_tick tick = {.scheduled_ns = 77, .missed = 78};
    const uint64_t deadline_ns = interval->deadline_ns;
    assert_int_equal(verge_interval_next(interval, now_ns, &tick), 0);
    assert_true(tick.scheduled_ns == 77 && tick.missed == 78);
    assert_true(interval->deadline_ns == deadline_ns);
}

static const verge_interval_policy policies[] = {VERGE_INTERVAL_BURST, VERGE_INTERVAL_DELAY, VERGE_INTERVAL_SKIP};
static const size_t policy_count = sizeof(policies) / sizeof(policies[0]);

/* ---- promises ---- */

static void i1_a_tick_is_never_early(void **state) {
    (void)state;
    for (size_t i = 0; i < policy_count; i++) {
        verge_interval interval = make(1000, 100, policies[i]);
        expect_none(&interval, 0);
        expect_none(&interval, 999);
        expect_tick(&interval, 1000, 1000, 0);
        expect_none(&interval, 1000);
        expect_none(&interval, 1099);
        expect_tick(&interval, 1100, 1100, 0);
    }
}

static void a_prompt_consumer_gets_one_tick_a_period(void **state) {
    (void)state;
    for (size_t i = 0; i < policy_count; i++) {
        verge_interval interval = make(0, 1000, policies[i]);
        for (uint64_t n = 0; n < 1000; n++) {
            const uint64_t jitter_ns = n * 7919 % 500;
            expect_tick(&interval, n * 1000 + jitter_ns, n * 1000, 0);
            expect_none(&interval, n * 1000 + 999);
        }
    }
}

static void i3_burst_takes_every_tick(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_BURST);
    for (uint64_t n = 0; n <= 10; n++) {
        expect_tick(&interval, 1050, n * 100, 0);
    }
    expect_none(&interval, 1050);
    assert_int_equal(interval.deadline_ns, 1100);
}

static void i3_a_capped_burst_counts_the_oldest_as_missed(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_BURST);
    interval.burst_cap = 3;
    expect_tick(&interval, 1050, 800, 8); /* 0 to 700 are given up; 800, 900, 1000 are left */
    expect_tick(&interval, 1050, 900, 0);
    expect_tick(&interval, 1150, 1000, 0);
    expect_tick(&interval, 1150, 1100, 0);
    expect_none(&interval, 1150);
    expect_tick(&interval, 1499, 1200, 0); /* three are due: none is given up */
    expect_tick(&interval, 1600, 1400, 1); /* four are due: the first is given up */
    interval.burst_cap = 0;
    expect_tick(&interval, 10000, 1500, 0);
}

static void i4_skip_keeps_the_grid(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_SKIP);
    expect_tick(&interval, 0, 0, 0);
    expect_tick(&interval, 350, 300, 2);
    assert_int_equal(interval.deadline_ns, 400);
    expect_none(&interval, 399);
    expect_tick(&interval, 400, 400, 0);
    expect_tick(&interval, 500, 500, 0);
}

static void i5_delay_starts_a_period_when_a_late_tick_is_taken(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_DELAY);
    expect_tick(&interval, 0, 0, 0);
    expect_tick(&interval, 350, 300, 2);
    assert_int_equal(interval.deadline_ns, 450);
    expect_none(&interval, 449);
    expect_tick(&interval, 450, 450, 0);
    expect_tick(&interval, 550, 550, 0);
}

static void i5_delay_never_ticks_twice_a_period(void **state) {
    (void)state;
    const uint64_t period_ns = UINT64_C(100000000);
    verge_interval interval = make(0, period_ns, VERGE_INTERVAL_DELAY);
    uint64_t taken_ns = 0;
    expect_tick(&interval, taken_ns, 0, 0);
    for (uint64_t n = 1; n < 1000; n++) {
        const uint64_t now_ns = interval.deadline_ns + n * 7919 * 7919 % (3 * period_ns);
        assert_int_equal(verge_interval_next(&interval, now_ns, NULL), 1);
        assert_true(now_ns - taken_ns >= period_ns - VERGE_INTERVAL_TOLERANCE_NS);
        taken_ns = now_ns;
        expect_none(&interval, now_ns);
        expect_none(&interval, now_ns + period_ns - VERGE_INTERVAL_TOLERANCE_NS - 1);
    }
}

static void i5_the_tolerance_divides_prompt_from_late(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_DELAY);
    expect_tick(&interval, 50, 0, 0); /* the tolerance is half a period at most */
    assert_int_equal(interval.deadline_ns, 100);
    expect_tick(&interval, 151, 100, 0);
    assert_int_equal(interval.deadline_ns, 251);
    interval = make(0, 100, VERGE_INTERVAL_DELAY);
    interval.tolerance_ns = 10;
    expect_tick(&interval, 10, 0, 0);
    assert_int_equal(interval.deadline_ns, 100);
    expect_tick(&interval, 111, 100, 0);
    assert_int_equal(interval.deadline_ns, 211);
    interval.tolerance_ns = 0;
    expect_tick(&interval, 211, 211, 0);
    expect_tick(&interval, 312, 311, 0);
    assert_int_equal(interval.deadline_ns, 412);
}

static void i6_a_backlog_of_2_to_the_64_costs_nothing(void **state) {
    (void)state;
    const uint64_t last_ns = VERGE_NEVER - 1;
    verge_interval interval = make(0, 1, VERGE_INTERVAL_SKIP);
    expect_tick(&interval, last_ns, last_ns, last_ns);
    interval = make(0, 1, VERGE_INTERVAL_DELAY);
    expect_tick(&interval, last_ns, last_ns, last_ns);
    interval = make(0, 1, VERGE_INTERVAL_BURST);
    interval.burst_cap = 1;
    expect_tick(&interval, last_ns, last_ns, last_ns);
    interval = make(0, 1, VERGE_INTERVAL_BURST);
    interval.burst_cap = UINT64_MAX;
    expect_tick(&interval, last_ns, 0, 0);
}

static void i7_an_interval_ends_with_time(void **state) {
    (void)state;
    for (size_t i = 0; i < policy_count; i++) {
        verge_interval interval = make(VERGE_NEVER - 1, 1, policies[i]);
        expect_none(&interval, VERGE_NEVER - 2);
        expect_tick(&interval, VERGE_NEVER - 1, VERGE_NEVER - 1, 0);
        assert_true(interval.deadline_ns == VERGE_NEVER);
        expect_none(&interval, VERGE_NEVER - 1);

        interval = make(0, UINT64_MAX, policies[i]);
        expect_tick(&interval, 5, 0, 0);
        assert_true(interval.deadline_ns == VERGE_NEVER);
        expect_none(&interval, VERGE_NEVER - 1);

        assert_int_equal(verge_interval_reset(&interval, 9), 0); /* after its end, an interval can be started again */
        expect_tick(&interval, 9, 9, 0);
    }
}

static void time_that_goes_backwards_takes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < policy_count; i++) {
        verge_interval interval = make(500, 100, policies[i]);
        expect_tick(&interval, 500, 500, 0);
        expect_none(&interval, 100);
        expect_none(&interval, 0);
        expect_tick(&interval, 600, 600, 0);
    }
}

/* ---- resets ---- */

static void resets_move_the_next_tick_and_nothing_else(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_SKIP);
    assert_int_equal(verge_interval_reset(&interval, 1000 + interval.period_ns), 0);
    assert_int_equal(interval.deadline_ns, 1100);
    assert_int_equal(verge_interval_reset(&interval, 2000), 0);
    expect_tick(&interval, 2000, 2000, 0);
    assert_int_equal(interval.deadline_ns, 2100);
    assert_int_equal(verge_interval_reset(&interval, 3000 + 7), 0);
    assert_int_equal(interval.deadline_ns, 3007);
    assert_int_equal(verge_interval_reset(&interval, 40), 0);
    assert_int_equal(interval.deadline_ns, 40);
    assert_int_equal(interval.period_ns, 100);
    assert_int_equal(interval.policy, VERGE_INTERVAL_SKIP);
}

static void a_reset_forgets_what_was_overdue(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_BURST);
    assert_int_equal(verge_interval_reset(&interval, 5000 + interval.period_ns), 0);
    expect_none(&interval, 5099);
    expect_tick(&interval, 5100, 5100, 0);
    expect_none(&interval, 5100);
}

static void a_reset_to_never_changes_nothing(void **state) {
    (void)state;
    verge_interval interval = make(50, 100, VERGE_INTERVAL_BURST);
    const verge_interval before = interval;
    assert_int_equal(verge_interval_reset(&interval, VERGE_NEVER), -EINVAL);
    assert_memory_equal(&interval, &before, sizeof(before));
    assert_int_equal(verge_interval_reset(&interval, VERGE_NEVER - 1), 0);
    assert_true(interval.deadline_ns == VERGE_NEVER - 1);
}

/* ---- settings ---- */

static void a_new_period_counts_from_the_next_tick(void **state) {
    (void)state;
    verge_interval interval = make(100, 100, VERGE_INTERVAL_SKIP);
    interval.period_ns = 30;
    assert_int_equal(interval.deadline_ns, 100);
    expect_tick(&interval, 100, 100, 0);
    expect_tick(&interval, 130, 130, 0);
}

static void the_policy_can_change_between_ticks(void **state) {
    (void)state;
    verge_interval interval = make(0, 100, VERGE_INTERVAL_BURST);
    expect_tick(&interval, 450, 0, 0);
    interval.policy = VERGE_INTERVAL_SKIP;
    expect_tick(&interval, 450, 400, 3);
    interval.policy = VERGE_INTERVAL_DELAY;
    expect_tick(&interval, 1270, 1200, 7);
    assert_int_equal(interval.deadline_ns, 1370);
}

/* ---- bad input ---- */

static void refuses_all(verge_interval *interval) {
    verge_tick tick = {0};
    assert_int_equal(verge_interval_next(interval, 1, &tick), -EINVAL);
    assert_int_equal(verge_interval_reset(interval, 1), -EINVAL);
    assert_int_equal(tick.scheduled_ns, 0);
}

static void a_period_of_zero_is_refused(void **state) {
    (void)state;
    verge_interval interval;
    memset(&interval, 0x5A, sizeof(interval));
    const verge_interval garbage = interval;
    assert_int_equal(verge_interval_init(&interval, 0, 0, VERGE_INTERVAL_BURST), -EINVAL);
    assert_memory_equal(&interval, &garbage, sizeof(garbage));
    interval = make(0, 10, VERGE_INTERVAL_SKIP);
    interval.period_ns = 0;
    refuses_all(&interval);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    verge_interval interval;
    verge_tick tick = {0};
    assert_int_equal(verge_interval_init(NULL, 0, 1, VERGE_INTERVAL_BURST), -EINVAL);
    assert_int_equal(verge_interval_init(&interval, VERGE_NEVER, 1, VERGE_INTERVAL_BURST), -EINVAL);
    assert_int_equal(verge_interval_init(&interval, 0, 1, (verge_interval_policy)3), -EINVAL);
    interval = make(0, 10, VERGE_INTERVAL_SKIP);
    assert_int_equal(verge_interval_next(&interval, VERGE_NEVER, &tick), -EINVAL);
    assert_int_equal(interval.deadline_ns, 0);
    interval.policy = (verge_interval_policy)3;
    refuses_all(&interval);
}

static void what_was_not_initialised_is_refused(void **state) {
    (void)state;
    verge_interval zeroed = {0};
    refuses_all(&zeroed);
    refuses_all(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(i1_a_tick_is_never_early),
        cmocka_unit_test(a_prompt_consumer_gets_one_tick_a_period),
        cmocka_unit_test(i3_burst_takes_every_tick),
        cmocka_unit_test(i3_a_capped_burst_counts_the_oldest_as_missed),
        cmocka_unit_test(i4_skip_keeps_the_grid),
        cmocka_unit_test(i5_delay_starts_a_period_when_a_late_tick_is_taken),
        cmocka_unit_test(i5_delay_never_ticks_twice_a_period),
        cmocka_unit_test(i5_the_tolerance_divides_prompt_from_late),
        cmocka_unit_test(i6_a_backlog_of_2_to_the_64_costs_nothing),
        cmocka_unit_test(i7_an_interval_ends_with_time),
        cmocka_unit_test(time_that_goes_backwards_takes_nothing),
        cmocka_unit_test(resets_move_the_next_tick_and_nothing_else),
        cmocka_unit_test(a_reset_forgets_what_was_overdue),
        cmocka_unit_test(a_reset_to_never_changes_nothing),
        cmocka_unit_test(a_new_period_counts_from_the_next_tick),
        cmocka_unit_test(the_policy_can_change_between_ticks),
        cmocka_unit_test(a_period_of_zero_is_refused),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(what_was_not_initialised_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
