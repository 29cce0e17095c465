/* SPDX-License-Identifier: MIT */
/* The cap on timers and the count of timers are exact, whichever thread starts timers and however they end. */
#include "service/support.h"

enum { CAP = 10 };

static void stepped_begin_capped(struct stepped *stepped) {
    verge_service_options options = stepped_options(stepped);
    options.timer_cap = CAP;
    stepped_create(stepped, &options);
}

static void assert_full(struct stepped *stepped) {
    verge_timer timer = 0;
    assert_int_equal(verge_service_count(stepped->service, 0), CAP);
    assert_int_equal(verge_service_start(stepped->service, 2 * HOUR, do_nothing, NULL, &timer), -ENOSPC);
    assert_int_equal(verge_service_start_after(stepped->service, 0, do_nothing, NULL, &timer), -ENOSPC);
    assert_int_equal(timer, 0);
    assert_int_equal(verge_service_count(stepped->service, 0), CAP);
}

static void fill(struct stepped *stepped, verge_timer *timers) {
    for (size_t i = verge_service_count(stepped->service, 0); i < CAP; i++) {
        timers[i] = start_at(stepped->service, now_of(stepped) + SECOND, do_nothing, NULL);
    }
    assert_full(stepped);
}

static void every_way_to_end_makes_room(void **state) {
    (void)state;
    for (unsigned variant = 0; variant < 2; variant++) {
        struct stepped stepped;
        verge_timer timers[CAP];
        stepped_begin_capped(&stepped);
        verge_worker *worker = variant == 0 ? join_bound(stepped.service) : join_unbound(stepped.service);
        fill(&stepped, timers);
        /* Variant 0: filed; 1: in the inbox. */
        assert_int_equal(verge_service_cancel(stepped.service, timers[CAP - 1]), 0);
        assert_int_equal(verge_service_count(stepped.service, 0), CAP - 1);
        fill(&stepped, timers);
        assert_int_equal(step(worker), 0);
        assert_int_equal(verge_service_shutdown(stepped.service, timers[CAP - 1]), 0); /* the timer is filed */
        assert_int_equal(verge_service_cancel(stepped.service, timers[CAP - 1]), -ENOENT);
        assert_int_equal(verge_service_count(stepped.service, 0), CAP - 1);
        fill(&stepped, timers);
        advance(&stepped, SECOND + TICK);
        assert_int_equal(step(worker), CAP);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        fill(&stepped, timers);
        leave(worker); /* all timers become orphans, which count */
        assert_full(&stepped);
        assert_int_equal(verge_service_cancel(stepped.service, timers[0]), 0);
        assert_int_equal(verge_service_count(stepped.service, 0), CAP - 1);
        stepped_end(&stepped);
    }
}

static void expect_full(const verge_firing *firing) {
    take_note(firing);
    verge_timer timer = 0;
    assert_int_equal(verge_service_count(firing->service, 0), CAP);
    assert_int_equal(verge_service_start_after(firing->service, 0, do_nothing, NULL, &timer), -ENOSPC);
    assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->scheduled_ns), VERGE_RUNNING);
    assert_int_equal(verge_service_cancel(firing->service, firing->timer), VERGE_RUNNING);
    assert_int_equal(verge_service_count(firing->service, 0), CAP);
}

static void a_timer_counts_while_it_runs(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    verge_timer timers[CAP];
    stepped_begin_capped(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped), expect_full, &notes);
    fill(&stepped, timers);
    assert_int_equal(step(worker), 1);
    assert_int_equal(verge_service_count(stepped.service, 0), CAP - 1);
    leave(worker);
    stepped_end(&stepped);
}

static void a_start_that_fails_takes_no_room(void **state) {
    (void)state;
    struct stepped stepped;
    verge_timer timers[CAP];
    stepped_begin_capped(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    verge_timer timer = 0;
    stepped.memory.fail_from = stepped.memory.calls + 1;
    for (int i = 0; i < 3 * CAP; i++) {
        assert_int_equal(verge_service_start(stepped.service, 2 * HOUR, do_nothing, NULL, &timer), -ENOMEM);
        assert_int_equal(verge_service_start(stepped.service, 2 * HOUR, NULL, NULL, &timer), -EINVAL);
    }
    stepped.memory.fail_from = 0;
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    fill(&stepped, timers);
    leave(worker);
    stepped_end(&stepped);
}

static void a_periodic_timer_is_one(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    verge_timer timers[CAP];
    stepped_begin_capped(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    verge_start_options options = noted(&notes, now_of(&stepped));
    options.period_ns = TICK;
    timers[0] = start_with(stepped.service, &options);
    for (uint32_t i = 1; i < 100; i++) {
        assert_int_equal(step(worker), 1);
        assert_int_equal(verge_service_count(stepped.service, 0), 1);
        advance(&stepped, TICK);
    }
    fill(&stepped, timers);
    leave(worker);
    stepped_end(&stepped);
}

/* ---- several threads at the cap ---- */

struct crowd {
    verge_service *service;
    _Atomic int64_t held; /* a lower bound of the number of pending timers */
    _Atomic bool has_overflown;
};

/* Each thread starts timers until a start fails, and cancels them. */
static void *start_and_cancel(void *argument) {
    struct crowd *crowd = argument;
    const size_t rounds = test_scaled(100000);
    for (size_t i = 0; i < rounds; i++) {
        verge_timer timers[CAP];
        size_t count = 0;
        while (count < CAP &&
               verge_service_start(crowd->service, VERGE_NEVER - 1, do_nothing, NULL, &timers[count]) == 0) {
            count++;
            if (atomic_fetch_add(&crowd->held, 1) >= CAP) {
                atomic_store(&crowd->has_overflown, true);
            }
        }
        while (count > 0) {
            (void)atomic_fetch_sub(&crowd->held, 1);
            count--;
            if (verge_service_cancel(crowd->service, timers[count]) != 0) {
                atomic_store(&crowd->has_overflown, true);
            }
        }
    }
    return NULL;
}

static void threads_cannot_exceed_it_together(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.timer_cap = CAP;
    struct crowd crowd = {0};
    assert_int_equal(verge_service_create(&options, &crowd.service), 0);
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        threads[i] = thread_of(start_and_cancel, &crowd);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        join_thread(threads[i]);
    }
    assert_false(crowd.has_overflown);
    assert_int_equal(verge_service_count(crowd.service, 0), 0);
    for (size_t i = 0; i < CAP; i++) { /* there is room for CAP timers again: none was lost */
        (void)start_at(crowd.service, VERGE_NEVER - 1, do_nothing, NULL);
    }
    assert_int_equal(verge_service_start(crowd.service, 0, do_nothing, NULL, NULL), -ENOSPC);
    assert_int_equal(verge_service_destroy(crowd.service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_end_makes_room),       cmocka_unit_test(a_timer_counts_while_it_runs),
        cmocka_unit_test(a_start_that_fails_takes_no_room),  cmocka_unit_test(a_periodic_timer_is_one),
        cmocka_unit_test(threads_cannot_exceed_it_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
