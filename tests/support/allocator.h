/* SPDX-License-Identifier: MIT */
/*
 * support/allocator.h - an allocator that counts, fails on demand and watches its caller.
 *
 *     struct verge_test_allocator memory;
 *     verge_test_allocator_init(&memory);
 *     options.allocator = &memory.allocator;
 *     memory.fail_at = memory.calls + 3;      -- the third allocation from here fails
 *     ...
 *     verge_test_allocator_assert_empty(&memory);
 */
#ifndef VERGE_TESTS_SUPPORT_ALLOCATOR_H
#define VERGE_TESTS_SUPPORT_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "verge/base.h"

struct verge_test_allocator {
    verge_allocator allocator; /* pass its address to the object under test */
    size_t bytes_in_use;
    size_t bytes_in_use_max;
    size_t blocks_in_use;
    uint64_t calls;        /* calls of allocate, including those that failed; the first is number 1 */
    uint64_t releases;     /* calls of release */
    uint64_t failures;     /* calls that failed on demand */
    uint64_t fail_at;      /* the number of the one call that fails; 0: none */
    uint64_t fail_from;    /* this call and all after it fail; 0: none */
    const char *complaint; /* the first breach of the allocator's contract; NULL: none */
};

void verge_test_allocator_init(struct verge_test_allocator *memory);

/* Fails the running cmocka test if memory is still held or the contract was broken. */
void verge_test_allocator_assert_empty(const struct verge_test_allocator *memory);

#endif
