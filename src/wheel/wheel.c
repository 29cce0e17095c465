/* SPDX-License-Identifier: MIT */
/* The life of a wheel: create, clear, destroy. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
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

/* Memory is from the user's allocator, and counted. */

static void *allocate_counted(void *context, size_t size, size_t alignment) {
    verge_wheel *wheel = (verge_wheel *)context;
    void *block = verge__allocate(&wheel->users_allocator, size, alignment);
    wheel->bytes += block != NULL ? size : 0;
    return block;
}

static void release_counted(void *context, void *block, size_t size) {
    verge_wheel *wheel = (verge_wheel *)context;
    VERGE__INVARIANT(wheel->bytes >= sizeof(*wheel) + size, "W7: bytes is what the wheel has allocated");
    wheel->bytes -= size;
    verge__release(&wheel->users_allocator, block, size);
}

verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow) {
    uint64_t precision_ns = UINT64_C(1) << wheel->calendar.shift;
    return (verge__calendar_setup){
        .levels = wheel->geometry.levels,
        .level_count = wheel->geometry.level_count,
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
    verge__geometry geometry;
    int error = verge__wheel_read_options(options, (verge__explanation){0}, &geometry);
    if (error != 0) {
        return error;
    }
    verge_allocator allocator = options->allocator != NULL ? *options->allocator : *verge_allocator_default();
    bool ordered = options->order != VERGE_ORDER_ANY;
    verge_wheel *wheel = (verge_wheel *)verge__allocate(&allocator, sizeof(*wheel), 64);
    if (wheel == NULL) {
        return -ENOMEM;
    }
    memset(wheel, 0, sizeof(*wheel));
    wheel->options = *options;
    wheel->users_allocator = allocator;
    wheel->allocator = (verge_allocator){.allocate = allocate_counted, .release = release_counted, .context = wheel};
    wheel->bytes = sizeof(*wheel);
    wheel->geometry = geometry;
    wheel->calendar.shift = geometry.shift;
    wheel->tidy_tick = VERGE__SHORT_END;
    wheel->earliest_ns = VERGE_NEVER;
    wheel->is_plain = !ordered && !options->coarse && options->past == VERGE_PAST_FIRES && options->timer_cap == 0;
    wheel->start_ns = options->start_ns;
    wheel->now_ns = options->start_ns;
    wheel->nodes = (verge__nodes){.stack = wheel->stack,
                                  .generation_base = next_generation_base(),
                                  .has_sequences = ordered,
                                  .allocator = &wheel->allocator};
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, true);
    error = verge__calendar_init(&wheel->calendar, &setup);
    if (error != 0) {
        verge__release(&allocator, wheel, sizeof(*wheel));
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
    verge__release(&wheel->allocator, wheel->heap.chunks, wheel->heap.room * sizeof(*wheel->heap.chunks));
    verge__calendar_deinit(&wheel->calendar);
    verge__nodes_deinit(&wheel->nodes);
    VERGE__INVARIANT(wheel->bytes == sizeof(*wheel), "W7: bytes is what the wheel has allocated");
    verge_allocator allocator = wheel->users_allocator;
    verge__release(&allocator, wheel, sizeof(*wheel));
}

/* A node loses its entry; if it is a timer, it ends. */
static bool end_one(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    (void)context;
    bool is_pending = verge__node_is_pending(node);
    verge__wheel_drop(wheel, node);
    node->deadline_ns = VERGE_NEVER;
    wheel->cleared += is_pending;
    if (is_pending && verge__entry_is_in_table(entry)) {
        node->generation++;
        verge__nodes_put_free(&wheel->nodes, verge__entry_index(entry));
    }
    return true;
}

static void end_all(verge_wheel *wheel) {
    (void)verge__wheel_visit(wheel, end_one, NULL);
    VERGE__INVARIANT(verge__wheel_pending(wheel) == 0 && verge__nodes_live(&wheel->nodes) == 0, "W2: all have ended");
    verge__calendar_restart(&wheel->calendar, verge__wheel_target(wheel));
    wheel->loose = 0;
    wheel->earliest_ns = VERGE_NEVER;
    wheel->tidy_tick = VERGE__SHORT_END;
    verge__wheel_note_untidy(wheel);
    verge__wheel_set_short_reach(wheel);
}

void verge_wheel_clear(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel != NULL) {
        end_all(wheel);
    }
}

int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || start_ns >> wheel->calendar.shift >= wheel->geometry.last_tick) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) > 0) {
        return -EBUSY;
    }
    wheel->start_ns = start_ns;
    wheel->now_ns = start_ns;
    wheel->last_poll_work = 0;
    end_all(wheel);
    return 0;
}
