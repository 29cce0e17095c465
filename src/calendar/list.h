/* SPDX-License-Identifier: MIT */
/*
 * calendar/list.h - lists of entries, in chunks.
 *
 * Chunks have 128 bytes and are aligned to 128. So a list needs only one pointer, `end`: one past its newest entry. The
 * pointer tells, without a load:
 *
 *     the list is empty               end == NULL
 *     the newest chunk is full        end is a multiple of 128
 *     the newest chunk                (end - 1) rounded down to 128
 *
 * One test, end & 127, says whether the newest chunk has room; for an empty list it says no, as it should.
 *
 *     slot -> end --------------------------.
 *                                           v
 *            [ header | e0 e1 e2 ....... e7      ]   newest, depth 2
 *                 | below
 *            [ header | e0 e1 ................ e13 ]  full,   depth 1
 *                 | below
 *            [ header | e0 e1 ................ e13 ]  full,   depth 0
 *
 * Invariants
 *   L1  no chunk of a list is empty, and all but the newest are full
 *   L2  each chunk of a list names the list: `level` and `slot`
 */
#ifndef VERGE_SRC_CALENDAR_LIST_H
#define VERGE_SRC_CALENDAR_LIST_H

#include "calendar/node.h"

enum {
    VERGE__CHUNK_BYTES = 128,
    VERGE__CHUNK_ENTRIES = 14,
    VERGE__CHUNK_SLAB_BITS = 19,
    VERGE__DEPTH_BITS = 25, /* so a list has at most 469 million entries */
};

typedef struct verge__chunk verge__chunk;
struct verge__chunk {
    verge__chunk *below;                    /* the next older chunk of the list */
    uint64_t depth : VERGE__DEPTH_BITS;     /* how many chunks there are below */
    uint64_t slab : VERGE__CHUNK_SLAB_BITS; /* the slab it was cut from (chunk_pool.h) */
    uint64_t level : 5;                     /* the list it belongs to */
    uint64_t slot : 15;
    _Alignas(16) verge__entry entries[VERGE__CHUNK_ENTRIES];
};

_Static_assert(sizeof(verge__chunk) == VERGE__CHUNK_BYTES, "a chunk's entries end where the chunk ends");

/* One past the newest entry; NULL: the list is empty. */
typedef verge__entry *verge__list;

static inline bool verge__list_needs_chunk(const verge__entry *list) {
    return ((uintptr_t)list & (VERGE__CHUNK_BYTES - 1)) == 0;
}

/* The chunk of an entry. */
static inline verge__chunk *verge__chunk_of(const verge__entry *entry) {
    return (verge__chunk *)((uintptr_t)entry & ~(uintptr_t)(VERGE__CHUNK_BYTES - 1));
}

/* The newest chunk of a list that is not empty. */
static inline verge__chunk *verge__list_chunk(verge__list list) {
    return verge__chunk_of(list - 1);
}

static inline bool verge__is_first_of_chunk(const verge__entry *entry) {
    return ((uintptr_t)entry & (VERGE__CHUNK_BYTES - 1)) == offsetof(verge__chunk, entries);
}

/* How many entries the newest chunk of a list that is not empty holds. */
static inline size_t verge__list_chunk_count(verge__list list) {
    return (size_t)(list - verge__list_chunk(list)->entries);
}

/* The list that ends with a full chunk; the empty list for NULL. */
static inline verge__list verge__list_from_full_chunk(verge__chunk *chunk) {
    return chunk == NULL ? NULL : chunk->entries + VERGE__CHUNK_ENTRIES;
}

/* The entry older than this one; NULL: it is the oldest of its list. For walks from the newest entry on. */
static inline verge__entry *verge__entry_older(verge__entry *entry) {
    if (!verge__is_first_of_chunk(entry)) {
        return entry - 1;
    }
    verge__chunk *below = verge__chunk_of(entry)->below;
    return below == NULL ? NULL : &below->entries[VERGE__CHUNK_ENTRIES - 1];
}

static inline size_t verge__list_chunks(verge__list list) {
    return list == NULL ? 0 : (size_t)verge__list_chunk(list)->depth + 1;
}

static inline size_t verge__list_count(verge__list list) {
    return list == NULL ? 0
                        : (size_t)verge__list_chunk(list)->depth * VERGE__CHUNK_ENTRIES + verge__list_chunk_count(list);
}

#endif
