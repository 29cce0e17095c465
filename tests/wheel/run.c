/* SPDX-License-Identifier: MIT */
/*
 * verge_wheel_run: a function is called for each due timer, and may make any call on the wheel. Most tests run with all
 * kinds of wheel: plain, ordered, coarse, and with a work limit.
 */
#include "wheel/timeouts.h"

enum {
    KINDS = 5,
    CALLS_MAX = 4096,
};

static verge_wheel *wheel_of_kind(size_t kind) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = kind == 1 ? VERGE_ORDER_FIFO : kind == 2 ? VERGE_ORDER_DEADLINE : VERGE_ORDER_ANY;
    options.coarse = kind == 3;
    options.work_limit = kind == 4 ? 10000 : 0;
    return wheel_new(&options);
}

/* For which timers the function was called, and what it works with. */
struct calls {
    verge_wheel *wheel;
    size_t count;
    uintptr_t numbers[CALLS_MAX];
    verge_timer timers[CALLS_MAX]; /* timers that the function may use */
    verge_timeout *timeouts[CALLS_MAX];
    uint64_t until_ns;
    bool compacts;
};

static void note(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    assert_true(calls->count < CALLS_MAX);
    assert_true(expiry->deadline_ns <= verge_wheel_now(calls->wheel));
    calls->numbers[calls->count++] = number_of(expiry->data);
    assert_well(calls->wheel);
}

static struct calls *calls_for(verge_wheel *wheel) {
    static struct calls calls;
    memset(&calls, 0, sizeof(calls));
    calls.wheel = wheel;
    return &calls;
}

static void assert_called(struct calls *calls, const uintptr_t *numbers, size_t count) {
    assert_int_equal(calls->count, count);
    assert_memory_equal(calls->numbers, numbers, count * sizeof(*numbers));
    calls->count = 0;
}

#define ASSERT_CALLED(calls, ...) \
    assert_called(calls, (const uintptr_t[]){__VA_ARGS__}, COUNT_OF(((const uintptr_t[]){__VA_ARGS__})))

/* ---- what comes out ---- */

/* Two wheels have the same timers. One is polled, the other is run: the same timers come out at the same times. */
static void runs_call_for_what_polls_return(void **state) {
    (void)state;
    static verge_expiry out[CALLS_MAX];
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct verge_test_random random = verge_test_random_from(kind + 1);
        verge_wheel *polled = wheel_of_kind(kind);
        verge_wheel *run = wheel_of_kind(kind);
        for (uintptr_t i = 0; i < CALLS_MAX; i++) {
            const uint64_t deadline_ns = verge_test_magnitude(&random) % (100000 * TICK);
            (void)schedule(polled, deadline_ns, i);
            (void)schedule(run, deadline_ns, i);
        }
        struct calls *calls = calls_for(run);
        for (uint64_t now_ns = 0; verge_wheel_count(polled) > 0;
             now_ns += 1 + verge_test_magnitude(&random) % (40 * TICK)) {
            const size_t count = verge_wheel_poll(polled, now_ns, out, CALLS_MAX);
            assert_int_equal(verge_wheel_run(run, now_ns, note, calls), count);
            assert_int_equal(calls->count, count);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(calls->numbers[i], number_of(out[i].data));
            }
            calls->count = 0;
            assert_int_equal(verge_wheel_now(run), verge_wheel_now(polled));
            assert_int_equal(verge_wheel_next_wakeup(run), verge_wheel_next_wakeup(polled));
            assert_int_equal(verge_wheel_has_backlog(run), verge_wheel_has_backlog(polled));
        }
        assert_int_equal(verge_wheel_count(run), 0);
        assert_int_equal(stats_of(run).expired, CALLS_MAX);
        wheel_end(polled);
        wheel_end(run);
    }
}

/* A run first hands out the timers that a poll with a limit has left. */
static void runs_take_up_what_polls_left(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        verge_expiry out[3];
        for (uintptr_t i = 0; i < 100; i++) {
            (void)schedule(wheel, (5 + i / 50) * TICK, i);
        }
        assert_int_equal(verge_wheel_poll(wheel, 5 * TICK, out, 3), 3);
        assert_int_equal(verge_wheel_poll_exact(wheel, 5 * TICK, out, 3), 3);
        (void)schedule(wheel, TICK, 100);
        assert_int_equal(verge_wheel_run(wheel, 5 * TICK, note, calls), 45);
        assert_int_equal(verge_wheel_run(wheel, 6 * TICK, note, calls), 50);
        assert_int_equal(verge_wheel_count(wheel), 0);
        wheel_end(wheel);
    }
}

/* ---- what the function does ---- */

static void cancel_all_others(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 40; i++) {
        if (calls->timers[i] != expiry->timer) {
            assert_int_equal(verge_wheel_cancel(calls->wheel, calls->timers[i], NULL), 0);
        }
    }
    assert_well(calls->wheel);
}

/* The function is not called for a cancelled timer, whether that timer is due or not, and whatever its tick is. */
static void what_is_cancelled_does_not_come_out(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (uint64_t spread = 0; spread < 4; spread++) {
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            for (uintptr_t i = 0; i < 40; i++) {
                calls->timers[i] = schedule(wheel, (10 + i * spread) * TICK, i);
            }
            assert_int_equal(verge_wheel_run(wheel, 10 * TICK, cancel_all_others, calls), 1);
            assert_int_equal(verge_wheel_run(wheel, HOUR, note, calls), 0);
            assert_int_equal(calls->count, 1);
            assert_int_equal(verge_wheel_count(wheel), 0);
            wheel_end(wheel);
        }
    }
}

/* The objects of timeouts that did not come out yet may be freed: the wheel does not access them any more. */
static void end_all_timeouts(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 40; i++) {
        timeout_end(calls->wheel, calls->timeouts[i]);
    }
    assert_well(calls->wheel);
}

static void objects_may_go(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (uint64_t late = 0; late < 2; late++) {
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            for (uintptr_t i = 0; i < 40; i++) {
                calls->timeouts[i] = timeout_new(i);
                timeout_start(wheel, calls->timeouts[i], (10 + i % 3 * late) * TICK);
            }
            assert_int_equal(verge_wheel_run(wheel, (10 + 5 * late) * TICK, end_all_timeouts, calls), 1);
            assert_int_equal(verge_wheel_run(wheel, HOUR, note, calls), 0);
            wheel_end(wheel);
        }
    }
}

static void move_others_away(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 10; i++) {
        if (calls->timers[i] != expiry->timer) {
            assert_int_equal(verge_wheel_reset(calls->wheel, calls->timers[i], calls->until_ns), 0);
        }
    }
}

static void what_is_moved_comes_out_when_it_is_due_then(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        calls->until_ns = 200 * TICK;
        for (uintptr_t i = 0; i < 10; i++) {
            calls->timers[i] = schedule(wheel, 10 * TICK, i);
        }
        assert_int_equal(verge_wheel_run(wheel, 10 * TICK, move_others_away, calls), 1);
        assert_int_equal(verge_wheel_run(wheel, 199 * TICK, note, calls), 0);
        assert_int_equal(verge_wheel_run(wheel, 1000 * TICK, note, calls), 9);
        wheel_end(wheel);
    }
}

/* ---- a run has an end ---- */

/* Starts a timer that is due at once, like a ticker with a period of 0. */
static void schedule_another(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    (void)schedule(calls->wheel, calls->until_ns, number_of(expiry->data));
    assert_well(calls->wheel);
}

static void what_is_set_in_a_run_comes_out_in_the_next(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        /* The runs are at the timers' tick, one tick later, or much later. */
        for (uint64_t late = 0; late < 3; late++) {
            static const uint64_t runs_ns[] = {10 * TICK, 11 * TICK, HOUR};
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            (void)schedule(wheel, 10 * TICK, 1);
            (void)schedule(wheel, 10 * TICK, 2);
            calls->until_ns = late == 1 ? 11 * TICK : 0; /* 0 is past; tick 11 is taken later in the run */
            for (size_t i = 0; i < 5; i++) {
                assert_int_equal(verge_wheel_run(wheel, runs_ns[late], schedule_another, calls), 2);
                assert_int_equal(calls->numbers[0] + calls->numbers[1], 3);
                calls->count = 0;
                assert_true(verge_wheel_has_backlog(wheel));
                assert_int_equal(verge_wheel_next_wakeup(wheel), verge_wheel_now(wheel));
                assert_int_equal(verge_wheel_next_deadline(wheel), verge_wheel_now(wheel));
                assert_well(wheel);
            }
            verge_expiry out[4]; /* a poll also returns what the last run has started */
            assert_int_equal(verge_wheel_poll(wheel, runs_ns[late], out, COUNT_OF(out)), 2);
            assert_int_equal(verge_wheel_count(wheel), 0);
            wheel_end(wheel);
        }
    }
}

static void move_to_the_past(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 20; i++) {
        if (calls->timers[i] != expiry->timer) {
            assert_int_equal(verge_wheel_reset(calls->wheel, calls->timers[i], TICK), 0);
        }
        timeout_start(calls->wheel, calls->timeouts[i], TICK);
    }
    if (calls->compacts) {
        verge_wheel_compact(calls->wheel);
    }
    assert_well(calls->wheel);
}

/* A timer that is moved to the past in a run comes out in the next run, also if it was past already. */
static void what_is_moved_to_the_past_comes_out_in_the_next(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (uint64_t past = 0; past < 2; past++) {
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            assert_quiet(wheel, 5 * TICK);
            for (uintptr_t i = 0; i < 20; i++) {
                calls->timers[i] = schedule(wheel, past ? 3 * TICK : 10 * TICK, i);
                calls->timeouts[i] = timeout_new(100 + i);
            }
            assert_int_equal(verge_wheel_run(wheel, 10 * TICK, move_to_the_past, calls), 1);
            calls->count = 0;
            assert_int_equal(verge_wheel_run(wheel, 10 * TICK, note, calls), 39);
            assert_false(verge_wheel_has_backlog(wheel));
            for (size_t i = 0; i < 20; i++) {
                timeout_end(wheel, calls->timeouts[i]);
            }
            wheel_end(wheel);
        }
    }
}

/* When the first timer of a tick comes out, the others are moved to the past. They come out in the next run, once. The
 * ticks are around 2^32, where the low 32 bits of a tick begin anew. */
static void deferred_around_tick_2_32(void **state) {
    (void)state;
    for (uint64_t before = 0; before < 8; before++) {
        const uint64_t tick = (UINT64_C(1) << 32) + 2 - before;
        for (uint64_t late = 0; late < 2; late++) {
            for (size_t compacts = 0; compacts < 2; compacts++) {
                verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, (tick - 20) * TICK);
                struct calls *calls = calls_for(wheel);
                calls->compacts = compacts != 0;
                for (uintptr_t i = 0; i < 20; i++) {
                    calls->timers[i] = schedule(wheel, tick * TICK, i);
                    calls->timeouts[i] = timeout_new(100 + i);
                }
                assert_int_equal(verge_wheel_run(wheel, (tick + late) * TICK, move_to_the_past, calls), 1);
                assert_int_equal(verge_wheel_run(wheel, (tick + late) * TICK, note, calls), 39);
                assert_int_equal(verge_wheel_count(wheel), 0);
                for (size_t i = 0; i < 20; i++) {
                    timeout_end(wheel, calls->timeouts[i]);
                }
                wheel_end(wheel);
            }
        }
    }
}

static void move_to_the_past_and_on(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(verge_wheel_reset(calls->wheel, calls->timers[i], TICK), 0);
        assert_int_equal(verge_wheel_reset(calls->wheel, calls->timers[i], calls->until_ns), 0);
    }
    assert_well(calls->wheel);
}

/* A timer that is moved to the past, and then to a later tick, comes out at that tick, and not as a deferred timer. */
static void moved_on_from_the_deferred_around_tick_2_32(void **state) {
    (void)state;
    for (uint64_t before = 0; before < 8; before++) {
        const uint64_t tick = (UINT64_C(1) << 32) + 2 - before;
        verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, (tick - 20) * TICK);
        struct calls *calls = calls_for(wheel);
        calls->until_ns = tick * TICK;
        (void)schedule(wheel, (tick - 15) * TICK, 100);
        for (uintptr_t i = 0; i < 20; i++) {
            calls->timers[i] = schedule(wheel, (tick + 5) * TICK, i);
        }
        assert_int_equal(verge_wheel_run(wheel, (tick - 10) * TICK, move_to_the_past_and_on, calls), 1);
        assert_well(wheel);
        assert_int_equal(verge_wheel_next_deadline(wheel), calls->until_ns);
        assert_int_equal(verge_wheel_run(wheel, (tick - 1) * TICK, note, calls), 0);
        assert_int_equal(verge_wheel_run(wheel, tick * TICK, note, calls), 20);
        wheel_end(wheel);
    }
}

/* In one call of the function, timers are started for the past and cancelled, again and again. Idle nodes stay bounded
 * (W3 in wheel_internal.h). */
static void set_and_cancel(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    for (size_t i = 0; i < 20000; i++) {
        assert_int_equal(verge_wheel_cancel(calls->wheel, schedule(calls->wheel, TICK, 7), NULL), 0);
    }
    assert_well(calls->wheel);
}

static void idle_nodes_of_a_run_are_bounded(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        (void)schedule(wheel, 10 * TICK, 1);
        (void)schedule(wheel, 11 * TICK, 2);
        assert_int_equal(verge_wheel_run(wheel, 20 * TICK, set_and_cancel, calls), 2);
        assert_int_equal(verge_wheel_run(wheel, 20 * TICK, note, calls), 0);
        wheel_end(wheel);
    }
}

/* ---- all else that the function may call ---- */

static void poll_within(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    verge_expiry out[7];
    const size_t count = verge_wheel_poll(calls->wheel, verge_wheel_now(calls->wheel) + TICK, out, COUNT_OF(out));
    for (size_t i = 0; i < count; i++) {
        note(context, &out[i]);
    }
}

static void run_within(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    (void)verge_wheel_run(calls->wheel, verge_wheel_now(calls->wheel), note, context);
    (void)schedule(calls->wheel, TICK, 0);
    (void)verge_wheel_run(calls->wheel, verge_wheel_now(calls->wheel) + TICK, note, context);
}

static void compact_within(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    verge_wheel_compact(calls->wheel);
}

/* Each timer comes out once, from the run or from a poll inside it, even if that poll moves time. */
static void functions_may_poll_and_run(void **state) {
    (void)state;
    static void (*const functions[])(void *, const verge_expiry *) = {poll_within, compact_within};
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (size_t which = 0; which < COUNT_OF(functions); which++) {
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            static bool seen[1000];
            memset(seen, 0, sizeof(seen));
            for (uintptr_t i = 0; i < COUNT_OF(seen); i++) {
                (void)schedule(wheel, (10 + i / 7) * TICK, i);
            }
            for (uint64_t tick = 0; verge_wheel_count(wheel) > 0; tick += 3) {
                (void)verge_wheel_run(wheel, tick * TICK, functions[which], calls);
                assert_well(wheel);
            }
            assert_int_equal(calls->count, COUNT_OF(seen));
            for (size_t i = 0; i < calls->count; i++) {
                assert_false(seen[calls->numbers[i]]);
                seen[calls->numbers[i]] = true;
            }
            wheel_end(wheel);
        }
    }
}

static void runs_may_be_nested(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        for (uintptr_t i = 1; i <= 100; i++) {
            (void)schedule(wheel, (10 + i / 9) * TICK, i);
        }
        while (verge_wheel_count(wheel) > 0 && calls->count < 300) {
            (void)verge_wheel_run(wheel, 60 * TICK, calls->count < 150 ? run_within : note, calls);
        }
        size_t called = 0;
        for (size_t i = 0; i < calls->count; i++) {
            called += calls->numbers[i] != 0;
        }
        assert_int_equal(called, 100);
        wheel_end(wheel);
    }
}

/* Starts a past timer in each call, and runs inside of runs. */
static void run_and_start_within(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    const size_t depth = (uintptr_t)expiry->data;
    note(context, expiry);
    if (calls->count < 200) { /* an end for runs that do not end */
        (void)schedule(calls->wheel, TICK, depth);
    }
    if (depth > 0) {
        const uint64_t next_ns = verge_wheel_now(calls->wheel) + TICK;
        (void)schedule(calls->wheel, next_ns, depth - 1);
        (void)verge_wheel_run(calls->wheel, next_ns, run_and_start_within, context);
    }
}

/* What is started for the past waits for the end of the outermost run. So a run ends, whatever is inside of it. */
static void past_timers_wait_for_the_outermost_run(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        (void)schedule(wheel, 10 * TICK, 3);
        (void)verge_wheel_run(wheel, 20 * TICK, run_and_start_within, calls);
        ASSERT_CALLED(calls, 3, 2, 1, 0);
        assert_int_equal(verge_wheel_run(wheel, 0, note, calls), 4);
        wheel_end(wheel);
    }
}

static void clear_within(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    note(context, expiry);
    (void)schedule(calls->wheel, TICK, 9);
    verge_wheel_cancel_all(calls->wheel);
    assert_int_equal(verge_wheel_set_start_time(calls->wheel, 0), 0); /* the time at which the wheel began */
    (void)schedule(calls->wheel, 5 * TICK, 8);
}

static void functions_may_begin_anew(void **state) {
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        for (uintptr_t i = 0; i < 100; i++) {
            (void)schedule(wheel, (10 + i / 60) * TICK, 7);
        }
        assert_int_equal(verge_wheel_run(wheel, 100 * TICK, clear_within, calls), 1);
        assert_int_equal(verge_wheel_now(wheel), 0);
        assert_int_equal(verge_wheel_run(wheel, 4 * TICK, note, calls), 0);
        assert_int_equal(verge_wheel_run(wheel, 5 * TICK, note, calls), 1);
        ASSERT_CALLED(calls, 7, 8);
        wheel_end(wheel);
    }
}

/* ---- limits and bad input ---- */

static void a_run_keeps_to_the_work_limit(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.work_limit = 7;
    verge_wheel *wheel = wheel_new(&options);
    struct calls *calls = calls_for(wheel);
    for (uintptr_t i = 0; i < 1000; i++) {
        (void)schedule(wheel, (300 + i % 5) * TICK, i);
    }
    for (size_t runs = 0; verge_wheel_count(wheel) > 0; runs++) {
        assert_true(runs < 10000);
        const size_t count = verge_wheel_run(wheel, 400 * TICK, note, calls);
        assert_in_range(stats_of(wheel).last_poll_work, count, 7);
        assert_true(verge_wheel_has_backlog(wheel) || verge_wheel_count(wheel) == 0);
    }
    assert_int_equal(calls->count, 1000);
    wheel_end(wheel);
}

static void count_only(void *context, const verge_expiry *expiry) {
    (void)expiry;
    ++*(size_t *)context;
}

/* A run does not look at idle nodes of later ticks. The work of each run is within the limit. */
static void a_run_that_did_its_work_does_no_more(void **state) {
    (void)state;
    enum { COUNT = 8000, LIMIT = 7 };
    static verge_timer timers[COUNT];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.work_limit = LIMIT;
    verge_wheel *wheel = wheel_new(&options);
    for (uintptr_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, HOUR + i * TICK, i);
        (void)schedule(wheel, 10 * TICK, i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    assert_true(stats_of(wheel).idle > COUNT / 4);
    size_t count = 0;
    while (count < COUNT) {
        (void)verge_wheel_run(wheel, 10 * TICK, count_only, &count);
        assert_in_range(stats_of(wheel).last_poll_work, 1, LIMIT);
    }
    wheel_end(wheel);
}

/* A tick has few timers or many. Some are in an upper slot that starts at this tick. The work is one for each timer,
 * and one more for each that is moved from the upper slot. */
static void work_is_what_was_moved_and_looked_at(void **state) {
    (void)state;
    enum { UPPER_START = 1024, ROOM = 64 };
    static const struct {
        size_t upper;
        size_t near;
    } counts[] = {{1, 0}, {5, 5}, {14, 20}};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        for (size_t runs = 0; runs < 2; runs++) {
            const size_t count = counts[i].upper + counts[i].near;
            verge_expiry out[ROOM];
            verge_wheel *wheel = wheel_of_kind(0);
            struct calls *calls = calls_for(wheel);
            assert_int_equal(verge_wheel_reserve(wheel, 200, 0), 0); /* without a reserve, it would begin narrow */
            for (uintptr_t j = 0; j < count; j++) {
                if (j == counts[i].upper) {
                    assert_quiet(wheel, (UPPER_START - 20) * TICK);
                }
                (void)schedule(wheel, UPPER_START * TICK, j);
            }
            assert_int_equal(runs == 1 ? verge_wheel_run(wheel, UPPER_START * TICK, note, calls)
                                       : verge_wheel_poll(wheel, UPPER_START * TICK, out, ROOM),
                             count);
            assert_int_equal(stats_of(wheel).nodes_moved, counts[i].upper);
            assert_int_equal(stats_of(wheel).last_poll_work, counts[i].upper + count);
            wheel_end(wheel);
        }
    }
}

/* A poll that finds nothing has no work: in the same tick, at the same time, at an earlier time, or some ticks
 * later. */
static void polls_that_find_nothing_have_no_work(void **state) {
    (void)state;
    static const uint64_t later_ns[] = {10 * TICK + TICK / 2, 10 * TICK, 9 * TICK, 50 * TICK};
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < 2 * COUNT_OF(later_ns); i++) {
            verge_expiry out[2];
            verge_wheel *wheel = wheel_of_kind(kind);
            struct calls *calls = calls_for(wheel);
            (void)schedule(wheel, 10 * TICK, 1);
            (void)schedule(wheel, 100 * TICK, 2);
            assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, COUNT_OF(out)), 1);
            assert_in_range(stats_of(wheel).last_poll_work, 1, 2);
            assert_int_equal(i % 2 == 1 ? verge_wheel_run(wheel, later_ns[i / 2], note, calls)
                                        : verge_wheel_poll(wheel, later_ns[i / 2], out, COUNT_OF(out)),
                             0);
            assert_int_equal(stats_of(wheel).last_poll_work, 0);
            wheel_end(wheel);
        }
    }
}

static void nothing_to_call(void **state) {
    (void)state;
    assert_int_equal(verge_wheel_run(NULL, TICK, note, NULL), 0);
    for (size_t kind = 0; kind < KINDS; kind++) {
        verge_wheel *wheel = wheel_of_kind(kind);
        struct calls *calls = calls_for(wheel);
        (void)schedule(wheel, 10 * TICK, 1);
        assert_int_equal(verge_wheel_run(wheel, 10 * TICK, NULL, NULL), 0); /* without a function, nothing comes out */
        assert_int_equal(verge_wheel_now(wheel), 10 * TICK);
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_run(wheel, 5 * TICK, note, calls), 1); /* time does not go back */
        assert_int_equal(verge_wheel_now(wheel), 10 * TICK);
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_call_for_what_polls_return),
        cmocka_unit_test(runs_take_up_what_polls_left),
        cmocka_unit_test(what_is_cancelled_does_not_come_out),
        cmocka_unit_test(objects_may_go),
        cmocka_unit_test(what_is_moved_comes_out_when_it_is_due_then),
        cmocka_unit_test(what_is_set_in_a_run_comes_out_in_the_next),
        cmocka_unit_test(what_is_moved_to_the_past_comes_out_in_the_next),
        cmocka_unit_test(deferred_around_tick_2_32),
        cmocka_unit_test(moved_on_from_the_deferred_around_tick_2_32),
        cmocka_unit_test(idle_nodes_of_a_run_are_bounded),
        cmocka_unit_test(functions_may_poll_and_run),
        cmocka_unit_test(runs_may_be_nested),
        cmocka_unit_test(past_timers_wait_for_the_outermost_run),
        cmocka_unit_test(functions_may_begin_anew),
        cmocka_unit_test(a_run_keeps_to_the_work_limit),
        cmocka_unit_test(a_run_that_did_its_work_does_no_more),
        cmocka_unit_test(work_is_what_was_moved_and_looked_at),
        cmocka_unit_test(polls_that_find_nothing_have_no_work),
        cmocka_unit_test(nothing_to_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
