/* SPDX-License-Identifier: MIT */
#include "soak/faulty_allocator.h"

static void *allocate(void *context, size_t size, size_t alignment) {
    struct faulty_allocator *faulty = context;
    const verge_allocator *inner = verge_allocator_default();
    uint64_t fail_every = atomic_load_explicit(&faulty->fail_every, memory_order_relaxed);
    uint64_t asked = atomic_fetch_add_explicit(&faulty->asked, 1, memory_order_relaxed);
    if (fail_every != 0 && asked % fail_every == 0) {
        (void)atomic_fetch_add_explicit(&faulty->refused, 1, memory_order_relaxed);
        return NULL;
    }
    void *memory = inner->allocate(inner->context, size, alignment);
    if (memory != NULL) {
        (void)atomic_fetch_add_explicit(&faulty->bytes, size, memory_order_relaxed);
    }
    return memory;
}

static void release(void *context, void *memory, size_t size) {
    struct faulty_allocator *faulty = context;
    const verge_allocator *inner = verge_allocator_default();
    (void)atomic_fetch_sub_explicit(&faulty->bytes, size, memory_order_relaxed);
    inner->release(inner->context, memory, size);
}

void faulty_allocator_init(struct faulty_allocator *faulty) {
    *faulty = (struct faulty_allocator){
        .table = {.allocate = allocate, .release = release, .context = faulty},
    };
}
