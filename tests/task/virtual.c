/* SPDX-License-Identifier: MIT */
/* T7 (verge/task.h): virtual time is fast and exact, and every run is the same. */
#define _GNU_SOURCE

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "support/steps.h"
#include "task/observe.h"
#include "task/support.h"
#include "verge/blocking.h"

/* ---- ten thousand sleepers ---- */

enum { sleeper_count = fewer_under_tsan(fewer_under_tsan(10000)), sleeps_each = 3 };

struct trace {
    uint64_t hash;
    uint64_t events;
    uint64_t slept_ns;
};

static struct trace trace;

static void note(uint64_t what) {
    trace.hash = (trace.hash ^ what) * UINT64_C(0x100000001B3);
    trace.hash ^= trace.hash >> 29;
    trace.events++;
}

static intptr_t sleeps_at_random(void *argument) {
    const uint64_t name = (uintptr_t)argument;
    struct verge_test_random random = verge_test_random_from(name);
    for (int i = 0; i < sleeps_each; i++) {
        const uint64_t duration_ns = 1 + verge_test_below(&random, 30 * HOUR);
        const uint64_t before_ns = verge_now();
        CHECK_EQUAL(verge_sleep(duration_ns), 0);
        CHECK_EQUAL(verge_now(), before_ns + duration_ns);
        trace.slept_ns += duration_ns;
        note(name << 32 ^ verge_now() ^ verge_task_worker_id());
    }
    return 0;
}

static intptr_t sleepers(void *argument) {
    const uint32_t workers = *(uint32_t *)argument;
    for (uint32_t i = 0; i < sleeper_count; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % workers, sleeps_at_random, (void *)(uintptr_t)(i + 1), NULL), 0);
    }
    return 0;
}

static void years_of_sleep_are_the_same_twice(void **state) {
    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        struct trace first = {0};
        for (int round = 0; round < 2; round++) {
            trace = (struct trace){0};
            run_virtual(workers, 0, sleepers, &workers);
            assert_int_equal(trace.events, sleeps_each * sleeper_count);
            assert_true(trace.slept_ns > 30 * HOUR * sleeper_count);
            if (round == 1) {
                assert_memory_equal(&trace, &first, sizeof(trace));
            }
            first = trace;
        }
    }
}

/* ---- an hour of ticks against the model ---- */

struct ticker {
    uint64_t seed;
    uint64_t ticks;
};

/* Checks each tick against I1, I2 and I4 of verge/interval.h, by a computation of its own. */
static intptr_t ticks_for_an_hour(void *argument) {
    struct ticker *ticker = argument;
    struct verge_test_random random = verge_test_random_from(ticker->seed);
    const uint64_t period_ns = 1 + verge_test_below(&random, 10 * SECOND);
    const uint64_t first_ns = verge_now() + verge_test_below(&random, MINUTE);
    const verge_interval_policy policy = (verge_interval_policy)(ticker->seed % 3);
    uint64_t deadline_ns = first_ns;
    verge_interval interval;
    CHECK_EQUAL(verge_interval_init(&interval, first_ns, period_ns, policy), 0);
    interval.tolerance_ns = 0;
    while (verge_now() < HOUR && ticker->ticks < 2000) {
        const uint64_t before_ns = verge_now();
        verge_tick tick = {0};
        CHECK_EQUAL(verge_interval_wait(&interval, &tick, VERGE_NEVER), 0);
        /* The time at which the wait must return. */
        const uint64_t taken_ns = before_ns > deadline_ns ? before_ns : deadline_ns;
        CHECK_EQUAL(verge_now(), taken_ns);
        const uint64_t overdue = (taken_ns - deadline_ns) / period_ns;
        const uint64_t missed = policy == VERGE_INTERVAL_BURST ? 0 : overdue;
        CHECK_EQUAL(tick.missed, missed);
        CHECK_EQUAL(tick.scheduled_ns, deadline_ns + missed * period_ns);
        const bool is_late = taken_ns > tick.scheduled_ns;
        deadline_ns = policy == VERGE_INTERVAL_DELAY && is_late ? taken_ns + period_ns : tick.scheduled_ns + period_ns;
        ticker->ticks++;
        if (verge_test_chance(&random, 3)) {
            CHECK_EQUAL(verge_sleep(verge_test_below(&random, 3 * period_ns)), 0);
        }
    }
    return 0;
}

static intptr_t tickers(void *argument) {
    struct ticker *all = argument;
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 3, ticks_for_an_hour, &all[i], NULL), 0);
    }
    return 0;
}

static void an_hour_of_random_ticks_follows_the_model(void **state) {
    (void)state;
    static struct ticker all[100];
    const uint64_t seed = verge_test_seed(20260507);
    for (uint64_t i = 0; i < COUNT_OF(all); i++) {
        all[i] = (struct ticker){.seed = seed + i};
    }
    run_virtual(3, 0, tickers, all);
    uint64_t ticks = 0;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        ticks += all[i].ticks;
    }
    assert_true(ticks > 10000);
}

/* ---- tasks of several workers that wait for each other as well as for time ---- */

struct relay {
    verge_channel *channel;
    uint32_t hops;
};

static intptr_t passes_on(void *argument) {
    struct relay *relay = argument;
    uint64_t value;
    while (verge_channel_receive(relay->channel, &value, VERGE_NEVER) == 0) {
        note(value ^ verge_now() << 8 ^ verge_task_worker_id());
        CHECK_EQUAL(verge_sleep(value % 1000), 0);
        if (value == 0) {
            CHECK_EQUAL(verge_channel_close(relay->channel), 0);
        } else {
            value--;
            const int sent = verge_channel_send(relay->channel, &value, VERGE_NEVER);
            CHECK(sent == 0 || sent == -EPIPE);
        }
    }
    return 0;
}

static intptr_t relays(void *argument) {
    (void)argument;
    struct relay relay = {0};
    verge_task *tasks[12];
    CHECK_EQUAL(verge_channel_create(sizeof(uint64_t), 16, NULL, &relay.channel), 0);
    for (uint32_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn_on(i % 4, passes_on, &relay);
    }
    for (uint64_t value = 300; value < 308; value++) {
        CHECK_EQUAL(verge_channel_send(relay.channel, &value, VERGE_NEVER), 0);
    }
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        join(tasks[i]);
    }
    verge_channel_destroy(relay.channel);
    return 0;
}

static void workers_that_talk_do_the_same_every_time(void **state) {
    (void)state;
    struct trace first = {0};
    for (int round = 0; round < 3; round++) {
        trace = (struct trace){0};
        trace.slept_ns = run_virtual(4, 0, relays, NULL);
        assert_true(trace.events > 300);
        if (round > 0) {
            assert_memory_equal(&trace, &first, sizeof(trace));
        }
        first = trace;
    }
}

/* ---- tasks that wait for each other, and nothing else can come ---- */

static struct {
    verge_channel *channel;
    verge_mutex mutex;
    int received; /* what verge_channel_receive returned */
} stuck;

static intptr_t receives(void *argument) {
    uint64_t item = 0;
    (void)argument;
    CHECK_EQUAL(verge_task_set_name("receiver"), 0);
    stuck.received = verge_channel_receive(stuck.channel, &item, VERGE_NEVER);
    return (intptr_t)item;
}

static intptr_t waits_for_a_receiver(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(HOUR), 0);
    verge_task *task = spawn_on(1, receives, NULL);
    verge_deadline scope; /* until its deadline has come, at 2 h, the tasks are in no deadlock */
    CHECK_EQUAL(verge_deadline_push(&scope, 2 * HOUR), 0);
    CHECK_EQUAL(verge_task_join(task, NULL, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    intptr_t result = -1;
    const int error = verge_task_join(task, &result, VERGE_REGARDLESS);
    return error == 0 ? result : error;
}

static int keep_dump(void *context, const char *text, size_t size) {
    char *all = context;
    (void)strncat(all, text, size < 4095 - strlen(all) ? size : 4095 - strlen(all));
    return 0;
}

static verge_runtime *stuck_runtime(verge_manual_clock *clock, int dump_signal) {
    verge_runtime_options options = runtime_options(2);
    options.virtual_clock = clock;
    options.precision_ns = 1;
    options.dump_signal = dump_signal;
    memset(&stuck, 0, sizeof(stuck));
    assert_int_equal(verge_channel_create(sizeof(uint64_t), 1, NULL, &stuck.channel), 0);
    return runtime_with(options);
}

static void end_stuck(verge_runtime *runtime) {
    end_runtime(runtime);
    verge_channel_destroy(stuck.channel);
}

/* After -EDEADLK the tasks still wait. A dump names them, and destroy cancels them. */
static void t7_tasks_that_wait_for_each_other_are_a_deadlock(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime *runtime = stuck_runtime(&clock, 0);
    static char text[4096];
    intptr_t result = 17;
    text[0] = '\0';
    assert_int_equal(verge_runtime_run(runtime, waits_for_a_receiver, NULL, &result), -EDEADLK);
    assert_int_equal(result, 17);
    assert_int_equal(clock.now_ns, 2 * HOUR);
    assert_int_equal(stats_of(runtime).tasks, 2);
    assert_int_equal(verge__dump(runtime, keep_dump, text), 0);
    assert_non_null(strstr(text, " \"main\", worker 0: waits for task 0x"));
    assert_non_null(strstr(text, " \"receiver\", worker 1: waits for an item of channel 0x"));
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), -EDEADLK);
    end_stuck(runtime);
    assert_int_equal(stuck.received, -ECANCELED);
}

static void a_deadlock_may_be_resolved_and_run_to_its_end(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime *runtime = stuck_runtime(&clock, 0);
    const uint64_t item = 3;
    assert_int_equal(verge_runtime_run(runtime, waits_for_a_receiver, NULL, NULL), -EDEADLK);
    assert_int_equal(verge_channel_send(stuck.channel, &item, VERGE_NEVER), 0);
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), 0);
    assert_int_equal(stuck.received, 0);
    assert_int_equal(stats_of(runtime).unjoined, 0);
    end_stuck(runtime);
}

static intptr_t locks_regardless(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_mutex_lock(&stuck.mutex, VERGE_REGARDLESS), 0);
    return verge_mutex_unlock(&stuck.mutex);
}

static void tasks_that_cannot_be_cancelled_keep_the_runtime_from_being_destroyed(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime *runtime = stuck_runtime(&clock, 0);
    assert_int_equal(verge_mutex_lock(&stuck.mutex, VERGE_NEVER), 0);
    assert_int_equal(verge_runtime_run(runtime, locks_regardless, NULL, NULL), -EDEADLK);
    assert_int_equal(verge_runtime_destroy(runtime), -EDEADLK);
    assert_int_equal(verge_mutex_unlock(&stuck.mutex), 0);
    end_stuck(runtime);
}

/* In virtual time, threads of the library wake no task. As long as a thread of the program runs, it may still wake a
 * task. */

static intptr_t returns_seven(void *argument) {
    (void)argument;
    return 7;
}

static intptr_t blocks_and_receives(void *argument) {
    intptr_t result = 0;
    CHECK_EQUAL(verge_blocking(returns_seven, NULL, NULL, &result, VERGE_NEVER), 0);
    CHECK_EQUAL(result, 7);
    return receives(argument);
}

static _Atomic bool has_waited;

static void see_it_wait_for_threads(const char *step) {
    if (is_step(step, "virtual: wait for ever")) {
        atomic_store(&has_waited, true);
    }
}

static void *ends_when_it_is_waited_for(void *argument) {
    await(&has_waited);
    return argument;
}

static void only_threads_of_the_program_keep_a_deadlock_waiting(void **state) {
    (void)state;
    if (VERGE__TSAN) {
        skip(); /* ThreadSanitizer's own thread would count as a thread of the program */
    }
    verge_manual_clock clock = {0};
    verge_runtime *runtime = stuck_runtime(&clock, SIGUSR2);
    assert_int_equal(verge_runtime_run(runtime, blocks_and_receives, NULL, NULL), -EDEADLK);
    pthread_t thread;
    atomic_store(&has_waited, false);
    steps_begin(see_it_wait_for_threads);
    assert_int_equal(pthread_create(&thread, NULL, ends_when_it_is_waited_for, NULL), 0);
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), -EDEADLK);
    steps_end();
    assert_true(atomic_load(&has_waited));
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_stuck(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(years_of_sleep_are_the_same_twice),
        cmocka_unit_test(an_hour_of_random_ticks_follows_the_model),
        cmocka_unit_test(workers_that_talk_do_the_same_every_time),
        cmocka_unit_test(t7_tasks_that_wait_for_each_other_are_a_deadlock),
        cmocka_unit_test(a_deadlock_may_be_resolved_and_run_to_its_end),
        cmocka_unit_test(tasks_that_cannot_be_cancelled_keep_the_runtime_from_being_destroyed),
        cmocka_unit_test(only_threads_of_the_program_keep_a_deadlock_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
