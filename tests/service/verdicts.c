/* SPDX-License-Identifier: MIT */
/* What cancel, cancel_wait, shutdown and reset return is true (G10), whether they are called in callbacks or not. */
#include "service/support.h"

typedef int (*ending)(verge_service *service, verge_timer timer);

static const ending endings[] = {verge_service_cancel, verge_service_cancel_wait, verge_service_shutdown};

/* Where a timer is when it is ended or reset: filed by the worker the thread is bound to, by another, or in an
 * inbox. */
enum place { FILED_HERE, FILED_THERE, IN_INBOX, PLACES };

static verge_worker *join_for(struct stepped *stepped, enum place place) {
    return place == FILED_HERE ? join_bound(stepped->service) : join_unbound(stepped->service);
}

static verge_timer start_in(struct stepped *stepped, verge_worker *worker, enum place place, uint64_t deadline_ns,
                            struct notes *notes) {
    const verge_timer timer = start_at(stepped->service, deadline_ns, take_note, notes);
    if (place == FILED_THERE) {
        assert_int_equal(step(worker), 0);
    }
    return timer;
}

static void a_pending_timer_that_is_ended_never_runs(void **state) {
    (void)state;
    for (unsigned variant = 0; variant < (unsigned)PLACES * 3; variant++) {
        const enum place place = (enum place)(variant / 3);
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *worker = join_for(&stepped, place);
        const verge_timer timer = start_in(&stepped, worker, place, now_of(&stepped) + SECOND, &notes);
        assert_int_equal(endings[variant % 3](stepped.service, timer), 0);
        for (size_t i = 0; i < COUNT_OF(endings); i++) {
            assert_int_equal(endings[i](stepped.service, timer), -ENOENT);
        }
        assert_int_equal(verge_service_reset(stepped.service, timer, now_of(&stepped)), -ENOENT);
        advance(&stepped, HOUR);
        assert_int_equal(step(worker), 0);
        assert_int_equal(notes.fired, 0);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        leave(worker);
        stepped_end(&stepped);
    }
}

/* The timer is reset some times, earlier and later. Only the last deadline counts. */
static void a_pending_timer_that_is_reset_runs_at_the_new_deadline_only(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(21));
    for (unsigned variant = 0; variant < (unsigned)PLACES * 100; variant++) {
        const enum place place = (enum place)(variant / 100);
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *worker = join_for(&stepped, place);
        const uint64_t begin_ns = now_of(&stepped);
        uint64_t deadline_ns = begin_ns + SECOND;
        const verge_timer timer = start_in(&stepped, worker, place, deadline_ns, &notes);
        for (uint64_t i = verge_test_below(&random, 6) + 1; i > 0; i--) {
            deadline_ns = begin_ns + 2 * TICK + (verge_test_magnitude(&random) >> 24);
            assert_int_equal(verge_service_reset(stepped.service, timer, deadline_ns), 0);
            assert_int_equal(info_of(stepped.service, timer).deadline_ns, deadline_ns);
            if (verge_test_chance(&random, 2)) {
                assert_int_equal(step(worker), 0);
            }
        }
        assert_int_equal(step_at(&stepped, worker, deadline_ns - 1), 0);
        assert_int_equal(step_at(&stepped, worker, deadline_ns + TICK), 1);
        assert_int_equal(notes.last.scheduled_ns, deadline_ns);
        assert_int_equal(notes.last.timer, timer);
        assert_int_equal(step_at(&stepped, worker, deadline_ns + HOUR * 1000), 0);
        leave(worker);
        stepped_end(&stepped);
    }
}

/* A timer that a small batch has left over is still pending. Its worker and other threads can cancel and reset it. */
static void what_is_in_the_backlog_can_still_be_cancelled_and_reset(void **state) {
    (void)state;
    enum { COUNT = 12 };
    for (unsigned variant = 0; variant < 4; variant++) {
        const bool is_bound = variant % 2 == 0;
        /* 0: all come too late for their ticks; TICK: all are of one tick. */
        const uint64_t delay_ns = variant / 2 == 0 ? 0 : TICK;
        struct stepped stepped;
        struct notes notes[COUNT] = {0};
        verge_timer timers[COUNT];
        verge_service_options options = stepped_options(&stepped);
        options.batch = 1;
        stepped_create(&stepped, &options);
        verge_worker *worker = is_bound ? join_bound(stepped.service) : join_unbound(stepped.service);
        const uint64_t begin_ns = now_of(&stepped);
        for (size_t i = 0; i < COUNT; i++) {
            timers[i] =
                start_at(stepped.service, begin_ns - SECOND + (SECOND + 1) * (delay_ns != 0), take_note, &notes[i]);
        }
        advance(&stepped, TICK);
        assert_int_equal(step(worker), 1);
        size_t moved = 0;
        for (size_t i = 0; i < COUNT; i++) {
            if (notes[i].fired == 0 && i % 3 == 0) {
                assert_int_equal(verge_service_cancel(stepped.service, timers[i]), 0);
            } else if (notes[i].fired == 0 && i % 3 == 1) {
                assert_int_equal(verge_service_reset(stepped.service, timers[i], begin_ns + HOUR), 0);
                moved++;
            }
        }
        for (int pass = 0; pass < 2 * COUNT; pass++) {
            (void)step(worker);
        }
        assert_int_equal(verge_service_count(stepped.service, 0), moved);
        verge_manual_clock_set(&stepped.clock, begin_ns + HOUR - 1);
        assert_int_equal(step(worker), 0);
        verge_manual_clock_set(&stepped.clock, begin_ns + HOUR + TICK);
        for (int pass = 0; pass < 2 * COUNT; pass++) {
            (void)step(worker);
        }
        uint32_t fired = 0;
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(notes[i].fired <= 1);
            fired += notes[i].fired;
        }
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        assert_true(fired >= COUNT * 2 / 3);
        leave(worker);
        stepped_end(&stepped);
    }
}

/* ---- in callbacks ---- */

struct inside {
    void (*act)(struct inside *inside, const verge_firing *firing);
    uint32_t fired;
    verge_timer other;
    struct notes other_notes;
    uint64_t other_reset_ns;
    ending ending;
};

static void act(const verge_firing *firing) {
    struct inside *inside = firing->argument;
    inside->fired++;
    inside->act(inside, firing);
}

/* Creates a service, and runs a timer whose callback calls `act`. The other timer is due a second later. */
static void play(struct inside *inside) {
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    inside->other = start_at(stepped.service, now_of(&stepped) + SECOND, take_note, &inside->other_notes);
    assert_int_equal(step(worker), 0);
    const verge_timer timer = start_at(stepped.service, now_of(&stepped), act, inside);
    for (int pass = 0; pass < 10; pass++) {
        (void)step(worker);
        advance(&stepped, SECOND);
    }
    assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    leave(worker);
    stepped_end(&stepped);
}

static void end_self(struct inside *inside, const verge_firing *firing) {
    assert_true(info_of(firing->service, firing->timer).is_running);
    for (int i = 0; i < 2; i++) { /* both times, the call returns VERGE_RUNNING */
        assert_int_equal(inside->ending(firing->service, firing->timer), VERGE_RUNNING);
    }
}

static void inside_its_own_callback_every_ending_returns_at_once(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct inside inside = {.act = end_self, .ending = endings[i]};
        play(&inside);
        assert_int_equal(inside.fired, 1);
        assert_int_equal(inside.other_notes.fired, 1);
    }
}

static void reset_self_once(struct inside *inside, const verge_firing *firing) {
    if (inside->fired == 1) {
        assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->actual_ns + 3 * SECOND),
                         VERGE_RUNNING);
    } else {
        assert_int_equal(inside->fired, 2);
        assert_true(firing->actual_ns >= firing->scheduled_ns);
    }
}

static void a_callback_that_resets_itself_runs_again(void **state) {
    (void)state;
    struct inside inside = {.act = reset_self_once};
    play(&inside);
    assert_int_equal(inside.fired, 2);
}

static void reset_then_cancel_self(struct inside *inside, const verge_firing *firing) {
    assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->actual_ns), VERGE_RUNNING);
    assert_int_equal(inside->ending(firing->service, firing->timer), VERGE_RUNNING);
}

static void reset_then_cancelled_it_does_not_run_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct inside inside = {.act = reset_then_cancel_self, .ending = endings[i]};
        play(&inside);
        assert_int_equal(inside.fired, 1);
    }
}

static void cancel_then_reset_self(struct inside *inside, const verge_firing *firing) {
    if (inside->fired == 1) {
        assert_int_equal(inside->ending(firing->service, firing->timer), VERGE_RUNNING);
        const bool is_shut = inside->ending == verge_service_shutdown;
        assert_int_equal(verge_service_reset(firing->service, firing->timer, firing->actual_ns),
                         is_shut ? -ESHUTDOWN : VERGE_RUNNING);
    }
}

static void shutdown_alone_forbids_to_set_it_up_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct inside inside = {.act = cancel_then_reset_self, .ending = endings[i]};
        play(&inside);
        assert_int_equal(inside.fired, endings[i] == verge_service_shutdown ? 1 : 2);
    }
}

static void end_other(struct inside *inside, const verge_firing *firing) {
    assert_int_equal(inside->ending(firing->service, inside->other), 0);
    assert_int_equal(inside->ending(firing->service, inside->other), -ENOENT);
}

static void a_callback_ends_another_timer(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct inside inside = {.act = end_other, .ending = endings[i]};
        play(&inside);
        assert_int_equal(inside.other_notes.fired, 0);
    }
}

static void reset_other(struct inside *inside, const verge_firing *firing) {
    inside->other_reset_ns = firing->actual_ns + TICK;
    assert_int_equal(verge_service_reset(firing->service, inside->other, firing->actual_ns + 5 * SECOND), 0);
    assert_int_equal(verge_service_reset(firing->service, inside->other, inside->other_reset_ns), 0);
}

static void a_callback_resets_another_timer(void **state) {
    (void)state;
    struct inside inside = {.act = reset_other};
    play(&inside);
    assert_int_equal(inside.other_notes.fired, 1);
    assert_int_equal(inside.other_notes.last.scheduled_ns, inside.other_reset_ns);
    /* It runs in the next pass. */
    assert_int_equal(inside.other_notes.last.actual_ns, inside.other_reset_ns - TICK + SECOND);
}

/* These timers are due in one pass, in one tick or in several. The first one cancels the others, which then never
 * run. */
static verge_timer siblings[20];
static uint32_t siblings_fired;

static void cancel_siblings(const verge_firing *firing) {
    siblings_fired++;
    for (size_t i = 0; i < COUNT_OF(siblings); i++) {
        if (siblings[i] != firing->timer) {
            assert_int_equal(verge_service_cancel(firing->service, siblings[i]), 0);
        }
    }
}

static void what_is_due_in_the_same_tick_can_still_be_cancelled(void **state) {
    (void)state;
    for (uint64_t spread_ns = 0; spread_ns <= 5 * TICK; spread_ns += 5 * TICK) {
        struct stepped stepped;
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        siblings_fired = 0;
        for (size_t i = 0; i < COUNT_OF(siblings); i++) {
            siblings[i] = start_at(stepped.service, now_of(&stepped) + SECOND + i * spread_ns, cancel_siblings, NULL);
        }
        (void)step(worker);
        advance(&stepped, 2 * SECOND);
        assert_int_equal(step(worker), 1);
        assert_int_equal(step(worker), 0);
        assert_int_equal(siblings_fired, 1);
        leave(worker);
        stepped_end(&stepped);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pending_timer_that_is_ended_never_runs),
        cmocka_unit_test(a_pending_timer_that_is_reset_runs_at_the_new_deadline_only),
        cmocka_unit_test(what_is_in_the_backlog_can_still_be_cancelled_and_reset),
        cmocka_unit_test(inside_its_own_callback_every_ending_returns_at_once),
        cmocka_unit_test(a_callback_that_resets_itself_runs_again),
        cmocka_unit_test(reset_then_cancelled_it_does_not_run_again),
        cmocka_unit_test(shutdown_alone_forbids_to_set_it_up_again),
        cmocka_unit_test(a_callback_ends_another_timer),
        cmocka_unit_test(a_callback_resets_another_timer),
        cmocka_unit_test(what_is_due_in_the_same_tick_can_still_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
