/* SPDX-License-Identifier: MIT */
/* The life of a wheel: create, clear, destroy. */
#include <errno.h>
#include <string.h>

#include "wheel/wheel_internal.h"

/* Where the generations of a new wheel's nodes start: even, from 2 to 2^31, and far from those of the wheels before it,
 * so that a handle used with the wrong wheel is rarely live there. */
static uint32_t next_generation_base(void) {
#if defined(__STDC_NO_ATOMICS__)
    static uint32_t wheel_count; /* threads that create wheels at once may get the same number: it is only a start */
    uint32_t number = ++wheel_count;
#else
    static atomic_uint wheel_count;
    uint32_t number = atomic_fetch_add_explicit(&wheel_count, 1, memory_order_relaxed) + 1;
#endif
    return ((number * UINT32_C(2654435769)) >> 1 & ~UINT32_C(1)) | 2;
}

static void set_now(verge_wheel *wheel, uint64_t start_ns) {
    wheel->start_ns = start_ns;
    wheel->now_ns = start_ns;
    wheel->last_poll_work = 0;
}

static void set_levels(verge_wheel *wheel, const verge_wheel_level *levels, size_t level_count) {
    wheel->calendar.shift = levels[0].shift;
    wheel->level_count = level_count;
    for (size_t k = 0; k < level_count; k++) {
        wheel->levels[k] =
            (verge__level_shape){.shift = (uint8_t)(levels[k].shift - levels[0].shift), .bits = levels[k].bits};
    }
    unsigned bits = (unsigned)wheel->levels[level_count - 1].shift + wheel->levels[level_count - 1].bits;
    wheel->reach = bits < 64 ? UINT64_C(1) << bits : UINT64_MAX;
    wheel->short_reach_max = wheel->reach < UINT64_C(1) << 62 ? wheel->reach : UINT64_C(1) << 62;
}

verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow) {
    uint64_t precision_ns = UINT64_C(1) << wheel->calendar.shift;
    return (verge__calendar_setup){
        .levels = wheel->levels,
        .level_count = wheel->level_count,
        .bias_ns = wheel->options.strict ? precision_ns : precision_ns - 1,
        .shift = (uint8_t)wheel->calendar.shift,
        .first_tick = verge__wheel_target(wheel),
        .leaves_filed = verge__wheel_is_ordered(wheel),
        .is_narrow = is_narrow && !wheel->options.coarse, /* which rounds up to slots of its own levels */
        .allocator = &wheel->allocator,
    };
}

int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel) {
    verge_wheel_options defaults;
    if (ret_wheel == NULL) {
        return -EINVAL;
    }
    if (options == NULL) {
        (void)verge_wheel_options_init(&defaults);
        options = &defaults;
    }
    size_t level_count = 0;
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX] = {{0}};
    int error = verge__wheel_check_options(options, (verge__explanation){0}, &level_count, levels);
    if (error != 0) {
        return error;
    }
    verge_allocator allocator = options->allocator != NULL ? *options->allocator : *verge_allocator_default();
    bool ordered = options->order != VERGE_ORDER_ANY;
    verge_wheel *wheel = (verge_wheel *)allocator.allocate(allocator.context, sizeof(*wheel), 64);
    if (wheel == NULL) {
        return -ENOMEM;
    }
    memset(wheel, 0, sizeof(*wheel));
    wheel->options = *options;
    wheel->allocator = allocator;
    wheel->last_tick = verge__wheel_last_tick(options, levels, level_count);
    wheel->tidy_tick = VERGE__NO_TICK;
    wheel->earliest_ns = VERGE_NEVER;
    wheel->is_plain = !ordered && !options->coarse && options->past == VERGE_PAST_FIRES && options->timer_cap == 0;
    set_levels(wheel, levels, level_count);
    set_now(wheel, options->start_ns);
    verge__nodes_init(&wheel->nodes, next_generation_base(), ordered, &wheel->allocator);
    wheel->nodes.stack = wheel->stack;
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, true);
    error = verge__calendar_init(&wheel->calendar, &setup);
    if (error != 0) {
        allocator.release(allocator.context, wheel, sizeof(*wheel));
        return error;
    }
    verge__wheel_set_short_reach(wheel);
    *ret_wheel = wheel;
    return 0;
}

void verge_wheel_destroy(verge_wheel *wheel) {
    VERGE__LOOK(wheel);
    if (wheel == NULL) {
        return;
    }
    verge__heap_deinit(wheel);
    verge__calendar_deinit(&wheel->calendar);
    verge__nodes_deinit(&wheel->nodes);
    verge_allocator allocator = wheel->allocator;
    allocator.release(allocator.context, wheel, sizeof(*wheel));
}

/* A node forgets its entry; if it is a timer, it ends. */
static bool end_one(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    (void)context;
    bool is_pending = verge__node_is_pending(node);
    node->deadline_ns = VERGE_NEVER;
    node->place = VERGE__NO_PLACE;
    wheel->cleared += is_pending;
    if (is_pending && verge__entry_is_in_table(entry)) {
        node->generation++;
        verge__nodes_put_free(&wheel->nodes, verge__entry_index(entry));
    }
    return true;
}

static void end_all(verge_wheel *wheel, uint64_t first_tick) {
    (void)verge__wheel_visit(wheel, end_one, NULL);
    wheel->loose = 0;
    wheel->calendar.entries_dropped += wheel->calendar.entry_count;
    verge__calendar_reset(&wheel->calendar, first_tick);
    VERGE__INVARIANT(verge__wheel_pending(wheel) == 0 && verge__nodes_live(&wheel->nodes) == 0, "W2: all have ended");
    verge__wheel_set_short_reach(wheel);
    wheel->earliest_ns = VERGE_NEVER;
    wheel->tidy_tick = VERGE__NO_TICK;
    verge__wheel_note_untidy(wheel);
}

void verge_wheel_clear(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel != NULL) {
        end_all(wheel, verge__wheel_target(wheel));
    }
}

int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || start_ns >> wheel->calendar.shift >= wheel->last_tick) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) > 0) {
        return -EBUSY;
    }
    set_now(wheel, start_ns);
    end_all(wheel, verge__wheel_target(wheel));
    return 0;
}
