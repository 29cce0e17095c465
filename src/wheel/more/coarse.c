/* SPDX-License-Identifier: MIT */
/* Coarse wheels: timers never move to lower levels, so a tick is rounded up to the start of a slot of its level. */
#include "wheel/wheel_internal.h"

uint64_t verge__coarse_round_up(const verge_wheel *wheel, uint64_t tick) {
    const verge__geometry *geometry = &wheel->geometry;
    uint64_t target = verge__wheel_target(wheel);
    if (tick < target) {
        return tick;
    }
    size_t k = 0;
    while (k + 1 < geometry->level_count &&
           (tick - target) >> (geometry->levels[k].shift + geometry->levels[k].bits) != 0) {
        k++;
    }
    uint64_t mask = verge__bit_mask(geometry->levels[k].shift);
    return (tick + mask) & ~mask;
}

uint64_t verge__coarse_last_tick(const verge_wheel *wheel, uint64_t tick) {
    const verge__geometry *geometry = &wheel->geometry;
    uint64_t target = verge__wheel_target(wheel);
    for (size_t k = geometry->level_count; k-- > 1 && tick >= target;) {
        uint64_t rounded = verge__coarse_round_up(wheel, tick);
        if (rounded < geometry->end_tick && rounded >= tick) {
            break;
        }
        uint64_t below = verge__bit_mask((unsigned)geometry->levels[k - 1].shift + geometry->levels[k - 1].bits);
        if (tick - target > below) { /* level k has the tick: take the start of its slot, or level k - 1's last tick */
            uint64_t start = tick & ~verge__bit_mask(geometry->levels[k].shift);
            tick = start > target && start - target > below ? start : target + below;
        }
    }
    return tick;
}
