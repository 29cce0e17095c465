/* SPDX-License-Identifier: MIT */
/* Windows: a timer with a window may run later by up to the window, to run together with others. */
#include "service/support.h"

static verge_timer start_in_window(struct stepped *stepped, struct notes *notes, uint64_t earliest_ns,
                                   uint64_t window_ns) {
    verge_start_options options = noted(notes, earliest_ns);
    options.window_ns = window_ns;
    return start_with(stepped->service, &options);
}

static void never_before_the_window_and_a_tick_after_it_at_most(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(11));
    for (int round = 0; round < 2000; round++) {
        struct notes notes = {0};
        const uint64_t earliest_ns = now_of(&stepped) + verge_test_below(&random, SECOND);
        const uint64_t window_ns = verge_test_magnitude(&random) >> 20;
        const verge_timer timer = start_in_window(&stepped, &notes, earliest_ns, window_ns);
        const uint64_t chosen_ns = info_of(stepped.service, timer).deadline_ns;
        assert_true(chosen_ns >= earliest_ns);
        assert_true(chosen_ns <= earliest_ns + window_ns);
        assert_int_equal(step_at(&stepped, worker, earliest_ns - (earliest_ns > now_of(&stepped))), 0);
        assert_int_equal(step_at(&stepped, worker, earliest_ns + window_ns + TICK), 1);
        assert_true(notes.last.scheduled_ns >= earliest_ns);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* A thousand timers, due 1 ms apart, each with a window of 1 s, run in a few passes. */
static void timers_coalesce(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    struct stepped stepped;
    static struct notes notes[COUNT];
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    for (uint64_t i = 0; i < COUNT; i++) {
        memset(&notes[i], 0, sizeof(notes[i]));
        (void)start_in_window(&stepped, &notes[i], now_of(&stepped) + i * MS, SECOND);
    }
    int fired = 0;
    int passes_with_work = 0;
    for (uint64_t next_ns = 0; fired < COUNT; next_ns = verge_worker_next_wakeup(worker)) {
        assert_int_not_equal(next_ns, VERGE_NEVER);
        const int now_fired = next_ns == 0 ? step(worker) : step_at(&stepped, worker, next_ns);
        fired += now_fired;
        passes_with_work += now_fired > 0;
    }
    assert_true(passes_with_work <= 10); /* four would do: a pass runs up to 256 callbacks */
    leave(worker);
    stepped_end(&stepped);
}

static void a_window_that_reaches_beyond_time_ends_with_it(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const uint64_t windows_ns[] = {VERGE_NEVER, VERGE_NEVER - 1, VERGE_NEVER - HOUR};
    for (size_t i = 0; i < COUNT_OF(windows_ns); i++) {
        const verge_timer timer = start_in_window(&stepped, &notes, now_of(&stepped) + SECOND, windows_ns[i]);
        assert_true(info_of(stepped.service, timer).deadline_ns >= now_of(&stepped) + SECOND);
        assert_true(info_of(stepped.service, timer).deadline_ns < VERGE_NEVER);
        assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    }
    const uint64_t late_ns = VERGE_NEVER - 10; /* 10 ns before the end of time */
    const verge_timer last = start_in_window(&stepped, &notes, late_ns, VERGE_NEVER / 2);
    assert_true(info_of(stepped.service, last).deadline_ns >= late_ns);
    assert_true(info_of(stepped.service, last).deadline_ns < VERGE_NEVER);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_before_the_window_and_a_tick_after_it_at_most),
        cmocka_unit_test(timers_coalesce),
        cmocka_unit_test(a_window_that_reaches_beyond_time_ends_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
