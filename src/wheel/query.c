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
    return wheel == NULL ? 0 : (size_t)verge__wheel_pending(wheel);
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

uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return 0;
    }
    uint64_t target = verge__wheel_target(wheel); /* seen from now, also with a backlog */
    uint64_t ahead = wheel->geometry.reach - 1;
    if (target > wheel->geometry.last_tick || ahead > wheel->geometry.last_tick - target) {
        return verge__wheel_last_deadline(wheel);
    }
    return ((target + ahead) << wheel->calendar.shift) - (wheel->options.strict ? 1 : 0);
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
    uint64_t cancelled = wheel->cancelled + calendar->idle_begun;
    *ret_stats = (verge_wheel_stats){
        .struct_size = sizeof(*ret_stats),
        .timers = pending,
        .scheduled = pending + cancelled + wheel->expired + wheel->cleared,
        .cancelled = cancelled,
        .expired = wheel->expired,
        .cleared = wheel->cleared,
        .entries_filed = calendar->entry_count + wheel->expired + calendar->entries_dropped,
        .entries_moved = calendar->entries_moved,
        .entries_refiled = calendar->entries_refiled,
        .entries_dropped = calendar->entries_dropped,
        .entries = calendar->entry_count,
        .garbage = calendar->entry_count - pending,
        .records = wheel->nodes.node_count - wheel->nodes.retired_count,
        .records_retired = wheel->nodes.retired_count,
        .bytes = wheel->bytes,
        .last_poll_work = wheel->last_work_ns == wheel->now_ns ? wheel->last_poll_work : 0,
    };
    return 0;
}

static void count_list(const verge__calendar *calendar, verge__list list, verge_wheel_level_stats *stats) {
    stats->slots_used += list != NULL;
    stats->capacity += verge__list_chunks(list) * VERGE__CHUNK_ENTRIES;
    stats->bytes += verge__list_chunks(list) * VERGE__CHUNK_BYTES;
    for (verge__entry *at = list == NULL ? NULL : list - 1; at != NULL; at = verge__entry_older(at)) {
        bool is_active = verge__node_is_pending(verge__calendar_node(calendar, *at));
        stats->active += is_active;
        stats->garbage += !is_active;
    }
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
        stats.slots += ring->mask + 1;
        stats.bytes += (ring->mask + 1) * sizeof(verge__list) + (ring->mask / 64 + 1) * sizeof(uint64_t);
        for (uint32_t slot = 0; slot <= ring->mask; slot++) {
            count_list(calendar, ring->slots[slot], &stats);
        }
    }
    *ret_stats = stats;
    return 0;
}
