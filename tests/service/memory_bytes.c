/* SPDX-License-Identifier: MIT */
/*
 * G7 across workers: memory follows the pending timers, not the rate at which they are cancelled, reset and started.
 *
 * A pending timer needs a record of 64 bytes, which has its node in it. Independent of the load there is the wheel of a
 * worker with all its levels (measured here as a service with one worker and no timers), and some slack: the last
 * segment of records, which is not full (2 MiB), free records that a worker keeps (fewer than 512), and new ones, or
 * cancelled ones in its inbox (1,024).
 */
#include "service/service_internal.h"
#include "service/support.h"

#define BYTES_A_TIMER UINT64_C(64)
#define SLACK_BYTES ((UINT64_C(2) << 20) + BYTES_A_TIMER * (512 + 1024))

/* Asserts that the service uses less than twice what it and its pending timers need, plus the slack. */
static void assert_bounded(const verge_service *service, uint64_t empty_bytes, uint64_t pending) {
    const uint64_t needed = pending * BYTES_A_TIMER + empty_bytes;
    const uint64_t bytes = stats_of(service).bytes;
    if (bytes >= 2 * needed + SLACK_BYTES) {
        fail_msg("%llu bytes for %llu timers", (unsigned long long)bytes, (unsigned long long)pending);
    }
}

/* ---- cancelled by others ---- */

enum { WINDOW = 100000 };

static verge_timer window[WINDOW];

/* Notes that the worker is woken. The thread that wakes it steps it later. */
static void note_wake(void *context) {
    *(bool *)context = true;
}

/* If the worker was woken, makes passes until it may sleep again. */
static void step_if_woken(verge_worker *worker, bool *is_woken) {
    if (!*is_woken) {
        return;
    }
    *is_woken = false;
    do {
        verge_worker_end_wait(worker);
        (void)step(worker);
    } while (verge_worker_begin_wait(worker) == 0);
}

/* WINDOW timers of 30 s are pending, as in a server with a timer for each request. Each is cancelled long before it is
 * due. */
static void remote_cancels_leave_no_memory_behind(void **state) {
    (void)state;
    struct stepped stepped;
    bool is_woken = true;
    stepped_begin(&stepped);
    verge_worker_options options = {.struct_size = sizeof(options)};
    verge_worker *worker = NULL;
    options.unbound = true;
    options.wake = note_wake;
    options.wake_context = &is_woken;
    assert_int_equal(verge_worker_join(stepped.service, &options, &worker), 0);
    const uint64_t empty_bytes = stats_of(stepped.service).bytes;
    const size_t cancels = test_scaled(2000000);
    for (size_t i = 0; i < WINDOW + cancels; i++) {
        if (i >= WINDOW) {
            assert_int_equal(verge_service_cancel(stepped.service, window[i % WINDOW]), 0);
        }
        window[i % WINDOW] = start_at(stepped.service, now_of(&stepped) + 30 * SECOND, do_nothing, NULL);
        step_if_woken(worker, &is_woken);
        if (i % 1000 == 0) {
            advance(&stepped, 100000); /* 10 million starts a second: none of the timers comes due */
            assert_bounded(stepped.service, empty_bytes, i < WINDOW ? i : WINDOW);
        }
    }
    assert_int_equal(verge_service_count(stepped.service, 0), WINDOW);
    verge_worker_end_wait(worker);
    leave(worker);
    stepped_end(&stepped);
}

/* The same with a worker on a thread. The thread may get the processor late, so the test waits for it now and then. */
static void remote_cancels_leave_no_memory_behind_a_thread(void **state) {
    (void)state;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    const uint64_t empty_bytes = stats_of(service).bytes;
    const size_t cancels = test_scaled(2000000);
    for (size_t i = 0; i < WINDOW + cancels; i++) {
        if (i >= WINDOW) {
            assert_int_equal(verge_service_cancel(service, window[i % WINDOW]), 0);
        }
        assert_int_equal(verge_service_start_after(service, HOUR, do_nothing, NULL, &window[i % WINDOW]), 0);
        if (i % 10000 == 0) { /* wait until the thread has handled this timer, and so all before */
            struct notes notes = {0};
            (void)start_at(service, 0, take_note, &notes);
            await_count(&notes.fired, 1);
        }
    }
    /* Up to 10,000 more timers may be in the worker's inbox at any time. */
    assert_bounded(service, empty_bytes, WINDOW + 10000);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- a worker that makes no pass ---- */

enum { FEW = 100 };

static void a_worker_that_starts_and_cancels_without_passes_stays_small(void **state) {
    (void)state;
    struct stepped stepped;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(4));
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const uint64_t empty_bytes = stats_of(stepped.service).bytes;
    const size_t rounds = test_scaled(1000000);
    for (size_t i = 0; i < FEW + rounds; i++) {
        const uint64_t deadline_ns = now_of(&stepped) + SECOND + (verge_test_magnitude(&random) >> 16);
        if (i >= FEW) {
            assert_int_equal(verge_service_cancel(stepped.service, window[i % FEW]), 0);
        }
        window[i % FEW] = start_at(stepped.service, deadline_ns, do_nothing, NULL);
        if (i % 100 == 0) {
            assert_bounded(stepped.service, empty_bytes, FEW);
        }
    }
    leave(worker);
    stepped_end(&stepped);
}

static void a_worker_that_resets_to_earlier_without_passes_stays_small(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const uint64_t empty_bytes = stats_of(stepped.service).bytes;
    const size_t rounds = test_scaled(1000000);
    const uint64_t far_ns = now_of(&stepped) + 1000 * HOUR;
    for (size_t i = 0; i < FEW; i++) {
        window[i] = start_at(stepped.service, far_ns, do_nothing, NULL);
    }
    for (size_t i = 0; i < rounds; i++) {
        assert_int_equal(verge_service_reset(stepped.service, window[i % FEW], far_ns - i * 2 * TICK), 0);
        if (i % 100 == 0) {
            assert_bounded(stepped.service, empty_bytes, FEW);
        }
    }
    leave(worker);
    stepped_end(&stepped);
}

/* The timers are reset to earlier, to later and so on. No reset leaves anything behind. */
static void a_worker_that_resets_back_and_forth_stays_small(void **state) {
    (void)state;
    for (int with_passes = 0; with_passes < 2; with_passes++) {
        struct stepped stepped;
        struct verge_test_random random = verge_test_random_from(verge_test_seed(6));
        stepped_begin(&stepped);
        verge_worker *worker = join_bound(stepped.service);
        const uint64_t empty_bytes = stats_of(stepped.service).bytes;
        enum { PENDING = 10000 };
        const size_t rounds = test_scaled(1000000);
        for (size_t i = 0; i < PENDING; i++) {
            window[i] = start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL);
        }
        for (size_t i = 0; i < rounds; i++) {
            const uint64_t span_ns = i / PENDING % 2 == 0 ? HOUR : 100 * HOUR;
            const uint64_t deadline_ns = now_of(&stepped) + HOUR / 2 + verge_test_below(&random, span_ns);
            assert_int_equal(verge_service_reset(stepped.service, window[i % PENDING], deadline_ns), 0);
            if (with_passes && i % 100 == 0) {
                advance(&stepped, MS);
                assert_int_equal(step(worker), 0);
                assert_true(stats_of(stepped.service).idle <= PENDING + 4096);
            }
            if (i % 1000 == 0) {
                assert_bounded(stepped.service, empty_bytes, PENDING);
            }
        }
        leave(worker);
        stepped_end(&stepped);
    }
}

/* Through the inbox of a worker that never looks into it: a timer is in there once, however often it is moved. */
static void resets_from_outside_take_no_memory(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    for (size_t i = 0; i < FEW; i++) {
        window[i] = start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL);
    }
    (void)step(worker);
    const uint64_t calls = stepped.memory.calls;
    const size_t rounds = test_scaled(1000000);
    for (size_t i = 0; i < rounds; i++) {
        const uint64_t deadline_ns = now_of(&stepped) + (i / FEW % 2 == 0 ? SECOND : HOUR) + i;
        assert_int_equal(verge_service_reset(stepped.service, window[i % FEW], deadline_ns), 0);
    }
    assert_int_equal(stepped.memory.calls, calls);
    leave(worker);
    stepped_end(&stepped);
}

/* A worker keeps only the idle nodes of its free records, however many timers were cancelled. */
static void idle_nodes_go_with_the_timers_beside_them(void **state) {
    (void)state;
    enum { PENDING = 40000, CANCELLED = 15000 };
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    for (size_t i = 0; i < PENDING + CANCELLED; i++) {
        const uint64_t delay_ns = i < CANCELLED ? HOUR + i * SECOND : TICK;
        window[i] = start_at(stepped.service, now_of(&stepped) + delay_ns, do_nothing, NULL);
    }
    for (size_t i = 0; i < CANCELLED; i++) {
        assert_int_equal(verge_service_cancel(stepped.service, window[i]), 0);
    }
    assert_int_equal(step(worker), 0);
    assert_true(stats_of(stepped.service).idle <= 256);
    advance(&stepped, 2 * TICK);
    while (verge_service_count(stepped.service, 0) > 0) {
        assert_true(step(worker) > 0);
        assert_true(stats_of(stepped.service).idle <= 256);
    }
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_cancels_leave_no_memory_behind),
        cmocka_unit_test(remote_cancels_leave_no_memory_behind_a_thread),
        cmocka_unit_test(a_worker_that_starts_and_cancels_without_passes_stays_small),
        cmocka_unit_test(a_worker_that_resets_to_earlier_without_passes_stays_small),
        cmocka_unit_test(a_worker_that_resets_back_and_forth_stays_small),
        cmocka_unit_test(resets_from_outside_take_no_memory),
        cmocka_unit_test(idle_nodes_go_with_the_timers_beside_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
