/* SPDX-License-Identifier: MIT */
/* Questions about a wheel, and statistics. */
#include <errno.h>

#include "base/sized.h"
#include "verge/wheel_more.h"
#include "wheel/wheel_internal.h"

uint64_t verge_wheel_now(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->now_ns;
}

size_t verge_wheel_count(const verge_wheel *wheel) {
    VERGE__LOOK(wheel);
    return wheel == NULL ? 0 : verge__wheel_pending(wheel);
}

uint64_t verge_wheel_precision(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : UINT64_C(1) << wheel->calendar.shift;
}

uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns) {
    if (wheel == NULL || deadline_ns > verge__wheel_last_deadline(wheel)) {
        return VERGE_NEVER;
    }
    return verge__wheel_tick(wheel, deadline_ns) << wheel->calendar.shift;
}

int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry) {
    VERGE__LOOK(wheel);
    if (wheel == NULL || ret_expiry == NULL) {
        return -EINVAL;
    }
    const verge__table_node *node = verge__nodes_find(&wheel->nodes, timer);
    if (node == NULL) {
        return verge__nodes_why_not(&wheel->nodes, timer);
    }
    *ret_expiry = verge__wheel_expiry(&node->timer);
    return 0;
}

int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats) {
    VERGE__LOOK(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    uint64_t pending = verge__wheel_pending(wheel);
    const verge__calendar *calendar = &wheel->calendar;
    const verge_wheel_stats stats = {
        .timers = pending,
        .started = pending + wheel->cancelled + wheel->expired,
        .cancelled = wheel->cancelled,
        .expired = wheel->expired,
        .nodes_moved = calendar->nodes_moved,
        .nodes_refiled = wheel->refiled,
        .nodes_dropped = wheel->dropped,
        .linked = calendar->linked,
        .idle = calendar->linked - pending,
        .nodes = wheel->nodes.node_count - wheel->nodes.retired_count,
        .nodes_retired = wheel->nodes.retired_count,
        .bytes = sizeof(*wheel) + calendar->bytes + verge__nodes_bytes(&wheel->nodes) +
                 (wheel->order != NULL ? sizeof(*wheel->order) : 0),
        .last_poll_work = wheel->last_work_ns == wheel->now_ns ? wheel->last_poll_work : 0,
        .level_count = wheel->geometry.level_count,
        .worker_id = wheel->options.worker_id,
    };
    return verge__sized_write(ret_stats, &stats, sizeof(stats));
}

/* ---- start ---- */

uint64_t verge_wheel_start_time(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->start_ns;
}

int verge_wheel_set_start_time(verge_wheel *wheel, uint64_t start_ns) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || start_ns >> wheel->calendar.shift >= wheel->geometry.end_tick - 1) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) > 0 || wheel->visits > 0) { /* a visit's marker keeps the cursor where it is */
        return -EBUSY;
    }
    wheel->start_ns = start_ns;
    wheel->now_ns = start_ns;
    wheel->last_poll_work = 0;
    verge_wheel_cancel_all(wheel);
    return 0;
}

/* ---- intervals ---- */

int verge_wheel_first_interval(verge_wheel *wheel, uint64_t *ret_interval, uint64_t *ret_smallest_ns,
                               uint64_t *ret_largest_ns) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) == 0) {
        return -ENOENT;
    }
    verge__first found = verge__wheel_find_first(wheel);
    if (ret_interval != NULL) {
        *ret_interval = found.smallest_ns >> wheel->calendar.shift;
    }
    if (ret_smallest_ns != NULL) {
        *ret_smallest_ns = found.smallest_ns;
    }
    if (ret_largest_ns != NULL) {
        *ret_largest_ns = found.largest_ns;
    }
    return 0;
}

/* ---- levels ---- */

/* Returns which level of the wheel a level of the calendar counts as: the first one that covers as much. The calendar
 * may have more levels above, for times when a backlog holds the cursor back. They count as the wheel's last level. */
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
    if (wheel == NULL || level >= wheel->geometry.level_count) {
        return -EINVAL;
    }
    const verge__calendar *calendar = &wheel->calendar;
    unsigned shift = (unsigned)calendar->shift + wheel->geometry.levels[level].shift;
    unsigned end = shift + wheel->geometry.levels[level].bits;
    verge_wheel_level_stats stats = {
        .resolution_ns = UINT64_C(1) << shift,
        .coverage_ns = end < 64 ? UINT64_C(1) << end : VERGE_NEVER,
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
                    stats.idle += !is_active;
                }
            }
        }
    }
    stats.capacity = stats.active + stats.idle;
    return verge__sized_write(ret_stats, &stats, sizeof(stats));
}
