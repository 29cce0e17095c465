/* SPDX-License-Identifier: MIT */
/* Timeouts: nodes in the caller's objects. verge/wheel.h says when the wheel may touch their memory. */
#include <errno.h>

#include "base/probes.h"
#include "wheel/wheel_internal.h"

static verge__timer_node *timer_of(verge_timeout *timeout) {
    return (verge__timer_node *)(void *)timeout;
}

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS
/* Whether a linked node may be in a list of this wheel. Looks at a few nodes before it: if one of them is the first of
 * its list, that list tells. */
static bool may_be_of(const verge_wheel *wheel, const verge__node *node) {
    enum { STEPS = 8 };
    const verge__calendar *calendar = &wheel->calendar;
    for (int i = 0; i < STEPS; i++) {
        uintptr_t head = (uintptr_t)node->pprev;
        bool is_slot = head - (uintptr_t)calendar->heads < calendar->head_count * sizeof(verge__node *);
        bool is_own = head - (uintptr_t)wheel < sizeof(*wheel) ||
                      (wheel->order != NULL && head - (uintptr_t)wheel->order < sizeof(*wheel->order));
        if (is_slot || is_own) {
            return true;
        }
        const verge__node *before = (const verge__node *)(const void *)node->pprev; /* `next` is the first field */
        if (before->next != node || before->pprev == NULL || *before->pprev != before) {
            return false; /* the list is of another wheel */
        }
        node = before;
    }
    return true;
}
#else
#define may_be_of(wheel, node) true
#endif

/* A timeout that was armed is pending. */
static VERGE__ALWAYS_INLINE int armed(verge_wheel *wheel, verge__timer_node *timer) {
    wheel->timeout_count += !verge__timer_is_pending(timer);
    timer->word |= VERGE__PENDING;
    VERGE__PROBE3(schedule, wheel, timer, timer->node.deadline_ns);
    return 0;
}

static VERGE__NOINLINE int set_anew(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns, bool is_past) {
    if (wheel == NULL || timeout == NULL) {
        return -EINVAL;
    }
    verge__timer_node *timer = timer_of(timeout);
    VERGE__INVARIANT(!verge__node_is_linked(&timer->node) || may_be_of(wheel, &timer->node),
                     "a timeout of another wheel: clear it there first");
    uint64_t before = timer->word;
    timer->word |= VERGE__TIMEOUT; /* its memory may be zeroed */
    int error = VERGE__UNLIKELY(is_past) ? verge__wheel_arm_slowly(wheel, timer, deadline_ns, true)
                                         : verge__wheel_arm(wheel, timer, deadline_ns);
    if (VERGE__UNLIKELY(error != 0)) {
        timer->word = before;
        return error;
    }
    return armed(wheel, timer);
}

int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    VERGE__ENTER(wheel);
    verge__timer_node *timer = timer_of(timeout);
    bool is_there = VERGE__LIKELY(wheel != NULL && timeout != NULL);
    VERGE__INVARIANT(!is_there || !verge__node_is_linked(&timer->node) || may_be_of(wheel, &timer->node),
                     "a timeout of another wheel: clear it there first");
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
    VERGE__INVARIANT(!verge__node_is_linked(&timer->node) || may_be_of(wheel, &timer->node),
                     "a timeout of another wheel: clear it there");
    if (VERGE__UNLIKELY(!verge__timer_is_pending(timer))) {
        return may_be_idle ? -ENOENT : withdraw(wheel, timer, -ENOENT);
    }
    VERGE__INVARIANT(wheel->timeout_count > 0 && verge__node_is_linked(&timer->node),
                     "W1: every pending timer is linked, and counted");
    timer->word -= VERGE__PENDING;
    wheel->timeout_count--;
    VERGE__PROBE2(cancel, wheel, timeout);
    return verge__wheel_make_idle(wheel, timer) && may_be_idle ? 0 : withdraw(wheel, timer, 0);
}

int verge_timeout_stop(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    return end(wheel, timeout, true);
}

int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout) {
    VERGE__ENTER(wheel);
    return end(wheel, timeout, false);
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    const verge__timer_node *timer = (const verge__timer_node *)(const void *)timeout;
    return timeout == NULL || !verge__timer_is_pending(timer) ? VERGE_NEVER : timer->node.deadline_ns;
}
