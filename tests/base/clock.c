/* SPDX-License-Identifier: MIT */
/* Clocks: the monotonic and the boottime clock do not go backwards. The manual clock does what it is told, from any
 * thread. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "support/cmocka.h"
#include "verge/base.h"

static uint64_t read_clock(verge_clock clock) {
    return clock.now_ns(clock.context);
}

static void never_goes_backwards(verge_clock clock) {
    uint64_t last_ns = read_clock(clock);
    assert_true(last_ns > 0 && last_ns < VERGE_NEVER);
    for (unsigned i = 0; i < 10000; i++) {
        const uint64_t now_ns = read_clock(clock);
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
}

static void monotonic_never_goes_backwards(void **state) {
    (void)state;
    never_goes_backwards(verge_clock_monotonic());
}

static void boottime_never_goes_backwards(void **state) {
    (void)state;
    never_goes_backwards(verge_clock_boottime());
}

static void realtime_is_the_time_of_day(void **state) {
    (void)state;
    const uint64_t before_s = (uint64_t)time(NULL);
    const uint64_t now_ns = read_clock(verge_clock_realtime());
    assert_true(now_ns / 1000000000 >= before_s - 1 && now_ns / 1000000000 <= (uint64_t)time(NULL) + 1);
}

static void monotonic_moves(void **state) {
    (void)state;
    const verge_clock clock = verge_clock_monotonic();
    const uint64_t first_ns = read_clock(clock);
    while (read_clock(clock) == first_ns) {
    }
}

static void manual_is_what_it_was_set_to(void **state) {
    (void)state;
    verge_manual_clock manual = {0};
    const verge_clock clock = verge_clock_manual(&manual);
    assert_int_equal(read_clock(clock), 0);
    verge_manual_clock_set(&manual, 1000);
    assert_int_equal(read_clock(clock), 1000);
    verge_manual_clock_advance(&manual, 234);
    assert_int_equal(read_clock(clock), 1234);
    verge_manual_clock_set(&manual, 5);
    assert_int_equal(read_clock(clock), 5);
    verge_manual_clock_advance(&manual, 0);
    assert_int_equal(read_clock(clock), 5);
}

static void manual_stops_before_never(void **state) {
    (void)state;
    verge_manual_clock manual = {0};
    const verge_clock clock = verge_clock_manual(&manual);
    verge_manual_clock_advance(&manual, UINT64_MAX);
    assert_true(read_clock(clock) == VERGE_NEVER - 1);
    verge_manual_clock_advance(&manual, 1);
    assert_true(read_clock(clock) == VERGE_NEVER - 1);
    verge_manual_clock_set(&manual, VERGE_NEVER - 10);
    verge_manual_clock_advance(&manual, 9);
    assert_true(read_clock(clock) == VERGE_NEVER - 1);
    verge_manual_clock_set(&manual, VERGE_NEVER - 10);
    verge_manual_clock_advance(&manual, 10);
    assert_true(read_clock(clock) == VERGE_NEVER - 1);
    verge_manual_clock_set(&manual, VERGE_NEVER);
    verge_manual_clock_advance(&manual, 1);
    assert_true(read_clock(clock) == VERGE_NEVER);
}

static void manual_null_is_harmless(void **state) {
    (void)state;
    verge_manual_clock_set(NULL, 1);
    verge_manual_clock_advance(NULL, 1);
    assert_int_equal(read_clock(verge_clock_manual(NULL)), 0);
}

enum { THREAD_COUNT = 4, ADVANCE_COUNT = 20000 };

static void *advance_often(void *argument) {
    for (unsigned i = 0; i < ADVANCE_COUNT; i++) {
        verge_manual_clock_advance(argument, 3);
    }
    return NULL;
}

static void manual_loses_no_advance_of_any_thread(void **state) {
    (void)state;
    verge_manual_clock manual = {0};
    pthread_t threads[THREAD_COUNT];
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, advance_often, &manual), 0);
    }
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < ADVANCE_COUNT; i++) {
        const uint64_t now_ns = read_clock(verge_clock_manual(&manual));
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(read_clock(verge_clock_manual(&manual)), 3 * THREAD_COUNT * ADVANCE_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_never_goes_backwards), cmocka_unit_test(boottime_never_goes_backwards),
        cmocka_unit_test(realtime_is_the_time_of_day),    cmocka_unit_test(monotonic_moves),
        cmocka_unit_test(manual_is_what_it_was_set_to),   cmocka_unit_test(manual_stops_before_never),
        cmocka_unit_test(manual_null_is_harmless),        cmocka_unit_test(manual_loses_no_advance_of_any_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
