/* SPDX-License-Identifier: MIT */
/*
 * Timeouts: timers whose records are in the caller's objects.
 *
 * What they touch, beside the wheel's own hot lines: set and clear the object alone, and set the end of one slot's list if
 * the entry there is comes up too late. The place in the table, which entries name, is looked at when one of them comes up.
 */
#include <errno.h>

#include "base/probes.h"
#include "wheel/filing.h"

static VERGE__NOINLINE int note_earliest(verge_wheel *wheel, const verge_timeout *timeout) {
    wheel->earliest_ns = timeout->record.deadline_ns;
    wheel->earliest_timer = verge__records_handle(timeout->number, VERGE__GENERATION_SET);
    return 0;
}

/* A zeroed timeout's number is 0, and so is that of one that was detached. */
static bool is_attached(const verge_wheel *wheel, const verge_timeout *timeout) {
    return wheel != NULL && timeout != NULL && verge__is_timeout(timeout->number) &&
           verge__places_named(&wheel->places, timeout->number) == &timeout->record;
}

int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (timeout_count == 0) {
        wheel->places.reserved = 0;
        wheel->reserved_beside = 0;
        return 0;
    }
    if (timeout_count > UINT32_MAX) {
        return -ENOSPC;
    }
    size_t total = wheel->places.count + timeout_count;
    size_t beside = verge__records_live(&wheel->records);
    int error = verge__places_reserve(&wheel->places, total);
    if (error == 0) {
        size_t timers = beside > wheel->reserved_total ? beside : wheel->reserved_total;
        error = verge__wheel_reserve_entries(wheel,
                                             verge__wheel_entries_for(timers + total) + verge__wheel_more_for(total));
    }
    if (error == 0) {
        wheel->places.reserved = total;
        wheel->reserved_beside = beside;
    }
    return error;
}

int verge_timeout_attach(verge_wheel *wheel, verge_timeout *timeout, void *data) {
    if (wheel == NULL || timeout == NULL) {
        return -EINVAL;
    }
    uint32_t number = 0;
    int error = verge__places_add(&wheel->places, &timeout->record, &number);
    if (error != 0) {
        return error;
    }
    *timeout = (verge_timeout){.record = {.data = data, .u.entry_tick = VERGE__NO_TICK}, .number = number};
    wheel->idle_count++;
    return 0;
}

int verge_timeout_detach(verge_wheel *wheel, verge_timeout *timeout) {
    if (!is_attached(wheel, timeout)) {
        return -EINVAL;
    }
    (void)verge_timeout_clear(wheel, timeout);
    verge__places_remove(&wheel->places, timeout->number);
    wheel->idle_count--;
    *timeout = (verge_timeout){0};
    return 0;
}

/* It has a deadline and an entry. */
static VERGE__ALWAYS_INLINE void note_set(verge_wheel *wheel, verge_timeout *timeout) {
    if (timeout->record.generation == 0) {
        timeout->record.generation = VERGE__GENERATION_SET;
        wheel->idle_count--;
        VERGE__PROBE3(schedule, wheel, timeout, timeout->record.deadline_ns);
    } else {
        VERGE__PROBE3(reschedule, wheel, timeout, timeout->record.deadline_ns);
    }
}

static VERGE__NOINLINE int set_slowly(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    if (!is_attached(wheel, timeout)) {
        return -EINVAL;
    }
    verge__record *record = &timeout->record;
    bool is_set = record->generation != 0;
    if (!is_set && wheel->options.timer_cap != 0 && verge__wheel_pending(wheel) >= wheel->options.timer_cap) {
        return -ENOSPC;
    }
    int error = verge__wheel_arm(wheel, record, timeout->number, deadline_ns, is_set);
    if (error != 0) {
        return error;
    }
    note_set(wheel, timeout);
    if (deadline_ns < wheel->earliest_ns) {
        (void)note_earliest(wheel, timeout);
    }
    verge__wheel_set_short_reach(wheel);
    return wheel->calendar.entry_count >= wheel->calendar.entry_limit ? verge__wheel_tidy(wheel) : 0;
}

int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL)) {
        return -EINVAL;
    }
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(tick - wheel->calendar.cursor >= wheel->short_reach)) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    verge__record *record = &timeout->record;
    /* One that is not attached has no entry, and no number for one. */
    if (!verge__comes_in_time(wheel, record->u.entry_tick, tick) &&
        VERGE__UNLIKELY(timeout->number == 0 || !verge__file_shortly(wheel, record, timeout->number, tick))) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    record->deadline_ns = deadline_ns;
    note_set(wheel, timeout);
    return VERGE__UNLIKELY(deadline_ns < wheel->earliest_ns) ? note_earliest(wheel, timeout) : 0;
}

static VERGE__NOINLINE int clear_slowly(verge_wheel *wheel, verge_timeout *timeout) {
    if (wheel == NULL || timeout == NULL) {
        return -EINVAL;
    }
    if (timeout->record.generation == 0) {
        return -ENOENT;
    }
    timeout->record.generation = 0;
    wheel->idle_count++;
    wheel->cancels_due++;
    VERGE__PROBE2(cancel, wheel, timeout);
    return verge__wheel_tidy(wheel);
}

int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout) {
    if (VERGE__UNLIKELY(wheel == NULL || timeout == NULL || timeout->record.generation == 0 ||
                        wheel->cancels_left == 0)) {
        return clear_slowly(wheel, timeout);
    }
    timeout->record.generation = 0;
    wheel->cancels_left--;
    wheel->idle_count++;
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    return timeout != NULL && timeout->record.generation != 0 ? timeout->record.deadline_ns : VERGE_NEVER;
}
