/* SPDX-License-Identifier: MIT */
/*
 * task/support.h - a runtime, and assertions for use inside of tasks.
 *
 * cmocka leaves a failed test by a jump, which must not happen on a task's stack: CHECK counts what went wrong, and the
 * test asserts afterwards that nothing did.
 */
#ifndef VERGE_TESTS_TASK_SUPPORT_H
#define VERGE_TESTS_TASK_SUPPORT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "support/spawn.h"
#include "task/context.h"
#include "verge/sync.h"
#include "verge/task.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ThreadSanitizer has room for a few thousand threads and tasks, counting all that a process ever had. */
#define fewer_under_tsan(count) (VERGE__TSAN ? (count) / 10 : (count))

static atomic_int failed_check_count;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            atomic_fetch_add(&failed_check_count, 1); \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        } \
    } while (0)

#define CHECK_EQUAL(actual, expected) \
    do { \
        const long long actual_value = (long long)(actual), expected_value = (long long)(expected); \
        if (actual_value != expected_value) { \
            atomic_fetch_add(&failed_check_count, 1); \
            (void)fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, actual_value, \
                          expected_value); \
        } \
    } while (0)

static inline verge_runtime_options runtime_options(uint32_t worker_count) {
    verge_runtime_options options;
    assert_int_equal(verge_runtime_options_init(&options, sizeof(options)), 0);
    options.worker_count = worker_count;
    return options;
}

static inline verge_runtime *runtime_with(verge_runtime_options options) {
    verge_runtime *runtime = NULL;
    atomic_store(&failed_check_count, 0);
    assert_int_equal(verge_runtime_create(&options, &runtime), 0);
    return runtime;
}

static inline verge_runtime_stats stats_of(verge_runtime *runtime) {
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    CHECK_EQUAL(verge_runtime_get_stats(runtime, &stats), 0);
    return stats;
}

/* Destroys the runtime, and asserts that no CHECK has failed since runtime_with. */
static inline void end_runtime(verge_runtime *runtime) {
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(atomic_load(&failed_check_count), 0);
}

/* Runs `function` as the first task of a new runtime, until all tasks have ended. Returns the function's result. */
static inline intptr_t run_with(verge_runtime_options options, verge_task_function function, void *argument) {
    verge_runtime *runtime = runtime_with(options);
    intptr_t result = 0;
    assert_int_equal(verge_runtime_run(runtime, function, argument, &result), 0);
    end_runtime(runtime);
    return result;
}

static inline intptr_t run_tasks(uint32_t worker_count, verge_task_function function, void *argument) {
    return run_with(runtime_options(worker_count), function, argument);
}

/* Returns a case for a select. The case becomes ready at this time. */
static inline verge_case case_at(verge_interval *interval, uint64_t time_ns) {
    CHECK_EQUAL(verge_interval_init(interval, time_ns, UINT64_C(1) << 62, VERGE_INTERVAL_SKIP), 0);
    return verge_case_tick(interval, NULL);
}

/* As run_with, but in virtual time that begins at start_ns, with a precision of 1 ns. Returns the time at the end. */
static inline uint64_t run_virtual(uint32_t worker_count, uint64_t start_ns, verge_task_function function,
                                   void *argument) {
    verge_manual_clock clock = {start_ns};
    verge_runtime_options options = runtime_options(worker_count);
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    (void)run_with(options, function, argument);
    return clock.now_ns;
}

static inline verge_task *spawn(verge_task_function function, void *argument) {
    verge_task *task = NULL;
    CHECK_EQUAL(verge_spawn(function, argument, &task), 0);
    return task;
}

static inline verge_task *spawn_on(uint32_t worker, verge_task_function function, void *argument) {
    verge_task *task = NULL;
    CHECK_EQUAL(spawn_at(NULL, worker, function, argument, &task), 0);
    return task;
}

static inline intptr_t join(verge_task *task) {
    intptr_t result = -1;
    CHECK_EQUAL(verge_task_join(task, &result, VERGE_NEVER), 0);
    return result;
}

#endif
