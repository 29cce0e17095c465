/* SPDX-License-Identifier: MIT */
/* A build with assertions notices two threads inside one wheel. It must not complain about a wheel that is passed on to
 * another thread, or one that is used inside its own callbacks. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wheel/support.h"

/* ---- calls a function on another thread, and waits until that thread has ended ---- */

struct other {
    void (*use)(verge_wheel *wheel);
    verge_wheel *wheel;
};

static void *other_thread(void *argument) {
    const struct other *other = argument;
    other->use(other->wheel);
    return NULL;
}

static void on_another_thread(void (*use)(verge_wheel *wheel), verge_wheel *wheel) {
    struct other other = {.use = use, .wheel = wheel};
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, &other) != 0 || pthread_join(thread, NULL) != 0) {
        abort();
    }
}

static void schedule_one(verge_wheel *wheel) {
    (void)verge_wheel_start(wheel, SECOND, NULL, NULL);
}

/* ---- what is allowed ---- */

static void passed_on_is_fine(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    for (int i = 0; i < 3; i++) {
        schedule_one(wheel);
        on_another_thread(schedule_one, wheel);
    }
    assert_int_equal(verge_wheel_count(wheel), 6);
    wheel_end(wheel);
}

static void use_on_another_thread(void *context, const verge_expiry *expiry) {
    (void)expiry;
    on_another_thread(schedule_one, context);
}

static int visit_on_another_thread(void *context, const verge_expiry *timer) {
    (void)timer;
    on_another_thread(schedule_one, context);
    return 1;
}

static void callbacks_may_lend_the_wheel(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    (void)schedule(wheel, TICK, 1);
    assert_int_equal(verge_wheel_run(wheel, 3 * TICK, use_on_another_thread, wheel), 1);
    assert_int_equal(verge_wheel_iterate(wheel, visit_on_another_thread, wheel), 1);
    assert_int_equal(verge_wheel_count(wheel), 2);
    wheel_end(wheel);
}

/* ---- what is not allowed: a call of the wheel allocates, and the allocator uses the wheel on another thread ---- */

static verge_wheel *shared;
static void (*use_inside)(verge_wheel *wheel);

static void *allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    if (shared != NULL) {
        verge_wheel *wheel = shared;
        shared = NULL; /* only the first allocation does it */
        on_another_thread(use_inside, wheel);
    }
    return verge_allocator_default()->allocate(verge_allocator_default()->context, size, alignment);
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    verge_allocator_default()->release(verge_allocator_default()->context, memory, size);
}

/* For each call of a wheel that checks the thread, a function that makes the call. */
static verge_timeout one_timeout;
static verge_timer one_timer;

static int visit_nothing(void *context, const verge_expiry *timer) {
    (void)context;
    (void)timer;
    return 0;
}

static void expire_nothing(void *context, const verge_expiry *expiry) {
    (void)context;
    (void)expiry;
}

#define CALLS(CALL) \
    CALL(schedule, verge_wheel_start(wheel, SECOND, NULL, NULL) == 0) \
    CALL(reschedule, verge_wheel_reset(wheel, one_timer, SECOND)) \
    CALL(rearm, verge_wheel_start_or_reset(wheel, &one_timer, SECOND, NULL) == 0) \
    CALL(cancel, verge_wheel_cancel(wheel, one_timer, NULL)) \
    CALL(get, verge_wheel_get(wheel, one_timer, &(verge_expiry){0}) == 0) \
    CALL(set, verge_timeout_start(wheel, &one_timeout, SECOND) == 0) \
    CALL(stop, verge_timeout_pause(wheel, &one_timeout)) \
    CALL(clear_timeout, verge_timeout_cancel(wheel, &one_timeout)) \
    CALL(poll, verge_wheel_poll(wheel, SECOND, NULL, 0)) \
    CALL(poll_exact, verge_wheel_poll_exact(wheel, SECOND, NULL, 0)) \
    CALL(poll_to_next, verge_wheel_poll_to_next(wheel, SECOND, NULL, 0)) \
    CALL(run, verge_wheel_run(wheel, SECOND, expire_nothing, NULL)) \
    CALL(has_backlog, verge_wheel_has_backlog(wheel)) \
    CALL(next_wakeup, verge_wheel_next_wakeup(wheel)) \
    CALL(next_deadline, verge_wheel_next_deadline(wheel)) \
    CALL(first_interval, verge_wheel_first_interval(wheel, NULL, NULL, NULL) == 0) \
    CALL(count, verge_wheel_count(wheel)) \
    CALL(get_stats, verge_wheel_get_stats(wheel, &(verge_wheel_stats){.struct_size = sizeof(verge_wheel_stats)}) == 0) \
    CALL(get_level_stats, verge_wheel_get_level_stats(wheel, 0, &(verge_wheel_level_stats){0}) == 0) \
    CALL(iterate, verge_wheel_iterate(wheel, visit_nothing, NULL)) \
    CALL(reserve, verge_wheel_reserve(wheel, 1, 1) == 0) \
    CALL(compact, verge_wheel_compact(wheel)) \
    CALL(clear, verge_wheel_cancel_all(wheel)) \
    CALL(set_start, verge_wheel_set_start_time(wheel, SECOND) == 0) \
    CALL(destroy, verge_wheel_destroy(wheel))

#define USE(name, call) \
    static void use_##name(verge_wheel *wheel) { \
        (void)(call); \
    }
CALLS(USE)

static char said[256]; /* what the child wrote to stderr */

static int status_of_child(void (*use)(verge_wheel *wheel)) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(fds[1], STDERR_FILENO);
        const verge_allocator allocator = {.allocate = allocate, .release = release};
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.allocator = &allocator;
        verge_wheel *wheel = NULL;
        if (verge_wheel_create(&options, &wheel) != 0) {
            _exit(1);
        }
        use_inside = use;
        shared = wheel;
        _exit(verge_wheel_reserve(wheel, 1000, 0) == 0 ? 2 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(fds[1]);
    const ssize_t size = read(fds[0], said, sizeof(said) - 1);
    assert_true(size >= 0);
    said[size] = '\0';
    (void)close(fds[0]);
    return status;
}

static void two_threads_inside_are_noticed(void **state) {
    (void)state;
#define USE_NAME(name, call) use_##name,
    static void (*const uses[])(verge_wheel * wheel) = {CALLS(USE_NAME)};
#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        const int status = status_of_child(uses[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
        assert_non_null(strstr(said, "two threads use one wheel at the same time"));
    }
#else
    (void)uses;
    const int status = status_of_child(use_next_wakeup); /* a call that changes nothing */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passed_on_is_fine),
        cmocka_unit_test(callbacks_may_lend_the_wheel),
        cmocka_unit_test(two_threads_inside_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
