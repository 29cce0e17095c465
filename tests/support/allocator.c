/* SPDX-License-Identifier: MIT */
#include "support/allocator.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define FORGET_WRITTEN(block, size) __msan_poison(block, size)
#endif
#endif
#ifndef FORGET_WRITTEN
#define FORGET_WRITTEN(block, size) ((void)(block), (void)(size))
#endif

/* Sits right before each block that was handed out. */
struct header {
    void *origin; /* what malloc returned */
    size_t size;
    uint64_t mark;
};

enum {
    FILL_BYTES_MAX = 65536, /* enough to show a read of fresh memory, cheap enough for large blocks */
    FRESH = 0xA5,
};

static const uint64_t mark_live = UINT64_C(0x6C69766520626C6B);
static const uint64_t mark_dead = UINT64_C(0x6465616420626C6B);

static void complain(struct verge_test_allocator *memory, const char *text) {
    if (memory->complaint == NULL) {
        memory->complaint = text;
    }
}

static bool must_fail(const struct verge_test_allocator *memory) {
    return memory->calls == memory->fail_at || (memory->fail_from != 0 && memory->calls >= memory->fail_from);
}

static void *allocate(void *context, size_t size, size_t alignment) {
    struct verge_test_allocator *memory = context;
    memory->calls++;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        complain(memory, "allocate: the alignment is no power of two");
        return NULL;
    }
    if (size == 0) {
        complain(memory, "allocate: the size is 0");
    }
    if (alignment > _Alignof(max_align_t) && size % alignment != 0) {
        complain(memory, "allocate: the size is no multiple of a large alignment");
    }
    if (must_fail(memory)) {
        memory->failures++;
        return NULL;
    }
    if (alignment < _Alignof(max_align_t)) {
        alignment = _Alignof(max_align_t);
    }
    unsigned char *origin = malloc(size + alignment + sizeof(struct header));
    if (origin == NULL) {
        return NULL;
    }
    const uintptr_t first = (uintptr_t)origin + sizeof(struct header);
    const size_t padding = (alignment - (size_t)(first % alignment)) % alignment;
    unsigned char *block = origin + sizeof(struct header) + padding;
    const struct header header = {.origin = origin, .size = size, .mark = mark_live};
    memcpy(block - sizeof(header), &header, sizeof(header));
    memset(block, FRESH, size < FILL_BYTES_MAX ? size : FILL_BYTES_MAX);
    FORGET_WRITTEN(block, size); /* the library has written none of it */

    memory->blocks_in_use++;
    memory->bytes_in_use += size;
    if (memory->bytes_in_use > memory->bytes_in_use_max) {
        memory->bytes_in_use_max = memory->bytes_in_use;
    }
    return block;
}

static void release(void *context, void *block, size_t size) {
    struct verge_test_allocator *memory = context;
    memory->releases++;
    if (block == NULL) {
        complain(memory, "release: called with NULL");
        return;
    }
    struct header header;
    unsigned char *place = (unsigned char *)block - sizeof(header);
    memcpy(&header, place, sizeof(header));
    if (header.mark != mark_live) {
        complain(memory, header.mark == mark_dead ? "release: of a block already released"
                                                  : "release: of a block that was never handed out");
        return;
    }
    if (header.size != size) {
        complain(memory, "release: the size is not the one that was asked for");
    }
    memory->blocks_in_use--;
    memory->bytes_in_use -= header.size;
    void *origin = header.origin;
    header.mark = mark_dead;
    memcpy(place, &header, sizeof(header));
    free(origin);
}

void verge_test_allocator_init(struct verge_test_allocator *memory) {
    *memory = (struct verge_test_allocator){
        .allocator = {.allocate = allocate, .release = release, .context = memory},
    };
}

void verge_test_allocator_assert_empty(const struct verge_test_allocator *memory) {
    if (memory->complaint != NULL) {
        fail_msg("%s", memory->complaint);
    }
    assert_int_equal(memory->blocks_in_use, 0);
    assert_int_equal(memory->bytes_in_use, 0);
}
