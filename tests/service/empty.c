/* SPDX-License-Identifier: MIT */
/* verge_service_wait_empty: returns when the last callback has returned, and not before. */
#include "service/support.h"

static void a_service_without_timers_is_empty(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    assert_int_equal(verge_service_wait_empty(stepped.service, 0), 0);
    assert_int_equal(verge_service_wait_empty(stepped.service, VERGE_NEVER), 0);
    const verge_timer timer = start_at(stepped.service, 2 * HOUR, do_nothing, NULL);
    assert_int_equal(verge_service_wait_empty(stepped.service, now_of(&stepped)), -ETIMEDOUT);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    assert_int_equal(verge_service_wait_empty(stepped.service, VERGE_NEVER), 0);
    stepped_end(&stepped);
}

static int plain; /* written by callbacks without a lock: only the wait orders writes and reads */

static void count_plainly(const verge_firing *firing) {
    (void)firing;
    plain++;
}

static void what_callbacks_did_is_seen(void **state) {
    (void)state;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    plain = 0;
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(verge_service_start_after(service, i % 5 * MS, count_plainly, NULL, NULL), 0);
    }
    assert_int_equal(verge_service_wait_empty(service, VERGE_NEVER), 0);
    assert_int_equal(plain, 100);
    assert_int_equal(verge_service_count(service, 0), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void a_bound_thread_runs_its_worker(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    verge_worker *worker = join_bound(service);
    struct notes notes = {0};
    assert_int_equal(verge_service_start_after(service, 3 * MS, take_note, &notes, NULL), 0);
    assert_int_equal(verge_service_wait_empty(service, VERGE_NEVER), 0);
    assert_int_equal(notes.fired, 1);
    leave(worker);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void leave_worker(const verge_firing *firing) {
    assert_int_equal(verge_worker_leave(firing->worker), 0);
}

/* The worker leaves in a callback, and another thread takes over. The wait goes on. */
static void the_worker_may_leave_meanwhile(void **state) {
    (void)state;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    verge_worker *worker = join_bound(service);
    struct notes notes = {0};
    start_at(service, 0, leave_worker, NULL);
    verge_start_options options = noted(&notes, verge_service_exact_now(service) + 2 * MS);
    options.worker_id = verge_worker_id(worker);
    (void)start_with(service, &options);
    assert_int_equal(verge_service_wait_empty(service, VERGE_NEVER), 0);
    assert_int_equal(notes.fired, 1);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void ask(const verge_firing *firing) {
    *(int *)firing->argument = verge_service_wait_empty(firing->service, VERGE_NEVER);
}

static void not_in_a_callback(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    int result = 0;
    start_at(stepped.service, now_of(&stepped), ask, &result);
    assert_int_equal(step(worker), 1);
    assert_int_equal(result, -EDEADLK);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_without_timers_is_empty),
        cmocka_unit_test(what_callbacks_did_is_seen),
        cmocka_unit_test(a_bound_thread_runs_its_worker),
        cmocka_unit_test(the_worker_may_leave_meanwhile),
        cmocka_unit_test(not_in_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
