/* SPDX-License-Identifier: MIT */
/*
 * wheel/timeouts.h - what the tests of timeouts share.
 */
#ifndef VERGE_TESTS_WHEEL_TIMEOUTS_H
#define VERGE_TESTS_WHEEL_TIMEOUTS_H

#include "wheel/support.h"

static inline verge_timeout *timeout_new(uintptr_t number) {
    struct numbered *object = calloc(1, sizeof(*object));
    assert_non_null(object);
    object->number = number;
    assert_int_equal(verge_timeout_deadline(&object->timeout), VERGE_NEVER);
    return &object->timeout;
}

/* Frees the memory at once: AddressSanitizer notices later accesses. */
static inline void timeout_end(verge_wheel *wheel, verge_timeout *timeout) {
    const bool is_set = verge_timeout_deadline(timeout) != VERGE_NEVER;
    assert_int_equal(verge_timeout_cancel(wheel, timeout), is_set ? 0 : -ENOENT);
    free(timeout);
}

static inline void timeout_start(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    assert_int_equal(verge_timeout_start(wheel, timeout, deadline_ns), 0);
    assert_int_equal(verge_timeout_deadline(timeout), deadline_ns);
}

static inline void timeout_cancel(verge_wheel *wheel, verge_timeout *timeout) {
    assert_int_equal(verge_timeout_cancel(wheel, timeout), 0);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
}

static inline void timeout_pause(verge_wheel *wheel, verge_timeout *timeout) {
    assert_int_equal(verge_timeout_pause(wheel, timeout), 0);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
}

/* A poll returns this timeout and no other. The timeout is not pending then. */
static inline void assert_strikes(verge_wheel *wheel, uint64_t now_ns, const verge_timeout *timeout, uintptr_t number) {
    verge_expiry out[4];
    const uint64_t deadline_ns = verge_timeout_deadline(timeout);
    assert_int_equal(verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out)), 1);
    assert_int_equal(out[0].timer, 0);
    assert_int_equal(out[0].deadline_ns, deadline_ns);
    assert_ptr_equal(out[0].data, timeout);
    assert_int_equal(number_of_expiry(&out[0]), number);
    assert_int_equal(verge_timeout_deadline(timeout), VERGE_NEVER);
}

static inline verge_wheel_options options_with(verge_order order) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.order = order;
    return options;
}

static const verge_order timeout_orders[] = {VERGE_ORDER_ANY, VERGE_ORDER_FIFO, VERGE_ORDER_DEADLINE};

#endif
