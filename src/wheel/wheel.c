/* SPDX-License-Identifier: MIT */
/* The life of a wheel: create, cancel_all, destroy. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

/* Returns where the generations of a new wheel's nodes start: an even number from 2 to 2^31 - 2. It is far from the
 * numbers of earlier wheels. So a handle that is used with the wrong wheel is rarely that of a pending timer there. */
static uint32_t next_generation_base(void) {
#if defined(__STDC_NO_ATOMICS__)
    static uint32_t wheel_count; /* two threads at once may get the same number, which does no harm */
    uint32_t number = ++wheel_count;
#else
    static atomic_uint wheel_count;
    uint32_t number = atomic_fetch_add_explicit(&wheel_count, 1, memory_order_relaxed) + 1;
#endif
    return ((number * UINT32_C(2654435769)) >> 1 & ~UINT32_C(1)) | 2;
}

verge__calendar_setup verge__wheel_calendar_setup(const verge_wheel *wheel, bool is_narrow) {
    uint64_t precision_ns = UINT64_C(1) << wheel->calendar.shift;
    return (verge__calendar_setup){
        .levels = wheel->geometry.levels,
        .level_count = wheel->geometry.level_count,
        .bias_ns = wheel->options.strict ? precision_ns : precision_ns - 1,
        .shift = (uint8_t)wheel->calendar.shift,
        .first_tick = verge__wheel_target(wheel),
        .is_narrow = is_narrow && !wheel->options.coarse, /* a coarse wheel needs the slots of its own levels */
        .has_places = wheel->options.order == VERGE_ORDER_ANY && wheel->calendar.shift >= 2,
        .allocator = &wheel->allocator,
    };
}

int verge_wheel_create(const verge_wheel_options *given, verge_wheel **ret_wheel) {
    verge_wheel_options defaults;
    verge_wheel_options options;
    verge__geometry geometry;
    (void)verge_wheel_options_init(&defaults, sizeof(defaults), VERGE_PRESET_DEFAULT);
    if (ret_wheel == NULL) {
        return -EINVAL;
    }
    int error =
        verge__wheel_read_options(given != NULL ? given : &defaults, (verge__explanation){0}, &options, &geometry);
    if (error != 0) {
        return error;
    }
    verge_allocator allocator = options.allocator != NULL ? *options.allocator : *verge_allocator_default();
    verge_wheel *wheel = (verge_wheel *)verge__allocate(&allocator, sizeof(*wheel), 64);
    if (wheel == NULL) {
        return -ENOMEM;
    }
    memset(wheel, 0, sizeof(*wheel));
    wheel->options = options;
    wheel->allocator = allocator;
    wheel->geometry = geometry;
    wheel->calendar.shift = geometry.shift;
    wheel->earliest_ns = VERGE_NEVER;
    wheel->narrow_max = verge__narrow_max;
    wheel->is_plain = !options.coarse && options.past != VERGE_PAST_SINCE_START;
    wheel->start_ns = options.start_ns;
    wheel->now_ns = options.start_ns;
    wheel->nodes = (verge__nodes){.stride = offsetof(verge__table_node, sequence),
                                  .generation_base = next_generation_base(),
                                  .allocator = &wheel->allocator};
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, true);
    error = verge__calendar_init(&wheel->calendar, &setup);
    if (error == 0 && options.order != VERGE_ORDER_ANY) {
        error = verge__wheel_make_ordered(wheel, options.order);
    }
    if (error != 0) {
        verge_wheel_destroy(wheel);
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
    verge__release(&wheel->allocator, wheel->order, sizeof(*wheel->order));
    verge__calendar_deinit(&wheel->calendar);
    verge__nodes_deinit(&wheel->nodes);
    verge_allocator allocator = wheel->allocator;
    verge__release(&allocator, wheel, sizeof(*wheel));
}

/* ---- all nodes ---- */

verge__node **verge__wheel_list(const verge_wheel *wheel, size_t i) {
    const verge__calendar *calendar = &wheel->calendar;
    if (i < calendar->head_count) {
        return &calendar->heads[i];
    }
    i -= calendar->head_count;
    if (i < 2) {
        return (verge__node **)(uintptr_t)(i == 0 ? &wheel->past : &wheel->deferred);
    }
    i -= 2;
    if (wheel->order == NULL || i >= 4 * (size_t)VERGE__LIST_SIZES) {
        return NULL;
    }
    verge__sorting *sorting = i % 2 == 0 ? &wheel->order->past : &wheel->order->tick;
    return &sorting->lists[i / 4][i / 2 % 2];
}

void verge__wheel_visit(verge_wheel *wheel, size_t first_list, verge__visitor *visitor, void *context) {
    verge__node **list = NULL;
    for (size_t i = first_list; (list = verge__wheel_list(wheel, i)) != NULL; i++) {
        for (verge__node *node = *list, *next = NULL; node != NULL; node = next) {
            next = node->next;
            visitor(context, wheel, verge__timer_of_node(node));
        }
    }
}

/* Takes a node out of its list, unless it is a marker. If the node is that of a pending timer, the timer ends. */
static void end_one(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    (void)context;
    if (verge__timer_is_marker(timer)) {
        return;
    }
    verge__calendar_withdraw(&wheel->calendar, &timer->node);
    if (!verge__timer_is_pending(timer)) {
        wheel->dropped++;
        return;
    }
    wheel->cancelled++;
    if (verge__timer_is_timeout(timer)) {
        timer->tag &= ~VERGE__PENDING;
        wheel->timeout_count--;
    } else {
        (void)verge__nodes_put_free(&wheel->nodes, (verge__table_node *)(void *)timer, timer->tag);
    }
}

void verge_wheel_cancel_all(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return;
    }
    if (wheel->calendar.linked > 0) {
        verge__wheel_visit(wheel, 0, end_one, NULL);
    }
    VERGE__INVARIANT(verge__wheel_pending(wheel) == 0, "W2: all have ended");
    wheel->earliest_ns = VERGE_NEVER;
    if (wheel->visits == 0) {
        verge__calendar_restart(&wheel->calendar, verge__wheel_target(wheel));
    }
    verge__wheel_set_short_reach(wheel);
}
