/* SPDX-License-Identifier: MIT */
/*
 * Poll: take the entries of each tick that has come, look at their records, hand out the timers.
 *
 * `budget` counts the entries that may still be moved, inspected or returned.
 */
#include "wheel/due.h"

/* What one call collects. */
typedef struct verge__handout {
    verge_expiry *out;
    size_t limit;
    size_t count;
    size_t timeout_count; /* of those */
    size_t accounted;
    size_t timeouts_accounted;
    size_t budget;
} handout;

static bool is_full(const handout *handout_) {
    return handout_->count == handout_->limit || handout_->budget == 0;
}

/* ---- one entry ---- */

static VERGE__ALWAYS_INLINE void hand_out(verge_wheel *wheel, handout *to, verge__record *record, verge__entry entry) {
    to->timeout_count += verge__wheel_end_timer(wheel, record, entry, &to->out[to->count]);
    to->count++;
}

/* ---- unordered: the list is the order ---- */

void verge__wheel_prefetch(void *owner, const verge__entry *entries, size_t count) {
    verge__wheel_prefetch_records(owner, entries, count);
}

void verge__wheel_prefetch_tick(verge_wheel *wheel, uint64_t tick) {
    wheel->prefetched_tick = tick;
    verge__wheel_prefetch_list(wheel, verge__calendar_peek(&wheel->calendar, tick), VERGE__CHUNK_ENTRIES);
}

/* Hands out, from the newest chunk of a list, what is due at `tick`. What is not - its timer was moved, or
 * its mark is the same 2^32 ticks away - is filed again. */
static void hand_out_chunk(verge_wheel *wheel, verge__list *list, uint64_t tick, uint64_t entry_tick, handout *to) {
    verge__chunk *chunk = verge__list_chunk(*list);
    size_t left = verge__list_chunk_count(*list);
    size_t inspected = 0;
    size_t counted = 0; /* of them, those that entry_count no longer has */
    if (chunk->below != NULL) {
        VERGE__PREFETCH(&chunk->below->entries[VERGE__CHUNK_ENTRIES - 1]);
    }
    while (left > 0 && to->count < to->limit && inspected < to->budget) {
        verge__entry entry = chunk->entries[--left];
        inspected++;
        const verge__entry *ahead = verge__entry_ahead(chunk, left, VERGE__PREFETCH_AHEAD);
        if (ahead != NULL) {
            VERGE__PREFETCH_WRITE(verge__wheel_record(wheel, *ahead));
        }
        verge__record *record = verge__wheel_record(wheel, entry);
        if (VERGE__UNLIKELY(!verge__wheel_counts(wheel, record, entry))) {
            verge__wheel_drop(wheel, record, entry);
        } else if (VERGE__LIKELY(verge__is_due(wheel, record, tick) && verge__is_of_tick(wheel, record, entry_tick))) {
            hand_out(wheel, to, record, entry);
        } else {
            wheel->calendar.entry_count -= inspected - counted;
            counted = inspected;
            verge__wheel_refile(wheel, record, entry);
        }
    }
    to->budget -= inspected;
    wheel->calendar.entry_count -= inspected - counted;
    if (left == 0) {
        verge__calendar_list_drop_chunk(&wheel->calendar, list);
    } else {
        *list = chunk->entries + left;
    }
}

static void hand_out_unordered(verge_wheel *wheel, verge__due *due, uint64_t tick, handout *to) {
    uint64_t entry_tick = due == &wheel->past     ? VERGE__TICK_PAST
                          : wheel->batch_is_exact ? VERGE__TICK_EXACT
                                                  : wheel->batch_tick;
    while (verge__pile_open(&due->pile) && !is_full(to)) {
        if (due != &wheel->past && verge__may_refile_chunk(wheel, due->pile.list)) {
            to->budget -= verge__wheel_refile_chunks(wheel, &due->pile.list, to->budget);
            if (due->pile.list == NULL || is_full(to)) {
                continue;
            }
        }
        hand_out_chunk(wheel, &due->pile.list, tick, entry_tick, to);
    }
}

/* ---- ordered: sort first ---- */

/* Moves entries that are due from the newest chunk of the list to those picked for sorting, as far
 * as the budget and a chunk go; the others are filed again or dropped. */
static void pick_due(verge_wheel *wheel, verge__due *due, uint64_t tick, handout *to) {
    verge__chunk *chunk = verge__list_chunk(due->pile.list);
    size_t left = verge__list_chunk_count(due->pile.list);
    size_t room = verge__list_needs_chunk(due->picked) ? VERGE__CHUNK_ENTRIES
                                                       : VERGE__CHUNK_ENTRIES - verge__list_chunk_count(due->picked);
    for (; left > 0 && room > 0 && to->budget > 0; room--, to->budget--) {
        verge__entry entry = chunk->entries[--left];
        verge__record *record = verge__wheel_record(wheel, entry);
        wheel->calendar.entry_count--;
        if (!verge__wheel_counts(wheel, record, entry)) {
            verge__wheel_drop(wheel, record, entry);
        } else if (verge__is_due(wheel, record, tick)) {
            verge__calendar_list_add(&wheel->calendar, &due->picked, entry);
        } else {
            verge__wheel_refile(wheel, record, entry);
        }
    }
    if (left == 0) {
        verge__calendar_list_drop_chunk(&wheel->calendar, &due->pile.list);
    } else {
        due->pile.list = chunk->entries + left;
    }
}

/* Sorts what is in the list; true if all of it is sorted. */
static bool sort_due(verge_wheel *wheel, verge__due *due, uint64_t tick, handout *to) {
    while (verge__sorter_settle(wheel, due->sorter, &to->budget)) {
        bool is_open = verge__pile_open(&due->pile);
        if (due->picked != NULL && (!is_open || verge__list_needs_chunk(due->picked))) {
            verge__sorter_add_chunk(wheel, due->sorter, &due->picked);
        } else if (!is_open) {
            return true;
        } else if (to->budget == 0) {
            return false;
        } else {
            pick_due(wheel, due, tick, to);
        }
    }
    return false;
}

static void hand_out_ordered(verge_wheel *wheel, verge__due *due, uint64_t tick, handout *to) {
    while (!is_full(to)) {
        verge__entry entry;
        if (!sort_due(wheel, due, tick, to) || !verge__sorter_pop(wheel, due->sorter, &to->budget, &entry)) {
            return;
        }
        wheel->calendar.entry_count--;
        hand_out(wheel, to, verge__wheel_record(wheel, entry), entry);
    }
}

/* ---- a poll ---- */

static void hand_out_due(verge_wheel *wheel, verge__due *due, uint64_t tick, handout *to) {
    if (verge__due_is_empty(due)) {
        return;
    }
    if (due->sorter == NULL) {
        hand_out_unordered(wheel, due, tick, to);
    } else {
        hand_out_ordered(wheel, due, tick, to);
    }
}

bool verge__wheel_take_batch(verge_wheel *wheel, uint64_t target, size_t *budget) {
    for (;;) {
        if (verge__wheel_beyond_is_empty(wheel)) {
            wheel->beyond_tick = VERGE__NO_TICK;
        }
        uint64_t stop = wheel->beyond_tick < target ? wheel->beyond_tick : target;
        stop = stop > wheel->calendar.cursor ? stop : wheel->calendar.cursor;
        verge__taken taken;
        if (verge__calendar_take(&wheel->calendar, stop, budget, &taken)) {
            wheel->batch.pile = taken.pile;
            wheel->batch_tick = taken.tick;
            wheel->batch_is_exact = false;
            return true;
        }
        bool is_there = wheel->calendar.cursor == stop;
        if (!is_there || wheel->beyond_tick == VERGE__NO_TICK || !verge__wheel_file_beyond(wheel, budget)) {
            return false;
        }
    }
}

/* Hands out what is due up to now, tick by tick; stops when the call is full. */
static void hand_out_until(verge_wheel *wheel, uint64_t target, handout *to) {
    for (;;) {
        hand_out_due(wheel, &wheel->past, target - 1, to);
        if (!verge__due_is_empty(&wheel->past)) {
            return;
        }
        hand_out_due(wheel, &wheel->batch, wheel->batch_tick, to);
        if (!verge__due_is_empty(&wheel->batch) || !verge__wheel_take_batch(wheel, target, &to->budget)) {
            return;
        }
        if (wheel->batch.sorter == NULL && wheel->batch_tick > wheel->prefetched_tick) {
            verge__wheel_prefetch_list(wheel, wheel->batch.pile.list, VERGE__PREFETCH_AHEAD);
        }
    }
}

/* Makes a batch of the timers of the tick under way whose deadline has come to the nanosecond. Those
 * that are moved before they are handed out get another entry, so what counts in the batch is due. */
static void select_exact(verge_wheel *wheel, handout *to) {
    verge__calendar *calendar = &wheel->calendar;
    if (calendar->levels_ready == 0 || (!calendar->coarse && !verge__calendar_open_cursor(calendar, &to->budget))) {
        return;
    }
    verge__level *lowest = &calendar->levels[0];
    uint32_t slot = (uint32_t)calendar->cursor & lowest->mask;
    if (lowest->slots[slot] == NULL || verge__calendar_slot_count(calendar, 0, slot) > to->budget) {
        return;
    }
    verge__list list = verge__calendar_take_slot(calendar, 0, slot);
    while (list != NULL) {
        const verge__chunk *chunk = verge__list_chunk(list);
        size_t count = verge__list_chunk_count(list);
        to->budget -= count < to->budget ? count : to->budget;
        for (size_t i = 0; i < count; i++) {
            verge__entry entry = chunk->entries[i];
            verge__record *record = verge__wheel_record(wheel, entry);
            if (!verge__wheel_counts(wheel, record, entry)) {
                verge__wheel_drop(wheel, record, entry);
            } else if (record->deadline_ns > wheel->now_ns) {
                verge__calendar_put_slot(calendar, 0, calendar->cursor, entry);
            } else {
                if (!verge__wheel_is_ordered(wheel)) {
                    record->u.entry_tick = VERGE__TICK_EXACT;
                    entry = verge__entry_marked(entry, (uint32_t)VERGE__TICK_EXACT);
                }
                verge__calendar_list_add(calendar, &wheel->batch.pile.list, entry);
            }
        }
        verge__calendar_list_drop_chunk(calendar, &list);
    }
    wheel->batch_tick = calendar->cursor;
    wheel->batch_is_exact = true;
}

/* Puts an entry that poll_exact picked back into its tick. */
static void put_back(verge_wheel *wheel, verge__entry entry) {
    verge__record *record = verge__wheel_record(wheel, entry);
    wheel->calendar.entry_count--;
    if (!verge__wheel_counts(wheel, record, entry)) {
        verge__wheel_drop(wheel, record, entry);
        return;
    }
    if (verge__wheel_keep_past(wheel, record, entry)) {
        return;
    }
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = wheel->calendar.cursor;
        entry = verge__entry_marked(entry, (uint32_t)record->u.entry_tick);
    }
    verge__calendar_put_slot(&wheel->calendar, 0, wheel->calendar.cursor, entry);
}

void verge__wheel_put_back_exact(verge_wheel *wheel) {
    if (!wheel->batch_is_exact || wheel->options.work_limit != 0) {
        return;
    }
    wheel->batch_is_exact = false;
    verge__list *const lists[] = {&wheel->batch.pile.list, &wheel->batch.pile.sifted, &wheel->batch.picked};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        while (*lists[i] != NULL) {
            const verge__chunk *chunk = verge__list_chunk(*lists[i]);
            for (const verge__entry *entry = chunk->entries; entry < *lists[i]; entry++) {
                put_back(wheel, *entry);
            }
            verge__calendar_list_drop_chunk(&wheel->calendar, lists[i]);
        }
    }
    size_t budget = SIZE_MAX;
    verge__entry entry;
    while (wheel->batch.sorter != NULL && verge__sorter_settle(wheel, wheel->batch.sorter, &budget) &&
           verge__sorter_pop(wheel, wheel->batch.sorter, &budget, &entry)) {
        put_back(wheel, entry);
    }
}

/* The timers handed out since the last time are not pending any more. */
static void account(verge_wheel *wheel, handout *to) {
    size_t timeouts = to->timeout_count - to->timeouts_accounted;
    size_t timers = to->count - to->accounted;
    wheel->timers_expired += timers - timeouts;
    wheel->timeouts_expired += timeouts;
    wheel->records.taken_count -= timers - timeouts;
    to->accounted = to->count;
    to->timeouts_accounted = to->timeout_count;
}

/* Two thirds of what is left of a limited poll's work are for garbage, if there is much; of a limit of 1, two of three polls.
 * What is allowed falls with the timers, so it is looked at after each quarter of them. */
static void hand_out_within_limit(verge_wheel *wheel, uint64_t target, handout *to) {
    size_t left = to->budget;
    do {
        if (verge__wheel_has_much_garbage(wheel)) {
            wheel->garbage_turn = (uint8_t)((wheel->garbage_turn + 1) % 3);
            left -= verge__wheel_sift_some(wheel, left / 3 * 2 + (left % 3 * 2 + wheel->garbage_turn) / 3);
        }
        size_t part = (size_t)verge__wheel_pending(wheel) / 4 + 256;
        part = part < left ? part : left;
        to->budget = part;
        hand_out_until(wheel, target, to);
        account(wheel, to);
        left -= part - to->budget;
    } while (to->budget == 0 && left > 0);
    to->budget = left;
}

size_t verge__wheel_poll_within(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit, bool exact,
                                size_t work_limit) {
    wheel->now_ns = now_ns > wheel->now_ns ? now_ns : wheel->now_ns;
    uint64_t target = verge__wheel_target(wheel);
    handout to = {.out = out, .limit = out == NULL ? 0 : limit, .budget = work_limit};

    verge__wheel_put_back_exact(wheel);
    if (work_limit < SIZE_MAX && !exact) {
        hand_out_within_limit(wheel, target, &to);
    } else { /* an exact one looks at a whole tick, or not at all (is_tick_beyond_work_limit) */
        hand_out_until(wheel, target, &to);
    }
    if (exact && !verge_wheel_has_backlog(wheel) && !is_full(&to)) {
        select_exact(wheel, &to);
        hand_out_due(wheel, &wheel->batch, wheel->batch_tick, &to);
    }
    account(wheel, &to);
    verge__wheel_settle(wheel, &to.budget, to.count);
    verge__wheel_note_work(wheel, work_limit - to.budget);
    return to.count;
}

static size_t poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit, bool exact) {
    return verge__wheel_poll_within(wheel, now_ns, out, limit, exact, verge__wheel_work_limit(wheel));
}

static VERGE__NOINLINE size_t poll_due(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    verge__list list = NULL;
    size_t work = 0;
    bool is_short = out != NULL && limit > 0 && verge__wheel_is_short_poll(wheel, now_ns);
    if (!is_short && verge__wheel_stays_quiet(wheel, now_ns)) {
        return 0;
    }
    if (is_short && verge__wheel_has_upper(wheel)) {
        work = verge__calendar_open_upper(&wheel->calendar, now_ns >> wheel->shift);
    }
    if (!is_short || !verge__wheel_take_few(wheel, now_ns, &list)) {
        size_t count = poll(wheel, now_ns, out, limit, false);
        wheel->last_poll_work += work;
        return count;
    }
    handout to = {.out = out, .limit = limit, .budget = SIZE_MAX - work};
    if (list != NULL) {
        verge__wheel_begin_batch(wheel, list);
        hand_out_chunk(wheel, &wheel->batch.pile.list, wheel->batch_tick, wheel->batch_tick, &to);
    }
    account(wheel, &to);
    if (VERGE__UNLIKELY(wheel->batch.pile.list != NULL || !verge__wheel_settle_shortly(wheel, to.count))) {
        verge__wheel_settle(wheel, &to.budget, to.count);
    }
    verge__wheel_note_work(wheel, SIZE_MAX - to.budget);
    return to.count;
}

size_t verge_wheel_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(verge__wheel_pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return poll_due(wheel, now_ns, out, limit);
}

size_t verge_wheel_poll_exact(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    return wheel == NULL ? 0 : poll(wheel, now_ns, out, limit, true);
}

/* Coarse timers come out at the start of their slot; some slots hold nothing but garbage. The work limit is for all of
 * them together: when it is reached, what is left of a slot is a backlog. */
static size_t poll_to_next_slot(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    size_t work = 0;
    for (;;) {
        uint64_t next_ns = verge_wheel_next_wakeup(wheel);
        size_t work_left = verge__wheel_work_limit(wheel) - work;
        size_t count =
            verge__wheel_poll_within(wheel, next_ns < now_ns ? next_ns : now_ns, out, limit, false, work_left);
        work += (size_t)wheel->last_poll_work;
        if (count > 0 || next_ns >= now_ns || verge_wheel_has_backlog(wheel)) {
            verge__wheel_note_work(wheel, work);
            return count;
        }
    }
}

/* Whether the tick under way has to be left to its end, because a poll may not look at all of it. */
static bool is_tick_beyond_work_limit(const verge_wheel *wheel) {
    const verge__calendar *calendar = &wheel->calendar;
    const verge__level *lowest = &calendar->levels[0];
    return wheel->options.work_limit != 0 && calendar->levels_ready > 0 &&
           verge__calendar_slot_count(calendar, 0, (uint32_t)calendar->cursor & lowest->mask) >
               wheel->options.work_limit;
}

size_t verge_wheel_poll_to_next(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    if (wheel == NULL) {
        return 0;
    }
    if (wheel->options.coarse) {
        return poll_to_next_slot(wheel, now_ns, out, limit);
    }
    uint64_t next_ns = verge__wheel_earliest(wheel);
    bool at_its_end = wheel->options.strict || (next_ns <= wheel->now_ns && is_tick_beyond_work_limit(wheel));
    if (at_its_end && !verge__wheel_has_live_due(wheel)) {
        next_ns = verge_wheel_fires_at(wheel, next_ns);
    } else if (at_its_end && verge__due_is_empty(&wheel->past) && wheel->batch_tick == wheel->calendar.cursor) {
        next_ns = wheel->batch_tick << wheel->shift; /* what a poll_exact picked and did not return */
    }
    return poll(wheel, next_ns < now_ns ? next_ns : now_ns, out, limit, !wheel->options.strict);
}
