/* SPDX-License-Identifier: MIT */
/* The default allocator keeps the contract of base.h, and the allocator of the tests notices callers that do not. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/allocator.h"
#include "support/cmocka.h"
#include "verge/wheel_more.h"

static void every_alignment_is_honoured(void **state) {
    (void)state;
    const verge_allocator *allocator = verge_allocator_default();
    for (size_t alignment = 1; alignment <= (size_t)8 << 20; alignment *= 2) {
        const size_t size = (99 + alignment) / alignment * alignment;
        unsigned char *memory = allocator->allocate(allocator->context, size, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        memory[0] = 1;
        memory[size - 1] = 2;
        allocator->release(allocator->context, memory, size);
    }
}

static void huge_blocks_are_usable_whole(void **state) {
    (void)state;
    const verge_allocator *allocator = verge_allocator_default();
    const size_t huge = (size_t)2 << 20;
    unsigned char *memory = allocator->allocate(allocator->context, 2 * huge, huge);
    assert_non_null(memory);
    memset(memory, 0x5A, 2 * huge);
    assert_int_equal(memory[2 * huge - 1], 0x5A);
    allocator->release(allocator->context, memory, 2 * huge);
}

static void nothing_at_all_is_a_block_too(void **state) {
    (void)state;
    const verge_allocator *allocator = verge_allocator_default();
    for (size_t alignment = 8; alignment <= 64; alignment *= 8) {
        void *memory = allocator->allocate(allocator->context, 0, alignment);
        assert_non_null(memory);
        allocator->release(allocator->context, memory, 0);
    }
}

/* How many bytes of this process are in memory. */
static size_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    char line[256] = "";
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file)); /* pages: all of the process, then those in memory */
    (void)fclose(file);
    char *second = strchr(line, ' ');
    assert_non_null(second);
    return (size_t)strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages of released blocks go back to the system, even if malloc keeps the blocks for its next caller. */
static void pages_of_what_is_released_go_back_to_the_system(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the malloc of a sanitizer has memory of its own behind each block */
#endif
    enum { BLOCKS = 1024, BLOCK_BYTES = 65536 };
    static void *blocks[BLOCKS];
    if ((size_t)sysconf(_SC_PAGESIZE) > BLOCK_BYTES / 4) {
        skip(); /* too few whole pages in a block */
    }
    const verge_allocator *allocator = verge_allocator_default();
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = allocator->allocate(allocator->context, BLOCK_BYTES, 64);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    const size_t full = resident_bytes();
    for (size_t i = 0; i < BLOCKS - 1; i++) { /* the last stays, so malloc cannot cut off the end of the heap */
        allocator->release(allocator->context, blocks[i], BLOCK_BYTES);
    }
    const size_t left = resident_bytes();
    allocator->release(allocator->context, blocks[BLOCKS - 1], BLOCK_BYTES);
    assert_true(left + (size_t)BLOCKS * BLOCK_BYTES / 2 < full);
}

static void a_wrong_alignment_gets_nothing(void **state) {
    (void)state;
    const verge_allocator *allocator = verge_allocator_default();
    assert_null(allocator->allocate(allocator->context, 48, 0));
    assert_null(allocator->allocate(allocator->context, 48, 24));
}

static void more_than_there_is_gets_nothing(void **state) {
    (void)state;
    const verge_allocator *allocator = verge_allocator_default();
    /* volatile: the compiler would otherwise warn of exactly what is tested. */
    volatile size_t size = SIZE_MAX / 2 + 1 - 4096;
    assert_null(allocator->allocate(allocator->context, size, 4096));
    assert_null(allocator->allocate(allocator->context, size, 8));
}

/* The malloc of a host. It aligns to max_align_t, and to no more. While host_blocks_max blocks are allocated, it
 * returns NULL. */
static size_t host_blocks;
static size_t host_blocks_max;

static void *host_malloc(size_t size) {
    if (host_blocks == host_blocks_max) {
        return NULL;
    }
    unsigned char *memory = verge_allocator_default()->allocate(NULL, (size + 8191) / 4096 * 4096, 4096);
    if (memory == NULL) {
        return NULL;
    }
    host_blocks++;
    memory[0] = 0x5A;
    return memory + _Alignof(max_align_t);
}

static void host_free(void *memory) {
    unsigned char *origin = (unsigned char *)memory - _Alignof(max_align_t);
    assert_int_equal((uintptr_t)origin % 4096, 0); /* it is what host_malloc returned */
    assert_int_equal(origin[0], 0x5A);
    host_blocks--;
    free(origin);
}

static const verge_host_memory host = {host_malloc, host_free};
static const verge_allocator host_allocator = {verge_host_allocate, verge_host_release, (void *)&host};

static void blocks_of_a_hosts_malloc_are_aligned(void **state) {
    (void)state;
    host_blocks_max = SIZE_MAX;
    for (size_t alignment = 1; alignment <= (size_t)8 << 20; alignment *= 2) {
        const size_t size = (99 + alignment) / alignment * alignment;
        unsigned char *memory = host_allocator.allocate(host_allocator.context, size, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % (alignment < 4096 ? alignment : 4096), 0);
        memset(memory, 1, size);
        host_allocator.release(host_allocator.context, memory, size);
        assert_int_equal(host_blocks, 0);
    }
    assert_null(host_allocator.allocate(host_allocator.context, 48, 24));
    volatile size_t size = SIZE_MAX;
    assert_null(host_allocator.allocate(host_allocator.context, size, 64));
}

/* All blocks of a wheel are from the host, while it grows and when a million timers are gone. */
static void a_wheel_lives_on_a_hosts_malloc(void **state) {
    (void)state;
    enum { TIMERS = 1000000 };
    verge_wheel_options options;
    verge_wheel *wheel;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), 0);
    options.allocator = &host_allocator;
    host_blocks_max = SIZE_MAX;
    assert_int_equal(verge_wheel_create(&options, &wheel), 0);
    for (uint64_t i = 0; i < TIMERS; i++) {
        assert_int_equal(verge_wheel_start(wheel, i * 1000003 % (UINT64_C(1) << 40), NULL, NULL), 0);
    }
    assert_null(verge_wheel_check(wheel));
    verge_expiry out[64];
    size_t fired = 0;
    for (size_t count = 1; count > 0; fired += count) {
        count = verge_wheel_poll(wheel, UINT64_C(1) << 42, out, 64);
    }
    assert_int_equal(fired, TIMERS);
    verge_wheel_destroy(wheel);
    assert_int_equal(host_blocks, 0);
}

static void a_hosts_malloc_may_fail(void **state) {
    (void)state;
    verge_wheel_options options;
    verge_wheel *wheel;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), 0);
    options.allocator = &host_allocator;
    host_blocks_max = 0;
    while (verge_wheel_create(&options, &wheel) == -ENOMEM) {
        assert_int_equal(host_blocks, 0);
        host_blocks_max++;
    }
    assert_true(host_blocks_max > 0);
    verge_wheel_destroy(wheel);
    assert_int_equal(host_blocks, 0);
}

static void the_counting_allocator_counts(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    const verge_allocator *allocator = &memory.allocator;
    void *first = allocator->allocate(allocator->context, 100, 8);
    void *second = allocator->allocate(allocator->context, 4096, 4096);
    assert_int_equal((uintptr_t)second % 4096, 0);
    assert_int_equal(memory.blocks_in_use, 2);
    assert_int_equal(memory.bytes_in_use, 4196);
    allocator->release(allocator->context, first, 100);
    allocator->release(allocator->context, second, 4096);
    assert_int_equal(memory.calls, 2);
    assert_int_equal(memory.releases, 2);
    assert_int_equal(memory.bytes_in_use_max, 4196);
    verge_test_allocator_assert_empty(&memory);
}

static void the_counting_allocator_fails_on_demand(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    const verge_allocator *allocator = &memory.allocator;
    memory.fail_at = 1;
    assert_null(allocator->allocate(allocator->context, 8, 8));
    void *block = allocator->allocate(allocator->context, 8, 8);
    assert_non_null(block);
    memory.fail_from = memory.calls + 1;
    assert_null(allocator->allocate(allocator->context, 8, 8));
    assert_null(allocator->allocate(allocator->context, 8, 8));
    assert_int_equal(memory.failures, 3);
    allocator->release(allocator->context, block, 8);
    verge_test_allocator_assert_empty(&memory);
}

static void the_counting_allocator_notices_breaches(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    const verge_allocator *allocator = &memory.allocator;

    verge_test_allocator_init(&memory);
    void *block = allocator->allocate(allocator->context, 100, 8);
    allocator->release(allocator->context, block, 99);
    assert_non_null(memory.complaint);

    verge_test_allocator_init(&memory);
    assert_null(allocator->allocate(allocator->context, 100, 3));
    assert_non_null(memory.complaint);

    verge_test_allocator_init(&memory);
    block = allocator->allocate(allocator->context, 100, 64);
    assert_non_null(memory.complaint);
    allocator->release(allocator->context, block, 100);

    verge_test_allocator_init(&memory);
    allocator->release(allocator->context, NULL, 100);
    assert_non_null(memory.complaint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_is_honoured),
        cmocka_unit_test(huge_blocks_are_usable_whole),
        cmocka_unit_test(nothing_at_all_is_a_block_too),
        cmocka_unit_test(pages_of_what_is_released_go_back_to_the_system),
        cmocka_unit_test(a_wrong_alignment_gets_nothing),
        cmocka_unit_test(more_than_there_is_gets_nothing),
        cmocka_unit_test(blocks_of_a_hosts_malloc_are_aligned),
        cmocka_unit_test(a_wheel_lives_on_a_hosts_malloc),
        cmocka_unit_test(a_hosts_malloc_may_fail),
        cmocka_unit_test(the_counting_allocator_counts),
        cmocka_unit_test(the_counting_allocator_fails_on_demand),
        cmocka_unit_test(the_counting_allocator_notices_breaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
