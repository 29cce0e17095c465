/* SPDX-License-Identifier: MIT */
/*
 * Handlers with limits. A handler has limits if it has a rate or a concurrency, or if the table verge_control pauses it
 * or limits it in the whole cluster (permits.c). A handler with the option `outside` has a limit, too: each of its
 * timers keeps a firer busy. If there are several firers, such handlers use all but one.
 *
 * A timer that is due while its handler has reached a limit is held: it waits in a list of its handler, and not in the
 * wheel, so that no poll finds it again and again. When a batch has ended, or next_allowed_ns has come, held timers are
 * released, as many as may run now: they go back to the wheel.
 *
 * A handler with limits gets a share of the window, and so does a handler whose priority is not the highest. Otherwise
 * the timers of a slow handler would fill the window, and all other timers would have to wait. The handlers with shares
 * have at most half of the window, in equal parts. Rows beyond a share are cut off, as if the window was full. When
 * half of the share is free, a scan reads these rows. The other handlers use the rest of the window together. If the
 * window is full, further rows are cut off, whichever handler they belong to.
 */
#define _GNU_SOURCE

#include "durable/durable_internal.h"

bool verge__has_limits(const verge__handler *handler) {
    return handler->options.outside || handler->options.rate != 0 || handler->options.concurrency != 0 ||
           handler->control.is_paused || verge__needs_permit(handler);
}

bool verge__gets_share(const verge_durable *durable, const verge__handler *handler) {
    return verge__has_limits(handler) || handler->options.priority < durable->highest_priority;
}

void verge__count_limited(verge_durable *durable) {
    durable->limited_count = 0;
    durable->highest_priority = VERGE_DURABLE_LOW;
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        const int32_t priority = durable->handlers[i].options.priority;
        durable->highest_priority = priority > durable->highest_priority ? priority : durable->highest_priority;
    }
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        durable->limited_count += verge__gets_share(durable, &durable->handlers[i]);
    }
    if (durable->limited_count > 0) {
        verge__window_trim(durable); /* the shares may have become smaller */
    }
}

static uint32_t share_of(const verge_durable *durable) {
    const size_t share = durable->options.window_max / 2 / (durable->limited_count == 0 ? 1 : durable->limited_count);
    return share < 1 ? 1 : (uint32_t)share;
}

/* Each handler with a share may have at least one hint. If there are more such handlers than half of window_max, the
 * window gets more places, so that the other half is left for the other handlers. */
size_t verge__window_places(const verge_durable *durable) {
    const size_t half = durable->options.window_max / 2;
    return durable->options.window_max + (durable->limited_count > half ? durable->limited_count - half : 0);
}

bool verge__has_share(const verge_durable *durable, const verge__handler *handler, bool of_half) {
    return !verge__gets_share(durable, handler) ||
           handler->window_count < (share_of(durable) + of_half) / (of_half ? 2 : 1);
}

/* ---- may it run ---- */

static bool is_busy(const verge_durable *durable, const verge__handler *handler) {
    const uint32_t outside_max = durable->options.firing_threads > 1 ? durable->options.firing_threads - 1 : 1;
    return (handler->options.outside && durable->outside_running >= outside_max) ||
           (handler->options.concurrency != 0 && handler->running >= handler->options.concurrency) ||
           (handler->control.concurrency != 0 && handler->running >= handler->control.concurrency) ||
           handler->control.is_paused;
}

static uint64_t interval_of(const verge__handler *handler) {
    return UINT64_C(1000000000) / handler->options.rate;
}

bool verge__may_run(const verge_durable *durable, const verge__handler *handler, bool is_in_batch, uint64_t now_ns) {
    return (is_in_batch || !is_busy(durable, handler)) &&
           handler->next_allowed_ns < now_ns + durable->options.precision_ns;
}

void verge__note_run(verge__handler *handler, uint64_t now_ns) {
    if (handler->options.rate != 0) {
        const uint64_t from_ns = handler->next_allowed_ns > now_ns ? handler->next_allowed_ns : now_ns;
        handler->next_allowed_ns = from_ns + interval_of(handler);
    }
}

/* ---- held timers ---- */

/* Returns how many held timers of the handler may be released now. */
static uint64_t room_of(const verge_durable *durable, const verge__handler *handler, uint64_t now_ns) {
    if (handler->held_count == 0 || handler->released_count > 0 || !verge__may_run(durable, handler, false, now_ns)) {
        return 0;
    }
    if (handler->options.outside) {
        return 1;
    }
    const uint64_t batch = verge__needs_permit(handler) && verge__permit_size(handler) < durable->options.batch
                               ? verge__permit_size(handler)
                               : durable->options.batch;
    const uint64_t slots =
        handler->options.rate == 0 ? batch : durable->options.precision_ns / interval_of(handler) + 1;
    return slots < batch ? slots : batch;
}

void verge__release_held(verge_durable *durable, uint64_t now_ns) {
    for (uint32_t i = 0; i < durable->handler_count && durable->held_count > 0; i++) {
        verge__handler *handler = &durable->handlers[i];
        uint64_t room = room_of(durable, handler, now_ns);
        while (room > 0 && handler->held_count > 0) {
            room -= verge__window_release(durable, handler->held_first, now_ns);
        }
    }
}

uint64_t verge__next_release(const verge_durable *durable, uint64_t now_ns) {
    uint64_t next_ns = VERGE_NEVER;
    for (uint32_t i = 0; i < durable->handler_count && durable->held_count > 0; i++) {
        const verge__handler *handler = &durable->handlers[i];
        if (handler->held_count == 0 || handler->released_count > 0 || is_busy(durable, handler)) {
            continue; /* first a batch must end, or the timers released before must fire */
        }
        const uint64_t at_ns = handler->next_allowed_ns < now_ns ? now_ns : handler->next_allowed_ns;
        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    return next_ns;
}
