/* SPDX-License-Identifier: MIT */
/*
 * A machine that was suspended for eight hours. On the boottime clock, all timers of that time are due at once: each
 * runs once, in the order of ticks, a batch in each pass; the policy of periodic timers decides about missed ticks.
 * On the monotonic clock, no time has passed.
 */
#define _GNU_SOURCE /* CLOCK_BOOTTIME */

#include <linux/futex.h>

#include "service/support.h"
#include "support/suspend.h"

enum { TIMER_COUNT = 1000, LATER_COUNT = 50, BATCH = 16 };

static void begin(struct stepped *stepped, verge_clock clock) {
    freeze_clocks(HOUR / TICK * TICK);
    verge_service_options options = stepped_options(stepped);
    options.clock = clock;
    options.batch = BATCH;
    stepped_create(stepped, &options);
}

static uint64_t last_tick;
static uint64_t early_count, unordered_count;

static void note_in_order(const verge_firing *firing) {
    const uint64_t tick = (firing->scheduled_ns + TICK - 1) / TICK;
    early_count += firing->scheduled_ns > firing->actual_ns;
    unordered_count += tick < last_tick;
    last_tick = tick;
    (void)atomic_fetch_add((_Atomic uint32_t *)firing->argument, 1);
}

static void what_came_due_runs_once_and_in_order(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(8));
    static _Atomic uint32_t runs[TIMER_COUNT + LATER_COUNT];
    struct stepped stepped;
    begin(&stepped, verge_clock_boottime());
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    for (size_t i = 0; i < TIMER_COUNT + LATER_COUNT; i++) {
        const uint64_t delay_ns = i < TIMER_COUNT ? verge_test_below(&random, 8 * HOUR - TICK)
                                                  : 8 * HOUR + TICK + verge_test_below(&random, HOUR);
        (void)start_at(stepped.service, begin_ns + delay_ns, note_in_order, &runs[i]);
    }
    assert_int_equal(step(worker), 0);
    suspend_for(8 * HOUR);
    size_t fired = 0;
    for (int count = step(worker); count > 0; count = step(worker)) {
        assert_in_range(count, 1, BATCH);
        fired += (size_t)count;
    }
    assert_int_equal(fired, TIMER_COUNT);
    assert_int_equal(early_count + unordered_count, 0);
    for (size_t i = 0; i < TIMER_COUNT + LATER_COUNT; i++) {
        assert_int_equal(runs[i], i < TIMER_COUNT);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* The timer ticks after half an hour, and then hourly. So eight ticks have come due in eight hours. */
static void periodic_timers_follow_their_policies(void **state) {
    (void)state;
    static const struct {
        verge_interval_policy policy;
        uint32_t runs;
        uint64_t missed, scheduled_ns, next_ns; /* scheduled_ns and next_ns count from begin_ns */
    } expected[] = {
        {VERGE_INTERVAL_BURST, 8, 0, 7 * HOUR + HOUR / 2, 8 * HOUR + HOUR / 2},
        {VERGE_INTERVAL_DELAY, 1, 7, 7 * HOUR + HOUR / 2, 9 * HOUR},
        {VERGE_INTERVAL_SKIP, 1, 7, 7 * HOUR + HOUR / 2, 8 * HOUR + HOUR / 2},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct stepped stepped;
        struct notes notes = {0};
        begin(&stepped, verge_clock_boottime());
        verge_worker *worker = join_unbound(stepped.service);
        const uint64_t begin_ns = now_of(&stepped);
        verge_start_options options = noted(&notes, begin_ns + HOUR / 2);
        options.period_ns = HOUR;
        options.policy = expected[i].policy;
        const verge_timer timer = start_with(stepped.service, &options);
        suspend_for(8 * HOUR);
        while (step(worker) > 0) {
        }
        assert_int_equal(notes.fired, expected[i].runs);
        assert_int_equal(notes.last.missed, expected[i].missed);
        assert_int_equal(notes.last.scheduled_ns - begin_ns, expected[i].scheduled_ns);
        assert_int_equal(info_of(stepped.service, timer).deadline_ns - begin_ns, expected[i].next_ns);
        leave(worker);
        stepped_end(&stepped);
    }
}

static void the_monotonic_clock_has_not_seen_it(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    begin(&stepped, verge_clock_monotonic());
    verge_worker *worker = join_unbound(stepped.service);
    const verge_start_options options = noted(&notes, now_of(&stepped) + HOUR);
    (void)start_with(stepped.service, &options);
    suspend_for(8 * HOUR);
    assert_int_equal(step(worker), 0);
    stay_awake_for(HOUR + TICK);
    assert_int_equal(step(worker), 1);
    leave(worker);
    stepped_end(&stepped);
}

/* The clocks of two processors may differ a little. After a small step back, time stands still until the clock has
 * caught up. */
static void a_small_step_back_after_it_is_not_believed(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes first = {0}, second = {0};
    begin(&stepped, verge_clock_boottime());
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    const verge_start_options options = noted(&first, begin_ns + 8 * HOUR - 2 * MS);
    (void)start_with(stepped.service, &options);
    suspend_for(8 * HOUR);
    assert_int_equal(step(worker), 1);
    suspend_for(UINT64_C(0) - 5 * MS);
    assert_int_equal(step(worker), 0);
    const verge_start_options again = noted(&second, begin_ns + 8 * HOUR + 4 * TICK);
    (void)start_with(stepped.service, &again);
    suspend_for(5 * MS);
    assert_int_equal(step(worker), 0);
    suspend_for(6 * TICK);
    assert_int_equal(step(worker), 1);
    assert_true(second.last.actual_ns >= second.last.scheduled_ns);
    leave(worker);
    stepped_end(&stepped);
}

/* ---- real threads, which sleep while the machine is suspended ---- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static atomic_bool is_to_sleep;

/* When a thread calls this, it has decided until when to wait. Here, variadic arguments are passed like others. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const bool waits_for_time = (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && d != 0;
    if (waits_for_time && atomic_exchange(&is_to_sleep, false)) {
        suspend_for(8 * HOUR);
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

static void wake_up_after_it(bool has_metronome) {
    enum { COUNT = 64 };
    static struct notes notes[COUNT], hourly;
    memset(notes, 0, sizeof(notes));
    memset(&hourly, 0, sizeof(hourly));
    thaw_clocks();
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 1;
    options.metronome = has_metronome;
    options.stuck_after_ns = has_metronome ? HOUR : 0; /* then the metronome ticks whenever the worker is awake */
    options.clock = verge_clock_boottime();
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    const uint64_t begin_ns = verge_service_exact_now(service);
    for (size_t i = 0; i < COUNT; i++) {
        const verge_start_options once = noted(&notes[i], begin_ns + HOUR + i * HOUR / 10);
        (void)start_with(service, &once);
    }
    verge_start_options periodic = noted(&hourly, begin_ns + HOUR / 2);
    periodic.period_ns = HOUR;
    periodic.policy = VERGE_INTERVAL_SKIP;
    (void)start_with(service, &periodic);
    atomic_store(&is_to_sleep, true);
    for (size_t i = 0; i < COUNT; i++) {
        await_count(&notes[i].fired, 1); /* if it never runs, ctest's timeout ends the test */
    }
    await_count(&hourly.fired, 1);
    assert_true(verge_service_now(service) >= begin_ns + 7 * HOUR);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(notes[i].fired, 1);
        assert_true(notes[i].last.actual_ns >= begin_ns + 8 * HOUR);
    }
    assert_int_equal(hourly.fired, 1);
    assert_int_equal(hourly.last.missed, 7);
}

static void threads_wake_up_after_it(void **state) {
    (void)state;
    wake_up_after_it(false);
    wake_up_after_it(true);
}

static void a_kernel_without_boottime_has_monotonic(void **state) {
    (void)state;
    assert_ptr_not_equal(verge_clock_boottime().now_ns, verge_clock_monotonic().now_ns);
    atomic_store(&suspend_is_unknown, true);
    assert_ptr_equal(verge_clock_boottime().now_ns, verge_clock_monotonic().now_ns);
    atomic_store(&suspend_is_unknown, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_due_runs_once_and_in_order),
        cmocka_unit_test(periodic_timers_follow_their_policies),
        cmocka_unit_test(the_monotonic_clock_has_not_seen_it),
        cmocka_unit_test(a_small_step_back_after_it_is_not_believed),
        cmocka_unit_test(threads_wake_up_after_it),
        cmocka_unit_test(a_kernel_without_boottime_has_monotonic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
