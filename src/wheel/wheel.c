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
    VERGE__INVARIANT(wheel->bytes >= sizeof(*wheel) + size, "W6: bytes is what the wheel has allocated");
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
        .is_narrow = is_narrow && !wheel->options.coarse, /* which rounds up to slots of its own levels */
        .has_places = wheel->options.order == VERGE_ORDER_ANY && wheel->calendar.shift >= 2,
        .allocator = &wheel->allocator,
    };
}

static int make_ordered(verge_wheel *wheel) {
    verge__order *order = (verge__order *)verge__allocate(&wheel->allocator, sizeof(*order), _Alignof(verge__order));
    if (order == NULL) {
        return -ENOMEM;
    }
    memset(order, 0, sizeof(*order));
    order->past.merging = -1;
    order->tick.merging = -1;
    order->is_by_deadline = wheel->options.order == VERGE_ORDER_DEADLINE;
    wheel->order = order;
    wheel->nodes.stride = sizeof(verge__table_node);
    wheel->calendar.has_places = false; /* the words of timeouts have the order there */
    return 0;
}

int verge__wheel_order_by_deadline(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (verge__wheel_pending(wheel) > 0) {
        return -EBUSY;
    }
    if (wheel->order != NULL) {
        return wheel->order->is_by_deadline ? 0 : -EBUSY;
    }
    if (wheel->nodes.node_count > 0) { /* they have no room for a sequence */
        return -EBUSY;
    }
    wheel->options.order = VERGE_ORDER_DEADLINE;
    return make_ordered(wheel);
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
    wheel->earliest_ns = VERGE_NEVER;
    wheel->narrow_max = verge__narrow_max;
    wheel->is_plain = !options->coarse && options->past == VERGE_PAST_FIRES && options->timer_cap == 0;
    wheel->start_ns = options->start_ns;
    wheel->now_ns = options->start_ns;
    wheel->nodes = (verge__nodes){.stride = offsetof(verge__table_node, sequence),
                                  .generation_base = next_generation_base(),
                                  .allocator = &wheel->allocator};
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, true);
    error = verge__calendar_init(&wheel->calendar, &setup);
    if (error == 0 && options->order != VERGE_ORDER_ANY) {
        error = make_ordered(wheel);
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
    VERGE__INVARIANT(wheel->bytes == sizeof(*wheel), "W6: bytes is what the wheel has allocated");
    verge_allocator allocator = wheel->users_allocator;
    verge__release(&allocator, wheel, sizeof(*wheel));
}

/* A node is taken out; if it is a timer, it ends. */
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
    wheel->cleared++;
    if (verge__timer_is_timeout(timer)) {
        timer->word &= ~VERGE__PENDING;
        wheel->timeout_count--;
    } else {
        (void)verge__nodes_put_free(&wheel->nodes, (verge__table_node *)(void *)timer, timer->word);
    }
}

static void end_all(verge_wheel *wheel) {
    verge__wheel_visit(wheel, end_one, NULL);
    VERGE__INVARIANT(verge__wheel_pending(wheel) == 0, "W2: all have ended");
    wheel->earliest_ns = VERGE_NEVER;
    if (wheel->visits == 0) {
        verge__calendar_restart(&wheel->calendar, verge__wheel_target(wheel));
    }
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
    if (wheel == NULL || start_ns >> wheel->calendar.shift >= wheel->geometry.end_tick - 1) {
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
