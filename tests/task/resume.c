/* SPDX-License-Identifier: MIT */
/*
 * A machine is suspended for eight hours while a worker waits in its reactor, whose timeout the kernel counts on the
 * monotonic clock. On the boottime clock, deadlines within these hours are due at once. On the monotonic clock, no
 * time has passed.
 */
#define _GNU_SOURCE /* CLOCK_BOOTTIME */

#include "io/support.h"
#include "support/steps.h"
#include "support/suspend.h"

static _Atomic bool is_to_sleep;

/* At this step, the worker has decided how long to wait. */
static void suspend_while_it_waits(const char *step) {
    if (is_step(step, "runner: wait") && atomic_exchange(&is_to_sleep, false)) {
        suspend_for(8 * HOUR);
    }
}

static intptr_t run_on(verge_clock clock, verge_task_function function) {
    verge_runtime_options options = runtime_options(1);
    options.clock = clock;
    steps_begin(suspend_while_it_waits);
    const intptr_t result = run_with(options, function, NULL);
    steps_end();
    return result;
}

static intptr_t sleeps_until(void *argument) {
    CHECK_EQUAL(verge_sleep_until(*(const uint64_t *)argument), 0);
    CHECK(verge_now() >= *(const uint64_t *)argument);
    return 0;
}

static intptr_t receives_until(void *argument) {
    const struct pair pair = open_pair();
    char byte;
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, *(const uint64_t *)argument), -ETIMEDOUT);
    CHECK(verge_now() >= *(const uint64_t *)argument);
    close_pair(pair);
    return 0;
}

static intptr_t all_wait(void *argument) {
    (void)argument;
    const uint64_t begin_ns = verge_now();
    uint64_t times_ns[6];
    verge_task *tasks[COUNT_OF(times_ns)];
    for (size_t i = 0; i < COUNT_OF(times_ns); i++) {
        times_ns[i] = begin_ns + (i + 1) * HOUR;
        tasks[i] = spawn(i % 2 == 0 ? sleeps_until : receives_until, &times_ns[i]);
    }
    verge_interval interval;
    verge_tick tick = {0};
    CHECK_EQUAL(verge_interval_init(&interval, begin_ns + HOUR / 2, HOUR, VERGE_INTERVAL_SKIP), 0);
    atomic_store(&is_to_sleep, true);
    CHECK_EQUAL(verge_interval_wait(&interval, &tick, VERGE_NEVER), 0);
    CHECK_EQUAL(tick.missed, 7);
    CHECK_EQUAL(tick.scheduled_ns, begin_ns + 7 * HOUR + HOUR / 2);
    for (size_t i = 0; i < COUNT_OF(times_ns); i++) {
        (void)join(tasks[i]);
    }
    return 0;
}

static void what_came_due_is_due_at_once(void **state) {
    (void)state;
    (void)run_on(verge_clock_boottime(), all_wait);
    assert_true(atomic_load(&suspend_slept_ns) == 8 * HOUR);
}

static intptr_t is_cancelled(void *argument) {
    CHECK_EQUAL(verge_sleep_until(*(const uint64_t *)argument), -ECANCELED);
    return 0;
}

static intptr_t one_sleeps_on(void *argument) {
    (void)argument;
    uint64_t until_ns = verge_now() + HOUR;
    verge_task *task = spawn(is_cancelled, &until_ns);
    atomic_store(&is_to_sleep, true);
    while (atomic_load(&is_to_sleep)) { /* on a busy machine, the deadline may come before the worker waits */
        CHECK_EQUAL(verge_task_join(task, NULL, verge_deadline_after(5 * MS)), -ETIMEDOUT);
    }
    CHECK(verge_now() < until_ns);
    CHECK_EQUAL(verge_task_cancel(task), 0);
    (void)join(task);
    return 0;
}

static void the_monotonic_clock_has_not_seen_it(void **state) {
    (void)state;
    (void)run_on(verge_clock_monotonic(), one_sleeps_on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_due_is_due_at_once),
        cmocka_unit_test(the_monotonic_clock_has_not_seen_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
