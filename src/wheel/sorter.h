/* SPDX-License-Identifier: MIT */
/*
 * wheel/sorter.h - the due entries of an ordered wheel, smallest key first.
 *
 * Entries come in by the chunk. Each chunk is sorted and becomes a run; runs are merged like the digits of a binary
 * counter, so that each is at least twice as long as the next and there are few. A merge can stop after any entry and
 * go on later: so the work of one poll can be bounded. No memory is needed beside the chunks the entries lie in.
 *
 * Unlike lists, runs are read from their oldest chunk on; `below` of a run's chunk is the next one. An entry that is
 * withdrawn leaves a vacant one behind, as no other may take its place; it is dropped by whoever meets it. Who
 * withdraws one also has a look at a few others (verge__sorter_purge), so that vacant entries never outnumber the
 * others.
 *
 * Invariants
 *   WS1  the runs are few when a chunk is added
 *   WS2  a run has a first chunk if and only if it is not empty
 */
#ifndef VERGE_SRC_WHEEL_SORTER_H
#define VERGE_SRC_WHEEL_SORTER_H

#include "calendar/list.h"

enum {
    VERGE__RUNS_MAX = 40,
    VERGE__SORTED_LEVEL = 30, /* chunks of a sorter have this level */
};

typedef struct verge__sorted_run {
    verge__chunk *head;
    verge__chunk *tail;
    uint32_t head_taken; /* entries of head that are gone */
    uint32_t tail_count; /* entries of tail, gone ones too */
    size_t count;        /* entries, vacant ones too */
} verge__sorted_run;

typedef struct verge__sorter {
    verge__sorted_run runs[VERGE__RUNS_MAX];
    size_t run_count;
    size_t entry_count;  /* in all runs, vacant ones too */
    size_t vacant_count; /* of them */
    bool merging;        /* runs[merge_at] and merge_with become merged */
    size_t merge_at;
    verge__sorted_run merge_with;
    verge__sorted_run merged;
    size_t purge_at;
} verge__sorter;

typedef struct verge_wheel verge_wheel;

/* Takes the newest chunk of a list of the calendar's owner, which has a single one. Only when settled. */
void verge__sorter_add_chunk(verge_wheel *wheel, verge__sorter *sorter, verge__list *list);

/* Merges until the runs are few; true if they are, false if the budget ran out first. */
bool verge__sorter_settle(verge_wheel *wheel, verge__sorter *sorter, size_t *budget);

/* The smallest entry, taken out; false if there is none or the budget ran out. Only when settled. */
bool verge__sorter_pop(verge_wheel *wheel, verge__sorter *sorter, size_t *budget, verge__entry *ret_entry);

/* Withdraws an entry that is in a sorter. */
void verge__sorter_withdraw(verge_wheel *wheel, verge__sorter *sorter, verge__node *node);

void verge__sorter_clear(verge_wheel *wheel, verge__sorter *sorter);

/* Whether it holds an entry that is not vacant. */
static inline bool verge__sorter_is_empty(const verge__sorter *sorter) {
    return sorter->entry_count == sorter->vacant_count;
}

/* Calls a function for each entry that is not vacant, until it returns false; counts the chunks. */
bool verge__sorter_visit(const verge__sorter *sorter, bool (*visitor)(void *context, const verge__entry *entry),
                         void *context, size_t *ret_chunks);

#endif
