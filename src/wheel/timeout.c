/* SPDX-License-Identifier: MIT */
/* Timeouts: nodes in the caller's objects. verge/wheel.h says when the wheel may touch their memory. */
#include <errno.h>

#include "base/probes.h"
#include "wheel/wheel_internal.h"

static verge__timer_node *timer_of(verge_timeout *timeout) {
    return (verge__timer_node *)(void *)timeout;
}

/* Ends a start: marks the timeout, which has its deadline now, as pending, and counts it. */
static VERGE__ALWAYS_INLINE int armed(verge_wheel *wheel, verge__timer_node *timer) {
    wheel->timeout_count += !verge__timer_is_pending(timer);
    timer->tag |= VERGE__PENDING;
    VERGE__PROBE3(start, wheel, timer, timer->node.deadline_ns);
    return 0;
}

static VERGE__NOINLINE int set_anew(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns, bool is_past) {
    if (wheel == NULL || timeout == NULL) {
        return -EINVAL;
    }
    verge__timer_node *timer = timer_of(timeout);
    VERGE__INVARIANT(!verge__node_is_linked(&timer->node) || verge__wheel_may_have(wheel, &timer->node),
                     "a timeout of another wheel: cancel it there first");
    uint64_t tick;
    if (VERGE__LIKELY(!is_past && verge__wheel_arm_anew(wheel, timer, deadline_ns, &tick))) {
        timer->tag = VERGE__TIMEOUT | tick << 1;
        return armed(wheel, timer);
    }
    uint64_t before = timer->tag;
    timer->tag |= VERGE__TIMEOUT; /* the bit is clear if the caller has zeroed the timeout */
    int error = verge__wheel_arm(wheel, timer, deadline_ns, is_past);
    if (VERGE__UNLIKELY(error != 0)) {
        timer->tag = before;
        return error;
    }
    return armed(wheel, timer);
}

int verge_timeout_start(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    verge__timer_node *timer = timer_of(timeout);
    bool is_there = VERGE__LIKELY(wheel != NULL && timeout != NULL);
    VERGE__INVARIANT(!is_there || !verge__node_is_linked(&timer->node) || verge__wheel_may_have(wheel, &timer->node),
                     "a timeout of another wheel: cancel it there first");
    return is_there && verge__wheel_arm_in_place(wheel, timer, deadline_ns, true)
               ? armed(wheel, timer)
               : set_anew(wheel, timeout, deadline_ns, false);
}

int verge__timeout_set_past(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    return set_anew(wheel, timeout, deadline_ns, true);
}

static VERGE__NOINLINE int withdraw(verge_wheel *wheel, verge__timer_node *timer, int result) {
    if (verge__node_is_linked(&timer->node)) {
        verge__calendar_withdraw(&wheel->calendar, &timer->node);
    }
    return result;
}

static VERGE__ALWAYS_INLINE int end(verge_wheel *wheel, verge_timeout *timeout, bool may_be_idle) {
    verge__timer_node *timer = timer_of(timeout);
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    VERGE__INVARIANT(!verge__node_is_linked(&timer->node) || verge__wheel_may_have(wheel, &timer->node),
                     "a timeout of another wheel: cancel it there");
    if (VERGE__UNLIKELY(!verge__timer_is_pending(timer))) {
        return may_be_idle ? -ENOENT : withdraw(wheel, timer, -ENOENT);
    }
    VERGE__INVARIANT(wheel->timeout_count > 0 && verge__node_is_linked(&timer->node),
                     "W1: every pending timer is linked, and counted");
    timer->tag -= VERGE__PENDING;
    wheel->timeout_count--;
    VERGE__PROBE2(cancel, wheel, timeout);
    return verge__wheel_make_idle(wheel, timer) && may_be_idle ? 0 : withdraw(wheel, timer, 0);
}

int verge_timeout_pause(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    return end(wheel, timeout, true);
}

int verge_timeout_cancel(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    return end(wheel, timeout, false);
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    const verge__timer_node *timer = (const verge__timer_node *)(const void *)timeout;
    return timeout == NULL || !verge__timer_is_pending(timer) ? VERGE_NEVER : timer->node.deadline_ns;
}
