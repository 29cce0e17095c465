/* SPDX-License-Identifier: MIT */
/* T5 (verge/task.h): runtimes stop and end. Tasks run to their end, and nothing leaks. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

static intptr_t does_nothing(void *argument) {
    (void)argument;
    return 0;
}

/* ---- shutdown ---- */

struct stopping {
    verge_mutex mutex;
    verge_condition condition;
    verge_channel *channel;
    int fds[2];
    _Atomic int begun;
    _Atomic int ended;
};

enum { stoppable_count = 80 };

static intptr_t is_stopped(struct stopping *stopping, int result) {
    CHECK_EQUAL(result, -ECANCELED);
    CHECK_EQUAL(verge_sleep(1), -ECANCELED);
    CHECK_EQUAL(verge_spawn(does_nothing, NULL, NULL), -ESHUTDOWN);
    atomic_fetch_add(&stopping->ended, 1);
    return 0;
}

static void begins(struct stopping *stopping) {
    atomic_fetch_add(&stopping->begun, 1);
}

static intptr_t stopped_in_sleep(void *argument) {
    begins(argument);
    return is_stopped(argument, verge_sleep(DAY));
}

static intptr_t stopped_in_lock(void *argument) {
    struct stopping *stopping = argument;
    begins(stopping);
    const int result = verge_mutex_lock(&stopping->mutex, VERGE_NEVER);
    if (result == 0) { /* T2: the mutex was handed over at the same moment */
        CHECK_EQUAL(verge_mutex_unlock(&stopping->mutex), 0);
    }
    return is_stopped(stopping, result == 0 ? -ECANCELED : result);
}

static intptr_t stopped_in_receive(void *argument) {
    struct stopping *stopping = argument;
    begins(stopping);
    int item;
    return is_stopped(stopping, verge_channel_receive(stopping->channel, &item, VERGE_NEVER));
}

static intptr_t stopped_in_read(void *argument) {
    struct stopping *stopping = argument;
    begins(stopping);
    char byte;
    return is_stopped(stopping, (int)verge_read(stopping->fds[0], &byte, 1, VERGE_NEVER));
}

static intptr_t stopped_in_read_until(void *argument) {
    struct stopping *stopping = argument;
    begins(stopping);
    char byte;
    return is_stopped(stopping, (int)verge_recv(stopping->fds[0], &byte, 1, 0, verge_deadline_after(DAY)));
}

static intptr_t stopped_in_wait(void *argument) {
    struct stopping *stopping = argument;
    begins(stopping);
    verge_mutex own = VERGE_MUTEX_INIT;
    CHECK_EQUAL(verge_mutex_lock(&own, VERGE_NEVER), 0);
    const int result = verge_condition_wait(&stopping->condition, &own, VERGE_NEVER);
    CHECK_EQUAL(verge_mutex_unlock(&own), 0);
    return is_stopped(stopping, result);
}

static intptr_t stopped_in_join(void *argument) {
    verge_task *task = spawn(stopped_in_sleep, argument);
    begins(argument);
    const int result = verge_task_join(task, NULL, VERGE_NEVER);
    if (result != 0) { /* T2: the result is 0 if the task ended at the same moment */
        CHECK_EQUAL(verge_task_detach(task), 0);
    }
    return is_stopped(argument, result == 0 ? -ECANCELED : result);
}

static const verge_task_function stoppables[] = {stopped_in_sleep,     stopped_in_lock, stopped_in_receive,
                                                 stopped_in_read,      stopped_in_wait, stopped_in_join,
                                                 stopped_in_read_until};

static intptr_t spawns_stoppables(void *argument) {
    struct stopping *stopping = argument;
    CHECK_EQUAL(verge_mutex_lock(&stopping->mutex, VERGE_NEVER), 0);
    for (uint32_t i = 0; i < 10 * COUNT_OF(stoppables); i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 2, stoppables[i % COUNT_OF(stoppables)], stopping, NULL), 0);
    }
    while (atomic_load(&stopping->begun) < stoppable_count) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    verge_runtime_stop(verge_task_runtime());
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    CHECK_EQUAL(verge_mutex_unlock(&stopping->mutex), 0);
    return 0;
}

static void t5_stop_wakes_all_and_they_run_to_their_end(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    for (int virtual = 0; virtual < 2; virtual ++) {
        struct stopping stopping = {0};
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(2);
        if (virtual) { /* then there is one thread: the test's allocator allows no more */
            options.virtual_clock = &clock;
            options.allocator = &memory.allocator;
        }
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, stopping.fds), 0);
        assert_int_equal(verge_channel_create(sizeof(int), 1, NULL, &stopping.channel), 0);
        verge_runtime *runtime = runtime_with(options);
        for (int round = 0; round < 2; round++) { /* a runtime that was stopped runs again */
            atomic_store(&stopping.begun, 0);
            atomic_store(&stopping.ended, 0);
            assert_int_equal(verge_runtime_run(runtime, spawns_stoppables, &stopping, NULL), 0);
            assert_int_equal(stopping.ended, stoppable_count);
            assert_int_equal(stats_of(runtime).tasks, 0);
        }
        end_runtime(runtime);
        verge_channel_destroy(stopping.channel);
        assert_int_equal(close(stopping.fds[0]) + close(stopping.fds[1]), 0);
    }
    verge_test_allocator_assert_empty(&memory);
}

static _Atomic int began;

static intptr_t begins_cancelled(void *argument) {
    (void)argument;
    CHECK(verge_task_is_cancelled());
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    atomic_fetch_add(&began, 1);
    return 0;
}

/* When a runtime is destroyed, no task is dropped: even tasks that have not begun run to their end. */
static void seed003_destroy_leaves_nobody_behind(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    atomic_store(&began, 0);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(spawn_at(runtime, VERGE_WORKER_ANY, begins_cancelled, NULL, NULL), 0);
    }
    end_runtime(runtime);
    assert_int_equal(atomic_load(&began), 20);
}

static void *stops_from_outside(void *runtime) {
    verge_runtime_stop(runtime);
    return NULL;
}

static intptr_t sleeps_until_stopped(void *argument) {
    pthread_t *thread = argument;
    CHECK_EQUAL(pthread_create(thread, NULL, stops_from_outside, verge_task_runtime()), 0);
    return verge_sleep(DAY);
}

static void a_runtime_is_stopped_from_outside(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        intptr_t result = 0;
        assert_int_equal(verge_runtime_run(runtime, sleeps_until_stopped, &thread, &result), 0);
        assert_int_equal(result, -ECANCELED);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    end_runtime(runtime);
}

static intptr_t runs_inside(void *argument) {
    CHECK_EQUAL(verge_runtime_run(argument, does_nothing, NULL, NULL), -EBUSY);
    CHECK_EQUAL(verge_runtime_destroy(argument), -EBUSY);
    const verge_runtime_stats stats = stats_of(argument);
    CHECK_EQUAL(stats.tasks, 1);
    CHECK(stats.backend != NULL);
    CHECK(stats.stack_high_water_bytes >= 4096 && stats.stack_high_water_bytes <= stats.stack_size);
    return 0;
}

static void a_runtime_that_runs_is_busy(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(1));
    assert_int_equal(verge_runtime_run(runtime, runs_inside, runtime, NULL), 0);
    end_runtime(runtime);
}

/* ---- a stop before the run cancels the tasks that exist then, even if they run later ---- */

static intptr_t is_cancelled_when_it_runs(void *argument) {
    bool *has_run = argument;
    *has_run = true;
    CHECK(verge_task_is_cancelled());
    CHECK_EQUAL(verge_sleep(MS), -ECANCELED);
    return 0;
}

static intptr_t is_not_cancelled(void *argument) {
    bool *has_run = argument;
    *has_run = true;
    CHECK_EQUAL(verge_sleep(1), 0);
    return 0;
}

static void t5_a_stop_lasts_until_no_task_is_left(void **state) {
    (void)state;
    bool before = false, function = false;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    assert_int_equal(spawn_at(runtime, 1, is_cancelled_when_it_runs, &before, NULL), 0);
    verge_runtime_stop(runtime);
    assert_int_equal(spawn_at(runtime, 1, is_not_cancelled, &function, NULL), -ESHUTDOWN);
    assert_int_equal(verge_runtime_run(runtime, is_not_cancelled, &function, NULL), -ESHUTDOWN);
    assert_false(before || function);
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), 0);
    assert_true(before);
    assert_int_equal(verge_runtime_run(runtime, is_not_cancelled, &function, NULL), 0);
    assert_true(function);
    end_runtime(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_stop_wakes_all_and_they_run_to_their_end),
        cmocka_unit_test(seed003_destroy_leaves_nobody_behind),
        cmocka_unit_test(a_runtime_is_stopped_from_outside),
        cmocka_unit_test(a_runtime_that_runs_is_busy),
        cmocka_unit_test(t5_a_stop_lasts_until_no_task_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
