/* SPDX-License-Identifier: MIT */
/* Timers beyond the reach of a wheel: started by best fit, again and again, until the target is reached. */
#include <errno.h>

#include "verge/wheel_more.h"
/* Starts the next timer on the way to the target. */
static int start_leg(verge_long_timer *long_timer, verge_wheel *wheel) {
    return verge_wheel_start_best_fit(wheel, long_timer->target_ns, long_timer->data, &long_timer->timer,
                                      &long_timer->wheel_deadline_ns);
}

int verge_long_timer_start(verge_long_timer *long_timer, verge_wheel *wheel, uint64_t target_ns, void *data) {
    if (long_timer == NULL || wheel == NULL) {
        return -EINVAL;
    }
    if (target_ns == VERGE_NEVER) {
        return -ERANGE;
    }
    verge_long_timer started = {.target_ns = target_ns, .data = data};
    int error = start_leg(&started, wheel);
    if (error == 0) {
        *long_timer = started;
    }
    return error;
}

int verge_long_timer_fired(verge_long_timer *long_timer, verge_wheel *wheel) {
    if (long_timer == NULL || wheel == NULL) {
        return -EINVAL;
    }
    long_timer->timer = 0;
    if (long_timer->target_ns <= verge_wheel_now(wheel)) {
        return 1;
    }
    return start_leg(long_timer, wheel);
}

int verge_long_timer_cancel(verge_long_timer *long_timer, verge_wheel *wheel) {
    if (long_timer == NULL || wheel == NULL) {
        return -EINVAL;
    }
    if (long_timer->timer == 0) {
        return -ENOENT; /* the long timer has fired, was cancelled, or could not be started again */
    }
    int error = verge_wheel_cancel(wheel, long_timer->timer, NULL);
    if (error == 0) {
        long_timer->timer = 0;
    }
    return error;
}
