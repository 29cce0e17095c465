/* SPDX-License-Identifier: MIT */
/* Creating a service: with usual options, and when memory or threads run out. */
#include "service/support.h"

/* ---- threads that cannot be had ---- */

static unsigned threads_left = UINT32_MAX;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *argument),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *argument),
                          void *argument);

/* Called instead of pthread_create, by the library, too (linked with --wrap). */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *argument),
                          void *argument) {
    if (threads_left == 0) {
        return EAGAIN;
    }
    threads_left--;
    return __real_pthread_create(thread, attributes, body, argument);
}

enum { THREADS = 3 };

static verge_service_options options_with_threads(struct stepped *stepped) {
    verge_service_options options = stepped_options(stepped);
    options.thread_count = THREADS;
    options.metronome = true;
    return options;
}

static void without_threads_there_is_no_service_and_nothing_is_left(void **state) {
    (void)state;
    for (unsigned left = 0; left <= THREADS + 1; left++) {
        struct stepped stepped;
        const verge_service_options options = options_with_threads(&stepped);
        threads_left = left;
        const int error = verge_service_create(&options, &stepped.service);
        threads_left = UINT32_MAX;
        if (left == THREADS + 1) { /* enough: each worker needs a thread, and so does the metronome */
            assert_int_equal(error, 0);
            assert_int_equal(verge_service_destroy(stepped.service, NULL, NULL), 0);
        } else {
            assert_int_equal(error, -EAGAIN);
            assert_null(stepped.service);
        }
        verge_test_allocator_assert_empty(&stepped.memory);
    }
}

static void a_thread_that_cannot_be_added_changes_nothing(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    uint32_t id = 0;
    stepped_begin(&stepped);
    (void)start_at(stepped.service, 0, take_note, &notes);
    threads_left = 0;
    assert_int_equal(verge_service_add_worker(stepped.service, &id), -EAGAIN);
    threads_left = UINT32_MAX;
    assert_int_equal(id, 0);
    assert_int_equal(stats_of(stepped.service).workers, 0);
    assert_int_equal(verge_service_count(stepped.service, 0), 1);
    assert_int_equal(verge_service_add_worker(stepped.service, &id), 0);
    assert_int_equal(id, 1);
    await_count(&notes.fired, 1);
    stepped_end(&stepped);
}

/* ---- memory that cannot be had ---- */

static void without_memory_there_is_no_service_and_nothing_is_left(void **state) {
    (void)state;
    bool has_failed = true;
    for (uint64_t n = 1; has_failed; n++) {
        struct stepped stepped;
        const verge_service_options options = options_with_threads(&stepped);
        stepped.memory.fail_at = n;
        const int error = verge_service_create(&options, &stepped.service);
        has_failed = stepped.memory.failures > 0;
        assert_int_equal(error, has_failed ? -ENOMEM : 0);
        assert_int_equal(stepped.service == NULL, has_failed);
        assert_int_equal(verge_service_destroy(stepped.service, NULL, NULL), 0);
        verge_test_allocator_assert_empty(&stepped.memory);
        assert_true(n < 1000);
    }
}

static void a_thread_without_memory_changes_nothing(void **state) {
    (void)state;
    bool has_failed = true;
    for (uint64_t n = 1; has_failed; n++) {
        struct stepped stepped;
        stepped_begin(&stepped);
        stepped.memory.fail_at = stepped.memory.calls + n;
        const int error = verge_service_add_worker(stepped.service, NULL);
        has_failed = stepped.memory.failures > 0;
        assert_int_equal(error, has_failed ? -ENOMEM : 0);
        assert_int_equal(stats_of(stepped.service).workers, has_failed ? 0 : 1);
        stepped_end(&stepped);
    }
}

/* ---- default options ---- */

static void a_service_by_default_has_a_worker_and_the_monotonic_clock(void **state) {
    (void)state;
    struct notes notes = {0};
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    assert_int_equal(stats_of(service).workers, 1);
    const verge_clock clock = verge_clock_monotonic();
    const uint64_t before_ns = clock.now_ns(clock.context);
    const uint64_t now_ns = verge_service_exact_now(service);
    assert_true(before_ns <= now_ns && now_ns <= clock.now_ns(clock.context));
    assert_int_equal(verge_service_start_after(service, MS, take_note, &notes, NULL), 0);
    await_count(&notes.fired, 1);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    assert_true(notes.last.scheduled_ns >= now_ns + MS);
}

static void there_are_as_many_threads_as_there_may_be_workers(void **state) {
    (void)state;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.thread_count = VERGE_WORKER_COUNT_MAX;
    stepped_create(&stepped, &options);
    assert_int_equal(stats_of(stepped.service).workers, VERGE_WORKER_COUNT_MAX);
    assert_int_equal(verge_service_add_worker(stepped.service, NULL), -ENOSPC);
    stepped_end(&stepped);
}

static void no_clock_is_the_monotonic_clock(void **state) {
    (void)state;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.clock = (verge_clock){0};
    stepped_create(&stepped, &options);
    const verge_clock clock = verge_clock_monotonic();
    const uint64_t before_ns = clock.now_ns(clock.context);
    assert_true(verge_service_exact_now(stepped.service) >= before_ns);
    assert_true(verge_service_exact_now(stepped.service) <= clock.now_ns(clock.context));
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_threads_there_is_no_service_and_nothing_is_left),
        cmocka_unit_test(a_thread_that_cannot_be_added_changes_nothing),
        cmocka_unit_test(without_memory_there_is_no_service_and_nothing_is_left),
        cmocka_unit_test(a_thread_without_memory_changes_nothing),
        cmocka_unit_test(a_service_by_default_has_a_worker_and_the_monotonic_clock),
        cmocka_unit_test(there_are_as_many_threads_as_there_may_be_workers),
        cmocka_unit_test(no_clock_is_the_monotonic_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
