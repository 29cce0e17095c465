/* SPDX-License-Identifier: MIT */
#include "calendar/chunk_pool.h"

#include <errno.h>

#include "base/memory.h"

enum {
    HUGE_PAGE_BYTES = 2 << 20,
    HUGE_PAGE_CHUNKS = HUGE_PAGE_BYTES / VERGE__CHUNK_BYTES,
    SLAB_COUNT_MAX = 1 << VERGE__CHUNK_SLAB_BITS,
};

static void release_slab(verge__chunk_pool *pool, verge__chunk_slab *slab) {
    verge__release(pool->allocator, slab->chunks, (size_t)slab->count * VERGE__CHUNK_BYTES);
    pool->chunk_count -= slab->count;
    *slab = (verge__chunk_slab){0};
    while (pool->slab_count > 0 && pool->slabs[pool->slab_count - 1].chunks == NULL) {
        pool->slab_count--;
    }
}

void verge__chunk_pool_deinit(verge__chunk_pool *pool) {
    while (pool->slab_count > 0) {
        release_slab(pool, &pool->slabs[pool->slab_count - 1]);
    }
    VERGE__INVARIANT(pool->chunk_count == 0, "P2: the pool's chunks are those of its slabs");
    verge__release(pool->allocator, pool->slabs, pool->slab_room * sizeof(*pool->slabs));
}

static int grow_array(verge__chunk_pool *pool) {
    const size_t size = sizeof(verge__chunk_slab);
    uint32_t room = pool->slab_room == 0 ? 4 : 2 * pool->slab_room;
    void *slabs = verge__resize(pool->allocator, pool->slabs, pool->slab_room * size, room * size, _Alignof(uint64_t));
    if (slabs == NULL) {
        return -ENOMEM;
    }
    pool->slabs = (verge__chunk_slab *)slabs;
    pool->slab_room = room;
    return 0;
}

static int add_slab(verge__chunk_pool *pool, size_t count) {
    uint32_t at = 0;
    while (at < pool->slab_count && pool->slabs[at].chunks != NULL) {
        at++;
    }
    if (at == SLAB_COUNT_MAX || (at == pool->slab_room && grow_array(pool) != 0)) {
        return -ENOMEM;
    }
    size_t bytes = count * VERGE__CHUNK_BYTES;
    size_t alignment = bytes % HUGE_PAGE_BYTES == 0 ? (size_t)HUGE_PAGE_BYTES : (size_t)VERGE__CHUNK_BYTES;
    verge__chunk *chunks = (verge__chunk *)verge__allocate(pool->allocator, bytes, alignment);
    if (chunks == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        chunks[i].below = i + 1 < count ? &chunks[i + 1] : NULL;
        chunks[i].slab = at & ((1 << VERGE__CHUNK_SLAB_BITS) - 1);
    }
    VERGE__INVARIANT(at <= pool->slab_count && at < pool->slab_room, "P2: the array has room for the slab");
    pool->slabs[at] = (verge__chunk_slab){.chunks = chunks, .free = chunks, .count = (uint32_t)count};
    pool->slab_count += at == pool->slab_count;
    pool->chunk_count += count;
    pool->lowest = at < pool->lowest ? at : pool->lowest;
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
        if (slab->chunks != NULL && slab->used == 0 && pool->chunk_count - slab->count >= keep) { /* P1 */
            release_slab(pool, slab);
        }
    }
}
