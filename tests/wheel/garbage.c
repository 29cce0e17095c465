/* SPDX-License-Identifier: MIT */
/* G7 and G8 with much garbage: it is bounded by the timers there are, also while they become less; and to clear it away takes
 * no poll beyond its work limit, no cascade at once and no time that grows with the square of what is due. */
#include "wheel/garbage.h"
#include "wheel/support.h"

enum { GARBAGE_MORE = 4096 };

static verge_expiry out[100000];

static void assert_bounded(const verge_wheel *wheel) {
    if (stats_of(wheel).garbage > verge_wheel_count(wheel) + GARBAGE_MORE) {
        fail_msg("%zu timers, %zu entries of garbage", (size_t)verge_wheel_count(wheel),
                 (size_t)stats_of(wheel).garbage);
    }
}

/* Schedules so many at a time, one after the other, and cancels them when the rest is there. */
static verge_timer *schedule_many(verge_wheel *wheel, size_t count, uint64_t deadline_ns, uint64_t step_ns) {
    verge_timer *timers = calloc(count, sizeof(*timers));
    assert_non_null(timers);
    for (size_t i = 0; i < count; i++) {
        timers[i] = schedule(wheel, deadline_ns + i * step_ns, i);
    }
    return timers;
}

static void cancel_many(verge_wheel *wheel, verge_timer *timers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        assert_bounded(wheel);
    }
    free(timers);
}

static verge_wheel *wheel_with(verge_order order, size_t work_limit) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    options.work_limit = work_limit;
    return wheel_new(&options);
}

/* Polls until so many have come out; what a poll does is within its limit, if there is one. */
static uint64_t poll_all(verge_wheel *wheel, uint64_t now_ns, size_t count, size_t limit, size_t work_limit) {
    uint64_t work = 0;
    while (count > 0) {
        const size_t returned = verge_wheel_poll(wheel, now_ns, out, limit);
        count -= returned < count ? returned : count;
        assert_bounded(wheel);
        const uint64_t work_now = stats_of(wheel).last_poll_work;
        assert_true(work_limit == 0 || work_now <= work_limit);
        work += work_now;
    }
    return work;
}

/* Timers expire, whose number had allowed for the garbage there is. */
static void garbage_falls_with_the_timers(void **state) {
    (void)state;
    static const size_t work_limits[] = {0, 1, 2, 1000, 50000, 120000, 1000000};
    static const unsigned percents[] = {25, 30, 37};
    const size_t count = test_scaled(100000);
    for (size_t i = 0; i < COUNT_OF(work_limits) * COUNT_OF(percents); i++) {
        const size_t work_limit = work_limits[i / COUNT_OF(percents)];
        const size_t cancelled = count * percents[i % COUNT_OF(percents)] / 100;
        verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, work_limit);
        free(schedule_many(wheel, count, 10 * TICK, TICK / 5000));
        cancel_many(wheel, schedule_many(wheel, cancelled, HOUR, TICK), cancelled);
        (void)poll_all(wheel, 60 * TICK, count, COUNT_OF(out), work_limit);
        wheel_end(wheel);
    }
}

/* It lies at the far end of a long list, with short ones beside it that are clean. */
static void garbage_at_the_end_of_a_long_list_is_found(void **state) {
    (void)state;
    const size_t count = test_scaled(400000);
    static const size_t limits[][2] = {{255, 0}, {50000, 100}}; /* of timers a poll, and of work */
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, limits[i][1]);
        assert_quiet(wheel, 100 * TICK);
        free(schedule_many(wheel, 100, 105 * TICK, 0));
        free(schedule_many(wheel, 240, 200000 * TICK, 64 * TICK));
        assert_int_equal(verge_wheel_poll(wheel, 110 * TICK, out, 1), 1); /* the others are a batch */
        const size_t cancelled = count * 3 / 8;
        verge_timer *oldest = schedule_many(wheel, cancelled, 50 * TICK, 0);
        free(schedule_many(wheel, count, 50 * TICK, 0));
        cancel_many(wheel, oldest, cancelled);
        (void)poll_all(wheel, 110 * TICK, count, limits[i][0], limits[i][1]);
        wheel_end(wheel);
    }
}

/* A backlog holds the cursor back. When it is gone, a poll files a part of what had been out of reach; then all is cancelled. */
static void garbage_beyond_the_reach_is_found(void **state) {
    (void)state;
    const size_t count = test_scaled(50000);
    static const uint8_t bits[] = {6, 6, 0};
    verge_wheel_options options = options_of_levels(TICK, bits);
    options.work_limit = count * 9 / 10;
    verge_wheel *wheel = wheel_new(&options);
    assert_quiet(wheel, 100 * TICK);
    free(schedule_many(wheel, 20, 150 * TICK, 0));
    assert_int_equal(verge_wheel_poll(wheel, 200 * TICK, out, 1), 1);
    (void)schedule(wheel, 4290 * TICK, 0);
    assert_int_equal(verge_wheel_poll(wheel, 8000 * TICK, out, 1), 1);
    verge_timer *timers = schedule_many(wheel, count, 12000 * TICK, 0);
    assert_true(verge_wheel_poll(wheel, 8000 * TICK, out, 20) > 0);
    cancel_many(wheel, timers, count);
    wheel_end(wheel);
}

/* A slot of an upper level comes down a little at each tick, also when its garbage was being sifted. */
static void a_slot_under_scrub_comes_down_by_and_by(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, 0);
    enum { COUNT = 60000, CANCELLED = COUNT * 5 / 16 + 2600, SLOT = 3 * 4096 };
    verge_timer *timers = schedule_many(wheel, CANCELLED, SLOT * TICK, TICK / 8);
    free(schedule_many(wheel, COUNT, SLOT * TICK, TICK / 16));
    cancel_many(wheel, timers, CANCELLED);
    for (uint64_t tick = 101; tick < SLOT + 10; tick++) {
        const size_t count = verge_wheel_poll(wheel, tick * TICK, out, COUNT_OF(out));
        assert_true(stats_of(wheel).last_poll_work - count < COUNT / 10);
    }
    wheel_end(wheel);
}

/* What is sorted is not sorted again for the sake of garbage that lies elsewhere. */
static void garbage_does_not_make_a_sorted_tick_dearer(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static const size_t limits[][2] = {{300, 0}, {50000, 1}, {50000, 100}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t work[2];
        for (size_t garbage = 0; garbage < 2; garbage++) {
            verge_wheel *wheel = wheel_with(VERGE_ORDER_FIFO, limits[i][1]);
            const size_t cancelled = garbage * (COUNT * 3 / 8);
            verge_timer *timers = schedule_many(wheel, cancelled + 1, HOUR, TICK);
            free(schedule_many(wheel, COUNT, 10 * TICK, 0));
            cancel_many(wheel, timers, cancelled + 1);
            work[garbage] = poll_all(wheel, 20 * TICK, COUNT, limits[i][0], limits[i][1]);
            wheel_end(wheel);
        }
        assert_true(work[1] <= work[0] + work[0] / 2);
    }
}

/* A limited poll that goes to the next timer returns it, garbage or not. */
static void poll_to_next_returns_what_is_due_beside_garbage(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, 1000);
    assert_quiet(wheel, 100 * TICK);
    const size_t live = test_scaled(100000);
    free(schedule_many(wheel, live, 9000000 * TICK, 0));
    const size_t cancelled = live * 37 / 100;
    verge_timer *timers = schedule_many(wheel, cancelled, 5000000 * TICK, TICK);
    free(schedule_many(wheel, 600, 110 * TICK - 500, 0));
    cancel_many(wheel, timers, cancelled);
    assert_true(verge_wheel_poll_to_next(wheel, 1000 * TICK, out, COUNT_OF(out)) > 0);
    wheel_end(wheel);
}

/* Cancels one after the other until there is so much garbage beyond what is tolerated that it is to be sifted. */
static void cancel_until_there_is_much(verge_wheel *wheel, const verge_timer *timers, size_t count, size_t more) {
    enum { TOLERATED = 2560 };
    size_t cancelled = 0;
    while (stats_of(wheel).garbage < verge_wheel_count(wheel) * 5 / 16 + TOLERATED + more) {
        assert_true(cancelled < count);
        assert_int_equal(verge_wheel_cancel(wheel, timers[cancelled++], NULL), 0);
    }
}

/* All of it is among what is sorted, which polls leave alone: they find nothing to sift, and do not look for it for ever. */
static void garbage_among_what_is_sorted_does_not_hold_a_poll(void **state) {
    (void)state;
    enum { COUNT = 20000, WORK_LIMIT = 100 };
    verge_wheel *wheel = wheel_with(VERGE_ORDER_FIFO, WORK_LIMIT);
    verge_timer *timers = schedule_many(wheel, COUNT, 10 * TICK, 0);
    (void)poll_all(wheel, 20 * TICK, 1, 1, WORK_LIMIT); /* the others are sorted then */
    cancel_until_there_is_much(wheel, timers + 1, COUNT - 1, 1);
    free(timers);
    (void)poll_all(wheel, 20 * TICK, verge_wheel_count(wheel), COUNT_OF(out), WORK_LIMIT);
    wheel_end(wheel);
}

/* Cancels of what is sorted leave no more garbage than others, in whichever run it is: the last is a third of all here. */
static void garbage_among_what_is_sorted_is_bounded(void **state) {
    (void)state;
    enum { CHUNK = 30, COUNT = (1024 + 512) * CHUNK };
    verge_wheel *wheel = wheel_with(VERGE_ORDER_FIFO, 0);
    verge_timer *timers = schedule_many(wheel, COUNT, 10 * TICK, 0);
    assert_int_equal(verge_wheel_poll(wheel, 20 * TICK, out, 1), 1);
    assert_int_equal(verge_wheel_cancel(wheel, timers[0], NULL), -ENOENT);
    timers[0] = schedule(wheel, HOUR, 0);
    cancel_many(wheel, timers, COUNT);
    wheel_end(wheel);
}

/* Two thirds of a limited poll's work are for garbage, and no more: of a limit of 1, two polls of three. */
static void a_limit_of_one_leaves_a_third_for_timers(void **state) {
    (void)state;
    enum { DUE = 6, COUNT = 4000 };
    verge_wheel *wheel = wheel_with(VERGE_ORDER_ANY, 1);
    free(schedule_many(wheel, DUE, 10 * TICK, 0));
    verge_timer *timers = schedule_many(wheel, COUNT, HOUR, TICK);
    cancel_until_there_is_much(wheel, timers, COUNT, (size_t)3 * DUE);
    free(timers);
    for (size_t i = 0; i < DUE; i++) {
        size_t count = 0;
        for (size_t turn = 0; turn < 3; turn++) {
            count += verge_wheel_poll(wheel, 20 * TICK, out, COUNT_OF(out));
            assert_int_equal(stats_of(wheel).last_poll_work, 1);
        }
        assert_int_equal(count, 1);
    }
    wheel_end(wheel);
}

/* A tick of which a scrub holds a part comes out with that part, also where the other one is a chunk or less. */
static void a_tick_under_scrub_comes_out_whole(void **state) {
    (void)state;
    enum { TIMERS = 200 };
    verge__garbage_allowed = 8; /* sifted all the time */
    for (size_t kept = 1; kept < TIMERS; kept++) {
        verge_wheel *wheel = wheel_new(NULL);
        verge_timer timers[TIMERS];
        for (size_t i = 0; i < TIMERS; i++) {
            timers[i] = schedule(wheel, 10 * TICK, i);
        }
        for (size_t i = 0; i < TIMERS - kept; i++) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i * 37 % TIMERS], NULL), 0);
        }
        assert_well(wheel);
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, COUNT_OF(out)), kept);
        assert_int_equal(verge_wheel_count(wheel), 0);
        wheel_end(wheel);
    }
    verge__garbage_allowed = VERGE__GARBAGE_ALLOWED;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_falls_with_the_timers),
        cmocka_unit_test(garbage_at_the_end_of_a_long_list_is_found),
        cmocka_unit_test(garbage_beyond_the_reach_is_found),
        cmocka_unit_test(a_slot_under_scrub_comes_down_by_and_by),
        cmocka_unit_test(a_tick_under_scrub_comes_out_whole),
        cmocka_unit_test(garbage_does_not_make_a_sorted_tick_dearer),
        cmocka_unit_test(poll_to_next_returns_what_is_due_beside_garbage),
        cmocka_unit_test(garbage_among_what_is_sorted_does_not_hold_a_poll),
        cmocka_unit_test(garbage_among_what_is_sorted_is_bounded),
        cmocka_unit_test(a_limit_of_one_leaves_a_third_for_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
