/* SPDX-License-Identifier: MIT */
/* Promises that the wheel once broke. There is a section for each promise. */
#include "wheel/support.h"

static verge_expiry out[1 << 17];

static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};

/* ---- G2: a timer is late by less than the resolution of the level that its distance from now needs ---- */

static const uint64_t gaps_ns[] = {2 * SECOND, MINUTE, 1181 * SECOND, HOUR, 18 * HOUR, 19 * HOUR};
static const uint64_t delays_ns[] = {MS, 10 * MS, 500 * MS, 2 * SECOND, 10 * MINUTE, 30 * MINUTE, 10 * HOUR};

/* The resolution of the level of VERGE_PRESET_THREE_LEVEL for this delay. */
static uint64_t resolution_for(uint64_t delay_ns) {
    return delay_ns < UINT64_C(1) << 30 ? TICK : delay_ns < UINT64_C(1) << 40 ? UINT64_C(1) << 30 : UINT64_C(1) << 36;
}

enum { NEW = 77, OLD = 1 };

/* Polls until the new timer comes out: not before its deadline, and less than a resolution after it. */
static void assert_in_time(verge_wheel *wheel, uint64_t deadline_ns, uint64_t resolution_ns) {
    size_t count = verge_wheel_poll(wheel, deadline_ns - 1, out, COUNT_OF(out));
    for (size_t i = 0; i < count; i++) {
        assert_int_not_equal(number_of_expiry(&out[i]), NEW);
    }
    count = verge_wheel_poll(wheel, deadline_ns + resolution_ns, out, COUNT_OF(out));
    assert_int_equal(count, 1);
    assert_int_equal(number_of_expiry(&out[0]), NEW);
}

/* Three timers are due, and one was handed out. Then the new timer is started. */
static void coarse_and_in_time_while_there_is_a_backlog(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(gaps_ns) * COUNT_OF(delays_ns) * COUNT_OF(orders); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_THREE_LEVEL);
        options.order = orders[i % COUNT_OF(orders)];
        const uint64_t gap_ns = gaps_ns[i / COUNT_OF(orders) % COUNT_OF(gaps_ns)];
        const uint64_t delay_ns = delays_ns[i / COUNT_OF(orders) / COUNT_OF(gaps_ns)];
        verge_wheel *wheel = wheel_new(&options);
        (void)schedule(wheel, MS, OLD);
        (void)schedule(wheel, 900 * MS, OLD);
        (void)schedule(wheel, 900 * MS, OLD);
        assert_int_equal(verge_wheel_poll(wheel, gap_ns, out, 1), 1);
        (void)schedule(wheel, gap_ns + delay_ns, NEW);
        assert_well(wheel);
        assert_in_time(wheel, gap_ns + delay_ns, resolution_for(delay_ns));
        wheel_end(wheel);
    }
}

struct scheduler {
    verge_wheel *wheel;
    uint64_t delay_ns;
    bool is_timeout;
    struct numbered timeout;
};

static void schedule_another(void *context, const verge_expiry *expiry) {
    struct scheduler *scheduler = context;
    if (number_of_expiry(expiry) != OLD) {
        return;
    }
    const uint64_t deadline_ns = verge_wheel_now(scheduler->wheel) + scheduler->delay_ns;
    if (scheduler->is_timeout) {
        assert_int_equal(verge_timeout_start(scheduler->wheel, &scheduler->timeout.timeout, deadline_ns), 0);
    } else {
        (void)schedule(scheduler->wheel, deadline_ns, NEW);
    }
}

/* After a long time without a poll, the function of a run starts the new timer. Then the run goes on with other due
 * timers. */
static void coarse_and_in_time_from_the_function_of_a_run(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(gaps_ns) * COUNT_OF(delays_ns) * 2; i++) {
        const uint64_t gap_ns = gaps_ns[i / 2 % COUNT_OF(gaps_ns)];
        struct scheduler scheduler = {.wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0),
                                      .delay_ns = delays_ns[i / 2 / COUNT_OF(gaps_ns)],
                                      .is_timeout = i % 2 != 0,
                                      .timeout = {.number = NEW}};
        (void)schedule(scheduler.wheel, MS, OLD);
        (void)schedule(scheduler.wheel, 900 * MS, 2);
        (void)schedule(scheduler.wheel, 1900 * MS, 3);
        assert_int_equal(verge_wheel_run(scheduler.wheel, gap_ns, schedule_another, &scheduler),
                         gap_ns < 3 * SECOND ? 2 : 3);
        (void)verge_wheel_run(scheduler.wheel, gap_ns + MS, schedule_another, &scheduler);
        if (gap_ns > 3 * SECOND) {
            assert_in_time(scheduler.wheel, gap_ns + scheduler.delay_ns, resolution_for(scheduler.delay_ns));
        } else {
            size_t count = verge_wheel_poll(scheduler.wheel,
                                            gap_ns + scheduler.delay_ns + resolution_for(scheduler.delay_ns), out, 4);
            bool is_out = false;
            for (size_t k = 0; k < count; k++) {
                is_out = is_out || number_of_expiry(&out[k]) == NEW;
            }
            assert_true(is_out);
        }
        wheel_end(scheduler.wheel);
    }
}

/* ---- G1: strict means deadline < now, whatever poll_exact has looked at ---- */

/* There are up to 19 timers, perhaps more than the work limit allows, so poll_exact returns some of them, or none. */
static void strict_is_strict_after_poll_exact(void **state) {
    (void)state;
    static const size_t work_limits[] = {0, 1, 2, 3, 5, 7, 10, 100};
    for (size_t i = 0; i < COUNT_OF(work_limits) * COUNT_OF(orders); i++) {
        for (size_t timers = 1; timers < 20; timers++) {
            for (size_t limit = 0; limit < 4; limit++) {
                verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
                options.precision_ns = 1024;
                options.strict = true;
                options.work_limit = work_limits[i / COUNT_OF(orders)];
                options.order = orders[i % COUNT_OF(orders)];
                verge_wheel *wheel = wheel_new(&options);
                for (size_t k = 0; k < timers; k++) {
                    (void)schedule(wheel, k % 5 == 4 ? 499 : 500, k);
                }
                size_t returned = verge_wheel_poll_exact(wheel, 500, out, limit);
                for (size_t polls = 0; polls < 20; polls++) {
                    const size_t count = verge_wheel_poll(wheel, 500, out, COUNT_OF(out));
                    for (size_t k = 0; k < count; k++) {
                        assert_true(out[k].deadline_ns < 500);
                    }
                    returned += count;
                }
                for (size_t polls = 0; returned < timers; polls++) {
                    returned += verge_wheel_poll(wheel, 1024, out, COUNT_OF(out));
                    assert_true(polls < 1000);
                }
                assert_int_equal(verge_wheel_count(wheel), 0);
                wheel_end(wheel);
            }
        }
    }
}

/* ---- statistics: no level uses more slots than it has, and the levels add up to the whole wheel ---- */

static void assert_levels_add_up(verge_wheel *wheel) {
    uint64_t active = 0;
    uint64_t idle = 0;
    const verge_wheel_stats stats = stats_of(wheel);
    for (size_t k = 0; k < level_count_of(wheel); k++) {
        const verge_wheel_level_stats level = level_stats_of(wheel, k);
        assert_true(level.slots_used <= level.slots);
        assert_true(level.slots_used <= level.active + level.idle);
        assert_true(level.active + level.idle <= level.capacity);
        active += level.active;
        idle += level.idle;
    }
    if (verge_wheel_has_backlog(wheel)) { /* timers that are due are in no level, or in the lowest */
        assert_true(active <= stats.timers && idle <= stats.idle);
    } else {
        assert_int_equal(active, stats.timers);
        assert_int_equal(idle, stats.idle);
    }
}

static void levels_add_up_to_the_whole(void **state) {
    (void)state;
    static const uint8_t geometries[][5] = {{1, 1, 0}, {1, 2, 3, 0},    {2, 2, 2, 0},
                                            {3, 3, 0}, {3, 3, 3, 3, 0}, {6, 6, 0}};
    struct verge_test_random random = verge_test_random_from(verge_test_seed(9));
    for (size_t i = 0; i < COUNT_OF(geometries) * COUNT_OF(orders) * 2; i++) {
        verge_wheel_options options = options_of_levels(TICK, geometries[i % COUNT_OF(geometries)]);
        options.order = orders[i / COUNT_OF(geometries) % COUNT_OF(orders)];
        options.work_limit = i / COUNT_OF(geometries) / COUNT_OF(orders) * 7;
        verge_wheel *wheel = wheel_new(&options);
        verge_timer timers[64] = {0};
        for (size_t step = test_scaled(3000); step > 0; step--) {
            const uint64_t now_ns = verge_wheel_now(wheel);
            const uint64_t reach_ns = verge_wheel_largest_deadline(wheel) - now_ns;
            verge_timer *timer = &timers[verge_test_below(&random, COUNT_OF(timers))];
            switch (verge_test_below(&random, 4)) {
            case 0:
                (void)verge_wheel_cancel(wheel, *timer, NULL);
                break;
            case 1:
                (void)verge_wheel_poll(wheel, now_ns + verge_test_below(&random, 3 * TICK), out,
                                       (size_t)verge_test_below(&random, 8));
                break;
            default:
                assert_int_equal(
                    verge_wheel_start_or_reset(wheel, timer, now_ns + verge_test_below(&random, reach_ns + 1), NULL),
                    0);
            }
            assert_levels_add_up(wheel);
        }
        wheel_end(wheel);
    }
}

/* There are so many timers that those of a slot go to several lanes. */
static void levels_of_a_crowd_add_up(void **state) {
    (void)state;
    enum { COUNT = 70000 };
    const verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    verge_wheel *wheel = wheel_new(&options);
    static verge_timer timers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, SECOND + i * 100003 % 3600 * SECOND, i);
    }
    assert_levels_add_up(wheel);
    for (size_t i = 0; i < COUNT; i += 3) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    assert_levels_add_up(wheel);
    wheel_end(wheel);
}

/* A long slot is drained before its time, into more slots than a block has. */
static void no_more_slots_are_used_than_there_are(void **state) {
    (void)state;
    enum { SLOT = 8, COUNT = 30 * 4 * SLOT };
    static const uint8_t bits[] = {3, 3, 3, 0};
    for (size_t limited = 0; limited < 2; limited++) {
        verge_wheel_options options = options_of_levels(TICK, bits);
        options.work_limit = limited * 64;
        verge_wheel *wheel = wheel_new(&options);
        for (size_t i = 0; i < COUNT; i++) {
            (void)schedule(wheel, (1 + i % (UINT64_C(8) * SLOT)) * TICK, i);
        }
        for (uint64_t tick = 1; verge_wheel_count(wheel) > 0; tick++) {
            (void)verge_wheel_poll(wheel, tick * TICK, out, COUNT_OF(out));
            assert_levels_add_up(wheel);
        }
        wheel_end(wheel);
    }
}

/* ---- G6: next_wakeup is the time at which something comes out, if nothing was cancelled or moved ---- */

static const uint64_t sleeps_ns[] = {MS, 5 * SECOND, MINUTE, HOUR, 30 * DAY, YEAR, 100 * YEAR};

/* A loop that sleeps until next_wakeup, with one timer, wakes up once. */
static void one_timer_is_one_wake_up(void **state) {
    (void)state;
    static const verge_wheel_preset presets[] = {VERGE_PRESET_DEFAULT, VERGE_PRESET_RUNTIME, VERGE_PRESET_ALARM};
    for (size_t i = 0; i < COUNT_OF(sleeps_ns) * COUNT_OF(presets); i++) {
        const uint64_t sleep_ns = sleeps_ns[i / COUNT_OF(presets)];
        verge_wheel *wheel = wheel_of(presets[i % COUNT_OF(presets)], 12345);
        if (sleep_ns + 12345 > verge_wheel_largest_deadline(wheel)) {
            wheel_end(wheel);
            continue;
        }
        for (size_t times = 0; times < 3; times++) {
            const uint64_t deadline_ns = verge_wheel_now(wheel) + sleep_ns;
            if (deadline_ns > verge_wheel_largest_deadline(wheel)) {
                break;
            }
            (void)schedule(wheel, deadline_ns, 1);
            assert_int_equal(verge_wheel_next_wakeup(wheel), verge_wheel_fires_at(wheel, deadline_ns));
            (void)verge_wheel_poll(wheel, verge_wheel_now(wheel) + sleep_ns / 2, out, 1);
            assert_int_equal(verge_wheel_next_wakeup(wheel), verge_wheel_fires_at(wheel, deadline_ns));
            assert_int_equal(verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 1), 1);
        }
        wheel_end(wheel);
    }
}

/* Each of several timers causes at most one wake-up for each level that it comes down. */
static void a_timer_is_no_more_wake_ups_than_levels(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    for (size_t i = COUNT_OF(sleeps_ns); i-- > 0;) {
        (void)schedule(wheel, sleeps_ns[i], i);
    }
    size_t wakeups = 0;
    for (size_t returned = 0; returned < COUNT_OF(sleeps_ns); wakeups++) {
        const uint64_t wakeup_ns = verge_wheel_next_wakeup(wheel);
        assert_in_range(wakeup_ns, verge_wheel_now(wheel) + 1, verge_wheel_fires_at(wheel, sleeps_ns[returned]));
        returned += verge_wheel_poll(wheel, wakeup_ns, out, COUNT_OF(out));
    }
    assert_true(wakeups <= COUNT_OF(sleeps_ns) * level_count_of(wheel));
    assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
    wheel_end(wheel);
}

/* ---- memory goes back, except the slabs of timers that stay ---- */

enum { SLAB = 512, SLAB_BYTES = SLAB * 40, SLAB_INFO_BYTES = 24, SLOT_BYTES = 128 << 10, DAY_MS = 86400000 };

/* All timers but a few, spread evenly, are cancelled. The cancels alone give back the slabs without a timer. compact
 * does the same. */
static void a_few_timers_keep_no_more_than_their_slabs(void **state) {
    (void)state;
    static const size_t kept_counts[] = {1, 16, 200, 10486};
    const size_t count = test_scaled((size_t)1 << 20);
    verge_timer *timers = calloc(count, sizeof(*timers));
    assert_non_null(timers);
    for (size_t i = 0; i < COUNT_OF(kept_counts) * 2; i++) {
        const size_t kept = kept_counts[i / 2];
        const bool is_compacted = i % 2 != 0;
        struct verge_test_allocator memory;
        verge_test_allocator_init(&memory);
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.allocator = &memory.allocator;
        verge_wheel *wheel = wheel_new(&options);
        for (size_t k = 0; k < count; k++) {
            const uint64_t away_ms =
                (k * UINT64_C(0x9E3779B97F4A7C15) >> 24) % DAY_MS; /* neighbours in memory are not neighbours in time */
            timers[k] = schedule(wheel, 30 * SECOND + away_ms * MS, k);
        }
        for (size_t k = 0; k < count; k++) {
            if (k % (count / kept) != 0) {
                assert_int_equal(verge_wheel_cancel(wheel, timers[k], NULL), 0);
            }
        }
        if (is_compacted) {
            verge_wheel_compact(wheel);
        }
        const verge_wheel_stats stats = stats_of(wheel);
        const size_t slabs = stats.timers < count / SLAB + 1 ? (size_t)stats.timers : count / SLAB + 1;
        if (stats.nodes > (slabs + 1) * SLAB) {
            fail_msg("%zu of %zu timers: %zu nodes", kept, count, (size_t)stats.nodes);
        }
        const size_t table_bytes = 2 * count / SLAB * SLAB_INFO_BYTES; /* the array of all slabs that there ever were */
        if (memory.bytes_in_use >= (slabs + 1) * SLAB_BYTES + table_bytes + SLOT_BYTES) {
            fail_msg("%zu of %zu timers, %s: %zu bytes", kept, count, is_compacted ? "compacted" : "cancelled",
                     memory.bytes_in_use);
        }
        wheel_end(wheel);
        verge_test_allocator_assert_empty(&memory);
    }
    free(timers);
}

/* ---- an option that is not used is an error ---- */

static void a_precision_beside_levels_is_refused(void **state) {
    (void)state;
    static const verge_wheel_preset presets[] = {VERGE_PRESET_THREE_LEVEL, VERGE_PRESET_TWO_LEVEL, VERGE_PRESET_ALARM,
                                                 VERGE_PRESET_RUNTIME};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        const verge_wheel_options preset = options_of(presets[i]);
        for (unsigned shift = 0; shift < 64; shift++) {
            verge_wheel_options options = preset;
            options.precision_ns = UINT64_C(1) << shift;
            verge_wheel *wheel = NULL;
            if (options.precision_ns == preset.precision_ns) {
                assert_int_equal(verge_wheel_create(&options, &wheel), 0);
                wheel_end(wheel);
            } else {
                assert_int_equal(verge_wheel_create(&options, &wheel), -EINVAL);
                assert_null(wheel);
            }
        }
    }
}

/* ---- poll_to_next goes on to the next timer, and returns it ---- */

static int note_earliest(void *context, const verge_expiry *timer) {
    verge_expiry *earliest = context;
    *earliest = timer->deadline_ns < earliest->deadline_ns ? *timer : *earliest;
    return 0;
}

/* Two timers, and a poll with a limit of 1. One of the timers is moved to its final deadline before that poll, after
 * it, or not at all. */
static void strict_poll_to_next_goes_on(void **state) {
    (void)state;
    static const uint64_t deadlines_ns[] = {1000, 1023, 1024, 2047, 2048, 2100, 2499, 2500, 2501, 3071, 3072, 5000};
    static const size_t work_limits[] = {0, 100};
    enum { MOVED_NOT, MOVED_BEFORE, MOVED_AFTER, MOVES };
    enum { PAIRS = COUNT_OF(deadlines_ns) * COUNT_OF(deadlines_ns) };
    for (size_t i = 0; i < PAIRS * COUNT_OF(orders) * COUNT_OF(work_limits) * MOVES; i++) {
        const size_t moved = i / PAIRS / COUNT_OF(orders) / COUNT_OF(work_limits);
        const uint64_t other_ns = deadlines_ns[i / COUNT_OF(deadlines_ns) % COUNT_OF(deadlines_ns)];
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.precision_ns = 1024;
        options.strict = true;
        options.order = orders[i / PAIRS % COUNT_OF(orders)];
        options.work_limit = work_limits[i / PAIRS / COUNT_OF(orders) % COUNT_OF(work_limits)];
        verge_wheel *wheel = wheel_new(&options);
        const verge_timer other = schedule(wheel, moved == MOVED_NOT ? other_ns : 1500, 2);
        (void)schedule(wheel, deadlines_ns[i % COUNT_OF(deadlines_ns)], 1);
        if (moved == MOVED_BEFORE) {
            assert_int_equal(verge_wheel_reset(wheel, other, other_ns), 0);
        }
        (void)verge_wheel_poll(wheel, 2500, out, 1);
        if (moved == MOVED_AFTER) {
            (void)verge_wheel_reset(wheel, other, other_ns);
        }
        while (verge_wheel_count(wheel) > 0) {
            const uint64_t now_ns = verge_wheel_now(wheel);
            verge_expiry expiry = {.deadline_ns = VERGE_NEVER};
            (void)verge_wheel_iterate(wheel, note_earliest, &expiry);
            const uint64_t next_ns = verge_wheel_fires_at(wheel, expiry.deadline_ns);
            assert_true(verge_wheel_poll_to_next(wheel, 10000, out, 2) > 0);
            assert_int_equal(verge_wheel_now(wheel), next_ns > now_ns ? next_ns : now_ns);
        }
        wheel_end(wheel);
    }
}

/* ---- G8: no timer costs more than a move through the levels, whatever a backlog does ---- */

/* There is always a backlog, while time passes the reach of the levels many times. A timer is started each time. */
static void a_kept_backlog_makes_no_timer_dearer(void **state) {
    (void)state;
    static const verge_wheel_preset presets[] = {VERGE_PRESET_TWO_LEVEL, VERGE_PRESET_THREE_LEVEL};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        const size_t count = test_scaled(16000);
        verge_wheel *wheel = wheel_of(presets[i], 0);
        (void)schedule(wheel, MS, 1);
        (void)schedule(wheel, MS, 1);
        assert_int_equal(verge_wheel_poll(wheel, SECOND, out, 1), 1);
        uint64_t work = 0;
        for (size_t n = 0; n < count; n++) {
            const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
            (void)schedule(wheel, largest_ns, n);
            (void)verge_wheel_poll(wheel, largest_ns + TICK, out, 0);
            work += stats_of(wheel).last_poll_work;
        }
        size_t returned = 0;
        while (verge_wheel_count(wheel) > 0) {
            returned += verge_wheel_poll(wheel, verge_wheel_now(wheel), out, COUNT_OF(out));
            work += stats_of(wheel).last_poll_work;
        }
        assert_int_equal(returned, count + 1);
        assert_true(work <= 12 * (count + 1));
        wheel_end(wheel);
    }
}

/* ---- others ---- */

/* A timer is filed in a level, or below, if its deadline is no later than the start of the current interval plus the
 * coverage of that level. */
static void coverage_is_what_a_level_covers(void **state) {
    (void)state;
    static const uint8_t bits[] = {3, 3, 3, 0};
    verge_wheel_options options = options_of_levels(1024, bits);
    for (uint64_t now_ns = 0; now_ns < UINT64_C(3) * 1024; now_ns += 171) {
        verge_wheel *wheel = wheel_new(&options);
        assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0); /* without a reserve, it would begin narrow */
        assert_quiet(wheel, now_ns);
        for (size_t level = 0; level < 2; level++) {
            const uint64_t coverage_ns = coverage_of(wheel, level);
            for (uint64_t ahead_ns = coverage_ns; ahead_ns >= 1024; ahead_ns -= 1 + coverage_ns / 300) {
                const verge_timer timer = schedule(wheel, now_ns / 1024 * 1024 + ahead_ns, 1);
                for (size_t k = level + 1; k < level_count_of(wheel); k++) {
                    if (level_stats_of(wheel, k).active != 0) {
                        fail_msg("now %zu, %zu ahead of it, and above level %zu", (size_t)now_ns, (size_t)ahead_ns,
                                 level);
                    }
                }
                assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
                verge_wheel_compact(wheel); /* so that the next timer finds no idle node */
            }
        }
        wheel_end(wheel);
    }
}

/* If a wheel accepts a start time, timers can be started from there, and come out. */
static void a_start_leaves_time_for_a_timer(void **state) {
    (void)state;
    static const uint64_t precisions_ns[] = {1, 2, 1024, TICK, UINT64_C(1) << 40};
    size_t created = 0;
    for (size_t i = 0; i < COUNT_OF(precisions_ns) * 4; i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.precision_ns = precisions_ns[i / 4];
        options.strict = i % 2 != 0;
        options.coarse = i / 2 % 2 != 0;
        for (uint64_t before = 0; before < 64; before++) {
            options.start_ns = UINT64_MAX - before / 8 * options.precision_ns - before % 8;
            verge_wheel *wheel = NULL;
            const int error = verge_wheel_create(&options, &wheel);
            assert_true(error == 0 || error == -EINVAL);
            if (error != 0) {
                continue;
            }
            created++;
            const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
            assert_true(largest_ns >= options.start_ns);
            (void)schedule(wheel, largest_ns, 1);
            assert_int_equal(verge_wheel_poll(wheel, VERGE_NEVER - 1, out, 2), 1);
            wheel_end(wheel);
        }
    }
    assert_true(created > 100);
}

static void a_long_timer_that_fired_is_gone(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_TWO_LEVEL, 0);
    verge_long_timer timer;
    assert_int_equal(verge_long_timer_start(&timer, wheel, SECOND, NULL), 0);
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 2), 1);
    /* The timer came out, and `fired` was not called yet. */
    assert_int_equal(verge_long_timer_cancel(&timer, wheel), -ENOENT);
    assert_int_equal(verge_long_timer_fired(&timer, wheel), 1);
    assert_int_equal(verge_long_timer_cancel(&timer, wheel), -ENOENT);
    assert_int_equal(verge_long_timer_start(&timer, wheel, HOUR, NULL), 0);
    assert_int_equal(verge_long_timer_cancel(&timer, wheel), 0);
    assert_int_equal(verge_long_timer_cancel(&timer, wheel), -ENOENT);
    wheel_end(wheel);
}

/* If the past is rejected, a window that is not wholly in the past is still accepted. */
static void a_window_that_is_not_over_is_accepted(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 1024;
    options.past = VERGE_PAST_REJECTED;
    for (uint64_t now_ns = 5000; now_ns < 9000; now_ns += 77) {
        for (uint64_t earliest_ns = 0; earliest_ns < 10000; earliest_ns += 333) {
            for (uint64_t latest_ns = earliest_ns; latest_ns < 12000; latest_ns += 555) {
                verge_wheel *wheel = wheel_new(&options);
                assert_quiet(wheel, now_ns);
                verge_timer timer = 0;
                const int error = verge_wheel_start_window(wheel, earliest_ns, latest_ns, NULL, &timer);
                assert_int_equal(error, latest_ns < now_ns / 1024 * 1024 ? -EINVAL : 0);
                if (error == 0) {
                    verge_expiry expiry;
                    assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
                    assert_in_range(expiry.deadline_ns, earliest_ns, latest_ns);
                }
                wheel_end(wheel);
            }
        }
    }
}

static void nothing_due_is_no_backlog(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = orders[i];
        verge_wheel *wheel = wheel_new(&options);
        const verge_timer timer = schedule(wheel, SECOND, 1);
        assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 0), 0);
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        assert_false(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        wheel_end(wheel);
    }
}

/* With so many pending timers, new ones go to the lanes of a slot in turn. The earliest timer may be in any lane. */
static void the_earliest_is_found_in_each_lane(void **state) {
    (void)state;
    enum { COUNT = 40000, CANCELLED = 20 };
    verge_wheel *wheel = wheel_new(NULL);
    static verge_timer timers[COUNT];
    assert_int_equal(verge_wheel_reserve(wheel, COUNT, 0), 0);
    for (uint64_t i = COUNT; i-- > 0;) {
        timers[i] = schedule(wheel, HOUR + i, i);
    }
    for (uint64_t i = 0; i < CANCELLED; i++) {
        assert_int_equal(verge_wheel_next_deadline(wheel), HOUR + i);
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_is_found_in_each_lane),
        cmocka_unit_test(coarse_and_in_time_while_there_is_a_backlog),
        cmocka_unit_test(coarse_and_in_time_from_the_function_of_a_run),
        cmocka_unit_test(strict_is_strict_after_poll_exact),
        cmocka_unit_test(levels_add_up_to_the_whole),
        cmocka_unit_test(levels_of_a_crowd_add_up),
        cmocka_unit_test(no_more_slots_are_used_than_there_are),
        cmocka_unit_test(one_timer_is_one_wake_up),
        cmocka_unit_test(a_timer_is_no_more_wake_ups_than_levels),
        cmocka_unit_test(a_few_timers_keep_no_more_than_their_slabs),
        cmocka_unit_test(a_precision_beside_levels_is_refused),
        cmocka_unit_test(strict_poll_to_next_goes_on),
        cmocka_unit_test(a_kept_backlog_makes_no_timer_dearer),
        cmocka_unit_test(coverage_is_what_a_level_covers),
        cmocka_unit_test(a_start_leaves_time_for_a_timer),
        cmocka_unit_test(a_long_timer_that_fired_is_gone),
        cmocka_unit_test(a_window_that_is_not_over_is_accepted),
        cmocka_unit_test(nothing_due_is_no_backlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
