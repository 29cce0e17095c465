/* SPDX-License-Identifier: MIT */
/*
 * The default allocator: the C library's.
 *
 * An owner that asks for an alignment of 2 MiB is going to access the block at random. With 4 KiB pages, the TLB misses
 * would cost as much as the accesses. So the system is asked for huge pages. If it has none, it gives ordinary ones.
 */
#define _DEFAULT_SOURCE

#include <stdint.h>
#include <stdlib.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

#include "base/bits.h"
#include "base/memory.h"
#include "verge/base.h"

enum {
    HUGE_PAGE_BYTES = 2 << 20,
    WORTH_A_CALL_BYTES = 16384,
    HOST_ALIGNMENT_MAX = 4096, /* a greater alignment asks for huge pages, which a host's malloc does not know */
};

#if defined(_WIN32) /* Windows has no aligned_alloc, since its free() could not release such a block */

static void *default_allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    return verge__is_power_of_two(alignment) ? _aligned_malloc(size != 0 ? size : 1, alignment) : NULL;
}

static void default_release(void *context, void *memory, size_t size) {
    (void)context;
    (void)size;
    _aligned_free(memory);
}

#else

static void advise_huge(void *memory, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    (void)madvise(memory, size, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

static void *default_allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    if (!verge__is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= _Alignof(max_align_t)) {
        return malloc(size != 0 ? size : 1);
    }
    void *memory = aligned_alloc(alignment, size != 0 ? size : alignment);
    if (memory != NULL && alignment >= HUGE_PAGE_BYTES) {
        advise_huge(memory, size);
    }
    return memory;
}

/* Gives the pages of a large block back to the system, as free may keep the block for later use. */
static void advise_free(void *memory, size_t size) {
#if defined(__linux__) && defined(MADV_DONTNEED)
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page_bytes - 1) & ~(page_bytes - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(page_bytes - 1); /* a page that is only partly in the block stays */
    if (size >= WORTH_A_CALL_BYTES && begin < end) {
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
#else
    (void)memory;
    (void)size;
#endif
}

static void default_release(void *context, void *memory, size_t size) {
    (void)context;
    advise_free(memory, size);
    free(memory);
}

#endif

static const verge_allocator default_allocator = {
    .allocate = default_allocate,
    .release = default_release,
    .context = NULL,
};

const verge_allocator *verge_allocator_default(void) {
    return &default_allocator;
}

/* ---- an allocator of functions like malloc and free ---- */

/* The address that the host's function returned lies just before the aligned block. */
void *verge_host_allocate(void *memory, size_t size, size_t alignment) {
    const verge_host_memory *host = (const verge_host_memory *)memory;
    if (!verge__is_power_of_two(alignment)) {
        return NULL;
    }
    alignment = verge__larger(alignment, _Alignof(void *));
    alignment = alignment < HOST_ALIGNMENT_MAX ? alignment : (size_t)HOST_ALIGNMENT_MAX;
    size_t more = alignment - 1 + sizeof(void *);
    unsigned char *origin = size > SIZE_MAX - more ? NULL : (unsigned char *)host->allocate(size + more);
    if (origin == NULL) {
        return NULL;
    }
    unsigned char *block = origin + sizeof(void *);
    block += (size_t)(-(uintptr_t)block & (alignment - 1));
    ((void **)(void *)block)[-1] = origin;
    return block;
}

void verge_host_release(void *memory, void *block, size_t size) {
    const verge_host_memory *host = (const verge_host_memory *)memory;
    (void)size;
    host->release(((void **)block)[-1]);
}
