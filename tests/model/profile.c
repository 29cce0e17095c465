/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "model/run.h"

/* Makes levels that follow each other or overlap, as the rules for levels allow. */
static void random_levels(struct verge_test_random *random, unsigned shift, unsigned bits_max, size_t level_count,
                          verge_wheel_options *options) {
    unsigned reach = shift;
    options->level_count = 0;
    while (options->level_count < level_count) {
        unsigned bits = 1 + (unsigned)verge_test_below(random, bits_max);
        if (options->level_count > 0) {
            const unsigned below = options->levels[options->level_count - 1].shift;
            const unsigned rise = 1 + (unsigned)verge_test_below(random, reach - below);
            shift = verge_test_chance(random, 2) ? reach : below + rise;
        }
        if (shift + bits <= reach) {
            bits = reach - shift + 1;
        }
        if (shift > 63 || shift + bits > 64 || bits > VERGE_LEVEL_BITS_MAX) {
            break;
        }
        options->levels[options->level_count++] = (verge_wheel_level){(uint8_t)shift, (uint8_t)bits};
        reach = shift + bits;
    }
    options->precision_ns = verge_test_chance(random, 2) ? 0 : UINT64_C(1) << options->levels[0].shift;
}

static uint64_t random_start(struct verge_test_random *random, uint64_t precision_ns) {
    switch (verge_test_below(random, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return UINT64_C(1) << 30;
    case 3:
        return UINT64_C(1) << 36;
    case 4:
        return (UINT64_C(1) << 63) - 1;
    case 5: /* the end of time comes within the run */
        return UINT64_MAX - precision_ns * (4 + verge_test_below(random, 4096));
    case 6:
        return verge_test_magnitude(random) / 4;
    default:
        return verge_test_below(random, 1000) * precision_ns + verge_test_below(random, 3);
    }
}

static void random_geometry(struct verge_test_random *random, enum run_profile profile, verge_wheel_options *options) {
    switch (profile) {
    case RUN_DENSE:
        options->precision_ns = UINT64_C(1) << verge_test_below(random, 21);
        if (verge_test_chance(random, 2)) {
            random_levels(random, (unsigned)verge_test_below(random, 21), 8, 2 + verge_test_below(random, 6), options);
        }
        break;
    case RUN_SPARSE:
        options->precision_ns = UINT64_C(1) << verge_test_below(random, 32);
        if (verge_test_chance(random, 3)) {
            random_levels(random, (unsigned)verge_test_below(random, 24), 10, 1 + verge_test_below(random, 10),
                          options);
        }
        break;
    case RUN_TINY:
    case RUN_CROWDED:
        random_levels(random, (unsigned)verge_test_below(random, 4), 3, 1 + verge_test_below(random, 4), options);
        break;
    case RUN_PRESETS:
    case RUN_PROFILE_COUNT:
        break;
    }
}

static void random_behaviour(struct verge_test_random *random, verge_wheel_options *options) {
    options->coarse = verge_test_chance(random, 5);
    options->strict = verge_test_chance(random, 3);
    options->order = (verge_order)verge_test_below(random, 3);
    options->past = (verge_past)verge_test_below(random, 3);
}

static void random_limits(struct verge_test_random *random, verge_wheel_options *options) {
    static const size_t work_limits[] = {0, 0, 0, 0, 1, 7, 100};
    static const size_t caps[] = {0, 0, 0, 0, 0, 0, 1, 50, 50};
    static const verge_wheel_compaction compactions[] = {{64, 4, 2}, {64, 4, 2}, {1, 2, 1}, {0, 4, 1}, {1000, 8, 3}};
    options->work_limit = work_limits[verge_test_below(random, sizeof(work_limits) / sizeof(*work_limits))];
    options->timer_cap = caps[verge_test_below(random, sizeof(caps) / sizeof(*caps))];
    options->compaction = compactions[verge_test_below(random, sizeof(compactions) / sizeof(*compactions))];
}

void run_random_options(struct verge_test_random *random, enum run_profile profile, verge_wheel_options *options) {
    const bool preset = profile == RUN_PRESETS;
    const uint64_t which = preset ? verge_test_below(random, VERGE_PRESET_RUNTIME + 1) : VERGE_PRESET_DEFAULT;
    (void)verge_wheel_options_init(options, sizeof(*options), (verge_wheel_preset)which);
    random_geometry(random, profile, options);
    if (!preset) {
        random_behaviour(random, options);
    }
    if (!preset || verge_test_chance(random, 2)) {
        random_limits(random, options);
    }
    const uint64_t precision_ns =
        options->level_count > 0 ? UINT64_C(1) << options->levels[0].shift : options->precision_ns;
    options->start_ns = random_start(random, precision_ns);
    options->worker_id = (uint32_t)verge_test_next(random);
}
