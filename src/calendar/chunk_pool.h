/* SPDX-License-Identifier: MIT */
/*
 * calendar/chunk_pool.h - chunks, cut from slabs. A slab never moves, and goes back to the allocator as a whole.
 *
 * take() cannot fail: before an entry is filed, the caller makes sure that there are enough chunks (calendar.h, C6).
 * Chunks are taken from the lowest slab that has a free one. So the higher slabs become empty as time passes, and can
 * be given back.
 *
 * Invariants
 *   P1  a slab that is given back has no chunk in use
 *   P2  chunk_count is that of the slabs
 */
#ifndef VERGE_SRC_CALENDAR_CHUNK_POOL_H
#define VERGE_SRC_CALENDAR_CHUNK_POOL_H

#include "base/assert.h"
#include "calendar/list.h"
#include "verge/base.h"

typedef struct verge__chunk_slab {
    verge__chunk *chunks; /* NULL: vacant */
    verge__chunk *free;   /* linked by below */
    uint32_t count;
    uint32_t used;
} verge__chunk_slab;

/* Begins zeroed, but for the allocator. */
typedef struct verge__chunk_pool {
    const verge_allocator *allocator;
    verge__chunk_slab *slabs;
    uint32_t slab_count; /* vacant ones too */
    uint32_t slab_room;
    uint32_t lowest; /* no slab below this one has a chunk to take */
    size_t chunk_count;
    size_t used_count;
} verge__chunk_pool;

void verge__chunk_pool_deinit(verge__chunk_pool *pool);

/* Adds exactly `count` chunks. -ENOMEM changes nothing. */
int verge__chunk_pool_grow(verge__chunk_pool *pool, size_t count);

/* Gives back slabs without a used chunk as long as `keep` chunks remain. */
void verge__chunk_pool_shrink(verge__chunk_pool *pool, size_t keep);

static inline verge__chunk *verge__chunk_pool_take(verge__chunk_pool *pool) {
    VERGE__INVARIANT(pool->used_count < pool->chunk_count, "C6: there is a chunk for every entry filed");
    verge__chunk_slab *slab = &pool->slabs[pool->lowest];
    while (VERGE__UNLIKELY(slab->free == NULL)) {
        slab = &pool->slabs[++pool->lowest];
    }
    VERGE__INVARIANT(slab->used < slab->count, "P1: a chunk that is taken was not in use");
    verge__chunk *chunk = slab->free;
    slab->free = chunk->below;
    slab->used++;
    pool->used_count++;
    return chunk;
}

static inline void verge__chunk_pool_give(verge__chunk_pool *pool, verge__chunk *chunk) {
    verge__chunk_slab *slab = &pool->slabs[chunk->slab];
    VERGE__INVARIANT(slab->used > 0 && slab->chunks != NULL, "P1: a chunk that is given back was in use");
    chunk->below = slab->free;
    slab->free = chunk;
    slab->used--;
    pool->used_count--;
    if (VERGE__UNLIKELY(chunk->slab < pool->lowest)) {
        pool->lowest = chunk->slab;
    }
}

#endif
