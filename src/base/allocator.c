/* SPDX-License-Identifier: MIT */
/*
 * The default allocator: the C library's.
 *
 * A block aligned to 2 MiB is one that its owner means to access at random, where with 4 KiB pages
 * the misses of the TLB cost as much as the accesses. It is advised to be huge pages; a system
 * that has none, or does not want to, gives ordinary ones and nobody need know.
 */
#define _DEFAULT_SOURCE

#include <stdlib.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/bits.h"
#include "verge/base.h"

static const size_t huge_page_bytes = (size_t)2 << 20;

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
    if (memory != NULL && alignment >= huge_page_bytes) {
        advise_huge(memory, size);
    }
    return memory;
}

static void default_release(void *context, void *memory, size_t size) {
    (void)context;
    (void)size;
    free(memory);
}

static const verge_allocator default_allocator = {
    .allocate = default_allocate,
    .release = default_release,
    .context = NULL,
};

const verge_allocator *verge_allocator_default(void) {
    return &default_allocator;
}
