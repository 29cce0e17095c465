/* SPDX-License-Identifier: MIT */
/*
 * The metronome is a convenience: no promise of the service depends on it. A hall is a service whose clock can hold up
 * every thread but the test's own. The only such thread is the metronome's.
 */
#include "base/futex.h"
#include "service/park.h"
#include "service/service_internal.h"
#include "service/support.h"

struct hall {
    verge_manual_clock clock;
    verge_service *service;
    verge_worker *worker;
    _Atomic bool is_stalled;
    _Atomic bool is_held_up; /* the metronome's thread is held up in the clock's function */
};

static _Thread_local bool is_known;

static uint64_t read_clock(void *context) {
    struct hall *hall = context;
    while (!is_known && atomic_load(&hall->is_stalled)) {
        atomic_store(&hall->is_held_up, true);
        (void)sched_yield();
    }
    const verge_clock clock = verge_clock_manual(&hall->clock);
    return clock.now_ns(clock.context);
}

static void hall_begin(struct hall *hall, bool has_metronome) {
    memset(hall, 0, sizeof(*hall));
    is_known = true;
    verge_manual_clock_set(&hall->clock, HOUR / TICK * TICK);
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = has_metronome;
    options.clock = (verge_clock){.now_ns = read_clock, .context = hall};
    assert_int_equal(verge_service_create(&options, &hall->service), 0);
    hall->worker = join_bound(hall->service);
}

static void hall_end(struct hall *hall) {
    atomic_store(&hall->is_stalled, false);
    leave(hall->worker);
    assert_int_equal(verge_service_destroy(hall->service, NULL, NULL), 0);
}

/* Keeps a worker busy until the metronome publishes. */
static void wake_metronome(struct hall *hall) {
    while (!atomic_load(&hall->service->metronome_is_on)) {
        (void)step(hall->worker);
    }
}

/* Stops the thread of the metronome: it publishes nothing from now on, though it is on. */
static void stall(struct hall *hall) {
    do {
        atomic_store(&hall->is_stalled, false);
        wake_metronome(hall);
        atomic_store(&hall->is_held_up, false);
        atomic_store(&hall->is_stalled, true);
        while (!atomic_load(&hall->is_held_up)) {
            (void)step(hall->worker);
        }
    } while (!atomic_load(&hall->service->metronome_is_on)); /* it had gone to rest before it was stalled */
}

/* ---- stalled, ended, or not there ---- */

/* The program makes the worker's passes itself. Then each pass reads the clock, whatever the metronome has
 * published. */
static void fire_some(struct hall *hall) {
    for (uint64_t i = 0; i < 200; i++) {
        struct notes notes = {0};
        const uint64_t deadline_ns = verge_service_exact_now(hall->service) + (1 + i % 7) * TICK;
        (void)start_at(hall->service, deadline_ns, take_note, &notes);
        for (uint64_t pass = 0; pass < i % 20; pass++) {
            assert_int_equal(step(hall->worker), 0); /* the timer is never early */
        }
        verge_manual_clock_set(&hall->clock, deadline_ns);
        assert_int_equal(step(hall->worker), 1);
        assert_int_equal(notes.last.actual_ns, deadline_ns);
    }
}

static void with_a_stalled_metronome_timers_run_in_the_next_pass(void **state) {
    (void)state;
    struct hall hall;
    hall_begin(&hall, true);
    wake_metronome(&hall);
    fire_some(&hall);
    stall(&hall);
    fire_some(&hall);
    hall_end(&hall);
}

static void without_a_metronome_timers_run_in_the_next_pass(void **state) {
    (void)state;
    struct hall hall;
    hall_begin(&hall, false);
    struct notes notes = {0};
    for (uint32_t i = 1; i < 1000; i++) {
        (void)start_at(hall.service, verge_service_exact_now(hall.service) + TICK, take_note, &notes);
        assert_int_equal(step(hall.worker), 0);
        verge_manual_clock_advance(&hall.clock, TICK);
        assert_int_equal(step(hall.worker), 1);
    }
    fire_some(&hall);
    hall_end(&hall);
}

/* A sleeping worker wakes up by its own timeout. */
static void with_a_stalled_metronome_sleepers_wake_up(void **state) {
    (void)state;
    struct hall hall;
    struct notes notes = {0};
    hall_begin(&hall, true);
    stall(&hall);
    for (uint32_t i = 1; i <= 5; i++) {
        const uint64_t deadline_ns = verge_service_exact_now(hall.service) + TICK;
        (void)start_at(hall.service, deadline_ns, take_note, &notes);
        (void)verge_worker_run_once(hall.worker, deadline_ns); /* the worker sleeps, and the clock stands still */
        verge_manual_clock_set(&hall.clock, deadline_ns);
        assert_int_equal(verge_worker_run_once(hall.worker, deadline_ns + 1), 1);
        assert_int_equal(notes.fired, i);
    }
    hall_end(&hall);
}

/* ---- what the metronome publishes ---- */

/* A thousand seconds pass between two ticks of the metronome. It publishes the time of the clock, not a count of
 * ticks. */
static void what_is_published_is_the_clock(void **state) {
    (void)state;
    struct hall hall;
    hall_begin(&hall, true);
    for (int round = 0; round < 10; round++) {
        stall(&hall);
        const uint64_t before_ns = verge_service_exact_now(hall.service);
        verge_manual_clock_advance(&hall.clock, 1000 * SECOND);
        assert_true(verge_service_now(hall.service) <= before_ns); /* was published before the clock moved */
        atomic_store(&hall.is_stalled, false);
        while (verge_service_now(hall.service) != before_ns + 1000 * SECOND) {
            (void)step(hall.worker);
        }
        assert_true(stats_of(hall.service).metronome_ticks < 1000 * SECOND / TICK);
    }
    hall_end(&hall);
}

static void without_one_now_is_the_clock(void **state) {
    (void)state;
    struct hall hall;
    hall_begin(&hall, false);
    for (int i = 0; i < 100; i++) {
        verge_manual_clock_advance(&hall.clock, 1);
        assert_int_equal(verge_service_now(hall.service), verge_service_exact_now(hall.service));
        (void)verge_service_tick(hall.service);
        assert_int_equal(verge_service_now(hall.service), verge_service_exact_now(hall.service));
    }
    assert_int_equal(stats_of(hall.service).metronome_ticks, 100);
    hall_end(&hall);
}

struct busy {
    _Atomic uint32_t fired;
    _Atomic bool is_to_end;
};

static void start_again(const verge_firing *firing) {
    struct busy *busy = firing->argument;
    (void)atomic_fetch_add(&busy->fired, 1);
    if (!atomic_load(&busy->is_to_end)) {
        (void)start_at(firing->service, 0, start_again, busy);
    }
}

/* The purpose of the metronome: the service's own threads read the clock less often. A pass runs one callback here.
 * While the metronome rests, as the worker got no processor for long, each pass reads the clock. */
static void while_it_ticks_busy_threads_read_the_clock_less(void **state) {
    (void)state;
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.batch = 1;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    struct busy busy = {0};
    (void)start_at(service, 0, start_again, &busy);
    uint64_t reads;
    uint32_t passes;
    do {
        const uint64_t reads_before = stats_of(service).clock_reads;
        const uint32_t fired_before = atomic_load(&busy.fired);
        await_count(&busy.fired, fired_before + 1000);
        passes = atomic_load(&busy.fired) - fired_before;
        reads = stats_of(service).clock_reads - reads_before;
    } while (reads >= passes / 2);
    atomic_store(&busy.is_to_end, true);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- when the metronome rests ---- */

/* Where each thread has slept last, and until when. */
static struct {
    _Atomic uint32_t *_Atomic word;
    _Atomic uint64_t until_ns;
} sleeps[16];

static bool note_sleep(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    static _Atomic uint32_t thread_count;
    static _Thread_local uint32_t number; /* the number of this thread, from 1 on */
    (void)expected;
    number = number != 0 ? number : atomic_fetch_add(&thread_count, 1) + 1;
    if (number <= COUNT_OF(sleeps)) {
        atomic_store(&sleeps[number - 1].until_ns, until_ns);
        atomic_store(&sleeps[number - 1].word, word);
    }
    return false;
}

static bool sleeps_for_ever(const _Atomic uint32_t *word) {
    for (size_t i = 0; i < COUNT_OF(sleeps); i++) {
        if (atomic_load(&sleeps[i].word) == word && atomic_load(&sleeps[i].until_ns) == VERGE_NEVER) {
            return true;
        }
    }
    return false;
}

static bool is_any_awake(const verge_service *service, uint32_t worker_count) {
    for (uint32_t id = 1; id <= worker_count; id++) {
        if (atomic_load(&verge__service_seat(service, id)->wait_until_ns) <= VERGE__WAKING) {
            return true;
        }
    }
    return false;
}

/* Waits until the metronome rests. While it is on, it looks whether a worker still wants it; sleeping workers do
 * not. */
static void await_rest(const verge_service *service, uint32_t worker_count) {
    while (is_any_awake(service, worker_count) || atomic_load(&service->metronome_is_wanted) ||
           atomic_load(&service->metronome_is_on) || !sleeps_for_ever(&service->metronome_signal)) {
        (void)sched_yield();
    }
}

static void while_all_workers_sleep_it_does_not_tick(void **state) {
    (void)state;
    for (uint64_t stuck_after_ns = 0; stuck_after_ns <= MS; stuck_after_ns += MS) {
        verge_service_options options;
        assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
        options.thread_count = 2;
        options.resolution_ns = 100000;
        options.stuck_after_ns = stuck_after_ns;
        verge_service *service = NULL;
        memset(sleeps, 0, sizeof(sleeps)); /* forget the threads of the last round, which have ended */
        verge__wait_hook = note_sleep;
        assert_int_equal(verge_service_create(&options, &service), 0);
        struct notes notes = {0};
        for (int i = 0; i < 1000; i++) {
            (void)start_at(service, VERGE_NEVER - 1, do_nothing, NULL);
        }
        (void)start_at(service, 0, take_note, &notes);
        await_count(&notes.fired, 1);
        await_rest(service, options.thread_count);     /* if it never rests, the test does not end */
        (void)start_at(service, 0, take_note, &notes); /* while it rests, timers still run */
        await_count(&notes.fired, 2);
        assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
        verge__wait_hook = NULL;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_stalled_metronome_timers_run_in_the_next_pass),
        cmocka_unit_test(without_a_metronome_timers_run_in_the_next_pass),
        cmocka_unit_test(with_a_stalled_metronome_sleepers_wake_up),
        cmocka_unit_test(what_is_published_is_the_clock),
        cmocka_unit_test(without_one_now_is_the_clock),
        cmocka_unit_test(while_it_ticks_busy_threads_read_the_clock_less),
        cmocka_unit_test(while_all_workers_sleep_it_does_not_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
