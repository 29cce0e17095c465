/* SPDX-License-Identifier: MIT */
/*
 * G3, G7 when memory runs out: a scenario with many kinds of calls is run again and again. Each time, another
 * allocation fails, or all allocations from another one on. A call that fails returns -ENOMEM and changes nothing. No
 * timer is lost, and no memory leaks.
 */
#include "wheel/support.h"

enum {
    TIMERS_MAX = 4000,
};

struct scenario {
    struct verge_test_allocator memory;
    verge_wheel *wheel;
    uint64_t failures; /* how many calls (not allocations) failed */
    struct {
        verge_timer timer;
        uint64_t deadline_ns;
        bool pending;
    } timers[TIMERS_MAX];
    size_t count; /* how many timers were ever started */
    size_t pending;
};

static void assert_consistent(struct scenario *scenario) {
    assert_well(scenario->wheel);
    assert_int_equal(verge_wheel_count(scenario->wheel), scenario->pending);
    assert_null(scenario->memory.complaint);
}

/* After a failure, only the bytes and nodes that the wheel holds may differ. */
static void assert_nothing_changed(struct scenario *scenario, const struct snapshot *before) {
    struct snapshot after = snapshot_of(scenario->wheel);
    after.stats.bytes = before->stats.bytes;
    after.stats.nodes = before->stats.nodes;
    assert_memory_equal(&after, before, sizeof(after));
    assert_consistent(scenario);
    scenario->failures++;
}

static void try_schedule(struct scenario *scenario, uint64_t deadline_ns) {
    const struct snapshot before = snapshot_of(scenario->wheel);
    const uint64_t memory_failures = scenario->memory.failures;
    const size_t index = scenario->count;
    verge_timer timer = 0;
    const int error = verge_wheel_start(scenario->wheel, deadline_ns, data_of(index), &timer);
    assert_true(index < TIMERS_MAX);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_int_equal(timer, 0);
        assert_true(scenario->memory.failures > memory_failures);
        assert_nothing_changed(scenario, &before);
        return;
    }
    scenario->timers[index].timer = timer;
    scenario->timers[index].deadline_ns = deadline_ns;
    scenario->timers[index].pending = true;
    scenario->count++;
    scenario->pending++;
}

/* A reset needs no memory. */
static void do_reschedule(struct scenario *scenario, size_t index, uint64_t deadline_ns) {
    const uint64_t calls = scenario->memory.calls;
    assert_int_equal(verge_wheel_reset(scenario->wheel, scenario->timers[index].timer, deadline_ns), 0);
    assert_int_equal(scenario->memory.calls, calls);
    scenario->timers[index].deadline_ns = deadline_ns;
}

static void do_cancel(struct scenario *scenario, size_t index) {
    void *data = NULL;
    assert_int_equal(verge_wheel_cancel(scenario->wheel, scenario->timers[index].timer, &data), 0);
    assert_int_equal(number_of(data), index);
    scenario->timers[index].pending = false;
    scenario->pending--;
}

/* Polls. The poll must not allocate, and must return all timers that are due. */
static void do_poll(struct scenario *scenario, uint64_t now_ns) {
    static verge_expiry out[TIMERS_MAX];
    const uint64_t calls = scenario->memory.calls;
    const size_t count = verge_wheel_poll(scenario->wheel, now_ns, out, TIMERS_MAX);
    assert_int_equal(scenario->memory.calls, calls);
    for (size_t i = 0; i < count; i++) {
        const uintptr_t index = number_of(out[i].data);
        assert_true(scenario->timers[index].pending);
        assert_int_equal(out[i].deadline_ns, scenario->timers[index].deadline_ns);
        assert_true(out[i].deadline_ns <= now_ns);
        scenario->timers[index].pending = false;
        scenario->pending--;
    }
    for (size_t i = 0; i < scenario->count; i++) {
        assert_false(scenario->timers[i].pending &&
                     verge_wheel_fires_at(scenario->wheel, scenario->timers[i].deadline_ns) <= now_ns);
    }
    assert_consistent(scenario);
}

static void for_each_pending(struct scenario *scenario, size_t stride, uint64_t divide, uint64_t add_ns) {
    for (size_t i = 0; i < scenario->count; i += stride) {
        if (scenario->timers[i].pending) {
            do_reschedule(scenario, i, scenario->timers[i].deadline_ns / divide + add_ns);
        }
    }
}

static void try_reserve(struct scenario *scenario, size_t count) {
    const struct snapshot before = snapshot_of(scenario->wheel);
    const int error = verge_wheel_reserve(scenario->wheel, count, 0);
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_nothing_changed(scenario, &before);
        return;
    }
    const uint64_t calls = scenario->memory.calls;
    for (size_t i = 0; i < count; i++) {
        try_schedule(scenario, verge_wheel_now(scenario->wheel) + i * MINUTE);
    }
    assert_int_equal(scenario->memory.calls, calls);
}

static void play(struct scenario *scenario) {
    struct verge_test_random random = verge_test_random_from(7);
    for (size_t i = 0; i < 600; i++) { /* on all levels, and many in one slot */
        try_schedule(scenario, i % 2 == 0 ? 5 * SECOND : TICK + (verge_test_magnitude(&random) >> 4));
    }
    for_each_pending(scenario, 2, 2, TICK); /* to earlier deadlines */
    for_each_pending(scenario, 3, 1, HOUR); /* to later deadlines */
    for (size_t i = 0; i < scenario->count; i += 5) {
        do_cancel(scenario, i);
    }
    do_poll(scenario, 3 * SECOND);
    for (size_t i = 0; i < 200; i++) {
        try_schedule(scenario, 4 * SECOND + (verge_test_magnitude(&random) >> 10));
    }
    do_poll(scenario, 10 * YEAR);
    verge_wheel_compact(scenario->wheel);
    assert_consistent(scenario);
    for_each_pending(scenario, 1, 1, SECOND);
    try_reserve(scenario, 700);
    for (size_t i = 0; i < 200; i++) {
        try_schedule(scenario, 11 * YEAR + i * DAY);
    }
    do_poll(scenario, 12 * YEAR);
    verge_wheel_cancel_all(scenario->wheel);
    for (size_t i = 0; i < scenario->count; i++) {
        scenario->timers[i].pending = false;
    }
    scenario->pending = 0;
    assert_consistent(scenario);
    for (size_t i = 0; i < 100; i++) {
        try_schedule(scenario, 13 * YEAR + (i * i << 30));
    }
    do_poll(scenario, 600 * YEAR - TICK);
    assert_int_equal(scenario->pending, 0);
}

static struct scenario played; /* too large for a stack */

/* Plays the scenario. Returns how many allocations it asked for. */
static uint64_t play_failing(verge_wheel_options options, uint64_t fail_at, uint64_t fail_from) {
    memset(&played, 0, sizeof(played));
    verge_test_allocator_init(&played.memory);
    played.memory.fail_at = fail_at;
    played.memory.fail_from = fail_from;
    options.allocator = &played.memory.allocator;
    const int error = verge_wheel_create(&options, &played.wheel);
    if (error == 0) {
        play(&played);
        verge_wheel_destroy(played.wheel);
    } else {
        assert_int_equal(error, -ENOMEM);
        assert_null(played.wheel);
    }
    verge_test_allocator_assert_empty(&played.memory);
    return played.memory.calls;
}

static void each_allocation_fails_once(void **state) {
    const verge_wheel_options *options = *state;
    const uint64_t calls = play_failing(*options, 0, 0);
    uint64_t refused = 0;
    assert_int_equal(played.failures, 0);
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(*options, n, 0);
        refused += played.failures;
    }
    assert_true(refused > 2); /* other allocations failed without making a call fail */
}

static void all_allocations_fail_from_each_on(void **state) {
    const verge_wheel_options *options = *state;
    const uint64_t calls = play_failing(*options, 0, 0);
    for (uint64_t n = 1; n <= calls; n++) {
        (void)play_failing(*options, 0, n);
    }
}

int main(void) {
    static verge_wheel_options plain;
    static verge_wheel_options fifo;
    static verge_wheel_options wide;
    static const uint8_t bits[] = {10, 10, 10, 14};
    if (verge_wheel_options_init(&plain, sizeof(plain), VERGE_PRESET_DEFAULT) != 0 ||
        verge_wheel_options_init(&fifo, sizeof(fifo), VERGE_PRESET_DEFAULT) != 0 ||
        verge_wheel_options_init(&wide, sizeof(wide), VERGE_PRESET_DEFAULT) != 0 ||
        verge_wheel_options_levels(&wide, TICK, bits, 4) != 0) {
        return 1;
    }
    fifo.order = VERGE_ORDER_FIFO;
    fifo.strict = true;
    const struct CMUnitTest tests[] = {
        {"each_allocation_fails_once", each_allocation_fails_once, NULL, NULL, &plain},
        {"each_allocation_fails_once_fifo", each_allocation_fails_once, NULL, NULL, &fifo},
        {"each_allocation_fails_once_wide", each_allocation_fails_once, NULL, NULL, &wide},
        {"all_allocations_fail_from_each_on", all_allocations_fail_from_each_on, NULL, NULL, &plain},
        {"all_allocations_fail_from_each_on_fifo", all_allocations_fail_from_each_on, NULL, NULL, &fifo},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
