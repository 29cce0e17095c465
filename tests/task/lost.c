/* SPDX-License-Identifier: MIT */
/* T8 (verge/task.h): the thread of a worker ends in a task, which is lost then. Tasks that wait for this task get an
 * error. All others are cancelled and end. Nothing hangs, and nothing leaks. */
#define _GNU_SOURCE

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

static struct verge_test_allocator memory;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

static void *allocate(void *context, size_t size, size_t alignment) {
    (void)pthread_mutex_lock(&memory_lock);
    void *block = memory.allocator.allocate(context, size, alignment);
    (void)pthread_mutex_unlock(&memory_lock);
    return block;
}

static void release(void *context, void *block, size_t size) {
    (void)pthread_mutex_lock(&memory_lock);
    memory.allocator.release(context, block, size);
    (void)pthread_mutex_unlock(&memory_lock);
}

static verge_runtime *create(uint32_t worker_count, verge_manual_clock *virtual_clock) {
    verge_test_allocator_init(&memory);
    verge_runtime_options options = runtime_options(worker_count);
    const verge_allocator allocator = {.allocate = allocate, .release = release, .context = memory.allocator.context};
    options.allocator = &allocator;
    options.virtual_clock = virtual_clock;
    return runtime_with(options);
}

static void end(verge_runtime *runtime) {
    end_runtime(runtime);
    verge_test_allocator_assert_empty(&memory);
}

/* ThreadSanitizer does not support pthread_exit in the middle of a task. */
static void end_thread(void) {
    int before;
    if (!VERGE__TSAN) {
        pthread_exit(NULL);
    }
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
    CHECK_EQUAL(pthread_cancel(pthread_self()), 0);
    pthread_testcancel();
}

/* ---- a scene: tasks that wait on the worker that is to be lost, and on another ---- */

struct scene {
    uint32_t lost_worker;
    int fds[2];
    verge_task *deserter, *sleeper, *reader;
    int joined; /* what the join of the deserter returned */
    _Atomic int ended;
    bool is_cleaned_up;
    _Atomic bool is_ready;
};

static void clean_up(void *argument) {
    *(bool *)argument = true;
}

static intptr_t deserts(void *argument) {
    struct scene *scene = argument;
    atomic_store(&scene->is_ready, true); /* the tasks that were spawned before on this worker are waiting now */
    while (verge_sleep(1) == 0 && atomic_load(&scene->is_ready)) {
    }
    pthread_cleanup_push(clean_up, &scene->is_cleaned_up);
    end_thread();
    pthread_cleanup_pop(0);
    return 0;
}

static intptr_t sleeps(void *argument) {
    struct scene *scene = argument;
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    CHECK(verge_task_worker_id() != scene->lost_worker || scene->lost_worker == 0); /* it cleans up on another worker */
    atomic_fetch_add(&scene->ended, 1);
    return 17;
}

static intptr_t reads(void *argument) {
    struct scene *scene = argument;
    char byte;
    CHECK_EQUAL(verge_recv(scene->fds[0], &byte, 1, 0, verge_deadline_after(DAY)), -ECANCELED);
    CHECK(verge_task_worker_id() != scene->lost_worker || scene->lost_worker == 0);
    CHECK_EQUAL(verge_close(scene->fds[0]), 0);
    atomic_fetch_add(&scene->ended, 1);
    return 18;
}

static intptr_t joins_the_deserter(void *argument) {
    struct scene *scene = argument;
    intptr_t result = 99;
    scene->joined = verge_task_join(scene->deserter, &result, VERGE_NEVER);
    CHECK_EQUAL(result, 99);
    atomic_fetch_add(&scene->ended, 1);
    return 0;
}

static intptr_t plays(void *argument) {
    struct scene *scene = argument;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, scene->fds), 0);
    scene->sleeper = spawn_on(scene->lost_worker, sleeps, scene);
    scene->reader = spawn_on(scene->lost_worker, reads, scene);
    scene->deserter = spawn_on(scene->lost_worker, deserts, scene);
    verge_task *joiner = spawn(joins_the_deserter, scene);
    while (!atomic_load(&scene->is_ready)) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(verge_yield(), 0); /* lets the joiner run until it waits */
    atomic_store(&scene->is_ready, false);
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    if (verge_task_join(joiner, NULL, VERGE_NEVER) != 0) { /* T4 */
        CHECK_EQUAL(verge_task_detach(joiner), 0);
    }
    CHECK_EQUAL(verge_spawn(sleeps, NULL, NULL), -ESHUTDOWN);
    return 1;
}

static void assert_all_ended(struct scene *scene) {
    assert_int_equal(scene->ended, 3);
    assert_int_equal(scene->joined, -EOWNERDEAD);
    assert_true(scene->is_cleaned_up);
    assert_int_equal(verge_task_detach(scene->sleeper), 0);
    assert_int_equal(verge_task_detach(scene->reader), 0);
    assert_int_equal(close(scene->fds[1]), 0);
}

/* ---- a worker that is a thread of the runtime ---- */

static intptr_t returns_its_argument(void *argument) {
    return (intptr_t)argument;
}

static void t8_run_says_that_a_worker_was_lost(void **state) {
    (void)state;
    for (uint32_t worker_count = 2; worker_count <= 3; worker_count++) {
        struct scene scene = {.lost_worker = worker_count - 1};
        verge_runtime *runtime = create(worker_count, NULL);
        intptr_t result = 99;
        assert_int_equal(verge_runtime_run(runtime, plays, &scene, &result), -EOWNERDEAD);
        assert_int_equal(result, 99);
        assert_all_ended(&scene);
        assert_int_equal(stats_of(runtime).tasks, 0);
        /* The runtime goes on as if the worker had retired. */
        assert_int_equal(verge_runtime_run(runtime, returns_its_argument, &scene, &result), 0);
        assert_int_equal(result, (intptr_t)&scene);
        assert_int_equal(stats_of(runtime).workers, worker_count - 1);
        end(runtime);
    }
}

/* ---- worker 0: the thread that calls run, which does not return ---- */

struct caller {
    struct scene scene;
    verge_runtime *runtime;
    bool has_returned;
};

static void *runs(void *argument) {
    struct caller *caller = argument;
    const int error = verge_runtime_run(caller->runtime, plays, &caller->scene, NULL);
    (void)error;
    caller->has_returned = true;
    return NULL;
}

static void lose_the_calling_thread(uint32_t worker_count, verge_manual_clock *virtual_clock, uint32_t lost_worker) {
    struct caller caller = {.runtime = create(worker_count, virtual_clock), .scene = {.lost_worker = lost_worker}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, runs, &caller), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(caller.has_returned);
    assert_all_ended(&caller.scene);
    intptr_t result = 0;
    assert_int_equal(verge_runtime_run(caller.runtime, returns_its_argument, &caller, &result), 0);
    assert_int_equal(result, (intptr_t)&caller);
    end(caller.runtime);
}

static void t8_the_thread_that_runs_ends_when_all_tasks_have(void **state) {
    (void)state;
    lose_the_calling_thread(1, NULL, 0);
    lose_the_calling_thread(2, NULL, 0);
}

static void t8_in_virtual_time(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    lose_the_calling_thread(1, &clock, 0);
    lose_the_calling_thread(2, &clock, 0);
}

/* ---- all tasks of two workers desert, one at first and the others while the runtime stops ---- */

static intptr_t deserts_at_once(void *argument) {
    (void)argument;
    end_thread();
    return 0;
}

static intptr_t deserts_when_cancelled(void *argument) {
    _Atomic int *begun_count = argument;
    atomic_fetch_add(begun_count, 1);
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    end_thread();
    return 0;
}

enum { deserter_count = 10 };

static intptr_t is_deserted(void *argument) {
    _Atomic int *begun_count = argument;
    for (int i = 0; i < deserter_count; i++) {
        CHECK_EQUAL(spawn_at(NULL, (uint32_t)i % 2 + 1, deserts_when_cancelled, begun_count, NULL), 0);
    }
    while (atomic_load(begun_count) != deserter_count) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(spawn_at(NULL, 1, deserts_at_once, NULL, NULL), 0);
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    return 0;
}

static void *runs_the_deserted(void *runtime) {
    _Atomic int begun_count = 0;
    const int error = verge_runtime_run(runtime, is_deserted, &begun_count, NULL);
    (void)error;
    return &memory; /* never reached: the last tasks end the thread of worker 0 */
}

static void t8_many_are_lost(void **state) {
    (void)state;
    verge_runtime *runtime = create(3, NULL);
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, runs_the_deserted, runtime), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_not_equal(result, &memory);
    assert_int_equal(stats_of(runtime).tasks, 0);
    end(runtime);
}

/* ---- destroy runs the tasks that are left, and these desert ---- */

static void t8_destroy_goes_on(void **state) {
    (void)state;
    verge_runtime *runtime = create(2, NULL);
    assert_int_equal(spawn_at(runtime, 1, deserts_at_once, NULL, NULL), 0);
    assert_int_equal(spawn_at(runtime, 0, returns_its_argument, NULL, NULL), 0);
    end(runtime);
}

/* ---- a mutex that the lost task has locked ---- */

struct shared {
    verge_mutex mutex;
    verge_condition condition;
    bool stops_before;
    _Atomic bool is_locked;
    _Atomic int waiting_count;
    int waited, locked, tried, locked_again;
};

static intptr_t locks_and_deserts(void *argument) {
    struct shared *shared = argument;
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_broadcast(&shared->condition), 0); /* the woken task needs the mutex again */
    atomic_store(&shared->is_locked, true);
    if (shared->stops_before) {
        verge_runtime_stop(verge_task_runtime());
    }
    while (atomic_load(&shared->waiting_count) < 2) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    end_thread();
    return 0;
}

static intptr_t waits(void *argument) {
    struct shared *shared = argument;
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    atomic_fetch_add(&shared->waiting_count, 1);
    shared->waited = verge_condition_wait(&shared->condition, &shared->mutex, VERGE_NEVER);
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), -EPERM);
    return 0;
}

static intptr_t locks(void *argument) {
    struct shared *shared = argument;
    while (!atomic_load(&shared->is_locked)) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    atomic_fetch_add(&shared->waiting_count, 1);
    shared->locked = verge_mutex_lock(&shared->mutex, VERGE_NEVER);
    do {
        CHECK_EQUAL(verge_yield(), 0);
        shared->tried = verge_mutex_lock(&shared->mutex, 0);
    } while (shared->tried == -ETIMEDOUT || shared->tried == -ECANCELED);
    shared->locked_again = verge_mutex_lock(&shared->mutex, VERGE_NEVER);
    return 0;
}

static intptr_t shares(void *argument) {
    struct shared *shared = argument;
    verge_task *waiting = spawn(waits, shared);
    verge_task *locking = spawn(locks, shared);
    while (atomic_load(&shared->waiting_count) < 1) { /* the task `waiting` may run on any worker */
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(spawn_at(NULL, 1, locks_and_deserts, shared, NULL), 0);
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    (void)verge_task_detach(waiting);
    (void)verge_task_detach(locking);
    return 0;
}

static void t8_a_mutex_of_a_lost_task_says_so(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct shared shared = {.stops_before = i != 0};
        verge_runtime *runtime = create(2, NULL);
        assert_int_equal(verge_runtime_run(runtime, shares, &shared, NULL), -EOWNERDEAD);
        assert_int_equal(shared.waited, -EOWNERDEAD);
        assert_true(shared.locked == -ECANCELED || shared.locked == -EOWNERDEAD);
        assert_int_equal(shared.tried, -EOWNERDEAD);
        assert_int_equal(shared.locked_again, -EOWNERDEAD);
        end(runtime);
    }
}

/* ---- pthread_cancel ---- */

static intptr_t is_not_cancelled(void *argument) {
    (void)argument;
    int fds[2];
    char byte = 0;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CHECK_EQUAL(pthread_cancel(pthread_self()), 0);
    CHECK_EQUAL(verge_sleep(MS), 0);
    CHECK_EQUAL(verge_send(fds[0], "x", 1, 0, VERGE_NEVER), 1);
    CHECK_EQUAL(read(fds[1], &byte, 1), 1); /* a cancellation point: there, a pthread_cancel takes effect */
    CHECK_EQUAL(close(fds[0]) + close(fds[1]), 0);
    return 0;
}

static intptr_t cancels_its_threads(void *argument) {
    return join(spawn_on(1, is_not_cancelled, argument)) + is_not_cancelled(argument);
}

static bool has_returned;

static void *runs_and_is_cancelled(void *runtime) {
    CHECK_EQUAL(verge_runtime_run(runtime, cancels_its_threads, NULL, NULL), 0);
    has_returned = true;
    pthread_testcancel();
    return NULL;
}

static void t8_threads_of_workers_cannot_be_cancelled(void **state) {
    (void)state;
    verge_runtime *runtime = create(2, NULL);
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, runs_and_is_cancelled, runtime), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(has_returned);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    end(runtime);
}

static intptr_t allows_to_be_cancelled(void *argument) {
    (void)argument;
    int before;
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
    CHECK_EQUAL(pthread_cancel(pthread_self()), 0);
    pthread_testcancel();
    CHECK(false);
    return 0;
}

static intptr_t joins_the_cancelled(void *argument) {
    (void)argument;
    verge_task *task = spawn_on(1, allows_to_be_cancelled, NULL);
    /* The task is lost; or the stop that follows has cancelled this join. */
    const int error = verge_task_join(task, NULL, VERGE_NEVER);
    CHECK(error == -EOWNERDEAD || error == -ECANCELED);
    return 0;
}

static void t8_a_task_that_allows_it_is_lost(void **state) {
    (void)state;
    verge_runtime *runtime = create(2, NULL);
    assert_int_equal(verge_runtime_run(runtime, joins_the_cancelled, NULL, NULL), -EOWNERDEAD);
    end(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t8_run_says_that_a_worker_was_lost),
        cmocka_unit_test(t8_the_thread_that_runs_ends_when_all_tasks_have),
        cmocka_unit_test(t8_in_virtual_time),
        cmocka_unit_test(t8_many_are_lost),
        cmocka_unit_test(t8_destroy_goes_on),
        cmocka_unit_test(t8_a_mutex_of_a_lost_task_says_so),
        cmocka_unit_test(t8_threads_of_workers_cannot_be_cancelled),
        cmocka_unit_test(t8_a_task_that_allows_it_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
