/* SPDX-License-Identifier: MIT */
/* Arbitrary bytes as options: create returns -EINVAL where the header says so, and otherwise a wheel that works. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/random.h"
#include "verge/wheel_more.h"

static uint64_t some_number(struct verge_test_random *random) {
    switch (verge_test_below(random, 4)) {
    case 0:
        return UINT64_C(1) << verge_test_below(random, 64);
    case 1:
        return verge_test_below(random, 256);
    case 2:
        return UINT64_MAX - verge_test_below(random, 256);
    default:
        return verge_test_next(random);
    }
}

static bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* The conditions of the header, in its order. */
static bool are_levels_valid(const verge_wheel_options *options) {
    for (size_t i = 0; i < options->level_count; i++) {
        const verge_wheel_level *level = &options->levels[i];
        const unsigned end = (unsigned)level->shift + level->bits;
        if (i > 0) {
            const unsigned end_below = (unsigned)level[-1].shift + level[-1].bits;
            if (level->shift <= level[-1].shift || level->shift > end_below || end <= end_below) {
                return false;
            }
        }
        if (end > 64 || level->shift > 63 || level->bits == 0 || level->bits > VERGE_LEVEL_BITS_MAX) {
            return false;
        }
    }
    return true;
}

/* Whether the wheel starts so near to the end of time that no tick is left at which a timer could come out. */
static bool leaves_no_time(const verge_wheel_options *options) {
    unsigned shift = options->levels[0].shift;
    if (options->level_count == 0) {
        for (shift = 0; options->precision_ns >> shift > 1;) {
            shift++;
        }
    }
    return options->start_ns >> shift >= ((VERGE_NEVER - 1) >> shift) - 1;
}

static bool are_options_valid(const verge_wheel_options *options) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > 4096 ||
        options->level_count > VERGE_LEVEL_COUNT_MAX) {
        return false;
    }
    if (options->level_count == 0 ? !is_power_of_two(options->precision_ns) : !are_levels_valid(options)) {
        return false;
    }
    if (options->level_count > 0 && options->precision_ns != 0 &&
        options->precision_ns != UINT64_C(1) << options->levels[0].shift) {
        return false; /* precision_ns would not be used */
    }
    const verge_wheel_compaction *compaction = &options->compaction;
    return compaction->ratio != 0 && compaction->multiplier != 0 && compaction->multiplier < compaction->ratio &&
           (unsigned)options->order <= VERGE_ORDER_DEADLINE && (unsigned)options->past <= VERGE_PAST_REJECTED &&
           !leaves_no_time(options);
}

/* Sets levels by one of two calls. If it succeeds, the levels are valid, and not finer than precision_ns. If it fails,
 * it changes nothing. */
static void set_levels(struct verge_test_random *random, verge_wheel_options *options) {
    const verge_wheel_options before = *options;
    const uint64_t precision_ns = some_number(random);
    const size_t level_count = (size_t)verge_test_below(random, VERGE_LEVEL_COUNT_MAX + 2);
    uint8_t bits[VERGE_LEVEL_COUNT_MAX + 2];
    for (size_t i = 0; i < sizeof(bits); i++) {
        bits[i] = (uint8_t)verge_test_below(random, VERGE_LEVEL_BITS_MAX + 2);
    }
    const int error = verge_test_chance(random, 2)
                          ? verge_wheel_options_levels(options, precision_ns, bits, level_count)
                          : verge_wheel_options_from_duration(options, precision_ns, some_number(random), level_count);
    FUZZ_CHECK(error == 0 || error == -EINVAL, "levels: an error of another kind");
    if (error != 0) {
        FUZZ_CHECK(before.level_count == options->level_count && before.precision_ns == options->precision_ns &&
                       memcmp(before.levels, options->levels, sizeof(before.levels)) == 0,
                   "levels: touched on failure");
        return;
    }
    FUZZ_CHECK(options->level_count == level_count && are_levels_valid(options), "levels: of no use");
    FUZZ_CHECK(options->levels[0].shift > 63 || UINT64_C(1) << options->levels[0].shift >= precision_ns,
               "levels: finer than asked for");
}

static void choose_options(struct verge_test_random *random, verge_wheel_options *options) {
    const int error =
        verge_wheel_options_init(options, sizeof(*options), (verge_wheel_preset)verge_test_below(random, 8));
    FUZZ_CHECK(error == 0 || error == -EINVAL, "preset: an error of another kind");
    if (error != 0) {
        (void)verge_wheel_options_init(options, sizeof(*options), VERGE_PRESET_DEFAULT);
    }
    const uint64_t changes = verge_test_below(random, 8);
    for (uint64_t i = 0; i < changes; i++) {
        const size_t level = (size_t)verge_test_below(random, VERGE_LEVEL_COUNT_MAX);
        switch (verge_test_below(random, 12)) {
        case 0:
            if ((options->struct_size = some_number(random)) >= sizeof(size_t) && options->struct_size <= 4096) {
                options->struct_size = sizeof(*options); /* other sizes could be valid, but the object has this one */
            }
            break;
        case 1:
            options->start_ns = some_number(random);
            break;
        case 2:
            options->precision_ns = some_number(random);
            break;
        case 3:
            options->level_count = some_number(random);
            break;
        case 4:
            options->levels[level] =
                (verge_wheel_level){(uint8_t)verge_test_next(random), (uint8_t)some_number(random)};
            break;
        case 5:
            options->coarse = !options->coarse;
            break;
        case 6:
            options->strict = !options->strict;
            break;
        case 7:
            options->order = (verge_order)verge_test_below(random, 5);
            break;
        case 8:
            options->past = (verge_past)verge_test_below(random, 5);
            break;
        case 9:
            options->timer_cap = verge_test_below(random, 5);
            options->work_limit = verge_test_below(random, 5);
            break;
        case 10:
            options->compaction = (verge_wheel_compaction){(uint32_t)some_number(random), (uint32_t)some_number(random),
                                                           (uint32_t)some_number(random)};
            break;
        default:
            set_levels(random, options);
            break;
        }
    }
}

/* Starts timers, some of them at the ends of the wheel's range. They come out, each once and none early. */
static void use(verge_wheel *wheel, struct verge_test_random *random) {
    size_t scheduled = 0;
    size_t for_ever = 0; /* timers beyond the last tick, which never come out */
    for (uint64_t left = verge_test_below(random, 8); left > 0; left--) {
        const uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
        const uint64_t deadlines_ns[] = {verge_wheel_now(wheel), largest_ns, some_number(random)};
        const uint64_t deadline_ns = deadlines_ns[verge_test_below(random, 3)];
        verge_timer timer = 0;
        if (verge_wheel_start(wheel, deadline_ns, NULL, &timer) == 0) {
            scheduled += deadline_ns <= largest_ns;
            for_ever += deadline_ns > largest_ns;
        }
    }
    FUZZ_CHECK(verge_wheel_check(wheel) == NULL, "an invariant of a new wheel");
    size_t returned = 0;
    for (uint64_t polls = 0; verge_wheel_count(wheel) > for_ever; polls++) {
        verge_expiry out[2];
        const size_t count = verge_wheel_poll_to_next(wheel, VERGE_NEVER - 1, out, 2);
        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(out[i].deadline_ns <= verge_wheel_now(wheel), "G1: early");
        }
        returned += count;
        FUZZ_CHECK(polls < 10000, "G3: it does not drain");
        FUZZ_CHECK(verge_wheel_check(wheel) == NULL, "an invariant");
    }
    FUZZ_CHECK(returned == scheduled, "G3: exactly once");
    FUZZ_CHECK(verge_wheel_poll(wheel, VERGE_NEVER, &(verge_expiry){0}, 1) == 0, "what is for ever came out");
    FUZZ_CHECK(verge_wheel_count(wheel) == for_ever, "what is for ever is gone");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    struct verge_test_random random = verge_test_random_from_bytes(bytes, byte_count);
    verge_wheel_options options;
    choose_options(&random, &options);
    verge_wheel *wheel = NULL;
    const int error = verge_wheel_create(&options, &wheel);
    FUZZ_CHECK(error == (are_options_valid(&options) ? 0 : -EINVAL), "create: the verdict on the options");
    FUZZ_CHECK((wheel != NULL) == (error == 0), "create: ret_wheel");
    char text[160] = "";
    FUZZ_CHECK(verge_wheel_options_explain(&options, text, sizeof(text)) == error, "explain: the verdict of create");
    FUZZ_CHECK((*text == '\0') == (error == 0) && strlen(text) < sizeof(text) - 1, "explain: a sentence that fits");
    if (error == 0) {
        use(wheel, &random);
        verge_wheel_destroy(wheel);
    }
    return 0;
}
