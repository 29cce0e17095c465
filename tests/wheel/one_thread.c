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

/* ---- another thread, which has ended when this returns ---- */

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
    (void)verge_wheel_schedule(wheel, SECOND, NULL, NULL);
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

/* ---- what is not: the allocator is called from inside ---- */

static verge_wheel *shared;
static void (*use_inside)(verge_wheel *wheel);

static void *allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    if (shared != NULL) {
        on_another_thread(use_inside, shared);
    }
    return verge_allocator_default()->allocate(verge_allocator_default()->context, size, alignment);
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    verge_allocator_default()->release(verge_allocator_default()->context, memory, size);
}

static void look_only(verge_wheel *wheel) {
    (void)verge_wheel_next_wakeup(wheel);
}

static char said[256]; /* by the child, to stderr */

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
        _exit(verge_wheel_reserve(wheel, 1000) == 0 ? 2 : 1);
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
#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
    static void (*const uses[])(verge_wheel * wheel) = {schedule_one, look_only, verge_wheel_clear,
                                                        verge_wheel_destroy};
    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        const int status = status_of_child(uses[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
        assert_non_null(strstr(said, "two threads use one wheel at the same time"));
    }
#else
    const int status = status_of_child(look_only); /* which changes nothing */
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
