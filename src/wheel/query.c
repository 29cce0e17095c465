/* SPDX-License-Identifier: MIT */
/* What a wheel knows about itself. */
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
    return wheel == NULL ? 0 : (size_t)verge__wheel_pending(wheel);
}

uint64_t verge_wheel_precision(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : UINT64_C(1) << wheel->shift;
}

uint32_t verge_wheel_worker_id(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->options.worker_id;
}

size_t verge_wheel_level_count(const verge_wheel *wheel) {
    return wheel == NULL ? 0 : wheel->calendar.level_count;
}

uint64_t verge_wheel_coverage(const verge_wheel *wheel, size_t level) {
    if (wheel == NULL || level >= wheel->calendar.level_count) {
        return 0;
    }
    unsigned bits = (unsigned)wheel->shift + wheel->calendar.levels[level].shift + wheel->calendar.levels[level].bits;
    return bits >= 64 ? VERGE_NEVER : UINT64_C(1) << bits;
}

uint64_t verge_wheel_largest_deadline(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return 0;
    }
    /* Seen from now, also with a backlog: what the cursor cannot reach yet is filed again on the way. */
    uint64_t target = verge__wheel_target(wheel);
    uint64_t ahead = wheel->calendar.reach - 1;
    if (target > wheel->last_tick || ahead > wheel->last_tick - target) {
        return verge__wheel_last_deadline(wheel);
    }
    return ((target + ahead) << wheel->shift) - (wheel->options.strict ? 1 : 0);
}

uint64_t verge_wheel_interval_number(const verge_wheel *wheel, uint64_t time_ns) {
    return wheel == NULL ? 0 : time_ns >> wheel->shift;
}

uint64_t verge_wheel_interval_start(const verge_wheel *wheel, uint64_t interval) {
    return wheel == NULL || interval > UINT64_MAX >> wheel->shift ? VERGE_NEVER : interval << wheel->shift;
}

uint64_t verge_wheel_fires_at(const verge_wheel *wheel, uint64_t deadline_ns) {
    if (wheel == NULL || deadline_ns > verge__wheel_last_deadline(wheel)) {
        return VERGE_NEVER;
    }
    return verge__wheel_tick(wheel, deadline_ns) << wheel->shift;
}

uint32_t verge__wheel_next_pending(const verge_wheel *wheel, uint32_t from) {
    if (!verge__is_timeout(from)) {
        uint32_t index = verge__records_next_live(&wheel->records, from);
        if (index != VERGE__NO_RECORD) {
            return index;
        }
        from = VERGE__PLACE;
    }
    uint32_t number = verge__places_next(&wheel->places, from);
    while (number != VERGE__NO_RECORD && verge__places_at(&wheel->places, number)->generation == 0) {
        number = verge__places_next(&wheel->places, number + 1);
    }
    return number;
}

int verge_wheel_iterate(verge_wheel *wheel, int (*visit)(void *context, const verge_expiry *timer), void *context) {
    if (wheel == NULL || visit == NULL) {
        return -EINVAL;
    }
    for (uint32_t index = verge__wheel_next_pending(wheel, 0); index != VERGE__NO_RECORD;
         index = verge__wheel_next_pending(wheel, index + 1)) {
        const verge__record *record = verge__wheel_named(wheel, index);
        verge_expiry timer = {.timer = verge__is_timeout(index) ? 0 : verge__records_handle(index, record->generation),
                              .deadline_ns = record->deadline_ns,
                              .data = record->data};
        int result = visit(context, &timer);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* ---- statistics ---- */

int verge_wheel_get_stats(const verge_wheel *wheel, verge_wheel_stats *ret_stats) {
    if (wheel == NULL || ret_stats == NULL || ret_stats->struct_size != sizeof(*ret_stats)) {
        return -EINVAL;
    }
    uint64_t pending = verge__wheel_pending(wheel);
    const verge__calendar *calendar = &wheel->calendar;
    *ret_stats = (verge_wheel_stats){
        .struct_size = sizeof(*ret_stats),
        .timers = pending,
        .scheduled = pending + verge__wheel_cancelled(wheel) + verge__wheel_expired(wheel) + wheel->cleared,
        .cancelled = verge__wheel_cancelled(wheel),
        .expired = verge__wheel_expired(wheel),
        .cleared = wheel->cleared,
        .entries_filed = verge__wheel_entry_count(wheel) + verge__wheel_expired(wheel) + wheel->entries_dropped,
        .entries_moved = calendar->entries_moved,
        .entries_refiled = wheel->entries_refiled,
        .entries_dropped = wheel->entries_dropped,
        .entries = verge__wheel_entry_count(wheel),
        .garbage = verge__wheel_entry_count(wheel) - pending,
        .records = wheel->records.room - wheel->records.retired_count,
        .records_retired = wheel->records.retired_count,
        .bytes = verge__wheel_bytes(verge__wheel_is_ordered(wheel)) + wheel->records.bytes + wheel->places.bytes +
                 calendar->pool.bytes + calendar->level_bytes,
        .last_poll_work = verge__wheel_work(wheel),
    };
    return 0;
}

int verge_wheel_get_level_stats(const verge_wheel *wheel, size_t level, verge_wheel_level_stats *ret_stats) {
    if (wheel == NULL || ret_stats == NULL || ret_stats->struct_size != sizeof(*ret_stats) ||
        level >= wheel->calendar.level_count) {
        return -EINVAL;
    }
    const verge__calendar *calendar = &wheel->calendar;
    const verge__level *ring = &calendar->levels[level];
    verge_wheel_level_stats stats = {
        .struct_size = sizeof(*ret_stats),
        .resolution_ns = UINT64_C(1) << (wheel->shift + ring->shift),
        .slots = UINT64_C(1) << ring->bits,
    };
    if (level < calendar->levels_ready) {
        stats.bytes = (ring->mask + 1) * sizeof(verge__list) + (ring->mask + 1) / 8;
        for (uint32_t slot = 0; slot <= ring->mask; slot++) {
            bool scrubbed = verge__calendar_is_scrubbed(calendar, level, slot);
            verge__list lists[2] = {ring->slots[slot], scrubbed ? calendar->scrub_list : NULL};
            stats.slots_used += lists[0] != NULL || lists[1] != NULL;
            for (size_t i = 0; i < 2; i++) {
                stats.capacity += verge__list_chunks(lists[i]) * VERGE__CHUNK_ENTRIES;
                stats.bytes += verge__list_chunks(lists[i]) * VERGE__CHUNK_BYTES;
                for (verge__list end = lists[i]; end != NULL;) {
                    const verge__chunk *chunk = verge__list_chunk(end);
                    for (const verge__entry *entry = chunk->entries; entry < end; entry++) {
                        const verge__record *record = verge__wheel_record(wheel, *entry);
                        bool counts = verge__wheel_counts(wheel, record, *entry);
                        stats.active += counts;
                        stats.garbage += !counts;
                    }
                    end = verge__list_from_full_chunk(chunk->below);
                }
            }
        }
    }
    *ret_stats = stats;
    return 0;
}
