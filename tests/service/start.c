/* SPDX-License-Identifier: MIT */
/* Starting timers: with a delay, at a time, on this worker, on another one, and without any worker. */
#include "base/step.h"
#include "service/support.h"

/* G1, G2, on the clock: not a nanosecond early, and at most one precision late. */
static void a_timer_runs_at_the_first_tick_after_its_deadline(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t begin_ns = now_of(&stepped);
    const uint64_t delays_ns[] = {0, 1, TICK - 1, TICK, TICK + 1, 63 * TICK, 64 * TICK + 5, SECOND, HOUR, 1000 * HOUR};
    for (size_t i = 0; i < COUNT_OF(delays_ns); i++) {
        struct notes notes = {0};
        verge_manual_clock_set(&stepped.clock, begin_ns + i * 2000 * HOUR);
        const uint64_t deadline_ns = now_of(&stepped) + delays_ns[i];
        verge_timer timer = 0;
        assert_int_equal(verge_service_start_after(stepped.service, delays_ns[i], take_note, &notes, &timer), 0);
        assert_int_equal(info_of(stepped.service, timer).deadline_ns, deadline_ns);
        if (delays_ns[i] > 0) {
            assert_int_equal(step(worker), 0);
            assert_int_equal(step_at(&stepped, worker, deadline_ns - 1), 0);
        }
        assert_int_equal(step_at(&stepped, worker, (deadline_ns + TICK - 1) / TICK * TICK), 1);
        assert_int_equal(notes.fired, 1);
        assert_ptr_equal(notes.last.service, stepped.service);
        assert_ptr_equal(notes.last.worker, worker);
        assert_ptr_equal(notes.last.argument, &notes);
        assert_int_equal(notes.last.timer, timer);
        assert_int_equal(notes.last.scheduled_ns, deadline_ns);
        assert_int_equal(notes.last.actual_ns, now_of(&stepped));
        assert_int_equal(notes.last.missed, 0);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
    }
    leave(worker);
    stepped_end(&stepped);
}

static void the_past_is_as_good_as_now(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const uint64_t past_ns[] = {0, 1, TICK, HOUR / 2, now_of(&stepped) - 1, now_of(&stepped)};
    for (size_t i = 0; i < COUNT_OF(past_ns); i++) {
        struct notes notes = {0};
        (void)start_at(stepped.service, past_ns[i], take_note, &notes);
        assert_int_equal(verge_worker_next_wakeup(worker), 0);
        assert_int_equal(step(worker), 1);
        assert_int_equal(notes.last.scheduled_ns, past_ns[i]);
    }
    leave(worker);
    stepped_end(&stepped);
}

/* Such a timer is filed at once in the wheel of the bound worker. It does not go through an inbox. */
static void a_bound_thread_starts_on_its_own_worker(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *other = join_unbound(stepped.service);
    verge_worker *own = join_bound(stepped.service);
    assert_ptr_equal(verge_worker_current(stepped.service), own);
    for (int i = 0; i < 10; i++) { /* however many timers it has */
        const verge_timer timer = start_at(stepped.service, 2 * HOUR, do_nothing, NULL);
        assert_int_equal(info_of(stepped.service, timer).worker_id, verge_worker_id(own));
    }
    assert_int_equal(count_in(stepped.service, own), 10);
    assert_int_equal(count_in(stepped.service, other), 0);
    assert_int_equal(verge_service_count(stepped.service, 0), 10);
    assert_int_equal(verge_service_count(stepped.service, 3), 0); /* there is no such worker */
    assert_int_equal(verge_service_count(stepped.service, VERGE_WORKER_COUNT_MAX + 1), 0);
    assert_int_equal(verge_service_count(stepped.service, UINT32_MAX), 0);
    leave(other);
    leave(own);
    stepped_end(&stepped);
}

static void any_other_thread_starts_on_the_worker_with_the_fewest(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *workers[3];
    for (size_t i = 0; i < 3; i++) {
        workers[i] = join_unbound(stepped.service);
    }
    assert_null(verge_worker_current(stepped.service));
    for (int i = 0; i < 30; i++) {
        (void)start_at(stepped.service, 2 * HOUR, do_nothing, NULL);
        for (size_t w = 0; w < 3; w++) {
            assert_int_equal(step(workers[w]), 0);
        }
    }
    for (size_t w = 0; w < 3; w++) {
        assert_int_equal(count_in(stepped.service, workers[w]), 10);
        leave(workers[w]);
    }
    stepped_end(&stepped);
}

static void a_named_worker_gets_it_whoever_starts_it(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *own = join_bound(stepped.service);
    verge_worker *other = join_unbound(stepped.service);
    verge_worker *const named[] = {other, own, other};
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        struct notes notes = {0};
        verge_start_options options = noted(&notes, now_of(&stepped));
        options.worker_id = verge_worker_id(named[i]);
        (void)start_with(stepped.service, &options);
        verge_worker *not_named = named[i] == own ? other : own;
        assert_int_equal(step(not_named), 0);
        assert_int_equal(step(named[i]), 1);
        assert_int_equal(notes.worker_id, verge_worker_id(named[i]));
    }
    leave(other);
    leave(own);
    stepped_end(&stepped);
}

static void a_worker_that_is_not_there_is_as_none(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *gone = join_unbound(stepped.service);
    verge_worker *there = join_unbound(stepped.service);
    const uint32_t gone_id = verge_worker_id(gone);
    leave(gone);
    const uint32_t ids[] = {gone_id, 3, VERGE_WORKER_COUNT_MAX, VERGE_WORKER_COUNT_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct notes notes = {0};
        verge_start_options options = noted(&notes, now_of(&stepped));
        options.worker_id = ids[i];
        (void)start_with(stepped.service, &options);
        assert_int_equal(step(there), 1);
        assert_int_equal(notes.fired, 1);
    }
    leave(there);
    stepped_end(&stepped);
}

static void without_a_worker_it_waits_for_one(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    const verge_timer timer = start_at(stepped.service, now_of(&stepped) + SECOND, take_note, &notes);
    assert_int_equal(info_of(stepped.service, timer).worker_id, 0);
    assert_int_equal(stats_of(stepped.service).orphans, 1);
    verge_worker *worker = join_unbound(stepped.service);
    assert_int_equal(step(worker), 0);
    assert_int_equal(info_of(stepped.service, timer).worker_id, verge_worker_id(worker));
    assert_int_equal(stats_of(stepped.service).orphans, 0);
    advance(&stepped, SECOND + TICK);
    assert_int_equal(step(worker), 1);
    leave(worker);
    stepped_end(&stepped);
}

/* A timer in an inbox can be looked up, reset and cancelled before its worker has seen it. */
static void a_timer_is_one_before_its_worker_knows(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes[3] = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    verge_timer timers[3];
    for (size_t i = 0; i < 3; i++) {
        timers[i] = start_at(stepped.service, now_of(&stepped) + SECOND, take_note, &notes[i]);
    }
    assert_int_equal(info_of(stepped.service, timers[0]).deadline_ns, now_of(&stepped) + SECOND);
    assert_ptr_equal(info_of(stepped.service, timers[0]).callback, take_note);
    assert_ptr_equal(info_of(stepped.service, timers[0]).argument, &notes[0]);
    assert_false(info_of(stepped.service, timers[0]).is_running);
    assert_int_equal(verge_service_cancel(stepped.service, timers[0]), 0);
    assert_int_equal(verge_service_cancel(stepped.service, timers[0]), -ENOENT);
    assert_int_equal(verge_service_reset(stepped.service, timers[1], now_of(&stepped)), 0);
    assert_int_equal(verge_service_count(stepped.service, 0), 2);
    assert_int_equal(step(worker), 1);
    assert_int_equal(notes[1].fired, 1);
    advance(&stepped, 2 * SECOND);
    assert_int_equal(step(worker), 1);
    assert_int_equal(notes[0].fired, 0);
    assert_int_equal(notes[2].fired, 1);
    leave(worker);
    stepped_end(&stepped);
}

/* G9 at the last ticks before the end of time, with precisions of 1 ns, 2 ns and TICK. */
static void the_end_of_time_can_be_waited_for(void **state) {
    (void)state;
    const uint64_t precisions_ns[] = {1, 2, TICK};
    for (size_t i = 0; i < COUNT_OF(precisions_ns); i++) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        options.precision_ns = precisions_ns[i];
        stepped_create(&stepped, &options);
        verge_worker *worker = join_bound(stepped.service);
        struct notes notes[6] = {0};
        for (uint64_t k = 0; k < 6; k++) {
            (void)start_at(stepped.service, VERGE_NEVER - 1 - k, take_note, &notes[k]);
        }
        assert_int_equal(step_at(&stepped, worker, UINT64_C(1) << 63), 0);
        uint32_t fired = 0;
        for (uint64_t k = 12; k-- > 0;) {
            fired += (uint32_t)step_at(&stepped, worker, VERGE_NEVER - 1 - k);
            for (uint64_t n = 0; n < 6; n++) {
                assert_true(notes[n].fired == 0 || n >= k); /* never early */
            }
        }
        assert_true(fired == 6 || precisions_ns[i] > 1); /* a tick may lie beyond the end of time */
        leave(worker);
        stepped_end(&stepped);
    }
}

/* Durations are given instead of deadlines: to start on a bound worker and without one, to start_with, and to reset. */
static void a_duration_given_as_a_deadline_is_refused(void **state) {
    (void)state;
    for (int is_checked = 0; is_checked <= 1; is_checked++) {
        struct stepped stepped;
        verge_service_options options = stepped_options(&stepped);
        options.check_deadlines = is_checked == 1;
        stepped_create(&stepped, &options);
        verge_worker *worker = join_unbound(stepped.service);
        const uint64_t created_ns = now_of(&stepped);
        const int expected = is_checked ? -EINVAL : 0;
        struct notes notes = {0};
        const verge_start_options relative = noted(&notes, 5 * SECOND);
        for (int is_bound = 0; is_bound <= 1; is_bound++) {
            verge_worker *bound = is_bound ? join_bound(stepped.service) : NULL;
            assert_int_equal(verge_service_start(stepped.service, 5 * SECOND, do_nothing, NULL, NULL), expected);
            assert_int_equal(verge_service_start(stepped.service, 1, do_nothing, NULL, NULL), expected);
            assert_int_equal(verge_service_start(stepped.service, created_ns - TICK, do_nothing, NULL, NULL), expected);
            assert_int_equal(verge_service_start_with(stepped.service, &relative, NULL), expected);
            const verge_timer timer = start_at(stepped.service, created_ns + HOUR, do_nothing, NULL);
            assert_int_equal(verge_service_reset(stepped.service, timer, 5 * SECOND), expected);
            (void)start_at(stepped.service, 0, do_nothing, NULL);
            (void)start_at(stepped.service, created_ns, do_nothing, NULL);
            if (bound != NULL) {
                leave(bound);
            }
        }
        leave(worker);
        stepped_end(&stepped);
    }
}

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
static void a_build_with_assertions_always_checks(void **state) {
    (void)state;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    assert_int_equal(verge_service_start(service, 1, do_nothing, NULL, NULL), -EINVAL);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}
#endif
/* ---- the handle is stored before the timer can run, and not after ---- */

#define FREED UINT64_C(0xfeedfeedfeedfeed)

struct owner {
    struct stepped stepped;
    verge_worker *worker;
    verge_timer timer; /* start stores the handle here; from the callback on, it is FREED */
    verge_timer seen;  /* what the callback found there */
    uint32_t fired;
};

static struct owner *owner;

/* Stands for free(owner): if start stored the handle after this, that would be a use after free. */
static void free_the_owner(const verge_firing *firing) {
    owner->seen = owner->timer;
    owner->timer = FREED;
    owner->fired += firing->timer == owner->seen;
}

/* At this step the timer has been pushed, and its start has not returned. A worker takes the timer now. */
static void run_before_the_start_returns(const char *next_step) {
    if (strcmp(next_step, "wake: until when") == 0) {
        verge__step_hook = NULL;
        assert_int_equal(step(owner->worker), 1);
    }
}

static void the_handle_is_stored_before_the_timer_runs_and_not_after(void **state) {
    (void)state;
    struct owner the_owner = {0};
    owner = &the_owner;
    stepped_begin(&owner->stepped);
    owner->worker = join_unbound(owner->stepped.service);
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = free_the_owner;
    for (uint32_t way = 0; way < 3; way++) {
        verge_service *service = owner->stepped.service;
        owner->timer = 0;
        verge__step_hook = run_before_the_start_returns;
        const int error = way == 0   ? verge_service_start_with(service, &options, &owner->timer)
                          : way == 1 ? verge_service_start(service, 1, free_the_owner, NULL, &owner->timer)
                                     : verge_service_start_after(service, 0, free_the_owner, NULL, &owner->timer);
        assert_int_equal(error, 0);
        assert_null(verge__step_hook);
        assert_int_equal(owner->fired, way + 1); /* the callback found its own handle */
        assert_int_equal(owner->timer, FREED);
    }
    leave(owner->worker);
    stepped_end(&owner->stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_runs_at_the_first_tick_after_its_deadline),
        cmocka_unit_test(the_past_is_as_good_as_now),
        cmocka_unit_test(a_bound_thread_starts_on_its_own_worker),
        cmocka_unit_test(any_other_thread_starts_on_the_worker_with_the_fewest),
        cmocka_unit_test(a_named_worker_gets_it_whoever_starts_it),
        cmocka_unit_test(a_worker_that_is_not_there_is_as_none),
        cmocka_unit_test(without_a_worker_it_waits_for_one),
        cmocka_unit_test(a_timer_is_one_before_its_worker_knows),
        cmocka_unit_test(the_end_of_time_can_be_waited_for),
        cmocka_unit_test(a_duration_given_as_a_deadline_is_refused),
#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
        cmocka_unit_test(a_build_with_assertions_always_checks),
#endif
        cmocka_unit_test(the_handle_is_stored_before_the_timer_runs_and_not_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
