/* SPDX-License-Identifier: MIT */
/* How long a loop may sleep, and the promises E1 to E5 one by one. */
#include <limits.h>

#include "verge/loop.h"
#include "wheel/support.h"

static char called[64]; /* the names of the timers that were called back, in order */

struct named {
    verge_loop_timer timer;
    char name;
    verge_loop *loop;
    struct named *other;
    uint64_t deadline;
};

static void note(void *data, verge_loop_timer *timer) {
    const struct named *named = data;
    (void)timer;
    const size_t length = strlen(called);
    called[length] = named->name;
    called[length + 1] = '\0';
}

static void note_and_stop_other(void *data, verge_loop_timer *timer) {
    const struct named *named = data;
    note(data, timer);
    assert_int_equal(verge_loop_cancel(named->loop, &named->other->timer), 0);
}

static void note_and_start_other(void *data, verge_loop_timer *timer) {
    const struct named *named = data;
    note(data, timer);
    assert_int_equal(verge_loop_start(named->loop, &named->other->timer, note, named->other, named->deadline, 0), 0);
}

static void note_and_free(void *data, verge_loop_timer *timer) {
    note(data, timer);
    free(data);
}

static size_t counted;

static void count(void *data, verge_loop_timer *timer) {
    assert_non_null(timer);
    assert_null(data);
    counted++;
}

static void expect(verge_loop *loop, uint64_t now, const char *names) {
    called[0] = '\0';
    assert_int_equal(verge_loop_run(loop, now), strlen(names));
    assert_string_equal(called, names);
    assert_well(loop->wheel);
}

static verge_loop loop_new(void) {
    const verge_wheel_options options = options_of(VERGE_PRESET_YOUR_UNIT);
    verge_loop loop;
    assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
    return loop;
}

static void start(verge_loop *loop, struct named *named, uint64_t deadline, uint64_t repeat) {
    assert_int_equal(verge_loop_start(loop, &named->timer, note, named, deadline, repeat), 0);
    assert_true(verge_loop_is_pending(&named->timer));
}

static void how_long_to_sleep(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_new(NULL);
    assert_int_equal(verge_loop_timeout(NULL, 0, MS), -1);
    assert_int_equal(verge_loop_timeout(wheel, 0, MS), -1);
    assert_int_equal(verge_loop_timeout(wheel, 0, 0), -EINVAL);
    assert_int_equal(verge_loop_timeout(wheel, 0, UINT64_MAX), -1);
    (void)schedule(wheel, 10 * TICK, 1);
    for (uint64_t now_ns = 0; now_ns < 12 * TICK; now_ns += TICK / 7) {
        const int timeout_ms = verge_loop_timeout(wheel, now_ns, MS);
        const uint64_t left_ns = now_ns < 10 * TICK ? 10 * TICK - now_ns : 0;
        assert_true((uint64_t)timeout_ms * MS >= left_ns && (uint64_t)timeout_ms * MS < left_ns + MS);
    }
    assert_int_equal(poll_count(wheel, 11 * TICK), 1);
    (void)schedule(wheel, YEAR, 2);
    assert_int_equal(verge_loop_timeout(wheel, 11 * TICK, MS), INT_MAX); /* 24 days */
    assert_int_equal(verge_loop_timeout(wheel, 11 * TICK, 1), INT_MAX);
    wheel_end(wheel);
    verge_loop loop = loop_new();
    struct named a = {.name = 'a'};
    start(&loop, &a, 1500, 0);
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, 1), 1500);
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, 1000), 2); /* rounded up */
    assert_int_equal(verge_loop_timeout(loop.wheel, 500, 1000), 1);
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, UINT64_MAX), 1);
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, 0), -EINVAL);
    assert_int_equal(verge_loop_timeout(loop.wheel, 1499, 1), 1);
    assert_int_equal(verge_loop_timeout(loop.wheel, 1500, 1), 0);
    assert_int_equal(verge_loop_timeout(loop.wheel, 1501, 1), 0);
    expect(&loop, 1499, ""); /* a millisecond is a tick */
    expect(&loop, 1500, "a");
    assert_int_equal(verge_loop_timeout(loop.wheel, 1501, 1), -1);
    wheel_end(loop.wheel);
}

/* E1 */
static void order_of_deadlines_and_of_starts(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    struct named timers[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}, {.name = 'e'}};
    start(&loop, &timers[3], 20, 0);
    start(&loop, &timers[2], 20, 0);
    start(&loop, &timers[0], 10, 0);
    start(&loop, &timers[4], 30, 0);
    start(&loop, &timers[1], 20, 0);
    start(&loop, &timers[3], 20, 0); /* started anew: the last of those for 20 now */
    expect(&loop, 30, "acbde");
    wheel_end(loop.wheel);
}

/* E2 */
static void zero_is_the_next_round(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    struct named b = {.name = 'b'};
    struct named a = {.name = 'a', .loop = &loop, .other = &b, .deadline = 0};
    assert_int_equal(verge_loop_start(&loop, &a.timer, note_and_start_other, &a, 5, 0), 0);
    expect(&loop, 5, "a");
    assert_int_equal(verge_loop_timeout(loop.wheel, 5, 1), 0);
    expect(&loop, 5, "b"); /* another round at the same time */
    wheel_end(loop.wheel);
    /* The same for a time in the middle of a tick. */
    assert_int_equal(verge_loop_init(&loop, wheel_new(NULL)), 0);
    expect(&loop, 10 * TICK + 5, "");
    a.deadline = 10 * TICK + 5;
    assert_int_equal(verge_loop_start(&loop, &a.timer, note_and_start_other, &a, 10 * TICK + 3, 0), 0);
    expect(&loop, 10 * TICK + 5, "a");
    assert_int_equal(verge_loop_timeout(loop.wheel, 10 * TICK + 5, MS), 0);
    expect(&loop, 10 * TICK + 5, "b");
    wheel_end(loop.wheel);
    loop = loop_new();
    /* A timer that is due, and is started anew in this round, is not called back in this round. */
    a.deadline = 6;
    assert_int_equal(verge_loop_start(&loop, &a.timer, note_and_start_other, &a, 6, 0), 0);
    start(&loop, &b, 6, 0);
    expect(&loop, 6, "a");
    expect(&loop, 6, "b");
    wheel_end(loop.wheel);
}

/* E3 */
static void stopped_by_another(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    struct named b = {.name = 'b'};
    struct named c = {.name = 'c'};
    struct named a = {.name = 'a', .loop = &loop, .other = &b};
    assert_int_equal(verge_loop_start(&loop, &a.timer, note_and_stop_other, &a, 5, 0), 0);
    start(&loop, &b, 5, 7);
    start(&loop, &c, 5, 0);
    expect(&loop, 100, "ac");
    assert_false(verge_loop_is_pending(&b.timer));
    assert_int_equal(verge_loop_cancel(&loop, &b.timer), -ENOENT);
    expect(&loop, 1000, "");
    wheel_end(loop.wheel);
}

/* E4. Periods that were missed are not made up for. */
static void repeats_until_stopped(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    struct named a = {.name = 'a'};
    struct named b = {.name = 'b'};
    start(&loop, &a, 5, 10);
    expect(&loop, 4, "");
    expect(&loop, 5, "a");
    expect(&loop, 14, "");
    expect(&loop, 15, "a");
    expect(&loop, 100, "a");
    expect(&loop, 109, "");
    a.timer.data = &b; /* the callback gets &b from now on */
    expect(&loop, 110, "b");
    assert_int_equal(verge_loop_cancel(&loop, &a.timer), 0);
    expect(&loop, 1000, "");
    start(&loop, &a, 1005, 10); /* with a period, and without */
    start(&loop, &a, 1006, 0);
    expect(&loop, 2000, "a");
    expect(&loop, 3000, "");
    wheel_end(loop.wheel);
}

/* E5. If the loop still used the memory, AddressSanitizer would report it. */
static void freed_by_its_callback(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    for (uint64_t i = 0; i < 10; i++) {
        struct named *named = calloc(1, sizeof(*named));
        assert_non_null(named);
        named->name = 'x';
        assert_int_equal(verge_loop_start(&loop, &named->timer, note_and_free, named, 10, 0), 0);
    }
    expect(&loop, 10, "xxxxxxxxxx");
    wheel_end(loop.wheel);
}

/* A start allocates nothing. */
static void no_memory(void **state) {
    (void)state;
    enum { COUNT = 1000, PERIOD = 100000000 };
    struct verge_test_allocator memory;
    verge_loop loop;
    assert_int_equal(verge_loop_init(&loop, wheel_in(&memory, VERGE_PRESET_YOUR_UNIT)), 0);
    static verge_loop_timer timers[COUNT];
    memory.fail_from = memory.calls + 1;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_loop_start(&loop, &timers[i], count, NULL, 10 + i, PERIOD), 0);
    }
    for (uint64_t round = 0; round < 40; round++) {
        counted = 0;
        assert_int_equal(verge_loop_run(&loop, COUNT + 10 + round * PERIOD), COUNT);
        assert_int_equal(counted, COUNT);
        assert_true(verge_loop_is_pending(&timers[round]));
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_loop_cancel(&loop, &timers[i]), 0);
    }
    wheel_end(loop.wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* If verge_loop_init fails, the wheel is not ordered, also when its slots are allocated anew: its timeouts have places.
 * After a second init it is ordered, and places do not count. */
static void an_init_that_fails(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    verge_loop loop;
    verge_timeout timeout = {0};
    verge_expiry out[1];
    assert_int_equal(verge_wheel_poll(wheel, TICK, out, 1), 0);
    memory.fail_from = memory.calls + 1;
    assert_int_equal(verge_loop_init(&loop, wheel), -ENOMEM);
    memory.fail_from = 0;
    assert_int_equal(verge_wheel_reserve(wheel, 0, 100000), 0);
    assert_int_equal(verge_timeout_start(wheel, &timeout, 1000 * TICK), 0);
    assert_int_equal(verge_timeout_start(wheel, &timeout, 500 * TICK), 0);
    assert_well(wheel);
    assert_int_equal(verge_wheel_poll(wheel, 501 * TICK, out, 1), 1);
    assert_int_equal(verge_loop_init(&loop, wheel), 0);
    verge_loop_timer timer = {0};
    assert_int_equal(verge_loop_start(&loop, &timer, count, NULL, 2000 * TICK, 0), 0);
    assert_int_equal(verge_loop_start(&loop, &timer, count, NULL, 1000 * TICK, 0), 0);
    assert_well(wheel);
    assert_int_equal(verge_loop_run(&loop, 1001 * TICK), 1);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* A start that fails changes nothing: the timer keeps its deadline, period and callback, and is still pending. */
static void a_start_that_fails(void **state) {
    (void)state;
    verge_loop loop;
    static const uint8_t bits[] = {6, 6, 0};
    const verge_wheel_options options = options_of_levels(1, bits);
    assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
    struct named a = {.name = 'a', .loop = &loop};
    const uint64_t too_far = verge_wheel_largest_deadline(loop.wheel) + 1;
    assert_int_equal(verge_loop_start(&loop, &a.timer, count, NULL, too_far, 7), -ERANGE);
    assert_false(verge_loop_is_pending(&a.timer));
    start(&loop, &a, 10, 20);
    assert_int_equal(verge_loop_start(&loop, &a.timer, count, NULL, too_far, 7), -ERANGE);
    assert_true(verge_loop_is_pending(&a.timer));
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, 1), 10);
    expect(&loop, 9, "");
    expect(&loop, 10, "a");
    /* The same after its callback was called. */
    assert_int_equal(verge_loop_start(&loop, &a.timer, count, NULL, too_far + 10, 7), -ERANGE);
    expect(&loop, 29, "");
    expect(&loop, 30, "a");
    expect(&loop, 50, "a");
    wheel_end(loop.wheel);
}

/* A loop wakes up for timers, and for nothing else. */
static void wake_ups(void **state) {
    (void)state;
    verge_loop loop;
    static const uint64_t sleeps_ns[] = {10 * MS, MINUTE, HOUR};
    static verge_loop_timer timers[COUNT_OF(sleeps_ns)];
    assert_int_equal(verge_loop_init(&loop, wheel_new(NULL)), 0);
    uint64_t now_ns = 12345;
    for (size_t i = 0; i < COUNT_OF(sleeps_ns); i++) {
        assert_int_equal(verge_loop_start(&loop, &timers[i], count, NULL, now_ns + sleeps_ns[i], 0), 0);
    }
    counted = 0;
    size_t wake_up_count = 0;
    for (int sleep_ms = 0; (sleep_ms = verge_loop_timeout(loop.wheel, now_ns, MS)) >= 0; wake_up_count++) {
        now_ns += (uint64_t)sleep_ms * MS;
        assert_int_equal(verge_loop_run(&loop, now_ns), 1);
    }
    assert_int_equal(wake_up_count, COUNT_OF(sleeps_ns));
    assert_int_equal(counted, COUNT_OF(sleeps_ns));
    wheel_end(loop.wheel);
}

/* A run calls back all that is due, whatever the work limit is. */
static void no_work_limit(void **state) {
    (void)state;
    enum { COUNT = 500 };
    static verge_loop_timer timers[COUNT];
    verge_wheel_options options = options_of(VERGE_PRESET_YOUR_UNIT);
    options.work_limit = 10;
    verge_loop loop;
    assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_loop_start(&loop, &timers[i], count, NULL, 10 + i % 7, 0), 0);
    }
    counted = 0;
    assert_int_equal(verge_loop_run(&loop, 20), COUNT);
    assert_int_equal(counted, COUNT);
    assert_int_equal(verge_loop_timeout(loop.wheel, 20, 1), -1);
    wheel_end(loop.wheel);
}

/* verge_loop_init gives a wheel the order of loops. It fails if the wheel has timers, or another order. */
static void the_order_of_a_wheel(void **state) {
    (void)state;
    static const struct {
        verge_order order;
        bool has_timer;
        int expected;
    } wheels[] = {{VERGE_ORDER_ANY, false, 0},
                  {VERGE_ORDER_DEADLINE, false, 0},
                  {VERGE_ORDER_FIFO, false, -EBUSY},
                  {VERGE_ORDER_ANY, true, -EBUSY},
                  {VERGE_ORDER_DEADLINE, true, -EBUSY}};
    for (size_t i = 0; i < COUNT_OF(wheels); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_YOUR_UNIT);
        options.order = wheels[i].order;
        verge_loop loop = {0};
        verge_wheel *wheel = wheel_new(&options);
        if (wheels[i].has_timer) {
            (void)schedule(wheel, 5, 1);
        }
        assert_int_equal(verge_loop_init(&loop, wheel), wheels[i].expected);
        assert_ptr_equal(loop.wheel, wheels[i].expected == 0 ? wheel : NULL);
        wheel_end(wheel);
    }
}

static void arguments(void **state) {
    (void)state;
    verge_loop loop = loop_new();
    struct named a = {.name = 'a'};
    assert_int_equal(verge_loop_init(NULL, loop.wheel), -EINVAL);
    assert_int_equal(verge_loop_init(&loop, NULL), -EINVAL);
    assert_int_equal(verge_loop_start(NULL, &a.timer, note, &a, 1, 0), -EINVAL);
    assert_int_equal(verge_loop_start(&loop, NULL, note, &a, 1, 0), -EINVAL);
    assert_int_equal(verge_loop_start(&loop, &a.timer, NULL, &a, 1, 0), -EINVAL);
    start(&loop, &a, VERGE_NEVER, 1); /* is started, and never called back */
    assert_int_equal(verge_loop_timeout(loop.wheel, 0, 1), -1);
    expect(&loop, VERGE_NEVER / 2, "");
    assert_int_equal(verge_loop_cancel(&loop, &a.timer), 0);
    assert_int_equal(verge_loop_cancel(NULL, &a.timer), -EINVAL);
    assert_int_equal(verge_loop_cancel(&loop, NULL), -EINVAL);
    assert_int_equal(verge_loop_cancel(&loop, &a.timer), -ENOENT);
    assert_false(verge_loop_is_pending(NULL));
    assert_false(verge_loop_is_pending(&a.timer));
    assert_int_equal(verge_loop_run(NULL, 5), 0);
    wheel_end(loop.wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_long_to_sleep),
        cmocka_unit_test(order_of_deadlines_and_of_starts),
        cmocka_unit_test(zero_is_the_next_round),
        cmocka_unit_test(stopped_by_another),
        cmocka_unit_test(repeats_until_stopped),
        cmocka_unit_test(freed_by_its_callback),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(an_init_that_fails),
        cmocka_unit_test(a_start_that_fails),
        cmocka_unit_test(wake_ups),
        cmocka_unit_test(no_work_limit),
        cmocka_unit_test(the_order_of_a_wheel),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
