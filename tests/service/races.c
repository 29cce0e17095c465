/* SPDX-License-Identifier: MIT */
/*
 * Real threads that race, for ThreadSanitizer and for the promises: workers run timers while other threads start,
 * cancel and reset them. Either side may win; the tests assert that exactly one does.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "verge/service.h"

#define MS UINT64_C(1000000)

/* VERGE_TEST_RACES: how many rounds of each race. */
static uint64_t rounds(uint64_t fallback) {
    const char *text = getenv("VERGE_TEST_RACES");
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : fallback;
}

static verge_service *service_with_threads(uint32_t thread_count) {
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = thread_count;
    options.precision_ns = 1024; /* instead of a millisecond, so that each race is short */
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    return service;
}

static void wait_until_empty(verge_service *service) {
    while (verge_service_count(service, 0) != 0) {
        (void)sched_yield();
    }
}

/* ---- cancel against fire ---- */

enum { BATCH = 512 };

static void count(const verge_firing *firing) {
    assert_true(firing->actual_ns >= firing->scheduled_ns);
    (void)atomic_fetch_add((_Atomic uint32_t *)firing->argument, 1);
}

/* Checks what became of a batch of timers that were cancelled while they came due. */
static void judge(const int *verdicts, _Atomic uint32_t *fired) {
    for (size_t i = 0; i < BATCH; i++) {
        uint32_t times = atomic_load(&fired[i]);
        switch (verdicts[i]) {
        case 0:
            assert_int_equal(times, 0);
            break;
        case VERGE_RUNNING:
        case -ENOENT:
            assert_int_equal(times, 1);
            break;
        default:
            fail_msg("verdict %d", verdicts[i]);
        }
    }
}

static void cancelled_or_fired_never_both(void **state) {
    (void)state;
    verge_service *service = service_with_threads(1);
    static _Atomic uint32_t fired[BATCH];
    uint64_t cancelled = 0;
    const uint64_t wanted = rounds(120000) / BATCH + 1;
    /* Until each side has won at least once. */
    for (uint64_t round = 0; round < wanted || cancelled == 0 || cancelled == round * BATCH; round++) {
        verge_timer timers[BATCH];
        int verdicts[BATCH];
        uint64_t at_ns = verge_service_exact_now(service) + 40000;
        for (size_t i = 0; i < BATCH; i++) {
            atomic_store(&fired[i], 0);
            assert_int_equal(verge_service_start(service, at_ns + i * 100, count, &fired[i], &timers[i]), 0);
        }
        while (verge_service_exact_now(service) < at_ns) {
        }
        for (size_t i = BATCH; i-- > 0;) { /* the worker begins with the first timer, so they meet */
            verdicts[i] = verge_service_cancel_wait(service, timers[i]);
            cancelled += verdicts[i] == 0;
        }
        wait_until_empty(service);
        judge(verdicts, fired);
    }
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- reset against fire ---- */

struct reset_race {
    _Atomic uint32_t fired;
    _Atomic uint64_t last_scheduled_ns;
};

static void note(const verge_firing *firing) {
    struct reset_race *race = firing->argument;
    atomic_store(&race->last_scheduled_ns, firing->scheduled_ns);
    (void)atomic_fetch_add(&race->fired, 1);
}

static void reset_or_fired_never_the_old_deadline(void **state) {
    (void)state;
    verge_service *service = service_with_threads(2);
    static struct reset_race races[BATCH];
    for (uint64_t round = 0; round < rounds(60000) / BATCH + 1; round++) {
        verge_timer timers[BATCH];
        int verdicts[BATCH];
        uint64_t at_ns = verge_service_exact_now(service) + 40000;
        uint64_t later_ns = at_ns + 300000;
        for (size_t i = 0; i < BATCH; i++) {
            atomic_store(&races[i].fired, 0);
            assert_int_equal(verge_service_start(service, at_ns + i * 100, note, &races[i], &timers[i]), 0);
        }
        while (verge_service_exact_now(service) < at_ns) {
        }
        for (size_t i = BATCH; i-- > 0;) {
            verdicts[i] = verge_service_reset(service, timers[i], later_ns + i);
        }
        wait_until_empty(service);
        for (size_t i = 0; i < BATCH; i++) {
            uint32_t times = atomic_load(&races[i].fired);
            assert_int_equal(times, verdicts[i] == VERGE_RUNNING ? 2 : 1);
            if (verdicts[i] >= 0) {
                assert_int_equal(atomic_load(&races[i].last_scheduled_ns), later_ns + i);
            } else {
                assert_int_equal(verdicts[i], -ENOENT);
            }
        }
    }
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- workers come and go under load ---- */

struct storm {
    verge_service *service;
    _Atomic bool is_over;
    _Atomic uint64_t fired;
    uint64_t started;
    uint64_t cancelled;
};

static void count_storm(const verge_firing *firing) {
    struct storm *storm = firing->argument;
    (void)atomic_fetch_add(&storm->fired, 1);
}

static void *start_and_cancel(void *argument) {
    struct storm *storm = argument;
    uint64_t random = 88172645463325252U ^ (uintptr_t)&random;
    verge_timer timers[64] = {0};
    for (uint64_t i = 0; i < rounds(60000); i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t place = random % 64;
        int verdict = timers[place] == 0 ? -ENOENT : verge_service_cancel(storm->service, timers[place]);
        storm->cancelled += verdict == 0;
        uint64_t delay_ns = (random >> 8) % (2 * MS);
        if (verge_service_start_after(storm->service, delay_ns, count_storm, storm, &timers[place]) == 0) {
            storm->started++;
        }
        verge_timer *other = &timers[(place + 1) % 64];
        if ((random >> 40) % 4 == 0 &&
            verge_service_reset(storm->service, *other, verge_service_exact_now(storm->service) + delay_ns / 2) ==
                VERGE_RUNNING) {
            storm->started++; /* it runs once more: its handle is forgotten now, so nobody cancels it */
            *other = 0;
        }
    }
    return NULL;
}

/* A thread that is a worker now and then. */
static void *join_and_leave(void *argument) {
    struct storm *storm = argument;
    for (unsigned i = 0; !atomic_load(&storm->is_over); i++) {
        verge_worker *worker = NULL;
        assert_int_equal(verge_worker_join(storm->service, NULL, &worker), 0);
        for (unsigned pass = 0; pass < 1 + i % 50; pass++) {
            (void)verge_worker_run_once(worker, verge_service_exact_now(storm->service) + MS / 10);
        }
        if (i % 3 == 0) {
            assert_int_equal(verge_service_start_after(storm->service, 0, count_storm, storm, NULL), 0);
            storm->started++;
        }
        assert_int_equal(verge_worker_leave(worker), 0);
        (void)sched_yield();
    }
    return NULL;
}

static void nothing_is_lost_while_workers_come_and_go(void **state) {
    (void)state;
    enum { STARTERS = 2, JOINERS = 2 };
    verge_service *service = service_with_threads(0);
    struct storm storms[STARTERS + JOINERS];
    pthread_t threads[STARTERS + JOINERS];
    for (int i = 0; i < STARTERS + JOINERS; i++) {
        storms[i].service = service;
        storms[i].started = storms[i].cancelled = 0;
        atomic_init(&storms[i].is_over, false);
        atomic_init(&storms[i].fired, 0);
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < STARTERS ? start_and_cancel : join_and_leave, &storms[i]), 0);
    }
    for (int i = 0; i < STARTERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = STARTERS; i < STARTERS + JOINERS; i++) {
        atomic_store(&storms[i].is_over, true);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    /* All workers have left. The pending timers wait for the next one. */
    verge_worker *worker = NULL;
    assert_int_equal(verge_worker_join(service, NULL, &worker), 0);
    while (verge_service_count(service, 0) != 0) {
        assert_true(verge_worker_run_once(worker, verge_service_exact_now(service) + MS) >= 0);
    }
    for (int i = 0; i < STARTERS + JOINERS; i++) {
        assert_int_equal(storms[i].started, storms[i].cancelled + atomic_load(&storms[i].fired));
    }
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- destroy under load ---- */

static void count_pending(void *context, const verge_pending *pending) {
    assert_true(pending->callback == count_storm);
    (*(uint64_t *)context)++;
}

static void destroy_ends_what_runs_and_hands_back_the_rest(void **state) {
    (void)state;
    for (uint64_t round = 0; round < rounds(60000) / 2000 + 1; round++) {
        struct storm storm = {.service = service_with_threads(2)};
        verge_timer timer = 0;
        for (uint64_t i = 0; i < 2000; i++) {
            assert_int_equal(verge_service_start_after(storm.service, i * 500, count_storm, &storm, &timer), 0);
        }
        uint64_t handed_back = 0;
        assert_int_equal(verge_service_destroy(storm.service, count_pending, &handed_back), 0);
        assert_int_equal(handed_back + atomic_load(&storm.fired), 2000);
    }
}

/* ---- verge_service_get and reset against a start in the same record ---- */

/* What a timer was started with. The timer's argument points to its life. */
struct life {
    _Atomic verge_timer timer; /* 0 until it has started */
    uint64_t deadline_ns;
};

struct lives {
    verge_service *service;
    struct life *life; /* no element is used twice, as the other thread may look at it late */
    _Atomic verge_timer latest;
    _Atomic bool is_over;
    uint64_t reset_ns; /* the deadline that the other thread sets: later than all others */
};

static void never(const verge_firing *firing) {
    (void)firing;
    fail_msg("a timer of an hour ran");
}

/* All that verge_service_get returns must belong to one life. The argument points to the life. The handle must be the
 * life's own, and the deadline the life's own or the one to which this thread resets. */
static void *look_and_reset(void *argument) {
    struct lives *lives = argument;
    while (!atomic_load_explicit(&lives->is_over, memory_order_relaxed)) {
        verge_timer timer = atomic_load_explicit(&lives->latest, memory_order_acquire);
        verge_timer_info info;
        if (timer == 0 || verge_service_get(lives->service, timer, &info) != 0) {
            continue;
        }
        const struct life *life = info.argument;
        verge_timer other = atomic_load_explicit(&life->timer, memory_order_acquire);
        assert_true(other == timer);
        assert_true(info.deadline_ns == life->deadline_ns || info.deadline_ns == lives->reset_ns);
        (void)verge_service_reset(lives->service, timer, lives->reset_ns);
    }
    return NULL;
}

/* The owner cancels and starts in the same record, over and over. */
static void a_record_shows_one_life_at_a_time(void **state) {
    (void)state;
    static struct lives lives;
    lives.service = service_with_threads(0);
    verge_worker *worker = NULL;
    assert_int_equal(verge_worker_join(lives.service, NULL, &worker), 0);
    uint64_t first_ns = verge_service_exact_now(lives.service) + 3600 * (1000 * MS);
    lives.reset_ns = first_ns + 3600 * (1000 * MS);
    atomic_store(&lives.is_over, false);
    atomic_store(&lives.latest, 0);
    uint64_t life_count = rounds(600000);
    lives.life = calloc(life_count, sizeof(*lives.life));
    assert_non_null(lives.life);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look_and_reset, &lives), 0);
    for (uint64_t i = 0; i < life_count; i++) {
        struct life *life = &lives.life[i];
        life->deadline_ns = first_ns + i;
        verge_timer timer = 0;
        assert_int_equal(verge_service_start(lives.service, life->deadline_ns, never, life, &timer), 0);
        atomic_store_explicit(&life->timer, timer, memory_order_release);
        atomic_store_explicit(&lives.latest, timer, memory_order_release);
        if (i % 1024 == 0) {
            (void)sched_yield(); /* lets the other thread run, even on a single processor */
        }
        assert_int_equal(verge_service_cancel(lives.service, timer), 0);
    }
    atomic_store(&lives.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(verge_service_count(lives.service, 0), 0);
    assert_int_equal(verge_worker_leave(worker), 0);
    assert_int_equal(verge_service_destroy(lives.service, NULL, NULL), 0);
    free(lives.life);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_or_fired_never_both),
        cmocka_unit_test(a_record_shows_one_life_at_a_time),
        cmocka_unit_test(reset_or_fired_never_the_old_deadline),
        cmocka_unit_test(nothing_is_lost_while_workers_come_and_go),
        cmocka_unit_test(destroy_ends_what_runs_and_hands_back_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
