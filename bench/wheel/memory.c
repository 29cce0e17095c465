/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fail.h"

enum {
    HUGE_PAGE_SIZE = 2 * 1024 * 1024,
    MAPPED_SIZE_MIN = 1024 * 1024,
    RESIZE_HEADER_SIZE = 64,
};

static enum bench_pages pages_in_use = BENCH_PAGES_HUGE;

const char *bench_pages_name(enum bench_pages pages) {
    return pages == BENCH_PAGES_HUGE ? "huge" : "small";
}

void bench_memory_use(enum bench_pages pages) {
    pages_in_use = pages;
}

static size_t round_up(size_t size, size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

/* Maps more than is needed, and unmaps what is outside the aligned part. */
static void *map_aligned(size_t size, size_t alignment) {
    size_t mapped_size = size + alignment;
    char *mapped = mmap(NULL, mapped_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        bench_fail("no memory: %zu bytes", mapped_size);
    }
    size_t before = round_up((uintptr_t)mapped, alignment) - (uintptr_t)mapped;
    size_t after = mapped_size - before - size;
    if (before > 0) {
        munmap(mapped, before);
    }
    if (after > 0) {
        munmap(mapped + before + size, after);
    }
    return mapped + before;
}

void *bench_memory_allocate(size_t size, size_t alignment) {
    if (size < MAPPED_SIZE_MIN) {
        size_t usable = alignment < sizeof(void *) ? sizeof(void *) : alignment;
        void *memory = aligned_alloc(usable, round_up(size == 0 ? 1 : size, usable));
        if (memory == NULL) {
            bench_fail("no memory: %zu bytes", size);
        }
        return memset(memory, 0, size);
    }
    size_t rounded = round_up(size, HUGE_PAGE_SIZE);
    void *memory = map_aligned(rounded, alignment > HUGE_PAGE_SIZE ? alignment : HUGE_PAGE_SIZE);
    (void)madvise(memory, rounded, pages_in_use == BENCH_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memset(memory, 0, rounded);
}

void bench_memory_release(void *memory, size_t size) {
    if (memory == NULL) {
        return;
    }
    if (size < MAPPED_SIZE_MIN) {
        free(memory);
    } else {
        munmap(memory, round_up(size, HUGE_PAGE_SIZE));
    }
}

void *bench_memory_resize(void *memory, size_t size) {
    char *old_block = memory == NULL ? NULL : (char *)memory - RESIZE_HEADER_SIZE;
    size_t old_size = 0;
    if (old_block != NULL) {
        memcpy(&old_size, old_block, sizeof(old_size));
    }
    char *block = NULL;
    if (size > 0) {
        block = bench_memory_allocate(size + RESIZE_HEADER_SIZE, RESIZE_HEADER_SIZE);
        memcpy(block, &size, sizeof(size));
        if (old_block != NULL) {
            memcpy(block + RESIZE_HEADER_SIZE, memory, old_size < size ? old_size : size);
        }
    }
    if (old_block != NULL) {
        bench_memory_release(old_block, old_size + RESIZE_HEADER_SIZE);
    }
    return block == NULL ? NULL : block + RESIZE_HEADER_SIZE;
}
