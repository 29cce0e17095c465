/* SPDX-License-Identifier: MIT */
/*
 * wheel/tiny.h - wheels so small that all cases can be tried.
 */
#ifndef VERGE_TESTS_WHEEL_TINY_H
#define VERGE_TESTS_WHEEL_TINY_H

#include "wheel/support.h"

struct tiny {
    size_t level_count;
    verge_wheel_level levels[4];
};

static const struct tiny tiny_geometries[] = {
    {2, {{0, 1}, {1, 1}}},         {2, {{0, 1}, {1, 2}}},         {2, {{0, 2}, {2, 1}}},
    {2, {{0, 2}, {2, 2}}},         {2, {{1, 1}, {2, 3}}},         {2, {{1, 2}, {3, 2}}},
    {2, {{0, 3}, {3, 3}}},         {2, {{1, 3}, {4, 1}}},         {3, {{0, 1}, {1, 1}, {2, 1}}},
    {3, {{0, 1}, {1, 2}, {3, 2}}}, {3, {{1, 2}, {3, 1}, {4, 2}}}, {4, {{0, 1}, {1, 1}, {2, 1}, {3, 2}}},
    {2, {{0, 2}, {1, 3}}}, /* levels that overlap */
    {3, {{1, 3}, {2, 3}, {4, 2}}},
};

static inline verge_wheel_options tiny_options(const struct tiny *tiny) {
    verge_wheel_options options = options_of(VERGE_PRESET_DEFAULT);
    options.precision_ns = 0; /* 0: the slot width of the lowest level */
    options.level_count = tiny->level_count;
    memcpy(options.levels, tiny->levels, sizeof(tiny->levels));
    return options;
}

static inline uint64_t tiny_coverage(const struct tiny *tiny) {
    const verge_wheel_level *top = &tiny->levels[tiny->level_count - 1];
    return UINT64_C(1) << (top->shift + top->bits);
}

/* Polls at each ns before then_ns. Nothing may come out. */
static inline void tiny_wait(verge_wheel *wheel, uint64_t then_ns) {
    verge_expiry out;
    for (uint64_t now_ns = verge_wheel_now(wheel); now_ns < then_ns; now_ns++) {
        assert_int_equal(verge_wheel_poll(wheel, now_ns, &out, 1), 0);
    }
}

/* Moves an emptied wheel to a new start. */
static inline void tiny_restart(verge_wheel *wheel, uint64_t start_ns) {
    assert_int_equal(verge_wheel_set_start_time(wheel, start_ns), 0);
}

#endif
