/* SPDX-License-Identifier: MIT */
/* Where two things meet: a stop and a worker that retires, a spawn that fails and the end of the last task, a worker that
 * comes while the runtime starts. */
#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>

#include "task/support.h"

static verge_runtime *create(verge_runtime_options options) {
    verge_runtime *runtime = NULL;
    atomic_store(&failed_check_count, 0);
    assert_int_equal(verge_runtime_create(&options, &runtime), 0);
    return runtime;
}

static void end(verge_runtime *runtime) {
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(atomic_load(&failed_check_count), 0);
}

static intptr_t sleeps_a_day(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep((int64_t)DAY), -ECANCELED);
    return 0;
}

/* ---- the worker is moving its tasks when the runtime stops: those that are under way are cancelled, too ---- */

enum { sleeper_count = fewer_under_tsan(2000) };

static intptr_t retires_and_stops(void *argument) {
    const uint64_t *pause_ns = argument;
    verge_runtime *runtime = verge_task_runtime();
    for (int i = 0; i < sleeper_count; i++) {
        CHECK_EQUAL(verge_spawn_on(1, sleeps_a_day, NULL, NULL), 0);
    }
    CHECK_EQUAL(verge_sleep((int64_t)(5 * MS)), 0);
    CHECK_EQUAL(verge_runtime_retire_worker(runtime, 1), 0);
    const uint64_t until_ns = verge_now() + *pause_ns;
    while (verge_now() < until_ns) {
    }
    verge_runtime_stop(runtime);
    return 0;
}

static void t5_a_stop_reaches_tasks_that_change_their_worker(void **state) {
    (void)state;
    for (uint64_t pause_ns = 0; pause_ns < 400 * US; pause_ns += (VERGE__TSAN ? 100 : 40) * US) {
        run_tasks(2, retires_and_stops, &pause_ns);
    }
}

/* ---- spawns that fail count for nothing ---- */

/* Stacks are taken 16 at a time, and the tables that know them have room for 1,024 at first. */
enum { spawned_count = 1024 - 16 };

static atomic_int ended_count;
static atomic_bool is_refusing;

static intptr_t ends(void *argument) {
    (void)argument;
    atomic_fetch_add(&ended_count, 1);
    return 0;
}

/* Says no when all tasks have ended. */
static void *allocate_or_refuse(void *context, size_t size, size_t alignment) {
    (void)context;
    if (!atomic_load(&is_refusing)) {
        const verge_allocator *usual = verge_allocator_default();
        return usual->allocate(usual->context, size, alignment);
    }
    while (atomic_load(&ended_count) <= spawned_count) {
        (void)sched_yield();
    }
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)nanosleep(&pause, NULL);
    return NULL;
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    const verge_allocator *usual = verge_allocator_default();
    usual->release(usual->context, memory, size);
}

static void *spawns_in_vain(void *runtime) {
    CHECK_EQUAL(verge_runtime_spawn(runtime, 0, ends, NULL, NULL), -ENOMEM);
    return NULL;
}

static intptr_t ends_while_another_spawns(void *argument) {
    pthread_t *thread = argument;
    atomic_store(&is_refusing, true);
    CHECK_EQUAL(pthread_create(thread, NULL, spawns_in_vain, verge_task_runtime()), 0);
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)nanosleep(&pause, NULL);
    return ends(NULL);
}

static void run_returns_while_another_fails_to_spawn(void **state) {
    (void)state;
    if (VERGE__TSAN) {
        skip(); /* more flows than it has room for */
    }
    const verge_allocator allocator = {.allocate = allocate_or_refuse, .release = release};
    verge_runtime_options options = runtime_options(1);
    options.allocator = &allocator;
    atomic_store(&ended_count, 0);
    atomic_store(&is_refusing, false);
    verge_runtime *runtime = create(options);
    static verge_task *tasks[spawned_count];
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        assert_int_equal(verge_runtime_spawn(runtime, 0, ends, NULL, &tasks[i]), 0);
    }
    pthread_t thread;
    assert_int_equal(verge_runtime_run(runtime, ends_while_another_spawns, &thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    atomic_store(&is_refusing, false);
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        assert_int_equal(verge_detach(tasks[i]), 0);
    }
    end(runtime);
}

/* ---- a worker that comes while the runtime starts ---- */

struct arrival {
    verge_runtime *runtime;
    _Atomic uint32_t index; /* 0: it is not there yet */
};

static void *adds_a_worker(void *argument) {
    struct arrival *arrival = argument;
    uint32_t index = 0;
    CHECK_EQUAL(verge_runtime_add_worker(arrival->runtime, &index), 0);
    atomic_store(&arrival->index, index);
    return NULL;
}

static intptr_t does_nothing(void *argument) {
    (void)argument;
    return 0;
}

static intptr_t uses_the_new_worker(void *argument) {
    struct arrival *arrival = argument;
    while (atomic_load(&arrival->index) == 0) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    verge_task *task = spawn_on(arrival->index, does_nothing, NULL);
    CHECK_EQUAL(verge_join_until(task, NULL, verge_deadline_after(10 * SECOND)), 0);
    return 0;
}

static void a_worker_may_come_while_the_runtime_starts(void **state) {
    (void)state;
    for (int i = 0; i < fewer_under_tsan(200); i++) {
        struct arrival arrival = {.runtime = create(runtime_options(1))};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, adds_a_worker, &arrival), 0);
        for (int spins = 0; spins < i; spins++) {
            (void)sched_yield();
        }
        assert_int_equal(verge_runtime_run(arrival.runtime, uses_the_new_worker, &arrival, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        end(arrival.runtime);
    }
}

/* ---- virtual time: a worker that comes from outside, while all others wait ---- */

static void *adds_and_uses_a_worker(void *runtime) {
    uint32_t index = 0;
    CHECK_EQUAL(verge_runtime_add_worker(runtime, &index), 0);
    CHECK_EQUAL(verge_runtime_spawn(runtime, index, does_nothing, NULL, NULL), 0);
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    do {
        CHECK_EQUAL(verge_runtime_get_stats(runtime, &stats), 0);
        (void)sched_yield();
    } while (stats.tasks > 1);
    verge_runtime_stop(runtime);
    return NULL;
}

static intptr_t waits_for_ever(void *argument) {
    pthread_t *thread = argument;
    CHECK_EQUAL(pthread_create(thread, NULL, adds_and_uses_a_worker, verge_task_runtime()), 0);
    return verge_sleep_until(VERGE_NEVER);
}

static void t7_a_worker_may_come_from_outside(void **state) {
    (void)state;
    for (int i = 0; i < fewer_under_tsan(50); i++) {
        pthread_t thread;
        (void)run_virtual(1, 0, waits_for_ever, &thread);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

/* ---- a second join, after the end and before the first one has returned ---- */

static intptr_t joins(void *task) {
    return verge_join(task, NULL);
}

static intptr_t sleeps_a_little(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(1), 0);
    return 0;
}

static uint64_t count_tasks(void) {
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    CHECK_EQUAL(verge_runtime_get_stats(verge_task_runtime(), &stats), 0);
    return stats.tasks;
}

static intptr_t joins_an_ended_task_that_is_being_joined(void *argument) {
    (void)argument;
    verge_task *task = spawn(sleeps_a_little, NULL);
    verge_task *first = spawn_on(1, joins, task);
    CHECK_EQUAL(verge_sleep(1), 0);
    while (count_tasks() ==
           3) { /* worker 1 comes after worker 0: it has not resumed the first when the task has ended */
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(verge_join(task, NULL), -EBUSY);
    CHECK_EQUAL(join(first), 0);
    return 0;
}

static void only_one_joins_a_task_that_has_ended(void **state) {
    (void)state;
    (void)run_virtual(2, 0, joins_an_ended_task_that_is_being_joined, NULL);
}

/* ---- the end of time ---- */

static intptr_t sleeps_to_the_end(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER - 1), 0);
    CHECK_EQUAL(verge_now(), VERGE_NEVER - 1);
    return 0;
}

static void deadlines_reach_to_the_end_of_time(void **state) {
    (void)state;
    (void)run_virtual(2, 0, sleeps_to_the_end, NULL);
}

/* ---- timers that were cancelled are no time to move to ---- */

static intptr_t sleeps_a_second(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep((int64_t)SECOND), 0);
    return 0;
}

static void *stops_later(void *runtime) {
    const struct timespec pause = {.tv_nsec = 50000000};
    (void)nanosleep(&pause, NULL);
    verge_runtime_stop(runtime);
    return NULL;
}

static intptr_t joins_with_time_to_spare(void *argument) {
    verge_task *task = spawn(sleeps_a_second, NULL);
    CHECK_EQUAL(verge_join_until(task, NULL, HOUR), 0);
    CHECK_EQUAL(verge_now(), SECOND);
    pthread_t *thread = argument;
    CHECK_EQUAL(pthread_create(thread, NULL, stops_later, verge_task_runtime()), 0);
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_now(), SECOND);
    return 0;
}

static void t7_a_deadline_that_was_met_moves_no_clock(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(run_virtual(2, 0, joins_with_time_to_spare, &thread), SECOND);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_a_stop_reaches_tasks_that_change_their_worker),
        cmocka_unit_test(run_returns_while_another_fails_to_spawn),
        cmocka_unit_test(a_worker_may_come_while_the_runtime_starts),
        cmocka_unit_test(t7_a_worker_may_come_from_outside),
        cmocka_unit_test(only_one_joins_a_task_that_has_ended),
        cmocka_unit_test(deadlines_reach_to_the_end_of_time),
        cmocka_unit_test(t7_a_deadline_that_was_met_moves_no_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
