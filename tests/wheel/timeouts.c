/* SPDX-License-Identifier: MIT */
/* Timeouts: their life, their errors, and that what is promised of timers (G1 to G6) holds for them, beside timers that have
 * handles, in every order and after every way an entry can outlive what it was for. */
#include "wheel/support.h"

static verge_timeout *timeout_new(verge_wheel *wheel, uintptr_t number) {
    verge_timeout *timeout = malloc(sizeof(*timeout));
    assert_non_null(timeout);
    memset(timeout, 0xa5, sizeof(*timeout)); /* what is in it does not matter */
    assert_int_equal(verge_timeout_attach(wheel, timeout, data_of(number)), 0);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
    return timeout;
}

/* Its memory is gone at once: AddressSanitizer sees who looks there later. */
static void timeout_end(verge_wheel *wheel, verge_timeout *timeout) {
    assert_int_equal(verge_timeout_detach(wheel, timeout), 0);
    free(timeout);
}

static void set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    assert_int_equal(verge_timeout_set(wheel, timeout, deadline_ns), 0);
    assert_int_equal(verge_timeout_deadline(timeout), deadline_ns);
}

static void clear(verge_wheel *wheel, verge_timeout *timeout) {
    assert_int_equal(verge_timeout_clear(wheel, timeout), 0);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
}

/* A poll returns just this timeout, which is not set then. */
static void assert_strikes(verge_wheel *wheel, uint64_t now_ns, const verge_timeout *timeout, uintptr_t number) {
    verge_expiry out[4];
    const uint64_t deadline_ns = verge_timeout_deadline(timeout);
    assert_int_equal(verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out)), 1);
    assert_int_equal(out[0].timer, 0);
    assert_int_equal(out[0].deadline_ns, deadline_ns);
    assert_int_equal(number_of(out[0].data), number);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
}

static verge_wheel_options options_with(verge_order order) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    return options;
}

static const verge_order orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};

/* ---- life ---- */

static void a_life(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = timeout_new(wheel, 7);
        assert_int_equal(verge_wheel_count(wheel), 0);
        set(wheel, timeout, 10 * TICK);
        assert_int_equal(verge_wheel_count(wheel), 1);
        assert_quiet(wheel, 10 * TICK - 1);
        assert_strikes(wheel, 10 * TICK, timeout, 7);
        assert_int_equal(verge_wheel_count(wheel), 0);
        set(wheel, timeout, 20 * TICK); /* again */
        set(wheel, timeout, 30 * TICK); /* later */
        assert_quiet(wheel, 29 * TICK);
        assert_strikes(wheel, 30 * TICK, timeout, 7);
        set(wheel, timeout, 50 * TICK);
        set(wheel, timeout, 40 * TICK); /* earlier */
        assert_strikes(wheel, 49 * TICK, timeout, 7);
        assert_quiet(wheel, 60 * TICK);
        set(wheel, timeout, 70 * TICK);
        clear(wheel, timeout);
        assert_quiet(wheel, 80 * TICK);
        set(wheel, timeout, 90 * TICK);
        assert_well(wheel);
        timeout_end(wheel, timeout); /* while it is set */
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_quiet(wheel, 100 * TICK);
        const verge_wheel_stats stats = stats_of(wheel);
        assert_int_equal(stats.scheduled, 5);
        assert_int_equal(stats.expired, 3);
        assert_int_equal(stats.cancelled, 2);
        wheel_end(wheel);
    }
}

/* Detached ones may be attached again, to this wheel or another. */
static void from_wheel_to_wheel(void **state) {
    (void)state;
    verge_wheel *wheels[] = {wheel_new(NULL), wheel_new(NULL)};
    verge_timeout *timeout = timeout_new(wheels[0], 1);
    for (size_t i = 0; i < 10; i++) {
        verge_wheel *wheel = wheels[i % 2];
        const uint64_t now_ns = verge_wheel_now(wheel);
        set(wheel, timeout, now_ns + 5 * TICK);
        assert_strikes(wheel, now_ns + 5 * TICK, timeout, 1);
        set(wheel, timeout, now_ns + 9 * TICK);
        assert_int_equal(verge_timeout_detach(wheel, timeout), 0);
        assert_quiet(wheel, now_ns + 20 * TICK);
        assert_int_equal(verge_timeout_attach(wheels[(i + 1) % 2], timeout, data_of(1)), 0);
    }
    wheel_end(wheels[0]);
    wheel_end(wheels[1]);
    free(timeout); /* its wheel is no more */
}

static void a_wheel_may_end_before_them(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct verge_test_allocator memory;
        verge_test_allocator_init(&memory);
        verge_wheel_options options = options_with(orders[i]);
        options.allocator = &memory.allocator;
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *idle = timeout_new(wheel, 1);
        verge_timeout *pending = timeout_new(wheel, 2);
        set(wheel, pending, HOUR);
        assert_well(wheel);
        free(idle); /* nobody looks at them from here on */
        free(pending);
        verge_wheel_destroy(wheel);
        verge_test_allocator_assert_empty(&memory);
    }
}

/* ---- errors, each of which changes nothing ---- */

static void no_wheel_and_no_timeout(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, HOUR);
    const struct snapshot before = snapshot_of(wheel);
    const verge_timeout copy = *timeout;
    assert_int_equal(verge_timeout_attach(NULL, timeout, NULL), -EINVAL);
    assert_int_equal(verge_timeout_attach(wheel, NULL, NULL), -EINVAL);
    assert_int_equal(verge_timeout_detach(NULL, timeout), -EINVAL);
    assert_int_equal(verge_timeout_detach(wheel, NULL), -EINVAL);
    assert_int_equal(verge_timeout_set(NULL, timeout, 1), -EINVAL);
    assert_int_equal(verge_timeout_set(wheel, NULL, HOUR), -EINVAL);
    assert_int_equal(verge_timeout_clear(NULL, timeout), -EINVAL);
    assert_int_equal(verge_timeout_clear(wheel, NULL), -EINVAL);
    assert_int_equal(verge_timeout_deadline(NULL), VERGE_NEVER);
    assert_memory_equal(timeout, &copy, sizeof(copy));
    assert_unchanged(wheel, &before);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* also_ns: another deadline to try */
static void assert_stranger(verge_wheel *wheel, verge_timeout *stranger, uint64_t also_ns) {
    const struct snapshot before = snapshot_of(wheel);
    const uint64_t deadlines_ns[] = {0, 1, TICK, 5 * TICK, HOUR, YEAR, also_ns, VERGE_NEVER - 1, VERGE_NEVER};
    for (size_t i = 0; i < COUNT_OF(deadlines_ns); i++) {
        assert_int_equal(verge_timeout_set(wheel, stranger, deadlines_ns[i]), -EINVAL);
    }
    assert_int_equal(verge_timeout_clear(wheel, stranger), -ENOENT);
    assert_int_equal(verge_timeout_detach(wheel, stranger), -EINVAL);
    assert_int_equal(verge_timeout_deadline(stranger), VERGE_NEVER);
    assert_unchanged(wheel, &before);
}

/* At every start, and where all keep their entries, so that the shortest way is taken. */
static void zeroed_and_detached(void **state) {
    (void)state;
    static const uint64_t starts_ns[] = {0, 1, HOUR, UINT64_C(1) << 36, UINT64_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(starts_ns) * COUNT_OF(orders); i++) {
        verge_wheel_options options = options_with(orders[i % COUNT_OF(orders)]);
        options.start_ns = starts_ns[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout zeroed;
        memset(&zeroed, 0, sizeof(zeroed));
        const uint64_t deadline_ns = options.start_ns + HOUR;
        assert_stranger(wheel, &zeroed, deadline_ns);
        verge_timeout *timeout = timeout_new(wheel, 1);
        for (uint64_t times = 0; times < 20; times++) {
            set(wheel, timeout, deadline_ns + times);
            (void)schedule(wheel, deadline_ns, 2);
        }
        assert_stranger(wheel, &zeroed, deadline_ns); /* for a slot where there is room for its entry */
        assert_int_equal(verge_timeout_detach(wheel, timeout), 0);
        assert_stranger(wheel, timeout, deadline_ns);
        free(timeout);
        wheel_end(wheel);
    }
}

/* One of another wheel, whose number is in use here, is not taken for this one's. */
static void of_another_wheel(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_wheel *other = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    verge_timeout *others = timeout_new(other, 2);
    assert_int_equal(timeout->number, others->number);
    assert_int_equal(verge_timeout_detach(wheel, others), -EINVAL);
    timeout_end(wheel, timeout);
    assert_int_equal(verge_timeout_detach(wheel, others), -EINVAL);
    timeout_end(other, others);
    wheel_end(wheel);
    wheel_end(other);
}

static void clear_of_what_is_not_set(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_clear(wheel, timeout), -ENOENT); /* never set */
    assert_unchanged(wheel, &before);
    set(wheel, timeout, HOUR);
    clear(wheel, timeout);
    before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_clear(wheel, timeout), -ENOENT); /* cleared */
    assert_unchanged(wheel, &before);
    set(wheel, timeout, 2 * HOUR);
    assert_strikes(wheel, 3 * HOUR, timeout, 1);
    before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_clear(wheel, timeout), -ENOENT); /* returned by a poll */
    assert_unchanged(wheel, &before);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

static void assert_refused(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns, int error) {
    (void)verge_wheel_next_deadline(wheel); /* may drop what does not count */
    const struct snapshot before = snapshot_of(wheel);
    const verge_timeout copy = *timeout;
    assert_int_equal(verge_timeout_set(wheel, timeout, deadline_ns), error);
    assert_memory_equal(timeout, &copy, sizeof(copy));
    assert_unchanged(wheel, &before);
}

/* Whether it is set or not. */
static void beyond_the_range(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        static const uint8_t bits[] = {6, 6, 0};
        verge_wheel_options options = options_of_levels(TICK, bits);
        options.order = orders[i];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = timeout_new(wheel, 1);
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        for (int turn = 0; turn < 2; turn++) {
            assert_refused(wheel, timeout, largest_ns + 1, -ERANGE);
            assert_refused(wheel, timeout, VERGE_NEVER, -ERANGE);
            set(wheel, timeout, largest_ns);
        }
        assert_quiet(wheel, largest_ns - 1);
        assert_strikes(wheel, largest_ns, timeout, 1);
        timeout_end(wheel, timeout);
        wheel_end(wheel);
    }
}

static void the_past_as_the_wheel_judges_it(void **state) {
    (void)state;
    static const struct {
        verge_past past;
        int of_zero;
        int before_start;
        int before_now;
    } rules[] = {{VERGE_PAST_FIRES, 0, 0, 0},
                 {VERGE_PAST_SINCE_START, -EINVAL, -EINVAL, 0},
                 {VERGE_PAST_REJECTED, -EINVAL, -EINVAL, -EINVAL}};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.past = rules[i].past;
        options.start_ns = 100 * TICK;
        verge_wheel *wheel = wheel_new(&options);
        assert_quiet(wheel, 200 * TICK);
        const uint64_t deadlines_ns[] = {0, 50 * TICK, 150 * TICK};
        const int errors[] = {rules[i].of_zero, rules[i].before_start, rules[i].before_now};
        for (size_t k = 0; k < COUNT_OF(errors); k++) {
            verge_timeout *timeout = timeout_new(wheel, k);
            if (errors[k] != 0) {
                assert_refused(wheel, timeout, deadlines_ns[k], errors[k]);
                set(wheel, timeout, 300 * TICK);
                assert_refused(wheel, timeout, deadlines_ns[k], errors[k]); /* it stays where it was */
            } else {
                set(wheel, timeout, deadlines_ns[k]);
                assert_int_equal(verge_wheel_next_wakeup(wheel), 200 * TICK);
                assert_strikes(wheel, 200 * TICK, timeout, k);
                set(wheel, timeout, 300 * TICK);
                set(wheel, timeout, deadlines_ns[k]); /* moved there */
                assert_strikes(wheel, 200 * TICK, timeout, k);
            }
            timeout_end(wheel, timeout);
        }
        wheel_end(wheel);
    }
}

/* Those that are set count, with the handles; those that are attached do not. */
static void the_cap(void **state) {
    (void)state;
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.timer_cap = 3;
    verge_wheel *wheel = wheel_new(&options);
    verge_timeout *timeouts[5];
    for (size_t i = 0; i < COUNT_OF(timeouts); i++) {
        timeouts[i] = timeout_new(wheel, i);
    }
    const verge_timer timer = schedule(wheel, HOUR, 9);
    set(wheel, timeouts[0], HOUR);
    set(wheel, timeouts[1], HOUR);
    assert_refused(wheel, timeouts[2], HOUR, -ENOSPC);
    assert_int_equal(verge_wheel_schedule(wheel, HOUR, NULL, NULL), -ENOSPC);
    assert_int_equal(verge_wheel_reserve(wheel, 1), -ENOSPC);
    set(wheel, timeouts[0], 2 * HOUR); /* moves take no room */
    set(wheel, timeouts[0], MINUTE);
    clear(wheel, timeouts[1]);
    set(wheel, timeouts[2], HOUR);
    assert_refused(wheel, timeouts[1], HOUR, -ENOSPC);
    assert_strikes(wheel, 2 * MINUTE, timeouts[0], 0);
    set(wheel, timeouts[1], HOUR);
    timeout_end(wheel, timeouts[2]);
    set(wheel, timeouts[3], HOUR);
    assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    set(wheel, timeouts[4], HOUR);
    assert_refused(wheel, timeouts[0], HOUR, -ENOSPC);
    verge_wheel_clear(wheel);
    set(wheel, timeouts[0], HOUR);
    timeout_end(wheel, timeouts[0]);
    timeout_end(wheel, timeouts[1]);
    timeout_end(wheel, timeouts[3]);
    timeout_end(wheel, timeouts[4]);
    wheel_end(wheel);
}

/* ---- beside timers that have handles ---- */

/* Numbers of timers and timeouts in turn; which of them are what is told by .timer. */
static void order_beside_handles(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        enum { COUNT = 200, MOVED = 11 };
        verge_timeout *timeouts[COUNT] = {0};
        for (uintptr_t k = 0; k < COUNT; k++) {
            const uint64_t deadline_ns = 50 * TICK - k * 1000; /* all of one tick */
            if (k % 2 == 0) {
                timeouts[k] = timeout_new(wheel, k);
                set(wheel, timeouts[k], deadline_ns + (k % 4 == 0 ? 10 * TICK : 0)); /* some are moved there */
                set(wheel, timeouts[k], deadline_ns);
            } else {
                (void)schedule(wheel, deadline_ns, k);
            }
        }
        verge_expiry out[COUNT + 1];
        assert_int_equal(verge_wheel_poll(wheel, 50 * TICK, out, MOVED), MOVED);
        assert_true(verge_wheel_has_backlog(wheel));
        assert_int_equal(verge_wheel_next_deadline(wheel), 50 * TICK);
        assert_int_equal(verge_wheel_poll(wheel, 50 * TICK, out + MOVED, COUNT), COUNT - MOVED);
        bool seen[COUNT] = {false};
        for (size_t k = 0; k < COUNT; k++) {
            const uintptr_t number = number_of(out[k].data);
            assert_false(seen[number]);
            seen[number] = true;
            assert_int_equal(out[k].timer == 0, number % 2 == 0);
            if (orders[i] != VERGE_ORDER_ANY) {
                assert_int_equal(number, orders[i] == VERGE_ORDER_FIFO ? k : COUNT - 1 - k);
            }
        }
        for (size_t k = 0; k < COUNT; k += 2) {
            assert_int_equal(verge_timeout_deadline(timeouts[k]), VERGE_NEVER);
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* What is sorted already is cleared and set again, moved, or another's by now. */
static void changed_while_it_is_sorted(void **state) {
    (void)state;
    for (size_t i = 1; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts[10];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(wheel, k);
            set(wheel, timeouts[k], 10 * TICK - 100 + k);
        }
        verge_expiry out[COUNT_OF(timeouts)];
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1); /* the others are sorted */
        clear(wheel, timeouts[2]);
        set(wheel, timeouts[2], 10 * TICK - 50); /* for the past: comes out first */
        set(wheel, timeouts[3], 20 * TICK);
        timeout_end(wheel, timeouts[4]);
        timeouts[4] = timeout_new(wheel, 40); /* at its place */
        set(wheel, timeouts[4], 20 * TICK);
        clear(wheel, timeouts[5]);
        timeout_end(wheel, timeouts[6]);
        assert_well(wheel);
        ASSERT_FIRES_IN_ORDER(wheel, 10 * TICK, 2, 1, 7, 8, 9);
        ASSERT_FIRES_IN_ORDER(wheel, 20 * TICK, 3, 40);
        assert_quiet(wheel, HOUR);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            if (k != 6) {
                timeout_end(wheel, timeouts[k]);
            }
        }
        wheel_end(wheel);
    }
}

/* ---- next ---- */

static void the_next_deadline(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *first = timeout_new(wheel, 1);
        verge_timeout *second = timeout_new(wheel, 2);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_next_wakeup(wheel), VERGE_NEVER);
        set(wheel, first, 100 * TICK - 5);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        assert_true(verge_wheel_next_wakeup(wheel) <= 100 * TICK);
        const verge_timer timer = schedule(wheel, 100 * TICK - 3, 3);
        set(wheel, second, 100 * TICK - 4);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        clear(wheel, first);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 4);
        timeout_end(wheel, second);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        second = timeout_new(wheel, 2); /* at the place of the one that was the earliest */
        set(wheel, second, 200 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        set(wheel, first, 100 * TICK - 5);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 5);
        set(wheel, first, 300 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 100 * TICK - 3);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        uint64_t interval = 0;
        assert_int_equal(verge_wheel_first_interval(wheel, &interval, NULL, NULL), 0);
        assert_int_equal(interval, 200);
        assert_strikes(wheel, 250 * TICK, second, 2);
        assert_int_equal(verge_wheel_next_deadline(wheel), 300 * TICK);
        assert_strikes(wheel, 300 * TICK, first, 1);
        assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
        assert_int_equal(verge_wheel_first_interval(wheel, NULL, NULL, NULL), -ENOENT);
        timeout_end(wheel, first);
        timeout_end(wheel, second);
        wheel_end(wheel);
    }
}

/* The cache says which one was the earliest; its place, and the segment it was in, may be gone. */
static void the_earliest_is_detached_and_its_memory_gone(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *late = timeout_new(wheel, 1);
    verge_timeout *early = timeout_new(wheel, 2);
    set(wheel, late, 2 * HOUR);
    set(wheel, early, HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), HOUR);
    timeout_end(wheel, early);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    early = timeout_new(wheel, 3);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    set(wheel, early, 3 * HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), 2 * HOUR);
    clear(wheel, late);
    assert_int_equal(verge_wheel_next_deadline(wheel), 3 * HOUR);
    verge_wheel_clear(wheel);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    set(wheel, late, 4 * HOUR);
    assert_int_equal(verge_wheel_next_deadline(wheel), 4 * HOUR);
    timeout_end(wheel, early);
    timeout_end(wheel, late);
    wheel_end(wheel);
}

static void poll_exact_and_to_next(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[4];
        verge_timeout *timeouts[3];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(wheel, k);
            set(wheel, timeouts[k], 10 * TICK + 100 * (k + 1));
        }
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 99, out, COUNT_OF(out)), 0);
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 100, out, COUNT_OF(out)), 1);
        assert_int_equal(number_of(out[0].data), 0);
        assert_int_equal(out[0].timer, 0);
        set(wheel, timeouts[0], 10 * TICK + 250); /* again in the tick under way */
        assert_int_equal(verge_wheel_poll_exact(wheel, 10 * TICK + 300, out, 1), 1);
        for (size_t k = 0; k < COUNT_OF(timeouts); k++) { /* two of them are picked and not returned */
            const bool is_returned = k == number_of(out[0].data);
            assert_int_equal(verge_timeout_deadline(timeouts[k]) == VERGE_NEVER, is_returned);
        }
        assert_int_equal(verge_timeout_clear(wheel, timeouts[0]), number_of(out[0].data) == 0 ? -ENOENT : 0);
        timeout_end(wheel, timeouts[2]);
        timeouts[2] = timeout_new(wheel, 2);
        set(wheel, timeouts[2], 10 * TICK + 500);
        set(wheel, timeouts[1], 10 * TICK + 600);
        set(wheel, timeouts[0], 10 * TICK + 700);
        assert_well(wheel);
        for (size_t k = 0; k < 3; k++) {
            static const uintptr_t expected[] = {2, 1, 0};
            assert_int_equal(verge_wheel_poll_to_next(wheel, HOUR, out, COUNT_OF(out)), 1);
            assert_int_equal(verge_wheel_now(wheel), 10 * TICK + 500 + 100 * k);
            assert_int_equal(number_of(out[0].data), expected[k]);
            assert_int_equal(out[0].timer, 0);
        }
        assert_int_equal(verge_wheel_poll_to_next(wheel, HOUR, out, COUNT_OF(out)), 0);
        for (size_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* ---- entries that outlive what they were for ---- */

/* The next one attached gets its place; an entry left behind neither strikes for it nor keeps it from striking. */
static void another_at_the_same_place(void **state) {
    (void)state;
    static const uint64_t second_ticks[] = {5, 10, 15, 10 + (UINT64_C(1) << 32), 5 + (UINT64_C(1) << 32)};
    for (size_t i = 0; i < COUNT_OF(second_ticks) * COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i % COUNT_OF(orders)]);
        const uint64_t second_tick = second_ticks[i / COUNT_OF(orders)];
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *first = timeout_new(wheel, 1);
        const uint32_t number = first->number;
        set(wheel, first, 10 * TICK);
        set(wheel, first, 5 * TICK); /* two entries */
        timeout_end(wheel, first);
        verge_timeout *second = timeout_new(wheel, 2);
        assert_int_equal(second->number, number);
        set(wheel, second, second_tick * TICK);
        assert_well(wheel);
        for (uint64_t tick = 1; tick < 20; tick++) {
            if (tick == second_tick) {
                assert_strikes(wheel, tick * TICK, second, 2);
            } else {
                assert_quiet(wheel, tick * TICK);
            }
            assert_well(wheel);
        }
        if (second_tick > 20) {
            assert_quiet(wheel, (second_tick - 1) * TICK);
            assert_strikes(wheel, second_tick * TICK, second, 2);
        }
        timeout_end(wheel, second);
        wheel_end(wheel);
    }
}

/* Many lives at one place, for one tick: of their entries one is kept. One for another tick that has the same mark is not. */
static void what_others_left_behind_is_dropped(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    const uint64_t far = 1000 + (UINT64_C(1) << 32);
    for (size_t i = 0; i < 100; i++) {
        set(wheel, timeout, (i % 2 == 0 ? 1000 : far) * TICK);
        timeout_end(wheel, timeout);
        timeout = timeout_new(wheel, 1);
    }
    set(wheel, timeout, far * TICK);
    assert_int_equal(stats_of(wheel).entries, 101);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).entries, 1);
    assert_quiet(wheel, (far - 1) * TICK);
    assert_int_equal(stats_of(wheel).entries_refiled, 0);
    assert_strikes(wheel, far * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* As above, what was left behind being due already: in the backlog when its timeout goes. */
static void another_at_a_place_of_the_backlog(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[8];
        verge_timeout *timeouts[4];
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(wheel, k);
            set(wheel, timeouts[k], 10 * TICK);
        }
        assert_int_equal(verge_wheel_poll(wheel, 10 * TICK, out, 1), 1);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeout_end(wheel, timeouts[k]);
        }
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeouts[k] = timeout_new(wheel, 10 + k);
        }
        set(wheel, timeouts[0], (10 + (UINT64_C(1) << 32)) * TICK); /* the same mark */
        set(wheel, timeouts[1], 3 * TICK);                          /* the past */
        set(wheel, timeouts[2], 30 * TICK);
        assert_well(wheel);
        assert_strikes(wheel, 10 * TICK, timeouts[1], 11);
        assert_strikes(wheel, 40 * TICK, timeouts[2], 12);
        set(wheel, timeouts[1], 3 * TICK);
        timeout_end(wheel, timeouts[1]);
        timeouts[1] = timeout_new(wheel, 21);
        set(wheel, timeouts[1], 4 * TICK); /* two entries among the past */
        assert_strikes(wheel, 40 * TICK, timeouts[1], 21);
        assert_quiet(wheel, 50 * TICK);
        assert_strikes(wheel, (11 + (UINT64_C(1) << 32)) * TICK, timeouts[0], 10);
        for (uintptr_t k = 0; k < COUNT_OF(timeouts); k++) {
            timeout_end(wheel, timeouts[k]);
        }
        wheel_end(wheel);
    }
}

/* A backlog holds the cursor back: what is out of its reach waits, is cleared, set again, and gone. */
static void beyond_the_cursor(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        static const uint8_t bits[] = {6, 6, 0};
        verge_wheel_options options = options_of_levels(TICK, bits);
        options.order = orders[i];
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[8];
        verge_timeout *first = timeout_new(wheel, 1);
        verge_timeout *second = timeout_new(wheel, 2);
        verge_timeout *third = timeout_new(wheel, 3);
        (void)schedule(wheel, 10 * TICK, 8);
        (void)schedule(wheel, 10 * TICK, 9);
        assert_int_equal(verge_wheel_poll(wheel, 3000 * TICK, out, 1), 1);
        set(wheel, first, 6000 * TICK);
        set(wheel, second, 6000 * TICK);
        set(wheel, third, 6001 * TICK);
        clear(wheel, first);
        set(wheel, first, 5900 * TICK);
        timeout_end(wheel, second);
        second = timeout_new(wheel, 20);
        set(wheel, second, 5950 * TICK);
        clear(wheel, third);
        assert_well(wheel);
        assert_int_equal(verge_wheel_poll(wheel, 3000 * TICK, out, COUNT_OF(out)), 1);
        assert_well(wheel);
        set(wheel, third, 6001 * TICK);
        assert_int_equal(verge_wheel_next_deadline(wheel), 5900 * TICK);
        assert_quiet(wheel, 5899 * TICK);
        assert_strikes(wheel, 5900 * TICK, first, 1);
        assert_strikes(wheel, 5950 * TICK, second, 20);
        assert_quiet(wheel, 6000 * TICK);
        assert_strikes(wheel, 6001 * TICK, third, 3);
        timeout_end(wheel, first);
        timeout_end(wheel, second);
        timeout_end(wheel, third);
        wheel_end(wheel);
    }
}

/* Coarse: an entry that was rounded up serves for what comes out no earlier. */
static void in_a_coarse_wheel(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    const uint64_t resolution_ns = UINT64_C(1) << 30;
    verge_timeout *timeout = timeout_new(wheel, 1);
    for (uint64_t turn = 1; turn < 50; turn++) {
        const uint64_t now_ns = verge_wheel_now(wheel);
        const uint64_t deadline_ns = now_ns + 2 * resolution_ns + turn * 12345;
        set(wheel, timeout, deadline_ns + 5 * resolution_ns);
        clear(wheel, timeout);
        set(wheel, timeout, deadline_ns);
        if (turn % 3 == 0) {
            timeout_end(wheel, timeout);
            timeout = timeout_new(wheel, 1);
            set(wheel, timeout, deadline_ns);
        }
        assert_well(wheel);
        assert_quiet(wheel, deadline_ns - 1);
        assert_strikes(wheel, deadline_ns + resolution_ns, timeout, 1);
    }
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* ---- adoption ---- */

/* To push it back, or to clear and set it again, files nothing. */
static void set_later_files_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, 1000 * TICK);
    const uint64_t filed = stats_of(wheel).entries_filed;
    assert_int_equal(filed, 1);
    for (uint64_t i = 0; i < 500; i++) {
        assert_quiet(wheel, i * TICK);
        set(wheel, timeout, (1000 + i) * TICK);
        if (i % 3 == 0) {
            clear(wheel, timeout);
            set(wheel, timeout, (1000 + i) * TICK);
        }
        assert_int_equal(stats_of(wheel).entries_filed, filed);
        assert_int_equal(stats_of(wheel).entries, 1);
    }
    set(wheel, timeout, 900 * TICK); /* earlier does */
    assert_int_equal(stats_of(wheel).entries_filed, filed + 1);
    assert_strikes(wheel, 900 * TICK, timeout, 1);
    set(wheel, timeout, 2000 * TICK); /* and so does the first after it came out */
    assert_int_equal(stats_of(wheel).entries_filed, filed + 2);
    assert_quiet(wheel, 1999 * TICK);
    assert_strikes(wheel, 2000 * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* An entry that was dropped while its timeout was not set is not counted on. */
static void a_dropped_entry_is_not_adopted(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_timeout *timeout = timeout_new(wheel, 1);
    set(wheel, timeout, 1000 * TICK);
    clear(wheel, timeout);
    verge_wheel_compact(wheel);
    assert_int_equal(stats_of(wheel).entries, 0);
    set(wheel, timeout, 1100 * TICK);
    assert_well(wheel);
    assert_strikes(wheel, 1100 * TICK, timeout, 1);
    set(wheel, timeout, 2000 * TICK);
    clear(wheel, timeout);
    assert_quiet(wheel, 2500 * TICK); /* came up, and was nobody's */
    set(wheel, timeout, 3000 * TICK);
    assert_well(wheel);
    assert_strikes(wheel, 3000 * TICK, timeout, 1);
    timeout_end(wheel, timeout);
    wheel_end(wheel);
}

/* ---- clear, start, iterate ---- */

static void clear_of_the_wheel(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const verge_wheel_options options = options_with(orders[i]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *idle = timeout_new(wheel, 1);
        verge_timeout *pending = timeout_new(wheel, 2);
        verge_timeout *cleared = timeout_new(wheel, 3);
        (void)schedule(wheel, HOUR, 4);
        set(wheel, pending, 1000 * TICK);
        set(wheel, cleared, 1000 * TICK);
        clear(wheel, cleared);
        verge_wheel_clear(wheel);
        assert_int_equal(verge_wheel_count(wheel), 0);
        assert_int_equal(stats_of(wheel).cleared, 2);
        assert_int_equal(stats_of(wheel).entries, 0);
        assert_int_equal(verge_timeout_deadline(pending), VERGE_NEVER);
        assert_int_equal(verge_timeout_clear(wheel, pending), -ENOENT);
        assert_well(wheel);
        set(wheel, idle, 1500 * TICK); /* they are attached still, and their entries are gone */
        set(wheel, pending, 1600 * TICK);
        set(wheel, cleared, 1700 * TICK);
        assert_well(wheel);
        assert_strikes(wheel, 1500 * TICK, idle, 1);
        assert_strikes(wheel, 1600 * TICK, pending, 2);
        assert_strikes(wheel, 1700 * TICK, cleared, 3);
        timeout_end(wheel, idle);
        timeout_end(wheel, pending);
        timeout_end(wheel, cleared);
        wheel_end(wheel);
    }
}

/* Idle ones do not hold it; what they had before, at times that come again, does not count. */
static void another_start(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_DEFAULT, 10000 * TICK);
    verge_timeout *timeout = timeout_new(wheel, 1);
    verge_timeout *other = timeout_new(wheel, 2);
    set(wheel, timeout, 10000 * TICK + 1000 * TICK);
    set(wheel, other, 10000 * TICK + 2000 * TICK);
    assert_int_equal(verge_wheel_set_start(wheel, 0), -EBUSY);
    assert_strikes(wheel, 10000 * TICK + 1000 * TICK, timeout, 1);
    assert_int_equal(verge_wheel_set_start(wheel, 0), -EBUSY);
    clear(wheel, other);
    assert_int_equal(verge_wheel_set_start(wheel, 10000 * TICK - 10 * TICK), 0);
    set(wheel, timeout, 10000 * TICK + 1100 * TICK);
    set(wheel, other, 10000 * TICK + 2100 * TICK);
    assert_well(wheel);
    assert_strikes(wheel, 10000 * TICK + 1100 * TICK, timeout, 1);
    assert_strikes(wheel, 10000 * TICK + 2100 * TICK, other, 2);
    timeout_end(wheel, timeout);
    timeout_end(wheel, other);
    wheel_end(wheel);
}

struct visit {
    verge_wheel *wheel;
    verge_timeout *timeouts[100];
    unsigned seen[200];
    size_t count;
    bool changes;
};

/* Ends itself and the next, and attaches another. */
static void change_on_the_way(struct visit *visit, size_t number) {
    for (size_t i = number; i < number + 2 && i < COUNT_OF(visit->timeouts); i++) {
        if (visit->timeouts[i] != NULL) {
            timeout_end(visit->wheel, visit->timeouts[i]);
            visit->timeouts[i] = NULL;
        }
    }
    verge_timeout *newcomer = timeout_new(visit->wheel, number + 100);
    set(visit->wheel, newcomer, HOUR);
    visit->timeouts[number] = newcomer;
}

static int visit_one(void *context, const verge_expiry *timer) {
    struct visit *visit = context;
    const uintptr_t number = number_of(timer->data);
    visit->seen[number]++;
    visit->count++;
    assert_int_equal(timer->deadline_ns, HOUR);
    assert_int_equal(timer->timer == 0, number % 2 == 0 || number >= 100);
    if (visit->changes && timer->timer == 0 && number < 100) {
        change_on_the_way(visit, number);
    }
    return visit->count == 1000 ? 1 : 0;
}

static void iterate(void **state) {
    (void)state;
    for (int changes = 0; changes < 2; changes++) {
        struct visit visit = {.wheel = wheel_new(NULL), .changes = changes != 0};
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i++) {
            if (i % 2 == 1) {
                (void)schedule(visit.wheel, HOUR, i);
                continue;
            }
            visit.timeouts[i] = timeout_new(visit.wheel, i);
            if (i % 10 != 0) {
                set(visit.wheel, visit.timeouts[i], HOUR);
            }
        }
        assert_int_equal(verge_wheel_iterate(visit.wheel, visit_one, &visit), 0);
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i++) {
            assert_int_equal(visit.seen[i], i % 10 != 0); /* pending ones, once */
            assert_true(visit.seen[i + 100] <= 1);
        }
        assert_well(visit.wheel);
        for (size_t i = 0; i < COUNT_OF(visit.timeouts); i++) {
            if (visit.timeouts[i] != NULL) {
                timeout_end(visit.wheel, visit.timeouts[i]);
            }
        }
        assert_int_equal(verge_wheel_count(visit.wheel), 50);
        wheel_end(visit.wheel);
    }
}

/* ---- limits ---- */

/* A poll that may do little work does no more, and in the end all came out once. */
static void within_a_work_limit(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(orders) * 2; i++) {
        enum { COUNT = 1000, WORK_LIMIT = 7 };
        verge_wheel_options options = options_with(orders[i % COUNT_OF(orders)]);
        options.work_limit = i < COUNT_OF(orders) ? WORK_LIMIT : 1;
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeouts[COUNT];
        for (uintptr_t k = 0; k < COUNT; k++) {
            timeouts[k] = timeout_new(wheel, k);
            set(wheel, timeouts[k], (50 + k % 3) * TICK);
        }
        size_t count = 0;
        while (verge_wheel_count(wheel) > 0) {
            verge_expiry out[4];
            const size_t returned = verge_wheel_poll(wheel, 60 * TICK, out, COUNT_OF(out));
            assert_true(stats_of(wheel).last_poll_work <= options.work_limit);
            for (size_t k = 0; k < returned; k++) {
                const uintptr_t number = number_of(out[k].data);
                assert_int_equal(out[k].timer, 0);
                assert_int_equal(verge_timeout_clear(wheel, timeouts[number]), -ENOENT);
                timeout_end(wheel, timeouts[number]);
            }
            count += returned;
        }
        assert_int_equal(count, COUNT);
        assert_int_equal(stats_of(wheel).expired, COUNT);
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life),
        cmocka_unit_test(from_wheel_to_wheel),
        cmocka_unit_test(a_wheel_may_end_before_them),
        cmocka_unit_test(no_wheel_and_no_timeout),
        cmocka_unit_test(zeroed_and_detached),
        cmocka_unit_test(of_another_wheel),
        cmocka_unit_test(clear_of_what_is_not_set),
        cmocka_unit_test(beyond_the_range),
        cmocka_unit_test(the_past_as_the_wheel_judges_it),
        cmocka_unit_test(the_cap),
        cmocka_unit_test(order_beside_handles),
        cmocka_unit_test(changed_while_it_is_sorted),
        cmocka_unit_test(the_next_deadline),
        cmocka_unit_test(the_earliest_is_detached_and_its_memory_gone),
        cmocka_unit_test(poll_exact_and_to_next),
        cmocka_unit_test(another_at_the_same_place),
        cmocka_unit_test(what_others_left_behind_is_dropped),
        cmocka_unit_test(another_at_a_place_of_the_backlog),
        cmocka_unit_test(beyond_the_cursor),
        cmocka_unit_test(in_a_coarse_wheel),
        cmocka_unit_test(set_later_files_nothing),
        cmocka_unit_test(a_dropped_entry_is_not_adopted),
        cmocka_unit_test(clear_of_the_wheel),
        cmocka_unit_test(another_start),
        cmocka_unit_test(iterate),
        cmocka_unit_test(within_a_work_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
