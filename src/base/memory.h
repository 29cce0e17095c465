/* SPDX-License-Identifier: MIT */
/* base/memory.h - allocates, resizes and releases blocks of memory by a verge_allocator. */
#ifndef VERGE_SRC_BASE_MEMORY_H
#define VERGE_SRC_BASE_MEMORY_H

#include <string.h>

#include "verge/base.h"

static inline size_t verge__larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static inline void *verge__allocate(const verge_allocator *allocator, size_t size, size_t alignment) {
    return allocator->allocate(allocator->context, size, alignment);
}

static inline void verge__release(const verge_allocator *allocator, void *block, size_t size) {
    if (block != NULL) {
        allocator->release(allocator->context, block, size);
    }
}

/* Allocates a block of new_size bytes, copies the content to it (cut if new_size is smaller), and releases the old
 * block, which may be NULL. Without memory for the new block, returns NULL and keeps the old one. With a new_size of 0,
 * releases the old block and returns NULL. */
static inline void *verge__resize(const verge_allocator *allocator, void *block, size_t size, size_t new_size,
                                  size_t alignment) {
    void *resized = new_size == 0 ? NULL : verge__allocate(allocator, new_size, alignment);
    if (resized == NULL && new_size > 0) {
        return NULL;
    }
    if (block != NULL && resized != NULL) {
        memcpy(resized, block, size < new_size ? size : new_size);
    }
    verge__release(allocator, block, size);
    return resized;
}

#endif
