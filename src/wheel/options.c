/* SPDX-License-Identifier: MIT */
/* Options, presets, and which geometries make sense. */
#include <errno.h>

#include "wheel/wheel_internal.h"

enum { DEFAULT_PRECISION_SHIFT = 20 };

static const struct {
    uint8_t first_shift;
    uint8_t level_count;
    uint8_t shifts[7]; /* of each level; bits below */
    uint8_t bits[7];
    bool coarse;
    bool strict;
    verge_order order;
    verge_past past;
} presets[] = {
    [VERGE_PRESET_DEFAULT] = {.first_shift = DEFAULT_PRECISION_SHIFT},
    [VERGE_PRESET_THREE_LEVEL] = {.first_shift = 20,
                                  .level_count = 3,
                                  .shifts = {20, 30, 36},
                                  .bits = {10, 10, 10},
                                  .coarse = true,
                                  .past = VERGE_PAST_SINCE_START},
    [VERGE_PRESET_TWO_LEVEL] = {.first_shift = 20, .level_count = 2, .shifts = {20, 30}, .bits = {10, 10}},
    [VERGE_PRESET_ALARM] = {.first_shift = 0,
                            .level_count = 6,
                            .shifts = {0, 11, 21, 31, 41, 51},
                            .bits = {11, 10, 10, 10, 10, 10},
                            .strict = true,
                            .order = VERGE_ORDER_FIFO,
                            .past = VERGE_PAST_REJECTED},
    [VERGE_PRESET_RUNTIME] = {.first_shift = 20,
                              .level_count = 7,
                              .shifts = {20, 26, 32, 38, 44, 50, 56},
                              .bits = {6, 6, 6, 6, 6, 6, 6}},
};

int verge_wheel_options_preset_sized(verge_wheel_options *options, size_t struct_size, verge_wheel_preset preset) {
    if (options == NULL || struct_size != sizeof(*options) || (unsigned)preset >= sizeof(presets) / sizeof(*presets)) {
        return -EINVAL;
    }
    *options = (verge_wheel_options){
        .struct_size = struct_size,
        .precision_ns = UINT64_C(1) << presets[preset].first_shift,
        .level_count = presets[preset].level_count,
        .coarse = presets[preset].coarse,
        .strict = presets[preset].strict,
        .order = presets[preset].order,
        .past = presets[preset].past,
        .compaction = {.minimum = 64, .ratio = 4, .multiplier = 2},
    };
    for (size_t k = 0; k < options->level_count; k++) {
        options->levels[k] = (verge_wheel_level){.shift = presets[preset].shifts[k], .bits = presets[preset].bits[k]};
    }
    return 0;
}

int verge_wheel_options_levels(verge_wheel_options *options, uint64_t precision_ns, const uint8_t *bits,
                               size_t level_count) {
    if (options == NULL || bits == NULL || level_count == 0 || level_count > VERGE_LEVEL_COUNT_MAX ||
        !verge__is_power_of_two(precision_ns)) {
        return -EINVAL;
    }
    unsigned shift = verge__bit_floor_index(precision_ns);
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    for (size_t k = 0; k < level_count; k++) {
        if (bits[k] == 0 || bits[k] > VERGE_LEVEL_BITS_MAX || shift + bits[k] > 64) {
            return -EINVAL;
        }
        levels[k] = (verge_wheel_level){.shift = (uint8_t)shift, .bits = bits[k]};
        shift += bits[k];
    }
    options->precision_ns = precision_ns;
    options->level_count = level_count;
    for (size_t k = 0; k < level_count; k++) {
        options->levels[k] = levels[k];
    }
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

static bool is_geometry_sound(const verge_wheel_level *levels, size_t count) {
    for (size_t k = 0; k < count; k++) {
        if (levels[k].shift > 63 || levels[k].bits == 0 || levels[k].bits > VERGE_LEVEL_BITS_MAX ||
            levels[k].shift + levels[k].bits > 64) {
            return false;
        }
        if (k > 0) {
            unsigned end_below = (unsigned)levels[k - 1].shift + levels[k - 1].bits;
            bool rises = levels[k].shift > levels[k - 1].shift;
            bool leaves_gap = levels[k].shift > end_below;
            bool adds_range = (unsigned)levels[k].shift + levels[k].bits > end_below;
            if (!rises || leaves_gap || !adds_range) {
                return false;
            }
        }
    }
    return true;
}

int verge__wheel_check_options(const verge_wheel_options *options, size_t *ret_level_count,
                               verge_wheel_level ret_levels[VERGE_LEVEL_COUNT_MAX]) {
    if (options->struct_size != sizeof(*options) || options->level_count > VERGE_LEVEL_COUNT_MAX ||
        (unsigned)options->order > VERGE_ORDER_DEADLINE || (unsigned)options->past > VERGE_PAST_REJECTED) {
        return -EINVAL;
    }
    const verge_wheel_compaction *compaction = &options->compaction;
    if (compaction->ratio == 0 || compaction->multiplier == 0 || compaction->multiplier >= compaction->ratio) {
        return -EINVAL;
    }
    if (options->allocator != NULL && (options->allocator->allocate == NULL || options->allocator->release == NULL)) {
        return -EINVAL;
    }
    if (options->level_count == 0) {
        if (!verge__is_power_of_two(options->precision_ns)) {
            return -EINVAL;
        }
        unsigned shift = verge__bit_floor_index(options->precision_ns);
        verge__level_shape shapes[VERGE__LEVELS_MAX];
        *ret_level_count = verge__calendar_default_levels(shift, shapes);
        for (size_t k = 0; k < *ret_level_count; k++) {
            ret_levels[k] = (verge_wheel_level){.shift = (uint8_t)(shift + shapes[k].shift), .bits = shapes[k].bits};
        }
        return 0;
    }
    /* A precision beside levels would not be used: it must be theirs, or none. */
    bool is_other_precision =
        options->precision_ns != 0 && options->precision_ns != UINT64_C(1) << (options->levels[0].shift & 63);
    if (!is_geometry_sound(options->levels, options->level_count) || is_other_precision) {
        return -EINVAL;
    }
    for (size_t k = 0; k < options->level_count; k++) {
        ret_levels[k] = options->levels[k];
    }
    *ret_level_count = options->level_count;
    return 0;
}
