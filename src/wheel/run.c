/* SPDX-License-Identifier: MIT */
/*
 * Run: a poll that calls a function for each timer, one at a time. In between the wheel is as any with a backlog: what is due
 * and was not called for is in its lists, so the function may cancel it, and do all else.
 *
 * What the function sets for a time that has come is deferred: it joins what is past when the run is over. So a run has
 * an end, even if each call sets another timer.
 */
#include "wheel/due.h"

typedef void on_expiry_function(void *context, const verge_expiry *expiry);

typedef struct calls {
    on_expiry_function *on_expiry;
    void *context;
    size_t count;
    size_t work;
} calls;

static VERGE__ALWAYS_INLINE void call(calls *to, const verge_expiry *expiry) {
    to->count++;
    to->on_expiry(to->context, expiry);
}

static VERGE__ALWAYS_INLINE void end_and_call(verge_wheel *wheel, verge__record *record, verge__entry entry,
                                              calls *to) {
    verge_expiry expiry;
    if (verge__wheel_end_timer(wheel, record, entry, &expiry)) {
        wheel->timeouts_expired++;
    } else {
        wheel->records.taken_count--;
        wheel->timers_expired++;
    }
    call(to, &expiry);
}

/* ---- unordered: the list is the order ---- */

/* An entry that came up. If it is not due - its timer was moved - it is filed again. */
static VERGE__ALWAYS_INLINE void run_entry(verge_wheel *wheel, verge__entry entry, uint64_t tick, uint64_t entry_tick,
                                           calls *to) {
    verge__record *record = verge__wheel_record(wheel, entry);
    to->work++;
    if (VERGE__UNLIKELY(!verge__unordered_counts(record, entry))) {
        verge__wheel_drop(wheel, record, entry);
    } else if (VERGE__LIKELY(verge__is_due(wheel, record, tick) && verge__is_of_tick(wheel, record, entry_tick))) {
        end_and_call(wheel, record, entry, to);
    } else {
        verge__wheel_refile(wheel, record, entry);
    }
}

/* All of a pile. The function may change anything: nothing is remembered over a call. */
static VERGE__ALWAYS_INLINE void run_due(verge_wheel *wheel, verge__due *due, bool is_past, calls *to) {
    while (verge__pile_open(&due->pile)) {
        verge__list *list = &due->pile.list;
        size_t refiled =
            !is_past && verge__may_refile_chunk(wheel, *list) ? verge__wheel_refile_chunks(wheel, list, SIZE_MAX) : 0;
        if (refiled > 0) {
            to->work += refiled;
            continue;
        }
        const verge__entry *ahead =
            verge__entry_ahead(verge__list_chunk(*list), verge__list_chunk_count(*list) - 1, VERGE__PREFETCH_AHEAD);
        if (ahead != NULL) {
            VERGE__PREFETCH_WRITE(verge__wheel_record(wheel, *ahead));
        }
        verge__entry entry = verge__calendar_list_pop(&wheel->calendar, list);
        run_entry(wheel, entry, is_past ? verge__wheel_target(wheel) - 1 : wheel->batch_tick,
                  is_past ? VERGE__TICK_PAST : wheel->batch_tick, to);
    }
}

static VERGE__NOINLINE void run_past(verge_wheel *wheel, calls *to) {
    run_due(wheel, &wheel->past, true, to);
}

static VERGE__NOINLINE void run_batch(verge_wheel *wheel, calls *to) {
    run_due(wheel, &wheel->batch, false, to);
}

static VERGE__NOINLINE void run_ticks(verge_wheel *wheel, uint64_t now_ns, calls *to) {
    size_t budget = SIZE_MAX;
    wheel->now_ns = now_ns > wheel->now_ns ? now_ns : wheel->now_ns;
    wheel->calendar.quiet_until = 0; /* W5 */
    verge__wheel_put_back_exact(wheel);
    do {
        verge__wheel_set_short_reach(wheel);
        if (wheel->batch_tick > wheel->prefetched_tick) {
            verge__wheel_prefetch_list(wheel, wheel->batch.pile.list, VERGE__PREFETCH_AHEAD);
        }
        if (VERGE__UNLIKELY(!verge__pile_is_empty(&wheel->past.pile))) {
            run_past(wheel, to);
        }
        run_batch(wheel, to);
    } while (verge__wheel_take_batch(wheel, verge__wheel_target(wheel), &budget));
    to->work += SIZE_MAX - budget;
}

/* ---- ordered, or with a limit on the work: polls of one timer each ---- */

static void run_by_polls(verge_wheel *wheel, uint64_t now_ns, calls *to) {
    size_t limit = verge__wheel_work_limit(wheel);
    verge_expiry expiry;
    while (to->work < limit) {
        size_t left = limit < SIZE_MAX ? limit - to->work : SIZE_MAX;
        size_t count = verge__wheel_poll_within(wheel, now_ns, &expiry, 1, false, left);
        to->work += (size_t)wheel->last_poll_work;
        if (count == 0) {
            return;
        }
        call(to, &expiry);
        now_ns = wheel->now_ns; /* the function may have set it */
    }
}

/* ---- a run ---- */

/* From now on the timer is past, as any. */
static void admit(verge_wheel *wheel, verge__entry entry) {
    verge__record *record = verge__wheel_record(wheel, entry);
    if (!verge__wheel_counts(wheel, record, entry)) {
        verge__wheel_drop(wheel, record, entry);
        return;
    }
    if (!verge__wheel_is_ordered(wheel) && record->u.entry_tick != VERGE__TICK_DEFERRED) {
        verge__wheel_refile(wheel, record, entry); /* it is not: a tick has the same bits */
        return;
    }
    if (!verge__wheel_is_ordered(wheel)) {
        record->u.entry_tick = VERGE__TICK_PAST;
        entry = verge__entry_marked(entry, (uint32_t)VERGE__TICK_PAST);
    }
    verge__calendar_list_add(&wheel->calendar, &wheel->past.pile.list, entry);
}

/* As many as the functions set: no limit on the work counts them. */
static void admit_deferred(verge_wheel *wheel) {
    while (verge__pile_open(&wheel->deferred)) {
        admit(wheel, verge__calendar_list_pop(&wheel->calendar, &wheel->deferred.list));
    }
}

/* Runs that look at what is past while they go on. */
static void run_long(verge_wheel *wheel, uint64_t now_ns, calls *to) {
    wheel->runs++;
    if (verge__wheel_is_ordered(wheel) || wheel->options.work_limit != 0) {
        run_by_polls(wheel, now_ns, to);
    } else {
        run_ticks(wheel, now_ns, to);
    }
    wheel->runs--;
    if (wheel->runs == 0) {
        admit_deferred(wheel);
    }
}

static void end_run(verge_wheel *wheel, const calls *to) {
    size_t budget = verge__wheel_work_limit(wheel);
    budget = budget > to->work ? budget - to->work : 0;
    size_t left = budget;
    verge__wheel_settle(wheel, &left, to->count);
    verge__wheel_note_work(wheel, to->work + budget - left);
}

static VERGE__NOINLINE size_t run(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context,
                                  size_t work) {
    if (VERGE__UNLIKELY(on_expiry == NULL)) {
        return verge_wheel_poll(wheel, now_ns, NULL, 0);
    }
    calls to = {.on_expiry = on_expiry, .context = context, .work = work};
    run_long(wheel, now_ns, &to);
    end_run(wheel, &to);
    return to.count;
}

/* ---- a short run: a tick and no more, with a chunk of entries or less. Each step ends with the next, and keeps nothing ---- */

static VERGE__NOINLINE size_t end_short_run_slowly(verge_wheel *wheel, size_t count, size_t work) {
    calls to = {.count = count, .work = work};
    end_run(wheel, &to);
    return count;
}

static VERGE__ALWAYS_INLINE size_t end_short_run(verge_wheel *wheel, const calls *to) {
    if (VERGE__UNLIKELY(!verge__wheel_settle_shortly(wheel, to->count))) {
        return end_short_run_slowly(wheel, to->count, to->work);
    }
    verge__wheel_note_work(wheel, to->work);
    return to->count;
}

static VERGE__NOINLINE size_t run_one(verge_wheel *wheel, verge__entry entry, on_expiry_function *on_expiry,
                                      void *context, size_t work) {
    calls to = {.on_expiry = on_expiry, .context = context, .work = work};
    uint64_t tick = wheel->calendar.cursor - 1;
    run_entry(wheel, entry, tick, tick, &to);
    return end_short_run(wheel, &to);
}

static VERGE__NOINLINE size_t run_several(verge_wheel *wheel, verge__list list, on_expiry_function *on_expiry,
                                          void *context, size_t work) {
    calls to = {.on_expiry = on_expiry, .context = context, .work = work};
    verge__wheel_begin_batch(wheel, list);
    run_batch(wheel, &to);
    return end_short_run(wheel, &to);
}

static VERGE__NOINLINE size_t run_none(verge_wheel *wheel, size_t work) {
    const calls to = {.work = work};
    return end_short_run(wheel, &to);
}

static VERGE__ALWAYS_INLINE size_t run_few(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry,
                                           void *context, size_t work) {
    verge__list list = NULL;
    if (VERGE__UNLIKELY(!verge__wheel_take_few(wheel, now_ns, &list))) {
        return run(wheel, now_ns, on_expiry, context, work);
    }
    if (VERGE__UNLIKELY(list == NULL)) {
        return run_none(wheel, work);
    }
    if (!verge__list_is_first_of_chunk(list - 1)) {
        return run_several(wheel, list, on_expiry, context, work);
    }
    verge__entry entry = verge__calendar_list_pop(&wheel->calendar, &list);
    return run_one(wheel, entry, on_expiry, context, work);
}

static VERGE__NOINLINE size_t run_after_upper(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry,
                                              void *context) {
    size_t work = verge__calendar_open_upper(&wheel->calendar, now_ns >> wheel->shift);
    return run_few(wheel, now_ns, on_expiry, context, work);
}

static VERGE__NOINLINE size_t run_tick(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry,
                                       void *context) {
    if (VERGE__UNLIKELY(on_expiry == NULL || !verge__wheel_is_short_poll(wheel, now_ns))) {
        return verge__wheel_stays_quiet(wheel, now_ns) ? 0 : run(wheel, now_ns, on_expiry, context, 0);
    }
    return verge__wheel_has_upper(wheel) ? run_after_upper(wheel, now_ns, on_expiry, context)
                                         : run_few(wheel, now_ns, on_expiry, context, 0);
}

size_t verge_wheel_run(verge_wheel *wheel, uint64_t now_ns, on_expiry_function *on_expiry, void *context) {
    if (VERGE__UNLIKELY(wheel == NULL) || VERGE__LIKELY(verge__wheel_pass_quietly(wheel, now_ns))) {
        return 0;
    }
    return run_tick(wheel, now_ns, on_expiry, context);
}
