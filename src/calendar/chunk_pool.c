/* SPDX-License-Identifier: MIT */
#include "calendar/chunk_pool.h"

#include <errno.h>
#include <string.h>

enum {
    HUGE_PAGE_BYTES = 2 << 20,
    HUGE_PAGE_CHUNKS = HUGE_PAGE_BYTES / VERGE__CHUNK_BYTES,
    SLAB_COUNT_MAX = 1 << VERGE__CHUNK_SLAB_BITS,
};

void verge__chunk_pool_init(verge__chunk_pool *pool, const verge_allocator *allocator) {
    *pool = (verge__chunk_pool){.allocator = allocator};
}

static void release(verge__chunk_pool *pool, void *memory, size_t size) {
    pool->allocator->release(pool->allocator->context, memory, size);
    pool->bytes -= size;
}

static void *allocate(verge__chunk_pool *pool, size_t size, size_t alignment) {
    void *memory = pool->allocator->allocate(pool->allocator->context, size, alignment);
    if (memory != NULL) {
        pool->bytes += size;
    }
    return memory;
}

static void release_slab(verge__chunk_pool *pool, verge__chunk_slab *slab) {
    VERGE__INVARIANT(slab->used == 0, "P1: a slab that is given back has no chunk in use");
    release(pool, slab->chunks, (size_t)slab->count * VERGE__CHUNK_BYTES);
    pool->chunk_count -= slab->count;
    *slab = (verge__chunk_slab){0};
    while (pool->slab_count > 0 && pool->slabs[pool->slab_count - 1].chunks == NULL) {
        pool->slab_count--;
    }
}

void verge__chunk_pool_deinit(verge__chunk_pool *pool) {
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        if (pool->slabs[i].chunks != NULL) {
            release(pool, pool->slabs[i].chunks, (size_t)pool->slabs[i].count * VERGE__CHUNK_BYTES);
        }
    }
    if (pool->slabs != NULL) {
        release(pool, pool->slabs, (size_t)pool->slab_room * sizeof(verge__chunk_slab));
    }
    VERGE__INVARIANT(pool->bytes == 0, "P2: the pool's bytes are those of its slabs and its table");
}

/* Finds a vacant element for a slab, making room for one if there is none. */
static int find_vacant(verge__chunk_pool *pool, uint32_t *ret_at) {
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        if (pool->slabs[i].chunks == NULL) {
            *ret_at = i;
            return 0;
        }
    }
    if (pool->slab_count == SLAB_COUNT_MAX) {
        return -ENOMEM;
    }
    if (pool->slab_count == pool->slab_room) {
        uint32_t room = pool->slab_room == 0 ? 4 : pool->slab_room * 2;
        verge__chunk_slab *slabs =
            (verge__chunk_slab *)allocate(pool, room * sizeof(verge__chunk_slab), _Alignof(verge__chunk_slab));
        if (slabs == NULL) {
            return -ENOMEM;
        }
        if (pool->slabs != NULL) {
            memcpy(slabs, pool->slabs, pool->slab_count * sizeof(verge__chunk_slab));
            release(pool, pool->slabs, (size_t)pool->slab_room * sizeof(verge__chunk_slab));
        }
        pool->slabs = slabs;
        pool->slab_room = room;
    }
    *ret_at = pool->slab_count;
    return 0;
}

static int add_slab(verge__chunk_pool *pool, size_t count) {
    uint32_t at = 0;
    int error = find_vacant(pool, &at);
    if (error != 0) {
        return error;
    }
    size_t bytes = count * VERGE__CHUNK_BYTES;
    size_t alignment = bytes % HUGE_PAGE_BYTES == 0 ? (size_t)HUGE_PAGE_BYTES : (size_t)VERGE__CHUNK_BYTES;
    verge__chunk *chunks = (verge__chunk *)allocate(pool, bytes, alignment);
    if (chunks == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        chunks[i].below = i + 1 < count ? &chunks[i + 1] : NULL;
        chunks[i].slab = at & ((1 << VERGE__CHUNK_SLAB_BITS) - 1);
    }
    VERGE__INVARIANT(at <= pool->slab_count && at < pool->slab_room, "P2: the array has room for the slab");
    pool->slabs[at] = (verge__chunk_slab){.chunks = chunks, .free = chunks, .count = (uint32_t)count};
    if (at == pool->slab_count) {
        pool->slab_count++;
    }
    pool->chunk_count += count;
    if (at < pool->lowest) {
        pool->lowest = at;
    }
    return 0;
}

int verge__chunk_pool_grow(verge__chunk_pool *pool, size_t count) {
    size_t before = pool->chunk_count;
    int error = 0;
    while (error == 0 && count > 0) {
        size_t step = count < HUGE_PAGE_CHUNKS ? count : (size_t)HUGE_PAGE_CHUNKS;
        error = add_slab(pool, step);
        count -= step;
    }
    if (error != 0) {
        verge__chunk_pool_shrink(pool, before);
    }
    return error;
}

void verge__chunk_pool_shrink(verge__chunk_pool *pool, size_t keep) {
    for (uint32_t i = pool->slab_count; i-- > 0;) {
        verge__chunk_slab *slab = &pool->slabs[i];
        if (slab->chunks != NULL && slab->used == 0 && pool->chunk_count - slab->count >= keep) {
            release_slab(pool, slab);
        }
    }
}
