/* SPDX-License-Identifier: MIT */
/*
 * wheel/chunk_pool.h - chunks, cut from slabs that never move and go back whole.
 *
 * take() cannot fail: whoever files entries has made sure before that there are chunks enough
 * (calendar.h, invariant C6). Chunks are taken from the lowest slab that has one, so that the
 * higher slabs empty themselves as the wheel turns and can be given back; while that is not wanted, first those that were
 * given back last, a few.
 */
#ifndef VERGE_SRC_WHEEL_CHUNK_POOL_H
#define VERGE_SRC_WHEEL_CHUNK_POOL_H

#include "base/compiler.h"
#include "verge/base.h"
#include "wheel/entry.h"

typedef struct verge__slab {
    verge__chunk *chunks; /* NULL: this place is vacant */
    verge__chunk *free;   /* given back, newest first, linked by below */
    uint32_t count;
    uint32_t used;
    uint32_t fresh; /* chunks from here on were never taken */
} verge__slab;

typedef struct verge__chunk_pool {
    const verge_allocator *allocator;
    verge__slab *slabs;
    uint32_t slab_count; /* places, vacant ones too */
    uint32_t slab_room;  /* places there is memory for */
    uint32_t lowest;     /* no slab below this has a chunk to take */
    uint32_t recent_count;
    uint32_t recent_limit;
    bool is_sparse;       /* the owner says so: slabs are given back as they become empty */
    verge__chunk *recent; /* given back last, newest first: the next to be taken. Their slabs have them as used */
    size_t chunk_count;
    size_t used_count; /* those as well */
    size_t bytes;
} verge__chunk_pool;

void verge__chunk_pool_init(verge__chunk_pool *pool, const verge_allocator *allocator);
void verge__chunk_pool_deinit(verge__chunk_pool *pool);

/* Adds exactly `count` chunks, touching their memory if prefault is set. -ENOMEM changes nothing. */
int verge__chunk_pool_grow(verge__chunk_pool *pool, size_t count, bool prefault);

/* Gives back slabs without a used chunk as long as `keep` chunks remain. */
void verge__chunk_pool_shrink(verge__chunk_pool *pool, size_t keep);

/* Whether the pool is sparse: its slabs should become empty. */
void verge__chunk_pool_set_sparse(verge__chunk_pool *pool, bool is_sparse);

/* From the slabs, and back to them. */
verge__chunk *verge__chunk_pool_take_from_slab(verge__chunk_pool *pool);
void verge__chunk_pool_give_to_slab(verge__chunk_pool *pool, verge__chunk *chunk);

static inline verge__chunk *verge__chunk_pool_take(verge__chunk_pool *pool) {
    verge__chunk *chunk = pool->recent;
    if (VERGE__UNLIKELY(chunk == NULL)) {
        return verge__chunk_pool_take_from_slab(pool);
    }
    pool->recent = chunk->below;
    pool->recent_count--;
    return chunk;
}

static inline void verge__chunk_pool_give(verge__chunk_pool *pool, verge__chunk *chunk) {
    if (VERGE__UNLIKELY(pool->recent_count >= pool->recent_limit)) {
        verge__chunk_pool_give_to_slab(pool, chunk);
        return;
    }
    chunk->below = pool->recent;
    pool->recent = chunk;
    pool->recent_count++;
}

/* How many chunks are in use. */
static inline size_t verge__chunk_pool_used(const verge__chunk_pool *pool) {
    return pool->used_count - pool->recent_count;
}

/* Whether a chunk may go on as it is. Not if its slab should become empty, and one of a lower slab is to be had: its entries
 * move there. */
static inline bool verge__chunk_pool_may_keep(const verge__chunk_pool *pool, const verge__chunk *chunk) {
    return !pool->is_sparse || chunk->slab <= pool->lowest;
}

#endif
