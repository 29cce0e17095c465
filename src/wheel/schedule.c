/* SPDX-License-Identifier: MIT */
/*
 * Schedule, reschedule, cancel.
 *
 * What they touch, beside the wheel's own hot lines and the caller's handle: cancel one record;
 * reschedule one record, and the end of one slot's list if the timer moves earlier; schedule
 * likewise, the record being the one that was freed last. Two records share a cache line.
 */
#include <errno.h>

#include "base/probes.h"
#include "wheel/wheel_internal.h"

static VERGE__ALWAYS_INLINE void note_deadline(verge_wheel *wheel, uint64_t deadline_ns, verge_timer timer) {
    if (VERGE__UNLIKELY(deadline_ns < wheel->earliest_ns)) {
        wheel->earliest_ns = deadline_ns;
        wheel->earliest_timer = timer;
    }
}

/*
 * Whether the entry at `entry_tick` is still to come and comes up no later than at `tick`. One at the cursor itself may have
 * come up: a tick can be taken in several parts.
 *
 * Who asks branches, though the answer is as good as random in some loads: filed without a branch, the entry would have
 * to wait for the record, and what comes after it would not get into the processor's window.
 */
static VERGE__ALWAYS_INLINE bool comes_in_time(const verge_wheel *wheel, uint64_t entry_tick, uint64_t tick) {
    return entry_tick - wheel->calendar.cursor - 1 < tick - wheel->calendar.cursor;
}

/* ---- the long ways: every order, every mode ---- */

/* The tick of a deadline that may be scheduled. */
static int place(const verge_wheel *wheel, uint64_t deadline_ns, uint64_t *ret_tick) {
    if (deadline_ns > verge_wheel_largest_deadline(wheel)) {
        return -ERANGE;
    }
    if ((wheel->options.past == VERGE_PAST_SINCE_START && (deadline_ns == 0 || deadline_ns < wheel->start_ns)) ||
        (wheel->options.past == VERGE_PAST_REJECTED && deadline_ns >> wheel->shift < wheel->now_ns >> wheel->shift)) {
        return -EINVAL;
    }
    *ret_tick = verge__wheel_tick(wheel, deadline_ns);
    return 0;
}

void verge__wheel_file(verge_wheel *wheel, verge__record *record, verge__entry entry, bool is_past) {
    verge__calendar *calendar = &wheel->calendar;
    uint64_t tick = verge__wheel_tick(wheel, record->deadline_ns);
    if (verge__wheel_is_ordered(wheel)) {
        record->link = (uint32_t)record->u.sequence;
        entry = verge__entry_marked(entry, record->link);
    }
    if (!is_past && tick - calendar->cursor >= calendar->reach) {
        verge__wheel_put_beyond(wheel, record, entry);
        return;
    }
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = !is_past           ? verge__calendar_round(calendar, tick)
                               : wheel->runs == 0 ? VERGE__TICK_PAST
                                                  : VERGE__TICK_DEFERRED;
        entry = verge__entry_marked(entry, (uint32_t)record->u.entry_tick);
    }
    if (is_past) {
        verge__pile *pile = wheel->runs == 0 ? &wheel->past.pile : &wheel->deferred;
        verge__calendar_list_add(calendar, &pile->list, entry);
        calendar->quiet_until = 0; /* W5 */
    } else {
        verge__calendar_put(calendar, tick, entry);
    }
}

/* Whether the entry a timer has serves for a new tick as well. */
static bool entry_serves(const verge_wheel *wheel, const verge__record *record, uint64_t tick, bool is_pending) {
    if (tick < verge__wheel_target(wheel)) {
        return false;
    }
    bool is_beyond = tick - wheel->calendar.cursor >= wheel->calendar.reach;
    if (!verge__wheel_is_ordered(wheel)) {
        if (is_beyond) {
            return record->u.entry_tick == VERGE__TICK_BEYOND;
        }
        return comes_in_time(wheel, record->u.entry_tick & ~wheel->calendar.owner.bellwether,
                             verge__calendar_round(&wheel->calendar, tick));
    }
    if (wheel->options.coarse) {
        return false; /* it may have been rounded up by more than it would be now */
    }
    /* An ordered wheel does not know where the entry is, but that it comes up in time for the old
     * deadline. One that is due or being sorted, as those of the tick under way may be after a
     * poll_exact, must not change its key. */
    uint64_t old_tick = is_pending ? verge__wheel_tick(wheel, record->deadline_ns) : 0;
    return old_tick > verge__wheel_target(wheel) && old_tick <= tick;
}

int verge__wheel_arm(verge_wheel *wheel, verge__record *record, verge__entry entry, uint64_t deadline_ns,
                     bool is_pending) {
    uint64_t tick = 0;
    int error = place(wheel, deadline_ns, &tick);
    if (error != 0) {
        return error;
    }
    bool is_past = tick < verge__wheel_target(wheel);
    bool serves = entry_serves(wheel, record, tick, is_pending);
    error = serves    ? verge__calendar_ready_for(&wheel->calendar, tick)
            : is_past ? verge__calendar_secure_one(&wheel->calendar)
                      : verge__calendar_prepare(&wheel->calendar, tick);
    if (error != 0) {
        return error;
    }
    if (!serves && verge__entry_is_timeout(entry) && verge__timeout_has_entry(wheel, verge__entry_timeout(entry))) {
        verge__wheel_withdraw(wheel, verge__entry_timeout(entry));
    }
    if (verge__wheel_is_ordered(wheel)) {
        record->u.sequence = ++wheel->sequence;
    }
    record->deadline_ns = deadline_ns;
    if (!serves) {
        verge__wheel_file(wheel, record, entry, is_past);
    } else if (tick - wheel->calendar.cursor >= wheel->calendar.reach) {
        verge__wheel_note_beyond(wheel, tick);
    }
    return 0;
}

/* Makes sure of a record to use, the spare one. */
static int secure_spare(verge_wheel *wheel) {
    if (wheel->options.timer_cap != 0 && verge__wheel_pending(wheel) >= wheel->options.timer_cap) {
        return -ENOSPC;
    }
    return verge__records_refill(&wheel->records);
}

static VERGE__NOINLINE int schedule_slowly(verge_wheel *wheel, uint64_t deadline_ns, void *data,
                                           verge_timer *ret_timer) {
    verge_timer unwanted = 0;
    uint64_t tick = 0;
    if (wheel == NULL) {
        return -EINVAL;
    }
    ret_timer = ret_timer != NULL ? ret_timer : &unwanted;
    int error = place(wheel, deadline_ns, &tick); /* before memory is asked for */
    if (error == 0) {
        error = secure_spare(wheel);
    }
    if (error != 0) {
        return error;
    }
    verge__record *record = wheel->records.spare;
    verge_timer timer = verge__records_next_handle(wheel->records.spare_timer);
    error = verge__wheel_arm(wheel, record, verge__entry_for_record((uint32_t)timer, 0), deadline_ns, false);
    if (error != 0) {
        return error;
    }
    wheel->records.spare = NULL;
    record->data = data;
    record->generation++;
    *ret_timer = timer;
    note_deadline(wheel, deadline_ns, timer);
    VERGE__PROBE3(schedule, wheel, timer, deadline_ns);
    verge__wheel_set_short_reach(wheel); /* a level may have become ready */
    return wheel->calendar.entry_count >= wheel->calendar.entry_limit ? verge__wheel_tidy(wheel) : 0;
}

static VERGE__NOINLINE int reschedule_slowly(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    verge__record *record = verge__records_find(&wheel->records, timer);
    if (record == NULL) {
        return verge__records_why_not(&wheel->records, timer);
    }
    int error = verge__wheel_arm(wheel, record, verge__entry_for_record((uint32_t)timer, 0), deadline_ns, true);
    if (error != 0) {
        return error;
    }
    note_deadline(wheel, deadline_ns, timer);
    VERGE__PROBE3(reschedule, wheel, timer, deadline_ns);
    verge__wheel_set_short_reach(wheel);
    return wheel->calendar.entry_count >= wheel->calendar.entry_limit ? verge__wheel_tidy(wheel) : 0;
}

static VERGE__NOINLINE int rearm_slowly(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data) {
    verge__record *record = verge__records_find(&wheel->records, *timer);
    if (record == NULL) {
        return verge_wheel_schedule(wheel, deadline_ns, data, timer);
    }
    int error = reschedule_slowly(wheel, *timer, deadline_ns);
    if (error == 0) {
        record->data = data;
    }
    return error;
}

static VERGE__NOINLINE int cancel_slowly(verge_wheel *wheel, verge_timer timer, void **ret_data) {
    verge__record *record = verge__records_find(&wheel->records, timer);
    if (record == NULL) {
        return verge__records_why_not(&wheel->records, timer);
    }
    if (ret_data != NULL) {
        *ret_data = record->data;
    }
    verge__records_spill(&wheel->records);
    verge__records_free(&wheel->records, record, (uint32_t)timer);
    wheel->records.taken_count--;
    wheel->cancels_due++;
    VERGE__PROBE2(cancel, wheel, timer);
    return verge__wheel_tidy(wheel);
}

/* ---- the short ways: no call, no loop; whatever is not common is left to the long ways ---- */

/* Files an entry for a record whose own does not come in time. False, and nothing has changed: it takes the long way. */
static VERGE__ALWAYS_INLINE bool file_shortly(verge_wheel *wheel, verge__record *record, uint32_t index,
                                              uint64_t tick) {
    if (VERGE__UNLIKELY(!verge__calendar_try_file(&wheel->calendar, tick, index))) {
        return false;
    }
    record->u.entry_tick = tick;
    return true;
}

/* The spare record, which has an entry that comes in time, becomes a timer. */
static VERGE__ALWAYS_INLINE int begin_timer(verge_wheel *wheel, uint64_t deadline_ns, void *data,
                                            verge_timer *ret_timer) {
    verge__record *record = wheel->records.spare;
    verge_timer timer = verge__records_next_handle(wheel->records.spare_timer);
    wheel->records.spare = NULL;
    record->deadline_ns = deadline_ns;
    record->data = data;
    record->generation = (uint32_t)(timer >> 32);
    *ret_timer = timer;
    note_deadline(wheel, deadline_ns, timer);
    VERGE__PROBE3(schedule, wheel, timer, deadline_ns);
    return 0;
}

/* Where filing the entry takes a chunk, or more. */
static VERGE__NOINLINE int schedule_with_chunk(verge_wheel *wheel, uint64_t deadline_ns, void *data,
                                               verge_timer *ret_timer) {
    verge__calendar *calendar = &wheel->calendar;
    if (calendar->entry_count >= calendar->entry_limit) {
        return schedule_slowly(wheel, deadline_ns, data, ret_timer);
    }
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    uint32_t index = (uint32_t)wheel->records.spare_timer;
    verge__calendar_put_within_reach(calendar, tick, verge__entry_for_record(index, (uint32_t)tick));
    wheel->records.spare->u.entry_tick = tick;
    return begin_timer(wheel, deadline_ns, data, ret_timer);
}

int verge_wheel_schedule(verge_wheel *wheel, uint64_t deadline_ns, void *data, verge_timer *ret_timer) {
    if (VERGE__UNLIKELY(wheel == NULL || ret_timer == NULL)) {
        return schedule_slowly(wheel, deadline_ns, data, ret_timer);
    }
    /* A deadline beyond the end of time makes the sum wrap to tick 0, which is the past. */
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(tick - wheel->calendar.cursor >= wheel->calendar.short_reach)) {
        return schedule_slowly(wheel, deadline_ns, data, ret_timer);
    }
    if (wheel->records.spare == NULL && VERGE__UNLIKELY(!verge__records_pop_spare(&wheel->records))) {
        return schedule_slowly(wheel, deadline_ns, data, ret_timer);
    }
    verge__record *record = wheel->records.spare;
    if (!comes_in_time(wheel, record->u.entry_tick, tick) &&
        VERGE__UNLIKELY(!file_shortly(wheel, record, (uint32_t)wheel->records.spare_timer, tick))) {
        return schedule_with_chunk(wheel, deadline_ns, data, ret_timer);
    }
    return begin_timer(wheel, deadline_ns, data, ret_timer);
}

/* Moves a timer and returns its record; NULL, and nothing has changed, if that takes the long way. */
static VERGE__ALWAYS_INLINE verge__record *move_shortly(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    verge__record *record = verge__records_find(&wheel->records, timer);
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    if (VERGE__UNLIKELY(record == NULL || tick - wheel->calendar.cursor >= wheel->calendar.short_reach)) {
        return NULL;
    }
    if (!comes_in_time(wheel, record->u.entry_tick, tick) &&
        VERGE__UNLIKELY(!file_shortly(wheel, record, (uint32_t)timer, tick))) {
        return NULL;
    }
    record->deadline_ns = deadline_ns;
    note_deadline(wheel, deadline_ns, timer);
    VERGE__PROBE3(reschedule, wheel, timer, deadline_ns);
    return record;
}

int verge_wheel_reschedule(verge_wheel *wheel, verge_timer timer, uint64_t deadline_ns) {
    if (VERGE__UNLIKELY(wheel == NULL)) {
        return -EINVAL;
    }
    const verge__record *moved = move_shortly(wheel, timer, deadline_ns);
    return VERGE__LIKELY(moved != NULL) ? 0 : reschedule_slowly(wheel, timer, deadline_ns);
}

int verge_wheel_rearm(verge_wheel *wheel, verge_timer *timer, uint64_t deadline_ns, void *data) {
    if (VERGE__UNLIKELY(wheel == NULL || timer == NULL)) {
        return -EINVAL;
    }
    verge__record *moved = move_shortly(wheel, *timer, deadline_ns);
    if (VERGE__UNLIKELY(moved == NULL)) {
        return rearm_slowly(wheel, timer, deadline_ns, data);
    }
    moved->data = data;
    return 0;
}

int verge_wheel_cancel(verge_wheel *wheel, verge_timer timer, void **ret_data) {
    if (VERGE__UNLIKELY(wheel == NULL)) {
        return -EINVAL;
    }
    verge__record *record = verge__records_find(&wheel->records, timer);
    uint64_t cancels_left = wheel->cancels_left;
    uint32_t generation = (uint32_t)(timer >> 32) + 1;
    if (VERGE__UNLIKELY(record == NULL || cancels_left == 0 || generation == 0 ||
                        !verge__records_make_spare(&wheel->records, record, timer))) {
        return cancel_slowly(wheel, timer, ret_data);
    }
    if (ret_data != NULL) {
        *ret_data = record->data;
    }
    record->generation = generation;
    wheel->cancels_left = cancels_left - 1;
    VERGE__PROBE2(cancel, wheel, timer);
    return 0;
}

/* ---- windows and best fit ---- */

int verge_wheel_schedule_window(verge_wheel *wheel, uint64_t earliest_ns, uint64_t latest_ns, void *data,
                                verge_timer *ret_timer) {
    if (wheel == NULL || earliest_ns > latest_ns) {
        return -EINVAL;
    }
    uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    if (earliest_ns <= largest_ns && latest_ns > largest_ns) {
        latest_ns = largest_ns;
    }
    return verge_wheel_schedule(wheel, verge__roundest(earliest_ns, latest_ns), data, ret_timer);
}

/* Of a coarse wheel, the last deadline up to this one that comes out without delay: where a slot of its level
 * starts or, if none does before it, at the end of the level below, and so on. */
static uint64_t undelayed(const verge_wheel *wheel, uint64_t deadline_ns) {
    const verge__calendar *calendar = &wheel->calendar;
    uint64_t tick = verge__wheel_tick(wheel, deadline_ns);
    uint64_t from = verge__wheel_target(wheel);
    if (tick < from) {
        return deadline_ns;
    }
    for (size_t k = calendar->level_count; k-- > 1;) {
        const verge__level *level = &calendar->levels[k];
        const verge__level *below = &calendar->levels[k - 1];
        uint64_t span = UINT64_C(1) << (below->shift + below->bits);
        uint64_t below_end = span < UINT64_MAX - from ? from + span : UINT64_MAX;
        uint64_t start = tick & ~verge__bit_mask(level->shift);
        if (tick >= below_end && start >= below_end) {
            return start == tick ? deadline_ns : (start << wheel->shift) - (wheel->options.strict ? 1 : 0);
        }
        if (tick >= below_end) {
            tick = below_end - 1;
            deadline_ns = (tick << wheel->shift) - (wheel->options.strict ? 1 : 0);
        }
    }
    return deadline_ns;
}

int verge_wheel_schedule_best_fit(verge_wheel *wheel, uint64_t target_ns, void *data, verge_timer *ret_timer,
                                  uint64_t *ret_wheel_deadline_ns) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    uint64_t largest_ns = verge_wheel_largest_deadline(wheel);
    uint64_t deadline_ns = target_ns < largest_ns ? target_ns : largest_ns;
    if (wheel->options.coarse) {
        deadline_ns = undelayed(wheel, deadline_ns);
    }
    int error = verge_wheel_schedule(wheel, deadline_ns, data, ret_timer);
    if (error == 0 && ret_wheel_deadline_ns != NULL) {
        *ret_wheel_deadline_ns = deadline_ns;
    }
    return error;
}

int verge_wheel_get(const verge_wheel *wheel, verge_timer timer, verge_expiry *ret_expiry) {
    if (wheel == NULL || ret_expiry == NULL) {
        return -EINVAL;
    }
    const verge__record *record = verge__records_find(&wheel->records, timer);
    if (record == NULL) {
        return verge__records_why_not(&wheel->records, timer);
    }
    *ret_expiry = (verge_expiry){.timer = timer, .deadline_ns = record->deadline_ns, .data = record->data};
    return 0;
}
