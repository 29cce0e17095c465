/* SPDX-License-Identifier: MIT */
/* Options: the defaults and presets; checking options, and translating them into ticks. */
#include <errno.h>
#include <inttypes.h>

#include "base/explain.h"
#include "base/sized.h"
#include "wheel/wheel_internal.h"

int verge_wheel_options_init(verge_wheel_options *options, size_t struct_size, verge_wheel_preset preset) {
    if ((unsigned)preset > VERGE_PRESET_YOUR_UNIT) {
        return -EINVAL;
    }
    verge_wheel_options all = {
        .precision_ns = preset == VERGE_PRESET_YOUR_UNIT ? 1 : UINT64_C(1) << 20,
        .compaction = {.minimum = 64, .ratio = 4, .multiplier = 2},
    };
    verge__wheel_other_preset(&all, preset);
    return verge__sized_init(options, struct_size, &all, sizeof(all));
}

static int read_precision(const verge_wheel_options *options, verge__explanation why, verge__geometry *ret_geometry) {
    int error = verge__explain_power_of_two(why, "precision_ns", options->precision_ns, 63);
    if (error == 0) {
        ret_geometry->shift = (uint8_t)verge__bit_floor_index(options->precision_ns);
        ret_geometry->level_count = (uint8_t)verge__calendar_default_levels(ret_geometry->shift, ret_geometry->levels);
    }
    return error;
}

static int check_choices(const verge_wheel_options *options, verge__explanation why) {
    const verge_wheel_compaction *compaction = &options->compaction;
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

int verge__wheel_read_options(const verge_wheel_options *given, verge__explanation why, verge_wheel_options *options,
                              verge__geometry *ret_geometry) {
    int error = verge__explain_sized(why, "verge_wheel_options_init", given, options, sizeof(*options));
    if (error == 0) {
        error = check_choices(options, why);
    }
    if (error == 0) {
        error = options->level_count == 0 ? read_precision(options, why, ret_geometry)
                                          : verge__wheel_read_levels(options, why, ret_geometry);
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
    verge_wheel_options known;
    verge__geometry geometry;
    return verge__wheel_read_options(options, verge__explanation_to(text, size), &known, &geometry);
}
