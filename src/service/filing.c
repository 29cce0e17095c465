/* SPDX-License-Identifier: MIT */
/* The wheel of a worker: what it files, what it keeps, what it drops. For who holds the worker's turn. */
#include <errno.h>
#include <string.h>

#include "service/service_internal.h"
#include "wheel/wheel_internal.h"

enum {
    SCRUB_ENTRIES_AT_ONCE = 120,
    SCRUB_STEPS_AT_ONCE = 64,
    ENDED_A_TIDYING = SCRUB_ENTRIES_AT_ONCE / 2,
    OWN_LISTS = 8,
};

/* ---- what the calendar asks ---- */

static verge__timer *named(const verge_worker *worker, verge__entry entry) {
    return verge__table_at(&worker->service->table, verge__entry_index(entry));
}

/* Whether an entry counts: the timer is this worker's, live, and this is the entry it has. */
static bool counts(const verge_worker *worker, const verge__timer *timer, uint64_t word, verge__entry entry) {
    return verge__word_owner(word) == worker->id && verge__word_state(word) == VERGE__SCHEDULED &&
           verge__timer_has_entry(timer, entry);
}

static size_t sift(void *owner, verge__entry *entries, size_t count, verge__span span) {
    verge_worker *worker = owner;
    for (size_t i = 0; i < count; i++) {
        VERGE__PREFETCH_WRITE(named(worker, entries[i]));
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        verge__entry entry = entries[i];
        verge__timer *timer = named(worker, entry);
        uint64_t word = verge__word_load(timer);
        if (!counts(worker, timer, word, entry)) {
            verge__worker_drop(worker, timer, word, entry);
            continue;
        }
        /* The same mark elsewhere is an old entry, 2^32 ticks away; twice in one pass, one is enough. */
        bool is_here = timer->entry_tick >= span.first && timer->entry_tick <= span.last;
        if (is_here && timer->scrub_pass != worker->calendar.scrub_pass) {
            timer->scrub_pass = worker->calendar.scrub_pass;
            entries[kept++] = entry;
        }
    }
    return kept;
}

/* Levels beyond 2^32 ticks: the entry does not tell its tick. */
static bool refile(void *owner, verge__entry *entry, uint64_t *ret_tick) {
    verge_worker *worker = owner;
    verge__timer *timer = named(worker, *entry);
    uint64_t word = verge__word_load(timer);
    if (!counts(worker, timer, word, *entry)) {
        verge__worker_drop(worker, timer, word, *entry);
        return false;
    }
    uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
    *ret_tick = tick > worker->calendar.cursor ? tick : worker->calendar.cursor;
    timer->entry_tick = *ret_tick;
    *entry = verge__entry_for_record(verge__entry_index(*entry), (uint32_t)*ret_tick);
    return true;
}

static void prefetch(void *owner, const verge__entry *entries, size_t count) {
    const verge_worker *worker = owner;
    for (size_t i = 0; i < count; i++) {
        VERGE__PREFETCH_WRITE(named(worker, entries[i]));
    }
}

/* ---- life ---- */

int verge__worker_init_wheel(verge_worker *worker, uint64_t now_ns) {
    verge_wheel_options options;
    (void)verge_wheel_options_init(&options);
    options.precision_ns = UINT64_C(1) << worker->shift;
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    size_t level_count = 0;
    int error = verge__wheel_check_options(&options, &level_count, levels);
    if (error != 0) {
        return error;
    }
    /* Tick 0 has come whenever a worker is there. From tick 1 on, the levels reach to the end of time. */
    uint64_t first_tick = now_ns >> worker->shift;
    verge__calendar_init(
        &worker->calendar, levels, level_count, false, first_tick > 1 ? first_tick : 1, OWN_LISTS,
        &worker->service->allocator,
        (verge__calendar_owner){
            .sift = sift, .refile = refile, .prefetch = prefetch, .context = worker, .work_is_limited = true});
    /* Another thread may set any deadline: a level must not be missing when the entry comes up. */
    error = verge__calendar_ready_all(&worker->calendar);
    if (error != 0) {
        verge__calendar_deinit(&worker->calendar);
        return error;
    }
    worker->round_end = worker->calendar.cursor;
    return 0;
}

void verge__worker_deinit_wheel(verge_worker *worker) {
    verge__calendar_deinit(&worker->calendar);
    worker->late = worker->first = worker->batch = (verge__pile){0};
}

/* ---- filing ---- */

int verge__worker_prepare(verge_worker *worker, uint64_t tick) {
    (void)tick; /* all levels are ready */
    return verge__calendar_secure_one(&worker->calendar);
}

void verge__worker_file_late(verge_worker *worker, verge__timer *timer, uint32_t index) {
    timer->entry_tick = VERGE__TICK_LATE;
    verge__calendar_list_add(&worker->calendar, &worker->late.list,
                             verge__entry_for_record(index, (uint32_t)VERGE__TICK_LATE));
}

void verge__worker_file(verge_worker *worker, verge__timer *timer, uint32_t index, uint64_t tick) {
    verge__calendar *calendar = &worker->calendar;
    if (verge__worker_is_late(worker, tick)) {
        verge__worker_file_late(worker, timer, index);
        return;
    }
    if (verge__worker_serves(worker, timer->entry_tick, tick)) {
        return;
    }
    if (!verge__calendar_try_file(calendar, tick, index)) {
        verge__calendar_put(calendar, tick, verge__entry_for_record(index, (uint32_t)tick));
    }
    timer->entry_tick = tick;
}

/* Keeps a timer that cannot be filed. A record on the shelf is LINKED. */
static void shelve(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t word = verge__word_load(timer);
    while (verge__word_state(word) == VERGE__SCHEDULED && (word & VERGE__LINKED) == 0) {
        if (verge__word_change(timer, &word, word | VERGE__LINKED)) {
            verge__chain_append(&worker->shelf, &worker->service->table, index);
            return;
        }
    }
}

void verge__worker_file_or_shelve(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
    bool is_there = !verge__worker_is_late(worker, tick) && verge__worker_serves(worker, timer->entry_tick, tick);
    if (is_there) {
        return;
    }
    if (verge__worker_prepare(worker, tick) == 0) {
        verge__worker_count_live(worker, timer->entry_tick == VERGE__NO_TICK ? 1 : 0);
        verge__worker_file(worker, timer, index, tick);
    } else {
        shelve(worker, timer, index);
    }
}

void verge__worker_clear_shelf(verge_worker *worker) {
    if (VERGE__LIKELY(worker->shelf.count == 0) || verge__calendar_secure_one(&worker->calendar) != 0) {
        return;
    }
    /* As if they came through the inbox. */
    verge__chain_join(&worker->incoming, &worker->service->table, &worker->shelf);
}

/* ---- garbage ---- */

/* As the wheel does (wheel/tidy.c): whoever makes garbage beyond what is allowed sifts more than it makes. */
static void tidy(verge_worker *worker) {
    verge__calendar *calendar = &worker->calendar;
    size_t seen = 0;
    for (int step = 0; step < SCRUB_STEPS_AT_ONCE && seen < SCRUB_ENTRIES_AT_ONCE && verge__worker_is_untidy(worker);
         step++) {
        seen += verge__calendar_scrub(calendar, VERGE__CHUNK_ENTRIES) +
                verge__calendar_scrub_pile(calendar, &worker->late, VERGE__CHUNK_ENTRIES) +
                verge__calendar_scrub_pile(calendar, &worker->first, VERGE__CHUNK_ENTRIES) +
                verge__calendar_scrub_pile(calendar, &worker->batch, VERGE__CHUNK_ENTRIES);
    }
}

/* How far the short ways may go. A quarter of the entries that may still be filed is a number of timers that may end,
 * each of which takes away the room of 11/8 entries, as long as the records are kept. */
static void set_limits(verge_worker *worker) {
    verge__calendar *calendar = &worker->calendar;
    size_t live = verge__worker_live(worker);
    size_t allowed = verge__entries_allowed(live);
    size_t ends = allowed > calendar->entry_count ? (allowed - calendar->entry_count) / 4 : 0;
    uint32_t free_count = verge__worker_free_count(worker);
    ends = ends < VERGE__FREE_KEPT - free_count ? ends : VERGE__FREE_KEPT - free_count;
    ends = ends < live ? ends : live;
    worker->free_limit = free_count + (uint32_t)ends;
    size_t entry_limit = verge__entries_allowed(live - ends);
    calendar->entry_limit = entry_limit < calendar->entry_capacity ? entry_limit : calendar->entry_capacity;
}

void verge__worker_keep_tidy(verge_worker *worker) {
    if (VERGE__UNLIKELY(verge__worker_is_untidy(worker))) {
        tidy(worker);
    }
    set_limits(worker);
}

void verge__worker_tidy_after(verge_worker *worker, size_t ended) {
    verge__worker_keep_tidy(worker);
    for (size_t paid = ENDED_A_TIDYING; paid < ended && verge__worker_is_untidy(worker); paid += ENDED_A_TIDYING) {
        verge__worker_keep_tidy(worker);
    }
}
