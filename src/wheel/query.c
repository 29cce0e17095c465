/* SPDX-License-Identifier: MIT */
/* Statistics, and questions about a wheel. */
#include <errno.h>

#include "wheel/wheel_internal.h"

/* ---- geometry ---- */

uint64_t verge_wheel_now(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->now_ns;
}

uint64_t verge_wheel_start(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->start_ns;
}

size_t verge_wheel_count(const verge_wheel *wheel) {
    VERGE__LOOK(wheel);
    return wheel == NULL ? 0 : verge__wheel_pending(wheel);
}

uint64_t verge_wheel_precision(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : UINT64_C(1) << wheel->calendar.shift;
}

uint32_t verge_wheel_worker_id(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->options.worker_id;
}

size_t verge_wheel_level_count(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->geometry.level_count;
}

uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level) {
    if (wheel == NULL || level >= wheel->geometry.level_count) {
        return 0;
    }
    unsigned bits =
        (unsigned)wheel->calendar.shift + wheel->geometry.levels[level].shift + wheel->geometry.levels[level].bits;
    return bits >= 64 ? VERGE_NEVER : UINT64_C(1) << bits;
}

/* The last tick up to `tick` that a coarse wheel does not round up beyond the end of time. */
static uint64_t last_rounded(const verge_wheel *wheel, uint64_t tick) {
    const verge__geometry *geometry = &wheel->geometry;
    uint64_t target = verge__wheel_target(wheel);
    for (size_t k = geometry->level_count; k-- > 1 && tick >= target;) {
        uint64_t rounded = verge__wheel_rounded(wheel, tick);
        if (rounded < geometry->end_tick && rounded >= tick) {
            break;
        }
        uint64_t below = verge__bit_mask((unsigned)geometry->levels[k - 1].shift + geometry->levels[k - 1].bits);
        if (tick - target > below) { /* it is in level k: where its slot starts, or else at the end of those below */
            uint64_t start = tick & ~verge__bit_mask(geometry->levels[k].shift);
            tick = start > target && start - target > below ? start : target + below;
        }
    }
    return tick;
}

uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return 0;
    }
    uint64_t target = verge__wheel_target(wheel); /* seen from now, also with a backlog */
    uint64_t ahead = wheel->geometry.reach - 1;
    uint64_t last = wheel->geometry.end_tick - 1;
    uint64_t tick = target > last || ahead > last - target ? last : target + ahead;
    if (wheel->options.coarse) {
        tick = last_rounded(wheel, tick);
    }
    return (tick << wheel->calendar.shift) - (wheel->options.strict ? 1 : 0);
}

uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns) {
    return wheel == NULL ? 0 : time_ns >> wheel->calendar.shift;
}

uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval) {
    return wheel == NULL || interval > UINT64_MAX >> wheel->calendar.shift ? VERGE_NEVER
                                                                           : interval << wheel->calendar.shift;
}

uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns) {
    if (wheel == NULL || deadline_ns > verge__wheel_last_deadline(wheel)) {
        return VERGE_NEVER;
    }
    return verge__wheel_tick(wheel, deadline_ns) << wheel->calendar.shift;
}

/* ---- statistics ---- */

int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats) {
    VERGE__LOOK(wheel);
    if (wheel == NULL || ret_stats == NULL || ret_stats->struct_size != sizeof(*ret_stats)) {
        return -EINVAL;
    }
    uint64_t pending = verge__wheel_pending(wheel);
    const verge__calendar *calendar = &wheel->calendar;
    *ret_stats = (verge_wheel_stats){
        .struct_size = sizeof(*ret_stats),
        .timers = pending,
        .scheduled = pending + wheel->cancelled + wheel->expired + wheel->cleared,
        .cancelled = wheel->cancelled,
        .expired = wheel->expired,
        .cleared = wheel->cleared,
        .entries_moved = calendar->nodes_moved,
        .entries_refiled = wheel->refiled,
        .entries_dropped = wheel->dropped,
        .entries = calendar->linked,
        .garbage = calendar->linked - pending,
        .records = wheel->nodes.node_count - wheel->nodes.retired_count,
        .records_retired = wheel->nodes.retired_count,
        .bytes = wheel->bytes,
        .last_poll_work = wheel->last_work_ns == wheel->now_ns ? wheel->last_poll_work : 0,
    };
    return 0;
}

/* The wheel's level for a level of the calendar: the first one that covers as much. What the levels beyond hold, while
 * a backlog holds the cursor back, counts as the last one's. */
static size_t level_of(const verge_wheel *wheel, const verge__level *ring) {
    size_t level = 0;
    while (level + 1 < wheel->geometry.level_count &&
           wheel->geometry.levels[level].shift + wheel->geometry.levels[level].bits < ring->shift + ring->bits) {
        level++;
    }
    return level;
}

int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats) {
    VERGE__LOOK(wheel);
    if (wheel == NULL || ret_stats == NULL || ret_stats->struct_size != sizeof(*ret_stats) ||
        level >= wheel->geometry.level_count) {
        return -EINVAL;
    }
    const verge__calendar *calendar = &wheel->calendar;
    verge_wheel_level_stats stats = {
        .struct_size = sizeof(*ret_stats),
        .resolution_ns = UINT64_C(1) << (calendar->shift + wheel->geometry.levels[level].shift),
    };
    for (size_t k = 0; k < calendar->level_count; k++) {
        const verge__level *ring = &calendar->levels[k];
        if (level_of(wheel, ring) != level) {
            continue;
        }
        uint32_t slots = ring->mask + 1;
        stats.slots += slots;
        stats.bytes += (sizeof(verge__node *) << ring->lane_bits) * slots + (slots + 63) / 64 * sizeof(uint64_t) +
                       (ring->counts != NULL ? slots * sizeof(uint32_t) : 0);
        for (uint32_t slot = 0; slot < slots; slot++) {
            stats.slots_used += verge__level_has(ring, slot);
            for (uint32_t lane = 0; lane < verge__level_lane_count(ring); lane++) {
                for (verge__node *node = verge__level_slot(ring, slot)[lane]; node != NULL; node = node->next) {
                    bool is_active = verge__timer_is_pending(verge__timer_of_node(node));
                    stats.active += is_active;
                    stats.garbage += !is_active;
                }
            }
        }
    }
    stats.capacity = stats.active + stats.garbage;
    *ret_stats = stats;
    return 0;
}
