/* SPDX-License-Identifier: MIT */
/*
 * Timeouts: timers whose records are in the caller's objects.
 *
 * What they touch, beside the wheel's own hot lines: clear the object alone; set the object alone if the entry it has is
 * worth keeping. Else the entry is moved to another slot: that touches the end of that slot's list, the place it had in the
 * one it leaves, and the object whose entry takes this place.
 */
#include <errno.h>

#include "base/probes.h"
#include "wheel/garbage.h"
#include "wheel/wheel_internal.h"

/* What places.h knows is the record. */
_Static_assert(offsetof(verge_timeout, record) == 0, "a timeout and its record have one address");

enum {
    ROUNDS_WITHOUT = 63,
};

/* ---- the entry ---- */

/* Whatever list it is in, an entry that is nobody's takes its place. */
static VERGE__ALWAYS_INLINE void vacate(verge_wheel *wheel, const verge_timeout *timeout) {
    *(verge__entry *)timeout->entry = verge__entry_for_timeout(&wheel->vacated);
}

static VERGE__ALWAYS_INLINE bool is_vacated(const verge_wheel *wheel, verge__entry entry) {
    return entry.word == verge__entry_for_timeout(&wheel->vacated).word;
}

/* Whether the entry is in the slot it was filed in, and may be taken out: not if its tick has come, nor if a scrub may hold
 * it. Ordered wheels do not know the tick, and coarse ones take a tick in several parts. */
static bool is_in_slot(const verge_wheel *wheel, const verge_timeout *timeout) {
    const verge__calendar *calendar = &wheel->calendar;
    return !verge__wheel_is_ordered(wheel) && !wheel->options.coarse && timeout->slot != NULL &&
           timeout->slot != calendar->scrubbed && timeout->record.u.entry_tick >= calendar->cursor;
}

void verge__wheel_withdraw(verge_wheel *wheel, verge_timeout *timeout) {
    if (is_in_slot(wheel, timeout)) {
        verge__calendar_withdraw(&wheel->calendar, timeout);
    } else {
        vacate(wheel, timeout);
    }
    verge__timeout_has_no_entry(wheel, timeout);
}

/* A round is long enough for each timeout to be set some times: 1,024 ends, and four times those that are set. */
void verge__wheel_judge_keeping(verge_wheel *wheel) {
    verge__keeping *keeping = &wheel->keeping;
    uint64_t ended = verge__wheel_timeouts_cleared(wheel) + wheel->timeouts_expired;
    uint64_t count = ended - keeping->round_begin;
    if (count < 4 * verge__wheel_timeouts(wheel) + verge__garbage_allowed / 3) {
        return;
    }
    if (keeping->rounds_without > 0) {
        keeping->rounds_without--;
    } else if (keeping->failed > (int64_t)(count / 16 * 7)) {
        keeping->rounds_without = ROUNDS_WITHOUT;
    }
    wheel->timeout_shift = wheel->shift | (keeping->rounds_without > 0 ? VERGE__MOVES_ENTRIES : 0);
    keeping->failed = 0;
    keeping->round_begin = ended;
}

/* ---- timeouts ---- */

static void note_earliest(verge_wheel *wheel, const verge_timeout *timeout) {
    wheel->earliest_ns = timeout->record.deadline_ns;
    wheel->earliest_timer = verge__records_handle(timeout->number, VERGE__GENERATION_SET);
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
        error = verge__wheel_reserve_entries(wheel, verge__wheel_entries_for(timers + total));
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
    *timeout = (verge_timeout){.record = {.data = data}, .number = number};
    verge__timeout_has_no_entry(wheel, timeout);
    wheel->calendar.has_timeouts = true;
    wheel->keeping.failed--; /* to be set for the first time */
    return 0;
}

int verge_timeout_detach(verge_wheel *wheel, verge_timeout *timeout) {
    if (!is_attached(wheel, timeout)) {
        return -EINVAL;
    }
    (void)verge_timeout_clear(wheel, timeout);
    if (verge__timeout_has_entry(wheel, timeout)) {
        size_t entry_count = wheel->calendar.entry_count;
        verge__wheel_withdraw(wheel, timeout);
        wheel->entries_dropped += entry_count - wheel->calendar.entry_count;
    }
    verge__places_remove(&wheel->places, timeout->number);
    *timeout = (verge_timeout){0};
    return 0;
}

/* It has a deadline and an entry. begun: those that began before. */
static VERGE__ALWAYS_INLINE void note_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t begun) {
    if (timeout->record.generation == 0) {
        timeout->record.generation = VERGE__GENERATION_SET;
        wheel->timeouts_begun = begun + 1;
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
    int error = verge__wheel_arm(wheel, record, verge__entry_for_timeout(timeout), deadline_ns, is_set);
    if (error != 0) {
        return error;
    }
    note_set(wheel, timeout, wheel->timeouts_begun);
    if (deadline_ns < wheel->earliest_ns) {
        note_earliest(wheel, timeout);
    }
    verge__wheel_set_short_reach(wheel);
    return wheel->calendar.entry_count >= wheel->calendar.entry_limit ? verge__wheel_tidy(wheel) : 0;
}

static VERGE__NOINLINE int finish_set_as_earliest(verge_wheel *wheel, verge_timeout *timeout) {
    note_set(wheel, timeout, wheel->timeouts_begun);
    note_earliest(wheel, timeout);
    return 0;
}

/* It has a deadline and an entry. earliest_ns, begun: the wheel's, which are side by side: one load. */
static VERGE__ALWAYS_INLINE int finish_set_after(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns,
                                                 uint64_t earliest_ns, uint64_t begun) {
    if (VERGE__UNLIKELY(deadline_ns < earliest_ns)) {
        return finish_set_as_earliest(wheel, timeout);
    }
    note_set(wheel, timeout, begun);
    return 0;
}

static VERGE__ALWAYS_INLINE int finish_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    uint64_t begun = wheel->timeouts_begun;
    uint64_t earliest_ns = wheel->earliest_ns;
    timeout->record.deadline_ns = deadline_ns;
    return finish_set_after(wheel, timeout, deadline_ns, earliest_ns, begun);
}

/* ---- an entry that is moved ---- */

/* An entry takes the place of another, in the same list. */
static VERGE__ALWAYS_INLINE void hand_over(verge__entry *place, verge__entry entry) {
    *place = entry;
    if (VERGE__LIKELY(verge__entry_is_timeout(entry))) {
        verge__entry_timeout(entry)->entry = place;
    }
}

/* To a slot that has room in its newest chunk. The newest entry of the list it leaves, which is not the first of its chunk, takes
 * its place. Which list that is, is known only when the object has come to the cache, but nothing waits for that: no
 * branch that could as well go the other way depends on it. */
static VERGE__ALWAYS_INLINE void move_entry(verge_timeout *timeout, verge__list *slot, uint64_t tick) {
    verge__entry *place = timeout->entry;
    verge__list *left = timeout->slot;
    verge__entry *newest = *left - 1;
    verge__entry moved = *newest;
    verge__list end = *slot;
    *end = verge__entry_for_timeout(timeout);
    *slot = end + 1;
    hand_over(place, moved);
    *left = newest;
    timeout->record.u.entry_tick = tick;
    timeout->entry = end; /* not before: its own entry may have been the newest */
    timeout->slot = slot;
}

/* The same where the newest is the first of its chunk, and somebody's. The chunk stays, with an entry that is nobody's, for
 * the next that comes. */
static void move_last_entry(verge_wheel *wheel, verge_timeout *timeout, verge__list *slot, uint64_t tick) {
    verge__entry *newest = *(verge__list *)timeout->slot - 1;
    hand_over(timeout->entry, *newest);
    *newest = verge__entry_for_timeout(&wheel->vacated);
    wheel->calendar.entry_count++;
    *(*slot)++ = verge__entry_for_timeout(timeout);
    verge__entry_seat(*slot - 1, slot);
    timeout->record.u.entry_tick = tick;
}

/* Takes half of the room there is, which is some, up to a chunk's. */
static void stock_up(verge_wheel *wheel) {
    size_t stock = verge__wheel_stock(wheel);
    size_t share = (wheel->calendar.entry_limit - wheel->calendar.entry_count + 1) / 2;
    verge__wheel_set_stock(wheel, stock + share < VERGE__STOCK_MAX ? stock + share : VERGE__STOCK_MAX);
}

/* Makes sure that nowhere has an entry to take; that the newest chunk of a list that is left has more than nobody's entry; that
 * the slot has a chunk with room. */
static void prepare_chunks(verge_wheel *wheel, verge__list *left, verge__list *slot, uint64_t tick) {
    if (left == &wheel->nowhere) {
        stock_up(wheel);
    } else if (verge__list_is_first_of_chunk(*left - 1) && is_vacated(wheel, *(*left - 1))) {
        verge__calendar_list_drop_chunk(&wheel->calendar, left);
        wheel->calendar.entry_count--;
        wheel->entries_dropped++;
    }
    if (verge__list_needs_chunk(*slot)) {
        verge__calendar_begin_chunk(&wheel->calendar, tick);
    }
}

/* Moves the entry where chunks come or go, or files one if it is in no slot. */
static VERGE__NOINLINE int set_with_chunks(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns,
                                           uint64_t tick) {
    verge__calendar *calendar = &wheel->calendar;
    if (timeout->number == 0 || calendar->entry_count >= calendar->entry_limit) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    verge__list *slot = verge__calendar_slot(calendar, tick);
    verge__list *left = timeout->slot;
    if (!is_in_slot(wheel, timeout)) {
        vacate(wheel, timeout);
        verge__calendar_put_within_reach(calendar, tick, verge__entry_for_timeout(timeout));
        timeout->record.u.entry_tick = tick;
    } else if (left == slot) {
        timeout->record.u.entry_tick = tick; /* it is where it belongs */
    } else {
        prepare_chunks(wheel, left, slot, tick);
        if (verge__list_is_first_of_chunk(*left - 1)) {
            move_last_entry(wheel, timeout, slot, tick);
        } else {
            move_entry(timeout, slot, tick);
        }
    }
    return finish_set(wheel, timeout, deadline_ns);
}

/* Moves the entry; those that have none leave `nowhere`. */
static VERGE__ALWAYS_INLINE int set_anew(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns,
                                         uint64_t tick) {
    const verge__calendar *calendar = &wheel->calendar;
    const verge__list *scrubbed = calendar->scrubbed;
    const verge__list *left = timeout->slot;
    uint64_t entry_tick = timeout->record.u.entry_tick;
    verge__list *slot = verge__calendar_slot(calendar, tick);
    if (VERGE__UNLIKELY(verge__list_needs_chunk(*slot) || left == NULL || left == slot || left == scrubbed ||
                        entry_tick < calendar->cursor || verge__list_is_first_of_chunk(*left - 1))) {
        return set_with_chunks(wheel, timeout, deadline_ns, tick);
    }
    uint64_t earliest_ns = wheel->earliest_ns;
    uint64_t begun = wheel->timeouts_begun;
    move_entry(timeout, slot, tick);
    timeout->record.deadline_ns = deadline_ns; /* with its tick: one store */
    return finish_set_after(wheel, timeout, deadline_ns, earliest_ns, begun);
}

/* Whether an entry is still to come and comes up no later than so many ticks ahead: one comparison for both. */
static VERGE__ALWAYS_INLINE bool comes_in_time(const verge_wheel *wheel, uint64_t entry_tick, uint64_t ahead) {
    return entry_tick - wheel->calendar.cursor <= ahead;
}

/* A bellwether, whose entry comes in time. If that will have come up by when it is set the next time, it is to be moved now, with
 * those that were set before it. */
static VERGE__NOINLINE int set_bellwether(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns,
                                          uint64_t tick) {
    uint64_t elapsed = tick - verge__wheel_tick(wheel, timeout->record.deadline_ns); /* since it was set, most likely */
    uint64_t left = verge__calendar_timeout_tick(&wheel->calendar, timeout) - wheel->calendar.cursor;
    int error = finish_set(wheel, timeout, deadline_ns);
    if (left <= elapsed) {
        verge__wheel_lead_flock(wheel, timeout);
    }
    return error;
}

/* The entry does not come in time, or is a bellwether's; or it was not asked for, but the timeout is set. */
static VERGE__NOINLINE int set_after_failure(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns,
                                             uint64_t tick) {
    uint64_t ahead = tick - wheel->calendar.cursor;
    if (comes_in_time(wheel, verge__calendar_timeout_tick(&wheel->calendar, timeout), ahead)) {
        return (timeout->record.u.entry_tick & VERGE__BELLWETHER) != 0
                   ? set_bellwether(wheel, timeout, deadline_ns, tick)
                   : finish_set(wheel, timeout, deadline_ns);
    }
    wheel->keeping.failed += timeout->record.generation == 0;
    return set_anew(wheel, timeout, deadline_ns, tick);
}

int verge_timeout_set(verge_wheel *wheel, verge_timeout *timeout, uint64_t deadline_ns) {
    if (VERGE__UNLIKELY(wheel == NULL)) {
        return -EINVAL;
    }
    if (VERGE__UNLIKELY(timeout == NULL)) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    uint64_t shift = wheel->timeout_shift;
    uint64_t tick = (deadline_ns + wheel->bias_ns) >> (shift & (VERGE__MOVES_ENTRIES - 1));
    uint64_t ahead = tick - wheel->calendar.cursor;
    if (VERGE__UNLIKELY(ahead >= wheel->calendar.short_reach)) {
        return set_slowly(wheel, timeout, deadline_ns);
    }
    if ((shift & VERGE__MOVES_ENTRIES) != 0) {
        return timeout->record.generation == 0 ? set_anew(wheel, timeout, deadline_ns, tick)
                                               : set_after_failure(wheel, timeout, deadline_ns, tick);
    }
    if (VERGE__LIKELY(comes_in_time(wheel, timeout->record.u.entry_tick, ahead))) {
        return finish_set(wheel, timeout, deadline_ns);
    }
    return set_after_failure(wheel, timeout, deadline_ns, tick);
}

static VERGE__NOINLINE int clear_slowly(verge_wheel *wheel, verge_timeout *timeout) {
    if (timeout == NULL) {
        return -EINVAL;
    }
    if (timeout->record.generation == 0) {
        return -ENOENT;
    }
    timeout->record.generation = 0;
    wheel->clears_due++;
    VERGE__PROBE2(cancel, wheel, timeout);
    return verge__wheel_tidy(wheel);
}

int verge_timeout_clear(verge_wheel *wheel, verge_timeout *timeout) {
    if (VERGE__UNLIKELY(wheel == NULL)) {
        return -EINVAL;
    }
    if (VERGE__UNLIKELY(timeout == NULL || timeout->record.generation == 0 || wheel->clears_left == 0)) {
        return clear_slowly(wheel, timeout);
    }
    timeout->record.generation = 0;
    wheel->clears_left--;
    VERGE__PROBE2(cancel, wheel, timeout);
    return 0;
}

uint64_t verge_timeout_deadline(const verge_timeout *timeout) {
    return timeout != NULL && timeout->record.generation != 0 ? timeout->record.deadline_ns : VERGE_NEVER;
}
