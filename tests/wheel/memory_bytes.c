/* SPDX-License-Identifier: MIT */
/* G7: a million timers take at most 48 bytes each, idle nodes are few, and memory goes back when the load is gone. */
#include "wheel/support.h"

enum {
    BYTES_PER_TIMER_MAX = 48,
    IDLE_MAX = 3072,
    BYTES_KEPT_MAX = 4 << 20, /* how many bytes a wheel may keep that was large once */
    SLAB = 512,               /* how many nodes go back together */
    SLAB_BYTES = 40 * SLAB,
};

struct fixture {
    struct verge_test_allocator memory;
    struct verge_test_random random;
    verge_wheel *wheel;
    verge_timer *timers;
    size_t count;
    bool is_ordered;
};

static void set_up(struct fixture *fixture, verge_order order) {
    memset(fixture, 0, sizeof(*fixture));
    verge_test_allocator_init(&fixture->memory);
    fixture->random = verge_test_random_from(verge_test_seed(5));
    fixture->count = test_scaled(1000000);
    fixture->timers = calloc(fixture->count, sizeof(*fixture->timers));
    assert_non_null(fixture->timers);
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    fixture->is_ordered = order != VERGE_ORDER_ANY;
    options.allocator = &fixture->memory.allocator;
    fixture->wheel = wheel_new(&options);
}

static void tear_down(struct fixture *fixture) {
    wheel_end(fixture->wheel);
    verge_test_allocator_assert_empty(&fixture->memory);
    free(fixture->timers);
}

/* A time within the next hour, as for many timeouts of a busy server. */
static uint64_t random_deadline(struct fixture *fixture) {
    return verge_wheel_now(fixture->wheel) + TICK + verge_test_below(&fixture->random, HOUR);
}

static void fill(struct fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        fixture->timers[i] = schedule(fixture->wheel, random_deadline(fixture), i);
    }
}

/* With less than a million timers, 4 MB are allowed in addition, for memory that does not grow with the timers. */
static void assert_bytes(const struct fixture *fixture) {
    const verge_wheel_stats stats = stats_of(fixture->wheel);
    assert_int_equal(stats.bytes, fixture->memory.bytes_in_use);
    const size_t constant = fixture->count < 1000000 ? (size_t)4 << 20 : 0;
    const size_t each = BYTES_PER_TIMER_MAX + (fixture->is_ordered ? 1 : 0);
    assert_in_range(stats.bytes, 1, fixture->count * each + constant);
}

static void assert_idle_bounded(const struct fixture *fixture) {
    const verge_wheel_stats stats = stats_of(fixture->wheel);
    assert_true(stats.idle <= IDLE_MAX);
}

static void drain(struct fixture *fixture, uint64_t until_ns) {
    verge_expiry out[256];
    while (verge_wheel_poll(fixture->wheel, until_ns, out, COUNT_OF(out)) > 0) {
    }
    assert_false(verge_wheel_has_backlog(fixture->wheel));
}

static void a_million_pending(void **state) {
    struct fixture fixture;
    set_up(&fixture, *(verge_order *)*state);
    fill(&fixture);
    assert_bytes(&fixture);
    tear_down(&fixture);
}

/* If a program has many wheels, most of them are small. docs/EMBEDDING.md has the exact figures. */
static void a_small_wheel_takes_little(void **state) {
    (void)state;
    enum { FEW = 10 };
    static const struct {
        verge_wheel_preset preset;
        size_t empty_bytes_max;
        size_t handle_bytes_max;
    } wheels[] = {{VERGE_PRESET_DEFAULT, 4096, 5120}, {VERGE_PRESET_YOUR_UNIT, 5120, 6144}};
    for (size_t i = 0; i < COUNT_OF(wheels) * 2; i++) {
        const size_t empty_bytes_max = wheels[i / 2].empty_bytes_max;
        const bool has_timeouts = i % 2 != 0;
        struct verge_test_allocator memory;
        verge_wheel *wheel = wheel_in(&memory, wheels[i / 2].preset);
        verge_timeout timeouts[FEW] = {{{0}}};
        assert_in_range(memory.bytes_in_use, 1, empty_bytes_max);
        for (uint64_t k = 1; k <= FEW; k++) {
            if (has_timeouts) {
                assert_int_equal(verge_timeout_start(wheel, &timeouts[k - 1], k * SECOND), 0);
            } else {
                (void)schedule(wheel, k * SECOND, k);
            }
        }
        assert_in_range(memory.bytes_in_use, 1, has_timeouts ? empty_bytes_max : wheels[i / 2].handle_bytes_max);
        wheel_end(wheel);
        verge_test_allocator_assert_empty(&memory);
    }
}

/* All timers are cancelled: from the first to the last, from the last to the first, or in random order. There is no
 * poll. The slots are left, and a few slabs, however many timers there were. */
static void cancels_alone_give_back(void **state) {
    (void)state;
    enum { BYTES_MAX = 144 << 10, COMPACT_BYTES_MAX = 64 << 10 }; /* 100 KiB of it are slots */
    for (int kind = 0; kind < 3; kind++) {
        struct fixture fixture;
        set_up(&fixture, VERGE_ORDER_ANY);
        fill(&fixture);
        for (size_t left = fixture.count; left > 0; left--) {
            const size_t which = kind == 0   ? fixture.count - left
                                 : kind == 1 ? left - 1
                                             : (size_t)verge_test_below(&fixture.random, left);
            assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[which], NULL), 0);
            fixture.timers[which] = fixture.timers[kind == 0 ? which : left - 1];
        }
        assert_int_equal(verge_wheel_count(fixture.wheel), 0);
        assert_in_range(fixture.memory.bytes_in_use, 1, BYTES_MAX);
        verge_wheel_compact(fixture.wheel);
        assert_in_range(fixture.memory.bytes_in_use, 1, COMPACT_BYTES_MAX);
        tear_down(&fixture);
    }
}

/* As above, but the timers come out of polls. */
static void polls_alone_give_back(void **state) {
    (void)state;
    enum { BYTES_MAX = 144 << 10, COMPACT_BYTES_MAX = 64 << 10 }; /* 100 KiB of it are slots */
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    drain(&fixture, 2 * HOUR);
    assert_int_equal(verge_wheel_count(fixture.wheel), 0);
    assert_in_range(fixture.memory.bytes_in_use, 1, BYTES_MAX);
    verge_wheel_compact(fixture.wheel);
    assert_in_range(fixture.memory.bytes_in_use, 1, COMPACT_BYTES_MAX);
    tear_down(&fixture);
}

static void a_million_moved_at_random(void **state) {
    struct fixture fixture;
    set_up(&fixture, *(verge_order *)*state);
    fill(&fixture);
    for (size_t i = 0; i < fixture.count; i++) {
        const size_t index = (size_t)verge_test_below(&fixture.random, fixture.count);
        const uint64_t deadline_ns = random_deadline(&fixture);
        assert_int_equal(verge_wheel_reset(fixture.wheel, fixture.timers[index], deadline_ns), 0);
        if (i % 1024 == 0) {
            assert_idle_bounded(&fixture);
        }
    }
    assert_bytes(&fixture);
    tear_down(&fixture);
}

static void a_million_cancelled_and_scheduled_again(void **state) {
    struct fixture fixture;
    set_up(&fixture, *(verge_order *)*state);
    fill(&fixture);
    for (size_t i = 0; i < fixture.count; i++) {
        const size_t index = (size_t)verge_test_below(&fixture.random, fixture.count);
        assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[index], NULL), 0);
        fixture.timers[index] = schedule(fixture.wheel, random_deadline(&fixture), index);
        if (i % 1024 == 0) {
            assert_idle_bounded(&fixture);
        }
    }
    assert_bytes(&fixture);
    tear_down(&fixture);
}

/* There is no poll. One timer is moved earlier a million times. Then many timers are moved ten times, mostly
 * earlier. */
static void idle_nodes_of_moves_are_bounded_without_a_poll(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    const verge_timer one = schedule(fixture.wheel, 2 * HOUR + fixture.count * TICK, 1);
    for (size_t i = fixture.count; i > 0; i--) {
        assert_int_equal(verge_wheel_reset(fixture.wheel, one, 2 * HOUR + i * TICK), 0);
        assert_idle_bounded(&fixture);
    }
    const size_t bytes_of_one = fixture.memory.bytes_in_use;
    assert_true(bytes_of_one < (size_t)1 << 20);
    fixture.count /= 10;
    fill(&fixture);
    for (uint64_t round = 1; round <= 10; round++) {
        for (size_t i = 0; i < fixture.count; i++) {
            assert_int_equal(verge_wheel_reset(fixture.wheel, fixture.timers[i], TICK + HOUR / (round * 2) + i), 0);
            assert_idle_bounded(&fixture);
        }
    }
    tear_down(&fixture);
}

static void idle_nodes_of_cancels_are_bounded_without_a_poll(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    for (size_t i = 0; i < fixture.count; i++) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), 0);
        assert_idle_bounded(&fixture);
    }
    assert_int_equal(verge_wheel_count(fixture.wheel), 0);
    /* Idle nodes are also bounded if timers are started and cancelled, ever earlier and ever later. */
    for (size_t i = 0; i < fixture.count; i++) {
        const uint64_t distance = i % 2 == 0 ? i : fixture.count - i;
        const verge_timer timer = schedule(fixture.wheel, HOUR + distance * TICK, i);
        assert_int_equal(verge_wheel_cancel(fixture.wheel, timer, NULL), 0);
        assert_idle_bounded(&fixture);
    }
    tear_down(&fixture);
}

/* The timers come out of polls, and after that one comes now and then. In the end, the wheel holds less than an eighth
 * of the memory, plus BYTES_KEPT_MAX. */
static void memory_shrinks_with_the_load(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    const size_t bytes_full = fixture.memory.bytes_in_use;
    drain(&fixture, 2 * HOUR);
    assert_int_equal(verge_wheel_count(fixture.wheel), 0);
    for (uint64_t i = 0; i < 10000; i++) { /* life goes on, with a timer now and then */
        (void)schedule(fixture.wheel, 2 * HOUR + (i + 1) * TICK, i);
        drain(&fixture, 2 * HOUR + (i + 1) * TICK);
    }
    assert_true(fixture.memory.bytes_in_use < bytes_full / 8 + BYTES_KEPT_MAX);
    verge_wheel_compact(fixture.wheel);
    assert_true(fixture.memory.bytes_in_use < bytes_full / 8 + BYTES_KEPT_MAX);
    tear_down(&fixture);
}

/* As above, but no timer comes any more. */
static void memory_shrinks_while_idle(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    const size_t bytes_full = fixture.memory.bytes_in_use;
    drain(&fixture, 2 * HOUR);
    for (uint64_t i = 0; i < 10000; i++) {
        drain(&fixture, 2 * HOUR + i * TICK);
    }
    assert_true(fixture.memory.bytes_in_use < bytes_full / 8 + BYTES_KEPT_MAX);
    tear_down(&fixture);
}

/* A few timers that stay keep their handles, and do not keep the memory of all others. */
static void memory_shrinks_around_those_who_stay(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    const size_t bytes_full = fixture.memory.bytes_in_use;
    for (size_t i = 0; i < fixture.count; i++) {
        if (i >= 100) {
            assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), 0);
        }
    }
    verge_wheel_compact(fixture.wheel);
    assert_int_equal(stats_of(fixture.wheel).idle, 0);
    assert_true(fixture.memory.bytes_in_use < bytes_full / 4 + BYTES_KEPT_MAX);
    for (size_t i = 0; i < fixture.count; i++) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), i < 100 ? 0 : -ENOENT);
    }
    tear_down(&fixture);
}

/* A few timers keep their slabs. A load that comes back uses the free nodes of these slabs. */
static void a_load_that_comes_back_finds_what_was_set_aside(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fill(&fixture);
    const size_t bytes_full = fixture.memory.bytes_in_use;
    for (size_t i = 0; i < fixture.count; i++) {
        if (i % 10000 != 0) {
            assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), 0);
        }
    }
    verge_wheel_compact(fixture.wheel);
    fill(&fixture);
    assert_true(fixture.memory.bytes_in_use < bytes_full + bytes_full / 8 + BYTES_KEPT_MAX);
    tear_down(&fixture);
}

/* Memory that was given back and is taken again gives new handles only. */
static void handles_survive_growing_and_shrinking(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    fixture.count /= 10;
    verge_timer *old_timers = calloc(fixture.count, sizeof(*old_timers));
    assert_non_null(old_timers);
    for (int round = 0; round < 3; round++) {
        fill(&fixture);
        for (size_t i = 0; i < fixture.count; i++) {
            assert_int_equal(verge_wheel_cancel(fixture.wheel, old_timers[i], NULL), round == 0 ? -EBADF : -ENOENT);
        }
        memcpy(old_timers, fixture.timers, fixture.count * sizeof(*old_timers));
        verge_wheel_cancel_all(fixture.wheel);
        verge_wheel_compact(fixture.wheel);
        for (size_t i = 0; i < fixture.count; i++) {
            assert_int_equal(verge_wheel_cancel(fixture.wheel, old_timers[i], NULL), -ENOENT);
        }
    }
    free(old_timers);
    tear_down(&fixture);
}

/* After a million cancels, the nodes go back to the allocator. Meanwhile new timers come and go, and each comes out. */
static void timers_come_and_go_while_memory_goes_back(void **state) {
    struct fixture fixture;
    set_up(&fixture, *(verge_order *)*state);
    fill(&fixture);
    const size_t kept = fixture.count / 200;
    for (size_t i = kept; i < fixture.count; i++) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, fixture.timers[i], NULL), 0);
    }
    size_t expired = 0;
    size_t scheduled = kept;
    verge_expiry out[256];
    for (uint64_t now_ns = 0; now_ns <= 2 * HOUR; now_ns += SECOND) {
        size_t count = 0;
        do {
            count = verge_wheel_poll(fixture.wheel, now_ns, out, COUNT_OF(out));
            expired += count;
        } while (count > 0);
        if (now_ns < HOUR && now_ns % MINUTE < SECOND) {
            for (size_t i = 0; i < kept; i++) {
                (void)schedule(fixture.wheel, random_deadline(&fixture), i);
            }
            scheduled += kept;
        }
    }
    assert_int_equal(expired, scheduled);
    assert_int_equal(verge_wheel_count(fixture.wheel), 0);
    tear_down(&fixture);
}

static void poll_ticks(verge_wheel *wheel, uint64_t ticks) {
    for (uint64_t i = 0; i < ticks; i++) {
        assert_quiet(wheel, verge_wheel_now(wheel) + TICK);
    }
}

/* A slab goes back as soon as its last timer has come out. */
static void a_slab_goes_back_with_its_last_timer(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    (void)schedule(fixture.wheel, HOUR, 0);
    for (size_t i = 0; i < (size_t)8 * SLAB; i++) {
        (void)schedule(fixture.wheel, 1000 * TICK, i);
    }
    (void)schedule(fixture.wheel, 2000 * TICK, 0);
    drain(&fixture, 1000 * TICK);
    assert_int_equal(stats_of(fixture.wheel).nodes, 2 * SLAB); /* the first slab and the last */
    drain(&fixture, 2000 * TICK);
    assert_int_equal(stats_of(fixture.wheel).nodes, SLAB);
    tear_down(&fixture);
}

enum { MANY = 64 * SLAB };

static void schedule_many(verge_wheel *wheel, verge_timer *timers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        timers[i] = schedule(wheel, HOUR, i);
    }
}

static void cancel_all(verge_wheel *wheel, const verge_timer *timers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
    }
}

/* No memory goes back before fewer than one in `ratio` of the nodes is used. */
static void memory_stays_until_the_ratio_is_reached(void **state) {
    (void)state;
    enum { RATIO = 8, MORE = MANY / 6, FEWER = MANY / 10 };
    static verge_timer timers[MANY];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.compaction = (verge_wheel_compaction){.minimum = 64, .ratio = RATIO, .multiplier = 1};
    verge_wheel *wheel = wheel_new(&options);
    schedule_many(wheel, timers, MANY);
    const verge_wheel_stats full = stats_of(wheel);
    cancel_all(wheel, timers + MORE, MANY - MORE);
    poll_ticks(wheel, 1000);
    assert_int_equal(stats_of(wheel).nodes, full.nodes);
    assert_int_equal(stats_of(wheel).bytes, full.bytes);
    cancel_all(wheel, timers + FEWER, MORE - FEWER);
    poll_ticks(wheel, 1000);
    assert_true(stats_of(wheel).nodes < full.nodes / 2);
    assert_true(stats_of(wheel).bytes < full.bytes / 2);
    wheel_end(wheel);
}

/* Once memory goes back, this goes on until there are `multiplier` times as many nodes as timers. */
static void memory_goes_down_to_the_multiplier(void **state) {
    (void)state;
    enum { COUNT = 16 * MANY, USED = COUNT / 5 };
    static verge_timer timers[COUNT];
    verge_wheel *wheel = wheel_new(NULL);
    const verge_wheel_compaction compaction = options_of(VERGE_PRESET_DEFAULT).compaction;
    schedule_many(wheel, timers, COUNT);
    cancel_all(wheel, timers + USED, COUNT - USED);
    poll_ticks(wheel, UINT64_C(256) * 20);
    const uint64_t used_then = COUNT / compaction.ratio; /* the nodes in use when memory began to go back */
    assert_in_range(stats_of(wheel).nodes, compaction.multiplier * used_then - (uint64_t)2 * SLAB,
                    compaction.multiplier * used_then + SLAB);
    wheel_end(wheel);
}

/* A few timers keep the slabs that they are in, and no others. */
static void a_few_timers_keep_their_slabs(void **state) {
    (void)state;
    enum { STAY = 4 };
    static verge_timer timers[MANY];
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY);
    schedule_many(fixture.wheel, timers, MANY);
    for (size_t i = 0; i < MANY; i++) {
        if (i % (MANY / STAY) != 5) {
            assert_int_equal(verge_wheel_cancel(fixture.wheel, timers[i], NULL), 0);
        }
    }
    poll_ticks(fixture.wheel, 1000);
    assert_int_equal(stats_of(fixture.wheel).nodes, STAY * SLAB);
    verge_wheel_compact(fixture.wheel);
    assert_int_equal(stats_of(fixture.wheel).nodes, STAY * SLAB);
    for (size_t i = 5; i < MANY; i += MANY / STAY) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, timers[i], NULL), 0);
    }
    verge_wheel_compact(fixture.wheel);
    assert_int_equal(stats_of(fixture.wheel).nodes, SLAB); /* the first slab stays */
    assert_true(fixture.memory.bytes_in_use < (size_t)2 * SLAB_BYTES);
    tear_down(&fixture);
}

/* New timers take nodes of the lowest slab that has free ones, so that the higher slabs become empty. */
static void low_slabs_are_filled_first(void **state) {
    (void)state;
    enum { ROUNDS = 4 };
    static verge_timer timers[MANY];
    struct verge_test_random random = verge_test_random_from(5);
    verge_wheel *wheel = wheel_new(NULL);
    schedule_many(wheel, timers, MANY);
    for (size_t left = MANY; left > MANY / 8; left--) { /* one in eight stays, at random */
        const size_t which = (size_t)verge_test_below(&random, left);
        assert_int_equal(verge_wheel_cancel(wheel, timers[which], NULL), 0);
        timers[which] = timers[left - 1];
    }
    for (size_t i = 0; i < ROUNDS; i++) { /* half of those come and go, a few times */
        for (size_t which = i % 2; which < MANY / 8; which += 2) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[which], NULL), 0);
        }
        for (size_t which = i % 2; which < MANY / 8; which += 2) {
            timers[which] = schedule(wheel, HOUR, which);
        }
    }
    poll_ticks(wheel, 2000);
    assert_true(stats_of(wheel).nodes <= MANY / 2);
    wheel_end(wheel);
}

/* While memory goes back, timers come and go, and nodes are reserved. */
static void memory_is_wanted_while_it_goes_back(void **state) {
    (void)state;
    enum { COUNT = 8 * MANY, STEPS = 40, AT_ONCE = 3 * SLAB };
    static verge_timer timers[COUNT];
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.compaction = (verge_wheel_compaction){.minimum = 64, .ratio = 2, .multiplier = 1};
    verge_wheel *wheel = wheel_new(&options);
    schedule_many(wheel, timers, COUNT);
    size_t kept = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (i % ((size_t)10 * SLAB) < (size_t)2 * SLAB) {
            timers[kept++] = timers[i];
        } else {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
    }
    for (size_t step = 0; step < STEPS; step++) {
        poll_ticks(wheel, 100);
        if (step % 4 == 0) {
            assert_int_equal(verge_wheel_reserve(wheel, AT_ONCE, 0), 0);
        } else if (step % 4 == 1) {
            schedule_many(wheel, timers + kept, AT_ONCE);
            kept += AT_ONCE;
        } else if (step % 4 == 2) {
            cancel_all(wheel, timers + kept - AT_ONCE, AT_ONCE);
            kept -= AT_ONCE;
            assert_int_equal(verge_wheel_reserve(wheel, 0, 0), 0);
        } else { /* cancels some of the timers from the beginning */
            cancel_all(wheel, timers + kept - SLAB, SLAB);
            kept -= SLAB;
        }
        assert_well(wheel);
        assert_int_equal(verge_wheel_count(wheel), kept);
    }
    cancel_all(wheel, timers, kept);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).nodes, SLAB); /* the first slab stays */
    wheel_end(wheel);
}

/* A timer was moved later, and its node comes up at the old time. The level for the new deadline is there then,
 * although it was empty when compact was called. */
static void compact_keeps_the_level_of_a_timer_that_was_moved(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    const verge_timer timer = schedule(wheel, 10 * TICK, 7);
    assert_int_equal(verge_wheel_reset(wheel, timer, YEAR), 0);
    verge_wheel_compact(wheel);
    assert_quiet(wheel, 20 * TICK);
    assert_well(wheel);
    assert_quiet(wheel, YEAR - 1);
    assert_fires(wheel, YEAR + TICK, timer);
    wheel_end(wheel);
}

int main(void) {
    static verge_order any = VERGE_ORDER_ANY;
    static verge_order fifo = VERGE_ORDER_FIFO;
    const struct CMUnitTest tests[] = {
        {"a_million_pending", a_million_pending, NULL, NULL, &any},
        {"a_million_pending_fifo", a_million_pending, NULL, NULL, &fifo},
        {"a_million_moved_at_random", a_million_moved_at_random, NULL, NULL, &any},
        {"a_million_moved_at_random_fifo", a_million_moved_at_random, NULL, NULL, &fifo},
        {"a_million_cancelled_and_scheduled_again", a_million_cancelled_and_scheduled_again, NULL, NULL, &any},
        {"a_million_cancelled_and_scheduled_again_fifo", a_million_cancelled_and_scheduled_again, NULL, NULL, &fifo},
        cmocka_unit_test(a_small_wheel_takes_little),
        cmocka_unit_test(cancels_alone_give_back),
        cmocka_unit_test(polls_alone_give_back),
        cmocka_unit_test(idle_nodes_of_moves_are_bounded_without_a_poll),
        cmocka_unit_test(idle_nodes_of_cancels_are_bounded_without_a_poll),
        cmocka_unit_test(memory_shrinks_with_the_load),
        cmocka_unit_test(memory_shrinks_while_idle),
        cmocka_unit_test(memory_shrinks_around_those_who_stay),
        cmocka_unit_test(a_load_that_comes_back_finds_what_was_set_aside),
        cmocka_unit_test(handles_survive_growing_and_shrinking),
        {"timers_come_and_go_while_memory_goes_back", timers_come_and_go_while_memory_goes_back, NULL, NULL, &any},
        {"timers_come_and_go_while_memory_goes_back_fifo", timers_come_and_go_while_memory_goes_back, NULL, NULL,
         &fifo},
        cmocka_unit_test(a_slab_goes_back_with_its_last_timer),
        cmocka_unit_test(memory_stays_until_the_ratio_is_reached),
        cmocka_unit_test(memory_goes_down_to_the_multiplier),
        cmocka_unit_test(a_few_timers_keep_their_slabs),
        cmocka_unit_test(low_slabs_are_filled_first),
        cmocka_unit_test(memory_is_wanted_while_it_goes_back),
        cmocka_unit_test(compact_keeps_the_level_of_a_timer_that_was_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
