/* SPDX-License-Identifier: MIT */
/* Seed 004, timers in an executor: what concerns several workers and threads, stepped from one. */
#include "base/step.h"
#include "service/service_internal.h"
#include "service/support.h"

/* ---- features ---- */

/* Each worker has its own wheel: other workers do not see its timers, and a start takes nothing from them. */
static void seed004_each_worker_has_a_wheel_of_its_own(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes[2] = {0};
    stepped_begin(&stepped);
    verge_worker *const workers[] = {join_unbound(stepped.service), join_unbound(stepped.service)};
    for (uint32_t i = 0; i < 2; i++) {
        verge_start_options options = noted(&notes[i], now_of(&stepped) + SECOND);
        options.worker_id = verge_worker_id(workers[i]);
        (void)start_with(stepped.service, &options);
        assert_int_equal(step(workers[i]), 0);
    }
    advance(&stepped, 2 * SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(count_in(stepped.service, workers[i]), 1);
        assert_int_equal(step(workers[i]), 1);
        assert_int_equal(notes[i].fired, 1);
        assert_int_equal(notes[i].worker_id, verge_worker_id(workers[i]));
    }
    leave(workers[0]);
    leave(workers[1]);
    stepped_end(&stepped);
}

static void *cancel_and_reset(void *argument) {
    const struct notes *notes = argument;
    verge_service *service = notes->last.service;
    assert_int_equal(verge_service_reset(service, notes->last.timer, 5 * HOUR), 0);
    assert_int_equal(verge_service_cancel(service, notes->last.timer), 0);
    assert_int_equal(verge_service_cancel(service, notes->last.timer), -ENOENT);
    return NULL;
}

static void seed004_cancel_from_anywhere(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    notes.last.service = stepped.service;
    notes.last.timer = start_at(stepped.service, now_of(&stepped) + SECOND, take_note, &notes);
    join_thread(thread_of(cancel_and_reset, &notes));
    advance(&stepped, 10 * HOUR);
    assert_int_equal(step(worker), 0);
    assert_int_equal(notes.fired, 0);
    leave(worker);
    stepped_end(&stepped);
}

/* A handle means the same timer, while the timer goes through three workers and a time without a worker. */
static void seed004_a_handle_is_valid_across_workers(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    const verge_timer timer = start_at(stepped.service, now_of(&stepped) + HOUR, take_note, &notes);
    for (int i = 0; i < 3; i++) {
        verge_worker *worker = join_unbound(stepped.service);
        assert_int_equal(step(worker), 0);
        assert_int_equal(info_of(stepped.service, timer).worker_id, verge_worker_id(worker));
        leave(worker);
        const uint64_t deadline_ns = now_of(&stepped) + HOUR + (uint64_t)i;
        assert_int_equal(verge_service_reset(stepped.service, timer, deadline_ns), 0);
        assert_int_equal(info_of(stepped.service, timer).deadline_ns, deadline_ns);
    }
    verge_worker *last = join_unbound(stepped.service);
    advance(&stepped, HOUR + TICK);
    assert_int_equal(step(last), 1);
    assert_int_equal(notes.last.timer, timer);
    assert_int_equal(verge_service_cancel(stepped.service, timer), -ENOENT);
    leave(last);
    stepped_end(&stepped);
}

/* The timers of a worker that leaves go to the remaining workers, by their load. Each keeps its deadline. */
static void seed004_a_worker_that_leaves_drops_nothing(void **state) {
    (void)state;
    enum { COUNT = 4000 };
    struct stepped stepped;
    static struct notes notes[COUNT];
    memset(notes, 0, sizeof(notes));
    stepped_begin(&stepped);
    verge_worker *going = join_bound(stepped.service);
    verge_worker *const staying[] = {join_unbound(stepped.service), join_unbound(stepped.service)};
    for (uint64_t i = 0; i < COUNT; i++) {
        (void)start_at(stepped.service, now_of(&stepped) + SECOND + i * MS, take_note, &notes[i]);
    }
    leave(going);
    for (int pass = 0; pass < 10; pass++) {
        (void)step(staying[0]);
        (void)step(staying[1]);
    }
    for (size_t w = 0; w < 2; w++) {
        assert_true(count_in(stepped.service, staying[w]) >= COUNT / 4);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        advance(&stepped, 2 * MS);
        (void)step(staying[i % 2]);
    }
    for (int pass = 0; pass < 50; pass++) {
        (void)step(staying[pass % 2]);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(notes[i].fired, 1);
        assert_int_equal(notes[i].last.scheduled_ns, notes[0].last.scheduled_ns + i * MS);
    }
    leave(staying[0]);
    leave(staying[1]);
    stepped_end(&stepped);
}

/* ---- not to be repeated: each comment describes a fault ---- */

/* State and generation were two atomics, and firing was a load and then a store: 28,595 of 400,000 timers were
 * cancelled and fired as well. Here another thread cancels at every single step of the pass that fires the timer. */
static struct {
    verge_service *service;
    verge_timer timer;
    uint64_t steps;
    uint64_t cancel_at;
    int verdict;
    bool has_cancelled;
} intruder;

static void intrude(const char *step_name) {
    (void)step_name;
    if (intruder.steps++ != intruder.cancel_at) {
        return;
    }
    void (*hook)(const char *) = verge__step_hook;
    verge_worker *bound = verge__exchange_bound(NULL); /* as another thread */
    verge__step_hook = NULL;
    intruder.verdict = verge_service_cancel(intruder.service, intruder.timer);
    intruder.has_cancelled = true;
    verge__step_hook = hook;
    (void)verge__exchange_bound(bound);
}

static void seed004_cancelled_or_fired_at_every_step(void **state) {
    (void)state;
    uint64_t verdicts_of_0 = 0;
    uint64_t verdicts_of_gone = 0;
    memset(&intruder, 0, sizeof(intruder));
    for (bool is_over = false; !is_over; intruder.cancel_at++) {
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        intruder.timer = start_at(stepped.service, now_of(&stepped) + TICK, take_note, &notes);
        intruder.service = stepped.service;
        intruder.steps = 0;
        intruder.has_cancelled = false;
        advance(&stepped, TICK); /* one pass takes the timer from the inbox, files it and runs it */
        verge__step_hook = intrude;
        (void)step(worker);
        verge__step_hook = NULL;
        is_over = !intruder.has_cancelled;
        if (intruder.has_cancelled && intruder.verdict == 0) {
            assert_int_equal(notes.fired, 0);
            verdicts_of_0++;
        } else {
            assert_true(is_over || intruder.verdict == VERGE_RUNNING || intruder.verdict == -ENOENT);
            assert_int_equal(notes.fired, 1);
            verdicts_of_gone++;
        }
        advance(&stepped, HOUR);
        assert_int_equal(step(worker), 0);
        assert_int_equal(verge_service_count(stepped.service, 0), 0);
        leave(worker);
        stepped_end(&stepped);
    }
    assert_true(verdicts_of_0 >= 3);
    assert_true(verdicts_of_gone >= 3);
}

/* An overdue timer of a worker that had left waited for a whole rotation. */
static void seed004_an_overdue_migrated_timer_runs_at_once(void **state) {
    (void)state;
    for (uint64_t overdue_ns = TICK; overdue_ns < 100 * HOUR; overdue_ns *= 2) {
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *going = join_bound(stepped.service);
        (void)start_at(stepped.service, now_of(&stepped) + TICK, take_note, &notes);
        advance(&stepped, TICK + overdue_ns);
        verge_worker *staying = join_unbound(stepped.service);
        leave(going);
        assert_int_equal(step(staying), 1);
        leave(staying);
        stepped_end(&stepped);
    }
}

/* A poll that had used up its budget cleared the "needs poll" flag. The timers that were left waited for the next
 * timer. */
static void seed004_a_batch_leaves_the_backlog_known_to_the_worker(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    verge_service_options options = stepped_options(&stepped);
    options.batch = 3;
    stepped_create(&stepped, &options);
    verge_worker *worker = join_unbound(stepped.service);
    for (int i = 0; i < 10; i++) {
        (void)start_at(stepped.service, now_of(&stepped) + TICK, take_note, &notes);
    }
    advance(&stepped, TICK);
    const int fired[] = {3, 3, 3, 1};
    for (size_t pass = 0; pass < COUNT_OF(fired); pass++) {
        assert_int_equal(verge_worker_next_wakeup(worker), 0); /* as a loop asks before it sleeps */
        assert_int_equal(verge_worker_begin_wait(worker), 0);
        verge_worker_end_wait(worker);
        assert_int_equal(step(worker), fired[pass]);
    }
    assert_int_equal(verge_worker_next_wakeup(worker), VERGE_NEVER);
    leave(worker);
    stepped_end(&stepped);
}

/* A tick counter lost the ticks that its thread slept through: time went at 48 % of its speed. */
static void seed004_published_time_is_the_clock_not_a_count(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    struct verge_test_random random = verge_test_random_from(verge_test_seed(8));
    for (uint64_t i = 1; i <= 1000; i++) {
        advance(&stepped, verge_test_below(&random, 100 * TICK));
        assert_int_equal(verge_service_tick(stepped.service), 0);
        assert_int_equal(atomic_load(&stepped.service->published_ns), now_of(&stepped));
        assert_int_equal(stats_of(stepped.service).metronome_ticks, i);
    }
    stepped_end(&stepped);
}

/* Shutdown handed orphans back to the dying worker. Here a worker leaves inside a callback, with another worker and
 * alone. */
static void leave_here(const verge_firing *firing) {
    leave(firing->worker);
    (void)start_at(firing->service, 0, take_note, firing->argument);
}

static void seed004_orphans_do_not_go_back_to_the_dying_worker(void **state) {
    (void)state;
    for (int has_other = 0; has_other < 2; has_other++) {
        struct stepped stepped;
        struct notes notes = {0};
        stepped_begin(&stepped);
        verge_worker *dying = join_unbound(stepped.service);
        verge_worker *other = has_other ? join_unbound(stepped.service) : NULL;
        verge_start_options options = noted(&notes, now_of(&stepped));
        options.worker_id = verge_worker_id(dying);
        options.callback = leave_here;
        (void)start_with(stepped.service, &options);
        options.callback = take_note;
        for (uint64_t i = 1; i <= 100; i++) {
            options.deadline_ns = now_of(&stepped) + i * SECOND;
            (void)start_with(stepped.service, &options);
        }
        const uint32_t dying_id = verge_worker_id(dying);
        assert_int_equal(verge_worker_run_once(dying, 0), -ESHUTDOWN);
        options.worker_id = dying_id; /* not even if the start asks for that worker */
        (void)start_with(stepped.service, &options);
        verge_worker *next = has_other ? other : join_unbound(stepped.service);
        advance(&stepped, 200 * SECOND);
        assert_int_equal(step(next), 102);
        assert_int_equal(notes.worker_id, verge_worker_id(next));
        leave(next);
        stepped_end(&stepped);
    }
}

/* Shutdown waited until the timer thread woke up by itself: here it sleeps for 18 minutes or more. */
static void seed004_shutdown_waits_out_no_sleeping_thread(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.resolution_ns = UINT64_C(1) << 40;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    verge_worker *worker = join_bound(service);
    while (!atomic_load(&service->metronome_is_on)) {
        (void)step(worker);
    }
    leave(worker);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* A mutex was taken on every tick of the "lock-free" path. Here the test holds all mutexes of the service. Meanwhile a
 * worker starts, cancels, resets and runs its timers, and another thread cancels and resets some. A thread that took a
 * mutex would wait for ever. */
static void seed004_no_lock_is_taken_where_timers_run(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    verge_worker *other = join_unbound(stepped.service);
    (void)verge_service_cancel(stepped.service, start_at(stepped.service, 2 * HOUR, do_nothing, NULL));
    assert_int_equal(pthread_mutex_lock(&stepped.service->lock), 0);
    assert_int_equal(pthread_mutex_lock(&stepped.service->table.lock), 0);
    for (uint32_t i = 0; i < 10000; i++) {
        const verge_timer cancelled = start_at(stepped.service, now_of(&stepped) + SECOND, do_nothing, NULL);
        const verge_timer moved = start_at(stepped.service, now_of(&stepped) + SECOND, take_note, &notes);
        assert_int_equal(verge_service_cancel(stepped.service, cancelled), 0);
        (void)step(other);
        verge_worker *bound = verge__exchange_bound(NULL); /* as another thread */
        assert_int_equal(verge_service_reset(stepped.service, moved, now_of(&stepped) + TICK), 0);
        (void)verge__exchange_bound(bound);
        assert_int_equal(verge_service_tick(stepped.service), 0);
        assert_int_equal(step(worker), 0);
        advance(&stepped, TICK);
        assert_int_equal(step(worker), 1);
        assert_int_equal(notes.fired, i + 1);
    }
    assert_int_equal(pthread_mutex_unlock(&stepped.service->table.lock), 0);
    assert_int_equal(pthread_mutex_unlock(&stepped.service->lock), 0);
    leave(other);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed004_each_worker_has_a_wheel_of_its_own),
        cmocka_unit_test(seed004_cancel_from_anywhere),
        cmocka_unit_test(seed004_a_handle_is_valid_across_workers),
        cmocka_unit_test(seed004_a_worker_that_leaves_drops_nothing),
        cmocka_unit_test(seed004_cancelled_or_fired_at_every_step),
        cmocka_unit_test(seed004_an_overdue_migrated_timer_runs_at_once),
        cmocka_unit_test(seed004_a_batch_leaves_the_backlog_known_to_the_worker),
        cmocka_unit_test(seed004_published_time_is_the_clock_not_a_count),
        cmocka_unit_test(seed004_orphans_do_not_go_back_to_the_dying_worker),
        cmocka_unit_test(seed004_shutdown_waits_out_no_sleeping_thread),
        cmocka_unit_test(seed004_no_lock_is_taken_where_timers_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
