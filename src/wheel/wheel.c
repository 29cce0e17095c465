/* SPDX-License-Identifier: MIT */
/* The life of a wheel: create, reserve, clear, compact, destroy. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "wheel/wheel_internal.h"

/* Where the generations of a new wheel's records start: even, from 2 to 2^31, and far from those of the
 * wheels before it, so that a handle of one is not live in another. */
static uint32_t next_generation_base(void) {
    static atomic_uint wheel_count;
    uint32_t number = atomic_fetch_add_explicit(&wheel_count, 1, memory_order_relaxed) + 1;
    return ((number * UINT32_C(2654435769)) >> 1 & ~UINT32_C(1)) | 2;
}

static verge__sorter *sorters(const verge_wheel *wheel) {
    return wheel->past.sorter;
}

static void set_start(verge_wheel *wheel, uint64_t start_ns) {
    wheel->start_ns = start_ns;
    wheel->now_ns = start_ns;
    verge__wheel_note_work(wheel, 0);
    wheel->batch_tick = start_ns >> wheel->shift;
}

/* The last tick of time, and of coarse wheels the last that every level can name. */
static uint64_t last_tick(const verge_wheel *wheel, const verge_wheel_level *levels, size_t level_count) {
    uint64_t last = (VERGE_NEVER - 1) >> wheel->shift;
    last = last < VERGE__TICK_DEFERRED ? last : VERGE__TICK_DEFERRED - 1;
    unsigned coarsest = wheel->options.coarse ? (unsigned)levels[level_count - 1].shift - (unsigned)wheel->shift : 0;
    return last & ~verge__bit_mask(coarsest);
}

int verge_wheel_create(const verge_wheel_options *options, verge_wheel **ret_wheel) {
    verge_wheel_options defaults;
    if (ret_wheel == NULL) {
        return -EINVAL;
    }
    if (options == NULL) {
        (void)verge_wheel_options_init(&defaults);
        options = &defaults;
    }
    size_t level_count = 0;
    verge_wheel_level levels[VERGE_LEVEL_COUNT_MAX];
    int error = verge__wheel_check_options(options, &level_count, levels);
    if (error != 0) {
        return error;
    }
    verge_allocator allocator = options->allocator != NULL ? *options->allocator : *verge_allocator_default();
    bool ordered = options->order != VERGE_ORDER_ANY;
    uint64_t precision_ns = UINT64_C(1) << levels[0].shift;
    if (options->start_ns >> levels[0].shift >= (VERGE_NEVER - 1) >> levels[0].shift) {
        return -EINVAL;
    }
    verge_wheel *wheel = allocator.allocate(allocator.context, verge__wheel_bytes(ordered), VERGE__WHEEL_ALIGNMENT);
    if (wheel == NULL) {
        return -ENOMEM;
    }
    memset(wheel, 0, verge__wheel_bytes(ordered));
    wheel->shift = levels[0].shift;
    wheel->timeout_shift = wheel->shift;
    wheel->bias_ns = options->strict ? precision_ns : precision_ns - 1;
    wheel->options = *options;
    wheel->allocator = allocator;
    wheel->is_plain = !ordered && !options->coarse && options->past == VERGE_PAST_FIRES && options->timer_cap == 0 &&
                      wheel->shift > 0;
    wheel->earliest_ns = VERGE_NEVER;
    wheel->last_tick = last_tick(wheel, levels, level_count);
    if (ordered) {
        wheel->past.sorter = (verge__sorter *)(void *)(wheel + 1);
        wheel->batch.sorter = wheel->past.sorter + 1;
    }
    set_start(wheel, options->start_ns);
    wheel->beyond_tick = VERGE__NO_TICK;
    wheel->beyond_kept_tick = VERGE__NO_TICK;
    verge__records_init(&wheel->records, next_generation_base(), &wheel->allocator);
    wheel->records.recent = wheel->recent;
    verge__places_init(&wheel->places, &wheel->allocator);
    uint64_t bellwether = wheel->is_plain && wheel->shift > 1 ? VERGE__BELLWETHER : 0; /* a bit that no tick has */
    verge__calendar_init(&wheel->calendar, levels, level_count, options->coarse,
                         (options->start_ns >> wheel->shift) + 1,
                         VERGE__SPARE_LISTS + (ordered ? 4 * VERGE__RUNS_MAX : 0), &wheel->allocator,
                         (verge__calendar_owner){.sift = verge__wheel_sift,
                                                 .refile = verge__wheel_refile_tick,
                                                 .refile_timeouts = verge__wheel_refile_timeouts,
                                                 .prefetch = verge__wheel_prefetch,
                                                 .context = wheel,
                                                 .bellwether = bellwether,
                                                 .marks_are_private = ordered,
                                                 .work_is_limited = wheel->options.work_limit != 0});
    wheel->nowhere = wheel->nowhere_chunk.entries + 1;
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        wheel->nowhere_chunk.entries[i] = verge__entry_for_timeout(&wheel->vacated);
    }
    verge__wheel_set_short_reach(wheel);
    (void)verge__wheel_tidy(wheel);
    *ret_wheel = wheel;
    return 0;
}

void verge_wheel_destroy(verge_wheel *wheel) {
    if (wheel == NULL) {
        return;
    }
    verge__calendar_deinit(&wheel->calendar);
    verge__records_deinit(&wheel->records);
    verge__places_deinit(&wheel->places);
    verge_allocator allocator = wheel->allocator;
    allocator.release(allocator.context, wheel, verge__wheel_bytes(sorters(wheel) != NULL));
}

int verge__wheel_reserve_entries(verge_wheel *wheel, size_t entries) {
    int error = verge__calendar_ready_all(&wheel->calendar);
    if (error == 0) {
        error = verge__calendar_secure(&wheel->calendar, entries, true);
    }
    verge__wheel_set_short_reach(wheel);
    return error;
}

int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    size_t pending = (size_t)verge__wheel_pending(wheel);
    if (timer_count == 0) {
        wheel->reserved_total = 0;
        wheel->reserved_records = 0;
        return 0;
    }
    if (timer_count > UINT32_MAX ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    size_t records = verge__records_live(&wheel->records) + timer_count;
    size_t total = pending + timer_count;
    int error = verge__records_reserve(&wheel->records, records);
    if (error == 0) {
        size_t timers = total > wheel->reserved_beside ? total : wheel->reserved_beside;
        error = verge__wheel_reserve_entries(wheel, verge__wheel_entries_for(timers + wheel->places.reserved));
    }
    if (error == 0) {
        wheel->reserved_total = total;
        wheel->reserved_records = records;
    }
    return error;
}

static void clear_pile(verge_wheel *wheel, verge__pile *pile) {
    verge__calendar_list_clear(&wheel->calendar, &pile->list);
    verge__calendar_list_clear(&wheel->calendar, &pile->sifted);
}

static void clear_due(verge_wheel *wheel, verge__due *due) {
    clear_pile(wheel, &due->pile);
    verge__calendar_list_clear(&wheel->calendar, &due->picked);
    if (due->sorter != NULL) {
        verge__sorter_clear(wheel, due->sorter);
    }
}

static void drop_all_entries(verge_wheel *wheel, uint64_t first_tick) {
    verge__wheel_set_stock(wheel, 0);
    wheel->entries_dropped += wheel->calendar.entry_count;
    clear_due(wheel, &wheel->past);
    clear_due(wheel, &wheel->batch);
    clear_pile(wheel, &wheel->deferred);
    clear_pile(wheel, &wheel->beyond);
    clear_pile(wheel, &wheel->beyond_kept);
    wheel->beyond_tick = VERGE__NO_TICK;
    wheel->beyond_kept_tick = VERGE__NO_TICK;
    verge__calendar_reset(&wheel->calendar, first_tick);
}

/* All entries are gone; so are the timers. Timeouts stay attached. */
static void end_all_records(verge_wheel *wheel) {
    verge__records *records = &wheel->records;
    for (uint32_t index = verge__records_next(records, 0); index != VERGE__NO_RECORD;
         index = verge__records_next(records, index + 1)) {
        verge__record *record = verge__records_at(records, index);
        record->u.entry_tick = VERGE__NO_TICK;
        if ((record->generation & 1) != 0) {
            verge__records_free(records, record, index);
        }
    }
}

static void clear_all_timeouts(verge_wheel *wheel) {
    for (uint32_t number = verge__places_next(&wheel->places, VERGE__PLACE); number != VERGE__NO_RECORD;
         number = verge__places_next(&wheel->places, number + 1)) {
        verge_timeout *timeout = (verge_timeout *)(void *)verge__places_at(&wheel->places, number);
        verge__timeout_has_no_entry(wheel, timeout);
        timeout->record.generation = 0;
    }
    wheel->timeouts_begun -= verge__wheel_timeouts(wheel);
}

static void reset(verge_wheel *wheel, uint64_t first_tick) {
    wheel->cleared += verge__wheel_pending(wheel);
    wheel->records.taken_count -= verge__records_live(&wheel->records);
    end_all_records(wheel);
    clear_all_timeouts(wheel);
    drop_all_entries(wheel, first_tick);
    verge__wheel_set_short_reach(wheel);
    wheel->earliest_ns = VERGE_NEVER;
    wheel->prefetched_tick = 0;
    (void)verge__wheel_tidy(wheel);
}

void verge_wheel_clear(verge_wheel *wheel) {
    if (wheel != NULL) {
        reset(wheel, verge__wheel_target(wheel));
    }
}

int verge_wheel_set_start(verge_wheel *wheel, uint64_t start_ns) {
    if (wheel == NULL || start_ns >> wheel->shift >= (VERGE_NEVER - 1) >> wheel->shift) {
        return -EINVAL;
    }
    if (verge__wheel_pending(wheel) > 0) {
        return -EBUSY;
    }
    set_start(wheel, start_ns);
    reset(wheel, verge__wheel_target(wheel));
    return 0;
}
