/* SPDX-License-Identifier: MIT */
/* Options and presets, and which levels are valid. */
#include <errno.h>
#include <inttypes.h>

#include "base/explain.h"
#include "wheel/wheel_internal.h"

static const struct {
    uint8_t level_count;
    uint8_t shifts[7]; /* of each level; the first is that of the precision */
    uint8_t bits[7];
    bool coarse;
    bool strict;
    verge_order order;
    verge_past past;
} presets[] = {
    [VERGE_PRESET_DEFAULT] = {.shifts = {20}},
    [VERGE_PRESET_THREE_LEVEL] = {.level_count = 3,
                                  .shifts = {20, 30, 36},
                                  .bits = {10, 10, 10},
                                  .coarse = true,
                                  .past = VERGE_PAST_SINCE_START},
    [VERGE_PRESET_TWO_LEVEL] = {.level_count = 2, .shifts = {20, 30}, .bits = {10, 10}},
    [VERGE_PRESET_ALARM] = {.level_count = 6,
                            .shifts = {0, 11, 21, 31, 41, 51},
                            .bits = {11, 10, 10, 10, 10, 10},
                            .strict = true,
                            .order = VERGE_ORDER_FIFO,
                            .past = VERGE_PAST_REJECTED},
    [VERGE_PRESET_RUNTIME] = {.level_count = 7, .shifts = {20, 26, 32, 38, 44, 50, 56}, .bits = {6, 6, 6, 6, 6, 6, 6}},
    [VERGE_PRESET_YOUR_UNIT] = {.shifts = {0}},
};

int verge_wheel_options_preset_sized(verge_wheel_options *options, size_t struct_size, verge_wheel_preset preset) {
    if (options == NULL || struct_size != sizeof(*options) || (unsigned)preset >= sizeof(presets) / sizeof(*presets)) {
        return -EINVAL;
    }
    *options = (verge_wheel_options){
        .struct_size = struct_size,
        .precision_ns = UINT64_C(1) << presets[preset].shifts[0],
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

/* ---- what is refused, and why ---- */

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

static int read_levels(const verge_wheel_options *options, verge__explanation why, verge__geometry *ret_geometry) {
    if (options->level_count == 0) {
        int error = verge__explain_power_of_two(why, "precision_ns", options->precision_ns, 63);
        if (error != 0) {
            return error;
        }
        ret_geometry->shift = (uint8_t)verge__bit_floor_index(options->precision_ns);
        ret_geometry->level_count = (uint8_t)verge__calendar_default_levels(ret_geometry->shift, ret_geometry->levels);
        return 0;
    }
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
    /* A precision beside levels would not be used: it must be theirs, or none. */
    if (options->precision_ns != 0 && options->precision_ns != UINT64_C(1) << ret_geometry->shift) {
        return verge__explain(why, "precision_ns is %" PRIu64 ": with levels it has to be 0, or 2^%u, as levels[0]",
                              options->precision_ns, ret_geometry->shift);
    }
    return 0;
}

static int check_choices(const verge_wheel_options *options, verge__explanation why) {
    const verge_wheel_compaction *compaction = &options->compaction;
    if (options->struct_size != sizeof(*options)) {
        return verge__explain(why, "struct_size is %zu, not %zu: fill the options by verge_wheel_options_init first",
                              options->struct_size, sizeof(*options));
    }
    if (options->level_count > VERGE_LEVEL_COUNT_MAX) {
        return verge__explain(why, "level_count is %zu: it may be %d at most (VERGE_LEVEL_COUNT_MAX)",
                              options->level_count, VERGE_LEVEL_COUNT_MAX);
    }
    if ((unsigned)options->order > VERGE_ORDER_DEADLINE) {
        return verge__explain(why, "order is %d: it has to be a verge_order, from 0 to %d", (int)options->order,
                              (int)VERGE_ORDER_DEADLINE);
    }
    if ((unsigned)options->past > VERGE_PAST_REJECTED) {
        return verge__explain(why, "past is %d: it has to be a verge_past, from 0 to %d", (int)options->past,
                              (int)VERGE_PAST_REJECTED);
    }
    if (compaction->multiplier == 0 || compaction->multiplier >= compaction->ratio) {
        return verge__explain(why,
                              "compaction: multiplier %" PRIu32 " and ratio %" PRIu32 ", where 1 <= multiplier < ratio",
                              compaction->multiplier, compaction->ratio);
    }
    if (options->allocator != NULL && (options->allocator->allocate == NULL || options->allocator->release == NULL)) {
        return verge__explain(why, "allocator has no function to %s memory",
                              options->allocator->allocate == NULL ? "allocate" : "release");
    }
    return 0;
}

int verge__wheel_read_options(const verge_wheel_options *options, verge__explanation why,
                              verge__geometry *ret_geometry) {
    int error = check_choices(options, why);
    if (error == 0) {
        error = read_levels(options, why, ret_geometry);
    }
    if (error != 0) {
        return error;
    }
    verge__level_shape top = ret_geometry->levels[ret_geometry->level_count - 1];
    unsigned covered = (unsigned)top.shift + top.bits;
    ret_geometry->reaches_end = covered + ret_geometry->shift >= 64 && !options->coarse;
    ret_geometry->reach = covered < 64 ? UINT64_C(1) << covered : UINT64_MAX;
    ret_geometry->end_tick = (VERGE_NEVER - 1) >> ret_geometry->shift;
    ret_geometry->rounding = options->coarse ? verge__bit_mask(top.shift) : 0;
    if (options->start_ns >> ret_geometry->shift >= ret_geometry->end_tick - 1) {
        return verge__explain(why, "start_ns is %" PRIu64 ": no tick is left after it before time ends",
                              options->start_ns);
    }
    return 0;
}

int verge_wheel_options_explain(const verge_wheel_options *options, char *text, size_t size) {
    const verge__explanation why = verge__explanation_to(text, size);
    verge__geometry geometry;
    return options != NULL ? verge__wheel_read_options(options, why, &geometry)
                           : verge__explain(why, "there are no options: the pointer is NULL");
}
