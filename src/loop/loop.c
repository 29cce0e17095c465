/* SPDX-License-Identifier: MIT */
/* Timers that call back in order: a wheel that is ordered by deadline runs them. */
#include "verge/loop.h"

#include <errno.h>
#include <limits.h>

#include "wheel/wheel_internal.h"

int verge_loop_timeout(verge_wheel *wheel, uint64_t now, uint64_t units_per_ms) {
    if (units_per_ms == 0) {
        return -EINVAL;
    }
    uint64_t next = verge_wheel_next_deadline(wheel);
    if (next == VERGE_NEVER) {
        return -1;
    }
    uint64_t wakeup = verge_wheel_has_backlog(wheel) ? 0
                      : wheel->options.coarse        ? verge_wheel_next_wakeup(wheel)
                                                     : verge_wheel_fires_at(wheel, next);
    if (wakeup == VERGE_NEVER) {
        return -1;
    }
    uint64_t ms = wakeup <= now ? 0 : (wakeup - now - 1) / units_per_ms + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

int verge_loop_init(verge_loop *loop, verge_wheel *wheel) {
    if (loop == NULL || wheel == NULL) {
        return -EINVAL;
    }
    int error = verge__wheel_order_by_deadline(wheel);
    if (error == 0) {
        *loop = (verge_loop){.wheel = wheel};
    }
    return error;
}

bool verge_loop_is_pending(const verge_loop_timer *timer) {
    return timer != NULL && verge_timeout_deadline(&timer->timeout) != VERGE_NEVER;
}

int verge_loop_start(verge_loop *loop, verge_loop_timer *timer, verge_loop_function *callback, void *data,
                     uint64_t deadline, uint64_t repeat) {
    if (loop == NULL || loop->wheel == NULL || timer == NULL || callback == NULL) {
        return -EINVAL;
    }
    /* A timer whose deadline has come (G1) is past, although its tick may not have come (E2). */
    uint64_t now = verge_wheel_now(loop->wheel);
    bool is_past = loop->wheel->options.strict ? deadline < now : deadline <= now;
    int error = is_past ? verge__timeout_set_past(loop->wheel, &timer->timeout, deadline)
                        : verge_timeout_start(loop->wheel, &timer->timeout, deadline);
    if (error == 0) {
        timer->callback = callback;
        timer->data = data;
        timer->repeat = repeat;
    }
    return error;
}

int verge_loop_cancel(verge_loop *loop, verge_loop_timer *timer) {
    return loop == NULL || timer == NULL ? -EINVAL : verge_timeout_cancel(loop->wheel, &timer->timeout);
}

/* Starts a periodic timer again. If its next deadline would be beyond the largest deadline of the wheel, the timer gets
 * the largest one. If now is not before the largest one, the timer ends instead. */
static void start_again(verge_wheel *wheel, verge_loop_timer *timer) {
    uint64_t now = verge_wheel_now(wheel);
    uint64_t largest = verge_wheel_largest_deadline(wheel);
    if (timer->repeat != 0 && now < largest) {
        uint64_t deadline = timer->repeat > largest - now ? largest : now + timer->repeat;
        (void)verge_timeout_start(wheel, &timer->timeout, deadline);
    }
}

static void on_expiry(void *context, const verge_expiry *expiry) {
    verge_loop_timer *timer = (verge_loop_timer *)expiry->data; /* the timeout is the first member of the timer */
    start_again((verge_wheel *)context, timer);
    timer->callback(timer->data, timer);
}

size_t verge_loop_run(verge_loop *loop, uint64_t now) {
    return loop == NULL ? 0 : verge__wheel_run_all(loop->wheel, now, on_expiry, loop->wheel);
}
