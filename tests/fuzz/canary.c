/* SPDX-License-Identifier: MIT */
/*
 * A planted bug that the fuzzers must find. It is linked with the target `wheel`, whose calls of verge_wheel_reset
 * come here. The bug: while the tick of now has not come, a timer that is reset to an earlier time in the interval that
 * contains now keeps its old deadline.
 */
#include "verge/wheel_more.h"

int __real_verge_wheel_reset(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);
int __wrap_verge_wheel_reset(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns);

int __wrap_verge_wheel_reset(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    verge_expiry before;
    const uint64_t now_ns = verge_wheel_now(wheel);
    if (verge_wheel_get(wheel, timer, &before) == 0 && deadline_ns < before.deadline_ns &&
        deadline_ns / verge_wheel_precision(wheel) == now_ns / verge_wheel_precision(wheel) &&
        verge_wheel_fires_at(wheel, now_ns) > now_ns) {
        return 0;
    }
    return __real_verge_wheel_reset(wheel, timer, deadline_ns);
}
