/* SPDX-License-Identifier: MIT */
/*
 * wheel/support.h - what the tests of the wheel share.
 */
#ifndef VERGE_TESTS_WHEEL_SUPPORT_H
#define VERGE_TESTS_WHEEL_SUPPORT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "verge/wheel_more.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)

/* The precision of most presets. */
#define TICK (UINT64_C(1) << 20)

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* Makes a timer's data from a number; number_of gets the number back. */
static inline void *data_of(uintptr_t number) {
    return (void *)number;
}

static inline uintptr_t number_of(const void *data) {
    return (uintptr_t)data;
}

/* A timeout of an object that has a number. */
struct numbered {
    verge_timeout timeout; /* the first member, as a poll returns its address */
    uintptr_t number;
};

/* The number of a timer, or of the object of a timeout. */
static inline uintptr_t number_of_expiry(const verge_expiry *expiry) {
    return expiry->timer != 0 ? number_of(expiry->data) : ((const struct numbered *)expiry->data)->number;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLOW_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TEST_SLOW_BUILD 1
#endif
#endif
#ifndef TEST_SLOW_BUILD
#define TEST_SLOW_BUILD 0
#endif

/* A number of repetitions, scaled: to a tenth under a sanitizer, or by VERGE_TEST_SCALE, if that is set. At least
 * 100. */
static inline size_t test_scaled(size_t count) {
    const char *text = getenv("VERGE_TEST_SCALE");
    const double factor = text != NULL && *text != '\0' ? strtod(text, NULL) : TEST_SLOW_BUILD ? 0.1 : 1.0;
    const size_t scaled = (size_t)((double)count * factor);
    return scaled < 100 ? 100 : scaled;
}

/* ---- making wheels ---- */

static inline verge_wheel_options options_of(verge_wheel_preset preset) {
    verge_wheel_options options;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), preset), 0);
    return options;
}

/* Levels that follow each other from precision_ns up; bits ends with 0. */
static inline verge_wheel_options options_of_levels(uint64_t precision_ns, const uint8_t *bits) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    size_t level_count = 0;
    while (bits[level_count] != 0) {
        level_count++;
    }
    assert_int_equal(verge_wheel_options_levels(&options, precision_ns, bits, level_count), 0);
    return options;
}

/* A wheel with few timers has a narrow calendar, whose levels are not those of the options. With VERGE_TEST_WIDE in the
 * environment, wheels of tests have a wide one from the beginning. */
static inline verge_wheel *wheel_new(const verge_wheel_options *options) {
    verge_wheel *wheel = NULL;
    assert_int_equal(verge_wheel_create(options, &wheel), 0);
    assert_non_null(wheel);
    if (getenv("VERGE_TEST_WIDE") != NULL) {
        assert_int_equal(verge_wheel_reserve(wheel, 0, 1000), 0);
    }
    return wheel;
}

static inline verge_wheel *wheel_of(verge_wheel_preset preset, uint64_t start_ns) {
    verge_wheel_options options = options_of(preset);
    options.start_ns = start_ns;
    return wheel_new(&options);
}

/* A wheel whose memory is from an allocator that counts. */
static inline verge_wheel *wheel_in(struct verge_test_allocator *memory, verge_wheel_preset preset) {
    verge_test_allocator_init(memory);
    verge_wheel_options options = options_of(preset);
    options.allocator = &memory->allocator;
    return wheel_new(&options);
}

static inline void assert_well(const verge_wheel *wheel) {
    const char *broken = verge_wheel_check(wheel);
    if (broken != NULL) {
        fail_msg("%s", broken);
    }
}

/* Checks the wheel a last time, and destroys it. */
static inline void wheel_end(verge_wheel *wheel) {
    assert_well(wheel);
    verge_wheel_destroy(wheel);
}

/* ---- timers ---- */

static inline verge_timer schedule(verge_wheel *wheel, uint64_t deadline_ns, uintptr_t number) {
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start(wheel, deadline_ns, data_of(number), &timer), 0);
    assert_int_not_equal(timer, 0);
    return timer;
}

static inline verge_wheel_stats stats_of(const verge_wheel *wheel) {
    verge_wheel_stats stats;
    memset(&stats, 0, sizeof(stats));
    stats.struct_size = sizeof(stats);
    assert_int_equal(verge_wheel_get_stats(wheel, &stats), 0);
    return stats;
}

static inline verge_wheel_level_stats level_stats_of(const verge_wheel *wheel, size_t level) {
    verge_wheel_level_stats stats;
    memset(&stats, 0, sizeof(stats));
    stats.struct_size = sizeof(stats);
    assert_int_equal(verge_wheel_get_level_stats(wheel, level, &stats), 0);
    return stats;
}

static inline size_t level_count_of(const verge_wheel *wheel) {
    return stats_of(wheel).level_count;
}

static inline uint64_t coverage_of(const verge_wheel *wheel, size_t level) {
    return level_stats_of(wheel, level).coverage_ns;
}

/* Asserts that the wheel has no such level. */
static inline void assert_no_level(const verge_wheel *wheel, size_t level) {
    verge_wheel_level_stats stats = {.struct_size = sizeof(stats), .coverage_ns = 77};
    assert_int_equal(verge_wheel_get_level_stats(wheel, level, &stats), -EINVAL);
    assert_int_equal(stats.coverage_ns, 77);
}

static inline size_t poll_count(verge_wheel *wheel, uint64_t now_ns) {
    verge_expiry out[64];
    const size_t count = verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out));
    assert_true(count < COUNT_OF(out));
    return count;
}

static inline void assert_quiet(verge_wheel *wheel, uint64_t now_ns) {
    assert_int_equal(poll_count(wheel, now_ns), 0);
}

/* A poll returns this timer and no other. */
static inline void assert_fires(verge_wheel *wheel, uint64_t now_ns, verge_timer timer) {
    verge_expiry out[4];
    assert_int_equal(verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out)), 1);
    assert_int_equal(out[0].timer, timer);
    assert_true(out[0].deadline_ns <= verge_wheel_now(wheel));
}

/* A poll returns the timers with these numbers, in this order, and no others. */
static inline void assert_fires_in_order(verge_wheel *wheel, uint64_t now_ns, const uintptr_t *numbers, size_t count) {
    verge_expiry out[16];
    assert_true(count < COUNT_OF(out));
    assert_int_equal(verge_wheel_poll(wheel, now_ns, out, COUNT_OF(out)), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(number_of_expiry(&out[i]), numbers[i]);
    }
}

#define ASSERT_FIRES_IN_ORDER(wheel, now_ns, ...) \
    assert_fires_in_order(wheel, now_ns, (const uintptr_t[]){__VA_ARGS__}, COUNT_OF(((const uintptr_t[]){__VA_ARGS__})))

/* ---- a failed call changes nothing ---- */

struct snapshot {
    verge_wheel_stats stats;
    uint64_t now_ns;
    uint64_t start_ns;
    uint64_t wakeup_ns;
    uint64_t deadline_ns;
    uint64_t backlog;
};

static inline struct snapshot snapshot_of(verge_wheel *wheel) {
    struct snapshot snapshot;
    memset(&snapshot, 0, sizeof(snapshot));
    snapshot.deadline_ns = verge_wheel_next_deadline(wheel); /* first, as it may file nodes again, which is counted */
    snapshot.stats = stats_of(wheel);
    memset((unsigned char *)&snapshot.stats + sizeof(size_t), 0, /* padding, if a size_t has 4 bytes */
           offsetof(verge_wheel_stats, timers) - sizeof(size_t));
    snapshot.now_ns = verge_wheel_now(wheel);
    snapshot.start_ns = verge_wheel_start_time(wheel);
    snapshot.wakeup_ns = verge_wheel_next_wakeup(wheel);
    snapshot.backlog = verge_wheel_has_backlog(wheel);
    return snapshot;
}

static inline void assert_unchanged(verge_wheel *wheel, const struct snapshot *before) {
    const struct snapshot after = snapshot_of(wheel);
    assert_memory_equal(&after, before, sizeof(after));
    assert_well(wheel);
}

#endif
