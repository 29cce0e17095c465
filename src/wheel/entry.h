/* SPDX-License-Identifier: MIT */
/*
 * wheel/entry.h - entries, chunks of entries, lists of chunks.
 *
 * An entry is a word of 8 bytes, of one of two kinds:
 *
 *     for a record    look at record `index` at the tick whose low 32 bits are `mark`. A record may leave entries behind
 *     for a timeout   its address. A timeout has one entry or none, knows its tick, and knows where it is: whoever puts an
 *                     entry somewhere says so (verge__entry_seat)
 *
 * Entries lie in chunks of 256 bytes, aligned to 256, so that a list needs a single pointer: one past its newest
 * entry. From that pointer follow, without a load,
 *
 *     the list is empty               end == NULL
 *     the newest chunk is full        end is a multiple of 256
 *     the newest chunk                (end - 1) rounded down to 256
 *
 * and the test for "there is room in the newest chunk" is the same for an empty list: end & 255.
 *
 *     slot -> end ----------------------------------.
 *                                                   v
 *            [ header | e0 e1 e2 ............... e17     ]   newest, depth 2
 *                 | below
 *            [ header | e0 e1 ........................ e29 ]  full,   depth 1
 *                 | below
 *            [ header | e0 e1 ........................ e29 ]  full,   depth 0
 *
 * Invariant E1: no chunk of a list is empty, and all but the newest are full.
 *
 * A chunk is uniform if its entries are all of timeouts, and for one tick. Where timeouts are set in bulk, in the same order
 * again and again, most are; and such a chunk, a flock, goes from list to list as it is. What it says of itself does not hold
 * for the newest of a list, as entries come and go there; no other changes, as long as nobody takes an entry out of its
 * middle. So the timeouts of a uniform chunk do not know their slot.
 *
 * Invariant E2: a chunk that is not the newest and says so is uniform, but for entries that are nobody's; its timeouts know no
 * slot.
 *
 * A flock in the lowest level has a bellwether, the timeout that was set last. When it is set again the others were, most
 * likely, just before, and are in the cache: so that is when they are looked at, and if they still flock together, their
 * entries are for the new tick from then on. The chunk follows when it comes up, and nobody has to look. The bellwether's tick
 * has a bit that no tick has: its entry seems not to come in time, so to set any other takes no further look.
 *
 * Invariant E3: a bellwether knows no slot. The timeouts of a uniform chunk are for a tick of the slot it is in or, if it is
 * ahead, which only those of the lowest level are, for a later one.
 */
#ifndef VERGE_SRC_WHEEL_ENTRY_H
#define VERGE_SRC_WHEEL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "verge/wheel.h"

enum {
    VERGE__CHUNK_BYTES = 256,
    VERGE__CHUNK_ENTRIES = 30,
    VERGE__TICK_LOW_BITS = 9,
    VERGE__SLAB_COUNT_MAX = 1 << 20,
};

#define VERGE__ENTRY_INDEX_MAX (UINT32_MAX >> 1)

/* The bit in the tick of a bellwether's entry. */
#define VERGE__BELLWETHER (UINT64_C(1) << 63)

/* mark << 32 | index << 1 | 1, or an address, which is even. */
typedef struct verge__entry {
    uint64_t word;
} verge__entry;

static inline verge__entry verge__entry_for_record(uint32_t index, uint32_t mark) {
    return (verge__entry){.word = (uint64_t)mark << 32 | (uint32_t)(index << 1) | 1};
}

static inline verge__entry verge__entry_for_timeout(const verge_timeout *timeout) {
    return (verge__entry){.word = (uintptr_t)timeout};
}

static inline bool verge__entry_is_timeout(verge__entry entry) {
    return (entry.word & 1) == 0;
}

static inline uint32_t verge__entry_index(verge__entry entry) {
    return (uint32_t)entry.word >> 1;
}

static inline uint32_t verge__entry_mark(verge__entry entry) {
    return (uint32_t)(entry.word >> 32);
}

static inline verge_timeout *verge__entry_timeout(verge__entry entry) {
    return (verge_timeout *)(uintptr_t)entry.word;
}

typedef struct verge__chunk verge__chunk;
struct verge__chunk {
    verge__chunk *below;      /* the next older chunk of the list */
    uint32_t depth;           /* how many there are below */
    uint32_t slab : 20;       /* the slab it was cut from */
    uint32_t is_uniform : 1;  /* if it is not the newest of its list */
    uint32_t is_ahead : 1;    /* of a uniform one: its timeouts have gone on, and it is to follow them */
    uint32_t begins_last : 1; /* of a uniform one: its first timeout was the last to be set */
    uint32_t tick_low : 9;    /* of a uniform one: the low bits of the tick it was filed at */
    _Alignas(16) verge__entry entries[VERGE__CHUNK_ENTRIES];
};

_Static_assert(sizeof(verge__chunk) == VERGE__CHUNK_BYTES, "a chunk's entries end where the chunk ends");

/* A list of entries: one past the newest, NULL when empty. */
typedef verge__entry *verge__list;

/* An entry was put where it is: into a slot's list or, without a slot, into another. */
static VERGE__ALWAYS_INLINE void verge__entry_seat(verge__entry *entry, verge__list *slot) {
    if (verge__entry_is_timeout(*entry)) {
        verge_timeout *timeout = verge__entry_timeout(*entry);
        timeout->entry = entry;
        timeout->slot = slot;
    }
}

static inline bool verge__list_needs_chunk(verge__list list) {
    return ((uintptr_t)list & (VERGE__CHUNK_BYTES - 1)) == 0;
}

/* The newest chunk of a list that is not empty. */
static inline verge__chunk *verge__list_chunk(verge__list list) {
    return (verge__chunk *)(((uintptr_t)list - 1) & ~(uintptr_t)(VERGE__CHUNK_BYTES - 1));
}

/* NULL will do. */
static VERGE__ALWAYS_INLINE void verge__prefetch_chunk(const verge__chunk *chunk) {
    enum { LINE_BYTES = 64 };
    for (uintptr_t i = 0; i < VERGE__CHUNK_BYTES; i += LINE_BYTES) {
        VERGE__PREFETCH((const void *)((uintptr_t)chunk + i));
    }
}

static inline bool verge__list_is_first_of_chunk(const verge__entry *entry) {
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

static inline size_t verge__list_chunks(verge__list list) {
    return list == NULL ? 0 : (size_t)verge__list_chunk(list)->depth + 1;
}

static inline size_t verge__list_count(verge__list list) {
    return list == NULL ? 0
                        : (size_t)verge__list_chunk(list)->depth * VERGE__CHUNK_ENTRIES + verge__list_chunk_count(list);
}

#endif
