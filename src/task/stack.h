/* SPDX-License-Identifier: MIT */
/*
 * task/stack.h - stacks for tasks. They are cut from large mappings, have guards, are committed as they are used, and
 * are kept for the next task.
 *
 * Layout of one stack, from low addresses to high
 *
 *     guard        never accessible: an overflow raises SIGSEGV, and does not overwrite a neighbour's data
 *     stack        grows down towards the guard; its pages are committed when first touched
 *     head         verge__stack, the caller's block, and up to 896 bytes that are left unused: see below
 *
 * The control block of a task is in the head. So a task that sleeps in shallow calls occupies one page. Heads at the
 * same offset of each page would compete for a few sets of the cache. So the stacks leave different parts of their
 * heads unused at the upper end, in turn 0, 128, 256 ... 896 bytes.
 *
 * If the kernel supports it (Linux 6.13), guards are marks in the page table (MADV_GUARD_INSTALL), which need no
 * mapping of their own. Otherwise each guard is a mapping (mprotect). A process can have 65,530 mappings by default,
 * which is enough for 32,000 stacks.
 *
 * The store has the mappings, under a lock. Each worker has a cache of free stacks, without a lock. A stack that was
 * taken from one cache may be put into another. Invariants:
 *   K1  a stack is in exactly one of: used, a cache, the store's free list.
 *   K2  a cache holds at most VERGE__STACK_CACHE_MAX stacks; they keep their pages.
 *   K3  a stack in the store's free list has no pages: its memory was given back.
 */
#ifndef VERGE_SRC_TASK_STACK_H
#define VERGE_SRC_TASK_STACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verge/base.h"

enum { VERGE__STACK_CACHE_MAX = 64 };

/* 256 stacks are one mapping. */
#define VERGE__STACK_SIZE_MAX (SIZE_MAX / 4 / 256)

typedef struct verge__stack {
    struct verge__stack *next; /* the next stack in a cache */
    void *low;                 /* the lowest usable byte. The stack of a task ends where the caller's block begins */
    uint32_t index;
} verge__stack;

typedef struct verge__stack_store {
    size_t page_size;
    size_t guard_size;
    size_t usable_size; /* a multiple of page_size; with the head, without the guard */
    size_t block_size;  /* of the caller's block in each head */
    verge_allocator allocator;

    pthread_mutex_t lock; /* protects all fields below */
    char **regions;       /* region i has the stacks from i * 256 on */
    size_t region_count;
    uint32_t *free_indices;
    size_t free_count;
    size_t region_capacity; /* `regions` and `free_indices` have room for so many regions and all of their stacks */
    size_t stack_count;     /* stacks cut so far; their indexes are below this number */
    size_t trimmed_bytes;   /* the deepest use seen in a stack whose memory was given back */
    bool guards_by_mprotect;
} verge__stack_store;

typedef struct verge__stack_cache {
    verge__stack_store *store;
    verge__stack *first; /* the one given back last: its pages are warm */
    size_t count;
} verge__stack_cache;

/* stack_size is what a task can use at least. block_size is the size of the caller's block, which comes on top of
 * that. */
int verge__stack_store_init(verge__stack_store *store, size_t stack_size, size_t block_size,
                            const verge_allocator *allocator);

/* Unmaps all stacks, used or not. */
void verge__stack_store_deinit(verge__stack_store *store);

void verge__stack_cache_init(verge__stack_cache *cache, verge__stack_store *store);

/* Gives all stacks of the cache back to the store. */
void verge__stack_cache_flush(verge__stack_cache *cache);

/* Takes a stack, whose contents are undefined. Returns 0 or -ENOMEM. */
int verge__stack_take(verge__stack_cache *cache, verge__stack **ret_stack);

void verge__stack_give(verge__stack_cache *cache, verge__stack *stack);

/* Returns the caller's block. It is aligned to 16, above the stack that a context uses. */
static inline void *verge__stack_block(const verge__stack_store *store, const verge__stack *stack) {
    return (char *)stack - store->block_size;
}

/* Returns the size of the stack that a context can use, from `low` up to the block. */
static inline size_t verge__stack_room(const verge__stack_store *store, const verge__stack *stack) {
    return (size_t)((char *)verge__stack_block(store, stack) - (char *)stack->low);
}

typedef struct verge__stack_stats {
    size_t stack_count;      /* cut so far, used or not */
    size_t free_count;       /* free stacks in the store, without those in caches */
    size_t resident_bytes;   /* of all stacks */
    size_t high_water_bytes; /* the deepest use of any stack so far, to the page, its head included */
    size_t usable_size;
} verge__stack_stats;

/* Looks at every page of every stack, so tasks need not count what they use. Holds the lock meanwhile, so a thread
 * whose cache is empty or too full has to wait. May be called from any thread. */
void verge__stack_store_stats(verge__stack_store *store, verge__stack_stats *ret_stats);

#endif
