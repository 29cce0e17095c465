/* SPDX-License-Identifier: MIT */
/*
 * wheel/sorter.h - the due entries of an ordered wheel, smallest key first.
 *
 * Entries come in by the chunk. Each chunk is sorted and becomes a run; runs are merged like the
 * digits of a binary counter, so that each is at least twice as long as the next and there are few.
 * A merge can stop after any entry and go on later: so the work of one poll can be bounded. No
 * memory is needed beside the chunks the entries lie in.
 *
 * Unlike lists, runs are read from their oldest chunk on; `below` of a run's chunk is the next one.
 *
 * Entries whose timer was cancelled or moved are dropped wherever they are met, before their key is
 * looked at: their record may belong to another timer by then.
 */
#ifndef VERGE_SRC_WHEEL_SORTER_H
#define VERGE_SRC_WHEEL_SORTER_H

#include "wheel/entry.h"

enum { VERGE__RUNS_MAX = 40 };

typedef struct verge__run {
    verge__chunk *head;
    verge__chunk *tail;
    uint32_t head_taken; /* entries of head that are gone */
    uint32_t tail_count; /* entries of tail, gone ones too */
    size_t count;
} verge__run;

typedef struct verge__sorter {
    verge__run runs[VERGE__RUNS_MAX];
    size_t run_count;
    bool merging; /* runs[merge_at] and merge_with become merged */
    size_t merge_at;
    verge__run merge_with;
    verge__run merged;
    size_t purge_at;
} verge__sorter;

typedef struct verge_wheel verge_wheel;

/* Takes the newest chunk of a list, all of whose entries count. Only when settled. */
void verge__sorter_add_chunk(verge_wheel *wheel, verge__sorter *sorter, verge__list *list);

/* Merges until the runs are few; true if they are, false if the budget ran out first. */
bool verge__sorter_settle(verge_wheel *wheel, verge__sorter *sorter, size_t *budget);

/* The smallest entry, taken out; false if there is none or the budget ran out. Only when settled. */
bool verge__sorter_pop(verge_wheel *wheel, verge__sorter *sorter, size_t *budget, verge__entry *ret_entry);

/* Drops entries that do not count from one run after another, up to the budget. */
void verge__sorter_purge(verge_wheel *wheel, verge__sorter *sorter, size_t *budget);

/* Whether it holds anything that counts; if not, it is empty afterwards. */
bool verge__sorter_has_live(verge_wheel *wheel, verge__sorter *sorter);

void verge__sorter_clear(verge_wheel *wheel, verge__sorter *sorter);

static inline bool verge__sorter_is_empty(const verge__sorter *sorter) {
    return sorter->run_count == 0 && !sorter->merging;
}

/* Adds up the entries and chunks it holds. */
void verge__sorter_measure(const verge__sorter *sorter, size_t *entries, size_t *chunks);

#endif
