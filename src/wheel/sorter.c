/* SPDX-License-Identifier: MIT */
#include "wheel/sorter.h"

#include "wheel/wheel_internal.h"

/* ---- keys ---- */

static bool is_less(const verge_wheel *wheel, const verge__record *a, const verge__record *b) {
    if (wheel->options.order == VERGE_ORDER_DEADLINE && a->deadline_ns != b->deadline_ns) {
        return a->deadline_ns < b->deadline_ns;
    }
    return a->u.sequence < b->u.sequence;
}

/* ---- runs ---- */

static verge__entry run_first(const verge__run *run) {
    return run->head->entries[run->head_taken];
}

static void run_drop_first(verge_wheel *wheel, verge__run *run) {
    run->head_taken++;
    run->count--;
    if (run->count == 0 || run->head_taken == VERGE__CHUNK_ENTRIES) {
        verge__chunk *chunk = run->head;
        run->head = run->count == 0 ? NULL : chunk->below;
        run->head_taken = 0;
        verge__chunk_pool_give(&wheel->calendar.pool, chunk);
    }
}

static void run_append(verge_wheel *wheel, verge__run *run, verge__entry entry) {
    if (run->count == 0 || run->tail_count == VERGE__CHUNK_ENTRIES) {
        verge__chunk *chunk = verge__chunk_pool_take(&wheel->calendar.pool);
        chunk->below = NULL;
        if (run->count == 0) {
            *run = (verge__run){.head = chunk};
        } else {
            run->tail->below = chunk;
        }
        run->tail = chunk;
        run->tail_count = 0;
    }
    run->tail->entries[run->tail_count] = entry;
    verge__entry_seat(&run->tail->entries[run->tail_count++], NULL);
    run->count++;
}

/* Drops what does not count at the front of a run; the record of its first entry, NULL if there is
 * none or the budget ran out before it was found. */
static verge__record *run_front(verge_wheel *wheel, verge__run *run, size_t *budget) {
    VERGE__INVARIANT((run->head != NULL) == (run->count > 0),
                     "S2: a run has a first chunk if and only if it is not empty");
    while (run->head != NULL && *budget > 0) {
        verge__entry entry = run_first(run);
        verge__record *record = verge__wheel_record(wheel, entry);
        if (verge__wheel_counts(wheel, record, entry)) {
            return record;
        }
        --*budget;
        run_drop_first(wheel, run);
        wheel->calendar.entry_count--;
        verge__wheel_drop(wheel, record, entry);
    }
    return NULL;
}

/* ---- sorting ---- */

void verge__sorter_add_chunk(verge_wheel *wheel, verge__sorter *sorter, verge__list *list) {
    verge__chunk *chunk = verge__list_chunk(*list);
    uint32_t count = (uint32_t)verge__list_chunk_count(*list);
    *list = verge__list_from_full_chunk(chunk->below);
    for (uint32_t i = 1; i < count; i++) {
        verge__entry entry = chunk->entries[i];
        const verge__record *record = verge__wheel_record(wheel, entry);
        uint32_t at = i;
        for (; at > 0; at--) {
            verge__entry before = chunk->entries[at - 1];
            if (!is_less(wheel, record, verge__wheel_record(wheel, before))) {
                break;
            }
            chunk->entries[at] = before;
        }
        chunk->entries[at] = entry;
    }
    for (uint32_t i = 0; i < count; i++) {
        verge__entry_seat(&chunk->entries[i], NULL);
    }
    chunk->below = NULL;
    VERGE__INVARIANT(sorter->run_count < VERGE__RUNS_MAX, "S1: the runs are few when a chunk is added");
    sorter->runs[sorter->run_count++] = (verge__run){.head = chunk, .tail = chunk, .tail_count = count, .count = count};
}

/* Moves entries of both runs to the merged one; true when all are. */
static bool merge(verge_wheel *wheel, verge__sorter *sorter, size_t *budget) {
    verge__run *a = &sorter->runs[sorter->merge_at];
    verge__run *b = &sorter->merge_with;
    while (a->count + b->count > 0) {
        const verge__record *first_a = run_front(wheel, a, budget);
        const verge__record *first_b = run_front(wheel, b, budget);
        if (*budget == 0) {
            return false;
        }
        if (first_a == NULL && first_b == NULL) {
            break;
        }
        --*budget;
        verge__run *from = first_b == NULL || (first_a != NULL && !is_less(wheel, first_b, first_a)) ? a : b;
        run_append(wheel, &sorter->merged, run_first(from));
        run_drop_first(wheel, from);
    }
    return true;
}

static void remove_run(verge__sorter *sorter, size_t at) {
    sorter->run_count--;
    for (size_t i = at; i < sorter->run_count; i++) {
        sorter->runs[i] = sorter->runs[i + 1];
    }
}

static bool finish_merge(verge_wheel *wheel, verge__sorter *sorter, size_t *budget) {
    if (!merge(wheel, sorter, budget)) {
        return false;
    }
    sorter->merging = false;
    sorter->runs[sorter->merge_at] = sorter->merged;
    if (sorter->merged.count == 0) {
        remove_run(sorter, sorter->merge_at);
    }
    sorter->merged = (verge__run){0};
    return true;
}

bool verge__sorter_settle(verge_wheel *wheel, verge__sorter *sorter, size_t *budget) {
    for (;;) {
        if (sorter->merging && !finish_merge(wheel, sorter, budget)) {
            return false;
        }
        size_t count = sorter->run_count;
        if (count < 2 ||
            (count < VERGE__RUNS_MAX - 1 && sorter->runs[count - 2].count >= 2 * sorter->runs[count - 1].count)) {
            return true;
        }
        sorter->merging = true;
        sorter->merge_at = count - 2;
        sorter->merge_with = sorter->runs[count - 1];
        sorter->run_count--;
    }
}

bool verge__sorter_pop(verge_wheel *wheel, verge__sorter *sorter, size_t *budget, verge__entry *ret_entry) {
    verge__run *smallest = NULL;
    const verge__record *smallest_record = NULL;
    for (size_t i = sorter->run_count; i-- > 0;) {
        const verge__record *record = run_front(wheel, &sorter->runs[i], budget);
        if (*budget == 0) {
            return false;
        }
        if (record == NULL) {
            remove_run(sorter, i);
            if (smallest != NULL) {
                smallest--;
            }
        } else if (smallest == NULL || is_less(wheel, record, smallest_record)) {
            smallest = &sorter->runs[i];
            smallest_record = record;
        }
    }
    if (smallest == NULL) {
        return false;
    }
    --*budget;
    *ret_entry = run_first(smallest);
    run_drop_first(wheel, smallest);
    if (smallest->count == 0) {
        remove_run(sorter, (size_t)(smallest - sorter->runs));
    }
    return true;
}

void verge__sorter_purge(verge_wheel *wheel, verge__sorter *sorter, size_t *budget) {
    if (!sorter->merging) {
        if (sorter->run_count == 0) {
            return;
        }
        /* Merging a run with nothing drops what does not count. */
        sorter->purge_at = sorter->purge_at + 1 < sorter->run_count ? sorter->purge_at + 1 : 0;
        sorter->merging = true;
        sorter->merge_at = sorter->purge_at;
        sorter->merge_with = (verge__run){0};
    }
    (void)finish_merge(wheel, sorter, budget);
}

bool verge__sorter_has_live(verge_wheel *wheel, verge__sorter *sorter) {
    size_t budget = SIZE_MAX;
    bool live = run_front(wheel, &sorter->merge_with, &budget) != NULL;
    live |= run_front(wheel, &sorter->merged, &budget) != NULL;
    for (size_t i = 0; i < sorter->run_count && !live; i++) {
        live = run_front(wheel, &sorter->runs[i], &budget) != NULL;
    }
    if (!live) {
        verge__sorter_clear(wheel, sorter);
    }
    return live;
}

/* ---- all of it ---- */

static void clear_run(verge_wheel *wheel, verge__run *run) {
    while (run->count > 0) {
        run_drop_first(wheel, run);
        wheel->calendar.entry_count--;
    }
}

void verge__sorter_clear(verge_wheel *wheel, verge__sorter *sorter) {
    for (size_t i = 0; i < sorter->run_count; i++) {
        clear_run(wheel, &sorter->runs[i]);
    }
    clear_run(wheel, &sorter->merge_with);
    clear_run(wheel, &sorter->merged);
    *sorter = (verge__sorter){0};
}

static void measure_run(const verge__run *run, size_t *entries, size_t *chunks) {
    *entries += run->count;
    for (const verge__chunk *chunk = run->count == 0 ? NULL : run->head; chunk != NULL;
         chunk = chunk == run->tail ? NULL : chunk->below) {
        ++*chunks;
    }
}

void verge__sorter_measure(const verge__sorter *sorter, size_t *entries, size_t *chunks) {
    for (size_t i = 0; i < sorter->run_count; i++) {
        measure_run(&sorter->runs[i], entries, chunks);
    }
    measure_run(&sorter->merge_with, entries, chunks);
    measure_run(&sorter->merged, entries, chunks);
}
