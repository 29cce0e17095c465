/* SPDX-License-Identifier: MIT */
#include "replay/counting_allocator.h"

static void *allocate(void *context, size_t size, size_t alignment) {
    struct counting_allocator *counting = context;
    const verge_allocator *inner = verge_allocator_default();
    void *memory = inner->allocate(inner->context, size, alignment);
    if (memory != NULL) {
        counting->bytes += size;
        counting->bytes_peak = counting->bytes > counting->bytes_peak ? counting->bytes : counting->bytes_peak;
    }
    return memory;
}

static void release(void *context, void *memory, size_t size) {
    struct counting_allocator *counting = context;
    const verge_allocator *inner = verge_allocator_default();
    counting->bytes -= size;
    inner->release(inner->context, memory, size);
}

void counting_allocator_init(struct counting_allocator *counting) {
    *counting = (struct counting_allocator){
        .table = {.allocate = allocate, .release = release, .context = counting},
    };
}
