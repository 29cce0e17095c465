/* SPDX-License-Identifier: MIT */
/* The checker: everything the clever code believes, computed the dumb way. */
#include <stdlib.h>

#include "wheel/due.h"

/* Which records were seen to have an entry that counts and comes up in time. (With 32-bit marks, an old
 * entry of a record may seem to count, 2^32 ticks away. It does no harm: it finds the timer gone or
 * not due.) */
typedef struct census {
    const verge_wheel *wheel;
    uint64_t *seen;
    uint64_t *timeouts_seen;
    size_t entries;
    size_t chunks;
    bool is_misplaced; /* a timeout's entry is not where the timeout has it */
} census;

/* The word and the bit for a timer or timeout. */
static uint64_t *seen_word(const census *census_, uint32_t index) {
    return (verge__is_timeout(index) ? census_->timeouts_seen : census_->seen) + ((index & ~VERGE__PLACE) >> 6);
}

static uint64_t seen_bit(uint32_t index) {
    return UINT64_C(1) << (index & 63);
}

static void see(census *census_, const verge__entry *entry, uint64_t slot_tick) {
    const verge_wheel *wheel = census_->wheel;
    const verge__record *record = verge__wheel_record(wheel, *entry);
    bool in_time = wheel->options.coarse || slot_tick <= verge__wheel_tick(wheel, record->deadline_ns);
    if (verge__entry_is_timeout(*entry) && verge__entry_timeout(*entry) != &wheel->vacated) {
        census_->is_misplaced |= verge__entry_timeout(*entry)->entry != entry;
    }
    if (verge__wheel_counts(wheel, record, *entry) && in_time) {
        uint32_t name = verge__entry_name(*entry);
        *seen_word(census_, name) |= seen_bit(name);
    }
}

static void see_list(census *census_, verge__list end, uint64_t slot_tick) {
    census_->entries += verge__list_count(end);
    census_->chunks += verge__list_chunks(end);
    while (end != NULL) {
        const verge__chunk *chunk = verge__list_chunk(end);
        for (const verge__entry *entry = chunk->entries; entry < end; entry++) {
            see(census_, entry, slot_tick);
        }
        end = verge__list_from_full_chunk(chunk->below);
    }
}

static void see_run(census *census_, const verge__run *run) {
    const verge__chunk *chunk = run->head;
    uint32_t at = run->head_taken;
    for (size_t left = run->count; left > 0; left--) {
        if (at == VERGE__CHUNK_ENTRIES) {
            chunk = chunk->below;
            at = 0;
        }
        see(census_, &chunk->entries[at++], 0);
    }
}

static void see_pile(census *census_, const verge__pile *pile) {
    see_list(census_, pile->list, 0);
    see_list(census_, pile->sifted, 0);
}

static void see_due(census *census_, const verge__due *due) {
    see_pile(census_, &due->pile);
    see_list(census_, due->picked, 0);
    if (due->sorter != NULL) {
        verge__sorter_measure(due->sorter, &census_->entries, &census_->chunks);
        for (size_t i = 0; i < due->sorter->run_count; i++) {
            see_run(census_, &due->sorter->runs[i]);
        }
        see_run(census_, &due->sorter->merge_with);
        see_run(census_, &due->sorter->merged);
    }
}

static void see_slots(census *census_) {
    const verge__calendar *calendar = &census_->wheel->calendar;
    for (size_t k = 0; k < calendar->levels_ready; k++) {
        const verge__level *level = &calendar->levels[k];
        uint64_t first = calendar->cursor >> level->shift;
        for (uint32_t i = 0; i <= level->mask; i++) {
            see_list(census_, level->slots[(uint32_t)(first + i) & level->mask], (first + i) << level->shift);
        }
    }
    see_list(census_, calendar->scrub_list, 0);
}

/* W6 and W7 */
static const char *check_timeouts(const verge_wheel *wheel) {
    size_t set = 0;
    for (uint32_t number = verge__places_next(&wheel->places, VERGE__PLACE); number != VERGE__NO_RECORD;
         number = verge__places_next(&wheel->places, number + 1)) {
        const verge_timeout *timeout = (const verge_timeout *)(const void *)verge__places_at(&wheel->places, number);
        set += timeout->record.generation != 0;
        if (verge__timeout_has_entry(wheel, timeout) &&
            ((const verge__entry *)timeout->entry)->word != verge__entry_for_timeout(timeout).word) {
            return "W7: a timeout and its entry know each other";
        }
    }
    for (size_t i = 0; i < VERGE__CHUNK_ENTRIES; i++) {
        if (verge__entry_timeout(wheel->nowhere_chunk.entries[i]) != &wheel->vacated) {
            return "W7: what is nowhere is nobody's";
        }
    }
    return set != verge__wheel_timeouts(wheel) ? "W6: verge__wheel_timeouts is the number of timeouts that are set"
                                               : NULL;
}

/* W1 and W4. */
static const char *check_timers(const verge_wheel *wheel, const census *census_) {
    size_t live = 0;
    uint64_t earliest_ns = VERGE_NEVER;
    for (uint32_t index = verge__wheel_next_pending(wheel, 0); index != VERGE__NO_RECORD;
         index = verge__wheel_next_pending(wheel, index + 1)) {
        const verge__record *record = verge__wheel_named(wheel, index);
        live++;
        earliest_ns = record->deadline_ns < earliest_ns ? record->deadline_ns : earliest_ns;
        if ((*seen_word(census_, index) & seen_bit(index)) == 0) {
            return "W1: every timer has an entry that counts, in time";
        }
    }
    if (live != verge__wheel_pending(wheel)) {
        return "W2: what is pending is the live records and the timeouts that are set";
    }
    const verge__record *earliest = wheel->earliest_ns == 0 ? NULL : verge__wheel_earliest_record(wheel);
    if (earliest != NULL && earliest->deadline_ns == wheel->earliest_ns && wheel->earliest_ns != earliest_ns) {
        return "W4: earliest_ns, when its timer stands, is the smallest deadline";
    }
    const char *broken = verge__records_check(&wheel->records, live - verge__wheel_timeouts(wheel));
    broken = broken != NULL ? broken : verge__places_check(&wheel->places);
    return broken != NULL ? broken : check_timeouts(wheel);
}

const char *verge_wheel_check(const verge_wheel *wheel) {
    if (wheel == NULL) {
        return "there is no wheel";
    }
    size_t words = wheel->records.fresh / 64 + 1;
    size_t timeout_words = ((size_t)wheel->places.segment_count << VERGE__PLACE_BITS) / 64 + 1;
    census census_ = {.wheel = wheel, .seen = calloc(words + timeout_words, sizeof(uint64_t))};
    if (census_.seen == NULL) {
        return "there is no memory to check with";
    }
    census_.timeouts_seen = census_.seen + words;
    see_due(&census_, &wheel->past);
    see_due(&census_, &wheel->batch);
    see_pile(&census_, &wheel->deferred);
    see_pile(&census_, &wheel->beyond);
    see_pile(&census_, &wheel->beyond_kept);
    const char *broken =
        verge__calendar_check(&wheel->calendar, census_.entries + verge__wheel_stock(wheel), census_.chunks);
    if (broken == NULL) {
        see_slots(&census_);
        broken = census_.is_misplaced ? "W7: a timeout and its entry know each other" : check_timers(wheel, &census_);
    }
    free(census_.seen);
    if (broken == NULL && verge__wheel_has_due(wheel) && wheel->calendar.quiet_until > VERGE__IN_SHORT_POLL) {
        broken = "W5: with due entries not handed out, the calendar is not quiet";
    }
    size_t pending = (size_t)verge__wheel_pending(wheel);
    if (broken == NULL && wheel->calendar.entry_count > 2 * pending + 4096) {
        broken = "W3: garbage never exceeds the timers by more than a constant";
    }
    return broken;
}
