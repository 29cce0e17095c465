/* SPDX-License-Identifier: MIT */
/*
 * wheel/chunk_pool.h - chunks, cut from slabs that never move and go back whole.
 *
 * take() cannot fail: whoever files entries has made sure before that there are chunks enough
 * (calendar.h, invariant C6). Chunks are taken from the lowest slab that has one, so that the
 * higher slabs empty themselves as the wheel turns and can be given back.
 */
#ifndef VERGE_SRC_WHEEL_CHUNK_POOL_H
#define VERGE_SRC_WHEEL_CHUNK_POOL_H

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
    size_t chunk_count;
    size_t used_count;
    size_t bytes;
} verge__chunk_pool;

void verge__chunk_pool_init(verge__chunk_pool *pool, const verge_allocator *allocator);
void verge__chunk_pool_deinit(verge__chunk_pool *pool);

/* Adds exactly `count` chunks, touching their memory if prefault is set. -ENOMEM changes nothing. */
int verge__chunk_pool_grow(verge__chunk_pool *pool, size_t count, bool prefault);

/* Gives back slabs without a used chunk as long as `keep` chunks remain. */
void verge__chunk_pool_shrink(verge__chunk_pool *pool, size_t keep);

verge__chunk *verge__chunk_pool_take(verge__chunk_pool *pool);
void verge__chunk_pool_give(verge__chunk_pool *pool, verge__chunk *chunk);

#endif
