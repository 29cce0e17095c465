/* SPDX-License-Identifier: MIT */
/* verge_service_run_to_next: each call runs to the next event, however far away it is. */
#include "service/support.h"

static void one_call_an_event(void **state) {
    (void)state;
    static const uint64_t delays_ns[] = {5 * MS, 70 * MS, 3 * SECOND, 500 * SECOND, 3 * HOUR, 900 * HOUR};
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        options.precision_ns = 1;
        stepped_create(&stepped, &options);
        verge_worker *joined[3];
        for (unsigned i = 0; i < workers; i++) {
            joined[i] = join_unbound(stepped.service);
        }
        const uint64_t start_ns = now_of(&stepped);
        struct notes notes = {0};
        for (size_t i = 0; i < COUNT_OF(delays_ns); i++) {
            start_at(stepped.service, start_ns + delays_ns[i], take_note, &notes);
        }
        const verge_timer cancelled = start_at(stepped.service, start_ns + 2000 * HOUR, take_note, &notes);
        assert_int_equal(verge_service_cancel(stepped.service, cancelled), 0);
        for (size_t i = 0; i < COUNT_OF(delays_ns); i++) {
            assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), 1);
            assert_int_equal(now_of(&stepped), start_ns + delays_ns[i]);
            assert_int_equal(notes.last.scheduled_ns, start_ns + delays_ns[i]);
        }
        assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), 0);
        assert_int_equal(now_of(&stepped), start_ns + 900 * HOUR); /* a cancelled timer is no event */
        for (unsigned i = 0; i < workers; i++) {
            leave(joined[i]);
        }
        stepped_end(&stepped);
    }
}

static void no_further_than_the_limit(void **state) {
    (void)state;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.precision_ns = 1;
    stepped_create(&stepped, &options);
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t start_ns = now_of(&stepped);
    struct notes notes = {0};
    start_at(stepped.service, start_ns + HOUR, take_note, &notes);
    assert_int_equal(verge_service_run_to_next(stepped.service, start_ns + HOUR - 1), 0);
    assert_int_equal(now_of(&stepped), start_ns + HOUR - 1);
    assert_int_equal(verge_service_run_to_next(stepped.service, start_ns), 0); /* never backwards */
    assert_int_equal(now_of(&stepped), start_ns + HOUR - 1);
    assert_int_equal(verge_service_run_to_next(stepped.service, start_ns + HOUR), 1);
    assert_int_equal(now_of(&stepped), start_ns + HOUR);
    start_at(stepped.service, start_ns, take_note, &notes); /* overdue, so the clock need not move */
    assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), 1);
    assert_int_equal(now_of(&stepped), start_ns + HOUR);
    leave(worker);
    stepped_end(&stepped);
}

static void of_a_tick_all(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped); /* a precision of 2^20 */
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t start_ns = now_of(&stepped);
    struct notes notes = {0};
    start_at(stepped.service, start_ns + 1, take_note, &notes);
    start_at(stepped.service, start_ns + TICK, take_note, &notes);
    assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), 2);
    assert_int_equal(now_of(&stepped), start_ns + TICK);
    leave(worker);
    stepped_end(&stepped);
}

static void ask(const verge_firing *firing) {
    *(int *)firing->argument = verge_service_run_to_next(firing->service, VERGE_NEVER);
}

static void not_everywhere(void **state) {
    (void)state;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    assert_int_equal(verge_service_run_to_next(service, VERGE_NEVER), -EINVAL); /* its clock cannot be set */
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);

    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.thread_count = 1;
    stepped_create(&stepped, &options);
    assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), -EPERM);
    stepped_end(&stepped);

    stepped_begin(&stepped);
    assert_int_equal(verge_service_run_to_next(stepped.service, VERGE_NEVER), 0); /* there is no worker, so no event */
    verge_worker *worker = join_unbound(stepped.service);
    int result = 0;
    start_at(stepped.service, now_of(&stepped), ask, &result);
    assert_int_equal(step(worker), 1);
    assert_int_equal(result, -EBUSY);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_an_event),
        cmocka_unit_test(no_further_than_the_limit),
        cmocka_unit_test(of_a_tick_all),
        cmocka_unit_test(not_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
