/* SPDX-License-Identifier: MIT */
/* Stacks: the store with its mappings, and the caches of the workers. */
#define _DEFAULT_SOURCE

#include "task/stack.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"

/*
 * If valgrind's header was there at compile time, valgrind is told about each stack. Otherwise valgrind would treat a
 * switch to another stack as a very large frame, and complain about reads there. A stack is never unregistered: if its
 * memory becomes another stack, that one is registered as well, and the last registration counts. Without valgrind,
 * this costs a few instructions for each stack.
 */
#if defined(VERGE_VALGRIND) && VERGE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) ((void)(low), (void)(high))
#endif

/* MADV_GUARD_INSTALL of Linux 6.13. It is defined here because the headers may be older than the kernel. */
enum { ADVICE_GUARD_INSTALL = 102 };

/*
 * The size of a guard. Frames of up to this size cannot step over it. Larger frames do not either, if they are compiled
 * with -fstack-clash-protection, which touches the stack at shorter distances: every 64 KiB on aarch64, every page
 * elsewhere.
 */
#if defined(__aarch64__)
enum { GUARD_SIZE_MIN = 64 << 10 };
#else
enum { GUARD_SIZE_MIN = 16 << 10 };
#endif

enum {
    REGION_STACK_COUNT = 256,
    COLOUR_COUNT = 8, /* at how many different offsets in its page a head may be */
    COLOUR_SIZE = 128,
    HEAD_SIZE = 32,
    REFILL_COUNT = 16, /* how many stacks a cache that is empty takes at once */
};

_Static_assert(sizeof(verge__stack) <= HEAD_SIZE, "the head has its room");
_Static_assert(VERGE__STACK_SIZE_MAX == SIZE_MAX / 4 / REGION_STACK_COUNT, "the size of a mapping fits");

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

static size_t stride(const verge__stack_store *store) {
    return store->guard_size + store->usable_size;
}

static size_t region_size(const verge__stack_store *store) {
    return REGION_STACK_COUNT * stride(store);
}

/* ---- where a stack is ---- */

static char *low_of(const verge__stack_store *store, uint32_t index) {
    return store->regions[index / REGION_STACK_COUNT] + index % REGION_STACK_COUNT * stride(store) + store->guard_size;
}

/* Writes the head, which commits its page. */
static verge__stack *head_of(const verge__stack_store *store, uint32_t index) {
    char *low = low_of(store, index);
    const size_t unused = (size_t)(index % COLOUR_COUNT) * COLOUR_SIZE;
    verge__stack *stack = (verge__stack *)(void *)(low + store->usable_size - unused - HEAD_SIZE);
    *stack = (verge__stack){.next = NULL, .low = low, .index = index};
    return stack;
}

/* ---- guards and memory ---- */

static int install_guard(verge__stack_store *store, char *guard) {
    if (!store->guards_by_mprotect) {
        if (madvise(guard, store->guard_size, ADVICE_GUARD_INSTALL) == 0) {
            return 0;
        }
        store->guards_by_mprotect = true;
    }
    return mprotect(guard, store->guard_size, PROT_NONE) == 0 ? 0 : -ENOMEM;
}

/* Returns how many bytes at the top of a stack were touched since its memory was last given back, in whole pages. Adds
 * to *resident_bytes how many bytes of the stack are in memory. */
static size_t touched_bytes(const verge__stack_store *store, char *low, size_t *resident_bytes) {
    enum { BATCH_PAGES = 512 };
    unsigned char present[BATCH_PAGES];
    const size_t page_count = store->usable_size / store->page_size;
    size_t lowest = page_count;
    for (size_t page = 0; page < page_count; page += BATCH_PAGES) {
        const size_t count = page_count - page < BATCH_PAGES ? page_count - page : BATCH_PAGES;
        if (mincore(low + page * store->page_size, count * store->page_size, present) != 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if ((present[i] & 1) != 0) {
                *resident_bytes += store->page_size;
                lowest = lowest < page + i ? lowest : page + i;
            }
        }
    }
    return (page_count - lowest) * store->page_size;
}

static void give_memory_back(verge__stack_store *store, char *low) {
    size_t resident_bytes = 0;
    const size_t touched = touched_bytes(store, low, &resident_bytes);
    if (touched > store->trimmed_bytes) {
        store->trimmed_bytes = touched;
    }
    (void)madvise(low, store->usable_size, MADV_DONTNEED);
}

/* ---- the store; its lock is held ---- */

static size_t regions_size(size_t region_count) {
    return region_count * sizeof(char *);
}

static size_t indices_size(size_t region_count) {
    return region_count * REGION_STACK_COUNT * sizeof(uint32_t);
}

/* Makes room for one more region in both tables, or in none. */
static int reserve_region(verge__stack_store *store) {
    const size_t old = store->region_capacity;
    if (store->region_count < old) {
        return 0;
    }
    const size_t capacity = old == 0 ? 4 : 2 * old;
    const verge_allocator *allocator = &store->allocator;
    void *indices = allocator->allocate(allocator->context, indices_size(capacity), _Alignof(max_align_t));
    if (indices == NULL) {
        return -ENOMEM;
    }
    void *regions = allocator->allocate(allocator->context, regions_size(capacity), _Alignof(max_align_t));
    if (regions == NULL) {
        allocator->release(allocator->context, indices, indices_size(capacity));
        return -ENOMEM;
    }
    if (old != 0) {
        memcpy(regions, store->regions, regions_size(store->region_count));
        memcpy(indices, store->free_indices, store->free_count * sizeof(uint32_t));
        allocator->release(allocator->context, store->regions, regions_size(old));
        allocator->release(allocator->context, store->free_indices, indices_size(old));
    }
    store->regions = regions;
    store->free_indices = indices;
    store->region_capacity = capacity;
    return 0;
}

static int add_region(verge__stack_store *store) {
    if (store->stack_count > UINT32_MAX - REGION_STACK_COUNT || reserve_region(store) != 0) {
        return -ENOMEM;
    }
    void *memory = mmap(NULL, region_size(store), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    (void)madvise(memory, region_size(store), MADV_NOHUGEPAGE); /* a task gets a page, not two megabytes */
    store->regions[store->region_count++] = memory;
    return 0;
}

/* Takes a stack that was never used. */
static int cut(verge__stack_store *store, verge__stack **ret_stack) {
    if (store->stack_count == store->region_count * REGION_STACK_COUNT) {
        const int error = add_region(store);
        if (error != 0) {
            return error;
        }
    }
    const uint32_t index = (uint32_t)store->stack_count;
    const int error = install_guard(store, low_of(store, index) - store->guard_size);
    if (error != 0) {
        return error;
    }
    (void)VALGRIND_STACK_REGISTER(low_of(store, index), low_of(store, index) + store->usable_size);
    store->stack_count++;
    *ret_stack = head_of(store, index);
    return 0;
}

static int take_from_store(verge__stack_store *store, verge__stack **ret_stack) {
    if (store->free_count == 0) {
        return cut(store, ret_stack);
    }
    *ret_stack = head_of(store, store->free_indices[--store->free_count]);
    return 0;
}

static void give_to_store(verge__stack_store *store, verge__stack *stack) {
    const uint32_t index = stack->index;
    give_memory_back(store, stack->low);
    VERGE__INVARIANT(store->free_count < store->stack_count, "K1: a stack is free once");
    store->free_indices[store->free_count++] = index;
}

int verge__stack_store_init(verge__stack_store *store, size_t stack_size, size_t block_size,
                            const verge_allocator *allocator) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t head_room = round_up(block_size, 16) + HEAD_SIZE + (size_t)COLOUR_COUNT * COLOUR_SIZE;
    if (stack_size > VERGE__STACK_SIZE_MAX || block_size > page_size) {
        return -EINVAL;
    }
    *store = (verge__stack_store){
        .page_size = page_size,
        .guard_size = round_up(GUARD_SIZE_MIN, page_size),
        .usable_size = round_up(stack_size + head_room, page_size),
        .block_size = round_up(block_size, 16),
        .allocator = *allocator,
    };
    return -pthread_mutex_init(&store->lock, NULL);
}

void verge__stack_store_deinit(verge__stack_store *store) {
    for (size_t i = 0; i < store->region_count; i++) {
        (void)munmap(store->regions[i], region_size(store));
    }
    if (store->regions != NULL) {
        const verge_allocator *allocator = &store->allocator;
        allocator->release(allocator->context, store->regions, regions_size(store->region_capacity));
        allocator->release(allocator->context, store->free_indices, indices_size(store->region_capacity));
    }
    (void)pthread_mutex_destroy(&store->lock);
}

void verge__stack_store_stats(verge__stack_store *store, verge__stack_stats *ret_stats) {
    (void)pthread_mutex_lock(&store->lock);
    *ret_stats = (verge__stack_stats){
        .stack_count = store->stack_count,
        .free_count = store->free_count,
        .high_water_bytes = store->trimmed_bytes,
        .usable_size = store->usable_size,
    };
    for (uint32_t index = 0; index < store->stack_count; index++) {
        const size_t touched = touched_bytes(store, low_of(store, index), &ret_stats->resident_bytes);
        if (touched > ret_stats->high_water_bytes) {
            ret_stats->high_water_bytes = touched;
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
}

/* ---- caches ---- */

void verge__stack_cache_init(verge__stack_cache *cache, verge__stack_store *store) {
    *cache = (verge__stack_cache){.store = store};
}

static void push(verge__stack_cache *cache, verge__stack *stack) {
    stack->next = cache->first;
    cache->first = stack;
    cache->count++;
}

static verge__stack *pop(verge__stack_cache *cache) {
    verge__stack *stack = cache->first;
    cache->first = stack->next;
    cache->count--;
    return stack;
}

static void shrink(verge__stack_cache *cache, size_t count) {
    verge__stack_store *store = cache->store;
    (void)pthread_mutex_lock(&store->lock);
    while (cache->count > count) {
        give_to_store(store, pop(cache));
    }
    (void)pthread_mutex_unlock(&store->lock);
}

static int refill(verge__stack_cache *cache) {
    verge__stack_store *store = cache->store;
    (void)pthread_mutex_lock(&store->lock);
    int error = 0;
    while (cache->count < REFILL_COUNT && error == 0) {
        verge__stack *stack;
        error = take_from_store(store, &stack);
        if (error == 0) {
            push(cache, stack);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return cache->count > 0 ? 0 : error;
}

void verge__stack_cache_flush(verge__stack_cache *cache) {
    shrink(cache, 0);
}

int verge__stack_take(verge__stack_cache *cache, verge__stack **ret_stack) {
    if (cache->count == 0) {
        const int error = refill(cache);
        if (error != 0) {
            return error;
        }
    }
    *ret_stack = pop(cache);
    return 0;
}

void verge__stack_give(verge__stack_cache *cache, verge__stack *stack) {
    push(cache, stack);
    if (cache->count > VERGE__STACK_CACHE_MAX) {
        shrink(cache, VERGE__STACK_CACHE_MAX / 2);
    }
}
