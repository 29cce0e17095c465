/* SPDX-License-Identifier: MIT */
/*
 * When memory runs out: a scenario of starts, resets, cancels, joins and leaves is repeated, and each time another
 * allocation fails. A call that fails returns -ENOMEM and changes nothing. Timers that were accepted run, with memory
 * or without.
 */
#include "service/support.h"

enum { TIMERS_MAX = 8000 };

struct scenario {
    struct stepped stepped;
    verge_worker *local;  /* the thread of the test is bound to it */
    verge_worker *remote; /* timers come to it through its inbox */
    uint64_t failures;    /* how many calls (not allocations) failed */
    size_t count;
    struct {
        verge_timer timer;
        uint64_t deadline_ns;
        uint32_t fired;
        bool is_pending;
    } timers[TIMERS_MAX];
};

static struct scenario scenario;

static void fire(const verge_firing *firing) {
    const size_t index = (size_t)(uintptr_t)firing->argument;
    assert_true(scenario.timers[index].is_pending);
    assert_int_equal(firing->scheduled_ns, scenario.timers[index].deadline_ns);
    assert_true(firing->actual_ns >= firing->scheduled_ns);
    scenario.timers[index].is_pending = false;
    scenario.timers[index].fired++;
}

static size_t pending_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < scenario.count; i++) {
        count += scenario.timers[i].is_pending;
    }
    return count;
}

static void try_start(uint32_t worker_id, uint64_t deadline_ns) {
    const size_t index = scenario.count;
    const size_t count_before = verge_service_count(scenario.stepped.service, 0);
    const uint64_t failures_before = scenario.stepped.memory.failures;
    assert_true(index < TIMERS_MAX);
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = fire;
    options.argument = (void *)(uintptr_t)index;
    options.deadline_ns = deadline_ns;
    options.worker_id = worker_id;
    verge_timer timer = 0;
    const int error = verge_service_start_with(scenario.stepped.service, &options, &timer);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_int_equal(timer, 0);
        assert_true(scenario.stepped.memory.failures > failures_before);
        assert_int_equal(verge_service_count(scenario.stepped.service, 0), count_before);
        scenario.failures++;
        return;
    }
    scenario.timers[index].timer = timer;
    scenario.timers[index].deadline_ns = deadline_ns;
    scenario.timers[index].is_pending = true;
    scenario.count++;
}

/* A reset needs no memory. */
static void do_reset(size_t index, uint64_t deadline_ns) {
    const verge_timer timer = scenario.timers[index].timer;
    assert_int_equal(verge_service_reset(scenario.stepped.service, timer, deadline_ns), 0);
    scenario.timers[index].deadline_ns = deadline_ns;
    assert_int_equal(info_of(scenario.stepped.service, timer).deadline_ns, deadline_ns);
}

static void do_cancel(size_t index) {
    assert_int_equal(verge_service_cancel(scenario.stepped.service, scenario.timers[index].timer), 0);
    scenario.timers[index].is_pending = false;
}

/* Makes 100 passes of each worker. After that, if there is a worker, no timer may be due. */
static void run_until(uint64_t now_ns) {
    verge_manual_clock_set(&scenario.stepped.clock, now_ns);
    verge_worker *const workers[] = {scenario.local, scenario.remote};
    for (size_t w = 0; w < COUNT_OF(workers); w++) {
        for (int pass = 0; pass < 100 && workers[w] != NULL; pass++) {
            (void)step(workers[w]);
        }
    }
    const bool is_anybody_there = scenario.local != NULL || scenario.remote != NULL;
    for (size_t i = 0; i < scenario.count && is_anybody_there; i++) {
        assert_false(scenario.timers[i].is_pending && scenario.timers[i].deadline_ns + TICK <= now_ns);
    }
    assert_int_equal(verge_service_count(scenario.stepped.service, 0), pending_count());
}

static verge_worker *try_join(bool is_unbound) {
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = is_unbound;
    verge_worker *worker = NULL;
    const uint32_t workers_before = stats_of(scenario.stepped.service).workers;
    const int error = verge_worker_join(scenario.stepped.service, &options, &worker);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_null(worker);
        assert_int_equal(stats_of(scenario.stepped.service).workers, workers_before);
        scenario.failures++;
    }
    return worker;
}

static void start_many(uint32_t worker_id, size_t count) {
    struct verge_test_random random = verge_test_random_from(7);
    for (size_t i = 0; i < count; i++) { /* on all levels, and many in one slot */
        const uint64_t delay_ns = i % 2 == 0 ? 5 * SECOND : TICK + (verge_test_magnitude(&random) >> 10);
        try_start(worker_id, now_of(&scenario.stepped) + delay_ns);
    }
}

static void reset_some(size_t stride, uint64_t divide, uint64_t add_ns) {
    const uint64_t now_ns = now_of(&scenario.stepped);
    for (size_t i = 0; i < scenario.count; i += stride) {
        if (scenario.timers[i].is_pending) {
            do_reset(i, now_ns + (scenario.timers[i].deadline_ns - now_ns) / divide + add_ns);
        }
    }
}

static void play(void) {
    const uint64_t begin_ns = now_of(&scenario.stepped);
    start_many(0, 300); /* orphans */
    scenario.local = try_join(false);
    scenario.remote = try_join(true);
    const uint32_t local_id = verge_worker_id(scenario.local);
    const uint32_t remote_id = verge_worker_id(scenario.remote);
    start_many(local_id, 700);
    start_many(remote_id, 700);
    run_until(begin_ns + TICK / 2);
    reset_some(2, 2, TICK); /* to earlier deadlines */
    reset_some(3, 1, HOUR); /* to later deadlines */
    for (size_t i = 0; i < scenario.count; i += 5) {
        if (scenario.timers[i].is_pending) {
            do_cancel(i);
        }
    }
    run_until(begin_ns + 3 * SECOND);
    start_many(remote_id, 200);
    if (scenario.remote != NULL) { /* its timers go to the other worker or, without one, to the orphans */
        leave(scenario.remote);
        scenario.remote = NULL;
    }
    run_until(begin_ns + 20 * SECOND);
    start_many(0, 200);
    run_until(begin_ns + 1000 * HOUR);
    run_until(VERGE_NEVER / 2);
    if (scenario.local != NULL) {
        leave(scenario.local);
        scenario.local = NULL;
    }
    /* Now there is memory: a worker joins, and runs the timers that are left. None was lost. */
    scenario.stepped.memory.fail_at = scenario.stepped.memory.fail_from = 0;
    scenario.local = try_join(false);
    assert_non_null(scenario.local);
    run_until(VERGE_NEVER / 2 + HOUR);
    assert_int_equal(pending_count(), 0);
    for (size_t i = 0; i < scenario.count; i++) {
        assert_true(scenario.timers[i].fired <= 1);
    }
    leave(scenario.local);
}

/* Plays the scenario. Returns how many allocations it attempted. */
static uint64_t play_failing(uint64_t fail_at, uint64_t fail_from) {
    memset(&scenario, 0, sizeof(scenario));
    verge_service_options options = stepped_options(&scenario.stepped);
    scenario.stepped.memory.fail_at = fail_at;
    scenario.stepped.memory.fail_from = fail_from;
    const int error = verge_service_create(&options, &scenario.stepped.service);
    if (error == 0) {
        play();
        assert_int_equal(verge_service_destroy(scenario.stepped.service, NULL, NULL), 0);
    } else {
        assert_int_equal(error, -ENOMEM);
        assert_null(scenario.stepped.service);
    }
    verge_test_allocator_assert_empty(&scenario.stepped.memory);
    return scenario.stepped.memory.calls;
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    const uint64_t calls = play_failing(0, 0);
    assert_true(calls > 5);
    assert_int_equal(scenario.failures, 0);
    uint64_t refused = 0;
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(n, 0);
        refused += scenario.failures;
    }
    assert_true(refused > 2); /* other allocations failed without making a call fail */
}

static void all_allocations_fail_from_each_on(void **state) {
    (void)state;
    const uint64_t calls = play_failing(0, 0);
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(0, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(all_allocations_fail_from_each_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
