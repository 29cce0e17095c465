/* SPDX-License-Identifier: MIT */
/* Tasks come, are joined or detached, yield, are cancelled and go. */
#include "task/support.h"

static intptr_t twice(void *argument) {
    return 2 * (intptr_t) * (int *)argument;
}

static intptr_t joins_tasks(void *argument) {
    (void)argument;
    int numbers[100];
    verge_task *tasks[100];
    for (int i = 0; i < 100; i++) {
        numbers[i] = i;
        tasks[i] = spawn(twice, &numbers[i]);
    }
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(join(tasks[i]), 2 * i);
    }
    return 4711;
}

static void a_join_gives_the_result(void **state) {
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        assert_int_equal(run_tasks(workers, joins_tasks, NULL), 4711);
    }
}

/* ---- */

static intptr_t count_and_yield(void *argument) {
    int *trace = argument;
    for (int i = 0; i < 3; i++) {
        trace[trace[0]++] = (int)(intptr_t)*verge_task_data();
        CHECK_EQUAL(verge_yield(), 0);
    }
    return 0;
}

static intptr_t named_one(void *argument) {
    *verge_task_data() = (void *)1;
    return count_and_yield(argument);
}

static intptr_t named_two(void *argument) {
    *verge_task_data() = (void *)2;
    return count_and_yield(argument);
}

static intptr_t yields(void *argument) {
    int trace[8] = {1};
    (void)argument;
    verge_task *one = spawn(named_one, trace);
    verge_task *two = spawn(named_two, trace);
    join(one);
    join(two);
    for (int i = 1; i < 7; i++) {
        CHECK_EQUAL(trace[i], i % 2 == 1 ? 1 : 2);
    }
    return 0;
}

static void yield_takes_turns(void **state) {
    (void)state;
    run_tasks(1, yields, NULL);
}

/* ---- */

static intptr_t knows_itself(void *argument) {
    CHECK(verge_task_current() != NULL);
    CHECK_EQUAL(verge_task_worker_id(), *(uint32_t *)argument);
    CHECK(*verge_task_data() == NULL);
    CHECK(!verge_task_is_cancelled());
    CHECK(verge_now() != 0);
    CHECK(verge_deadline_after(VERGE_NEVER - 1) == VERGE_NEVER);
    const uint64_t now_ns = verge_now();
    CHECK(verge_deadline_after(SECOND) >= now_ns + SECOND);
    return 0;
}

static intptr_t spawns_everywhere(void *argument) {
    (void)argument;
    uint32_t workers[3] = {0, 1, 2};
    verge_task *tasks[3];
    for (uint32_t i = 0; i < 3; i++) {
        tasks[i] = spawn_on(i, knows_itself, &workers[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        join(tasks[i]);
    }
    verge_task *task = NULL;
    CHECK_EQUAL(spawn_at(NULL, 3, knows_itself, NULL, &task), -EINVAL);
    CHECK_EQUAL(verge_spawn(NULL, NULL, &task), -EINVAL);
    CHECK(task == NULL);
    return 0;
}

static void a_task_runs_where_it_was_sent(void **state) {
    (void)state;
    uint32_t first = 0;
    run_tasks(3, spawns_everywhere, NULL);
    run_tasks(3, knows_itself, &first);
}

/* ---- */

static intptr_t sleeps_long(void *argument) {
    const int error = verge_sleep(HOUR);
    CHECK(verge_task_is_cancelled());
    CHECK_EQUAL(verge_sleep(HOUR), -ECANCELED); /* a cancelled task stays cancelled */
    CHECK_EQUAL(verge_sleep(0), 0);
    (void)argument;
    return error;
}

static intptr_t cancels(void *argument) {
    (void)argument;
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (int yields_before = 0; yields_before < 3; yields_before++) {
            verge_task *task = spawn_on(worker, sleeps_long, NULL);
            for (int i = 0; i < yields_before; i++) {
                CHECK_EQUAL(verge_yield(), 0);
            }
            CHECK_EQUAL(verge_task_cancel(task), 0);
            CHECK_EQUAL(verge_task_cancel(task), 0);
            CHECK_EQUAL(join(task), -ECANCELED);
        }
    }
    return 0;
}

static void a_cancelled_task_does_not_wait(void **state) {
    (void)state;
    run_tasks(2, cancels, NULL);
}

/* ---- */

static intptr_t joins_until(void *argument) {
    (void)argument;
    intptr_t result = 77;
    verge_task *task = spawn(sleeps_long, NULL);
    CHECK_EQUAL(verge_task_join(task, &result, verge_now()), -ETIMEDOUT);
    CHECK_EQUAL(verge_task_join(task, &result, verge_deadline_after(3 * MS)), -ETIMEDOUT);
    CHECK_EQUAL(result, 77);
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(verge_task_join(task, &result, verge_deadline_after(HOUR)), 0);
    CHECK_EQUAL(result, -ECANCELED);
    CHECK_EQUAL(verge_task_join(verge_task_current(), NULL, VERGE_NEVER), -EDEADLK);
    CHECK_EQUAL(verge_task_join(NULL, NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_task_detach(NULL), -EINVAL);
    CHECK_EQUAL(verge_task_cancel(NULL), -EINVAL);
    return 0;
}

static void a_join_that_timed_out_can_be_repeated(void **state) {
    (void)state;
    run_tasks(1, joins_until, NULL);
}

static intptr_t joins_other(void *task) {
    return verge_task_join(task, NULL, VERGE_NEVER);
}

static intptr_t joins_twice(void *argument) {
    (void)argument;
    verge_task *sleeper = spawn(sleeps_long, NULL);
    verge_task *first = spawn(joins_other, sleeper);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_task_join(sleeper, NULL, VERGE_NEVER), -EBUSY);
    CHECK_EQUAL(verge_task_detach(sleeper), -EBUSY);
    CHECK_EQUAL(verge_task_cancel(sleeper), 0);
    CHECK_EQUAL(join(first), 0);
    return 0;
}

static void only_one_task_joins_another(void **state) {
    (void)state;
    run_tasks(1, joins_twice, NULL);
}

/* ---- */

static atomic_int detached_count;

static intptr_t counts(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_yield(), 0);
    atomic_fetch_add(&detached_count, 1);
    return 0;
}

static intptr_t detaches(void *argument) {
    (void)argument;
    for (int i = 0; i < 50; i++) {
        CHECK_EQUAL(verge_spawn(counts, NULL, NULL), 0);
        verge_task *task = spawn(counts, NULL);
        if (i % 2 == 0) {
            CHECK_EQUAL(verge_yield(), 0); /* lets the task end, perhaps before it is detached */
            CHECK_EQUAL(verge_yield(), 0);
        }
        CHECK_EQUAL(verge_task_detach(task), 0);
    }
    return 0;
}

static void run_waits_for_detached_tasks(void **state) {
    (void)state;
    atomic_store(&detached_count, 0);
    run_tasks(2, detaches, NULL);
    assert_int_equal(atomic_load(&detached_count), 100);
}

/* ---- */

static void outside_of_tasks_the_calls_of_tasks_are_refused(void **state) {
    (void)state;
    verge_deadline scope;
    verge_task *task;
    verge_interval interval;
    assert_int_equal(verge_interval_init(&interval, 0, 1, VERGE_INTERVAL_SKIP), 0);
    assert_int_equal(verge_sleep(1), -EPERM);
    assert_int_equal(verge_sleep_until(1), -EPERM);
    assert_int_equal(verge_yield(), -EPERM);
    assert_int_equal(verge_spawn(counts, NULL, &task), -EPERM);
    assert_int_equal(spawn_at(NULL, 0, counts, NULL, &task), -EPERM);
    assert_int_equal(verge_task_join(NULL, NULL, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_interval_wait(&interval, NULL, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_deadline_push(&scope, 1), -EPERM);
    assert_int_equal(verge_deadline_pop(&scope), -EPERM);
    assert_null(verge_task_current());
    assert_null(verge_task_runtime());
    assert_null(verge_task_data());
    assert_int_equal(verge_task_worker_id(), VERGE_WORKER_ANY);
    assert_false(verge_task_is_cancelled());
}

static void expect_refused(const verge_runtime_options *options, const char *field) {
    verge_runtime *runtime = NULL;
    char text[128] = "";
    assert_int_equal(verge_runtime_create(options, &runtime), -EINVAL);
    assert_null(runtime);
    assert_int_equal(verge_runtime_options_explain(options, text, sizeof(text)), -EINVAL);
    assert_int_equal(strncmp(text, field, strlen(field)), 0);
    assert_true(strlen(text) < sizeof(text) - 1);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(VERGE_RUNTIME_WORKERS_MAX + 1);
    expect_refused(&options, "worker_count is 251");
    options = runtime_options(1);
    options.stack_size = VERGE_STACK_SIZE_MIN - 1;
    expect_refused(&options, "stack_size is 8191");
    options.stack_size = SIZE_MAX;
    expect_refused(&options, "stack_size");
    options = runtime_options(1);
    options.precision_ns = 1000000;
    expect_refused(&options, "precision_ns is 1000000, which is no power of two: the nearest are 524288 (2^19)");
    options.precision_ns = UINT64_C(1) << 50;
    expect_refused(&options, "precision_ns");
    options = runtime_options(1);
    options.backend = (verge_backend)9;
    expect_refused(&options, "backend is 9");
    options = runtime_options(1);
    assert_int_equal(verge_runtime_options_explain(&options, NULL, 0), 0);
    assert_int_equal(verge_runtime_options_explain(NULL, NULL, 0), -EINVAL);
    options.struct_size = 0;
    expect_refused(&options, "struct_size is 0");
    assert_int_equal(verge_runtime_create(NULL, NULL), -EINVAL);
    assert_int_equal(verge_runtime_run(NULL, counts, NULL, NULL), -EINVAL);
    assert_int_equal(verge_runtime_destroy(NULL), 0);
    verge_runtime_stop(NULL);
}

static intptr_t spawns_beyond_the_cap(void *argument) {
    (void)argument;
    verge_task *tasks[9], *none = NULL;
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn(counts, NULL);
    }
    CHECK_EQUAL(verge_spawn(counts, NULL, &none), -ENOSPC);
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        join(tasks[i]);
    }
    join(spawn(counts, NULL));
    return 0;
}

static void the_cap_is_kept(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.task_count_max = 10;
    run_with(options, spawns_beyond_the_cap, NULL);
}

/* In each round, another allocation fails. A call that needs it returns -ENOMEM. In any case, nothing leaks. */
static void memory_that_runs_out_is_an_error(void **state) {
    (void)state;
    for (uint64_t call = 1; call < 100; call++) {
        struct verge_test_allocator memory;
        verge_test_allocator_init(&memory);
        memory.fail_at = call;
        verge_runtime_options options = runtime_options(1);
        options.allocator = &memory.allocator;
        verge_runtime *runtime = NULL;
        int error = verge_runtime_create(&options, &runtime);
        if (error == 0) {
            error = verge_runtime_run(runtime, counts, NULL, NULL);
            assert_int_equal(verge_runtime_destroy(runtime), 0);
        }
        assert_int_equal(memory.blocks_in_use, 0);
        if (memory.failures == 0) {
            assert_int_equal(error, 0);
            return;
        }
        assert_true(error == 0 || error == -ENOMEM);
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_gives_the_result),
        cmocka_unit_test(yield_takes_turns),
        cmocka_unit_test(a_task_runs_where_it_was_sent),
        cmocka_unit_test(a_cancelled_task_does_not_wait),
        cmocka_unit_test(a_join_that_timed_out_can_be_repeated),
        cmocka_unit_test(only_one_task_joins_another),
        cmocka_unit_test(run_waits_for_detached_tasks),
        cmocka_unit_test(outside_of_tasks_the_calls_of_tasks_are_refused),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(the_cap_is_kept),
        cmocka_unit_test(memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
