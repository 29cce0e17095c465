/* SPDX-License-Identifier: MIT */
#include "wheel/sorter.h"

#include "wheel/wheel_internal.h"

enum { PURGED_FOR_EACH = 4 };

/* ---- keys ---- */

typedef struct key {
    uint64_t deadline_ns; /* 0 where the order is that of insertion */
    uint64_t sequence;
} key;

static key key_of(const verge_wheel *wheel, verge__entry entry) {
    const verge__node *node = verge__calendar_node(&wheel->calendar, entry);
    return (key){.deadline_ns = wheel->options.order == VERGE_ORDER_DEADLINE ? node->deadline_ns : 0,
                 .sequence = verge__wheel_sequence(wheel, entry)};
}

static bool is_less(key a, key b) {
    return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : a.sequence < b.sequence;
}

/* ---- runs ---- */

static verge__entry run_first(const verge__sorted_run *run) {
    return run->head->entries[run->head_taken];
}

static void run_drop_first(verge_wheel *wheel, verge__sorted_run *run) {
    run->head_taken++;
    run->count--;
    if (run->count == 0 || run->head_taken == VERGE__CHUNK_ENTRIES) {
        verge__chunk *chunk = run->head;
        run->head = run->count == 0 ? NULL : chunk->below;
        run->head_taken = 0;
        verge__chunk_pool_give(&wheel->calendar.pool, chunk);
    }
}

static void place_entry(verge_wheel *wheel, const verge__entry *at) {
    verge__calendar_node(&wheel->calendar, *at)->place = (uintptr_t)at;
}

/* Chunks of a sorter say that they are, and of which. */
static void name_chunk(const verge_wheel *wheel, const verge__sorter *sorter, verge__chunk *chunk) {
    chunk->level = VERGE__SORTED_LEVEL;
    chunk->slot = sorter == wheel->sorters ? 0 : 1;
}

static void run_append(verge_wheel *wheel, const verge__sorter *sorter, verge__sorted_run *run, verge__entry entry) {
    if (run->count == 0 || run->tail_count == VERGE__CHUNK_ENTRIES) {
        verge__chunk *chunk = verge__chunk_pool_take(&wheel->calendar.pool);
        chunk->below = NULL;
        name_chunk(wheel, sorter, chunk);
        if (run->count == 0) {
            *run = (verge__sorted_run){.head = chunk};
        } else {
            run->tail->below = chunk;
        }
        run->tail = chunk;
        run->tail_count = 0;
    }
    run->tail->entries[run->tail_count] = entry;
    place_entry(wheel, &run->tail->entries[run->tail_count++]);
    run->count++;
}

/* An entry leaves the sorter. */
static void forget_entry(verge_wheel *wheel, verge__sorter *sorter, bool is_vacant) {
    sorter->entry_count--;
    sorter->vacant_count -= is_vacant;
    wheel->calendar.entry_count--;
    wheel->entries_dropped += is_vacant;
}

/* Drops vacant entries at the front of a run. False: there is no other, or the budget ran out before it was found. */
static bool run_front(verge_wheel *wheel, verge__sorter *sorter, verge__sorted_run *run, size_t *budget, key *ret_key) {
    VERGE__INVARIANT((run->head != NULL) == (run->count > 0),
                     "WS2: a run has a first chunk if and only if it is not empty");
    while (run->head != NULL && *budget > 0) {
        if (run_first(run) != 0) {
            *ret_key = key_of(wheel, run_first(run));
            return true;
        }
        --*budget;
        run_drop_first(wheel, run);
        forget_entry(wheel, sorter, true);
    }
    return false;
}

/* ---- sorting ---- */

void verge__sorter_add_chunk(verge_wheel *wheel, verge__sorter *sorter, verge__list *list) {
    verge__chunk *chunk = verge__list_chunk(*list);
    uint32_t count = (uint32_t)verge__list_chunk_count(*list);
    VERGE__INVARIANT(sorter->run_count < VERGE__RUNS_MAX, "WS1: the runs are few when a chunk is added");
    VERGE__INVARIANT(chunk->below == NULL, "L1: what is picked for sorting is one chunk");
    *list = NULL;
    for (uint32_t i = 1; i < count; i++) {
        verge__entry entry = chunk->entries[i];
        key key_ = key_of(wheel, entry);
        uint32_t at = i;
        for (; at > 0 && is_less(key_, key_of(wheel, chunk->entries[at - 1])); at--) {
            chunk->entries[at] = chunk->entries[at - 1];
        }
        chunk->entries[at] = entry;
    }
    for (uint32_t i = 0; i < count; i++) {
        place_entry(wheel, &chunk->entries[i]);
    }
    name_chunk(wheel, sorter, chunk);
    sorter->entry_count += count;
    sorter->runs[sorter->run_count++] =
        (verge__sorted_run){.head = chunk, .tail = chunk, .tail_count = count, .count = count};
}

/* Moves entries of both runs to the merged one; true when all are. */
static bool merge(verge_wheel *wheel, verge__sorter *sorter, size_t *budget) {
    verge__sorted_run *a = &sorter->runs[sorter->merge_at];
    verge__sorted_run *b = &sorter->merge_with;
    while (a->count + b->count > 0) {
        key key_a = {0};
        key key_b = {0};
        bool has_a = run_front(wheel, sorter, a, budget, &key_a);
        bool has_b = run_front(wheel, sorter, b, budget, &key_b);
        if (*budget == 0) {
            return false;
        }
        if (!has_a && !has_b) {
            break;
        }
        --*budget;
        verge__sorted_run *from = !has_b || (has_a && !is_less(key_b, key_a)) ? a : b;
        run_append(wheel, sorter, &sorter->merged, run_first(from));
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
    sorter->merged = (verge__sorted_run){0};
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
    verge__sorted_run *smallest = NULL;
    key smallest_key = {0};
    for (size_t i = sorter->run_count; i-- > 0;) {
        key key_ = {0};
        bool is_there = run_front(wheel, sorter, &sorter->runs[i], budget, &key_);
        if (*budget == 0) {
            return false;
        }
        if (!is_there) {
            remove_run(sorter, i);
            smallest = smallest == NULL ? NULL : smallest - 1;
        } else if (smallest == NULL || is_less(key_, smallest_key)) {
            smallest = &sorter->runs[i];
            smallest_key = key_;
        }
    }
    if (smallest == NULL) {
        return false;
    }
    --*budget;
    *ret_entry = run_first(smallest);
    run_drop_first(wheel, smallest);
    forget_entry(wheel, sorter, false);
    if (smallest->count == 0) {
        remove_run(sorter, (size_t)(smallest - sorter->runs));
    }
    return true;
}

/* Drops vacant entries from one run after another, as far as the budget goes: merging a run with nothing does. */
static void purge(verge_wheel *wheel, verge__sorter *sorter, size_t budget) {
    if (!sorter->merging) {
        if (sorter->run_count == 0) {
            return;
        }
        sorter->purge_at = sorter->purge_at + 1 < sorter->run_count ? sorter->purge_at + 1 : 0;
        sorter->merging = true;
        sorter->merge_at = sorter->purge_at;
        sorter->merge_with = (verge__sorted_run){0};
    }
    (void)finish_merge(wheel, sorter, &budget);
}

void verge__sorter_withdraw(verge_wheel *wheel, verge__sorter *sorter, verge__node *node) {
    *verge__node_place(node) = 0;
    node->place = VERGE__NO_PLACE;
    sorter->vacant_count++;
    if (wheel->is_visiting) {
        return; /* the entries stay where they are while they are walked over */
    }
    if (verge__sorter_is_empty(sorter)) {
        verge__sorter_clear(wheel, sorter);
    } else {
        purge(wheel, sorter, PURGED_FOR_EACH);
    }
}

/* ---- all of it ---- */

static void clear_run(verge_wheel *wheel, verge__sorted_run *run) {
    while (run->count > 0) {
        run_drop_first(wheel, run);
        wheel->calendar.entry_count--;
        wheel->entries_dropped++;
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

static bool visit_run(const verge__sorted_run *run, bool (*visitor)(void *context, const verge__entry *entry),
                      void *context, size_t *chunks) {
    verge__chunk *chunk = run->head;
    uint32_t at = run->head_taken;
    *chunks += run->count > 0;
    for (size_t left = run->count; left > 0; left--, at++) {
        if (at == VERGE__CHUNK_ENTRIES) {
            chunk = chunk->below;
            at = 0;
            ++*chunks;
        }
        if (chunk->entries[at] != 0 && !visitor(context, &chunk->entries[at])) {
            return false;
        }
    }
    return true;
}

bool verge__sorter_visit(const verge__sorter *sorter, bool (*visitor)(void *context, const verge__entry *entry),
                         void *context, size_t *ret_chunks) {
    *ret_chunks = 0;
    bool goes_on = true;
    for (size_t i = 0; i < sorter->run_count && goes_on; i++) {
        goes_on = visit_run(&sorter->runs[i], visitor, context, ret_chunks);
    }
    return goes_on && visit_run(&sorter->merge_with, visitor, context, ret_chunks) &&
           visit_run(&sorter->merged, visitor, context, ret_chunks);
}
