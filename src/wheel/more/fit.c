/* SPDX-License-Identifier: MIT */
/* Deadlines that the wheel chooses: within a window, and the best fit for a target that is too far. */
#include <errno.h>

#include "verge/wheel_more.h"
#include "wheel/wheel_internal.h"

/* If the wheel rejects deadlines in the past or before the wheel's start, this part of the window does not count. */
int verge_wheel_start_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                             verge_timer *ret_timer) {
    if (wheel == NULL || earliest_ns > latest_ns) {
        return -EINVAL;
    }
    uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    if (earliest_ns <= largest_ns && latest_ns > largest_ns) {
        latest_ns = largest_ns;
    }
    uint64_t first_ns = wheel->options.past == VERGE_PAST_REJECTED
                            ? wheel->now_ns >> wheel->calendar.shift << wheel->calendar.shift
                        : wheel->options.past == VERGE_PAST_SINCE_START ? (wheel->start_ns > 0 ? wheel->start_ns : 1)
                                                                        : 0;
    if (earliest_ns < first_ns && latest_ns >= first_ns) {
        earliest_ns = first_ns;
    }
    return verge_wheel_start(wheel, verge__roundest(earliest_ns, latest_ns), data, ret_timer);
}

/* In a coarse wheel: returns the last deadline, not after deadline_ns, at which a timer is not late. Usually this is
 * the start of the slot that deadline_ns is in. If the level below reaches that start, the search goes on there, from
 * the last tick that the level below reaches; and so on down. */
static uint64_t undelayed(const verge_wheel *wheel, uint64_t deadline_ns) {
    unsigned shift = (unsigned)wheel->calendar.shift;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    uint64_t from = verge__wheel_target(wheel);
    if (tick < from) {
        return deadline_ns;
    }
    for (size_t k = wheel->geometry.level_count; k-- > 1;) {
        unsigned below_bits = (unsigned)wheel->geometry.levels[k - 1].shift + wheel->geometry.levels[k - 1].bits;
        uint64_t span = UINT64_C(1) << below_bits;
        uint64_t below_end = span < UINT64_MAX - from ? from + span : UINT64_MAX;
        uint64_t start = tick & ~verge__bit_mask(wheel->geometry.levels[k].shift);
        if (tick >= below_end && start >= below_end) {
            return start == tick ? deadline_ns : (start << shift) - (wheel->options.strict ? 1 : 0);
        }
        if (tick >= below_end) {
            tick = below_end - 1;
            deadline_ns = (tick << shift) - (wheel->options.strict ? 1 : 0);
        }
    }
    return deadline_ns;
}

int verge_wheel_start_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                               uint64_t *ret_wheel_deadline_ns) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    uint64_t deadline_ns = target_ns < largest_ns ? target_ns : largest_ns;
    if (wheel->options.coarse) {
        deadline_ns = undelayed(wheel, deadline_ns);
    }
    int error = verge_wheel_start(wheel, deadline_ns, data, ret_timer);
    if (error == 0 && ret_wheel_deadline_ns != NULL) {
        *ret_wheel_deadline_ns = deadline_ns;
    }
    return error;
}
