/* SPDX-License-Identifier: MIT */
/* Workers that wait, in run_once and outside of it, are woken when they must return, and no wake-up is lost. */
#define _POSIX_C_SOURCE 200809L /* sem_init */
#include <semaphore.h>

#include "service/park.h"
#include "service/support.h"

/* ---- outside of run_once, stepped ---- */

struct bell {
    verge_worker *worker;
    uint32_t rung;
};

static void ring(void *context) {
    struct bell *bell = context;
    bell->rung++;
}

static void bell_join(struct stepped *stepped, struct bell *bell) {
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = true;
    options.wake = ring;
    options.wake_context = bell;
    assert_int_equal(verge_worker_join(stepped->service, &options, &bell->worker), 0);
}

static void begin_wait_tells_until_when(void **state) {
    (void)state;
    struct stepped stepped;
    struct bell bell = {0};
    stepped_begin(&stepped);
    bell_join(&stepped, &bell);
    assert_int_equal(verge_worker_begin_wait(bell.worker), VERGE_NEVER);
    verge_worker_end_wait(bell.worker);
    (void)start_at(stepped.service, now_of(&stepped) + 100 * TICK, do_nothing, NULL);
    assert_int_equal(verge_worker_begin_wait(bell.worker), 0); /* a timer is in the inbox */
    verge_worker_end_wait(bell.worker);
    (void)step(bell.worker);
    const uint64_t until_ns = verge_worker_begin_wait(bell.worker);
    assert_true(until_ns > now_of(&stepped) && until_ns <= now_of(&stepped) + 100 * TICK);
    verge_worker_end_wait(bell.worker);
    assert_int_equal(bell.rung, 0);
    leave(bell.worker);
    stepped_end(&stepped);
}

/* The worker is woken once: after that, it does not sleep any more. */
static void what_is_earlier_wakes_and_what_is_later_does_not(void **state) {
    (void)state;
    struct stepped stepped;
    struct bell bell = {0};
    stepped_begin(&stepped);
    bell_join(&stepped, &bell);
    const uint64_t soon_ns = now_of(&stepped) + TICK;
    const verge_timer timer = start_at(stepped.service, soon_ns, do_nothing, NULL);
    (void)step(bell.worker);
    assert_int_equal(verge_worker_begin_wait(bell.worker), soon_ns);
    (void)start_at(stepped.service, soon_ns + TICK, do_nothing, NULL);
    assert_int_equal(verge_service_reset(stepped.service, timer, soon_ns + 5), 0);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    assert_int_equal(bell.rung, 0);
    (void)start_at(stepped.service, soon_ns - 1, do_nothing, NULL);
    assert_int_equal(bell.rung, 1);
    (void)start_at(stepped.service, 0, do_nothing, NULL);
    assert_int_equal(bell.rung, 1);
    verge_worker_end_wait(bell.worker);
    (void)start_at(stepped.service, 0, do_nothing, NULL);
    verge_worker_interrupt(bell.worker);
    assert_int_equal(bell.rung, 1);
    leave(bell.worker);
    stepped_end(&stepped);
}

static void a_reset_to_earlier_wakes(void **state) {
    (void)state;
    struct stepped stepped;
    struct bell bell = {0};
    stepped_begin(&stepped);
    bell_join(&stepped, &bell);
    const verge_timer timer = start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL);
    (void)step(bell.worker);
    (void)verge_worker_begin_wait(bell.worker);
    assert_int_equal(verge_service_reset(stepped.service, timer, now_of(&stepped) + TICK), 0);
    assert_int_equal(bell.rung, 1);
    verge_worker_end_wait(bell.worker);
    advance(&stepped, TICK);
    assert_int_equal(step(bell.worker), 1);
    leave(bell.worker);
    stepped_end(&stepped);
}

static void orphans_and_interrupts_wake(void **state) {
    (void)state;
    struct stepped stepped;
    struct bell bell = {0};
    stepped_begin(&stepped);
    bell_join(&stepped, &bell);
    verge_worker *other = join_bound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL);
    assert_int_equal(verge_worker_begin_wait(bell.worker), VERGE_NEVER);
    leave(other);
    assert_int_equal(bell.rung, 1);
    verge_worker_end_wait(bell.worker);
    (void)step(bell.worker);
    assert_int_not_equal(verge_worker_begin_wait(bell.worker), 0);
    verge_worker_interrupt(bell.worker);
    assert_int_equal(bell.rung, 2);
    verge_worker_end_wait(bell.worker);
    verge_worker_interrupt(bell.worker);
    assert_int_equal(verge_worker_begin_wait(bell.worker), 0); /* the interrupt came before */
    verge_worker_end_wait(bell.worker);
    assert_int_not_equal(verge_worker_begin_wait(bell.worker), 0);
    verge_worker_end_wait(bell.worker);
    assert_int_equal(bell.rung, 2);
    leave(bell.worker);
    stepped_end(&stepped);
}

/* If many timers were cancelled, their owner is woken to take the records back, even if it could sleep for long. */
static void many_cancelled_timers_wake_their_owner(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    struct stepped stepped;
    struct bell bell = {0};
    stepped_begin(&stepped);
    bell_join(&stepped, &bell);
    static verge_timer timers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        timers[i] = start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL);
    }
    while (verge_worker_next_wakeup(bell.worker) == 0) {
        (void)step(bell.worker);
    }
    (void)verge_worker_begin_wait(bell.worker);
    assert_int_equal(verge_service_cancel(stepped.service, timers[0]), 0);
    assert_int_equal(bell.rung, 0); /* a single record is not worth a wake-up */
    for (size_t i = 1; i < COUNT; i++) {
        assert_int_equal(verge_service_cancel(stepped.service, timers[i]), 0);
    }
    assert_int_equal(bell.rung, 1);
    verge_worker_end_wait(bell.worker);
    leave(bell.worker);
    stepped_end(&stepped);
}

/* ---- outside of run_once, hammered ---- */

struct loop {
    verge_service *service;
    sem_t doorbell;
    _Atomic bool is_over;
    _Atomic bool has_ended; /* once this is true, nobody may post the doorbell */
    _Atomic uint32_t rings_after_the_end;
    _Atomic uint32_t starters;
};

static void ring_doorbell(void *context) {
    struct loop *loop = context;
    if (atomic_load(&loop->has_ended)) {
        (void)atomic_fetch_add(&loop->rings_after_the_end, 1);
    }
    (void)sem_post(&loop->doorbell);
}

/* The loop of a worker. It sleeps without a timeout, so a wake-up that is lost would stop it. */
static void *run_loop(void *argument) {
    struct loop *loop = argument;
    verge_worker_options options = {.struct_size = sizeof(options)};
    verge_worker *worker = NULL;
    options.wake = ring_doorbell;
    options.wake_context = loop;
    assert_int_equal(verge_worker_join(loop->service, &options, &worker), 0);
    while (!atomic_load(&loop->is_over)) {
        if (verge_worker_begin_wait(worker) != 0) {
            (void)sem_wait(&loop->doorbell); /* without a timeout: all timers here are due at once */
        }
        verge_worker_end_wait(worker);
        (void)verge_worker_run_once(worker, 0);
    }
    leave(worker);
    atomic_store(&loop->has_ended, true);
    return NULL;
}

static void set_flag(const verge_firing *firing) {
    atomic_store((_Atomic bool *)firing->argument, true);
}

/* Starts a timer for now, or resets one to now, and waits until it has run. If a wake-up is lost, this hangs. */
static void *start_and_wait(void *argument) {
    struct loop *loop = argument;
    const size_t rounds = test_scaled(20000);
    for (size_t i = 0; i < rounds; i++) {
        _Atomic bool has_fired = false;
        if (i % 2 == 0) {
            (void)start_at(loop->service, 0, set_flag, &has_fired);
        } else {
            const verge_timer timer = start_at(loop->service, VERGE_NEVER - 1, set_flag, &has_fired);
            assert_int_equal(verge_service_reset(loop->service, timer, 0), 0);
        }
        await(&has_fired);
    }
    (void)atomic_fetch_add(&loop->starters, 1);
    return NULL;
}

static void no_wake_is_lost(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    struct loop loop = {0};
    assert_int_equal(sem_init(&loop.doorbell, 0, 0), 0);
    assert_int_equal(verge_service_create(&options, &loop.service), 0);
    const pthread_t runner = thread_of(run_loop, &loop);
    const pthread_t starters[] = {thread_of(start_and_wait, &loop), thread_of(start_and_wait, &loop)};
    for (size_t i = 0; i < COUNT_OF(starters); i++) {
        join_thread(starters[i]);
    }
    atomic_store(&loop.is_over, true);
    (void)sem_post(&loop.doorbell);
    join_thread(runner);
    assert_int_equal(loop.rings_after_the_end, 0);
    assert_int_equal(verge_service_destroy(loop.service, NULL, NULL), 0);
    assert_int_equal(sem_destroy(&loop.doorbell), 0);
}

/* ---- in run_once ---- */

struct sleeper {
    verge_service *service;
    verge_worker *worker;
    _Atomic bool has_joined;
    _Atomic uint32_t returned;
    _Atomic bool is_over;
};

static void *sleep_in_run_once(void *argument) {
    struct sleeper *sleeper = argument;
    sleeper->worker = join_bound(sleeper->service);
    atomic_store(&sleeper->has_joined, true);
    while (!atomic_load(&sleeper->is_over)) {
        assert_true(verge_worker_run_once(sleeper->worker, VERGE_NEVER) >= 0);
        (void)atomic_fetch_add(&sleeper->returned, 1);
    }
    leave(sleeper->worker);
    return NULL;
}

static void run_once_is_woken_by_an_earlier_start_and_by_an_interrupt(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    struct sleeper sleeper = {0};
    assert_int_equal(verge_service_create(&options, &sleeper.service), 0);
    (void)start_at(sleeper.service, VERGE_NEVER - 1, do_nothing, NULL);
    const pthread_t thread = thread_of(sleep_in_run_once, &sleeper);
    await(&sleeper.has_joined);
    const size_t rounds = test_scaled(5000);
    for (size_t i = 0; i < rounds; i++) {
        _Atomic bool has_fired = false;
        (void)start_at(sleeper.service, 0, set_flag, &has_fired);
        await(&has_fired);
        const uint32_t returned = atomic_load(&sleeper.returned);
        verge_worker_interrupt(sleeper.worker);
        await_count(&sleeper.returned, returned + 1);
    }
    atomic_store(&sleeper.is_over, true);
    verge_worker_interrupt(sleeper.worker);
    join_thread(thread);
    assert_int_equal(verge_service_destroy(sleeper.service, NULL, NULL), 0);
}

/* What the two hooks below use. They are called instead of a sleep. */
static struct {
    struct stepped stepped;
    verge_worker *worker;
    uint32_t waits;
} hooked;

static bool let_time_pass(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)word;
    (void)expected;
    hooked.waits++;
    verge_manual_clock_set(&hooked.stepped.clock, until_ns);
    return true;
}

static bool interrupt_the_first_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    if (hooked.waits > 0) {
        return let_time_pass(word, expected, until_ns);
    }
    hooked.waits++;
    verge_worker_interrupt(hooked.worker);
    return true;
}

static void an_interrupt_is_for_one_wait(void **state) {
    (void)state;
    struct notes notes = {0};
    memset(&hooked, 0, sizeof(hooked));
    stepped_begin(&hooked.stepped);
    hooked.worker = join_bound(hooked.stepped.service);
    (void)start_at(hooked.stepped.service, now_of(&hooked.stepped) + TICK, take_note, &notes);
    verge__wait_hook = interrupt_the_first_wait;
    assert_int_equal(verge_worker_run_once(hooked.worker, VERGE_NEVER), 0);
    assert_int_equal(hooked.waits, 1);
    assert_int_equal(verge_worker_run_once(hooked.worker, VERGE_NEVER), 1);
    assert_int_equal(hooked.waits, 2);
    assert_int_equal(stats_of(hooked.stepped.service).wakeups, 2);
    verge__wait_hook = NULL;
    leave(hooked.worker);
    stepped_end(&hooked.stepped);
}

static void interrupt_itself(const verge_firing *firing) {
    verge_worker_interrupt(firing->worker);
}

static void assert_next_wait_ends_at_once(void) {
    assert_int_equal(verge_worker_begin_wait(hooked.worker), 0);
    verge_worker_end_wait(hooked.worker);
    assert_int_not_equal(verge_worker_begin_wait(hooked.worker), 0); /* but only that one */
    verge_worker_end_wait(hooked.worker);
}

/* "If the worker is not waiting, its next wait ends at once": calls that do not wait do not use the interrupt up. */
static void an_interrupt_stays_until_the_next_wait(void **state) {
    (void)state;
    memset(&hooked, 0, sizeof(hooked));
    stepped_begin(&hooked.stepped);
    verge_service *service = hooked.stepped.service;
    hooked.worker = join_bound(service);
    verge__wait_hook = let_time_pass;
    verge_worker_interrupt(hooked.worker);
    assert_int_equal(step(hooked.worker), 0);
    assert_int_equal(verge_worker_run_once(hooked.worker, now_of(&hooked.stepped)), 0); /* a time that has come */
    assert_next_wait_ends_at_once();
    verge_worker_interrupt(hooked.worker);
    (void)start_at(service, 0, do_nothing, NULL);
    assert_int_equal(verge_worker_run_once(hooked.worker, VERGE_NEVER), 1); /* no wait: a timer was due */
    assert_next_wait_ends_at_once();
    (void)start_at(service, now_of(&hooked.stepped) + TICK, interrupt_itself, NULL);
    assert_int_equal(verge_worker_run_once(hooked.worker, VERGE_NEVER), 1); /* after the wait */
    assert_next_wait_ends_at_once();
    verge_worker_interrupt(hooked.worker);
    (void)start_at(service, now_of(&hooked.stepped) + TICK, do_nothing, NULL);
    assert_int_equal(verge_service_run_to_next(service, VERGE_NEVER), 1);
    assert_next_wait_ends_at_once();
    verge_worker_interrupt(hooked.worker);
    (void)start_at(service, now_of(&hooked.stepped) + 3 * TICK, do_nothing, NULL);
    assert_int_equal(verge_service_wait_empty(service, VERGE_NEVER), 0);
    assert_next_wait_ends_at_once();
    verge__wait_hook = NULL;
    leave(hooked.worker);
    stepped_end(&hooked.stepped);
}

static void run_once_waits_until_it_was_told_to(void **state) {
    (void)state;
    struct notes notes = {0};
    memset(&hooked, 0, sizeof(hooked));
    stepped_begin(&hooked.stepped);
    hooked.worker = join_bound(hooked.stepped.service);
    verge__wait_hook = let_time_pass;
    const uint64_t until_ns = now_of(&hooked.stepped) + 3 * TICK;
    assert_int_equal(verge_worker_run_once(hooked.worker, until_ns), 0);
    assert_int_equal(now_of(&hooked.stepped), until_ns);
    assert_int_equal(verge_worker_run_once(hooked.worker, until_ns), 0); /* that time has come: it does not wait */
    assert_int_equal(hooked.waits, 1);
    (void)start_at(hooked.stepped.service, until_ns + TICK, take_note, &notes);
    assert_int_equal(verge_worker_run_once(hooked.worker, until_ns + HOUR), 1); /* waits only until the timer is due */
    assert_int_equal(notes.last.actual_ns, until_ns + TICK);
    assert_int_equal(hooked.waits, 2);
    verge_worker_interrupt(hooked.worker);
    assert_int_equal(verge_worker_run_once(hooked.worker, VERGE_NEVER), 0); /* the interrupt came before */
    assert_int_equal(hooked.waits, 2);
    verge__wait_hook = NULL;
    leave(hooked.worker);
    stepped_end(&hooked.stepped);
}

/* Moves the manual clock, for which the kernel cannot wait. */
static void *move_clock(void *argument) {
    struct stepped *stepped = argument;
    advance(stepped, HOUR + TICK);
    return NULL;
}

static void run_once_waits_on_any_clock(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped) + HOUR, take_note, &notes);
    const pthread_t thread = thread_of(move_clock, &stepped);
    while (notes.fired == 0) {
        (void)verge_worker_run_once(worker, VERGE_NEVER);
    }
    join_thread(thread);
    leave(worker);
    stepped_end(&stepped);
}

/* The kernel itself waits for the time of day: a sleeping worker does not wake up to look at the clock. */
static void run_once_waits_for_the_time_of_day(void **state) {
    (void)state;
    verge_service_options options;
    verge_service *service;
    struct notes notes = {0};
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    options.clock = verge_clock_realtime();
    assert_int_equal(verge_service_create(&options, &service), 0);
    verge_worker *worker = join_bound(service);
    const uint64_t due_ns = verge_service_exact_now(service) + 300 * UINT64_C(1000000);
    (void)start_at(service, due_ns, take_note, &notes);
    int passes = 0;
    while (notes.fired == 0) {
        (void)verge_worker_run_once(worker, VERGE_NEVER);
        passes++;
    }
    assert_true(verge_service_exact_now(service) >= due_ns);
    assert_true(passes < 8); /* if the worker slept for 20 ms at a time, there would be 15 passes */
    leave(worker);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_wait_tells_until_when),
        cmocka_unit_test(what_is_earlier_wakes_and_what_is_later_does_not),
        cmocka_unit_test(a_reset_to_earlier_wakes),
        cmocka_unit_test(orphans_and_interrupts_wake),
        cmocka_unit_test(many_cancelled_timers_wake_their_owner),
        cmocka_unit_test(no_wake_is_lost),
        cmocka_unit_test(run_once_is_woken_by_an_earlier_start_and_by_an_interrupt),
        cmocka_unit_test(an_interrupt_is_for_one_wait),
        cmocka_unit_test(an_interrupt_stays_until_the_next_wait),
        cmocka_unit_test(run_once_waits_until_it_was_told_to),
        cmocka_unit_test(run_once_waits_on_any_clock),
        cmocka_unit_test(run_once_waits_for_the_time_of_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
