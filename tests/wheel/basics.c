/* SPDX-License-Identifier: MIT */
/* Simple tests of each call of a wheel, and of its queries. */
#include "wheel/support.h"

static void a_timer_comes_out_at_its_tick(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, 10 * MS, 42);
    const uint64_t fires_ns = verge_wheel_fires_at(wheel, 10 * MS);
    assert_int_equal(fires_ns, 10 * TICK); /* 10 ms is 9.5 ticks */
    assert_quiet(wheel, 10 * MS - 1);
    assert_quiet(wheel, fires_ns - 1);
    verge_expiry out[2];
    assert_int_equal(verge_wheel_poll(wheel, fires_ns, out, 2), 1);
    assert_int_equal(out[0].timer, timer);
    assert_int_equal(out[0].deadline_ns, 10 * MS);
    assert_int_equal(number_of(out[0].data), 42);
    assert_int_equal(verge_wheel_count(wheel), 0);
    wheel_end(wheel);
}

static void strict_waits_for_the_interval_to_end(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.strict = true;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer at_tick = schedule(wheel, 10 * TICK, 1);
    assert_int_equal(verge_wheel_fires_at(wheel, 10 * TICK), 11 * TICK);
    assert_int_equal(verge_wheel_fires_at(wheel, 10 * TICK - 1), 10 * TICK);
    assert_quiet(wheel, 10 * TICK);
    assert_quiet(wheel, 11 * TICK - 1);
    assert_fires(wheel, 11 * TICK, at_tick);
    wheel_end(wheel);
}

static void get_says_what_was_scheduled(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, 7 * SECOND, 5);
    verge_expiry expiry;
    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
    assert_int_equal(expiry.timer, timer);
    assert_int_equal(expiry.deadline_ns, 7 * SECOND);
    assert_int_equal(number_of(expiry.data), 5);
    assert_int_equal(verge_wheel_reset(wheel, timer, 9 * SECOND), 0);
    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
    assert_int_equal(expiry.deadline_ns, 9 * SECOND);
    wheel_end(wheel);
}

static void cancel_returns_the_data(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, SECOND, 9);
    void *data = NULL;
    assert_int_equal(verge_wheel_cancel(wheel, timer, &data), 0);
    assert_int_equal(number_of(data), 9);
    assert_quiet(wheel, YEAR);
    wheel_end(wheel);
}

static void reschedule_moves_both_ways(void **state) {
    (void)state;
    static const uint64_t deadlines_ns[] = {TICK, 2 * TICK, 100 * TICK, 10 * SECOND, HOUR, DAY, YEAR, 100 * YEAR};
    for (size_t from = 0; from < COUNT_OF(deadlines_ns); from++) {
        for (size_t to = 0; to < COUNT_OF(deadlines_ns); to++) {
            verge_wheel *wheel = wheel_new(NULL);
            const verge_timer timer = schedule(wheel, deadlines_ns[from], 1);
            assert_int_equal(verge_wheel_reset(wheel, timer, deadlines_ns[to]), 0);
            const uint64_t fires_ns = verge_wheel_fires_at(wheel, deadlines_ns[to]);
            assert_int_equal(verge_wheel_next_deadline(wheel), deadlines_ns[to]);
            assert_quiet(wheel, fires_ns - 1);
            assert_fires(wheel, fires_ns, timer);
            assert_quiet(wheel, 200 * YEAR);
            wheel_end(wheel);
        }
    }
}

static void reschedule_to_the_past_fires_next(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, HOUR, 1);
    assert_quiet(wheel, MINUTE);
    assert_int_equal(verge_wheel_reset(wheel, timer, SECOND), 0);
    assert_true(verge_wheel_next_wakeup(wheel) <= MINUTE);
    assert_fires(wheel, MINUTE, timer);
    wheel_end(wheel);
}

static void rearm_moves_or_schedules(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_RUNTIME, 0);
    verge_timer timer = 0;
    int first = 0;
    int second = 0;
    verge_expiry expiry;
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, SECOND, &first), 0);
    const verge_timer scheduled = timer;
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, HOUR, &second), 0);
    assert_int_equal(timer, scheduled);
    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
    assert_int_equal(expiry.deadline_ns, HOUR);
    assert_ptr_equal(expiry.data, &second);
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, VERGE_NEVER, &first), -ERANGE);
    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
    assert_int_equal(expiry.deadline_ns, HOUR);
    assert_ptr_equal(expiry.data, &second);
    assert_fires(wheel, HOUR + TICK, timer);
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, VERGE_NEVER, &first), -ERANGE);
    assert_int_equal(timer, scheduled);
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, 2 * HOUR, &first), 0);
    assert_int_not_equal(timer, scheduled);
    assert_int_equal(verge_wheel_cancel(wheel, scheduled, NULL), -ENOENT);
    /* A past time: the timer comes out at the next poll. */
    assert_int_equal(verge_wheel_start_or_reset(wheel, &timer, MINUTE, &first), 0);
    assert_fires(wheel, HOUR + TICK, timer);
    wheel_end(wheel);
}

static void reschedule_saves_a_timer_that_is_due(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer saved = schedule(wheel, SECOND, 1);
    const verge_timer due = schedule(wheel, SECOND, 2);
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, NULL, 0), 0); /* both are due now */
    assert_int_equal(verge_wheel_reset(wheel, saved, 3 * SECOND), 0);
    assert_fires(wheel, 2 * SECOND, due);
    assert_quiet(wheel, 3 * SECOND - TICK);
    assert_fires(wheel, 3 * SECOND + TICK, saved);
    wheel_end(wheel);
}

static void cancel_saves_a_timer_that_is_due(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer cancelled = schedule(wheel, SECOND, 1);
    const verge_timer due = schedule(wheel, SECOND, 2);
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, NULL, 0), 0);
    assert_int_equal(verge_wheel_cancel(wheel, cancelled, NULL), 0);
    assert_fires(wheel, 2 * SECOND, due);
    assert_quiet(wheel, 3 * SECOND);
    wheel_end(wheel);
}

static void window_takes_the_roundest_time(void **state) {
    (void)state;
    static const struct {
        uint64_t earliest_ns, latest_ns, deadline_ns;
    } cases[] = {
        {5, 7, 6},
        {5, 8, 8},
        {9, 15, 12},
        {3, 3, 3},
        {1, 1, 1},
        {1, 2, 2},
        {1000, 1100, 1024},
        {TICK + 1, 3 * TICK - 1, 2 * TICK},
        {MINUTE, 2 * MINUTE, UINT64_C(1) << 36},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        verge_wheel *wheel = wheel_new(NULL);
        verge_timer timer = 0;
        assert_int_equal(verge_wheel_start_window(wheel, cases[i].earliest_ns, cases[i].latest_ns, NULL, &timer), 0);
        verge_expiry expiry;
        assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
        assert_int_equal(expiry.deadline_ns, cases[i].deadline_ns);
        assert_fires(wheel, verge_wheel_fires_at(wheel, cases[i].deadline_ns), timer);
        wheel_end(wheel);
    }
}

static void windows_coalesce(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timer timer = 0;
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(verge_wheel_start_window(wheel, SECOND + i * MS, SECOND + i * MS + 200 * MS, NULL, &timer), 0);
    }
    size_t wakeups = 0;
    for (uint64_t now_ns = 0; verge_wheel_count(wheel) > 0; now_ns += TICK) {
        wakeups += poll_count(wheel, now_ns) > 0;
    }
    assert_in_range(wakeups, 1, 2);
    wheel_end(wheel);
}

static void best_fit_within_reach_is_the_target(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_TWO_LEVEL, SECOND);
    verge_timer timer = 0;
    uint64_t wheel_deadline_ns = 0;
    assert_int_equal(verge_wheel_start_best_fit(wheel, MINUTE, NULL, &timer, &wheel_deadline_ns), 0);
    assert_int_equal(wheel_deadline_ns, MINUTE);
    assert_int_equal(verge_wheel_start_best_fit(wheel, MINUTE, NULL, &timer, NULL), 0);
    assert_int_equal(verge_wheel_start_best_fit(wheel, YEAR, NULL, &timer, &wheel_deadline_ns), 0);
    assert_int_equal(wheel_deadline_ns, verge_wheel_largest_deadline(wheel));
    assert_int_equal(verge_wheel_start_best_fit(wheel, 1, NULL, &timer, &wheel_deadline_ns), 0);
    assert_int_equal(wheel_deadline_ns, 1);
    assert_fires(wheel, SECOND, timer);
    wheel_end(wheel);
}

/* If a slot of an upper level starts right after the reach of the level below, its start is the best fit. */
static void best_fit_where_a_level_begins(void **state) {
    (void)state;
    static const uint8_t bits[] = {6, 6, 6, 0};
    verge_wheel_options options = options_of_levels(TICK, bits);
    options.coarse = true;
    verge_wheel *wheel = wheel_new(&options);
    verge_timer timer = 0;
    uint64_t wheel_deadline_ns = 0;
    assert_quiet(wheel, 9 * TICK); /* level 0 reaches 64 ticks, and no slot of level 1 starts right after them */
    assert_int_equal(verge_wheel_start_best_fit(wheel, 74 * TICK, NULL, &timer, &wheel_deadline_ns), 0);
    assert_int_equal(wheel_deadline_ns, 73 * TICK);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    assert_quiet(wheel, 63 * TICK);
    assert_int_equal(verge_wheel_start_best_fit(wheel, 150 * TICK, NULL, &timer, &wheel_deadline_ns), 0);
    assert_int_equal(wheel_deadline_ns, 128 * TICK);
    assert_quiet(wheel, 128 * TICK - 1);
    assert_fires(wheel, 128 * TICK, timer);
    wheel_end(wheel);
}

/* Timers that were started at different distances from their deadlines come out in the order of their deadlines. */
static void what_was_far_comes_before_what_is_near(void **state) {
    (void)state;
    static const uint8_t bits[] = {6, 6, 6, 0};
    const verge_wheel_options options = options_of_levels(TICK, bits);
    verge_wheel *wheel = wheel_new(&options);
    (void)schedule(wheel, 100 * TICK, 2);
    assert_quiet(wheel, 50 * TICK);
    (void)schedule(wheel, 60 * TICK, 1);
    (void)schedule(wheel, 113 * TICK, 3);
    ASSERT_FIRES_IN_ORDER(wheel, 120 * TICK, 1, 2, 3);
    wheel_end(wheel);
}

static void poll_exact_has_no_lateness(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[4];
    const verge_timer early = schedule(wheel, 10 * TICK + 5, 1);
    const verge_timer late = schedule(wheel, 10 * TICK + 6, 2);
    assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 4, out, 4), 0);
    assert_quiet(wheel, 10 * TICK + 5);
    assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 5, out, 4), 1);
    assert_int_equal(out[0].timer, early);
    assert_int_equal(verge_wheel_next_deadline(wheel), 10 * TICK + 6);
    assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 6, out, 4), 1);
    assert_int_equal(out[0].timer, late);
    assert_quiet(wheel, 20 * TICK);
    wheel_end(wheel);
}

static void poll_to_next_stops_at_each_deadline(void **state) {
    (void)state;
    static const uint64_t deadlines_ns[] = {3, TICK, TICK + 1, 70 * TICK + 3, 5 * SECOND, HOUR + 1, 3 * DAY, YEAR};
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[4];
    for (uintptr_t i = 0; i < COUNT_OF(deadlines_ns); i++) {
        (void)schedule(wheel, deadlines_ns[i], i);
        (void)schedule(wheel, deadlines_ns[i], i);
    }
    for (uintptr_t i = 0; i < COUNT_OF(deadlines_ns); i++) {
        assert_int_equal(verge_wheel_poll_to_next(wheel, deadlines_ns[i] - 1, out, 4), 0);
        assert_int_equal(verge_wheel_now(wheel), deadlines_ns[i] - 1);
        assert_int_equal(verge_wheel_poll_to_next(wheel, 2 * YEAR, out, 4), 2);
        assert_int_equal(verge_wheel_now(wheel), deadlines_ns[i]);
        assert_int_equal(number_of(out[0].data), i);
        assert_int_equal(number_of(out[1].data), i);
    }
    assert_int_equal(verge_wheel_poll_to_next(wheel, 2 * YEAR, out, 4), 0);
    assert_int_equal(verge_wheel_now(wheel), 2 * YEAR);
    wheel_end(wheel);
}

/* poll_to_next does not stop at a deadline whose tick never comes. */
static void poll_to_next_passes_a_deadline_whose_tick_never_comes(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const uint64_t deadline_ns = VERGE_NEVER - 100;
    assert_int_equal(verge_wheel_fires_at(wheel, deadline_ns), VERGE_NEVER);
    (void)schedule(wheel, deadline_ns, 1);
    verge_expiry out[4];
    assert_int_equal(verge_wheel_poll_to_next(wheel, VERGE_NEVER - 1, out, 0), 0);
    assert_int_equal(verge_wheel_now(wheel), VERGE_NEVER - 1);
    wheel_end(wheel);
}

/* poll_exact has left a timer in its tick. In a strict wheel, poll_to_next stops at the end of this tick. */
static void poll_to_next_ends_a_tick_that_poll_exact_began(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.strict = true;
    verge_wheel *wheel = wheel_new(&options);
    verge_expiry out[4];
    (void)schedule(wheel, 10 * TICK + 5, 1);
    (void)schedule(wheel, 10 * TICK + 5, 2);
    assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 7, out, 1), 1);
    assert_int_equal(verge_wheel_poll_to_next(wheel, 20 * TICK, out, 4), 1);
    assert_int_equal(verge_wheel_now(wheel), 11 * TICK);
    wheel_end(wheel);
}

static void intervals_are_half_open(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    static const uint64_t times_ns[] = {
        0, TICK - 1, TICK, 3 * TICK - 1, 3 * TICK, UINT64_MAX - 2 * TICK, UINT64_MAX - 2 * TICK + 1};
    static const uint64_t intervals[] = {0, 0, 1, 2, 3, (UINT64_MAX >> 20) - 2, (UINT64_MAX >> 20) - 1};
    for (size_t i = 0; i < COUNT_OF(times_ns); i++) {
        const verge_timer timer = schedule(wheel, times_ns[i], i);
        uint64_t interval = 0;
        assert_int_equal(verge_wheel_first_interval(wheel, &interval, NULL, NULL), 0);
        assert_int_equal(interval, intervals[i]);
        assert_int_equal(interval, times_ns[i] / verge_wheel_precision(wheel));
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    }
    assert_int_equal(verge_wheel_fires_at(wheel, UINT64_MAX - 1), VERGE_NEVER);
    assert_int_equal(verge_wheel_fires_at(wheel, UINT64_MAX - 2 * TICK + 2), VERGE_NEVER); /* its tick never comes */
    assert_int_equal(verge_wheel_fires_at(wheel, UINT64_MAX - 2 * TICK + 1), UINT64_MAX - 2 * TICK + 1);
    wheel_end(wheel);
}

struct visited {
    uintptr_t sum;
    size_t count;
    size_t stop_at;
};

static int visit_sum(void *context, const verge_expiry *timer) {
    struct visited *visited = context;
    visited->sum += number_of(timer->data);
    visited->count++;
    return visited->count == visited->stop_at ? -42 : 0;
}

static void iterate_visits_each_once(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    struct visited visited = {0};
    assert_int_equal(verge_wheel_iterate(wheel, visit_sum, &visited), 0);
    assert_int_equal(visited.count, 0);
    uintptr_t sum = 0;
    for (uintptr_t i = 1; i <= 1000; i++) {
        const verge_timer timer = schedule(wheel, i * i * MS, i);
        if (i % 3 == 0) {
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        } else {
            sum += i;
        }
    }
    assert_int_equal(verge_wheel_iterate(wheel, visit_sum, &visited), 0);
    assert_int_equal(visited.count, verge_wheel_count(wheel));
    assert_int_equal(visited.sum, sum);
    visited = (struct visited){.stop_at = 5};
    assert_int_equal(verge_wheel_iterate(wheel, visit_sum, &visited), -42);
    assert_int_equal(visited.count, 5);
    /* Timers that are due and were not returned are visited, too. */
    assert_int_equal(verge_wheel_poll(wheel, 1000 * MS, NULL, 0), 0);
    visited = (struct visited){0};
    assert_int_equal(verge_wheel_iterate(wheel, visit_sum, &visited), 0);
    assert_int_equal(visited.sum, sum);
    wheel_end(wheel);
}

static void iterate_stops_at_a_timeout(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    static verge_timeout timeouts[100];
    for (size_t i = 0; i < COUNT_OF(timeouts); i++) {
        assert_int_equal(verge_timeout_start(wheel, &timeouts[i], (i + 1) * 300 * MS),
                         0); /* in slots of several levels */
    }
    for (size_t stop_at = 1; stop_at <= COUNT_OF(timeouts); stop_at++) {
        struct visited visited = {.stop_at = stop_at};
        assert_int_equal(verge_wheel_iterate(wheel, visit_sum, &visited), -42);
        assert_int_equal(visited.count, stop_at);
    }
    wheel_end(wheel);
}

static void first_interval_has_its_smallest_and_largest(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_ALARM, 0);
    uint64_t interval = 1;
    uint64_t smallest_ns = 2;
    uint64_t largest_ns = 3;
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, &smallest_ns, &largest_ns), -ENOENT);
    assert_int_equal(interval, 1);
    assert_int_equal(smallest_ns, 2);
    assert_int_equal(largest_ns, 3);
    verge_wheel_destroy(wheel);

    verge_wheel_options options = options_of(VERGE_PRESET_ALARM);
    static const uint8_t bits[] = {6, 6, 6, 6, 0};
    assert_int_equal(verge_wheel_options_levels(&options, 1024, bits, 4), 0);
    wheel = wheel_new(&options);
    (void)schedule(wheel, 5 * 1024 + 7, 1);
    (void)schedule(wheel, UINT64_C(900) * 1024 + 9, 2);
    (void)schedule(wheel, UINT64_C(900) * 1024 + 1, 3);
    (void)schedule(wheel, UINT64_C(900) * 1024 + 1023, 4);
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, &smallest_ns, &largest_ns), 0);
    assert_int_equal(interval, 5);
    assert_int_equal(smallest_ns, 5 * 1024 + 7);
    assert_int_equal(largest_ns, 5 * 1024 + 7);
    assert_int_equal(poll_count(wheel, UINT64_C(6) * 1024), 1);
    assert_int_equal(verge_wheel_first_interval(wheel, &interval, &smallest_ns, &largest_ns), 0);
    assert_int_equal(interval, 900);
    assert_int_equal(smallest_ns, UINT64_C(900) * 1024 + 1);
    assert_int_equal(largest_ns, UINT64_C(900) * 1024 + 1023);
    wheel_end(wheel);
}

static void statistics_count_everything(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    for (uintptr_t i = 0; i < 10; i++) {
        const verge_timer timer = schedule(wheel, SECOND + i * SECOND, i);
        if (i < 3) {
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        }
    }
    assert_int_equal(poll_count(wheel, 5 * SECOND + TICK), 2);
    verge_wheel_stats stats = stats_of(wheel);
    assert_int_equal(stats.started, 10);
    assert_int_equal(stats.cancelled, 3);
    assert_int_equal(stats.expired, 2);
    assert_int_equal(stats.timers, 5);
    verge_wheel_cancel_all(wheel);
    stats = stats_of(wheel);
    assert_int_equal(stats.cancelled, 8);
    assert_int_equal(stats.timers, 0);
    assert_int_equal(stats.nodes_retired, 0);
    wheel_end(wheel);
}

static void levels_have_statistics(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_TWO_LEVEL, 0);
    for (uintptr_t i = 0; i < 100; i++) {
        (void)schedule(wheel, (i + 2) * TICK, i);
        (void)schedule(wheel, MINUTE + i * SECOND, i);
    }
    uint64_t active = 0;
    uint64_t bytes = 0;
    for (size_t level = 0; level < level_count_of(wheel); level++) {
        const verge_wheel_level_stats stats = level_stats_of(wheel, level);
        assert_int_equal(stats.resolution_ns, level == 0 ? TICK : UINT64_C(1) << 30);
        assert_true(stats.slots >= 1024);
        assert_true(stats.slots_used <= stats.slots);
        assert_true(stats.active + stats.idle <= stats.capacity);
        assert_int_equal(stats.idle, 0);
        active += stats.active;
        bytes += stats.bytes;
    }
    assert_int_equal(active, 200);
    assert_true(bytes <= stats_of(wheel).bytes);
    wheel_end(wheel);
}

/* The statistics of each level: its nodes, and the bytes of its slots. A ring has two blocks of slots. Each slot has
 * one bit and some lanes. */
static void levels_say_what_they_hold(void **state) {
    (void)state;
    enum { COUNT = 140 };
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 0);
    assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0); /* without a reserve, it would begin with fewer slots */
    verge_timer timers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, 5 * TICK, i); /* all in one slot */
    }
    (void)schedule(wheel, 600 * TICK, COUNT);
    assert_int_equal(verge_wheel_cancel(wheel, timers[0], NULL), 0);
    static const struct {
        uint64_t slots, slots_used, active, idle;
    } levels[] = {{1024, 1, COUNT - 1, 1}, {512, 1, 1, 0}};
    for (size_t k = 0; k < 2; k++) {
        verge_wheel_level_stats stats = {.struct_size = sizeof(stats)};
        assert_int_equal(verge_wheel_get_level_stats(wheel, k, &stats), 0);
        assert_int_equal(stats.resolution_ns, TICK << (9 * k));
        assert_int_equal(stats.slots, levels[k].slots);
        assert_int_equal(stats.slots_used, levels[k].slots_used);
        assert_int_equal(stats.active, levels[k].active);
        assert_int_equal(stats.idle, levels[k].idle);
        assert_int_equal(stats.capacity, levels[k].active + levels[k].idle);
        const uint64_t slots = levels[k].slots;
        const uint64_t counts = k > 0 ? slots * sizeof(uint32_t) : 0; /* each slot of an upper level has a count */
        const uint64_t lanes = (stats.bytes - slots / 8 - counts) / (slots * sizeof(void *));
        assert_int_equal(stats.bytes, lanes * slots * sizeof(void *) + slots / 8 + counts);
        assert_in_range(lanes, 1, 8);
    }
    wheel_end(wheel);
}

/* Goes round a level several times. The level has so many slots that its bitmap has several words. */
static void assert_goes_round(uint8_t lowest_bits) {
    enum { TIMERS = 4, ROUNDS = 3000 };
    const uint8_t bits[] = {lowest_bits, 1, 0};
    const verge_wheel_options options = options_of_levels(TICK, bits);
    struct verge_test_random random = verge_test_random_from(13);
    verge_wheel *wheel = wheel_new(&options);
    assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0); /* without a reserve, it would begin narrow */
    uint64_t ticks[TIMERS] = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        const uint64_t now = verge_wheel_now(wheel) / TICK;
        uint64_t next = UINT64_MAX;
        for (uintptr_t i = 0; i < TIMERS; i++) {
            if (ticks[i] <= now) {
                ticks[i] = now + 1 + verge_test_below(&random, UINT64_C(1) << lowest_bits);
                (void)schedule(wheel, ticks[i] * TICK, i);
            }
            next = ticks[i] < next ? ticks[i] : next;
        }
        assert_int_equal(verge_wheel_next_wakeup(wheel), next * TICK);
        verge_expiry out[TIMERS];
        const size_t count = verge_wheel_poll(wheel, next * TICK, out, TIMERS);
        assert_int_equal(verge_wheel_count(wheel), TIMERS - count);
        assert_true(count > 0);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(ticks[number_of(out[i].data)], next);
        }
        if (round % 100 == 0) {
            assert_well(wheel);
        }
    }
    wheel_end(wheel);
}

static void levels_of_many_slots(void **state) {
    (void)state;
    for (unsigned bits = 9; bits <= VERGE_LEVEL_BITS_MAX; bits++) {
        assert_goes_round((uint8_t)bits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_say_what_they_hold),
        cmocka_unit_test(a_timer_comes_out_at_its_tick),
        cmocka_unit_test(strict_waits_for_the_interval_to_end),
        cmocka_unit_test(get_says_what_was_scheduled),
        cmocka_unit_test(cancel_returns_the_data),
        cmocka_unit_test(reschedule_moves_both_ways),
        cmocka_unit_test(reschedule_to_the_past_fires_next),
        cmocka_unit_test(rearm_moves_or_schedules),
        cmocka_unit_test(reschedule_saves_a_timer_that_is_due),
        cmocka_unit_test(cancel_saves_a_timer_that_is_due),
        cmocka_unit_test(window_takes_the_roundest_time),
        cmocka_unit_test(windows_coalesce),
        cmocka_unit_test(best_fit_within_reach_is_the_target),
        cmocka_unit_test(best_fit_where_a_level_begins),
        cmocka_unit_test(what_was_far_comes_before_what_is_near),
        cmocka_unit_test(poll_exact_has_no_lateness),
        cmocka_unit_test(poll_to_next_stops_at_each_deadline),
        cmocka_unit_test(poll_to_next_ends_a_tick_that_poll_exact_began),
        cmocka_unit_test(poll_to_next_passes_a_deadline_whose_tick_never_comes),
        cmocka_unit_test(intervals_are_half_open),
        cmocka_unit_test(iterate_visits_each_once),
        cmocka_unit_test(iterate_stops_at_a_timeout),
        cmocka_unit_test(first_interval_has_its_smallest_and_largest),
        cmocka_unit_test(statistics_count_everything),
        cmocka_unit_test(levels_have_statistics),
        cmocka_unit_test(levels_of_many_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
