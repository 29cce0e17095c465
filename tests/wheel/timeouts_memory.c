/* SPDX-License-Identifier: MIT */
/* G7 for timeouts: they take nothing but their own memory, leave few idle nodes behind, and need no other memory. */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

enum { IDLE_MAX = 3072 };

struct fixture {
    struct verge_test_allocator memory;
    verge_wheel *wheel;
    struct numbered **timeouts; /* each in its own block, so that AddressSanitizer notices accesses after free */
    size_t count;
};

static void set_up(struct fixture *fixture, verge_order order, size_t count) {
    memset(fixture, 0, sizeof(*fixture));
    verge_test_allocator_init(&fixture->memory);
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    options.allocator = &fixture->memory.allocator;
    fixture->wheel = wheel_new(&options);
    fixture->timeouts = calloc(count, sizeof(*fixture->timeouts));
    assert_non_null(fixture->timeouts);
    fixture->count = count;
}

static void make(struct fixture *fixture, size_t i) {
    fixture->timeouts[i] = calloc(1, sizeof(**fixture->timeouts));
    assert_non_null(fixture->timeouts[i]);
    fixture->timeouts[i]->number = i;
}

static void make_all(struct fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        make(fixture, i);
    }
}

static void end(struct fixture *fixture, size_t i) {
    verge_timeout *timeout = &fixture->timeouts[i]->timeout;
    const bool is_set = verge_timeout_deadline(timeout) != VERGE_NEVER;
    assert_int_equal(verge_timeout_cancel(fixture->wheel, timeout), is_set ? 0 : -ENOENT);
    free(fixture->timeouts[i]);
    fixture->timeouts[i] = NULL;
}

static void set(struct fixture *fixture, size_t i, uint64_t deadline_ns) {
    assert_int_equal(verge_timeout_start(fixture->wheel, &fixture->timeouts[i]->timeout, deadline_ns), 0);
}

static void tear_down(struct fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->timeouts[i] != NULL) {
            end(fixture, i);
        }
    }
    assert_well(fixture->wheel);
    assert_int_equal(stats_of(fixture->wheel).bytes, fixture->memory.bytes_in_use);
    verge_wheel_destroy(fixture->wheel);
    verge_test_allocator_assert_empty(&fixture->memory);
    free((void *)fixture->timeouts);
}

static void assert_bounded(const struct fixture *fixture) {
    const verge_wheel_stats stats = stats_of(fixture->wheel);
    if (stats.idle > IDLE_MAX) {
        fail_msg("%zu timers, %zu idle nodes", (size_t)stats.timers, (size_t)stats.idle);
    }
}

/* Without a pause, timeouts leave no idle node behind. */
static void assert_none_idle(const struct fixture *fixture) {
    assert_int_equal(stats_of(fixture->wheel).idle, 0);
}

static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};

/* ---- what timeouts take ---- */

/* A poll that finds many timers, or a reserve, allocates slots for more timers. Timeouts take no other memory. */
static void they_take_nothing(void **state) {
    (void)state;
    enum { COUNT = 100000, SLOT_BYTES_MAX = 128 << 10 };
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, COUNT);
    const size_t empty = fixture.memory.bytes_in_use;
    make_all(&fixture);
    for (size_t i = 0; i < COUNT; i++) {
        set(&fixture, i, HOUR + i * TICK);
    }
    set(&fixture, 0, 5 * TICK);
    assert_int_equal(fixture.memory.bytes_in_use, empty);
    assert_fires(fixture.wheel, 5 * TICK, 0);
    set(&fixture, 0, HOUR);
    assert_in_range(fixture.memory.bytes_in_use, empty + 1, SLOT_BYTES_MAX);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_timeout_pause(fixture.wheel, &fixture.timeouts[i]->timeout), 0);
        assert_bounded(&fixture);
    }
    assert_int_equal(stats_of(fixture.wheel).cancelled, COUNT);
    verge_wheel_compact(fixture.wheel);
    assert_int_equal(stats_of(fixture.wheel).linked, 0);
    assert_in_range(fixture.memory.bytes_in_use, 1, empty);
    tear_down(&fixture);
}

/* All timeouts of a backlog are freed before they were handed out, whether they were sorted already or not. Then
 * nothing is due, no idle node is left, and timeouts that are started later come out. */
static void a_backlog_that_is_freed(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], 1000);
        make_all(&fixture);
        for (size_t i = 0; i < fixture.count; i++) {
            set(&fixture, i, (10 + i % 3) * TICK);
        }
        verge_expiry out[16];
        assert_int_equal(verge_wheel_poll(fixture.wheel, 10 * TICK, out, COUNT_OF(out)), COUNT_OF(out));
        for (size_t i = fixture.count; i-- > 1;) {
            end(&fixture, i);
            assert_none_idle(&fixture);
        }
        (void)verge_timeout_cancel(fixture.wheel, &fixture.timeouts[0]->timeout);
        assert_int_equal(verge_wheel_count(fixture.wheel), 0);
        assert_false(verge_wheel_has_backlog(fixture.wheel));
        assert_well(fixture.wheel);
        (void)level_stats_of(fixture.wheel, 0);
        assert_int_equal(verge_wheel_next_deadline(fixture.wheel), VERGE_NEVER);
        set(&fixture, 0, 12 * TICK);
        assert_int_equal(verge_wheel_next_deadline(fixture.wheel), 12 * TICK);
        for (size_t i = 1; i < fixture.count; i++) {
            make(&fixture, i);
        }
        set(&fixture, 500, 11 * TICK);
        assert_well(fixture.wheel);
        assert_fires(fixture.wheel, 11 * TICK, 0);
        assert_fires(fixture.wheel, 12 * TICK, 0);
        assert_quiet(fixture.wheel, 20 * TICK);
        assert_int_equal(stats_of(fixture.wheel).linked, 0);
        tear_down(&fixture);
    }
}

/* Timeouts are started, and freed before they are due, as the timeouts of requests are. */
static void many_lives_take_no_more(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], 100);
        uint64_t bytes = 0;
        const size_t lives = test_scaled(200000);
        for (size_t i = 0; i < lives; i++) {
            const size_t which = i * 7 % fixture.count;
            if (fixture.timeouts[which] != NULL) {
                end(&fixture, which);
            }
            make(&fixture, which);
            set(&fixture, which, verge_wheel_now(fixture.wheel) + HOUR + i % 50 * TICK);
            if (i % 100 == 0) {
                assert_quiet(fixture.wheel, i * US);
            }
            assert_none_idle(&fixture);
            if (i == lives / 10) {
                bytes = stats_of(fixture.wheel).bytes;
            }
        }
        assert_true(stats_of(fixture.wheel).bytes <= bytes + ((size_t)64 << 10));
        tear_down(&fixture);
    }
}

/* Timeouts take no node of the table. So the nodes of timers that have ended go back, however many timeouts are
 * pending. */
static void records_go_while_timeouts_stay(void **state) {
    (void)state;
    enum { COUNT = 200000, RECORDS_KEPT = 512 };
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, COUNT);
    verge_timer *timers = calloc(COUNT, sizeof(*timers));
    assert_non_null(timers);
    make_all(&fixture);
    for (size_t i = 0; i < COUNT; i++) {
        set(&fixture, i, HOUR + i * TICK);
        timers[i] = schedule(fixture.wheel, HOUR + i * TICK, i);
    }
    assert_true(stats_of(fixture.wheel).nodes >= COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_wheel_cancel(fixture.wheel, timers[i], NULL), 0);
    }
    free(timers);
    assert_true(stats_of(fixture.wheel).nodes <= RECORDS_KEPT);
    assert_well(fixture.wheel);
    tear_down(&fixture);
}

/* ---- what timeouts leave behind ---- */

/* Each timeout is started for one past time after the other, alone, and beside timeouts that are not past. */
static void storm_of_sets_in_a_backlog(void **state) {
    (void)state;
    enum { COUNT = 20000, OTHERS_MAX = 130, ROUNDS = 3 };
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        for (size_t others = 0; others <= OTHERS_MAX; others += OTHERS_MAX) {
            struct fixture fixture;
            set_up(&fixture, orders[order], COUNT);
            make_all(&fixture);
            assert_quiet(fixture.wheel, HOUR);
            for (size_t i = 0; i < others; i++) {
                set(&fixture, i, 2 * HOUR);
            }
            for (size_t round = 0; round < ROUNDS; round++) {
                for (size_t i = others; i < COUNT; i++) {
                    set(&fixture, i, HOUR / 2 - round * 10 * TICK - i);
                    assert_none_idle(&fixture);
                }
            }
            assert_well(fixture.wheel);
            tear_down(&fixture);
        }
    }
}

static void storm_of_sets_to_earlier_times(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], 1000);
        make_all(&fixture);
        const size_t rounds = test_scaled(2000) / 10;
        for (size_t round = 0; round < rounds; round++) {
            for (size_t i = 0; i < fixture.count; i++) {
                set(&fixture, i, HOUR - round * 10 * TICK - i);
                assert_none_idle(&fixture);
            }
        }
        assert_well(fixture.wheel);
        tear_down(&fixture);
    }
}

/* All timeouts are freed. Then each is freed and another one takes its memory. Some of them are due. */
static void storm_of_frees(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], test_scaled(50000));
        make_all(&fixture);
        for (size_t i = 0; i < fixture.count; i++) {
            set(&fixture, i, 10 * TICK + i % 2 * HOUR);
        }
        verge_expiry out[1];
        assert_int_equal(verge_wheel_poll(fixture.wheel, 20 * TICK, out, 1), 1); /* half of them are a backlog */
        for (size_t i = 0; i < fixture.count; i++) {
            end(&fixture, i);
            assert_none_idle(&fixture);
        }
        assert_well(fixture.wheel);
        for (size_t i = 0; i < fixture.count; i++) {
            make(&fixture, i);
            set(&fixture, i, i % 3 == 0 ? TICK : HOUR); /* the past, or the deadline that freed ones had */
        }
        assert_well(fixture.wheel);
        for (size_t i = 0; i < fixture.count; i++) {
            end(&fixture, i);
            make(&fixture, i);
            set(&fixture, i, i % 3 == 0 ? TICK : HOUR);
            assert_none_idle(&fixture);
        }
        assert_well(fixture.wheel);
        for (size_t i = 0; i < fixture.count; i++) {
            end(&fixture, i);
            assert_none_idle(&fixture);
        }
        tear_down(&fixture);
    }
}

/* Each timeout that is started comes out once, beside idle nodes of paused ones. */
static void none_is_lost_in_a_storm(void **state) {
    (void)state;
    enum { COUNT = 12000 };
    static verge_expiry out[COUNT];
    struct verge_test_random random = verge_test_random_from(verge_test_seed(3));
    for (size_t i = 0; i < 2 * COUNT_OF(orders); i++) {
        struct fixture fixture;
        verge__idle_max = i < COUNT_OF(orders) ? 8 : VERGE__IDLE_MAX; /* 8: fewer idle nodes are allowed */
        set_up(&fixture, orders[i % COUNT_OF(orders)], COUNT);
        make_all(&fixture);
        uint64_t most_idle = 0;
        for (size_t round = 0; round < test_scaled(300) / 10; round++) {
            const uint64_t now_ns = verge_wheel_now(fixture.wheel);
            for (size_t n = 0; n < COUNT; n++) {
                const size_t which = (size_t)verge_test_below(&random, COUNT);
                const uint64_t what = verge_test_below(&random, 8);
                if (what == 0) {
                    (void)verge_timeout_pause(fixture.wheel, &fixture.timeouts[which]->timeout);
                } else if (what < 4) {
                    end(&fixture, which);
                    make(&fixture, which);
                }
                /* Few different ticks, so that lists are long. While there is a backlog, no node stays idle. */
                if (what > 1) {
                    set(&fixture, which, now_ns + (verge_test_below(&random, 6) * 40 + round % 2) * TICK);
                }
            }
            const uint64_t idle = stats_of(fixture.wheel).idle;
            most_idle = idle > most_idle ? idle : most_idle;
            assert_well(fixture.wheel);
            const size_t limit = (size_t)verge_test_below(&random, COUNT);
            const uint64_t then_ns = now_ns + verge_test_below(&random, 60) * TICK;
            const size_t count = verge_wheel_poll(fixture.wheel, then_ns, out, limit);
            for (size_t k = 0; k < count; k++) {
                const uintptr_t which = number_of_expiry(&out[k]);
                assert_int_equal(verge_timeout_deadline(&fixture.timeouts[which]->timeout), VERGE_NEVER);
                assert_true(out[k].deadline_ns <= then_ns);
            }
            assert_well(fixture.wheel);
            if (!verge_wheel_has_backlog(fixture.wheel)) {
                for (size_t which = 0; which < COUNT; which++) {
                    const uint64_t deadline_ns = verge_timeout_deadline(&fixture.timeouts[which]->timeout);
                    assert_true(deadline_ns > then_ns || then_ns - deadline_ns < TICK);
                }
            }
        }
        assert_in_range(most_idle, 1, verge__idle_max);
        tear_down(&fixture);
    }
    verge__idle_max = VERGE__IDLE_MAX;
}

/* ---- when memory is refused ---- */

/* There is no memory. Each timeout can still be started, and moved to any time, and comes out in time. Starts of timers
 * with handles fail, and do not disturb the timeouts. */
static void set_without_memory(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], 500);
        for (size_t i = 0; i < 100; i++) { /* leaves nodes for handles, some of them idle */
            assert_int_equal(verge_wheel_cancel(fixture.wheel, schedule(fixture.wheel, HOUR + i * TICK, i), NULL), 0);
        }
        make_all(&fixture);
        fixture.memory.fail_from = fixture.memory.calls + 1;
        struct verge_test_random random = verge_test_random_from(verge_test_seed(7));
        size_t failures = 0;
        for (size_t n = 0; n < 20000; n++) {
            const size_t i = (size_t)verge_test_below(&random, fixture.count);
            const uint64_t now_ns = verge_wheel_now(fixture.wheel);
            const uint64_t far_ns = verge_test_magnitude(&random) >> 4;
            verge_expiry out[64];
            switch (verge_test_below(&random, 6)) {
            case 0:
                failures += verge_wheel_start(fixture.wheel, now_ns + far_ns, NULL, NULL) != 0;
                break;
            case 1:
                (void)verge_timeout_pause(fixture.wheel, &fixture.timeouts[i]->timeout);
                break;
            case 2:
                (void)verge_timeout_cancel(fixture.wheel, &fixture.timeouts[i]->timeout);
                break;
            case 3:
                for (size_t count = verge_wheel_poll(fixture.wheel, now_ns + far_ns % (700 * TICK), out, COUNT_OF(out));
                     count > 0; count--) {
                    assert_true(out[count - 1].deadline_ns <= verge_wheel_now(fixture.wheel));
                }
                break;
            default:
                set(&fixture, i, now_ns + far_ns);
                break;
            }
        }
        assert_true(failures > 100);
        assert_well(fixture.wheel);
        /* A clock that jumps by years costs little work (G8). */
        set(&fixture, 0, verge_wheel_now(fixture.wheel) + 10 * YEAR);
        const uint64_t later_ns = verge_wheel_now(fixture.wheel) + 9 * YEAR;
        uint64_t work = 0;
        do {
            verge_expiry out[64];
            (void)verge_wheel_poll(fixture.wheel, later_ns, out, COUNT_OF(out));
            work += stats_of(fixture.wheel).last_poll_work;
        } while (verge_wheel_has_backlog(fixture.wheel));
        assert_in_range(work, 1, 100 * fixture.count);
        /* All timeouts are started at once, each for a tick of its own. */
        const uint64_t now_ns = verge_wheel_now(fixture.wheel);
        for (size_t i = 0; i < fixture.count; i++) {
            set(&fixture, i, now_ns + (2 + i * 3) * TICK);
        }
        for (uint64_t tick = 0; tick < 3 * fixture.count + 4; tick++) {
            verge_expiry out[64];
            while (verge_wheel_poll(fixture.wheel, now_ns + tick * TICK, out, COUNT_OF(out)) > 0) {
            }
            for (size_t i = 0; i < fixture.count; i++) {
                const uint64_t deadline_ns = verge_timeout_deadline(&fixture.timeouts[i]->timeout);
                assert_true(deadline_ns > now_ns + (tick == 0 ? 0 : tick - 1) * TICK);
            }
        }
        assert_well(fixture.wheel);
        fixture.memory.fail_from = 0;
        tear_down(&fixture);
    }
}

/* After a reserve for timeouts, no start and no poll allocates, whatever is cancelled meanwhile. */
static void no_allocation_after_reserve(void **state) {
    (void)state;
    enum { ROOM = 1000 };
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        struct fixture fixture;
        set_up(&fixture, orders[order], ROOM);
        make_all(&fixture);
        assert_int_equal(verge_wheel_reserve(fixture.wheel, 0, ROOM), 0);
        const uint64_t calls = fixture.memory.calls;
        fixture.memory.fail_from = calls + 1;
        struct verge_test_random random = verge_test_random_from(verge_test_seed(11));
        for (size_t n = test_scaled(300000); n > 0; n--) {
            const size_t i = (size_t)verge_test_below(&random, ROOM);
            const uint64_t now_ns = verge_wheel_now(fixture.wheel);
            const uint64_t largest_ns = verge_wheel_largest_deadline(fixture.wheel);
            const uint64_t delta_ns = verge_test_magnitude(&random);
            switch (verge_test_below(&random, 8)) {
            case 0:
                (void)verge_timeout_cancel(fixture.wheel, &fixture.timeouts[i]->timeout);
                break;
            case 1:
                end(&fixture, i);
                make(&fixture, i);
                break;
            case 2: {
                verge_expiry out[64];
                (void)verge_wheel_poll(fixture.wheel, now_ns + delta_ns % (4 * TICK), out, COUNT_OF(out));
                break;
            }
            default:
                set(&fixture, i, delta_ns > largest_ns - now_ns ? largest_ns : now_ns + delta_ns);
            }
        }
        assert_int_equal(fixture.memory.calls, calls);
        fixture.memory.fail_from = 0;
        tear_down(&fixture);
    }
}

/* Room for timers with handles and for timeouts: neither count alone would make the wheel wide. */
static void room_for_both_kinds(void **state) {
    (void)state;
    enum { TIMERS = 90, TIMEOUTS = 60 };
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, TIMEOUTS);
    make_all(&fixture);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, TIMERS, TIMEOUTS), 0);
    const uint64_t calls = fixture.memory.calls;
    for (uint64_t i = 0; i < TIMERS; i++) {
        (void)schedule(fixture.wheel, (i + 2) * TICK, i);
    }
    for (size_t i = 0; i < TIMEOUTS; i++) {
        set(&fixture, i, (i + 2) * TICK);
    }
    assert_int_equal(poll_count(fixture.wheel, 2 * TICK), 2);
    assert_int_equal(fixture.memory.calls, calls);
    assert_well(fixture.wheel);
    verge_wheel_cancel_all(fixture.wheel);
    tear_down(&fixture);
}

/* If there is no memory for the slots, the wheel does not keep the nodes, nor does it forget what was reserved. */
static void a_reserve_that_fails(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, 1);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 10, 0), 0);
    const struct snapshot before = snapshot_of(fixture.wheel);
    fixture.memory.fail_from = fixture.memory.calls + 1;
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 0, 1000), -ENOMEM);
    assert_unchanged(fixture.wheel, &before);
    for (uint64_t i = 0; i < 10; i++) {
        (void)schedule(fixture.wheel, HOUR, i);
    }
    verge_wheel_cancel_all(fixture.wheel);
    const uint64_t slots = level_stats_of(fixture.wheel, 0).slots;
    int error = -ENOMEM;
    for (uint64_t allowed = 0; error != 0; allowed++) {
        fixture.memory.fail_from = fixture.memory.calls + 1 + allowed;
        error = verge_wheel_reserve(fixture.wheel, 3000, 1000);
        if (error != 0) {
            assert_int_equal(error, -ENOMEM);
            assert_int_equal(level_stats_of(fixture.wheel, 0).slots, slots);
            assert_true(stats_of(fixture.wheel).nodes <= 512); /* the first slab */
        }
    }
    assert_true(level_stats_of(fixture.wheel, 0).slots > slots);
    assert_true(stats_of(fixture.wheel).nodes >= 3000);
    fixture.memory.fail_from = 0;
    tear_down(&fixture);
}

static int reserve_more(void *context, const verge_expiry *timer) {
    (void)timer;
    const uint64_t bytes = stats_of(context).bytes;
    assert_int_equal(verge_wheel_reserve(context, 1000, 1000), -EBUSY);
    assert_int_equal(stats_of(context).bytes, bytes);
    return verge_wheel_reserve(context, 1000, 0) == 0 ? 1 : -1;
}

/* During a visit, the wheel cannot become wide. The reserved nodes are there nevertheless, and no poll allocates. */
static void reserve_inside_a_visit(void **state) {
    (void)state;
    enum { ROOM = 1000 };
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, 1);
    make_all(&fixture);
    set(&fixture, 0, TICK);
    assert_int_equal(verge_wheel_iterate(fixture.wheel, reserve_more, fixture.wheel), 1);
    const uint64_t calls = fixture.memory.calls;
    for (uint64_t i = 0; i < ROOM; i++) {
        assert_int_equal(verge_wheel_start(fixture.wheel, (i + 1) * TICK, NULL, NULL), 0);
    }
    verge_expiry out[64];
    (void)verge_wheel_poll(fixture.wheel, 10 * TICK, out, COUNT_OF(out));
    assert_int_equal(fixture.memory.calls, calls);
    assert_well(fixture.wheel);
    verge_wheel_cancel_all(fixture.wheel);
    tear_down(&fixture);
}

/* The count of a slot that never becomes empty includes all nodes that ever came, up to the largest number. */
static void a_slot_whose_count_is_full(void **state) {
    (void)state;
    enum { COUNT = 30 };
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, COUNT);
    make_all(&fixture);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 0, 1000), 0);
    for (size_t i = 0; i < COUNT / 2; i++) {
        set(&fixture, i, 7 * DAY);
    }
    verge__calendar *calendar = &fixture.wheel->calendar;
    for (size_t k = 1; k < calendar->level_count; k++) {
        for (size_t slot = 0; calendar->levels[k].counts != NULL && slot <= calendar->levels[k].mask; slot++) {
            if (calendar->levels[k].counts[slot] > 0) {
                calendar->levels[k].counts[slot] = UINT32_MAX - COUNT / 4;
            }
        }
    }
    for (size_t i = COUNT / 2; i < COUNT; i++) {
        set(&fixture, i, 7 * DAY);
        assert_well(fixture.wheel);
    }
    size_t count = 0;
    for (uint64_t now_ns = 0; now_ns < 7 * DAY + 2 * HOUR; now_ns += HOUR) {
        verge_expiry out[COUNT];
        count += verge_wheel_poll(fixture.wheel, now_ns, out, COUNT_OF(out));
        assert_well(fixture.wheel);
    }
    assert_int_equal(count, COUNT);
    tear_down(&fixture);
}

/* Timeouts end, and others take their memory, for the same tick. The cursor is closer by then, and the tick is in a
 * lower level. */
static void lives_for_one_tick_in_several_levels(void **state) {
    (void)state;
    enum { COUNT = 40000, LEVEL_START = 1 << 24 };
    static const uint64_t ticks[] = {0, 16, LEVEL_START - (1 << 18) + 16, LEVEL_START - (1 << 12) + 16};
    struct fixture fixture;
    set_up(&fixture, VERGE_ORDER_ANY, COUNT);
    make_all(&fixture);
    assert_int_equal(verge_wheel_reserve(fixture.wheel, 0, COUNT), 0);
    const uint64_t calls = fixture.memory.calls;
    fixture.memory.fail_from = calls + 1;
    for (size_t round = 0; round < COUNT_OF(ticks); round++) {
        assert_quiet(fixture.wheel, ticks[round] * TICK);
        for (size_t i = 0; i < COUNT; i++) {
            end(&fixture, i);
            make(&fixture, i);
            set(&fixture, i, (LEVEL_START + 5) * TICK);
            assert_none_idle(&fixture);
        }
        assert_well(fixture.wheel);
    }
    assert_int_equal(fixture.memory.calls, calls);
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_take_nothing),
        cmocka_unit_test(a_backlog_that_is_freed),
        cmocka_unit_test(many_lives_take_no_more),
        cmocka_unit_test(records_go_while_timeouts_stay),
        cmocka_unit_test(storm_of_sets_in_a_backlog),
        cmocka_unit_test(storm_of_sets_to_earlier_times),
        cmocka_unit_test(storm_of_frees),
        cmocka_unit_test(none_is_lost_in_a_storm),
        cmocka_unit_test(set_without_memory),
        cmocka_unit_test(no_allocation_after_reserve),
        cmocka_unit_test(room_for_both_kinds),
        cmocka_unit_test(a_reserve_that_fails),
        cmocka_unit_test(reserve_inside_a_visit),
        cmocka_unit_test(a_slot_whose_count_is_full),
        cmocka_unit_test(lives_for_one_tick_in_several_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
