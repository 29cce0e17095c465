/* SPDX-License-Identifier: MIT */
/* Sequences of calls that once broke a promise, and that random tests seldom hit. */
#include "wheel/support.h"

enum { SLAB = 512 };

/* A timer uses an idle node. When the node comes up, it is filed again, in a higher level. */
static void an_idle_node_is_used_and_filed_again_far_away(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timer timer = schedule(wheel, 10 * TICK, 7);
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        timer = schedule(wheel, (11 + i) * TICK, 7);
    }
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    timer = schedule(wheel, 5000 * TICK, 7);
    assert_quiet(wheel, 10 * TICK);
    assert_null(verge_wheel_check(wheel));
    assert_quiet(wheel, 5000 * TICK - 1);
    assert_fires(wheel, 5000 * TICK, timer);
    wheel_end(wheel);
}

static void a_kept_node_is_filed_again_far_away(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, 10 * TICK, 7);
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(verge_wheel_reset(wheel, timer, (11 + i) * TICK), 0);
    }
    assert_int_equal(verge_wheel_reset(wheel, timer, YEAR), 0);
    assert_quiet(wheel, YEAR - 1);
    assert_fires(wheel, YEAR + TICK, timer);
    wheel_end(wheel);
}

/* While nodes are being given back, nodes are reserved. */
static void a_reservation_while_memory_goes_back(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    static verge_timer timers[500 * SLAB];
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = schedule(wheel, UINT64_C(1) << 45, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        if (timers[i] >> 32 < (uint64_t)100 * SLAB - 2000 || timers[i] >> 32 >= (uint64_t)100 * SLAB) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        } else {
            timers[kept++] = timers[i];
        }
    }
    for (int i = 0; i < 300; i++) {
        (void)verge_wheel_poll_exact(wheel, verge_wheel_now(wheel) + 1, NULL, 0);
    }
    assert_int_equal(verge_wheel_reserve(wheel, (size_t)400 * SLAB, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(verge_wheel_reserve(wheel, 0, 0), 0);
    verge_wheel_compact(wheel);
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(verge_wheel_count(wheel), kept - 3);
    wheel_end(wheel);
}

/* Timers are moved by multiples of 2^36 ticks: the low 32 bits of their ticks stay the same, and must not be taken for
 * the whole tick. */
static void moves_by_a_multiple_of_what_a_node_knows(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 2;
    verge_wheel *wheel = wheel_new(&options);
    enum { COUNT = 2000 };
    const uint64_t step = UINT64_C(2) << 36;
    static verge_timer timers[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, 60 * step + 2 * i, (uintptr_t)i);
    }
    for (uint64_t k = 59; k > 0; k--) {
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_int_equal(verge_wheel_reset(wheel, timers[i], k * step + 2 * i), 0);
        }
        assert_true(stats_of(wheel).idle <= COUNT + 4096);
    }
    assert_null(verge_wheel_check(wheel));
    verge_wheel_compact(wheel);
    assert_null(verge_wheel_check(wheel));
    static verge_expiry out[COUNT + 1];
    assert_int_equal(verge_wheel_poll(wheel, step + UINT64_C(2) * COUNT, out, COUNT_OF(out)), COUNT);
    wheel_end(wheel);
}

/* As above, but timers are moved by 2^32 ticks, when their nodes have begun to come down to lower levels. */
static void moves_by_a_multiple_from_a_lower_level(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 2;
    verge_wheel *wheel = wheel_new(&options);
    const uint64_t block = UINT64_C(1) << 36;
    const uint64_t end = 3 * block - 1;
    enum { COUNT = 61 };
    verge_timer timers[COUNT];
    assert_quiet(wheel, 2000);
    for (uint64_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, (end - i) * 2, (uintptr_t)i);
    }
    for (uint64_t tick = block; tick < 2 * block && stats_of(wheel).nodes_moved == 0; tick += UINT64_C(1) << 31) {
        assert_quiet(wheel, tick * 2);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_reset(wheel, timers[i], (end - i - (UINT64_C(1) << 32)) * 2), 0);
    }
    verge_wheel_compact(wheel);
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(poll_count(wheel, (end + 10 - (UINT64_C(1) << 32)) * 2), COUNT);
    wheel_end(wheel);
}

/* After a mass cancel and idle polls, most memory has gone back, although some timers stay. */
static void a_mass_cancel_is_given_back_by_polls(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const size_t count = test_scaled(1000000);
    verge_timer *timers = calloc(count, sizeof(*timers));
    assert_non_null(timers);
    for (size_t i = 0; i < count; i++) {
        timers[i] = schedule(wheel, (UINT64_C(1) << 45) + i, i);
    }
    const uint64_t bytes_full = stats_of(wheel).bytes;
    for (size_t i = 3; i < count; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
    for (uint64_t i = 1; i < 20000; i++) {
        assert_quiet(wheel, i * TICK);
    }
    assert_true(stats_of(wheel).bytes < bytes_full / 4 + ((uint64_t)2 << 20));
    free(timers);
    wheel_end(wheel);
}

/* The reserved room is enough, even if each timer is in its own slot. */
static void a_reservation_holds_with_thin_slots(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_of(VERGE_PRESET_ALARM);
    options.start_ns = 1;
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    static const unsigned shifts[] = {0, 11, 21, 31, 41};
    assert_int_equal(verge_wheel_reserve(wheel, 6111, 0), 0);
    const uint64_t calls = memory.calls;
    const uint64_t far_ns = UINT64_C(1000) << 51;
    const verge_timer mover = schedule(wheel, far_ns, 0);
    for (size_t k = 0; k < COUNT_OF(shifts); k++) {
        for (uint64_t j = 2; j < (k == 0 ? 2040 : 1020); j++) {
            (void)schedule(wheel, (j << shifts[k]) + (k != 0), 0);
        }
    }
    for (uint64_t i = 1; i < 20000; i++) {
        assert_int_equal(verge_wheel_reset(wheel, mover, far_ns - i), 0);
    }
    assert_int_equal(memory.calls, calls);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* If poll_to_next passes several slots of idle nodes, the work limit is for all of them together. */
static void the_work_limit_is_for_all_slots_on_the_way(void **state) {
    (void)state;
    verge_wheel_options options;
    (void)verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT);
    options.coarse = true;
    options.work_limit = 2;
    verge_wheel *wheel = wheel_new(&options);
    const verge_timer timer = schedule(wheel, 40 * TICK, 7);
    verge_timer cancelled[10];
    for (uint64_t i = 0; i < COUNT_OF(cancelled); i++) {
        cancelled[i] = schedule(wheel, (2 + 3 * i) * TICK, i);
    }
    for (size_t i = 0; i < COUNT_OF(cancelled); i++) {
        assert_int_equal(verge_wheel_cancel(wheel, cancelled[i], NULL), 0);
    }
    verge_wheel_stats before = {.struct_size = sizeof(before)};
    verge_wheel_stats after = {.struct_size = sizeof(after)};
    verge_expiry out;
    size_t count = 0;
    do {
        assert_int_equal(verge_wheel_get_stats(wheel, &before), 0);
        count = verge_wheel_poll_to_next(wheel, HOUR, &out, 1);
        assert_int_equal(verge_wheel_get_stats(wheel, &after), 0);
        assert_true(after.nodes_dropped - before.nodes_dropped + count <= options.work_limit);
    } while (count == 0 && verge_wheel_has_backlog(wheel));
    assert_int_equal(count, 1);
    assert_int_equal(out.timer, timer);
    wheel_end(wheel);
}

/* A slot of 2^35 ticks is drained. A timer in it was moved to a later slot of a level above. */
static void a_far_timer_that_was_moved_farther_stays_above(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 0);
    const uint64_t first_ns = (UINT64_C(1) << 37) * TICK;
    const uint64_t last_ns = (UINT64_C(1) << 43) * TICK;
    const verge_timer timer = schedule(wheel, first_ns, 1);
    (void)schedule(wheel, first_ns, 2);
    assert_int_equal(verge_wheel_reset(wheel, timer, last_ns), 0);
    verge_expiry out[2];
    assert_int_equal(verge_wheel_poll(wheel, first_ns - TICK, out, 2), 0);
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(verge_wheel_poll(wheel, first_ns, out, 2), 1);
    assert_null(verge_wheel_check(wheel));
    assert_int_equal(verge_wheel_poll(wheel, last_ns - TICK, out, 2), 0);
    assert_int_equal(verge_wheel_poll(wheel, last_ns, out, 2), 1);
    wheel_end(wheel);
}

/* poll_exact has sorted a timer, but has not returned it, because of a work limit. The timer is then moved to a later
 * time: it is not due any more. */
static void a_sorted_timer_that_was_moved_does_not_come_out(void **state) {
    (void)state;
    static const verge_order orders[] = {VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};
    for (size_t i = 0; i < 2; i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = orders[i];
        options.work_limit = 1000;
        verge_wheel *wheel = wheel_new(&options);
        (void)schedule(wheel, 5 * TICK + 1, 1);
        const verge_timer second = schedule(wheel, 5 * TICK + 2, 2);
        verge_expiry out[2];
        assert_int_equal(verge_wheel_poll_exact(wheel, 5 * TICK + 3, out, 1), 1);
        assert_int_equal(verge_wheel_reset(wheel, second, 9 * TICK), 0);
        assert_int_equal(verge_wheel_poll_exact(wheel, 5 * TICK + 4, out, 2), 0);
        assert_int_equal(verge_wheel_poll(wheel, 8 * TICK, out, 2), 0);
        assert_int_equal(verge_wheel_poll(wheel, 9 * TICK, out, 2), 1);
        wheel_end(wheel);
    }
}

/* Many timers are due at one tick. Some were cancelled before the tick came, so that their nodes are idle or withdrawn.
 * Others are cancelled while the tick is handed out. */
static void a_tick_of_which_half_is_cancelled(void **state) {
    (void)state;
    enum { COUNT = 12000, MORE = 100 };
    verge_wheel *wheel = wheel_new(NULL);
    static verge_timer timers[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        timers[i] = schedule(wheel, 10 * TICK, i);
    }
    size_t cancelled = 0;
    while (stats_of(wheel).nodes_dropped == 0) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[cancelled++], NULL), 0);
    }
    for (uint64_t i = 0; i < MORE; i++) {
        (void)schedule(wheel, 10 * TICK, COUNT + i);
    }
    static verge_expiry out[COUNT];
    assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1);
    for (size_t half = cancelled + (COUNT - cancelled) / 2; cancelled < half; cancelled++) {
        (void)verge_wheel_cancel(wheel, timers[cancelled], NULL); /* one of them may be the one that was handed out */
    }
    assert_null(verge_wheel_check(wheel));
    const size_t pending = verge_wheel_count(wheel);
    assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, COUNT), pending);
    assert_int_equal(verge_wheel_count(wheel), 0);
    wheel_end(wheel);
}

/* ---- ticks just below 2^63 ---- */

enum { MOVED = 1, OTHER = 2, TICKS = 8 };

/* A wheel that starts 1,000 ticks before `tick`. */
static verge_wheel *wheel_before(uint64_t precision_ns, uint64_t tick) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = precision_ns;
    options.start_ns = (tick - 1000) * precision_ns;
    return wheel_new(&options);
}

/* A timer that is moved from the past to a tick just below 2^63 does not come out before timers of earlier ticks
 * (G5). */
static void a_timer_moved_out_of_the_past_waits_for_its_turn(void **state) {
    (void)state;
    for (uint64_t k = 0; k < (uint64_t)TICKS * 2; k++) {
        const uint64_t precision_ns = 1 + k % 2;
        const uint64_t tick = (UINT64_C(1) << 63) - 2 - k / 2;
        verge_wheel *wheel = wheel_before(precision_ns, tick);
        const verge_timer timer = schedule(wheel, verge_wheel_now(wheel) - precision_ns, MOVED);
        assert_int_equal(verge_wheel_reset(wheel, timer, tick * precision_ns), 0);
        (void)schedule(wheel, (tick - 20) * precision_ns, OTHER);
        verge_expiry out[3];
        assert_int_equal(verge_wheel_poll(wheel, tick * precision_ns, out, COUNT_OF(out)), 2);
        assert_int_equal(number_of(out[0].data), OTHER);
        assert_int_equal(number_of(out[1].data), MOVED);
        wheel_end(wheel);
    }
}

struct mover {
    verge_wheel *wheel;
    verge_timer timer;
    size_t moved_count; /* how often the moved timer came out */
};

static void move_to_the_past(void *context, const verge_expiry *expiry) {
    struct mover *mover = context;
    mover->moved_count += number_of(expiry->data) == MOVED;
    if (number_of(expiry->data) == OTHER) {
        assert_int_equal(verge_wheel_reset(mover->wheel, mover->timer, verge_wheel_now(mover->wheel) - 4), 0);
    }
}

/* A timer is due in a run, and is reset to a past time in this run before it was handed out. It comes out in a later
 * run. */
static void a_timer_set_in_a_run_comes_out_in_a_later_one(void **state) {
    (void)state;
    for (uint64_t k = 0; k < (uint64_t)TICKS * 2; k++) {
        const uint64_t precision_ns = 1 + k % 2;
        const uint64_t tick = (UINT64_C(1) << 63) - 2 - k / 2;
        struct mover mover = {.wheel = wheel_before(precision_ns, tick)};
        (void)schedule(mover.wheel, tick * precision_ns, OTHER); /* one of the two others comes first */
        mover.timer = schedule(mover.wheel, tick * precision_ns, MOVED);
        (void)schedule(mover.wheel, tick * precision_ns, OTHER);
        assert_int_equal(verge_wheel_run(mover.wheel, tick * precision_ns, move_to_the_past, &mover), 2);
        assert_int_equal(mover.moved_count, 0);
        assert_int_equal(verge_wheel_run(mover.wheel, tick * precision_ns, move_to_the_past, &mover), 1);
        assert_int_equal(mover.moved_count, 1);
        wheel_end(mover.wheel);
    }
}

/* A level of few slots far up: by the options, its slots are 2^28 ticks wide, so their ticks need more than 32 bits. */
static void a_narrow_level_far_up_knows_its_lists(void **state) {
    (void)state;
    static const uint8_t bits[] = {14, 14, 3, 0};
    const verge_wheel_options options = options_of_levels(1024, bits);
    verge_wheel *wheel = wheel_new(&options);
    const uint64_t slot_ns = UINT64_C(1) << 38;
    const uint64_t now_ns = 20 * slot_ns; /* beyond the first 16 slots of the ring */
    assert_int_equal(verge_wheel_poll(wheel, now_ns, NULL, 0), 0);
    verge_timer timers[3];
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        timers[i] = schedule(wheel, now_ns + 3 * slot_ns + i, i);
    }
    assert_int_equal(verge_wheel_reset(wheel, timers[2], now_ns + SECOND), 0);
    assert_null(verge_wheel_check(wheel));
    wheel_end(wheel);
}

/* When a tick is taken, the slot after it is prefetched, also if there is no tick after it. */
static void many_timers_at_the_end_of_time(void **state) {
    (void)state;
    enum { COUNT = 12000 };
    static verge_expiry out[COUNT];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 1;
    options.start_ns = VERGE_NEVER - 2000;
    verge_wheel *wheel = wheel_new(&options);
    for (size_t i = 0; i < COUNT; i++) {
        (void)schedule(wheel, VERGE_NEVER - (i % 3 == 0 ? 1500 : 3), i);
    }
    assert_int_equal(verge_wheel_poll(wheel, VERGE_NEVER - 1500, out, COUNT), COUNT / 3);
    assert_int_equal(verge_wheel_poll(wheel, VERGE_NEVER - 100, out, COUNT), 0);
    assert_int_equal(verge_wheel_poll(wheel, VERGE_NEVER - 3, out, COUNT), COUNT - COUNT / 3);
    wheel_end(wheel);
}

struct ending {
    verge_wheel *wheel;
    struct numbered *timeouts[200];
    size_t visited;
};

static int end_visited(void *context, const verge_expiry *expiry) {
    struct ending *ending = context;
    const size_t number = number_of_expiry(expiry);
    assert_int_equal(verge_timeout_cancel(ending->wheel, &ending->timeouts[number]->timeout), 0);
    free(ending->timeouts[number]);
    ending->timeouts[number] = NULL;
    ending->visited++;
    return 0;
}

/* A visitor cancels and frees each timeout that it visits, also while timeouts are being sorted. */
static void a_timeout_may_end_while_it_is_visited(void **state) {
    (void)state;
    static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO};
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct ending ending = {0};
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = orders[order];
        ending.wheel = wheel_new(&options);
        for (size_t i = 0; i < COUNT_OF(ending.timeouts); i++) {
            ending.timeouts[i] = calloc(1, sizeof(*ending.timeouts[i]));
            assert_non_null(ending.timeouts[i]);
            ending.timeouts[i]->number = i;
            assert_int_equal(verge_timeout_start(ending.wheel, &ending.timeouts[i]->timeout, SECOND + i % 3), 0);
        }
        verge_expiry out;
        assert_int_equal(verge_wheel_poll(ending.wheel, HOUR, &out, 1), 1); /* the others are due */
        assert_int_equal(verge_wheel_iterate(ending.wheel, end_visited, &ending), 0);
        assert_int_equal(ending.visited, COUNT_OF(ending.timeouts) - 1);
        assert_int_equal(verge_wheel_count(ending.wheel), 0);
        assert_int_equal(verge_wheel_poll(ending.wheel, HOUR + SECOND, &out, 1), 0);
        assert_null(verge_wheel_check(ending.wheel));
        free(out.data);
        wheel_end(ending.wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_of_which_half_is_cancelled),
        cmocka_unit_test(a_sorted_timer_that_was_moved_does_not_come_out),
        cmocka_unit_test(a_far_timer_that_was_moved_farther_stays_above),
        cmocka_unit_test(an_idle_node_is_used_and_filed_again_far_away),
        cmocka_unit_test(a_kept_node_is_filed_again_far_away),
        cmocka_unit_test(a_reservation_while_memory_goes_back),
        cmocka_unit_test(moves_by_a_multiple_of_what_a_node_knows),
        cmocka_unit_test(moves_by_a_multiple_from_a_lower_level),
        cmocka_unit_test(a_mass_cancel_is_given_back_by_polls),
        cmocka_unit_test(a_reservation_holds_with_thin_slots),
        cmocka_unit_test(the_work_limit_is_for_all_slots_on_the_way),
        cmocka_unit_test(a_timer_moved_out_of_the_past_waits_for_its_turn),
        cmocka_unit_test(a_timer_set_in_a_run_comes_out_in_a_later_one),
        cmocka_unit_test(a_narrow_level_far_up_knows_its_lists),
        cmocka_unit_test(many_timers_at_the_end_of_time),
        cmocka_unit_test(a_timeout_may_end_while_it_is_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
