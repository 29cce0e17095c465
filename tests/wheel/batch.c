/* SPDX-License-Identifier: MIT */
/* Timers are started, cancelled and moved while a batch is being handled, or while verge_wheel_iterate visits
 * timers. */
#include "wheel/support.h"

enum {
    TIMERS = 2000,
};

static void the_batch_is_gone_already(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    verge_expiry out[10];
    for (uintptr_t i = 0; i < 10; i++) {
        (void)schedule(wheel, SECOND, i);
    }
    assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 10), 10);
    assert_int_equal(verge_wheel_count(wheel), 0);
    for (size_t i = 0; i < 10; i++) {
        const struct snapshot before = snapshot_of(wheel);
        verge_expiry expiry;
        assert_int_equal(verge_wheel_cancel(wheel, out[i].timer, NULL), -ENOENT);
        assert_int_equal(verge_wheel_reset(wheel, out[i].timer, 3 * SECOND), -ENOENT);
        assert_int_equal(verge_wheel_get(wheel, out[i].timer, &expiry), -ENOENT);
        assert_unchanged(wheel, &before);
    }
    wheel_end(wheel);
}

/* A handler cancels and moves other timers: of its own batch (too late), of the backlog (in time) and of the future. */
static void handlers_change_other_timers(void **state) {
    (void)state;
    static verge_timer timers[TIMERS];
    static int fired[TIMERS];
    static bool cancelled[TIMERS];
    memset(fired, 0, sizeof(fired));
    memset(cancelled, 0, sizeof(cancelled));
    struct verge_test_random random = verge_test_random_from(verge_test_seed(4));
    verge_wheel *wheel = wheel_new(NULL);
    for (uintptr_t i = 0; i < TIMERS; i++) {
        timers[i] = schedule(wheel, verge_test_below(&random, 300 * TICK), i);
    }
    verge_expiry out[8];
    for (uint64_t now_ns = 0; verge_wheel_count(wheel) > 0; now_ns += TICK) {
        const size_t count = verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(out[i].timer, timers[number_of(out[i].data)]);
            assert_false(cancelled[number_of(out[i].data)]);
            fired[number_of(out[i].data)]++;
        }
        for (size_t i = 0; i < count; i++) {
            const size_t other = (size_t)verge_test_below(&random, TIMERS);
            const int expected = fired[other] > 0 || cancelled[other] ? -ENOENT : 0;
            if (verge_test_chance(&random, 2)) {
                assert_int_equal(verge_wheel_cancel(wheel, timers[other], NULL), expected);
                cancelled[other] |= expected == 0;
            } else {
                const uint64_t deadline_ns = now_ns + verge_test_below(&random, 50 * TICK);
                assert_int_equal(verge_wheel_reset(wheel, timers[other], deadline_ns), expected);
            }
        }
        assert_well(wheel);
    }
    for (size_t i = 0; i < TIMERS; i++) {
        assert_int_equal(fired[i] + cancelled[i], 1);
    }
    wheel_end(wheel);
}

/* A timer that is started again whenever it fires comes out once in each period. If the period is less than a tick, it
 * comes out in each tick. */
static void timers_that_arm_themselves_again(void **state) {
    (void)state;
    static const uint64_t periods_ns[] = {TICK / 2, TICK, 3 * TICK, 64 * TICK, 100 * TICK, 4096 * TICK};
    verge_wheel *wheel = wheel_new(NULL);
    uint64_t fired[COUNT_OF(periods_ns)] = {0};
    for (uintptr_t i = 0; i < COUNT_OF(periods_ns); i++) {
        (void)schedule(wheel, periods_ns[i], i);
    }
    verge_expiry out[COUNT_OF(periods_ns)];
    const uint64_t end_ns = 20000 * TICK;
    for (uint64_t now_ns = 0; now_ns <= end_ns; now_ns += TICK) {
        const size_t count = verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out));
        for (size_t i = 0; i < count; i++) {
            const uintptr_t which = number_of(out[i].data);
            assert_true(out[i].deadline_ns > now_ns - TICK);
            fired[which]++;
            (void)schedule(wheel, now_ns + periods_ns[which], which);
        }
    }
    for (size_t i = 1; i < COUNT_OF(periods_ns); i++) {
        assert_int_equal(fired[i], end_ns / periods_ns[i]);
    }
    assert_int_equal(fired[0], end_ns / TICK);
    wheel_end(wheel);
}

/* A handler that starts a timer for the past causes no endless loop: each such timer comes out in another poll. */
static void arming_again_for_the_past_takes_another_poll(void **state) {
    (void)state;
    for (int order = VERGE_ORDER_ANY; order <= VERGE_ORDER_DEADLINE; order++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = (verge_order)order;
        verge_wheel *wheel = wheel_new(&options);
        verge_expiry out[4];
        (void)schedule(wheel, SECOND, 1);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(verge_wheel_poll(wheel, 2 * SECOND, out, 4), 1);
            (void)schedule(wheel, SECOND, 1);
        }
        wheel_end(wheel);
    }
}

/* ---- while walking ---- */

struct walk {
    verge_wheel *wheel;
    verge_timer *timers;
    size_t visits;
};

static int cancel_self_and_another(void *context, const verge_expiry *timer) {
    struct walk *walk = context;
    walk->visits++;
    assert_int_equal(verge_wheel_cancel(walk->wheel, timer->timer, NULL), 0);
    const size_t other = (number_of(timer->data) + 1) % TIMERS;
    const int error = verge_wheel_cancel(walk->wheel, walk->timers[other], NULL);
    assert_true(error == 0 || error == -ENOENT);
    return 0;
}

static int move_and_add(void *context, const verge_expiry *timer) {
    struct walk *walk = context;
    if (number_of(timer->data) >= TIMERS) {
        return 0; /* a timer that this function has added */
    }
    walk->visits++;
    assert_int_equal(verge_wheel_reset(walk->wheel, timer->timer, timer->deadline_ns / 2 + TICK), 0);
    (void)schedule(walk->wheel, SECOND, TIMERS);
    return 0;
}

static int clear_and_compact(void *context, const verge_expiry *timer) {
    struct walk *walk = context;
    (void)timer;
    walk->visits++;
    verge_wheel_cancel_all(walk->wheel);
    verge_wheel_compact(walk->wheel);
    return 0;
}

static int poll_everything(void *context, const verge_expiry *timer) {
    struct walk *walk = context;
    static verge_expiry out[TIMERS];
    (void)timer;
    walk->visits++;
    (void)verge_wheel_poll(walk->wheel, UINT64_MAX, out, TIMERS);
    return 0;
}

static int add_another(void *context, const verge_expiry *timer) {
    struct walk *walk = context;
    (void)timer;
    walk->visits++;
    (void)schedule(walk->wheel, SECOND, TIMERS);
    return 0;
}

/* Timers that are added during a walk may be visited, but the walk ends. */
static void a_walk_ends_though_timers_are_added(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    (void)schedule(wheel, TICK, 0);
    struct walk walk = {.wheel = wheel};
    assert_int_equal(verge_wheel_iterate(wheel, add_another, &walk), 0);
    assert_in_range(walk.visits, 1, 12); /* 12: the nodes at the beginning of the walk */
    wheel_end(wheel);
}

struct timeout_walk {
    verge_wheel *wheel;
    struct numbered timeouts[TIMERS];
    size_t visits[TIMERS];
};

static int nothing(void *context, const verge_expiry *timer) {
    (void)context;
    (void)timer;
    return 0;
}

static int clear_some_and_walk(void *context, const verge_expiry *timer) {
    struct timeout_walk *walk = context;
    const size_t number = number_of_expiry(timer);
    walk->visits[number]++;
    if (number % 3 == 0) {
        assert_int_equal(verge_timeout_cancel(walk->wheel, &walk->timeouts[number].timeout), 0);
    }
    assert_int_equal(verge_wheel_iterate(walk->wheel, nothing, NULL), 0);
    return 0;
}

/* A visitor of timeouts may begin a walk of its own. The outer walk still visits each timeout once, also those of a
 * backlog in an ordered wheel. */
static void a_walk_in_a_walk(void **state) {
    (void)state;
    static struct timeout_walk walk;
    for (int order = VERGE_ORDER_ANY; order <= VERGE_ORDER_DEADLINE; order++) {
        verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
        options.order = (verge_order)order;
        walk = (struct timeout_walk){.wheel = wheel_new(&options)};
        for (uintptr_t i = 0; i < TIMERS; i++) {
            walk.timeouts[i].number = i;
            assert_int_equal(verge_timeout_start(walk.wheel, &walk.timeouts[i].timeout, 5 * TICK - i * 37 % TIMERS), 0);
        }
        verge_expiry out;
        assert_int_equal(verge_wheel_poll(walk.wheel, 6 * TICK, &out, 1), 1);
        walk.visits[number_of_expiry(&out)]++;
        assert_int_equal(verge_wheel_iterate(walk.wheel, clear_some_and_walk, &walk), 0);
        for (size_t i = 0; i < TIMERS; i++) {
            assert_int_equal(walk.visits[i], 1);
        }
        wheel_end(walk.wheel);
    }
}

static void visitors_may_change_the_wheel(void **state) {
    (void)state;
    static verge_timer timers[TIMERS];
    int (*const visitors[])(void *, const verge_expiry *) = {cancel_self_and_another, move_and_add, clear_and_compact,
                                                             poll_everything};
    for (size_t v = 0; v < COUNT_OF(visitors); v++) {
        verge_wheel *wheel = wheel_new(NULL);
        for (uintptr_t i = 0; i < TIMERS; i++) {
            timers[i] = schedule(wheel, TICK + i * i * MS, i);
        }
        struct walk walk = {.wheel = wheel, .timers = timers};
        assert_int_equal(verge_wheel_iterate(wheel, visitors[v], &walk), 0);
        if (visitors[v] == move_and_add) {
            assert_int_equal(walk.visits, TIMERS);
            assert_int_equal(verge_wheel_count(wheel), 2 * TIMERS);
        } else if (visitors[v] == cancel_self_and_another) {
            assert_int_equal(verge_wheel_count(wheel), 0);
        } else {
            assert_int_equal(walk.visits, 1);
            assert_int_equal(verge_wheel_count(wheel), 0);
        }
        wheel_end(wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_batch_is_gone_already),
        cmocka_unit_test(handlers_change_other_timers),
        cmocka_unit_test(timers_that_arm_themselves_again),
        cmocka_unit_test(arming_again_for_the_past_takes_another_poll),
        cmocka_unit_test(visitors_may_change_the_wheel),
        cmocka_unit_test(a_walk_ends_though_timers_are_added),
        cmocka_unit_test(a_walk_in_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
