/* SPDX-License-Identifier: MIT */
/* Timeouts without attach and detach: zeroed memory is one that is not set, and to clear it is enough before it is
 * freed. */
#include "wheel/timeouts.h"

static verge_timeout *zeroed_new(void) {
    verge_timeout *timeout = calloc(1, sizeof(*timeout));
    assert_non_null(timeout);
    return timeout;
}

/* Its data is its own address: the object is around it. */
static void zeroed_memory_is_not_set(void **state) {
    (void)state;
    for (size_t order = 0; order < COUNT_OF(timeout_orders); order++) {
        verge_wheel_options options = options_with(timeout_orders[order]);
        verge_wheel *wheel = wheel_new(&options);
        verge_timeout *timeout = zeroed_new();
        assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
        assert_int_equal(verge_timeout_clear(wheel, timeout), -ENOENT);
        for (uint64_t turn = 1; turn < 4; turn++) {
            set(wheel, timeout, turn * HOUR);
            assert_strikes(wheel, turn * HOUR + TICK, timeout, (uintptr_t)timeout);
            assert_int_equal(verge_timeout_clear(wheel, timeout), -ENOENT);
        }
        free(timeout); /* it has struck: nothing names it */
        assert_quiet(wheel, DAY);
        wheel_end(wheel);
    }
}

/* AddressSanitizer sees accesses to freed memory. */
static void clear_is_enough_before_free(void **state) {
    (void)state;
    enum { COUNT = 300 };
    for (size_t order = 0; order < COUNT_OF(timeout_orders); order++) {
        verge_wheel_options options = options_with(timeout_orders[order]);
        verge_wheel *wheel = wheel_new(&options);
        struct verge_test_random random = verge_test_random_from(verge_test_seed(17));
        verge_timeout *timeouts[COUNT] = {NULL};
        for (size_t n = 0; n < test_scaled(100000); n++) {
            verge_timeout **at = &timeouts[verge_test_below(&random, COUNT)];
            if (*at == NULL) {
                *at = zeroed_new();
            } else if (verge_test_chance(&random, 4)) {
                const bool was_set = verge_timeout_deadline(*at) != VERGE_NEVER;
                assert_int_equal(verge_timeout_clear(wheel, *at), was_set ? 0 : -ENOENT);
                free(*at);
                *at = NULL;
            } else {
                set(wheel, *at, verge_wheel_now(wheel) + verge_test_below(&random, 40) * 20 * TICK);
            }
            if (n % 64 == 0) {
                verge_expiry out[64];
                (void)verge_wheel_poll(wheel, verge_wheel_now(wheel) + 10 * TICK, out, COUNT_OF(out));
            }
        }
        assert_well(wheel);
        for (size_t i = 0; i < COUNT; i++) {
            (void)(timeouts[i] != NULL && verge_timeout_clear(wheel, timeouts[i]));
            free(timeouts[i]);
        }
        assert_int_equal(verge_wheel_count(wheel), 0);
        verge_wheel_compact(wheel);
        wheel_end(wheel);
    }
}

/* Side by side with some that are attached: they take no room of those, and many lives leave nothing behind. */
static void many_lives_take_no_more(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_with(VERGE_ORDER_ANY);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    verge_timeout *attached = timeout_new(wheel, 1);
    size_t bytes = 0;
    for (size_t life = 0; life < test_scaled(10000); life++) {
        verge_timeout *timeout = zeroed_new();
        const uint64_t now_ns = verge_wheel_now(wheel);
        set(wheel, timeout, now_ns + TICK);
        set(wheel, attached, now_ns + MINUTE);
        if (life % 2 == 0) {
            clear(wheel, timeout);
        } else {
            assert_strikes(wheel, now_ns + 2 * TICK, timeout, (uintptr_t)timeout);
        }
        free(timeout);
        bytes = life == 1 ? memory.bytes_in_use : bytes;
    }
    assert_true(memory.bytes_in_use <= bytes);
    timeout_end(wheel, attached);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* A host without an error path reserves room once. */
static void reserved_ones_cannot_fail(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static verge_timeout timeouts[COUNT];
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_with(VERGE_ORDER_ANY);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    memset(timeouts, 0, sizeof(timeouts));
    assert_int_equal(verge_timeout_reserve(wheel, COUNT), 0);
    memory.fail_from = memory.calls + 1;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(19));
    for (size_t n = 0; n < test_scaled(100000); n++) {
        verge_timeout *timeout = &timeouts[verge_test_below(&random, COUNT)];
        if (verge_test_chance(&random, 5)) {
            (void)verge_timeout_clear(wheel, timeout);
        } else {
            set(wheel, timeout, verge_wheel_now(wheel) + (verge_test_magnitude(&random) >> 4));
        }
    }
    assert_int_equal(memory.failures, 0);
    assert_well(wheel);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

/* Without room it is refused, and still zeroed. */
static void a_set_that_is_refused(void **state) {
    (void)state;
    static const verge_timeout zeroed;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_wheel_options options = options_with(VERGE_ORDER_ANY);
    options.allocator = &memory.allocator;
    verge_wheel *wheel = wheel_new(&options);
    verge_timeout timeout = zeroed;
    memory.fail_from = memory.calls + 1;
    const struct snapshot before = snapshot_of(wheel);
    assert_int_equal(verge_timeout_set(wheel, &timeout, HOUR), -ENOMEM);
    assert_memory_equal(&timeout, &zeroed, sizeof(zeroed));
    assert_unchanged(wheel, &before);
    memory.fail_from = 0;
    set(wheel, &timeout, HOUR);
    memory.fail_from = memory.calls + 1;
    for (uint64_t turn = 0; turn < 100; turn++) { /* one that is set can be moved, wherever it goes */
        set(wheel, &timeout, turn % 2 == 0 ? YEAR : HOUR - turn * MINUTE / 2);
    }
    clear(wheel, &timeout);
    wheel_end(wheel);
    verge_test_allocator_assert_empty(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_not_set), cmocka_unit_test(clear_is_enough_before_free),
        cmocka_unit_test(many_lives_take_no_more),  cmocka_unit_test(reserved_ones_cannot_fail),
        cmocka_unit_test(a_set_that_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
