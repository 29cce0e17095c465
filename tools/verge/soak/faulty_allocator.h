/* SPDX-License-Identifier: MIT */
/* The default allocator, which can be made to fail now and then, and counts the bytes that are allocated. Any thread
 * may use it. */
#ifndef VERGE_TOOL_FAULTY_ALLOCATOR_H
#define VERGE_TOOL_FAULTY_ALLOCATOR_H

#include <stdatomic.h>

#include <verge/base.h>

struct faulty_allocator {
    verge_allocator table;
    _Atomic(uint64_t) bytes;      /* how many bytes are allocated now */
    _Atomic(uint64_t) asked;      /* how often allocate was called */
    _Atomic(uint64_t) fail_every; /* one in so many calls fails; 0: none */
    _Atomic(uint64_t) refused;
};

void faulty_allocator_init(struct faulty_allocator *faulty); /* the struct must not move afterwards */

#endif
