/* SPDX-License-Identifier: MIT */
/* After fork: a wheel goes on in the child. Calls on a service or a runtime of the parent return -ECHILD there, and new
 * services and runtimes work. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "service/support.h"
#include "support/spawn.h"
#include "verge/loop.h"
#include "verge/task.h"
#include "verge/wheel_more.h"

/* ThreadSanitizer ends a child of a process with threads when the child starts one. */
#if defined(VERGE__THREADS_ARE_WATCHED)
enum { THREADS_ARE_WATCHED = 1 };
#else
enum { THREADS_ARE_WATCHED = 0 };
#endif

static verge_wheel *wheel;
static verge_service *service;
static verge_runtime *runtime;
static verge_worker *worker; /* the main thread is bound to it */
static verge_timer timer;
static _Atomic int fired;

static void on_timer(const verge_firing *firing) {
    (void)firing;
    atomic_fetch_add(&fired, 1);
}

static intptr_t task(void *argument) {
    return (intptr_t)argument;
}

/* Makes a check return the number of the first line that does not hold. A check returns 0 if all hold. */
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            return __LINE__ % 256; \
        } \
    } while (0)

/* The timers of a wheel go on in the child as in the parent: each process has its own copy. */
static int check_wheel(void) {
    verge_expiry out[4];
    EXPECT(verge_wheel_check(wheel) == NULL);
    EXPECT(verge_wheel_start(wheel, 5000000000, NULL, &(verge_timer){0}) == 0);
    EXPECT(verge_wheel_poll(wheel, 10000000000, out, 4) == 2);
    EXPECT(verge_wheel_check(wheel) == NULL);
    verge_wheel_destroy(wheel);
    return 0;
}

static int check_service_of_parent(void) {
    verge_start_options options = {.struct_size = sizeof(options)};
    verge_worker *joined = NULL;
    verge_timer started = 0;
    options.callback = on_timer;
    options.deadline_ns = verge_service_now(service) + 1000;
    EXPECT(verge_service_start_with(service, &options, &started) == -ECHILD);
    EXPECT(verge_service_start(service, verge_service_now(service) + 1000, on_timer, NULL, &started) == -ECHILD);
    EXPECT(verge_service_start_after(service, 1, on_timer, NULL, &started) == -ECHILD);
    EXPECT(verge_service_cancel(service, timer) == -ECHILD);
    EXPECT(verge_service_cancel_wait(service, timer) == -ECHILD);
    EXPECT(verge_service_shutdown(service, timer) == -ECHILD);
    EXPECT(verge_service_reset(service, timer, verge_service_now(service) + 1000) == -ECHILD);
    EXPECT(verge_service_wait_empty(service, VERGE_NEVER) == -ECHILD);
    EXPECT(verge_service_add_worker(service, NULL) == -ECHILD);
    EXPECT(verge_service_retire_worker(service, 1) == -ECHILD);
    EXPECT(verge_worker_join(service, NULL, &joined) == -ECHILD);
    EXPECT(verge_worker_current(service) == NULL);
    EXPECT(verge_worker_run_once(worker, 0) == -ECHILD);
    EXPECT(verge_worker_leave(worker) == -ECHILD);
    EXPECT(verge_service_destroy(service, NULL, NULL) == -ECHILD);
    return 0;
}

static int check_runtime_of_parent(void) {
    verge_task *spawned = NULL;
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    EXPECT(verge_runtime_run(runtime, task, NULL, NULL) == -ECHILD);
    EXPECT(spawn_at(runtime, 0, task, NULL, &spawned) == -ECHILD);
    EXPECT(verge_runtime_add_worker(runtime, NULL) == -ECHILD);
    EXPECT(verge_runtime_get_stats(runtime, &stats) == -ECHILD);
    EXPECT(verge_runtime_destroy(runtime) == -ECHILD);
    verge_runtime_stop(runtime);
    return 0;
}

static int check_new_ones(void) {
    verge_service *own = NULL;
    verge_timer started = 0;
    atomic_store(&fired, 0);
    EXPECT(verge_service_create(NULL, &own) == 0);
    EXPECT(verge_service_start_after(own, 1000, on_timer, NULL, &started) == 0);
    EXPECT(verge_service_wait_empty(own, VERGE_NEVER) == 0);
    EXPECT(atomic_load(&fired) == 1);
    EXPECT(verge_service_destroy(own, NULL, NULL) == 0);
    verge_runtime *own_runtime = NULL;
    intptr_t result = 0;
    EXPECT(verge_runtime_create(NULL, &own_runtime) == 0);
    EXPECT(verge_runtime_run(own_runtime, task, (void *)(intptr_t)7, &result) == 0 && result == 7);
    EXPECT(verge_runtime_destroy(own_runtime) == 0);
    return 0;
}

static int in_child(int (*check)(void)) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(600); /* ends a child that hangs */
        _exit(check());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int grandchild(void) {
    return in_child(check_service_of_parent) == 0 && in_child(check_new_ones) == 0 ? 0 : 1;
}

static void what_holds_after_fork(void **state) {
    (void)state;
    assert_int_equal(verge_wheel_create(NULL, &wheel), 0);
    verge_timer in_wheel = 0;
    assert_int_equal(verge_wheel_start(wheel, 7000000000, NULL, &in_wheel), 0);
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 2;
    assert_int_equal(verge_service_create(&options, &service), 0);
    assert_int_equal(verge_worker_join(service, NULL, &worker), 0);
    assert_int_equal(verge_runtime_create(NULL, &runtime), 0);
    assert_int_equal(verge_service_start_after(service, UINT64_C(3600000000000), on_timer, NULL, &timer), 0);

    assert_int_equal(in_child(check_wheel), 0);
    assert_int_equal(in_child(check_service_of_parent), 0);
    assert_int_equal(in_child(check_runtime_of_parent), 0);
    if (!THREADS_ARE_WATCHED) {
        assert_int_equal(in_child(check_new_ones), 0);
        assert_int_equal(in_child(grandchild), 0);
    }

    /* The parent goes on. */
    assert_int_equal(verge_service_cancel(service, timer), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    verge_wheel_destroy(wheel);
}

/* A task forks: the child process is in no task. */
static intptr_t forks(void *argument) {
    (void)argument;
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(600);
        const bool is_right = verge_task_current() == NULL && verge_sleep(1) == -EPERM && verge_yield() == -EPERM;
        _exit(is_right ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void a_task_that_forks(void **state) {
    (void)state;
    verge_runtime *own = NULL;
    intptr_t result = -1;
    assert_int_equal(verge_runtime_create(NULL, &own), 0);
    assert_int_equal(verge_runtime_run(own, forks, NULL, &result), 0);
    assert_int_equal(result, 0);
    assert_int_equal(verge_runtime_destroy(own), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_holds_after_fork),
        cmocka_unit_test(a_task_that_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
