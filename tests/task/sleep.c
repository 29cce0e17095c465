/* SPDX-License-Identifier: MIT */
/* Time for tasks: sleeps, ticks and deadline scopes. Tests named seed003_... are in the tables of
 * tests/seeds/README.md. */
#include <sys/resource.h>

#include "task/support.h"

static atomic_int other_ran;

static intptr_t notes_that_it_ran(void *argument) {
    (void)argument;
    atomic_store(&other_ran, 1);
    return 0;
}

/* ---- sleeps ---- */

static intptr_t does_not_wait(void *argument) {
    (void)argument;
    atomic_store(&other_ran, 0);
    verge_task *other = spawn(notes_that_it_ran, NULL);
    CHECK_EQUAL(verge_sleep(0), 0);
    CHECK_EQUAL(verge_sleep((uint64_t)-1), 0); /* a negative difference of times: does not wait */
    CHECK_EQUAL(verge_sleep((uint64_t)INT64_MIN), 0);
    CHECK_EQUAL(verge_sleep_until(0), 0);
    CHECK_EQUAL(verge_sleep_until(verge_now()), 0);
    CHECK_EQUAL(verge_sleep_until(verge_now() - 1), 0);
    CHECK_EQUAL(atomic_load(&other_ran), 0);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(atomic_load(&other_ran), 1);
    join(other);
    return 0;
}

static void seed003_zero_negative_and_past_do_not_suspend(void **state) {
    (void)state;
    run_tasks(1, does_not_wait, NULL);
    run_virtual(1, 5 * SECOND, does_not_wait, NULL);
}

static intptr_t sleeps_exactly(void *argument) {
    (void)argument;
    static const uint64_t durations_ns[] = {1, 999, MS, 50 * MS, 100 * MS, SECOND, HOUR, 400 * DAY};
    for (size_t i = 0; i < COUNT_OF(durations_ns); i++) {
        const uint64_t before_ns = verge_now();
        CHECK_EQUAL(verge_sleep(durations_ns[i]), 0);
        CHECK_EQUAL(verge_now(), before_ns + durations_ns[i]);
        CHECK_EQUAL(verge_sleep_until(before_ns + 2 * durations_ns[i]), 0);
        CHECK_EQUAL(verge_now(), before_ns + 2 * durations_ns[i]);
    }
    return 0;
}

static void seed003_sleep_and_sleep_until_take_as_long_as_they_say(void **state) {
    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers++) {
        run_virtual(workers, 0, sleeps_exactly, NULL);
        run_virtual(workers, UINT64_C(1) << 36, sleeps_exactly, NULL);
    }
}

static intptr_t is_never_early(void *argument) {
    struct verge_test_random random = verge_test_random_from((uintptr_t)argument);
    for (int i = 0; i < 20; i++) {
        const uint64_t duration_ns = verge_test_below(&random, 5 * MS);
        const uint64_t before_ns = verge_now();
        CHECK_EQUAL(verge_sleep(duration_ns), 0);
        CHECK(verge_now() >= before_ns + duration_ns);
    }
    return 0;
}

static intptr_t many_are_never_early(void *argument) {
    (void)argument;
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 2, is_never_early, (void *)(uintptr_t)(i + 1), NULL), 0);
    }
    return 0;
}

static void t1_a_sleep_is_never_early(void **state) {
    (void)state;
    run_tasks(2, many_are_never_early, NULL);
}

/* The runtime is idle for ten seconds: nothing is pending, and nobody reads the clock. */
static intptr_t idles_and_sleeps(void *clock) {
    verge_manual_clock_advance(clock, 10 * SECOND);
    const uint64_t before_ns = verge_now();
    CHECK_EQUAL(before_ns, 10 * SECOND);
    CHECK_EQUAL(verge_sleep(50 * MS), 0);
    CHECK(verge_now() >= before_ns + 50 * MS);
    CHECK(verge_now() <= before_ns + 52 * MS);
    return 0;
}

static void seed003_idle_10_s_then_sleep_50_ms_is_not_early(void **state) {
    (void)state;
    for (uint64_t precision_ns = 1; precision_ns <= MS; precision_ns <<= 10) {
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = &clock;
        options.precision_ns = precision_ns;
        run_with(options, idles_and_sleeps, &clock);
    }
}

static intptr_t polls_every_ms(void *argument) {
    const atomic_int *done = argument;
    int rounds = 0;
    for (; atomic_load(done) == 0 && rounds < 1000; rounds++) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    return rounds;
}

static intptr_t sleeps_while_polled(void *argument) {
    (void)argument;
    atomic_int done = 0;
    verge_task *poller = spawn(polls_every_ms, &done);
    CHECK_EQUAL(verge_sleep(100 * MS), 0);
    atomic_store(&done, 1);
    const intptr_t rounds = join(poller);
    CHECK(rounds >= 40 && rounds <= 101);
    return 0;
}

static void seed003_sleep_100_ms_polled_every_ms_wakes(void **state) {
    (void)state;
    run_virtual(1, 0, sleeps_while_polled, NULL);
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    run_with(options, sleeps_while_polled, NULL); /* with the default precision of 2^20 ns */
}

static intptr_t sleeps_300_ms(void *argument) {
    (void)argument;
    return verge_sleep(300 * MS);
}

static uint64_t cpu_ns(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * US;
}

/* An idle runtime must sleep and not spin. The test measures processor time, of which a sleep needs none. On a busy
 * machine one run may need more than usual, but not five in a row. */
static void seed003_an_idle_wait_waits(void **state) {
    (void)state;
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 5 && least_ns >= 150 * MS; i++) {
        const uint64_t before_ns = cpu_ns();
        assert_int_equal(run_tasks(3, sleeps_300_ms, NULL), 0);
        const uint64_t took_ns = cpu_ns() - before_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    assert_true(least_ns < 150 * MS);
}

/* ---- ticks ---- */

struct ticking {
    verge_interval_policy policy;
    uint64_t scheduled_ns[8];
    uint64_t missed[8];
};

/* There is a tick every 100 ms. After the third tick, the task does not take ticks for 250 ms. */
static intptr_t ticks(void *argument) {
    const struct ticking *expected = argument;
    verge_interval interval;
    CHECK_EQUAL(verge_interval_init(&interval, verge_now(), 100 * MS, expected->policy), 0);
    for (size_t i = 0; i < 8; i++) {
        verge_tick tick = {0};
        CHECK_EQUAL(verge_interval_wait(&interval, &tick, VERGE_NEVER), 0);
        CHECK_EQUAL(tick.scheduled_ns, expected->scheduled_ns[i]);
        CHECK_EQUAL(tick.missed, expected->missed[i]);
        CHECK(verge_now() >= tick.scheduled_ns);
        if (i == 2) {
            CHECK_EQUAL(verge_sleep(250 * MS), 0);
        }
    }
    CHECK_EQUAL(verge_interval_wait(NULL, NULL, VERGE_NEVER), -EINVAL);
    return 0;
}

static void seed003_burst_delay_and_skip(void **state) {
    (void)state;
    static struct ticking burst = {
        VERGE_INTERVAL_BURST, {0, 100 * MS, 200 * MS, 300 * MS, 400 * MS, 500 * MS, 600 * MS, 700 * MS}, {0}};
    static struct ticking skip = {VERGE_INTERVAL_SKIP,
                                  {0, 100 * MS, 200 * MS, 400 * MS, 500 * MS, 600 * MS, 700 * MS, 800 * MS},
                                  {0, 0, 0, 1, 0, 0, 0, 0}};
    static struct ticking delay = {VERGE_INTERVAL_DELAY,
                                   {0, 100 * MS, 200 * MS, 400 * MS, 550 * MS, 650 * MS, 750 * MS, 850 * MS},
                                   {0, 0, 0, 1, 0, 0, 0, 0}};
    run_virtual(1, 0, ticks, &burst);
    run_virtual(1, 0, ticks, &skip);
    run_virtual(1, 0, ticks, &delay);
}

static intptr_t ticks_once_a_period(void *argument) {
    const verge_interval_policy policy = *(verge_interval_policy *)argument;
    verge_interval interval;
    const uint64_t begin_ns = verge_now();
    CHECK_EQUAL(verge_interval_init(&interval, begin_ns + 10 * MS, 10 * MS, policy), 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
        CHECK_EQUAL((verge_now() - begin_ns) / (10 * MS), i);
    }
    return 0;
}

static void seed003_delay_ticks_once_a_period(void **state) {
    (void)state;
    for (verge_interval_policy policy = VERGE_INTERVAL_BURST; policy <= VERGE_INTERVAL_SKIP; policy++) {
        run_virtual(1, 0, ticks_once_a_period, &policy);
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = &clock; /* each tick is up to 2^20 ns late, and still comes once a period */
        run_with(options, ticks_once_a_period, &policy);
    }
}

static intptr_t resets(void *argument) {
    (void)argument;
    verge_interval interval;
    CHECK_EQUAL(verge_interval_init(&interval, 0, 0, VERGE_INTERVAL_SKIP), -EINVAL); /* a period of 0 */
    CHECK_EQUAL(verge_interval_init(&interval, verge_now(), 100, VERGE_INTERVAL_SKIP), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_interval_reset(&interval, verge_now() + 1000), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_now(), 1000);
    CHECK_EQUAL(verge_interval_reset(&interval, verge_now()), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_now(), 1000);
    CHECK_EQUAL(verge_interval_reset(&interval, 5000), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_now(), 5000);
    CHECK_EQUAL(verge_interval_reset(&interval, verge_now() + interval.period_ns), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_now(), 5100);
    CHECK_EQUAL(verge_interval_init(&interval, verge_now(), UINT64_MAX, VERGE_INTERVAL_SKIP), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), -ERANGE);
    return 0;
}

static void seed003_interval_resets(void **state) {
    (void)state;
    run_virtual(1, 0, resets, NULL);
}

/* ---- scopes ---- */

static intptr_t scopes(void *argument) {
    (void)argument;
    verge_deadline outer, inner, late;
    CHECK_EQUAL(verge_deadline_push(&outer, 1000), 0);
    CHECK_EQUAL(verge_sleep(10), 0);
    CHECK_EQUAL(verge_deadline_push(&inner, 100), 0);
    CHECK_EQUAL(verge_deadline_push(&late, 5000), 0); /* the earliest wins */
    CHECK_EQUAL(verge_deadline_pop(&inner), -EINVAL);
    CHECK_EQUAL(verge_sleep(500), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 100);
    CHECK_EQUAL(verge_sleep(1), -ETIMEDOUT);
    CHECK_EQUAL(verge_sleep(0), 0);
    CHECK_EQUAL(verge_now(), 100);
    CHECK_EQUAL(verge_deadline_pop(&late), 0);
    CHECK_EQUAL(verge_deadline_pop(&inner), 0);
    CHECK_EQUAL(verge_sleep(500), 0);
    CHECK_EQUAL(verge_sleep(500), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 1000);
    CHECK_EQUAL(verge_deadline_pop(&outer), 0);
    CHECK_EQUAL(verge_deadline_pop(&outer), -EINVAL);
    CHECK_EQUAL(verge_deadline_pop(NULL), -EINVAL);
    CHECK_EQUAL(verge_deadline_push(NULL, 1), -EINVAL);
    CHECK_EQUAL(verge_sleep(500), 0);
    return 0;
}

static void scopes_nest_and_the_earliest_wins(void **state) {
    (void)state;
    run_virtual(1, 0, scopes, NULL);
    run_virtual(3, 0, scopes, NULL);
}

static intptr_t sleeps_for_ever(void *argument) {
    (void)argument;
    return verge_sleep_until(VERGE_NEVER);
}

/* A scope bounds every waiting call, even if the call's own deadline is VERGE_NEVER. */
static intptr_t a_scope_around(void *argument) {
    (void)argument;
    verge_mutex mutex = VERGE_MUTEX_INIT, own = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    verge_channel *channel = NULL;
    verge_interval interval;
    int item = 0;
    CHECK_EQUAL(verge_channel_create(sizeof(item), 1, NULL, &channel), 0);
    CHECK_EQUAL(verge_interval_init(&interval, DAY, DAY, VERGE_INTERVAL_SKIP), 0);
    verge_task *sleeper = spawn(sleeps_for_ever, NULL);
    verge_deadline scope;
    CHECK_EQUAL(verge_mutex_lock(&own, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_mutex_lock(&own, VERGE_NEVER), -EDEADLK);
    CHECK_EQUAL(verge_deadline_push(&scope, verge_now() + 1000), 0);
    CHECK_EQUAL(verge_task_join(sleeper, NULL, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 1000);
    CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_send(channel, &item, VERGE_NEVER), 0); /* T3: it need not wait */
    CHECK_EQUAL(verge_channel_send(channel, &item, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_wait(&condition, &own, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_mutex_lock(&mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_interval_wait(&interval, NULL, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 1000);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK_EQUAL(verge_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(verge_mutex_unlock(&own), 0);
    CHECK_EQUAL(verge_task_cancel(sleeper), 0);
    CHECK_EQUAL(join(sleeper), -ECANCELED);
    verge_channel_destroy(channel);
    return 0;
}

static void a_scope_bounds_everything_inside(void **state) {
    (void)state;
    run_virtual(1, 0, a_scope_around, NULL);
}

/* ---- a scope is pushed once ---- */

static intptr_t pushes_twice(void *argument) {
    (void)argument;
    verge_deadline outer, inner;
    CHECK_EQUAL(verge_deadline_push(&outer, HOUR), 0);
    CHECK_EQUAL(verge_deadline_push(&outer, SECOND), -EINVAL);
    CHECK_EQUAL(verge_deadline_push(&inner, 2 * HOUR), 0);
    CHECK_EQUAL(verge_deadline_push(&outer, SECOND), -EINVAL);
    CHECK_EQUAL(verge_sleep(MINUTE), 0);
    CHECK_EQUAL(verge_sleep(DAY), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_deadline_pop(&inner), 0);
    CHECK_EQUAL(verge_deadline_pop(&outer), 0);
    CHECK_EQUAL(verge_deadline_pop(&outer), -EINVAL);
    CHECK_EQUAL(verge_sleep(DAY), 0);
    return 0;
}

static void a_scope_is_pushed_once(void **state) {
    (void)state;
    (void)run_virtual(1, 0, pushes_twice, NULL);
}

/* ---- durations by mistake ---- */

static intptr_t gives_durations(void *is_checked) {
    const int expected = is_checked != NULL ? -EINVAL : 0;
    const int waited = is_checked != NULL ? -EINVAL : -ETIMEDOUT;
    verge_deadline scope;
    verge_task *task = spawn(sleeps_for_ever, NULL);
    CHECK_EQUAL(verge_sleep_until(300 * MS), expected);
    CHECK_EQUAL(verge_deadline_push(&scope, 300 * MS), expected);
    CHECK_EQUAL(verge_deadline_pop(&scope), expected);
    CHECK_EQUAL(verge_task_join(task, NULL, 300 * MS), waited);
    CHECK_EQUAL(verge_task_join(task, NULL, 0), -ETIMEDOUT); /* "do not wait" */
    CHECK_EQUAL(verge_sleep_until(0), 0);
    CHECK_EQUAL(verge_sleep_until(HOUR), 0); /* the time at which the runtime was created */
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(verge_task_join(task, NULL, VERGE_NEVER), 0);
    return 0;
}

static void a_duration_given_as_a_deadline_is_refused(void **state) {
    (void)state;
    for (int is_checked = 0; is_checked <= 1; is_checked++) {
        verge_manual_clock clock = {HOUR};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = &clock;
        options.check_deadlines = is_checked == 1;
        run_with(options, gives_durations, is_checked ? &clock : NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed003_zero_negative_and_past_do_not_suspend),
        cmocka_unit_test(seed003_sleep_and_sleep_until_take_as_long_as_they_say),
        cmocka_unit_test(t1_a_sleep_is_never_early),
        cmocka_unit_test(seed003_idle_10_s_then_sleep_50_ms_is_not_early),
        cmocka_unit_test(seed003_sleep_100_ms_polled_every_ms_wakes),
        cmocka_unit_test(seed003_an_idle_wait_waits),
        cmocka_unit_test(seed003_burst_delay_and_skip),
        cmocka_unit_test(seed003_delay_ticks_once_a_period),
        cmocka_unit_test(seed003_interval_resets),
        cmocka_unit_test(scopes_nest_and_the_earliest_wins),
        cmocka_unit_test(a_scope_bounds_everything_inside),
        cmocka_unit_test(a_scope_is_pushed_once),
        cmocka_unit_test(a_duration_given_as_a_deadline_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
