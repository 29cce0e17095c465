/* SPDX-License-Identifier: MIT */
/* G7: memory that was reserved is there, and stays. */
#include "wheel/support.h"

struct fixture {
    struct verge_test_allocator memory;
    verge_wheel *wheel;
    verge_timer *timers;
    size_t count;
};

static void set_up(struct fixture *fixture, verge_wheel_options options, size_t capacity) {
    memset(fixture, 0, sizeof(*fixture));
    verge_test_allocator_init(&fixture->memory);
    options.allocator = &fixture->memory.allocator;
    fixture->wheel = wheel_new(&options);
    fixture->timers = calloc(capacity, sizeof(*fixture->timers));
    assert_non_null(fixture->timers);
}

static void tear_down(struct fixture *fixture) {
    wheel_end(fixture->wheel);
    verge_test_allocator_assert_empty(&fixture->memory);
    free(fixture->timers);
}

static uint64_t random_deadline(struct fixture *fixture, struct verge_test_random *random) {
    const uint64_t now_ns = verge_wheel_now(fixture->wheel);
    const uint64_t largest_ns = verge_wheel_largest_deadline(fixture->wheel);
    const uint64_t delta_ns = verge_test_magnitude(random);
    return delta_ns > largest_ns - now_ns ? largest_ns : now_ns + delta_ns;
}

/* Polls. Each timer that comes out is removed from fixture->timers, which is in no order. */
static void poll_some(struct fixture *fixture, uint64_t now_ns) {
    verge_expiry out[64];
    const size_t count = verge_wheel_poll(fixture->wheel, now_ns, out, COUNT_OF(out));
    for (size_t i = 0; i < count; i++) {
        size_t index = number_of(out[i].data);
        if (index >= fixture->count || fixture->timers[index] != out[i].timer) {
            index = 0;
            while (index < fixture->count && fixture->timers[index] != out[i].timer) {
                index++;
            }
        }
        assert_true(index < fixture->count);
        fixture->timers[index] = fixture->timers[--fixture->count];
    }
}

static void random_operations(struct fixture *fixture, size_t room, size_t operations) {
    struct verge_test_random random = verge_test_random_from(verge_test_seed(11));
    for (size_t i = 0; i < operations; i++) {
        const uint64_t which = verge_test_below(&random, 8);
        if (which < 4 && fixture->count < room) {
            const uint64_t deadline_ns = random_deadline(fixture, &random);
            fixture->timers[fixture->count] = schedule(fixture->wheel, deadline_ns, fixture->count);
            fixture->count++;
        } else if (which < 6 && fixture->count > 0) {
            const size_t index = (size_t)verge_test_below(&random, fixture->count);
            const uint64_t deadline_ns = random_deadline(fixture, &random);
            assert_int_equal(verge_wheel_reset(fixture->wheel, fixture->timers[index], deadline_ns), 0);
        } else if (which == 6 && fixture->count > 0) {
            const size_t index = (size_t)verge_test_below(&random, fixture->count);
            assert_int_equal(verge_wheel_cancel(fixture->wheel, fixture->timers[index], NULL), 0);
            fixture->timers[index] = fixture->timers[--fixture->count];
        } else if (which == 7) {
            poll_some(fixture, verge_wheel_now(fixture->wheel) + verge_test_below(&random, 4 * TICK));
            (void)verge_wheel_next_deadline(fixture->wheel);
        }
    }
    assert_int_equal(verge_wheel_count(fixture->wheel), fixture->count);
}

/* Many starts, resets, cancels and polls, while every allocation fails. */
static void no_allocation_after_reserve(void **state) {
    const verge_wheel_options *options = *state;
    enum { ROOM = 1000 };
    struct fixture fixture;
    set_up(&fixture, *options, ROOM);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, ROOM, 0), 0);
    const uint64_t calls = fixture.memory.calls;
    fixture.memory.fail_from = calls + 1;
    random_operations(&fixture, ROOM, test_scaled(1000000));
    assert_int_equal(fixture.memory.calls, calls);
    tear_down(&fixture);
}

static void fill(struct fixture *fixture, size_t count, uint64_t step_ns) {
    for (size_t i = 0; i < count; i++) {
        (void)schedule(fixture->wheel, verge_wheel_now(fixture->wheel) + i * step_ns, i);
    }
}

static void the_room_is_kept(void **state) {
    (void)state;
    enum { ROOM = 5000 };
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), 1);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, ROOM, 0), 0);
    fixture.memory.fail_from = fixture.memory.calls + 1;
    for (int round = 0; round < 3; round++) {
        fill(&fixture, ROOM, SECOND);
        verge_wheel_cancel_all(fixture.wheel);
        fill(&fixture, ROOM, HOUR);
        verge_expiry *out = calloc(ROOM, sizeof(*out));
        assert_int_equal(verge_wheel_poll(fixture.wheel, verge_wheel_now(fixture.wheel) + YEAR, out, ROOM), ROOM);
        free(out);
        verge_wheel_compact(fixture.wheel);
        assert_true(stats_of(fixture.wheel).nodes >= ROOM);
    }
    tear_down(&fixture);
}

/* The memory of nodes goes back in slabs of 512. If one more node is reserved than fits into 40 slabs, 41 slabs
 * stay. */
static void the_room_is_kept_to_the_last_node(void **state) {
    (void)state;
    enum { SLAB = 512, ROOM = 40 * SLAB + 1, PEAK = 200 * SLAB };
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), PEAK);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, ROOM, 0), 0);
    for (size_t i = 0; i < PEAK; i++) {
        fixture.timers[i] = schedule(fixture.wheel, verge_wheel_now(fixture.wheel) + HOUR, i);
    }
    for (size_t i = 0; i < PEAK; i++) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), 0);
    }
    for (uint64_t tick = 0; tick < 4000; tick++) {
        assert_quiet(fixture.wheel, tick * TICK);
    }
    verge_wheel_compact(fixture.wheel);
    assert_int_equal(stats_of(fixture.wheel).nodes, 41 * SLAB);
    fixture.memory.fail_from = fixture.memory.calls + 1;
    fill(&fixture, ROOM, TICK);
    assert_int_equal(fixture.memory.failures, 0);
    tear_down(&fixture);
}

static void the_room_comes_on_top_of_what_is_pending(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), 1);
    fill(&fixture, 3000, MINUTE);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 2000, 0), 0);
    const uint64_t calls = fixture.memory.calls;
    fill(&fixture, 2000, SECOND);
    assert_int_equal(fixture.memory.calls, calls);
    tear_down(&fixture);
}

/* All timers have the same tick. As the cursor comes closer to it, they go to lower levels, and some are moved to an
 * earlier time and back. The reserved room is enough. */
static void timers_of_one_tick_in_each_level(void **state) {
    (void)state;
    enum { COUNT = 20000, LEVEL_START = 1 << 24 };
    static const uint64_t ticks[] = {LEVEL_START - 16, LEVEL_START - (1 << 12), LEVEL_START - (1 << 18), 16};
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), COUNT);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, COUNT, 0), 0);
    fixture.memory.fail_from = fixture.memory.calls + 1;
    const uint64_t deadline_ns = (LEVEL_START + 5) * TICK;
    for (size_t i = 0; i < COUNT; i++) {
        fixture.timers[i] = schedule(fixture.wheel, deadline_ns, i);
    }
    for (size_t level = COUNT_OF(ticks); level-- > 0;) {
        assert_quiet(fixture.wheel, ticks[level] * TICK);
        for (size_t i = level; i < COUNT; i += COUNT_OF(ticks)) {
            assert_int_equal(verge_wheel_reset(fixture.wheel, fixture.timers[i], (ticks[level] + 2) * TICK), 0);
            assert_int_equal(verge_wheel_reset(fixture.wheel, fixture.timers[i], deadline_ns), 0);
        }
        assert_quiet(fixture.wheel, (ticks[level] + 3) * TICK);
        assert_int_equal(level_stats_of(fixture.wheel, level).active, COUNT);
    }
    assert_int_equal(fixture.memory.failures, 0);
    tear_down(&fixture);
}

static void reserve_zero_gives_it_up(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), 1);
    const size_t count = 1000000;
    assert_int_equal(verge_wheel_reserve(fixture.wheel, count, 0), 0);
    const size_t reserved_bytes = fixture.memory.bytes_in_use;
    verge_wheel_compact(fixture.wheel);
    assert_true(stats_of(fixture.wheel).nodes >= count);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 0, 0), 0);
    verge_wheel_compact(fixture.wheel);
    assert_true(fixture.memory.bytes_in_use < reserved_bytes / 4);
    tear_down(&fixture);
}

static void too_much_is_an_error(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, options_of(VERGE_PRESET_DEFAULT), 1);
    const struct snapshot before = snapshot_of(fixture.wheel);
    assert_true(verge_wheel_reserve(fixture.wheel, SIZE_MAX, 0) < 0);
    if (SIZE_MAX / 32 > UINT32_MAX) { /* if size_t has 32 bits, memory runs out, as in the next test */
        assert_true(verge_wheel_reserve(fixture.wheel, SIZE_MAX / 32, 0) < 0);
    }
    assert_unchanged(fixture.wheel, &before);
    tear_down(&fixture);
}

/* Memory runs out in the middle of a reserve. What the reserve has allocated goes back to the allocator, except two
 * things: the array of slabs, and nodes that were added to the first slab, which begins small. */
static void a_reserve_that_fails_keeps_little(void **state) {
    (void)state;
    for (uint64_t calls = 1; calls < 3000; calls += 97) {
        struct verge_test_allocator memory;
        verge_test_allocator_init(&memory);
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.allocator = &memory.allocator;
        verge_wheel *wheel = wheel_new(&options);
        const verge_timer timer = schedule(wheel, HOUR, 1);
        const size_t before = memory.bytes_in_use;
        memory.fail_at = memory.calls + calls;
        const int error = verge_wheel_reserve(wheel, (size_t)1 << 20, 0);
        if (error != 0) {
            assert_int_equal(error, -ENOMEM);
            assert_true(memory.bytes_in_use < before + (512 << 10));
        }
        assert_well(wheel);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        wheel_end(wheel);
        verge_test_allocator_assert_empty(&memory);
    }
}

int main(void) {
    static verge_wheel_options plain;
    static verge_wheel_options ordered;
    static verge_wheel_options coarse;
    static verge_wheel_options limited;
    if (verge_wheel_options_init(&plain, sizeof(plain), VERGE_PRESET_DEFAULT) != 0 ||
        verge_wheel_options_init(&ordered, sizeof(ordered), VERGE_PRESET_RUNTIME) != 0 ||
        verge_wheel_options_init(&coarse, sizeof(coarse), VERGE_PRESET_THREE_LEVEL) != 0 ||
        verge_wheel_options_init(&limited, sizeof(limited), VERGE_PRESET_DEFAULT) != 0) {
        return 1;
    }
    ordered.order = VERGE_ORDER_DEADLINE;
    limited.work_limit = 7;
    limited.order = VERGE_ORDER_FIFO;
    const struct CMUnitTest tests[] = {
        {"no_allocation_after_reserve", no_allocation_after_reserve, NULL, NULL, &plain},
        {"no_allocation_after_reserve_ordered", no_allocation_after_reserve, NULL, NULL, &ordered},
        {"no_allocation_after_reserve_coarse", no_allocation_after_reserve, NULL, NULL, &coarse},
        {"no_allocation_after_reserve_limited", no_allocation_after_reserve, NULL, NULL, &limited},
        cmocka_unit_test(the_room_is_kept),
        cmocka_unit_test(the_room_is_kept_to_the_last_node),
        cmocka_unit_test(the_room_comes_on_top_of_what_is_pending),
        cmocka_unit_test(timers_of_one_tick_in_each_level),
        cmocka_unit_test(reserve_zero_gives_it_up),
        cmocka_unit_test(too_much_is_an_error),
        cmocka_unit_test(a_reserve_that_fails_keeps_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
