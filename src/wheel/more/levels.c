/* SPDX-License-Identifier: MIT */
/* Options with levels other than the default ones. */
#include <errno.h>
#include <inttypes.h>

#include "verge/wheel_more.h"
#include "wheel/wheel_internal.h"

void verge__wheel_other_preset(verge_wheel_options *options, verge_wheel_preset preset) {
    static const uint8_t three_levels[] = {20, 10, 30, 10, 36, 10}; /* shift and bits of each level */
    static const uint8_t alarm_levels[] = {0, 11, 11, 10, 21, 10, 31, 10, 41, 10, 51, 10};
    static const uint8_t runtime_levels[] = {20, 6, 26, 6, 32, 6, 38, 6, 44, 6, 50, 6, 56, 6};
    const uint8_t *levels = NULL;
    switch (preset) {
    case VERGE_PRESET_THREE_LEVEL:
        levels = three_levels;
        options->level_count = 3;
        options->coarse = true;
        options->past = VERGE_PAST_SINCE_START;
        break;
    case VERGE_PRESET_TWO_LEVEL:
        levels = three_levels;
        options->level_count = 2;
        break;
    case VERGE_PRESET_ALARM:
        levels = alarm_levels;
        options->level_count = 6;
        options->strict = true;
        options->order = VERGE_ORDER_FIFO;
        options->past = VERGE_PAST_REJECTED;
        break;
    case VERGE_PRESET_RUNTIME:
        levels = runtime_levels;
        options->level_count = 7;
        break;
    default: /* VERGE_PRESET_DEFAULT, VERGE_PRESET_YOUR_UNIT */
        return;
    }
    for (size_t k = 0; k < options->level_count; k++) {
        options->levels[k] = (verge_wheel_level){.shift = levels[2 * k], .bits = levels[2 * k + 1]};
    }
    options->precision_ns = UINT64_C(1) << levels[0];
}

int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                               size_t level_count) {
    if (options == NULL || bits == NULL || level_count == 0 || level_count > VERGE_LEVEL_COUNT_MAX ||
        !verge__is_power_of_two(precision_ns)) {
        return -EINVAL;
    }
    unsigned shift = verge__bit_floor_index(precision_ns);
    verge_wheel_options changed = *options;
    changed.precision_ns = precision_ns;
    changed.level_count = level_count;
    for (size_t k = 0; k < level_count; k++) {
        if (bits[k] == 0 || bits[k] > VERGE_LEVEL_BITS_MAX || shift + bits[k] > 64) {
            return -EINVAL;
        }
        changed.levels[k] = (verge_wheel_level){.shift = (uint8_t)shift, .bits = bits[k]};
        shift += bits[k];
    }
    *options = changed;
    return 0;
}

int verge_wheel_options_from_duration(verge_wheel_options *options, uint64_t tick_ns, size_t slot_count,
                                      size_t level_count) {
    if (tick_ns == 0 || tick_ns > UINT64_C(1) << 63 || !verge__is_power_of_two(slot_count) ||
        level_count > VERGE_LEVEL_COUNT_MAX) {
        return -EINVAL;
    }
    uint64_t precision_ns = verge__is_power_of_two(tick_ns) ? tick_ns : UINT64_C(2) << verge__bit_floor_index(tick_ns);
    uint8_t bits[VERGE_LEVEL_COUNT_MAX];
    for (size_t k = 0; k < level_count; k++) {
        bits[k] = (uint8_t)verge__bit_floor_index(slot_count);
    }
    return verge_wheel_options_levels(options, precision_ns, bits, level_count);
}

static int check_level(const verge_wheel_level *levels, size_t k, verge__explanation why) {
    unsigned shift = levels[k].shift;
    unsigned bits = levels[k].bits;
    if (bits == 0 || bits > VERGE_LEVEL_BITS_MAX) {
        return verge__explain(why, "levels[%zu].bits is %u: it has to be from 1 to %d (VERGE_LEVEL_BITS_MAX)", k, bits,
                              VERGE_LEVEL_BITS_MAX);
    }
    if (shift + bits > 64) {
        return verge__explain(why, "levels[%zu]: shift %u and bits %u add up to %u, but time has 64 bits", k, shift,
                              bits, shift + bits);
    }
    if (k == 0) {
        return 0;
    }
    unsigned end_below = (unsigned)levels[k - 1].shift + levels[k - 1].bits;
    if (shift <= levels[k - 1].shift) {
        return verge__explain(why, "levels[%zu].shift is %u: it has to be greater than the %u of the level below", k,
                              shift, levels[k - 1].shift);
    }
    if (shift > end_below) {
        return verge__explain(why,
                              "levels[%zu].shift is %u: a slot is wider than the level below, which covers 2^%u ns", k,
                              shift, end_below);
    }
    if (shift + bits <= end_below) {
        return verge__explain(why, "levels[%zu] covers 2^%u ns, which is no more than the level below", k,
                              shift + bits);
    }
    return 0;
}

int verge__wheel_read_levels(const verge_wheel_options *options, verge__explanation why,
                             verge__geometry *ret_geometry) {
    ret_geometry->shift = options->levels[0].shift;
    ret_geometry->level_count = (uint8_t)options->level_count;
    for (size_t k = 0; k < options->level_count; k++) {
        int error = check_level(options->levels, k, why);
        if (error != 0) {
            return error;
        }
        ret_geometry->levels[k] = (verge__level_shape){
            .shift = (uint8_t)(options->levels[k].shift - ret_geometry->shift), .bits = options->levels[k].bits};
    }
    /* If levels are given, the lowest one decides the precision. precision_ns must agree with it, or be 0. */
    if (options->precision_ns != 0 && options->precision_ns != UINT64_C(1) << ret_geometry->shift) {
        return verge__explain(why, "precision_ns is %" PRIu64 ": with levels it has to be 0, or 2^%u, as levels[0]",
                              options->precision_ns, ret_geometry->shift);
    }
    return 0;
}
