/* SPDX-License-Identifier: MIT */
/*
 * When memory runs out: a scenario with every kind of call is repeated, and each time another allocation fails. A call
 * that fails returns -ENOMEM and changes nothing. Timers that were accepted run, with memory or without.
 */
#include "service/support.h"

enum { TIMERS_MAX = 8000 };

struct scenario {
    struct stepped stepped;
    verge_worker *local;  /* the test is bound to it */
    verge_worker *remote; /* through its inbox */
    uint64_t failures;    /* of calls, not of allocations */
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
    const size_t count_before = verge_service_count(scenario.stepped.service);
    const uint64_t failures_before = scenario.stepped.memory.failures;
    assert_true(index < TIMERS_MAX);
    verge_start_options options;
    assert_int_equal(verge_start_options_init(&options), 0);
    options.callback = fire;
    options.argument = (void *)(uintptr_t)index;
    options.deadline_ns = deadline_ns;
    options.worker_id = worker_id;
    verge_timer timer = 0;
    const int error = verge_service_start(scenario.stepped.service, &options, &timer);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_int_equal(timer, 0);
        assert_true(scenario.stepped.memory.failures > failures_before);
        assert_int_equal(verge_service_count(scenario.stepped.service), count_before);
        scenario.failures++;
        return;
    }
    scenario.timers[index].timer = timer;
    scenario.timers[index].deadline_ns = deadline_ns;
    scenario.timers[index].is_pending = true;
    scenario.count++;
}

static void try_reset(size_t index, uint64_t deadline_ns) {
    const verge_timer timer = scenario.timers[index].timer;
    const int error = verge_service_reset(scenario.stepped.service, timer, deadline_ns);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        scenario.failures++;
    } else {
        scenario.timers[index].deadline_ns = deadline_ns;
    }
    assert_int_equal(info_of(scenario.stepped.service, timer).deadline_ns, scenario.timers[index].deadline_ns);
}

static void do_cancel(size_t index) {
    assert_int_equal(verge_service_cancel(scenario.stepped.service, scenario.timers[index].timer), 0);
    scenario.timers[index].is_pending = false;
}

/* Passes until nothing is due; then nothing may be. */
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
    assert_int_equal(verge_service_count(scenario.stepped.service), pending_count());
}

static verge_worker *try_join(bool is_unbound) {
    verge_worker_options options;
    assert_int_equal(verge_worker_options_init(&options), 0);
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
            try_reset(i, now_ns + (scenario.timers[i].deadline_ns - now_ns) / divide + add_ns);
        }
    }
}

static void play(void) {
    const uint64_t begin_ns = now_of(&scenario.stepped);
    start_many(0, 300); /* orphans, or on the one that could join */
    scenario.local = try_join(false);
    scenario.remote = try_join(true);
    const uint32_t local_id = verge_worker_id(scenario.local);
    const uint32_t remote_id = verge_worker_id(scenario.remote);
    start_many(local_id, 700);
    start_many(remote_id, 700);
    run_until(begin_ns + TICK / 2);
    reset_some(2, 2, TICK); /* earlier */
    reset_some(3, 1, HOUR); /* later */
    for (size_t i = 0; i < scenario.count; i += 5) {
        if (scenario.timers[i].is_pending) {
            do_cancel(i);
        }
    }
    run_until(begin_ns + 3 * SECOND);
    start_many(remote_id, 200);
    if (scenario.remote != NULL) { /* all it has goes to the other */
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
    /* A worker that could not join is replaced by one that can; nothing is lost. */
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

/* Returns how many allocations the whole of it asked for. */
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
    assert_true(calls > 20);
    assert_int_equal(scenario.failures, 0);
    uint64_t refused = 0;
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(n, 0);
        refused += scenario.failures;
    }
    assert_true(refused > 5); /* the others were made good for, or not noticed at all */
}

static void all_allocations_fail_from_each_on(void **state) {
    (void)state;
    const uint64_t calls = play_failing(0, 0);
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(0, n);
    }
}

/* Accepted through the inbox while there is no memory to file them: they run at their time, all of them, a batch at
 * a time; and can be cancelled and reset. */
static void what_cannot_be_filed_runs_all_the_same(void **state) {
    (void)state;
    enum { COUNT = 900 };
    struct stepped stepped;
    struct notes notes[3] = {0};
    verge_service_options options = stepped_options(&stepped);
    options.batch = 10;
    stepped_create(&stepped, &options);
    verge_worker *worker = join_unbound(stepped.service);
    static verge_timer timers[COUNT];
    const uint64_t begin_ns = now_of(&stepped);
    for (uint64_t i = 0; i < COUNT; i++) { /* in as many slots as there are: each needs a chunk */
        timers[i] = start_at(stepped.service, begin_ns + (i % 60 + 1) * (UINT64_C(1) << (20 + 6 * (i % 4))), take_note,
                             &notes[i % 3]);
    }
    stepped.memory.fail_from = stepped.memory.calls + 1;
    (void)step(worker);
    assert_true(stepped.memory.failures > 0);
    for (uint64_t i = 0; i < COUNT; i += 3) { /* never runs */
        assert_int_equal(verge_service_cancel(stepped.service, timers[i]), 0);
    }
    for (uint64_t i = 1; i < COUNT; i += 3) { /* later than all */
        assert_int_equal(verge_service_reset(stepped.service, timers[i], begin_ns + 100 * HOUR), 0);
    }
    while (verge_worker_next(worker) <= begin_ns + 50 * HOUR) {
        const uint64_t next_ns = verge_worker_next(worker);
        if (next_ns > now_of(&stepped)) {
            advance(&stepped, HOUR / 7); /* the shelf wants to be looked at in every tick: too often for a test */
        }
        assert_true(step(worker) <= 10);
        if (now_of(&stepped) > begin_ns + 50 * HOUR) {
            break;
        }
    }
    while (step(worker) > 0) {
    }
    assert_int_equal(notes[2].fired, COUNT / 3);
    assert_int_equal(notes[1].fired, 0);
    verge_manual_clock_set(&stepped.clock, begin_ns + 101 * HOUR);
    for (int pass = 0; pass < 2 * COUNT / 3; pass++) {
        assert_true(step(worker) <= 10);
    }
    assert_int_equal(notes[1].fired, COUNT / 3);
    assert_int_equal(notes[0].fired, 0);
    assert_int_equal(verge_service_count(stepped.service), 0);
    leave(worker);
    stepped_end(&stepped);
}

/* One, and one only, finds no memory; and there is none when its time has come. */
static void a_single_one_that_cannot_be_filed_runs_too(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    (void)start_at(stepped.service, now_of(&stepped) + HOUR, do_nothing, NULL); /* there are records from here on */
    (void)step(worker);
    stepped.memory.fail_from = stepped.memory.calls + 1;
    verge_timer last = 0;
    while (stepped.memory.failures == 0) {
        last = start_at(stepped.service, now_of(&stepped) + HOUR, take_note, &notes);
        (void)step(worker);
    }
    assert_int_equal(verge_service_reset(stepped.service, last, now_of(&stepped) + SECOND), 0);
    advance(&stepped, SECOND + TICK);
    assert_int_equal(step(worker), 1);
    assert_int_equal(notes.last.timer, last);
    leave(worker);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(all_allocations_fail_from_each_on),
        cmocka_unit_test(what_cannot_be_filed_runs_all_the_same),
        cmocka_unit_test(a_single_one_that_cannot_be_filed_runs_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
